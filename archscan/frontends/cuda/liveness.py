"""Where each stretch of a file is live, for whoever finds something between the directives."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from archscan.model.gate import Via
from archscan.model.truth import Truth, always


class Point(NamedTuple):
    """From `offset` on (to the next point) the file is live so."""

    offset: int
    truth: Truth
    possible: int  # where it may be live, if the unknown names are as they should be
    names: tuple[str, ...]  # what makes it unknown
    via: Via


@dataclass(frozen=True, slots=True)
class Liveness:
    """The truth of the `#if` regions of one file."""

    everything: int
    points: Sequence[Point] = ()

    def at(self, offset: int) -> Truth:
        """The truth of the regions around a byte offset."""
        return self.point(offset).truth

    def point(self, offset: int) -> Point:
        """Everything known of that place."""
        at = bisect_right(self.points, offset, key=_offset) if self.points else 0
        if at == 0:
            return Point(0, always(self.everything), self.everything, (), Via.FILE)
        return self.points[at - 1]


def _offset(point: Point) -> int:
    return point.offset
