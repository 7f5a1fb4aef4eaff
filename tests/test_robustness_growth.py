"""Work grows with the input: four times as much of the same takes about four times as long, never sixteen times."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hostile import catalog, check, facts

from archscan.frontends.python.interpreter import evaluate, names
from archscan.frontends.python.interpreter.values import Value
from archscan.model.gate import Gate

IF = "#if __CUDA_ARCH__ >= 900\n"
BODY = "int x;\n#endif\n"
CAPABILITY = "torch.cuda.get_device_capability()"
MOST = 7  # times as long for four times the input: linear is 4, quadratic 16
SECONDS = 30  # of processor time at the full size


@dataclass(frozen=True)
class Case:
    """A text of any size, and the size at which it took half a minute and more."""

    size: int
    text: Callable[[int], str]
    path: str = "a.cu"


def chain(n: int, first: str = "__CUDA_ARCH__") -> str:
    return f"#define M0 {first}\n" + "".join(f"#define M{i} M{i - 1}\n" for i in range(1, n))


CASES = {
    "chain of macros": Case(10_000, lambda n: chain(n, "1") + f"#if M{n - 1} && __CUDA_ARCH__ >= 900\n{BODY}"),
    "chain of arch macros": Case(10_000, lambda n: chain(n) + f"#if M{n - 1} >= 900\n{BODY}"),
    "chain from its end": Case(
        10_000,
        lambda n: "".join(reversed(chain(n).splitlines(keepends=True))) + f"#if M{n - 1} >= 900\n{BODY}",
    ),
    "chain with a flag each": Case(
        4000,
        lambda n: (
            "#define M0 __CUDA_ARCH__\n"
            + "".join(f"#define M{i} (M{i - 1} + F{i})\n" for i in range(1, n))
            + f"#if M{n - 1} >= 900\n{BODY}"
        ),
    ),
    "chain of guarded macros": Case(
        4000,
        lambda n: (
            IF + "#define M0\n#endif\n" + "".join(f"#ifdef M{i - 1}\n#define M{i}\n#endif\n" for i in range(1, n))
        ),
    ),
    "nested with else and defines": Case(
        2000,
        lambda n: (
            "".join(f"#if __CUDA_ARCH__ >= {900 + i % 7}\n#define A{i}\n#else\n#define B{i}\n" for i in range(n))
            + "#endif\n" * n
        ),
    ),
    "nested with defines": Case(
        2000,
        lambda n: (
            "".join(f"#if __CUDA_ARCH__ >= {900 + i % 7}\n#define A{i} 1\n" for i in range(n))
            + "".join(f"#else\n#define A{i} 2\n#endif\n" for i in reversed(range(n)))
        ),
    ),
    "nested under unknown flags": Case(
        2000,
        lambda n: "".join(f"#if U{i} && __CUDA_ARCH__ >= 900\n#define A{i}\n" for i in range(n)) + "#endif\n" * n,
    ),
    "redefinitions": Case(
        20_000, lambda n: "".join(f"#define X {i}\n" for i in range(n)) + f"#if X\n{IF}{BODY}#endif\n"
    ),
    "redefinitions by architecture": Case(
        20_000, lambda n: "".join(f"#define X (__CUDA_ARCH__ > {i})\n" for i in range(n)) + f"#if X\n{BODY}"
    ),
    "redefinitions that are asked for": Case(
        8000,
        lambda n: "".join(f"#undef X\n#define X (__CUDA_ARCH__ > {i})\n#if X\n{BODY}" for i in range(n)),
    ),
    "dedents": Case(4000, lambda n: "".join(" " * (i % 97) + "if sm >= 90:\n" for i in range(n)), "a.py"),
    "values behind dedents": Case(
        2000,
        lambda n: (
            f"sm = {CAPABILITY}[0]\n"
            + "".join(" " * k + ("if sm >= 9:\n" if k < 20 else "x = 1\n") for _ in range(n // 21) for k in range(21))
        ),
        "a.py",
    ),
}


def seconds(case: Case, size: int) -> float:
    """Of processor time, without the collector, as the scan itself runs."""
    data = case.text(size).encode()
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        check(data, case.path)
        return time.process_time() - began
    finally:
        gc.enable()


@pytest.mark.parametrize("name", CASES)
def test_four_times_the_input_takes_about_four_times_as_long(name: str) -> None:
    case = CASES[name]
    facts(IF.encode(), case.path)  # what is loaded once
    for _ in range(3):  # a busy machine spoils a measurement, never thrice the same way
        small, large = seconds(case, case.size // 4), seconds(case, case.size)
        if large <= MOST * max(small, 0.05) and large < SECONDS:
            return
    pytest.fail(f"{small:.2f} s for {case.size // 4}, {large:.2f} s for {case.size}")


def gates(text: str, path: str = "a.cu") -> list[Gate]:
    return [gate for one in facts(text.encode(), path) for gate in one.gates]


@pytest.mark.parametrize(("links", "known"), [(20, True), (100, True), (2000, False)])
def test_a_chain_too_long_to_follow_is_unknown_and_says_so(links: int, known: bool) -> None:
    universe = catalog().universe
    (gate,) = gates(chain(links) + f"#if M{links - 1} >= 900\n{BODY}")
    truth = gate.arms[0].truth
    if known:
        assert "sm_90" in universe.names(truth.yes)
        assert "sm_89" in universe.names(truth.no)
    else:
        assert (truth.yes, truth.no) == (0, 0)
        assert gate.arms[0].unknowns == (f"M{links - 1}",)


def test_what_nests_too_deeply_to_be_read_is_undecided() -> None:
    """The bodies of nested conditionals are the file many times over; what is not read is not taken for work."""

    def nested(n: int) -> str:
        return "".join(f"{IF}#define A{i}\n" for i in range(n)) + "#error no\n" + "#endif\n" * n

    (found,) = (one for one in facts(nested(30).encode(), "a.cu") if one.gates)
    assert (len(found.gates), found.undecided) == (30, ())
    (found,) = (one for one in facts(nested(2000).encode(), "a.cu") if one.gates)
    assert len(found.gates) == 2000
    assert 1000 < len(found.undecided) < 2000
    assert {u.reason for u in found.undecided} == {
        "conditionals nest so deeply here that what its arms do was not read"
    }


def test_flags_behind_a_macro_are_told_nearest_first_and_bounded() -> None:
    text = "".join(f"#define M{i} (M{i + 1} + F{i})\n" for i in range(200)) + "#define M200 __CUDA_ARCH__\n"
    (gate,) = gates(text + f"#if M10 > 900\n{BODY}")
    assert gate.arms[0].unknowns == tuple(f"F{i}" for i in range(10, 74))


def grown_list(n: int) -> str:
    """A list that a function of Python adds to under conditions and in loops, of which nothing is told."""
    adding = "".join(
        f"    if sm_capabilities.get('k{i}'):\n        out.append(f{i}())\n"
        f"    for name, on in (('a', sm_capabilities.get('a{i}')), ('b', sm_capabilities.get('b{i}'))):\n"
        f"        if on:\n            out.extend(g{i}(name))\n"
        for i in range(n)
    )
    rows = ", ".join(f"'{c}{i}': major >= 9 and on('x{i}')" for i in range(n) for c in "kab")
    return (
        f"def made(sm_capabilities):\n    out = [first()]\n{adding}    return out\n\n\n"
        f"def told():\n    major = {CAPABILITY}[0]\n    return {{{rows}}}\n\n\n"
        "def main():\n    sm_capabilities = told()\n    found = made(sm_capabilities)\n    return found\n"
    )


@pytest.mark.parametrize("steps", [50, 150])
def test_a_list_too_long_to_follow_ends_the_search(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Where the steps are used up nothing is remembered: each place would go through all before it, twice."""
    joins = 0
    join = names._join

    def counted(*args: Any) -> Value:
        nonlocal joins
        joins += 1
        return join(*args)

    monkeypatch.setattr(names, "STEPS", steps)
    monkeypatch.setattr(evaluate, "STEPS", steps)
    monkeypatch.setattr(names, "_join", counted)
    facts(grown_list(10).encode(), "a.py")
    assert 0 < joins < 500
