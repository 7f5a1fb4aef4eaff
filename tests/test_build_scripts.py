"""Build files besides CMake's: what their lists make, where they stand, and that nothing ends in silence."""

# ruff: noqa: E501

from __future__ import annotations

import ast
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest

from archscan.catalog import load
from archscan.catalog.names import names
from archscan.frontends.build import flags
from archscan.frontends.build.flags import code_makes_flags, makes_flags
from archscan.frontends.build.python import evaluated, read_python
from archscan.frontends.build.python.values import Either
from archscan.frontends.build.readers import read
from archscan.frontends.build.reading import Given
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.scripts import ScriptsFrontEnd
from archscan.frontends.protocol import Context
from archscan.model.facts import FileFacts, Source
from archscan.model.settings import ScanSettings
from archscan.sources.kinds import build_kind

CATALOG = load()
UNIVERSE = CATALOG.universe


def facts(path: str, text: str, cuda: str = "13.0", **defines: str) -> FileFacts:
    """The facts of one build file."""
    settings = ScanSettings(cuda=cuda, defines=tuple(defines.items()))
    found = ScriptsFrontEnd().index(Source(path, text.encode()), Context(CATALOG, settings))
    return found if found is not None else FileFacts(path, len(text))


def loading(path: str, text: str, cuda: str = "13.0", **defines: str) -> dict[int, set[int]]:
    """Line of each list -> the SMs that surely find code in it."""
    gates = facts(path, text, cuda, **defines).gates
    return {gate.place.line: set(UNIVERSE.sms(gate.arms[0].own.yes)) for gate in gates}


def newer_than(sm: int) -> set[int]:
    return {other for other in CATALOG.architectures if other >= sm}


AMPERE = {80, 86, 88, 89}
SAMPLES = """SMS ?= 75 80
ifeq ($(GENCODE_FLAGS),)
$(foreach sm,$(SMS),$(eval GENCODE_FLAGS += -gencode arch=compute_$(sm),code=sm_$(sm)))
HIGHEST_SM := $(lastword $(sort $(SMS)))
GENCODE_FLAGS += -gencode arch=compute_$(HIGHEST_SM),code=compute_$(HIGHEST_SM)
endif
k.o: k.cu
	$(NVCC) $(GENCODE_FLAGS) -c $<
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("F := -gencode arch=compute_80,code=sm_80\nF += -gencode arch=compute_90,code=sm_90\n", {1: AMPERE | {90}}),
        ("F := -arch=sm_86\n", {1: newer_than(86)}),
        ("k: k.cu\n\tnvcc -arch sm_86 -cubin $<\n", {2: newer_than(86)}),
        ("k: k.cu\n\tnvcc -gencode arch=compute_80,code=\\\"sm_80,compute_80\\\" $<\n", {2: newer_than(80)}),
        (SAMPLES, {1: newer_than(75)}),
        ("SM := 90\nF = -gencode arch=compute_$(SM),code=sm_$(SM)\n", {1: {90}}),
        ("A = $(subst .,,8.0 9.0)\nF = $(foreach a,$(A),-gencode=arch=compute_$a,code=sm_$a)\n", {1: AMPERE | {90}}),
        ("F = $(patsubst %,-gencode=arch=compute_%,90)$(addprefix \\,code=sm_,90)\n", {}),
        ("b:\n\tcmake -DCMAKE_CUDA_ARCHITECTURES=\"80-real;90-real\" ..\n", {2: AMPERE | {90}}),
        ("ifdef X\nF = -gencode arch=compute_80,code=sm_80\nelse\nF = -gencode arch=compute_90,code=sm_90\nendif\n",
         {2: AMPERE, 4: {90}}),
        ("PORT := 1200\nWIDTHS = 80 90\nCC = gcc -march=armv8.6-a\n", {}),
        ("#F := -gencode arch=compute_80,code=sm_80\n", {}),
    ],
)  # fmt: skip
def test_makefiles(text: str, wanted: dict[int, set[int]]) -> None:
    assert loading("Makefile", text) == wanted


def test_what_make_cannot_know_is_said() -> None:
    found = facts("x.mk", "SM := $(shell detect)\nF := -gencode arch=compute_$(SM),code=sm_$(SM)\n")
    assert found.gates == ()
    assert [(u.line, u.reason) for u in found.undecided] == [
        (2, "names an architecture in a way that is not understood")
    ]


def test_a_variable_of_the_user_overrides_the_makefile() -> None:
    text = "SM ?= 80\nF := -gencode arch=compute_$(SM),code=sm_$(SM)\n"
    assert loading("Makefile", text) == {1: AMPERE}
    assert loading("Makefile", text, SM="90") == {2: {90}}


def test_a_list_under_an_option_holds_on_that_condition() -> None:
    text = "ifeq ($(WITH_GPU),1)\nF := -gencode arch=compute_80,code=sm_80\nendif\n"
    (gate,) = facts("Makefile", text).gates
    assert gate.arms[0].assumes == ("ifeq ($(WITH_GPU),1)",)
    assert gate.arms[0].truth.word(UNIVERSE.bit(UNIVERSE.by_name["sm_90"])) == "no"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('export TORCH_CUDA_ARCH_LIST="8.0;9.0"\n', {1: AMPERE | {90}}),
        ('TORCH_CUDA_ARCH_LIST="8.0 9.0+PTX" pip install .\n', {1: newer_than(80) - {87}}),
        ('if [ -z "$CUDAARCHS" ]; then CUDAARCHS="80-real"; fi\n', {1: AMPERE}),
        ('L=${TORCH_CUDA_ARCH_LIST:-"9.0"}\nexport TORCH_CUDA_ARCH_LIST="$L"\n', {1: {90}}),
        ("for a in 80 90; do F=\"$F -gencode arch=compute_$a,code=sm_$a\"; done\nnvcc $F x.cu\n", {1: AMPERE | {90}}),
        ("build() { nvcc -gencode arch=compute_$1,code=sm_$1 x.cu; }\nbuild 90\n", {2: {90}}),
        ("ARGS=(-gencode arch=compute_90,code=sm_90)\nnvcc \"${ARGS[@]}\" x.cu\n", {1: {90}}),
        ("echo 'use -gencode arch=compute_90,code=sm_90'\n", {}),
        ("case $CUDA_VERSION in\n 12.*) A=80-real;;\n 13.*) A=90-real;;\nesac\ncmake -DCMAKE_CUDA_ARCHITECTURES=$A .\n",
         {3: {90}}),
        ('A="8.0"\nif [ "$X" = 1 ]; then A="$A;9.0"; fi\nTORCH_CUDA_ARCH_LIST="$A" make\n', {1: AMPERE}),
    ],
)  # fmt: skip
def test_shell_scripts(text: str, wanted: dict[int, set[int]]) -> None:
    assert loading("build.sh", text) == wanted


@pytest.mark.parametrize(
    ("home", "stops"),
    [
        ("/usr/local/cuda-11.1", False),
        ("/c/NVIDIA/CUDA/v11.3", False),
        ("/usr/local/cuda-13.1", True),  # compiles for 7.5 and newer
        ("/usr/local/cuda", True),  # the one that is assumed
    ],
)
def test_a_script_names_its_toolkit_by_where_it_lies(home: str, stops: bool) -> None:
    text = f'CUDA_HOME={home}\nexport TORCH_CUDA_ARCH_LIST="6.0 7.0+PTX"\n'
    (gate,) = facts("env.sh", text).gates
    assert (gate.note("refused") is not None) is stops


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('FROM x\nENV TORCH_CUDA_ARCH_LIST="7.5 8.0"\nENV PORT="8.6"\n', {2: {75} | AMPERE}),
        ("FROM x\nENV CUDAARCHS 80-real\n", {2: AMPERE}),
        ("FROM x\nARG ARCHS=80-real\nRUN cmake \\\n # why\n -DCMAKE_CUDA_ARCHITECTURES=${ARCHS} .\n", {2: AMPERE}),
        ("FROM x\nRUN <<EOF\nexport CUDAARCHS=90-real\nEOF\n", {3: {90}}),
        ("FROM a AS b\nENV A=9.0\nFROM b\nENV TORCH_CUDA_ARCH_LIST=$A\n", {2: {90}}),
        ('FROM x\nRUN ["nvcc", "-gencode", "arch=compute_90,code=sm_90", "x.cu"]\n', {2: {90}}),
    ],
)
def test_dockerfiles(text: str, wanted: dict[int, set[int]]) -> None:
    assert loading("Dockerfile", text) == wanted


def test_the_base_image_says_which_toolkit_builds() -> None:
    text = "ARG V=12.4.1\nFROM nvidia/cuda:${V}-devel\nENV TORCH_CUDA_ARCH_LIST='7.0 9.0'\n"
    assert facts("Dockerfile", text).gates[0].note("refused") is None
    assert facts("Dockerfile", text, V="13.0.1").gates[0].note("refused") == "13.0"
    assert facts("Dockerfile", text.replace("9.0", "12.0")).gates[0].note("refused") == "12.4"


WORKFLOW = """env:
  CUDAARCHS: "80-real"
jobs:
  b:
    strategy:
      matrix:
        include:
          - list: "9.0"
    steps:
      - name: with -arch=sm_75
        run: |
          export TORCH_CUDA_ARCH_LIST="${{ matrix.list }}"
          nvcc -gencode arch=compute_90,code=sm_90 x.cu
      - with:
          build-args: |
            TORCH_CUDA_ARCH_LIST=8.0 8.6
"""


def test_workflows() -> None:
    wanted = {2: AMPERE, 8: {90}, 13: {90}, 16: AMPERE}
    assert loading(".github/workflows/ci.yml", WORKFLOW) == wanted


def test_recipes_with_jinja() -> None:
    text = "{% set v = '1' %}\nbuild:\n  script_env:\n    - TORCH_CUDA_ARCH_LIST=9.0\n  number: {{ v }}\n"
    assert loading("meta.yaml", text) == {4: {90}}


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        (".bazelrc", 'build:a --repo_env=HERMETIC_CUDA_COMPUTE_CAPABILITIES="sm_80,sm_90"\n', {1: AMPERE | {90}}),
        (".bazelrc", 'build --action_env TF_CUDA_COMPUTE_CAPABILITIES="sm_80,compute_90"\n', {1: newer_than(80) - {87}}),
        (".bazelrc", "build --@rules_cuda//cuda:archs=sm_80;sm_90\n", {1: AMPERE | {90}}),
        ("BUILD.bazel", 'cuda_library(name="k", copts=["-gencode=arch=compute_90,code=sm_90"])\n', {1: {90}}),
        ("defs.bzl", 'A = ["80", "90"]\ndef f():\n    return ["-gencode=arch=compute_%s,code=sm_%s" % (a, a) for a in A]\n',
         {1: AMPERE | {90}}),
        ("meson.build", "executable('k', 'k.cu', cuda_args: ['-gencode=arch=compute_90,code=sm_90'])\n", {1: {90}}),
        ("meson.build", "f = []\nforeach a : ['80', '90']\n f += '-gencode=arch=compute_@0@,code=sm_@0@'.format(a)\nendforeach\n",
         {2: AMPERE | {90}}),
        ("meson.build", "f = import('cuda').nvcc_arch_flags(n, ['9.0'], detect: 'none')\n", {1: {90}}),
        ("CMakePresets.json", '{"p": [{"cacheVariables": {"CMAKE_CUDA_ARCHITECTURES": {"type": "STRING", "value": "90-real"}}}]}',
         {1: {90}}),
        ("pyproject.toml", '[tool.scikit-build.cmake.define]\nCMAKE_CUDA_ARCHITECTURES = "90-real"\n', {2: {90}}),
        ("pyproject.toml", '[tool.scikit-build]\ncmake.args = ["-DX=1", "-DCMAKE_CUDA_ARCHITECTURES=90-real"]\n', {2: {90}}),
        ("setup.cfg", "[build_ext]\ncuda_archs = 90-real\n", {2: {90}}),
        (".env", "TORCH_CUDA_ARCH_LIST=9.0\nAPI_VERSION=8.6\n", {1: {90}}),
        ("environment.yml", "variables:\n  TORCH_CUDA_ARCH_LIST: '9.0'\n", {2: {90}}),
    ],
)  # fmt: skip
def test_other_kinds(path: str, text: str, wanted: dict[int, set[int]]) -> None:
    assert loading(path, text) == wanted


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Makefile", "F := -gencode arch=compute_$(call pick),code=sm_$(call pick)\n"),
        ("build.sh", "nvcc -gencode arch=compute_$(detect),code=sm_$(detect) x.cu\n"),
        ("Dockerfile", "FROM x\nRUN nvcc -arch=sm_$(detect) x.cu\n"),
        (".github/workflows/a.yml", "jobs:\n  - run: nvcc -arch=sm_${{ inputs.sm }} x.cu\n"),
        ("meson.build", "x = ( '-gencode arch=compute_80,code=sm_80'\n"),
        ("BUILD", "cc_library(copts = ['-gencode arch=compute_80,code=sm_80'\n"),
        ("meta.yaml", "build: [\n  - -gencode arch=compute_80,code=sm_80\n"),
        ("meson.build", "f = '-gencode arch=compute_' + sm + ',code=sm_' + sm\n"),
    ],
)
def test_no_build_file_ends_in_silence(path: str, text: str) -> None:
    found = facts(path, text)
    assert found.gates or found.undecided or found.problems


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Makefile", "make"), ("a/GNUmakefile", "make"), ("Makefile.cuda", "make"), ("rules.mk", "make"),
        ("Makefile.am", "make"), ("Makefile.in", None), ("build.bat", "batch"), ("Dockerfile", "docker"), ("docker/Dockerfile.gpu", "docker"), ("gpu.Dockerfile", "docker"),
        (".github/workflows/x.yml", "yaml"), ("x.yml", None), (".gitlab-ci.yml", "yaml"), ("conda/meta.yaml", "yaml"),
        ("conda.recipe/build.sh", "shell"), ("BUILD", "starlark"), ("x.bzl", "starlark"), ("build", "starlark"),
        (".bazelrc", "bazelrc"), ("CMakePresets.json", "presets"), ("package.json", None), ("meson.build", "meson"),
        (".env", "environment"), ("environment.yml", "yaml"), ("setup.cfg", "config"), ("CMakeLists.txt", None),
    ],
)  # fmt: skip
def test_kinds(path: str, kind: str | None) -> None:
    assert build_kind(path) == kind


def test_an_entry_that_the_toolkit_refuses_stops_the_build() -> None:
    text = "F := -gencode arch=compute_70,code=sm_70 -gencode arch=compute_90,code=sm_90\n"
    (new,), (old,) = facts("Makefile", text, "13.0").gates, facts("Makefile", text, "12.9").gates
    assert new.rest.message == "Unsupported gpu architecture 'compute_70'"
    assert new.arms[0].truth.yes == 0
    assert set(UNIVERSE.sms(old.arms[0].truth.yes)) == {70, 75, 90}
    assert old.note("refused") is None


def test_hostile_files_end() -> None:
    for path, text in (
        ("Makefile", "A = $(A)$(A)\nF = -arch=sm_$(A)\n"),
        ("Makefile", "define x\n-gencode\n"),
        ("Makefile", "$(eval " * 3000),
        ("build.sh", "f() { f; f; }\nf -arch=sm_80\n"),
        ("build.sh", "((((" * 2000 + "-arch=sm_80"),
        ("meson.build", "x = " + "[" * 5000 + "'-gencode'"),
        ("x.bzl", "x = " + "(" * 5000 + "'-gencode'"),
        ("x.bzl", "x = ['-gencode']\nfor i in x:\n    x.append(i)\n"),
        ("Dockerfile", "RUN " + "\\\n" * 3000 + "-gencode"),
        ("meta.yaml", "a: &a [*a]\nb: -gencode\n"),
        ("meta.yaml", "a: " + "{" * 3000 + "-gencode"),
    ):
        facts(path, text)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("    if a:\n        return '8.0'\n    else:\n        return '9.0'\n", {"8.0", "9.0"}),
        ("    if a:\n        if b:\n            return '8.0'\n    else:\n        if c:\n            return '9.0'\n"
         "    if d:\n        return '10.0'\n    return '12.0'\n", {"8.0", "9.0", "10.0", "12.0"}),
        ("    if a:\n        return '8.0'\n    raise OSError\n", {"8.0"}),
    ],
)  # fmt: skip
def test_each_return_of_a_function_is_one_it_may_give(body: str, wanted: set[str]) -> None:
    """Nested conditions that nobody can answer, each with a return of its own, once ended the run with a traceback."""
    text = f"import os\n\ndef archs(a, b, c, d):\n{body}\nos.environ['TORCH_CUDA_ARCH_LIST'] = archs(A, B, C, D)\n"
    tree = ast.parse(text)
    script = evaluated(text.encode(), tree, Given(CATALOG))
    (_, value), = script.set_here  # fmt: skip
    values = value.values if isinstance(value, Either) else (value,)
    assert {one.known for one in values} == wanted


@pytest.mark.parametrize(
    ("text", "hands"),
    [
        ('f"-arch=sm_{sm}"', True),
        ('f"--gpu-architecture=sm_{sm}"', True),
        ('["-gencode", f"arch=compute_{sm}"]', True),
        ('os.environ["TORCH_CUDA_ARCH_LIST"]', True),
        ('compile(options="--gpu-arch=sm_90a")', False),
        ('compile(options="--gpu-arch=sm_90a")\ncompile(options="--gpu-arch=sm_100a")', True),
        ('compile(options="--gpu-arch=sm_90a")\ncompile(options="--gpu-arch=sm_90a")', False),
        ('Extension("x", extra_compile_args={"nvcc": ["-arch=sm_90a"]})', True),
        ('compile(options=os.environ.get("X", "--gpu-arch=sm_90a"))', True),
        ("# chosen by per-arch measurements", False),
        ("# passed as -arch", True),
    ],
)
def test_which_python_may_hand_architectures_to_a_build(text: str, hands: bool) -> None:
    """What is compiled at run time for one chip alone is no list, and neither is prose."""
    assert makes_flags(f"x = 1\n{text}\n".encode()) is hands


def test_a_text_that_is_no_unicode_is_read() -> None:
    assert facts("setup.py", "LOW = '\\ud800'\nos.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'\n").problems == ()


@pytest.mark.parametrize(
    "grow",
    [
        "x = x + x",
        "x = x + x if c else x",
        "x = (x + 'a') if c else (x + 'b')",
        "x = x + (1 if c else 2)",
        "x = [*x, *x]",
        "x = ''.join([x, x])",
        "x = f'{x}{x}'",
        "x = x * x",
        "x = x.replace('a', 'aaaaaaaa')",
        "x = x + y\n    y = y + x",
    ],
)
@pytest.mark.parametrize("start", ["'a'", "['a']", "9", "q", "('8.0' if c else '9.0')"])
def test_what_doubles_at_every_step_stays_small(grow: str, start: str) -> None:
    """Nested choices once grew one value to 13 GB."""
    text = f"import os\nx = {start}\ny = {start}\nfor i in range(40):\n    {grow}\nos.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'\n"
    tracemalloc.start()
    began = time.process_time()
    reading = read_python(text.encode(), Given(CATALOG))
    assert time.process_time() - began < 15
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()
    assert [text[one.start : one.end] for one in reading.lists] == ["9.0"]


FLAGS = 'F = ["-gencode=arch=compute_90,code=sm_90", "-gencode=arch=compute_80,code=sm_80"]\n'


def steps(text: str) -> int:
    """How many statements and expressions are evaluated for a script."""
    return evaluated(text.encode(), ast.parse(text), Given(CATALOG)).steps


@pytest.mark.parametrize(
    "made",
    [
        lambda n: "y = x" + ".replace('a', 'b')" * n,  # of something unknown: each link once
        lambda n: "y = x" + ".a()" * n,
        lambda n: "y = " + "[].sort(key=" * n + "1" + ")" * n,
    ],
)
def test_chain_of_calls_is_evaluated_once(made: Callable[[int], str]) -> None:
    short, long = (steps(FLAGS + made(n)) for n in (5, 10))
    assert long - steps(FLAGS) <= 2.2 * (short - steps(FLAGS))


def test_function_that_calls_itself_with_something_unknown_ends() -> None:
    text = FLAGS + (
        "def walk(node):\n    if node.kind == 1:\n        return walk(node.left) + walk(node.right)\n"
        "    if node.kind == 2:\n        return [walk(part) for part in node.parts]\n    return node.load()\nwalk(tree)\n"
    )
    assert steps(text) < 200
    counted = "def down(n):\n    return [] if n == 0 else [f'-arch=sm_{n}0'] + down(n - 1)\nF = down(2)\n"
    (one,) = read_python(f"import os\n{counted}".replace("n}0'", "n}0', '-arch=sm_90'").encode(), Given(CATALOG)).lists[
        :1
    ]
    assert {i.target.sm for i in one.images} >= {90}


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("# nvcc -arch=sm_90\n", False),
        ('"""Runs nvcc -arch=sm_90."""\n', False),
        ('def f():\n    """The -gencode\n    flags."""\n', False),
        ('f = "-arch=sm_90"\n', True),
        ('f = "-arch=sm_90"  # or -arch=sm_80\n', True),
        ('f = "#"; g = "-arch=sm_90"\n', True),
        ("x = 1  # a per-arch -gencode\n", False),
        ("CUDA_ARCHS = [90]\n", True),
        ('f = "--sm-arch"\n', False),
    ],
)
def test_comments_make_no_flags(text: str, speaks: bool) -> None:
    assert (makes_flags(text.encode()) and code_makes_flags(text.encode(), ast.parse(text))) is speaks


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("type(a) is tuple", {70, 80}),
        ("type(a) is not str", {70, 80}),
        ("isinstance(a, tuple)", {70, 80}),
        ("isinstance(a, (list, tuple))", {70, 80}),
        ("isinstance(a, str)", {50}),
        ("type(a) == str", {50}),
    ],
)
def test_class_of_an_entry(test: str, wanted: set[int]) -> None:
    text = (
        "flags = []\nfor a in ['50', ('70', '70'), ('80', '80')]:\n"
        f"    if {test}:\n        flags.append('-gencode=arch=compute_{{}},code=sm_{{}}'.format(*(a if len(a) < 3 and a != '50' else (a, a))))\n"
    )
    (one,) = read_python(text.encode(), Given(CATALOG)).lists
    assert {i.target.sm for i in one.images} == wanted
    assert not one.assumes


@pytest.mark.parametrize("test", ["CUDA_HOME is not None", "CUDA_HOME", "not (CUDA_HOME is None)", "CUDA_HOME != None"])
def test_build_for_cuda_has_a_toolkit(test: str) -> None:
    head = "from torch.utils.cpp_extension import CUDA_HOME\nflags = ['-gencode=arch=compute_80,code=sm_80']\n"
    text = f"{head}if {test}:\n    flags.append('-gencode=arch=compute_90,code=sm_90')\n"
    (one,) = read_python(text.encode(), Given(CATALOG)).lists
    assert {i.target.sm for i in one.images} == {80, 90} and not one.unknowns and not one.assumes
    (other,) = read_python(text.replace("CUDA_HOME", "MY_HOME").encode(), Given(CATALOG)).lists
    assert other.unknowns


@pytest.mark.parametrize(
    ("name", "text", "images"),
    [
        ("a.sh", "docker build --build-arg torch_cuda_arch_list='7.5 8.0 12.0+PTX' .\n", {75, 80, 120}),
        ("a.sh", 'cmake "-DCMAKE_CUDA_ARCHITECTURES=75 90" .\n', {75, 90}),
        ("a.sh", "pip install -C cuda_arch_list=9.0 other='7.5 8.0' .\n", {90}),
    ],
)
def test_blanks_in_quotes_part_no_list(name: str, text: str, images: set[int]) -> None:
    (gate,) = facts(name, text).gates
    members = load().universe.members(gate.arms[0].truth.yes)
    assert {t.sm for t in members if not t.suffix} >= images


@pytest.mark.parametrize(
    ("flag", "newer"),
    [("-arch=$(ARCH)", True), ("-gencode arch=compute_75,code=$(ARCH)", False)],  # the short form leaves PTX in
)
def test_what_a_variable_of_a_makefile_comes_to_in_a_flag(flag: str, newer: bool) -> None:
    (gate,) = facts("Makefile", f"ARCH = sm_75\nprog: a.cu\n\tnvcc {flag} -o prog a.cu\n").gates
    assert (120 in {t.sm for t in load().universe.members(gate.arms[0].truth.yes)}) is newer


_SET = 'import os\nfrom m import gpu\nif not gpu and "TORCH_CUDA_ARCH_LIST" not in os.environ:\n    os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"\n'


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (_SET + "from .engine import Engine\n", {4}),
        (_SET + 'from .engine import Engine\nif not gpu:\n    del os.environ["TORCH_CUDA_ARCH_LIST"]\n', set()),
        (_SET + 'os.environ.pop("TORCH_CUDA_ARCH_LIST", None)\n', set()),
        (_SET + 'os.environ.pop("CUDA_HOME", None)\n', {4}),
        (_SET + 'if later:\n    del os.environ["TORCH_CUDA_ARCH_LIST"]\n', {4}),  # where not, it stays
        (_SET + 'load("k", ["k.cu"])\ndel os.environ["TORCH_CUDA_ARCH_LIST"]\n', {4}),  # built with it
    ],
)
def test_a_variable_that_is_taken_back_before_anything_is_built_is_no_list(text: str, made: set[int]) -> None:
    reading = read_python(text.encode(), Given.of(CATALOG, ScanSettings()))
    assert {text.count("\n", 0, one.start) + 1 for one in reading.lists} == made


@pytest.mark.parametrize(
    ("call", "made"), [("logging.info", set()), ("logger.warning", set()), ("subprocess.run", {2})]
)
def test_a_command_in_a_message_builds_nothing(call: str, made: set[int]) -> None:
    text = f"import logging, subprocess\n{call}(\"TORCH_CUDA_ARCH_LIST='8.0 9.0' pip install thing\")\n"
    reading = read_python(text.encode(), Given.of(CATALOG, ScanSettings()))
    assert {text.count("\n", 0, one.start) + 1 for one in reading.lists} == made


@pytest.mark.parametrize(("cuda", "shown"), [("13.0", "7.5;9.0"), ("12.9", "7.0;7.5;9.0")])
def test_an_entry_for_older_toolkits_is_left_out_with_newer_ones(cuda: str, shown: str) -> None:
    text = """import os, re, subprocess
def _nvcc_major():
    try:
        m = re.search(r"release (\\d+)", subprocess.check_output(["nvcc", "--version"], text=True))
        return int(m.group(1)) if m else None
    except Exception:
        return None
_archs = "7.5;9.0"
if (_nvcc_major() or 12) < 13:
    _archs = "7.0;" + _archs
os.environ.setdefault("TORCH_CUDA_ARCH_LIST", _archs)
"""
    reading = read_python(text.encode(), Given.of(CATALOG, ScanSettings(cuda=cuda)))
    assert [one.shown for one in reading.lists] == [shown]


@pytest.mark.parametrize(
    ("archs", "made"),
    [
        ('os.environ.get("MY_ARCHS") or os.environ.get("TORCH_CUDA_ARCH_LIST") or "80,90"', [80, 90]),
        ('os.getenv("MY_ARCHS") or "80"', [80]),
        ('os.environ.get("MY_ARCHS") or find_archs()', []),
    ],
)
def test_the_text_behind_variables_of_the_environment_is_their_default(archs: str, made: list[int]) -> None:
    text = (
        "import os\nfrom setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
        f"archs = {archs}\nflags = []\nfor arch in archs.split(','):\n    arch = arch.strip()\n"
        "    flags += [f'-gencode=arch=compute_{arch},code=sm_{arch}']\n"
        "setup(ext_modules=[CUDAExtension('x', ['a.cu'], extra_compile_args={'nvcc': flags})])\n"
    )
    reading = read_python(text.encode(), Given.of(CATALOG, ScanSettings()))
    assert [image.target.sm for one in reading.lists for image in one.images] == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("if HAVE_CUDA\nARCH = -arch=sm_80\nelse\nARCH = -arch=sm_90\nendif\nk.o: k.cu\n\tnvcc $(ARCH) k.cu\n", "80 90"),
        ("ARCH = -arch=sm_80\nif NEW\nARCH = -arch=sm_90\nendif NEW\nk.o: k.cu\n\tnvcc $(ARCH) k.cu\n", "80 90"),
        ("ARCH = -arch=sm_80\nk.o: k.cu\n\tnvcc $(ARCH) k.cu\n", "80"),
    ],
)  # fmt: skip
def test_conditionals_of_automake_are_for_configure_to_say(text: str, made: str) -> None:
    lists = read("Makefile.am", text.encode(), Given(load())).lists
    assert {f"{i.target.sm}" for one in lists for i in one.images} == set(made.split())


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("@echo off\r\nnvcc -arch compute_75 ^\r\n  -O3 a.cu\r\n", "75"),
        ("set CUDA_ARCH_LIST=8.6\r\n%NVCC% -gencode arch=compute_86,code=sm_86 %1\r\n", "86"),
        ("REM nvcc -arch=sm_75\r\n:: nvcc -arch=sm_75\r\necho nvcc -arch=sm_75\r\n", ""),
        ("nvcc -arch=sm_%SM% a.cu\r\n", ""),
    ],
)
def test_batch_files(text: str, made: str) -> None:
    reading = read("build.bat", text.encode(), Given(load()))
    assert {f"{i.target.sm}" for one in reading.lists for i in one.images} == set(made.split())


def test_a_script_that_appends_on_conditions_in_loops_ends_soon() -> None:
    body = 'OUT="$OUT -arch=sm_80 $OUT"\n[ "$MAYBE" = 1 ] && break\nOUT+=" $cc"\n'
    for _ in range(3):
        body = f"for cc in 1 2 3 4 5 6 7 8 $OUT; do\n{body}done\n"
    started = time.perf_counter()
    reading = read("build.sh", b"OUT=x\n" + body.encode(), Given(load()))
    assert time.perf_counter() - started < 10
    assert reading.problems == ("too long to evaluate: what comes late in it was not looked at",)


@pytest.mark.parametrize(
    ("command", "builds"),
    [
        ("nvcc --arch sm_90 -cubin k.cu", True),
        ("$CUDA_HOME/bin/nvcc -arch=sm_90 k.cu", True),
        ("sccache nvcc -arch sm_90 k.cu", True),
        ("$CC -arch sm_90 k.cu", True),
        ("clang++-18 --arch=sm_90 k.cu", True),
        ('./configure --with-nvcc-flags="-arch=sm_90"', True),
        ("profiler occupancy --arch sm_90 --regs 168", False),
        ("docker run --rm image:smoke tune k.cu --arch=sm_90", False),
        ("docker run --rm image:smoke nvcc -arch=sm_90 k.cu", True),
    ],
)
def test_an_option_arch_is_a_list_where_a_compiler_is_given_it(command: str, builds: bool) -> None:
    workflow = f"on: push\njobs:\n  a:\n    steps:\n      - run: |\n          {command}\n"
    found = facts(".github/workflows/ci.yml", workflow)
    assert loading(".github/workflows/ci.yml", workflow) == ({6: newer_than(90)} if builds else {})
    assert bool(found.undecided) is not builds  # what is not understood is said


@pytest.mark.parametrize("compiler", names()["compilers"])
def test_every_compiler_of_the_vocabulary_is_one(compiler: str) -> None:
    assert loading("build.sh", f"/opt/bin/{compiler} --arch=sm_90 k.cu\n") == {1: newer_than(90)}
    assert loading("build.sh", f"/opt/bin/my{compiler} --arch=sm_90 k.cu\n") == {}


@pytest.mark.parametrize("name", [*names()["lists"], *names()["single"], *names()["environment"]])
def test_a_variable_with_a_name_of_the_vocabulary_is_one_for_architectures(name: str) -> None:
    spelled = {form: is_arch_name(form.upper()) for form in (name, f"my_{name}", f"{name}_wanted", f"x{name}x")}
    assert spelled == {**dict.fromkeys(spelled, True), f"x{name}x": name in names()["environment"]}


def test_the_filter_of_flags_finds_every_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"x = ['-DMY_{name.upper()}=90']\n" for name in (*names()["settings"], "size", "mssm")]
    filtered = [makes_flags(text.encode()) for text in texts]
    assert filtered == [True] * (len(texts) - 2) + [False] * 2
    pattern, _ = flags._flags()
    monkeypatch.setattr(flags, "_flags", lambda: (pattern, (b"x",)))  # every line is looked at
    assert [makes_flags(text.encode()) for text in texts] == filtered


ROUNDS = """\
import subprocess
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

available = subprocess.check_output(["nvcc", "--list-gpu-arch"]).split()
flags = []
for sm in [70, 75, 90]:
    if CONDITION:
        flags.append(f"-gencode=arch=compute_{sm},code=sm_{sm}")
chosen = [f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in [70, 75, 90] if CONDITION]
setup(ext_modules=[CUDAExtension("a", ["a.cu"], extra_compile_args={"nvcc": FLAGS})])
"""


@pytest.mark.parametrize("flags", ["flags", "chosen"])
@pytest.mark.parametrize(
    ("condition", "refused"),
    [
        ("available", True),  # one answer for all entries: with it, 7.0 is asked for
        ("sm in available", False),  # each has its own
        ("sm > 60 and sm in available", False),
    ],
)
def test_a_condition_on_the_variable_of_a_loop_is_one_for_each_round(condition: str, flags: str, refused: bool) -> None:
    text = ROUNDS.replace("CONDITION", condition).replace("FLAGS", flags)
    lists = read_python(text.encode(), Given(CATALOG)).lists
    one = next(o for o in lists if text.count("\n", 0, o.start) + 1 == (9 if flags == "flags" else 10))
    assert bool(one.refused(CATALOG)) is refused
    assert one.serves(120, CATALOG) is False  # whatever the answers are
    assert one.serves(75, CATALOG) is (True if refused else None)


OPTION = """
class build(build_ext):
    def initialize_options(self):
        super().initialize_options()
        self.OPTION = 'LIST'
        self.jobs = '4'

    def make(self, ext):
        self.spawn(['cmake', '-DNAME=' + self.OPTION, '-DJOBS=' + self.jobs, ext.root])
"""


@pytest.mark.parametrize(
    ("name", "entries", "refused"),
    [
        ("CUDA_CCS", "60;61;70;75", ("60", "61", "70")),
        ("CUDA_CCS", "75;80", ()),
        ("SM", "75;89;90", ()),
        ("MY_SMS", "70;90", ("70",)),
        ("JOBS", "60;70", None),  # a number may be anything
    ],
)
def test_a_list_that_one_method_keeps_and_another_gives_to_cmake(
    name: str, entries: str, refused: tuple[str, ...] | None
) -> None:
    text = OPTION.replace("OPTION", "wanted").replace("LIST", entries).replace("NAME", name)
    lists = read_python(text.encode(), Given(CATALOG)).lists
    if refused is None:
        assert not lists
        return
    (one,) = lists
    assert text.count("\n", 0, one.start) + 1 == 5
    assert tuple(entry.text for entry in one.refused(CATALOG)) == refused
    assert one.refused(CATALOG) == () or not replace(one, toolkit="12.8").refused(CATALOG)


@pytest.mark.parametrize(("entries", "refused"), [("'70', '75'", ("70",)), ("'75', '90'", ())])
def test_a_list_by_default_in_an_option_of_cmake(entries: str, refused: tuple[str, ...]) -> None:
    text = (
        f"def options():\n    wanted = [{entries}]\n    if os.getenv('WANTED'):\n"
        "        wanted = os.getenv('WANTED').split(';')\n"
        "    return ['-DSM={}'.format(';'.join(wanted)), '-DX={}'.format(1)]\n"
        "setup(cmake_args=options())\n"
    )
    (one,) = read_python(text.encode(), Given(CATALOG)).lists
    assert text.count("\n", 0, one.start) + 1 == 2
    assert tuple(entry.text for entry in one.refused(CATALOG)) == refused
