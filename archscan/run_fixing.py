"""One run of `fix` or `revert`: plan, show or write, and say how to go back."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from archscan.config import merged
from archscan.errors import UserError
from archscan.fixing import commands
from archscan.fixing.commands import FixOutcome
from archscan.fixing.journal import Journal
from archscan.fixing.plan import FixOptions
from archscan.fixing.saved import plan_document
from archscan.model.finding import Fix
from archscan.model.report import Report
from archscan.reporting.json_format import document, dumped
from archscan.reporting.words import counted, size, visible
from archscan.run import judged, loaded_catalog, said, wants_color, write


def run_fix(given: Mapping[str, Any]) -> int:
    """Shows or writes a fix; 1 if edits remain to be written or were held back."""
    if given["clear_caches"] and not (given["write"] or given["apply"]):
        raise UserError("--clear-caches goes with --write or --apply", "caches are stale only once files are changed")
    journal = Journal()
    _recover(journal)
    if given["apply"]:
        run = commands.apply_saved(Path(given["apply"]), journal)
        _say(f"wrote {counted(len(run.entries), 'file')}; undo with: archscan revert {run.id}" if run else "no change")
        return 0
    paths = tuple(given["paths"]) or (".",)
    given_scan = {**given, "rule": ()}  # a pair needs its other half, whatever its rule
    settings = merged(said(given_scan), paths, given["config"], given["isolated"])
    catalog = loaded_catalog(settings)
    report = judged(paths, settings, catalog)
    bench = commands.workbench(paths, catalog, settings.scan())
    outcome = commands.fix(report, catalog, bench, _options(given, report), given["verify"])
    if given["format_"] == "json":
        write(dumped({**document(_fixed(report, outcome)), "plan": _plan(outcome)}), given["output"])
    elif not given["write"]:
        _show_diff(outcome.diff, given)
    if given["write"]:
        outcome = replace(outcome, run=commands.write(outcome, journal))
    for line in commands.summary(outcome):
        _say(line)
    if given["clear_caches"]:
        _say(f"cleared {size(commands.clear_caches(outcome.caches))} of stale caches")
    return outcome.exit_code


def _fixed(report: Report, outcome: FixOutcome) -> Report:
    """The report with the fix of its unit at every finding that the plan covers."""
    fixes = {
        finding.fingerprint: Fix(unit.title, unit.safe, unit.edits, unit.reasons, unit.opens)
        for unit in outcome.plan.units
        for finding in unit.findings
    }
    return replace(report, findings=tuple(replace(f, fix=fixes.get(f.fingerprint)) for f in report.findings))


def _plan(outcome: FixOutcome) -> dict[str, Any]:
    digests = {str(change.path): change.before for change in outcome.changes}
    return plan_document(outcome.plan, outcome.disks, {p: digests[str(Path(d))] for p, d in outcome.disks.items()})


def _options(given: Mapping[str, Any], report: Report) -> FixOptions:
    return FixOptions(
        unsafe=given["unsafe"],
        family=given["family"],
        widen=given["widen"],
        rules=frozenset(given["rule"]),
        chains=commands.chain_ids(report, given["chain"]) if given["chain"] else frozenset(),
        paths=tuple(given["path"]),
    )


def _recover(journal: Journal) -> None:
    for run in commands.interrupted(journal):
        _say(f"rolled back {run.id}, which was killed half way: {run.title}")


def _say(line: str) -> None:
    """What is said beside the diff, so that standard output stays a patch."""
    click.echo(visible(line), err=True)


def _show_diff(diff: bytes, given: Mapping[str, Any]) -> None:
    """The patch byte for byte where a program reads it, in colours and harmless where a person does."""
    if given["output"] not in (None, "-") or not sys.stdout.isatty():
        write(diff, given["output"])
        return
    color = wants_color(given["color"], given["output"])
    for line in diff.decode("utf-8", "backslashreplace").splitlines():
        click.echo(_painted(visible(line)) if color else visible(line))


def _painted(line: str) -> str:
    color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=color) if color else line


def run_revert(run_id: str | None, force: bool, listed: bool) -> int:
    """Undoes a fix run, the latest by default; or lists the runs."""
    journal = Journal()
    if listed:
        for run in journal.runs():
            click.echo(visible(f"{run.id}  {run.state:<9} {counted(len(run.entries), 'file'):<9} {run.title}"))
        return 0
    _recover(journal)
    run = commands.undo(run_id, force, journal)
    click.echo(visible(f"reverted {run.id}: {counted(len(run.entries), 'file')} as before ({run.title})"))
    return 0
