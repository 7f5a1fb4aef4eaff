"""Byte offsets as places: lines counted from one, columns in code points."""

from __future__ import annotations

from bisect import bisect_right

from archscan.frontends.cuda.preprocessor.directives import BOM
from archscan.model.gate import Place


class Lines:
    """Lines of a file or of a piece of it that begins a line. The table of line starts is built on first use."""

    def __init__(self, data: bytes, offset: int = 0, line: int = 1) -> None:
        self.data = data
        self.offset = offset
        self._line = line
        self._starts: list[int] | None = None

    def line(self, offset: int) -> int:
        """The 1-based line of a byte offset of the file."""
        return bisect_right(self._table(), offset - self.offset) + self._line - 1

    def start(self, line: int) -> int:
        """The byte offset in the file where a 1-based line starts."""
        table = self._table()
        row = max(line - self._line, 0)
        return self.offset + (table[row] if row < len(table) else len(self.data))

    def bytes(self, start: int, end: int) -> bytes:
        """The bytes between two offsets of the file."""
        return self.data[max(start - self.offset, 0) : max(end - self.offset, 0)]

    def place(self, start: int, end: int) -> Place:
        """The place of a byte range."""
        line, end_line = self.line(start), self.line(max(start, end))
        return Place(start, end, line, self._column(line, start), end_line, self._column(end_line, end))

    def placed(self, start: int, end: int, line: int, end_line: int) -> Place:
        """The place of a byte range whose lines are known: cheaper."""
        column = self._column(line, start)
        if line == end_line and (text := self.bytes(start, end)).isascii():
            return Place(start, end, line, column, line, column + len(text))
        return Place(start, end, line, column, end_line, self._column(end_line, end))

    def line_end(self, offset: int) -> int:
        """The offset of the newline at or after an offset, or the end of the data."""
        found = self.data.find(b"\n", offset - self.offset)
        return self.offset + (found if found >= 0 else len(self.data))

    def line_start(self, offset: int) -> int:
        """The offset where the line that holds an offset starts."""
        return self.offset + self.data.rfind(b"\n", 0, max(offset - self.offset, 0)) + 1

    def _column(self, line: int, offset: int) -> int:
        at = offset - self.offset
        begin = self.data.rfind(b"\n", 0, max(at, 0)) + 1
        if begin >= at:
            return 1
        text = self.data[begin:at]
        if line == 1:
            text = text.removeprefix(BOM)
        return (len(text) if text.isascii() else len(text.decode("utf-8", "replace"))) + 1

    def _table(self) -> list[int]:
        if self._starts is None:
            starts, position = [0], self.data.find(b"\n")
            while position >= 0:
                starts.append(position + 1)
                position = self.data.find(b"\n", position + 1)
            self._starts = starts
        return self._starts
