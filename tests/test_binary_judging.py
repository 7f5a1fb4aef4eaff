"""Compiled libraries judged for a target: what is said, how bad it is, what is counted and stays silent."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from binary_samples import SAMPLES
from jsonschema import Draft202012Validator
from made_environments import container, library

from archscan import cli
from archscan.binary import elf
from archscan.builds.model import gets as built
from archscan.catalog import load
from archscan.catalog.ptx_versions import compile_ptx_versions
from archscan.errors import UserError
from archscan.frontends.build.images import list_images
from archscan.judge.binaries.hollow import Idle
from archscan.judge.binaries.named import is_named_for_others
from archscan.model.library import CUBIN, Image, Span
from archscan.model.target import Target
from archscan.tracing.binaries import module_name

FIXTURES = Path(__file__).parent / "fixtures"
SCHEMA = json.loads((Path(__file__).parents[1] / "archscan/schema/archscan-1.1.schema.json").read_text())
Out = pytest.CaptureFixture[bytes]


def run(capsysbinary: Out, *arguments: object, code: int = 0) -> str:
    assert cli.run([str(a) for a in (*arguments, "--no-cache")]) == code
    return capsysbinary.readouterr().out.decode()


def findings(capsysbinary: Out, target: str, *paths: object, code: int = 1) -> list[dict[str, Any]]:
    text = run(capsysbinary, "--target", target, "--format", "json", "--isolated", *paths, code=code)
    document = json.loads(text)
    Draft202012Validator(SCHEMA).validate(document)
    found: list[dict[str, Any]] = document["findings"]
    return found


def test_nothing_loads(capsysbinary: Out) -> None:
    (found,) = findings(capsysbinary, "sm_120", FIXTURES / "missing-image" / "bad_older.fatbin")
    assert (found["rule"], found["problem"], found["layer"], found["form"]) == (
        "missing-image",
        "excluded",
        "binary",
        "image",
    )
    assert (found["line"], found["column"], found["fix"]) == (1, 1, None)
    assert (found["consequence"], found["advice"], found["severity"]) == ("load_error", "widen-safe", "high")
    assert found["verdict"] == {"sm_120": "no", "sm_120a": "no", "sm_120f": "no"}
    assert {name for name in found["admits"] if name[3:].isdigit()} == {"sm_75", "sm_86", "sm_88", "sm_89"}
    assert found["binary"] == {
        "modules": 2,
        "native": 0,
        "compatible": 0,
        "jit": 0,
        "jit_link": 0,
        "none": 2,
        "other_chips": 0,
        "lto": 0,
        "images": {"sm_75": 2, "sm_86": 1},
        "kernels": {"code": 0, "hollow": 0, "trap": 0, "absent": 0},
        "error": 209,
    }


def test_images_of_single_chips_are_left_and_older_gpus_investigated(capsysbinary: Out) -> None:
    path = FIXTURES / "missing-image" / "bad_other_chips.fatbin"  # sm_103a, sm_110f
    for target in ("sm_120", "sm_90"):
        (found,) = findings(capsysbinary, target, path, code=0)
        assert (found["advice"], found["severity"]) == ("leave", "info")
    path = FIXTURES / "missing-image" / "bad_older.fatbin"  # sm_75, sm_86
    (found,) = findings(capsysbinary, "sm_70", path, code=0)
    assert found["advice"] == "investigate"  # which never counts for the exit code


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("sm_80", None),
        ("sm_86", None),
        ("sm_90", ("widen-safe", "medium", 209)),  # b.cu was built for sm_80 alone
        ("sm_120", ("widen-safe", "medium", 209)),
    ],
)
def test_a_kernel_of_the_sources_that_is_there_for_other_chips(
    capsysbinary: Out, tmp_path: Path, target: str, expected: tuple[str, str, int] | None
) -> None:
    for name in ("b.cu", "two_modules.so"):
        shutil.copy(SAMPLES / name, tmp_path)
    found = [f for f in findings(capsysbinary, target, tmp_path, code=bool(expected)) if f["rule"] == "missing-image"]
    assert [(f["advice"], f["severity"], f["binary"]["error"]) for f in found] == ([expected] if expected else [])
    for one in found:
        assert [(r["path"], r["line"]) for r in one["related"]] == [("b.cu", 1)]
        assert "only_in_b: in the library for sm_80 (209)" in json.dumps(one["related"])


def test_a_kernel_that_another_library_holds_is_not_missing(capsysbinary: Out, tmp_path: Path) -> None:
    """A library for each generation: programs load one of them."""
    for name in ("b.cu", "two_modules.so"):
        shutil.copy(SAMPLES / name, tmp_path)
    rules = [f["rule"] for f in findings(capsysbinary, "sm_120", tmp_path)]
    assert "missing-image" in rules
    data = (
        (SAMPLES / "abi8_cuda129_sm_120a.cubin")
        .read_bytes()
        .replace(b"_Z15traps_below_900Pf", b"_Z9only_in_bPi" + bytes(7))
    )
    (tmp_path / "for_120.so").write_bytes(library() + container(("sm_120a", data)))
    rules = [f["rule"] for f in findings(capsysbinary, "sm_120", tmp_path, code=0)]
    assert "missing-image" not in rules


@pytest.mark.parametrize(
    ("other", "expected"),
    [("sm_100", ("investigate", 500)), ("sm_100f", ("leave", 500))],  # plain; for a family alone
)
def test_a_kernel_that_is_compiled_out_for_the_target(
    capsysbinary: Out, tmp_path: Path, other: str, expected: tuple[str, int]
) -> None:
    """The module has code for the target, in which the kernel is not: error 500, as measured on a 9.0."""
    cubin = (SAMPLES / "abi8_cuda129_sm_120a.cubin").read_bytes()
    made = container((other, cubin), ("sm_120a", cubin.replace(b"_Z15traps_below_900Pf", b"_Z15other_below_900Pf")))
    (tmp_path / "made.so").write_bytes(library() + made)
    (tmp_path / "a.cu").write_text("__global__ void traps_below_900(float *p) { *p = 1; }\n")
    (found,) = findings(capsysbinary, "sm_120", tmp_path, code=0)
    assert (found["rule"], found["advice"], found["binary"]["error"]) == ("missing-image", *expected)


@pytest.mark.parametrize(
    ("target", "gate", "body", "advice"),
    [
        ("sm_120", "__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200", "p[0] = 3.f;", "pair"),
        (
            "sm_80",
            "__CUDA_ARCH__ >= 900",
            "not_known(p);",
            "leave",
        ),  # made for newer chips, as the gate's own advice is
        ("sm_120", "1", "p[0] = 3.f;", "investigate"),  # no gate in the source
    ],
)
def test_a_hollow_kernel_and_the_gate_in_its_source(
    capsysbinary: Out, tmp_path: Path, target: str, gate: str, body: str, advice: str
) -> None:
    shutil.copy(SAMPLES / "two_modules.so", tmp_path)
    kernel = f"__global__ void hollow_from_1200(float *p) {{\n#if {gate}\n  {body}\n#endif\n}}\n"
    (tmp_path / "a.cu").write_text(kernel)
    found = findings(capsysbinary, target, tmp_path, code=advice == "pair")
    (hollow,) = (f for f in found if f["rule"] == "hollow-kernel")
    assert hollow["advice"] == advice
    paired = [(r["path"], r["line"]) for r in hollow["related"] if r["role"] == "pair"]
    assert paired == ([] if advice == "investigate" else [("a.cu", 2)])


@pytest.mark.parametrize(
    ("renamed", "severity", "said"),
    [
        (
            b"_Z15traps_below_900Pi",
            "low",
            "traps_below_900: empty on sm_120, code on sm_90a (1 of 2 instantiations; the",
        ),
        (b"_Z15other_below_900Pi", "medium", "other_below_900: empty on sm_120, code on sm_90a"),
    ],
)
def test_a_kernel_of_which_other_instantiations_work(
    capsysbinary: Out, tmp_path: Path, renamed: bytes, severity: str, said: str
) -> None:
    """The sample's empty kernel, called as if it were an overload of one that works."""
    name = b"_Z16hollow_from_1200Pf"
    images = [
        (arch, (SAMPLES / file).read_bytes().replace(name + b"\0", renamed + b"\0\0"))
        for arch, file in (("sm_120a", "abi8_cuda129_sm_120a.cubin"), ("sm_90a", "abi7_sm_90a.cubin"))
    ]
    path = tmp_path / "made.so"
    path.write_bytes(library() + container(*images))
    (found,) = findings(capsysbinary, "sm_120", path, code=0)
    assert (found["rule"], found["severity"]) == ("hollow-kernel", severity)
    assert found["related"][0]["message"].startswith(said)


def test_code_of_desktop_parts_on_a_tegra_chip_is_contested(capsysbinary: Out, tmp_path: Path) -> None:
    """Library and build agree: sources disagree whether 8.6 code loads on 8.7; PTX and the chip's own code do."""
    path = FIXTURES / "missing-image" / "bad_older.fatbin"  # sm_75 + sm_86, sm_75
    (found,) = findings(capsysbinary, "sm_87", path)
    assert (found["rule"], found["advice"], found["severity"]) == ("missing-image", "contested", "medium")
    assert found["verdict"] == {"sm_87": "unknown"}
    assert (found["binary"]["unknown"], found["binary"]["compatible"]) == (1, 0)
    evidence = json.dumps(found["risk"])
    assert "not supported for Tegra" in evidence and "bitsandbytes#1939" in evidence
    (other,) = findings(capsysbinary, "sm_89", path, code=0) or [None]
    assert other is None  # a desktop part of a later minor
    made = tmp_path / "made.fatbin"
    for images, gets in (
        ("sm_80", "unknown"),
        ("sm_80 compute_80", "jit"),
        ("sm_80 sm_87", "native"),
        ("sm_75", "none"),
    ):
        made.write_bytes(library(images))
        assert cli.run(["images", "--target", "sm_87", "--format", "json", str(made)]) == 0
        document = json.loads(capsysbinary.readouterr().out)
        assert document["files"][0]["modules"][0]["gets"] == gets
        numbers = [entry[3:] if entry[0] == "s" else f"{entry[8:]}-virtual" for entry in images.split()]
        listed = tuple(i for n in numbers for i in list_images(n if "-" in n else f"{n}-real", load()) or ())
        assert built(listed, 87, load()) == gets


@pytest.mark.parametrize(
    ("name", "sm", "works", "others"),
    [
        ("gemm_Sm100_tma", 90, (100, 120), True),  # built for what came after as well
        ("gemm_Sm100_tma", 90, (80, 100), False),  # the name does not say where it works
        ("gemm_Sm80_mma", 120, (80, 90), False),  # what is named for older chips is to run on newer ones
        ("gemm_Sm80_mma", 120, (80,), True),
        ("gemm_Sm100_tma", 100, (120,), False),  # its own
        ("gemm_tma", 90, (100,), False),  # no name
    ],
)
def test_kernels_that_are_named_for_other_chips(name: str, sm: int, works: tuple[int, ...], others: bool) -> None:
    images = [Image(CUBIN, Target(one), "", Span(0, 0)) for one in (sm, *works)]
    assert is_named_for_others(Idle(name, "empty", images[0], tuple(images[1:])), sm) is others


def test_a_module_for_other_chips_beside_fitting_ones_is_counted(capsysbinary: Out) -> None:
    (found,) = findings(capsysbinary, "sm_120", SAMPLES / "two_modules.so", code=0)
    assert (found["rule"], found["advice"]) == ("hollow-kernel", "investigate")
    assert (found["binary"]["native"], found["binary"]["none"], found["binary"]["other_chips"]) == (1, 0, 1)
    assert found["binary"]["kernels"] == {"code": 2, "hollow": 1, "trap": 0, "absent": 0}
    assert [r["message"] for r in found["related"]] == ["hollow_from_1200: empty on sm_120, code on sm_90a, sm_100f"]


@pytest.mark.parametrize(("target", "level"), [("sm_75", "high"), ("sm_80", None), ("sm_90", None), ("sm_89", None)])
def test_the_last_gpu_without_and_the_first_with(capsysbinary: Out, target: str, level: str | None) -> None:
    path = FIXTURES / "jit-only-image" / "bad.fatbin"  # sm_75 and PTX for it
    if target == "sm_75":
        assert findings(capsysbinary, target, path, code=0) == []
        return
    found = findings(capsysbinary, target, path)
    assert [(f["rule"], f["severity"], f["consequence"]) for f in found] == [("jit-only-image", "low", "slow_fallback")]
    assert "driver 580" in json.dumps(found[0]["risk"])


def test_ptx_that_is_empty_is_silent(capsysbinary: Out) -> None:
    found = findings(capsysbinary, "sm_120", FIXTURES / "jit-only-image" / "bad_empty.fatbin")
    assert [(f["rule"], f["consequence"], f["severity"]) for f in found] == [
        ("jit-only-image", "silent_noop", "high"),
        ("trap-kernel", "trap", "medium"),
    ]


def test_a_library_without_kernels_is_silent(capsysbinary: Out, tmp_path: Path) -> None:
    """libcufftw.so holds one image for sm_52 that nvcc linked from nothing."""
    data = bytearray((SAMPLES / "abi7_sm_90.cubin").read_bytes())
    path = tmp_path / "stub.cubin"
    path.write_bytes(data)
    assert [f["rule"] for f in findings(capsysbinary, "sm_120", path)] == ["missing-image"]
    head = elf.header(bytes(data))
    (section,) = (s for s in elf.sections(bytes(data), head) if s.name == ".symtab")
    for at in range(section.start, section.start + section.size, 24):
        data[at + 5] &= ~0x10  # no symbol is a kernel any more
    path.write_bytes(data)
    assert findings(capsysbinary, "sm_120", path, code=0) == []


def test_a_suffix_of_the_sibling(capsysbinary: Out) -> None:
    (found,) = findings(capsysbinary, "sm_120", FIXTURES / "suffix-only-image" / "bad.fatbin")  # sm_121a
    assert (found["rule"], found["severity"], found["binary"]["none"]) == ("suffix-only-image", "high", 1)
    assert "sm_120f" in found["risk"]["reasons"][1]["text"]
    assert "sm_121" in found["admits"] and "sm_120" not in found["admits"]


@pytest.mark.parametrize(
    ("modules", "rules"),
    [
        (("sm_120", "sm_121a"), []),  # code of the target itself: the library chooses between the chips
        (("sm_120a", "sm_121a"), []),
        (("sm_121a",), ["suffix-only-image"]),
        (("compute_120", "sm_121a"), ["suffix-only-image", "jit-only-image"]),
    ],
)
def test_a_sibling_beside_code_of_the_target(
    capsysbinary: Out, tmp_path: Path, modules: tuple[str, ...], rules: list[str]
) -> None:
    made = tmp_path / "made.so"
    made.write_bytes(library(*modules))
    found = findings(capsysbinary, "sm_120", made, code=1 if rules else 0)
    assert sorted(one["rule"] for one in found) == sorted(rules)


def test_relocatable_objects_are_linked_by_the_driver(capsysbinary: Out, tmp_path: Path) -> None:
    """An object of -rdc alone is judged by itself; beside linked code that does not fit it is what is linked anew."""
    (found,) = findings(capsysbinary, "sm_90", SAMPLES / "relocatable.o")
    assert (found["rule"], found["binary"]["jit"]) == ("jit-only-image", 1)
    data = bytearray((SAMPLES / "relocatable.o").read_bytes())
    other = (FIXTURES / "missing-image" / "bad_older.fatbin").read_bytes()
    path = tmp_path / "linked.so"
    path.write_bytes(bytes(data) + bytes(-len(data) % 8) + other[: other.find(b"\x50\xed\x55\xba", 8)])
    (found,) = findings(capsysbinary, "sm_90", path)
    assert (found["binary"]["modules"], found["binary"]["jit_link"], found["binary"]["none"]) == (1, 1, 0)
    assert "linking its objects anew" in found["message"]
    (found,) = findings(capsysbinary, "sm_70", path, code=0)  # the objects do not fit either
    assert (found["rule"], found["binary"]["error"]) == ("missing-image", 500)


@pytest.mark.parametrize("target", ["sm_121", "sm_110", "sm_87"])
def test_a_library_for_x86_says_nothing_about_arm_machines(capsysbinary: Out, target: str) -> None:
    assert findings(capsysbinary, target, SAMPLES / "two_modules.so", code=0) == []
    text = run(capsysbinary, "--target", target, "--isolated", SAMPLES / "two_modules.so")
    assert f"{target} comes with aarch64 processors" in text
    # a file that is for no processor is judged
    assert findings(capsysbinary, target, FIXTURES / "missing-image" / "bad_other_chips.fatbin", code=0) != [] or (
        target == "sm_110"
    )


def test_the_footer_counts_libraries(capsysbinary: Out, tmp_path: Path) -> None:
    for name, source in (
        ("a.so", SAMPLES / "two_modules.so"),
        ("b.fatbin", FIXTURES / "jit-only-image" / "bad.fatbin"),
        ("c.fatbin", FIXTURES / "missing-image" / "bad_older.fatbin"),
        ("d.fatbin", FIXTURES / "missing-image" / "bad_other_chips.fatbin"),
    ):
        shutil.copy(source, tmp_path / name)
    text = run(capsysbinary, "--target", "sm_120", "--isolated", tmp_path, code=1)
    assert "binaries   4 libraries, 14 images: 1 run, 1 by JIT (1 module), 2 not at all" in " ".join(
        text.replace("\n           ", " ").split("\n")
    )


def test_the_same_in_several_libraries_is_told_once(capsysbinary: Out, tmp_path: Path) -> None:
    for name in ("cuda12.fatbin", "cuda13.fatbin"):
        shutil.copy(FIXTURES / "missing-image" / "bad_older.fatbin", tmp_path / name)
    text = run(capsysbinary, "--target", "sm_120", "--isolated", tmp_path, code=1)
    assert text.count("[missing-image]") == 1 and "and 1 more like it" in text
    assert len(findings(capsysbinary, "sm_120", tmp_path)) == 2


def test_loose_images_of_a_project_count_as_one(capsysbinary: Out, tmp_path: Path) -> None:
    """A program picks among them by name: that one fits is enough."""
    folder = tmp_path / "cubins"
    folder.mkdir()
    for name in ("abi7_sm_90a.cubin", "abi8_cuda129_sm_100a.cubin"):
        shutil.copy(SAMPLES / name, folder)
    (found,) = findings(capsysbinary, "sm_120", tmp_path, code=0)
    assert (found["rule"], found["advice"], found["binary"]["modules"]) == ("missing-image", "leave", 2)
    shutil.copy(SAMPLES / "abi8_cuda129_sm_120a.cubin", folder)
    assert findings(capsysbinary, "sm_120", tmp_path, code=0) == []


def test_libraries_in_wheels(capsysbinary: Out, tmp_path: Path) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(FIXTURES / "missing-image" / "bad_older.fatbin", "x/libx.so.1")
        archive.writestr("x/__init__.py", "")
    (found,) = findings(capsysbinary, "sm_120", wheel)
    assert (found["path"], found["rule"]) == ("x/libx.so.1", "missing-image")
    for form in ("sarif", "html", "github", "markdown", "gitlab", "junit"):
        text = run(capsysbinary, "--target", "sm_120", "--isolated", "--format", form, wheel, code=1)
        assert "missing-image" in text and "nothing in this library runs on" in text


def test_layers_choose(capsysbinary: Out, tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "missing-image" / "bad_older.fatbin", tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    assert findings(capsysbinary, "sm_120", "--layer", "python", tmp_path, code=0) == []
    assert len(findings(capsysbinary, "sm_120", "--layer", "binary", tmp_path)) == 1


def test_what_is_remembered_is_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Out
) -> None:
    """A second run from the cache says the same, and a changed library is read anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("archscan.libraries._WORTH_KEEPING", 0)
    library = tmp_path / "tree" / "x.so"
    library.parent.mkdir()
    shutil.copy(SAMPLES / "two_modules.so", library)
    import os

    os.utime(library, (1_700_000_000, 1_700_000_000))
    monkeypatch.setattr("archscan.libraries.RACY_NS", -(10**12))
    said = []
    for _ in range(2):
        assert cli.run(["--target", "sm_120", "--isolated", "-f", "json", str(library.parent)]) == 0
        said.append(capsysbinary.readouterr().out)
    assert said[0] == said[1] and b"hollow-kernel" in said[0]
    assert list((tmp_path / "cache" / "archscan").glob("*.kernels"))
    shutil.copy(FIXTURES / "missing-image" / "bad_older.fatbin", library)
    assert cli.run(["--target", "sm_120", "--isolated", "-f", "json", str(library.parent)]) == 1
    assert b"missing-image" in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("kernel", "target", "said"),
    [
        ("hollow_from_1200", "sm_120", "the library holds it for sm_120, hollow: hollow_from_1200"),
        ("only_in_b", "sm_120", "does not hold it for sm_120, only for other chips: only_in_b"),
        ("only_in_b", "sm_86", "the library holds it for sm_86, 1 kernel of it found"),
        ("works", "sm_121", "a library for x86_64: sm_121 comes with aarch64"),
    ],
)  # fmt: skip
def test_a_trace_ends_in_the_library(capsysbinary: Out, tmp_path: Path, kernel: str, target: str, said: str) -> None:
    for name in ("a.cu", "b.cu", "two_modules.so"):
        shutil.copy(SAMPLES / name, tmp_path)
    text = run(capsysbinary, "trace", kernel, "--target", target, "--isolated", tmp_path)
    assert said in " ".join(text.split())
    document = json.loads(
        run(capsysbinary, "trace", kernel, "--target", target, "--isolated", "--format", "json", tmp_path)
    )
    step = document["chains"][0]["steps"][-1]
    assert (step["layer"], step["path"], step["line"]) == ("binary", "two_modules.so", None)


def _registering(folder: Path, texts: bytes) -> Path:
    """A library that has these texts among its constants, at the place of the name of a kernel for its host."""
    data = (SAMPLES / "two_modules.so").read_bytes()
    name = b"_ZN8cub_like11EmptyKernelIiEEvv"
    assert len(texts) <= len(name)
    at = data.index(name + b"\0_Z15traps_below_900Pf\0_Z16hollow")  # .rodata, not the names within an image
    path = folder / "library.so"
    path.write_bytes(data[:at] + texts.ljust(len(name), b"\0") + data[at + len(name) :])
    return path


@pytest.mark.parametrize(
    ("texts", "is_registered"),
    [
        (b"\0ns\0rms_norm(Tensor x)", True),
        (b"\0ns\0rms_norm\0", True),
        (b"\0other\0rms_norm(Tensor x)", False),  # another namespace
        (b"\0ns\0fused_rms_norm(Tensor x)", False),
        (b"\0ns\0rms_norm_2(Tensor x)", False),
    ],
)
def test_a_trace_of_an_operator_ends_in_the_library_that_registers_it(
    capsysbinary: Out, tmp_path: Path, texts: bytes, is_registered: bool
) -> None:
    _registering(tmp_path, texts)
    source = "import torch\n\n\ndef norm(x):\n    return torch.ops.ns.rms_norm(x)\n"
    (tmp_path / "ops.py").write_text(source)
    text = run(capsysbinary, "trace", "norm", "--target", "sm_120", "--isolated", tmp_path)
    said = "it registers ns::rms_norm; for sm_120 1 of its 2 modules hold nothing and 1 kernel of it do nothing or trap"
    assert (said in " ".join(text.split())) == is_registered
    if is_registered:
        text = run(capsysbinary, "trace", "norm", "--target", "sm_86", "--isolated", tmp_path)
        assert "it registers ns::rms_norm; for sm_86 2 kernels of it do nothing or trap" in " ".join(text.split())


def test_a_name_that_only_a_library_has_can_be_traced(capsysbinary: Out) -> None:
    library = SAMPLES / "two_modules.so"
    text = run(capsysbinary, "trace", "hollow_from_1200", "--target", "sm_120", "--isolated", library)
    assert "the library holds it for sm_120, hollow: hollow_from_1200" in " ".join(text.split())
    assert run(capsysbinary, "trace", "no_such_kernel", "--target", "sm_120", "--isolated", library, code=2) == ""


@pytest.mark.parametrize(
    ("message", "target", "named"),
    [
        ("209", "sm_120", ["older", "sibling"]),
        ("209", "sm_89", ["sibling"]),
        ("500", "sm_120", []),
        ("222", "sm_120", ["ptx"]),
        ("218", "sm_120", ["ptx"]),
        ("222", "sm_75", []),  # which has machine code
    ],
)
def test_an_error_of_cuda_names_the_libraries_that_lead_to_it(
    capsysbinary: Out, tmp_path: Path, message: str, target: str, named: list[str]
) -> None:
    libraries = {"older": "missing-image/bad_older", "sibling": "suffix-only-image/bad", "ptx": "jit-only-image/bad"}
    for name, fixture in libraries.items():
        shutil.copy(FIXTURES / f"{fixture}.fatbin", tmp_path / f"{name}.fatbin")
    text = run(capsysbinary, "explain", message, "--target", target, "--format", "json", "--isolated", tmp_path)
    found = json.loads(text)["explanation"]["libraries"]
    assert sorted(one["path"] for one in found) == [f"{name}.fatbin" for name in named]
    if message == "222" and found:
        assert "needs driver 580 or newer" in found[0]["why"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pkg/_C.abi3.so", "_C"),
        ("a/x.cpython-310-x86_64-linux-gnu.so", "x"),
        ("lib/libnccl.so.2.29", "nccl"),
        ("ops.pyd", "ops"),
        ("libfoo.a", "foo"),
    ],
)
def test_module_names(path: str, name: str) -> None:
    assert module_name(path) == name


def test_driver_of_each_ptx_version() -> None:
    versions = load().ptx_versions
    assert (versions["8.7"].driver, versions["8.8"].driver, versions["9.0"].driver) == (570, 575, 580)
    assert all(row.source and row.confidence for row in versions.values())
    drivers = [row.driver for row in versions.values()]
    assert drivers == sorted(drivers)
    with pytest.raises(UserError, match="no new version"):
        row = {"version": "x", "cuda": "1", "driver": 1, "source": "s", "confidence": "high"}
        compile_ptx_versions({"sources": {"s": "t"}, "versions": [row]}, "f")
