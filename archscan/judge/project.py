"""Looks things up over all scanned files: which gate holds a line, who calls, launches and defines what."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from archscan.judge.branches import Branch, branches
from archscan.model.facts import FileFacts, Link, LinkKind, Site, SiteKind
from archscan.model.gate import Arm, Gate
from archscan.model.target import Universe

_NAME = re.compile(r"[A-Za-z_]\w+")
_NOT_NAMES = frozenset(
    {"operator", "const", "float", "double", "int", "void", "half", "true", "false", "std", "typename"}
)


def names_in(text: str) -> frozenset[str]:
    """The identifiers of a text, language words left out."""
    return frozenset(_NAME.findall(text)) - _NOT_NAMES


@dataclass(frozen=True)
class Project:
    """Indexes over the facts of a scan; made once per judgement."""

    files: tuple[FileFacts, ...]
    universe: Universe

    def ways(self, gate: Gate) -> tuple[Branch, ...]:
        """The branches of a gate; made once, as every step of a judgement asks for them."""
        known = self._ways.get(id(gate))
        if known is None:
            known = self._ways[id(gate)] = (gate, branches(gate, self.universe))
        return known[1]

    @cached_property
    def _ways(self) -> dict[int, tuple[Gate, tuple[Branch, ...]]]:
        """Branches by the id of their gate, which stands beside them: so the id is not given to another."""
        return {}

    @cached_property
    def by_path(self) -> dict[str, FileFacts]:
        return {f.path: f for f in self.files}

    def _bodies_in(self, path: str) -> tuple[list[int], list[tuple[int, int, Gate, Arm]]]:
        """The bodies of the arms in a file, by where they begin."""
        known = self._bodies.get(path)
        if known is None:
            gates = self.by_path[path].gates if path in self.by_path else ()
            arms = [(gate, arm) for gate in gates for arm in gate.arms]
            spans = [(arm.body.line, arm.body.end_line, gate, arm) for gate, arm in arms if arm.body is not None]
            spans.sort(key=lambda s: (s[0], -s[1]))
            known = self._bodies[path] = ([s[0] for s in spans], spans)
        return known

    @cached_property
    def _bodies(self) -> dict[str, tuple[list[int], list[tuple[int, int, Gate, Arm]]]]:
        return {}

    def owner(self, path: str, line: int) -> tuple[Gate, Arm] | None:
        """The innermost arm whose body holds that line, or None."""
        starts, spans = self._bodies_in(path)
        for i in range(bisect_right(starts, line) - 1, -1, -1):
            if spans[i][1] >= line:
                return spans[i][2], spans[i][3]
        return None

    def links(self, kind: LinkKind, source: str) -> Iterable[Link]:
        """The links of a kind from `source`, whatever is before its bare name."""
        if kind not in self._links:
            found: dict[str, list[Link]] = defaultdict(list)
            self._links[kind] = found
            for file in self.files:
                for link in file.links:
                    if link.kind is kind:
                        found[_last(link.source)].append(link)
        return self._links[kind].get(_last(source), ())

    @cached_property
    def _links(self) -> dict[LinkKind, dict[str, list[Link]]]:
        return {}

    def targets(self, kind: LinkKind, source: str) -> frozenset[str]:
        """What `source` is linked to, as bare names."""
        return frozenset(_last(link.target) for link in self.links(kind, source))

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """Those functions and everything they call or launch, by bare name."""
        seen: set[str] = set()
        todo = [_last(n) for n in names]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            todo += self.targets(LinkKind.CALLS, name) | self.targets(LinkKind.LAUNCHES, name)
        return frozenset(seen)

    @cached_property
    def sites(self) -> dict[SiteKind, list[tuple[FileFacts, Site]]]:
        result: dict[SiteKind, list[tuple[FileFacts, Site]]] = defaultdict(list)
        for file in self.files:
            for site in file.sites:
                result[site.kind].append((file, site))
        return result

    @cached_property
    def definitions(self) -> dict[str, list[Gate]]:
        """Gates by the names that they carry: macro, predicate, flag, table, JIT spec."""
        result: dict[str, list[Gate]] = defaultdict(list)
        for file in self.files:
            for gate in file.gates:
                for symbol in gate.symbols:
                    result[symbol].append(gate)
        return result

    def included_files(self, path: str, reference: str) -> tuple[str, ...]:
        """The scanned files that an `#include` in `path` means: the one beside it, else those nearest to it."""
        return self._names.included(path, reference)

    def includes(self, path: str, other: str) -> bool:
        """Whether a file includes another one, directly or not."""
        if path not in self._included:
            seen: set[str] = set()
            todo = [path]
            while todo:
                file = self.by_path.get(todo.pop())
                found = self.direct_includes(file) - seen if file else set()
                seen |= found
                todo += found
            self._included[path] = frozenset(seen)
        return other in self._included[path]

    def including(self, path: str) -> frozenset[str]:
        """Every file that includes this one, directly or not: those of which `includes` holds."""
        known = self._including.get(path)
        if known is None:
            seen: set[str] = set()
            todo = [path]
            while todo:
                found = self._included_by.get(todo.pop(), set()) - seen
                seen |= found
                todo += found
            known = self._including[path] = frozenset(seen)
        return known

    @cached_property
    def _included_by(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for file in self.files:
            for path in self.direct_includes(file):
                found[path].add(file.path)
        return found

    @cached_property
    def _including(self) -> dict[str, frozenset[str]]:
        return {}

    def direct_includes(self, file: FileFacts) -> frozenset[str]:
        """The scanned files that a file includes itself."""
        known = self._direct.get(file.path)
        if known is None:
            names = [link.target for link in file.links if link.kind is LinkKind.INCLUDES]
            known = frozenset(path for name in names for path in self.included_files(file.path, name))
            self._direct[file.path] = known
        return known

    @cached_property
    def _direct(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _included(self) -> dict[str, frozenset[str]]:
        return {}

    def named_files(self, reference: str) -> tuple[str, ...]:
        """The scanned files that a path, as far as it is known, means: those that share the longest tail with it."""
        return self._names.named(reference)

    @cached_property
    def _names(self) -> _Names:
        return _names_among(tuple(file.path for file in self.files))


class _Names:
    """What includes and builds mean by the names of files. It hangs on the paths alone, and is kept for the next
    judgement of the same files.
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = frozenset(paths)
        self._by_tail: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_tail[path.rsplit("/", 1)[-1]].append(path)
        self._tails: dict[str, tuple[str, ...]] = {}
        self._included: dict[tuple[str, str], tuple[str, ...]] = {}
        self._named: dict[str, tuple[str, ...]] = {}

    def included(self, path: str, reference: str) -> tuple[str, ...]:
        """The files that an `#include` in `path` means: the one beside it, else those nearest to it."""
        key = path, reference
        if key not in self._included:
            self._included[key] = self._find(path, reference)
        return self._included[key]

    def _find(self, path: str, reference: str) -> tuple[str, ...]:
        beside = f"{path.rpartition('/')[0]}/{reference}".lstrip("/")
        if "./" in reference or "//" in reference:
            beside = posixpath.normpath(beside)
        if beside in self._paths:
            return (beside,)
        found = self._with_tail(reference)
        if len(found) < 2:
            return found
        near = {p: posixpath.commonprefix([p, path]).count("/") for p in found}
        return tuple(p for p in found if near[p] == max(near.values()))

    def _with_tail(self, reference: str) -> tuple[str, ...]:
        """The files whose path ends with all of `reference`."""
        known = self._tails.get(reference)
        if known is None:
            tail = "/".join(p for p in reference.split("/") if p not in ("", ".", ".."))
            paths = self._by_tail.get(tail.rsplit("/", 1)[-1], ())
            known = self._tails[reference] = tuple(p for p in paths if p == tail or p.endswith(f"/{tail}"))
        return known

    def named(self, reference: str) -> tuple[str, ...]:
        """The files that share the longest tail with a path."""
        known = self._named.get(reference)
        if known is None:
            parts = [p for p in reference.split("/") if p not in ("", ".", "..")]
            paths = self._by_tail.get(parts[-1], []) if parts else []
            best = max((_common_tail(p, parts) for p in paths), default=0)
            known = self._named[reference] = tuple(p for p in paths if _common_tail(p, parts) == best)
        return known


@lru_cache(maxsize=2)
def _names_among(paths: tuple[str, ...]) -> _Names:
    return _Names(paths)


def _common_tail(path: str, parts: list[str]) -> int:
    count = 0
    for one, other in zip(reversed(path.split("/")), reversed(parts), strict=False):
        if one != other:
            break
        count += 1
    return count


def _last(name: str) -> str:
    """The bare name: without namespaces, module path and template arguments."""
    return re.split(r"::|\.|:", name.split("<", 1)[0].strip())[-1]
