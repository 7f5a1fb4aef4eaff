"""A case with everything that advice can rest on, and what is advised."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from archscan.catalog.types import Catalog
from archscan.judge.branches import Branch
from archscan.judge.cases import Case
from archscan.judge.pairs import Half, Pair
from archscan.judge.words import numbered
from archscan.model.finding import Advice, Consequence
from archscan.model.target import Selection


@dataclass(frozen=True, slots=True)
class Weighed:
    """A case with everything that advice can rest on."""

    case: Case
    ways: tuple[Branch, ...]  # of its gate
    today: Consequence
    pairs: tuple[Pair, ...]
    routed: bool  # the host launches what is behind it for other targets only
    unbuilt: bool  # no list compiles its source for the target
    selection: Selection
    catalog: Catalog
    harm: bool  # evidence of harm on this target for what is behind the gate
    contested: bool  # good sources disagree about it

    @property
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

    def half(self, *halves: Half, admits: bool | None = None) -> tuple[Pair, ...]:
        """The other halves of these kinds."""
        return tuple(p for p in self.pairs if p.half in halves and (admits is None or p.admits is admits))


@dataclass(frozen=True, slots=True)
class Advised:
    """The advice, the outcome it leaves standing, and why."""

    advice: Advice
    today: Consequence
    why: str
    because: str = ""  # the word or name it rests on


Rule = Callable[[Weighed], "Advised | None"]
