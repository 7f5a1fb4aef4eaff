"""Writes files so that nobody can redirect them: a new file of a random name in the same directory, synced, renamed.

What is replaced is the name itself: a link that stands there is never followed, neither is one at the name of the new
file, which nobody can guess and which is refused if it exists.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

from archscan.errors import UserError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
PERMISSIONS = 0o777  # never setuid, setgid or sticky

Owner = tuple[int, int]  # user and group


def write_atomically(path: Path, data: bytes, mode: int | None = None) -> None:
    """Puts `data` in place of whatever `path` names, whole or not at all; OSError, with nothing changed, if it cannot.

    Without `mode` the file keeps the one it has, or gets what the umask leaves. Its owner stays as far as we may.
    """
    owner = None
    with suppress(OSError):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            mode = stat.S_IMODE(found.st_mode) if mode is None else mode
            owner = (found.st_uid, found.st_gid)
    staged = path.with_name(new_name())
    try:
        write_new(staged, data, mode, owner)
        staged.replace(path)
        sync_directory(path.parent)
    except BaseException:
        with suppress(OSError):
            staged.unlink(missing_ok=True)
        raise


def new_name() -> str:
    """A name for a file that is not there yet: nobody can have planted a link of it."""
    return f".archscan-{secrets.token_hex(16)}.new"


def write_new(path: Path, data: bytes, mode: int | None = None, owner: Owner | None = None) -> None:
    """A new file with these bytes, synced; OSError if anything of that name exists. Modes are masked to 0o777."""
    masked = None if mode is None else mode & PERMISSIONS
    descriptor = os.open(path, _NEW, 0o666 if masked is None else masked & 0o700)  # opened to others when it is whole
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        if owner is not None:
            _give(descriptor, owner)
        if masked is not None:
            _permit(path, descriptor, masked)
        os.fsync(descriptor)


def _give(descriptor: int, owner: Owner) -> None:
    """Keeps the owner of what is replaced: root must, others may give a file to a group of theirs."""
    if sys.platform == "win32":
        return
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) == owner:
        return
    try:
        os.fchown(descriptor, *owner)
    except PermissionError:
        if os.geteuid() == 0:
            raise
        with suppress(PermissionError):
            os.fchown(descriptor, -1, owner[1])


def _permit(path: Path, descriptor: int, mode: int) -> None:
    if sys.platform == "win32":
        path.chmod(mode)
    else:
        os.fchmod(descriptor, mode)


def sync_directory(path: Path) -> None:
    """Syncs a directory entry where the platform can."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private_directory(path: Path) -> None:
    """Makes `path` a directory that only this user can enter.

    OSError if it cannot be made; UserError if it is a link or belongs to somebody else: what lies there is not ours.
    """
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UserError(f"{path} is a symbolic link", "nothing was changed; make it a directory of yours")
    if sys.platform == "win32":
        return
    if found.st_uid != os.geteuid():
        raise UserError(f"{path} belongs to another user", "nothing was changed; name a directory of yours instead")
    if stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(0o700)
