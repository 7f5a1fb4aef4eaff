"""The front end for links between files: what includes, builds and exports what. It finds no gates.

A front end of its own, because files without a gate are on chains too, and the others leave such files out. It needs
none of what those import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archscan.frontends.protocol import Context
from archscan.model.facts import FileFacts, Link, Source
from archscan.sources.kinds import LINKED_SUFFIXES, is_cmake, may_link


class LinksFrontEnd:
    """Links of every C++ file, and of the Python and CMake files that build extension modules."""

    name = "links"
    joins = False

    def wants(self, path: str) -> bool:
        return may_link(path)

    def index(self, source: Source, context: Context) -> FileFacts | None:
        """The facts of one file; None for a Python or CMake file that builds nothing."""
        found = links_of(source.data, source.path, builders_of(context.catalog.packages))
        if not found and not source.path.endswith(LINKED_SUFFIXES):
            return None
        return FileFacts(source.path, len(source.data), source.origin, source.evidence, source.root, links=found)

    def link(self, indexes: Mapping[str, FileFacts], context: Context) -> None:
        """Nothing: names are joined over all files when chains are made."""

    def gates(self, index: FileFacts, project: None, context: Context) -> FileFacts:
        return index


def links_of(data: bytes, path: str, builders: Sequence[str]) -> tuple[Link, ...]:
    """The links of a file; `builders` names what compiles modules. Each language is imported where a file is of it."""
    if path.endswith(".py"):
        from archscan.frontends.links.python import links as python_links

        return python_links(data, path, builders)
    if is_cmake(path):
        from archscan.frontends.links.cmake import links as cmake_links

        return cmake_links(data, path)
    from archscan.frontends.links.cuda import links as cuda_links

    return cuda_links(data, path)


def builders_of(packages: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of what compiles extension modules, from the facts about packages."""
    return tuple(row["name"] for row in packages.get("jit_builders", ()))
