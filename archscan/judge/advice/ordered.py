"""What to do about a case: an ordered list of small rules, the first that applies decides."""

from __future__ import annotations

import re

from archscan.judge.advice.binaries import imaged, unbuilt
from archscan.judge.advice.named import foreign, named_for_others
from archscan.judge.advice.said import block_scaled, known_bad, memory, oversize, performance, said, workaround
from archscan.judge.advice.stated import exact, named_as_built, promised, required
from archscan.judge.branches import REST
from archscan.judge.cases import Case
from archscan.judge.needs.features import COMPILED
from archscan.judge.needs.limits import constant
from archscan.judge.pairs import Half, Pair
from archscan.judge.weighed import Advised, Rule, Weighed
from archscan.judge.words import numbered
from archscan.model.finding import Advice, Consequence, Problem
from archscan.model.gate import Does, Kind, Layer

_FEW_TARGETS = 9  # three chips with their suffixes, named one by one
_LISTED = frozenset({Half.LIST, Half.SOURCE, Half.BUILD})
_LOWERED = {
    "emulated": "is emulated",
    "driver_call": "is a call into the driver",
    "internal_routine": "is an internal routine",
}


def advise(weighed: Weighed) -> Advised:
    """What to do."""
    if weighed.case.problem is Problem.DISAGREES:
        return Advised(Advice.PAIR, weighed.today, "both halves must answer alike")
    if weighed.case.problem is Problem.OVER_ADMITTED:
        return _narrow(weighed)
    for rule in RULES:
        advised = rule(weighed)
        if advised is not None:
            return advised
    return Advised(Advice.WIDEN_NEEDS_TUNING, weighed.today, "nothing is known of what is behind it: test and measure")


def _narrow(weighed: Weighed) -> Advised:
    obstacle = weighed.case.obstacle
    assert obstacle is not None
    if obstacle.overrun is not None and obstacle.fits and weighed.case.gate.kind is Kind.RESOURCE:
        return Advised(
            Advice.PAIR, weighed.today, "fits another suffix of the same chip: change it with the build flags"
        )
    return Advised(Advice.NARROW, weighed.today, "the target must not get here, or only with what it can run")


def _helper(weighed: Weighed) -> Advised | None:
    """A function of a kernel that is shut out as well, and could not run."""
    if weighed.half(Half.KERNEL):
        return Advised(Advice.LEAVE, Consequence.NO_EFFECT, "the kernel that it serves cannot run there")
    return None


def _absent(weighed: Weighed) -> Advised | None:
    """Something behind it assembles on no variant of the target."""
    absent = weighed.case.needs.absent()
    if not absent:
        return None
    group = absent[0].feature.group
    if _is_silent_harm(weighed):
        return Advised(Advice.WIDEN_UNSAFE_COMPILE, weighed.today, f"{group} does not assemble on any variant", group)
    return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, f"{group} does not assemble on any variant", group)


def _is_silent_harm(weighed: Weighed) -> bool:
    """Whether the target gets something wrong today, and nobody keeps it away from there."""
    scope = weighed.case.gate.scope
    if weighed.routed or weighed.unbuilt or weighed.half(Half.DEFINITION):
        return False
    if weighed.today is Consequence.WRONG_RESULT:
        return True
    kernel = scope is not None and scope.is_kernel and scope.whole_body
    return weighed.today is Consequence.SILENT_NOOP and kernel and not named_for_others(weighed)


def _limits(weighed: Weighed) -> Advised | None:
    """A table of limits: the row is right for the target, or the target needs a row of its own."""
    if weighed.case.same_limit:
        return Advised(Advice.WIDEN_SAFE, weighed.today, "the target has the same limit as that row")
    if weighed.case.limit:
        return Advised(Advice.WIDEN_NEEDS_TUNING, weighed.today, "the target needs a row of its own")
    return None


def _text_order(weighed: Weighed) -> Advised | None:
    if weighed.case.gate.note("encoding") == "text" or weighed.case.gate.kind is Kind.STRING_COMPARE:
        return Advised(Advice.WIDEN_SAFE, weighed.today, "compares numbers as text")
    return None


def _macro_use(weighed: Weighed) -> Advised | None:
    """A test of a macro that is settled where the macro is defined."""
    if weighed.half(Half.DEFINITION):
        return Advised(Advice.PAIR, weighed.today, "settled where the macro is defined")
    return None


def _table(weighed: Weighed) -> Advised | None:
    """A check before a table without a row, the table behind the check, and a table that simply fails."""
    behind = weighed.half(Half.TABLE, admits=False)
    if behind and not (weighed.siblings and all(_is_membership(weighed, table) for table in behind)):
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "the table behind it has no row")
    checks = weighed.half(Half.CHECK, admits=False)
    if any(check.shares is None or not check.shares.needs.absent() for check in checks):
        return Advised(Advice.PAIR, weighed.today, "a check refuses before the table is read")
    if weighed.case.gate.kind is Kind.TABLE and weighed.case.gets.does is Does.RAISES and not weighed.siblings:
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "there is no row for the target")
    return None


def _is_membership(weighed: Weighed, table: Pair) -> bool:
    """Whether a check asks no more than whether the table has a row: one row opens both."""
    names = table.shares.gate.symbols if table.shares is not None else ()
    asked = " ".join(arm.condition for arm in weighed.case.gate.arms)
    return any(re.search(rf"\bin (?:\w+\.)*{re.escape(name)}\b", asked) for name in names)


def _other_half(weighed: Weighed) -> Advised | None:
    """Host and device: the other half lets the target in to what is missing here, or goes another way."""
    if weighed.half(Half.TRIGGER, admits=True):
        return Advised(Advice.PAIR, weighed.today, "the trigger is live for the target")
    if weighed.half(Half.LAUNCH_ATTRIBUTE):
        return Advised(Advice.PAIR, weighed.today, "the host sets the launch attribute")
    if weighed.half(Half.DEVICE):
        return Advised(Advice.PAIR, Consequence.WRONG_RESULT, "host and device go different ways")
    if weighed.half(Half.HOST, admits=True) and not weighed.siblings:
        return Advised(Advice.PAIR, weighed.today, "the host lets the target in")
    return None


def _listed(weighed: Weighed) -> Advised | None:
    """Another list, a build or a source shuts the target out as well, or builds what is missing here."""
    if weighed.half(*_LISTED, admits=False):
        return Advised(Advice.PAIR, weighed.today, "the other half shuts the target out too")
    if weighed.case.words.second_list:
        name = weighed.case.words.second_list
        return Advised(Advice.PAIR, weighed.today, f"it goes by {name} as well", name)
    if weighed.half(Half.BUILD, admits=True) and not weighed.siblings and weighed.case.gate.layer in COMPILED:
        return Advised(Advice.PAIR, weighed.today, "it is built for the target")
    return None


def _module_list(weighed: Weighed) -> Advised | None:
    """A JIT list whose sources were not scanned: opening the list alone opens nothing."""
    if weighed.case.gate.kind is Kind.KEYWORD_LIST and not weighed.siblings:
        return Advised(
            Advice.PAIR, weighed.today, "the list alone opens nothing: its sources must admit the target too"
        )
    return None


def _test(weighed: Weighed) -> Advised | None:
    if weighed.case.gate.kind is Kind.TEST_SKIP:
        return Advised(Advice.WIDEN_SAFE, weighed.today, "running a test risks nothing")
    return None


def _sibling(weighed: Weighed) -> Advised | None:
    """A chip of the same family is let in, and what is behind it assembles."""
    alike = _alike(weighed)
    if not alike or _is_refused_by_name(weighed.case) or _leaves_out(weighed):
        return None
    names = ", ".join(f"sm_{sm}" for sm in sorted(alike))
    return Advised(Advice.WIDEN_SAFE, weighed.today, f"a sibling is let in: {names}", "sibling")


def _alike(weighed: Weighed) -> frozenset[int]:
    """The siblings that say something about the target: let in for their generation, not for a minor number.

    Later chips alone say nothing: what they run may be what they have more.
    """
    case = weighed.case
    asked = case.arm.condition if case.arm is not None else " ".join(arm.condition for arm in case.gate.arms)
    taken = weighed.catalog.universe.sms(case.shut.missed.yes & weighed.selection.peers) if case.shut else set()
    if ("minor" in asked and "major" not in asked) or min(taken, default=0) > weighed.selection.sm:
        return frozenset()
    return weighed.siblings


def _leaves_out(weighed: Weighed) -> bool:
    """Whether the condition names the target to leave it out: `has_sm100 and not has_sm103`, `!= 1210`."""
    own = weighed.selection.sm
    asked = " ".join(arm.condition for arm in weighed.case.gate.arms)
    named = rf"(?:\bnot\s+|!\s*)(?:\w+\.)*\w*sm_?{own}[af]?\b|!=\s*[(\"']?{numbered(own)}"
    return re.search(named, asked, re.I) is not None


def _is_refused_by_name(case: Case) -> bool:
    """Whether a condition of its own refuses these few chips: somebody had a reason, which siblings do not refute."""
    gets = case.shut.gets if case.shut is not None else None
    if gets is None or not gets.conditional or not gets.effect.refuses:
        return False
    return 0 < (gets.own or gets.yes).bit_count() <= _FEW_TARGETS


def _costly(weighed: Weighed) -> Advised | None:
    """It runs, and there is evidence of loss, emulation or a driver call."""
    slow = weighed.case.needs.slow()
    if slow:
        how = _LOWERED.get(slow[0].lowering, slow[0].lowering)
        return Advised(Advice.WIDEN_PERF_RISK, weighed.today, f"{slow[0].feature.group} {how} there", "lowering")
    if weighed.contested:
        return Advised(Advice.CONTESTED, weighed.today, "good sources disagree")
    if weighed.harm or weighed.case.words.collective:
        return Advised(
            Advice.WIDEN_PERF_RISK,
            weighed.today,
            "it cost time, or went wrong, for some who opened it",
            weighed.case.words.collective,
        )
    return None


def _tuned(weighed: Weighed) -> Advised | None:
    case = weighed.case
    chosen = constant(case.arm.effect.value) if case.arm and case.gets.refuses else None
    seen = case.needs.sure and case.gate.layer in COMPILED  # an instruction is lost, not a number
    if (weighed.today is Consequence.DEGRADED_TUNING and not seen) or (chosen is not None and chosen > 1):
        return Advised(Advice.WIDEN_NEEDS_TUNING, weighed.today, "constants chosen for other chips")
    return None


def _portable(weighed: Weighed) -> Advised | None:
    """Code that was looked at and needs nothing the target lacks."""
    case = weighed.case
    dispatched = case.gate.layer is Layer.HOST and not case.words.tried  # to a kernel that was seen
    if case.needs.sure and (case.gate.layer in COMPILED or dispatched):
        return Advised(Advice.WIDEN_SAFE, weighed.today, "everything behind it assembles")
    if case.gate.layer in COMPILED and case.guarded != REST and not case.needs.items:
        return Advised(Advice.WIDEN_SAFE, weighed.today, "portable code")
    return None


def _gap(weighed: Weighed) -> Advised | None:
    """Older and newer generations are let in, three or more: what all of them run is bound to none."""
    shut = weighed.case.shut
    if shut is None or weighed.case.needs.items or weighed.case.gate.kind is Kind.TABLE:
        return None
    majors = {sm // 10 for sm in weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers)}
    if len(majors) > 2 and min(majors) < weighed.selection.major < max(majors):
        return Advised(Advice.WIDEN_SAFE, weighed.today, "older and newer generations are let in")
    return None


def _built(weighed: Weighed) -> Advised | None:
    """A list of what to compile, that nothing beside it keeps to some chips: whether it compiles shows at once."""
    if weighed.case.gate.kind is Kind.BUILD_LIST:
        return Advised(Advice.WIDEN_SAFE, weighed.today, "a list of what to build: what does not compile shows at once")
    return None


RULES: tuple[Rule, ...] = (
    workaround,
    _helper,
    named_as_built,
    _absent,
    _limits,
    memory,
    oversize,
    _text_order,
    _table,
    _other_half,
    foreign,
    _macro_use,
    _listed,
    known_bad,
    _module_list,
    _test,
    performance,
    required,
    imaged,
    exact,
    _sibling,
    unbuilt,
    block_scaled,
    _costly,
    promised,
    said,
    _tuned,
    _portable,
    _gap,
    _built,
)
