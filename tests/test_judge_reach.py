"""What is told only where the target gets there: refusals before a list, other toolkits, other passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.finding import Finding
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()


def found(folder: Path, name: str, text: str, target: str, cuda: str = "13.0") -> list[Finding]:
    """What is reported for a file on its own, by line."""
    (folder / name).write_text(text)
    facts = scan([str(folder)], CATALOG, ScanSettings(use_cache=False, cuda=cuda))
    return sorted(report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings, key=lambda f: f.place.line)


RUNGS = """\
import os, subprocess
from packaging.version import Version, parse

def toolkit():
    text = subprocess.check_output(["nvcc", "-V"], text=True).split()
    return parse(text[text.index("release") + 1].split(",")[0])

if toolkit() >= Version("12.8"):
    os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0;9.0;12.0"
else:
    os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0;9.0"
"""
REFUSED = """\
import os, torch

def prepare(device):
    if torch.cuda.get_device_capability(device) != (10, 0):
        raise RuntimeError("made for 10.0")
    os.environ["CUTE_DSL_ARCH"] = "sm_100a"
"""


@pytest.mark.parametrize(("cuda", "wanted"), [("12.8", []), ("12.6", [11])])
def test_a_list_for_another_toolkit_is_no_list(cuda: str, wanted: list[int], tmp_path: Path) -> None:
    got = found(tmp_path, "setup.py", RUNGS, "sm_120", cuda)
    assert [f.place.line for f in got] == wanted


def test_a_list_behind_a_refusal_is_for_whom_it_leaves(tmp_path: Path) -> None:
    assert [f.place.line for f in found(tmp_path, "prepare.py", REFUSED, "sm_120")] == [4]
    assert found(tmp_path, "prepare.py", REFUSED, "sm_100") == []
    open_ = REFUSED.replace("        raise", "        print")
    assert [f.place.line for f in found(tmp_path, "prepare.py", open_, "sm_120")][-1] == 6


HIP = """\
#pragma once
INCLUDES
#define BOUNDS __launch_bounds__(512, 4)
__global__ void BOUNDS scale(float* x) { x[threadIdx.x] *= 2.f; }
"""


@pytest.mark.parametrize(
    ("includes", "wanted"),
    [
        ("#include <hip/hip_runtime.h>", []),
        ("#ifdef USE_ROCM\n#include <hip/hip_runtime.h>\n#endif", [6]),
        ("#include <hip/hip_runtime.h>\n#include <cuda_runtime.h>", [5]),
        ("#include <cuda_runtime.h>", [4]),
    ],
)
def test_a_header_of_another_maker_is_not_ours(includes: str, wanted: list[int], tmp_path: Path) -> None:
    text = HIP.replace("INCLUDES", includes).replace("BOUNDS scale", "__launch_bounds__(512, 4) scale")
    got = found(tmp_path, "base.cuh", text.replace("#define BOUNDS __launch_bounds__(512, 4)", ""), "sm_120")
    assert [f.place.line for f in got if f.problem.value == "over-admitted"] == wanted


PASSES = """\
__device__ void edit(void* map, unsigned long long address) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"l"(map), "l"(address));
}
__global__ void run(void* map, unsigned long long address) {
#ifdef __CUDA_ARCH__
  if constexpr (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < BOUND) {
    edit(map, address);
  }
#endif
}
"""


@pytest.mark.parametrize(("bound", "wanted"), [("1000", []), ("1300", [6])])
def test_device_code_against_host_code_lets_nobody_in(bound: str, wanted: list[int], tmp_path: Path) -> None:
    got = found(tmp_path, "edit.cu", PASSES.replace("BOUND", bound), "sm_120")
    assert [f.place.line for f in got if f.problem.value == "over-admitted"] == wanted


HELPERS = """\
__device__ __forceinline__ void cp_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;");
#endif
}
__global__ void stage(int4* b) { NAME(); b[threadIdx.x] = int4(); }
void run(int device, int4* b) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, device);
  if (prop.major != 12)
    stage<<<1, 128>>>(b);
  else
    other<<<1, 128>>>(b);
}
"""


@pytest.mark.parametrize(("name", "wanted"), [("cp_async_wait", []), ("cp_async_fence", [10])])
def test_a_guarded_helper_is_no_need_whatever_its_name(name: str, wanted: list[int], tmp_path: Path) -> None:
    got = found(tmp_path, "stage.cu", HELPERS.replace("NAME", name), "sm_75")
    assert [f.place.line for f in got if f.problem.value == "over-admitted"] == wanted


MEMBER = """\
struct Scan {
  __device__ static void run(float* p) {
    cutlass::arch::wait_on_dependent_grids();
    p[threadIdx.x] += 1;
    INSIDE
  }
};
__global__ void scan(float* p) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
  Scan::run(p);
#endif
  OUTSIDE
}
"""
TRIGGER = "cutlass::arch::launch_dependent_grids();"


@pytest.mark.parametrize(("where", "wanted"), [("INSIDE", []), ("OUTSIDE", [12])])
def test_a_trigger_that_goes_with_the_wait_is_no_half(where: str, wanted: list[int], tmp_path: Path) -> None:
    text = MEMBER.replace(where, TRIGGER).replace("INSIDE", "").replace("OUTSIDE", "")
    got = found(tmp_path, "scan.cu", text, "sm_120")
    assert [f.place.line for f in got if f.problem.value == "disagrees"] == wanted


LAYOUT = """\
static bool tensor_tiles(int cc) {
  switch (cc) {
    case 80: return true;
    case 90: return true;
    default: return false;
  }
}
__global__ void similarity(const unsigned* a, int* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] = __popc(a[threadIdx.x]);
#else
  out[blockIdx.x * 32 + threadIdx.x] = __popc(a[threadIdx.x]);
#endif
}
void run(int cc, const unsigned* a, int* out, int n) {
  int per_block = tensor_tiles(cc) ? 8 : 32;
  similarity<<<n / per_block, 32>>>(a, out);
}
"""


def test_a_launch_laid_out_for_the_other_way_gives_wrong_results(tmp_path: Path) -> None:
    got = {f.place.line: f.consequence.value for f in found(tmp_path, "a.cu", LAYOUT, "sm_103")}
    assert got and set(got.values()) == {"wrong_result"}
    apart = LAYOUT.replace("__CUDA_ARCH__ >= 800", "__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900")
    got = {f.place.line: f.consequence.value for f in found(tmp_path, "a.cu", apart, "sm_103")}
    assert got and "wrong_result" not in got.values()


HOLLOW = """\
__device__ inline void store_release(unsigned long long* p, unsigned long long v) {
#if __CUDA_ARCH__ >= BOUND
  asm volatile("st.async.mmio.release.global.sys.u64 [%0], %1;" ::"l"(p), "l"(v));
#endif
}
__device__ void ring(unsigned long long* p, unsigned long long v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200
  store_release(p, v);
#else
  *p = v;
#endif
}
"""


@pytest.mark.parametrize(("target", "capability"), [("sm_90", "cannot"), ("sm_120", "can")])
def test_a_wrapper_that_is_empty_there_cannot_be_called_instead(target: str, capability: str, tmp_path: Path) -> None:
    got = found(tmp_path, "ring.cuh", HOLLOW.replace("BOUND", "1000"), target)
    assert [f.capability.value for f in got if f.place.line == 7] == [capability]


CONVERTS = """\
__global__ void pack(float* in, unsigned char* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  asm volatile("{ .reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, %1, %2; mov.b16 %0, {b, b}; }"
               : "=h"(*(short*)out) : "f"(in[0]), "f"(in[1]));
#endif
}
"""
LISTED = "add_library(fp4 fp4.cu)\nset_target_properties(fp4 PROPERTIES CUDA_ARCHITECTURES {0})\n"
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension
setup(ext_modules=[CUDAExtension("fp4", ["fp4.cu"], extra_compile_args={{"nvcc": [{0}]}})])
"""
OTHER = "add_library(other other.cu)\nset_target_properties(other PROPERTIES CUDA_ARCHITECTURES {0})\n"
ON_90 = '"-gencode", "arch=compute_90,code=sm_90"'
NARROW, ASKED = ("narrow", "medium"), ("investigate", "low")


@pytest.mark.parametrize(
    ("build", "images", "told"),
    [
        ("CMakeLists.txt", LISTED.format('"90;120"'), NARROW),  # plain 12.0 is made of this file, and cannot
        ("CMakeLists.txt", LISTED.format('"90;120a"'), None),  # what is made can
        ("CMakeLists.txt", OTHER.format('"90;120"'), ASKED),  # of another file; of this one nobody knows
        ("setup.py", SETUP.format(f'{ON_90}, "-gencode", "arch=compute_120f,code=sm_120"'), None),
        ("setup.py", SETUP.format(f'{ON_90}, "-gencode=arch=compute_120,code=sm_120"'), NARROW),
        ("setup.py", SETUP.format('"-O3"'), ASKED),  # torch asks the GPU or a variable
    ],
)  # fmt: skip
def test_a_suffix_is_missing_only_where_plain_code_is_made(
    build: str, images: str, told: tuple[str, str] | None, tmp_path: Path
) -> None:
    (tmp_path / build).write_text(images)
    here = [f for f in found(tmp_path, "fp4.cu", CONVERTS, "sm120") if f.path == "fp4.cu"]
    assert [(f.advice.value, f.severity.value) for f in here] == ([told] if told else [])


def test_without_any_build_the_reader_is_the_build(tmp_path: Path) -> None:
    (told,) = found(tmp_path, "fp4.cu", CONVERTS, "sm120")
    assert (told.advice.value, told.severity.value) == ("narrow", "low")


UNPAIRED = """\
__global__ void k(float* o) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  asm volatile("griddepcontrol.wait;");
#endif
  o[0] = 1;
}
void run(float* o, cudaStream_t s) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, k, o);
}
"""


@pytest.mark.parametrize(
    ("images", "told"),
    [
        ("90;120", ["high"]),
        ("90-real;100-real", ["low"]),  # once the list is opened
        ("90;100", []),  # what runs is PTX of 10.0, and that waits
    ],
)
def test_a_race_is_one_where_the_kernel_is_built(images: str, told: list[str], tmp_path: Path) -> None:
    listed = f'add_library(k k.cu)\nset_target_properties(k PROPERTIES CUDA_ARCHITECTURES "{images}")\n'
    (tmp_path / "CMakeLists.txt").write_text(listed)
    here = [f for f in found(tmp_path, "k.cu", UNPAIRED, "sm120") if f.problem.value == "disagrees"]
    assert [f.severity.value for f in here] == told
