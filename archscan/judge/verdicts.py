"""Decides, for one gate and the user's target, whether it shuts the target out, and from which branch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from archscan.judge.branches import REST, Branch, same_result
from archscan.judge.chips import numbered
from archscan.model.gate import Does, Gate, Kind
from archscan.model.target import Selection, Universe


class ExclusionReason(str, Enum):
    """How the target came to miss the branch."""

    MISSED = "missed"  # peers take a branch that works, the target gets nothing or a fallback
    REFUSED = "refused"  # the target's own branch only refuses: the guarded one is the other
    SIBLING = "sibling"  # a sibling of the same major has a narrower arm
    SHADOWED = "shadowed"  # an arm that means the target is taken from it by an earlier one
    NEGATED = "negated"  # a list or window is written as what it leaves out
    UNSUITED = "unsuited"  # the target lands in a branch that it cannot run
    STOPPED = "stopped"  # the toolkit refuses an entry of a build list: nobody gets anything


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The gate shuts the target out of `missed`; it gets `gets` instead."""

    missed: Branch
    gets: Branch
    why: ExclusionReason
    others: tuple[Branch, ...] = ()  # further branches that it misses
    spared: bool = False  # the branch refuses something to siblings of the target alone


@dataclass(frozen=True, slots=True)
class Undecided:
    """What the target gets is unknown, because of these names."""

    unknowns: tuple[str, ...]


CanRun = Callable[[Branch], bool]


_TWO_DIGITS = 10  # the first major with two digits
_FEW = 4  # chips that a condition names one by one


def decide(
    gate: Gate, ways: tuple[Branch, ...], selection: Selection, universe: Universe, can_run: CanRun
) -> Exclusion | Undecided | None:
    """Whether `gate`, with these branches, shuts the target out; None where it does not, or never gets that far.

    `can_run` says whether the target can run what is behind a branch (on one of its variants).
    """
    if gate.note("mixed"):
        return _mixed_up(gate, ways, selection, universe)
    ways = _positive(gate, ways, universe)
    landing = [b for b in ways if b.yes & selection.mask]
    asking = [b for b in ways if b.conditional]
    blind = bool(asking) and all(not b.yes and b.maybe & selection.mask == selection.mask for b in asking)
    if not landing or blind:  # nobody knows who takes an arm, so nobody knows who is left for the else
        return _undecided(gate, ways, selection)
    shut = _shut(gate, ways, landing, selection, universe, can_run)
    if shut is None and any(_hangs(b, ways, selection) for b in landing):
        return _open(gate)
    return shut


def _positive(gate: Gate, ways: tuple[Branch, ...], universe: Universe) -> tuple[Branch, ...]:
    """The branches with a negation turned round: `if not A: x` before `y` is `if A: y` before `x`.

    Only one reading is possible where the condition holds for older and for newer chips than those it leaves out: these
    are whom it is about. A chip left out of its generation is an exception, and a text is compared as it stands.
    """
    as_text = gate.kind in (Kind.STRING_EDIT, Kind.STRING_COMPARE) or gate.note("encoding") == "text"
    if as_text or len(ways) != 2 or not ways[0].conditional or ways[1].conditional or ways[0].maybe or ways[1].maybe:
        return ways
    inside, outside = universe.sms(ways[0].yes), universe.sms(ways[1].yes)
    around = bool(inside and outside) and min(inside) < min(outside) and max(outside) < max(inside)
    is_exception = len({sm // 10 for sm in outside}) == 1 and any(sm // 10 == min(outside) // 10 for sm in inside)
    if not around or is_exception or not (ways[0].works and ways[1].works):
        return ways
    return ways[0]._replace(conditional=False), ways[1]._replace(conditional=True)


def _mixed_up(gate: Gate, ways: tuple[Branch, ...], selection: Selection, universe: Universe) -> Exclusion | None:
    """What a comparison of unlike things shuts everybody out of, those too whom it names; `own` is whom it means."""
    arm, rest = ways[0], ways[-1]
    good, gets = (arm, rest) if arm.works and not arm.yes else (rest, arm)
    meant = arm.own if good is arm else universe.device & ~arm.own
    if not good.works or not gets.yes & selection.mask:
        return None
    why = ExclusionReason.SHADOWED if meant & selection.mask else ExclusionReason.MISSED
    return Exclusion(good._replace(yes=meant), gets, why)


def spared(ways: tuple[Branch, ...], selection: Selection, universe: Universe) -> Exclusion | None:
    """The arm of a workaround that refuses something to siblings of the target by name, and not to the target."""
    landing = [b for b in ways if b.yes & selection.mask]
    for branch in ways:
        named = universe.sms(branch.yes)
        narrow = branch.conditional and branch.effect.refuses and 0 < len(named) <= _FEW
        sibling = any(sm // 10 == selection.major for sm in named)
        if narrow and landing and sibling and not (branch.yes | branch.maybe) & selection.mask:
            return Exclusion(branch, landing[0], ExclusionReason.MISSED, spared=True)
    return None


def stopped(ways: tuple[Branch, ...]) -> Exclusion:
    """What a build list comes to of which the toolkit refuses an entry: all who would load something miss it."""
    return Exclusion(ways[0]._replace(yes=ways[0].own), ways[-1], ExclusionReason.STOPPED)


def _hangs(taken: Branch, ways: tuple[Branch, ...], selection: Selection) -> bool:
    """Whether peers are sure of a branch that the target takes only if the unknown is as it is supposed to be.

    Behind `arch >= 900 && arch < LIMIT`, where a flag makes the limit 1000 or 1300, sm_90 is served in both worlds.
    """
    if not (taken.conditional and taken.works and taken.sure & selection.peers):
        return False
    if (taken.sure | taken.own) & selection.mask:  # where another question is open, it is another gate's
        return False
    return any(selection.mask & ~other.no for other in ways if other.arm != taken.arm and not same_result(other, taken))


def _undecided(gate: Gate, ways: tuple[Branch, ...], selection: Selection) -> Undecided | None:
    if not any(b.maybe & selection.mask for b in ways):
        return None  # enclosing conditionals are false: the outer gate speaks
    return _open(gate)


def _open(gate: Gate) -> Undecided:
    return Undecided(tuple(dict.fromkeys(name for arm in gate.arms for name in arm.unknowns)))


def _shut(
    gate: Gate,
    ways: tuple[Branch, ...],
    landing: list[Branch],
    selection: Selection,
    universe: Universe,
    can_run: CanRun,
) -> Exclusion | None:
    asked = [b for b in landing if b.asks]
    landing = asked or landing  # another question may decide first; this one is about those it leaves
    served = [b for b in landing if b.works and b.conditional]
    good = [b for b in served if can_run(b)]
    if good:
        past = _past_own_arm(ways, good[0], selection, universe)
        return (
            past
            or _passed_by(gate, ways, good[0], selection, universe)
            or _misordered(gate, ways, good[0], selection, universe)
        )
    gets = _best(landing)
    if _is_ours(gate, gets, selection, universe):
        return None
    candidates = [b for b in ways if _missed(b, gets, selection) and not _exempt(b, gets, ways, selection, universe)]
    candidates = [b for b in candidates if not _renames(gate, b, gets)]
    if gets.effect.does is Does.LOGS:
        candidates = [b for b in candidates if b.arm != REST]  # it warns and goes on to the same
    if served:
        candidates = [b for b in candidates if b.conditional]
    if not candidates:
        return None
    nearest = _nearest(candidates, selection, universe)
    why = (
        ExclusionReason.UNSUITED
        if served
        else ExclusionReason.REFUSED
        if gets.effect.refuses and gets.arm != REST
        else ExclusionReason.MISSED
    )
    return Exclusion(nearest, gets, why, tuple(b for b in candidates if b is not nearest))


def _best(landing: list[Branch]) -> Branch:
    """What the target gets at best over its variants."""
    return max(landing, key=lambda b: (b.works, not b.effect.refuses, b.conditional))


def _missed(branch: Branch, gets: Branch, selection: Selection) -> bool:
    """Whether peers take a working branch that no variant of the target takes, or might take."""
    if branch is gets or not branch.yes & selection.peers or not (branch.works or _passes(branch, gets)):
        return False
    if branch.conditional or not gets.works:
        return not (branch.yes | branch.maybe) & selection.mask
    return False


_LOUD = frozenset({Does.RAISES, Does.ASSERTS, Does.TRAPS, Does.ERRORS, Does.SKIPS})


def _passes(branch: Branch, gets: Branch) -> bool:
    """Whether others get past a check at which the target fails: that nothing follows in the function is no matter."""
    if branch.effect.does is not Does.NOTHING or (branch.arm == REST and not gets.conditional):
        return False
    kept = gets.effect.message is not None or (gets.effect.value or "").endswith(
        "=False"
    )  # an error for later, or a switch
    noted = gets.effect.does is Does.REFUSES and kept
    return (noted and gets.conditional) or gets.effect.does in _LOUD


def _exempt(branch: Branch, gets: Branch, ways: tuple[Branch, ...], selection: Selection, universe: Universe) -> bool:
    """Whether missing the branch is no loss: a legacy arm, the arm of those who are left out, or the same result."""
    if same_result(branch, gets):
        return True
    if not branch.conditional:
        return False
    if not is_initial_stretch(branch.own or branch.yes, universe.device, universe):
        return gets.works and _is_general(branch, gets, selection, universe)
    reached = before = 0
    for way in ways:
        reached |= way.yes | way.maybe
        before |= way.yes if REST < way.arm < branch.arm else 0
    if not is_initial_stretch(branch.yes | before, reached, universe):
        return False
    if not branch.yes & selection.contemporaries:
        return True
    return gets.works and any(t.major != selection.major for t in universe.members(gets.yes & selection.contemporaries))


def _is_general(branch: Branch, gets: Branch, selection: Selection, universe: Universe) -> bool:
    """Whether the arm is what the oldest do, and the target does something else together with other generations.

    `not 9 <= major < 12` before an else for those chips: they are meant by what is negated.
    """
    taken = universe.sms(branch.own or branch.yes)
    oldest = min(universe.sms(universe.device))
    return oldest in taken and any(sm // 10 != selection.major for sm in universe.sms(gets.yes))


_NEGATED = re.compile(r"\s*(?:!|not )\s*[A-Za-z_][\w.:>-]*\(.*\)\s*$")  # a predicate, and nothing else


def _is_ours(gate: Gate, gets: Branch, selection: Selection, universe: Universe) -> bool:
    """Whether what no condition names is for the target's generation alone: `if (!is_ours(device)) the general way`."""
    if not gets.works or {sm // 10 for sm in universe.sms(gets.yes)} != {selection.major}:
        return False
    # gets no more than a constant, and here the work begins
    other = rf"!=\s*[(\"']?{numbered(selection.sm)}|\bnot in\b"
    first = gate.arms[0].effect
    constant = first.does is Does.RETURNS and "(" not in (first.value or "")
    begins = constant and (gets.effect.does is Does.WORK or "(" in (gets.effect.value or ""))
    conditions = [arm.condition for arm in gate.arms]
    return any(_NEGATED.match(c) or (begins and re.search(other, c)) for c in conditions)


def _renames(gate: Gate, branch: Branch, gets: Branch) -> bool:
    """Whether the arm gives a chip the number of another, and the target keeps its own."""
    value = gets.effect.value or ""
    named = any(re.search(rf"\b{re.escape(symbol)}\b", value) for symbol in gate.symbols)
    return named and (branch.effect.value or "").isdigit() and gets.effect.does is Does.RETURNS


def is_initial_stretch(mask: int, reached: int, universe: Universe) -> bool:
    """Whether the mask holds every SM among those reached up to some SM, and none above it."""
    inside = universe.sms(mask)
    outside = universe.sms(reached & universe.device) - inside
    return bool(inside) and (not outside or min(outside) > max(inside))


def _past_own_arm(
    ways: tuple[Branch, ...], taken: Branch, selection: Selection, universe: Universe
) -> Exclusion | None:
    """The two ways of being shut out while an arm that works is taken."""
    for branch in ways:
        if branch.arm == taken.arm or not (branch.works and branch.conditional) or same_result(branch, taken):
            continue
        asked = branch.own or branch.yes  # beside a question that nobody can answer, what is left of the condition
        narrower = asked and not asked & ~taken.own and universe.sms(asked) < universe.sms(taken.own)
        if not narrower or (branch.yes | branch.maybe) & selection.mask:
            continue
        if branch.arm < taken.arm and any(t.major == selection.major for t in universe.members(branch.yes)):
            return Exclusion(branch, taken, ExclusionReason.SIBLING)
        meant = branch.own & selection.mask and branch.no == universe.device
        if branch.arm > taken.arm and meant and not _is_looked_up(taken):
            return Exclusion(branch, taken, ExclusionReason.SHADOWED)
    return None


def _is_looked_up(taken: Branch) -> bool:
    """Whether what an arm gives was worked out before, for each chip: `if row := ROWS.get(cc): return row`."""
    value = taken.effect.value or ""
    return taken.effect.does is Does.RETURNS and value.isidentifier() and value.islower() and value not in _TRUTHS


_TRUTHS = frozenset({"true", "false"})


def _passed_by(
    gate: Gate, ways: tuple[Branch, ...], taken: Branch, selection: Selection, universe: Universe
) -> Exclusion | None:
    """The other side of a negated list or window that uses more than this one: what is written first is the fallback.

    Its condition holds for older chips than those it leaves out and for others besides, so those are who is meant.
    """
    other = ways[-1]
    if len(ways) != 2 or other.arm == REST or other.conditional or not other.works or same_result(taken, other):
        return None
    if not _features(gate, other) - _features(gate, taken):
        return None
    inside, outside = universe.sms(taken.own), universe.sms(other.yes)
    around = bool(inside and outside) and min(inside) < min(outside) < max(inside)
    if not around or not other.yes & selection.peers & selection.contemporaries or other.maybe & selection.mask:
        return None
    return Exclusion(other, taken, ExclusionReason.NEGATED)


def _features(gate: Gate, branch: Branch) -> frozenset[str]:
    """What the code of an arm uses for sure."""
    return frozenset(use.feature for use in gate.arms[branch.arm].features if use.confidence == "high")


def _misordered(
    gate: Gate, ways: tuple[Branch, ...], taken: Branch, selection: Selection, universe: Universe
) -> Exclusion | None:
    """As text "12.0" stands before "9.0": the target lands with the oldest chips instead of the newest below 10.0."""
    if gate.note("encoding") != "text" or selection.major < _TWO_DIGITS:
        return None

    def newest(branch: Branch) -> int:
        return max((sm for sm in universe.sms(branch.yes) if sm // 10 < _TWO_DIGITS), default=0)

    meant = max(ways, key=newest)
    return Exclusion(meant, taken, ExclusionReason.SHADOWED) if meant.works and newest(meant) > newest(taken) else None


def _nearest(candidates: list[Branch], selection: Selection, universe: Universe) -> Branch:
    """The branch of the nearest relative: a sibling of the same major, else the next lower SM, else the next higher."""

    def distance(branch: Branch) -> tuple[int, int, int]:
        last = branch.arm if branch.arm != REST else len(candidates) + 1000
        return (*nearness(branch.yes & selection.peers, selection, universe), last)

    return min(candidates, key=distance) if len(candidates) > 1 else candidates[0]


def nearness(mask: int, selection: Selection, universe: Universe) -> tuple[int, int]:
    """How near the nearest relative among these targets is; smaller is nearer."""
    return min((_distance(sm, selection) for sm in universe.sms(mask)), default=(3, 0))


def _distance(sm: int, selection: Selection) -> tuple[int, int]:
    if sm // 10 == selection.major:
        return 0, abs(sm - selection.sm)
    return (1, selection.sm - sm) if sm < selection.sm else (2, sm - selection.sm)
