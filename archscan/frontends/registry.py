"""The front ends, in the order in which they are asked. A table to read, not a plug-in search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, cast

from archscan.frontends.protocol import Context, FrontEnd
from archscan.model.facts import FileFacts, Source
from archscan.sources import kinds


class _Entry(NamedTuple):
    """A front end before it is imported."""

    name: str
    joins: bool
    layers: frozenset[str]  # empty = serves all
    wants: Callable[[str], bool]  # whether it reads files of that name
    holds: Callable[[Source], bool]  # whether a file that it wants may hold anything for it, as far as a search tells
    module: str
    maker: str


def _any(_: Source) -> bool:
    return True


def _may_hold_cuda(source: Source) -> bool:
    """Whether Python may hold kernels in its texts, as its front end asks first; C++ is always looked at."""
    return not source.path.endswith(".py") or kinds.CUDA_IN_TEXT in source.data


_TABLE = (
    _Entry(
        "cuda",
        True,
        frozenset({"preprocessor", "device", "host"}),
        kinds.may_be_cuda,
        _may_hold_cuda,
        "archscan.frontends.cuda.front_end",
        "CudaFrontEnd",
    ),
    _Entry(
        "python",
        True,
        frozenset({"python", "jit", "build"}),
        kinds.is_python,
        _any,
        "archscan.frontends.python",
        "PythonFrontEnd",
    ),
    _Entry(
        "build",
        True,
        frozenset({"build"}),
        kinds.is_cmake,
        _any,
        "archscan.frontends.build.front_end",
        "BuildFrontEnd",
    ),
    _Entry(
        "build-scripts",
        False,
        frozenset({"build"}),
        kinds.is_build_script,
        _any,
        "archscan.frontends.build.scripts",
        "ScriptsFrontEnd",
    ),
    _Entry("links", False, frozenset(), kinds.may_link, _any, "archscan.frontends.links", "LinksFrontEnd"),
)


class _Deferred:
    """A front end that is imported once there is something for it to do: most runs do little, and of one language."""

    def __init__(self, entry: _Entry) -> None:
        self.name, self.joins, self.wants = entry.name, entry.joins, entry.wants
        self._entry = entry

    def __reduce__(self) -> tuple[object, ...]:
        return _named, (self.name,)

    @cached_property
    def loaded(self) -> FrontEnd:
        """The front end itself."""
        return cast(FrontEnd, getattr(import_module(self._entry.module), self._entry.maker)())

    def index(self, source: Source, context: Context) -> Any | None:
        return self.loaded.index(source, context) if self._entry.holds(source) else None

    def link(self, indexes: Mapping[str, Any], context: Context) -> Any:
        return self.loaded.link(indexes, context)

    def gates(self, index: Any, project: Any, context: Context) -> FileFacts:
        return self.loaded.gates(index, project, context)

    def __getattr__(self, name: str) -> Any:
        """What only some front ends have: `reads`, `answer`, `relink`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.loaded, name)


_DEFERRED = {entry.name: _Deferred(entry) for entry in _TABLE}


def _named(name: str) -> _Deferred:
    return _DEFERRED[name]


def front_ends(layers: frozenset[str] = frozenset(), paths: Iterable[str] | None = None) -> tuple[FrontEnd, ...]:
    """The front ends that serve `layers` (empty = all) and want some of `paths`; none is imported by that."""
    wanted = [entry for entry in _TABLE if not layers or not entry.layers or layers & entry.layers]
    if paths is not None:
        paths = list(paths)
        wanted = [entry for entry in wanted if any(map(entry.wants, paths))]
    return tuple(_DEFERRED[entry.name] for entry in wanted)


def load(ends: Iterable[FrontEnd]) -> None:
    """Imports front ends: before processes fork, each of which would import them again."""
    for end in ends:
        if isinstance(end, _Deferred):
            end.loaded  # noqa: B018
