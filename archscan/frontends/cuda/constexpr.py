"""Finds code behind an `if constexpr` that asks for the architecture or a type: who compiles it is not known here."""

from __future__ import annotations

import re

from archscan.model.gate import FeatureUse

Span = tuple[int, int]

_IF = re.compile(rb"\bif\s+constexpr\s*\(")
_ELSE = re.compile(rb"\s*else\b\s*(?:if\s+constexpr\s*\(|)")
_CONSTANT = re.compile(rb"\bconstexpr\s+(?:static\s+)?(?:bool|auto|int)\s+(\w+)\s*=\s*([^;]{1,300});")
_ASKS = re.compile(rb"(?i)arch|sm_?\d{2,3}|blackwell|hopper|ampere|compute_?cap|has_feature|\bis_same")
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
_BRACKETS = re.compile(rb"[()]")
_BRACES = re.compile(rb"[{}]")


def asked_spans(code: bytes) -> tuple[Span, ...]:
    """The blocks of `if constexpr` whose condition asks for the architecture or a type, also by a local constant."""
    if b"if constexpr" not in code:
        return ()
    constants = {m[1]: m[2] for m in _CONSTANT.finditer(code)}
    found: list[Span] = []
    for match in _IF.finditer(code):
        end = _closed(code, match.end() - 1, _BRACKETS)
        condition = code[match.end() : end - 1]
        told = b" ".join((condition, *(constants.get(name, b"") for name in _IDENTIFIER.findall(condition))))
        if _ASKS.search(told):
            found.append((end, _blocks_end(code, end)))
    return tuple(found)


def is_asked(spans: tuple[Span, ...], start: int, end: int) -> bool:
    """Whether a stretch of code is inside one of the spans."""
    return any(a <= start and end <= b for a, b in spans)


def with_doubt(uses: tuple[FeatureUse, ...], code: bytes) -> tuple[FeatureUse, ...]:
    """The uses, those of lines in such a block (line 1 is the first of the code) with low confidence."""
    spans = asked_spans(code) if uses else ()
    if not spans:
        return uses
    lines = [(code.count(b"\n", 0, a) + 1, code.count(b"\n", 0, b) + 1) for a, b in spans]
    return tuple(
        FeatureUse(u.feature, u.line, u.via, u.path, "low") if any(a <= u.line <= b for a, b in lines) else u
        for u in uses
    )


def _closed(code: bytes, start: int, brackets: re.Pattern[bytes]) -> int:
    """Behind the bracket that closes the one at the start, or the end of the code."""
    depth = 0
    for match in brackets.finditer(code, start):
        depth += 1 if match[0] in b"({" else -1
        if depth == 0:
            return match.end()
    return len(code)


def _blocks_end(code: bytes, start: int) -> int:
    """The end of the block at a position and of the else branches behind it."""
    brace = code.find(b"{", start)
    if brace < 0 or code[start:brace].strip():
        semicolon = code.find(b";", start)
        return len(code) if semicolon < 0 else semicolon
    end = _closed(code, brace, _BRACES)
    other = _ELSE.match(code, end)
    if other is None:
        return end
    after = _closed(code, other.end() - 1, _BRACKETS) if other[0].endswith(b"(") else other.end()
    return _blocks_end(code, after)
