"""What texts state as the oldest chip that will do: "requires compute capability 8.0 or newer"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_CHIP = (
    r"(?:(?:sm|cc)[ _]?(?P<sm>\d{2,3})|(?<![\d.])(?P<major>\d{1,2})\.(?P<minor>\d)(?![\d.]\d|\d)"
    r"|(?P<name>NAMES))"
)
_LONGEST = 4000  # characters looked at
# Bounded, as hostile text would have it tried over and over
_OF = r"(?:(?:an?|the|nvidia|gpus?|devices?|with|of|compute|capability|capabilities|cc|architecture|arch|sm)[ _]+){0,6}"
_UP = (
    r"(?:\+|[ _]{0,3}(?:(?:gpus?|devices?|chips?|cards?)[ _]{1,3})?"
    r"\(?(?:or|and)[ _](?:newer|later|higher|above|greater|up)\b)"
)
_LEAST = r"(?:>=|≥|\bat least|\bminimum(?: compute capability)?(?: of| is)?:?) *"
_NEED = r"\b(?:requires?|needs?|from|since|starting with|introduced (?:in|with)) +"
_SOFTWARE = re.compile(
    r"\b(?:cuda|toolkit|cudnn|cublas\w*|nccl|driver|(?:py)?torch|triton|python|ptx|isa|cutlass|cmake|nvcc|version) +$",
    re.I,
)


class Floor(NamedTuple):
    """The oldest SM that a text says will do."""

    sm: int
    said: str
    newer: bool  # the text promises it to everything newer as well


def floors(text: str, generations: dict[str, int]) -> Iterator[Floor]:
    """Every such statement in a text, promises first; versions of software are none.

    `generations` gives the first SM of each by its name.
    """
    text = text[:_LONGEST]
    for pattern, newer in _patterns(tuple(generations)):
        for match in pattern.finditer(text):
            if not newer or not _SOFTWARE.search(text, max(0, match.start() - 20), match.start()):
                yield Floor(_number(match, generations), match[0].strip(), newer)


@lru_cache(4)
def _patterns(names: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], bool], ...]:
    """The patterns of statements with these names of generations; whether each promises it to newer chips too."""
    chip = _CHIP.replace("NAMES", "|".join(map(re.escape, names)) or "(?!)")
    said = ((rf"\b{_OF}{chip}{_UP}", True), (rf"{_LEAST}{_OF}{chip}", True), (rf"{_NEED}{_OF}{chip}", False))
    return tuple((re.compile(pattern, re.I), newer) for pattern, newer in said)


def _number(match: re.Match[str], generations: dict[str, int]) -> int:
    if match["sm"]:
        return int(match["sm"])
    return generations[match["name"].lower()] if match["name"] else int(match["major"]) * 10 + int(match["minor"])
