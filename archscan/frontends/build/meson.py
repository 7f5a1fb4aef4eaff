"""Reads meson.build files: their syntax becomes that of Python, which the evaluator of build scripts knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from archscan.frontends.build.python import lists_of, run_script
from archscan.frontends.build.reading import Given, Reading, finished

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|\\\r?\n|\#[^\n]*)|(?P<newline>\n)"
    r"|(?P<string>f?'''.*?'''|f?'[^'\\\n]*(?:\\.[^'\\\n]*)*')|(?P<number>0x[0-9a-fA-F]+|\d+)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<operator>\+=|==|!=|<=|>=|[-+*/%<>=?:,.()\[\]{}])",
    re.DOTALL,
)
_ENDS = frozenset({"elif", "else", "endif", "endforeach"})
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "in": ast.In,
}  # fmt: skip
_ARITHMETIC: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "%": ast.Mod,
}  # fmt: skip
MAX_DEPTH = 60
_Node = TypeVar("_Node", bound=ast.AST)


class _NotMeson(Exception):
    """The text is not what the grammar knows."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)


def _tokens(text: str) -> Iterator[_Token]:
    position, depth = 0, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _NotMeson(f"unexpected {text[position]!r} at line {text.count(chr(10), 0, position) + 1}")
        kind = match.lastgroup or ""
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(match[0], 0)
        if kind != "blank" and not (kind == "newline" and depth > 0):
            yield _Token(kind, match[0], match.start())
        position = match.end()
    yield _Token("newline", "", len(text))


@dataclass
class _Parser:
    """A position among the tokens."""

    tokens: list[_Token]
    at: int = 0
    depth: int = field(default=0)

    @property
    def now(self) -> _Token:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def next(self) -> _Token:
        token = self.now
        self.at += 1
        return token

    def take(self, *texts: str) -> bool:
        """Moves on if one of these comes next."""
        if self.now.text in texts and self.now.kind in ("operator", "name"):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise _NotMeson(f"expected {text}")

    def block(self) -> list[ast.stmt]:
        """Statements up to the end of a block."""
        found: list[ast.stmt] = []
        while self.at < len(self.tokens) - 1:
            if self.now.kind == "newline":
                self.at += 1
            elif self.now.text in _ENDS:
                break
            else:
                found.append(self.statement())
        return found

    def statement(self) -> ast.stmt:
        start = self.now
        if self.take("if"):
            return self.branches(start)
        if self.take("foreach"):
            names = [self.next().text]
            while self.take(","):
                names.append(self.next().text)
            self.expect(":")
            values = self.expression()
            body = self.block()
            self.expect("endforeach")
            targets: list[ast.expr] = [self.placed(ast.Name(n, ast.Store()), start, start.end) for n in names]
            target = targets[0] if len(names) == 1 else self.placed(ast.Tuple(targets, ast.Store()), start, start.end)
            return self.placed(ast.For(target, values, body, []), start, self.now.at)
        if self.take("break"):
            return self.placed(ast.Break(), start, start.end)
        if self.take("continue"):
            return self.placed(ast.Continue(), start, start.end)
        left = self.expression()
        if self.take("="):
            return self.placed(ast.Assign([left], self.expression()), start, self.now.at)
        if self.take("+="):
            return self.placed(ast.AugAssign(left, ast.Add(), self.expression()), start, self.now.at)  # type: ignore[arg-type]
        return self.placed(ast.Expr(left), start, self.now.at)

    def branches(self, start: _Token) -> ast.stmt:
        test = self.expression()
        body = self.block()
        if self.take("elif"):
            return self.placed(ast.If(test, body, [self.branches(start)]), start, self.now.at)
        rest = self.block() if self.take("else") else []
        self.expect("endif")
        return self.placed(ast.If(test, body, rest), start, self.now.at)

    def placed(self, node: _Node, start: _Token | ast.expr, end: int) -> _Node:
        """A node with its place: everything is on one line, columns are offsets."""
        spot: Any = node
        spot.lineno = spot.end_lineno = 1
        spot.col_offset = start.at if isinstance(start, _Token) else start.col_offset
        spot.end_col_offset = end
        return node

    # --- expressions

    def expression(self) -> ast.expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _NotMeson("nested too deep")
        start = self.now
        found = self.disjunction()
        if self.take("?"):
            yes = self.expression()
            self.expect(":")
            found = self.placed(ast.IfExp(found, yes, self.expression()), start, self.now.at)
        self.depth -= 1
        return found

    def disjunction(self) -> ast.expr:
        start, parts = self.now, [self.conjunction()]
        while self.take("or"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else self.placed(ast.BoolOp(ast.Or(), parts), start, self.now.at)

    def conjunction(self) -> ast.expr:
        start, parts = self.now, [self.comparison()]
        while self.take("and"):
            parts.append(self.comparison())
        return parts[0] if len(parts) == 1 else self.placed(ast.BoolOp(ast.And(), parts), start, self.now.at)

    def comparison(self) -> ast.expr:
        start, left = self.now, self.sum()
        if self.now.text == "not" and self.tokens[self.at + 1].text == "in":
            self.at += 2
            return self.placed(ast.Compare(left, [ast.NotIn()], [self.sum()]), start, self.now.at)
        if self.now.text in _COMPARISONS:
            operator = _COMPARISONS[self.next().text]
            return self.placed(ast.Compare(left, [operator()], [self.sum()]), start, self.now.at)
        return left

    def sum(self) -> ast.expr:
        start, left = self.now, self.unary()
        while self.now.kind == "operator" and self.now.text in _ARITHMETIC:
            operator = _ARITHMETIC[self.next().text]
            left = self.placed(ast.BinOp(left, operator(), self.unary()), start, self.now.at)
        return left

    def unary(self) -> ast.expr:
        start = self.now
        if self.take("not"):
            return self.placed(ast.UnaryOp(ast.Not(), self.unary()), start, self.now.at)
        if self.take("-"):
            return self.placed(ast.UnaryOp(ast.USub(), self.unary()), start, self.now.at)
        return self.postfix(self.atom())

    def postfix(self, node: ast.expr) -> ast.expr:
        while True:
            if self.take("."):
                name = self.next()
                node = self.placed(ast.Attribute(node, name.text, ast.Load()), node, name.end)
            elif self.take("("):
                arguments, keywords = self.arguments(")")
                node = self.placed(ast.Call(node, arguments, keywords), node, self.tokens[self.at - 1].end)
            elif self.take("["):
                index = self.expression()
                self.expect("]")
                node = self.placed(ast.Subscript(node, index, ast.Load()), node, self.tokens[self.at - 1].end)
            else:
                return node

    def arguments(self, closing: str) -> tuple[list[ast.expr], list[ast.keyword]]:
        found: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        while not self.take(closing):
            value = self.expression()
            if self.take(":"):
                name = value.id if isinstance(value, ast.Name) else "?"
                keywords.append(self.placed(ast.keyword(name, self.expression()), value, self.now.at))
            else:
                found.append(value)
            if not self.take(",") and self.now.text != closing:
                raise _NotMeson(f"expected {closing}")
        return found, keywords

    def atom(self) -> ast.expr:
        token = self.next()
        if token.kind == "string":
            text = token.text.removeprefix("f")
            quotes = 3 if text.startswith("'''") else 1
            inner = re.sub(r"@(\d+)@", r"{\1}", text[quotes:-quotes])
            return self.placed(ast.Constant(inner.encode("latin-1").decode("utf-8", "replace")), token, token.end)
        if token.kind == "number":
            return self.placed(ast.Constant(int(token.text, 0)), token, token.end)
        if token.text in ("true", "false"):
            return self.placed(ast.Constant(token.text == "true"), token, token.end)
        if token.kind == "name":
            return self.placed(ast.Name(token.text, ast.Load()), token, token.end)
        if token.text == "(":
            inside = self.expression()
            self.expect(")")
            return inside
        if token.text == "[":
            found, _ = self.arguments("]")
            return self.placed(ast.List(found, ast.Load()), token, self.tokens[self.at - 1].end)
        if token.text == "{":
            keys: list[ast.expr | None] = []
            values: list[ast.expr] = []
            while not self.take("}"):
                keys.append(self.expression())
                self.expect(":")
                values.append(self.expression())
                self.take(",")
            return self.placed(ast.Dict(keys, values), token, self.tokens[self.at - 1].end)
        raise _NotMeson(f"unexpected {token.text or 'end'}")


def read_meson(data: bytes, given: Given) -> Reading:
    """The lists of a meson.build."""
    try:
        body = _Parser(list(_tokens(data.decode("latin-1")))).block()
    except (_NotMeson, IndexError, RecursionError) as error:
        return Reading(unread=((0, f"not read as Meson: {error}"),))
    script = run_script(data, ast.Module(body, []), given, [0])
    return Reading(finished(lists_of(script)))
