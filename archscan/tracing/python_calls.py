"""Reads who calls whom in one Python file, and under which conditions; parsed, since a trace opens few files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import tree_sitter_python
from tree_sitter import Language, Node, Parser

_LANGUAGE = Language(tree_sitter_python.language())
_TRANSPARENT = frozenset({"parenthesized_expression", "await", "expression_list"})
_LEAVES_BLOCK = frozenset({"return_statement", "raise_statement", "continue_statement", "break_statement"})
_CLAUSES = frozenset({"block", "except_clause", "finally_clause", "else_clause", "except_group_clause"})
_COMPOUND = frozenset({"with_statement", "try_statement", "for_statement", "match_statement", "case_clause"})
_MOST_NAMES = 200  # of one condition
_STANDS_IN = re.compile(r"fake|abstract|meta\b|vmap|autograd")  # decorators of what never runs on the GPU
_NESTING = 200  # deeper expressions are generated or hostile; what lies below is not read


def names_of(dotted: str) -> frozenset[str]:
    """The names that a dotted expression is made of."""
    return frozenset(dotted.replace("()", "").split("."))


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that decides whether what follows it runs: its lines and every name in it."""

    line: int
    end_line: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Call:
    """A call or a mention of a name. `callee` is dotted, arguments dropped: `get_module().op`."""

    caller: str  # qualified name of the function around it; "" at module level
    callee: str
    line: int
    guards: tuple[Guard, ...]
    mention: bool = False  # not called here: passed on, stored, re-exported

    @property
    def name(self) -> str:
        return self.callee.rpartition(".")[2].removesuffix("()")

    @property
    def parts(self) -> frozenset[str]:
        """The names that the callee is made of."""
        return names_of(self.callee)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or class, from its first decorator to its last line."""

    name: str  # qualified: Class.method, outer.inner
    line: int
    first_line: int
    end_line: int
    is_class: bool
    decorators: tuple[str, ...] = ()  # names in its decorators
    bases: tuple[str, ...] = ()  # dotted, of a class


@dataclass(frozen=True, slots=True)
class Import:
    """`import module as local` (name "") or `from module import name as local`; module absolute or with dots."""

    local: str
    module: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Value:
    """An assignment: `scope` and `name` of what is set (attributes as `.name`), the dotted expression if it is one."""

    scope: str
    name: str
    expression: str  # dotted, "" if it is something else
    names: frozenset[str]  # every name on the right
    line: int
    guards: tuple[Guard, ...]


@dataclass(frozen=True)
class Module:
    """What a Python file says about calls."""

    path: str
    functions: tuple[Function, ...]
    calls: tuple[Call, ...]
    imports: tuple[Import, ...]
    values: tuple[Value, ...]
    registered: tuple[tuple[str, str], ...] = field(default=())  # (operator as named in a decorator, function)

    @cached_property
    def by_name(self) -> dict[str, Function]:
        return {f.name: f for f in reversed(self.functions)}

    @cached_property
    def imported(self) -> dict[str, list[Import]]:
        """Every import that binds a name: there is one in each branch of an `if`."""
        result: dict[str, list[Import]] = {}
        for item in self.imports:
            result.setdefault(item.local, []).append(item)
        return result

    @cached_property
    def calls_by_caller(self) -> dict[str, list[Call]]:
        result: dict[str, list[Call]] = {}
        for call in self.calls:
            result.setdefault(call.caller, []).append(call)
        return result

    @cached_property
    def calls_by_name(self) -> dict[str, list[Call]]:
        result: dict[str, list[Call]] = {}
        for call in self.calls:
            result.setdefault(call.name, []).append(call)
        return result

    @cached_property
    def values_by_name(self) -> dict[tuple[str, str], list[Value]]:
        result: dict[tuple[str, str], list[Value]] = {}
        for value in self.values:
            result.setdefault((value.scope, value.name), []).append(value)
        return result

    def around(self, line: int) -> Function | None:
        """The innermost function or class that holds `line`."""
        inside = [f for f in self.functions if f.first_line <= line <= f.end_line]
        return max(inside, key=lambda f: f.first_line, default=None)


def read(data: bytes, path: str, outline: bool = False) -> Module:
    """The calls, imports and assignments of a Python file; what does not parse is left out, the rest is kept.

    With `outline` only what other files can name, at a fraction of the cost: functions, imports, module-level values.
    """
    reader = _Reader(outline)
    reader.block(Parser(_LANGUAGE).parse(data).root_node, "", (), 0)
    return Module(
        path,
        tuple(reader.functions),
        tuple(reader.calls),
        tuple(reader.imports),
        tuple(reader.values),
        tuple(reader.registered),
    )


class _Reader:
    """Walks statements with the guards that hold there."""

    def __init__(self, outline: bool) -> None:
        self.outline = outline
        self.functions: list[Function] = []
        self.calls: list[Call] = []
        self.imports: list[Import] = []
        self.values: list[Value] = []
        self.registered: list[tuple[str, str]] = []

    def block(self, node: Node, scope: str, guards: tuple[Guard, ...], depth: int) -> None:
        """Statements in order; one that can leave the block guards those after it."""
        if depth > _NESTING:
            return
        for child in node.named_children:
            self.statement(child, scope, guards, depth + 1)
            leaving = None if self.outline else _leaving_condition(child)
            if leaving is not None:
                guards = (*guards, _guard(leaving))

    def statement(self, node: Node, scope: str, guards: tuple[Guard, ...], depth: int) -> None:
        kind = node.type
        if kind in ("decorated_definition", "function_definition", "class_definition"):
            self._definition(node, scope, guards, depth)
        elif kind in ("if_statement", "while_statement"):
            self._conditional(node, scope, guards, depth)
        elif kind in ("import_statement", "import_from_statement"):
            self.imports += _imports(node)
        elif kind == "block":
            self.block(node, scope, guards, depth)
        else:
            if kind == "return_statement" and not self.outline:
                self._returned(node, scope, guards)
            for child in node.named_children:
                if kind in _COMPOUND or child.type in _CLAUSES:
                    self.statement(child, scope, guards, depth + 1)
                else:
                    self.expression(child, scope, guards, depth + 1)

    def _returned(self, node: Node, scope: str, guards: tuple[Guard, ...]) -> None:
        for value in node.named_children[:1]:
            line = node.start_point[0] + 1
            self.values.append(Value(scope, "return", _dotted(value), _names(value), line, guards))

    def _definition(self, node: Node, scope: str, guards: tuple[Guard, ...], depth: int) -> None:
        inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        name = inner.child_by_field_name("name") if inner else None
        body = inner.child_by_field_name("body") if inner else None
        if inner is None or name is None:
            return
        qualified = f"{scope}.{_text(name)}" if scope else _text(name)
        decorators = [child for child in node.named_children if child.type == "decorator"]
        names = frozenset[str]().union(*(_all_names(d) for d in decorators))
        for decorator in decorators:
            self.expression(decorator, scope, guards, depth + 1)
            if not _STANDS_IN.search(_text(decorator)):
                self.registered += [(text, qualified) for text in _strings(decorator) if "::" in text]
        self.functions.append(
            Function(
                qualified,
                inner.start_point[0] + 1,
                node.start_point[0] + 1,
                node.end_point[0] + 1,
                inner.type == "class_definition",
                tuple(sorted(names)),
                _bases(inner),
            )
        )
        inside: tuple[Guard, ...] = guards if inner.type == "class_definition" else ()
        if decorators:
            inside = (*inside, Guard(node.start_point[0] + 1, inner.start_point[0], names))
        if body is not None:
            self.block(body, qualified, inside, depth + 1)

    def _conditional(self, node: Node, scope: str, guards: tuple[Guard, ...], depth: int) -> None:
        """Every branch is guarded by its own condition and those of the branches before it."""
        for child in (node, *node.children_by_field_name("alternative")):
            condition = child.child_by_field_name("condition")
            body = child.child_by_field_name("consequence") or child.child_by_field_name("body")
            if condition is not None and not self.outline:
                self.expression(condition, scope, guards, depth + 1)
                guards = (*guards, _guard(condition))
            if body is not None:
                self.block(body, scope, guards, depth + 1)

    def expression(self, node: Node, scope: str, guards: tuple[Guard, ...], depth: int) -> None:
        """Calls and mentions below `node`, left operands of `and` and conditions of `x if c else y` as guards."""
        if depth > _NESTING or (self.outline and (scope or node.type != "assignment")):
            return
        kind = node.type
        if kind in ("assignment", "augmented_assignment", "named_expression"):
            self._assignment(node, scope, guards)
        if kind == "call":
            self._call(node, scope, guards, depth)
        elif kind in ("identifier", "attribute"):
            self._mention(node, scope, guards, depth)
        else:
            for child, inner in _operands(node, guards):
                self.expression(child, scope, inner, depth + 1)

    def _assignment(self, node: Node, scope: str, guards: tuple[Guard, ...]) -> None:
        left = node.child_by_field_name("left") or node.child_by_field_name("name")
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        if left is None or right is None:
            return
        names = _names(right)
        for target in left.named_children if left.type in ("pattern_list", "tuple_pattern") else [left]:
            if target.type == "identifier":
                name = _text(target)
            elif target.type == "attribute":
                name = "." + _text(target).rpartition(".")[2]
            else:
                continue
            self.values.append(Value(scope, name, _dotted(right), names, node.start_point[0] + 1, guards))

    def _call(self, node: Node, scope: str, guards: tuple[Guard, ...], depth: int) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        callee = _dotted(function) if function is not None else ""
        if function is not None:
            if callee:
                self.calls.append(Call(scope, callee, function.end_point[0] + 1, guards))
            inner = function.child_by_field_name("object") if function.type == "attribute" else function
            if inner is not None and inner.type not in ("identifier", "attribute"):
                self.expression(inner, scope, guards, depth + 1)
        if arguments is not None:
            self.expression(arguments, scope, guards, depth + 1)

    def _mention(self, node: Node, scope: str, guards: tuple[Guard, ...], depth: int) -> None:
        dotted = _dotted(node)
        if dotted:
            self.calls.append(Call(scope, dotted, node.start_point[0] + 1, guards, mention=True))
        if "()" in dotted or not dotted:
            for child in node.named_children[:1]:
                if child.type not in ("identifier",):
                    self.expression(child, scope, guards, depth + 1)


def _bases(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("superclasses")
    return tuple(filter(None, (_dotted(base) for base in listed.named_children))) if listed is not None else ()


def _operands(node: Node, guards: tuple[Guard, ...]) -> Iterator[tuple[Node, tuple[Guard, ...]]]:
    """The parts of an expression that are evaluated, each with the guards that hold there."""
    kind = node.type
    if kind == "boolean_operator":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            yield left, guards
            yield right, (*guards, _guard(left))
    elif kind == "conditional_expression" and len(node.named_children) == 3:
        first, condition, second = node.named_children
        yield condition, guards
        yield first, (*guards, _guard(condition))
        yield second, (*guards, _guard(condition))
    elif kind == "keyword_argument":
        value = node.child_by_field_name("value")
        if value is not None:
            yield value, guards
    elif kind == "string":
        yield from ((child, guards) for child in node.named_children if child.type == "interpolation")
    elif kind not in ("type", "comment"):
        yield from ((child, guards) for child in node.named_children)


def _leaving_condition(node: Node) -> Node | None:
    """The condition of an `if` whose body leaves the block, or of an assert: what comes after runs only past it."""
    if node.type == "assert_statement":
        return node.named_children[0] if node.named_children else None
    if node.type != "if_statement":
        return None
    body = node.child_by_field_name("consequence")
    written = [child for child in body.named_children if child.type != "comment"] if body is not None else []
    return node.child_by_field_name("condition") if written and written[-1].type in _LEAVES_BLOCK else None


def _guard(node: Node) -> Guard:
    return Guard(node.start_point[0] + 1, node.end_point[0] + 1, _names(node))


def _names(node: Node) -> frozenset[str]:
    """What a condition asks: functions called, attributes read, bare names; not their arguments or owners."""
    found: set[str] = set()
    stack = [node]
    while stack and len(found) < _MOST_NAMES:
        current = stack.pop()
        if current.type == "identifier":
            found.add(_text(current))
        elif current.type == "call":
            function = current.child_by_field_name("function")
            stack += [function] if function is not None else []
        elif current.type == "attribute":
            attribute, inner = current.child_by_field_name("attribute"), current.child_by_field_name("object")
            found.add(_text(attribute) if attribute is not None else "")
            stack += [inner] if inner is not None and inner.type == "call" else []
        elif not _asks_for_none(current):
            stack += current.named_children
    return frozenset(found)


def _asks_for_none(node: Node) -> bool:
    return node.type == "comparison_operator" and any(child.type == "none" for child in node.named_children)


def _all_names(node: Node) -> frozenset[str]:
    """Every identifier below `node`."""
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "identifier":
            found.add(_text(current))
        stack += current.named_children
    return frozenset(found)


def _strings(node: Node) -> Iterator[str]:
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "string_content":
            yield _text(current)
        stack += current.named_children


def _dotted(node: Node) -> str:
    """`a.b`, `f().g`, `self.x`; calls without their arguments; "" for anything else."""
    parts: list[str] = []
    while True:
        if node.type == "identifier":
            return ".".join([_text(node), *reversed(parts)])
        if node.type == "attribute":
            attribute, inner = node.child_by_field_name("attribute"), node.child_by_field_name("object")
            if attribute is None or inner is None:
                return ""
            parts.append(_text(attribute))
            node = inner
        elif node.type == "call":
            inner = node.child_by_field_name("function")
            if inner is None or inner.type not in ("identifier", "attribute"):
                return ""
            if inner.type == "identifier":
                return ".".join([_text(inner) + "()", *reversed(parts)])
            attribute, below = inner.child_by_field_name("attribute"), inner.child_by_field_name("object")
            if attribute is None or below is None:
                return ""
            parts.append(_text(attribute) + "()")
            node = below
        elif node.type in _TRANSPARENT and node.named_child_count == 1:
            node = node.named_children[0]
        elif node.type == "subscript":
            inner = node.child_by_field_name("value")
            if inner is None:
                return ""
            node = inner
        else:
            return ""


def _imports(node: Node) -> Iterator[Import]:
    line = node.start_point[0] + 1
    source = node.child_by_field_name("module_name")
    module = _text(source) if source is not None else ""
    for name in node.children_by_field_name("name"):
        aliased = name.type == "aliased_import"
        original = name.child_by_field_name("name") if aliased else name
        alias = name.child_by_field_name("alias") if aliased else None
        if original is None:
            continue
        text = _text(original)
        if source is not None:
            yield Import(_text(alias) if alias is not None else text, module, text, line)
        elif alias is not None:
            yield Import(_text(alias), text, "", line)
        else:
            yield Import(text.partition(".")[0], text.partition(".")[0], "", line)
    if any(child.type == "wildcard_import" for child in node.children):
        yield Import("*", module, "*", line)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "backslashreplace")
