"""CMake files, evaluated for every target: which lists and comparisons shut whom out, and where."""

from __future__ import annotations

import time

import pytest

from archscan.catalog import load
from archscan.frontends.build.front_end import BuildFrontEnd
from archscan.frontends.build.interpreter import Project, evaluate
from archscan.frontends.build.patterns import matched, replaced
from archscan.frontends.build.request import Request
from archscan.frontends.build.syntax import Block, parse
from archscan.frontends.build.values import Value
from archscan.frontends.protocol import Context
from archscan.model.facts import FileFacts, Source
from archscan.model.gate import Does, Gate, Kind, Role
from archscan.model.settings import ScanSettings
from archscan.sources.kinds import is_cmake

CATALOG = load()
UNIVERSE = CATALOG.universe


def facts(text: str | bytes, cuda: str = "13.0", **others: str) -> FileFacts:
    """The facts of a CMake file among others of its project."""
    data = text if isinstance(text, bytes) else text.encode()
    context = Context(CATALOG, ScanSettings(cuda=cuda))
    front_end = BuildFrontEnd()
    sources = [Source("CMakeLists.txt", data), *(Source(f"{n}.cmake", t.encode()) for n, t in others.items())]
    indexes = {s.path: index for s in sources if (index := front_end.index(s, context)) is not None}
    if "CMakeLists.txt" not in indexes:
        return FileFacts("CMakeLists.txt", len(data))
    project = front_end.link(indexes, context)
    return front_end.gates(indexes["CMakeLists.txt"], project, context)


def gates(text: str, cuda: str = "13.0", **others: str) -> dict[int, Gate]:
    return {gate.place.line: gate for gate in facts(text, cuda, **others).gates}


def says(gate: Gate, target: str, arm: int = 0) -> str:
    return gate.arms[arm].truth.word(UNIVERSE.bit(UNIVERSE.by_name[target]))


INTERSECTION = """set(KNOWN "8.0;9.0;10.0;12.0")
if(NOT DEFINED WANTED)
  set(WANTED "12.0")
endif()
function(keep out list)
  set(r "")
  foreach(a IN LISTS list)
    string(REGEX REPLACE "[af]$" "" base "${a}")
    foreach(q IN LISTS WANTED)
      string(REGEX REPLACE "[af]$" "" qbase "${q}")
      if("${base}" STREQUAL "${qbase}" AND base IN_LIST KNOWN)
        list(APPEND r "${a}")
      endif()
    endforeach()
  endforeach()
  set(${out} "${r}" PARENT_SCOPE)
endfunction()
keep(FP4 "10.0a;12.0a")
keep(PORTABLE "8.0;12.0;12.1")
keep(WGMMA "9.0a")
if(FP4)
  message("fp4")
endif()
"""


def test_an_intersection_drops_what_its_list_lacks() -> None:
    found = gates(INTERSECTION)
    assert sorted(found) == [1, 18, 19, 20]
    known, fp4, portable, wgmma = (found[line] for line in sorted(found))
    assert (says(known, "sm_120"), says(known, "sm_121"), says(known, "sm_89")) == ("yes", "no", "no")
    assert (says(fp4, "sm_120a"), says(fp4, "sm_121a"), says(fp4, "sm_90a")) == ("yes", "no", "no")
    assert (says(portable, "sm_120"), says(portable, "sm_121")) == ("yes", "no")
    assert portable.arms[0].own.word(UNIVERSE.bit(UNIVERSE.by_name["sm_121"])) == "yes"
    assert (says(wgmma, "sm_90"), says(wgmma, "sm_120")) == ("yes", "no")
    assert [use.feature for use in wgmma.arms[0].features] == ["wgmma"]
    assert {(r.line, r.role) for r in portable.related} >= {(1, Role.ALSO_CHANGE)}
    assert all(gate.kind is Kind.BUILD_LIST and gate.rest.does is Does.SKIPS for gate in found.values())


def test_a_known_list_that_raises() -> None:
    found = gates(
        "set(ARCHS 80 86 90)\nforeach(arch IN LISTS CMAKE_CUDA_ARCHITECTURES)\n  if(NOT arch IN_LIST ARCHS)\n"
        '    message(FATAL_ERROR "sm_${arch} is not supported")\n  endif()\nendforeach()\n'
    )
    assert list(found) == [1]
    assert (says(found[1], "sm_90"), says(found[1], "sm_89"), says(found[1], "sm_120")) == ("yes", "no", "no")
    assert (found[1].rest.does, found[1].rest.message) == (Does.ERRORS, "sm_${arch} is not supported")


@pytest.mark.parametrize(
    ("condition", "yes", "no", "kind"),
    [
        ('"${GPU_ARCH}" STRLESS "70"', "sm_120 sm_100", "sm_70 sm_90", Kind.STRING_COMPARE),
        ("GPU_ARCH LESS 70", "sm_61", "sm_70 sm_120", Kind.IF),
        ("GPU_ARCH GREATER_EQUAL 90 AND GPU_ARCH LESS 120", "sm_90 sm_110", "sm_89 sm_120", Kind.IF),
        ("NOT (GPU_ARCH EQUAL 90 OR GPU_ARCH EQUAL 100)", "sm_120 sm_89", "sm_90 sm_100", Kind.IF),
        ('GPU_ARCH STREQUAL "90"', "sm_90", "sm_120", Kind.IF),
        ('GPU_ARCH MATCHES "^(80|90)"', "sm_80 sm_90", "sm_120", Kind.IF),
        ('"${GPU_ARCH}" VERSION_LESS "100"', "sm_90", "sm_120", Kind.IF),
    ],
)
def test_comparisons(condition: str, yes: str, no: str, kind: Kind) -> None:
    found = gates(
        f'if(NOT DEFINED GPU_ARCH)\n  set(GPU_ARCH "120")\nendif()\nif({condition})\n  add_library(x a.cu)\nendif()\n'
    )
    assert list(found) == [4]
    assert found[4].kind is kind
    assert [says(found[4], target) for target in yes.split()] == ["yes"] * len(yes.split())
    assert [says(found[4], target) for target in no.split()] == ["no"] * len(no.split())


@pytest.mark.parametrize(
    "condition",
    [
        'CMAKE_VERSION VERSION_LESS "3.18"',
        "BUILD_TESTS",
        'CMAKE_BUILD_TYPE STREQUAL "Debug"',
        "MSVC",
        "TARGET cuda_arch",
    ],
)
def test_what_is_no_gate(condition: str) -> None:
    assert gates(f"set(GPU_ARCH_NOTE 1)\nif({condition})\n  add_library(x a.cu)\nendif()\n") == {}


def test_a_branch_that_refuses_and_one_that_reports() -> None:
    found = gates(
        'if(NOT DEFINED GPU_ARCH)\n  set(GPU_ARCH "120")\nendif()\nif("${GPU_ARCH}" STRLESS "70")\n'
        '  message("refused: too old")\nelse()\n  message("building for ${GPU_ARCH}")\nendif()\n'
    )
    assert [arm.effect.does for arm in found[4].arms] == [Does.PRINTS, Does.WORK]
    assert found[4].note("encoding") == "text"
    assert (says(found[4], "sm_90", 1), says(found[4], "sm_120", 1)) == ("yes", "no")


def test_a_named_bound_is_placed_where_it_is_defined() -> None:
    found = gates(
        'set(MIN_ARCH 80)\nif(CMAKE_CUDA_ARCHITECTURES LESS MIN_ARCH)\n  message(FATAL_ERROR "old")\nendif()\n'
    )
    assert list(found) == [1]
    assert (says(found[1], "sm_75"), says(found[1], "sm_80")) == ("yes", "no")
    assert found[1].rest.does is Does.WORK
    assert [(r.line, r.role) for r in found[1].related] == [(2, Role.CALLER)]


@pytest.mark.parametrize(
    ("line", "yes", "no"),
    [
        ('set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real")', "sm_86 sm_90", "sm_75 sm_100 sm_120"),
        ("set(CMAKE_CUDA_ARCHITECTURES 80 90)", "sm_86 sm_120", "sm_75"),  # plain numbers bring PTX
        ("set(CMAKE_CUDA_ARCHITECTURES 90-virtual)", "sm_90 sm_120", "sm_89"),
        ('set(TORCH_CUDA_ARCH_LIST "8.0;9.0+PTX")', "sm_86 sm_120", "sm_75"),
        ("set(FP4_ARCHS 12.0a)", "sm_120", "sm_121 sm_100"),
        ("set(FP4_ARCHS 12.0f)", "sm_120 sm_121", "sm_100"),
        ("set(CUDA_ARCHS 12.0)", "sm_120 sm_121", "sm_110"),
        ("set_target_properties(k PROPERTIES CUDA_ARCHITECTURES 90a)", "sm_90", "sm_100 sm_120"),
        ("set_property(TARGET k PROPERTY CUDA_ARCHITECTURES 80-real 90-real)", "sm_89 sm_90", "sm_120"),
        ('target_compile_options(k PRIVATE "-gencode=arch=compute_90a,code=sm_90a")', "sm_90", "sm_120"),
        ("target_compile_options(k PRIVATE -gencode arch=compute_90,code=compute_90)", "sm_90 sm_120", "sm_89"),
        ('set(F "-gencode arch=compute_80,code=\\"sm_80,compute_80\\"")', "sm_80 sm_120", "sm_75"),
        ("list(APPEND F -arch=sm_90)", "sm_90 sm_120", "sm_89"),
        ('cuda_archs_loose_intersection(K_ARCHS "8.0;8.6;9.0" "${CUDA_ARCHS}")', "sm_89 sm_90", "sm_120"),
    ],
)
def test_lists_admit_what_loads_their_images(line: str, yes: str, no: str) -> None:
    found = gates(line)
    assert list(found) == [1]
    assert [says(found[1], target) for target in yes.split()] == ["yes"] * len(yes.split())
    assert [says(found[1], target) for target in no.split()] == ["no"] * len(no.split())


@pytest.mark.parametrize(
    "line",
    [
        "set(CMAKE_CUDA_STANDARD 17)",
        "set(TILE_SIZES 64 80 90)",
        'set(PYTHON_SUPPORTED_VERSIONS "3.10" "3.11")',
        'set(CUDA_VERSIONS "12.0;12.1")',
        "cmake_minimum_required(VERSION 3.18) # sm_",
        "set(ARCH_NAME hopper)",
        "add_kernel(x 64 128)",
    ],
)
def test_numbers_that_are_no_architectures(line: str) -> None:
    assert gates(f"# CUDA_ARCH\n{line}\n") == {}


def test_what_is_appended_to_one_variable_is_one_list() -> None:
    text = (
        'option(WITH_FP4 "" ON)\nset(F -O3 -gencode=arch=compute_90a,code=sm_90a)\n'
        "if(WITH_FP4)\n  list(APPEND F -gencode=arch=compute_120a,code=sm_120a)\nendif()\n"
        "if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)\n"
        "  list(APPEND F -gencode=arch=compute_100a,code=sm_100a)\nendif()\n"
    )
    gate = gates(text)[2]
    assert (says(gate, "sm_90"), says(gate, "sm_100"), says(gate, "sm_110")) == ("yes", "yes", "no")
    assert says(gate, "sm_120") == "unknown"
    assert gate.arms[0].assumed.word(UNIVERSE.bit(UNIVERSE.by_name["sm_120"])) == "yes"
    assert gate.arms[0].assumes == ("WITH_FP4",)
    assert says(gates(text, cuda="12.6")[2], "sm_100") == "no"


def test_a_default_names_the_variable_that_overrides_it() -> None:
    found = gates(
        'if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real")\nendif()\n'
    )
    assert found[2].rest.environment == ("CMAKE_CUDA_ARCHITECTURES",)
    assert says(found[2], "sm_120") == "no"


def test_functions_and_files_of_the_project_are_evaluated() -> None:
    utils = (
        "function(pick OUT SRC)\n  set(r)\n  foreach(a ${SRC})\n    foreach(t ${CUDA_ARCHS})\n"
        '      if(a VERSION_LESS_EQUAL t)\n        set(r "${a}")\n      endif()\n    endforeach()\n  endforeach()\n'
        "  set(${OUT} ${r} PARENT_SCOPE)\nendfunction()\nset(LIST_ARCHS 8.0)\n"
    )
    found = gates('include(utils.cmake)\npick(K_ARCHS "8.0;9.0;12.0")\n', utils=utils)
    assert (says(found[2], "sm_89"), says(found[2], "sm_121"), says(found[2], "sm_75")) == ("yes", "yes", "no")


def test_brackets_comments_and_escapes() -> None:
    listfile = parse(b'#[[ set(X\n1) ]] set(A "a\\"b;#c" [=[d ]] e]=]) # f )\nif(A AND (B))\nendif()\n')
    assert listfile.problems == ()
    command, block = listfile.body
    assert [a.text for a in command.arguments] == ["A", 'a\\"b;#c', "d ]] e"]  # type: ignore[union-attr]
    assert isinstance(block, Block)
    assert [a.text for a in block.parts[0].head.arguments] == ["A", "AND", "(", "B", ")"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("if(CUDA_ARCH)\n", "never closed"),
        ("set(CUDA_ARCH 90)\nendif()\n", "unexpected endif() at line 2"),
        ("set(CUDA_ARCH 90)\n@@@\n", "no command at line 2"),
    ],
)
def test_broken_files_are_read_with_a_remark(text: str, problem: str) -> None:
    assert any(problem in said for said in facts(text).problems)


@pytest.mark.parametrize(
    "hostile",
    [
        b"set(CUDA_ARCH ${${${${${A}}}}})\n" * 200,
        b"function(f)\n f()\nendfunction()\nf() # ARCH\n",
        b"set(CUDA_ARCH 90)\nforeach(i RANGE 1000000)\n foreach(j RANGE 1000000)\n  set(x 1)\n"
        b" endforeach()\nendforeach()\n",
        b'set(CUDA_ARCH 90)\nset(x "aa")\nforeach(i RANGE 100)\n string(APPEND x "${x}${x}")\nendforeach()\n',
        b'set(CUDA_ARCH 90)\nstring(REGEX MATCH "(a+)+$" y "' + b"a" * 5000 + b'b")\n',
        b'set(CUDA_ARCH 90)\nstring(REGEX MATCH "a*a*a*a*a*c" y "' + b"a" * 5000 + b'b")\n',
        b"if(NOT " * 5000 + b"ARCH",
        b"if(" + b"(" * 5000 + b"ARCH" + b")" * 5001,
        b"if(ARCH)\n" * 3000,
        b"set(CUDA_ARCH [[" * 3000,
        b'math(EXPR CUDA_ARCH "9**9**9**9")\n',
        b"\xff\xfe set(CUDA_ARCH \x00 90)",
    ],
    ids=range(12),
)
def test_hostile_files_end_soon(hostile: bytes) -> None:
    start = time.process_time()
    facts(hostile)
    assert time.process_time() - start < 8


def test_regular_expressions_of_cmake() -> None:
    assert replaced("([0-9]+)([0-9])", "\\1.\\2", "120") == "12.0"
    assert matched("^([0-9]+)\\..*$", "12.0") == ("12.0", "12")
    assert matched("x", "y") == ()
    assert matched("(a|b)+$", "a" * 30) is None
    assert matched("(", "a") is None
    assert replaced("^9", "", "990.9") == "0.9"  # each rest begins anew
    assert replaced("a*", "x", "b") is None  # cmake stops at a match of nothing


@pytest.mark.parametrize(
    "loop",
    ["foreach(a IN ITEMS 80 90)", "foreach(a 80 90)", "set(SMS 80 90)\nforeach(a ${SMS})"],
)
def test_flags_made_of_a_list_in_a_loop(loop: str) -> None:
    text = f'{loop}\n  list(APPEND F "-gencode=arch=compute_${{a}},code=sm_${{a}}")\nendforeach()\n'
    found = gates(text)
    assert list(found) == [1]
    assert (says(found[1], "sm_89"), says(found[1], "sm_90"), says(found[1], "sm_120")) == ("yes", "yes", "no")


def test_a_loop_over_other_numbers_is_no_gate() -> None:
    assert gates("# CUDA_ARCH\nforeach(width 80 90)\n  list(APPEND WIDTHS ${width})\nendforeach()\n") == {}


def test_what_is_appended_belongs_to_the_last_set() -> None:
    found = gates(
        "set(CUDA_ARCHS 80-real)\nif(CUDA_VERSION VERSION_GREATER_EQUAL 12.8)\n"
        "  list(APPEND CUDA_ARCHS 120-real)\nendif()\n"
        "set(CUDA_ARCHS 90-real)\nlist(APPEND CUDA_ARCHS 100-real)\n"
    )
    assert sorted(found) == [1, 5]
    assert (says(found[1], "sm_120"), says(found[1], "sm_90"), says(found[5], "sm_100")) == ("yes", "no", "yes")


def test_the_newest_is_popped_and_kept_as_ptx() -> None:
    found = gates(
        'set(KNOWN_ARCHS "75" "80" "90" "100")\n'
        "list(POP_BACK KNOWN_ARCHS NEWEST_ARCH)\n"
        "list(TRANSFORM KNOWN_ARCHS APPEND -real)\n"
        "list(APPEND KNOWN_ARCHS ${NEWEST_ARCH})\n"
        "set(CMAKE_CUDA_ARCHITECTURES ${KNOWN_ARCHS})\n"
    )
    # images of 7.5, 8.0 and 9.0 alone, and PTX of 10.0, which every later chip compiles for itself
    assert [(line, says(g, "sm_70"), says(g, "sm_89"), says(g, "sm_120")) for line, g in found.items()] == [
        (1, "no", "yes", "yes")
    ]


def test_a_loop_that_fills_the_targets_is_their_list() -> None:
    found = gates(
        'foreach(cc IN ITEMS 80 90 100)\n  list(APPEND CMAKE_CUDA_ARCHITECTURES "${cc}-real")\nendforeach()\n'
    )
    assert [(line, says(g, "sm_103"), says(g, "sm_120")) for line, g in found.items()] == [(1, "yes", "no")]


def test_words_behind_a_keyword_are_a_list() -> None:
    found = gates(
        "function(add_kernel name)\nendfunction()\nadd_kernel(gemm ARCHS 90a-real 100a-real SOURCES gemm.cu)\n"
    )
    assert [(line, says(g, "sm_90a"), says(g, "sm_103")) for line, g in found.items()] == [(3, "yes", "no")]


def test_flags_appended_to_one_text_are_one_list() -> None:
    found = gates(
        'set(CODES "-gencode=arch=compute_80,code=sm_80")\n'
        'string(APPEND CODES " -gencode=arch=compute_90,code=sm_90")\n'
        'set(CMAKE_CUDA_FLAGS "${CODES}")\n'
    )
    assert [(line, says(g, "sm_90"), says(g, "sm_100")) for line, g in found.items()] == [(1, "yes", "no")]


MAJORS = """if(NOT DEFINED CC)
  set(CC "12.0")
endif()
string(REPLACE "." "" NUM "${CC}")
math(EXPR MAJOR "${NUM} / 10")
if(MAJOR EQUAL 9)
  set(KERNELS hopper.cu)
elseif(MAJOR EQUAL 8)
  set(KERNELS mma.cu)
else()
  message(FATAL_ERROR "no kernels for ${CC}")
endif()
"""


def test_a_suffix_in_an_expression_is_an_error_and_no_number() -> None:
    gate = gates(MAJORS)[6]
    assert [says(gate, name) for name in ("sm_90", "sm_90a", "sm_120a")] == ["yes", "no", "no"]
    assert says(gate, "sm_120a", 2) == "yes"


def test_the_pattern_that_drops_an_entry_is_the_gate() -> None:
    text = """set(ARCHS "8.0;9.0;12.0")
foreach(a IN LISTS ARCHS)
  if(a MATCHES "^([0-9])\\\\.([0-9])$")
    list(APPEND NUMS "${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real")
  endif()
endforeach()
set(CMAKE_CUDA_ARCHITECTURES ${NUMS})
"""
    gate = gates(text)[3]
    assert says(gate, "sm_120") == "no" and says(gate, "sm_90") == "yes"
    assert [r.line for r in gate.related] == [1]
    assert 3 not in gates(text.replace("[0-9])\\\\.", "[0-9]+)\\\\."))


def test_what_a_gate_sets_is_no_gate_again() -> None:
    text = """set(ARCHS "75;80;90" CACHE STRING "")
foreach(arch IN LISTS ARCHS)
  if(arch GREATER_EQUAL 80)
    list(APPEND ASYNC ${arch})
  endif()
endforeach()
if(ASYNC)
  list(APPEND SOURCES async.cu)
endif()
"""
    assert [line for line, gate in gates(text).items() if gate.kind is Kind.IF] == [3]


@pytest.mark.parametrize(
    ("condition", "taken", "left_out"),
    [
        ('a STREQUAL "90a"', "sm_90", "sm_120 sm_80"),
        ('a MATCHES "^(90|120)a$"', "sm_90 sm_120", "sm_80 sm_89"),
        ('NOT a STREQUAL "80"', "sm_90 sm_120", "sm_80 sm_86"),
    ],
)
def test_condition_in_a_loop_over_architectures(condition: str, taken: str, left_out: str) -> None:
    text = (
        f'set(ARCHS "80;90a;120a")\nforeach(a IN LISTS ARCHS)\n  if({condition})\n'
        "    list(APPEND SRCS k.cu)\n  endif()\nendforeach()\n"
    )
    (gate,) = [g for g in gates(text).values() if g.kind is not Kind.BUILD_LIST]
    assert gate.place.line == 3
    names = {t.name for t in UNIVERSE.members(gate.arms[0].truth.yes)}
    assert set(taken.split()) <= names and not names & set(left_out.split())
    reached = {t.name for t in UNIVERSE.members(gate.reach.yes)} if gate.reach else set()
    assert "sm_75" not in reached  # nothing is built for it at all


def test_condition_in_a_loop_that_only_filters_is_told_by_the_lists() -> None:
    text = 'foreach(a 80 90a 120a)\n  if(a MATCHES "a$")\n    list(APPEND NEW ${a})\n  endif()\nendforeach()\n'
    assert not [g for g in gates(text).values() if g.kind is not Kind.BUILD_LIST]


def test_list_that_the_user_gives_holds_what_is_asked_for() -> None:
    text = (
        "set(KNOWN_ARCHS 75 80 90 120)\nforeach(arch IN LISTS WANTED_ARCHS)\n  if(NOT arch IN_LIST KNOWN_ARCHS)\n"
        '    message(FATAL_ERROR "unknown ${arch}")\n  endif()\nendforeach()\n'
    )
    (gate,) = gates(text).values()
    assert (gate.place.line, gate.rest.does) == (1, Does.ERRORS)
    names = {t.name for t in UNIVERSE.members(gate.arms[0].truth.yes)}
    assert {"sm_75", "sm_120"} <= names and not names & {"sm_86", "sm_110", "sm_121"}


@pytest.mark.parametrize(("other", "listed"), [('list(APPEND OUT "${a}")', 0), ("set(SEEN TRUE)", 1)])
def test_entry_that_is_put_in_place_of_one(other: str, listed: int) -> None:
    text = (
        'foreach(a IN LISTS CMAKE_CUDA_ARCHITECTURES)\n  if(a MATCHES "^100$")\n    list(APPEND OUT "100a")\n'
        f"  else()\n    {other}\n  endif()\nendforeach()\nset(CMAKE_CUDA_ARCHITECTURES ${{OUT}})\n"
    )
    assert len([g for g in gates(text).values() if g.kind is Kind.BUILD_LIST]) == listed


@pytest.mark.parametrize(
    ("subject", "listed"),
    [("${arch}", []), ("arch", []), ("${GENERATION}", [5, 7])],  # asked of each entry; an option
)
def test_what_a_name_stands_for_is_no_list(subject: str, listed: list[int]) -> None:
    text = (
        "function(flags out)\n  foreach(arch ${ARGN})\n    set(arch_bin)\n"
        f'    if({subject} STREQUAL "Turing")\n      set(arch_bin 7.5 8.0)\n'
        f'    elseif({subject} STREQUAL "Ada")\n      set(arch_bin 8.9)\n    endif()\n'
        "    list(APPEND made ${arch_bin})\n  endforeach()\n  set(${out} ${made} PARENT_SCOPE)\nendfunction()\n"
    )
    assert sorted(gates(text)) == listed


@pytest.mark.parametrize(
    ("body", "after", "listed"),
    [
        ('if(ARGN STREQUAL "Common")\n    set(${out} ${KNOWN_ARCHS} PARENT_SCOPE)\n  endif()', "", []),
        ("set(${out} ${KNOWN_ARCHS} PARENT_SCOPE)", "", [1]),  # whoever calls it gets the list
        ('if(ARGN STREQUAL "Common")\n    set(${out} ${KNOWN_ARCHS} PARENT_SCOPE)\n  endif()', "pick(F Common)\n", [1]),
        ('if(ARGN STREQUAL "Common")\n    set(${out} ${KNOWN_ARCHS})\n  endif()', "set(A ${KNOWN_ARCHS})\n", [1]),
    ],
)
def test_what_a_module_knows_is_a_list_where_it_is_asked_for(body: str, after: str, listed: list[int]) -> None:
    text = f"set(KNOWN_ARCHS 75 80)\nlist(APPEND KNOWN_ARCHS 86)\nfunction(pick out)\n  {body}\nendfunction()\n{after}"
    assert sorted(gates(text)) == listed


LISTED = """set(A 75 80 90)
list(TRANSFORM A APPEND "-real")
list(TRANSFORM A REPLACE "([0-9]+)-real" "\\0;\\1-virtual" AT {at})
"""


@pytest.mark.parametrize(
    ("at", "held"),
    [
        ("-1", "75-real;80-real;90-real;90-virtual"),
        ("0", "75-real;75-virtual;80-real;90-real"),
        ("-4", None),  # cmake stops: there is no such entry
    ],
)
def test_transforming_the_newest_entry(at: str, held: str | None) -> None:
    assert evaluated(LISTED.replace("{at}", at))["A"].text == held


def evaluated(text: str) -> dict[str, Value]:
    """What the variables hold at the end for those who ask for nothing."""
    return evaluate("x", parse(text.encode()), Request(None), Project(), CATALOG).held


@pytest.mark.parametrize(
    ("set_up", "condition", "held"),
    [
        ("", "FOO_VERSION VERSION_LESS 12", None),  # somebody else may set it
        ("set(FOO_VERSION 11)", "FOO_VERSION VERSION_LESS 12", "yes"),
        ("set(FOO_VERSION 13)", "FOO_VERSION VERSION_LESS 12", "no"),
        ("set(FOO)", "FOO STRGREATER 100", "yes"),  # the name itself, taken as a text
        ('set(FOO "")', "FOO STRGREATER 100", "no"),
        ("set(FOO)\nset(BAR ${FOO})", "BAR STRGREATER 100", "yes"),
        ('set(FOO)\nset(BAR "${FOO}")', "BAR STRGREATER 100", "no"),
    ],
)
def test_left_side_that_is_a_variable(set_up: str, condition: str, held: str | None) -> None:
    text = f"{set_up}\nif({condition})\n  set(R yes)\nelse()\n  set(R no)\nendif()\n"
    assert evaluated(text)["R"].text == held


def questions(text: str, **others: str) -> list[tuple[int, str]]:
    """The lines of a file of which something is open, with the reason."""
    return [(one.line, one.reason) for one in facts(text, **others).undecided]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -arch=sm_${NUM}")\n', [(1, "made of NUM, which is not known")]),
        ('set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -arch=sm_90")\n', []),  # a list of its own
        ("set(CMAKE_CUDA_ARCHITECTURES ${MY_CUDA_ARCHS})\n", []),  # for the user to say
        ("set(CMAKE_CUDA_ARCHITECTURES ${FOUND})\n", [(1, "made of FOUND, which is not known")]),
        ("set(CMAKE_CUDA_ARCHITECTURES native)\n", []),  # the GPU of the machine that builds
        ("if(WIN32)\n  add_compile_options(-arch=sm_${N})\nendif()\n", []),  # another platform
        ("function(flags t)\n  target_compile_options(${t} PRIVATE -arch=sm_${N})\nendfunction()\n",
         [(2, "in flags(), which nothing that was read calls")]),
        ("function(flags t)\n  target_compile_options(${t} PRIVATE -arch=sm_90)\nendfunction()\nflags(a)\n", []),
        ("set_property(TARGET a PROPERTY CUDA_ARCHITECTURES ${FOUND})\n", [(1, "made of FOUND, which is not known")]),
        ("set(MEMORYCHECK_COMMAND_OPTIONS --error-exitcode=${N})\n", []),
    ],
)  # fmt: skip
def test_what_nobody_can_tell_is_said(text: str, wanted: list[tuple[int, str]]) -> None:
    assert questions(text) == wanted


def test_function_that_another_file_calls_is_told_there() -> None:
    text = "function(flags t)\n  set(CMAKE_CUDA_ARCHITECTURES ${ARGN} PARENT_SCOPE)\nendfunction()\n"
    assert questions(text, other="# arch\nflags(a 90)\n") == []
    assert [line for line, _ in questions(text, other="# arch\n")] == [2]


@pytest.mark.parametrize(
    ("leave", "held"),
    [("break()", None), ("continue()", None), ('message("90")', "80;90"), ("if(A)\nbreak()\nendif()", None)],
)
def test_what_may_leave_a_loop_leaves_its_list_open(leave: str, held: str | None) -> None:
    text = f"foreach(a 80 90)\n  if(a EQUAL FOUND)\n    {leave}\n  endif()\n  list(APPEND OUT ${{a}})\nendforeach()\n"
    assert evaluated('set(OUT "")\n' + text)["OUT"].text == held


def test_header_that_cmake_fills_in_is_no_cmake_file() -> None:
    assert not is_cmake("config.h.cmake.in") and not is_cmake("a/b/foo.pc.cmake.in")
    assert is_cmake("FooConfig.cmake.in") and is_cmake("foo-1.2.cmake.in")
    assert facts("@PACKAGE_INIT@\nset(CMAKE_CUDA_ARCHITECTURES 90)\n").problems == ()
    assert facts("@PACKAGE INIT@\nset(CMAKE_CUDA_ARCHITECTURES 90)\n").problems == ("no command at line 1",)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ('set(K 80)\nif(ASKED MATCHES x)\n  set(K 90)\nendif()\nstring(APPEND K " -arch=sm_90")\n', None),
        ('set(K 80)\nstring(APPEND K " -arch=sm_90")\n', "80 -arch=sm_90"),
        ("set(L 1)\nif(ASKED MATCHES x)\n  set(L 2)\nendif()\nset(K 80)\n"
         "foreach(a IN LISTS L)\n  set(K 90)\nendforeach()\n", None),
        ("set(L 1)\nset(K 80)\nforeach(a IN LISTS L)\n  set(K 90)\nendforeach()\n", "90"),
        ('set(L "")\nset(K 80)\nforeach(a IN LISTS L)\n  set(K 90)\nendforeach()\n', "80"),
    ],
)  # fmt: skip
def test_what_is_not_known_stays_so(text: str, held: str | None) -> None:
    """Taken for empty until a random program told otherwise: what is appended to, and what a loop goes through."""
    trace = evaluate("x", parse(text.encode()), Request(None), Project(), CATALOG)
    assert trace.held["K"].text == held


def test_flags_in_a_function_that_another_file_calls() -> None:
    """Each file tells of its flags: the one with the function where nothing else in it is told."""
    function = (
        'function(flags out)\n  set(${out} "-gencode arch=compute_${N},code=sm_${N}" PARENT_SCOPE)\nendfunction()\n'
    )
    front_end, context = BuildFrontEnd(), Context(CATALOG, ScanSettings())
    sources = [Source("CMakeLists.txt", b"include(f.cmake)\nflags(X)\n"), Source("f.cmake", function.encode())]
    indexes = {s.path: front_end.index(s, context) for s in sources}
    project = front_end.link(indexes, context)
    (one,) = front_end.gates(indexes["f.cmake"], project, context).undecided
    assert (one.line, "flags(), which other files call" in one.reason) == (2, True)
    alone = front_end.link({"f.cmake": indexes["f.cmake"]}, context)
    (one,) = front_end.gates(indexes["f.cmake"], alone, context).undecided
    assert "nothing that was read calls" in one.reason


@pytest.mark.parametrize(
    ("low", "target", "answer"),
    [("100", "sm_120", "no"), ("100", "sm_90", "yes"), ("100", "sm_100", "unknown"), ("121", "sm_120", "unknown")],
)
def test_a_bound_that_is_one_of_two(low: str, target: str, answer: str) -> None:
    """What holds for both is known, though nobody knows which it is."""
    text = f"option(X x OFF)\nif(X)\n  set(LIMIT {low})\nelse()\n  set(LIMIT 120)\nendif()\n"
    text += "if(CUDA_ARCH GREATER_EQUAL 90 AND CUDA_ARCH LESS LIMIT)\n  target_sources(k PRIVATE f.cu)\nendif()\n"
    assert says(gates(text)[7], target) == answer


@pytest.mark.parametrize(
    ("cuda", "held", "stops"),
    [("13.0", None, True), ("12.8", "90", False)],
)
def test_a_refusal_of_the_toolkit_ends_the_configure(cuda: str, held: str | None, stops: bool) -> None:
    text = (
        "if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)\n"
        '  message(FATAL_ERROR "not with CUDA ${CMAKE_CUDA_COMPILER_VERSION}")\nendif()\n'
        "set(CMAKE_CUDA_ARCHITECTURES 90)\n"
    )
    trace = evaluate("x", parse(text.encode()), Request(None, cuda=cuda), Project(), load())
    assert (trace.stopped.text if trace.stopped else None) == ("not with CUDA 13.0" if stops else None)
    value = trace.held.get("CMAKE_CUDA_ARCHITECTURES")
    assert (value.text if value else None) == held
    told = [(one.line, one.reason) for one in facts(text, cuda).undecided]
    assert told == ([(2, "the configure ends here: not with CUDA 13.0")] if stops else [])


@pytest.mark.parametrize(
    ("text", "stops", "held"),
    [
        ("if(FLAG)\n message(FATAL_ERROR a)\nelse()\n set(A 90)\nendif()\n", False, "90"),
        ("if(FLAG)\n message(FATAL_ERROR a)\nelse()\n message(FATAL_ERROR b)\nendif()\nset(A 90)\n", True, None),
        ("if(FLAG)\n message(SEND_ERROR a)\nendif()\nset(A 90)\n", False, "90"),
        ("function(f)\n message(FATAL_ERROR a)\nendfunction()\nset(A 80)\nf()\nset(A 90)\n", True, "80"),
        ("set(A 80)\nforeach(x 1 2)\n if(x EQUAL 2)\n  message(FATAL_ERROR a)\n endif()\nendforeach()\n", True, "80"),
        ("set(A 90)\nforeach(x ${L})\nif(F)\nbreak()\nendif()\nmessage(FATAL_ERROR a)\nendforeach()\n", False, "90"),
        ("set(A 90)\nif(FLAG)\n return()\nendif()\nforeach(x 1)\n message(FATAL_ERROR a)\nendforeach()\n", False, "90"),
        ("set(A 90)\nwhile(FLAG)\n message(FATAL_ERROR a)\nendwhile()\n", False, "90"),
    ],
)  # fmt: skip
def test_where_the_configure_ends(text: str, stops: bool, held: str | None) -> None:
    trace = evaluate("x", parse(text.encode()), Request(None), Project(), load())
    value = trace.held.get("A")
    assert (trace.stopped is not None, value.text if value else None) == (stops, held)


def test_a_target_that_is_refused_reaches_nothing_behind_it() -> None:
    found = gates(
        "if(CMAKE_CUDA_ARCHITECTURES LESS 80)\n  message(FATAL_ERROR old)\nendif()\n"
        "if(CMAKE_CUDA_ARCHITECTURES LESS 90)\n  set(SLOW 1)\nendif()\n"
    )
    assert (says(found[1], "sm_75"), says(found[1], "sm_86"), found[1].arms[0].effect.does) == (
        "yes",
        "no",
        Does.ERRORS,
    )
    assert (says(found[4], "sm_75"), says(found[4], "sm_86"), says(found[4], "sm_90")) == ("no", "yes", "no")


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        ("-gencode=arch=compute_70,code=sm_70 -gencode=arch=compute_75,code=sm_75", "compute_70"),
        ("-gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_80,code=sm_80", None),
        ("-gencode arch=compute_75,code=sm_75 -gencode arch=compute_61,code=compute_61", "compute_61"),
        ("-O3 -gencode=arch=compute_75,code=[sm_75,compute_75]", None),
    ],
)
@pytest.mark.parametrize("name", ["CUDA_NVCC_FLAGS", "CMAKE_CUDA_FLAGS"])
def test_flags_with_an_entry_that_the_toolkit_refuses(name: str, flags: str, refused: str | None) -> None:
    text = f"set({name} ${{{name}}} -g)\nset({name} ${{{name}}} {flags})\n"
    gate = gates(text).get(2)
    message = gate.rest.message if gate is not None else None
    assert message == (f"Unsupported gpu architecture '{refused}'" if refused else None)
    if gate is not None and refused is not None:
        assert (gate.note("refused"), gate.arms[0].truth.yes) == ("13.0", 0)
    assert not any(older.note("refused") for older in gates(text, "12.9").values())


@pytest.mark.parametrize("name", ["SM", "MY_CCS", "WANTED"])
def test_a_ladder_of_entries_that_are_given_in_a_list(name: str) -> None:
    found = gates(
        f"foreach(arch_name ${{{name}}})\n"
        "  if(arch_name STREQUAL 90 OR arch_name STREQUAL 75)\n    list(APPEND built ${arch_name}-real)\n"
        '  else()\n    message(FATAL_ERROR "${arch_name} is an unsupported architecture")\n  endif()\nendforeach()\n'
        "set(CMAKE_CUDA_ARCHITECTURES ${built})\n"
    )
    if name == "WANTED":  # of anything
        assert 2 not in found
        return
    accepted, refused = found[2].arms
    assert {75, 90} == set(UNIVERSE.sms(accepted.truth.yes))
    assert {80, 89, 100, 120} <= set(UNIVERSE.sms(refused.truth.yes))
    assert refused.effect.does is Does.ERRORS
