"""Compiles rules/facts/messages.yaml: the error messages people paste, what they mean and which layer raises them."""

from __future__ import annotations

import re
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, sequence, text, texts
from archscan.errors import UserError
from archscan.model.gate import Layer

KEYS = ("id", "title", "pattern", "meaning", "layers", "advice", "source", "example", "topic", "error")
REQUIRED = ("id", "title", "pattern", "meaning", "layers", "advice", "source", "example")
ERRORS = (209, 218, 222, 500)  # no image, invalid PTX, PTX too new for the driver, no symbol
LAYERS = (*(layer.value for layer in Layer), "driver", "toolkit")


def compile_messages(raw: Any, where: str) -> tuple[dict[str, object], ...]:
    """The checked rows in their order. Patterns stay text: compiling all of them costs more than a small scan."""
    root = mapping(raw, where)
    check_keys(root, ("messages",), where)
    return tuple(_row(mapping(entry, where), where) for entry in sequence(root.get("messages"), where))


def _row(entry: dict[str, Any], where: str) -> dict[str, object]:
    place = f"{where}: {entry.get('id', '?')}"
    check_keys(entry, KEYS, place, REQUIRED)
    layers = tuple(one_of(layer, LAYERS, f"{place}: layers") for layer in texts(entry["layers"], place))
    texts_of = {
        key: text(entry[key], place) for key in ("id", "title", "pattern", "meaning", "advice", "source", "example")
    }
    error = entry.get("error", 0)
    if error not in (0, *ERRORS):
        raise UserError(f"{place}: error must be one of {', '.join(map(str, ERRORS))}, found {error}")
    return {**texts_of, "layers": layers, "topic": text(entry.get("topic", ""), place), "error": error}


def matching(messages: tuple[dict[str, object], ...], pasted: str) -> dict[str, object] | None:
    """The first row whose pattern occurs in a pasted text, or None."""
    return next((row for row in messages if re.search(str(row["pattern"]), pasted, re.IGNORECASE)), None)


def check_patterns(messages: tuple[dict[str, object], ...], where: str) -> None:
    """Nothing if every pattern compiles; UserError with the row otherwise. For files of the user, and in tests."""
    for row in messages:
        try:
            re.compile(str(row["pattern"]))
        except re.error as error:
            raise UserError(f"{where}: {row['id']}: not a regular expression: {row['pattern']}", str(error)) from error
