"""A case with everything that advice can rest on, and what is advised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from archscan.catalog.types import Catalog
from archscan.judge.branches import Branch
from archscan.judge.capability import Capable
from archscan.judge.cases import Case
from archscan.judge.chips import numbered
from archscan.judge.made import UNIT, Making
from archscan.judge.needs.features import COMPILED
from archscan.judge.pairs import Counterpart, Pair
from archscan.judge.relation import relation_of
from archscan.model.facts import SiteKind
from archscan.model.finding import Advice, Consequence, Intent, Level, Problem, Relation
from archscan.model.gate import Layer
from archscan.model.target import Selection


@dataclass(frozen=True)
class CaseContext:
    """A case with everything that advice can rest on."""

    case: Case
    ways: tuple[Branch, ...]  # of its gate
    today: Consequence
    capable: Capable
    intent: Intent
    pairs: tuple[Pair, ...]
    routed: bool  # the host launches what is behind it for other targets only
    unbuilt: bool  # no list compiles its source for the target
    to_open: bool  # a list that alone compiles it shuts the target out, and is not right as it is
    built: Making | None  # what scanned builds make of its source; None where none was scanned, or it is not compiled
    selection: Selection
    catalog: Catalog
    harm: bool  # sourced: opening such a gate cost time, or went wrong, on the target's family
    contested: bool  # good sources disagree about it
    said_lacks: tuple[str, ...] = ()  # instructions that a comment of the gate itself names and the target lacks
    yours: str = ""  # what the user measured when it was opened: loss, contested, or nothing

    @property
    def making(self) -> Making | None:
        """What scanned builds make of the source in which code does harm, or would; None for what is shut out."""
        return self.built if self.case.problem is not Problem.EXCLUDED else None

    @cached_property
    def siblings(self) -> frozenset[int]:
        """SMs that take the guarded branch and are of the target's own major, or the same chip by another number."""
        shut = self.case.shut
        if shut is None:
            return frozenset()
        taken = self.catalog.universe.sms(shut.missed.yes & self.selection.peers)
        renamed = self.catalog.architectures[self.selection.sm].renamed
        meant = renamed is not None and self._is_meant(renamed, taken)
        return frozenset(sm for sm in taken if sm // 10 == self.selection.major or (meant and sm == renamed))

    def _is_meant(self, sm: int, taken: frozenset[int]) -> bool:
        """Whether code writes the number of an SM, or takes it without its neighbours: a range holds it by chance."""
        asked = " ".join(arm.condition for arm in self.case.gate.arms)
        known = sorted(self.catalog.architectures)
        at = known.index(sm)
        return re.search(numbered(sm), asked) is not None or not taken & {*known[at - 1 : at], *known[at + 1 : at + 2]}

    @cached_property
    def is_helper(self) -> bool:
        """Whether compiled code neither stands in a kernel nor holds one: nobody sees who would call it."""
        gate, body = self.case.gate, self.case.arm.body if self.case.arm is not None else None
        if gate.layer not in COMPILED or (gate.scope is not None and gate.scope.is_kernel):
            return False
        kernels = (s.place.line for s in self.case.file.sites if s.kind is SiteKind.KERNEL)
        return body is None or not any(body.line <= line <= body.end_line for line in kernels)

    @cached_property
    def relation(self) -> Relation | None:
        """How the target stands to those that the guarded branch lets in."""
        shut = self.case.shut
        if shut is None:
            return None
        universe = self.catalog.universe
        others = universe.device & ~universe.mask(universe.variants(self.selection.sm))
        return relation_of(shut.missed.yes & others, shut.missed.own & others, self.siblings, self.selection, universe)

    @property
    def is_made(self) -> bool:
        """Whether a scanned build compiles it for a variant of the target that is harmed.

        Of a header only those of its templates are compiled that somebody asks for.
        """
        making = self.making
        return making is not None and self.case.gate.path.endswith(UNIT) and bool(self._harmed & self._reached(making))

    @property
    def is_unmade(self) -> bool:
        """Whether every scanned build that may compile it is known, and makes it for no variant that is harmed."""
        making = self.making
        return making is not None and not making.is_open and not self._harmed & (self._reached(making) | making.maybe)

    @property
    def _harmed(self) -> int:
        return self.selection.mask if self.case.obstacle is None else self.case.obstacle.variants

    def _reached(self, making: Making) -> int:
        """The targets for which harm is compiled; what host code asks for is asked by who loads the code."""
        on_host = self.case.gate.layer is Layer.HOST and self.case.problem is Problem.OVER_ADMITTED
        return making.loads if on_host else making.made

    @cached_property
    def attributes(self) -> dict[str, str]:
        """What a row of advice can ask for by value."""
        return {
            "problem": self.case.problem.value,
            "capability": self.capable.capability.value,
            "intent": self.intent.value,
            "relation": self.relation.value if self.relation is not None else "none",
        }

    def half(self, *halves: Counterpart, admits: bool | None = None) -> tuple[Pair, ...]:
        """The other halves of these kinds."""
        return tuple(p for p in self.pairs if p.half in halves and (admits is None or p.admits is admits))


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The advice, the outcome it leaves standing, and why."""

    advice: Advice
    today: Consequence
    why: str
    row: str  # of rules/advice.yaml
    severity: Level | None = None  # where the row settles it
