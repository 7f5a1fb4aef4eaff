"""The facts of one file: its gates, its sites with their truths, and what it asks in a way that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from archscan.analysis.decisions import About, listed, serving
from archscan.frontends.cuda.host import constants
from archscan.frontends.cuda.host.evaluation import Evaluator
from archscan.frontends.cuda.host.flow import Interpreter
from archscan.frontends.cuda.host.indexing import HostIndex, recogniser_of, vocabulary_of
from archscan.frontends.cuda.host.linking import HostProject, TemplateTest
from archscan.frontends.cuda.host.recording import GateRecorder
from archscan.frontends.cuda.host.sites import RawSite
from archscan.frontends.cuda.host.syntax import Alias, Expr
from archscan.frontends.cuda.host.traversal import parts
from archscan.frontends.cuda.host.truths import Scope
from archscan.frontends.cuda.host.values import ConditionResult, Value, merged, operate
from archscan.frontends.cuda.presence import PresenceMap
from archscan.frontends.protocol import Context
from archscan.model.condition import both, surely
from archscan.model.facts import Site, SiteKind, Undecided
from archscan.model.gate import NOTHING, FeatureUse, Gate, Kind, Layer, Place, Related, Role
from archscan.model.gate import Scope as Around
from archscan.model.truth import Truth, always

_HOST_SITES = frozenset(
    {
        SiteKind.PDL_ATTRIBUTE,
        SiteKind.LAUNCH,
        SiteKind.DYNAMIC_SHARED,
    }
)
_MOST_FEATURES = 16
_MOST_CALLS = 40


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What the host side found in one file."""

    gates: tuple[Gate, ...] = ()
    sites: tuple[Site, ...] = ()
    undecided: tuple[Undecided, ...] = ()


def host_facts(index: HostIndex, project: HostProject, liveness: PresenceMap, context: Context) -> HostFacts:
    """The gates, sites and undecided conditions of one file."""
    universe = context.catalog.universe
    index = project.again.get(index.path, index)
    evaluator = Evaluator(universe, project.names, project.members, project.bearing, project.answers)
    tested = frozenset(t.call.name for t in project.tests if t.call.name in project.names.functions)
    recorder = GateRecorder(
        index.path, evaluator, liveness, project.predicates, project.tables, tested, project.compiled_for(index.path)
    )
    for function in index.unit.functions:
        if function.is_lambda:
            continue
        evaluator.answers.steps = 0
        first = len(recorder.gates)
        walk = Interpreter(evaluator, index.path, function, recorder=recorder)
        walk.run(function.body)
        if function.numbers and len(walk.returns) == function.numbers:
            numbers = constants.given(walk.returns)
            recorder.gates[first:] = [constants.told(g, numbers, universe.device) for g in recorder.gates[first:]]
        if evaluator.answers.are_exhausted:
            reason = "the function holds more conditions than are evaluated; those at its end were left out"
            recorder.undecided.append(Undecided(function.place.line, function.name, reason))
    windows = [*_windows(index, project, evaluator), *_bounds_of_types(index, project, evaluator)]
    features = _Features(project, context)
    gates = tuple(features.extended(g) for g in (*recorder.finished(), *windows))
    sites = tuple(s for raw in index.sites for s in _sites(raw, index, recorder, liveness))
    return HostFacts(tuple(sorted(gates, key=lambda g: g.place.start)), sites, tuple(recorder.undecided))


# windows of architectures as template arguments


def _windows(index: HostIndex, project: HostProject, evaluator: Evaluator) -> Iterator[Gate]:
    for alias in index.unit.aliases:
        for test in project.tests:
            gate = _window(index, alias, test, evaluator)
            if gate:
                yield gate
                break


def _bounds_of_types(index: HostIndex, project: HostProject, evaluator: Evaluator) -> Iterator[Gate]:
    """The gates that types are whose constants a template compares with the architecture: `arch <= T::kMax`."""
    scopes = dict.fromkeys(c.scope for c in index.unit.constants if c.scope)
    for test in project.tests:
        names = {p.name for p in parts(test.call) if p.scope == test.parameter} if test.parameter else set()
        for scope in scopes if names else ():
            own = {c.name: c for c in index.unit.constants if c.scope == scope and c.name in names}
            if own.keys() == names:
                verdict = evaluator.condition(_given(test.call, test.parameter, scope), Scope(index.path, {}))
                last = max(own.values(), key=lambda c: c.place.start)
                name = scope.rpartition("::")[2]
                condition = test.call.text.replace(f"{test.parameter}::", f"{name}::")
                gate = _made(index, test, verdict, last.place, condition, (name,))
                if gate:
                    yield gate


def _given(expr: Expr, parameter: str, argument: str) -> Expr:
    """An expression with a type in place of a template parameter."""
    scope = argument if expr.scope == parameter else expr.scope
    return replace(expr, scope=scope, args=tuple(_given(a, parameter, argument) for a in expr.args))


def _window(index: HostIndex, alias: Alias, test: TemplateTest, evaluator: Evaluator) -> Gate | None:
    """The gate that an alias such as `ArchSpan<1000, 1200>` is, where a kernel tests its template argument."""
    owners = evaluator.names.functions.get(test.call.name, ())
    if not any(d.function.scope.rpartition("::")[2] == alias.base for d in owners):
        return None
    call = replace(test.call, scope=alias.name)
    verdict = evaluator.condition(call, Scope(index.path, {}))
    condition = f"{alias.base}<{', '.join(t.text for t in alias.targs)}>"
    return _made(index, test, verdict, alias.place, condition, (alias.name, alias.base))


def _made(
    index: HostIndex,
    test: TemplateTest,
    verdict: ConditionResult,
    place: Place,
    condition: str,
    symbols: tuple[str, ...],
) -> Gate | None:
    if not verdict.basis.arch or not (verdict.truth.yes | verdict.truth.no):
        return None
    taken = test.option.summary
    arm = replace(
        serving(place, condition, verdict.truth, assumed=verdict.assumed),
        effect=taken.effect,
        unknowns=verdict.unknowns,
        digest=taken.digest,
        features=tuple(f if f.path else replace(f, path=test.path) for f in taken.features),
        calls=taken.calls,
    )
    function = test.function
    message = f"{function.name or 'a template'} tests its argument here"
    about = About(
        scope=Around(function.name, function.is_kernel, function.is_device) if function.name else None,
        related=(Related(test.path, test.option.place.line, Role.CALLER, message),),
        symbols=symbols,
    )
    otherwise = test.otherwise.summary.effect if test.otherwise else NOTHING
    return listed(index.path, Layer.DEVICE, Kind.WINDOW, arm, otherwise, about)


# features through calls


class _Features:
    """Adds to arms the features their calls reach, and those that names of classes and kernels speak of."""

    def __init__(self, project: HostProject, context: Context) -> None:
        self._reached = project.callables.in_words_of(vocabulary_of(context))
        self._recogniser = recogniser_of(context)

    def extended(self, gate: Gate) -> Gate:
        arms = tuple(
            replace(arm, features=self._with(arm.features, arm.calls, gate.path, arm.place.line)) for arm in gate.arms
        )
        rest = self._with(gate.rest_features, gate.rest_calls, gate.path, gate.rest.line)
        return replace(gate, arms=arms, rest_features=rest)

    def _with(
        self, uses: tuple[FeatureUse, ...], calls: tuple[str, ...], path: str, line: int
    ) -> tuple[FeatureUse, ...]:
        found = {use.feature: use for use in reversed(uses)}
        for name in calls[:_MOST_CALLS]:
            for use in self._reached.of(path, name):
                if len(found) < _MOST_FEATURES:
                    found.setdefault(use.feature, replace(use, via=name))
        for name in calls[:_MOST_CALLS]:
            for feature in self._recogniser.in_words(name):
                if len(found) < _MOST_FEATURES:
                    found.setdefault(feature, FeatureUse(feature, line, name, confidence="low"))
        own = {use.feature for use in uses}
        more = sorted((u for f, u in found.items() if f not in own), key=lambda u: (u.confidence, u.via, u.feature))
        return (*uses, *more)


# sites


def _sites(raw: RawSite, index: HostIndex, recorder: GateRecorder, liveness: PresenceMap) -> Iterator[Site]:
    truth = liveness.at(raw.place.start)
    universe = recorder.evaluator.universe
    if raw.kind in _HOST_SITES:
        truth = always(universe.device) if truth.yes & universe.host else truth.only(universe.device)
    if raw.asked >= 0:
        truth = truth & _in_force(raw, recorder)
    if not raw.sizes:
        yield Site(raw.kind, raw.name, raw.place, truth, raw.function, 0, raw.detail)
        return
    for payload, where in _size(raw, index, recorder, liveness).cases:
        if isinstance(payload, int) and payload > 0 and (mask := surely(where)):
            live = Truth(truth.yes & mask, truth.no | (universe.device & ~mask))
            yield Site(raw.kind, raw.name, raw.place, live, raw.function, payload, raw.detail)


def _in_force(raw: RawSite, recorder: GateRecorder) -> Truth:
    """Where a launch attribute is switched on: the truth of the value assigned to it."""
    result = always(recorder.evaluator.universe.device)
    for start, end, truth in recorder.attributes:
        if start <= raw.asked < end:
            result = result & truth
    for function, offset, truth in recorder.counts:
        if function == raw.function and offset > raw.place.start:
            return result & truth
    return result


def _size(raw: RawSite, index: HostIndex, recorder: GateRecorder, liveness: PresenceMap) -> Value:
    """The product of the sizes, per target: a macro may have another value on each."""
    evaluator = recorder.evaluator
    device = evaluator.universe.device
    env: dict[str, Value] = {}
    for name, definitions in reversed(raw.names):
        cases = []
        for offset, expr in definitions:
            value = evaluator.value(expr, Scope(index.path, env))
            cases += [(p, both(m, liveness.at(offset).yes & device)) for p, m in value.cases]
        env[name] = Value(merged(cases))
    result = Value(((raw.unit, device),))
    for expr in raw.sizes:
        product = operate("*", result, evaluator.value(expr, Scope(index.path, env)))
        result = product if product is not None else Value(())
    return result if result.cases else recorder.asked_for.get(raw.place.start, result)
