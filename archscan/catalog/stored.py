"""Keeps the compiled catalog in the user's cache directory: reading the rules takes 45 ms, reading this 10."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

from archscan import __version__
from archscan.catalog.types import Catalog

_MODULES = frozenset({"archscan.catalog.types", "archscan.model.target", "archscan.model.finding"})
_PACKAGE = Path(__file__).resolve().parent


def stored(directory: Path, digest: str) -> Catalog | None:
    """The catalog of these rules, None where it was not kept or cannot be trusted."""
    try:
        with _file(directory, digest).open("rb") as file:
            status = os.fstat(file.fileno())
            if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
                return None
            value = _Loader(io.BytesIO(file.read())).load()
    except Exception:  # half a file, one of another version, or not ours: the rules are read instead
        return None
    return value if isinstance(value, Catalog) and value.digest == digest else None


def keep(directory: Path, catalog: Catalog) -> None:
    """Writes a file and renames it into place; where that fails, nothing is kept."""
    with contextlib.suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                pickle.dump(catalog, file, pickle.HIGHEST_PROTOCOL)
            Path(temporary).replace(_file(directory, catalog.digest))
        except BaseException:
            Path(temporary).unlink()
            raise


def _file(directory: Path, digest: str) -> Path:
    """Where the catalog of these rules lies; archscan's own code is part of the name, since its types may change."""
    code = [path.stat() for folder in ("", "../model") for path in sorted((_PACKAGE / folder).glob("*.py"))]
    stamps = "".join(f"{status.st_mtime_ns} {status.st_size} " for status in code)
    name = hashlib.sha256(f"{__version__} {sys.version} {stamps}{digest}".encode()).hexdigest()
    return directory / f"{name[:40]}.catalog"


class _Loader(pickle.Unpickler):
    """Makes values of the catalog's types only: a file that someone planted cannot call anything else."""

    def find_class(self, module: str, name: str) -> Any:
        found = (
            super().find_class(module, name)
            if module in _MODULES or (module, name) == ("builtins", "frozenset")
            else None
        )
        if not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} is no type of the catalog")
        return found
