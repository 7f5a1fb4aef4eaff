"""What decides beside the code: the driver, variables, versions that do not go together, JIT caches."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from binary_samples import SAMPLES
from made_environments import install, library, site_of

import archscan
from archscan import cli
from archscan.environment.conflicts import allows

Out = pytest.CaptureFixture[bytes]
SCHEMA = json.loads((Path(archscan.__file__).parent / "schema" / "env-1.1.schema.json").read_text())
pytestmark = pytest.mark.skipif(os.name != "posix", reason="shell scripts stand for programs")
VARIABLES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_PATH", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "TORCH_CUDA_ARCH_LIST", "CUDAARCHS",
    "FLASHINFER_CUDA_ARCH_LIST", "FLASHINFER_WORKSPACE_BASE", "TRITON_PTXAS_PATH", "TRITON_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
)  # fmt: skip


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variables, caches or GPU of whoever runs the tests."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("archscan.catalog.native.from_driver", list)


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def gpu(tmp_path: Path, driver: str, cuda: str = "", capability: str = "12.0") -> None:
    """A machine with one GPU, by what nvidia-smi says of it."""
    says = f"CUDA Version: {cuda}" if cuda else "no version"
    row = f"NVIDIA X, {capability}, {driver}"
    program(
        tmp_path / "bin", "nvidia-smi", f'#!/bin/sh\nif [ -n "$1" ]; then echo "{row}"; else echo "| {says} |"; fi\n'
    )


def document(capsysbinary: Out, tmp_path: Path, *options: object, code: int = 0) -> dict[str, Any]:
    assert cli.run(["env", "--prefix", str(tmp_path), "-f", "json", *map(str, options)]) == code
    found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def text(capsysbinary: Out, tmp_path: Path, *options: object) -> str:
    assert cli.run(["env", "--prefix", str(tmp_path), *map(str, options)]) == 0
    return " ".join(capsysbinary.readouterr().out.decode().split())


def row(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in document["distributions"] if one["name"] == name]
    return found


# --- the driver


@pytest.mark.parametrize(
    ("images", "driver", "state"),
    [
        (["compute_80"], "580.82.07", "slow"),  # PTX 9.0 came with 580
        (["compute_80"], "579.99", "fails"),
        (["sm_120 compute_80"], "570.86", "works"),
        (["sm_120", "compute_80"], "570.86", "works"),  # modules of PTX beside: used or not
    ],
)
def test_a_driver_compiles_ptx_that_is_not_newer(
    capsysbinary: Out, tmp_path: Path, images: list[str], driver: str, state: str
) -> None:
    gpu(tmp_path, driver, "12.8")
    install(site_of(tmp_path), "one", {"one/_C.so": library(*images, ptx="9.0")})
    assert row(document(capsysbinary, tmp_path), "one")["state"] == state


def test_one_library_of_two_that_the_driver_is_too_old_for(capsysbinary: Out, tmp_path: Path) -> None:
    gpu(tmp_path, "570.86.15", "12.8")
    files = {"one/a.so": library("sm_120"), "one/b.so": library("compute_80", ptx="9.0")}
    install(site_of(tmp_path), "one", files)
    found = row(document(capsysbinary, tmp_path), "one")
    assert found["state"] == "partly" and "b.so (compute_80)" in found["says"]
    assert found["do"].startswith("update the driver to 580 or newer")
    # nobody asked the machine: what it needs is said instead
    found = row(document(capsysbinary, tmp_path, "--target", "sm120"), "one")
    assert found["state"] == "slow" and "driver 580 or newer" in found["do"]


@pytest.mark.parametrize(
    ("cuda", "driver", "says", "conflict"),
    [
        ("13.0", "580.82", "13.0", False),
        ("13.0", "570.86", "12.8", True),
        ("12.8", "550.54", "12.4", False),  # minor versions of one major go together
        ("13.0", "570.86", "", True),  # a driver that does not say: by its branch
        ("13.0", "580.00", "", False),
        ("12.8", "520.61", "", True),
    ],
)
def test_a_newer_major_of_cuda_is_a_conflict(
    capsysbinary: Out, tmp_path: Path, cuda: str, driver: str, says: str, conflict: bool
) -> None:
    gpu(tmp_path, driver, says)
    install(site_of(tmp_path), "torch", {"torch/version.py": f"cuda = '{cuda}'\n", "torch/a.so": library("sm_120")})
    install(site_of(tmp_path), "nvidia-cuda-runtime-cu12", {}, f"{cuda}.88")
    found = document(capsysbinary, tmp_path)
    assert [bool(row(found, name)["conflicts"]) for name in ("torch", "nvidia-cuda-runtime-cu12")] == [conflict] * 2
    assert row(found, "torch")["state"] == "works"  # the forward compatibility package may bridge it


# --- versions


@pytest.mark.parametrize(
    ("needs", "installed", "conflict"),
    [
        ("torch==2.14.0", "2.14.1", True),
        ("torch==2.14.0", "2.14", False),
        ("torch (==2.14.1)", "2.14.1+cu130", False),
        ("torch==2.14.*", "2.14.1", False),
        ("torch>=2.10,<3", "2.14.1", False),
        ("torch==2.14.0rc1", "2.14.0", True),
        ("torch==2.14.0; extra == 'all'", "2.14.1", False),
        ("torch==2.14.0; sys_platform == 'win32'", "2.14.1", False),  # it cannot be told whether that holds
    ],
)
def test_versions_that_were_not_built_for_each_other(
    capsysbinary: Out, tmp_path: Path, needs: str, installed: str, conflict: bool
) -> None:
    site = site_of(tmp_path)
    install(site, "torch", {"torch/a.so": library("sm_120")}, installed)
    install(site, "one", {"one/_C.so": library("sm_120")}, requires=(needs,))
    install(site, "python-only", {"p.py": ""}, requires=("torch==1.0",))
    install(site, "sources", {"s/k.cu": ""}, requires=(needs,))
    found = document(capsysbinary, tmp_path, "--target", "sm120")
    assert row(found, "python-only")["conflicts"] == []
    version = needs.partition("==")[2].strip(")")
    said = [f"needs torch=={version}, and {installed} is installed"] if conflict else []
    assert row(found, "one")["conflicts"] == row(found, "sources")["conflicts"] == said


@pytest.mark.parametrize(
    ("spec", "version", "allowed"),
    [
        ("==2.5.1", "2.5.1+cu124", True),
        ("==2.5.1", "2.14.1", False),
        ("==2.14.*", "2.14.1", True),
        ("==2.5.*", "2.14.1", False),
        ("<2.14.1", "2.14.1", False),
        ("<=2.14.1,>=2", "2.14.1", True),
        ("<3,>=2.15", "2.14.1", False),
        ("~=2.5", "2.14.1", True),
        ("~=2.5.0", "2.14.1", False),
        ("!=2.14.1", "2.14.1", False),
        ("@ https://example.org/torch.whl", "2.14.1", True),  # it cannot be told
    ],
)
def test_what_a_requirement_allows(spec: str, version: str, allowed: bool) -> None:
    assert allows(spec, version) is allowed


def test_an_upgrade_that_another_distribution_shuts_out(capsysbinary: Out, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    install(site, "torch", {"torch/a.so": library("sm_80", "sm_90")}, "2.5.1")
    install(site, "one", {"one/p.py": ""}, requires=("torch[opt]<2.6,>=2.4",))
    install(site, "two", {"two/p.py": ""}, requires=("torch>=2.4",))
    found = row(document(capsysbinary, tmp_path, "--target", "sm120"), "torch")
    assert found["do"].startswith("install torch 2.14.1")
    said = "has nothing for sm_120, 2.14.1 has, and one 1.0 needs torch<2.6,>=2.4: they do not go together on this GPU"
    assert found["conflicts"] == [said]
    assert row(document(capsysbinary, tmp_path, "--target", "sm90"), "torch")["conflicts"] == []  # it runs as it is


# --- variables


@pytest.mark.parametrize(
    ("name", "value", "target", "gets"),
    [
        ("TORCH_CUDA_ARCH_LIST", "8.0;12.0", "sm120", "native"),
        ("TORCH_CUDA_ARCH_LIST", "8.0 9.0+PTX", "sm120", "jit"),
        ("TORCH_CUDA_ARCH_LIST", "8.0;9.0", "sm120", "none"),
        ("TORCH_CUDA_ARCH_LIST", "12.0", "sm121", "compatible"),
        ("TORCH_CUDA_ARCH_LIST", "12.0a", "sm121", "none"),
        ("TORCH_CUDA_ARCH_LIST", "nonsense", "sm120", "unknown"),
        ("CUDAARCHS", "80-real;90-virtual", "sm120", "jit"),
        ("CUDAARCHS", "80-real", "sm120", "none"),
        ("FLASHINFER_CUDA_ARCH_LIST", "9.0a 12.0f", "sm120", "native"),
        ("FLASHINFER_CUDA_ARCH_LIST", "10.0a", "sm120", "none"),
        ("FLASHINFER_CUDA_ARCH_LIST", "12.0", "sm121", "unknown"),  # it depends on the suffix that is added
        ("CUDA_VISIBLE_DEVICES", "1", "sm120", None),
    ],
)
def test_lists_of_architectures_for_one_gpu(
    capsysbinary: Out, tmp_path: Path, monkeypatch, name: str, value: str, target: str, gets: str | None
) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library("sm_120")})
    monkeypatch.setenv(name, value)
    (found,) = document(capsysbinary, tmp_path, "--target", target)["variables"]
    assert (found["name"], found["value"], found["gets"]) == (name, value, gets)


def test_where_a_variable_is_read(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    code = "import os\n# os.environ['CUDAARCHS']\nprint('CUDAARCHS')\nx = os.getenv('CUDAARCHS')\n"
    site = site_of(tmp_path)
    install(site, "one", {"one/_C.so": library("sm_120"), "one/b.py": code, "one/a.py": "CUDAARCHSX = env\n"})
    install(site, "python-only", {"other/b.py": code})
    monkeypatch.setenv("CUDAARCHS", "80")
    (found,) = document(capsysbinary, tmp_path, "--target", "sm120")["variables"]
    assert found["changes"] == [{"path": "one/b.py", "line": 4}]


@pytest.mark.parametrize(
    ("images", "variable", "value", "state"),
    [
        ("sm_120", "CUDA_FORCE_PTX_JIT", "1", "fails"),
        ("sm_120", "CUDA_FORCE_PTX_JIT", "0", "works"),
        ("sm_120 compute_120", "CUDA_FORCE_PTX_JIT", "1", "slow"),
        ("sm_80 compute_80", "CUDA_DISABLE_PTX_JIT", "1", "fails"),
        ("sm_120 compute_80", "CUDA_DISABLE_PTX_JIT", "1", "works"),
    ],
)
def test_variables_that_leave_images_out(
    capsysbinary: Out, tmp_path: Path, monkeypatch, images: str, variable: str, value: str, state: str
) -> None:
    install(site_of(tmp_path), "one", {"one/_C.so": library(images)})
    monkeypatch.setenv(variable, value)
    found = document(capsysbinary, tmp_path, "--target", "sm120")
    assert row(found, "one")["state"] == state
    assert (row(found, "one")["do"] == f"unset {variable}") is (state == "fails")
    assert [one["name"] for one in found["variables"]] == ([variable] if value == "1" else [])


# --- compilers of the machine


@pytest.mark.parametrize(
    ("value", "state", "do"),
    [
        ("10.0a", "fails", "unset FLASHINFER_CUDA_ARCH_LIST, or add 12.0 to it"),
        ("10.0a 12.0f", "unknown", None),
    ],
)
def test_a_variable_that_leaves_the_gpu_out_is_what_to_change(
    capsysbinary: Out, tmp_path: Path, monkeypatch, value: str, state: str, do: str | None
) -> None:
    install(site_of(tmp_path), "flashinfer-python", {"flashinfer/__init__.py": ""})
    monkeypatch.setenv("FLASHINFER_CUDA_ARCH_LIST", value)
    found = row(document(capsysbinary, tmp_path, "--target", "sm120"), "flashinfer-python")
    assert found["state"] == state and (do is None or found["do"] == do)
    assert ("leaves sm_120 out" in found["says"]) == (state == "fails")


def test_nvcc_of_the_machine(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    install(site_of(tmp_path), "flashinfer-python", {"flashinfer/__init__.py": ""})
    monkeypatch.setattr("archscan.environment.machine.USUAL", str(tmp_path / "nowhere"))

    def says(state: str) -> str:
        found = row(document(capsysbinary, tmp_path, "--target", "sm120"), "flashinfer-python")
        assert found["state"] == state
        return str(found["says"])

    assert "none was found" in says("unknown")
    program(tmp_path / "bin", "nvcc", "#!/bin/sh\necho of some release\n")
    assert "cannot be told" in says("unknown")
    program(tmp_path / "bin", "nvcc", "\0Cuda compilation tools, release 12.6, V12.6.85\0")
    program(tmp_path / "cuda/bin", "nvcc", "\0Cuda compilation tools, release 13.0, V13.0.88\0")
    assert "nvcc of CUDA 12.6" in says("fails")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    assert "nvcc of CUDA 13.0" in says("unknown")  # its gates were not looked at
    monkeypatch.delenv("CUDA_HOME")
    started = f'#!/bin/sh\nexec {tmp_path / "cuda/bin/nvcc"} "$@"\n'
    program(tmp_path / "bin", "nvcc", started)
    assert "nvcc of CUDA 13.0" in says("unknown")  # the script was read, not run
    program(tmp_path / "bin", "nvcc", started + f"exec {tmp_path / 'other/bin/nvcc'}\n")
    assert "cannot be told" in says("unknown")


CU12 = "nvidia-cuda-nvrtc-cu12"


@pytest.mark.parametrize(
    ("package", "nvrtc", "target", "state", "said"),
    [
        ("cupy-cuda12x", {CU12: "12.8.93"}, "sm120", "works", "compiles for sm_120"),
        ("cupy-cuda12x", {CU12: "12.6.85"}, "sm120", "fails", "makes code for sm_90, which sm_120 does"),
        ("cupy-cuda12x", {CU12: "12.6.85"}, "sm90", "works", "compiles for sm_90"),
        ("cupy-cuda12x", {CU12: "12.8.93"}, "sm121", "works", "compiles for sm_120, which sm_121 loads"),
        ("cupy-cuda12x", {CU12: "12.8.93"}, "sm103", "fails", "does not know sm_103, and refuses it"),
        ("cupy-cuda12x", {"nvidia-cuda-nvrtc": "13.0.88"}, "sm120", "works", "NVRTC of CUDA 12, and none was found"),
        (
            "cupy-cuda12x",
            {"nvidia-cuda-nvrtc": "13.0.88", CU12: "12.6.85"},
            "sm120",
            "fails",
            "nvidia-cuda-nvrtc-cu12 12.6.85",
        ),
        ("cupy-cuda13x", {"nvidia-cuda-nvrtc": "13.0.88"}, "sm120", "works", "compiles for sm_120"),
        ("numba-cuda", {CU12: "12.6.85"}, "sm120", "slow", "PTX for sm_90, which the driver compiles"),
        ("numba-cuda", {CU12: "12.8.93"}, "sm120", "works", "compiles for sm_120"),
    ],
)  # fmt: skip
def test_nvrtc_of_the_environment(
    capsysbinary: Out,
    tmp_path: Path,
    monkeypatch,
    package: str,
    nvrtc: dict[str, str],
    target: str,
    state: str,
    said: str,
) -> None:
    monkeypatch.setattr("archscan.environment.machine.USUAL", str(tmp_path / "nowhere"))
    machine = "aarch64" if target == "sm121" else "x86_64"
    code = library("sm_75", "sm_90", "sm_100f", "sm_120", machine=machine)
    install(site_of(tmp_path), package, {f"{package.partition('-')[0]}/_core.so": code})
    for name, version in nvrtc.items():
        install(site_of(tmp_path), name, {}, version)
    found = row(document(capsysbinary, tmp_path, "--target", target), package)
    assert (found["state"], said in found["says"]) == (state, True), found["says"]
    if state in ("fails", "slow"):
        newest = {"sm120": "12.8", "sm103": "12.9"}[target]
        assert found["do"].startswith(f"install NVRTC {newest} or newer")


def test_a_ptxas_that_a_variable_names(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    said = "\0Cuda compilation tools, release {}, V{}.1\0"
    own = {f"triton/backends/nvidia/bin/{name}": said.format("12.6", "12.6") for name in ("ptxas", "ptxas-blackwell")}
    install(site_of(tmp_path), "triton", own)
    assert row(document(capsysbinary, tmp_path, "--target", "sm120"), "triton")["state"] == "fails"
    monkeypatch.setenv("TRITON_PTXAS_BLACKWELL_PATH", str(tmp_path / "gone"))  # its own is taken then
    assert row(document(capsysbinary, tmp_path, "--target", "sm120"), "triton")["state"] == "fails"
    other = program(tmp_path / "other", "ptxas", said.format("13.0", "13.0"))
    monkeypatch.setenv("TRITON_PTXAS_BLACKWELL_PATH", str(other))
    assert row(document(capsysbinary, tmp_path, "--target", "sm120"), "triton")["state"] == "works"


# --- caches


def test_caches_on_disk(capsysbinary: Out, tmp_path: Path, monkeypatch) -> None:
    install(site_of(tmp_path), "flashinfer-python", {"flashinfer/__init__.py": ""}, "0.7.4")
    flashinfer = tmp_path / "home/.cache/flashinfer"
    for version in ("0.6.2", "0.7.4"):
        (flashinfer / version / "120f/cached_ops/x").mkdir(parents=True)
        (flashinfer / version / "120f/cached_ops/x/x.so").write_bytes(library("sm_120f"))
    triton = tmp_path / "kept by triton"
    (triton / "key").mkdir(parents=True)
    shutil.copy(SAMPLES / "abi8_sm_90a.cubin", triton / "key/k.cubin")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton))
    (tmp_path / "home/.nv/ComputeCache").mkdir(parents=True)  # empty: nothing to say
    found = document(capsysbinary, tmp_path, "--target", "sm120")["caches"]
    assert [(one["path"], one["holds"], one["stale"]) for one in found] == [
        (str(flashinfer / "0.6.2"), ["sm_120f"], True),
        (str(flashinfer / "0.7.4"), ["sm_120f"], False),
        (str(triton), ["sm_90a"], True),
    ]
    assert found[2]["clear"] == f"rm -r '{triton}'"
    said = text(capsysbinary, tmp_path, "--target", "sm120")
    assert "made by flashinfer-python 0.6.2, and 0.7.4 is installed" in said
    assert "holds nothing for sm_120" in said
    assert document(capsysbinary, tmp_path, "--target", "sm90")["caches"][2]["stale"] is False
