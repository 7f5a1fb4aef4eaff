"""Walks a file's directives in order, keeping what every macro is, and says for each arm where it is live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from archscan.frontends.cuda.preprocessor.conditions import Evaluator, condition_text
from archscan.frontends.cuda.preprocessor.directives import INCLUDES, OPENERS
from archscan.frontends.cuda.preprocessor.environment import Compiler
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.macros import (
    UNDEFINED,
    Definition,
    MacroDefinitions,
    defined_name,
    parse_define,
    redefined,
    uniform,
)
from archscan.frontends.cuda.preprocessor.structure import IncludeGuards
from archscan.frontends.cuda.presence import Point
from archscan.model.condition import Cond, atoms, both, either, possibly, restricted, surely, without
from archscan.model.gate import Via

_TRUST = {Via.FILE: 0, Via.INCLUDES: 1, Via.PROJECT_TABLE: 2}


def weaker(one: Via, other: Via) -> Via:
    """The less trustworthy of two."""
    return one if _TRUST[one] >= _TRUST[other] else other


Base = Callable[[str], tuple[MacroDefinitions, Via]]
"""What a macro is before a file says anything, and what that rests on."""


class MacroEnvironment:
    """The macros at one point of a file."""

    def __init__(self, compiler: Compiler, base: Base) -> None:
        self.compiler = compiler
        self.local: dict[str, MacroDefinitions] = {}
        self._local_via: dict[str, Via] = {}
        self._base = base
        self.before: dict[
            str, tuple[MacroDefinitions, Via]
        ] = {}  # what has been asked for before the file said anything of it

    def lookup(self, name: str) -> MacroDefinitions:
        """The state of a macro here."""
        found = self.local.get(name)
        return self._before(name)[0] if found is None else found

    def via(self, name: str) -> Via:
        """What that state rests on."""
        return self._local_via.get(name, Via.INCLUDES) if name in self.local else self._before(name)[1]

    def _before(self, name: str) -> tuple[MacroDefinitions, Via]:
        found = self.before.get(name)
        if found is None:
            found = self.before[name] = self._base(name)
        return found

    def define(self, name: str, definition: Definition, live: Cond, via: Via) -> None:
        """Takes note of a `#define` or `#undef` (UNDEFINED) in a region that is live so."""
        if self.compiler.overrides(name):
            return
        if live == self.compiler.everything:
            self.set(name, uniform(definition, live), via)
        elif live != 0:
            self.set(name, redefined(name, self.lookup(name), definition, live), weaker(via, self.via(name)))

    def take(self, states: Mapping[str, MacroDefinitions]) -> None:
        """Takes note of what an include has changed."""
        self.local.update(states)

    def set(self, name: str, state: MacroDefinitions, via: Via) -> None:
        """Takes note of what a macro is from here on."""
        self.local[name] = state
        self._local_via[name] = via


class Stop(NamedTuple):
    """Where a body ends: the next directive of its conditional, or the end of the file."""

    offset: int
    line: int


_NOWHERE = Stop(0, 0)


class ArmTruth(NamedTuple):
    """Where an arm is live: by its own condition, and effectively."""

    event: Directive
    condition: str
    own: Cond
    when: Cond
    via: Via
    end: Stop


class ChainTruth(NamedTuple):
    """A finished conditional: its arms, and where it is reached at all."""

    start: int
    arms: tuple[ArmTruth, ...]
    reach: Cond


@dataclass(slots=True)
class _Frame:
    """A conditional while it is open. What is said of the current arm changes from arm to arm."""

    start: int
    reach: Cond
    via: Via
    earlier: Cond = 0  # where an arm before the current one is taken, wherever it is reached
    arms: list[ArmTruth] = field(default_factory=list)
    ends: list[Stop] = field(default_factory=list)
    live: Cond = 0  # of the current arm


class Walk:
    """One pass over the directives of one file."""

    def __init__(
        self,
        environment: MacroEnvironment,
        evaluator: Evaluator,
        settled: IncludeGuards | None = None,
        end: Stop = _NOWHERE,
        needed: frozenset[str] | None = None,
        included: Callable[[Directive, Cond, Via], bool] | None = None,
        reached: Cond | None = None,
    ) -> None:
        """`needed`: the macros whose definitions matter (None = all). `included` is told of every `#include`, and says
        whether that changes any.
        """
        self.environment = environment
        self.evaluator = evaluator
        self.settled = settled or IncludeGuards()
        self.end = end
        self.points: list[Point] = []
        self._is_told = True
        self._needed = needed
        self._included = included
        self.looked: set[str] = set()  # the macros that conditions rest on, or that are defined
        self._answers: dict[str, tuple[Cond, Via]] = {}  # since the last definition
        self._around: Cond = evaluator.everything if reached is None else reached
        self._frames: list[_Frame] = []
        if reached is not None:
            self.points.append(Point(0, reached, Via.PROJECT_TABLE))

    def chains(self, events: Sequence[Directive]) -> Iterator[ChainTruth]:
        """Every conditional as it closes; what is still open at the end of the file closes there."""
        for event in events:
            name = event.name
            if name in OPENERS:
                self._frames.append(_Frame(event.start, self.live, self._via))
                self._arm(self._frames[-1], event)
            elif name in ("define", "undef"):
                self._define(event)
            elif name == "endif":
                if self._frames and not self._is_told:
                    self._frames.pop()
                elif self._frames:
                    yield self._close(Stop(event.start, event.line))
            elif name in INCLUDES:
                if self._included is not None and self._included(event, self.live, self._via):
                    self._answers.clear()
            elif name.startswith("el") and self._frames:
                self._frames[-1].ends.append(Stop(event.start, event.line))
                self._arm(self._frames[-1], event)
        while self._frames and self._is_told:
            yield self._close(self.end)

    def run(self, events: Sequence[Directive]) -> None:
        """Goes through the directives for what they do to the macros alone."""
        self._is_told = False
        for _ in self.chains(events):
            pass

    @property
    def live(self) -> Cond:
        """Where the current point is live."""
        return self._frames[-1].live if self._frames else self._around

    @property
    def _via(self) -> Via:
        return self._frames[-1].via if self._frames else Via.FILE

    def _close(self, end: Stop) -> ChainTruth:
        frame = self._frames.pop()
        frame.ends.append(end)
        self.points.append(Point(end.offset, self.live, self._via))
        arms = tuple(ArmTruth(*arm[:-1], e) for arm, e in zip(frame.arms, frame.ends, strict=True))
        return ChainTruth(frame.start, arms, frame.reach)

    def _define(self, event: Directive) -> None:
        name = defined_name(event.text)
        if not name or (self._needed is not None and name not in self._needed):
            return
        self._answers.clear()
        self.looked.add(name)
        parsed = parse_define(event.text) if event.name == "define" else (name, UNDEFINED)
        if parsed:
            self.environment.define(*parsed, self.live, self._via)

    def _arm(self, frame: _Frame, event: Directive) -> None:
        condition = "" if event.name == "else" else condition_text(event.name, event.text)
        own: Cond = self.evaluator.everything
        via = Via.FILE
        if condition and event.start not in self.settled.guards:
            own, via = self._answer(condition)
            if not isinstance(own, int):
                own = self._required(event, own)
        frame.via = weaker(via, frame.via)
        frame.live = without(both(frame.reach, own), frame.earlier)
        frame.earlier = either(frame.earlier, own)
        if not self._is_told:
            return
        frame.arms.append(ArmTruth(event, condition, own, frame.live, frame.via, _NOWHERE))
        self.points.append(Point(event.end, frame.live, frame.via))

    def _answer(self, condition: str) -> tuple[Cond, Via]:
        found = self._answers.get(condition)
        if found is None:
            answer = self.evaluator.answer(condition, self.environment.lookup)
            self.looked.update(answer.names)
            via = Via.FILE
            for name in answer.names if self._is_told else ():
                via = weaker(via, self.environment.via(name))
            found = self._answers[condition] = (answer.when, via)
        return found

    def _required(self, event: Directive, own: Cond) -> Cond:
        """The condition if every other arm is an #error, or this one is and all others but one.

        Whatever compiles takes the arm that works: if flags that nobody sets lead there, nothing else can be meant.
        """
        required, refused = event.start in self.settled.required, event.start in self.settled.refused
        if not required and not refused:
            return own
        unset = restricted(own, {a: False for a in atoms(own) if a.name.startswith("defined(") and a.kind == "flag"})
        return either(own, surely(unset)) if required else both(own, possibly(unset))
