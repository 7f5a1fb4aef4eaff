"""Makes gates of decisions: the one place where a front end's arms, and what surrounds them, become a `Gate`.

A decision is arms that were evaluated in their order, what a target gets that takes none of them (`Rest`), and what
stands around (`About`). A list is a decision with one arm: who is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

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


_Item = TypeVar("_Item")


def _once(items: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(items)) if len(items) > 1 else items
