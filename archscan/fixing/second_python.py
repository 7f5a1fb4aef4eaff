"""Evaluates an edited Python condition a second time, from its text and without what proposed the edit.

Only constants, comparisons, `and`, `or`, `not`, `in`, tuples, lists and sets are rebuilt. All else is a leaf whose
value is not computed: it must be the capability in one of a few encodings, the one with which the condition before
the edit gives the answers that are known. Where nothing fits there is no answer, and no answer is no proof.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from archscan.model.target import Target, Universe
from archscan.model.truth import Truth

_ENCODINGS: tuple[Callable[[Target], object], ...] = (
    lambda t: (t.sm // 10, t.sm % 10),
    lambda t: t.sm // 10,
    lambda t: t.sm % 10,
    lambda t: t.sm,
    lambda t: t.sm * 10,
    lambda t: f"{t.sm // 10}.{t.sm % 10}",
    lambda t: f"sm_{t.sm}",
    lambda t: f"sm_{t.sm}{t.suffix}",
    lambda t: str(t.sm),
    lambda t: f"{t.sm}{t.suffix}",
    lambda t: float(f"{t.sm // 10}.{t.sm % 10}"),
)
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_LONGEST = 2000  # characters of a condition
_MOST_LEAVES = 2


class _Refused(Exception):
    """The text holds what is not rebuilt."""


def agrees(texts: Sequence[str], answers: Sequence[Truth], universe: Universe) -> bool:
    """Whether conditions give these answers for every device, all in one and the same encoding of the capability.

    Of several encodings that give the first of the answers, all have to give the others.
    """
    parsed = [_parsed(text) for text in texts]
    whole = [(tree, answer) for tree, answer in zip(parsed, answers, strict=True) if tree is not None]
    if len(whole) != len(texts) or not whole or any(answer.unknown(universe.device) for answer in answers):
        return False
    leaves = tuple(dict.fromkeys(leaf for tree, _ in whole for leaf in _leaves(tree)))
    if not 0 < len(leaves) <= _MOST_LEAVES:
        return False
    (first, known), *others = whole
    fitting = [
        encoding
        for chosen in product(_ENCODINGS, repeat=len(leaves))
        if all(_is_written(encode, first, universe) for encode in chosen)
        and _gives(first, encoding := dict(zip(leaves, chosen, strict=True)), known, universe)
    ]
    return bool(fitting) and all(_gives(tree, e, answer, universe) for e in fitting for tree, answer in others)


def _parsed(text: str) -> ast.expr | None:
    """The expression of a text; None where it is none, or too long to look at."""
    if len(text) > _LONGEST:
        return None
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _leaves(node: ast.expr) -> Iterator[str]:
    """What is not rebuilt, as text."""
    match node:
        case ast.Constant():
            return
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                yield from _leaves(part)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=inner):
            yield from _leaves(inner)
        case ast.Compare(left=left, comparators=parts):
            for part in (left, *parts):
                yield from _leaves(part)
        case _:
            yield ast.dump(node)


def _is_written(encode: Callable[[Target], object], tree: ast.expr, universe: Universe) -> bool:
    """Whether the condition writes some chip in this encoding: `"7.0"` is no name of one where they are `"70"`."""
    names = {encode(target) for target in universe.targets if not target.is_host}
    return any(constant in names for constant in _constants(tree))


def _constants(tree: ast.expr) -> Iterator[object]:
    """The numbers, texts and pairs of numbers that a condition writes."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=int() | float() | str() as value):
                yield value
            case ast.Tuple(elts=[ast.Constant(value=int() as major), ast.Constant(value=int() as minor)]):
                yield (major, minor)


def _gives(
    tree: ast.expr, encoding: Mapping[str, Callable[[Target], object]], answer: Truth, universe: Universe
) -> bool:
    """Whether a condition gives an answer for every device in this encoding."""
    for target in universe.targets:
        if target.is_host:
            continue
        try:
            value = bool(_value(tree, {leaf: encode(target) for leaf, encode in encoding.items()}))
        except (TypeError, _Refused):  # such a comparison raises: it is not this encoding
            return False
        if value is not bool(answer.yes & universe.bit(target)):
            return False
    return True


def _value(node: ast.expr, leaves: Mapping[str, object]) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, leaves) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, leaves) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, leaves)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            values = [_value(part, leaves) for part in parts]
            return tuple(values) if isinstance(node, ast.Tuple) else values
        case ast.Set(elts=parts):
            return frozenset(_value(part, leaves) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=parts):
            values = [_value(part, leaves) for part in (left, *parts)]
            steps = zip(ops, values, values[1:], strict=False)
            return all(_compared(op, one, other) for op, one, other in steps)
    known = leaves.get(ast.dump(node), leaves)
    if known is leaves:
        raise _Refused
    return known


def _compared(op: ast.cmpop, one: object, other: object) -> object:
    rule = _COMPARE.get(type(op))
    if rule is None:
        raise _Refused
    return rule(one, other)
