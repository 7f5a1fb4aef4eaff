"""What is not known is the same unknown in every statement that asks for it, and no longer than it stays as it is.

Random modules ask a library that nobody knows, `ask()`, whatever they do; they are run with many ways for it to answer,
another one each time it is asked. What is definite must be so in all of these runs.
"""

from __future__ import annotations

import os
import random
import re
import textwrap

import pytest

from archscan.model.gate import Gate, Kind
from archscan.model.target import HOST, Target, Universe
from tests import test_python_cases

CAPABILITIES = (7, 8, 9, 10, 11, 12)
UNIVERSE = Universe((HOST, *(Target(major * 10) for major in CAPABILITIES)))
COUNT = int(os.environ.get("ARCHSCAN_MADE_WORLDS", "120"))
SEED = int(os.environ.get("ARCHSCAN_MADE_SEED", "0"))
WAYS = 24
HEAD = "import torch\nfrom library import ask, risk\n"
MAJOR = "torch.cuda.get_device_capability()[0]"
BOUNDS = ("7", "8", "9", "10", "11", "12", "13")
FLAGS = ("f", "g", "h")
NAMES = ("lo", "hi")


class Made:
    """Writes a random module."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions: list[str] = []

    def condition(self) -> str:
        flag = self.random.choice(FLAGS)
        other, bound = self.random.choice(FLAGS), self.random.choice(BOUNDS)
        ways = (
            flag, flag, f"not {flag}", "ask()", "ask() == 1", f"{flag} and {other}", f"{flag} or ask() == 1",
            f"M >= {bound}", f"{flag} and M < {bound}",
        )  # fmt: skip
        return self.random.choice(ways)

    def value(self) -> str:
        one, other = self.random.choice(BOUNDS), self.random.choice(BOUNDS)
        ways = (
            one, one, one, f"{one} if {self.condition()} else {other}", self.random.choice(NAMES),
            f"pick({self.condition()}, {one}, {other})", f"made({one}, {other})", f"Held({self.condition()}).lim",
        )  # fmt: skip
        return self.random.choice(ways)

    def simple(self) -> str:
        name = self.random.choice(NAMES)
        ways = (
            f"{name} = {self.value()}", f"{name} = {self.value()}", f"lo, hi = {self.value()}, {self.value()}",
            f"{self.random.choice(FLAGS)} = {self.condition()}", "lo, hi = hi, lo",
        )  # fmt: skip
        return self.random.choice(ways)

    def block(self, depth: int, is_loop: bool = False) -> str:
        lines = [self.statement(depth, is_loop) for _ in range(self.random.randint(1, 2))]
        return textwrap.indent("\n".join(lines), "    ")

    def statement(self, depth: int, is_loop: bool = False) -> str:
        kind = self.random.randint(0, 11) if depth else 0
        if kind < 3:
            return self.simple()

        def block(is_in_loop: bool = is_loop) -> str:
            return self.block(depth - 1, is_in_loop)

        asked = self.condition()
        if kind < 6:
            return f"if {asked}:\n{block()}" + (f"\nelse:\n{block()}" if self.random.random() < 0.6 else "")
        if kind == 6:
            items = ", ".join(self.random.choices(BOUNDS, k=2))
            return f"for v in ({items}):\n    if {asked}:\n        lo = v\n{block(True)}"
        if kind == 7:
            return f"for v in ask.many():\n{block(True)}"
        if kind == 8:
            return f"try:\n{block()}\n    risk()\n{block()}\nexcept ValueError:\n{block()}"
        if kind == 9:
            return f"match ask():\n  case 1:\n{block()}\n  case _:\n{block()}"
        if kind == 10 and is_loop:
            return f"if {asked}:\n    {self.random.choice(('break', 'continue'))}"
        return f"if {asked}:\n{block()}\nelif {self.condition()}:\n{block()}"

    def module(self) -> str:
        """A module with one gate at its end, in a function or not."""
        one, two, three, four = self.random.choices(BOUNDS, k=4)
        other = self.random.choice(("b", "b", "a if ask() else b"))
        helpers = HELPERS.format(one=one, three=three, four=four, other=other)
        flags = "".join(f"{flag} = {self.random.choice(('ask()', 'ask() == 1', 'not ask()'))}\n" for flag in FLAGS)
        body = f"lo = {one}\nhi = {two}\n" + "\n".join(self.statement(2) for _ in range(self.random.randint(2, 4)))
        asked = self.condition()
        question = self.random.choice(
            ("lo <= M < hi", "M >= lo", f"M >= lo and {asked}", f"M < hi or {asked}", "lo <= M or M >= hi")
        )
        text = f"{body}\nif {question}:\n    x = 1\nelse:\n    x = 2\n"
        if self.random.random() < 0.5:
            head = "def use(f, g=False, h: bool = True):\n"
            flags, text = "", f"{head}{textwrap.indent(text, '    ')}use(ask(), ask() == 1, ask() == 0)\n"
        return re.sub(r"\bM\b", MAJOR, HEAD + helpers + flags + text)


HELPERS = """
def pick(c, a, b):
    if c:
        return a
    return {other}

def made(a, b):
    if ask():
        return a
    for v in (a, {one}):
        if ask() == 1:
            return v
    return b

class Held:
    def __init__(self, c):
        if c:
            self.lim = {three}
        else:
            self.lim = {four}

"""


class Library:
    """Answers as chance has it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self) -> bool:
        return self.random.random() < 0.5

    def many(self) -> range:
        return range(self.random.randint(0, 2))

    def risk(self) -> None:
        if self():
            raise ValueError


def outcomes(text: str, major: int) -> set[int]:
    """The arms of the gate that are come to, in many runs."""
    told = text.removeprefix(HEAD).replace(MAJOR, "M").replace("x = 1", "come.append(1)")
    code = compile(told.replace("x = 2", "come.append(2)"), "made", "exec")
    come: list[int] = []
    for seed in range(WAYS):
        library = Library(seed)
        exec(code, {"M": major, "ask": library, "risk": library.risk, "come": come})
    return set(come)


def gate_of(text: str, monkeypatch: pytest.MonkeyPatch) -> Gate | None:
    """The gate at the end of a module, if it is one."""
    monkeypatch.setattr(test_python_cases, "UNIVERSE", UNIVERSE)
    line = max(i for i, one in enumerate(text.split("\n"), 1) if one.strip() == "x = 1") - 1
    gates = test_python_cases.scan({"m.py": text})["m.py"].gates
    return next((g for g in gates if g.kind is Kind.IF and g.place.line == line and len(g.arms) == 2), None)


@pytest.mark.parametrize("first", range(0, COUNT, 30))
def test_definite_answers_hold_in_every_run(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    definite = told = 0
    for seed in range(SEED + first, SEED + min(first + 30, COUNT)):
        text = Made(seed).module()
        gate = gate_of(text, monkeypatch)
        if gate is None:
            continue
        for major in CAPABILITIES:
            word, found = gate.arms[0].truth.word(UNIVERSE.bit(Target(major * 10))), outcomes(text, major)
            definite += word != "unknown"
            told += len(found) == 1
            assert word == "unknown" or found == {1 if word == "yes" else 2}, f"seed {seed}: {major} {word}\n{text}"
    assert definite > told / 4  # unknown everywhere would be no answer


def run_of(before: str, question: str) -> str:
    return re.sub(r"\bM\b", MAJOR, f"{HEAD}{before}\nif {question}:\n    x = 1\nelse:\n    x = 2\n")


# What goes before, a condition, and the majors that meet it, that do not, and of which nobody can tell.
ONE_UNKNOWN = {
    "both_bounds": (
        "if ask():\n    lo, hi = 7, 9\nelse:\n    lo, hi = 10, 11", "lo <= M < hi", "", "9 11 12", "7 8 10"
    ),
    "one_after_the_other": (
        "f = ask() == 1\nlo, hi = 7, 9\nif f:\n    lo = 10\nif f:\n    hi = 12",
        "lo <= M < hi", "", "9 12", "7 8 10 11",
    ),
    "choices": ("f = ask() > 3\nlo = 10 if f else 7\nhi = 12 if f else 9", "lo <= M < hi", "", "9 12", "7 8 10 11"),
    "the_same_everywhere": ("if ask():\n    n = 9\nelse:\n    n = 10", "M >= n or M == 9", "9 10 11 12", "7 8", ""),
    "cases": (
        "match ask():\n    case 1: lo, hi = 10, 12\n    case _: lo, hi = 7, 9", "lo <= M < hi", "", "9 12", "7 8 10 11"
    ),
    "handler": (
        "try:\n    import no_such\n    lo, hi = 7, 9\nexcept ImportError:\n    lo, hi = 10, 13",
        "lo <= M < hi", "", "9", "7 8 10 11 12",
    ),
    "handed_over": (
        "def pick(f, a, b):\n    if f:\n        return a\n    return b\nf = ask() == 1",
        "pick(f, 7, 10) <= M < pick(f, 9, 12)", "", "9 12", "7 8 10 11",
    ),
    "both_and_neither": ("f = ask() == 1\nn = 12 if f else 7", "f and M >= n and M < 12", "", "7 8 9 10 11 12", ""),
}  # fmt: skip
# The same, where it is asked again and may be answered otherwise: nothing more is known.
SEVERAL = {
    "asked_again": ("lo = 10 if ask() else 7\nhi = 12 if ask() else 9", "lo <= M < hi", "12", "7 8 9 10 11"),
    "set_again": (
        "f = ask() == 1\nlo = 10 if f else 7\nf = ask() == 1\nhi = 12 if f else 9", "lo <= M < hi", "12", "7 8 9 10 11"
    ),
    "emptied": (
        "xs = ask()\nlo = 10 if xs else 7\nxs.clear()\nhi = 12 if xs else 9", "lo <= M < hi", "12", "7 8 9 10 11"
    ),
    "two_calls": (
        "def n(a, b):\n    return a if ask() else b", "n(10, 7) <= M < n(12, 9)", "12", "7 8 9 10 11"
    ),
    "two_objects": (
        "class C:\n    def __init__(self, a, b):\n        self.n = a if ask() else b", "C(10, 7).n <= M < C(12, 9).n",
        "12", "7 8 9 10 11",
    ),
    "rounds": (
        "lo, hi = 7, 9\nfor c in ask():\n    if c > 3:\n        lo = 10\n    else:\n        hi = 12", "lo <= M < hi",
        "12", "7 8 9 10 11",
    ),
    "flag_of_each_round": (
        "def n():\n    for v in (10, 12):\n        f = ask() == v\n        if f:\n            return v\n    return 7",
        "M < n()", "12", "7 8 9 10 11",
    ),
    "loop_in_a_handler": (
        "hi = 9\ntry:\n    ask()\nexcept ValueError:\n    for c in ask():\n        hi = 12", "M < hi",
        "", "7 8 9 10 11 12",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_UNKNOWN)
def test_one_unknown_is_one_in_all_statements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, question, yes, no, unknown = ONE_UNKNOWN[name]
    assert words(run_of(before, question), monkeypatch) == {"yes": yes, "no": no, "unknown": unknown}


@pytest.mark.parametrize("name", SEVERAL)
def test_what_is_asked_again_is_another_unknown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, question, no, unknown = SEVERAL[name]
    assert words(run_of(before, question), monkeypatch) == {"yes": "", "no": no, "unknown": unknown}


def words(text: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    gate = gate_of(text, monkeypatch)
    assert gate is not None
    told = {major: gate.arms[0].truth.word(UNIVERSE.bit(Target(major * 10))) for major in CAPABILITIES}
    return {word: " ".join(str(m) for m in told if told[m] == word) for word in ("yes", "no", "unknown")}
