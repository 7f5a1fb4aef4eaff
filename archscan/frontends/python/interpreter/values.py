"""The value domain of the interpreter: Python values that may differ from target to target, or be unknown."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tree_sitter import Node

from archscan.analysis.encodings import is_pair, text_form, written_like
from archscan.frontends.python.interpreter.containers import IterV, ListV, SetV
from archscan.model.condition import EVERY, Atom, Cond, asked, both, either, unnamed, without
from archscan.model.condition import atoms as atoms_of
from archscan.model.condition import renamed as renamed_condition
from archscan.model.target import Target, Universe

Value: TypeAlias = object
"""A Python constant or one of the classes below: whoever uses one has to ask what it is."""
_PLAIN = frozenset({bool, int, str, type(None)})


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value nobody can tell from the source; `names` say what it hangs on, `arch` that the target is one of them.

    `text` = it is a text that holds something, whatever: true, and not None.
    `lost` = the source gives it, in a way that is not followed: what its name says by convention is no help then.
    `raises` = there is none: what is raised instead, if that is known.
    `holds` = it is a truth that stays as it is: the unknown that it is, wherever it is asked again.
    """

    names: tuple[str, ...] = ()
    arch: bool = False
    text: bool = False
    lost: bool = False
    raises: str = ""
    holds: Atom | None = None


@dataclass(frozen=True, slots=True)
class Assumed:
    """A value that holds if the unknown conditions `names` are met (or, in an `or`, are not).

    `default` = it is what a switch is unless somebody sets it: what asks for the switch alone goes by that.
    """

    value: Value
    names: tuple[str, ...]
    default: bool = False


@dataclass(frozen=True, slots=True)
class Cases:
    """One of several constants, each with the condition under which it is this one: no two of them hold at once."""

    cases: tuple[tuple[Value, Cond], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What it hangs on which of them it is."""
        return unite(*(names_of(when) for _, when in self.cases))


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A value that differs from target to target: disjoint masks that together cover the lanes."""

    groups: tuple[tuple[Value, int], ...]


@dataclass(frozen=True, slots=True)
class Capability:
    """The target itself in an encoding nobody stated: the constant it meets decides. `text` = it is a string."""

    is_text: bool = False


@dataclass(frozen=True, slots=True)
class PatternV:
    """A compiled regular expression."""

    pattern: str


@dataclass(frozen=True, slots=True)
class MemberV:
    """A member of an enumeration that is no number or text itself: it equals no plain value."""

    of: str  # path and class
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class DictV:
    """A dict: key, value node and value per row; `open` when rows may be missing."""

    rows: tuple[tuple[Value, Value], ...]
    open: bool = False


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class FuncV:
    """A function or lambda with the frame it closes over; `bound` is its self or cls."""

    module: Any
    node: Node
    frame: Any
    bound: Value = None
    is_bound: bool = False
    doubt: tuple[str, ...] = ()  # why nobody knows whether this is what is called: a decorator, a patch


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class PartialV:
    """functools.partial(function, ...)."""

    function: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]
    notes: tuple[Any, ...] = ()  # places of the list arguments


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ClassV:
    """A class definition."""

    module: Any
    node: Node
    frame: Any

    @property
    def name(self) -> str:
        node = self.node.child_by_field_name("name")
        return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class InstanceV:
    """An object of a class; `fields` are the constructor arguments by parameter name.

    `made` = the source shows how it was made; of a method's own `self`, or of what only an annotation tells of, nobody
    knows what it was given.
    """

    cls: ClassV
    fields: dict[str, Value] = field(default_factory=dict)
    made: bool = True
    init: Any = None  # the frame of its __init__, with the arguments
    stored: frozenset[str] = frozenset()  # fields that are stored from outside right after it is made


@dataclass(frozen=True, slots=True)
class ExternalV:
    """Something outside what was scanned, by dotted name."""

    name: str


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ModuleV:
    """A scanned module."""

    module: Any


@dataclass(frozen=True, slots=True)
class PropertiesV:
    """A device properties object: `.major`, `.minor`, `.shared_memory_per_block_optin`."""


@dataclass(frozen=True, slots=True)
class BuiltinMethod:
    """A method of a constant: "7.5 8.0".split."""

    owner: Value
    name: str


def is_constant(value: Value) -> bool:
    """Whether it is a plain Python constant or a container of such."""
    if type(value) in _PLAIN:
        return True
    if isinstance(value, tuple):
        return all(type(item) in _PLAIN or is_constant(item) for item in value)
    return isinstance(value, (float, bytes, MemberV))


def depends(value: Value) -> bool:
    """Whether the value differs between targets, or may."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, Unknown):
        return value.arch
    if isinstance(value, Partitioned):
        return any(not isinstance(one, Unknown) or one.arch for one, _ in value.groups)
    if isinstance(value, Assumed):
        return depends(value.value)
    if isinstance(value, (Capability, PropertiesV)):
        return True
    return isinstance(value, tuple) and any(depends(item) for item in value)


def _identity(value: Value) -> object:
    """What two values share that are one and the same: constants of a type that are equal, or one object."""
    kind = type(value)
    return (kind, value) if kind in _COMPARED or is_constant(value) else id(value)


_COMPARED = _PLAIN | {Unknown, Assumed, Cases, ExternalV, Capability}


class PerTarget:
    """Operations over the GPUs of a universe, one lane each: Python sees no suffix; the host pass is no lane."""

    def __init__(self, universe: Universe, shared: Mapping[int, int] | None = None) -> None:
        self.universe = universe
        self._shared = memory = shared or {}  # bytes of shared memory that a block can opt in to, by SM
        self.all = universe.device
        lanes: dict[int, int] = {}
        for target in universe.targets:
            if not target.is_host:
                lanes[target.sm] = lanes.get(target.sm, 0) | universe.bit(target)
        self.targets: tuple[tuple[Target, int], ...] = tuple((Target(sm), mask) for sm, mask in lanes.items())
        self.major = self.by_target(lambda t: t.major)
        self.minor = self.by_target(lambda t: t.minor)
        self.sm = self.by_target(lambda t: t.sm)
        self.pair = self.by_target(lambda t: (t.major, t.minor))
        self.shared = self.by_target(lambda t: memory.get(t.sm, Unknown(("shared memory",), True)))

    def __reduce__(self) -> tuple[type[PerTarget], tuple[Universe, Mapping[int, int]]]:
        return PerTarget, (self.universe, self._shared)

    def by_target(self, what: Callable[[Target], Value]) -> Value:
        """The value `what` has on every lane."""
        return self.merge((what(t), bit) for t, bit in self.targets)

    def merge(self, parts: Iterable[tuple[Value, int]]) -> Value:
        """Lane values as one value: uniform if all lanes agree."""
        groups: list[tuple[Value, int]] = []
        places: dict[object, int] = {}
        for value, mask in self._flat(parts):
            at = places.setdefault(_identity(value), len(groups))
            if at == len(groups):
                groups.append((value, mask))
            else:
                groups[at] = (groups[at][0], groups[at][1] | mask)
        if not groups:
            return Unknown()
        return groups[0][0] if len(groups) == 1 else Partitioned(tuple(groups))

    def _flat(self, parts: Iterable[tuple[Value, int]]) -> list[tuple[Value, int]]:
        found: list[tuple[Value, int]] = []
        for value, mask in parts:
            if type(value) is Partitioned:
                found += [(inner, lanes & mask) for inner, lanes in value.groups if lanes & mask]
            elif mask:
                found.append((value, mask))
        return found

    def groups(self, value: Value) -> tuple[tuple[Value, int], ...]:
        """The value as groups of lanes."""
        return value.groups if type(value) is Partitioned else ((value, self.all),)

    def spread(self, values: tuple[Value, ...]) -> list[tuple[tuple[Value, ...], int]]:
        """Several values as groups of lanes on which none of them differs."""
        result: list[tuple[tuple[Value, ...], int]] = [((), self.all)]
        for value in values:
            groups = self.groups(self.whole(value))
            result = [((*head, part), mask & lanes) for head, mask in result for part, lanes in groups if mask & lanes]
        return result

    def whole(self, value: Value) -> Value:
        """A tuple whose items differ between lanes, as a value that does."""
        if isinstance(value, tuple) and any(isinstance(item, (Partitioned, tuple)) for item in value):
            kind = type(value)
            if any(isinstance(self.whole(item), Partitioned) for item in value):
                return self.merge((kind(items), mask) for items, mask in self.spread(tuple(value)))
        return value

    def lift(self, operation: Callable[..., Value], *values: Value) -> Value:
        """The operation on every lane; unknown and assumed values pass through."""
        split = False
        plain = True
        for v in values:
            kind = type(v)
            if kind is Partitioned or (isinstance(v, tuple) and not is_constant(v)):
                split, plain = True, False
            elif kind is Unknown or kind is Assumed or kind is Cases:
                plain = False
        if plain:
            return operation(*values)
        telling = [depends(v) and type(v) not in _TARGET for v in values]
        if not split:
            return self._guarded(operation, values, any(telling))
        spread = self.spread(values)
        return self.merge((self._guarded(operation, items, _tells(items, telling)), mask) for items, mask in spread)

    def _guarded(self, operation: Callable[..., Value], items: tuple[Value, ...], arch: bool) -> Value:
        names: tuple[str, ...] = ()
        if any(type(item) is Cases for item in items):
            return self._of_each(operation, items, arch)
        plain = items
        default = False
        if any(type(item) is Assumed for item in items):
            names = unite(*(item.names for item in items if type(item) is Assumed))
            default = not arch and all(item.default for item in items if type(item) is Assumed)
            plain = tuple(item.value if type(item) is Assumed else item for item in items)
        unknown = [item for item in plain if type(item) is Unknown]
        if unknown:
            if len(unknown) == 1 and not names and unknown[0].arch is arch:
                return unknown[0] if unknown[0].holds is None else replace(unknown[0], holds=None)
            lost = any(item.lost for item in unknown)
            return Unknown(unite(names, *[item.names for item in unknown]), arch, lost=lost)
        result = operation(*plain)
        if arch and isinstance(result, Unknown):
            result = replace(result, arch=True)
        if not names:
            return result
        return assume(result, names, default)

    def _of_each(self, operation: Callable[..., Value], items: tuple[Value, ...], arch: bool) -> Value:
        """What an operation gives in each of the cases of some items."""
        if math.prod(len(item.cases) for item in items if type(item) is Cases) > _MOST_CASES**2:
            return Unknown(unite(*(item.names for item in items if type(item) is Cases)), arch)
        ways: list[tuple[Value, Cond]] = []
        for way in itertools.product(*(item.cases if type(item) is Cases else ((item, EVERY),) for item in items)):
            when: Cond = EVERY
            for _, one in way:
                when = both(when, one)
            if when != 0:
                ways.append((self._guarded(operation, tuple(value for value, _ in way), arch), when))
        if not any(type(value) is Partitioned for value, _ in ways):
            return chosen(ways, arch)
        conditions = [when for _, when in ways]
        spread = self.spread(tuple(value for value, _ in ways))
        return self.merge((chosen(list(zip(values, conditions, strict=True)), True), mask) for values, mask in spread)


_TARGET = frozenset({Capability, PropertiesV})


def _tells(items: tuple[Value, ...], telling: list[bool]) -> bool:
    """Whether some value tells targets apart on a lane: not where it is one that nobody can tell on any target."""
    return any(told and (type(item) is not Unknown or item.arch) for item, told in zip(items, telling, strict=True))


def is_text(value: Value) -> bool:
    """Whether a value is a string on every lane."""
    return isinstance(value, str) or (
        isinstance(value, Partitioned) and all(isinstance(v, str) for v, _ in value.groups)
    )


def chosen(cases: Sequence[tuple[Value, Cond]], arch: bool = False) -> Value:
    """One of several values, by the conditions under which it is each; unknown if they are no constants or too many.

    `arch` = they come of a question for the target: then a truth that hangs on unknowns as well is worth to be told.
    """
    found: list[tuple[Value, Cond]] = []
    for value, when in cases:
        for one, where in value.cases if type(value) is Cases else ((value, EVERY),):
            here = both(when, where)
            at = next((i for i, (v, _) in enumerate(found) if type(v) is type(one) and v == one), None)
            if at is not None:
                found[at] = (found[at][0], either(found[at][1], here))
            elif here != 0:
                found.append((one, here))
    if len(found) == 1:
        only = found[0][0]
        return replace(only, arch=True) if arch and isinstance(only, Unknown) else only
    told = all(is_constant(one) and not is_mutable(one) for one, _ in found) and len(found) <= _MOST_CASES
    if not told or (not arch and any(isinstance(one, bool) for one, _ in found)):
        named = (one.names for one, _ in found if isinstance(one, (Unknown, Assumed)))
        names = unite(*(names_of(when) for _, when in found), *named)
        return Unknown(names, arch or any(depends(one) for one, _ in found))
    return Cases(tuple(found))


_MOST_CASES = 8


def names_of(when: Cond) -> tuple[str, ...]:
    """What a condition hangs on, to show, in the order in which it was come to."""
    return unite(*(unknown.names for unknown in atoms_of(when)))


def any_of(values: Iterable[Value], names: tuple[str, ...]) -> Value:
    """One of several values of which nobody can tell when it is which."""
    left: Cond = EVERY
    found: list[tuple[Value, Cond]] = []
    *but_last, last = values
    for value in but_last:
        here = asked(unnamed(names), EVERY)
        found.append((value, both(left, here)))
        left = without(left, here)
    return chosen([*found, (last, left)])


def has_unknowns(value: Value) -> bool:
    """Whether a value refers to unknowns of the run of a function or of a round that it was evaluated in."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, Unknown):
        return value.holds is not None
    if isinstance(value, Partitioned):
        return any(has_unknowns(one) for one, _ in value.groups)
    if isinstance(value, Assumed):
        return has_unknowns(value.value)
    return isinstance(value, Cases) or (isinstance(value, tuple) and any(map(has_unknowns, value)))


def unrelated(value: Value) -> Value:
    """The value with unknowns of its own: as it is another time, or of another object."""
    if not has_unknowns(value):
        return value
    others: dict[Atom, Atom] = {}

    def other(unknown: Atom) -> Atom:
        return others.setdefault(unknown, unnamed(unknown.names, unknown.kind))

    def walked(one: Value) -> Value:
        if not has_unknowns(one):
            return one
        if isinstance(one, Unknown):
            return replace(one, holds=None)
        if isinstance(one, Partitioned):
            return Partitioned(tuple((walked(part), mask) for part, mask in one.groups))
        if isinstance(one, Assumed):
            return replace(one, value=walked(one.value))
        if isinstance(one, Cases):
            return Cases(tuple((part, renamed_condition(when, other)) for part, when in one.cases))
        return type(one)(walked(part) for part in one) if isinstance(one, tuple) else one

    return walked(value)


def assume(value: Value, names: tuple[str, ...], default: bool = False) -> Value:
    """The value under further unknown conditions."""
    if not names or isinstance(value, Unknown):
        return value
    if isinstance(value, Assumed):
        return Assumed(value.value, unite(value.names, names), value.default and default)
    if isinstance(value, Partitioned):
        return Partitioned(tuple((assume(v, names), m) for v, m in value.groups))
    return Assumed(value, names, default)


def set_once(name: str) -> tuple[str, ...]:
    """What is assumed of a name or attribute that others may set as well."""
    return (f"{_ALONE}{name}",)


_ALONE = "nothing else sets "


def is_doubt(name: str) -> bool:
    """Whether what is assumed is no condition, but that a value is what it was made as."""
    return name.startswith((_ALONE, "@"))


def doubted(value: Value, names: tuple[str, ...]) -> Value:
    """The value if what is named did not change it: of a function, what it answers."""
    if isinstance(value, FuncV):
        return FuncV(value.module, value.node, value.frame, value.bound, value.is_bound, unite(value.doubt, names))
    if isinstance(value, Partitioned) and any(
        isinstance(one, (FuncV, ClassV, ModuleV, PartialV)) for one, _ in value.groups
    ):
        return Unknown(names, True, lost=True)
    if isinstance(value, (ClassV, ModuleV, PartialV, BuiltinMethod)):
        return Unknown(names, lost=True)
    return assume(value, names)


def is_mutable(value: Value) -> bool:
    """Whether it is a container that may be changed where it is, or holds one."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, Partitioned):
        return any(is_mutable(one) for one, _ in value.groups)
    if isinstance(value, Assumed):
        return is_mutable(value.value)
    if isinstance(value, (DictV, ListV, SetV, IterV)):
        return True
    return isinstance(value, tuple) and any(is_mutable(item) for item in value)


def is_nested(value: Value) -> bool:
    """Whether a container holds others that may be changed where they are, or objects."""
    if isinstance(value, Partitioned):
        return any(is_nested(one) for one, _ in value.groups)
    if isinstance(value, Assumed):
        return is_nested(value.value)
    if isinstance(value, DictV):
        return any(not _is_flat(row) for _, row in value.rows)
    return isinstance(value, tuple) and any(is_mutable(item) or isinstance(item, InstanceV) for item in value)


def _is_flat(row: Value) -> bool:
    """Whether a row that may wait to be evaluated is written as something that cannot be changed."""
    if is_constant(row):
        return not is_mutable(row)
    node = getattr(row, "node", None)
    return node is not None and _is_written_flat(node)


def _is_written_flat(node: Node) -> bool:
    if node.type == "tuple":
        return all(_is_written_flat(part) for part in node.named_children)
    return node.type in _FLAT


_FLAT = frozenset(
    {"integer", "float", "string", "true", "false", "none", "comparison_operator", "not_operator", "lambda", "comment"}
)  # fmt: skip


def unite(*names: tuple[str, ...]) -> tuple[str, ...]:
    """The names without repetition, in order, at most eight."""
    return tuple(dict.fromkeys(name for group in names for name in group))[:8]


def encode(target: Target, like: Value) -> Value:
    """The target written the way the constant `like` is; None if that constant is no way to write one."""
    if isinstance(like, bool):
        return None
    if isinstance(like, int):
        return written_like(target.sm, like)
    if isinstance(like, float):
        return target.major + target.minor / 10 if 3.0 <= like <= 15.0 else None
    if isinstance(like, str):
        return _encode_text(target, like)
    if _is_pair(like):
        return (target.major, target.minor)
    if type(like) is tuple and 1 < len(like) <= 2 and all(isinstance(part, str) for part in like):
        parts = tuple(_encode_text(target, part) for part in like)  # ("compute_90", "sm_90")
        return None if None in parts else parts
    return None


def _is_pair(like: Value) -> bool:
    if not isinstance(like, tuple) or not 1 <= len(like) <= 2:
        return False
    return all(isinstance(i, int) and not isinstance(i, bool) for i in like) and is_pair(*like)


def _encode_text(target: Target, like: str) -> str | None:
    form = text_form(like)
    return None if form is None else form.format(target)
