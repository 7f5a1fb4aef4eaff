"""The macros of the whole project: which ones depend on the architecture, and what each one is where it is asked for.

A macro that a file tests and does not define comes from before: from what the file includes, or from whoever includes
it. Both are followed (see `units`); one computation serves all targets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from archscan.frontends.cuda.includes import Includes, inner_first, resolved
from archscan.frontends.cuda.memory import Linking
from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.deciding import deciding, defining, gating, is_asked
from archscan.frontends.cuda.preprocessor.definitions import Definitions, definitions, needed_names
from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, INCLUDES
from archscan.frontends.cuda.preprocessor.environment import CUDA_VERSION, Compiler, names_architecture
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.index import DirectiveIndex, included
from archscan.frontends.cuda.preprocessor.macros import MacroDefinitions, chosen, open_state
from archscan.frontends.cuda.preprocessor.tokens import names_in
from archscan.frontends.cuda.preprocessor.units import Context, Lookup, Program, Reading, Units
from archscan.frontends.cuda.preprocessor.walk import Base
from archscan.frontends.cuda.seen import Seen
from archscan.model.condition import alternatives
from archscan.model.gate import Related, Role, Via

_MOST_RELATED = 4
_MOST_STATES = 8  # that a macro may have in what includes a header
_CUDA_H = "cuda.h"
_UNITS = (".cu", ".c", ".cc", ".cpp", ".cxx", ".c++")


@dataclass(frozen=True, slots=True)
class MacroTable:
    """The linked project: picklable, without any file's bytes."""

    derived: frozenset[str]
    needed: frozenset[str]  # names that conditions mention, and those behind them
    guards: frozenset[str]  # macros that nobody sets but the file that they guard
    contexts: dict[str, Context]  # of the files that ask for tracked macros
    includes: Includes
    definers: dict[str, tuple[str, ...]]  # tracked macro -> files
    sites: dict[str, tuple[tuple[str, int], ...]]  # derived macro -> (file, line)
    dependencies: dict[str, set[str]]  # macro -> the names that its definitions hang on
    pasted: frozenset[str]  # macros that token pasting may bring up, and those behind them
    asking: frozenset[str]  # files of which some condition names the architecture or what derives from it
    seen: Seen = field(default_factory=Seen)

    def before(self, path: str, compiler: Compiler) -> Base:
        """What the macros are before the file at `path` says anything."""
        context = self.contexts.get(path)
        entry = context.entry if context is not None else {}

        def base(name: str) -> tuple[MacroDefinitions, Via]:
            settled = compiler.state(name)
            if settled is not None and (name not in self.definers or compiler.overrides(name)):
                return settled, Via.FILE
            state, start = entry.get(name), settled or self._start(path, name, compiler)
            if state is None or state is start:
                return start, Via.FILE
            return state, self.via(path, name)

        return base

    def via(self, path: str, name: str) -> Via:
        """What a file rests on for a macro that others define: what it includes, unless that is a matter of order."""
        self.seen.note(("definers", name))
        reached = [d for d in self.definers.get(name, ()) if d != path and self.includes.reaches(path, d)]
        if not reached or any(self.includes.reaches(d, path) for d in reached):
            return Via.PROJECT_TABLE
        return Via.INCLUDES

    def _start(self, path: str, name: str, compiler: Compiler) -> MacroDefinitions:
        if name == CUDA_VERSION and self.includes.names(path, _CUDA_H):
            return compiler.cuda_version()
        return compiler.undefined if name in self.guards else compiler.unknown(name)

    def deciding(self, path: str, events: Sequence[Directive]) -> tuple[Directive, ...]:
        """Of the directives of a file those that decide its gates; none if it has no gates."""
        if path not in self.asking:
            return ()
        context = self.contexts.get(path)
        names = self.pasted | _closure(_tested(gating(events, self.derived)), self.dependencies)
        return deciding(events, self.derived, names, context.after if context is not None else ())

    def definitions_of(self, name: str, path: str) -> tuple[Related, ...]:
        """Where a derived macro is defined: in the file, in what it includes, else anywhere."""
        self.seen.note(("sites", name))
        sites = self.sites.get(name, ())
        near = [s for s in sites if s[0] == path] or [s for s in sites if self.includes.reaches(path, s[0])]
        chosen_ = dict.fromkeys(near or sites)
        return tuple(Related(p, line, Role.DEFINITION, f"{name} is defined here") for p, line in chosen_)[
            :_MOST_RELATED
        ]

    def said(self) -> object:
        """All but what files ask for by name: values that tell tables apart."""
        dependencies = {name: sorted(names) for name, names in sorted(self.dependencies.items())}
        sets = (self.derived, self.needed, self.guards, self.pasted)
        return [*map(sorted, sets), dependencies, self.includes.said()]

    def said_of(self, path: str) -> object:
        """How a file is read, the same way."""
        context = self.contexts.get(path)
        return path in self.asking, None if context is None else context.said()


def link(
    indexes: Mapping[str, DirectiveIndex],
    compiler: Compiler,
    evaluator: Evaluator,
    seen: Seen | None = None,
    linking: Linking | None = None,
) -> MacroTable:
    """The table of a project from the indexes of its files; what is looked up in it is noted in `seen`."""
    needed, pasted = needed_names(index.events for index in indexes.values())
    defined = {p: d for p, i in indexes.items() if (d := definitions(i.events, i.settled.guards, needed))}
    dependencies = _dependencies(defined)
    derived = _derived(dependencies) | {n for n in needed if compiler.is_derived_elsewhere(n)}
    asking = frozenset(path for path, index in indexes.items() if is_asked(index.events, derived))
    beside = _tested_beside([indexes[path] for path in asking], derived)
    behind_pasted = _closure(pasted, dependencies)
    features = behind_pasted | _closure(derived, dependencies) if beside else frozenset()  # else nobody asks
    tracked = features | _closure(beside, dependencies)
    meant = resolved({path: index.includes for path, index in indexes.items()})
    includes = Includes(meant)
    inner = {file for files in meant.values() for found in files.values() for file in found}
    programs = _programs(indexes, defined, derived, tracked, asking, meant, inner)
    every = [(name, macro) for macros in defined.values() for name, macro in macros.items()]
    defaults = {name for name, macro in every if macro.is_default and not compiler.is_derived_elsewhere(name)}
    guards = frozenset(name for name, macro in every if macro.is_guard) - defaults
    own = (features | guards) - defaults
    lacking = _including(_lacking(indexes, meant), meant)
    open_ = {p for p in programs if not p.endswith(_UNITS) or p in lacking}
    table = MacroTable(
        derived=derived,
        needed=needed,
        guards=guards,
        contexts={},
        includes=includes,
        definers=_definers(programs),
        sites=_sites(defined, derived),
        dependencies=dependencies,
        pasted=behind_pasted,
        asking=asking,
        seen=seen or Seen(),
    )
    key = linking.directives(indexes, _choices(programs)) if linking is not None else b""
    contexts = linking.contexts(key, indexes) if linking is not None else None
    if contexts is None:
        contexts = _contexts(programs, table, own, inner, open_, compiler, evaluator)
        if linking is not None:
            linking.keep_contexts(key, contexts, indexes)
    return replace(table, contexts=contexts)


def _choices(programs: Mapping[str, Program]) -> list[tuple[str, int]]:
    """The lines of includes that may mean several files: an unknown is named after each."""
    return [
        (path, event.line)
        for path, program in programs.items()
        for event in program.events
        if len(program.includes.get(event.start, ())) > 1
    ]


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


def _definers(programs: Mapping[str, Program]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for path, program in programs.items():
        for name in program.defines:
            found.setdefault(name, []).append(path)
    return {name: tuple(paths) for name, paths in found.items()}


def _programs(
    indexes: Mapping[str, DirectiveIndex],
    defined: Mapping[str, Mapping[str, Definitions]],
    derived: frozenset[str],
    tracked: frozenset[str],
    asking: frozenset[str],
    meant: Mapping[str, Mapping[str, Sequence[str]]],
    inner: Collection[str],
) -> dict[str, Program]:
    """What matters of the files that define tracked macros or ask for them, and of those that include such."""
    matters = asking | {path for path, macros in defined.items() if not tracked.isdisjoint(macros)}
    mattering = _including(matters, meant)
    found: dict[str, Program] = {}
    for path in indexes:
        if path not in mattering:
            continue
        index = indexes[path]
        targets = {i: kept for i, files in meant[path].items() if (kept := [f for f in files if f in mattering])}
        includes = {
            e.start: [[file] for file in files]
            for e in index.events
            if e.name in INCLUDES and (files := targets.get(included(e.text))) and _is_meant(path, e.text, files)
        }
        defines = tracked.intersection(defined.get(path, ()))
        if path not in asking:
            events: Sequence[Directive] = defining(index.events, defines, includes)
        elif index.brief:
            events = deciding(index.events, derived, tracked, includes)
        else:
            events = index.events
        once = path if index.once == "#pragma" else index.once
        found[path] = Program(events, index.settled, once, includes, defines, path in asking)
    return _shortened(found, inner)


def _shortened(programs: Mapping[str, Program], inner: Collection[str]) -> dict[str, Program]:
    """The programs without headers that do nothing but include others: these are read instead."""
    passing = {
        path: [way[0][0] for way in program.includes.values()]
        for path, program in programs.items()
        if not program.defines and not program.is_asking and all(e.start in program.includes for e in program.events)
        if all(len(way) == 1 for way in program.includes.values())
    }
    instead: dict[str, list[str]] = {}
    for path in inner_first(passing):  # in a circle of such, one is left that is read for itself
        if all(file in instead or file not in passing for file in passing[path]):
            instead[path] = list(dict.fromkeys(f for file in passing[path] for f in instead.get(file, [file])))

    def shortened(ways: Sequence[Sequence[str]]) -> list[list[str]]:
        return [[f for file in way for f in instead.get(file, [file])] for way in ways]

    return {
        path: replace(program, includes={at: shortened(ways) for at, ways in program.includes.items()})
        for path, program in programs.items()
        if path not in instead or path not in inner
    }


def _is_meant(path: str, text: str, files: Sequence[str]) -> bool:
    """Whether an include means scanned files: <mma.h> is the toolkit's, not the one in some folder of the project."""
    return (
        not text.startswith("<") or "/" in text or any(f.rpartition("/")[0] == path.rpartition("/")[0] for f in files)
    )


def _including(matters: frozenset[str], meant: Mapping[str, Mapping[str, Sequence[str]]]) -> set[str]:
    """These files, and those that include one of them, directly or not."""
    users: dict[str, list[str]] = {}
    for path, includes in meant.items():
        for files in includes.values():
            for file in files:
                users.setdefault(file, []).append(path)
    queue = sorted(matters)
    found = set(queue)
    for path in queue:
        for user in users.get(path, ()):
            if user not in found:
                found.add(user)
                queue.append(user)
    return found


def _lacking(indexes: Mapping[str, DirectiveIndex], meant: Mapping[str, Mapping[str, Sequence[str]]]) -> frozenset[str]:
    """The files that include a header of their own project that was not scanned: it may define anything of it."""
    return frozenset(
        path
        for path, index in indexes.items()
        if any(
            e.name in INCLUDES and e.text.startswith('"') and not meant[path][included(e.text)] for e in index.events
        )
    )


def _contexts(
    programs: Mapping[str, Program],
    table: MacroTable,
    own: frozenset[str],
    inner: set[str],
    open_: set[str],
    compiler: Compiler,
    evaluator: Evaluator,
) -> dict[str, Context]:
    """How every asking file is read. `own`: macros that only the project sets, `inner`: files that are included,
    `open_`: units that may be more.
    """

    known: dict[str, MacroDefinitions] = {}

    def start(path: str) -> Lookup:
        version = compiler.cuda_version() if table.includes.names(path, _CUDA_H) else compiler.unknown(CUDA_VERSION)

        def state(name: str) -> MacroDefinitions:
            found = known.get(name)
            if found is None:
                settled = compiler.undefined if name in own or name.startswith("#") else compiler.unknown(name)
                found = version if name == CUDA_VERSION else compiler.state(name) or settled
                if name != CUDA_VERSION:
                    known[name] = found
            return found

        return state

    units = Units(programs, compiler, evaluator)
    read = {path: units.read(path, start(path)) for path in programs if path not in inner or path.endswith(_UNITS)}
    for path in programs:  # what is only included in a circle begins anywhere
        if not units.has_read(path):
            read[path] = units.read(path, start(path))
    defined = _defined_by(read.values())
    for path, reading in read.items():
        lacking = (
            [n for n in reading.asked if n in defined and n in own and n not in table.guards] if path in open_ else []
        )
        elsewhere = {n: _elsewhere(n, defined[n], compiler) for n in lacking if n not in reading.changes}
        if elsewhere:
            units.take(units.read(path, _with(elsewhere, start(path))))
        else:
            units.take(reading)
    return units.contexts()


def _with(states: Mapping[str, MacroDefinitions], others: Lookup) -> Lookup:
    """Looks up a macro among these, else among the others."""
    return lambda name: states.get(name) or others(name)


def _defined_by(units: Iterable[Reading]) -> dict[str, list[MacroDefinitions]]:
    """What the units have made of each macro."""
    found: dict[str, dict[MacroDefinitions, None]] = {}
    for unit in units:
        for name, state in unit.changes.items():
            found.setdefault(name, {})[state] = None
    return {name: list(states) for name, states in found.items()}


def _elsewhere(name: str, states: Sequence[MacroDefinitions], compiler: Compiler) -> MacroDefinitions:
    """What a macro may be before a header that nobody is known to include: what some unit makes of it, or nothing."""
    everything = compiler.everything
    if len(states) > _MOST_STATES:
        return open_state(name, everything, hidden=True)
    conds = alternatives(f"{name} elsewhere", len(states) + 1, everything, (name,))
    return chosen(name, list(zip(conds, [*states, compiler.undefined], strict=True)))
