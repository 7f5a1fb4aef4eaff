"""A case with everything that advice can rest on, and what is advised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from archscan.catalog.types import Catalog
from archscan.judge.branches import Branch
from archscan.judge.cases import Case
from archscan.judge.pairs import Half, Pair
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
    selection: Selection
    catalog: Catalog
    harm: bool  # evidence of harm on this target for what is behind the gate
    contested: bool  # good sources disagree about it

    @property
    def siblings(self) -> frozenset[int]:
        """SMs of the target's own major that take the guarded branch."""
        shut = self.case.shut
        if shut is None:
            return frozenset()
        taken = self.catalog.universe.sms(shut.missed.yes & self.selection.peers)
        return frozenset(sm for sm in taken if sm // 10 == self.selection.major)

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
