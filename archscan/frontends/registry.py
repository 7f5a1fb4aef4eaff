"""The front ends, in the order in which they are asked. A table to read, not a plug-in search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple, cast

from archscan.frontends.protocol import FrontEnd
from archscan.sources.kinds import BUILD_FILE


class _Entry(NamedTuple):
    """A front end before it is imported."""

    layers: frozenset[str]  # empty = serves all
    reads: re.Pattern[str]  # paths of which it may want some: what it says of each is `wants`
    module: str
    maker: str


_ANY = re.compile("")
_TABLE = (
    _Entry(frozenset({"preprocessor", "device", "host"}), _ANY, "archscan.frontends.cuda", "CudaFrontEnd"),
    _Entry(
        frozenset({"python", "jit", "build"}), re.compile(r"\.pyi?$"), "archscan.frontends.python", "PythonFrontEnd"
    ),
    _Entry(
        frozenset({"build"}),
        re.compile(r"(?:^|/)CMakeLists\.txt$|\.cmake(?:\.in)?$"),
        "archscan.frontends.build",
        "BuildFrontEnd",
    ),
    _Entry(frozenset({"build"}), BUILD_FILE, "archscan.frontends.build.scripts", "ScriptsFrontEnd"),
    _Entry(frozenset(), _ANY, "archscan.frontends.links", "LinksFrontEnd"),
)


def front_ends(layers: frozenset[str] = frozenset(), paths: Iterable[str] | None = None) -> tuple[FrontEnd, ...]:
    """The front ends that serve `layers` (empty = all) and may read some of `paths`. Imports only these."""
    wanted = [entry for entry in _TABLE if not layers or not entry.layers or layers & entry.layers]
    if paths is not None:
        paths = list(paths)
        wanted = [entry for entry in wanted if any(_may_read(entry.module, path) for path in paths)]
    return tuple(cast(FrontEnd, getattr(import_module(entry.module), entry.maker)()) for entry in wanted)


@lru_cache(maxsize=1 << 16)
def _may_read(module: str, path: str) -> bool:
    """Whether a front end may want a file of that path: every step asks it of all files."""
    return any(entry.reads.search(path) for entry in _TABLE if entry.module == module)
