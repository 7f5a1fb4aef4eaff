"""Values in files that only this user can have written: each is sealed with a key of theirs, and read as plain values.

The seal is looked at before a single byte is unpickled. Behind it stands a second fence: no file, sealed or not, can
make anything but values of archscan's own types.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import io
import os
import pickle
import stat
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO

from archscan.bounded import small_file
from archscan.directories import state_directory

MAX_BYTES = 512 << 20  # of one file
KEY = "cache.key"
_KEY_BYTES = 32
_MAGIC = b"archscan cache 2\n"
_SEAL_BYTES = 32
# functions that a pickle of ours may call
_MAKERS = frozenset(
    {
        ("archscan.frontends.cuda.preprocessor.macros", "_interned"),
        ("archscan.model.condition", "atom"),
        ("archscan.model.condition", "_node"),
    }
)
_PLAIN = frozenset({"frozenset", "set", "bytearray", "complex", "range", "slice"})


class NotOursError(OSError):
    """A file or directory that others may have written."""


def user_key() -> bytes:
    """The key of this user, made where there is none yet; OSError where it could be another's."""
    directory = state_directory()
    make_private(directory)
    path = directory / KEY
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            os.write(descriptor, os.urandom(_KEY_BYTES))
        finally:
            os.close(descriptor)
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise NotOursError(errno.EINVAL, "it is not a regular file", str(path))
    if os.name == "posix" and status.st_mode & 0o077:
        raise NotOursError(errno.EPERM, "others may read it: remove it, and a new one is made", str(path))
    key = small_file(path, _KEY_BYTES, owned=True)
    if len(key) != _KEY_BYTES:
        raise NotOursError(errno.EINVAL, "it is damaged: remove it, and a new one is made", str(path))
    return key


def make_private(directory: Path) -> None:
    """Makes a directory of this user's alone; OSError where it cannot be made, or others may write there."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if why := shared(directory):
        raise NotOursError(errno.EPERM, why, str(directory))


def shared(directory: Path) -> str:
    """Why a directory may hold files that others put there; empty if it cannot, or is not there at all."""
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        return ""
    if not stat.S_ISDIR(status.st_mode):
        return "it is a symbolic link" if stat.S_ISLNK(status.st_mode) else "it is no directory"
    if os.name != "posix":
        return ""
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    return "others may write there (chmod 700 it)" if status.st_mode & 0o022 else ""


class Keeper:
    """Values in sealed files of one directory; whatever is wrong with one, it is absent."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._key: bytes | None = None

    def load(self, name: str, kind: type) -> Any:
        """The value in a file; None if there is none that this user wrote."""
        from archscan.fast_pickle import quicken

        path = self.directory / name
        try:
            if shared(self.directory):
                return None
            data = small_file(path, MAX_BYTES, owned=True)
            seal = data[len(_MAGIC) : len(_MAGIC) + _SEAL_BYTES]
            body = memoryview(data)[len(_MAGIC) + _SEAL_BYTES :]
            if not data.startswith(_MAGIC) or not hmac.compare_digest(seal, self._sealed(name, body)):
                return None
            quicken()
            file = io.BytesIO(data)  # shares the bytes
            file.seek(len(_MAGIC) + _SEAL_BYTES)
            value = _Loader(file).load()
            os.utime(path)
        except Exception:  # a file of another version, half of one, or not ours: the scan does without
            return None
        return value if isinstance(value, kind) else None

    def store(self, name: str, value: object) -> bool:
        """Whether it was kept: a full disk or a read-only home costs the cache, not the scan."""
        import tempfile

        from archscan.fast_pickle import quicken

        quicken()
        try:
            make_private(self.directory)
            seal = self._mac(name)
            descriptor, temporary = tempfile.mkstemp(dir=self.directory, prefix=".new-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_MAGIC + bytes(_SEAL_BYTES))
                    pickle.dump(value, _Tee(file, seal.update), pickle.HIGHEST_PROTOCOL)
                    file.seek(len(_MAGIC))
                    file.write(seal.digest())
                Path(temporary).replace(self.directory / name)
            except BaseException:
                Path(temporary).unlink()
                raise
        except OSError:
            return False
        return True

    def _sealed(self, name: str, body: memoryview) -> bytes:
        mac = self._mac(name)
        mac.update(body)
        return mac.digest()

    def _mac(self, name: str) -> hmac.HMAC:
        """A seal begun: it binds the name too, so that no file can stand in for another."""
        self._key = self._key or user_key()
        return hmac.new(self._key, _MAGIC + name.encode() + b"\0", hashlib.sha256)


class _Tee:
    """A file to write to whose bytes are seen by another too: an index may have 100 MB, no second copy."""

    def __init__(self, file: BinaryIO, also: Callable[[bytes], None]) -> None:
        self._file = file
        self._also = also

    def write(self, data: bytes) -> int:
        """Writes."""
        self._also(data)
        return self._file.write(data)


_classes: dict[tuple[str, str], Any] = {}  # that a pickle may make; front ends ask for the same few a million times


class _Loader(pickle.Unpickler):
    """Makes values of archscan's own types only."""

    def find_class(self, module: str, name: str) -> Any:
        found = _classes.get((module, name))
        if found is None:
            found = _classes[module, name] = self._allowed(module, name)
        return found

    def _allowed(self, module: str, name: str) -> Any:
        """The class of that very module and name: a dotted name would lead on, an imported one elsewhere."""
        if module == "builtins" and name in _PLAIN:
            return super().find_class(module, name)
        if module.startswith("archscan.") and name.isidentifier():
            found = super().find_class(module, name)
            if (module, name) in _MAKERS or (_is_value(found) and found.__module__ == module):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no type of archscan's")


def _is_value(found: Any) -> bool:
    """Whether it is a type whose making does nothing but hold values: a dataclass, a named tuple, an enumeration."""
    if not isinstance(found, type):
        return False
    return issubclass(found, Enum | tuple) or "__dataclass_fields__" in vars(found)


def plain(blob: bytes) -> Any:
    """The value that `pickle.dumps` made of values of archscan's types; for what lies within a sealed value."""
    return _Loader(io.BytesIO(blob)).load()
