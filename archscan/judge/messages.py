"""The sentence of a finding: what is wrong on which target, what happens, what would help."""

from __future__ import annotations

import re

from archscan.catalog.types import Catalog
from archscan.judge.branches import NO_ANSWER, REST
from archscan.judge.case_context import CaseContext, Recommendation
from archscan.judge.cases import Case, defined
from archscan.judge.needs.limits import CLUSTER, DEFAULT, PORTABLE_CLUSTER, STATIC, THREADS
from archscan.judge.verdicts import ExclusionReason
from archscan.model.finding import Advice, Capability, Consequence, Problem
from archscan.model.gate import Does, Effect, Kind, Layer
from archscan.model.target import Target

_HAPPENS = {
    Consequence.COMPILE_ERROR: "the build stops",
    Consequence.LOAD_ERROR: "there is no code for it to load",
    Consequence.RUNTIME_ERROR: "an error at run time",
    Consequence.TRAP: "the kernel traps",
    Consequence.SILENT_NOOP: "nothing is computed, without an error",
    Consequence.RACE: "data can be read before it is written",
    Consequence.WRONG_RESULT: "results are wrong, without an error",
    Consequence.SLOW_FALLBACK: "a fallback runs instead",
    Consequence.DEGRADED_TUNING: "it runs with settings meant for other chips",
    Consequence.NO_EFFECT: "nothing is lost",
    Consequence.CORRECT_EXCLUSION: "it could not run there",
}
_HELPS = {
    Advice.LEAVE: "leave it",
    Advice.WIDEN_SAFE: "widen it",
    Advice.WIDEN_NEEDS_TUNING: "widen it, then test and measure",
    Advice.WIDEN_PERF_RISK: "widening it may cost time: measure",
    Advice.WIDEN_UNSAFE_COMPILE: "widening does not help, it needs another implementation",
    Advice.WIDEN_UNSAFE_RUNTIME: "widening it alone fails later",
    Advice.NARROW: "bound it",
    Advice.PAIR: "change both halves together",
    Advice.CONTESTED: "reports disagree: test on the card",
    Advice.INVESTIGATE: "find out before you open it",
}


_SHORT_VALUE = 40  # characters of a value within a sentence
_SHORT = 60  # characters of a value that is quoted


def message(weighed: CaseContext, advised: Recommendation) -> str:
    """Lower case, one sentence."""
    case = weighed.case
    return f"{_what(weighed)}: {_happens(case, advised, weighed.capable.capability)}; {_helps(weighed, advised)}"


def _what(weighed: CaseContext) -> str:
    case, name = weighed.case, weighed.selection.name
    if case.problem is Problem.OVER_ADMITTED:
        return _let_in(weighed)
    if case.problem is Problem.DISAGREES:
        return _split(case, name)
    if case.shut is not None and case.shut.why is ExclusionReason.STOPPED:
        return f"CUDA {case.gate.note('refused')} refuses {case.gate.rest.value} in this list, for every GPU"
    if case.shut is not None and case.shut.why is ExclusionReason.SHADOWED and (mixed := case.gate.note("mixed")):
        return f"{name} is meant here and never let in, {mixed}"
    if case.shut is not None and case.shut.why is ExclusionReason.SHADOWED:
        return f"this arm means {name} and never gets it, an earlier one takes it"
    if case.gate.kind is Kind.TABLE:
        return f"no row for {name}"
    if taken_for := case.gate.note("taken-for"):
        return f"{name} is taken for sm_{taken_for}, and code is made for that alone"
    if case.gate.kind is Kind.BUILD_LIST and (release := case.gate.note("refused")):
        return f"{name} is not in the list, and CUDA {release} refuses {case.gate.rest.value} in it"
    if case.gate.kind in (Kind.ALLOW_LIST, Kind.KEYWORD_LIST, Kind.BUILD_LIST):
        return f"{name} is not in the list"
    if case.gate.kind is Kind.BUILD_FLAG:
        return f"not built ahead of time for {name}"
    if case.gate.kind is Kind.MACRO_DEFINITION and case.gate.symbols:
        missing = case.gets.does is Does.NOTHING
        return f"{defined(case)[0]} {'is not defined' if missing else 'has another value'} on {name}"
    return _left_out(case, name)


def _split(case: Case, name: str) -> str:
    """What a mismatch is about."""
    if case.consequence == Consequence.RACE.value:
        return f"kernels may overlap on {name} and the wait is compiled out"
    if case.consequence == Consequence.WRONG_RESULT.value and case.gate.kind is not Kind.KEYWORD_LIST:
        return f"host and device go different ways on {name}"
    return f"{name} is let in here and shut out by the other half"


def _left_out(case: Case, name: str) -> str:
    scope = case.gate.scope
    if case.gets.does in (Does.NOTHING, Does.LOGS) and case.gate.layer in (Layer.PREPROCESSOR, Layer.DEVICE):
        if scope is not None and scope.is_kernel and scope.whole_body:
            return f"kernel body is empty on {name}"
        groups = case.needs.groups()
        return f"{groups[0] if groups else 'this code'} is compiled out on {name}"
    if case.gets.refuses:
        return _refused(case, name)
    picked, instead = _picked(case.arm.effect if case.arm else case.gate.rest), _picked(case.gets)
    if picked and instead and picked != instead:
        return f"{name} gets {instead} where others get {picked}"
    if case.guarded == REST:
        return f"what follows is not for {name}"
    return f"{name} does not take this arm"


def _picked(effect: Effect) -> str:
    """What is returned or chosen, where that is short enough to be read in a sentence."""
    chosen = effect.does in (Does.RETURNS, Does.ASSIGNS) and effect.value is not None and "\n" not in effect.value
    return effect.value if chosen and effect.value and len(effect.value) <= _SHORT_VALUE else ""


def _refused(case: Case, name: str) -> str:
    """Who asks and is told no is not refused: that word is for errors."""
    if case.gets.does is Does.PRINTS:
        return f"{name} gets a printed message instead"
    if case.gets.does is Does.SKIPS:
        return f"skipped on {name}" if case.gate.kind is Kind.TEST_SKIP else f"{name} is left out"
    if case.gets.does is Does.REFUSES and case.gets.value in NO_ANSWER:
        return f"the answer is {case.gets.value} for {name}"
    return f"{name} is refused"


def _let_in(weighed: CaseContext) -> str:
    obstacle = weighed.case.obstacle
    assert obstacle is not None
    catalog = weighed.catalog
    everyone = obstacle.variants == weighed.selection.mask
    names = weighed.selection.name if everyone else _short(catalog, obstacle.variants)
    has, is_ = ("has", "is") if everyone or obstacle.variants.bit_count() == 1 else ("have", "are")
    if obstacle.overrun is not None:
        over = obstacle.overrun
        if not over.value:
            return (
                f"{weighed.selection.name} has {over.limit:,} B of shared memory and gets the sizes of chips with more"
            )
        if over.key == THREADS:
            return f"{names} {has} {over.limit:,} threads an SM, these launch bounds count on {over.value:,}"
        if over.key in (STATIC, DEFAULT):
            return f"{names} can declare {over.limit:,} B of static shared memory, this declares {over.value:,}"
        if over.key in (CLUSTER, PORTABLE_CLUSTER):
            most = f"clusters of {over.limit} blocks at most" if over.limit > 1 else "no clusters of blocks"
            return f"{names} {has} {most}, this asks for {over.value}"
        unit = " B of shared memory" if "smem" in over.key else f" ({over.key.replace('_', ' ')})"
        verb = "tells" if over.is_told else "needs"
        return f"{names} {has} {over.limit:,}{unit}, this {verb} {over.value:,}"
    if obstacle.images:
        return f"{weighed.selection.name} is let in to images of {', '.join(obstacle.images)}"
    groups = ", ".join(dict.fromkeys(n.feature.group for n in obstacle.needs[:3]))
    return f"{names} {is_} let in and cannot assemble {groups}"


def _happens(case: Case, advised: Recommendation, capability: Capability) -> str:
    if case.gets.message and advised.today in (Consequence.RUNTIME_ERROR, Consequence.COMPILE_ERROR):
        text = " ".join(_filled(case.gets.message, case).split())
        return f'"{text[:97] + "..." if len(text) > 100 else text}"'
    over = case.obstacle.overrun if case.obstacle is not None else None
    if over is not None and over.is_told:
        return "who goes by it asks for too much"
    if over is not None and over.key == THREADS:
        return "the count of blocks is ignored, with a warning"
    value = case.gets.value if case.gets.does is Does.REFUSES and advised.today is Consequence.RUNTIME_ERROR else None
    if value and value not in NO_ANSWER and len(value) < _SHORT:
        return f"{value} is returned"
    if advised.today is Consequence.RACE and not any(n.feature.group == "griddep-wait" for n in case.needs.sure):
        return "threads are no longer ordered"
    if advised.today is Consequence.COMPILE_ERROR and case.gets.does in (Does.NOTHING, Does.LOGS):
        return "what uses it does not compile"
    if advised.today is Consequence.RUNTIME_ERROR and case.gate.note("loaded"):
        return "who loads a kernel of it by name gets an error"
    if advised.today is Consequence.NO_EFFECT and case.gets.does is Does.LOGS and case.gets.value:
        return "the user is asked whether to go on"
    if advised.today is Consequence.NO_EFFECT and case.gate.note("unread"):
        return "nothing that was scanned asks for it"
    if advised.today is Consequence.DEGRADED_TUNING and case.gets.does in (Does.NOTHING, Does.LOGS):
        return "it runs, and what that would gain is lost"
    if advised.today is Consequence.CORRECT_EXCLUSION and capability is not Capability.CANNOT:
        return "the code is made for other chips"
    return _HAPPENS[advised.today]


_FIELD = re.compile(r"\{\w+\}")


def _filled(text: str, case: Case) -> str:
    """The text as people see it: the list of a keyword stands where its only field is."""
    one = case.gate.kind is Kind.KEYWORD_LIST and len(_FIELD.findall(text)) == 1 and len(case.gate.arms) == 1
    return _FIELD.sub(lambda _: case.gate.arms[0].condition, text) if one else text


def _helps(weighed: CaseContext, advised: Recommendation) -> str:
    if weighed.case.shut is not None and weighed.case.shut.why is ExclusionReason.STOPPED:
        return "ask for it only where the toolkit compiles for it"
    obstacle = weighed.case.obstacle
    over = obstacle.overrun if obstacle is not None else None
    if over is not None and over.is_told:
        return f"give it a value of its own, {advised.why}"
    if over is not None and over.key == THREADS:
        return "lower it there"
    if obstacle is not None and obstacle.fits:
        plain = _short(weighed.catalog, obstacle.variants)
        return f"only if you build for {plain}: {_short(weighed.catalog, obstacle.fits)} can"
    if advised.advice is Advice.PAIR and weighed.pairs:
        return f"change it together with {_place(weighed, weighed.pairs[0].path, weighed.pairs[0].line)}"
    if advised.advice is Advice.PAIR and weighed.case.related:
        return f"change it together with {_place(weighed, weighed.case.related[0].path, weighed.case.related[0].line)}"
    if advised.advice is Advice.PAIR:
        return advised.why
    text = _HELPS[advised.advice]
    if advised.advice in (Advice.LEAVE, Advice.WIDEN_SAFE, Advice.WIDEN_PERF_RISK, Advice.WIDEN_UNSAFE_RUNTIME):
        return f"{text}, {advised.why}" if ":" not in text else f"{text} ({advised.why})"
    return text


def _place(weighed: CaseContext, path: str, line: int) -> str:
    return f"line {line}" if path == weighed.case.gate.path else f"{path.rsplit('/', 1)[-1]}:{line}"


def _short(catalog: Catalog, mask: int) -> str:
    members: tuple[Target, ...] = catalog.universe.members(mask)
    return ", ".join(t.name for t in members)
