"""Names the form of a gate from the set of targets that it admits, never from its spelling."""

from __future__ import annotations

from archscan.model.gate import Gate, Kind
from archscan.model.target import Selection, Universe

_BY_KIND = {
    Kind.ALLOW_LIST: "list",
    Kind.KEYWORD_LIST: "list",
    Kind.BUILD_LIST: "list",
    Kind.TABLE: "table-row",
    Kind.BUILD_FLAG: "build-flag",
    Kind.STRING_COMPARE: "text-order",
    Kind.RESOURCE: "resource",
    Kind.TEST_SKIP: "test-skip",
}


def form(gate: Gate, admits: int, selection: Selection, universe: Universe, limit: str | None = None) -> str:
    """The form of a gate whose guarded branch `admits` these targets, as the target sees it.

    `limit` names the hardware limit that its constants are.
    """
    if gate.note("encoding") == "text":
        return "text-order"
    if gate.kind in _BY_KIND:
        return _BY_KIND[gate.kind]
    if limit:
        return "limit-table"
    return shape(admits, selection, universe)


def shape(admits: int, selection: Selection, universe: Universe) -> str:
    """The shape of a set of targets: bounded on which side, one chip, a family, all but some, a list."""
    admits &= universe.device
    inside = sorted(universe.sms(admits))
    if not inside:
        return "never"
    if _suffixed(admits, inside, universe):
        return "feature-macro"
    if len(inside) == 1:
        return "sibling" if inside[0] // 10 == selection.major else "equality"
    everything = sorted(universe.sms(universe.device))
    if len(everything) - len(inside) <= 2 and inside[-1] == everything[-1] and inside[0] == everything[0]:
        return "all-but"
    if _contiguous(inside, everything):
        return _interval(inside, everything, selection)
    return "list"


def _suffixed(admits: int, inside: list[int], universe: Universe) -> bool:
    """Whether only `a` or `f` targets are admitted although the plain ones exist."""
    return not any(t.suffix == "" for t in universe.members(admits)) and bool(inside)


def _contiguous(inside: list[int], everything: list[int]) -> bool:
    first = everything.index(inside[0])
    return everything[first : first + len(inside)] == inside


def _interval(inside: list[int], everything: list[int], selection: Selection) -> str:
    if {sm // 10 for sm in inside} == {inside[0] // 10} and _whole_major(inside, everything):
        return "family"
    if inside[-1] == everything[-1]:
        return "lower-bound"
    if inside[0] == everything[0] or inside[-1] < selection.sm:
        return "upper-bound"
    return "lower-bound" if inside[0] > selection.sm else "range"


def _whole_major(inside: list[int], everything: list[int]) -> bool:
    return [sm for sm in everything if sm // 10 == inside[0] // 10] == inside
