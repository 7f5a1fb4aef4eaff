"""Ignore files: which entries `.gitignore` and `--exclude` leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from archscan.bounded import small_file
from archscan.sources.patterns import Patterns, TooMany

MAX_BYTES = 256 << 10  # of one ignore file; the largest in use have a quarter of that


@dataclass(frozen=True)
class Ignore:
    """The patterns of one file (or of `--exclude`), which hold below `base`."""

    base: str  # absolute directory, no slash at the end
    spec: Patterns
    label: str  # what the user is told: ".gitignore", "--exclude"
    problem: str = ""  # why none of its patterns is obeyed

    @property
    def not_obeyed(self) -> str:
        """What the user is told of a file with a problem."""
        return f"patterns not obeyed: {self.problem}"

    def decides(self, path: str, directory: bool) -> bool | None:
        """Whether it leaves out an absolute path below `base`; None = it says nothing about it."""
        return self.spec.decides(path[len(self.base) :].lstrip("/"), directory)


def compiled(base: str, lines: Iterable[str], label: str) -> Ignore:
    """Patterns ready to ask."""
    return _compiled(base, map(os.fsencode, lines), label)


def _compiled(base: str, lines: Iterable[bytes], label: str) -> Ignore:
    try:
        return Ignore(base.rstrip("/"), Patterns(lines), label)
    except TooMany as error:
        return Ignore(base.rstrip("/"), Patterns(()), label, str(error))


def gitignore(directory: str, start: bool = False) -> Ignore | None:
    """The `.gitignore` of a directory; None if there is none. One that is no small regular file has a `problem`.

    At the `start` of a walk a file that ignores everything (`*`, as virtual environments write it) is not obeyed:
    the user named that very directory.
    """
    try:
        data = small_file(Path(directory) / ".gitignore", MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Ignore(directory.rstrip("/"), Patterns(()), ".gitignore", error.strerror or "it cannot be read")
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip() and line[:1] != b"#"]
    if start and any(line.strip() == b"*" for line in lines) and not any(line.startswith(b"!") for line in lines):
        return None
    return _compiled(directory, lines, ".gitignore") if lines else None


def reason(chain: tuple[Ignore, ...], path: str, directory: bool) -> str | None:
    """Why an absolute path is left out: the last ignore file with an opinion decides; None = it is read."""
    for ignore in reversed(chain):
        decided = ignore.decides(path, directory)
        if decided is not None:
            return f"ignored by {ignore.label}" if decided else None
    return None


def on_the_way(one: Ignore, path: str) -> str | None:
    """Why a file is left out by one list that was not asked about the directories above the file; None = it is read."""
    parts = path[len(one.base) :].strip("/").split("/")
    places = [("/".join((one.base, *parts[:depth])), depth < len(parts)) for depth in range(1, len(parts) + 1)]
    return next((why for place, directory in places if (why := reason((one,), place, directory))), None)


def from_above(directory: Path) -> tuple[Ignore, ...]:
    """The ignore files between the repository's root and a directory named by the user, outermost first.

    Empty if they ignore that directory itself (naming it beats them) or if it is in no repository.
    """
    parents: list[Path] = []
    for parent in directory.parents:
        parents.append(parent)
        if (parent / ".git").exists():
            break
    else:
        return ()
    if (directory / ".git").exists():
        return ()
    found = [gitignore(str(parent)) for parent in reversed(parents)]
    chain = tuple(ignore for ignore in found if ignore is not None)
    named = [directory, *(p for p in directory.parents if p not in parents[-1:] and parents[-1] in p.parents)]
    return () if any(reason(chain, path.as_posix(), True) for path in named) else chain
