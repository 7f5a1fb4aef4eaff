"""Values of C++ expressions and truths of conditions, as functions of the target and of what is not known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from archscan.analysis.encodings import compared_with
from archscan.model.condition import (
    Atom,
    AtomKind,
    Cond,
    asked,
    atom,
    blamed,
    both,
    either,
    possibly,
    renamed,
    restricted,
    surely,
    truth,
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


class Assumption(NamedTuple):
    """What is supposed of an unknown, and whether a reader is told: not that an arm above was passed by."""

    atom: Atom
    holds: bool
    told: bool = True

    @property
    def text(self) -> str:
        """What is supposed, as it is told."""
        text = _shortened(self.atom.name) if self.atom.place is not None else self.atom.names[0]
        return text if self.holds or self.atom.kind == "flag" else f"!({text})"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a value or a condition rests on."""

    unknowns: frozenset[str] = frozenset()  # what left targets without a value
    supposed: tuple[Assumption, ...] = ()  # the world that it is read in where nobody knows, one entry an unknown
    origins: frozenset[Origin] = frozenset()
    arch: bool = False  # depends on the architecture
    listings: frozenset[Listing] = frozenset()
    compiled: bool = False  # on `__CUDA_ARCH__`: a number chosen by it selects code as it does itself

    def __or__(self, other: Provenance) -> Provenance:
        """Both; what this one supposes comes first."""
        return Provenance(
            self.unknowns | other.unknowns,
            _agreed(self.supposed, other.supposed),
            self.origins | other.origins,
            self.arch or other.arch,
            self.listings | other.listings,
            self.compiled or other.compiled,
        )

    @property
    def world(self) -> dict[Atom, bool]:
        """What is supposed of each unknown."""
        return {a.atom: a.holds for a in self.supposed}


def _agreed(first: tuple[Assumption, ...], second: tuple[Assumption, ...]) -> tuple[Assumption, ...]:
    if not second or first == second:
        return first
    known = {a.atom for a in first}
    return (*first, *(a for a in second if a.atom not in known))


NO_BASIS = Provenance()


@dataclass(frozen=True, slots=True)
class Value:
    """One payload per target and world; what is in no case is unknown."""

    cases: tuple[tuple[Payload, Cond], ...]
    basis: Provenance = NO_BASIS

    @property
    def covered(self) -> int:
        """The targets for which it is one of the cases, whatever the unknowns are."""
        return surely(self.known)

    @property
    def known(self) -> Cond:
        """Where it is one of the cases."""
        found: Cond = 0
        for _, part in self.cases:
            found = either(found, part)
        return found

    @property
    def supposed(self) -> tuple[tuple[Payload, Cond], ...]:
        """The cases in the world that is supposed."""
        if not self.basis.supposed or all(isinstance(cond, int) for _, cond in self.cases):
            return self.cases
        world = self.basis.world
        return merged((p, restricted(cond, world)) for p, cond in self.cases)

    def based(self, basis: Provenance) -> Value:
        """This value resting on `basis` as well."""
        return Value(self.cases, self.basis | basis)

    def at(self, path: str, start: int) -> Value:
        """The value of a call or member there: what is unknown inside may be another thing at each."""
        if all(isinstance(cond, int) for _, cond in self.cases):
            return self

        def named(one: Atom) -> Atom:
            if one.place is None:
                return one
            inner, offset = one.place
            return atom(one.name, one.kind, one.default, (f"{inner}:{offset}@{path}", start), one.names)

        supposed = tuple(a._replace(atom=named(a.atom)) for a in self.basis.supposed)
        cases = tuple((p, renamed(cond, named)) for p, cond in self.cases)
        return Value(cases, replace(self.basis, supposed=supposed))


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Where a condition holds, of all targets in `among`."""

    when: Cond
    among: int
    basis: Provenance = NO_BASIS

    def __and__(self, other: ConditionResult) -> ConditionResult:
        return ConditionResult(both(self.when, other.when), self.among, self.basis | other.basis)

    def __or__(self, other: ConditionResult) -> ConditionResult:
        return ConditionResult(either(self.when, other.when), self.among, self.basis | other.basis)

    def __invert__(self) -> ConditionResult:
        return ConditionResult(without(self.among, self.when), self.among, self.basis)

    @property
    def truth(self) -> Truth:
        """Yes and no as they are in every world."""
        return truth(self.when, self.among)

    @property
    def assumed(self) -> Truth:
        """Yes and no in the world that is supposed."""
        if isinstance(self.when, int) or not self.basis.supposed:
            return truth(self.when, self.among)
        return truth(restricted(self.when, self.basis.world), self.among)

    @property
    def reached(self) -> int:
        """Of where control is: the targets that come there, as is supposed, and else where the most do."""
        when = restricted(self.when, self.basis.world)
        return surely(when if isinstance(when, int) else restricted(when, widest(when, is_reached=True)))

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The names behind what is unknown."""
        return tuple(sorted({b.name for b in blamed(self.when, self.among)}))

    @property
    def assumes(self) -> frozenset[str]:
        """What is supposed of what it hangs on, as it is told."""
        if isinstance(self.when, int):
            return frozenset()
        return frozenset(a.text for a in self.basis.supposed if a.told and a.atom in self.when.atoms)

    def settled(self, told: bool = True) -> ConditionResult:
        """The same as where control is, read in the world in which it comes there for most targets."""
        if isinstance(self.when, int):
            return self
        found = tuple(Assumption(one, holds, told) for one, holds in widest(self.when, is_reached=True).items())
        return ConditionResult(self.when, self.among, Provenance(supposed=found) | self.basis)

    def untold(self) -> ConditionResult:
        """The same, with nothing said of what is supposed."""
        supposed = tuple(a._replace(told=False) for a in self.basis.supposed)
        return ConditionResult(self.when, self.among, replace(self.basis, supposed=supposed))


_LONGEST_TEXT = 160  # of an assumption


def _shortened(text: str) -> str:
    """A long condition up to the end of one of its parts."""
    if len(text) <= _LONGEST_TEXT:
        return text
    cut = max(text.rfind(mark, 0, _LONGEST_TEXT) for mark in (" && ", " || "))
    return f"{text[: cut if cut > 0 else _LONGEST_TEXT]} …"


def unknown(*names: str, arch: bool = False) -> Value:
    """A value that nothing is known of, because of `names`."""
    return Value((), Provenance(frozenset(names), arch=arch))


def constant(payload: Payload, mask: int) -> Value:
    """The same value on every target of `mask`."""
    return Value(((payload, mask),))


def merged(parts: Iterable[tuple[Payload, Cond]]) -> tuple[tuple[Payload, Cond], ...]:
    """Cases with equal payloads joined (1 and True are equal, as in C++)."""
    found: dict[Payload, Cond] = {}
    for payload, cond in parts:
        if cond != 0:
            before = found.get(payload)
            found[payload] = cond if before is None else either(before, cond)
    return tuple(found.items())


def mapped(value: Value, function: Callable[[Payload], Payload | None]) -> Value:
    """The function of each payload; None = unknown there."""
    parts = [(payload, m) for p, m in value.cases if (payload := function(p)) is not None]
    return Value(merged(parts), value.basis)


def within(value: Value, mask: int) -> Value:
    """The value on some targets only."""
    return Value(merged((p, both(m, mask)) for p, m in value.cases), value.basis)


def paired(left: Value, right: Value, function: Callable[[Payload, Payload], Payload | None]) -> Value:
    """The function of both payloads, target by target; None = unknown there."""
    parts: list[tuple[Payload, Cond]] = []
    for a, mask in left.cases:
        for b, other in right.cases:
            where = both(mask, other)
            if where != 0 and (payload := function(a, b)) is not None:
                parts.append((payload, where))
    return Value(merged(parts), left.basis | right.basis)


def selected(condition: ConditionResult, yes: Value, no: Value) -> Value:
    """`condition ? yes : no`, each where the condition says."""
    parts = [(p, both(m, condition.when)) for p, m in yes.cases]
    parts += [(p, without(m, condition.when)) for p, m in no.cases]
    return Value(merged(parts), condition.basis | yes.basis | no.basis)


def verdict_of(value: Value, among: int, text: str, place: tuple[str, int]) -> ConditionResult:
    """The truth of a value used as a condition; `text` and `place` tell what is asked where the value is unknown."""
    yes: Cond = 0
    no: Cond = 0
    for payload, cond in value.cases:
        match payload:
            case int():
                yes, no = (either(yes, cond), no) if payload else (yes, either(no, cond))
            case Capability() | tuple():
                yes = either(yes, cond)
    basis = value.basis
    if isinstance(yes, int) and isinstance(no, int) and not among & ~(yes | no):
        return ConditionResult(yes, among, basis)
    world = basis.world
    open_ = without(among, either(yes, no))
    when = yes
    if open_ != 0:
        kind: AtomKind = "architecture" if basis.arch else "expr"
        names = tuple(sorted(basis.unknowns)) or (text[:60],)
        when = either(yes, both(open_, asked(atom(text, kind, place=place, names=names), among)))
    left = widest(restricted(yes, world))
    if left:
        basis = basis | Provenance(supposed=tuple(Assumption(one, holds) for one, holds in left.items()))
    return ConditionResult(when, among, basis)


def value_of(verdict: ConditionResult) -> Value:
    """A truth as a value: 1 where yes, 0 where no; none if nothing is known of it."""
    assumed = verdict.assumed
    if not (assumed.yes | assumed.no):
        return Value((), replace(verdict.basis, unknowns=verdict.basis.unknowns | frozenset(verdict.unknowns)))
    return Value(merged(((1, verdict.when), (0, (~verdict).when))), verdict.basis)


@lru_cache(maxsize=4)
def capability(universe: Universe) -> Value:
    """The GPU's capability; a suffix variant is its SM, the host pass has none and stays unknown."""
    return Value(_by_target(universe, Capability), Provenance(arch=True))


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


@lru_cache(maxsize=4)
def major(universe: Universe) -> Value:
    """The GPU's major capability."""
    return Value(_by_target(universe, lambda sm: sm // 10), Provenance(arch=True))


@lru_cache(maxsize=4)
def minor(universe: Universe) -> Value:
    """The GPU's minor capability."""
    return Value(_by_target(universe, lambda sm: sm % 10), Provenance(arch=True))


@lru_cache(maxsize=4)
def arch_macro(universe: Universe) -> Value:
    """`__CUDA_ARCH__` in device code; the host pass stays unknown."""
    return Value(_by_target(universe, lambda sm: sm * 10), Provenance(arch=True, compiled=True))


def _by_target(universe: Universe, function: Callable[[int], Payload]) -> tuple[tuple[Payload, Cond], ...]:
    return merged((function(t.sm), universe.bit(t)) for t in universe.targets if not t.is_host)


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


@lru_cache(maxsize=4)
def floors(universe: Universe) -> dict[int, int]:
    """For the number of each SM, the targets at or above it."""
    device = [t for t in universe.targets if not t.is_host]
    return {sm: universe.mask(t for t in device if t.sm >= sm) for sm in {t.sm for t in device}}


def is_rounded(value: Value, known: Mapping[int, int]) -> bool:
    """Whether a value is the capability rounded down to one of several: 80 for 8.6, 90 for 12.0.

    The lowest of them may stand for all below it.
    """
    cases = value.supposed
    numbers = [payload for payload, _ in cases if isinstance(payload, int) and payload in known]
    if len(numbers) < max(len(cases), 2):
        return False
    return all(p == min(numbers) or not possibly(m) & ~known[p] for p, m in cases if isinstance(p, int))


def is_capability(value: Value, known: Mapping[int, int]) -> bool:
    """Whether a value is the GPU's capability in some spelling, not a number that was chosen by it (tile, cluster)."""
    alike = whole = 0
    for payload, cond in value.supposed:
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
            own = compared_with(left.sm, right, equality)
            return None if own is None else int(compare(own, right))
        case int(), Capability():
            own = compared_with(right.sm, left, equality)
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
        left = compared_with(left.sm, right, False)  # type: ignore[assignment]
    if isinstance(right, Capability) and isinstance(left, int):
        right = compared_with(right.sm, left, False)  # type: ignore[assignment]
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
