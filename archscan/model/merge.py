"""Joins what several front ends say of one file into one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from archscan.model.facts import FileFacts


def merged(files: Iterable[FileFacts]) -> tuple[FileFacts, ...]:
    """One FileFacts a path, in path order; gates in the order of their lines."""
    by_path: dict[str, FileFacts] = {}
    for facts in files:
        known = by_path.get(facts.path)
        by_path[facts.path] = facts if known is None else _joined(known, facts)
    return tuple(by_path[path] for path in sorted(by_path))


def _joined(one: FileFacts, other: FileFacts) -> FileFacts:
    gates = (*one.gates, *other.gates)
    return replace(
        one,
        gates=tuple(sorted(gates, key=lambda g: g.place.start)) if one.gates and other.gates else gates,
        sites=one.sites + other.sites,
        links=tuple(dict.fromkeys(one.links + other.links)),
        undecided=tuple(dict.fromkeys(one.undecided + other.undecided)),
        suppressions=tuple(dict.fromkeys(one.suppressions + other.suppressions)),
        problems=tuple(dict.fromkeys(one.problems + other.problems)),
    )
