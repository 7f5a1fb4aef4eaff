"""What the judge takes code for: a refusal, a use, a choice; each with the code beside it that is something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.judge.needs.limits import is_limit
from archscan.model.finding import Advice, Capability, Consequence, Finding, Problem
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()


def _found(folder: Path, target: str, name: str, text: str) -> dict[int, Finding]:
    """The findings of one file by line."""
    (folder / name).write_text(text)
    facts = scan([str(folder)], CATALOG, ScanSettings(use_cache=False))
    found = report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings
    return {f.place.line: f for f in found}


TRUTHS = """\
#if __CUDA_ARCH__ == 1200
#define IS_EXACTLY_120 1
#else
#define IS_EXACTLY_120 0
#endif
"""


@pytest.mark.parametrize(("use", "lines"), [("", []), ("#if IS_EXACTLY_120\nint fast;\n#endif\n", [1, 6])])
def test_a_macro_that_states_a_truth_is_told_where_something_asks_it(
    use: str, lines: list[int], tmp_path: Path
) -> None:
    assert sorted(_found(tmp_path, "sm_121", "truth.cuh", TRUTHS + use)) == lines


CHECKED = """\
#include <cuda_runtime.h>
int check(cudaDeviceProp prop, bool ragged) {
  MACRO(prop.major CONDITION 9 && ragged, NOT_SUPPORTED, "not with ragged input");
  return run(prop);
}
"""


@pytest.mark.parametrize(
    ("macro", "condition", "told"),
    [
        ("RETURN_LIB_ERROR_IF", "==", False),  # an error for 9.x
        ("RETURN_LIB_ERROR_IF", "!=", True),  # an error for all others
        ("LIB_CHECK", "==", True),
        ("LIB_CHECK", "!=", False),
    ],
)
def test_a_macro_that_fails_if_its_condition_holds(macro: str, condition: str, told: bool, tmp_path: Path) -> None:
    text = CHECKED.replace("MACRO", macro).replace("CONDITION", condition)
    assert (3 in _found(tmp_path, "sm_103", "check.cpp", text)) is told


WRAPPED = """\
#include <nv/target>
extern "C" __device__ void ABSENT();
__device__ inline void arrive() {
  NV_IF_ELSE_TARGET(NV_HAS_FEATURE_SM_90a, (asm volatile("fence.mbarrier_init.release.cluster;");), (ABSENT();))
}
"""


@pytest.mark.parametrize(
    ("absent", "today"),
    [
        ("__cuda_ptx_arrive_is_not_supported_before_SM_90__", Consequence.COMPILE_ERROR),
        ("other_way", Consequence.SLOW_FALLBACK),
    ],
)
def test_a_function_that_is_never_defined_refuses(absent: str, today: Consequence, tmp_path: Path) -> None:
    found = _found(tmp_path, "sm_103", "arrive.h", WRAPPED.replace("ABSENT", absent))
    assert [f.consequence for f in found.values()] == [today]


LAUNCHED = """\
#include <cuda_runtime.h>
__global__ void wide(float* y) { extern __shared__ float tile[]; y[0] = tile[0]; }
__global__ void narrow(float* y) { y[0] = 1.f; }
void run(float* y, cudaDeviceProp p) {
  const bool turing = p.major == 7 && p.minor == 5;
  if (!turing) {
    int bytes = 16 * BLOCKS;
    cudaFuncSetAttribute(wide, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    wide<<<1, 32, bytes>>>(y);
  } else {
    narrow<<<1, 32>>>(y);
  }
}
"""


@pytest.mark.parametrize(
    ("blocks", "capability", "advice"),
    [("4096", Capability.UNKNOWN, Advice.INVESTIGATE), ("4097", Capability.CANNOT, Advice.LEAVE)],
)
def test_memory_that_a_launch_asks_for_is_a_need(
    blocks: str, capability: Capability, advice: Advice, tmp_path: Path
) -> None:
    finding = _found(tmp_path, "sm_75", "run.cu", LAUNCHED.replace("BLOCKS", blocks))[6]  # it has 64 KB
    assert (finding.capability, finding.advice) == (capability, advice)


OVERLAPPED = """\
#include <cuda_runtime.h>
__global__ void scale(float* y) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  asm volatile("griddepcontrol.wait;");
#endif
  y[threadIdx.x] *= 2.f;
}
void launch(float* y, bool overlap DEFAULT, cudaStream_t stream = 0) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attrs[1];
  attrs[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attrs[0].val.programmaticStreamSerializationAllowed = overlap;
  config.attrs = attrs;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, scale, y);
}
CALLS
"""


@pytest.mark.parametrize(
    ("default", "calls", "races"),
    [
        ("= false", "void all(float* y) { launch(y); }", False),
        ("= false", "void all(float* y) { launch(y, false, stream()); }", False),
        ("= false", "void all(float* y) { launch(y); launch(f(y, 1), true); }", True),
        ("= false", "", True),  # called elsewhere
        ("= true", "void all(float* y) { launch(y); }", True),
        ("", "void all(float* y) { launch(y, false); }", True),  # others may call it too
    ],
)
def test_an_attribute_that_nobody_switches_on_is_no_half(default: str, calls: str, races: bool, tmp_path: Path) -> None:
    text = OVERLAPPED.replace("DEFAULT", default).replace("CALLS", calls)
    found = _found(tmp_path, "sm_120", "launch.cu", text).values()
    assert any(f.problem is Problem.DISAGREES for f in found) is races


COPIES = """\
HELPER
__global__ void copy(int* y) {
#if __CUDA_ARCH__ < 700
  y[0] = 0;
#else
  cp_async_fence();
#endif
}
"""
OWN = '__device__ void cp_async_fence() {\n#if __CUDA_ARCH__ >= 800\n  asm volatile("cp.async.wait_all;");\n#endif\n}'


@pytest.mark.parametrize(("helper", "told"), [("#include <cute/arch/copy_sm80.hpp>", True), (OWN, False)])
def test_a_name_that_the_project_defines_is_what_it_says(helper: str, told: bool, tmp_path: Path) -> None:
    found = _found(tmp_path, "sm_75", "copy.cu", COPIES.replace("HELPER", helper))
    assert any(f.problem is Problem.OVER_ADMITTED for f in found.values()) is told


LISTED = """\
struct Instructions {
  using type = list<
#if __CUDA_ARCH__ <= 900
    NAMED
#endif
    entry<SM80_8x8x4_F64F64F64F64_TN, 800>>;
};
"""


@pytest.mark.parametrize(
    ("named", "told"), [("entry<SM90_64x8x16_F32F16F16_SS, 900>,", False), ("decltype(wgmma_m64n8k16(1)),", True)]
)
def test_a_type_that_is_only_named_is_no_use(named: str, told: bool, tmp_path: Path) -> None:
    found = _found(tmp_path, "sm_86", "list.hpp", LISTED.replace("NAMED", named))
    assert any(f.problem is Problem.OVER_ADMITTED for f in found.values()) is told


ARITHMETIC = """\
#include <cuda_bf16.h>
__global__ void axpy(float* y) {
#if __CUDA_ARCH__ >= 800
  TYPE* a = reinterpret_cast<TYPE*>(y);
  TYPE sum = {};
  sum = CALL;
  a[2] = sum;
#endif
}
"""


@pytest.mark.parametrize(
    ("type_", "call", "capability"),
    [
        ("__nv_bfloat162", "__hfma2(a[0], a[1], sum)", Capability.CANNOT),
        ("__nv_bfloat162", "__hadd2(a[0], a[1])", Capability.CAN),  # declared for all, and emulated
        ("__half2", "__hfma2(a[0], a[1], sum)", Capability.CAN),
    ],
)
def test_fused_arithmetic_of_bf16_begins_with_8_0(
    type_: str, call: str, capability: Capability, tmp_path: Path
) -> None:
    text = ARITHMETIC.replace("TYPE", type_).replace("CALL", call)
    assert _found(tmp_path, "sm_75", "axpy.cu", text)[3].capability is capability


EITHER = """\
import torch

def settle(config, fix):
    major, _ = torch.cuda.get_device_capability()
    if config["scaled"] and major != 10:
        if fix:
            config["scaled"] = OFF
        else:
            raise ValueError("scaled needs 10.x")
    return run(config)
"""


@pytest.mark.parametrize(
    ("target", "off", "told"), [("sm_100", "False", False), ("sm_120", "False", True), ("sm_100", "emulate()", True)]
)
def test_a_refusal_that_is_raised_or_switched_off(target: str, off: str, told: bool, tmp_path: Path) -> None:
    found = _found(tmp_path, target, "settle.py", EITHER.replace("OFF", off))
    assert (5 in found) is told


ENVIRONMENT = """\
import os, torch
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

def prepare(device):
    if torch.cuda.get_device_capability(device) not in ((10, 0), (10, 3)):
        raise RuntimeError("needs 10.0 or 10.3")
    TARGET
"""


@pytest.mark.parametrize(
    ("line", "today"),
    [
        ('os.environ["TORCH_CUDA_ARCH_LIST"] = "10.0a"', Consequence.RUNTIME_ERROR),
        (
            "setup(ext_modules=[CUDAExtension('x', ['x.cu'], extra_compile_args={'nvcc': ['-arch=sm_100a']})])",
            Consequence.COMPILE_ERROR,
        ),
    ],
)
def test_a_list_in_the_environment_makes_no_build_script(line: str, today: Consequence, tmp_path: Path) -> None:
    assert _found(tmp_path, "sm_120", "prepare.py", ENVIRONMENT.replace("TARGET", line))[6].consequence is today


WANTED = """\
set(TORCH_CUDA_ARCH_LIST "8.0;9.0")
foreach(wanted IN LISTS ASKED)
  if(NAME IN_LIST TORCH_CUDA_ARCH_LIST)
    list(APPEND kept ${wanted})
  endif()
endforeach()
"""


@pytest.mark.parametrize(("target", "told"), [("sm_89", False), ("sm_75", True)])
def test_a_list_that_is_asked_for_its_own_entry_drops_nothing(target: str, told: bool, tmp_path: Path) -> None:
    assert (1 in _found(tmp_path, target, "archs.cmake", WANTED.replace("NAME", '"8.0"'))) is told


HELPERS = """\
HEAD
#if __CUDA_ARCH__ >= 800
FORM void twice(float* y) { y[0] *= 2.f; }
#endif
"""


@pytest.mark.parametrize(
    ("form", "target", "advice"),
    [
        ("__device__ inline", "sm_75", Advice.LEAVE),  # whoever calls it may need 8.0
        ("__global__", "sm_75", Advice.WIDEN_SAFE),
    ],
)
def test_a_helper_for_newer_chips_is_left(form: str, target: str, advice: Advice, tmp_path: Path) -> None:
    text = HELPERS.replace("FORM", form).replace("HEAD", "#include <cuda_runtime.h>")
    assert _found(tmp_path, target, "twice.cu", text)[2].advice is advice


PART = """\
#include <cuda_runtime.h>
#include <type_traits>
template <typename T>
__global__ void sum(T* y) {
BODY
}
void run(float* y, int cc_major) {
  if (cc_major >= 7) {
    sum<float><<<1, 32>>>(y);
  }
}
"""
LOOSE = "#if __CUDA_ARCH__ >= 800\n  y[0] += 1;\n#endif"
IN_BRANCH = f"  if constexpr (!std::is_same_v<T, float>) {{\n{LOOSE}\n  }}\n  y[1] = 0;"


@pytest.mark.parametrize(("body", "told"), [(LOOSE, True), (IN_BRANCH, False)])
def test_a_launch_is_no_half_of_a_part_that_it_may_not_get_to(body: str, told: bool, tmp_path: Path) -> None:
    found = _found(tmp_path, "sm_75", "sum.cu", PART.replace("BODY", body))
    assert any(f.problem is Problem.DISAGREES for f in found.values()) is told


OVERLOADS = """\
__device__ void multiply(float* y, int) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" ::"r"(1), "r"(2));
}
__device__ void multiply(float* y, long) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4}, {%8}, {%0};" ::"r"(1));
}
__global__ void run(float* y) {
#if __CUDA_ARCH__ < 700
  y[0] = 0;
#else
  multiply(y, 1);
#endif
}
"""


def test_what_one_of_several_overloads_uses_is_in_doubt(tmp_path: Path) -> None:
    found = _found(tmp_path, "sm_75", "run.cu", OVERLOADS)
    assert not [f for f in found.values() if f.problem is Problem.OVER_ADMITTED]
    found = _found(tmp_path, "sm_75", "run.cu", OVERLOADS.split("\n", 3)[3])  # without the first
    assert [f.features for f in found.values() if f.problem is Problem.OVER_ADMITTED] == [("mma-bf16",)]


STUBS = """\
#include <cuda_runtime.h>
FORM void load(float* y) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;");
#else
  __trap();
#endif
}
"""


@pytest.mark.parametrize(("form", "severity"), [("__global__", "high"), ("__device__ inline", "medium")])
def test_a_helper_that_traps_on_older_chips_is_no_harm_that_is_seen(form: str, severity: str, tmp_path: Path) -> None:
    assert _found(tmp_path, "sm_89", "load.cu", STUBS.replace("FORM", form))[3].severity.value == severity


ASKED = """\
import torch

def stages():
    cc = torch.cuda.get_device_capability()
    return [2, 3, 4] if cc in ((8, 0), MORE(9, 0), (10, 0), (10, 1), (10, 3), (10, 7), (11, 0)) else [2, 1]
"""


@pytest.mark.parametrize(("more", "advice"), [("(8, 7), ", Advice.LEAVE), ("", Advice.WIDEN_NEEDS_TUNING)])
def test_those_let_in_may_be_who_has_the_memory(more: str, advice: Advice, tmp_path: Path) -> None:
    (finding,) = _found(tmp_path, "sm_120", "stages.py", ASKED.replace("MORE", more)).values()
    assert finding.advice is advice


NAMES = """\
#include <string>
std::string build_target(int sm_version) {
  if (sm_version >= 90) return "sm_90";
  if (sm_version == 89) return "sm_89";
  if (sm_version >= 86) return "sm_86";
  return "sm_80";
}
"""


@pytest.mark.parametrize(("target", "told"), [("sm_87", False), ("sm_75", True)])
def test_a_name_of_a_build_target_is_right_where_it_loads(target: str, told: bool, tmp_path: Path) -> None:
    found = _found(tmp_path, target, "target.cpp", NAMES)  # 8.6 code runs on 8.7, 8.0 code not on 7.5
    assert bool(found) is told


BY_TYPE = """\
#include <type_traits>
template <typename T>
__device__ void multiply(float* y) {
  if constexpr (CONDITION) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0}, {%1}, {%2}, {%0};" ::"r"(1), "r"(2));
  }
}
__global__ void run(float* y) {
#if __CUDA_ARCH__ < 700
  y[0] = 0;
#else
  multiply<float>(y);
#endif
}
"""


@pytest.mark.parametrize(
    ("condition", "told"), [("std::is_same_v<T, __nv_bfloat16>", False), ("sizeof(int) == 4", True)]
)
def test_what_only_one_type_uses_is_in_doubt(condition: str, told: bool, tmp_path: Path) -> None:
    found = _found(tmp_path, "sm_75", "run.cu", BY_TYPE.replace("CONDITION", condition)).values()
    assert any(f.problem is Problem.OVER_ADMITTED for f in found) is told


@pytest.mark.parametrize(
    ("value", "is_it"),
    [(101376, True), (99, True), (99000, True), (98999, False), (100000, False), (None, False)],  # bytes, KB, thousands
)
def test_how_a_limit_of_memory_is_written(value: int | None, is_it: bool) -> None:
    assert is_limit(value, 101376, "smem_block_optin") is is_it
    assert is_limit(value, 101376, "threads") is (value == 101376)


GATED = """__global__ void k(float* o) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("wgmma.fence.sync.aligned;");
  o[0] = 1;
#endif
}
"""
FLAGS = 'extra_cuda_cflags=["-gencode", "arch=compute_{0},code=sm_{0}"]'


@pytest.mark.parametrize(
    ("images", "found"),
    [
        (("90a",), []),  # nobody compiles it for sm_120, and the list is right as it is
        (("90",), ["jit.py", "k.cu"]),  # the list could be opened
        (("90a", "120"), ["k.cu"]),  # another build does compile it for the target
    ],
)
def test_harm_that_no_build_compiles(tmp_path: Path, images: tuple[str, ...], found: list[str]) -> None:
    (tmp_path / "k.cu").write_text(GATED)
    lines = [
        f'def module{i}():\n    return load(name="y{i}", sources=["k.cu"], {FLAGS.format(one)})\n'
        for i, one in enumerate(images)
    ]
    (tmp_path / "jit.py").write_text("from torch.utils.cpp_extension import load\n\n\n" + "\n\n".join(lines))
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False))
    told = report(facts, select("sm120", CATALOG), CATALOG, JudgeSettings()).findings
    assert sorted(f.path for f in told if f.listed) == found
