"""Gates are made in one place: what is told of the rest, and of what stands around."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from archscan.analysis.decisions import About, Rest, decided, listed, serving
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


def test_nobody_else_makes_gates() -> None:
    makers = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"(?<![\w.])Gate\(", path.read_text("utf-8").replace("class Gate(", ""))
    }
    assert makers == {"analysis/decisions.py"}
