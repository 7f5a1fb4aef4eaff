"""Replays what a statement changes in a container: methods, subscripts, `del` and augmented assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.containers import ListV, SetV, ViewV
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.lanewise import binary
from archscan.frontends.python.interpreter.values import (
    DictV,
    Partitioned,
    PerTarget,
    Unknown,
    Value,
    depends,
    is_constant,
    is_mutable,
)
from archscan.frontends.python.source.scopes import Binding
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import operands

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

LOST = Unknown(("changed",), lost=True)


def changed_by(interpreter: Interpreter, binding: Binding, held: Value, frame: Frame) -> Value:
    """What a container holds after a statement that changes it."""
    lost = Unknown((binding.name,), depends(held), lost=True)
    how = binding.operator
    if how == "set":
        index = _index_of(binding)
        if index is None or binding.value is None:
            return lost
        args: tuple[Value, ...] = (interpreter.evaluate(index, frame), interpreter.evaluate(binding.value, frame))
    elif binding.value is None or how == "del":
        if binding.value is None or binding.value.type == "slice":
            return lost
        args = (interpreter.evaluate(binding.value, frame),)
    else:
        if any(a.type in ("keyword_argument", "list_splat", "dictionary_splat") for a in operands(binding.value)):
            return lost
        args = tuple(interpreter.evaluate(a, frame) for a in operands(binding.value))
    if type(held) is ListV and how == "append" and len(args) == 1:
        return ListV((*held, args[0]))
    if isinstance(held, DictV):
        value = _of_table(interpreter, how, held, args)
    else:
        value = interpreter.lanes.lift(lambda h, *a: _of_items(how, h, a), held, *args)
    return lost if isinstance(value, Unknown) else value


def _index_of(binding: Binding) -> Node | None:
    """The index of `name[index] = value`, if that is all the statement is."""
    left = child(binding.node, "left") if binding.node.type == "assignment" else None
    index = child(left, "subscript") if left is not None and left.type == "subscript" else None
    alone = index is not None and index.type != "slice" and child(binding.node, "right") == binding.value
    return index if alone else None


def augmented(lanes: PerTarget, sign: str, held: Value, value: Value) -> Value:
    """What `name += value` leaves in a name: of a list, whatever items are added to it."""
    if isinstance(held, ListV) and type(held) is not ViewV and sign == "+":
        return ListV((*held, *value)) if isinstance(value, tuple) and not isinstance(value, SetV) else LOST
    if isinstance(held, (SetV, DictV)) or (isinstance(held, Partitioned) and is_mutable(held)):
        found = binary(lanes, sign, held, value)
        return found if type(found) is type(held) else LOST
    return binary(lanes, sign, held, value)


def _of_table(interpreter: Interpreter, how: str, held: DictV, args: tuple[Value, ...]) -> Value:
    """A table after a change, if its keys can be told apart."""
    if held.open or not all(is_constant(key) for key, _ in held.rows):
        return LOST
    rows = dict(held.rows)
    if how == "clear" and not args:
        return DictV(())
    if how == "update" and len(args) == 1 and isinstance(args[0], DictV) and not args[0].open:
        if not all(is_constant(key) for key, _ in args[0].rows):
            return LOST
        return DictV(tuple({**rows, **dict(args[0].rows)}.items()))
    if not args or not is_constant(args[0]) or is_mutable(args[0]):
        return LOST
    if how in ("set", "__setitem__") and len(args) == 2:
        return DictV(tuple({**rows, args[0]: args[1]}.items()))
    if how == "setdefault" and len(args) < 3:
        return (
            DictV(tuple({args[0]: None if len(args) < 2 else args[1], **rows}.items())) if args[0] not in rows else held
        )
    if how in ("del", "pop", "__delitem__") and (args[0] in rows or (how == "pop" and len(args) == 2)):
        return DictV(tuple((k, v) for k, v in held.rows if k != args[0]))
    return LOST


def _of_items(how: str, held: Value, args: tuple[Value, ...]) -> Value:
    """A list or set of constants after a change."""
    if not isinstance(held, (ListV, SetV)) or type(held) not in (ListV, SetV):
        return LOST
    if not all(is_constant(a) for a in (held, *args)):
        return LOST
    try:
        if isinstance(held, SetV):
            return _of_set(how, held, args)
        items = list(held)
        if how == "set" and type(args[0]) is int:
            items[args[0]] = args[1]
        elif how == "del" and type(args[0]) is int:
            del items[args[0]]
        elif how in ("extend", "append", "insert", "remove", "pop", "clear", "reverse", "sort"):
            if any(isinstance(a, SetV) for a in args) and how == "extend":
                return LOST
            getattr(items, how)(*args)
        else:
            return LOST
    except (TypeError, ValueError, IndexError):
        return LOST
    return ListV(items)


def _of_set(how: str, held: SetV, args: tuple[Value, ...]) -> Value:
    if how not in ("add", "discard", "remove", "clear", "update", "difference_update", "intersection_update"):
        return LOST
    items = dict.fromkeys(held)
    if how == "clear":
        return SetV()
    if how == "add":
        return SetV(dict.fromkeys((*held, args[0])))
    if how in ("discard", "remove"):
        if how == "remove" and args[0] not in items:
            return LOST
        return SetV(item for item in items if item != args[0])
    if len(args) != 1 or not isinstance(args[0], tuple):
        return LOST
    if how == "update":
        return SetV(dict.fromkeys((*held, *args[0])))
    return SetV(item for item in items if (item in args[0]) is (how == "intersection_update"))
