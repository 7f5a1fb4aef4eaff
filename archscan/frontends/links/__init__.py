"""The front end for links between files: what includes, builds and exports what. It finds no gates.

A front end of its own, because files without a gate are on chains too, and the others leave such files out. It needs
none of what those import.
"""

from __future__ import annotations

from collections.abc import Mapping

from archscan.frontends.protocol import Context
from archscan.model.facts import FileFacts, Link, Source

CUDA_SUFFIXES = (
    ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".c", ".cc", ".cpp", ".cxx", ".jinja",
)  # fmt: skip


def is_cmake(path: str) -> bool:
    """Whether a file is CMake's, by its name."""
    return path.endswith((".cmake", "CMakeLists.txt"))


class LinksFrontEnd:
    """Links of every C++ file, and of the Python and CMake files that build extension modules."""

    name = "links"
    joins = False

    def wants(self, path: str) -> bool:
        return path.endswith((*CUDA_SUFFIXES, ".py")) or is_cmake(path)

    def index(self, source: Source, context: Context) -> FileFacts | None:
        """The facts of one file; None for a Python or CMake file that builds nothing."""
        found = _links(source, context)
        if found is None:
            return None
        return FileFacts(source.path, len(source.data), source.origin, source.evidence, source.root, links=found)

    def link(self, indexes: Mapping[str, FileFacts], context: Context) -> None:
        """Nothing: names are joined over all files when chains are made."""

    def gates(self, index: FileFacts, project: None, context: Context) -> FileFacts:
        return index


def _links(source: Source, context: Context) -> tuple[Link, ...] | None:
    """The links of a file; each language is imported where there is a file of it."""
    if source.path.endswith(".py"):
        from archscan.frontends.links.python import builders_of
        from archscan.frontends.links.python import links as python_links

        return python_links(source.data, source.path, builders_of(context.catalog.packages)) or None
    if is_cmake(source.path):
        from archscan.frontends.links.cmake import links as cmake_links

        return cmake_links(source.data, source.path) or None
    from archscan.frontends.links.cuda import links as cuda_links

    return cuda_links(source.data, source.path)
