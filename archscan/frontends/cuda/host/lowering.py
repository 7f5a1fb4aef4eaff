"""Reduces tree-sitter nodes of C++ code to the small syntax; pieces it does not know become opaque, never an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from archscan.frontends.cuda.host.names import check_operator, is_check, is_member, seed_of, speaks_of_architecture
from archscan.frontends.cuda.host.prefilter import may_ask
from archscan.frontends.cuda.host.summaries import Summariser, failure_effect
from archscan.frontends.cuda.host.syntax import (
    Alias,
    Assign,
    Block,
    Branch,
    Case,
    Check,
    Constant,
    Directive,
    Evaluate,
    Expr,
    Function,
    Guard,
    Leave,
    Loop,
    Nested,
    Op,
    Option,
    Return,
    Statement,
    Summary,
    Switch,
    Unit,
    conjunction,
    declared,
    dotted,
)
from archscan.frontends.cuda.host.traversal import parts, statements
from archscan.model.gate import NOTHING, Effect, Place

_BLANKS = re.compile(rb"\s*\\?\s+|\\\n")
_MAY_MATTER = re.compile(rb"[?&]|[=!<>]=|[<>] ?\d|\]\s*\{|\]\s*\(")  # a choice, an address, a comparison, a lambda
_PREDICATE = re.compile(
    rb"\b(?:is|has|can|supports?|use|enable)\w*\(|\w(?:supported|available)\(|_(?:EQ|NE|GE|GT|LE|LT)\("
)
_SUFFIX = re.compile(r"[uUlLzZ]+$")
_LEAVES = re.compile(rb"\b(?:break|return|goto|throw|continue|exit|abort)\b")
_ALWAYS_READ = frozenset(  # also in very long functions: blocks, and what leaves them
    {"compound_statement", "return_statement", "throw_statement", "break_statement", "continue_statement"}
    | {"goto_statement", "labeled_statement"}
)
_LONGEST_HELPER = 40  # statements
_LONG = 1500  # bytes of a function: of longer ones only statements that may matter are read
_SHORT = 400  # bytes of a constexpr function: a predicate that a template may be tested with
_LONGEST_MACRO = 300
_NESTING = 100  # statements in each other; what is deeper is left out
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


@dataclass(frozen=True, slots=True)
class Visited:
    """A function definition that was met; `position` is its place among the functions read, -1 if it was not."""

    node: Node
    header: Node
    name: str
    scope: str
    template: tuple[str, ...]
    guards: tuple[Guard, ...]
    position: int


def expression(source: bytes, place: Place) -> Expr | None:
    """The expression that a piece of text is, every part of it at `place`; None if it is none."""
    number = number_of(source.decode("utf-8", "replace").strip("() "))
    if number is not None:
        return Expr(Op.NUMBER, place, source.decode("utf-8", "replace"), number=number)
    found = _parsed(source)
    return _moved(found, place) if found is not None else None


@lru_cache(maxsize=4096)
def _parsed(source: bytes) -> Expr | None:
    inner = Lowering(b"int x = " + source + b";", Summariser(lambda code: ()))
    tree = parser().parse(inner.data).root_node
    if tree.has_error or not tree.named_children:
        return None
    declarator = tree.named_children[0].child_by_field_name("declarator")
    value = declarator.child_by_field_name("value") if declarator else None
    return inner.expr(value) if value else None


@dataclass
class Lowering:
    """Lowers one buffer; offsets and lines are shifted by where it begins in the file."""

    data: bytes
    summariser: Summariser
    offset: int = 0
    row: int = 0
    ascii: bool = field(init=False)
    functions: list[Function] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    templates: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    helpers: frozenset[str] = frozenset()  # functions of the buffer that answer for the architecture
    nesting: int = 0
    sparse: bool = False  # reading a function so long that only what may matter is read
    visited: list[Visited] = field(default_factory=list)
    suspects: set[str] = field(default_factory=set)  # names given values that may be capabilities
    named: set[str] = field(default_factory=set)  # constants made of __CUDA_ARCH__, whatever they are called

    def __post_init__(self) -> None:
        self.ascii = self.data.isascii()

    def unit(self) -> Unit:
        """Everything the buffer declares, reduced."""
        tree = parser().parse(self.data)
        self._declarations(tree.root_node, "", (), ())
        self._read_callers()
        return Unit(tuple(self.functions), tuple(self.constants), tuple(self.aliases), tuple(self.templates))

    def _read_callers(self) -> None:
        """Reads the functions again that ask one of the buffer's own helpers, now that these are known."""
        self.helpers = frozenset(f.name for f in self.functions if len(f.name) > 3 and _answers(f))
        called = {name: f"{name}(".encode() for name in self.helpers}
        called |= {name: name.encode() for name in self.suspects if is_member(name) or name in self.named}
        for visit in self.visited if called else ():
            text = self._bytes(visit.node)
            if any(key in text for name, key in called.items() if name != visit.name):
                kept = len(self.functions)
                function = self._lowered(visit)
                del self.functions[kept:]
                if visit.position < 0:
                    self.functions.append(function)
                else:
                    self.functions[visit.position] = function

    # places and text

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

    # declarations

    def _declarations(self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        for child in node.named_children:
            self._declaration(child, scope, template, guards)

    def _declaration(  # noqa: PLR0912 one case per kind of node
        self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]
    ) -> None:
        match node.type:
            case "template_declaration":
                parameters = node.child_by_field_name("parameters")
                self._declarations(node, scope, self._template_names(parameters), guards)
            case "function_definition":
                self._function(node, scope, template, guards)
            case "struct_specifier" | "class_specifier" | "union_specifier":
                self._class(node, template, guards)
            case "enum_specifier":
                self._enumerators(node, scope, guards)
            case "declaration" | "field_declaration":
                self._variables(node, scope, template, guards)
            case "alias_declaration":
                self._alias(node)
            case "static_assert_declaration":
                check = self._static_assert(node, _following(node)) if may_ask(self._bytes(node)) else None
                if check:
                    self.functions.append(Function("", scope, (), template, (check,), self.place(node), guards=guards))
            case "preproc_if" | "preproc_ifdef" | "preproc_elif" | "preproc_else" | "preproc_elifdef":
                self._conditional_declarations(node, scope, template, guards)
            case "preproc_def":
                self._object_macro(node, guards)
            case "preproc_function_def":
                self._function_macro(node)
            case "expression_statement" | "if_statement" | "switch_statement" | "return_statement":
                # statements outside a function: a macro body, or code behind a construct the grammar does not know
                if not may_ask(self._bytes(node)):
                    return
                body = self._block([node])
                self.functions.append(Function("", scope, (), template, body, self.place(node), guards=guards))
            case _:
                self._declarations(node, scope, template, guards)

    def _conditional_declarations(
        self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]
    ) -> None:
        mine, others = guards, guards
        if node.type != "preproc_else" and (guard := self._guard(node)):
            mine = (*guards, guard)
            others = (*guards, replace(guard, negated=not guard.negated))
        alternative = node.child_by_field_name("alternative")
        skip = {
            n.id for n in (alternative, node.child_by_field_name("condition"), node.child_by_field_name("name")) if n
        }
        for child in node.named_children:
            if child.id not in skip:
                self._declaration(child, scope, template, mine)
        if alternative:
            self._conditional_declarations(alternative, scope, template, others)

    def _guard(self, node: Node) -> Guard | None:
        name = node.child_by_field_name("name")
        if name:
            directive = self.data[node.start_byte : node.start_byte + 12]
            defined = Expr(Op.CALL, self.place(name), f"defined({self.text(name)})", "defined", args=(self.expr(name),))
            return Guard(defined, b"ndef" in directive)
        condition = node.child_by_field_name("condition")
        return Guard(self.expr(condition)) if condition else None

    def _class(self, node: Node, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        name_node = node.child_by_field_name("name")
        name = self._last_name(name_node) if name_node else ""
        if template:
            self.templates.append((name, template))
        for child in node.named_children:
            if child.type == "base_class_clause":
                self._bool_constant(child, name, template, guards)
        body = node.child_by_field_name("body")
        if body:
            self._declarations(body, name, (), guards)

    def _bool_constant(self, bases: Node, name: str, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        for base in bases.named_children:
            expr = self.expr(base)
            if expr.name in ("bool_constant", "integral_constant") and expr.targs:
                value = expr.targs[-1]
                self.constants.append(Constant("value", name, template, value, self.place(base), guards))

    def _enumerators(self, node: Node, scope: str, guards: tuple[Guard, ...]) -> None:
        name_node = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        inner = self._last_name(name_node) if name_node else scope
        for child in body.named_children if body else ():
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if child.type == "enumerator" and name is not None:
                # without a value of its own it is a position in the list, whatever number that comes to
                expr = self.expr(value) if value else Expr(Op.OPAQUE, self.place(name), self.text(name))
                self.constants.append(Constant(self.text(name), inner, (), expr, self.place(child), guards))

    def _variables(self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        for child in node.named_children:
            if child.type in ("struct_specifier", "class_specifier", "enum_specifier", "union_specifier"):
                self._declaration(child, scope, template, guards)
        if b"const" not in self._bytes(node):  # a variable changes
            return
        for declarator, value in _initialised(node):
            if name := self._declared(declarator):
                expr = self.expr(value)
                if any(part.name == "__CUDA_ARCH__" or part.name in self.named for part in parts(expr)):
                    self.named.add(name)
                    self.suspects.add(name)
                self.constants.append(Constant(name, scope, template, expr, self.place(node), guards))

    def _alias(self, node: Node) -> None:
        name, target = node.child_by_field_name("name"), node.child_by_field_name("type")
        if not name or not target:
            return
        expr = self.expr(target)
        if expr.targs:
            self.aliases.append(Alias(self.text(name), expr.name, expr.targs, self.place(node)))

    def _object_macro(self, node: Node, guards: tuple[Guard, ...]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if not name or not value or value.end_byte - value.start_byte > 200:
            return
        source = self.data[value.start_byte : value.end_byte].split(b"//")[0].split(b"/*")[0].strip()
        expr = expression(source, self.place(value))
        if expr:
            self.constants.append(Constant(self.text(name), "", (), expr, self.place(node), guards))

    def _function_macro(self, node: Node) -> None:
        """Statements of a macro body, at their own offsets: continuations and the head are blanked, never moved."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        parameters = node.child_by_field_name("parameters")
        if not name or not value or value.start_byte < 12:
            return
        body = self.data[value.start_byte : value.end_byte].replace(b"\\\n", b" \n").replace(b"\\\r\n", b"  \n")
        if not any(word in body for word in (b"if", b"switch", b"CHECK", b"struct", b"ASSERT")):
            self._expression_macro(node, self.text(name), parameters, body)
            return
        row, column = value.start_point
        head = b" " * (value.start_byte - row - column) + b"\n" * row + b" " * column
        inner = Lowering(head + body, self.summariser, self.offset, self.row)
        inner.unit()
        names = tuple(self.text(p) for p in parameters.named_children) if parameters else ()
        for function in inner.functions:
            owner = function.name or self.text(name)
            self.functions.append(
                replace(function, name=owner, is_macro=not function.name, parameters=function.parameters or names)
            )

    def _expression_macro(self, node: Node, name: str, parameters: Node | None, body: bytes) -> None:
        """A macro that is an expression of its parameters, as a function that returns it."""
        if len(body) > _LONGEST_MACRO or not may_ask(body):
            return
        place = self.place(node)
        value = expression(body.strip(), place)
        names = tuple(self.text(p) for p in parameters.named_children) if parameters else ()
        if value is not None:
            self.functions.append(Function(name, "", names, (), (Return(value, place),), place))

    # functions

    def _function(self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        header = self._function_declarator(declarator)
        if not body or not header:
            self._declarations(node, scope, template, guards)
            return
        name_node = header.child_by_field_name("declarator")
        qualified = self.expr(name_node) if name_node else None
        visit = Visited(
            node,
            header,
            qualified.name if qualified else "",
            (qualified.scope if qualified else "") or scope,
            template,
            guards,
            len(self.functions),
        )
        text = self._bytes(node)
        if may_ask(text) or (b"constexpr" in text[:200] and len(text) < _SHORT):
            self.functions.append(Function("", "", (), (), (), self.place(node)))  # keeps the order
            self.functions[visit.position] = self._lowered(visit)
        else:
            visit = replace(visit, position=-1)
        self.visited.append(visit)

    def _lowered(self, visit: Visited) -> Function:
        node, body = visit.node, visit.node.child_by_field_name("body")
        self.sparse = node.end_byte - node.start_byte > _LONG
        before = self.data[node.start_byte : body.start_byte] if body else b""
        parameters = self._parameters(visit.header)
        return Function(
            visit.name,
            visit.scope,
            tuple(name for name, _ in parameters),
            visit.template,
            (*self._member_initialisers(node), *(self._statements(body) if body else ())),
            self.place(node, visit.header),
            is_kernel=b"__global__" in before,
            is_device=b"__global__" in before or b"__device__" in before or b"DEVICE" in before,
            guards=visit.guards,
            types=tuple(type_ for _, type_ in parameters),
        )

    def _function_declarator(self, node: Node | None) -> Node | None:
        while node and node.type != "function_declarator":
            node = node.child_by_field_name("declarator") or (
                node.named_children[-1] if node.type == "reference_declarator" and node.named_children else None
            )
        return node

    def _parameters(self, header: Node) -> tuple[tuple[str, str], ...]:
        """The parameters, each with the last name of its type."""
        found = header.child_by_field_name("parameters")
        named = []
        for child in found.named_children if found else ():
            if child.type in ("parameter_declaration", "optional_parameter_declaration"):
                declarator, kind = child.child_by_field_name("declarator"), child.child_by_field_name("type")
                type_ = self._bytes(kind).decode("utf-8", "replace").rpartition("::")[2] if kind else ""
                named.append((self._declared(declarator) if declarator else "", type_))
        return tuple(named)

    def _template_names(self, node: Node | None) -> tuple[str, ...]:
        names = []
        for child in node.named_children if node else ():
            if child.type == "comment":
                continue
            declarator = child.child_by_field_name("declarator") or child.child_by_field_name("name")
            last = declarator or (child.named_children[-1] if child.named_children else None)
            names.append(self._declared(last) if last else "")
        return tuple(names)

    def _member_initialisers(self, node: Node) -> list[Statement]:
        found: list[Statement] = []
        for clause in node.named_children:
            if clause.type != "field_initializer_list":
                if clause.type == "function_declarator":
                    found += self._member_initialisers(clause)
                continue
            for item in clause.named_children:
                if item.type == "field_initializer" and len(item.named_children) == 2:
                    target, value = item.named_children
                    if value.named_child_count == 1:
                        expr = self.expr(value.named_children[0])
                        self._suspect((self.text(target),), expr)
                        found.append(Assign((self.text(target),), expr, self.place(item)))
        return found

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

    # statements

    def _statements(self, node: Node) -> Block:
        return self._block(node.named_children)

    def _block(self, nodes: Iterable[Node], after: tuple[Node, ...] = ()) -> Block:
        siblings = [n for n in nodes if n.type != "comment"]
        found: list[Statement] = []
        position = 0
        while position < len(siblings):
            if self.sparse and not self._relevant(siblings[position]):
                position += 1
                continue
            options, used = self._continued(siblings, position, after) if found else ([], 0)
            previous = found[-1] if found else None
            if options and isinstance(previous, Branch):
                position += used
                rest = self._effect_of(tuple(siblings[position:]) or after)
                found[-1] = replace(previous, options=(*previous.options, *options), rest=rest)
                continue
            found += self._statement(siblings[position], tuple(siblings[position + 1 :]) or after)
            position += 1
        return tuple(found)

    def _relevant(self, node: Node) -> bool:
        """Whether a statement of a very long function is worth reading: it asks, or leaves, or uses a suspect."""
        if node.type in _ALWAYS_READ:
            return True
        text = self._bytes(node)
        known = any(name.encode() in text for name in self.suspects) or any(n.encode() in text for n in self.helpers)
        return known or may_ask(text) or _PREDICATE.search(text) is not None

    def _continued(self, siblings: list[Node], position: int, after: tuple[Node, ...]) -> tuple[list[Option], int]:
        """Arms of the `if` before that an #if cut off: the grammar reads `else if (c) {` as a declaration of `if`."""
        node = siblings[position]
        following = siblings[position + 1] if position + 1 < len(siblings) else None
        condition = _cut_off_condition(node)
        if condition is not None and following is not None and following.type == "compound_statement":
            body = self._block([following], after)
            expr = self.expr(condition)
            return [Option(expr, body, expr.place, self.summarise((following,)))], 2
        if node.type == "expression_statement" and self._bytes(node).startswith((b"else ", b"else{", b"else\n")):
            return [
                Option(None, (), self.place(node), self.summariser.summary(self._bytes(node)[4:], self.place(node)))
            ], 1
        if node.type in ("preproc_if", "preproc_ifdef") and node.child_by_field_name("alternative") is None:
            return self._continued_under(node, after), 1
        return [], 0

    def _continued_under(self, node: Node, after: tuple[Node, ...]) -> list[Option]:
        """Such arms inside an #if: each asks for its condition too."""
        guard = self._guard(node)
        heads = {n.id for n in (node.child_by_field_name("condition"), node.child_by_field_name("name")) if n}
        inner = [n for n in node.named_children if n.id not in heads and n.type != "comment"]
        found: list[Option] = []
        position = 0
        while position < len(inner) and guard:
            options, used = self._continued(inner, position, after)
            if not options:
                return []
            found += options
            position += used
        return [replace(o, condition=_under(guard, o.condition)) for o in found if guard and o.condition]

    def _statement(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        if self.nesting > _NESTING:
            return []
        self.nesting += 1
        found = self._statement_of(node, after)
        self.nesting -= 1
        return found

    def _statement_of(  # noqa: PLR0912 one case per kind of node
        self, node: Node, after: tuple[Node, ...]
    ) -> list[Statement]:
        match node.type:
            case "compound_statement":
                block = self._block(node.named_children, after)
                return [Nested(block)] if declared(block) else list(block)
            case "else_clause":
                return list(self._block(node.named_children, after))
            case "if_statement":
                return self._if(node, after)
            case "switch_statement":
                return self._switch(node, after)
            case "return_statement" | "co_return_statement":
                value = node.named_children[0] if node.named_children else None
                return [Return(self.expr(value) if value else None, self.place(node))]
            case "throw_statement":
                return [Leave("throw")]
            case "break_statement" | "continue_statement" | "goto_statement":
                return [Leave(node.type.split("_")[0])]
            case "for_statement" | "while_statement" | "do_statement" | "for_range_loop":
                body = node.child_by_field_name("body")
                return [Loop(self._block([body], after))] if body else []
            case "declaration":
                return self._local(node, after)
            case "expression_statement":
                return self._expression_statement(node, after)
            case "static_assert_declaration":
                check = self._static_assert(node, after)
                return [check] if check else []
            case "preproc_if" | "preproc_ifdef":
                return [Directive(tuple(self._directive_options(node, after)))]
            case "labeled_statement":
                return [Leave("label"), *self._block(node.named_children, after)]
            case "try_statement" | "ERROR" | "attributed_statement":
                return list(self._block(node.named_children, after))
            case "function_definition" | "struct_specifier" | "class_specifier":
                self._declaration(node, "", (), ())
                return []
            case "preproc_def" | "preproc_function_def" | "alias_declaration":
                self._declaration(node, "", (), ())
                return []
            case _:
                return []

    def _directive_options(self, node: Node, after: tuple[Node, ...]) -> Iterable[tuple[Expr | None, Block]]:
        guard = self._guard(node) if node.type != "preproc_else" else None
        alternative = node.child_by_field_name("alternative")
        skip = {
            n.id for n in (alternative, node.child_by_field_name("condition"), node.child_by_field_name("name")) if n
        }
        children = [n for n in node.named_children if n.id not in skip]
        condition = guard.condition if guard else None
        if guard and guard.negated and condition:
            condition = Expr(Op.UNARY, condition.place, f"!{condition.text}", "!", args=(condition,))
        yield condition, self._block(children, after)
        if alternative:
            yield from self._directive_options(alternative, after)

    def _if(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        options: list[Option] = []
        bodies: list[Node] = []
        before: list[Statement] = []
        asking = False
        current: Node | None = node
        while current is not None and current.type == "if_statement":
            clause, body = current.child_by_field_name("condition"), current.child_by_field_name("consequence")
            if not clause or not body:
                break
            before += self._condition_initialiser(clause)
            condition = self._condition(clause)
            asking = asking or self._may_ask(condition)
            options.append(Option(condition, self._block([body], after), condition.place, Summary()))
            bodies.append(body)
            current = self._else_of(current)
        if current is not None and current.type != "if_statement":
            options.append(Option(None, self._block([current], after), self.place(current), Summary()))
            bodies.append(current)
        summaries = [self.summarise((b,)) if asking else self.summariser.outline(self._bytes(b)) for b in bodies]
        options = [replace(o, summary=summary) for o, summary in zip(options, summaries, strict=True)]
        constexpr = b"constexpr" in self.data[node.start_byte : node.start_byte + 30].split(b"(")[0]
        rest = self._effect_of(after) if asking and any(o.summary.exits for o in options) else NOTHING
        return [*before, Branch(tuple(options), self.place(node), constexpr, rest, self._near(node))]

    def _bytes(self, node: Node) -> bytes:
        return self.data[node.start_byte : node.end_byte]

    def _may_ask(self, expr: Expr) -> bool:
        """Whether an expression names anything that may carry a capability; it is decided only in the project."""
        for part in parts(expr):
            if part.name in self.suspects or (part.op is Op.CALL and part.name in self.helpers):
                return True
            if part.op is Op.FIELD and dotted(part) in self.suspects:
                return True
            if part.op in (Op.NAME, Op.FIELD) and (seed_of(part.name) or part.name == "__CUDA_ARCH__"):
                return True
            called = part.op is Op.CALL or bool(part.targs)
            if called and (seed_of(part.name, call=True) or speaks_of_architecture(part.name)):
                return True
        return False

    def _suspect(self, targets: tuple[str, ...], value: Expr) -> None:
        if self._may_ask(value):
            self.suspects.update(targets)

    def _else_of(self, node: Node) -> Node | None:
        alternative = node.child_by_field_name("alternative")
        if alternative is None:
            return None
        inner = [n for n in alternative.named_children if n.type != "comment"]
        if alternative.type == "else_clause":
            return inner[0] if len(inner) == 1 else alternative
        return alternative

    def _condition_initialiser(self, clause: Node) -> list[Statement]:
        found = clause.child_by_field_name("initializer")
        inner = found.named_children[0] if found and found.named_children else None
        return self._statement(inner, ()) if inner else []

    def _condition(self, clause: Node) -> Expr:
        value = clause.child_by_field_name("value")
        if value is None and clause.named_children:
            value = clause.named_children[-1]
        if value is not None and value.type == "declaration":
            value = value.child_by_field_name("value") or value
        return self.expr(value if value is not None else clause)

    def _switch(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        clause, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if not clause or not body:
            return []
        cases = tuple(self._merged(list(self._cases(body, (), after))))
        return [Switch(self._condition(clause), cases, self.place(node), self._effect_of(after), self._near(node))]

    def _cases(self, node: Node, guards: tuple[Guard, ...], after: tuple[Node, ...]) -> Iterable[Case]:
        for child in node.named_children:
            if child.type == "case_statement":
                yield self._case(child, guards, after)
            elif child.type in ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"):
                guard = self._guard(child) if child.type != "preproc_else" else None
                yield from self._cases(child, (*guards, guard) if guard else guards, after)

    def _case(self, node: Node, guards: tuple[Guard, ...], after: tuple[Node, ...]) -> Case:
        value = node.child_by_field_name("value")
        children = [n for n in node.named_children if value is None or n.id != value.id]
        labels = (self.expr(value),) if value else ()
        place = self.place(value) if value else self.place(node)
        summary = self.summarise(tuple(children))
        falls = not summary.exits and _LEAVES.search(self._bytes(node)) is None
        return Case(labels, value is None, guards, self._block(children, after), place, summary, falls)

    def _merged(self, cases: list[Case]) -> Iterable[Case]:
        """Cases with empty bodies joined to the one they fall into (`case 80: case 86: ...`)."""
        pending: list[Case] = []
        entered: tuple[Expr, ...] = ()
        for case in cases:
            if not case.body and case.summary.place is None and not case.guards:
                pending.append(case)
                continue
            labels = tuple(label for p in pending for label in p.labels) + case.labels
            place = pending[0].place if pending else case.place
            default = case.default or any(p.default for p in pending)
            yield replace(case, labels=labels, default=default, place=place, entered=entered)
            entered = (*entered, *labels) if case.falls else ()
            pending = []
        yield from pending

    def _local(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        found: list[Statement] = []
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type != "init_declarator":
                if declarator.type != "function_declarator" and (name := self._declared(declarator)):
                    found.append(Assign((name,), None, self.place(node), declared=True))
                continue
            target, value = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("value")
            if target is None or value is None:
                continue
            names = (
                tuple(self.text(n) for n in target.named_children)
                if target.type == "structured_binding_declarator"
                else (self._declared(target),)
            )
            if value.type == "argument_list" and value.named_child_count == 1:
                value = value.named_children[0]
            expr = self.expr(value)
            self._suspect(names, expr)
            found.append(Assign(names, expr, self.place(declarator), declared=True))
        return found

    def _expression_statement(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        inner = node.named_children[0] if node.named_children else None
        if inner is None:
            return []
        if inner.type == "assignment_expression":
            return self._assignment(inner)
        call = _leftmost_call(inner)
        if call is not None and (name := self._callee(call)) and is_check(name):
            check = self._check(call, name, node, after)
            if check:
                return [check]
        return [Evaluate(self.expr(inner))] if _MAY_MATTER.search(self._bytes(inner)) else []

    def _assignment(self, node: Node) -> list[Statement]:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if not left or not right:
            return []
        if left.type == "subscript_expression" and not _MAY_MATTER.search(self._bytes(right)):
            return []
        target = self.expr(left)
        names = (
            tuple(a.text for a in target.args) if target.name == "tie" and target.op is Op.CALL else (dotted(target),)
        )
        compound = bool(operator and self.text(operator) != "=")
        value = self.expr(right)
        self._suspect(names, value)
        return [Assign(names, value, self.place(node), compound=compound)]

    def _callee(self, call: Node) -> str:
        function = call.child_by_field_name("function")
        return self._last_name(function) if function and function.type != "lambda_expression" else ""

    def _check(self, call: Node, name: str, statement: Node, after: tuple[Node, ...]) -> Check | None:
        arguments = call.child_by_field_name("arguments")
        operands = [n for n in arguments.named_children if n.type != "comment"] if arguments else []
        operator = check_operator(name)
        if not operands or (operator and len(operands) < 2):
            return None
        first = self.expr(operands[0])
        condition = first
        if operator:
            second = self.expr(operands[1])
            place = self.place(operands[0], operands[1])
            condition = Expr(Op.BINARY, place, f"{first.text} {operator} {second.text}", operator, args=(first, second))
        if condition.op is Op.NAME and condition.name == "false":
            return None
        refusal = failure_effect(name, self._bytes(statement), self.place(statement).line)
        rest = self.summarise(after) if self._may_ask(condition) else Summary()
        return Check(condition, name, self.place(statement), refusal, rest, self._near(statement))

    def _static_assert(self, node: Node, after: tuple[Node, ...]) -> Check | None:
        condition = node.child_by_field_name("condition")
        if condition is None:
            return None
        refusal = failure_effect("static_assert", self.data[node.start_byte : node.end_byte], self.place(node).line)
        return Check(self.expr(condition), "static_assert", self.place(node), refusal, self.summarise(after))

    def summarise(self, nodes: tuple[Node, ...]) -> Summary:
        """What a run of sibling statements does."""
        if not nodes:
            return Summary()
        start, end = nodes[0].start_byte, nodes[-1].end_byte
        return self.summariser.summary(self.data[start:end], self.place(nodes[0], nodes[-1]))

    def _effect_of(self, nodes: tuple[Node, ...]) -> Effect:
        """What a run of sibling statements does, without what it uses."""
        if not nodes:
            return NOTHING
        return self.summariser.effect(self.data[nodes[0].start_byte : nodes[-1].end_byte], self._line(nodes[0]))

    def _near(self, node: Node) -> str:
        """The comment lines right above a statement."""
        lines: list[str] = []
        previous = node.prev_sibling
        while previous is not None and previous.type == "comment" and len(lines) < 8:
            lines.append(self.text(previous))
            previous = previous.prev_sibling
        return "\n".join(reversed(lines))

    # expressions

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
            case "initializer_list":
                return Expr(Op.GROUP, self.place(node), self.text(node)[:200], args=self._children(node, depth))
            case "compound_literal_expression":
                value = node.child_by_field_name("value")
                return self.expr(value, depth + 1) if value else self._opaque(node, depth)
            case "string_literal" | "concatenated_string" | "raw_string_literal":
                return Expr(Op.TEXT, self.place(node), self.text(node))
            case "lambda_expression":
                body = node.child_by_field_name("body")
                block = self._statements(body) if body else ()
                return Expr(Op.OPAQUE, self.place(node), self.text(node)[:80], "lambda", body=block)
            case _:
                return self._opaque(node, depth)

    def _children(self, node: Node, depth: int) -> tuple[Expr, ...]:
        return tuple(self.expr(n, depth + 1) for n in node.named_children if n.type != "comment")

    def _opaque(self, node: Node, depth: int) -> Expr:
        return Expr(Op.OPAQUE, self.place(node), self.text(node)[:200], args=self._children(node, depth))

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


def _answers(function: Function) -> bool:
    """Whether a function is a short helper that returns a value: a capability, or a truth on one."""
    body = list(statements(function.body))
    values = [s.value for s in body if isinstance(s, Return) and s.value is not None]
    return len(body) <= _LONGEST_HELPER and any(_is_answer(v) for v in values)


def _is_answer(value: Expr) -> bool:
    """Whether a returned expression may be a capability or a truth; statuses (cudaSuccess, kOk) are not."""
    return value.op is not Op.NAME or not re.match(r"(?:cuda|CUDA|k[A-Z]|[A-Z])", value.name)


def _cut_off_condition(node: Node) -> Node | None:
    """The condition of an `else if (c)` that the grammar took for a declaration; None for anything else."""
    kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if node.type != "declaration" or not kind or kind.text != b"else" or not declarator:
        return None
    name, value = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("value")
    if not name or name.text != b"if" or not value or len(value.named_children) != 1:
        return None
    return value.named_children[0]


def _under(guard: Guard, condition: Expr) -> Expr:
    """The condition, and the preprocessor's before it."""
    head = guard.condition
    if guard.negated:
        head = Expr(Op.UNARY, head.place, f"!{head.text}", "!", args=(head,))
    return conjunction(head, condition)


def _leftmost_call(node: Node) -> Node | None:
    """The macro call in `CHECK(x) << "text" << y`."""
    while node.type == "binary_expression" and (left := node.child_by_field_name("left")):
        node = left
    return node if node.type == "call_expression" else None


def _moved(expr: Expr, place: Place) -> Expr:
    """The expression with every part at `place`: for text that was parsed outside its file."""
    return replace(
        expr,
        place=place,
        args=tuple(_moved(a, place) for a in expr.args),
        targs=tuple(_moved(a, place) for a in expr.targs),
    )


def _following(node: Node) -> tuple[Node, ...]:
    """The declarations that follow one, also out of the `#if` and namespaces around it."""
    found: list[Node] = []
    at = node
    while at.parent is not None:
        found += [n for n in at.parent.named_children if n.start_byte >= at.end_byte and n.type not in _OTHERWISE]
        at = at.parent
    return tuple(found)


_OTHERWISE = frozenset({"preproc_else", "preproc_elif", "preproc_elifdef"})


def _initialised(node: Node) -> Iterator[tuple[Node, Node]]:
    """The declarators of a declaration that are given a value: `int kMin = 800, kMax = 890;`."""
    before: Node | None = None
    for i, part in enumerate(node.children):
        role = node.field_name_for_child(i)
        if role == "default_value" and before is not None:
            yield before, part
        elif role == "declarator":
            before = part
            declarator, value = part.child_by_field_name("declarator"), part.child_by_field_name("value")
            if part.type == "init_declarator" and declarator is not None and value is not None:
                yield declarator, value
