"""Which targets reach a statement: the enclosing arms and the early exits before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.blocks import ends
from archscan.frontends.python.conditions import Answer, always, answer, arm_answers, entered, passed
from archscan.frontends.python.syntax import if_arms, statements

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
        if own.arch:
            result = result & passed(scan.interpreter, own)
    return always(scan.interpreter)


def _survived(scan: ModulePass, block: Node, below: Node, path: list[Node]) -> Answer:
    """The answer of not having left the block in an earlier if that asks for the target."""
    result = always(scan.interpreter)
    for statement in statements(block):
        if statement.start_byte >= below.start_byte:
            break
        if statement.type == "if_statement" and scan.asks(statement):
            frame = scan.frame([*path, statement])
            for (_, arm), own in zip(if_arms(statement), arm_answers(scan.interpreter, statement, frame), strict=True):
                if own.arch and ends(arm):
                    result = result & passed(scan.interpreter, own)
    return result
