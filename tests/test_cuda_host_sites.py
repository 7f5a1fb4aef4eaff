"""Halves of features, resources and error texts in C++, and features reached through calls."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from host_scan import catalog, facts, gate, linked

from archscan.frontends.cuda.host import calls, host_reached
from archscan.frontends.cuda.host.calls import functions
from archscan.frontends.cuda.host.indexing import vocabulary_of
from archscan.frontends.cuda.host.reach import Callables
from archscan.frontends.cuda.includes import Includes, resolved
from archscan.frontends.protocol import Context
from archscan.model.facts import Site, SiteKind
from archscan.model.settings import ScanSettings


def sites(text: str, kind: SiteKind) -> list[Site]:
    return [s for s in facts(text).sites if s.kind is kind]


def live(site: Site) -> set[int]:
    return {t.sm for t in catalog().universe.members(site.truth.yes) if not t.suffix and t.sm >= 80}


HOST = """
static bool can_overlap(int dev) {
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, dev);
  return major >= 9;
}
void launch(bool pdl, int dev, int sm) {
  cudaLaunchAttribute attr[2];
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = can_overlap(dev) ? 1 : 0;
  cfg.attrs = attr;
  cfg.numAttrs = 1;
  cudaLaunchKernelEx(&cfg, scale_kernel<float>, x);
}
void always(bool pdl) {
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = pdl;
}
void counted() {
  static int sm = getSMVersion();
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = 1;
  attr[1].id = cudaLaunchAttributeClusterDimension;
  cfg.numAttrs = sm >= 120 ? 2 : 0;
}
void off() {
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = 0;
}
"""


def test_a_launch_attribute_is_live_where_its_value_is_not_zero() -> None:
    overlap, always, counted = sites(HOST, SiteKind.PDL_ATTRIBUTE)
    assert [s.function for s in (overlap, always, counted)] == ["launch", "always", "counted"]
    assert live(overlap) == {90, 100, 101, 103, 107, 110, 120, 121}
    assert 80 in live(always)
    assert always.detail == "pdl"
    assert live(counted) == {120, 121}
    assert [s.name for s in sites(HOST, SiteKind.LAUNCH)] == ["scale_kernel"]


DEVICE = """
template <int N>
__global__ void __launch_bounds__(256, 2) wait_kernel(float* x) {
  cudaGridDependencySynchronize();
  asm volatile("griddepcontrol.launch_dependents;");
  // cudaGridDependencySynchronize();
}
__global__ void declared_only(float* x);
__global__ void __cluster_dims__(2, 1, 1) cluster_kernel() {}
void run() { wait_kernel<4><<<grid, block, 0, stream>>>(x); ns::cluster_kernel<<<1, 1>>>(); }
"""


def test_device_halves_kernels_and_launches() -> None:
    assert [(s.place.line, s.function) for s in sites(DEVICE, SiteKind.PDL_TRIGGER)] == [(5, "wait_kernel")]
    assert [s.name for s in sites(DEVICE, SiteKind.KERNEL)] == ["wait_kernel", "cluster_kernel"]
    assert [s.name for s in sites(DEVICE, SiteKind.LAUNCH)] == ["wait_kernel", "cluster_kernel"]
    assert [(s.name, s.value) for s in sites(DEVICE, SiteKind.LAUNCH_BOUNDS)] == [("wait_kernel", 512)]
    assert [(s.name, s.value) for s in sites(DEVICE, SiteKind.CLUSTER_DIMS)] == [("cluster_kernel", 2)]


@pytest.mark.parametrize(
    ("declaration", "size"),
    [
        ("__shared__ float tile[128][128];", 65536),
        ("__shared__ __align__(16) half buffer[kStages * kTile];", 4 * 1024 * 2),
        ("__shared__ alignas(128) uint8_t raw[SIZE];", 8192),
        ("__shared__ volatile int4 wide[(1 << 4) + 2];", 288),
    ],
)
def test_static_shared_memory_in_bytes(declaration: str, size: int) -> None:
    constants = "#define SIZE (8 * 1024)\nconstexpr int kStages = 4;\nstatic constexpr int kTile = 1024;\n"
    code = f"{constants}__global__ void k() {{\n  {declaration}\n}}\n"
    (site,) = sites(code, SiteKind.STATIC_SHARED)
    assert (site.value, site.place.line, site.function) == (size, 5, "k")


@pytest.mark.parametrize(
    "declaration",
    [
        "extern __shared__ float dynamic[];",
        "__shared__ T storage[N];",
        "__shared__ float unknown[kUnknown];",
        "__shared__ int one;",
    ],
)
def test_sizes_that_are_not_known_are_not_guessed(declaration: str) -> None:
    assert sites(f"__global__ void k() {{\n  {declaration}\n}}\n", SiteKind.STATIC_SHARED) == []


WRAPPERS = """
__device__ inline void mma_fp8(float* d) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0}, %1, %2;" ::);
}
struct HopperMainloop {
  __device__ void run(float* d) { mma_fp8(d); }
};
"""
DISPATCH = """
template <class Mainloop> __global__ void gemm_kernel(float* d) {
  Mainloop().run(d);
}
void gemm(int sm, float* d) {
  if (sm == 90) {
    gemm_kernel<HopperMainloop><<<1, 128>>>(d);
  } else {
    gemm_plain(d);
  }
}
"""


def test_features_are_found_through_calls_and_template_arguments() -> None:
    files, project = linked(wrappers=WRAPPERS, dispatch=DISPATCH)
    (found,) = files["dispatch"].gates
    uses = {u.feature: u for u in found.arms[0].features}
    assert (uses["wgmma"].via, uses["wgmma"].path, uses["wgmma"].line) == ("HopperMainloop", "wrappers", 3)
    assert found.arms[1].features == ()
    reached = host_reached(project, Context(catalog(), ScanSettings()))
    assert [u.feature for u in reached.of("wrappers", "mma_fp8")] == ["wgmma"]
    assert [u.path for u in reached.of("anywhere", "HopperMainloop")] == ["wrappers"]


def test_a_function_is_read_again_where_it_lies(tmp_path: Path) -> None:
    words = vocabulary_of(Context(catalog(), ScanSettings()))
    code = WRAPPERS.encode()
    file = tmp_path / "wrappers.cuh"
    file.write_bytes(code)
    held = functions(code, "", words, True)
    lying = pickle.loads(pickle.dumps(functions(code, str(file), words, True)))  # which leaves the text behind
    assert held and lying
    assert held.defined == lying.defined
    assert lying.known == ()
    for one in held.defined:
        assert held.called(one.name, words) == lying.called(one.name, words)
    file.write_bytes(code + b"// changed\n")
    assert lying.called("mma_fp8", words) == held.called("mma_fp8", words)  # as it was read
    calls._loaded.cache_clear()
    assert lying.called("mma_fp8", words) == ()


def test_sizes_of_types_count_in_constants_too() -> None:
    code = "constexpr int kTile = 128 * 64;\nconstexpr int kBytes = 3 * 2 * kTile * sizeof(__half) + 16 * 1024;\n"
    kernel = "__global__ void gemm(int* a) { a[0] = 1; }\n"
    raised = "void f() { cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes); }\n"
    assert [s.value for s in sites(code + kernel + raised, SiteKind.DYNAMIC_SHARED)] == [114_688]


def test_a_constant_of_another_function_is_not_meant() -> None:
    kernels = "".join(f"__global__ void {k}(int* a) {{ a[0] = 1; }}\n" for k in ("one", "two"))
    raised = "cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);\n"
    first = f"void f() {{\n  const int bytes = 4 * sizeof(float);\n  {raised.format('one')}}}\n"
    second = f"void g(int bytes) {{\n  {raised.format('two')}}}\n"
    found = sites(kernels + first + second, SiteKind.DYNAMIC_SHARED)
    assert [(s.name, s.value) for s in found] == [("one", 16)]


def test_a_name_means_the_definition_that_is_included() -> None:
    words = vocabulary_of(Context(catalog(), ScanSettings()))
    loads = {
        "a.cuh": "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
        "b.cuh": "cp.async.cg.shared.global",
        "own.cu": "tcgen05.alloc.cta_group::1",
    }
    files = {
        path: functions(f'void load(int* a) {{\n  asm("{used} %0;" :: "r"(a));\n}}\n'.encode(), "", words, True)
        for path, used in loads.items()
    }
    files["use.cu"] = functions(b"__global__ void kernel(int* a) {\n  load(a);\n}\n", "", words, True)
    read = {path: found for path, found in files.items() if found}
    assert len(read) == 4
    includes = Includes(resolved({"a.cuh": (), "b.cuh": (), "own.cu": ("a.cuh",), "use.cu": ("b.cuh",)}))
    found = Callables(read, includes).in_words_of(words)
    assert [u.feature for u in found.of("use.cu", "load")] == ["cp-async"]
    assert [u.feature for u in found.of("own.cu", "load")] == ["tcgen05"]  # its own before that of a header
    assert [u.feature for u in found.of("use.cu", "kernel")] == ["cp-async"]
    assert found.of("elsewhere.cu", "load") == ()  # three unrelated files define it
    one = Callables({"a.cu": read["a.cuh"]}, Includes({})).in_words_of(words)
    assert [u.feature for u in one.of("x.cu", "load")] == ["wgmma"]
    header = Callables({"a.cuh": read["a.cuh"]}, Includes({})).in_words_of(words)
    assert header.of("x.cu", "load") == ()  # a header that is not included


@pytest.mark.parametrize(
    "launch",
    ["wgk<<<1, 128, 0, s>>>(x);", "cudaLaunchKernelEx(&cfg, wgk, x);", "cudaLaunchKernel((void*)wgk, g, b, a);"],
)
def test_a_launched_kernel_is_called_whatever_its_name_is(launch: str) -> None:
    kernel = '__global__ void wgk(float* x) {\n  asm volatile("wgmma.fence.sync.aligned;");\n}\n'
    found = gate(f"{kernel}void run(int major) {{\n  if (major >= 9) {{ {launch} }} else {{ other(); }}\n}}\n")
    assert [(u.feature, u.via) for u in found.arms[0].features] == [("wgmma", "wgk")]


def test_names_alone_are_weak_evidence() -> None:
    found = gate("void f(int sm) {\n  if (sm >= 100) { launch_tcgen05_gemm(); }\n}\n")
    assert [(u.feature, u.confidence) for u in found.arms[0].features] == [("tcgen05-mma", "low")] or all(
        u.confidence == "low" for u in found.arms[0].features
    )


STRUCTURES = """
constexpr int kN = 64;
union U { float f[1024]; __half h[kN * 1024]; };
struct Inner { float x, y; int4 z[2]; };
template <typename T, int S>
struct Pipe {
  static constexpr int stages = S;  // no member
  alignas(16) T a[S][kN * 128];
  Inner in[4];
  union { float f; double d[16]; } either;
  __device__ int get(int i) { return i; }
  U u;
};
struct Open { T unknown[4]; };
"""


@pytest.mark.parametrize(
    ("declaration", "size"),
    [
        ("Inner one;", 40),
        ("U two[2];", 2 * 64 * 1024 * 2),
        ("Pipe<__half, 4> pipe;", 4 * 64 * 128 * 2 + 4 * 40 + 128 + 64 * 1024 * 2),
        ("Pipe<float, 2> pipe;", 2 * 64 * 128 * 4 + 4 * 40 + 128 + 64 * 1024 * 2),
        ("Open open;", None),
        ("Elsewhere<3> other;", None),
    ],
)
def test_structures_in_shared_memory(declaration: str, size: int | None) -> None:
    code = f"{STRUCTURES}__global__ void k() {{\n  __shared__ {declaration}\n}}\n"
    assert [s.value for s in sites(code, SiteKind.STATIC_SHARED)] == ([size] if size else [])


def test_shared_memory_that_the_target_decides() -> None:
    code = """__global__ void big(__half* x);
void launch_big(__half* x, int sm) {
  int smem = 64 * 1024;
  if (sm >= 90) {
    smem = 200 * 1024;
  } else if (sm == 80) {
    smem = 160 * 1024;
  }
  cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
}
"""
    found = {s.value // 1024: s.truth.yes for s in sites(code, SiteKind.DYNAMIC_SHARED)}
    by_name, bit = catalog().universe.by_name, catalog().universe.bit
    assert set(found) == {64, 200, 160}
    assert found[200] & bit(by_name["sm_120"])
    assert found[160] & bit(by_name["sm_80"])
    assert found[64] & bit(by_name["sm_89"])
