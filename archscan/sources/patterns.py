"""Patterns in the syntax of `.gitignore`, matched as git does and in linear time, whatever they are.

A star followed by a star tries every way to share the text out between them; thirty of them never end. For such
patterns the leftmost place of what stands between two stars is as good as any other, so it is taken and not taken back:
within a name for `*`, over whole directories for `**`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

MAX_WILD = 2000  # patterns with wildcards in one list
_LONGEST = 4096  # bytes of a path: a pattern that needs more matches none
_LONGEST_TEXT = 8192  # of the pattern itself
_STAR, _FOLDERS, _SLASH = "*", "**", "/"  # tokens; every other one is a regular expression for one byte
_SPECIAL = re.compile(rb"[*?\[\\]")
_STARS = re.compile(rb"\*+")
_CLASS = re.compile(rb"\[:([^\]]*):\]")
_CLASSES = {
    b"alnum": b"0-9A-Za-z", b"alpha": b"A-Za-z", b"blank": rb" \t", b"cntrl": rb"\x00-\x1f\x7f", b"digit": b"0-9",
    b"graph": rb"\x21-\x7e", b"lower": b"a-z", b"print": rb"\x20-\x7e", b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r\f\v", b"upper": b"A-Z", b"xdigit": b"0-9A-Fa-f",
}  # fmt: skip
_ALL_BYTES = bytes(range(256))
_MEMBERS = {name: {byte[0] for byte in re.findall(b"[" + of + b"]", _ALL_BYTES)} for name, of in _CLASSES.items()}


class Malformed(ValueError):
    """A pattern that matches nothing at all; says why."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A line of an ignore file."""

    number: int
    text: bytes  # without negation and the slashes at its ends
    negated: bool
    directory: bool  # matches directories only
    path: bool  # matches the whole path, else the last name


class TooMany(ValueError):
    """More patterns with wildcards than are obeyed: every one is asked for every file."""


class Patterns:
    """An ordered list of patterns: the last that matches decides."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        """TooMany where more than `MAX_WILD` of them have wildcards."""
        parsed = [p for number, line in enumerate(lines) if (p := _parsed(number, line))]
        distinct = {(p.text, p.directory, p.path): p for p in parsed}  # of equal ones the last decides
        if sum(_SPECIAL.search(p.text) is not None for p in distinct.values()) > MAX_WILD:
            raise TooMany(f"more than {MAX_WILD:,} patterns with wildcards")
        self._literal: dict[tuple[bytes, bool], list[_Pattern]] = {}
        self._wild: list[tuple[_Pattern, re.Pattern[bytes]]] = []
        for pattern in sorted(distinct.values(), key=lambda p: -p.number):
            if not _SPECIAL.search(pattern.text):
                self._literal.setdefault((pattern.text, pattern.path), []).append(pattern)
            elif (compiled := _compiled(pattern)) is not None:
                self._wild.append((pattern, compiled))

    def decides(self, path: str, directory: bool) -> bool | None:
        """Whether a path below the list's directory is left out; None = no pattern matches it."""
        whole = os.fsencode(path)
        name = whole[whole.rfind(b"/") + 1 :]
        best: _Pattern | None = None
        for key in ((name, False), (whole, True)):
            for pattern in self._literal.get(key, ()):
                if (directory or not pattern.directory) and (best is None or pattern.number > best.number):
                    best = pattern
        for pattern, compiled in self._wild:  # the last line first
            if best is not None and best.number > pattern.number:
                break
            if (directory or not pattern.directory) and compiled.match(whole if pattern.path else name):
                best = pattern
                break
        return None if best is None else not best.negated


def malformed(line: str) -> str:
    """Why a pattern matches nothing at all; empty if it may match something."""
    pattern = _parsed(0, os.fsencode(line))
    if pattern is None or not pattern.text:
        return "it is empty" if not line.lstrip().startswith("#") else "it is a comment"
    try:
        list(_tokens(pattern.text, pattern.path))
    except Malformed as error:
        return str(error)
    return ""


def _parsed(number: int, line: bytes) -> _Pattern | None:
    """The pattern of a line; None for blank lines and comments."""
    if line.startswith(b"#"):
        return None
    text = _stripped(line)
    negated = text.startswith(b"!")
    text = text[negated:]
    directory = text.endswith(b"/")
    text = text[:-1] if directory else text
    path = b"/" in text
    text = text[1:] if text.startswith(b"/") else text
    return _Pattern(number, text, negated, directory, path) if text else None


def _stripped(line: bytes) -> bytes:
    """A line without the blanks at its end, unless a backslash keeps them."""
    line = line.rstrip(b"\r\n")
    end = len(line.rstrip(b" "))
    backslashes = end - len(line[:end].rstrip(b"\\"))
    return line[: end + 1] if backslashes % 2 and end < len(line) else line[:end]


def _compiled(pattern: _Pattern) -> re.Pattern[bytes] | None:
    """The regular expression for the path or name; None where nothing can match."""
    try:
        tokens = list(_tokens(pattern.text, pattern.path))
    except Malformed:
        return None
    if sum(token not in (_STAR, _FOLDERS) for token in tokens) > _LONGEST:
        return None
    return re.compile(_expression(tokens).encode("ascii"), re.DOTALL)


def _tokens(text: bytes, path: bool) -> Iterator[str]:
    """The tokens of a pattern; adjacent stars are one. Malformed where no name can match it."""
    if len(text) > _LONGEST_TEXT:
        raise Malformed(f"it is longer than {_LONGEST_TEXT} bytes")
    at = 0
    while at < len(text):
        char = text[at : at + 1]
        if char == b"*":
            end = _STARS.match(text, at).end()  # type: ignore[union-attr]
            alone = (at == 0 or text[at - 1 : at] == b"/") and (
                end == len(text) or text.startswith((b"/", b"\\/"), end)
            )
            if path and alone and end - at > 1:
                yield _FOLDERS
                if text.startswith(b"\\", end):  # for git not the pair that also stands for no folder at all
                    yield from (_SLASH, _STAR)
            else:
                yield _STAR
            at = end
            continue
        if char == b"?":
            yield "[^/]"
        elif char == b"/":
            yield _SLASH
        elif char == b"[":
            members, at = _bracket(text, at + 1)
            yield _one_of(members)
        elif char == b"\\":
            at += 1
            if at == len(text):
                raise Malformed("nothing follows its last backslash")
            yield _SLASH if text[at] == 0x2F else _byte(text[at])
        else:
            yield _byte(text[at])
        at += 1


def _bracket(text: bytes, at: int) -> tuple[set[int], int]:
    """The bytes that a bracket expression matches, and where it closes; `at` is behind its opening."""
    negated = text[at : at + 1] in (b"!", b"^")
    at += negated
    found: set[int] = set()
    before: int | None = None  # the byte that a range would begin with
    first = True
    while first or text[at : at + 1] != b"]":
        first = False
        named = _CLASS.match(text, at)
        if named is not None:
            if named[1] not in _CLASSES:
                raise Malformed(f"[:{named[1].decode('utf-8', 'replace')}:] is no class")
            found |= _MEMBERS[named[1]]
            before, at = None, named.end()
            continue
        ranged = before is not None and text[at : at + 1] == b"-" and text[at + 1 : at + 2] not in (b"", b"]")
        at += ranged
        at += text[at : at + 1] == b"\\"
        if at >= len(text):
            raise Malformed("its [ is never closed; write \\[ for the character itself")
        assert before is not None or not ranged
        found |= set(range(before or 0, text[at] + 1)) if ranged else {text[at]}
        before = None if ranged else text[at]
        at += 1
    return (set(range(256)) - found if negated else found) - {0x2F}, at


def _byte(value: int) -> str:
    return f"\\x{value:02x}"


def _one_of(members: set[int]) -> str:
    """The expression for one of these bytes, as ranges."""
    ends = [(value - 1 not in members, value + 1 not in members, value) for value in sorted(members)]
    begins = [value for first, _, value in ends if first]
    closes = [value for _, last, value in ends if last]
    ranges = "".join(f"{_byte(b)}-{_byte(c)}" for b, c in zip(begins, closes, strict=True))
    return f"[{ranges}]" if ranges else "(?!)"


def _expression(tokens: list[str]) -> str:
    """The regular expression for all tokens, which has one way at most to match what stands before each of them."""
    names = count()
    blocks: list[list[str]] = [[]]  # of segments, between the tokens that stand for any number of folders
    for segment in _split(tokens, _SLASH):
        if segment == [_FOLDERS]:
            blocks.append([])
        else:
            blocks[-1].append(_segment(segment, names))
    first, *others = blocks
    if not others:
        return "/".join(first) + r"\Z"
    made = ["".join(f"{segment}/" for segment in first)]
    made += [_settled("(?:[^/]+/)*?" + "".join(f"{segment}/" for segment in block), names) for block in others[:-1]]
    return "".join(made) + (rf"(?:[^/]+/)*{'/'.join(others[-1])}\Z" if others[-1] else ".")


def _segment(tokens: list[str], names: Iterator[int]) -> str:
    """The regular expression for what stands between two slashes."""
    first, *others = ["".join(chunk) for chunk in _split(tokens, _STAR)]
    if not others:
        return first
    middle = [_settled(f"[^/]*?{chunk}", names) for chunk in others[:-1] if chunk]
    return f"{first}{''.join(middle)}[^/]*{others[-1]}"


def _settled(expression: str, names: Iterator[int]) -> str:
    """An expression whose first match is kept: an atomic group, which Python has from 3.11 on."""
    name = f"g{next(names)}"
    return f"(?=(?P<{name}>{expression}))(?P={name})"


def _split(tokens: list[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == at:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
