"""What a probe's measurement changes in a report: a dispute is settled for the chip it ran on, and for no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from archscan import cli

GATE = """#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
__device__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\\n barrier.cluster.wait.aligned;"); }
#endif
"""
ROW = {
    "feature": ["cluster", "cluster-barrier"],
    "target": "sm_120",
    "outcome": "works",
    "source": "archscan probe cluster-launch",
    "date": "2026-05-01",
    "probe": "cluster-launch",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(GATE)
    return tmp_path


def judged(project: Path, capsys: pytest.CaptureFixture[str], *rows: dict[str, Any], target: str = "sm120") -> Any:
    """The one finding there is, given these measurements."""
    (project / "mine.json").write_text(json.dumps({"evidence": list(rows), "probe": {}}))
    cli.run(["-t", target, "-f", "json", "--no-fixes", "--include-leave", "--evidence", "mine.json", "a.cu"])
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    return found


def reason(finding: Any, start: str) -> list[str]:
    """The facts of the reason that begins so; none where there is no such reason."""
    found = [r for r in finding["risk"]["reasons"] if r["text"].startswith(start)]
    return [evidence["fact"] for r in found for evidence in r["evidence"]]


def without_probe(**changed: Any) -> dict[str, Any]:
    return {key: value for key, value in {**ROW, **changed}.items() if key != "probe"}


def test_reports_on_clusters_disagree_until_the_gpu_answers(project: Path, capsys) -> None:
    assert judged(project, capsys)["advice"] == "contested"
    found = judged(project, capsys, ROW)
    assert found["advice"] == "widen-safe"
    told = reason(found, "settled on your GPU")
    assert told[0].startswith("opened on sm_120, it worked")
    assert len(told) == 3  # its own, and both sides of the dispute
    assert not reason(found, "contested")


def test_a_measurement_that_no_probe_made_settles_nothing(project: Path, capsys) -> None:
    found = judged(project, capsys, without_probe())
    assert found["advice"] == "contested"
    assert reason(found, "contested: reports disagree")


def test_it_is_settled_for_the_chip_that_was_probed_alone(project: Path, capsys) -> None:
    assert judged(project, capsys, ROW, target="sm121")["advice"] == "contested"
    assert judged(project, capsys, {**ROW, "target": "sm_121"}, target="sm121")["advice"] == "widen-safe"


def test_half_of_what_the_reports_speak_of_settles_nothing(project: Path, capsys) -> None:
    assert judged(project, capsys, {**ROW, "feature": ["tma"]})["advice"] == "contested"


@pytest.mark.parametrize("outcome", ["fails", "wrong"])
def test_a_failure_on_the_gpu_settles_it_the_other_way(project: Path, capsys, outcome: str) -> None:
    found = judged(project, capsys, {**ROW, "outcome": outcome})
    assert found["advice"] == "widen-perf-risk"
    assert len(reason(found, "settled on your GPU")) == 3


def test_a_gain_does_not_unmake_what_others_lost(project: Path, capsys) -> None:
    """Only what was in dispute is settled: a sourced loss stays, and stands against the gain."""
    pdl = '#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\n__device__ void go() { asm volatile("griddepcontrol.launch_dependents;"); }\n#endif\n'  # noqa: E501
    (project / "a.cu").write_text(pdl)
    row = {**ROW, "feature": "griddep-launch", "outcome": "gain", "ratio": 1.2, "probe": "pdl-trigger"}
    assert judged(project, capsys)["advice"] == "widen-perf-risk"
    assert judged(project, capsys, row)["advice"] == "contested"


def test_the_report_shows_the_own_figure_beside_the_public_ones(project: Path, capsys) -> None:
    (project / "mine.yaml").write_text(yaml.safe_dump({"evidence": [{**ROW, "note": "two 3.1 µs (3 to 3.3)"}]}))
    cli.run(["-t", "sm120", "-v", "--evidence", "mine.yaml", "a.cu"])
    out = " ".join(capsys.readouterr().out.split())
    assert "settled on your GPU" in out
    assert "two 3.1 µs (3 to 3.3)" in out
