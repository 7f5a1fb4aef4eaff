"""What code is compiled for: a target, the finite universe of targets, and the user's choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One compile target: `sm_120`, `sm_120a`, `sm_120f`, or the host pass (sm 0)."""

    sm: int
    suffix: str = ""

    @property
    def name(self) -> str:
        """The nvcc spelling (`sm_120a`), or `host`."""
        return f"sm_{self.sm}{self.suffix}" if self.sm else "host"

    @property
    def is_host(self) -> bool:
        return self.sm == 0

    @property
    def major(self) -> int:
        """Major compute capability: 12 for sm_120."""
        return self.sm // 10

    @property
    def minor(self) -> int:
        return self.sm % 10

    @property
    def arch(self) -> int:
        """The value of `__CUDA_ARCH__`: 1200 for sm_120, 0 in the host pass (where it is undefined)."""
        return self.sm * 10


HOST = Target(0)


@dataclass(frozen=True)
class Universe:
    """Every target a gate is evaluated for, in a fixed order; bit i of a mask stands for targets[i]."""

    targets: tuple[Target, ...]

    def __hash__(self) -> int:
        """Cheap: a run has one universe, and what is remembered of it is looked up all the time."""
        return len(self.targets)

    @cached_property
    def index(self) -> dict[Target, int]:
        return {target: i for i, target in enumerate(self.targets)}

    @cached_property
    def by_name(self) -> dict[str, Target]:
        return {target.name: target for target in self.targets}

    @cached_property
    def all(self) -> int:
        """The mask of every target, host pass included."""
        return (1 << len(self.targets)) - 1

    @cached_property
    def host(self) -> int:
        """The mask of the host pass."""
        return 1 << self.index[HOST]

    @cached_property
    def device(self) -> int:
        """The mask of every device target."""
        return self.all & ~self.host

    def bit(self, target: Target) -> int:
        """The mask of one target; KeyError if it is not in the universe."""
        return 1 << self.index[target]

    def mask(self, targets: object) -> int:
        """The mask of several targets; KeyError if one is not in the universe."""
        result = 0
        for target in targets:  # type: ignore[attr-defined]
            result |= self.bit(target)
        return result

    def members(self, mask: int) -> tuple[Target, ...]:
        """The targets of a mask, in universe order."""
        return tuple(t for i, t in enumerate(self.targets) if mask >> i & 1)

    def names(self, mask: int) -> tuple[str, ...]:
        found = self._names.get(mask)
        if found is None:
            found = self._names[mask] = tuple(t.name for t in self.members(mask))
        return found

    def sms(self, mask: int) -> frozenset[int]:
        """The SMs of a mask, whichever of their variants is in it."""
        found = self._sms.get(mask)
        if found is None:
            found = self._sms[mask] = frozenset(t.sm for t in self.members(mask & self.device))
        return found

    @cached_property
    def _sms(self) -> dict[int, frozenset[int]]:
        """The answers of `sms` so far: a judgement asks a hundred thousand times for a few hundred masks."""
        return {}

    @cached_property
    def _names(self) -> dict[int, tuple[str, ...]]:
        """The answers of `names` so far."""
        return {}

    def variants(self, sm: int) -> tuple[Target, ...]:
        """Every target that one GPU can run: plain, `a` and `f` of that SM."""
        return tuple(t for t in self.targets if t.sm == sm and not t.is_host)


@dataclass(frozen=True, slots=True)
class Selection:
    """The user's target: which variants count, and the peers they are judged against (masks)."""

    name: str  # "sm_120" for the GPU, "sm_120a" when the suffix was given
    sm: int
    variants: tuple[Target, ...]
    exact: bool  # an explicit suffix was given: only that variant counts
    mask: int  # of the variants
    peers: int  # every other device target from sm_80 up, or what --against named
    contemporaries: int  # sm_90 up for a major of 9 or more, else sm_80 up
    family: tuple[int, ...]  # SMs of the family, the target's included: (120, 121)

    @property
    def major(self) -> int:
        return self.sm // 10
