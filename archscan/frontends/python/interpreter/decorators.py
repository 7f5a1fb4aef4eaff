"""What decorators make of a function or class: known ones leave it as it is, scanned ones are run, others unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.values import (
    ClassV,
    ExternalV,
    FuncV,
    PartialV,
    Unknown,
    Value,
    doubted,
)
from archscan.frontends.python.source.blocks import returns_in
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import oneline, operands, statements, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


def decorated(interpreter: Interpreter, made: Value, node: Node, frame: Frame) -> Value:
    """What a name is given by a definition: the function or class, as its decorators leave it."""
    if node.type != "decorated_definition":
        return made
    key = (node.start_byte, node.end_byte, "decorated")
    known = frame.memo.get(key)
    if known is None:
        whole = interpreter.cut_short
        outer, interpreter.trace = interpreter.trace, []
        value = made
        for decorator in reversed([c for c in node.named_children if c.type == "decorator"]):
            value = _applied(interpreter, value, operands(decorator)[0], frame)
        interpreter.trace = outer
        known = (value, ())
        if whole == interpreter.cut_short:
            frame.memo[key] = known
    return known[0]


def _applied(interpreter: Interpreter, made: Value, decorator: Node, frame: Frame) -> Value:
    why = ("@" + oneline(decorator, 40),)
    if not isinstance(made, (FuncV, ClassV)):
        return made if isinstance(made, Unknown) else Unknown(why, lost=True)
    function = child(decorator, "function") if decorator.type == "call" else decorator
    head = text(function) if function is not None else ""
    short = head.rsplit(".", 1)[-1]
    knowledge = interpreter.knowledge
    if "." in head and short in ("setter", "getter", "deleter"):
        return Unknown(why, lost=True)
    if short in knowledge.decorators or short in knowledge.combiners:
        return made
    held = interpreter.evaluate(decorator, frame)
    if isinstance(held, (FuncV, PartialV)):
        found = _run(interpreter, made, held, why)
        told = short in knowledge.transparent and not (isinstance(held, FuncV) and held.module is frame.module)
        return made if told and (isinstance(found, Unknown) or getattr(found, "doubt", ()) == why) else found
    if isinstance(held, (ExternalV, Unknown)) and not (isinstance(held, Unknown) and held.lost):
        callee = interpreter.evaluate(function, frame) if function is not None else held
        if isinstance(callee, (ExternalV, Unknown)) and short in knowledge.transparent:
            return made
    return doubted(made, why) if isinstance(made, FuncV) else Unknown(why, lost=True)


def _run(interpreter: Interpreter, made: Value, decorator: Value, why: tuple[str, ...]) -> Value:
    """What a scanned decorator gives back: the function where that only calls it."""
    if isinstance(decorator, FuncV) and decorator.doubt:
        return doubted(made, why) if isinstance(made, FuncV) else Unknown(why, lost=True)
    given = interpreter.invoke(decorator, (made,), {}).value
    if given is made:
        return made
    if isinstance(given, FuncV) and isinstance(made, FuncV):
        return made if _only_calls(interpreter, given, made) else given
    return doubted(made, why) if isinstance(made, FuncV) else Unknown(why, lost=True)


def _only_calls(interpreter: Interpreter, wrapper: FuncV, made: FuncV) -> bool:
    """Whether a function gives back what another gives for the same arguments, on every way that returns."""
    parameters = [name for name, _ in interpreter.parameters(wrapper)]
    splats = [name for name in parameters if name.startswith("*")]
    if len(splats) != len(parameters):
        return False
    returned = returns_in(wrapper.node)
    body = child(wrapper.node, "body")
    if not returned or body is None or b"yield" in (body.text or b"") or b"except" in (body.text or b""):
        return False
    if statements(body)[-1].type not in ("return_statement", "if_statement", "with_statement"):
        return False
    frame = interpreter.function_frame(wrapper, {})
    for statement in returned:
        call = operands(statement)[0] if operands(statement) else None
        function = child(call, "function") if call is not None and call.type == "call" else None
        holder = child(call, "arguments") if call is not None else None
        if function is None or holder is None or interpreter.evaluate(function, frame) is not made:
            return False
        if [text(a) for a in operands(holder)] != splats:
            return False
    return True
