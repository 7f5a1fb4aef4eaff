"""Opens compiled libraries, on disk and in archives, and reads the images in them without unpacking to disk."""

from __future__ import annotations

import mmap
import os
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from archscan.binary import contents
from archscan.binary.damage import Damaged
from archscan.binary.layout import constants
from archscan.binary.natures import kernels
from archscan.binary.view import Mapped, Streamed, View
from archscan.model.facts import Failed
from archscan.model.library import Image, Kernels, Library
from archscan.sources.archives import BROKEN
from archscan.sources.unread import Unread

_MOST_STRINGS = 1 << 28  # bytes of the constants of a library
_MOST_IN_TAR = 1 << 28  # bytes: a member of a tar archive is read whole
_BROKEN = (*BROKEN, Damaged, KeyError)


def read_library(unread: Unread) -> Library | Failed:
    """The images in a library, or why it cannot be read."""
    try:
        with _opened(unread) as file:
            found = file.contents()
    except FileNotFoundError:
        return Failed(unread.path, "vanished while it was scanned", unread.named)
    except _BROKEN as error:
        return Failed(unread.path, _why(error, unread), unread.named)
    return Library(
        path=unread.path,
        size=found.size,
        machine=found.machine,
        modules=found.modules,
        failed=found.failed,
        notes=found.notes,
        disk=unread.disk,
        archive=unread.archive,
        member=unread.member,
        root=unread.root,
        below=unread.below,
        origin=unread.origin,
        stamp=f"{unread.stamp} {unread.member}" if unread.stamp else "",
    )


def read_kernels(library: Library, wanted: Iterable[Image]) -> dict[Image, Kernels]:
    """What the kernels of these images do; a library that cannot be read any more says so of each."""
    unread = Unread(library.path, library.disk, library.size, archive=library.archive, member=library.member)
    images = sorted(wanted, key=lambda image: image.span.start)
    found: dict[Image, Kernels] = {}
    try:
        with _opened(unread) as file:
            view = file.view()
            for image in images:
                found[image] = kernels(image, view.read(image.span.start, image.span.length))
    except _BROKEN as error:
        lost = Kernels(failed=_why(error, unread))
        found.update((image, lost) for image in images if image not in found)
    return found


def read_stored(library: Library, wanted: Iterable[Image]) -> dict[Image, bytes]:
    """The bytes of images as they are stored. Raises where the library cannot be read any more."""
    unread = Unread(library.path, library.disk, library.size, archive=library.archive, member=library.member)
    with _opened(unread) as file:
        view = file.view()
        images = sorted(wanted, key=lambda image: image.span.start)
        return {image: view.read(image.span.start, image.span.length) for image in images}


def read_strings(library: Library) -> bytes:
    """The constants of a library for a processor, texts among them; empty where they cannot be told or read."""
    unread = Unread(library.path, library.disk, library.size, archive=library.archive, member=library.member)
    try:
        with _opened(unread) as file:
            places = constants(file.view().read)
            view, found = file.view(), bytearray()
            for start, length in places:
                found += view.read(start, min(length, _MOST_STRINGS - len(found)))
            return bytes(found)
    except _BROKEN:
        return b""


def _why(error: BaseException, unread: Unread) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return f"cannot unpack: {error}" if unread.archive and not isinstance(error, Damaged) else str(error)


@dataclass(frozen=True)
class _Buffer:
    """A file that is all there."""

    data: bytes
    name: str

    def contents(self) -> contents.Contents:
        return contents.of_buffer(self.data, self.name)

    def view(self) -> View:
        return Mapped(self.data)


@dataclass(frozen=True)
class _Member:
    """A member of a zip file, which can only be read from its beginning."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo

    def contents(self) -> contents.Contents:
        return contents.of_stream(self.view, self.info.filename)

    def view(self) -> Streamed:
        return Streamed(self.archive.open(self.info).read, self.info.file_size)


@contextmanager
def _opened(unread: Unread) -> Iterator[_Buffer | _Member]:
    if not unread.archive:
        with _mapped(unread) as data:
            yield _Buffer(data, unread.disk)
    elif zipfile.is_zipfile(unread.archive):
        with zipfile.ZipFile(unread.archive) as archive:
            yield _Member(archive, archive.getinfo(unread.member))
    else:
        yield _Buffer(_from_tar(unread), unread.member)


@contextmanager
def _mapped(unread: Unread) -> Iterator[bytes]:
    """The bytes of a file on disk; never blocks on what became a FIFO meanwhile."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(unread.disk, flags), "rb", buffering=0) as file:
        if not os.fstat(file.fileno()).st_size:
            yield file.read()
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            yield mapped  # type: ignore[misc]  # finds and slices like bytes


def _from_tar(unread: Unread) -> bytes:
    with tarfile.open(unread.archive, errors="surrogateescape") as archive:
        for info in archive:
            if info.name.removeprefix("./") == unread.member and info.isfile():
                stream: IO[bytes] | None = archive.extractfile(info)
                data = stream.read(_MOST_IN_TAR + 1) if stream else b""
                if len(data) > _MOST_IN_TAR:
                    raise Damaged(f"larger than {_MOST_IN_TAR >> 20} MB inside of a tar archive: unpack it first")
                return data
    raise Damaged("vanished")
