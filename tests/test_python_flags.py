"""Compiler flags that a name, a helper or a command line carries: which GPUs can load what they make."""

from __future__ import annotations

import textwrap

import pytest

from archscan.catalog import load
from archscan.frontends.build.python import read_python
from archscan.frontends.build.reading import Given
from archscan.frontends.protocol import Context
from archscan.frontends.python import PythonFrontEnd
from archscan.model.facts import Source
from archscan.model.gate import Gate, Kind, Layer
from archscan.model.settings import ScanSettings

CATALOG = load()
UNIVERSE = CATALOG.universe.sms(CATALOG.universe.device)
COMMON = """
import torch
from core import gen_jit_spec
COMMON = ["-O3"]
sm90a_flags = ["-gencode=arch=compute_90a,code=sm_90a"] + COMMON
sm120f_flags = ["-gencode=arch=compute_120f,code=sm_120f"] + COMMON

"""


def flag_gates(text: str, **others: str) -> list[Gate]:
    """The gates of flags in a module, beside other modules."""
    return [g for g in gates(text, **others) if g.kind is Kind.BUILD_LIST]


def gates(text: str, **others: str) -> list[Gate]:
    """The gates of a module, beside other modules."""
    front, where = PythonFrontEnd(), Context(CATALOG, ScanSettings())
    files = {"m.py": COMMON + textwrap.dedent(text), **{f"{name}.py": other for name, other in others.items()}}
    indexes = {path: front.index(Source(path, data.encode(), path), where) for path, data in files.items()}
    project = front.link(indexes, where)
    return list(front.gates(indexes["m.py"], project, where).gates)


def loading(gate: Gate) -> set[int]:
    return CATALOG.universe.sms(gate.arms[0].own.yes)


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("sm90a_flags", {90}),
        ("sm120f_flags + ['-DX']", {120, 121}),
        ("[*sm90a_flags, '-lineinfo']", {90}),
        ("sm90a_flags + [f'-DN={n}']", {90}),
        ("list(sm90a_flags)", {90}),
        ("['-arch=sm_90a']", {90}),
        ("sm90a_flags if torch.cuda.get_device_capability()[0] == 9 else sm120f_flags", {90, 120, 121}),
    ],
)
def test_flags_by_name(flags: str, wanted: set[int]) -> None:
    (gate,) = flag_gates(f"def gen(n):\n    return gen_jit_spec('k', ['k.cu'], extra_cuda_cflags={flags})\n")
    assert loading(gate) == wanted and gate.layer is Layer.JIT


@pytest.mark.parametrize(
    "flags",
    ["COMMON", "given", "COMMON + given", "[f'-arch=sm_{given}']", "['-gencode=arch=compute_50,code=compute_50']"],
)
def test_flags_that_shut_nobody_out(flags: str) -> None:
    assert not flag_gates(f"def gen(given):\n    return gen_jit_spec('k', ['k.cu'], extra_cuda_cflags={flags})\n")


def test_definition_of_imported_flags_is_related() -> None:
    text = "from core import hopper\nspec = gen_jit_spec('k', ['k.cu'], extra_cuda_cflags=hopper)\n"
    (gate,) = flag_gates(text, core="\nhopper = ['-gencode=arch=compute_90a,code=sm_90a']\n")
    assert [(r.path, r.line) for r in gate.related] == [("core.py", 2)]


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ('["nvcc", "-cubin", "-arch", ARCH, "k.cu"]', {86, 88, 89}),
        ('[NVCC, "-shared", f"-arch={ARCH}", "k.cu"]', None),
        ('[find_nvcc(), "-cubin", "-gencode", "arch=compute_90a,code=sm_90a", "k.cu"]', {90}),
        ('["gcc", "-arch", ARCH, "k.c"]', None),
        ('["nvcc", "-cubin", "-arch", arch, "k.cu"]', None),
    ],
)
def test_command_lines(command: str, wanted: set[int] | None) -> None:
    found = flag_gates(f'ARCH = "sm_86"\n\ndef build(arch):\n    run({command}, check=True)\n')
    if command.startswith("[NVCC"):  # its PTX serves what is newer
        assert [min(loading(g)) for g in found] == [86]
    else:
        assert [loading(g) for g in found] == ([wanted] if wanted else [])


def test_list_that_is_a_gate_where_it_is_written_is_told_once() -> None:
    text = """
    flags = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90a,code=sm_90a"]
    ext = gen_jit_spec("k", ["k.cu"], extra_cuda_cflags=flags)
    """
    assert [g.place.line for g in flag_gates(text)] == [9]


@pytest.mark.parametrize(
    ("loop", "wanted"),
    [
        ('for a in ("80", "90a"):\n    f += ["-gencode", f"arch=compute_{a},code=sm_{a}"]\n', {80, 86, 88, 89, 90}),
        (
            "for a in (80, 100):\n    f.append('-gencode=arch=compute_{},code=compute_{}'.format(a, a))\n",
            {sm for sm in UNIVERSE if sm >= 80},
        ),
        (
            "for a in (80, 100):\n    f.append('-gencode=arch=compute_%s,code=sm_%s' % (a, a))\n",
            {80, 86, 88, 89, 100, 101, 103, 107},
        ),
        ("A = [75, 90]\nf = [f'-gencode=arch=compute_{a},code=sm_{a}' for a in A]\n", {75, 90}),
        (
            "for a in ['8.0', '12.0f']:\n    n = a.replace('.', '')\n"
            "    f.append('-gencode=arch=compute_' + n + ',code=sm_' + n)\n",
            {80, 86, 88, 89, 120, 121},
        ),
        ("for a in given:\n    f.append(f'-gencode=arch=compute_{a},code=sm_{a}')\n", None),
        (
            "if fast:\n  for a in (80, 90):\n    f.append(f'-gencode=arch=compute_{a},code=sm_{a}')\n",
            {80, 86, 88, 89, 90},
        ),
    ],
)
def test_flags_that_a_loop_writes(loop: str, wanted: set[int] | None) -> None:
    made = flag_gates(f"f = []\n{loop}")
    assert [g.layer for g in made] == [Layer.BUILD] * (wanted is not None)
    for gate in made:
        assert loading(gate) == wanted


def test_flags_in_a_docstring_build_nothing() -> None:
    words = "-gencode=arch=compute_70,code=sm_70 -gencode=arch=compute_80,code=sm_80"
    assert not flag_gates(f'def build(cc):\n    """Adds {words}."""\n    return cc\n')


def test_name_that_a_flag_is_given_to_tells_what_it_is_for() -> None:
    (gate,) = gates("def use(spec):\n    spec.tcgen05_ok = torch.cuda.get_device_capability()[0] == 10\n")
    assert [use.feature for use in gate.arms[0].features] == ["tcgen05"]


def test_conditions_in_a_loop_choose_among_its_entries() -> None:
    text = """
    import os
    ARCHS = os.environ.get("EXT_ARCHS", "80;90;120").split(";")
    def flags():
        f = []
        for a in ("75", "80", "90", "120"):
            if a in ARCHS:
                n = a + "a"
                f += ["-gencode", f"arch=compute_{n},code=sm_{n}" if a in ("90", "120") else
                      f"arch=compute_{a},code=sm_{a}"]
        return f
    """
    found = {g.place.line: loading(g) for g in flag_gates(text)}
    assert {80, 86, 88, 89, 90, 120} in found.values()


def test_a_list_with_an_entry_that_the_toolkit_refuses_stops_the_build() -> None:
    text = "flags = ['-gencode=arch=compute_70,code=sm_70', '-gencode=arch=compute_120,code=sm_120']\n"
    (gate,) = flag_gates(text)
    assert gate.note("refused") == "13.0" and gate.arms[0].truth.yes == 0
    assert gate.rest.message == "Unsupported gpu architecture 'compute_70'"
    (fine,) = flag_gates(text.replace("70", "75"))
    assert fine.note("refused") is None and fine.arms[0].truth.yes != 0


UNIVERSE_NOW = {75, 80, 86, 89, 90, 100, 103, 110, 120, 121}
APPENDED = """
def version_of_nvcc():
    found = re.search(r"release (\\d+)\\.(\\d+)", subprocess.check_output(["nvcc", "--version"], text=True))
    if found:
        return (int(found.group(1)), int(found.group(2)))
    return None

def gencodes():
    major, minor = version_of_nvcc() or (12, 0)
    release = major * 10 + minor
    flags = []
    if release < 130:
        flags.append("-gencode=arch=compute_70,code=sm_70")
    flags.append("-gencode=arch=compute_75,code=sm_75")
    flags.append("-gencode=arch=compute_80,code=sm_80")
    if release >= 120:
        flags.append("-gencode=arch=compute_90,code=sm_90")
    if release >= LATE:
        flags.append("-gencode=arch=compute_120,code=sm_120")
    newest = "compute_120" if release >= LATE else "compute_90"
    flags.append(f"-gencode=arch={newest},code={newest}")
    return flags
"""


@pytest.mark.parametrize(
    ("reader", "late", "first", "wanted"),
    [
        ("get_nvcc_version", "128", "75", {75, 80, 86, 89, 90, 120, 121}),  # PTX of 12.0 serves no older chip
        ("get_nvcc_version", "140", "75", UNIVERSE_NOW),  # PTX of 9.0 serves all that is newer
        ("get_numbers", "128", "70", {75, 80, 86, 89}),  # nobody knows the release: the others hang on it
    ],
)
def test_entries_that_are_appended_by_the_release(reader: str, late: str, first: str, wanted: set[int]) -> None:
    text = APPENDED.replace("version_of_nvcc", reader).replace("LATE", late)
    entry = text.index(f"sm_{first}")
    (gate,) = (gate for gate in flag_gates(text) if gate.place.line > COMMON.count("\n"))
    assert gate.place.line == COMMON.count("\n") + text[:entry].count("\n") + 1
    assert loading(gate) & UNIVERSE_NOW == wanted


@pytest.mark.parametrize("returned", ["(int(a), int(b))", "(a, b)", "(int(a), b)"])
def test_numbers_of_the_release_are_those_that_are_read_as_numbers(returned: str) -> None:
    text = f"def get_nvcc_version():\n    a, b = ask()\n    return {returned}\nx, y = get_nvcc_version()\nflags = []\n"
    text += 'if x >= 13:\n    flags += ["-gencode=arch=compute_90,code=sm_90", "-gencode=arch=compute_80,code=sm_80"]\n'
    (one,) = read_python(text.encode(), Given(CATALOG)).lists
    assert one.assumes == (() if returned == "(int(a), int(b))" else ("x >= 13",))
