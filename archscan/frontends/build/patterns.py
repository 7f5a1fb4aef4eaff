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
    expression = compiled(pattern, len(subject))
    return None if expression is None else [match[0] for match in expression.finditer(subject)]


def replaced(pattern: str, replacement: str, subject: str) -> str | None:
    """The subject with every match replaced; None where it was not tried."""
    expression = compiled(pattern, len(subject))
    if expression is None:
        return None
    pieces = re.split(r"\\(\d)", replacement)

    def fill(match: re.Match[str]) -> str:
        texts = [*pieces]
        for i in range(1, len(texts), 2):
            number = int(texts[i])
            texts[i] = (match[number] or "") if number <= expression.groups else ""
        return "".join(texts)

    return expression.sub(fill, subject)


def asks_for_digits(pattern: str) -> bool:
    """Whether a regular expression only says how many digits a number has (`^[0-9]\\.[0-9]$`), naming none."""
    named = re.sub(r"\[[^\]]*\]|\{[^}]*\}", "", pattern)
    return "[0-9" in pattern and not re.search(r"\d", named)
