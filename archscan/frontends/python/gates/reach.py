"""Which targets reach a statement: the enclosing arms and the early exits before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.conditions import Answer, always, answer, arm_answers, entered, passed
from archscan.frontends.python.source.blocks import ends, returns_in
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import if_arms, oneline, operands, statements, text
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


def reach_of(scan: GateCollector, path: list[Node]) -> Answer:
    """What the enclosing arms and the early exits before the statement leave over."""
    result, begin = _known_reach(scan, path)
    whole = scan.interpreter.cut_short
    for i in range(begin, len(path) - 1):
        node, below = path[i], path[i + 1]
        if node.type in ("function_definition", "class_definition", "lambda"):
            result = _constructed(scan, node, path[:i])
        elif node.type == "if_statement" and i < len(path) - 2:
            result = result & _entered(scan, node, path, i)
        elif node.type == "conditional_expression" and i < len(path) - 2:
            result = result & _chosen(scan, node, below, path[: i + 1])
        elif node.type == "case_clause" and below == child(node, "consequence"):
            result = result & _matched(scan, node)
        elif node.type == "block":
            result = result & survived(scan, node, below.start_byte, path[: i + 1])
            if whole == scan.interpreter.cut_short:
                scan.found.reached[_statement_key(scan, node, below)] = result
    return result


def _known_reach(scan: GateCollector, path: list[Node]) -> tuple[Answer, int]:
    """The answer for the innermost statement around that was asked for before, and where the path goes on from it."""
    for i in range(len(path) - 2, -1, -1):
        if path[i].type == "block":
            known = scan.found.reached.get(_statement_key(scan, path[i], path[i + 1]))
            if known is not None:
                return known, i + 1
    return always(scan.interpreter), 0


def _statement_key(scan: GateCollector, block: Node, statement: Node) -> tuple[int, int, int, int]:
    """A statement of a block, as long as no more is known of what asks for the target."""
    return block.start_byte, block.end_byte, statement.start_byte, len(scan.offsets)


def _constructed(scan: GateCollector, method: Node, around: list[Node]) -> Answer:
    """The answer of having an object to call a method of: its constructor refuses nobody who gets there."""
    if around and around[-1].type == "decorated_definition":
        around = around[:-1]
    is_method = len(around) > 1 and around[-2].type == "class_definition" and method.type == "function_definition"
    for statement in statements(around[-1]) if is_method else ():
        name, body = child(statement, "name"), child(statement, "body")
        if statement.type == "function_definition" and name is not None and text(name) == "__init__":
            if body is None or statement == method:
                break
            return survived(scan, body, body.end_byte, [*around, statement, body], refuses=True)
    return always(scan.interpreter)


def _entered(scan: GateCollector, node: Node, path: list[Node], i: int) -> Answer:
    """The answer of the arm of an if statement that the path goes through, remembered."""
    clause = path[i + 2] if path[i + 1].type == "elif_clause" else path[i + 1]
    key = (node.start_byte, node.end_byte, clause.start_byte)
    known = scan.found.entered.get(key)
    if known is None:
        whole = scan.interpreter.cut_short
        known = _arm_entered(scan, node, path, i)
        if whole == scan.interpreter.cut_short:
            scan.found.entered[key] = known
    return known


def _arm_entered(scan: GateCollector, node: Node, path: list[Node], i: int) -> Answer:
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


def survived(scan: GateCollector, block: Node, end: int, path: list[Node], refuses: bool = False) -> Answer:
    """The answer of not having left the block before `end`: in an if, or by failing an assert that asks for the target.

    `refuses` leaves out who only turns back.
    """
    result = always(scan.interpreter)
    for statement in statements(block):
        if statement.start_byte >= end:
            break
        if statement.type == "assert_statement" and scan.asks(statement):
            asserted = operands(statement)[0]
            own = answer(scan.interpreter, asserted, scan.frame([*path, statement]))
            result = result & entered(scan.interpreter, own, asserted) if own.arch else result
        if statement.type != "if_statement":
            continue
        arms = if_arms(statement)
        turning = [not refuses and _turns_back(arm) for _, arm in arms]
        leaving = [ends(arm) and not (refuses and _turns_back(arm)) for _, arm in arms]
        if not any(turning) and not (any(leaving) and scan.asks(statement)):
            continue
        answers = arm_answers(scan.interpreter, statement, scan.frame([*path, statement]))
        for (asked, arm), own, leaves, turns in zip(arms, answers, leaving, turning, strict=True):
            if leaves and own.arch:
                result = result & passed(scan.interpreter, own, asked or arm)
            elif turns:
                result = result & passed(scan.interpreter, _by_default(own), asked or arm)
    return result


def _chosen(scan: GateCollector, node: Node, below: Node, path: list[Node]) -> Answer:
    """The answer of the side of a ternary that the path goes through."""
    parts = operands(node)
    if len(parts) != 3 or below == parts[1]:
        return always(scan.interpreter)
    own = answer(scan.interpreter, parts[1], scan.frame([*path, node]))
    side = entered if below == parts[0] else passed
    return side(scan.interpreter, own, parts[1])


def _matched(scan: GateCollector, case: Node) -> Answer:
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
