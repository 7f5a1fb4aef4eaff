"""Kernels whose names say for which chips they are: a program picks them for these alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol, TypeVar

from archscan.model.library import Image

# Sm100 and sm_90a name a chip, sm10 in the sources of CUTLASS a generation
_CHIP = re.compile(r"(?<![a-z])sm_?(\d{2,3})(?!\d)|(?<=[a-z_])Sm(\d{2,3})(?!\d)")


class Named(Protocol):
    """A kernel and the images in which it does something."""

    @property
    def name(self) -> str: ...

    @property
    def works(self) -> tuple[Image, ...]: ...


K = TypeVar("K", bound=Named)


def is_named_for_others(kernel: Named, sm: int) -> bool:
    """Whether the name of a kernel, or a template argument, names chips among which all are that it works on.

    For a GPU older than all that are named, newer ones than these count too: what is made for sm_100 is often built
    for whatever came after.
    """
    majors = {_major(int(m[1] or m[2])) for m in _CHIP.finditer(kernel.name)}
    if not majors or sm // 10 in majors:
        return False
    works = {image.target.major for image in kernel.works}
    return works <= majors or (sm // 10 < min(majors) <= min(works))


def _major(number: int) -> int:
    """The generation that a number names: 10 of sm100, 9 of sm90, 10 of sm10."""
    return number if number in (10, 11, 12) else number // 10


def parted(kernels: Iterable[K], sm: int) -> tuple[tuple[K, ...], tuple[K, ...]]:
    """The kernels that may well be launched on the target, and those that are named for other chips."""
    found = list(kernels)
    others = tuple(one for one in found if is_named_for_others(one, sm))
    return tuple(one for one in found if one not in others), others
