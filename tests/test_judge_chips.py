"""What numbers of chips, their memory and images named for them make of a gate; each beside one that differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.finding import Finding
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()
JETSON = """\
#include <cuda_runtime.h>
void copy(void* to, const void* from, size_t n, int cc) {
  if (CONDITION) {
    map_host(to, from, n);
  } else {
    cudaMemcpy(to, from, n, cudaMemcpyHostToDevice);
  }
}
"""
BACKWARD = """\
import torch

def backends(head_dim):
    cc = torch.cuda.get_device_capability()
    if head_dim > 192 and cc in SMALL:
        # COMMENT
        return ["efficient", "math"]
    if cc >= (8, 0):
        return ["flash"]
    return ["math"]
"""
MODULE = """\
#include <stdexcept>
const char* file(int major) {
  if (major == 9) return "norm_sm90a.cubin";
  if (major == 12) return "NAME";
  throw std::runtime_error("no file");
}
"""
EXCEPT = """\
__device__ void release() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ != NUMBER
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
"""
BOUNDS = """\
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
#define BLOCKS 3
#else
#define BLOCKS OTHERS
#endif
__global__ __launch_bounds__(512, BLOCKS) void scale(float* x) { x[threadIdx.x] *= 2.f; }
"""
DISPATCH = """\
#include <stdexcept>
__global__ void dot(float* o, float2* a) {
  INSTRUCTION
}
void run(float* o, float2* a, int sm) {
  if (sm != 100 && sm != 103) throw std::runtime_error("not for this device");
  dot<<<1, 32>>>(o, a);
}
"""


def _found(folder: Path, name: str, text: str, target: str) -> list[Finding]:
    (folder / name).write_text(text)
    settings = ScanSettings(use_cache=False)
    facts = scan([str(folder)], CATALOG, settings)
    return list(report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings)


def _only(folder: Path, name: str, text: str, target: str) -> tuple[str, str]:
    (finding,) = _found(folder, name, text, target)
    return finding.consequence.value, finding.advice.value


@pytest.mark.parametrize(
    ("target", "condition", "relation"),
    [
        ("sm_101", "cc == 87 || cc == 110", "sibling"),  # Thor, by the number that CUDA 13 gives it
        ("sm_110", "cc == 87 || cc == 101", "sibling"),  # and by the one before
        ("sm_110", "cc == 87 || (cc >= 100 && cc <= 103)", "newer"),  # holds 101 by chance
        ("sm_103", "cc == 87 || cc == 110", "between"),  # no other number
    ],
)
def test_a_chip_is_its_own_sibling_by_another_number(
    target: str, condition: str, relation: str, tmp_path: Path
) -> None:
    (finding,) = _found(tmp_path, "copy.cpp", JETSON.replace("CONDITION", condition), target)
    assert finding.relation is not None and finding.relation.value == relation
    assert finding.advice.value == "investigate"


@pytest.mark.parametrize("comment", ["backward needs more than 99 KB of shared memory", "flash is off here"])
def test_a_sibling_with_as_little_memory_is_looked_into_whatever_is_said(comment: str, tmp_path: Path) -> None:
    text = BACKWARD.replace("SMALL", "((8, 6), (12, 0))").replace("COMMENT", comment)
    assert _only(tmp_path, "backends.py", text, "sm_121") == ("slow_fallback", "investigate")


def test_a_question_beside_the_chips_does_not_hide_the_arm_of_others(tmp_path: Path) -> None:
    text = BACKWARD.replace("SMALL", "((8, 6), (12, 0))")
    assert _found(tmp_path, "backends.py", text, "sm_90") == []  # no chip of its generation was singled out
    assert [f.place.line for f in _found(tmp_path, "backends.py", text, "sm_121")] == [5]


@pytest.mark.parametrize(("name", "loads"), [("norm_sm120a.cubin", False), ("norm_sm120f.cubin", True)])
def test_a_file_that_does_not_load_on_the_sibling_is_no_use_to_it(name: str, loads: bool, tmp_path: Path) -> None:
    found = _found(tmp_path, "module.cpp", MODULE.replace("NAME", name), "sm_121")
    assert [(f.problem.value, f.consequence.value) for f in found] == (
        [] if loads else [("over-admitted", "load_error")]
    )


@pytest.mark.parametrize(
    ("number", "because"), [("1210", "everything behind it is known and assembles"), ("1200", None)]
)
def test_a_sibling_does_not_refute_who_left_the_chip_out_by_number(
    number: str, because: str | None, tmp_path: Path
) -> None:
    found = _found(tmp_path, "release.cuh", EXCEPT.replace("NUMBER", number), "sm_121")
    assert [f.risk.reasons[0].text for f in found] == ([because] if because else [])


@pytest.mark.parametrize(("others", "advice"), [("4", "widen-safe"), ("2", "widen-needs-tuning")])
def test_launch_bounds_in_range_are_the_row_for_the_target(others: str, advice: str, tmp_path: Path) -> None:
    assert _only(tmp_path, "scale.cu", BOUNDS.replace("OTHERS", others), "sm_120")[1] == advice


@pytest.mark.parametrize(
    ("instruction", "advice"),
    [
        ('asm volatile("cp.async.bulk.commit_group;");', "investigate"),
        ("o[threadIdx.x] = a->x;", "investigate"),
        ('asm volatile("tcgen05.wait::ld.sync.aligned;");', "leave"),
    ],
)
def test_a_host_check_before_a_kernel_goes_by_what_the_kernel_uses(
    instruction: str, advice: str, tmp_path: Path
) -> None:
    found = _found(tmp_path, "dot.cu", DISPATCH.replace("INSTRUCTION", instruction), "sm_120")
    assert [f.advice.value for f in found if f.place.line == 6] == [advice]


def test_a_check_of_another_file_stands_before_the_table_it_reads(tmp_path: Path) -> None:
    table = "CONFIGS = {\n    80: dict(block=128),\n    90: dict(block=256),\n}\n"
    check = (
        "import torch\nfrom m.config import CONFIGS\n\n\ndef sm():\n    a, b = torch.cuda.get_device_capability()\n"
        "    return 10 * a + b\n\n\ndef forward(x):\n    if sm() not in (80, 90):\n"
        '        raise NotImplementedError("no kernel")\n    return torch.ops.m.forward(x, **CONFIGS[sm()])\n'
    )
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.py").write_text(table)
    found = {f.path: f.advice.value for f in _found(tmp_path, "m/op.py", check, "sm_120")}
    assert found == {"m/config.py": "pair", "m/op.py": "widen-unsafe-runtime"}


def test_the_definition_of_a_macro_goes_with_the_launch_attribute_of_its_use(tmp_path: Path) -> None:
    header = (
        "#pragma once\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900\n#define OVERLAP 1\n#endif\n"
        "__device__ void before() {\n#if defined(OVERLAP)\n"
        '  asm volatile("griddepcontrol.wait;" ::: "memory");\n#endif\n}\n'
    )
    (tmp_path / "overlap.cuh").write_text(header)
    source = (
        '#include "overlap.cuh"\n__global__ void norm(float* y) { before(); y[threadIdx.x] = 1.f; }\n'
        "void run(float* y, int major, cudaStream_t s) {\n  cudaLaunchAttribute a[1];\n"
        "  a[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;\n"
        "  a[0].val.programmaticStreamSerializationAllowed = major >= 9;\n"
        "  cudaLaunchConfig_t c{dim3(1), dim3(32), 0, s, a, 1};\n  cudaLaunchKernelEx(&c, norm, y);\n}\n"
    )
    found = {(f.path, f.place.line): f.advice.value for f in _found(tmp_path, "norm.cu", source, "sm_120")}
    assert found["overlap.cuh", 2] == "pair"


CONTRACT = """\
import torch

def host(x):
    major, _ = torch.cuda.get_device_capability()
    if major == 12:
        return fused(x)
    return None
"""
EXCEPTION = """\
import torch

def backend(x):
    if torch.cuda.get_device_capability() != (10, 3):
        return "plain"
    REST
"""
ABILITY = """\
import torch

def has_sm100_SUFFIX():
    return torch.cuda.get_device_capability()[0] == 10

def backend(x, dtype):
    if dtype != "fp8" or not has_sm100_SUFFIX():
        return "one"
    return "two"
"""


@pytest.mark.parametrize(("name", "advice"), [("attention_sm120.py", "leave"), ("attention.py", "leave")])
def test_the_name_of_a_file_says_nothing(name: str, advice: str, tmp_path: Path) -> None:
    assert _only(tmp_path, name, CONTRACT, "sm_103")[1] == advice


@pytest.mark.parametrize(
    ("rest", "found"),
    [("kernel = tuned(x)\n    return kernel.run(x)", 0), ('return "none"', 1)],  # the work begins for 10.3, or ends
)
def test_who_is_named_to_go_on_is_not_shut_out(rest: str, found: int, tmp_path: Path) -> None:
    assert len(_found(tmp_path, "backend.py", EXCEPTION.replace("REST", rest), "sm_103")) == found


@pytest.mark.parametrize(("suffix", "found"), [("supported", 0), ("quirk", 0)])  # a name decides nothing
def test_the_arm_of_all_but_a_generation_is_no_loss(suffix: str, found: int, tmp_path: Path) -> None:
    text = ABILITY.replace("has_sm100_SUFFIX", f"is_sm100_{suffix}")
    assert len([f for f in _found(tmp_path, "backend.py", text, "sm_103") if f.place.line > 5]) == found


WAIT = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define STEP() asm volatile("INSTRUCTION;" ::: "memory")
#else
#define STEP()ELSE
#endif
__global__ void consume(float* y) { STEP(); y[threadIdx.x] = 1.f; }
"""
HOPPER = """\
#include <cuda_runtime.h>
__global__ void hopper_copy(float* y);
void launch(float* y, cudaStream_t s, int cc) {
  ASKED {
    cudaFuncSetAttribute(hopper_copy, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 * 1024);
    hopper_copy<<<1, 32, 160 * 1024, s>>>(y);
  }
}
"""


@pytest.mark.parametrize(
    ("instruction", "other", "consequence"),
    [
        ("griddepcontrol.wait", "", "race"),
        ("griddepcontrol.launch_dependents", "", "degraded_tuning"),
        ("griddepcontrol.wait", " __syncthreads()", "slow_fallback"),  # something is done instead
    ],
)
def test_a_macro_that_does_nothing_loses_what_others_do(
    instruction: str, other: str, consequence: str, tmp_path: Path
) -> None:
    text = WAIT.replace("INSTRUCTION", instruction).replace("ELSE", other)
    assert _only(tmp_path, "consume.cu", text, "sm_120")[0] == consequence


@pytest.mark.parametrize(("asked", "found"), [("if (cc >= 90)", 1), ("", 0)])
def test_a_kernel_of_other_chips_is_reached_where_a_condition_says_so(asked: str, found: int, tmp_path: Path) -> None:
    assert len(_found(tmp_path, "launch.cu", HOPPER.replace("ASKED", asked), "sm_120")) == found


@pytest.mark.parametrize(("target", "advice"), [("sm_103", "investigate"), ("sm_120", "widen-unsafe-runtime")])
def test_to_ask_for_a_row_is_no_check_of_its_own(target: str, advice: str, tmp_path: Path) -> None:
    source = (
        'import torch\n\nROWS = {(9, 0): "a", (10, 0): "b"}\n\n\ndef row():\n'
        "    cap = torch.cuda.get_device_capability()\n"
        '    assert cap in ROWS, "not here"\n    return ROWS[cap]\n'
    )
    found = {f.place.line: f.advice.value for f in _found(tmp_path, "rows.py", source, target)}
    assert found[8] == advice


TRY = """\
__device__ bool attempt(float* to, unsigned from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
  INSTRUCTION
  return true;
#else
  return VALUE;
#endif
}
"""


@pytest.mark.parametrize(
    ("instruction", "value", "consequence"),
    [
        ('asm volatile("cp.async.bulk.commit_group;");', "false", "slow_fallback"),  # the caller is told
        ('asm volatile("cp.async.bulk.commit_group;");', "0", "wrong_result"),
        ('asm volatile("elect.sync _|P1, -1;");', "false", "wrong_result"),  # an answer of the instruction
    ],
)
def test_false_says_that_it_was_not_done(instruction: str, value: str, consequence: str, tmp_path: Path) -> None:
    text = TRY.replace("INSTRUCTION", instruction).replace("VALUE", value)
    assert _only(tmp_path, "attempt.cuh", text, "sm_120")[0] == consequence


@pytest.mark.parametrize(
    ("above", "between", "consequence"),
    [
        ("// wgmma kernels are behind it", "", "correct_exclusion"),  # all that it does
        ("// wgmma kernels are behind it", "  log(cc);\n", "slow_fallback"),
        ("// the kernels behind it are for that one alone", "", "slow_fallback"),
    ],
)
def test_a_comment_above_a_function_that_only_answers(
    above: str, between: str, consequence: str, tmp_path: Path
) -> None:
    text = f"{above}\nbool has_kernels(int cc) {{\n{between}  return cc / 10 == 9;\n}}\n"
    assert _only(tmp_path, "answer.cpp", text, "sm_120")[0] == consequence


@pytest.mark.parametrize(("end", "consequence"), [("} else", "slow_fallback"), ("}", "silent_noop")])
def test_what_follows_an_open_else_is_what_the_others_do(end: str, consequence: str, tmp_path: Path) -> None:
    text = f"""\
__device__ void store(long* to, long what, bool early) {{
#if __CUDA_ARCH__ >= 1000
  if (early) {{
    write_early(to, what);
  {end}
#endif
  {{
    *to = what;
  }}
}}
"""
    assert _only(tmp_path, "store.cuh", text, "sm_90")[0] == consequence
