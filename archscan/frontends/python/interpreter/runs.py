"""Runs function bodies forward: which lanes return what, and which raise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.aliases import spoiled
from archscan.frontends.python.interpreter.branches import combine, split_truth, taken
from archscan.frontends.python.interpreter.calls import outcome_of
from archscan.frontends.python.interpreter.classes import class_member, evaluated, mro
from archscan.frontends.python.interpreter.exceptions import cannot_raise, suppressing
from archscan.frontends.python.interpreter.frames import (
    DEPTH,
    MISSING,
    NO_SCOPE,
    STEPS,
    TRACE,
    Frame,
    Outcome,
    Raise,
    distinct,
)
from archscan.frontends.python.interpreter.lanewise import items_of, truth_of
from archscan.frontends.python.interpreter.loops import loop_names
from archscan.frontends.python.interpreter.matching import case_truths
from archscan.frontends.python.interpreter.operations import hashable
from archscan.frontends.python.interpreter.pure import ANY_ORDER, PURE, applied
from archscan.frontends.python.interpreter.values import (
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    PartialV,
    SetV,
    Unknown,
    Value,
    assume,
    depends,
    doubted,
    is_constant,
    is_doubt,
    is_mutable,
    unite,
)
from archscan.frontends.python.source.comments import said_of
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import arm_blocks, clauses
from archscan.frontends.python.source.syntax import (
    COMPOUND,
    SCOPES,
    heading,
    if_arms,
    line_of,
    oneline,
    operands,
    statements,
    text,
)
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
    if isinstance(callee, ExternalV) and callee.name in PURE:
        found = applied(interpreter, PURE[callee.name], args, keywords, callee.name not in ANY_ORDER)
        return Outcome(Unknown(("call",), any(depends(a) for a in args)) if found is MISSING else found)
    if not isinstance(callee, FuncV):
        return Outcome(Unknown(("call",), any(depends(a) for a in args)))
    if interpreter.depth > DEPTH or interpreter.steps > STEPS:
        interpreter.cut_short += 1
        return Outcome(Unknown(("too deep",)))
    place = (callee.module.path, callee.node.start_byte)
    if place in interpreter.running and any(isinstance(a, Unknown) for a in (*args, *keywords.values())):
        return Outcome(Unknown(("recursion",), any(depends(a) for a in (*args, *keywords.values()))))
    if callee.doubt:
        sure = FuncV(callee.module, callee.node, callee.frame, callee.bound, callee.is_bound)
        outcome = invoke(interpreter, sure, args, keywords)
        return Outcome(assume(outcome.value, callee.doubt), outcome.raises)
    key = _call_key(interpreter, callee, args, keywords)
    if key is not None and key in interpreter._calls:
        outcome, trace = interpreter._calls[key]
        interpreter.trace.extend(trace)
        return outcome
    outer, interpreter.trace = interpreter.trace, []
    whole = interpreter.cut_short
    interpreter.depth += 1
    interpreter.running.append(place)
    try:
        outcome = _run(interpreter, callee, args, keywords)
    finally:
        interpreter.depth -= 1
        interpreter.running.pop()
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
        return any(not _ENVIRONMENT.search(name) and not is_doubt(name) for name in names)

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
    new = class_member(interpreter, cls, "__new__", cls)
    heading_of = heading(cls.node)
    if new is not MISSING or b"metaclass" in heading_of or _DERIVED.search(heading_of):
        return Unknown((cls.name,), any(depends(a) for a in (*args, *keywords.values())), lost=True)
    if isinstance(init, FuncV):
        if init.doubt:
            return InstanceV(cls, made=False)
        return InstanceV(cls, {}, True, interpreter.function_frame(init, _arguments(interpreter, init, args, keywords)))
    fields = dict(keywords)
    names = _fields_of(cls)
    if args and len(mro(interpreter, cls)) > 1:
        names = []  # fields of its bases go before its own
    fields.update(zip(names, args, strict=False))
    return InstanceV(cls, fields, True) if len(names) >= len(args) else InstanceV(cls, {}, False)


# What derives from a built-in type has a value of its own, and operators that may be others.
_DERIVED = re.compile(
    rb"\(\s*(?:int|str|float|tuple|list|dict|set|frozenset|bytes|type|UserDict|UserList|Counter|defaultdict)\b"
)


def _run(interpreter: Interpreter, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]) -> Outcome:
    body = child(callee.node, "body")
    if body is None:
        return Outcome(Unknown(("no body",)))
    bound = _arguments(interpreter, callee, args, keywords)
    frame = interpreter.function_frame(callee, bound)
    if callee.node.type == "lambda":
        return Outcome(interpreter.evaluate(body, frame))
    if _gives_later(interpreter, callee):
        return Outcome(Unknown(("generator",), lost=True))
    run = _Run(interpreter, frame)
    fall, names = run.block(body, interpreter.lanes.all, ())
    if fall:
        run.returns.append((None, fall, names))
    value = combine(interpreter, run.returns) if run.returns else Unknown(("raises",))
    left = interpreter.lanes.all
    for _, mask, _ in run.returns:
        left &= ~mask
    if left and run.returns:  # who gets there got past what raises
        past = [
            (doubted(one, ("nothing raises",)), mask & left)
            for one, mask in interpreter.lanes.groups(run.returns[-1][0])
        ]
        value = interpreter.lanes.merge([*((v, m & ~left) for v, m in interpreter.lanes.groups(value)), *past])
    frame.memo.clear()
    return Outcome(value, tuple(run.raises))


def _gives_later(interpreter: Interpreter, callee: FuncV) -> bool:
    """Whether a call only makes a generator or a coroutine, whose body runs when it is gone through."""
    key = ("later", callee.node.start_byte)
    memo = callee.module.memo
    if key not in memo:
        words = callee.node.text or b""
        found = words.startswith(b"async")
        if b"yield" in words:
            stack = [child(callee.node, "body")]
            while stack and not found:
                node = stack.pop()
                if node is not None:
                    found = node.type == "yield"
                    stack.extend(n for n in node.named_children if n.type not in SCOPES)
        memo[key] = found
    return bool(memo[key])


def _arguments(
    interpreter: Interpreter, callee: FuncV, args: tuple[Value, ...], keywords: dict[str, Value]
) -> dict[str, Value]:
    names = interpreter.parameters(callee)
    bound: dict[str, Value] = {}
    given = list(args)
    if callee.is_bound and names:
        given.insert(0, callee.bound)
    left = dict(keywords)
    for name, default in names:
        if name.startswith("**"):
            bound[name[2:]] = DictV(tuple(left.items()))
        elif name.startswith("*"):
            bound[name[1:]] = tuple(evaluated(interpreter, one) for one in given)
            given = []
        elif given:
            bound[name] = _given_as(name, given.pop(0))
        elif name in left:
            bound[name] = _given_as(name, left.pop(name))
        elif default is not None:
            value = interpreter.evaluate(default, callee.frame)
            bound[name] = _as_default(interpreter, callee, name, value)
    return bound


def _as_default(interpreter: Interpreter, callee: FuncV, name: str, value: Value) -> Value:
    """A default is made once: what calls do to it stays."""
    if not is_mutable(value):
        return value
    inside = interpreter.entry_frame(callee.module, callee.node, callee.frame)
    why = spoiled(interpreter, name, inside, value)
    return value if why is None else why.of(value)


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
        self.breaks: list[tuple[int, tuple[str, ...]]] = []  # lanes that have left the loop around
        self.rounds: list[tuple[int, tuple[str, ...]]] = []  # and those that go on with its next round

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
        if kind == "match_statement":
            return self._match(node, live, names)
        if kind == "with_statement":
            return self._with(node, live, names)
        if kind == "continue_statement":
            self.rounds.append((live, names))
            return 0, names
        if kind == "break_statement":
            self.breaks.append((live, names))
            return 0, names
        if kind in ("for_statement", "while_statement"):
            return self._loop(node, live, names)
        return live, names

    def _with(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """What raises in the block may be suppressed: then what follows it goes on."""
        body = child(node, "body")
        if body is None:
            return live, names
        why = suppressing(self.interpreter, node, self.frame)
        if not why:
            return self.block(body, live, names)
        mark = len(self.raises)
        self.block(body, live, unite(names, why))
        del self.raises[mark:]
        return live, unite(names, why)

    def _match(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        left, out, path = live, 0, names
        for case, block, truth in case_truths(self.interpreter, node, self.frame):
            yes, maybe, why = split_truth(self.interpreter, truth, case, left)
            fall, path = self._arm(block, yes, maybe, why, path)
            out |= fall
            left &= ~yes
        return out | left, path if path != names else names

    def _arm(
        self, block: Node, yes: int, maybe: int, why: tuple[str, ...], path: tuple[str, ...]
    ) -> tuple[int, tuple[str, ...]]:
        """The lanes that come out of an arm, and what those that go on hang on."""
        fall = 0
        if yes:
            fall |= self.block(block, yes, path)[0]
        if maybe:
            through, _ = self.block(block, maybe, unite(path, why))
            fall |= through
            if not through:
                path = unite(path, why)
        return fall, path

    def _try(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """Goes on with a handler where the body may raise, and surely where it returns what a missing key gives."""
        kinds, blocks = clauses(node), arm_blocks(node)
        handlers = [blocks[i] for i, kind in enumerate(kinds) if kind.startswith("except")]
        mark, thrown = len(self.returns), len(self.raises)
        broken, gone_on = len(self.breaks), len(self.rounds)
        told = bool(handlers) and self._only_misses(blocks[0])
        safe = not handlers or told or cannot_raise(self.interpreter, blocks[0], self.frame)
        why = () if safe else ("try " + oneline(handlers[0].parent or node, 60).split(":")[0],)
        self.interpreter.tries += 1
        try:
            fall, after = self.block(blocks[0], live, names)
        finally:
            self.interpreter.tries -= 1
        missed = 0
        for value, mask, _ in self.returns[mark:] if handlers else ():
            for one, lanes in self.interpreter.lanes.groups(value):
                missed |= lanes & mask if isinstance(one, Unknown) and one.raises == "KeyError" else 0
        if missed:
            self.returns[mark:] = [(v, m & ~missed, n) for v, m, n in self.returns[mark:] if m & ~missed]
            caught, _ = self.block(handlers[0], missed, unite(names, why))
            fall |= caught
        if handlers:
            del self.raises[thrown:]
        if "else_clause" in kinds and fall:
            fall, after = self.block(blocks[kinds.index("else_clause")], fall, after)
        given = len(self.returns)
        for handler in handlers if why else ():
            caught, _ = self.block(handler, live & ~missed, unite(names, why))
            fall, after = fall | caught, unite(after, why)
        if why:  # what the body gives is meant, if nothing in it raises
            mine, caught_ones = self.returns[mark:given], self.returns[given:]
            covered = 0
            for _, mask, _ in mine:
                covered |= mask
            self.returns[mark:] = [(doubted(v, why), m, n) for v, m, n in mine]
            self.returns += [(v, m & ~covered, n) for v, m, n in caught_ones if m & ~covered]
            for left, start in ((self.breaks, broken), (self.rounds, gone_on)):
                left[start:] = [(m, unite(n, why)) for m, n in left[start:]]
        if kinds[-1] == "finally_clause":
            last = _Run(self.interpreter, self.frame, self.sought)
            last.block(blocks[-1], live, ())
            if last.returns or last.raises or last.breaks or last.rounds:
                self.returns[mark:] = [(Unknown(("finally",), lost=True), live, names)]
                return 0, names
        return fall, after if fall else names

    def _only_misses(self, block: Node) -> bool:
        """Whether all that a block can raise is that a key is not there: it is a table's row that is returned."""
        body = statements(block)
        value = operands(body[0])[0] if len(body) == 1 and operands(body[0]) else None
        if value is not None and value.type == "attribute":
            value = child(value, "object")
        holder = child(value, "value") if value is not None and value.type == "subscript" else None
        index = child(value, "subscript") if value is not None and value.type == "subscript" else None
        if holder is None or index is None or holder.type not in ("identifier", "dictionary", "attribute"):
            return False
        held = self.interpreter.evaluate(holder, self.frame)
        plain = isinstance(held, DictV) and not held.open and all(is_constant(key) for key, _ in held.rows)
        return (plain or isinstance(held, ClassV)) and not isinstance(
            self.interpreter.evaluate(index, self.frame), Unknown
        )

    def _loop(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """A loop over few known items is gone through item by item; of others nobody knows whether they are entered."""
        body, source, target = child(node, "body"), child(node, "right"), child(node, "left")
        if body is None:
            return live, names
        held = self.interpreter.evaluate(source, self.frame) if source is not None else None
        items = items_of(self.interpreter.lanes, held) if source is not None and target is not None else None
        outer, self.breaks, self.rounds = (self.breaks, self.rounds), [], []
        if items is not None and target is not None and len(items) <= _MOST_ROUNDS and type(held) is not SetV:
            fall, after = self._rounds(body, target, items, live, names)
        else:
            after = unite(names, (oneline(node.children[0], 20) + " loop",))
            self.block(body, live, after)
            fall = live  # whatever a round does, there may be none
        broken = self.breaks
        self.breaks, self.rounds = outer
        last = node.children_by_field_name("alternative")
        block = child(last[0], "body") if last else None
        if block is not None:
            fall, after = self.block(block, fall, after)
        for mask, why in broken:
            fall, after = fall | mask, unite(after, why)
        return fall, after

    def _rounds(
        self, body: Node, target: Node, items: tuple[Value, ...], live: int, names: tuple[str, ...]
    ) -> tuple[int, tuple[str, ...]]:
        around = self.frame
        for item in items:
            if not live or self.found:
                break
            self.frame = Frame(around.module, NO_SCOPE, around, loop_names(self.interpreter, target, item))
            try:
                live, names = self.block(body, live, names)
            finally:
                self.frame.memo.clear()
                self.frame = around
            for mask, why in self.rounds:
                live, names = live | mask, unite(names, why)
            self.rounds = []
        return live, names

    def _returned(self, value: list[Node]) -> Value:
        if not value:
            return None
        return self.interpreter.evaluate(value[0], self.frame)

    def _if(self, node: Node, live: int, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        left, out, path = live, 0, names
        for condition, block in if_arms(node):
            yes, maybe, why = taken(self.interpreter, condition, self.frame, left)
            fall, path = self._arm(block, yes, maybe, why, path)
            out |= fall
            left &= ~yes
        return out | left, path

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


_MOST_ROUNDS = 16


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
