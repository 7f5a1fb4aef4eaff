"""Random conditions of Python against brute force: every target, and every world of what is not known."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings

from archscan.model.gate import Gate, Kind
from archscan.model.target import Target
from tests.test_cuda_host_conditions import Made, conditions, holds, worlds
from tests.test_python_cases import UNIVERSE, gates

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "150"))
SMS = sorted({t.sm for t in UNIVERSE.targets if not t.is_host and t.sm >= 80})
TEXT = """import torch
def f(q, w, x, y, z):
    M, _ = torch.cuda.get_device_capability()
    if {}:
        found = 1
    else:
        found = 2
    return found
"""


def found_in(condition: str) -> list[Gate]:
    return [gate for gate in gates(TEXT.format(condition)) if gate.kind is Kind.IF]


def answers(gate: Gate, sm: int) -> tuple[str, str]:
    """The strict and the supposed truth of the written condition."""
    arm, bit = gate.arms[0], UNIVERSE.bit(Target(sm))
    return arm.own.word(bit), arm.assumed.word(bit)


@given(conditions)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_definite_answer_holds_in_every_world(condition: Made) -> None:
    for gate in found_in(condition.python):
        for sm in SMS:
            truths = {holds(condition, sm, world) for world in worlds(condition)}
            strict, _ = answers(gate, sm)
            assert strict == "unknown" or truths == {strict == "yes"}, (sm, condition.python)
            assert len(truths) == 2 or strict != "unknown", (sm, condition.python)


@pytest.mark.parametrize(
    ("condition", "yes", "unknown"),
    [
        ("x and M >= 9 or not x and M >= 9", {90, 100, 120}, set()),
        ("x and M >= 9 or not x and M >= 12", {120}, {90, 100}),
        ("M >= 9 if x else M >= 9", {90, 100, 120}, set()),
        ("(M >= 9 or x) and (M >= 9 or not x)", {90, 100, 120}, set()),
        ("q.x and M >= 9 or not q.x and M >= 9", {90, 100, 120}, set()),
        # what may be something else the second time is no one unknown
        ("x() and M >= 9 or not x() and M >= 9", set(), {90, 100, 120}),
        ("q.x and g() and M >= 9 or not q.x and M >= 9", set(), {90, 100, 120}),
    ],
)
def test_one_unknown_is_one(condition: str, yes: set[int], unknown: set[int]) -> None:
    (gate,) = found_in(condition)
    words = {sm: answers(gate, sm)[0] for sm in (80, 90, 100, 120)}
    assert {sm for sm, word in words.items() if word == "yes"} == yes
    assert {sm for sm, word in words.items() if word == "unknown"} == unknown
