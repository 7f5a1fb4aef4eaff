"""Whether what is behind a gate is for other chips: by its name, its file, its images, or the error it raises."""

from __future__ import annotations

from archscan.judge.branches import REST
from archscan.judge.cases import LISTS
from archscan.judge.needs.features import COMPILED
from archscan.judge.needs.images import named_images
from archscan.judge.needs.notes import images
from archscan.judge.weighed import Advised, Weighed
from archscan.judge.words import chips_named
from archscan.model.finding import Advice, Consequence
from archscan.model.gate import Does, Kind, Layer

_FOLDERS = 2  # above a file, whose names say what is in it
_NAMED = frozenset({*LISTS, Kind.WINDOW, Kind.MACRO_DEFINITION})  # gates whose symbols are their own names


def foreign(weighed: Weighed) -> Advised | None:
    """What is behind it is named for other chips."""
    case = weighed.case
    named = (
        named_for_others(weighed)
        or _ships_for_others(weighed)
        or _refused_for_others(weighed)
        or _asserted_by_file(weighed)
    )
    if not named or (case.needs.sure and not _file_for_others(weighed)):
        return None
    why = "what is behind it is named for other chips"
    if case.gets.does is Does.RAISES and _is_table_of_kernels(weighed):
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "each chip has code of its own, the target has none")
    silent = weighed.today in (Consequence.SILENT_NOOP, Consequence.WRONG_RESULT, Consequence.RACE)
    quiet = not silent or case.gets.does is Does.PRINTS
    if quiet or weighed.routed or case.gate.layer in (Layer.BUILD, Layer.JIT) or _file_for_others(weighed):
        return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why)
    return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why)


def _is_table_of_kernels(weighed: Weighed) -> bool:
    """Whether several arms pick code of different chips by name: who is in none of them gets nothing at all."""
    picked = (" ".join((arm.effect.value or "", *arm.calls)) for arm in weighed.case.gate.arms if not arm.is_else)
    named = [chips_named(text, weighed.catalog) for text in picked]
    return len({frozenset(map(_generation, chips)) for chips in named if chips}) > 1


def _refused_for_others(weighed: Weighed) -> bool:
    """Whether an error names the one generation that is let in: "only supported on SM100 and SM103"."""
    case, shut = weighed.case, weighed.case.shut
    if (
        shut is None
        or not case.gets.message
        or case.gets.does not in (Does.RAISES, Does.ASSERTS, Does.REFUSES, Does.ERRORS)
    ):
        return False
    if case.words.element_wise or case.words.collective:  # what such code asks for may be no more than what was tried
        return False
    if _is_datacenter(case.gets.message, weighed):
        return True
    named = {_generation(sm) for sm in chips_named(case.gets.message, weighed.catalog)}
    taken = weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers)
    return len(named) == 1 and weighed.selection.major not in named and {_generation(sm) for sm in taken} == named


def named_for_others(weighed: Weighed) -> bool:
    """Whether function, class, list or called names hold other chips and none of the target's generation."""
    case = weighed.case
    arm = case.arm
    value = arm.effect.value if arm else case.gate.rest.value
    calls = arm.calls if arm else ()
    scope = case.gate.scope.name if case.gate.scope else ""
    asked = " ".join(a.condition for a in case.gate.arms)
    symbols = [
        s for s in case.gate.symbols if case.gate.kind in _NAMED and s not in asked
    ]  # else they repeat what it asks
    text = " ".join(x for x in (scope, value or "", *calls, *symbols) if x)
    named = chips_named(text, weighed.catalog)
    if _is_datacenter(f"{text} {case.gate.path.rpartition('/')[2]}", weighed):
        return True
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
    """Whether the message or comment speaks of images for suffixed targets, all of other chips: "sm90a only".

    Where generations are let in that it does not name, it speaks of a part only.
    """
    case = weighed.case
    if case.gate.layer in COMPILED:
        return False
    named = set(named_images(f"{case.gate.near} {case.gets.message or ''}"))
    if case.guarded != REST:
        named |= set(images(case.gate, case.guarded))
    shut = case.shut
    taken = weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers) if shut else set()
    covers = {_generation(image.sm) for image in named} >= {_generation(sm) for sm in taken}
    return bool(named) and covers and not any(image.sm // 10 == weighed.selection.major for image in named)


def _file_for_others(weighed: Weighed) -> bool:
    """Whether the very file, or a folder right above it, is named for other chips (`mha_sm90.cu`, `hopper/mha.cu`)."""
    near = "/".join(weighed.case.gate.path.rsplit("/", _FOLDERS + 1)[-_FOLDERS - 1 :])
    named = chips_named(near, weighed.catalog)
    return bool(named) and not any(sm // 10 == weighed.selection.major for sm in named)


def _asserted_by_file(weighed: Weighed) -> bool:
    """Whether a file of the chips that are let in asks for them: `sm100_mla.py` keeps others out of what it is for."""
    shut = weighed.case.shut
    if shut is None or not _file_for_others(weighed):
        return False
    taken = weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers)
    near = "/".join(weighed.case.gate.path.rsplit("/", _FOLDERS + 1)[-_FOLDERS - 1 :])
    named = {_generation(sm) for sm in chips_named(near, weighed.catalog)}
    return {_generation(sm) for sm in taken} <= named


def _is_datacenter(text: str, weighed: Weighed) -> bool:
    """Whether "Blackwell" means 10.x and 11.x here: of the chips of that name, they alone are let in.

    Not where the name itself is what is asked: an `is_blackwell` that knows them alone is what a newer chip suffers
    from.
    """
    shut = weighed.case.shut
    asks = weighed.case.gate.kind in (Kind.RETURNED_TRUTH, Kind.FLAG, Kind.WINDOW, Kind.MACRO_DEFINITION)
    if asks or "blackwell" not in text.lower() or shut is None:
        return False
    taken = weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers)
    return {_generation(sm) for sm in taken} == {10} and _generation(weighed.selection.sm) != 10
