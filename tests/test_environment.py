"""`archscan env`: which environment, its distributions, what a GPU gets of each, and what is said of it."""

from __future__ import annotations

import json
import os
import pickle
import stat
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import trace_samples
from binary_samples import SAMPLES
from made_environments import editable, install, library, site_of, wheel

import archscan
from archscan import cli
from archscan.environment.installed import header, normalised
from archscan.environment.places import Asked, environments
from archscan.environment.shelves import stock

Out = pytest.CaptureFixture[bytes]
SCHEMA = json.loads((Path(archscan.__file__).parent / "schema" / "env-1.1.schema.json").read_text())

on_posix = pytest.mark.skipif(os.name != "posix", reason="needs links, pipes or shell scripts")


@pytest.fixture(autouse=True)
def nothing_active(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No environment of whoever runs the tests, and no GPU."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "BNB_CUDA_VERSION", "TRITON_PTXAS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "no programs"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("archscan.catalog.native.from_driver", list)


def text(capsysbinary: Out, *arguments: object, code: int = 0) -> str:
    """What the command prints; what it prints as an error if it ends with 2 and nothing else."""
    assert cli.run(["env", *map(str, arguments)]) == code
    found = capsysbinary.readouterr()
    return (found.out or found.err).decode()


def document(capsysbinary: Out, prefix: Path, target: str = "sm120", *options: object, code: int = 0) -> dict[str, Any]:
    arguments = ("--prefix", prefix, "--target", target, "-f", "json", *options)
    found: dict[str, Any] = json.loads(text(capsysbinary, *arguments, code=code))
    jsonschema.validate(found, SCHEMA)
    return found


def row(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in document["distributions"] if one["name"] == name]
    return found


def states(document: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["state"] for one in document["distributions"]}


# --- which environment


def test_the_active_environment_is_named_first(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    install(site_of(tmp_path / "venv"), "one", {"one/_C.so": library("sm_120")})
    install(site_of(tmp_path / "conda"), "two", {"two/_C.so": library("sm_120")})
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    first = text(capsysbinary, "-t", "sm120").splitlines()[0]
    assert first == f"environment  {tmp_path}/conda, Python 3.11: the active CONDA_PREFIX"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))  # made within the other: it is what `python` starts
    first = text(capsysbinary, "-t", "sm120").splitlines()[0]
    assert first == f"environment  {tmp_path}/venv, Python 3.11: the active VIRTUAL_ENV"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    assert "VIRTUAL_ENV names" in text(capsysbinary, "-t", "sm120", code=2)


def test_without_an_active_environment_it_is_its_own_python() -> None:
    (found,) = environments(Asked(), {})
    assert "archscan's own Python" in found.why
    assert os.path.realpath(found.prefix) == os.path.realpath(sys.prefix)
    assert found.python == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert any(Path(folder).samefile(Path(pytest.__file__).parents[1]) for folder in found.folders)


@on_posix
def test_an_interpreter_leads_to_its_environment(tmp_path: Path) -> None:
    site = site_of(tmp_path / "venv")
    real = tmp_path / "usr" / "bin" / "python3.12"
    sites = [tmp_path / f"usr/lib/python{version}/site-packages" for version in ("3.12", "3.10")]
    for binary in (real, *(folder / "x" for folder in sites)):
        binary.parent.mkdir(parents=True)
        binary.write_bytes(b"\x7fELF")
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python").symlink_to(real)
    (found,) = environments(Asked(pythons=(str(tmp_path / "venv/bin/python"),)), {})
    assert (found.prefix, found.folders) == (str(tmp_path / "venv"), (str(site),))
    (found,) = environments(Asked(pythons=(str(real),)), {})
    assert (found.python, found.folders) == ("3.12", (str(sites[0]),))


def test_a_shim_is_no_interpreter(capsysbinary: Out, tmp_path: Path) -> None:
    shim = tmp_path / "python"
    shim.write_text("#!/bin/sh\ntouch started\n")
    assert "a script, not an interpreter" in text(capsysbinary, "-t", "sm120", "--python", shim, code=2)


@on_posix
def test_what_an_environment_shares_counts_unless_local(tmp_path: Path) -> None:
    own, base = site_of(tmp_path / "venv"), tmp_path / "base/lib/python3.11/site-packages"
    base.mkdir(parents=True)
    config = tmp_path / "venv/pyvenv.cfg"
    asked = Asked(prefixes=(str(tmp_path / "venv"),))
    for shares, folders in (("false", [own]), ("true", [own, base])):
        config.write_text(f"home = {tmp_path}/base/bin\ninclude-system-site-packages = {shares}\nversion = 3.11.2\n")
        assert environments(asked, {})[0].folders == tuple(map(str, folders))
    assert environments(Asked(prefixes=asked.prefixes, local=True), {})[0].folders == (str(own),)


def test_directories_are_in_the_order_in_which_python_looks(tmp_path: Path, monkeypatch) -> None:
    named, base = tmp_path / "named", tmp_path / "base/lib/python3.11/site-packages"
    user = tmp_path / ".local/lib/python3.11/site-packages"
    for folder in (named, base, user):
        folder.mkdir(parents=True)
    install(named, "one", {})
    environ = {"PYTHONPATH": f"{named}{os.pathsep}{tmp_path / 'none'}", "CONDA_PREFIX": str(tmp_path / "base")}
    (found,) = environments(Asked(), environ)
    assert found.folders == (str(named), str(user), str(base))
    (found,) = environments(Asked(), {**environ, "PYTHONNOUSERSITE": "1"})
    assert found.folders == (str(named), str(base))
    (found,) = environments(Asked(prefixes=(str(tmp_path / "base"),)), environ)  # not the one that is active
    assert found.folders == (str(user), str(base))


def test_code_in_pth_files_is_not_run_but_told(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path / "venv")
    install(site, "one", {"one/_C.so": library("sm_120")})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    install(elsewhere, "added", {"added/_C.so": library("sm_120")})
    (site / "run.pth").write_text(f"import os; os.mkdir({str(tmp_path / 'run')!r})\n{elsewhere}\n# comment\n")
    found = document(capsysbinary, tmp_path / "venv")
    assert states(found) == {"one": "works", "added": "works"}
    assert not (tmp_path / "run").exists()
    assert [one["path"] for one in found["not_covered"]] == [str(site / "run.pth")]


@pytest.mark.parametrize("option", ["--prefix", "--python", "--site-packages", "--path"])
def test_what_is_not_there(capsysbinary: Out, tmp_path: Path, option: str) -> None:
    said = text(capsysbinary, "-t", "sm120", option, tmp_path / "gone", code=2)
    assert "no such" in said and "hint:" in said


# --- distributions


def test_editable_installs_and_directories_without_metadata(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path / "venv")
    project = tmp_path / "project"
    (project / "src/pkg").mkdir(parents=True)
    (project / "src/pkg/_C.so").write_bytes(library("sm_80"))
    editable(site, "in-place", project)
    (site / "copied").mkdir()
    (site / "copied/_C.so").write_bytes(library("sm_90"))
    (site / "plain").mkdir()
    (site / "plain/text.so").write_text("not a library")
    install(site, "whole", {"nvidia/a/lib/liba.so.12": library("sm_120")})
    install(site, "space", {"nvidia/b/lib/libb,b.so": library("sm_100")})  # the same namespace
    found = document(capsysbinary, tmp_path / "venv")
    assert states(found) == {
        "in-place": "fails", "copied": "fails", "space": "fails", "whole": "works", "plain": "no-gpu-code"
    }  # fmt: skip


def test_the_first_of_a_name_counts(capsysbinary: Out, tmp_path: Path) -> None:
    site, other = site_of(tmp_path / "venv"), tmp_path / "other"
    other.mkdir()
    install(site, "Some.Name", {"some/_C.so": library("sm_120")}, "2.0")
    install(other, "some-name", {"some/_C.so": library("sm_80")}, "1.0")
    found = document(capsysbinary, tmp_path / "venv", "sm120", "--path", other)
    assert [(one["version"], one["state"]) for one in found["distributions"]] == [("2.0", "works")]
    assert ["hidden by" in one["reason"] for one in found["not_covered"]] == [True]


def test_conda_packages_that_are_no_distributions(capsysbinary: Out, tmp_path: Path) -> None:
    prefix = tmp_path / "conda"
    site = site_of(prefix)
    install(site, "torch", {"torch/lib/libtorch.so": library("sm_120")})
    (prefix / "lib/libcublas.so.12").write_bytes(library("sm_80"))
    (prefix / "conda-meta").mkdir()
    files = {
        "pytorch": ["lib/python3.11/site-packages/torch/lib/libtorch.so"],
        "libcublas": ["lib/libcublas.so.12", "lib/libcublas.so.13"],
    }
    for name, listed in files.items():
        (prefix / f"conda-meta/{name}-1.json").write_text(
            json.dumps({"name": name, "version": "12.4", "files": listed})
        )
    (prefix / "conda-meta/broken-1.json").write_text("{")
    found = document(capsysbinary, prefix, code=2)
    assert states(found) == {"torch": "works", "libcublas": "fails"}
    assert [Path(one["path"]).name for one in found["failed"]] == ["broken-1.json"]


def test_metadata_by_others() -> None:
    needs = (
        "Requires-Dist: torch (==2.9.0)\nRequires-Dist: a; extra == 'b'\nRequires-Dist: c==1.*\nRequires-Dist: d>=2\n"
    )
    found = header(f"Name: X.y\nversion: 1.2\n{needs}\nName: z", "other-9.dist-info")
    assert (found.name, found.version) == ("X.y", "1.2")
    assert (found.requires, found.pins) == (("torch", "c", "d"), (("torch", "2.9.0"),))
    licence = "License: Some\n        \n        1. name: x\f\n        \n"
    found = header(f"Name: a\r\n{licence}Requires-Dist: b\n\nRequires-Dist: no\n", "a.dist-info")
    assert (found.name, found.requires) == ("a", ("b",))
    found = header("", "some_name-1.0.dist-info")
    assert (found.name, found.version) == ("some_name", "1.0")
    assert normalised("Some__Name.x") == "some-name-x"


@on_posix
def test_damage_is_told_and_the_rest_is_read(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path / "venv")
    install(site, "good", {"good/_C.so": library("sm_120")})
    install(site, "cut", {"cut/_C.so": library("sm_120")[:200]})
    os.mkfifo(install(site, "fifo", {}) / "RECORD.x")
    broken = install(site, "broken", {"broken/_C.so": library("sm_120")})
    (broken / "RECORD").unlink()
    os.mkfifo(broken / "RECORD")
    found = document(capsysbinary, tmp_path / "venv", code=2)
    assert states(found) == {"good": "works", "cut": "unknown", "fifo": "no-gpu-code", "broken": "works"}
    assert {Path(one["path"]).name for one in found["failed"]} == {"_C.so", "broken-1.0.dist-info"}


# --- what a GPU gets


@pytest.mark.parametrize(
    ("modules", "target", "state", "counted"),
    [
        (["sm_120"], "sm120", "works", "native"),
        (["sm_80"], "sm89", "works", "compatible"),
        (["sm_80"], "sm90", "fails", "none"),
        (["sm_80 compute_80"], "sm90", "slow", "jit"),
        (["sm_80 compute_80"], "sm75", "fails", "other-chips"),
        (["sm_90a"], "sm120", "fails", "other-chips"),
        (["sm_90a"], "sm90", "works", "native"),
        (["sm_120f"], "sm121", "works", "compatible"),
        (["sm_120a"], "sm121", "fails", "none"),
        (["sm_120", "sm_120a"], "sm121", "partly", "compatible"),
        (["sm_120", "sm_120a", "sm_121a"], "sm121", "works", "native"),
        (["sm_100f", "sm_100a"], "sm103", "partly", "compatible"),
        (["sm_100f", "sm_100a", "sm_103"], "sm103", "works", "native"),  # it chooses by chip
        (["sm_80"], "sm87", "unknown", "unknown"),  # code of a desktop part on a chip of the Tegra line: disputed
        (["sm_80", "sm_87"], "sm87", "works", "native"),
        (["sm_80 compute_80"], "sm87", "slow", "jit"),
        (["sm_90", "sm_80"], "sm90", "works", "native"),  # code for other chips beside: normal
    ],
)
def test_one_library(
    capsysbinary: Out, tmp_path: Path, modules: list[str], target: str, state: str, counted: str
) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library(*modules, machine=_machine(target))})
    found = row(document(capsysbinary, tmp_path, target), "one")
    assert (found["state"], [way for way, number in found["libraries"].items() if number]) == (state, [counted])


def _machine(target: str) -> str:
    return "aarch64" if target in ("sm121", "sm87", "sm110") else "x86_64"


@pytest.mark.parametrize(
    ("libraries", "state"),
    [
        ({"a.so": ["sm_120"], "b.so": ["sm_80"]}, "partly"),
        ({"a.so": ["sm_120"], "b.so": ["sm_90a"]}, "works"),  # made for another chip
        ({"a.so": ["sm_120"], "b.so": ["compute_80"]}, "slow"),
        ({"a.so": ["sm_80"], "b.so": ["compute_80"]}, "partly"),
        ({"a.so": ["sm_120"], "tests/b.so": ["sm_80"]}, "works"),
        ({"a.so": ["sm_120"], "b.a": ["sm_80"], "b.o": ["sm_80"]}, "works"),  # for linkers
    ],
)
def test_several_libraries(capsysbinary: Out, tmp_path: Path, libraries: dict[str, list[str]], state: str) -> None:
    files = {f"one/{name}": library(*modules) for name, modules in libraries.items()}
    install(site_of(tmp_path), "one", files)
    assert row(document(capsysbinary, tmp_path), "one")["state"] == state


XFORMERS = "xformers 0.0.35 setup.py: get_extensions"


@pytest.mark.parametrize(
    ("version", "target", "do"),
    [
        ("0.0.1", "sm90", "install xformers 0.0.35, which has code for sm_90 (wheel for x86-64, read 2026-11-30)"),
        ("0.0.35", "sm90", f"build it from source with TORCH_CUDA_ARCH_LIST=9.0 ({XFORMERS})"),
        ("0.0.1", "sm120", f"build it from source with TORCH_CUDA_ARCH_LIST=12.0 ({XFORMERS})"),  # PTX alone
    ],
)
def test_a_version_is_named_where_one_was_read(
    capsysbinary: Out, tmp_path: Path, version: str, target: str, do: str
) -> None:
    install(site_of(tmp_path), "xformers", {"xformers/_C.so": library("sm_80")}, version)
    assert row(document(capsysbinary, tmp_path, target), "xformers")["do"] == do


@pytest.mark.parametrize(
    ("name", "target", "do"),
    [
        ("flash-attn", "sm120", "build it from source with FLASH_ATTN_CUDA_ARCHS=120 (flash-attn 2.8.3 setup.py"),
        ("flash-attn", "sm86", "no version or build of it with sm_86 is known here"),  # its build knows no 86
        ("one", "sm120", "no version or build of it with sm_120 is known here: look for one"),
    ],
)
def test_a_build_is_advised_where_it_is_known_to_help(
    capsysbinary: Out, tmp_path: Path, name: str, target: str, do: str
) -> None:
    install(site_of(tmp_path), name, {"one/_C.so": library("sm_75")})
    assert row(document(capsysbinary, tmp_path, target), name)["do"].startswith(do)


def test_what_does_not_load_of_several_is_named_and_the_rest_runs(capsysbinary: Out, tmp_path: Path) -> None:
    install(site_of(tmp_path), "one", {"one/_A.so": library("sm_120"), "one/_B.so": library("sm_80")})
    do = row(document(capsysbinary, tmp_path), "one")["do"]
    assert do == "no version or build of it with sm_120 is known here; what runs _B.so fails, the rest runs"


def test_a_project_that_is_installed_in_place_is_built_again(capsysbinary: Out, tmp_path: Path) -> None:
    project = tmp_path / "src"
    (project / "mine").mkdir(parents=True)
    (project / "mine" / "_C.so").write_bytes(library("sm_80"))
    (project / "setup.py").write_text(
        'import os\nfrom torch.utils.cpp_extension import CUDAExtension\nos.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"\n'
        'ext_modules = [CUDAExtension("mine._C", ["mine/k.cu"])]\n'
    )
    editable(site_of(tmp_path), "mine", project)
    do = row(document(capsysbinary, tmp_path), "mine")["do"]
    assert do == f'build it again with TORCH_CUDA_ARCH_LIST="12.0" (archscan builds --for sm_120 {project})'
    (project / "setup.py").unlink()
    assert row(document(capsysbinary, tmp_path), "mine")["do"].startswith("no version or build of it")


def test_libraries_for_another_processor_answer_nothing(capsysbinary: Out, tmp_path: Path) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library("sm_80")})
    found = row(document(capsysbinary, tmp_path, "sm121"), "one")
    assert (found["state"], found["do"]) == ("unknown", "look at its wheel for aarch64")


@on_posix
def test_links_and_copies_of_links_count_once(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    folder = install(site, "one", {"one/lib/liba.so.1.2": library("sm_120")})
    (site / "one/lib/liba.so").symlink_to("liba.so.1.2")
    with (folder / "RECORD").open("a") as record:
        record.write("one/lib/liba.so,,\n")
    assert row(document(capsysbinary, tmp_path), "one")["libraries"]["native"] == 1


TORCH = "from typing import Optional\n__version__ = '2.9'\ncuda: Optional[str] = '{}'\nhip = None\n"


@pytest.mark.parametrize(
    ("cuda", "loads", "state"),
    [
        ("12.4", "124", "fails"),
        ("12.8", "128", "works"),
        ("12.6", "124", "fails"),  # the highest lower one of its major
        ("12.1", "124", "fails"),  # the lowest higher one
        ("12.9", "128", "works"),
        ("11.8", "118", "slow"),
        ("13.0", None, "fails"),  # none of that major
        (None, None, "unknown"),
    ],
)
def test_of_several_libraries_the_one_that_is_loaded_counts(
    capsysbinary: Out, tmp_path: Path, cuda: str | None, loads: str | None, state: str
) -> None:
    site = site_of(tmp_path)
    held = {"118": "sm_80 compute_80", "124": "sm_90", "128": "sm_120"}
    files = {f"bitsandbytes/libbitsandbytes_cuda{version}.so": library(images) for version, images in held.items()}
    install(site, "bitsandbytes", {**files, "bitsandbytes/libbitsandbytes_rocm62.so": b"\x7fELF"})
    if cuda:
        install(site, "torch", {"torch/version.py": TORCH.format(cuda)})
    found = row(document(capsysbinary, tmp_path), "bitsandbytes")
    left_out = set(held) - {loads} if cuda else set()
    assert found["state"] == state
    assert set(found["not_chosen"]) == {f"bitsandbytes/libbitsandbytes_cuda{version}.so" for version in left_out}
    assert "cextension.py" in found["rule"]["source"]


@pytest.mark.parametrize(
    ("target", "loads", "state"), [("sm90", "sm90", "works"), ("sm100", "sm100", "works"), ("sm89", "sm100", "fails")]
)
def test_a_library_for_the_gpu(capsysbinary: Out, tmp_path: Path, target: str, loads: str, state: str) -> None:
    held = {"sm90": "sm_89 sm_90a", "sm100": "sm_100f"}
    files = {f"sgl_kernel/{folder}/common_ops.abi3.so": library(images) for folder, images in held.items()}
    install(site_of(tmp_path), "sglang-kernel", files)
    found = row(document(capsysbinary, tmp_path, target), "sglang-kernel")
    assert found["state"] == state and loads in found["rule"]["text"]
    assert found["not_chosen"] == [f"sgl_kernel/{folder}/common_ops.abi3.so" for folder in held if folder != loads]


def test_a_variable_names_the_library(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    site = site_of(tmp_path)
    held = {"124": "sm_90", "128": "sm_120"}
    files = {f"bitsandbytes/libbitsandbytes_cuda{version}.so": library(images) for version, images in held.items()}
    install(site, "bitsandbytes", files)
    install(site, "torch", {"torch/version.py": TORCH.format("12.8")})
    monkeypatch.setenv("BNB_CUDA_VERSION", "124")
    assert row(document(capsysbinary, tmp_path), "bitsandbytes")["state"] == "fails"
    monkeypatch.setenv("BNB_CUDA_VERSION", "126")  # named and not there: nothing else is tried
    assert "none fits" in row(document(capsysbinary, tmp_path), "bitsandbytes")["rule"]["text"]


@pytest.mark.parametrize(
    ("release", "target", "state"),
    [("12.8", "sm120", "works"), ("12.6", "sm120", "fails"), ("12.9", "sm121", "works"), ("12.8", "sm121", "fails")],
)
def test_a_compiler_of_its_own_knows_the_gpu_or_not(
    capsysbinary: Out, tmp_path: Path, release: str, target: str, state: str
) -> None:
    said = b"\0Cuda compilation tools, release %s, V%s.61\0" % (release.encode(), release.encode())
    files = {f"triton/backends/nvidia/bin/{name}": bytes(5_000_000) + said for name in ("ptxas", "ptxas-blackwell")}
    install(site_of(tmp_path), "triton", files)
    assert row(document(capsysbinary, tmp_path, target), "triton")["state"] == state


def test_loose_files_decide_nothing_beside_what_is_compiled_later(capsysbinary: Out, tmp_path: Path) -> None:
    ptx = ".version 8.8\n.target sm_103a\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"
    install(site_of(tmp_path), "flashinfer-python", {"flashinfer/k.ptx": ptx})
    install(site_of(tmp_path), "other", {"other/k.ptx": ptx})
    found = document(capsysbinary, tmp_path)
    assert states(found) == {"flashinfer-python": "unknown", "other": "unknown"}
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120")
    assert "nothing loads" not in said and "built on first use\n  flashinfer-python 1.0" in said


# --- what is said


def test_the_table_goes_from_worst_to_best(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    for name, images in {"d": "sm_120", "c": "sm_80 compute_80", "b": "sm_90", "a": "sm_80"}.items():
        files = {f"{name}/_C.so": library(images)} | ({"b/_D.so": library("sm_120")} if name == "b" else {})
        install(site, name, files)
    install(site, "python-only", {"python_only/__init__.py": ""})
    said = text(capsysbinary, "--prefix", tmp_path, "--target", "sm120")
    heads = [line for line in said.splitlines() if line and not line.startswith(" ")]
    assert heads == [
        f"environment  {tmp_path}, Python 3.11: named with --prefix",
        "GPU          sm_120, named with --target: this machine was not asked",
        "nothing loads on sm_120",
        "loads in part on sm_120",
        "slow at first use",
        "loads: nothing to do",
        "looked at    5 distributions: 4 with GPU code or a compiler for it, 1 without",
    ]
    assert "its library does not load on sm_120: _C.so (sm_80)" in said
    assert "1 of 2 libraries does not load on sm_120: _C.so (sm_90)" in said
    assert "driver 580 or newer, else error 222" in " ".join(said.split())


@pytest.mark.parametrize(
    ("modules", "level", "code"),
    [
        ("sm_80", "never", 0), ("sm_80", "high", 1), ("sm_80", "low", 1), ("compute_80", "medium", 0),
        ("compute_80", "low", 1), ("sm_120", "low", 0),
    ],
)  # fmt: skip
def test_exit_codes(capsysbinary: Out, tmp_path: Path, modules: str, level: str, code: int) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library(modules)})
    text(capsysbinary, "--prefix", tmp_path, "-t", "sm120", "--fail-on", level, code=code)


def test_what_cannot_be_read_ends_with_2(capsysbinary: Out, tmp_path: Path) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library("sm_120")[:200]})
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120", code=2)
    assert "not read     one/_C.so: damaged container" in said


def test_wheels_are_read_in_place(capsysbinary: Out, tmp_path: Path) -> None:
    good = wheel(tmp_path, "good", {"good/_C.so": library("sm_120")})
    bad = wheel(tmp_path, "bad", {"bad/_C.so": library("sm_80")})
    found = json.loads(text(capsysbinary, "-t", "sm120", "-f", "json", good, bad))
    assert states(found) == {"bad": "fails", "good": "works"}
    assert "no such wheel" in text(capsysbinary, "-t", "sm120", tmp_path / "gone.whl", code=2)
    good.write_bytes(b"PK\3\4")
    assert "cannot be read" in text(capsysbinary, "-t", "sm120", good, code=2)


@on_posix
def test_names_of_others_cannot_steer_a_terminal(capsysbinary: Out, tmp_path: Path) -> None:
    install(site_of(tmp_path), "x\x1b[2J", {"one/\x1b[31m.so": library("sm_80")})
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120")
    assert "\x1b" not in said and "\\x1b[31m" in said


# --- the machine


SMI = """#!/bin/sh
if [ -n "$1" ]; then printf '%b' "{rows}"; else echo "| Driver Version: 580.82.07   CUDA Version: 13.0 |"; fi
"""


def smi(folder: Path, *rows: str) -> None:
    """A program that answers as nvidia-smi does."""
    folder.mkdir()
    program = folder / "nvidia-smi"
    program.write_text(SMI.format(rows="".join(f"{row}, 580.82.07\\n" for row in rows)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@on_posix
def test_each_kind_of_gpu_in_the_machine_is_judged_apart(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    install(site_of(tmp_path / "venv"), "one", {"one/_C.so": library("sm_90")})
    smi(tmp_path / "bin", "NVIDIA H200, 9.0", "NVIDIA H200, 9.0", "NVIDIA RTX PRO 6000, 12.0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = json.loads(text(capsysbinary, "--prefix", tmp_path / "venv", "-f", "json"))
    jsonschema.validate(found, SCHEMA)
    assert found["driver"] == {"version": "580.82.07", "cuda": "13.0"}
    assert [(one["target"], states(one)) for one in (found, *found["also"])] == [
        ("sm_90", {"one": "works"}),
        ("sm_120", {"one": "fails"}),
    ]
    said = text(capsysbinary, "--prefix", tmp_path / "venv")
    assert "GPU          2 x NVIDIA H200 (sm_90)\ndriver       580.82.07, CUDA 13.0" in said
    assert "GPU          NVIDIA RTX PRO 6000 (sm_120)" in said


def test_without_a_gpu_a_target_is_asked_for(capsysbinary: Out, tmp_path: Path) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library("sm_90")})
    said = text(capsysbinary, "--prefix", tmp_path, code=2)
    assert "no NVIDIA GPU was found" in said and "archscan env --target sm120" in said


def test_code_for_a_sibling_alone(capsysbinary: Out, tmp_path: Path) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library("sm_120", "sm_120a", machine="aarch64")})
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm121")
    assert "modules of _C.so hold sm_120a alone, which does not load on sm_121" in said
    assert "do: no version or build of it with sm_120f is known here" in " ".join(said.split())


def test_libraries_that_were_not_meant_for_it(capsysbinary: Out, tmp_path: Path) -> None:
    held = {"a": "sm_75", "b": "sm_80", "c": "sm_90a"}
    install(site_of(tmp_path), "one", {f"one/{name}.so": library(images) for name, images in held.items()})
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm75")
    assert "3 libraries: 1 native, 1 for other chips, 1 for newer GPUs" in said


# --- a part of it


GATE = """__global__ void k(int* out) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  out[0] = 1;
#endif
}
void f() { k<<<1, 1>>>(nullptr); }
"""


def test_what_one_distribution_needs(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    install(site, "top", {"top/a.so": library("sm_120")}, requires=("Mid.dle>=1", "absent", "extra; extra == 'x'"))
    install(site, "mid-dle", {"mid/a.so": library("sm_120")}, requires=("top",))  # in a circle
    install(site, "extra", {"extra/a.so": library("sm_80")})
    assert states(document(capsysbinary, tmp_path, "sm120", "--for", "top")) == {"top": "works", "mid-dle": "works"}
    (tmp_path / "r.txt").write_text(
        "# what we use\n-r other.txt\nExtra==1.0  # why\n\ntop[all]>=2; python_version > '3'\n"
    )
    found = document(capsysbinary, tmp_path, "sm120", "-r", tmp_path / "r.txt")
    assert states(found) == {"top": "works", "extra": "fails"}
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120", "--for", "tpo", code=2)
    assert "tpo is not installed there" in said and "did you mean 'top'" in said
    assert "cannot be read" in text(capsysbinary, "--prefix", tmp_path, "-t", "sm120", "-r", tmp_path / "gone", code=2)


def test_a_part_reads_a_part_and_forgets_nothing(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    site = site_of(tmp_path)
    for name in ("one", "two"):
        install(site, name, {f"{name}/_C.so": library("sm_80")})
    monkeypatch.setattr("archscan.environment.shelves.RACY_NS", -(1 << 62))
    read: list[str] = []
    real = __import__("archscan.environment.shelves", fromlist=["read_one"]).read_one
    monkeypatch.setattr("archscan.environment.shelves.read_one", lambda one: (read.append(one.path), real(one))[1])
    document(capsysbinary, tmp_path, "sm120", "--for", "one")
    assert read == ["one/_C.so"]
    document(capsysbinary, tmp_path, "sm120", "--for", "two")
    document(capsysbinary, tmp_path)
    assert read == ["one/_C.so", "two/_C.so"]


def test_a_row_is_opened(capsysbinary: Out, tmp_path: Path) -> None:
    files = {"one/__init__.py": "", "one/csrc/k.cu": GATE, "one.libs/libx.so": library("sm_80")}
    install(site_of(tmp_path), "one", files)
    found = row(document(capsysbinary, tmp_path, "sm120", "one"), "one")
    assert found["state"] == "fails" and found["kernels_without_code"] == 0
    assert found["by_severity"] == {"high": 1}  # its library stands in the row
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120", "one")
    assert said.index("nothing loads on sm_120") < said.index("k.cu:2") and "[missing-image]" in said
    page = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120", "-f", "html", "one")
    assert page.startswith("<!doctype html") and "k.cu" in page


def test_gates_are_scanned_once_and_told_in_every_row(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    install(site, "one", {"one/__init__.py": "", "one/csrc/k.cu": GATE, "one/_C.so": library("sm_120")})
    install(site, "sources", {"sources/__init__.py": "", "sources/k.cu": GATE})
    install(site, "clean", {"clean/__init__.py": "", "clean/_C.so": library("sm_120")})
    install(site, "libraries", {"space/lib/liba.so": library("sm_120")})  # with nothing to scan
    install(site, "pure", {"pure/__init__.py": ""})
    asked = ("--prefix", tmp_path, "-t", "sm120")
    before = text(capsysbinary, *asked)
    assert "gates in the code of clean, one, sources: --gates scans it, once" in " ".join(before.split())
    said = text(capsysbinary, *asked, "--gates")
    assert said.count("gates: 1 high") == 2 and "gates: none shuts sm_120 out" in said
    heads = [line for line in said.splitlines() if line and not line.startswith(" ")]
    assert heads[2:5] == [
        "loads, and gates in its code shut parts of it",
        "loads: nothing to do",
        "no GPU code in libraries, and gates in its sources",
    ]
    assert "--gates" not in said
    opened = f"archscan env --target sm_120 --prefix {tmp_path}"
    assert [
        name
        for name in ("one", "sources", "clean")
        if f"do: see what is shut: {opened} {name}" in " ".join(said.split())
    ] == [
        "one",
        "sources",
    ]
    assert text(capsysbinary, *asked) == said  # remembered
    found = document(capsysbinary, tmp_path)
    assert [row(found, name)["by_severity"] for name in ("one", "clean", "pure")] == [{"high": 1}, {}, {}]
    assert [row(found, name)["kernels_without_code"] for name in ("one", "clean", "pure")] == [0, 0, None]
    path = site / "one/csrc/k.cu"
    path.write_text(GATE.replace("1000", "1300"))  # it changes in place
    assert "gates in the code of one: --gates scans it, once" in " ".join(text(capsysbinary, *asked).split())
    assert "gates: 1 high" in text(capsysbinary, *asked, "--gates")  # of the other


def test_kernels_without_code_are_counted_once(capsysbinary: Out, tmp_path: Path) -> None:
    """Two findings about one library, of kernels that do nothing and that trap, each count both."""
    code = (SAMPLES / "two_modules.so").read_bytes()
    install(site_of(tmp_path), "one", {"one/__init__.py": "", "one/_C.so": code})
    for target, number in (("sm80", 2), ("sm120", 1), ("sm90", 0)):
        found = row(document(capsysbinary, tmp_path, target, "--gates"), "one")
        assert found["kernels_without_code"] == number


def test_one_page_for_all(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    install(site, "one", {"one/__init__.py": "", "one/csrc/k.cu": GATE, "one.libs/lib<x>.so": library("sm_80")})
    install(site, "two", {"two/_C.so": library("sm_80 compute_80")})
    install(site, "pure", {"pure/__init__.py": ""})
    page = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120,sm89", "-f", "html", "--gates")
    assert page.startswith("<!doctype html") and page.count("<details") == 4  # two rows for each of two GPUs
    assert "<script" not in page and "lib<x>" not in page and "one.libs/lib&lt;x&gt;.so" in page
    assert page.index('class="fails"') < page.index('class="slow"') < page.index('class="works"')
    assert "one/csrc/k.cu:2" in page and "gates: 1 high" in page
    assert f"archscan env --target sm_120 --prefix {tmp_path} one</code>" in page
    assert (
        "do: no version or build of it with sm_120 is known here" in page and "3 distributions: 2 with GPU code" in page
    )
    closed = page[page.index("<summary>") : page.index("</summary>")]
    assert 'class="do">do: no version' in closed  # what to do is read without opening a row


def test_what_a_distribution_runs_comes_first(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    needs = ("near", "far", "rare", "never", "loads")
    install(
        site, "app", {"app/a.py": "import near\n", "app/b.py": "from near.x import y\nimport rare\n"}, requires=needs
    )
    install(site, "near", {"near/__init__.py": "    import far.x\n", "near/_C.so": library("sm_120")})
    for name in ("far", "rare", "never"):
        install(site, name, {f"{name}/__init__.py": "# import never\n", f"{name}/_C.so": library("sm_120")})
    install(site, "loads", {"loads/__init__.py": "", "loads/_C.so": library("sm_80")})
    found = document(capsysbinary, tmp_path, "sm120", "--for", "app")
    assert [one["name"] for one in found["distributions"]] == ["loads", "near", "rare", "far", "never", "app"]
    said = text(capsysbinary, "--prefix", tmp_path, "-t", "sm120", "--for", "app")
    assert "imported in 2 files of app" in said and "imported in 1 file of near" in said


def test_what_is_run_and_shut_comes_before_what_is_only_imported(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    code = library("sm_120")
    install(site, "ringlib", {**trace_samples.PRODUCER, "ringlib/_C.so": code})
    other = {
        name.replace("ringlib", "other"): text.replace("ringlib", "other")
        for name, text in trace_samples.PRODUCER.items()
    }
    install(site, "other", {**other, "other/_C.so": code})
    imports = {f"app/{name}.py": "import other\n" for name in ("a", "b", "c")}
    install(site, "app", {**trace_samples.CONSUMER, **imports}, requires=("other", "ringlib"))
    asked = ("--prefix", tmp_path, "-t", "sm120", "--for", "app")
    names = [one["name"] for one in document(capsysbinary, tmp_path, "sm120", "--for", "app")["distributions"]]
    assert names == ["other", "ringlib", "app"]  # three files against one
    rows = document(capsysbinary, tmp_path, "sm120", "--for", "app", "--gates")["distributions"]
    assert [one["name"] for one in rows] == ["ringlib", "other", "app"]
    assert rows[0]["run"]["by"] == "app" and len(rows[0]["run"]["shut"]) == 1
    assert rows[1]["run"] == {"by": "app", "shut": []} and rows[2]["run"] is None
    said = " ".join(text(capsysbinary, *asked).split())  # remembered
    assert f"app runs 1 feature of it that is shut: {rows[0]['run']['shut'][0]}" in said
    assert "app runs nothing of it that is shut" in said


# --- many


_LEGEND = "+ loads, s slow at first use, p in part, - nothing loads, ? not known"


def test_distributions_against_gpus(capsysbinary: Out, tmp_path: Path) -> None:
    for place, images in (("a", "sm_90 compute_90"), ("b", "sm_80")):
        install(site_of(tmp_path / place), "one", {"one/_C.so": library(images)})
        install(site_of(tmp_path / place), "pure", {"pure/a.py": ""})
    prefixes = ("--prefix", tmp_path / "a", "--prefix", tmp_path / "b")
    said = text(capsysbinary, *prefixes, "-t", "sm89,sm90,sm120", "--matrix")
    assert [line.split() for line in said.splitlines()] == [
        ["environment", f"{tmp_path}/a"], ["89", "90", "120"], ["one", "1.0", "-", "+", "s"], [],
        ["environment", f"{tmp_path}/b"], ["89", "90", "120"], ["one", "1.0", "+", "-", "-"], [],
        _LEGEND.split(),
    ]  # fmt: skip
    found = json.loads(text(capsysbinary, *prefixes, "-t", "sm90,sm120", "-f", "json"))
    jsonschema.validate(found, SCHEMA)
    assert [(one["target"], states(one)["one"]) for one in (found, *found["also"])] == [
        ("sm_90", "works"), ("sm_120", "slow"), ("sm_90", "fails"), ("sm_120", "fails"),
    ]  # fmt: skip


def test_a_directory_of_wheels(capsysbinary: Out, tmp_path: Path) -> None:
    wheel(tmp_path, "good", {"good/_C.so": library("sm_120")})
    wheel(tmp_path, "bad", {"bad/_C.so": library("sm_80")})
    found = json.loads(text(capsysbinary, "-t", "sm120", "-f", "json", tmp_path))
    assert states(found) == {"bad": "fails", "good": "works"}
    (tmp_path / "empty").mkdir()
    assert "no wheels" in text(capsysbinary, "-t", "sm120", tmp_path / "empty", code=2)


def test_a_directory_of_the_name_of_a_distribution(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    install(site_of(tmp_path / "venv"), "one", {"one/__init__.py": "", "one/_C.so": library("sm_120")})
    (tmp_path / "one").mkdir()  # the sources of it, beside the environment
    monkeypatch.chdir(tmp_path)
    assert states(document(capsysbinary, tmp_path / "venv", "sm120", "one")) == {"one": "works"}


def test_an_executor_reads_the_libraries(tmp_path: Path) -> None:
    """The seam of a fleet: what is handed out and comes back survives the way to another process."""

    class Executor:
        def map(self, function: Any, items: Any) -> Any:
            call = pickle.loads(pickle.dumps(function))
            return [pickle.loads(pickle.dumps(call(pickle.loads(pickle.dumps(item))))) for item in items]

    install(site_of(tmp_path), "one", {"one/a.so": library("sm_80"), "one/b.so": b"none", "one/c.so": b"\x7fELF"})
    (environment,) = environments(Asked(prefixes=(str(tmp_path),)), {})
    assert stock(environment, False, mapper=Executor()) == stock(environment, False)


# --- remembering


def test_what_did_not_change_is_not_read_again(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    site = site_of(tmp_path)
    install(site, "one", {"one/_C.so": library("sm_80"), "one/_D.so": library("sm_120")})
    for path in [*site.rglob("*"), *site.rglob("*/")]:
        os.utime(path, (1, 1))
    before = document(capsysbinary, tmp_path)
    monkeypatch.setattr("archscan.environment.shelves.RACY_NS", -(1 << 62))  # a ctime cannot be set back
    first = document(capsysbinary, tmp_path)
    read: list[str] = []
    real = __import__("archscan.environment.shelves", fromlist=["read_one"]).read_one
    monkeypatch.setattr("archscan.environment.shelves.read_one", lambda one: (read.append(one.path), real(one))[1])
    assert document(capsysbinary, tmp_path) == first == before and read == []
    (site / "one/_C.so").write_bytes(library("sm_120"))
    assert states(document(capsysbinary, tmp_path)) == {"one": "works"} and read == ["one/_C.so"]
    document(capsysbinary, tmp_path, "sm120", "--no-cache")
    assert sorted(read[1:]) == ["one/_C.so", "one/_D.so"]


def test_clearing_the_cache_takes_environments_and_libraries_along(capsysbinary: Out, tmp_path: Path) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library("sm_80")})
    document(capsysbinary, tmp_path)
    kept = Path(os.environ["XDG_CACHE_HOME"], "archscan")
    for name in ("a.library", "b.kernels", "c.gates"):
        (kept / name).write_bytes(b"")
    assert [path.suffix for path in kept.iterdir() if path.suffix == ".environment"]
    assert cli.run(["cache", "--clear"]) == 0
    assert list(kept.iterdir()) == []
