"""A build with its images, and what each GPU gets of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from archscan.catalog.types import Catalog
from archscan.frontends.build.images import Image, disputed, loaded_by

NATIVE, COMPATIBLE, JIT, NONE, UNKNOWN = "native", "compatible", "jit", "none", "unknown"


@dataclass(frozen=True, slots=True)
class Made:
    """An image that the build makes, and the place that asks for it."""

    image: Image
    path: str
    line: int

    @property
    def kind(self) -> str:
        return "ptx" if self.image.ptx else "cubin"


@dataclass(frozen=True, slots=True)
class Dropped:
    """What is asked for and not made."""

    asked: str
    path: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Build:
    """One extension, target or project. `stops`: the toolkit refuses an entry, so that nothing is made."""

    name: str
    kind: str  # extension | target | jit | project
    path: str
    line: int
    images: tuple[Made, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    unknowns: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    stops: bool = False
    reads: str = ""  # torch | cmake: whose variable decides; "" = what is written

    def gets(self, catalog: Catalog) -> dict[str, str]:
        """What each GPU gets, by its name."""
        images = tuple(made.image for made in self.images)
        return {
            f"sm_{sm}": NONE if self.stops else gets(images, sm, catalog, bool(self.unknowns))
            for sm in sorted(catalog.architectures)
        }


@dataclass(frozen=True, slots=True)
class Advice:
    """A line to set for one GPU."""

    how: str  # environment | cmake | preset | argument | edit
    text: str
    form: str  # plain | a | f
    toolkit: str
    why: str
    path: str | None = None


def gets(images: tuple[Image, ...], sm: int, catalog: Catalog, is_open: bool = False) -> str:
    """native: machine code for this very GPU; compatible: for an earlier one of its major; jit: PTX; none; unknown."""
    codes = tuple(image for image in images if not image.ptx)
    if any(image.target.sm == sm for image in codes):
        return NATIVE
    if loaded_by(codes, sm, catalog):
        return COMPATIBLE
    if loaded_by(images, sm, catalog):
        return JIT
    # Under its other number, and no other of that major: sm_100 did not load on sm_110,
    # https://github.com/vllm-project/vllm/pull/39233
    renamed = catalog.architectures[sm].renamed
    twin = renamed is not None and any(i.target.sm == renamed for i in images)
    return UNKNOWN if is_open or twin or sm in disputed(images, catalog) else NONE
