"""The evaluation of CMake files against cmake itself, where it is there."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from made_cmake import FLAGS, NAMES, program

from archscan.catalog import load
from archscan.frontends.build.interpreter import Project, evaluate
from archscan.frontends.build.request import Request
from archscan.frontends.build.syntax import parse
from archscan.frontends.build.values import EMPTY
from archscan.model.target import Target

CMAKE = shutil.which("cmake")
PROGRAMS = int(os.environ.get("ARCHSCAN_CMAKE_PROGRAMS", "300"))
BATCH = 50

SCRIPTS = {
    "texts": r"""
string(REGEX REPLACE "([0-9]+)([0-9][af]?)" "\\1.\\2" dotted "120a")
string(REGEX MATCH "compute_([0-9]+)a?" whole "-gencode arch=compute_90a,code=sm_90a")
set(group "${CMAKE_MATCH_1}")
string(REGEX MATCHALL "sm_[0-9]+" all "sm_80,sm_90;sm_100")
string(REPLACE "." "" plain "12.0")
string(REPLACE ";" "," commas "8.0;9.0")
string(TOUPPER "sm_90a" upper)
string(FIND "9.0+PTX" "+PTX" at)
string(FIND "9.0" "+PTX" missing)
string(SUBSTRING "sm_120a" 3 -1 tail)
string(LENGTH "12.0a" length)
string(APPEND plain "x" "y")
string(CONCAT both "a" "b;c")
string(JOIN "," joined 8.0 9.0)
string(STRIP "  90 " stripped)
string(COMPARE LESS "120" "70" less)
set(escaped "a\"b\\c\;d")
set(nested_90 yes)
set(key 90)
set(found "${nested_${key}}")
math(EXPR sum "9 * 10 + 120 / 7 % 5")
""",
    "lists": r"""
set(archs 8.0 9.0 "10.0;12.0" 9.0)
list(LENGTH archs length)
list(GET archs -1 last)
list(GET archs 0 2 some)
list(FIND archs 10.0 at)
list(JOIN archs "," joined)
list(SUBLIST archs 1 2 part)
set(unique ${archs})
list(REMOVE_DUPLICATES unique)
set(fewer ${archs})
list(REMOVE_ITEM fewer 9.0)
set(sorted 10.0 9.0 12.0 8.0)
list(SORT sorted)
set(natural 10.0 9.0 12.0 8.0)
list(SORT natural COMPARE NATURAL ORDER DESCENDING)
set(filtered 9.0a 10.0 12.0f)
list(FILTER filtered INCLUDE REGEX "[af]$")
set(changed 80 90)
list(TRANSFORM changed PREPEND "sm_")
list(TRANSFORM changed REPLACE "sm_([0-9])" "compute_\\1")
set(virtual 75 80 90)
list(TRANSFORM virtual APPEND "-real")
list(TRANSFORM virtual REPLACE "([0-9]+)-real" "\\0;\\1-virtual" AT -1)
set(some_up a b c d)
list(TRANSFORM some_up TOUPPER FOR 0 -2 2)
list(TRANSFORM some_up APPEND "x" REGEX "^[AB]")
list(TRANSFORM some_up PREPEND "y" AT 0 3 OUTPUT_VARIABLE beside)
set(inserted a c)
list(INSERT inserted 1 b)
list(APPEND fresh x "y;z")
set(popped a b c)
list(POP_BACK popped newest)
list(POP_FRONT popped first other third)
set(reversed 1 2 3)
list(REVERSE reversed)
list(REMOVE_AT reversed 0)
set(empty)
list(LENGTH empty none)
""",
    "conditions": r"""
set(results "")
set(A 120)
set(B "12.0")
set(L 80 90 120)
macro(ask name)
  if(${ARGN})
    list(APPEND results "${name}=1")
  else()
    list(APPEND results "${name}=0")
  endif()
endmacro()
ask(less A LESS 70)
ask(strless A STRLESS 70)
ask(equal A EQUAL 120.0)
ask(text A STREQUAL "120")
ask(version B VERSION_LESS "9.0")
ask(version_equal B VERSION_EQUAL 12)
ask(version_suffix 12.0a VERSION_GREATER_EQUAL 12.0)
ask(in A IN_LIST L)
ask(not_in NOT A IN_LIST L)
ask(matches A MATCHES "^1[0-2]0$")
ask(both A GREATER 100 AND B VERSION_GREATER 11)
ask(either A LESS 100 OR B VERSION_GREATER 11)
ask(precedence A LESS 100 AND A LESS 90 OR A EQUAL 120)
ask(no_precedence A EQUAL 120 OR A EQUAL 120 AND A LESS 100)
ask(parenthesis A LESS 130 AND ( A LESS 90 OR A EQUAL 120 ))
ask(words abc LESS 5)
ask(off OFF)
ask(zero 0)
ask(on ON)
ask(number 17)
ask(empty "")
ask(variable A)
ask(defined DEFINED A)
ask(notfound "x-NOTFOUND")
""",
    "flow": r"""
function(pick out)
  set(r "")
  foreach(a IN LISTS ARGN)
    if(a MATCHES "^9")
      continue()
    elseif(a EQUAL 120)
      break()
    endif()
    list(APPEND r "<${a}>")
  endforeach()
  set(${out} "${r}" PARENT_SCOPE)
endfunction()
pick(picked 80 90 100 120 130)
macro(set_both one two)
  set(${one} "${two}")
  set(count ${ARGC})
  set(rest "${ARGN}")
endmacro()
set_both(target value extra more)
function(early out)
  set(${out} first PARENT_SCOPE)
  return()
  set(${out} second PARENT_SCOPE)
endfunction()
early(once)
set(numbers "")
foreach(i RANGE 3)
  list(APPEND numbers ${i})
endforeach()
foreach(i RANGE 10 20 5)
  list(APPEND numbers ${i})
endforeach()
foreach(i IN ITEMS a b LISTS numbers)
  string(APPEND trail "${i}.")
endforeach()
function(parsed)
  cmake_parse_arguments(arg "QUIET" "NAME" "ARCHS;SRCS" ${ARGN})
  set(named "${arg_NAME}" PARENT_SCOPE)
  set(archs "${arg_ARCHS}" PARENT_SCOPE)
  set(quiet "${arg_QUIET}" PARENT_SCOPE)
endfunction()
parsed(NAME k ARCHS 80 90 SRCS a.cu QUIET)
""",
}


@pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")
@pytest.mark.parametrize("name", SCRIPTS)
def test_variables_are_what_cmake_makes_of_them(name: str, tmp_path: Path) -> None:
    assert CMAKE is not None
    text = "cmake_minimum_required(VERSION 3.18)\n" + SCRIPTS[name]
    trace = evaluate("x", parse(text.encode()), Request(Target(120)), Project(), load())
    names = [n for n in trace.held if not n.startswith("CMAKE_MATCH")]
    script = tmp_path / "script.cmake"
    script.write_text(text + "".join(f'\nmessage(STATUS "@{n}@${{{n}}}@")' for n in names))
    run = subprocess.run([CMAKE, "-P", str(script)], capture_output=True, text=True, check=True)
    theirs = dict(line.split("@")[1:3] for line in run.stdout.splitlines() if line.startswith("-- @"))
    ours = {n: trace.held[n].text for n in names}
    assert ours == theirs


def theirs(
    cmake: str, seeds: range, folder: Path, world: dict[str, bool] | None = None, stops: bool = False
) -> dict[int, dict[str, str]]:
    """What cmake makes of the variables of some programs, each in a scope of its own; none of those it stops at.

    `world` says what the flags are that the programs ask for, if they are to ask for some; with `stops` they may
    end the configure themselves.
    """
    folder.mkdir(exist_ok=True)
    set_ = "".join(f"set({flag} {int(holds)})\n" for flag, holds in (world or {}).items())
    for seed in seeds:
        (folder / f"p{seed}.cmake").write_text(set_ + program(seed, world is not None, stops))
    found: dict[int, dict[str, str]] = {}
    left = list(seeds)
    while left:  # an index out of range ends the run: the programs behind it get another one
        begun = _ran(cmake, left, folder, found)
        left = left[begun:]
    return {seed: held for seed, held in found.items() if len(held) == len(NAMES)}


def _ran(cmake: str, seeds: list[int], folder: Path, found: dict[int, dict[str, str]]) -> int:
    """Runs programs until one stops cmake, into `found`; says how many were begun."""
    lines = ["cmake_minimum_required(VERSION 3.24)"]
    for seed in seeds:
        lines += [f"function(run_{seed})", f'message("@{seed}@begun@@")', f'include("{folder}/p{seed}.cmake")']
        lines += [f'message("@{seed}@{name}@${{{name}}}@")' for name in NAMES]
        lines += ["endfunction()", f"run_{seed}()"]
    script = folder / "all.cmake"
    script.write_text("\n".join(lines))
    try:
        run = subprocess.run([cmake, "-P", str(script)], capture_output=True, text=True, check=False, timeout=20)
        said = run.stdout + run.stderr
    except subprocess.TimeoutExpired as late:  # one that makes a list longer and longer
        said = (late.stderr or b"").decode("utf-8", "replace")
    begun = 0
    for match in re.finditer(r"^@(\d+)@(\w+)@(.*?)@$", said, re.MULTILINE | re.DOTALL):
        if match[2] == "begun":
            begun += 1
        else:
            found.setdefault(int(match[1]), {})[match[2]] = match[3]
    return max(begun, 1)


@pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")
def test_no_variable_of_a_random_program_is_contradicted(tmp_path: Path) -> None:
    assert CMAKE is not None
    catalog = load()
    wrong: list[str] = []
    known = compared = 0
    for first in range(0, PROGRAMS, BATCH):
        seeds = range(first, min(first + BATCH, PROGRAMS))
        real = theirs(CMAKE, seeds, tmp_path / str(first))
        for seed in seeds:
            if seed not in real:
                continue
            trace = evaluate("x", parse(program(seed).encode()), Request(None), Project(), catalog)
            for name in NAMES:
                ours = trace.held[name].text if name in trace.held else ""
                compared += 1
                known += ours is not None
                if ours is not None and ours != real[seed][name]:
                    wrong.append(f"program {seed}: {name} is {real[seed][name]!r}, not {ours!r}")
    assert not wrong, "\n".join(wrong[:10])
    assert known > 0.8 * compared > 0


@pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")
def test_no_variable_is_contradicted_in_any_world_of_what_nobody_sets(tmp_path: Path) -> None:
    assert CMAKE is not None
    catalog = load()
    wrong: list[str] = []
    in_cases = 0
    worlds = [dict(zip(FLAGS, ways, strict=True)) for ways in itertools.product([False, True], repeat=len(FLAGS))]
    for first in range(0, PROGRAMS // 4, BATCH):
        seeds = range(first, min(first + BATCH, PROGRAMS // 4))
        real = [theirs(CMAKE, seeds, tmp_path / f"{first}_{at}", world) for at, world in enumerate(worlds)]
        for seed in seeds:
            if not all(seed in one for one in real):
                continue
            trace = evaluate("x", parse(program(seed, True).encode()), Request(None), Project(), catalog)
            for name in NAMES:
                held = trace.held.get(name, EMPTY)
                texts = {text for text, _ in held.known}
                in_cases += len(texts) > 1
                for one in real:
                    if texts and one[seed][name] not in texts:
                        wrong.append(f"program {seed}: {name} is {one[seed][name]!r}, not of {texts}")
    assert not wrong, "\n".join(wrong[:10])
    assert in_cases


@pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")
@pytest.mark.parametrize("asks", [False, True])
def test_no_program_that_may_end_the_configure_is_contradicted(asks: bool, tmp_path: Path) -> None:
    assert CMAKE is not None
    catalog = load()
    wrong: list[str] = []
    ended = went_on = 0
    ways = list(itertools.product([False, True], repeat=len(FLAGS))) if asks else [()]
    worlds = [dict(zip(FLAGS, way, strict=True)) for way in ways if way] or [None]
    for first in range(0, PROGRAMS // 4, BATCH):
        seeds = range(first, min(first + BATCH, PROGRAMS // 4))
        real = [theirs(CMAKE, seeds, tmp_path / f"{first}_{at}", world, True) for at, world in enumerate(worlds)]
        for seed in seeds:
            trace = evaluate("x", parse(program(seed, asks, True).encode()), Request(None), Project(), catalog)
            through = [one[seed] for one in real if seed in one]
            if trace.stopped:
                ended += 1
                if through:
                    wrong.append(f"program {seed} does not stop at {trace.stopped}")
                continue
            went_on += bool(through)
            for name in NAMES:
                texts = {text for text, _ in trace.held.get(name, EMPTY).known}
                wrong += [
                    f"program {seed}: {name} is {held[name]!r}, not of {texts}"
                    for held in through
                    if texts and held[name] not in texts
                ]
    assert not wrong, "\n".join(wrong[:10])
    assert ended and went_on
