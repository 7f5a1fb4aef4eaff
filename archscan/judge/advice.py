"""What to do about a case: an ordered list of small rules, the first that applies decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST, Branch
from archscan.judge.cases import LISTS, Case
from archscan.judge.features import COMPILED
from archscan.judge.limits import OPT_IN, constant, limit
from archscan.judge.notes import images
from archscan.judge.pairs import Half, Pair
from archscan.judge.words import chips_named, products_named
from archscan.model.finding import Advice, Consequence, Problem
from archscan.model.gate import Does, Kind, Layer
from archscan.model.target import Selection


@dataclass(frozen=True, slots=True)
class Weighed:
    """A case with everything that advice can rest on."""

    case: Case
    ways: tuple[Branch, ...]  # of its gate
    today: Consequence
    pairs: tuple[Pair, ...]
    routed: bool  # the host launches what is behind it for other targets only
    selection: Selection
    catalog: Catalog
    harm: bool  # evidence of harm on this target for what is behind the gate
    contested: bool  # good sources disagree about it

    @property
    def siblings(self) -> frozenset[int]:
        """SMs of the target's own major that take the guarded branch."""
        shut = self.case.shut
        if shut is None:
            return frozenset()
        taken = self.catalog.universe.sms(shut.missed.yes & self.selection.peers)
        return frozenset(sm for sm in taken if sm // 10 == self.selection.major)

    def half(self, *halves: Half, admits: bool | None = None) -> tuple[Pair, ...]:
        """The other halves of these kinds."""
        return tuple(p for p in self.pairs if p.half in halves and (admits is None or p.admits is admits))


@dataclass(frozen=True, slots=True)
class Advised:
    """The advice, the outcome it leaves standing, and why."""

    advice: Advice
    today: Consequence
    why: str
    because: str = ""  # the word or name it rests on


_FEW_TARGETS = 9  # three chips with their suffixes, named one by one
_SUFFIXED = re.compile(r"(?<![a-z0-9])(?:sm|compute)_?(\d{2,3})[af]\b", re.I)

_IMAGE = re.compile(r"(?:\.|_)(?:cubin|fatbin)\b", re.I)

Rule = Callable[[Weighed], "Advised | None"]

_FULL = frozenset({Does.WORK, Does.RETURNS, Does.ASSIGNS, Does.DEFINES})  # something is done instead
_LISTED = frozenset({Half.LIST, Half.SOURCE, Half.BUILD})
_NAMED = frozenset({*LISTS, Kind.WINDOW, Kind.MACRO_DEFINITION})  # gates whose symbols are their own names
_LOWERED = {
    "emulated": "is emulated",
    "driver_call": "is a call into the driver",
    "internal_routine": "is an internal routine",
    "expanded": "is expanded to several instructions",
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


def _workaround(weighed: Weighed) -> Advised | None:
    """A workaround for other chips: right as it is, unless a sibling has the fault and the target may have it."""
    word = weighed.case.words.workaround
    if not word:
        return None
    near = weighed.case.gate.near
    named = products_named(near, weighed.catalog) | chips_named(near, weighed.catalog)
    if weighed.siblings and not named & weighed.siblings:
        why = "a workaround for a sibling: whether the fault exists here has to be tested"
        return Advised(Advice.CONTESTED, Consequence.RUNTIME_ERROR, why, word)
    return Advised(Advice.LEAVE, Consequence.NO_EFFECT, "a workaround for other chips", word)


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
    if weighed.routed or weighed.half(Half.DEFINITION):
        return False
    if weighed.today is Consequence.WRONG_RESULT:
        return True
    kernel = scope is not None and scope.is_kernel and scope.whole_body
    return weighed.today is Consequence.SILENT_NOOP and kernel and not _named_for_others(weighed)


def _known_bad(weighed: Weighed) -> Advised | None:
    """The comment beside it says that it goes wrong elsewhere, or that this generation lacks something."""
    case = weighed.case
    if case.words.known_bad:
        why = "the comment beside it names a known fault"
        return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why, case.words.known_bad)
    said = f"{case.gate.near} {case.gets.message or ''}"
    named = chips_named(said, weighed.catalog) if case.words.lacks else frozenset()
    if not case.needs.sure and any(sm // 10 == weighed.selection.major for sm in named):
        why = "the comment beside it says that the target lacks something"
        return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why, case.words.lacks)
    return None


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


def _memory(weighed: Weighed) -> Advised | None:
    """The text gives shared memory as the reason, and every chip that is let in has more of it."""
    case, catalog = weighed.case, weighed.catalog
    own, shut = limit(catalog, weighed.selection.sm, OPT_IN), case.shut
    if not case.words.memory or own is None or shut is None or case.needs.sure or case.limit:
        return None
    others = [limit(catalog, sm, OPT_IN) for sm in catalog.universe.sms(shut.missed.yes & weighed.selection.peers)]
    if not others or any(other is None or other <= own for other in others):
        return None
    why = f"the text beside it speaks of memory: {weighed.selection.name} has {own:,} B, all that are let in have more"
    return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why, case.words.memory)


def _table(weighed: Weighed) -> Advised | None:
    """A check before a table without a row, the table behind the check, and a table that simply fails."""
    if weighed.half(Half.TABLE, admits=False):
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "the table behind it has no row")
    if weighed.half(Half.CHECK, admits=False):
        return Advised(Advice.PAIR, weighed.today, "a check refuses before the table is read")
    if weighed.case.gate.kind is Kind.TABLE and weighed.case.gets.does is Does.RAISES and not weighed.siblings:
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "there is no row for the target")
    return None


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


def _foreign(weighed: Weighed) -> Advised | None:
    """What is behind it is named for other chips."""
    case = weighed.case
    named = _named_for_others(weighed) or _ships_for_others(weighed) or _refused_for_others(weighed)
    if not named or (case.needs.sure and not _file_for_others(weighed)):
        return None
    why = "what is behind it is named for other chips"
    silent = weighed.today in (Consequence.SILENT_NOOP, Consequence.WRONG_RESULT, Consequence.RACE)
    quiet = not silent or case.gets.does is Does.PRINTS
    if quiet or weighed.routed or case.gate.layer in (Layer.BUILD, Layer.JIT) or _file_for_others(weighed):
        return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why)
    return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why)


def _refused_for_others(weighed: Weighed) -> bool:
    """Whether an error names the one generation that is let in: "only supported on SM100 and SM103"."""
    case, shut = weighed.case, weighed.case.shut
    if shut is None or not case.gets.message or case.gets.does not in (Does.RAISES, Does.ASSERTS, Does.REFUSES):
        return False
    named = {_generation(sm) for sm in chips_named(case.gets.message, weighed.catalog)}
    taken = weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers)
    return len(named) == 1 and weighed.selection.major not in named and {_generation(sm) for sm in taken} == named


def _named_for_others(weighed: Weighed) -> bool:
    """Whether function, class, list or called names hold other chips and none of the target's generation."""
    case = weighed.case
    arm = case.arm
    value = arm.effect.value if arm else case.gate.rest.value
    calls = arm.calls if arm else ()
    scope = case.gate.scope.name if case.gate.scope else ""
    symbols = case.gate.symbols if case.gate.kind in _NAMED else ()  # of a condition they only repeat what it asks
    text = " ".join(x for x in (scope, value or "", *calls, *symbols) if x)
    named = chips_named(text, weighed.catalog)
    if not named and case.gate.layer in COMPILED:
        return _file_for_others(weighed)
    return (
        bool(named) and not any(sm // 10 == weighed.selection.major for sm in named) and not _outgrown(weighed, named)
    )


def _outgrown(weighed: Weighed, named: frozenset[int]) -> bool:
    """Whether the branch takes newer generations than it is named for: `launchSm90` for 10.0 too is no kernel of 9.0.

    10.x and 11.x count as one: tensor memory came with both.
    """
    shut = weighed.case.shut
    taken = weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers) if shut else set()
    return max(map(_generation, taken), default=0) > max(map(_generation, named))


def _generation(sm: int) -> int:
    return 10 if sm // 10 == 11 else sm // 10


def _ships_for_others(weighed: Weighed) -> bool:
    """Whether the message or comment speaks of images for suffixed targets, all of other chips: "sm90a only"."""
    case = weighed.case
    if case.gate.layer in COMPILED:
        return False
    named = {int(sm) for sm in _SUFFIXED.findall(f"{case.gate.near} {case.gets.message or ''}")}
    if case.guarded != REST:
        named |= {sm for sm, _ in images(case.gate, case.guarded)}
    return bool(named) and not any(sm // 10 == weighed.selection.major for sm in named)


def _file_for_others(weighed: Weighed) -> bool:
    """Whether the very file is named for other chips (`mha_sm90.cu`)."""
    named = chips_named(weighed.case.gate.path.rsplit("/", 1)[-1], weighed.catalog)
    return bool(named) and not any(sm // 10 == weighed.selection.major for sm in named)


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


def _performance(weighed: Weighed) -> Advised | None:
    words, today = weighed.case.words, weighed.today
    if today is Consequence.DEGRADED_TUNING and (words.prefers or words.measured):
        why = "a preference, no ability" if words.prefers else "chosen by measurements on the chips that are named"
        return Advised(Advice.LEAVE, today, why, words.prefers or words.measured)
    word = weighed.case.words.performance
    if word and (weighed.case.gets.does in _FULL or weighed.case.gets.does in (Does.REFUSES, Does.NOTHING)):
        return Advised(Advice.LEAVE, Consequence.NO_EFFECT, "a deliberate choice for speed", word)
    return None


def _sibling(weighed: Weighed) -> Advised | None:
    """A chip of the same family is let in, and what is behind it assembles."""
    alike = _alike(weighed)
    if not alike or _is_refused_by_name(weighed.case):
        return None
    names = ", ".join(f"sm_{sm}" for sm in sorted(alike))
    return Advised(Advice.WIDEN_SAFE, weighed.today, f"a sibling is let in: {names}", "sibling")


def _alike(weighed: Weighed) -> frozenset[int]:
    """The siblings that say something about the target: let in for their generation, not for a minor number."""
    case = weighed.case
    asked = case.arm.condition if case.arm is not None else " ".join(arm.condition for arm in case.gate.arms)
    return frozenset() if "minor" in asked and "major" not in asked else weighed.siblings


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


def _block_scaled(weighed: Weighed) -> Advised | None:
    groups = {n.feature.group for n in weighed.case.needs.items}
    if weighed.case.words.block_scaled or groups & {"mma-block-scale", "mma-f8f6f4"}:
        why = "block-scaled paths needed tiles, shared memory and suffix fixed before they were right and fast"
        return Advised(Advice.WIDEN_NEEDS_TUNING, weighed.today, why)
    return None


def _imaged(weighed: Weighed) -> Advised | None:
    """The rows or values are compiled images: another row names a file that nobody has."""
    case = weighed.case
    if case.gate.layer not in (Layer.PYTHON, Layer.HOST):
        return None
    rows = [arm.effect.value or "" for arm in case.gate.arms]
    rows += [arm.condition for arm in case.gate.arms if case.gate.kind is Kind.ALLOW_LIST]
    word = _IMAGE.search(" ".join(rows))
    if word is None:
        return None
    return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "an image for the target has to be there first", word[0])


def _said(weighed: Weighed) -> Advised | None:
    case = weighed.case
    if case.words.portable:
        return Advised(Advice.WIDEN_SAFE, weighed.today, "said to be portable", case.words.portable)
    return None


def _unbuilt(weighed: Weighed) -> Advised | None:
    """Binaries that do not exist, unless the text beside the gate says that the code is portable."""
    case = weighed.case
    if case.words.binary and not case.words.portable and case.gate.layer in (Layer.PYTHON, Layer.HOST, Layer.JIT):
        return Advised(
            Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "there may be no image for the target", case.words.binary
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
    if case.needs.sure and case.gate.layer in COMPILED:
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
    _workaround,
    _absent,
    _limits,
    _memory,
    _text_order,
    _table,
    _other_half,
    _foreign,
    _macro_use,
    _listed,
    _known_bad,
    _module_list,
    _test,
    _performance,
    _imaged,
    _sibling,
    _unbuilt,
    _block_scaled,
    _costly,
    _said,
    _tuned,
    _portable,
    _gap,
    _built,
)
