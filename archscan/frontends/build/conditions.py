"""Evaluates what `if()` asks: true, false or unknown, and which literals and orders the answer rests on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from archscan.frontends.build.patterns import asks_for_digits, matched
from archscan.frontends.build.values import UNSET, Origin, Value, unknown
from archscan.model.condition import Cond, asked, atom, both, either, negated, possibly, surely

_TRUE = frozenset({"1", "ON", "YES", "TRUE", "Y"})
_FALSE = frozenset({"", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND"})
_UNARY = frozenset(
    {"COMMAND", "POLICY", "TARGET", "TEST", "DEFINED", "EXISTS", "IS_DIRECTORY", "IS_SYMLINK", "IS_ABSOLUTE"}
    | {"IS_NEWER_THAN", "IS_READABLE", "IS_WRITABLE", "IS_EXECUTABLE"}
)
_NUMERIC = ("EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
_TEXT = tuple(f"STR{name}" for name in _NUMERIC)
_VERSION = tuple(f"VERSION_{name}" for name in _NUMERIC)
_ORDERED = frozenset((*_NUMERIC, *_VERSION))  # of numbers: a word that is none is a variable
_BINARY = frozenset((*_NUMERIC, *_TEXT, *_VERSION, "MATCHES", "IN_LIST", "PATH_EQUAL"))
_COMPARE: dict[str, Callable[[int], bool]] = {
    "EQUAL": lambda order: order == 0,
    "LESS": lambda order: order < 0,
    "LESS_EQUAL": lambda order: order <= 0,
    "GREATER": lambda order: order > 0,
    "GREATER_EQUAL": lambda order: order >= 0,
}
_LEADING = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")  # as scanf reads one: `120a` is 120
_NAME = re.compile(r"[A-Za-z_]\w*")
_SIGNS = ("-", "+", " ")
_MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Word:
    """An argument of if(), expanded. `name` is the variable it may stand for (unquoted arguments only)."""

    value: Value
    name: str = ""
    plain: bool = False  # written as it is: on the left of a comparison that is a variable, though nobody here sets it

    @property
    def text(self) -> str:
        return self.value.text or ""


@dataclass(frozen=True, slots=True)
class Answer:
    """When it is a yes, by what is not known, and what it rests on; a run is for one target, so that a yes is 1."""

    when: Cond
    origins: frozenset[Origin] = frozenset()
    haystacks: frozenset[Origin] = frozenset()  # literal lists that something was looked for in
    haystack: str = ""  # the last of them as it was then
    bounds: frozenset[Origin] = frozenset()  # literals that something was compared with
    by_text: bool = False  # an order of texts decides
    because: tuple[str, ...] = ()

    @property
    def value(self) -> bool | None:
        """Yes, no or unknown (None)."""
        return True if surely(self.when) else None if possibly(self.when) else False

    def inverted(self) -> Answer:
        """The answer of NOT."""
        return replace(self, when=negated(self.when, 1))


NO = Answer(0)
YES = Answer(1)


class Asked:
    """The unknowns of one evaluation of an if(): what it asks twice is one, in another evaluation another."""

    def __init__(self, path: str, run: int) -> None:
        self._place = (path, run)
        self._values: list[Value] = []

    def unknown(self, test: str, because: tuple[str, ...] = ()) -> Cond:
        """What nobody knows of a test."""
        return asked(atom(test, "flag", place=self._place, names=because), 1)

    def key(self, value: Value) -> str:
        """A text for a value in tests: one that is not known is told from every other such value."""
        if value.text is not None:
            return repr(value.text)
        at = next((i for i, known in enumerate(self._values) if known is value), len(self._values))
        if at == len(self._values):
            self._values.append(value)
        return f"#{at}"


class Condition:
    """A parser and evaluator over the words of one if()."""

    def __init__(
        self,
        words: list[Word],
        find: Callable[[str], Value | None],
        defined: Callable[[str], bool | None],
        unknowns: Asked,
    ):
        self._words = words
        self._unknowns = unknowns
        self._at = 0
        self._depth = 0
        self._find = find
        self._defined = defined
        self.groups: tuple[str, ...] = ()  # of the last MATCHES

    def answer(self) -> Answer:
        """The answer; unknown where the words are no condition."""
        result = self._compound()
        if self._at >= len(self._words):
            return result
        return Answer(self._unknowns.unknown(" ".join(map(self._key, self._words)), ("a condition",)), result.origins)

    def _key(self, word: Word) -> str:
        return self._unknowns.key(word.value)

    def _peek(self, *keywords: str) -> bool:
        if self._at >= len(self._words):
            return False
        word = self._words[self._at]
        return bool(word.name) and word.name in keywords

    def _compound(self) -> Answer:
        """AND and OR have no precedence in CMake: they are taken from left to right."""
        result = self._not()
        while self._peek("AND", "OR"):
            join = both if self._peek("AND") else either
            self._at += 1
            other = self._not()
            result = _combined(join(result.when, other.when), result, other)
        return result

    def _not(self) -> Answer:
        if self._peek("NOT") and self._depth < _MAX_DEPTH:
            self._at += 1
            self._depth += 1
            result = self._not().inverted()
            self._depth -= 1
            return result
        return self._test()

    def _test(self) -> Answer:
        if self._at >= len(self._words):
            return NO
        if self._peek("(") and self._depth < _MAX_DEPTH:
            return self._parenthesis()
        if self._peek(*_UNARY) and self._at + 1 < len(self._words) and not self._is_binary(self._at + 1):
            return self._unary()
        left = self._words[self._at]
        self._at += 1
        if self._at < len(self._words) and self._is_binary(self._at):
            operator = self._words[self._at].name
            right = self._words[self._at + 1] if self._at + 1 < len(self._words) else Word(Value(""))
            self._at += 2
            return self._binary(left, operator, right)
        return self._truth(left)

    def _parenthesis(self) -> Answer:
        self._at += 1
        self._depth += 1
        result = self._compound()
        self._depth -= 1
        if self._peek(")"):
            self._at += 1
        return result

    def _is_binary(self, at: int) -> bool:
        return self._words[at].name in _BINARY

    def _unary(self) -> Answer:
        operator, operand = self._words[self._at].name, self._words[self._at + 1]
        self._at += 2
        if operator == "DEFINED":
            known = self._defined(operand.text)
            when = self._unknowns.unknown(f"DEFINED {self._key(operand)}") if known is None else int(known)
            return Answer(when, because=(operand.text,))
        because = (f"{operator} {operand.text}",)
        return Answer(self._unknowns.unknown(f"{operator} {self._key(operand)}", because), because=because)

    def _resolved(self, word: Word) -> Value:
        """What an operand stands for: the value of a variable of that name, else its text."""
        found = self._find(word.name) if word.name else None
        return word.value if found is None or found is UNSET else found

    def _truth(self, word: Word) -> Answer:
        value = word.value
        if value.text is None:
            return Answer(self._unknowns.unknown(self._key(word), value.because), value.origins, because=value.because)
        constant = _constant(value.text)
        if constant is None and word.name:
            found = self._find(word.name)
            if found is None:
                return Answer(self._unknowns.unknown(word.name), because=(word.name,))
            when = self._when(found, lambda text: int(_constant(text) is not False), word.name)
            return Answer(when, found.origins, by_text=found.by_text, because=found.because)
        if constant is None:
            constant = False  # a quoted text that is no true constant
        return Answer(int(constant), value.origins, by_text=value.by_text, because=value.because)

    def _when(self, value: Value, test: Callable[[str], Cond], asked_for: str, because: tuple[str, ...] = ()) -> Cond:
        """When a test of a text holds for a value; unknown where nobody knows what texts it may be."""
        if not value.known:
            return self._unknowns.unknown(asked_for, because)
        result: Cond = 0
        for text, case in value.known:
            result = either(result, both(case, test(text)))
        return result

    def _binary(self, left: Word, operator: str, right: Word) -> Answer:
        one = self._resolved(left)
        if left.plain and _NAME.fullmatch(left.name) and self._find(left.name) is None:
            one = unknown(left.name)
        if operator == "IN_LIST":
            return self._membership(one, right)
        if operator == "MATCHES":
            return self._match(one, right.value)
        other = self._resolved(right)
        if operator in _ORDERED and right.plain and _NAME.fullmatch(right.name) and self._find(right.name) is None:
            other = unknown(right.name)
        origins = one.origins | other.origins
        because = tuple(dict.fromkeys((*one.because, *other.because)))
        by_text = operator in _TEXT and operator != "STREQUAL"
        test = f"{self._unknowns.key(one)} {operator} {self._unknowns.key(other)}"
        texts = [text for value in (one, other) for text, _ in value.known]
        if operator in _VERSION and any(text[:1] in _SIGNS for text in texts if text):
            because = ("a version that begins with a sign",)  # what it is differs by release
            return Answer(self._unknowns.unknown(test, because), bounds=origins, because=because)
        holds = _COMPARE[re.sub(r"^(?:STR|VERSION_)", "", operator)]

        def compared(left: str, right: str) -> Cond:
            order = _order(left, right, operator)
            return int(order is not None and holds(order))

        when = self._when(
            one, lambda left: self._when(other, lambda right: compared(left, right), test, because), test, because
        )
        if surely(when) or not possibly(when):
            because = ()
        return Answer(when, bounds=origins, by_text=by_text, because=because)

    def _membership(self, needle: Value, haystack: Word) -> Answer:
        found = self._find(haystack.name) if haystack.name else haystack.value
        if found is None or found.text is None or needle.text is None:
            names = (*needle.because, *(found.because if found else (haystack.name,)))
            held = found.origins if found else frozenset()
            listed = haystack.name if found is None else self._unknowns.key(found)
            test = f"{self._unknowns.key(needle)} IN_LIST {listed}"
            return Answer(self._unknowns.unknown(test, names), needle.origins, held, because=names)
        there = found is not UNSET and needle.text in found.text.split(";")
        return Answer(int(there), needle.origins, found.origins, found.text)

    def _match(self, subject: Value, pattern: Value) -> Answer:
        test = f"{self._unknowns.key(subject)} MATCHES {self._unknowns.key(pattern)}"
        if subject.text is None or pattern.text is None:
            return Answer(self._unknowns.unknown(test, subject.because), subject.origins, because=subject.because)
        groups = matched(pattern.text, subject.text)
        if groups is None:
            because = ("a regular expression",)
            return Answer(self._unknowns.unknown(test, because), subject.origins, because=because)
        self.groups = groups
        return Answer(int(bool(groups)), subject.origins, by_text=asks_for_digits(pattern.text))


def _combined(when: Cond, one: Answer, other: Answer) -> Answer:
    because = tuple(dict.fromkeys((*one.because, *other.because)))
    return Answer(
        when,
        one.origins | other.origins,
        one.haystacks | other.haystacks,
        other.haystack or one.haystack,
        one.bounds | other.bounds,
        one.by_text or other.by_text,
        because,
    )


def _constant(text: str) -> bool | None:
    """Whether a text is a true or a false constant; None where it is neither."""
    upper = text.upper()
    if upper in _TRUE:
        return True
    if upper in _FALSE or upper.endswith("-NOTFOUND"):
        return False
    try:
        return float(text) != 0
    except ValueError:
        return None


def _order(one: str, other: str, operator: str) -> int | None:
    """-1, 0 or 1; None where numbers are asked for and something else is compared."""
    if operator.startswith("STR") or operator == "PATH_EQUAL":
        return (one > other) - (one < other)
    if operator.startswith("VERSION_"):
        left, right = _version(one), _version(other)
        return (left > right) - (left < right)
    numbers = [_LEADING.match(text) for text in (one, other)]
    if numbers[0] is None or numbers[1] is None:
        return None
    a, b = float(numbers[0][1]), float(numbers[1][1])
    return (a > b) - (a < b)


def _version(text: str) -> tuple[int, ...]:
    """The components of a version: digits and dots up to the first other character, zeros at the end dropped."""
    parts = [int(part) for part in re.match(r"[0-9.]*", text)[0].split(".") if part]  # type: ignore[index]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
