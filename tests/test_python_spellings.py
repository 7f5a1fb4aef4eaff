"""One question in many spellings: pairs, tables, enumerations, objects, loops; the answer is always the same."""

from __future__ import annotations

import textwrap

import pytest

from archscan.model.gate import Gate, Kind
from tests.test_python_cases import UNIVERSE, scan

HEAD = "import torch, operator\nmajor, minor = torch.cuda.get_device_capability()\n"
FAST = "    return fast()\n"


def told(gate: Gate, arm: int = 0) -> tuple[set[int], set[int]]:
    """The SMs that surely take an arm, and those that surely do not."""
    truth = gate.arms[arm].truth
    found = [{t.sm for t in UNIVERSE.members(mask) if not t.suffix and not t.is_host} for mask in (truth.yes, truth.no)]
    return found[0], found[1]


def only(text: str, **others: str) -> Gate:
    """The one gate of a module `m`, among others."""
    files = {f"{name}.py": textwrap.dedent(other) for name, other in others.items()}
    found = scan({**files, "m.py": textwrap.dedent(text)})
    gates = [g for facts in found.values() for g in facts.gates]
    assert len(gates) == 1, [(g.path, g.place.line, g.kind) for g in gates]
    return gates[0]


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        ("", "operator.eq(major, 9)"),
        ("", "divmod(major * 10 + minor, 10)[0] == 9"),
        ("", "min(major, 9) == 9 and max(major, 9) == 9"),
        ("", "{9: True}.get(major, False)"),
        ("", "f'{major:02d}' == '09'"),
        ("", "next((m for m in (8, 9) if m == major), None) == 9"),
        (
            "class Chip:\n    def __init__(self, of): self.of = of\n    def __eq__(self, other): return self.of == other\n",
            "Chip(major) == 9",
        ),
        ("class Chips:\n    def __contains__(self, item): return item == 9\n", "major in Chips()"),
        ("class Rows:\n    def __getitem__(self, item): return item == 9\n", "Rows()[major]"),
        ("def ok():\n    while major == 9:\n        return True\n    return False\n", "ok()"),
        ("n = 7\nwhile n < 9:\n    n += 1\n", "major == n"),
        ("try:\n    n = {8: 9}[7]\nexcept KeyError:\n    n = 9\n", "major == n"),
        ("import enum\nclass E(enum.IntEnum):\n    A = 9\n", "major == E.A"),
        ("import enum\nclass E(enum.Enum):\n    A = 9\n", "major == E.A.value"),
    ],
)
def test_an_equality_in_every_spelling(before: str, asked: str) -> None:
    text = f"{HEAD}{before}def f():\n    if {asked}:\n        return fast()\n    raise RuntimeError('no')\n"
    found = [g for g in scan({"m.py": text})["m.py"].gates if g.arms[0].condition in (asked, "major == 9")]
    (gate,) = found[-1:]
    yes, no = told(gate)
    assert yes == {90}
    assert {89, 100, 120} <= no


@pytest.mark.parametrize("switch", ["limit = 10 if quick else 12", "limit = {'a': 10, 'b': 12}[quick]"])
def test_a_bound_that_hangs_on_a_switch_shuts_out_whom_both_shut_out(switch: str) -> None:
    gate = only(
        f"{HEAD}def f(quick):\n    {switch}\n    if 9 <= major < limit:\n        return fast()\n    raise RuntimeError\n"
    )
    yes, no = told(gate)
    assert yes == {90}
    assert {89, 120, 121} <= no
    assert 100 not in yes | no
    assert gate.arms[0].unknowns == ("quick",)


def test_pairs_of_texts_name_a_target() -> None:
    gate = only(
        "def f(arch):\n    if arch in [('compute_75', 'sm_75'), ('compute_80', 'sm_80')]:\n        return fast()\n    raise RuntimeError\n"
    )
    yes, no = told(gate)
    assert yes == {75, 80}
    assert {90, 120} <= no


@pytest.mark.parametrize("read", ["T.get((major * 10 + minor, kind))", "T[(major * 10 + minor, kind)]"])
def test_keys_of_several_parts(read: str) -> None:
    gate = only(
        f"import torch\nT = {{(90, 'fp8'): 1, (100, 'fp8'): 2}}\ndef f(kind):\n    major, minor = torch.cuda.get_device_capability()\n    return {read}\n"
    )
    assert gate.kind is Kind.TABLE
    assert [told(gate, arm)[0] for arm in (0, 1)] == [{90}, {100}]


def test_a_table_of_two_counts_is_none_of_targets() -> None:
    text = "import torch\nT = {(90, 1): 1, (100, 2): 2}\ndef f(width, rank):\n    if torch.cuda.get_device_capability() < (9, 0):\n        raise RuntimeError\n    return T[(width, rank)]\n"
    assert all(g.kind is not Kind.TABLE for g in scan({"m.py": text})["m.py"].gates)


def test_named_tuples_compare_as_they_are_declared() -> None:
    before = "import torch\nfrom typing import NamedTuple\nclass C(NamedTuple):\n    {}: int\n    {}: int\n"
    use = "def f():\n    if C(*torch.cuda.get_device_capability()) >= C(9, 0):\n        return fast()\n    raise RuntimeError\n"
    assert {90, 120} <= told(only(before.format("major", "minor") + use))[0]
    assert {90, 120} <= told(only(before.format("minor", "major") + use))[0]
    field = use.replace(">= C(9, 0)", ".major >= 2")
    assert told(only(before.format("minor", "major") + field))[0] == {75, 86, 89, 103}  # the second one is asked for


def test_a_while_that_steps_is_no_gate() -> None:
    text = "import torch\ndef f(steps):\n    sm = torch.cuda.get_device_capability()[0]\n    while sm > steps[0]:\n        sm -= 1\n    return sm\n"
    assert not scan({"m.py": text})["m.py"].gates


def test_a_while_that_only_some_enter_is_one() -> None:
    gate = only(
        "import torch\ndef f(it):\n    while it.more() and torch.cuda.get_device_capability()[0] == 9:\n        step(it)\n    raise RuntimeError\n"
    )
    yes, no = told(gate)
    assert not yes and {89, 100, 120} <= no and gate.arms[0].assumed.yes


def test_what_others_register_is_undecided() -> None:
    text = "import torch\nT = {}\ndef register(sm):\n    def keep(f):\n        T[sm] = f\n        return f\n    return keep\n@register(90)\ndef k(): pass\ndef f():\n    major, minor = torch.cuda.get_device_capability()\n    one = T.get(major * 10 + minor)\n    if one is None:\n        raise RuntimeError\n    return one\n"
    gate = only(text)
    assert told(gate) == (set(), set())


def test_many_switches_in_one_text_are_not_tried_out() -> None:
    switches = "".join(f"    s{n} = 'a' if q[{n}] else 'b'\n" for n in range(40))
    name = "".join(f"{{s{n}}}" for n in range(40))
    gate = only(
        f"{HEAD}def f(q):\n{switches}    name = f'{name}'\n    if major == 9 and name:\n        return fast()\n    raise RuntimeError\n"
    )
    assert {89, 100, 120} <= told(gate)[1]


@pytest.mark.parametrize(("given", "yes", "no"), [("major", {90, 100, 120}, {75, 80}), ("size(major)", set(), set())])
def test_a_function_that_calls_itself(given: str, yes: set[int], no: set[int]) -> None:
    """With what is known it is followed; with what nobody knows it is left at once, and unknown."""
    text = f"{HEAD}def down(n):\n    return n if n < 10 else down(n - 1)\n\nif down({given}) == 9:\n{FAST}"
    taken, missed = told(only(text))
    assert (yes <= taken, no <= missed) == (True, True)
    assert bool(taken) is bool(yes)
