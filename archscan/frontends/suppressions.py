"""Suppression comments, `archscan: ignore[rule-id] reason`, in C, C++, Python and CMake sources."""

from __future__ import annotations

import re

from archscan.model.facts import Suppression

_MARK = b"archscan:"
_COMMENT = re.compile(
    rb"(?P<open>//+!?|/\*+|\#+|\*|<!--)[ \t]*archscan:[ \t]*ignore\b"
    rb"(?:[ \t]*\[(?P<rules>[^\]\r\n]*)\])?(?P<reason>[^\r\n]*)"
)
_LEADING = b" \t\v\f\xef\xbb\xbf"


def suppressions(data: bytes) -> tuple[Suppression, ...]:
    """Every suppression comment of a file, in order; one substring search for nearly all files."""
    if _MARK not in data:
        return ()
    return tuple(_suppression(data, match) for match in _COMMENT.finditer(data))


def _suppression(data: bytes, match: re.Match[bytes]) -> Suppression:
    line_start = data.rfind(b"\n", 0, match.start()) + 1
    before = data[line_start : match.start()].strip(_LEADING)
    reason, closed, behind = match["reason"].partition(b"*/")
    names = (match["rules"] or b"").decode("utf-8", "replace").split(",")
    return Suppression(
        line=data.count(b"\n", 0, match.start()) + 1,
        rules=tuple(name.strip() for name in names if name.strip()),
        reason=reason.decode("utf-8", "replace").strip(" \t:-"),
        alone=not before and not (closed and behind.strip()),
    )
