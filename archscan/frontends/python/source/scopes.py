"""Scopes: which names a module, class or function binds, where, and inside which compound statements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

from tree_sitter import Node

from archscan.frontends.python.source.syntax import COMPOUND, SCOPES, field, if_arms, operands, text

Chain = tuple[tuple[int, int], ...]  # (start byte of a compound statement, index of its arm), outermost first


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a name gets a value. `value` is None where the source does not say (loop targets, handlers)."""

    name: str
    kind: str  # assign | unpack | augment | def | class | import | star | loop | with | lost | change
    node: Node
    value: Node | None
    chain: Chain
    index: int = 0  # of the unpacked item
    operator: str = ""  # of an augmented assignment; of a change the method


class Scope:
    """The bindings of one module, class or function body, by name and in source order.

    `lost` is a binding that is not followed: a capture of a pattern, a name that is deleted, an assignment inside an
    expression that may not be evaluated. `changes` are statements that change what a name holds where it is.
    """

    def __init__(self, body: Node) -> None:
        self.body = body
        self.bindings: dict[str, list[Binding]] = {}
        self.changes: dict[str, list[Binding]] = {}
        self.outer: set[str] = set()  # names that are said to be of a scope around
        self.stars: list[Binding] = []
        self.loops: dict[str, None] = {}  # names that a loop binds
        self.compounds: dict[int, Node] = {}
        self.arms: list[tuple[int, int, Chain]] = []  # of those, in source order: where they begin and end
        self.recover: Callable[[str], bool] | None = None
        self._names_walrus = b":=" in (body.text or b"")
        self._block(body, ())
        for bindings in self.bindings.values():  # what stands inside of a statement happens before it
            if len(bindings) > 1:
                bindings.sort(key=_end_of)

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
        for name, changes in other.changes.items():
            self.changes.setdefault(name, []).extend(c for c in changes if c.node.start_byte >= start)

    def _block(self, block: Node, chain: Chain) -> None:
        for statement in block.named_children:
            self._statement(statement, chain)

    def _statement(self, node: Node, chain: Chain) -> None:
        kind = node.type
        if self._names_walrus and kind not in COMPOUND:
            self._walruses(node, chain)
        if kind == "expression_statement":
            for child in node.named_children:
                self._expression(child, chain)
        elif kind in ("function_definition", "class_definition", "decorated_definition"):
            self._definition(node, chain)
        elif kind in ("import_statement", "import_from_statement"):
            self._import(node, chain)
        elif kind == "delete_statement":
            self._delete(node, chain)
        elif kind in ("global_statement", "nonlocal_statement"):
            self.outer.update(text(name) for name in operands(node))
        elif kind in COMPOUND:
            self.compounds[node.start_byte] = node
            self._compound(node, chain)

    def _add(self, name: str, kind: str, node: Node, value: Node | None, chain: Chain, index: int = 0) -> None:
        if kind == "loop":
            self.loops[name] = None
        self.bindings.setdefault(name, []).append(Binding(name, kind, node, value, chain, index))

    def _change(self, name: str, how: str, node: Node, value: Node | None, chain: Chain) -> None:
        self.changes.setdefault(name, []).append(Binding(name, "change", node, value, chain, 0, how))

    def _walruses(self, node: Node, chain: Chain) -> None:
        """Adds the names that are given values inside an expression."""
        if b":=" not in (node.text or b""):
            return
        stack = [(node, True)]
        while stack:
            current, sure = stack.pop()
            kind = current.type
            if kind in SCOPES and current is not node:
                continue
            if kind == "named_expression":
                name, value = field(current, "name"), field(current, "value")
                if name is not None:
                    self._add(text(name), "assign" if sure else "lost", current, value if sure else None, chain)
            parts = operands(current)
            for at, part in enumerate(parts):
                stack.append((part, sure and not _may_be_skipped(kind, at)))

    def _expression(self, node: Node, chain: Chain) -> None:
        if node.type == "assignment":
            self._assignment(node, chain)
        elif node.type == "call":
            self._call(node, chain)
        elif node.type == "augmented_assignment":
            left, right, sign = field(node, "left"), field(node, "right"), field(node, "operator")
            if left is not None and left.type in ("identifier", "attribute") and sign is not None:
                binding = Binding(text(left), "augment", node, right, chain, 0, text(sign)[:-1])
                self.bindings.setdefault(binding.name, []).append(binding)

    def _call(self, node: Node, chain: Chain) -> None:
        """`name.append(item)` changes the list."""
        function = field(node, "function")
        if function is None or function.type != "attribute":
            return
        owner, method = field(function, "object"), field(function, "attribute")
        if owner is not None and method is not None and owner.type == "identifier" and text(method) in CHANGING:
            self._change(text(owner), text(method), node, field(node, "arguments"), chain)

    def _delete(self, node: Node, chain: Chain) -> None:
        for target in operands(node)[:1]:
            for one in operands(target) if target.type == "expression_list" else [target]:
                owner = field(one, "value") if one.type == "subscript" else None
                if one.type in ("identifier", "attribute"):
                    self._add(text(one), "lost", node, None, chain)
                elif owner is not None and owner.type == "identifier":
                    self._change(text(owner), "del", node, field(one, "subscript"), chain)

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
            owner = field(target, "value") if target.type == "subscript" else None
            if owner is not None and owner.type == "identifier":
                self._change(text(owner), "set", node if kind == "assign" else target, value, chain)
        elif target.type in ("pattern_list", "tuple_pattern", "list_pattern"):
            items = operands(target)
            star = next((i for i, item in enumerate(items) if item.type == "list_splat_pattern"), len(items))
            for index, item in enumerate(items):
                if item.type in ("identifier", "attribute"):
                    place = index if index < star else index - len(items)  # behind the star it is counted from the end
                    self._add(text(item), "unpack" if kind == "assign" else kind, node, value, chain, place)
                elif kind == "loop":
                    self._target(item, node, value, chain, kind)
                else:
                    self._lost(item, node, chain)

    def _lost(self, target: Node, node: Node, chain: Chain) -> None:
        """Adds the names of a part of a pattern that is not followed."""
        if target.type in ("identifier", "attribute", "subscript"):
            self._add(text(target), "lost", node, None, chain)
            owner = field(target, "value") if target.type == "subscript" else None
            if owner is not None and owner.type == "identifier":
                self._change(text(owner), "set", target, None, chain)
            return
        for part in operands(target):
            self._lost(part, node, chain)

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
        if self._names_walrus:
            self._heads(node, chain)
        if node.type == "match_statement":
            for name in _captures(node):
                self._add(text(name), "lost", name, None, chain)
        for index, (start, block) in enumerate(_arms(node)):
            inside = (*chain, (node.start_byte, index))
            self.arms.append((start, block.end_byte, inside))
            clause = block.parent
            named = (
                next((c for c in clause.named_children if c.type == "as_pattern"), None) if clause is not None else None
            )
            if clause is not None and clause.type.startswith("except") and named is not None:
                for name in operands(named)[1:]:
                    self._lost(operands(name)[0] if operands(name) else name, named, inside)
            self._block(block, inside)
        if node.type == "for_statement":
            left = field(node, "left")
            if left is not None:
                self._target(left, left, field(node, "right"), (*chain, (node.start_byte, 0)), "loop")
        elif node.type == "with_statement":
            for clause in node.named_children[:1]:
                self._with(clause, node, chain)

    def _heads(self, node: Node, chain: Chain) -> None:
        """Adds what the conditions and subjects of a compound statement give values to; only the first is sure."""
        blocks = {block.start_byte for _, block in _arms(node)}
        first = True
        for part in operands(node):
            if part.start_byte in blocks or part.type.endswith("_clause") or part.type == "block":
                for inside in operands(part) if part.type.endswith("_clause") else ():
                    if inside.start_byte not in blocks and b":=" in (inside.text or b""):
                        for name in _named_in(inside):
                            self._add(name, "lost", inside, None, chain)
                continue
            if first:
                self._walruses(part, chain)
            else:
                for name in _named_in(part):
                    self._add(name, "lost", part, None, chain)
            first = False

    def _with(self, clause: Node, node: Node, chain: Chain) -> None:
        for item in clause.named_children:
            value = field(item, "value")
            alias = field(value, "alias") if value is not None and value.type == "as_pattern" else None
            if alias is not None and alias.named_children:
                self._target(alias.named_children[0], clause, None, (*chain, (node.start_byte, 0)), "with")


def _end_of(binding: Binding) -> int:
    return binding.node.end_byte


def clauses(node: Node) -> list[str]:
    """What the arms of a try statement are, in order: its body, then its clauses."""
    return ["body", *((block.parent or block).type for block in _blocks(node)[1:])]


def _may_be_skipped(kind: str, at: int) -> bool:
    """Whether a part of an expression is not always evaluated, or more than once."""
    if kind in ("boolean_operator", "comparison_operator"):
        return at > (kind == "comparison_operator")
    if kind == "conditional_expression":
        return at != 1
    return kind.endswith("comprehension") or kind == "generator_expression"


def _named_in(node: Node) -> list[str]:
    """The names that an expression gives values to."""
    found: list[str] = []
    stack = [node]
    while stack:
        current = stack.pop()
        name = field(current, "name") if current.type == "named_expression" else None
        if name is not None:
            found.append(text(name))
        if current.type not in SCOPES:
            stack.extend(current.named_children)
    return found


def _captures(match: Node) -> list[Node]:
    """The names that the patterns of a match statement may give values to."""
    body = field(match, "body")
    found: list[Node] = []
    for case in body.named_children if body is not None else ():
        stack = [c for c in case.named_children if c.type == "case_pattern"]
        while stack:
            current = stack.pop()
            alone = current.type == "dotted_name" and len(current.named_children) == 1
            if (current.type == "identifier" or alone) and text(current) != "_":
                found.append(current)
            named = current.type in ("class_pattern", "keyword_pattern")  # begins with the name of a class or attribute
            stack.extend(current.named_children[named:] if current.type != "dotted_name" else ())
    return found


CHANGING = frozenset(
    {
        "append", "extend", "insert", "remove", "pop", "clear", "reverse", "sort", "add", "discard", "update",
        "setdefault", "popitem", "intersection_update", "difference_update", "symmetric_difference_update",
        "appendleft", "popleft", "extendleft", "__setitem__", "__delitem__",
    }
)  # fmt: skip


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
