"""What the code behind a branch uses, and how far the target can assemble and run it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archscan.catalog.types import Catalog, Feature
from archscan.judge.project import Project
from archscan.model.gate import Arm, FeatureUse, Gate, Layer
from archscan.model.target import Selection

COMPILED = frozenset({Layer.PREPROCESSOR, Layer.DEVICE})  # layers where the very compile target decides


@dataclass(frozen=True, slots=True)
class Need:
    """A feature that the code behind a branch uses, with what the target makes of it."""

    feature: Feature
    use: FeatureUse
    path: str  # where the use stands
    has: int  # variants of the target that assemble it
    lowering: str  # "" = native; else emulated, driver_call, internal_routine, expanded

    @property
    def sure(self) -> bool:
        """Whether code says so, not only a comment or a name."""
        return self.use.confidence == "high"


@dataclass(frozen=True, slots=True)
class Needs:
    """Everything a branch needs, code before words."""

    items: tuple[Need, ...] = ()

    @property
    def sure(self) -> tuple[Need, ...]:
        return tuple(n for n in self.items if n.sure)

    @property
    def weighty(self) -> tuple[Need, ...]:
        """What to judge by: code alone, words are quoted at most."""
        return self.sure

    def absent(self) -> tuple[Need, ...]:
        """What no variant of the target assembles."""
        return tuple(n for n in self.weighty if not n.has)

    def partial(self, mask: int) -> tuple[Need, ...]:
        """What some variants of `mask` assemble and others do not."""
        return tuple(n for n in self.weighty if n.has and n.has & mask != mask)

    def slow(self) -> tuple[Need, ...]:
        """What assembles but is no instruction of the chip; a few instructions for one are no loss."""
        return tuple(n for n in self.weighty if n.has and n.lowering not in ("", "expanded"))

    def groups(self) -> tuple[str, ...]:
        """The names shown to users, code before words."""
        ordered = (*self.sure, *(n for n in self.items if not n.sure))
        return tuple(dict.fromkeys(n.feature.group for n in ordered))

    def ids(self) -> frozenset[str]:
        """Ids and groups, to match evidence with."""
        return frozenset(x for n in self.weighty for x in (n.feature.id, n.feature.group))


NOTHING_NEEDED = Needs()


def needs_to_open(
    gate: Gate, arm: Arm | None, asked: Iterable[str], project: Project, selection: Selection, catalog: Catalog
) -> Needs:
    """What the target would have to run if the arm (None: the rest) were opened for it.

    Uses in nested arms whose own condition still shuts the target out do not count. `asked` are device
    features that host code decides about.
    """
    words = [FeatureUse(name, gate.place.line, confidence="low") for name in asked]
    behind = arm.features if arm is not None else gate.rest_features
    if not words and not behind:
        return NOTHING_NEEDED
    uses = [u for u in behind if _stays_behind(u, gate, arm, project, selection)]
    uses = [u for u in uses if _is_in_reach(u, gate, project)]
    return _needs([*uses, *words], gate.path, selection.mask, catalog)


def needs_when_taken(gate: Gate, arm: Arm | None, variant: int, project: Project, catalog: Catalog) -> Needs:
    """What the arm (None: the rest) itself makes one variant (a bit) run: uses in a nested gate are that gate's."""
    behind = arm.features if arm is not None else gate.rest_features
    uses = [u for u in behind if _is_own(u, gate, arm, project) and _is_in_reach(u, gate, project)]
    return _needs(uses, gate.path, variant, catalog)


def _needs(uses: list[FeatureUse], path: str, mask: int, catalog: Catalog) -> Needs:
    seen: dict[tuple[str, bool], Need] = {}
    for use in uses:
        feature = catalog.features.get(use.feature)
        if feature is None:
            continue
        key = (feature.id, use.confidence == "high")
        if key not in seen:
            seen[key] = Need(feature, use, use.path or path, feature.mask & mask, _lowering(feature, mask))
    return Needs(tuple(sorted(seen.values(), key=lambda n: (not n.sure, n.use.line, n.feature.id))))


def _lowering(feature: Feature, mask: int) -> str:
    """The lowering that every variant of `mask` which assembles the feature gets, or an empty text."""
    for name, where in feature.lowering:
        if feature.mask & mask and not feature.mask & mask & ~where:
            return name
    return ""


def _is_in_reach(use: FeatureUse, gate: Gate, project: Project) -> bool:
    """Whether the gate's file includes the file of the use: else only a name is the same."""
    return not use.path or use.path == gate.path or project.includes(gate.path, use.path)


def _stays_behind(use: FeatureUse, gate: Gate, arm: Arm | None, project: Project, selection: Selection) -> bool:
    if use.confidence != "high":
        return True
    owner = project.owner(use.path or gate.path, use.line)
    if owner is None or owner[1] is arm:
        return True
    nested = owner[1]
    return not _holds(gate, arm, owner[0], nested) or bool(selection.mask & ~nested.own.no)


def _holds(gate: Gate, arm: Arm | None, inner: Gate, nested: Arm) -> bool:
    """Whether the nested arm is another gate's (an arm of the same ladder is no obstacle of its own)."""
    return inner is not gate or nested is not arm


def _is_own(use: FeatureUse, gate: Gate, arm: Arm | None, project: Project) -> bool:
    owner = project.owner(use.path or gate.path, use.line)
    if owner is None:
        return True
    if arm is None:  # what is around the gate is around its rest as well
        return project.owner(gate.path, gate.place.line) == owner
    return owner[1] is arm
