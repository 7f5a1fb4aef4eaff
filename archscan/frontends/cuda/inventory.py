"""What code names: every instruction in its asm and everything it calls, so that what nothing is known of can be told.

An inventory answers for code only where it is complete: a name that nobody knows may hide any instruction.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from archscan.catalog.recognise import asm_texts, blank_literals

_MNEMONIC = re.compile(rb"(?<![\w.%:])[a-z]\w*(?:(?:\.|::)\w+)+")
# Tried at the head of each word; bounded, as hostile text would have it tried over and over
_CALL = re.compile(rb"\b[A-Za-z_]\w*(?:::[A-Za-z_~]\w*)*\s*(?:<[^;(){}]{0,200}>\s*)?(?:<<<[^;{}]{0,300}?>>>\s*)?\(")
_HEAD = re.compile(rb"[\w:~]+")
_TAG = re.compile(rb"\b(?:(?:cutlass|cute)\s*::\s*)(?:\w+\s*::\s*)*\w+")
_NO_CALL = frozenset(
    b"if for while switch return sizeof alignof alignas decltype noexcept defined asm __asm__ __asm volatile catch "
    b"throw static_assert constexpr new delete and or not operator assert explicit __launch_bounds__ __attribute__ "
    b"__align__ void bool char short int long float double unsigned signed auto const true false".split()
)
_LONGEST = 1 << 16  # bytes of code that are looked at: of longer code the rest is one name that nobody knows
_MOST = 200


class Named(NamedTuple):
    """A name in code: what is called (`member`: of an object), a tag of a library of templates, or an instruction."""

    name: str
    line: int  # of the code, from 1
    kind: str  # call | member | tag | asm


def named(code: bytes) -> tuple[Named, ...]:
    """What CUDA C++ names, each once, with its first line. Comments, literals and directives do not count."""
    text = code[:_LONGEST]
    lines = [match.start() for match in re.finditer(rb"\n", text)]
    found: dict[tuple[str, str], Named] = {}
    for offset, name, kind in _all(text):
        shown = b"".join(name.split()).decode("utf-8", "replace").removeprefix("::")
        found.setdefault((kind, shown), Named(shown, bisect_right(lines, offset - 1) + 1, kind))
        if len(found) >= _MOST:
            break
    if len(found) >= _MOST or len(code) > _LONGEST:
        found["", ""] = Named("more code than is looked at", 1, "tag")
    return tuple(found.values())


def _is_member(plain: bytes, at: int) -> bool:
    """Whether a name is one of an object: behind a dot or an arrow, maybe with `template` between."""
    before = plain[max(0, at - 16) : at].rstrip().removesuffix(b"template").rstrip()
    return before.endswith((b".", b"->"))


def _is_declared(plain: bytes, at: int) -> bool:
    """Whether a type stands before a name: what is declared is not called."""
    before = _WORD_BEFORE.search(plain, max(0, at - 60), at)
    return before is not None and before[1] not in _BEFORE_CALL


_WORD_BEFORE = re.compile(rb"([A-Za-z_]\w*)\s+\Z")
_BEFORE_CALL = frozenset(
    (b"return", b"else", b"do", b"case", b"and", b"or", b"not", b"throw", b"template", b"co_return")
)


def _all(text: bytes) -> Iterator[tuple[int, bytes, str]]:
    for offset, asm in asm_texts(text):
        for match in _MNEMONIC.finditer(asm):
            yield offset, match[0], "asm"
    plain = blank_literals(text)
    for match in _CALL.finditer(plain):
        head = _HEAD.match(plain, match.start())
        assert head is not None
        if head[0] not in _NO_CALL and not _is_declared(plain, match.start()):
            yield match.start(), head[0], "member" if _is_member(plain, match.start()) else "call"
    for match in _TAG.finditer(plain):
        yield match.start(), match[0], "tag"
