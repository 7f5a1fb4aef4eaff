"""CUDA source inside Python string literals: the file with everything but such literals blanked out.

Offsets and lines stay those of the Python file. Only literals that hold a directive are kept; an escaped line break is
a line break, so a literal with directives behind one on the same line cannot be shown in place and is reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from archscan.model.facts import Undecided
from archscan.sources.kinds import CUDA_IN_TEXT

_TOKEN = re.compile(
    rb"(?P<comment>#[^\n]*)"
    rb"|(?P<quote>'''|\"\"\"|'|\")"
)
_ENDS = {
    b"'''": re.compile(rb"(?:[^\\']|\\.|'(?!''))*'''", re.S),
    b'"""': re.compile(rb'(?:[^\\"]|\\.|"(?!""))*"""', re.S),
    b"'": re.compile(rb"[^\\'\n]*(?:\\.[^\\'\n]*)*'", re.S),
    b'"': re.compile(rb'[^\\"\n]*(?:\\.[^\\"\n]*)*"', re.S),
}
_DIRECTIVE = re.compile(rb"(?:^|\\n)[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif|define|undef)\b", re.M)
_ARCH_DIRECTIVE = re.compile(rb"#[ \t]*(?:if|ifdef|ifndef|elif|define)\b[^\n]*__CUDA_ARCH[^\n\\]*")
_INNER_BREAK = re.compile(rb"\\n(?=[^\n]*\S)")
_BESIDE = re.compile(rb"['\"]{1,3}[\s,]*[fFrR]{0,2}")  # between adjacent literals, which are one text
_NOT_NEWLINE = bytes(c if c in b"\r\n" else 0x20 for c in range(256))


@dataclass(frozen=True, slots=True)
class Embedded:
    """The blanked-out file, and the literals that could not be read."""

    data: bytes
    undecided: tuple[Undecided, ...]


def embedded(data: bytes) -> Embedded | None:
    """The CUDA text in a Python file's literals; None if no literal asks for the architecture in a directive."""
    if CUDA_IN_TEXT not in data:
        return None
    kept: list[bytes] = []
    undecided: list[Undecided] = []
    position = copied = 0
    asks = False
    while match := _TOKEN.search(data, position):
        position = match.end()
        if match["comment"]:
            continue
        closing = _ENDS[match["quote"]].match(data, position)
        if closing is None:
            continue
        start, end = position, closing.end() - len(match["quote"])
        position = closing.end()
        literal = data[start:end]
        follows = bool(kept) and _BESIDE.fullmatch(data, copied, match.start()) is not None
        if not follows and not _DIRECTIVE.search(literal):
            continue
        asks = asks or bool(_ARCH_DIRECTIVE.search(literal))
        if _escapes(literal):
            undecided += _unread(data, start, literal)
            continue
        kept += (data[copied:start].translate(_NOT_NEWLINE), re.sub(rb"\\n", b"  ", literal))
        copied = end
    if not asks:
        return None
    kept.append(data[copied:].translate(_NOT_NEWLINE))
    return Embedded(b"".join(kept), tuple(undecided))


def _escapes(literal: bytes) -> bool:
    """Whether a directive starts or ends at an escaped line break inside a line."""
    return any(b"#" in line and _INNER_BREAK.search(line) for line in literal.split(b"\n") if _DIRECTIVE.search(line))


def _unread(data: bytes, start: int, literal: bytes) -> list[Undecided]:
    found = []
    for match in _ARCH_DIRECTIVE.finditer(literal):
        line = data.count(b"\n", 0, start + match.start()) + 1
        text = match[0].split(b"\\n")[0].decode("utf-8", "replace")
        found.append(Undecided(line, text, "CUDA code in a Python string with escaped line breaks"))
    return found
