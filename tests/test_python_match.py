"""`match` statements over the capability, and windows given as arguments."""

from __future__ import annotations

import textwrap

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()


def lines(tmp_path, source: str, target: str) -> list[int]:
    """The lines of the findings for a target."""
    file = tmp_path / "module.py"
    file.write_text("import torch\n" + textwrap.dedent(source))
    facts = scan([str(file)], CATALOG, ScanSettings(use_cache=False))
    assert not facts.failed
    return [f.place.line for f in report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings]


PAIR = """
def pick():
    match torch.cuda.get_device_capability():
        case (8, 0) | (8, 6):
            return fast()
        case (9, _) | (10, _):
            return newer()
    return slow()
"""
NUMBER = """
def pick():
    major, minor = torch.cuda.get_device_capability()
    match major * 10 + minor:
        case 80 | 86 | 90:
            return fast()
        case other:
            raise RuntimeError(f"sm_{other} is not supported")
"""
GUARD = """
def pick():
    match torch.cuda.get_device_capability():
        case (major, _) if major < 8:
            raise RuntimeError("too old")
        case _:
            return fast()
"""
WINDOW = """
@register("copy", min_cc=80, max_cc=103)
def copy(x):
    ...
"""


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        (PAIR, "sm_120", [7]),
        (PAIR, "sm_103", []),
        (PAIR, "sm_89", [5]),
        (NUMBER, "sm_120", [6]),
        (NUMBER, "sm_90", []),
        (GUARD, "sm_120", []),
        (WINDOW, "sm_120", [3]),
        (WINDOW, "sm_103", []),
    ],
)
def test_finds_what_a_case_or_window_leaves_out(tmp_path, source, target, wanted):
    assert lines(tmp_path, source, target) == wanted


def told(tmp_path, source: str) -> list[tuple[object, ...]]:
    """What the arms of the only gate are, without what is written in them."""
    file = tmp_path / "module.py"
    file.write_text("import torch\n" + textwrap.dedent(source))
    (gate,) = scan([str(file)], CATALOG, ScanSettings(use_cache=False)).files[0].gates
    return [(a.own, a.truth, a.assumed, a.unknowns, a.assumes, a.is_else, a.effect.does) for a in gate.arms]


def test_cases_are_told_like_the_arms_of_an_if(tmp_path) -> None:
    cases = """
    def pick(on):
        match torch.cuda.get_device_capability()[0]:
            case 9 if on:
                return fast()
            case 10:
                return faster()
            case _:
                raise ValueError("no")
    """
    chain = """
    def pick(on):
        major = torch.cuda.get_device_capability()[0]
        if major == 9 and on:
            return fast()
        elif major == 10:
            return faster()
        else:
            raise ValueError("no")
    """
    one, other = told(tmp_path, cases), told(tmp_path, chain)
    assert one == other
    assert [arm[4] for arm in one] == [("on",), (), ("on",)]
