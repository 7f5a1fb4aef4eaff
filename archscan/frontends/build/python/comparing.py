"""Comparisons, and what is looked for in what."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from archscan.frontends.build.python.script import Script, is_toolkit_home
from archscan.frontends.build.python.values import (
    Items,
    Opaque,
    Release,
    Str,
    Table,
    Unknown,
    Value,
    key_of,
    names_in,
    version_in,
)
from archscan.frontends.build.traced import readable

_ORDERS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Lt: lambda a, b: a < b,  # type: ignore[operator]
    ast.LtE: lambda a, b: a <= b,  # type: ignore[operator]
    ast.Gt: lambda a, b: a > b,  # type: ignore[operator]
    ast.GtE: lambda a, b: a >= b,  # type: ignore[operator]
}

_CLASSES = {"str", "int", "float", "dict", "bool", "list", "tuple", "set"}  # of which type() tells them apart


def compare(script: Script, node: ast.Compare, frame: dict[str, Value]) -> Value:
    left = script.value(node.left, frame)
    answers: list[bool | None] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = script.value(right_node, frame)
        answers.append(compared(script, op, left, right, right_node))
        left = right
    if False in answers:
        return False
    return True if None not in answers else Unknown(names_in(left) or (readable(script.source(node))[:60],))


def compared(script: Script, op: ast.cmpop, left: Value, right: Value, right_node: ast.expr) -> bool | None:
    if isinstance(op, ast.In | ast.NotIn):
        return membership(script, op, left, right)
    if isinstance(left, Opaque) and isinstance(right, Opaque) and {left.name, right.name} <= _CLASSES:
        return (left.name == right.name) == isinstance(op, ast.Is | ast.Eq)
    if right is None and isinstance(left, Opaque) and is_toolkit_home(left.name):
        return isinstance(op, ast.IsNot | ast.NotEq)
    try:
        one, other = key_of(left), key_of(right)
    except TypeError:
        return None
    if isinstance(left, Release) or isinstance(right, Release):
        script.by_release = True
        versions = _as_version(left), _as_version(right)
        if versions[0] is None or versions[1] is None:
            return None
        size = max(map(len, (versions[0], versions[1])))
        one, other = ((*version, *(0,) * (size - len(version))) for version in versions if version is not None)
    if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return bool(one == other) == isinstance(op, ast.Is | ast.Eq)
    try:
        return bool(_ORDERS[type(op)](one, other))
    except TypeError:
        return None


def membership(script: Script, op: ast.cmpop, left: Value, right: Value) -> bool | None:
    """x in list, part in text, key in table."""
    try:
        needle = key_of(left)
    except TypeError:
        return None
    found: bool | None = None
    if isinstance(right, Items):
        keys = [key_or_none(value) for value, when in right.items if not when]
        note_looked_in(script, right.values())
        unsure = right.is_open or len(keys) < len(right.items) or None in keys
        found = True if needle in keys else None if unsure else False
    elif isinstance(right, Str) and right.known is not None and isinstance(needle, str):
        found = needle in right.known
    elif isinstance(right, Table):
        note_looked_in(script, right.items.values())
        found = bool(needle in right.items)
    return found if found is None or isinstance(op, ast.In) else not found


def note_looked_in(script: Script, values: Iterable[Value]) -> None:
    """Notes where the texts are written that something is looked up in."""
    places = [run.at for value in values if isinstance(value, Str) for run in value.runs if run.at >= 0]
    if places:
        script.looked_in.append((min(places), max(places)))


def key_or_none(value: Value) -> object:
    try:
        return key_of(value)
    except TypeError:
        return None


def _as_version(value: Value) -> tuple[int, ...] | None:
    if isinstance(value, Release):
        return value.numbers
    if isinstance(value, Str):
        found = version_in(value.known or "")
        return found.numbers if found else None
    if isinstance(value, float):
        return tuple(int(part) for part in str(value).split("."))
    if isinstance(value, int) and not isinstance(value, bool):
        return (value // 1000, value % 1000 // 10) if value >= 1000 else (value,)
    if isinstance(value, Items):
        keys = [key_or_none(v) for v in value.values()]
        return tuple(k for k in keys if isinstance(k, int)) if all(isinstance(k, int) for k in keys) else None
    return None
