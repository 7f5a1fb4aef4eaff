"""Compiles rules/facts/evidence.yaml, and evidence files of the user: what happened when gates were opened or left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from archscan.catalog.reading import check_keys, mapping, nearest, one_of, sequence, text, texts
from archscan.catalog.types import Architecture, EvidenceRow, Feature
from archscan.errors import UserError
from archscan.model.finding import Evidence, Problem

KEYS = (
    *("id", "features", "names", "sms", "problems", "weighs", "fact", "source", "confidence"),
    *("conditions", "contradicts"),
)
REQUIRED = ("id", "features", "weighs", "fact", "source")
WEIGHTS = ("harm", "help", "neutral", "contested")
CONFIDENCES = ("high", "medium", "low", "contested")
# What a row can speak of besides features: kinds of code and resources, as the judge finds them
SUBJECTS = ("collective", "shared-memory", "launch-bounds", "images", "suffix", "tuning", "library", "portable")


def compile_evidence(
    raw: Any, features: dict[str, Feature], architectures: dict[int, Architecture], where: str, by_user: bool = False
) -> tuple[EvidenceRow, ...]:
    """The checked and compiled rows of an evidence file, in its order."""
    root = mapping(raw, where)
    check_keys(root, ("evidence",), where)
    subjects = {*features, *(f.group for f in features.values()), *SUBJECTS}
    rows: dict[str, EvidenceRow] = {}
    for entry in sequence(root.get("evidence"), where):
        row = _row(mapping(entry, where), subjects, architectures, where, by_user)
        if row.id in rows:
            raise UserError(f'{where}: the id "{row.id}" is given twice')
        rows[row.id] = row
    _check_pairs(rows, where)
    return tuple(rows.values())


def overlaid(rows: Iterable[EvidenceRow], own: Iterable[EvidenceRow]) -> tuple[EvidenceRow, ...]:
    """The rows with those of the user in place of the ones that have the same id, new ones at the end."""
    merged = {row.id: row for row in rows}
    merged.update((row.id, row) for row in own)
    return tuple(merged.values())


def _row(
    entry: dict[str, Any], subjects: set[str], architectures: dict[int, Architecture], where: str, by_user: bool
) -> EvidenceRow:
    place = f"{where}: {entry.get('id', '?')}"
    check_keys(entry, KEYS, place, REQUIRED)
    sms = sequence(entry.get("sms"), place)
    for sm in sms:
        if sm not in architectures:
            raise UserError(f'{place}: unknown SM "{sm}"', nearest(str(sm), map(str, architectures)))
    confidence = one_of(entry.get("confidence", "medium"), CONFIDENCES, f"{place}: confidence")
    return EvidenceRow(
        id=text(entry["id"], place),
        features=frozenset(one_of(f, subjects, f"{place}: features") for f in texts(entry["features"], place)),
        sms=frozenset(sms),
        problems=frozenset(
            one_of(p, [p.value for p in Problem], f"{place}: problems") for p in texts(entry.get("problems"), place)
        ),
        weighs=one_of(entry["weighs"], WEIGHTS, f"{place}: weighs"),
        evidence=Evidence(
            fact=text(entry["fact"], place),
            source=", ".join(texts(entry["source"], place)),
            confidence=confidence,
            conditions=texts(entry.get("conditions"), place),
            by_user=by_user,
        ),
        contradicts=text(entry.get("contradicts", ""), place),
        names=texts(entry.get("names"), place),
    )


def _check_pairs(rows: dict[str, EvidenceRow], where: str) -> None:
    """Every contested row shares its key with one that says otherwise."""
    for row in rows.values():
        if row.weighs == "contested" and not row.contradicts:
            raise UserError(
                f'{where}: {row.id}: a contested row needs "contradicts", the key it shares with the other side'
            )
        shared = [r for r in rows.values() if r.contradicts == row.contradicts]
        if row.contradicts and len(shared) < 2:
            raise UserError(f'{where}: {row.id}: no other row has the key "{row.contradicts}"')
