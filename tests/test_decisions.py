"""Gates are made in one place: what is told of the rest, and of what stands around."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from archscan.analysis.decisions import About, Rest, decided, in_order, ladders, listed, serving
from archscan.model.condition import asked, atom, surely, truth
from archscan.model.gate import NOTHING, Does, Effect, Kind, Layer, Place, Related, Role
from archscan.model.truth import Truth

PACKAGE = Path(__file__).parent.parent / "archscan"
PLACE = Place(0, 9, 7, 1, 7, 10)
OWN = Truth(0b01, 0b10)
REST = Rest(Effect(Does.RAISES, 9, "no"), calls=("other",))


def test_the_rest_is_told_where_no_else_takes_it() -> None:
    arm = serving(PLACE, "sm == 90", OWN)
    other = replace(arm, condition="", is_else=True)
    open_, closed = (
        decided("a.cu", Layer.HOST, Kind.IF, PLACE, arms, REST, About()) for arms in ((arm,), (arm, other))
    )
    assert (open_.rest.message, open_.rest_calls) == ("no", ("other",))
    assert (closed.rest, closed.rest_calls) == (NOTHING, ())


def test_a_list_serves_who_is_in_it() -> None:
    gate = listed("a.py", Layer.JIT, Kind.KEYWORD_LIST, serving(PLACE, "[9]", OWN), REST.effect, About())
    (arm,) = gate.arms
    assert gate.place == PLACE
    assert (arm.truth, arm.assumed, arm.effect) == (OWN, OWN, Effect(Does.WORK, 7))
    assert gate.rest.does is Does.RAISES


def test_what_is_related_is_told_once() -> None:
    one, two = Related("a.h", 1, Role.DEFINITION, "here"), Related("a.h", 2, Role.DEFINITION, "here")
    about = About(related=(two, one, two), symbols=("sm", "sm"))
    gate = decided("a.cu", Layer.HOST, Kind.IF, PLACE, (serving(PLACE, "sm", OWN),), Rest(), about)
    assert gate.related == (two, one)
    assert gate.symbols == ("sm",)


def test_rungs_next_to_each_other_are_one_ladder() -> None:
    """Digits are rungs, of which 9 is the last one that a ladder can have."""
    found = list(ladders("a12b399c4", lambda c: int(c) if c.isdigit() else None, lambda rung: rung == 9))
    assert found == ["a", [1, 2], "b", [3, 9], [9], "c", [4]]
    assert list(ladders("", lambda c: c, lambda rung: False)) == []


def test_rungs_are_asked_before_the_ladder_above_is_walked() -> None:
    """What a ladder does to names is not known to the statement behind it, and is to all that follow."""
    order: list[str] = []

    def rung(statement: str) -> str | None:
        order.append(f"is {statement}?")
        return statement if statement.isdigit() else None

    for step in ladders("1ab", rung, lambda _: False):
        order.append("".join(step))
    assert order == ["is 1?", "is a?", "1", "a", "is b?", "b"]


def test_arms_are_taken_in_their_order() -> None:
    assert list(in_order(0b0111, (0b1001, 0b0011, 0b1111))) == [0b0001, 0b0010, 0b0100]
    unknown = asked(atom("USE_X"), 0b11)
    first, second, rest = in_order(0b11, (unknown, 0b01, 0b11))
    assert truth(first, 0b11).unknown(0b11) == 0b11
    assert (truth(second, 0b11).unknown(0b11), truth(second, 0b11).no) == (0b01, 0b10)  # not where the first may be
    assert (surely(rest), truth(rest, 0b11).no, truth(rest, 0b11).unknown(0b11)) == (0, 0b01, 0b10)


def test_nobody_else_makes_gates() -> None:
    makers = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"(?<![\w.])Gate\(", path.read_text("utf-8").replace("class Gate(", ""))
    }
    assert makers == {"analysis/decisions.py"}
