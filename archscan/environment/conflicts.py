"""What cannot go together: a version that others were built against, a CUDA that the driver is too old for."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from archscan.catalog.types import Catalog, version_of
from archscan.environment.choices import cuda_of_torch
from archscan.environment.installed import Installed
from archscan.environment.machine import Machine
from archscan.environment.shelves import Stock

_CLAUSE = re.compile(r"(===|==|!=|<=|>=|~=|<|>)\s*([\w.+!-]+?)(\.\*)?")
_RUNTIME = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?")


def conflicts(
    stock: Stock, with_code: frozenset[str], machine: Machine, catalog: Catalog
) -> dict[str, tuple[str, ...]]:
    """What stands against each distribution, by its normalised name. Both sides are named."""
    installed = {shelf.installed.key: shelf.installed for shelf in reversed(stock.shelves)}
    found: dict[str, tuple[str, ...]] = {}
    for key, one in installed.items():
        said = (*(_pins(one, installed) if key in with_code else ()), *_cuda(one, stock, machine, catalog))
        if said:
            found[key] = said
    return found


def _pins(one: Installed, installed: dict[str, Installed]) -> Iterator[str]:
    """Exact versions that it was built against, of distributions that are there in another."""
    for name, version in one.pins:
        other = installed.get(name)
        if other is not None and _public(other.version) != _public(version):
            yield f"needs {other.name}=={version}, and {other.version} is installed"


def against(name: str, version: str, installed: Iterable[Installed]) -> tuple[str, ...]:
    """Who of what is installed does not go together with a version of a distribution: `one 1.0 needs torch==2.5.1`."""
    return tuple(
        f"{one.name} {one.version} needs {needed}{spec}"
        for one in installed
        for needed, spec in one.specs
        if needed == name and not allows(spec, version)
    )


def allows(spec: str, version: str) -> bool:
    """Whether a version is one of those that a requirement names: "<3,>=2.1". What is not understood allows it."""
    _, numbers = _public(version)
    for clause in spec.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None:
            continue
        _, bound = _public(match[2])
        shared = version_of(match[2])
        is_same = numbers[: len(shared)] == shared if match[3] else numbers == bound
        refused = {
            "==": not is_same,
            "===": not is_same,
            "!=": is_same,
            "<": numbers >= bound,
            "<=": numbers > bound,
            ">": numbers <= bound,
            ">=": numbers < bound,
            "~=": numbers < bound or numbers[: len(shared) - 1] != shared[:-1],
        }
        if refused[match[1]]:
            return False
    return True


def _public(version: str) -> tuple[str, tuple[int, ...]]:
    """A version without its local part: trailing zeros count for nothing."""
    text = version.partition("+")[0].strip().lower()
    numbers = version_of(text)
    rest = text[len(re.match(r"[\d.]*", text)[0]) :]  # type: ignore[index]  # it matches nothing too
    while numbers and not numbers[-1]:
        numbers = numbers[:-1]
    return rest, numbers


def _cuda(one: Installed, stock: Stock, machine: Machine, catalog: Catalog) -> Iterator[str]:
    """A CUDA of a newer major than the driver's: minor versions of one major go together."""
    if not machine.driver or sys.platform == "win32":
        return
    major = None
    if one.key == "torch":
        found = cuda_of_torch(stock)
        major = found[0] if found else None
    elif _RUNTIME.fullmatch(one.key):
        major = version_of(one.version)[:1][0] if version_of(one.version) else None
    if major is None:
        return
    supported = version_of(machine.cuda)[:1][0] if machine.cuda else None
    least = next((row.driver for row in catalog.toolkits.rows if row.release == f"{major}.0"), None)
    branch = machine.branch
    if supported is not None:
        too_old = supported < major
    else:
        too_old = least is not None and branch is not None and branch < least
    if too_old:
        needed = f"driver {least} or newer" if least else "a newer driver"
        has = f", which supports CUDA {machine.cuda}" if machine.cuda else ""
        yield (
            f"is for CUDA {major}, which needs {needed}; here is {machine.driver}{has}. "
            "Only NVIDIA's forward compatibility package would bridge that"
        )
