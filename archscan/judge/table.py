"""What to do about a case: the first row of rules/advice.yaml that fits it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from archscan.catalog.advice import CIRCUMSTANCES
from archscan.catalog.types import AdviceRow
from archscan.judge.case_context import CaseContext, Recommendation
from archscan.judge.cases import LISTS
from archscan.judge.chips import chips_named, products_named
from archscan.judge.consequences import are_numbers
from archscan.judge.needs.features import COMPILED
from archscan.judge.needs.images import loaded, named_images
from archscan.judge.needs.limits import OPT_IN, limit
from archscan.judge.pairs import Counterpart, Pair
from archscan.judge.verdicts import ExclusionReason
from archscan.model.finding import Consequence
from archscan.model.gate import Does, Kind, Layer

_WRONG = frozenset({Consequence.SILENT_NOOP, Consequence.WRONG_RESULT, Consequence.RACE, Consequence.TRAP})
_DELIBERATE = re.compile(r"\b(?:intentional|deliberate|on purpose)(?:ly)?\b", re.I)
_IMAGE_FILE = re.compile(r"[\"'][^\"'\n]*(?:\.|_)(?:cubin|fatbin)\b", re.I)  # named in code, not in a comment


def advise(weighed: CaseContext) -> Recommendation:
    """The advice of the first row that fits; the last row fits everything."""
    row = chosen(weighed.catalog.advice, weighed.attributes, lambda name: CIRCUMSTANCE[name](weighed))
    return _advised(row, weighed)


def chosen(rows: Iterable[AdviceRow], attributes: Mapping[str, str], holds: Callable[[str], bool]) -> AdviceRow:
    """The first row that fits; `holds` says whether a circumstance does. The last row of the table fits everything."""
    return next(row for row in rows if _fits(row, attributes, holds))


def _fits(row: AdviceRow, attributes: Mapping[str, str], holds: Callable[[str], bool]) -> bool:
    asked = row.when
    if any(key in asked and attributes[key] not in asked[key] for key in attributes):
        return False
    return all(map(holds, asked.get("with", ()))) and not any(map(holds, asked.get("without", ())))


def _advised(row: AdviceRow, weighed: CaseContext) -> Recommendation:
    why = _said_why(row, weighed) or row.why
    return Recommendation(row.advice, row.today or weighed.today, why, row.id, row.severity)


def _said_why(row: AdviceRow, weighed: CaseContext) -> str:
    """The row's reason with what it rests on, where that can be named."""
    lacks = weighed.capable.lacks
    if row.id.startswith("cannot") and lacks:
        return f"{lacks[0].feature.group} does not assemble on any variant"
    over = weighed.capable.over
    if row.id.startswith("cannot") and over is not None:
        return f"it asks for {over.value:,} B of shared memory, {weighed.selection.name} has {over.limit:,} B"
    if weighed.yours and row.id in _MEASURED:
        return _MEASURED[row.id]
    if row.id == "lowered":
        slow = weighed.case.needs.slow()[0]
        return f"{slow.feature.group} {_LOWERED.get(slow.lowering, slow.lowering)} there"
    behind = _half_shut(weighed) if row.id == "half-shut" else None
    if behind is not None:
        return behind.message
    missing = weighed.capable.missing
    if row.id == "unknown-newer" and missing:
        more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
        return f"nothing is known of {', '.join(missing[:2])}{more}"
    return ""


_MEASURED = {
    "loss": "you measured a loss when it was opened",
    "contested": "your measurements and other good sources disagree",
}
_LOWERED = {
    "emulated": "is emulated",
    "driver_call": "is a call into the driver",
    "internal_routine": "is an internal routine",
}


def _wrong_today(weighed: CaseContext) -> bool:
    """Whether the target gets a trap, nothing or wrong data, and nobody keeps it away from there."""
    if weighed.routed or weighed.unbuilt or weighed.half(Counterpart.KERNEL):
        return False
    scope = weighed.case.gate.scope
    if weighed.today is Consequence.SILENT_NOOP and scope is not None and not (scope.is_kernel and scope.whole_body):
        return False  # of a part of a function nobody knows whether the target gets there
    return weighed.today in _WRONG


def _half_shut(weighed: CaseContext) -> Pair | None:
    """The gate or half that has to open with this one."""
    for halves, admits in (
        ((Counterpart.TRIGGER,), True),
        ((Counterpart.LAUNCH_ATTRIBUTE,), None),
        ((Counterpart.DEVICE,), None),
        ((Counterpart.HOST,), True)
        if not weighed.siblings
        else ((), None),  # who lets siblings in means the target too
        ((Counterpart.DEFINITION,), None),
        ((Counterpart.LIST, Counterpart.SOURCE, Counterpart.BUILD), False),
    ):
        found = weighed.half(*halves, admits=admits)
        if found:
            return found[0]
    for check in weighed.half(Counterpart.CHECK, admits=False):
        if check.shares is None or not check.shares.needs.absent():
            return check
    built = weighed.half(Counterpart.BUILD, admits=True)
    device = weighed.case.gate.layer in (Layer.PREPROCESSOR, Layer.DEVICE)
    return built[0] if built and device else None


def _missing_behind(weighed: CaseContext) -> bool:
    """Whether a row, kernel or image is missing behind it: a table without a row, files of images named in the arms."""
    case = weighed.case
    behind = weighed.half(Counterpart.TABLE, admits=False)
    if behind and not (weighed.siblings and all(_is_membership(weighed, table) for table in behind)):
        return True
    if case.gate.kind is Kind.TABLE and case.gets.does is Does.RAISES and not weighed.siblings:
        return True
    return case.gate.layer in (Layer.PYTHON, Layer.HOST) and _picks_images(weighed)


def _is_membership(weighed: CaseContext, table: Pair) -> bool:
    """Whether a check asks no more than whether the table has a row: one row opens both."""
    names = table.shares.gate.symbols if table.shares is not None else ()
    asked = " ".join(arm.condition for arm in weighed.case.gate.arms)
    return any(re.search(rf"\bin (?:\w+\.)*{re.escape(name)}\b", asked) for name in names)


def _picks_images(weighed: CaseContext) -> bool:
    """Whether the arms name files of images, none of which loads on the target."""
    gate = weighed.case.gate
    values = " ".join(arm.effect.value or "" for arm in gate.arms)
    if gate.kind is Kind.ALLOW_LIST:
        values += " ".join(arm.condition for arm in gate.arms)
    if _IMAGE_FILE.search(values) is None:
        return False
    return not loaded(named_images(values), weighed.selection, weighed.catalog)


def _deliberate(weighed: CaseContext) -> bool:
    """Whether a comment of the gate itself says that the choice is meant, and names the target."""
    for line in weighed.case.gate.near.splitlines():
        if _DELIBERATE.search(line):
            named = chips_named(line, weighed.catalog) | products_named(line, weighed.catalog)
            if weighed.selection.sm in named:
                return True
    return False


def _is_default_of_others(weighed: CaseContext) -> bool:
    """Whether the target falls to what nobody chose for it: the rest, an else, or an arm open on its side."""
    shut = weighed.case.shut
    if shut is None:
        return False
    majors = {sm // 10 for sm in weighed.catalog.universe.sms(shut.missed.yes)}
    if shut.gets.effect.does is Does.NOTHING and weighed.case.gate.kind is not Kind.TABLE and len(majors) == 1:
        return False  # it keeps what was chosen for all but one generation
    return not shut.gets.conditional or weighed.selection.mask & ~shut.gets.own != 0


def _other_families(weighed: CaseContext) -> bool:
    """Whether every image of a list is an `a` or `f` of a family that the target is not in."""
    images = weighed.case.listed_images
    chips, own = weighed.catalog.architectures, weighed.selection.sm
    kin = chips[own].family
    return bool(images) and all(
        image.suffix and image.sm in chips and not {image.sm, *chips[image.sm].family} & {own, *kin} for image in images
    )


def _is_by_minor(weighed: CaseContext) -> bool:
    """Whether the chips that are let in are all of some minor numbers, whatever their major, and more than two."""
    shut, universe = weighed.case.shut, weighed.catalog.universe
    if shut is None or not shut.missed.own:
        return False
    asked = universe.sms(shut.missed.own & universe.device)
    minors = {sm % 10 for sm in asked}
    alike = {sm for sm in universe.sms(universe.device) if sm % 10 in minors}
    return asked == alike and len({sm // 10 for sm in asked}) > _FEW and alike != universe.sms(universe.device)


def _no_branch(weighed: CaseContext) -> bool:
    """Whether the build makes code for the chips that it has a branch for, and has none for the target."""
    made = weighed.case.gate.note("branches")
    return made is not None and str(weighed.selection.sm) not in made.split()


def _code_of_families(weighed: CaseContext) -> bool:
    """Whether only `a` or `f` targets of families that the target is not in are let in."""
    shut = weighed.case.shut
    if shut is None or weighed.case.gate.layer not in COMPILED:
        return False
    return _are_of_other_families(shut.missed.yes, weighed)


def _built_for_families(weighed: CaseContext) -> bool:
    """Whether all that scanned builds make, or may make, of the file is `a` or `f` code of families it is not in.

    A list that is to be opened may make it for the target.
    """
    built = weighed.built
    if built is None or built.is_open or not weighed.unbuilt:
        return False
    return _are_of_other_families(built.made | built.maybe, weighed)


def _are_of_other_families(mask: int, weighed: CaseContext) -> bool:
    """Whether a mask holds `a` and `f` targets only, of families that the target is not in."""
    universe, chips = weighed.catalog.universe, weighed.catalog.architectures
    own = {weighed.selection.sm, *chips[weighed.selection.sm].family}
    members = universe.members(mask & universe.device)
    return bool(members) and all(t.suffix and not {t.sm, *chips[t.sm].family} & own for t in members)


def _has_less_memory(weighed: CaseContext) -> bool:
    """Whether those let in are exactly the chips with more shared memory, though their numbers are no range."""
    shut, catalog = weighed.case.shut, weighed.catalog
    if shut is None or weighed.case.gate.layer not in (Layer.PYTHON, Layer.HOST):
        return False
    memory = {sm: limit(catalog, sm, OPT_IN) or 0 for sm in catalog.architectures if sm >= _OLDEST}
    large = catalog.universe.sms(shut.missed.own or shut.missed.yes) & memory.keys()
    small = memory.keys() - large
    if not large or not small or min(memory[sm] for sm in large) <= max(memory[sm] for sm in small):
        return False
    return any(min(large) < sm < max(large) for sm in small)


_OLDEST = 75  # that nvcc 13 compiles for


def _for_one_chip(weighed: CaseContext) -> bool:
    """Whether each arm that the target misses asks for one chip alone, none of which is of the target's family.

    The rows of a table have to be about one and the same.
    """
    shut, gate = weighed.case.shut, weighed.case.gate
    if shut is None or (gate.kind in LISTS and gate.kind is not Kind.TABLE):
        return False
    universe, own = weighed.catalog.universe, weighed.selection.sm
    related = any(variant.suffix == "f" for variant in universe.variants(own))  # chips of major 8 share no instructions
    kin = {own, *weighed.catalog.architectures[own].family} if related else {own}
    missed = (shut.missed, *(branch for branch in shut.others if branch.conditional))
    named = [universe.sms((branch.own or branch.yes) & universe.device) for branch in missed]
    if gate.kind is Kind.TABLE and len(frozenset().union(*named)) != 1:
        return False  # a row for each chip is no choice for one
    return all(len(chips) == 1 and not chips & kin for chips in named)


def _for_tegra(weighed: CaseContext) -> bool:
    """Whether all that is let in are chips of the Tegra line, and the target is no chip that sits on such boards."""
    shut, universe, tegra = weighed.case.shut, weighed.catalog.universe, weighed.catalog.tegra.chips
    if shut is None or weighed.case.gate.layer in COMPILED:
        return False
    if weighed.catalog.architectures[weighed.selection.sm].host:
        return False  # it comes with one processor alone, as they do
    missed = (shut.missed, *(branch for branch in shut.others if branch.conditional))
    named = frozenset().union(*(universe.sms((branch.own or branch.yes) & universe.device) for branch in missed))
    return bool(named) and named <= tegra


def _is_found_otherwise(weighed: CaseContext) -> bool:
    """Whether each row is a number or a text of some chips, and the target comes to code that works its own out.

    Texts may stand for ways to go: of them it has to be told that the others get such a text too.
    """
    shut, gate = weighed.case.shut, weighed.case.gate
    if shut is None or gate.kind not in (Kind.TABLE, Kind.SWITCH):
        return False
    if gate.note("again") is not None:
        return True
    gets = shut.gets.effect
    rows = [branch.effect.value for branch in (shut.missed, *shut.others) if branch.conditional]
    asks = gets.does is Does.ASSIGNS and "(" in (gets.value or "") and not are_numbers(gets.value)
    works = gets.does is Does.WORK
    return (works or asks) and len(rows) > 1 and all(map(are_numbers, rows))


def _is_one_more_step(weighed: CaseContext) -> bool:
    """Whether chips get something done besides, and what follows is for all: an `if` without an else, and no choice.

    To pick a name, a number or a truth value is to choose; to make something, or to call, is a step.
    """
    shut, gate = weighed.case.shut, weighed.case.gate
    if shut is None or gate.kind is not Kind.IF or gate.layer is not Layer.PYTHON or len(gate.arms) != 1:
        return False
    theirs = shut.missed.effect
    made = theirs.does is Does.ASSIGNS and _MADE.search(theirs.value or "") is not None
    called = theirs.does is Does.WORK and not theirs.value
    return shut.gets.effect.does is Does.NOTHING and (made or called)


_MADE = re.compile(r"[(\[{]")  # a call, or something put together


def _is_ladder(weighed: CaseContext) -> bool:
    """Whether the target misses a rung for each of many chips: what follows the chips lacks the target's."""
    shut = weighed.case.shut
    return shut is not None and sum(branch.conditional for branch in (shut.missed, *shut.others)) > _FEW


_FEW = 2  # rungs that are no ladder


def _is_for_older_alone(weighed: CaseContext) -> bool:
    """Whether code is for every chip up to an older one, and the others lose no kernel and are refused nothing.

    `#if __CUDA_ARCH__ < 800` is how the way around an instruction is written that older chips lack.
    """
    shut, gate, universe = weighed.case.shut, weighed.case.gate, weighed.catalog.universe
    if shut is None or gate.layer not in (Layer.PREPROCESSOR, Layer.DEVICE) or weighed.case.gets.refuses:
        return False
    if weighed.case.gets.does is Does.NOTHING and gate.scope is not None and gate.scope.whole_body:
        return False
    inside = sorted(universe.sms((shut.missed.own or shut.missed.yes) & universe.device))
    everything = sorted(universe.sms(universe.device))
    return bool(inside) and inside == everything[: len(inside)] and inside[-1] < weighed.selection.sm


CIRCUMSTANCE: Mapping[str, Callable[[CaseContext], bool]] = {
    "wrong-today": _wrong_today,
    "half-shut": lambda weighed: _half_shut(weighed) is not None,
    "missing-behind": _missing_behind,
    "loss": lambda weighed: weighed.harm or weighed.yours == "loss",
    "contested": lambda weighed: weighed.contested and weighed.yours != "loss",
    "lowered": lambda weighed: bool(weighed.case.needs.slow()) and all(n.sure for n in weighed.case.needs.slow()),
    "deliberate": _deliberate,
    "lacks-said-instruction": lambda weighed: bool(weighed.said_lacks),
    "default-of-others": _is_default_of_others,
    "right-limit": lambda weighed: weighed.case.same_limit,
    "sources-cannot": lambda weighed: False,
    "other-families": _other_families,
    "code-of-families": _code_of_families,
    "built-for-families": _built_for_families,
    "no-kernel": lambda weighed: weighed.is_helper,
    "less-memory": _has_less_memory,
    "one-chip": _for_one_chip,
    "tegra-alone": _for_tegra,
    "ladder": _is_ladder,
    "older-alone": _is_for_older_alone,
    "found-otherwise": _is_found_otherwise,
    "one-more-step": _is_one_more_step,
    "by-minor": _is_by_minor,
    "no-branch": _no_branch,
    "refused-by-toolkit": lambda weighed: (
        weighed.case.shut is not None and weighed.case.shut.why is ExclusionReason.STOPPED
    ),
    "desktop-code": lambda w: str(w.selection.sm) in (w.case.gate.note("tegra") or "").split(),
    "reach-unknown": lambda weighed: weighed.making is not None and not weighed.is_made,
    "only-slower": lambda weighed: weighed.today is Consequence.DEGRADED_TUNING,
    "other-suffix": lambda weighed: weighed.case.obstacle is not None and bool(weighed.case.obstacle.fits),
}
assert set(CIRCUMSTANCE) == set(CIRCUMSTANCES)
