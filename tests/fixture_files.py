"""Fixtures: source files whose comments say which rule fires on which line for which target.

`//~ rule-id @sm_120` (or `#~`) speaks of its own line, `//~^` of the line above, `//~?` of a known miss: it must not be
found, so that it turns red when it is. `//~ silent @sm_120`: nothing is found in the file. A binary file has its
annotations in a file beside it, with `.expect` behind its name. A fixture is a file or a directory whose name begins
with good or bad, and is scanned for every target that it names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.report import Report
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan, with_kernels
from archscan.reporting import render
from archscan.reporting.options import RenderOptions
from archscan.reporting.sources import Sources

SILENT = "silent"
FIXTURES = Path(__file__).parent / "fixtures"
CATALOG = load()
_ANNOTATION = re.compile(r"(?://|#)~(?P<mark>[\^?]*)(?P<said>(?:\s*[a-z][a-z-]*(?:\s+@\w+)+)+)\s*$")
EXPECT = ".expect"
_ONE = re.compile(r"([a-z][a-z-]*)((?:\s+@\w+)+)")


@dataclass(frozen=True, order=True)
class Expected:
    """A rule that fires, or (missed) is known not to, at a line of a file for a target."""

    target: str
    path: str
    line: int
    rule: str
    missed: bool = False


def annotations(text: str, path: str) -> list[Expected]:
    """Everything that the comments of one file expect."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ANNOTATION.search(line)
        if match is None:
            assert "//~" not in line and "#~" not in line, f"{path}:{number}: not an annotation: {line.strip()}"
            continue
        where = number - match["mark"].count("^")
        for rule, targets in _ONE.findall(match["said"]):
            assert rule in CATALOG.rules or rule == SILENT, f"{path}:{number}: no rule {rule}"
            found += [Expected(t, path, where, rule, "?" in match["mark"]) for t in re.findall(r"@(\w+)", targets)]
    return found


def entries(folder: Path) -> list[Path]:
    """The fixtures of a rule, good ones first."""
    found = [*sorted(folder.glob("good*")), *(p for p in sorted(folder.glob("bad*")) if ".fixed" not in p.name)]
    return [path for path in found if path.suffix != EXPECT]


def files(entry: Path) -> list[Path]:
    return sorted(p for p in entry.rglob("*") if p.is_file()) if entry.is_dir() else [entry]


def expected(entry: Path) -> list[Expected]:
    """What the files of a fixture expect, with paths as reported."""
    root = entry if entry.is_dir() else entry.parent
    return [e for f in files(entry) for e in _of_file(f, f.relative_to(root).as_posix())]


def _of_file(file: Path, path: str) -> list[Expected]:
    beside = file.with_name(file.name + EXPECT)
    if not beside.exists():
        return annotations(file.read_text("utf-8"), path)
    return [
        replace(e, line=1) for line in beside.read_text("utf-8").splitlines() for e in annotations(f"#~ {line}", path)
    ]


def reported(path: Path, target: str) -> Report:
    """The report on a file or directory for a target, without cache."""
    settings, judging = (
        ScanSettings(include_vendored=True, use_cache=False, jobs=1),
        JudgeSettings(include_leave=True, include_vendored=True),
    )
    selection = select(target, CATALOG)
    facts = with_kernels(scan([str(path)], CATALOG, settings), selection, CATALOG, settings, judging)
    return report(facts, selection, CATALOG, judging)


def shown(folder: Path) -> str:
    """The text report on every bad fixture of a folder, each for the first target that it names."""
    parts = []
    for entry in (e for e in entries(folder) if e.name.startswith("bad")):
        target = expected(entry)[0].target
        found = reported(entry, target)
        root = entry if entry.is_dir() else entry.parent
        compiled = frozenset(library.path for library in found.facts.libraries)
        sources = Sources(lambda path, root=root, no=compiled: None if path in no else (root / path).read_bytes())
        text = render(found, "text", RenderOptions(sources=sources, rules=CATALOG.rules, include_leave=True))
        parts.append(f"$ archscan --target {target} {entry.name}\n{text}")
    return "\n".join(parts)


def fired(found: Report) -> set[tuple[str, int, str]]:
    return {(f.path, f.place.line, f.rule) for f in found.findings}
