"""The command under hostile conditions: it says what is wrong, exits as promised and leaves nothing half done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GATE = """#include <cuda_runtime.h>
__global__ void k{n}(int* out) {{
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200)
  cudaGridDependencySynchronize();
  out[{n}] = 1;
#endif
}}
"""
PYTHON = """import torch

def usable():
    major, _ = torch.cuda.get_device_capability()
    if major not in (9, 10):
        raise RuntimeError("not supported on this GPU")
    return True
"""
HANGS = 600  # seconds on the wall: whoever waits that long waits for ever, however busy the machine is
posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX signals, limits and special files")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    base = tmp_path / "project"
    (base / "csrc").mkdir(parents=True)
    for number in range(6):
        (base / "csrc" / f"k{number}.cu").write_text(GATE.format(n=number))
    (base / "gate.py").write_text(PYTHON)
    return base


def environment(cache: Path, **more: str) -> dict[str, str]:
    """A clean environment in which a fresh interpreter finds what this one has."""
    path = os.pathsep.join(p for p in (os.environ.get("PYTHONPATH", ""), *sys.path) if p)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ARCHSCAN", "LC_", "LANG"))}
    return {**kept, "PYTHONPATH": path, "XDG_CACHE_HOME": str(cache), "XDG_STATE_HOME": str(cache), **more}


def archscan(
    *arguments: str | Path, cache: Path, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "archscan", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, env=environment(cache, **more), cwd=cwd, check=False, timeout=HANGS
    )


def scanned(*arguments: str | Path, cache: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    return archscan("--target", "sm120", "--isolated", "--format", "json", *arguments, cache=cache, **more)


def test_every_way_of_running_gives_the_same_bytes(project: Path, tmp_path: Path) -> None:
    first = scanned(project, "--no-cache", "-j", "1", cache=tmp_path / "c")
    assert first.returncode == 1, first.stderr
    assert json.loads(first.stdout)["findings"]
    for number, more in enumerate(
        [
            {"PYTHONHASHSEED": "1"},
            {"PYTHONHASHSEED": "77", "LC_ALL": "C"},
            {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "COLUMNS": "70"},
        ]
    ):
        again = scanned(project, "-j", str(number + 1), cache=tmp_path / "c", **more)
        assert again.stdout == first.stdout, more


def test_the_order_in_which_files_came_to_be_does_not_matter(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "project"
    (other / "csrc").mkdir(parents=True)
    (other / "gate.py").write_text(PYTHON)
    for number in reversed(range(6)):
        (other / "csrc" / f"k{number}.cu").write_text(GATE.format(n=number))
    first, second = (scanned(base, "--no-cache", cache=tmp_path / "c") for base in (project, other))
    assert first.stdout == second.stdout


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "html", "markdown", "github"])
def test_the_cache_changes_no_byte(project: Path, tmp_path: Path, format_: str) -> None:
    runs = [archscan("-t", "sm120", "--isolated", "-f", format_, project, *extra, cache=tmp_path / "c").stdout
            for extra in (["--no-cache"], [], [])]  # fmt: skip
    assert runs[0] == runs[1] == runs[2]


BAD = {
    "missing path": (["{p}/nowhere"], "no such file"),
    "empty directory": (["{p}/empty"], "nothing to scan"),
    "misspelled target": (["--target", "sm_12O", "{p}"], "sm_12"),
    "unknown format": (["--format", "jsn", "{p}"], "json"),
    "unknown option": (["--frobnicate", "{p}"], "frobnicate"),
    "missing config": (["--config", "{p}/none.toml", "{p}"], "none.toml"),
    "unknown rule": (["--rule", "upper-bond-gate", "{p}"], "upper-bond-gate"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_clear_message_and_exit_code_2(project: Path, tmp_path: Path, case: str) -> None:
    (project / "empty").mkdir()
    arguments, words = BAD[case]
    given = [] if "--target" in arguments else ["--target", "sm120"]
    done = archscan(*given, *(a.format(p=project) for a in arguments), cache=tmp_path / "c")
    assert done.returncode == 2
    assert done.stdout == b""
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize(
    "text", ["[tool.archscan]\ntraget = 'sm120'\n", "[tool.archscan\n", "\xff\xfe\n[tool.archscan]\n"]
)
def test_a_broken_config_is_a_clear_message(project: Path, tmp_path: Path, text: str) -> None:
    (project / "pyproject.toml").write_bytes(text.encode("latin-1"))
    done = archscan("--target", "sm120", project, cache=tmp_path / "c")
    assert done.returncode == 2
    assert "pyproject.toml" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_the_rest_is_scanned_around_what_cannot_be_read(project: Path, tmp_path: Path) -> None:
    (project / "binary.cu").write_bytes(b"\x7fELF\0\0\0" * 100)
    (project / "latin.cu").write_bytes(GATE.format(n=99).encode() + b"// caf\xe9\n")
    (project / "open.cu").write_text("#if __CUDA_ARCH__ >= 900\nint x;\n")
    (project / "wide.cu").write_text(GATE.format(n=1), encoding="utf-16")
    (project / "bom.cu").write_text(GATE.format(n=1), encoding="utf-8-sig")
    (project / "crlf.cu").write_bytes(GATE.format(n=1).replace("\n", "\r\n").encode())
    (project / "broken.py").write_text("def f(:\n    if torch.cuda.get_device_capability() >= (9, 0):\n")
    done = scanned(project, "--no-cache", cache=tmp_path / "c")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert {s["path"] for s in document["skipped"]} == {"binary.cu", "wide.cu"}
    paths = {f["path"] for f in document["findings"]}
    assert {"csrc/k0.cu", "latin.cu", "bom.cu", "crlf.cu"} <= paths
    assert document["failed"] == []


def test_a_named_file_that_cannot_be_read_is_exit_code_2_after_the_rest(project: Path, tmp_path: Path) -> None:
    (project / "binary.cu").write_bytes(b"\0" * 100)
    done = scanned(project / "csrc", project / "binary.cu", project / "nowhere", cache=tmp_path / "c")
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert len(document["findings"]) >= 6
    assert {Path(f["path"]).name for f in document["failed"]} == {"binary.cu", "nowhere"}


@posix_only
def test_names_cannot_break_the_terminal_or_the_formats(project: Path, tmp_path: Path) -> None:
    names = ["a\nb.cu", "::error::x.cu", "\x1b[31mred.cu", "<b>.cu", "'\"`$(id).cu", "-rf.cu", "|x|.cu", "%0A.cu"]
    for name in names:
        (project / name).write_text(GATE.format(n=1))
    for format_ in ("text", "github", "markdown", "json", "sarif", "html", "gitlab", "junit"):
        done = archscan("-t", "sm120", "--isolated", "-f", format_, "--limit", "0", project, cache=tmp_path / "c")
        assert done.returncode == 1, (format_, done.stderr)
        assert b"\x1b[31mred" not in done.stdout
        if format_ == "github":
            assert all(line.startswith(("::", "#")) or not line for line in done.stdout.decode().splitlines())
    document = json.loads(scanned(project, cache=tmp_path / "c").stdout)
    assert set(names) <= {f["path"] for f in document["findings"]}


@posix_only
def test_an_interrupt_ends_at_once_with_130_and_nothing_written(tmp_path: Path) -> None:
    base = tmp_path / "big"
    base.mkdir()
    for number in range(400):
        (base / f"k{number}.cu").write_text("\n".join(GATE.format(n=n) for n in range(60)))
    report = tmp_path / "report.json"
    report.write_text("old")
    command = [sys.executable, "-m", "archscan", "-t", "sm120", "-f", "json", "-j", "2", "-o", str(report), str(base)]
    process = subprocess.Popen(
        command,
        env=environment(tmp_path / "c"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - background jobs ignore it
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and children.exists() and len(children.read_text().split()) < 2:
        time.sleep(0.01)  # until both workers are there
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANGS)
    assert process.returncode == 130, err
    assert out == b""
    assert b"Traceback" not in err
    assert report.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir() if p.name not in ("c",)) == ["big", "report.json"]


@posix_only
def test_a_closed_pipe_is_quiet(project: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "archscan", "-t", "sm120", "--format", "json", "--all-gates", str(project)]
    for number in range(30):
        (project / "csrc" / f"more{number}.cu").write_text("\n".join(GATE.format(n=n) for n in range(40)))
    process = subprocess.Popen(command, env=environment(tmp_path / "c"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(timeout=HANGS) == 1


@posix_only
def test_a_full_disk_leaves_the_old_report(project: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); sys.argv[1:] = {!r};"
        "from archscan.cli import main; main()"
    )
    arguments = ["-t", "sm120", "--isolated", "-f", "json", "-o", str(report), str(project)]
    done = subprocess.run(
        [sys.executable, "-c", limited.format(arguments)],
        env=environment(tmp_path / "c"), capture_output=True, check=False, timeout=HANGS,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert b"cannot write" in done.stderr
    assert b"Traceback" not in done.stderr
    assert report.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@posix_only
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_standard_output_is_exit_code_2(project: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "archscan", "-t", "sm120", "--isolated", str(project)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, env=environment(tmp_path / "c"), stdout=full, stderr=subprocess.PIPE, check=False, timeout=HANGS
        )
    assert done.returncode == 2
    assert b"no space left" in done.stderr.lower()


@posix_only
def test_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "archscan", "-t", "sm120", "--isolated", "-f", "json", "-"],
        input=GATE.format(n=1).encode(), env=environment(tmp_path / "c"), capture_output=True, check=False,
        timeout=HANGS,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["findings"][0]["line"] == 3


def test_nothing_is_imported_or_run(project: Path, tmp_path: Path) -> None:
    """Scanned code never runs, not even where it looks like the configuration of a tool."""
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    for name in ("setup.py", "conftest.py", "sitecustomize.py", "yaml.py", "click.py", "archscan.py", "torch.py"):
        (project / name).write_text(trap + PYTHON)
    done = archscan("-t", "sm120", ".", cache=tmp_path / "c", cwd=project / "csrc")
    assert done.returncode == 1, done.stderr
    command = [sys.executable, "-P", "-m", "archscan"] if sys.version_info >= (3, 11) else None
    if command:
        subprocess.run(
            [*command, "-t", "sm120", "."], cwd=project, env=environment(tmp_path / "c"), check=False, timeout=HANGS
        )
    assert not (tmp_path / "ran").exists()


@posix_only
def test_no_fix_edits_through_a_link_that_leads_out(project: Path, tmp_path: Path) -> None:
    """The control is the same link to a file inside: there the gate is found and opened."""
    gate = GATE.format(n=7)
    (project / ".git").mkdir()
    (project / "inside.txt").write_text(gate)
    (project / "inside.cu").symlink_to("inside.txt")
    victim = tmp_path / "victim.cu"
    victim.write_text(gate)
    (project / "outside.cu").symlink_to(victim)
    done = archscan(
        "fix", "-t", "sm120", "--isolated", "--unsafe", "--write", project, cache=tmp_path / "c"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (project / "inside.txt").read_text() != gate
    assert victim.read_text() == gate
    skipped = json.loads(scanned(project, cache=tmp_path / "c").stdout)["skipped"]
    reason = f"symbolic link to a file outside of what is scanned: {os.path.realpath(victim)}"
    assert skipped == [{"path": "outside.cu", "reason": reason}]
