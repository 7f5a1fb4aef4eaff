"""Where C++ code names what it may run on: found in bytes, since a parser is a hundred times slower than a search.

The names are those of the vocabulary (`names.py`): whatever the evaluator would take for a capability, or for a
question about a chip, is found here, in whatever condition it stands. Only the grammar of the place is looked at: a
name in a comment, a text or an `#if`, of a namespace or of a type is none of a value.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from zlib import crc32

from archscan.frontends.cuda.host.naming_conventions import asks_for_attribute, asks_for_chip, convention_of, stems

_IN_NAMES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_SPACED = bytes(c if c in _IN_NAMES else 0x20 for c in range(256))
_ALWAYS_WHOLE = 1 << 15  # smaller files are parsed whole
_LONGEST_COMMENT = 1 << 14  # bytes before a name in which one that opens is looked for
SHORTEST = 4  # letters of a name that functions of other files are told by
_MOST_KNOWN = 1 << 18  # names that are remembered

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b|[ \t]*#[ \t]*(?:undef|include|error|pragma|warning)\b")
_DEFINE = re.compile(rb"[ \t]*#[ \t]*define\b")
_CALLED = re.compile(rb"\s*[(<]")
_NO_VALUE = re.compile(rb"\s*::|\s+(?!and\b|or\b|xor\b|not_eq\b|bitand\b|bitor\b)[A-Za-z_]")  # a namespace, a type
_DECLARED = re.compile(rb"\b(?:class|typename|struct|enum|namespace|using|goto)\s+\Z")
_TEXT = re.compile(rb"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'(?:[^'\\\n]|\\.)'")
_LONGEST_KEYWORD = 12
_COMPILED = b"__CUDA_ARCH__"
_NEXT = re.compile(rb"\n[ \t]*#[ \t]*(?:el|endif)")
_RETURNS = re.compile(rb"\breturn\b(?!\s*;)|\bconstexpr\b[^;{}()]*=")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file to parse, the line (from zero) it starts on, and where in it a capability may be asked for."""

    start: int
    end: int
    row: int
    places: tuple[int, ...]


class _Roles:
    """What identifiers are to the vocabulary, each looked up once."""

    def __init__(self) -> None:
        self._values: set[bytes] = set()
        self._calls: set[bytes] = set()
        self._plain: set[bytes] = set()

    def asking(self, words: frozenset[bytes]) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """The identifiers among these that may carry a capability, and those that may where they are called."""
        for word in words - self._plain - self._values - self._calls:
            self._look_up(word)
        return words & self._values, words & self._calls

    def _look_up(self, word: bytes) -> None:
        if len(self._plain) > _MOST_KNOWN:
            self._plain.clear()
        name = word.decode("ascii")
        if word[:1].isdigit() or _stem().search(name.lower()) is None:
            self._plain.add(word)
        elif _is_value_name(name):
            self._values.add(word)
        elif _is_call_name(name):
            self._calls.add(word)
        else:
            self._plain.add(word)


_ROLES = _Roles()


@cache
def _stem() -> re.Pattern[str]:
    return re.compile("|".join(stems()).lower())


def _is_value_name(name: str) -> bool:
    return convention_of(name) is not None or asks_for_attribute(name)


def _is_call_name(name: str) -> bool:
    return convention_of(name, call=True) is not None or asks_for_chip(name)


def is_known(name: str) -> bool:
    """Whether the vocabulary itself takes a name for one that asks: wherever code names it, that is read."""
    return _is_value_name(name) or _is_call_name(name)


def fingerprint(name: bytes) -> int:
    """What stands for an identifier of a file where all of them are kept."""
    return crc32(name)


def fingerprints(words: frozenset[bytes]) -> array[int]:
    """The fingerprints of the identifiers that are long enough to be told by their name."""
    return array("I", [crc32(word) for word in words if len(word) >= SHORTEST])


def identifiers(data: bytes) -> frozenset[bytes]:
    """Every identifier and number in a text."""
    return frozenset(data.translate(_SPACED).split())


def places(data: bytes, helpers: frozenset[str] = frozenset()) -> tuple[int, ...]:
    """The offsets at which C++ code may ask which GPU it runs on, in order; none of a file that never does.

    `helpers` are names from elsewhere that are known to answer for the architecture.
    """
    return _places(data, identifiers(data), helpers)


def _places(data: bytes, words: frozenset[bytes], helpers: frozenset[str]) -> tuple[int, ...]:
    values, calls = _ROLES.asking(words)
    if helpers:
        values |= words.intersection(name.encode() for name in helpers)
    if not values and not calls:
        return ()
    found = [at for name in values for at in _occurrences(data, name) if _is_value(data, at, at + len(name))]
    found += [
        at
        for name in calls
        for at in _occurrences(data, name)
        if _CALLED.match(data, at + len(name)) and _is_code(data, at)
    ]
    return tuple(sorted(found))


def pieces(data: bytes, words: frozenset[bytes], helpers: frozenset[str] = frozenset()) -> Iterator[Piece]:
    """The parts to parse: the whole of a small file that asks, else the pieces between braces in column one that do.

    `words` are the identifiers of the text.
    """
    asked = _places(data, words, helpers)
    if not asked:
        return
    if len(data) <= _ALWAYS_WHOLE:
        yield Piece(0, len(data), 0, asked)
        return
    start = row = 0
    for chunk in data.split(b"\n}"):
        end = start + len(chunk)
        inside = asked[bisect_left(asked, start) : bisect_left(asked, end)]
        if inside:
            yield Piece(start, min(len(data), end + 2), row, tuple(at - start for at in inside))
        start = end + 2
        row += chunk.count(b"\n") + 1


def is_between(asked: Sequence[int], start: int, end: int) -> bool:
    """Whether one of the places lies between two offsets."""
    at = bisect_left(asked, start)
    return at < len(asked) and asked[at] < end


def _occurrences(data: bytes, name: bytes) -> Iterator[int]:
    """Where a name stands as a word of its own."""
    at = data.find(name)
    while at >= 0:
        end = at + len(name)
        if data[at - 1 : at] not in _LETTERS and data[end : end + 1] not in _LETTERS:
            yield at
        at = data.find(name, end)


_LETTERS = frozenset(bytes([c]) for c in _IN_NAMES)


def _is_value(data: bytes, at: int, end: int) -> bool:
    """Whether a name stands for a value there: not for a namespace, a type, or what is declared as one."""
    if _NO_VALUE.match(data, end) or _DECLARED.search(data, max(0, at - _LONGEST_KEYWORD), at):
        return False
    return _is_code(data, at)


def _is_code(data: bytes, at: int) -> bool:
    """Whether an offset lies in C++ code: not in a comment, a text, or a directive that the preprocessor evaluates."""
    begin = data.rfind(b"\n", 0, at) + 1
    head = _TEXT.sub(b"", data[begin:at])
    if b"//" in head or b'"' in head:
        return False
    opened = data.rfind(b"/*", max(0, at - _LONGEST_COMMENT), at)
    if opened >= 0 and data.find(b"*/", opened, at) < 0:
        return False
    while begin > 1 and data[max(0, begin - 3) : begin].rstrip(b"\r\n").endswith(b"\\"):
        begin = data.rfind(b"\n", 0, begin - 1) + 1
    if _DIRECTIVE.match(data, begin, at):
        return data.startswith(_COMPILED, at) and _answers(data, at)
    return not (data.startswith(_COMPILED, at) and _DEFINE.match(data, begin, at))


def _answers(data: bytes, at: int) -> bool:
    """Whether the region behind a directive returns a value: its function then answers for the architecture."""
    end = _NEXT.search(data, at)
    return _RETURNS.search(data, at, end.start() if end else len(data)) is not None
