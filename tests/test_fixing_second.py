"""The second evaluator of `#if` conditions, on both sides of each bound."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscan.catalog import load
from archscan.fixing.second import truth
from archscan.fixing.second_python import agrees
from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.environment import Compiler
from archscan.frontends.protocol import Context
from archscan.model.settings import ScanSettings
from archscan.model.truth import Truth

CATALOG = load()
UNIVERSE = CATALOG.universe
COMPILER = Compiler(Context(CATALOG, ScanSettings()))


def sms(condition: str) -> frozenset[int]:
    mask = truth(condition, UNIVERSE, CATALOG.macros, "13.0")
    assert mask is not None
    return UNIVERSE.sms(mask)


def test_a_range_ends_where_it_says():
    found = sms("defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200)")
    assert {90, 110} <= found
    assert not found & {89, 120}


def test_one_target_beside_a_range():
    found = sms("__CUDA_ARCH__ >= 900 && (__CUDA_ARCH__ < 1200 || __CUDA_ARCH__ == 1200)")
    assert {110, 120} <= found
    assert 121 not in found


def test_the_host_pass_defines_no_architecture():
    mask = truth("!defined(__CUDA_ARCH__)", UNIVERSE, CATALOG.macros, "13.0")
    assert mask == UNIVERSE.host


@pytest.mark.parametrize("condition", ["USE_FP8 && __CUDA_ARCH__ >= 900", "__CUDA_ARCH__ >", "f(3)", "x" * 5000])
def test_what_names_anything_else_is_no_proof(condition):
    assert truth(condition, UNIVERSE, CATALOG.macros, "13.0") is None


_BOUND = st.builds(
    "{} {} {}".format,
    st.just("__CUDA_ARCH__"),
    st.sampled_from(["<", "<=", "==", "!=", ">=", ">"]),
    st.sampled_from(["800", "900", "1000", "1200", "1210"]),
)
_CONDITIONS = st.recursive(
    _BOUND | st.just("defined(__CUDA_ARCH_FEAT_SM90_ALL)"),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner) | st.builds("!({})".format, inner)
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(_CONDITIONS)
def test_both_evaluators_agree(condition):
    first = Evaluator(COMPILER.everything).answer(condition, lambda name: COMPILER.state(name) or COMPILER.undefined)
    assert first.when == truth(condition, UNIVERSE, CATALOG.macros, "13.0")


def answers(condition: Callable[[int], bool]) -> Truth:
    """What holds for the chips for which `condition` does, and for no other device."""
    yes = UNIVERSE.mask(t for t in UNIVERSE.targets if not t.is_host and condition(t.sm))
    return Truth(yes, UNIVERSE.all & ~yes)


HAS_9 = answers(lambda sm: sm // 10 >= 9)
TEXT = answers(lambda sm: f"{sm // 10}.{sm % 10}" >= "7.0")
WITH_120 = answers(lambda sm: f"{sm // 10}.{sm % 10}" >= "7.0" or sm == 120)
ONLY_90 = answers(lambda sm: sm == 90)
BOTH = answers(lambda sm: sm in (90, 120))


@pytest.mark.parametrize(
    ("before", "after", "known", "told", "agreed"),
    [
        ('cc >= "7.0"', '(cc >= "7.0" or cc == "12.0")', TEXT, WITH_120, True),
        ('cc >= "7.0"', '(cc >= "7.0" or cc == "12.0")', TEXT, TEXT, False),  # it says that nothing moves
        ('cc >= "7.0"', '(cc >= "7.0" or cc == "120")', TEXT, WITH_120, False),  # no chip is called so here
        ("cc == (9, 0)", "cc in ((9, 0), (12, 0))", ONLY_90, BOTH, True),
        ("cc == (9, 0)", "cc in ((9, 0), (12, 1))", ONLY_90, BOTH, False),
        ("major == 9 and minor == 0", "(major, minor) in ((9, 0), (12, 0))", ONLY_90, BOTH, True),
        ("f(cc) >= 9", "f(cc) >= 9", HAS_9, HAS_9, True),  # whatever it calls, it is the major
        ("cc >= bound", "cc >= bound", HAS_9, HAS_9, False),  # two things unknown, and nothing written
        ("cc >= 9 if x else cc >= 8", "cc >= 9", HAS_9, HAS_9, False),
        ("cc >= 9", "cc >= 9 or (", HAS_9, HAS_9, False),
        ("[x for x in y]", "cc >= 9", HAS_9, HAS_9, False),
    ],
)
def test_a_python_condition_is_told_again_from_its_text(before, after, known, told, agreed):
    assert agrees((before, after), (known, told), UNIVERSE) is agreed
