"""Looks things up over all scanned files: which gate holds a line, who calls, launches and defines what."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def _bodies(self) -> dict[str, tuple[list[int], list[tuple[int, int, Gate, Arm]]]]:
        found: dict[str, list[tuple[int, int, Gate, Arm]]] = defaultdict(list)
        for file in self.files:
            for gate in file.gates:
                for arm in gate.arms:
                    if arm.body is not None:
                        found[file.path].append((arm.body.line, arm.body.end_line, gate, arm))
        result = {}
        for path, spans in found.items():
            spans.sort(key=lambda s: (s[0], -s[1]))
            result[path] = ([s[0] for s in spans], spans)
        return result

    def owner(self, path: str, line: int) -> tuple[Gate, Arm] | None:
        """The innermost arm whose body holds that line, or None."""
        starts, spans = self._bodies.get(path, ([], []))
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
        beside = f"{path.rpartition('/')[0]}/{reference}".lstrip("/")
        if "./" in reference or "//" in reference:
            beside = posixpath.normpath(beside)
        if beside in self.by_path:
            return (beside,)
        found = self._with_tail(reference)
        if len(found) < 2:
            return found
        near = {p: posixpath.commonprefix([p, path]).count("/") for p in found}
        return tuple(p for p in found if near[p] == max(near.values()))

    def _with_tail(self, reference: str) -> tuple[str, ...]:
        """The scanned files whose path ends with all of `reference`."""
        known = self._tails.get(reference)
        if known is None:
            tail = "/".join(p for p in reference.split("/") if p not in ("", ".", ".."))
            paths = self._by_tail.get(tail.rsplit("/", 1)[-1], ())
            known = self._tails[reference] = tuple(p for p in paths if p == tail or p.endswith(f"/{tail}"))
        return known

    @cached_property
    def _tails(self) -> dict[str, tuple[str, ...]]:
        return {}

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

    @cached_property
    def _by_tail(self) -> dict[str, list[str]]:
        result: dict[str, list[str]] = defaultdict(list)
        for file in self.files:
            result[file.path.rsplit("/", 1)[-1]].append(file.path)
        return result

    def named_files(self, reference: str) -> tuple[str, ...]:
        """The scanned files that a path, as far as it is known, means: those that share the longest tail with it."""
        parts = [p for p in reference.split("/") if p not in ("", ".", "..")]
        if not parts:
            return ()
        paths = self._by_tail.get(parts[-1], [])
        best = max((_common_tail(p, parts) for p in paths), default=0)
        return tuple(p for p in paths if _common_tail(p, parts) == best)


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
