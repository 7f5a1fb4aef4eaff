"""Which targets reach a statement: the enclosing arms and the early exits before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.blocks import ends, returns_in
from archscan.frontends.python.conditions import Answer, always, answer, arm_answers, entered, passed
from archscan.frontends.python.syntax import field as child
from archscan.frontends.python.syntax import if_arms, oneline, operands, statements
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates import ModulePass


def reach_of(scan: ModulePass, path: list[Node]) -> Answer:
    """What the enclosing arms and the early exits before the statement leave over."""
    result = always(scan.interpreter)
    for i in range(len(path) - 1):
        node, below = path[i], path[i + 1]
        if node.type in ("function_definition", "class_definition", "lambda"):
            result = always(scan.interpreter)
        elif node.type == "if_statement" and i < len(path) - 2:
            result = result & _entered(scan, node, path, i)
        elif node.type == "conditional_expression" and i < len(path) - 2:
            result = result & _chosen(scan, node, below, path[: i + 1])
        elif node.type == "case_clause" and below == child(node, "consequence"):
            result = result & _matched(scan, node)
        elif node.type == "block":
            result = result & _survived(scan, node, below, path[: i + 1])
    return result


def _entered(scan: ModulePass, node: Node, path: list[Node], i: int) -> Answer:
    """The answer of the arm of an if statement that the path goes through."""
    frame = scan.frame(path[: i + 1])
    result = always(scan.interpreter)
    for condition, block in if_arms(node):
        if condition is None:
            return result if block.start_byte <= path[-1].start_byte < block.end_byte else always(scan.interpreter)
        own = answer(scan.interpreter, condition, frame)
        if block.start_byte <= path[-1].start_byte < block.end_byte:
            return result & entered(scan.interpreter, own, condition)
        result = result & passed(scan.interpreter, own, condition)
    return always(scan.interpreter)


def _survived(scan: ModulePass, block: Node, below: Node, path: list[Node]) -> Answer:
    """The answer of not having left the block in an earlier if, or failed in an assert that asks for the target."""
    result = always(scan.interpreter)
    for statement in statements(block):
        if statement.start_byte >= below.start_byte:
            break
        if statement.type == "assert_statement" and scan.asks(statement):
            asserted = operands(statement)[0]
            own = answer(scan.interpreter, asserted, scan.frame([*path, statement]))
            result = result & entered(scan.interpreter, own, asserted) if own.arch else result
        if statement.type != "if_statement":
            continue
        arms = if_arms(statement)
        if not any(_turns_back(arm) or (ends(arm) and scan.asks(statement)) for _, arm in arms):
            continue
        answers = arm_answers(scan.interpreter, statement, scan.frame([*path, statement]))
        for (asked, arm), own in zip(arms, answers, strict=True):
            if ends(arm) and own.arch:
                result = result & passed(scan.interpreter, own, asked or arm)
            elif _turns_back(arm):
                result = result & passed(scan.interpreter, _by_default(own), asked or arm)
    return result


def _chosen(scan: ModulePass, node: Node, below: Node, path: list[Node]) -> Answer:
    """The answer of the side of a ternary that the path goes through."""
    parts = operands(node)
    if len(parts) != 3 or below == parts[1]:
        return always(scan.interpreter)
    own = answer(scan.interpreter, parts[1], scan.frame([*path, node]))
    side = entered if below == parts[0] else passed
    return side(scan.interpreter, own, parts[1])


def _matched(scan: ModulePass, case: Node) -> Answer:
    """The answer of being in a case of a match statement, taken as meant: its subject is a question of its own."""
    names = (f"case {oneline(case.named_children[0], 50)}",)
    return Answer(Truth(0, 0), Truth(scan.interpreter.lanes.all, 0), names, names)


def _by_default(own: Answer) -> Answer:
    """An answer that rests on no target: what is so by default, such as a switch that is off, may be set otherwise."""
    return Answer(Truth(0, own.truth.no), Truth(0, own.assumed.no), own.unknowns, own.assumes)


def _turns_back(arm: Node) -> bool:
    """Whether an arm may decide that nothing is to be done here: arguments that it refuses say nothing of that."""
    last = statements(arm)[-1:]
    return bool(last) and (last[0].type in _TURNS or bool(returns_in(arm)))


_TURNS = ("return_statement", "continue_statement", "break_statement")
