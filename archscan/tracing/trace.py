"""Traces a name through all layers: gates in the order in which they bite, and the files that are proved clean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from archscan.model.report import Chain, Report, Step
from archscan.reporting.words import counted
from archscan.tracing.chain_summary import chain_summary
from archscan.tracing.code import Code
from archscan.tracing.compiled import Compiled
from archscan.tracing.entry_points import EntryPoint, compiled, find
from archscan.tracing.modules import Extension, is_for_all
from archscan.tracing.operators import Reach, exports, files
from archscan.tracing.python_calls import Call
from archscan.tracing.python_gates import PythonGates
from archscan.tracing.python_graph import Fn, Operator
from archscan.tracing.states import BUILT, CLEAN, OPEN, RUN, SHUT, UNKNOWN, GateState, lists

_FAN_IN = 8  # callers of one function; with more it is general code, and the way up ends there
_LEVELS = 8
_NAMED = 3  # calls named in one step
_NODES = 400  # functions looked at on the way down


@dataclass(frozen=True, slots=True)
class Edge:
    """A call on the path."""

    caller: Fn
    call: Call
    callee: Fn | Operator


@dataclass(frozen=True, slots=True)
class Route:
    """The Python part of one chain."""

    edges: tuple[Edge, ...]  # outermost caller first
    functions: tuple[Fn, ...]  # traced itself: every gate in them counts
    operators: tuple[str, ...]  # of the extension, that are reached; () = all it exports


def trace(name: str, report: Report, code: Code) -> tuple[Chain, ...]:
    """The chains behind a name, one for every extension module that it reaches. Raises UserError for unknown names."""
    return _Tracer(report, code).chains(name)


class _Tracer:
    """One trace: the graphs and the states of gates that its steps share."""

    def __init__(self, report: Report, code: Code) -> None:
        self.report = report
        self.code = code
        self.gates = PythonGates.of(report, code)
        self.graph, self.states = self.gates.graph, self.gates.states
        self._below: dict[tuple[Fn, ...], tuple[Edge, ...]] = {}

    def chains(self, name: str) -> tuple[Chain, ...]:
        start = find(name, self.code, self.graph)
        if start.extensions:
            return tuple(self._of_extension(start, _only_variant(e, start.name)) for e in start.extensions)
        if start.functions or start.operators:
            return self._of_functions(start)
        if start.values:
            return (self._of_value(start),)
        return self._of_compiled(start)

    def _for_target(self, extension: Extension) -> Extension:
        """The module without its variants for other chips, if one of them is built for the target.

        `gen_x_sm90_module` and `gen_x_sm120_module` call one function: a shut list of the first shuts nothing out.
        """
        inside = {w: self.gates.inside(Fn(extension.path, w)) for w in extension.wrappers}
        admitting = tuple(w for w, found in inside.items() if found and all(s.state == OPEN for s in found))
        shutting = [w for w, found in inside.items() if any(s.state == SHUT for s in found)]
        if not admitting or not shutting:
            return extension
        return replace(extension, wrappers=tuple(w for w in extension.wrappers if w not in shutting))

    # -- by kind of start --------------------------------------------------------------------------------------------

    def _of_extension(self, start: EntryPoint, extension: Extension) -> Chain:
        """The module as a whole: who builds it, what is built."""
        extension = self._for_target(extension)
        return self._chain(extension.id, start, extension, Route(self._building(extension), (), ()))

    def _of_value(self, start: EntryPoint) -> Chain:
        """A predicate or flag that is assigned, not defined: every gate whose condition names it."""
        word = re.compile(rf"(?<!\w){re.escape(start.name)}(?!\w)")
        found = [
            s
            for path in self.states
            if path.endswith(".py")
            for s in self.states[path]
            if start.name in s.gate.symbols or any(word.search(arm.condition) for arm in s.gate.arms)
        ]
        said = chain_summary(start.name, tuple(found), (), [f"set in {', '.join(start.values)}"])
        return Chain(start.name, start.name, tuple(s.step(RUN) for s in found), said)

    def _of_functions(self, start: EntryPoint) -> tuple[Chain, ...]:
        down = self._down(start.functions)
        reached = _reached(down, start.operators)
        if not reached and start.functions:
            guarded = self._guarded_by(start.functions)
            if guarded:
                down, reached = guarded, _reached(guarded, ())
        up = self._up(start.functions)
        libraries = self._through_libraries(start, up, down)
        if not reached and not libraries:
            edges = tuple(dict.fromkeys((*up, *self._down(start.functions))))
            return (self._chain(start.name, start, None, Route(edges, start.functions, ())),)
        return libraries + tuple(
            self._through(start, self.graph.by_id[identifier], operators, up, down)
            for identifier, operators in reached.items()
        )

    def _through_libraries(self, start: EntryPoint, up: tuple[Edge, ...], down: tuple[Edge, ...]) -> tuple[Chain, ...]:
        """Chains through operators of C++ libraries that no Python code builds (`torch.ops.ns.name`)."""
        names = {e.callee.name for e in down if isinstance(e.callee, Operator) and not e.callee.extensions}
        chains: list[Chain] = []
        for name in sorted(names):
            found = compiled(name, self.code)
            towards = _towards(down, lambda operator, name=name: operator.name == name)  # type: ignore[misc]
            chains += self._of_compiled(replace(found, name=start.name), (*up, *towards)) if found else ()
        return tuple(chains)

    def _through(
        self,
        start: EntryPoint,
        extension: Extension,
        operators: tuple[str, ...],
        up: tuple[Edge, ...],
        down: tuple[Edge, ...],
    ) -> Chain:
        """The chain from Python functions through one extension module."""
        extension = self._for_target(extension)
        towards = _towards(down, lambda o: o.name in operators and extension.id in o.extensions)
        known = {edge.caller for edge in (*up, *towards)}
        building = tuple(e for e in self._building(extension) if e.caller not in known or e.call.guards)
        edges = tuple(dict.fromkeys((*up, *towards, *self._up_to_operators(operators, extension, start), *building)))
        functions = tuple(fn for fn in start.functions if any(e.caller == fn for e in towards))
        identifier = extension.id if not operators else f"{extension.id}/{start.name}"
        return self._chain(identifier, start, extension, Route(edges, functions, operators))

    def _up_to_operators(self, operators: Iterable[str], extension: Extension, start: EntryPoint) -> tuple[Edge, ...]:
        """If only an operator was named: the Python functions that call it, and their callers."""
        if start.functions:
            return ()
        return self._up(tuple(Operator(name, (extension.id,)) for name in operators))

    def _of_compiled(self, start: EntryPoint, above: tuple[Edge, ...] = ()) -> tuple[Chain, ...]:
        """Chains of a C++ function, kernel or file: through every module that it is compiled into."""
        wanted = {p.path for p in start.definitions} | set(start.files)
        holding = [e for e in self.code.extensions if wanted & set(files(self.code, e))]
        holding = holding or [self._unit_of(path) for path in sorted(wanted)]
        chains: list[Chain] = []
        for extension in holding:
            reach = Reach(self.code, extension)
            places = [p for p in start.definitions if p.path in reach.files]
            operators = tuple(o for o, c in exports(self.code, extension) if not places or reach.of(c) & set(places))
            up = self._up(tuple(Operator(o, (extension.id,)) for o in operators)) if places else ()
            edges = tuple(dict.fromkeys((*above, *up, *self._building(extension))))
            route = Route(edges, (), operators if places else ())
            chains.append(self._chain(f"{extension.id}/{start.name}", start, extension, route, reach))
        return tuple(chains)

    def _unit_of(self, path: str) -> Extension:
        """What no Python code builds (a CMake target, a file alone): the sources that include `path`."""
        sources = [
            p for p in self.code.cuda if p.endswith((".cu", ".cpp", ".cc")) and path in self.code.includes.closure(p)
        ]
        stem = path.rpartition("/")[2].partition(".")[0]
        return Extension(stem, stem, "", path, 1, tuple(sources) or (path,))

    # -- Python paths ------------------------------------------------------------------------------------------------

    def _down(self, functions: tuple[Fn, ...]) -> tuple[Edge, ...]:
        """Every call that `functions` reach, as far as the code is scanned and the limit allows; remembered."""
        if functions not in self._below:
            self._below[functions] = self._calls_below(functions)
        return self._below[functions]

    def _calls_below(self, functions: tuple[Fn, ...]) -> tuple[Edge, ...]:
        edges: list[Edge] = []
        seen: set[Fn] = set()
        pending = list(functions)
        while pending and len(seen) < _NODES:
            fn = pending.pop(0)
            if fn in seen or fn in self.graph.builders:
                continue
            seen.add(fn)
            for call, callee in self.graph.callees(fn):
                if callee != fn:
                    edges.append(Edge(fn, call, callee))
                    if isinstance(callee, Fn):
                        pending.append(callee)
        return tuple(edges)

    def _up(self, targets: Iterable[Fn | Operator]) -> tuple[Edge, ...]:
        """Every call that leads to `targets`, outermost first; the way ends where code becomes general."""
        levels: list[list[Edge]] = []
        seen: set[Fn | Operator] = set(targets)
        current: list[Fn | Operator] = sorted(seen, key=repr)
        while current and len(levels) < _LEVELS:
            level = [edge for target in current for edge in self._calling(target)]
            levels.append(level)
            following = {e.caller for e in level if e.caller.name} - seen
            seen |= following
            current = sorted(following, key=repr)
        return tuple(edge for level in reversed(levels) for edge in level)

    def _calling(self, target: Fn | Operator) -> list[Edge]:
        if isinstance(target, Fn) and target in self.graph.builders:
            return []
        calls = [(fn, call) for fn, call in self.graph.callers(target) if not call.mention and fn != target]
        if len({fn for fn, _ in calls}) > _FAN_IN:
            return []
        return [Edge(fn, call, target) for fn, call in sorted(calls, key=lambda c: (c[0].path, c[1].line))]

    def _building(self, extension: Extension) -> tuple[Edge, ...]:
        """The calls of the functions that build the module: loaders and ahead-of-time lists."""
        names = (extension.function, *extension.wrappers)
        builders = [Fn(extension.path, name) for name in names if name]
        variants = set(self.graph.builders) - set(builders)
        return tuple(
            Edge(fn, call, builder)
            for builder in builders
            for fn, call in sorted(self.graph.callers(builder), key=lambda c: (c[0].path, c[1].line))
            if fn not in (builder, *variants) and not (call.mention and not call.guards)
        )

    def _guarded_by(self, functions: tuple[Fn, ...]) -> tuple[Edge, ...]:
        """For a predicate: what runs only if it says yes."""
        edges: list[Edge] = []
        for fn in functions:
            for caller, _ in self.graph.callers(fn)[:_FAN_IN]:
                edges += [e for e in self._calls_in(caller) if any(fn.short in g.names for g in e.call.guards)]
        following = tuple(e.callee for e in edges if isinstance(e.callee, Fn))
        return (*edges, *self._down(following)) if edges else ()

    def _calls_in(self, fn: Fn) -> Iterable[Edge]:
        """The calls of a function, those on unknown objects by their name."""
        if not fn.name:
            return
        yield from (Edge(fn, call, callee) for call, callee in self.graph.callees(fn))
        for call in self.code.module(fn.path).calls_by_caller.get(fn.name, ()):
            if not call.mention and not self.graph.resolve(fn.path, fn.name, call.callee):
                yield from (Edge(fn, call, callee) for callee in self.graph.by_name(call))

    # -- assembling --------------------------------------------------------------------------------------------------

    def _chain(
        self, identifier: str, start: EntryPoint, extension: Extension | None, route: Route, reach: Reach | None = None
    ) -> Chain:
        python = self._python_gates(route)
        built = self._builder_gates(extension) if extension else ()
        listing = tuple(
            s for e in route.edges if extension and _lists(e, extension) for s in self.gates.deciding(e.caller, e.call)
        )
        listing = tuple(dict.fromkeys(s for s in listing if s not in built))
        python = tuple(s for s in python if s not in built and s not in listing)
        compiled = Compiled(self.code, extension, self.states, route.operators, start, reach) if extension else None
        steps = (
            *self._python_steps(route, python, (*built, *listing)),
            *(s.step(RUN) for s in built),
            *(self._listing_step(s, extension) for s in listing),
            *(_missing(extension) if extension else ()),
            *(compiled.steps() if compiled else ()),
        )
        run = (*python, *built, *listing, *(compiled.gates(RUN) if compiled else ()))
        unlaunched = compiled.gates(BUILT) if compiled else ()
        as_whole = not route.operators and not route.functions and not start.files
        if compiled and as_whole:
            run, unlaunched = (*python, *built, *listing, *compiled.built()), ()
        said = chain_summary(
            start.name, tuple(dict.fromkeys(run)), unlaunched, self._remarks(start, extension, compiled)
        )
        name = start.name if route.operators or extension is None else extension.name
        called = (e.callee.called for e in route.edges if isinstance(e.callee, Operator))
        operators = tuple(dict.fromkeys((*route.operators, *(o.called for o in start.operators), *called)))
        return Chain(identifier, name, tuple(dict.fromkeys(steps)), said, operators)

    def _python_gates(self, route: Route) -> tuple[GateState, ...]:
        found: dict[GateState, None] = {}
        for edge in route.edges:
            found.update(dict.fromkeys(self.gates.deciding(edge.caller, edge.call)))
        for fn in route.functions:
            found.update(dict.fromkeys(self.gates.inside(fn)))
        return tuple(found)

    def _builder_gates(self, extension: Extension) -> tuple[GateState, ...]:
        names = [name for name in (*reversed(extension.wrappers), extension.function) if name]
        found = dict.fromkeys(s for name in names for s in self.gates.inside(Fn(extension.path, name)))
        return (
            *found,
            *(s for s in self.states.get(extension.path, ()) if is_for_all(s.gate, extension) and s not in found),
        )

    def _python_steps(
        self, route: Route, gates: tuple[GateState, ...], elsewhere: tuple[GateState, ...]
    ) -> Iterable[Step]:
        """Gates in the order of the path, and a clean step for every file on it that shuts nothing out."""
        shutting = {s.gate.path for s in (*gates, *elsewhere) if s.state != OPEN}
        shown: set[GateState | str] = set()
        for edge in route.edges:
            for state in self.gates.deciding(edge.caller, edge.call):
                if state in gates and state not in shown:
                    shown.add(state)
                    yield state.step(RUN)
            path = edge.caller.path
            if path not in shutting and path not in shown:
                shown.add(path)
                yield _clean_step(path, [e for e in route.edges if e.caller.path == path])
        yield from (s.step(RUN) for s in gates if s not in shown)

    def _listing_step(self, state: GateState, extension: Extension | None) -> Step:
        return state.step(RUN, lists(state, extension) if extension else "")

    def _remarks(self, start: EntryPoint, extension: Extension | None, compiled: Compiled | None) -> list[str]:
        remarks: list[str] = []
        if len({fn.path for fn in start.functions}) > 1:
            places = sorted({fn.path for fn in start.functions})
            remarks.append(f"{start.name} is ambiguous, all were followed: {', '.join(places)}")
        if extension:
            for name, found in extension.ambiguous:
                remarks.append(f"{name} is ambiguous, all were read: {', '.join(found)}")
            if extension.missing:
                remarks.append(f"not found in what was scanned: {', '.join(dict(extension.missing))}")
        if extension is None and start.functions:
            remarks += self._unfollowed(start.functions)
        return remarks + (compiled.remarks() if compiled else [])

    def _unfollowed(self, functions: tuple[Fn, ...]) -> Iterable[str]:
        """Where the way down ends without having reached compiled code: what is called there and was not scanned."""
        passed = dict.fromkeys((*functions, *(e.callee for e in self._down(functions) if isinstance(e.callee, Fn))))
        outside = sorted({name for fn in passed for name in self.graph.outside(fn)})
        if outside:
            yield f"called on the way, not scanned and so not followed: {', '.join(outside)}"
        unknown = sum(self.graph.on_unknown_objects(fn) for fn in passed)
        if unknown:
            yield f"{counted(unknown, 'call')} on objects of unknown class not followed"
        if len(passed) >= _NODES:
            yield f"only the first {_NODES} functions on the way down were followed"


def _only_variant(extension: Extension, name: str) -> Extension:
    """The module as one of several functions builds it, if that function was named."""
    short = name.rpartition(".")[2]
    return replace(extension, wrappers=(short,)) if short in extension.wrappers else extension


def _reached(down: Iterable[Edge], operators: Iterable[Operator]) -> dict[str, tuple[str, ...]]:
    """Extension id -> operators that are called, in order."""
    found: dict[str, dict[str, None]] = {}
    for operator in (*operators, *(e.callee for e in down if isinstance(e.callee, Operator))):
        for identifier in operator.extensions:
            found.setdefault(identifier, {})[operator.name] = None
    return {identifier: tuple(names) for identifier, names in found.items()}


def _towards(down: tuple[Edge, ...], wanted: Callable[[Operator], bool]) -> tuple[Edge, ...]:
    """Those calls that lead to one of the wanted operators."""
    good: set[Fn | Operator] = {e.callee for e in down if isinstance(e.callee, Operator) and wanted(e.callee)}
    changed = True
    while changed:
        more = {e.caller for e in down if e.callee in good} - good
        good |= more
        changed = bool(more)
    return tuple(e for e in down if e.callee in good)


def _lists(edge: Edge, extension: Extension) -> bool:
    """Whether a call of a builder only puts it on a list: the caller does not use the module."""
    return (
        isinstance(edge.callee, Fn)
        and edge.callee.path == extension.path
        and edge.callee.name in (extension.function, *extension.wrappers)
        and bool(edge.call.guards)
    )


def _clean_step(path: str, edges: list[Edge]) -> Step:
    """One step for a Python file on the path, with the calls that lead through it."""
    calls = [(e.caller.name.rpartition(".")[2] or "module level", e.callee.name.rpartition(".")[2]) for e in edges]
    passing = dict.fromkeys(f"{caller} calls {callee}" for caller, callee in calls if caller != callee)
    named = list(passing)[:_NAMED] or [f"calls {calls[0][1]}"]
    more = f" and {len(passing) - _NAMED} more" if len(passing) > _NAMED else ""
    message = f"read: {'; '.join(named)}{more}; no gate shuts it out here"
    return Step("python", path, edges[0].call.line, CLEAN, RUN, None, message, "function")


def _missing(extension: Extension) -> Iterable[Step]:
    for name, line in extension.missing:
        message = f"{name} is compiled into {extension.name} and was not found in what was scanned"
        yield Step("jit", extension.path, line, UNKNOWN, BUILT, None, message, "file")
