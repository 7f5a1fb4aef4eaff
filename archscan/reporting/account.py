"""The account at the end of a report: every file and gate, what the verdicts rest on, what can be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from archscan.model.finding import UNCOUNTED, Consequence, Level, Problem
from archscan.model.report import Report
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import HIDDEN_FLAGS, Page, by_level, counts
from archscan.reporting.words import counted, one_line, size

Rows = list[tuple[str, str]]
_FEW = 3
_Part = Callable[[Report, RenderOptions, Page], Rows]


def account(report: Report, options: RenderOptions, shown: Page) -> Rows:
    """Labelled lines that account for every file and gate."""
    parts: tuple[_Part, ...] = (
        _headline, _files, _binaries, _gates, _undecided, _not_understood, _fixable, _rests_on,
    )  # fmt: skip
    return [row for part in parts for row in part(report, options, shown)]


def _headline(report: Report, options: RenderOptions, shown: Page) -> Rows:
    findings = [f for f in report.findings if options.include_leave or f.listed]
    variants = ", ".join(f"sm_{t.sm}{t.suffix}" for t in report.selection.variants)
    if not findings:
        words = "nothing to report"
    else:
        levels = ", ".join(f"{number:,} {level.value}" for level, number in by_level(findings))
        problems = Counter(f.problem for f in findings)
        kinds = ", ".join(f"{problems[p]} {p.value}" for p in Problem if problems[p])
        words = f"{counted(len(findings), 'finding')}: {levels} ({kinds})"
    return [(report.selection.name, f"{words}; judged as {variants}")]


def _files(report: Report, options: RenderOptions, shown: Page) -> Rows:
    facts = report.facts
    with_gates = sum(bool(f.gates) for f in facts.files)
    read = counted(facts.files_read or len(facts.files), "file")
    words = f"{read} read ({size(facts.bytes_read)}), {with_gates} with gates"
    rows = [("files", words + (f"; {facts.other:,} of other kinds" if facts.other else ""))]
    for label, left in (("skipped", report.skipped), ("failed", report.failed)):
        if left and options.verbosity > 0:
            places = [f"{options.typed(one.path)}  {one_line(one.reason)}" for one in left]
            rows += [(label, places[0]), *(("", place) for place in places[1:])]
        elif left:
            rows.append((label, f"{counted(len(left), 'path')}: {_kinds(one.reason for one in left)}; -v lists them"))
    return rows


def _kinds(reasons: Iterable[str]) -> str:
    """How many there are of every kind of reason, without what is different of each."""
    kinds = Counter(one_line(reason.partition(": ")[0]) for reason in reasons)
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items(), key=lambda k: (-k[1], k[0])))


def _not_understood(report: Report, options: RenderOptions, shown: Page) -> Rows:
    """Places that ask for the architecture, or may do so, in a way that was not understood."""
    places = [u for u in report.undecided if u.reason]
    if not places:
        return []
    label = "not read"
    if options.verbosity > 0:
        told = [f"{options.typed(u.path)}:{u.line}  {one_line(u.condition)}  ({one_line(u.reason)})" for u in places]
        return [(label, told[0]), *(("", place) for place in told[1:])]
    return [(label, f"{counted(len(places), 'place')}: {_kinds(u.reason for u in places)}; -v lists them")]


def _binaries(report: Report, options: RenderOptions, shown: Page) -> Rows:
    """What the compiled libraries come to for the target."""
    found = report.binaries
    if found is None:
        return []
    parts = [f"{found.run:,} run"] if found.run else []
    parts += [f"{found.jit:,} by JIT"] if found.jit else []
    if found.jit_modules:
        parts[-1] += f" ({counted(found.jit_modules, 'module')})" if found.jit else ""
        parts += [] if found.jit else [f"{counted(found.jit_modules, 'module')} of these by JIT"]
    parts += [f"{found.nothing:,} not at all"] if found.nothing else []
    parts += [f"{found.disputed:,} that sources disagree about"] if found.disputed else []
    left = sum(f.binary is not None and not f.listed for f in report.findings)
    if left and not options.include_leave:
        parts[-1] += f", {counted(left, 'finding')} of other chips' own code (--include-leave)"
    words = f"{counted(found.libraries, 'library', 'libraries')}, {counted(found.images, 'image')}"
    words += f": {', '.join(parts)}" if parts else ""
    if found.elsewhere:
        away = (
            f"{found.elsewhere:,} not judged: {report.selection.name} comes with {found.host} processors, look at the"
        )
        words = f"{away} {found.host} wheel" if not found.libraries else f"{words}; {away} {found.host} wheel for them"
    return [("binaries", words)]


def _gates(report: Report, options: RenderOptions, shown: Page) -> Rows:
    number = counts(report)
    parts = [f"{number['finding']:,} reported"]
    if number["investigate"]:
        parts.append(f"{number['investigate']:,} of which nothing is known (--advice investigate)")
    if number["leave"]:
        flag = "" if options.include_leave else " (--include-leave)"
        parts.append(f"{number['leave']:,} right as they are{flag}")
    for name, hidden in report.hidden:
        flag = f" ({HIDDEN_FLAGS[name]})" if name in HIDDEN_FLAGS else ""
        parts.append(f"{hidden:,} {name}{flag}")
    parts += [f"{number[key]:,} {key}" for key in ("undecided", "suppressed", "baselined") if number[key]]
    parts.append(f"{number['clean']:,} clean for {report.selection.name}")
    other = f"; {counted(number['other'], 'place')} reported besides (no condition)" if number["other"] else ""
    return [("gates", f"{number['gates']:,} seen: " + ", ".join(parts) + other)]


def _undecided(report: Report, options: RenderOptions, shown: Page) -> Rows:
    undecided = [u for u in report.undecided if not u.reason]
    if not undecided:
        return []
    if options.verbosity > 0:
        places = [f"{options.typed(u.path)}:{u.line}  {one_line(u.condition)}  {' '.join(u.settle)}" for u in undecided]
        return [("undecided", places[0]), *(("", place) for place in places[1:])]
    names = Counter(one_line(name) for u in undecided for name in u.unknowns)
    common = ", ".join(f"{name} ({number})" for name, number in sorted(names.items(), key=lambda n: (-n[1], n[0]))[:5])
    more = f" and {len(names) - 5} more names" if len(names) > 5 else ""
    settled = "; some can be settled with -D or -U" if any(u.settle for u in undecided) else ""
    return [("undecided", f"they rest on {common}{more}{settled}; -v lists them")] if common else []


def _fixable(report: Report, options: RenderOptions, shown: Page) -> Rows:
    fixes = [f.fix for f in report.findings if f.fix]
    how = f"archscan fix --target {report.selection.name}"
    if fixes:
        safe = sum(fix.safe for fix in fixes)
        return [("fixes", f"{len(fixes)} proposed, {safe} of them safe: {how}")]
    open_to_edits = any(
        f.advice not in UNCOUNTED and f.risk.level is not Level.BLOCKED and f.binary is None for f in report.findings
    )
    return [("fixes", f"not worked out here: {how} shows edits that are proven")] if open_to_edits else []


def _rests_on(report: Report, options: RenderOptions, shown: Page) -> Rows:
    rows = [("assumed", "; ".join(one_line(a) for a in report.assumptions))] if report.assumptions else []
    unused = report.unused_suppressions
    if unused:
        places = ", ".join(f"{options.typed(path)}:{line}" for path, line in unused[:5])
        rows.append(("unused", f"{counted(len(unused), 'suppression')} without effect: {places}"))
    return rows + [("note", one_line(note)) for note in report.notes]


_SILENT = frozenset({Consequence.SILENT_NOOP, Consequence.RACE, Consequence.WRONG_RESULT})
_SLOW = frozenset({Consequence.SLOW_FALLBACK, Consequence.DEGRADED_TUNING})
_NONE = frozenset({Consequence.NO_EFFECT, Consequence.CORRECT_EXCLUSION})


def verdict_sentence(report: Report, include_leave: bool) -> str:
    """The report in one sentence: how much goes wrong for the target, silently or not."""
    shown = [f for f in report.findings if include_leave or f.listed]
    name = report.selection.name
    if not shown:
        seen = sum(len(file.gates) for file in report.facts.files)
        return f"Nothing goes wrong for {name}: {counted(seen, 'gate')} seen, {len(report.undecided)} undecided."
    kinds = Counter(_outcome(f.consequence) for f in shown)
    parts = [f"{number:,} {kind}" for kind in _OUTCOMES if (number := kinds[kind])]
    return f"{counted(len(shown), 'gate')} go{'es' if len(shown) == 1 else ''} wrong for {name}: {', '.join(parts)}."


_OUTCOMES = ("silently wrong", "failing or refusing", "slower than need be", "without effect")


def _outcome(consequence: Consequence) -> str:
    if consequence in _SILENT:
        return _OUTCOMES[0]
    if consequence in _SLOW:
        return _OUTCOMES[2]
    return _OUTCOMES[3] if consequence in _NONE else _OUTCOMES[1]
