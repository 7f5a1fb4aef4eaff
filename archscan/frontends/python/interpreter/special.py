"""Special methods: what operators and built-in functions ask of objects of scanned classes."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

from archscan.frontends.python.interpreter.classes import class_member, evaluated, mro
from archscan.frontends.python.interpreter.frames import MISSING
from archscan.frontends.python.interpreter.lanewise import compare, truth_of
from archscan.frontends.python.interpreter.values import (
    ClassV,
    FuncV,
    InstanceV,
    Unknown,
    Value,
    depends,
)
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import heading, statements, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

COMPARING = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
_REFLECTED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARITHMETIC = {
    "+": "add", "-": "sub", "*": "mul", "//": "floordiv", "/": "truediv", "%": "mod", "&": "and", "|": "or",
    "^": "xor", "<<": "lshift", ">>": "rshift", "**": "pow", "@": "matmul",
}  # fmt: skip
UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
# Built-in functions that ask their argument for the answer, and what has to come of it.
ASKING: dict[str, tuple[str, type]] = {
    "len": ("__len__", int), "int": ("__int__", int), "float": ("__float__", float), "str": ("__str__", str),
    "abs": ("__abs__", object),
}  # fmt: skip


def sent(interpreter: Interpreter, owner: Value, name: str, args: tuple[Value, ...] = ()) -> Value:
    """What a special method of an object gives; MISSING if nobody can tell that its class has such a one."""
    if not isinstance(owner, InstanceV) or not owner.made:
        return MISSING
    method = class_member(interpreter, owner.cls, name, owner)
    if not isinstance(method, FuncV) or method.doubt:
        return MISSING
    outcome = interpreter.invoke(method, args, {})
    return MISSING if outcome.raises else outcome.value


def compared(interpreter: Interpreter, sign: str, a: Value, b: Value) -> Value:
    """What a comparison with an object gives; MISSING if its class does not say."""
    if not isinstance(a, InstanceV) and not isinstance(b, InstanceV):
        return MISSING
    if sign in ("in", "not in"):
        return _contained(interpreter, sign == "in", a, b)
    if sign not in COMPARING:
        return MISSING
    found = _by_fields(interpreter, sign, a, b)
    if found is not MISSING:
        return found
    ways = ((a, b, sign), (b, a, _REFLECTED[sign]))
    for owner, other, way in ways:
        found = sent(interpreter, owner, COMPARING[way], (other,))
        if found is MISSING and way == "!=":
            found = sent(interpreter, owner, "__eq__", (other,))
            found = found if found is MISSING else opposite(interpreter, found)
        if found is not MISSING:
            return found
        if isinstance(owner, InstanceV):
            break  # what it inherits from outside may answer
    return Unknown((), carries(interpreter, a) or carries(interpreter, b), lost=True)


_NAMED_TUPLE = re.compile(rb"\(\s*(?:typing\.)?NamedTuple\s*\)")
_DATACLASS = re.compile(rb"@(?:dataclasses\.)?dataclass\b(?:\(([^)]*)\))?")


def is_named_tuple(cls: ClassV) -> bool:
    """Whether the objects of a class are tuples with names for their parts."""
    return _NAMED_TUPLE.search(heading(cls.node)) is not None


def as_tuple(interpreter: Interpreter, value: InstanceV) -> Value:
    """The fields of an object in the order in which its class declares them; the object if some are not known."""
    frame = interpreter.class_frame(value.cls)
    body = child(value.cls.node, "body")
    found: list[Value] = []
    for statement in statements(body) if body is not None else ():
        node = statement.named_children[0] if statement.named_children else statement
        left = child(node, "left") if node.type == "assignment" else None
        if left is None or child(node, "type") is None:
            continue
        if text(left) in value.fields:
            found.append(evaluated(interpreter, value.fields[text(left)]))
        elif (default := child(node, "right")) is not None and default.type in _CONSTANTS:
            found.append(interpreter.evaluate(default, frame))
        else:
            return value
    return interpreter.lanes.whole(tuple(found))


_CONSTANTS = frozenset({"integer", "float", "string", "true", "false", "none"})


def _by_fields(interpreter: Interpreter, sign: str, a: Value, b: Value) -> Value:
    """How two objects of one data class compare: field by field; MISSING if they are no such."""
    if not isinstance(a, InstanceV) or not isinstance(b, InstanceV) or a.cls is not b.cls or not (a.made and b.made):
        return MISSING
    head = _DATACLASS.search(heading(a.cls.node))
    if head is None or len(mro(interpreter, a.cls)) > 1 or a.stored or b.stored or b"eq=" in (head[1] or b""):
        return MISSING
    if sign not in ("==", "!=") and b"order=True" not in (head[1] or b"").replace(b" ", b""):
        return MISSING
    sides = [as_tuple(interpreter, one) for one in (a, b)]
    return MISSING if a in sides or b in sides else compare(interpreter.lanes, sign, *sides)


def _contained(interpreter: Interpreter, is_in: bool, item: Value, holder: Value) -> Value:
    if not isinstance(holder, InstanceV):
        return MISSING
    found = sent(interpreter, holder, "__contains__", (item,))
    if found is MISSING:
        return Unknown((), depends(item) or carries(interpreter, holder), lost=True)
    found = truth_of(interpreter.lanes, found)
    return found if is_in else opposite(interpreter, found)


def opposite(interpreter: Interpreter, value: Value) -> Value:
    """The opposite of a truth."""
    return interpreter.lanes.lift(operator.not_, truth_of(interpreter.lanes, value))


def calculated(interpreter: Interpreter, sign: str, a: Value, b: Value) -> Value:
    """What an operator makes of an object and another value; MISSING if its class does not say."""
    stem = _ARITHMETIC.get(sign)
    if stem is None:
        return MISSING
    found = sent(interpreter, a, f"__{stem}__", (b,))
    if found is MISSING and not isinstance(a, InstanceV):
        found = sent(interpreter, b, f"__r{stem}__", (a,))
    return found


def tested(interpreter: Interpreter, value: Value) -> Value:
    """A value as a condition asks for it: of an object what it says itself."""
    if not isinstance(value, InstanceV):
        return value
    for name in ("__bool__", "__len__"):
        found = sent(interpreter, value, name)
        if found is not MISSING:
            return found
    return value


def carries(interpreter: Interpreter, value: Value) -> bool:
    """Whether a value hangs on the target, or is an object that was given something that does."""
    if not isinstance(value, InstanceV):
        return depends(value)
    given = [*value.fields.values(), *(value.init.locals.values() if value.init is not None else ())]
    return any(depends(evaluated(interpreter, one)) for one in given)


def class_item(interpreter: Interpreter, cls: ClassV, key: Value) -> Value:
    """What a class gives for `Class[key]`; MISSING if it says nothing of it."""
    method = class_member(interpreter, cls, "__class_getitem__", cls)
    if not isinstance(method, FuncV) or method.doubt:
        return MISSING
    bound = FuncV(method.module, method.node, method.frame, cls, True)
    return interpreter.invoke(bound, (key,), {}).value
