"""Whatever is not read or not understood is counted by kind, named by the flag that lists it, and held in the JSON."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from archscan import cli

GATE = "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\nint x;\n#endif\n"
ASKS = "import torch\nif torch.cuda.get_device_capability()[0] not in (9, 10):\n    raise RuntimeError\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One of everything that can be left out or given up, beside one gate that is read."""
    base = tmp_path / "project"
    nested = "".join(f"#if __CUDA_ARCH__ >= 900\n#define A{i}\n" for i in range(600)) + "#endif\n" * 600
    files = {
        "good.cu": GATE,
        "open.cu": GATE + "#if FOO\n",
        "deep.cu": nested,
        "broken.py": "x = [1, 2\nif torch.cuda.get_device_capability() >= (9, 0):\n    y = 1\n",
        "parens.py": "x = " + "(\n" * 3000 + "torch.cuda.get_device_capability()\n" + ")\n" * 3000,
        "wide.py": f"x = torch.cuda.get_device_capability()  # {'-' * 2000}\n",
        "third_party/copied.py": ASKS,
        "third_party/plain.py": "x = 1\n",
        "build/ignored.cu": GATE,
        ".gitignore": "build/\n",
        "notes.md": "x",
        "wide.cu": "",
        "binary.cu": "",
        "CMakeLists.txt": "endif()\nset(CMAKE_CUDA_ARCHITECTURES 90)\n",
    }
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    (base / "wide.cu").write_bytes(GATE.encode("utf-16"))
    (base / "binary.cu").write_bytes(b"\x7fELF\0\0")
    with zipfile.ZipFile(base / "inner.whl", "w") as archive:
        archive.writestr("a.cu", GATE)
    return base


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    cli.run(["--target", "sm120", "--isolated", "--no-cache", *map(str, arguments)])
    return capsys.readouterr().out


def rows(text: str) -> dict[str, str]:
    """The labelled lines at the end of a report, continued lines joined."""
    found: dict[str, str] = {}
    label = ""
    for line in text[text.index("\nsm_120 ") + 1 :].splitlines():
        label = line[:11].strip() or label
        found[label] = f"{found.get(label, '')} {line[11:].strip()}".strip()
    return found


def test_everything_left_out_is_counted_by_kind(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    document = json.loads(run(capsys, "-f", "json", project))
    assert {one["path"]: one["reason"] for one in document["skipped"]} == {
        "binary.cu": "binary file",
        "build/": "ignored by .gitignore",
        "inner.whl": "an archive: name it to have it read",
        "third_party/copied.py": "a copy of another project's Python: read for what it defines (--include-vendored)",
        "wide.cu": "UTF-16 text: convert it to UTF-8",
    }
    text = rows(run(capsys, project))
    assert text["files"].endswith("; 2 of other kinds")
    assert text["skipped"] == (
        "5 paths: 1 UTF-16 text, 1 a copy of another project's Python, 1 an archive, 1 binary file,"
        " 1 ignored by .gitignore; -v lists them"
    )
    listed = run(capsys, "-v", project)
    assert all(one["path"] in listed and one["reason"] in " ".join(listed.split()) for one in document["skipped"])


def test_everything_not_understood_is_counted_by_kind(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    document = json.loads(run(capsys, "-f", "json", project))
    where = {(one["path"], one["line"]) for one in document["undecided"]}
    assert {("open.cu", 4), ("broken.py", 2), ("parens.py", 3001), ("wide.py", 1)} <= where
    assert {path for path, _ in where} == {"open.cu", "broken.py", "parens.py", "wide.py", "deep.cu", "CMakeLists.txt"}
    assert document["summary"]["undecided"] == len(document["undecided"])
    reasons = {one["path"]: one["reason"] for one in document["undecided"]}
    assert reasons["open.cu"] and reasons["broken.py"]
    text = rows(run(capsys, project))
    told = text["not read"]
    for kind in (
        "1 not valid Python",
        "1 a line of more than 2,000 bytes",
        "1 nested too deeply to be read",
        "1 unbalanced #if",
        "conditionals nest so",
    ):
        assert kind in told
    assert told.startswith(f"{len(document['undecided'])} places: ") and told.endswith("; -v lists them")
    listed = run(capsys, "-v", project)
    assert all(f"{path}:{line}" in listed for path, line in where)


def test_a_clean_project_says_nothing_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.cu").write_text(GATE)
    assert {"skipped", "failed", "not read", "undecided"}.isdisjoint(rows(run(capsys, tmp_path)))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_counted_as_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.cu").write_text(GATE)
    (tmp_path / "shut.cu").write_text(GATE)
    (tmp_path / "shut.cu").chmod(0)
    assert rows(run(capsys, tmp_path))["failed"] == "1 path: 1 permission denied; -v lists them"


def test_a_damaged_index_is_counted_as_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.cu").write_text(GATE)
    (tmp_path / "left.cu").write_text(GATE)
    (tmp_path / ".gitignore").write_text("left.cu\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(b"DIRC")
    assert rows(run(capsys, tmp_path))["failed"].startswith("1 path: 1 cannot tell what git tracks")


@pytest.mark.parametrize("step", ["index", "link", "gates"])
def test_an_internal_error_is_counted_as_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    from archscan.frontends.cuda.front_end import CudaFrontEnd

    def broken(*_: object) -> None:
        raise AssertionError("no")

    (tmp_path / "good.cu").write_text(GATE)
    monkeypatch.setattr(CudaFrontEnd, step, broken)
    (failed,) = json.loads(run(capsys, "-f", "json", "-j", "1", tmp_path))["failed"]
    assert failed["path"] == "good.cu"
    assert failed["reason"].startswith("internal error")
