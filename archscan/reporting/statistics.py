"""How many findings each rule has: a table, or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from archscan.catalog.types import Rule
from archscan.errors import UserError
from archscan.model.finding import Level
from archscan.model.report import Report
from archscan.reporting.json_format import SCHEMA_VERSION, dumped
from archscan.reporting.words import counted, one_line

_LEVELS = (Level.HIGH, Level.MEDIUM, Level.LOW, Level.INFO)


def statistics(report: Report, format: str, rules: Mapping[str, Rule]) -> str:
    """The counts by rule, most findings first; right as they are or not."""
    if format not in ("text", "json"):
        raise UserError(f"--statistics has no format '{format}'", "one of: text, json")
    found: dict[str, Counter[Level]] = {}
    for finding in report.findings:
        found.setdefault(finding.rule, Counter())[finding.severity] += 1
    rows = sorted(found.items(), key=lambda row: (-row[1].total(), row[0]))
    if format == "json":
        listed = [
            {
                "rule": rule,
                "findings": levels.total(),
                "by_severity": {level.value: levels[level] for level in _LEVELS},
            }
            for rule, levels in rows
        ]
        return dumped({"schema_version": SCHEMA_VERSION, "target": report.selection.name, "statistics": listed})
    width = max((len(rule) for rule, _ in rows), default=4)
    lines = [f"{'all':>6} {'high':>6} {'medium':>6} {'low':>6} {'info':>6}  {'rule':<{width}}  what"] if rows else []
    for rule, levels in rows:
        numbers = " ".join(f"{levels[level]:>6}" for level in _LEVELS)
        title = one_line(rules[rule].title) if rule in rules else ""
        lines.append(f"{levels.total():>6} {numbers}  {rule:<{width}}  {title}".rstrip())
    lines.append(f"{counted(len(report.findings), 'finding')} for {report.selection.name}")
    return "\n".join(lines) + "\n"
