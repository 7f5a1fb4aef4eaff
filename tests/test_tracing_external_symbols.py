"""Callers of other packages: which names come from there, and a gate that shuts out what the module lets in."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.cli import run
from archscan.model.facts import Origin
from archscan.model.settings import ScanSettings
from archscan.tracing.code import Code
from archscan.tracing.commands import explained
from archscan.tracing.external_symbols import ExternalSymbols

FILES = {
    "made/__init__.py": b"def op(): pass\n",
    "user/__init__.py": b"",
    "user/direct.py": b"from made import op as fast\nimport made.comm\nimport numpy\nslow = numpy.dot\nkept = fast\n",
    "user/passing.py": b"from user.direct import fast, slow\n\ndef get():\n    return fast\n\n# not made here\n",
    "user/starred.py": b"from .direct import *  # of made\n",
    "user/apart.py": b"from user.direct import fast\n",
}


@pytest.fixture
def outside() -> ExternalSymbols:
    code = Code(dict.fromkeys(FILES, Origin.OWN), lambda path: FILES[path], ())
    return ExternalSymbols("made", code)


def test_files_that_name_the_package(outside: ExternalSymbols) -> None:
    assert set(outside.paths) == {"user/direct.py", "user/passing.py", "user/starred.py"}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("user/direct.py", {"fast", "made", "kept"}),
        ("user/passing.py", {"fast", "get"}),
        ("user/starred.py", {"fast", "made", "kept"}),
    ],
)
def test_names(outside: ExternalSymbols, path: str, names: set[str]) -> None:
    assert outside.names(path) == names


def test_whole_words_only() -> None:
    files = {"a.py": b"def run(): pass\nrun_all()\nrun (1)\n", "b.py": b"rerun(1)\n", "c.py": b"x = run(2)\n"}
    code = Code(dict.fromkeys(files, Origin.OWN), lambda path: files[path], ())
    assert code.naming("run") == ["a.py", "c.py"]
    assert code.calling("run") == ["c.py"]
    assert code.defining("run") == ["a.py"]


PRODUCER = """import torch


def gen_jit_spec(name, sources, flags):
    return (name, sources, flags)


def arch_flags(supported_major_versions=None):
    major, minor = torch.cuda.get_device_capability()
    if supported_major_versions and major not in supported_major_versions:
        raise RuntimeError("no usable architecture")
    return [f"sm_{major}{minor}"]


def gen_reduce_module():
    return gen_jit_spec("reduce", ["csrc/reduce.cu"], arch_flags(supported_major_versions=[9, 10, 12]))


def reduce(x):
    return gen_reduce_module().run(x)
"""
CONSUMER = """import torch

from made.jit import reduce


def forward(x):
    if torch.cuda.get_device_capability()[0] in MAJORS:
        return reduce(x)
    return x.sum()
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name, text in (("made/jit.py", PRODUCER), ("user/layer.py", CONSUMER)):
        path = tmp_path / name
        path.parent.mkdir()
        (path.parent / "__init__.py").touch()
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(("majors", "said"), [("(9, 10)", True), ("(9, 10, 12)", False)])
def test_a_caller_below_the_same_path(
    packages: Path, majors: str, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    layer = packages / "user/layer.py"
    layer.write_text(layer.read_text().replace("MAJORS", majors))
    run(["--no-cache", "--target", "sm120", str(packages)])
    assert ("shuts sm_120 out of reduce, which lets it in" in capsys.readouterr().out) is said


@pytest.mark.parametrize(("target", "state"), [("sm80", "shut"), ("sm120", "open"), (None, "")])
def test_explain_says_what_a_cause_means_for_a_target(packages: Path, target: str | None, state: str) -> None:
    catalog = load()
    selection = select(target, catalog) if target else None
    settings = ScanSettings(use_cache=False, jobs=1)
    found = explained("no usable architecture", catalog, [str(packages)], settings, selection)
    assert [cause.state for cause in found.causes] == [state]
