"""Comparisons, arithmetic, truths and their `and` and `or`, on every lane at once."""

from __future__ import annotations

import operator

from archscan.analysis.encodings import compared_with
from archscan.frontends.python.interpreter.containers import AlikeV, IterV, ListV, SetV, VersionV, ViewV
from archscan.frontends.python.interpreter.operations import (
    COMPARE,
    kleene,
    spellings,
    table_of,
    truthy,
)
from archscan.frontends.python.interpreter.pure import ARITHMETIC, NotPlainError
from archscan.frontends.python.interpreter.values import (
    Assumed,
    Capability,
    Cases,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    MemberV,
    ModuleV,
    Partitioned,
    PerTarget,
    Unknown,
    Value,
    assume,
    chosen,
    depends,
    encode,
    is_constant,
    unite,
)
from archscan.model.target import Target


def items_of(lanes: PerTarget, value: Value) -> tuple[Value, ...] | None:
    """The items of what is gone through; None where nobody knows how many there are."""
    if isinstance(value, DictV):
        return None if value.open else tuple(key for key, _ in value.rows)
    if isinstance(value, tuple):
        return value
    if isinstance(value, Capability) and not value.is_text:
        return lanes.major, lanes.minor  # a number cannot be gone through
    groups = value.groups if isinstance(value, Partitioned) else ()
    rows = [(one, mask) for one, mask in groups if isinstance(one, tuple)]
    lengths = {len(row) for row, _ in rows}
    if len(lengths) != 1 or len(rows) != len(groups):
        return None
    return tuple(lanes.merge((row[at], mask) for row, mask in rows) for at in range(lengths.pop()))


def truth_of(lanes: PerTarget, value: Value) -> Value:
    """True, False, Unknown or Maybe per lane."""
    if isinstance(value, bool) or (
        isinstance(value, Partitioned) and all(type(one) is bool for one, _ in value.groups)
    ):
        return value
    if isinstance(value, tuple):
        return len(value) > 0 or isinstance(value, IterV)
    return lanes.merge((truthy(one), mask) for one, mask in lanes.groups(value))


_UNIFORM = frozenset({bool, Unknown, Assumed})  # values that are the same on all lanes


def logical(lanes: PerTarget, is_and: bool, a: Value, b: Value) -> Value:
    if not depends(a) and not depends(b) and (isinstance(a, Assumed) or isinstance(b, Assumed)):
        return _of_switches(is_and, a, b)
    if type(a) in _UNIFORM and type(b) in _UNIFORM:
        return kleene(is_and, a, b)
    parts: list[tuple[Value, int]] = []
    for (x, y), mask in lanes.spread((a, b)):
        parts.append((kleene(is_and, x, y), mask))
    return lanes.merge(parts)


def _of_switches(is_and: bool, a: Value, b: Value) -> Value:
    """What is asked of switches alone, by their defaults; other values as they are."""
    held = [v.value if isinstance(v, Assumed) and v.default else v for v in (a, b)]
    found = kleene(is_and, held[0], held[1])
    names = unite(*(v.names for v in (a, b) if isinstance(v, Assumed) and v.default))
    return assume(found, names, True)


def compare(lanes: PerTarget, sign: str, a: Value, b: Value) -> Value:
    """One comparison on every lane."""
    if sign in ("is", "is not") and (a is None or b is None):
        return _is_none(lanes, a if b is None else b, sign == "is")
    if isinstance(b, DictV) and sign in ("in", "not in"):
        b = Unknown(("table",)) if b.open else SetV(key for key, _ in b.rows)
    if sign in ("in", "not in") and isinstance(b, tuple):
        return _membership(lanes, sign == "in", a, b)
    if sign in ("==", "!=") and (flag := _flag_beside(lanes, a, b)) is not None:
        truth = b if flag is a else a  # `use_x == (major >= 9)`: as the truth is, if the flag is set
        return assume(truth if sign == "==" else lanes.lift(operator.not_, truth), flag.names)
    return lanes.lift(lambda x, y: pairwise(lanes, sign, x, y), a, b)


def _flag_beside(lanes: PerTarget, a: Value, b: Value) -> Unknown | None:
    """What nobody knows and is compared with a truth that differs between targets."""
    for flag, truth in ((a, b), (b, a)):
        known = isinstance(truth, Partitioned) and all(type(one) is bool for one, _ in lanes.groups(truth))
        if known and isinstance(flag, Unknown) and flag.names and not (flag.arch or flag.lost or flag.raises):
            return flag
    return None


def _is_none(lanes: PerTarget, value: Value, wanted: bool) -> Value:
    def test(v: Value) -> Value:
        if isinstance(v, Unknown) and not v.text:
            return Unknown(v.names, v.arch)
        if isinstance(v, Assumed):
            return assume((v.value is None) is wanted, v.names, v.default)
        if isinstance(v, Cases):
            return chosen([((one is None) is wanted, when) for one, when in v.cases])
        if isinstance(v, InstanceV) and not v.made:
            return Unknown((v.cls.name,))
        if isinstance(v, FuncV) and v.doubt:
            return Unknown(v.doubt)
        return (v is None) is wanted

    if not isinstance(value, Partitioned):
        return test(value)
    return lanes.merge((test(v), mask) for v, mask in lanes.groups(value))


def _membership(lanes: PerTarget, is_in: bool, value: Value, container: tuple[Value, ...]) -> Value:
    result: Value = False
    for item in container:
        one = lanes.lift(lambda x, y: pairwise(lanes, "==", x, y), value, item)
        result = logical(lanes, False, result, truth_of(lanes, one)) if result is not False else truth_of(lanes, one)
    return result if is_in else lanes.lift(operator.not_, result)


def pairwise(lanes: PerTarget, sign: str, a: Value, b: Value) -> Value:
    if isinstance(a, Capability) or isinstance(b, Capability):
        return _with_capability(lanes, sign, a, b)
    if sign in ("in", "not in") and isinstance(b, tuple):
        return _membership(lanes, sign == "in", a, b)
    if not (is_constant(a) and is_constant(b)):
        if sign in ("is", "is not", "==", "!=") and isinstance(a, (ClassV, FuncV, ModuleV)) and type(a) is type(b):
            if isinstance(a, FuncV) and isinstance(b, FuncV) and (a.doubt or a.node == b.node):
                return Unknown((), False)
            return (a is b) is (sign in ("is", "=="))
        if sign in ("is", "is not", "==", "!=") and _is_type(a) and _is_type(b):
            return (a == b) is (sign in ("is", "=="))
        return Unknown((), depends(a) or depends(b))
    if sign in ("is", "is not"):
        return _identical(a, b, sign == "is")
    if type(a) is MemberV and type(b) is MemberV and sign not in ("==", "!="):
        return Unknown((), False)
    if isinstance(a, tuple) and isinstance(b, tuple) and sign not in ("in", "not in"):
        return _of_containers(sign, a, b)
    try:
        return bool(COMPARE[sign](a, b))
    except (TypeError, KeyError):
        return Unknown((), False)


def _is_type(value: Value) -> bool:
    return isinstance(value, ExternalV) and value.name in _TYPES


_TYPES = frozenset({"int", "bool", "str", "float", "bytes", "tuple", "list", "set", "dict", "NoneType", "frozenset"})


def _identical(a: Value, b: Value, wanted: bool) -> Value:
    """Whether two constants are one object: of equal numbers and texts it hangs on the implementation."""
    if type(a) is not type(b):
        return not wanted
    if isinstance(a, (bool, MemberV)) or a is None or (isinstance(a, int) and (a != b or -5 <= a <= 256)):
        return (a == b) is wanted
    return not wanted if a != b and not isinstance(a, tuple) else Unknown((), False)


def _of_containers(sign: str, a: tuple[Value, ...], b: tuple[Value, ...]) -> Value:
    """How two containers of constants compare: a list is no tuple, and sets have no order."""
    kinds = [SetV if isinstance(v, SetV) else ListV if isinstance(v, ListV) else type(v) for v in (a, b)]
    if IterV in kinds or AlikeV in (type(a), type(b)):
        return Unknown((), False)
    if ViewV in (type(a), type(b)):
        listed = {type(a), type(b)} - {ViewV} <= {ListV, tuple} and type(a) is not type(b)
        return sign == "!=" if listed and sign in ("==", "!=") else Unknown((), False)
    if kinds[0] is not kinds[1]:
        if VersionV in kinds:
            return bool(COMPARE[sign](tuple(a), tuple(b)))
        # what a list was made of may be what is written as a set here: nobody knows its order
        return sign == "!=" if sign in ("==", "!=") and SetV not in kinds else Unknown((), False)
    if kinds[0] is SetV:
        return bool(COMPARE[sign](frozenset(a), frozenset(b)))
    if any(isinstance(item, tuple) for item in (*a, *b)):
        if sign not in ("==", "!="):
            return Unknown((), False) if any(isinstance(i, (ListV, SetV)) for i in (*a, *b)) else _ordered(sign, a, b)
        pairs = zip(a, b, strict=False)
        equal = [
            _of_containers("==", x, y) if isinstance(x, tuple) and isinstance(y, tuple) else x == y for x, y in pairs
        ]
        if len(a) != len(b) or any(one is False for one in equal):
            return sign == "!="
        return sign == "==" if all(one is True for one in equal) else Unknown((), False)
    return _ordered(sign, a, b)


def _ordered(sign: str, a: tuple[Value, ...], b: tuple[Value, ...]) -> Value:
    try:
        return bool(COMPARE[sign](tuple(a), tuple(b)))
    except TypeError:
        return Unknown((), False)


def _with_capability(lanes: PerTarget, sign: str, a: Value, b: Value) -> Value:
    if isinstance(a, Capability) and isinstance(b, Capability):
        return Unknown((), False)
    constant = b if isinstance(a, Capability) else a
    if isinstance(constant, MemberV):  # what stands for the target is taken to be a member as well
        pair = (a, constant.value) if isinstance(a, Capability) else (constant.value, b)
        return _with_capability(lanes, sign, *pair)
    if sign in ("in", "not in") and isinstance(constant, str):
        return _substring(lanes, sign == "in", constant, isinstance(a, Capability))
    if not is_constant(constant) or constant is None:
        return Unknown(("None",)) if constant is None else Unknown((), False)
    equality = sign in ("==", "!=")

    def own(target: Target) -> Value:
        if type(constant) is int and sign not in ("in", "not in"):
            return compared_with(target.sm, constant, equality)
        return encode(target, constant)

    if own(lanes.targets[0][0]) is None:
        return Unknown((str(constant)[:40],), False)

    def test(target: Target) -> Value:
        mine = own(target)
        pair = (mine, constant) if isinstance(a, Capability) else (constant, mine)
        try:
            return bool(COMPARE[sign](*pair))
        except (TypeError, KeyError):
            return Unknown((), True)

    return lanes.by_target(test)


def _substring(lanes: PerTarget, is_in: bool, constant: str, capability_is_part: bool) -> Value:
    if capability_is_part:  # arch in "7.5 8.0": a text search
        dotted = "." in constant
        return lanes.by_target(lambda t: ((f"{t.major}.{t.minor}" if dotted else str(t.sm)) in constant) is is_in)
    if not any(c.isdigit() for c in constant):
        return Unknown((constant,), False)
    return lanes.by_target(lambda t: any(constant in s for s in spellings(t)) is is_in)


def binary(lanes: PerTarget, sign: str, a: Value, b: Value) -> Value:
    if sign == "&" and isinstance(a, (SetV, Unknown)) and isinstance(b, (SetV, Unknown)):
        return common_to(lanes, a, b)
    return lanes.lift(lambda x, y: _arithmetic(lanes, sign, x, y), a, b)


def _arithmetic(lanes: PerTarget, sign: str, a: Value, b: Value) -> Value:
    a, b = _as_number(lanes, a, b), _as_number(lanes, b, a)
    if isinstance(a, Partitioned) or isinstance(b, Partitioned):
        return binary(lanes, sign, a, b)
    if ViewV in (type(a), type(b)):
        return Unknown((), depends(a) or depends(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return _joined(sign, a, b)
    if isinstance(a, DictV) and isinstance(b, DictV) and sign == "|" and not (a.open or b.open):
        return table_of([*a.rows, *b.rows], False)
    if sign == "in" or not (is_constant(a) and is_constant(b)):
        return Unknown((), depends(a) or depends(b))
    if isinstance(b, SetV) or isinstance(a, SetV):
        return Unknown()
    try:
        if isinstance(a, tuple):
            return type(a)(ARITHMETIC[sign](list(a), b))
        if isinstance(b, tuple) and sign == "*":
            return type(b)(ARITHMETIC[sign](list(b), a))
        return ARITHMETIC[sign](a, list(b) if type(b) is ListV else b)
    except (NotPlainError, KeyError):
        return Unknown()
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        return Unknown(raises=type(error).__name__)


def _joined(sign: str, a: tuple[Value, ...], b: tuple[Value, ...]) -> Value:
    """Two containers put together, or what sets have and have not in common."""
    if isinstance(a, SetV) and isinstance(b, SetV) and sign in "|-^":
        if sign == "|":
            return SetV(dict.fromkeys((*a, *b))) if is_constant(a) and is_constant(b) else SetV((*a, *b))
        if not (is_constant(a) and is_constant(b)):
            return Unknown((), depends(a) or depends(b))
        rest = SetV(item for item in a if item not in b)
        return rest if sign == "-" else SetV((*rest, *(item for item in b if item not in a)))
    if sign != "+" or type(a) is not type(b) or isinstance(a, SetV):
        return Unknown((), depends(a) or depends(b))
    return type(a)((*a, *b))


def common_to(lanes: PerTarget, a: Value, b: Value) -> Value:
    """What two sets share: of a list of targets and one nobody can tell, such as the visible GPUs', the target's."""
    if is_constant(a) and is_constant(b) and isinstance(a, tuple) and isinstance(b, tuple):
        return SetV(item for item in a if item in b)
    named, other = (b, a) if isinstance(b, SetV) else (a, b)
    if not isinstance(named, SetV) or not isinstance(other, Unknown) or len(named) < 2:
        return Unknown((), depends(a) or depends(b))
    if not all(is_constant(i) and not isinstance(i, int) and encode(lanes.targets[0][0], i) is not None for i in named):
        return Unknown(other.names, other.arch)
    return lanes.by_target(lambda t: SetV(item for item in named if encode(t, item) == item))


def _as_number(lanes: PerTarget, value: Value, other: Value) -> Value:
    if isinstance(value, Capability) and not isinstance(other, str):
        return lanes.sm
    return value
