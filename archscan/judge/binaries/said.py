"""What is said about one library: the parts of a finding that are an opinion, and the words that they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from archscan.model.finding import Advice, Consequence, Level
from archscan.model.gate import Related
from archscan.model.library import CUBIN, Image

NO_IMAGE, NO_SYMBOL = 209, 500
ERRORS = {
    NO_IMAGE: f'"no kernel image is available for execution on the device" ({NO_IMAGE})',
    NO_SYMBOL: f'"named symbol not found" ({NO_SYMBOL})',
}


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence, and what it rests on."""

    text: str
    source: str = ""  # "" = the library itself
    confidence: str = "high"


@dataclass(frozen=True, slots=True)
class Said:
    """Everything about one finding that is an opinion, and the words for it."""

    about: str  # missing | suffix-only | jit-only | hollow | trap
    consequence: Consequence
    severity: Level
    score: int
    advice: Advice
    message: str
    happens: Note  # what the user sees
    helps: Note
    admits: frozenset[int]  # SMs that are better off
    notes: tuple[Note, ...] = ()
    kernels: tuple[str, ...] = ()
    places: tuple[Related, ...] = ()  # in the sources
    error: int = 0


def names(images: Iterable[Image]) -> str:
    """The targets of images: `sm_70, sm_80`."""
    order = {image.name: (image.kind != CUBIN, image.target) for image in images}
    return ", ".join(sorted(order, key=lambda name: (*order[name], name)))


def these_kernels(them: Sequence[object]) -> str:
    """How many kernels: `2 kernels`."""
    return f"{len(them):,} kernel{'' if len(them) == 1 else 's'}"


def share(part: int, whole: int, noun: str) -> str:
    """How many of how many: `2 of 3 modules`."""
    return f"{part:,} of {whole:,} {noun}{'' if whole == 1 else 's'}"


def holds(number: int) -> str:
    """The verb for so many."""
    return "holds" if number == 1 else "hold"


def does(them: Sequence[object]) -> str:
    """The verb for these."""
    return "does" if len(them) == 1 else "do"


def works(them: Sequence[object]) -> str:
    """The verb for these."""
    return "works" if len(them) == 1 else "work"
