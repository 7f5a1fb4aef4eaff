"""Places in build files: offsets as lines and columns, and the comments beside them."""

from __future__ import annotations

from archscan.model.gate import Place


def line_at(data: bytes, offset: int) -> int:
    """The line of an offset, from 1."""
    return data.count(b"\n", 0, offset) + 1


def place_of(data: bytes, start: int, end: int) -> Place:
    """A range of bytes as a place."""
    line, end_line = line_at(data, start), line_at(data, end)
    return Place(start, end, line, _column(data, start), end_line, _column(data, end))


def _column(data: bytes, offset: int) -> int:
    begin = data.rfind(b"\n", 0, offset) + 1
    return len(data[begin:offset].decode("utf-8", "backslashreplace")) + 1


def comments_at(data: bytes, offset: int) -> str:
    """The comment lines right above, and the comment at the end of the line."""
    begin = data.rfind(b"\n", 0, offset) + 1
    end = data.find(b"\n", offset)
    line = data[begin : len(data) if end < 0 else end]
    found = [line.partition(b"#")[2]] if b"#" in line else []
    while begin > 0:
        previous = data.rfind(b"\n", 0, begin - 1) + 1
        above = data[previous : begin - 1].strip()
        if not above.startswith(b"#"):
            break
        found.insert(0, above.lstrip(b"#"))
        begin = previous
    return b" ".join(text.strip() for text in found[-8:]).decode("utf-8", "backslashreplace")
