"""Compiles rules/facts/features.yaml: what code can use, how it is recognised, which targets have it."""

from __future__ import annotations

import re
from typing import Any

from archscan.catalog.masks import Decoder
from archscan.catalog.reading import check_keys, mapping, nearest, text, texts
from archscan.catalog.types import Feature
from archscan.errors import UserError
from archscan.model.target import Universe

KEYS = (
    "group",
    "title",
    "rows",
    "asm",
    "names",
    "patterns",
    "code",
    "words",
    "sync",
    "falls_back",
    "emulated",
    "ignore_lowering",
)
MEASURED_KEYS = ("have", "source", "since", "lowering")
LOWERING = ("emulated", "driver_call", "internal_routine", "expanded")


def compile_features(raw: Any, universe: Universe, where: str) -> dict[str, Feature]:
    """The checked and compiled form of features.yaml, by id."""
    root = mapping(raw, where)
    check_keys(root, ("features", "measured"), where, ("features",))
    described = mapping(root["features"], where)
    measured = mapping(root.get("measured"), where)
    check_keys(measured, described, f"{where}: measured")
    found: dict[str, Feature] = {}
    decoder = Decoder(universe)
    for name, entry in described.items():
        found[name] = _feature(name, mapping(entry, where), mapping(measured.get(name), where), decoder, where)
    return {name: _with_fallback(feature, described[name], found, universe, where) for name, feature in found.items()}


def _feature(name: str, entry: dict[str, Any], measured: dict[str, Any], decoder: Decoder, where: str) -> Feature:
    place = f"{where}: {name}"
    check_keys(entry, KEYS, place, ("title",))
    check_keys(measured, MEASURED_KEYS, place)
    lowering = mapping(measured.get("lowering"), place)
    check_keys(lowering, LOWERING, f"{place}: lowering")
    rows = texts(entry.get("rows"), place)
    return Feature(
        id=name,
        group=text(entry.get("group", name), place),
        title=text(entry["title"], place),
        mask=decoder.mask(measured.get("have", ""), place),
        source=text(measured.get("source", ""), place),
        lowering=tuple((kind, decoder.mask(targets, place)) for kind, targets in lowering.items()),
        identifiers=frozenset(texts(entry.get("names"), place)),
        identifier_patterns=texts(entry.get("patterns"), place),
        mnemonics=texts(entry.get("asm"), place),
        code_patterns=texts(entry.get("code"), place),
        words=texts(entry.get("words"), place),
        sync=bool(entry.get("sync", False)),
        probe=rows[0] if rows else "",
        toolkit=str(measured.get("since", "")),
        note=text(entry.get("ignore_lowering", ""), place),
    )


def _with_fallback(
    feature: Feature, entry: dict[str, Any], found: dict[str, Feature], universe: Universe, where: str
) -> Feature:
    """The feature itself; one that falls back to software has every target, emulated where the other is absent."""
    other = entry.get("falls_back")
    if other is None:
        return feature
    if other not in found:
        raise UserError(f'{where}: {feature.id}: unknown feature "{other}"', nearest(str(other), found))
    native = found[other].mask
    absent = universe.device & ~native
    return Feature(
        **{**vars(feature), "mask": universe.device, "source": "nvcc 13.0.88", "lowering": (("emulated", absent),)}
    )


def check_patterns(features: dict[str, Feature], where: str) -> None:
    """Nothing if every pattern compiles and says with which word it begins; UserError with the feature otherwise.

    Costs more than loading: done for rules of the user, and in the tests for those that come with archscan.
    """
    for feature in features.values():
        for pattern in (*feature.mnemonics, *feature.code_patterns):
            if pattern_heads(pattern) is None:
                raise UserError(
                    f"{where}: {feature.id}: a pattern must begin with \\bword, \\b(?:one|two) or %: {pattern}"
                )
        for pattern in (*feature.identifier_patterns, *feature.mnemonics, *feature.code_patterns):
            try:
                re.compile(pattern)
            except re.error as error:
                raise UserError(f"{where}: {feature.id}: not a regular expression: {pattern}", str(error)) from error


def pattern_heads(pattern: str) -> tuple[str, ...] | None:
    r"""The words a pattern begins with: `\bword`, `\b(?:one|two)` or `%`; None where it begins otherwise."""
    match = re.match(r"\\b(?:\(\?:((?:\w+\|)*\w+)\)|(\w+))(?![\w?*{])|(%)", pattern)
    return None if match is None else tuple((match[1] or match[2] or match[3]).split("|"))
