"""Reads batch files of Windows for what they tell nvcc; `%NAME%` stays unknown."""

from __future__ import annotations

import re

from archscan.frontends.build.archlists import ArchList
from archscan.frontends.build.reading import Given, Reading, finished, of_command
from archscan.frontends.build.traced import Run, Text, unknown, written

_LINE = re.compile(r"(?:[^^\r\n]|\^\r?\n|\^.)+")
_QUIET = re.compile(r"[ \t]*@?(?:rem\b|::|echo\b)", re.IGNORECASE)
_UNKNOWN = re.compile(r"%(?P<name>[A-Za-z_]\w*)(?::[^%\r\n]*)?%|%~?\d|\^\r?\n")


def read_batch(data: bytes, given: Given) -> Reading:
    """The lists in the commands of a batch file; what it only prints is no command."""
    lists: list[ArchList] = []
    told: list[tuple[int, int]] = []
    for line in _LINE.finditer(data.decode("latin-1")):
        if _QUIET.match(line[0]):
            told.append(line.span())
        else:
            lists += of_command(_text(line[0], line.start()), given)
    return Reading(finished(lists), told=tuple(told))


def _text(line: str, at: int) -> Text:
    """A logical line, with what is not known in it."""
    runs: list[Run] = []
    position = 0
    for match in _UNKNOWN.finditer(line):
        runs += written(line[position : match.start()], at + position)
        runs += written(" ") if match[0].startswith("^") else unknown(match["name"] or match[0])
        position = match.end()
    return (*runs, *written(line[position:], at + position))
