"""Scans texts with the CUDA front end, for tests."""

from __future__ import annotations

from functools import lru_cache

from archscan.catalog import load
from archscan.catalog.types import Catalog
from archscan.frontends.cuda.front_end import CudaFrontEnd
from archscan.frontends.protocol import Context
from archscan.model.facts import FileFacts, Source
from archscan.model.gate import Arm, Gate
from archscan.model.settings import ScanSettings


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """The built-in catalog."""
    return load()


def scan(files: dict[str, str | bytes], settings: ScanSettings | None = None) -> dict[str, FileFacts]:
    """The facts of files given as path -> text, preprocessor layer only unless the settings say otherwise."""
    context = Context(catalog(), settings or ScanSettings(layers=frozenset({"preprocessor"})))
    front_end = CudaFrontEnd()
    sources = [Source(p, t.encode() if isinstance(t, str) else t) for p, t in files.items()]
    indexes = {s.path: i for s in sources if front_end.wants(s.path) and (i := front_end.index(s, context)) is not None}
    project = front_end.link(indexes, context)
    return {path: front_end.gates(index, project, context) for path, index in indexes.items()}


def facts(text: str | bytes, path: str = "a.cu", settings: ScanSettings | None = None) -> FileFacts:
    """The facts of one text."""
    return scan({path: text}, settings)[path]


def gates(text: str | bytes, path: str = "a.cu") -> tuple[Gate, ...]:
    """The gates of one text."""
    return facts(text, path).gates


def words(arm: Arm, *names: str) -> str:
    """The arm's truth for some targets as letters: y, n or u."""
    universe = catalog().universe
    return "".join(arm.truth.word(universe.bit(universe.by_name[name]))[0] for name in names)
