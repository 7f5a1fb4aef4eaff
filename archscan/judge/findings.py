"""Writes down what was weighed: one finding per gate, with fingerprint, verdict, related places and group."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from archscan.judge.branches import REST, Branch
from archscan.judge.case_context import CaseContext, Recommendation
from archscan.judge.cases import Case
from archscan.judge.forms import form
from archscan.judge.messages import message
from archscan.judge.rules import Selected
from archscan.judge.severity import severity_of
from archscan.model.finding import UNCOUNTED, Advice, Consequence, Finding, Reach, Risk
from archscan.model.gate import Kind, Related, Role

_MOST_RELATED = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case with everything decided about it."""

    weighed: CaseContext
    advised: Recommendation
    risk: Risk

    @property
    def case(self) -> Case:
        return self.weighed.case


def findings(outcomes: Iterable[Outcome], selected: Selected) -> tuple[Finding, ...]:
    """The findings, worst first."""
    made = [_finding(o, selected) for o in outcomes]
    below = {o.case.gate.path: o.case.file.below or o.case.gate.path for o in outcomes}
    return _grouped(in_order(_fingerprinted(made, below)))


def in_order(made: Sequence[Finding]) -> tuple[Finding, ...]:
    """Worst first; of equals those of which more is known, then those that stand in more places, then by place."""
    places = Counter(map(_group_key, made))

    def key(f: Finding) -> tuple[object, ...]:
        known, place = len(f.risk.reasons) > 1, f.place
        return (
            f.reach is not Reach.RUN,  # what a program runs comes before what is only built, or only there
            -f.risk.score,
            not known,
            -places[_group_key(f)],
            f.path,
            place.line,
            place.column,
            f.problem.value,
            f.rule,
        )

    return tuple(sorted(made, key=key))


def _finding(outcome: Outcome, selected: Selected) -> Finding:
    case, weighed, advised = outcome.case, outcome.weighed, outcome.advised
    catalog, selection, gate = weighed.catalog, weighed.selection, case.gate
    guarded = next(b for b in weighed.ways if b.arm == case.guarded)
    shape = form(gate, guarded.yes, selection, catalog.universe, case.limit)
    arm = case.arm
    return Finding(
        rule=selected.rule_of(case, shape, advised, weighed.intent),
        fingerprint="",
        problem=case.problem,
        gate=gate,
        arm=case.guarded,
        place=case.place,
        condition=_condition(case),
        form=shape,
        verdict=tuple((v.name, _word(guarded, catalog.universe.bit(v))) for v in selection.variants),
        admits=catalog.universe.names(guarded.yes),
        peers_admitted=catalog.universe.names(guarded.yes & selection.peers),
        consequence=advised.today,
        features=case.needs.groups(),
        advice=advised.advice,
        message=message(weighed, advised),
        risk=outcome.risk,
        severity=severity_of(weighed, advised),
        capability=weighed.capable.capability,
        intent=weighed.intent,
        relation=weighed.relation,
        missing=weighed.capable.missing,
        row=advised.row,
        listed=advised.advice not in UNCOUNTED or _is_refusal(case, advised),
        body=arm.body if arm else None,
        function=gate.scope.name if gate.scope else None,
        unknowns=arm.unknowns if arm and not case.is_sure else (),
        assumes=case.assumes,
        related=_related(outcome),
        origin=case.file.origin.value,
    )


_REFUSALS = frozenset({Consequence.RUNTIME_ERROR, Consequence.COMPILE_ERROR, Consequence.LOAD_ERROR, Consequence.TRAP})


def _is_refusal(case: Case, advised: Recommendation) -> bool:
    """Whether the default way ends in an error there, though nothing is known of what opening it would do."""
    return advised.advice is Advice.INVESTIGATE and advised.today in _REFUSALS and not case.assumes


def _word(branch: Branch, bit: int) -> str:
    return "yes" if branch.yes & bit else "unknown" if branch.maybe & bit else "no"


def _condition(case: Case) -> str:
    """The condition that a reader finds at the place of the finding."""
    index = case.guarded
    if (index == REST or case.gate.arms[index].is_else) and case.shut is not None and case.shut.gets.arm != REST:
        index = case.shut.gets.arm
    text = case.gate.arms[index].condition if index != REST else ""
    return " ".join(text.split())


def _related(outcome: Outcome) -> tuple[Related, ...]:
    case, gate = outcome.case, outcome.case.gate
    found = [*case.related, *(p.related() for p in outcome.weighed.pairs), *gate.related, *_other_arms(case)]
    unique: dict[tuple[str, int], Related] = {}
    for place in found:
        if (place.path, place.line) != (gate.path, case.place.line):
            unique.setdefault((place.path, place.line), place)
    return tuple(unique.values())[:_MOST_RELATED]


def _other_arms(case: Case) -> list[Related]:
    """The further arms that the target misses."""
    if case.shut is None or case.gate.kind in (Kind.ALLOW_LIST, Kind.KEYWORD_LIST, Kind.BUILD_LIST):
        return []
    arms = [case.gate.arms[b.arm] for b in case.shut.others if b.arm != REST]
    return [Related(case.gate.path, a.place.line, Role.DUPLICATE, "another arm of the same gate") for a in arms]


def _fingerprinted(made: list[Finding], below: dict[str, str]) -> list[Finding]:
    """Findings with fingerprints that survive shifted lines: no line numbers, an ordinal among equals instead."""
    seen: Counter[tuple[str, ...]] = Counter()
    result = []
    for finding in sorted(made, key=lambda f: (f.path, f.place.start, f.place.line, f.problem.value)):
        key = (finding.rule, below[finding.path], finding.function or "", finding.condition)
        result.append(replace(finding, fingerprint=hashed(*key, str(seen[key]))))
        seen[key] += 1
    return result


def hashed(*parts: str) -> str:
    """Sixteen characters that stand for these texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _grouped(made: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings with equal condition, body and verdict share a group."""
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, finding in enumerate(made):
        members[_group_key(finding)].append(i)
    groups = {i: hashed(*key)[:12] for key, found in members.items() if len(found) > 1 for i in found}
    return tuple(replace(f, group=groups[i]) if i in groups else f for i, f in enumerate(made))


def _group_key(finding: Finding) -> tuple[str, ...]:
    digest = finding.gate.arms[finding.arm].digest if finding.arm != REST else ""
    verdict = ",".join(f"{name}={word}" for name, word in finding.verdict)
    return (finding.problem.value, finding.rule, finding.condition, digest, verdict, finding.consequence.value)
