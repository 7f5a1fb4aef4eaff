"""Gates that are if statements: ladders of them, and what lies beside and behind."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, Rest, ladders
from archscan.frontends.python.gates.arms import (
    Part,
    arm_notes,
    arm_of,
    arms_of,
    has_suffix,
    is_gate,
    made,
    notes_on,
    overridden,
    renames,
    traced,
    varies,
    words_about,
)
from archscan.frontends.python.gates.definitions import at_definition, named_list
from archscan.frontends.python.gates.effects import after, block_effect, caught, effect_of
from archscan.frontends.python.gates.lists import mixed_up, names_targets
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.gates.tables import asks_table
from archscan.frontends.python.interpreter.conditions import Answer, arm_answers, conjunct_of, focus
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.names import lookup
from archscan.frontends.python.interpreter.values import depends, is_constant
from archscan.frontends.python.source.blocks import calls_in, ends, is_predicate, returns_in, scope_of, symbols_in
from archscan.frontends.python.source.scopes import Scope as BlockScope
from archscan.frontends.python.source.syntax import (
    arguments,
    if_arms,
    inner,
    oneline,
    operands,
    statements,
    template,
    text,
)
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Arm, Does, Effect, Kind
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


def visit_if(scan: GateCollector, path: list[Node]) -> None:
    statement, below = path[-2], path[-1]
    if below != child(statement, "condition"):
        return
    if statement.type == "elif_clause":
        path = path[:-1]
        statement = path[-2]
    if not scan.once(statement, "if"):
        return
    ladder = _ladder(scan, statement, path)
    if ladder[0] != statement and not scan.once(ladder[0], "if"):
        return
    for one in ladder:
        scan.once(one, "if")
    condition = child(ladder[0], "condition")
    _if_gate(scan, ladder, [*path[:-2], ladder[0], condition if condition is not None else path[-1]])


def _ladder(scan: GateCollector, statement: Node, path: list[Node]) -> list[Node]:
    """Consecutive ifs that each return something of their own: one ladder."""
    block = path[-3] if len(path) > 2 else statement
    if block.type not in ("block", "module") or not _is_rung(statement):
        return [statement]
    frame = scan.frame(path)
    runs = (list(run) for is_rung, run in groupby(statements(block), _is_rung) if is_rung)
    beside = next(run for run in runs if statement in run)

    def rung(one: Node) -> Node | None:
        return one if one == statement or _asks(scan, one, frame) else None

    found = ladders(beside, rung, lambda _: False)  # one with an else is no rung
    return next(ladder for ladder in found if isinstance(ladder, list) and statement in ladder)


def _asks(scan: GateCollector, statement: Node, frame: Frame) -> bool:
    """Whether the condition of an if asks for the target: by a word for it, or by a flag not followed yet."""
    condition = child(statement, "condition")
    return condition is not None and (scan.asks(statement) or depends(scan.interpreter.evaluate(condition, frame)))


def _spread_bounded(scan: GateCollector, path: list[Node], blocks: list[Node]) -> None:
    """Looks at the callers of a function that refuses by what they give it: `require((9, 0), (10, 3))`."""
    function = next((n for n in reversed(path) if n.type == "function_definition"), None)
    name = child(function, "name") if function is not None else None
    refuses = any(block_effect(block).refuses for block in blocks)
    if refuses and function is not None and name is not None and scan.once(function, "bounded"):
        scan.spread_function(text(name), function)


def _if_gate(scan: GateCollector, ladder: list[Node], path: list[Node], last: bool = False) -> None:
    scan.traced()
    frame = scan.frame(path)
    answers: list[Answer] = []
    parts: list[Part] = []
    for statement in ladder:
        answers += arm_answers(scan.interpreter, statement, frame)
        parts += [(condition, block, statement) for condition, block in if_arms(statement)]
    mixed = None
    if not (varies(answers) if last else is_gate(scan, answers, [c for c, _, _ in parts], frame)):
        mixed = mixed_up(scan, parts[0][0], frame) if len(parts) == 1 and parts[0][0] is not None else None
        if mixed is None:
            _spread_bounded(scan, path, [block for _, block, _ in parts])
            return
        answers = [replace(answers[0], arch=True)]
    results = [_result(block) for _, block, _ in parts]
    behind = _behind(ladder, path)
    results += [_returned(behind[0])] if behind else []
    if all(results) and renames(scan, [r for r in results if r is not None], frame):
        return
    function = None if last else _predicate_around(scan, path)
    if function is not None:
        scan.definitions.append((function, lambda: _if_gate(scan, ladder, path, True)))
        return
    related, environment = scan.interpreter.places, scan.interpreter.environment
    reach = reach_of(scan, path) & has_suffix(scan, results, frame)
    elsewhere = _served_beside(scan, ladder, path, answers) | _served_before(scan, parts, frame)
    arms = tuple(
        replace(arm, effect=overridden(arm.effect, environment)) if arm.effect.refuses else arm
        for arm in arms_of(scan, parts, answers, reach, frame)
    )
    arms = tuple(
        replace(arm, effect=_turned_away(_refusing(scan, arm.effect, block, frame), path))
        for arm, (_, block, _) in zip(arms, parts, strict=True)
    )
    if mixed is not None:
        arms = (replace(arms[0], own=mixed.truth),)
    rest = caught(_rest(ladder, path), path)
    if len(parts) == 1 and behind and _is_other_way(scan, parts[0][0], frame, arms[0].effect, effect_of(behind)):
        arms, rest = (_what_follows(scan, parts[0], behind, answers[0], reach, frame),), arms[0].effect
        behind = []
    first = next(i for i, a in enumerate(answers) if a.arch)
    condition = parts[first][0]
    spot = focus(scan.interpreter, condition, frame) if condition is not None else ladder[0]
    about = About(
        scope=scope_of(path),
        reach=Truth(reach.truth.yes & ~elsewhere, reach.truth.no | elsewhere),
        related=traced(related),
        near=words_about(scan, ladder[0], path, symbols_in(condition), related),
        symbols=symbols_in(condition),
        assumptions=TAKEN_FOR_GRANTED,
        notes=(*_mixed_note(mixed), *notes_on(scan, spot, frame), *arm_notes(scan, parts, path, frame)),
    )
    called = tuple(dict.fromkeys(name for one in behind for name in calls_in(one)))
    gate = made(scan, Kind.IF, spot, arms, Rest(overridden(rest, environment), calls=called), about)
    if asks_table(scan, spot, frame):
        return
    asked = conjunct_of(condition, spot) if condition is not None else spot
    named = named_list(asked, frame, scan.interpreter)
    if named is not None and len(arms) == 1:
        gate = replace(at_definition(gate, named, spot), extra=())
    scan.add(gate)


def _mixed_note(mixed: Answer | None) -> tuple[tuple[str, str], ...]:
    return (("mixed", "a pair is compared with numbers"),) if mixed is not None else ()


_NEGATIONS = frozenset({"!=", "not in"})
_DONE = frozenset({Does.RETURNS, Does.WORK})


def _is_other_way(scan: GateCollector, condition: Node | None, frame: Frame, does: Effect, follows: Effect) -> bool:
    """Whether a condition is a negation behind which one way of doing the work returns, and the other follows.

    `if not has_wgmma: return slow(x)` before `return fast(x)` is `if has_wgmma: return fast(x)`: the same gate.
    """
    if condition is None or not all(e.does in _DONE and "(" in (e.value or "") for e in (does, follows)):
        return False
    asked = inner(condition)
    signs = {c.type for c in asked.children_by_field_name("operators")}
    if not signs or not signs <= _NEGATIONS:
        return asked.type == "not_operator"
    values = [scan.interpreter.evaluate(operand, frame) for operand in operands(asked)]
    return any(names_targets(value, scan) or names_targets((value,), scan) for value in values)


def _what_follows(scan: GateCollector, part: Part, behind: list[Node], own: Answer, reach: Answer, frame: Frame) -> Arm:
    """What follows an if as the arm of those that it does not take."""
    arm = arm_of(scan, part[0], behind[-1], ~own, reach & ~own, frame)
    asked = inner(part[0]) if part[0] is not None else behind[0]
    shown = oneline(operands(asked)[0]) if asked.type == "not_operator" else f"not ({oneline(asked)})"
    return replace(arm, condition=shown, effect=effect_of(behind))


def _result(block: Node) -> Node | None:
    """What a block of one statement returns or assigns."""
    body = statements(block)
    one = body[0] if len(body) == 1 else None
    if one is not None and one.type == "expression_statement":
        assigns = one.named_children[0].type in ("assignment", "augmented_assignment")
        one = child(one.named_children[0], "right") if assigns else None
        return inner(one) if one is not None else None
    return _returned(one) if one is not None else None


def _returned(statement: Node) -> Node | None:
    values = operands(statement) if statement.type == "return_statement" else []
    return inner(values[0]) if values else None


def _refusing(scan: GateCollector, effect: Effect, block: Node, frame: Frame) -> Effect:
    """The effect of an arm that returns what a helper gives: `return self._unsupported("no kernel")` may refuse."""
    last = statements(block)[-1:]
    call = _returned(last[0]) if last and effect.does is Does.RETURNS else None
    if call is None or call.type != "call":
        return effect
    value = scan.interpreter.evaluate(call, frame)
    value = value[0] if isinstance(value, tuple) and len(value) == 2 else value
    told = next((t for argument in arguments(call)[0] if (t := template(argument)) is not None), None)
    return replace(effect, does=Does.REFUSES, message=told) if value is False else effect


def _turned_away(effect: Effect, path: list[Node]) -> Effect:
    """The effect of an arm: one that raises into a handler around it refuses, whatever the handler then does."""
    seen = caught(effect, path)
    return effect if seen is effect else replace(seen, does=Does.REFUSES, message=effect.message)


def _served_beside(scan: GateCollector, ladder: list[Node], path: list[Node], answers: list[Answer]) -> int:
    """The lanes that no arm takes and that another if of the block takes instead: `if a: … if b: …`, all apart.

    The other if must be for other targets alone and come to something of the same sort, or it is another matter.
    """
    block = path[-3] if len(path) > 2 else ladder[0]
    taken = 0
    for own in answers:
        taken |= own.assumed.yes
    own_outcomes = _outcomes(ladder)
    served = 0
    for other in statements(block) if block.type in ("block", "module") else []:
        if other.type != "if_statement" or other in ladder or not scan.asks(other):
            continue
        found = arm_answers(scan.interpreter, other, scan.frame([*path[:-2], other, other]))
        arms = zip(if_arms(other), found, strict=True)
        works = [own for (c, b), own in arms if c is not None and own.arch and not block_effect(b).refuses]
        lanes = 0
        for own in works:
            lanes |= own.assumed.yes
        if lanes & taken == 0 and own_outcomes & _outcomes([other]):
            served |= lanes
    return served


def _served_before(scan: GateCollector, parts: list[Part], frame: Frame) -> int:
    """The lanes on which a name already has the value that the only arm would give it."""
    body = statements(parts[0][1]) if len(parts) == 1 else []
    assignment = body[0].named_children[0] if len(body) == 1 and body[0].named_children else None
    if assignment is None or assignment.type != "assignment":
        return 0
    left, right = child(assignment, "left"), child(assignment, "right")
    if left is None or right is None or left.type != "identifier":
        return 0
    given = scan.interpreter.evaluate(right, frame)
    before = lookup(scan.interpreter, text(left), frame, parts[0][2].start_byte)
    if not is_constant(given) or not depends(before):
        return 0
    served = 0
    for value, mask in scan.interpreter.lanes.groups(before):
        served |= mask if is_constant(value) and type(value) is type(given) and value == given else 0
    return served


def _rest(ladder: list[Node], path: list[Node]) -> Effect:
    """What follows the ladder to the end of the function, for lanes that took no arm."""
    behind = _behind(ladder, path)
    effect = effect_of(behind)
    return (_next_rung(behind) or effect) if effect.refuses else effect


def _behind(ladder: list[Node], path: list[Node]) -> list[Node]:
    """The statements that only who took no arm gets to."""
    block = path[-3] if len(path) > 2 else ladder[-1]
    if block.type not in ("block", "module") or not all(ends(b) for s in ladder for _, b in if_arms(s)):
        return []
    return after(ladder[-1], statements(block)) or _behind_block(path[:-2])


_PASSED = frozenset({"if_statement", "elif_clause", "else_clause", "with_statement", "for_statement"})


def _behind_block(path: list[Node]) -> list[Node]:
    """What follows the block that a ladder ends: who took no arm goes on there, or behind the loop."""
    for at in range(len(path) - 2, 0, -1):
        if path[at].type not in _PASSED:
            break
        if path[at - 1].type in ("block", "module") and (behind := after(path[at], statements(path[at - 1]))):
            return behind
        if path[at - 1].type == "block" and path[at].type != "for_statement":
            return _behind_block(path[:at])
    return []


def _next_rung(behind: list[Node]) -> Effect | None:
    """What the next rung of a ladder returns that asks a predicate of another kind: who gets there is not refused."""
    condition = child(behind[0], "condition") if behind and _is_rung(behind[0]) else None
    block = child(behind[0], "consequence") if condition is not None and inner(condition).type == "call" else None
    return block_effect(block) if block is not None else None


def _predicate_around(scan: GateCollector, path: list[Node]) -> Node | None:
    """The function around a statement that only decides what the function answers others, whose ifs are the gates."""
    function = next((n for n in reversed(path) if n.type == "function_definition"), None)
    return function if function is not None and is_predicate(function) and scan.answers_others(function) else None


def _outcomes(ladder: list[Node]) -> frozenset[str]:
    """What the arms of ifs are for: names that they assign, and `return` where they return a value."""
    found: set[str] = set()
    for statement in ladder:
        for _, block in if_arms(statement):
            for name, bindings in BlockScope(block).bindings.items():
                if any(b.kind in ("assign", "unpack") for b in bindings):  # what is added up is no alternative
                    found.add(name)
            if any(operands(r) for r in returns_in(block)):
                found.add("return")
    return frozenset(found)


def _is_rung(node: Node) -> bool:
    """An if without else whose block returns a value of its own."""
    if node.type != "if_statement" or node.children_by_field_name("alternative"):
        return False
    block = child(node, "consequence")
    return block is not None and ends(block) and block_effect(block).does in (Does.RETURNS, Does.WORK)
