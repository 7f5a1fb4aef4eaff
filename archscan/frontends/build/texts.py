"""The `string()` and `math()` commands, from values to the variables they set."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable

from archscan.frontends.build import patterns
from archscan.frontends.build.values import EMPTY, Origin, Value, joined, unknown

Assigned = dict[str, Value]
_OF_ONE: dict[str, Callable[[str], str]] = {
    "TOLOWER": str.lower,
    "TOUPPER": str.upper,
    "LENGTH": lambda text: str(len(text)),
    "STRIP": str.strip,
}
_MATH: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: int(a / b),
    ast.Mod: lambda a, b: a - b * int(a / b),
}


def string(values: list[Value], find: Callable[[str], Value | None]) -> Assigned:
    """What a string() command sets; unknown texts where it is one that is not evaluated."""
    if any(value.text is None for value in values):
        return _outputs(values, unknown(*(name for value in values for name in value.because)))
    words = [value.text or "" for value in values]
    origins = frozenset(origin for value in values for origin in value.origins)
    held = find(words[1]) if words[:1] in (["APPEND"], ["PREPEND"]) and len(words) > 1 else None
    if held is not None and held.text is None:
        return {words[1]: Value(None, origins | held.origins, held.because)}  # what is added to is not known
    made = _string(words, find)
    if made is None:
        return _outputs(values, Value(None, origins, ("string()",)))
    by_text = words[:2] == ["REGEX", "MATCH"] and patterns.asks_for_digits(words[2])
    return {name: Value(text, origins | _own(name, words, find), by_text=by_text) for name, text in made.items()}


def _own(name: str, words: list[str], find: Callable[[str], Value | None]) -> frozenset[Origin]:
    """Where the command changes a variable in place, what that came from."""
    found = find(name) if words[0] in ("APPEND", "PREPEND") else None
    return found.origins if found else frozenset()


_OUTPUT = {
    "REPLACE": 3, "FIND": 3, "TOLOWER": 2, "TOUPPER": 2, "LENGTH": 2, "SUBSTRING": 4, "STRIP": 2, "COMPARE": 4,
    "JOIN": 2, "GENEX_STRIP": 2, "REPEAT": 3, "MAKE_C_IDENTIFIER": 2, "HEX": 2,
}  # fmt: skip


def _outputs(values: list[Value], value: Value) -> Assigned:
    """The output variable, set to a value."""
    kind = values[0].text or "" if values else ""
    at = _OUTPUT.get(kind, 1)
    if kind == "REGEX":
        at = 4 if values[1:2] and values[1].text == "REPLACE" else 3
    out = values[at].text if len(values) > at else None
    return {out: value} if out else {}


def _string(words: list[str], find: Callable[[str], Value | None]) -> dict[str, str] | None:
    match words:
        case ["REGEX", kind, *rest]:
            return _regex(kind, rest)
        case ["REPLACE", old, new, out, *rest]:
            return {out: "".join(rest).replace(old, new) if old else "".join(rest)}
        case ["APPEND", out, *rest]:
            return {out: ((find(out) or EMPTY).text or "") + "".join(rest)}
        case ["PREPEND", out, *rest]:
            return {out: "".join(rest) + ((find(out) or EMPTY).text or "")}
        case ["CONCAT", out, *rest]:
            return {out: "".join(rest)}
        case ["JOIN", glue, out, *rest]:
            return {out: glue.join(rest)}
        case [kind, text, out] if kind in _OF_ONE:
            return {out: _OF_ONE[kind](text)}
        case ["FIND", text, part, out, *rest]:
            return {out: str(text.rfind(part) if rest == ["REVERSE"] else text.find(part))}
        case ["SUBSTRING", text, begin, length, out]:
            return _substring(text, begin, length, out)
        case ["COMPARE", order, one, other, out]:
            return _compare(order, one, other, out)
    return None


def _regex(kind: str, rest: list[str]) -> dict[str, str] | None:
    if kind == "REPLACE" and len(rest) >= 3:
        text = patterns.replaced(rest[0], rest[1], "".join(rest[3:]))
        return None if text is None else {rest[2]: text}
    if kind == "MATCHALL" and len(rest) >= 2:
        found = patterns.all_matches(rest[0], "".join(rest[2:]))
        return None if found is None else {rest[1]: ";".join(found)}
    if kind == "MATCH" and len(rest) >= 2:
        groups = patterns.matched(rest[0], "".join(rest[2:]))
        if groups is None:
            return None
        return {rest[1]: groups[0] if groups else "", **{f"CMAKE_MATCH_{i}": text for i, text in enumerate(groups)}}
    return None


def _substring(text: str, begin: str, length: str, out: str) -> dict[str, str] | None:
    try:
        start, count = int(begin), int(length)
    except ValueError:
        return None
    return {out: text[start:] if count < 0 else text[start : start + count]}


def _compare(order: str, one: str, other: str, out: str) -> dict[str, str] | None:
    answers = {
        "EQUAL": one == other,
        "NOTEQUAL": one != other,
        "LESS": one < other,
        "GREATER": one > other,
        "LESS_EQUAL": one <= other,
        "GREATER_EQUAL": one >= other,
    }
    return {out: "1" if answers[order] else "0"} if order in answers else None


def math(values: list[Value]) -> Assigned:
    """What math(EXPR out "expression") sets."""
    words = [value.text for value in values]
    if len(words) < 3 or words[0] != "EXPR" or words[1] is None:
        return {}
    origins = joined(values).origins
    try:
        tree = ast.parse((words[2] or "x")[:200], mode="eval").body
        return {words[1]: Value(str(_number(tree)), origins)}
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, OverflowError):
        if words[2] is not None and not all(map(_INTEGER.fullmatch, re.findall(r"\w+", words[2]))):
            return {words[1]: Value("", origins)}  # `120a / 10` is an error, and sets nothing
        return {words[1]: Value(None, origins, ("math()",))}


_INTEGER = re.compile(r"\d+|0[xX][0-9a-fA-F]+")


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _MATH:
        return _MATH[type(node.op)](_number(node.left), _number(node.right))
    raise ValueError("not an expression of integers")
