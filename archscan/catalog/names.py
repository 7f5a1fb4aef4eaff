"""Reads and checks rules/facts/names.yaml: what names in code mean, by their words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from archscan.bounded import small_file
from archscan.catalog.reading import check_keys, mapping, parse, rules_directory, text, texts
from archscan.documents import MAX_YAML
from archscan.errors import UserError

SECTIONS = (
    "capability", "phrases", "parts", "beside", "numbered", "getters", "software", "versioned", "about", "attributes",
    "chips", "asks", "places", "answers", "comparisons",
    "holders", "owners", "halves", "unlike", "requires", "memory", "searched",
    "lists", "single", "makers", "environment", "settings", "compilers",
)  # fmt: skip
_PAIRS = ("phrases", "comparisons")

Words = Mapping[str, tuple[str, ...]]


def compile_names(raw: Any, where: str) -> Words:
    """The checked sections: name -> words in their order."""
    root = mapping(raw, where)
    check_keys(root, SECTIONS, where, SECTIONS)
    return MappingProxyType({section: _words(root[section], section, f"{where}: {section}") for section in SECTIONS})


def _words(raw: Any, section: str, where: str) -> tuple[str, ...]:
    row = mapping(raw, where)
    check_keys(row, ("words", "source"), where, ("words", "source"))
    text(row["source"], f"{where}: source")
    found = texts(row["words"], f"{where}: words")
    for word in found:
        if word != word.lower() or len(word.split()) != (2 if section in _PAIRS else 1):
            raise UserError(f'{where}: "{word}": expected a word in lower case, or two in {" and ".join(_PAIRS)}')
    if len(set(found)) < len(found):
        raise UserError(f"{where}: a word stands there twice")
    return found


@lru_cache(maxsize=1)
def names() -> Words:
    """The names that come with archscan, read once per process."""
    path = rules_directory() / "facts" / "names.yaml"
    return compile_names(parse(small_file(path, MAX_YAML), path.name, trusted=True), path.name)


@cache
def one_of(*sections: str) -> str:
    """The part of a pattern that stands for a word of some sections, longer ones first."""
    words = {re.escape(word) for section in sections for word in names()[section]}
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


@cache
def shortest(*sections: str) -> frozenset[str]:
    """Words of some sections of which every other word in them has one in it."""
    words = {word for section in sections for word in names()[section]}
    return frozenset(word for word in words if not any(other in word for other in words - {word}))
