"""A case: something wrong at one place, before it is weighed, and what can be told of it at once."""

from __future__ import annotations

import re
from typing import NamedTuple

from archscan.judge.branches import REST
from archscan.judge.needs.features import Needs
from archscan.judge.needs.obstacles import Obstacle
from archscan.judge.verdicts import Shut, Why
from archscan.judge.words import Words
from archscan.model.facts import FileFacts, Site
from archscan.model.finding import Problem
from archscan.model.gate import Arm, Does, Effect, Gate, Kind, Layer, Place, Related
from archscan.model.target import Universe
from archscan.model.truth import Truth

LISTS = frozenset({Kind.ALLOW_LIST, Kind.KEYWORD_LIST, Kind.TABLE, Kind.BUILD_LIST})


class Case(NamedTuple):
    """Something wrong at one place, before it is weighed. A tuple, as thousands are made only to be counted."""

    file: FileFacts
    gate: Gate
    problem: Problem
    guarded: int  # index of the guarded arm, or REST
    place: Place
    gets: Effect  # what the target gets today
    needs: Needs
    words: Words
    shut: Shut | None = None
    obstacle: Obstacle | None = None
    limit: str | None = None  # the limit that a table of constants holds
    same_limit: bool = False  # the missed row holds the target's own value
    admits: tuple[str, ...] = ()  # targets that take the guarded branch
    consequence: str = ""  # settled beforehand (a mismatch has the consequence of its other half)
    related: tuple[Related, ...] = ()

    @property
    def arm(self) -> Arm | None:
        """The guarded arm, None for the rest."""
        return None if self.guarded == REST else self.gate.arms[self.guarded]

    @property
    def assumes(self) -> tuple[str, ...]:
        """What has to hold besides the target: for the guarded arm, or for what keeps the target from the rest."""
        arm = self.arm
        if arm is None or (arm.is_else and not arm.assumes):
            got = self.shut.gets.arm if self.shut is not None else REST
            arm = None if got == REST else self.gate.arms[got]
        return arm.assumes if arm is not None else ()


def place_of(gate: Gate, shut: Shut) -> Place:
    """Where a finding points: the list, the arm of the nearest relative, or the condition that refuses.

    `#else` is a line of its own to point at; the else of a language is not.
    """
    if gate.kind in LISTS:
        return gate.place
    index = shut.missed.arm
    unnamed = index == REST or (gate.arms[index].is_else and gate.layer is not Layer.PREPROCESSOR)
    if unnamed or shut.why is Why.NEGATED:
        index = shut.gets.arm
    if index == REST:
        return gate.place
    return gate.arms[index].place


def defined(case: Case) -> tuple[str, ...]:
    """The macros that the guarded arm defines; where it does not tell, all that the gate is about."""
    value = case.arm.effect.value if case.arm is not None else None
    names = [part.partition("=")[0].strip() for part in (value or "").split(";")]
    return tuple(name for name in names if name in case.gate.symbols) or case.gate.symbols


_FENCE = re.compile(r"__(?:threadfence(?:_block|_system)?|sync(?:threads|warp)|nanosleep)")


def mending(case: Case, universe: Universe) -> str:
    """The word that makes a gate a workaround for other chips: said beside it, or a fence that one chip alone gets.

    Every chip can run such a fence: who singles one out mends something there.
    """
    arm, shut = case.arm, case.shut
    if case.words.workaround or arm is None or shut is None:
        return case.words.workaround
    only_fences = bool(arm.calls) and all(_FENCE.fullmatch(call) for call in arm.calls)
    alone = len(universe.sms(shut.missed.yes)) == 1 and case.gets.does is Does.NOTHING
    return arm.calls[0] if only_fences and alone and not case.needs.items else ""


def texts(gate: Gate, guarded: int, gets: Effect) -> tuple[str, ...]:
    """Names and messages of the guarded arm and of what the target gets."""
    arm = None if guarded == REST else gate.arms[guarded]
    value = arm.effect.value if arm else gate.rest.value
    calls = arm.calls if arm else ()
    return tuple(t for t in (value, gets.message, *calls) if t)


def site_gate(file: FileFacts, site: Site, kind: Kind, truth: Truth, layer: Layer) -> Gate:
    """A gate that stands for a place without a condition: whoever gets there takes it."""
    arm = Arm(
        place=site.place,
        condition=site.name,
        own=truth,
        truth=truth,
        assumed=truth,
        effect=Effect(Does.WORK, site.place.line),
    )
    return Gate(
        path=file.path,
        layer=layer,
        kind=kind,
        place=site.place,
        arms=(arm,),
        symbols=(site.function,),
        names_arch=False,
    )
