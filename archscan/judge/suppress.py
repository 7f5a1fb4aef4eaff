"""Takes out what a comment in the code suppresses, and names the comments that suppress nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archscan.model.facts import FileFacts, Suppression
from archscan.model.finding import Finding
from archscan.model.report import Suppressed


@dataclass(frozen=True, slots=True)
class Sifted:
    """What remains, what was suppressed and why, and which comments were idle."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    unused: tuple[tuple[str, int], ...]


def sift(findings: Iterable[Finding], files: Iterable[FileFacts]) -> Sifted:
    """The findings without those that a comment on one of their lines, or alone above them, covers."""
    comments = {f.path: f.suppressions for f in files if f.suppressions}
    used: set[tuple[str, int]] = set()
    kept: list[Finding] = []
    taken: list[Suppressed] = []
    for finding in findings:
        hit = next((s for s in comments.get(finding.path, ()) if covers(s, finding)), None)
        if hit is None:
            kept.append(finding)
        else:
            used.add((finding.path, hit.line))
            taken.append(Suppressed(finding, hit.reason))
    idle = tuple((path, s.line) for path in sorted(comments) for s in comments[path] if (path, s.line) not in used)
    return Sifted(tuple(kept), tuple(taken), idle)


def covers(suppression: Suppression, finding: Finding) -> bool:
    """Whether the comment is meant for that finding."""
    if suppression.rules and finding.rule not in suppression.rules:
        return False
    first, last = finding.place.line, max(finding.place.end_line, finding.place.line)
    if finding.place.end_column == 1 and last > first:
        last -= 1  # the range ends before the first column of that line
    lines = {suppression.line, suppression.line + 1} if suppression.alone else {suppression.line}
    return any(first <= line <= last for line in lines)
