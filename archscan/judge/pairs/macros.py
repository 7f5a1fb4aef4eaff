"""Pairs the tests of a macro with the definition that shuts the target out, and gives the definition their weight."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from archscan.judge.branches import REST
from archscan.judge.cases import Case
from archscan.judge.consequences import consequence
from archscan.judge.features import Needs, needs_to_open
from archscan.judge.pairs.halves import Half, Pair, Pairing
from archscan.model.finding import Consequence
from archscan.model.gate import Kind

_WORST = (
    Consequence.SILENT_NOOP,
    Consequence.RACE,
    Consequence.WRONG_RESULT,
    Consequence.TRAP,
    Consequence.COMPILE_ERROR,
)


def macros(pairing: Pairing) -> None:
    """Tests of a macro whose definition shuts the target out stand under that definition."""
    by_macro: dict[str, list[Case]] = defaultdict(list)
    for case in pairing.shut:
        if case.gate.kind is Kind.MACRO_DEFINITION:
            for symbol in case.gate.symbols:
                by_macro[symbol].append(case)
    for case in pairing.shut:
        for macro in case.gate.derived_from:
            for definition in by_macro.get(macro, ()):
                shown = pairing.shows(case.file) or pairing.shows(definition.file)
                if shown and definition.gate is not case.gate:
                    _tie(case, definition, macro, pairing)


def _tie(case: Case, definition: Case, macro: str, pairing: Pairing) -> None:
    use = _behind(case, macro, pairing)
    if use is case:
        path, line = definition.gate.path, definition.place.line
        message = f"{macro} is not defined for the target"
        pairing.add(case, Pair(Half.DEFINITION, path, line, False, message, definition))
    pairing.add(definition, Pair(Half.USE, case.gate.path, case.place.line, False, f"tests {macro}", use))


def _behind(case: Case, macro: str, pairing: Pairing) -> Case:
    """A test of several macros as this one sees it: what the arm holds that asks for it."""
    gate, word = case.gate, re.compile(rf"\b{re.escape(macro)}\b")
    asking = [i for i, arm in enumerate(gate.arms) if word.search(arm.condition)]
    if not asking or case.guarded in asking or case.guarded == REST:
        return case
    needs = needs_to_open(gate, gate.arms[asking[0]], (), pairing.project, pairing.selection, pairing.catalog)
    return case._replace(guarded=asking[0], needs=needs)


def with_uses(case: Case, pairs: Iterable[Pair]) -> Case:
    """A macro definition with what its uses need and with the worst that happens at one of them."""
    if case.gate.kind is not Kind.MACRO_DEFINITION:
        return case
    uses = [p.shares for p in pairs if p.half is Half.USE and p.shares is not None]
    if not uses:
        return case
    outcomes = {consequence(u) for u in uses}
    worst = next((c for c in _WORST if c in outcomes), consequence(uses[0]))
    items = {(n.feature.id, n.sure): n for u in uses for n in (*case.needs.items, *u.needs.items)}
    return case._replace(needs=Needs(tuple(items.values())), consequence="" if case.limit else worst.value)
