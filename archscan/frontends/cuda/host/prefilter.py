"""Decides from bytes which parts of a file are worth parsing: a parser is a hundred times slower than a search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NUMBER = rb"(?:\d{1,4}\b|[A-Za-z_][\w:]*)"
_COMPARE = rb"\)?\s*(?:[<>]=?|[=!]=)\s*"
# names that carry a capability, where they meet a comparison, a switch or an arithmetic of capabilities
_KEY = re.compile(
    rb"(?:[sS][mM]|[cC][cC]|[aA]rch|ARCH|[cC]apability|[mM]ajor|[cC]apacity|[vV]ersion|[vV]er|first|SM)_?(?:\(\))?"
    + _COMPARE
    + _NUMBER
    + rb"|switch\s*\(\s*\w*(?:[sS][mM]|[cC][cC]|[aA]rch|[mM]ajor|ersion)\w*\s*[)/]"
    rb"|[cC]omputeCapability|COMPUTE_CAPABILITY|compute_capability"
    rb"|if\s+constexpr\s*\([^;{}]*(?:[aA]rch|ARCH|[sS][mM]_?\d|is_major)"
)
_MAJOR = re.compile(rb"(?:\.|->)major\b")
_ALWAYS_WHOLE = 1 << 16  # smaller files are parsed whole


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file to parse, and the line (from zero) it starts on."""

    start: int
    end: int
    row: int


def asks_for_architecture(data: bytes) -> bool:
    """Whether C++ code in the file may ask which GPU it runs on."""
    return _KEY.search(data) is not None or _MAJOR.search(data) is not None or _outside_directives(data)


def _outside_directives(data: bytes) -> bool:
    """Whether `__CUDA_ARCH__` stands in C++ code."""
    position = data.find(b"__CUDA_ARCH__")
    while position >= 0:
        begin = data.rfind(b"\n", 0, position) + 1
        line = data[begin:position].lstrip()
        continued = data[max(0, begin - 3) : begin].rstrip(b"\r\n").endswith(b"\\")
        if not line.startswith((b"#", b"//", b"*", b"/*")) and not continued and b"//" not in line:
            return True
        position = data.find(b"__CUDA_ARCH__", data.find(b"\n", position) if b"\n" in data[position:] else len(data))
    return False


def pieces(data: bytes) -> Iterator[Piece]:
    """The parts to parse: the whole of a small file, else what stands between braces in column one around each key."""
    if len(data) <= _ALWAYS_WHOLE:
        yield Piece(0, len(data), 0)
        return
    end = row = counted = 0
    for match in _keys(data):
        if match < end:
            continue
        start = data.rfind(b"\n}", 0, match)
        start = max(end, 0 if start < 0 else data.find(b"\n", start + 1))
        stop = data.find(b"\n}", match)
        end = len(data) if stop < 0 else stop + 2
        row += data.count(b"\n", counted, start)
        counted = start
        yield Piece(start, end, row)


def _keys(data: bytes) -> Iterator[int]:
    found = {m.start() for pattern in (_KEY, _MAJOR) for m in pattern.finditer(data)}
    found |= {m.start() for m in re.finditer(rb"^[^#\n]*__CUDA_ARCH__", data, re.M)}
    yield from sorted(found)
