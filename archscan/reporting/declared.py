"""What `archscan check` prints: what is declared and what does not agree with it, as text, JSON and SARIF."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from archscan import __version__
from archscan.declared.model import LEVELS, RULES, Declared, Disagreement
from archscan.model.facts import Failed
from archscan.reporting.json_format import SCHEMA_VERSION, json_safe
from archscan.reporting.sarif import MOST_RESULTS, SCHEMA
from archscan.reporting.words import counted, one_line, wrapped

_LEVELS = {"high": "error", "medium": "warning", "low": "note"}


@dataclass(frozen=True, slots=True)
class Checked:
    """One check."""

    declared: Declared
    rows: tuple[Disagreement, ...]
    libraries: int
    lists: int
    scanned: bool
    failed: tuple[Failed, ...]


def check_text(checked: Checked, width: int) -> str:
    """The disagreements for people, the worst first."""
    lines = [f"declared  {checked.declared.names()} (by {one_line(checked.declared.by)})", ""]
    for row in checked.rows:
        place = f"{row.path}:{row.line}" if row.line > 1 else row.path
        lines.append(f"{row.level}[{row.rule}]: {one_line(row.message)}")
        lines += [f"   --> {one_line(place)}"] if place else []
    count = Counter(row.level for row in checked.rows)
    said = ", ".join(f"{count[level]} {level}" for level in LEVELS if count[level]) or "all agree"
    what = f"{counted(checked.libraries, 'library', 'libraries')} with GPU code, {counted(checked.lists, 'build')}"
    gates = ", gates" if checked.scanned else ""
    lines += [*([""] if checked.rows else []), f"checked   {what}{gates}: {said}"]
    lines += [f"not read  {one_line(f'{one.path}: {one.reason}')}" for one in checked.failed]
    return "\n".join(line for text in lines for line in wrapped(text, width)) + "\n"


def check_object(checked: Checked) -> dict[str, Any]:
    """The document that scripts read."""
    return {
        "schema_version": SCHEMA_VERSION,
        "declared": {
            "targets": [target.name for target in checked.declared.targets],
            "ptx": [target.name for target in checked.declared.ptx],
            "by": checked.declared.by,
        },
        "disagreements": [
            {
                "rule": row.rule,
                "level": row.level,
                "architecture": row.architecture or None,
                "path": row.path or None,
                "line": row.line,
                "message": row.message,
            }
            for row in checked.rows
        ],
        "failed": [{"path": one.path, "reason": one.reason} for one in checked.failed],
    }


def check_sarif(checked: Checked) -> str:
    """A SARIF log with one run; the worst 25,000 results if there are more."""
    rules = list(RULES)
    driver = {
        "name": "archscan",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [{"id": name, "shortDescription": {"text": f"{RULES[name].capitalize()}."}} for name in rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "archscan/check/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row, rules) for row in checked.rows[:MOST_RESULTS]],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_safe(json.dumps(log, ensure_ascii=False, indent=1)) + "\n"


def _result(row: Disagreement, rules: list[str]) -> dict[str, Any]:
    stands_for = "\0".join((row.rule, row.architecture, row.path, row.message))
    place = {
        "artifactLocation": {"uri": quote(row.path or ".", safe="/"), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": max(row.line, 1)},
    }
    return {
        "ruleId": row.rule,
        "ruleIndex": rules.index(row.rule),
        "level": _LEVELS[row.level],
        "message": {"text": one_line(row.message)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"archscan/v1": hashlib.sha256(stands_for.encode("utf-8", "replace")).hexdigest()[:32]},
    }
