"""Reads `match` statements over the capability: one gate for the statement, one arm for each case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.gates.arms import ASSUMPTIONS, arm_of, kind_of, layer_of, words_near
from archscan.frontends.python.gates.effects import after, effect_of
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.interpreter.conditions import Answer, always, answer, answer_of, met, passed
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.lanewise import compare
from archscan.frontends.python.interpreter.values import Unknown, Value
from archscan.frontends.python.source.blocks import ends, scope_of
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import inner, operands, statements, text
from archscan.model.gate import Arm, Does, Effect, Gate, Kind

if TYPE_CHECKING:
    from archscan.frontends.python.gates.module_pass import ModulePass

_LITERAL = ("integer", "string", "float", "none", "true", "false")
_SEQUENCE = ("tuple_pattern", "list_pattern")


def visit_match(scan: ModulePass, path: list[Node]) -> None:
    """Adds the gate of a match statement whose subject asks for the target."""
    statement = path[-2]
    subjects = statement.children_by_field_name("subject")
    body = child(statement, "body")
    if path[-1] not in subjects or body is None or not scan.once(statement, "match"):
        return
    scan.traced()
    frame = scan.frame(path)
    subject = _subject(scan, subjects, frame)
    cases = [c for c in body.named_children if c.type == "case_clause"]
    answers = [_answer(scan, case, subject, frame) for case in cases]
    if not any(a.arch and a.varies for a in answers):
        return
    reach = reach_of(scan, path)
    arms = _arms(scan, cases, answers, reach, frame)
    rest = Effect(Does.NOTHING) if any(a.is_else for a in arms) else _rest(path, cases)
    related = tuple(dict.fromkeys(scan.interpreter.trace))[:12]
    first = next(i for i, a in enumerate(answers) if a.arch)
    scan.add(Gate(
        path=scan.module.path, layer=layer_of(scan, related, path[-1]),
        kind=kind_of(scan, Kind.IF, path[-1], arms, rest), place=arms[first].place, arms=arms,
        rest=rest, scope=scope_of(path), reach=reach.truth, related=related,
        near=words_near(scan, statement, path), assumptions=ASSUMPTIONS,
    ))  # fmt: skip


def _subject(scan: ModulePass, subjects: list[Node], frame: Frame) -> tuple[Value, ...] | Value:
    """The value that is matched; the parts where a tuple is written out."""
    node = inner(subjects[0])
    parts = operands(node) if len(subjects) == 1 and node.type in ("tuple", "expression_list") else subjects
    values = tuple(scan.interpreter.evaluate(part, frame) for part in parts)
    return values if len(subjects) > 1 or node.type in ("tuple", "expression_list") else values[0]


def _answer(scan: ModulePass, case: Node, subject: Value, frame: Frame) -> Answer:
    """Whether a case is meant, by itself."""
    patterns = [c for c in case.named_children if c.type == "case_pattern"]
    if len(patterns) > 1:
        found = _of_parts(scan, patterns, subject, frame)
    else:
        found = _of_pattern(scan, patterns[0], subject, frame) if patterns else always(scan.interpreter)
    guard = child(case, "guard")
    if guard is not None and operands(guard):
        found = found & answer(scan.interpreter, operands(guard)[0], frame)
    return found


def _of_pattern(scan: ModulePass, pattern: Node, subject: Value, frame: Frame) -> Answer:
    if _takes_all(pattern):
        return always(scan.interpreter)
    node = operands(pattern)[0] if pattern.type == "case_pattern" else pattern
    if node.type == "as_pattern" and operands(node):
        node = operands(node)[0]
    if node.type == "union_pattern":
        return _either([_of_pattern(scan, part, subject, frame) for part in operands(node)])
    if node.type in _SEQUENCE:
        return _of_parts(scan, operands(node), subject, frame)
    if node.type == "case_pattern":
        return _of_pattern(scan, node, subject, frame)
    value = scan.interpreter.evaluate(node, frame) if node.type in _LITERAL else Unknown((text(node),))
    return answer_of(scan.interpreter, compare(scan.interpreter.lanes, "==", subject, value), pattern)


def _of_parts(scan: ModulePass, patterns: list[Node], subject: Value, frame: Frame) -> Answer:
    """Whether each part of a capability is what the sequence of patterns asks for."""
    found = always(scan.interpreter)
    for number, pattern in enumerate(patterns):
        if not _takes_all(pattern):
            found = found & _of_pattern(scan, pattern, _part(scan, subject, number), frame)
    return found


def _part(scan: ModulePass, subject: Value, number: int) -> Value:
    if isinstance(subject, tuple):
        return subject[number] if number < len(subject) else Unknown(("match",))
    return scan.interpreter.lanes.lift(
        lambda v: v[number] if isinstance(v, tuple) and number < len(v) else Unknown(("match",)), subject
    )


def _takes_all(pattern: Node) -> bool:
    """Whether it is `_` or a name that takes whatever comes."""
    inside = pattern.named_children
    if pattern.type != "case_pattern":
        return text(pattern) == "_"
    return not inside or (inside[0].type == "dotted_name" and len(inside[0].named_children) == 1)


def _either(found: list[Answer]) -> Answer:
    none = ~found[0]
    for one in found[1:]:
        none = none & ~one
    return ~none


def _arms(scan: ModulePass, cases: list[Node], answers: list[Answer], reach: Answer, frame: Frame) -> tuple[Arm, ...]:
    arms: list[Arm] = []
    left, earlier = reach, always(scan.interpreter)
    for case, own in zip(cases, answers, strict=True):
        block, pattern = child(case, "consequence"), next(c for c in case.named_children if c.type == "case_pattern")
        if block is None:
            continue
        if _takes_all(pattern) and child(case, "guard") is None:
            arms.append(arm_of(scan, None, block, case, earlier, left, frame))
            break
        arms.append(arm_of(scan, pattern, block, case, own, left & met(scan.interpreter, own, pattern), frame))
        left, earlier = left & passed(scan.interpreter, own, pattern), earlier & ~own
    return tuple(arms)


def _rest(path: list[Node], cases: list[Node]) -> Effect:
    """What follows the statement where every case leaves."""
    statement, around = path[-2], path[-3] if len(path) > 2 else path[-2]
    blocks = [block for case in cases if (block := child(case, "consequence")) is not None]
    if around.type in ("block", "module") and all(map(ends, blocks)):
        return effect_of(after(statement, statements(around)))
    return Effect(Does.NOTHING)
