"""What text, names and values beside a gate make of it: each reason with a neighbour that lacks it."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.judge.advice.floors import floors
from archscan.model.facts import Origin
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()
REFUSAL = """\
import torch

def run(x):
    if torch.cuda.get_device_capability()[0] != MAJOR:
        raise RuntimeError("MESSAGE")
    return kernel(x)
"""
CHOICE = """\
import torch

def splits(x):
    # COMMENT
    if torch.cuda.get_device_capability() in ((9, 0), (10, 0)):
        n = 2
    else:
        n = 1
    return n
"""
ANSWER = """\
import torch

def backward(x):
    # COMMENT
    return torch.cuda.get_device_capability() in ((8, 0), (9, 0))
"""
EMPTY = """\
import torch

def configs(x):
    if torch.cuda.get_device_capability()[0] != 9:
        return VALUE
    return [tile for tile in TILES]
"""
STATUS = """\
#include <cuda_runtime.h>
int launch(cudaDeviceProp const& prop, float* x) {
  if (prop.major != 9) {
    return VALUE;
  }
  run(x);
  return 0;
}
"""
IMAGES = """\
import torch

PATHS = {90: "VALUE90", 100: "VALUE100"}

def path():
    major, minor = torch.cuda.get_device_capability()
    return PATHS[major * 10 + minor]
"""
NEGATED = """\
__device__ void copy(float* a, float const* b) {
#if !(__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
  *a = *b;
#else
  STATEMENT
#endif
}
"""
SWITCH = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 860
#define HALF_ACC 1
#else
#define HALF_ACC 0
#endif
__device__ float inner(float a, float b) {
#if HALF_ACC
  int extra = 0;
#endif
#if HALF_ACC
  return a + b + extra;
ELSE#endif
  return 0.f;
}
"""


def told(path: Path, name: str, source: str, target: str) -> list[tuple[int, str, str]]:
    """(line, consequence, advice) of every finding."""
    (path / name).write_text(source)
    facts = scan([str(path / name)], CATALOG, ScanSettings(use_cache=False, jobs=1))
    found = report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings
    return sorted((f.place.line, f.consequence.value, f.advice.value) for f in found)


@pytest.mark.parametrize(
    ("major", "message", "wanted"),
    [
        ("10", "only on SM100 and SM103", ("correct_exclusion", "leave")),
        ("10", "only on this card", ("runtime_error", "widen-needs-tuning")),
        ("10", "only on SM90 and SM100", ("runtime_error", "widen-needs-tuning")),
    ],
)
def test_an_error_that_names_one_generation(tmp_path: Path, major: str, message: str, wanted: tuple[str, str]) -> None:
    source = REFUSAL.replace("MAJOR", major).replace("MESSAGE", message)
    assert told(tmp_path, "a.py", source, "sm120") == [(4, *wanted)]


@pytest.mark.parametrize(
    ("comment", "advice"),
    [("measured on H100 and B200", "leave"), ("how many splits", "widen-needs-tuning")],
)
def test_numbers_chosen_by_measurement(tmp_path: Path, comment: str, advice: str) -> None:
    assert told(tmp_path, "a.py", CHOICE.replace("COMMENT", comment), "sm89") == [(5, "degraded_tuning", advice)]


@pytest.mark.parametrize(
    ("target", "comment", "wanted"),
    [
        ("sm86", "needs 163 KB of shared memory", ("correct_exclusion", "leave")),
        ("sm86", "staged in shared memory", ("slow_fallback", "widen-safe")),
        ("sm87", "needs 163 KB of shared memory", ("slow_fallback", "widen-safe")),
    ],
)
def test_memory_as_the_reason(tmp_path: Path, target: str, comment: str, wanted: tuple[str, str]) -> None:
    assert told(tmp_path, "a.py", ANSWER.replace("COMMENT", comment), target) == [(5, *wanted)]


@pytest.mark.parametrize(("value", "count"), [("[]", 1), ("[8]", 0)])
def test_an_empty_list_is_no_answer(tmp_path: Path, value: str, count: int) -> None:
    assert len(told(tmp_path, "a.py", EMPTY.replace("VALUE", value), "sm120")) == count


@pytest.mark.parametrize(
    "value", ["STATUS_NOT_SUPPORTED", "kUnsupported", "Status::Invalid(1)", "Result::arch_not_supported"]
)
def test_an_error_by_its_name(tmp_path: Path, value: str) -> None:
    assert [t[1] for t in told(tmp_path, "a.cpp", STATUS.replace("VALUE", value), "sm120")] == ["runtime_error"]


@pytest.mark.parametrize(("value", "count"), [("ARCH_MISMATCH", 1), ("0", 1), ("general(a)", 0)])
def test_a_bare_constant_before_the_call_that_works(tmp_path: Path, value: str, count: int) -> None:
    source = STATUS.replace("VALUE", value).replace("  run(x);\n  return 0;", "  return run(x);")
    assert len(told(tmp_path, "a.cpp", source, "sm120")) == count


@pytest.mark.parametrize(("value", "advice"), [("attn.cubin.", "widen-unsafe-runtime"), ("attn_", "widen-safe")])
def test_rows_that_name_images(tmp_path: Path, value: str, advice: str) -> None:
    assert [t[2] for t in told(tmp_path, "a.py", IMAGES.replace("VALUE", value), "sm103")] == [advice]


@pytest.mark.parametrize(
    ("statement", "target", "lines"),
    [
        ('asm volatile("fence.proxy.async;");', "sm120", [2]),
        ('asm volatile("fence.proxy.async;");', "sm100", []),
        ("*a = *b + 0.f;", "sm120", []),
    ],
)
def test_a_window_written_as_what_it_leaves_out(tmp_path: Path, statement: str, target: str, lines: list[int]) -> None:
    assert [t[0] for t in told(tmp_path, "a.cuh", NEGATED.replace("STATEMENT", statement), target)] == lines


@pytest.mark.parametrize(("other", "silent"), [("#else\n  return a + b;\n", False), ("", True)])
def test_a_test_that_helps_another_way_along(tmp_path: Path, other: str, silent: bool) -> None:
    outcomes = {t[1] for t in told(tmp_path, "a.cuh", SWITCH.replace("ELSE", other), "sm120")}
    assert ("silent_noop" in outcomes) is silent


@pytest.mark.parametrize(("include_tests", "count"), [(False, 0), (True, 1)])
def test_tests_are_counted(tmp_path: Path, include_tests: bool, count: int) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(REFUSAL.replace("MAJOR", "9"))
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False, jobs=1))
    assert [f.origin for f in facts.files] == [Origin.TEST]
    made = report(facts, select("sm120", CATALOG), CATALOG, JudgeSettings(include_tests=include_tests))
    assert len(made.findings) == count and made.hidden == (() if include_tests else (("test", 1),))


def test_a_variant_of_the_chip_is_a_peer_of_another(tmp_path: Path) -> None:
    source = "__device__ void f() {\n#ifdef __CUDA_ARCH_FEAT_SM100_ALL\n  g();\n#else\n  __trap();\n#endif\n}\n"
    assert [t[1] for t in told(tmp_path, "a.cuh", source, "sm_100f")] == ["trap"]
    assert told(tmp_path, "a.cuh", source, "sm_100") == []


WAIT = """\
#pragma once
namespace ops {
__device__ inline void wait() {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100
  cudaGridDependencySynchronize();
#endif
}
}
"""
LAUNCH = """\
#include <cuda_runtime.h>
INCLUDE
__global__ void norm(float* y) { ops::wait(); y[threadIdx.x] *= 2.f; }
void run(float* y, cudaStream_t s) {
  cudaLaunchConfig_t c = {};
  cudaLaunchAttribute a[1];
  a[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  a[0].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = a;
  cudaLaunchKernelEx(&c, norm, y);
}
"""


@pytest.mark.parametrize(("include", "paired"), [('#include "wait.cuh"', True), ("", False)])
def test_an_attribute_and_a_wait_in_a_header(tmp_path: Path, include: str, paired: bool) -> None:
    (tmp_path / "wait.cuh").write_text(WAIT)
    (tmp_path / "norm.cu").write_text(LAUNCH.replace("INCLUDE", include))
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False, jobs=1))
    found = report(facts, select("sm120", CATALOG), CATALOG, JudgeSettings()).findings
    assert any(f.path == "norm.cu" and f.consequence.value == "race" for f in found) is paired
    advice = next(f.advice.value for f in found if f.path == "wait.cuh")
    assert (advice == "pair") is paired


CALLED = """\
#include <cuda_runtime.h>
void run(cudaDeviceProp const& prop, float* x) {
  int const sm = prop.major * 10 + prop.minor;
  if (CONDITION) {
    CALL(x);
  } else {
    general(x);
  }
}
"""


@pytest.mark.parametrize(
    ("condition", "call", "target", "count"),
    [
        ("prop.major == 10", "launch_sm100a", "sm103", 1),
        ("prop.major == 10", "launch_sm100f", "sm103", 0),
        ("prop.major == 10", "launch_sm100a", "sm100", 0),
        ("prop.major >= 10", "launch_sm100a", "sm120", 1),
        ("sm == 100 || sm == 120", "launch_sm100a", "sm120", 0),
    ],
)
def test_a_function_named_for_one_image(tmp_path: Path, condition: str, call: str, target: str, count: int) -> None:
    source = CALLED.replace("CONDITION", condition).replace("CALL", call)
    found = told(tmp_path, "a.cpp", source, target)
    assert [t for t in found if t[1] == "load_error"] == [(4, "load_error", "narrow")] * count


OWN = """\
import torch

def run(x):
    FLAG = torch.cuda.get_device_capability()[0] == 10
    if not FLAG:
        x = general(x)
    return x
"""


@pytest.mark.parametrize(
    ("flag", "target", "count"),
    [("use_dedicated_kernel", "sm103", 0), ("is_broken_there", "sm103", 1), ("use_dedicated_kernel", "sm120", 0)],
)
def test_a_flag_that_the_target_has(tmp_path: Path, flag: str, target: str, count: int) -> None:
    assert len(told(tmp_path, "a.py", OWN.replace("FLAG", flag), target)) == count


SENT_AWAY = """\
import torch

def plan(x):
    if torch.cuda.get_device_capability()[0] != 12:
        return general(x)
    return None
"""


@pytest.mark.parametrize(("name", "count"), [("plan_sm120.py", 0), ("plan.py", 1), ("plan_sm90.py", 1)])
def test_code_of_the_target_sends_others_away(tmp_path: Path, name: str, count: int) -> None:
    assert len(told(tmp_path, name, SENT_AWAY, "sm120")) == count


REQUIRED = """\
import torch

def load(x):
    if torch.cuda.get_device_capability() ASKS:
        raise RuntimeError("MESSAGE")
    return kernel(x)
"""


@pytest.mark.parametrize(
    ("asks", "target", "message", "wanted"),
    [
        ("< (8, 0)", "sm75", "needs compute capability 8.0 or newer", ("correct_exclusion", "leave")),
        ("< (8, 0)", "sm75", "needs Ampere GPUs or newer", ("correct_exclusion", "leave")),
        ("< (8, 0)", "sm75", "needs CUDA 8.0 or newer", ("runtime_error", "widen-needs-tuning")),
        ("< (8, 9)", "sm86", "needs compute capability 7.5 or newer", ("runtime_error", "widen-safe")),
        (">= (12, 0)", "sm120", "needs Turing or newer", ("runtime_error", "widen-safe")),
        (">= (12, 0)", "sm120", "needs sm_90 or newer", ("runtime_error", "widen-needs-tuning")),
        (">= (12, 0)", "sm120", "not supported on 12.0 yet", ("runtime_error", "widen-unsafe-runtime")),
    ],
)
def test_what_an_error_asks_for(tmp_path: Path, asks: str, target: str, message: str, wanted: tuple[str, str]) -> None:
    source = REQUIRED.replace("ASKS", asks).replace("MESSAGE", message)
    assert told(tmp_path, "a.py", source, target) == [(4, *wanted)]


@pytest.mark.parametrize(
    ("rows", "target", "advice"),
    [
        ('{100: "attn_sm100a", 120: "attn_sm120a"}', "sm121", "widen-unsafe-runtime"),
        ('{100: "attn_sm100f", 120: "attn_sm120f"}', "sm121", "widen-safe"),
        ('{100: "attn_sm100", 120: "attn_sm120"}', "sm121", "widen-safe"),
        ('{100: "attn_sm100a", 120: "attn_sm120a"}', "sm103", "widen-unsafe-runtime"),
    ],
)
def test_a_row_whose_image_does_not_load_on_the_sibling(tmp_path: Path, rows: str, target: str, advice: str) -> None:
    source = IMAGES.replace('{90: "VALUE90", 100: "VALUE100"}', rows)
    assert [t[2] for t in told(tmp_path, "a.py", source, target)] == [advice]


LADDER = """\
import torch

def pick():
    major = torch.cuda.get_device_capability()[0]
    if major == 8:
        return FIRST
    if major == 10:
        return decode_sm100
    raise RuntimeError("no kernel")
"""


@pytest.mark.parametrize(("first", "advice"), [("decode_sm80", "widen-unsafe-runtime"), ("decode_sm100", "leave")])
def test_a_ladder_with_code_for_each_generation(tmp_path: Path, first: str, advice: str) -> None:
    assert told(tmp_path, "a.py", LADDER.replace("FIRST", first), "sm120")[0][2] == advice


ASKED = """\
import torch

def use_it():
    # COMMENT
    return torch.cuda.get_device_capability()[0] == 9

def run(x):
    if use_it():
        return fast(x)
    return slow(x)
"""


@pytest.mark.parametrize(
    ("comment", "advice"),
    [
        ("written with wgmma", "leave"),
        ("redux.sync.max.f32 and shuffles", "leave"),
        ("slower on consumer parts", "leave"),
        ("no gain on anything newer than Hopper", "leave"),
        ("set by the scheduler", "widen-needs-tuning"),
    ],
)
def test_what_a_predicate_says_of_itself(tmp_path: Path, comment: str, advice: str) -> None:
    assert [t[2] for t in told(tmp_path, "a.py", ASKED.replace("COMMENT", comment), "sm120")] == [advice]


CHECKED = """\
#include <cuda_runtime.h>
#include <stdexcept>
// COMMENT
void run(cudaDeviceProp const& prop) {
  if (prop.major > 9) throw std::runtime_error("too new");
  forward();
}
"""


@pytest.mark.parametrize(
    ("comment", "advice"), [("warp-level kernels", "widen-safe"), ("entry point", "widen-needs-tuning")]
)
def test_the_comment_above_a_function(tmp_path: Path, comment: str, advice: str) -> None:
    assert [t[2] for t in told(tmp_path, "a.cpp", CHECKED.replace("COMMENT", comment), "sm120")] == [advice]


MAPPED = """\
#include <map>
#include <stdexcept>
static const std::map<int, int> kShared = {ROWS};
int shared(int sm) {
  auto it = kShared.find(sm);
  if (it == kShared.end()) throw std::runtime_error("unknown");
  return it->second;
}
"""


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        ("{80, 166912}, {86, 101376}", "widen-safe"),  # one of them is the limit of 12.0
        ("{80, 166912}, {90, 232448}", "widen-needs-tuning"),
        ("{80, 64}, {86, 32}", "widen-needs-tuning"),
    ],
)
def test_a_map_of_limits(tmp_path: Path, rows: str, advice: str) -> None:
    assert [t[2] for t in told(tmp_path, "a.cpp", MAPPED.replace("ROWS", f"{{{rows}}}"), "sm120")] == [advice]


@pytest.mark.parametrize(("code", "outcome"), [("1", "runtime_error"), ("0", "silent_noop")])
def test_a_complaint_and_an_exit_code(tmp_path: Path, code: str, outcome: str) -> None:
    source = STATUS.replace("return VALUE", f'fprintf(stderr, "not for it (yet)"); return {code}')
    source = source.replace("  run(x);\n  return 0;", "  return run(x);")
    assert [t[1] for t in told(tmp_path, "a.cpp", source, "sm120")] == [outcome]


@pytest.mark.parametrize(
    ("name", "advice"), [("rms_norm", "widen-needs-tuning"), ("rms_norm_gemm", "leave"), ("decode", "leave")]
)
def test_an_error_for_element_wise_code(tmp_path: Path, name: str, advice: str) -> None:
    source = REFUSAL.replace("MAJOR", "10").replace("MESSAGE", "requires SM100").replace("def run", f"def {name}")
    assert [t[2] for t in told(tmp_path, "a.py", source, "sm120")] == [advice]


FENCE = """\
__device__ void done(int* flag) {
  // COMMENT
#if __CUDA_ARCH__ == 1210
  CALL;
#endif
  *flag = 1;
}
"""


@pytest.mark.parametrize(
    ("comment", "call", "wanted"),
    [
        ("GB10: release before the flag", "__threadfence()", ("no_effect", "leave")),
        ("release before the flag", "__threadfence()", ("runtime_error", "contested")),
        ("release before the flag", "publish(flag)", ("silent_noop", "widen-safe")),
    ],
)
def test_a_fence_for_one_chip(tmp_path: Path, comment: str, call: str, wanted: tuple[str, str]) -> None:
    source = FENCE.replace("COMMENT", comment).replace("CALL", call)
    assert told(tmp_path, "a.cuh", source, "sm120") == [(3, *wanted)]


SERVED = """\
__device__ void load(float* x) {
#if __CUDA_ARCH__ >= 900
  x[0] = x[1];
#endif
}
__global__ void fused(float* x) {
#if __CUDA_ARCH__ >= 900
  load(x);
  STATEMENT
#endif
}
"""


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ('asm volatile("griddepcontrol.wait;");', [(2, "leave"), (7, "widen-unsafe-compile")]),
        ("x[2] = x[0];", [(2, "widen-safe"), (7, "widen-safe")]),
    ],
)
def test_a_function_of_a_kernel_that_cannot_run(tmp_path: Path, statement: str, wanted: list[tuple[int, str]]) -> None:
    found = told(tmp_path, "a.cuh", SERVED.replace("STATEMENT", statement), "sm89")
    assert [(line, advice) for line, _, advice in found] == wanted


ABSENT = """\
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ inline float widen(unsigned short x) { return __uint_as_float(x << 16); }
#endif
"""


def test_what_is_defined_for_others_only(tmp_path: Path) -> None:
    assert told(tmp_path, "a.cuh", ABSENT, "sm75") == [(1, "compile_error", "widen-safe")]


TUNED = """\
import torch

def config(x):
    if torch.cuda.get_device_capability() == (12, 0):
        return VALUE
    return OTHER
"""


@pytest.mark.parametrize(
    ("value", "other", "outcome"),
    [
        ('{"BLOCK_M": 64, "stages": 2}', '{"BLOCK_M": 16, "stages": 3}', "degraded_tuning"),
        ("dict(stages=2)", "dict(stages=3)", "degraded_tuning"),
        ("4 if x > 8 else 2", "max(1, x // 8)", "degraded_tuning"),
        ('{"path": "fast"}', '{"path": "slow"}', "slow_fallback"),
    ],
)
def test_values_that_are_numbers(tmp_path: Path, value: str, other: str, outcome: str) -> None:
    source = TUNED.replace("VALUE", value).replace("OTHER", other)
    assert [t[1] for t in told(tmp_path, "a.py", source, "sm121")] == [outcome]


@pytest.mark.parametrize(("chip", "advice"), [("GB10", "leave"), ("some boards", "contested")])
def test_a_fault_of_the_very_chip(tmp_path: Path, chip: str, advice: str) -> None:
    source = ASKED.replace("COMMENT", f"deadlocks on {chip}").replace("[0] == 9", " != (12, 1)")
    assert [t[2] for t in told(tmp_path, "a.py", source, "sm121")] == [advice]


@pytest.mark.parametrize(
    ("cap", "message", "target", "advice"),
    [
        ("(10, 0)", "needs B200", "sm103", "widen-safe"),
        ("(10, 0)", "needs exactly 10.0", "sm103", "widen-unsafe-runtime"),
        ("(10, 3)", "needs B300", "sm100", "widen-needs-tuning"),  # a later chip may have more
    ],
)
def test_a_sibling_is_no_promise(tmp_path: Path, cap: str, message: str, target: str, advice: str) -> None:
    source = REQUIRED.replace("ASKS", f"!= {cap}").replace("MESSAGE", message)
    assert [t[2] for t in told(tmp_path, "a.py", source, target)] == [advice]


@pytest.mark.parametrize(
    ("comment", "lines"),
    [("cubins in this package: sm_100a", [5]), ("cubins, but not those of sm_100a", [])],
)
def test_images_that_a_comment_denies(tmp_path: Path, comment: str, lines: list[int]) -> None:
    source = "import torch\n\ndef load():\n    # COMMENT\n    if torch.cuda.get_device_capability()[0] == 10:\n"
    source = source.replace("COMMENT", comment) + "        return run()\n    return other()\n"
    assert [t[0] for t in told(tmp_path, "a.py", source, "sm103")] == lines


@pytest.mark.parametrize("text", ["compute ", "a ", "8.0 _ ", "the sm 80 gpus or ", "not an ", "requires the "])
def test_hostile_text_is_read_in_time(text: str) -> None:
    before = process_time()
    list(floors(text * 20_000, CATALOG.generations))
    assert process_time() - before < 2


OPTIONAL = """\
import torch

def check(backend):
    if QUESTIONtorch.cuda.get_device_capability()[0] >= 10:
        raise RuntimeError("not on this device")
    return kernel(backend)
"""


@pytest.mark.parametrize(
    ("question", "assumes", "score"), [("", (), 36), ('backend == "new" and ', ('backend == "new"',), 31)]
)
def test_what_refuses_by_default_stands_before_what_a_choice_refuses(
    question: str, assumes: tuple[str, ...], score: int, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(OPTIONAL.replace("QUESTION", question))
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False))
    (finding,) = report(facts, select("sm_120", CATALOG), CATALOG, JudgeSettings()).findings
    assert (finding.assumes, finding.risk.score) == (assumes, score)


@pytest.mark.parametrize(
    ("backend", "target", "advice"),
    [
        ("fa3", "sm_120", "leave"),
        ("fa3", "sm_89", "widen-needs-tuning"),  # built for 8.0 as well
        ("flash_attention_v3", "sm_120", "leave"),
        ("machete", "sm_89", "leave"),
        ("fa30", "sm_120", "widen-needs-tuning"),
    ],
)
def test_kernels_of_some_generations_are_known_by_name(backend: str, target: str, advice: str, tmp_path: Path) -> None:
    source = (
        "import torch\n\ndef backend():\n    if torch.cuda.get_device_capability()[0] == 9:\n"
        f'        return "{backend}"\n    return "other"\n'
    )
    (tmp_path / "a.py").write_text(source)
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False))
    (finding,) = report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings
    assert finding.advice.value == advice
    said = f'{target} gets "other" where others get "{backend}"'
    assert finding.message.startswith(said)


def test_of_equals_the_better_known_and_wider_come_first(tmp_path: Path) -> None:
    source = (
        "import torch\n\ndef kernel():\n    if torch.cuda.get_device_capability()[0] == {}:\n"
        "        {}()\n    else:\n        plain()\n"
    )
    (tmp_path / "a.py").write_text(source.format("9", "one"))
    (tmp_path / "b.py").write_text(source.format("10", "other"))
    (tmp_path / "c.py").write_text(source.format("10", "other"))
    (tmp_path / "d.py").write_text(source.format("9", "all_reduce"))
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False))
    found = report(facts, select("sm_120", CATALOG), CATALOG, JudgeSettings()).findings
    assert [f.path for f in found] == ["d.py", "b.py", "c.py", "a.py"]
    assert len({f.risk.score for f in found}) == 1
