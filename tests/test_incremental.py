"""A scan that keeps what earlier scans of the same place found says the same as one that keeps nothing."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archscan import cache, pipeline
from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.frontends.cuda.front_end import CudaFrontEnd
from archscan.frontends.python import PythonFrontEnd
from archscan.judge.project import _names_among
from archscan.lsp.pages import Answer, Options
from archscan.lsp.project import Project
from archscan.model.facts import Facts
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.reporting import render
from archscan.reporting.options import RenderOptions
from archscan.tracing import paths

CATALOG = load()
FIXTURES = Path(__file__).parent / "fixtures"
CORPORA = os.environ.get("ARCHSCAN_CORPORA")
_KINDS = {".py", ".cu", ".cuh", ".h", ".hpp", ".txt", ".cmake", ".inl"}

MODULES = {
    "pkg/__init__.py": "from .arch import is_new\nfrom . import lists\n",
    "pkg/arch.py": """import torch
from functools import lru_cache
from .bounds import LOWEST

@lru_cache
def major():
    return torch.cuda.get_device_capability()[0]

def is_new():
    return major() >= LOWEST

def checked(majors):
    if major() not in majors:
        raise RuntimeError("not for this GPU")
""",
    "pkg/bounds.py": "from .numbers import TEN\n\nLOWEST = TEN\nSUPPORTED = [9, 10]\n",
    "pkg/numbers.py": "NINE = 9\nTEN = 10\n",
    "pkg/lists.py": """from .arch import checked, major
from .bounds import SUPPORTED

def run(x):
    checked(majors=[8, 9])
    if major() in SUPPORTED:
        return fast(x)
    return slow(x)
""",
    "pkg/kinds.py": """import torch

class Kind:
    @classmethod
    def get_min_capability(cls):
        return 90

    def fits(self):
        return torch.cuda.get_device_capability() == (9, 0)
""",
    "pkg/more.py": """from .kinds import Kind
from pkg.arch import is_new

class Special(Kind):
    @classmethod
    def get_min_capability(cls):
        return 100

def choose(kind: Kind, capability):
    if capability < kind.get_min_capability():
        raise ValueError("too old")
    if is_new():
        return kind.fits()
    return None
""",
    "pkg/flags.py": """import os
from .arch import major

def wanted():
    return os.environ.get("PKG_FAST", "1") == "1" and major() >= 9
""",
    "pkg/first.py": """from .flags import wanted

def run(x):
    if not wanted():
        raise RuntimeError("needs sm_90")
    return x
""",
    "pkg/second.py": """from .flags import wanted

def run(x):
    if not wanted():
        raise RuntimeError("needs sm_90")
    return x + 1
""",
    "pkg/star.py": "from .arch import *\n\ndef go():\n    if is_new():\n        return 1\n    return 2\n",
}
SOURCES = {
    "csrc/config.h": "#pragma once\n#if __CUDA_ARCH__ >= 900\n#define HAS_TMA 1\n#endif\n",
    "csrc/common.cuh": """#pragma once
#include "config.h"
#ifdef HAS_TMA
#define FAST_COPY 1
#endif
__device__ inline void copy(int* x) {
  asm volatile("cp.async.bulk.commit_group;");
}
inline int sm_version() { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); return p.major * 10 + p.minor; }
""",
    "csrc/kernel.cu": """#include "common.cuh"
__global__ void kernel(int* x) {
#if defined(FAST_COPY)
  copy(x);
#else
  __trap();
#endif
}
void launch(int* x) {
  if (sm_version() >= 90 && sm_version() < 120) {
    kernel<<<1, 1>>>(x);
  }
}
""",
    "csrc/other.cu": """#include "common.cuh"
__global__ void other(int* x) {
#if __CUDA_ARCH__ >= 800
  copy(x);
#endif
#ifdef HAS_TMA
  x[0] = 1;
#endif
}
""",
    "csrc/pick.h": '#include "common.cuh"\ninline bool fits_here() { return sm_version() >= 90; }\n',
    "csrc/pick.cu": """#include "pick.h"
void pick(int* x) {
  if (fits_here()) {
    elsewhere(x);
  } else {
    throw std::runtime_error("too old");
  }
}
""",
    "CMakeLists.txt": 'set(ARCHS "80;90a")\ncuda_archs(ARCHS "9.0a" OUT)\n',
}


def project(root: Path) -> Path:
    """Modules and sources that ask each other, and those of some fixtures beside them."""
    for name, text in {**MODULES, **SOURCES}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for folder in sorted(FIXTURES.iterdir())[::9]:
        for file in folder.rglob("*"):
            if file.suffix in _KINDS and not file.name.startswith("expected"):
                at = root / "cases" / folder.name / file.relative_to(folder)
                at.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, at)
    return root


def _commented(file: Path, text: str, _: random.Random) -> str:
    mark = "#" if file.suffix in (".py", ".txt", ".cmake") else "//"
    return f"{mark} a comment\n{text}"


def _without_a_line(_: Path, text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if line != rng.choice(lines)) if lines else text


def _with_a_line_twice(_: Path, text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines)) if lines else 0
    return "".join([*lines[:at], *lines[at : at + 1], *lines[at:]])


def _other_number(_: Path, text: str, rng: random.Random) -> str:
    numbers = list(re.finditer(r"(?<![\w.])(?:8|9|10|12|80|90|100|120|800|900|1000|1200)(?![\w.])", text))
    if not numbers:
        return text
    found = rng.choice(numbers)
    return text[: found.start()] + rng.choice(["8", "9", "10", "90", "100", "900", "1200"]) + text[found.end() :]


def _other_name(_: Path, text: str, rng: random.Random) -> str:
    """A name of the text becomes another of it: definitions go away, imports break or lead elsewhere."""
    names = sorted(set(re.findall(r"[A-Za-z_]\w{3,}", text)))
    if len(names) < 2:
        return text
    old, new = rng.sample(names, 2)
    return re.sub(rf"\b{old}\b", new, text, count=rng.choice([0, 1]))


EDITS: tuple[Callable[[Path, str, random.Random], str], ...] = (
    _commented,
    _without_a_line,
    _with_a_line_twice,
    _other_number,
    _other_number,
    _other_name,
)


def edit(tree: Path, rng: random.Random, originals: dict[Path, bytes]) -> str:
    """Changes, removes, adds or brings back a file; what was done."""
    files = sorted(path for path in tree.rglob("*") if path.suffix in _KINDS)
    linked = [path for path in files if path.parent.name in ("pkg", "csrc")]  # of the made ones, which ask each other
    file = rng.choice(linked if linked and rng.random() < 0.6 else files)
    gone = sorted(path for path in originals if not path.exists())
    what = rng.random()
    if what < 0.08 and len(files) > 4:
        file.unlink()
        return f"removed {file}"
    if what < 0.16 and gone:
        back = rng.choice(gone)
        back.write_bytes(originals[back])
        return f"brought back {back}"
    if what < 0.22:
        copy = file.with_name(f"copy_of_{file.name}")
        shutil.copy(file, copy)
        return f"copied {file}"
    change = rng.choice(EDITS)
    text = file.read_bytes().decode("latin-1")
    file.write_bytes(change(file, text, rng).encode("latin-1"))
    return f"{change.__name__.strip('_')} {file}"


def scanned(tree: Path, use_cache: bool, jobs: int = 1) -> Facts:
    return pipeline.scan([str(tree)], CATALOG, ScanSettings(use_cache=use_cache, jobs=jobs))


def written(facts: Facts) -> str:
    """The whole JSON document, every gate in it."""
    report = pipeline.report(facts, select("sm120", CATALOG), CATALOG, JudgeSettings())
    return render(report, "json", RenderOptions(rules=CATALOG.rules, all_gates=True))


def assert_equal_over_edits(tree: Path, seed: int, edits: int, jobs: int = 1) -> None:
    rng = random.Random(seed)
    originals = {path: path.read_bytes() for path in tree.rglob("*") if path.suffix in _KINDS}
    scanned(tree, True, jobs)
    for number in range(edits):
        done = edit(tree, rng, originals)
        kept, cold = scanned(tree, True, jobs), scanned(tree, False, jobs)
        differing = [one.path for one, other in zip(kept.files, cold.files, strict=False) if one != other]
        assert not differing, f"edit {number} of seed {seed}, {done}"
        assert written(kept) == written(cold), f"edit {number} of seed {seed}, {done}"


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_of_a_small_project(seed: int, tmp_path: Path) -> None:
    assert_equal_over_edits(project(tmp_path), seed, 25)


def test_over_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from archscan import engine

    monkeypatch.setattr(engine, "_ALONE", 0)
    assert_equal_over_edits(project(tmp_path), 7, 6, jobs=2)


class Asked:
    """Which files were evaluated by a front end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, end: type, folder: str) -> None:
        self.paths: list[str] = []
        self.folder = folder
        real = end.gates  # type: ignore[attr-defined]

        def gates(end, index, project, context):  # type: ignore[no-untyped-def]
            self.paths.append(index.path)
            return real(end, index, project, context)

        monkeypatch.setattr(end, "gates", gates)

    def after(self, tree: Path) -> set[str]:
        self.paths.clear()
        scanned(tree, True)
        return {path for path in self.paths if path.startswith(self.folder)}


def test_only_modules_that_read_it_are_evaluated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = project(tmp_path)
    asked = Asked(monkeypatch, PythonFrontEnd, "pkg/")
    assert len(asked.after(tree)) == len(MODULES)
    assert asked.after(tree) == set()
    # a module that nobody imports
    (tree / "pkg/star.py").write_text(MODULES["pkg/star.py"] + "\n# a comment\n")
    assert asked.after(tree) == {"pkg/star.py"}
    # the bound behind a predicate of another module: whoever asks the predicate, and no list of plain numbers
    (tree / "pkg/numbers.py").write_text("NINE = 9\nTEN = 11\n")
    reading = ("numbers", "arch", "more", "lists", "flags", "first", "second")
    assert asked.after(tree) == {f"pkg/{name}.py" for name in reading}


def test_only_sources_that_read_it_are_evaluated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = project(tmp_path)
    asked = Asked(monkeypatch, CudaFrontEnd, "csrc/")
    every = {name for name in SOURCES if name.startswith("csrc/")}
    assert asked.after(tree) == every
    assert asked.after(tree) == set()
    (tree / "csrc/kernel.cu").write_text("// a comment\n" + SOURCES["csrc/kernel.cu"])
    assert asked.after(tree) == {"csrc/kernel.cu"}
    # what the macros of a header are decides the gates of those that test them
    (tree / "csrc/config.h").write_text(SOURCES["csrc/config.h"].replace("900", "1000"))
    assert asked.after(tree) == every - {"csrc/pick.cu", "csrc/pick.h"}
    # what a function does matters to its callers alone, and a helper of the same file to those who ask it
    (tree / "csrc/common.cuh").write_text(SOURCES["csrc/common.cuh"].replace("commit_group", "wait_group 0"))
    assert asked.after(tree) == every - {"csrc/config.h"}


def test_a_function_becomes_a_helper_and_none_again(tmp_path: Path) -> None:
    tree = project(tmp_path)
    asking = SOURCES["csrc/pick.h"]
    silent = asking.replace("sm_version() >= 90", "true")

    def gates(header: str) -> int:
        (tree / "csrc/pick.h").write_text(header)
        return sum(len(one.gates) for one in scanned(tree, True).files if one.path == "csrc/pick.cu")

    assert gates(silent) == 0
    assert gates(asking) == 1
    assert gates(f"// moved\n\n{asking}") == 1
    assert gates(silent) == 0


class Editor:
    """A process that stays and answers for a tree, as the one of an editor does; and processes that begin anew."""

    def __init__(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cache, "_resident", None)
        monkeypatch.setattr(cache, "_unwritten", {})
        cache.stay_resident()
        self._monkeypatch = monkeypatch
        self._tree = tree
        self._project = Project(str(tree))
        self._anew = 0

    def answer(self, saved: bool = True) -> Answer:
        """What it says of every file."""
        return self._project.answer(self._files(), saved, OPTIONS)

    def other_process(self) -> None:
        """Another process scans the tree and writes the same cache."""
        with self._monkeypatch.context() as patch:
            patch.setattr(cache, "_resident", None)
            scanned(self._tree, True)

    def anew(self) -> Answer:
        """What a process says that knows nothing."""
        self._anew += 1
        with self._monkeypatch.context() as patch:
            patch.setattr(cache, "_resident", None)
            patch.setattr(cache, "_unwritten", {})
            patch.setenv("XDG_CACHE_HOME", str(self._tree.parent / f"anew{self._anew}"))
            paths._paths.cache_clear()
            _names_among.cache_clear()
            return Project(str(self._tree)).answer(self._files(), True, OPTIONS)

    def _files(self) -> tuple[str, ...]:
        return tuple(str(path) for path in sorted(self._tree.rglob("*")) if path.is_file())


OPTIONS = Options("sm120", isolated=True)


def assert_equal_in_an_editor(tree: Path, seed: int, edits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    originals = {path: path.read_bytes() for path in tree.rglob("*") if path.suffix in _KINDS}
    editor = Editor(tree, monkeypatch)
    told = 0
    for number in range(edits):
        done = edit(tree, rng, originals)
        answer, anew = editor.answer(), editor.anew()
        assert answer.pages.keys() == anew.pages.keys()
        differing = [path for path, page in answer.pages.items() if page != anew.pages[path]]
        assert not differing, f"edit {number} of seed {seed}, {done}"
        assert answer == anew, f"edit {number} of seed {seed}, {done}"
        told += sum(bool(page.told) for page in anew.pages.values())
        if rng.random() < 0.4:
            cache.write_behind()
        if rng.random() < 0.2:
            editor.other_process()
    assert told > edits


@pytest.mark.parametrize("seed", range(2))
def test_random_edits_in_an_editor(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_equal_in_an_editor(project(tmp_path / "tree"), seed, 12, monkeypatch)


def test_what_is_saved_unchanged_is_not_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = project(tmp_path / "tree")
    editor = Editor(tree, monkeypatch)
    judged: list[object] = []
    real = pipeline.report

    def report(*arguments: Any) -> Any:
        judged.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(pipeline, "report", report)
    first = editor.answer()
    file = tree / "csrc/pick.cu"
    file.write_text(SOURCES["csrc/pick.cu"])
    assert editor.answer() == first and len(judged) == 1
    # a comment that changes no fact of the file, yet counts where callers are searched for
    file.write_text(SOURCES["csrc/pick.cu"] + "// a comment\n")
    second = editor.answer()
    assert len(judged) == 2 and second.pages[str(file)].digest != first.pages[str(file)].digest
    (tree / "pyproject.toml").write_text("[tool.archscan]\n")
    editor.answer()
    assert len(judged) == 3


@pytest.mark.corpora
@pytest.mark.skipif(not CORPORA, reason="needs the real packages: set ARCHSCAN_CORPORA")
@pytest.mark.skipif(not os.environ.get("ARCHSCAN_SLOW"), reason="takes minutes: set ARCHSCAN_SLOW")
def test_random_edits_of_a_real_package(tmp_path: Path) -> None:
    tree = tmp_path / "flashinfer"
    shutil.copytree(Path(str(CORPORA)) / "flashinfer-0.6.2", tree)
    assert_equal_over_edits(tree, 0, 30)


@pytest.mark.corpora
@pytest.mark.skipif(not CORPORA, reason="needs the real packages: set ARCHSCAN_CORPORA")
@pytest.mark.skipif(not os.environ.get("ARCHSCAN_SLOW"), reason="takes minutes: set ARCHSCAN_SLOW")
def test_random_edits_of_a_real_package_in_an_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "flashinfer"
    shutil.copytree(Path(str(CORPORA)) / "flashinfer-0.6.2", tree)
    assert_equal_in_an_editor(tree, 0, 10, monkeypatch)
