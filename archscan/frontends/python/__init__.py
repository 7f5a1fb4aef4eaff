"""The Python front end: evaluates capability conditions over modules, once for all targets, importing nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archscan.catalog.recognise import Recogniser
from archscan.frontends.protocol import Context
from archscan.frontends.python.builds import build_lists, with_build_lists
from archscan.frontends.python.evaluate import Interpreter
from archscan.frontends.python.gates import ModulePass
from archscan.frontends.python.knowledge import compile_knowledge
from archscan.frontends.python.links import links
from archscan.frontends.python.messages import messages
from archscan.frontends.python.modules import Graph, PythonIndex
from archscan.frontends.python.triggers import asks, deciding, generated, is_asked, may_hold_gates, mentions, triggers
from archscan.frontends.python.values import Lanes
from archscan.frontends.suppressions import suppressions
from archscan.model.facts import FileFacts, Origin, Source


@dataclass(eq=False)
class PythonProject:
    """The module graph with its interpreter."""

    interpreter: Interpreter
    users: Mapping[str, frozenset[str]]  # name -> modules that mention it
    asks: frozenset[str]
    recogniser: Recogniser


class PythonFrontEnd:
    """Reads .py and .pyi files."""

    name = "python"

    def wants(self, path: str) -> bool:
        return path.endswith((".py", ".pyi"))

    def index(self, source: Source, context: Context) -> PythonIndex | None:
        """The places of a file where the architecture may be asked for; None if there is none."""
        data = source.data
        is_package = source.path.endswith("__init__.py")
        built = links(data, source.path)
        if not may_hold_gates(data) and not is_package and not built:
            return None
        why = generated(data)
        found = () if why else triggers(data)
        if not found and not is_package and not why and not built:
            return None
        return PythonIndex(
            path=source.path,
            data=data,
            triggers=found,
            deciding=deciding(data, found),
            mentions=mentions(data, found),
            asks=asks(data, found),
            links=built,
            top=_top(source),
            size=len(data),
            origin=source.origin,
            evidence=source.evidence,
            root=source.root,
            generated=why,
        )

    def link(self, indexes: Mapping[str, PythonIndex], context: Context) -> PythonProject:
        graph = Graph(indexes.values())
        settings = context.settings
        knowledge = compile_knowledge(context.catalog.packages, settings.defines, settings.undefines, settings.cuda)
        users: dict[str, set[str]] = {}
        for index in indexes.values():
            for name in index.mentions:
                users.setdefault(name, set()).add(index.path)
        asked = frozenset(name for index in indexes.values() for name in index.asks)
        interpreter = Interpreter(graph, knowledge, Lanes(context.catalog.universe))
        interpreter.asks = asked
        return PythonProject(
            interpreter, {name: frozenset(paths) for name, paths in users.items()}, asked, Recogniser(context.catalog)
        )

    def gates(self, index: PythonIndex, project: PythonProject, context: Context) -> FileFacts:
        """The gates of one file. Copies of others' packages are read for what they define, unless asked for."""
        if index.origin is Origin.VENDORED and not context.settings.include_vendored:
            return FileFacts(index.path, index.size, index.origin, index.evidence, index.root, links=index.links)
        module = project.interpreter.graph.modules[index.path]
        extra = [name for name in sorted(index.mentions & project.asks) if is_asked(index.data, name.encode())]
        gates = ModulePass(project.interpreter, module, project.users, project.recogniser)
        found = gates.run(extra) if index.deciding or extra else []
        project.interpreter.forget(module)
        if index.triggers:
            built = build_lists(index.data, index.path, context.catalog, project.recogniser)
            found = with_build_lists(found, built)
        return FileFacts(
            path=index.path,
            size=index.size,
            origin=index.origin,
            evidence=index.evidence,
            root=index.root,
            gates=tuple(found),
            problems=tuple(gates.found.problems),
            sites=messages(index.data, bool(found)) if index.triggers else (),
            links=index.links,
            suppressions=suppressions(index.data),
        )


def _top(source: Source) -> str:
    """The name of the folder that the reported paths start in: the package, if its folder was given."""
    if not source.disk.endswith(source.path):
        return ""
    return source.disk[: -len(source.path)].rstrip("/").rsplit("/", 1)[-1]
