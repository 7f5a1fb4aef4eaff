"""What Python's operators, built-ins and joins do to the values of one lane, or to alternatives that may reach it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from archscan.frontends.python.interpreter.containers import IterV, ListV, SetV, ViewV
from archscan.frontends.python.interpreter.values import (
    Assumed,
    BuiltinMethod,
    Capability,
    Cases,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    PerTarget,
    PropertiesV,
    Unknown,
    Value,
    assume,
    chosen,
    depends,
    doubted,
    is_constant,
    names_of,
    unite,
)
from archscan.model.condition import EVERY, Cond, both, possibly

Alternative = tuple[Value, Cond]  # what a value may be, and the condition under which it is that


def by_cover(parts: Sequence[Alternative], mask: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Groups the lanes of `mask` by which of the alternatives reach them."""
    groups: list[tuple[tuple[int, ...], int]] = [((), mask)]
    for i, (_, when) in enumerate(parts):
        lanes = possibly(when)
        groups = [
            half for reach, held in groups for half in (((*reach, i), held & lanes), (reach, held & ~lanes)) if half[1]
        ]
    for reach, lanes in sorted(groups, key=lambda group: group[1] & -group[1]):
        if reach:
            yield lanes, reach


def preferred(alternatives: Sequence[Alternative], asking: Sequence[int]) -> Value:
    """Of the values that may reach a lane the one that is meant, under its assumptions; agreed ones need none.

    `asking` are those that depend on the target: if there is one, it is what is meant. Of several constants none is.
    """
    values = [v for v, _ in alternatives]
    first = values[0]
    if all(type(v) is type(first) and (v is first or (is_constant(v) and v == first)) for v in values):
        return first
    names = unite(*(names_of(when) for _, when in alternatives))
    found = _preferred(values, names, asking)
    return chosen(alternatives) if found is None else doubted(found, names)


def _preferred(values: list[Value], names: tuple[str, ...], asking: Sequence[int]) -> Value | None:
    """The one of different values that is meant; None if no one is."""
    if any(map(_holds_text, values)) and all(v is None or isinstance(v, str) or _holds_text(v) for v in values):
        last = values[-1]  # what is returned where nothing is objected to
        return Unknown(names, last.arch, True) if isinstance(last, Unknown) else assume(last, names)
    asked = values[asking[0]] if len(asking) == 1 else Unknown()
    if isinstance(asked, (bool, Assumed)):
        return assume(asked, names)
    if is_constant(asked) and all(is_constant(value) for value in values):
        others = [value for i, value in enumerate(values) if i != asking[0]]
        return asked if all(map(_is_default, others)) else assume(asked, names)
    if not any(isinstance(v, bool) or (isinstance(v, Assumed) and isinstance(v.value, bool)) for v in values):
        unknown = [v for v in values if isinstance(v, Unknown)]
        if unknown and all(v is None or isinstance(v, Unknown) for v in values):
            return Unknown(unite(unknown[0].names, names), any(v.arch for v in unknown))
    if all(v is None or isinstance(v, (bool, Unknown, Assumed)) for v in values):
        last = values[-1]
        return assume(last, names) if not isinstance(last, Unknown) else Unknown(unite(last.names, names), last.arch)
    telling = [v for v in values if not _is_default(v)]
    if len(telling) == 1:
        only = telling[0]
        return Unknown(only.names, only.arch) if isinstance(only, Unknown) else only
    known = [v for v in telling if not isinstance(v, Unknown)]
    if len(known) == 1 and not is_constant(known[0]):
        return known[0]
    return None


def _holds_text(value: Value) -> bool:
    """Whether it is a text of which something is not known, but not that it is empty."""
    return isinstance(value, Unknown) and value.text


def _is_default(value: Value) -> bool:
    return value is None or value is False or value in ("", 0) or (isinstance(value, tuple) and not any(value))


def kleene(is_and: bool, a: Value, b: Value) -> Value:
    """`a and b` or `a or b` on one lane; an unknown operand that asks nothing of the target is taken as met."""
    if type(a) is Cases or type(b) is Cases:
        ways = [
            (kleene(is_and, x, y), both(here, there))
            for x, here in (a.cases if type(a) is Cases else ((a, EVERY),))
            for y, there in (b.cases if type(b) is Cases else ((b, EVERY),))
        ]
        return chosen([(v, when) for v, when in ways if when != 0], True)
    stop = not is_and
    x, y = _unless_stopped(truthy(a), stop), _unless_stopped(truthy(b), stop)
    if x is stop:
        return a
    if y is stop and not isinstance(x, bool):  # it stops there, or before with what nobody knows
        return stop if isinstance(b, bool) else Unknown(getattr(x, "names", ()), depends(a), stop)
    if isinstance(x, bool) and isinstance(y, bool):
        return b
    if isinstance(x, Unknown) and isinstance(y, Unknown):
        return Unknown(unite(x.names, y.names), x.arch or y.arch)
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Unknown):
            if isinstance(other, Assumed) and other.default:
                return other
            if one.arch:
                return Unknown(unite(one.names, getattr(other, "names", ())), True)
            return assume(other, one.names)
    names = unite(getattr(x, "names", ()), getattr(y, "names", ()))
    bare_x = x.value if isinstance(x, Assumed) else x
    bare_y = y.value if isinstance(y, Assumed) else y
    # In an `and`, a part that may still be met is taken as met beside one that is: the definite one decides.
    value = (bare_x or bare_y) if not is_and or bare_x != bare_y else bare_x
    return Assumed(value, names)


def _unless_stopped(value: Value, stop: bool) -> Value:
    """A truth; of a switch that by default does not stop an `and` or `or`, the default."""
    return value.value if isinstance(value, Assumed) and value.default and value.value is not stop else value


def truthy(value: Value) -> Value:
    if isinstance(value, Unknown):
        return value.text or value
    if isinstance(value, Cases):
        is_truth = any(isinstance(one, bool) for one, _ in value.cases)
        return value if is_truth else chosen([(truthy(one), when) for one, when in value.cases])
    if isinstance(value, Assumed):
        inner_truth = truthy(value.value)
        return inner_truth if isinstance(inner_truth, Unknown) else Assumed(inner_truth, value.names, value.default)
    if isinstance(value, tuple):
        return len(value) > 0 or isinstance(value, IterV)
    if isinstance(value, DictV):
        return bool(value.rows) or (Unknown(("table",)) if value.open else False)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return bool(value)
    if isinstance(value, (Capability, PropertiesV)):
        return True
    if isinstance(value, (ExternalV, BuiltinMethod)):
        return Unknown((getattr(value, "name", ""),))
    if isinstance(value, InstanceV):
        return Unknown((value.cls.name,))
    return Unknown(value.doubt) if isinstance(value, FuncV) and value.doubt else True


def item_of(value: Value, index: int, lanes: PerTarget) -> Value:
    if isinstance(value, Capability):
        return {0: lanes.major, 1: lanes.minor}.get(index, Unknown(("index",), True))
    if (isinstance(value, SetV) and len(value) > 1) or type(value) is ViewV:
        return Unknown((), depends(value), lost=True)
    if isinstance(value, tuple) and -len(value) <= index < len(value):
        return value[index]
    is_list = type(value) in (tuple, ListV)
    return Unknown((), depends(value), lost=isinstance(value, tuple), raises="IndexError" if is_list else "")


def is_capability(value: Value) -> bool:
    if isinstance(value, Capability):
        return True
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(i, int) for i in value)


def joined_text(items: tuple[Value, ...]) -> Value:
    if all(isinstance(i, (str, int)) for i in items):
        return "".join(str(i) for i in items)
    if len(items) == 1 and isinstance(items[0], Capability):
        return Capability(True)
    return Unknown((), any(depends(i) for i in items))


def table_of(rows: list[tuple[Value, Value]], is_open: bool) -> DictV:
    """A table of rows, of equal keys only the last."""
    if not all(is_constant(key) for key, _ in rows):
        return DictV(tuple(rows), is_open)
    return DictV(tuple(dict(rows).items()), is_open)


def spellings(target: Any) -> tuple[str, ...]:
    sm, dotted = target.sm, f"{target.major}.{target.minor}"
    suffixes = ("", "a", "f") if target.sm >= 90 else ("",)
    return tuple(
        f"{stem}{s}" for s in suffixes for stem in (dotted, sm, f"sm_{sm}", f"compute_{sm}", f"sm{sm}", f"SM{sm}")
    )


def hashable(value: Value) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return not isinstance(value, DictV)


LONGEST_LOOP = 64  # items of a loop that are gone through

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
    "is": lambda a, b: a == b, "is not": lambda a, b: a != b, "<>": operator.ne,
}  # fmt: skip
