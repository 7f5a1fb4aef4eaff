"""`fix --verify --on-gpu`: a program of the user's is run before and after the fix. nvcc is a stand-in here."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from archscan import cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in makes shell scripts")

HEADER = """#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
__device__ void store(unsigned a, unsigned b) { asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(a), "r"(b)); }
#endif
"""  # noqa: E501
BEFORE = f'[ "$(wc -c < gate.cuh)" -eq {len(HEADER)} ]'  # whether the file is as it was
# Builds a shell script of the line `// sh: ...` in the harness; -M names what it includes; a cubin is an empty file.
NVCC = f"""#!{sys.executable}
import os, re, sys
source = sys.argv[-1] if sys.argv[-1].endswith(".cu") else next(a for a in sys.argv if a.endswith(".cu"))
text = open(source).read()
if "-M" in sys.argv:
    names = re.findall(r'#include "(.*?)"', text)
    print("x.o :", source, *(os.path.join(os.getcwd(), name) for name in names))
    sys.exit(0)
output = sys.argv[sys.argv.index("-o") + 1]
if "no build" in text and len(open("gate.cuh").read()) != {len(HEADER)}:
    sys.exit("gate.cuh(2): error: it does not build")
command = re.search("// sh: (.*)", text)
open(output, "w").write("#!/bin/sh\\n" + (command[1] if command else "") + "\\n")
os.chmod(output, 0o755)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tools, place = tmp_path / "bin", tmp_path / "project"
    tools.mkdir()
    place.mkdir()
    (tools / "nvcc").write_text(NVCC)
    (tools / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    (place / "gate.cuh").write_text(HEADER)
    return place


def ran(
    project: Path, capsys: pytest.CaptureFixture[str], command: str, *options: str, include: str = "gate.cuh"
) -> str:
    """What is said on standard error of a fix with a harness that runs this command."""
    harness = project.parent / "harness.cu"
    harness.write_text(f'#include "{include}"\n// sh: {command}\n')
    given = ["--unsafe", "--verify", "--on-gpu", "--harness", str(harness), *options, "project"]
    cli.run(["fix", "-t", "sm120", *given])
    return capsys.readouterr().err


def test_the_same_result_is_said_with_both_times(project: Path, capsys) -> None:
    command = f"{BEFORE} && echo 'archscan-time-us: 30' || echo 'archscan-time-us: 20.5'; echo right"
    said = ran(project, capsys, command)
    assert "on the GPU: same: 5 runs before and after, 6 bytes of result each" in said
    assert "30 µs before (30 to 30), 20.5 µs after (20.5 to 20.5)" in said


def test_another_result_is_shown_and_nothing_is_written(project: Path, capsys) -> None:
    said = ran(project, capsys, "echo first; head -1 gate.cuh", "--write")
    assert "on the GPU: differs: line 2 was " in said
    assert "nothing was written" in said
    assert (project / "gate.cuh").read_text() == HEADER


def test_a_program_that_fails_after_the_fix_alone_is_the_fixs_fault(project: Path, capsys) -> None:
    assert "fails: the harness ended with 3 after the fix" in ran(project, capsys, f"{BEFORE} || exit 3")
    assert "not-compared: the harness ended with 3 before the fix" in ran(project, capsys, "exit 3")
    assert "fails: the harness does not build after the fix: gate.cuh(2): error" in ran(project, capsys, "# no build")


def test_an_unstable_result_is_no_comparison(project: Path, capsys) -> None:
    """What differs from run to run before the fix says nothing about it."""
    said = ran(project, capsys, "echo x >> seen; cat seen")
    assert "not-compared: the harness has no stable result (run 2)" in said


def test_a_harness_that_takes_in_nothing_of_the_fix_is_told(project: Path, capsys) -> None:
    (project / "other.cuh").write_text("")
    said = ran(project, capsys, "echo right", include="other.cuh")
    assert "on the GPU: not-compared: the harness includes none of the files that the fix changes" in said


def test_a_fix_is_written_where_the_result_is_the_same(project: Path, capsys) -> None:
    assert "on the GPU: same" in ran(project, capsys, "echo right", "--write")
    assert (project / "gate.cuh").read_text() != HEADER
    assert not list(project.glob("archscan_harness*"))  # it was built in copies


def test_a_changed_file_that_is_a_link_out_of_the_project_is_refused(project: Path, capsys) -> None:
    outside = project.parent / "outside.cuh"
    outside.write_text(HEADER)
    (project / "gate.cuh").unlink()
    (project / "gate.cuh").symlink_to(outside)
    said = ran(project, capsys, "echo right")
    assert "on the GPU: same" not in said
    assert outside.read_text() == HEADER


def test_what_cannot_be_copied_is_said(project: Path, capsys) -> None:
    os.mkfifo(project / "pipe")
    assert "cannot be copied" in ran(project, capsys, "echo right")


def test_without_a_harness_it_says_that_nothing_was_run(project: Path, capsys) -> None:
    cli.run(["fix", "-t", "sm120", "--unsafe", "--verify", "--on-gpu", "project"])
    assert "on the GPU: not run: 1 fix: no arguments are made up for a kernel" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [["--on-gpu"], ["--harness", "h.cu"], ["--verify", "--harness", "h.cu"]], ids=" ".join
)
def test_the_options_go_together(project: Path, capsys, options: list[str]) -> None:
    assert cli.run(["fix", "-t", "sm120", *options, "project"]) == 2
    assert "--on-gpu and --harness go with --verify" in capsys.readouterr().err


def test_a_harness_that_is_not_there_is_named(project: Path, capsys) -> None:
    options = ["--unsafe", "--verify", "--on-gpu", "--harness", "none.cu", "project"]
    assert cli.run(["fix", "-t", "sm120", *options]) == 2
    assert "no such file: none.cu" in capsys.readouterr().err
