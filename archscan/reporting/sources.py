"""The bytes of the scanned files as reports need them: lines to show, positions of byte offsets, line hashes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul

_BLOCK = 100
_MOD64 = (1 << 64) - 1
_POWERS = [pow(37, _BLOCK - 1 - i, 1 << 64) for i in range(_BLOCK)]
_END_OF_FILE = 0xFFFF


def _nothing(path: str) -> None:
    return None


class Sources:
    """Reads through `read` (reported path -> bytes, or None if the file cannot be had), each file once."""

    def __init__(self, read: Callable[[str], bytes | None] = _nothing) -> None:
        self._read = read
        self._lines: dict[str, tuple[str, ...] | None] = {}
        self._starts: dict[str, list[int] | None] = {}
        self._windows: dict[str, tuple[Window, ...] | None] = {}

    def data(self, path: str) -> bytes | None:
        """The bytes of a file; None if it cannot be had."""
        return self._read(path)

    def lines(self, path: str) -> Sequence[str] | None:
        """The lines of a file without their ends, bytes that are not UTF-8 as `\\xNN`; None if it cannot be had."""
        if path not in self._lines:
            data = self._read(path)
            self._lines[path] = None if data is None else decoded(data)
        return self._lines[path]

    def position(self, path: str, offset: int) -> tuple[int, int] | None:
        """Line and column (code points, from 1) of a byte offset; None if the file cannot be had."""
        data = self._read(path)
        if data is None or offset > len(data):
            return None
        if path not in self._starts:
            self._starts[path] = [0, *(m.end() for m in re.finditer(rb"\n", data))]
        starts = self._starts[path] or [0]
        line = bisect_right(starts, offset)
        return line, len(data[starts[line - 1] : offset].decode("utf-8", "backslashreplace")) + 1

    def line_hash(self, path: str, line: int) -> str | None:
        """What GitHub's upload action would write as `primaryLocationLineHash` for that line."""
        if path not in self._windows:
            data = self._read(path)
            self._windows[path] = None if data is None else line_windows(data.decode("utf-8", "replace"))
        windows = self._windows[path]
        return windows[line - 1].hash() if windows and line <= len(windows) else None


def decoded(data: bytes) -> tuple[str, ...]:
    """The lines of a file as they are shown."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "backslashreplace")
    return tuple(line.removesuffix("\r") for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class Window:
    """100 UTF-16 units from the first non-blank of a line, blanks left out; the ordinal tells equal ones apart."""

    units: bytes
    ordinal: int

    def hash(self) -> str:
        """GitHub's hash of the line: modulus 37, 64 bit, in hex, and the ordinal."""
        units = memoryview(self.units).cast("H")
        return f"{sum(map(mul, units, _POWERS)) & _MOD64:x}:{self.ordinal}"


def line_windows(text: str) -> tuple[Window, ...]:
    """The window of every line. Equal hashes come from equal windows, so hashing waits until one is asked for."""
    squeezed = text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "") + chr(_END_OF_FILE)
    units = squeezed.encode("utf-16-le", "surrogatepass")
    starts = [0, *(m.end() for m in re.finditer(rb"(?:..)*?\n\0", units, re.DOTALL))]
    seen: Counter[bytes] = Counter()
    windows = []
    for start in starts:
        window = units[start : start + 2 * _BLOCK]
        seen[window] += 1
        windows.append(Window(window, seen[window]))
    return tuple(windows)
