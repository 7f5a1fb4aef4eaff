"""Gates that are lists: keyword arguments, decorators and arguments whose callee raises for what they leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, listed, serving
from archscan.frontends.python.gates.arms import answered, traced, words_near
from archscan.frontends.python.gates.decisions import simple
from archscan.frontends.python.gates.definitions import literal_of, said_beside
from archscan.frontends.python.gates.effects import message_of, raised
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.gates.requirements import refusal_of
from archscan.frontends.python.gates.test_skips import visit_mark
from archscan.frontends.python.interpreter.calls import outcome_of
from archscan.frontends.python.interpreter.conditions import Answer
from archscan.frontends.python.interpreter.evaluate import Interpreter
from archscan.frontends.python.interpreter.frames import Frame, Outcome, Raise
from archscan.frontends.python.interpreter.knowledge import Requirement, is_check
from archscan.frontends.python.interpreter.lanewise import compare, truth_of
from archscan.frontends.python.interpreter.operations import is_capability
from archscan.frontends.python.interpreter.values import (
    Capability,
    ClassV,
    FuncV,
    PartialV,
    Unknown,
    Value,
    depends,
    encode,
    is_constant,
)
from archscan.frontends.python.source.blocks import calls_in, scope_of, symbols_in
from archscan.frontends.python.source.comments import names_in, said_in
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.syntax import arguments, docstring, inner, line_of, oneline, operands, place, text
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Does, Effect, FeatureUse, Kind, Layer, Related, Role, Scope
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


# A registry that is told in so many words whom an entry is for, wherever it asks for that.
_SUPPORTED = re.compile(
    r"(?i)(?:supported|allowed|compatible|valid)_(?:\w+_)?(?:ccs?|sms?|arch(?:s|es|itectures?)?|capabilit(?:y|ies))$"
)


def admitted(interpreter: Interpreter, values: Value, encoding: str) -> Answer | None:
    """The targets a list names, its items read as majors, SM numbers or pairs; None if it is no such list."""
    if values is None or not isinstance(values, tuple) or not values:
        return None
    lanes = interpreter.lanes
    mine = {"major": lanes.major, "sm": lanes.sm, "pair": lanes.pair}.get(encoding, Capability())
    value = compare(interpreter.lanes, "in", mine, values)
    truth = truth_of(interpreter.lanes, value)
    yes = no = 0
    for one, mask in lanes.groups(truth):
        yes |= mask if one is True else 0
        no |= mask if one is False else 0
    return Answer(Truth(yes, no), Truth(yes, no), arch=True) if yes and no else None


def visit_keyword(scan: GateCollector, path: list[Node]) -> None:
    """supported_major_versions=[9, 10], and any list whose callee raises for the targets that it leaves out."""
    node = path[-2]
    value, name_node = child(node, "value"), child(node, "name")
    call = next((n for n in reversed(path[:-2]) if n.type == "call"), None)
    if call is None or name_node is None or value is None or not scan.once(node, "keyword"):
        return
    path = [*path[:-1], value]
    requirement = scan.interpreter.knowledge.keywords.get(text(name_node))
    scan.traced()
    frame = scan.frame(path)
    values = scan.interpreter.evaluate(value, frame)
    if requirement is None and not names_targets(values, scan):
        _truth_argument(scan, path, value, values, frame, call, text(name_node))
        return
    outcome = outcome_of(scan.interpreter, call, frame)
    raises = [r for r in outcome.raises if r.mask != scan.interpreter.lanes.all and r.is_sure]
    if requirement is not None:
        own = admitted(scan.interpreter, values, requirement.encoding)
        rest, related = _refusal(scan, call, frame, requirement, raises)
    elif raises and is_pair(values) and is_checking(call):
        return  # a bound: the whole call is the gate
    elif raises:
        own = not_raised(scan, raises)
        rest, related = raise_effect(raises[0])
    elif _SUPPORTED.match(text(name_node)) and value.type in ("list", "tuple", "set"):
        own = admitted(scan.interpreter, values, "")
        rest, related = Effect(Does.REFUSES, line_of(call)), ()
    else:
        return
    if own is None:
        return
    layer = Layer(requirement.layer) if requirement is not None else layer_of_call(scan, call, path)
    emit(scan, Kind.KEYWORD_LIST, value, own, rest, related, path, frame, layer, call)


def _truth_argument(
    scan: GateCollector, path: list[Node], value: Node, values: Value, frame: Frame, call: Node, name: str
) -> None:
    """A capability comparison written straight into an argument: f(enable=cap >= 90)."""
    node = inner(value)
    if node.type in ("comparison_operator", "boolean_operator", "not_operator") and depends(values):
        simple(
            scan,
            path,
            node,
            Kind.FLAG,
            Effect(Does.ASSIGNS, line_of(node), None, "True"),
            Effect(Does.ASSIGNS, line_of(node), None, "False"),
            (("unread", name),) if _is_unread(scan, call, name, frame) else (),
        )


def _is_unread(scan: GateCollector, call: Node, name: str, frame: Frame) -> bool:
    """Whether an argument is the field of a record that nothing scanned reads, but for what only asserts its value."""
    function = child(call, "function")
    record = scan.interpreter.evaluate(function, frame) if function is not None else None
    if not isinstance(record, ClassV):
        return False
    body = record.node.text or b""
    if not re.search(rb"\n\s+%b\s*:" % name.encode(), body) or b"__init__" in body or b"NamedTuple" in body:
        return False  # not declared, or handed on by place
    graph = scan.interpreter.graph
    graph.traces.searched(scan.module, ("readers", name), ())
    return not graph.readers(name)


def visit_argument(scan: GateCollector, path: list[Node]) -> None:
    """A list literal given by position to a callee that raises for what it leaves out."""
    value = path[-1]
    call = path[-3] if len(path) > 2 and path[-3].type == "call" else None
    if visit_mark(scan, path):
        return
    if call is not None and value.type in _CONDITIONS:
        _spread_appended(scan, path, call)
    if call is None or value.type not in ("list", "tuple", "set") or not scan.once(value, "argument"):
        return
    if len(path) > 3 and path[-4].type == "decorator":
        return
    scan.traced()
    frame = scan.frame(path)
    values = scan.interpreter.evaluate(value, frame)
    if not names_targets(values, scan):
        return
    raises = [r for r in outcome_of(scan.interpreter, call, frame).raises if r.is_sure]
    if raises:
        rest, related = raise_effect(raises[0])
        emit(
            scan,
            Kind.KEYWORD_LIST,
            value,
            not_raised(scan, raises),
            rest,
            related,
            path,
            frame,
            layer_of_call(scan, call, path),
            call,
        )


_CONDITIONS = ("comparison_operator", "boolean_operator", "not_operator")


def _spread_appended(scan: GateCollector, path: list[Node], call: Node) -> None:
    """Looks at the uses of a list that a condition is appended to: `conditions.append(cap >= 80); all(conditions)`."""
    function = child(call, "function")
    owner, _, method = text(function).rpartition(".") if function is not None else ("", "", "")
    if method == "append" and owner.isidentifier() and scan.once(call, "appended"):
        scan.spread_name(owner, call, path)


def names_targets(values: Value, scan: GateCollector) -> bool:
    target = scan.interpreter.lanes.targets[0][0]
    return (
        isinstance(values, tuple)
        and len(values) > 0
        and all(is_constant(v) and encode(target, v) is not None for v in values)
    )


def is_pair(value: Value) -> bool:
    """Whether two numbers are one capability, (9, 0), and no list of two."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], int) and value[1] < _MOST_MINORS


_MOST_MINORS = 10


def is_checking(call: Node) -> bool:
    """Whether a call is a statement that is there to check, by its name."""
    function = child(call, "function")
    name = text(function).rsplit(".", 1)[-1] if function is not None else ""
    statement = call.parent is not None and call.parent.type == "expression_statement"
    return statement and (is_check(name) or "guard" in name.lower())


def mixed_up(scan: GateCollector, condition: Node, frame: Frame) -> Answer | None:
    """Whom a condition means that compares a pair with numbers, `get_device_capability() in (90, 120)`: true of nobody.

    None where it is no such condition.
    """
    asked = inner(condition)
    if asked.type == "not_operator":
        meant = mixed_up(scan, operands(asked)[0], frame)
        return ~meant if meant is not None else None
    parts = operands(asked) if asked.type == "comparison_operator" else []
    signs = {c.type for c in asked.children_by_field_name("operators")}
    if len(parts) != 2 or not signs <= {"==", "!=", "in", "not in"}:
        return None
    mine, numbers = (scan.interpreter.evaluate(part, frame) for part in parts)
    if not isinstance(numbers, tuple) and signs <= {"==", "!="}:
        numbers = (numbers,)
    pairs = [one for one, _ in scan.interpreter.lanes.groups(scan.interpreter.lanes.whole(mine))]
    if not depends(mine) or not all(is_capability(pair) and isinstance(pair, tuple) for pair in pairs):
        return None
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        return None
    meant = admitted(scan.interpreter, numbers, "") if names_targets(numbers, scan) else None
    return ~meant if meant is not None and signs & {"!=", "not in"} else meant


def not_raised(scan: GateCollector, raises: list[Raise]) -> Answer:
    bad = 0
    for one in raises:
        bad |= one.mask
    truth = Truth(scan.interpreter.lanes.all & ~bad, bad)
    return Answer(truth, truth, arch=True)


def raise_effect(one: Raise) -> tuple[Effect, tuple[Related, ...]]:
    effect = raised(one.node) if one.node.type == "raise_statement" else Effect(Does.ASSERTS, line_of(one.node))
    where = Related(one.module.path, line_of(one.node), Role.DEFINITION, f"raised here: {oneline(one.node, 100)}")
    return effect, (where,)


def _refusal(
    scan: GateCollector, call: Node, frame: Frame, requirement: Requirement, raises: list[Raise]
) -> tuple[Effect, tuple[Related, ...]]:
    """What the callee of a known keyword does without a match: its own raise, where it is scanned."""
    if raises:
        return raise_effect(raises[0])
    function = child(call, "function")
    name = text(function).rsplit(".", 1)[-1] if function is not None else ""
    found = raise_in(scan, name, requirement.name)
    if found is not None:
        return raise_effect(found)
    return Effect(Does.RAISES, line_of(call), requirement.message or None), ()


def visit_decorator(scan: GateCollector, path: list[Node]) -> None:
    """@supported_compute_capability([100, 103]), or a decorator whose wrapper raises for some targets."""
    node, call = path[-2], path[-1]
    if call.type != "call" or not scan.once(node, "decorator"):
        return
    scan.traced()
    frame = scan.frame(path)
    function = child(call, "function")
    positional, keywords = arguments(call)
    values = [*positional, *keywords.values()]
    name = text(function).rsplit(".", 1)[-1] if function is not None else ""
    requirement = scan.interpreter.knowledge.decorators.get(name)
    target = path[-3]
    if requirement is not None and values:
        own = admitted(scan.interpreter, scan.interpreter.evaluate(values[0], frame), requirement.encoding)
        raises = _wrapped_raises(scan, call, frame)
        rest, related = raise_effect(raises[0]) if raises else refusal_of(scan, target, call, requirement)
        layer = Layer(requirement.layer)
    else:
        raises = _wrapped_raises(scan, call, frame)
        if not raises:
            return
        own, layer = not_raised(scan, raises), Layer.PYTHON
        rest, related = raise_effect(raises[0])
    if own is not None:
        spot = next((v for v in values if isinstance(scan.interpreter.evaluate(v, frame), tuple)), call)
        emit(scan, Kind.ALLOW_LIST, spot, own, rest, related, path, frame, layer, target)


def _wrapped_raises(scan: GateCollector, call: Node, frame: Frame) -> list[Raise]:
    """Where the wrapper that a decorator call gives raises: call it with a function, and what it gives with nothing."""
    wrapper = outcome_of(scan.interpreter, call, frame)
    if not isinstance(wrapper.value, (FuncV, PartialV)):
        return []
    inside = scan.interpreter.invoke(wrapper.value, (Unknown(("function",)),), {})
    if not isinstance(inside.value, (FuncV, PartialV)):
        return []
    result: Outcome = scan.interpreter.invoke(inside.value, (), {})
    return [r for r in result.raises if r.mask != scan.interpreter.lanes.all and r.is_sure]


def emit(
    scan: GateCollector, kind: Kind, spot: Node, own: Answer, rest: Effect, related: tuple[Related, ...],
    path: list[Node], frame: Frame, layer: Layer, guarded: Node, meant: tuple[str, ...] = (), made: str = "",
) -> None:  # fmt: skip
    """Adds the gate of a list: at the literal, or at the definition of the name that stands for it.

    `meant` are features that nothing near speaks of, `made` the images that are compiled.
    """
    is_list = kind not in (Kind.CHECK, Kind.BUILD_LIST)
    module, literal = literal_of(spot, frame, scan.interpreter) if is_list else (scan.module, inner(spot))
    notes = list(related)
    if module is not scan.module:
        notes.insert(0, Related(module.path, line_of(literal), Role.DEFINITION, oneline(literal, 100)))
        literal = inner(spot)
    elif literal != inner(spot):
        notes.insert(0, Related(scan.module.path, line_of(spot), Role.CALLER, oneline(spot, 100)))
    reach = reach_of(scan, path)
    effective = reach & own
    body = child(guarded, "definition") or guarded
    scope = scope_of(path)
    name = child(body, "name")
    if body.type == "function_definition" and name is not None:
        scope = Scope(text(name))
    near = f"{words_near(scan, guarded, path)} {said_beside(literal)}"
    near += " " + docstring(body) if body.type in ("function_definition", "class_definition") else ""
    features = scan.features(f"{near} {said_in(body)} {names_in(body)} {scope.name if scope else ''}", guarded)
    features += tuple(FeatureUse(name, line_of(guarded), confidence="low") for name in meant)
    listing = answered(serving(place(literal, scan.module.data), oneline(literal), own.truth), effective)
    listing = replace(
        listing,
        effect=Effect(Does.WORK, line_of(guarded)),
        body=place(body, scan.module.data),
        calls=calls_in(body),
        features=tuple(dict.fromkeys(features)),
    )
    about = About(
        scope=scope,
        reach=reach.truth,
        related=traced((*notes, *scan.interpreter.places)),
        near=near.strip()[:1200],
        symbols=symbols_in(spot),
        assumptions=TAKEN_FOR_GRANTED,
        notes=(("images:0", made),) if made else (),
    )
    scan.add(listed(scan.module.path, layer, kind, listing, rest, about))


def raises_in(module: Module, function: Node) -> Node | None:
    """The first raise in a function's body."""
    stack = [function]
    while stack:
        node = stack.pop()
        if node.type == "raise_statement" and message_of(node):
            return node
        stack.extend(reversed(node.named_children))
    return None


def layer_of_call(scan: GateCollector, call: Node, path: list[Node]) -> Layer:
    """A list given to something that makes compiler flags or modules bites when those are built."""
    words = " ".join(text(n.child_by_field_name("name") or n) for n in path if n.type == "function_definition")
    function = child(call, "function")
    named = (text(function) if function is not None else "") + " " + words
    return Layer.JIT if re.search(r"flags|nvcc|gencode|jit|compile|gen_\w*module", named) else Layer.PYTHON


def raise_in(scan: GateCollector, name: str, parameter: str) -> Raise | None:
    """The raise of the scanned function of that name, found by name alone."""
    key = ("raise", name, parameter)
    graph = scan.interpreter.graph
    memo = graph.memo
    if key not in memo:
        holders = [module for module in graph.modules.values() if name in module.index.holders]
        memo[key] = _search_raise(holders, name, parameter), [module.path for module in holders]
    found: Raise | None
    found, searched = memo[key]
    graph.traces.searched(scan.module, ("holders", name), searched)
    return found


def _search_raise(holders: Iterable[Module], name: str, parameter: str) -> Raise | None:
    pattern = re.compile(rb"^[ \t]*def " + re.escape(name.encode()) + rb"\b", re.MULTILINE)
    for module in holders:
        match = pattern.search(module.data)
        if match is None:
            continue
        path = module.descend(match.end() - 1)
        function = next((n for n in reversed(path) if n.type == "function_definition"), None)
        node = raises_in(module, function) if function is not None else None
        if node is not None:
            return Raise(0, node, module)
    return None
