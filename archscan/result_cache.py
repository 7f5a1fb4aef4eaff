"""Remembers what a whole run said, so that the same question about an unchanged tree is answered without a scan.

An outcome is a pure function of the files, the rules, archscan's code and the options; all of them are in its key or
checked before it is used. Only time stamps are looked at: a tree that was touched goes the long way.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from archscan.cache import Keeper, default_directory, hashed
from archscan.model.settings import ScanSettings
from archscan.sources import discover
from archscan.sources.listing import listing


class Outcome(NamedTuple):
    """What a run wrote, what it said on standard error, and how it ended."""

    text: bytes
    warnings: tuple[str, ...]
    code: int


@dataclass(frozen=True)
class _Kept:
    listing: str  # stands for the files as they were
    outcome: Outcome


class Memory:
    """The outcomes of one command line at one place."""

    def __init__(
        self, paths: Sequence[str], settings: ScanSettings, files: Sequence[str], options: Mapping[str, object]
    ) -> None:
        """`files` are read beside the tree (baseline, evidence, rules); `options` is everything else that was said."""
        self._paths = paths
        self._settings = settings
        self._keeper = Keeper(default_directory())
        places = (f"{os.path.realpath(path)}\0{_repository(path)}" for path in (*paths, "."))
        said = repr(sorted((key, repr(value)) for key, value in options.items()))
        self._name = hashed("outcome", *paths, *places, *map(_stamp, files), said) + ".outcome"

    def recall(self) -> Outcome | None:
        """The outcome, if nothing that it rests on has changed since."""
        kept = self._keeper.load(self._name, _Kept)
        if kept is None or kept.listing != listing(discover(self._paths, self._settings)):
            return None
        found: Outcome = kept.outcome
        return found

    def keep(self, of_files: str, outcome: Outcome) -> None:
        """Remembers an outcome for files with this listing; an empty one says that they cannot be told apart."""
        if of_files:
            self._keeper.store(self._name, _Kept(of_files, outcome))


def _stamp(file: str) -> str:
    """What stands for the content of a file or of the YAML files in a directory; empty if there is none."""
    path = Path(file)
    members = sorted([*path.glob("*.yaml"), *path.glob("facts/*.yaml")]) if path.is_dir() else [path]
    return "\n".join(f"{member} {_status(member)}" for member in members)


def _status(path: Path) -> str:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _repository(path: str) -> str:
    """The nearest repository above a path: SARIF names files relative to it."""
    start = Path(os.path.realpath(path))
    return next((str(parent) for parent in (start, *start.parents) if (parent / ".git").exists()), "")
