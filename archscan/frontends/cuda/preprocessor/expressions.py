"""Parses and computes `#if` expressions for every target and every world at once: numbers, each with its condition.

What is not known stays in the computation as an operand with a name. Where a truth is asked of it, it becomes an
unknown of the condition: `X > 2` is one, and the same one wherever it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, Union

from archscan.frontends.cuda.preprocessor.expansion import operand_width
from archscan.frontends.cuda.preprocessor.macros import HIDDEN, UNDEFINED, MacroDefinitions, shown
from archscan.frontends.cuda.preprocessor.tokens import (
    BITS,
    HALF,
    WRAP,
    Malformed,
    Number,
    integer,
    is_word,
    number,
)
from archscan.model.condition import EVERY, AtomKind, Cond, asked, atom, both, either, without

_DEEPEST = 60  # nested parentheses
_MOST_SIGNS = 1000
_MOST_CASES = 24  # numbers that one operand may be where it is not known which
_LONG = 200  # characters of an operand that is not known


class Opaque(NamedTuple):
    """An operand that is not known: what it is, who is to blame, and whether the target decides it."""

    text: str
    names: tuple[str, ...]
    hidden: bool


Operand = Union[Number, Opaque]  # noqa: UP007  (an alias, not an annotation)
Values = dict[Operand, Cond]  # disjoint, and together everything there is


class Unseen(Exception):
    """Names that only token pasting has brought up, or may, and whose states are still to be looked up."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.names = names


def computed(texts: Sequence[str], states: Mapping[str, MacroDefinitions], everything: int) -> Cond:
    """Where an expression of these expanded tokens holds."""
    for text in texts:
        if text not in states and text != "defined" and is_word(text):
            raise Unseen(text)
    return _Parser(texts, states, everything).result()


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
    """Precedence climbing over the expanded tokens; every node is a `Values`."""

    def __init__(self, texts: Sequence[str], states: Mapping[str, MacroDefinitions], everything: int) -> None:
        self.texts = texts
        self.states = states
        self.everything = everything
        self.position = self.choices = 0
        if _depth(texts) > _DEEPEST:
            raise Malformed("too deep")

    def result(self) -> Cond:
        values = self._ternary()
        if self.position != len(self.texts):
            raise Malformed("trailing tokens")
        return _truth(values)

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
        return self._chosen(condition, first, second)

    def _chosen(self, condition: Values, first: Values, second: Values) -> Values:
        """`c ? a : b`."""
        test = _truth(condition)
        found: Values = {}
        for value, cond in first.items():
            _add(found, value, both(cond, test))
        for value, cond in second.items():
            _add(found, value, without(cond, test))
        return found

    def _binary(self, least: int) -> Values:
        left = self._unary()
        while (rank := _BINARY.get(self._peek(), 0)) >= least:
            operator = self._take()
            left = self._combined(operator, left, self._binary(rank + 1))
        return left

    def _combined(self, operator: str, left: Values, right: Values) -> Values:
        if operator == "&&":
            return self._of_truth(both(_truth(left), _truth(right)))
        if operator == "||":
            return self._of_truth(either(_truth(left), _truth(right)))
        found: Values = {}
        for x, where in left.items():
            for y, more in right.items():
                cond = where & more if isinstance(where, int) and isinstance(more, int) else both(where, more)
                if cond == 0:
                    continue
                if isinstance(x, Number) and isinstance(y, Number):
                    result = _arithmetic(operator, x, y)
                    _add(found, _ERROR if result is None else result, cond)
                else:
                    _add_opaque(found, operator, x, y, cond)
        if len(found) > _MOST_CASES and any(not isinstance(cond, int) for cond in found.values()):
            raise Malformed("too many cases")
        return found

    def _of_truth(self, yes: Cond) -> Values:
        found: Values = {}
        _add(found, _ONE, yes)
        _add(found, _ZERO, without(self.everything, yes))
        return found

    def _unary(self) -> Values:
        operators: list[str] = []
        while self._peek() in ("!", "-", "+", "~"):
            operators.append(self._take())
            if len(operators) > _MOST_SIGNS:
                raise Malformed("too deep")
        result = self._primary()
        for operator in reversed(operators):
            if operator == "!":
                result = self._of_truth(without(self.everything, _truth(result)))
            elif operator != "+":
                result = _mapped(operator, result)
        return result

    def _primary(self) -> Values:
        text = self._take()
        if text == "(":
            inner = self._ternary()
            self._take(")")
            return inner
        if text[0].isdigit():
            return {number(text): self.everything}
        if text[0] == "'" and len(text) == 3:
            return {Number(ord(text[1])): self.everything}
        if not is_word(text):
            raise Malformed(f"unexpected {text}")
        if text == "defined":
            return self._asked()
        if self._peek() == "(":
            start = self.position - 1
            self._skip_call()
            call = "".join(self.texts[start : self.position])
            return {_operand(call, (shown(text),), self._is_hidden(text)): self.everything}
        return self._name(text)

    def _asked(self) -> Values:
        """What `defined` answers; an operand that expansion has replaced was defined."""
        operand = self.texts[self.position : self.position + 3]
        width = operand_width(operand)
        if width:
            self.position += width
            state = self.states.get(operand[width // 2])
            if state is None:  # `defined(defined)`
                raise Malformed(f"{operand[width // 2]} is no macro name")
            return self._of_truth(without(self.everything, state.where(UNDEFINED)))
        if self._peek() != "(":
            raise Malformed("defined without a name")
        self._skip_call()
        return {_ONE: self.everything}

    def _skip_call(self) -> None:
        depth = 0
        while True:
            text = self._take()
            depth += (text == "(") - (text == ")")
            if not depth:
                return

    def _is_hidden(self, name: str) -> bool:
        return any(definition.mark == HIDDEN for definition, _ in self.states[name].parts)

    def _name(self, name: str) -> Values:
        found: Values = {}
        for definition, cond in self.states[name].parts:
            value: Operand | None = _ZERO
            if definition.mark and definition != UNDEFINED:
                value = Opaque(definition.body, (shown(name),), definition.mark == HIDDEN)
            elif definition != UNDEFINED and definition.params is None:
                value = integer(definition.body)
            _add(found, _operand(f"{name} = {definition.body}", (name,), False) if value is None else value, cond)
        return found


_ZERO, _ONE = Number(0), Number(1)
_ERROR = Opaque("division by zero", ("division by zero",), False)


def _add(values: Values, value: Operand, cond: Cond) -> None:
    if cond != 0:
        values[value] = either(values.get(value, 0), cond)


def _operand(text: str, names: tuple[str, ...], hidden: bool) -> Opaque:
    if len(text) > _LONG:
        text = f"{text[:_LONG]}#{blake2b(text.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"
    return Opaque(text, names, hidden)


def _truth(values: Values) -> Cond:
    """Where the value is not zero."""
    found: Cond = 0
    for value, cond in values.items():
        if isinstance(value, Opaque):
            found = either(found, both(cond, _holds(value)))
        elif value.value:
            found = either(found, cond)
    return found


def _holds(operand: Opaque) -> Cond:
    """The condition that an unknown operand is not zero, for every target."""
    kind: AtomKind = "architecture" if operand.hidden else "flag" if operand.names == (operand.text,) else "expr"
    return asked(atom(operand.text, kind, names=operand.names), EVERY)


def _add_opaque(found: Values, operator: str, x: Operand, y: Operand, cond: Cond) -> None:
    """Adds the result of an operator of which an operand is not known.

    Comparisons are brought to `==` and `<`, so that what is asked in several ways is one unknown.
    """
    if operator in ("!=", ">=", "<=", ">", "==", "<"):
        swapped = operator in (">", "<=") or (operator in ("==", "!=") and str(x) > str(y))
        first, second = (y, x) if swapped else (x, y)
        equal = operator in ("==", "!=")
        if equal and y == _ZERO and isinstance(x, Opaque):
            test = without(EVERY, _holds(x))
        elif equal and x == _ZERO and isinstance(y, Opaque):
            test = without(EVERY, _holds(y))
        else:
            test = _holds(_joint("==" if equal else "<", first, second))
        holds = without(cond, test) if operator in ("!=", ">=", "<=") else both(cond, test)
        _add(found, _ONE, holds)
        _add(found, _ZERO, without(cond, holds))
        return
    _add(found, _joint(operator, x, y), cond)


def _joint(operator: str, x: Operand, y: Operand) -> Opaque:
    names = tuple(dict.fromkeys(name for side in (x, y) if isinstance(side, Opaque) for name in side.names))
    hidden = any(isinstance(side, Opaque) and side.hidden for side in (x, y))
    return _operand(f"({_spelled(x)} {operator} {_spelled(y)})", names, hidden)


def _spelled(operand: Operand) -> str:
    if isinstance(operand, Opaque):
        return operand.text
    return f"{operand.value}u" if operand.unsigned else str(operand.value)


def _mapped(operator: str, values: Values) -> Values:
    found: Values = {}
    for value, cond in values.items():
        if isinstance(value, Opaque):
            _add(found, _operand(f"{operator}{value.text}", value.names, value.hidden), cond)
        else:
            turned = -value.value if operator == "-" else ~value.value
            _add(found, _signed(turned, value.unsigned), cond)
    return found


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
