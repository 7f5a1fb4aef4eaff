"""Reduces tree-sitter nodes of C++ expressions to the small syntax; what it does not know becomes opaque."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from archscan.frontends.cuda.host.syntax import Block, Expr, Op
from archscan.model.gate import Place

_BLANKS = re.compile(rb"\s*\\?\s+|\\\n")
_SUFFIX = re.compile(r"[uUlLzZ]+$")
_DEPTH = 120  # deeper expressions become opaque: generated tables, hostile input
_CASTS = frozenset({"static_cast", "const_cast", "reinterpret_cast", "int", "int32_t", "int64_t", "uint32_t", "bool"})


@cache
def parser() -> Parser:
    """The tree-sitter parser for CUDA C++."""
    return Parser(Language(tree_sitter_cuda.language()))


def number_of(text: str) -> int | None:
    """The value of an integer or character literal, None for anything else."""
    plain = (
        _SUFFIX.sub("", text.replace("'", "")) if not text.startswith("0x") else text.replace("'", "").rstrip("uUlL")
    )
    try:
        if plain[:1] == "0" and plain[1:].isdigit():
            return int(plain, 8)
        return int(plain, 0)
    except ValueError:
        return None


def expression(source: bytes, place: Place) -> Expr | None:
    """The expression that a piece of text is, every part of it at `place`; None if it is none."""
    number = number_of(source.decode("utf-8", "replace").strip("() "))
    if number is not None:
        return Expr(Op.NUMBER, place, source.decode("utf-8", "replace"), number=number)
    found = _parsed(source)
    return _moved(found, place) if found is not None else None


@lru_cache(maxsize=4096)
def _parsed(source: bytes) -> Expr | None:
    inner = Expressions(b"int x = " + source + b";")
    tree = parser().parse(inner.data).root_node
    if tree.has_error or not tree.named_children:
        return None
    declarator = tree.named_children[0].child_by_field_name("declarator")
    value = declarator.child_by_field_name("value") if declarator else None
    return inner.expr(value) if value else None


def _moved(expr: Expr, place: Place) -> Expr:
    """The expression with every part at `place`: for text that was parsed outside its file."""
    return replace(
        expr,
        place=place,
        args=tuple(_moved(a, place) for a in expr.args),
        targs=tuple(_moved(a, place) for a in expr.targs),
    )


@dataclass
class Expressions:
    """Reads the expressions of one buffer; offsets and lines are shifted by where it begins in the file."""

    data: bytes
    offset: int = 0
    row: int = 0
    ascii: bool = field(init=False)

    def __post_init__(self) -> None:
        self.ascii = self.data.isascii()

    def block_of(self, node: Node) -> Block:
        """The statements of a lambda: nothing, unless someone who reads statements says so."""
        return ()

    def place(self, start: Node, end: Node | None = None) -> Place:
        last = end or start
        row, column = start.start_point
        end_row, end_column = last.end_point
        return Place(
            start.start_byte + self.offset,
            last.end_byte + self.offset,
            row + self.row + 1,
            self._column(start.start_byte, column),
            end_row + self.row + 1,
            self._column(last.end_byte, end_column),
        )

    def _line(self, node: Node) -> int:
        return node.start_point[0] + self.row + 1

    def _column(self, at: int, column: int) -> int:
        if self.ascii:
            return column + 1
        line = self.data[at - column : at]
        return (column if line.isascii() else len(line.decode("utf-8", "replace"))) + 1

    def text(self, node: Node) -> str:
        text = self.data[node.start_byte : node.end_byte]
        if len(text) > 30 and (b"\n" in text or b"  " in text):
            text = _BLANKS.sub(b" ", text)
        return text.decode("utf-8", "replace")

    def _bytes(self, node: Node) -> bytes:
        return self.data[node.start_byte : node.end_byte]

    def _declared(self, node: Node) -> str:
        """The name a declarator declares, through pointers, references and arrays."""
        while node.type not in ("identifier", "field_identifier", "type_identifier"):
            inner = node.child_by_field_name("declarator") or (node.named_children[0] if node.named_children else None)
            if inner is None or node.type in ("function_declarator", "qualified_identifier"):
                return self._last_name(node) if node.type == "qualified_identifier" else ""
            node = inner
        return self.text(node)

    def _last_name(self, node: Node) -> str:
        return self.expr(node).name

    def expr(self, node: Node, depth: int = 0) -> Expr:  # noqa: PLR0912 one case per kind of node
        """The expression at a node."""
        if depth > _DEPTH:
            return Expr(Op.OPAQUE, self.place(node), self.text(node)[:80])
        match node.type:
            case "number_literal" | "char_literal":
                number = number_of(self.text(node))
                op = Op.NUMBER if number is not None else Op.OPAQUE
                return Expr(op, self.place(node), self.text(node), number=number or 0)
            case "true" | "false":
                return Expr(Op.NUMBER, self.place(node), self.text(node), number=int(node.type == "true"))
            case "identifier" | "field_identifier" | "type_identifier" | "namespace_identifier" | "this":
                return Expr(Op.NAME, self.place(node), self.text(node), self.text(node))
            case "parenthesized_expression" | "type_descriptor" | "condition_clause" | "preproc_call":
                inner = [n for n in node.named_children if n.type not in ("comment", "type_qualifier")]
                return self._opaque(node, depth) if len(inner) != 1 else self.expr(inner[0], depth + 1)
            case "cast_expression":
                value = node.child_by_field_name("value")
                return self.expr(value, depth + 1) if value else self._opaque(node, depth)
            case "qualified_identifier":
                return self._qualified(node, depth)
            case "template_function" | "template_type" | "template_method" | "dependent_name":
                return self._templated(node, depth)
            case "field_expression":
                return self._field(node, depth)
            case "call_expression":
                return self._call(node, depth)
            case "unary_expression" | "pointer_expression":
                return self._operation(Op.UNARY, node, depth, ("argument",))
            case "binary_expression":
                return self._operation(Op.BINARY, node, depth, ("left", "right"))
            case "conditional_expression":
                return self._operation(Op.CHOICE, node, depth, ("condition", "consequence", "alternative"))
            case "preproc_defined":
                inner_args = tuple(self.expr(n, depth + 1) for n in node.named_children)
                return Expr(Op.CALL, self.place(node), self.text(node), "defined", args=inner_args)
            case "subscript_expression":
                return self._subscript(node, depth)
            case "parameter_pack_expansion":
                inner_args = self._children(node, depth)
                return Expr(Op.OPAQUE, self.place(node), self.text(node)[:200], "expansion", args=inner_args)
            case "initializer_list":
                return Expr(Op.GROUP, self.place(node), self.text(node)[:200], args=self._children(node, depth))
            case "new_expression" if (
                made := node.child_by_field_name("arguments")
            ) and made.type == "initializer_list":
                return self.expr(made, depth + 1)
            case "compound_literal_expression":
                value = node.child_by_field_name("value")
                return self.expr(value, depth + 1) if value else self._opaque(node, depth)
            case "string_literal" | "concatenated_string" | "raw_string_literal":
                return Expr(Op.TEXT, self.place(node), self.text(node))
            case "lambda_expression":
                body = node.child_by_field_name("body")
                block = self.block_of(body) if body else ()
                return Expr(Op.OPAQUE, self.place(node), self.text(node)[:80], "lambda", body=block)
            case _:
                return self._opaque(node, depth)

    def _children(self, node: Node, depth: int) -> tuple[Expr, ...]:
        return tuple(self.expr(n, depth + 1) for n in node.named_children if n.type != "comment")

    def _opaque(self, node: Node, depth: int) -> Expr:
        return Expr(Op.OPAQUE, self.place(node), self.text(node)[:200], args=self._children(node, depth))

    def _subscript(self, node: Node, depth: int) -> Expr:
        owner, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        inner = [n for n in indices.named_children if n.type != "comment"] if indices else []
        if owner is None or len(inner) != 1:
            return self._opaque(node, depth)
        args = (self.expr(owner, depth + 1), self.expr(inner[0], depth + 1))
        return Expr(Op.OPAQUE, self.place(node), self.text(node)[:200], "subscript", args=args)

    def _operation(self, op: Op, node: Node, depth: int, fields: tuple[str, ...]) -> Expr:
        operands = [node.child_by_field_name(f) for f in fields]
        if any(o is None for o in operands):
            return self._opaque(node, depth)
        operator = node.child_by_field_name("operator")
        name = {"and": "&&", "or": "||", "not": "!"}.get(*([self.text(operator)] * 2)) if operator else "?"
        args = tuple(self.expr(o, depth + 1) for o in operands if o is not None)
        return Expr(op, self.place(node), self.text(node), name or "", args=args)

    def _qualified(self, node: Node, depth: int) -> Expr:
        name, scope = node.child_by_field_name("name"), node.child_by_field_name("scope")
        if name is None:
            return self._opaque(node, depth)
        inner = self.expr(name, depth + 1)
        outer = self.expr(scope, depth + 1) if scope else None
        parts = [p for p in (outer.name if outer else "", inner.scope) if p]
        targs = inner.targs or (outer.targs if outer else ())
        return replace(inner, place=self.place(node), text=self.text(node), scope="::".join(parts), targs=targs)

    def _templated(self, node: Node, depth: int) -> Expr:
        name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        if name is None:
            return (
                self._opaque(node, depth) if not node.named_children else self.expr(node.named_children[-1], depth + 1)
            )
        targs = self._children(arguments, depth) if arguments else ()
        return Expr(Op.NAME, self.place(node), self.text(node), self.expr(name, depth + 1).name, targs=targs)

    def _field(self, node: Node, depth: int) -> Expr:
        owner, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if owner is None or name is None:
            return self._opaque(node, depth)
        inner = self.expr(name, depth + 1)
        args = (self.expr(owner, depth + 1),)
        return Expr(Op.FIELD, self.place(node), self.text(node), inner.name, args=args, targs=inner.targs)

    def _call(self, node: Node, depth: int) -> Expr:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None:
            return self._opaque(node, depth)
        callee = self.expr(function, depth + 1)
        args = self._children(arguments, depth) if arguments else ()
        if callee.name in _CASTS and len(args) == 1:
            return args[0]
        owner = callee.args if callee.op is Op.FIELD else ()
        return Expr(
            Op.CALL,
            self.place(node),
            self.text(node)[:400],
            callee.name,
            callee.scope,
            args=(*args, *(Expr(Op.OPAQUE, o.place, o.text, "owner", args=(o,)) for o in owner)),
            targs=callee.targs,
            body=callee.body,
        )
