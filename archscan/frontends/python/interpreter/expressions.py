"""Evaluates each kind of expression, calls left out."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.aliases import spoiled
from archscan.frontends.python.interpreter.branches import combine, taken
from archscan.frontends.python.interpreter.calls import outcome_of, variable
from archscan.frontends.python.interpreter.classes import (
    any_row,
    attribute,
    class_member,
    evaluated,
    is_intercepted,
    row,
    unchanged,
)
from archscan.frontends.python.interpreter.containers import AlikeV, IterV, ListV, SetV, ViewV
from archscan.frontends.python.interpreter.frames import END, MISSING, NO_KEY, NO_SCOPE, Frame, Lazy
from archscan.frontends.python.interpreter.lanewise import binary, compare, items_of, logical, truth_of
from archscan.frontends.python.interpreter.loops import loop_names
from archscan.frontends.python.interpreter.names import lookup, resolve
from archscan.frontends.python.interpreter.operations import LONGEST_LOOP, item_of, joined_text, table_of
from archscan.frontends.python.interpreter.pure import PURE, applied
from archscan.frontends.python.interpreter.special import (
    UNARY,
    as_tuple,
    calculated,
    class_item,
    compared,
    is_named_tuple,
    opposite,
    sent,
    tested,
)
from archscan.frontends.python.interpreter.values import (
    Assumed,
    Capability,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    Partitioned,
    PropertiesV,
    Unknown,
    Value,
    depends,
    doubted,
    is_constant,
    unite,
)
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import oneline, operands, string_parts, text, walk
from archscan.model.condition import negated, unnamed
from archscan.sources.lines import matches

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
        opening = node.named_children[0]
        if opening.end_byte - opening.start_byte == 1 and not content.named_child_count:
            return text(content)  # between its quotes
    parts: list[Value] = []
    for literal in string_parts(node):
        if literal.type != "string":
            return Unknown((oneline(literal, 60),))
        if literal.named_children and b"b" in (literal.named_children[0].text or b"").lower():
            return _literal(literal)
        for piece in literal.named_children:
            if piece.type == "string_content":
                parts.append(_written(literal, piece))
            elif piece.type == "interpolation":
                parts.append(_interpolated(interpreter, piece, frame))
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        return "".join(texts)
    value = interpreter.lanes.lift(lambda *items: joined_text(items), *parts)
    if not isinstance(value, Unknown):
        return value
    return Unknown((oneline(node, 60),), value.arch, any(isinstance(p, str) and p for p in parts), value.lost)


_CONVERSIONS = {"!r": "repr", "!s": "str"}


def _interpolated(interpreter: Interpreter, piece: Node, frame: Frame) -> Value:
    """What `{value!r:spec}` in a text writes."""
    expression = child(piece, "expression")
    if expression is None or any(c.type == "=" for c in piece.children):
        return Unknown()
    value = interpreter.evaluate(expression, frame)
    for part in piece.named_children:
        found = value
        if part.type == "type_conversion":
            name = _CONVERSIONS.get(text(part))
            found = applied(interpreter, PURE[name], (value,)) if name is not None else MISSING
        elif part.type == "format_specifier":
            written = text(part)[1:]
            found = MISSING if "{" in written else applied(interpreter, PURE["format"], (value, written))
        value = Unknown((oneline(piece, 60),), depends(value)) if found is MISSING else found
    asked = sent(interpreter, value, "__str__")
    return value if asked is MISSING else asked


def _written(literal: Node, content: Node) -> Value:
    """What a piece of a text says, its escapes read."""
    said = text(content)
    opening = text(literal.named_children[0]).lower()
    if not content.named_child_count or "r" in opening:
        return said
    if "f" in opening:
        said = said.replace("{{", "{").replace("}}", "}")
    try:
        return ast.literal_eval('"""' + said.replace('"', '\\"') + '"""')
    except (SyntaxError, ValueError):
        return Unknown((said[:60],))


def _literal(node: Node) -> Value:
    """A constant as Python reads it."""
    try:
        value: Value = ast.literal_eval(text(node))
    except (SyntaxError, ValueError):
        return Unknown((oneline(node, 60),))
    return value


def _sequence(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    kind = {"list": ListV, "set": SetV}.get(node.type, tuple)
    items: list[Value] = []
    for item in operands(node):
        if item.type == "list_splat":
            held = interpreter.evaluate(item.named_children[0], frame)
            inside = items_of(interpreter.lanes, held)
            if inside is None or (isinstance(held, SetV) and kind is not SetV and len(held) > 1):
                return Unknown((oneline(node, 60),), depends(held), lost=True)
            items.extend(inside)
        else:
            items.append(interpreter.evaluate(item, frame))
    return _as_set(interpreter, items, node) if kind is SetV else kind(items)


def _as_set(interpreter: Interpreter, items: list[Value], node: Node) -> Value:
    """A set of items, each once on every target."""
    if all(is_constant(item) for item in items):
        return SetV(dict.fromkeys(items))
    return interpreter.lanes.lift(lambda *given: SetV(dict.fromkeys(given)), *items)


def _dictionary(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    rows: list[tuple[Value, Value]] = []
    is_open = False
    for pair in operands(node):
        if pair.type != "pair":
            inside = interpreter.evaluate(pair.named_children[0], frame) if pair.named_children else None
            if isinstance(inside, DictV):
                rows.extend(inside.rows)
                is_open = is_open or inside.open
            else:
                is_open, rows = True, []  # it may hold any of those before it
            continue
        key, value = child(pair, "key"), child(pair, "value")
        if key is not None and value is not None:
            rows.append((interpreter.evaluate(key, frame), Lazy(value, frame)))
    return table_of(rows, is_open)


def _boolean(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    left, right, sign = child(node, "left"), child(node, "right"), child(node, "operator")
    assert left is not None and right is not None and sign is not None
    a = tested(interpreter, interpreter.evaluate(left, frame))
    is_and = sign.type == "and"
    first = truth_of(interpreter.lanes, a)
    if first is (not is_and):
        return a
    b = interpreter.evaluate(right, frame)
    if first is is_and:
        return b
    b = tested(interpreter, b)
    if not depends(a) and not depends(b) and isinstance(a, Unknown) and isinstance(b, Unknown):
        return Unknown(unite(a.names, b.names))
    return logical(interpreter.lanes, is_and, a, b)


def _not(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    argument = child(node, "argument")
    assert argument is not None
    return opposite(interpreter, tested(interpreter, interpreter.evaluate(argument, frame)))


def _comparison(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    values = [_as_pair(interpreter, interpreter.evaluate(item, frame)) for item in operands(node)]
    signs = [c.type for c in node.children_by_field_name("operators")]
    if len(signs) != len(values) - 1:
        return Unknown((oneline(node, 60),))
    result: Value = True
    for sign, a, b in zip(signs, values, values[1:], strict=False):
        one = _is_set(interpreter, sign, a, b, frame)
        if one is None:
            one = compared(interpreter, sign, a, b)
        if one is MISSING:
            one = compare(interpreter.lanes, sign, a, b)
        if isinstance(one, Unknown):
            one = _taken_for_granted(sign, a, b, operands(node), one)
        if isinstance(one, Unknown):
            words = (oneline(node, 80),)
            one = Unknown(words, one.arch, holds=unnamed(words, "architecture" if one.arch else "expr"))
        result = one if result is True else logical(interpreter.lanes, True, result, one)
    return result


def _as_pair(interpreter: Interpreter, value: Value) -> Value:
    """A named tuple as the tuple that it is, an object of a major and a minor as their pair; also in a container."""
    if isinstance(value, tuple) and any(isinstance(item, InstanceV) for item in value):
        return type(value)(_as_pair(interpreter, item) for item in value)
    if not isinstance(value, InstanceV):
        return value
    if is_named_tuple(value.cls):
        return as_tuple(interpreter, value)
    if value.fields.keys() != _PAIR or class_member(interpreter, value.cls, "__ge__", value.cls) is not MISSING:
        return value
    return tuple(evaluated(interpreter, value.fields[name]) for name in ("major", "minor"))


_PAIR = {"major", "minor"}


def _is_set(interpreter: Interpreter, sign: str, key: Value, holder: Value, frame: Frame) -> Value:
    """What `"NAME" in os.environ` says; None if that is not what is asked."""
    if sign not in ("in", "not in") or not isinstance(key, str) or not _is_environment(holder):
        return None
    held = variable(interpreter, key, None, frame.module)
    if isinstance(held, Unknown):
        return held
    is_set = Assumed(False, held.names, True) if isinstance(held, Assumed) else held is not None
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
    when = taken(interpreter, condition, frame)
    unless = negated(when, interpreter.lanes.all)
    sides = [(node, side) for node, side in ((then, when), (other, unless)) if side != 0]
    return combine(interpreter, [(interpreter.evaluate(node, frame), side) for node, side in sides])


def _operator(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    left, right, sign = child(node, "left"), child(node, "right"), child(node, "operator")
    assert left is not None and right is not None and sign is not None
    a, b = interpreter.evaluate(left, frame), interpreter.evaluate(right, frame)
    value = calculated(interpreter, text(sign), a, b)
    if value is MISSING:
        value = binary(interpreter.lanes, text(sign), a, b)
    if not isinstance(value, Unknown):
        return value
    return Unknown((oneline(node, 60),), value.arch, raises=value.raises)


def _unary(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    argument, sign = child(node, "argument"), child(node, "operator")
    assert argument is not None and sign is not None
    value = interpreter.evaluate(argument, frame)
    found = sent(interpreter, value, UNARY[sign.type])
    if found is not MISSING:
        return found
    if isinstance(value, Capability) and sign.type == "+":
        return value
    function = PURE[{"-": "operator.neg", "+": "operator.pos", "~": "operator.invert"}[sign.type]]
    found = applied(interpreter, function, (value,))
    known = found is not MISSING and not isinstance(found, Unknown)
    return found if known else Unknown((oneline(node, 60),), depends(value))


def _subscript(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    owner, index = child(node, "value"), child(node, "subscript")
    assert owner is not None and index is not None
    full = text(node)
    holder = interpreter.evaluate(owner, frame)
    if isinstance(holder, InstanceV):
        holder = _as_pair(interpreter, holder)
    stored = MISSING
    if index.type == "string" and not isinstance(holder, DictV) and owner.type == "identifier":
        stored = _stored(interpreter, full, text(owner), frame, node.start_byte)
    if stored is not MISSING:
        return stored
    held = interpreter.lanes.groups(holder)
    alike = [(one[0], mask) for one, mask in held if isinstance(one, AlikeV)]
    if index.type != "slice" and len(alike) == len(held):
        return interpreter.lanes.merge(alike)
    if index.type == "slice":
        return _slice(interpreter, holder, index, frame)
    if holder is None or isinstance(holder, (SetV, IterV)):
        return Unknown((oneline(node, 60),), depends(holder), lost=True)
    key = interpreter.evaluate(index, frame)
    given = _given_for(interpreter, holder, key, text(owner))
    if given is not MISSING:
        return given
    if _is_environment(holder):
        return variable(interpreter, key, MISSING, frame.module)
    if isinstance(holder, PropertiesV) and isinstance(key, str):  # triton's are a dict
        return attribute(interpreter, holder, key, full)
    value = interpreter.lanes.lift(lambda h, k: _index(interpreter, h, k), holder, key)
    if isinstance(value, Unknown) and not (interpreter.tries and value.raises == "KeyError"):
        return Unknown((oneline(node, 60),), value.arch, lost=value.lost, raises=value.raises)
    return value


def _given_for(interpreter: Interpreter, holder: Value, key: Value, owner: str) -> Value:
    """What an object, a class, or something that nobody can tell (`owner` in the code) gives for a key; MISSING if that
    is not known.
    """
    if isinstance(holder, ClassV):
        return class_item(interpreter, holder, key)
    if isinstance(holder, DictV) and isinstance(key, Unknown):
        return any_row(interpreter, holder, key)
    if isinstance(holder, Unknown) and isinstance(key, str) and not holder.lost:
        seeded = interpreter.knowledge.seed_item(owner, key, interpreter.lanes)
        if seeded is not None:
            return Capability(True) if isinstance(seeded, Capability) else seeded
    return sent(interpreter, holder, "__getitem__", (key,))


def _stored(interpreter: Interpreter, full: str, owner: str, frame: Frame, position: int) -> Value:
    """What `TABLE["key"] = value` has stored, here or around; MISSING if nothing has."""
    current: Frame | None = frame
    while current is not None:
        if full in current.scope.bindings:
            value = resolve(interpreter, full, current, position)
            watched = value is MISSING or position == END or spoiled(interpreter, owner, current, ListV()) is not None
            alone = len(current.scope.bindings[full]) == len(current.scope.changes.get(owner, ()))
            return value if value is MISSING or (not watched and alone) else doubted(value, (owner,))
        current, position = current.parent, END
    return MISSING


def _slice(interpreter: Interpreter, holder: Value, index: Node, frame: Frame) -> Value:
    bounds: list[Node | None] = [None]
    for part in index.children:
        if part.type == ":":
            bounds.append(None)
        elif part.is_named and part.type != "comment":
            bounds[-1] = part
    values = [None if bound is None else interpreter.evaluate(bound, frame) for bound in bounds[:3]]

    def cut(held: Value, *places: Value) -> Value:
        start, stop, step = (*places, None, None, None)[:3]
        if isinstance(held, Capability) and start in (None, 0) and stop == 2 and step is None:
            return interpreter.lanes.pair
        part = slice(*(place if isinstance(place, int) else None for place in (start, stop, step)))
        if not all(place is None or type(place) is int for place in (start, stop, step)) or step == 0:
            return Unknown(("slice",), depends(held), lost=True)
        if isinstance(held, str):
            return held[part]
        if isinstance(held, tuple) and not isinstance(held, (SetV, AlikeV, IterV, ViewV)):
            return type(held)(tuple(held)[part])
        return Unknown(("slice",), depends(held), lost=True)

    return interpreter.lanes.lift(cut, holder, *values)


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
            return _kept(interpreter, bound, full, owner, frame)
    if frame.parent is not None and owner.type != "call" and _is_patched(full, frame):
        return Unknown((full[:60],), lost=True)
    stated = interpreter.knowledge.stated(full, interpreter.lanes)
    if stated is not None:
        return stated
    holder = interpreter.evaluate(owner, frame)
    if isinstance(holder, Unknown) and holder.raises == "KeyError":
        return holder
    name = text(name_node)
    if isinstance(holder, ExternalV) and _is_given(frame.module, name.encode()):
        return Unknown((full[:60],), lost=True)
    if not isinstance(holder, Partitioned):
        return attribute(interpreter, holder, name, full)
    return interpreter.lanes.merge(
        (attribute(interpreter, h, name, full), mask) for h, mask in interpreter.lanes.groups(holder)
    )


def _kept(interpreter: Interpreter, bound: Value, full: str, owner: Node, frame: Frame) -> Value:
    """What was stored in an attribute, if nothing else stores there: of an object, by whatever name it goes."""
    name = full.rsplit(".", 1)[-1]
    holder = interpreter.evaluate(owner, frame)
    cls = holder.cls if isinstance(holder, InstanceV) else holder
    if isinstance(holder, InstanceV) and is_intercepted(interpreter, holder.cls, name):
        return Unknown((full[:60],), lost=True)
    here = len(frame.scope.bindings[full])
    if isinstance(cls, ClassV):
        return unchanged(interpreter, bound, cls, name, here)
    if isinstance(holder, ExternalV):
        return doubted(bound, (full,))
    return bound


def _is_patched(full: str, frame: Frame) -> bool:
    """Whether the module stores to an attribute of something outside of it: `torch.cuda.is_available = …`."""
    while frame.parent is not None:
        frame = frame.parent
    return full in frame.scope.bindings


def _is_given(module: Module, name: bytes) -> bool:
    """Whether a module stores to an attribute of that name: of something outside it may be any."""
    key = ("given", name)
    if key not in module.memo:
        module.memo[key] = any(
            not match[1].startswith((b"self.", b"cls."))
            for match in matches(_GIVEN, module.data, b"." + name + b" = ")
            if match[2] == name
        )
    return bool(module.memo[key])


_GIVEN = re.compile(rb"^[ \t]*([\w.]+\.)(\w+) = ", re.MULTILINE)


def _lambda(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    return FuncV(frame.module, node, frame)


def _named(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    value = child(node, "value")
    return interpreter.evaluate(value, frame) if value is not None else Unknown()


def _comprehension(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    body = child(node, "body")
    steps = [c for c in node.named_children if c.type in ("for_in_clause", "if_clause")]
    source = child(steps[0], "right") if steps else None
    left = child(steps[0], "left") if steps else None
    if body is None or left is None or source is None or steps[0].type != "for_in_clause":
        return Unknown((oneline(node, 60),))
    held = interpreter.evaluate(source, frame)
    items = items_of(interpreter.lanes, held)
    several = any(c.type == "for_in_clause" for c in steps[1:])
    if items is None or len(items) > LONGEST_LOOP:
        return (
            _of_any(interpreter, node, body, left, frame) if not several else Unknown((oneline(node, 60),), lost=True)
        )
    if several and b":=" in (node.text or b""):
        return Unknown((oneline(node, 60),), lost=True)
    found: list[tuple[Value, Value]] = []
    if not _gathered(interpreter, steps, body, frame, True, found):
        return Unknown((oneline(node, 60),), lost=True)
    if node.type == "dictionary_comprehension":
        if type(held) is AlikeV:
            return Unknown((oneline(node, 60),), depends(held))
        return _table(interpreter, found, node)
    result: Value = ListV()
    for item, keep in found:
        result = _added(interpreter, result, keep, item)
    if type(held) is AlikeV:
        return (
            AlikeV(result) if isinstance(result, tuple) and result else Unknown((oneline(node, 60),), depends(result))
        )
    if isinstance(held, SetV) and len(held) > 1 and node.type != "set_comprehension":
        return SetV(result) if isinstance(result, tuple) else Unknown((oneline(node, 60),), depends(result), lost=True)
    if node.type == "set_comprehension":
        return interpreter.lanes.merge(
            (
                SetV(dict.fromkeys(one))
                if isinstance(one, tuple) and is_constant(one)
                else Unknown((oneline(node, 60),), depends(one), lost=True),
                mask,
            )
            for one, mask in interpreter.lanes.groups(interpreter.lanes.whole(result))
        )
    return result


def _gathered(
    interpreter: Interpreter, steps: list[Node], body: Node, frame: Frame, keep: Value, found: list[tuple[Value, Value]]
) -> bool:
    """Adds the items that a comprehension goes through, and whether each is kept; False if nobody can tell them."""
    if not steps:
        if body.type == "pair":
            key, value = child(body, "key"), child(body, "value")
            if key is None or value is None:
                return False
            held = interpreter.evaluate(value, frame)
            found.append(((interpreter.evaluate(key, frame), held), keep))
        else:
            found.append((interpreter.evaluate(body, frame), keep))
        return len(found) <= LONGEST_LOOP
    first, *rest = steps
    if first.type == "if_clause":
        truth = truth_of(interpreter.lanes, interpreter.evaluate(operands(first)[0], frame))
        met = logical(interpreter.lanes, True, keep, truth)
        return met is False or _gathered(interpreter, rest, body, frame, met, found)
    source, left = child(first, "right"), child(first, "left")
    items = items_of(interpreter.lanes, interpreter.evaluate(source, frame)) if source is not None else None
    if items is None or left is None or len(items) > LONGEST_LOOP:
        return False
    if len(items) > 1 and b"lambda" in (body.text or b"") and any(n.type == "lambda" for n in walk(body)):
        return False  # they all see the last item
    for item in items:
        one = Frame(frame.module, NO_SCOPE, frame, loop_names(interpreter, left, item))
        whole = _gathered(interpreter, rest, body, one, keep, found)
        one.memo.clear()
        if not whole:
            return False
    return True


def _table(interpreter: Interpreter, found: list[tuple[Value, Value]], node: Node) -> Value:
    """The table that a comprehension makes."""
    rows = [row for row, _ in found if isinstance(row, tuple)]  # they are pairs, all of them
    if all(keep is True for _, keep in found):
        return table_of(rows, False)
    lost = Unknown((oneline(node, 60),), any(depends(keep) for _, keep in found), lost=True)
    if not all(isinstance(one, bool) for _, keep in found for one, _ in interpreter.lanes.groups(keep)):
        return lost
    parts: list[tuple[Value, int]] = []
    for keeps, mask in interpreter.lanes.spread(tuple(keep for _, keep in found)):
        parts.append((table_of([row for row, kept in zip(rows, keeps, strict=True) if kept], False), mask))
    return interpreter.lanes.merge(parts)


def _of_any(interpreter: Interpreter, node: Node, body: Node, left: Node, frame: Frame) -> Value:
    """A comprehension over what nobody can tell, such as all devices: they are alike, so one stands for all."""
    one = Frame(frame.module, NO_SCOPE, frame, loop_names(interpreter, left, None))
    value = interpreter.evaluate(body, one)
    one.memo.clear()
    return AlikeV((value,)) if depends(value) else Unknown((oneline(node, 60),))


def _added(interpreter: Interpreter, items: Value, keep: Value, item: Value) -> Value:
    if keep is True and isinstance(items, tuple):
        return ListV((*items, item))

    def add(held: Value, wanted: Value) -> Value:
        return ListV((*held, item)) if wanted and isinstance(held, tuple) else held

    return interpreter.lanes.lift(add, items, keep)


def _generator(interpreter: Interpreter, node: Node, frame: Frame) -> Value:
    value = _comprehension(interpreter, node, frame)
    return interpreter.lanes.merge(
        (IterV(one) if type(one) is ListV else one, mask) for one, mask in interpreter.lanes.groups(value)
    )


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
    "dictionary_comprehension": _comprehension,
    "generator_expression": _generator,
}
