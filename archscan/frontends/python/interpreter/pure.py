"""What Python's own functions make of values that are known: they are called, on real Python values, target by target.

Only functions that do nothing but answer, on constants and containers of such, with bounded results.
"""

from __future__ import annotations

import ast
import bisect
import functools
import itertools
import json
import math
import operator
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from archscan.frontends.python.interpreter.containers import IterV, ListV, SetV, ViewV
from archscan.frontends.python.interpreter.frames import MISSING, Lazy
from archscan.frontends.python.interpreter.values import (
    Assumed,
    Cases,
    DictV,
    ExternalV,
    FuncV,
    PartialV,
    Partitioned,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_MOST_ITEMS = 256
_WIDTH = re.compile(r"\d{3,}|\*")  # of a format: it may make a text of gigabytes


class NotPlainError(Exception):
    """A value that has no counterpart in plain Python."""


class DiffersError(Exception):
    """A value differs between the targets that are asked for together."""


def applied(
    interpreter: Interpreter,
    function: Callable[..., Any],
    args: tuple[Value, ...],
    keywords: Mapping[str, Value] | None = None,
    is_ordered: bool = True,
) -> Value:
    """What a function gives on every target; MISSING if some argument is nothing that Python itself has."""
    names = tuple(keywords or ())
    values = (*args, *(keywords or {}).values())
    lanes = interpreter.lanes

    def call(items: tuple[Value, ...], mask: int) -> Value:
        real = [_plain(interpreter, item, mask, is_ordered) for item in items]
        count = len(real) - len(names)
        return lifted(function(*real[:count], **dict(zip(names, real[count:], strict=True))))

    try:
        if any(_is_guarded(value) for value in values):
            return lanes.lift(lambda *items: call(items, lanes.all), *values)
        parts: list[tuple[Value, int]] = []
        for items, mask in lanes.spread(values):
            parts += _on(interpreter, lambda lane, items=items: call(items, lane), mask)  # type: ignore[misc]
    except (NotPlainError, DiffersError):
        return MISSING
    except Exception as error:  # what a function raises, it raises in the scanned code
        return _raised(error)
    return lanes.merge(parts)


def _is_guarded(value: Value) -> bool:
    groups = value.groups if isinstance(value, Partitioned) else ((value, 0),)
    return any(isinstance(one, (Unknown, Assumed, Cases)) for one, _ in groups)


def _on(interpreter: Interpreter, call: Callable[[int], Value], mask: int) -> list[tuple[Value, int]]:
    """The answers on some targets: asked for all at once, and for each where they differ or some raise."""
    try:
        return [(call(mask), mask)]
    except NotPlainError:
        raise
    except Exception:
        parts: list[tuple[Value, int]] = []
        for _, lane in interpreter.lanes.targets:
            if lane & mask:
                try:
                    parts.append((call(lane & mask), lane & mask))
                except (NotPlainError, DiffersError):
                    raise
                except Exception as error:
                    parts.append((_raised(error), lane & mask))
        return parts


def _raised(error: Exception) -> Unknown:
    name = type(error).__name__
    return Unknown((name,), lost=True, raises=name)


def _plain(interpreter: Interpreter, value: Value, mask: int, ordered: bool) -> Any:
    """The Python object that a value stands for on some targets; in an `ordered` use a set of several has none."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, tuple) and (kind is ListV or kind is tuple or kind is IterV):
        items = [_plain(interpreter, item, mask, ordered) for item in value]
        return items if kind is ListV else iter(items) if kind is IterV else tuple(items)
    if isinstance(value, ViewV):
        return _View(_plain(interpreter, item, mask, ordered) for item in value)
    if isinstance(value, SetV) and (len(value) < 2 or not ordered):
        return {_plain(interpreter, item, mask, ordered) for item in value}
    if isinstance(value, DictV) and not value.open:
        rows = [(k, interpreter.evaluate(v.node, v.frame) if isinstance(v, Lazy) else v) for k, v in value.rows]
        return {_plain(interpreter, k, mask, ordered): _plain(interpreter, v, mask, ordered) for k, v in rows}
    if isinstance(value, (FuncV, PartialV)) or (isinstance(value, ExternalV) and value.name in PURE):
        return lambda *args: _called(interpreter, value, args, mask)
    if isinstance(value, Partitioned):
        held = [one for one, lanes in value.groups if lanes & mask]
        if len(held) > 1:
            raise DiffersError
        return _plain(interpreter, held[0], mask, ordered)
    raise NotPlainError


class _View(list[Any]):
    """What is gone through like a list, and neither written nor compared like one."""

    def __repr__(self) -> str:
        raise NotPlainError

    def __eq__(self, other: object) -> bool:
        raise NotPlainError

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None


_ATOMS = frozenset({bool, int, str, float, bytes, type(None)})


def _called(interpreter: Interpreter, function: Value, args: tuple[Any, ...], mask: int) -> Any:
    if isinstance(function, ExternalV):
        return PURE[function.name](*args)
    outcome = interpreter.invoke(function, tuple(lifted(a) for a in args), {})
    if any(one.mask & mask for one in outcome.raises):
        raise NotPlainError
    return _plain(interpreter, interpreter.lanes.whole(outcome.value), mask, True)


def lifted(result: Any) -> Value:
    """The value that stands for a Python object."""
    kind = type(result)
    if kind in _ATOMS:
        return result
    if kind in (list, tuple):
        return (ListV if kind is list else tuple)(lifted(item) for item in result)
    if kind in (set, frozenset):
        return SetV(lifted(item) for item in result)
    if kind in (dict, OrderedDict):
        return DictV(tuple((lifted(key), lifted(item)) for key, item in result.items()))
    if kind is range or hasattr(result, "__next__"):
        items = tuple(lifted(item) for item in itertools.islice(result, _MOST_ITEMS + 1))
        if len(items) <= _MOST_ITEMS:
            return ViewV(items) if kind is range else IterV(items)
    raise NotPlainError


def _bounded(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """A function of numbers whose second one must be small."""

    def bounded(a: Any, b: Any, *more: Any) -> Any:
        if not all(isinstance(n, (int, float)) for n in (a, b)) or abs(b) > most or abs(a) > 1 << most:
            raise NotPlainError
        return function(a, b, *more)

    return bounded


def _multiplied(a: Any, b: Any) -> Any:
    if not all(isinstance(n, (int, float)) for n in (a, b)):
        held, count = (b, a) if isinstance(a, int) else (a, b)
        if not isinstance(held, (str, list, tuple)) or not isinstance(count, int) or len(held) * count > _MOST_ITEMS:
            raise NotPlainError
        if isinstance(held, list) and any(isinstance(item, (list, dict, set)) for item in held):
            raise NotPlainError  # they are one and the same
    return a * b


def formatted(value: Any, specification: str = "") -> str:
    """A value as `format` writes it, in no more than a line."""
    if _WIDTH.search(specification):
        raise NotPlainError
    return format(value, specification)


def percent(pattern: Any, values: Any) -> Any:
    """What `%` makes of two numbers, or of a pattern and its values."""
    if isinstance(pattern, (str, bytes)) and _WIDTH.search(str(pattern)):
        raise NotPlainError
    return pattern % values


def _integer(value: Any = 0, *base: Any) -> int:
    if isinstance(value, str) and len(value) > _MOST_ITEMS:
        raise NotPlainError
    return int(value, *base)


def _hashed(value: Any) -> int:
    """Of numbers alone: those of texts differ from run to run."""
    if any(isinstance(one, (str, bytes, type(None))) for one in (value if isinstance(value, tuple) else (value,))):
        raise NotPlainError
    return hash(value)


def _reduced(function: Callable[..., Any], items: Any, *first: Any) -> Any:
    return functools.reduce(function, list(items), *first)


_OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"operator.{name}": getattr(operator, name) for name in (
        "eq", "ne", "lt", "le", "gt", "ge", "not_", "truth", "add", "sub", "floordiv", "truediv", "and_", "or_", "xor",
        "neg", "pos", "abs", "inv", "invert", "rshift", "contains", "countOf", "indexOf", "getitem", "concat", "index",
    )},
    "operator.mul": _multiplied, "operator.mod": percent, "operator.pow": _bounded(operator.pow, 8),
    "operator.lshift": _bounded(operator.lshift, 32),
}  # fmt: skip
_BUILT_IN: dict[str, Callable[..., Any]] = {
    "int": _integer, "str": str, "float": float, "bool": bool, "tuple": tuple, "list": list, "abs": abs, "round": round,
    "divmod": divmod, "pow": _bounded(pow, 8), "min": min, "max": max, "sum": sum, "sorted": sorted, "any": any,
    "all": all, "len": len, "ord": ord, "chr": chr, "hex": hex, "oct": oct, "bin": bin, "repr": repr, "hash": _hashed,
    "next": next, "zip": zip, "enumerate": enumerate, "reversed": reversed, "filter": filter, "map": map, "iter": iter,
    "range": range, "format": formatted, "set": set, "frozenset": frozenset, "dict": dict, "bytes": bytes,
}  # fmt: skip
_LIBRARY: dict[str, Callable[..., Any]] = {
    **{f"math.{name}": getattr(math, name) for name in (
        "floor", "ceil", "trunc", "sqrt", "log2", "log10", "log", "gcd", "fabs", "isclose", "fmod", "prod", "isqrt",
    )},
    **{f"bisect.{name}": getattr(bisect, name) for name in ("bisect", "bisect_left", "bisect_right")},
    **{f"itertools.{name}": getattr(itertools, name) for name in (
        "chain", "product", "islice", "accumulate", "takewhile", "dropwhile", "zip_longest", "combinations", "compress",
        "permutations", "filterfalse", "starmap", "pairwise",
    )},
    "itertools.chain.from_iterable": itertools.chain.from_iterable, "functools.reduce": _reduced,
    "json.loads": json.loads, "ast.literal_eval": ast.literal_eval, "collections.OrderedDict": dict,
    "dict.fromkeys": dict.fromkeys, "types.MappingProxyType": dict,
}  # fmt: skip
PURE = {**_BUILT_IN, **_OPERATORS, **_LIBRARY}
BUILTINS = frozenset(_BUILT_IN) | {
    "print", "isinstance", "issubclass", "getattr", "hasattr", "super", "type", "id", "callable", "setattr",
    "delattr", "vars",
}  # fmt: skip
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": _multiplied, "//": operator.floordiv, "%": percent,
    "/": operator.truediv,
    "|": operator.or_, "&": operator.and_, "^": operator.xor, ">>": operator.rshift, "**": PURE["operator.pow"],
    "<<": PURE["operator.lshift"],
}  # fmt: skip
# Functions whose answer does not hang on the order in which the items of a set come.
ANY_ORDER = frozenset(
    {
        "len", "min", "max", "sorted", "set", "frozenset", "any", "all", "bool", "operator.contains", "operator.eq",
        "operator.ne", "operator.le", "operator.lt", "operator.ge", "operator.gt", "operator.and_", "operator.or_",
        "operator.xor", "operator.sub", "operator.countOf", "operator.truth", "operator.not_",
    }
)  # fmt: skip

_OF_TEXT = frozenset(
    {
        "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdecimal", "isdigit",
        "isnumeric", "islower", "isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix",
        "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
        "swapcase", "title", "upper", "encode",
    }
)  # fmt: skip
_PADDING = frozenset({"zfill", "ljust", "rjust", "center"})
_OF_SEQUENCE = frozenset({"count", "index", "copy"})
_OF_SET = frozenset(
    {"union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint", "copy"}
)


def method_of(owner: Value, name: str) -> Callable[..., Any] | None:
    """A method that only answers, as a function of its owner and arguments; None if it is no such."""
    if isinstance(owner, str):
        if name == "format":
            return _formatted
        if name in _PADDING:
            return lambda text, width, *fill: getattr(text, name)(min(width, _MOST_ITEMS), *fill)
        known = _OF_TEXT
    elif type(owner) is SetV:
        known = _OF_SET
    else:
        known = _OF_SEQUENCE if type(owner) in (ListV, tuple) else frozenset()
    return (lambda held, *args, **named: getattr(held, name)(*args, **named)) if name in known else None


def _formatted(pattern: str, *args: Any, **named: Any) -> str:
    if _WIDTH.search(pattern) or _PARTS.search(pattern):
        raise NotPlainError
    return pattern.format(*args, **named)


_PARTS = re.compile(r"\{[^{}:]*[.\[]|\{[^{}]*\{")  # attributes of what is written, or a width that is written itself
