"""What may leave a block before its end: what may raise, what suppresses it, and what leaves a loop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.pure import PURE
from archscan.frontends.python.interpreter.values import Assumed, Cases, ExternalV, FuncV, Partitioned, Unknown, Value
from archscan.frontends.python.source.syntax import SCOPES, operands, statements, text
from archscan.frontends.python.source.syntax import field as child

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_PLAIN = frozenset(
    {
        "identifier", "integer", "float", "string", "concatenated_string", "true", "false", "none", "tuple", "list",
        "set", "dictionary", "pair", "parenthesized_expression", "not_operator", "boolean_operator", "unary_operator",
        "conditional_expression", "expression_list", "lambda", "pattern_list", "tuple_pattern", "comparison_operator",
        "string_start", "string_content", "string_end", "interpolation", "list_splat",
    }
)  # fmt: skip
_SETTLED = frozenset(
    {"attribute", "subscript", "binary_operator", "call", "generator_expression", "list_comprehension"}
)
_DEEPEST = 3


def cannot_raise(interpreter: Interpreter, block: Node, frame: Frame, depth: int = 0) -> bool:
    """Whether nothing in a block can raise, as far as it is followed: a GPU is taken to be there to be asked."""
    return passes(interpreter, statements(block), frame, depth)


def passes(interpreter: Interpreter, some: list[Node], frame: Frame, depth: int = 0) -> bool:
    """Whether none of some statements can raise."""
    return all(_statement(interpreter, one, frame, depth) for one in some)


def _statement(interpreter: Interpreter, node: Node, frame: Frame, depth: int) -> bool:
    kind = node.type
    if kind in ("pass_statement", "global_statement", "nonlocal_statement", "break_statement", "continue_statement"):
        return True
    if kind in ("function_definition", "comment"):
        return True
    if kind in ("import_statement", "import_from_statement"):
        return _is_there(interpreter, node, frame)
    if kind == "expression_statement":
        return all(_expression(interpreter, part, frame, depth) for part in operands(node))
    if kind == "return_statement":
        return all(_expression(interpreter, part, frame, depth) for part in operands(node))
    if kind == "if_statement":
        parts = [child(node, "condition"), *(child(c, "condition") for c in node.children_by_field_name("alternative"))]
        blocks = [child(node, "consequence")]
        for clause in node.children_by_field_name("alternative"):
            blocks.append(child(clause, "consequence") or child(clause, "body"))
        return all(_expression(interpreter, p, frame, depth) for p in parts if p is not None) and all(
            cannot_raise(interpreter, b, frame, depth) for b in blocks if b is not None
        )
    return False


def _is_there(interpreter: Interpreter, node: Node, frame: Frame) -> bool:
    """Whether what is imported is there: what was scanned, and torch, without which nothing asks for a GPU."""
    source = child(node, "module_name")
    names = [source] if source is not None else node.children_by_field_name("name")
    for name in names:
        dotted = text(child(name, "name") or name)
        if dotted.split(".")[0] not in _THERE:
            return False
    return bool(names)


_THERE = frozenset({"torch", "os", "sys", "re", "functools", "typing", "warnings", "logging"})


def _expression(interpreter: Interpreter, node: Node, frame: Frame, depth: int) -> bool:
    kind = node.type
    if kind == "assignment":
        left, right = child(node, "left"), child(node, "right")
        if left is None or left.type not in ("identifier", "pattern_list", "tuple_pattern", "attribute"):
            return False
        if right is None or not _expression(interpreter, right, frame, depth):
            return False
        return left.type in ("identifier", "attribute") or _settled(interpreter.evaluate(right, frame))
    if kind in _SETTLED:
        if not _calls_known(interpreter, node, frame, depth):
            return False
        return kind == "call" or _settled(interpreter.evaluate(node, frame))
    if kind == "identifier":
        return True
    if kind not in _PLAIN:
        return False
    if kind == "lambda":
        return True
    if kind in ("comparison_operator", "unary_operator"):
        signs = {c.type for c in node.children_by_field_name("operators")}
        if not signs or not signs <= {"==", "!=", "is", "is not"}:
            return _calls_known(interpreter, node, frame, depth) and _settled(interpreter.evaluate(node, frame))
    return all(_expression(interpreter, part, frame, depth) for part in operands(node) if part.is_named)


def _settled(value: Value) -> bool:
    """Whether a value is told, so that what gives it came to its end."""
    if type(value) is Partitioned:
        return all(_settled(one) for one, _ in value.groups)
    return not isinstance(value, (Unknown, Assumed, Cases))


def _calls_known(interpreter: Interpreter, node: Node, frame: Frame, depth: int) -> bool:
    """Whether all that an expression calls is known not to raise."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "call" and not _call(interpreter, current, frame, depth):
            return False
        if current.type not in SCOPES:
            stack.extend(current.named_children)
    return True


def _call(interpreter: Interpreter, call: Node, frame: Frame, depth: int) -> bool:
    function = child(call, "function")
    if function is None:
        return False
    callee = interpreter.evaluate(function, frame)
    if isinstance(callee, ExternalV):
        short = callee.name.rsplit(".", 1)[-1]
        if interpreter.knowledge.call(callee.name, short, interpreter.lanes) is not None:
            return True
        return callee.name in PURE and _settled(interpreter.evaluate(call, frame))
    if (
        isinstance(callee, FuncV)
        and not callee.doubt
        and depth < _DEEPEST
        and callee.node.type == "function_definition"
    ):
        body = child(callee.node, "body")
        inside = interpreter.function_frame(callee, {})
        return body is not None and cannot_raise(interpreter, body, inside, depth + 1)
    return False


def leaves_loop(block: Node) -> bool:
    """Whether a round of a loop may end before its end."""
    stack = [block]
    while stack:
        node = stack.pop()
        if node.type in (
            "break_statement",
            "continue_statement",
            "return_statement",
            "raise_statement",
            "try_statement",
        ):
            return True
        if node.type not in SCOPES:
            stack.extend(node.named_children)
    return False


_SUPPRESSING = re.compile(r"suppress|raises|ignore|catch|shield|timeout|silen", re.IGNORECASE)


def suppressing(interpreter: Interpreter, node: Node, frame: Frame) -> tuple[str, ...]:
    """What a with statement holds that may go on behind the block although the block raised."""
    found: list[str] = []
    clause = next((c for c in node.named_children if c.type == "with_clause"), None)
    for item in operands(clause) if clause is not None else ():
        value = child(item, "value")
        if value is not None and value.type == "as_pattern" and operands(value):
            value = operands(value)[0]
        if value is None:
            continue
        function = child(value, "function") if value.type == "call" else value
        held = interpreter.evaluate(function, frame) if function is not None else Unknown()
        if (
            not isinstance(held, (ExternalV, Unknown))
            or (isinstance(held, Unknown) and held.lost)
            or _SUPPRESSING.search(text(value))
        ):
            found.append("with " + " ".join(text(value).split())[:50])
    return tuple(found)
