"""Measures how often the judge is right on labelled places: scripts/calibrate.py [--set NAME] [DIRECTORY].

NAME is dev, holdout, second, third, fourth, fifth or all. The first sight of each is taken. A new one is held out
(HELD_OUT) until its own is, so that all leaves it out: it is measured once, by its name.
DIRECTORY holds the packages that scripts/labels_fetch.py unpacked ($ARCHSCAN_LABELS when it is not given). Prints per
row of the advice table how often its advice was right, with Wilson's 95 % interval, and the same per target, class of
package and problem; what was missed; and whether the proposed fixes may be what they say. --json FILE writes all of it;
--places prints what is not right; --no-fixes leaves the slow half out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from labels_fetch import LABELS, folder, packages

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.catalog.types import Catalog
from archscan.fixing.commands import workbench
from archscan.fixing.plan import fix_for
from archscan.fixing.prove import Workbench
from archscan.model.finding import Finding, Fix
from archscan.model.report import Report
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

SETS = ("dev", "holdout", "second", "third", "fourth", "fifth")
HELD_OUT: frozenset[str] = frozenset()  # sets that are not looked at before their first sight is taken
TO_LEAVE = frozenset({"leave", "widen-unsafe-compile"})  # the same advice: do not open it
RIGHT, WRONG, HALF, MISSED, SILENT = "right", "wrong", "half", "missed", "silent"
POINTS = {RIGHT: 1.0, HALF: 0.5, WRONG: 0.0}


@dataclass(frozen=True)
class ConditionResult:
    """What became of a label. `row` is empty where nothing was reported."""

    id: str
    package: str
    package_class: str
    target: str
    outcome: str
    to_do: str  # the outcome where there is something to do and leaving it does not count; empty elsewhere
    row: str = ""
    advice: str = ""
    problem: str = ""
    severity: str = ""
    problem_right: bool = False
    consequence_right: bool | None = None  # None: the label has no problem, or nothing was reported


@dataclass(frozen=True)
class FixVerdict:
    """What became of a label about a fix; `proposed` is safe, unsafe or none."""

    id: str
    package: str
    proposed: str
    outcome: str
    why: str = ""


def wilson(points: float, total: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    share = points / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, (middle - spread) / (1 + z * z / total)), min(1.0, (middle + spread) / (1 + z * z / total))


def same_advice(given: str, label: dict[str, Any]) -> bool:
    """Whether the advice is the label's, or one of those that are accepted too."""
    accepted = {label["advice"], *label["also"]}
    return given in accepted or bool(given in TO_LEAVE and accepted & TO_LEAVE)


def same_outcome(given: str, label: dict[str, Any]) -> bool:
    """Whether what the target gets today is the label's; of what cannot run and is best left, that it cannot."""
    rightly_left = label["capability"] == "cannot" and label["advice"] == "leave"
    return given == label["consequence"] or (rightly_left and given == "correct_exclusion")


def outcome(label: dict[str, Any], advice: str | None) -> str:
    """right, half (to investigate where widening is right) or wrong; without a finding silent or missed."""
    if advice is None:
        return SILENT if same_advice("leave", label) else MISSED
    if same_advice(advice, label):
        return RIGHT
    return HALF if advice == "investigate" and label["advice"] not in TO_LEAVE else WRONG


def to_do(label: dict[str, Any], advice: str | None) -> str:
    """The outcome by the other answers alone, where leaving the place is not the first; empty where it is."""
    if label["advice"] in TO_LEAVE:
        return ""
    told = outcome({**label, "also": [a for a in label["also"] if a not in TO_LEAVE]}, advice)
    return WRONG if told == MISSED else told


def fix_outcome(label: dict[str, Any], fix: Fix | None) -> tuple[str, str]:
    """right or wrong with the reason, of the fix proposed at a place; `silent` without one, which is never wrong."""
    if fix is None:
        return SILENT, ""
    accepted = {label["fix"], *label["also_fix"]}
    if fix.safe and "safe" not in accepted:
        return WRONG, f"called safe, is {label['fix']}: {label['why']}"
    if not fix.safe and not accepted & {"safe", "unsafe"}:
        return WRONG, f"must not exist: {label['why']}"
    closed = [t for t in label["admits"] if fix.opens and not any(name.rstrip("af") == t for name in fix.opens)]
    return (WRONG, f"does not admit {', '.join(closed)}") if closed else (RIGHT, "")


def at(label: dict[str, Any], findings: Iterable[Finding]) -> Finding | None:
    """The finding about the gate on a label's line: the one that stands there, else one with an arm there."""
    here = [f for f in findings if f.path == label["path"]]
    standing = [f for f in here if f.place.line == label["line"]]
    return next(iter(standing or [f for f in here if label["line"] in _lines(f)]), None)


def _lines(finding: Finding) -> set[int]:
    return {finding.gate.place.line, *(arm.place.line for arm in finding.gate.arms)}


def severity(finding: Finding) -> str:
    """How bad it is today; the risk's level while a finding has no severity of its own."""
    own = getattr(finding, "severity", None)
    return str(getattr(own, "value", own) or finding.risk.level.value)


def row(finding: Finding) -> str:
    """The row of the advice table; rule and advice while a finding does not name its row."""
    return str(getattr(finding, "row", None) or f"{finding.rule}: {finding.advice.value}")


def judged(label: dict[str, Any], finding: Finding | None, package_class: str) -> ConditionResult:
    """The verdict on one label."""
    told = outcome(label, finding.advice.value if finding else None)
    shared = (
        label["id"],
        label["package"],
        package_class,
        label["target"],
        told,
        to_do(label, finding.advice.value if finding else None),
    )
    if finding is None:
        return ConditionResult(*shared)
    same = finding.problem.value == label["problem"]
    return ConditionResult(
        *shared,
        row=row(finding),
        advice=finding.advice.value,
        problem=finding.problem.value,
        severity=severity(finding),
        problem_right=same,
        consequence_right=same_outcome(finding.consequence.value, label) if same else None,
    )


def chosen(name: str) -> tuple[str, ...]:
    """The sets that a name stands for: all is every one that is not held out."""
    return tuple(known for known in SETS if known not in HELD_OUT) if name == "all" else (name,)


def labels(kind: str, which: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The labels of some sets by package; `kind` is findings or fixes."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in which:
        for line in (LABELS / name / f"{kind}.jsonl").read_text("utf-8").splitlines():
            label = json.loads(line)
            found[label["package"]].append(label)
    return found


def measured(
    base: Path, which: Sequence[str], catalog: Catalog, with_fixes: bool
) -> Iterator[tuple[list[ConditionResult], list[FixVerdict]]]:
    """The verdicts package by package: one scan each, asked for every target that its labels name."""
    wanted, fixes = labels("findings", which), labels("fixes", which) if with_fixes else {}
    for package in packages():
        name = package["name"]
        mine, edits = wanted.get(name, []), fixes.get(name, [])
        if not mine and not edits:
            continue
        root = folder(package, base)
        if not root.is_dir():
            raise SystemExit(f"{root} is missing: scripts/labels_fetch.py {base} {name}")
        os.chdir(root)  # the labels' paths are below it
        settings = ScanSettings()
        facts = scan(["."], catalog, settings)
        targets = sorted({label["target"] for label in (*mine, *edits)})
        reports = {t: report(facts, select(t, catalog), catalog, JudgeSettings()) for t in targets}
        verdicts = [judged(la, at(la, reports[la["target"]].findings), package["class"]) for la in mine]
        bench = workbench(["."], catalog, settings) if edits else None
        yield verdicts, [_fixed(label, reports[label["target"]], catalog, bench) for label in edits if bench]


def _fixed(label: dict[str, Any], judgement: Report, catalog: Catalog, bench: Workbench) -> FixVerdict:
    finding = at(label, judgement.findings)
    fix = fix_for(finding, judgement.findings, judgement.selection, catalog, bench) if finding else None
    told, why = fix_outcome(label, fix)
    return FixVerdict(
        label["id"], label["package"], "none" if fix is None else "safe" if fix.safe else "unsafe", told, why
    )


def share(outcomes: Sequence[str]) -> dict[str, Any]:
    """Counts, points and the interval of what was told; what was not told does not count."""
    told = [o for o in outcomes if o in POINTS]
    points = sum(POINTS[o] for o in told)
    low, high = wilson(points, len(told))
    return {
        "told": len(told),
        **{name: told.count(name) for name in POINTS},
        "share": round(points / len(told), 3) if told else None,
        "interval": [round(low, 3), round(high, 3)],
    }


def summary(verdicts: Sequence[ConditionResult], fixes: Sequence[FixVerdict]) -> dict[str, Any]:
    """Every rate, as written by --json."""

    def by(key: str, chosen: Iterable[ConditionResult]) -> dict[str, Any]:
        groups: dict[str, list[str]] = defaultdict(list)
        for verdict in chosen:
            groups[getattr(verdict, key)].append(verdict.outcome)
        return {name: share(outcomes) for name, outcomes in sorted(groups.items())}

    told = [v for v in verdicts if v.row]
    opening = [v for v in told if v.advice not in TO_LEAVE]
    serious = [v for v in told if v.problem != "excluded" and v.severity in ("medium", "high", "blocked")]
    compared = [v.consequence_right for v in told if v.consequence_right is not None]
    to_tell = [v for v in verdicts if v.outcome == MISSED or (v.row and v.problem_right)]
    return {
        "labels": len(verdicts),
        "advice": share([v.outcome for v in told]),
        "advice other than leave": share([v.outcome for v in opening]),
        "places with something to do": share([v.to_do for v in verdicts]),
        "over-admitted and disagrees from medium up: true": share(
            [RIGHT if v.problem_right else WRONG for v in serious]
        ),
        "consequence": share([RIGHT if right else WRONG for right in compared]),
        "missed": {"missed": sum(v.outcome == MISSED for v in verdicts), "of": len(to_tell)},
        "rightly silent": sum(v.outcome == SILENT for v in verdicts),
        "safe fixes": share([f.outcome for f in fixes if f.proposed == "safe"]),
        "unsafe fixes": share([f.outcome for f in fixes if f.proposed == "unsafe"]),
        "no fix proposed": sum(f.proposed == "none" for f in fixes),
        "by row": by("row", told),
        "by advice": by("advice", told),
        "by problem": by("problem", told),
        "by target": by("target", told),
        "by class": by("package_class", told),
    }


def text(rates: dict[str, Any]) -> str:
    """The rates for people: a line each, groups below their name."""
    lines = []
    for name, value in rates.items():
        if name.startswith("by "):
            lines += ["", name, *(f"  {_rate(group, rate)}" for group, rate in value.items())]
        elif isinstance(value, dict) and "told" in value:
            lines.append(_rate(name, value))
        elif isinstance(value, dict):
            lines.append(f"{name:<52} {value['missed']} of {value['of']}")
        else:
            lines.append(f"{name:<52} {value}")
    return "\n".join(lines)


def _rate(name: str, rate: dict[str, Any]) -> str:
    if not rate["told"]:
        return f"{name:<52} none"
    low, high = rate["interval"]
    counts = f"{rate[RIGHT]} right, {rate[HALF]} half, {rate[WRONG]} wrong of {rate['told']}"
    return f"{name:<52} {100 * rate['share']:5.1f} % ({100 * low:.0f}-{100 * high:.0f})  {counts}"


def main(arguments: Sequence[str]) -> int:
    """Prints the rates of the chosen labels; without a directory only says why not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", default=os.environ.get("ARCHSCAN_LABELS"), type=str)
    parser.add_argument("--set", choices=(*SETS, "all"), default="dev", dest="which")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--places", action="store_true")
    parser.add_argument("--no-fixes", action="store_false", dest="fixes")
    given = parser.parse_args(arguments)
    if not given.directory:
        print("skipped: ARCHSCAN_LABELS names no directory with the packages; scripts/labels_fetch.py fills one")
        return 0
    base = Path(given.directory).resolve()
    written = given.json.resolve() if given.json else None
    which = chosen(given.which)
    verdicts: list[ConditionResult] = []
    fixes: list[FixVerdict] = []
    for some, edits in measured(base, which, load(), given.fixes):
        verdicts += some
        fixes += edits
        if given.places:
            print("\n".join(_place(v) for v in (*some, *edits) if v.outcome not in (RIGHT, SILENT)), flush=True)
    rates = summary(verdicts, fixes)
    print(text(rates))
    if written:
        whole = {
            "set": given.which,
            **rates,
            "verdicts": [asdict(v) for v in verdicts],
            "fixes": [asdict(f) for f in fixes],
        }
        written.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    return 0


def _place(verdict: ConditionResult | FixVerdict) -> str:
    if isinstance(verdict, FixVerdict):
        return f"{verdict.outcome:<7} {verdict.id:<28} fix {verdict.proposed}: {verdict.why}"
    return f"{verdict.outcome:<7} {verdict.id:<28} {verdict.target:<7} {verdict.row}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
