"""Reads and checks rules/advice.yaml: one row for each combination of capability, intent and relation that occurs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, sequence, text, texts
from archscan.catalog.types import AdviceRow, Rate
from archscan.errors import UserError
from archscan.model.finding import Advice, Capability, Consequence, Intent, Level, Problem, Relation

KEYS = ("id", "when", "advice", "why", "today", "severity", "page", "rate")
REQUIRED = ("id", "when", "advice", "why", "page")
# What a row can ask besides; archscan/judge/table.py computes each
CIRCUMSTANCES = (
    "wrong-today",  # the target gets a trap, nothing, or wrong data
    "half-shut",  # another gate or half has to open with it
    "missing-behind",  # a row, kernel or image is missing behind it
    "loss",  # sourced measurements on the target's family: it cost time, or went wrong
    "contested",  # they disagree
    "lowered",  # measured: emulated, or a call into the driver
    "deliberate",  # a comment of the gate itself says that the choice is meant for this target
    "lacks-said-instruction",  # a comment of the gate itself names an instruction that the target measurably lacks
    "default-of-others",  # the target falls to a default that was not chosen for it
    "right-limit",  # the row that others get holds the target's own limit
    "sources-cannot",  # what the build compiles cannot run there
    "other-families",  # every entry is an `a` or `f` image of another family
    "code-of-families",  # what is let in are `a` or `f` targets of other families alone
    "built-for-families",  # what the scanned builds make of the file is such code alone
    "no-kernel",  # compiled code that neither stands in a kernel nor holds one
    "less-memory",  # who is let in are exactly the chips with more shared memory, whatever their numbers
    "one-chip",  # what is let in is one chip, named alone, and not of the target's family
    "tegra-alone",  # what is let in are chips of the Tegra line, which the target is not of
    "older-alone",  # an upper bound alone lets in every older chip, and the others are refused nothing
    "found-otherwise",  # rows are numbers or texts of some chips, and the target gets its own by another rule
    "one-more-step",  # others get something done besides, and what follows is for all
    "ladder",  # the target misses a rung for each of many chips
    "by-minor",  # the minor number is asked without the major
    "no-branch",  # no branch of the build makes the entry
    "refused-by-toolkit",  # the entry is one that the toolkit refuses
    "desktop-code",  # machine code of a desktop part of the same major, and the target is of the Tegra line
    "reach-unknown",  # builds were scanned, and none is known to compile it for a variant that is harmed
    "only-slower",  # nothing fails, it is only slower
    "other-suffix",  # another variant of the same chip can
)


def _words(words: type[Enum]) -> tuple[str, ...]:
    return tuple(word.value for word in words)


MATCHABLE: dict[str, tuple[str, ...]] = {
    "problem": _words(Problem),
    "capability": _words(Capability),
    "intent": _words(Intent),
    "relation": (*_words(Relation), "none"),
    "with": CIRCUMSTANCES,
    "without": CIRCUMSTANCES,
}


def compile_advice(raw: Any, where: str) -> tuple[AdviceRow, ...]:
    """The checked rows in the order in which they are tried; UserError for what is wrong in them."""
    root = mapping(raw, where)
    check_keys(root, ("rows",), where)
    rows = tuple(_row(mapping(entry, where), where) for entry in sequence(root.get("rows"), where))
    ids = [row.id for row in rows]
    for name in ids:
        if ids.count(name) > 1:
            raise UserError(f'{where}: the id "{name}" is given twice')
    if not rows or rows[-1].when:
        raise UserError(f"{where}: the last row must fit everything: when: {{}}")
    return rows


def _row(entry: dict[str, Any], where: str) -> AdviceRow:
    place = f"{where}: {entry.get('id', '?')}"
    check_keys(entry, KEYS, place, REQUIRED)
    when = mapping(entry["when"], f"{place}: when")
    check_keys(when, MATCHABLE, f"{place}: when")
    today = entry.get("today")
    severity = entry.get("severity")
    return AdviceRow(
        id=text(entry["id"], place),
        when={key: _alternatives(value, key, place) for key, value in when.items()},
        advice=Advice(one_of(entry["advice"], _words(Advice), f"{place}: advice")),
        why=text(entry["why"], place),
        page=text(entry["page"], place),
        today=Consequence(one_of(today, _words(Consequence), f"{place}: today")) if today else None,
        severity=Level(one_of(severity, _words(Level), f"{place}: severity")) if severity else None,
        rate=_rate(entry.get("rate"), place),
    )


def _alternatives(value: Any, key: str, place: str) -> frozenset[str]:
    words = texts(value, f"{place}: when: {key}")
    if not words:
        raise UserError(f"{place}: when: {key}: no value: the row could never apply")
    return frozenset(_known(words, key, place))


def _known(words: Iterable[str], key: str, place: str) -> Iterable[str]:
    return (one_of(word, MATCHABLE[key], f"{place}: when: {key}") for word in words)


def _rate(raw: Any, place: str) -> Rate | None:
    """How often the row was right over labelled findings, as scripts/calibrate.py has written it."""
    if raw is None:
        return None
    entry = mapping(raw, f"{place}: rate")
    check_keys(entry, ("right", "of", "date"), f"{place}: rate", ("right", "of", "date"))
    right, of = entry["right"], entry["of"]
    if not isinstance(right, int | float) or not isinstance(of, int) or not 0 <= right <= of:
        raise UserError(f"{place}: rate: right of how many, such as right: 17, of: 20")
    return Rate(float(right), of, str(entry["date"]))
