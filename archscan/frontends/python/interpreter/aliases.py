"""Follows containers through every name, parameter and attribute they go by: who may change them where they are.

A container that can be changed has an identity. Where it goes out of sight (stored, yielded, handed to what is not
known) it is no longer known. Statements of its own scope that change it are replayed by the bindings; all other changes
make it unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tree_sitter import Node

from archscan.frontends.python.interpreter.frames import DEPTH, Frame
from archscan.frontends.python.interpreter.values import (
    ExternalV,
    FuncV,
    Unknown,
    Value,
    depends,
    doubted,
    is_nested,
)
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import CHANGING, Scope
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import oneline, operands, text
from archscan.frontends.python.source.triggers import occurrences

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


@dataclass(frozen=True, slots=True)
class Spoiled:
    """Why a container is not what it was made as: it is changed, or may be where it goes out of sight."""

    words: str
    is_changed: bool

    def of(self, value: Value) -> Value:
        return Unknown((self.words,), depends(value), lost=True) if self.is_changed else doubted(value, (self.words,))


Step: TypeAlias = "int | Spoiled | None"  # where it goes on from, why it is no longer known, or that it stays


def spoiled(interpreter: Interpreter, name: str, frame: Frame, value: Value) -> Spoiled | None:
    """Whether the container that a name of a scope holds may be changed by others than the scope's own statements."""
    key = ("spoiled", frame.scope.body.start_byte, frame.parent is None, name)
    memo = frame.module.memo
    if key not in memo:
        memo[key] = None  # what leads back to itself is judged where it was begun
        outer, interpreter.trace = interpreter.trace, []
        whole = interpreter.cut_short
        watch = Watch(interpreter)
        is_own = frame.parent is not None and name not in frame.parameters
        found = watch.name(name, frame, is_nested(value), is_own)
        if found is None and watch.here and (watch.aliases or name in frame.parameters):
            found = Spoiled(name, True)
        interpreter.trace = outer
        memo[key] = found
        if whole != interpreter.cut_short:
            memo.pop(key)
            return found
    return memo[key]  # type: ignore[return-value]


def spoiled_attribute(interpreter: Interpreter, module: Module, name: str, is_deep: bool) -> Spoiled | None:
    """Whether the container that an attribute of that name holds may be changed, whatever object it is of."""
    key = ("spoiled attribute", name)
    if key not in module.memo:
        module.memo[key] = None
        outer, interpreter.trace = interpreter.trace, []
        module.memo[key] = Watch(interpreter).attribute(name, module, is_deep)
        interpreter.trace = outer
    return module.memo[key]  # type: ignore[return-value]


_READS = frozenset(
    {
        "get", "keys", "values", "items", "index", "count", "copy", "union", "intersection", "difference",
        "symmetric_difference", "issubset", "issuperset", "isdisjoint", "join", "format", "startswith", "endswith",
        "split", "__contains__", "__len__", "__getitem__", "__iter__", "__eq__",
    }
)  # fmt: skip
_GIVES_ITEMS = frozenset({"get", "values", "items", "copy", "__getitem__", "__iter__", "union"})
# Built-in functions that leave what they are given as it is; some give its items on.
_HARMLESS = frozenset(
    {
        "len", "print", "str", "repr", "sorted", "min", "max", "sum", "any", "all", "set", "frozenset", "tuple",
        "list", "dict", "isinstance", "enumerate", "zip", "range", "type", "id", "hash", "bool", "int", "float",
        "iter", "reversed", "filter", "map",
        "hasattr", "callable", "copy.copy", "copy.deepcopy", "json.dumps", "functools.reduce", "operator.contains",
        "itertools.chain", "itertools.product", "warnings.warn", "next",
    }
)  # fmt: skip
_GIVES_ON = frozenset(
    {
        "sorted", "min", "max", "set", "frozenset", "tuple", "list", "dict", "enumerate", "zip", "iter", "reversed",
        "filter", "map", "copy.copy", "functools.reduce", "itertools.chain", "itertools.product", "next",
    }
)  # fmt: skip
_GIVES_ONE = frozenset({"max", "min", "next", "functools.reduce"})  # of what they are given itself
_ASKED_WITH = frozenset({"print", "sorted", "min", "max", "json.dumps"})
_LOGS = re.compile(r"(?:^|\.)(?:log|logger|logging|_logger)\.\w+$|^print$")
_SAFE = frozenset(
    {
        "comparison_operator", "not_operator", "unary_operator", "assert_statement", "if_statement", "elif_clause",
        "while_statement", "expression_statement", "interpolation", "raise_statement", "slice", "format_expression",
        "if_clause",
        "type", "type_conversion", "format_specifier",
    }
)  # fmt: skip
_PATTERNS = ("pattern_list", "tuple_pattern", "list_pattern")
_TOUCHED = rb"(?<![\w.])%s\s*(?:\.|\))"
_MOST_PLACES = 400
_DEEPEST = 5


@dataclass(eq=False)
class Trail:
    """How far a container was followed up from a place it is named at: it is what the node `path[at]` gives."""

    path: list[Node]
    at: int
    frame: Frame
    is_deep: bool  # it holds containers or objects, or is held by a container itself
    is_own: bool  # of the function it is named in: who it is returned to has it alone
    hops: int

    @property
    def node(self) -> Node:
        return self.path[self.at]

    @property
    def parent(self) -> Node:
        return self.path[self.at - 1]


class Watch:
    """Follows a container through all places it is named at."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.aliases = 0
        self.here = False
        self.seen: set[tuple[str, int, str]] = set()

    def name(self, name: str, frame: Frame, is_deep: bool, is_own: bool, hops: int = 0) -> Spoiled | None:
        """Why what a name of a scope holds may be changed; changes that the scope's bindings replay are only noted."""
        module, scope = frame.module, frame.scope
        key = (module.path, scope.body.start_byte if frame.parent is not None else -1, name)
        if key in self.seen:
            return None
        self.seen.add(key)
        if hops > _DEEPEST or self.interpreter.depth > DEPTH:
            return Spoiled(name, False)
        if frame.is_class:
            return self.attribute(name, module, is_deep) or self._uses(name, frame, scope.body, is_deep, False, hops)
        body = scope.body
        region = body if frame.parent is None else body.parent or body
        found = self._chained(name, scope, frame, is_deep, hops)
        return found or self._uses(name, frame, region, is_deep, is_own, hops)

    def _chained(self, name: str, scope: Scope, frame: Frame, is_deep: bool, hops: int) -> Spoiled | None:
        """Why a container that got several names at once may be changed by another of them: `a = b = []`."""
        for binding in scope.of(name):
            node = binding.node
            if binding.kind == "assign" and node.type == "assignment":
                if b":=" in (node.text or b""):
                    return Spoiled(oneline(node, 60), True)
                inside = child(node, "right")
                if inside is None or inside.type != "assignment":
                    continue
                self.aliases += 1
                targets = [child(node, "left")]
                while inside is not None and inside.type == "assignment":
                    targets.append(child(inside, "left"))
                    inside = child(inside, "right")
                for target in targets:
                    if target is not None and (target.type != "identifier" or text(target) != name):
                        trail = Trail([node], 0, frame, is_deep, False, hops)
                        found = self._target(target, node, trail, frame)
                        if found is not None:
                            return found
        return None

    def attribute(self, name: str, module: Module, is_deep: bool) -> Spoiled | None:
        """Why what an attribute of that name holds may be changed."""
        key = (module.path, -2, name)
        if key in self.seen:
            return None
        self.seen.add(key)
        data = module.data
        for offset in occurrences(data, name.encode()):
            if data[offset - 1 : offset] != b".":
                continue
            path = module.descend(offset)
            if len(path) < 2 or path[-1].type != "identifier" or path[-2].type != "attribute":
                continue
            frame = self.interpreter.frame_at(module, path)
            if is_stored(path, len(path) - 2):
                continue  # gives the attribute another value: that is asked for elsewhere
            found = self.fate(path[:-1], frame, is_deep, False, 1)
            if found is not None:
                return found
        return None

    def _uses(self, name: str, frame: Frame, region: Node, is_deep: bool, is_own: bool, hops: int) -> Spoiled | None:
        module = frame.module
        data = module.data
        start, end = (0, len(data)) if frame.parent is None else (region.start_byte, region.end_byte)
        replayed = {c.node.start_byte + 4 * (c.operator == "del") for c in frame.scope.changes.get(name, ())}
        replayed |= {b.node.start_byte for b in frame.scope.of(name) if b.kind == "augment"}
        places = [p for p in occurrences(data, name.encode()) if start <= p < end]
        if len(places) > _MOST_PLACES:
            return Spoiled(name, False)
        for offset in places:
            before = data[max(0, offset - 4) : offset]
            if before.endswith(b".") or (
                not is_deep and before == b" in " and data[offset + len(name) : offset + len(name) + 1] in b":),\n "
            ):
                continue
            path = module.descend(offset)
            if path[-1].type != "identifier" or path[-1].start_byte != offset or not _is_use(path):
                continue
            if self._is_shadowed(name, path, region, frame):
                continue
            if offset in replayed and hops == 0:
                self.here = True
                if is_deep or not _is_own_scope(path, region, frame):
                    return Spoiled(oneline(path[-2], 60), True)
                statement = next(
                    (n for n in reversed(path) if n.type in ("expression_statement", "delete_statement")), None
                )
                if statement is None:
                    return Spoiled(oneline(path[-2], 60), True)
                continue
            found = self.fate(path, frame, is_deep, is_own and _is_own_scope(path, region, frame), hops)
            if found is not None:
                return found
        return None

    def _is_shadowed(self, name: str, path: list[Node], region: Node, frame: Frame) -> bool:
        """Whether the name is another one there: of a function or class between."""
        begun = frame.parent is None
        for at, node in enumerate(path[:-1]):
            if not begun:
                begun = node.start_byte == region.start_byte and node.end_byte == region.end_byte
                if node.type != "function_definition" or not begun:
                    continue
                continue
            if node.type in ("function_definition", "lambda"):
                body = child(node, "body")
                if path[at + 1] != body and path[at + 1].type not in ("parameters", "lambda_parameters"):
                    continue
                if path[at + 1] != body and _is_default(path, at + 1):
                    continue
                if binds(self.interpreter, frame.module, node, name):
                    return True
            elif node.type == "class_definition" and path[at + 1] == child(node, "body"):
                own = self.interpreter.class_frame(self.interpreter.class_of(frame.module, node, frame)).scope
                inside = not any(n.type in ("function_definition", "lambda") for n in path[at + 1 :])
                if inside and name in own.bindings:
                    return True
        return False

    def fate(self, path: list[Node], frame: Frame, is_deep: bool, is_own: bool, hops: int) -> Spoiled | None:
        """What becomes of the value of the last node of a path: None if it stays as it is."""
        trail = Trail(path, len(path) - 1, frame, is_deep, is_own, hops)
        while trail.at > 0:
            step = _STEPS.get(trail.parent.type, Watch.out_of_sight)(self, trail)
            if not isinstance(step, int):
                return step
            trail.at = step
        return None

    def out_of_sight(self, trail: Trail) -> Step:
        return Spoiled(oneline(trail.parent, 60), False)

    def stays(self, trail: Trail) -> Step:
        return None

    def goes_up(self, trail: Trail) -> Step:
        return trail.at - 1

    def copied(self, trail: Trail) -> Step:
        """What is made of its items is another container: they may be changed through it."""
        return self.out_of_sight(trail) if trail.is_deep else None

    def chosen(self, trail: Trail) -> Step:
        return None if trail.node == operands(trail.parent)[1] else trail.at - 1

    def named(self, trail: Trail) -> Step:
        """`(other := name)` is one more name for it."""
        target = child(trail.parent, "name")
        if trail.node == target:
            return None
        return self._target(target, trail.parent, trail, self._around(trail, trail.at)) or trail.at - 1

    def indexed(self, trail: Trail) -> Step:
        """An item is asked for, or another one put in its place."""
        if trail.node != child(trail.parent, "value"):
            return None
        if is_stored(trail.path, trail.at - 1):
            return Spoiled(oneline(trail.path[trail.at - 2], 60), True)
        return trail.at - 1 if trail.is_deep else None

    def kept(self, trail: Trail) -> Step:
        """It becomes an item of another container."""
        parent, above = trail.parent, trail.path[trail.at - 2]
        if parent.type == "expression_list" and above.type == "assignment":
            return self._side_by_side(trail)
        if parent.type == "expression_list" and above.type == "return_statement":
            return None if trail.is_own else self.out_of_sight(trail)
        if parent.type == "pair" and trail.node == child(parent, "key"):
            return None
        trail.is_deep = True
        return trail.at - 1

    def assigned(self, trail: Trail) -> Step:
        if trail.node != child(trail.parent, "right"):
            return None  # a binding, told by the scope
        at = trail.at - 1
        while at >= 0 and trail.path[at].type == "assignment":
            left = child(trail.path[at], "left")
            if left is None:
                return None
            if left.type in _PATTERNS:
                if trail.is_deep:
                    return Spoiled(oneline(trail.path[at], 60), False)
            else:
                found = self._target(left, trail.path[at], trail, self._around(trail, at + 1))
                if found is not None:
                    return found
            at -= 1
        return None

    def augmented(self, trail: Trail) -> Step:
        if trail.node == child(trail.parent, "left"):
            return Spoiled(oneline(trail.parent, 60), True)
        return self.copied(trail)

    def returned(self, trail: Trail) -> Step:
        return None if trail.is_own else self.out_of_sight(trail)

    def gathered(self, trail: Trail) -> Step:
        trail.is_deep = True
        return trail.at - 1

    def looped(self, trail: Trail) -> Step:
        """What becomes of the items that a loop goes through."""
        loop = trail.parent
        if trail.node != child(loop, "right") or not trail.is_deep:
            return None
        left = child(loop, "left")
        if left is None or loop.type != "for_statement":
            return self._in_comprehension(left, trail)
        here = self._around(trail, trail.at)
        stack = [left]
        while stack:
            target = stack.pop()
            if target.type in _PATTERNS:
                stack.extend(operands(target))
                continue
            found = self._target(target, loop, trail, here)
            if found is not None:
                return found
        return None

    def as_default(self, trail: Trail) -> Step:
        """Why what is a parameter's default may be changed by the function."""
        path, parameter = trail.path, trail.parent
        named = child(parameter, "name")
        at = next((j for j in range(trail.at - 1, -1, -1) if path[j].type in ("function_definition", "lambda")), None)
        if named is None or at is None:
            return self.out_of_sight(trail)
        frame = self.interpreter.entry_frame(trail.frame.module, path[at], self._around(trail, at + 1))
        return self._parameter(text(named), frame, trail)

    def asked(self, trail: Trail) -> Step:
        """What a method does to its owner: where its result goes on from."""
        path, i = trail.path, trail.at
        attribute = path[i - 1]
        named = child(attribute, "attribute")
        if named is None or path[i] == named:
            return None
        method = text(named)
        call = path[i - 2] if i > 1 else attribute
        if method in CHANGING:
            return Spoiled(oneline(call, 60), True)
        if method not in _READS:
            return Spoiled(oneline(call, 60), False)
        if not trail.is_deep or method not in _GIVES_ITEMS:
            return None
        is_call = call.type == "call" and child(call, "function") == attribute
        return i - 2 if is_call else Spoiled(oneline(call, 60), False)

    def handed(self, trail: Trail) -> Step:
        """What a call does to what it is given: where its result goes on from."""
        path, i = trail.path, trail.at
        at = i - 1 if path[i - 1].type == "argument_list" else i - 2
        call = path[at - 1] if at > 0 else path[at]
        function = child(call, "function") if call.type == "call" else None
        lost = Spoiled(oneline(call, 60), False)
        if function is None:
            return lost
        name = text(function)
        callee = self.interpreter.evaluate(function, self._around(trail, at))
        if isinstance(callee, ExternalV) and callee.name in _HARMLESS:
            if path[i - 1].type == "keyword_argument" and callee.name not in _ASKED_WITH:
                return lost
            gives = trail.is_deep or (callee.name in _GIVES_ONE and len(operands(path[at])) > 1)
            return at - 1 if gives and callee.name in _GIVES_ON else None
        if _LOGS.search(name):
            return None
        method = name.rsplit(".", 1)[-1] if function.type == "attribute" else ""
        if method in _READS:
            return lost if trail.is_deep else None
        if method in _TAKES_ITEMS and not trail.is_deep and not isinstance(callee, ExternalV):
            return None
        if not isinstance(callee, FuncV) or callee.doubt:
            return lost
        parameter = _parameter_of(self.interpreter, callee, path, i, at)
        if parameter is None:
            return lost
        inside = self.interpreter.entry_frame(callee.module, callee.node, callee.frame)
        return self._parameter(parameter, inside, trail)

    def _around(self, trail: Trail, end: int) -> Frame:
        return self.interpreter.frame_at(trail.frame.module, trail.path[:end])

    def _parameter(self, name: str, inside: Frame, trail: Trail) -> Spoiled | None:
        """Why what a parameter is given may be changed in its function."""
        self.aliases += 1
        if inside.scope.changes.get(name) or any(b.kind == "augment" for b in inside.scope.of(name)):
            return Spoiled(oneline(trail.parent, 60), True)
        return self.name(name, inside, trail.is_deep, False, trail.hops + 1)

    def _target(self, target: Node | None, statement: Node, trail: Trail, frame: Frame) -> Spoiled | None:
        """Why what is given to a target may be changed by that name."""
        if target is None or target.type not in ("identifier", "attribute"):
            return Spoiled(oneline(statement, 60), False)
        self.aliases += 1
        if target.type == "attribute":
            name = child(target, "attribute")
            return None if name is None else self.attribute(text(name), frame.module, trail.is_deep)
        name_of = text(target)
        holder = frame
        if name_of in frame.scope.outer:
            holder = self.interpreter.module_frame(frame.module)
        if not holder.scope.holds(name_of):
            return Spoiled(oneline(statement, 60), False)
        if holder.scope.changes.get(name_of) or any(b.kind == "augment" for b in holder.scope.of(name_of)):
            return Spoiled(oneline(statement, 60), True)
        return self.name(name_of, holder, trail.is_deep, False, trail.hops + 1)

    def _side_by_side(self, trail: Trail) -> Spoiled | None:
        """What becomes of one of several values that are given to as many names: `a, b = b, a`."""
        statement = trail.path[trail.at - 2]
        values, left = operands(trail.parent), child(statement, "left")
        targets = operands(left) if left is not None and left.type == "pattern_list" else []
        if len(values) != len(targets) or any(t.type == "list_splat_pattern" for t in targets):
            return Spoiled(oneline(statement, 60), False)
        target = targets[values.index(trail.node)]
        return self._target(target, statement, trail, self._around(trail, trail.at - 1))

    def _in_comprehension(self, left: Node | None, trail: Trail) -> Spoiled | None:
        """Items that a comprehension goes through are only read if it calls nothing on them and keeps none."""
        whole = trail.path[trail.at - 2] if trail.at > 1 else trail.parent
        lost = Spoiled(oneline(whole, 60), False)
        body = child(whole, "body")
        if left is None or body is None:
            return lost
        names = {text(n) for n in ([left] if left.type == "identifier" else operands(left))}
        words = whole.text or b""
        if text(body) in names or any(re.search(_TOUCHED % re.escape(n.encode()), words) for n in names):
            return lost
        return None


# What a parent in the tree does with the value of one of its parts: the step on from there, None if it stays as it is.
_STEPS: dict[str, Callable[[Watch, Trail], Step]] = {
    **dict.fromkeys(_SAFE, Watch.stays),
    **dict.fromkeys((*_PATTERNS, "list_splat_pattern", "global_statement", "nonlocal_statement"), Watch.stays),
    **dict.fromkeys(("parenthesized_expression", "boolean_operator", "await"), Watch.goes_up),
    **dict.fromkeys(("binary_operator", "list_splat", "dictionary_splat"), Watch.copied),
    **dict.fromkeys(("list", "tuple", "set", "dictionary", "pair", "expression_list"), Watch.kept),
    **dict.fromkeys(
        ("generator_expression", "list_comprehension", "set_comprehension", "dictionary_comprehension"), Watch.gathered
    ),
    **dict.fromkeys(("for_statement", "for_in_clause"), Watch.looped),
    **dict.fromkeys(("argument_list", "keyword_argument"), Watch.handed),
    **dict.fromkeys(("default_parameter", "typed_default_parameter"), Watch.as_default),
    "delete_statement": Watch.stays,
    "conditional_expression": Watch.chosen,
    "named_expression": Watch.named,
    "subscript": Watch.indexed,
    "attribute": Watch.asked,
    "assignment": Watch.assigned,
    "augmented_assignment": Watch.augmented,
    "return_statement": Watch.returned,
}


_TAKES_ITEMS = frozenset(
    {"extend", "update", "intersection_update", "difference_update", "symmetric_difference_update"}
)


def _parameter_of(interpreter: Interpreter, callee: FuncV, path: list[Node], i: int, at: int) -> str | None:
    """The parameter that an argument is given to; None where nobody can tell."""
    names = [name for name, _ in interpreter.parameters(callee)]
    if path[i - 1].type == "keyword_argument":
        named = child(path[i - 1], "name")
        return text(named) if named is not None and text(named) in names else None
    given = [a for a in operands(path[at]) if a.type != "keyword_argument"]
    if any(a.type in ("list_splat", "dictionary_splat") for a in given) or path[i] not in given:
        return None
    place = given.index(path[i]) + callee.is_bound
    stars = next((n for n, name in enumerate(names) if name.startswith("*")), len(names))
    return names[place] if place < stars else None


def _is_use(path: list[Node]) -> bool:
    """Whether an identifier stands for the name itself: it is no attribute, keyword or parameter."""
    node, parent = path[-1], path[-2] if len(path) > 1 else path[-1]
    kind = parent.type
    if kind == "attribute":
        return node != child(parent, "attribute")
    if kind in ("keyword_argument", "default_parameter", "typed_default_parameter"):
        return node != child(parent, "name")
    if kind in ("function_definition", "class_definition"):
        return False
    return kind not in (
        "parameters", "lambda_parameters", "typed_parameter", "dotted_name", "aliased_import", "import_statement",
        "import_from_statement", "keyword_pattern", "list_splat_pattern", "dictionary_splat_pattern",
    )  # fmt: skip


def _is_default(path: list[Node], at: int) -> bool:
    """Whether a path goes into the default of a parameter: that is evaluated around the function."""
    parameter = path[at + 1] if at + 1 < len(path) else None
    return (
        parameter is not None
        and parameter.type in ("default_parameter", "typed_default_parameter")
        and at + 2 < len(path)
        and path[at + 2] == child(parameter, "value")
    )


def _is_own_scope(path: list[Node], region: Node, frame: Frame) -> bool:
    """Whether a statement is of the scope itself, no function's or class's inside it."""
    start = -1 if frame.parent is None else region.start_byte
    return not any(
        n.type in ("function_definition", "lambda", "class_definition") and n.start_byte > start for n in path
    )


def binds(interpreter: Interpreter, module: Module, function: Node, name: str) -> bool:
    """Whether a function has the name for itself."""
    key = ("scope", function.start_byte)
    scope = module.memo.get(key)
    if scope is None:
        scope = module.memo[key] = Scope(child(function, "body") or function)
    made = FuncV(module, function, None)
    if any(p.lstrip("*") == name for p, _ in interpreter.parameters(made)):
        return True
    return name in scope.bindings and name not in scope.outer  # type: ignore[attr-defined]


def is_stored(path: list[Node], at: int) -> bool:
    """Whether a node of a path is what is assigned to, deleted or bound by a loop or with."""
    for i in range(at, 0, -1):
        node, parent = path[i], path[i - 1]
        kind = parent.type
        if kind in ("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "as_pattern_target"):
            if kind == "as_pattern_target":
                return True
            continue
        if kind in ("assignment", "augmented_assignment", "for_statement", "for_in_clause"):
            return node == child(parent, "left")
        if kind == "type" and i > 1 and path[i - 2].type == "type_alias_statement":
            return parent == path[i - 2].named_children[0]  # `type(x).y = z`, as the grammar reads it
        if kind == "expression_list" and i > 1 and path[i - 2].type == "delete_statement":
            return True
        return kind == "delete_statement"
    return False
