"""Splits conditions and macro bodies into preprocessing tokens, and says which macro names they mention."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from archscan.frontends.cuda.preprocessor.macros import OF, Definition

_OPERATORS = {
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
_TOKEN = re.compile(
    r"(?P<has>__has_\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)"
    r"|(?P<word>[A-Za-z_$][\w$]*)"
    r"|(?P<number>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*)"
    r"|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^'\\]*(?:\\.[^'\\]*)*'"
    r"|\#\#|&&|\|\||==|!=|<=|>=|<<|>>|\.\.\.|\S"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_NUMBER = re.compile(r"(0[xX](?:'?[\da-fA-F])+|0[bB](?:'?[01])+|[0-9](?:'?[0-9])*)([uUlLzZ]*)")
_MOST_DIGITS = 1000  # of one number; Python refuses to convert longer ones

BITS = 64
WRAP = 1 << BITS
HALF = 1 << (BITS - 1)


class Malformed(Exception):
    """The condition is no expression: a compiler would stop here."""


class Number(NamedTuple):
    """A value of the preprocessor: 64 bits, signed or not."""

    value: int
    unsigned: bool = False


@lru_cache(maxsize=65536)
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a condition or macro body, `and` and its like as operators, each `__has_x(...)` as a name."""
    return tuple(_spelled(match) for match in _TOKEN.finditer(text))


def _spelled(match: re.Match[str]) -> str:
    if match["has"]:  # one name for what it asks: two files of which one is there may not be mixed up
        return f"{match['has']}{OF}{blake2b(match[0].encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
    return _OPERATORS.get(match[0], match[0])


def is_word(text: str) -> bool:
    """Whether a token is a name."""
    return _WORD.fullmatch(text) is not None


@lru_cache(maxsize=65536)
def names_in(text: str) -> tuple[str, ...]:
    """The macro names that a condition or macro body mentions, `defined` operands included, in order."""
    return tuple(dict.fromkeys(token for token in tokens(text) if is_word(token) and token != "defined"))


@lru_cache(maxsize=65536)
def mentioned(definition: Definition) -> tuple[str, ...]:
    """The macro names in a definition's body, its own parameters left out."""
    names = () if definition.mark else names_in(definition.body)
    if not definition.params:
        return names
    return tuple(name for name in names if name not in definition.params)


@lru_cache(maxsize=16384)
def number(spelling: str) -> Number:
    """The value of an integer literal; Malformed for one that no condition may hold."""
    match = _NUMBER.fullmatch(spelling)
    if match is None:
        raise Malformed(f"no integer: {spelling[:40]}")
    digits = match[1].replace("'", "").lower()
    if len(digits) > _MOST_DIGITS:
        raise Malformed("number too long")
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0" and not {"8", "9"} & set(digits)
    value = int(digits, 8) if octal else int(digits, 0) if not digits.isdigit() else int(digits)
    value %= WRAP
    return Number(value, "u" in match[2].lower() or value >= HALF)


def plain(text: str) -> str:
    """The token in a spelling that every lexer of C knows: integers as plain decimals."""
    if not _NUMBER.fullmatch(text):
        return text
    value, unsigned = number(text)
    return f"{value}U" if unsigned else str(value)


@lru_cache(maxsize=16384)
def integer(body: str) -> Number | None:
    """The number that a macro body is, perhaps in parentheses; None for any other body."""
    text = body.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    return number(text) if _NUMBER.fullmatch(text) else None
