"""Fingerprints stay: a baseline that an earlier version wrote goes on to suppress what has not changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archscan import cli

ROOT = Path(__file__).resolve().parents[1]
BEFORE = json.loads((ROOT / "tests" / "data" / "fingerprints.json").read_text("utf-8"))
FEWEST = 60  # findings that are as they were; edited fixtures take some away
pytestmark = pytest.mark.skipif(not (ROOT / "examples").exists(), reason="not in a checkout")


def what(finding: dict[str, object]) -> tuple[object, ...]:
    """What makes a finding the same finding, its line left out."""
    return tuple(finding[key] for key in ("path", "problem", "rule", "function", "condition"))


def scanned(capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, object]]:
    paths = [str(ROOT / path) for path in BEFORE["of"]]
    cli.run(["scan", "-t", "sm120", "-f", "json", "--no-fixes", "--isolated", "--include-tests", *more, *paths])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["findings"]
    return found


def test_unchanged_findings_keep_their_fingerprints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = scanned(capsys)
    still = {what(finding) for finding in found}
    unchanged = [one for one in BEFORE["findings"] if what(one) in still]
    known = {finding["fingerprint"] for finding in found}
    kept = [one for one in unchanged if one["fingerprint"] in known]
    assert len(unchanged) >= FEWEST
    assert len(kept) >= 0.99 * len(unchanged), [what(one) for one in unchanged if one not in kept]

    baseline = tmp_path / "baseline.json"
    rows = [{key: one[key] for key in ("fingerprint", "rule", "path")} for one in kept]
    baseline.write_text(json.dumps({"kind": "archscan-baseline", "version": 1, "target": "sm_120", "findings": rows}))
    left = scanned(capsys, "--baseline", str(baseline))
    assert not {finding["fingerprint"] for finding in left} & {one["fingerprint"] for one in kept}
    assert len(left) == len(found) - len({one["fingerprint"] for one in kept})
