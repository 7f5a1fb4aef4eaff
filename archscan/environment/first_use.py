"""Packages that compile kernels when they are used: whether the compiler that they take knows the GPU."""

from __future__ import annotations

import os
from dataclasses import replace

from archscan.catalog.types import version_of
from archscan.environment.facts import FirstUse, form_for, release_of
from archscan.environment.machine import nvcc
from archscan.environment.model import Question, Row, State


def with_first_use(row: Row, use: FirstUse, asked: Question) -> Row:
    """The row of a package that compiles what it runs: its own compiler may know the GPU or not."""
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


def _by_machine(row: Row, use: FirstUse, asked: Question) -> Row:
    """The row of a package that calls a compiler of the machine."""
    toolkits, variants = asked.catalog.toolkits, asked.selection.variants
    first = min((r for v in variants if (r := toolkits.first_for(v))), key=version_of, default="")
    least = f" of CUDA {first} or newer" if first else ""
    gates = f"see whether its gates let {asked.selection.name} in: archscan env {row.installed.name}"
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
    worse = order.index(state) < order.index(row.state) and state is State.FAILS
    return replace(row, state=state if worse else row.state, says=f"{says}; {row.says}", do=do if worse else row.do)
