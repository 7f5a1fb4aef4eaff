"""Three-valued truth over the universe as two bit masks: where it is yes, where it is no, the rest unknown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Truth:
    """Kleene truth per target; a bit in neither mask is unknown, a bit in both is a bug."""

    yes: int
    no: int

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.yes & other.yes, self.no | other.no)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.yes | other.yes, self.no & other.no)

    def __invert__(self) -> Truth:
        return Truth(self.no, self.yes)

    def unknown(self, mask: int) -> int:
        """The part of `mask` where the answer is neither yes nor no."""
        return mask & ~(self.yes | self.no)

    def known(self, mask: int) -> bool:
        """Whether the answer is definite on all of `mask`."""
        return not self.unknown(mask)

    def only(self, mask: int) -> Truth:
        """This truth on `mask`, unknown elsewhere."""
        return Truth(self.yes & mask, self.no & mask)

    def word(self, bit: int) -> str:
        """The answer for one target's bit: yes, no or unknown."""
        return "yes" if self.yes & bit else "no" if self.no & bit else "unknown"


def always(mask: int) -> Truth:
    """Yes on all of `mask`."""
    return Truth(mask, 0)


def never(mask: int) -> Truth:
    """No on all of `mask`."""
    return Truth(0, mask)


UNKNOWN = Truth(0, 0)
