"""What is inside a compiled library: modules of GPU images. Facts only: no target, no opinion."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from archscan.model.facts import Origin
from archscan.model.target import Target

CUBIN, PTX, LTO = "cubin", "ptx", "kind8"


@dataclass(frozen=True, slots=True)
class Span:
    """Where the bytes of an image lie in its file, and what they unpack to."""

    start: int
    length: int  # as stored, without padding
    scheme: str = ""  # lz4 | zstd | unknown; "" = not compressed
    raw: int = 0  # announced size once unpacked


@dataclass(frozen=True, slots=True)
class Image:
    """Code for one target: machine code, PTX that a driver compiles, or something that neither is."""

    kind: str  # cubin | ptx | kindN
    target: Target
    version: str  # of the PTX language, or of the cubin format
    span: Span

    @property
    def compressed(self) -> bool:
        return bool(self.span.scheme)

    @property
    def name(self) -> str:
        """As build systems write it: sm_90a for machine code, compute_90a for PTX, lto_90a."""
        prefix = {CUBIN: "sm", PTX: "compute", LTO: "lto"}.get(self.kind, self.kind)
        return f"{prefix}_{self.target.sm}{self.target.suffix}"


@dataclass(frozen=True, slots=True)
class Module:
    """The images of one translation unit: a driver loads one of them, or none."""

    images: tuple[Image, ...]
    relocatable: bool = False  # an object of `nvcc -rdc`, for a linker
    loose: bool = False  # no container: a cubin or PTX by itself


@dataclass(frozen=True, slots=True)
class Library:
    """A file that may hold GPU images."""

    path: str
    size: int
    machine: str = ""  # x86_64, aarch64, ...; "" = it is for no processor
    modules: tuple[Module, ...] = ()
    failed: tuple[str, ...] = ()  # images that could not be read, with the reason
    notes: tuple[str, ...] = ()  # what is in it besides and is not read
    disk: str = ""  # where it lies ("" = in an archive)
    archive: str = ""
    member: str = ""
    root: str = ""
    below: str = ""
    origin: Origin = Origin.OWN
    stamp: str = ""  # stands for its content as long as it does not change; "" = cannot be told

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(image for module in self.modules for image in module.images)

    def count(self) -> dict[str, int]:
        """How many images there are for each target, in order."""
        found = Counter(image.name for image in self.images)
        order = {image.name: (image.kind != CUBIN, image.target) for image in self.images}
        return {name: found[name] for name in sorted(found, key=lambda name: (*order[name], name))}


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of one image: what each does, by its mangled name; or why they could not be read."""

    natures: tuple[tuple[str, str], ...] = ()  # code | empty | trap | dead | unknown
    failed: str = ""
