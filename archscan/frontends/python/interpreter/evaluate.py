"""A small abstract interpreter: evaluates expressions and calls once for all targets, on demand, importing nothing."""

from __future__ import annotations

import itertools

from tree_sitter import Node

from archscan.frontends.python.interpreter import runs, special
from archscan.frontends.python.interpreter.classes import attribute
from archscan.frontends.python.interpreter.expressions import HANDLERS, LEAVES
from archscan.frontends.python.interpreter.frames import DEPTH, NO_SCOPE, STEPS, VARIABLE, Frame, Outcome, distinct
from archscan.frontends.python.interpreter.knowledge import Knowledge
from archscan.frontends.python.interpreter.names import member_of
from archscan.frontends.python.interpreter.values import ClassV, FuncV, PerTarget, Unknown, Value
from archscan.frontends.python.source.modules import Graph, Module
from archscan.frontends.python.source.scopes import Scope
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import inner, oneline, parameters, text, walk
from archscan.model.gate import Related

_FRAMED = frozenset({"class_definition", "function_definition", "lambda"})
_COMPREHENSIONS = frozenset(
    {"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"}
)


class Interpreter:
    """Evaluates nodes in frames. Results are remembered; depth and steps are limited, so it always comes back."""

    def __init__(self, graph: Graph, knowledge: Knowledge, lanes: PerTarget) -> None:
        self.graph = graph
        self.knowledge = knowledge
        self.lanes = lanes
        self.depth = 0
        self.steps = 0
        self.tries = 0  # try statements being run
        self.cut_short = 0  # evaluations that met a limit or themselves: what rests on them is not remembered
        self.running: list[tuple[str, int]] = []  # the functions that are being called, by file and offset
        self.trace: list[Related] = []
        self.said: dict[Related, str] = {}  # what a function that tells targets apart says of itself
        self._frames: dict[str, Frame] = {}
        self._cycles: dict[tuple[int, tuple[object, ...]], int] = {}
        self.asks: frozenset[str] = frozenset()  # names that ask for the target without saying so
        self.classes: frozenset[str] = frozenset()  # classes that ask for it
        self._calls: dict[object, tuple[Outcome, tuple[Related, ...]]] = {}

    @property
    def places(self) -> tuple[Related, ...]:
        """The places on the way to what was evaluated."""
        return tuple(one for one in self.trace if one.path != VARIABLE)

    @property
    def environment(self) -> tuple[str, ...]:
        """The environment variables that what was evaluated asks for."""
        return tuple(dict.fromkeys(one.message for one in self.trace if one.path == VARIABLE))

    def forget(self, module: Module) -> None:
        """Drops the trees of a module: values that others hold stay, what they need again is parsed again.

        A module that others have asked for a name keeps its trees: it will be asked again.
        """
        self._empty(module)
        if not module.is_asked:
            module.forget()

    def renew(self) -> None:
        """Drops the trees of all modules and what they came to: whatever is asked again is read again."""
        for module in self.graph.modules.values():
            if module.is_read or module.memo:
                self._empty(module)
                module.forget()
        self._calls.clear()

    def _empty(self, module: Module) -> None:
        """Empties the frames of a module: what they remember refers to them, and no collector runs."""
        for frame in (self._frames.pop(module.path, None), *module.memo.values()):
            if isinstance(frame, Frame):
                frame.memo.clear()

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
            found = Frame(cls.module, cls.module.class_scope(cls.node), cls.frame, is_class=True, owner=cls)
            cls.module.memo[key] = found
        return found  # type: ignore[no-any-return]

    def class_of(self, module: Module, node: Node, frame: Frame) -> ClassV:
        key = ("class of", node.start_byte)
        found = module.memo.get(key)
        if found is None:
            found = module.memo[key] = ClassV(module, node, frame)
        return found  # type: ignore[return-value]

    def function_frame(self, function: FuncV, bound: dict[str, Value]) -> Frame:
        """A fresh frame for a function's body."""
        key = ("scope", function.node.start_byte)
        scope = function.module.memo.get(key)
        if scope is None:
            body = child(function.node, "body") or function.node
            scope = function.module.memo[key] = Scope(body)
        names = frozenset(name.lstrip("*") for name, _ in self.parameters(function))
        owner = function.frame.owner if function.frame.is_class else None
        return Frame(function.module, scope, function.frame, bound, names, owner=owner)

    def parameters(self, function: FuncV) -> list[tuple[str, Node | None]]:
        """Names and defaults of a function's parameters, remembered."""
        key = ("parameters", function.node.start_byte)
        found = function.module.memo.get(key)
        if found is None:
            found = function.module.memo[key] = parameters(function.node)
        return found  # type: ignore[no-any-return]

    def frame_at(self, module: Module, path: list[Node]) -> Frame:
        """The frame around the last node of a path from the module's root: parameters seeded by their names."""
        frame = self.module_frame(module)
        for node, below in itertools.pairwise(path):
            kind = node.type
            if kind in _COMPREHENSIONS:
                frame = self._comprehension_frame(module, node, frame)
                continue
            if kind not in _FRAMED or below != child(node, "body"):
                continue
            if kind == "class_definition":
                frame = self.class_frame(self.class_of(module, node, frame))
            else:
                frame = self.entry_frame(module, node, frame)
        return frame

    def _comprehension_frame(self, module: Module, node: Node, frame: Frame) -> Frame:
        """The frame inside a comprehension whose variables hide names of a scope around; else that of the scope."""
        key = ("comprehension", node.start_byte)
        found = module.memo.get(key)
        if found is None:
            lefts = [child(c, "left") for c in node.named_children if c.type == "for_in_clause"]
            names = {text(n) for left in lefts if left is not None for n in walk(left) if n.type == "identifier"}
            around: Frame | None = frame
            hidden = False
            while around is not None and not hidden:
                hidden = any(around.scope.holds(name) for name in names)
                around = around.parent
            seeds = {name: self.seed(name) for name in names}
            held = {name: Unknown((name,)) if seed is None else seed for name, seed in seeds.items()}
            found = module.memo[key] = Frame(module, NO_SCOPE, frame, held) if hidden else frame
        return found  # type: ignore[return-value]

    def entry_frame(self, module: Module, node: Node, parent: Frame) -> Frame:
        key = ("entry", node.start_byte)
        found = module.memo.get(key)
        if found is None:
            function = FuncV(module, node, parent)
            found = module.memo[key] = self.function_frame(function, {})
        return found  # type: ignore[return-value]

    def seed(self, name: str) -> Value | None:
        """What a name carries by convention."""
        return self.knowledge.seed(name, self.lanes)

    def member(self, module: Module, name: str) -> Value:
        """A module's top-level name, or MISSING; remembered."""
        key = ("member", name)
        known = module.memo.get(key)
        if known is None:
            outer, self.trace = self.trace, []
            whole = self.cut_short
            value = member_of(self, module, name)
            known = (value, distinct(self.trace))
            self.trace = outer
            if whole == self.cut_short:
                module.memo[key] = known
        self.trace.extend(known[1])  # type: ignore[index]
        return known[0]  # type: ignore[index]

    def evaluate(self, node: Node, frame: Frame) -> Value:
        """The value of an expression."""
        kind = node.type
        if kind == "parenthesized_expression":
            node = inner(node)
            kind = node.type
        if kind in LEAVES:
            return HANDLERS[kind](self, node, frame)
        key = (node.start_byte, node.end_byte, kind)
        known = frame.memo.get(key)
        if known is not None:
            self.trace.extend(known[1])
            return known[0]
        handler = HANDLERS.get(kind)
        self.steps += 1
        if handler is None:
            return Unknown((oneline(node, 60),))
        if key in frame.busy or self.depth > DEPTH or self.steps > STEPS:
            self.cut(frame, key)
            return Unknown((oneline(node, 60),))
        frame.busy.add(key)
        self.depth += 1
        trace, mark, whole = self.trace, len(self.trace), self.cut_short
        try:
            value = handler(self, node, frame)
        finally:
            self.depth -= 1
            frame.busy.discard(key)
            if self._cycles:
                self.closed(frame, key)
        mine: tuple[Related, ...] = ()
        if len(trace) > mark:
            trace[mark:] = mine = distinct(trace[mark:])
        if whole == self.cut_short:
            frame.memo[key] = (value, mine)
        return value

    def cut(self, frame: Frame, key: tuple[object, ...]) -> None:
        """Notes that what is being evaluated met a limit, or the evaluation of `key` that it is a part of."""
        self.cut_short += 1
        if key in frame.busy:
            self._cycles[id(frame), key] = self._cycles.get((id(frame), key), 0) + 1

    def closed(self, frame: Frame, key: tuple[object, ...]) -> None:
        """Lets what rests on a whole cycle be remembered: only the parts of the cycle are cut short."""
        self.cut_short -= self._cycles.pop((id(frame), key), 0)

    def invoke(self, callee: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Outcome:
        """The outcome of calling a function value."""
        return runs.invoke(self, callee, args, keywords)

    def tested(self, value: Value) -> Value:
        """A value as a condition asks for it: of an object what it says itself."""
        return special.tested(self, value)

    def dotted(self, node: Node, frame: Frame) -> Value:
        """The value of a dotted name in a pattern."""
        first, *names = node.named_children
        value, written = self.evaluate(first, frame), text(first)
        for name in names:
            written = f"{written}.{text(name)}"
            value = attribute(self, value, text(name), written)
        return value
