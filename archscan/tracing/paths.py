"""Finds scanned files by what code calls them: include paths, source names of a JIT spec, Python module names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from posixpath import dirname, normpath


class Paths:
    """The files of a scan, indexed by their last component. What names of them mean hangs on nothing else."""

    @staticmethod
    def of(paths: Iterable[str]) -> Paths:
        """Those of the same paths, with what was found in them: a report asks twice, and so does the next one."""
        return _paths(frozenset(paths))

    def __init__(self, paths: frozenset[str]) -> None:
        self.known = paths
        self._found: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._by_tail: dict[str, list[str]] = {}  # the last two components: there are hundreds of `__init__.py`
        self._endings: dict[str, list[str]] = {}
        for path in sorted(self.known):
            parts = path.rsplit("/", 2)
            self._by_name.setdefault(parts[-1], []).append(path)
            self._by_tail.setdefault("/".join(parts[-2:]), []).append(path)

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self._by_name)

    def find(self, target: str, near: str = "", base: str = "") -> tuple[str, ...]:
        """The files that `target` may mean, one if the place it is named at (`near`) decides; () = not scanned.

        `base` is a directory that the path is known to lie below, as far as the code tells ("data/csrc").
        """
        key = target, near, base
        if key not in self._found:
            self._found[key] = self._find(target, near, base)
        return self._found[key]

    def _find(self, target: str, near: str, base: str) -> tuple[str, ...]:
        name = target.rpartition("/")[2]
        if name not in self._by_name and "*" not in name:
            return ()
        beside = normpath(f"{dirname(near)}/{target}") if near else target
        if not base and beside in self.known:
            return (beside,)
        wanted = normpath(target).lstrip("./")
        found = self._ending(wanted)
        below = [p for p in found if f"/{base}/{wanted}".endswith("/" + wanted) and _ends(p, f"{base}/{wanted}")]
        return nearest(below if base and below else found, near)

    def matching(self, pattern: str, near: str) -> tuple[str, ...]:
        """The files that a glob means which is named in the file `near`: below its folder, else anywhere."""
        wanted = re.compile("(?:.*/)?" + _as_regex(pattern))
        ending = pattern.rpartition(".")[2]
        found = [p for p in sorted(self.known) if (ending == "*" or p.endswith(ending)) and wanted.fullmatch(p)]
        return nearest(found, near)

    def module(self, dotted: str, near: str) -> str | None:
        """The file of a Python module named in the file `near`; None if it is not scanned."""
        if dotted.startswith("."):
            level = len(dotted) - len(dotted.lstrip("."))
            directory = near
            for _ in range(level):
                directory = dirname(directory)
            rest = dotted[level:].replace(".", "/")
            return self._module_file(f"{directory}/{rest}".strip("/") if rest else directory)
        parts = dotted.split(".")
        found = self._module_candidates("/".join(parts))
        if not found and len(parts) > 1:  # scanned from inside the package: `pkg.comm.x` is comm/x.py
            return self._module_file("/".join(parts[1:]))
        near_by = nearest(found, near)
        return near_by[0] if near_by else None

    def _module_file(self, stem: str) -> str | None:
        for path in (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py"):
            if path in self.known:
                return path
        return None

    def _module_candidates(self, stem: str) -> list[str]:
        return self._ending(f"{stem}.py") or self._ending(f"{stem}/__init__.py")

    def _ending(self, wanted: str) -> list[str]:
        """Every path that ends in `wanted`; `*` in it stands for anything."""
        name = wanted.rpartition("/")[2]
        if "*" not in wanted:
            if wanted not in self._endings:
                tail = "/".join(wanted.rsplit("/", 2)[-2:])
                likely = self._by_tail.get(tail, ()) if "/" in wanted else self._by_name.get(name, ())
                self._endings[wanted] = [p for p in likely if _ends(p, wanted)]
            return self._endings[wanted]
        prefix = name.partition("*")[0]
        found: list[str] = []
        if not prefix:  # a name that is all filled in could be any file
            return found
        for candidate in self._names[bisect_left(self._names, prefix) :]:
            if not candidate.startswith(prefix):
                break
            if fnmatchcase(candidate, name):
                found += [p for p in self._by_name[candidate] if fnmatchcase("/" + p, "*/" + wanted)]
        return found


@lru_cache(maxsize=2)
def _paths(paths: frozenset[str]) -> Paths:
    return Paths(paths)


def _as_regex(pattern: str) -> str:
    """A glob as a regular expression: `*` within a name, `**` over folders."""
    pieces = re.split(r"(\*\*/?|\*)", pattern)
    return "".join({"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}.get(p, re.escape(p)) for p in pieces)


def _ends(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith("/" + wanted)


def nearest(found: Sequence[str], near: str) -> tuple[str, ...]:
    """Those that share the longest leading directories with `near`."""
    if len(found) < 2:
        return tuple(found)
    best = max(_shared(p, near) for p in found)
    return tuple(p for p in found if _shared(p, near) == best)


def _shared(path: str, near: str) -> int:
    count = 0
    for ours, theirs in zip(path.split("/")[:-1], near.split("/")[:-1], strict=False):
        if ours != theirs:
            break
        count += 1
    return count
