"""Joins what several front ends say of one file into one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from archscan.model.facts import FileFacts
from archscan.model.gate import Gate


def merged(files: Iterable[FileFacts]) -> tuple[FileFacts, ...]:
    """One FileFacts a path, in path order; gates in the order of their lines, each with the file that it stands in."""
    by_path: dict[str, FileFacts] = {}
    for facts in files:
        known = by_path.get(facts.path)
        by_path[facts.path] = facts if known is None else _joined(known, facts)
    for path, facts in list(by_path.items()):
        strays = [gate for gate in facts.gates if gate.path != path and gate.path in by_path]
        if strays:
            by_path[path] = replace(facts, gates=tuple(gate for gate in facts.gates if gate not in strays))
            for gate in strays:
                by_path[gate.path] = _with(by_path[gate.path], gate)
    return tuple(by_path[path] for path in sorted(by_path))


def _with(facts: FileFacts, gate: Gate) -> FileFacts:
    """The facts with a gate that another file's code found in this one: the same place twice is one gate."""
    known = next((g for g in facts.gates if (g.place, g.kind) == (gate.place, gate.kind)), None)
    if known is None:
        return replace(facts, gates=tuple(sorted((*facts.gates, gate), key=lambda g: g.place.start)))
    related = tuple(dict.fromkeys((*known.related, *gate.related)))[:12]
    return replace(facts, gates=tuple(replace(g, related=related) if g is known else g for g in facts.gates))


def _joined(one: FileFacts, other: FileFacts) -> FileFacts:
    gates = (*one.gates, *other.gates)
    return replace(
        one,
        gates=tuple(sorted(gates, key=lambda g: g.place.start)) if one.gates and other.gates else gates,
        sites=one.sites + other.sites,
        links=tuple(dict.fromkeys(one.links + other.links)),
        uses=one.uses + other.uses,
        undecided=tuple(dict.fromkeys(one.undecided + other.undecided)),
        suppressions=tuple(dict.fromkeys(one.suppressions + other.suppressions)),
        problems=tuple(dict.fromkeys(one.problems + other.problems)),
        left=one.left or other.left,
        lost=one.lost or other.lost,
    )
