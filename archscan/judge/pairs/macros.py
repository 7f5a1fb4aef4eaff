"""Pairs the tests of a macro with the definition that shuts the target out, and gives the definition their weight."""

from __future__ import annotations

import re
from collections import defaultdict

from archscan.judge.branches import REST
from archscan.judge.cases import Case, defined
from archscan.judge.consequences import consequence
from archscan.judge.needs.features import Needs, needs_to_open
from archscan.judge.pairs.related_sites import Counterpart, Pair, Pairing, Pairs
from archscan.model.finding import Consequence
from archscan.model.gate import Does, Kind, Layer

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
            for symbol in defined(case):
                by_macro[symbol].append(case)
    for case in pairing.shut:
        for macro in case.gate.derived_from:
            for definition in by_macro.get(macro, ()):
                shown = pairing.shows(case.file) or pairing.shows(definition.file)
                if shown and definition.gate is not case.gate:
                    _tie(case, definition, macro, f"{macro} is not defined for the target", pairing)
    _constants(pairing)


_NAMED = re.compile(r"!?\s*(?:\w+::)*\w+")


def _constants(pairing: Pairing) -> None:
    """Tests of a constant that an #if of the same file chooses: `constexpr bool kWide = true;` on one side of it."""
    by_name: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in pairing.shut:
        if case.gate.kind is Kind.PREPROCESSOR_IF and case.gets.does is Does.DEFINES and case.arm is not None:
            for part in (case.arm.effect.value or "").split(";"):
                by_name[case.gate.path, part.partition("=")[0].strip()].append(case)
    if not by_name:
        return
    for case in pairing.shut:
        if case.gate.layer in (Layer.DEVICE, Layer.HOST) and case.arm is not None:
            for name in dict.fromkeys(re.findall(r"\w+", " ".join(arm.condition for arm in case.gate.arms))):
                for definition in by_name.get((case.gate.path, name), ()):
                    _tie(case, definition, name, f"{definition.gets.value} for the target", pairing)
                    if _NAMED.fullmatch(case.arm.condition):
                        pairing.under.add(id(case))


def _tie(case: Case, definition: Case, macro: str, message: str, pairing: Pairing) -> None:
    use = _behind(case, macro, pairing)
    if use is case:
        path, line = definition.gate.path, definition.place.line
        pairing.add(case, Pair(Counterpart.DEFINITION, path, line, False, message, definition))
    pairing.add(definition, Pair(Counterpart.USE, case.gate.path, case.place.line, False, f"tests {macro}", use))


def inherited(pairing: Pairing) -> None:
    """The other half of what tests a macro is that of its definition: a launch attribute goes with both."""
    for case in pairing.shut:
        for use in tuple(pairing.pairs.get(id(case), {}).values()):
            if use.half is Counterpart.USE and use.shares is not None:
                for pair in tuple(pairing.pairs.get(id(use.shares), {}).values()):
                    if pair.half is Counterpart.LAUNCH_ATTRIBUTE:
                        pairing.add(case, pair)


def _behind(case: Case, macro: str, pairing: Pairing) -> Case:
    """A test of several macros as this one sees it: what the arm holds that asks for it."""
    gate, word = case.gate, re.compile(rf"\b{re.escape(macro)}\b")
    asking = [i for i, arm in enumerate(gate.arms) if word.search(arm.condition)]
    if not asking or case.guarded in asking or case.guarded == REST:
        return case
    needs = needs_to_open(gate, gate.arms[asking[0]], (), pairing.project, pairing.selection, pairing.catalog)
    return case._replace(guarded=asking[0], needs=needs)


def with_uses(case: Case, pairs: Pairs) -> Case:
    """A macro definition with what its uses need and with the worst that happens at one of them.

    Where one test of a macro has the other way beside it, tests without one only help that way along.
    """
    uses = _uses(case, pairs)
    if case.gate.kind is not Kind.MACRO_DEFINITION and not uses:
        definitions = [p.shares for p in pairs.of(case) if p.half is Counterpart.DEFINITION and p.shares is not None]
        helps = _is_part(case) and any(_is_switch(_uses(d, pairs)) for d in definitions)
        return case._replace(consequence=Consequence.SLOW_FALLBACK.value) if helps else case
    if not uses:
        return case
    outcomes = [consequence(u) for u in uses if not (_is_part(u) and _is_switch(uses))]
    worst = next((c for c in _WORST if c in outcomes), outcomes[0])
    items = {(n.feature.id, n.sure): n for u in uses for n in (*case.needs.items, *u.needs.items)}
    return case._replace(needs=Needs(tuple(items.values())), consequence="" if case.limit else worst.value)


def _uses(definition: Case, pairs: Pairs) -> list[Case]:
    return [p.shares for p in pairs.of(definition) if p.half is Counterpart.USE and p.shares is not None]


def _is_switch(uses: list[Case]) -> bool:
    """Whether some test of the macro has something else to do, in its #else."""
    return any(use.gets.does in (Does.WORK, Does.RETURNS, Does.ASSIGNS) for use in uses)


def _is_part(use: Case) -> bool:
    """Whether a test only adds to what is around it: no #else, no instruction of its own, not the whole function."""
    scope = use.gate.scope
    whole = scope is not None and scope.whole_body
    return use.gets.does is Does.NOTHING and not use.needs.sure and not whole
