"""Compiles rules/facts/messages.yaml: the error messages people paste, what they mean and which layer raises them."""

from __future__ import annotations

import re
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, sequence, text, texts
from archscan.errors import UserError
from archscan.model.gate import Layer

KEYS = ("id", "title", "pattern", "meaning", "layers", "advice", "source", "example", "topic")
REQUIRED = ("id", "title", "pattern", "meaning", "layers", "advice", "source", "example")
LAYERS = (*(layer.value for layer in Layer), "driver", "toolkit")


def compile_messages(raw: Any, where: str) -> tuple[dict[str, object], ...]:
    """The checked rows in their order; `pattern` is compiled, and every row's `example` matches it first."""
    root = mapping(raw, where)
    check_keys(root, ("messages",), where)
    return tuple(_row(mapping(entry, where), where) for entry in sequence(root.get("messages"), where))


def _row(entry: dict[str, Any], where: str) -> dict[str, object]:
    place = f"{where}: {entry.get('id', '?')}"
    check_keys(entry, KEYS, place, REQUIRED)
    try:
        pattern = re.compile(text(entry["pattern"], place), re.IGNORECASE)
    except re.error as error:
        raise UserError(f"{place}: not a regular expression: {entry['pattern']}", str(error)) from error
    layers = tuple(one_of(layer, LAYERS, f"{place}: layers") for layer in texts(entry["layers"], place))
    texts_of = {key: text(entry[key], place) for key in ("id", "title", "meaning", "advice", "source", "example")}
    return {**texts_of, "pattern": pattern, "layers": layers, "topic": text(entry.get("topic", ""), place)}


def matching(messages: tuple[dict[str, object], ...], pasted: str) -> dict[str, object] | None:
    """The first row whose pattern occurs in a pasted text, or None."""
    for row in messages:
        pattern = row["pattern"]
        if isinstance(pattern, re.Pattern) and pattern.search(pasted):
            return row
    return None
