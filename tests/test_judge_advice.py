"""Rows of rules/advice.yaml at their boundaries: what is advised, and what the target gets today."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.judge.cases import Case
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.pipeline import report, scan

CATALOG = load()


def told(folder: Path, name: str, text: str, target: str) -> list[tuple[int, str, str, str]]:
    """Line, outcome, advice and row of what is reported for a file on its own."""
    (folder / name).write_text(text)
    facts = scan([str(folder)], CATALOG, ScanSettings(use_cache=False))
    found = report(facts, select(target, CATALOG), CATALOG, JudgeSettings()).findings
    return sorted((f.place.line, f.consequence.value, f.advice.value, f.row) for f in found)


SUFFIXED = """\
template <class Operator>
__global__ void run(typename Operator::Params params) {
#if defined(MACRO)
  Operator op;
  op(params);
#else
  __trap();
#endif
}
"""
BAND = """\
template <class Kernel>
struct Banded : Kernel {
  template <class... Args>
  __device__ static void invoke(Args&&... args) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 890
    CALL;
#endif
  }
};
"""
STATUS = """\
int start() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  if (prop.major != 9) return -1;
  return RESULT;
}
"""
OVERRIDE = """\
import torch

def stages(n):
    count = 4
    if torch.cuda.get_device_capability()CONDITION:
        count = 2
    return run(n, count)
"""
ENTRIES = """\
def gencode(capabilities):
    flags = []
    for cap in sorted(capabilities):
        if cap.startswith("9.0"):
            num = "90a"
        elif cap.startswith("10.0"):
            num = "100a"
        else:
            continue
        flags += ["-gencode", f"arch=compute_{num},code=sm_{num}"]
    return flags
"""
OLDER = """\
__global__ void scale(float* x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  x[threadIdx.x] *= 2.f;
#endif
}
"""


@pytest.mark.parametrize(
    ("macro", "target", "advice"),
    [
        ("__CUDA_ARCH_FEAT_SM90_ALL", "sm_103", "leave"),  # code of 9.0's own instructions
        ("__CUDA_ARCH_FEAT_SM100_ALL", "sm_103", "investigate"),  # of the target's family
        ("__CUDA_ARCH__) && (__CUDA_ARCH__ == 900", "sm_103", "investigate"),
    ],
)
def test_code_for_the_own_instructions_of_another_family(macro: str, target: str, advice: str, tmp_path: Path) -> None:
    assert [row[2] for row in told(tmp_path, "run.cuh", SUFFIXED.replace("MACRO", macro), target)] == [advice]


@pytest.mark.parametrize(
    ("call", "advice"), [("Kernel::invoke(args...)", "investigate"), ("std::forward<Args>(args)...", "widen-safe")]
)
def test_a_method_of_a_parameter_is_not_known_by_its_last_name(call: str, advice: str, tmp_path: Path) -> None:
    assert [row[2] for row in told(tmp_path, "band.cuh", BAND.replace("CALL", call), "sm_100")] == [advice]


@pytest.mark.parametrize(("result", "outcome"), [("0", "runtime_error"), ("launch()", "slow_fallback")])
def test_a_negative_status_beside_zero_is_an_error(result: str, outcome: str, tmp_path: Path) -> None:
    assert [row[1] for row in told(tmp_path, "start.cpp", STATUS.replace("RESULT", result), "sm_120")] == [outcome]


@pytest.mark.parametrize(
    ("condition", "advice"), [("[0] == 8", "leave"), (" in [(8, 0), (9, 0)]", "widen-needs-tuning")]
)
def test_an_exception_for_one_generation_is_no_default(condition: str, advice: str, tmp_path: Path) -> None:
    assert [row[2] for row in told(tmp_path, "s.py", OVERRIDE.replace("CONDITION", condition), "sm_120")] == [advice]


def test_a_ladder_of_what_to_build_is_about_images(tmp_path: Path) -> None:
    assert [row[1:] for row in told(tmp_path, "setup.py", ENTRIES, "sm_103")] == [
        ("load_error", "widen-safe", "images")
    ]
    assert told(tmp_path, "setup.py", ENTRIES, "sm_100") == []


@pytest.mark.parametrize("target", ["sm_89", "sm_120"])
def test_a_requirement_whose_code_assembles_can_be_opened_whatever_the_age(target: str, tmp_path: Path) -> None:
    assert [found[3] for found in told(tmp_path, "scale.cu", OLDER, target)] == ["can-required"]


ASKED = """\
import os

archs = os.getenv("MY_ARCH_LIST", "8.0 9.0")
flags = []
if "9.0" in archs:
    flags += ["-gencode", "arch=compute_90a,code=sm_90a"]
if "8.0" in archs:
    flags += ["-gencode", "arch=compute_80,code=sm_80"]
if "12.0" in archs:
    flags += ["-gencode", "arch=compute_120,code=sm_120"]
"""


@pytest.mark.parametrize(("target", "row"), [("sm_110", "images-no-branch"), ("sm_120", "images")])
def test_a_default_that_no_branch_asks_for(target: str, row: str, tmp_path: Path) -> None:
    assert [found[3] for found in told(tmp_path, "setup.py", ASKED, target) if found[0] == 3] == [row]


def test_a_set_that_python_cannot_make_is_no_list_of_choices(tmp_path: Path) -> None:
    """A dict inside a set: the judge once ended with a traceback."""
    text = (
        "import torch\ndef f():\n    if torch.cuda.get_device_capability()[0] == 9:\n        return [1, 2, 4]\n"
        "    return {{1: 2}, 3}\n"
    )
    assert [row[0] for row in told(tmp_path, "s.py", text, "sm_120")] == [3]


def test_a_gate_that_cannot_be_judged_loses_its_file_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(case: Case) -> bool:
        if case.file.path.endswith("bad.py"):
            raise KeyError("x")
        return False

    monkeypatch.setattr("archscan.judge.search.NO_EXCLUSION", (broken,))
    text = "import torch\nif torch.cuda.get_device_capability()[0] != 9:\n    raise RuntimeError('no')\n"
    for name in ("bad.py", "good.py"):
        (tmp_path / name).write_text(text)
    catalog = load()
    facts = scan([str(tmp_path)], catalog, ScanSettings())
    found = report(facts, select("sm_120", catalog), catalog, JudgeSettings())
    assert [finding.path.rpartition("/")[2] for finding in found.findings] == ["good.py"]
    (lost,) = found.failed
    assert lost.path.endswith("bad.py") and "line 2: internal error at broken" in lost.reason


LADDER = """\
import torch
def pick(x):
    sm = 10 * torch.cuda.get_device_capability()[0] + torch.cuda.get_device_capability()[1]
    if sm == 121:
        return fast121(x)
    elif CONDITION:
        return fast89(x)
    return slow(x)
"""


@pytest.mark.parametrize(
    ("condition", "row"),
    [
        ("sm >= 89", "unknown-older"),  # a lower bound above 8.7, of which the rung before takes the newest
        ("sm in (89, 90, 100)", "unknown-newer"),  # no bound: 8.9 is a sibling
    ],
)
def test_a_rung_of_a_ladder_is_a_lower_bound(condition: str, row: str, tmp_path: Path) -> None:
    assert [found[3] for found in told(tmp_path, "pick.py", LADDER.replace("CONDITION", condition), "sm_87")] == [row]


REASONED = """\
import torch
SUPPORTED = ((9, 0), (10, 0))
def supported():
    if torch.cuda.get_device_capability() not in SUPPORTED:
        return OTHERS
    return TARGET
"""


@pytest.mark.parametrize(
    ("others", "target", "told_of"),
    [
        ('(False, f"only {SUPPORTED} have kernels here")', 'True, ""', []),
        ('"served on H100 and B200 only"', "None", []),
        ('"fp8_kernel"', "None", [2]),  # a name is a choice, and no reason
    ],
)
def test_who_is_named_is_not_shut_out_by_a_refusal_of_others(
    others: str, target: str, told_of: list[int], tmp_path: Path
) -> None:
    text = REASONED.replace("OTHERS", others).replace("TARGET", target)
    assert [found[0] for found in told(tmp_path, "gate.py", text, "sm_90")] == told_of


WARPS = """\
def warps(arch):
    return 48 if arch in ("sm_86", "sm_89", "sm_120") else 64
"""
BLOCKS = """\
import torch
def blocks(most):
    cc = torch.cuda.get_device_capability()
    if cc in ((7, 5), (8, 6), (8, 7)):
        most = min(most, 16)
    elif cc == (8, 9) or cc[0] == 12:
        most = min(most, 24)
    else:
        most = min(most, 32)
    return most
"""


@pytest.mark.parametrize(
    ("text", "target", "told_of"),
    [
        (WARPS, "sm_100", []),  # 64 warps are 2,048 threads
        (WARPS, "sm_121", [2]),  # it has 48, and gets 64
        (WARPS.replace("48", "40"), "sm_100", [2]),  # no limit, just numbers
        (BLOCKS, "sm_90", []),
        (BLOCKS.replace("16", "8"), "sm_90", [6]),
    ],
)
def test_who_gets_the_own_limit_misses_nothing(text: str, target: str, told_of: list[int], tmp_path: Path) -> None:
    assert [found[0] for found in told(tmp_path, "limits.py", text, target)] == told_of


RESIDENT = """\
int maxBlocksPerSm(int ccMajor, int ccMinor) {
  if (ccMajor == 7 && ccMinor == 5) return 16;
  if ((ccMajor == 8 && ccMinor >= 6) || ccMajor == 12) return 24;
  return 32;
}
"""


@pytest.mark.parametrize(
    ("text", "target", "outcomes"),
    [
        (RESIDENT, "sm_103", []),  # 32 is its limit, though the row of 24 is wrong for 8.6
        (RESIDENT, "sm_110", [("degraded_tuning", "widen-safe", "right-limit")]),  # 24 as 12.x
        (RESIDENT.replace("16;", "12;"), "sm_103", [("degraded_tuning", "widen-needs-tuning", "tuning")]),
    ],
)
def test_a_ladder_of_resident_blocks(text: str, target: str, outcomes: list[object], tmp_path: Path) -> None:
    assert [found[1:] for found in told(tmp_path, "limits.cpp", text, target)] == outcomes


RECORDS = """\
LIMITS = {
    "sm_72": Limits(threads=1024, shared=96 * 1024),
    "sm_86": Limits(threads=1024, shared=99 * 1024),
    "sm_90": Limits(threads=1024, shared=227 * 1024),
}
def limits(arch):
    if arch not in LIMITS:
        raise ValueError(f"no such {arch}")
    return LIMITS[arch]
"""


@pytest.mark.parametrize(("shared", "row"), [("99 * 1024", "limit"), ("98 * 1024", "missing-behind")])
def test_records_hold_limits_too(shared: str, row: str, tmp_path: Path) -> None:
    found = told(tmp_path, "limits.py", RECORDS.replace("99 * 1024", shared), "sm_120")
    assert row in [one[3] for one in found]


STEP = """\
import torch
def run(x, flags):
    if torch.cuda.get_device_capability()[0] in (9, 10):
        STEP
    return launch(x, flags)
"""


@pytest.mark.parametrize(
    ("step", "target", "row"),
    [
        ("flags = [*flags, '-DTMA=1']", "sm_120", "one-more-step"),
        ("warn_once(x)", "sm_120", "one-more-step"),
        ("flags = 'fa3'", "sm_120", "unknown-newer"),  # a choice
        ("warn_once(x)", "sm_103", None),  # it is done there
    ],
)
def test_a_step_more_for_others_is_nothing_missed(step: str, target: str, row: str | None, tmp_path: Path) -> None:
    rows = [found[3] for found in told(tmp_path, "run.py", STEP.replace("STEP", step), target)]
    assert rows == ([row] if row else [])


TILES = """\
TILES = {ROWS}
def tiles(arch, n):
    return TILES.get((arch, n))
"""


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ('("sm_90", 128): launch(4), ("sm_90", 256): launch(8)', "one-chip"),
        ('("sm_90", 128): launch(4), ("sm_80", 256): launch(8)', "unknown-newer"),
    ],
)
def test_a_table_for_one_chip_is_a_choice_for_it(rows: str, row: str, tmp_path: Path) -> None:
    text = (
        TILES.replace("ROWS", rows)
        .replace("{(", "{(")
        .replace("tiles(arch)", "tiles(arch, n)")
        .replace("get(arch)", "get((arch, n))")
    )
    assert row in [found[3] for found in told(tmp_path, "tiles.py", text, "sm_120")]


@pytest.mark.parametrize(
    ("condition", "row"),
    [("minor != 0", "tuning-by-minor"), ("major == 8 and minor != 0", "tuning"), ("major == 10", "tuning")],
)
def test_a_minor_alone_is_no_chip(condition: str, row: str, tmp_path: Path) -> None:
    text = (
        "import torch\ndef size():\n    major, minor = torch.cuda.get_device_capability()\n"
        f"    if {condition}:\n        return 64\n    return 128\n"
    )
    assert [found[3] for found in told(tmp_path, "size.py", text, "sm_120")] == [row]


SERVED = """\
import torch
def memory():
    major, minor = torch.cuda.get_device_capability()
    cc = 10 * major + minor
    limits = {75: 64000, 80: 163000, 86: 99000, 89: 99000, 90: 227000}
    return 99000 if cc > 90 else limits[cc]
"""


@pytest.mark.parametrize(("target", "misses"), [("sm_120", False), ("sm_87", True)])
def test_who_is_served_before_the_table_is_asked_misses_no_row(target: str, misses: bool, tmp_path: Path) -> None:
    assert (5 in [found[0] for found in told(tmp_path, "memory.py", SERVED, target)]) is misses


SHIM = """\
#pragma once
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ == 1000
#define OTHER_MMA_SM100A_ENABLED 1
#define OTHER_TMA_SM100_ENABLED 1
#elif __CUDA_ARCH__ == 1100
#define OTHER_MMA_SM110A_ENABLED 1
#define OTHER_TMA_SM100_ENABLED 1
#endif
#endif
"""


def test_a_header_that_switches_on_code_of_others_is_no_code_that_can_run(tmp_path: Path) -> None:
    assert {(found[2], found[3]) for found in told(tmp_path, "shim.cuh", SHIM, "sm_120")} <= {
        ("leave", "one-chip-required"),
        ("investigate", "unknown-newer"),
    }


VENDORS = """\
import torch
try:
    import vendor
    major = torch.cuda.get_device_capability()[0]
except Exception:
    major = None
def block(x):
    if major == 9:
        size = 64
    elif major == 8:
        size = 32
    elif major == 3 and vendor.name == "other":
        size = 32
    else:
        raise NotImplementedError("no block size")
    return launch(x, size)
"""


@pytest.mark.parametrize(("target", "is_told"), [("sm_90", False), ("sm_89", False), ("sm_100", True)])
def test_who_has_a_rung_of_its_own_is_not_shut_out_of_the_next(target: str, is_told: bool, tmp_path: Path) -> None:
    assert bool(told(tmp_path, "block.py", VENDORS, target)) is is_told


LIMITS = """\
import torch

MEMORY = {
    (8, 0): 164 * 1024,
    (8, 9): 100 * 1024,
    (9, 0): 228 * 1024,
}

def plan(device):
    cap = torch.cuda.get_device_capability(device)
    size = MEMORY.get(cap)
    if size is None:
        OTHERWISE
    return run(device, size)
"""


@pytest.mark.parametrize(
    ("otherwise", "row"),
    [
        ("size = torch.cuda.get_device_properties(device).shared_memory_per_block", "found-otherwise"),
        ('raise ValueError("unknown GPU")', "right-limit"),
        ("size = 64 * 1024", "right-limit"),
    ],
)
def test_numbers_by_chip_with_a_way_out(otherwise: str, row: str, tmp_path: Path) -> None:
    text = LIMITS.replace("OTHERWISE", otherwise)
    assert [found[3] for found in told(tmp_path, "plan.py", text, "sm_120")] == [row]


MANY = str({f"number_{i}": 2048 for i in range(12)})
ROWS = """\
import torch

PEAK = {(8, 0): FIRST, (8, 6): SECOND, (9, 0): FIRST}

def plan():
    return run(PEAK.get(torch.cuda.get_device_capability(), OTHERWISE))
"""


@pytest.mark.parametrize(
    ("first", "second", "otherwise", "outcome"),
    [
        ("2048", "1024", "512", "degraded_tuning"),
        (MANY, '{"number_0": 1024}', '{"number_0": 512}', "degraded_tuning"),  # shown in part
        ("2048", "1024", "None", "degraded_tuning"),  # who asked does without the number
        ('"wide"', '"narrow"', "None", "slow_fallback"),
    ],
)
def test_what_a_missing_row_costs(first: str, second: str, otherwise: str, outcome: str, tmp_path: Path) -> None:
    text = ROWS.replace("FIRST", first).replace("SECOND", second).replace("OTHERWISE", otherwise)
    assert [found[1] for found in told(tmp_path, "plan.py", text, "sm_120")] == [outcome]


PART = """\
__device__ float blend(float x, int lane) {
  float sum = reduce(x);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ CONDITION
  keep(sum, lane);
#endif
  float rest = bridge(x);
MORE
  return sum + rest;
}
"""


@pytest.mark.parametrize(
    ("condition", "more", "outcome"),
    [
        ("== 900", "", "degraded_tuning"),  # nearly everybody goes without
        ("== 900", "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1000\n  keep(rest, lane);\n#endif", "silent_noop"),
        (">= 900 && __CUDA_ARCH__ < 1200", "", "silent_noop"),
    ],
)
def test_a_part_that_one_chip_alone_has(condition: str, more: str, outcome: str, tmp_path: Path) -> None:
    text = PART.replace("CONDITION", condition).replace("MORE", more)
    assert {found[1] for found in told(tmp_path, "blend.cuh", text, "sm_120")} == {outcome}


BUILD = """\
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension
ARCHS = [LIST]
flags = []
for arch in ARCHS:
    flags += ["-gencode", f"arch=compute_{arch},code=sm_{arch}"]
setup(ext_modules=[CUDAExtension("x", ["check.cpp"], extra_compile_args={"nvcc": flags})])
"""
CHECK = """\
#include <stdexcept>
void run(int major) {
  if (major != 10) throw std::runtime_error("only for 10.x");
  launch();
}
"""


@pytest.mark.parametrize(
    ("entries", "target", "row"),
    [
        ('"100a", "103a"', "sm_120", "built-for-families"),
        ('"100a", "120a"', "sm_120", "unknown-newer"),
        ('"100a", "90"', "sm_120", "unknown-newer"),  # code of no family
    ],
)
def test_a_check_before_code_that_is_built_for_other_families(
    entries: str, target: str, row: str, tmp_path: Path
) -> None:
    (tmp_path / "setup.py").write_text(BUILD.replace("LIST", entries))
    rows = {found[0]: found[3] for found in told(tmp_path, "check.cpp", CHECK, target) if found[2:] and found[0] == 3}
    assert row in rows.values()


@pytest.mark.parametrize(
    ("name", "entries", "told_of", "outcome"),
    [
        ("CMakeLists.txt", "80-real;90-real", "", "load_error"),
        ("CMakeLists.txt", "70-real;90-real", ", and CUDA 13.0 refuses 70 in it", "compile_error"),
        ("flags.cmake", "70-real;90-real", ", and CUDA 13.0 refuses 70 in it", "load_error"),  # for who includes it
    ],
)
def test_a_list_that_lacks_the_target_and_stops_the_build(
    name: str, entries: str, told_of: str, outcome: str, tmp_path: Path
) -> None:
    text = f'set(CMAKE_CUDA_ARCHITECTURES "{entries}")\n'
    text += "project(x CUDA)\nadd_library(x x.cu)\n" if name == "CMakeLists.txt" else ""
    assert [found[1:3] for found in told(tmp_path, name, text, "sm_120")] == [(outcome, "widen-safe")]
    facts = scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False))
    (finding,) = report(facts, select("sm_120", CATALOG), CATALOG, JudgeSettings()).findings
    assert finding.message.startswith(f"sm_120 is not in the list{told_of}:")


PICKS = """\
import torch

def size(x):
    if torch.cuda.get_device_capability()[0] == 9:
        return LEFT
    return RIGHT
"""


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        ("33_554_432", "4_194_304", "degraded_tuning"),
        ('{"threads": 256, "bulk": True}', '{"threads": 128, "bulk": False}', "degraded_tuning"),
        ('{"wide": True, "bulk": True}', '{"wide": False, "bulk": False}', "slow_fallback"),  # ways, and no number
        ("make('wide')", "make('small')", "slow_fallback"),
    ],
)
def test_numbers_are_told_from_ways(left: str, right: str, outcome: str, tmp_path: Path) -> None:
    text = PICKS.replace("LEFT", left).replace("RIGHT", right)
    assert [found[1] for found in told(tmp_path, "size.py", text, "sm_120")] == [outcome]


OLDER_LIMIT = """\
import torch

def stages(size):
    major, minor = torch.cuda.get_device_capability()
    cc = major * 10 + minor
    limits = {75: 64000, 80: 163000, 86: 99000, 87: 163000, 89: 99000, 90: 227000}
    most = 99000 if cc > 90 else limits[cc]
    return most // size
"""


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("sm_110", [("degraded_tuning", "right-limit")]),  # it has what 9.0 has
        ("sm_120", []),  # has that number
        ("sm_89", []),
        ("sm_88", [("runtime_error", "right-limit")]),  # asks the table, and has no row
    ],
)
def test_a_table_that_newer_chips_do_not_ask(target: str, wanted: list[tuple[str, str]], tmp_path: Path) -> None:
    found = told(tmp_path, "stages.py", OLDER_LIMIT, target)
    assert [(row[1], row[3]) for row in found if row[0] == 6] == wanted


MEMORY_TOLD = """\
import torch

def shared_memory():
    cc = torch.cuda.get_device_capability()
    if cc >= (9, 0):
        return 228 * 1024
    if cc >= (8, 0):
        return 164 * 1024
    if cc >= (7, 0):
        return 96 * 1024
    return 48 * 1024
"""
TOLD_TOO_LARGE = ("wrong_result", "widen-safe", "limit-told")


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("sm_120", 5),
        ("sm_121", 5),
        ("sm_110", None),
        ("sm_100", None),
        ("sm_90", None),  # 228 KB of an SM
        ("sm_89", 7),
        ("sm_86", 7),
        ("sm_87", None),
        ("sm_80", None),
        ("sm_75", 9),
    ],
)
def test_a_ladder_that_tells_more_memory_than_there_is(target: str, line: int | None, tmp_path: Path) -> None:
    expected = [] if line is None else [(line, *TOLD_TOO_LARGE)]
    assert told(tmp_path, "limits.py", MEMORY_TOLD, target) == expected


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (MEMORY_TOLD.replace(" * 1024", ""), True),  # in KB
        (MEMORY_TOLD.replace("164", "160"), False),  # no limit of 8.0: numbers, for all we know
        (MEMORY_TOLD.replace("    if cc >= (8, 0):\n        return 164 * 1024\n", "").replace("96", "90"), False),
        (MEMORY_TOLD.replace("cc >= (9, 0)", "cc >= (9, 0) and cc < (12, 0)").replace("164", "99"), False),
    ],
)
def test_what_makes_a_ladder_one_of_limits(text: str, is_told: bool, tmp_path: Path) -> None:
    assert [found[3] for found in told(tmp_path, "limits.py", text, "sm_120")] == ["limit-told"] * is_told


FLAGS_OF_A_LOOP = """\
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension
import tools
flags = []
if tools.CUDA is not None:
    caps = [OLDEST, 80, 86, 89, 90]
    flags = [f"-gencode=arch=compute_{cap},code=sm_{cap}" for cap in caps]
    flags.append(f"-gencode=arch=compute_{caps[-1]},code=compute_{caps[-1]}")
setup(ext_modules=[CUDAExtension("m", ["m.cu"], extra_compile_args={"nvcc": flags})])
"""


@pytest.mark.parametrize("target", ["sm_120", "sm_86"])
@pytest.mark.parametrize(("oldest", "expected"), [("70", [("compile_error", "narrow")]), ("75", [])])
def test_a_list_that_the_toolkit_refuses_under_a_condition(
    oldest: str, expected: list[tuple[str, str]], target: str, tmp_path: Path
) -> None:
    found = told(tmp_path, "setup.py", FLAGS_OF_A_LOOP.replace("OLDEST", oldest), target)
    assert [one[1:3] for one in found] == expected


WARP_ROWS = """\
import torch
WARPS = {(8, 0): 6, (8, 6): 4, (9, 0): 7}

def warps():
    cc = torch.cuda.get_device_capability()
    if cc in WARPS:
        return WARPS[cc]
    ELSE
"""


@pytest.mark.parametrize(
    ("otherwise", "outcome"),
    [
        ('raise ValueError("no row")', "runtime_error"),
        ('else:\n        raise ValueError("no row")', "runtime_error"),
        ("else:\n        return 5", "degraded_tuning"),
    ],
)
def test_who_has_no_row_of_numbers_gets_those_of_another_chip(otherwise: str, outcome: str, tmp_path: Path) -> None:
    found = told(tmp_path, "rows.py", WARP_ROWS.replace("ELSE", otherwise), "sm_120")
    assert [one[1] for one in found] == [outcome]


TAKEN_FOR = """\
import subprocess
import torch

def build(files):
    for source in files:
        major, minor = torch.cuda.get_device_capability()
        if CONDITION:
            STEP
        flag = f"-gencode=arch=compute_{major}{minor},code=FLAG"
        subprocess.run(["nvcc", flag, source])
"""
NINE, MACHINE_CODE = "major, minor = 9, 0", "sm_{major}{minor}"
LOST = [(7, "load_error", "widen-safe", "images")]


@pytest.mark.parametrize(
    ("condition", "step", "flag", "target", "expected"),
    [
        ("major >= 10", NINE, MACHINE_CODE, "sm_120", LOST),
        ("major >= 10", NINE, MACHINE_CODE, "sm_100", LOST),
        ("major >= 10", NINE, MACHINE_CODE, "sm_90", []),
        ("major >= 10", NINE, MACHINE_CODE, "sm_89", []),
        ("major >= 10", NINE, "[sm_{major}{minor},compute_{major}{minor}]", "sm_120", []),  # and PTX of 9.0
        ("(major, minor) == (8, 9)", "major, minor = 8, 6", MACHINE_CODE, "sm_89", []),  # loads there
        ("(major, minor) == (8, 6)", "major, minor = 8, 9", MACHINE_CODE, "sm_86", LOST),
    ],
)
def test_a_gpu_that_is_taken_for_another_one_is_built_nothing(
    condition: str, step: str, flag: str, target: str, expected: list[tuple[int, str, str, str]], tmp_path: Path
) -> None:
    text = TAKEN_FOR.replace("CONDITION", condition).replace("STEP", step).replace("FLAG", flag)
    found = told(tmp_path, "build.py", text, target)
    assert [one for one in found if one[1] == "load_error"] == expected


CHOICE = """\
import torch
OPTIONS = [2, 3]

def plan(x):
    count = WANTED if torch.cuda.get_device_capability()[0] == 9 else OTHER
    return run(x, count)
"""


@pytest.mark.parametrize(
    ("wanted", "other", "outcome"),
    [
        ("5", "OPTIONS[0]", "degraded_tuning"),
        ("OPTIONS[1]", "5", "degraded_tuning"),
        ("fused", "OPTIONS[0]", "slow_fallback"),  # nobody knows that it is a number
    ],
)
def test_a_number_beside_an_element_of_a_list(wanted: str, other: str, outcome: str, tmp_path: Path) -> None:
    text = CHOICE.replace("WANTED", wanted).replace("OTHER", other)
    assert [found[1] for found in told(tmp_path, "plan.py", text, "sm_100")] == [outcome]


CAPS = """\
import torch
CAPS = {90: Caps(fast=FIRST, wide=True), 100: Caps(fast=SECOND, wide=False)}

def caps():
    major, minor = torch.cuda.get_device_capability()
    return CAPS.get(major * 10 + minor, Caps(fast=REST, wide=False))
"""


@pytest.mark.parametrize(
    ("first", "second", "rest", "outcome"),
    [("True", "True", "False", "slow_fallback"), ("64", "128", "32", "degraded_tuning")],
)
def test_rows_of_truths_say_what_is_done(first: str, second: str, rest: str, outcome: str, tmp_path: Path) -> None:
    text = CAPS.replace("FIRST", first).replace("SECOND", second).replace("REST", rest)
    assert [found[1] for found in told(tmp_path, "caps.py", text, "sm_120")] == [outcome]


@pytest.mark.parametrize(("values", "outcome"), [("1 : 0", "slow_fallback"), ("4 : 2", "degraded_tuning")])
def test_one_and_zero_are_truths_in_host_code(values: str, outcome: str, tmp_path: Path) -> None:
    text = f"int pick(cudaDeviceProp prop) {{\n  int fast = prop.major >= 9 ? {values};\n  return run(fast);\n}}\n"
    assert [found[1] for found in told(tmp_path, "pick.cpp", text, "sm_89")] == [outcome]


NAMES_BY_CHIP = """\
import torch

NAMES = {(8, 0): FIRST, (8, 9): SECOND, (9, 0): "Hopper"}

def tell():
    major, minor = torch.cuda.get_device_capability()
READS

def show():
    return run(tell())
"""
NAME_BY_MAJOR = """\
    if READ:
        return NAMES[(major, minor)]
    if major >= 10:
        return "Blackwell"
    return "Hopper" if major == 9 else OTHER"""
HAS_NAME = "(major, minor) in NAMES"
NAME_HELD = NAME_BY_MAJOR.replace("if READ", "if name := NAMES.get((major, minor))").replace(
    "NAMES[(major, minor)]", "name"
)


@pytest.mark.parametrize(
    ("reads", "rows", "advice"),
    [
        (NAME_BY_MAJOR.replace("READ", HAS_NAME).replace("OTHER", '"Ada"'), '"Ampere" "Ada"', "leave"),
        (NAME_HELD.replace("OTHER", '"Ada"'), '"Ampere" "Ada"', "leave"),
        ('    return NAMES.get((major, minor), f"sm_{major}{minor}")', '"Ampere" "Ada"', "leave"),
        ('    return NAMES.get((major, minor), f"sm_{VERSION}")', '"Ampere" "Ada"', "investigate"),
        # others that are told nothing that stands in the table, get one text for all, or do without
        (NAME_BY_MAJOR.replace("READ", HAS_NAME).replace("OTHER", '"Ada"'), '"wgmma" "mma"', "investigate"),
        ('    return NAMES.get((major, minor), "general")', '"Ampere" "Ada"', "investigate"),
        ("    return NAMES.get((major, minor))", '"Ampere" "Ada"', "investigate"),
    ],
)
def test_texts_by_chip_that_others_get_by_another_rule(reads: str, rows: str, advice: str, tmp_path: Path) -> None:
    first, second = rows.split()
    text = NAMES_BY_CHIP.replace("READS", reads).replace("FIRST", first).replace("SECOND", second)
    assert [found[2] for found in told(tmp_path, "names.py", text, "sm_120") if found[0] == 3] == [advice]
    assert not [found for found in told(tmp_path, "names.py", text, "sm_90") if found[3] == "mistake"]


CORES_BY_CHIP = """\
import torch

CORES = {(8, 0): 64, (8, 6): 128, (9, 0): 256}

def cores():
    cap = torch.cuda.get_device_capability()
READS

def plan():
    return run(cores())
"""
NEAREST_OLDER = """\
    if cap in CORES:
        return CORES[cap]
    older = sorted(known for known in CORES if known <= cap)
    return CORES[older[-1]]"""


@pytest.mark.parametrize(
    ("reads", "row"),
    [
        (NEAREST_OLDER, "found-otherwise"),
        ("    if cap in CORES:\n        return CORES[cap]\n    return 32", "tuning"),
        ("    if cap in CORES:\n        return CORES[cap]\n    raise ValueError(cap)", "missing-behind"),
    ],
)
def test_numbers_that_others_get_by_another_rule(reads: str, row: str, tmp_path: Path) -> None:
    assert [found[3] for found in told(tmp_path, "cores.py", CORES_BY_CHIP.replace("READS", reads), "sm_120")] == [row]


LIMITS_BY_NAME = """\
ROWS = {
    "sm_80": dict(threads=2048, smem=163 * 1024),
    "sm_89": dict(threads=1536, smem=99 * 1024),
    "sm_90": dict(threads=2048, smem=227 * 1024),
}

def occupancy(arch):
    READ
"""


@pytest.mark.parametrize(
    ("read", "is_told"),
    [
        ('return run(ROWS.get(arch) or ROWS["sm_89"])', False),  # whose threads sm_120 has
        ('return run(ROWS.get(arch) or ROWS["sm_90"])', True),
        ('key = arch if arch in ROWS else "sm_89"; return run(ROWS[key])', False),
        ('key = arch if arch in ROWS else "sm_90"; return run(ROWS[key])', True),
        ("return run(ROWS.get(arch))", True),
    ],
)
def test_another_row_with_the_right_limits_is_right(read: str, is_told: bool, tmp_path: Path) -> None:
    assert bool(told(tmp_path, "occupancy.py", LIMITS_BY_NAME.replace("READ", read), "sm_120")) is is_told


COMPLAINTS = """\
import torch

SLOW = {(8, 0): "the kernels for Hopper do not run on Ampere", (8, 9): "the kernels for Hopper are slow on Ada"}

def check():
    cap = torch.cuda.get_device_capability()
    if cap in SLOW:
        notes.append(SLOW[cap])
    return run(cap)
"""


def test_a_table_of_complaints_is_missed_by_nobody(tmp_path: Path) -> None:
    assert told(tmp_path, "check.py", COMPLAINTS, "sm_120") == []
    rows = COMPLAINTS.replace("the kernels for Hopper do not run on Ampere", "wide").replace(
        "the kernels for Hopper are slow on Ada", "narrow"
    )
    assert [found[2] for found in told(tmp_path, "check.py", rows, "sm_120")] == ["investigate"]


KEPT = """\
import torch

def keep(conf):
    return not (torch.cuda.get_device_capability()[0] CONDITION)

CHOICES = USE
"""


@pytest.mark.parametrize(
    ("condition", "use", "is_told"),
    [
        ("== 9 and conf.tile < 128", "list(filter(keep, tiles))", False),  # small tiles are left out for sm_90
        ("== 9 and conf.tile < 128", "[launch(tile) for tile in tiles if keep(tile)]", True),  # seen in no other form
        (
            "== 9 and conf.tile < 128",
            "list(filter(keep, tiles)), keep(tiles[0])",
            True,
        ),  # it decides something else too
        ("== 9", "list(filter(keep, tiles))", True),  # nothing is left for it
        ("in (9, 12) and conf.tile < 128", "list(filter(keep, tiles))", True),  # nor about its generation alone
    ],
)
def test_a_filter_that_leaves_out_choices_for_one_generation(
    condition: str, use: str, is_told: bool, tmp_path: Path
) -> None:
    text = KEPT.replace("CONDITION", condition).replace("USE", use)
    assert bool(told(tmp_path, "tune.py", text, "sm_90")) is is_told


CASTS = """\
#define CAST(FROM, TO, NAME) LINKAGE __global__ void NAME(int n, const FROM *in, TO *out) { \\
    int i = threadIdx.x; if (i < n) out[i] = TO(in[i]); }
#if __CUDA_ARCH__ >= 800
CAST(float, __nv_bfloat16, to_bf16)
#endif
CAST(double, float, to_f32)
"""


@pytest.mark.parametrize(
    ("linkage", "behind", "outcome"),
    [
        ('extern "C"', "", "runtime_error"),
        ("", "", "compile_error"),
        ('extern "C"', "void run() { to_bf16<<<1, 32>>>(32, in, out); }\n", "compile_error"),
    ],
)
def test_kernels_that_are_found_by_name_are_missed_when_they_are_loaded(
    linkage: str, behind: str, outcome: str, tmp_path: Path
) -> None:
    found = told(tmp_path, "casts.cu", CASTS.replace("LINKAGE", linkage) + behind, "sm_75")
    assert [one[:2] for one in found] == [(3, outcome)]


CORES = """\
int cores(cudaDeviceProp prop) {
  int cores = 0, mp = prop.multiProcessorCount;
  switch (prop.major) {
    case 7: cores = FIRST; break;
    case 8:
      if (prop.minor == 0) cores = mp * 64;
      else if (prop.minor == 6) cores = mp * 128;
      break;
    case 9: cores = SECOND; break;
    default: break;
  }
  return cores;
}
"""


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [("mp * 64", "128 * mp", "degraded_tuning"), ("mp * 64", "ask(mp)", "slow_fallback")],
)
def test_a_ladder_of_products_picks_numbers(first: str, second: str, outcome: str, tmp_path: Path) -> None:
    text = CORES.replace("FIRST", first).replace("SECOND", second)
    assert {found[1] for found in told(tmp_path, "cores.cpp", text, "sm_120")} == {outcome}


RELEASES = """\
import torch

def needed():
    major, minor = torch.cuda.get_device_capability()
    if major in (10, 12):
        return FIRST
    if major == 9:
        return SECOND
    return None
"""


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [("(13, 1)", "(13, 3)", "degraded_tuning"), ("(13, 1)", "newest()", "slow_fallback")],
)
def test_a_ladder_of_numbers_is_a_table(first: str, second: str, outcome: str, tmp_path: Path) -> None:
    text = RELEASES.replace("FIRST", first).replace("SECOND", second)
    assert [found[1] for found in told(tmp_path, "needed.py", text, "sm_110")] == [outcome]


CONFIRMED = """\
import torch

def go_on(force):
    cc = torch.cuda.get_device_capability()
    if cc == (12, 1):
        return True
    print("made for 12.1")
    response = input("Go on? ").strip()
    return ANSWER
"""


@pytest.mark.parametrize(("answer", "outcome"), [('response == "y"', "no_effect"), ("probe()", "slow_fallback")])
def test_who_is_asked_loses_nothing(answer: str, outcome: str, tmp_path: Path) -> None:
    text = CONFIRMED.replace("ANSWER", answer)
    assert [one[1] for one in told(tmp_path, "go_on.py", text, "sm_120")] == [outcome]


RECORD = """\
from dataclasses import dataclass
import torch

@dataclass
class Device:
    name: str
    supports_copy: bool

def device(name):
    cc = torch.cuda.get_device_capability()
    return MAKES(name=name, supports_copy=cc >= (8, 0))
"""


@pytest.mark.parametrize(
    ("makes", "reader", "outcome"),
    [
        ("Device", "", "no_effect"),
        ("Device", "def test(d):\n    assert d.supports_copy is False\n", "no_effect"),  # decides nothing
        ("Device", "def run(d):\n    return fast(d) if d.supports_copy else slow(d)\n", "slow_fallback"),
        ("Device", "def run(d):\n    return getattr(d, 'supports_copy')\n", "slow_fallback"),
        ("plan", "", "slow_fallback"),  # of what is no record nobody knows who reads it
    ],
)
def test_a_truth_that_a_record_tells_and_nobody_asks(makes: str, reader: str, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text(reader)
    found = told(tmp_path, "device.py", RECORD.replace("MAKES", makes), "sm_75")
    assert [one[1] for one in found if one[0] == 11] == [outcome]


BOARDS = """\
import torch

def plan(x):
    cc = torch.cuda.get_device_capability()
    assert cc in CHIPS, "there is no such unit"
    return run(x)
"""


@pytest.mark.parametrize(
    ("chips", "target", "outcome"),
    [
        ("((7, 2), (8, 7))", "sm_120", ("leave", "tegra-alone")),
        ("((8, 0), (8, 7))", "sm_120", ("investigate", "unknown-newer")),  # 8.0 is no such board
        ("((7, 2), (8, 7))", "sm_110", ("investigate", "unknown-newer")),  # on a board itself
    ],
)
def test_what_is_for_boards_is_left(chips: str, target: str, outcome: tuple[str, str], tmp_path: Path) -> None:
    found = told(tmp_path, "plan.py", BOARDS.replace("CHIPS", chips), target)
    assert [one[2:] for one in found] == [outcome]
