"""A value in words that are the same in every process: `repr` shows sets in any order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from archscan.model.condition import Node, fingerprint
from archscan.model.gate import Place

_PLACES = frozenset({"place", "line", "end_line"})  # fields that say where something stands


def words(value: Any, places: bool = True) -> Iterator[str]:
    """What a value is; without `places` the same wherever it stands in its file."""
    if isinstance(value, str | int | bytes | None):
        yield repr(value)
    elif not places and isinstance(value, Place):
        yield "."
    elif isinstance(value, Node):
        yield fingerprint(value)
    elif isinstance(value, Mapping):
        yield "{"
        for key in sorted(value, key=str):
            yield from words(key, places)
            yield from words(value[key], places)
        yield "}"
    elif isinstance(value, frozenset | set):
        yield "<"
        yield from sorted("\1".join(words(one, places)) for one in value)
        yield ">"
    elif isinstance(value, tuple | list) and all(type(one) is str for one in value):
        yield repr(list(value))
    elif isinstance(value, tuple | list):
        yield "("
        for one in value:
            yield from words(one, places)
        yield ")"
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        yield from words([getattr(value, name) for name in _names(type(value), places)], places)
    else:
        yield repr(value)


@lru_cache(maxsize=256)
def _names(kind: Any, places: bool) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if places or one.name not in _PLACES)
