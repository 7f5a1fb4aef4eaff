"""What expressions of build scripts in Python and Starlark stand for: texts that remember where they were written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from archscan.frontends.build.traced import Run, Text, known, under, unknown, written

if TYPE_CHECKING:
    import ast


MOST_WAYS = 8  # values that one thing may have
MOST_NAMES = 16
MOST_ITEMS = 500
LONGEST = 20_000  # characters of one text
MOST_RUNS = 400


@dataclass(frozen=True, slots=True)
class Str:
    """A text; unknown where it is longer than any that is written by hand."""

    runs: Text

    def __post_init__(self) -> None:
        if len(self.runs) > MOST_RUNS or sum(len(run.text or "") for run in self.runs) > LONGEST:
            object.__setattr__(self, "runs", unknown("a long text"))

    @property
    def known(self) -> str | None:
        return known(self.runs)


@dataclass(slots=True, eq=False)
class Items:
    """A list, tuple or set; each item with the conditions under which it is there."""

    items: list[tuple[Any, tuple[str, ...]]]
    kind: str = "list"
    is_open: tuple[str, ...] = ()  # names that may add items nobody knows

    def values(self) -> list[Any]:
        """The items without their conditions."""
        return [value for value, _ in self.items]

    def add(self, items: Iterable[tuple[Any, tuple[str, ...]]], is_open: tuple[str, ...] = ()) -> None:
        """Appends items; a list that grows beyond all bounds is open from there on."""
        self.items += items
        if len(self.items) > MOST_ITEMS:
            del self.items[MOST_ITEMS:]
            is_open = (*is_open, "a long list")
        if is_open:
            self.is_open = together(self.is_open, is_open)


@dataclass(slots=True, eq=False)
class Table:
    """A dictionary with the keys that are known."""

    items: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known, because of these names: each once, and not more than a reader wants."""

    because: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.because) > 1:
            object.__setattr__(self, "because", together(self.because))


@dataclass(frozen=True, slots=True)
class Either:
    """One of several values, none of them an Either; made by `either`."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """A version, as numbers."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A name from outside of the file: os.environ, torch.cuda.get_device_capability."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the file."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    frame: dict[str, Any]


Value = object  # one of the above, or a number, a truth or None as Python has them: to be asked before it is used


def text_of(value: Value) -> Text:
    """What a value is inside of a text."""
    if isinstance(value, Str):
        return value.runs
    if isinstance(value, bool | int | float) or value is None:
        return written(str(value))
    if isinstance(value, Release):
        return written(".".join(map(str, value.numbers)))
    if isinstance(value, Either):
        return unknown(*(names_in(value) or ("?",)))
    return unknown(*(value.because if isinstance(value, Unknown) else ("?",)))


def key_of(value: Value) -> Any:
    """A value as a key or for comparison: known texts, numbers and tuples of them; raises TypeError for others."""
    if isinstance(value, Str) and value.known is not None:
        return value.known
    if isinstance(value, Release):
        return value.numbers
    if isinstance(value, Items) and not value.is_open and not any(when for _, when in value.items):
        return tuple(key_of(item) for item in value.values())
    if isinstance(value, bool | int | float) or value is None:
        return value
    raise TypeError("not known")


def together(*names: tuple[str, ...]) -> tuple[str, ...]:
    """Names that make something unknown, each once, the first few."""
    return tuple(dict.fromkeys(name for some in names for name in some))[:MOST_NAMES]


def either(values: Iterable[Value]) -> Value:
    """One of these values: itself where there is only one; what goes beyond `MOST_WAYS` is something unknown."""
    unique: list[Value] = []
    for value in (x for some in values for x in (some.values if isinstance(some, Either) else (some,))):
        if not any(value is other or _same(value, other) for other in unique):
            unique.append(value)
        if len(unique) > MOST_WAYS:
            return Either((*unique[: MOST_WAYS - 1], Unknown(("many ways",))))
    return unique[0] if len(unique) == 1 else Either(tuple(unique))


def _same(one: Value, other: Value) -> bool:
    return isinstance(one, Str | bool | int | float | Unknown) and type(one) is type(other) and one == other


def names_in(value: Value) -> tuple[str, ...]:
    """The names that make a value unknown."""
    if isinstance(value, Unknown):
        return value.because
    if isinstance(value, Opaque):
        return (value.name,)
    if isinstance(value, Str):
        return tuple(dict.fromkeys(name for run in value.runs for name in run.because))
    if isinstance(value, Either):
        return together(*(names_in(one) for one in value.values))
    return ()


def strings(value: Value, depth: int = 0) -> Iterator[Text]:
    """The texts that a value holds, those of one list as one, with the conditions of its items."""
    if depth > 6:
        return
    if isinstance(value, Str):
        yield value.runs
    elif isinstance(value, Items):
        yield from _of_items(value, depth)
    elif isinstance(value, Table):
        for item in value.items.values():
            yield from strings(item, depth + 1)
    elif isinstance(value, Either):
        for item in value.values:
            yield from strings(item, depth + 1)


def _of_items(items: Items, depth: int) -> Iterator[Text]:
    parts: list[Run] = []
    for item, when in items.items:
        texts = list(strings(item, depth + 1))
        if isinstance(item, Str | Items):
            parts += (run for text in texts for run in (*under(text, when), Run(" ")))
        else:
            yield from texts
    if parts:
        yield tuple(parts)


def version_in(text: str) -> Release | None:
    """The version that a text begins with."""
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", text)
    return Release(tuple(int(part) for part in match[1].split("."))) if match else None
