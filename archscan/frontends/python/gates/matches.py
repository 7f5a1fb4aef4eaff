"""Reads `match` statements over the capability: one gate for the statement, one arm for each case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, Rest
from archscan.frontends.python.gates.arms import arm_of, made, traced, words_near
from archscan.frontends.python.gates.effects import after, effect_of
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.interpreter.conditions import Answer, always, answer_of, met, passed
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.matching import case_truths, takes_all
from archscan.frontends.python.source.blocks import ends, scope_of
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import statements
from archscan.model.gate import NOTHING, Arm, Effect, Kind

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


def visit_match(scan: GateCollector, path: list[Node]) -> None:
    """Adds the gate of a match statement whose subject asks for the target."""
    statement = path[-2]
    subjects = statement.children_by_field_name("subject")
    body = child(statement, "body")
    if path[-1] not in subjects or body is None or not scan.once(statement, "match"):
        return
    scan.traced()
    frame = scan.frame(path)
    found = list(case_truths(scan.interpreter, statement, frame))
    cases = [case for case, _, _ in found]
    answers = [answer_of(scan.interpreter, truth, case) for case, _, truth in found]
    if not any(a.arch and a.varies for a in answers):
        return
    reach = reach_of(scan, path)
    arms = _arms(scan, cases, answers, reach, frame)
    first = next(i for i, a in enumerate(answers) if a.arch)
    about = About(
        scope=scope_of(path),
        reach=reach.truth,
        related=traced(scan.interpreter.places),
        near=words_near(scan, statement, path),
        assumptions=TAKEN_FOR_GRANTED,
    )
    gate = made(scan, Kind.IF, path[-1], arms, Rest(_rest(path, cases)), about)
    scan.add(replace(gate, place=arms[first].place))


def _arms(
    scan: GateCollector, cases: list[Node], answers: list[Answer], reach: Answer, frame: Frame
) -> tuple[Arm, ...]:
    arms: list[Arm] = []
    left, earlier = reach, always(scan.interpreter)
    for case, own in zip(cases, answers, strict=True):
        block, pattern = child(case, "consequence"), next(c for c in case.named_children if c.type == "case_pattern")
        if block is None:
            continue
        if takes_all(pattern) and child(case, "guard") is None:
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
    return NOTHING
