"""GitHub workflow commands: annotations on the lines of a pull request, within GitHub's limits."""

from __future__ import annotations

from archscan.model.finding import Level
from archscan.model.report import Report
from archscan.reporting.account import account
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import Entry, page
from archscan.reporting.plain import answer, titled
from archscan.reporting.words import counted, verdict, visible

_MOST = 10  # of errors, and of warnings, that GitHub shows for a step
_ERRORS = (Level.BLOCKED, Level.HIGH)


def render_github(report: Report, options: RenderOptions) -> str:
    """At most ten errors and ten warnings, the worst first, and a notice with the account and the cut."""
    shown = page(report, 0, options.include_leave)
    entries = sorted(
        (e for block in shown.blocks for e in block.entries),
        key=lambda e: (-e.finding.severity.rank, -e.finding.risk.score),
    )
    errors = [e for e in entries if e.finding.severity in _ERRORS]
    warnings = [e for e in entries if e.finding.severity not in _ERRORS]
    lines = [_command("error", e, options) for e in errors[:_MOST]]
    lines += [_command("warning", e, options) for e in warnings[:_MOST]]
    cut = max(len(errors) - _MOST, 0) + max(len(warnings) - _MOST, 0)
    rows = dict(account(report, options, shown))
    words = "; ".join(f"{label}: {rows[label]}" for label in (report.selection.name, "files", "gates"))
    if cut:
        words = f"{counted(cut, 'entry', 'entries')} more than GitHub shows. {words}"
    return "\n".join([*lines, f"::notice title=archscan::{_data(words)}"]) + "\n"


def _command(kind: str, entry: Entry, options: RenderOptions) -> str:
    finding = entry.finding
    properties = {
        "file": options.located(finding.path),
        "line": str(finding.place.line),
        "endLine": str(finding.place.end_line),
        "title": f"{finding.rule}: {finding.severity.value}",
    }
    more = f" And {len(entry.others)} more like it: {_places(entry, options)}." if entry.others else ""
    text = f"{titled(finding)} ({verdict(finding)}); {answer(finding)}.{more}"
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{kind} {written}::{_data(text)}"


def _places(entry: Entry, options: RenderOptions) -> str:
    named = [f"{options.located(f.path)}:{f.place.line}" for f in entry.others[:5]]
    return ", ".join(named + ["..."] * (len(entry.others) > 5))


def _data(text: str) -> str:
    """Message text in which no line can end and no command can begin."""
    return visible(text).replace("%", "%25")


def _property(text: str) -> str:
    """A property's value, which a colon or a comma would end."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
