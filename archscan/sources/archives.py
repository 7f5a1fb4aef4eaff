"""Wheels, sdists and zips read in place, with limits that a small file which unpacks to a huge one runs into."""

from __future__ import annotations

import os
import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from lzma import LZMAError

from archscan.errors import UserError
from archscan.model.facts import Failed, Origin, Skipped
from archscan.sources import ignore
from archscan.sources.kinds import is_archive, is_library, is_source
from archscan.sources.origins import OWN, Judged, Origins
from archscan.sources.shown import shown
from archscan.sources.unread import Unread, stamp_of

MAX_MEMBERS = 1_000_000
MAX_TOTAL = 8 << 30  # bytes of source in one archive: the largest wheel known holds 0.5 GB of it
MAX_COMPILED = 32 << 30  # bytes of libraries in one archive: the largest wheels hold 4 GB
MAX_RATIO = 500  # source code packs 3 to 20 to one, machine-written tables 100 to one
_RATIO_FROM = 1 << 20
BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError,
    EOFError, OSError, RuntimeError, NotImplementedError, ValueError,
)  # fmt: skip


@dataclass
class Members:
    """What of an archive is read, what was left out, what cannot be read, and how many other files it holds."""

    sources: list[Unread] = field(default_factory=list)
    libraries: list[Unread] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    other: int = 0


def members(disk: str, prefix: str, origins: Origins, exclude: Sequence[str] = ()) -> Members:
    """The members of an archive; patterns to exclude hold below its top.

    Raises UserError if the archive as a whole cannot be read.
    """
    try:
        listed = _listed(disk)
    except BROKEN as error:
        raise UserError(f"cannot read the archive {shown(disk)}: {error}") from error
    names = {name for name, _, _ in listed}
    stamp = stamp_of(os.stat(disk))
    excluded = ignore.compiled("", exclude, "--exclude")
    found = Members()
    total = compiled = 0
    for name, size, packed in sorted(listed):
        path = prefix + shown(name)
        library = is_library(posixpath.basename(name))
        if not library and not is_source(posixpath.basename(name), posixpath.dirname(name)):
            if is_archive(name):
                found.skipped.append(Skipped(path, "an archive in an archive: unpack it to have it read"))
            else:
                found.other += 1
            continue
        if exclude and (why := ignore.on_the_way(excluded, f"/{name}")):
            found.skipped.append(Skipped(path, why))
            continue
        total, compiled = (total, compiled + size) if library else (total + size, compiled)
        refused = _refused(name, size, packed, total, compiled)
        if refused:
            found.failed.append(Failed(path, refused))
            continue
        judged = _judged(name, names, origins)
        root, below = _root(name, names)
        one = Unread(
            path, "", size, stamp, judged.origin, judged.evidence, root, shown(below), archive=disk, member=name
        )
        (found.libraries if library else found.sources).append(one)
    return found


def _listed(disk: str) -> list[tuple[str, int, int]]:
    """(name, size, packed size) of every regular member; packed is 0 where the format does not say."""
    if zipfile.is_zipfile(disk):
        with zipfile.ZipFile(disk) as archive:
            infos = [i for i in archive.infolist() if not i.is_dir()]
            found = [(i.filename, i.file_size, i.compress_size) for i in infos]
    else:
        with tarfile.open(disk, errors="surrogateescape") as archive:
            found = []
            for info in archive:
                if info.isfile():
                    found.append((info.name.removeprefix("./"), info.size, 0))
                if len(found) > MAX_MEMBERS:
                    break
    if len(found) > MAX_MEMBERS:
        raise ValueError(f"more than {MAX_MEMBERS:,} members")
    return found


def _refused(name: str, size: int, packed: int, total: int, compiled: int) -> str:
    """Why a member is not read ("" = it is)."""
    if name.startswith(("/", "\\")) or ".." in name.split("/"):
        return "its name leads out of the archive"
    if packed and size > _RATIO_FROM and size > packed * MAX_RATIO:
        return f"unpacks to {size // packed:,} times its size"
    if total > MAX_TOTAL:
        return f"the archive holds more than {MAX_TOTAL >> 30} GB of source"
    if compiled > MAX_COMPILED:
        return f"the archive holds more than {MAX_COMPILED >> 30} GB of libraries"
    return ""


def _judged(name: str, names: set[str], origins: Origins) -> Judged:
    """The origin of a member, by its directories, outermost first, and its own name."""
    parts = name.split("/")
    judged = OWN
    for depth in range(len(parts) - 1):
        at = "/".join(parts[: depth + 1])
        found = origins.of_directory(parts[depth], lambda path, at=at: f"{at}/{path}" in names)  # type: ignore[misc]
        if found.origin in (Origin.VENDORED, Origin.GENERATED):
            return found
        judged = found if judged.origin is Origin.OWN else judged
    return judged if judged.origin is not Origin.OWN else origins.of_file(parts[-1])


def _root(name: str, names: set[str]) -> tuple[str, str]:
    """The nearest project in the archive above a member ("" = the archive itself, a wheel), and the path below it."""
    parts = name.split("/")
    for depth in range(len(parts) - 1, 0, -1):
        at = "/".join(parts[:depth])
        if f"{at}/pyproject.toml" in names or f"{at}/setup.py" in names:
            return at, "/".join(parts[depth:])
    return "", name


def contents(disk: str, wanted: Iterable[Unread], limit: int) -> Iterator[tuple[Unread, bytes | Failed]]:
    """The bytes of members (or why they cannot be read), opening the archive once."""
    wanted = list(wanted)
    try:
        if zipfile.is_zipfile(disk):
            yield from _from_zip(disk, wanted, limit)
        else:
            yield from _from_tar(disk, wanted, limit)
    except BROKEN as error:
        yield from ((one, Failed(one.path, f"cannot read the archive: {error}")) for one in wanted)


def _from_zip(disk: str, wanted: list[Unread], limit: int) -> Iterator[tuple[Unread, bytes | Failed]]:
    with zipfile.ZipFile(disk) as archive:
        for one in wanted:
            try:
                with archive.open(one.member) as stream:
                    yield one, stream.read(limit + 1)
            except (*BROKEN, KeyError) as error:
                yield one, Failed(one.path, f"cannot unpack: {error}")


def _from_tar(disk: str, wanted: list[Unread], limit: int) -> Iterator[tuple[Unread, bytes | Failed]]:
    """One pass over the archive: a compressed tar cannot be entered in the middle. The order asked for is kept."""
    names = {one.member for one in wanted}
    data: dict[str, bytes] = {}
    with tarfile.open(disk, errors="surrogateescape") as archive:
        for info in archive:
            name = info.name.removeprefix("./")
            if name in names and info.isfile():
                stream = archive.extractfile(info)
                data[name] = stream.read(limit + 1) if stream else b""
    for one in wanted:
        yield one, data.get(one.member, Failed(one.path, "vanished"))
