"""The JSON document that scripts hang on (schema/archscan-1.1.schema.json): folds nothing, leaves nothing out."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from archscan import __version__
from archscan.model.finding import Binary, Finding, Fix, Level, Problem, Risk
from archscan.model.gate import Arm, Gate
from archscan.model.report import Chain, Report
from archscan.model.target import Universe
from archscan.reporting.options import RenderOptions
from archscan.reporting.words import CONTROL, body_lines

SCHEMA_VERSION = "1.1"


def render_json(report: Report, options: RenderOptions) -> str:
    """The document as text: sorted by risk, indented, closed by a newline; equal reports give equal bytes."""
    return dumped(document(report, options.all_gates))


def render_jsonl(report: Report, options: RenderOptions) -> str:
    """JSON Lines: the document without its findings and gates on the first line, then a finding a line."""
    whole = document(report)
    head = {key: value for key, value in whole.items() if key not in ("findings", "gates")}
    records = [{"kind": "report", **head}, *({"kind": "finding", **one} for one in whole["findings"])]
    return "".join(json_safe(json.dumps(record, ensure_ascii=False) + "\n") for record in records)


def dumped(document: dict[str, Any]) -> str:
    """A document as this tool writes it: one key a line, and one record of a list a line."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            records = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f"{json.dumps(key)}: [\n  {records}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return json_safe("{\n " + ",\n ".join(lines) + "\n}\n")


def headed(**parts: Any) -> dict[str, Any]:
    """A document of its own kind: which version it is of and who wrote it, then its parts."""
    return {"schema_version": SCHEMA_VERSION, "tool": {"name": "archscan", "version": __version__}, **parts}


def json_safe(text: str) -> str:
    """JSON text that is harmless to print and valid UTF-8: controls as `\\uNNNN`, bytes of names as `\\\\xNN`."""
    return CONTROL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 0x0A:  # between tokens; json.dumps has escaped those in strings
        return "\n"
    return f"\\\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def document(report: Report, all_gates: bool = False) -> dict[str, Any]:
    """The report as plain values, in the order of the contract."""
    facts = report.facts
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "archscan", "version": __version__},
        "target": {"name": report.selection.name, "variants": [t.name for t in report.selection.variants]},
        "peers": list(report.universe.names(report.selection.peers)),
        "summary": _summary(report),
        "findings": [finding_object(f) for f in report.findings],
        "chains": [chain_object(c) for c in report.chains],
    }
    if all_gates:
        result["gates"] = [_gate(g, report.universe) for f in facts.files for g in f.gates]
    result["undecided"] = [
        {
            "path": u.path,
            "line": u.line,
            "condition": u.condition,
            "unknowns": list(u.unknowns),
            "settle": list(u.settle),
            "reason": u.reason or None,
        }
        for u in report.undecided
    ]
    result["skipped"] = [{"path": s.path, "reason": s.reason} for s in report.skipped]
    result["failed"] = [{"path": f.path, "reason": f.reason} for f in report.failed]
    return result


def _summary(report: Report) -> dict[str, Any]:
    levels = Counter(f.risk.level for f in report.findings)
    severities = Counter(f.severity for f in report.findings)
    problems = Counter(f.problem for f in report.findings)
    facts = report.facts
    return {
        "files": facts.files_read or len(facts.files),
        "bytes": facts.bytes_read,
        "gates": sum(len(f.gates) for f in facts.files),
        "undecided": len(report.undecided),
        "findings": len(report.findings),
        "by_risk": {level.value: levels[level] for level in Level},
        "by_severity": {level.value: severities[level] for level in Level if level is not Level.BLOCKED},
        "by_problem": {problem.value: problems[problem] for problem in Problem},
        "suppressed": len(report.suppressed),
        "baselined": report.baselined,
        "skipped": len(report.skipped),
        "failed": len(report.failed),
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    """One finding, every key of the contract present."""
    place, body = finding.place, body_lines(finding.place, finding.body)
    compiled = {"binary": _binary(finding.binary)} if finding.binary else {}
    return {
        "rule": finding.rule,
        "fingerprint": finding.fingerprint,
        "problem": finding.problem.value,
        "layer": finding.gate.layer.value,
        "path": finding.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "condition": finding.condition,
        "form": finding.form,
        "body": {"line": body[0], "end_line": body[-1]} if body else None,
        "function": finding.function,
        "verdict": dict(finding.verdict),
        "admits": list(finding.admits),
        "peers_admitted": list(finding.peers_admitted),
        "unknowns": list(finding.unknowns),
        "consequence": finding.consequence.value,
        "severity": finding.severity.value,
        "capability": finding.capability.value,
        "intent": finding.intent.value,
        "reach": finding.reach.value,
        "missing": list(finding.missing),
        "features": list(finding.features),
        "advice": finding.advice.value,
        "message": finding.message,
        "risk": _risk(finding.risk),
        "fix": _fix(finding.fix) if finding.fix else None,
        "related": [
            {"path": r.path, "line": r.line, "role": r.role.value, "message": r.message} for r in finding.related
        ],
        "assumes": list(finding.assumes),
        "group": finding.group,
        "chain": finding.chain,
        **compiled,
    }


def _binary(binary: Binary) -> dict[str, Any]:
    """What a library holds for the target."""
    counts = ("modules", "native", "compatible", "jit", "jit_link", "none", "other_chips", "lto")
    return {
        **{name: getattr(binary, name) for name in counts},
        **({"unknown": binary.unknown} if binary.unknown else {}),
        "images": dict(binary.images),
        "kernels": dict(binary.kernels),
        "error": binary.error or None,
    }


def _risk(risk: Risk) -> dict[str, Any]:
    return {
        "level": risk.level.value,
        "score": risk.score,
        "reasons": [
            {
                "text": reason.text,
                "evidence": [{"fact": e.fact, "source": e.source, "confidence": e.confidence} for e in reason.evidence],
            }
            for reason in risk.reasons
        ],
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safety": "safe" if fix.safe else "unsafe",
        "edits": [{"path": e.path, "start": e.start, "end": e.end, "text": e.text} for e in fix.edits],
    }


def chain_object(chain: Chain) -> dict[str, Any]:
    """One chain with its steps."""
    return {
        "id": chain.id,
        "name": chain.name,
        "steps": [
            {
                "layer": step.layer,
                "path": step.path,
                "line": step.line,
                "state": step.state,
                "reach": step.reach,
                "fingerprint": step.fingerprint,
                "message": step.message,
            }
            for step in chain.steps
        ],
    }


def _gate(gate: Gate, universe: Universe) -> dict[str, Any]:
    return {
        "path": gate.path,
        "line": gate.place.line,
        "kind": gate.kind.value,
        "arms": [_arm(arm, universe) for arm in gate.arms],
    }


def _arm(arm: Arm, universe: Universe) -> dict[str, Any]:
    return {
        "line": arm.place.line,
        "end_line": max(arm.place.end_line, body_lines(arm.place, arm.body).stop - 1),
        "condition": arm.condition,
        "yes": _names(universe, arm.truth.yes),
        "unknown": _names(universe, arm.truth.unknown(universe.all)),
        "unknowns": list(arm.unknowns),
        "via": arm.via.value,
    }


def _names(universe: Universe, mask: int) -> list[str]:
    return list(universe.names(mask))
