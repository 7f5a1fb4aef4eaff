"""Compiles rules/facts/toolkit_names.yaml: names and instructions that every target has."""

from __future__ import annotations

import re
from typing import Any

from archscan.catalog.reading import check_keys, mapping, text, texts
from archscan.catalog.types import KnownNames
from archscan.errors import UserError

KEYS = ("instructions", "names", "members", "source", "functions")


def compile_known(raw: Any, where: str) -> KnownNames:
    """The checked form; UserError for a pattern that is none."""
    root = mapping(raw, where)
    check_keys(root, KEYS, where, KEYS)
    patterns = {key: texts(root[key], f"{where}: {key}") for key in ("instructions", "names")}
    for found in patterns.values():
        for pattern in found:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UserError(f'{where}: "{pattern}" is no regular expression', str(error)) from error
    return KnownNames(
        functions=frozenset(text(root["functions"], where).split()),
        name_patterns=patterns["names"],
        members=frozenset(texts(root["members"], f"{where}: members")),
        instruction_patterns=patterns["instructions"],
        source=text(root["source"], where),
    )
