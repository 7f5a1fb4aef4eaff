"""Runs function bodies forward: which lanes return what, and which raise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.branches import combine, taken
from archscan.frontends.python.interpreter.calls import outcome_of
from archscan.frontends.python.interpreter.classes import class_member
from archscan.frontends.python.interpreter.frames import DEPTH, NO_KEY, STEPS, TRACE, Frame, Outcome, Raise, distinct
from archscan.frontends.python.interpreter.lanewise import items_of, truth_of
from archscan.frontends.python.interpreter.operations import LONGEST_LOOP, hashable
from archscan.frontends.python.interpreter.values import (
    ClassV,
    FuncV,
    InstanceV,
    PartialV,
    Unknown,
    Value,
    depends,
    unite,
)
from archscan.frontends.python.source.comments import said_of
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import arm_blocks
from archscan.frontends.python.source.syntax import COMPOUND, if_arms, line_of, oneline, operands, statements, text
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


# Conditions of this kind say whether there is such a GPU at all, not what it is used for.
_ENVIRONMENT = re.compile(
    r"\bdevice|cuda|available|version|\bhip\b|rocm|import|find_spec|None|major|minor|capab|\barch"
)


def invoke(interpreter: Interpreter, callee: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Outcome:
    """The outcome of calling a function value."""
    if isinstance(callee, PartialV):
        result = invoke(interpreter, callee.function, (*callee.args, *args), {**callee.keywords, **keywords})
        if depends(result.value):
            interpreter.trace.extend(callee.notes)
        return result
    if isinstance(callee, ClassV):
        return Outcome(_construct(interpreter, callee, args, keywords))
    if not isinstance(callee, FuncV):
        return Outcome(Unknown(("call",)))
    if interpreter.depth > DEPTH or interpreter.steps > STEPS:
        interpreter.cut_short += 1
        return Outcome(Unknown(("too deep",)))
    key = _call_key(interpreter, callee, args, keywords)
    if key is not None and key in interpreter._calls:
        outcome, trace = interpreter._calls[key]
        interpreter.trace.extend(trace)
        return outcome
    outer, interpreter.trace = interpreter.trace, []
    whole = interpreter.cut_short
    interpreter.depth += 1
    try:
        outcome = _run(interpreter, callee, args, keywords)
    finally:
        interpreter.depth -= 1
    mine = distinct(interpreter.trace)
    if (depends(outcome.value) or outcome.raises) and callee.node.type == "function_definition":
        definition = _definition_of(callee)
        interpreter.said.setdefault(definition, said_of(callee.node))
        mine = (definition, *mine[:TRACE])
    interpreter.trace = outer
    interpreter.trace.extend(mine)
    if key is not None and whole == interpreter.cut_short:
        interpreter._calls[key] = (outcome, mine)
    return outcome


def mixes(interpreter: Interpreter, module: Module, function: Node) -> bool:
    """Whether a function's answer hangs on other conditions besides the target: then it is what decides."""
    key = ("mixes", function.start_byte)
    if key not in module.memo:
        outer, interpreter.trace = interpreter.trace, []
        body = child(function, "body")
        frame = interpreter.frame_at(module, module.descend(body.start_byte)) if body is not None else None
        whole = interpreter.cut_short
        mixed = frame is not None and _mixed(interpreter, body, frame)
        interpreter.trace = outer
        if whole != interpreter.cut_short:
            return mixed
        module.memo[key] = mixed
    return bool(module.memo[key])


def _mixed(interpreter: Interpreter, body: Node | None, frame: Frame) -> bool:
    def mixed(value: Value, names: tuple[str, ...]) -> bool:
        for one, _ in interpreter.lanes.groups(truth_of(interpreter.lanes, value)):
            arch = isinstance(one, Unknown) and one.arch
            names += () if arch or isinstance(one, bool) else one.names
        return any(not _ENVIRONMENT.search(name) for name in names)

    run = _Run(interpreter, frame, mixed)
    if body is not None:
        run.block(body, interpreter.lanes.all, ())
    return run.found


def _call_key(
    interpreter: Interpreter, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]
) -> object | None:
    values = (*args, *keywords.values())
    if callee.is_bound and not isinstance(callee.bound, (ClassV, InstanceV)):
        return None
    if not all(hashable(v) for v in values) or callee.frame.locals:
        return None
    bound = callee.bound
    if isinstance(bound, InstanceV):
        if bound.fields:
            return None
        bound = (bound.cls, bound.made)
    shown = tuple((type(a), _given_as("", a)) for a in args)
    named = tuple((k, type(v), _given_as("", v)) for k, v in sorted(keywords.items(), key=lambda kv: kv[0]))
    return (callee.module.path, callee.node.start_byte, bound, shown, named)


def _construct(interpreter: Interpreter, cls: ClassV, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    init = class_member(interpreter, cls, "__init__", InstanceV(cls))
    fields = dict(keywords)
    if not isinstance(init, FuncV):
        fields.update(zip(_fields_of(cls), args, strict=False))
        return InstanceV(cls, fields if args or keywords else {})
    return InstanceV(cls, dict(fields.items()))


def _run(interpreter: Interpreter, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]) -> Outcome:
    bound = _arguments(interpreter, callee, args, keywords)
    frame = interpreter.function_frame(callee, bound)
    body = child(callee.node, "body")
    if body is None:
        return Outcome(Unknown(("no body",)))
    if callee.node.type == "lambda":
        return Outcome(interpreter.evaluate(body, frame))
    run = _Run(interpreter, frame)
    fall, names = run.block(body, interpreter.lanes.all, ())
    if fall:
        run.returns.append((None, fall, names))
    value = combine(interpreter, run.returns) if run.returns else Unknown(("raises",))
    frame.memo.clear()
    return Outcome(value, tuple(run.raises))


def _arguments(
    interpreter: Interpreter, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]
) -> dict[str, Value]:
    names = interpreter.parameters(callee)
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
            bound[name] = interpreter.evaluate(default, callee.frame)
    return bound


_LEAVING = (
    b"return", b"raise", b"assert", b"break", b"continue", b"require", b"check", b"ensure", b"valid", b"verify",
)  # fmt: skip


class _Run:
    """Walks a function body forward: which lanes return what, and which raise; no further than to what is sought."""

    def __init__(
        self, interpreter: Interpreter, frame: Frame, sought: Callable[[Value, tuple[str, ...]], bool] | None = None
    ) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.sought = sought
        self.found = False
        self.returns: list[tuple[Value, int, tuple[str, ...]]] = []
        self.raises: list[Raise] = []
        self.left = 0  # lanes that have left the loop around

    def block(self, block: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """The lanes that leave the block at its end, and the unknown conditions they hang on."""
        for statement in statements(block):
            if not live or self.found:
                break
            live, names = self.statement(statement, live, names)
        return live, names

    def statement(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        kind = node.type
        if kind == "return_statement":
            value = self._returned(operands(node))
            self.returns.append((value, live, names))
            self.found = self.sought is not None and self.sought(value, names)
            return 0, names
        if kind == "raise_statement":
            self.raises.append(Raise(live, names, node, self.frame.module))
            return 0, names
        if kind in COMPOUND and not _may_leave(node):
            return live, names
        if kind == "if_statement":
            return self._if(node, live, names)
        if kind == "assert_statement":
            return self._assert(node, live, names)
        if kind == "expression_statement":
            return self._expression(node, live, names)
        if kind == "try_statement":
            return self._try(node, live, names)
        if kind == "with_statement":
            body = child(node, "body")
            return self.block(body, live, names) if body is not None else (live, names)
        if kind in ("continue_statement", "break_statement"):
            self.left |= live
            return 0, names
        if kind in ("for_statement", "while_statement"):
            return self._loop(node, live, names)
        return live, names

    def _try(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """Goes on with a handler where the body returns what a missing key gives, else with what follows."""
        body, *handlers = arm_blocks(node)
        mark = len(self.returns)
        self.interpreter.tries += 1
        try:
            fall, after = self.block(body, live, names)
        finally:
            self.interpreter.tries -= 1
        missed = 0
        for value, mask, _ in self.returns[mark:] if handlers else ():
            for one, lanes in self.interpreter.lanes.groups(value):
                missed |= lanes & mask if one == NO_KEY else 0
        if not missed:
            return fall, after
        self.returns[mark:] = [(v, m & ~missed, n) for v, m, n in self.returns[mark:] if m & ~missed]
        caught, after = self.block(handlers[0], missed, names)
        return fall | caught, after

    def _loop(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """A loop over a literal is gone through for some item; of others nobody knows whether they are entered."""
        body, source = child(node, "body"), child(node, "right")
        if body is None:
            return live, names
        held = self.interpreter.evaluate(source, self.frame) if source is not None else None
        items = items_of(self.interpreter.lanes, held)
        sure = items is not None and 0 < len(items) <= LONGEST_LOOP
        outer, self.left = self.left, 0
        marker = () if sure else (oneline(node.children[0], 20) + " loop",)
        fall, _ = self.block(body, live, unite(names, marker))
        fall, self.left = fall | self.left, outer
        return (fall if sure else live), names

    def _returned(self, value: list[Node]) -> Value:
        if not value:
            return None
        return self.interpreter.evaluate(value[0], self.frame)

    def _if(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        left, out, out_names = live, 0, names
        path = names
        for condition, block in if_arms(node):
            yes, maybe, why = taken(self.interpreter, condition, self.frame, left)
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
        yes, maybe, _ = taken(self.interpreter, condition, self.frame, live)
        failed = live & ~yes & ~maybe
        if failed:
            self.raises.append(Raise(failed, names, node, self.frame.module))
        return live & ~failed, names

    def _expression(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        call = node.named_children[0] if node.named_children else node
        if call.type != "call" or not self.interpreter.knowledge.may_require(call):
            return live, names
        outcome = outcome_of(self.interpreter, call, self.frame)
        for one in outcome.raises:
            if one.mask & live:
                self.raises.append(Raise(one.mask & live, unite(names, one.names), one.node, one.module))
                if not one.names:
                    live &= ~one.mask
        return live, names


def _may_leave(node: Node) -> bool:
    """Whether a statement holds anything that returns, raises or may be a check that does."""
    words = (node.text or b"").lower()
    return any(word in words for word in _LEAVING)


def _fields_of(cls: ClassV) -> list[str]:
    """The fields of a data class or named tuple, in order."""
    body = child(cls.node, "body")
    inside = [n.named_children[0] for n in statements(body) if n.named_children] if body is not None else []
    return [text(left) for n in inside if n.type == "assignment" and (left := child(n, "left")) is not None]


def _given_as(name: str, value: Value) -> Value:
    """An argument nobody can tell goes by its parameter's name: then a call gives the same to all callers."""
    return Unknown((name,)) if isinstance(value, Unknown) and not value.arch else value


def _definition_of(function: FuncV) -> Related:
    name = child(function.node, "name")
    words = f"def {text(name)}" if name is not None else "lambda"
    return Related(function.module.path, line_of(function.node), Role.DEFINITION, words)
