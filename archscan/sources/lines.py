"""Finds what stands within a line by a word that it holds: a plain search is many times as fast as a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator


def matches(pattern: re.Pattern[bytes], data: bytes, *words: bytes) -> Iterator[re.Match[bytes]]:
    """What the pattern finds on the lines that hold one of the words, line by line; those of one word after another."""
    for word in words:
        at = data.find(word)
        while at >= 0:
            start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            end = len(data) if end < 0 else end
            yield from pattern.finditer(data, start, end)
            at = data.find(word, end)
