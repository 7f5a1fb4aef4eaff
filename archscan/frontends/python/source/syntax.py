"""Parses Python with tree-sitter and reads its nodes: text, places, blocks, arguments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Range

from archscan.catalog.effects import effects
from archscan.model.gate import Place

_LANGUAGE = Language(tree_sitter_python.language())

COMPOUND = frozenset(
    {"if_statement", "for_statement", "while_statement", "with_statement", "try_statement", "match_statement"}
)
SCOPES = frozenset({"function_definition", "class_definition", "lambda", "decorated_definition"})


def parse(data: bytes) -> Node:
    """The root node of `data`."""
    return Parser(_LANGUAGE).parse(data).root_node


class Pieces:
    """A file that is parsed piece by piece: lines are counted from the nearest place that is known."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._known = [0]
        self._rows = [0]

    def parse(self, ranges: tuple[tuple[int, int], ...]) -> Node:
        """The root node of these byte ranges alone; offsets stay those of the file."""
        parts = [Range(self._point(a), self._point(b), a, b) for a, b in ranges]
        return Parser(_LANGUAGE, included_ranges=parts).parse(self.data).root_node

    def _point(self, offset: int) -> tuple[int, int]:
        at = bisect_right(self._known, offset) - 1
        row = self._rows[at] + self.data.count(b"\n", self._known[at], offset)
        if self._known[at] < offset:
            self._known.insert(at + 1, offset)
            self._rows.insert(at + 1, row)
        return row, offset - (self.data.rfind(b"\n", 0, offset) + 1)


def text(node: Node) -> str:
    """The node's source, bytes that are not UTF-8 replaced."""
    return (node.text or b"").decode("utf-8", "replace")


def oneline(node: Node, limit: int = 400) -> str:
    """The node's source on one line, comments dropped, cut at `limit` characters."""
    raw = text(node)
    if "#" in raw and "\n" in raw:
        raw = "\n".join(line.split("#")[0] if '"' not in line and "'" not in line else line for line in raw.split("\n"))
    return " ".join(raw.split())[:limit]


def line_of(node: Node) -> int:
    """The node's first line, 1-based."""
    return int(node.start_point[0]) + 1


def place(node: Node, data: bytes, end: Node | None = None) -> Place:
    """The node's range (to the end of `end`, if given), columns in code points."""
    last = end if end is not None else node
    (row, column), (end_row, end_column) = node.start_point, last.end_point
    return Place(
        start=node.start_byte,
        end=last.end_byte,
        line=row + 1,
        column=_characters(data, node.start_byte, column) + 1,
        end_line=end_row + 1,
        end_column=_characters(data, last.end_byte, end_column) + 1,
    )


def _characters(data: bytes, offset: int, column: int) -> int:
    before = data[offset - column : offset]
    return column if before.isascii() else len(before.decode("utf-8", "replace"))


def field(node: Node, name: str) -> Node | None:
    """The child in a field, or None."""
    return node.child_by_field_name(name)


def inner(node: Node) -> Node:
    """The expression inside any number of parentheses."""
    while node.type == "parenthesized_expression":
        named = [child for child in node.named_children if child.type != "comment"]
        if len(named) != 1:
            return node
        node = named[0]
    return node


def operands(node: Node) -> list[Node]:
    """The named children without comments."""
    return [child for child in node.named_children if child.type != "comment"]


def statements(block: Node) -> list[Node]:
    """The statements of a block or module, without comments."""
    return [child for child in block.named_children if child.type != "comment"]


def path_to(root: Node, offset: int) -> list[Node]:
    """The nodes from `root` down to the smallest named one that holds the byte."""
    # first_named_child_for_byte would be the natural way down, but it crashes the process in tree-sitter 0.26
    found, node = [root], root
    leaf = root.named_descendant_for_byte_range(offset, offset + 1)
    while leaf is not None and node != leaf:
        below = node.child_with_descendant(leaf)
        if below is None:
            break
        found.append(below)
        node = below
    return found


def if_arms(node: Node) -> list[tuple[Node | None, Node]]:
    """(condition, block) of an if statement with its elif and else clauses; the condition of else is None."""
    arms: list[tuple[Node | None, Node]] = []
    _add_arm(arms, field(node, "condition"), field(node, "consequence"))
    for clause in node.children_by_field_name("alternative"):
        if clause.type == "elif_clause":
            _add_arm(arms, field(clause, "condition"), field(clause, "consequence"))
        else:
            _add_arm(arms, None, field(clause, "body"))
    return arms


def _add_arm(arms: list[tuple[Node | None, Node]], condition: Node | None, block: Node | None) -> None:
    if block is not None:
        arms.append((condition, block))


def arguments(call: Node) -> tuple[list[Node], dict[str, Node]]:
    """Positional and keyword arguments of a call; splats are left out."""
    positional: list[Node] = []
    keywords: dict[str, Node] = {}
    holder = field(call, "arguments")
    if holder is not None and holder.type == "generator_expression":  # any(x for x in y)
        return [holder], keywords
    if holder is None or holder.type != "argument_list":
        return positional, keywords
    for child in operands(holder):
        if child.type == "keyword_argument":
            name, value = field(child, "name"), field(child, "value")
            if name is not None and value is not None:
                keywords[text(name)] = value
        elif child.type not in ("list_splat", "dictionary_splat"):
            positional.append(child)
    return positional, keywords


def parameters(function: Node) -> list[tuple[str, Node | None]]:
    """Names and defaults of a function's parameters; `*args` and `**kw` come as such."""
    holder = field(function, "parameters")
    found: list[tuple[str, Node | None]] = []
    for child in operands(holder) if holder is not None else ():
        if child.type == "identifier":
            found.append((text(child), None))
        elif child.type in ("default_parameter", "typed_default_parameter"):
            name = field(child, "name")
            found.append((text(name) if name is not None else "", field(child, "value")))
        elif child.type == "typed_parameter":
            found.append((text(child.named_children[0]), None))
        elif child.type in ("list_splat_pattern", "dictionary_splat_pattern"):
            found.append((text(child), None))
    return found


def string_parts(node: Node) -> list[Node]:
    """The plain string nodes of a string or of concatenated ones."""
    return operands(node) if node.type == "concatenated_string" else [node]


def template(node: Node) -> str | None:
    """The text of a string literal with `{...}` placeholders as written; None for anything else."""
    node = inner(node)
    if node.type == "concatenated_string":
        parts = [template(part) for part in operands(node)]
        return "".join(part for part in parts if part is not None)
    if node.type == "string":
        return "".join(text(c) for c in node.named_children if c.type in ("string_content", "interpolation"))
    if node.type == "binary_operator":
        left, right = field(node, "left"), field(node, "right")
        a = template(left) if left is not None else None
        b = template(right) if right is not None else None
        operator = field(node, "operator")
        if operator is not None and operator.type == "%":
            return a
        return (a or "{}") + (b or "{}") if a or b else None
    if node.type == "call":
        function = field(node, "function")
        if function is not None and function.type == "attribute" and text(function).endswith(".format"):
            owner = field(function, "object")
            return template(owner) if owner is not None else None
    return None


def is_prose(node: Node) -> bool:
    """Whether a text stands for itself as a statement: a docstring."""
    return node.type == "string" and node.parent is not None and node.parent.type == "expression_statement"


def heading(definition: Node) -> bytes:
    """The source of a function or class before its body, with its decorators."""
    above, body = definition.parent, field(definition, "body")
    whole = above if above is not None and above.type == "decorated_definition" else definition
    return (whole.text or b"")[: body.start_byte - whole.start_byte if body is not None else None]


def docstring(definition: Node) -> str:
    """The docstring of a function, class or module, or nothing."""
    body = field(definition, "body") or definition
    first = next(iter(statements(body)), None)
    if first is None or first.type != "expression_statement" or not first.named_children:
        return ""
    literal = first.named_children[0]
    return (template(literal) or "") if literal.type == "string" else ""


def walk(node: Node, into: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Every named node below, depth first; bodies of the types in `into` are left out."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if current is node or current.type not in into:
            stack.extend(reversed(current.named_children))


def exit_call(node: Node) -> Node | None:
    """The call of a statement that ends the program, as sys.exit(...) does; None for any other statement."""
    call = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    function = field(call, "function") if call is not None and call.type == "call" else None
    return call if function is not None and effects().ends_program(text(function)) else None
