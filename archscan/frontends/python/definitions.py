"""Where the list behind a name is written, and the gate that is moved there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.evaluate import Interpreter
from archscan.frontends.python.frames import Frame
from archscan.frontends.python.modules import Module
from archscan.frontends.python.notes import said_above
from archscan.frontends.python.scopes import Binding
from archscan.frontends.python.syntax import arguments, inner, line_of, oneline, operands, place, text
from archscan.frontends.python.syntax import field as child
from archscan.model.gate import Does, Effect, Gate, Kind, Related, Role
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates import ModulePass

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
        bindings = current.scope.bindings.get(name)
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


def named_list(spot: Node, frame: Frame, interpreter: Interpreter) -> tuple[Node, bool] | None:
    """For `capability in NAMED` the literal behind the module-level name and whether it says `in`; else None."""
    signs = [c.type for c in spot.children_by_field_name("operators")] if spot.type == "comparison_operator" else []
    parts = operands(spot)
    if len(signs) != 1 or signs[0] not in ("in", "not in") or parts[-1].type != "identifier":
        return None
    found = definition(text(parts[-1]), frame, interpreter)
    if found is None or found[0].parent is not None or found[0].module is not frame.module:
        return None
    literal = inner(found[1])
    positional, _ = arguments(literal) if literal.type == "call" else ([], {})
    literal = inner(positional[0]) if len(positional) == 1 else literal
    return (literal, signs[0] == "in") if literal.type in _CONTAINERS else None


def at_definition(scan: ModulePass, gate: Gate, literal: Node, is_in: bool, where: Node) -> Gate:
    """The gate of a named list, moved to the list: what it admits, and what happens to the others."""
    arm = gate.arms[0]
    if not is_in:
        does, rest = gate.rest, arm.effect
        does = does if does.does is not Does.NOTHING else Effect(Does.WORK, arm.effect.line)
        own, truth = ~arm.own, Truth(gate.reach.yes & arm.own.no, arm.truth.yes) if gate.reach else ~arm.truth
        arm = replace(
            arm, own=own, truth=truth, assumed=~arm.assumed, effect=does, body=None, digest="", features=(), calls=()
        )
    else:
        rest = gate.rest
    spot = place(literal, scan.module.data)
    use = Related(gate.path, line_of(where), Role.CALLER, oneline(where, 100))
    near = " ".join((gate.near, *said_above(literal), said_beside(literal))).strip()
    return replace(
        gate, kind=Kind.ALLOW_LIST, place=spot, arms=(replace(arm, place=spot, condition=oneline(literal)),),
        rest=rest, related=(use, *gate.related)[:12], near=near[:1200],
    )  # fmt: skip


def said_beside(literal: Node) -> str:
    """The comment behind a list on its last line."""
    after = literal.next_sibling or (literal.parent.next_sibling if literal.parent is not None else None)
    while after is not None and after.start_point[0] == literal.end_point[0]:
        if after.type == "comment":
            return text(after).lstrip("# ")
        after = after.next_sibling
    return ""
