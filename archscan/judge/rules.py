"""Picks the rule of a case: the first, by its order, of which every attribute matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from archscan.catalog.rules import ATTRIBUTES
from archscan.catalog.types import Rule
from archscan.judge.branches import REST
from archscan.judge.case_context import Recommendation
from archscan.judge.cases import Case
from archscan.judge.verdicts import ExclusionReason
from archscan.model.finding import Intent
from archscan.model.gate import Does

FALLBACK = "arch-list-gate"


@dataclass(frozen=True, slots=True)
class Selected:
    """The rules in the order in which they are tried."""

    rules: tuple[Rule, ...]

    def rule_of(self, case: Case, form: str, advised: Recommendation, intent: Intent) -> str:
        """The id of the first rule that matches, or the fallback's."""
        attributes = attributes_of(case, form, advised, intent)
        for rule in self.rules:
            if matches(rule.match, attributes):
                return rule.id
        return FALLBACK


def in_order(rules: Iterable[Rule]) -> Selected:
    """The rules ready to match."""
    return Selected(tuple(sorted(rules, key=lambda r: (r.order, r.id))))


def matches(match: Mapping[str, frozenset[str]], attributes: Mapping[str, str]) -> bool:
    """Whether every attribute that the rule names has one of its values."""
    return all(attributes.get(name, "") in values for name, values in match.items())


class _Told(NamedTuple):
    """What the attributes of a case are read from."""

    case: Case
    form: str
    advised: Recommendation
    intent: Intent


def attributes_of(case: Case, form: str, advised: Recommendation, intent: Intent) -> dict[str, str]:
    """What a rule can match on, of a case; "images" is told of compiled libraries alone."""
    told = _Told(case, form, advised, intent)
    return {name: read(told) for name, read in READ.items()}


def _guards(case: Case) -> str:
    """The rest (an else, or what follows), or an arm with a condition."""
    return "rest" if case.guarded == REST or case.gate.arms[case.guarded].is_else else "arm"


def _effect(case: Case) -> str:
    """What the target gets in one word: nothing, refusal or fallback."""
    if case.gets.does in (Does.NOTHING, Does.LOGS):
        return "nothing"
    return "refusal" if case.gets.refuses else "fallback"


def _obstacle(case: Case) -> str:
    """Why the target cannot run what it is let into: instruction, suffix, images, or the resource."""
    obstacle = case.obstacle
    if obstacle is None:
        return ""
    if obstacle.overrun is not None:
        return "resource"
    if obstacle.images:
        return "images"
    return "suffix" if obstacle.fits else "instruction"


READ: Mapping[str, Callable[[_Told], str]] = {
    "problem": lambda told: told.case.problem.value,
    "layer": lambda told: told.case.gate.layer.value,
    "kind": lambda told: told.case.gate.kind.value,
    "form": lambda told: told.form,
    "consequence": lambda told: told.advised.today.value,
    "advice": lambda told: told.advised.advice.value,
    "effect": lambda told: _effect(told.case),
    "why": lambda told: told.case.shut.why.value if told.case.shut else "",
    "obstacle": lambda told: _obstacle(told.case),
    "guards": lambda told: _guards(told.case),
    "intent": lambda told: told.intent.value,
}
assert {*READ, "images"} == set(ATTRIBUTES)
assert {why.value for why in ExclusionReason} < set(ATTRIBUTES["why"].values)
