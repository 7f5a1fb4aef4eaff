"""Reduces C++ code to the small syntax: what a buffer declares, and the functions in it that may ask for the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from archscan.frontends.cuda.host.asking import SHORTEST, places
from archscan.frontends.cuda.host.expressions import expression, parser
from archscan.frontends.cuda.host.naming_conventions import carries_capability, convention_of, is_member
from archscan.frontends.cuda.host.out_parameters import filled
from archscan.frontends.cuda.host.statements import Statements
from archscan.frontends.cuda.host.syntax import (
    Alias,
    Assign,
    Constant,
    Expr,
    Function,
    Guard,
    Op,
    Return,
    Statement,
    Unit,
)
from archscan.frontends.cuda.host.traversal import deciding, parts, statements

_ASKED = re.compile(  # variables that the driver or runtime is asked to put the capability into
    rb"GetAttribute\s*\(\s*&\s*([\w.]+)\s*,[\s\w:]*(?:omputeCapability|COMPUTE_CAPABILITY)"
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TABLE = re.compile(
    rb"\bstatic\b[^;{}]*\{\s*\{\s*\{?\s*(?:[5-9]|1[0-3])\d*\s*,"
)  # a table of capabilities that is returned
_ROUNDS = 3
_LONGEST_HELPER = 40  # statements
_LONG = 1500  # bytes of a function: of longer ones only statements that may matter are read
_SHORT = 400  # bytes of a constexpr function: a predicate that a template may be tested with
_LONGEST_MACRO = 300


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


@dataclass
class Lowering(Statements):
    """Lowers one buffer: what it declares, and the functions in it that may ask for the architecture."""

    functions: list[Function] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    templates: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    visited: list[Visited] = field(default_factory=list)
    named: set[str] = field(default_factory=set)  # what is made of __CUDA_ARCH__, whatever it is called
    flags: set[str] = field(default_factory=set)  # constants of the file that may hold an answer
    special: tuple[Expr, ...] = ()  # arguments of the template specialisation in hand

    def unit(self) -> Unit:
        """Everything the buffer declares, reduced."""
        tree = parser().parse(self.data)
        self._declarations(tree.root_node, "", (), ())
        self._read_given()
        self._read_callers()
        return Unit(
            tuple(self.functions),
            tuple(self.constants),
            tuple(self.aliases),
            tuple(self.templates),
            tuple(sorted(self.named)),
        )

    def _read_given(self) -> None:
        """Reads the helpers of the buffer that are given something that may be a capability: `wide(prop.major)`."""
        given = {p.name for f in self.functions for p in _calls(f) if any(self._may_ask(a) for a in p.args)}
        for at, visit in enumerate(tuple(self.visited)):
            if visit.position < 0 and visit.name in given:
                self._read_now(at, visit)

    def _read_callers(self) -> None:
        """Reads the functions again that ask one of the buffer's own helpers, now that these are known.

        What they answer may be asked in turn.
        """
        asked: set[str] = set()
        for _ in range(_ROUNDS):
            own = frozenset(f.name for f in self.functions if _is_named(f) and (answers(f) or filled(f)))
            self.helpers = own | self.known
            kept = self.named | self.flags
            called = {name: f"{name}(".encode() for name in own}
            called |= {name: name.encode() for name in self.suspects if is_member(name) or name in kept}
            fresh = {name: key for name, key in called.items() if name not in asked}
            if not fresh:
                return
            asked |= fresh.keys()
            self._read_again(fresh)

    def _read_again(self, called: dict[str, bytes]) -> None:
        """Reads the functions that name one of these."""
        for at, visit in enumerate(tuple(self.visited)):
            text = self._bytes(visit.node)
            if any(key in text for name, key in called.items() if name != visit.name):
                self._read_now(at, visit)

    def _read_now(self, at: int, visit: Visited) -> None:
        """Reads a function that was left out, or again."""
        known, met = len(self.functions), len(self.visited)
        function = self._lowered(visit)
        del self.functions[known:], self.visited[met:]  # inner functions, which are met again
        if visit.position < 0:
            self.visited[at] = replace(visit, position=known)
            self.functions.append(function)
        else:
            self.functions[visit.position] = function

    def declare(self, node: Node) -> None:
        """Takes note of what a statement declares beside variables: types, functions, macros."""
        self._declaration(node, "", (), ())

    # declarations

    def _declarations(self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        begun = ""
        for child in node.named_children:
            if begun and child.type in ("preproc_if", "preproc_ifdef"):
                self._chosen_value(begun, child, scope, template, guards)
            else:
                self._declaration(child, scope, template, guards)
            begun = self._begun(child) if child.type == "ERROR" else ""

    def _begun(self, node: Node) -> str:
        """The constant whose value is still to come: `constexpr int kLimit =` before an #if."""
        code = self._bytes(node)
        names = [part for part in node.named_children if part.type == "identifier"]
        return self.text(names[-1]) if names and b"const" in code and code.rstrip().endswith(b"=") else ""

    def _chosen_value(
        self, name: str, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]
    ) -> None:
        """The values of a constant, one in each branch of an #if."""
        for inner, body in self._branches(node, guards):
            values = [child for child in body if child.type == "expression_statement" and child.named_children]
            if len(body) == len(values) == 1:
                expr = self.expr(values[0].named_children[0])
                self._note(name, expr, *(guard.condition for guard in inner))
                self.constants.append(Constant(name, scope, template, expr, self.place(values[0]), inner))

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
                check = self._static_assert(node, _following(node)) if self.asks(node) else None
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
                if not self.asks(node):
                    return
                body = self._block([node])
                self.functions.append(Function("", scope, (), template, body, self.place(node), guards=guards))
            case _:
                self._declarations(node, scope, template, guards)

    def _conditional_declarations(
        self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]
    ) -> None:
        for inner, body in self._branches(node, guards):
            for child in body:
                self._declaration(child, scope, template, inner)

    def _branches(self, node: Node, guards: tuple[Guard, ...]) -> Iterator[tuple[tuple[Guard, ...], list[Node]]]:
        """The branches of an #if, each with the conditions around it."""
        others = guards
        if node.type != "preproc_else" and (guard := self._guard(node)):
            guards = (*guards, guard)
            others = (*others, replace(guard, negated=not guard.negated))
        alternative = node.child_by_field_name("alternative")
        skip = {
            n.id for n in (alternative, node.child_by_field_name("condition"), node.child_by_field_name("name")) if n
        }
        yield guards, [child for child in node.named_children if child.id not in skip]
        if alternative:
            yield from self._branches(alternative, others)

    def _class(self, node: Node, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        name_node = node.child_by_field_name("name")
        named = self.expr(name_node) if name_node else None
        name = named.name if named else ""
        if template and any(template):
            self.templates.append((name, template))
        for child in node.named_children:
            if child.type == "base_class_clause":
                self._bool_constant(child, name, template, guards)
        body = node.child_by_field_name("body")
        if body:
            outer, self.special = self.special, named.targs if named else ()
            kept = len(self.constants)
            self._declarations(body, name, (), guards)
            self.special = outer
            self._note(name, *(c.value for c in self.constants[kept:]))

    def _note(self, name: str, *made_of: Expr) -> None:
        """Takes note of a name if what it stands for is made of the architecture."""
        if name and any(self._is_made_of_it(part) for expr in made_of for part in parts(expr)):
            self.named.add(name)
            self.suspects.add(name)

    def _is_made_of_it(self, part: Expr) -> bool:
        return part.name == "__CUDA_ARCH__" or part.name in self.named or part.scope.rpartition("::")[2] in self.named

    def _bool_constant(self, bases: Node, name: str, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        for base in bases.named_children:
            expr = self.expr(base)
            if expr.name in ("bool_constant", "integral_constant") and expr.targs:
                value = expr.targs[-1]
                self.constants.append(Constant("value", name, template, value, self.place(base), guards))
                self._note(name, value)

    def _enumerators(self, node: Node, scope: str, guards: tuple[Guard, ...]) -> None:
        name_node = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        inner = self._last_name(name_node) if name_node else scope
        members = [n for n in body.named_children if n.type == "enumerator"] if body else []
        numbered = any(n.child_by_field_name("value") for n in members[1:])
        for position, child in enumerate(members):
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if name is not None:
                expr = self.expr(value) if value else None
                if expr is None or (position == 0 and not numbered and expr.number == 0 and expr.op is Op.NUMBER):
                    expr = self._unnumbered(name, inner, position, numbered)
                self.constants.append(Constant(self.text(name), inner, (), expr, self.place(child), guards))

    def _unnumbered(self, name: Node, enumeration: str, position: int, numbered: bool) -> Expr:
        """A member without a value of its own: a position in the list, whatever number that comes to."""
        known = "" if numbered else "enumerator"
        return Expr(Op.OPAQUE, self.place(name), self.text(name), known, enumeration, number=position)

    def _variables(self, node: Node, scope: str, template: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
        for child in node.named_children:
            if child.type in ("struct_specifier", "class_specifier", "enum_specifier", "union_specifier"):
                self._declaration(child, scope, template, guards)
        if b"const" not in self._bytes(node):  # a variable changes
            return
        for declarator, value in _initialised(node):
            if name := self._declared(declarator):
                expr = self.expr(value)
                self._note(name, expr, *(guard.condition for guard in guards))
                if expr.op is not Op.NUMBER and self._may_ask(expr):
                    self.flags.add(name)
                    self.suspects.add(name)
                self.constants.append(
                    Constant(name, scope, template, expr, self.place(node), guards, self.special if scope else ())
                )

    def _alias(self, node: Node) -> None:
        name, target = node.child_by_field_name("name"), node.child_by_field_name("type")
        if not name or not target:
            return
        expr = self.expr(target)
        if expr.targs:
            self.aliases.append(Alias(self.text(name), expr.name, expr.targs, self.place(node)))
            self._note(self.text(name), expr)

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
        code = head + body
        inner = Lowering(code, self.offset, self.row, summariser=self.summariser, asked=places(code))
        inner.unit()
        names = tuple(self.text(p) for p in parameters.named_children) if parameters else ()
        for function in inner.functions:
            owner = function.name or self.text(name)
            self.functions.append(
                replace(function, name=owner, is_macro=not function.name, parameters=function.parameters or names)
            )

    def _expression_macro(self, node: Node, name: str, parameters: Node | None, body: bytes) -> None:
        """A macro that is an expression of its parameters, as a function that returns it."""
        if len(body) > _LONGEST_MACRO or not (places(body) or any(carries_capability(w) for w in _words(body))):
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
        short = b"constexpr" in text[:200] and len(text) < _SHORT
        if self.asks(node) or short or (len(text) < _LONG and _TABLE.search(text)):
            self.functions.append(Function("", "", (), (), (), self.place(node)))  # keeps the order
            self.functions[visit.position] = self._lowered(visit)
            if short and (b"__CUDA_ARCH__" in text or not self.named.isdisjoint(_words(text))):
                self.named.add(visit.name)
                self.suspects.add(visit.name)
        else:
            visit = replace(visit, position=-1)
        self.visited.append(visit)

    def _lowered(self, visit: Visited) -> Function:
        node, body = visit.node, visit.node.child_by_field_name("body")
        self.sparse = node.end_byte - node.start_byte > _LONG
        self.suspects.update(m.decode("utf-8", "replace") for m in _ASKED.findall(self._bytes(node)))
        before = self.data[node.start_byte : body.start_byte] if body else b""
        parameters = self._parameters(visit.header)
        return Function(
            visit.name,
            visit.scope,
            tuple(name for name, _ in parameters),
            visit.template,
            (*self._member_initialisers(node), *(self.block_of(body) if body else ())),
            self.place(node, visit.header),
            is_kernel=b"__global__" in before,
            is_device=b"__global__" in before or b"__device__" in before or b"DEVICE" in before,
            guards=visit.guards,
            types=tuple(type_ for _, type_ in parameters),
            variadic=_has_pack(visit.header),
            is_sparse=self.sparse,
            numbers=self.summariser.numbers(self._bytes(body)) if body is not None else 0,
        )

    def name_lambda(self, name: str, node: Node, value: Expr) -> Expr:
        """A lambda that a variable holds: a helper of that name."""
        header = node.child_by_field_name("declarator")
        if value.body is None:
            return value
        parameters = self._parameters(header) if header else ()
        self.functions.append(
            Function(
                name,
                "",
                tuple(name for name, _ in parameters),
                (),
                value.body,
                value.place,
                types=tuple(type_ for _, type_ in parameters),
                is_lambda=True,
            )
        )
        return replace(value, scope=name)

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
            if child.type in _PARAMETERS:
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


def _words(code: bytes) -> frozenset[str]:
    return frozenset(word.decode() for word in _WORD.findall(code))


def _calls(function: Function) -> Iterator[Expr]:
    """The calls whose answer decides something in a function, or is kept or returned."""
    for statement in statements(function.body):
        value = getattr(statement, "value", None)
        for expr in (*deciding(statement), *((value,) if value is not None else ())):
            yield from (part for part in parts(expr) if part.op is Op.CALL)


def _is_named(function: Function) -> bool:
    """Whether a function can be told by its name: a short one only if it is that of a capability."""
    return len(function.name) >= SHORTEST or convention_of(function.name, call=True) is not None


def answers(function: Function) -> bool:
    """Whether a function is a short helper that returns a value: a capability, or a truth on one."""
    body = list(statements(function.body))
    values = [s.value for s in body if isinstance(s, Return) and s.value is not None]
    return len(body) <= _LONGEST_HELPER and any(_is_answer(v) for v in values)


def _is_answer(value: Expr) -> bool:
    """Whether a returned expression may be a capability or a truth; statuses (cudaSuccess, kOk) are not."""
    return value.op is not Op.NAME or not re.match(r"(?:cuda|CUDA|k[A-Z]|[A-Z])", value.name)


def _following(node: Node) -> tuple[Node, ...]:
    """The declarations that follow one, also out of the `#if` and namespaces around it."""
    found: list[Node] = []
    at = node
    while at.parent is not None:
        found += [n for n in at.parent.named_children if n.start_byte >= at.end_byte and n.type not in _OTHERWISE]
        at = at.parent
    return tuple(found)


def _has_pack(header: Node) -> bool:
    found = header.child_by_field_name("parameters")
    return bool(found and found.named_children and found.named_children[-1].type == "variadic_parameter_declaration")


_PARAMETERS = frozenset({"parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"})
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
