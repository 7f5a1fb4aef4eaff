"""Which targets a fix opens or closes, and how that set is said in each language of conditions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archscan.model.target import Selection, Target, Universe


class Reach(str, Enum):
    """How far an edit may go."""

    EXACT = "exact"  # the target alone
    FAMILY = "family"  # its bounded family
    WIDEN = "widen"  # drop the bound (--widen only)


@dataclass(frozen=True, slots=True)
class Admission:
    """The set of targets whose verdict may flip, and nothing else may."""

    universe: Universe
    mask: int
    reach: Reach

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.universe.members(self.mask)

    @property
    def sms(self) -> tuple[int, ...]:
        """The SMs in the set, ascending."""
        return tuple(sorted({target.sm for target in self.targets}))

    @property
    def majors(self) -> tuple[int, ...]:
        return tuple(sorted({sm // 10 for sm in self.sms}))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(target.name for target in self.targets)


def admission(universe: Universe, selection: Selection, reach: Reach, usable: int | None = None) -> Admission:
    """The set that a fix for `selection` opens; `usable` leaves out variants that cannot assemble the guarded code."""
    sms = (selection.sm,) if reach is Reach.EXACT else selection.family
    suffix = {t.suffix for t in selection.variants} if selection.exact else None
    mask = 0
    for sm in sms:
        for target in universe.variants(sm):
            if suffix is None or target.suffix in suffix:
                mask |= universe.bit(target)
    if usable is not None:
        mask &= usable
    return Admission(universe, mask, reach)


def preprocessor_test(universe: Universe, mask: int) -> str | None:
    """A preprocessor expression that is true on exactly `mask`, or None if there is no short one.

    What each suffix defines is measured (rules/facts/macros.yaml): `a` defines SPECIFIC and FAMILY_SPECIFIC,
    `f` FAMILY_SPECIFIC only, plain neither; an undefined name counts as 0.
    """
    sms = sorted({target.sm for target in universe.members(mask)})
    terms = [_one_sm(universe, mask, sm) for sm in sms]
    if not terms or None in terms:
        return None
    if len(sms) > 1 and _is_whole_decade(universe, mask, sms):
        low = sms[0] // 10 * 100
        return f"(__CUDA_ARCH__ >= {low} && __CUDA_ARCH__ < {low + 100})"
    joined = " || ".join(term for term in terms if term)
    return f"({joined})" if len(terms) > 1 else joined


def _one_sm(universe: Universe, mask: int, sm: int) -> str | None:
    has = {target.suffix for target in universe.members(mask) if target.sm == sm}
    possible = {target.suffix for target in universe.variants(sm)}
    if has == possible:
        return f"__CUDA_ARCH__ == {sm * 10}"
    if has == possible & {"a", "f"}:
        return f"__CUDA_ARCH_FAMILY_SPECIFIC__ == {sm * 10}"
    if has == {"a"}:
        return f"__CUDA_ARCH_SPECIFIC__ == {sm * 10}"
    if has == {""}:
        return f"(__CUDA_ARCH__ == {sm * 10} && !defined(__CUDA_ARCH_FAMILY_SPECIFIC__))"
    return None


def _is_whole_decade(universe: Universe, mask: int, sms: list[int]) -> bool:
    low = sms[0] // 10 * 10
    decade = [target for target in universe.targets if low <= target.sm < low + 10]
    return mask == universe.mask(decade)
