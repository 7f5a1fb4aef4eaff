"""What is said beside code: comments above, behind and in it, docstrings, and the names and texts it holds."""

from __future__ import annotations

from tree_sitter import Node

from archscan.frontends.python.source.syntax import docstring, text
from archscan.frontends.python.source.syntax import field as child

_SHORT = 1200  # bytes of a function that is a predicate and little more


def comments(node: Node, limit: int = 600) -> list[Node]:
    """The comments inside a node, at most those among its first few hundred descendants."""
    found: list[Node] = []
    stack = [node] if b"#" in (node.text or b"") else []
    while stack and limit:
        limit -= 1
        current = stack.pop()
        if current.type == "comment":
            found.append(current)
        stack.extend(reversed(current.children))
    return found


def said_above(node: Node) -> list[str]:
    """The comments above the statement that holds a node: also those at the head of a block, outside of its node."""
    while node.parent is not None and node.parent.type not in ("block", "module"):
        node = node.parent
    before = node.prev_sibling
    if before is None and node.parent is not None and node.parent.type == "block":
        before = node.parent.prev_sibling
    words: list[str] = []
    while before is not None and before.type == "comment":
        words.insert(0, text(before).lstrip("#: "))
        before = before.prev_sibling
    return words


def said_of(function: Node) -> str:
    """How the docstring of a function begins, and the comments in it where it is short."""
    words = [docstring(function)[:300]]
    if function.end_byte - function.start_byte < _SHORT:
        words += [text(c).lstrip("#: ") for c in comments(function)]
    return " ".join(" ".join(words).split())


def said_in(block: Node) -> str:
    """The comments of an arm and the one behind its condition, and the names and strings it mentions."""
    words = [text(c).lstrip("#: ") for c in comments(block)]
    before = block.prev_sibling
    while before is not None and before.type in ("comment", ":"):
        if before.type == "comment":
            words.insert(0, text(before).lstrip("#: "))
        before = before.prev_sibling
    return " ".join(words)


def names_in(block: Node, limit: int = 400) -> str:
    """Strings, names of callees and of imported modules in an arm."""
    words: list[str] = []
    stack = [block]
    while stack and limit:
        limit -= 1
        node = stack.pop()
        if node.type in ("string_content", "dotted_name"):
            words.append(text(node)[:80])
        elif node.type == "call":
            function = child(node, "function")
            words.append(text(function)[:80] if function is not None else "")
        stack.extend(reversed(node.named_children))
    return " ".join(words)
