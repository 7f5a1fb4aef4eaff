"""Findings in plain words: what happens today, and what opening the gate takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from archscan.model.finding import UNCOUNTED, Advice, Consequence, Finding, Level, Problem, Reason
from archscan.model.gate import Related, Role
from archscan.reporting.words import few, one_line

HAPPENS = {
    Consequence.COMPILE_ERROR: "the build stops",
    Consequence.LOAD_ERROR: "there is no code for it to load",
    Consequence.RUNTIME_ERROR: "an error at run time",
    Consequence.TRAP: "the kernel traps",
    Consequence.SILENT_NOOP: "launches and writes nothing",
    Consequence.RACE: "data can be read before it is written",
    Consequence.WRONG_RESULT: "results are wrong, without an error",
    Consequence.SLOW_FALLBACK: "a fallback runs instead",
    Consequence.DEGRADED_TUNING: "it runs with settings meant for other chips",
    Consequence.NO_EFFECT: "nothing is lost",
    Consequence.CORRECT_EXCLUSION: "it could not run there",
}
NOTHING_TO_OPEN = "nothing to open"
_OPENING = {
    Advice.LEAVE: "nothing, it is right as it is",
    Advice.WIDEN_SAFE: "widen it",
    Advice.WIDEN_NEEDS_TUNING: "it runs; test and measure, its numbers were chosen for other chips",
    Advice.WIDEN_PERF_RISK: "it runs, and may cost time: measure",
    Advice.WIDEN_UNSAFE_COMPILE: "no use: it does not assemble here, another implementation is needed",
    Advice.WIDEN_UNSAFE_RUNTIME: "alone it fails later",
    Advice.NARROW: "bound it",
    Advice.PAIR: "only together with its other half",
    Advice.CONTESTED: "reports disagree: test on the card",
    Advice.INVESTIGATE: "not known",
}
_MOST_FILES = 2
_MOST_LINES = 3
GLOSSARY = {
    "excluded": "The gate shuts the GPU out of a kernel, a fast path, a build or a table.",
    "over-admitted": "The gate lets the GPU into code that it cannot run.",
    "disagrees": "Two halves of one feature answer differently for the GPU.",
    "chain": (
        "The gates of one feature over all layers (Python, JIT list, build, header, binary), in the order in which they"
        " bite. `archscan trace NAME` shows one."
    ),
    "pair": (
        "The gate is half of something: opened alone, the other half that is still shut races, traps, writes nothing or"
        " raises. Open all of the places named, or none; `archscan fix` edits them together."
    ),
    "leave": (
        "Right as it is: it could not run there, or what the GPU gets instead is a full replacement. Never counts for"
        " --fail-on and never gets a fix."
    ),
    "investigate": (
        "The GPU is shut out, and nothing measured says what would happen if the gate were opened. Never counts for"
        " --fail-on and never gets a fix; `archscan --advice investigate` lists them."
    ),
    "contested": "Good sources disagree about what opening it does; both sides are quoted. `archscan probe` measures.",
    "narrow": "Bound the condition: the GPU must not get there, or only built with the suffix that can run it.",
    "widen-safe": (
        "Everything behind the gate is known and assembles for the GPU; that results are right is for a test to show."
    ),
    "widen-needs-tuning": "It runs; the numbers behind it were chosen for other chips.",
    "widen-perf-risk": "It runs; a sourced measurement shows a loss, or the machine code is an emulation.",
    "widen-unsafe-compile": "Something is lost or wrong today, and opening it stops the build: it does not assemble.",
    "widen-unsafe-runtime": "It can be opened, and then fails later: a row, kernel, image or resource is missing.",
    "severity": (
        "How bad it is today: high (silently wrong, a race, a trap, a crash, a build that stops), medium (a feature is"
        " refused, or a slow path runs), low (tuning, or only under an option), info (right as it is)."
    ),
    "risk": "What opening the gate can do (of the other problems: leaving it): blocked, high, medium, low, info.",
    "reach": "Whether what is behind a gate is run by a scanned program, only built by it, or only there.",
    "target": "The GPU: `sm_120` with all it can run, `sm_120a` that very chip, `sm_120f` its family.",
    "gate": "A conditional, list or table whose outcome depends on the GPU.",
}


_MARK = re.compile(r"[ \t]*(?://|#)~[^\n]*")


def without_marks(example: str) -> str:
    """A rule's example without the annotations that its test reads; a line of nothing else is left out."""
    return "\n".join(_MARK.sub("", line) for line in example.split("\n") if not _MARK.fullmatch(line))


def said(finding: Finding) -> str:
    """What is wrong and what happens, without what would help: the first part of the message."""
    text = one_line(finding.message)
    return text.rpartition("; ")[0] or text


def helps(finding: Finding) -> str:
    """What would help, as the message says it."""
    return one_line(finding.message).rpartition("; ")[2]


def verb(finding: Finding) -> str:
    """What there is to do about a finding: open a gate that shuts, mend what lets in too much."""
    return "to open" if finding.problem is Problem.EXCLUDED else "to mend"


def opening(finding: Finding) -> str:
    """What opening the gate takes and risks: `only together with lines 288, 353; high risk: reports disagree`."""
    if finding.binary is not None and len(finding.risk.reasons) > 1:
        return one_line(finding.risk.reasons[1].text)  # what happens, then what helps
    if finding.advice in UNCOUNTED or finding.problem is Problem.OVER_ADMITTED:
        return takes(finding)
    return f"{takes(finding)}; {risk(finding)}"


def titled(finding: Finding) -> str:
    """What is wrong, in one line: of a library all that is said of it."""
    return one_line(finding.message) if finding.binary is not None else said(finding)


def answer(finding: Finding) -> str:
    """`to open: only together with line 288; high risk: reports disagree`."""
    return f"{verb(finding)}: {opening(finding)}"


def takes(finding: Finding) -> str:
    """What opening the gate takes, without the risk; of what lets in too much, what would help."""
    if finding.problem is Problem.OVER_ADMITTED and finding.advice is not Advice.LEAVE:
        return helps(finding)
    if finding.advice is Advice.PAIR:
        others = [r for r in finding.related if r.role is Role.PAIR]
        if others and all(place.message.startswith("admits ") for place in others):  # the other half is open already
            return f"let it in here, as {_halves(others, finding)} {'does' if len(others) == 1 else 'do'}"
        return f"only together with {_halves(others, finding)}" if others else _OPENING[finding.advice]
    if finding.advice is Advice.INVESTIGATE:
        return f"{_OPENING[finding.advice]}: {_unknown(finding)}"
    return _OPENING[finding.advice]


def risk(finding: Finding) -> str:
    """`high risk: reports disagree (owner/project#1)`: the reason that others reported, else the first."""
    level = f"{finding.risk.level.value} risk" if finding.risk.level is not Level.BLOCKED else "blocked"
    reason = _told(finding.risk.reasons)
    return f"{level}: {reason}" if reason else level


def _told(reasons: Sequence[Reason]) -> str:
    reported = next((r for r in reasons if any("#" in e.source for e in r.evidence)), None)
    if reported is None:
        return one_line(reasons[0].text) if reasons else ""
    sources = dict.fromkeys(s for e in reported.evidence for s in e.source.split(", ") if "#" in s)
    more = " and others" if len(sources) > 1 else ""
    return one_line(f"{reported.text.removeprefix('contested: ')} ({next(iter(sources))}{more})")


def _unknown(finding: Finding) -> str:
    if finding.missing:
        return f"nothing is measured of {few(finding.missing, 2)}"
    return one_line(finding.risk.reasons[0].text) if finding.risk.reasons else "nothing measured says what it would do"


def _halves(others: Sequence[Related], finding: Finding) -> str:
    """`the launch code at lines 833, 1605`: the places that have to go along, by file."""
    by_path: dict[str, list[int]] = {}
    for place in others:
        by_path.setdefault(place.path, []).append(place.line)
    launches = all("launch attribute" in place.message for place in others)
    named = [
        (f"line{'s' * (len(lines) > 1)} " if path == finding.path else f"{path.rpartition('/')[2]}:")
        + few([str(line) for line in sorted(set(lines))], _MOST_LINES)
        for path, lines in list(by_path.items())[:_MOST_FILES]
    ]
    more = f" and {len(by_path) - _MOST_FILES} more files" if len(by_path) > _MOST_FILES else ""
    return one_line(("the launch code at " if launches else "") + "; ".join(named) + more)
