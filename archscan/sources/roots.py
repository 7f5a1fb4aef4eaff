"""Where a project or an installed distribution begins, so that fingerprints do not depend on where a scan started."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

# Nearest first: what marks the directory it lies in as a project of its own.
_MARKERS = frozenset({".git", "pyproject.toml", "setup.py"})
_SITE = frozenset({"site-packages", "dist-packages"})


def is_site(name: str, entries: Collection[str]) -> bool:
    """Whether a directory holds installed distributions: code lies there as it runs, beside its `.dist-info`."""
    return name in _SITE or any(entry.endswith((".dist-info", ".egg-info")) and entry[0] != "." for entry in entries)


def begins_here(name: str, entries: Collection[str]) -> bool:
    """Whether a directory with these entries is a project root or holds installed distributions."""
    return not _MARKERS.isdisjoint(entries) or is_site(name, entries)


def above(directory: Path) -> Path | None:
    """The nearest such directory at or above an absolute one; None = there is no mark up to the top."""
    for candidate in (directory, *directory.parents):
        try:
            entries = {entry.name for entry in candidate.iterdir()}
        except OSError:
            entries = {marker for marker in _MARKERS if (candidate / marker).exists()}
        if begins_here(candidate.name, entries):
            return candidate
    return None
