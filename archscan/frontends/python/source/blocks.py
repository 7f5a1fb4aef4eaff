"""Reads blocks and functions: how they end, what they return, which names and calls they hold."""

from __future__ import annotations

from tree_sitter import Node

from archscan.frontends.python.source.syntax import COMPOUND, exit_call, inner, operands, statements, text
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Scope

_HOLDERS = COMPOUND | {
    "return_statement", "block", "elif_clause", "else_clause", "except_clause", "except_group_clause",
    "finally_clause", "case_clause",
}  # fmt: skip
_LEAVES = ("return_statement", "raise_statement", "continue_statement", "break_statement")


def ends(block: Node) -> bool:
    """Whether what follows a block is not reached from its end."""
    body = statements(block)
    return bool(body) and (body[-1].type in _LEAVES or exit_call(body[-1]) is not None)


def returns_in(function: Node) -> list[Node]:
    """The return statements of a function or block, nested functions left out."""
    returns: list[Node] = []
    stack = [child(function, "body") or function]
    while stack:
        node = stack.pop()
        if node.type == "return_statement":
            returns.append(node)
        else:
            stack.extend(n for n in node.named_children if n.type in _HOLDERS)
    return returns


def is_predicate(function: Node) -> bool:
    """Whether a function only ever returns truths."""
    returns = returns_in(function)
    values = [inner(operands(r)[0]).type for r in returns if operands(r)]
    return (
        bool(values)
        and all(
            v in ("true", "false", "comparison_operator", "boolean_operator", "not_operator", "call") for v in values
        )
        and any(v != "call" for v in values)
    )


def scope_of(path: list[Node]) -> Scope | None:
    names = []
    for node in path[:-1]:
        if node.type in ("function_definition", "class_definition"):
            name = child(node, "name")
            names.append(text(name) if name is not None else "")
    return Scope(".".join(names)) if names else None


def calls_in(block: Node, limit: int = 600) -> tuple[str, ...]:
    found: dict[str, None] = {}
    stack = [block]
    while stack and limit:
        limit -= 1
        node = stack.pop()
        if node.type == "call":
            function = child(node, "function")
            if function is not None and function.type in ("identifier", "attribute"):
                found[text(function)] = None
        stack.extend(reversed(node.named_children))
    return tuple(found)[:24]


def symbols_in(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    found: dict[str, None] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type in ("identifier", "attribute"):
            found[text(current)] = None
        if current.type != "attribute":
            stack.extend(reversed(current.named_children))
    return tuple(found)[:8]
