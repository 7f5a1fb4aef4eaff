"""Directives of a file in order, and how an index keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple


class Directive(NamedTuple):
    """One logical directive line. Offsets are byte offsets: of `#`, and of the end of the logical line."""

    name: str  # if, ifdef, ifndef, elif, else, endif, define, undef, include, ...
    text: str  # what follows the name: comments out, continuations joined
    start: int
    end: int
    line: int
    end_line: int


directive_of: Callable[[tuple[Any, ...]], Directive] = partial(tuple.__new__, Directive)  # no Python code a row


class Events(tuple[Directive, ...]):
    """Directives that are kept: pickled by columns, as an index holds thousands and each would name its class."""

    __slots__ = ()

    def __new__(cls, rows: Iterable[Directive] = (), *columns: Sequence[Any]) -> Events:
        return super().__new__(cls, map(directive_of, zip(*columns, strict=True)) if columns else rows)

    def __getnewargs__(self) -> tuple[object, ...]:
        return ((), *zip(*self, strict=True))
