"""Conditionals become gates with their arms, what the arms do, and what they rest on."""

from __future__ import annotations

from typing import Any

import pytest
from cuda_scan import catalog, facts, gates, scan, words

from archscan.frontends.cuda.constexpr import asked_spans, with_doubt
from archscan.frontends.cuda.front_end import CudaFrontEnd
from archscan.frontends.cuda.preprocessor.environment import Compiler
from archscan.frontends.cuda.scopes import Scopes
from archscan.frontends.protocol import Context
from archscan.model.facts import Origin, Source
from archscan.model.gate import Does, FeatureUse, Kind, Role, Via
from archscan.model.settings import ScanSettings

RANGE = "#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200)\n"


def test_a_range_around_a_wait() -> None:
    text = f"__device__ void wait() {{\n{RANGE}  cudaGridDependencySynchronize();\n#endif\n  x();\n}}\n"
    (gate,) = gates(text)
    (arm,) = gate.arms
    assert words(arm, "sm_89", "sm_90", "sm_110a", "sm_120", "host") == "nyynn"
    assert (gate.place.line, arm.body and (arm.body.line, arm.body.end_line)) == (2, (3, 3))
    assert [use.feature for use in arm.features] == ["griddep-wait"] and arm.features[0].line == 3
    assert arm.focus and text.encode()[arm.focus.start : arm.focus.end] == b"(__CUDA_ARCH__ < 1200)"
    assert gate.scope and (gate.scope.name, gate.scope.is_kernel, gate.scope.whole_body) == ("wait", False, False)


def test_a_kernel_whose_whole_body_is_gated() -> None:
    head = "template <int N>\n__global__ void __launch_bounds__(128, 2) k(int* p) {\n// PDL\n"
    text = f"{head}{RANGE}*p = N;\n#endif\n}}\n"
    (gate,) = gates(text)
    assert gate.scope and gate.scope.is_kernel and gate.scope.whole_body and gate.scope.name == "k"
    assert "PDL" in gate.near


@pytest.mark.parametrize(
    ("header", "name", "kernel"),
    [
        ("__global__ void k(float* a)", "k", True),
        ("template <class T, int N = (4 > 3)>\n__global__ __launch_bounds__(256)\nvoid k(T a)", "k", True),
        ("struct S {\n CUTLASS_DEVICE\n void operator()(int a) const", "S::operator()", False),
        ("namespace n { template <> __device__ int A<3>::f(int x) noexcept", "A<3>::f", False),
        ("static auto g() -> int", "g", False),
        ("S::S(int a) : a_(a), b_(a)", "S::S", False),
    ],
)
def test_the_function_around_a_gate(header: str, name: str, kernel: bool) -> None:
    (gate,) = gates(f"int before() {{ return 1; }}\n{header} {{\n if (a) {{\n#if __CUDA_ARCH__ >= 900\n f();\n#endif\n")
    assert gate.scope and (gate.scope.name, gate.scope.is_kernel) == (name, kernel)


def test_branches_that_open_braces_do_not_confuse_the_scope() -> None:
    first = "void f() {\n#if A\n if (x) {\n#else\n if (y) {\n#endif\n }\n}\n"
    text = first + "void g() {\n#if __CUDA_ARCH__ < 800\n h();\n#endif\n}\n"
    assert [g.scope and g.scope.name for g in gates(text)] == ["g"]


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ("", Does.NOTHING),
        ("  // nothing here\n  /* nor here */\n", Does.NOTHING),
        ("  (void)x;\n", Does.NOTHING),
        ("  f(x);\n", Does.WORK),
        ("#define A 1\n#undef B\n", Does.DEFINES),
        ("  constexpr int kBytes = 99 * 1024;\n", Does.DEFINES),
        ("  tile = 64;\n", Does.ASSIGNS),
        ('  printf("sm_90 only\\n");\n', Does.PRINTS),
        ('  if (threadIdx.x == 0) {\n    printf("no\\n");\n  }\n', Does.PRINTS),
        ('  printf("no");\n  asm volatile("trap;");\n', Does.TRAPS),
        ("  assert(false);\n", Does.ASSERTS),
        ('  assert(("only for Ampere", false));\n', Does.ASSERTS),
        ('  assert(("checked", x));\n', Does.NOTHING),
        ('  CUTE_INVALID_CONTROL_PATH("no wgmma");\n', Does.TRAPS),
        ('  if (threadIdx.x == 0) { DG_DEVICE_ASSERT(false and "needs sm_90a"); }\n', Does.RAISES),
        ("  __trap();\n", Does.TRAPS),
        ('#error "needs sm_90"\n', Does.ERRORS),
        ('  static_assert(false, "no");\n', Does.ERRORS),
        ('  static_assert(sizeof(T) == 0, "no");\n', Does.ERRORS),
        ("  static_assert(sizeof(T) == 4);\n  f();\n", Does.WORK),
        ('  throw std::runtime_error("no");\n', Does.RAISES),
        ("  return 0;\n", Does.RETURNS),
        ("  return;\n", Does.SKIPS),
        ("  return false;\n", Does.REFUSES),
        ("  return cudaErrorNotSupported;\n", Does.REFUSES),
        ("  return slow(x);\n", Does.RETURNS),
        ('#if B\n#error "inner"\n#endif\n  f();\n', Does.WORK),
    ],
)
def test_what_a_body_does(body: str, does: Does) -> None:
    (gate,) = (g for g in gates(f"#if __CUDA_ARCH__ >= 900\nwork(1);\n#else\n{body}#endif\n") if g.names_arch)
    assert gate.arms[0].effect.does is Does.WORK
    assert gate.arms[1].effect.does is does
    assert gate.arms[1].is_else


def test_texts_of_refusals_and_equal_bodies() -> None:
    (gate,) = gates(
        '#if __CUDA_ARCH__ >= 900\n f( 1 ); // a\n#elif __CUDA_ARCH__ >= 800\n f(1);\n#else\n#error "too old"\n#endif\n'
    )
    assert gate.arms[0].digest == gate.arms[1].digest != gate.arms[2].digest
    assert (gate.arms[2].effect.message, gate.arms[2].effect.line) == ("too old", 6)


def test_arms_exclude_each_other_and_know_what_encloses_them() -> None:
    chain = "#if __CUDA_ARCH__ == 1200\n a();\n#elif __CUDA_ARCH__ >= 900\n b();\n#else\n c();\n#endif\n"
    text = f"#ifdef __CUDA_ARCH__\n{chain}#endif\n"
    outer, inner = gates(text)
    assert outer.reach is None and inner.reach == outer.arms[0].truth
    assert [words(a, "sm_80", "sm_90", "sm_120a", "sm_121", "host") for a in inner.arms] == ["nnynn", "nynyn", "ynnnn"]
    assert words(inner.arms[2], "host") == "n" and inner.arms[2].own.yes & inner.arms[0].own.yes


def test_unknown_build_flags_are_named_and_assumed_met() -> None:
    text = "#if !(IS_MLA)\n#if __CUDA_ARCH__ >= 900 && USE_FP8\n a();\n#endif\n#endif\n"
    (gate,) = gates(text)
    (arm,) = gate.arms
    assert words(arm, "sm_80", "sm_90") == "nu"
    assert (arm.unknowns, arm.assumes) == (("IS_MLA", "USE_FP8"), ("IS_MLA", "USE_FP8"))
    assert gate.arms[0].assumed.yes and not gate.arms[0].assumed.yes & gate.arms[0].truth.no
    settled = facts(text, settings=ScanSettings(defines=(("USE_FP8", "1"),), undefines=("IS_MLA",)))
    assert words(settled.gates[0].arms[0], "sm_80", "sm_90") == "ny"


@pytest.mark.parametrize(("above", "sm_90"), [("#define WIDE 1\n", "y"), ("", "n"), ("#undef WIDE\n", "n")])
@pytest.mark.parametrize("given", [{"undefines": ("WIDE",)}, {"defines": (("WIDE", "0"),)}])
def test_a_macro_of_the_command_line_is_only_what_it_is_first(above: str, sm_90: str, given: dict[str, Any]) -> None:
    asking = "#if WIDE && __CUDA_ARCH__ >= 900\n a();\n#endif\n"
    files = {"a.cu": f'#undef WIDE\n{above}#include "wide.cuh"\n', "wide.cuh": asking}
    (gate,) = scan(files, ScanSettings(layers=frozenset({"preprocessor"}), **given))["wide.cuh"].gates
    assert words(gate.arms[0], "sm_89", "sm_90") == f"n{sm_90}"


def test_an_assumed_ladder_stays_consistent() -> None:
    (gate,) = gates("#if USE_FP8 && __CUDA_ARCH__ >= 900\n a();\n#else\n b();\n#endif\n")
    first, other = gate.arms
    assert first.assumed.yes & other.assumed.yes == 0
    assert words(other, "sm_80", "sm_90") == "yu"


CONFIG = """\
#pragma once
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define MMA_ENABLED
#endif
#if defined(ENABLE_GDC) && __CUDA_ARCH__ >= 900
#define GDC_ENABLED
#endif
"""
USER = "#ifdef MMA_ENABLED\n mma();\n#else\n trap();\n#endif\n#if defined(GDC_ENABLED)\n wait();\n#endif\n"


def test_macros_come_from_included_headers() -> None:
    found = scan({"lib/config.h": CONFIG, "src/user.cuh": '#include "../lib/config.h"\n' + USER})
    mma, gdc = found["src/user.cuh"].gates
    assert [words(a, "sm_90", "sm_90a", "sm_120a") for a in mma.arms] == ["nyn", "yny"]
    assert mma.arms[0].via is Via.INCLUDES and not mma.names_arch and mma.derived_from == ("MMA_ENABLED",)
    assert [(r.path, r.line, r.role) for r in mma.related] == [("lib/config.h", 2, Role.DEFINITION)]
    assert words(gdc.arms[0], "sm_80", "sm_90") == "nu" and gdc.arms[0].unknowns == ("ENABLE_GDC",)
    definition = found["lib/config.h"].gates[0]
    assert definition.kind is Kind.MACRO_DEFINITION and definition.symbols == ("MMA_ENABLED",)


def test_a_cycle_of_includes_is_read_in_order() -> None:
    cycle = {"lib/config.h": CONFIG + '#include "part.h"\n', "lib/part.h": '#include "config.h"\n' + USER}
    arm = scan({**cycle, "a.cu": '#include "lib/config.h"\n'})["lib/part.h"].gates[0].arms[0]
    assert words(arm, "sm_90", "sm_90a") == "ny" and arm.via is Via.PROJECT_TABLE  # a.cu decides where it is entered


def test_a_macro_of_another_file_counts_where_that_is_included_before() -> None:
    files = {"lib/config.h": CONFIG, "user.cuh": USER}
    for includes, expected, via in (
        (("lib/config.h", "user.cuh"), "ny", Via.PROJECT_TABLE),
        (("user.cuh", "lib/config.h"), "nn", Via.PROJECT_TABLE),
        (("user.cuh",), "nn", Via.PROJECT_TABLE),
    ):
        unit = "".join(f'#include "{name}"\n' for name in includes)
        arm = scan({**files, "a.cu": unit})["user.cuh"].gates[0].arms[0]
        assert (words(arm, "sm_90", "sm_90a"), arm.via) == (expected, via)


def test_a_header_that_nobody_includes_may_find_what_others_define() -> None:
    found = scan({"lib/config.h": CONFIG, "user.cuh": USER})
    arm = found["user.cuh"].gates[0].arms[0]
    assert words(arm, "sm_90", "sm_90a") == "nu" and arm.unknowns == ("MMA_ENABLED",)
    assert arm.assumed.word(catalog().universe.bit(catalog().universe.by_name["sm_90a"])) == "yes"


def test_a_header_that_is_read_in_two_ways_is_told_what_both_agree_on() -> None:
    header = "#ifdef WIDE\n#define N 2\n#else\n#define N 1\n#endif\n"
    header += "#if N == 2 && __CUDA_ARCH__ >= 900\na();\n#elif __CUDA_ARCH__ >= 800\nb();\n#endif\n"
    one = scan({"h.cuh": header, "a.cu": '#define WIDE\n#include "h.cuh"\n'})["h.cuh"].gates[-1]
    assert [words(arm, "sm_75", "sm_80", "sm_90") for arm in one.arms] == ["nny", "nyn"]
    both = {"h.cuh": header, "a.cu": '#define WIDE\n#include "h.cuh"\n', "b.cu": '#undef WIDE\n#include "h.cuh"\n'}
    two = scan(both)["h.cuh"].gates[-1]
    assert [words(arm, "sm_75", "sm_80", "sm_90") for arm in two.arms] == ["nnu", "nyu"]


DEFINER = "#pragma once\n#if __CUDA_ARCH__ >= 900\n#define FAST 1\n#endif\n"
USES_FAST = "#ifndef FAST\n#define FAST 0\n#endif\n#if FAST\nf();\n#endif\n"


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ('#include "def.cuh"\n#include "use.cuh"\n', "uy"),  # a build may set what has a default
        ('#include "use.cuh"\n#include "def.cuh"\n', "uu"),
        ('#undef FAST\n#include "def.cuh"\n#include "use.cuh"\n', "ny"),
        ('#undef FAST\n#include "use.cuh"\n#include "def.cuh"\n', "nn"),
    ],
)
def test_a_default_holds_where_the_architecture_has_not_spoken_before(unit: str, expected: str) -> None:
    found = scan({"def.cuh": DEFINER, "use.cuh": USES_FAST, "x.cu": unit})
    assert words(found["use.cuh"].gates[-1].arms[0], "sm_89", "sm_90") == expected


def test_a_bound_that_a_flag_chooses_shuts_out_what_is_beyond_both() -> None:
    head = "#ifdef USE_X\n#define LIMIT 1000\n#else\n#define LIMIT 1200\n#endif\n"
    (arm,) = gates(f"{head}#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < LIMIT\nf();\n#endif\n")[-1].arms
    assert words(arm, "sm_89", "sm_90", "sm_100", "sm_120") == "nyun"
    assert arm.unknowns == ("USE_X",)


def test_chains_of_derived_macros_are_followed_through_includes() -> None:
    links = {
        f"h{i}.h": f'#include "{"a" if i == 0 else f"h{i - 1}"}.h"\n#ifdef M{i}\n#define M{i + 1}\n#endif\n'
        for i in range(4)
    }
    first = {"a.h": "#if __CUDA_ARCH__ >= 1000\n#define M0 1\n#endif\n"}
    (gate,) = scan({**links, **first, "u.cu": '#include "h3.h"\n#ifdef M4\nf();\n#endif\n'})["u.cu"].gates
    assert words(gate.arms[0], "sm_90", "sm_100", "host") == "nyn"
    (gate,) = scan({**links, **first, "u.cu": "#ifdef M4\nf();\n#endif\n"})["u.cu"].gates
    assert words(gate.arms[0], "sm_90", "sm_100", "host") == "nnn"  # it includes none of them


def test_project_code_cannot_redefine_the_compiler() -> None:
    (gate,) = gates("#define __CUDA_ARCH__ 900\n#if __CUDA_ARCH__ == 900\nf();\n#endif\n")
    assert words(gate.arms[0], "sm_90", "sm_120") == "yn"


def test_definitions_follow_the_order_of_the_file() -> None:
    start = "#if __CUDA_ARCH__ >= 900\n#define T 2\n#else\n#define T 1\n#endif\n"
    definition, first, last = gates(start + "#if T == 2\na();\n#endif\n#undef T\n#if T\nb();\n#endif\n")
    assert definition.kind is Kind.MACRO_DEFINITION and definition.arms[0].effect.value == "T=2"
    assert words(first.arms[0], "sm_80", "sm_90") == "ny" and words(last.arms[0], "sm_80", "sm_90") == "nn"


def test_cuda_version_is_known_only_behind_cuda_h() -> None:
    gate = "#if CUDA_VERSION >= 12090 && __CUDA_ARCH__ >= 900\nf();\n#endif\n"
    assert words(gates(gate)[0].arms[0], "sm_90") == "u"
    assert words(gates("#include <cuda.h>\n" + gate)[0].arms[0], "sm_90") == "y"
    assert words(gates(gate.replace("CUDA_VERSION", "CUDART_VERSION"))[0].arms[0], "sm_90") == "y"


def test_every_conditional_on_the_architecture_is_a_gate_even_if_all_arms_agree() -> None:
    assert len(gates("#if __CUDA_ARCH__ >= 0 || 1\nf();\n#endif\n")) == 1
    assert gates("#ifndef X_H\n#define X_H\n#ifdef _WIN32\nf();\n#endif\nint a;\n#endif\n") == ()


def test_target_macros_of_the_nv_target_header() -> None:
    text = (
        "__device__ int f() {\n  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (return a(1, 2);), (return 0;))\n"
        '  NV_DISPATCH_TARGET(NV_IS_EXACTLY_SM_80, (x(")");), NV_HAS_FEATURE_SM_120f, (y();), NV_ANY_TARGET, (z();))\n'
        "  NV_IF_TARGET(NV_HAS_FEATURE_SM_90a, (w();))\n"
        "  NV_IF_TARGET(NV_IS_HOST, (h();))\n  NV_IF_TARGET(COND, (v();))\n}\n"
    )
    found = facts(text)
    two, dispatch, feature, host = found.gates
    names = ("sm_80", "sm_90", "sm_90a", "sm_120", "sm_121f", "host")
    assert [words(a, *names) for a in two.arms] == ["nyyyyn", "ynnnny"] and two.kind is Kind.TARGET_MACRO
    assert [words(a, *names) for a in dispatch.arms] == ["ynnnnn", "nnnnyn", "nyyyny"]
    assert words(feature.arms[0], *names) == "nnynnn" and words(host.arms[0], *names) == "nnnnny"
    assert two.scope and two.scope.name == "f" and two.arms[0].calls == ("a",)
    assert [(u.line, u.reason) for u in found.undecided] == [(6, "COND is not a query of <nv/target>")]


def test_cuda_in_python_strings_is_read_in_place() -> None:
    text = 'x = 1\nSOURCE = r"""\n#if __CUDA_ARCH__ >= 900\n  wait();\n#endif\n"""\n# __CUDA_ARCH__\n'
    (gate,) = facts(text, "gen.py").gates
    assert gate.place.line == 3 and words(gate.arms[0], "sm_80", "sm_90") == "ny"
    lines = 'S = (\n    "#if __CUDA_ARCH__ >= 900\\n"\n    "  wait();\\n"\n    "#endif\\n"\n)\n'
    (gate,) = facts(lines, "gen.py").gates
    assert gate.place.line == 2 and gate.arms[0].effect.does is Does.WORK


@pytest.mark.parametrize(
    "text",
    [
        'S = "#if __CUDA_ARCH__ >= 900\\n wait();\\n#endif\\n"\n',
        'S = f"""\n#if __CUDA_ARCH__ >= {arch}\n wait();\n#endif\n"""\n',
        'S = """\n#if __CUDA_ARCH__ >= 900\n wait();\n""" + END\n',
    ],
)
def test_strings_that_cannot_be_read_are_undecided(text: str) -> None:
    found = facts(text, "gen.py")
    assert found.gates == () and len(found.undecided) == 1 and "__CUDA_ARCH__" in found.undecided[0].condition


def test_python_without_cuda_is_left_alone() -> None:
    assert scan({"a.py": "# __CUDA_ARCH__ is read by nvcc\nprint('#if A')\n", "b.py": "x = 1\n"}) == {}


def test_templates_are_read_where_they_parse() -> None:
    first = "{% if x %}\n#if __CUDA_ARCH__ >= 900\n{{ body }}\n#endif\n{% endif %}\n"
    found = facts(first + "#if __CUDA_ARCH__ == {{ sm }}\nf();\n#endif\n", "kernel.cu.jinja")
    assert [g.place.line for g in found.gates] == [2]
    assert [(u.line, u.condition) for u in found.undecided] == [(6, "__CUDA_ARCH__ == {{ sm }}")]


def test_hostile_files_give_facts_not_crashes() -> None:
    nested = "#if __CUDA_ARCH__ >= 900\n" * 3000 + "x\n" + "#endif\n" * 3000
    assert len(gates(nested)) == 3000
    unbalanced = facts("#if __CUDA_ARCH__ >= 900\nf();\n#else\n")
    assert unbalanced.problems == ("unbalanced #if at line 1",) and len(unbalanced.gates[0].arms) == 2
    assert facts(b"#if __CUDA_ARCH__ >= \xe9\nf();\n#endif\n").gates[0].arms[0].truth.yes == 0
    assert facts("#define\n#undef\n#if\n#elif\n#endif\n#ifdef\n#endif\n").problems == ()


def test_vendored_code_is_counted_without_a_search_for_features() -> None:

    data = b"#if __CUDA_ARCH__ >= 900\ncudaGridDependencySynchronize();\n#endif\n"
    for include, features in ((False, 0), (True, 1)):
        context = Context(catalog(), ScanSettings(layers=frozenset({"preprocessor"}), include_vendored=include))
        end = CudaFrontEnd()
        index = end.index(Source("third_party/a.h", data, origin=Origin.VENDORED), context)
        assert index is not None
        (gate,) = end.gates(index, end.link({"third_party/a.h": index}, context), context).gates
        assert len(gate.arms[0].features) == features and words(gate.arms[0], "sm_90") == "y"


def test_macros_of_a_library_that_was_not_scanned_are_gates_of_unknown_truth() -> None:
    (gate,) = gates("#if defined(CUTE_ARCH_MMA_SM90A_ENABLED)\n mma();\n#endif\n")
    assert words(gate.arms[0], "sm_90", "sm_90a", "host") == "uuu" and not gate.names_arch
    assert gate.arms[0].unknowns == gate.derived_from == ("CUTE_ARCH_MMA_SM90A_ENABLED",)


def test_macros_that_only_token_pasting_names_are_found_in_headers() -> None:
    header = (
        "#pragma once\n#define MAJOR_(a, b) a\n#define MAJOR(p) MAJOR_ p\n#define VERSION(x) (MAJOR(x()) > 0)\n"
        "#define COMPILER(...) VERSION(COMPILER_##__VA_ARGS__)\n#define COMPILER_OTHER() (-1, -1)\n"
        "#define COMPILER_NVCC() (__CUDACC_VER_MAJOR__, 0)\n"
    )
    first = "#if COMPILER(OTHER) || __CUDA_ARCH__ >= 900\na();\n#endif\n"
    text = f'#include "c.h"\n{first}#if COMPILER(NVCC) && __CUDA_ARCH__\n#endif\n'
    other, nvcc = scan({"c.h": header, "u.cu": text})["u.cu"].gates
    assert words(other.arms[0], "sm_80", "sm_90") == "ny" and words(nvcc.arms[0], "sm_80", "host") == "yn"


def test_code_behind_a_question_of_its_own_is_in_doubt() -> None:
    code = b"""constexpr bool is_family = MATCHES_ARCH(100);
if constexpr (is_family) {
  asm volatile("redux.sync.max.abs.f32 %0, %1, 0;" : "=f"(out) : "f"(in));
} else {
  asm volatile("redux.sync.max.u32 %0, %1, 0;" : "=r"(out) : "r"(in));
}
if constexpr (kTile == 4) { asm volatile("ld.global.u32 %0, [%1];" : "=r"(out) : "l"(in)); }
"""
    spans = asked_spans(code)
    held = [code[a:b].count(b"asm") for a, b in spans]
    assert held == [2]
    uses = with_doubt((FeatureUse("a", 3), FeatureUse("b", 5), FeatureUse("c", 7)), code)
    assert [u.confidence for u in uses] == ["low", "low", "high"]


def test_macros_of_libraries_may_make_a_device_function() -> None:
    words = Compiler(Context(catalog(), ScanSettings())).device_words
    for before, device in (("FLASHINFER_INLINE", True), ("MY_DEVICE_FUNC", True), ("inline", False)):
        code = f"{before} void f() {{ int x; ".encode()
        found = Scopes(code, words).function(len(code))
        assert found is not None
        assert (found.name, found.is_device) == ("f", device)


def test_what_an_error_outside_every_function_keeps_away() -> None:
    kernel = '__global__ void umma(float* x) { asm volatile("tcgen05.fence::before_thread_sync;"); }\n'
    guard = '#if __CUDA_ARCH__ < 1000\n#error "needs Blackwell"\n#endif\n'

    def behind(text: str) -> set[str]:
        return {u.feature for u in facts(text, settings=ScanSettings()).gates[0].rest_features}

    assert behind(guard + kernel) == {"tcgen05"}
    assert not behind(kernel + guard)
    assert not behind(guard.replace("#error", "// ") + kernel)


@pytest.mark.parametrize(
    ("guard", "admitted"),
    [
        ("#ifndef MINE\n#define MINE __CUDACC__\n#endif\n", "ny"),
        ("#if !defined(MINE)\n#ifdef __CUDACC__\n#define MINE 1\n#endif\n#endif\n", "ny"),
        ("#ifndef MINE\n#ifdef OTHER\n#define MINE 1\n#endif\n#endif\n", "nu"),
        ("#ifndef OTHER\n#define MINE 1\n#endif\n", "nu"),
        ("#ifdef MINE\n#define MINE 1\n#endif\n", "nu"),
        ("#ifndef MINE\n#else\n#define MINE 1\n#endif\n", "nu"),
    ],
)
def test_what_is_defined_unless_it_was_is_defined(guard: str, admitted: str) -> None:
    found = gates(f"{guard}#ifdef MINE\n#if __CUDA_ARCH__ >= 900\nint x;\n#endif\n#endif\n")
    assert words(found[-1].arms[0], "sm_89", "sm_90") == admitted


@pytest.mark.parametrize(
    ("condition", "assumed"),
    [
        ("defined(CUTE_ARCH_MMA_SM90A_ENABLED)", "u"),  # CUTLASS makes it of the target, and was not scanned
        ("defined(CUTLASS_ARCH_MMA_SM100_SUPPORTED)", "y"),  # of the toolkit's release
        ("defined(DERIVED)", "u"),
        ("defined(USE_MY_KERNEL) && __CUDA_ARCH__ >= 900", "y"),
    ],
)
def test_what_another_library_makes_of_the_target_is_not_assumed(condition: str, assumed: str) -> None:
    head = "#if defined(CUTE_ARCH_TMA_SM90_ENABLED) || __CUDA_ARCH__ >= 10000\n#define DERIVED\n#endif\n"
    found = gates(f"{head}#if {condition}\nint x;\n#else\nint y;\n#endif\n")[-1]
    bit = catalog().universe.bit(catalog().universe.by_name["sm_120"])
    assert [arm.assumed.word(bit)[0] for arm in found.arms] == [assumed, {"u": "u", "y": "n"}[assumed]]


@pytest.mark.parametrize(
    ("before", "behind", "written"),
    [
        ("uint4 v{};", "return v;", "v"),
        ("uint4 v{};", "return w;", None),  # nobody reads it
        ("", "return v;", None),  # another function's, or a parameter
        ("uint4 v{};", "#else\nv = slow();\n#endif\nreturn v;", None),
    ],
)
def test_a_variable_that_only_guarded_asm_writes(before: str, behind: str, written: str | None) -> None:
    body = '#if __CUDA_ARCH__ >= 900\nasm("ld %0, [%1];" : "=r"(v.x) : "l"(p));\n'
    end = "" if behind.startswith("#else") else "#endif\n"
    found = gates(f"__device__ uint4 f(void* p) {{\n{before}\n{body}{end}{behind}\n}}\n")[0]
    assert found.note("written") == written


def test_a_flag_that_lets_everybody_in_is_taken_as_not_set() -> None:
    found = gates("#if __CUDA_ARCH__ < 900 || defined(NO_BF16)\nreturn;\n#else\nwork(1);\n#endif\n")[0]
    by_name, bit = catalog().universe.by_name, catalog().universe.bit
    assert [arm.assumed.word(bit(by_name["sm_90"])) for arm in found.arms] == ["no", "yes"]
    assert [arm.truth.word(bit(by_name["sm_90"])) for arm in found.arms] == ["unknown", "unknown"]


def test_an_emulation_under_the_name_of_a_feature_is_no_use() -> None:
    emulated = "inline void cp_async_fence() {}\ntemplate <int n> inline void cp_async_wait() {}\n"
    real = 'inline void cp_async_fence() { asm volatile("cp.async.commit_group;"); }\nvoid g() { cp_async_fence(); }\n'
    found = gates(f"#if __CUDA_ARCH__ < 800\n{emulated}#else\n{real}#endif\n")[0]
    assert [bool(arm.features) for arm in found.arms] == [False, True]
    assert [arm.calls for arm in found.arms] == [(), ()]
    assert gates("#if __CUDA_ARCH__ >= 800\ncp_async_fence();\n#endif\n")[0].arms[0].features


def test_headers_without_a_suffix_are_read_for_their_macros() -> None:
    header = "// licence\n#ifndef CONFIG\n#define CONFIG\n#if __CUDA_ARCH__ >= 900\n#define HAS_TMA 1\n#endif\n#endif\n"
    files = {"include/lib/__config": header, "a.cu": "#include <lib/__config>\n#ifdef HAS_TMA\nint a;\n#endif\n"}
    arm = scan(files)["a.cu"].gates[0].arms[0]
    assert words(arm, "sm_89", "sm_90") == "ny" and arm.via is Via.INCLUDES


@pytest.mark.parametrize("text", ["Usage: a # b\n#if you like\n", "\x7fELF\0\n#if A\n", ""])
def test_notes_and_programs_without_a_suffix_are_no_headers(text: str) -> None:
    assert scan({"include/notes": text}) == {} or "you like" in text


@pytest.mark.parametrize("path", ["a.cu.in", "a.cuh.jinja2", "a.h.j2", "a.cpp.tpl", "a.hxx", "a.inc", "a.tcc"])
def test_every_name_that_holds_c_is_read(path: str) -> None:
    (gate,) = gates("#if __CUDA_ARCH__ >= 900\nint a;\n#endif\n", path)
    assert words(gate.arms[0], "sm_89", "sm_90") == "ny"


def test_one_of_two_values_decides_what_both_decide() -> None:
    head = "#define STAGES 3\n#ifdef WIDE\n#define STAGES 4\n#endif\n"
    test = "#if STAGES >= {} && __CUDA_ARCH__ >= 900\nint a;\n#endif\n"
    wide, four = (gates(head + test.format(n))[-1].arms[0] for n in (3, 4))
    assert words(wide, "sm_89", "sm_90") == "ny"
    assert words(four, "sm_89", "sm_90") == "nu" and four.unknowns == ("WIDE",)


def test_what_is_pasted_to_a_prefix_is_no_flag() -> None:
    header = (
        "#define OS(x) LIB_OS_##x()\n#ifdef BSD_KERNEL\n#define LIB_OS_BSD() 1\n#else\n#define LIB_OS_BSD() 0\n#endif\n"
    )
    test = "#if OS(BSD) && __CUDA_ARCH__ >= 900\n#define USE_IT\n#endif\n#ifdef USE_IT\nint a;\n#endif\n"
    unknowns = gates(header + test)[-1].arms[0].unknowns
    assert unknowns == ("BSD_KERNEL",)


def required(head: str, tail: str = "#else\n#error needs it\n#endif\n") -> str:
    """The truth of a test of the architecture in a file that is required to be read in one way."""
    return words(gates(f"{head}\n#if __CUDA_ARCH__ >= 900\nint a;\n#endif\n{tail}")[-1].arms[0], "sm_89", "sm_90")


def test_what_compiles_takes_the_arm_that_is_no_error() -> None:
    assert required("#if !defined(STABLE_ONLY) && !defined(TARGET_VERSION)") == "ny"
    assert required("#ifdef STABLE_ONLY\n#error not for that\n#else", "#endif\n") == "ny"
    assert required("#if STABLE_ONLY > 1\n#error one\n#elif STABLE_ONLY\n#error two\n#else", "#endif\n") == "ny"


def test_a_flag_that_must_be_set_stays_unknown() -> None:
    assert required("#ifdef HEAD_SIZE") == "nu"
    assert required("#ifndef HEAD_SIZE\n#error set it\n#else", "#endif\n") == "nu"
    assert required("#if !defined(STABLE_ONLY)", "#endif\n") == "nu"
    assert required("#if !defined(STABLE_ONLY)", "#else\nint b;\n#endif\n") == "nu"
    assert required("#if !defined(STABLE_ONLY)", "#elif defined(X)\n#error x\n#endif\n") == "nu"
    assert required("#if !defined(STABLE_ONLY)", "#elif defined(X)\nint c;\n#else\n#error x\n#endif\n") == "nu"
    assert required("#if !defined(CUTLASS_ARCH_MMA_SM90_ENABLED)") == "nu"  # a matter of the architecture


USES = "#ifdef WIDE\n#if __CUDA_ARCH__ >= 900\nint a;\n#endif\n#endif\n"


def test_a_macro_that_derives_from_the_architecture_is_not_set_before() -> None:
    derived = f"{USES}#if __CUDA_ARCH__ >= 800\n#define WIDE\n#endif\n"
    assert words(gates(derived)[0].arms[0], "sm_90") == "n"
    assert words(gates(f"{USES}#ifdef OTHER\n#define WIDE\n#endif\n")[0].arms[0], "sm_90") == "u"
    default = f"{USES}#ifndef WIDE\n#define WIDE\n#endif\n"  # a build may set it
    assert words(gates(default)[0].arms[0], "sm_90") == "u"
    two = {"a.cuh": f"{USES}#ifdef OTHER\n#define WIDE\n#endif\n", "b.cu": "#define WIDE\n"}
    assert words(scan(two)["a.cuh"].gates[0].arms[0], "sm_90") == "u"


def test_a_macro_of_who_includes_a_header_holds_in_it() -> None:
    details = "#ifdef IS_NVCC\n#if __CUDA_ARCH__ >= 900\n#define HAS_TMA\n#endif\n#endif\n"
    details += "#ifdef IS_OLD\n#define IS_NVCC\n#endif\n"
    files = {"details.h": details, "target.h": '#define IS_NVCC\n#include "details.h"\n'}
    files["a.cu"] = '#include "target.h"\n#ifdef HAS_TMA\nint a;\n#endif\n'
    arm = scan(files)["a.cu"].gates[0].arms[0]
    assert words(arm, "sm_89", "sm_90") == "ny" and arm.via is Via.INCLUDES
    inside = scan(files)["details.h"].gates[-1].arms[0]
    assert words(inside, "sm_89", "sm_90") == "ny" and inside.via is Via.PROJECT_TABLE


def test_a_call_that_pasting_names_is_expanded_within_a_call() -> None:
    head = """#define PAIR(x) x
#define EXPAND(...) __VA_ARGS__
#define MAKE(a, b) ((a) * 100 + (b))
#define EVAL_(f, args) f args
#define EVAL(f, ...) EVAL_(f, (__VA_ARGS__))
#define AT_LEAST_(version, a, b) (EVAL(MAKE, EXPAND version()) >= MAKE(a, b))
#define AT_LEAST(name, a, b) AT_LEAST_(VERSION_OF_##name, a, b)
#define VERSION_OF_NVCC() (__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__)
#define VERSION_OF_CLANG() (-1, -1)
"""
    test = "#if (AT_LEAST(NVCC, {}) || AT_LEAST(CLANG, 1, 0)) && __CUDA_ARCH__ >= 900\nint a;\n#endif\n"
    new, old = (gates(head + test.format(v))[-1].arms[0] for v in ("13, 0", "13, 1"))
    assert words(new, "sm_89", "sm_90") == "ny"
    assert words(old, "sm_89", "sm_90") == "nn"


def test_comments_in_code_that_is_only_counted_suppress_nothing_and_are_not_idle() -> None:
    data = b"// archscan: ignore[equality-gate] theirs\n#if __CUDA_ARCH__ == 900\n#endif\n"
    end = CudaFrontEnd()
    for origin, included, count in ((Origin.OWN, False, 1), (Origin.VENDORED, False, 0), (Origin.VENDORED, True, 1)):
        context = Context(catalog(), ScanSettings(include_vendored=included))
        index = end.index(Source("third_party/a.h", data, origin=origin), context)
        assert index is not None
        assert len(index.suppressions) == count
