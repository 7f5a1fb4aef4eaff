"""Scans bytes with every front end, in one process, for the robustness tests."""

from __future__ import annotations

from functools import lru_cache

from archscan.catalog import load
from archscan.catalog.types import Catalog
from archscan.frontends import registry
from archscan.frontends.protocol import Context
from archscan.model.facts import FileFacts, Source
from archscan.model.settings import ScanSettings


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """The built-in catalog."""
    return load()


def facts(data: bytes, path: str) -> list[FileFacts]:
    """What each front end that wants the file says of it; whatever it raises comes through."""
    context = Context(catalog(), ScanSettings())
    source = Source(path, data)
    found = []
    for end in registry.front_ends():
        if end.wants(path):
            index = end.index(source, context)
            indexes = {} if index is None else {path: index}
            project = end.link(indexes, context)
            if index is not None:
                found.append(end.gates(index, project, context))
    return found


def check(data: bytes, path: str) -> list[FileFacts]:
    """The facts, after what must hold of any of them: no contradiction, places inside of the file."""
    found = facts(data, path)
    lines = data.count(b"\n") + data.count(b"\r") + 1
    for one in found:
        for gate in one.gates:
            assert 1 <= gate.place.line <= lines
            assert gate.arms
            for arm in gate.arms:
                for truth in (arm.own, arm.truth, arm.assumed):
                    assert not truth.yes & truth.no
                assert 0 <= arm.place.start <= arm.place.end <= len(data)
                assert 1 <= arm.place.line <= lines
    return found
