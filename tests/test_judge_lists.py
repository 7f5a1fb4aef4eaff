"""JIT lists, tables and checks beside what they let in or keep out: what is told once, last, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.finding import Advice, Capability, Finding
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()
SPEC = """\
from jit import gen_jit_spec, context

def gen_NAME_module():
    flags = context.get_nvcc_flags_list(supported_major_versions=MAJORS)
    return gen_jit_spec("norm", ["csrc/norm.cu"], extra_cuda_cflags=flags)
"""
SOURCE = """\
__global__ void norm(float* y) {
#if defined(__CUDA_ARCH__) && CONDITION
  y[threadIdx.x] = 1.f;
#endif
}
"""
DISPATCH = """\
#include <stdexcept>
__global__ void multiply(float* y) { asm volatile("wgmma.fence.sync.aligned;"); }
void run(float* y, int sm) {
  TORCH_CHECK(sm >= 80);
  ASKED {
    multiply<<<1, 128>>>(y);
  }
}
"""
TABLE = """\
import torch
FLAGS = {90: "-DA", 100: "-DB"}

def flags():
    major, minor = torch.cuda.get_device_capability()
    cc = major * 10 + minor
    CHECK
    return FLAGS[cc]
"""


def _found(folder: Path, target: str, **files: str) -> dict[tuple[str, int], Finding]:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    facts = scan([str(folder)], CATALOG, ScanSettings(use_cache=False))
    found = report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings
    return {(f.path, f.place.line): f for f in found}


def _module(folder: Path, name: str, majors: str, condition: str) -> dict[tuple[str, int], Finding]:
    spec = SPEC.replace("NAME", name).replace("MAJORS", majors)
    source = SOURCE.replace("CONDITION", condition)
    return _found(folder, "sm_120", jit_dot_py=spec, csrc__norm_dot_cu=source)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200", True),
        ("__CUDA_ARCH__ == 900", False),  # shut for all that the list lets in: nothing that the module needs
    ],
)
def test_a_list_disagrees_with_a_source_that_is_open_for_others_of_it(
    condition: str, told: bool, tmp_path: Path
) -> None:
    assert (("jit.py", 4) in _module(tmp_path, "norm", "[10, 12]", condition)) is told


@pytest.mark.parametrize("name", ["norm", "norm_sm100"])
def test_the_name_of_a_builder_says_nothing(name: str, tmp_path: Path) -> None:
    found = _module(tmp_path, name, "[10]", "__CUDA_ARCH__ < 1200")
    assert found["csrc/norm.cu", 2].risk.score == 99
    assert found["jit.py", 4].advice.value == "pair"


@pytest.mark.parametrize(("asked", "lines"), [("if (sm >= 90)", [5]), ("", [4])])
def test_a_check_is_told_where_no_arm_behind_it_is(asked: str, lines: list[int], tmp_path: Path) -> None:
    found = _found(tmp_path, "sm_120", a_dot_cu=DISPATCH.replace("ASKED", asked))
    assert sorted(line for _, line in found) == lines


@pytest.mark.parametrize(
    ("check", "advice", "score"),
    [
        ('if cc not in (90, 100):\n        raise RuntimeError("no")', "pair", 36),
        ("pass", "widen-unsafe-runtime", 36),
    ],
)
def test_a_row_has_to_be_made_with_and_without_a_check(check: str, advice: str, score: int, tmp_path: Path) -> None:
    finding = _found(tmp_path, "sm_120", a_dot_py=TABLE.replace("CHECK", check))["a.py", 2]
    assert (finding.advice.value, finding.risk.score) == (advice, score)


KERNEL_HEADER = """\
#pragma once
struct Attention {
  using ArchTag = cutlass::arch::Sm100;
  static int run(float* y);
};
template <typename T>
__global__ void finish(T* y) {
FENCE
}
"""
KERNEL_SOURCE = """\
#include "norm.cuh"
void norm(float* y, int sm) {
BODY
}
"""
TAGGED, PLAIN = "  Attention::run(y);", "  y[0] = 1.f;"
DISPATCHED = """\
  if (sm >= 120) {
    other_way(y);
  } else {
    Attention::run(y);
  }"""
FENCED = "  finish<float><<<1, 32>>>(y);"
WGMMA = '  asm volatile("wgmma.fence.sync.aligned;");'


@pytest.mark.parametrize(
    ("target", "body", "fence", "capability", "advice"),
    [
        ("sm_120", TAGGED, "", Capability.CANNOT, Advice.LEAVE),
        ("sm_103", TAGGED, "", Capability.UNKNOWN, Advice.INVESTIGATE),  # has what the tag stands for
        ("sm_120", PLAIN, "", Capability.UNKNOWN, Advice.INVESTIGATE),  # the header's class is not used
        ("sm_120", DISPATCHED, "", Capability.UNKNOWN, Advice.INVESTIGATE),  # the source has a way of its own
        ("sm_120", FENCED, WGMMA, Capability.CANNOT, Advice.LEAVE),
        ("sm_120", FENCED, f"#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n{WGMMA}\n#endif", Capability.UNKNOWN, None),
    ],
)
def test_a_list_needs_what_its_sources_use_outside_of_every_gate(
    target: str, body: str, fence: str, capability: Capability, advice: Advice | None, tmp_path: Path
) -> None:
    spec = SPEC.replace("NAME", "norm").replace("MAJORS", "[9]")
    source, header = KERNEL_SOURCE.replace("BODY", body), KERNEL_HEADER.replace("FENCE", fence)
    found = _found(tmp_path, target, jit_dot_py=spec, csrc__norm_dot_cu=source, csrc__norm_dot_cuh=header)
    assert found["jit.py", 4].capability is capability
    assert advice in (None, found["jit.py", 4].advice)


def test_a_build_flag_needs_what_its_modules_need(tmp_path: Path) -> None:
    spec = SPEC.replace("NAME", "norm").replace("MAJORS", "[9]")
    aot = "from jit import gen_norm_module\n\ndef every(has_sm90):\n    if has_sm90:\n        yield gen_norm_module()\n"
    source, header = KERNEL_SOURCE.replace("BODY", TAGGED), KERNEL_HEADER.replace("FENCE", "")
    sources = {"csrc__norm_dot_cu": source, "csrc__norm_dot_cuh": header}
    found = _found(tmp_path, "sm_120", jit_dot_py=spec, aot_dot_py=aot, **sources)
    assert {f.features for (path, _), f in found.items() if path in ("jit.py", "aot.py")} == {("tcgen05",)}
    assert found["aot.py", 4].advice is Advice.LEAVE


WANTED = """\
import os

KNOWN = LISTED


def flags():
    out = []
    for cap in os.environ.get("SAMPLER_CUDA_ARCH_LIST", "").split():
        ASKED
            ELSEWHERE
        FLAGS
    return out
"""
_MADE = 'out.append(f"-gencode=arch=compute_{KEY},code=sm_{KEY}")'


@pytest.mark.parametrize("target", ["sm_120", "sm_121"])
@pytest.mark.parametrize(
    ("asked", "elsewhere", "flags", "outcome"),
    [
        ("if cap in KNOWN:", _MADE, "", "load_error"),
        ("if cap not in KNOWN:", "continue", _MADE, "load_error"),
        ("if cap not in KNOWN:", "raise ValueError('unknown')", _MADE, "runtime_error"),
    ],
)
@pytest.mark.parametrize(
    ("listed", "key"), [('["9.0", "12.0"]', "cap.replace('.', '')"), ('{"9.0": "90", "12.0": "120"}', "KNOWN[cap]")]
)
def test_flags_that_are_left_out_without_a_word_are_missed(
    listed: str, key: str, asked: str, elsewhere: str, flags: str, outcome: str, target: str, tmp_path: Path
) -> None:
    text = WANTED.replace("LISTED", listed).replace("ASKED", asked).replace("ELSEWHERE", elsewhere)
    (tmp_path / "flags.py").write_text(text.replace("FLAGS", flags).replace("KEY", key))
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False))
    findings = report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings
    told = [(f.place.line, f.consequence.value, f.advice.value) for f in findings]
    assert told == ([(3, outcome, "widen-safe")] if target == "sm_121" else [])
