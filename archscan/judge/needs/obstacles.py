"""Finds why the target cannot run what an arm holds: instructions, a resource, or images of other chips."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST, Branch
from archscan.judge.needs.features import COMPILED, Need, needs_when_taken
from archscan.judge.needs.images import image_files, loaded
from archscan.judge.needs.limits import OPT_IN, Overrun, limit, lumped, source
from archscan.judge.needs.notes import arm_note, images, shared_bytes
from archscan.judge.project import Project
from archscan.model.gate import Gate, Kind
from archscan.model.target import Selection


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why the target cannot run what a branch holds: instructions, a resource, or images of other chips."""

    needs: tuple[Need, ...] = ()  # not assembled
    overrun: Overrun | None = None
    images: tuple[str, ...] = ()
    variants: int = 0  # variants that are let in and cannot
    fits: int = 0  # variants of the same chip that could


class Obstacles:
    """What stands in the way of the target in each branch of a gate."""

    def __init__(self, gate: Gate, project: Project, selection: Selection, catalog: Catalog) -> None:
        self.gate = gate
        self.ways = project.ways(gate)
        self.project = project
        self.selection = selection
        self.catalog = catalog
        self._known: dict[int, Obstacle | None] = {}

    def can_run(self, branch: Branch) -> bool:
        """Whether some variant of the target that takes the branch can run what it holds."""
        obstacle = self.of(branch)
        return obstacle is None or bool(branch.yes & self.selection.mask & ~obstacle.variants)

    def of(self, branch: Branch) -> Obstacle | None:
        """What keeps the target from running an arm that it takes; None where nothing does."""
        if branch.arm not in self._known:
            self._known[branch.arm] = self._found(branch, branch.yes & self.selection.mask)
        return self._known[branch.arm]

    def _found(self, branch: Branch, taken: int) -> Obstacle | None:
        if branch.arm == REST:
            return self._unassembled(branch, taken)
        return (
            self._too_large(branch, taken)
            or self._lumped(branch, taken)
            or self._foreign(branch, taken)
            or (self._unassembled(branch, taken) if self._asks(branch) else None)
        )

    def _asks(self, branch: Branch) -> bool:
        """Whether the branch is known to ask for the target: what an unknown macro lets in is a guess."""
        own = self.gate.arms[branch.arm].own
        return not branch.conditional or own.unknown(self.catalog.universe.device) != self.catalog.universe.device

    def _unassembled(self, branch: Branch, taken: int) -> Obstacle | None:
        arm = self.gate.arms[branch.arm] if branch.arm != REST else None
        if arm_note(self.gate, branch.arm, "named") is not None:
            return None
        uses = arm.features if arm is not None else self.gate.rest_features
        known = [self.catalog.features[u.feature].mask for u in uses if u.feature in self.catalog.features]
        if all(taken & mask == taken for mask in known):
            return None
        universe = self.catalog.universe
        failing: dict[int, tuple[Need, ...]] = {}
        for variant in universe.members(taken):
            bit = universe.bit(variant)
            needs = needs_when_taken(self.gate, arm, bit, self.project, self.catalog)
            if absent := needs.absent():
                failing[bit] = absent
        variants = sum(failing)
        if not failing or (self.gate.layer not in COMPILED and taken & ~variants):
            return None  # outside compiled code the build picks the variant
        return Obstacle(needs=_common(failing.values()), variants=variants, fits=taken & ~variants)

    def _too_large(self, branch: Branch, taken: int) -> Obstacle | None:
        needed = shared_bytes(self.gate, branch.arm)
        cap = limit(self.catalog, self.selection.sm, OPT_IN)
        if needed is None or cap is None or needed <= cap:
            return None
        where = source(self.catalog, self.selection.sm, OPT_IN)
        return Obstacle(overrun=Overrun(OPT_IN, needed, cap, taken, 0, where), variants=taken)

    def _lumped(self, branch: Branch, taken: int) -> Obstacle | None:
        """A choice of sizes that puts the target with chips of more shared memory, and has an arm for those like it."""
        if self.gate.layer in COMPILED or shared_bytes(self.gate, branch.arm) is not None:
            return None
        found = lumped(branch, self.ways, self.selection, self.catalog)
        return Obstacle(overrun=found, variants=taken) if found is not None else None

    def _foreign(self, branch: Branch, taken: int) -> Obstacle | None:
        if self.gate.kind is Kind.BUILD_LIST:
            return None  # it makes those images, and says nothing of who loads them
        known = images(self.gate, branch.arm) or image_files(self.gate.arms[branch.arm].effect.value or "")
        admitted = self.catalog.universe.sms(branch.yes)
        if not any(i.sm in admitted for i in known) or loaded(known, self.selection, self.catalog):
            return None
        return Obstacle(images=tuple(i.name for i in known), variants=taken)


def _common(failing: Iterable[tuple[Need, ...]]) -> tuple[Need, ...]:
    """What all failing variants lack; where they lack different things, what the first lacks."""
    lists = list(failing)
    everywhere = frozenset.intersection(*(frozenset(n.feature.id for n in needs) for needs in lists))
    return tuple(n for n in lists[0] if n.feature.id in everywhere) or lists[0]
