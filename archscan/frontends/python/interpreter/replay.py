"""Replays a loop or try statement forward, on every target at once: what it leaves in the names that it binds.

It follows what is told to the end: where a value, a condition, a call or what is raised is not known, it gives up.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.containers import IterV, SetV
from archscan.frontends.python.interpreter.frames import MISSING, NO_SCOPE, Frame
from archscan.frontends.python.interpreter.lanewise import items_of, truth_of
from archscan.frontends.python.interpreter.loops import loop_names
from archscan.frontends.python.interpreter.mutation import augmented, changed_by
from archscan.frontends.python.interpreter.operations import LONGEST_LOOP, item_of
from archscan.frontends.python.interpreter.pure import PURE
from archscan.frontends.python.interpreter.values import (
    Assumed,
    BuiltinMethod,
    Cases,
    DictV,
    ExternalV,
    Partitioned,
    Unknown,
    Value,
    is_constant,
    is_mutable,
    is_nested,
)
from archscan.frontends.python.source.scopes import CHANGING, Binding, Scope, arm_blocks, clauses
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import if_arms, operands, statements, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


class GiveUpError(Exception):
    """Something that is not followed."""


def names_in(scope: Scope, node: Node) -> dict[str, None]:
    """The names that a compound statement of a scope binds or changes, in an order that is the same in each run."""
    start = node.start_byte
    return {
        name: None
        for held in (scope.bindings, scope.changes)
        for name, bindings in held.items()
        if any(start in (place for place, _ in b.chain) for b in bindings)
    }


def replayed(
    interpreter: Interpreter, frame: Frame, node: Node, before: Callable[[str], Value]
) -> dict[str, Value] | None:
    """What the names hold after a statement that it binds or changes; None where that is not followed.

    `before` gives what a name holds where it begins, or MISSING.
    """
    words = node.text or b""
    if len(words) > _LONGEST or any(word in words for word in _NOT_FOLLOWED):
        return None
    names = names_in(frame.scope, node)
    if any(not name.isidentifier() and not name.endswith("]") for name in names):
        return None  # an attribute may be that of any object
    held = {name: value for name in names if (value := before(name)) is not MISSING}
    run = _Replay(interpreter, frame, held, _bindings_in(frame.scope, node))
    try:
        live = run.statement(node, interpreter.lanes.all)
    except GiveUpError:
        return None
    return {name: value for name, value in run.held.items() if name in names} if live else None


_LONGEST = 4000
_NOT_FOLLOWED = (
    b":=", b"lambda", b"yield", b"await", b"global ", b"nonlocal ", b"exec(", b"eval(", b"locals(", b"vars(",
)  # fmt: skip


def _bindings_in(scope: Scope, node: Node) -> dict[tuple[int, int], list[Binding]]:
    """The bindings and changes inside a statement by the node that makes them."""
    found: dict[tuple[int, int], list[Binding]] = {}
    start, end = node.start_byte, node.end_byte
    for held in (scope.bindings, scope.changes):
        for bindings in held.values():
            for one in bindings:
                if start <= one.node.start_byte < end and one.kind != "loop":
                    found.setdefault((one.node.start_byte, one.node.end_byte), []).append(one)
    return found


class _Replay:
    def __init__(
        self,
        interpreter: Interpreter,
        frame: Frame,
        held: dict[str, Value],
        bindings: Mapping[tuple[int, int], list[Binding]],
    ) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.held = held
        self.bindings = bindings
        self.broken = 0  # targets that have left the loop around
        self.raised: dict[str, int] = {}  # and those on which something is raised, by its name
        self.rounds = 0
        self.continued = 0  # targets that go on with the next round of the loop around

    def block(self, block: Node | None, live: int) -> int:
        """The targets that come to the end of a block."""
        for statement in statements(block) if block is not None else ():
            if not live:
                break
            live = self.statement(statement, live)
        return live

    def statement(self, node: Node, live: int) -> int:
        follow = _STATEMENTS.get(node.type)
        if follow is None:
            raise GiveUpError
        return follow(self, node, live)

    def _passes(self, node: Node, live: int) -> int:
        return live

    def _evaluates(self, node: Node, live: int) -> int:
        for one in node.named_children:
            live = self._expression(one, live)
        return live

    def _returns(self, node: Node, live: int) -> int:
        for one in operands(node):
            self._value(one, live)
        return 0

    def _breaks(self, node: Node, live: int) -> int:
        self.broken |= live
        return 0

    def _goes_on(self, node: Node, live: int) -> int:
        self.continued |= live
        return 0

    def _expression(self, node: Node, live: int) -> int:
        if (node.start_byte, node.end_byte) in self.bindings:
            return self._bind(node, live)
        if node.type in ("string", "ellipsis"):
            return live
        if node.type == "call" and (child(node, "function") or node).text == b"print":
            return live
        _, live = self._value(node, live)
        return live

    def _bind(self, node: Node, live: int) -> int:
        found = self.bindings.get((node.start_byte, node.end_byte))
        if not found:
            raise GiveUpError
        single = len(found) == 1
        for one in found:
            if one.kind == "assign" and not one.name.isidentifier():
                continue  # `table[key] = value` changes the table as well
            if one.name not in self.held and one.kind in ("change", "augment"):
                raise GiveUpError
            live = self._bound(one, live, single)
        return live

    def _bound(self, one: Binding, live: int, single: bool) -> int:
        if one.kind == "change":
            value = self._changed(one, live)
        elif one.value is None or one.kind not in ("assign", "unpack", "augment"):
            raise GiveUpError
        else:
            value, live = self._value(one.value, live)
            if one.kind == "unpack":
                value = self.interpreter.lanes.lift(
                    lambda v: item_of(v, one.index, self.interpreter.lanes), self.interpreter.lanes.whole(value)
                )
            elif one.kind == "augment":
                value = augmented(self.interpreter.lanes, one.operator, self.held[one.name], value)
            elif is_mutable(value) and (not single or one.value.type not in _FRESH):
                raise GiveUpError  # it may have another name
        self._hold(one.name, self._told(value, live), live)
        return live

    def _changed(self, one: Binding, live: int) -> Value:
        for part in (one.value, _index_of(one)):
            for each in operands(part) if part is not None and part.type == "argument_list" else [part]:
                if each is not None and each.type != "slice":
                    self._value(each, live)
        value = changed_by(self.interpreter, one, self.held[one.name], self._here())
        if is_nested(value):
            raise GiveUpError
        return value

    def _hold(self, name: str, value: Value, live: int) -> None:
        lanes = self.interpreter.lanes
        rest = lanes.all & ~live
        if not rest:
            self.held[name] = value
        elif name in self.held:
            self.held[name] = lanes.merge([(value, live), (self.held[name], rest)])
        else:
            self.held[name] = lanes.merge([(value, live), (Unknown((name,), lost=True), rest)])

    def _here(self) -> Frame:
        return Frame(self.frame.module, NO_SCOPE, self.frame, dict(self.held))

    def _value(self, node: Node, live: int) -> tuple[Value, int]:
        """The value of an expression, and the targets on which nothing is raised by it."""
        frame = self._here()
        self._check(node, frame)
        value = self.interpreter.lanes.whole(self.interpreter.evaluate(node, frame))
        for one, mask in self.interpreter.lanes.groups(value):
            if isinstance(one, Unknown) and one.raises and mask & live:
                self.raised[one.raises] = self.raised.get(one.raises, 0) | (mask & live)
                live &= ~mask
        return self._told(value, live), live

    def _told(self, value: Value, live: int) -> Value:
        for one, mask in self.interpreter.lanes.groups(value):
            if mask & live and (isinstance(one, (Unknown, Assumed, Cases, IterV)) or not _is_told(one)):
                raise GiveUpError
        return value

    def _check(self, node: Node, frame: Frame) -> None:
        """Gives up on an expression that calls what may do more than to answer."""
        stack = [node]
        while stack:
            current = stack.pop()
            if current.type == "call":
                function = child(current, "function")
                callee = self.interpreter.evaluate(function, frame) if function is not None else Unknown()
                for one, _ in self.interpreter.lanes.groups(callee):
                    if not self._answers(one):
                        raise GiveUpError
            stack.extend(current.named_children)

    def _answers(self, callee: Value) -> bool:
        if isinstance(callee, BuiltinMethod):
            return callee.name not in CHANGING
        if not isinstance(callee, ExternalV):
            return False
        short = callee.name.rsplit(".", 1)[-1]
        return (
            callee.name in PURE
            or self.interpreter.knowledge.call(callee.name, short, self.interpreter.lanes) is not None
        )

    def _truth(self, node: Node, live: int) -> tuple[int, int]:
        """The targets on which a condition is met, and on which it is not."""
        value, live = self._value(node, live)
        yes = 0
        for one, mask in self.interpreter.lanes.groups(truth_of(self.interpreter.lanes, value)):
            if not isinstance(one, bool) and mask & live:
                raise GiveUpError
            yes |= mask if one is True else 0
        return yes & live, live & ~yes

    def _if(self, node: Node, live: int) -> int:
        out = 0
        for condition, block in if_arms(node):
            if condition is None:
                return out | self.block(block, live)
            yes, live = self._truth(condition, live)
            if yes:
                out |= self.block(block, yes)
        return out | live

    def _for(self, node: Node, live: int) -> int:
        source, target = child(node, "right"), child(node, "left")
        if source is None or target is None or target.type not in _TARGETS:
            raise GiveUpError
        frame = self._here()
        self._check(source, frame)
        held = self.interpreter.evaluate(source, frame)
        items = items_of(self.interpreter.lanes, held)
        if (
            items is None
            or len(items) > LONGEST_LOOP
            or is_mutable(tuple(items))
            or (type(held) is SetV and len(items) > 1)
        ):
            raise GiveUpError
        outer, self.broken = (self.broken, self.continued), 0
        for item in items:
            for name, value in loop_names(self.interpreter, target, item).items():
                self._hold(name, self._told(value, live), live)
            self.continued = 0
            live = self.block(child(node, "body"), live) | self.continued
            self._count()
        return self._after_loop(node, live, outer)

    def _while(self, node: Node, live: int) -> int:
        condition = child(node, "condition")
        if condition is None:
            raise GiveUpError
        outer, self.broken = (self.broken, self.continued), 0
        done = 0
        while live:
            live, ended = self._truth(condition, live)
            done |= ended
            self.continued = 0
            live = self.block(child(node, "body"), live) | self.continued
            self._count()
        return self._after_loop(node, done, outer)

    def _count(self) -> None:
        self.rounds += 1
        if self.rounds > _MOST_ROUNDS:
            raise GiveUpError

    def _after_loop(self, node: Node, ended: int, outer: tuple[int, int]) -> int:
        broken = self.broken
        self.broken, self.continued = outer
        last = node.children_by_field_name("alternative")
        if last:
            ended = self.block(child(last[0], "body"), ended)
        return ended | broken

    def _raise(self, node: Node, live: int) -> int:
        raised = operands(node)[:1]
        name = text(child(raised[0], "function") or raised[0]) if raised else ""
        if _exception(name) is None or len(operands(node)) > 1:
            raise GiveUpError
        self.raised[name] = self.raised.get(name, 0) | live
        return 0

    def _try(self, node: Node, live: int) -> int:
        kinds, blocks = clauses(node), arm_blocks(node)
        outer, self.raised = self.raised, {}
        left = self.broken, self.continued
        self.broken = self.continued = 0
        fall = self.block(blocks[0], live)
        if "else_clause" in kinds:
            caught, self.raised = self.raised, {}
            fall = self.block(blocks[kinds.index("else_clause")], fall)
            late, self.raised = self.raised, caught
        else:
            late = {}
        for kind, block in zip(kinds, blocks, strict=True):
            if kind.startswith("except"):
                taken = self._caught(block)
                if taken:
                    thrown, self.raised = self.raised, {}
                    fall |= self.block(block, taken)
                    late = _joined(late, self.raised)
                    self.raised = thrown
        self.raised = _joined(self.raised, late)
        if kinds[-1] == "finally_clause":
            self._finally(blocks[-1], live)
        self.raised = _joined(outer, self.raised)
        self.broken, self.continued = self.broken | left[0], self.continued | left[1]
        return fall

    def _finally(self, block: Node, live: int) -> None:
        """Runs a last block on all targets that came to the statement: it must not leave it."""
        left, thrown = (self.broken, self.continued), dict(self.raised)
        if self.block(block, live) != live or (self.broken, self.continued) != left or self.raised != thrown:
            raise GiveUpError

    def _caught(self, handler: Node) -> int:
        """The targets on which a clause takes what was raised."""
        clause = handler.parent
        wanted = [n for n in operands(clause) if n != handler] if clause is not None else []
        if wanted and wanted[0].type == "as_pattern":
            for alias in operands(wanted[0])[1:]:
                self.held[text(alias)] = Unknown((text(alias),), lost=True)
            wanted = operands(wanted[0])[:1]
        names = [text(n) for one in wanted for n in (operands(one) if one.type == "tuple" else [one])]
        kinds = [_exception(name) for name in names] if names else [BaseException]
        taken = 0
        for name in list(self.raised):
            kind = _exception(name)
            if kind is None or any(one is None for one in kinds):
                raise GiveUpError
            if issubclass(kind, tuple(one for one in kinds if one is not None)):
                taken |= self.raised.pop(name)
        return taken


_STATEMENTS: dict[str, Callable[[_Replay, Node, int], int]] = {
    "expression_statement": _Replay._evaluates,
    "delete_statement": _Replay._bind,
    "if_statement": _Replay._if,
    "for_statement": _Replay._for,
    "while_statement": _Replay._while,
    "try_statement": _Replay._try,
    "raise_statement": _Replay._raise,
    "return_statement": _Replay._returns,
    "break_statement": _Replay._breaks,
    "continue_statement": _Replay._goes_on,
    "pass_statement": _Replay._passes,
    "comment": _Replay._passes,
}
_MOST_ROUNDS = 200
_TARGETS = ("identifier", "pattern_list", "tuple_pattern", "list_pattern")
_FRESH = frozenset(
    {
        "list", "set", "dictionary", "list_comprehension", "set_comprehension", "dictionary_comprehension",
        "binary_operator",
    }
)  # fmt: skip


def _index_of(change: Binding) -> Node | None:
    left = child(change.node, "left") if change.operator == "set" else None
    return child(left, "subscript") if left is not None else None


def _exception(name: str) -> type[BaseException] | None:
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _joined(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return {name: a.get(name, 0) | b.get(name, 0) for name in (*a, *b)}


def _is_told(value: Value) -> bool:
    """Whether a value is one of plain Python, through and through."""
    if isinstance(value, Partitioned):
        return all(_is_told(one) for one, _ in value.groups)
    if isinstance(value, tuple):
        return all(_is_told(item) for item in value)
    return is_constant(value) or (isinstance(value, DictV) and not value.open)
