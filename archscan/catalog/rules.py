"""Reads and checks the rules, one YAML file each: when a rule applies, what it says, its page."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, NamedTuple

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


class Attribute(NamedTuple):
    """Something about a case that a rule can match on."""

    says: str
    values: tuple[str, ...]


# The registry of what a rule can match on; archscan/judge/rules.py has for each how it is told of a case
ATTRIBUTES: dict[str, Attribute] = {
    "problem": Attribute("what is wrong", _values(Problem)),
    "layer": Attribute("where the gate bites", _values(Layer)),
    "kind": Attribute("what the gate is made of", _values(Kind)),
    "form": Attribute(
        "the shape of the set of targets that it lets in",
        (
            "all-but",
            "build-flag",
            "equality",
            "family",
            "feature-macro",
            "image",
            "limit-table",
            "list",
            "lower-bound",
            "never",
            "range",
            "resource",
            "sibling",
            "table-row",
            "test-skip",
            "text-order",
            "upper-bound",
        ),
    ),
    "consequence": Attribute("what the target gets today", _values(Consequence)),
    "advice": Attribute("what is advised", _values(Advice)),
    "effect": Attribute("what the target gets, in one word", ("nothing", "refusal", "fallback")),
    "why": Attribute(
        "how the target came to miss it (nothing where it does not)",
        ("missed", "refused", "sibling", "shadowed", "negated", "unsuited", "stopped", ""),
    ),
    "obstacle": Attribute(
        "why the target cannot run what it is let into", ("instruction", "suffix", "images", "resource", "")
    ),
    "guards": Attribute("what is guarded: an arm with a condition, or the rest", ("arm", "rest")),
    "intent": Attribute("what the gate is for", _values(Intent)),
    "images": Attribute(
        "what is wrong with a compiled library", ("missing", "suffix-only", "jit-only", "hollow", "trap")
    ),
}


def compile_rule(raw: Any, name: str, where: str) -> Rule:
    """The checked and compiled rule of a file named `name`.yaml."""
    entry = mapping(raw, where)
    check_keys(entry, KEYS, where, REQUIRED)
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
        raise UserError(f'{where}: a rule is named in lower case with hyphens, not "{name}"')
    match = mapping(entry["match"], f"{where}: match")
    check_keys(match, ATTRIBUTES, f"{where}: match")
    return Rule(
        id=name,
        title=text(entry["title"], where),
        problem=one_of(entry["problem"], ATTRIBUTES["problem"].values, f"{where}: problem"),
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
    return frozenset(one_of(word, ATTRIBUTES[key].values, f"{where}: match: {key}") for word in words)


def _order(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f'{where}: "order" must be a number, found "{value}"')
    return value
