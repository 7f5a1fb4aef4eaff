"""Finds the Python gates that decide whether a call happens: in its guards, and in what the guards ask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from archscan.model.gate import Role
from archscan.model.report import Report
from archscan.tracing.code import Code
from archscan.tracing.python_calls import Call, Function, Guard, Value
from archscan.tracing.python_graph import Fn, PythonGraph
from archscan.tracing.states import GateState, states

_PREDICATE_DEPTH = 4  # predicates that ask predicates
_SETTING = 12  # characters from which an attribute is taken for the same setting wherever it is set
_SETTERS = 8  # files that set it; more, and the name is a common one


class PythonGates:
    """Gates by the condition they stand in, with the settings that they switch."""

    def __init__(self, graph: PythonGraph, states: Mapping[str, tuple[GateState, ...]]) -> None:
        self.graph = graph
        self.code: Code = graph.code
        self.states = states
        self._with_gates = [p for p in states if p.endswith(".py") and p in graph.code.origins]
        self._used: dict[str, list[tuple[int, GateState]]] = {}
        for state in (s for file in states.values() for s in file):
            for related in state.gate.related:
                if related.role is Role.CALLER:
                    self._used.setdefault(related.path, []).append((related.line, state))
        self._asked: dict[Fn, tuple[GateState, ...]] = {}
        self._switched: dict[str, tuple[GateState, ...]] = {}

    @classmethod
    def of(cls, report: Report, code: Code) -> PythonGates:
        """The gates of a report over the graph of its code."""
        return cls(PythonGraph(code), states(report))

    def deciding(self, caller: Fn, call: Call) -> tuple[GateState, ...]:
        """The gates on which a call depends, in the order in which they are asked."""
        found: dict[GateState, None] = {}
        for guard in call.guards:
            found.update(dict.fromkeys(self._of_guard(caller, guard)))
        found.update(dict.fromkeys(self._around(caller, call)))
        return tuple(found)

    def inside(self, fn: Fn) -> tuple[GateState, ...]:
        """The gates in a function, those of functions nested in it included."""
        function = self.graph.function(fn)
        return tuple(self._between(fn.path, function.first_line, function.end_line)) if function else ()

    def _of_guard(self, caller: Fn, guard: Guard) -> Iterator[GateState]:
        yield from self._between(caller.path, guard.line, guard.end_line)
        for name in sorted(guard.names):
            yield from self._asks(caller.path, caller.name, name, _PREDICATE_DEPTH, frozenset({caller}))

    def _around(self, caller: Fn, call: Call) -> Iterator[GateState]:
        """Gates of the same function with the call in one of their arms."""
        for state in self.states.get(caller.path, ()):
            for arm in state.gate.arms:
                if arm.body is not None and arm.body.line <= call.line <= arm.body.end_line:
                    yield state

    def _between(self, path: str, first: int, last: int) -> Iterator[GateState]:
        """Gates that stand in those lines, and gates on a list or bound that is used there."""
        yield from (s for s in self.states.get(path, ()) if first <= s.line <= last)
        yield from (s for line, s in self._used.get(path, ()) if first <= line <= last)

    def _asks(self, path: str, scope: str, name: str, depth: int, seen: frozenset[Fn]) -> Iterator[GateState]:
        """Gates behind a name in a condition: a predicate's own, those of a value it was set from, of a setting."""
        if depth == 0:
            return
        for entity in self.graph.resolve(path, scope, name):
            if isinstance(entity, Fn) and entity not in seen:
                yield from self._of_predicate(entity, depth - 1, seen | {entity})
        for value in self._values(path, scope, name):
            yield from self._between(path, value.line, value.line)
            for inner in sorted(value.names - {name}):
                yield from self._asks(path, value.scope, inner, depth - 1, seen)
        yield from self._switching(name)

    def _values(self, path: str, scope: str, name: str) -> list[Value]:
        """Assignments of a name in the nearest scope that has any."""
        module = self.code.module(path)
        while True:
            found = module.values_by_name.get((scope, name), [])
            if found or not scope:
                return found
            scope = scope.rpartition(".")[0]

    def _of_predicate(self, fn: Fn, depth: int, seen: frozenset[Fn]) -> tuple[GateState, ...]:
        function = self.graph.function(fn)
        if function is None or function.is_class:
            return ()
        if fn not in self._asked:
            self._asked[fn] = ()
            self._asked[fn] = tuple(dict.fromkeys(self._in_predicate(fn, function, depth, seen)))
        return self._asked[fn]

    def _in_predicate(self, fn: Fn, function: Function, depth: int, seen: frozenset[Fn]) -> Iterator[GateState]:
        yield from self._between(fn.path, function.first_line, function.end_line)
        for call in self.code.module(fn.path).calls_by_caller.get(fn.name, ()):
            if call.mention:
                yield from self._switching(call.name)
                continue
            for entity in self.graph.resolve(fn.path, fn.name, call.callee):
                if isinstance(entity, Fn) and entity not in seen and depth:
                    yield from self._of_predicate(entity, depth - 1, seen | {entity})

    def _switching(self, name: str) -> tuple[GateState, ...]:
        """Gates with an arm that sets the attribute or key `name`: `self.enable_x = True`, `{"x_backend": ...}`."""
        if len(name) < _SETTING or "_" not in name:
            return ()
        if name not in self._switched:
            setters = self._setters(name)
            self._switched[name] = tuple(setters)
        return self._switched[name]

    def _setters(self, name: str) -> Iterable[GateState]:
        word = re.escape(name.encode("utf-8", "backslashreplace"))
        sets = re.compile(rb"""\.%s\s*(?::[^=\n]+)?=(?!=)|["']%s["']\s*:""" % (word, word))
        found: list[GateState] = []
        holding = self.code.holding(name, self._with_gates)
        if len(holding) > _SETTERS:
            return ()
        for path in holding:
            data = self.code.data(path)
            lines = [data.count(b"\n", 0, m.start()) + 1 for m in sets.finditer(data)]
            for state in self.states[path]:
                bodies = [arm.body for arm in state.gate.arms if arm.body is not None]
                if any(body.line <= line <= body.end_line for body in bodies for line in lines):
                    found.append(state)
        return found
