"""Gates that are enumerations of targets: `Arch(major * 10 + minor)` raises for a chip that has no member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.gates.effects import caught
from archscan.frontends.python.gates.lists import emit, names_targets
from archscan.frontends.python.interpreter.classes import class_member
from archscan.frontends.python.interpreter.conditions import answer_of
from archscan.frontends.python.interpreter.containers import SetV
from archscan.frontends.python.interpreter.lanewise import compare
from archscan.frontends.python.interpreter.values import ClassV, MemberV, Value, depends, is_constant
from archscan.frontends.python.source.syntax import arguments, line_of, operands, text
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Does, Effect, Kind, Layer, Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


def visit_member(scan: GateCollector, path: list[Node], call: Node) -> bool:
    """Adds the gate of a call that looks a member of an enumeration up by its value; whether it is such a call."""
    function, (positional, keywords) = child(call, "function"), arguments(call)
    if function is None or function.type != "identifier" or len(positional) != 1 or keywords:
        return False
    frame = scan.frame(path)
    cls = scan.interpreter.evaluate(function, frame)
    if not isinstance(cls, ClassV):
        return False
    members = _members(scan, cls) if _is_enum(cls) else ()
    if not names_targets(members, scan):
        return False
    scan.traced()
    value = scan.interpreter.evaluate(positional[0], frame)
    own = answer_of(scan.interpreter, compare(scan.interpreter.lanes, "in", value, SetV(members)), call)
    if depends(value) and own.varies:
        refused = caught(Effect(Does.RAISES, line_of(call), None, "ValueError"), path)
        where = Related(cls.module.path, line_of(cls.node), Role.DEFINITION, f"class {cls.name}")
        emit(scan, Kind.CHECK, call, own, refused, (where,), path, frame, Layer.PYTHON, call)
    return True


def _is_enum(cls: ClassV) -> bool:
    holder = child(cls.node, "superclasses")
    return holder is not None and any(text(base).endswith("Enum") for base in operands(holder))


def _members(scan: GateCollector, cls: ClassV) -> tuple[Value, ...]:
    """The values of an enumeration that name targets: 0 for an unknown one is none."""
    names = [n for n, b in scan.interpreter.class_frame(cls).scope.bindings.items() if b[-1].kind == "assign"]
    members = [class_member(scan.interpreter, cls, name, cls) for name in names]
    values = [member.value if isinstance(member, MemberV) else member for member in members]
    return tuple(value for value in values if is_constant(value) and value not in (0, -1, None, ""))
