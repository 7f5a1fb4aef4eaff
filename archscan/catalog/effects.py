"""Reads and checks rules/facts/effects.yaml: what names and returned values say of a block of code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from archscan.analysis.effects import Vocabulary
from archscan.bounded import small_file
from archscan.catalog.reading import check_keys, mapping, parse, rules_directory, text, texts
from archscan.documents import MAX_YAML
from archscan.errors import UserError

SECTIONS = (
    "prints", "complaining", "logs", "loggers", "levels", "logging", "fatal", "checking", "conditional", "asserts",
    "stops", "undefined", "never", "throwing", "failing", "trapping", "traps", "raises", "exits", "fine", "skips",
    "inquiring", "adding", "complaints", "empty", "absent", "hollow", "errors", "denials", "asking", "shared",
)  # fmt: skip


def compile_effects(raw: Any, where: str) -> Vocabulary:
    """The checked sections."""
    root = mapping(raw, where)
    check_keys(root, SECTIONS, where, SECTIONS)
    return Vocabulary({section: _words(root[section], f"{where}: {section}") for section in SECTIONS})


def _words(raw: Any, where: str) -> frozenset[str]:
    row = mapping(raw, where)
    check_keys(row, ("words", "source"), where, ("words", "source"))
    text(row["source"], f"{where}: source")
    found = texts(row["words"], f"{where}: words")
    if len(set(found)) < len(found):
        raise UserError(f"{where}: a word stands there twice")
    return frozenset(found)


@lru_cache(maxsize=1)
def effects() -> Vocabulary:
    """The vocabulary that comes with archscan, read once per process."""
    path = rules_directory() / "facts" / "effects.yaml"
    return compile_effects(parse(small_file(path, MAX_YAML), path.name, trusted=True), path.name)
