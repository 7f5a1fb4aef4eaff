"""Which files git tracks, read from `.git/index`: git itself may run a program that the repository names."""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from archscan.bounded import small_file
from archscan.sources.kinds import is_library, is_source

MAX_SIZE = 64 << 20  # bytes of an index; a tree of 400,000 files has 40 MB
MAX_NAMES = 64 << 20  # bytes of all names together: version 4 repeats beginnings for free
MAX_NAME = 4096
_MAX_POINTER = 8192  # a `.git` file, a `gitdir:` line
_HASHES = (32, 20)  # SHA-256, SHA-1: which one is written in the configuration, which is not read
_GITLINK = 0o160000
_LINKED = b"link"  # extension: entries lie in a shared index as well
_KNOWN = frozenset({b"link", b"sdir"})  # of the extensions that must be understood (those in lower case)


class Damaged(Exception):
    """The index cannot be trusted to say what is tracked; the message says why."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """The tracked files that may hold code, and the submodules, below the top of a work tree; both sorted."""

    files: tuple[bytes, ...] = ()
    submodules: tuple[bytes, ...] = ()

    def file(self, below: str) -> bool:
        """Whether a path below the top is a tracked file."""
        name = _name(below)
        return _first_from(self.files, name) == name

    def directory(self, below: str) -> bool:
        """Whether a path below the top is a submodule, or a directory with tracked files or submodules in it."""
        name = _name(below)
        inside = name + b"/"
        return _first_from(self.submodules, name) == name or any(
            _first_from(names, inside).startswith(inside) for names in (self.files, self.submodules)
        )


def _name(below: str) -> bytes:
    return os.fsencode(below if os.sep == "/" else below.replace(os.sep, "/"))


def _first_from(names: tuple[bytes, ...], name: bytes) -> bytes:
    """The first of sorted names that is not before `name`; nothing if all are."""
    at = bisect_left(names, name)
    return names[at] if at < len(names) else b""


def tracked(top: str) -> Tracked:
    """What git tracks in the work tree at `top`; nothing if it has no index. Raises Damaged."""
    directory = _git_directory(top)
    if directory is None:
        return Tracked()
    data = _content(directory / "index", MAX_SIZE)
    if data is None:
        return Tracked()
    names, shared = parse(data)
    if shared:
        base = _content(directory / f"sharedindex.{shared}", MAX_SIZE)
        if base is None:
            raise Damaged("its shared index is missing")
        more, again = parse(base)
        if again:
            raise Damaged("its shared index is shared itself")
        names += more
    files = {name for name, mode in names if mode != _GITLINK and _may_be_read(name, top)}
    submodules = {name for name, mode in names if mode == _GITLINK}
    return Tracked(tuple(sorted(files)), tuple(sorted(submodules)))


def _may_be_read(name: bytes, top: str) -> bool:
    folder, _, last = os.fsdecode(name).rpartition("/")
    return is_source(last, f"{top}/{folder}") or is_library(last)


def _git_directory(top: str) -> Path | None:
    """The directory that a work tree's index lies in: a worktree and a submodule have a `.git` file that names it."""
    mark = Path(top) / ".git"
    if mark.is_dir():
        return mark
    said = _content(mark, _MAX_POINTER)
    if said is None:
        return None
    if not said.startswith(b"gitdir:") or b"\0" in said:
        raise Damaged("the .git file names no directory")
    directory = Path(top) / os.fsdecode(said[len(b"gitdir:") :].strip())
    if directory.drive.startswith(("\\\\", "//")):  # Windows would log in there
        raise Damaged("the .git file names another machine")
    return directory


def _content(path: Path, limit: int) -> bytes | None:
    """The bytes of a regular file, without waiting for anything; None if there is none. Raises Damaged."""
    try:
        return small_file(path, limit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Damaged((error.strerror or type(error).__name__).lower()) from error


def parse(data: bytes) -> tuple[list[tuple[bytes, int]], str]:
    """(name, mode) of every entry, and the shared index that holds the others ("" = none). Raises Damaged.

    The format: Documentation/gitformat-index.txt of git, versions 2, 3 and 4.
    """
    if len(data) < 12 or data[:4] != b"DIRC":
        raise Damaged("no git index")
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if version not in (2, 3, 4):
        raise Damaged(f"version {version} is not known")
    *others, last = _HASHES
    for size in others:
        with contextlib.suppress(Damaged):
            return _parsed(data, version, count, size)
    return _parsed(data, version, count, last)


def _parsed(data: bytes, version: int, count: int, hash_size: int) -> tuple[list[tuple[bytes, int]], str]:
    names, end = _entries(data, version, count, hash_size)
    return names, _shared(data, end, hash_size)


def _entries(data: bytes, version: int, count: int, hash_size: int) -> tuple[list[tuple[bytes, int]], int]:
    """The entries, and where they end."""
    fixed = 40 + hash_size + 2  # times, device, inode, mode, owner, size; object; flags
    end = len(data) - hash_size
    if count * (fixed + 1) > end:
        raise Damaged("cut short")
    names: list[tuple[bytes, int]] = []
    at, total, name = 12, 0, b""
    for _ in range(count):
        start, mode = at, int.from_bytes(data[at + 24 : at + 28], "big")
        flags = int.from_bytes(data[at + fixed - 2 : at + fixed], "big")
        at += fixed
        if flags & 0x4000:
            if version < 3:
                raise Damaged("a flag of a later version")
            at += 2
        if version == 4:
            kept, at = _stripped(data, at, len(name))
            name = name[:kept]
        else:
            name = b""
        stop = data.find(b"\0", at, min(at + MAX_NAME + 1, end))
        if stop < 0:
            raise Damaged("a name without end")
        name += data[at:stop]
        total += len(name)
        if len(name) > MAX_NAME or total > MAX_NAMES:
            raise Damaged("its names are too long")
        if flags & 0xFFF != min(len(name), 0xFFF):
            raise Damaged("a name of another length than it says")
        at = stop + 1 if version == 4 else start + (stop - start + 8) // 8 * 8  # padded to eight, one NUL at least
        if at > end:
            raise Damaged("cut short")
        names.append((name, mode))
    return names, at


def _stripped(data: bytes, at: int, known: int) -> tuple[int, int]:
    """How much of the last name is kept (version 4), and where the rest of the name begins."""
    byte = data[at] if at < len(data) else 0x80
    strip = byte & 0x7F
    at += 1
    while byte & 0x80:
        if at >= len(data) or strip > MAX_NAME:
            raise Damaged("a name of another length than it says")
        byte = data[at]
        strip = (strip + 1) << 7 | byte & 0x7F
        at += 1
    if strip > known:
        raise Damaged("a name of another length than it says")
    return known - strip, at


def _shared(data: bytes, at: int, hash_size: int) -> str:
    """The name of the shared index that the extensions speak of ("" = none)."""
    shared = ""
    end = len(data) - hash_size
    while at < end:
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "big")
        if at + 8 + size > end or not kind.isalnum():
            raise Damaged("an extension that is cut short")
        if kind[:1].islower() and kind not in _KNOWN:
            raise Damaged("an extension that is not known")
        if kind == _LINKED:
            shared = data[at + 8 : at + 8 + hash_size].hex()
        at += 8 + size
    return shared.strip("0") and shared
