"""Gates that are bounds: of classes, registries and arguments, and helpers that require a target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.gates.definitions import named_list
from archscan.frontends.python.gates.effects import block_effect
from archscan.frontends.python.gates.enums import visit_member
from archscan.frontends.python.gates.lists import (
    admitted,
    emit,
    is_checking,
    is_pair,
    names_targets,
    not_raised,
    raise_effect,
)
from archscan.frontends.python.interpreter.calls import outcome_of
from archscan.frontends.python.interpreter.classes import mro
from archscan.frontends.python.interpreter.conditions import Answer, always, answer, answer_of, focus
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.knowledge import Requirement
from archscan.frontends.python.interpreter.lanewise import compare
from archscan.frontends.python.interpreter.values import Capability, Value, depends
from archscan.frontends.python.source.blocks import returns_in
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.syntax import arguments, inner, line_of, oneline, operands, template, text
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.triggers import occurrences
from archscan.model.gate import Does, Effect, Kind, Layer, Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector

_BOUND = re.compile(
    r"(?i)^_?(?:get_)?(?:cuda_)?(min|max)(?:imum)?_?(?:supported_?)?"
    r"(?:device_|compute_|cuda_)*(?:cc|(?:sm|arch)(?:_version)?|capability|compute_cap)$"
)


def visit_bound(scan: GateCollector, path: list[Node]) -> bool:
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
    names = [name for _, _, name in bounds.values()]
    rest, related = _bound_reader(scan, frame, names)
    if not related and any(_is_asked(scan, name) for name in names):
        return True  # the condition that compares it is the gate
    emit(scan, Kind.WINDOW, spot, own, rest, related, path, frame, Layer.PYTHON, cls)
    return True


def _is_asked(scan: GateCollector, name: str) -> bool:
    """Whether a condition in the scanned code compares a bound, so that it tells targets apart."""
    modules = scan.interpreter.graph.modules
    for path in sorted(scan.led_to_users_of(name) | {scan.module.path}):
        module = modules[path]
        for offset in occurrences(module.data, name.encode()):
            parts = module.descend(offset)
            at = next((i for i in range(len(parts) - 1, 0, -1) if parts[i].type in ("if_statement", "elif_clause")), 0)
            if at and at + 1 < len(parts) and parts[at + 1] == child(parts[at], "condition"):
                frame = scan.interpreter.frame_at(module, parts[: at + 2])
                if answer(scan.interpreter, parts[at + 1], frame).varies:
                    return True
    return False


def visit_bound_method(scan: GateCollector, path: list[Node]) -> None:
    """`def get_min_capability(cls): return 80`: a window of the class, for those that compare it."""
    function, name = path[-2], child(path[-2], "name")
    bound = _BOUND.match(text(name)) if name is not None and name == path[-1] else None
    cls = next((n for n in reversed(path) if n.type == "class_definition"), None)
    if bound is None or name is None or cls is None or not scan.once(function, "bound"):
        return
    returned = [operands(r)[0] for r in returns_in(function) if operands(r)]
    if len(returned) != 1:
        return
    frame = scan.frame(scan.module.descend(returned[0].start_byte))
    value = scan.interpreter.evaluate(returned[0], frame)
    own, spot = _window(scan, {bound[1].lower(): (returned[0], value, text(name))})
    reader = _method_reader(scan, text(name)) if own is not None else None
    if own is not None and spot is not None and reader is not None:
        scan.traced()
        emit(scan, Kind.WINDOW, spot, own, *reader, path, frame, Layer.PYTHON, cls)


def _method_reader(scan: GateCollector, name: str) -> tuple[Effect, tuple[Related, ...]] | None:
    """What the code does that compares what a method of that name returns, and refuses."""
    memo = scan.interpreter.graph.memo
    key = ("reader", name)
    users = scan.led_to_users_of(name)
    if key not in memo:
        modules = scan.interpreter.graph.modules
        found = (_refusing_test(scan, modules[path], name) for path in sorted(users))
        memo[key] = next((one for one in found if one is not None), None)
    return memo[key]  # type: ignore[no-any-return]


def _refusing_test(scan: GateCollector, module: Module, name: str) -> tuple[Effect, tuple[Related, ...]] | None:
    """The refusal of an if that compares what a method of the name returns, of a class that nobody can tell there."""
    for offset in occurrences(module.data, name.encode()):
        path = module.descend(offset)
        at = next((i for i in range(len(path) - 1, 0, -1) if path[i].type in ("if_statement", "elif_clause")), 0)
        if not at or at + 1 >= len(path) or path[at + 1] != child(path[at], "condition"):
            continue
        block = child(path[at], "consequence")
        effect = block_effect(block) if block is not None else Effect(Does.NOTHING)
        frame = scan.interpreter.frame_at(module, path[: at + 2])
        if effect.refuses and not answer(scan.interpreter, path[at + 1], frame).varies:
            where = Related(module.path, line_of(path[at]), Role.DEFINITION, oneline(path[at + 1], 100))
            return effect, (where,)
    return None


def visit_class_list(scan: GateCollector, path: list[Node]) -> bool:
    """A list of targets in a class that a method of it, or of a base, looks the target up in."""
    node = path[-2]
    left, right = child(node, "left"), child(node, "right")
    holder = next((n for n in reversed(path) if n.type in ("class_definition", "function_definition")), None)
    if (
        left is None
        or right is None
        or holder is None
        or holder.type != "class_definition"
        or left.type != "identifier"
    ):
        return False
    frame = scan.frame(path)
    values = scan.interpreter.evaluate(right, frame)
    own = admitted(scan.interpreter, values, "") if names_targets(values, scan) else None
    if own is None or not scan.once(node, "class list"):
        return False
    rest, related = _bound_reader(scan, frame, [text(left)], rb"\bin\s+")
    if related:
        emit(scan, Kind.ALLOW_LIST, right, own, rest, related, path, frame, Layer.PYTHON, holder)
    return bool(related)


def _window(scan: GateCollector, bounds: dict[str, tuple[Node, Value, str]]) -> tuple[Answer | None, Node | None]:
    own = always(scan.interpreter)
    spot: Node | None = None
    for side, sign in (("min", ">="), ("max", "<=")):
        if side not in bounds or bounds[side][1] is None:
            continue
        node, value, _ = bounds[side]
        found = answer_of(scan.interpreter, compare(scan.interpreter.lanes, sign, Capability(), value), node)
        if not found.arch:
            return None, None
        own, spot = own & found, node
    return (own if spot is not None and own.varies else None), spot


def _bound_reader(
    scan: GateCollector, frame: Frame, names: list[str], before: bytes = b""
) -> tuple[Effect, tuple[Related, ...]]:
    """The message of the method that compares the bound, in the class or a base."""
    owner = frame.owner
    for cls in mro(scan.interpreter, owner) if owner is not None else ():
        body = cls.node.text or b""
        for name in reversed(names):
            match = re.search(before + rb"((?:cls|self)\." + name.encode() + rb"\b)", body)
            if match:
                path = cls.module.descend(cls.node.start_byte + match.start(1))
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
        if node.type == "string" and re.search(r"[A-Za-z]{2}", found := template(node) or ""):
            return found
        stack.extend(reversed(node.named_children))
    return None


def visit_call(scan: GateCollector, path: list[Node]) -> None:
    """Capability windows of registries and arguments (`max_cc=90`), and require-helpers written as statements."""
    call = path[-2]
    if not scan.once(call, "call"):
        return
    if visit_member(scan, path, call):
        return
    if len(path) > 2 and path[-3].type == "expression_statement" and _require(scan, path, call):
        return
    function = child(call, "function")
    name = text(function) if function is not None else ""
    for known, requirement in scan.interpreter.knowledge.windows.items():
        if name == known or name.endswith("." + known):
            _registry_window(scan, path, call, requirement)
            return
    named = {match[1].lower(): key for key in arguments(call)[1] if (match := _BOUND.match(key))}
    is_record = name.rsplit(".", 1)[-1][:1].isupper()
    if "max" in named or ("min" in named and is_record):
        bounds = Requirement(name, "pair", "python", "", named.get("min", ""), named.get("max", ""))
        _registry_window(scan, path, call, bounds)


def _registry_window(scan: GateCollector, path: list[Node], call: Node, requirement: Requirement) -> None:
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


def _require(scan: GateCollector, path: list[Node], call: Node) -> bool:
    """Whether the call is a statement whose callee raises for some targets: `require_sm120(device)`."""
    if not is_checking(call):
        return False
    scan.traced()
    frame = scan.frame(path)
    outcome = outcome_of(scan.interpreter, call, frame)
    raises = [r for r in outcome.raises if r.mask != scan.interpreter.lanes.all and r.is_sure]
    if not raises:
        return False
    rest, related = raise_effect(raises[0])
    given = (*arguments(call)[0], *arguments(call)[1].values())
    values = [scan.interpreter.evaluate(v, frame) for v in given if v.type in ("list", "tuple", "set")]
    if any(names_targets(value, scan) and not is_pair(value) for value in values):
        return True  # the list is the gate
    asked = next((a for a in arguments(call)[0] if depends(scan.interpreter.evaluate(a, frame))), call)
    spot = focus(scan.interpreter, asked, frame) if inner(asked).type in _CONDITIONS else call
    named = named_list(spot, frame, scan.interpreter) if spot is not call else None
    spot = named.literal if named is not None and named.module is scan.module else spot
    emit(scan, Kind.CHECK, spot, not_raised(scan, raises), rest, related, path, frame, Layer.PYTHON, call)
    return True


_CONDITIONS = ("comparison_operator", "boolean_operator", "not_operator")
