"""A file that was found and not read yet: small, picklable, and enough for a worker process to read it."""

from __future__ import annotations

import os
from typing import NamedTuple

from archscan.model.facts import Origin


class Stamp(NamedTuple):
    """What stands for a file's content as long as it does not change."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def stamp_of(status: os.stat_result) -> Stamp:
    """What a file's status says about its identity and age."""
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class Unread(NamedTuple):
    """Where a file lies and what its path says about it.

    A named tuple, not a dataclass: there may be a million of them, and they travel to worker processes.
    """

    path: str  # the reported one
    disk: str  # "" = not a file of its own (archive member, standard input)
    size: int
    stamp: Stamp | None = None  # None = never trusted to be unchanged
    origin: Origin = Origin.OWN
    evidence: str = ""
    root: str = ""
    below: str = ""
    archive: str = ""  # disk path of the archive it is a member of
    member: str = ""
    data: bytes | None = None  # standard input: already read
    named: bool = False  # the user named this very file
