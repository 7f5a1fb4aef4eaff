"""Reads CMake files: lists of architectures, flags and comparisons, evaluated for every target; never runs cmake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.build.gates import Evaluated, gates
from archscan.frontends.build.interpreter import Constants, Function, Project, evaluate
from archscan.frontends.build.literals import literals
from archscan.frontends.build.questions import called_in, open_questions
from archscan.frontends.build.request import Request, inputs_of, is_arch_name, spellings_of
from archscan.frontends.build.syntax import Block, Listfile, Node, parse
from archscan.frontends.protocol import Context
from archscan.frontends.suppressions import suppressions
from archscan.model.facts import FileFacts, Source
from archscan.sources.kinds import is_cmake

__all__ = ["BuildFrontEnd"]

_MOST_STEPS = 750_000  # of all evaluations of a file


@dataclass(frozen=True)
class BuildIndex:
    """A CMake file as parsed."""

    source: Source
    listfile: Listfile


class BuildFrontEnd:
    """CMakeLists.txt and *.cmake."""

    name = "build"
    joins = True

    def wants(self, path: str) -> bool:
        """Whether a file is CMake's, by its name."""
        return is_cmake(path)

    def index(self, source: Source, context: Context) -> BuildIndex:
        """The parsed file."""
        return BuildIndex(source, parse(source.data))

    def link(self, indexes: Mapping[str, BuildIndex], context: Context) -> Project:
        """The functions and files of all CMake files, by name; a name defined twice belongs to nobody."""
        listfiles = {path: index.listfile for path, index in indexes.items()}
        files = {path.rsplit("/", 1)[-1].removesuffix(".cmake"): (path, one) for path, one in listfiles.items()}
        called = frozenset(name for one in listfiles.values() for name in called_in(one.body))
        return Project(functions_of(listfiles), files, called=called)

    def gates(self, index: BuildIndex, project: Project, context: Context) -> FileFacts:
        """The gates of a file: evaluated once without a request, and once for each device target."""
        source, listfile, catalog = index.source, index.listfile, context.catalog
        written = tuple(literals(listfile.body, catalog))
        problems = listfile.problems[:20]
        inputs = inputs_of(listfile, catalog)
        nobody = Request(
            target=None,
            inputs=inputs,
            spellings=spellings_of(listfile, catalog),
            cuda=context.settings.cuda,
            given=dict(context.settings.defines),
            unset=frozenset(context.settings.undefines),
            dotted=sum("." in literal.text for literal in written) * 2 >= len(written),
        )
        constants: Constants = {}
        plain = evaluate(source.path, listfile, nobody, project, catalog, constants)
        targets = [t for t in catalog.universe.targets if not t.is_host]
        worth = bool(written or inputs or _asks(listfile)) and not plain.exhausted
        if worth and plain.steps * len(targets) > _MOST_STEPS:
            worth, problems = False, (*problems, "too long to evaluate for every target: only what it does by default")
        traces = {
            t: evaluate(source.path, listfile, replace(nobody, target=t), project, catalog, constants)
            for t in (targets if worth else ())
        }
        if any(trace.exhausted for trace in (plain, *traces.values())):
            problems = (*problems, "too long to evaluate: what comes late in it was not looked at")
        evaluated = Evaluated(
            source.path,
            source.data,
            listfile,
            written,
            plain,
            traces,
            catalog,
            _recogniser(catalog),
            inputs,
            context.settings.cuda,
        )
        found = gates(evaluated) if traces else ()
        return FileFacts(
            path=source.path,
            size=len(source.data),
            origin=source.origin,
            evidence=source.evidence,
            root=source.root,
            gates=found,
            undecided=open_questions(source.path, source.data, listfile.body, plain, found, project.called),
            suppressions=suppressions(source.data),
            problems=problems,
        )


_RECOGNISERS: dict[str, Recogniser] = {}  # by the digest of the catalog: what one looked up is known to the next file


def _recogniser(catalog: Catalog) -> Recogniser:
    if catalog.digest not in _RECOGNISERS:
        _RECOGNISERS.clear()
        _RECOGNISERS[catalog.digest] = Recogniser(catalog)
    return _RECOGNISERS[catalog.digest]


def functions_of(listfiles: Mapping[str, Listfile]) -> dict[str, Function]:
    """The functions and macros of several files by name; a name that is defined twice belongs to nobody."""
    functions: dict[str, Function] = {}
    twice: set[str] = set()
    for path, listfile in listfiles.items():
        for name, function in _functions(path, listfile.body):
            if name in functions and functions[name] != function:
                twice.add(name)
            functions[name] = function
    return {name: function for name, function in functions.items() if name not in twice}


def _functions(path: str, body: tuple[Node, ...]) -> list[tuple[str, Function]]:
    found = []
    for node in body:
        if isinstance(node, Block) and node.name in ("function", "macro") and node.parts[0].head.arguments:
            head = node.parts[0].head
            words = tuple(argument.text for argument in head.arguments)
            function = Function(path, words[1:], node.parts[0].body, node.name == "macro")
            found.append((words[0].lower(), function))
        elif isinstance(node, Block):
            found += [item for part in node.parts for item in _functions(path, part.body)]
    return found


def _asks(listfile: Listfile) -> bool:
    """Whether some condition names an architecture variable."""
    stack = list(listfile.body)
    while stack:
        node = stack.pop()
        if isinstance(node, Block):
            if any(is_arch_name(argument.text) for part in node.parts for argument in part.head.arguments):
                return True
            stack += [inner for part in node.parts for inner in part.body]
    return False
