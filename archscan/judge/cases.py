"""A case: something wrong at one place, before it is weighed, and what can be told of it at once."""

from __future__ import annotations

from typing import NamedTuple

from archscan.analysis.decisions import About, listed, serving
from archscan.judge.branches import REST
from archscan.judge.needs.features import Needs
from archscan.judge.needs.images import entry_targets
from archscan.judge.needs.notes import images
from archscan.judge.needs.obstacles import Obstacle
from archscan.judge.verdicts import Exclusion, ExclusionReason
from archscan.model.facts import FileFacts, Site
from archscan.model.finding import Problem
from archscan.model.gate import NOTHING, Arm, Effect, Gate, Kind, Layer, Place, Related
from archscan.model.target import Target
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
    shut: Exclusion | None = None
    obstacle: Obstacle | None = None
    limit: str | None = None  # the limit that a table of constants holds
    same_limit: bool = False  # the missed row holds the target's own value
    admits: tuple[str, ...] = ()  # targets that take the guarded branch
    is_sure: bool = False  # peers take it and the target does not, whatever the unknown conditions are
    consequence: str = ""  # settled beforehand (a mismatch has the consequence of its other half)
    related: tuple[Related, ...] = ()

    @property
    def arm(self) -> Arm | None:
        """The guarded arm, None for the rest."""
        return None if self.guarded == REST else self.gate.arms[self.guarded]

    @property
    def listed_images(self) -> tuple[Target, ...]:
        """The entries of a list of what to build."""
        if self.gate.kind is not Kind.BUILD_LIST or self.arm is None:
            return ()
        return images(self.gate, self.guarded) or entry_targets(self.arm.condition)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What has to hold besides the target: for the guarded arm, or for what keeps the target from the rest."""
        arm = self.arm
        if self.is_sure:
            return ()
        if arm is None or (arm.is_else and not arm.assumes):
            got = self.shut.gets.arm if self.shut is not None else REST
            arm = None if got == REST else self.gate.arms[got]
        return arm.assumes if arm is not None else ()


def place_of(gate: Gate, shut: Exclusion) -> Place:
    """Where a finding points: the list, the arm of the nearest relative, or the condition that refuses.

    `#else` is a line of its own to point at; the else of a language is not.
    """
    if gate.kind in LISTS:
        return gate.place
    index = shut.missed.arm
    unnamed = index == REST or (gate.arms[index].is_else and gate.layer is not Layer.PREPROCESSOR)
    if unnamed or shut.why is ExclusionReason.NEGATED:
        index = shut.gets.arm
    if index == REST:
        return gate.place
    return gate.arms[index].place


def defined(case: Case) -> tuple[str, ...]:
    """The macros that the guarded arm defines; where it does not tell, all that the gate is about."""
    value = case.arm.effect.value if case.arm is not None else None
    names = [part.partition("=")[0].strip() for part in (value or "").split(";")]
    return tuple(name for name in names if name in case.gate.symbols) or case.gate.symbols


def site_gate(file: FileFacts, site: Site, kind: Kind, truth: Truth, layer: Layer) -> Gate:
    """A gate that stands for a place without a condition: whoever gets there takes it."""
    about = About(symbols=(site.function,), names_arch=False)
    return listed(file.path, layer, kind, serving(site.place, site.name, truth), NOTHING, about)
