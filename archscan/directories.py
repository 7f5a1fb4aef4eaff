"""Where archscan keeps things for this user: the cache, and the state that outlives it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_directory() -> Path:
    """The cache directory: $ARCHSCAN_CACHE_DIR (--cache-dir), else the user's: $XDG_CACHE_HOME or the platform's."""
    if (named := _absolute("ARCHSCAN_CACHE_DIR")) is not None:
        return named
    return (_absolute("XDG_CACHE_HOME") or _platform(".cache", "Caches")) / "archscan"


def state_directory() -> Path:
    """Where the key of the cache lies: $XDG_STATE_HOME or what the platform uses."""
    return (_absolute("XDG_STATE_HOME") or _platform(".local/state", "Application Support")) / "archscan"


def _absolute(variable: str) -> Path | None:
    """The directory that a variable names; the XDG specification has relative ones ignored."""
    path = Path(os.environ.get(variable) or "")
    return path if path.is_absolute() else None


def _platform(below_home: str, library: str) -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / library
    return Path.home() / below_home
