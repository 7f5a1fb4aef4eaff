"""The labels that the judge is measured with are whole, and the measuring counts as it says."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from archscan.catalog import load
from archscan.model.finding import Advice, Consequence, Fix, Problem

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from calibrate import (
    HALF,
    MISSED,
    RIGHT,
    SETS,
    SILENT,
    WRONG,
    chosen,
    fix_outcome,
    labels,
    main,
    outcome,
    same_outcome,
    share,
    to_do,
    wilson,
)
from labels_fetch import folder, packages

FINDINGS = [label for name in SETS for some in labels("findings", [name]).values() for label in some]
FIXES = [label for name in SETS for some in labels("fixes", [name]).values() for label in some]
FIRST = ("dev", "holdout")
SECOND = [label for some in labels("findings", ["second"]).values() for label in some]
SECOND_FIXES = [label for some in labels("fixes", ["second"]).values() for label in some]
THIRD = [label for some in labels("findings", ["third"]).values() for label in some]
THIRD_FIXES = [label for some in labels("fixes", ["third"]).values() for label in some]
FOURTH = [label for some in labels("findings", ["fourth"]).values() for label in some]
FOURTH_FIXES = [label for some in labels("fixes", ["fourth"]).values() for label in some]
FIFTH = [label for some in labels("findings", ["fifth"]).values() for label in some]
FIFTH_FIXES = [label for some in labels("fixes", ["fifth"]).values() for label in some]
NEWER = ("sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
ADVICE = {*(a.value for a in Advice), "investigate"}
INTENTS = {"requirement", "path", "tuning", "images", "limit", "mistake", "restriction", "workaround", "preparation"}
INTENTS |= {"test", "unknown"}


def test_enough_is_labelled_and_no_target_dominates() -> None:
    targets = Counter(label["target"] for label in FINDINGS)
    assert len(FINDINGS) >= 150 and len(FIXES) >= 100
    assert len(targets) == 10
    assert max(targets.values()) < 0.2 * len(FINDINGS)
    first = [p for p in packages() if p["set"] in FIRST]
    assert Counter(p["class"] for p in first) == {"other": 12, "language-models": 12}


@pytest.mark.parametrize(
    ("name", "places", "fixes", "of_packages"),
    [
        ("second", SECOND, SECOND_FIXES, 14),
        ("third", THIRD, THIRD_FIXES, 22),
        ("fourth", FOURTH, FOURTH_FIXES, 40),
        ("fifth", FIFTH, FIFTH_FIXES, 60),
    ],
)
def test_later_drawings_are_mostly_about_newer_chips_and_half_of_them_not_about_language_models(
    name: str, places: list[dict[str, Any]], fixes: list[dict[str, Any]], of_packages: int
) -> None:
    targets = Counter(label["target"] for label in places)
    assert len(places) >= 160 and len(fixes) >= 100
    assert len(targets) == 10
    assert sum(targets[chip] for chip in NEWER) > 0.5 * len(places)
    classes = Counter(p["class"] for p in packages() if p["set"] == name)
    assert classes.total() >= of_packages and classes["other"] >= classes["language-models"]


def test_the_third_drawing_has_what_the_others_lack() -> None:
    assert sum(label["problem"] in ("over-admitted", "disagrees") for label in THIRD) >= 20
    assert sum(label["intent"] == "images" for label in THIRD) >= 20
    assert sum(label["advice"] not in ("leave", "widen-unsafe-compile") for label in THIRD) >= 100


def test_the_fourth_drawing_has_much_to_do() -> None:
    assert sum(label["problem"] in ("over-admitted", "disagrees") for label in FOURTH) >= 10
    assert sum(label["advice"] not in ("leave", "widen-unsafe-compile") for label in FOURTH) >= 80
    assert sum(label["consequence"] in ("wrong_result", "degraded_tuning", "runtime_error") for label in FOURTH) >= 40


def test_the_fifth_drawing_has_much_to_do() -> None:
    assert sum(label["problem"] in ("over-admitted", "disagrees") for label in FIFTH) >= 20
    assert sum(label["advice"] not in ("leave", "widen-unsafe-compile") for label in FIFTH) >= 140


def test_what_is_held_out_is_measured_by_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrate.HELD_OUT", frozenset())
    assert chosen("all") == ("dev", "holdout", "second", "third", "fourth", "fifth")
    monkeypatch.setattr("calibrate.HELD_OUT", frozenset({"fifth"}))
    assert chosen("all") == ("dev", "holdout", "second", "third", "fourth")
    assert chosen("fifth") == ("fifth",)


def test_nothing_that_the_judge_reads_names_a_package_of_the_later_drawings() -> None:
    root = Path(__file__).parent.parent
    files = [path for folder in ("archscan", "rules") for path in (root / folder).rglob("*")]
    said = "\n".join(path.read_text("utf-8") for path in files if path.suffix in (".py", ".yaml")).lower()
    for package in packages():
        if package["set"] in ("second", "third", "fourth", "fifth"):
            assert not re.search(rf"\b{re.escape(package['name'])}\b", said), package["name"]


def test_every_place_says_how_it_was_drawn() -> None:
    assert {label["drawn"] for label in FINDINGS} == {"finding", "gate", "grep", "second", "read"}
    assert {label["drawn"] for label in FIXES} == {"proposed", "labelled finding"}
    assert {label["drawn"] for label in SECOND} == {"finding", "gate", "grep", "read"}
    assert {label["drawn"] for label in THIRD} == {"finding", "gate", "grep", "read"}
    assert {label["drawn"] for label in FOURTH} == {"finding", "gate", "grep", "read"}
    assert {label["drawn"] for label in FIFTH} == {"finding", "gate", "grep", "read"}


@pytest.mark.parametrize("kind", ["findings", "fixes"])
def test_a_package_is_in_one_set_only(kind: str) -> None:
    sets = {(p["name"], p["version"]): p["set"] for p in packages()}
    counts = Counter(sets.values())
    assert (counts["dev"], counts["holdout"]) == (10, 14) and set(counts) == set(SETS)
    assert len(sets) == len({name for name, _ in sets})
    for name in SETS:
        of = {sets[la["package"], la["version"]] for some in labels(kind, [name]).values() for la in some}
        assert of == {name}


def test_labels_use_the_words_of_the_judge() -> None:
    known = {target.name for target in load().universe.targets}
    for label in FINDINGS:
        assert label["target"] in known
        assert label["problem"] in {"none", *(p.value for p in Problem)}, label["id"]
        assert label["consequence"] in {c.value for c in Consequence}, label["id"]
        assert label["intent"] in INTENTS and label["capability"] in ("can", "cannot", "unknown"), label["id"]
        assert label["relation"] in ("older", "newer", "sibling", "between", "other-half"), label["id"]
        assert label["severity"] in ("high", "medium", "low", "info"), label["id"]
    for label in (*FINDINGS, *FIXES):
        assert {label["advice"], *label["also"]} <= ADVICE, label["id"]
        assert label["why"] and "\n" not in label["text"] and len(label["text"]) <= 160, label["id"]
    for label in FIXES:
        assert {label["fix"], *label["also_fix"]} <= {"safe", "unsafe", "none"}, label["id"]
        assert set(label["admits"]) <= known, label["id"]
    ids = [label["id"] for label in (*FINDINGS, *FIXES)]
    assert len(set(ids)) == len(ids)


def test_what_cannot_run_is_never_to_be_opened() -> None:
    for label in FINDINGS:
        if label["capability"] == "cannot" and label["problem"] != "over-admitted":
            assert label["advice"] in ("leave", "widen-unsafe-compile"), label["id"]
        if label["problem"] == "over-admitted":  # whoever is let in wrongly is not to be let in further
            assert label["advice"] in ("leave", "narrow") or label["intent"] == "limit", label["id"]


def test_labelled_lines_are_where_they_are_said_to_be() -> None:
    if not (base := os.environ.get("ARCHSCAN_LABELS")):
        pytest.skip("ARCHSCAN_LABELS names no directory with the packages (scripts/labels_fetch.py)")
    roots = {p["name"]: folder(p, Path(base)) for p in packages()}
    for label in (*FINDINGS, *FIXES):
        lines = (roots[label["package"]] / label["path"]).read_text("utf-8", "replace").splitlines()
        assert lines[label["line"] - 1].strip().startswith(label["text"]), label["id"]


@pytest.mark.parametrize(
    ("advice", "also", "given", "expected"),
    [
        ("widen-safe", [], "widen-safe", RIGHT),
        ("widen-safe", ["pair"], "pair", RIGHT),
        ("widen-safe", [], "widen-perf-risk", WRONG),
        ("widen-safe", [], "investigate", HALF),
        ("narrow", [], "investigate", HALF),
        ("leave", [], "investigate", WRONG),
        ("leave", ["investigate"], "investigate", RIGHT),
        ("leave", [], "widen-unsafe-compile", RIGHT),
        ("leave", [], None, SILENT),
        ("widen-safe", [], None, MISSED),
        ("widen-safe", ["leave"], None, SILENT),
    ],
)
def test_outcomes(advice: str, also: list[str], given: str | None, expected: str) -> None:
    assert outcome({"advice": advice, "also": also}, given) == expected


@pytest.mark.parametrize(
    ("advice", "also", "given", "expected"),
    [
        ("leave", ["widen-safe"], "widen-safe", ""),
        ("widen-safe", ["leave"], "leave", WRONG),
        ("widen-safe", ["leave"], None, WRONG),
        ("widen-safe", ["leave", "pair"], "pair", RIGHT),
        ("widen-safe", ["leave"], "investigate", HALF),
    ],
)
def test_leaving_a_place_with_something_to_do_does_not_count(
    advice: str, also: list[str], given: str | None, expected: str
) -> None:
    assert to_do({"advice": advice, "also": also}, given) == expected


@pytest.mark.parametrize(
    ("given", "capability", "advice", "expected"),
    [
        ("slow_fallback", "cannot", "leave", True),
        ("correct_exclusion", "cannot", "leave", True),
        ("correct_exclusion", "unknown", "leave", False),
        ("correct_exclusion", "cannot", "widen-unsafe-compile", False),
        ("trap", "cannot", "leave", False),
    ],
)
def test_what_cannot_run_is_rightly_excluded(given: str, capability: str, advice: str, expected: bool) -> None:
    label = {"consequence": "slow_fallback", "capability": capability, "advice": advice}
    assert same_outcome(given, label) is expected


@pytest.mark.parametrize(
    ("label", "safe", "opens", "expected"),
    [
        ({"fix": "safe"}, True, ("sm_121", "sm_121a"), RIGHT),
        ({"fix": "safe"}, False, ("sm_121",), RIGHT),  # held back is not wrong
        ({"fix": "unsafe"}, True, ("sm_121",), WRONG),
        ({"fix": "none"}, False, ("sm_121",), WRONG),
        ({"fix": "none", "also_fix": ["unsafe"]}, False, ("sm_121",), RIGHT),
        ({"fix": "none", "also_fix": ["unsafe"]}, True, ("sm_121",), WRONG),
        ({"fix": "safe", "admits": ["sm_121"]}, True, ("sm_121a",), RIGHT),
        ({"fix": "safe", "admits": ["sm_121"]}, True, ("sm_120",), WRONG),
    ],
)
def test_outcomes_of_fixes(label: dict[str, Any], safe: bool, opens: tuple[str, ...], expected: str) -> None:
    whole = {"also_fix": [], "admits": [], "why": "", **label}
    assert fix_outcome(whole, Fix("", safe, (), (), opens))[0] == expected
    assert fix_outcome(whole, None) == (SILENT, "")


def test_shares_and_intervals() -> None:
    assert share([RIGHT, RIGHT, HALF, WRONG, MISSED, SILENT])["share"] == 0.625
    low, high = wilson(8, 10)  # from Wilson's formula: 0.4902, 0.9433
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (0.0, 1.0)


def test_calibrating_without_packages_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ARCHSCAN_LABELS", raising=False)
    assert main([]) == 0
    assert "ARCHSCAN_LABELS" in capsys.readouterr().out


def test_no_line_of_a_label_file_is_empty() -> None:
    for name in SETS:
        for path in (Path(__file__).parent / "data" / "labels" / name).glob("*.jsonl"):
            assert all(json.loads(line) for line in path.read_text("utf-8").splitlines())
