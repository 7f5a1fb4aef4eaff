"""Runs function bodies forward: which lanes return what, and which raise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.aliases import spoiled
from archscan.frontends.python.interpreter.branches import combine, met, taken
from archscan.frontends.python.interpreter.calls import outcome_of
from archscan.frontends.python.interpreter.classes import class_member, evaluated, mro
from archscan.frontends.python.interpreter.containers import SetV
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
from archscan.frontends.python.interpreter.operations import Alternative, hashable
from archscan.frontends.python.interpreter.pure import ANY_ORDER, PURE, applied
from archscan.frontends.python.interpreter.values import (
    Assumed,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    PartialV,
    Unknown,
    Value,
    assume,
    depends,
    doubted,
    has_unknowns,
    is_constant,
    is_doubt,
    is_mutable,
    names_of,
    unrelated,
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
from archscan.model.condition import Cond, asked, both, either, possibly, surely, unnamed, without
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
        return Outcome(assume(unrelated(outcome.value), callee.doubt), outcome.raises)
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
    if key is not None and whole == interpreter.cut_short and not _is_of_one_call(outcome.value):
        interpreter._calls[key] = (outcome, mine)
    return outcome


def _is_of_one_call(value: Value) -> bool:
    """Whether what a call gives holds unknowns of its run: another call need not come to the same."""
    return has_unknowns(value) or (isinstance(value, FuncV) and value.frame.parent is not None)


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
    def mixed(value: Value, when: Cond) -> bool:
        names = names_of(when)
        for one, _ in interpreter.lanes.groups(truth_of(interpreter.lanes, value)):
            if isinstance(one, Assumed) or (isinstance(one, Unknown) and not one.arch):
                names += one.names
        return any(not _ENVIRONMENT.search(name) and not is_doubt(name) for name in names)

    run = _Run(interpreter, frame, mixed)
    if body is not None:
        run.block(body, interpreter.lanes.all)
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
    fall = run.block(body, interpreter.lanes.all)
    if fall != 0:
        run.returns.append((None, fall))
    value = combine(interpreter, run.returns) if run.returns else Unknown(("raises",))
    left = interpreter.lanes.all
    for _, when in run.returns:
        left &= ~possibly(when)
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
    """Walks a function body forward: what is returned when, and what is raised; no further than to what is sought."""

    def __init__(
        self, interpreter: Interpreter, frame: Frame, sought: Callable[[Value, Cond], bool] | None = None
    ) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.sought = sought
        self.found = False
        self.returns: list[Alternative] = []
        self.raises: list[Raise] = []
        self.breaks: Cond = 0  # when the loop around has been left
        self.rounds: Cond = 0  # and when it goes on with its next round

    def block(self, block: Node, live: Cond) -> Cond:
        """When the end of a block is come to, if its beginning is under that condition."""
        for statement in statements(block):
            if live == 0 or self.found:
                break
            live = self.statement(statement, live)
        return live

    def statement(self, node: Node, live: Cond) -> Cond:
        kind = node.type
        if kind == "return_statement":
            value = self._returned(operands(node))
            self.returns.append((value, live))
            self.found = self.sought is not None and self.sought(value, live)
            return 0
        if kind == "raise_statement":
            self._raise(live, node, self.frame.module)
            return 0
        if kind in COMPOUND and not _may_leave(node):
            return live
        if kind == "if_statement":
            return self._arms([(block, taken(self.interpreter, c, self.frame)) for c, block in if_arms(node)], live)
        if kind == "assert_statement":
            return self._assert(node, live)
        if kind == "expression_statement":
            return self._expression(node, live)
        if kind == "try_statement":
            return self._try(node, live)
        if kind == "match_statement":
            cases = case_truths(self.interpreter, node, self.frame)
            return self._arms([(b, met(self.interpreter, truth, c, self.frame)) for c, b, truth in cases], live)
        if kind == "with_statement":
            return self._with(node, live)
        if kind == "continue_statement":
            self.rounds = either(self.rounds, live)
            return 0
        if kind == "break_statement":
            self.breaks = either(self.breaks, live)
            return 0
        if kind in ("for_statement", "while_statement"):
            return self._loop(node, live)
        return live

    def _happens(self, why: tuple[str, ...]) -> Cond:
        """When something happens that nobody can tell."""
        return asked(unnamed(why), self.interpreter.lanes.all)

    def _raise(self, when: Cond, node: Node, module: Module) -> None:
        """Notes what is raised: for the targets that are sure to come to it, and for those that may."""
        self.raises += [Raise(part, node, module) for part in (surely(when), without(when, surely(when))) if part != 0]

    def _with(self, node: Node, live: Cond) -> Cond:
        """What raises in the block may be suppressed: then what follows it goes on."""
        body = child(node, "body")
        if body is None:
            return live
        why = suppressing(self.interpreter, node, self.frame)
        if not why:
            return self.block(body, live)
        mark = len(self.raises)
        suppressed = both(live, self._happens(why))
        fall = self.block(body, without(live, suppressed))
        del self.raises[mark:]
        return either(fall, suppressed)

    def _arms(self, arms: list[tuple[Node, Cond]], live: Cond) -> Cond:
        """When the end of a statement is come to of whose arms the first that is met is gone through."""
        out: Cond = 0
        for block, when in arms:
            here = both(live, when)
            live = without(live, when)
            if here != 0:
                out = either(out, self.block(block, here))
        return either(out, live)

    def _try(self, node: Node, live: Cond) -> Cond:
        """Goes on with a handler where the body may raise, and surely where it returns what a missing key gives."""
        kinds, blocks = clauses(node), arm_blocks(node)
        handlers = [blocks[i] for i, kind in enumerate(kinds) if kind.startswith("except")]
        mark, thrown = len(self.returns), len(self.raises)
        told = bool(handlers) and self._only_misses(blocks[0])
        safe = not handlers or told or cannot_raise(self.interpreter, blocks[0], self.frame)
        why = () if safe else ("try " + oneline(handlers[0].parent or node, 60).split(":")[0],)
        left, caught = live, []
        for _ in handlers if why else ():
            caught.append(both(left, self._happens(why)))
            left = without(left, caught[-1])
        self.interpreter.tries += 1
        try:
            fall = self.block(blocks[0], left)
        finally:
            self.interpreter.tries -= 1
        missed = 0
        for value, when in self.returns[mark:] if handlers else ():
            for one, lanes in self.interpreter.lanes.groups(value):
                missed |= lanes & possibly(when) if isinstance(one, Unknown) and one.raises == "KeyError" else 0
        if missed:
            self.returns[mark:] = [(v, here) for v, when in self.returns[mark:] if (here := without(when, missed)) != 0]
            fall = either(fall, self.block(handlers[0], both(live, missed)))
        if handlers:
            del self.raises[thrown:]
        if "else_clause" in kinds and fall != 0:
            fall = self.block(blocks[kinds.index("else_clause")], fall)
        given = len(self.returns)
        for handler, here in zip(handlers, caught, strict=False):
            fall = either(fall, self.block(handler, without(here, missed)))
        if why:  # what the body gives is meant, if nothing in it raises
            mine, caught_ones = self.returns[mark:given], self.returns[given:]
            covered = 0
            for _, when in mine:
                covered |= possibly(when)
            self.returns[mark:] = [(doubted(v, why), when) for v, when in mine]
            self.returns += [(v, here) for v, when in caught_ones if (here := without(when, covered)) != 0]
        if kinds[-1] == "finally_clause":
            last = _Run(self.interpreter, self.frame, self.sought)
            last.block(blocks[-1], live)
            if last.returns or last.raises or last.breaks != 0 or last.rounds != 0:
                self.returns[mark:] = [(Unknown(("finally",), lost=True), live)]
                return 0
        return fall

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

    def _loop(self, node: Node, live: Cond) -> Cond:
        """A loop over few known items is gone through item by item; of others nobody knows whether they are entered."""
        body, source, target = child(node, "body"), child(node, "right"), child(node, "left")
        if body is None:
            return live
        held = self.interpreter.evaluate(source, self.frame) if source is not None else None
        items = items_of(self.interpreter.lanes, held) if source is not None and target is not None else None
        outer, self.breaks, self.rounds = (self.breaks, self.rounds), _NEVER, _NEVER
        if items is not None and target is not None and len(items) <= _MOST_ROUNDS and type(held) is not SetV:
            fall = self._rounds(body, target, items, live)
        else:  # one round stands for whichever leaves the loop, if one does
            entered = both(live, self._happens((oneline(node.children[0], 20) + " loop",)))
            fall = either(without(live, entered), either(self.block(body, entered), self.rounds))
        broken = self.breaks
        self.breaks, self.rounds = outer
        last = node.children_by_field_name("alternative")
        block = child(last[0], "body") if last else None
        if block is not None:
            fall = self.block(block, fall)
        return either(fall, broken)

    def _rounds(self, body: Node, target: Node, items: tuple[Value, ...], live: Cond) -> Cond:
        around = self.frame
        for item in items:
            if live == 0 or self.found:
                break
            self.frame = Frame(around.module, NO_SCOPE, around, loop_names(self.interpreter, target, item))
            try:
                live = self.block(body, live)
            finally:
                self.frame.memo.clear()
                self.frame = around
            live = either(live, self.rounds)
            self.rounds = _NEVER
        return live

    def _returned(self, value: list[Node]) -> Value:
        if not value:
            return None
        return self.interpreter.evaluate(value[0], self.frame)

    def _assert(self, node: Node, live: Cond) -> Cond:
        failed = without(live, possibly(taken(self.interpreter, operands(node)[0], self.frame)))
        if failed != 0:
            self._raise(failed, node, self.frame.module)
        return without(live, failed)

    def _expression(self, node: Node, live: Cond) -> Cond:
        call = node.named_children[0] if node.named_children else node
        if call.type != "call" or not self.interpreter.knowledge.may_require(call):
            return live
        for one in outcome_of(self.interpreter, call, self.frame).raises:
            here = both(live, one.when)
            if here != 0:
                self._raise(here, one.node, one.module)
                live = without(live, one.when) if one.is_sure else live
        return live


_NEVER: Cond = 0  # by this name it stays a condition for who compiles this: 0 itself would be taken for an int
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
    return Unknown((name,), holds=value.holds) if isinstance(value, Unknown) and not value.arch else value


def _definition_of(function: FuncV) -> Related:
    name = child(function.node, "name")
    words = f"def {text(name)}" if name is not None else "lambda"
    return Related(function.module.path, line_of(function.node), Role.DEFINITION, words)
