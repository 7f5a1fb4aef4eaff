"""Evaluates what `if()` asks: true, false or unknown, and which literals and orders the answer rests on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from archscan.frontends.build.patterns import asks_for_digits, matched
from archscan.frontends.build.values import UNSET, Origin, Value, unknown

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
    """Yes, no or unknown (None), and what it rests on."""

    value: bool | None
    origins: frozenset[Origin] = frozenset()
    haystacks: frozenset[Origin] = frozenset()  # literal lists that something was looked for in
    haystack: str = ""  # the last of them as it was then
    bounds: frozenset[Origin] = frozenset()  # literals that something was compared with
    by_text: bool = False  # an order of texts decides
    because: tuple[str, ...] = ()

    def inverted(self) -> Answer:
        """The answer of NOT."""
        value = None if self.value is None else not self.value
        return replace(self, value=value)


NO = Answer(False)


class Condition:
    """A parser and evaluator over the words of one if()."""

    def __init__(self, words: list[Word], find: Callable[[str], Value | None], defined: Callable[[str], bool | None]):
        self._words = words
        self._at = 0
        self._depth = 0
        self._find = find
        self._defined = defined
        self.groups: tuple[str, ...] = ()  # of the last MATCHES

    def answer(self) -> Answer:
        """The answer; unknown where the words are no condition."""
        result = self._compound()
        return result if self._at >= len(self._words) else Answer(None, result.origins)

    def _peek(self, *keywords: str) -> bool:
        if self._at >= len(self._words):
            return False
        word = self._words[self._at]
        return bool(word.name) and word.name in keywords

    def _compound(self) -> Answer:
        """AND and OR have no precedence in CMake: they are taken from left to right."""
        result = self._not()
        while self._peek("AND", "OR"):
            join = _both if self._peek("AND") else _either
            self._at += 1
            result = join(result, self._not())
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
            return Answer(self._defined(operand.text), because=(operand.text,))
        return Answer(None, because=(f"{operator} {operand.text}",))

    def _resolved(self, word: Word) -> Value:
        """What an operand stands for: the value of a variable of that name, else its text."""
        found = self._find(word.name) if word.name else None
        return word.value if found is None or found is UNSET else found

    def _truth(self, word: Word) -> Answer:
        value = word.value
        if value.text is None:
            return Answer(None, value.origins, because=value.because)
        constant = _constant(value.text)
        if constant is None and word.name:
            found = self._find(word.name)
            if found is None:
                return Answer(None, because=(word.name,))
            value, constant = found, None if found.text is None else _constant(found.text) is not False
        elif constant is None:
            constant = False  # a quoted text that is no true constant
        return Answer(constant, value.origins, by_text=value.by_text, because=value.because)

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
        if one.text is None or other.text is None:
            return Answer(None, bounds=origins, by_text=by_text, because=because)
        if operator in _VERSION and any(text[:1] in _SIGNS for text in (one.text, other.text) if text):
            return Answer(None, bounds=origins, because=("a version that begins with a sign",))  # differs by release
        order = _order(one.text, other.text, operator)
        if order is None:
            return Answer(False, bounds=origins)
        return Answer(_COMPARE[re.sub(r"^(?:STR|VERSION_)", "", operator)](order), bounds=origins, by_text=by_text)

    def _membership(self, needle: Value, haystack: Word) -> Answer:
        found = self._find(haystack.name) if haystack.name else haystack.value
        if found is None or found.text is None or needle.text is None:
            names = (*needle.because, *(found.because if found else (haystack.name,)))
            return Answer(None, needle.origins, found.origins if found else frozenset(), because=names)
        there = found is not UNSET and needle.text in found.text.split(";")
        return Answer(there, needle.origins, found.origins, found.text)

    def _match(self, subject: Value, pattern: Value) -> Answer:
        if subject.text is None or pattern.text is None:
            return Answer(None, subject.origins, because=subject.because)
        groups = matched(pattern.text, subject.text)
        if groups is None:
            return Answer(None, subject.origins, because=("a regular expression",))
        self.groups = groups
        return Answer(bool(groups), subject.origins, by_text=asks_for_digits(pattern.text))


def _both(one: Answer, other: Answer) -> Answer:
    if one.value is False or other.value is False:
        value: bool | None = False
    else:
        value = None if one.value is None or other.value is None else True
    return _combined(value, one, other)


def _either(one: Answer, other: Answer) -> Answer:
    if one.value or other.value:
        value: bool | None = True
    else:
        value = None if one.value is None or other.value is None else False
    return _combined(value, one, other)


def _combined(value: bool | None, one: Answer, other: Answer) -> Answer:
    because = tuple(dict.fromkeys((*one.because, *other.because)))
    return Answer(
        value,
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
