"""Everything known of the gates at a place in the code: what `explain PATH:LINE` tells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from archscan.catalog.types import AdviceRow, Catalog, Feature
from archscan.errors import UserError
from archscan.judge.branches import REST
from archscan.judge.passed_over import passed_over
from archscan.judge.project import Project
from archscan.model.facts import Facts, Failed, FileFacts, Skipped, Undecided
from archscan.model.finding import Finding, Fix
from archscan.model.gate import FeatureUse, Gate, Mention, Place
from archscan.model.report import Chain, Report
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.model.target import Selection

_FEW = 3  # places that a hint names


@dataclass(frozen=True, slots=True)
class Inventory:
    """What stands behind an arm (-1: where no arm is taken): what of it is known, and what is not."""

    arm: int
    uses: tuple[tuple[Feature, FeatureUse], ...]
    missing: tuple[Mention, ...] | None  # None: nobody looked


@dataclass(frozen=True, slots=True)
class Account:
    """A gate with everything known of it, for a target where one is named."""

    gate: Gate
    inventory: tuple[Inventory, ...]
    finding: Finding | None = None
    suppressed: str | None = None  # the reason of the comment that silences the finding
    silence: str = ""  # why nothing is reported of it for the target
    row: AdviceRow | None = None  # of rules/advice.yaml, that gave the advice
    chain: Chain | None = None
    unfixed: str = ""  # why there is no fix


@dataclass(frozen=True, slots=True)
class Accounts:
    """The gates at a place."""

    path: str
    line: int
    gates: tuple[Account, ...]
    unread: tuple[Undecided, ...]  # code there that asks in a way nobody could read
    report: Report | None  # of the target; None where none was named
    facts: Facts


def around(path: str) -> str:
    """The PATH to scan for a file where none is given: the working directory if the file lies in it, else its own."""
    here, file = Path.cwd().resolve(), Path(path).resolve()
    return "." if here in file.parents else str(Path(path).parent)


def accounts(
    path: str, line: int, paths: Sequence[str], settings: ScanSettings, catalog: Catalog, selection: Selection | None
) -> Accounts:
    """Everything known of the gates at a line of a file below `paths`; UserError where there is none."""
    from archscan import pipeline

    facts = pipeline.scan(paths, catalog, settings)
    file = _file(path, facts)
    if selection is None:
        gates = tuple(Account(gate, _inventory(gate, catalog)) for gate in _at(line, file.gates))
        return _some(Accounts(file.path, line, gates, _unread(file, line), None, facts), file)
    judging = JudgeSettings(include_vendored=True, include_tests=True)
    report = pipeline.report(facts, selection, catalog, judging)
    silenced = {id(s.finding.gate): s for s in report.suppressed if s.finding.path == file.path}
    told = {id(f.gate): f for f in report.findings if f.path == file.path}
    told |= {key: one.finding for key, one in silenced.items()}
    project = Project(facts.files, catalog.universe)
    everything = {id(gate): gate for gate in (*file.gates, *(f.gate for f in told.values()))}
    made = []
    for gate in _at(line, tuple(everything.values())):
        finding, silent = told.get(id(gate)), silenced.get(id(gate))
        account = Account(gate, _inventory(gate, catalog), finding, silent.reason if silent else None)
        if finding is None:
            account = replace(account, silence=passed_over(file, gate, project, selection, catalog))
        else:
            row = next((row for row in catalog.advice if row.id == finding.row), None)
            chain = next((chain for chain in report.chains if chain.id == finding.chain), None)
            fix, unfixed = _fix(finding, report, paths, settings, catalog)
            account = replace(account, finding=replace(finding, fix=fix), unfixed=unfixed, row=row, chain=chain)
        made.append(account)
    return _some(Accounts(file.path, line, tuple(made), _unread(file, line), report, facts), file)


def _file(path: str, facts: Facts) -> FileFacts:
    """The scanned file that a user means by `path`: the one that lies there, or the one that reports call so."""
    real = os.path.realpath(path)
    meant = [f for f in facts.files if f.disk and os.path.realpath(f.disk) == real]
    meant = meant or [f for f in facts.files if f.path == path]
    meant = meant or [f for f in facts.files if f.path.endswith(f"/{path}")]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise UserError(f"{path} may be {len(meant)} files", f"name one: {', '.join(f.path for f in meant[:_FEW])}")
    unread: tuple[Skipped | Failed, ...] = (*facts.skipped, *facts.failed)
    reasons = [s.reason for s in unread if s.path == path or s.path.endswith(f"/{path}")]
    hint = f"it was not read: {reasons[0]}" if reasons else "it has no gate, or is not below the PATHs that were read"
    raise UserError(f"nothing is known of {path}", hint)


def _at(line: int, gates: Sequence[Gate]) -> tuple[Gate, ...]:
    """The gates that stand at a line; where none does, the innermost whose code it is in."""
    here = [g for g in gates if any(_spans(p, line) for p in (g.place, *(arm.place for arm in g.arms)))]
    if here:
        starting = [g for g in here if any(p.line == line for p in (g.place, *(arm.place for arm in g.arms)))]
        return tuple(sorted(starting or here, key=lambda g: g.place.start))
    around = [(a.body, g) for g in gates for a in g.arms if a.body is not None and _spans(a.body, line)]
    return (min(around, key=lambda one: one[0].end - one[0].start)[1],) if around else ()


def _spans(place: Place, line: int) -> bool:
    return place.line <= line <= place.end_line


def _unread(file: FileFacts, line: int) -> tuple[Undecided, ...]:
    return tuple(place for place in file.undecided if place.line == line)


def _some(made: Accounts, file: FileFacts) -> Accounts:
    """The accounts, if there is anything in them; UserError with the nearest gates if not."""
    if made.gates or made.unread:
        return made
    lines = sorted({arm.place.line for gate in file.gates for arm in gate.arms}, key=lambda at: abs(at - made.line))
    near = ", ".join(str(at) for at in sorted(lines[:_FEW]))
    raise UserError(
        f"no gate at {made.path}:{made.line}", f"the nearest stand at {near}" if near else "the file has none"
    )


def _inventory(gate: Gate, catalog: Catalog) -> tuple[Inventory, ...]:
    """What stands behind the arms of a gate, and what is known of it."""
    behind = [(i, arm.features, arm.missing) for i, arm in enumerate(gate.arms)]
    if not any(arm.is_else for arm in gate.arms):
        behind.append((REST, gate.rest_features, gate.rest_missing))
    return tuple(
        Inventory(i, tuple((catalog.features[u.feature], u) for u in uses if u.feature in catalog.features), missing)
        for i, uses, missing in behind
    )


def _fix(
    finding: Finding, report: Report, paths: Sequence[str], settings: ScanSettings, catalog: Catalog
) -> tuple[Fix | None, str]:
    """The proven fix of a finding, or why there is none."""
    from archscan.fixing.commands import workbench
    from archscan.fixing.plan import fix_for, never_fixed

    why = never_fixed(finding)
    if why:
        return None, why
    made = fix_for(finding, report.findings, report.selection, catalog, workbench(paths, catalog, settings), True)
    return made, "" if made else "no edit could be proven"
