"""What is found in asm text, identifiers and words, and what must not be."""

from __future__ import annotations

import time

import pytest

from archscan.catalog import load
from archscan.catalog.recognise import Recogniser

RECOGNISER = Recogniser(load())


def found(code: str) -> set[tuple[int, str]]:
    return {(use.line, use.feature) for use in RECOGNISER.in_code(code.encode())}


def features(code: str) -> set[str]:
    return {feature for _, feature in found(code)}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('asm volatile("griddepcontrol.wait;" ::: "memory");', {"griddep-wait"}),
        ("cudaGridDependencySynchronize();", {"griddep-wait"}),
        ("cudaTriggerProgrammaticLaunchCompletion();", {"griddep-launch"}),
        ("pdl_wait<true>();", {"griddep-wait"}),
        ("bool pdl_launch = true;", set()),
        ("auto g = cg::this_cluster();", {"cluster"}),
        ("cluster.sync();", {"cluster-barrier"}),
        ("__global__ void __cluster_dims__(8, 1, 1) k() {}", {"cluster"}),
        ("__nv_cvt_float2_to_fp4x2(a, __NV_E2M1, r);", {"cvt-fp4-intrinsic"}),
        ("SM90_TMA_LOAD_MULTICAST::copy(d, m, 0, p, c0, c1);", {"tma", "tma-multicast"}),
        ("using A = SM90_64x128x16_F32BF16BF16_SS<>;", {"wgmma"}),
        ("cute::SM100::TMEM::LOAD;", {"tcgen05"}),
        ("desc = UMMA::make_instr_desc<>(); acc = GMMA::ScaleOut::One;", {"tcgen05", "wgmma"}),
        ("using L = GMMA::Layout_K_SW128_Atom<T>; auto m = UMMA::Major::K;", set()),
        ("template <typename T, std::enable_if_t<is_same_v<T, __nv_fp4_e2m1>>>", set()),
        ("auto y = __nv_fp4x2_e2m1(x);", {"cvt-fp4-intrinsic"}),
        ("load(params, block_rank_in_cluster);", set()),
        ("int r = cute::block_rank_in_cluster();", {"cluster"}),
        ("warpgroup_reg_dealloc<40>();", {"setmaxnreg"}),
        ('asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(x));', {"cluster"}),
        ('asm("redux.sync.max.abs.f32 %0, %1, 0xffffffff;" : "=f"(r) : "f"(x));', {"redux-f32"}),
        ('asm("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(x));', {"redux"}),
        ('asm("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a));', {"cp-async"}),
        ('asm("cp.async.bulk.commit_group;");', {"tma-bulk"}),
        (
            'asm("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile [%0], [%1];" :: "r"(a));',
            {"tma", "tma-cta-group"},
        ),
        ('asm("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0};" ::);', {"mma-f8f6f4"}),
        (
            'asm("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {%0};" ::);',
            {"mma-f8f6f4", "mma-f6f4"},
        ),
        ('asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0};" ::);', {"mma-fp8"}),
        ('asm("fma.rn.f32x2 %0, %1, %2, %3;" ::);', {"f32x2"}),
        ('asm("max.f32 %0, %1, %2, %3;" ::);', {"max3"}),
        ('asm("max.f32 %0, %1, %2;" ::);', set()),
    ],
)
def test_one_line(code: str, expected: set[str]) -> None:
    assert features(code) == expected


def test_adjacent_literals_are_one_text_and_the_line_is_where_the_match_begins() -> None:
    code = """{
  asm volatile(
    "{\\n"
    ".reg .pred p;\\n\\t"
    "wgmma.mma_" // "tcgen05.mma" in a comment
    "async.sync.aligned.m64n" STR(N) "k16"
    ".f32.bf16.bf16 {%0};\\n"
    "}\\n" : "+f"(d));
"""
    assert found(code) == {(5, "wgmma")}


def test_a_parameter_of_a_macro_may_stand_between_literals() -> None:
    code = '#define M(shape) asm volatile("mma.sync.aligned." #shape ".row.col.f32.bf16.bf16.f32 " \\\n "{%0};" ::)\n'
    assert found(code) == {(1, "mma-bf16")}


def test_literals_over_continued_lines_keep_their_lines() -> None:
    code = '#define W() \\\n  asm volatile( \\\n    "elect." \\\n    "sync _|p, %0;" ::)\n'
    assert found(code) == {(3, "elect")}


def test_raw_strings_keep_their_lines() -> None:
    assert found('asm volatile(R"(\n\n  tcgen05.alloc.b32 [%0], %1;\n)" :: "r"(x));') == {(3, "tcgen05")}


def test_asm_text_handed_to_a_macro_counts() -> None:
    assert found('\nPTX("elect.sync _|p, -1;")') == {(2, "elect")}


@pytest.mark.parametrize(
    "code",
    [
        "// griddepcontrol.wait; cudaGridDependencySynchronize();",
        "/* wgmma.fence;\n warpgroup_arrive(); */",
        '// continued \\\ncudaGridDependencySynchronize();\n"x"',
        'printf("wgmma.fence needs sm_90a; tcgen05.mma is not supported\\n");',
        'throw std::runtime_error("tcgen05.mma requires sm_100a");',
        "int x = 1'000'000; // '",
        'char q = \'"\'; const char* s = "elect.sync";',
        "auto cluster_count = 3; int tma = 0;",
        "",
    ],
)
def test_prose_and_comments_are_no_code(code: str) -> None:
    assert features(code) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hopper GMMA main loop", ("wgmma",)),
        ("sm100_umma_kernel.cuh", ("tcgen05",)),
        ("Sm90TMALoadWarpSpecialized", ("tma",)),
        ("runs with PDL", ("griddep-wait", "griddep-launch")),
        ("a 2-CTA pair", ("tma-cta-group",)),
        ("uses NVLS", ("multimem",)),
        ("format, matmul and dogma", ()),
        ("", ()),
    ],
)
def test_words(text: str, expected: tuple[str, ...]) -> None:
    assert RECOGNISER.in_words(text) == expected


@pytest.mark.parametrize(
    "hostile",
    [
        b'"' * 50_000,
        b'"a" ' * 20_000,
        b'"a"' + b" " * 50_000 + b"x",
        b'"a" f(' * 10_000,
        b"/*" * 50_000,
        b"//" * 50_000 + b"\\\n" * 1000,
        b'R"' + b"(" * 50_000,
        b"'" * 50_000,
        b'asm("wgmma.' + b"a." * 20_000 + b'")',
        b"\xff\x00\xfe" * 10_000,
    ],
)
def test_hostile_input_takes_no_time(hostile: bytes) -> None:
    start = time.process_time()
    RECOGNISER.in_code(hostile)
    assert time.process_time() - start < 2
