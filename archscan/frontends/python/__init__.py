"""The Python front end: evaluates capability conditions over modules, once for all targets, importing nothing."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.build.flags import makes_flags
from archscan.frontends.protocol import Context
from archscan.frontends.python.gates.builds import build_lists, reached, with_build_lists
from archscan.frontends.python.gates.collector import GateCollector
from archscan.frontends.python.gates.effects import forget
from archscan.frontends.python.gates.scripts import NOTHING, made_by, with_made
from archscan.frontends.python.interpreter.evaluate import Interpreter
from archscan.frontends.python.interpreter.knowledge import compile_knowledge
from archscan.frontends.python.interpreter.values import PerTarget
from archscan.frontends.python.source.modules import Graph, PythonIndex
from archscan.frontends.python.source.triggers import (
    asks,
    compiling,
    holders,
    is_asked,
    mentions,
    overlong,
    triggers,
    words,
)
from archscan.frontends.suppressions import suppressions
from archscan.model.facts import FileFacts, Origin, Source
from archscan.model.reads import Question, Reads
from archscan.sources.kinds import is_python
from archscan.sources.text import Text

_MOST_READ = 4 << 20  # bytes of modules whose trees are kept; a tree takes ten times as much


@dataclass(eq=False)
class PythonProject:
    """The module graph with its interpreter."""

    interpreter: Interpreter
    users: Mapping[str, frozenset[str]]  # name -> modules that mention it
    asks: frozenset[str]
    recogniser: Recogniser
    read: int = 0  # bytes of the modules that were looked at since the interpreter was as new
    process: int = field(default_factory=os.getpid)  # that linked it


class PythonFrontEnd:
    """Reads .py and .pyi files."""

    name = "python"
    joins = True

    def wants(self, path: str) -> bool:
        return is_python(path)

    def index(self, source: Source, context: Context) -> PythonIndex:
        """Where a file may ask for the architecture; of most files only what they import."""
        data = source.data
        asking = words(data)
        found = triggers(data, asking)
        return PythonIndex(
            path=source.path,
            text=Text.of(data, source.disk if source.stays else ""),
            triggers=found,
            deciding=tuple(sorted({*found, *compiling(data)})),
            overlong=overlong(data, asking),
            mentions=mentions(data, found),
            asks=asks(data, found),
            holders=holders(data, found),
            classes=holders(data, found, b"\nclass "),
            top=_top(source),
            size=len(data),
            origin=source.origin,
            evidence=source.evidence,
            root=source.root,
            flags=makes_flags(data),
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
        interpreter = Interpreter(
            graph, knowledge, PerTarget(context.catalog.universe, _shared_memory(context.catalog))
        )
        interpreter.asks = asked
        interpreter.classes = frozenset(name for index in indexes.values() for name in index.classes)
        return PythonProject(
            interpreter, {name: frozenset(paths) for name, paths in users.items()}, asked, Recogniser(context.catalog)
        )

    def gates(self, index: PythonIndex, project: PythonProject, context: Context) -> FileFacts:
        """The gates of one file. Copies of others' packages are read for what they define, unless asked for."""
        facts = FileFacts(index.path, index.size, index.origin, index.evidence, index.root)
        if index.origin is Origin.VENDORED and not context.settings.include_vendored:
            left = "a copy of another project's Python: read for what it defines (--include-vendored)"
            return replace(facts, left=left) if index.deciding else facts
        asked = index.mentions & project.asks
        if not (index.triggers or index.deciding or asked or index.overlong or index.flags):
            return facts
        module = project.interpreter.graph.modules[index.path]
        if len(module.data) != index.size:
            return replace(facts, problems=("changed while it was scanned",), lost=True)
        extra = [name for name in sorted(asked) if is_asked(module.data, name.encode())]
        gates = GateCollector(project.interpreter, module, project.users, project.recogniser, context.catalog)
        found = gates.run(extra) if index.deciding or extra or index.overlong else []
        made = NOTHING
        if index.triggers:
            lists = build_lists(project.interpreter, module, context.catalog, project.recogniser)
            found = with_build_lists(found, [reached(gates, gate) for gate in lists])
        if index.flags:
            made = made_by(index.path, module.data, found, context, project.recogniser)
            found = with_made(found, made)
        data = module.data
        project.interpreter.forget(module)
        forget()
        project.read += index.size
        if project.read > _MOST_READ:
            project.read = 0
            project.interpreter.renew()
            if project.process == os.getpid():  # frames refer to each other; a fork would copy the heap that it shares
                gc.collect(0)
        return replace(
            facts,
            gates=tuple(found),
            undecided=tuple(dict.fromkeys((*gates.found.undecided, *made.undecided))),
            problems=made.problems,
            suppressions=suppressions(data),
        )

    def reads(self, path: str, project: PythonProject) -> Reads:
        """The modules that its evaluation led to and what it asked of all of them; of most files only who asks."""
        module = project.interpreter.graph.modules[path]
        index = module.index
        if not (index.triggers or index.deciding or index.overlong or index.flags or index.mentions & project.asks):
            return Reads(asked=frozenset({("asked", path)}))
        found = project.interpreter.graph.traces.reads(path)
        return replace(found, asked=found.asked | {("modules",), ("asks",), ("classes",)})

    def answer(self, question: Question, project: PythonProject) -> object:
        """What all modules together say: names in order, or the paths of those that do."""
        modules = project.interpreter.graph.modules
        match question:
            case ("asked", path):
                return sorted(modules[path].index.mentions & project.asks)
            case ("modules",):
                return sorted((path, module.index.top) for path, module in modules.items())
            case ("asks",):
                return sorted(project.asks)
            case ("classes",):
                return sorted(project.interpreter.classes)
            case ("users", name):
                return sorted(project.users.get(name, ()))
            case ("readers", name):
                return sorted(project.interpreter.graph.readers(name))
            case ("holders", name):
                return sorted(path for path, module in modules.items() if name in module.index.holders)
        raise ValueError(question)


def _top(source: Source) -> str:
    """The name of the folder that the reported paths start in: the package, if its folder was given."""
    if not source.disk.endswith(source.path):
        return ""
    return source.disk[: -len(source.path)].rstrip("/").rsplit("/", 1)[-1]


def _shared_memory(catalog: Catalog) -> dict[int, int]:
    """The bytes of shared memory that a block can opt in to, by SM."""
    limits = {sm: a.limits.get("smem_per_block_optin_bytes") for sm, a in catalog.architectures.items()}
    return {sm: limit.value for sm, limit in limits.items() if limit is not None and limit.value is not None}
