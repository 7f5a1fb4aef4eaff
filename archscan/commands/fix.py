"""One run of `fix` or `revert`: plan, show or write, and say how to go back."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click

from archscan.commands.scan import effective, judged, loaded_catalog, rules_named, split, wants_color, write
from archscan.config import nearest_hint
from archscan.engine import Workings
from archscan.errors import UserError
from archscan.fixing import commands
from archscan.fixing.commands import FixOutcome
from archscan.fixing.journal import APPLYING, Journal
from archscan.fixing.plan import FixOptions
from archscan.fixing.saved import plan_document
from archscan.model.finding import Fix
from archscan.model.report import Report
from archscan.reporting.json_format import document, dumped
from archscan.reporting.words import counted, size, visible


def run_fix(given: Mapping[str, Any]) -> int:
    """Shows or writes a fix; 1 if edits remain to be written or were held back."""
    if given["clear_caches"] and not (given["write"] or given["apply"]):
        raise UserError("--clear-caches goes with --write or --apply", "caches are stale only once files are changed")
    if (given["on_gpu"] or given["harness"]) and not (given["verify"] and given["on_gpu"]):
        raise UserError("--on-gpu and --harness go with --verify", "archscan fix --verify --on-gpu --harness FILE")
    if given["apply"]:
        _check_apply(given)
    journal = Journal()
    _say_unfinished(journal, given["write"] or given["apply"])
    if given["apply"]:
        run = commands.apply_saved(Path(given["apply"]), journal, given["paths"])
        _say(f"wrote {counted(len(run.entries), 'file')}; undo with: archscan revert {run.id}" if run else "no change")
        return 0
    paths = tuple(given["paths"]) or (".",)
    given_scan = {**given, "rule": ()}  # a pair needs its other half, whatever its rule
    settings = effective(given_scan, paths)
    catalog = loaded_catalog(settings)
    given = {**given, "rule": rules_named(split(given["rule"]), catalog)}
    workings = Workings()
    report = judged(paths, settings, catalog, workings=workings)
    _check_paths(given["path"], report)
    bench = commands.workbench(paths, catalog, settings.scan(), workings)
    outcome = commands.fix(report, catalog, bench, _options(given, report), given["verify"])
    if given["on_gpu"]:
        _on_gpu(outcome, paths, given, report)
    if given["format_"] == "json":
        write(dumped({**document(_fixed(report, outcome)), "plan": _plan(outcome)}), given["output"])
    elif not given["write"]:
        _show_diff(outcome.diff + outcome.shown, given)
    if given["write"]:
        outcome = replace(outcome, run=commands.write(outcome, journal, paths))
    for line in commands.summary(outcome) or ["nothing to fix"]:
        _say(line)
    if given["clear_caches"]:
        _say(f"cleared {size(commands.clear_caches(outcome.caches))} of stale caches")
    return outcome.exit_code


def _check_apply(given: Mapping[str, Any]) -> None:
    """Nothing if a plan is written as it is; UserError for what would choose from it, or check it again."""
    for name in ("rule", "chain", "path", "family", "widen", "verify"):
        if given[name]:
            hint = (
                f"the plan says what is written: make one with `archscan fix --{name} ... --format json -o plan.json`"
            )
            raise UserError(f"--{name} does not go with --apply", hint)


def _on_gpu(outcome: FixOutcome, paths: Sequence[str], given: Mapping[str, Any], report: Report) -> None:
    """Says what the user's program does before and after; UserError where that is worse: nothing is written."""
    if not outcome.changes:
        _say("on the GPU: nothing to run: no file changes")
        return
    if not given["harness"]:
        count = counted(len(outcome.plan.units), "fix", "fixes")
        _say(f"on the GPU: not run: {count}: no arguments are made up for a kernel; give a program with --harness")
        return
    from archscan.fixing.harness import compare

    changed = {change.path: change.data for change in outcome.changes}
    compared = compare(paths, changed, Path(given["harness"]), report.selection)
    _say(compared.line)
    if compared.verdict in ("differs", "fails") and given["write"]:
        raise UserError("the fix changes what the harness does", "nothing was written; without --on-gpu it would be")


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
        rules=given["rule"],
        chains=commands.chain_ids(report, given["chain"]) if given["chain"] else frozenset(),
        paths=tuple(given["path"]),
    )


def _check_paths(globs: Sequence[str], report: Report) -> None:
    """Nothing if each names a file that was read; UserError with the nearest file otherwise."""
    read = [file.path for file in report.facts.files]
    for glob in globs:
        if not any(fnmatch(path, glob) for path in read):
            inside = f"*{glob.strip('*')}*"
            hint = f"did you mean '{inside}'?" if any(fnmatch(path, inside) for path in read) else ""
            hint = hint or nearest_hint(glob, read, "paths are those of the report, such as csrc/*.cu")
            raise UserError(f"--path '{glob}' is no file that was read", hint)


def _say_unfinished(journal: Journal, writes: bool) -> None:
    """Nothing is put back unasked: that takes `archscan revert`."""
    for line in [*(commands.put_aside(journal) if writes else ()), *commands.unfinished(journal)]:
        _say(line)


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
            state = "interrupted" if run.state == APPLYING else run.state
            click.echo(visible(f"{run.id}  {state:<11} {counted(len(run.entries), 'file'):<9} {run.title}"))
        for one in journal.damaged():
            click.echo(visible(f"{one.id}  {'damaged':<11} {one.why} (see {one.place})"))
        return 0
    for line in commands.put_aside(journal):
        _say(line)
    run = commands.undo(run_id, force, journal)
    click.echo(visible(f"reverted {run.id}: {counted(len(run.entries), 'file')} as before ({run.title})"))
    return 0
