"""Kernels that do nothing, or trap, on the image that the target gets, and work on one of its contemporaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from archscan.binary.names import plain
from archscan.binary.sass import CODE, TRAP
from archscan.judge.binaries.loaded import Loaded
from archscan.judge.binaries.reading import HOLLOW, SUSPECT
from archscan.model.library import CUBIN, PTX, Image, Kernels


@dataclass(frozen=True, slots=True)
class Idle:
    """A kernel that does nothing for the target."""

    name: str  # mangled
    nature: str
    image: Image  # that the target gets
    works: tuple[Image, ...]  # that do something
    alike: int = 0  # instantiations of the same template that do something on the target


@dataclass(frozen=True, slots=True)
class KernelCount:
    """What the kernels that the target gets come to."""

    hollow: tuple[Idle, ...]
    traps: tuple[Idle, ...]
    count: tuple[tuple[str, int], ...]  # code, hollow, trap, absent
    unread: tuple[str, ...]  # reasons why kernels of the target's images could not be read

    @property
    def by_jit(self) -> tuple[Idle, ...]:
        """Those that are hollow in PTX: compiled at first use, into nothing."""
        return tuple(idle for idle in self.hollow if idle.image.kind == PTX)


def kernels_of(view: Loaded, known: Mapping[tuple[str, int], Kernels]) -> KernelCount:
    """The kernels of a library for the target; `known` are those that were read."""
    count: Counter[str] = Counter({"code": 0, "hollow": 0, "trap": 0, "absent": 0})
    idle: list[Idle] = []
    working: list[str] = []
    unread: dict[str, None] = {}
    here: set[str] = set()
    elsewhere: set[str] = set()
    for module, image in view.read:
        found = known.get((view.library.path, image.span.start))
        if found is None or found.failed:
            unread.update(dict.fromkeys([found.failed] if found else []))
            continue
        peers = [
            (peer, dict(kernels.natures))
            for peer in view.contemporaries(module, image)
            if (kernels := known.get((view.library.path, peer.span.start))) and not kernels.failed
        ]
        # PTX says less of what runs than machine code: it is a witness where there is none
        peers = [pair for pair in peers if pair[0].kind == CUBIN] or peers
        for name, nature in found.natures:
            here.add(name)
            works = tuple(peer for peer, natures in peers if natures.get(name) == CODE)
            if nature in SUSPECT and works:
                idle.append(Idle(name, nature, image, works))
                count["hollow" if nature in HOLLOW else "trap"] += 1
            elif nature == CODE:
                count["code"] += 1
                working.append(name)
        elsewhere.update(name for _, natures in peers for name, nature in natures.items() if nature == CODE)
    count["absent"] = len(elsewhere - here)
    if idle:
        alike = Counter(plain(name) for name in working)
        idle = [replace(one, alike=alike[plain(one.name)]) for one in idle]
    return KernelCount(
        tuple(one for one in idle if one.nature in HOLLOW),
        tuple(one for one in idle if one.nature == TRAP),
        tuple(count.items()),
        tuple(unread),
    )
