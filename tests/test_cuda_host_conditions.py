"""Random conditions of host code against brute force: every target, and every world of what is not known."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscan.model.gate import Gate, Kind
from tests.host_scan import catalog, gate, gates

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "150"))
SMS = sorted({t.sm for t in catalog().universe.members(catalog().universe.device) if t.sm >= 80})
FLAGS = ("w", "x", "y", "z")
HEAD = "int f(bool w, bool x, bool y, bool z) {\n  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);\n"


@dataclass(frozen=True)
class Made:
    """A condition as C++ and as Python, over the major `M` and the flags, and each flag as often as it is in it."""

    cpp: str
    python: str
    flags: tuple[str, ...] = ()


def _not(a: Made) -> Made:
    return Made(f"!({a.cpp})", f"(not {a.python})", a.flags)


def _joined(a: Made, b: Made, sign: str) -> Made:
    return Made(
        f"({a.cpp}) {sign} ({b.cpp})", f"({a.python} {'and' if sign == '&&' else 'or'} {b.python})", a.flags + b.flags
    )


def _chosen(a: Made, b: Made, c: Made) -> Made:
    text = f"({b.python} if {a.python} else {c.python})"
    return Made(f"({a.cpp}) ? ({b.cpp}) : ({c.cpp})", text, a.flags + b.flags + c.flags)


flags = st.sampled_from(FLAGS).map(lambda name: Made(name, name, (name,)))
majors = st.builds(
    lambda sign, number: Made(f"p.major {sign} {number}", f"(M {sign} {number})"),
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    st.sampled_from([8, 9, 10, 11, 12]),
)
conditions = st.recursive(
    flags | majors,
    lambda inner: st.one_of(
        st.builds(_not, inner),
        st.builds(_joined, inner, inner, st.sampled_from(["&&", "||"])),
        st.builds(_chosen, flags, inner, inner),
    ),
    max_leaves=6,
)


def worlds(condition: Made) -> list[dict[str, bool]]:
    names = sorted(set(condition.flags))
    return [dict(zip(names, ways, strict=True)) for ways in itertools.product([False, True], repeat=len(names))]


def holds(condition: Made, sm: int, world: dict[str, bool], more: dict[str, object] | None = None) -> bool:
    return bool(eval(condition.python, {"M": sm // 10, **world, **(more or {})}))


def answers(found: Gate, sm: int) -> tuple[str, str]:
    """The strict and the supposed truth of the first arm."""
    universe = catalog().universe
    bit = sum(universe.bit(t) for t in universe.targets if t.sm == sm and not t.is_host and not t.suffix)
    return found.arms[0].own.word(bit), found.arms[0].assumed.word(bit)


@given(conditions)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_definite_answer_holds_in_every_world(condition: Made) -> None:
    for found in gates(f"{HEAD}  if ({condition.cpp}) return fast();\n  return slow();\n}}\n"):
        assumed = []
        for sm in SMS:
            truths = {holds(condition, sm, world) for world in worlds(condition)}
            strict, supposed = answers(found, sm)
            assert strict == "unknown" or truths == {strict == "yes"}, (sm, condition.cpp)
            assumed.append((sm, supposed))
            if len(set(condition.flags)) == len(condition.flags) and len(truths) == 1:
                assert strict != "unknown", (sm, condition.cpp)
        told = [(sm, word == "yes") for sm, word in assumed if word != "unknown"]
        if len(set(condition.flags)) == len(condition.flags):
            assert any(all(holds(condition, sm, world) is yes for sm, yes in told) for world in worlds(condition))


@given(flags, conditions)
@settings(max_examples=EXAMPLES // 3, deadline=None)
def test_a_bound_that_hangs_on_a_flag_is_asked_in_both_worlds(flag: Made, condition: Made) -> None:
    text = f"{HEAD}  int limit = {flag.cpp} ? 10 : 12;\n  if (p.major < limit && ({condition.cpp})) return fast();\n"
    for found in gates(text + "  return slow();\n}\n"):
        for sm in SMS:
            truths = {
                sm // 10 < (10 if world.get(flag.cpp) else 12) and holds(condition, sm, world)
                for world in worlds(Made("", "", (*condition.flags, flag.cpp)))
            }
            strict, _ = answers(found, sm)
            assert strict == "unknown" or truths == {strict == "yes"}, (sm, text)


@pytest.mark.parametrize(
    ("parameter", "body", "yes", "unknown"),
    [
        # the same parameter asked twice is one unknown
        ("bool x", "if ((x && p.major >= 9) || (!x && p.major >= 9)) return fast();", {90, 100, 120}, set()),
        ("bool x", "if ((x && p.major >= 9) || (!x && p.major >= 12)) return fast();", {120}, {90, 100}),
        # what may be changed in between is another one each time
        ("bool x", "if ((x && p.major >= 9) || (!h(x) && !x && p.major >= 9)) return fast();", set(), {90, 100, 120}),
        ("bool x", "if ((g() && p.major >= 9) || (!g() && p.major >= 9)) return fast();", set(), {90, 100, 120}),
        # a truth compared with a flag: each target takes it in one world
        ("bool x", "if (x == (p.major >= 9)) return fast();", set(), {80, 90, 100, 120}),
        ("bool x", "if (x && x == (p.major >= 9)) return fast();", set(), {90, 100, 120}),
        ("bool x", "if (x != (p.major >= 9) || x) return fast();", {90, 100, 120}, {80}),
        # a bound by a flag shuts sm_120 out in both worlds, however it is written
        ("bool x", "int limit = x ? 10 : 12; if (p.major >= 9 && p.major < limit) return fast();", {90}, {100}),
        ("bool x", "int limit; if (x) limit = 10; else limit = 12; if (p.major >= 9 && p.major < limit) return fast();",
         {90}, {100}),
        ("bool x", "bool ok = x ? p.major >= 9 : p.major >= 12; if (ok) return fast();", {120}, {90, 100}),
    ],
)  # fmt: skip
def test_one_unknown_is_one(parameter: str, body: str, yes: set[int], unknown: set[int]) -> None:
    head = f"int f({parameter}) {{\n  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);"
    (found,) = (g for g in gates(f"{head}\n  {body}\n  return slow();\n}}\n") if g.kind is Kind.IF)
    words = {sm: answers(found, sm)[0] for sm in (80, 90, 100, 120)}
    assert {sm for sm, word in words.items() if word == "yes"} == yes
    assert {sm for sm, word in words.items() if word == "unknown"} == unknown


def test_two_calls_of_a_helper_may_answer_two_things() -> None:
    helper = "bool fits(int n) {\n  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);\n"
    helper += "  return p.major >= 9 && n > limit();\n}\n"
    found = gate(helper + "int f(int a, int b) {\n  if (fits(a) || !fits(b)) return fast();\n  return slow();\n}\n", 6)
    assert answers(found, 80)[0] == "yes"
    assert answers(found, 120)[0] == "unknown"


@pytest.mark.parametrize(
    "limit",
    [
        "constexpr int kLimit =\n#ifdef USE_X\n  10;\n#else\n  12;\n#endif\n",
        "#ifdef USE_X\nconstexpr int kLimit = 10;\n#else\nconstexpr int kLimit = 12;\n#endif\n",
    ],
)
def test_a_constant_that_an_if_directive_chooses_is_asked_in_both_worlds(limit: str) -> None:
    read = "  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);\n"
    found = gate(
        f"{limit}int f() {{\n{read}  if (p.major >= 9 && p.major < kLimit) return fast();\n  return slow();\n}}\n"
    )
    assert [answers(found, sm)[0] for sm in (80, 90, 100, 110, 120)] == ["no", "yes", "unknown", "unknown", "no"]
    assert found.arms[0].unknowns == ("USE_X",)


def test_many_unknowns_around_a_condition_leave_it_what_is_supposed() -> None:
    around = " && ".join(f"p.major != {number} + a{number}" for number in range(30, 37))
    asked = " && ".join(f"b{number}(q)" for number in range(7))
    read = "  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);\n"
    text = (
        f"int f(int q) {{\n{read}  if ({around} && u0(q)) {{\n    if (p.major >= 9 && {asked}) return fast();\n  }}\n"
    )
    found = gate(f"{text}  return slow();\n}}\n", 4)
    assert [answers(found, sm) for sm in (80, 90)] == [("no", "no"), ("unknown", "yes")]
    assert found.arms[0].assumes
