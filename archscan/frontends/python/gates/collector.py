"""Finds the gates of one module: looks at the places a trigger word stands and evaluates what decides there."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.python.gates.capability_ranges import (
    visit_bound,
    visit_bound_method,
    visit_call,
    visit_class_list,
)
from archscan.frontends.python.gates.decisions import (
    visit_assert,
    visit_assignment,
    visit_conditional,
    visit_filter,
    visit_lambda,
    visit_return,
    visit_while,
)
from archscan.frontends.python.gates.flags import visit_command, visit_flags
from archscan.frontends.python.gates.if_chains import visit_if
from archscan.frontends.python.gates.lists import visit_argument, visit_decorator, visit_keyword
from archscan.frontends.python.gates.matches import visit_match
from archscan.frontends.python.gates.notes import features_in
from archscan.frontends.python.gates.tables import visit_pair, visit_reader, visit_rows
from archscan.frontends.python.interpreter.conditions import Answer
from archscan.frontends.python.interpreter.evaluate import Interpreter
from archscan.frontends.python.interpreter.frames import MISSING, Frame
from archscan.frontends.python.interpreter.knowledge import UNSTATED
from archscan.frontends.python.interpreter.runs import mixes
from archscan.frontends.python.interpreter.values import FuncV, PartialV, depends
from archscan.frontends.python.source.blocks import is_predicate, returns_in
from archscan.frontends.python.source.comments import names_in, said_in
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.outside import leading, spoken
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import line_of, operands, text
from archscan.frontends.python.source.triggers import LONGEST, occurrences
from archscan.model.facts import Undecided
from archscan.model.gate import FeatureUse, Gate, Kind

_COMMON = frozenset(
    {"main", "__init__", "forward", "run", "__call__", "__new__", "setup", "apply", "wrapper", "get", "call", "create"}
)


_KEY = re.compile(rb"""\s*(?:"[^"\n]*"|'[^'\n]*')\s*:""")
_DEEPEST = 400  # nodes around a place: a sum of thousands is as deep, and each of its terms would be gone down to
_LONGEST_TOLD = 120  # characters of a line that was not understood


@dataclass(eq=False)
class CollectorState:
    """What a pass over a module has found so far."""

    gates: dict[tuple[str, int, str], Gate] = field(default_factory=dict)
    seen: set[tuple[int, int, str]] = field(default_factory=set)
    queue: list[int] = field(default_factory=list)
    queued: set[int] = field(default_factory=set)
    places: dict[str, list[int]] = field(default_factory=dict)
    entered: dict[tuple[int, int, int], Answer] = field(default_factory=dict)  # answers of arms, by where they are
    # what leads to a statement: its block and itself, and how many places were known to ask for the target
    reached: dict[tuple[int, int, int, int], Answer] = field(default_factory=dict)
    deep: list[tuple[int, int]] = field(default_factory=list)  # ranges that are nested too deeply to be read
    words: dict[tuple[int, int], str] = field(default_factory=dict)  # of arms
    undecided: list[Undecided] = field(default_factory=list)


class GateCollector:
    """One pass over one module."""

    def __init__(
        self,
        interpreter: Interpreter,
        module: Module,
        users: Mapping[str, frozenset[str]],
        recogniser: Recogniser,
        catalog: Catalog,
    ) -> None:
        self.recogniser = recogniser
        self.catalog = catalog
        self.interpreter = interpreter
        self.module = module
        self._users = users
        self.found = CollectorState()
        self.offsets: list[int] = []  # every place worth a look, in order
        self.definitions: list[tuple[Node, Callable[[], None]]] = []  # what answers others, with its gate

    def run(self, extra: Iterable[str] = ()) -> list[Gate]:
        """The module's gates in source order; `extra` are names of predicates defined elsewhere."""
        self._push(self._deciding())
        for name in extra:
            self.interpreter.steps = 0
            value = self.interpreter.member(self.module, name)
            if isinstance(value, FuncV) and self.decides(value.node, value.module):
                continue
            if depends(value) or isinstance(value, (FuncV, PartialV)):
                self._push(self.places(name))
            elif value is MISSING:
                self._push(p for p in self.places(name) if self.module.data[p - 1 : p] == b".")
        while self.found.queue:
            offset = self.found.queue.pop()
            try:
                self._visit(offset)
            except RecursionError:
                self._give_up(offset, "nested too deeply to be read")
        self._add_unanswered()
        for offset in self.module.index.overlong:
            self._give_up(offset, f"a line of more than {LONGEST:,} bytes")
        return sorted(self.found.gates.values(), key=lambda g: (g.path, g.place.start, g.kind))

    def _deciding(self) -> list[int]:
        """The places where the module may ask for the target: not on the way to a function from outside."""
        index, knowledge = self.module.index, self.interpreter.knowledge
        found = dict.fromkeys(index.deciding)
        for at, module, space, function in leading(self.module.data, index.deciding):
            known = knowledge.constant(space) is not UNSTATED or knowledge.holds(space)
            outside = self.interpreter.graph.absolute(module, self.module) is None and not known
            if outside and knowledge.call(f"{space}.{function}", function, self.interpreter.lanes) is None:
                for one in (at, *spoken(self.module.data, at, index.deciding)):
                    found.pop(one, None)
        return list(found)

    def _add_unanswered(self) -> None:
        """Adds the gates of functions and flags by whose answer nothing decides that was seen."""
        told = {r.line for g in self.found.gates.values() for r in g.related if r.path == self.module.path}
        for function, add in self.definitions:
            lines = range(line_of(function), function.end_point[0] + 2)
            is_flag = function.type == "assignment"
            if (is_flag or not self._is_used_elsewhere(function)) and not any(line in lines for line in told):
                add()

    def users_of(self, name: str) -> frozenset[str]:
        """The modules that mention a name."""
        self.interpreter.graph.traces.searched(self.module, ("users", name), ())
        return self._users.get(name, frozenset())

    def led_to_users_of(self, name: str) -> frozenset[str]:
        """The modules that mention a name, to be evaluated."""
        users = self.users_of(name)
        self.interpreter.graph.traces.searched(self.module, ("users", name), users, evaluated=True)
        return users

    def _is_used_elsewhere(self, function: Node) -> bool:
        name = child(function, "name")
        users = self.users_of(text(name)) if name is not None else frozenset()
        return not self._class_around(function) and bool(users - {self.module.path})

    def _push(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            if offset not in self.found.queued:
                self.found.queued.add(offset)
                self.found.queue.append(offset)
                insort(self.offsets, offset)

    def _give_up(self, offset: int, reason: str) -> None:
        """Notes the line of an offset as not understood."""
        data = self.module.data
        start, end = data.rfind(b"\n", 0, offset) + 1, data.find(b"\n", offset)
        line = data[start : end if end >= 0 else len(data)].strip()[:_LONGEST_TOLD].decode("utf-8", "replace")
        self.found.undecided.append(Undecided(data.count(b"\n", 0, offset) + 1, line, reason))

    def _visit(self, offset: int) -> None:
        if any(start <= offset < end for start, end in self.found.deep):
            return
        self.interpreter.steps = 0
        path = self.module.descend(offset)
        if len(path) > _DEEPEST:
            deep = path[_DEEPEST]
            self.found.deep.append((deep.start_byte, deep.end_byte))
            raise RecursionError
        if any(node.type == "ERROR" for node in path):
            self._give_up(offset, "not valid Python")
        self._spread_from(path)
        for i in range(len(path) - 1, 0, -1):
            handler = _VISITORS.get(path[i - 1].type)
            if handler is not None:
                handler(self, path[: i + 1])

    def _spread_from(self, path: list[Node]) -> None:
        """A small function that asks for the target may answer others: its callers are worth a look."""
        for node in reversed(path[:-1]):
            if node.type == "class_definition":
                return
            if node.type == "function_definition":
                name = child(node, "name")
                shown = text(name) if name is not None else ""
                small = node.end_point[0] - node.start_point[0] < 60
                if small and shown not in _COMMON and self.once(node, "callers") and not self._keeps(node):
                    self.spread_function(shown, node)

    def _keeps(self, function: Node) -> bool:
        """Whether nobody else's answer hangs on the function: it returns nothing, or decides by itself."""
        returns = [r for r in returns_in(function) if operands(r)]
        return not returns or (is_predicate(function) and self.decides(function))

    def decides(self, function: Node, module: Module | None = None) -> bool:
        """Whether what the function answers mixes the target with other conditions: then the gate is in it."""
        return mixes(self.interpreter, module or self.module, function)

    def answers_others(self, function: Node) -> bool:
        """Whether the function only answers callers about the target: it is a definition, and they decide."""
        if self.decides(function):
            return False
        name = child(function, "name")
        shown = text(name) if name is not None else ""
        self.spread_function(shown, function)
        return self.is_used(shown, function)

    def once(self, node: Node, what: str) -> bool:
        key = (node.start_byte, node.end_byte, what)
        if key in self.found.seen:
            return False
        self.found.seen.add(key)
        return True

    def frame(self, path: list[Node]) -> Frame:
        return self.interpreter.frame_at(self.module, path)

    def traced(self) -> None:
        self.interpreter.trace = []

    def asks(self, node: Node) -> bool:
        condition = operands(node)[0] if node.type == "assert_statement" else child(node, "condition")
        if condition is None:
            return False
        i = bisect_left(self.offsets, condition.start_byte)
        return i < len(self.offsets) and self.offsets[i] < condition.end_byte

    def spread_function(self, name: str, function: Node) -> None:
        places = self.places(name)
        self._push(p for p in places if not function.start_byte <= p < function.end_byte)

    def places(self, name: str, start: int = 0, end: int = 1 << 60) -> list[int]:
        """Every place of a name as a word of its own."""
        known = self.found.places.get(name)
        if known is None:
            known = self.found.places[name] = occurrences(self.module.data, name.encode())
        return [p for p in known if start <= p < end]

    def is_used(self, name: str, function: Node) -> bool:
        """Whether something scanned uses the function; of a method only its own module is asked."""
        if self._is_used_elsewhere(function):
            return True
        places = self.places(name)
        return any(not function.start_byte <= p < function.end_byte and not self._in_noise(p) for p in places)

    def _class_around(self, function: Node) -> str:
        """The name of the class that a function is a method of."""
        path = self.module.descend(function.start_byte)
        inside = [n for n in path if n.type in ("class_definition", "function_definition") and n != function]
        name = child(inside[-1], "name") if inside and inside[-1].type == "class_definition" else None
        return text(name) if name is not None else ""

    def _in_noise(self, offset: int) -> bool:
        start = self.module.data.rfind(b"\n", 0, offset) + 1
        line = self.module.data[start : self.module.data.find(b"\n", offset)].strip()
        if line.startswith((b'"', b"'")):
            return _KEY.match(self.module.data, start, offset) is None
        return line.startswith((b"#", b"from ", b"import "))

    def spread_name(self, name: str, node: Node, path: list[Node]) -> list[int]:
        """Looks at every use of an assigned name; where they are."""
        scope = next((n for n in reversed(path[:-2]) if n.type in ("function_definition", "class_definition")), None)
        start, end = (0, len(self.module.data))
        if scope is not None and "." not in name and scope.type == "function_definition":
            start, end = scope.start_byte, scope.end_byte
        if scope is not None and scope.type == "class_definition":
            places = self.places("self." + name) + self.places("cls." + name)
        else:
            places = self.places(name, start, end)
        places = [p for p in places if not node.start_byte <= p < node.end_byte and not self._in_noise(p)]
        self._push(places)
        return places

    def words(self, block: Node) -> str:
        """What is said and named in an arm, remembered: more than one note is taken from it."""
        key = (block.start_byte, block.end_byte)
        known = self.found.words.get(key)
        if known is None:
            known = self.found.words[key] = said_in(block) + " " + names_in(block)
        return known

    def features(self, words: str, node: Node) -> tuple[FeatureUse, ...]:
        return features_in(self.recogniser, words, line_of(node))

    def add(self, gate: Gate) -> None:
        """Keeps a gate that some target can reach under the assumptions."""
        if gate.reach is not None and gate.reach.no & self.interpreter.lanes.all == self.interpreter.lanes.all:
            return
        key = (gate.path, gate.place.start, gate.kind.value)
        known = self.found.gates.get(key)
        if known is None:
            self.found.gates[key] = gate
        elif gate.kind is Kind.ALLOW_LIST:  # one gate per list: its other users go with it
            self.found.gates[key] = replace(known, related=tuple(dict.fromkeys((*known.related, *gate.related)))[:12])


def visit_calls(scan: GateCollector, path: list[Node]) -> None:
    visit_reader(scan, path)
    visit_call(scan, path)


def visit_keywords(scan: GateCollector, path: list[Node]) -> None:
    if not visit_flags(scan, path):
        visit_keyword(scan, path)


def visit_assignments(scan: GateCollector, path: list[Node]) -> None:
    if not visit_bound(scan, path) and not visit_class_list(scan, path):
        visit_assignment(scan, path)


def visit_default(scan: GateCollector, path: list[Node]) -> None:
    """A parameter that asks for the target unless it is given: what it decides in its function is worth a look."""
    parameter, default = path[-2], path[-1]
    named = child(parameter, "name")
    if default != child(parameter, "value") or named is None or not scan.once(parameter, "default"):
        return
    if depends(scan.interpreter.evaluate(default, scan.frame(path))):
        scan.spread_name(text(named), parameter, path)


_VISITORS = {
    "default_parameter": visit_default,
    "typed_default_parameter": visit_default,
    "if_statement": visit_if,
    "elif_clause": visit_if,
    "conditional_expression": visit_conditional,
    "assert_statement": visit_assert,
    "while_statement": visit_while,
    "return_statement": visit_return,
    "assignment": visit_assignments,
    "if_clause": visit_filter,
    "lambda": visit_lambda,
    "match_statement": visit_match,
    "function_definition": visit_bound_method,
    "keyword_argument": visit_keywords,
    "list": visit_command,
    "argument_list": visit_argument,
    "decorator": visit_decorator,
    "pair": visit_pair,
    "dictionary": visit_rows,
    "subscript": visit_reader,
    "comparison_operator": visit_reader,
    "call": visit_calls,
}
