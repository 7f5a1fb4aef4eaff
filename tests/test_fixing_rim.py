"""Around a fix: patches that tools take, caches that went stale, the distribution a file belongs to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archscan import cli
from archscan.catalog import native
from archscan.catalog.reading import rules_directory
from archscan.errors import UserError
from archscan.fixing import saved
from archscan.fixing.caches import FoundCache, clear, found_caches, known_caches, location
from archscan.fixing.distribution import distribution_of
from archscan.fixing.journal import digest
from archscan.fixing.patch import patch, unified
from archscan.fixing.verify import find_tool
from archscan.model.finding import Edit

Run = Callable[..., tuple[int, bytes, str]]

GATE = b"#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\nint x;\n#endif\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
        (b"a\nb", b"a\nB"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nB\n"),
        (b"\xff\xfe\n\x0b\n", b"\xff\xfe\n\x0c\n"),
    ],
)
def test_git_applies_a_patch_byte_for_byte(tmp_path: Path, before: bytes, after: bytes) -> None:
    (tmp_path / "f.cu").write_bytes(before)
    text = patch({"f.cu": (before, after)})
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=text, cwd=tmp_path, check=True)
    assert (tmp_path / "f.cu").read_bytes() == after


def test_no_difference_is_no_patch() -> None:
    assert unified("f", b"a\n", b"a\n") == b""


def test_caches_follow_their_variable(tmp_path: Path) -> None:
    (cache,) = [c for c in known_caches(rules_directory()) if c.id == "flashinfer"]
    assert location(cache, {"FLASHINFER_WORKSPACE_BASE": str(tmp_path)}) == tmp_path / ".cache/flashinfer"
    assert location(cache, {}) == Path.home() / ".cache/flashinfer"


def test_only_caches_of_the_touched_layer_are_named_and_cleared(tmp_path: Path) -> None:
    below = tmp_path / ".cache/flashinfer/0.6.2"
    below.mkdir(parents=True)
    (below / "a.so").write_bytes(b"12345")
    environ = {"FLASHINFER_WORKSPACE_BASE": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path)}
    caches = [c for c in known_caches(rules_directory()) if c.id in ("flashinfer", "triton")]
    (found,) = found_caches(caches, frozenset({"preprocessor"}), environ)
    assert (found.cache.id, found.bytes, found.files) == ("flashinfer", 5, 1)
    clear(found)
    assert found.path.is_dir() and not list(found.path.iterdir())


def test_a_home_directory_is_never_cleared(tmp_path: Path) -> None:
    (cache, *_) = known_caches(rules_directory())
    for path in (Path.home(), Path("/"), Path.home().parent):
        with pytest.raises(UserError, match="does not look like a cache"):
            clear(FoundCache(cache, path, 1, 1))
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UserError, match="does not look like a cache"):
        clear(FoundCache(cache, tmp_path / "link", 1, 1))


def test_the_distribution_and_what_an_upgrade_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    site = tmp_path / "site-packages"
    (site / "some_kernels-1.2.3.dist-info").mkdir(parents=True)
    (site / "some_kernels-1.2.3.dist-info/RECORD").write_text("some_kernels/a.cu,sha256=x,1\n")
    (site / "some_kernels").mkdir()
    (site / "some_kernels/a.cu").write_bytes(GATE)
    assert distribution_of(site / "some_kernels/a.cu") == "some_kernels 1.2.3"
    assert distribution_of(site / "some_kernels/b.cu") is None
    cli.run(["fix", "--target", "sm120", "--unsafe", str(site / "some_kernels")])
    assert "1 of these files belong to some_kernels 1.2.3: upgrading it undoes the edit" in capsys.readouterr().err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the command in an empty directory: its exit code, standard output and standard error."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tree").mkdir()
    monkeypatch.chdir(tmp_path / "tree")

    def once(*arguments: str) -> tuple[int, bytes, str]:
        code = cli.run(arguments)
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return once


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text")
@pytest.mark.parametrize(
    "name", [b"a\xff.cu", b"a\n::error::forged.cu", b'a"b\\c.cu', "ä b.cu".encode(), b"a\t\x1b\x7f.cu", b"a b.cu"]
)
def test_every_name_is_fixed_shown_and_applied_by_git(run: Run, name: bytes) -> None:
    Path(os.fsdecode(name)).write_bytes(GATE)
    code, diff, said = run("fix", "--target", "sm120", "--unsafe", ".")
    assert code == 1 and "Traceback" not in said
    assert not [line for line in diff.splitlines() if line.startswith(b"::")]
    assert not [line for line in said.splitlines() if line.startswith("::")]
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "apply", "-"], input=diff, check=True)
    by_git = Path(os.fsdecode(name)).read_bytes()
    assert by_git != GATE
    subprocess.run(["git", "apply", "-R", "-"], input=diff, check=True)
    code, _, said = run("fix", "--target", "sm120", "--unsafe", "--format", "json", "-o", "../plan.json", ".")
    assert code == 1 and "Traceback" not in said
    assert run("fix", "--apply", "../plan.json")[0] == 0
    assert Path(os.fsdecode(name)).read_bytes() == by_git
    assert run("revert")[0] == 0 and Path(os.fsdecode(name)).read_bytes() == GATE
    code, _, said = run("fix", "--target", "sm120", "--unsafe", "--write", ".")
    assert code == 0 and "Traceback" not in said
    assert Path(os.fsdecode(name)).read_bytes() == by_git


def test_names_are_quoted_as_git_does(tmp_path: Path) -> None:
    names = [b"plain.cu", b"a\n\t\r\a\b\v\f.cu", b'q"\\.cu', b"\x01\x7f\xff.cu", "ä.cu".encode()]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(b"a\n")
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(b"b\n")
    command = ["git", "-c", "core.quotepath=true", "diff"]
    lines = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout.splitlines()
    ours = patch({os.fsdecode(name): (b"a\n", b"b\n") for name in names}).splitlines()
    marks = (b"--- ", b"+++ ")
    assert {line for line in ours if line.startswith(marks)} == {line for line in lines if line.startswith(marks)}


@pytest.mark.usefixtures("as_if_measured")
def test_code_that_is_no_utf8_is_fixed(run: Run) -> None:
    text = b"def f(x):\n    major = torch.cuda.get_device_capability()[0]\n    if major == 10 and check('\xff\xe4'):\n"
    text = b"import torch\n\n\n" + text + b"        return fast(x)\n    raise RuntimeError('no \xff')\n"
    Path("a.py").write_bytes(text)
    code, diff, said = run("fix", "--target", "sm120", "--unsafe", ".")
    assert code == 1 and b"\n+    if major in (10, 12) and check('\xff\xe4'):\n" in diff, said


def test_a_plan_holds_bytes_that_are_no_text(tmp_path: Path) -> None:
    edit = Edit("a.py", 0, 1, "\udcff\u00e4")
    assert saved._exact("text", edit.text) == {"text_hex": "ffc3a4"}
    assert saved._edit({"path": "a.py", "start": 0, "end": 1, "text": "?", "text_hex": "ffc3a4"}) == edit


def saved_plan(**edit: object) -> dict[str, Any]:
    Path("a.cu").write_bytes(GATE)
    edits = [{"path": "a.cu", "start": 0, "end": 3, "text": "#if", **edit}]
    files = [{"path": "a.cu", "disk": "a.cu", "sha256": digest(GATE)}]
    return {"plan": {"units": [{"edits": edits}], "files": files}}


@pytest.mark.parametrize(
    "edit",
    [
        {"start": -1},
        {"end": 1 << 40},
        {"start": 9, "end": 3},
        {"start": "0"},
        {"start": True},
        {"start": 0.0},
        {"text": None},
        {"text": "\ud800"},
        {"path": "b.cu"},
        {"path": ["a.cu"]},
        {"other": 1, "start": None},
    ],
)
def test_an_edit_of_a_plan_that_does_not_fit_is_refused(run: Run, edit: dict[str, object]) -> None:
    Path("plan.json").write_text(json.dumps(saved_plan(**edit)))
    code, _, said = run("fix", "--apply", "plan.json")
    assert code == 2 and "Traceback" not in said and said.startswith("error: ")
    assert Path("a.cu").read_bytes() == GATE


@pytest.mark.parametrize(
    "disk", ["{tree}/../mine.cu", "link/mine.cu", ".git/config", "sub/.git/hooks/x.py", "notes.txt"]
)
def test_a_plan_edits_sources_below_the_path_and_nothing_else(run: Run, tmp_path: Path, disk: str) -> None:
    """`.git/config` names programs that git runs, and everybody knows what `git init` writes there."""
    document = saved_plan()
    (tmp_path / "mine.cu").write_bytes(GATE)
    Path("link").symlink_to(tmp_path)
    place = Path(disk.replace("{tree}", str(Path.cwd())))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(GATE)
    document["plan"]["files"][0]["disk"] = str(place)
    document["plan"]["units"][0]["edits"][0]["text"] = "#elif"
    Path("plan.json").write_text(json.dumps(document))
    code, _, said = run("fix", "--apply", "plan.json")
    assert code == 2 and said.startswith("error: the plan edits ")
    assert place.read_bytes() == GATE
    assert not (tmp_path / "state").exists()


def test_two_rows_of_a_plan_for_one_file_are_refused(run: Run) -> None:
    document = saved_plan(text="#elif")
    document["plan"]["files"].append({"path": "b.cu", "disk": "./a.cu", "sha256": digest(GATE)})
    Path("plan.json").write_text(json.dumps(document))
    assert run("fix", "--apply", "plan.json")[0] == 2
    assert Path("a.cu").read_bytes() == GATE


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_plan_is_a_regular_file_of_bounded_depth(run: Run) -> None:
    os.mkfifo("pipe")
    Path("deep").write_text("[" * 100_000)
    for plan in ("pipe", "/dev/zero", "deep", "missing", "."):
        code, _, said = run("fix", "--apply", plan)
        assert code == 2 and said.startswith("error: ") and "Traceback" not in said


@pytest.mark.parametrize("platform", ["linux", "win32"])
@pytest.mark.parametrize("path", ["", ".", "{here}", "{here}/", "relative", "{here}/link"])
def test_no_program_is_taken_from_the_current_directory(
    run: Run, monkeypatch: pytest.MonkeyPatch, platform: str, path: str
) -> None:
    """A repository may hold an `nvcc`; Windows looks into the current directory first."""
    here = Path.cwd()
    (here / "relative").mkdir()
    (here / "link").symlink_to(here)
    for folder in (here, here / "relative", here / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("nvcc", "nvidia-smi", "nvcc.EXE", "nvidia-smi.EXE"):
            (folder / name).write_text("#!/bin/sh\necho 12.0\n")
            (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("PATHEXT", os.pathsep.join((".COM", ".EXE")))
    monkeypatch.setenv("CUDA_HOME", ".")
    monkeypatch.setenv("CUDA_PATH", "")
    monkeypatch.setenv("PATH", path.replace("{here}", str(here)))
    monkeypatch.setattr(native, "_LIBRARIES", ())
    assert native._from_nvidia_smi() == []
    found = find_tool("nvcc")
    assert found is None or not Path(found).is_relative_to(here)
    monkeypatch.setenv("PATH", os.pathsep.join((".", str(here), str(here / "bin"))))  # not the current one: PATH counts
    ending = ".EXE" if platform == "win32" else ""
    assert find_tool("nvcc") == str(here / "bin" / f"nvcc{ending}")


@pytest.mark.parametrize(
    "option", ["--rule=upper-bound-gate", "--path=*.cu", "--chain=x", "--family", "--widen", "--verify"]
)
def test_what_chooses_edits_does_not_go_with_a_plan(run: Run, option: str) -> None:
    Path("a.cu").write_bytes(GATE)
    assert run("fix", "--target", "sm120", "--unsafe", "--format", "json", "-o", "../plan.json", ".")[0] == 1
    code, _, said = run("fix", "--apply", "../plan.json", option)
    assert code == 2 and f"error: {option.partition('=')[0]} does not go with --apply" in said
    assert Path("a.cu").read_bytes() == GATE
    assert run("fix", "--apply", "../plan.json")[0] == 0
    assert Path("a.cu").read_bytes() != GATE
