"""Parses and computes `#if` expressions over a part of the universe: a number per target, unknown where it is.

A value is a partition: which number on which targets, unknown on the rest with the names to blame. Truth is Kleene's:
`0 && unknown` is no, `1 || unknown` is yes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from archscan.frontends.cuda.preprocessor.expansion import operand_width
from archscan.frontends.cuda.preprocessor.macros import UNDEFINED, UNKNOWN, State
from archscan.frontends.cuda.preprocessor.tokens import BITS, HALF, WRAP, Malformed, Number, integer, is_word, number

_DEEPEST = 60  # nested parentheses
_MOST_SIGNS = 1000


@dataclass(frozen=True, slots=True)
class Values:
    """A number per target as number -> mask; what the masks leave out is unknown because of `blame` (name -> mask)."""

    known: tuple[tuple[Number, int], ...]
    blame: tuple[tuple[str, int], ...] = ()


class Unseen(Exception):
    """Names that only token pasting has brought up, or may, and whose states are still to be looked up."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.names = names


def computed(texts: Sequence[str], states: Mapping[str, State], mask: int) -> Values:
    """The value of an expression from its expanded tokens on the targets of a mask."""
    for text in texts:
        if text not in states and text != "defined" and is_word(text):
            raise Unseen(text)
    return _Parser(texts, states, mask).value()


_BINARY = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    "<=": 7,
    ">": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
}


class _Parser:
    """Precedence climbing over the expanded tokens; every node is a `Values` over the class's mask."""

    def __init__(self, texts: Sequence[str], states: Mapping[str, State], mask: int) -> None:
        self.texts = texts
        self.states = states
        self.mask = mask
        self.position = self.choices = 0
        if _depth(texts) > _DEEPEST:
            raise Malformed("too deep")

    def value(self) -> Values:
        result = self._ternary()
        if self.position != len(self.texts):
            raise Malformed("trailing tokens")
        return result

    def _peek(self) -> str:
        return self.texts[self.position] if self.position < len(self.texts) else ""

    def _take(self, expected: str = "") -> str:
        text = self._peek()
        if not text or (expected and text != expected):
            raise Malformed(f"expected {expected or 'more'}")
        self.position += 1
        return text

    def _ternary(self) -> Values:
        condition = self._binary(1)
        if self._peek() != "?":
            return condition
        self._take()
        self.choices += 1  # each takes a few frames of Python's stack
        if self.choices > _DEEPEST:
            raise Malformed("too deep")
        first = self._ternary()
        self._take(":")
        second = self._ternary()
        return _chosen(condition, first, second)

    def _binary(self, least: int) -> Values:
        left = self._unary()
        while (rank := _BINARY.get(self._peek(), 0)) >= least:
            operator = self._take()
            left = _combined(operator, left, self._binary(rank + 1))
        return left

    def _unary(self) -> Values:
        operators: list[str] = []
        while self._peek() in ("!", "-", "+", "~"):
            operators.append(self._take())
            if len(operators) > _MOST_SIGNS:
                raise Malformed("too deep")
        result = self._primary()
        for operator in reversed(operators):
            result = _mapped(operator, result)
        return result

    def _primary(self) -> Values:
        text = self._take()
        if text == "(":
            inner = self._ternary()
            self._take(")")
            return inner
        if text[0].isdigit():
            return Values(((number(text), self.mask),))
        if text[0] == "'" and len(text) == 3:
            return Values(((Number(ord(text[1])), self.mask),))
        if not is_word(text):
            raise Malformed(f"unexpected {text}")
        if text == "defined":
            return self._asked()
        if self._peek() == "(":
            self._skip_call()
            return Values((), ((text, self.mask),))
        return self._name(text)

    def _asked(self) -> Values:
        """What `defined` answers; an operand that expansion has replaced was defined."""
        operand = self.texts[self.position : self.position + 3]
        width = operand_width(operand)
        if width:
            self.position += width
            return self._defined(operand[width // 2])
        if self._peek() != "(":
            raise Malformed("defined without a name")
        self._skip_call()
        return Values(((Number(1), self.mask),))

    def _skip_call(self) -> None:
        depth = 0
        while True:
            text = self._take()
            depth += (text == "(") - (text == ")")
            if not depth:
                return

    def _defined(self, name: str) -> Values:
        state = self.states.get(name)
        if state is None:  # `defined(defined)`
            raise Malformed(f"{name} is no macro name")
        undefined, unknown = state.where(UNDEFINED), state.where(UNKNOWN)
        known = ((Number(0), undefined & self.mask), (Number(1), self.mask & ~(undefined | unknown)))
        blame = ((name, unknown & self.mask),) if unknown & self.mask else ()
        return Values(tuple(part for part in known if part[1]), blame)

    def _name(self, name: str) -> Values:
        state = self.states[name]
        known: dict[Number, int] = {}
        unknown = 0
        for definition, everywhere in state.parts:
            where = everywhere & self.mask
            value = Number(0) if definition == UNDEFINED else None
            if not definition.mark:
                value = integer(definition.body) if definition.params is None else Number(0)
            if value is None:
                unknown |= where
            elif where:
                known[value] = known.get(value, 0) | where
        return Values(tuple(known.items()), ((name, unknown),) if unknown else ())


def _depth(texts: Sequence[str]) -> int:
    """How deep brackets are nested."""
    depth = deepest = 0
    for text in texts:
        depth += (text == "(") - (text == ")")
        deepest = max(deepest, depth)
    return deepest


def _signed(value: int, unsigned: bool) -> Number:
    value %= WRAP
    return Number(value if unsigned or value < HALF else value - WRAP, unsigned)


def _mapped(operator: str, values: Values) -> Values:
    parts: dict[Number, int] = {}
    for value, mask in values.known:
        if operator == "!":
            result = Number(int(not value.value))
        elif operator == "-":
            result = _signed(-value.value, value.unsigned)
        elif operator == "~":
            result = _signed(~value.value, value.unsigned)
        else:
            result = value
        parts[result] = parts.get(result, 0) | mask
    return Values(tuple(parts.items()), values.blame)


def truth_of(values: Values) -> tuple[int, int]:
    """Where the value is not zero, and where it is."""
    yes = no = 0
    for value, mask in values.known:
        if value.value:
            yes |= mask
        else:
            no |= mask
    return yes, no


def _of_truth(yes: int, no: int, blame: tuple[tuple[str, int], ...]) -> Values:
    settled = yes | no
    open_ = tuple((name, mask & ~settled) for name, mask in blame if mask & ~settled)
    return Values(tuple(part for part in ((Number(1), yes), (Number(0), no)) if part[1]), open_)


def _combined(operator: str, left: Values, right: Values) -> Values:
    blame = left.blame + right.blame
    if operator == "&&":
        (a, b), (c, d) = truth_of(left), truth_of(right)
        return _of_truth(a & c, b | d, blame)
    if operator == "||":
        (a, b), (c, d) = truth_of(left), truth_of(right)
        return _of_truth(a | c, b & d, blame)
    parts: dict[Number, int] = {}
    lost = 0
    for x, where in left.known:
        for y, more in right.known:
            mask = where & more
            if mask:
                result = _arithmetic(operator, x, y)
                if result is None:
                    lost |= mask
                else:
                    parts[result] = parts.get(result, 0) | mask
    if lost:
        blame += (("division by zero", lost),)
    return Values(tuple(parts.items()), blame)


def _arithmetic(operator: str, x: Number, y: Number) -> Number | None:
    """The result of an operator on two numbers; None where the preprocessor would report an error."""
    unsigned = x.unsigned or y.unsigned
    a, b = (x.value % WRAP, y.value % WRAP) if unsigned else (x.value, y.value)
    if operator in _COMPARE:
        return Number(int(_COMPARE[operator](a, b)))
    if operator in ("<<", ">>"):
        if not 0 <= y.value < BITS:
            return None
        return _signed(x.value << y.value if operator == "<<" else x.value >> y.value, x.unsigned)
    if operator in ("/", "%"):
        if b == 0:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return _signed(quotient if operator == "/" else a - b * quotient, unsigned)
    return _signed(_PLAIN[operator](a, b), unsigned)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_PLAIN: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


def _chosen(condition: Values, first: Values, second: Values) -> Values:
    """`c ? a : b`; where c is unknown the result is known only if both sides agree."""
    yes, no = truth_of(condition)
    parts: dict[Number, int] = {}
    for value, mask in first.known:
        agreed = mask & dict(second.known).get(value, 0)
        parts[value] = parts.get(value, 0) | (mask & (yes | (agreed & ~no)))
    for value, mask in second.known:
        parts[value] = parts.get(value, 0) | (mask & no)
    settled = 0
    for mask in parts.values():
        settled |= mask
    blame = tuple((n, m & ~settled) for n, m in condition.blame + first.blame + second.blame if m & ~settled)
    return Values(tuple(part for part in parts.items() if part[1]), blame)
