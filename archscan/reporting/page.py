"""Folds a report for people: equal gates into one entry, the gates of a chain under one header, the rest counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from archscan.model.facts import Origin
from archscan.model.finding import Advice, Finding, Level
from archscan.model.gate import Gate, Kind
from archscan.model.report import Chain, Report
from archscan.reporting.features import Feature, features

HIDDEN_FLAGS = {"vendored": "--include-vendored", "generated": "--include-vendored", "test": "--include-tests"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding shown in full, and the places that are equal to it."""

    finding: Finding
    others: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Entries under one header: those of a chain, or (chain None) a run of findings without one."""

    chain: Chain | None
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What people see first, and the count of what they do not see."""

    features: tuple[Feature, ...]
    blocks: tuple[Block, ...]
    left_out: tuple[Entry, ...]
    leave: tuple[Finding, ...]


def page(report: Report, limit: int, include_leave: bool) -> Page:
    """The first `limit` entries in order of features (0 = all); what is right as it is comes last."""
    leave = () if include_leave else tuple(f for f in report.findings if not f.listed)
    told = features(report)
    chain_of = {id(finding): feature.chain for feature in told for finding in feature.findings}
    shown = [finding for feature in told for finding in feature.findings]
    shown += [finding for finding in report.findings if include_leave and not finding.listed]
    entries = folded(shown)
    first = entries[:limit] if limit else entries
    blocks: list[Block] = []
    for chain, run in groupby(first, lambda entry: chain_of.get(id(entry.finding))):
        blocks += _block(chain, tuple(run), blocks)
    return Page(told, tuple(blocks), entries[len(first) :], leave)


def _block(chain: Chain | None, shown: tuple[Entry, ...], before: list[Block]) -> list[Block]:
    """The entries under their header; a chain of one entry needs none, and joins the run before it."""
    if chain is not None and len(shown) > 1:
        return [Block(chain, shown)]
    if before and before[-1].chain is None:
        return [Block(None, (*before.pop().entries, *shown))]
    return [Block(None, shown)]


def folded(findings: Sequence[Finding]) -> tuple[Entry, ...]:
    """Findings of one group become one entry, at the place of the first; all tests that are skipped are one."""
    members: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        is_skip = finding.gate.kind is Kind.TEST_SKIP and finding.origin == Origin.TEST.value
        members.setdefault(Kind.TEST_SKIP if is_skip else finding.group or number, []).append(finding)
    return tuple(Entry(found[0], tuple(found[1:])) for found in members.values())


def by_level(findings: Sequence[Finding]) -> tuple[tuple[Level, int], ...]:
    """How many findings there are at each level, worst first, none left out as zero."""
    counts = Counter(f.severity for f in findings)
    return tuple((level, counts[level]) for level in Level if counts[level])


def counts(report: Report) -> Counter[str]:
    """Every gate in exactly one class: finding, investigate, leave, undecided, suppressed, baselined, hidden or clean.

    `other` counts places with a finding that are no gate: halves of a pair, constants.
    """
    result: Counter[str] = Counter()
    gates = {_key(gate) for file in report.facts.files for gate in file.gates}
    total = sum(len(file.gates) for file in report.facts.files)
    reported = {_key(f.gate) for f in report.findings if f.listed}
    unlisted = {_key(f.gate) for f in report.findings if not f.listed and f.advice is not Advice.LEAVE} - reported
    left = {_key(f.gate) for f in report.findings if f.advice is Advice.LEAVE} - reported - unlisted
    result["finding"] = len(reported & gates)
    result["investigate"] = len(unlisted & gates)
    result["leave"] = len(left & gates)
    result["other"] = len(reported - gates)
    result["undecided"] = sum(not u.reason for u in report.undecided)
    result["suppressed"] = len(report.suppressed)
    result["baselined"] = report.baselined
    for name, number in report.hidden:
        result[f"hidden {name}"] = number
    result["gates"] = total
    classes = sum(number for name, number in result.items() if name not in ("gates", "other"))
    result["clean"] = max(total - classes, 0)
    return result


def _key(gate: Gate) -> tuple[str, int, int, str]:
    return gate.path, gate.place.start, gate.place.line, gate.kind.value
