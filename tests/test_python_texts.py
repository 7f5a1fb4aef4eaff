"""Names of targets taken apart by regular expressions, read out of settings, and bounds under other names."""

from __future__ import annotations

import pytest

from archscan.catalog import load
from archscan.frontends.protocol import Context
from archscan.frontends.python import PythonFrontEnd
from archscan.frontends.python.source.triggers import LONGEST, overlong
from archscan.model.facts import Source
from archscan.model.gate import Does, Kind
from archscan.model.settings import ScanSettings
from tests.test_python_cases import UNIVERSE, gates, no, yes

PARSER = """
import re
PATTERN = re.compile(r"^(?:sm_)?(\\d+)[a-zA-Z]*$")

def number(arch):
    match = PATTERN.match(arch)
    return int(match.group(1)) if match else -1

"""
GATED = "        return fast()\n    return slow()\n"


def test_number_is_taken_out_of_a_name() -> None:
    found = gates(PARSER + 'def use(target):\n    if number(target.attrs.get("arch", "")) == 80:\n' + GATED)
    assert [yes(g) for g in found] == [{80}]


def test_part_that_hangs_on_the_spelling_is_not_known() -> None:
    head = "import re\n\ndef use(arch):\n"
    (gate,) = gates(head + '    if int(re.search(r"(\\d+)", arch).group(1)) >= 90:\n' + GATED)
    assert not yes(gate) and not no(gate)


def test_named_entry_that_says_nothing_of_chips() -> None:
    assert not gates('def use(config):\n    if config.get("depth", 0) >= 90:\n' + GATED)
    assert not gates(
        'def use(manifest):\n    if manifest.get("arch") != "sm_100a":\n        raise ValueError("arch")\n'
    )


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [("cuda_capability_geq(9, 0)", 90), ("cuda_capability_geq(10)", 100), ("cuda_capability_geq(8, 6)", 86)],
)
def test_triton_asks_for_major_and_minor(asked: str, wanted: int) -> None:
    (gate,) = gates(f"from triton.language import target_info\n\ndef use():\n    if target_info.{asked}:\n" + GATED)
    assert min(yes(gate)) == wanted


def test_record_with_a_lower_bound_is_a_window() -> None:
    found = gates('OPS = {"nvfp4": Constraints(params={}, min_compute_capability=(10, 0))}\n')
    assert [(g.kind, min(yes(g))) for g in found] == [(Kind.WINDOW, 100)]
    assert not gates("check(min_compute_capability=(10, 0))\n")


def test_row_that_a_table_gave_is_asked_for_once() -> None:
    text = """
import torch
SIZES = {9: (128, 128), 10: (256, 128)}

def sizes(major=None):
    if major is None:
        major = torch.cuda.get_device_capability()[0]
    row = SIZES.get(major)
    if row is None:
        raise ValueError("no kernel for this GPU")
    return row
"""
    (gate,) = gates(text)
    assert gate.kind is Kind.TABLE and gate.rest.does is Does.RAISES
    table, left_open = gates(text.replace("row is None", "row is None or row not in BUILT"))
    assert table.kind is Kind.TABLE and table.rest.does is Does.RAISES
    assert {90, 100}.isdisjoint(yes(left_open)) and {80, 120} <= set(yes(left_open))


ERRORS = """
import torch

def objection():
    if torch.cuda.get_device_capability() != (9, 0):
        return f"needs Hopper, found {torch.cuda.get_device_name()}"
    if torch.cuda.get_device_properties(0).name == "x":
        return f"not on {torch.cuda.get_device_name()}"
    return ""

def run():
    why = objection()
    if WHY:
        raise RuntimeError(why)
    return work()
"""


@pytest.mark.parametrize("asked", ["why", "why != ''", "objection()"])
def test_a_text_that_is_returned_for_some_objects(asked: str) -> None:
    (gate,) = [g for g in gates(ERRORS.replace("WHY", asked)) if g.place.line == 13]
    assert {80, 89, 100, 120} <= set(yes(gate)) and 90 not in yes(gate)


def test_a_text_is_not_none() -> None:
    code = "import torch\n\ndef f():\n    why = None\n    if torch.cuda.get_device_capability()[0] < 9:\n"
    code += (
        "        why = f'no {torch.cuda.get_device_name()}'\n    if why is not None:\n        raise RuntimeError(why)\n"
    )
    (gate,) = [g for g in gates(code) if g.place.line in (5, 7)]
    assert gate.arms[0].truth.yes and 89 in yes(gate) and 90 not in yes(gate)


def test_suffix_of_the_own_name_is_a_gate_of_who_gets_it() -> None:
    text = """
import torch

def name():
    cap = torch.cuda.get_device_capability()
    suffix = "a" if cap[0] in (9, 10) else ""
    return f"sm_{cap[0]}{cap[1]}{suffix}"
"""
    (gate,) = gates(text)
    assert yes(gate) == {90, 100, 103}


def test_rungs_of_flags_are_one_ladder() -> None:
    text = """
import torch

def tier(n):
    major, minor = torch.cuda.get_device_capability()
    old = major == 7
    ada = major == 8 and minor == 9
    hopper = major == 9
    if old:
        return n
    if ada:
        return 2 * n
    if hopper:
        return 4 * n
    return 0
"""
    assert [len(g.arms) for g in gates(text)] == [3]


def test_loop_over_rows_of_bounds_in_brackets() -> None:
    text = """
import torch
WINDOWS = {"mma": ((8, 0), (8, 9)), "wgmma": ((9, 0), (9, 0)), "bs": ((12, 0), (12, 0))}

def impl():
    cc = torch.cuda.get_device_capability()
    for name, (low, high) in WINDOWS.items():
        if low <= cc <= high:
            return name
    return "reference"
"""
    (gate,) = gates(text)
    assert yes(gate) == {80, 86, 89, 90, 120}


def test_helper_that_refuses_refuses() -> None:
    text = """
def refused(reason):
    return False, reason

def can_run(sm_version):
    if sm_version not in {100, 103}:
        return refused(f"built for 100 and 103, not {sm_version}")
    return True, None
"""
    (gate,) = gates(text)
    assert gate.arms[0].effect.refuses and "built for 100" in (gate.arms[0].effect.message or "")


def test_predicates_and_flags_in_tables() -> None:
    text = """
import torch
CC = torch.cuda.get_device_capability()
HOPPER = CC[0] == 9

FEATURES = {
    "fp8": lambda: CC >= (8, 9),
    "text": lambda: "CC",
}

def launch(x):
    config = {
        "launch_pdl": HOPPER,
    }
    return run(x, **config)
"""
    assert [(g.kind, min(yes(g))) for g in gates(text)] == [(Kind.FLAG, 90), (Kind.RETURNED_TRUTH, 89)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('os.environ["TORCH_CUDA_ARCH_LIST"] = os.getenv("TORCH_CUDA_ARCH_LIST", "9.0")\n', 1),
        ('if os.getenv("NO_SM90"):\n    os.environ["X_ARCH_LIST"] = os.getenv("X_ARCH_LIST", "8.0")\n', 0),
        ('os.environ["TORCH_CUDA_ARCH_LIST"] = os.getenv("TORCH_CUDA_ARCH_LIST", "9.0+PTX;5.0+PTX")\n', 1),
    ],
)
def test_default_of_one_architecture(text: str, count: int) -> None:
    path = "setup.py"
    source = Source(path, ("import os\n" + text + "ext = CUDAExtension('x')\n").encode(), path)
    front, where = PythonFrontEnd(), Context(load(), ScanSettings())
    index = front.index(source, where)
    found = front.gates(index, front.link({path: index}, where), where).gates
    assert [g.kind for g in found] == [Kind.BUILD_LIST] * count


def test_toolkit_versions_are_no_chips() -> None:
    ladder = """
def wheel(major, minor):
    "The CUDA ladder."
    if major >= 13:
        return "cu130"
    if major == 12 and minor >= 8:
        return "cu128"
    return "cu118"
"""
    assert not gates(ladder)
    assert gates(ladder.replace("CUDA ladder", "compute capability").replace("13", "12").replace("== 12", "== 9"))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("    checks = [x is not None]\n    checks.append(arch.sm_version >= 80)\n    return all(checks)\n", 80),
        (
            "    majors = {c[0] for c in caps()}\n    if next(iter(majors)) == 9:\n        return x\n    return None\n",
            90,
        ),
    ],
)
def test_conditions_that_pass_through_containers(body: str, wanted: int) -> None:
    head = "import torch\n\ndef caps():\n    n = torch.cuda.device_count()\n"
    head += "    return [torch.cuda.get_device_capability(i) for i in range(n)]\n\n"
    found = gates(head + "def use(arch, x):\n" + body)
    assert [min(UNIVERSE.sms((g.arms[0].assumed.yes) & UNIVERSE.device)) for g in found] == [wanted]


@pytest.mark.parametrize(
    ("keyword", "count"), [("supported_cc", 1), ("allowed_archs", 1), ("layers", 0), ("tile_sm", 0)]
)
def test_registry_that_is_told_whom_an_entry_is_for(keyword: str, count: int) -> None:
    found = gates(f"register('mla', run, {keyword}=[100, 103])\n")
    assert [yes(g) for g in found] == [{100, 103}] * count


def test_refusal_of_a_bound_is_told_in_its_own_words() -> None:
    text = """
class Layer:
    MIN_SM_VERSION = (12, 1)

    @classmethod
    def usable(cls, capability):
        if capability < cls.MIN_SM_VERSION:
            need = ".".join(str(part) for part in cls.MIN_SM_VERSION)
            return False, RuntimeError(f"needs compute capability {need} or newer")
        return True, None
"""
    window = next(g for g in gates(text) if g.kind is Kind.WINDOW)
    assert yes(window) == {121} and "needs compute capability" in (window.rest.message or "")


def test_switch_of_an_object_that_is_handed_to_another() -> None:
    text = """
class Policy:
    def plan(self):
        self.use_async = is_cuda_arch(self.arch) and self.arch.sm_version in {80, 90}

    def write(self, code):
        code.use_async = self.use_async
"""
    assert [(g.kind, yes(g)) for g in gates(text)] == [(Kind.FLAG, {80, 90})]


@pytest.mark.parametrize("line", range(LONGEST - 1, LONGEST + 3))
@pytest.mark.parametrize("before", [b"", b"\n", b"x = 1\n", b"x" * LONGEST + b"\n", (b"x" * 7 + b"\n") * 400])
@pytest.mark.parametrize("end", [b"", b"\n", b"\ny = 2\n"])
def test_lines_too_long_to_be_looked_at_are_told(line: int, before: bytes, end: bytes) -> None:
    text = b"sm_90 = " + b"1" * (line - 8)
    assert overlong(before + text + end, frozenset({b"sm_90"})) == ((len(before),) if line > LONGEST else ())
