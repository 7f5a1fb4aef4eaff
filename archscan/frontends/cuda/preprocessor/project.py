"""The macros of the whole project: which ones depend on the architecture, and what each one is for every target.

A macro that a file tests and does not define comes from a header it includes, if the include can be resolved among the
scanned files, or else from the table: all definitions in the project joined. One computation serves all targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from archscan.frontends.cuda.includes import Includes
from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.deciding import deciding, defining, gating, is_asked
from archscan.frontends.cuda.preprocessor.definitions import Definitions, definitions, needed_names
from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, Directive
from archscan.frontends.cuda.preprocessor.environment import Compiler, names_architecture
from archscan.frontends.cuda.preprocessor.index import DirectiveIndex
from archscan.frontends.cuda.preprocessor.macros import State, joined
from archscan.frontends.cuda.preprocessor.structure import Settled
from archscan.frontends.cuda.preprocessor.tokens import names_in
from archscan.frontends.cuda.preprocessor.walk import Environment, Outside, Walk, weaker
from archscan.model.gate import Related, Role, Via

_MOST_ROUNDS = 8
_MOST_RELATED = 4
_CUDA_H = "cuda.h"


@dataclass(frozen=True, slots=True)
class Export:
    """What a macro is at the end of a file that defines it, and what that rests on."""

    state: State
    via: Via


@dataclass(frozen=True, slots=True)
class MacroTable:
    """The linked project: picklable, without any file's bytes."""

    derived: frozenset[str]
    features: frozenset[str]  # these, and the macros that their definitions hang on
    tracked: frozenset[str]  # every macro whose value may decide where a gate is reached
    defaults: frozenset[str]  # macros with a definition for where nothing else defines them: build flags
    exports: dict[str, dict[str, Export]]  # macro -> file -> what it is there
    includes: Includes
    sites: dict[str, tuple[tuple[str, int], ...]]  # macro -> (file, line)
    needed: frozenset[str]  # names that conditions mention, and those behind them
    flags: dict[str, tuple[str, ...]]  # derived macro -> build flags that decide it
    dependencies: dict[str, set[str]]  # macro -> the names that its definitions hang on
    pasted: frozenset[str]  # macros that token pasting may bring up, and those behind them
    asking: frozenset[str]  # files of which some condition names the architecture or what derives from it

    def outside(self, path: str, compiler: Compiler) -> Outside:
        """What the file at `path` takes from elsewhere."""
        return _FromProject(self, path, compiler)

    def deciding(self, path: str, events: Sequence[Directive]) -> tuple[Directive, ...]:
        """Of the directives of a file those that decide its gates; none if it has no gates."""
        if path not in self.asking:
            return ()
        names = _tested(gating(events, self.derived))
        return deciding(events, self.derived, self.pasted | _closure(names, self.dependencies))

    def flags_behind(self, name: str) -> tuple[str, ...]:
        """The names outside the project that a derived macro hangs on where it is unknown; the name itself if none."""
        return self.flags.get(name) or (name,)

    def definitions_of(self, name: str, path: str) -> tuple[Related, ...]:
        """Where a derived macro is defined: in the file, in what it includes, else anywhere."""
        sites = self.sites.get(name, ())
        near = [s for s in sites if s[0] == path] or [s for s in sites if self.includes.reaches(path, s[0])]
        chosen = dict.fromkeys(near or sites)
        return tuple(Related(p, line, Role.DEFINITION, f"{name} is defined here") for p, line in chosen)[:_MOST_RELATED]


class _FromProject(Outside):
    def __init__(self, table: MacroTable, path: str, compiler: Compiler) -> None:
        self.table = table
        self.path = path
        self.compiler = compiler

    def behind(self, name: str) -> tuple[str, ...]:
        return self.table.flags_behind(name)

    def state(self, name: str, touched: bool) -> tuple[State, Via] | None:
        table = self.table
        if name == "CUDA_VERSION":
            return (self.compiler.cuda_version(), Via.INCLUDES) if table.includes.names(self.path, _CUDA_H) else None
        exports = table.exports.get(name)
        if not exports:
            return None
        reached = {p: e for p, e in exports.items() if p != self.path and table.includes.reaches(self.path, p)}
        if reached:  # in a cycle of includes, which of two files comes first hangs on where it is entered
            cyclic = any(table.includes.reaches(p, self.path) for p in reached)
            return _joined(list(reached.values()), Via.PROJECT_TABLE if cyclic else Via.INCLUDES)
        alone = len(exports) == 1 and name not in table.defaults
        if name not in table.features and not (alone and self.path in exports):
            return None
        if self.path in exports:  # nothing before its own definition, unless who includes it defines it before
            before = [e for p, e in exports.items() if p != self.path and table.includes.reaches(p, self.path)]
            if before and not touched:
                return _joined(before, Via.PROJECT_TABLE)
            cyclic = table.includes.reaches(self.path, self.path)
            return self.compiler.undefined, Via.PROJECT_TABLE if cyclic else Via.FILE
        return _joined(list(exports.values()), Via.PROJECT_TABLE)


def _joined(exports: list[Export], via: Via) -> tuple[State, Via]:
    for export in exports:
        via = weaker(via, export.via)
    return joined([export.state for export in exports]), via


def link(indexes: Mapping[str, DirectiveIndex], compiler: Compiler, evaluator: Evaluator) -> MacroTable:
    """The table of a project from the indexes of its files."""
    needed, pasted = needed_names(index.events for index in indexes.values())
    defined = {p: d for p, i in indexes.items() if (d := definitions(i.events, i.settled.guards, needed))}
    dependencies = _dependencies(defined)
    derived = _derived(dependencies) | {n for n in needed if compiler.is_derived_elsewhere(n)}
    asking = frozenset(path for path, index in indexes.items() if is_asked(index.events, derived))
    beside = _tested_beside([indexes[path] for path in asking], derived)
    behind_pasted = _closure(pasted, dependencies)
    features = behind_pasted | _closure(derived, dependencies) if beside else frozenset()  # else nobody asks
    tracked = features | _closure(beside, dependencies)
    includes = Includes({path: index.includes for path, index in indexes.items()})
    table = MacroTable(
        derived=derived,
        features=features,
        tracked=tracked,
        defaults=frozenset(name for macros in defined.values() for name, m in macros.items() if m.is_default),
        exports={},
        includes=includes,
        sites=_sites(defined, derived),
        needed=needed,
        flags=_flags(derived, dependencies, pasted, compiler),
        dependencies=dependencies,
        pasted=behind_pasted,
        asking=asking,
    )
    programs = {
        p: _Program(defining(indexes[p].events, tracked), indexes[p].settled)
        for p, d in defined.items()
        if not tracked.isdisjoint(d)
    }
    return _settled(programs, table, compiler, evaluator)


def _dependencies(defined: Mapping[str, Mapping[str, Definitions]]) -> dict[str, set[str]]:
    """Macro -> the names that its definitions hang on, over all files."""
    found: dict[str, set[str]] = {}
    for macros in defined.values():
        for name, macro in macros.items():
            found.setdefault(name, set()).update(macro.depends_on)
    return found


def _derived(dependencies: dict[str, set[str]]) -> frozenset[str]:
    """Every macro of the project whose definition hangs on the architecture, directly or through others."""
    users: dict[str, list[str]] = {}
    for name, names in dependencies.items():
        for other in names:
            users.setdefault(other, []).append(name)
    queue = [name for other, names in users.items() if names_architecture(other) for name in names]
    found: set[str] = set()
    for name in queue:
        if name not in found and not names_architecture(name):
            found.add(name)
            queue += users.get(name, ())
    return frozenset(found)


def _flags(
    derived: Iterable[str], dependencies: dict[str, set[str]], pasted: Iterable[str], compiler: Compiler
) -> dict[str, tuple[str, ...]]:
    """Of each derived macro the build flags behind it. What is only pasted to a prefix, as in OS(LINUX), is none."""
    parts = frozenset(name.strip("_").rpartition("_")[2] for name in pasted)

    def is_flag(name: str) -> bool:
        return name not in parts and not name.endswith("_")

    return {name: tuple(filter(is_flag, _undefined(name, dependencies, compiler))) for name in derived}


def _undefined(name: str, dependencies: dict[str, set[str]], compiler: Compiler) -> tuple[str, ...]:
    """The names that nothing in the project defines and the compiler does not settle, behind a macro's definitions."""
    queue, seen = [name], {name}
    found: list[str] = []
    for current in queue:
        for other in sorted(dependencies.get(current, ())):
            if other in seen:
                continue
            seen.add(other)
            if other in dependencies:
                queue.append(other)
            elif compiler.state(other) is None and not other.startswith("__"):
                found.append(other)
    return tuple(found)


def _tested_beside(asking: Iterable[DirectiveIndex], derived: frozenset[str]) -> frozenset[str]:
    """Names in conditions beside a test of the architecture: they decide whether a gate or a site is reached.

    Of others' code only the conditions around a test: nothing else is looked for in it.
    """
    found: set[str] = set()
    for index in asking:
        found |= _tested(gating(index.events, derived) if index.brief else index.events)
    return frozenset(found)


def _tested(events: Iterable[Directive]) -> set[str]:
    """The names in conditions."""
    return {name for event in events if event.name in CONDITIONALS for name in names_in(event.text)}


def _closure(names: Iterable[str], dependencies: dict[str, set[str]]) -> frozenset[str]:
    queue = list(names)
    found: set[str] = set()
    for name in queue:
        if name not in found and name in dependencies:
            found.add(name)
            queue += dependencies[name]
    return frozenset(found)


def _sites(
    defined: Mapping[str, Mapping[str, Definitions]], derived: frozenset[str]
) -> dict[str, tuple[tuple[str, int], ...]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for path, macros in defined.items():
        for name, macro in macros.items():
            if name in derived:
                found.setdefault(name, []).extend((path, line) for line in macro.lines)
    return {name: tuple(sites) for name, sites in found.items()}


@dataclass(frozen=True, slots=True)
class _Program:
    """The directives of a file that decide its tracked macros: their definitions and the conditionals around them."""

    events: tuple[Directive, ...]
    settled: Settled


class _Ran(NamedTuple):
    """What a file's tracked macros are at its end, and which macros from elsewhere that rests on."""

    exports: dict[str, Export]
    asked: frozenset[str]


def _settled(
    programs: Mapping[str, _Program], table: MacroTable, compiler: Compiler, evaluator: Evaluator
) -> MacroTable:
    """The table with what every tracked macro is in each file that defines it, to a fixpoint."""
    ran: dict[str, _Ran] = {}
    due = list(programs)
    for _ in range(_MOST_ROUNDS):
        for path in due:
            ran[path] = _run(path, programs[path], table, compiler, evaluator)
        exports: dict[str, dict[str, Export]] = {}
        for path in programs:
            for name, export in ran[path].exports.items():
                exports.setdefault(name, {})[path] = export
        changed = {name for name, files in exports.items() if files != table.exports.get(name)}
        if not changed:
            break
        table = replace(table, exports=exports)
        due = [path for path in programs if not changed.isdisjoint(ran[path].asked)]
    return table


def _run(path: str, program: _Program, table: MacroTable, compiler: Compiler, evaluator: Evaluator) -> _Ran:
    """What the tracked macros of a file are, given the table so far."""
    environment = Environment(compiler, table.outside(path, compiler))
    for _ in Walk(environment, evaluator, program.settled).chains(program.events):
        pass
    exports = {name: Export(state, environment.local_via[name]) for name, state in environment.local.items()}
    return _Ran(exports, environment.asked)
