"""Which lanes take a condition, and what alternative values come to where several may reach a lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.loops import asked
from archscan.frontends.python.interpreter.operations import by_cover, preferred
from archscan.frontends.python.interpreter.values import Maybe, Value, depends, unite
from archscan.frontends.python.source.syntax import oneline

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


def taken(
    interpreter: Interpreter, condition: Node | None, frame: Frame, left: int
) -> tuple[int, int, tuple[str, ...]]:
    """Lanes of `left` that surely and perhaps take a condition, and what the latter hang on."""
    if condition is None:
        return left, 0, ()
    return split_truth(interpreter, asked(interpreter, condition, frame), condition, left)


def split_truth(interpreter: Interpreter, truth: Value, condition: Node, left: int) -> tuple[int, int, tuple[str, ...]]:
    """Lanes of `left` on which a truth is surely and perhaps yes, and what the latter hang on."""
    yes = maybe = 0
    names: tuple[str, ...] = ()
    for value, mask in interpreter.lanes.groups(truth):
        settled = value.value if isinstance(value, Maybe) and value.default else value
        if settled is True:
            yes |= mask & left
        elif settled is not False:
            maybe |= mask & left
            names = unite(names, getattr(value, "names", ()))
    return yes, maybe, names or ((oneline(condition, 80),) if maybe else ())


def combine(interpreter: Interpreter, parts: list[tuple[Value, int, tuple[str, ...]]]) -> Value:
    """One value out of alternatives: where several reach a lane, the one that is not a mere default."""
    sure = [(v, m) for v, m, names in parts if not names]
    covered = 0
    for _, mask in sure:
        covered |= mask
    rest = [(v, m & ~covered, n) for v, m, n in parts if n and m & ~covered]
    if not rest:
        doubtful = [(v, m, n) for v, m, n in parts if n and m]
        return interpreter.lanes.merge(sure) if not doubtful else _choose(interpreter, parts)
    return _choose(interpreter, parts)


def _choose(interpreter: Interpreter, parts: list[tuple[Value, int, tuple[str, ...]]]) -> Value:
    """Where several alternatives reach a lane, the one that asks for the target, if only one does."""
    values = tuple(v for v, _, _ in parts)
    asking = frozenset(i for i, v in enumerate(values) if depends(v))
    result: list[tuple[Value, int]] = []
    for items, mask in interpreter.lanes.spread(values):
        for lanes, reach in by_cover(parts, mask):
            told = [at for at, i in enumerate(reach) if i in asking]
            result.append((preferred([(items[i], parts[i][2]) for i in reach], told), lanes))
    return interpreter.lanes.merge(result)
