"""Texts of build files with unknown parts: what is known, who wrote it where, and on which conditions it is there.

Files are read as Latin-1, so that a character is a byte and positions are offsets; `readable` is for people.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

HOLE = "\x1a"  # stands for an unknown part where a text is looked at as a whole
LONGEST = 20_000
MOST_WAYS = 6
MOST_RUNS = 200  # what a loop appends on a condition is a part each time


@dataclass(frozen=True, slots=True)
class Run:
    """A part of a text that was written in one piece: unknown where `text` is None, and then because of these names."""

    text: str | None
    at: int = -1  # byte offset in the file; -1 = it does not stand there
    because: tuple[str, ...] = ()
    when: tuple[str, ...] = ()  # conditions that nobody can answer, and that must be met for it to be there


Text = tuple[Run, ...]
Ways = tuple[Text, ...]  # what something may be, one of several; each part says on which condition


def written(text: str, at: int = -1) -> Text:
    """A text that stands in the file at an offset, or nowhere."""
    return (Run(text, at),) if text else ()


def unknown(*names: str) -> Text:
    """A text of which nothing is known, because of these names."""
    return (Run(None, because=names),)


def shown(text: Text) -> str:
    """The text with a hole for each unknown part."""
    return "".join(HOLE if run.text is None else run.text for run in text)


def readable(text: str) -> str:
    """A text as people write it, with … for what is unknown."""
    return text.encode("latin-1", "replace").decode("utf-8", "backslashreplace").replace(HOLE, "…").strip()


def known(text: Text) -> str | None:
    """The text, None where a part is unknown."""
    return None if any(run.text is None for run in text) else shown(text)


def because(text: Text) -> tuple[str, ...]:
    """The names that make parts of a text unknown."""
    return tuple(dict.fromkeys(name for run in text for name in run.because))


def conditions(text: Text) -> tuple[str, ...]:
    """The conditions that parts of a text are under."""
    return tuple(dict.fromkeys(name for run in text for name in run.when))


def under(text: Text, names: Iterable[str]) -> Text:
    """The text as it is on further conditions."""
    more = tuple(names)
    if not more:
        return text
    return tuple(replace(run, when=tuple(dict.fromkeys((*run.when, *more)))) for run in text)


def added(ways: Ways, old: Ways, names: Iterable[str]) -> Ways:
    """The ways, where what the old ones did not hold is there on further conditions: `X="$X more"` in a branch."""
    more = tuple(names)
    before = {run for way in old for run in way}
    return tuple(tuple(run if run in before else under((run,), more)[0] for run in way) for way in ways)


def cut(text: Text, start: int, end: int) -> Text:
    """The part between two positions of the text as shown."""
    found, position = [], 0
    for run in text:
        if position >= end:
            break
        length = 1 if run.text is None else len(run.text)
        low, high = max(start - position, 0), min(end - position, length)
        if low < high:
            piece = run.text[low:high] if run.text is not None else None
            moved = run.at if run.at < 0 or not low or run.text is None else run.at + low
            found.append(replace(run, text=piece, at=moved))
        position += length
    return tuple(found)


def parted(text: Text, separators: str) -> list[Text]:
    """The parts between separators, a regular expression; empty parts dropped."""
    whole, parts, position = shown(text), [], 0
    for match in re.finditer(separators, whole):
        if match.end() > match.start():
            parts.append(cut(text, position, match.start()))
            position = match.end()
    parts.append(cut(text, position, len(whole)))
    return [part for part in parts if part]


def substituted(text: Text, pattern: re.Pattern[str], new: str) -> Text:
    """The text with every match replaced; what comes in its place counts as written there."""
    whole, made, position = shown(text), list[Run](), 0
    for match in pattern.finditer(whole):
        made += cut(text, position, match.start())
        old = cut(text, match.start(), match.end())
        filled = match.expand(new) if "\\" in new else new
        made += [Run(filled, old[0].at if old else -1, when=conditions(old))] if filled else []
        position = match.end()
    return (*made, *cut(text, position, len(whole)))


def combined(parts: Iterable[Ways]) -> Ways:
    """Every text that parts of several ways can make together, up to a number."""
    found: list[Text] = [()]
    for ways in parts:
        found = [(*left, *right) for left, right in itertools.product(found, ways or ((),))][:MOST_WAYS]
        if any(len(text) > MOST_RUNS or sum(len(run.text or "") for run in text) > LONGEST for text in found):
            return (unknown("a long text"),)
    return tuple(found)


def extended(ways: Iterable[Text]) -> Ways:
    """The ways without those that another one only adds to on conditions, and each once."""
    kept: list[Text] = []
    for text in sorted(dict.fromkeys(ways), key=len, reverse=True):
        if len(kept) >= MOST_WAYS:
            break
        if not any(_adds(longer, text) for longer in kept):
            kept.append(text)
    return tuple(kept)


def _adds(longer: Text, text: Text) -> bool:
    """Whether a text is another one and further parts that are there on conditions."""
    if not text:
        return bool(longer) and all(run.when for run in longer)
    if not set(text) <= set(longer):
        return False
    rest = iter(longer)
    added = list[Run]()
    for run in text:
        for other in rest:
            if other == run:
                break
            added.append(other)
        else:
            return False
    return all(run.when for run in (*added, *rest))
