"""Conditions are evaluated as the preprocessor does, for every target at once, and unknown stays unknown."""

from __future__ import annotations

import pytest
from cuda_scan import catalog

from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.environment import Compiler
from archscan.frontends.cuda.preprocessor.macros import (
    SOME,
    UNDEFINED,
    UNKNOWN,
    Definition,
    State,
    candidates,
    either,
    parse_define,
    some_of,
    state_of,
    uniform,
)
from archscan.frontends.protocol import Context
from archscan.model.settings import ScanSettings

UNIVERSE = catalog().universe
TARGETS = ("sm_80", "sm_90", "sm_90a", "sm_100f", "sm_103a", "sm_120", "sm_120a", "sm_121f", "host")


def answer(text: str, macros: tuple[str, ...] = (), settings: ScanSettings | None = None) -> tuple[str, set[str]]:
    """Truth at TARGETS as letters, and the names to blame."""
    compiler = Compiler(Context(catalog(), settings or ScanSettings()))
    definitions = dict(found for text in macros if (found := parse_define(text)))
    defined = {name: uniform(definition, UNIVERSE.all) for name, definition in definitions.items()}

    def lookup(name: str) -> State:
        return compiler.state(name) or defined.get(name) or compiler.unknown

    found = Evaluator(UNIVERSE.all).answer(text, lookup)
    letters = "".join(found.truth.word(UNIVERSE.bit(UNIVERSE.by_name[name]))[0] for name in TARGETS)
    return letters, set(found.unknowns(UNIVERSE.all))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200", "nyyyynnnn"),
        ("defined(__CUDA_ARCH__) and (__CUDA_ARCH__ == 900ull)", "nyynnnnnn"),
        ("__CUDA_ARCH__ < 800", "nnnnnnnny"),  # an undefined name is 0 in the host pass
        ("!defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 1'000", "nnnyyyyyy"),
        ("0x384 <= __CUDA_ARCH__", "nyyyyyyyn"),
        ("__CUDA_ARCH__ / 100 == 9 ? 1 : 0", "nyynnnnnn"),
        ("__CUDA_ARCH__", "yyyyyyyyn"),
        ("not defined(__CUDA_ARCH__)", "nnnnnnnny"),
        ("defined(__CUDA_ARCH_FEAT_SM90_ALL)", "nnynnnnnn"),
        ("defined(__CUDA_ARCH_FAMILY_SPECIFIC__)", "nnyyynyyn"),
        ("__CUDA_ARCH_FAMILY_SPECIFIC__ == 1200", "nnnnnnynn"),  # sm_121f has its own value
        ("__CUDA_HAS_ARCH_FAMILY_SPECIFIC(100)", "nnnyynnnn"),
        ("__CUDA_ARCH_HAS_FEATURE__(SM120_ALL)", "nnnnnnynn"),
        ("-1 > 0u", "yyyyyyyyy"),
        ("'A' == 65 && 0b11 == 3 && 010 == 8", "yyyyyyyyy"),
        ("(2 | 4) == 6 && (6 & ~2) == 4 && (1 << 3 >> 1) == 4 && -7 / 2 == -3 && -7 % 2 == -1", "yyyyyyyyy"),
        ("__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10 >= 13000", "yyyyyyyyy"),
        ("_MSC_VER || __HIP_PLATFORM_AMD__", "nnnnnnnnn"),
        ("(" * 40 + "__CUDA_ARCH__ >= 900" + ")" * 40, "nyyyyyyyn"),
    ],
)
def test_what_the_compiler_settles(text: str, expected: str) -> None:
    assert answer(text) == (expected, set())


@pytest.mark.parametrize(
    ("text", "expected", "blamed"),
    [
        ("FOO", "uuuuuuuuu", {"FOO"}),
        ("0 && FOO", "nnnnnnnnn", set()),
        ("FOO && 0", "nnnnnnnnn", set()),
        ("FOO || __CUDA_ARCH__ >= 900", "uyyyyyyyu", {"FOO"}),
        ("FOO(3) && __CUDA_ARCH__ == 800", "unnnnnnnn", {"FOO"}),
        ("X() || 1", "yyyyyyyyy", set()),
        ("!FOO ? 1 : 1", "yyyyyyyyy", set()),
        ("FOO ? __CUDA_ARCH__ : 0", "uuuuuuuun", {"FOO"}),
        ("__has_include(<x.h>) && __CUDA_ARCH__", "uuuuuuuun", {"__has_include"}),
        ("FOO + 1 > 1", "uuuuuuuuu", {"FOO"}),
        ("1 / 0", "uuuuuuuuu", {"division by zero"}),
        ("__CUDA_ARCH__ >= 900 && (", "uuuuuuuuu", {"__CUDA_ARCH__"}),
        ("defined(defined)", "uuuuuuuuu", {"defined(defined)"}),
        ("__CUDA_ARCH__ >= 900 && defined(defined)", "uuuuuuuuu", {"__CUDA_ARCH__"}),
        ("(", "uuuuuuuuu", {"("}),
        ("CUDA_VERSION >= 12090", "uuuuuuuuu", {"CUDA_VERSION"}),
    ],
)
def test_what_stays_unknown_and_why(text: str, expected: str, blamed: set[str]) -> None:
    assert answer(text) == (expected, blamed)


@pytest.mark.parametrize(
    ("text", "macros", "expected"),
    [
        ("AT_LEAST(900)", ("AT_LEAST(n) (__CUDA_ARCH__ >= n)",), "nyyyyyyyn"),
        ("FEAT(90)", ("FEAT(n) defined(__CUDA_ARCH_FEAT_SM ## n ## _ALL)",), "nnynnnnnn"),
        ("A", ("A B", "B A"), "uuuuuuuuu"),
        ("A == 3", ("A (B + 1)", "B 2"), "yyyyyyyyy"),
        ("CAT(AR, CH)", ("CAT(a, b) a ## b", "ARCH __CUDA_ARCH__"), "yyyyyyyyn"),
        ("GET(V, KIND) == 7", ("GET(a, b) CAT(a, b)", "CAT(a, b) a ## b", "KIND 1", "V1 7"), "yyyyyyyyy"),
        ("SUM(1, 2) == 3", ("SUM(a, ...) (a + __VA_ARGS__)",), "yyyyyyyyy"),
        ("NONE() + 1", ("NONE() 0",), "yyyyyyyyy"),
        ("EMPTY", ("EMPTY",), "uuuuuuuuu"),
        ("F(1, 2)", ("F(x) x",), "uuuuuuuuu"),
    ],
)
def test_macros_expand(text: str, macros: tuple[str, ...], expected: str) -> None:
    assert answer(text, macros)[0] == expected


def test_a_macro_may_differ_between_targets() -> None:
    new = UNIVERSE.mask(t for t in UNIVERSE.targets if t.sm >= 100)
    state = state_of({Definition(None, "(__CUDA_ARCH__ + 1)"): new, Definition(None, "7"): UNIVERSE.all & ~new})
    found = Evaluator(UNIVERSE.all).answer("X == 1201 || X == 7", lambda name: _state(name, state))
    assert UNIVERSE.names(found.truth.yes & UNIVERSE.device)[-3:] == ("sm_120", "sm_120a", "sm_120f")


def _state(name: str, state: State) -> State:
    return state if name == "X" else Compiler(Context(catalog(), ScanSettings())).state(name) or state


def test_the_command_line_settles_names() -> None:
    settings = ScanSettings(defines=(("FOO", "2"),), undefines=("BAR",), cuda="12.8")
    assert answer("FOO == 2 && !defined(BAR) && CUDART_VERSION == 12080", (), settings) == ("y" * 9, set())


def test_another_processor_than_x86_is_said_on_the_command_line() -> None:
    asked = "defined(__x86_64__) && !defined(__aarch64__)"
    assert answer(asked)[0] == "y" * 9
    arm = ScanSettings(defines=(("__aarch64__", "1"),), undefines=("__x86_64__",))
    assert answer(asked, (), arm)[0] == "n" * 9
    assert answer("__CUDA_ARCH__ == 900", (), ScanSettings(undefines=("__CUDA_ARCH__",)))[0] == "nyynnnnnn"


def test_explosive_macros_are_given_up_not_expanded() -> None:
    doubling = (*(f"M{i} (M{i + 1} + M{i + 1})" for i in range(60)), "M60 1")
    assert answer("M0 > 0", doubling)[0] == "u" * 9
    nested = "F(" * 30 + "1" + ")" * 30
    assert answer(nested, ("F(x) (x + x + x)",))[0] == "u" * 9
    assert answer("(" * 5000 + "1" + ")" * 5000)[0] == "u" * 9
    assert answer("!" * 5000 + "1")[0] == "u" * 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__GNUC__ >= 7", "y"),
        ("__GNUC__ > 7", "u"),
        ("__GNUC__ < 16", "y"),
        ("__GNUC__ < 15", "u"),
        ("__GNUC__ == -1", "n"),
        ("__cplusplus >= 201703L", "y"),
        ("__cplusplus >= 202002L", "u"),
        ("__GNUC__ > 20 && USE_IT", "n"),
        ("__GNUC__ > 6 && USE_IT", "u"),
        ("__cplusplus == 201703L || __cplusplus == 202002L || __cplusplus == 202302L", "y"),
        ("__cplusplus == 201703L || __cplusplus == 202302L", "u"),
        ("__GNUC__ + __GNUC_MINOR__ < 21", "y"),
        ("__GNUC__ + __GNUC_MINOR__ < 20", "u"),
        ("100 / (__GNUC__ - 8) > 1000", "u"),  # an error for one of them
    ],
)
def test_what_all_candidates_of_a_macro_agree_on_is_known(text: str, expected: str) -> None:
    assert answer(text)[0] == expected * len(TARGETS)


def test_what_candidates_leave_open_is_blamed_on_their_macro() -> None:
    assert answer("__GNUC__ >= 9 && __CUDA_ARCH__ >= 900") == ("nuuuuuuun", {"__GNUC__"})


def test_two_integers_of_which_one_holds_are_candidates() -> None:
    four, eight = Definition(None, "4"), Definition(None, "(8u)")
    assert candidates(either(four, eight)) == ("4", "8u")
    assert candidates(either(either(four, eight), Definition(None, "16"))) == ("16", "4", "8u")
    assert either(four, UNDEFINED) == UNKNOWN
    assert either(four, Definition(None, "f(4)")) == SOME
    assert either(four, Definition((), "8")) == SOME
    assert either(either(four, eight), SOME) == SOME
    assert len(candidates(some_of(map(str, range(12))))) == 12
    assert some_of(map(str, range(13))) == SOME


def test_more_worlds_than_can_be_tried_leave_it_open() -> None:
    assert answer("__GNUC__ + __GNUC_MINOR__ < 100")[0][0] == "y"  # 54 worlds
    assert answer("__GNUC__ + __GNUC_MINOR__ + __cplusplus < 9")[0][0] == "u"  # 162


def test_candidates_hold_where_they_are_named() -> None:
    old, new = (UNIVERSE.bit(UNIVERSE.by_name[name]) for name in ("sm_80", "sm_90"))
    rest = UNIVERSE.all & ~(old | new)
    state = state_of({Definition(None, "2"): old, some_of(["4", "8"]): new, UNKNOWN: rest})
    truth = Evaluator(UNIVERSE.all).answer("N >= 4", lambda _: state).truth
    assert (truth.yes, truth.no) == (new, old)


def test_a_call_that_pasting_makes_within_a_call_is_looked_up() -> None:
    macros = ("E(...) __VA_ARGS__", "MAKE(a, b) ((a) * 10 + (b))", "OF_X() (1, 2)", "CALL_(f, args) f args")
    macros += ("CALL(f, ...) CALL_(f, (__VA_ARGS__))", "OF(v) CALL(MAKE, E v())", "IS(name) OF(OF_##name)")
    assert answer("IS(X) == 12", macros) == ("y" * len(TARGETS), set())
