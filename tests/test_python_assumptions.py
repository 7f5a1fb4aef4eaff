"""What stands behind conditions that nobody can tell is said under assumptions, never as a fact."""

from __future__ import annotations

import pytest

from archscan.model.gate import Gate, Kind
from tests.test_python_cases import UNIVERSE, gates, no, yes

HEAD = """
import torch

def cap():
    major, minor = torch.cuda.get_device_capability()
    return major * 10 + minor

"""
WORK = "        return fast(x)\n    return slow(x)\n"


def asking(body: str) -> Gate:
    """The one gate of a function of that body."""
    found = gates(HEAD + "\ndef use(self, x):\n" + body)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("body", "assumed"),
    [
        ("    if ask():\n        return other(x)\n    elif cap() >= 90:\n" + WORK, "not ask()"),
        ("    if ask(x) > 3:\n        return other(x)\n    if cap() >= 90:\n" + WORK, "not (ask(x) > 3)"),
        ("    if not ask():\n        return\n    if cap() >= 90:\n" + WORK, "ask()"),
        ("    if ask():\n        if more():\n            return\n    if cap() >= 90:\n" + WORK, "not ask()"),
        (
            "    for y in x:\n        if ask():\n            continue\n        if cap() >= 90:\n            y()\n",
            "not ask()",
        ),
        ("    match ask():\n        case 1:\n            if cap() >= 90:\n                x()\n", "case 1"),
        ("    if ask():\n        x()\n    else:\n        if cap() >= 90:\n            fast(x)\n", "not ask()"),
        ("    return other(x) if ask() else fast(x) if cap() >= 90 else slow(x)\n", "not ask()"),
    ],
)
def test_behind_an_open_question_nothing_is_certain(body: str, assumed: str) -> None:
    arm = next(a for a in asking(body).arms if "cap()" in a.condition)
    assert not arm.truth.yes & UNIVERSE.device
    assert arm.assumed.yes & UNIVERSE.bit(next(t for t in UNIVERSE.targets if t.sm == 120))
    assert assumed in arm.assumes


def test_refused_arguments_are_no_condition() -> None:
    gate = asking("    if x is None:\n        raise ValueError('x')\n    if cap() >= 90:\n" + WORK)
    assert 120 in yes(gate) and 89 in no(gate) and not gate.arms[0].assumes


def test_value_of_one_of_several_branches_is_an_assumption() -> None:
    chosen = '    name = "a" if ask() else "b" if cap() >= 100 else "c"\n    if name == "b":\n'
    found = gates(HEAD + "\ndef use(self, x):\n" + chosen + WORK)
    assert len(found) == 2
    assert not any(arm.truth.yes & UNIVERSE.device for gate in found for arm in gate.arms)


@pytest.mark.parametrize(
    "head",
    [
        "class C:\n    fast: bool = False\n",
        "class C:\n    fast = False\n",
        "class C:\n    def __init__(self):\n        self.fast = False\n",
    ],
)
def test_switch_that_is_off_by_default_hides_nothing(head: str) -> None:
    found = gates(HEAD + head + "\n    def use(self, x):\n        if self.fast and cap() == 90:\n            x()\n")
    assert len(found) == 1 and found[0].arms[0].assumes == ("fast",)


def test_switch_of_another_platform_stays_off() -> None:
    body = "        self.fast = False\n        if torch.version.hip:\n            self.fast = True\n"
    head = "class C:\n    def __init__(self):\n" + body
    assert not gates(HEAD + head + "\n    def use(self, x):\n        if self.fast and cap() == 90:\n            x()\n")


def test_parameter_that_is_filled_in_keeps_what_its_name_says() -> None:
    found = gates(
        "def bind(arch=None):\n    if arch is None:\n        arch = dsl.current()\n    if arch.major in [8, 12]:\n"
        + WORK
    )
    assert len(found) == 1 and {86, 120} <= yes(found[0]) and {90, 100} <= no(found[0])


def test_who_fails_an_assert_gets_no_further() -> None:
    body = "    assert cap() >= 80 and x\n    if cap() == 90:\n" + WORK
    inner = next(g for g in gates(HEAD + "\ndef use(self, x):\n" + body) if g.kind is Kind.IF)
    assert inner.reach is not None
    assert {75} <= UNIVERSE.sms(inner.reach.no & UNIVERSE.device) and yes(inner) <= {90}


CLASS = """
class Kernel:
    def __init__(self, arch):
        assert arch in [80, 90, 100], "no kernel"
        self.arch = arch

    @jit
    def setup(self, x):
        if self.arch == 90:
            return fast(x)
        return slow(x)
"""


def test_methods_are_for_those_that_the_constructor_takes() -> None:
    inner = next(g for g in gates(CLASS) if g.kind is Kind.IF)
    assert inner.reach is not None
    assert UNIVERSE.sms(inner.reach.no & UNIVERSE.device) >= {75, 89, 120}
    assert UNIVERSE.sms(inner.reach.yes & UNIVERSE.device) == {80, 90, 100}
    free = next(g for g in gates(CLASS.replace("__init__", "other")) if g.kind is Kind.IF)
    assert free.reach is not None and not free.reach.no & UNIVERSE.device


def test_entry_that_is_stored_later_counts_in_functions_too() -> None:
    head = HEAD + 'LIMITS = {"low": 80, "high": 100}\nLIMITS["high"] = 121\n'
    (gate,) = gates(head + '\ndef use(x):\n    if LIMITS["low"] <= cap() <= LIMITS["high"]:\n' + WORK)
    assert {80, 120, 121} <= yes(gate) and 75 in no(gate)
