"""What cannot go together: a version that others were built against, a CUDA that the driver is too old for."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from archscan.catalog.types import Catalog, version_of
from archscan.environment.choices import cuda_of_torch
from archscan.environment.installed import Installed
from archscan.environment.machine import Machine
from archscan.environment.shelves import Stock

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
