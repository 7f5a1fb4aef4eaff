"""Kernels in the scanned sources beside those in libraries: where one is defined, and which gates stand in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from archscan.model.facts import Facts, FileFacts, SiteKind
from archscan.model.finding import Finding
from archscan.model.library import Library

Shows = Callable[[Library | FileFacts], bool]
Spot = tuple[str, int]  # path and line


@dataclass(frozen=True)
class Sources:
    """What the sources of a scan have of kernels, by the name that a kernel has there."""

    defined: Mapping[str, tuple[Spot, ...]] = field(default_factory=dict)
    gates: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)  # findings within a kernel


def defined(facts: Facts, shows: Shows) -> dict[str, tuple[Spot, ...]]:
    """Where the `__global__` functions of the files that are reported on are defined, by name."""
    found: dict[str, tuple[Spot, ...]] = {}
    for file in facts.files:
        if shows(file):
            for site in file.sites:
                if site.kind is SiteKind.KERNEL:
                    found[site.name] = (*found.get(site.name, ()), (file.path, site.place.line))
    return found


def sources(facts: Facts, shows: Shows, findings: Iterable[Finding]) -> Sources:
    """The kernels of the sources, with the findings within them."""
    kernels = defined(facts, shows)
    files = {(name, path) for name, spots in kernels.items() for path, _ in spots}
    gates: dict[str, tuple[Finding, ...]] = {}
    for finding in findings:
        if finding.function is not None and (finding.function, finding.path) in files:
            gates[finding.function] = (*gates.get(finding.function, ()), finding)
    return Sources(kernels, gates)
