"""Compiles rules/facts/macros.yaml: what the compiler defines, as masks over the universe."""

from __future__ import annotations

from typing import Any

from archscan.catalog.reading import check_keys, mapping, nearest, sequence, text, texts
from archscan.catalog.types import MacroFacts
from archscan.errors import UserError
from archscan.model.target import Universe

KEYS = (
    "everywhere",
    "unsettled",
    "function_like",
    "toolkit",
    "known_undefined",
    "undefined_patterns",
    "derived_elsewhere",
    "toolkit_derived",
    "device_functions",
    "tool",
    "measured",
    "extended",
)


def compile_macros(raw: Any, universe: Universe, where: str) -> MacroFacts:
    """The checked and compiled form of macros.yaml."""
    root = mapping(raw, where)
    check_keys(root, KEYS, where, ("measured",))
    values: dict[str, dict[str, int]] = {
        name: {text(value, f"{where}: {name}"): universe.all}
        for name, value in mapping(root.get("everywhere"), where).items()
    }
    for section in ("measured", "extended"):
        for target, macros in mapping(root.get(section), where).items():
            bit = target_bit(target, universe, f"{where}: {section}")
            for name, value in mapping(macros, f"{where}: {target}").items():
                row = values.setdefault(name, {})
                row[value] = row.get(value, 0) | bit
    function_like = {
        name: _function(value, f"{where}: {name}") for name, value in mapping(root.get("function_like"), where).items()
    }
    unsettled = mapping(root.get("unsettled"), where)
    return MacroFacts(
        values=values,
        function_like=function_like,
        defined_for=dict.fromkeys(function_like, universe.all),
        toolkit={name: text(value, where) for name, value in mapping(root.get("toolkit"), where).items()},
        known_undefined=frozenset(mapping(root.get("known_undefined"), where)),
        undefined_like=tuple(texts(p, where)[0] for p in sequence(root.get("undefined_patterns"), where)),
        derived_elsewhere=tuple(texts(p, where)[0] for p in sequence(root.get("derived_elsewhere"), where)),
        toolkit_derived=tuple(texts(p, where)[0] for p in sequence(root.get("toolkit_derived"), where)),
        unsettled={name: _candidates(value, f"{where}: {name}") for name, value in unsettled.items()},
        everywhere=frozenset(mapping(root.get("everywhere"), where)),
        device_functions=tuple(texts(p, where)[0] for p in sequence(root.get("device_functions"), where)),
    )


def target_bit(name: str, universe: Universe, where: str) -> int:
    """The mask of a target by its name (`sm_120a`); UserError with the nearest name where it is unknown."""
    target = universe.by_name.get(name)
    if target is None:
        raise UserError(f'{where}: unknown target "{name}"', nearest(name, universe.by_name))
    return universe.bit(target)


def _candidates(value: Any, where: str) -> tuple[str, ...]:
    """The values that a macro may have, if they are known: behind the reason."""
    return texts(sequence(value, where)[1], where) if isinstance(value, list) else ()


def _function(value: Any, where: str) -> tuple[tuple[str, ...], str]:
    pair = sequence(value, where)
    if len(pair) != 2:
        raise UserError(f"{where}: expected [parameters, body]")
    return texts(pair[0], where), text(pair[1], where)
