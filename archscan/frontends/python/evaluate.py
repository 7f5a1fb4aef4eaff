"""A small abstract interpreter: evaluates expressions and calls once for all targets, on demand, importing nothing."""

from __future__ import annotations

import operator
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tree_sitter import Node

from archscan.frontends.python.knowledge import Knowledge
from archscan.frontends.python.modules import Graph, Module
from archscan.frontends.python.operations import (
    ARITHMETIC,
    BUILTINS,
    CALLABLE,
    COMPARE,
    METHODS,
    apply,
    apply_method,
    both_numbers,
    by_cover,
    hashable,
    is_capability,
    item_of,
    joined_text,
    kleene,
    preferred,
    spellings,
    terminates,
    truthy,
)
from archscan.frontends.python.scopes import Binding, Chain, Scope, chain_of
from archscan.frontends.python.syntax import (
    arguments,
    if_arms,
    inner,
    line_of,
    oneline,
    operands,
    parameters,
    path_to,
    statements,
    string_parts,
    text,
)
from archscan.frontends.python.syntax import (
    field as child,
)
from archscan.frontends.python.triggers import is_trigger
from archscan.frontends.python.values import (
    BuiltinMethod,
    Capability,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    Lanes,
    ListV,
    Maybe,
    ModuleV,
    PartialV,
    PropertiesV,
    SetV,
    Split,
    Unknown,
    Value,
    assume,
    depends,
    encode,
    is_constant,
    is_text,
    unite,
)
from archscan.model.gate import Related, Role

_END = 1 << 60
_DEPTH = 90
# Conditions of this kind say whether there is such a GPU at all, not what it is used for.
_ENVIRONMENT = re.compile(
    r"\bdevice|cuda|available|version|\bhip\b|rocm|import|find_spec|None|major|minor|capab|\barch"
)
_STEPS = 40_000
_TRACE = 16
_WORD = re.compile(rb"[A-Za-z_]\w*")
_LOOKED_AT = 2000
_MISSING: Any = object()


@dataclass(eq=False, repr=False)
class Frame:
    """Where names are looked up: one scope with what its parameters are bound to."""

    module: Module
    scope: Scope
    parent: Frame | None = None
    locals: dict[str, Value] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    is_class: bool = False
    owner: ClassV | None = None  # class around the function
    memo: dict[tuple[int, int, str], tuple[Value, tuple[Related, ...]]] = field(default_factory=dict)
    busy: set[tuple[object, ...]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Raise:
    """A raise that some lanes meet."""

    mask: int
    names: tuple[str, ...]  # unknown conditions on the way
    node: Node
    module: Module


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call comes to: its value, and the lanes on which it raises."""

    value: Value
    raises: tuple[Raise, ...] = ()


class Interpreter:
    """Evaluates nodes in frames. Results are remembered; depth and steps are limited, so it always comes back."""

    def __init__(self, graph: Graph, knowledge: Knowledge, lanes: Lanes) -> None:
        self.graph = graph
        self.knowledge = knowledge
        self.lanes = lanes
        self.depth = 0
        self.steps = 0
        self.cut_short = 0  # evaluations that met a limit or themselves: what rests on them is not remembered
        self.trace: list[Related] = []
        self.environment: dict[str, None] = {}
        self._frames: dict[str, Frame] = {}
        self._seeds: dict[str, Value | None] = {}
        self._cycles: dict[tuple[int, tuple[object, ...]], int] = {}
        self.asks: frozenset[str] = frozenset()  # names that ask for the target without saying so
        self._calls: dict[object, tuple[Outcome, tuple[Related, ...]]] = {}
        self._classes: dict[tuple[str, int], ClassV] = {}

    def forget(self, module: Module) -> None:
        """Drops the trees of a module: values that others hold stay, what they need again is parsed again."""
        frames = [self._frames.pop(module.path, None), *module.memo.values()]
        for frame in frames:  # what a frame remembers refers to it: nothing would be freed without the cycle collector
            if isinstance(frame, Frame):
                frame.memo.clear()
        for key in [key for key in self._classes if key[0] == module.path]:
            del self._classes[key]
        module.memo.clear()
        module.__dict__.pop("root", None)
        module.__dict__.pop("scope", None)

    # ------------------------------------------------------------------ frames

    def module_frame(self, module: Module) -> Frame:
        """The frame of a module's top level."""
        frame = self._frames.get(module.path)
        if frame is None:
            frame = self._frames[module.path] = Frame(module, module.scope)
        return frame

    def class_frame(self, cls: ClassV) -> Frame:
        """The frame of a class body."""
        key = ("class", cls.node.start_byte)
        found = cls.module.memo.get(key)
        if found is None:
            body = child(cls.node, "body") or cls.node
            found = Frame(cls.module, Scope(body), cls.frame, is_class=True, owner=cls)
            cls.module.memo[key] = found
        return found  # type: ignore[no-any-return]

    def class_of(self, module: Module, node: Node, frame: Frame) -> ClassV:
        key = (module.path, node.start_byte)
        if key not in self._classes:
            self._classes[key] = ClassV(module, node, frame)
        return self._classes[key]

    def function_frame(self, function: FuncV, bound: dict[str, Value]) -> Frame:
        """A fresh frame for a function's body."""
        key = ("scope", function.node.start_byte)
        scope = function.module.memo.get(key)
        if scope is None:
            body = child(function.node, "body") or function.node
            scope = function.module.memo[key] = Scope(body)
        names = frozenset(name.lstrip("*") for name, _ in parameters(function.node))
        owner = function.frame.owner if function.frame.is_class else None
        return Frame(function.module, scope, function.frame, bound, names, owner=owner)

    def frame_at(self, module: Module, path: list[Node]) -> Frame:
        """The frame around the last node of a path from the module's root: parameters seeded by their names."""
        frame = self.module_frame(module)
        for i, node in enumerate(path[:-1]):
            below = path[i + 1]
            if below.type in {"decorator", "parameters"}:
                continue
            if node.type == "class_definition" and below == child(node, "body"):
                frame = self.class_frame(self.class_of(module, node, frame))
            elif node.type in ("function_definition", "lambda") and below == child(node, "body"):
                frame = self._entry_frame(module, node, frame)
        return frame

    def _entry_frame(self, module: Module, node: Node, parent: Frame) -> Frame:
        key = ("entry", node.start_byte)
        found = module.memo.get(key)
        if found is None:
            function = FuncV(module, node, parent)
            found = module.memo[key] = self.function_frame(function, {})
        return found  # type: ignore[return-value]

    # ------------------------------------------------------------------ names

    def lookup(self, name: str, frame: Frame, position: int) -> Value:
        """The value of a name as seen from a position."""
        current: Frame | None = frame
        at = position
        while current is not None:
            if not (current.is_class and current is not frame):
                value = self._in_frame(name, current, at)
                if value is not _MISSING:
                    return value
            current, at = current.parent, _END
        return self._outside(name, frame)

    def _in_frame(self, name: str, frame: Frame, position: int) -> Value:
        if frame.scope.holds(name):
            value = self.resolve(name, frame, position)
            if value is not _MISSING:
                return value
        if name in frame.locals:
            return frame.locals[name]
        if name in frame.parameters:
            return self._parameter(name, frame)
        return _MISSING

    def _parameter(self, name: str, frame: Frame) -> Value:
        if name in ("self", "cls") and frame.owner is not None:
            return InstanceV(frame.owner) if name == "self" else frame.owner
        seeded = self.seed(name)
        return Unknown((name,)) if seeded is None else seeded

    def seed(self, name: str) -> Value | None:
        """What a name carries by convention, remembered."""
        if name not in self._seeds:
            self._seeds[name] = self.knowledge.seed(name, self.lanes)
        return self._seeds[name]

    def _outside(self, name: str, frame: Frame) -> Value:
        module = frame.module
        for star in module.scope.stars:
            found = self._import_target(module, star)
            if isinstance(found, ModuleV):
                value = self.member(found.module, name)
                if value is not _MISSING:
                    return value
        if name in BUILTINS:
            return ExternalV(name)
        seeded = self.seed(name)
        return Unknown((name,)) if seeded is None else seeded

    def member(self, module: Module, name: str) -> Value:
        """A module's top-level name, or _MISSING; remembered."""
        key = ("member", name)
        known = module.memo.get(key)
        if known is None:
            outer, self.trace = self.trace, []
            whole = self.cut_short
            value = self._member(module, name)
            known = (value, _distinct(self.trace))
            self.trace = outer
            if whole == self.cut_short:
                module.memo[key] = known
        self.trace.extend(known[1])  # type: ignore[index]
        return known[0]  # type: ignore[index]

    def _member(self, module: Module, name: str) -> Value:
        if self.depth > _DEPTH:
            self.cut_short += 1
            return Unknown((name,))
        if not module.names(name):
            return _MISSING
        frame = self.module_frame(module)
        if module.scope.holds(name):
            self.depth += 1
            try:
                return self.resolve(name, frame, _END)
            finally:
                self.depth -= 1
        for other in self._starred(module):
            self.depth += 1
            try:
                value = self.member(other, name)
            finally:
                self.depth -= 1
            if value is not _MISSING:
                return value
        return _MISSING

    def _starred(self, module: Module) -> tuple[Module, ...]:
        """The modules whose names a module takes over with `import *`; remembered."""
        known: tuple[Module, ...] | None = module.memo.get("starred")  # type: ignore[assignment]
        if known is None:
            targets = (self._import_target(module, star) for star in module.scope.stars)
            known = tuple(t.module for t in targets if isinstance(t, ModuleV) and t.module is not module)
            module.memo["starred"] = known
        return known

    def resolve(self, name: str, frame: Frame, position: int) -> Value:
        """The value a scope's bindings give a name at a position; _MISSING if none reaches it."""
        before = [b for b in frame.scope.bindings[name] if b.end <= position or b.kind == "loop"]
        if not before:
            return _MISSING
        chain: Chain = ()
        if not before[-1].chain:
            return self._bound(before[-1], frame, before[:-1], chain)
        if position < _END:
            chain = chain_of(frame.scope, path_to(frame.scope.body, position))
        return self._reach(name, frame, before, chain, position)

    def _reach(self, name: str, frame: Frame, before: list[Binding], chain: Chain, position: int) -> Value:
        for i in range(len(before) - 1, -1, -1):
            binding = before[i]
            common = 0
            while common < len(binding.chain) and common < len(chain) and binding.chain[common] == chain[common]:
                common += 1
            if common == len(binding.chain):
                return self._bound(binding, frame, before[:i], chain)
            start, arm = binding.chain[common]
            if common < len(chain) and chain[common][0] == start:
                continue  # another arm of the statement that the position is in
            return self._joined(name, frame, before[: i + 1], binding.chain[:common], start, arm)
        return _MISSING

    def _joined(self, name: str, frame: Frame, before: list[Binding], chain: Chain, start: int, arm: int) -> Value:
        """The value after a compound statement that binds the name in some arm, remembered."""
        key = (start, len(before), f"{name} joined {before[-1].node.start_byte}")
        known = frame.memo.get(key)
        if known is None:
            outer, self.trace = self.trace, []
            whole = self.cut_short
            value = self._join(name, frame, before, chain, start, arm)
            known = (value, _distinct(self.trace))
            if whole == self.cut_short:
                frame.memo[key] = known
            self.trace = outer
        self.trace.extend(known[1])
        return known[0]

    def _join(self, name: str, frame: Frame, before: list[Binding], chain: Chain, start: int, arm: int) -> Value:
        """The value after a compound statement that binds the name in some arm."""
        node = frame.scope.compounds[start]
        inside = [b for b in before if (start in (c[0] for c in b.chain))]
        earlier = [b for b in before if b not in inside]
        if node.type != "if_statement":
            first = min((b.chain[len(chain)][1] for b in inside), default=arm) if node.type == "try_statement" else arm
            mine = [b for b in before if b not in inside or b.chain[len(chain)][1] == first]
            return self._reach(name, frame, mine, (*chain, (start, first)), _END)
        arms = if_arms(node)
        parts: list[tuple[Value, int, tuple[str, ...]]] = []
        left = self.lanes.all
        names: tuple[str, ...] = ()
        for index, (condition, block) in enumerate(arms):
            yes, maybe, why = self._taken(condition, frame, left)
            if not terminates(block):
                inner_chain = (*chain, (start, index))
                mine = [b for b in before if b in earlier or b.chain[: len(inner_chain)] == inner_chain]
                value = self._reach(name, frame, mine, inner_chain, _END)
                parts.append((value, yes, names))
                if maybe:
                    parts.append((value, maybe, unite(names, why)))
            left &= ~yes
            if maybe:
                names = unite(names, why)
        if left:
            parts.append((self._reach(name, frame, earlier, chain, start), left, names))
        return self._combine([(Unknown((name,)) if v is _MISSING else v, m, n) for v, m, n in parts])

    def _taken(self, condition: Node | None, frame: Frame, left: int) -> tuple[int, int, tuple[str, ...]]:
        """Lanes of `left` that surely and perhaps take a condition, and what the latter hang on."""
        if condition is None:
            return left, 0, ()
        yes = maybe = 0
        names: tuple[str, ...] = ()
        for value, mask in self.lanes.groups(self.truth(self.evaluate(condition, frame))):
            if value is True:
                yes |= mask & left
            elif value is not False:
                maybe |= mask & left
                names = unite(names, value.names)
        return yes, maybe, names or ((oneline(condition, 80),) if maybe else ())

    def _combine(self, parts: list[tuple[Value, int, tuple[str, ...]]]) -> Value:
        """One value out of alternatives: where several reach a lane, the one that is not a mere default."""
        sure = [(v, m) for v, m, names in parts if not names]
        covered = 0
        for _, mask in sure:
            covered |= mask
        rest = [(v, m & ~covered, n) for v, m, n in parts if n and m & ~covered]
        if not rest:
            doubtful = [(v, m, n) for v, m, n in parts if n and m]
            return self.lanes.merge(sure) if not doubtful else self._choose(parts)
        return self._choose(parts)

    def _choose(self, parts: list[tuple[Value, int, tuple[str, ...]]]) -> Value:
        values = tuple(v for v, _, _ in parts)
        result: list[tuple[Value, int]] = []
        for items, mask in self.lanes.spread(values):
            for lanes, alternatives in by_cover(parts, items, mask):
                result.append((preferred(alternatives), lanes))
        return self.lanes.merge(result)

    def _bound(self, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
        key = ("bind", binding.node.start_byte, binding.name, binding.index)
        if key in frame.busy or self.depth > _DEPTH or self.steps > _STEPS:
            self._cut(frame, key)
            return Unknown((binding.name,))
        frame.busy.add(key)
        try:
            self.depth += 1
            try:
                return self._value_of(binding, frame, before, chain)
            finally:
                self.depth -= 1
        finally:
            frame.busy.discard(key)
            self._closed(frame, key)

    def _value_of(self, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
        kind = binding.kind
        if kind == "import":
            return self._import(binding, frame)
        if binding.value is None:
            return self._parameter(binding.name, frame)
        if kind == "def":
            return self._decorated(binding, frame)
        if kind == "class":
            return self.class_of(frame.module, binding.value, frame)
        if kind == "loop":
            return self._looped(binding, frame)
        mark = len(self.trace)
        value = self.evaluate(binding.value, frame)
        if kind == "append":
            return self._appended(self._previous(binding, frame, before, chain), value)
        if kind == "augment":
            return self._binary(binding.operator, self._previous(binding, frame, before, chain), value)
        if kind == "unpack":
            value = self.lanes.lift(lambda v: item_of(v, binding.index, self.lanes), value)
            if isinstance(value, Unknown) and not value.arch:
                told = self.knowledge.seed_unknown(binding.name, text(binding.value), self.lanes)
                return Unknown((binding.name,)) if told is None else told
        if isinstance(value, Unknown) and not value.arch:
            seeded = self.knowledge.seed_unknown(binding.name, text(binding.value), self.lanes)
            value = value if seeded is None else seeded
        if depends(value) or isinstance(value, (PartialV, FuncV)):
            self._note(frame.module, binding.node, mark)
        return value

    def _previous(self, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
        value = self._reach(binding.name, frame, before, binding.chain, binding.node.start_byte)
        return Unknown((binding.name,)) if value is _MISSING else value

    def _appended(self, before: Value, item: Value) -> Value:
        def add(held: Value) -> Value:
            return ListV((*held, item)) if isinstance(held, tuple) else Unknown()

        return self.lanes.lift(add, before)

    def _looped(self, binding: Binding, frame: Frame) -> Value:
        words = binding.value.text or b"" if binding.value is not None else b""
        if any(is_trigger(word) for word in re.findall(rb"[A-Za-z_]\w*", words)):
            return self._parameter(binding.name, frame)
        return Unknown((binding.name,))

    def _note(self, module: Module, node: Node, mark: int) -> None:
        words = oneline(node, 120)
        self.trace.insert(mark, Related(module.path, line_of(node), Role.DEFINITION, words))

    def _decorated(self, binding: Binding, frame: Frame) -> Value:
        node = binding.value
        assert node is not None
        function: Value = FuncV(frame.module, node, frame)
        if binding.node.type != "decorated_definition":
            return function
        for decorator in reversed([c for c in binding.node.named_children if c.type == "decorator"]):
            function = self._decorate(decorator.named_children[0], function, frame)
        return function

    def _decorate(self, decorator: Node, function: Value, frame: Frame) -> Value:
        name = text(child(decorator, "function") or decorator).rsplit(".", 1)[-1]
        if name in self.knowledge.wrappers or name in ("staticmethod", "classmethod", "property"):
            return function
        return function

    def _import(self, binding: Binding, frame: Frame) -> Value:
        target = self._import_target(frame.module, binding)
        return Unknown((binding.name,)) if target is None else target

    def _import_target(self, module: Module, binding: Binding) -> Value | None:
        node = binding.node
        if node.type == "import_statement":
            found = self.graph.absolute(binding.operator, module)
            return ModuleV(found) if found is not None else ExternalV(binding.operator)
        source = child(node, "module_name")
        if source is None:
            return None
        written = text(source)
        dotted = written.lstrip(".")
        level = len(written) - len(dotted)
        return self._from(module, level, dotted, binding)

    def _from(self, module: Module, level: int, dotted: str, binding: Binding) -> Value | None:
        name = binding.operator
        found = self.graph.relative(level, dotted, module) if level else self.graph.absolute(dotted, module)
        if binding.kind == "star":
            return ModuleV(found) if found is not None else None
        if found is not None and found is not module:
            value = self.member(found, name)
            if value is not _MISSING:
                return value
        inside = f"{dotted}.{name}" if dotted else name
        sub = self.graph.relative(level, inside, module) if level else self.graph.absolute(inside, module)
        if sub is not None:
            return ModuleV(sub)
        return ExternalV(f"{dotted}.{name}".lstrip("."))

    # ------------------------------------------------------------------ expressions

    def evaluate(self, node: Node, frame: Frame) -> Value:
        """The value of an expression."""
        node = inner(node)
        kind = node.type
        if kind in _LEAVES:
            return _HANDLERS[kind](self, node, frame)
        key = (node.start_byte, node.end_byte, kind)
        known = frame.memo.get(key)
        if known is not None:
            self.trace.extend(known[1])
            return known[0]
        handler = _HANDLERS.get(kind)
        self.steps += 1
        if handler is None:
            return Unknown((oneline(node, 60),))
        if key in frame.busy or self.depth > _DEPTH or self.steps > _STEPS:
            self._cut(frame, key)
            return Unknown((oneline(node, 60),))
        frame.busy.add(key)
        outer, self.trace = self.trace, []
        whole = self.cut_short
        try:
            self.depth += 1
            try:
                value = handler(self, node, frame)
            finally:
                self.depth -= 1
        finally:
            frame.busy.discard(key)
            self._closed(frame, key)
            mine, self.trace = _distinct(self.trace), outer
        self.trace.extend(mine)
        if whole == self.cut_short:
            frame.memo[key] = (value, mine)
        return value

    def _cut(self, frame: Frame, key: tuple[object, ...]) -> None:
        """Notes that what is being evaluated met a limit, or the evaluation of `key` that it is a part of."""
        self.cut_short += 1
        if key in frame.busy:
            self._cycles[id(frame), key] = self._cycles.get((id(frame), key), 0) + 1

    def _closed(self, frame: Frame, key: tuple[object, ...]) -> None:
        """Lets what rests on a whole cycle be remembered: only the parts of the cycle are cut short."""
        if self._cycles:
            self.cut_short -= self._cycles.pop((id(frame), key), 0)

    def truth(self, value: Value) -> Value:
        """True, False, Unknown or Maybe per lane."""
        return self.lanes.lift(truthy, value) if not isinstance(value, tuple) else self._container_truth(value)

    def _container_truth(self, value: Value) -> Value:
        return len(value) > 0

    def _identifier(self, node: Node, frame: Frame) -> Value:
        return self.lookup(text(node), frame, node.start_byte)

    def _constant(self, node: Node, frame: Frame) -> Value:
        return _CONSTANTS[node.type]

    def _number(self, node: Node, frame: Frame) -> Value:
        digits = text(node).replace("_", "").lower()
        try:
            return float(digits) if node.type == "float" else int(digits, 0)
        except ValueError:
            return Unknown((digits,))

    def _string(self, node: Node, frame: Frame) -> Value:
        parts: list[Value] = []
        for literal in string_parts(node):
            if literal.type != "string":
                return Unknown((oneline(literal, 60),))
            for piece in literal.named_children:
                if piece.type == "string_content":
                    parts.append(text(piece))
                elif piece.type == "interpolation":
                    expression = child(piece, "expression")
                    plain = all(c.type != "format_specifier" for c in piece.named_children)
                    parts.append(self.evaluate(expression, frame) if expression is not None and plain else Unknown())
        if all(isinstance(p, str) for p in parts):
            return "".join(parts)
        value = self.lanes.lift(lambda *items: joined_text(items), *parts)
        return Unknown((oneline(node, 60),), value.arch) if isinstance(value, Unknown) else value

    def _sequence(self, node: Node, frame: Frame) -> Value:
        kind = {"list": ListV, "set": SetV}.get(node.type, tuple)
        items: list[Value] = []
        for item in operands(node):
            if item.type == "list_splat":
                inside = self.evaluate(item.named_children[0], frame)
                if not isinstance(inside, tuple):
                    return Unknown((oneline(node, 60),))
                items.extend(inside)
            else:
                items.append(self.evaluate(item, frame))
        return kind(items)

    def _dictionary(self, node: Node, frame: Frame) -> Value:
        rows: list[tuple[Value, Value]] = []
        is_open = False
        for pair in operands(node):
            if pair.type != "pair":
                inside = self.evaluate(pair.named_children[0], frame) if pair.named_children else None
                if isinstance(inside, DictV):
                    rows.extend(inside.rows)
                else:
                    is_open = True
                continue
            key, value = child(pair, "key"), child(pair, "value")
            if key is not None and value is not None:
                rows.append((self.evaluate(key, frame), _Lazy(value, frame)))
        return DictV(tuple(rows), is_open)

    def _boolean(self, node: Node, frame: Frame) -> Value:
        left, right, sign = child(node, "left"), child(node, "right"), child(node, "operator")
        assert left is not None and right is not None and sign is not None
        a = self.evaluate(left, frame)
        is_and = sign.type == "and"
        first = self.truth(a)
        if first is (not is_and):
            return a
        b = self.evaluate(right, frame)
        if first is is_and:
            return b
        if not depends(a) and not depends(b) and isinstance(a, Unknown) and isinstance(b, Unknown):
            return Unknown(unite(a.names, b.names))
        return self._kleene(is_and, a, b)

    def _kleene(self, is_and: bool, a: Value, b: Value) -> Value:
        parts: list[tuple[Value, int]] = []
        for (x, y), mask in self.lanes.spread((a, b)):
            parts.append((kleene(is_and, x, y), mask))
        return self.lanes.merge(parts)

    def _not(self, node: Node, frame: Frame) -> Value:
        argument = child(node, "argument")
        assert argument is not None
        value = self.truth(self.evaluate(argument, frame))
        return self.lanes.lift(operator.not_, value)

    def _comparison(self, node: Node, frame: Frame) -> Value:
        values = [self.evaluate(item, frame) for item in operands(node)]
        signs = [c.type for c in node.children_by_field_name("operators")]
        if len(signs) != len(values) - 1:
            return Unknown((oneline(node, 60),))
        result: Value = True
        for sign, a, b in zip(signs, values, values[1:], strict=False):
            one = self.compare(sign, a, b)
            if isinstance(one, Unknown):
                one = Unknown((oneline(node, 80),), one.arch)
            result = one if result is True else self._kleene(True, result, one)
        return result

    def compare(self, sign: str, a: Value, b: Value) -> Value:
        """One comparison on every lane."""
        if sign in ("is", "is not") and (a is None or b is None):
            return self._is_none(a if b is None else b, sign == "is")
        if isinstance(b, DictV) and sign in ("in", "not in"):
            b = Unknown(("table",)) if b.open else SetV(key for key, _ in b.rows)
        if sign in ("in", "not in") and isinstance(b, tuple):
            return self._membership(sign == "in", a, b)
        return self.lanes.lift(lambda x, y: self._pairwise(sign, x, y), a, b)

    def _is_none(self, value: Value, wanted: bool) -> Value:
        def test(v: Value) -> Value:
            if isinstance(v, Unknown):
                return Unknown(v.names)
            if isinstance(v, Maybe):
                return assume((v.value is None) is wanted, v.names)
            return (v is None) is wanted

        return self.lanes.merge((test(v), mask) for v, mask in self.lanes.groups(value))

    def _membership(self, is_in: bool, value: Value, container: tuple[Value, ...]) -> Value:
        result: Value = False
        for item in container:
            one = self.lanes.lift(lambda x, y: self._pairwise("==", x, y), value, item)
            result = self._kleene(False, result, self.truth(one)) if result is not False else self.truth(one)
        return result if is_in else self.lanes.lift(operator.not_, result)

    def _pairwise(self, sign: str, a: Value, b: Value) -> Value:
        if isinstance(a, Capability) or isinstance(b, Capability):
            return self._with_capability(sign, a, b)
        if sign in ("in", "not in") and isinstance(b, tuple):
            return self._membership(sign == "in", a, b)
        if not (is_constant(a) and is_constant(b)):
            if sign in ("is", "is not", "==", "!=") and isinstance(a, (ClassV, FuncV, ModuleV)):
                return (a is b) is (sign in ("is", "=="))
            return Unknown((), depends(a) or depends(b))
        if type(a) in (ListV, SetV):
            a = tuple(a)
        if type(b) in (ListV, SetV):
            b = tuple(b)
        try:
            return bool(COMPARE[sign](a, b))
        except (TypeError, KeyError):
            return Unknown((), False)

    def _with_capability(self, sign: str, a: Value, b: Value) -> Value:
        if isinstance(a, Capability) and isinstance(b, Capability):
            return Unknown((), False)
        constant = b if isinstance(a, Capability) else a
        if sign in ("in", "not in") and isinstance(constant, str):
            return self._substring(sign == "in", constant, isinstance(a, Capability))
        if not is_constant(constant) or constant is None:
            return Unknown(("None",)) if constant is None else Unknown((), False)
        if encode(self.lanes.targets[0][0], constant) is None:
            return Unknown((str(constant)[:40],), False)

        def test(target: Any) -> Value:
            mine = encode(target, constant)
            pair = (mine, constant) if isinstance(a, Capability) else (constant, mine)
            try:
                return bool(COMPARE[sign](*pair))
            except (TypeError, KeyError):
                return Unknown((), True)

        return self.lanes.by_target(test)

    def _substring(self, is_in: bool, constant: str, capability_is_part: bool) -> Value:
        if capability_is_part:  # arch in "7.5 8.0": a text search
            dotted = "." in constant
            return self.lanes.by_target(
                lambda t: ((f"{t.major}.{t.minor}" if dotted else str(t.sm)) in constant) is is_in
            )
        if not any(c.isdigit() for c in constant):
            return Unknown((constant,), False)
        return self.lanes.by_target(lambda t: any(constant in s for s in spellings(t)) is is_in)

    def _conditional(self, node: Node, frame: Frame) -> Value:
        then, condition, other = operands(node)[:3]
        yes, maybe, names = self._taken(condition, frame, self.lanes.all)
        parts = []
        if yes or maybe:
            value = self.evaluate(then, frame)
            parts += [(value, yes, ()), (value, maybe, names)]
        if self.lanes.all & ~yes:
            value = self.evaluate(other, frame)
            no = self.lanes.all & ~yes & ~maybe
            parts += [(value, no, ()), (value, maybe, names)]
        return self._combine([(v, m, n) for v, m, n in parts if m])

    def _operator(self, node: Node, frame: Frame) -> Value:
        left, right, sign = child(node, "left"), child(node, "right"), child(node, "operator")
        assert left is not None and right is not None and sign is not None
        value = self._binary(text(sign), self.evaluate(left, frame), self.evaluate(right, frame))
        return Unknown((oneline(node, 60),), value.arch) if isinstance(value, Unknown) else value

    def _binary(self, sign: str, a: Value, b: Value) -> Value:
        return self.lanes.lift(lambda x, y: self._arithmetic(sign, x, y), a, b)

    def _arithmetic(self, sign: str, a: Value, b: Value) -> Value:
        a, b = self._as_number(a, b), self._as_number(b, a)
        if isinstance(a, Split) or isinstance(b, Split):
            return self._binary(sign, a, b)
        if isinstance(a, tuple) and isinstance(b, tuple) and sign in "+|":
            return type(a)((*a, *b))
        if sign == "in" or not (is_constant(a) and is_constant(b)):
            return Unknown((), depends(a) or depends(b))
        try:
            if sign in ("**", "<<") or (sign == "*" and not both_numbers(a, b)):
                return Unknown()
            return ARITHMETIC[sign](a, b)
        except (TypeError, KeyError, ValueError, ZeroDivisionError, OverflowError):
            return Unknown()

    def _as_number(self, value: Value, other: Value) -> Value:
        if isinstance(value, Capability) and not isinstance(other, str):
            return self.lanes.sm
        return value

    def _unary(self, node: Node, frame: Frame) -> Value:
        argument, sign = child(node, "argument"), child(node, "operator")
        assert argument is not None and sign is not None
        value = self.evaluate(argument, frame)
        if sign.type == "-" and isinstance(value, (int, float)):
            return -value
        return value if sign.type == "+" else Unknown((oneline(node, 60),), depends(value))

    def _subscript(self, node: Node, frame: Frame) -> Value:
        owner, index = child(node, "value"), child(node, "subscript")
        assert owner is not None and index is not None
        full = text(node)
        if full in frame.scope.bindings and index.type == "string":
            bound = self.resolve(full, frame, node.start_byte)
            if bound is not _MISSING:
                return bound
        holder = self.evaluate(owner, frame)
        if index.type == "slice":
            return self._slice(holder, index)
        key = self.evaluate(index, frame)
        if isinstance(holder, Unknown) and isinstance(key, str):
            seeded = self.seed(key)
            if seeded is not None:
                return Capability(True) if isinstance(seeded, Capability) else seeded
        if isinstance(holder, ExternalV) and holder.name.endswith("os.environ"):
            return self._variable(key, _MISSING)
        value = self.lanes.lift(self._index, holder, key)
        return Unknown((oneline(node, 60),), value.arch) if isinstance(value, Unknown) else value

    def _slice(self, holder: Value, index: Node) -> Value:
        bounds = re.fullmatch(r"(-?\d*)\s*:\s*(-?\d*)", text(index))
        if bounds and is_text(holder):
            start, stop = (int(b) if b else None for b in bounds.groups())
            return self.lanes.lift(lambda written: written[start:stop], holder)
        if "0:2" in text(index) or text(index) == ":2":
            return self.lanes.pair if isinstance(holder, Capability) else holder
        return Unknown(("slice",), depends(holder))

    def _index(self, holder: Value, key: Value) -> Value:
        if isinstance(holder, (Capability, tuple)) and isinstance(key, int):
            return item_of(holder, key, self.lanes)
        if isinstance(holder, DictV):
            return self._row(holder, key, Unknown(("KeyError",)))
        if isinstance(holder, str) and isinstance(key, int) and -len(holder) <= key < len(holder):
            return holder[key]
        return Unknown((), depends(holder) or depends(key))

    def _row(self, table: DictV, key: Value, default: Value) -> Value:
        for known, value in table.rows:
            hit = self._pairwise("==", key, known) if not isinstance(known, (Unknown, Split)) else False
            if hit is True:
                return self.evaluate(value.node, value.frame) if isinstance(value, _Lazy) else value
        return Unknown(("table",)) if table.open else default

    def _attribute(self, node: Node, frame: Frame) -> Value:
        owner, name_node = child(node, "object"), child(node, "attribute")
        assert owner is not None and name_node is not None
        full = text(node)
        if full in frame.scope.bindings:
            bound = self.resolve(full, frame, node.start_byte)
            if bound is not _MISSING:
                return bound
        stated = self.knowledge.stated(full, self.lanes)
        if stated is not None:
            return stated
        holder = self.evaluate(owner, frame)
        name = text(name_node)
        return self.lanes.merge((self.attribute(h, name, full), mask) for h, mask in self.lanes.groups(holder))

    def attribute(self, holder: Value, name: str, full: str) -> Value:
        """An attribute of a value; `full` is the source text."""
        if isinstance(holder, Maybe):
            return assume(self.attribute(holder.value, name, full), holder.names)
        if isinstance(holder, ModuleV):
            value = self.member(holder.module, name)
            if value is not _MISSING:
                return value
        if isinstance(holder, ClassV):
            value = self.class_member(holder, name, holder)
            if value is not _MISSING:
                return value
        if isinstance(holder, InstanceV):
            value = self.instance_member(holder, name)
            if value is not _MISSING:
                return value
        if isinstance(holder, PropertiesV) or is_capability(holder):
            found = {"major": self.lanes.major, "minor": self.lanes.minor}.get(name)
            if found is not None:
                return found if not isinstance(holder, tuple) else holder[0 if name == "major" else 1]
        if isinstance(holder, ExternalV):
            dotted = f"{holder.name}.{name}"
            known = self.knowledge.constant(dotted)
            return ExternalV(dotted) if known is _MISSING_CONSTANT else known
        if isinstance(holder, (str, tuple, DictV, Capability)) and not isinstance(holder, Unknown):
            return BuiltinMethod(holder, name)
        return self._seeded_attribute(holder, name, full)

    def _seeded_attribute(self, holder: Value, name: str, full: str) -> Value:
        seeded = self.knowledge.seed_attribute(full, name, self.lanes)
        if seeded is not None:
            return seeded
        return Unknown((full[:60],), isinstance(holder, Unknown) and holder.arch and False)

    def class_member(self, cls: ClassV, name: str, receiver: Value) -> Value:
        """A class attribute through the bases, methods bound to the receiver; _MISSING if there is none."""
        for owner in self.mro(cls):
            frame = self.class_frame(owner)
            if name in frame.scope.bindings:
                value = self.resolve(name, frame, _END)
                return self._bind(value, frame.scope.bindings[name][-1], receiver)
        return _MISSING

    def _bind(self, value: Value, binding: Binding, receiver: Value) -> Value:
        if not isinstance(value, FuncV) or binding.kind != "def":
            return value
        kinds = {
            text(c.named_children[0]).rsplit(".", 1)[-1] for c in binding.node.named_children if c.type == "decorator"
        }
        if "staticmethod" in kinds:
            return value
        bound = receiver
        if "classmethod" in kinds and isinstance(receiver, InstanceV):
            bound = receiver.cls
        method = FuncV(value.module, value.node, value.frame, bound, True)
        if kinds & {"property", "cached_property"}:
            return self.invoke(method, (), {}).value
        return method

    def mro(self, cls: ClassV, seen: tuple[ClassV, ...] = ()) -> list[ClassV]:
        """The class and its scanned bases, nearest first."""
        found = [cls]
        holder = child(cls.node, "superclasses")
        for base in operands(holder) if holder is not None and len(seen) < 8 else ():
            value = self.evaluate(base, cls.frame) if base.type != "keyword_argument" else None
            if isinstance(value, ClassV) and value not in seen and value is not cls:
                found += [c for c in self.mro(value, (*seen, cls)) if c not in found]
        return found

    def instance_member(self, instance: InstanceV, name: str) -> Value:
        """An attribute of an object: constructor fields, `self.x` of __init__, then the class."""
        if name in instance.fields:
            return instance.fields[name]
        for owner in self.mro(instance.cls):
            frame = self.class_frame(owner)
            value = self._set_in_init(owner, frame, instance, name)
            if value is not _MISSING:
                return value
        return self.class_member(instance.cls, name, instance)

    def _set_in_init(self, owner: ClassV, frame: Frame, instance: InstanceV, name: str) -> Value:
        for method in ("__init__", "__post_init__", "setup"):
            for binding in frame.scope.bindings.get(method, ()):
                if binding.kind != "def" or binding.value is None:
                    continue
                inner_frame = self._entry_frame(owner.module, binding.value, frame)
                if f"self.{name}" in inner_frame.scope.bindings:
                    value = self.resolve(f"self.{name}", inner_frame, _END)
                    if value is not _MISSING:
                        return value
        return _MISSING

    def _lambda(self, node: Node, frame: Frame) -> Value:
        return FuncV(frame.module, node, frame)

    def _named(self, node: Node, frame: Frame) -> Value:
        value = child(node, "value")
        return self.evaluate(value, frame) if value is not None else Unknown()

    def _comprehension(self, node: Node, frame: Frame) -> Value:
        clause = next((c for c in node.named_children if c.type == "for_in_clause"), None)
        source = child(clause, "right") if clause is not None else None
        body = child(node, "body")
        left = child(clause, "left") if clause is not None else None
        items = self.evaluate(source, frame) if source is not None else Unknown()
        tests = [c.named_children[0] for c in node.named_children if c.type == "if_clause"]
        if not isinstance(items, tuple) or len(items) > 64 or body is None or left is None or left.type != "identifier":
            return Unknown((oneline(node, 60),))
        result: Value = ListV()
        for item in items:
            one = Frame(frame.module, _NO_SCOPE, frame, {text(left): item})
            keep: Value = True
            for test in tests:
                keep = self._kleene(True, keep, self.truth(self.evaluate(test, one)))
            result = self._kept(result, keep, self.evaluate(body, one))
            one.memo.clear()
        return result

    def _kept(self, items: Value, keep: Value, item: Value) -> Value:
        def add(held: Value, wanted: Value) -> Value:
            return ListV((*held, item)) if wanted else held

        return self.lanes.lift(add, items, keep)

    def _generator(self, node: Node, frame: Frame) -> Value:
        return self._comprehension(node, frame)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Node, frame: Frame) -> Value:
        return self.outcome(node, frame).value

    def outcome(self, node: Node, frame: Frame) -> Outcome:
        """What a call expression returns and where it raises."""
        function = child(node, "function")
        assert function is not None
        positional, keywords = arguments(node)
        name = text(function).rsplit(".", 1)[-1]
        known = self._known_call(name, node, positional, keywords, frame)
        if known is not _MISSING:
            return Outcome(known)
        callee = self.evaluate(function, frame)
        if isinstance(callee, ExternalV):
            return Outcome(self._external(callee.name, node, positional, keywords, frame))
        if isinstance(callee, BuiltinMethod):
            args = tuple(self.evaluate(a, frame) for a in positional)
            return Outcome(self._method(callee, args, node))
        if isinstance(callee, FuncV) and not self._worth(callee, [*positional, *keywords.values()], frame):
            known = self._by_name(name, text(function), node)
            return Outcome(Unknown((oneline(node, 60),)) if known is _MISSING else known)
        if isinstance(callee, (FuncV, PartialV, ClassV)):
            args = tuple(self.evaluate(a, frame) for a in positional)
            kw = {k: self.evaluate(v, frame) for k, v in keywords.items()}
            outcome = self.invoke(callee, args, kw)
            if isinstance(outcome.value, Unknown):
                known = self._by_name(name, text(function), node)
                if known is not _MISSING and not outcome.value.arch:
                    return Outcome(known, outcome.raises)
                return Outcome(Unknown((oneline(node, 60),), outcome.value.arch), outcome.raises)
            return outcome
        if isinstance(callee, Split):
            return Outcome(Unknown((oneline(node, 60),), True))
        known = self._by_name(name, text(function), node)
        if known is not _MISSING:
            return Outcome(known)
        return Outcome(Unknown((oneline(node, 60),), self._given(positional[:4], frame)))

    def _given(self, arguments: list[Node], frame: Frame) -> bool:
        """Whether a name among the arguments holds the target."""
        names = [a for a in arguments if a.type in ("identifier", "attribute", "subscript")]
        return any(self._may_carry(a, frame) and depends(self.evaluate(a, frame)) for a in names)

    def _may_carry(self, node: Node, frame: Frame, hops: int = 4) -> bool:
        """Whether an expression may hold the target, by its words and those its names were bound to: no evaluation."""
        words = set(_WORD.findall((node.text or b"")[:_LOOKED_AT]))
        return any(is_trigger(word) or self._name_may_carry(word.decode(), frame, hops) for word in words)

    def _name_may_carry(self, name: str, frame: Frame, hops: int) -> bool:
        if name in self.asks or not hops:
            return True
        current: Frame | None = frame
        while current is not None:
            if name in current.locals and depends(current.locals[name]):
                return True
            bindings = current.scope.bindings.get(name)
            if bindings:
                return self._bound_may_carry(name, bindings, current, hops)
            current = current.parent
        return False

    def _bound_may_carry(self, name: str, bindings: list[Binding], frame: Frame, hops: int) -> bool:
        key = (0, hops, f"{name} carries")
        known = frame.memo.get(key)
        if known is None:
            frame.memo[key] = (False, ())  # what is bound to itself
            values = [b.value for b in bindings if b.value is not None and b.kind not in ("def", "class")]
            known = frame.memo[key] = (any(self._may_carry(v, frame, hops - 1) for v in values), ())
        return bool(known[0])

    def _by_name(self, name: str, full: str, node: Node) -> Value:
        value = self.knowledge.call(full, name, self.lanes)
        return _MISSING if value is None else value

    def _known_call(
        self, name: str, node: Node, positional: list[Node], keywords: dict[str, Node], frame: Frame
    ) -> Value:
        """Facades whose comparison is known by name: has_device_capability(90)."""
        sign = self.knowledge.facades.get(name)
        if sign is None or not positional + list(keywords.values()):
            return _MISSING
        wanted = self.evaluate((positional + list(keywords.values()))[0], frame)
        return self.lanes.lift(lambda w: self._facade(sign, w), wanted)

    def _facade(self, sign: str, wanted: Value) -> Value:
        if isinstance(wanted, tuple) and len(wanted) == 2:
            wanted = wanted[0] * 10 + wanted[1] if is_constant(wanted) else Unknown()
        if not isinstance(wanted, int):
            return Unknown(("capability",), True)
        if sign == "family":
            return self.lanes.by_target(lambda t: t.major == wanted // 10)
        return self.lanes.by_target(lambda t: bool(COMPARE[sign](t.sm, wanted)))

    def _external(
        self, name: str, node: Node, positional: list[Node], keywords: dict[str, Node], frame: Frame
    ) -> Value:
        short = name.rsplit(".", 1)[-1]
        if short == "partial" and positional:
            return self._partial(positional, keywords, frame)
        if short in self.knowledge.wrappers:
            return self._wrapped(positional, node, frame)
        if name in ("os.getenv", "os.environ.get", "getenv", "environ.get"):
            return self._getenv(positional, frame)
        known = self.knowledge.call(name, short, self.lanes)
        if known is not None:
            return known
        if "." in name or short not in CALLABLE:
            return Unknown((oneline(node, 60),), self._given(positional[:4], frame))
        args = tuple(self.evaluate(a, frame) for a in positional)
        return self._builtin(short, args, node)

    def _wrapped(self, positional: list[Node], node: Node, frame: Frame) -> Value:
        """lru_cache(f) is f; lru_cache(maxsize=1) is something that gives back what it is called with."""
        return self.evaluate(positional[0], frame) if positional else ExternalV("cache")

    def _partial(self, positional: list[Node], keywords: dict[str, Node], frame: Frame) -> Value:
        function = self.evaluate(positional[0], frame)
        args = tuple(self.evaluate(a, frame) for a in positional[1:])
        kw = {k: self.evaluate(v, frame) for k, v in keywords.items()}
        notes = tuple(
            Related(frame.module.path, line_of(v), Role.DEFINITION, f"{k}={oneline(v, 80)}")
            for k, v in keywords.items()
            if (v.type in ("list", "tuple", "set", "integer") and "major" in k) or "capab" in k
        )
        return PartialV(function, args, kw, notes)

    def _getenv(self, positional: list[Node], frame: Frame) -> Value:
        if not positional:
            return Unknown(("os.environ",))
        key = self.evaluate(positional[0], frame)
        default = self.evaluate(positional[1], frame) if len(positional) > 1 else None
        return self._variable(key, default)

    def _variable(self, key: Value, default: Value) -> Value:
        if not isinstance(key, str):
            return Unknown(("os.environ",))
        self.environment[key] = None
        setting = self.knowledge.variable(key)
        if setting is not None:
            return setting
        return Unknown((key,)) if default is _MISSING else default

    def _builtin(self, name: str, args: tuple[Value, ...], node: Node) -> Value:
        unknown = Unknown((oneline(node, 60),), any(depends(a) for a in args))
        function = CALLABLE.get(name)
        if function is None or not args:
            return unknown
        if name in ("any", "all") and len(args) == 1 and isinstance(args[0], tuple):
            result: Value = name == "all"
            for item in args[0]:
                result = self._kleene(name == "all", result, self.truth(item))
            return result
        if name == "bool":
            return self.truth(args[0])
        value = self.lanes.lift(lambda *items: apply(function, name, items), *args)
        return unknown if isinstance(value, Unknown) else value

    def _method(self, method: BuiltinMethod, args: tuple[Value, ...], node: Node) -> Value:
        unknown = Unknown((oneline(node, 60),), depends(method.owner) or any(depends(a) for a in args))
        if isinstance(method.owner, DictV):
            if method.name == "get" and args:
                default = args[1] if len(args) > 1 else None
                return self.lanes.lift(lambda k: self._row(method.owner, k, default), args[0])
            return unknown
        if isinstance(method.owner, Capability):
            return self._capability_method(method.name, args, unknown)
        if method.name not in METHODS:
            return unknown
        value = self.lanes.lift(lambda *items: apply_method(method, items), *args) if args else apply_method(method, ())
        return unknown if isinstance(value, Unknown) else value

    def _capability_method(self, name: str, args: tuple[Value, ...], unknown: Value) -> Value:
        if name in ("to_int", "as_int"):
            return self.lanes.sm
        if name in ("replace", "strip", "lower", "removeprefix", "lstrip", "rstrip"):
            return Capability(False)
        if name in ("startswith", "endswith") and args and isinstance(args[0], (str, tuple)):
            wanted = args[0] if isinstance(args[0], tuple) else (args[0],)
            if all(isinstance(w, str) and any(c.isdigit() for c in w) for w in wanted):
                return self.lanes.by_target(lambda t: any(getattr(s, name)(w) for s in spellings(t) for w in wanted))
        return unknown

    def invoke(self, callee: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Outcome:
        """The outcome of calling a function value."""
        if isinstance(callee, PartialV):
            result = self.invoke(callee.function, (*callee.args, *args), {**callee.keywords, **keywords})
            if depends(result.value):
                self.trace.extend(callee.notes)
            return result
        if isinstance(callee, ClassV):
            return Outcome(self._construct(callee, args, keywords))
        if not isinstance(callee, FuncV):
            return Outcome(Unknown(("call",)))
        if self.depth > _DEPTH or self.steps > _STEPS:
            self.cut_short += 1
            return Outcome(Unknown(("too deep",)))
        key = self._call_key(callee, args, keywords)
        if key is not None and key in self._calls:
            outcome, trace = self._calls[key]
            self.trace.extend(trace)
            return outcome
        outer, self.trace = self.trace, []
        whole = self.cut_short
        self.depth += 1
        try:
            outcome = self._run(callee, args, keywords)
        finally:
            self.depth -= 1
        mine = _distinct(self.trace)
        if (depends(outcome.value) or outcome.raises) and callee.node.type == "function_definition":
            mine = (_definition_of(callee), *mine[:_TRACE])
        self.trace = outer
        self.trace.extend(mine)
        if key is not None and whole == self.cut_short:
            self._calls[key] = (outcome, mine)
        return outcome

    def _worth(self, callee: FuncV, arguments: list[Node], frame: Frame) -> bool:
        """Whether a call may have to do with the target: it gets it, asks for it, or is too short to tell."""
        node = callee.node
        if node.end_point[0] - node.start_point[0] <= 6:
            return True
        offsets = callee.module.index.triggers
        at = bisect_left(offsets, node.start_byte)
        if at < len(offsets) and offsets[at] < node.end_byte:
            return True
        return self._given(arguments, frame)

    def mixes(self, module: Module, function: Node) -> bool:
        """Whether a function's answer hangs on other conditions besides the target: then it is what decides."""
        key = ("mixes", function.start_byte)
        if key not in module.memo:
            outer, self.trace = self.trace, []
            body = child(function, "body")
            frame = self.frame_at(module, module.descend(body.start_byte)) if body is not None else None
            whole = self.cut_short
            mixed = frame is not None and self._mixed(body, frame)
            self.trace = outer
            if whole != self.cut_short:
                return mixed
            module.memo[key] = mixed
        return bool(module.memo[key])

    def _mixed(self, body: Node | None, frame: Frame) -> bool:
        run = _Run(self, frame)
        if body is not None:
            run.block(body, self.lanes.all, ())
        names: tuple[str, ...] = ()
        for value, _, why in run.returns:
            for one, _ in self.lanes.groups(self.truth(value)):
                arch = isinstance(one, Unknown) and one.arch
                names += () if arch or isinstance(one, bool) else one.names
            names += why
        return any(not _ENVIRONMENT.search(name) for name in names)

    def _call_key(self, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]) -> object | None:
        values = (*args, *keywords.values())
        if callee.is_bound and not isinstance(callee.bound, (ClassV, InstanceV)):
            return None
        if not all(hashable(v) for v in values) or callee.frame.locals:
            return None
        bound = callee.bound.cls if isinstance(callee.bound, InstanceV) else callee.bound
        if isinstance(callee.bound, InstanceV) and callee.bound.fields:
            return None
        shown = tuple((type(a), _given_as("", a)) for a in args)
        named = tuple((k, type(v), _given_as("", v)) for k, v in sorted(keywords.items(), key=lambda kv: kv[0]))
        return (callee.module.path, callee.node.start_byte, bound, shown, named)

    def _construct(self, cls: ClassV, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        init = self.class_member(cls, "__init__", InstanceV(cls))
        fields = dict(keywords)
        if not isinstance(init, FuncV):
            names = [n for n, b in self.class_frame(cls).scope.bindings.items() if b[0].kind == "assign"]
            fields.update(zip(names, args, strict=False))
            return InstanceV(cls, fields if args or keywords else {})
        return InstanceV(cls, dict(fields.items()))

    def _run(self, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]) -> Outcome:
        bound = self._arguments(callee, args, keywords)
        frame = self.function_frame(callee, bound)
        body = child(callee.node, "body")
        if body is None:
            return Outcome(Unknown(("no body",)))
        if callee.node.type == "lambda":
            return Outcome(self.evaluate(body, frame))
        run = _Run(self, frame)
        fall, names = run.block(body, self.lanes.all, ())
        if fall:
            run.returns.append((None, fall, names))
        value = self._combine(run.returns) if run.returns else Unknown(("raises",))
        frame.memo.clear()
        return Outcome(value, tuple(run.raises))

    def _arguments(self, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]) -> dict[str, Value]:
        names = parameters(callee.node)
        bound: dict[str, Value] = {}
        given = list(args)
        if callee.is_bound and names:
            given.insert(0, callee.bound)
        for name, default in names:
            if name.startswith("*"):
                if not name.startswith("**"):
                    bound[name.lstrip("*")] = tuple(given)
                    given = []
                continue
            if given:
                bound[name] = _given_as(name, given.pop(0))
            elif name in keywords:
                bound[name] = _given_as(name, keywords[name])
            elif default is not None:
                bound[name] = self.evaluate(default, callee.frame)
        return bound


class _Run:
    """Walks a function body forward: which lanes return what, and which raise."""

    def __init__(self, interpreter: Interpreter, frame: Frame) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.returns: list[tuple[Value, int, tuple[str, ...]]] = []
        self.raises: list[Raise] = []

    def block(self, block: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """The lanes that leave the block at its end, and the unknown conditions they hang on."""
        for statement in statements(block):
            if not live:
                break
            live, names = self.statement(statement, live, names)
        return live, names

    def statement(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        kind = node.type
        if kind == "return_statement":
            value = operands(node)
            self.returns.append((self._returned(value), live, names))
            return 0, names
        if kind == "raise_statement":
            self.raises.append(Raise(live, names, node, self.frame.module))
            return 0, names
        if kind == "if_statement":
            return self._if(node, live, names)
        if kind == "assert_statement":
            return self._assert(node, live, names)
        if kind == "expression_statement":
            return self._expression(node, live, names)
        if kind in ("with_statement", "try_statement"):
            body = child(node, "body")
            return self.block(body, live, names) if body is not None else (live, names)
        if kind in ("for_statement", "while_statement"):
            body = child(node, "body")
            if body is not None:
                self.block(body, live, unite(names, (oneline(node.children[0], 20) + " loop",)))
        return live, names

    def _returned(self, value: list[Node]) -> Value:
        if not value:
            return None
        return self.interpreter.evaluate(value[0], self.frame)

    def _if(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        left, out, out_names = live, 0, names
        path = names
        for condition, block in if_arms(node):
            yes, maybe, why = self.interpreter._taken(condition, self.frame, left)
            fall = 0
            if yes:
                fall |= self.block(block, yes, path)[0]
            if maybe:
                through, _ = self.block(block, maybe, unite(path, why))
                fall |= through
                if not through:
                    path = unite(path, why)
            out |= fall
            left &= ~yes
        out |= left
        if path != names:
            out_names = path
        return out, out_names

    def _assert(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        condition = operands(node)[0]
        yes, maybe, _ = self.interpreter._taken(condition, self.frame, live)
        failed = live & ~yes & ~maybe
        if failed:
            self.raises.append(Raise(failed, names, node, self.frame.module))
        return live & ~failed, names

    def _expression(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        call = node.named_children[0] if node.named_children else node
        if call.type != "call" or not self.interpreter.knowledge.may_require(call):
            return live, names
        outcome = self.interpreter.outcome(call, self.frame)
        for one in outcome.raises:
            if one.mask & live:
                self.raises.append(Raise(one.mask & live, unite(names, one.names), one.node, one.module))
                if not one.names:
                    live &= ~one.mask
        return live, names


@dataclass(frozen=True, eq=False, slots=True)
class _Lazy:
    """The value of a table row, evaluated when it is asked for."""

    node: Node
    frame: Frame


class _NoScope:
    bindings: dict[str, list[Binding]] = {}  # noqa: RUF012

    def holds(self, name: str) -> bool:
        return False

    stars: list[Binding] = []  # noqa: RUF012
    compounds: dict[int, Node] = {}  # noqa: RUF012


_NO_SCOPE: Any = _NoScope()


def _distinct(trace: list[Related]) -> tuple[Related, ...]:
    """The places of a trace once each, the outermost ones first; the tail of a long one is dropped."""
    if len(trace) < 2:
        return tuple(trace)
    return tuple({(r.path, r.line): r for r in reversed(trace)}.values())[::-1][:_TRACE]


def _given_as(name: str, value: Value) -> Value:
    """An argument nobody can tell goes by its parameter's name: then a call gives the same to all callers."""
    return Unknown((name,)) if isinstance(value, Unknown) and not value.arch else value


def _definition_of(function: FuncV) -> Related:
    name = child(function.node, "name")
    words = f"def {text(name)}" if name is not None else "lambda"
    return Related(function.module.path, line_of(function.node), Role.DEFINITION, words)


_MISSING_CONSTANT = Knowledge.MISSING
_CONSTANTS = {"true": True, "false": False, "none": None}
_LEAVES = frozenset({"true", "false", "none", "integer", "float"})

_HANDLERS: dict[str, Callable[[Interpreter, Node, Frame], Value]] = {
    "identifier": Interpreter._identifier,
    "true": Interpreter._constant,
    "false": Interpreter._constant,
    "none": Interpreter._constant,
    "integer": Interpreter._number,
    "float": Interpreter._number,
    "string": Interpreter._string,
    "concatenated_string": Interpreter._string,
    "list": Interpreter._sequence,
    "tuple": Interpreter._sequence,
    "set": Interpreter._sequence,
    "expression_list": Interpreter._sequence,
    "dictionary": Interpreter._dictionary,
    "boolean_operator": Interpreter._boolean,
    "not_operator": Interpreter._not,
    "comparison_operator": Interpreter._comparison,
    "conditional_expression": Interpreter._conditional,
    "binary_operator": Interpreter._operator,
    "unary_operator": Interpreter._unary,
    "subscript": Interpreter._subscript,
    "attribute": Interpreter._attribute,
    "call": Interpreter._call,
    "lambda": Interpreter._lambda,
    "named_expression": Interpreter._named,
    "list_comprehension": Interpreter._comprehension,
    "set_comprehension": Interpreter._comprehension,
    "generator_expression": Interpreter._generator,
}
