"""Scores the Python front end on labelled lines: what stands there, and for which GPUs it is true."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from archscan.model.facts import FileFacts
from archscan.model.gate import Arm, Gate, Kind
from archscan.model.target import Universe

LABELS = Path(__file__).parent / "data" / "python_sites.jsonl"
SMS = (80, 90, 100, 103, 120, 121)


@dataclass(frozen=True)
class Site:
    """A labelled line."""

    package: str
    path: str
    line: int
    label: str  # gate | definition | unknown | silent
    on: frozenset[int] = frozenset()
    open: frozenset[int] = frozenset()


def sites() -> list[Site]:
    rows = [json.loads(line) for line in LABELS.read_text().splitlines()]
    return [
        Site(r["package"], r["path"], r["line"], r["label"], frozenset(r.get("on", ())), frozenset(r.get("open", ())))
        for r in rows
    ]


def answers(universe: Universe, arm: Arm, sm: int) -> str:
    """The arm's own answer for a GPU, unknown other conditions taken as met."""
    bits = [universe.bit(t) for t in universe.variants(sm)]
    if all(arm.own.word(bit) == "unknown" and arm.assumed.word(bit) == "no" for bit in bits):
        return "no"
    words = {arm.own.word(bit) for bit in bits} | {arm.assumed.word(bit) for bit in bits} - {"no"}
    return "yes" if "yes" in words else "no" if "no" in words else "unknown"


def arms_at(facts: FileFacts | None, line: int) -> list[tuple[Gate, Arm]]:
    """The arms whose condition, list or row covers the line, or whose definition or reader it is; the closest first."""
    found = []
    for gate in facts.gates if facts is not None else ():
        for arm in gate.arms:
            spot = arm.focus or arm.place
            first, last = min(spot.line, arm.place.line), max(spot.end_line, arm.place.end_line)
            beside = any(r.line == line and r.path == gate.path for r in gate.related)
            if (first <= line <= last or beside) and not arm.is_else:
                found.append((last - first + 1000 * beside, gate, arm))
    return [(gate, arm) for _, gate, arm in sorted(found, key=lambda f: f[0])]


def verdict(universe: Universe, facts: FileFacts | None, site: Site) -> str:
    """right, wrong, or unknown (an answer withheld where there is one)."""
    found = arms_at(facts, site.line)
    said = [{sm: answers(universe, arm, sm) for sm in SMS} for _, arm in found]
    for table in {id(g): g for g, _ in found if g.kind is Kind.TABLE}.values():  # a reader asks for any row
        rows = [{sm: answers(universe, arm, sm) for sm in SMS} for arm in table.arms]
        said.append({sm: "yes" if any(r[sm] == "yes" for r in rows) else "no" for sm in SMS})
    definite = [s for s in said if "unknown" not in s.values()]
    matches = any(all((s[sm] == "yes") == (sm in site.on) for sm in SMS if sm not in site.open) for s in definite)
    if site.label == "silent":
        return "right" if not any(_covers(arm, site.line) for _, arm in found) else "wrong"
    if site.label == "unknown":
        return "right" if not definite else "wrong"
    if site.label == "definition":
        return "right" if not found or matches else "wrong"
    return "right" if matches else "wrong" if definite else "unknown"


def _covers(arm: Arm, line: int) -> bool:
    return arm.place.line <= line <= arm.place.end_line


def paths(package: str, all_sites: Iterable[Site]) -> set[str]:
    return {site.path for site in all_sites if site.package == package}
