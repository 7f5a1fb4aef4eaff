"""A declared set of architectures, and what does not agree with it."""

from __future__ import annotations

from dataclasses import dataclass

from archscan.catalog.types import Catalog
from archscan.errors import UserError
from archscan.frontends.build.images import entry_images
from archscan.model.target import Target

HIGH, MEDIUM, LOW = "high", "medium", "low"
LEVELS = (HIGH, MEDIUM, LOW)
RULES = {
    "declared-code-missing": "a declared GPU gets no machine code",
    "declared-ptx-missing": "PTX for later GPUs is missing",
    "undeclared-code": "code for architectures that are not declared",
    "declared-gate": "a gate shuts a declared GPU out",
}


@dataclass(frozen=True, slots=True)
class Declared:
    """The architectures, and who says so."""

    targets: tuple[Target, ...]  # machine code
    ptx: tuple[Target, ...]
    by: str

    def gpus(self, catalog: Catalog) -> dict[int, Target]:
        """The GPUs that have to get code: by SM, with what is declared for them. `f` stands for its whole family."""
        found: dict[int, Target] = {}
        for target in self.targets:
            chip = catalog.architectures.get(target.sm)
            family = chip.family if chip and target.suffix == "f" else (target.sm,)
            for sm in family:
                if sm >= target.sm:
                    found.setdefault(sm, target)
        return dict(sorted(found.items()))

    def names(self) -> str:
        """As build systems write them."""
        plain = [target.name for target in self.targets]
        return ", ".join([*plain, *(f"compute_{target.sm}{target.suffix}" for target in self.ptx)])


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One thing that does not agree."""

    rule: str
    level: str
    architecture: str  # sm_120; "" = all of them
    path: str
    line: int
    message: str


def declared(text: str, by: str, catalog: Catalog) -> Declared:
    """The set that a list says: sm_80, 9.0a, 120f-real, compute_90, 9.0+PTX; UserError for what is none."""
    targets: dict[Target, None] = {}
    ptx: dict[Target, None] = {}
    words = [word for word in text.replace(";", ",").replace(" ", ",").split(",") if word]
    for word in words:
        images = entry_images(word, catalog)
        if not images:
            raise UserError(f'{by}: "{word}" is no architecture', "write sm_80, 9.0a, 120f, compute_90 or 9.0+PTX")
        explicit = word.lower().startswith("compute_") or word.lower().endswith(("-virtual", "+ptx"))
        for image in images:
            if not image.ptx:
                targets[image.target] = None
            elif explicit:  # CMake's plain 90 means both; here it is a GPU
                ptx[image.target] = None
    if not targets and not ptx:
        raise UserError(f"{by}: no architecture is declared", "write --declared sm_80,sm_90a")
    return Declared(tuple(targets), tuple(ptx), by)
