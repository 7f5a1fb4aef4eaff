"""Runs the host side of the CUDA front end on source text, every #if region live."""

from __future__ import annotations

from functools import cache

from archscan.catalog import load
from archscan.catalog.types import Catalog
from archscan.frontends.cuda.host import HostFacts, HostProject, host_gates, host_index, host_link
from archscan.frontends.cuda.presence import PresenceMap
from archscan.frontends.protocol import Context
from archscan.model.facts import Source
from archscan.model.gate import Arm, Gate
from archscan.model.settings import ScanSettings


@cache
def catalog() -> Catalog:
    return load()


def linked(**files: str) -> tuple[dict[str, HostFacts], HostProject]:
    """The facts of each file of a project, by the names given."""
    context = Context(catalog(), ScanSettings())
    indexes = {}
    for name, text in files.items():
        index = host_index(Source(name, text.encode()), context)
        if index is not None:
            indexes[name] = index
    project = host_link(indexes, context)
    liveness = PresenceMap(catalog().universe.all)
    return {path: host_gates(index, project, liveness, context) for path, index in indexes.items()}, project


def facts(text: str) -> HostFacts:
    """The facts of one file."""
    return linked(source=text)[0].get("source", HostFacts())


def gates(text: str) -> tuple[Gate, ...]:
    return facts(text).gates


def gate(text: str, line: int | None = None) -> Gate:
    """The one gate of a text, or the one on a line."""
    found = [g for g in gates(text) if line is None or g.place.line == line]
    assert len(found) == 1, [(g.place.line, g.kind) for g in gates(text)]
    return found[0]


def admits(arm: Arm) -> set[int]:
    """The SMs from 80 up whose GPU takes the arm, conditions that do not depend on it taken as met."""
    members = catalog().universe.members(arm.assumed.yes)
    return {t.sm for t in members if not t.suffix and t.sm >= 80}
