"""Makes gates of decisions: the one place where a front end's arms, and what surrounds them, become a `Gate`.

A decision is arms that were evaluated in their order (`ladders` says which statements are one, `in_order` who takes
each), what a target gets that takes none of them (`Rest`), and what stands around (`About`). A list is a decision
with one arm: who is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from archscan.model.condition import Cond, both, without
from archscan.model.gate import (
    NOTHING,
    Arm,
    Does,
    Effect,
    FeatureUse,
    Gate,
    Kind,
    Layer,
    Mention,
    Place,
    Related,
    Scope,
)
from archscan.model.truth import Truth

_Item = TypeVar("_Item")
_Statement = TypeVar("_Statement")
_Rung = TypeVar("_Rung")

TAKEN_FOR_GRANTED = ("CUDA, not ROCm", "toolkit and libraries new enough", "environment variables unset")


@dataclass(frozen=True, slots=True)
class Rest:
    """What a target gets that takes no arm: nothing is told of it where there is an else."""

    effect: Effect = NOTHING
    features: tuple[FeatureUse, ...] = ()
    calls: tuple[str, ...] = ()
    missing: tuple[Mention, ...] | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What stands around a decision; the fields are those of a `Gate`."""

    scope: Scope | None = None
    reach: Truth | None = None
    related: tuple[Related, ...] = ()
    near: str = ""
    symbols: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    names_arch: bool = True
    assumptions: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


def ladders(
    block: Iterable[_Statement], rung: Callable[[_Statement], _Rung | None], is_last: Callable[[_Rung], bool]
) -> Iterator[_Statement | list[_Rung]]:
    """The statements of a block, rungs next to each other as one ladder, up to the last: their arms are one decision.

    `rung` gives a statement as it stands in a ladder, None where it is none; it is asked as the walk gets there.
    """
    ladder: list[_Rung] = []
    for statement in block:
        found = rung(statement)
        if found is not None:
            ladder.append(found)
        if ladder and (found is None or is_last(found)):
            yield ladder
            ladder = []
        if found is None:
            yield statement
    if ladder:
        yield ladder


def in_order(reach: Cond, owns: Iterable[Cond]) -> Iterator[Cond]:
    """When each arm of a decision is taken that is come to on `reach`: its own condition holds, and none above does."""
    for own in owns:
        yield both(reach, own)
        reach = without(reach, own)


def decided(path: str, layer: Layer, kind: Kind, place: Place, arms: tuple[Arm, ...], rest: Rest, about: About) -> Gate:
    """The gate of a decision."""
    if any(arm.is_else for arm in arms):
        rest = Rest()
    return Gate(
        path=path,
        layer=layer,
        kind=kind,
        place=place,
        arms=arms,
        rest=rest.effect,
        rest_features=rest.features,
        rest_calls=rest.calls,
        rest_missing=rest.missing,
        scope=about.scope,
        reach=about.reach,
        related=_once(about.related),
        near=about.near,
        symbols=_once(about.symbols),
        derived_from=about.derived_from,
        names_arch=about.names_arch,
        assumptions=about.assumptions,
        extra=about.notes,
    )


def listed(path: str, layer: Layer, kind: Kind, entry: Arm, rest: Effect, about: About) -> Gate:
    """The gate of a list: `entry` says who is in it, and who is not gets the rest."""
    return decided(path, layer, kind, entry.place, (entry,), Rest(rest), about)


def serving(place: Place, condition: str, own: Truth, truth: Truth | None = None, assumed: Truth | None = None) -> Arm:
    """The arm of those that a list, a table or a place without a condition serves: they go on with the work.

    `truth` is what `own` comes to there, and `assumed` that with all that is not known taken as met.
    """
    truth = own if truth is None else truth
    work = Effect(Does.WORK, place.line)
    return Arm(place, condition, own, truth, truth if assumed is None else assumed, work)


def _once(items: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(items)) if len(items) > 1 else items
