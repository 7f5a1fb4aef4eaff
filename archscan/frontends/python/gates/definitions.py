"""Where the list behind a name is written, and the gate that is moved there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tree_sitter import Node

from archscan.frontends.python.interpreter.evaluate import Interpreter
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.source.comments import said_above
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import Binding
from archscan.frontends.python.source.syntax import (
    arguments,
    inner,
    line_of,
    oneline,
    operands,
    place,
    statements,
    text,
)
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Does, Effect, Gate, Kind, Related, Role
from archscan.model.truth import Truth

_CONTAINERS = ("list", "tuple", "set", "expression_list")


def literal_of(node: Node, frame: Frame, interpreter: Interpreter) -> tuple[Module, Node]:
    """Where a list is written: itself, or the definition of the name that stands for it."""
    node = inner(node)
    seen = 0
    while seen < 6:
        seen += 1
        if node.type == "call":  # list(NAME), frozenset({...})
            positional, _ = arguments(node)
            if not positional:
                break
            node = inner(positional[0])
            continue
        if node.type not in ("identifier", "attribute"):
            break
        found = definition(text(node), frame, interpreter)
        if found is None:
            break
        frame, node = found
        node = inner(node)
    return frame.module, node


def definition(name: str, frame: Frame, interpreter: Interpreter) -> tuple[Frame, Node] | None:
    """The frame and value node of a name's last plain assignment, over imports."""
    current: Frame | None = frame
    while current is not None:
        bindings = current.scope.of(name)
        if bindings:
            return _bound(bindings[-1], current, interpreter)
        current = current.parent
    return None


def _bound(binding: Binding, frame: Frame, interpreter: Interpreter) -> tuple[Frame, Node] | None:
    if binding.kind == "assign" and binding.value is not None:
        return frame, binding.value
    if binding.kind != "import" or binding.node.type != "import_from_statement":
        return None
    source = child(binding.node, "module_name")
    written = text(source) if source is not None else ""
    dotted = written.lstrip(".")
    level = len(written) - len(dotted)
    graph = interpreter.graph
    module = graph.relative(level, dotted, frame.module) if level else graph.absolute(dotted, frame.module)
    if module is None or module is frame.module:
        return None
    return definition(binding.operator, interpreter.module_frame(module), interpreter)


@dataclass(frozen=True)
class Named:
    """A list with a name that a condition looks the target up in; `admits` = the condition says `in`."""

    module: Module
    literal: Node
    admits: bool


def named_list(spot: Node, frame: Frame, interpreter: Interpreter, hops: int = 3) -> Named | None:
    """The list of a module or class behind `capability in NAMED`, a flag that says so, or a loop over it."""
    spot = inner(spot)
    if spot.type == "identifier" and hops:
        flag = definition(text(spot), frame, interpreter)
        return named_list(flag[1], flag[0], interpreter, hops - 1) if flag is not None else None
    if spot.type == "not_operator":
        found = named_list(operands(spot)[0], frame, interpreter, hops)
        return None if found is None else replace(found, admits=not found.admits)
    signs = [c.type for c in spot.children_by_field_name("operators")] if spot.type == "comparison_operator" else []
    if len(signs) != 1:
        return None
    if signs[0] in ("in", "not in"):
        return _named(operands(spot)[-1], frame, interpreter, signs[0] == "in")
    looped = [source for part in operands(spot) if (source := _loop_over(part, frame)) is not None]
    return _named(looped[0], frame, interpreter, True) if looped and signs[0] == "==" else None


def _loop_over(name: Node, frame: Frame) -> Node | None:
    """What the loop goes over that a name is the variable of."""
    bindings = frame.scope.of(text(name)) if name.type == "identifier" else []
    return bindings[-1].value if bindings and bindings[-1].kind == "loop" else None


def _named(name: Node, frame: Frame, interpreter: Interpreter, admits: bool) -> Named | None:
    if name.type == "attribute":
        value = class_value(frame.module, frame.module.descend(name.start_byte), text(name))
        return Named(frame.module, value, admits) if value is not None and value.type in _CONTAINERS else None
    found = definition(text(name), frame, interpreter) if name.type == "identifier" else None
    if found is None or found[0].parent is not None:
        return None
    literal = inner(found[1])
    positional, _ = arguments(literal) if literal.type == "call" else ([], {})
    literal = inner(positional[0]) if len(positional) == 1 else literal
    return Named(found[0].module, literal, admits) if literal.type in _CONTAINERS else None


def at_definition(gate: Gate, named: Named, where: Node) -> Gate:
    """The gate of a named list, moved to the list: what it admits, and what happens to the others."""
    literal = named.literal
    arm = gate.arms[0]
    if not named.admits:
        does, rest = gate.rest, arm.effect
        does = does if does.does is not Does.NOTHING else Effect(Does.WORK, arm.effect.line)
        own, truth = ~arm.own, Truth(gate.reach.yes & arm.own.no, arm.truth.yes) if gate.reach else ~arm.truth
        arm = replace(
            arm, own=own, truth=truth, assumed=~arm.assumed, effect=does, body=None, digest="", features=(), calls=()
        )
    else:
        rest = gate.rest
    spot = place(literal, named.module.data)
    use = Related(gate.path, line_of(where), Role.CALLER, oneline(where, 100))
    near = " ".join((gate.near, *said_above(literal), said_beside(literal))).strip()
    return replace(
        gate,
        path=named.module.path,
        kind=Kind.ALLOW_LIST,
        place=spot,
        arms=(replace(arm, place=spot, condition=oneline(literal)),),
        rest=rest,
        related=(use, *gate.related)[:12],
        near=near[:1200],
    )


def said_beside(literal: Node) -> str:
    """The comment behind a list on its last line."""
    after = literal.next_sibling or (literal.parent.next_sibling if literal.parent is not None else None)
    while after is not None and after.start_point[0] == literal.end_point[0]:
        if after.type == "comment":
            return text(after).lstrip("# ")
        after = after.next_sibling
    return ""


def class_value(module: Module, path: list[Node], name: str) -> Node | None:
    """What the body of a class gives to `self.NAME`, `cls.NAME` or `Class.NAME`."""
    holder, _, name = name.rpartition(".")
    classes = [n for n in path if n.type == "class_definition"]
    if holder not in ("self", "cls"):
        classes = [b.value for b in module.scope.of(holder) if b.kind == "class" and b.value is not None]
    body = child(classes[-1], "body") if classes and name else None
    for statement in statements(body) if body is not None else ():
        assignment = statement.named_children[0] if statement.type == "expression_statement" else statement
        left, right = child(assignment, "left"), child(assignment, "right")
        if left is not None and right is not None and text(left) == name:
            return inner(right)
    return None
