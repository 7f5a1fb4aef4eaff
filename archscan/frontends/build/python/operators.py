"""Arithmetic, and, or, not."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable

from archscan.frontends.build.python.environment import read_environment
from archscan.frontends.build.python.functions import percent
from archscan.frontends.build.python.script import Script, name_of
from archscan.frontends.build.python.values import (
    Either,
    Items,
    Opaque,
    Str,
    Unknown,
    Value,
    either,
    names_in,
    text_of,
    together,
)

LARGEST_NUMBER = 2**64


_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b if abs(a) < 1e9 and abs(b) < 1e9 else 0,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Div: lambda a, b: a / b,
}


def binary_operation(script: Script, node: ast.BinOp, frame: dict[str, Value]) -> Value:
    return binary(script, node.op, script.value(node.left, frame), script.value(node.right, frame))


def binary(script: Script, op: ast.operator, left: Value, right: Value) -> Value:
    if isinstance(left, Either):
        same = left is right  # what is added to itself has one value at a time
        return either(binary(script, op, one, one if same else right) for one in left.values)
    if isinstance(right, Either):
        return either(binary(script, op, left, one) for one in right.values)
    if isinstance(op, ast.Add) and isinstance(left, Items):
        made = Items(list(left.items), left.kind, left.is_open)
        outer, script.asked = script.asked, ()
        script.extend(made, right)
        script.asked = outer
        return made
    if isinstance(op, ast.Add) and isinstance(right, Items) and not isinstance(left, Items):
        return Items(list(right.items), right.kind, together(right.is_open, names_in(left)))
    if isinstance(op, ast.Add) and (isinstance(left, Str) or isinstance(right, Str)):
        return Str((*text_of(left), *text_of(right)))
    if isinstance(op, ast.Mod) and isinstance(left, Str):
        return percent(left.runs, right.values() if isinstance(right, Items) and right.kind == "tuple" else [right])
    if isinstance(left, int | float) and isinstance(right, int | float) and type(op) in _ARITHMETIC:
        with contextlib.suppress(ArithmeticError, ValueError):
            number = _ARITHMETIC[type(op)](left, right)
            return number if abs(number) < LARGEST_NUMBER else Unknown(("a large number",))
    return Unknown((*names_in(left), *names_in(right)))


def boolean(script: Script, node: ast.BoolOp, frame: dict[str, Value]) -> Value:
    stops = isinstance(node.op, ast.Or)
    open_: list[Value] = []
    asked: list[str] = []
    for part in node.values:
        value = script.value(part, frame)
        if stops and isinstance(value, Unknown) and _asks_environment(part) and len(value.because) == 1:
            asked += value.because
        elif stops and isinstance(value, Str) and asked and len(asked) == len(open_):
            for name in asked:  # the default of `os.environ.get("A") or os.environ.get("B") or "8.0"`
                value = read_environment(script, name, value, required=False)
            return value
        answer = script.truth(value)
        if answer is None:
            open_.append(value)
        elif answer is stops:
            return either((*open_, value)) if open_ and not isinstance(value, bool) else value
    if open_:
        plain = [v for v in open_ if not isinstance(v, Unknown | Opaque)]
        return either(plain) if plain else Unknown(tuple(n for v in open_ for n in names_in(v)))
    return value


def _asks_environment(node: ast.expr) -> bool:
    """Whether an expression asks for a variable of the environment: `os.environ.get("NAME")`, `os.getenv("NAME")`."""
    return isinstance(node, ast.Call) and name_of(node.func).endswith(("environ.get", "getenv"))


def unary(script: Script, node: ast.UnaryOp, frame: dict[str, Value]) -> Value:
    value = script.value(node.operand, frame)
    if isinstance(node.op, ast.Not):
        answer = script.truth(value)
        return Unknown(names_in(value)) if answer is None else not answer
    return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else Unknown(names_in(value))
