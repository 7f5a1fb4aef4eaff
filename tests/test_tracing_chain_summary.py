"""The sentence of a chain advises to open only what is known to be worth it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_samples import header_finding, list_finding

from archscan.model.finding import Advice, Capability, Finding
from archscan.model.gate import Layer
from archscan.tracing.chain_summary import chain_summary
from archscan.tracing.states import OPEN, SHUT, GateState

LIST, HEADER = list_finding(), header_finding(2, (3, 4), 92)
FLAG = replace(LIST, gate=replace(LIST.gate, path="aot.py", layer=Layer.BUILD), advice=Advice.INVESTIGATE)


def said(*findings: Finding) -> str:
    shut = tuple(GateState(finding.gate, SHUT, finding) for finding in findings)
    return chain_summary("x", (*shut, GateState(HEADER.gate, OPEN)), (), [])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"capability": Capability.CAN}, "open these together: {list}, {header}"),
        ({}, "to open: {list}, {header}; of {header} nothing says that it would run"),
        (
            {"capability": Capability.CANNOT},
            "nothing to open: it cannot run what is behind {header}; shut besides: {list}",
        ),
        ({"advice": Advice.INVESTIGATE}, "not known what opening would do: {header}; shut besides: {list}"),
        ({"advice": Advice.LEAVE}, "open this one: {list}; 1 of them right as they are"),
    ],
)
def test_what_is_advised_hangs_on_every_gate(changes: dict[str, object], expected: str) -> None:
    places = {"list": f"{LIST.path}:{LIST.place.line}", "header": f"{HEADER.path}:{HEADER.place.line}"}
    text = said(LIST, replace(HEADER, **changes))
    assert text == f"shut by 2 of 3 gates; {expected.format(**places)}"


def test_a_list_for_the_build_is_opened_with_what_it_lists() -> None:
    assert "open these together: " in said(LIST, FLAG)
    assert said(FLAG).endswith(f"not known what opening would do: aot.py:{LIST.place.line}")
