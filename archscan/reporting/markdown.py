"""Markdown for a step summary or a pull-request comment: a table of what matters, details folded."""

from __future__ import annotations

import html
import re

from archscan.model.report import Report
from archscan.reporting.account import account
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import Block, Entry, page
from archscan.reporting.plain import HAPPENS, answer, titled
from archscan.reporting.words import compact, counted, one_line, verdict

_SPECIAL = re.compile(r"([\\`*_\[\]#|~@$]|:(?=//))")


def render_markdown(report: Report, options: RenderOptions) -> str:
    """The summary as Markdown that GitHub renders; nothing in names or messages can become markup."""
    shown = page(report, options.limit, options.include_leave)
    rows = account(report, options, shown)
    lines = [f"## archscan: {plain(report.selection.name)}", "", f"**{plain(rows[0][1])}**", ""]
    for block in shown.blocks:
        lines += _block(block, report, options)
    if shown.left_out:
        lines += [f"{counted(len(shown.left_out), 'more entry', 'more entries')} of lower risk.", ""]
    lines += ["| | |", "|---|---|"] + [f"| {plain(label)} | {plain(text)} |" for label, text in rows[1:]]
    return "\n".join(lines) + "\n"


def _block(block: Block, report: Report, options: RenderOptions) -> list[str]:
    lines: list[str] = []
    if block.chain:
        sentence = f": {plain(block.chain.sentence)}" if block.chain.sentence else ""
        lines += [
            f"### Chain {plain(block.chain.name)}",
            "",
            f"{counted(len(block.entries), 'entry', 'entries')}{sentence}",
            "",
        ]
    lines += ["| risk | rule | where | what |", "|---|---|---|---|"]
    lines += [_row(entry, options) for entry in block.entries]
    lines += ["", "<details><summary>Evidence</summary>", ""]
    for entry in block.entries:
        lines += _details(entry, report, options)
    return [*lines, "</details>", ""]


def _row(entry: Entry, options: RenderOptions) -> str:
    finding = entry.finding
    more = f" and {len(entry.others)} more" if entry.others else ""
    where = f"{_code(f'{options.located(finding.path)}:{finding.place.line}')}{more}"
    risk = f"{finding.severity.value}; to open: {finding.risk.level.value} ({finding.risk.score})"
    return f"| {risk} | {_code(finding.rule)} | {where} | {plain(titled(finding))} |"


def _details(entry: Entry, report: Report, options: RenderOptions) -> list[str]:
    finding = entry.finding
    lines = [f"**{plain(titled(finding))}** at {_code(f'{options.located(finding.path)}:{finding.place.line}')}", ""]
    lines.append(f"- {_code(finding.condition)}: {plain(verdict(finding))}")
    lines.append(f"- taken by {plain(compact(finding.admits, report.universe) or 'no target')}")
    lines.append(f"- today: {plain(HAPPENS[finding.consequence])}")
    lines.append(f"- {plain(answer(finding))}")
    for reason in finding.risk.reasons:
        lines.append(f"- {plain(reason.text)}")
        lines += [f"  - {plain(e.fact)} ({plain(e.source)}, {plain(e.confidence)})" for e in reason.evidence]
    for place in finding.related[:5]:
        lines.append(f"- {plain(place.role.value)}: {_code(f'{place.path}:{place.line}')} {plain(place.message)}")
    others = ", ".join(_code(f"{options.located(f.path)}:{f.place.line}") for f in entry.others[:20])
    return [*lines, *([f"- the same at {others}"] if others else []), ""]


def plain(text: str) -> str:
    """Text as text: every character that Markdown or HTML gives a meaning is written as an entity or escaped."""
    return html.escape(_SPECIAL.sub(r"\\\1", one_line(text)), quote=False)


def _code(text: str) -> str:
    """Text as code; HTML, because backticks and bars in it would end a Markdown code span or a table cell."""
    return f"<code>{_AS_ENTITY.sub(lambda m: f'&#{ord(m[0])};', html.escape(one_line(text)))}</code>"


_AS_ENTITY = re.compile(r"[|`*_\[\]~@\\$]|:(?=//)")
