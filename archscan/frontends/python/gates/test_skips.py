"""Tests that are skipped by a mark: `pytest.mark.skipif(condition, …)`, `unittest.skipUnless(condition, …)`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, listed, serving
from archscan.frontends.python.gates.arms import answered, traced, words_near
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.interpreter.conditions import Answer, answer, focus
from archscan.frontends.python.source.blocks import scope_of, symbols_in
from archscan.frontends.python.source.syntax import arguments, line_of, place, template, text
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Arm, Does, Effect, Kind, Layer, Scope

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector

_SKIPS = {"skipif": True, "skipIf": True, "skipUnless": False}  # whether a true condition skips


def visit_mark(scan: GateCollector, path: list[Node]) -> bool:
    """Adds the gate of a mark that skips by capability; whether the call is such a mark."""
    call = path[-3] if len(path) > 2 and path[-3].type == "call" else None
    function = child(call, "function") if call is not None else None
    name = text(function).rsplit(".", 1)[-1] if function is not None else ""
    if call is None or name not in _SKIPS:
        return False
    positional, keywords = arguments(call)
    condition = positional[0] if positional else keywords.get("condition")
    if condition is not None and scan.once(call, "skip"):
        _gate(scan, path, call, condition, _SKIPS[name])
    return True


def _gate(scan: GateCollector, path: list[Node], call: Node, condition: Node, skips: bool) -> None:
    scan.traced()
    frame = scan.frame(path)
    own = answer(scan.interpreter, condition, frame)
    if not (own.arch and own.varies):
        return
    spot = focus(scan.interpreter, condition, frame)
    tested = _tested(call)
    positional, keywords = arguments(call)
    reason = next((t for a in (*keywords.values(), *positional[1:]) if (t := template(a))), "")
    runs = Effect(Does.WORK, line_of(tested or call))
    skipped = Effect(Does.SKIPS, line_of(call), reason)
    reach = reach_of(scan, path)
    arm = _arm(scan, spot, condition, own, reach & own, skipped if skips else runs)
    name = child(tested, "name") if tested is not None else None
    near = f"{words_near(scan, call, path)} {reason}".strip()
    words = f"{near} {text(name) if name is not None else ''}"
    about = About(
        scope=Scope(text(name)) if name is not None else scope_of(path),
        reach=reach.truth,
        related=traced(scan.interpreter.places),
        near=near,
        symbols=symbols_in(condition),
        assumptions=TAKEN_FOR_GRANTED,
    )
    arm = arm if skips else replace(arm, features=scan.features(words, call))
    rest = runs if skips else skipped
    scan.add(listed(scan.module.path, Layer.PYTHON, Kind.TEST_SKIP, arm, rest, about))


def _arm(scan: GateCollector, spot: Node, condition: Node, own: Answer, effective: Answer, effect: Effect) -> Arm:
    arm = serving(place(spot, scan.module.data), " ".join(text(condition).split()), own.truth)
    return replace(answered(arm, effective), effect=effect)


def _tested(call: Node) -> Node | None:
    """The function or class that a mark stands on."""
    node = call.parent
    while node is not None and node.type in ("decorator", "argument_list", "call", "list"):
        node = node.parent
    return child(node, "definition") if node is not None and node.type == "decorated_definition" else None
