"""Evaluates each kind of expression, calls left out."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.branches import combine, taken
from archscan.frontends.python.interpreter.calls import outcome_of, variable
from archscan.frontends.python.interpreter.classes import attribute, class_member, evaluated, row
from archscan.frontends.python.interpreter.frames import END, MISSING, NO_KEY, NO_SCOPE, Frame, Lazy
from archscan.frontends.python.interpreter.lanewise import binary, compare, items_of, logical, truth_of
from archscan.frontends.python.interpreter.loops import loop_names
from archscan.frontends.python.interpreter.names import lookup, resolve
from archscan.frontends.python.interpreter.operations import LONGEST_LOOP, item_of, joined_text
from archscan.frontends.python.interpreter.values import (
    Capability,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    ListV,
    Maybe,
    PropertiesV,
    SetV,
    Split,
    Unknown,
    Value,
    depends,
    is_constant,
    is_text,
    unite,
)
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import oneline, operands, string_parts, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


_CONSTANTS = {"true": True, "false": False, "none": None}


LEAVES = frozenset({"true", "false", "none", "integer", "float"})


def _identifier(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    return lookup(interpreter, text(node), frame, node.start_byte)


def _constant(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    return _CONSTANTS[node.type]


def _number(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    digits = text(node).replace("_", "").lower()
    try:
        return float(digits) if node.type == "float" else int(digits, 0)
    except ValueError:
        return Unknown((digits,))


def _string(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    if node.named_child_count == 3 and (content := node.named_children[1]).type == "string_content":
        return text(content)  # between its quotes
    parts: list[Value] = []
    for literal in string_parts(node):
        if literal.type != "string":
            return Unknown((oneline(literal, 60),))
        for piece in literal.named_children:
            if piece.type == "string_content":
                parts.append(text(piece))
            elif piece.type == "interpolation":
                expression = child(piece, "expression")
                plain = all(c.type != "format_specifier" for c in piece.named_children)
                parts.append(interpreter.evaluate(expression, frame) if expression is not None and plain else Unknown())
    if all(isinstance(p, str) for p in parts):
        return "".join(parts)
    value = interpreter.lanes.lift(lambda *items: joined_text(items), *parts)
    if not isinstance(value, Unknown):
        return value
    return Unknown((oneline(node, 60),), value.arch, any(isinstance(p, str) and p for p in parts))


def _sequence(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    kind = {"list": ListV, "set": SetV}.get(node.type, tuple)
    items: list[Value] = []
    for item in operands(node):
        if item.type == "list_splat":
            inside = items_of(interpreter.lanes, interpreter.evaluate(item.named_children[0], frame))
            if inside is None:
                return Unknown((oneline(node, 60),))
            items.extend(inside)
        else:
            items.append(interpreter.evaluate(item, frame))
    return kind(items)


def _dictionary(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    rows: list[tuple[Value, Value]] = []
    is_open = False
    for pair in operands(node):
        if pair.type != "pair":
            inside = interpreter.evaluate(pair.named_children[0], frame) if pair.named_children else None
            if isinstance(inside, DictV):
                rows.extend(inside.rows)
            else:
                is_open = True
            continue
        key, value = child(pair, "key"), child(pair, "value")
        if key is not None and value is not None:
            rows.append((interpreter.evaluate(key, frame), Lazy(value, frame)))
    return DictV(tuple(rows), is_open)


def _boolean(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    left, right, sign = child(node, "left"), child(node, "right"), child(node, "operator")
    assert left is not None and right is not None and sign is not None
    a = interpreter.evaluate(left, frame)
    is_and = sign.type == "and"
    first = truth_of(interpreter.lanes, a)
    if first is (not is_and):
        return a
    b = interpreter.evaluate(right, frame)
    if first is is_and:
        return b
    if not depends(a) and not depends(b) and isinstance(a, Unknown) and isinstance(b, Unknown):
        return Unknown(unite(a.names, b.names))
    return logical(interpreter.lanes, is_and, a, b)


def _not(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    argument = child(node, "argument")
    assert argument is not None
    value = truth_of(interpreter.lanes, interpreter.evaluate(argument, frame))
    return interpreter.lanes.lift(operator.not_, value)


def _comparison(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    values = [_as_pair(interpreter, interpreter.evaluate(item, frame)) for item in operands(node)]
    signs = [c.type for c in node.children_by_field_name("operators")]
    if len(signs) != len(values) - 1:
        return Unknown((oneline(node, 60),))
    result: Value = True
    for sign, a, b in zip(signs, values, values[1:], strict=False):
        asked = _is_set(interpreter, sign, a, b)
        one: Value = compare(interpreter.lanes, sign, a, b) if asked is None else asked
        if isinstance(one, Unknown):
            one = _taken_for_granted(sign, a, b, operands(node), one)
        if isinstance(one, Unknown):
            one = Unknown((oneline(node, 80),), one.arch)
        result = one if result is True else logical(interpreter.lanes, True, result, one)
    return result


def _as_pair(interpreter: Interpreter, value: Value) -> Value:
    """An object of a major and a minor as their pair, which it compares like; also those in a container."""
    if isinstance(value, tuple) and any(isinstance(item, InstanceV) for item in value):
        return type(value)(_as_pair(interpreter, item) for item in value)
    if not isinstance(value, InstanceV) or value.fields.keys() != _PAIR:
        return value
    return tuple(evaluated(interpreter, value.fields[name]) for name in ("major", "minor"))


_PAIR = {"major", "minor"}


def _is_set(interpreter: Interpreter, sign: str, key: Value, holder: Value) -> Value:
    """What `"NAME" in os.environ` says; None if that is not what is asked."""
    if sign not in ("in", "not in") or not isinstance(key, str) or not _is_environment(holder):
        return None
    held = variable(interpreter, key, None)
    is_set = Maybe(False, held.names, True) if isinstance(held, Maybe) else held is not None
    return is_set if sign == "in" else interpreter.lanes.lift(operator.not_, is_set)


def _is_environment(value: Value) -> bool:
    return isinstance(value, ExternalV) and value.name.endswith("os.environ")


def _taken_for_granted(sign: str, a: Value, b: Value, sides: list[Node], unknown: Unknown) -> Value:
    """Tensors lie on a GPU, and libraries are new enough: what is asked is which GPU."""
    left = text(sides[0])
    if b == "cuda" and left.endswith(".type") and sign in ("==", "!="):
        return sign == "=="
    told = is_constant(b) and not is_constant(a) and not unknown.arch
    if told and sign in _ORDERS and _LIBRARY.search(left) and not _CHIP_VERSION.search(left):
        return sign in (">", ">=")
    return unknown


_ORDERS = frozenset({"<", "<=", ">", ">="})
_LIBRARY = re.compile(r"(?i)version")
_CHIP_VERSION = re.compile(r"(?i)sm_|compute|arch|capab|device|len\(")


def _conditional(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    then, condition, other = operands(node)[:3]
    yes, maybe, names = taken(interpreter, condition, frame, interpreter.lanes.all)
    parts = []
    if yes or maybe:
        value = interpreter.evaluate(then, frame)
        parts += [(value, yes, ()), (value, maybe, names)]
    if interpreter.lanes.all & ~yes:
        value = interpreter.evaluate(other, frame)
        no = interpreter.lanes.all & ~yes & ~maybe
        parts += [(value, no, ()), (value, maybe, names)]
    return combine(interpreter, [(v, m, n) for v, m, n in parts if m])


def _operator(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    left, right, sign = child(node, "left"), child(node, "right"), child(node, "operator")
    assert left is not None and right is not None and sign is not None
    value = binary(interpreter.lanes, text(sign), interpreter.evaluate(left, frame), interpreter.evaluate(right, frame))
    return Unknown((oneline(node, 60),), value.arch) if isinstance(value, Unknown) else value


def _unary(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    argument, sign = child(node, "argument"), child(node, "operator")
    assert argument is not None and sign is not None
    value = interpreter.evaluate(argument, frame)
    if sign.type == "-" and isinstance(value, (int, float)):
        return -value
    return value if sign.type == "+" else Unknown((oneline(node, 60),), depends(value))


def _subscript(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    owner, index = child(node, "value"), child(node, "subscript")
    assert owner is not None and index is not None
    full = text(node)
    stored = _stored(interpreter, full, frame, node.start_byte) if index.type == "string" else MISSING
    if stored is not MISSING:
        return stored
    holder = interpreter.evaluate(owner, frame)
    held = interpreter.lanes.groups(holder)
    if index.type != "slice" and all(isinstance(one, ListV) and len(one) == 1 for one, _ in held):
        return interpreter.lanes.merge((one[0], mask) for one, mask in held)
    if index.type == "slice":
        return _slice(interpreter, holder, index)
    key = interpreter.evaluate(index, frame)
    if isinstance(holder, Unknown) and isinstance(key, str):
        seeded = interpreter.seed(key)
        if seeded is not None:
            return Capability(True) if isinstance(seeded, Capability) else seeded
    if _is_environment(holder):
        return variable(interpreter, key, MISSING)
    if isinstance(holder, PropertiesV) and isinstance(key, str):  # triton's are a dict
        return attribute(interpreter, holder, key, full)
    value = interpreter.lanes.lift(lambda h, k: _index(interpreter, h, k), holder, key)
    if isinstance(value, Unknown) and not (interpreter.tries and value == NO_KEY):
        return Unknown((oneline(node, 60),), value.arch)
    return value


def _stored(interpreter: Interpreter, full: str, frame: Frame, position: int) -> Value:
    """What `TABLE["key"] = value` has stored, here or around; MISSING if nothing has."""
    current: Frame | None = frame
    while current is not None:
        if full in current.scope.bindings:
            return resolve(interpreter, full, current, position)
        current, position = current.parent, END
    return MISSING


def _slice(interpreter: Interpreter, holder: Value, index: Node) -> Value:
    bounds = re.fullmatch(r"(-?\d*)\s*:\s*(-?\d*)", text(index))
    if bounds and is_text(holder):
        start, stop = (int(b) if b else None for b in bounds.groups())
        return interpreter.lanes.lift(lambda written: written[start:stop], holder)
    if "0:2" in text(index) or text(index) == ":2":
        return interpreter.lanes.pair if isinstance(holder, Capability) else holder
    return Unknown(("slice",), depends(holder))


def _index(interpreter: Interpreter, holder: Value, key: Value) -> Value:
    if isinstance(holder, (Capability, tuple)) and isinstance(key, int):
        return item_of(holder, key, interpreter.lanes)
    if isinstance(holder, DictV):
        return row(interpreter, holder, key, NO_KEY)
    if isinstance(holder, ClassV) and isinstance(key, str):  # a member of an enumeration
        member = class_member(interpreter, holder, key, holder)
        return NO_KEY if member is MISSING else member
    if isinstance(holder, str) and isinstance(key, int) and -len(holder) <= key < len(holder):
        return holder[key]
    return Unknown((), depends(holder) or depends(key))


def _attribute(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    owner, name_node = child(node, "object"), child(node, "attribute")
    assert owner is not None and name_node is not None
    full = text(node)
    if full in frame.scope.bindings:
        bound = resolve(interpreter, full, frame, node.start_byte)
        if bound is not MISSING:
            return bound
    stated = interpreter.knowledge.stated(full, interpreter.lanes)
    if stated is not None:
        return stated
    holder = interpreter.evaluate(owner, frame)
    if holder == NO_KEY:
        return holder
    name = text(name_node)
    if not isinstance(holder, Split):
        return attribute(interpreter, holder, name, full)
    return interpreter.lanes.merge(
        (attribute(interpreter, h, name, full), mask) for h, mask in interpreter.lanes.groups(holder)
    )


def _lambda(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    return FuncV(frame.module, node, frame)


def _named(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    value = child(node, "value")
    return interpreter.evaluate(value, frame) if value is not None else Unknown()


def _comprehension(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    clause = next((c for c in node.named_children if c.type == "for_in_clause"), None)
    source = child(clause, "right") if clause is not None else None
    body = child(node, "body")
    left = child(clause, "left") if clause is not None else None
    items = items_of(interpreter.lanes, interpreter.evaluate(source, frame)) if source is not None else None
    if body is None or left is None:
        return Unknown((oneline(node, 60),))
    if items is None or len(items) > LONGEST_LOOP:
        return _of_any(interpreter, node, body, left, frame)
    tests = [c.named_children[0] for c in node.named_children if c.type == "if_clause"]
    result: Value = ListV()
    for item in items:
        one = Frame(frame.module, NO_SCOPE, frame, loop_names(interpreter, left, item))
        keep: Value = True
        for test in tests:
            keep = logical(interpreter.lanes, True, keep, truth_of(interpreter.lanes, interpreter.evaluate(test, one)))
        result = _kept(interpreter, result, keep, interpreter.evaluate(body, one))
        one.memo.clear()
    return result


def _of_any(interpreter: Interpreter, node: Node, body: Node, left: Node, frame: Frame) -> Value:
    """A comprehension over what nobody can tell, such as all devices: they are alike, so one stands for all."""
    one = Frame(frame.module, NO_SCOPE, frame, loop_names(interpreter, left, None))
    value = interpreter.evaluate(body, one)
    one.memo.clear()
    return ListV((value,)) if depends(value) else Unknown((oneline(node, 60),))


def _kept(interpreter: Interpreter, items: Value, keep: Value, item: Value) -> Value:
    if keep is True and isinstance(items, tuple):
        return ListV((*items, item))

    def add(held: Value, wanted: Value) -> Value:
        return ListV((*held, item)) if wanted else held

    return interpreter.lanes.lift(add, items, keep)


def _generator(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    return _comprehension(interpreter, node, frame)


def _call(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    return outcome_of(interpreter, node, frame).value


HANDLERS: dict[str, Callable[[Interpreter, Node, Frame], Value]] = {
    "identifier": _identifier,
    "true": _constant,
    "false": _constant,
    "none": _constant,
    "integer": _number,
    "float": _number,
    "string": _string,
    "concatenated_string": _string,
    "list": _sequence,
    "tuple": _sequence,
    "set": _sequence,
    "expression_list": _sequence,
    "dictionary": _dictionary,
    "boolean_operator": _boolean,
    "not_operator": _not,
    "comparison_operator": _comparison,
    "conditional_expression": _conditional,
    "binary_operator": _operator,
    "unary_operator": _unary,
    "subscript": _subscript,
    "attribute": _attribute,
    "call": _call,
    "lambda": _lambda,
    "named_expression": _named,
    "list_comprehension": _comprehension,
    "set_comprehension": _comprehension,
    "generator_expression": _generator,
}
