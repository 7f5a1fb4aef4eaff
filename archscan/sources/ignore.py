"""Ignore files: which entries `.gitignore` and `--exclude` leave out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True)
class Ignore:
    """The patterns of one file (or of `--exclude`), which hold below `base`."""

    base: str  # absolute directory, no slash at the end
    spec: GitIgnoreSpec
    label: str  # what the user is told: ".gitignore", "--exclude"

    def decides(self, path: str, directory: bool) -> bool | None:
        """Whether it leaves out an absolute path below `base`; None = it says nothing about it."""
        below = path[len(self.base) :].lstrip("/")
        return self.spec.check_file(below + "/" if directory else below).include


def compiled(base: str, lines: Iterable[str], label: str) -> Ignore:
    """Patterns ready to ask. pathspec is imported here: most installed packages have no ignore file at all."""
    from pathspec import GitIgnoreSpec

    return Ignore(base.rstrip("/"), GitIgnoreSpec.from_lines(lines), label)


def gitignore(directory: str, start: bool = False) -> Ignore | None:
    """The `.gitignore` of a directory; None if there is none or it cannot be read.

    At the `start` of a walk a file that ignores everything (`*`, as virtual environments write it) is not obeyed:
    the user named that very directory.
    """
    try:
        text = (Path(directory) / ".gitignore").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if start and "*" in lines and not any(line.startswith("!") for line in lines):
        return None
    return compiled(directory, lines, ".gitignore") if lines else None


def reason(chain: tuple[Ignore, ...], path: str, directory: bool) -> str | None:
    """Why an absolute path is left out: the last ignore file with an opinion decides; None = it is read."""
    for ignore in reversed(chain):
        decided = ignore.decides(path, directory)
        if decided is not None:
            return f"ignored by {ignore.label}" if decided else None
    return None


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
