"""GitLab's Code Quality report: a list of issues with fingerprint, severity and place."""

from __future__ import annotations

import json
from collections import Counter

from archscan.model.finding import Finding, Level
from archscan.model.report import Report
from archscan.reporting.json_format import json_safe
from archscan.reporting.options import RenderOptions
from archscan.reporting.plain import answer, titled
from archscan.reporting.words import verdict

_SEVERITY = {
    Level.BLOCKED: "critical",
    Level.HIGH: "critical",
    Level.MEDIUM: "major",
    Level.LOW: "minor",
    Level.INFO: "info",
}


def render_gitlab(report: Report, options: RenderOptions) -> str:
    """Every finding as an issue; an empty list is a valid report. GitLab wants fingerprints to be unique."""
    shown = [f for f in report.findings if options.include_leave or f.listed]
    seen: Counter[str] = Counter()
    issues = []
    for finding in shown:
        seen[finding.fingerprint] += 1
        issues.append(_issue(finding, seen[finding.fingerprint], options))
    return json_safe(json.dumps(issues, indent=1, ensure_ascii=False)) + "\n"


def _issue(finding: Finding, ordinal: int, options: RenderOptions) -> dict[str, object]:
    return {
        "description": f"{titled(finding)} ({verdict(finding)}); {answer(finding)}",
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint if ordinal == 1 else f"{finding.fingerprint}:{ordinal}",
        "severity": _SEVERITY[finding.severity],
        "location": {
            "path": options.located(finding.path),
            "lines": {"begin": finding.place.line, "end": finding.place.end_line},
        },
    }
