"""What helpers and constants come to: worked out once in a project, whatever file asks and however deep in calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from archscan.frontends.cuda.seen import Seen

DEPTH = 8  # calls, constants and aliases followed inside each other
_MOST_STEPS = 30_000  # evaluations for one function: hostile or generated code must end
_MOST_KEPT = 1 << 16

Answer = TypeVar("Answer")


class _Kept(NamedTuple):
    """An answer that is the same wherever it is asked for, and what it cost and rests on."""

    answer: Any
    steps: int
    height: int  # how many calls deeper it went; with that many left it is the same
    seen: int  # what was read for it, as bits of `Seen`


class _Open:
    """An answer that is being worked out."""

    def __init__(self, key: Hashable, depth: int, steps: int, seen: int) -> None:
        self.key = key
        self.steps = steps
        self.seen = seen
        self.deepest = depth  # from DEPTH on calls were left out: with more room it may be another answer
        self.is_circular = False  # something in it asked for what was open: another beginning gives another answer


class Answers:
    """The answers of a project, and how much the function in hand has cost.

    An answer costs what working it out would, also where it is there already, so that what is left out of a function
    that costs too much does not hang on the files that were read before.
    """

    def __init__(self, seen: Seen | None = None) -> None:
        self.steps = 0  # since the caller set it to zero
        self._seen = seen or Seen()
        self._kept: dict[Hashable, _Kept] = {}
        self._open: list[_Open] = []
        self._keys: set[Hashable] = set()  # of those that are open

    def __reduce__(self) -> tuple[type[Answers], tuple[Seen]]:
        return Answers, (self._seen,)

    @property
    def are_exhausted(self) -> bool:
        """Whether the function in hand has cost so much that further values are left unknown."""
        return self.steps > _MOST_STEPS

    def end_at(self, depth: int) -> bool:
        """Whether calls are followed no further at a depth."""
        self._went_to(depth)
        return depth >= DEPTH

    def of(self, key: Hashable, depth: int, itself: Answer, work: Callable[[], Answer]) -> Answer:
        """What `work` returns at a depth, which the key tells all about; `itself` where it asks for itself."""
        if key in self._keys:
            self._open[-1].is_circular = True
            return itself
        kept = self._kept.get(key)
        if kept is None or depth + kept.height >= DEPTH:
            kept = self._kept.get((key, depth))
        if kept is not None and self.steps + kept.steps <= _MOST_STEPS:
            self.steps += kept.steps
            self._seen.mask |= kept.seen
            self._went_to(depth + kept.height)
            answer: Answer = kept.answer
            return answer
        one = _Open(key, depth, self.steps, self._seen.mask)
        self._open.append(one)
        self._keys.add(key)
        self._seen.mask = 0
        try:
            answer = work()
        finally:
            self._open.pop()
            self._keys.remove(key)
            seen, self._seen.mask = self._seen.mask, self._seen.mask | one.seen
        self._close(one, depth, _Kept(answer, self.steps - one.steps, one.deepest - depth, seen))
        return answer

    def _close(self, one: _Open, depth: int, kept: _Kept) -> None:
        """Keeps an answer if it is the same wherever it is asked for, and tells what stands around what it rests on."""
        if self._open:
            around = self._open[-1]
            around.is_circular = around.is_circular or one.is_circular
        self._went_to(one.deepest)
        if one.is_circular or self.are_exhausted:
            return
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[(one.key, depth) if one.deepest >= DEPTH else one.key] = kept

    def _went_to(self, depth: int) -> None:
        """Notes how deep what is being worked out went."""
        if self._open:
            self._open[-1].deepest = max(self._open[-1].deepest, depth)
