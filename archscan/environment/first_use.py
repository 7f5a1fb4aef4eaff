"""Packages that compile kernels when they are used: whether the compiler that they take knows the GPU."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from archscan.catalog.architectures import takes
from archscan.catalog.types import version_of
from archscan.environment.facts import FirstUse, form_for, release_of
from archscan.environment.machine import nvcc
from archscan.environment.model import Question, Row, State
from archscan.environment.shelves import Stock
from archscan.environment.variables import NONE, set_variables
from archscan.model.target import Target

_NVRTC = re.compile(r"nvidia-cuda-nvrtc(?:-cu\d+)?")


@dataclass(frozen=True, slots=True)
class Nvrtc:
    """NVRTC as it is installed: a distribution of its own, or part of a toolkit."""

    release: str
    named: str


def installed_nvrtc(stock: Stock) -> tuple[Nvrtc, ...]:
    """The distributions of NVRTC in an environment."""
    found = [shelf.installed for shelf in stock.shelves if _NVRTC.fullmatch(shelf.installed.key)]
    return tuple(Nvrtc(one.version, f"{one.name} {one.version}") for one in found)


def with_first_use(row: Row, use: FirstUse, asked: Question, nvrtc: Sequence[Nvrtc] = ()) -> Row:
    """The row of a package that compiles what it runs: the compiler that it takes may know the GPU or not.

    A variable that names what it compiles for, and not this GPU, comes before any compiler.
    """
    if left_out := _left_out(use, asked):
        says = f"{use.builds}: {use.variable}={left_out} leaves {asked.selection.name} out"
        sm = asked.selection.sm
        return _joined(row, State.FAILS, says, f"unset {use.variable}, or add {sm // 10}.{sm % 10} to it")
    if use.makes:
        return _by_nvrtc(row, use, asked, nvrtc)
    compiler = use.compiler_for(asked.selection.sm)
    if compiler is None:
        return _by_machine(row, use, asked)
    named = asked.environ.get(compiler.variable, "")
    named = named if os.path.isfile(named) else ""  # the package falls back to its own
    release = release_of(named or os.path.join(row.installed.folder, compiler.path))
    target = form_for(compiler, asked.selection)
    by = f"{compiler.variable}={named}" if named else os.path.basename(compiler.path)
    if not release:
        return _joined(row, State.UNKNOWN, f"{use.builds}: the release of {by} cannot be told", "")
    if asked.catalog.toolkits.at(release).takes(target):
        return _joined(row, State.WORKS, f"{use.builds}: {by} of CUDA {release} compiles for {target.name}", "nothing")
    first = asked.catalog.toolkits.first_for(target)
    do = f"set {compiler.variable} to a ptxas of CUDA {first} or newer" if first else "no toolkit is known that does"
    return _joined(row, State.FAILS, f"{use.builds}: {by} of CUDA {release} does not know {target.name}", do)


def _left_out(use: FirstUse, asked: Question) -> str:
    """The value of the variable that says what a package compiles for, where it leaves the GPU out."""
    known = [one for one in asked.facts.variables if one.name == use.variable]
    found = set_variables(known, asked.environ, asked.selection, asked.catalog)
    return next((one.value for one in found if one.gets == NONE), "")


def _by_nvrtc(row: Row, use: FirstUse, asked: Question, installed: Sequence[Nvrtc]) -> Row:
    """The row of a package that compiles with NVRTC: for the GPU, or for the highest SM that NVRTC knows below it."""
    name, sm, toolkits = asked.selection.name, asked.selection.sm, asked.catalog.toolkits
    path = nvcc(asked.environ)
    of_machine = [Nvrtc(release, path)] if path and (release := release_of(path)) else []
    usable = [one for one in (*installed, *of_machine) if use.toolkit in (0, version_of(one.release)[0])]
    least = toolkits.first_for(Target(sm))
    if not usable:
        which = f"NVRTC of CUDA {use.toolkit}" if use.toolkit else "NVRTC"
        says = f"{use.builds}, by {which}, and none was found here"
        return _joined(row, State.UNKNOWN, says, "see that its CUDA libraries are installed")
    found = usable[0]  # the search begins in the environment
    known = toolkits.at(found.release)
    taken = max((one for one in known.plain if one <= sm), default=0)
    by = f"NVRTC of CUDA {'.'.join(map(str, version_of(found.release)[:2]))} ({found.named})"
    if taken == sm:
        return _joined(row, State.WORKS, f"{use.builds}: {by} compiles for {name}", "nothing")
    do = f"install NVRTC {least} or newer" + (f", below {use.toolkit + 1}" if use.toolkit else "") if least else ""
    instead = f"{use.builds}: {by} does not know {name}"
    if taken and use.makes == "ptx":
        says = f"{instead}: PTX for sm_{taken}, which the driver compiles"
        return _joined(row, State.SLOW, says, do)
    is_highest = taken == known.plain[-1]  # of a gap below the highest the package does not know
    if is_highest and takes(Target(taken), sm, asked.catalog):
        return _joined(row, State.WORKS, f"{use.builds}: {by} compiles for sm_{taken}, which {name} loads", "nothing")
    why = f"makes code for sm_{taken}, which {name} does not load" if is_highest else "and refuses it"
    return _joined(row, State.FAILS, f"{instead}, {why}", do)


def _by_machine(row: Row, use: FirstUse, asked: Question) -> Row:
    """The row of a package that calls a compiler of the machine."""
    toolkits, variants = asked.catalog.toolkits, asked.selection.variants
    first = min((r for v in variants if (r := toolkits.first_for(v))), key=version_of, default="")
    least = f" of CUDA {first} or newer" if first else ""
    gates = f"see whether its gates let {asked.selection.name} in: {asked.opening(row.installed.name)}"
    if use.needs != "nvcc":
        return _joined(row, State.UNKNOWN, f"{use.builds}, by {use.needs}{least}", gates)
    path = nvcc(asked.environ)
    release = release_of(path) if path else ""
    if not path:
        says = f"{use.builds}, by nvcc{least}, and none was found here"
        return _joined(row, State.UNKNOWN, says, "install it, and set CUDA_HOME")
    if not release:
        return _joined(row, State.UNKNOWN, f"{use.builds}, by nvcc{least}; that of {path} cannot be told", gates)
    if any(toolkits.at(release).takes(variant) for variant in variants):
        return _joined(row, State.UNKNOWN, f"{use.builds}, by nvcc of CUDA {release} ({path})", gates)
    says = f"{use.builds}: nvcc of CUDA {release} ({path}) does not know {asked.selection.name}"
    return _joined(row, State.FAILS, says, f"install nvcc{least} and set CUDA_HOME" if first else "")


def _joined(row: Row, state: State, says: str, do: str) -> Row:
    """A row with what is said of first use. Loose files beside code that is compiled later decide nothing."""
    if all(part.loose for part in row.parts):
        return replace(row, state=state, says=says, do=do)
    order = list(State)
    worse = order.index(state) < order.index(row.state) and state in (State.FAILS, State.SLOW)
    return replace(row, state=state if worse else row.state, says=f"{says}; {row.says}", do=do if worse else row.do)
