"""One question in several spellings: what is reported must not depend on how it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.finding import Finding
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()
NAMED = """
def named():
    return torch.cuda.get_device_capability()[0] == 10
"""
NEGATED = """\
import torch

def way(width, widths):
    major, minor = torch.cuda.get_device_capability()
    if CONDITION:
        return "one"
    return "two"
"""
WITHIN = """\
import torch

def named():
    return torch.cuda.get_device_capability()[0] == 10

def choose(options, ranks):
    if options.model in ("alpha", "beta"):
        if not (named() and ranks in (4, 8)):
            return {}
    if options.fusion is None and ranks > 1:
        return {"fusion": "auto"}
    return {}
"""


def found(folder: Path, name: str, text: str, target: str) -> list[Finding]:
    """What is reported for a file on its own."""
    (folder / name).write_text(text)
    facts = scan([str(folder)], CATALOG, ScanSettings(use_cache=False))
    return sorted(report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings, key=lambda f: f.place.line)


def lines(folder: Path, name: str, text: str, target: str) -> list[int]:
    return [f.place.line for f in found(folder, name, text, target)]


@pytest.mark.parametrize(
    "condition",
    [
        "major != 10",
        "not major == 10",
        "not (10, 0) <= (major, minor) < (11, 0)",
        "major < 10 or major > 10",
        "not named()",
        "width not in widths and not (named() and width <= 256)",
    ],
)
def test_a_negated_generation_is_who_is_let_in(condition: str, tmp_path: Path) -> None:
    text = NEGATED.replace("CONDITION", condition) + NAMED * ("named" in condition)
    assert lines(tmp_path, "ways.py", text, "sm_120") == [5]
    assert lines(tmp_path, "ways.py", text, "sm_90") == [5]
    assert lines(tmp_path, "ways.py", text, "sm_100") == []


@pytest.mark.parametrize(("condition", "wanted"), [("not major >= 9", []), ("not 9 <= major < 12", [5])])
def test_a_negated_bound_lets_in_whom_it_names(condition: str, wanted: list[int], tmp_path: Path) -> None:
    text = NEGATED.replace("CONDITION", condition) + NAMED * ("named" in condition)
    assert lines(tmp_path, "ways.py", text, "sm_120") == wanted
    assert lines(tmp_path, "ways.py", text, "sm_90") == []


def test_who_goes_on_behind_the_block_is_let_in(tmp_path: Path) -> None:
    assert lines(tmp_path, "ways.py", WITHIN, "sm_120") == [8]
    assert lines(tmp_path, "ways.py", WITHIN, "sm_100") == []


LIMITS = """\
LIMITS = {
    "9.0": {2: 512},
    "10.0": {2: 1024},
}
"""
MODULES = """\
MODULES = {
    ("sm_100a", "forward"): "forward_100",
    ("sm_100a", "backward"): "backward_100",
    ("sm_90a", "forward"): "forward_90",
}

def module(arch, stage):
    return MODULES[(arch, stage)]
"""
ARCHES = """\
ARCHES = {
    (9, 0): "sm_90a",
    (10, 0): "sm_100a",
}

def arch_of(device_capability):
    numbers = [int(n) for n in device_capability]
    if len(numbers) != 2:
        return None
    return ARCHES.get((numbers[0], numbers[1]))
"""
READERS = {
    "get": "def limit(cc, ranks):\n    row = LIMITS.get(cc)\n    if row is None:\n        return 0\n    return row[0]",
    "in": "def limit(cc, ranks):\n    if cc not in LIMITS:\n        return 0\n    return LIMITS[cc][ranks]\n",
}


@pytest.mark.parametrize("reader", READERS)
def test_a_table_of_numbers_by_chip_misses_a_row(reader: str, tmp_path: Path) -> None:
    for target, wanted in (("sm_103", [("slow_fallback", "widen-needs-tuning")]), ("sm_100", [])):
        got = found(tmp_path, "limits.py", LIMITS + READERS[reader], target)
        assert [(f.consequence.value, f.advice.value) for f in got] == wanted


@pytest.mark.parametrize(
    ("text", "consequence"), [(MODULES, "runtime_error"), (ARCHES, "slow_fallback")], ids=["parts", "numbers"]
)
def test_a_table_whose_key_is_made_up(text: str, consequence: str, tmp_path: Path) -> None:
    got = found(tmp_path, "tables.py", text, "sm_120")
    assert [(f.place.line, f.consequence.value) for f in got] == [(1, consequence)]
    assert found(tmp_path, "tables.py", text, "sm_100") == []


def test_the_first_reader_of_another_module_decides(tmp_path: Path) -> None:
    (tmp_path / "limits.py").write_text(LIMITS)
    ring = """\
import torch
from limits import LIMITS

class Ring:
    def __init__(self, ranks):
        major, minor = torch.cuda.get_device_capability()
        self.version = f"{major}.{minor}"
        if self.version not in LIMITS:
            return
        self.limit = LIMITS[self.version].get(ranks, 0)
"""
    got = [f for f in found(tmp_path, "ring.py", ring, "sm_120") if f.path == "limits.py"]
    assert [f.consequence.value for f in got] == ["degraded_tuning"]  # it returns before the KeyError


@pytest.mark.parametrize("name", ["sm_major", "gpu_sm_major", "device_cc_major"])
def test_a_parameter_carries_the_capability_by_its_name(name: str, tmp_path: Path) -> None:
    text = f"def check(*, {name}, batched):\n    if {name} != 9:\n        raise ValueError('sm_90 only')\n"
    assert lines(tmp_path, "check.py", text, "sm_120") == [2]
    assert lines(tmp_path, "check.py", text, "sm_90") == []


MIXED = """\
from collections import namedtuple
import torch

Capability = namedtuple("Capability", "major minor")

def current():
    return Capability(*torch.cuda.get_device_capability())

def run():
    if CONDITION:
        raise RuntimeError("not for this GPU")
    return "ran"
"""


@pytest.mark.parametrize("asked", ["torch.cuda.get_device_capability()", "current()"])
@pytest.mark.parametrize("named", ["not in (90, 120)", "not in [9, 12]", "!= 120"])
def test_a_pair_compared_with_numbers_means_whom_it_names(asked: str, named: str, tmp_path: Path) -> None:
    got = found(tmp_path, "run.py", MIXED.replace("CONDITION", f"{asked} {named}"), "sm_120")
    assert [(f.place.line, f.consequence.value, f.advice.value) for f in got] == [(10, "runtime_error", "widen-safe")]
    got = found(tmp_path, "run.py", MIXED.replace("CONDITION", f"{asked} {named}"), "sm_100")
    assert [(f.place.line, f.advice.value) for f in got] == [(10, "leave" if "!=" in named else "investigate")]


@pytest.mark.parametrize("asked", ["torch.cuda.get_device_capability()", "current()"])
def test_a_pair_compared_with_pairs_is_taken_at_its_word(asked: str, tmp_path: Path) -> None:
    text = MIXED.replace("CONDITION", f"{asked} not in ((9, 0), (12, 0))")
    assert lines(tmp_path, "run.py", text, "sm_120") == []
    assert [f.advice.value for f in found(tmp_path, "run.py", text, "sm_100")] == ["investigate"]


TOLD = """\
import torch

def can_run(device, tell):
    cc = torch.cuda.get_device_capability(device)
    if cc not in [(10, 0), (10, 3)]:
        STATEMENT
        return False
    prepare(device)
    return True
"""


@pytest.mark.parametrize("statement", ["tell('not for this GPU')", "tell(f'not for {cc}, sorry', error=ValueError)"])
def test_who_is_told_no_is_refused(statement: str, tmp_path: Path) -> None:
    text = TOLD.replace("STATEMENT", statement)
    assert lines(tmp_path, "can.py", text, "sm_103") == []
    assert lines(tmp_path, "can.py", text, "sm_120") == [5]


@pytest.mark.parametrize(
    ("one", "other", "advice"),
    [
        ("gemm(q, 128, stages=4)", "gemm(q, 64, stages=2)", "widen-needs-tuning"),
        ("[C(128, w=8), C(256, w=8)]", "[C(64, w=4)]", "widen-needs-tuning"),  # however many of them
        ("gemm(q, 128, stages=4)", "plain(q, 64, stages=2)", "investigate"),
        ("gemm(q, 90)", "gemm(q, 80)", "investigate"),  # 90 is one of those let in: other code
        ("attend(q, version=3)", "attend(q, version=2)", "investigate"),
        ('gemm(q, "tile_4")', 'gemm(q, "tile_2")', "investigate"),
    ],
)
def test_the_same_code_with_other_numbers_is_tuning(one: str, other: str, advice: str, tmp_path: Path) -> None:
    asked = "import torch\n\ndef f(q):\n    if torch.cuda.get_device_capability() in [(9, 0), (10, 0)]:\n"
    text = f"{asked}        return {one}\n    return {other}\n"
    (finding,) = found(tmp_path, "a.py", text, "sm_120")
    assert finding.advice.value == advice
    assert (finding.consequence.value == "degraded_tuning") == (advice == "widen-needs-tuning")


OVERLAPPING = """\
__global__ void second(const float* in, float* out) {
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  out[threadIdx.x] = in[threadIdx.x];
}
"""


@pytest.mark.parametrize(("target", "outcome"), [("sm_89", "correct_exclusion"), ("sm_120", "race")])
def test_kernels_overlap_only_where_a_chip_lets_them(target: str, outcome: str, tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "a.cu", OVERLAPPING, target)
    assert (finding.place.line, finding.consequence.value) == (2, outcome)


BACKENDS = """\
import torch

class Wide:
    @classmethod
    def supports(cls, major, minor):
        return major in (10, 11)

class Plain:
    @classmethod
    def supports(cls, major, minor):
        return True

def choose():
    asked = ASKED
    for cls in (Wide, Plain):
        if cls.supports(GIVEN):
            return cls()
"""


@pytest.mark.parametrize(
    ("asked", "given", "wanted"),
    [
        ("torch.cuda.get_device_capability()", "*asked", [6]),
        ("torch.cuda.get_device_capability()", "major=asked[0], minor=asked[1]", [6]),
        ("tuple(map(int, torch.__version__.split('.')[:2]))", "*asked", []),  # of a release
    ],
)
def test_halves_are_a_capabilitys_where_a_caller_hands_one_over(
    asked: str, given: str, wanted: list[int], tmp_path: Path
) -> None:
    assert lines(tmp_path, "a.py", BACKENDS.replace("ASKED", asked).replace("GIVEN", given), "sm_120") == wanted


CHOSEN = """\
STRUCT
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
static constexpr bool kWide = true;
#else
static constexpr bool kWide = false;
#endif
CLOSED
__device__ void f(float* c) {
  ASKED {
    asm volatile("tcgen05.fence::before_thread_sync;");
  } else {
    __trap();
  }
}
"""


@pytest.mark.parametrize(("struct", "closed", "name"), [("", "", "kWide"), ("struct S {", "};", "S::kWide")])
@pytest.mark.parametrize("asked", ["if constexpr (NAME)", "if (NAME)"])
def test_a_constant_that_an_if_directive_chooses_decides(
    struct: str, closed: str, name: str, asked: str, tmp_path: Path
) -> None:
    text = CHOSEN.replace("STRUCT", struct).replace("CLOSED", closed).replace("ASKED", asked).replace("NAME", name)
    told = [(f.place.line, f.consequence.value) for f in found(tmp_path, "a.cuh", text, "sm_90")]
    assert told == [(2, "trap")]  # where it is chosen
    assert [f.problem.value for f in found(tmp_path, "a.cuh", text, "sm_100") if f.consequence.value == "trap"] == []


HELPER = """\
import torch

def require(low, top=None):
    cc = torch.cuda.get_device_capability()
    if cc < low or (top is not None and cc > top):
        raise RuntimeError(f"needs {low} to {top}, this is {cc}")

def fused(x):
    CALL
    return torch.ops.q.fused(x)
"""


@pytest.mark.parametrize("name", ["top", "max_cc", "max_capability", "newest"])
@pytest.mark.parametrize("call", ["require((9, 0), (10, 3))", "require((9, 0), top=(10, 3))", "require((8, 9))"])
def test_a_helper_that_refuses_by_its_bounds_is_a_gate_where_it_is_called(name: str, call: str, tmp_path: Path) -> None:
    told = found(tmp_path, "a.py", HELPER.replace("CALL", call).replace("top", name), "sm_120")
    wanted = [] if "8" in call else [(9, "upper-bound-gate", "runtime_error")]
    assert [(f.place.line, f.rule, f.consequence.value) for f in told] == wanted
