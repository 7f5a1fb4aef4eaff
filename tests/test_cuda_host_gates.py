"""Capability gates in host C++: what each arm admits, on both sides of the boundary, and what the others get."""

from __future__ import annotations

import pytest
from host_scan import admits, catalog, facts, gate, gates, linked

from archscan.model.gate import Does, Kind, Layer, Role

ALL = {80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121}
BELOW_90 = {80, 86, 87, 88, 89}
FROM_90 = ALL - BELOW_90

GET_SM = """
inline int getSMVersion() {
  int device = -1;
  CUDACHECK(cudaGetDevice(&device));
  int sm_major = 0, sm_minor = 0;
  CUDACHECK(cudaDeviceGetAttribute(&sm_major, cudaDevAttrComputeCapabilityMajor, device));
  CUDACHECK(cudaDeviceGetAttribute(&sm_minor, cudaDevAttrComputeCapabilityMinor, device));
  return sm_major * 10 + sm_minor;
}
"""


# capability values


@pytest.mark.parametrize(
    ("condition", "admitted"),
    [
        ("major >= 9", FROM_90),
        ("cc >= 90", FROM_90),
        ("arch >= 900", FROM_90),
        ("sm_version / 10 == 12", {120, 121}),
        ("ptx_version == 900", {90}),
        ("arch / 100 == 12", {120, 121}),
        ("prop.major == 12 && prop.minor == 0", {120}),
        ("props->major * 10 + props->minor > 90", FROM_90 - {90}),
        ("90 <= smVersion && smVersion < 120", FROM_90 - {120, 121}),
        ("!(cc < 120)", {120, 121}),
        ("cc == 86 || cc == 89", {86, 89}),
        ("static_cast<int>(compute_capability) != 120", ALL - {120}),
        ("at::cuda::getCurrentDeviceProperties()->major >= 10 and true", FROM_90 - {90}),
    ],
)
def test_conditions_over_the_universe(condition: str, admitted: set[int]) -> None:
    found = gate(f"void run(int major, int cc, int arch) {{\n  if ({condition}) {{ fast(); }} else {{ slow(); }}\n}}\n")
    assert (found.kind, found.layer) == (Kind.IF, Layer.HOST)
    assert admits(found.arms[0]) == admitted
    assert found.arms[1].is_else
    assert admits(found.arms[1]) == ALL - admitted


@pytest.mark.parametrize(
    ("condition", "admitted"),
    [("cc == 90 || force", {90}), ("cc == 90 && force", {90}), ("force || cc >= 120", {120, 121})],
)
def test_a_flag_beside_a_capability_leaves_the_decision_to_it(condition: str, admitted: set[int]) -> None:
    found = gate(f"void run(int cc, bool force) {{\n  if ({condition}) {{ fast(); }} else {{ slow(); }}\n}}\n")
    assert admits(found.arms[0]) == admitted


def test_truth_of_a_gpu_is_that_of_its_sm_and_the_host_pass_stays_unknown() -> None:
    universe = catalog().universe
    truth = gate("void f(int sm) {\n  if (sm == 120) g();\n}\n").arms[0].truth
    assert all(truth.word(universe.bit(v)) == "yes" for v in universe.variants(120))
    assert truth.word(universe.host) == "unknown"


@pytest.mark.parametrize(
    "code",
    [
        "void f(int sm_count) { if (sm_count == 120) g(); }",
        "void f(int num_sm) { if (num_sm >= 100) g(); }",
        "void f(float sm_scale) { if (sm_scale == 1) g(); }",
        "void f(int smem) { if (smem > 100) g(); }",
        "void f(P prop) { if (prop.multiProcessorCount > 90) g(); }",
        "void f(int v) { int major = v / 1000; if (major >= 12) g(); }",
        "void f() { int v; cudaRuntimeGetVersion(&v); int cuda_major = v / 1000; if (cuda_major < 12) g(); }",
        "void f(D driver) { if (driver_version.major >= 12) g(); }",
        "void f() {\n  int major = 0;\n  cudaDeviceGetAttribute(&major, cudaDevAttrMultiProcessorCount, 0);\n"
        "  if (major > 90) g();\n}",
        "template <int Arch> void f() { if constexpr (Arch >= 90) { g(); } }",
        "void f(int mma_sm) { if (mma_sm == 1) g(); else if (mma_sm == 2) h(); }",
        "// when sm < 80\nvoid f() { g(); }",
    ],
)
def test_look_alikes_are_no_gates(code: str) -> None:
    assert gates(code) == ()


def test_a_chosen_number_is_no_capability() -> None:
    code = "void f(int sm) {\n  int tile = sm >= 90 ? 8 : 1;\n  if (tile < 8) g();\n  if (tile > 2) h();\n}\n"
    assert [g.place.line for g in gates(code)] == [2]


BITS = """\
constexpr unsigned kMajors = (1u << 9) | (1u << 10);
void f(D prop) {
  if (CONDITION) { g(); } else { h(); }
}
"""


@pytest.mark.parametrize(
    "condition",
    [
        "(kMajors >> prop.major) & 1u",
        "((kMajors >> prop.major) & 1u) != 0",
        "kMajors & (1u << prop.major)",
        "(prop.major == 9) != (prop.major == 10)",
        "(prop.major == 9 || prop.major == 10) == true",
    ],
)
def test_bits_and_answers_are_asked_for(condition: str) -> None:
    assert admits(gate(BITS.replace("CONDITION", condition)).arms[0]) == {90, 100, 101, 103, 107}


@pytest.mark.parametrize(("value", "lines"), [("(0x600 >> prop.major) & 1", [2]), ("(prop.major + 7) & 1", [])])
def test_a_bit_is_returned_as_a_truth(value: str, lines: list[int]) -> None:
    assert [g.place.line for g in gates(f"bool f(D prop) {{\n  return {value};\n}}\n")] == lines


def test_a_chosen_number_is_no_answer() -> None:
    code = "void f(int sm) {\n  int tile = sm >= 90 ? 8 : 1;\n  if ((tile & 7) != 0) g();\n}\n"
    assert [g.place.line for g in gates(code)] == [2]


# TensorRT-LLM style: helper, member, check macros, constants


def test_a_member_holds_what_a_helper_of_another_file_returns() -> None:
    runner = """
class Runner {
 public:
  explicit Runner(int dtype) : mDtype(dtype), mDeviceKind(getSMVersion()) {
    TLLM_CHECK_WITH_INFO(mDeviceKind == kSM_100 || mDeviceKind == kSM_103,
                         "Unsupported architecture %d", mDeviceKind);
  }
  void run() {
    if (mDeviceKind < kSM_90) { throw std::runtime_error("too old"); }
    launch();
  }
};
"""
    constants = "enum SM { kSM_90 = 90, kSM_100 = 100, kSM_103 = 103 };\nint use(int sm) { return sm == kSM_90; }\n"
    files, _ = linked(a=GET_SM, b=runner, c=constants)
    check, refusal = files["b"].gates
    assert (check.kind, check.place.line, admits(check.arms[0])) == (Kind.CHECK, 5, {100, 103})
    assert (check.rest.does, check.rest.message) == (Does.RAISES, "Unsupported architecture %d")
    assert check.related[0].path == "a"
    assert check.related[0].role is Role.DEFINITION
    assert (refusal.arms[0].effect.does, admits(refusal.arms[0])) == (Does.RAISES, BELOW_90)
    assert refusal.rest.does is Does.WORK


@pytest.mark.parametrize(
    ("check", "does"),
    [
        ('TORCH_CHECK(major == 10, "no")', Does.RAISES),
        ('STD_TORCH_CHECK(\n      major == 10, "no")', Does.RAISES),
        ('TVM_FFI_ICHECK_EQ(major, 10) << "no"', Does.RAISES),
        ('FLASHINFER_CHECK(major == 10, "no")', Does.RAISES),
        ('NVTE_CHECK(major == 10, "no")', Does.RAISES),
        ('RuntimeCheck(major == 10, "no")', Does.RAISES),
        ('assert(major == 10 && "no")', Does.ASSERTS),
    ],
)
def test_checks_admit_and_refuse(check: str, does: Does) -> None:
    read = "int major = 0;\n  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);"
    code = f"void f() {{\n  {read}\n  {check};\n  run();\n}}\n"
    found = gate(code)
    assert found.kind is Kind.CHECK
    assert admits(found.arms[0]) == {100, 101, 103, 107}
    assert (found.rest.does, found.rest.message) == (does, "no")
    assert found.arms[0].calls == ("run",)


def test_a_requirement_of_a_feature_is_no_exclusion_without_it() -> None:
    code = "void f(int sm) {\n  TLLM_CHECK(sm >= 90 || !config.is_tma);\n  TLLM_CHECK(sm >= 80 && aligned);\n}\n"
    first, second = gates(code)
    assert admits(first.arms[0]) == FROM_90
    assert first.arms[0].assumes == ("config.is_tma",)
    assert admits(second.arms[0]) == ALL


def test_a_refusal_of_invalid_input_is_not_the_architectures() -> None:
    code = "int f(int sm) {\n  if (sm == 120 && !valid()) return -1;\n  return g();\n}\n"
    assert admits(gate(code).arms[0]) == set()


def test_one_of_several_refusals_that_asks_for_more_excludes_nobody() -> None:
    found = gate(
        "int f(int sm) {\n  if (!valid<T>() || (use_w4 && sm != 89) || use_fp4) return {};\n  return g(sm);\n}\n"
    )
    assert found.arms[0].assumed.yes == 0
    assert admits(gate("int f(int sm) { if (empty() || sm < 80) return -1; return g(); }").arms[0]) == set()
    asks = gate("void f(int sm) { if (use_fp8 && sm < 89) throw 1; g(); }")
    assert admits(asks.arms[0]) == BELOW_90 - {89}
    assert asks.arms[0].assumes == ("use_fp8",)


def test_names_of_constants_do_not_decide_their_value() -> None:
    code = "constexpr int BLACKWELL = 1200;\nvoid f(int arch) {\n  if (arch >= BLACKWELL) g();\n}\n"
    assert admits(gate(code).arms[0]) == {120, 121}


# ladders, early returns, switches


LADDER = """
int tile(int sm_version) {
  if (sm_version == 120) return kTile120;
  if (sm_version >= 100) return kTile100;
  if (sm_version == 90) return kTile90;
  assert(false && "Invalid SM version");
  return -1;
}
"""


def test_early_returns_are_one_ladder() -> None:
    found = gate(LADDER)
    assert [admits(a) for a in found.arms] == [{120}, FROM_90 - {90, 120}, {90}]
    assert found.arms[2].effect.value == "kTile90"
    assert found.rest.does is Does.ASSERTS


VLLM = """
void cutlass_mm(torch::Tensor& c) {
  int32_t version_num = get_sm_version_num();
#if defined ENABLE_MM_SM120 && ENABLE_MM_SM120
  if (version_num >= 120) {
    mm_sm120(c);
    return;
  }
#endif
#if defined ENABLE_MM_SM90 && ENABLE_MM_SM90
  if (version_num >= 90 && version_num < 100) {
    mm_sm90(c);
    return;
  }
#endif
  TORCH_CHECK_NOT_IMPLEMENTED(false, "No compiled mm for a compute capability ", version_num);
}
"""


def test_a_ladder_over_build_macros_assumes_them_and_names_them() -> None:
    found = gate(VLLM)
    assert [admits(a) for a in found.arms] == [{120, 121}, {90}]
    assert "ENABLE_MM_SM120" in found.arms[0].assumes[0]
    assert found.arms[0].calls == ("mm_sm120",)
    assert found.rest.does is Does.RAISES
    assert found.rest.message == "No compiled mm for a compute capability "
    universe = catalog().universe
    assert found.arms[0].truth.word(universe.bit(universe.by_name["sm_120"])) == "unknown"


SWITCH = """
static bool tiles(int cc) {
  switch (cc) {
#ifdef HAVE_CC_80
    case 80: return true;
#endif
    case 86:
    case 89: return true;
#ifdef HAVE_CC_100
    case 100: return true;
#endif
    default: return false;
  }
}
void run(int cc, int n) { int per_block = tiles(cc) ? 8 : 32; launch(n / per_block); }
"""


def test_a_switch_is_placed_where_it_stands_with_its_uses_related() -> None:
    found = gate(SWITCH)
    assert (found.kind, found.place.line) == (Kind.SWITCH, 3)
    assert [admits(a) for a in found.arms] == [{80}, {86, 89}, {100}, ALL - {80, 86, 89, 100}]
    assert found.arms[0].assumes == ("defined(HAVE_CC_80)",)
    assert found.arms[1].assumes == ()
    assert found.arms[3].effect.does is Does.REFUSES
    assert [(r.line, r.role) for r in found.related] == [(15, Role.CALLER)]


def test_an_else_cut_off_by_an_if_directive_stays_in_its_chain() -> None:
    code = """void f(C config) {
  if (config.sm_version == 90) {
    a();
  }
#ifdef HAVE_103
  else if (config.sm_version == 103) {
    b();
  }
#endif
  else if (config.sm_version >= 100) {
    c();
  } else {
    d();
  }
}
"""
    found = gate(code)
    assert [admits(a) for a in found.arms] == [{90}, {103}, FROM_90 - {90, 103}, BELOW_90]
    assert [a.calls for a in found.arms] == [("a",), ("b",), ("c",), ("d",)]


# llama.cpp style: named thresholds, predicates, macros


GGML = """
#define GGML_CUDA_CC_TURING 750
#define GGML_CUDA_CC_AMPERE 800
#define GGML_CUDA_CC_BLACKWELL 1200
#define GGML_CUDA_CC_RUBIN 1300
#define GGML_CUDA_CC_OFFSET_AMD 0x1000000
#define GGML_CUDA_CC_IS_NVIDIA(cc) (cc < GGML_CUDA_CC_OFFSET_AMD)
static bool blackwell_mma_available(const int cc) {
  return GGML_CUDA_CC_IS_NVIDIA(cc) && cc >= GGML_CUDA_CC_BLACKWELL && cc < GGML_CUDA_CC_RUBIN;
}
bool flash_attn_available(const int cc) { return cc >= GGML_CUDA_CC_AMPERE; }
void mul_mat(int id) {
  const int cc = ggml_cuda_info().devices[ggml_cuda_get_device()].cc;
  if (blackwell_mma_available(cc)) {
    mul_mat_fp4<<<1, 32>>>();
  } else {
    mul_mat_generic<<<1, 32>>>();
  }
}
"""


def test_a_predicate_is_a_gate_where_it_decides() -> None:
    unused, used = gates(GGML)
    assert (unused.kind, unused.place.line) == (Kind.RETURNED_TRUTH, 11)
    assert admits(unused.arms[0]) == ALL
    assert unused.rest.does is Does.REFUSES
    assert (used.kind, used.place.line) == (Kind.IF, 14)
    assert admits(used.arms[0]) == {120, 121}
    assert [r.line for r in used.related] == [7, 9]
    assert used.arms[0].calls == ("mul_mat_fp4",)


def test_a_compiled_arch_is_taken_for_the_devices() -> None:
    code = "bool f(int cc) {\n  if (highest_compiled_arch(cc) >= 800) {\n    g();\n  }\n}\n"
    arm = gate(code).arms[0]
    assert admits(arm) == ALL
    assert arm.assumes == ("highest_compiled_arch(cc) == cc",)


# transformer-engine style: sm_arch(), flags, device constants


def test_a_flag_is_a_gate_where_it_decides_or_where_it_is_set() -> None:
    code = """void quantize(int n) {
  const int sm = cuda::sm_arch(cuda::current_device());
  const bool fast = (sm == 90 || sm == 100);
  params.use_tma = sm == 90;
  if (fast && n % 128 == 0) { tma(n); } else { plain(n); }
}
"""
    member, used = gates(code)
    assert (member.kind, member.place.line, admits(member.arms[0])) == (Kind.FLAG, 4, {90})
    assert member.symbols[0] == "params.use_tma"
    assert (used.place.line, admits(used.arms[0])) == (5, {90, 100})
    assert [(r.line, r.role) for r in used.related] == [(3, Role.DEFINITION)]
    assert used.arms[0].assumes == ("n % 128 == 0",)


def test_if_constexpr_on_the_arch_macro_is_a_device_gate() -> None:
    code = """template <typename T> __global__ void k(T* p) {
  constexpr bool has_tma = __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000;
  if constexpr (has_tma) {
    asm volatile("cp.async.bulk.commit_group;");
  } else {
    p[0] = 1;
  }
}
"""
    found = gate(code)
    assert (found.kind, found.layer) == (Kind.CONSTEXPR_IF, Layer.DEVICE)
    assert found.scope is not None
    assert found.scope.is_kernel
    assert admits(found.arms[0]) == {90}
    assert [u.feature for u in found.arms[0].features] == ["tma-bulk"]


def test_checks_in_macro_bodies_keep_their_lines() -> None:
    code = """#define DISPATCH(capacity, N, ...)   \\
  if (capacity.first >= 9) {         \\
    constexpr int N = 4;             \\
    __VA_ARGS__                      \\
  } else {                           \\
    throw std::runtime_error("old"); \\
  }
auto compute_capacity = GetCudaComputeCapability();
void f(int sm) { if (sm >= 90) g(); }
"""
    found = gate(code.replace("capacity.first", "compute_capability.first"), line=2)
    assert admits(found.arms[0]) == FROM_90
    assert found.arms[1].effect.does is Does.RAISES


# templates


WINDOWS = """template <int Begin, int End>
struct Span {
  __host__ __device__ static constexpr bool holds(int a) { return a >= Begin && a < End; }
};
using Old = Span<800, 900>;
using New = Span<1000, 1200>;
template <class Arch>
__global__ void axpy(float* y) {
  if constexpr (Arch::holds(__CUDA_ARCH__)) {
    y[threadIdx.x] += 1;
  }
}
"""


def test_a_range_as_template_argument_is_a_window_at_its_alias() -> None:
    old, new = gates(WINDOWS)
    assert [(g.kind, g.place.line) for g in (old, new)] == [(Kind.WINDOW, 5), (Kind.WINDOW, 6)]
    assert admits(old.arms[0]) == BELOW_90
    assert admits(new.arms[0]) == {100, 101, 103, 107, 110}
    assert new.rest.does is Does.NOTHING
    assert [(r.line, r.role) for r in new.related] == [(9, Role.CALLER)]
    assert facts(WINDOWS).undecided == ()


CONDITION = """
#ifdef __CUDA_ARCH__
struct arch_info { static constexpr int mMajor = __CUDA_ARCH__ / 100; };
#else
struct arch_info { static constexpr int mMajor = 0; };
#endif
template <int Major>
struct is_major : std::bool_constant<detail::arch_info::mMajor == Major> {};
template <int Major>
inline constexpr bool is_major_v = is_major<Major>::value;
"""


def test_variable_templates_are_followed_to_the_macro() -> None:
    test = "arch::is_major_v<10> || arch::is_major_v<11>"
    use = f"__device__ void f() {{\n  if constexpr ({test}) {{\n    g();\n  }} else {{\n    __trap();\n  }}\n}}\n"
    files, _ = linked(condition=CONDITION, use=use)
    (found,) = files["use"].gates
    assert admits(found.arms[0]) == {100, 101, 103, 107, 110}
    assert found.arms[1].effect.does is Does.TRAPS
    assert {r.path for r in found.related} == {"condition"}


# lists


LISTS = """static const std::set<int> kSupported = {80, 86, 90, 100};
static const std::unordered_map<int, Tile> kTiles =
    {
        {80, Tile{64, 64}},
        {90, Tile{128, 128}},
    };
void check(int sm) {
  if (!kSupported.count(sm)) {
    throw std::runtime_error("unsupported");
  }
  run();
}
Tile pick(int sm_version) {
  auto it = kTiles.find(sm_version);
  if (it == kTiles.end()) return fallback();
  return it->second;
}
void use(int arch) {
  const std::vector<int> ok{90, 100};
  if (std::find(ok.begin(), ok.end(), arch) != ok.end()) { fast(); } else { slow(); }
}
"""


def test_lists_and_tables_are_gates_at_their_literals() -> None:
    supported, tiles, local = gates(LISTS)
    assert [g.kind for g in (supported, tiles, local)] == [Kind.ALLOW_LIST] * 3
    assert [g.place.line for g in (supported, tiles, local)] == [1, 3, 19]
    assert [r.line for g in (supported, tiles, local) for r in g.related] == [8, 15, 20]
    assert admits(supported.arms[0]) == {80, 86, 90, 100}
    assert (supported.rest.does, supported.rest.message) == (Does.RAISES, "unsupported")
    assert admits(tiles.arms[0]) == {80, 90}
    assert admits(local.arms[0]) == {90, 100}
    assert local.arms[0].calls == ("fast",)


@pytest.mark.parametrize(
    ("condition", "admitted"),
    [
        ("TVM_FFI_ICHECK_LE(prop.major, 9)", BELOW_90 | {90}),
        ("CHECK_EQ(prop.major, 12)", {120, 121}),
        ("TORCH_CHECK_GE(cc, 90)", FROM_90),
        ("PLUGIN_VALIDATE(sm == 90 || sm == 100)", {90, 100}),
    ],
)
def test_checks_with_the_comparison_in_their_name(condition: str, admitted: set[int]) -> None:
    assert admits(gate(f"void f(cudaDeviceProp prop) {{\n  {condition};\n  g();\n}}\n").arms[0]) == admitted


@pytest.mark.parametrize(("type_", "found"), [("Header const&", 0), ("DriverVersion", 0), ("cudaDeviceProp&", 1)])
def test_a_major_number_is_seeded_by_its_type(type_: str, found: int) -> None:
    assert len(gates(f"bool f({type_} h) {{ if (h.major == 9) return true; return g(); }}")) == found


def test_a_position_in_an_enumeration_is_no_capability() -> None:
    members = ", ".join(f"LLM_ARCH_{n}" for n in range(130))
    code = f"enum llm_arch {{ {members} }};\nvoid f(int arch) {{ if (arch == LLM_ARCH_90) a(); %s }}\n"
    assert not facts(code % "").gates
    found = facts(code % "switch (arch) { case LLM_ARCH_80: a(); break; default: b(); }")
    assert (found.gates, found.undecided) == ((), ())
    assert admits(gate("enum { kSM_90 = 90 };\nvoid f(int arch) { if (arch == kSM_90) a(); }\n").arms[0]) == {90}


SDPA = """
template <int Major, int Minor> struct SMVersion {
  static constexpr int major = Major;
  static constexpr int minor = Minor;
};
template <typename lower, typename upper>
bool check(cudaDeviceProp* p) {
  bool above = p->major > lower::major || (p->major == lower::major && p->minor >= lower::minor);
  bool below = p->major < upper::major || (p->major == upper::major && p->minor <= upper::minor);
  return above && below;
}
bool supported(cudaDeviceProp* p) {
  using sm80 = SMVersion<8, 0>;
  using sm120 = SMVersion<12, 0>;
  if (!check<sm80, sm120>(p)) { return false; }
  return check<SMVersion<9, 0>, sm120>(p);
}
"""


def test_bounds_that_are_types() -> None:
    found = facts(SDPA)
    first, second = found.gates
    assert admits(first.arms[0]) == {121}  # those that are refused
    assert admits(second.arms[0]) == FROM_90 - {121}
    assert found.undecided == ()


def test_a_choice_that_renames_the_chip_is_no_gate() -> None:
    assert not gates("void f(int sm) { sm = (use_fp4 && sm == 103) ? 100 : sm; }")
    assert len(gates("void f(int sm) { int tile = sm == 103 ? 128 : 64; }")) == 1


def test_a_chip_that_is_renamed_on_one_arm_is_found_under_its_new_name() -> None:
    found = gate("void f(int cc) {\n if (cc == 103) cc = 100;\n if (cc == 100) { a(); } else { b(); }\n}\n", 3)
    assert admits(found.arms[0]) == {100, 103}


@pytest.mark.parametrize(("helper", "found"), [("GetArchInt", 1), ("getSmVersion", 1), ("GetRankInt", 0)])
def test_helpers_that_are_called_after_the_architecture(helper: str, found: int) -> None:
    code = f"bool IsHopper(Target t) {{\n  int arch = {helper}(t);\n  return arch >= 90 && arch < 100;\n}}\n"
    assert len(gates(code)) == found


def test_a_helper_of_a_short_name() -> None:
    ask = "  cudaDeviceGetAttribute(&{}, cudaDevAttrComputeCapability{}, 0);\n"
    asked = ask.format("a", "Major") + ask.format("b", "Minor")
    asks = "void f(float* x) {\n  if (sm() < 100) { throw 1; }\n  umma<<<1, 128>>>(x);\n}\n"
    found = gate(f"static int sm() {{\n  int a = 0, b = 0;\n{asked}  return a * 10 + b;\n}}\n{asks}")
    assert admits(found.arms[0]) == BELOW_90 | {90}


@pytest.mark.parametrize("name", ["major", "maj", "x"])
def test_a_variable_that_is_asked_for_carries_the_capability(name: str) -> None:
    asked = f"cudaDeviceGetAttribute(&{name}, cudaDevAttrComputeCapabilityMajor, 0);"
    found = gate(f"void f() {{\n int {name} = 0;\n {asked}\n if ({name} >= 9) {{ fast(); }} else {{ slow(); }}\n}}\n")
    assert [arm.calls for arm in found.arms] == [("fast",), ("slow",)]


def test_a_variable_is_no_constant() -> None:
    code = "struct P { static int mSM; };\nint P::mSM = 0;\nvoid f() { CHECK(mSM == 80 || mSM == 90); }\n"
    assert admits(gate(code).arms[0]) == {80, 90}


def test_what_is_left_out_of_an_endless_function_is_said() -> None:
    body = "".join(f"  if (sm >= 90 && x{n} > {n}) g();\n" for n in range(3000))
    found = facts(f"void f(int sm) {{\n{body}}}\n")
    assert [u.line for u in found.undecided if "left out" in u.reason] == [1]


@pytest.mark.parametrize("use", ["return kBytes.at(sm);", "int n = kBytes.at(sm);\n return n;"])
def test_a_table_that_throws_where_it_has_no_row(use: str) -> None:
    table = "static const std::map<int, int> kBytes = {{80, 163 * 1024}, {90, 227 * 1024}};\n"
    found = gate(f"{table}int f(int sm) {{\n {use}\n}}\n")
    assert (found.kind, found.place.line, admits(found.arms[0])) == (Kind.ALLOW_LIST, 1, {80, 90})
    assert (found.rest.does, found.rest.message) == (Does.RAISES, "std::out_of_range")
    assert not gates(f"{table}int f(int n) {{\n {use.replace('sm', 'n')}\n}}\n")


@pytest.mark.parametrize(
    ("condition", "found"),
    [("m.sm == sm", 1), ("sm == m.sm", 1), ("m.smem == sm", 0), ("m.sm == n", 0), ("m.sm < sm", 0)],
)
def test_a_loop_that_looks_for_a_row(condition: str, found: int) -> None:
    table = 'static constexpr std::array<Meta, 2> kMetas{{ {80, "a", 65536}, {120, "b", 98304} }};\n'
    loop = f"for (const auto& m : kMetas) {{ if ({condition}) return m; }}"
    gates_ = [g for g in gates(f"{table}const Meta& f(int sm, int n) {{\n {loop}\n throw 1;\n}}\n") if g.place.line < 3]
    assert [(g.kind, g.place.line, admits(g.arms[0])) for g in gates_] == [(Kind.ALLOW_LIST, 1, {80, 120})] * found
    assert [g.rest.does for g in gates_] == [Does.RAISES] * found


def test_a_table_by_pairs() -> None:
    rows = "{{8, 0}, V::a}, {{9, 0}, V::b}, {{12, 0}, V::c}"
    table = f"static const std::map<std::pair<int, int>, V> kMap = {{{rows}}};\n"
    use = "auto it = kMap.find({major, minor});\n if (it == kMap.end()) throw 1;\n return it->second;"
    found = gate(f"{table}V f(int major, int minor) {{\n {use}\n}}\n")
    assert (found.kind, found.place.line, admits(found.arms[0])) == (Kind.ALLOW_LIST, 1, {80, 90, 120})


# control


def test_a_name_ends_with_its_block() -> None:
    inner, outer = "if (major == 9) a();", "if (major == 9) b();"
    code = "void f(cudaDeviceProp prop) {\n int major = 3;\n {\n int major = prop.major;\n %s\n }\n %s\n}\n"
    assert [g.place.line for g in gates(code % (inner, outer))] == [5]
    under = "#ifdef X\n bool has = __CUDA_ARCH__ >= 1000;\n#else\n bool has = false;\n#endif\n"
    under = f"void f() {{\n{under} if (has) a();\n}}\n"
    assert [g.place.line for g in gates(under)] == [7]  # an #if has no braces


def test_what_stands_behind_an_open_question_is_still_reached() -> None:
    head = "constexpr bool kTable[] = {__CUDA_ARCH__ == 860, true};\n"
    code = f"{head}__device__ void f() {{\n if (kTable[n]) a();\n if (x) b();\n if (__CUDA_ARCH__ >= 900) c();\n}}\n"
    found = facts(code)
    assert [(g.place.line, admits(g.arms[0])) for g in found.gates] == [(5, FROM_90)]
    assert [u.line for u in found.undecided] == [3]


def test_an_arm_of_a_very_long_function_still_leaves_it() -> None:
    filler = "  // " + "x" * 1600 + "\n"
    code = (
        f"int f(int sm, int p) {{\n  if (sm >= 90 && p) {{\n    return a();\n  }}\n{filler}  if (sm >= 80) b();\n}}\n"
    )
    second = gate(code, 6)
    assert catalog().universe.members(second.arms[0].truth.unknown(catalog().universe.device))


def test_a_constant_made_of_the_architecture_carries_it_whatever_its_name() -> None:
    code = "constexpr int kA = __CUDA_ARCH__;\n__device__ void f() {\n if constexpr (kA >= 900) a();\n}\n"
    assert admits(gate(code).arms[0]) == FROM_90
    assert not gates(code.replace("__CUDA_ARCH__", "1000"))


def test_a_case_goes_on_into_the_next_one() -> None:
    found = gate("void f(int sm) { switch (sm) {\n case 80:\n a();\n case 89:\n b(); break;\n default:\n c(); } }\n")
    assert [admits(arm) for arm in found.arms] == [{80}, {80, 89}, ALL - {80, 89}]
    left = gate(
        "void f(int sm) { switch (sm) {\n case 80:\n a(); break;\n case 89:\n b(); break;\n default:\n c(); } }\n"
    )
    assert [admits(arm) for arm in left.arms] == [{80}, {89}, ALL - {80, 89}]


def test_code_behind_a_label_may_be_reached() -> None:
    assert admits(gate("void f(int sm) {\n goto L;\nL:\n if (sm == 121) { a(); }\n}\n").arms[0]) == {121}


def test_the_greater_of_two_is_neither_of_them() -> None:
    admitted = {101, 103, 107, 110, 120, 121}
    assert admits(gate("void f(int sm) { if (sm >= 80 && std::max(sm, 100) != 100) g(); }").arms[0]) == admitted


def test_an_array_in_double_braces_has_all_its_members() -> None:
    found = "std::find(ok.begin(), ok.end(), sm) != ok.end()"
    code = f"void f(int sm) {{\n std::array<int, 2> ok{{{{86, 120}}}};\n if ({found}) g();\n}}\n"
    assert admits(gate(code).arms[0]) == {86, 120}


def test_a_member_of_a_type_is_not_the_device() -> None:
    code = (
        "template <typename T> bool f(cudaDeviceProp* p) {\n if (p->major > T::major) return true;\n return false;\n}\n"
    )
    found = facts(code)
    assert not found.gates
    assert [u.line for u in found.undecided] == [2]


# honesty


def test_names_of_what_is_assumed_are_whole() -> None:
    head = "#if defined(PROJECT_WITH_A_VERY_LONG_NAME_OF_ITS_OWN) && defined(PROJECT_WITH_ANOTHER_LONG_NAME)\n"
    found = gate(f"void f(int sm) {{\n{head}  if (sm >= 90) g();\n#endif\n}}\n")
    assert found.arms[0].unknowns == ("PROJECT_WITH_ANOTHER_LONG_NAME", "PROJECT_WITH_A_VERY_LONG_NAME_OF_ITS_OWN")
    assert found.arms[0].assumes == (head[4:-1],)


def test_what_cannot_be_read_is_undecided_with_names() -> None:
    found = facts(
        "void f(int sm) {\n  int n = table[sm];\n  if (use_tma || other(sm) > n) g();\n  if (sm >= 90) h();\n}\n"
    )
    assert [g.place.line for g in found.gates] == [4]


@pytest.mark.parametrize(
    "code", ["", "if (sm >= 90", "void f(int sm) { if (sm >= 90) { ", "\xff\x00 sm == 90 }}}}", "switch (sm) {"]
)
def test_broken_text_does_no_harm(code: str) -> None:
    facts(code)


def test_deep_nesting_does_no_harm() -> None:
    facts("int f(int sm) { return " + "(" * 3000 + "sm >= 90" + ")" * 3000 + "; }\n")
    facts("void f(int sm) { " + "if (sm >= 90) { " * 600 + "}" * 600 + " }\n")


COMPILED = """
#ifdef __CUDA_ARCH__
constexpr int kA = __CUDA_ARCH__;
#endif
template <int Lo, int Hi> struct Span { static constexpr bool value = kA >= Lo && kA < Hi; };
template <int A> struct Tr { static constexpr int stages = A >= 1200 ? 2 : 4; };
template <> struct Tr<1000> { static constexpr int stages = 8; };
enum class G { old, hopper, dc, geforce };
constexpr G gen() {
  if (kA >= 1200) return G::geforce;
  if (kA >= 1000) return G::dc;
  if (kA >= 900) return G::hopper;
  return G::old;
}
constexpr int smem_kb(int a) {
  switch (a) {
    case 800: return 163;
    case 900: case 1000: case 1030: return 227;
    default: return 99;
  }
}
constexpr bool in(int a) { return false; }
template <class... R> constexpr bool in(int a, int f, R... r) { return a == f || in(a, r...); }
inline constexpr bool kTab[] = {kA == 860, kA == 890};
__global__ void k() {
  constexpr int local = kA % 100;
  using X = std::conditional_t<(kA >= 1000), Span<1000, 1100>, Span<900, 1000>>;
  constexpr auto lam = [](int a) { return a > 1000; };
  static constexpr int lim = kA >= 1200 ? 101376 : kA >= 900 ? 232448 : 166912;
  if constexpr (%s) { g(); }
}
"""


@pytest.mark.parametrize(
    ("condition", "admitted"),
    [
        ("Span<860, 891>::value", {86, 87, 88, 89}),
        ("Tr<kA>::stages == 8", {100}),
        ("Tr<kA>::stages == 2", {120, 121}),
        ("gen() == G::dc", {100, 101, 103, 107, 110}),
        ("gen() >= G::dc", {100, 101, 103, 107, 110, 120, 121}),
        ("smem_kb(kA) > 100", {80, 90, 100, 103}),
        ("in(kA, 900, 1000, 1200)", {90, 100, 120}),
        ("kTab[0] || kTab[1]", {86, 89}),
        ("std::is_same_v<std::integral_constant<int, kA>, std::integral_constant<int, 1200>>", {120}),
        ("local == 30 || local == 10", {101, 103, 121}),
        ("X::value", {90, 100, 101, 103, 107}),
        ("lam(kA)", {101, 103, 107, 110, 120, 121}),
        ("lim < 150000", {120, 121}),
    ],
)
def test_constants_made_of_the_architecture_select_code(condition: str, admitted: set[int]) -> None:
    line = COMPILED[: COMPILED.index("if constexpr (%s")].count("\n") + 1
    found = gate(COMPILED.replace("%s", condition), line)
    assert admits(found.arms[0]) == admitted, condition


def test_what_is_made_of_the_architecture_and_not_followed_is_undecided() -> None:
    code = "constexpr int kA = __CUDA_ARCH__;\n__global__ void k() {\n  if constexpr (%s) g();\n}\n"
    assert [u.unknowns for u in facts(code % "lookup<kA>::of::type::value").undecided] == [("kA",)]
    assert facts(code % "N == 4").undecided == ()


REQUIREMENT = """
__global__ void umma(float* x) { asm volatile("tcgen05.fence::before_thread_sync;"); }
__global__ void plain(float* x) { x[0] = 1; }
void attention(float* x, int sm) {
  if (sm < 100) {
    throw std::runtime_error("needs Blackwell");
  }
  %s
}
"""


@pytest.mark.parametrize(
    ("after", "reached"),
    [
        ("umma<<<1, 128>>>(x);", {"tcgen05"}),
        ("plain<<<1, 128>>>(x);", set()),
        ("if (sm < 120) { umma<<<1, 128>>>(x); }", set()),  # not all who pass get there
    ],
)
def test_what_a_requirement_leads_to(after: str, reached: set[str]) -> None:
    found = gate(REQUIREMENT % after, 5)
    assert {catalog().features[u.feature].group for u in found.rest_features} == reached


@pytest.mark.parametrize(("second", "asked"), [("sm == 90", {75, 89, 120}), ("sm <= 90", {120})])
def test_a_check_behind_a_check_refuses_as_well(second: str, asked: set[int]) -> None:
    """For whom the first has turned away it is the next question, unless it would let them in."""
    code = (
        f"void f(int sm, int n) {{\n  CHECK(sm == 80 || sm == 90);\n  if (n > 64) {{\n    CHECK({second});\n  }}\n}}\n"
    )
    found = gate(code, 4)
    assert found.reach is not None
    assert {t.sm for t in catalog().universe.members(found.reach.yes)} & {75, 80, 89, 90, 120} == asked


@pytest.mark.parametrize(
    "code",
    [
        "void get(int* major, int* minor) { if (major) *major = v / 1000; if (minor) *minor = v % 100 / 10; }",
        "void f() { int major{0}, minor{0}; GetDriverVersion(&major, &minor); if (major > 12) g(); }",
        "bool IsSupportedDrVer(int major, int minor) { return major > 12; }\nvoid f(int a, int b) {\n"
        "  if (IsSupportedDrVer(a, b)) g();\n}",
    ],
)
def test_versions_and_pointers_are_no_capabilities(code: str) -> None:
    assert (gates(code), facts(code).undecided) == ((), ())


def test_a_minor_compared_with_something_unknown_is_undecided() -> None:
    code = (
        "struct Cc { int minor_cap() { return value() % 10; } };\nint minor_of(Cc cc) { return cc.minor_cap(); }\n"
        "void f(Cc x) { if (minor_of(x) == y) g(); }"
    )
    assert gates(code) == ()
    assert [u.condition for u in facts(code).undecided] == ["minor_of(x) == y"]


def test_a_capability_is_compared_with_a_pair() -> None:
    code = "int pick(cuda::compute_capability cc) {\n  if (cc >= cuda::compute_capability{8, 9}) return 1;\n}\n"
    assert admits(gate(code, 2).arms[0]) == {89} | FROM_90


def test_the_toolkit_is_known_in_code() -> None:
    found = gate("__device__ void f() { if (__CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010) g(); }")
    assert admits(found.arms[0]) == FROM_90
    assert not found.arms[0].unknowns
    assert not catalog().universe.members(
        gate("void f(int sm) { if (sm == 90 && CUDART_VERSION < 12000) g(); }").arms[0].assumed.yes
    )


def test_a_choice_between_truths_is_one_where_both_agree() -> None:
    found = gate("bool f(int arch, bool wide) {\n  return wide ? arch >= 100 : arch >= 90;\n}\n")
    assert admits(found.arms[0]) >= FROM_90 - {90}
    assert 90 not in {t.sm for t in catalog().universe.members(found.arms[0].truth.yes | found.arms[0].truth.no)}


def test_an_answer_of_a_helper_that_is_handed_on() -> None:
    helper = "bool TargetHasSMVersionGE(Target t, int v) { int arch = GetArchInt(t); return arch >= v; }\n"
    code = f"{helper}void f(Target t) {{\n  if (TargetHasSMVersionGE(t, 90)) a();\n}}\nvoid g(Target t) {{\n"
    found = gate(code + "  bool wide = TargetHasSMVersionGE(t, 100);\n  b(wide);\n}\n", 6)
    assert admits(found.arms[0]) == FROM_90 - {90}


QUERY = """int sm_num() {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  return p.major * 10 + p.minor;
}
"""


@pytest.mark.parametrize(
    ("declared", "condition", "admitted"),
    [
        ("#define SM_AT_LEAST(x) (sm_num() >= (x))", "SM_AT_LEAST(120)", {120, 121}),
        ("static const bool kHopper = sm_num() == 90;", "kHopper", {90}),
    ],
)
def test_answers_behind_names_of_the_file(declared: str, condition: str, admitted: set[int]) -> None:
    assert admits(gate(f"{QUERY}{declared}\nvoid f() {{\n  if ({condition}) g();\n}}\n", 8).arms[0]) == admitted


def test_a_switch_whose_cases_a_macro_makes_is_undecided() -> None:
    head = "#define FOR_EACH(X) X(80) X(90)\nvoid f(int arch) {\n switch (arch) {\n"
    found = facts(
        f"{head}#define CASE(A) case A: g<A>(); return;\n FOR_EACH(CASE)\n#undef CASE\n default: throw 1;\n }}\n}}\n"
    )
    assert (found.gates, [u.line for u in found.undecided]) == ((), [3])


# values that come by way of other functions


BY_POINTER = """void query(int* a, int* b) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  *a = p.major; *b = p.minor;
}
"""
BY_REFERENCE = """static void query(int& a, int& b) {
  cudaDeviceGetAttribute(&a, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&b, cudaDevAttrComputeCapabilityMinor, 0);
}
"""


@pytest.mark.parametrize(("helper", "call"), [(BY_POINTER, "query(&x, &y)"), (BY_REFERENCE, "query(x, y)")])
def test_a_helper_fills_names_of_its_caller(helper: str, call: str) -> None:
    line = helper.count("\n") + 4
    code = f"{helper}void run() {{\n  int x = 0, y = 0;\n  {call};\n  if (x == 8 && y == 9) a(); else b();\n}}\n"
    assert admits(gate(code, line).arms[0]) == {89}


def test_a_helper_that_fills_something_else_leaves_the_names_alone() -> None:
    helper = BY_POINTER.replace("p.major", "p.multiProcessorCount").replace("p.minor", "p.warpSize")
    code = f"{helper}void run() {{\n  int x = 0, y = 0;\n  query(&x, &y);\n  if (x >= 9) a(); else b();\n}}\n"
    assert gates(code) == ()


def test_a_method_compares_both_parts_with_what_it_is_given() -> None:
    code = "struct Arch {\n  int major, minor;\n  bool atLeast(int a, int b) const {\n"
    code += "    return major > a || (major == a && minor >= b);\n  }\n};\n"
    found = gate(f"{code}void f(Arch arch) {{\n  if (arch.atLeast(8, 9)) {{ x(); }} else {{ y(); }}\n}}\n", 8)
    assert admits(found.arms[0]) == ALL - {80, 86, 87, 88}


def test_a_helper_of_constants_is_a_constant() -> None:
    helper = "constexpr int make_sm(int major, int minor) { return major * 100 + minor * 10; }\n"
    use = "bool f(const cudaDeviceProp& p) {\n  return make_sm(p.major, p.minor) >= make_sm(10, 0);\n}\n"
    assert admits(gate(helper + use, 3).arms[0]) == FROM_90 - {90}


def test_a_pair_is_compared_as_a_whole() -> None:
    helper = "std::pair<int, int> cc() {\n  cudaDeviceProp p; ask(&p);\n  return {p.major, p.minor};\n}\n"
    assert admits(gate(helper + "bool f() { return cc() >= std::make_pair(8, 9); }\n", 5).arms[0]) == ALL - {
        80,
        86,
        87,
        88,
    }
    bound = "bool f() { auto [x, y] = cc(); return x == 9 && y == 0; }\n"
    assert admits(gate(helper + bound, 5).arms[0]) == {90}


def test_a_predicate_behind_an_object_is_asked_where_it_decides() -> None:
    code = """class Device {
 public:
  static Device& get() { static Device d; return d; }
  bool supportsFp8() const { return arch_ >= 89; }
 private:
  Device() { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); arch_ = p.major * 10 + p.minor; }
  int arch_ = 0;
};
void f() { if (Device::get().supportsFp8()) { fp8(); } else { fp16(); } }
"""
    assert admits(gate(code, 9).arms[0]) == ALL - {80, 86, 87, 88}


def test_a_lambda_without_parameters_is_a_predicate() -> None:
    code = (
        "void f() {\n  auto on_new = [] { return getSMVersion() >= 90; };\n  if (on_new()) { a(); } else { b(); }\n}\n"
    )
    assert admits(gate(GET_SM + code, GET_SM.count("\n") + 3).arms[0]) == FROM_90


@pytest.mark.parametrize("code", ["major != 1 || minor != 0", "theVer.Major > 1 || theVer.Minor > 0"])
def test_both_parts_of_a_version_are_no_capability(code: str) -> None:
    given = "const int major = hello[6], minor = hello[7];"
    assert gates(f"void f(const uint8_t* hello) {{\n  {given}\n  if ({code}) g();\n}}\n") == ()


@pytest.mark.parametrize(
    ("asked", "admitted"),
    [
        ("std::any_of(kSms.begin(), kSms.end(), [sm_arch](int a) { return a == sm_arch; })", {80, 90}),
        ("std::any_of(kSms.begin(), kSms.end(), [&](int a) { return sm_arch == a; })", {80, 90}),
        ("std::binary_search(kSms.begin(), kSms.end(), sm_arch)", {80, 90}),
    ],
)
def test_a_list_is_searched_for_an_answer(asked: str, admitted: set[int]) -> None:
    code = f"bool f(int sm_arch) {{\n  static const std::vector<int> kSms{{80, 90}};\n  return {asked};\n}}\n"
    found = gate(code)
    assert (found.kind, found.place.line, admits(found.arms[0])) == (Kind.ALLOW_LIST, 2, admitted)


def test_none_of_a_list_is_the_rest() -> None:
    search = "std::none_of(kSms.begin(), kSms.end(), [&](int a) { return a == sm_arch; })"
    table = "static const std::vector<int> kSms{80, 90};"
    code = f"void f(int sm_arch) {{\n  {table}\n  if ({search}) throw 1;\n  g();\n}}\n"
    assert admits(gate(code).arms[0]) == {80, 90}


@pytest.mark.parametrize(
    ("table", "returned"),
    [("static const Map t = {{80, 1}, {90, 2}};", "t"), ("static auto* t = new Map{{80, 1}, {90, 2}};", "*t")],
)
def test_a_table_that_a_function_returns(table: str, returned: str) -> None:
    code = f"const Map& table() {{\n  {table}\n  return {returned};\n}}\n"
    found = gate(f"{code}int f(int sm) {{\n  return table().at(sm);\n}}\n")
    assert (found.kind, found.place.line, admits(found.arms[0])) == (Kind.ALLOW_LIST, 2, {80, 90})


def test_a_capability_that_is_rounded_down_is_one() -> None:
    helper = "int rounded(int sm) { return sm >= 90 ? 90 : sm >= 80 ? 80 : 75; }\n"
    code = f"{helper}void f(int sm) {{\n  int arch = rounded(sm);\n  if (arch == 90) {{ a(); }} else {{ b(); }}\n}}\n"
    assert admits(gate(code, 4).arms[0]) == FROM_90


@pytest.mark.parametrize("chosen", ["sm >= 90 ? 100 : 80", "sm >= 90 ? 64 : 32", "sm >= 90 ? 90 : 0"])
def test_a_number_that_is_no_sm_below_is_a_choice(chosen: str) -> None:
    helper = f"int tile(int sm) {{ return {chosen}; }}\n"
    code = f"{helper}void f(int sm) {{\n  int n = tile(sm);\n  if (n == 80) {{ a(); }} else {{ b(); }}\n}}\n"
    assert [g.place.line for g in gates(code)] == [1]


IN_CONDITION = """
bool usable(CUdevice dev) {
  int hi = 0, lo = 0;
  if (cuDeviceGetAttribute(&hi, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev) != CUDA_SUCCESS) return false;
  if (cuDeviceGetAttribute(&lo, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev) != CUDA_SUCCESS) return false;
  return hi == 12 && lo == 0;
}
int start(CUdevice dev) {
  if (!usable(dev)) return -1;
  return launch(dev);
}
"""
HANDLER = """
int run() {
  try {
    return work();
  } catch (std::exception const& e) {
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    if (prop.major == 9) return again();
    return -1;
  }
}
"""


def test_a_capability_that_is_asked_in_a_condition() -> None:
    found = gate(IN_CONDITION)
    assert admits(found.arms[0]) == ALL - {120}
    assert found.place.line == 9


def test_a_gate_in_a_handler() -> None:
    found = gate(HANDLER)
    assert admits(found.arms[0]) == {90}
    assert found.rest.does is Does.REFUSES


LIMITS = """
int f(bool use_x, bool use_y, int n) {{
  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);
  {}
  if (p.major >= 9 && p.major < limit) return fast();
  throw std::runtime_error("no");
}}
"""


@pytest.mark.parametrize(
    "limit",
    [
        "int limit = use_x ? 10 : 12;",
        "int limit = 12; if (use_x) limit = 10;",
        "int limit = 12; if (use_x) { limit = 10; } else if (use_y) { limit = 11; }",
        "int low = use_x ? 1 : 3; int limit = low + 9;",
    ],
)
def test_a_bound_that_is_one_of_two_shuts_out_what_both_do(limit: str) -> None:
    arm = gate(LIMITS.format(limit), line=5).arms[0]
    words = [arm.truth.word(catalog().universe.bit(catalog().universe.by_name[f"sm_{sm}"])) for sm in SMS]
    assert dict(zip(SMS, words, strict=True)) == {
        80: "no", 90: "yes", 100: "unknown", 110: "unknown", 120: "no", 121: "no"
    }  # fmt: skip
    assert "use_x" in arm.unknowns and arm.assumed.word(bit_of(110)) == "yes"  # as if it were met


SMS = (80, 90, 100, 110, 120, 121)


def bit_of(sm: int) -> int:
    return catalog().universe.bit(catalog().universe.by_name[f"sm_{sm}"])


@pytest.mark.parametrize(
    "limit",
    [
        "int a = use_x ? 10 : 12; use_x = !use_x; int b = use_x ? 11 : 13; int limit = b - a + 9;",
        "int limit = of(use_y) - of(use_x) + 10;",
    ],
)
def test_what_is_asked_twice_may_have_two_answers(limit: str) -> None:
    """Another place that names the variable, a helper that is called for two: as one unknown they would cancel out."""
    helper = "int of(bool x) { return x ? 10 : 12; }"
    arm = gate(helper + LIMITS.format(limit), line=5).arms[0]
    assert [arm.truth.word(bit_of(sm)) for sm in (80, 100, 110)] == ["no", "unknown", "unknown"]


def test_constants_of_one_name_count_where_they_agree() -> None:
    first, second = "struct A { static constexpr int kLimit = 10; };", "struct B { static constexpr int kLimit = 12; };"
    text = first + second + LIMITS.format("int limit = kLimit;")
    assert gate(text, line=5).arms[0].truth.word(bit_of(120)) == "no"
    assert gate(text, line=5).arms[0].truth.word(bit_of(110)) == "unknown"


def test_what_meets_an_unknown_bound_is_unknown_not_taken_as_met() -> None:
    """A limit that nobody knows may shut out any target from sm_90 on."""
    arm = gate(LIMITS.format("int limit = read_limit();"), line=5).arms[0]
    for truth in (arm.truth, arm.assumed):
        assert [truth.word(bit_of(sm)) for sm in (80, 90, 120)] == ["no", "unknown", "unknown"]
    assert arm.unknowns == ("p.major < limit",)
    assert admits(gate(LIMITS.format("int limit = 12;"), line=5).arms[0]) == {90, 100, 101, 103, 107, 110}
    bound = "template <class Tag> __global__ void k() { if constexpr (__CUDA_ARCH__ >= Tag::kLeast) f(); }"
    assert not facts(bound).undecided and not gates(bound)  # asked where the tag is bound
    assert [u.line for u in facts(bound.replace("Tag::kLeast", "kLeast")).undecided] == [1]


@pytest.mark.parametrize(
    "condition", ["p.major == 9", "9 == p.major", "p.major == 0x9", "p.major == (9)", "p.major - 9 == 0"]
)
def test_a_comparison_however_it_is_written(condition: str) -> None:
    asked = f'if ({condition}) {{ return fast(); }} throw std::runtime_error("no");'
    found = gate(f"int f(int d){{ cudaDeviceProp p; cudaGetDeviceProperties(&p,d); {asked} }}\n")
    assert admits(found.arms[0]) == {90}


_HELPED = 'cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); {} throw std::runtime_error("no"); }}'


@pytest.mark.parametrize(
    ("before", "code"),
    [
        ("", "while (p.major == 9) { return fast(); }"),
        ("static bool g(int x) { return x == 9; }", "if (g(p.major)) { return fast(); }"),
        ("static int g(int x) { return x; }", "if (g(p.major) == 9) { return fast(); }"),
        ("", "try { return run(); } catch (...) { if (p.major == 9) return fast(); }"),
    ],
)
def test_a_gate_is_found_in_loops_handlers_and_small_helpers(before: str, code: str) -> None:
    found = gate(f"{before}\nint f() {{ {_HELPED.format(code)}")
    assert found.place.line == 2
    assert admits(found.arms[0]) == {90}


def test_a_loop_that_changes_what_it_asks_for_is_no_gate() -> None:
    code = "int m = p.major; while (m > 9) { m--; }"
    assert all(g.kind is not Kind.IF for g in gates(f"int f() {{ {_HELPED.format(code)}"))


def test_what_is_not_followed_above_lets_control_through() -> None:
    code = """
int f(int sm) {
  int kind = sm >= 100 ? Config::A : Config::B;
  TLLM_CHECK_WITH_INFO(!(kind && other(sm)), "exclusive");
  if (kind && !valid()) return 0;
  int tiles = 4;
  if (sm == 90) return fast(tiles);
  return slow(tiles);
}
"""
    assert admits(gate(code, 7).arms[0]) == {90}


# functions that pick a number

CORES = """int cores(cudaDeviceProp prop) {
  switch (prop.major) {
  case 8:
    if (prop.minor == 0) return 64;
    else if (prop.minor == 6) return 128;
    break;
  case 9:
    if (prop.minor == 0) { BODY }
    break;
  }
  return REST;
}
"""


def picked(body: str, rest: str = "128") -> list[tuple[set[int], Does, str | None]]:
    text = CORES.replace("BODY", body).replace("REST", rest)
    found = next(g for g in gates(text) if g.kind is Kind.SWITCH)
    return [(admits(arm), arm.effect.does, arm.effect.value) for arm in found.arms]


def test_the_arms_of_a_function_that_picks_a_number_are_told_by_what_comes_of_them() -> None:
    number = Does.RETURNS
    assert picked("return 256;") == [
        ({80}, number, "64"),
        ({86, 87, 88, 89}, number, "128"),  # 8.7 leaves the case and gets what follows
        ({90}, number, "256"),
    ]
    inner = next(g for g in gates(CORES.replace("BODY", "return 256;").replace("REST", "128")) if g.place.line == 4)
    assert (inner.rest.does, inner.rest.value) == (number, "128")


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ("prepare(); return 256;", "128"),  # something is done there
        ("total = 3; return 256;", "128"),
        ("total += 3; return 256;", "128"),
        ("++total; return 256;", "128"),
        ("if (++total) return 256;", "128"),
        ("return count(prop);", "128"),
        ("if (prop.minor == 0) break; return 256;", "128"),  # who comes to the return is not told by the walk
        ("return 256;", "0"),  # which may stand for no answer
    ],
)
def test_arms_that_do_more_than_pick_a_number_stay_as_they_are(body: str, rest: str) -> None:
    assert [takers for takers, _, _ in picked(body, rest)] == [{80, 86, 87, 88, 89}, {90}]
