"""Where each stretch of a file is live, for whoever finds something between the directives."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from archscan.model.condition import Cond, truth
from archscan.model.gate import Via
from archscan.model.truth import Truth


class Point(NamedTuple):
    """From `offset` on (to the next point) the file is live so."""

    offset: int
    live: Cond
    via: Via


@dataclass(frozen=True, slots=True)
class PresenceMap:
    """Where the `#if` regions of one file are live."""

    everything: int
    points: Sequence[Point] = ()

    def at(self, offset: int) -> Truth:
        """The truth of the regions around a byte offset."""
        return truth(self.point(offset).live, self.everything)

    def point(self, offset: int) -> Point:
        """Everything known of that place."""
        at = bisect_right(self.points, offset, key=_offset) if self.points else 0
        return self.points[at - 1] if at else Point(0, self.everything, Via.FILE)


def _offset(point: Point) -> int:
    return point.offset
