"""Finds the texts a module can raise or log, as templates with `{...}`, so that a pasted error leads here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscan.model.facts import Site, SiteKind
from archscan.model.gate import Place
from archscan.model.truth import Truth

_CARRIER = re.compile(
    rb"[ \t]+(?P<how>raise\s+[\w.]+|assert\b|(?:logger|logging|log|warnings)\.(?:warning|warn|error|warning_once)|"
    rb"(?:[\w.]*errors?|[\w.]*reasons?|unsupported)\.append|return\s+(?:False|None),?)\s*[(,]?"
)
_NEEDLES = (b"raise ", b"assert ", b".warn", b".error(", b".append(", b"return False", b"return None")
_STRING = re.compile(rb"""[rbfuRBFU]{0,2}(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')""")
_MARK = re.compile(rb"[()\[\]{}\n\"']")
_ARCH = re.compile(
    rb"(?i)\bsm_?\d|architecture|hopper|blackwell|ampere|\bGPUs?\b|CUDA arch|capabilit|\{(?:major|cc|arch|sm)"
)
_WORTH = (b"GPU", b"SM", b"sm", b"apabilit", b"rchitecture", b"opper", b"lackwell", b"mpere")
_FORMS = {b"raise": "raise", b"assert": "assert", b"return": "return"}


def messages(data: bytes, everything: bool) -> tuple[Site, ...]:
    """The messages of a file: all of them, or those that speak of architectures."""
    if not everything and not any(word in data for word in _WORTH):
        return ()
    return tuple(site for site in _messages(data) if everything or _ARCH.search(site.name.encode()))


def _messages(data: bytes) -> Iterator[Site]:
    line, last = 1, 0
    for start in sorted(_line_starts(data)):
        match = _CARRIER.match(data, start)
        if match is None:
            continue
        end = _statement_end(data, match.start("how"))
        pieces = list(_STRING.finditer(data, match.end("how"), end))
        text = b"".join(m[1] if m[1] is not None else m[2] for m in pieces).decode("utf-8", "replace")
        if len(text) < 12 or " " not in text:
            continue
        line, last = line + data.count(b"\n", last, start), start
        form = match["how"].split()[0].split(b".")[-1]
        yield Site(
            SiteKind.MESSAGE,
            text[:600],
            _place(data, match.start("how"), end, line),
            Truth(0, 0),
            detail=_FORMS.get(form, "log"),
        )


def _line_starts(data: bytes) -> set[int]:
    """Where the lines begin that may carry a message; substring searches are far cheaper than a pattern per line."""
    starts: set[int] = set()
    for needle in _NEEDLES:
        at = data.find(needle)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            at = data.find(needle, at + len(needle))
    return starts


def _statement_end(data: bytes, start: int) -> int:
    """Where the statement ends: at the line on which its brackets are closed, 2,000 bytes on at most."""
    depth, at = 0, start
    limit = min(len(data), start + 2000)
    while (mark := _MARK.search(data, at, limit)) is not None:
        byte, at = mark[0], mark.end()
        if byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
        elif byte in b"\"'":
            closed = _STRING.match(data, at - 1)
            at = closed.end() if closed else at
        elif depth <= 0:
            return at - 1
    return limit


def _place(data: bytes, start: int, end: int, line: int) -> Place:
    column = start - (data.rfind(b"\n", 0, start) + 1) + 1
    return Place(
        start, end, line, column, line + data.count(b"\n", start, end), end - (data.rfind(b"\n", 0, end) + 1) + 1
    )
