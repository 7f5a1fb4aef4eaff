"""When a condition is met, as a presence condition, and what alternative values come to where several may be meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.lanewise import truth_of
from archscan.frontends.python.interpreter.loops import rounds_of
from archscan.frontends.python.interpreter.operations import Alternative, by_cover, preferred
from archscan.frontends.python.interpreter.values import Assumed, Cases, Unknown, Value, depends
from archscan.frontends.python.source.syntax import inner, oneline, operands, text, walk
from archscan.model.condition import Atom, AtomKind, Cond, asked, both, choice, either, negated, unnamed

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


def taken(interpreter: Interpreter, condition: Node | None, frame: Frame) -> Cond:
    """When an `if` with that condition is entered; one in a loop over a literal, for some item.

    Where it only goes on to the next item, it has to be met by all: else some item gets further.
    """
    if condition is None:
        return interpreter.lanes.all
    whole = truth_of(interpreter.lanes, interpreter.tested(interpreter.evaluate(condition, frame)))
    rounds = rounds_of(interpreter, condition, frame, whole)
    if rounds is None:
        return when_met(interpreter, whole, condition, frame)
    return met(interpreter, rounds.every if rounds.goes_on else rounds.some, condition, frame)


def when_met(interpreter: Interpreter, whole: Value, node: Node, frame: Frame) -> Cond:
    """When a condition that comes to a truth holds: what is asked twice in it is one unknown."""
    yes = no = 0
    for one, mask in interpreter.lanes.groups(whole):
        told = one.value if isinstance(one, Assumed) and one.default else one
        yes |= mask if told is True else 0
        no |= mask if told is False else 0
    left = interpreter.lanes.all & ~yes & ~no
    if not left:
        return yes
    parts = list(_parts(node))
    if len(parts) == 1:
        return either(yes, both(met(interpreter, whole, parts[0], frame), left))
    values = [truth_of(interpreter.lanes, interpreter.tested(interpreter.evaluate(part, frame))) for part in parts]
    names = [text(part) for part in parts if part.type in _NAMES]
    twice = {name for name in names if names.count(name) > 1}
    changing = bool(twice) and any(map(_may_change, parts))
    conditions: dict[int, Cond] = {}
    for part, value in zip(parts, values, strict=True):
        name = text(part) if part.type in _NAMES else ""
        is_one = name in twice and (not changing or _is_local(name, frame))
        key = (node.start_byte, node.end_byte, name) if is_one else None
        conditions[part.id] = met(interpreter, value, part, frame, key)
    return either(yes, both(_joined(node, conditions, interpreter.lanes.all), left))


def met(interpreter: Interpreter, truth: Value, node: Node, frame: Frame, key: object = None) -> Cond:
    """When a truth that was asked for at a node holds; what is not known of it is one unknown, known by a key."""
    result: Cond = 0
    for value, mask in interpreter.lanes.groups(truth):
        one = value.value if isinstance(value, Assumed) and value.default else value
        if one is True:
            result = either(result, mask)
        elif isinstance(one, Cases):
            for holds, when in one.cases:
                result = either(result, both(when, mask)) if holds is True else result
        elif one is not False:
            result = either(result, asked(_unknown(one, node, frame, key), mask))
    return result


def _unknown(one: Value, node: Node, frame: Frame, key: object) -> Atom:
    """What nobody can tell of a condition: in one run of a function the same for the same place."""
    if isinstance(one, Unknown) and one.holds is not None:
        return one.holds
    key = key or (node.start_byte, node.end_byte)
    found = frame.unknowns.get(key)
    if found is None:
        names = getattr(one, "names", ()) or (oneline(node, 80),)
        kind: AtomKind = "architecture" if isinstance(one, Unknown) and one.arch else "expr"
        found = frame.unknowns[key] = unnamed(names, kind)
    return found


_NAMES = frozenset({"identifier", "attribute"})
_JOINED = frozenset({"boolean_operator", "not_operator", "conditional_expression"})


def _parts(node: Node) -> Iterator[Node]:
    """What the `and`, `or`, `not` and choices of a condition join."""
    node = inner(node)
    if node.type not in _JOINED:
        yield node
        return
    for part in operands(node):
        yield from _parts(part)


def _joined(node: Node, conditions: dict[int, Cond], everything: int) -> Cond:
    """When a condition holds, by when its parts do."""
    node = inner(node)
    if node.type not in _JOINED:
        return conditions[node.id]
    inside = [_joined(part, conditions, everything) for part in operands(node)]
    if node.type == "not_operator":
        return negated(inside[0], everything)
    if node.type == "conditional_expression":
        return choice(inside[1], inside[0], inside[2])
    is_and = any(c.type == "and" for c in node.children)
    return (both if is_and else either)(inside[0], inside[1])


def _may_change(part: Node) -> bool:
    """Whether asking for a part of a condition may change what a name holds that is not the function's own."""
    return any(n.type in ("call", "await", "named_expression", "yield") for n in walk(part))


def _is_local(name: str, frame: Frame) -> bool:
    """Whether a name is one of the function alone, which nothing that it calls can set."""
    body = frame.scope.body.text or b""
    own = frame.parent is not None and not frame.is_class and frame.scope.holds(name)
    return own and name not in frame.scope.outer and b"nonlocal" not in body and b":=" not in body


def combine(interpreter: Interpreter, parts: Sequence[Alternative]) -> Value:
    """One value out of alternatives: where several reach a lane, the one that is not a mere default."""
    parts = [part for part in parts if part[1] != 0]
    sure = [(value, when) for value, when in parts if isinstance(when, int)]
    if len(sure) == len(parts):
        return interpreter.lanes.merge(sure)
    values = tuple(value for value, _ in parts)
    asking = frozenset(i for i, value in enumerate(values) if depends(value))
    result: list[tuple[Value, int]] = []
    for items, mask in interpreter.lanes.spread(values):
        for lanes, reach in by_cover(parts, mask):
            told = [at for at, i in enumerate(reach) if i in asking]
            result.append((preferred([(items[i], parts[i][1]) for i in reach], told), lanes))
    return interpreter.lanes.merge(result)
