"""`archscan check`: libraries, lists and gates against what is declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made_environments import library, wheel

from archscan import cli
from archscan.catalog import load
from archscan.declared.model import declared
from archscan.errors import UserError

Out = pytest.CaptureFixture[bytes]
SARIF = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0.schema.json").read_text())


def check(capsysbinary: Out, *arguments: object, code: int = 0) -> str:
    assert cli.run(["check", "--no-cache", *map(str, arguments)]) == code
    found = capsysbinary.readouterr()
    return (found.out or found.err).decode()


def rows(capsysbinary: Out, *arguments: object, code: int = 1) -> list[tuple[str, str, str | None, str]]:
    """Rule, level, architecture and file of what does not agree."""
    found: dict[str, Any] = json.loads(check(capsysbinary, "-f", "json", *arguments, code=code))
    return [
        (row["rule"], row["level"], row["architecture"], (row["path"] or "").rpartition("/")[2])
        for row in found["disagreements"]
    ]


def project(folder: Path, **libraries: str) -> Path:
    """Libraries by their names; modules are parted with a slash."""
    for name, modules in libraries.items():
        (folder / f"{name}.so").write_bytes(library(*modules.split(" / ")))
    return folder


CODE, PTX, SURPLUS = "declared-code-missing", "declared-ptx-missing", "undeclared-code"


@pytest.mark.parametrize(
    ("said", "modules", "expected"),
    [
        ("sm_80,sm_90a", "sm_80 sm_90a compute_90", []),
        ("8.0;9.0+PTX", "sm_80 sm_90 compute_90", []),
        ("sm_80,sm_90", "sm_80 compute_80", [(CODE, "medium", "sm_90")]),
        ("sm_90,sm_120", "sm_90", [(CODE, "high", "sm_120"), (PTX, "low", "sm_120")]),
        ("sm_75,sm_80", "sm_80 compute_80", [(CODE, "high", "sm_75")]),
        ("sm_120f", "sm_120a compute_120", [(CODE, "medium", "sm_121")]),
        ("sm_120f", "sm_120a / sm_120 compute_120", [(CODE, "high", "sm_121")]),
        ("sm_120f", "sm_120f compute_120", []),
        ("sm_120", "sm_120a compute_120", []),
        ("sm_80,compute_90", "sm_80 compute_80", [(PTX, "medium", "sm_90")]),
        ("sm_80", "sm_80", [(PTX, "low", "sm_80")]),
        ("sm_80", "sm_70 sm_80 compute_80", [(SURPLUS, "low", None)]),
        ("90-real", "sm_90 compute_70 compute_90", [(SURPLUS, "low", None)]),
    ],
)
def test_one_library(
    capsysbinary: Out, tmp_path: Path, said: str, modules: str, expected: list[tuple[str, str, str | None]]
) -> None:
    project(tmp_path, lib=modules)
    found = rows(capsysbinary, "--declared", said, tmp_path, code=1 if expected else 0)
    assert found == [(*row, "lib.so") for row in expected]


def test_a_library_for_one_chip_beside_others(capsysbinary: Out, tmp_path: Path) -> None:
    project(tmp_path, main="sm_90 sm_120 compute_120", fa3="sm_90a")
    assert rows(capsysbinary, "--declared", "sm_90,sm_120", tmp_path, code=0) == []
    (tmp_path / "main.so").unlink()  # now nothing serves 12.0
    assert rows(capsysbinary, "--declared", "sm_90,sm_120", tmp_path) == [(CODE, "high", "sm_120", "fa3.so")]


def test_lists_of_a_project(capsysbinary: Out, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        'cmake_minimum_required(VERSION 3.24)\nset(CMAKE_CUDA_ARCHITECTURES "75-real;80-real;90-virtual")\n'
        "project(p LANGUAGES CUDA)\nadd_library(p a.cu)\n"
    )
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    found = rows(capsysbinary, "--declared", "sm_80,sm_120", tmp_path)
    assert (CODE, "medium", "sm_120", "CMakeLists.txt") in found  # from PTX
    assert [row for row in found if row[2] == "sm_80"] == []
    assert (SURPLUS, "low", None, "CMakeLists.txt") in found


def test_gates_of_a_project(capsysbinary: Out, tmp_path: Path) -> None:
    code = '#if __CUDA_ARCH__ < 1200\nasm("griddepcontrol.wait;");\nout[0] = 1;\n#endif\n'
    (tmp_path / "a.cu").write_text(f"__global__ void k(int* out) {{\n{code}}}\nvoid f() {{ k<<<1, 1>>>(nullptr); }}\n")
    found = rows(capsysbinary, "--declared", "sm_90,sm_120", tmp_path)
    assert {(rule, architecture, path) for rule, _, architecture, path in found} == {
        ("declared-gate", "sm_120", "a.cu")
    }
    assert rows(capsysbinary, "--no-gates", "--declared", "sm_90,sm_120", tmp_path, code=0) == []


REAL = ["90_real", "120_virtual"]


@pytest.mark.parametrize(
    ("name", "text", "by"),
    [
        ("one-1.0.dist-info/variant.json", {"variants": {"cu129": {"nvidia": {"sm_arch": REAL}}}}, "variant"),
        ("one/cpp_lib.json", {"env": {"TORCH_CUDA_ARCH_LIST": "9.0 12.0+PTX"}}, "cpp_lib"),
    ],
)  # fmt: skip
def test_a_wheel_is_taken_at_its_word(
    capsysbinary: Out, tmp_path: Path, name: str, text: dict[str, Any], by: str
) -> None:
    path = wheel(tmp_path, "one", {"one/_C.so": library("sm_80 compute_120"), name: json.dumps(text).encode()})
    found = json.loads(check(capsysbinary, "-f", "json", path, code=1))
    assert by in found["declared"]["by"] and found["declared"]["ptx"] == ["sm_120"]
    missing = [(row["rule"], row["architecture"]) for row in found["disagreements"]]
    assert (CODE, "sm_90") in missing and (SURPLUS, None) in missing


def test_the_list_in_the_library_of_torch(capsysbinary: Out, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    text = b"\0see sm_90 alone\0sm_75 sm_80 sm_120 compute_120\0"
    (tmp_path / "lib/libtorch_cuda.so").write_bytes(library("sm_80 sm_120 compute_120") + text)
    found = json.loads(check(capsysbinary, "-f", "json", tmp_path, code=1))
    assert found["declared"]["targets"] == ["sm_75", "sm_80", "sm_120"] and found["declared"]["ptx"] == ["sm_120"]
    assert [(row["rule"], row["architecture"]) for row in found["disagreements"]] == [(CODE, "sm_75")]


def test_what_says_nothing_of_itself(capsysbinary: Out, tmp_path: Path) -> None:
    project(tmp_path, lib="sm_80")
    assert "does not say for which architectures" in check(capsysbinary, tmp_path, code=2)
    assert '"80x" is no architecture' in check(capsysbinary, "--declared", "80x", tmp_path, code=2)


@pytest.mark.parametrize(("level", "code"), [("high", 0), ("medium", 1), ("low", 1), ("never", 0)])
def test_exit_codes(capsysbinary: Out, tmp_path: Path, level: str, code: int) -> None:
    project(tmp_path, lib="compute_80")
    check(capsysbinary, "--declared", "sm_80", "--fail-on", level, tmp_path, code=code)


def test_a_library_that_cannot_be_read(capsysbinary: Out, tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(library("sm_80")[:200])
    said = check(capsysbinary, "--declared", "sm_80", tmp_path / "lib.so", code=2)
    assert "not read  lib.so: damaged" in said


def test_sarif(capsysbinary: Out, tmp_path: Path) -> None:
    project(tmp_path, **{"lib a": "sm_70"})
    log = json.loads(check(capsysbinary, "-f", "sarif", "--declared", "sm_70,sm_120", tmp_path, code=1))
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [(CODE, "error"), (PTX, "note")]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "lib%20a.so"
    for one in run["results"]:
        assert run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"]
    check(capsysbinary, "-f", "sarif", "--declared", "sm_70,compute_70", tmp_path / "lib a.so", code=1)


@pytest.mark.parametrize(
    ("libraries", "properties"),
    [
        ({"a": "sm_90 compute_90"}, ["90_real", "90_virtual"]),
        ({"a": "sm_120a compute_90"}, ["90_virtual"]),  # 120_real would offer it to 12.1
        ({"a": "sm_120f"}, []),
        ({"a": "sm_80", "b": "sm_86"}, ["86_real"]),  # 80_real would offer it to 8.0, for which b has nothing
        ({"a": "sm_120", "b": "sm_120a"}, []),  # nor 12.1 of b
        ({"a": "sm_120", "b": "sm_90a"}, ["120_real"]),
    ],
)
def test_properties_of_wheel_variants(
    capsysbinary: Out, tmp_path: Path, libraries: dict[str, str], properties: list[str]
) -> None:
    project(tmp_path, **libraries)
    assert cli.run(["check", "--print-variant", str(tmp_path)]) == 0
    assert capsysbinary.readouterr().out.decode().split("\n")[:-1] == [f"nvidia :: sm_arch :: {p}" for p in properties]


def test_what_a_list_declares() -> None:
    catalog = load()
    found = declared("sm_80, 9.0a;120f-real compute_90", "x", catalog)
    assert found.names() == "sm_80, sm_90a, sm_120f, compute_90"
    assert sorted(found.gpus(catalog)) == [80, 90, 120, 121]
    assert declared("100f", "x", catalog).gpus(catalog).keys() == set(catalog.architectures[100].family)
    for wrong in ("", "sm_81", "hopper", "35"):
        with pytest.raises(UserError):
            declared(wrong, "x", catalog)
