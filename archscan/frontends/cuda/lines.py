"""Byte offsets of a file as places: lines counted from one, columns in code points."""

from __future__ import annotations

from bisect import bisect_right

from archscan.frontends.cuda.directives import BOM
from archscan.model.gate import Place


class Lines:
    """Line numbers of one file. The table of line starts is built on first use."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._starts: list[int] | None = None

    def line(self, offset: int) -> int:
        """The 1-based line of a byte offset."""
        return bisect_right(self._table(), offset)

    def start(self, line: int) -> int:
        """The byte offset where a 1-based line starts."""
        table = self._table()
        return table[line - 1] if line <= len(table) else len(self.data)

    def place(self, start: int, end: int) -> Place:
        """The place of a byte range."""
        line, end_line = self.line(start), self.line(max(start, end))
        return Place(start, end, line, self._column(line, start), end_line, self._column(end_line, end))

    def _column(self, line: int, offset: int) -> int:
        begin = self.start(line)
        if line == 1 and self.data.startswith(BOM):
            begin += len(BOM)
        return len(self.data[begin:offset].decode("utf-8", "replace")) + 1

    def _table(self) -> list[int]:
        if self._starts is None:
            starts, position = [0], self.data.find(b"\n")
            while position >= 0:
                starts.append(position + 1)
                position = self.data.find(b"\n", position + 1)
            self._starts = starts
        return self._starts
