"""Gates that are ternaries, asserts, returned truths, assigned flags and filters of comprehensions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.gates.arms import arm_of, arms_of, gate_of, has_suffix, is_gate, renames, varies
from archscan.frontends.python.gates.definitions import at_definition, named_list
from archscan.frontends.python.gates.effects import after, asserted, caught, effect_of, is_log
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.interpreter.conditions import answer, answer_of, conjunct_of, focus
from archscan.frontends.python.interpreter.replay import names_in
from archscan.frontends.python.interpreter.values import Assumed, Unknown, Value, depends
from archscan.frontends.python.source.syntax import arguments, inner, line_of, oneline, operands, statements, text, walk
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.triggers import occurrences
from archscan.model.gate import Does, Effect, Kind, Related

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


def visit_conditional(scan: GateCollector, path: list[Node]) -> None:
    node, below = path[-2], path[-1]
    parts = operands(node)
    if len(parts) != 3 or below != parts[1] or not scan.once(node, "ifexp"):
        return
    outer = len(path) - 2
    above = outer
    while above > 1:  # `a if x else b if y else c` is one ladder, with brackets or without
        above -= 1
        if path[above].type == "conditional_expression" and inner(operands(path[above])[2]) == path[outer]:
            if not answer(scan.interpreter, operands(path[above])[1], scan.frame(path[: above + 1])).arch:
                break  # another question decides first
            outer = above
        elif path[above].type != "parenthesized_expression":
            break
    if path[outer] is not node and outer != len(path) - 2 and not scan.once(path[outer], "ifexp"):
        return
    scan.traced()
    frame = scan.frame(path)
    arms_nodes, last = _ternary(path[outer])
    answers = [answer(scan.interpreter, condition, frame) for condition, _ in arms_nodes]
    if not is_gate(scan, answers, [c for c, _ in arms_nodes], frame):
        return
    results = [*(value for _, value in arms_nodes), last]
    if renames(scan, results, frame) or _is_told(path[:outer]):
        return
    related, environment = scan.interpreter.places, scan.interpreter.environment
    reach = reach_of(scan, path[: outer + 2]) & has_suffix(scan, [*results], frame)
    made = arms_of(scan, [(c, v, node) for c, v in arms_nodes], answers, reach, frame)
    arms = tuple(
        replace(arm, effect=Effect(Does.ASSIGNS, line_of(value), None, oneline(value, 120)))
        for arm, (_, value) in zip(made, arms_nodes, strict=True)
    )
    first = next(i for i, a in enumerate(answers) if a.arch)
    spot = focus(scan.interpreter, arms_nodes[first][0], frame)
    rest = Effect(Does.ASSIGNS, line_of(last), None, oneline(last, 120), environment)
    gate = gate_of(scan, Kind.CONDITIONAL_EXPRESSION, spot, arms, rest, related, reach, path, frame)
    asked = conjunct_of(arms_nodes[first][0], spot)
    named = named_list(asked, frame, scan.interpreter) if len(arms) == 1 else None
    scan.add(gate if named is None else at_definition(gate, named, spot))


def _is_told(path: list[Node]) -> bool:
    """Whether a value only goes into what a statement tells: a message decides nothing."""
    return any(
        above.type == "expression_statement" and node.type == "call" and is_log(node)
        for above, node in itertools.pairwise(path)
    )


def visit_while(scan: GateCollector, path: list[Node]) -> None:
    """A loop that only some targets enter: `while capability >= (9, 0) and queue: …`."""
    node, below = path[-2], path[-1]
    condition, body = child(node, "condition"), child(node, "body")
    if condition is None or body is None or below != condition or not scan.once(node, "while"):
        return
    scan.traced()
    frame = scan.frame(path)
    asked = {text(n) for n in walk(condition) if n.type == "identifier"}
    if not asked.isdisjoint(names_in(frame.scope, node)):
        return  # it goes on until something comes out
    own = answer(scan.interpreter, condition, frame)
    if not is_gate(scan, [own], [condition], frame):
        return
    related = scan.interpreter.places
    reach = reach_of(scan, path)
    arm = arm_of(scan, condition, body, own, reach & own, frame)
    block = path[-3] if len(path) > 2 else node
    behind = after(node, statements(block)) if block.type in ("block", "module") else []
    spot = focus(scan.interpreter, condition, frame)
    scan.add(gate_of(scan, Kind.IF, spot, (arm,), caught(effect_of(behind), path), related, reach, path, frame))


def visit_assert(scan: GateCollector, path: list[Node]) -> None:
    node, below = path[-2], path[-1]
    condition = operands(node)[0]
    if below != condition or not scan.once(node, "assert"):
        return
    scan.traced()
    frame = scan.frame(path)
    own = answer(scan.interpreter, condition, frame)
    if not is_gate(scan, [own], [path[-1]], frame):
        return
    related = scan.interpreter.places
    reach = reach_of(scan, path)
    arm = arm_of(scan, condition, node, own, reach & own, frame)
    arm = replace(arm, effect=Effect(Does.WORK, line_of(node)), body=None, calls=())
    spot = focus(scan.interpreter, condition, frame)
    scan.add(gate_of(scan, Kind.CHECK, spot, (arm,), asserted(node), related, reach, path, frame))


def visit_return(scan: GateCollector, path: list[Node]) -> None:
    node, value = path[-2], inner(path[-1])
    if _is_condition(value) and scan.once(node, "return"):
        _return_gate(scan, path)


def _return_gate(scan: GateCollector, path: list[Node], last: bool = False) -> None:
    node, value = path[-2], inner(path[-1])
    function = next((n for n in reversed(path) if n.type == "function_definition"), None)
    if function is None:
        return
    scan.traced()
    frame = scan.frame(path)
    own = answer(scan.interpreter, value, frame)
    if value.type == "call" and not _is_truth(scan, scan.interpreter.evaluate(value, frame)):
        return
    if not (varies([own]) if last or value.type == "call" else is_gate(scan, [own], [path[-1]], frame)):
        return
    related = scan.interpreter.places
    if not last and scan.answers_others(function):
        scan.definitions.append((function, lambda: _return_gate(scan, path, True)))
        return
    reach = reach_of(scan, path)
    arm = arm_of(scan, value, value, own, reach & own, frame)
    arm = replace(arm, effect=Effect(Does.RETURNS, line_of(node), None, "True"), body=None)
    rest = Effect(Does.REFUSES, line_of(node), None, "False")
    spot = focus(scan.interpreter, value, frame)
    gate = gate_of(scan, Kind.RETURNED_TRUTH, spot, (arm,), rest, related, reach, path, frame)
    scan.add(replace(gate, extra=(*gate.extra, ("filters", "choices"))) if _only_filters(scan, function) else gate)


def _only_filters(scan: GateCollector, function: Node) -> bool:
    """Whether all that a module does with a function is `filter(function, …)`: its no leaves a choice out."""
    named = child(function, "name")
    if named is None:
        return False
    uses = [scan.module.descend(at) for at in occurrences(scan.module.data, text(named).encode())]
    uses = [path for path in uses if path[-1].type == "identifier" and path[-1] != named]
    return bool(uses) and all(map(_is_given_to_filter, uses))


def _is_given_to_filter(path: list[Node]) -> bool:
    call = path[-3] if len(path) > 2 and path[-2].type == "argument_list" else None
    function = child(call, "function") if call is not None else None
    given = arguments(call)[0] if call is not None and function is not None and text(function) == "filter" else []
    return bool(given) and given[0] == path[-1]


def _is_truth(scan: GateCollector, value: Value) -> bool:
    """Whether a call gives yes or no: a number or name that it gives is no answer."""
    values = [one.value if isinstance(one, Assumed) else one for one, _ in scan.interpreter.lanes.groups(value)]
    return all(one is None or isinstance(one, (bool, Unknown)) for one in values)


def visit_assignment(scan: GateCollector, path: list[Node]) -> None:
    node, below = path[-2], path[-1]
    right, left = child(node, "right"), child(node, "left")
    if below != right or right is None or left is None or not scan.once(node, "assign"):
        return
    scan.traced()
    frame = scan.frame(path)
    value = scan.interpreter.evaluate(right, frame)
    if not depends(value):
        return
    related = scan.interpreter.places
    names = [text(n) for n in (operands(left) if left.type.endswith(("_list", "_pattern")) else [left])]
    uses = [place for name in names for place in scan.spread_name(name, node, path)]
    if not _is_condition(inner(right)) or any(scan.users_of(n) - {scan.module.path} for n in names):
        return
    if not uses:
        _flag_gate(scan, path, value, related)
    elif any(_is_kept(scan.module.descend(place)) for place in uses):
        scan.definitions.append((node, lambda: _flag_gate(scan, path, value, related)))


def _is_kept(path: list[Node]) -> bool:
    """Whether a name's value is returned or stored where nobody sees what becomes of it."""
    below, named = path[-1], False
    for node in reversed(path[:-1]):
        named = named or node.type == "pair"
        if node.type == "return_statement":
            return True
        if node.type == "assignment":
            left = child(node, "left")
            stored = left is not None and (named or left.type in ("attribute", "subscript"))
            return stored and below == child(node, "right")
        if node.type not in ("dictionary", "pair", "list", "tuple", "expression_list", "attribute"):
            return False
        if node.type == "pair" and below != child(node, "value"):
            return False
        below = node
    return False


def _flag_gate(scan: GateCollector, path: list[Node], value: Value, related: tuple[Related, ...]) -> None:
    node, right = path[-2], path[-1]
    frame = scan.frame(path)
    own = answer_of(scan.interpreter, value, right)
    if not own.varies:
        return
    reach = reach_of(scan, path)
    arm = arm_of(scan, right, right, own, reach & own, frame)
    named = child(node, "left")
    meant = scan.features(text(named), node) if named is not None else ()
    features = tuple(dict.fromkeys((*arm.features, *meant)))
    arm = replace(arm, effect=Effect(Does.ASSIGNS, line_of(node), None, "True"), body=None, features=features)
    rest = Effect(Does.ASSIGNS, line_of(node), None, "False")
    spot = focus(scan.interpreter, inner(right), frame)
    scan.add(gate_of(scan, Kind.FLAG, spot, (arm,), rest, related, reach, path, frame))


def visit_lambda(scan: GateCollector, path: list[Node]) -> None:
    """A predicate kept in a table: `"fp8": lambda: capability >= (8, 9)`."""
    node, body = path[-2], inner(path[-1])
    is_kept = len(path) > 2 and path[-3].type in ("pair", "list", "tuple")
    if is_kept and body.type in _CONDITIONS and scan.once(node, "lambda"):
        does, rest = (
            Effect(Does.RETURNS, line_of(node), None, "True"),
            Effect(Does.REFUSES, line_of(node), None, "False"),
        )
        simple(scan, path, body, Kind.RETURNED_TRUTH, does, rest)


_CONDITIONS = ("comparison_operator", "boolean_operator", "not_operator")


def visit_filter(scan: GateCollector, path: list[Node]) -> None:
    node = path[-2]
    if path[-3].type == "case_clause" or not scan.once(node, "filter"):  # a case's guard goes with its case
        return
    simple(scan, path, path[-1], Kind.IF, Effect(Does.WORK, line_of(node)), Effect(Does.SKIPS, line_of(node)))


def simple(
    scan: GateCollector,
    path: list[Node],
    condition: Node,
    kind: Kind,
    does: Effect,
    rest: Effect,
    notes: tuple[tuple[str, str], ...] = (),
) -> None:
    """Adds the gate of a condition that stands for itself; `notes` are what else is known of it."""
    scan.traced()
    frame = scan.frame(path)
    own = answer(scan.interpreter, condition, frame)
    if not (own.arch and own.varies):
        return
    related = scan.interpreter.places
    reach = reach_of(scan, path)
    arm = replace(arm_of(scan, condition, condition, own, reach & own, frame), effect=does, body=None)
    spot = focus(scan.interpreter, condition, frame)
    gate = gate_of(scan, kind, spot, (arm,), rest, related, reach, path, frame)
    scan.add(replace(gate, extra=(*gate.extra, *notes)) if notes else gate)


def _ternary(node: Node) -> tuple[list[tuple[Node, Node]], Node]:
    arms: list[tuple[Node, Node]] = []
    while True:
        then, condition, other = operands(node)[:3]
        arms.append((condition, then))
        if inner(other).type != "conditional_expression":
            return arms, other
        node = inner(other)


def _is_condition(node: Node) -> bool:
    return node.type in _CONDITIONS or node.type == "call"
