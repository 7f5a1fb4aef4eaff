"""How the target stands to the chips that a gate lets in."""

from __future__ import annotations

from archscan.model.finding import Relation
from archscan.model.target import Selection, Universe


def relation_of(
    taken: int, asked: int, siblings: frozenset[int], selection: Selection, universe: Universe
) -> Relation | None:
    """The relation to the SMs of the mask `taken`, of those that are `asked` for; None where nobody is let in.

    A sibling decides before age does, but for a lower bound above the target: those are newer, whatever their major,
    also where an earlier rung of the ladder takes the newest of them.
    """
    admitted = universe.sms(taken)
    if not admitted:
        return None
    own = selection.sm
    if siblings and not _is_bound_above(universe.sms(asked) or admitted, own, universe):
        return Relation.SIBLING
    if min(admitted) > own:
        return Relation.OLDER
    return Relation.NEWER if max(admitted) < own else Relation.BETWEEN


def _is_bound_above(admitted: frozenset[int], own: int, universe: Universe) -> bool:
    """Whether every chip from some SM above the target on is let in and none below; the last alone is no bound."""
    first = min(admitted)
    above = {sm for sm in universe.sms(universe.device) if sm >= first}
    return first > own and above == admitted and len(above) > 1
