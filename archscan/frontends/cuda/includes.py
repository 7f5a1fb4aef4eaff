"""Resolves `#include` among the scanned files by suffix and says which files a file reaches."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field


@dataclass(slots=True)
class Includes:
    """The include graph. Reach is one bit mask a file, with a bit for each file that some other one includes."""

    meant: InitVar[Mapping[str, Mapping[str, Sequence[str]]]]  # file -> path as written -> files; see `resolved`
    _bits: dict[str, int] = field(default_factory=dict)
    _reach: dict[str, int] = field(default_factory=dict)
    _unscanned: dict[str, tuple[frozenset[str], int]] = field(default_factory=dict)  # header -> who names it, as bits

    def __post_init__(self, meant: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        edges: dict[str, list[str]] = {}
        unscanned: dict[str, list[str]] = {}
        for path, found in meant.items():
            if together := [target for targets in found.values() for target in targets]:
                edges[path] = together
            for include, targets in found.items():
                if not targets:
                    unscanned.setdefault(include, []).append(path)
        included = dict.fromkeys(target for targets in edges.values() for target in targets)
        self._bits = {path: 1 << i for i, path in enumerate(included)}
        self._reach = _reached(edges, self._bits)
        self._unscanned = {name: (frozenset(paths), _mask(paths, self._bits)) for name, paths in unscanned.items()}

    def reaches(self, path: str, other: str) -> bool:
        """Whether `path` includes `other`, directly or through other scanned files."""
        return bool(self._reach.get(path, 0) & self._bits.get(other, 0))

    def beside(self, path: str) -> frozenset[str]:
        """The files that some file reads together with this one, itself included."""
        own, reach = self._bits.get(path, 0), self._reach
        mask = own | reach.get(path, 0)
        found = {path}
        for other, reached in reach.items():
            if reached & own:
                mask |= reached
                found.add(other)
        return frozenset(found.union(other for other, bit in self._bits.items() if bit & mask))

    def names(self, path: str, include: str) -> bool:
        """Whether `path` or a file it reaches includes `include`, a header that was not scanned."""
        paths, mask = self._unscanned.get(include, (frozenset(), 0))
        return path in paths or bool(self._reach.get(path, 0) & mask)

    def said(self) -> object:
        """The whole graph: values that tell graphs apart."""
        unscanned = sorted((name, sorted(paths), mask) for name, (paths, mask) in self._unscanned.items())
        return list(self._bits), sorted(self._reach.items()), unscanned


def resolved(written: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Of every file the scanned files that its includes may mean; none for a header that was not scanned."""
    by_name = _by_name(written)
    known: dict[tuple[str, str], list[str]] = {}
    return {path: {i: _resolve(path, i, by_name, known) for i in includes} for path, includes in written.items()}


def _by_name(paths: Mapping[str, object]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(posixpath.basename(path), []).append(path)
    return found


def _resolve(
    path: str, include: str, by_name: dict[str, list[str]], known: dict[tuple[str, str], list[str]]
) -> list[str]:
    """The scanned files that an include may mean: beside the file, else by suffix the ones nearest in the tree.

    `known` remembers answers by directory.
    """
    if include.rpartition("/")[2] not in by_name:
        return []
    directory = path.rpartition("/")[0]
    found = known.get((directory, include))
    if found is None:
        candidates = by_name[include.rpartition("/")[2]]
        found = known[directory, include] = _meant(path, directory, include, candidates)
    return found


def _meant(path: str, directory: str, include: str, candidates: list[str]) -> list[str]:
    beside = posixpath.normpath(posixpath.join(directory, include))
    if beside in candidates:
        return [beside]
    if "." not in include and "/" not in include:  # <atomic> is the standard library's, not that in include/cuda/std
        return []
    suffix = "/" + posixpath.normpath(include).lstrip("./")
    fitting = [c for c in candidates if ("/" + c).endswith(suffix)]
    if len(fitting) < 2:
        return fitting
    nearness = {c: _common(path, c) for c in fitting}
    best = max(nearness.values())
    return [c for c in fitting if nearness[c] == best]


def _common(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count


def _reached(edges: dict[str, list[str]], bits: dict[str, int]) -> dict[str, int]:
    """Transitive reach of every file, to a fixpoint; cycles are common and harmless."""
    reach = {path: _mask(targets, bits) for path, targets in edges.items()}
    passing = [path for path in inner_first(edges) if path in bits]  # what nobody includes passes nothing on
    changed = True
    while changed:
        changed = False
        for path in passing:
            mask = _joined(reach, path, edges[path])
            if mask != reach[path]:
                reach[path], changed = mask, True
    for path in edges.keys() - bits.keys():
        reach[path] = _joined(reach, path, edges[path])
    return reach


def inner_first(edges: dict[str, list[str]]) -> list[str]:
    """The files that include any, each behind what it includes but for cycles: one pass carries reach all the way."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    for start in edges:
        stack = [start]
        while stack:
            path = stack[-1]
            if path not in seen:
                seen.add(path)
                stack += [target for target in edges.get(path, ()) if target not in seen]
            else:
                found[stack.pop()] = None
    return [path for path in found if path in edges]


def _joined(reach: dict[str, int], path: str, targets: list[str]) -> int:
    """What a file reaches, with what these reach."""
    mask = reach[path]
    for target in targets:
        mask |= reach.get(target, 0)
    return mask


def _mask(paths: list[str], bits: dict[str, int]) -> int:
    mask = 0
    for path in paths:
        mask |= bits.get(path, 0)
    return mask
