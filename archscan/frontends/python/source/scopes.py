"""Scopes: which names a module, class or function binds, where, and inside which compound statements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

from tree_sitter import Node

from archscan.frontends.python.source.syntax import COMPOUND, field, if_arms, operands, text

Chain = tuple[tuple[int, int], ...]  # (start byte of a compound statement, index of its arm), outermost first


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a name gets a value. `value` is None where the source does not say (loop targets, handlers)."""

    name: str
    kind: str  # assign | unpack | augment | def | class | import | star | loop | with
    node: Node
    value: Node | None
    chain: Chain
    index: int = 0  # of the unpacked item
    operator: str = ""  # of an augmented assignment


class Scope:
    """The bindings of one module, class or function body, by name and in source order."""

    def __init__(self, body: Node) -> None:
        self.body = body
        self.bindings: dict[str, list[Binding]] = {}
        self.stars: list[Binding] = []
        self.loops: dict[str, None] = {}  # names that a loop binds
        self.compounds: dict[int, Node] = {}
        self.arms: list[tuple[int, int, Chain]] = []  # of those, in source order: where they begin and end
        self.recover: Callable[[str], bool] | None = None
        self._block(body, ())

    def holds(self, name: str) -> bool:
        """Whether the scope binds the name."""
        return (self.recover is not None and self.recover(name)) or name in self.bindings

    def of(self, name: str) -> list[Binding]:
        """The bindings of a name, none if it has none."""
        return self.bindings[name] if self.holds(name) else []

    def chain_at(self, position: int) -> Chain:
        """The chain of a position: of the innermost arm around it."""
        for at in range(bisect_right(self.arms, position, key=itemgetter(0)) - 1, -1, -1):
            _, end, chain = self.arms[at]
            if position < end:
                return chain
        return ()

    def take(self, other: Scope, start: int) -> None:
        """Adds the bindings of another scope that begin at an offset or after it."""
        for name, bindings in other.bindings.items():
            added = [binding for binding in bindings if binding.node.start_byte >= start]
            if added:
                known = self.bindings.setdefault(name, [])
                known += added
                known.sort(key=lambda binding: binding.node.start_byte)

    def _block(self, block: Node, chain: Chain) -> None:
        for statement in block.named_children:
            self._statement(statement, chain)

    def _statement(self, node: Node, chain: Chain) -> None:
        kind = node.type
        if kind == "expression_statement":
            for child in node.named_children:
                self._expression(child, chain)
        elif kind in ("function_definition", "class_definition", "decorated_definition"):
            self._definition(node, chain)
        elif kind in ("import_statement", "import_from_statement"):
            self._import(node, chain)
        elif kind in COMPOUND:
            self.compounds[node.start_byte] = node
            self._compound(node, chain)

    def _add(self, name: str, kind: str, node: Node, value: Node | None, chain: Chain, index: int = 0) -> None:
        if kind == "loop":
            self.loops[name] = None
        self.bindings.setdefault(name, []).append(Binding(name, kind, node, value, chain, index))

    def _expression(self, node: Node, chain: Chain) -> None:
        if node.type == "assignment":
            self._assignment(node, chain)
        elif node.type == "call":
            self._append(node, chain)
        elif node.type == "augmented_assignment":
            left, right, sign = field(node, "left"), field(node, "right"), field(node, "operator")
            if left is not None and left.type == "identifier" and sign is not None:
                binding = Binding(text(left), "augment", node, right, chain, 0, text(sign)[:-1])
                self.bindings.setdefault(binding.name, []).append(binding)

    def _append(self, node: Node, chain: Chain) -> None:
        """`name.append(item)` gives the list a new value."""
        function, holder = field(node, "function"), field(node, "arguments")
        if function is None or holder is None or function.type != "attribute" or len(operands(holder)) != 1:
            return
        owner, method = field(function, "object"), field(function, "attribute")
        if owner is not None and method is not None and owner.type == "identifier" and text(method) == "append":
            self._add(text(owner), "append", node, operands(holder)[0], chain)

    def _assignment(self, node: Node, chain: Chain) -> None:
        right = field(node, "right")
        targets = [field(node, "left")]
        while right is not None and right.type == "assignment":  # a = b = value
            targets.append(field(right, "left"))
            right = field(right, "right")
        if right is None:
            return
        for target in targets:
            if target is not None:
                self._target(target, node, right, chain)

    def _target(self, target: Node, node: Node, value: Node | None, chain: Chain, kind: str = "assign") -> None:
        if target.type == "identifier" or target.type in ("attribute", "subscript"):
            self._add(text(target), kind, node, value, chain)
        elif target.type in ("pattern_list", "tuple_pattern", "list_pattern"):
            for index, item in enumerate(operands(target)):
                if item.type in ("identifier", "attribute"):
                    self._add(text(item), "unpack" if kind == "assign" else kind, node, value, chain, index)
                elif kind == "loop":
                    self._target(item, node, value, chain, kind)

    def _definition(self, node: Node, chain: Chain) -> None:
        inner = field(node, "definition") if node.type == "decorated_definition" else node
        name = field(inner, "name") if inner is not None else None
        if inner is not None and name is not None:
            kind = "class" if inner.type == "class_definition" else "def"
            self._add(text(name), kind, node, inner, chain)

    def _import(self, node: Node, chain: Chain) -> None:
        for child in node.named_children:
            if child.type == "wildcard_import":
                self.stars.append(Binding("*", "star", node, None, chain))
        for name in node.children_by_field_name("name"):
            alias, dotted = field(name, "alias"), field(name, "name")
            local = alias if alias is not None else name
            full = text(dotted) if dotted is not None else text(name)
            plain = text(local)
            if node.type == "import_statement" and alias is None:
                plain = plain.split(".")[0]
                full = plain
            binding = Binding(plain, "import", node, None, chain, 0, full)
            self.bindings.setdefault(plain, []).append(binding)

    def _compound(self, node: Node, chain: Chain) -> None:
        for index, (start, block) in enumerate(_arms(node)):
            inside = (*chain, (node.start_byte, index))
            self.arms.append((start, block.end_byte, inside))
            self._block(block, inside)
        if node.type == "for_statement":
            left = field(node, "left")
            if left is not None:
                self._target(left, left, field(node, "right"), (*chain, (node.start_byte, 0)), "loop")
        elif node.type == "with_statement":
            for clause in node.named_children[:1]:
                self._with(clause, node, chain)

    def _with(self, clause: Node, node: Node, chain: Chain) -> None:
        for item in clause.named_children:
            value = field(item, "value")
            alias = field(value, "alias") if value is not None and value.type == "as_pattern" else None
            if alias is not None and alias.named_children:
                self._target(alias.named_children[0], clause, None, (*chain, (node.start_byte, 0)), "with")


def arm_blocks(node: Node) -> list[Node]:
    """The blocks of a compound statement, in order."""
    return [block for _, block in _arms(node)]


def _arms(node: Node) -> list[tuple[int, Node]]:
    """The blocks of a compound statement, in order, and where their arms begin.

    A condition belongs to its arm: that of an elif is evaluated before any arm has run.
    """
    if node.type == "if_statement":
        return [((condition or block).start_byte, block) for condition, block in if_arms(node)]
    return [(block.start_byte, block) for block in _blocks(node)]


def _blocks(node: Node) -> list[Node]:
    if node.type == "match_statement":
        body = field(node, "body")
        cases = [c for c in body.named_children if c.type == "case_clause"] if body is not None else []
        return [block for c in cases if (block := field(c, "consequence")) is not None]
    blocks = [block for block in (field(node, "body"),) if block is not None]
    for clause in node.named_children:
        if clause.type.endswith("_clause") and clause.type != "with_clause":
            inner = field(clause, "body") or next((c for c in clause.named_children if c.type == "block"), None)
            if inner is not None:
                blocks.append(inner)
    return blocks
