"""Whose kernels are read to answer for a target: those of its own images, of its peers where one does nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from archscan.binary.sass import DEAD, EMPTY, TRAP
from archscan.catalog.types import Catalog
from archscan.judge.binaries.absent import held_here
from archscan.judge.binaries.loaded import Loaded, is_elsewhere, loaded
from archscan.judge.binaries.sources import Shows
from archscan.model.facts import Facts
from archscan.model.library import CUBIN, PTX, Image, Kernels, Library
from archscan.model.target import Selection

HOLLOW = frozenset({EMPTY, DEAD})
SUSPECT = HOLLOW | {TRAP}
_STUB = 16_384  # bytes of an image that may have no kernel
_MOST_STUBS = 64
_MOST_BYTES = 1 << 29  # of images that are read for the names of their kernels alone


def to_read(
    facts: Facts, selection: Selection, catalog: Catalog, shows: Shows, names: bool = False
) -> tuple[tuple[Library, tuple[Image, ...]], ...]:
    """The images that the target gets of each library reported on; with `names` one of each other module too."""
    found = []
    for library in facts.libraries:
        if not shows(library):
            continue
        images: dict[Image, None] = {}
        if not is_elsewhere(library, selection, catalog):
            view = loaded(library, selection, catalog)
            images.update((image, None) for _, image in view.read)
            images.update((image, None) for image in _witnesses(view))
        if names:
            images.update(
                (module.images[0], None) for module in library.modules if images.keys().isdisjoint(module.images)
            )
        if images:
            found.append((library, tuple(images)))
    return tuple(found)


def _witnesses(view: Loaded) -> tuple[Image, ...]:
    """Images that show whether a library of which nothing loads has kernels at all: few if some image is large."""
    if view.loads:
        return ()
    modules = (*view.unfit, *view.disputed)
    images = sorted((module.images[0] for module in modules), key=lambda image: -image.span.raw)
    return tuple(images[:1]) if images and images[0].span.raw > _STUB else tuple(images[:_MOST_STUBS])


def is_vacant(view: Loaded, known: Mapping[tuple[str, int], Kernels]) -> bool:
    """Whether a library of which nothing loads was read to hold no kernel: what nvcc links where there is none."""
    wanted = _witnesses(view)
    found = [known.get((view.library.path, image.span.start)) for image in wanted]
    read = [kernels for kernels in found if kernels is not None and not kernels.failed]
    total = len(view.unfit) + len(view.disputed)
    return bool(wanted) and len(wanted) == total == len(read) and not any(one.natures for one in read)


def peers_to_read(
    library: Library, known: Mapping[Image, Kernels], selection: Selection, catalog: Catalog, names: Collection[str]
) -> tuple[Image, ...]:
    """What else is to be read of a library: where some kernel does nothing on the target, images of chips of its time.

    Where kernels of the sources (`names`) are not in what the target gets, another image of each module too.
    """
    view = loaded(library, selection, catalog)
    found: dict[Image, None] = {}
    for module, image in view.read:
        if image in known and any(nature in SUSPECT for _, nature in known[image].natures):
            found.update(dict.fromkeys(view.contemporaries(module, image)))
    if names and view.loads and not is_elsewhere(library, selection, catalog):
        by_start = {(library.path, image.span.start): kernels for image, kernels in known.items()}
        if not held_here(view, by_start).issuperset(names):
            found.update(dict.fromkeys(_others(view)))
    return tuple(image for image in found if image not in known)


def _others(view: Loaded) -> tuple[Image, ...]:
    """An image of each module that the target does not get, the newest; none where that is too much to read."""
    gets = {id(module): got.image for module, got in view.pairs}
    found = []
    for module, _ in view.pairs:
        rest = [i for i in module.images if i.kind in (CUBIN, PTX) and i != gets[id(module)]]
        if rest:
            found.append(max(rest, key=lambda image: (image.kind == CUBIN, image.target)))
    return tuple(found) if sum(i.span.raw or i.span.length for i in found) <= _MOST_BYTES else ()
