"""Random conditions against a second evaluator that knows nothing of the first: one value per target, C rules.

It computes with what is not known in Kleene's way, and in worlds where everything is known. What it is sure of, the
product is sure of; what the product is sure of besides holds in every world that is tried.

The reference walks the expression tree it generated itself, so it shares neither lexer nor parser with the product.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.macros import (
    OPAQUE,
    UNDEFINED,
    Definition,
    MacroDefinitions,
    open_state,
    state_of,
    uniform,
)
from archscan.model.condition import Cond, blamed, both, either, truth

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "150"))
TARGETS = 4
ALL = (1 << TARGETS) - 1
WRAP = 1 << 64

# name -> what it is for each target: a number, "undefined", "unknown" (perhaps defined) or "some" (defined somehow)
Macros = Mapping[str, tuple[object, ...]]
MACROS: Macros = {
    "ARCH": ("undefined", 900, 1000, 1200),
    "FEAT": ("undefined", 1, "undefined", "undefined"),
    "UNSIGNED": ((7, True), (7, True), (7, True), (7, True)),
    "ZERO": (0, 0, 0, 0),
    "NEGATIVE": (-1, -1, -1, -1),
    "ABSENT": ("undefined",) * 4,
    "OPEN": ("unknown",) * 4,
    "PARTLY": ("unknown", 1, 0, "some"),
    "SET": ("some",) * 4,
}


@dataclass(frozen=True)
class Value:
    """A 64-bit number of the preprocessor; None = unknown. An error (division by zero) is unknown too."""

    number: int | None
    unsigned: bool = False


def _wrapped(number: int, unsigned: bool) -> Value:
    number %= WRAP
    return Value(number if unsigned or number < WRAP // 2 else number - WRAP, unsigned)


@dataclass(frozen=True)
class Node:
    """An expression: its text, and its value for each target, given the macros."""

    text: str
    meaning: Callable[[Macros], tuple[Value, ...]]
    rank: int = 0  # how tightly its outermost operator binds

    @property
    def values(self) -> tuple[Value, ...]:
        return self.meaning(MACROS)

    def inner(self, rank: int) -> str:
        """The text as an operand of an operator that binds this tightly: no parentheses but those it takes."""
        return self.text if self.rank >= rank else f"({self.text})"


def _state(name: str) -> MacroDefinitions:
    parts: dict[Definition, Cond] = {}
    for target, what in enumerate(MACROS[name]):
        if what == "unknown":
            made = open_state(name, ALL).parts
        elif what == "some":
            made = ((Definition(None, name, OPAQUE), ALL),)
        elif what == "undefined":
            made = ((UNDEFINED, ALL),)
        else:
            number, suffix = (what[0], "u") if isinstance(what, tuple) else (what, "")
            made = ((Definition(None, f"({number})" if int(number) < 0 else f"{number}{suffix}"), ALL),)
        for definition, cond in made:
            parts[definition] = either(parts.get(definition, 0), both(cond, 1 << target))
    return state_of(parts)


def _worlds() -> list[Macros]:
    """What the macros may be: those of which nothing is known are undefined, or one of a few numbers."""
    return [
        {
            name: tuple(_in_world(what, values[n % len(values)]) for what in whats)
            for n, (name, whats) in enumerate(named)
        }
        for named in (sorted(MACROS.items()),)
        for values in (("undefined", 1), (0, "undefined"), (1, 2, 0), (900, 3, "undefined"), (7, 7), (1200, 0, 1))
    ]


def _in_world(what: object, value: object) -> object:
    return (1 if value == "undefined" else value) if what == "some" else value if what == "unknown" else what


STATES = {name: _state(name) for name in MACROS}


def _macro_value(what: object) -> Value:
    if what == "undefined":
        return Value(0)
    if isinstance(what, str):
        return Value(None)
    return Value(what[0], True) if isinstance(what, tuple) else Value(int(what))  # type: ignore[call-overload]


def _defined_value(what: object) -> Value:
    return Value(None) if what == "unknown" else Value(int(what != "undefined"))


@st.composite
def numbers(draw: st.DrawFn) -> Node:
    value = draw(st.sampled_from([0, 1, 2, 3, 7, 8, 63, 64, 90, 100, 900, 1000, 1200, 2**31, 2**63 - 1]))
    spelling = draw(st.sampled_from(["{}", "{:#x}", "{:#b}", "0{:o}", "{:_}"])).format(value).replace("_", "'")
    suffix = draw(st.sampled_from(["", "", "u", "L", "ull", "UL"]))
    if spelling.startswith("00"):
        spelling = "0"
    return Node(spelling + suffix, lambda _: (Value(value, "u" in suffix.lower()),) * TARGETS, ATOM)


WORLDS = _worlds()
names = st.sampled_from(sorted(MACROS)).map(lambda n: Node(n, lambda macros: tuple(map(_macro_value, macros[n])), ATOM))
defineds = st.tuples(
    st.sampled_from(sorted(MACROS)), st.sampled_from(["defined({})", "defined {}", "defined ( {} )"])
).map(lambda pair: Node(pair[1].format(pair[0]), lambda macros: tuple(map(_defined_value, macros[pair[0]])), ATOM))


def unary(pair: tuple[str, Node]) -> Node:
    operator, node = pair
    text = f"{operator}{node.inner(UNARY + (node.text[0] in '+-'))}"
    return Node(text, lambda macros: _signed(operator, node.meaning(macros)), UNARY)


def _signed(operator: str, given: tuple[Value, ...]) -> tuple[Value, ...]:
    values = []
    for value in given:
        if value.number is None:
            values.append(value)
        elif operator in ("!", "not "):
            values.append(Value(int(not value.number)))
        elif operator == "+":
            values.append(value)
        else:
            values.append(_wrapped(-value.number if operator == "-" else ~value.number, value.unsigned))
    return tuple(values)


def _and(a: Value, b: Value) -> Value:
    if (a.number is not None and not a.number) or (b.number is not None and not b.number):
        return Value(0)
    return Value(None) if a.number is None or b.number is None else Value(1)


def _or(a: Value, b: Value) -> Value:
    if a.number or b.number:
        return Value(1)
    return Value(None) if a.number is None or b.number is None else Value(0)


def _plain(operator: str, left: Value, right: Value) -> Value:
    if left.number is None or right.number is None:
        return Value(None)
    unsigned = left.unsigned or right.unsigned
    a, b = (left.number % WRAP, right.number % WRAP) if unsigned else (left.number, right.number)
    if operator in ("==", "!=", "<", "<=", ">", ">="):
        held = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
        return Value(int(held))
    if operator in ("<<", ">>"):
        if right.number < 0 or right.number > 63:
            return Value(None)
        shifted = left.number * 2**right.number if operator == "<<" else left.number // 2**right.number
        return _wrapped(shifted, left.unsigned)
    if operator in ("/", "%"):
        if b == 0:
            return Value(None)
        quotient = abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))
        return _wrapped(quotient if operator == "/" else a - quotient * b, unsigned)
    result = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[operator]
    return _wrapped(result, unsigned)


LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
          ("*", "/", "%"))  # fmt: skip
RANKS = {operator: rank for rank, level in enumerate(LEVELS, 1) for operator in level}
UNARY, ATOM = 11, 12
WORDS = {"and": "&&", "or": "||", "bitand": "&", "bitor": "|", "xor": "^", "not_eq": "!="}
OPERATORS = ["&&", "||", "and", "or", "==", "!=", "not_eq", "<", "<=", ">", ">=", "+", "-", "*", "/", "%",
             "<<", ">>", "&", "|", "^", "bitand", "bitor", "xor"]  # fmt: skip


def binary(parts: tuple[str, Node, Node]) -> Node:
    operator, left, right = parts
    plain = WORDS.get(operator, operator)
    combine = {"&&": _and, "||": _or}.get(plain)

    def meaning(macros: Macros) -> tuple[Value, ...]:
        pairs = zip(left.meaning(macros), right.meaning(macros), strict=True)
        return tuple(combine(a, b) if combine else _plain(plain, a, b) for a, b in pairs)

    rank = RANKS[plain]
    return Node(f"{left.inner(rank)} {operator} {right.inner(rank + 1)}", meaning, rank)


def ternary(parts: tuple[Node, Node, Node]) -> Node:
    condition, first, second = parts

    def meaning(macros: Macros) -> tuple[Value, ...]:
        values = []
        for c, a, b in zip(*(part.meaning(macros) for part in parts), strict=True):
            if c.number is None:
                values.append(a if a == b else Value(None))
            else:
                values.append(a if c.number else b)
        return tuple(values)

    return Node(f"{condition.inner(1)} ? {first.inner(0)} : {second.inner(0)}", meaning)


expressions = st.recursive(
    numbers() | names | defineds,
    lambda inner: (
        st.tuples(st.sampled_from(["!", "-", "~", "+", "not "]), inner).map(unary)
        | st.tuples(st.sampled_from(OPERATORS), inner, inner).map(binary)
        | st.tuples(inner, inner, inner).map(ternary)
    ),
    max_leaves=12,
)


def lookup(name: str) -> MacroDefinitions:
    return STATES.get(name) or open_state(name, ALL)


def word_of(value: Value) -> str:
    return "unknown" if value.number is None else "yes" if value.number else "no"


def check(text: str, found: Cond, meaning: Callable[[Macros], tuple[Value, ...]]) -> None:
    """What the reference is sure of is so; what else is told holds in every world in which there is no error."""
    for target, value in enumerate(meaning(MACROS)):
        told = truth(found, ALL).word(1 << target)
        if word_of(value) != "unknown":
            assert told == word_of(value), (text, target)
        elif told != "unknown":
            seen = {word_of(meaning(world)[target]) for world in WORLDS}
            assert seen <= {told, "unknown"}, (text, target)


@settings(max_examples=EXAMPLES, deadline=None)
@given(expressions)
def test_random_conditions_agree_with_the_reference(node: Node) -> None:
    check(node.text, Evaluator(ALL).answer(node.text, lookup).when, node.meaning)


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(expressions)
def test_what_is_unknown_has_a_name(node: Node) -> None:
    when = Evaluator(ALL).answer(node.text, lookup).when
    assert bool(blamed(when, ALL)) == bool(truth(when, ALL).unknown(ALL))


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(st.tuples(expressions, expressions))
def test_macro_bodies_are_expanded(pair: tuple[Node, Node]) -> None:
    body, around = pair
    states = {**STATES, "WRAPPED": uniform(Definition(None, f"({body.text})"), ALL),
              "CALLED": uniform(Definition(("x",), f"((x) && ({body.text}))"), ALL)}  # fmt: skip

    def called(macros: Macros) -> tuple[Value, ...]:
        return tuple(_and(a, b) for a, b in zip(around.meaning(macros), body.meaning(macros), strict=True))

    for text, meaning in (("WRAPPED", body.meaning), (f"CALLED({around.text})", called)):
        found = Evaluator(ALL).answer(text, lambda name: states.get(name) or open_state(name, ALL)).when
        check(f"{text} with {body.text}", found, meaning)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(alphabet="()!&|<>=+-*/%^~?:'\"\\ \t#,.0123456789abxuULdefinedARCHOPEN_`@$", max_size=60))
def test_any_text_has_an_answer(text: str) -> None:
    found = truth(Evaluator(ALL).answer(text, lookup).when, ALL)
    assert not found.yes & found.no


def test_directives_as_expressions() -> None:
    from archscan.frontends.cuda.preprocessor.conditions import condition_text
    from archscan.frontends.cuda.preprocessor.macros import shown
    from archscan.frontends.cuda.preprocessor.tokens import names_in

    assert condition_text("ifdef", " X ") == condition_text("elifdef", "X // c") == "defined(X)"
    assert condition_text("ifndef", "X") == condition_text("elifndef", "X") == "!defined(X)"
    assert condition_text("if", "X > 1") == condition_text("elif", "X > 1") == "X > 1"
    assert condition_text("ifdef", "") == "defined()"
    named = names_in("defined(A) && B >= 900u and not C || __has_include(<d.h>)")
    assert tuple(map(shown, named)) == ("A", "B", "C", "__has_include")
    assert named[3] not in names_in("__has_include(<e.h>)")  # another file, another question


def test_limits_give_up_rather_than_hang() -> None:
    deep = Evaluator(ALL).answer("(" * 300 + "ARCH" + ")" * 300, lookup).when
    assert truth(deep, ALL).unknown(ALL) == ALL
    assert [blame.name for blame in blamed(deep, ALL)] == ["ARCH"]
    many = Evaluator(ALL).answer(" || ".join(f"N{n}" for n in range(400)), lookup).when
    assert truth(many, ALL).unknown(ALL) == ALL
    long = Evaluator(ALL).answer("9" * 5000 + " > ARCH", lookup).when
    assert truth(long, ALL).unknown(ALL) == ALL


def test_malformed_conditions_are_unknown() -> None:
    for text in (
        "",
        "(",
        ")",
        "1 +",
        "ARCH >",
        "1 2",
        "? 1 : 0",
        "ARCH ? 1",
        "defined",
        "defined(",
        '"text"',
        "a.b",
        "@",
    ):
        assert truth(Evaluator(ALL).answer(text, lookup).when, ALL).unknown(ALL) == ALL, text
