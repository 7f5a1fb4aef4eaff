"""What texts state as the oldest chip that will do: "requires compute capability 8.0 or newer"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_GENERATIONS = {
    "pascal": 60,
    "volta": 70,
    "turing": 75,
    "ampere": 80,
    "ada": 89,
    "lovelace": 89,
    "hopper": 90,
    "blackwell": 100,
}
_CHIP = (
    r"(?:(?:sm|cc)[ _]?(?P<sm>\d{2,3})|(?<![\d.])(?P<major>\d{1,2})\.(?P<minor>\d)(?![\d.]\d|\d)"
    rf"|(?P<name>{'|'.join(_GENERATIONS)}))"
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
_NEEDS = re.compile(rf"{_NEED}{_OF}{_CHIP}", re.I)
_PATTERNS = (
    (re.compile(rf"\b{_OF}{_CHIP}{_UP}", re.I), True),
    (re.compile(rf"{_LEAST}{_OF}{_CHIP}", re.I), True),
    (_NEEDS, False),
)
_SOFTWARE = re.compile(
    r"\b(?:cuda|toolkit|cudnn|cublas\w*|nccl|driver|(?:py)?torch|triton|python|ptx|isa|cutlass|cmake|nvcc|version) +$",
    re.I,
)


class Floor(NamedTuple):
    """The oldest SM that a text says will do."""

    sm: int
    said: str
    newer: bool  # the text promises it to everything newer as well


def floors(text: str) -> Iterator[Floor]:
    """Every such statement in a text, promises first; versions of software are none."""
    text = text[:_LONGEST]
    for pattern, newer in _PATTERNS:
        for match in pattern.finditer(text):
            if not _SOFTWARE.search(text, max(0, match.start() - 20), match.start()) or pattern is _NEEDS:
                yield Floor(_number(match), match[0].strip(), newer)


def _number(match: re.Match[str]) -> int:
    if match["sm"]:
        return int(match["sm"])
    return _GENERATIONS[match["name"].lower()] if match["name"] else int(match["major"]) * 10 + int(match["minor"])
