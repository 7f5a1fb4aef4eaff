"""The CUDA and C++ front end: `#if` conditionals, target macros, host code, and kernels inside other files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from archscan.catalog.recognise import Recogniser
from archscan.frontends.cuda.embedded import embedded
from archscan.frontends.cuda.host import HostIndex, HostProject, host_gates, host_index, host_link, host_reached
from archscan.frontends.cuda.memory import Linking, Memory
from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.environment import Compiler, ContextKey
from archscan.frontends.cuda.preprocessor.gates import Features, directive_facts
from archscan.frontends.cuda.preprocessor.index import DirectiveIndex, directive_index
from archscan.frontends.cuda.preprocessor.project import MacroTable, link
from archscan.frontends.cuda.seen import Seen
from archscan.frontends.protocol import Context
from archscan.frontends.suppressions import suppressions
from archscan.model.facts import FileFacts, Origin, Source, Suppression, Undecided
from archscan.model.reads import Question, Reads
from archscan.sources.kinds import is_bare, is_cuda_template, may_be_cuda

_LOOKED_AT = 4096  # bytes of a file without a suffix: licences come first
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(?:pragma|include|ifndef|if|define)\b", re.M)


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
    host: HostIndex | None
    suppressions: tuple[Suppression, ...]
    undecided: tuple[Undecided, ...] = ()

    def found_at(self, disk: str) -> CudaIndex:
        """The same index, for a file that may lie elsewhere by now."""
        host = self.host.found_at(disk) if self.host is not None else None
        return self if host is self.host else replace(self, host=host)


@dataclass(frozen=True, slots=True)
class CudaProject:
    """What the files of a project say about each other."""

    macros: MacroTable
    host: HostProject
    silent: frozenset[str]  # files of which there is nothing to say
    seen: Seen  # what is looked up in them


class CudaFrontEnd:
    """Bytes of CUDA, C and C++ files, and of Python files that generate such, -> gates."""

    name = "cuda"
    joins = True

    def wants(self, path: str) -> bool:
        """Whether it reads files of that name."""
        return may_be_cuda(path)

    def index(self, source: Source, context: Context) -> CudaIndex | None:
        """The index of one file from its bytes; None for what is no CUDA: Python without it in its strings, notes."""
        if source.path.endswith(".py"):
            return _python_index(source, context)
        brief = _is_brief(source, context)
        if is_bare(source.path) and not _is_header(source.data):
            return None
        template = is_cuda_template(source.path)
        directives = directive_index(source.data, _tools(ContextKey(context)).compiler, brief, template)
        host = host_index(source, context) if _host_wanted(context) and not brief else None
        return _index(source, directives, host, () if brief else suppressions(source.data))

    def link(self, indexes: Mapping[str, CudaIndex], context: Context) -> CudaProject:
        """The project's macros, and its host code."""
        return self._linked(indexes, context, None)

    def relink(
        self, indexes: Mapping[str, CudaIndex], context: Context, contents: Mapping[str, bytes], before: object
    ) -> tuple[CudaProject, object]:
        """The same, by what linking the tree found before, and what is to be kept for the next time."""
        linking = Linking(contents, before if isinstance(before, Memory) else Memory())
        return self._linked(indexes, context, linking), linking.found

    def _linked(self, indexes: Mapping[str, CudaIndex], context: Context, linking: Linking | None) -> CudaProject:
        tools = _tools(ContextKey(context))
        directives = {path: index.directives for path, index in indexes.items()}
        seen = Seen()
        macros = link(directives, tools.compiler, tools.evaluator, seen, linking)
        hosts = {path: index.host for path, index in indexes.items() if index.host is not None}
        host = host_link(hosts, context, macros.includes, seen, linking)
        silent = frozenset(path for path, one in indexes.items() if _is_silent(one, macros) and path not in host.again)
        return CudaProject(macros, host, silent, seen)

    def gates(self, index: CudaIndex, project: CudaProject, context: Context) -> FileFacts:
        """The facts of one file."""
        project.seen.clear()
        tools = _tools(ContextKey(context))
        asking = index.host is not None and (index.host.has_facts or index.path in project.host.again)
        hosting = index.host if asking else None
        reached = host_reached(project.host, context)
        found = directive_facts(
            index.path,
            index.directives,
            project.macros,
            tools.compiler,
            tools.evaluator,
            Features(tools.recogniser, reached.of, reached.after, reached.behind, reached.defines),
            need_liveness=hosting is not None,
        )
        host = host_gates(hosting, project.host, found.liveness, context) if hosting is not None else None
        return FileFacts(
            path=index.path,
            size=index.size,
            origin=index.origin,
            evidence=index.evidence,
            root=index.root,
            gates=(*found.gates, *(host.gates if host else ())),
            sites=host.sites if host else (),
            uses=reached.used_by(index.path) if _is_unit(index) else (),
            undecided=(*index.undecided, *found.undecided, *(host.undecided if host else ())),
            suppressions=index.suppressions,
            problems=index.directives.problems,
        )

    def reads(self, path: str, project: CudaProject) -> Reads:
        """What the gates of the file that was asked for last rest on; what is not asked by name hangs together."""
        found = project.seen.reads()
        return Reads(found.files - {path}, found.asked | {("file", path), ("all",)})

    def answer(self, question: Question, project: CudaProject) -> object:
        """What all files together say: of a name or file, or all that is not asked by name."""
        macros, host = project.macros, project.host
        match question:
            case ("all",):
                compiled = sorted(host.compiled.items())
                names = sorted(host.predicates), host.read_for, sorted(host.bearing or ())
                return macros.said(), host.tests, compiled, names
            case ("file", path):
                return macros.said_of(path), path in host.again
            case ("definers", name):
                return macros.definers.get(name)
            case ("sites", name):
                return macros.sites.get(name)
            case ("place", name):
                return host.callables.places.get(name)
        return host.said(question)


def _is_header(data: bytes) -> bool:
    """Whether a file without a suffix is C++ by its content: it includes, guards or defines something."""
    return b"\0" not in data[:_LOOKED_AT] and _DIRECTIVE.search(data, 0, _LOOKED_AT) is not None


def _is_silent(index: CudaIndex, macros: MacroTable) -> bool:
    """Whether a file has no gates and no sites, and nothing else to be told."""
    directives = index.directives
    told = index.suppressions or index.undecided or directives.undecided or directives.problems
    hosting = index.host is not None and index.host.has_facts
    return not (told or hosting or directives.calls or index.path in macros.asking or _is_unit(index))


def _is_unit(index: CudaIndex) -> bool:
    """Whether a file is own device code that is compiled as it is, so that it matters what it leads to."""
    has_functions = index.host is not None and index.host.functions is not None
    return has_functions and index.path.endswith(".cu") and index.origin is Origin.OWN and not index.directives.brief


def _python_index(source: Source, context: Context) -> CudaIndex | None:
    found = embedded(source.data)
    if found is None:
        return None
    compiler = _tools(ContextKey(context)).compiler
    directives = directive_index(found.data, compiler, _is_brief(source, context), template=True)
    return _index(source, directives, None, (), found.undecided)


def _index(
    source: Source,
    directives: DirectiveIndex,
    host: HostIndex | None,
    comments: tuple[Suppression, ...],
    undecided: tuple[Undecided, ...] = (),
) -> CudaIndex:
    return CudaIndex(
        path=source.path,
        size=len(source.data),
        origin=source.origin,
        evidence=source.evidence,
        root=source.root,
        directives=directives,
        host=host,
        suppressions=comments,
        undecided=undecided,
    )


def _host_wanted(context: Context) -> bool:
    layers = context.settings.layers
    return not layers or bool(layers & {"host", "device"})


def _is_brief(source: Source, context: Context) -> bool:
    """Whether the file is others' code that is only counted: what its gates guard and its functions do stays unread.

    Own code that calls it is told by the names it uses; bodies found by name alone were mostly the wrong ones.
    """
    return source.origin in (Origin.VENDORED, Origin.GENERATED) and not context.settings.include_vendored
