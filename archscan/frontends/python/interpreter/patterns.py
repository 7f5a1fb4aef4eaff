"""What version parsers and regular expressions make of the texts that name a toolkit or a chip."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from archscan.frontends.python.interpreter.containers import MatchV, VersionV
from archscan.frontends.python.interpreter.operations import spellings
from archscan.frontends.python.interpreter.values import Capability, PatternV, Unknown, Value, depends
from archscan.model.target import Target

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_LONGEST_PATTERN = 200  # of those that names of targets are matched with
_NUMBERS = re.compile(r"\d+")


def version_of(interpreter: Interpreter, written: Value) -> Value:
    """The numbers of a version as packaging.version orders them."""

    def numbers(text: Value) -> Value:
        if not isinstance(text, str):
            return Unknown(("version",), depends(text))
        found = [int(n) for n in _NUMBERS.findall(text.split("+")[0])[:4]]
        while found and not found[-1]:
            found.pop()
        return VersionV(found)

    return interpreter.lanes.lift(numbers, written)


def matched(interpreter: Interpreter, pattern: Value, how: str, written: Value) -> Value:
    """What a regular expression makes of a text that names targets: a match, or None."""
    if isinstance(pattern, PatternV):
        pattern = pattern.pattern
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        return Unknown(("match",), depends(written))

    def match(text: Value) -> Value:
        if isinstance(text, Capability):
            return _matches_some(interpreter, pattern, how)
        if not isinstance(text, str) or len(text) > _LONGEST_PATTERN:
            return Unknown(("match",), depends(text))
        try:
            return _taken(getattr(re, how)(pattern, text))
        except (re.error, OverflowError, RecursionError):
            return Unknown(("match",))

    return interpreter.lanes.lift(match, written)


def _taken(match: re.Match[str] | None) -> Value:
    return MatchV((match[0], *match.groups())) if match else None


def _agreed(found: list[Value]) -> Value:
    """The match of a text in one of several spellings: a part that differs between them is not known."""
    return MatchV(parts[0] if len(set(parts)) == 1 else Unknown(("match",), True) for parts in zip(*found, strict=True))


def _matches_some(interpreter: Interpreter, pattern: str, how: str) -> Value:
    """Whether a pattern takes a target in some spelling; unknown where it takes none of any."""

    def match(target: Target) -> Value:
        found = [m for written in spellings(target) if (m := getattr(re, how)(pattern, written))]
        return _agreed([_taken(m) for m in found]) if found else None

    try:
        found = interpreter.lanes.by_target(match)
    except (re.error, OverflowError, RecursionError):
        return Unknown(("match",))
    return Unknown(("match",), True) if found is None else found
