"""The extension modules of a scan: which function builds each, of which files, and everything those include."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from archscan.model.facts import Link, LinkKind
from archscan.model.gate import Gate, Layer
from archscan.sources.kinds import is_cmake
from archscan.tracing.paths import Paths

# A source below a directory of such a name is written at build time, from a template that is listed beside it.
_GENERATED = re.compile(r"gen|tmp|temp|build|cache|jit_dir|dest|out", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Extension:
    """A module that is compiled together: a JIT spec or a setup.py extension."""

    id: str
    name: str  # as written, `*` for what is filled in
    function: str  # that builds it; "" at module level
    path: str
    line: int
    sources: tuple[str, ...]  # scanned files, in the order listed
    missing: tuple[tuple[str, int], ...] = ()  # named, not scanned, and not generated; with the line
    ambiguous: tuple[tuple[str, tuple[str, ...]], ...] = ()
    wrappers: tuple[str, ...] = ()  # functions of the same file that call `function`
    exports: tuple[tuple[str, str], ...] = ()  # (operator, C++ name) where the Python side names them


def is_for_all(gate: Gate, extension: Extension) -> bool:
    """Whether a gate of the file that builds a module decides for which chips: a gencode list beside the call.

    A CMake file has a list for each part of a library, so there it is not known which.
    """
    return gate.layer is Layer.BUILD and gate.path == extension.path and not is_cmake(gate.path)


class Includes:
    """The include graph over scanned files; those in `outside` are not followed."""

    def __init__(
        self, links: Mapping[str, Iterable[Link]], paths: Paths, outside: frozenset[str] = frozenset()
    ) -> None:
        self._links = links
        self._outside = outside
        self._paths = paths
        self._direct: dict[str, tuple[str, ...]] = {}
        self._closure: dict[str, tuple[str, ...]] = {}
        self._including: dict[str, frozenset[str]] = {}
        self.missing: dict[str, list[str]] = {}
        self.ambiguous: dict[str, list[tuple[str, tuple[str, ...]]]] = {}

    def direct(self, path: str) -> tuple[str, ...]:
        """The scanned files that `path` includes; of an ambiguous one every candidate."""
        if path not in self._direct:
            found: list[str] = []
            for link in self._links.get(path, ()):
                if link.kind is LinkKind.INCLUDES:
                    found += self._found(path, link)
            self._direct[path] = tuple(p for p in dict.fromkeys(found) if p not in self._outside)
        return self._direct[path]

    def _found(self, path: str, link: Link) -> tuple[str, ...]:
        candidates = self._paths.find(link.target, path)
        if not candidates and link.detail == '"':
            self.missing.setdefault(path, []).append(link.target)
        if len(candidates) > 1:
            self.ambiguous.setdefault(path, []).append((link.target, candidates))
        return candidates

    def closure(self, path: str) -> tuple[str, ...]:
        """`path` and everything it includes, in the order in which the compiler meets it; cycles end."""
        if path not in self._closure:
            seen: dict[str, None] = {}
            stack = [path]
            while stack:
                current = stack.pop()
                if current not in seen:
                    seen[current] = None
                    stack += reversed(self.direct(current))
            self._closure[path] = tuple(seen)
        return self._closure[path]

    def including(self, path: str) -> frozenset[str]:
        """`path` and every file that includes it, directly or not: those whose closure it is in."""
        if path not in self._including:
            seen = {path}
            todo = [path]
            while todo:
                found = self._included_by.get(todo.pop(), set()) - seen
                seen |= found
                todo += found
            self._including[path] = frozenset(seen)
        return self._including[path]

    @cached_property
    def _included_by(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in self._links:
            for other in self.direct(path):
                found.setdefault(other, set()).add(path)
        return found


def extensions(links: Mapping[str, Iterable[Link]], paths: Paths) -> tuple[Extension, ...]:
    """Every extension module that the files build that `links` has, in path order."""
    building = [path for path in sorted(links) if path.endswith(".py") or is_cmake(path)]
    directories = {
        link.source: link.target
        for path in building
        for link in links[path]
        if link.kind is LinkKind.DEFINES and link.detail == "directory"
    }
    found = [e for path in building for e in _of_file(path, links[path], paths, directories)]
    return tuple(_distinct(found))


def _of_file(path: str, links: Iterable[Link], paths: Paths, directories: Mapping[str, str]) -> Iterable[Extension]:
    by_kind: dict[LinkKind, list[Link]] = {}
    behind: dict[Link | None, list[Link]] = {}  # what is built at module level: its sources follow it
    spec: Link | None = None
    for link in links:
        by_kind.setdefault(link.kind, []).append(link)
        spec = link if link.kind is LinkKind.JIT_SPEC else spec
        behind.setdefault(spec, []).append(link)
    for spec in by_kind.get(LinkKind.JIT_SPEC, ()):
        near = by_kind.get(LinkKind.JIT_SOURCE, ()) if spec.source else behind[spec]
        named = [link for link in near if link.kind is LinkKind.JIT_SOURCE and link.source == spec.source]
        resolved = [(s, _files_of(s, path, paths, directories)) for s in named]
        callers = _callers(spec.source, by_kind.get(LinkKind.CALLS, ()))
        yield Extension(
            id=_identifier(spec),
            name=spec.target,
            function=spec.source,
            path=path,
            line=spec.line,
            sources=tuple(dict.fromkeys(p for _, found in resolved for p in found)),
            missing=tuple((s.target, s.line) for s, found in resolved if not found and not _is_generated(s)),
            ambiguous=tuple((s.target, found) for s, found in resolved if len(found) > 1 and "*" not in s.target),
            wrappers=callers,
            exports=tuple(
                (link.target, link.source) for link in by_kind.get(LinkKind.REGISTERS, ()) if link.detail == spec.source
            ),
        )


def _files_of(source: Link, path: str, paths: Paths, directories: Mapping[str, str]) -> tuple[str, ...]:
    """The scanned files that a source named in the file `path` means."""
    if source.detail == "glob":
        return paths.matching(source.target, path)
    return paths.find(source.target, path, directories.get(source.detail.rpartition(".")[2], ""))


def _callers(function: str, calls: Iterable[Link]) -> tuple[str, ...]:
    """Functions of the file that call `function`, those that call them included."""
    found: dict[str, None] = {}
    pending = [function] if function else []
    while pending:
        current = pending.pop()
        for call in calls:
            if call.target == current and call.source not in found and call.source != function:
                found[call.source] = None
                pending.append(call.source)
    return tuple(found)


def _is_generated(source: Link) -> bool:
    return "*" in source.target or (bool(source.detail) and bool(_GENERATED.search(source.detail)))


def _identifier(spec: Link) -> str:
    """The literal beginning of the name: `fp4_quantization` of `fp4_quantization_*`; else the function's name."""
    literal = re.sub(r"[^\w.-]+", "_", spec.target.partition("*")[0]).strip("_-.")
    return literal if len(literal) > 2 else spec.source.lstrip("_") or spec.target.strip("*") or "extension"


def _distinct(found: list[Extension]) -> Iterable[Extension]:
    """Equal ids are told apart by the function that builds, then by its file."""
    for identify in (_by_function, _by_file):
        count: dict[str, int] = {}
        for extension in found:
            count[extension.id] = count.get(extension.id, 0) + 1
        found = [e if count[e.id] == 1 else replace(e, id=identify(e)) for e in found]
    seen: dict[str, int] = {}
    for extension in found:  # built twice in one function
        seen[extension.id] = seen.get(extension.id, 0) + 1
        number = seen[extension.id]
        yield extension if number == 1 else replace(extension, id=f"{extension.id}.{number}")


def _by_function(extension: Extension) -> str:
    return f"{extension.id}.{extension.function or 'module'}"


def _by_file(extension: Extension) -> str:
    return f"{extension.id}.{extension.path.removesuffix('.py').replace('/', '.')}"
