"""Finds why the target cannot run what an arm holds: instructions, a resource, or images of other chips."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST, Branch
from archscan.judge.needs.features import COMPILED, Need, needs_when_taken
from archscan.judge.needs.images import loaded, named_images
from archscan.judge.needs.limits import OPT_IN, Overrun, limit, lumped, source
from archscan.judge.needs.notes import images, shared_bytes
from archscan.judge.project import Project
from archscan.judge.words import chips_named, words
from archscan.model.gate import Gate, Kind, Layer
from archscan.model.target import Selection, Target


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
        uses = arm.features if arm is not None else self.gate.rest_features
        known = [self.catalog.features[u.feature].mask for u in uses if u.feature in self.catalog.features]
        if all(taken & mask == taken for mask in known):
            return None
        universe = self.catalog.universe
        failing: dict[int, tuple[Need, ...]] = {}
        for variant in universe.members(taken):
            bit = universe.bit(variant)
            needs = needs_when_taken(self.gate, arm, bit, self.project, self.catalog)
            absent = needs.absent() if self._trusts_words(branch) else tuple(n for n in needs.sure if not n.has)
            if absent:
                failing[bit] = absent
        variants = sum(failing)
        if not failing or (self.gate.layer not in COMPILED and taken & ~variants):
            return None  # outside compiled code the build picks the variant
        return Obstacle(needs=_common(failing.values()), variants=variants, fits=taken & ~variants)

    def _trusts_words(self, branch: Branch) -> bool:
        """Words in the arm itself count where no code is there to look at, and the bound is open upwards.

        Whoever names the target's own major means it: words beside that tell of the other chips.
        """
        if (
            branch.arm == REST
            or self.gate.layer in COMPILED
            or (self.gate.layer is Layer.HOST and self.gate.kind is Kind.CHECK)
        ):
            return False
        inside = self.catalog.universe.sms(branch.own or branch.yes)
        every = self.catalog.universe.sms(self.catalog.universe.device)
        first = min(inside, default=0)
        return first // 10 < self.selection.major and all(sm in inside for sm in every if sm >= first)

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
        if found is None or not words(self.gate).tuning:
            return None
        return Obstacle(overrun=found, variants=taken)

    def _foreign(self, branch: Branch, taken: int) -> Obstacle | None:
        known = images(self.gate, branch.arm) or self._called(branch)
        admitted = self.catalog.universe.sms(branch.yes)
        if not any(i.sm in admitted for i in known) or loaded(known, self.selection, self.catalog):
            return None
        return Obstacle(images=tuple(i.name for i in known), variants=taken)

    def _called(self, branch: Branch) -> tuple[Target, ...]:
        """The one chip or family that a called function or named file is compiled for: `launch_sm100a`, `sm120a.cubin`.

        Whoever names the target in the condition means it.
        """
        arm = self.gate.arms[branch.arm]
        own = self.selection.sm
        majors = {sm // 10 for sm in chips_named(arm.condition, self.catalog)}
        named = own // 10 in majors or re.search(rf"\b{own}\b", arm.condition)
        if self.gate.layer not in (Layer.HOST, Layer.PYTHON) or named:
            return ()
        value = arm.effect.value or ""
        named_file = (value,) if self.gate.layer is Layer.HOST and value.startswith('"') else ()
        return named_images(" ".join((*arm.calls, *named_file)))


def _common(failing: Iterable[tuple[Need, ...]]) -> tuple[Need, ...]:
    """What all failing variants lack; where they lack different things, what the first lacks."""
    lists = list(failing)
    everywhere = frozenset.intersection(*(frozenset(n.feature.id for n in needs) for needs in lists))
    return tuple(n for n in lists[0] if n.feature.id in everywhere) or lists[0]
