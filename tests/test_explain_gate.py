"""`explain PATH:LINE`: everything known of a gate, for gates that shut out, let in, hang on a name, and are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from archscan import cli

CUDA = """\
#ifdef USE_X
#define LIMIT 1000
#else
#define LIMIT 1300
#endif
__global__ void open_question(float* out) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < LIMIT
  out[0] = 1;
#endif
}
__global__ void narrow(float* out) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  asm volatile("griddepcontrol.wait;");
  out[0] = 2;
#else
  __trap();
#endif
}
__global__ void wide() {
#if __CUDA_ARCH__ >= 900
  asm volatile("wgmma.fence.sync.aligned;");
#endif
}
"""
PYTHON = """\
import torch

def kernel(x):
    if torch.cuda.get_device_capability()[0] in (9, 10):
        return fast(x)
    raise RuntimeError("not supported here")
"""
HOST = """\
int pick(int device) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, device);
  if (prop.major == 9) {
    return launch_fast(device);
  }
  return launch_slow(device);
}
"""
CMAKE = 'set(CMAKE_CUDA_ARCHITECTURES "80-real;90a-real")\nproject(p LANGUAGES CXX CUDA)\nadd_library(p a.cu)\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("a.cu", CUDA), ("m.py", PYTHON), ("host.cpp", HOST)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.run(["explain", *words, "--isolated", "--no-cache"]) == 0
    return " ".join(capsys.readouterr().out.split())


def values(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert cli.run(["explain", *words, "--isolated", "--no-cache", "--format", "json"]) == 0
    (gate,) = json.loads(capsys.readouterr().out)["gates"]
    return gate  # type: ignore[no-any-return]


def test_a_gate_that_shuts_the_target_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "a.cu:12", "-t", "sm120")
    assert "taken: yes 90-110; no 50-89, 120, 121, host" in text
    assert "15: else taken: yes 50-89, 120, 121, host; no 90-110 does: traps" in text
    assert "high[upper-bound-gate]: excluded, trap" in text
    assert "griddep-wait (line 13): assembles for 90-121; sm_120: yes (ptxas" in text
    assert "by the row `loss` (docs/advice.md#loss)" in text
    assert "flashinfer-ai/flashinfer#3903" in text
    assert "+#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ <= 1200" in text
    gate = values(capsys, "a.cu:12", "-t", "sm120")
    arm = gate["arms"][0]
    assert [arm["taken"][name] for name in ("sm_89", "sm_90", "sm_110", "sm_120a")] == ["no", "yes", "yes", "no"]
    assert gate["finding"]["advice"] == gate["advice_row"]["advice"] == "widen-perf-risk"
    assert gate["finding"]["fix"]["safety"] == "unsafe" and gate["no_fix"] is None
    assert [(use["group"], use["line"], "sm_120" in use["have"]) for use in arm["uses"]] == [("griddep-wait", 13, True)]


def test_the_same_gate_for_a_target_that_it_is_right_for(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = values(capsys, "a.cu:12", "-t", "sm100")
    assert gate["finding"] is None and gate["advice_row"] is None
    assert gate["not_reported"].startswith("the target takes the arm at line 12, which does the work")


def test_a_gate_that_hangs_on_a_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "a.cu:7", "-t", "sm120")
    assert "taken: yes 90; no 50-89, host; unknown 100-121 (hangs on USE_X)" in text
    assert "nothing is reported: undecided: it hangs on USE_X" in text
    settled = told(capsys, "a.cu:7", "-t", "sm120", "-D", "USE_X")
    assert "taken: yes 90; no 50-89, 100-121, host" in settled and "excluded, silent_noop" in settled


def test_a_gate_that_lets_in_too_much(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = values(capsys, "a.cu:20", "-t", "sm120")
    assert (gate["finding"]["problem"], gate["finding"]["capability"]) == ("over-admitted", "cannot")
    assert gate["arms"][0]["uses"][0]["have"] == ["sm_90a"]
    (project / "CMakeLists.txt").write_text(CMAKE.replace("-real", ""))  # sm_120 gets PTX of sm_80
    gate = values(capsys, "a.cu:20", "-t", "sm120")
    assert gate["finding"] is None
    assert gate["not_reported"].startswith("it lets the target into what it cannot run; no scanned build")


def test_gates_of_the_other_languages(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "CMakeLists.txt").write_text(CMAKE)
    gate = values(capsys, "m.py:4", "-t", "sm120")
    assert (gate["layer"], gate["function"], gate["finding"]["problem"]) == ("python", "kernel", "excluded")
    assert gate["rest"]["effect"]["message"] == "not supported here"
    gate = values(capsys, "host.cpp:4", "-t", "sm120")
    assert (gate["layer"], gate["advice_row"]["id"], gate["no_fix"]) == ("host", "one-chip", "right as it is")
    gate = values(capsys, "CMakeLists.txt:1", "-t", "sm120")
    assert (gate["layer"], gate["finding"]["rule"]) == ("build", "build-arch-list")
    assert gate["arms"][0]["taken"]["sm_89"] == "yes" and gate["arms"][0]["taken"]["sm_120"] == "no"


def test_a_line_in_a_body_means_the_gate_around_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert values(capsys, "a.cu:14", "-t", "sm120")["line"] == 12
    assert values(capsys, "a.cu:12:5")["finding"] is None  # without a target: what the gate is


def test_a_place_without_a_gate(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "a.cu:10", "--isolated", "--no-cache"]) == 2
    assert "no gate at a.cu:10" in (said := capsys.readouterr().err) and "7, 12, 15" in said
    assert cli.run(["explain", "b.cu:10", "--isolated", "--no-cache"]) == 2
    assert "nothing is known of b.cu" in capsys.readouterr().err
