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
    if kind == "TRANSFORM" and "OUTPUT_VARIABLE" in words[2:-1]:
        at = words.index("OUTPUT_VARIABLE")
        items = _transformed(list(before.elements), words[2:at])
        made = None if items is None else ";".join(items)
        return {words[at + 1]: Value(made, before.origins, () if items is not None else (f"list({kind})",))}
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
    """list(TRANSFORM): an action, then which entries it is for; None where that is not known or cmake refuses it."""
    size = {"APPEND": 2, "PREPEND": 2, "REPLACE": 3}.get(words[0], 1) if words else 0
    action, selector = words[:size], words[size:]
    chosen = _selected(items, selector)
    if chosen is None:
        return None
    change: Callable[[str], str | None]
    match action:
        case ["APPEND", text]:
            change = lambda item: item + text  # noqa: E731 - a row each
        case ["PREPEND", text]:
            change = lambda item: text + item  # noqa: E731
        case ["TOLOWER"]:
            change = str.lower
        case ["TOUPPER"]:
            change = str.upper
        case ["STRIP"]:
            change = str.strip
        case ["REPLACE", pattern, replacement]:
            change = lambda item: patterns.replaced(pattern, replacement, item)  # noqa: E731
        case _:
            return None
    made = [change(item) if i in chosen else item for i, item in enumerate(items)]
    return None if any(text is None for text in made) else [text or "" for text in made]


def _selected(items: list[str], words: list[str]) -> set[int] | None:
    """The entries that a selector of list(TRANSFORM) names, all without one; None where it names none that is there."""
    match words:
        case []:
            return set(range(len(items)))
        case ["REGEX", pattern]:
            found = [patterns.matched(pattern, item) for item in items]
            return None if None in found else {i for i, groups in enumerate(found) if groups}
        case ["AT" | "FOR" as kind, *rest] if rest and all(re.fullmatch(r"-?\d+", word) for word in rest):
            indexes = [int(word) + len(items) * word.startswith("-") for word in rest]
            if kind == "FOR":
                if not 2 <= len(indexes) <= 3 or indexes[0] > indexes[1] or (indexes[2:] and indexes[2] < 1):
                    return None
                indexes = [*range(indexes[0], indexes[1] + 1, *indexes[2:])] or indexes
            return set(indexes) if all(0 <= i < len(items) for i in indexes) else None
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
