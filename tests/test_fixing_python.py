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
    assert code == 1 and diff == ""
    assert "held back: 1 finding" in said and "--unsafe" in said


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
        ("cap == (10, 0)", "cap in ((10, 0), (12, 0))", "cap in ((10, 0), (12, 0), (12, 1))"),
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
        f"    if cap == (10, 0):\n        num = '{number}'\n    else:\n        raise RuntimeError('no code')\n"
        "    return ['-gencode', f'arch=compute_{num},code=sm_{num}']\n"
    )
    assert (one_file(project, run, text) != text) is fixed


def test_a_list_gets_no_more_than_the_target(project: Path, run: Run) -> None:
    text = "import os\n\nos.environ.setdefault('TORCH_CUDA_ARCH_LIST', '8.0 9.0')\n"
    assert "'8.0 9.0 12.0'" in one_file(project, run, text)
