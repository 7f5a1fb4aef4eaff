"""Finds what a name stands for: its bindings in the scopes around it, the branches they are in, and imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.annotations import given_object, is_flag, is_of_another_kind
from archscan.frontends.python.interpreter.branches import combine, met, taken
from archscan.frontends.python.interpreter.changes import trusted
from archscan.frontends.python.interpreter.containers import IterV
from archscan.frontends.python.interpreter.decorators import decorated
from archscan.frontends.python.interpreter.exceptions import cannot_raise, leaves_loop, suppressing
from archscan.frontends.python.interpreter.frames import DEPTH, END, MISSING, NO_SCOPE, STEPS, Frame, Lazy, distinct
from archscan.frontends.python.interpreter.lanewise import items_of
from archscan.frontends.python.interpreter.loops import loop_names
from archscan.frontends.python.interpreter.matching import case_truths
from archscan.frontends.python.interpreter.mutation import augmented, changed_by
from archscan.frontends.python.interpreter.operations import Alternative, item_of
from archscan.frontends.python.interpreter.pure import BUILTINS
from archscan.frontends.python.interpreter.replay import replayed
from archscan.frontends.python.interpreter.values import (
    ExternalV,
    FuncV,
    InstanceV,
    ModuleV,
    PartialV,
    Unknown,
    Value,
    assume,
    depends,
    doubted,
    is_constant,
    is_mutable,
    set_once,
    unrelated,
)
from archscan.frontends.python.source.blocks import ends
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import Binding, Chain, Scope, arm_blocks, clauses
from archscan.frontends.python.source.syntax import SCOPES, if_arms, line_of, oneline, text, walk
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.triggers import is_trigger, occurrences
from archscan.model.condition import Cond, asked, both, unnamed, without
from archscan.model.gate import Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


def lookup(interpreter: Interpreter, name: str, frame: Frame, position: int) -> Value:
    """The value of a name as seen from a position."""
    current: Frame | None = frame
    at = position
    is_round = False
    while current is not None:
        if not current.is_class or current is frame:
            if current.scope.holds(name) and not _is_of_around(current, name):
                value = resolve(interpreter, name, current, at)
                if value is not MISSING:
                    value = trusted(interpreter, value, name, current, frame, at)
                    return unrelated(value) if is_round and current.parent is not None else value
            if name in current.locals:
                value = current.locals[name]
                if type(value) is Lazy:
                    value = current.locals[name] = interpreter.evaluate(value.node, value.frame)
                return trusted(interpreter, value, name, current, frame, at)
            if name in current.parameters:
                return parameter(interpreter, name, current)
        if current.scope is NO_SCOPE:
            is_round = True  # what the rounds of a loop evaluate around it may be something else in each
        else:
            at = END
        current = current.parent
    return _outside(interpreter, name, frame)


def _is_of_around(frame: Frame, name: str) -> bool:
    """Whether a function that sets a name around it has not done so yet, for all that is known."""
    return name in frame.scope.outer and not frame.scope.bindings[name]


def parameter(interpreter: Interpreter, name: str, frame: Frame) -> Value:
    if name in ("self", "cls") and frame.owner is not None:
        return InstanceV(frame.owner, made=False) if name == "self" else frame.owner
    seeded = interpreter.seed(name)
    if seeded is None:
        given = given_object(interpreter, name, frame)
        if given is not MISSING:
            return given
        if not is_flag(name, frame):
            return Unknown((name,))
        return Unknown((name,), holds=frame.unknowns.setdefault(("parameter", name), unnamed((name,))))
    if is_of_another_kind(name, frame) or (name in ("major", "minor") and not _is_about_chips(frame)):
        return Unknown((name,))
    namesake = _namesake(interpreter, name, frame)
    return seeded if namesake is None else namesake


_CHIPS = re.compile(rb"capab|(?<![a-z])sm(?![a-z])|arch|compute|(?<![a-z])cc(?![a-z])", re.IGNORECASE)
_MAKERS = re.compile(rb"cuda|gpu|nvidia", re.IGNORECASE)
_RELEASES = re.compile(rb"\bcu\d{3}\b|version|driver|toolkit|release|\b1[3-9]\b", re.IGNORECASE)
_LOOKED_AT = 4000


def _is_about_chips(frame: Frame) -> bool:
    """Whether the function says that its `major` and `minor` are a capability's: versions and axes have them too."""
    function = frame.scope.body.parent or frame.scope.body
    words = (function.text or b"")[:_LOOKED_AT]
    if _CHIPS.search(words) or (_MAKERS.search(words) and not _RELEASES.search(words)):
        return True
    name = child(function, "name")
    return name is not None and any(_CHIPS.search(caller) for caller in _callers(frame.module, text(name).encode()))


def _callers(module: Module, name: bytes) -> Iterator[bytes]:
    """The functions of a module that call a name with two halves, or with all that something holds: `f(*cc)`."""
    for at in occurrences(module.data, name):
        path = module.descend(at)
        given = next((child(n, "arguments") for n in reversed(path[-4:]) if n.type == "call"), None)
        if given is None or at >= given.start_byte:
            continue
        halves = any(part.type == "list_splat" or b"major" in (part.text or b"") for part in given.children)
        function = next((n for n in reversed(path) if n.type == "function_definition"), None)
        if halves and function is not None:
            yield (function.text or b"")[:_LOOKED_AT]


def _namesake(interpreter: Interpreter, name: str, frame: Frame) -> Value | None:
    """What the predicate or flag around a function answers that a parameter is named after; None if there is none."""
    current = frame.parent
    while current is not None:
        if not current.is_class and current.scope.holds(name):
            value = resolve(interpreter, name, current, END)
            if isinstance(value, FuncV):
                value = interpreter.invoke(value, (), {}).value
            return value if depends(value) else None
        current = current.parent
    return None


def _outside(interpreter: Interpreter, name: str, frame: Frame) -> Value:
    module = frame.module
    for star in module.scope.stars:
        found = import_target(interpreter, module, star)
        if isinstance(found, ModuleV):
            value = interpreter.member(found.module, name)
            if value is not MISSING:
                return value
    if name in BUILTINS:
        return ExternalV(name)
    seeded = interpreter.seed(name)
    return Unknown((name,)) if seeded is None else seeded


def member_of(interpreter: Interpreter, module: Module, name: str) -> Value:
    if interpreter.depth > DEPTH:
        interpreter.cut_short += 1
        return Unknown((name,))
    if not module.names(name):
        return MISSING
    frame = interpreter.module_frame(module)
    if module.scope.holds(name):
        given = _given_when_asked(interpreter, module, name)
        if given is not MISSING:
            return given
        interpreter.depth += 1
        try:
            return trusted(interpreter, resolve(interpreter, name, frame, END), name, frame, frame, END)
        finally:
            interpreter.depth -= 1
    for other in _starred(interpreter, module):
        interpreter.depth += 1
        try:
            value = interpreter.member(other, name)
        finally:
            interpreter.depth -= 1
        if value is not MISSING:
            return value
    return MISSING


def _given_when_asked(interpreter: Interpreter, module: Module, name: str) -> Value:
    """What a module's `__getattr__` gives for a name that it only declares, or MISSING."""
    declared = all(b.chain for b in module.scope.bindings[name])
    if not declared or not module.names("__getattr__") or not module.scope.holds("__getattr__"):
        return MISSING
    hook = resolve(interpreter, "__getattr__", interpreter.module_frame(module), END)
    value = interpreter.invoke(hook, (name,), {}).value
    return MISSING if isinstance(value, Unknown) else value


def _starred(interpreter: Interpreter, module: Module) -> tuple[Module, ...]:
    """The modules whose names a module takes over with `import *`; remembered."""
    known: tuple[Module, ...] | None = module.memo.get("starred")  # type: ignore[assignment]
    if known is None:
        targets = (import_target(interpreter, module, star) for star in module.scope.stars)
        known = tuple(t.module for t in targets if isinstance(t, ModuleV) and t.module is not module)
        module.memo["starred"] = known
    return known


def resolve(interpreter: Interpreter, name: str, frame: Frame, position: int) -> Value:
    """The value a scope's bindings give a name at a position; MISSING if none reaches it. At the end: remembered."""
    if position < END:
        return _resolved(interpreter, name, frame, position)
    key = (END, END, name)
    known = frame.memo.get(key)
    if known is None:
        mark, whole = len(interpreter.trace), interpreter.cut_short
        known = (_resolved(interpreter, name, frame, END), tuple(interpreter.trace[mark:]))
        if whole == interpreter.cut_short:
            frame.memo[key] = known
    else:
        interpreter.trace.extend(known[1])
    return known[0]


def _resolved(interpreter: Interpreter, name: str, frame: Frame, position: int) -> Value:
    value = _bound_value(interpreter, name, frame, position)
    if frame.parent is None and name in frame.module.globals and not isinstance(value, ModuleV):
        return _set_by_functions(interpreter, name, frame, value)
    return value


def _set_by_functions(interpreter: Interpreter, name: str, frame: Frame, given: Value) -> Value:
    """The value of a global name that functions set: the one that asks for the target, if there is one, as assumed."""
    for function in frame.module.setters(name):
        inside = interpreter.entry_frame(frame.module, function, frame)
        value = resolve(interpreter, name, inside, END) if name in inside.scope.bindings else MISSING
        if depends(value) and not depends(given):
            return assume(value, set_once(name))
    if depends(given) and is_constant(given):
        return assume(given, set_once(name))
    return doubted(given, set_once(name)) if isinstance(given, FuncV) else Unknown((name,), depends(given), lost=True)


def _bound_value(interpreter: Interpreter, name: str, frame: Frame, position: int) -> Value:
    scope = frame.scope
    before = scope.bindings[name]
    if name in scope.changes:
        before = sorted([*before, *scope.changes[name]], key=lambda b: b.node.end_byte)
    chain: Chain = ()
    if position < END:
        later = [b for b in before if b.chain and b.node.end_byte > position and b.kind != "loop"]
        before = [b for b in before if b.node.end_byte <= position]
        if later or (before and before[-1].chain):
            chain = scope.chain_at(position)
            if later and _comes_round(scope, later, chain):
                return Unknown((name,), lost=True)
    if not before:
        return MISSING
    if not before[-1].chain:
        return _bound(interpreter, before[-1], frame, before[:-1], chain)
    return _reach(interpreter, name, frame, before, chain, position)


def _comes_round(scope: Scope, later: list[Binding], chain: Chain) -> bool:
    """Whether what a loop does further down holds at a place in it the next time round."""
    around = [start for start, _ in chain if scope.compounds[start].type in _LOOPS]
    return bool(around) and any(start in around for binding in later for start, _ in binding.chain)


_LOOPS = ("for_statement", "while_statement")


def _reach(
    interpreter: Interpreter, name: str, frame: Frame, before: list[Binding], chain: Chain, position: int
) -> Value:
    for i in range(len(before) - 1, -1, -1):
        binding = before[i]
        common = 0
        while common < len(binding.chain) and common < len(chain) and binding.chain[common] == chain[common]:
            common += 1
        if common == len(binding.chain):
            return _bound(interpreter, binding, frame, before[:i], chain)
        start, arm = binding.chain[common]
        if common < len(chain) and chain[common][0] == start:
            node = frame.scope.compounds[start]
            if node.type == "try_statement":  # the body went before: all of it, or some
                after = clauses(node)[chain[common][1]]
                if after == "else_clause":
                    return _reach(interpreter, name, frame, before[: i + 1], (*chain[:common], (start, 0)), position)
                if arm == 0 or after == "finally_clause":
                    return Unknown((name,), lost=True)
            elif node.type in _LOOPS:  # the other arm is its else
                return Unknown((name,), lost=True)
            continue  # another arm of the statement that the position is in
        return _joined(interpreter, name, frame, before[: i + 1], binding.chain[:common], start, arm)
    return MISSING


def _joined(
    interpreter: Interpreter, name: str, frame: Frame, before: list[Binding], chain: Chain, start: int, arm: int
) -> Value:
    """The value after a compound statement that binds the name in some arm, remembered."""
    key = (start, len(before), f"{name} joined {before[-1].node.start_byte}")
    known = frame.memo.get(key)
    if known is None:
        if interpreter.steps > STEPS:  # nothing is remembered from here on: each join would go through all before it
            interpreter.cut(frame, key)
            return Unknown((name,), lost=True)
        outer, interpreter.trace = interpreter.trace, []
        whole = interpreter.cut_short
        value = _join(interpreter, name, frame, before, chain, start, arm)
        known = (value, distinct(interpreter.trace))
        if whole == interpreter.cut_short:
            frame.memo[key] = known
        interpreter.trace = outer
    interpreter.trace.extend(known[1])
    return known[0]


def _join(
    interpreter: Interpreter, name: str, frame: Frame, before: list[Binding], chain: Chain, start: int, arm: int
) -> Value:
    """The value after a compound statement that binds the name in some arm."""
    node = frame.scope.compounds[start]
    depth = len(chain)
    inside = [b for b in before if _is_in(b, depth, start)]
    earlier = [b for b in before if not _is_in(b, depth, start)]

    def after(index: int) -> Value:
        """The value at the end of an arm; the else of a try statement goes on from the end of its body."""
        arms = {0, index} if node.type == "try_statement" and clauses(node)[index] == "else_clause" else {index}
        mine = [b for b in before if not _is_in(b, depth, start) or b.chain[depth][1] in arms]
        return _reach(interpreter, name, frame, mine, (*chain, (start, index)), END)

    def otherwise() -> Value:
        """The value where no arm is gone through."""
        value = _reach(interpreter, name, frame, earlier, chain, start)
        return _before(interpreter, name, frame, True) if value is MISSING else value

    if node.type == "if_statement":
        found = _is_set_once(interpreter, name, node, frame, inside)
        return (
            _after_arms(interpreter, name, frame, _if_arms(interpreter, node, frame), after, earlier, chain, start)
            if found is MISSING
            else found
        )
    if node.type == "match_statement":
        return _after_arms(
            interpreter, name, frame, _match_arms(interpreter, node, frame), after, earlier, chain, start
        )
    if node.type in _REPLAYED:
        held = _replayed(interpreter, frame, node, chain)
        if held is not None and name in held:
            return held[name]
    if node.type == "try_statement":
        return _after_try(interpreter, name, node, frame, inside, len(chain), after, otherwise)
    if node.type == "with_statement":
        value = after(arm)
        why = suppressing(interpreter, node, frame)
        if not why:
            return value
        before_it = [_own(interpreter, name, frame, inside[:count], depth + 1) for count in range(1, len(inside))]
        if any(one is MISSING for one in before_it):
            return Unknown((name,), lost=True)
        return _last_of(interpreter, frame, [otherwise(), *before_it, value], (start, "suppressed"), why)
    if node.type in _LOOPS and _may_end_between(node, [b for b in inside if b.chain[depth][1] == 0]):
        return Unknown((name,), lost=True)
    value = after(arm)
    if node.type == "for_statement" and arm == 0 and _is_surely_met(interpreter, node, frame, inside, len(chain)):
        return unrelated(value)
    why = (oneline(node.children[0], 20) + " loop",)
    values = [otherwise(), *(after(i) for i in sorted({b.chain[len(chain)][1] for b in inside} - {arm})), value]
    # names may have been left by different rounds
    return _last_of(interpreter, frame, [unrelated(one) for one in values], (start, name), why)


def _last_of(
    interpreter: Interpreter, frame: Frame, values: list[Value], key: tuple[object, ...], why: tuple[str, ...]
) -> Value:
    """One of the values that a name gets one after the other, where nobody can tell which is the last that is given."""
    left: Cond = interpreter.lanes.all
    parts: list[Alternative] = []
    for number, one in enumerate(values[:-1]):
        here = _happens(interpreter, frame, (*key, number), why)
        parts.append((one, both(left, here)))
        left = without(left, here)
    return combine(interpreter, [*parts, (values[-1], left)])


def _happens(interpreter: Interpreter, frame: Frame, key: object, why: tuple[str, ...]) -> Cond:
    """When something happens that nobody can tell; in one run of a function the same for the same key."""
    unknown = frame.unknowns.get(key)
    if unknown is None:
        unknown = frame.unknowns[key] = unnamed(why)
    return asked(unknown, interpreter.lanes.all)


_REPLAYED = frozenset({"for_statement", "while_statement", "try_statement"})


def _replayed(interpreter: Interpreter, frame: Frame, node: Node, chain: Chain) -> dict[str, Value] | None:
    """What a loop or try statement leaves in the names that it binds; None where that is not followed. Remembered."""
    key = (node.start_byte, END, "replayed")
    known = frame.memo.get(key)
    if known is None:
        frame.memo[key] = (None, ())  # what leads back to itself is not followed
        outer, interpreter.trace = interpreter.trace, []
        whole = interpreter.cut_short
        found = replayed(interpreter, frame, node, lambda name: _held_before(interpreter, frame, name, node, chain))
        known = (found, () if found is None else distinct(interpreter.trace))
        interpreter.trace = outer
        if whole == interpreter.cut_short:
            frame.memo[key] = known
        else:
            frame.memo.pop(key, None)
    interpreter.trace.extend(known[1])
    return known[0] if isinstance(known[0], dict) else None


def _held_before(interpreter: Interpreter, frame: Frame, name: str, node: Node, chain: Chain) -> Value:
    """What a name holds where a compound statement of its scope begins; MISSING if it holds nothing yet."""
    scope = frame.scope
    if name in scope.outer or not name.isidentifier():
        return MISSING
    every = sorted([*scope.bindings.get(name, ()), *scope.changes.get(name, ())], key=lambda b: b.node.end_byte)
    earlier = [b for b in every if b.node.end_byte <= node.start_byte]
    value = _reach(interpreter, name, frame, earlier, chain, node.start_byte)
    if value is MISSING:
        value = frame.locals.get(name, MISSING)
    return value if value is MISSING else trusted(interpreter, value, name, frame, frame, node.start_byte)


Arms = list[tuple[Node, Cond]]  # each block, and when it is gone through if none before it is


def _if_arms(interpreter: Interpreter, node: Node, frame: Frame) -> Arms:
    return [(block, taken(interpreter, condition, frame)) for condition, block in if_arms(node)]


def _match_arms(interpreter: Interpreter, node: Node, frame: Frame) -> Arms:
    cases = case_truths(interpreter, node, frame)
    return [(block, met(interpreter, truth, case, frame)) for case, block, truth in cases]


def _after_arms(
    interpreter: Interpreter, name: str, frame: Frame, arms: Arms, after: Callable[[int], Value],
    earlier: list[Binding], chain: Chain, start: int,
) -> Value:  # fmt: skip
    """The value after the arms of which the first that is met is gone through."""
    parts: list[Alternative] = []
    left: Cond = interpreter.lanes.all
    for index, (block, when) in enumerate(arms):
        if not ends(block):
            parts.append((after(index), both(left, when)))
        left = without(left, when)
    if left != 0:
        parts.append((_reach(interpreter, name, frame, earlier, chain, start), left))
    before_all = _before(interpreter, name, frame, any(depends(value) for value, _ in parts))
    return combine(interpreter, [(before_all if value is MISSING else value, when) for value, when in parts])


def _after_try(
    interpreter: Interpreter, name: str, node: Node, frame: Frame, inside: list[Binding], depth: int,
    after: Callable[[int], Value], otherwise: Callable[[], Value],
) -> Value:  # fmt: skip
    """The value after a try statement: what its handlers leave is one of them, unless its body cannot raise."""
    kinds, blocks = clauses(node), arm_blocks(node)
    bound = {b.chain[depth][1] for b in inside}
    last = len(kinds) - 1
    if kinds[last] == "finally_clause" and last in bound:
        alone = all(b.kind in _ALONE for b in inside if b.chain[depth][1] == last)
        return after(last) if alone else Unknown((name,), lost=True)
    ending = kinds.index("else_clause") if "else_clause" in kinds else 0
    normal = after(ending if ending in bound else 0) if bound & {0, ending} else otherwise()
    handlers = [i for i, kind in enumerate(kinds) if kind.startswith("except") and not ends(blocks[i])]
    if not handlers or cannot_raise(interpreter, blocks[0], frame):
        return normal
    why = (oneline(node.children[0], 20) + " " + oneline(blocks[handlers[0]].parent or node, 60).split(":")[0],)
    left: Cond = interpreter.lanes.all
    lost = Unknown((name,), lost=True)
    parts: list[Alternative] = []
    for i in handlers:
        value = _own(interpreter, name, frame, [b for b in inside if b.chain[depth][1] == i], depth + 1)
        if value is MISSING:
            value = lost if bound & {0, i} else otherwise()
        caught = _happens(interpreter, frame, (node.start_byte, "caught", i), why)
        parts.append((value, both(left, caught)))
        left = without(left, caught)
    return combine(interpreter, [*parts, (normal, left)])


def _own(interpreter: Interpreter, name: str, frame: Frame, bindings: list[Binding], depth: int) -> Value:
    """The value that the last of some bindings gives, if it is sure to be come to; else MISSING."""
    if not bindings or len(bindings[-1].chain) > depth or bindings[-1].kind not in _ALONE:
        return MISSING
    return _bound(interpreter, bindings[-1], frame, bindings[:-1], bindings[-1].chain)


def _is_surely_met(interpreter: Interpreter, node: Node, frame: Frame, inside: list[Binding], depth: int) -> bool:
    """Whether a loop is sure to be gone through, and to come to the last of the bindings each time."""
    last, body, source = inside[-1], child(node, "body"), child(node, "right")
    if body is None or source is None or len(last.chain) > depth + 1 or last.kind not in _SURE:
        return False
    items = items_of(interpreter.lanes, interpreter.evaluate(source, frame))
    return bool(items) and (last.kind == "loop" or not leaves_loop(body))


def _may_end_between(node: Node, bindings: list[Binding]) -> bool:
    """Whether a round of a loop may end behind one binding of a name and before another one."""
    body = child(node, "body")
    ends = ("break_statement", "continue_statement")
    return len(bindings) > 1 and body is not None and any(part.type in ends for part in walk(body, SCOPES))


_UNSET = re.compile(r"(\w+(?:\.\w+)*)\s+is\s+None|not\s+(\w+(?:\.\w+)*)")


def _is_set_once(interpreter: Interpreter, name: str, node: Node, frame: Frame, inside: list[Binding]) -> Value:
    """What `if X is None: X = value` leaves in a global name that nothing else gives a value: that; else MISSING."""
    condition = child(node, "condition")
    asked = _UNSET.fullmatch(text(condition)) if condition is not None else None
    if asked is None or name not in asked.groups() or name not in frame.scope.outer or len(inside) != 1:
        return MISSING
    module = interpreter.module_frame(frame.module)
    given = module.scope.of(name)
    unset = len(given) == 1 and given[0].value is not None and given[0].value.type == "none"
    alone = len(frame.module.setters(name)) == len(frame.module.globals.get(name, ())) == 1
    if not unset or not alone or len(frame.scope.bindings[name]) != 1 or inside[0].kind not in _ALONE:
        return MISSING
    value = _bound(interpreter, inside[0], frame, [], inside[0].chain)
    return MISSING if is_mutable(value) else value


def _is_in(binding: Binding, depth: int, start: int) -> bool:
    """Whether a binding lies in the compound statement that begins at an offset, so many statements deep."""
    return len(binding.chain) > depth and binding.chain[depth][0] == start


def _before(interpreter: Interpreter, name: str, frame: Frame, asks: bool) -> Value:
    """What a name is before its scope gives it a value: an argument, else what a global one is outside."""
    if name in frame.locals:
        return frame.locals[name]
    if name in frame.parameters:
        return parameter(interpreter, name, frame)
    return _around(interpreter, name, frame) if asks else Unknown((name,))


def _around(interpreter: Interpreter, name: str, frame: Frame) -> Value:
    """What a function finds in a global name that it gives a value itself: what the module gave it."""
    module = interpreter.module_frame(frame.module)
    if frame is module or name not in frame.module.globals or name not in module.scope.bindings:
        return Unknown((name,))
    return doubted(_bound_value(interpreter, name, module, END), (name,))


def _bound(interpreter: Interpreter, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
    key = (binding.node.start_byte, binding.index, f"bind {binding.name}")
    known = frame.memo.get(key)
    if known is not None:
        interpreter.trace.extend(known[1])
        return known[0]
    if key in frame.busy or interpreter.depth > DEPTH or interpreter.steps > STEPS:
        interpreter.cut(frame, key)
        return Unknown((binding.name,))
    frame.busy.add(key)
    interpreter.depth += 1
    trace, mark, whole = interpreter.trace, len(interpreter.trace), interpreter.cut_short
    try:
        value = _value_of(interpreter, binding, frame, before, chain)
    finally:
        interpreter.depth -= 1
        frame.busy.discard(key)
        if interpreter._cycles:
            interpreter.closed(frame, key)
    if binding.kind in _ALONE and whole == interpreter.cut_short:
        frame.memo[key] = (value, tuple(trace[mark:]))
    return value


_ALONE = frozenset({"assign", "unpack"})  # give a value that does not hang on what the name was before
_SURE = _ALONE | {"loop"}  # so do these, where the loop is gone through


def _defined(interpreter: Interpreter, binding: Binding, frame: Frame) -> Value:
    """The value of a binding that is no assignment; MISSING of one that is."""
    kind = binding.kind
    if kind == "import":
        return _import(interpreter, binding, frame)
    if kind == "lost":
        return Unknown((binding.name,), lost=True)
    if binding.value is None:
        return parameter(interpreter, binding.name, frame)
    if kind == "def":
        return decorated(interpreter, FuncV(frame.module, binding.value, frame), binding.node, frame)
    if kind == "class":
        return decorated(interpreter, interpreter.class_of(frame.module, binding.value, frame), binding.node, frame)
    return _looped(interpreter, binding, frame) if kind == "loop" else MISSING


def _value_of(interpreter: Interpreter, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
    kind = binding.kind
    if kind == "change":
        return changed_by(interpreter, binding, _previous(interpreter, binding, frame, before, chain), frame)
    defined = _defined(interpreter, binding, frame)
    if defined is not MISSING or binding.value is None:
        return defined
    mark = len(interpreter.trace)
    value = interpreter.evaluate(binding.value, frame)
    if kind == "augment":
        held = _previous(interpreter, binding, frame, before, chain)
        return augmented(interpreter.lanes, binding.operator, held, value)
    if type(value) is IterV and kind != "unpack":
        return Unknown((binding.name,), depends(value), lost=True)  # nobody knows how much of it was gone through
    if kind == "unpack":
        value = interpreter.lanes.lift(lambda v: item_of(v, binding.index, interpreter.lanes), value)
        if _is_untold(value):
            told = interpreter.knowledge.seed_unknown(binding.name, binding.value, interpreter.lanes)
            return Unknown((binding.name,)) if told is None else told
    if isinstance(value, InstanceV) and kind == "assign":
        value = _with_stores(binding, value, frame)
    if _is_untold(value) and not _is_handed_over(interpreter, binding.value, frame):
        seeded = interpreter.knowledge.seed_unknown(binding.name, binding.value, interpreter.lanes)
        value = value if seeded is None else seeded
    if depends(value) or isinstance(value, (PartialV, FuncV)):
        _note(interpreter, frame.module, binding.node, mark)
    return value


def _is_untold(value: Value) -> bool:
    """Whether it comes from outside of what was scanned, and nothing says that it hangs on the target."""
    return isinstance(value, Unknown) and not value.arch and not value.lost


def _with_stores(binding: Binding, instance: InstanceV, frame: Frame) -> InstanceV:
    """An object with what the statements that follow at once store in it: `c.allowed = (8,)`."""
    fields: dict[str, Value] = {}
    statement = binding.node.parent.next_named_sibling if binding.node.parent is not None else None
    while statement is not None and statement.type == "expression_statement" and statement.named_children:
        assignment = statement.named_children[0]
        left, right = child(assignment, "left"), child(assignment, "right")
        owner = child(left, "object") if left is not None and left.type == "attribute" else None
        named = child(left, "attribute") if left is not None and left.type == "attribute" else None
        if assignment.type != "assignment" or owner is None or named is None or text(owner) != binding.name:
            break
        if right is None or right.type == "assignment" or text(named) in fields:
            break
        fields[text(named)] = Lazy(right, frame)
        statement = statement.next_named_sibling
    if not fields:
        return instance
    stored = frozenset(fields)
    return InstanceV(instance.cls, {**instance.fields, **fields}, instance.made, instance.init, stored)


def _is_handed_over(interpreter: Interpreter, source: Node, frame: Frame) -> bool:
    """Whether a name is given what a parameter carries that says nothing of a chip: then its own name tells nothing."""
    name = text(source) if source.type == "identifier" else ""
    return name in frame.parameters and interpreter.seed(name) is None


def _previous(interpreter: Interpreter, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
    if not _is_fresh_each_round(frame.scope, binding, before):
        return Unknown((binding.name,), lost=True)
    value = _reach(interpreter, binding.name, frame, before, binding.chain, binding.node.start_byte)
    return Unknown((binding.name,)) if value is MISSING else value


def _is_fresh_each_round(scope: Scope, binding: Binding, before: list[Binding]) -> bool:
    """Whether what is changed in a loop is made anew in each of its rounds: else it adds up."""
    loops = [at for at, (start, _) in enumerate(binding.chain) if scope.compounds[start].type in _LOOPS]
    if not loops:
        return True
    inner = binding.chain[: loops[-1] + 1]
    return any(
        b.kind in _ALONE and b.chain[: len(inner)] == inner and binding.chain[: len(b.chain)] == b.chain for b in before
    )


def _looped(interpreter: Interpreter, binding: Binding, frame: Frame) -> Value:
    assert binding.value is not None
    items = items_of(interpreter.lanes, interpreter.evaluate(binding.value, frame))
    if items is not None and len(items) == 1:
        return loop_names(interpreter, binding.node, items[0]).get(binding.name, Unknown((binding.name,)))
    if items is not None and all(is_constant(item) for item in items):
        return Unknown((binding.name,))  # conditions on it are asked for each item
    words = binding.value.text or b""
    if any(is_trigger(word) for word in re.findall(rb"[A-Za-z_]\w*", words)):
        return parameter(interpreter, binding.name, frame)
    return Unknown((binding.name,))


def _note(interpreter: Interpreter, module: Module, node: Node, mark: int) -> None:
    words = oneline(node, 120)
    interpreter.trace.insert(mark, Related(module.path, line_of(node), Role.DEFINITION, words))


def _import(interpreter: Interpreter, binding: Binding, frame: Frame) -> Value:
    target = import_target(interpreter, frame.module, binding)
    return Unknown((binding.name,)) if target is None else target


def import_target(interpreter: Interpreter, module: Module, binding: Binding) -> Value | None:
    node = binding.node
    if node.type == "import_statement":
        found = interpreter.graph.absolute(binding.operator, module)
        return ModuleV(found) if found is not None else ExternalV(binding.operator)
    source = child(node, "module_name")
    if source is None:
        return None
    written = text(source)
    dotted = written.lstrip(".")
    level = len(written) - len(dotted)
    return _from(interpreter, module, level, dotted, binding)


def _from(interpreter: Interpreter, module: Module, level: int, dotted: str, binding: Binding) -> Value | None:
    name = binding.operator
    found = interpreter.graph.relative(level, dotted, module) if level else interpreter.graph.absolute(dotted, module)
    if binding.kind == "star":
        return ModuleV(found) if found is not None else None
    if found is not None and found is not module:
        found.is_asked = True
        value = interpreter.member(found, name)
        if value is not MISSING:
            return value
    inside = f"{dotted}.{name}" if dotted else name
    sub = interpreter.graph.relative(level, inside, module) if level else interpreter.graph.absolute(inside, module)
    if sub is not None:
        return ModuleV(sub)
    return ExternalV(f"{dotted}.{name}".lstrip("."))
