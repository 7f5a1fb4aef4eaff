"""Where reported paths lie: as the user typed them, below the repository, and the bytes behind them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from archscan.bounded import small_file
from archscan.model.facts import Facts
from archscan.reporting.sources import Sources

_MOST = 64 << 20  # bytes; no larger file was read


class Places:
    """Answers for the files of one scan. Reads files only when a report asks for their lines."""

    def __init__(self, facts: Facts, root: str | None = None) -> None:
        self._roots = facts.roots
        self._compiled = frozenset(library.path for library in facts.libraries)
        self._disk = {file.path: file.disk for file in facts.files}
        self._disk.update((library.path, library.disk) for library in facts.libraries)
        self._prefixes = _prefixes(facts.roots)
        self._root = os.path.realpath(root) if root else None
        self._located: dict[str, str] = {}

    @classmethod
    def of_paths(cls, paths: Sequence[str]) -> Places:
        """For PATHs of which the facts are not at hand: typed paths only."""
        return cls(Facts((), roots=tuple(paths)))

    def typed(self, path: str) -> str:
        """A reported path the way its PATH was typed."""
        for root, prefix in zip(self._roots, self._prefixes, strict=True):
            rest = _below(path, prefix)
            if rest is None or root == "-":
                continue
            if Path(root).is_dir() or self._disk.get(path) == "":
                return rest if root in (".", "./") else f"{root.rstrip('/')}/{rest}" if rest else root
            return root if not rest or rest == Path(root).name else path
        return path

    def located(self, path: str) -> str:
        """A reported path below the repository around it (or --sarif-root); as it is where there is none."""
        if path not in self._located:
            self._located[path] = self._below_repository(path)
        return self._located[path]

    def _below_repository(self, path: str) -> str:
        disk = self._disk.get(path)
        if not disk:
            return path
        root = self._root or _repository(Path(disk).resolve().parent)
        if not root:
            return path
        relative = os.path.relpath(os.path.realpath(disk), root).replace(os.sep, "/")
        return path if relative.startswith("../") else relative

    def address(self, path: str) -> str:
        """The address of a file on disk; "" of a member of an archive."""
        from archscan.reporting.hyperlinks import address

        disk = self._disk.get(path)
        return address(disk) if disk else ""

    def sources(self) -> Sources:
        """The bytes of the files, from disk or from the archive they are in."""
        return Sources(lru_cache(maxsize=8)(self._read))

    def _read(self, path: str) -> bytes | None:
        if path in self._compiled:  # no text, and maybe gigabytes of it
            return None
        disk = self._disk.get(path, "")
        try:
            return small_file(disk, _MOST) if disk else self._from_archive(path)
        except OSError:
            return None

    def _from_archive(self, path: str) -> bytes | None:
        from archscan.sources.archives import contents
        from archscan.sources.unread import Unread

        for root, prefix in zip(self._roots, self._prefixes, strict=True):
            member = _below(path, prefix)
            if member and Path(root).is_file():
                wanted = [Unread(path, "", 0, archive=root, member=member)]
                for _, data in contents(root, wanted, _MOST):
                    return data if isinstance(data, bytes) else None
        return None


def _prefixes(roots: tuple[str, ...]) -> list[str]:
    from archscan.sources.discovery import _prefixes as of_paths

    return of_paths(roots)


def _below(path: str, prefix: str) -> str | None:
    """What is left of `path` below `prefix`, or None."""
    if not prefix:
        return path
    if path == prefix:
        return ""
    return path[len(prefix) + 1 :] if path.startswith(prefix + "/") else None


@lru_cache(maxsize=4096)
def _repository(directory: Path) -> str | None:
    """The nearest directory with a `.git` at or above this one."""
    if (directory / ".git").exists():
        return str(directory)
    return _repository(directory.parent) if directory.parent != directory else None
