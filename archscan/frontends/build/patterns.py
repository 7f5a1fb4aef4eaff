"""Regular expressions of CMake, run where they cannot take long: scanned files choose both pattern and subject."""

from __future__ import annotations

import re

_QUANTIFIER = re.compile(r"(?<!\\)[*+?]")
_REPEATED_GROUP = re.compile(r"\)[*+]")
_MAX_STEPS = 10_000_000


def compiled(pattern: str, subject_length: int) -> re.Pattern[str] | None:
    """The pattern, None where it is not valid or matching could take long: repeated groups, many repetitions."""
    repeats = len(_QUANTIFIER.findall(pattern))
    if len(pattern) > 500 or max(subject_length, 1) ** min(repeats, 40) > _MAX_STEPS:
        return None
    if _REPEATED_GROUP.search(pattern) and subject_length > 20:
        return None
    try:
        return re.compile(pattern.replace("{", r"\{"))  # no counts in CMake
    except (re.error, OverflowError, RecursionError):
        return None


def matched(pattern: str, subject: str) -> tuple[str, ...] | None:
    """The groups of the first match (the whole first), () where there is none, None where it was not tried."""
    expression = compiled(pattern, len(subject))
    if expression is None:
        return None
    match = expression.search(subject)
    return () if match is None else (match[0], *(group or "" for group in match.groups()))


def all_matches(pattern: str, subject: str) -> list[str] | None:
    """Every match; None where it was not tried."""
    found = _each(pattern, subject)
    return None if found is None else [match[0] for _, match in found]


def replaced(pattern: str, replacement: str, subject: str) -> str | None:
    """The subject with every match replaced; None where it was not tried."""
    found = _each(pattern, subject)
    if found is None:
        return None
    pieces, made, position = re.split(r"\\(\d)", replacement), list[str](), 0
    for at, match in found:
        texts = [*pieces]
        for i in range(1, len(texts), 2):
            number = int(texts[i])
            texts[i] = (match[number] or "") if number <= match.re.groups else ""
        made += [subject[position : at + match.start()], *texts]
        position = at + match.end()
    return "".join((*made, subject[position:]))


def _each(pattern: str, subject: str) -> list[tuple[int, re.Match[str]]] | None:
    """Every match, with where the rest of the text begins that it was found in: `^` fits at each rest's beginning.

    So it is up to CMake 4.0, and later for projects that ask for an older one (policy CMP0186).
    """
    expression = compiled(pattern, len(subject))
    if expression is None:
        return None
    found: list[tuple[int, re.Match[str]]] = []
    position = 0
    while position < len(subject):
        match = expression.search(subject[position:])
        if match is None:
            break
        if match.end() == match.start():
            return None  # cmake stops at a match of nothing
        found.append((position, match))
        position += match.end()
    return found


def asks_for_digits(pattern: str) -> bool:
    """Whether a regular expression only says how many digits a number has (`^[0-9]\\.[0-9]$`), naming none."""
    named = re.sub(r"\[[^\]]*\]|\{[^}]*\}", "", pattern)
    return "[0-9" in pattern and not re.search(r"\d", named)
