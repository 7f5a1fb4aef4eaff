"""Which images the scanned builds make of a source: harm in code that nothing compiles for a target reaches nobody."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from archscan.catalog.types import Catalog
from archscan.judge.needs.images import entry_targets
from archscan.judge.needs.notes import compiled
from archscan.judge.project import Project
from archscan.model.facts import FileFacts, Link, LinkKind, Origin
from archscan.model.gate import Gate, Kind

UNIT = (".cu", ".cpp", ".cc", ".cxx", ".c")
_EVERYWHERE = re.compile(r"[A-Z0-9_]*(?:ARCHITECTURES|ARCH_LIST|CUDA_?ARCHS?|NVCC_FLAGS|CUDA_FLAGS)\Z")


@dataclass(frozen=True, slots=True)
class Making:
    """What is compiled of a file: `made` by builds that compile it, `maybe` by those of which that is not known."""

    made: int = 0  # the targets that it is compiled for
    maybe: int = 0
    loads: int = 0  # the targets that find code in some of these images
    is_open: bool = False  # what one of these builds makes is not known

    def and_also(self, other: Making) -> Making:
        return Making(
            self.made | other.made,
            self.maybe | other.maybe,
            self.loads | other.loads,
            self.is_open or other.is_open,
        )


@dataclass(frozen=True, slots=True)
class _Build:
    """One build: the files that it compiles, None where that is not told, and what it makes of them."""

    root: str
    files: frozenset[str] | None
    making: Making
    lists: tuple[Gate, ...] = ()  # that it goes by


class Builds:
    """Every build of a project, asked what it makes of a file."""

    def __init__(self, project: Project, catalog: Catalog) -> None:
        self._project = project
        self._catalog = catalog
        self._known: dict[str, Making | None] = {}

    def of(self, path: str) -> Making | None:
        """What is compiled of a file; None where nothing that was scanned builds anything."""
        if path not in self._known:
            self._known[path] = self._of(path)
        return self._known[path]

    def lists(self, path: str) -> tuple[Gate, ...]:
        """The lists of the builds that compile a file."""
        units = frozenset(self._units(path))
        return tuple(gate for build in self._builds if build.files and units & build.files for gate in build.lists)

    def _of(self, path: str) -> Making | None:
        root = self._project.by_path[path].root if path in self._project.by_path else ""
        builds = [build for build in self._builds if root == build.root or root.startswith(f"{build.root}/")]
        if not builds:
            return None
        found = Making()
        for unit in self._units(path):
            telling = [build.making for build in builds if build.files is not None and unit in build.files]
            loose = [build.making for build in builds if build.files is None]
            if not telling and not loose:
                telling = [Making(is_open=True)]  # nothing that was read compiles it: somebody else may
            for making in telling or (Making(0, one.made, one.loads, one.is_open) for one in loose):
                found = found.and_also(making)
        return found

    def _units(self, path: str) -> Iterable[str]:
        """The sources that compile a file: those that include it, else itself."""
        if path.endswith(UNIT):
            return (path,)
        including = self._project.including(path)
        own = [one for one in map(self._project.by_path.__getitem__, sorted(including)) if one.path.endswith(UNIT)]
        return tuple(one.path for one in own if one.origin is not Origin.TEST) or (path,)

    @cached_property
    def _builds(self) -> tuple[_Build, ...]:
        return tuple(build for file in self._project.files if file.origin is Origin.OWN for build in self._in(file))

    def _in(self, file: FileFacts) -> Iterator[_Build]:
        """The builds of a file, and its lists that no build of it is known to go by."""
        lists = [gate for gate in file.gates if gate.kind is Kind.BUILD_LIST]
        lists = [gate for gate in lists if gate.note("branches") is None] or lists  # who asks, and what is made of it
        used: set[int] = set()
        for group in _groups(file):
            own = _lists_of(group, lists)
            used |= {id(gate) for gate in own}
            files = self._files(file.path, group)
            if files or own:
                making = self._making(own) if own else Making(is_open=True)
                yield _Build(file.root, files or None, making, tuple(own))
        rest = [gate for gate in lists if id(gate) not in used]
        if rest:
            yield _Build(file.root, None, self._making(rest))

    def _files(self, path: str, group: Iterable[Link]) -> frozenset[str]:
        found: set[str] = set()
        for link in group:
            if link.kind is LinkKind.JIT_SOURCE:
                found.update(self._meant(path, link.target))
        return frozenset(found)

    def _meant(self, path: str, written: str) -> Iterable[str]:
        """The files that a build means; those of a pattern lie below its folder."""
        if "*" not in written:
            return self._project.named_files(written)
        folder = path.rpartition("/")[0]
        below = f"{folder}/" if folder else ""
        pattern = f"{below}*{written.replace('**/', '').lstrip('./')}"
        return [one for one in self._project.by_path if one.startswith(below) and fnmatchcase(one, pattern)]

    def _making(self, lists: Iterable[Gate]) -> Making:
        universe = self._catalog.universe
        found = Making()
        for gate in lists:
            arms = enumerate(gate.arms)
            targets = [t for i, arm in arms for t in compiled(gate, i) or entry_targets(arm.condition)]
            names = [universe.by_name[t.name] for t in targets if t.name in universe.by_name]
            loads = 0
            for arm in gate.arms:
                loads |= arm.own.yes | arm.own.unknown(universe.device)
            is_open = gate.note("open") is not None or not targets
            found = found.and_also(Making(universe.mask(names), 0, loads, is_open))
        return found


def _groups(file: FileFacts) -> Iterator[list[Link]]:
    """The links of each build of a file: a function's, or in a build file those of one target."""
    groups: dict[tuple[str, int], list[Link]] = defaultdict(list)
    listfile = not file.path.endswith((".py", ".pyi"))
    for link in file.links:
        if link.kind in (LinkKind.JIT_SPEC, LinkKind.JIT_SOURCE):
            groups[link.source, link.line if listfile else 0].append(link)
    yield from groups.values()


def _lists_of(group: list[Link], lists: list[Gate]) -> list[Gate]:
    """The lists that a build goes by: its own, that of its function or of its sources; else those for everything."""
    names = {link.target for link in group}
    functions = {link.source.rpartition(".")[2] for link in group if link.source}
    own = [
        gate
        for gate in lists
        if set(gate.symbols) & names or (gate.scope and gate.scope.name.rpartition(".")[2] in functions)
    ]
    if own:
        return own
    return [gate for gate in lists if gate.scope is None and _is_for_all(gate, names, functions)]


def _is_for_all(gate: Gate, names: set[str], functions: set[str]) -> bool:
    """Whether a list at module level is not for one target alone."""
    if functions or not gate.symbols:
        return True
    return any(_EVERYWHERE.match(symbol) for symbol in gate.symbols) or gate.path.endswith(".py")
