"""`fix --verify`: nvcc and the machine code say what a table only claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan import cli
from archscan.fixing.verify import find_tool

pytestmark = [
    pytest.mark.nvcc,
    pytest.mark.slow,
    pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc"),
]

WAIT = (
    "__global__ void k(const int* a, int* b) {\n"
    "#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200)\n"
    "  cudaGridDependencySynchronize();\n"
    "#endif\n"
    "  b[threadIdx.x] = a[threadIdx.x];\n"
    "}\n"
)


def verified(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.cu").write_text(text)
    cli.run(["fix", "--target", "sm120", "--unsafe", "--verify", str(tmp_path / "a.cu")])
    return capsys.readouterr().err


def test_the_wait_arrives(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = verified(tmp_path, WAIT, capsys, monkeypatch)
    assert "verified a.cu:2 on sm_120: opens" in said
    if find_tool("nvdisasm"):
        assert "ACQBULK in the machine code after, absent before" in said


def test_what_is_missing_here_says_nothing_of_the_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = verified(
        tmp_path,
        '#include "not_here.h"\n' + WAIT.replace("Synchronize()", "Synchronize(); mine()"),
        capsys,
        monkeypatch,
    )
    assert "not-compilable" in said and "missing mine" in said


def test_a_header_beside_the_file_is_not_the_one_of_the_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "math.h").write_text('#include "of_the_project_not_here.h"\n')
    assert "verified a.cu:2 on sm_120: opens" in verified(tmp_path, WAIT, capsys, monkeypatch)
