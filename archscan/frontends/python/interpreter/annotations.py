"""What annotations say of a value that nobody can tell: that it is an object of a scanned class about the target."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.frames import MISSING, Frame
from archscan.frontends.python.interpreter.knowledge import speaks_of_chips
from archscan.frontends.python.interpreter.values import ClassV, FuncV, InstanceV, Value, assume, depends
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import operands, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_ONE_CLASS = re.compile(r"[\"']?(?:(?:typing\.)?Optional\[)?([A-Za-z_]\w*)\]?(?:\s*\|\s*None)?[\"']?")


def returned_object(interpreter: Interpreter, function: FuncV) -> Value:
    """What a function is annotated to return; MISSING where that is no class about the target."""
    written = child(function.node, "return_type")
    return MISSING if written is None else annotated(interpreter, written, function.frame)


def given_object(interpreter: Interpreter, name: str, frame: Frame) -> Value:
    """What a parameter of the function around is by default or by its annotation; MISSING if not about the target."""
    key = ("given", frame.scope.body.start_byte, name)
    memo = frame.module.memo
    if key not in memo:
        memo[key] = _given_object(interpreter, name, frame)
    return memo[key]


def is_of_another_kind(name: str, frame: Frame) -> bool:
    """Whether a parameter is of a class of some library that has no word for chips: `cap: cv2.VideoCapture`."""
    key = ("another kind", frame.scope.body.start_byte, name)
    memo = frame.module.memo
    if key not in memo:
        written = next((child(p, "type") for p in _parameters(frame) if _name_of(p) == name), None)
        kind = text(written) if written is not None else ""
        found = _OF_LIBRARY.fullmatch(kind)
        memo[key] = found is not None and found[1] not in _TYPING and not speaks_of_chips(kind)
    return bool(memo[key])


def is_flag(name: str, frame: Frame) -> bool:
    """Whether a parameter is true or false, by its annotation or default: then it is so as long as nobody sets it."""
    key = ("flag", frame.scope.body.start_byte, name)
    memo = frame.module.memo
    if key not in memo:
        found = next((p for p in _parameters(frame) if _name_of(p) == name), None)
        written, default = (child(found, "type"), child(found, "value")) if found is not None else (None, None)
        is_bool = written is not None and text(written) == "bool"
        memo[key] = is_bool or (written is None and default is not None and default.type in ("true", "false"))
    return bool(memo[key])


_OF_LIBRARY = re.compile(r"[\"']?([A-Za-z_]\w*)(?:\.\w+)*\.[A-Z]\w*(?:\s*\|\s*None)?[\"']?")
_TYPING = frozenset({"typing", "t", "typing_extensions"})


def _parameters(frame: Frame) -> tuple[Node, ...]:
    """The parameters of the function that a frame is of."""
    function = frame.scope.body.parent if frame.parent is not None and frame.parameters else None
    holder = child(function, "parameters") if function is not None else None
    return tuple(operands(holder)) if holder is not None else ()


def _name_of(parameter: Node) -> str:
    named = child(parameter, "name") or (parameter.named_children[0] if parameter.named_children else None)
    return text(named) if named is not None else ""


def _given_object(interpreter: Interpreter, name: str, frame: Frame) -> Value:
    for parameter in _parameters(frame):
        if _name_of(parameter) == name and frame.parent is not None:
            return _default(interpreter, parameter, name, frame.parent) or _typed(interpreter, parameter, frame.parent)
    return MISSING


def _default(interpreter: Interpreter, parameter: Node, name: str, frame: Frame) -> Value | None:
    """The default of a parameter that asks for the target, for those who do not give it: `fp8=_has_fp8()`."""
    default = child(parameter, "value")
    if default is None or default.type not in _QUESTIONS:
        return None
    value = interpreter.evaluate(default, frame)
    return assume(value, (name,)) if depends(value) else None


_QUESTIONS = frozenset({"call", "comparison_operator", "boolean_operator", "not_operator"})


def _typed(interpreter: Interpreter, parameter: Node, frame: Frame) -> Value:
    written = child(parameter, "type")
    return MISSING if written is None else annotated(interpreter, written, frame)


def annotated(interpreter: Interpreter, written: Node, frame: Frame) -> Value:
    """An object of the class that an annotation names; MISSING if it is not about the target, or others derive from it.

    Of a class that others derive from nobody knows which of them is meant, and what it answers itself is a default.
    """
    one = _ONE_CLASS.fullmatch(text(written))
    if one is None or one[1] not in interpreter.classes:
        return MISSING
    cls = _class_named(interpreter, one[1], frame)
    if cls is None or not _is_about_target(cls) or _is_pair(cls) or _has_heirs(interpreter, cls):
        return MISSING
    return InstanceV(cls, made=False)


def _class_named(interpreter: Interpreter, name: str, frame: Frame) -> ClassV | None:
    while frame.parent is not None:
        frame = frame.parent
    value = interpreter.member(frame.module, name) if frame.scope.holds(name) else None
    return value if isinstance(value, ClassV) else None


def _is_about_target(cls: ClassV) -> bool:
    offsets = cls.module.index.triggers
    at = bisect_left(offsets, cls.node.start_byte)
    return at < len(offsets) and offsets[at] < cls.node.end_byte


def _is_pair(cls: ClassV) -> bool:
    """Whether a class is a capability itself, with a major and a minor: names tell whose it is."""
    return re.search(rb"\n\s+major\s*:", cls.node.text or b"") is not None


def _has_heirs(interpreter: Interpreter, cls: ClassV) -> bool:
    graph, name = interpreter.graph, cls.name
    memo = graph.memo
    key = ("heirs", cls.module.path, name)
    if key not in memo:
        mentioning = [m for m in graph.modules.values() if m is cls.module or name in m.index.mentions]
        derives = re.compile(rb"^[ \t]*class\s+\w+\s*\([^)]*\b" + re.escape(name.encode()) + rb"\b", re.MULTILINE)
        found = any(derives.search(module.data) is not None for module in mentioning)
        memo[key] = found, [module.path for module in mentioning]
    has, searched = memo[key]
    graph.traces.searched(cls.module, ("users", name), searched)
    return bool(has)
