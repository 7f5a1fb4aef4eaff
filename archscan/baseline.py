"""The baseline: a file of findings that are known, by fingerprint, so that only new ones count."""

from __future__ import annotations

import json
from dataclasses import replace

from archscan.documents import json_file
from archscan.errors import UserError
from archscan.model.finding import UNCOUNTED
from archscan.model.report import Report

_KIND = "archscan-baseline"


def baseline_text(report: Report) -> str:
    """The findings of a report as a baseline file: sorted, one a line, with what a reviewer wants to see."""
    rows = sorted({(f.path, f.rule, f.fingerprint) for f in report.findings if f.advice not in UNCOUNTED})
    lines = ",\n".join(
        "  " + json.dumps({"fingerprint": print_, "rule": rule, "path": path}) for path, rule, print_ in rows
    )
    target = json.dumps(report.selection.name)
    return f'{{"kind": "{_KIND}", "version": 1, "target": {target}, "findings": [\n{lines}\n]}}\n'


def known_fingerprints(file: str) -> frozenset[str]:
    """The fingerprints of a baseline file; UserError if it is none."""
    hint = "write one with --write-baseline"
    try:
        document = json_file(file)
    except OSError as error:
        raise UserError(f"cannot read the baseline {file}: {error.strerror}", hint) from error
    except ValueError as error:
        raise UserError(f"the baseline {file} is not valid JSON: {error}", hint) from error
    if not isinstance(document, dict) or document.get("kind") != _KIND or document.get("version") != 1:
        raise UserError(f"{file} is not an archscan baseline", hint)
    try:
        return frozenset(str(row["fingerprint"]) for row in document["findings"])
    except (KeyError, TypeError) as error:
        raise UserError(f"the baseline {file} is damaged: {error!r}", hint) from error


def without(report: Report, known: frozenset[str]) -> Report:
    """The report without the known findings, which are counted."""
    kept = tuple(f for f in report.findings if f.fingerprint not in known)
    return replace(report, findings=kept, baselined=report.baselined + len(report.findings) - len(kept))
