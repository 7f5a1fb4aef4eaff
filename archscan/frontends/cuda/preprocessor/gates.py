"""Turns the conditionals of a file that depend on the architecture into gates."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from archscan.analysis.decisions import About, Rest, decided, in_order
from archscan.frontends.cuda.host.reach import Inventory
from archscan.frontends.cuda.inventory import Named
from archscan.frontends.cuda.lines import Lines
from archscan.frontends.cuda.preprocessor.arms import (
    ArmFacts,
    BodyFacts,
    Recogniser,
    arm_facts,
    body_facts,
    conjuncts,
    near,
)
from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.environment import Compiler, names_architecture
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.index import DirectiveIndex
from archscan.frontends.cuda.preprocessor.macros import chosen
from archscan.frontends.cuda.preprocessor.project import MacroTable
from archscan.frontends.cuda.preprocessor.target_macros import TargetCall, query
from archscan.frontends.cuda.preprocessor.tokens import names_in
from archscan.frontends.cuda.preprocessor.units import Context
from archscan.frontends.cuda.preprocessor.walk import ArmTruth, ChainTruth, MacroEnvironment, Stop, Walk, weaker
from archscan.frontends.cuda.presence import PresenceMap
from archscan.model.condition import Cond, Reading, possibly, readings, truth, without
from archscan.model.facts import Undecided
from archscan.model.gate import (
    Arm,
    Does,
    Effect,
    FeatureUse,
    Gate,
    Kind,
    Layer,
    Mention,
    Place,
    Related,
    Scope,
    Via,
)
from archscan.model.truth import Truth

_WORKING = frozenset({Does.WORK, Does.RETURNS, Does.ASSIGNS})  # may call something
_DEFINING = frozenset({Does.DEFINES, Does.NOTHING, Does.ERRORS})
_FIRST_PEER = 80  # targets older than that decide nothing about which conjunct to underline
_MOST_FEATURES = 24
_UNREAD = "conditionals nest so deeply here that what its arms do was not read"
_LOOKS = 20  # times the size of a file that bodies are looked at: no real file nests that much
_PLACEHOLDERS = ("{", "%s", "%d", "%(", "$")


@dataclass(frozen=True, slots=True)
class Features:
    """Where features are found: in code, and behind the functions and classes that it names."""

    recogniser: Recogniser
    reached: Callable[[str, str], tuple[FeatureUse, ...]]  # of a name in a file
    after: Callable[[str, int], tuple[FeatureUse, ...]]  # in a file behind a line
    behind: Callable[[str, Iterable[Named]], Inventory]  # of everything that code in a file names
    defines: Callable[[str, str], bool]  # whether scanned code says what a name in a file means


@dataclass(frozen=True, slots=True)
class DirectiveFacts:
    """What the directives of one file come to."""

    gates: tuple[Gate, ...]
    liveness: PresenceMap
    undecided: tuple[Undecided, ...]


def directive_facts(
    path: str,
    index: DirectiveIndex,
    table: MacroTable,
    compiler: Compiler,
    evaluator: Evaluator,
    features: Features,
    need_liveness: bool,
) -> DirectiveFacts:
    """The gates of one file, and where the rest of it is live (if that is needed or anything in it is a gate)."""
    everywhere = need_liveness or bool(index.calls)
    events = index.events if everywhere else table.deciding(path, index.events)
    if not everywhere and not events:
        return DirectiveFacts((), PresenceMap(compiler.everything), index.undecided)
    environment = MacroEnvironment(compiler, table.before(path, compiler))
    maker = _Maker(path, index, table, environment, evaluator, None if index.brief else features)
    context = table.contexts.get(path)
    walk = Walk(
        environment,
        evaluator,
        index.settled,
        Stop(index.size, index.last_line + 1),
        table.needed,
        None if context is None else _Includes(path, table, context, environment).changed,
        None if context is None else context.live,
    )
    gates, undecided = [], list(index.undecided)
    budget = _LOOKS * (index.size + 10_000)
    for chain in walk.chains(events):
        if chain.start not in index.candidates:
            continue
        budget -= chain.arms[-1].end.offset - chain.start
        if incomplete := _incomplete(chain):
            undecided.append(incomplete)
        elif gate := maker.gate(chain, look=budget >= 0):
            gates.append(gate)
            if budget < 0 and not index.brief:
                undecided.append(Undecided(gate.place.line, gate.arms[0].condition, _UNREAD))
    liveness = PresenceMap(compiler.everything, walk.points)
    for call in index.calls:
        if call.unread:
            undecided.append(Undecided(call.line, "NV_IF_TARGET", call.unread))
        else:
            gates.append(maker.target_gate(call, liveness))
    gates.sort(key=lambda g: (g.place.start, g.place.end))
    return DirectiveFacts(tuple(gates), liveness, tuple(sorted(undecided, key=lambda u: u.line)))


class _Includes:
    """Applies what the includes of a file change."""

    def __init__(self, path: str, table: MacroTable, context: Context, environment: MacroEnvironment) -> None:
        self.path = path
        self.table = table
        self.context = context
        self.environment = environment

    def changed(self, event: Directive, live: Cond, via: Via) -> bool:
        """Takes note of the macros behind an include; whether there are any."""
        found = self.context.after.get(event.start, {})
        for name, changes in found.items():
            rest: Cond = self.environment.compiler.everything
            for where, _ in changes:
                rest = without(rest, where)
            ways = changes if rest == 0 else (*changes, (rest, self.environment.lookup(name)))
            self.environment.set(name, chosen(name, ways), weaker(via, Via.INCLUDES))
        return bool(found)


def _incomplete(chain: ChainTruth) -> Undecided | None:
    """A conditional whose condition is completed when a program runs (a format field, a template expression)."""
    for arm in chain.arms:
        if any(mark in arm.condition for mark in _PLACEHOLDERS):
            if any(names_architecture(n) for a in chain.arms for n in names_in(a.condition)):
                return Undecided(arm.event.line, arm.condition, "the condition is completed when the program runs")
            return None
    return None


class _Asked(NamedTuple):
    """What a chain asks for: macros that derive from the architecture, with their definitions, or the architecture."""

    derived: tuple[str, ...]
    direct: bool
    related: tuple[Related, ...]


class _Maker:
    """Makes the gates of one file."""

    def __init__(
        self,
        path: str,
        index: DirectiveIndex,
        table: MacroTable,
        environment: MacroEnvironment,
        evaluator: Evaluator,
        features: Features | None,
    ) -> None:
        self.path = path
        self.index = index
        self.table = table
        self.environment = environment
        self.evaluator = evaluator
        self.features = features
        self.recogniser = features.recogniser if features else None
        self._known: dict[tuple[str, ...], _Asked] = {}
        self._last: tuple[BodyFacts, Inventory] | None = None
        self._definitions: dict[str, tuple[Related, ...]] = {}
        self._lines = index.all_lines()
        self._starts = [lines.offset for lines in self._lines]
        universe = environment.compiler.universe
        self._peers = universe.mask(t for t in universe.targets if t.sm >= _FIRST_PEER)

    def gate(self, chain: ChainTruth, look: bool = True) -> Gate | None:
        """The gate of a conditional; None if no condition of it names the architecture or what derives from it.

        Without a `look` into its bodies it is known only where they are.
        """
        asked = self._asked(tuple(arm.condition for arm in chain.arms))
        if not asked.derived and not asked.direct:
            return None
        lines = self._lines_around(chain.start)
        facts = tuple(arm_facts(arm.event, arm.end, lines, self.recogniser, look, self._is_own) for arm in chain.arms)
        around = self.index.candidates[chain.start]
        beside = "" if self.index.brief else near(chain.arms[0].event, chain.arms[0].end.offset, lines)
        words = self._words(beside, around.scope)
        defined = _defined(facts)
        behind = self._behind(facts, around.scope, chain.arms[-1].end.line)
        definition = bool(defined) and (around.used or any(n in self.table.needed for n in defined))
        arms = tuple(
            self._arm(arm, reading, truth(arm.own, self.evaluator.everything), found, lines, words)
            for arm, reading, found in zip(chain.arms, self._readings(a.when for a in chain.arms), facts, strict=True)
        )
        instead = behind or (len(facts) == 1 and facts[0].body.is_before_else)
        rest = Rest(Effect(Does.WORK, chain.arms[-1].end.line), behind) if instead else Rest()
        types = tuple(
            (f"named:{i}", "types") for i, one in enumerate(facts) if one.body.features and one.body.is_named_only
        )
        about = About(
            scope=around.scope,
            reach=self._reach(chain.reach),
            related=asked.related,
            near=beside,
            symbols=defined if definition else asked.derived,
            derived_from=asked.derived,
            names_arch=asked.direct,
            notes=(
                *(("written", name) for name in around.written[:1]),
                *([("loaded", "kernels")] if around.loaded else []),
                *(("unasked", name) for name in (() if definition else defined[:1])),
                *types,
            ),
        )
        kind = Kind.MACRO_DEFINITION if definition else Kind.PREPROCESSOR_IF
        return decided(self.path, Layer.PREPROCESSOR, kind, facts[0].place, arms, rest, about)

    def _is_own(self, name: str) -> bool:
        """Whether scanned code defines what the file calls by a name."""
        return self.features is not None and self.features.defines(self.path, name.rpartition("::")[2])

    def _behind(self, facts: tuple[ArmFacts, ...], scope: Scope | None, line: int) -> tuple[FeatureUse, ...]:
        """What an `#error` outside every function keeps from some targets: the rest of the file."""
        refuses = all(arm.body.effect.does is Does.ERRORS for arm in facts) and scope is None
        compiled = self.path.endswith(".cu")  # of a header nobody knows what is used
        return self.features.after(self.path, line) if self.features and refuses and compiled else ()

    def _asked(self, conditions: tuple[str, ...]) -> _Asked:
        """What a chain of conditions asks for; many chains of a file are alike."""
        found = self._known.get(conditions)
        if found is None:
            names = dict.fromkeys(n for condition in conditions for n in names_in(condition))
            derived = tuple(n for n in names if n in self.table.derived)
            related = dict.fromkeys(r for name in derived for r in self._defined_at(name))
            found = _Asked(derived, any(names_architecture(n) for n in names), tuple(related))
            self._known[conditions] = found
        return found

    def _defined_at(self, name: str) -> tuple[Related, ...]:
        """Where a derived macro is defined, seen from this file."""
        found = self._definitions.get(name)
        if found is None:
            found = self._definitions[name] = self.table.definitions_of(name, self.path)
        return found

    def target_gate(self, call: TargetCall, liveness: PresenceMap) -> Gate:
        """The gate of one NV_IF_TARGET, NV_IF_ELSE_TARGET or NV_DISPATCH_TARGET."""
        lines = self._lines_around(call.start)
        point = liveness.point(call.start)
        everything = self.evaluator.everything
        conditions = [query(arm.text) or "1" for arm in call.arms]
        owns = [self.evaluator.answer(condition, self.environment.lookup).when for condition in conditions]
        told = self._readings(in_order(point.live, owns))
        arms: list[Arm] = []
        for arm, condition, own, reading in zip(call.arms, conditions, owns, told, strict=True):
            body = body_facts(lines.place(arm.body_start, arm.body_end), lines, self.recogniser, self._is_own)
            arms.append(
                Arm(
                    place=lines.place(arm.start, max(arm.end, arm.start)),
                    condition=arm.text,
                    own=truth(own, everything),
                    truth=reading.truth,
                    assumed=reading.assumed,
                    effect=body.effect,
                    unknowns=reading.unknowns,
                    assumes=reading.assumes,
                    via=point.via,
                    body=body.place,
                    digest=body.digest,
                    features=self._used(body, ()),
                    calls=body.calls,
                    missing=self._missing(body),
                    is_else=condition == "1",
                )
            )
        about = About(scope=self.index.call_scopes.get(call.start), reach=self._reach(point.live))
        place = lines.place(call.start, call.end)
        return decided(self.path, Layer.PREPROCESSOR, Kind.TARGET_MACRO, place, tuple(arms), Rest(), about)

    def _readings(self, whens: Iterable[Cond]) -> tuple[Reading, ...]:
        compiler = self.environment.compiler
        return readings(tuple(whens), compiler.universe.device, compiler.everything)

    def _reach(self, reach: Cond) -> Truth | None:
        """The truth of what encloses a gate; None where that is nothing."""
        everything = self.evaluator.everything
        return None if reach == everything else truth(reach, everything)

    def _words(self, beside: str, scope: Scope | None) -> tuple[str, ...]:
        """The features that the comments beside a gate and the names around it speak of."""
        if self.recogniser is None:
            return ()
        stem = self.path.rpartition("/")[2].partition(".")[0]
        return self.recogniser.in_words(f"{beside} {scope.name if scope else ''} {stem}")

    def _used(self, body: BodyFacts, words: tuple[str, ...]) -> tuple[FeatureUse, ...]:
        """The features of a body: its own, those its calls reach; if there are none, those of the words beside it."""
        if self.features is None or body.effect.does not in _WORKING:
            return body.features
        found = {use.feature: use for use in reversed(body.features)}
        own = frozenset(found)
        for name in body.calls:
            for use in self.features.reached(self.path, name.rpartition("::")[2]):
                if len(found) < _MOST_FEATURES:
                    found.setdefault(use.feature, replace(use, via=name))
        for use in self._inventory(body).features:
            if len(found) < _MOST_FEATURES:
                found.setdefault(use.feature, use)
        if not found:
            return tuple(FeatureUse(word, body.place.line, confidence="low") for word in words)
        return (*body.features, *(use for feature, use in found.items() if feature not in own))

    def _inventory(self, body: BodyFacts) -> Inventory:
        """What the code of a body leads to; remembered for the last body asked about."""
        if self._last is None or self._last[0] is not body:
            assert self.features is not None
            self._last = (body, self.features.behind(self.path, body.named or ()))
        return self._last[1]

    def _missing(self, body: BodyFacts) -> tuple[Mention, ...] | None:
        """The names behind a body that nothing is known of; None where nobody looked."""
        if self.features is None or body.named is None or self.index.template:
            return None  # what a program completes is not all there
        return self._inventory(body).missing if body.effect.does in _WORKING else ()

    def _arm(
        self, arm: ArmTruth, reading: Reading, own: Truth, facts: ArmFacts, lines: Lines, words: tuple[str, ...]
    ) -> Arm:
        return Arm(
            place=facts.place,
            condition=arm.condition,
            own=own,
            truth=reading.truth,
            assumed=reading.assumed,
            effect=facts.body.effect,
            unknowns=reading.unknowns,
            assumes=reading.assumes,
            via=arm.via,
            body=facts.body.place,
            digest=facts.body.digest,
            features=self._used(facts.body, words),
            calls=facts.body.calls,
            missing=self._missing(facts.body),
            is_else=arm.event.name == "else",
            focus=self._focus(arm, lines),
        )

    def _lines_around(self, offset: int) -> Lines:
        """The lines of the excerpt that holds an offset."""
        return self._lines[bisect_right(self._starts, offset) - 1]

    def _focus(self, arm: ArmTruth, lines: Lines) -> Place | None:
        """The conjunct that shuts out the most targets: the bound of a range that decides today."""
        best, most = None, 0
        if self.index.brief:
            return None
        for place, text in conjuncts(arm.event, lines):
            when = self.evaluator.answer(text, self.environment.lookup).when
            shut = self._peers & ~possibly(when)
            if (count := bin(shut).count("1")) > most:
                best, most = place, count
        return best


def _defined(facts: tuple[ArmFacts, ...]) -> tuple[str, ...]:
    """The macros that the arms define if they do nothing else; empty if some arm does."""
    does = {arm.body.effect.does for arm in facts}
    if Does.DEFINES not in does or not does <= _DEFINING:
        return ()
    return tuple(dict.fromkeys(name for arm in facts for name in arm.body.defines))
