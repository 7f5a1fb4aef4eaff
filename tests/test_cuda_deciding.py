"""Which directives of a file decide its gates: everything else may stay unread."""

from __future__ import annotations

from archscan.frontends.cuda.preprocessor.deciding import asks, deciding, defining, gating
from archscan.frontends.cuda.preprocessor.directives import scan
from archscan.frontends.cuda.preprocessor.events import Directive

SOURCE = b"""#if defined(_MSC_VER)
#define EXPORT __declspec(dllexport)
#endif
#ifdef WITH_TMA
#define HAS_TMA 1
#if __CUDA_ARCH__ >= 900
#define FAST 1
#elif SLOW
#endif
#else
#undef HAS_TMA
#endif
#if HAS_TMA
#endif
"""
EVENTS = scan(SOURCE)


def lines(events: tuple[Directive, ...]) -> list[int]:
    return [event.line for event in events]


def test_a_condition_asks_by_the_architecture_or_by_what_derives_from_it() -> None:
    assert asks("__CUDA_ARCH__ >= 900", frozenset())
    assert asks("defined(FAST)", frozenset({"FAST"}))
    assert not asks("defined(FAST)", frozenset())


def test_gates_are_kept_with_the_whole_of_what_stands_around_them() -> None:
    assert lines(gating(EVENTS, frozenset())) == [4, 6, 8, 9, 10, 12]
    assert lines(gating(EVENTS, frozenset({"HAS_TMA"}))) == [4, 6, 8, 9, 10, 12, 13, 14]
    assert gating(EVENTS[:3], frozenset()) == ()


def test_definitions_are_kept_with_the_conditionals_around_them() -> None:
    assert lines(defining(EVENTS, {"HAS_TMA"})) == [4, 5, 10, 11, 12]
    assert lines(deciding(EVENTS, frozenset(), {"EXPORT"})) == [1, 2, 3, 4, 6, 8, 9, 10, 12]


def test_what_is_unbalanced_is_kept_as_far_as_it_goes() -> None:
    torn = scan(b"#else\n#endif\n#if A\n#if __CUDA_ARCH__ >= 900\n#define X\n")
    assert lines(gating(torn, frozenset())) == [3, 4]
    assert lines(deciding(torn, frozenset(), {"X"})) == [3, 4, 5]
