"""Compiles evidence files of the user: what they measured after a gate was opened, one measurement a row."""

from __future__ import annotations

import datetime
import math
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, sequence, text, texts
from archscan.catalog.targets import resolve
from archscan.catalog.types import Catalog, EvidenceRow
from archscan.errors import UserError
from archscan.model.finding import Evidence

KEYS = ("feature", "target", "outcome", "ratio", "source", "date", "confidence", "conditions", "note", "probe")
REQUIRED = ("feature", "target", "outcome", "source", "date")
# What a row says happened once the gate was open: how it weighs, and how it is told
OUTCOMES = {
    "gain": ("help", "it was faster"),
    "same": ("neutral", "it was as fast"),
    "loss": ("harm", "it was slower"),
    "works": ("help", "it worked"),
    "fails": ("harm", "it failed"),
    "wrong": ("harm", "its results were wrong"),
}
CONFIDENCES = ("high", "medium", "low")
# Kinds of code that are no instructions, as far as the judge can tell them
SUBJECTS = ("collective", "shared-memory", "launch-bounds")


def compile_measurements(raw: Any, catalog: Catalog, where: str) -> tuple[EvidenceRow, ...]:
    """The measurements of a file, in its order; UserError, with the nearest known word, for what nobody meant."""
    root = mapping(raw, where)
    check_keys(root, ("schema_version", "evidence", "probe"), where, ("evidence",))
    if str(root.get("schema_version", "1")).split(".")[0] != "1":
        raise UserError(f"{where}: schema_version {root['schema_version']} is not one that is known", "known: 1.x")
    entries = sequence(root["evidence"], where)
    if not entries and "probe" not in root:  # a run of `archscan probe` may have found nothing that speaks of a gate
        raise UserError(f"{where}: it holds no measurement", "docs/evidence.md shows one")
    return tuple(_row(mapping(entry, where), catalog, where, number) for number, entry in enumerate(entries, 1))


def _row(entry: dict[str, Any], catalog: Catalog, where: str, number: int) -> EvidenceRow:
    place = f"{where}: measurement {number}"
    check_keys(entry, KEYS, place, REQUIRED)
    subjects = {*catalog.features, *(f.group for f in catalog.features.values()), *SUBJECTS}
    outcome = one_of(entry["outcome"], OUTCOMES, f"{place}: outcome")
    weighs, told = OUTCOMES[outcome]
    if outcome == "works" and "probe" in entry:
        weighs = "neutral"  # a small kernel that runs is no gain that stands against what others lost
    ratio = _ratio(entry.get("ratio"), outcome, place)
    sm = _sm(entry["target"], catalog, place)
    times = f", {ratio:.2f} times the speed" if ratio is not None else ""
    note = f"; {text(entry['note'], place)}" if "note" in entry else ""
    return EvidenceRow(
        id=f"{where}: {number:04}",
        features=frozenset(one_of(f, subjects, f"{place}: feature") for f in texts(entry["feature"], place)),
        sms=frozenset(catalog.architectures[sm].family),  # what runs on a chip, its family runs as well
        problems=frozenset(("excluded",)),  # it speaks of gates that were opened
        weighs=weighs,
        probed=sm if "probe" in entry else 0,
        evidence=Evidence(
            fact=f"opened on sm_{sm}, {told}{times}{note}",
            source=f"{_source(entry['source'], place)}, {_date(entry['date'], place)}",
            confidence=one_of(entry.get("confidence", "medium"), CONFIDENCES, f"{place}: confidence"),
            conditions=texts(entry.get("conditions"), place),
            by_user=True,
        ),
    )


def _source(value: Any, place: str) -> str:
    source = text(value, f"{place}: source")
    if not source.strip():
        raise UserError(f"{place}: the source is empty", "say where the measurement can be looked up")
    return source


def _sm(value: Any, catalog: Catalog, place: str) -> int:
    if value == "native":
        raise UserError(f'{place}: target cannot be "native"', "a measurement was made on one GPU: name it")
    try:
        return resolve(str(value), catalog)[0].sm
    except UserError as error:
        raise UserError(f"{place}: {error.title}", error.hint) from error


def _ratio(value: Any, outcome: str, place: str) -> float | None:
    """Speed with the gate open over speed with it shut; None where it is not said."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UserError(f'{place}: ratio cannot be "{value}"', "it is speed with the gate open over speed with it shut")
    if outcome in ("works", "fails", "wrong"):
        raise UserError(f'{place}: the outcome "{outcome}" has no ratio', "gain, same and loss have one")
    if (outcome == "gain" and value <= 1) or (outcome == "loss" and value >= 1):
        meant = "gain" if value > 1 else "loss" if value < 1 else "same"
        raise UserError(f"{place}: a ratio of {value} is no {outcome}", f'did you mean "{meant}"?')
    return float(value)


def _date(value: Any, place: str) -> str:
    """An ISO date; YAML makes one of it by itself."""
    try:
        return datetime.date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise UserError(f'{place}: date cannot be "{value}"', "write it as 2026-01-31") from None
