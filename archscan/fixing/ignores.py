"""Writes suppression comments for findings: each alone above its line, proven by a second evaluation, journalled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from archscan.errors import UserError
from archscan.fixing.apply import Change, apply
from archscan.fixing.journal import Journal, Run, digest
from archscan.model.finding import UNCOUNTED, Finding
from archscan.model.report import Report
from archscan.reporting.words import CONTROL
from archscan.sources.kinds import is_cmake

_SLASHES = (".cu", ".cuh", ".h", ".hh", ".hpp", ".inl", ".c", ".cc", ".cpp", ".cxx")
_LONGEST = 200  # characters of a reason
_LANGUAGES = "comments are written into C, C++, CUDA, Python and CMake files"
Evaluate = Callable[[Mapping[str, bytes]], Report]  # the report with other bytes for some files


@dataclass(frozen=True, slots=True)
class Ignores:
    """The files with their comments, and the findings that none was written for, with the reason."""

    changes: tuple[Change, ...]
    silenced: int
    left: tuple[tuple[Finding, str], ...]


def ignores(report: Report, reason: str, read: Callable[[str], bytes | None], evaluate: Evaluate) -> Ignores:
    """The comments that silence everything which counts in a report, and nothing else."""
    reason = _checked(reason)
    wanted: dict[str, list[Finding]] = {}
    left: list[tuple[Finding, str]] = []
    for finding in report.findings:
        if finding.advice not in UNCOUNTED:
            why = _unable(finding)
            if why:
                left.append((finding, why))
            else:
                wanted.setdefault(finding.path, []).append(finding)
    before = {path: data for path in wanted if (data := read(path)) is not None}
    after = {path: _commented(data, path, wanted[path], reason) for path, data in before.items()}
    good = _proven(report, wanted, after, evaluate)
    for path, found in wanted.items():
        if path not in good:
            left += [(finding, "no comment could be put there that silences it alone") for finding in found]
    disks = {file.path: file.disk for file in report.facts.files}
    return Ignores(
        tuple(Change(Path(disks[path]), digest(before[path]), after[path]) for path in sorted(good)),
        sum(len(wanted[path]) for path in good),
        tuple(left),
    )


def write_ignores(made: Ignores, journal: Journal, roots: Sequence[Path]) -> Run | None:
    """The journalled run that wrote the comments; None if there were none."""
    return apply(made.changes, journal, "suppression comments", roots)


def _checked(reason: str) -> str:
    """A reason that fits into one comment."""
    text = " ".join(reason.split())
    if not text or CONTROL.search(text) or "*/" in text or text.endswith("\\") or len(text) > _LONGEST:
        hint = f"one line of plain text, {_LONGEST} characters at most: --add-ignores 'measured: slower on sm_120'"
        raise UserError(f"--add-ignores cannot be '{reason}'", hint)
    return text


def _unable(finding: Finding) -> str:
    """Why a comment cannot be written for a finding, or ""."""
    if finding.binary is not None:
        return "a compiled library holds no comments"
    if finding.origin in ("vendored", "generated"):
        return f"{finding.origin} code: use per-file-ignores"
    return "" if _mark(finding.path) else _LANGUAGES


def _mark(path: str) -> bytes:
    """What begins a comment in a file; empty where none is read."""
    if path.endswith(_SLASHES):
        return b"//"
    return b"#" if path.endswith(".py") or is_cmake(path) else b""


def _commented(data: bytes, path: str, found: Sequence[Finding], reason: str) -> bytes:
    """The file with a comment above each line that findings stand on."""
    rules: dict[int, set[str]] = {}
    for finding in found:
        rules.setdefault(finding.place.line, set()).add(finding.rule)
    lines = [line + b"\n" for line in data.split(b"\n")]  # the last has no end, and keeps none
    lines[-1] = lines[-1][:-1]
    for number in sorted(rules, reverse=True):
        line = lines[number - 1]
        end = b"\r\n" if line.endswith(b"\r\n") else b"\n"
        lines.insert(number - 1, _comment(line, path, rules[number], reason) + end)
    return b"".join(lines)


def _comment(line: bytes, path: str, rules: Iterable[str], reason: str) -> bytes:
    """The comment to stand alone above a line, without its end."""
    indent = line[: len(line) - len(line.lstrip(b" \t"))]
    return indent + _mark(path) + f" archscan: ignore[{','.join(sorted(rules))}] {reason}".encode()


def comment_for(finding: Finding, data: bytes, reason: str) -> tuple[int, str] | None:
    """The line that a comment which silences a finding goes above, and the comment; None if none can be written."""
    lines = data.split(b"\n")
    if _unable(finding) or not 0 < finding.place.line <= len(lines):
        return None
    line = lines[finding.place.line - 1]
    return finding.place.line, _comment(line, finding.path, [finding.rule], reason).decode("utf-8", "replace")


def _proven(
    report: Report, wanted: Mapping[str, Sequence[Finding]], after: Mapping[str, bytes], evaluate: Evaluate
) -> frozenset[str]:
    """The files whose comments silence what they are for and change nothing besides."""
    if not after:
        return frozenset()
    found = evaluate(after)
    kept: dict[str, set[str]] = {path: set() for path in after}
    for finding in found.findings:
        kept.setdefault(finding.path, set()).add(finding.fingerprint)
    silenced = {finding.fingerprint for own in wanted.values() for finding in own}
    expected: dict[str, set[str]] = {path: set() for path in after}
    for finding in report.findings:
        if finding.fingerprint not in silenced:
            expected.setdefault(finding.path, set()).add(finding.fingerprint)
    lost = {f.path for f in found.failed} | {u.path for u in found.undecided if u.reason} - {
        u.path for u in report.undecided if u.reason
    }
    return frozenset(path for path in after if kept[path] == expected[path] and path not in lost)
