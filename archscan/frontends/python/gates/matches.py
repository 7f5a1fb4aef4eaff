"""Reads `match` statements over the capability: one gate for the statement, one arm for each case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, Rest
from archscan.frontends.python.gates.arms import Part, arms_of, made, traced, words_near
from archscan.frontends.python.gates.effects import after, effect_of
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.interpreter.conditions import Answer, always, answer_of
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.matching import case_truths, takes_all
from archscan.frontends.python.source.blocks import ends, scope_of
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import statements
from archscan.model.gate import NOTHING, Effect, Kind

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
    parts, answers = _cases(scan, statement, frame)
    if not any(a.arch and a.varies for a in answers):
        return
    reach = reach_of(scan, path)
    arms = arms_of(scan, parts, answers, reach, frame)
    first = next(i for i, a in enumerate(answers) if a.arch)
    about = About(
        scope=scope_of(path),
        reach=reach.truth,
        related=traced(scan.interpreter.places),
        near=words_near(scan, statement, path),
        assumptions=TAKEN_FOR_GRANTED,
    )
    gate = made(scan, Kind.IF, path[-1], arms, Rest(_rest(path, [block for _, block, _ in parts])), about)
    scan.add(replace(gate, place=arms[first].place))


def _cases(scan: GateCollector, statement: Node, frame: Frame) -> tuple[list[Part], list[Answer]]:
    """The cases as arms of an if statement, with their own answers: the one that takes everything is the else."""
    parts: list[Part] = []
    answers: list[Answer] = []
    earlier = always(scan.interpreter)
    for case, block, truth in case_truths(scan.interpreter, statement, frame):
        pattern = next(c for c in case.named_children if c.type == "case_pattern")
        if takes_all(pattern) and child(case, "guard") is None:
            return [*parts, (None, block, case)], [*answers, earlier]
        own = answer_of(scan.interpreter, truth, case)
        parts.append((pattern, block, case))
        answers.append(own)
        earlier = earlier & ~own
    return parts, answers


def _rest(path: list[Node], blocks: list[Node]) -> Effect:
    """What follows the statement where every case leaves."""
    statement, around = path[-2], path[-3] if len(path) > 2 else path[-2]
    if around.type in ("block", "module") and all(map(ends, blocks)):
        return effect_of(after(statement, statements(around)))
    return NOTHING
