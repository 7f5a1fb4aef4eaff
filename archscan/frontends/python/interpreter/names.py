"""Finds what a name stands for: its bindings in the scopes around it, the branches they are in, and imports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.annotations import given_object
from archscan.frontends.python.interpreter.branches import combine, taken
from archscan.frontends.python.interpreter.frames import DEPTH, END, MISSING, NO_SCOPE, STEPS, Frame, distinct
from archscan.frontends.python.interpreter.lanewise import binary, items_of
from archscan.frontends.python.interpreter.loops import loop_names
from archscan.frontends.python.interpreter.operations import BUILTINS, item_of
from archscan.frontends.python.interpreter.values import (
    ExternalV,
    FuncV,
    InstanceV,
    ListV,
    ModuleV,
    PartialV,
    Unknown,
    Value,
    depends,
    is_constant,
    unite,
)
from archscan.frontends.python.source.blocks import ends
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import Binding, Chain
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import if_arms, line_of, oneline, text
from archscan.frontends.python.source.triggers import is_trigger
from archscan.model.gate import Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


def lookup(interpreter: Interpreter, name: str, frame: Frame, position: int) -> Value:
    """The value of a name as seen from a position."""
    current: Frame | None = frame
    at = position
    while current is not None:
        if not current.is_class or current is frame:
            if current.scope.holds(name):
                value = resolve(interpreter, name, current, at)
                if value is not MISSING:
                    return value
            if name in current.locals:
                return current.locals[name]
            if name in current.parameters:
                return parameter(interpreter, name, current)
        at = at if current.scope is NO_SCOPE else END
        current = current.parent
    return _outside(interpreter, name, frame)


def parameter(interpreter: Interpreter, name: str, frame: Frame) -> Value:
    if name in ("self", "cls") and frame.owner is not None:
        return InstanceV(frame.owner, made=False) if name == "self" else frame.owner
    seeded = interpreter.seed(name)
    if seeded is None:
        given = given_object(interpreter, name, frame)
        return Unknown((name,)) if given is MISSING else given
    if name in ("major", "minor") and not _is_about_chips(frame):
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
    return bool(_CHIPS.search(words) or (_MAKERS.search(words) and not _RELEASES.search(words)))


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
            return resolve(interpreter, name, frame, END)
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
    if frame.parent is None and name in frame.module.globals and is_constant(value):
        return _set_by_functions(interpreter, name, frame)
    return value


def _set_by_functions(interpreter: Interpreter, name: str, frame: Frame) -> Value:
    """The value that a function gives a global name: the one that asks for the target, if there is one."""
    for function in frame.module.setters(name):
        inside = interpreter.entry_frame(frame.module, function, frame)
        value = resolve(interpreter, name, inside, END) if name in inside.scope.bindings else MISSING
        if depends(value):
            return value
    return Unknown((name,))


def _bound_value(interpreter: Interpreter, name: str, frame: Frame, position: int) -> Value:
    before = frame.scope.bindings[name]
    if position < END:
        before = [b for b in before if b.node.end_byte <= position or b.kind == "loop"]
    if not before:
        return MISSING
    chain: Chain = ()
    if not before[-1].chain:
        return _bound(interpreter, before[-1], frame, before[:-1], chain)
    if position < END:
        chain = frame.scope.chain_at(position)
    return _reach(interpreter, name, frame, before, chain, position)


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
    inside = [b for b in before if (start in (c[0] for c in b.chain))]
    earlier = [b for b in before if b not in inside]
    if node.type != "if_statement":
        first = min((b.chain[len(chain)][1] for b in inside), default=arm) if node.type == "try_statement" else arm
        if first and earlier and node.type == "try_statement":  # only a handler gives it another value
            return _reach(interpreter, name, frame, earlier, chain, start)
        mine = [b for b in before if b not in inside or b.chain[len(chain)][1] == first]
        return _reach(interpreter, name, frame, mine, (*chain, (start, first)), END)
    arms = if_arms(node)
    parts: list[tuple[Value, int, tuple[str, ...]]] = []
    left = interpreter.lanes.all
    names: tuple[str, ...] = ()
    for index, (condition, block) in enumerate(arms):
        yes, maybe, why = taken(interpreter, condition, frame, left)
        if not ends(block):
            inner_chain = (*chain, (start, index))
            mine = [b for b in before if b in earlier or b.chain[: len(inner_chain)] == inner_chain]
            value = _reach(interpreter, name, frame, mine, inner_chain, END)
            parts.append((value, yes, names))
            if maybe:
                parts.append((value, maybe, unite(names, why)))
        left &= ~yes
        if maybe:
            names = unite(names, why)
    if left:
        parts.append((_reach(interpreter, name, frame, earlier, chain, start), left, names))
    before_all = _before(interpreter, name, frame, any(depends(value) for value, _, _ in parts))
    return combine(interpreter, [(before_all if v is MISSING else v, m, n) for v, m, n in parts])


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
    return _bound_value(interpreter, name, module, END)


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


def _value_of(interpreter: Interpreter, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
    kind = binding.kind
    if kind == "import":
        return _import(interpreter, binding, frame)
    if binding.value is None:
        return parameter(interpreter, binding.name, frame)
    if kind == "def":
        return _decorated(binding, frame)
    if kind == "class":
        return interpreter.class_of(frame.module, binding.value, frame)
    if kind == "loop":
        return _looped(interpreter, binding, frame)
    mark = len(interpreter.trace)
    value = interpreter.evaluate(binding.value, frame)
    if kind == "append":
        return _appended(interpreter, _previous(interpreter, binding, frame, before, chain), value)
    if kind == "augment":
        return binary(interpreter.lanes, binding.operator, _previous(interpreter, binding, frame, before, chain), value)
    if kind == "unpack":
        value = interpreter.lanes.lift(lambda v: item_of(v, binding.index, interpreter.lanes), value)
        if isinstance(value, Unknown) and not value.arch:
            told = interpreter.knowledge.seed_unknown(binding.name, binding.value, interpreter.lanes)
            return Unknown((binding.name,)) if told is None else told
    if isinstance(value, InstanceV):
        value = _with_stores(interpreter, binding.name, value, frame)
    if isinstance(value, Unknown) and not value.arch and not _is_handed_over(interpreter, binding.value, frame):
        seeded = interpreter.knowledge.seed_unknown(binding.name, binding.value, interpreter.lanes)
        value = value if seeded is None else seeded
    if depends(value) or isinstance(value, (PartialV, FuncV)):
        _note(interpreter, frame.module, binding.node, mark)
    return value


def _with_stores(interpreter: Interpreter, name: str, instance: InstanceV, frame: Frame) -> InstanceV:
    """An object with what is assigned to its attributes after it was made: `c.allowed = (8,)`."""
    stores = {full.removeprefix(f"{name}."): full for full in frame.scope.bindings if full.startswith(f"{name}.")}
    if not stores:
        return instance
    fields = {
        attribute: resolve(interpreter, full, frame, END) for attribute, full in stores.items() if "." not in attribute
    }
    return InstanceV(instance.cls, {**instance.fields, **fields}, instance.made)


def _is_handed_over(interpreter: Interpreter, source: Node, frame: Frame) -> bool:
    """Whether a name is given what a parameter carries that says nothing of a chip: then its own name tells nothing."""
    name = text(source) if source.type == "identifier" else ""
    return name in frame.parameters and interpreter.seed(name) is None


def _previous(interpreter: Interpreter, binding: Binding, frame: Frame, before: list[Binding], chain: Chain) -> Value:
    value = _reach(interpreter, binding.name, frame, before, binding.chain, binding.node.start_byte)
    return Unknown((binding.name,)) if value is MISSING else value


def _appended(interpreter: Interpreter, before: Value, item: Value) -> Value:
    def add(held: Value) -> Value:
        return ListV((*held, item)) if isinstance(held, tuple) else Unknown()

    return interpreter.lanes.lift(add, before)


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


def _decorated(binding: Binding, frame: Frame) -> Value:
    """The function itself: what a decorator makes of it is not looked at."""
    assert binding.value is not None
    return FuncV(frame.module, binding.value, frame)


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
