"""Says whether a value is still what its bindings gave it: who may change it where it is, or bind its name anew."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from archscan.frontends.python.interpreter.aliases import spoiled
from archscan.frontends.python.interpreter.frames import END, NO_SCOPE, Frame
from archscan.frontends.python.interpreter.values import (
    Capability,
    ExternalV,
    FuncV,
    ModuleV,
    PropertiesV,
    Unknown,
    Value,
    doubted,
    is_mutable,
    set_once,
)
from archscan.frontends.python.source.scopes import Binding, Scope
from archscan.frontends.python.source.triggers import occurrences

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_STEADY = frozenset({Unknown, ExternalV, ModuleV, Capability, PropertiesV})


def trusted(interpreter: Interpreter, value: Value, name: str, frame: Frame, reader: Frame, at: int) -> Value:
    """What a name of a scope holds for who reads it: its value if nothing else may have changed it or bound it anew."""
    if type(value) in _STEADY or frame.scope is NO_SCOPE:
        return value
    if frame.module.doubts and (frame.parent is None or isinstance(value, FuncV)):
        value = doubted(value, frame.module.doubts)
    if is_mutable(value):
        why = spoiled(interpreter, name, frame, value)
        if why is not None:
            return why.of(value)
    if at == END and reader is not frame and _is_bound_late(name, frame):
        return doubted(value, set_once(name))
    if frame.scope.holds(name) and _is_set_inside(name, frame):
        return doubted(value, set_once(name))
    return value


_WORD = re.compile(rb"[A-Za-z_]\w*")
_MOST_CARRIERS = 60


def _is_bound_late(name: str, frame: Frame) -> bool:
    """Whether a function that reads the name may run between two of its bindings."""
    scope = frame.scope
    bindings = [*scope.of(name), *scope.changes.get(name, ())]
    if len(bindings) < 2:
        return False
    key = ("late", scope.body.start_byte, name)
    memo = frame.module.memo
    if key not in memo:
        memo[key] = _may_run_between(frame, name, bindings)
    return bool(memo[key])


def _may_run_between(frame: Frame, name: str, bindings: list[Binding]) -> bool:
    data = frame.module.data
    first = min(b.node.end_byte for b in bindings)
    last = max(b.node.end_byte for b in bindings)
    definitions = _definitions(frame)
    words = set(_WORD.findall(_outside(data, first, last, definitions)))
    if not words or b"(" not in data[first:last]:
        return False
    if any(_in_loop(frame.scope, b) for b in bindings):
        return True
    held = _outside(data, first, last, definitions)
    if b"lambda" in held and name.encode() in words and b")(" in held:
        return True
    carriers, fresh = set(), [name.encode()]
    while fresh:
        one = fresh.pop()
        for other in _carriers_of(frame, one, definitions):
            if other not in carriers:
                carriers.add(other)
                fresh.append(other)
        if len(carriers) > _MOST_CARRIERS:
            return True
    return bool(words & carriers)


def _in_loop(scope: Scope, binding: Binding) -> bool:
    return binding.kind == "change" and any(
        scope.compounds[s].type in ("for_statement", "while_statement") for s, _ in binding.chain
    )


def _definitions(frame: Frame) -> list[tuple[int, int, bytes]]:
    """Where the functions and classes of a scope begin and end, and their names; bodies of classes run at once."""
    found = [
        (b.node.start_byte, b.node.end_byte, b.name.encode())
        for bindings in frame.scope.bindings.values()
        for b in bindings
        if b.kind in ("def", "class")
    ]
    if frame.parent is None:
        found += [(p.start, p.end, p.name.encode()) for p in frame.module.left_out]
    return sorted(found)


def _outside(data: bytes, first: int, last: int, definitions: list[tuple[int, int, bytes]]) -> bytes:
    """The text of a range without the bodies of functions; what decorates them, and classes, are kept."""
    parts, at = [], first
    for start, end, _ in definitions:
        if end <= at or start >= last:
            continue
        head = data.find(b"def ", start, end)
        if data.find(b"class ", start, head if head >= 0 else end) >= 0:
            continue
        line = data.find(b"\n", head) if head >= 0 else start
        parts.append(data[at : min(max(at, line if line >= 0 else start), last)])
        at = max(at, end)
    parts.append(data[at:last])
    return b" ".join(parts)


def _carriers_of(frame: Frame, word: bytes, definitions: list[tuple[int, int, bytes]]) -> set[bytes]:
    """The names of a scope whose functions or classes mention a name."""
    data = frame.module.data
    start, end = (0, len(data)) if frame.parent is None else (frame.scope.body.start_byte, frame.scope.body.end_byte)
    found: set[bytes] = set()
    starts = [d[0] for d in definitions]
    for offset in occurrences(data, word):
        if not start <= offset < end:
            continue
        at = bisect_right(starts, offset) - 1
        if at >= 0 and offset < definitions[at][1] and definitions[at][2] != word:
            found.add(definitions[at][2])
    for bindings in (*frame.scope.bindings.values(), *frame.scope.changes.values()):
        for b in bindings:
            if b.kind in ("def", "class", "import", "loop") or b.value is None:
                continue
            held = b.node.text or b""
            later = b"lambda" in held or (word != b.name.encode() and any(word == d[2] for d in definitions))
            if later and word in held and word in _WORD.findall(held):
                found.add(b.name.encode())
    return found


def _is_set_inside(name: str, frame: Frame) -> bool:
    """Whether a function inside another sets its name: `nonlocal n`."""
    if frame.parent is None:
        return False
    key = ("nonlocal", frame.scope.body.start_byte)
    memo = frame.module.memo
    if key not in memo:
        words = frame.scope.body.text or b""
        memo[key] = {w for m in _NONLOCAL.finditer(words) for w in _WORD.findall(m[1])} if b"nonlocal" in words else ()
    return name.encode() in memo[key]  # type: ignore[operator]


_NONLOCAL = re.compile(rb"\bnonlocal\b([^\n]*)")
