"""Patterns looked for on the lines that hold a word find what they find in the whole text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from archscan.sources.lines import matches

PATTERN = re.compile(rb"(?<![\w.])ab\s?c|ab(\d)$|^ab", re.MULTILINE)
TEXT = st.text("ab c1.\n", max_size=60).map(str.encode)


@given(TEXT)
def test_what_stays_within_a_line_is_found(data: bytes) -> None:
    whole = [m.span() for line in re.finditer(rb"[^\n]+", data) for m in PATTERN.finditer(data, *line.span())]
    assert [m.span() for m in matches(PATTERN, data, b"ab")] == whole


@given(TEXT)
def test_each_line_is_searched_once_for_a_word(data: bytes) -> None:
    found = [m.start() for m in matches(re.compile(rb"."), data, b"ab")]
    lines = [line.span() for line in re.finditer(rb"[^\n]+", data) if b"ab" in line[0]]
    assert found == [at for start, end in lines for at in range(start, end)]
