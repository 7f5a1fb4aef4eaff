"""Walks a file's directives in order, keeping what every macro is, and says for each arm where it is live."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from archscan.frontends.cuda.liveness import Point
from archscan.frontends.cuda.preprocessor.conditions import Answer, Evaluator, condition_text
from archscan.frontends.cuda.preprocessor.directives import OPENERS, Directive
from archscan.frontends.cuda.preprocessor.environment import Compiler, names_architecture
from archscan.frontends.cuda.preprocessor.macros import (
    INHERITED,
    UNDEFINED,
    Definition,
    State,
    defined_name,
    parse_define,
    redefined,
    replaced,
    resolved,
    uniform,
)
from archscan.frontends.cuda.preprocessor.macros import (
    UNKNOWN as MAYBE,
)
from archscan.frontends.cuda.preprocessor.structure import Settled
from archscan.model.gate import Via
from archscan.model.truth import UNKNOWN, Truth, always

_TRUST = {Via.FILE: 0, Via.INCLUDES: 1, Via.PROJECT_TABLE: 2}


def weaker(one: Via, other: Via) -> Via:
    """The less trustworthy of two."""
    return one if _TRUST[one] >= _TRUST[other] else other


class Outside:
    """What a file takes from elsewhere. This one knows nothing."""

    def state(self, name: str, touched: bool) -> tuple[State, Via] | None:
        """The state of a macro before the file says anything of it. `touched`: it is asked for only after that."""
        return None

    def behind(self, name: str) -> tuple[str, ...]:
        """The names that a macro hangs on where it is unknown."""
        return (name,)


class Environment:
    """The macros at one point of a file."""

    def __init__(self, compiler: Compiler, outside: Outside) -> None:
        self.compiler = compiler
        self.outside = outside
        self.local: dict[str, State] = {}
        self.local_via: dict[str, Via] = {}
        self._inherited = uniform(INHERITED, compiler.everything)
        self._base: dict[str, tuple[State, Via]] = {}

    def lookup(self, name: str) -> State:
        """The state of a macro here."""
        if name in self.local:
            local = self.local[name]
            return resolved(local, self.base(name)[0]) if local.where(INHERITED) else local
        return self.base(name)[0]

    def is_architectural(self, name: str) -> bool:
        """Whether what is unknown of a macro is a matter of the architecture, and no flag that a build sets."""
        elsewhere = self.compiler.is_architectural_elsewhere
        return names_architecture(name) or any(elsewhere(flag) for flag in self.outside.behind(name))

    def via(self, name: str) -> Via:
        """What that state rests on."""
        local = self.local.get(name)
        if local is None:
            return self.base(name)[1]
        via = self.local_via.get(name, Via.FILE)
        return weaker(via, self.base(name)[1]) if local.where(INHERITED) else via

    def base(self, name: str) -> tuple[State, Via]:
        """The state before the file says anything."""
        found = self._base.get(name)
        if found is None:
            settled = self.compiler.state(name)
            if settled is None:
                found = self.outside.state(name, name in self.local) or (self.compiler.unknown, Via.FILE)
            else:
                found = (settled, Via.FILE)
            self._base[name] = found
        return found

    @property
    def asked(self) -> frozenset[str]:
        """The macros that were asked for before the file said anything of them."""
        return frozenset(self._base)

    def define(self, name: str, definition: Definition, live: Truth, via: Via, once: int = 0) -> None:
        """Takes note of a `#define` or `#undef` (UNDEFINED) in a region that is live so.

        On `once` the region is dead only where the macro is defined already.
        """
        if self.compiler.overrides(name):
            return
        old = self.local.get(name, self._inherited)
        self.local[name] = redefined(old, definition, live.yes, live.no, once)
        self.local_via[name] = weaker(via, self.local_via.get(name, Via.FILE))


class Stop(NamedTuple):
    """Where a body ends: the next directive of its conditional, or the end of the file."""

    offset: int
    line: int


_NOWHERE = Stop(0, 0)
_BLANKS = re.compile(r"\s+")


class ArmTruth(NamedTuple):
    """Where an arm is live, and why that is not known where it is not."""

    event: Directive
    condition: str
    own: Truth
    truth: Truth
    assumed: Truth
    unknowns: tuple[str, ...]
    assumes: tuple[str, ...]
    via: Via
    end: Stop


class ChainTruth(NamedTuple):
    """A finished conditional: its arms, and where it is reached at all."""

    start: int
    arms: tuple[ArmTruth, ...]
    reach: Truth | None  # None = always


@dataclass(slots=True)
class _Frame:
    """A conditional while it is open. What is said of the current arm changes from arm to arm."""

    start: int
    reach: Truth
    possible: int  # where it may be reached
    names: tuple[str, ...]  # behind what is unknown about the reach
    via: Via
    guard: bool
    earlier: Truth  # own truths of the arms before the current one
    arms: list[ArmTruth] = field(default_factory=list)
    ends: list[Stop] = field(default_factory=list)
    taken: int = 0  # where an earlier arm is assumed to be taken
    stuck: int = 0  # where that hangs on the architecture and cannot be assumed
    live: Truth = UNKNOWN  # of the current arm
    live_possible: int = 0
    live_names: tuple[str, ...] = ()
    live_via: Via = Via.FILE


class Walk:
    """One pass over the directives of one file."""

    def __init__(
        self,
        environment: Environment,
        evaluator: Evaluator,
        settled: Settled | None = None,
        end: Stop | None = None,
        needed: frozenset[str] | None = None,
    ) -> None:
        """`needed`: the macros whose definitions matter (None = all)."""
        self.environment = environment
        self.evaluator = evaluator
        self.settled = settled or Settled()
        self.end = end or _NOWHERE
        self.everything = evaluator.everything
        self.points: list[Point] = []
        self._needed = needed
        self._answers: dict[str, tuple[Answer, Via]] = {}  # since the last definition
        self._always = always(self.everything)
        self._frames: list[_Frame] = []

    def chains(self, events: Sequence[Directive]) -> Iterator[ChainTruth]:
        """Every conditional as it closes; what is still open at the end of the file closes there."""
        for event in events:
            if event.name in OPENERS:
                self._open(event)
            elif event.name in ("define", "undef"):
                self._define(event)
            elif event.name == "endif":
                if self._frames:
                    yield self._close(Stop(event.start, event.line))
            elif event.name.startswith("el") and self._frames:
                self._frames[-1].ends.append(Stop(event.start, event.line))
                self._arm(self._frames[-1], event)
        while self._frames:
            yield self._close(self.end)

    @property
    def live(self) -> Truth:
        """Where the current point is live."""
        return self._frames[-1].live if self._frames else self._always

    def _open(self, event: Directive) -> None:
        guard = event.start in self.settled.guards
        none = Truth(0, self.everything)
        if self._frames:
            o = self._frames[-1]
            frame = _Frame(event.start, o.live, o.live_possible, o.live_names, o.live_via, guard, none)
        else:
            frame = _Frame(event.start, self._always, self.everything, (), Via.FILE, guard, none)
        self._frames.append(frame)
        self._arm(frame, event)

    def _close(self, end: Stop) -> ChainTruth:
        frame = self._frames.pop()
        frame.ends.append(end)
        if self._frames:
            outer = self._frames[-1]
            self.points.append(Point(end.offset, outer.live, outer.live_possible, outer.live_names, outer.live_via))
        else:
            self.points.append(Point(end.offset, self._always, self.everything, (), Via.FILE))
        reach = None if frame.reach == self._always else frame.reach
        arms = tuple(ArmTruth(*arm[:-1], e) for arm, e in zip(frame.arms, frame.ends, strict=True))
        return ChainTruth(frame.start, arms, reach)

    def _define(self, event: Directive) -> None:
        if self._needed is not None and defined_name(event.text) not in self._needed:
            return
        self._answers.clear()
        via = self._frames[-1].live_via if self._frames else Via.FILE
        if event.name == "undef":
            name = defined_name(event.text)
            if name:
                self.environment.define(name, UNDEFINED, self.live, via)
            return
        parsed = parse_define(event.text)
        if parsed:
            self.environment.define(*parsed, self.live, via, self._once(parsed[0]))

    def _once(self, name: str) -> int:
        """Where `#ifndef X` is all that may keep `#define X` from being read: X is defined after it in any case."""
        if self.live.unknown(self.everything) == 0:
            return 0
        mask, asked = self.everything, False
        for frame in self._frames:
            if len(frame.arms) == 1 and _is_missing(frame.arms[0].condition, name):
                asked = True
                continue
            earlier = Truth(0, self.everything)
            for arm in frame.arms[:-1]:
                earlier = earlier | arm.own
            mask &= (frame.arms[-1].own & ~earlier).yes
        return mask if asked else 0

    def _arm(self, frame: _Frame, event: Directive) -> None:
        condition = "" if event.name == "else" else condition_text(event.name, event.text)
        answer, via = (Answer(self._always), Via.FILE) if frame.guard or not condition else self._answer(condition)
        if answer.blame and (event.start in self.settled.required or event.start in self.settled.refused):
            answer = self._required(event, condition, answer)
        via = weaker(via, frame.live_via if frame.arms else frame.via)
        own = answer.truth
        truth = frame.reach & own & ~frame.earlier
        names = frame.live_names if frame.arms else frame.names
        if answer.blame:
            names = tuple(dict.fromkeys((*names, *answer.unknowns(self.everything))))
        self._record(frame, event, condition, answer, truth, names, via)
        frame.live, frame.live_via, frame.live_names = truth, via, names
        frame.live_possible = frame.possible & ~own.no & ~frame.earlier.yes
        frame.earlier = frame.earlier | own
        self.points.append(Point(event.end, truth, frame.live_possible, names, via))

    def _answer(self, condition: str) -> tuple[Answer, Via]:
        found = self._answers.get(condition)
        if found is None:
            answer = self.evaluator.answer(condition, self.environment.lookup)
            via = Via.FILE
            for name in answer.names:
                via = weaker(via, self.environment.via(name))
            found = self._answers[condition] = (answer, via)
        return found

    def _required(self, event: Directive, condition: str, answer: Answer) -> Answer:
        """The answer if every other arm is an #error, or this one is and all others but one.

        Whatever compiles takes the arm that works: if flags that nobody sets lead there, nothing else can be meant.
        """
        open_ = answer.truth.unknown(self.everything)
        open_ &= ~self._architectural(answer, open_)
        unset = self.evaluator.answer(condition, self._unset).truth
        yes = answer.truth.yes | (open_ & unset.yes if event.start in self.settled.required else 0)
        no = answer.truth.no | (open_ & unset.no if event.start in self.settled.refused else 0)
        return replace(answer, truth=Truth(yes, no))

    def _unset(self, name: str) -> State:
        """The state of a macro if what nobody is known to define is not defined."""
        state = self.environment.lookup(name)
        return replaced(state, MAYBE, UNDEFINED) if state.where(MAYBE) else state

    def _record(
        self,
        frame: _Frame,
        event: Directive,
        condition: str,
        answer: Answer,
        truth: Truth,
        names: tuple[str, ...],
        via: Via,
    ) -> None:
        """Adds the arm, with its truth where what is unknown and not architectural is taken as met."""
        own = answer.truth
        open_ = own.unknown(self.everything)
        stuck = self._architectural(answer, open_) if open_ else 0
        met = own.yes if self._decides_alone(own) else own.yes | open_ & ~stuck
        yes = frame.possible & met & ~frame.taken & ~frame.stuck
        no = self.everything & ~(frame.possible & (met | stuck) & ~frame.taken)
        undecided = truth.unknown(self.everything)
        unknowns, assumes = names if undecided else (), names if undecided & (yes | no) else ()
        frame.arms.append(ArmTruth(event, condition, own, truth, Truth(yes, no), unknowns, assumes, via, _NOWHERE))
        frame.taken |= yes
        frame.stuck |= frame.possible & stuck

    def _decides_alone(self, own: Truth) -> bool:
        """Whether a flag lets everybody in whom the architecture does not (`< 900 || NO_BF16`): taken as not set."""
        device = self.environment.compiler.universe.device
        return bool(own.yes & device and own.unknown(device)) and not own.no & device

    def _architectural(self, answer: Answer, open_: int) -> int:
        """The part of what is unknown that hangs on the architecture itself and so cannot be assumed."""
        stuck = 0
        for name, mask in answer.blame:
            if mask & open_ & ~stuck and self.environment.is_architectural(name):
                stuck |= mask & open_
        return stuck


def _is_missing(condition: str, name: str) -> bool:
    return _BLANKS.sub("", condition) in (f"!defined({name})", f"!defined{name}")
