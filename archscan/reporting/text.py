"""The report for a terminal: what is wrong, where, what it costs, and an account of everything that was read."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from archscan.model.finding import Evidence, Finding, Problem
from archscan.model.gate import Place, Related, Role
from archscan.model.report import Report
from archscan.reporting.account import account
from archscan.reporting.canvas import COLORS, Canvas
from archscan.reporting.first_screen import counted_lines, first_screen
from archscan.reporting.fix_diff import diff_lines
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import Block, Entry, Page, by_level, page
from archscan.reporting.plain import opening, said, titled, verb
from archscan.reporting.words import (
    body_lines,
    cells,
    compact,
    counted,
    few,
    gets,
    guarded,
    landing,
    near,
    one_line,
    shortened,
    verdict,
    visible,
)

_MOST_SOURCES = 2
_MOST_RELATED = 3
_MOST_LISTED = 99
_TAB = "    "
_CHANGED = re.compile(r"[+-](?!\+\+ b/|-- a/)")
_MOST_CHANGED = 6
_MOST_PLACES = 3


def render_text(report: Report, options: RenderOptions) -> str:
    """The whole text report, closed by a newline."""
    canvas = Canvas(report, options)
    shown = page(report, options.limit, options.include_leave)
    lines: list[str] = []
    if options.verbosity >= 0 and (report.chains or len(shown.blocks) > 1 or len(shown.features) > 1):
        lines += first_screen(shown.features, canvas)
    for block in shown.blocks:
        lines += _block(block, canvas)
    lines += _left_out(shown, canvas)
    lines += counted_lines(shown, canvas)
    lines += _summary(shown, canvas)
    return "\n".join(lines) + "\n"


def _block(block: Block, canvas: Canvas) -> list[str]:
    lines: list[str] = []
    if block.chain and canvas.options.verbosity >= 0:
        lines += _chain_header(block, canvas)
    for entry in block.entries:
        lines += _brief(entry, canvas) if canvas.options.verbosity < 0 else [*_entry(entry, canvas), ""]
    return lines


def _chain_header(block: Block, canvas: Canvas) -> list[str]:
    assert block.chain
    findings = [f for e in block.entries for f in (e.finding, *e.others)]
    files = len({f.path for f in findings})
    title = f"{visible(block.chain.name)}: {counted(len(findings), 'finding')} in {counted(files, 'file')}"
    lines = [canvas.paint(title, bold=True)]
    if block.chain.sentence:
        sentence = one_line(block.chain.sentence)
        if canvas.options.verbosity < 1:
            sentence = "; ".join(_in_short(part) for part in sentence.split("; "))
        lines += canvas.wrapped("  ", "  ", sentence)
    return [*lines, ""]


def _in_short(part: str) -> str:
    """A part of a chain's sentence with the first of its places; `trace` and -v name all."""
    words, colon, places = part.partition(": ")
    files = places.split(", ")
    more = f" and {len(files) - _MOST_PLACES} more files" if len(files) > _MOST_PLACES else ""
    return f"{words}{colon}{', '.join(files[:_MOST_PLACES])}{more}"


def _brief(entry: Entry, canvas: Canvas) -> list[str]:
    finding = entry.finding
    more = f" (+{len(entry.others)})" if entry.others else ""
    place = canvas.place(finding.path, finding.place.line, finding.place.column)
    return [f"{place}: {_title(finding, canvas)}{more}"]


def _title(finding: Finding, canvas: Canvas) -> str:
    level = canvas.paint(f"{finding.severity.value}[{finding.rule}]", COLORS[finding.severity], bold=True)
    return f"{level}: {canvas.paint(said(finding), bold=True)}"


def _entry(entry: Entry, canvas: Canvas) -> list[str]:
    finding = entry.finding
    margin = _Margin(max(len(str(_last_line(finding))), 3))
    lines = _heading(finding, canvas)
    if finding.binary is not None:
        lines.append(f"{' ' * margin.width}{canvas.paint('-->', 'blue')} {canvas.path(finding.path)}")
        return [*lines, *_compiled(finding, margin, canvas), *_others(entry, margin, canvas)]
    where = canvas.place(finding.path, finding.place.line, finding.place.column)
    function = f"  in {visible(finding.function)}" if finding.function else ""
    lines.append(f"{' ' * margin.width}{canvas.paint('-->', 'blue')} {where}{function}")
    if canvas.options.verbosity > 0:
        return [*lines, *_excerpt(finding, margin, canvas), *_facts(entry, margin, canvas)]
    lines += _code(finding, margin, canvas)
    lines += _note(*_answer(finding), margin, canvas)
    return [*lines, *_fix(finding, margin, canvas), *_others(entry, margin, canvas)]


def _answer(finding: Finding) -> tuple[str, str]:
    """The label and the words of what there is to do."""
    return verb(finding), opening(finding)


def _code(finding: Finding, margin: _Margin, canvas: Canvas) -> list[str]:
    """The line that decides, and whom it lets in."""
    source = canvas.options.sources.lines(finding.path)
    width = canvas.options.width - margin.width - 3
    admits = compact(finding.admits, canvas.report.universe) or "no target"
    if source is None or finding.place.line > len(source):
        number, text = finding.place.line, shortened(one_line(finding.condition), width)
    else:
        focus = _focus(finding, source)
        number = focus.line if focus else finding.place.line
        text, _, _ = _clipped(source[number - 1], focus, number, width)
    lines = [margin.line(number) + text]
    yes = f"(yes: {admits})"
    if cells(text) + 2 + cells(yes) <= width:
        return [f"{lines[0]}  {canvas.paint(yes, dim=True)}"]
    return [*lines, *(margin.line(None) + canvas.paint(line, dim=True) for line in textwrap.wrap(yes, width))]


def _compiled(finding: Finding, margin: _Margin, canvas: Canvas) -> list[str]:
    """The `=` lines of a finding about a compiled library, which has no lines to show."""
    happens, helps, *more = finding.risk.reasons
    lines = _note("today", happens.text, margin, canvas)
    lines += _note(verb(finding), helps.text, margin, canvas)
    for reason in more:
        lines += _note("note", reason.text + _sources(reason.evidence, finding, _MOST_SOURCES), margin, canvas)
    most = len(finding.related) if canvas.options.verbosity > 0 else _MOST_RELATED
    for kernel in finding.related[:most]:
        lines += _note("kernel", one_line(kernel.message), margin, canvas)
    if len(finding.related) > most:
        lines += _note("kernel", f"{counted(len(finding.related) - most, 'more line')} (-v)", margin, canvas)
    return lines


def _heading(finding: Finding, canvas: Canvas) -> list[str]:
    """The title, wrapped before it is painted; with -v the score that orders the report at the right."""
    text = titled(finding)
    label = f"{finding.severity.value}[{finding.rule}]: "
    score = f"order {finding.risk.score}" if canvas.options.verbosity > 0 else ""
    room = canvas.options.width - (len(score) + 2 if score else 0)
    body = textwrap.wrap(label + text, room, subsequent_indent="  ") or [label]
    gap = " " * (canvas.options.width - cells(body[0]) - len(score))
    right = gap + canvas.paint(score, dim=True) if score else ""
    color = COLORS[finding.severity]
    if not body[0].startswith(label.rstrip()):
        return [canvas.paint(line, bold=True) for line in body]
    head = canvas.paint(label.rstrip()[:-1], color, bold=True) + ":"
    first = head + canvas.paint(body[0][len(label.rstrip()) :], bold=True) + right
    return [first, *(canvas.paint(line, bold=True) for line in body[1:])]


def _last_line(finding: Finding) -> int:
    return max(finding.place.end_line, body_lines(finding.place, finding.body).stop - 1)


@dataclass(frozen=True, slots=True)
class _Margin:
    """The column of line numbers."""

    width: int

    def line(self, number: int | None, mark: str = "|") -> str:
        """`711 | ` or `    | `."""
        return f"{number if number is not None else '':>{self.width}} {mark} "


def _excerpt(finding: Finding, margin: _Margin, canvas: Canvas) -> list[str]:
    """The condition with a caret under what decides, and the code behind it."""
    source = canvas.options.sources.lines(finding.path)
    lines = [margin.line(None).rstrip()]
    if source is None or finding.place.line > len(source):
        condition = shortened(one_line(finding.condition), canvas.options.width - margin.width - 3)
        lines.append(margin.line(finding.place.line) + condition)
        return [*lines, margin.line(None) + _says(finding, canvas)]
    focus = _focus(finding, source)
    last = min(finding.place.end_line, finding.place.line + 3, len(source))
    for number in range(finding.place.line, last + 1):
        text, start, stop = _clipped(source[number - 1], focus, number, canvas.options.width - margin.width - 3)
        lines.append(margin.line(number) + text)
        if focus and number == focus.line:
            lines += _caret(start, stop, finding, margin, canvas)
    if focus is None:
        lines += [margin.line(None) + canvas.paint(_says(finding, canvas), COLORS[finding.severity])]
    return [*lines, *_behind(finding, source, margin, canvas)]


def _focus(finding: Finding, source: Sequence[str]) -> Place | None:
    """What to underline: the part that decides, else the condition; None if that is spread over lines."""
    arms, place = finding.gate.arms, finding.place
    arm = arms[finding.arm] if 0 <= finding.arm < len(arms) else None
    if arm and arm.focus and place.line <= arm.focus.line == arm.focus.end_line <= place.line + 3:
        return arm.focus
    if place.line != place.end_line:
        return None
    at = source[place.line - 1].find(finding.condition) if finding.condition else -1
    return replace(place, column=at + 1, end_column=at + 1 + len(finding.condition)) if at >= 0 else place


def _clipped(line: str, focus: Place | None, number: int, width: int) -> tuple[str, int, int]:
    """The line as shown, with the columns (in cells) of the focus in it; long lines are cut around the focus."""
    begin, end = 0, len(line.rstrip())
    if focus and number == focus.line:
        begin, end = focus.column - 1, focus.end_column - 1
    before = visible(line[:begin].replace("\t", _TAB))
    middle = visible(line[begin:end].replace("\t", _TAB)) or " "
    after = visible(line[end:].rstrip().replace("\t", _TAB))
    if cells(before + middle + after) > width:
        middle = shortened(middle, max(width - 8, 12))
        room = max(width - cells(middle) - cells(after[:12]) - 2, 0)
        before = "…" + before[-room:] if cells(before) > room and room else before[: room or 0]
        after = shortened(after, max(width - cells(before + middle), 1)) if after else ""
    start = cells(before)
    return before + middle + after, start, start + cells(middle)


def _caret(start: int, stop: int, finding: Finding, margin: _Margin, canvas: Canvas) -> list[str]:
    color = COLORS[finding.severity]
    says = _says(finding, canvas)
    mark = " " * start + "^" * max(stop - start, 1)
    width = canvas.options.width - margin.width - 3
    if cells(mark) + 1 + cells(says) <= width:
        return [margin.line(None) + canvas.paint(f"{mark} {says}", color)]
    return [
        margin.line(None) + canvas.paint(mark, color),
        *(margin.line(None) + canvas.paint(line, color) for line in _beside(says, start, width)),
    ]


def _beside(text: str, start: int, width: int) -> list[str]:
    """`text` wrapped below a caret that begins at `start`, moved left as far as it needs."""
    indent = min(start, max(width - cells(text), 2))
    return textwrap.wrap(text, width, initial_indent=" " * indent, subsequent_indent=" " * indent)


def _says(finding: Finding, canvas: Canvas) -> str:
    admits = compact(finding.admits, canvas.report.universe)
    return f"{verdict(finding)}  (yes: {admits or 'no target'})"


def _behind(finding: Finding, source: Sequence[str], margin: _Margin, canvas: Canvas) -> list[str]:
    """The guarded code: its first line, how much more there is, and what the target gets instead."""
    inside = body_lines(finding.place, finding.body)
    effect = gets(landing(finding, canvas.report.selection))
    width = canvas.options.width - margin.width - 3
    if not inside or inside[0] > len(source):
        return _tail(effect, margin, width) if finding.problem is Problem.EXCLUDED else []
    filled = [n for n in inside if n <= len(source) and source[n - 1].strip() and n > finding.place.end_line]
    words = guarded(finding, canvas.report.selection) + (f"; {effect}" if finding.problem is Problem.EXCLUDED else "")
    if not filled:
        return _tail(words, margin, width)
    first = visible(source[filled[0] - 1].rstrip().replace("\t", _TAB))
    lines = [margin.line(filled[0]) + shortened(first, width)] if filled[0] > finding.place.end_line else []
    if len(filled) > 1:
        words = f"lines {filled[0]}-{filled[-1]}: {words}"
    return [*lines, *_tail(words, margin, width)]


def _tail(words: str, margin: _Margin, width: int) -> list[str]:
    return [margin.line(None, ":") + line for line in textwrap.wrap(words, max(width, 20))]


def _facts(entry: Entry, margin: _Margin, canvas: Canvas) -> list[str]:
    """The `=` lines of -v: what it takes, what it uses, every reason with its evidence, related places, the fix."""
    finding = entry.finding
    label, answer = _answer(finding)
    lines = _note(label, f"{answer} [{finding.advice.value}]", margin, canvas)
    if finding.features:
        lines += _note("uses", ", ".join(finding.features), margin, canvas)
    for reason in finding.risk.reasons:
        lines += _note("risk", one_line(reason.text), margin, canvas)
        for evidence in reason.evidence:
            lines += _note("    ", _evidence(evidence), margin, canvas)
    if finding.assumes:
        lines += _note("besides", few(finding.assumes, _MOST_LISTED) + " can decide it too", margin, canvas)
    unknown = [name for name in finding.unknowns if name not in finding.assumes]
    if unknown:
        lines += _note("if", "unknown: " + few(unknown, _MOST_LISTED), margin, canvas)
    return [*lines, *_related(finding, margin, canvas), *_fix(finding, margin, canvas), *_others(entry, margin, canvas)]


def _sources(evidence: Sequence[Evidence], finding: Finding, most: int) -> str:
    """`  [source; source, medium]` for the evidence behind a reason; a confidence that is high goes without saying."""
    said: dict[str, None] = {}
    for one in evidence:
        source = one_line(near(one.source, finding))
        confidence = "" if one.confidence == "high" else f", {one.confidence}"
        if source:
            first, comma, _ = source.partition(", ")
            shown = f"{first} and others" if comma and most == _MOST_SOURCES else source
            said[shown + confidence + (", yours" if one.by_user else "")] = None
    names = [*list(said)[:most], *([f"{len(said) - most} more"] if len(said) > most else [])]
    return f"  [{'; '.join(names)}]" if names else ""


def _evidence(evidence: Evidence) -> str:
    conditions = f" ({', '.join(evidence.conditions)})" if evidence.conditions else ""
    whose = ", yours" if evidence.by_user else ""
    return one_line(f"{evidence.fact}{conditions}  [{evidence.source}, {evidence.confidence}{whose}]")


_ROLE_WORDS = {
    Role.PAIR: "pair",
    Role.DEFINITION: "from",
    Role.CALLER: "used",
    Role.DUPLICATE: "same",
    Role.ALSO_CHANGE: "also",
}


def _related(finding: Finding, margin: _Margin, canvas: Canvas) -> list[str]:
    """Related places; those that mean the same in one line."""
    groups: dict[tuple[Role, str], list[Related]] = {}
    for place in finding.related:
        groups.setdefault((place.role, place.message), []).append(place)
    lines: list[str] = []
    for (role, message), places in groups.items():
        lines += _note(_ROLE_WORDS[role], f"{_where(places, finding)}  {one_line(message)}", margin, canvas)
    return lines


def _where(places: Sequence[Related], finding: Finding) -> str:
    """Places in few words: `lines 7, 9; other.cuh:12`. The finding's own file goes without saying."""
    here = [str(p.line) for p in places if p.path == finding.path]
    words = [f"line{'s' * (len(here) > 1)} {', '.join(here)}"] if here else []
    elsewhere: dict[str, list[str]] = {}
    for place in places:
        if place.path != finding.path:
            elsewhere.setdefault(place.path, []).append(str(place.line))
    words += [f"{visible(path)}:{','.join(numbers)}" for path, numbers in elsewhere.items()]
    return "; ".join(words)


def _fix(finding: Finding, margin: _Margin, canvas: Canvas) -> list[str]:
    if finding.fix is None:
        return []
    flag = "" if finding.fix.safe else " --unsafe"
    word = "safe" if finding.fix.safe else "unsafe"
    how = f"archscan fix --target {canvas.report.selection.name}{flag}"
    lines = _note("fix", f"{word}: {one_line(finding.fix.title)} ({how})", margin, canvas)
    changed = [line for line in diff_lines(finding.fix, canvas.options.sources) if _CHANGED.match(line)]
    for line in changed[:_MOST_CHANGED]:
        text = shortened(visible(line.replace("\t", _TAB)), canvas.options.width - margin.width - 7)
        lines.append(" " * (margin.width + 7) + canvas.paint(text, "green" if line[0] == "+" else "red"))
    if len(changed) > _MOST_CHANGED:
        lines.append(" " * (margin.width + 7) + f"{len(changed) - _MOST_CHANGED} more lines change")
    return lines


def _others(entry: Entry, margin: _Margin, canvas: Canvas) -> list[str]:
    if not entry.others:
        return []
    here = [str(f.place.line) for f in entry.others if f.path == entry.finding.path]
    elsewhere = [f"{canvas.path(f.path)}:{f.place.line}" for f in entry.others if f.path != entry.finding.path]
    most = len(elsewhere) if canvas.options.verbosity > 0 else 6
    words = [f"lines {', '.join(here)}" if len(here) > 1 else f"line {here[0]}"] if here else []
    words += elsewhere[:most] + ([f"{len(elsewhere) - most} more (-v)"] if len(elsewhere) > most else [])
    return _note(f"and {len(entry.others)} more like it", ", ".join(words), margin, canvas)


def _note(label: str, text: str, margin: _Margin, canvas: Canvas) -> list[str]:
    head = f"{' ' * margin.width} = {label}: " if label.strip() else f"{' ' * margin.width}     {label}"
    indent = " " * (margin.width + 3 + min(len(label) + 2, 8))
    return canvas.wrapped(head, indent, text)


def _left_out(shown: Page, canvas: Canvas) -> list[str]:
    if not shown.left_out:
        return []
    findings = [f for e in shown.left_out for f in (e.finding, *e.others)]
    levels = ", ".join(f"{number:,} {level.value}" for level, number in by_level(findings))
    text = f"… {counted(len(shown.left_out), 'more entry', 'more entries')} ({levels}): --limit 0 shows all of them"
    return [canvas.paint(text, bold=True), ""]


def _summary(shown: Page, canvas: Canvas) -> list[str]:
    lines: list[str] = []
    rows = account(canvas.report, canvas.options, shown)
    for label, text in rows if canvas.options.verbosity >= 0 else rows[:1]:
        lines += canvas.wrapped(f"{label:<11}", " " * 11, text)
    return lines
