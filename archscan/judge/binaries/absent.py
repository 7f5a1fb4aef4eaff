"""Kernels of the scanned sources that a library holds for other chips and not for the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archscan.binary.names import last
from archscan.judge.binaries.loaded import Loaded
from archscan.judge.binaries.sources import Sources, Spot
from archscan.model.library import Image, Kernels


@dataclass(frozen=True, slots=True)
class Absent:
    """A kernel that the target gets nothing of."""

    name: str  # mangled, of one of its instantiations
    images: tuple[Image, ...]  # that hold it
    spots: tuple[Spot, ...]  # its definitions
    compiled_out: bool  # the target gets an image of its module, in which it is not

    @property
    def works(self) -> tuple[Image, ...]:
        return self.images


def held_here(view: Loaded, known: Mapping[tuple[str, int], Kernels]) -> frozenset[str]:
    """The kernels in the images that the target gets of a library, by the names that sources have for them."""
    found = (known.get((view.library.path, image.span.start)) for _, image in view.read)
    return frozenset(last(name) for kernels in found if kernels for name, _ in kernels.natures)


def absent(
    view: Loaded, known: Mapping[tuple[str, int], Kernels], sources: Sources, held: frozenset[str]
) -> tuple[Absent, ...]:
    """The kernels of the sources that images for other chips hold and no library (`held`) does for the target."""
    if not view.loads:
        return ()
    loaded = {id(module) for module, _ in view.read}
    images: dict[str, dict[Image, None]] = {}
    mangled: dict[str, str] = {}
    compiled_out: set[str] = set()
    for module, _ in view.pairs:
        for image in module.images:
            found = known.get((view.library.path, image.span.start))
            for name, _ in found.natures if found else ():
                short = last(name)
                if short in sources.defined and short not in held:
                    mangled.setdefault(short, name)
                    images.setdefault(short, {})[image] = None
                    compiled_out |= {short} if id(module) in loaded else set()
    return tuple(
        Absent(mangled[short], tuple(them), sources.defined[short], short in compiled_out)
        for short, them in sorted(images.items())
    )
