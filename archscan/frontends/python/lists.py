"""Gates that are data: keyword lists, decorators, requirement registries, tables keyed by capability, class bounds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.conditions import Answer, always, answer_of
from archscan.frontends.python.effects import block_effect, message_of, raised
from archscan.frontends.python.evaluate import Frame, Interpreter, Outcome, Raise
from archscan.frontends.python.knowledge import Requirement
from archscan.frontends.python.modules import Module
from archscan.frontends.python.notes import images_in, names_in, said_above, said_in
from archscan.frontends.python.scopes import Binding
from archscan.frontends.python.skips import visit_mark
from archscan.frontends.python.syntax import (
    arguments,
    docstring,
    inner,
    line_of,
    oneline,
    operands,
    place,
    statements,
    template,
    text,
)
from archscan.frontends.python.syntax import field as child
from archscan.frontends.python.triggers import occurrences
from archscan.frontends.python.values import (
    Capability,
    FuncV,
    ListV,
    PartialV,
    Unknown,
    Value,
    depends,
    encode,
    is_constant,
)
from archscan.model.gate import Arm, Does, Effect, Gate, Kind, Layer, Related, Role, Scope
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates import ModulePass

_CONTAINERS = ("list", "tuple", "set", "expression_list")


def admitted(interpreter: Interpreter, values: Value, encoding: str) -> Answer | None:
    """The targets a list names, its items read as majors, SM numbers or pairs; None if it is no such list."""
    if values is None or not isinstance(values, tuple) or not values:
        return None
    lanes = interpreter.lanes
    mine = {"major": lanes.major, "sm": lanes.sm, "pair": lanes.pair}.get(encoding, Capability())
    value = interpreter.compare("in", mine, values)
    truth = interpreter.truth(value)
    yes = no = 0
    for one, mask in lanes.groups(truth):
        yes |= mask if one is True else 0
        no |= mask if one is False else 0
    return Answer(Truth(yes, no), Truth(yes, no), arch=True) if yes and no else None


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
    near = " ".join((gate.near, *said_above(literal), _beside(literal))).strip()
    return replace(
        gate, kind=Kind.ALLOW_LIST, place=spot, arms=(replace(arm, place=spot, condition=oneline(literal)),),
        rest=rest, related=(use, *gate.related)[:12], near=near[:1200],
    )  # fmt: skip


def visit_keyword(scan: ModulePass, path: list[Node]) -> None:
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
    if requirement is None and not _names_targets(values, scan):
        _truth_argument(scan, path, value, values, frame)
        return
    outcome = scan.interpreter.outcome(call, frame)
    raises = [r for r in outcome.raises if r.mask != scan.interpreter.lanes.all and not r.names]
    if requirement is not None:
        own = admitted(scan.interpreter, values, requirement.encoding)
        rest, related = _refusal(scan, call, frame, requirement, raises)
    elif raises:
        own = _not_raised(scan, raises)
        rest, related = _raise_effect(raises[0])
    else:
        return
    if own is None:
        return
    layer = Layer(requirement.layer) if requirement is not None else scan.layer_of_call(call, path)
    emit(scan, Kind.KEYWORD_LIST, value, own, rest, related, path, frame, layer, call)


def _truth_argument(scan: ModulePass, path: list[Node], value: Node, values: Value, frame: Frame) -> None:
    """A capability comparison written straight into an argument: f(enable=cap >= 90)."""
    node = inner(value)
    if node.type in ("comparison_operator", "boolean_operator", "not_operator") and depends(values):
        scan.simple(
            path,
            node,
            Kind.FLAG,
            Effect(Does.ASSIGNS, line_of(node), None, "True"),
            Effect(Does.ASSIGNS, line_of(node), None, "False"),
        )


def visit_argument(scan: ModulePass, path: list[Node]) -> None:
    """A list literal given by position to a callee that raises for what it leaves out."""
    value = path[-1]
    call = path[-3] if len(path) > 2 and path[-3].type == "call" else None
    if visit_mark(scan, path):
        return
    if call is None or value.type not in ("list", "tuple", "set") or not scan.once(value, "argument"):
        return
    if len(path) > 3 and path[-4].type == "decorator":
        return
    scan.traced()
    frame = scan.frame(path)
    values = scan.interpreter.evaluate(value, frame)
    if not _names_targets(values, scan):
        return
    raises = [r for r in scan.interpreter.outcome(call, frame).raises if not r.names]
    if raises:
        rest, related = _raise_effect(raises[0])
        emit(
            scan,
            Kind.KEYWORD_LIST,
            value,
            _not_raised(scan, raises),
            rest,
            related,
            path,
            frame,
            scan.layer_of_call(call, path),
            call,
        )


def _names_targets(values: Value, scan: ModulePass) -> bool:
    target = scan.interpreter.lanes.targets[0][0]
    return (
        isinstance(values, tuple)
        and len(values) > 0
        and all(is_constant(v) and encode(target, v) is not None for v in values)
    )


def _not_raised(scan: ModulePass, raises: list[Raise]) -> Answer:
    bad = 0
    for one in raises:
        bad |= one.mask
    truth = Truth(scan.interpreter.lanes.all & ~bad, bad)
    return Answer(truth, truth, arch=True)


def _raise_effect(one: Raise) -> tuple[Effect, tuple[Related, ...]]:
    effect = raised(one.node) if one.node.type == "raise_statement" else Effect(Does.ASSERTS, line_of(one.node))
    where = Related(one.module.path, line_of(one.node), Role.DEFINITION, f"raised here: {oneline(one.node, 100)}")
    return effect, (where,)


def _refusal(
    scan: ModulePass, call: Node, frame: Frame, requirement: Requirement, raises: list[Raise]
) -> tuple[Effect, tuple[Related, ...]]:
    """What the callee of a known keyword does without a match: its own raise, where it is scanned."""
    if raises:
        return _raise_effect(raises[0])
    function = child(call, "function")
    name = text(function).rsplit(".", 1)[-1] if function is not None else ""
    found = scan.raise_in(name, requirement.name)
    if found is not None:
        return _raise_effect(found)
    return Effect(Does.RAISES, line_of(call), requirement.message or None), ()


def visit_decorator(scan: ModulePass, path: list[Node]) -> None:
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
        found = scan.raise_in(name, "")
        rest, related = (
            _raise_effect(found) if found is not None else (Effect(Does.RAISES, line_of(call), requirement.message), ())
        )
        layer = Layer(requirement.layer)
    else:
        raises = _wrapped_raises(scan, call, frame)
        if not raises:
            return
        own, layer = _not_raised(scan, raises), Layer.PYTHON
        rest, related = _raise_effect(raises[0])
    if own is not None:
        spot = next((v for v in values if isinstance(scan.interpreter.evaluate(v, frame), tuple)), call)
        emit(scan, Kind.ALLOW_LIST, spot, own, rest, related, path, frame, layer, target)


def _wrapped_raises(scan: ModulePass, call: Node, frame: Frame) -> list[Raise]:
    """Where the wrapper that a decorator call gives raises: call it with a function, and what it gives with nothing."""
    wrapper = scan.interpreter.outcome(call, frame)
    if not isinstance(wrapper.value, (FuncV, PartialV)):
        return []
    inside = scan.interpreter.invoke(wrapper.value, (Unknown(("function",)),), {})
    if not isinstance(inside.value, (FuncV, PartialV)):
        return []
    result: Outcome = scan.interpreter.invoke(inside.value, (), {})
    return [r for r in result.raises if r.mask != scan.interpreter.lanes.all and not r.names]


def emit(
    scan: ModulePass, kind: Kind, spot: Node, own: Answer, rest: Effect, related: tuple[Related, ...],
    path: list[Node], frame: Frame, layer: Layer, guarded: Node,
) -> None:  # fmt: skip
    """Adds the gate of a list: at the literal, or at the definition of the name that stands for it."""
    module, literal = literal_of(spot, frame, scan.interpreter)
    notes = list(related)
    if module is not scan.module:
        notes.insert(0, Related(module.path, line_of(literal), Role.DEFINITION, oneline(literal, 100)))
        literal = inner(spot)
    elif literal != inner(spot):
        notes.insert(0, Related(scan.module.path, line_of(spot), Role.CALLER, oneline(spot, 100)))
    reach = scan.reach(path)
    effective = reach & own
    body = child(guarded, "definition") or guarded
    scope = scan.scope(path)
    name = child(body, "name")
    if body.type == "function_definition" and name is not None:
        scope = Scope(text(name))
    near = f"{scan.near(guarded, path)} {_beside(literal)}"
    near += " " + docstring(body) if body.type in ("function_definition", "class_definition") else ""
    images = images_in(f"{near} {names_in(body)}")
    arm = Arm(
        place=place(literal, scan.module.data),
        condition=oneline(literal),
        own=own.truth,
        truth=effective.truth,
        assumed=effective.assumed,
        effect=Effect(Does.WORK, line_of(guarded)),
        unknowns=effective.unknowns,
        assumes=effective.assumes,
        body=place(body, scan.module.data),
        calls=scan.calls(body),
        features=scan.features(f"{near} {said_in(body)} {names_in(body)} {scope.name if scope else ''}", guarded),
    )
    gate = Gate(
        path=scan.module.path, layer=layer, kind=kind, place=arm.place, arms=(arm,), rest=rest, scope=scope,
        reach=reach.truth, related=tuple(dict.fromkeys((*notes, *scan.interpreter.trace)))[:12],
        near=near.strip()[:1200],
        symbols=scan.names(spot), assumptions=scan.assumptions,
        extra=(("images:0", images),) if images else (),
    )  # fmt: skip
    scan.add(gate)


def _beside(literal: Node) -> str:
    """The comment behind a list on its last line."""
    after = literal.next_sibling or (literal.parent.next_sibling if literal.parent is not None else None)
    while after is not None and after.start_point[0] == literal.end_point[0]:
        if after.type == "comment":
            return text(after).lstrip("# ")
        after = after.next_sibling
    return ""


# ---------------------------------------------------------------------- tables


def visit_pair(scan: ModulePass, path: list[Node]) -> None:
    """A row of a dict: the dict is a table if its keys are targets."""
    table = path[-3] if len(path) > 2 else path[-2]
    if table.type == "dictionary":
        visit_table(scan, path[:-2], table)


def visit_rows(scan: ModulePass, path: list[Node]) -> None:
    """A word in a comment between the rows."""
    visit_table(scan, path[:-1], path[-2])


def visit_reader(scan: ModulePass, path: list[Node]) -> None:
    """TABLE[capability], TABLE.get(capability) and `capability in TABLE` lead to the table's definition."""
    node = path[-2]
    owner: Node | None = None
    if node.type == "subscript":
        owner = child(node, "value")
    elif node.type == "comparison_operator" and any(c.type in {"in", "not in"} for c in node.children):
        owner = operands(node)[-1]
    elif node.type == "call":
        function = child(node, "function")
        if function is not None and function.type == "attribute" and text(function).endswith(".get"):
            owner = child(function, "object")
    if owner is None or owner.type not in ("identifier", "attribute") or not scan.once(node, "reader"):
        return
    found = definition(text(owner), scan.frame(path), scan.interpreter)
    table = inner(found[1]) if found is not None and found[0].module is scan.module else _class_value(scan, path, owner)
    if table is not None and table.type == "dictionary":
        visit_table(scan, scan.path(table.start_byte)[:-1], table)


def _class_value(scan: ModulePass, path: list[Node], owner: Node) -> Node | None:
    """What the body of a class gives to `self.NAME`, `cls.NAME` or `Class.NAME`."""
    holder, _, name = text(owner).rpartition(".")
    classes = [n for n in path if n.type == "class_definition"]
    if holder not in ("self", "cls"):
        top = [child(n, "definition") or n for n in statements(scan.module.root)]
        classes = [n for n in top if n.type == "class_definition" and text(child(n, "name") or n) == holder]
    body = child(classes[-1], "body") if classes and name else None
    for statement in statements(body) if body is not None else ():
        assignment = statement.named_children[0] if statement.type == "expression_statement" else statement
        left, right = child(assignment, "left"), child(assignment, "right")
        if left is not None and right is not None and text(left) == name:
            return inner(right)
    return None


def visit_table(scan: ModulePass, path: list[Node], table: Node) -> None:
    if not scan.once(table, "table"):
        return
    pairs = [p for p in operands(table) if p.type == "pair"]
    frame = scan.frame(path)
    keys = [scan.interpreter.evaluate(k, frame) for p in pairs if (k := child(p, "key")) is not None]
    if len(pairs) != len(operands(table)) or not _names_targets(tuple(keys), scan):
        return
    assignment = next((n for n in reversed(path) if n.type == "assignment"), None)
    left = child(assignment, "left") if assignment is not None else None
    name = text(left) if left is not None and left.type == "identifier" else ""
    scan.traced()
    rest, related, is_read = _readers(scan, name, table, frame) if name else (Effect(Does.NOTHING), (), False)
    if not is_read:
        return
    emit_table(scan, table, pairs, keys, rest, related, path, frame, name)


def _readers(scan: ModulePass, name: str, table: Node, frame: Frame) -> tuple[Effect, tuple[Related, ...], bool]:
    """What the first reader that indexes the table with the target does without a row."""
    for offset in occurrences(scan.module.data, name.encode()):
        if table.start_byte <= offset < table.end_byte:
            continue
        path = scan.path(offset)
        found = _reader(scan, path)
        if found is not None:
            node, effect = found
            return effect, (Related(scan.module.path, line_of(node), Role.CALLER, oneline(node, 100)),), True
    return Effect(Does.NOTHING), (), False


def _reader(scan: ModulePass, path: list[Node]) -> tuple[Node, Effect] | None:
    for i in range(len(path) - 1, 0, -1):
        node = path[i - 1]
        if node.type == "subscript" and path[i] == child(node, "value"):
            key = child(node, "subscript")
            if key is not None and _asks(scan, key, path[:i]):
                return node, Effect(Does.RAISES, line_of(node), None, "KeyError")
        if node.type == "call" and text(child(node, "function") or node).endswith(".get"):
            positional, _ = arguments(node)
            if positional and _asks(scan, positional[0], path[:i]):
                return node, _missing(positional, node, path[:i])
        if (
            node.type == "comparison_operator"
            and any(c.type in ("in", "not in") for c in node.children_by_field_name("operators"))
            and _asks(scan, operands(node)[0], path[:i])
        ):
            return node, _refused(node, path[:i])
    return None


def _refused(test: Node, path: list[Node]) -> Effect:
    """What `if key not in TABLE:` does; elsewhere a truth that says no."""
    statement = next((n for n in reversed(path) if n.type in ("if_statement", "block", "module")), None)
    block = child(statement, "consequence") if statement is not None else None
    negated = any(c.type == "not in" for c in test.children)
    if negated and statement is not None and block is not None and child(statement, "condition") == test:
        return block_effect(block)
    return Effect(Does.REFUSES, line_of(test), None, "no row")


def asks_table(scan: ModulePass, spot: Node, frame: Frame) -> bool:
    """Whether a condition only looks a key up in a table that is a gate of its own."""
    if spot.type != "comparison_operator" or not any(c.type in ("in", "not in") for c in spot.children):
        return False
    found = definition(text(operands(spot)[-1]), frame, scan.interpreter)
    table = inner(found[1]) if found is not None and found[0].module is scan.module else None
    if table is None or table.type != "dictionary":
        return False
    visit_table(scan, scan.path(table.start_byte)[:-1], table)
    return (table.start_byte, Kind.TABLE.value) in scan.found.gates


def _missing(positional: list[Node], node: Node, path: list[Node]) -> Effect:
    """What `.get` without a row leads to: the default, or what the test for None after it does."""
    default = positional[1] if len(positional) > 1 else None
    if default is not None and default.type != "none":
        return Effect(Does.ASSIGNS, line_of(node), None, oneline(default, 80))
    assignment = next((n for n in reversed(path) if n.type == "assignment"), None)
    left = child(assignment, "left") if assignment is not None else None
    block = next((n for n in reversed(path) if n.type in ("block", "module")), None)
    if left is not None and block is not None:
        for statement in statements(block):
            if statement.start_byte > node.start_byte and statement.type == "if_statement":
                condition = child(statement, "condition")
                wanted = (f"{text(left)} is None", f"not {text(left)}")
                if condition is not None and oneline(condition).strip("()") in wanted:
                    body = child(statement, "consequence")
                    return block_effect(body) if body is not None else Effect(Does.REFUSES)
    return Effect(Does.ASSIGNS, line_of(node), None, "None")


def _asks(scan: ModulePass, key: Node, path: list[Node]) -> bool:
    return depends(scan.interpreter.evaluate(key, scan.frame([*path, key])))


def emit_table(
    scan: ModulePass, table: Node, pairs: list[Node], keys: list[Value], rest: Effect,
    related: tuple[Related, ...], path: list[Node], frame: Frame, name: str,
) -> None:  # fmt: skip
    """Adds the gate of a table, a row per arm."""
    reach = scan.reach(path)
    arms = []
    for pair, key in zip(pairs, keys, strict=True):
        own = admitted(scan.interpreter, ListV((key,)), "")
        value = child(pair, "value")
        if own is None or value is None:
            continue
        effective = reach & own
        arms.append(Arm(
            place=place(pair, scan.module.data), condition=oneline(child(pair, "key") or pair), own=own.truth,
            truth=effective.truth, assumed=effective.assumed,
            effect=Effect(Does.ASSIGNS, line_of(value), None, oneline(value, 120)),
            unknowns=effective.unknowns, assumes=effective.assumes, body=place(value, scan.module.data),
        ))  # fmt: skip
    if arms:
        scan.add(Gate(
            path=scan.module.path, layer=Layer.PYTHON, kind=Kind.TABLE, place=place(table, scan.module.data),
            arms=tuple(arms), rest=rest, scope=scan.scope(path), reach=reach.truth, related=related,
            near=scan.near(table, path), symbols=(name,) if name else (), assumptions=scan.assumptions,
        ))  # fmt: skip


# ---------------------------------------------------------------------- class bounds and windows

_BOUND = re.compile(
    r"(?i)^_?(?:cuda_)?(min|max)(?:imum)?_?(?:supported_?)?(?:device_|compute_|cuda_)*(?:cc|sm|arch|capability|compute_cap)$"
)


def visit_bound(scan: ModulePass, path: list[Node]) -> bool:
    """MIN_CC / MAX_CC of a class: one window per class, at the maximum."""
    node = path[-2]
    left = child(node, "left")
    cls = next((n for n in reversed(path) if n.type in ("class_definition", "function_definition")), None)
    if left is None or cls is None or cls.type != "class_definition" or not _BOUND.match(text(left)):
        return False
    if not scan.once(cls, "bounds"):
        return True
    frame = scan.frame(path)
    bounds: dict[str, tuple[Node, Value, str]] = {}
    for name, bindings in frame.scope.bindings.items():
        match = _BOUND.match(name)
        last = bindings[-1]
        if match and last.kind == "assign" and last.value is not None:
            bounds[match[1].lower()] = (last.value, scan.interpreter.evaluate(last.value, frame), name)
    own, spot = _window(scan, bounds)
    if own is None or spot is None:
        return True
    rest, related = _bound_reader(scan, frame, [name for _, _, name in bounds.values()])
    emit(scan, Kind.WINDOW, spot, own, rest, related, path, frame, Layer.PYTHON, cls)
    return True


def _window(scan: ModulePass, bounds: dict[str, tuple[Node, Value, str]]) -> tuple[Answer | None, Node | None]:
    own = always(scan.interpreter)
    spot: Node | None = None
    for side, sign in (("min", ">="), ("max", "<=")):
        if side not in bounds or bounds[side][1] is None:
            continue
        node, value, _ = bounds[side]
        found = answer_of(scan.interpreter, scan.interpreter.compare(sign, Capability(), value), node)
        if not found.arch:
            return None, None
        own, spot = own & found, node
    return (own if spot is not None and own.varies else None), spot


def _bound_reader(scan: ModulePass, frame: Frame, names: list[str]) -> tuple[Effect, tuple[Related, ...]]:
    """The message of the method that compares the bound, in the class or a base."""
    owner = frame.owner
    for cls in scan.interpreter.mro(owner) if owner is not None else ():
        body = cls.node.text or b""
        for name in reversed(names):
            match = re.search(rb"(?:cls|self)\." + name.encode() + rb"\b", body)
            if match:
                path = scan.path_in(cls.module, cls.node.start_byte + match.start())
                statement = next((n for n in reversed(path) if n.type == "if_statement"), None)
                block = child(statement, "consequence") if statement is not None else None
                where = statement if statement is not None else path[-1]
                effect = block_effect(block) if block is not None else Effect(Does.REFUSES)
                message = effect.message or _first_template(block)
                related = Related(cls.module.path, line_of(where), Role.DEFINITION, oneline(where, 100))
                does = effect.does if effect.refuses else Does.REFUSES
                return Effect(does, effect.line, message, effect.value), (related,)
    return Effect(Does.REFUSES), ()


def _first_template(block: Node | None) -> str | None:
    stack = [block] if block is not None else []
    while stack:
        node = stack.pop()
        if node.type == "string":
            return template(node)
        stack.extend(reversed(node.named_children))
    return None


def visit_call(scan: ModulePass, path: list[Node]) -> None:
    """Capability windows of registries and arguments (`max_cc=90`), and require-helpers written as statements."""
    call = path[-2]
    if not scan.once(call, "call"):
        return
    function = child(call, "function")
    name = text(function) if function is not None else ""
    for known, requirement in scan.interpreter.knowledge.windows.items():
        if name == known or name.endswith("." + known):
            _registry_window(scan, path, call, requirement)
            return
    named = {match[1].lower(): key for key in arguments(call)[1] if (match := _BOUND.match(key))}
    if "max" in named:
        _registry_window(scan, path, call, Requirement(name, "pair", "python", "", named.get("min", ""), named["max"]))
    elif len(path) > 2 and path[-3].type == "expression_statement":
        _require(scan, path, call)


def _registry_window(scan: ModulePass, path: list[Node], call: Node, requirement: Requirement) -> None:
    _, keywords = arguments(call)
    frame = scan.frame(path)
    bounds = {
        side: (keywords[key], scan.interpreter.evaluate(keywords[key], frame), key)
        for side, key in (("min", requirement.minimum), ("max", requirement.maximum))
        if key in keywords
    }
    own, _ = _window(scan, bounds)
    if own is not None:
        scan.traced()
        spot = next(iter(bounds.values()))[0]
        rest = Effect(Does.SKIPS, line_of(call), requirement.message or None)
        decorated = path[-4] if len(path) > 3 and path[-3].type == "decorator" else call
        emit(scan, Kind.WINDOW, spot, own, rest, (), path, frame, Layer.PYTHON, decorated)


def _require(scan: ModulePass, path: list[Node], call: Node) -> None:
    """require_sm120(device): a statement whose callee raises for some targets."""
    function = child(call, "function")
    if function is None or not scan.is_check(text(function).rsplit(".", 1)[-1]):
        return
    scan.traced()
    frame = scan.frame(path)
    outcome = scan.interpreter.outcome(call, frame)
    raises = [r for r in outcome.raises if r.mask != scan.interpreter.lanes.all and not r.names]
    if not raises:
        return
    rest, related = _raise_effect(raises[0])
    if any(v.type in ("list", "tuple", "set") for v in (*arguments(call)[0], *arguments(call)[1].values())) and any(
        _names_targets(scan.interpreter.evaluate(v, frame), scan)
        for v in (*arguments(call)[0], *arguments(call)[1].values())
    ):
        return  # the list is the gate
    emit(scan, Kind.CHECK, call, _not_raised(scan, raises), rest, related, path, frame, Layer.PYTHON, call)


def raises_in(module: Module, function: Node) -> Node | None:
    """The first raise in a function's body."""
    stack = [function]
    while stack:
        node = stack.pop()
        if node.type == "raise_statement" and message_of(node):
            return node
        stack.extend(reversed(node.named_children))
    return None
