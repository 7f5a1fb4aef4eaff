"""`--add-ignores REASON`: comments that silence what counts and nothing else, and that `revert` takes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archscan import cli

GATE = "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\n__global__ void k(float* o) { o[0] = 1.f; }\n#endif\n"
PYTHON = """\
import torch

MAJOR = torch.cuda.get_device_capability()[0]


def run():
    if MAJOR not in (9, 10):
        raise RuntimeError("only for 9 and 10")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    base = tmp_path / "project"
    base.mkdir()
    (base / "setup.py").write_text("")
    monkeypatch.chdir(base)
    return base


def findings(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, int]]:
    cli.run(["--target", "sm120", "--no-cache", "--isolated", "-f", "json", "--no-fixes"])
    document = json.loads(capsys.readouterr().out)
    return [(one["path"], one["line"]) for one in document["findings"] if one["advice"] not in ("leave", "investigate")]


def add(reason: str = "measured: slower") -> int:
    return cli.run(["--target", "sm120", "--no-cache", "--isolated", "--add-ignores", reason])


def test_comments_silence_what_counts_and_are_taken_back(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a.cu").write_bytes(
        b"// first\r\n" + GATE.replace("\n", "\r\n").encode() + GATE.replace("\n", "\r\n").encode()
    )
    before = (project / "a.cu").read_bytes()
    assert findings(capsys) == [("a.cu", 2), ("a.cu", 5)]
    assert add() == 0
    assert "2 findings silenced in 1 file; undo with: archscan revert" in capsys.readouterr().err
    lines = (project / "a.cu").read_bytes().split(b"\r\n")
    assert lines[1] == lines[5] == b"// archscan: ignore[upper-bound-gate] measured: slower"
    assert findings(capsys) == []
    assert cli.run(["revert"]) == 0
    assert (project / "a.cu").read_bytes() == before


def test_indentation_and_language_are_kept(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = "namespace n {\n  " + GATE.replace("\n", "\n  ").rstrip() + "\n}"
    (project / "a.cuh").write_text(inside)
    assert add() == 0
    text = (project / "a.cuh").read_text()
    assert "\n  // archscan: ignore[upper-bound-gate] measured: slower\n  #if " in text
    assert text.endswith("}") and findings(capsys) == []


def test_what_takes_no_comment_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "Dockerfile").write_text("FROM x\nENV TORCH_CUDA_ARCH_LIST=8.0\n")
    (project / "b.cu").write_text("#define A \\\n" + GATE)
    before = (project / "b.cu").read_bytes()
    wanted = findings(capsys)
    code = add()
    assert code == int(bool(wanted))
    assert capsys.readouterr().err.count("left: ") == len(wanted)
    assert (project / "b.cu").read_bytes() == before


def test_nothing_is_said_to_be_done_where_nothing_counts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a.cu").write_text("int x;\n")
    assert add() == 0
    assert capsys.readouterr().err == "nothing to silence\n"


@pytest.mark.parametrize("reason", ["  ", "a */ b", "ends with \\", "x" * 201, "a\x1b[31m"])
def test_a_reason_is_one_line_of_plain_text(project: Path, capsys: pytest.CaptureFixture[str], reason: str) -> None:
    (project / "a.cu").write_text(GATE)
    assert add(reason) == 2
    assert (project / "a.cu").read_text() == GATE
