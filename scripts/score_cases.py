"""Scores archscan on a directory of cases, each a file with NAME.expect.json beside it; prints every deviation.

usage: score_cases.py DIRECTORY [NAME…]

Advice that only asks to look (`leave`, `investigate`) is no false alarm; `investigate` is half right where something
is to be opened; `leave` and `widen-unsafe-compile` are one advice. What a case says of other targets is said, not
counted.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.catalog.types import Catalog
from archscan.model.finding import Advice, Finding
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan


@dataclass
class Score:
    """Counts over all cases, and what deviated."""

    counts: Counter[str] = field(default_factory=Counter)  # of advice also halves
    deviations: list[str] = field(default_factory=list)

    def share(self, part: str, whole: str) -> str:
        total = self.counts[whole]
        return f"{self.counts[part]:g}/{total} ({100 * self.counts[part] / total:.0f} %)" if total else "none"


def main(arguments: list[str]) -> int:
    """Prints the score; 1 where something deviates."""
    score = scored(Path(arguments[0]), arguments[1:])
    print("\n".join(score.deviations))
    print(f"recall      {score.share('found', 'required')}")
    print(f"precision   {score.share('right', 'reported')}")
    print(f"consequence {score.share('consequence', 'compared')}")
    print(f"advice      {score.share('advice', 'compared')}")
    return 1 if score.deviations else 0


def scored(directory: Path, names: Sequence[str] = ()) -> Score:
    """The score of the cases in a directory, or of those whose name contains one of `names`."""
    catalog, score = load(), Score()
    for expected in sorted(directory.glob("*.expect.json")):
        case = json.loads(expected.read_text("utf-8"))
        if not names or any(n in case["case"] for n in names):
            _score(directory / case["case"], case, catalog, score)
    return score


def _score(path: Path, case: dict[str, Any], catalog: Catalog, score: Score) -> None:
    try:
        findings = _findings(path, case, case["target"], catalog)
    except Exception:
        traceback.print_exc()
        findings = []
        score.deviations.append(f"{path.name}: crashed")
    expected = case["findings"]
    for finding in findings:
        hits = [e for e in expected if _same_place(e, finding)]
        if not hits and finding.advice not in (Advice.LEAVE, Advice.INVESTIGATE):
            score.counts["reported"] += 1
            score.deviations.append(f"{path.name}:{finding.place.line} not expected: {_said(finding)}")
        elif hits and not any(e.get("optional") for e in hits):
            score.counts["reported"] += 1
            score.counts["right"] += 1
    for e in expected:
        if not e.get("optional"):
            _compare(path, e, [f for f in findings if _same_place(e, f)], score)
    _elsewhere(path, case, catalog, score)


def _elsewhere(path: Path, case: dict[str, Any], catalog: Catalog, score: Score) -> None:
    """Says what is reported for targets for which nothing is to be."""
    others = case.get("other_targets")
    for target in (t for t, wanted in others.items() if wanted == []) if isinstance(others, dict) else ():
        for finding in _findings(path, case, target, catalog):
            if finding.advice not in (Advice.LEAVE, Advice.INVESTIGATE):
                score.deviations.append(f"{path.name}:{finding.place.line} {target} not expected: {_said(finding)}")


def _findings(path: Path, case: dict[str, Any], target: str, catalog: Catalog) -> list[Finding]:
    flags = [re.fullmatch(r"-D(\w+)(?:=(.*))?", f) for f in case.get("compile_flags", ())]
    defines = tuple((m[1], m[2] or "1") for m in flags if m)
    beside = [path.parent / e["pair_with_file"] for e in case["findings"] if "pair_with_file" in e]
    with tempfile.TemporaryDirectory() as folder:
        placed = Path(folder) / case.get("place_as", path.name)
        placed.parent.mkdir(parents=True, exist_ok=True)
        for source, name in ((path, placed.name), *((b, b.name) for b in beside)):
            shutil.copyfile(source, placed.parent / name)
        facts = scan([folder], catalog, ScanSettings(defines=defines, include_vendored=True, use_cache=False))
        selection = select(target, catalog)
        found = report(facts, selection, catalog, JudgeSettings(include_vendored=True)).findings
    return [f for f in found if f.path == placed.relative_to(folder).as_posix()]


def _same_place(expected: dict[str, Any], finding: Finding) -> bool:
    lines = {expected["line"], *expected.get("alt_lines", ())}
    return (expected["line"] is None or finding.place.line in lines) and expected["excluded"] == (
        finding.problem.value == "excluded"
    )


def _compare(path: Path, expected: dict[str, Any], found: list[Finding], score: Score) -> None:
    score.counts["required"] += 1
    where = f"{path.name}:{expected['line']}"
    if not found:
        score.deviations.append(
            f"{where} missed: excluded={expected['excluded']} {expected['consequence']} {expected['risk_hint']}"
        )
        return
    finding = next((f for f in found if f.place.line == expected["line"]), found[0])
    score.counts["found"] += 1
    score.counts["compared"] += 1
    outcomes = {expected["consequence"], *expected.get("consequence_also", ())}
    score.counts["consequence"] += finding.consequence.value in outcomes
    if finding.consequence.value not in outcomes:
        score.deviations.append(f"{where} consequence: expected {expected['consequence']}, got {_said(finding)}")
    rate = _rate({expected["risk_hint"], *expected.get("risk_hint_also", ())}, finding.advice.value)
    score.counts["advice"] += rate
    if rate < 1:
        score.deviations.append(f"{where} advice: expected {expected['risk_hint']}, got {_said(finding)}")


def _rate(wanted: set[str], got: str) -> float:
    """How right an advice is."""
    if got in wanted or (got in _ONE_ADVICE and wanted & _ONE_ADVICE):
        return 1
    return 0.5 if got == "investigate" and wanted & _OPENS else 0


_ONE_ADVICE = {"leave", "widen-unsafe-compile"}
_OPENS = {"widen-safe", "widen-needs-tuning", "widen-perf-risk", "widen-unsafe-runtime", "pair"}


def _said(f: Finding) -> str:
    return f"{f.problem.value} {f.consequence.value} {f.advice.value} {f.rule}: {f.message}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
