"""The corners of condition evaluation: pairs of operators, the ends of the 64-bit range, who is blamed where."""

from __future__ import annotations

from itertools import product

import pytest
from condition_answers import SOME, UNKNOWN, answer, state
from test_robustness_conditions import ATOM, LEVELS, TARGETS, Node, Value, binary, unary

from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.macros import (
    UNDEFINED,
    Definition,
    MacroDefinitions,
    one_of,
    open_state,
    state_of,
    uniform,
)
from archscan.frontends.cuda.preprocessor.tokens import mentioned, names_in

ALL = (1 << TARGETS) - 1
OPERATORS = [operator for level in LEVELS for operator in level]
TRIPLES = sorted(product((5, 2, 3, 1, 0), repeat=3), key=lambda t: len(set(t)), reverse=True)


def opened(name: str) -> MacroDefinitions:
    """A macro that may be defined, and as anything."""
    return open_state(name, ALL)


def defined(**bodies: str) -> dict[str, MacroDefinitions]:
    """Object-like macros, the same for every target."""
    return {name: uniform(Definition(None, body), ALL) for name, body in bodies.items()}


def word(text: str, states: dict[str, MacroDefinitions] | None = None) -> str:
    """The truth of a condition that is the same for every target; other names are unknown."""
    truth = answer(ALL, text, lambda name: (states or {}).get(name) or opened(name)).truth
    assert truth.yes in (0, ALL)
    assert truth.no in (0, ALL)
    return truth.word(1)


def masks(text: str, states: dict[str, MacroDefinitions]) -> tuple[int, int]:
    """Where a condition is yes and where it is no."""
    truth = answer(ALL, text, lambda name: states.get(name) or opened(name)).truth
    return truth.yes, truth.no


def number(value: int) -> Node:
    return Node(str(value), lambda _: (Value(value),) * TARGETS, ATOM)


def groupings(first: str, second: str) -> list[Node]:
    """`a first b second c` for numbers that tell the two ways to group it apart, if there are such numbers."""
    for a, b, c in TRIPLES:
        left = binary((second, binary((first, number(a), number(b))), number(c)))
        right = binary((first, number(a), binary((second, number(b), number(c)))))
        if left.values != right.values:
            text = f"{a} {first} {b} {second} {c}"
            return [node for node in (left, right) if node.text == text and node.values[0].number is not None]
    return []


@pytest.mark.parametrize("first", OPERATORS)
def test_operators_bind_as_in_c(first: str) -> None:
    nodes = [node for second in OPERATORS for node in groupings(first, second)]
    assert len(nodes) > len(OPERATORS) // 2
    joined = " && ".join(f"({node.text}) == {node.values[0].number}" for node in nodes)
    assert word(joined.replace("== -", "== 0-")) == "yes", joined


def test_prefixes_bind_tighter_than_any_operator() -> None:
    for prefix, operator in product("-~!", OPERATORS):
        node = binary((operator, unary((prefix, number(1))), number(3)))
        if node.values[0].number is not None:
            assert word(f"({prefix}1 {operator} 3) == {node.values[0].number}") == "yes", (prefix, operator)


@pytest.mark.parametrize(
    "text",
    [
        "0x7fffffffffffffff > 0",
        "0x7fffffffffffffff + 1 < 0",
        "0x7fffffffffffffff + 1 == -0x7fffffffffffffff - 1",
        "0x8000000000000000 > 0 && 9223372036854775808 == 0x8000000000000000",  # too large for a signed one
        "0x8000000000000000 - 1 == 0x7fffffffffffffff",
        "-0x8000000000000000 == 0x8000000000000000",  # unsigned: wraps
        "0xffffffffffffffff == -1 && 18446744073709551616 == 0",
        "-1 > 0u && !(-1 > 0) && -1 == ~0u && 0u - 1 > 0",
        "-1 >> 1 == -1 && -1 >> 63 == -1 && ~0u >> 63 == 1 && -8 >> 1 == -4",
        "1 << 63 < 0 && 1u << 63 > 0 && 1 << 62 > 0 && 3 << 0 == 3 && 3 >> 0 == 3",
        "7 / 2 == 3 && -7 / 2 == -3 && 7 / -2 == -3 && -7 / -2 == 3 && 0 / -3 == 0 && -6 / 3 == -2",
        "7 % 2 == 1 && -7 % 2 == -1 && 7 % -2 == 1 && -7 % -2 == -1 && 6 % 3 == 0 && -6 % 4 == -2",
        "-1 / 2u == 0x7fffffffffffffff && -1 % 10u == 5",
        "+5 == 5 && - -5 == 5 && !!7 == 1 && !0 == 1 && ~5 == -6 && -~5 == 6",
        "010 == 8 && 08 == 8 && 0 == 00 && 0b101 == 5 && 0B11 == 3 && 0X1f == 31 && 1'0'0 == 100 && 0x1'f == 31",
        "5u == 5 && 5UL == 5 && 5ull == 5 && 5ll == 5 && 5z == 5 && -1 < 5l && !(-1 < 5uz)",
        "(2 > 1) == 1 && (2 < 1) == 0 && (2 >= 2) + (2 <= 2) == 2 && (1 != 2) == 1",
        "(1 && 2) == 1 && (0 || 3) == 1 && (0 || 0) == 0",
        "1 ? 1 : 0 && 0",
        "(0 ? 1 : 2) == 2 && (1 ? 3 : 2) == 3 && (0 ? 1 : 0 ? 2 : 4) == 4 && (1 ? 0 ? 5 : 6 : 7) == 6",
        "'A' == 65 && 'z' - 'a' == 25",
        "true && !false && true + true == 2 && (1 xor 3) == 2 && compl 0 == -1",
        "(6 bitand 3) == 2 && (4 bitor 1) == 5",
        "not 0 and 1 or 0 && (1 not_eq 2)",
    ],
)
def test_what_c_says_of_numbers(text: str) -> None:
    assert word(text) == "yes"
    assert word(f"!({text})") == "no"


@pytest.mark.parametrize("text", ["1 << 64", "1 << -1", "1 >> 64", "1 >> -1", "1 / 0", "1 % 0", "1 / 0u"])
def test_what_c_does_not_define_is_unknown(text: str) -> None:
    found = answer(ALL, text, opened)
    assert found.truth.unknown(ALL) == ALL
    assert found.unknowns(ALL) == ("division by zero",)


@pytest.mark.parametrize(
    "text",
    ["", "(", ")", "1 1", "1 +", "1 ? 2", "1 ? 2 :", "()", "1 : 2", "A B", "defined", "defined(", "defined +",
     "? 1 : 2", "== 1", "1 = 1", "\"s\" == 1", "1 < ", "F(", "''", "'", "@", "9" * 1001],
)  # fmt: skip
def test_what_is_no_expression_is_unknown(text: str) -> None:
    assert word(text) == "unknown"


def test_numbers_may_be_long() -> None:
    assert word("0" + "9" * 999 + " != 0") == "yes"


# Four targets: bit 0 undefined, bit 1 unknown, bit 2 is 5, bit 3 defined somehow
MIXED = state("X", {UNDEFINED: 1, UNKNOWN: 2, Definition(None, "5"): 4, SOME: 8})


@pytest.mark.parametrize(
    ("text", "yes", "no", "blamed"),
    [
        ("X", 0b0100, 0b0001, 0b1010),
        ("!X", 0b0001, 0b0100, 0b1010),
        ("defined(X)", 0b1100, 0b0001, 0b0010),
        ("!defined X", 0b0001, 0b1100, 0b0010),
        ("X == 5", 0b0100, 0b0001, 0b1010),
        ("X == 0", 0b0001, 0b0100, 0b1010),
        ("X + 1 == 6", 0b0100, 0b0001, 0b1010),
        ("defined(X) && X", 0b0100, 0b0001, 0b1010),
        ("!defined(X) || X", 0b0101, 0, 0b1010),
        ("X && 0", 0, 0b1111, 0),
        ("X || 1", 0b1111, 0, 0),
        ("X ? 1 : 1", 0b1111, 0, 0),
        ("X ? 1 : 0", 0b0100, 0b0001, 0b1010),
        ("X ? 0 : 1", 0b0001, 0b0100, 0b1010),
        ("1 ? X : 0", 0b0100, 0b0001, 0b1010),
        ("0 ? X : 3", 0b1111, 0, 0),
        ("0 ? 0 : X", 0b0100, 0b0001, 0b1010),
        ("X ? X : 1", 0b1111, 0, 0),  # whatever it is
        ("X(1)", 0, 0, 0b1111),
        ("X(1) && 0", 0, 0b1111, 0),
        ("10 / X == 2", 0b0100, 0, 0b1010),
    ],
)
def test_each_target_has_its_own_answer(text: str, yes: int, no: int, blamed: int) -> None:
    found = answer(ALL, text, {"X": MIXED}.__getitem__)
    assert (found.truth.yes, found.truth.no) == (yes, no)
    for bit in (1, 2, 4, 8):
        named = "X" in found.unknowns(bit)
        assert named == bool(blamed & bit), bit
    assert found.names == ("X",)


def test_only_what_is_open_is_blamed() -> None:
    left = state("L", {UNKNOWN: 0b0011, Definition(None, "1"): 0b1100})
    right = state("R", {UNKNOWN: 0b0110, UNDEFINED: 0b1001})
    found = answer(ALL, "L && R", {"L": left, "R": right}.__getitem__)
    assert (found.truth.yes, found.truth.no) == (0, 0b1001)
    assert found.unknowns(ALL) == ("L", "R")
    assert found.unknowns(0b0100) == ("R",)
    assert found.unknowns(0b0001) == ()
    assert found.unknowns(0b0010) == ("L", "R")
    chosen = answer(ALL, "L ? R : 0", {"L": left, "R": right}.__getitem__)
    assert (chosen.truth.yes, chosen.truth.no) == (0, 0b1001)
    assert chosen.unknowns(0b0100) == ("R",)
    first = answer(ALL, "L ? 1 : 0", lambda name: left)
    assert first.truth.yes == 0b1100
    assert [first.unknowns(1 << bit) for bit in range(TARGETS)] == [("L",), ("L",), (), ()]


def test_what_is_no_expression_is_blamed_where_it_is_none() -> None:
    everywhere = answer(ALL, "X (", opened)
    assert [everywhere.unknowns(1 << bit) for bit in range(TARGETS)] == [("X",)] * TARGETS
    many = answer(ALL, " + ".join(f"N{n}" for n in range(151)), opened)
    assert [many.unknowns(1 << bit)[:1] for bit in range(TARGETS)] == [("N0",)] * TARGETS
    half = state_of({Definition(None, "( 1"): 0b0011, Definition(None, "1 + 0"): 0b1100})
    found = answer(ALL, "M == 1", {"M": half}.__getitem__)
    assert (found.truth.yes, found.truth.no) == (0b1100, 0)
    assert [found.unknowns(1 << bit) for bit in range(TARGETS)] == [("M",), ("M",), (), ()]


def test_names_are_those_behind_the_condition() -> None:
    states = {**defined(A="B + 1", B="2", C="", LOOP="LOOP"), "F": uniform(Definition(("x", "y"), "x + A + y"), ALL)}
    found = answer(ALL, "F(1, 2) == 6", lambda name: states.get(name) or opened(name))
    assert found.truth.yes == ALL
    assert found.names == ("F", "A", "B")
    assert answer(ALL, "OTHER", opened).names == ("OTHER",)
    assert word("LOOP", states) == "unknown"
    assert names_in("A + A and defined(B) || 0x1F + 1u") == ("A", "B")
    assert mentioned(states["F"].parts[0][0]) == ("A",)
    assert mentioned(Definition((), "x + A")) == ("x", "A")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N == 3 && (P) == 4 && Q == 5", "yes"),  # plain numbers, perhaps in parentheses
        ("-N == -3 && - NEG == 2 && NEG < 0", "yes"),
        ("SUM * 2 == 5", "yes"),  # 1 + 2 * 2: no parentheses of its own
        ("UNSIGNED - 8 > 0", "yes"),
        ("ID(7) == 7 && ID((7)) == 7", "yes"),
        ("ADD(1, 2) == 3 && ADD((1, 2), 3) == 6", "unknown"),
        ("ADD(ID(1), ADD(2, 3)) == 6", "yes"),
        ("FIRST(4, 5, 6) == 4 && ALL_OF(1 + 2) == 3", "yes"),
        ("CAT(N, 1) == 9 && CAT(1, 2) == 12", "yes"),
        ("CAT(NOT_, YET)", "unknown"),
        ("HAS(N) && !HAS(NOWHERE_DEFINED)", "unknown"),
        ("HAS(N)", "unknown"),  # `defined(3)` is no expression
        ("IS_N && LATE", "yes"),
        ("ID == 0", "yes"),  # a function-like macro without a call is a plain name, and those are 0
        ("EMPTY 3 == 3 EMPTY", "yes"),
        ("ID() + 1 == 1", "yes"),
        ("ADD(1)", "unknown"),
        ("ADD(1, 2, 3)", "unknown"),
        ("RECURSE(1) > 0", "unknown"),
        ("ID(0u) - 1 > 0 && ID(0) - 1 < 0", "yes"),
    ],
)
def test_macros(text: str, expected: str) -> None:
    states = defined(
        N="3", P="((4))", Q="(5", NEG="(-2)", SUM="1 + 2", UNSIGNED="(7u)", N1="9", EMPTY="", IS_N="defined(N)",
        LATE="defined N", Q2="5)",
    )  # fmt: skip
    states["Q"] = uniform(Definition(None, "( 5 )"), ALL)
    functions = {
        "ID": (("x",), "x"), "ADD": (("a", "b"), "(a + b)"), "FIRST": (("a", "..."), "a"),
        "ALL_OF": (("...",), "(__VA_ARGS__)"),
        "CAT": (("a", "b"), "a ## b"), "HAS": (("x",), "defined(x)"), "RECURSE": (("x",), "RECURSE(x)"),
    }  # fmt: skip
    for name, (params, body) in functions.items():
        states[name] = uniform(Definition(params, body), ALL)
    assert word(text, states) == expected


def test_a_macro_with_two_bodies_splits_the_targets() -> None:
    body = state_of({Definition(None, "(ARCH + 1)"): 0b0011, Definition(None, "ARCH - 1"): 0b0100, UNDEFINED: 0b1000})
    arch = state_of({Definition(None, str(n)): 1 << n for n in range(TARGETS)})
    states = {"X": body, "ARCH": arch}
    assert masks("X == 1", states) == (0b0101, 0b1010)
    assert masks("X == 2", states) == (0b0010, 0b1101)
    assert masks("X == 0 && !defined(X)", states) == (0b1000, 0b0111)
    assert masks("defined(X) && defined(ARCH)", states) == (0b0111, 0b1000)


def test_answers_are_remembered_by_the_states_behind_them() -> None:
    evaluator = Evaluator(ALL)
    one, two = defined(A="B", B="1"), defined(A="B", B="0")
    assert evaluator.answer("A", one.__getitem__).when == ALL
    assert evaluator.answer("A", two.__getitem__).when == 0
    again = evaluator.answer("A", one.__getitem__)
    assert again.when == ALL
    assert evaluator.answer("A", one.__getitem__) is again


def nested(depth: int) -> str:
    return "(" * depth + "1" + ")" * depth


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        (nested(60), nested(61)),
        ("(1) && " + nested(60), "(1) && " + nested(61)),
        (" && ".join(["(1)"] * 200), ""),
        ("!" * 1000 + "1", "!" * 1001 + "1"),
        ("1 + " + " + ".join(f"Z{n}" for n in range(150)), "1 + " + " + ".join(f"Z{n}" for n in range(151))),
        ("9" * 1000, "9" * 1001),
        ("0 ? 1 : " * 60 + "1", "0 ? 1 : " * 61 + "1"),
    ],
)
def test_limits_are_where_they_are_said_to_be(within: str, beyond: str) -> None:
    zero = uniform(UNDEFINED, ALL)
    assert answer(ALL, within, lambda name: zero).truth.word(1) in ("yes", "no")
    assert answer(ALL, beyond, lambda name: zero).truth.word(1) == "unknown"


@pytest.mark.parametrize(("ways", "known"), [(96, True), (97, False)])
def test_a_universe_may_be_split_in_96_ways(ways: int, known: bool) -> None:
    everything = (1 << ways) - 1
    state = state_of({Definition(None, f"0 + {n}"): 1 << n for n in range(ways)})
    found = answer(everything, "X > 4", {"X": state}.__getitem__)
    assert found.truth.known(everything) == known
    if known:
        assert found.truth.no == 0b11111
        assert found.truth.yes == everything & ~0b11111


def test_plain_integers_split_nothing() -> None:
    everything = (1 << 97) - 1
    state = state_of({Definition(None, str(n)): 1 << n for n in range(97)})
    assert answer(everything, "X > 4", {"X": state}.__getitem__).truth.no == 0b11111


def test_macros_that_split_alike_split_once() -> None:
    everything = (1 << 12) - 1
    state = state_of({Definition(None, f"0 + {n}"): 1 << n for n in range(12)})
    found = answer(everything, "X + Y + Z > 8", {"X": state, "Y": state, "Z": state}.__getitem__)
    assert (found.truth.no, found.truth.yes) == (0b111, everything & ~0b111)


def test_candidates_hold_where_the_macro_is_one_of_them() -> None:
    states = {"X": state("X", {Definition(None, "7"): 0b0001, ("1", "2"): 0b1110})}
    assert masks("X == 7", states) == (0b0001, 0b1110)
    assert masks("X < 3", states) == (0b1110, 0b0001)
    assert masks("X == 1", states) == (0, 0b0001)
    half = {
        "X": state("X", {("1", "2"): 0b0011, ("5", "6"): 0b1100}),
        "Y": state_of({Definition(None, "(1)"): 0b0011, Definition(None, "(2 + 0)"): 0b1100}),
    }
    assert masks("X < 3 && Y == 1", half) == (0b0011, 0b1100)
    assert masks("X > 4 && Y", half) == (0b1100, 0b0011)


def test_what_a_sum_of_candidates_may_be_is_known() -> None:
    states = {f"N{i}": one_of(f"N{i}", [str(value) for value in range(n)], ALL) for i, n in enumerate((12, 11, 2))}
    assert masks(" + ".join(states) + " < 22", states) == (0, 0)  # up to 22
    assert masks(" + ".join(states) + " < 23", states) == (ALL, 0)


@pytest.mark.parametrize(("values", "known"), [(24, True), (25, False)])
def test_24_numbers_are_tried_and_not_one_more(values: int, known: bool) -> None:
    states = {"N": one_of("N", [str(value) for value in range(values)], ALL)}
    assert masks("N + 1 > 0", states) == ((ALL, 0) if known else (0, 0))


def test_names_that_pasting_makes_are_looked_up() -> None:
    states = defined(IS_GCC="1", IS_ICC="0")
    states["IS"] = uniform(Definition(("x",), "IS_ ## x"), ALL)
    states["CALL"] = uniform(Definition(("x",), "CALL_##x()"), ALL)
    states["CALL_ONE"] = uniform(Definition((), "1"), ALL)
    states["CALL_NONE"] = uniform(Definition((), "0"), ALL)
    zero = uniform(UNDEFINED, ALL)
    for text, expected in {
        "IS(GCC)": "yes", "IS(ICC)": "no", "CALL(ONE)": "yes", "CALL(NONE)": "no", "CALL(ONE) && IS(ICC)": "no",
        "!CALL(NONE) && IS(GCC)": "yes",
    }.items():  # fmt: skip
        found = answer(ALL, text, lambda name: states.get(name, zero))
        assert found.truth.word(ALL) == expected, text


def test_a_call_of_an_unknown_macro_is_skipped_whole() -> None:
    states = defined(ONE="1")
    assert word("F((1), (2), 3) || ONE", states) == "yes"
    assert word("F((1), 2) && !ONE", states) == "no"
    assert word("F((1)) (ONE)", states) == "unknown"


def test_bodies_with_half_a_pair_of_parentheses() -> None:
    states = defined(CLOSED="15)", OPENED="(15", NUMBER=" ( 15 ) ", WRAPPED="(15) + (1)")
    assert word("(CLOSED == 15", states) == "yes"
    assert word("OPENED ) == 15", states) == "yes"
    assert word("NUMBER == 15 && WRAPPED == 16", states) == "yes"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELF", "unknown"),  # a name within itself stays a name, and that name is this macro
        ("TWICE == 4", "yes"),
        ("A1 == 3", "yes"),
        ("defined(A1) && defined A2", "yes"),
        ("IF_DEFINED", "yes"),
        ("defined(SELF) + defined(A1) == 2", "yes"),
        ("HUGE > 0", "unknown"),
    ],
)
def test_macros_without_parameters(text: str, expected: str) -> None:
    states = defined(
        SELF="SELF + 1",
        TWICE="A2 + A2",
        A1="A2 + 1",
        A2="2",
        IF_DEFINED="defined(A1) && defined A2",
        HUGE="1 + " * 5000,
    )
    assert word(text, states) == expected
