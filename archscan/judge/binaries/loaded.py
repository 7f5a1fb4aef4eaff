"""A library as one GPU sees it: what it gets of each module, and which modules were never meant for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from archscan.binary.loading import NOTHING, Got, How, judged, of_library
from archscan.catalog.types import Catalog
from archscan.model.library import CUBIN, LTO, PTX, Image, Library, Module
from archscan.model.target import Selection

RUNS = frozenset({How.NATIVE, How.COMPATIBLE})
COMPILED = frozenset({How.JIT, How.JIT_LINK})


@dataclass(frozen=True)
class Loaded:
    """A library and what the target gets of it."""

    library: Library
    pairs: tuple[tuple[Module, Got], ...]  # of the modules that are loaded by themselves
    objects: tuple[tuple[Module, Got], ...]  # of the objects that a driver links where linked code does not fit
    selection: Selection
    catalog: Catalog

    def of(self, *ways: How) -> tuple[tuple[Module, Got], ...]:
        """The modules of which the target gets something in one of these ways."""
        return tuple(pair for pair in self.pairs if pair[1].how in ways)

    @cached_property
    def lto(self) -> tuple[Module, ...]:
        """Modules that hold nothing but intermediate code for a linker: no device could load them."""
        return tuple(m for m, _ in self.pairs if _is_lto(m))

    @cached_property
    def unfit(self) -> tuple[Module, ...]:
        """Modules with code, none of it for the target."""
        return tuple(m for m, got in self.pairs if got.how is How.NONE and not _is_lto(m))

    @cached_property
    def disputed(self) -> tuple[Module, ...]:
        """Modules of which sources disagree whether the target loads them."""
        return tuple(m for m, got in self.pairs if got.how is How.UNKNOWN)

    @property
    def loads(self) -> bool:
        """Whether the target gets something of the library. Loose cubins are chosen by name: they decide nothing."""
        decisive = [pair for pair in self.pairs if not pair[0].loose] or self.pairs
        return any(got.how not in NOTHING for _, got in decisive)

    @cached_property
    def for_siblings(self) -> tuple[Module, ...]:
        """Modules that do not fit and hold code for one sibling of the target alone, where no module is for the target.

        Who builds for both chips chooses between them; who builds 120a alone means the family and shuts 121 out.
        """
        if self.of(How.NATIVE):
            return ()
        return tuple(m for m in self.unfit if any(self._is_siblings(image) for image in m.images))

    def _is_siblings(self, image: Image) -> bool:
        target, family = image.target, self.selection.family
        return target.suffix == "a" and target.sm != self.selection.sm and target.sm in family

    @cached_property
    def read(self) -> tuple[tuple[Module, Image], ...]:
        """The image that the target gets of each module, where it gets one."""
        linked = self.objects if any(got.how is How.JIT_LINK for _, got in self.pairs) else ()
        return tuple((m, got.image) for m, got in (*self.pairs, *linked) if got.image is not None)

    def contemporaries(self, module: Module, image: Image) -> tuple[Image, ...]:
        """The other images of a module that are for chips of the target's time."""
        sms = self.catalog.universe.sms(self.selection.contemporaries)
        return tuple(i for i in module.images if i != image and i.target.sm in sms and i.kind in (CUBIN, PTX))


def _is_lto(module: Module) -> bool:
    return all(image.kind == LTO for image in module.images)


def loaded(library: Library, selection: Selection, catalog: Catalog) -> Loaded:
    """What the target gets of a library."""
    gets = of_library(library, selection.sm, catalog)
    own = {id(module) for module in judged(library)}
    pairs = tuple(zip(library.modules, gets, strict=True))
    return Loaded(
        library,
        tuple(pair for pair in pairs if id(pair[0]) in own),
        tuple(pair for pair in pairs if id(pair[0]) not in own),
        selection,
        catalog,
    )


def is_elsewhere(library: Library, selection: Selection, catalog: Catalog) -> bool:
    """Whether a library is for another processor than the one that the target comes with."""
    host = catalog.architectures[selection.sm].host
    return bool(host) and library.machine not in ("", host)
