"""One self-contained HTML page: verdict, chains, gates against targets, findings with source, evidence and diff."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import shlex
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from archscan import __version__
from archscan.catalog.types import Rule
from archscan.model.finding import Evidence, Finding, Fix, Level, Problem
from archscan.model.report import Chain, Report
from archscan.reporting.account import account, verdict_sentence
from archscan.reporting.fix_diff import diff_lines
from archscan.reporting.html_answer import answer_markup, plain_markup
from archscan.reporting.matrix import Row, cell, columns
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import Entry, Page, page
from archscan.reporting.plain import GLOSSARY, HAPPENS, opening, titled, verb
from archscan.reporting.words import body_lines, compact, gets, guarded, landing, near, one_line, verdict, visible

_AROUND = 2  # lines of source shown before and after
_MOST_LINES = 24  # of source in an entry
_MOST_DIFF = 200


def render_html(report: Report, options: RenderOptions) -> str:
    """The page. All that comes from the scanned code is in one block of JSON, which a script puts in as text."""
    shown = page(report, 0, options.include_leave)
    rows = [row for row in account(report, options, shown) if row[0] not in ("look first", "")]
    return _filled(
        "report.html",
        {
            "title": f"{_project(options)} on {report.selection.name}: archscan",
            "heading": f"{_project(options)} on {report.selection.name}",
            "gpu": options.gpu + (f", CUDA {options.toolkit}" if options.toolkit else ""),
            "command": shlex.join(["archscan", "--target", report.selection.name, *options.paths]),
            "date": options.date,
            "verdict": verdict_sentence(report, options.include_leave),
            "version": __version__,
        },
        {
            "account": _account(rows),
            "answer": answer_markup(shown.features, report, options),
            "plain": plain_markup(shown, options),
        },
        _data(report, options, shown),
    )


def _project(options: RenderOptions) -> str:
    """What was scanned, by the names of the PATHs."""
    return (
        ", ".join(Path(path).resolve().name if path in (".", "./") else Path(path).name for path in options.paths)
        or "code"
    )


def render_matrix_html(title: str, table: Sequence[Row], sms: Sequence[int]) -> str:
    """The page of `archscan matrix`: the same heat map alone."""
    data = {
        "columns": [{"sm": sm, "target": False} for sm in sms],
        "matrix": [_matrix_row(row) for row in table],
        "entries": [],
        "chains": [],
    }
    words = {
        "title": f"{title}: archscan matrix",
        "heading": title,
        "gpu": "",
        "command": "",
        "date": "",
        "verdict": "",
        "version": __version__,
    }
    return _filled("report.html", words, {"account": "", "answer": "", "plain": ""}, data)


def _filled(name: str, words: dict[str, str], markup: dict[str, str], data: dict[str, Any]) -> str:
    """The template with words escaped, markup as it is, data harmless in a script element, and a policy to match."""
    template = (files("archscan.reporting") / name).read_text(encoding="utf-8")
    for key, text in words.items():
        template = template.replace(f"<!--{key}-->", html.escape(visible(text)))
    for key, text in markup.items():
        template = template.replace(f"<!--{key}-->", text)
    begin = template.index("<script>") + len("<script>")
    script = template[begin : template.index("</script>", begin)]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = template.replace(
        "<!--policy-->", f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    return template.replace("<!--data-->", _embedded(data))


def _embedded(data: object) -> str:
    """JSON that ends neither its element nor a line of a script, in ASCII."""
    text = json.dumps(_harmless(data), separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _harmless(item) for key, item in value.items()}
    return [_harmless(item) for item in value] if isinstance(value, (list, tuple)) else value


def _account(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<div><dt>{html.escape(label)}</dt><dd>{html.escape(visible(text))}</dd></div>" for label, text in rows
    )


def _data(report: Report, options: RenderOptions, shown: Page) -> dict[str, Any]:
    entries = [e for block in shown.blocks for e in block.entries]
    sms = columns(report.universe)
    used = {entry.finding.rule for entry in entries}
    return {
        "columns": [{"sm": sm, "target": sm == report.selection.sm} for sm in sms],
        "levels": [level.value for level in Level],
        "entries": [_entry(e, number, report, options, sms) for number, e in enumerate(entries)],
        "chains": [_chain(c) for c in _worst_first(report.chains, entries)],
        "leave": len(shown.leave),
        "words": GLOSSARY,
        "rules": {name: _rule(options.rules[name]) for name in sorted(used) if name in options.rules},
    }


def _rule(rule: Rule) -> dict[str, str]:
    return {"title": one_line(rule.title), "what": one_line(rule.what), "why": one_line(rule.why)}


def _worst_first(chains: Sequence[Chain], entries: Sequence[Entry]) -> list[Chain]:
    """Chains in the order of their worst entry; those without one come last."""
    place = {chain: number for number, chain in reversed(list(enumerate(e.finding.chain for e in entries)))}
    return sorted(chains, key=lambda chain: place.get(chain.id, len(entries)))


def _entry(entry: Entry, number: int, report: Report, options: RenderOptions, sms: Sequence[int]) -> dict[str, Any]:
    finding = entry.finding
    effect = gets(landing(finding, report.selection)) if finding.problem is Problem.EXCLUDED else ""
    return {
        "id": f"f-{finding.fingerprint}-{number}" if not finding.fingerprint else f"f-{finding.fingerprint}",
        "rule": finding.rule,
        "level": finding.severity.value,
        "score": finding.risk.score,
        "problem": finding.problem.value,
        "layer": finding.gate.layer.value,
        "path": options.typed(finding.path),
        "line": finding.place.line,
        "function": finding.function or "",
        "message": titled(finding),
        "label": verb(finding),
        "opening": opening(finding),
        "order": number,
        "condition": one_line(finding.condition),
        "verdict": verdict(finding),
        "admits": compact(finding.admits, report.universe) or "no target",
        "guarded": guarded(finding, report.selection) + (f"; {effect}" if effect else ""),
        "today": HAPPENS[finding.consequence],
        "happens": finding.consequence.value,
        "advice": finding.advice.value,
        "features": list(finding.features),
        "ifs": [*finding.assumes, *(f"unknown: {name}" for name in finding.unknowns)],
        "reasons": [
            {"text": one_line(r.text), "evidence": _evidence(r.evidence, finding)} for r in finding.risk.reasons
        ],
        "related": [
            {"role": r.role.value, "place": f"{r.path}:{r.line}", "message": one_line(r.message)}
            for r in finding.related
        ],
        "chain": finding.chain or "",
        "others": [f"{options.typed(f.path)}:{f.place.line}" for f in entry.others],
        "cells": _cells(finding, report, sms),
        "source": _source(finding, options),
        "fix": _fix(finding.fix, options) if finding.fix else None,
    }


def _evidence(evidence: Sequence[Evidence], finding: Finding) -> list[dict[str, Any]]:
    """Every fact with its source; that a finding was read at its own place goes without saying."""
    return [
        {
            "fact": one_line(e.fact + (f" ({', '.join(e.conditions)})" if e.conditions else "")),
            "source": one_line(source),
            "confidence": e.confidence + (", yours" if e.by_user else ""),
        }
        for e in evidence
        if (source := near(e.source, finding))
    ]


def _cells(finding: Finding, report: Report, sms: Sequence[int]) -> list[list[str]]:
    yes = report.universe.mask(report.universe.by_name[name] for name in finding.admits)
    unknown = 0
    if 0 <= finding.arm < len(finding.gate.arms):
        unknown = finding.gate.arms[finding.arm].assumed.unknown(report.universe.all)
    found = (cell(yes, unknown, sm, report.universe) for sm in sms)
    return [[c.answer, c.sign] for c in found]


def _matrix_row(row: Row) -> dict[str, Any]:
    return {
        "path": row.path,
        "line": row.line,
        "condition": one_line(row.condition),
        "cells": [[c.answer, c.sign] for c in row.cells],
        "more": row.more,
    }


def _source(finding: Finding, options: RenderOptions) -> list[list[Any]]:
    """Lines as [number, text, mark]: `gate` the condition, `body` the guarded code, `skip` a gap."""
    lines = options.sources.lines(finding.path)
    place, inside = finding.place, body_lines(finding.place, finding.body)
    if lines is None or place.line > len(lines):
        return []
    gate = range(place.line, min(place.end_line, place.line + 5) + 1)
    wanted = set(range(place.line - _AROUND, gate[-1] + 1))
    wanted |= set(inside[:_MOST_LINES]) | set(inside[-2:])
    wanted |= set(range(inside[-1] + 1, inside[-1] + 1 + _AROUND)) if inside else set(range(gate[-1], gate[-1] + 3))
    shown: list[list[Any]] = []
    for number in sorted(n for n in wanted if 1 <= n <= len(lines)):
        if shown and number > shown[-1][0] + 1:
            shown.append([number - 1, f"{number - shown[-1][0] - 1} lines", "skip"])
        mark = "gate" if number in gate else "body" if number in inside else ""
        shown.append([number, lines[number - 1].replace("\t", "    ")[:400], mark])
    return shown


def _fix(fix: Fix, options: RenderOptions) -> dict[str, Any]:
    diff = diff_lines(fix, options.sources)
    left = len(diff) - _MOST_DIFF
    return {
        "title": one_line(fix.title),
        "safety": "safe" if fix.safe else "unsafe",
        "reasons": [one_line(reason) for reason in fix.reasons],
        "diff": diff[:_MOST_DIFF],
        "cut": f"{left:,} more lines: archscan fix shows them all" if left > 0 else "",
    }


def _chain(chain: Chain) -> dict[str, Any]:
    return {
        "id": chain.id,
        "name": chain.name,
        "sentence": one_line(chain.sentence),
        "steps": [
            {
                "layer": s.layer,
                "place": f"{s.path}:{s.line}" if s.line else s.path,
                "state": s.state,
                "reach": s.reach,
                "role": s.role,
                "finding": f"f-{s.fingerprint}" if s.fingerprint else "",
                "message": one_line(s.message),
            }
            for s in chain.steps
        ],
    }
