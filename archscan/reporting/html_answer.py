"""The part of the HTML page that needs no script: the features with their layers, and every finding as a line."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

from archscan.model.finding import Level
from archscan.model.report import Report
from archscan.reporting.features import OPEN, SHUT, UNKNOWN, Feature, Lane, to_open, today
from archscan.reporting.first_screen import MOST, next_command
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import Entry, Page
from archscan.reporting.plain import NOTHING_TO_OPEN, opening, said, verb
from archscan.reporting.words import counted, visible

_MARKS = {OPEN: "lets it in", SHUT: "shuts it out", UNKNOWN: "unknown"}


def answer_markup(features: Sequence[Feature], report: Report, options: RenderOptions) -> str:
    """The first five features; the others folded below them. Empty if there is none."""
    told = [feature for feature in features if not feature.is_right]
    if not told:
        return ""
    levels = Counter(feature.severity for feature in told)
    kinds = ", ".join(f"{levels[level]:,} {level.value}" for level in Level if levels[level])
    items = [_feature(feature, report, options) for feature in told]
    legend = '<p class="soft">x shuts it out, o lets it in, ? unknown</p>'
    text = (
        f"<h2>{counted(len(told), 'feature')} shut, wrong or slow: {kinds}</h2>{legend}<ol>{''.join(items[:MOST])}</ol>"
    )
    if len(told) > MOST:
        rest = f"<ol start={MOST + 1}>{''.join(items[MOST:])}</ol>"
        text += f"<details><summary>{counted(len(told) - MOST, 'more feature')}</summary>{rest}</details>"
    return text


def _feature(feature: Feature, report: Report, options: RenderOptions) -> str:
    level = feature.severity.value
    also = f" and {len(feature.also)} more" if feature.also else ""
    answer = to_open(feature, report.selection.name)
    label = "" if answer.startswith(NOTHING_TO_OPEN) else f"{verb(feature.met)}: "
    command = next_command(feature, report.selection.name, options)
    place = f"{options.typed(feature.met.path)}:{feature.met.place.line}"
    parts = [
        f'<h3><span class="level {level}">{level}</span> <b>{_text(feature.name)}</b>{also}</h3>',
        f"<p>{_text(today(feature))} ",
        f'<a class="mono" href="#f-{_text(feature.met.fingerprint)}">{_text(place)}</a></p>',
        f'<ul class="lanes" aria-label="Layers">{"".join(map(_lane, feature.lanes))}</ul>' if feature.lanes else "",
        f"<p>{_text(label + answer)}</p>",
        f'<p class="command"><code>{_text(command)}</code></p>' if command else "",
    ]
    return f'<li class="feature">{"".join(parts)}</li>'


def _lane(lane: Lane) -> str:
    """A layer as a box; what is shut is told by more than its colour."""
    number = f" {lane.gates}" if lane.gates > 1 else ""
    sign = {OPEN: "o", SHUT: "x", UNKNOWN: "?"}[lane.state]
    return f'<li class="{lane.state}" title="{_MARKS[lane.state]}">{_text(lane.name)}{number} {sign}</li>'


def plain_markup(shown: Page, options: RenderOptions) -> str:
    """Every finding as a line, for readers without a script."""
    entries = [entry for block in shown.blocks for entry in block.entries]
    return "".join(_line(entry, options) for entry in entries)


def _line(entry: Entry, options: RenderOptions) -> str:
    finding = entry.finding
    place = f"{options.typed(finding.path)}:{finding.place.line}"
    more = f" and {len(entry.others)} more like it" if entry.others else ""
    return (
        f'<li><span class="level {finding.severity.value}">{finding.severity.value}</span> {_text(said(finding))}<br>'
        f'<span class="mono">{_text(place)}</span>{more}<br>{verb(finding)}: {_text(opening(finding))}</li>'
    )


def _text(text: str) -> str:
    """Text as text, whatever is in it."""
    return html.escape(visible(" ".join(text.split())))
