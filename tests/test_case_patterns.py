"""Small C++ and CMake patterns: what is reported for a target, and the advice."""

from __future__ import annotations

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()
ASSERTED = """\
#ifdef __CUDA_ARCH__
static_assert(__CUDA_ARCH__ >= 900, "needs clusters");
#endif
__device__ void sync() { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
"""
BOUNDED = """\
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
#define BLOCKS 3
#else
#define BLOCKS 4
#endif
__global__ __launch_bounds__(512, BLOCKS) void scale(float* x) { x[threadIdx.x] *= 2.f; }
"""
DIGITS = """\
set(ARCH "12.0" CACHE STRING "compute capability")
if(NOT ARCH MATCHES "^[0-9]\\\\.[0-9]$")
  message(FATAL_ERROR "bad compute capability ${ARCH}")
endif()
"""
MATCHED = """\
set(ARCH "12.0" CACHE STRING "compute capability")
string(REGEX MATCH "^[0-9]\\.[0-9]" KNOWN "${ARCH}")
if(NOT KNOWN)
  message(FATAL_ERROR "bad compute capability ${ARCH}")
endif()
"""
NAMED = """\
set(ARCH "12.0" CACHE STRING "compute capability")
if(NOT ARCH MATCHES "^(8|9)\\\\.[0-9]$")
  message(FATAL_ERROR "not for ${ARCH}")
endif()
"""
OUTGROWN = """\
#include <stdexcept>
void launch(cudaDeviceProp const& prop, float* x)
{
    int const sm = prop.major * 10 + prop.minor;
    switch (sm) {
    case 90:
    case LAST:
        launchScaleSm90(x);
        break;
    default:
        throw std::runtime_error("unsupported");
    }
}
"""
SUFFIXED = """\
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL)
#define HAS_SETMAXNREG 1
#endif
template <int N>
__device__ inline void release()
{
#ifdef HAS_SETMAXNREG
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
#endif
}
"""
CHECKED = """\
void quantize(at::Tensor& out)
{
    auto* prop = at::cuda::getCurrentDeviceProperties();
    int const cc = prop->major * 10 + prop->minor;
    TORCH_CHECK(cc == 89 || cc == 90 || cc == 100 || cc == 120, "GPU not supported");
    quantize_kernel(out);
}
"""


@pytest.mark.parametrize(
    ("name", "source", "target", "wanted"),
    [
        ("a.cuh", ASSERTED, "sm_89", [(2, "leave")]),
        ("a.cuh", ASSERTED, "sm_120", []),
        ("a.cu", BOUNDED, "sm_120", [(1, "widen-safe")]),  # 3 blocks of 512 are what fits there as well
        ("a.cu", BOUNDED, "sm_86", []),
        ("a.cmake", DIGITS, "sm_120", [(2, "widen-safe")]),
        ("a.cmake", DIGITS, "sm_90", []),
        ("a.cmake", MATCHED, "sm_120", [(3, "widen-safe")]),
        ("a.cmake", NAMED, "sm_120", [(2, "investigate")]),
        ("a.cpp", OUTGROWN.replace("    case LAST:\n", ""), "sm_120", [(6, "leave")]),  # one chip
        ("a.cpp", OUTGROWN.replace("LAST", "100"), "sm_120", [(6, "investigate")]),
        ("c.cuh", SUFFIXED, "sm_120f", [(1, "widen-safe"), (7, "pair")]),
        ("b.cpp", CHECKED, "sm_110", [(5, "investigate")]),
        ("b.cpp", CHECKED.replace(" || cc == 120", ""), "sm_120", [(5, "investigate")]),
    ],
)
def test_reports_the_line_and_advice(tmp_path, name, source, target, wanted):
    file = tmp_path / name
    file.write_text(source)
    facts = scan([str(file)], CATALOG, ScanSettings(use_cache=False))
    found = report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings
    assert [(f.place.line, f.advice.value) for f in found] == wanted
