"""Fixes of Python gates: lists, comparisons, predicates with flag and import, build flags; proven, written, undone."""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from archscan import cli

FILES = {
    "pkg/__init__.py": "",
    "pkg/utils/__init__.py": "from .common import *\n",
    "pkg/utils/common.py": (
        "from functools import lru_cache, partial\n"
        "import torch\n\n"
        "def _check(majors):\n"
        "    return torch.cuda.get_device_capability()[0] in majors\n\n"
        "is_sm90_supported = lru_cache(maxsize=1)(partial(_check, majors=[9]))\n"
        "is_sm100_supported = lru_cache(maxsize=1)(partial(_check, majors=[10]))\n"
        "is_sm120_supported = lru_cache(maxsize=1)(partial(_check, majors=[12]))\n"
    ),
    "pkg/layer.py": (
        "from pkg.utils import (\n    is_sm90_supported,\n    is_sm100_supported,\n)\n\n"
        "_is_sm90 = is_sm90_supported()\n"
        "_is_sm100_supported = is_sm100_supported()\n\n\n"
        "def use_fused(n):\n"
        "    return (\n        # keep me\n        (_is_sm90 or _is_sm100_supported)\n        and n > 0\n    )\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "tree"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.chdir(root)
    return root


pytestmark = pytest.mark.usefixtures("as_if_measured")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def once(*arguments: str) -> tuple[int, str, str]:
        code = cli.run(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return once


def one_file(project: Path, run: Run, text: str, *options: str) -> str:
    """The text of a single file after its fixes were written."""
    path = project / "one.py"
    path.write_text(text)
    run("fix", "--target", "sm120", "--unsafe", "--write", *options, str(path))
    after = path.read_text()
    ast.parse(after)
    return after


def test_flag_import_and_condition_are_one_edit(project: Path, run: Run) -> None:
    code, diff, said = run("fix", "--target", "sm120", "--unsafe", "--path", "*layer.py", "pkg")
    assert code == 1, said
    added = [line[1:].strip() for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == [
        "is_sm120_supported,",
        "_is_sm120_supported = is_sm120_supported()",
        "(_is_sm90 or _is_sm100_supported or _is_sm120_supported)",
    ]
    assert "sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f" in said
    checked = subprocess.run(["git", "apply", "--check", "-"], input=diff.encode(), cwd=project, check=False)
    assert checked.returncode == 0


def test_write_revert_and_a_second_run(project: Path, run: Run) -> None:
    before = (project / "pkg/layer.py").read_bytes()
    arguments = ("fix", "--target", "sm120", "--unsafe", "--write", "--path", "*layer.py", "pkg")
    assert run(*arguments)[0] == 0
    written = (project / "pkg/layer.py").read_bytes()
    ast.parse(written)
    assert written != before
    run(*arguments)
    assert (project / "pkg/layer.py").read_bytes() == written
    code, out, _ = run("revert")
    assert code == 0 and "as before" in out
    assert (project / "pkg/layer.py").read_bytes() == before


def test_without_unsafe_it_is_held_back_with_the_flag(project: Path, run: Run) -> None:
    code, diff, said = run("fix", "--target", "sm120", "--path", "*layer.py", "pkg")
    assert code == 1 and "held back: 1 finding" in said and "--unsafe" in said
    assert diff.startswith("# unsafe, needs --unsafe: open layer.py:") and "\n# why: " in diff
    assert "\n# +_is_sm120_supported = is_sm120_supported()\n" in diff
    assert all(line.startswith("# ") for line in diff.splitlines())
    checked = subprocess.run(["git", "apply", "--check", "-"], input=diff.encode(), cwd=project, check=False)
    assert checked.returncode != 0  # no patch for a tool


PORTABLE = """__global__ void k(float* p) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  p[0] = 1.f;
#endif
}
"""


LISTED = """import torch

def run(x):
    major = torch.cuda.get_device_capability()[0]
    if major in (9, 10):
        return fast(x)
    raise RuntimeError("a portable element-wise kernel, not built for this one")
"""


TUNED = "constants were chosen for other chips"
UNCHECKED = "its condition was checked by nothing but what proposed it"
UNKNOWN = "not everything behind it is known to run there"


TEXT_ORDER = """def has_tensor_cores(record):
    return record["compute_cap"] >= "7.0"
"""


@pytest.mark.parametrize(
    ("name", "text", "opened"),
    [
        ("k.cu", PORTABLE, "__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ <= 1200"),  # all of it is known and assembles
        ("text.py", TEXT_ORDER, 'record["compute_cap"] == "12.0"'),  # misspelt, and two evaluators agree
    ],
)
def test_what_is_safe_is_written_without_being_asked_for_more(
    project: Path, run: Run, name: str, text: str, opened: str
) -> None:
    (project / name).write_text(text)
    _, out, _ = run("scan", "--target", "sm120", "--fixes", "--format", "json", name)
    assert [f["fix"]["safety"] for f in json.loads(out)["findings"] if f["fix"]] == ["safe"]
    run("fix", "--target", "sm120", "--write", name)
    assert opened in (project / name).read_text()


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("one.py", LISTED, [TUNED, UNKNOWN]),  # what the call does is not known
        ("flag.cu", PORTABLE.replace("__CUDA_ARCH__ >= 900", "FAST && __CUDA_ARCH__ >= 900"), [UNCHECKED]),
    ],
)
def test_nothing_else_is_called_safe_and_every_reason_is_said(
    project: Path, run: Run, name: str, text: str, why: list[str]
) -> None:
    (project / name).write_text(text)
    code, _, said = run("fix", "--target", "sm120", "--write", name)
    assert (project / name).read_text() == text
    assert code == 1 and "release with --unsafe" in said
    _, diff, _ = run("fix", "--target", "sm120", name)
    assert [line[7:] for line in diff.splitlines() if line.startswith("# why: ")] == why
    _, out, _ = run("scan", "--target", "sm120", "--fixes", "--format", "json", name)
    assert [f["fix"]["safety"] for f in json.loads(out)["findings"] if f["fix"]] == ["unsafe"]
    _, out, _ = run("scan", "--target", "sm120", "--fixes", "--format", "sarif", name)
    results = json.loads(out)["runs"][0]["results"]
    described = [fix["description"]["text"] for r in results for fix in r.get("fixes", ())]
    assert described and all(text.startswith("unsafe: ") for text in described)


SILENT = """__device__ unsigned narrowed(float a, float b) {
  unsigned r = 0;
#if __CUDA_ARCH__ >= 1000
  asm volatile("{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, %2, %1; cvt.u32.u8 %0, t; }" : "=r"(r) : "f"(a), "f"(b));
#else
  OTHERWISE
#endif
  return r;
}
"""


@pytest.mark.parametrize(("otherwise", "edits"), [("r = 0;", 0), ('asm volatile("trap;");', 1)])
def test_closing_never_ends_in_silence(project: Path, run: Run, otherwise: str, edits: int) -> None:
    (project / "k.cu").write_text(SILENT.replace("OTHERWISE", otherwise))
    _, diff, said = run("fix", "--target", "sm120", "--unsafe", "k.cu")
    assert diff.count("+#if") == edits
    assert ("end in silence" in said) is (edits == 0)


def test_a_saved_plan_checks_digests(project: Path, run: Run) -> None:
    plan = project / "plan.json"
    run("fix", "--target", "sm120", "--unsafe", "--format", "json", "-o", str(plan), "--path", "*layer.py", "pkg")
    document = json.loads(plan.read_text())
    assert [unit["safety"] for unit in document["plan"]["units"]] == ["unsafe"]
    layer = project / "pkg/layer.py"
    original = layer.read_text()
    layer.write_text(original + "# edited\n")
    code, _, said = run("fix", "--apply", str(plan))
    assert code == 2 and "changed since the plan was made" in said
    layer.write_text(original)
    assert run("fix", "--apply", str(plan))[0] == 0
    assert "_is_sm120_supported" in layer.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("major == 10", "major in (10, 12)"),
        ("major in (9, 10)", "major in (9, 10, 12)"),
        ("major in [9, 10]", "major in [9, 10, 12]"),
    ],
)
def test_majors_say_the_family(project: Path, run: Run, before: str, after: str) -> None:
    text = (
        "import torch\n\n\ndef pick():\n    major, minor = torch.cuda.get_device_capability()\n"
        f"    if {before}:\n        return 'fast'\n    return 'slow'\n"
    )
    assert one_file(project, run, text) == text.replace(before, after)


@pytest.mark.parametrize(
    ("before", "exact", "family"),
    [
        ("cap == (12, 1)", "cap in ((12, 1), (12, 0))", "cap in ((12, 1), (12, 0))"),
        ("cap in ((9, 0), (10, 0))", "cap in ((9, 0), (10, 0), (12, 0))", "cap in ((9, 0), (10, 0), (12, 0), (12, 1))"),
    ],
)
def test_exact_where_the_form_can_say_so(project: Path, run: Run, before: str, exact: str, family: str) -> None:
    text = (
        "import torch\n\n\ndef pick():\n    cap = torch.cuda.get_device_capability()\n"
        f"    if {before}:\n        return 'fast'\n    return 'slow'\n"
    )
    assert one_file(project, run, text) == text.replace(before, exact)
    assert one_file(project, run, text, "--family") == text.replace(before, family)


def test_a_refusal_is_opened(project: Path, run: Run) -> None:
    text = (
        "import torch\n\n\ndef check():\n    major = torch.cuda.get_device_capability()[0]\n"
        "    if major not in (9, 10):\n        raise RuntimeError('no kernel')\n"
    )
    assert "(9, 10, 12)" in one_file(project, run, text)


def test_a_table_gets_no_edit(project: Path, run: Run) -> None:
    text = (
        "import torch\n\nTILES = {(9, 0): 128, (10, 0): 256}\n\n\n"
        "def tile():\n    return TILES[torch.cuda.get_device_capability()]\n"
    )
    assert one_file(project, run, text) == text


@pytest.mark.parametrize(("number", "fixed"), [("100a", False), ("90", False), ("120f", True), ("120", True)])
def test_no_chip_is_let_in_to_code_of_another(project: Path, run: Run, number: str, fixed: bool) -> None:
    text = (
        "import torch\n\n\ndef flags():\n    cap = torch.cuda.get_device_capability()\n"
        f"    if cap in ((9, 0), (10, 0)):\n        num = '{number}'\n    else:\n"
        "        raise RuntimeError('no code')\n"
        "    return ['-gencode', f'arch=compute_{num},code=sm_{num}']\n"
    )
    assert (one_file(project, run, text) != text) is fixed


def test_a_list_gets_no_more_than_the_target(project: Path, run: Run) -> None:
    text = "import os\n\nos.environ.setdefault('TORCH_CUDA_ARCH_LIST', '8.0 9.0')\n"
    assert "'8.0 9.0 12.0'" in one_file(project, run, text)


SPECS = """from .core import gen_jit_spec, current_compilation_context


def gen_listed_module():
    flags = current_compilation_context.get_nvcc_flags_list(supported_major_versions=[9, 10])
    return gen_jit_spec("listed", ["listed.cu"], extra_cuda_cflags=flags)


def gen_plain_module():
    return gen_jit_spec("plain", ["plain.cu"])
"""
AHEAD = """from .specs import gen_listed_module, gen_plain_module


def gen_all(sm_capabilities):
    specs = []
    has_sm100 = sm_capabilities.get("sm100", False)
    has_sm120 = sm_capabilities.get("sm120", False)
    has_sm121 = sm_capabilities.get("sm121", False)
    if has_sm100:
        specs.append(gen_listed_module())
        specs.append(gen_plain_module())
    return specs
"""
KERNEL = "__global__ void k(float* p) {\n  p[0] = 1.f;\n}\n"


@pytest.mark.parametrize("options", [(), ("--chain", "listed")])
def test_a_second_run_opens_nothing_that_the_first_left_shut(project: Path, run: Run, options: tuple[str, ...]) -> None:
    """A gate of two modules was split for the one with a list; the next run opened the rest."""
    (project / "aot").mkdir()
    for name, text in {"specs.py": SPECS, "aot.py": AHEAD, "listed.cu": KERNEL, "plain.cu": KERNEL}.items():
        (project / "aot" / name).write_text(text)
    run("fix", "--target", "sm120", "--unsafe", "--write", *options, "aot")
    written = {path.name: path.read_text() for path in (project / "aot").iterdir()}
    assert "supported_major_versions=[9, 10, 12]" in written["specs.py"]
    assert "if has_sm100 or has_sm120 or has_sm121:" in written["aot.py"]
    assert ("\n    if has_sm100:\n        specs.append(gen_plain_module())" in written["aot.py"]) is bool(options)
    said = run("fix", "--target", "sm120", "--unsafe", "--write", *options, "aot")[2]
    assert {path.name: path.read_text() for path in (project / "aot").iterdir()} == written
    assert "wrote" not in said
