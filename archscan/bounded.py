"""Reads small files that a user or a scanned tree gives us: regular files below a size, without ever blocking."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def small_file(path: str | Path, most: int, owned: bool = False) -> bytes:
    """The bytes of a regular file of at most `most` bytes; OSError, with the reason in `strerror`, for anything else.

    `owned`: only if nobody but this user can have written it.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:
        raise OSError(errno.EINVAL, "no file has such a name", str(path)) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if owned and os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
            raise OSError(errno.EPERM, "others may have written it", str(path))
        data = b"" if status.st_size > most else _read(descriptor, status.st_size + 1, most + 1)
    finally:
        os.close(descriptor)
    if status.st_size > most or len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {_size(most)}", str(path))
    return data


def _read(descriptor: int, expected: int, most: int) -> bytes:
    """At most `most` bytes; a file that is as large as it says comes in one go, without a copy."""
    data = os.read(descriptor, min(expected, most))
    while expected <= len(data) < most:  # it has grown, or does not know its size
        more = os.read(descriptor, min(most - len(data), 1 << 20))
        if not more:
            break
        data += more
    return data


def _size(number: int) -> str:
    return f"{number >> 20} MB" if number >= 1 << 20 else f"{number >> 10} kB" if number >> 10 else f"{number} bytes"
