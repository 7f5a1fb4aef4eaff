"""JUnit XML: a test case per finding that fails, or one that passes, for CI systems that read nothing else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from archscan.model.finding import Finding
from archscan.model.report import Report
from archscan.reporting.account import account
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import page
from archscan.reporting.plain import answer, titled
from archscan.reporting.words import one_line, verdict, visible

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: Report, options: RenderOptions) -> str:
    """One suite for the target."""
    shown = [f for f in report.findings if options.include_leave or f.listed]
    name = f"archscan {report.selection.name}"
    counts = {"tests": str(len(shown) or 1), "failures": str(len(shown)), "errors": "0", "skipped": "0"}
    suites = ET.Element("testsuites", {"name": name, **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": name, **counts})
    for finding in shown:
        _case(suite, finding, options)
    if not shown:
        ET.SubElement(suite, "testcase", {"classname": name, "name": "nothing to report"})
    rows = account(report, options, page(report, 0, options.include_leave))
    ET.SubElement(suite, "system-out").text = _xml("\n".join(f"{label}: {text}" for label, text in rows))
    ET.indent(suites, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ET.Element, finding: Finding, options: RenderOptions) -> None:
    path = visible(options.located(finding.path))
    place = f"{path}:{finding.place.line}:{finding.place.column}"
    attributes = {
        "classname": path,
        "name": f"{finding.rule} at {place}",
        "file": path,
        "line": str(finding.place.line),
    }
    case = ET.SubElement(suite, "testcase", {key: _xml(value) for key, value in attributes.items()})
    message = titled(finding)
    failure = ET.SubElement(case, "failure", {"message": _xml(message), "type": finding.rule})
    lines = [
        place,
        f"{one_line(finding.condition)}: {verdict(finding)}",
        *(one_line(r.text) for r in finding.risk.reasons),
    ]
    failure.text = _xml("\n".join([*lines, answer(finding)]))


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
