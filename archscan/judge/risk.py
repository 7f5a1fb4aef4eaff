"""How risky it is to open a gate, or to leave what is wrong: level, score and reasons with their evidence."""

from __future__ import annotations

from archscan.catalog.types import Catalog
from archscan.judge.case_context import CaseContext, Recommendation
from archscan.judge.cases import Case
from archscan.judge.evidence import MOST, Known, chosen, measured, seen
from archscan.judge.needs.limits import THREADS
from archscan.judge.pairs import Counterpart, Pair
from archscan.model.finding import Advice, Capability, Consequence, Evidence, Level, Problem, Reason, Risk
from archscan.model.gate import Kind
from archscan.model.target import Selection

_SILENT = {Consequence.SILENT_NOOP: 96, Consequence.RACE: 92, Consequence.WRONG_RESULT: 88}
_LOUD = {
    Consequence.TRAP: 74,
    Consequence.COMPILE_ERROR: 70,
    Consequence.LOAD_ERROR: 68,
    Consequence.RUNTIME_ERROR: 66,
    Consequence.SLOW_FALLBACK: 62,
    Consequence.DEGRADED_TUNING: 56,
}
_CHEAP = frozenset({Advice.WIDEN_SAFE, Advice.NARROW, Advice.PAIR})
_HINT = 22  # a hint to the compiler that is lost: below whatever fails or is shut out
_FLAGGED = 12  # another suffix of the chip will do: below what is lost and cheap to get
_CONDITIONAL = 5  # what bites only where something else holds too stands below what bites by default
_DEARER = 30  # lost and dear stands below lost and cheap, whatever the consequence
_LEVEL_BY_ADVICE = {
    Advice.WIDEN_SAFE: Level.LOW,
    Advice.WIDEN_NEEDS_TUNING: Level.MEDIUM,
    Advice.WIDEN_PERF_RISK: Level.MEDIUM,
    Advice.WIDEN_UNSAFE_RUNTIME: Level.HIGH,
    Advice.PAIR: Level.HIGH,
    Advice.CONTESTED: Level.HIGH,
    Advice.INVESTIGATE: Level.MEDIUM,
    Advice.LEAVE: Level.INFO,
}
_WEIGHTY = ("griddep", "cluster", "tma-multicast", "multimem", "mma-block-scale")  # collective, PDL and cluster code


def risk(weighed: CaseContext, advised: Recommendation, found: Known) -> Risk:
    """The risk of a case."""
    reasons = tuple(_reasons(weighed, advised, found))
    return Risk(_level(weighed, advised, found), _score(weighed, advised), reasons)


def _level(weighed: CaseContext, advised: Recommendation, found: Known) -> Level:
    case = weighed.case
    if case.problem is Problem.EXCLUDED:
        return _level_of_opening(weighed, advised, found)
    if advised.today is Consequence.DEGRADED_TUNING:
        return Level.LOW
    obstacle = case.obstacle
    if obstacle is not None and (obstacle.fits or (obstacle.overrun is not None and not obstacle.overrun.value)):
        return Level.MEDIUM  # another suffix of the same chip can, or the need was not computed
    return Level.HIGH if advised.today is not Consequence.SLOW_FALLBACK else Level.MEDIUM


def _level_of_opening(weighed: CaseContext, advised: Recommendation, found: Known) -> Level:
    case = weighed.case
    absent = case.needs.absent()
    if absent:
        return Level.BLOCKED
    level = _LEVEL_BY_ADVICE.get(advised.advice, Level.MEDIUM)
    if advised.advice is Advice.LEAVE:
        return level
    if advised.today is Consequence.NO_EFFECT:
        return Level.INFO
    slower = (Consequence.SLOW_FALLBACK, Consequence.DEGRADED_TUNING)
    if weighed.half(Counterpart.DEFINITION) and advised.today in slower:
        return Level.LOW  # what opening it means is said where the macro is defined
    weighty = any(n.feature.group.startswith(_WEIGHTY) for n in case.needs.sure)
    if found.harm or weighty:
        return Level.HIGH
    return level


def _score(weighed: CaseContext, advised: Recommendation) -> int:
    """Wrong today and silent, then lost and cheap to get, then lost and dear, then right as it is."""
    if advised.advice is Advice.LEAVE:
        return 10 if weighed.case.needs.absent() else 5
    today = advised.today
    if today is Consequence.NO_EFFECT:
        return 15
    use = 3 if weighed.half(Counterpart.DEFINITION) else 0  # stands under the definition of its macro
    if today in _SILENT and not weighed.unbuilt:
        scope = weighed.case.gate.scope
        kernel = scope is not None and scope.is_kernel and scope.whole_body
        return _SILENT[today] - use + (2 if weighed.case.problem is Problem.EXCLUDED else 0) + kernel
    return _loud(weighed, advised) - use


def score_when_dear(today: Consequence) -> int:
    """The score of what is lost and dear to get, where nothing else is known."""
    return _LOUD.get(today, _LOUD[Consequence.RUNTIME_ERROR]) - _DEARER


def _loud(weighed: CaseContext, advised: Recommendation) -> int:
    """The score of what shows, or costs time."""
    refused = _LOUD[Consequence.RUNTIME_ERROR]  # of what is silent: a list refuses before that
    obstacle, score = weighed.case.obstacle, _LOUD.get(advised.today, refused)
    over = obstacle.overrun if obstacle else None
    if over is not None and over.key == THREADS:
        return _HINT
    if obstacle is not None and obstacle.fits:
        return score - _FLAGGED
    alone = weighed.case.gate.kind is Kind.RESOURCE and over is not None  # nothing says that it is built for the target
    rowless = advised.advice is Advice.PAIR and weighed.half(Counterpart.CHECK, admits=False)  # the row has to be made
    if advised.advice not in _CHEAP or alone or rowless:
        score -= _DEARER
    if weighed.case.assumes:
        score -= _CONDITIONAL
    return score + (1 if weighed.case.needs.sure else 0)


def _reasons(weighed: CaseContext, advised: Recommendation, found: Known) -> list[Reason]:
    case, selection, catalog = weighed.case, weighed.selection, weighed.catalog
    warning, other = _from_reports(found)
    reasons = [_decisive(weighed, advised), *warning]
    reasons += _on_features(case, selection, catalog)
    reasons += _on_suffix(case, selection, catalog)
    reasons += _on_resource(weighed)
    reasons += [_on_pair(p) for p in weighed.pairs[:3]]
    return reasons + other


def _decisive(weighed: CaseContext, advised: Recommendation) -> Reason:
    """The reason that settled the advice, with the place that says so; words are quoted, with where they stand."""
    case = weighed.case
    where = f"{case.gate.path}:{case.place.line}"
    if advised.row.startswith("said-"):
        said = " ".join(case.gate.near.split())
        return Reason(advised.why, (Evidence(f'"{said[:_QUOTED]}"', where, "low"),))
    evaluated = bool(weighed.capable.lacks) or advised.row == "mistake"
    fact = "evaluated for every target" if evaluated else "read in the code"
    known = weighed.capable.capability is not Capability.UNKNOWN
    return Reason(advised.why, (Evidence(fact, where, "high" if evaluated or known else "medium"),))


_QUOTED = 160  # characters of a comment


def _on_features(case: Case, selection: Selection, catalog: Catalog) -> list[Reason]:
    reasons = []
    for need in case.needs.weighty[:4]:
        group = need.feature.group
        text = (
            f"{group} does not assemble for {selection.name}"
            if not need.has
            else f"{group} assembles for {selection.name}"
        )
        if need.has and need.lowering:
            text = f"{group} assembles, as {need.lowering.replace('_', ' ')}"
        reasons.append(Reason(text, (measured(need, catalog, selection), seen(need))))
    return reasons


def _on_suffix(case: Case, selection: Selection, catalog: Catalog) -> list[Reason]:
    partial = case.needs.partial(selection.mask)
    if not partial or case.problem is Problem.OVER_ADMITTED:
        return []
    need = partial[0]
    yes = ", ".join(catalog.universe.names(need.has))
    no = ", ".join(catalog.universe.names(selection.mask & ~need.has))
    return [Reason(f"assembles on {yes}, not on {no}", (measured(need, catalog, selection),))]


def _on_resource(weighed: CaseContext) -> list[Reason]:
    case, catalog, selection = weighed.case, weighed.catalog, weighed.selection
    over = case.obstacle.overrun if case.obstacle else weighed.capable.over
    if over is None:
        return []
    what = "shared memory" if "smem" in over.key else over.key.replace("_", " ")
    unit = " B" if "smem" in over.key else ""
    if not over.value:
        text = (
            f"{selection.name} has {over.limit:,} B, the other chips of that arm have more; the need was not computed"
        )
        return [Reason(text, (Evidence(f"{over.key} = {over.limit}", over.source or "sm_limits", "high"),))]
    verb = "tells" if over.is_told else "needs"
    text = f"{verb} {over.value:,}{unit} of {what}, {selection.name} has {over.limit:,}{unit}"
    if over.fits:
        text += f"; fits {', '.join(catalog.universe.names(over.fits))}"
    return [Reason(text, (Evidence(f"{over.key} = {over.limit}", over.source or "sm_limits", "high"),))]


def _on_pair(pair: Pair) -> Reason:
    return Reason(
        f"{pair.half.value}: {pair.message}", (Evidence("read in the code", f"{pair.path}:{pair.line}", "high"),)
    )


def _from_reports(found: Known) -> tuple[list[Reason], list[Reason]]:
    """What others saw: warnings, with both sides where they contradict, and everything else."""
    harm, help_ = chosen(found, "harm"), chosen(found, "help")
    contested, neutral = chosen(found, "contested"), chosen(found, "neutral")
    warning, other = [], []
    settled = not any(map(found.disputes, found.rows))
    if contested and settled:
        own = tuple(row.evidence for row in found.rows if row.probed and row.features & found.settled)
        other.append(Reason("settled on your GPU: reports disagree, and it answered", (*own[:MOST], *contested)))
        contested = ()
        harm, help_ = (tuple(e for e in side if e not in own) for side in (harm, help_))
    if contested or (harm and help_ and found.yours != "loss"):
        warning.append(Reason("contested: reports disagree", (*contested, *harm, *help_)))
    elif harm:
        warning.append(Reason("evidence of harm", harm))
    if help_ and not contested and (not harm or found.yours == "loss"):  # that it assembles is no gain
        other.append(Reason("evidence that it works", help_))
    if neutral:
        other.append(Reason("also known", neutral))
    return warning, other
