"""Reads and checks the rules, one YAML file each: when a rule applies, what it says, its page."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, text, texts
from archscan.catalog.types import Rule
from archscan.errors import UserError
from archscan.model.finding import Advice, Consequence, Intent, Problem
from archscan.model.gate import Kind, Layer

KEYS = (
    "title",
    "problem",
    "match",
    "order",
    "what",
    "why",
    "example",
    "known_problems",
    "fix_safety",
    "references",
    "severity",
    "precision",
    "tags",
)
REQUIRED = ("title", "problem", "match", "what", "why", "example", "severity", "precision")
SEVERITIES = ("error", "warning", "note")
PRECISIONS = ("very-high", "high", "medium", "low")


def _values(words: type[Enum]) -> tuple[str, ...]:
    return tuple(word.value for word in words)


# What a rule can match on, with the values there are; the judge computes them (archscan/judge/rules.py)
MATCHABLE: dict[str, tuple[str, ...]] = {
    "problem": _values(Problem),
    "layer": _values(Layer),
    "kind": _values(Kind),
    "form": (),
    "consequence": _values(Consequence),
    "advice": _values(Advice),
    "effect": ("nothing", "refusal", "fallback"),
    "why": ("missed", "refused", "sibling", "shadowed", "unsuited", "stopped", ""),
    "obstacle": ("instruction", "suffix", "images", "resource", ""),
    "guards": ("rest", "arm"),
    "intent": _values(Intent),
    "images": ("missing", "suffix-only", "jit-only", "hollow", "trap"),  # what is wrong with a compiled library
}


def compile_rule(raw: Any, name: str, where: str) -> Rule:
    """The checked and compiled rule of a file named `name`.yaml."""
    entry = mapping(raw, where)
    check_keys(entry, KEYS, where, REQUIRED)
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
        raise UserError(f'{where}: a rule is named in lower case with hyphens, not "{name}"')
    match = mapping(entry["match"], f"{where}: match")
    check_keys(match, MATCHABLE, f"{where}: match")
    return Rule(
        id=name,
        title=text(entry["title"], where),
        problem=one_of(entry["problem"], MATCHABLE["problem"], f"{where}: problem"),
        match={key: _alternatives(value, key, where) for key, value in match.items()},
        order=_order(entry.get("order", 100), where),
        what=text(entry["what"], where),
        why=text(entry["why"], where),
        example=text(entry["example"], where),
        known_problems=text(entry.get("known_problems", ""), where),
        fix_safety=text(entry.get("fix_safety", ""), where),
        references=texts(entry.get("references"), where),
        severity=one_of(entry["severity"], SEVERITIES, f"{where}: severity"),
        precision=one_of(entry["precision"], PRECISIONS, f"{where}: precision"),
        tags=texts(entry.get("tags"), where),
    )


def _alternatives(value: Any, key: str, where: str) -> frozenset[str]:
    words = texts(value, f"{where}: match: {key}")
    if not words:
        raise UserError(f"{where}: match: {key}: no value: the rule could never apply")
    known = MATCHABLE[key]
    return frozenset(one_of(word, known, f"{where}: match: {key}") if known else word for word in words)


def _order(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f'{where}: "order" must be a number, found "{value}"')
    return value
