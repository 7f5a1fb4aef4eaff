"""Compiled images that texts name (`sm_100a`, "90a"), and on which chips they load."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from archscan.model.target import Selection

_NAMED = re.compile(r"(?<![a-z0-9])(?:sm|compute)_?(\d{2,3})([af])(?![a-z0-9])|[\"'](\d{2,3})([af])[\"']", re.I)


_PLAIN = re.compile(r"[\"'](?:sm_?)?(\d{2,3})[\"']", re.I)


class Image(NamedTuple):
    """What code was compiled for: a chip, "a" for that very chip, "f" for its family from there on."""

    sm: int
    suffix: str = ""

    @property
    def name(self) -> str:
        """The target as nvcc spells it."""
        return f"sm_{self.sm}{self.suffix}"

    def loads(self, selection: Selection) -> bool:
        """Whether the chip takes it."""
        own = selection.sm
        if self.suffix == "a":
            return self.sm == own
        if self.suffix == "f":
            return self.sm in selection.family and self.sm <= own
        return self.sm // 10 == own // 10 and self.sm <= own


def picked_images(code: str, known: Container[int]) -> tuple[Image, ...]:
    """The images that code picks by text, those without a suffix too where the text is the number of a known chip."""
    plain = (Image(int(m[1])) for m in _PLAIN.finditer(code) if int(m[1]) in known)
    return tuple(dict.fromkeys((*named_images(code), *plain)))


def named_images(text: str) -> tuple[Image, ...]:
    """The images with a suffix that a text names, each once: without one, a name is only that of a chip."""
    found = (Image(int(m[1] or m[3]), (m[2] or m[4]).lower()) for m in _NAMED.finditer(text))
    return tuple(dict.fromkeys(found))
