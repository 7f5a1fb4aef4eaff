"""Measurements of the user: what they change, what they do not, and what is answered to a wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archscan import cli
from archscan.catalog import load, with_evidence
from archscan.catalog.measurements import compile_measurements
from archscan.errors import UserError

CATALOG = load()
GATE = """#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
__device__ void store(unsigned a, unsigned b) {{ asm volatile("{asm}" :: "r"(a), "r"(b) : "memory"); }}
#endif
"""
STMATRIX = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {{%1}};"  # assembles on sm_120; nothing bad is known of it
WGMMA = "wgmma.fence.sync.aligned;"  # assembles on sm_90a alone
PDL = "griddepcontrol.launch_dependents;"  # good and bad is known of it
ROW = {"feature": "stmatrix", "target": "sm_120", "source": "our benchmark, run 7", "date": "2026-05-01"}
LOSS = {**ROW, "outcome": "loss", "ratio": 0.82}
GAIN = {**ROW, "outcome": "gain", "ratio": 1.2}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def advised(
    project: Path, capsys: pytest.CaptureFixture[str], *rows: dict[str, Any], asm: str = STMATRIX, target: str = "sm120"
) -> dict[str, Any]:
    """The one finding there is, given these measurements."""
    (project / "a.cu").write_text(GATE.format(asm=asm.replace("{{", "{").replace("}}", "}")))
    (project / "mine.yaml").write_text(yaml.safe_dump({"evidence": list(rows)}))
    option = ["--evidence", "mine.yaml"] if rows else []
    cli.run(["-t", target, "-f", "json", "--no-fixes", "--include-leave", *option, "a.cu"])
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    return dict(found)


def facts(finding: dict[str, Any]) -> list[str]:
    return [evidence["fact"] for reason in finding["risk"]["reasons"] for evidence in reason["evidence"]]


def test_a_measured_loss_makes_it_a_risk(project: Path, capsys) -> None:
    assert advised(project, capsys)["advice"] == "widen-safe"
    found = advised(project, capsys, LOSS)
    assert found["advice"] == "widen-perf-risk"
    assert "opened on sm_120, it was slower, 0.82 times the speed" in facts(found)
    (source,) = {
        e["source"] for r in found["risk"]["reasons"] for e in r["evidence"] if e["fact"].startswith("opened on")
    }
    assert source == "our benchmark, run 7, 2026-05-01"


@pytest.mark.parametrize(("outcome", "advice"), [("fails", "widen-perf-risk"), ("wrong", "widen-perf-risk")])
def test_what_went_wrong_counts_as_a_loss(project: Path, capsys, outcome: str, advice: str) -> None:
    assert advised(project, capsys, {**ROW, "outcome": outcome})["advice"] == advice


@pytest.mark.parametrize("outcome", ["gain", "works", "same"])
def test_what_went_well_alone_changes_no_advice(project: Path, capsys, outcome: str) -> None:
    found = advised(project, capsys, {**ROW, "outcome": outcome})
    assert found["advice"] == "widen-safe"
    assert any(fact.startswith("opened on sm_120") for fact in facts(found))


def test_measurements_that_disagree_are_contested_and_both_are_shown(project: Path, capsys) -> None:
    found = advised(project, capsys, LOSS, GAIN)
    assert found["advice"] == "contested"
    assert {"opened on sm_120, it was slower, 0.82 times the speed", "opened on sm_120, it was faster, 1.20 times the speed"} <= set(facts(found))  # noqa: E501  # fmt: skip


def test_a_gain_against_what_others_lost_is_contested_not_safe(project: Path, capsys) -> None:
    """Good sources disagree; a gain of one's own does not unmake the loss of another."""
    assert advised(project, capsys, asm=PDL)["advice"] == "widen-perf-risk"
    assert advised(project, capsys, {**GAIN, "feature": "griddep-launch"}, asm=PDL)["advice"] == "contested"


@pytest.mark.parametrize(
    ("measured", "asked", "advice"),
    [
        ("sm_121", "sm120", "widen-perf-risk"),  # the same family
        ("12.1", "sm_120a", "widen-perf-risk"),
        ("RTX 5090", "sm121", "widen-perf-risk"),
        ("sm_100", "sm120", "widen-safe"),  # another family
        ("sm_90", "sm120", "widen-safe"),
    ],
)
def test_a_measurement_holds_for_its_family(project: Path, capsys, measured: str, asked: str, advice: str) -> None:
    assert advised(project, capsys, {**LOSS, "target": measured}, target=asked)["advice"] == advice


@pytest.mark.parametrize("feature", ["wgmma", "tma"])
def test_a_measurement_of_something_else_changes_nothing(project: Path, capsys, feature: str) -> None:
    assert advised(project, capsys, {**LOSS, "feature": feature}) == advised(project, capsys)


def test_what_cannot_run_stays_as_it_is_whatever_was_measured(project: Path, capsys) -> None:
    without = advised(project, capsys, asm=WGMMA)["advice"]
    assert without != "widen-perf-risk"
    assert advised(project, capsys, {**LOSS, "feature": "wgmma"}, asm=WGMMA)["advice"] == without


def test_the_config_file_names_evidence_relative_to_itself(project: Path, capsys) -> None:
    advised(project, capsys, LOSS)
    (project / "archscan.toml").write_text('evidence = ["mine.yaml"]\n')
    (project / "sub").mkdir()
    (project / "a.cu").rename(project / "sub/a.cu")
    cli.run(["-t", "sm120", "-f", "json", "--no-fixes", "sub"])
    assert json.loads(capsys.readouterr().out)["findings"][0]["advice"] == "widen-perf-risk"


def test_an_edited_measurement_is_read_again(project: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a whole run said is remembered, with the file beside it."""
    monkeypatch.setattr("archscan.sources.listing.RACY_NS", 0)
    assert advised(project, capsys, LOSS)["advice"] == "widen-perf-risk"
    assert advised(project, capsys, GAIN)["advice"] == "widen-safe"


def test_the_report_says_whose_it_is(project: Path, capsys) -> None:
    advised(project, capsys, LOSS)
    cli.run(["-t", "sm120", "-v", "--evidence", "mine.yaml", "a.cu"])
    out = " ".join(capsys.readouterr().out.split())
    assert "you measured a loss when it was opened" in out
    assert "yours" in out


@pytest.mark.parametrize(
    ("change", "title", "hint"),
    [
        ({"feature": "stmatix"}, 'feature: unknown value "stmatix"', 'did you mean "stmatrix"?'),
        ({"feature": "tuning"}, 'feature: unknown value "tuning"', ""),
        ({"feature": 5}, "expected a list", ""),
        ({"target": "sm_12O"}, 'unknown target "sm_12O"', "sm_120"),
        ({"target": "rtx 509O"}, "unknown target", "RTX 5090"),
        ({"target": "native"}, 'target cannot be "native"', "name it"),
        ({"outcome": "los"}, 'outcome: unknown value "los"', 'did you mean "loss"?'),
        ({"outcome": None}, 'outcome: unknown value "None"', "gain"),
        ({"ratio": "0.8x"}, 'ratio cannot be "0.8x"', "gate open"),
        ({"ratio": 0}, 'ratio cannot be "0"', ""),
        ({"ratio": -1}, 'ratio cannot be "-1"', ""),
        ({"ratio": float("inf")}, 'ratio cannot be "inf"', ""),
        ({"ratio": True}, 'ratio cannot be "True"', ""),
        ({"ratio": 1.2}, "a ratio of 1.2 is no loss", 'did you mean "gain"?'),
        ({"outcome": "gain"}, "a ratio of 0.82 is no gain", 'did you mean "loss"?'),
        ({"outcome": "works"}, 'the outcome "works" has no ratio', ""),
        ({"source": " "}, "the source is empty", "looked up"),
        ({"source": 3}, "source: expected text", ""),
        ({"date": "1.5.2026"}, 'date cannot be "1.5.2026"', "2026-01-31"),
        ({"date": "2026-02-30"}, 'date cannot be "2026-02-30"', ""),
        ({"confidence": "hihg"}, 'confidence: unknown value "hihg"', 'did you mean "high"?'),
        ({"confidence": "contested"}, 'confidence: unknown value "contested"', "high"),
        ({"conditions": [1]}, "expected text", ""),
        ({"ration": 1}, 'unknown key "ration"', 'did you mean "ratio"?'),
    ],
)
def test_a_wrong_measurement_is_an_error_with_the_nearest_word(
    project: Path, capsys, change: dict[str, Any], title: str, hint: str
) -> None:
    (project / "mine.yaml").write_text(yaml.safe_dump({"evidence": [{**LOSS, **change}]}))
    assert cli.run(["-t", "sm120", "--evidence", "mine.yaml", "."]) == 2
    error = capsys.readouterr().err
    assert "mine.yaml: measurement 1" in error
    assert title in error and hint in error.partition("hint: ")[2]


@pytest.mark.parametrize("key", ["feature", "target", "outcome", "source", "date"])
def test_a_measurement_without_what_makes_it_one(project: Path, capsys, key: str) -> None:
    (project / "mine.yaml").write_text(yaml.safe_dump({"evidence": [{k: v for k, v in LOSS.items() if k != key}]}))
    assert cli.run(["-t", "sm120", "--evidence", "mine.yaml", "."]) == 2
    assert f'"{key}" is missing' in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["", "[]", "evidence: []", "evidence: {}", "evidnce: []", "- 1", "x", "evidence: [1]"]
)
def test_a_file_without_measurements_is_said(project: Path, capsys, content: str) -> None:
    (project / "mine.yaml").write_text(content)
    assert cli.run(["-t", "sm120", "--evidence", "mine.yaml", "."]) == 2
    assert capsys.readouterr().err.startswith("error: mine.yaml: ")


def test_the_example_of_the_page_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs/evidence.md").read_text(encoding="utf-8")
    file = tmp_path / "mine.yaml"
    file.write_text(page.split("```yaml\n")[1].split("```")[0])
    rows = with_evidence(CATALOG, [file]).evidence[len(CATALOG.evidence) :]
    assert [row.weighs for row in rows] == ["harm", "help"]
    assert all(row.sms == {120, 121} and row.evidence.by_user for row in rows)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=6)
    | st.sampled_from(["stmatrix", "sm_120", "loss", "gain", "works", "high", "12.0", "tma", "2026-01-01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["evidence", *ROW, "ratio"]), inner),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*LOSS, "confidence", "conditions", "note"]), VALUES) | VALUES)
def test_fuzz_measurements(changed: Any) -> None:
    entry = {**LOSS, **changed} if isinstance(changed, dict) else changed
    for raw in ({"evidence": [entry]}, {"evidence": entry}, entry):
        try:
            compile_measurements(raw, CATALOG, "mine.yaml")
        except UserError as error:
            assert error.title.startswith("mine.yaml")
