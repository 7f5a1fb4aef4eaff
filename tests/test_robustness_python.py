"""Random Python modules against Python itself: what the front end is sure of is what running the module does.

Each module asks for the capability in the ways people do. It is run once for each GPU with a torch that knows its
capability only; wherever the front end says yes or no for an arm, the run must agree. Unknown is always allowed.
"""

from __future__ import annotations

import os
import types
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_python_cases import UNIVERSE, scan

from archscan.model.gate import Kind

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "60"))
GPUS = [target for target in UNIVERSE.targets if not target.is_host and not target.suffix]

HEAD = """\
import torch

cap = torch.cuda.get_device_capability()
major, minor = torch.cuda.get_device_capability()
sm = major * 10 + minor
TABLE = {9: True, 10: True, 12: False}
NAMES = {"9.0": "hopper", "10.0": "blackwell", "12.0": "blackwell"}


def at_least(wanted):
    return torch.cuda.get_device_capability() >= wanted


def version():
    a, b = torch.cuda.get_device_capability()
    return 10 * a + b

"""
SMALL = st.sampled_from(["0", "1", "3", "7", "8", "9", "10", "11", "12"])
LARGE = st.sampled_from(["80", "89", "90", "100", "103", "120", "121"])
PAIRS = st.sampled_from(["(8, 0)", "(8, 9)", "(9, 0)", "(10, 0)", "(10, 3)", "(12, 0)", "(12, 1)"])
COMPARE = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
MAJOR = st.sampled_from(["major", "cap[0]", "sm // 10", "version() // 10", "int(sm / 10)", "divmod(sm, 10)[0]"])
MINOR = st.sampled_from(["minor", "cap[1]", "sm % 10", "cap[-1]"])
WHOLE = st.sampled_from(["sm", "version()", "major * 10 + minor", "cap[0] * 10 + cap[1]", "int(f'{major}{minor}')"])
PAIR = st.sampled_from(["cap", "(major, minor)", "torch.cuda.get_device_capability()", "tuple(cap)", "cap[:2]"])


def joined(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda found: template.format(*found))


def some(item: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A literal of several items."""
    return st.tuples(st.lists(item, min_size=1, max_size=4), st.sampled_from(["[{}]", "({},)", "{{{}}}"])).map(
        lambda pair: pair[1].format(", ".join(pair[0]))
    )


def asked(value: st.SearchStrategy[str], constant: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A question about one value."""
    return (
        joined("{} {} {}", value, COMPARE, constant)
        | joined("{} <= {} < {}", constant, value, constant)
        | joined("{} {} {}", value, st.sampled_from(["in", "not in"]), some(constant))
        | joined("any({} == x for x in {})", value, some(constant))
        | joined("max({}, {}) == {}", value, constant, constant)
    )


OUTSIDE = st.sampled_from(["given('a')", "given('b')"])
ATOMS = (
    asked(MAJOR, SMALL)
    | asked(MINOR, SMALL)
    | asked(WHOLE, LARGE)
    | asked(PAIR, PAIRS)
    | joined("{} in range({}, {})", WHOLE, LARGE, LARGE)
    | joined("at_least({})", PAIRS)
    | joined("TABLE.get({}, {})", MAJOR, st.sampled_from(["True", "False"]))
    | joined("NAMES.get(f'{{major}}.{{minor}}') == '{}'", st.sampled_from(["hopper", "blackwell", "ada"]))
    | joined("'{{}}.{{}}'.format(*cap) {} ['9.0', '12.0']", st.sampled_from(["in", "not in"]))
    | joined("str(sm).startswith('{}')", st.sampled_from(["9", "12", "8"]))
    | OUTSIDE
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: (
        joined("not ({})", inner)
        | joined("({} and {})", inner, inner)
        | joined("({} or {})", inner, inner)
        | joined("({} if {} else {})", inner, inner, inner)
        | joined("all([{}, {}])", inner, inner)
        | joined("({}) == ({})", inner, inner)
        | joined("bool({})", inner)
    ),
    max_leaves=5,
)


@dataclass(frozen=True)
class Module:
    """A module and the line of its ladder; what it appends to `taken` tells which arm was taken."""

    text: str
    line: int
    arms: int


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """A few definitions on top of each other, then a ladder that may use them."""
    lines = HEAD.splitlines()
    names: list[str] = []
    for number in range(draw(st.integers(0, 3))):
        known = CONDITIONS if not names else CONDITIONS | st.sampled_from(names)
        shape = draw(st.sampled_from(["flag", "function", "early", "changed"]))
        if shape == "flag":
            lines.append(f"flag{number} = {draw(known)}")
            names.append(f"flag{number}")
        elif shape == "changed":
            lines += [f"flag{number} = {draw(known)}", f"if {draw(known)}:", f"    flag{number} = {draw(known)}"]
            names.append(f"flag{number}")
        else:
            lines += ["", "", f"def f{number}():"]
            if shape == "early":
                lines += [f"    if {draw(known)}:", f"        return {draw(known)}"]
            lines += [f"    return {draw(known)}", "", ""]
            names.append(f"f{number}()")
    known = CONDITIONS if not names else CONDITIONS | st.sampled_from(names)
    line, arms = len(lines) + 1, draw(st.integers(1, 3))
    for arm in range(arms):
        lines += [f"{'elif' if arm else 'if'} {draw(known | OUTSIDE)}:", f"    taken.append({arm})"]
    lines += ["else:", f"    taken.append({arms})"]
    return Module("\n".join(lines) + "\n", line, arms)


def run(text: str, major: int, minor: int, given: tuple[str, ...]) -> list[int] | None:
    """The arms that a module takes on a GPU where what is given from outside holds; None where it fails."""
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(get_device_capability=lambda *_: (major, minor)))
    taken: list[int] = []
    place: dict[str, Any] = {"taken": taken, "given": lambda name: name in given, "__import__": None}

    def found(name: str, *_: object) -> object:
        return torch

    place["__builtins__"] = {**__builtins__, "__import__": found}  # type: ignore[dict-item]
    try:
        exec(text, place)
    except Exception:
        return None
    return taken


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(modules())
def test_random_modules_do_what_is_said(module: Module) -> None:
    facts = scan({"pkg/a.py": module.text})
    for gate in facts["pkg/a.py"].gates if facts else ():
        if gate.kind is not Kind.IF or gate.arms[0].place.line != module.line:
            continue
        for target in GPUS:
            for holds in ((), ("a",), ("b",), ("a", "b")):
                taken = run(module.text, target.sm // 10, target.sm % 10, holds)
                for number, arm in enumerate(gate.arms if taken is not None else ()):
                    word = arm.truth.word(UNIVERSE.bit(target))
                    told = word == "unknown" or (word == "yes") == (number in (taken or ()))
                    assert told, (module.text, target.name, number, holds)
