"""How many bytes a structure of the file takes: what its members add up to, as an expression of the constants in it.

Padding is left out, so that the sum is never too large. Of a structure with a member of unknown size nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_KINDS = (b"struct", b"union", b"class")
_TEMPLATE = re.compile(rb"template\s*<([^<>{};]*)>\s*\Z")
_LONGEST_TEMPLATE = 1000  # bytes of its parameters
_HEAD = re.compile(
    rb"(?P<kind>struct|union|class)\s+"
    rb"(?:(?:alignas|__align__|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:final\s*)?\{"
)
_NESTED = re.compile(rb"(?P<kind>struct|union)\s*(?:\w+\s*)?\{(?P<body>.*)\}\s*\w*\Z", re.S)
_MEMBER = re.compile(
    rb"(?:(?:alignas|__align__)\s*\((?:[^()]|\([^()]*\))*\)\s*|volatile\s+|mutable\s+)*"
    rb"(?P<type>[A-Za-z_][\w:]*(?:\s+(?:int|long|char|short))*(?:\s*<[^;={}()]*>)?)\s+"
    rb"(?:(?:alignas|__align__)\s*\(\d+\)\s*)?(?P<names>\w+(?:\s*\[[^\];]*\])*(?:\s*,\s*\w+(?:\s*\[[^\];]*\])*)*)\Z",
    re.S,
)
_NO_MEMBER = re.compile(rb"(?:static|using|typedef|enum|friend|template|public|private|protected|constexpr)\b")
_ACCESS = re.compile(rb"^(?:public|private|protected)\s*:\s*")
_INSTANCE = re.compile(rb"(?P<name>[A-Za-z_]\w*)\s*(?:<(?P<arguments>.*)>)?\Z", re.S)
_PARAMETER = re.compile(rb"(\w+)\s*(?:=[^,]*)?\Z")
_WORD = re.compile(rb"[\w:]+")
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_EXTENT = re.compile(rb"\[([^\]]*)\]")
_BRACES = re.compile(rb"[{};]")
_DEEPEST = 4  # structures in each other
_LONGEST = 4000  # bytes of a body


@dataclass(frozen=True, slots=True)
class _Structure:
    parameters: tuple[bytes, ...]
    is_union: bool
    body: bytes


@dataclass
class Layouts:
    """The structures that a file defines, found when first asked for."""

    data: bytes
    units: Mapping[str, int]  # sizes of the types of the language
    _found: dict[bytes, _Structure] | None = field(default=None)

    def size(self, type_: bytes, depth: int = 0) -> bytes | None:
        """The bytes that a type takes, as an expression; None if that is not known."""
        bare = b" ".join(type_.split()).removeprefix(b"std::")
        if unit := self.units.get(bare.decode("utf-8", "replace")):
            return str(unit).encode()
        match = _INSTANCE.match(bare.rpartition(b"::")[2] if b"<" not in bare else bare)
        found = self._table().get(match["name"]) if match and depth < _DEEPEST else None
        if match is None or found is None:
            return None
        arguments = [a.strip() for a in (match["arguments"] or b"").split(b",") if a.strip()]
        if len(arguments) != len(found.parameters):
            return None
        given = {p: _grouped(a) for p, a in zip(found.parameters, arguments, strict=True)}
        return self._sum(_with(found.body, given), found.is_union, depth)

    def _sum(self, body: bytes, is_union: bool, depth: int) -> bytes | None:
        sizes = list(self._members(body, depth))
        if not sizes or any(size is None for size in sizes):
            return None
        known = [size for size in sizes if size is not None]
        if not is_union:
            return b"(" + b"+".join(known) + b")"
        largest = known[0]
        for size in known[1:]:
            largest = b"max(" + largest + b"," + size + b")"
        return largest

    def _members(self, body: bytes, depth: int) -> Iterator[bytes | None]:
        for piece in _pieces(body):
            nested = _NESTED.match(piece)
            if nested:
                yield self._sum(nested["body"], nested["kind"] == b"union", depth + 1)
            elif (member := _MEMBER.match(piece)) and not _NO_MEMBER.match(piece):
                unit = self.size(member["type"], depth + 1)
                for name in member["names"].split(b","):
                    extents = [_grouped(extent.strip()) for extent in _EXTENT.findall(name)]
                    yield b"*".join([unit, *extents]) if unit is not None else None
            elif not _NO_MEMBER.match(piece) and b"(" not in piece:
                yield None

    def _table(self) -> dict[bytes, _Structure]:
        if self._found is None:
            self._found = {}
            for match in _heads(self.data):
                end = _closed(self.data, match.end())
                template = _TEMPLATE.search(self.data, max(0, match.start() - _LONGEST_TEMPLATE), match.start())
                parameters = [p.strip() for p in (template[1] if template else b"").split(b",") if p.strip()]
                names = tuple(m[1] for p in parameters if (m := _PARAMETER.search(p)))
                body = _COMMENT.sub(b" ", self.data[match.end() : end])
                self._found[match["name"]] = _Structure(names, match["kind"] == b"union", body)
        return self._found


def _heads(data: bytes) -> list[re.Match[bytes]]:
    """The heads of the structures that are defined, in order."""
    found: list[re.Match[bytes]] = []
    for kind in _KINDS:
        at = data.find(kind)
        while at >= 0:
            match = None if data[at - 1 : at].isalnum() or data[at - 1 : at] == b"_" else _HEAD.match(data, at)
            if match is not None:
                found.append(match)
            at = data.find(kind, at + len(kind))
    return sorted(found, key=lambda match: match.start())


def _grouped(text: bytes) -> bytes:
    """An expression that keeps together in a product; a name in brackets would be read as a cast."""
    return text if _WORD.fullmatch(text) else b"(" + text + b")"


def _with(body: bytes, given: Mapping[bytes, bytes]) -> bytes:
    """The body with arguments in place of the parameters of a template."""
    if not given:
        return body
    return re.sub(rb"\b(?:" + b"|".join(given) + rb")\b", lambda match: given[match[0]], body)


def _closed(data: bytes, start: int) -> int:
    """Where the brace that stands open at an offset is closed."""
    depth = 1
    for brace in re.finditer(rb"[{}]", data[start : start + _LONGEST]):
        depth += 1 if brace[0] == b"{" else -1
        if depth == 0:
            return start + brace.start()
    return start


def _pieces(body: bytes) -> Iterator[bytes]:
    """The declarations of a body: what stands between semicolons outside braces, and functions with their bodies."""
    depth = start = 0
    for mark in _BRACES.finditer(body):
        depth += {b"{": 1, b"}": -1}.get(mark[0], 0)
        function = mark[0] == b"}" and depth == 0 and b"(" in body[start : body.find(b"{", start)]
        if (mark[0] == b";" and depth == 0) or function:
            piece = _ACCESS.sub(b"", body[start : mark.end() if function else mark.start()].strip())
            start = mark.end()
            if piece:
                yield piece
