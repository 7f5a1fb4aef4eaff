"""Three-valued evaluation of `#if` conditions over the whole universe at once.

A value is a partition: which number on which targets, unknown on the rest. `pcpp` lexes and expands macros; names whose
definition differs between targets split the universe into a few classes, so nothing loops over targets. Truth is
Kleene's: `0 && unknown` is no, `1 || unknown` is yes, and the names that made the rest unknown are returned.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from archscan.frontends.cuda.macros import SOME, UNDEFINED, UNKNOWN, Definition, State
from archscan.model.truth import Truth

_ALTERNATIVE = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "not_eq": "!=",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "compl": "~",
    "true": "1",
    "false": "0",
}
_NUMBER = r"(?<![\w.])(?:0[xX][\da-fA-F](?:'?[\da-fA-F])*|0[bB][01](?:'?[01])*|\d(?:'?\d)*)[uUlLzZ]*(?![\w.])"
_REWRITE = re.compile(
    rf"(?P<number>{_NUMBER})|(?P<has>__has_\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|(?P<word>[A-Za-z_$][\w$]*)"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_DEFINED = "defined "  # prefix of the token that stands for `defined(X)`
_MOST_CLASSES = 96  # more ways to split the universe than that: unknown
_MOST_TOKENS = 4000  # of one expanded condition
_DEEPEST = 60  # nested parentheses
_MOST_DIGITS = 1000  # of one number; Python refuses to convert longer ones
_MOST_NAMES = 150  # macros behind one condition

_BITS = 64
_WRAP = 1 << _BITS
_HALF = 1 << (_BITS - 1)


class Number(NamedTuple):
    """A value of the preprocessor: 64 bits, signed or not."""

    value: int
    unsigned: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """A number per target as number -> mask; what the masks leave out is unknown because of `blame` (name -> mask)."""

    known: tuple[tuple[Number, int], ...]
    blame: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The truth of a condition and the names that make it unknown, each with the targets where it does."""

    truth: Truth
    blame: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()  # every macro name it rests on, those behind macro bodies included

    def unknowns(self, mask: int) -> tuple[str, ...]:
        """The names to blame for what is unknown within `mask`, in order of appearance."""
        open_ = self.truth.unknown(mask)
        return tuple(dict.fromkeys(name for name, where in self.blame if where & open_))


class _Malformed(Exception):
    """The condition is no expression: a compiler would stop here."""


# --- text -> tokens -------------------------------------------------------------------------------------------------


def _normal(text: str) -> str:
    """The text in a spelling that `pcpp` can lex: plain decimals, operators for words, `__has_*()` as one name."""
    return _REWRITE.sub(_respelled, text)


def _respelled(match: re.Match[str]) -> str:
    if match["number"]:
        return _plain_number(match["number"])
    if match["has"]:
        return match["has"] + " "
    word = match["word"]
    return f" {_ALTERNATIVE[word]} " if word in _ALTERNATIVE else word


def _plain_number(spelling: str) -> str:
    digits = spelling.rstrip("uUlLzZ")
    unsigned = "u" in spelling[len(digits) :].lower()
    digits = digits.replace("'", "")
    if len(digits) > _MOST_DIGITS:
        raise _Malformed("number too long")
    lower = digits.lower()
    if lower.startswith("0x"):
        value = int(lower, 16)
    elif lower.startswith("0b"):
        value = int(lower, 2)
    elif len(digits) > 1 and digits[0] == "0" and all(d in "01234567" for d in digits):
        value = int(digits, 8)
    else:
        value = int(digits)
    return f"{value % _WRAP}{'U' if unsigned or value >= _HALF else ''}"


@lru_cache(maxsize=1)
def _machine() -> Any:
    """The one `pcpp` preprocessor, used for its lexer and its macro expansion; building it takes milliseconds."""
    from pcpp import Preprocessor

    class Quiet(Preprocessor):  # type: ignore[misc]
        def on_error(self, file: str, line: int, message: str) -> None:
            raise _Malformed(message)

    machine = Quiet()
    machine.expand_linemacro = machine.expand_countermacro = False
    machine.macros = {}
    return machine


@lru_cache(maxsize=65536)
def _lexed(text: str) -> tuple[Any, ...]:
    """The tokens of a condition or macro body, `defined(X)` folded into one token, blanks dropped."""
    machine = _machine()
    tokens = [
        t for t in machine.tokenize(_normal(text)) if t.type not in machine.t_WS and t.type not in machine.t_COMMENT
    ]
    folded: list[Any] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.value == "defined" and token.type == machine.t_ID:
            name, width = _defined_operand([t.value for t in tokens[position + 1 : position + 4]])
            if width:
                token = copy.copy(token)
                token.value = _DEFINED + name
                position += width
        token.lineno = 1
        folded.append(token)
        position += 1
    return tuple(folded)


def _defined_operand(values: list[str]) -> tuple[str, int]:
    if len(values) >= 3 and values[0] == "(" and values[2] == ")" and _WORD.fullmatch(values[1]):
        return values[1], 3
    if values and _WORD.fullmatch(values[0]):
        return values[0], 1
    return "", 0


@lru_cache(maxsize=65536)
def names_in(text: str) -> tuple[str, ...]:
    """The macro names that a condition or macro body mentions, `defined` operands included, in order."""
    found: dict[str, None] = {}
    for match in _REWRITE.finditer(text):
        word = match["word"] or match["has"]
        if word and word not in _ALTERNATIVE and word != "defined":
            found[word] = None
    return tuple(found)


@lru_cache(maxsize=65536)
def mentioned(definition: Definition) -> tuple[str, ...]:
    """The macro names in a definition's body, its own parameters left out."""
    names = names_in(definition.body)
    if not definition.params:
        return names
    return tuple(name for name in names if name not in definition.params)


def condition_text(name: str, text: str) -> str:
    """The condition of a directive as an expression: `#ifdef X` is `defined(X)`."""
    if name in ("ifdef", "elifdef"):
        return f"defined({_first_word(text)})"
    if name in ("ifndef", "elifndef"):
        return f"!defined({_first_word(text)})"
    return text


def _first_word(text: str) -> str:
    match = _WORD.search(text)
    return match[0] if match else ""


# --- evaluation -----------------------------------------------------------------------------------------------------

Lookup = Callable[[str], State]


class Evaluator:
    """Evaluates conditions over one universe; remembers every answer by the condition and the states behind it."""

    def __init__(self, everything: int) -> None:
        self.everything = everything
        self._answers: dict[tuple[object, ...], Answer] = {}
        self._pasted: dict[str, tuple[str, ...]] = {}  # condition -> names that only token pasting brings up

    def answer(self, condition: str, lookup: Lookup) -> Answer:
        """The truth of a condition where each macro is in the state that `lookup` returns."""
        while True:
            states = self._behind(condition, lookup)
            if len(states) > _MOST_NAMES:
                return replace(self._open(condition), names=tuple(states))
            key = (condition, *states.items())
            found = self._answers.get(key)
            if found is not None:
                return found
            try:
                found = self._evaluate(condition, states)
            except _Pasted as pasted:
                self._pasted[condition] = (*self._pasted.get(condition, ()), pasted.name)
                continue
            found = self._answers[key] = replace(found, names=tuple(states))
            return found

    def _behind(self, condition: str, lookup: Lookup) -> dict[str, State]:
        states: dict[str, State] = {}
        queue = [*names_in(condition), *self._pasted.get(condition, ())]
        for name in queue:
            if name in states:
                continue
            states[name] = state = lookup(name)
            for definition, _ in state.parts:
                if definition.body:
                    queue += mentioned(definition)
            if len(states) > _MOST_NAMES:
                break
        return states

    def _open(self, condition: str, mask: int = -1) -> Answer:
        where = self.everything if mask < 0 else mask
        return Answer(Truth(0, 0), tuple((name, where) for name in names_in(condition)))

    def _evaluate(self, condition: str, states: dict[str, State]) -> Answer:
        yes = no = 0
        blame: dict[str, int] = {}
        try:
            tokens = _lexed(condition)
            for mask, macros in _classes(self.everything, states):
                answer = self._in_class(condition, tokens, states, mask, macros)
                yes |= answer.truth.yes
                no |= answer.truth.no
                for name, where in answer.blame:
                    blame[name] = blame.get(name, 0) | where
        except _Malformed:
            return self._open(condition)
        return Answer(Truth(yes, no), tuple(blame.items()))

    def _in_class(
        self,
        condition: str,
        tokens: tuple[Any, ...],
        states: dict[str, State],
        mask: int,
        macros: dict[str, Definition],
    ) -> Answer:
        try:
            expanded = _expand(tokens, macros) if macros else list(tokens)
            _look_up(expanded, states)
            values = _Parser(expanded, states, mask).value()
        except (_Malformed, RecursionError):
            return self._open(condition, mask)
        return Answer(Truth(*_truth(values)), values.blame)


def _look_up(tokens: list[Any], states: dict[str, State]) -> None:
    """Asks for the state of a name that only token pasting has brought up."""
    for token in tokens:
        name = str(token.value).removeprefix(_DEFINED)
        if name not in states and name != "defined" and _WORD.fullmatch(name):
            raise _Pasted(name)


def _classes(everything: int, states: dict[str, State]) -> list[tuple[int, dict[str, Definition]]]:
    """The universe split so that within a class every macro that must be expanded has one definition."""
    pasting = any("##" in d.body for s in states.values() for d, _ in s.parts)
    classes: list[tuple[int, dict[str, Definition]]] = [(everything, {})]
    for name, state in states.items():
        if not any(_expands(d, pasting) for d, _ in state.parts):
            continue
        split: list[tuple[int, dict[str, Definition]]] = []
        for mask, macros in classes:
            for definition, where in state.parts:
                if mask & where:
                    more = {**macros, name: definition} if _expands(definition, pasting) else macros
                    split.append((mask & where, more))
        classes = split
        if len(classes) > _MOST_CLASSES:
            raise _Malformed("too many cases")
    return classes


def _expands(definition: Definition, pasting: bool) -> bool:
    """Whether the macro is replaced by its tokens; plain integers stay names with a value per target."""
    if definition.mark:
        return False
    return pasting or definition.params is not None or not _integer(definition.body)


@lru_cache(maxsize=16384)
def _integer(body: str) -> Number | None:
    """The number a body is, perhaps in parentheses, or None."""
    text = body.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if not re.fullmatch(_NUMBER, text):
        return None
    plain = _plain_number(text)
    return Number(int(plain.rstrip("U")), plain.endswith("U"))


def _expand(tokens: tuple[Any, ...], macros: dict[str, Definition]) -> list[Any]:
    """The tokens with these macros expanded by `pcpp`."""
    machine = _machine()
    if _too_large(tokens, macros):
        raise _Malformed("expansion too large")
    machine.macros = {name: _macro(name, definition) for name, definition in macros.items()}
    fresh = [_fresh(token) for token in tokens]
    try:
        return [t for t in machine.expand_macros(fresh) if t.type not in machine.t_WS]
    finally:
        machine.macros = {}
        machine.linemacrodepth = 0


def _fresh(token: Any) -> Any:
    made = object.__new__(type(token))  # what copy.copy comes to, without its detours: tokens are copied by the 100,000
    made.__dict__.update(token.__dict__)
    made.expanded_from = []
    return made


def _macro(name: str, definition: Definition) -> Any:
    from pcpp.parser import Macro

    machine = _machine()
    body = [_fresh(token) for token in _lexed(definition.body)]
    if definition.params is None:
        return Macro(name, body)
    params = [p.removesuffix("...").strip() or "__VA_ARGS__" if p.endswith("...") else p for p in definition.params]
    variadic = bool(definition.params) and definition.params[-1].endswith("...")
    macro = Macro(name, body, params, variadic)
    if variadic:
        macro.vararg = params[-1]
    machine.macro_prescan(macro)
    return macro


def _too_large(tokens: tuple[Any, ...], macros: dict[str, Definition]) -> bool:
    """Whether expansion could explode: an upper bound from the sizes of the bodies, computed without expanding."""
    bodies = {name: _body(definition) for name, definition in macros.items()}
    sizes: dict[str, int] = {}
    pending = list(macros)
    while pending:
        name = pending[-1]
        open_ = [v for v in bodies[name].values if v in bodies and v not in sizes and v not in pending]
        if open_:
            pending += open_
            continue
        pending.pop()
        sizes[name] = min(1 + sum(sizes.get(v, 1) for v in bodies[name].values), _MOST_TOKENS * 100)
    fan_out = max((body.fan_out for body in bodies.values()), default=1)
    depth = max(_depth(tokens), *(body.depth for body in bodies.values()), 0)
    bound: int = fan_out ** min(depth, 64)
    return bound * sum(sizes.get(t.value, 1) for t in tokens) > _MOST_TOKENS * 50


class _Body(NamedTuple):
    """What the bound needs of a macro body."""

    values: tuple[str, ...]
    fan_out: int  # how often one parameter occurs
    depth: int


@lru_cache(maxsize=65536)
def _body(definition: Definition) -> _Body:
    tokens = _lexed(definition.body)
    values = tuple(t.value for t in tokens)
    fan_out = max(values.count(parameter) for parameter in definition.params) if definition.params else 1
    return _Body(values, max(fan_out, 1), _depth(tokens))


def _depth(tokens: tuple[Any, ...] | list[Any]) -> int:
    depth = deepest = 0
    for token in tokens:
        if token.value == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif token.value == ")":
            depth -= 1
    return deepest


# --- expression parser ----------------------------------------------------------------------------------------------

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

    def __init__(self, tokens: list[Any], states: dict[str, State], mask: int) -> None:
        self.texts = [str(token.value) for token in tokens]
        self.states = states
        self.mask = mask
        self.position = 0
        if _depth(tokens) > _DEEPEST:
            raise _Malformed("too deep")

    def value(self) -> Values:
        result = self._ternary()
        if self.position != len(self.texts):
            raise _Malformed("trailing tokens")
        return result

    def _peek(self) -> str:
        return self.texts[self.position] if self.position < len(self.texts) else ""

    def _take(self, expected: str = "") -> str:
        text = self._peek()
        if not text or (expected and text != expected):
            raise _Malformed(f"expected {expected or 'more'}")
        self.position += 1
        return text

    def _ternary(self) -> Values:
        condition = self._binary(1)
        if self._peek() != "?":
            return condition
        self._take()
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
            if len(operators) > 1000:
                raise _Malformed("too deep")
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
        if text.startswith(_DEFINED):
            return self._defined(text[len(_DEFINED) :])
        if text[0].isdigit():
            plain = _plain_number(text)
            return Values(((Number(int(plain.rstrip("U")), plain.endswith("U")), self.mask),))
        if text[0] == "'" and len(text) == 3:
            return Values(((Number(ord(text[1])), self.mask),))
        if not _WORD.fullmatch(text):
            raise _Malformed(f"unexpected {text}")
        if text == "defined":
            return self._late_defined()
        if self._peek() == "(":
            self._skip_call()
            return Values((), ((text, self.mask),))
        return self._name(text)

    def _late_defined(self) -> Values:
        """`defined` that came out of a macro: an operand that expansion has replaced was defined."""
        name, width = _defined_operand(self.texts[self.position : self.position + 3])
        if width:
            self.position += width
            return self._defined(name)
        if self._peek() != "(":
            raise _Malformed("defined without a name")
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
        if state is None:
            raise _Pasted(name)
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
            number = Number(0) if definition == UNDEFINED else None
            if definition not in (UNDEFINED, UNKNOWN, SOME):
                number = _integer(definition.body) if definition.params is None else Number(0)
            if number is None:
                unknown |= where
            elif where:
                known[number] = known.get(number, 0) | where
        return Values(tuple(known.items()), ((name, unknown),) if unknown else ())


class _Pasted(Exception):
    """A name that token pasting made and whose state is still to be looked up."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


# --- operators on partitions ----------------------------------------------------------------------------------------


def _signed(value: int, unsigned: bool) -> Number:
    value %= _WRAP
    return Number(value if unsigned or value < _HALF else value - _WRAP, unsigned)


def _mapped(operator: str, values: Values) -> Values:
    parts: dict[Number, int] = {}
    for number, mask in values.known:
        if operator == "!":
            result = Number(int(not number.value))
        elif operator == "-":
            result = _signed(-number.value, number.unsigned)
        elif operator == "~":
            result = _signed(~number.value, number.unsigned)
        else:
            result = number
        parts[result] = parts.get(result, 0) | mask
    return Values(tuple(parts.items()), values.blame)


def _truth(values: Values) -> tuple[int, int]:
    yes = no = 0
    for number, mask in values.known:
        if number.value:
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
        (a, b), (c, d) = _truth(left), _truth(right)
        return _of_truth(a & c, b | d, blame)
    if operator == "||":
        (a, b), (c, d) = _truth(left), _truth(right)
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
    a, b = (x.value % _WRAP, y.value % _WRAP) if unsigned else (x.value, y.value)
    if operator in _COMPARE:
        return Number(int(_COMPARE[operator](a, b)))
    if operator in ("<<", ">>"):
        if not 0 <= y.value < _BITS:
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
    yes, no = _truth(condition)
    parts: dict[Number, int] = {}
    for number, mask in first.known:
        agreed = mask & dict(second.known).get(number, 0)
        parts[number] = parts.get(number, 0) | (mask & (yes | (agreed & ~no)))
    for number, mask in second.known:
        parts[number] = parts.get(number, 0) | (mask & no)
    settled = 0
    for mask in parts.values():
        settled |= mask
    blame = tuple((n, m & ~settled) for n, m in condition.blame + first.blame + second.blame if m & ~settled)
    return Values(tuple(part for part in parts.items() if part[1]), blame)
