"""Which image of a module a GPU loads, by the rules under `images` in architectures.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from archscan.catalog.architectures import takes
from archscan.catalog.types import Catalog
from archscan.model.library import CUBIN, PTX, Image, Library, Module


class How(str, Enum):
    """How a GPU comes to run a module."""

    NATIVE = "native"  # machine code for its own SM
    COMPATIBLE = "compatible"  # machine code for a lower SM of its major or family
    JIT = "jit"  # PTX, compiled by the driver at first use
    JIT_LINK = "jit-link"  # the linked code does not fit, and the driver links the objects anew
    UNKNOWN = "unknown"  # machine code of a desktop part for a Tegra chip: sources disagree whether it loads
    NONE = "none"


NOTHING = frozenset({How.UNKNOWN, How.NONE})  # nothing that is sure to load


@dataclass(frozen=True, slots=True)
class Got:
    """What a GPU gets of one module."""

    how: How
    image: Image | None = None  # the one it loads; None = none, or linked at load


_RANK = {"a": 2, "f": 1, "": 0}  # of equal SMs 90a beat 90 in either order (measured on a 9.0)


def got(module: Module, sm: int, catalog: Catalog) -> Got:
    """What a GPU gets of a module by itself: machine code that fits before any PTX, then the highest."""
    cubin = _best(module.images, CUBIN, sm, catalog)
    if cubin is not None:
        return Got(How.NATIVE if cubin.target.sm == sm else How.COMPATIBLE, cubin)
    ptx = _best(module.images, PTX, sm, catalog)
    if ptx is not None:
        return Got(How.JIT, ptx)
    is_disputed = any(image.kind == CUBIN and takes(image.target, sm, catalog) is None for image in module.images)
    return Got(How.UNKNOWN if is_disputed else How.NONE)


def of_library(library: Library, sm: int, catalog: Catalog) -> tuple[Got, ...]:
    """What a GPU gets of each module of a library, in order.

    Where linked code does not fit, the driver links the objects of `nvcc -rdc`, if each of them has an image that does.
    """
    alone = [got(module, sm, catalog) for module in library.modules]
    objects = [found for module, found in zip(library.modules, alone, strict=True) if module.relocatable]
    links = bool(objects) and all(found.how not in NOTHING for found in objects)
    return tuple(
        Got(How.JIT_LINK) if links and found.how in NOTHING and not module.loose and _has_code(module) else found
        for module, found in zip(library.modules, alone, strict=True)
    )


def _has_code(module: Module) -> bool:
    return any(image.kind in (CUBIN, PTX) for image in module.images)


def fits(image: Image, sm: int, catalog: Catalog) -> bool:
    """Whether a GPU takes this image for sure."""
    return image.kind in (CUBIN, PTX) and takes(image.target, sm, catalog, image.kind == PTX) is True


def is_useless(image: Image, sm: int, catalog: Catalog) -> bool:
    """Whether a GPU does not take this image for sure."""
    return image.kind not in (CUBIN, PTX) or takes(image.target, sm, catalog, image.kind == PTX) is False


def _best(images: Iterable[Image], kind: str, sm: int, catalog: Catalog) -> Image | None:
    found = [image for image in images if image.kind == kind and fits(image, sm, catalog)]
    return max(found, key=lambda image: (image.target.sm, _RANK[image.target.suffix]), default=None)


def judged(library: Library) -> Sequence[Module]:
    """The modules that are loaded by themselves: objects for a linker are, where nothing was linked from them."""
    linked = [module for module in library.modules if not module.relocatable]
    return linked or library.modules
