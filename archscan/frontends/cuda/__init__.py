"""The CUDA and C++ front end: `#if` conditionals, target macros, host code, and kernels inside other files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from archscan.catalog.recognise import Recogniser
from archscan.frontends.cuda.conditions import Evaluator
from archscan.frontends.cuda.environment import Compiler, ContextKey
from archscan.frontends.cuda.gates import directive_gates
from archscan.frontends.cuda.index import DirectiveIndex, directive_index
from archscan.frontends.cuda.project import MacroTable, link
from archscan.frontends.protocol import Context
from archscan.frontends.suppressions import suppressions
from archscan.model.facts import FileFacts, Origin, Source, Suppression

SUFFIXES = (".cu", ".cuh", ".h", ".hh", ".hpp", ".inl", ".c", ".cc", ".cpp", ".cxx")


@dataclass(frozen=True)
class _Tools:
    """What is made once per context and process: compiler macros, memories of the evaluator and the recogniser."""

    compiler: Compiler
    evaluator: Evaluator
    recogniser: Recogniser


@lru_cache(maxsize=4)
def _tools(key: ContextKey) -> _Tools:
    compiler = Compiler(key.context)
    return _Tools(compiler, Evaluator(compiler.everything), Recogniser(key.context.catalog))


@dataclass(frozen=True, slots=True)
class CudaIndex:
    """One file as the later steps see it."""

    path: str
    size: int
    origin: Origin
    evidence: str
    root: str
    directives: DirectiveIndex
    suppressions: tuple[Suppression, ...]


@dataclass(frozen=True, slots=True)
class CudaProject:
    """What the files of a project say about each other."""

    macros: MacroTable


class CudaFrontEnd:
    """Bytes of CUDA, C and C++ files -> gates."""

    name = "cuda"

    def wants(self, path: str) -> bool:
        """Whether it reads files of that name."""
        return path.removesuffix(".jinja").endswith(SUFFIXES)

    def index(self, source: Source, context: Context) -> CudaIndex | None:
        """The index of one file from its bytes."""
        tools = _tools(ContextKey(context))
        return CudaIndex(
            path=source.path,
            size=len(source.data),
            origin=source.origin,
            evidence=source.evidence,
            root=source.root,
            directives=directive_index(source.data, tools.compiler, self._brief(source, context)),
            suppressions=suppressions(source.data),
        )

    def link(self, indexes: Mapping[str, CudaIndex], context: Context) -> CudaProject:
        """The project's macros."""
        tools = _tools(ContextKey(context))
        return CudaProject(link({path: index.directives for path, index in indexes.items()}, tools.compiler))

    def gates(self, index: CudaIndex, project: CudaProject, context: Context) -> FileFacts:
        """The facts of one file."""
        tools = _tools(ContextKey(context))
        gates = directive_gates(
            index.path, index.directives, project.macros, tools.compiler, tools.evaluator, tools.recogniser
        )
        return FileFacts(
            path=index.path,
            size=index.size,
            origin=index.origin,
            evidence=index.evidence,
            root=index.root,
            gates=tuple(sorted(gates, key=lambda g: (g.place.start, g.place.end))),
            suppressions=index.suppressions,
            problems=index.directives.problems,
        )

    @staticmethod
    def _brief(source: Source, context: Context) -> bool:
        """Whether the file is others' code that is only counted, so that features and calls need no search."""
        return source.origin in (Origin.VENDORED, Origin.GENERATED) and not context.settings.include_vendored
