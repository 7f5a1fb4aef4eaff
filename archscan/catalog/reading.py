"""Finds the rules directory, reads YAML, and refuses what nobody would have meant, naming the nearest known word."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from archscan import documents
from archscan.errors import UserError

PACKAGE = Path(__file__).resolve().parent.parent


def rules_directory() -> Path:
    """The directory of rules: inside the package in a wheel, beside it in a checkout."""
    for candidate in (PACKAGE / "rules", PACKAGE.parent / "rules"):
        if (candidate / "facts").is_dir():
            return candidate
    raise UserError(
        "the rules that come with archscan are missing", "reinstall it: pip install --force-reinstall archscan"
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean "x"?`, or the known words if they are few, or an empty text."""
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{close[0]}"?'
    return f"known: {', '.join(words)}" if words and len(words) <= 20 else ""


def parse(data: bytes, name: str, trusted: bool = False) -> Any:
    """The content of a YAML file, ours if it is `trusted`; UserError where it is not YAML."""
    try:
        return documents.yaml(data, trusted)
    except ValueError as error:
        raise UserError(f"{name}: not valid YAML", str(error)) from error


def mapping(value: Any, where: str) -> dict[str, Any]:
    """`value` as a mapping with string keys; UserError otherwise. None counts as empty."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise UserError(f"{where}: expected names with values, found {type(value).__name__}")
    return value


def sequence(value: Any, where: str) -> list[Any]:
    """`value` as a list; UserError otherwise. None counts as empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise UserError(f"{where}: expected a list, found {type(value).__name__}")
    return value


def text(value: Any, where: str) -> str:
    """`value` as a text; UserError otherwise."""
    if not isinstance(value, str):
        raise UserError(f"{where}: expected text, found {type(value).__name__}")
    return value


def texts(value: Any, where: str) -> tuple[str, ...]:
    """`value` as texts: a list of them, or one alone."""
    if isinstance(value, str):
        return (value,)
    return tuple(text(item, where) for item in sequence(value, where))


def check_keys(raw: Mapping[str, Any], known: Collection[str], where: str, required: Collection[str] = ()) -> None:
    """Nothing if every key is known and none is missing; else UserError with the nearest known key."""
    for key in raw:
        if key not in known:
            raise UserError(f'{where}: unknown key "{key}"', nearest(key, known))
    for key in required:
        if key not in raw:
            raise UserError(f'{where}: "{key}" is missing')


def one_of(value: Any, known: Collection[str], where: str) -> str:
    """`value` if it is one of the known words; else UserError with the nearest."""
    if not isinstance(value, str) or value not in known:
        raise UserError(f'{where}: unknown value "{value}"', nearest(str(value), known))
    return value
