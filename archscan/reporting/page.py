"""Folds a report for people: equal gates into one entry, the gates of a chain under one header, the rest counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from archscan.model.facts import Origin
from archscan.model.finding import Advice, Finding, Level
from archscan.model.gate import Gate, Kind
from archscan.model.report import Chain, Report

HIDDEN_FLAGS = {"vendored": "--include-vendored", "test": "--include-tests"}


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

    blocks: tuple[Block, ...]
    left_out: tuple[Entry, ...]
    leave: tuple[Finding, ...]


def page(report: Report, limit: int, include_leave: bool) -> Page:
    """The first `limit` entries in order of risk (0 = all), chains kept together."""
    shown = tuple(f for f in report.findings if include_leave or f.advice is not Advice.LEAVE)
    leave = () if include_leave else tuple(f for f in report.findings if f.advice is Advice.LEAVE)
    entries = folded(shown)
    first = entries[:limit] if limit else entries
    return Page(blocks(first, report.chains), entries[len(first) :], leave)


def folded(findings: Sequence[Finding]) -> tuple[Entry, ...]:
    """Findings of one group become one entry, at the place of the first; all tests that are skipped are one."""
    members: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        is_skip = finding.gate.kind is Kind.TEST_SKIP and finding.origin == Origin.TEST.value
        members.setdefault(Kind.TEST_SKIP if is_skip else finding.group or number, []).append(finding)
    return tuple(Entry(found[0], tuple(found[1:])) for found in members.values())


def blocks(entries: Sequence[Entry], chains: Sequence[Chain]) -> tuple[Block, ...]:
    """Entries of one chain move up to its first; a chain of one entry needs no header."""
    by_id = {chain.id: chain for chain in chains}
    sizes = Counter(e.finding.chain for e in entries)
    gathered: dict[object, list[Entry]] = {}
    for number, entry in enumerate(entries):
        chain = entry.finding.chain
        gathered.setdefault(chain if chain in by_id and sizes[chain] > 1 else number, []).append(entry)
    result: list[Block] = []
    for key, found in gathered.items():
        if isinstance(key, str):
            result.append(Block(by_id[key], tuple(found)))
        elif result and result[-1].chain is None:
            result[-1] = Block(None, (*result[-1].entries, *found))
        else:
            result.append(Block(None, tuple(found)))
    return tuple(result)


def by_level(findings: Sequence[Finding]) -> tuple[tuple[Level, int], ...]:
    """How many findings there are at each level, worst first, none left out as zero."""
    counts = Counter(f.risk.level for f in findings)
    return tuple((level, counts[level]) for level in Level if counts[level])


def counts(report: Report) -> Counter[str]:
    """Every gate in exactly one class: finding, leave, undecided, suppressed, baselined, hidden or clean.

    `other` counts places with a finding that are no gate: halves of a pair, constants.
    """
    result: Counter[str] = Counter()
    gates = {_key(gate) for file in report.facts.files for gate in file.gates}
    total = sum(len(file.gates) for file in report.facts.files)
    reported = {_key(f.gate) for f in report.findings if f.advice is not Advice.LEAVE}
    left = {_key(f.gate) for f in report.findings if f.advice is Advice.LEAVE} - reported
    result["finding"] = len(reported & gates)
    result["leave"] = len(left & gates)
    result["other"] = len(reported - gates)
    result["undecided"] = len(report.undecided)
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
