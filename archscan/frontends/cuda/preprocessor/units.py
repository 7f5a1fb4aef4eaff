"""Follows includes: what every macro is where a file is read, in each translation unit that reads it.

A unit is read as a preprocessor does, in order and through its includes, but only as far as tracked macros go. What a
file does hangs on the macros that it asks for: where those are as they were in an earlier reading, that one is taken.
A file that is read in several ways is joined: what its macros are then is known as far as all of them agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.environment import CUDA_VERSION, Compiler
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.macros import (
    Definition,
    MacroDefinitions,
    chosen,
    is_defined,
    narrowed,
    open_state,
    uniform,
)
from archscan.frontends.cuda.preprocessor.structure import IncludeGuards
from archscan.frontends.cuda.preprocessor.walk import MacroEnvironment, Walk
from archscan.model.condition import (
    EVERY,
    Cond,
    alternatives,
    asked,
    atom,
    both,
    either,
    fingerprint,
    possibly,
    without,
)
from archscan.model.gate import Via

_DEEPEST = 80  # includes inside each other, some calls each; a compiler stops at 200
_MOST_EVENTS = 3_000_000  # directives read for one project
_MOST_WAYS = 64  # in which a file is read, and that are told apart
_MOST_NAMES = 4  # to blame for the difference

_READ = Definition(None, "", "read")  # of a file that keeps itself from being read twice

Lookup = Callable[[str], MacroDefinitions]


@dataclass(frozen=True, slots=True)
class Program:
    """What matters of a file: directives that decide tracked macros, and the files that its includes may mean."""

    events: Sequence[Directive]
    settled: IncludeGuards
    once: str  # a name for what keeps it from being read twice
    includes: Mapping[int, Sequence[Sequence[str]]]  # by offset: what it may mean, as files that are read in order
    defines: frozenset[str]  # tracked macros
    is_asking: bool  # its own conditions will be asked for

    @property
    def included(self) -> list[str]:
        """The files that it may include."""
        return [file for ways in self.includes.values() for files in ways for file in files]


Changes = tuple[tuple[Cond, MacroDefinitions], ...]
"""What a macro becomes, in the ways of reading a file that change it."""


@dataclass(frozen=True, slots=True)
class Context:
    """A file where it is read: where that is at all, its macros before it, and what its includes change."""

    live: Cond
    entry: Mapping[str, MacroDefinitions]
    after: Mapping[int, Mapping[str, Changes]]  # by the offset of the `#include`

    def said(self) -> object:
        """The same as values that tell contexts apart, in every process."""
        entry = [(name, state.fingerprint) for name, state in self.entry.items()]
        after = [
            (at, [(name, [(fingerprint(c), s.fingerprint) for c, s in ways]) for name, ways in made.items()])
            for at, made in self.after.items()
        ]
        return fingerprint(self.live), entry, after


class Reading(NamedTuple):
    """What came of reading a file: the macros it has asked for, and what they and others are behind it.

    That a file has been read, and is not read again, is a macro here: what hangs on it is asked for like the others.
    """

    number: int
    asked: tuple[str, ...]
    changes: Mapping[str, MacroDefinitions]


@dataclass(slots=True)
class _Branch:
    """Readings of a file that are alike so far: what they have asked for and found, and what comes of it.

    Which macro is asked for next hangs on nothing but what has been found, so that each state of it leads on.
    """

    asked: tuple[str, ...]
    found: tuple[MacroDefinitions, ...]
    reading: Reading | None  # None: there are several
    next: dict[MacroDefinitions, _Branch] = field(default_factory=dict)  # by the state of `name`
    name: str = ""

    def known(self, lookup: Lookup) -> Reading | None:
        """The reading that these macros lead to; None if there was none."""
        branch: _Branch | None = self
        while branch is not None:
            for name, state in zip(branch.asked, branch.found, strict=True):
                if lookup(name) is not state:
                    return None
            if branch.reading is not None:
                return branch.reading
            branch = branch.next.get(lookup(branch.name))
        return None

    def add(self, found: tuple[MacroDefinitions, ...], reading: Reading) -> None:
        """Files a reading that has found these states for what it has asked for."""
        branch, at = self, 0
        while True:
            alike = 0
            while alike < len(branch.found) and branch.found[alike] is found[at + alike]:
                alike += 1
            if alike < len(branch.found):
                branch._split(alike)
            at += alike
            if at == len(found):
                return  # a file that includes itself was read alike inside
            child = branch.next.get(found[at])
            if child is None:
                branch.next[found[at]] = _Branch(reading.asked[at + 1 :], found[at + 1 :], reading)
                return
            branch, at = child, at + 1

    def _split(self, at: int) -> None:
        rest = _Branch(self.asked[at + 1 :], self.found[at + 1 :], self.reading, self.next, self.name)
        self.name, self.next = self.asked[at], {self.found[at]: rest}
        self.asked, self.found, self.reading = self.asked[:at], self.found[:at], None


class _Inner(MacroEnvironment):
    """The macros in a file that is read: those that no file defines are the same everywhere, and not asked for."""

    def __init__(self, compiler: Compiler, before: Lookup, settled: Callable[[str], MacroDefinitions | None]) -> None:
        super().__init__(compiler, lambda name: (before(name), Via.FILE))
        self._settled = settled
        self._entry = before if isinstance(before, _Entry) else None  # None: nothing includes it

    def lookup(self, name: str) -> MacroDefinitions:
        """The state of a macro here, asked of the includers in turn: a loop, as includes lie deeper than calls may."""
        asking: list[_Inner] = []
        here = self
        while True:
            found = here.local.get(name) or here._settled(name)
            if found is None and name not in here.before and here._entry is not None and name != here._entry.once:
                asking.append(here)
                here = here._entry.includer
                continue
            state = found or here._before(name)[0]
            break
        for one in reversed(asking):
            assert one._entry is not None
            state = one._entry.passed(name, state)
            one.before[name] = state, Via.FILE
        return state


@dataclass(frozen=True, slots=True)
class _Entry:
    """The macros at an include, as the file that it reads finds them."""

    includer: _Inner
    once: str  # that the file has been read; "" where it may be read again
    was_read: MacroDefinitions
    live: Cond
    everything: int

    def __call__(self, name: str) -> MacroDefinitions:
        """The state of a macro."""
        return self.was_read if name == self.once else self.passed(name, self.includer.lookup(name))

    def passed(self, name: str, state: MacroDefinitions) -> MacroDefinitions:
        """The state of the includer, where the include is live."""
        if self.live == self.everything or self.includer.compiler.state(name) is not None:
            return state
        return narrowed(state, self.live, self.everything)


@dataclass(slots=True)
class _Frame:
    """A file while it is read."""

    path: str
    environment: _Inner
    inside: list[tuple[int, Cond]] = field(default_factory=list)
    after: dict[int, Mapping[str, MacroDefinitions]] = field(default_factory=dict)


class _Way(NamedTuple):
    """One way in which a file was read."""

    number: int
    entry: Mapping[str, MacroDefinitions]
    after: Mapping[int, Mapping[str, MacroDefinitions]]


class Units:
    """Reads the translation units of one project."""

    def __init__(self, programs: Mapping[str, Program], compiler: Compiler, evaluator: Evaluator) -> None:
        self.programs = programs
        self.compiler = compiler
        self.evaluator = evaluator
        self._everything = compiler.everything
        self._once = {path: f"#once {program.once}" if program.once else "" for path, program in programs.items()}
        self._varying = frozenset(self._once.values()).union(*(program.defines for program in programs.values()))
        self._same: dict[str, MacroDefinitions | None] = {CUDA_VERSION: None}  # it hangs on what a unit includes
        self._was_read = uniform(_READ, self._everything)
        self._memory: dict[str, _Branch] = {}
        self._inside: list[list[tuple[int, Cond]]] = []  # of each reading those inside it, with where they are
        self._ways: dict[str, list[_Way]] = {}
        self._reached: dict[int, Cond] = {}  # reading -> where it is
        self._budget = _MOST_EVENTS
        self._depth = 0

    def read(self, path: str, start: Lookup) -> Reading:
        """Reads a file as a translation unit whose macros are what `start` says."""
        return self._read(path, start)

    def has_read(self, path: str) -> bool:
        """Whether some unit has read a file."""
        return path in self._memory

    def take(self, unit: Reading) -> None:
        """Counts the unit among those that there are."""
        self._reached[unit.number] = self._everything

    def contexts(self) -> dict[str, Context]:
        """Every asking file that some unit reads, as it is read there."""
        for number in range(len(self._inside) - 1, -1, -1):  # what is inside a reading has a lower number
            live = self._reached.get(number, 0)
            if live != 0:
                for inside, where in self._inside[number]:
                    self._reached[inside] = either(self._reached.get(inside, 0), both(live, where))
        return {path: context for path, ways in self._ways.items() if (context := self._joined(path, ways))}

    def _read(self, path: str, lookup: Lookup) -> Reading:
        memory = self._memory.get(path)
        known = memory.known(lookup) if memory is not None else None
        if known is not None:
            return known
        program = self.programs[path]
        self._budget -= len(program.events) + 1
        frame = _Frame(path, _Inner(self.compiler, lookup, self._settled))
        walk = Walk(frame.environment, self.evaluator, program.settled, included=partial(self._include, frame))
        self._depth += 1
        walk.run(program.events)
        self._depth -= 1
        self._inside.append(frame.inside)
        before = frame.environment.before
        found = Reading(len(self._inside) - 1, tuple(before), frame.environment.local)
        states = tuple(state for state, _ in before.values())
        if path not in self._memory:
            self._memory[path] = _Branch(found.asked, states, found)
        else:
            self._memory[path].add(states, found)
        if program.is_asking:
            entry = {name: state for name, (state, _) in before.items() if name in walk.looked}
            after = {at: {n: made[n] for n in made.keys() & walk.looked} for at, made in frame.after.items()}
            self._ways.setdefault(path, []).append(_Way(found.number, entry, after))
        return found

    def _settled(self, name: str) -> MacroDefinitions | None:
        """The state of a macro that no file defines; None for another."""
        if name not in self._same:
            unset = self.compiler.state(name) or self.compiler.unknown(name)
            self._same[name] = None if name in self._varying else unset
        return self._same[name]

    def _include(self, frame: _Frame, event: Directive, live: Cond, _: Via) -> bool:
        """Reads what an include may mean, and takes note of what it changes; whether it changes anything."""
        meant = self.programs[frame.path].includes.get(event.start, ())
        made: dict[str, MacroDefinitions] = {}
        if len(meant) == 1:
            for file in meant[0]:
                made.update(self._enter(file, frame, live))
        elif meant:
            place = f"{frame.path}:{event.line}"
            conds = alternatives(f"include of {place}", len(meant), EVERY, (place,))
            for files, cond in zip(meant, conds, strict=True):
                for file in files:
                    made.update(self._enter(file, frame, both(live, cond)))
        if made:
            frame.after[event.start] = made
        return bool(made)

    def _enter(self, path: str, frame: _Frame, live: Cond) -> Mapping[str, MacroDefinitions]:
        """Reads a file that is included where it was not yet; the macros that this changes, as they are then."""
        outer, once = frame.environment.lookup, self._once[path]
        if once:
            read = outer(once)
            if read is self._was_read:
                return {}
            live = without(live, is_defined(read, self._everything))
        if live == 0:
            return {}

        if self._depth >= _DEEPEST or self._budget < 0:
            changes = self._lost(path)
        else:
            reading = self._read(path, _Entry(frame.environment, once, self._was_read, live, self._everything))
            frame.inside.append((reading.number, live))
            changes = dict(reading.changes)
        if once:
            changes[once] = self._was_read
        if live != self._everything:
            rest = without(self._everything, live)
            for name, state in changes.items():
                old = outer(name)
                if state is not old:
                    changes[name] = chosen(name, [(live, state), (rest, old)])
        frame.environment.take(changes)
        return changes

    def _lost(self, path: str) -> dict[str, MacroDefinitions]:
        """What is known behind a file that is not followed: nothing of what it may define."""
        queue, names = [path], set[str]()
        for current in queue:
            names |= self.programs[current].defines
            queue += [file for file in self.programs[current].included if file not in queue]
        return {name: open_state(name, self._everything, hidden=True) for name in sorted(names)}

    def _joined(self, path: str, ways: Sequence[_Way]) -> Context | None:
        """The ways of reading a file that some unit takes as one; each counts for the targets that it is read for."""
        distinct: dict[object, tuple[_Way, int]] = {}
        for way in ways:
            if mask := possibly(self._reached.get(way.number, 0)):
                key = _signature(way)
                distinct[key] = way, mask | distinct.get(key, (way, 0))[1]
        if not distinct:
            return None
        taken, masks = [way for way, _ in distinct.values()], [mask for _, mask in distinct.values()]
        names = list(dict.fromkeys(name for way in taken for name in way.entry))
        states = {name: [way.entry.get(name) for way in taken] for name in names}
        differing = tuple(n for n in names if len({state for state in states[n] if state is not None}) > 1)
        conds = self._told_apart(f"reading of {path}", masks, differing[:_MOST_NAMES] or (path,))
        somewhere = 0  # a flag may keep it from being read at all: what is said of it holds where it is
        for mask in masks:
            somewhere |= mask
        live: Cond = somewhere
        if somewhere != self._everything:  # who reads it for other targets is not known
            elsewhere = atom(f"{path} is read elsewhere", "expr", names=(f"#include {path.rpartition('/')[2]}",))
            live = either(somewhere, asked(elsewhere, self._everything))
        entry = {name: self._one_of(name, states[name], conds, somewhere) for name in names}
        return Context(live, entry, self._after(taken, conds))

    def _told_apart(self, key: str, masks: Sequence[int], names: tuple[str, ...]) -> list[Cond]:
        """Conditions of which exactly one holds, for the targets that any counts for; none if they are too many."""
        if len(masks) > _MOST_WAYS:
            return []
        classes: dict[tuple[int, ...], int] = {(): self._everything}
        for number, mask in enumerate(masks):
            split: dict[tuple[int, ...], int] = {}
            for members, where in classes.items():
                split.update({(*members, number): where & mask} if where & mask else {})
                split.update({members: where & ~mask} if where & ~mask else {})
            classes = split
        found: list[Cond] = [0] * len(masks)
        for members, where in classes.items():
            if members:
                for number, cond in zip(members, alternatives(key, len(members), EVERY, names), strict=True):
                    found[number] = either(found[number], both(cond, where))
        return found

    def _one_of(
        self, name: str, states: Sequence[MacroDefinitions | None], conds: Sequence[Cond], somewhere: int
    ) -> MacroDefinitions:
        """The state that is one of these; unknown where the file is not read; whatever it may be where nobody asks."""
        some = next(state for state in states if state is not None)
        unknown = open_state(name, self._everything, hidden=True)
        if all(state is None or state is some for state in states):
            found = some
        elif conds:
            found = chosen(name, [(c, state or some) for c, state in zip(conds, states, strict=True) if c != 0])
        else:
            return unknown
        outside = self._everything & ~somewhere
        return chosen(name, [(somewhere, found), (outside, unknown)]) if outside else found

    def _after(self, ways: Sequence[_Way], conds: Sequence[Cond]) -> dict[int, dict[str, Changes]]:
        """What the includes of a file change, whichever way it is read."""
        found: dict[int, dict[str, Changes]] = {}
        for offset in sorted({offset for way in ways for offset in way.after}):
            made = [way.after.get(offset, {}) for way in ways]
            for name in sorted({name for changes in made for name in changes}):
                states = [changes.get(name) for changes in made]
                first = states[0]
                if first is not None and all(state is first for state in states):
                    changes: Changes = ((self._everything, first),)
                elif conds:
                    changes = tuple((c, state) for c, state in zip(conds, states, strict=True) if state and c != 0)
                else:
                    changes = ((self._everything, open_state(name, self._everything, hidden=True)),)
                found.setdefault(offset, {})[name] = changes
        return found


def _signature(way: _Way) -> tuple[object, ...]:
    return tuple(way.entry.items()), tuple((offset, *changes.items()) for offset, changes in way.after.items())
