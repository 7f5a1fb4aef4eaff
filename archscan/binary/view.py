"""Bytes to look at from front to back: a file mapped into memory, or a stream of which only what is needed is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from archscan.binary.damage import Damaged

_CHUNK = 1 << 20
_TAIL = 1 << 19  # bytes kept of what was passed: the section table stands at the end of a library
_LONGEST = 16  # of the patterns


class View(Protocol):
    """Bytes by offset. What lies before the start of the last call may be gone."""

    def first(self, patterns: Sequence[bytes], start: int) -> int:
        """Where the first of these patterns begins, at or behind `start`; -1 = nowhere."""
        ...

    def read(self, start: int, length: int) -> bytes:
        """The bytes from `start` on: fewer than `length` where the file ends."""
        ...


class Mapped:
    """A buffer that is all there: bytes, or a file mapped into memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next: dict[bytes, int] = {}  # a pattern's next place, or an offset before which there is none
        self.size = len(data)

    def first(self, patterns: Sequence[bytes], start: int) -> int:
        end = self.size  # a later pattern is not looked for behind an earlier one: payloads stay untouched
        for pattern in patterns:
            at = max(self._next.get(pattern, 0), start)
            if at < end and self._data[at : at + len(pattern)] != pattern:
                found = self._data.find(pattern, at, min(end + len(pattern) - 1, self.size))
                at = found if found >= 0 else end
            self._next[pattern] = at
            end = min(at, end)
        return end if end < self.size else -1

    def read(self, start: int, length: int) -> bytes:
        return self._data[start : start + length]


class Streamed:
    """What `more` gives, read once, at most `limit` bytes."""

    def __init__(self, more: Callable[[int], bytes], limit: int) -> None:
        self._more = more
        self._limit = limit
        self._held = bytearray()
        self._from = 0  # offset of the first byte held
        self._ended = False
        self._part = range(0)  # to be kept when it has passed
        self._kept = bytearray()

    def keep(self, start: int, length: int) -> None:
        """Asks for bytes that are still to come to be kept when they have passed."""
        self._part = range(max(start, self._from), start + length)

    @property
    def size(self) -> int:
        """How many bytes were read so far: all of them once it is at its end."""
        return self._from + len(self._held)

    def first(self, patterns: Sequence[bytes], start: int) -> int:
        at = max(start, self._from)
        while True:
            found = self._first_held(patterns, at - self._from)
            # One that is cut by the end of what is held may begin before one that is whole.
            if found >= 0 and (self._ended or self._from + found <= self.size - _LONGEST):
                return self._from + found
            at = max(self.size - _LONGEST, at)
            self._forget(at)
            if not self._fill() and found < 0:
                return -1

    def _first_held(self, patterns: Sequence[bytes], start: int) -> int:
        """Where in what is held the first pattern begins: none is looked for behind another that was found."""
        first = -1
        for pattern in patterns:
            end = len(self._held) if first < 0 else first + len(pattern) - 1
            found = self._held.find(pattern, start, end)
            first = found if found >= 0 else first
        return first

    def read(self, start: int, length: int) -> bytes:
        if start < self._from:
            raise Damaged("its parts point back and forth")
        if start >= self._limit:  # a size that lies: what is left would be read in vain
            return b""
        self._forget(start)
        while self.size < start + length and self._fill():
            self._forget(start)
        return bytes(self._held[start - self._from : start - self._from + length])

    def rest(self) -> None:
        """Reads to the end."""
        while self._fill():
            self._forget(self.size)

    def kept(self, start: int, length: int) -> bytes | None:
        """Bytes that were read and are still there; None if they are gone."""
        if start >= self._from:
            return bytes(self._held[start - self._from : start - self._from + length])
        at = start - self._part.start
        if at < 0 or start + length > self._part.stop:
            return None
        passed = bytes(self._kept[at : at + length])
        return passed + bytes(self._held[: length - len(passed)])

    def _fill(self) -> bool:
        room = self._limit - self.size
        data = b"" if self._ended or room <= 0 else self._more(min(_CHUNK, room))
        self._ended = not data
        self._held += data
        return bool(data)

    def _forget(self, before: int) -> None:
        """Drops what lies before an offset, but for as much as a look at the end of a library needs."""
        drop = min(before, self.size) - self._from - _TAIL
        if drop > _CHUNK:
            part = self._part
            if part.start < self._from + drop and part.stop > self._from:
                first, last = max(part.start - self._from, 0), min(part.stop - self._from, drop)
                self._kept += self._held[first:last]
            del self._held[:drop]
            self._from += drop
