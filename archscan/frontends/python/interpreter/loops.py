"""Evaluates conditions on the variables of a loop over a literal: item by item, for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.exceptions import cannot_raise, passes
from archscan.frontends.python.interpreter.frames import NO_SCOPE, Frame
from archscan.frontends.python.interpreter.lanewise import items_of, logical, truth_of
from archscan.frontends.python.interpreter.operations import LONGEST_LOOP, item_of
from archscan.frontends.python.interpreter.values import Cases, DictV, Unknown, Value, depends, is_constant
from archscan.frontends.python.source.scopes import Binding
from archscan.frontends.python.source.syntax import SCOPES, if_arms, operands, statements, text
from archscan.frontends.python.source.syntax import field as child

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


@dataclass(frozen=True, slots=True)
class Rounds:
    """What a condition on the variable of a loop over a literal comes to: for some item, and for every one.

    `sure` = nothing leaves the loop or goes on with its next round before all items have come to the condition.
    """

    some: Value
    every: Value
    goes_on: bool
    sure: bool


def rounds_of(interpreter: Interpreter, condition: Node, frame: Frame, whole: Value) -> Rounds | None:
    """What a condition comes to over the rounds of a loop around it; None where they do not differ, for all we know."""
    loop = None if _tells(interpreter, whole) else _loop_of(condition, frame)
    items = _items(interpreter, loop, frame) if loop is not None else ()
    if loop is None or not items:
        return None
    results = []
    for item in items:
        one = Frame(frame.module, NO_SCOPE, frame, loop_names(interpreter, loop.node, item))
        results.append(truth_of(interpreter.lanes, interpreter.evaluate(condition, one)))
        one.memo.clear()
    if not any(depends(result) for result in results):
        return None
    some: Value = False
    every: Value = True
    for result in results:
        some, every = logical(interpreter.lanes, False, some, result), logical(interpreter.lanes, True, every, result)
    return Rounds(some, every, _goes_on(condition), _is_come_to(interpreter, condition, loop, frame))


def _is_come_to(interpreter: Interpreter, condition: Node, loop: Binding, frame: Frame) -> bool:
    """Whether every round of a loop comes to a condition before anything leaves it, unless the condition was met."""
    body = child(loop.node.parent, "body") if loop.node.parent is not None else None
    statement: Node | None = condition
    while statement is not None and statement.type not in ("if_statement", "elif_clause", "block"):
        statement = statement.parent
    if body is None or statement is None or statement.type != "if_statement" or statement.parent != body:
        return False
    met = child(statement, "consequence")
    stack = [body]
    while stack:
        node = stack.pop()
        if node == met or node.type in SCOPES:
            continue
        if node.type in _LEAVING and (node.type != "continue_statement" or node.start_byte < statement.start_byte):
            return False
        stack.extend(node.named_children)
    rest = [block for _, block in if_arms(statement)[1:]]
    others = [one for one in statements(body) if one != statement]
    return all(cannot_raise(interpreter, block, frame) for block in rest) and passes(interpreter, others, frame)


_LEAVING = ("break_statement", "continue_statement", "return_statement", "raise_statement")


def _tells(interpreter: Interpreter, truth: Value) -> bool:
    """Whether a condition says something of the target whatever the item is."""
    return depends(truth) and not any(
        isinstance(one, Cases) or (isinstance(one, Unknown) and one.arch) for one, _ in interpreter.lanes.groups(truth)
    )


def _loop_of(condition: Node, frame: Frame) -> Binding | None:
    """The innermost loop around a condition that names its variable."""
    loops = frame.scope.loops
    named = [b for name in _identifiers(condition) if name in loops for b in frame.scope.of(name)] if loops else []
    around = [b for b in named if b.kind == "loop" and b.value is not None and _holds(b.node.parent, condition)]
    loop = max(around, key=lambda b: b.node.start_byte, default=None)
    if loop is not None and any(b.node != loop.node and _holds(loop.node.parent, b.node) for b in named):
        return None  # it gets other values on the way
    return loop


def _holds(loop: Node | None, condition: Node) -> bool:
    return loop is not None and loop.start_byte <= condition.start_byte < loop.end_byte


def _items(interpreter: Interpreter, loop: Binding, frame: Frame) -> tuple[Value, ...]:
    assert loop.value is not None
    items = items_of(interpreter.lanes, interpreter.evaluate(loop.value, frame)) or ()
    return items if 1 < len(items) <= LONGEST_LOOP and all(_is_data(item) for item in items) else ()


def _is_data(item: Value) -> bool:
    """Whether an item is a row of data: classes and functions that are gone through answer for themselves."""
    if isinstance(item, tuple):
        return all(_is_data(part) for part in item)
    return is_constant(item) or isinstance(item, DictV)


def _identifiers(node: Node) -> set[str]:
    found, stack = set(), [node]
    while stack:
        current = stack.pop()
        if current.type == "identifier":
            found.add(text(current))
        stack.extend(current.named_children)
    return found


def _goes_on(condition: Node) -> bool:
    """Whether all that happens where a condition is met is that the loop goes on."""
    statement = condition
    while statement.parent is not None and statement.type not in ("if_statement", "elif_clause", "block"):
        statement = statement.parent
    block = child(statement, "consequence")
    body = statements(block) if block is not None else []
    return bool(body) and body[-1].type == "continue_statement"


def loop_names(interpreter: Interpreter, target: Node, item: Value) -> dict[str, Value]:
    """What the target of a loop or comprehension binds for one item; None = nobody knows the item."""
    if target.type == "identifier":
        return {text(target): Unknown((text(target),)) if item is None else item}
    lanes = interpreter.lanes
    found: dict[str, Value] = {}
    for at, part in enumerate(operands(target)):
        inside = None if item is None else lanes.lift(lambda v, at=at: item_of(v, at, lanes), item)
        if part.type == "identifier":
            found[text(part)] = Unknown((text(part),)) if item is None else inside
        elif part.type in _NESTED:
            found.update(loop_names(interpreter, part, inside))
    return found


_NESTED = ("tuple_pattern", "list_pattern", "pattern_list")
