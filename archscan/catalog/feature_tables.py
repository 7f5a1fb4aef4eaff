"""What the features of a catalog are recognised by, each table made when it is first asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TypeVar

from archscan.catalog.features import pattern_heads
from archscan.catalog.types import Feature

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_Key = TypeVar("_Key", bytes, str)


class FeatureTables:
    """Names, opcodes and words, and the features that each of them means."""

    def __init__(self, features: tuple[Feature, ...]) -> None:
        self._features = features

    @cached_property
    def by_id(self) -> dict[str, Feature]:
        return {f.id: f for f in self._features}

    @cached_property
    def exact(self) -> dict[bytes, tuple[str, ...]]:
        return _inverted((name.encode(), f.id) for f in self._features for name in f.identifiers)

    @cached_property
    def by_opcode(self) -> dict[bytes, tuple[str, ...]]:
        return _inverted((head, f.id) for f in self._features for head in _heads(f.mnemonics))

    @cached_property
    def by_word(self) -> dict[str, tuple[str, ...]]:
        return _inverted((plain(word), f.id) for f in self._features for word in f.words)

    @cached_property
    def any_pattern(self) -> re.Pattern[bytes]:
        """All patterns of identifiers in one: most identifiers match none of them."""
        patterns = [f"(?:{pattern})" for f in self._features for pattern in f.identifier_patterns]
        return re.compile("|".join(patterns or ["(?!)"]).encode())

    @cached_property
    def with_code_patterns(self) -> tuple[tuple[frozenset[bytes], Feature], ...]:
        return tuple((frozenset(_heads(f.code_patterns)), f) for f in self._features if f.code_patterns)

    @cached_property
    def words(self) -> re.Pattern[str]:
        words = "|".join(re.escape(word) for word in sorted(self.by_word, key=len, reverse=True))
        return re.compile(rf"(?<![a-z])(?:{words or '(?!)'})(?![a-z])")


def plain(text: str) -> str:
    """A text as words are looked up: humps and underscores are blanks, lower case."""
    return _HUMP.sub(" ", text).replace("_", " ").lower()


def _heads(patterns: Iterable[str]) -> tuple[bytes, ...]:
    """The words that a match of the patterns can begin with; features.py has checked that every pattern names them."""
    return tuple(head.encode() for pattern in patterns for head in pattern_heads(pattern) or ())


def _inverted(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, tuple[str, ...]]:
    found: dict[_Key, tuple[str, ...]] = {}
    for pair in pairs:
        before: tuple[str, ...] = found.get(pair[0], ())
        if pair[1] not in before:
            found[pair[0]] = (*before, pair[1])
    return found
