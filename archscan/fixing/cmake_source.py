"""Proposals for CMake architecture lists: one more entry, in the spelling and with the separator of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscan.fixing.admission import Admission, Reach
from archscan.fixing.proposal import Proposal, replaced
from archscan.model.gate import Arm

_ENTRY = re.compile(rb"(?<![\w.])(sm_|compute_)?(\d{1,2}\.\d|\d{2,3})([af]?)(\+PTX|-real|-virtual)?(?![\w.])")


def cmake_open(path: str, data: bytes, arm: Arm, admission: Admission) -> Iterator[Proposal]:
    """Ways to put the admission's targets into the list that the arm's place holds, or its line."""
    if admission.reach is Reach.WIDEN:
        return
    line_end = data.find(b"\n", arm.place.end)
    for start, end in ((arm.place.start, arm.place.end), (arm.place.start, line_end if line_end >= 0 else len(data))):
        entries = list(_ENTRY.finditer(data, start, end))
        if not entries:
            continue
        last = entries[-1]
        separator = _separator(data, entries)
        for suffix in dict.fromkeys((last.group(3).decode(), "a", "f", "")):
            text = "".join(separator + _spelt(last, sm, suffix) for sm in admission.sms)
            yield replaced(path, last.end(), last.end(), text, "add it to the list")


def _separator(data: bytes, entries: list[re.Match[bytes]]) -> str:
    """What stands between the last two entries; a semicolon where there is one entry in quotes, else a blank."""
    if len(entries) > 1:
        between = data[entries[-2].end() : entries[-1].start()]
        if not between.strip(b'; \t\r\n"') and len(between) < 80:
            return between.decode("utf-8", "replace")
    return ";" if data[entries[-1].end() : entries[-1].end() + 1] == b'"' else " "


def _spelt(sample: re.Match[bytes], sm: int, suffix: str) -> str:
    prefix, number, tail = (sample.group(i) or b"" for i in (1, 2, 4))
    digits = f"{sm // 10}.{sm % 10}" if b"." in number else str(sm)
    return f"{prefix.decode()}{digits}{suffix}{tail.decode()}"
