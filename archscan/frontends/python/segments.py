"""Cuts a file into top-level pieces without parsing it, so that only the pieces that matter are parsed."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

_TOP = re.compile(rb"\n[A-Za-z_@]")
_METHOD = re.compile(rb"\n    [A-Za-z_@]")
_NAMED = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_SMALL = 1200  # bytes: what is smaller is not worth leaving out
_WHOLE = 12_000  # files up to this size are parsed as they are


@dataclass(frozen=True, slots=True)
class Piece:
    """A definition that is not parsed unless it is asked for."""

    name: str
    start: int
    end: int
    head: tuple[int, int] | None = None  # of the class that it is a method of: from its beginning to its first method


@dataclass(frozen=True, slots=True)
class Cut:
    """The byte ranges to parse at once (none = all), and the definitions and methods left out, in order."""

    ranges: tuple[tuple[int, int], ...] = ()
    left_out: tuple[Piece, ...] = ()

    def around(self, offset: int) -> Piece | None:
        """What was left out around an offset."""
        at = bisect_right(self.left_out, offset, key=lambda piece: piece.start) - 1
        piece = self.left_out[at] if at >= 0 else None
        return piece if piece is not None and offset < piece.end else None


def cut(data: bytes, triggers: tuple[int, ...]) -> Cut:
    """Everything but the large definitions and methods that hold no trigger."""
    if len(data) <= _WHOLE:
        return Cut()
    pieces: list[Piece] = []
    for start, end in _segments(data, 0, len(data), _TOP):
        if not data.startswith((b"def ", b"class ", b"async ", b"@"), start) or end - start <= _SMALL:
            continue
        if not _holds(triggers, start, end):
            pieces.append(Piece(_name(data, start, end), start, end))
        elif b"class " in data[start : start + 400] and end - start > _WHOLE:
            pieces += _methods(data, start, end, triggers)
    return Cut(_complement([(p.start, p.end) for p in pieces], len(data)), tuple(pieces)) if pieces else Cut()


def _methods(data: bytes, start: int, end: int, triggers: tuple[int, ...]) -> list[Piece]:
    """The large methods of a class that hold no trigger."""
    found: list[Piece] = []
    parts = _segments(data, start, end, _METHOD)
    for a, b in parts[1:]:
        head = data[a : a + 16].lstrip()
        if head.startswith((b"def ", b"async ", b"@")) and b - a > _SMALL and not _holds(triggers, a, b):
            found.append(Piece(_name(data, a, b), a, b, parts[0]))
    return found


def _segments(data: bytes, start: int, end: int, boundary: re.Pattern[bytes]) -> list[tuple[int, int]]:
    """Statements that begin at boundaries: decorators stay with their definition, strings are not cut."""
    marks = [m.start() + 1 for m in boundary.finditer(data, max(0, start - 1), end)]
    if start == 0 and boundary is _TOP and data[:1] not in b"\n\r\t #":
        marks.insert(0, 0)
    if not marks:
        return []
    found: list[tuple[int, int]] = []
    begin = start
    for mark in [*marks, end]:
        if mark == begin:
            continue
        if _closed(data, begin, mark) or mark == end:
            found.append((begin, mark))
            begin = mark
    return found


def _closed(data: bytes, begin: int, mark: int) -> bool:
    """Whether a statement may end at the mark: no open string, no decorator still waiting for its definition."""
    if data.count(b'"""', begin, mark) % 2 or data.count(b"'''", begin, mark) % 2:
        return False
    if data[begin : begin + 6].lstrip().startswith(b"@") and not _NAMED.search(data, begin, mark):
        return False
    last = data[max(begin, mark - 200) : mark].rstrip()
    return not last.endswith((b",", b"(", b"[", b"{", b"\\", b"="))


def _holds(triggers: tuple[int, ...], start: int, end: int) -> bool:
    i = bisect_left(triggers, start)
    return i < len(triggers) and triggers[i] < end


def _name(data: bytes, start: int, end: int) -> str:
    match = _NAMED.search(data, start, end)
    return match[1].decode("utf-8", "replace") if match else ""


def _complement(holes: list[tuple[int, int]], size: int) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    at = 0
    for start, end in sorted(holes):
        if start > at:
            found.append((at, start))
        at = end
    if at < size:
        found.append((at, size))
    return tuple(found)
