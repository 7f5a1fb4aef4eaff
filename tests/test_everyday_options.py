"""Options of every day: counts, file lists, ignored rules, the cache, JSON Lines, names for standard input."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

import archscan
from archscan import cli

UPPER = "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\n__global__ void k(float* o) { o[0] = 1.f; }\n#endif\n"
EQUAL = "#if __CUDA_ARCH__ == 900\n__global__ void k(float* o) { o[0] = 1.f; }\n#endif\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"a.cu": UPPER, "b.cu": UPPER, "lib/c.cu": EQUAL, "notes.md": "x"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARCHSCAN_CACHE_DIR", raising=False)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.run(["scan", "--target", "sm120", "--no-cache", *arguments]) in (0, 1), capsys.readouterr().err
    return capsys.readouterr().out


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[str, str]]:
    document = json.loads(run(capsys, "-f", "json", *arguments))
    return sorted((one["path"], one["rule"]) for one in document["findings"])


ALL = [("a.cu", "upper-bound-gate"), ("b.cu", "upper-bound-gate"), ("lib/c.cu", "equality-gate")]


def test_rules_are_named_by_their_beginning(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys) == ALL
    assert found(capsys, "--rule", "upper-*") == ALL[:2]
    assert found(capsys, "--ignore", "upper-*") == ALL[2:]
    assert found(capsys, "--rule", "upper-bound-gate,equality-gate", "--ignore", "equality-gate") == ALL[:2]


@pytest.mark.parametrize("option", ["--rule", "--ignore"])
def test_a_beginning_of_no_rule_is_an_error(project: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert cli.run(["scan", "--target", "sm120", "--no-cache", option, "uper-bound*"]) == 2
    error = capsys.readouterr().err
    assert "unknown rule 'uper-bound*'" in error and "did you mean 'upper-bound-gate'?" in error


def test_no_rule_left_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["scan", "--target", "sm120", "--no-cache", "--ignore", "*"]) == 2
    assert "no rule is left" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("lib/:*", ALL[:2]),
        ("*.cu:upper-*", ALL[2:]),
        ("/a.cu:upper-bound-gate", ALL[1:]),
        ("a.cu:equality-gate", ALL),
        ("c.cu:upper-bound-gate,equality-gate", ALL[:2]),
    ],
)
def test_rules_are_ignored_by_file(
    project: Path, capsys: pytest.CaptureFixture[str], pattern: str, left: list[tuple[str, str]]
) -> None:
    assert found(capsys, "--per-file-ignores", pattern) == left
    names = pattern.partition(":")
    (project / "archscan.toml").write_text(f"[per-file-ignores]\n{json.dumps(names[0])} = {json.dumps([names[2]])}\n")
    if "," not in pattern:
        assert found(capsys) == left


@pytest.mark.parametrize("text", ["per-file-ignores = 3", "[per-file-ignores]\na = 'x'", "per-file-ignores = ['a.cu']"])
def test_a_wrong_table_says_how_to_write_it(project: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (project / "archscan.toml").write_text(text)
    assert cli.run(["scan", "--target", "sm120", "--no-cache"]) == 2
    assert "per-file-ignores" in capsys.readouterr().err


def test_statistics_count_by_rule(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "--statistics").splitlines()
    assert lines[0].split() == ["all", "high", "medium", "low", "info", "rule", "what"]
    assert lines[1].split()[:6] == ["2", "2", "0", "0", "0", "upper-bound-gate"]
    assert lines[-1] == "3 findings for sm_120"
    document = json.loads(run(capsys, "--statistics", "-f", "json"))
    assert [(row["rule"], row["findings"]) for row in document["statistics"]] == [
        ("upper-bound-gate", 2),
        ("equality-gate", 1),
    ]


def test_show_files_lists_what_would_be_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".gitignore").write_text("b.cu\n")
    assert run(capsys, "--show-files").splitlines() == ["a.cu", "lib/c.cu"]
    assert run(capsys, "--show-files", "--exclude", "lib/").splitlines() == ["a.cu"]


def test_json_lines_hold_the_report_and_a_finding_a_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rest = [json.loads(line) for line in run(capsys, "-f", "jsonl").splitlines()]
    assert (head["kind"], head["summary"]["findings"], "findings" in head) == ("report", 3, False)
    whole = json.loads(run(capsys, "-f", "json"))
    assert [{key: value for key, value in one.items() if key != "kind"} for one in rest] == whole["findings"]


def test_the_cache_lies_where_it_is_told(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "elsewhere"
    before = os.environ.get("ARCHSCAN_CACHE_DIR")
    cli.run(["scan", "--target", "sm120", "--cache", "--cache-dir", str(other), "a.cu"])
    capsys.readouterr()
    assert list(other.iterdir())
    assert os.environ.get("ARCHSCAN_CACHE_DIR") == before


def test_standard_input_has_the_name_it_is_given(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(UPPER.encode())))
    assert found(capsys, "--stdin-filename", "lib/new.cuh", "-") == [("lib/new.cuh", "upper-bound-gate")]


def test_config_as_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "archscan.toml").write_text('target = "sm120"\nignore = ["upper-*"]\n')
    assert cli.run(["config", "-f", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    settings = {row["key"]: (row["value"], row["origin"]) for row in document["settings"]}
    assert document["file"] == "archscan.toml"
    assert settings["target"] == ("sm120", "archscan.toml") and settings["jobs"] == (0, "default")
    assert document["switched_off"] == ["rule upper-bound-gate is off: in ignore (archscan.toml)"]


def test_the_schema_of_the_configuration_takes_what_we_take() -> None:
    schema = json.loads((Path(archscan.__file__).parent / "schema" / "config.schema.json").read_text())
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)
    good = {"target": "sm120", "fail-on": "medium", "per-file-ignores": {"tests/": ["missing-*"]}, "jobs": 2}
    assert validator.is_valid(good)
    for bad in ({"targett": "sm120"}, {"fail-on": "bad"}, {"jobs": -1}, {"per-file-ignores": {"a": "b"}}):
        assert not validator.is_valid(bad), bad
