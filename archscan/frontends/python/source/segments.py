"""Cuts a file into definitions without parsing it, so that only those that matter are parsed."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

_TOP = re.compile(rb"\n[A-Za-z_@]")
_METHOD = re.compile(rb"\n    [A-Za-z_@]")
_DEFINES = re.compile(rb"[ \t]*(?:def|class|async|@)")
_CLASS = re.compile(rb"^class[ \t]", re.MULTILINE)
_NAMED = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_SMALL = 400  # bytes: what is smaller is not worth leaving out
_FAR = 1000  # bytes looked back for the end of a statement, over the comments behind it
_WHOLE = 4_000  # files up to this size are parsed as they are
_LARGE = 12_000  # classes that are asked for the architecture have all their methods up to this size
_SMALL_METHOD = 1200

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A definition that is not parsed unless it is asked for, and the byte ranges to parse then."""

    name: str
    start: int
    end: int
    ranges: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """The byte ranges to parse at once (none = all), and what was left out: definitions, and methods of theirs."""

    ranges: tuple[Span, ...] = ()
    definitions: tuple[Piece, ...] = ()
    methods: tuple[Piece, ...] = ()

    def method(self, offset: int) -> Piece | None:
        """The method left out around an offset."""
        return _around(self.methods, offset)

    def methods_of(self, offset: int) -> list[Piece]:
        """The methods left out of the class at an offset."""
        holder = self.definition(offset)
        if holder is None:
            return []
        first = bisect_left(self.methods, holder.start, key=lambda piece: piece.start)
        return [piece for piece in self.methods[first:] if piece.start < holder.end]

    def definition(self, offset: int) -> Piece | None:
        """The definition left out around an offset."""
        return _around(self.definitions, offset)


def cut(data: bytes, triggers: tuple[int, ...]) -> Cut:
    """Everything but the definitions of some size; of classes, the large methods that hold no trigger are left out."""
    if len(data) <= _WHOLE:
        return Cut()
    definitions: list[Piece] = []
    methods: list[Piece] = []
    for start, mark, end in _segments(data, 0, len(data), _TOP):
        if end - start <= _SMALL or not _DEFINES.match(data, mark) or not _is_alone(data, mark, end):
            continue
        large = _LARGE if _holds(triggers, start, end) else _WHOLE
        inside = _methods(data, mark, end, triggers) if end - mark > large and _is_class(data, mark, end) else []
        ranges = _complement([(m.start, m.end) for m in inside], start, end)
        definitions.append(Piece(_name(data, mark, end), start, end, ranges))
        methods += inside
    holes = [(d.start, d.end) for d in definitions]
    return Cut(_complement(holes, 0, len(data)), tuple(definitions), tuple(methods)) if holes else Cut()


def _is_alone(data: bytes, start: int, end: int) -> bool:
    """Whether a definition is all that there is up to the end: where strings hide it, other statements may follow."""
    head = _NAMED.search(data, start, end)
    return head is not None and _TOP.search(data, head.end(), end - 1) is None


def _is_class(data: bytes, start: int, end: int) -> bool:
    return _CLASS.search(data, start, min(end, start + 400)) is not None


def _methods(data: bytes, start: int, end: int, triggers: tuple[int, ...]) -> list[Piece]:
    """The large methods of a class that hold no trigger; each is parsed with what stands before the first of all."""
    found: list[Piece] = []
    parts = _segments(data, start, end, _METHOD)
    for a, mark, b in parts[1:]:
        if _DEFINES.match(data, mark) and b - a > _SMALL_METHOD and not _holds(triggers, a, b):
            found.append(Piece(_name(data, mark, b), a, b, ((start, parts[0][2]), (a, b))))
    return found


def _segments(data: bytes, start: int, end: int, boundary: re.Pattern[bytes]) -> list[tuple[int, int, int]]:
    """Where statements, with the comments above them, begin, where they begin without, and where they end.

    They begin at boundaries: decorators stay with their definition, strings are not cut.
    """
    marks = [m.start() + 1 for m in boundary.finditer(data, max(0, start - 1), end)]
    if start == 0 and boundary is _TOP and data[:1] not in b"\n\r\t #":
        marks.insert(0, 0)
    found: list[tuple[int, int, int]] = []
    begin = first = start
    follows = True  # the head, or a definition: what is neither itself goes together with what follows it
    for mark in marks:
        defines = _DEFINES.match(data, mark) is not None
        if not (defines or follows):
            continue
        above = _above(data, begin, mark)
        if mark > first and _closed(data, first, above):
            found.append((begin, first, above))
            begin, first, follows = above, mark, defines
    return [*found, (begin, first, end)] if marks else []


def _above(data: bytes, begin: int, mark: int) -> int:
    """Where the comments begin that stand above a statement and behind the one before."""
    above = mark
    while mark > begin:
        mark = data.rfind(b"\n", begin, mark - 1) + 1
        words = data[mark:above].lstrip()
        if mark <= begin or words[:1] not in (b"#", b""):
            break
        above = mark if words else above
    return above


def _closed(data: bytes, begin: int, mark: int) -> bool:
    """Whether a statement may end at the mark: no open string, no decorator still waiting for its definition."""
    if data.count(b'"""', begin, mark) % 2 or data.count(b"'''", begin, mark) % 2:
        return False
    if data[begin : begin + 6].lstrip().startswith(b"@") and not _NAMED.search(data, begin, mark):
        return False
    last = data[max(begin, mark - _FAR) : mark].rstrip()
    while (line := last.rpartition(b"\n")[2]).lstrip().startswith(b"#"):
        last = last[: -len(line)].rstrip()
    return not last.endswith((b",", b"(", b"[", b"{", b"\\", b"="))


def _holds(triggers: tuple[int, ...], start: int, end: int) -> bool:
    i = bisect_left(triggers, start)
    return i < len(triggers) and triggers[i] < end


def _around(pieces: tuple[Piece, ...], offset: int) -> Piece | None:
    at = bisect_right(pieces, offset, key=lambda piece: piece.start) - 1
    return pieces[at] if at >= 0 and offset < pieces[at].end else None


def _name(data: bytes, start: int, end: int) -> str:
    match = _NAMED.search(data, start, end)
    return match[1].decode("utf-8", "replace") if match else ""


def _complement(holes: list[Span], start: int, end: int) -> tuple[Span, ...]:
    found: list[Span] = []
    at = start
    for a, b in holes:
        if a > at:
            found.append((at, a))
        at = b
    if at < end:
        found.append((at, end))
    return tuple(found)
