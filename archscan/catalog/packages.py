"""Reads and checks rules/facts/packages.yaml: what is known of public packages, a list of rows per section."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, sequence
from archscan.errors import UserError

# section -> keys of its rows; every row gives its source, and what it is about in the first key
SECTIONS: dict[str, tuple[str, ...]] = {
    "python_capability_sources": ("name", "gives"),
    "facades": ("name", "compares", "when", "gives"),
    "predicates": ("name", "when", "constant"),
    "wrappers": ("name",),
    "decorators": ("name",),
    "registries": ("name", "form", "encoding", "layer", "message", "minimum", "maximum"),
    "cuda_capability_sources": ("name", "gives"),
    "check_macros": ("name", "condition", "effect"),
    "target_macros": ("name", "form"),
    "vendored_trees": ("name", "directories", "holds", "files"),
    "build_functions": ("name", "form", "architectures", "result"),
    "jit_builders": ("name",),
    "generations": ("name", "first", "last"),
    "kernel_families": ("name", "pattern", "majors"),
    "operations": ("name", "subject"),
    "loaders": ("name", "libraries", "chooses", "variable", "cases"),
    "first_use": ("name", "builds", "variable", "needs", "compilers", "cache", "toolkit", "makes"),
    "releases": ("name", "version", "holds"),
    "sources": ("name", "set", "helps"),
    "variables": ("name", "says", "form"),
}
GIVES = ("pair", "major", "minor", "sm", "arch", "properties", "target", "text")


def compile_packages(raw: Any, where: str) -> dict[str, object]:
    """The checked sections: name -> rows in their order."""
    root = mapping(raw, where)
    check_keys(root, SECTIONS, where)
    return {section: _rows(rows, section, where) for section, rows in root.items()}


def merged(sections: Iterable[dict[str, object]]) -> dict[str, object]:
    """The rows of several files, section by section, in their order: a later row of the same name wins."""
    found: dict[str, object] = {}
    for packages in sections:
        for section, rows in packages.items():
            before = found.get(section, [])
            found[section] = [*sequence(before, section), *sequence(rows, section)]
    return found


def _check_family(row: dict[str, Any], place: str) -> None:
    try:
        re.compile(row.get("pattern") or "")
    except re.error as error:
        raise UserError(f"{place}: pattern: {error}") from error
    majors = row.get("majors")
    if not row.get("pattern") or not isinstance(majors, list) or not all(type(major) is int for major in majors):
        raise UserError(f"{place}: needs a pattern and a list of majors")


def _rows(raw: Any, section: str, where: str) -> list[dict[str, Any]]:
    rows = []
    for entry in sequence(raw, f"{where}: {section}"):
        row = mapping(entry, f"{where}: {section}")
        place = f"{where}: {section}: {row.get(SECTIONS[section][0], '?')}"
        check_keys(row, (*SECTIONS[section], "source"), place, (SECTIONS[section][0], "source"))
        if "gives" in row:
            one_of(row["gives"], GIVES, f"{place}: gives")
        if section == "kernel_families":
            _check_family(row, place)
        if section == "generations" and not all(type(row.get(end)) is int for end in ("first", "last")):
            raise UserError(f"{place}: needs the numbers of its first and last SM")
        rows.append(row)
    return rows
