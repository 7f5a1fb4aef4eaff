"""The `list()` command, from values to the variables it sets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from archscan.frontends.build import patterns
from archscan.frontends.build.values import EMPTY, UNSET, Value, joined

Find = Callable[[str], Value | None]
Assigned = dict[str, Value]
MAX_RANGE = 200


def list_(values: list[Value], find: Find) -> Assigned:
    """What a list() command sets; a list it cannot work out is unknown."""
    words = [value.text or "" for value in values]
    if len(words) < 2:
        return {}
    kind, name = words[0], words[1]
    before = find(name) or EMPTY
    if before.text is None or any(value.text is None for value in values[2:]):
        return _unknown(kind, words, joined([before, *values[2:]]))
    if kind == "GET" and not before.elements:
        return _unknown(kind, words, Value(None, before.origins, ("an entry of an empty list",)))
    if kind in _READING:
        return {
            out: Value(text, before.origins) for out, text in _READING[kind](list(before.elements), words[2:]).items()
        }
    if kind in _POPPING:
        return _popped(kind, words[1:], list(before.elements), before)
    if kind == "APPEND" and before.text:  # empty entries that are there stay
        added = joined(values[2:]).origins
        return {name: Value(";".join((before.text, *words[2:])), before.origins | added)}
    if kind not in _CHANGING:
        return _unknown(kind, words, Value(None, before.origins, (f"list({kind})",)))
    items = _CHANGING[kind](list(before.elements), words[2:])
    if items is None:
        return {name: Value(None, before.origins, (f"list({kind})",))}
    added = joined(values[2:]).origins if kind in ("APPEND", "PREPEND", "INSERT") else frozenset()
    return {name: Value(";".join(items), before.origins | added)}


def _popped(kind: str, names: list[str], items: list[str], before: Value) -> Assigned:
    """list(POP_BACK list [out...]): one item for each `out`, or one that nobody takes."""
    found: Assigned = {}
    if not items:
        return dict.fromkeys(names[1:], UNSET)
    for out in names[1:] or [""]:
        item = items.pop(_POPPING[kind]) if items else None
        if out:
            found[out] = UNSET if item is None else Value(item, before.origins)
    return {**found, names[0]: Value(";".join(items), before.origins)}


def _unknown(kind: str, words: list[str], value: Value) -> Assigned:
    out = words[-1] if kind in _READING and len(words) > 2 else words[1]
    return {out: Value(None, value.origins, value.because)}


def _get(items: list[str], words: list[str]) -> dict[str, str]:
    chosen = [_at(items, word) for word in words[:-1]]
    found = [item for item in chosen if item is not None]
    return {words[-1]: ";".join(found) if found else "NOTFOUND"} if words else {}


def _at(items: list[str], index: str) -> str | None:
    try:
        return items[int(index)]
    except (ValueError, IndexError):
        return None


def _find(items: list[str], words: list[str]) -> dict[str, str]:
    return {words[1]: str(items.index(words[0]) if words[0] in items else -1)} if len(words) == 2 else {}


def _sublist(items: list[str], words: list[str]) -> dict[str, str]:
    if len(words) != 3 or not all(re.fullmatch(r"-?\d+", word) for word in words[:2]):
        return {}
    begin, length = int(words[0]), int(words[1])
    return {words[2]: ";".join(items[begin:] if length < 0 else items[begin : begin + length])}


_READING: dict[str, Callable[[list[str], list[str]], dict[str, str]]] = {
    "LENGTH": lambda items, words: {words[0]: str(len(items))} if words else {},
    "GET": _get,
    "FIND": _find,
    "JOIN": lambda items, words: {words[1]: words[0].join(items)} if len(words) == 2 else {},
    "SUBLIST": _sublist,
}


def _sorted(items: list[str], words: list[str]) -> list[str] | None:
    options = dict(zip(words[::2], words[1::2], strict=False))
    natural = options.get("COMPARE") == "NATURAL"
    key = _natural if natural else (lambda text: [text])
    return sorted(items, key=key, reverse=options.get("ORDER") == "DESCENDING")


def _natural(text: str) -> list[object]:
    return [(ord("0"), int(p)) if p.isdigit() else (ord(p), 0) for p in re.findall(r"\d+|.", text, re.DOTALL)]


def _filtered(items: list[str], words: list[str]) -> list[str] | None:
    if len(words) != 3 or words[1] != "REGEX":
        return None
    found = [patterns.matched(words[2], item) for item in items]
    if any(groups is None for groups in found):
        return None
    return [item for item, groups in zip(items, found, strict=True) if bool(groups) == (words[0] == "INCLUDE")]


def _transformed(items: list[str], words: list[str]) -> list[str] | None:
    match words:
        case ["APPEND", text]:
            return [item + text for item in items]
        case ["PREPEND", text]:
            return [text + item for item in items]
        case ["TOLOWER"]:
            return [item.lower() for item in items]
        case ["TOUPPER"]:
            return [item.upper() for item in items]
        case ["STRIP"]:
            return [item.strip() for item in items]
        case ["REPLACE", pattern, replacement]:
            made = [patterns.replaced(pattern, replacement, item) for item in items]
            return None if any(text is None for text in made) else [text or "" for text in made]
    return None


def _removed_at(items: list[str], words: list[str]) -> list[str] | None:
    gone = {int(word) % len(items) for word in words if re.fullmatch(r"-?\d+", word) and items}
    return [item for i, item in enumerate(items) if i not in gone]


def _inserted(items: list[str], words: list[str]) -> list[str] | None:
    if not words or not re.fullmatch(r"-?\d+", words[0]):
        return None
    return [*items[: int(words[0])], *words[1:], *items[int(words[0]) :]]


_CHANGING: dict[str, Callable[[list[str], list[str]], list[str] | None]] = {
    "APPEND": lambda items, words: [*items, *(w for word in words for w in word.split(";") if w)],
    "PREPEND": lambda items, words: [*(w for word in words for w in word.split(";") if w), *items],
    "INSERT": _inserted,
    "REMOVE_ITEM": lambda items, words: [item for item in items if item not in words],
    "REMOVE_AT": _removed_at,
    "REMOVE_DUPLICATES": lambda items, words: list(dict.fromkeys(items)),
    "REVERSE": lambda items, words: items[::-1],
    "SORT": _sorted,
    "FILTER": _filtered,
    "TRANSFORM": _transformed,
}
_POPPING = {"POP_BACK": -1, "POP_FRONT": 0}


def numbers(values: list[Value]) -> Iterator[Value]:
    """The values of foreach(x RANGE ...); none where the bounds are no numbers."""
    try:
        bounds = [int(value.text or "") for value in values]
    except ValueError:
        return
    if len(bounds) == 1:
        bounds = [0, *bounds]
    step = bounds[2] if len(bounds) > 2 and bounds[2] else 1
    for number in range(bounds[0], bounds[1] + 1, step)[:MAX_RANGE] if len(bounds) > 1 else ():
        yield Value(str(number))
