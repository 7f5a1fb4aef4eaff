"""`--since REV`: what a change brings, and no program that the repository names is run for it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from archscan import cli
from archscan.since import earlier

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
GATE = "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < {}\n__global__ void k(float* o) {{ o[0] = 1.f; }}\n#endif\n"
USES = '#include "limit.cuh"\n#if __CUDA_ARCH__ >= FIRST && __CUDA_ARCH__ < LAST\nint y;\n#endif\n'
LIMIT = "#define FIRST 900\n#define LAST {}\n"


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    base = tmp_path / "project"
    base.mkdir()
    git(base, "init", "-q")
    write(base, {"old.cu": GATE.format(1200), "limit.cuh": LIMIT.format(1300), "uses.cu": USES, ".gitignore": "o*\n"})
    git(base, "add", "-f", ".")
    git(base, "commit", "-qm", "first")
    monkeypatch.chdir(base)
    return base


def write(base: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[str, int]]:
    cli.run(["scan", "--target", "sm120", "--no-cache", "--isolated", "-f", "json", *arguments])
    document = json.loads(capsys.readouterr().out)
    return sorted((one["path"], one["line"]) for one in document["findings"])


def test_nothing_changed_brings_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys) == [("old.cu", 1)]
    assert found(capsys, "--since", "HEAD") == []


def test_a_shifted_gate_is_not_new(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, {"old.cu": "\n\n// moved\n" + GATE.format(1200)})
    assert found(capsys, "--since", "HEAD") == []


def test_a_new_gate_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, {"new/added.cu": GATE.format(1200)})
    assert found(capsys, "--since", "HEAD") == [("new/added.cu", 1)]
    assert found(capsys, "--since", "HEAD", "new") == [("added.cu", 1)]  # not there before


def test_what_the_change_shuts_elsewhere_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, {"limit.cuh": LIMIT.format(1200)})
    assert found(capsys, "--since", "HEAD") == [("uses.cu", 2)]


def test_what_was_there_is_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, {"added.cu": GATE.format(1200)})
    cli.run(["scan", "--target", "sm120", "--no-cache", "--isolated", "--since", "HEAD"])
    text = " ".join(capsys.readouterr().out.split())
    assert "1 baselined" in text and "since HEAD: 1 finding of before is not reported" in text


@pytest.mark.parametrize("revision", ["nowhere", "--upload-pack=x", "HEAD:old.cu"])
def test_a_revision_that_is_none_is_an_error(project: Path, capsys: pytest.CaptureFixture[str], revision: str) -> None:
    assert cli.run(["scan", "--target", "sm120", "--no-cache", f"--since={revision}"]) == 2
    assert f"no revision '{revision}'" in capsys.readouterr().err


def test_no_program_of_the_repository_runs(project: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\ncat\n')
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        shutil.copy(script, hooks / hook)
    write(project, {".gitattributes": "*.cu filter=evil diff=evil\n"})
    git(project, "add", ".gitattributes")
    git(project, "commit", "-qm", "attributes")
    for key, value in (
        ("core.fsmonitor", str(script)),
        ("core.hooksPath", str(hooks)),
        ("diff.external", str(script)),
        ("diff.evil.textconv", str(script)),
        ("filter.evil.smudge", str(script)),
        ("filter.evil.clean", str(script)),
    ):
        git(project, "config", key, value)
    ran.unlink(missing_ok=True)
    assert found(capsys, "--since", "HEAD") == []
    assert not ran.exists()


def test_the_earlier_files_are_those_of_the_commit(project: Path) -> None:
    write(project, {"old.cu": "changed"})
    (project / "link.cu").symlink_to("/etc/passwd")
    git(project, "add", "link.cu")
    git(project, "commit", "-qm", "link")
    with earlier((".",), "HEAD") as (old,):
        assert (Path(old) / "old.cu").read_text() == GATE.format(1200)
        assert not (Path(old) / "link.cu").exists()
        place = Path(old)
    assert not place.exists()
