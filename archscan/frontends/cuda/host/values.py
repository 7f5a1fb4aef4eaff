"""Values of C++ expressions as a function of the target: partitions of the universe, and three-valued truths."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from archscan.model.condition import (
    EVERY,
    Atom,
    Cond,
    asked,
    blamed,
    both,
    either,
    possibly,
    restricted,
    surely,
    widest,
    without,
)
from archscan.model.gate import Place
from archscan.model.target import Universe
from archscan.model.truth import Truth


@dataclass(frozen=True, slots=True)
class Capability:
    """The capability of the GPU in an encoding that is not known yet: 12, 120 or 1200 for sm 120."""

    sm: int


@dataclass(frozen=True, slots=True)
class Enumerator:
    """A member of an enumeration that numbers its members itself."""

    enumeration: str
    position: int


Payload = int | Capability | Enumerator | tuple["Payload", ...] | str  # a str is a named constant of unknown value


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A definition that a value was taken from."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list or table of capabilities that a value was looked up in."""

    path: str
    place: Place
    text: str
    admitted: int = 0  # the targets found in it; 0 = not looked up


@dataclass(frozen=True, slots=True)
class Basis:
    """What a value rests on."""

    unknowns: frozenset[str] = frozenset()  # what left targets without an answer
    assumes: frozenset[str] = frozenset()  # conditions taken as met
    origins: frozenset[Origin] = frozenset()
    arch: bool = False  # depends on the architecture
    listings: frozenset[Listing] = frozenset()
    compiled: bool = False  # on `__CUDA_ARCH__`: a number chosen by it selects code as it does itself

    def __or__(self, other: Basis) -> Basis:
        return Basis(
            self.unknowns | other.unknowns,
            self.assumes | other.assumes,
            self.origins | other.origins,
            self.arch or other.arch,
            self.listings | other.listings,
            self.compiled or other.compiled,
        )


NO_BASIS = Basis()


@dataclass(frozen=True, slots=True)
class Value:
    """One payload per target and world; targets in no case are unknown, those in `soft` rest on `basis.assumes`."""

    cases: tuple[tuple[Payload, Cond], ...]
    soft: int = 0
    basis: Basis = NO_BASIS

    @property
    def covered(self) -> int:
        """The targets for which it is one of the cases, whatever the unknowns are."""
        found: Cond = 0
        for _, part in self.cases:
            found = either(found, part)
        return surely(found)

    def based(self, basis: Basis) -> Value:
        """This value resting on `basis` as well."""
        return Value(self.cases, self.soft, self.basis | basis)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Truth of a condition, once as it is and once with what does not depend on the architecture taken as met."""

    truth: Truth
    assumed: Truth
    basis: Basis = NO_BASIS

    def __and__(self, other: Verdict) -> Verdict:
        return Verdict(self.truth & other.truth, self.assumed & other.assumed, self.basis | other.basis)

    def __or__(self, other: Verdict) -> Verdict:
        return Verdict(self.truth | other.truth, self.assumed | other.assumed, self.basis | other.basis)

    def __invert__(self) -> Verdict:
        return Verdict(~self.truth, ~self.assumed, self.basis)


def unknown(*names: str, arch: bool = False) -> Value:
    """A value that nothing is known of, because of `names`."""
    return Value((), 0, Basis(frozenset(names), arch=arch))


def constant(payload: Payload, mask: int) -> Value:
    """The same value on every target of `mask`."""
    return Value(((payload, mask),))


def merged(parts: Iterable[tuple[Payload, Cond]]) -> tuple[tuple[Payload, Cond], ...]:
    """Cases with equal payloads joined (1 and True are equal, as in C++)."""
    found: dict[Payload, Cond] = {}
    for payload, cond in parts:
        if cond != 0:
            found[payload] = either(found.get(payload, 0), cond)
    return tuple(found.items())


def mapped(value: Value, function: Callable[[Payload], Payload | None]) -> Value:
    """The function of each payload; None = unknown there."""
    parts = [(function(p), m) for p, m in value.cases]
    return Value(merged((p, m) for p, m in parts if p is not None), value.soft, value.basis)


def within(value: Value, mask: int) -> Value:
    """The value on some targets only."""
    return Value(merged((p, both(m, mask)) for p, m in value.cases), value.soft & mask, value.basis)


def paired(left: Value, right: Value, function: Callable[[Payload, Payload], Payload | None]) -> Value:
    """The function of both payloads, target by target; None = unknown there."""
    parts: list[tuple[Payload, Cond]] = []
    for a, mask in left.cases:
        for b, other in right.cases:
            where = both(mask, other)
            if where != 0 and (payload := function(a, b)) is not None:
                parts.append((payload, where))
    return Value(merged(parts), left.soft | right.soft, left.basis | right.basis)


def selected(condition: Verdict, yes: Value, no: Value) -> Value:
    """`condition ? yes : no`; where the condition is unknown, only what both sides agree on."""
    parts = [(p, both(m, condition.assumed.yes)) for p, m in yes.cases]
    parts += [(p, both(m, condition.assumed.no)) for p, m in no.cases]
    known = condition.assumed.yes | condition.assumed.no
    agreed = paired(yes, no, lambda a, b: a if a == b else None)
    parts += [(p, without(m, known)) for p, m in agreed.cases]
    soft = (yes.soft & ~condition.truth.no) | (no.soft & ~condition.truth.yes)
    soft |= known & ~(condition.truth.yes | condition.truth.no)
    return Value(merged(parts), soft, condition.basis | yes.basis | no.basis)


def either_of(test: Atom, yes: Value, no: Value) -> Value:
    """`test ? yes : no` where nobody knows what the test comes to, but that it is the same for all targets."""
    parts = [(p, both(m, asked(test, EVERY))) for p, m in yes.cases]
    parts += [(p, without(m, asked(test, EVERY))) for p, m in no.cases]
    return Value(merged(parts), yes.soft | no.soft, yes.basis | no.basis)


def verdict_of(value: Value) -> Verdict:
    """The truth of a value used as a condition."""
    yes: Cond = 0
    no: Cond = 0
    for payload, cond in value.cases:
        match payload:
            case int():
                yes, no = (either(yes, cond), no) if payload else (yes, either(no, cond))
            case Capability() | tuple():
                yes = either(yes, cond)
    if isinstance(yes, int) and isinstance(no, int):
        assumed = Truth(yes, no)
        return Verdict(assumed.only(~value.soft), assumed, value.basis)
    device, world = possibly(either(yes, no)), widest(yes)
    assumed = Truth(surely(restricted(yes, world)), surely(restricted(no, world)))
    names = {b.name for cond in (yes, no) for b in blamed(cond, device)}
    told = {a.names[0] if holds else f"!({a.names[0]})" for a, holds in world.items() if names.intersection(a.names)}
    basis = value.basis | Basis(frozenset(names), frozenset(told))
    return Verdict(Truth(surely(yes), surely(no)).only(~value.soft), assumed, basis)


def value_of(verdict: Verdict) -> Value:
    """A truth as a value: 1 where yes, 0 where no."""
    cases = tuple((p, m) for p, m in ((1, verdict.assumed.yes), (0, verdict.assumed.no)) if m)
    settled = verdict.truth.yes | verdict.truth.no
    return Value(cases, (verdict.assumed.yes | verdict.assumed.no) & ~settled, verdict.basis)


def capability(universe: Universe) -> Value:
    """The GPU's capability; a suffix variant is its SM, the host pass has none and stays unknown."""
    return Value(_by_target(universe, Capability), 0, Basis(arch=True))


def holds(listed: Payload, item: Payload) -> bool | None:
    """Whether a list of capabilities, or of rows that begin with one, has the item; None if it is no such list."""
    if not isinstance(listed, tuple) or not listed:
        return None
    found = False
    for entry in listed:
        key = entry[0] if isinstance(entry, tuple) and entry else entry
        equal = _compared("==", item, key)
        if equal is None:
            return None
        found = found or bool(equal)
    return found


def major(universe: Universe) -> Value:
    return Value(_by_target(universe, lambda sm: sm // 10), 0, Basis(arch=True))


def minor(universe: Universe) -> Value:
    return Value(_by_target(universe, lambda sm: sm % 10), 0, Basis(arch=True))


def arch_macro(universe: Universe) -> Value:
    """`__CUDA_ARCH__` in device code; the host pass stays unknown."""
    return Value(_by_target(universe, lambda sm: sm * 10), 0, Basis(arch=True, compiled=True))


def _by_target(universe: Universe, function: Callable[[int], Payload]) -> tuple[tuple[Payload, Cond], ...]:
    return merged((function(t.sm), universe.bit(t)) for t in universe.targets if not t.is_host)


def encoded(sm: int, number: int) -> int | None:
    """The capability in the encoding that a constant is written in: 9 -> major, 90 -> SM, 900 -> `__CUDA_ARCH__`.

    None if no encoding fits: then the name was no capability after all (a count of SMs, an index).
    """
    if number <= 0:
        return sm
    if 5 <= number <= 19:
        return sm // 10
    if 30 <= number <= 139:
        return sm
    if 300 <= number <= 1399 or number >= 1 << 20:  # other vendors' values start far above (llama.cpp)
        return sm * 10
    return None


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def operate(name: str, left: Value, right: Value) -> Value | None:
    """`left name right` for comparisons and arithmetic; None if the operator is not known."""
    if name in _COMPARE:
        return paired(left, right, lambda a, b: _compared(name, a, b))
    if name in _ARITHMETIC or name in ("/", "%", "<<", ">>"):
        return paired(left, right, lambda a, b: _computed(name, a, b))
    return None


@lru_cache(maxsize=4)
def spellings(universe: Universe) -> dict[int, int]:
    """For each number, the targets whose capability is written so: 12, 120, 1200 or the minor of 12.0."""
    found: dict[int, int] = {}
    for target in universe.targets:
        if not target.is_host:
            for number in {target.sm, target.sm // 10, target.sm * 10, target.sm % 10}:
                found[number] = found.get(number, 0) | universe.bit(target)
    return found


def floors(universe: Universe) -> dict[int, int]:
    """For the number of each SM, the targets at or above it."""
    device = [t for t in universe.targets if not t.is_host]
    return {sm: universe.mask(t for t in device if t.sm >= sm) for sm in {t.sm for t in device}}


def is_rounded(value: Value, known: Mapping[int, int]) -> bool:
    """Whether a value is the capability rounded down to one of several: 80 for 8.6, 90 for 12.0.

    The lowest of them may stand for all below it.
    """
    numbers = [payload for payload, _ in value.cases if isinstance(payload, int) and payload in known]
    if len(numbers) < max(len(value.cases), 2):
        return False
    return all(p == min(numbers) or not possibly(m) & ~known[p] for p, m in value.cases if isinstance(p, int))


def is_capability(value: Value, known: Mapping[int, int]) -> bool:
    """Whether a value is the GPU's capability in some spelling, not a number that was chosen by it (tile, cluster)."""
    alike = whole = 0
    for payload, cond in value.cases:
        mask = possibly(cond)
        whole += mask.bit_count()
        if isinstance(payload, int):
            alike += (mask & known.get(payload, 0)).bit_count()
        elif not isinstance(payload, str | Enumerator):
            alike += mask.bit_count()
    return alike * 2 >= whole


def _compared(name: str, left: Payload, right: Payload) -> Payload | None:
    compare = _COMPARE[name]
    equality = name in ("==", "!=")
    match left, right:
        case Capability(), int():
            own = None if equality and right <= 4 else encoded(left.sm, right)
            return None if own is None else int(compare(own, right))
        case int(), Capability():
            own = None if equality and left <= 4 else encoded(right.sm, left)
            return None if own is None else int(compare(left, own))
        case Capability(), Capability():
            return int(compare(left.sm, right.sm))
        case int(), int():
            return int(compare(left, right))
        case Capability(), tuple() if len(right) == 2:  # cc >= compute_capability{8, 0}
            return _compared(name, divmod(left.sm, 10), right)
        case tuple(), Capability() if len(left) == 2:
            return _compared(name, left, divmod(right.sm, 10))
        case Enumerator(), Enumerator() if left.enumeration == right.enumeration:
            return int(compare(left.position, right.position))
        case tuple(), tuple() if all(isinstance(p, int) for p in (*left, *right)):
            return int(compare(left, right))  # type: ignore[arg-type]
        case str(), str() if left == right:
            return int(name in ("==", "<=", ">="))
    return None


def extreme(comparison: str, left: Payload, right: Payload) -> Payload | None:
    """The smaller (`<=`) or greater (`>=`) of two values, a capability in the encoding of the number it meets."""
    if isinstance(left, Capability) and isinstance(right, int):
        left = encoded(left.sm, right)  # type: ignore[assignment]
    if isinstance(right, Capability) and isinstance(left, int):
        right = encoded(right.sm, left)  # type: ignore[assignment]
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    return left if _COMPARE[comparison](left, right) else right


def _computed(name: str, left: Payload, right: Payload) -> Payload | None:
    if isinstance(left, Capability) and isinstance(right, int):
        return _of_capability(name, left.sm, right)
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    if name in ("/", "%"):
        return None if right == 0 else (left // right if name == "/" else left % right)
    if name in ("<<", ">>"):
        return None if not 0 <= right < 64 else (left << right if name == "<<" else left >> right)
    return _ARITHMETIC[name](left, right)


def _of_capability(name: str, sm: int, number: int) -> Payload | None:
    """Arithmetic on a capability: the divisor tells the encoding (sm / 10, arch / 100)."""
    match name, number:
        case ("/", 10) | ("/", 100):
            return sm // 10
        case ("%", 10):
            return sm % 10
        case ("*", 10):
            return sm * 10
        case ("%", 100):
            return sm % 10 * 10
        case (("+" | "-" | "|"), 0):
            return Capability(sm)
    return None
