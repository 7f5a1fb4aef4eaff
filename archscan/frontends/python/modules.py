"""The module graph: finds the scanned module behind an import, by paths alone."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tree_sitter import Node

from archscan.frontends.python.scopes import Scope
from archscan.frontends.python.syntax import parse
from archscan.model.facts import Origin


@dataclass(frozen=True, slots=True)
class PythonIndex:
    """What one file is, picklable: its bytes and where in it the architecture may be asked for."""

    path: str
    data: bytes
    triggers: tuple[int, ...]  # byte offsets
    top: str = ""  # name of the directory that holds `path`: the package, when its folder was given as root
    size: int = 0
    origin: Origin = Origin.OWN
    evidence: str = ""
    root: str = ""
    generated: str = ""  # why the body is not read


@dataclass(eq=False, repr=False)
class Module:
    """A parsed file, parsed when first asked."""

    index: PythonIndex
    memo: dict[object, object] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.index.path

    @property
    def data(self) -> bytes:
        return self.index.data

    @cached_property
    def root(self) -> Node:
        return parse(self.index.data)

    @cached_property
    def scope(self) -> Scope:
        return Scope(self.root)


class Graph:
    """All scanned modules, found by what import statements say."""

    def __init__(self, indexes: Iterable[PythonIndex]) -> None:
        self.modules = {index.path: Module(index) for index in indexes}
        self.memo: dict[object, Any] = {}
        self._tops = {m.index.top for m in self.modules.values() if m.index.top}

    def at(self, dotted: str, base: str) -> Module | None:
        """The module of that slashed name under a folder."""
        stem = posixpath.join(base, dotted.replace(".", "/")) if dotted else base
        for path in (stem + ".py", posixpath.join(stem, "__init__.py")):
            if path in self.modules:
                return self.modules[path]
        return None

    def is_package(self, dotted: str, base: str) -> bool:
        """Whether a folder of that name holds scanned modules (with or without __init__.py)."""
        stem = posixpath.join(base, dotted.replace(".", "/")) + "/"
        return stem in self._folders

    @cached_property
    def _folders(self) -> set[str]:
        found: set[str] = set()
        for path in self.modules:
            folder = posixpath.dirname(path)
            while folder:
                found.add(folder + "/")
                folder = posixpath.dirname(folder)
        return found

    def absolute(self, dotted: str, importer: Module) -> Module | None:
        """The module an absolute import names, seen from a module: nearest folder first, then the scanned roots."""
        folder = posixpath.dirname(importer.path)
        while True:
            found = self.at(dotted, folder)
            if found is not None:
                return found
            if not folder:
                break
            folder = posixpath.dirname(folder)
        head, _, rest = dotted.partition(".")
        return self.at(rest, "") if head in self._tops else None

    def relative(self, level: int, dotted: str, importer: Module) -> Module | None:
        """The module a relative import names."""
        return self.at(dotted, self.relative_base(level, importer))

    def relative_base(self, level: int, importer: Module) -> str:
        folder = posixpath.dirname(importer.path)
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return folder
