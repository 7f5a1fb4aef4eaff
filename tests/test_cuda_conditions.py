"""Conditions are evaluated as the preprocessor does, for every target at once, and unknown stays unknown."""

from __future__ import annotations

import pytest
from condition_answers import UNKNOWN
from condition_answers import answer as asked_of
from condition_answers import state as state_with
from cuda_scan import catalog

from archscan.frontends.cuda.preprocessor.environment import Compiler
from archscan.frontends.cuda.preprocessor.macros import (
    Definition,
    MacroDefinitions,
    parse_define,
    redefined,
    state_of,
    uniform,
)
from archscan.frontends.protocol import Context
from archscan.model.condition import Blame, asked, atom, blamed
from archscan.model.settings import ScanSettings

UNIVERSE = catalog().universe
TARGETS = ("sm_80", "sm_90", "sm_90a", "sm_100f", "sm_103a", "sm_120", "sm_120a", "sm_121f", "host")


def answer(text: str, macros: tuple[str, ...] = (), settings: ScanSettings | None = None) -> tuple[str, set[str]]:
    """Truth at TARGETS as letters, and the names to blame."""
    compiler = Compiler(Context(catalog(), settings or ScanSettings()))
    definitions = dict(found for text in macros if (found := parse_define(text)))
    defined = {name: uniform(definition, UNIVERSE.all) for name, definition in definitions.items()}

    def lookup(name: str) -> MacroDefinitions:
        return compiler.state(name) or defined.get(name) or compiler.unknown(name)

    found = asked_of(UNIVERSE.all, text, lookup)
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
    found = asked_of(UNIVERSE.all, "X == 1201 || X == 7", lambda name: _state(name, state))
    assert UNIVERSE.names(found.truth.yes & UNIVERSE.device)[-3:] == ("sm_120", "sm_120a", "sm_120f")


def _state(name: str, state: MacroDefinitions) -> MacroDefinitions:
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


def test_a_macro_that_is_redefined_where_it_is_not_known_is_one_or_the_other() -> None:
    flag = asked(atom("USE_X"), UNIVERSE.all)
    state = redefined("N", uniform(Definition(None, "4"), UNIVERSE.all), Definition(None, "(8u)"), flag)
    for text, expected in (("N == 4 || N == 8", "y"), ("N > 3", "y"), ("N > 4", "u"), ("N > 8", "n")):
        assert asked_of(UNIVERSE.all, text, lambda _: state).truth.word(1)[0] == expected


def test_a_macro_with_too_many_definitions_is_only_known_to_be_defined() -> None:
    state = uniform(Definition(None, "0"), UNIVERSE.all)
    for number in range(1, 40):
        state = redefined("N", state, Definition(None, str(number)), asked(atom(f"USE_{number:02}"), UNIVERSE.all))
        assert len(state.parts) <= 9
    assert asked_of(UNIVERSE.all, "defined(N)", lambda _: state).truth.yes == UNIVERSE.all
    found = asked_of(UNIVERSE.all, "N < 3", lambda _: state)
    assert found.truth.unknown(UNIVERSE.all) == UNIVERSE.all and found.unknowns(UNIVERSE.all)


def test_candidates_hold_where_they_are_named() -> None:
    old, new = (UNIVERSE.bit(UNIVERSE.by_name[name]) for name in ("sm_80", "sm_90"))
    rest = UNIVERSE.all & ~(old | new)
    state = state_with("N", {Definition(None, "2"): old, ("4", "8"): new, UNKNOWN: rest})
    truth = asked_of(UNIVERSE.all, "N >= 4", lambda _: state).truth
    assert (truth.yes, truth.no) == (new, old)


def test_one_bound_or_another_shuts_out_what_both_do() -> None:
    flag = asked(atom("USE_X"), UNIVERSE.all)
    limit = redefined("LIMIT", uniform(Definition(None, "1200"), UNIVERSE.all), Definition(None, "1000"), flag)
    compiler = Compiler(Context(catalog(), ScanSettings()))
    text = "__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < LIMIT"
    found = asked_of(UNIVERSE.all, text, lambda name: compiler.state(name) or limit)
    assert [found.truth.word(UNIVERSE.bit(UNIVERSE.by_name[n]))[0] for n in ("sm_89", "sm_90", "sm_100", "sm_120")] == [
        *"nyun"
    ]
    assert blamed(found.when, UNIVERSE.all) == (Blame("USE_X", False),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FOO > 2 || FOO <= 2", "y"),
        ("FOO != 3 && FOO == 3", "n"),
        ("2 < FOO && !(FOO > 2)", "n"),
        ("defined(FOO) || !FOO", "y"),  # what is not defined is 0
        ("FOO && !defined(FOO)", "n"),
        ("FOO == 0 || FOO", "y"),
        ("FOO > 2 || FOO < 2", "u"),
        ("__has_include(<a.h>) && !__has_include(<b.h>)", "u"),
        ("__has_include(<a.h>) && !__has_include(<a.h>)", "n"),
    ],
)
def test_what_is_not_known_is_one_thing_in_all_places(text: str, expected: str) -> None:
    assert answer(text)[0] == expected * len(TARGETS)


def test_a_call_that_pasting_makes_within_a_call_is_looked_up() -> None:
    macros = ("E(...) __VA_ARGS__", "MAKE(a, b) ((a) * 10 + (b))", "OF_X() (1, 2)", "CALL_(f, args) f args")
    macros += ("CALL(f, ...) CALL_(f, (__VA_ARGS__))", "OF(v) CALL(MAKE, E v())", "IS(name) OF(OF_##name)")
    assert answer("IS(X) == 12", macros) == ("y" * len(TARGETS), set())
