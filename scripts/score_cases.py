"""Scores archscan on a directory of cases, each a file with NAME.expect.json beside it; prints every deviation.

usage: score_cases.py DIRECTORY [NAME…]
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.catalog.types import Catalog
from archscan.model.finding import Finding
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan


@dataclass
class Score:
    """Counts over all cases, and what deviated."""

    counts: Counter[str] = field(default_factory=Counter)
    deviations: list[str] = field(default_factory=list)

    def share(self, part: str, whole: str) -> str:
        total = self.counts[whole]
        return f"{self.counts[part]}/{total} ({100 * self.counts[part] / total:.0f} %)" if total else "none"


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
        findings = _findings(path, case, catalog)
    except Exception:
        traceback.print_exc()
        findings = []
        score.deviations.append(f"{path.name}: crashed")
    expected = case["findings"]
    matched: set[int] = set()
    for finding in findings:
        hits = [e for e in expected if _same_place(e, finding)]
        score.counts["reported"] += not any(e.get("optional") for e in hits) or not hits
        if not hits:
            score.deviations.append(f"{path.name}:{finding.place.line} not expected: {_said(finding)}")
        elif not any(e.get("optional") for e in hits):
            score.counts["right"] += 1
        for hit in hits:
            matched.add(expected.index(hit))
    for e in expected:
        if not e.get("optional"):
            _compare(path, e, [f for f in findings if _same_place(e, f)], score)


def _findings(path: Path, case: dict[str, Any], catalog: Catalog) -> list[Finding]:
    flags = [re.fullmatch(r"-D(\w+)(?:=(.*))?", f) for f in case.get("compile_flags", ())]
    defines = tuple((m[1], m[2] or "1") for m in flags if m)
    facts = scan(
        [str(path)],
        catalog,
        ScanSettings(defines=defines, include_vendored=True, use_cache=False, layers=_layers(path)),
    )
    selection = select(case["target"], catalog)
    return list(report(facts, selection, catalog, JudgeSettings(include_vendored=True)).findings)


def _layers(path: Path) -> frozenset[str]:
    if path.suffix == ".py":
        return frozenset({"python", "jit"})
    return frozenset({"build"} if path.suffix == ".cmake" else {"preprocessor", "host", "device"})


def _same_place(expected: dict[str, Any], finding: Finding) -> bool:
    lines = {expected["line"], *expected.get("alt_lines", ())}
    return finding.place.line in lines and expected["excluded"] == (finding.problem.value == "excluded")


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
    for name, wanted, got in (
        ("consequence", expected["consequence"], finding.consequence.value),
        ("advice", expected["risk_hint"], finding.advice.value),
    ):
        score.counts[name] += wanted == got
        if wanted != got:
            score.deviations.append(f"{where} {name}: expected {wanted}, got {got} ({finding.rule}: {finding.message})")


def _said(f: Finding) -> str:
    return f"{f.problem.value} {f.consequence.value} {f.advice.value} {f.rule}: {f.message}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
