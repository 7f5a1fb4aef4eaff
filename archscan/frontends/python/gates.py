"""Finds the gates of one module: looks at the places a trigger word stands and evaluates what decides there."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from archscan.catalog.recognise import Recogniser
from archscan.frontends.python.conditions import (
    Answer,
    always,
    answer,
    answer_of,
    arm_answers,
    deciding,
    focus,
    met,
    passed,
)
from archscan.frontends.python.effects import after, asserted, block_effect, effect_of
from archscan.frontends.python.evaluate import Frame, Interpreter, Raise
from archscan.frontends.python.lists import (
    asks_table,
    at_definition,
    named_list,
    raises_in,
    visit_argument,
    visit_bound,
    visit_call,
    visit_decorator,
    visit_keyword,
    visit_pair,
    visit_reader,
    visit_rows,
)
from archscan.frontends.python.matches import visit_match
from archscan.frontends.python.modules import Module
from archscan.frontends.python.notes import (
    comments,
    features_in,
    images_in,
    names_in,
    quirk_in,
    said_above,
    said_in,
    shared_bytes,
)
from archscan.frontends.python.scopes import Scope as BlockScope
from archscan.frontends.python.syntax import (
    COMPOUND,
    arguments,
    docstring,
    if_arms,
    inner,
    line_of,
    oneline,
    operands,
    place,
    statements,
    text,
)
from archscan.frontends.python.syntax import field as child
from archscan.frontends.python.triggers import occurrences
from archscan.frontends.python.values import FuncV, PartialV, depends, is_text
from archscan.model.gate import Arm, Does, Effect, FeatureUse, Gate, Kind, Layer, Related, Scope
from archscan.model.truth import Truth

ASSUMPTIONS = ("CUDA, not ROCm", "toolkit and libraries new enough", "environment variables unset")


@dataclass(eq=False)
class Found:
    """What a pass over a module has found so far."""

    gates: dict[tuple[int, str], Gate] = field(default_factory=dict)
    seen: set[tuple[int, int, str]] = field(default_factory=set)
    queue: list[int] = field(default_factory=list)
    queued: set[int] = field(default_factory=set)
    places: dict[str, list[int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class ModulePass:
    """One pass over one module."""

    def __init__(
        self,
        interpreter: Interpreter,
        module: Module,
        users: Mapping[str, frozenset[str]],
        recogniser: Recogniser,
    ) -> None:
        self.recogniser = recogniser
        self.interpreter = interpreter
        self.module = module
        self.users = users
        self.found = Found()
        self.offsets: list[int] = []  # every place worth a look, in order

    def run(self, extra: Iterable[str] = ()) -> list[Gate]:
        """The module's gates in source order; `extra` are names of predicates defined elsewhere."""
        self._push(self.module.index.deciding)
        for name in extra:
            value = self.interpreter.member(self.module, name)
            if isinstance(value, FuncV) and self._decides(value.node, value.module):
                continue
            if depends(value) or isinstance(value, (FuncV, PartialV)):
                self._push(self._places(name))
        while self.found.queue:
            offset = self.found.queue.pop()
            try:
                self._visit(offset)
            except RecursionError:
                line = self.module.data.count(b"\n", 0, offset) + 1
                self.found.problems.append(f"nested too deeply to be read at line {line}")
        return sorted(self.found.gates.values(), key=lambda g: (g.place.start, g.kind))

    def _push(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            if offset not in self.found.queued:
                self.found.queued.add(offset)
                self.found.queue.append(offset)
                insort(self.offsets, offset)

    # ------------------------------------------------------------------ dispatch

    def _visit(self, offset: int) -> None:
        self.interpreter.steps = 0
        path = self.module.descend(offset)
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
                    self._spread_function(shown, node)

    def _keeps(self, function: Node) -> bool:
        """Whether nobody else's answer hangs on the function: it returns nothing, or decides by itself."""
        returns = [r for r in _returns(function) if operands(r)]
        return not returns or (is_predicate(function) and self._decides(function))

    def _decides(self, function: Node, module: Module | None = None) -> bool:
        """Whether what the function answers mixes the target with other conditions: then the gate is in it."""
        return self.interpreter.mixes(module or self.module, function)

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
        self.interpreter.environment = {}

    # ------------------------------------------------------------------ if statements

    def _if(self, path: list[Node]) -> None:
        statement, below = path[-2], path[-1]
        if below != child(statement, "condition"):
            return
        if statement.type == "elif_clause":
            path = path[:-1]
            statement = path[-2]
        if not self.once(statement, "if"):
            return
        ladder = self._ladder(statement, path)
        if ladder[0] != statement and not self.once(ladder[0], "if"):
            return
        for one in ladder:
            self.once(one, "if")
        condition = child(ladder[0], "condition")
        self._if_gate(ladder, [*path[:-2], ladder[0], condition if condition is not None else path[-1]])

    def _ladder(self, statement: Node, path: list[Node]) -> list[Node]:
        """Consecutive ifs that each return something of their own: one ladder."""
        block = path[-3] if len(path) > 2 else statement
        siblings = statements(block) if block.type in ("block", "module") else [statement]
        index = next((i for i, s in enumerate(siblings) if s == statement), 0)
        if not siblings or not _is_rung(statement):
            return [statement]
        first = last = index
        while first > 0 and _is_rung(siblings[first - 1]) and self._asks(siblings[first - 1]):
            first -= 1
        while last + 1 < len(siblings) and _is_rung(siblings[last + 1]) and self._asks(siblings[last + 1]):
            last += 1
        return siblings[first : last + 1]

    def _asks(self, node: Node) -> bool:
        condition = child(node, "condition")
        if condition is None:
            return False
        i = bisect_left(self.offsets, condition.start_byte)
        return i < len(self.offsets) and self.offsets[i] < condition.end_byte

    def _if_gate(self, ladder: list[Node], path: list[Node]) -> None:
        self.traced()
        frame = self.frame(path)
        answers: list[Answer] = []
        parts: list[tuple[Node | None, Node, Node]] = []
        for statement in ladder:
            answers += arm_answers(self.interpreter, statement, frame)
            parts += [(condition, block, statement) for condition, block in if_arms(statement)]
        if not self._is_gate(answers, [c for c, _, _ in parts], frame):
            return
        if self._is_predicate_body(path, frame):
            return
        related, environment = tuple(self.interpreter.trace), tuple(self.interpreter.environment)
        reach = self.reach(path)
        elsewhere = self._served_beside(ladder, path, answers)
        arms = tuple(
            replace(arm, effect=_overridden(arm.effect, environment)) if arm.effect.refuses else arm
            for arm in self._arms(parts, answers, reach, frame)
        )
        rest = self._rest(ladder, path)
        has_else = any(a.is_else for a in arms)
        first = next(i for i, a in enumerate(answers) if a.arch)
        condition = parts[first][0]
        spot = focus(self.interpreter, condition, frame) if condition is not None else ladder[0]
        gate = Gate(
            path=self.module.path,
            layer=self._layer(related, spot),
            kind=self._kind_of(Kind.IF, spot, arms, rest),
            place=place(spot, self.module.data),
            arms=arms,
            rest=Effect(Does.NOTHING) if has_else else _overridden(rest, environment),
            scope=_scope_of(path),
            reach=Truth(reach.truth.yes & ~elsewhere, reach.truth.no | elsewhere),
            related=self._definitions(related),
            near=self.near(ladder[0], path),
            symbols=_names_in(condition),
            assumptions=ASSUMPTIONS,
            extra=(*self._notes(spot, frame), *self._arm_notes(parts, path, frame), *self._quirk(ladder[0], path)),
        )
        if asks_table(self, spot, frame):
            return
        listed = named_list(spot, frame, self.interpreter)
        if listed is not None and len(arms) == 1:
            gate = at_definition(self, gate, *listed, spot)
            quirk = quirk_in(gate.near)
            gate = replace(gate, extra=(("quirk", quirk),) if quirk else ())
        self.add(gate)

    def _served_beside(self, ladder: list[Node], path: list[Node], answers: list[Answer]) -> int:
        """The lanes that no arm takes and that another if of the block takes instead: `if a: … if b: …`, all apart.

        The other if must be for other targets alone and come to something of the same sort, or it is another matter.
        """
        block = path[-3] if len(path) > 2 else ladder[0]
        taken = 0
        for own in answers:
            taken |= own.assumed.yes
        own_outcomes = _outcomes(ladder)
        served = 0
        for other in statements(block) if block.type in ("block", "module") else []:
            if other.type != "if_statement" or other in ladder or not self._asks(other):
                continue
            found = arm_answers(self.interpreter, other, self.frame([*path[:-2], other, other]))
            arms = zip(if_arms(other), found, strict=True)
            works = [own for (c, b), own in arms if c is not None and own.arch and not block_effect(b).refuses]
            lanes = 0
            for own in works:
                lanes |= own.assumed.yes
            if lanes & taken == 0 and own_outcomes & _outcomes([other]):
                served |= lanes
        return served

    def _is_gate(self, answers: list[Answer], conditions: list[Node | None], frame: Frame) -> bool:
        """Whether some answer differs between targets, or hangs on one in a way that no caller can settle."""
        if any(a.arch and a.varies for a in answers):
            return True
        return any(
            _undecided(a) and not self._left_to_callers(c, frame)
            for a, c in zip(answers, conditions, strict=True)
            if c is not None
        )

    def _left_to_callers(self, condition: Node, frame: Frame) -> bool:
        """Whether the condition compares the target with a parameter: the callers' lists are the gates."""
        names: set[str] = set()
        current: Frame | None = frame
        while current is not None:
            names |= current.parameters
            current = current.parent
        for name in _names_in(condition):
            head = name.split(".")[0]
            if head in names and not depends(self.interpreter.lookup(head, frame, condition.start_byte)):
                return True
        return False

    def _arms(
        self, parts: list[tuple[Node | None, Node, Node]], answers: list[Answer], reach: Answer, frame: Frame
    ) -> tuple[Arm, ...]:
        arms: list[Arm] = []
        left = reach
        for (condition, block, statement), own in zip(parts, answers, strict=True):
            effective = left & (own if own.arch else met(self.interpreter, own, condition or block))
            if condition is None:  # earlier arms that ask for something else are taken as not taken
                effective = replace(effective, assumed=left.assumed)
            arms.append(self._arm(condition, block, statement, own, effective, frame))
            if own.arch or own.truth.yes | own.truth.no:
                left = left & passed(self.interpreter, own)
        return tuple(arms)

    def _arm(
        self, condition: Node | None, block: Node, statement: Node, own: Answer, effective: Answer, frame: Frame
    ) -> Arm:
        spot = condition if condition is not None else block
        if condition is not None and own.arch:
            spot = focus(self.interpreter, condition, frame)
        decides = deciding(self.interpreter, condition, frame) if condition is not None and own.arch else None
        return Arm(
            place=place(spot, self.module.data),
            condition=oneline(condition) if condition is not None else "",
            own=own.truth,
            truth=effective.truth,
            assumed=effective.assumed,
            effect=block_effect(block),
            unknowns=effective.unknowns,
            assumes=effective.assumes,
            body=place(block, self.module.data),
            digest=_digest(block),
            features=self.features(said_in(block) + " " + names_in(block), block),
            calls=_calls(block),
            is_else=condition is None,
            focus=place(decides[0], self.module.data, decides[1]) if decides is not None else None,
        )

    def _rest(self, ladder: list[Node], path: list[Node]) -> Effect:
        """What follows the ladder to the end of the function, for lanes that took no arm."""
        last = ladder[-1]
        block = path[-3] if len(path) > 2 else last
        siblings = statements(block) if block.type in ("block", "module") else []
        if all(_ends(b) for s in ladder for _, b in if_arms(s)):
            return effect_of(after(last, siblings))
        return Effect(Does.NOTHING)

    def _is_predicate_body(self, path: list[Node], frame: Frame) -> bool:
        """Whether the statement only decides what a used predicate answers: its users are the gates."""
        function = next((n for n in reversed(path) if n.type == "function_definition"), None)
        if function is None or not is_predicate(function):
            return False
        name = child(function, "name")
        shown = text(name) if name is not None else ""
        if self._decides(function):
            return False
        self._spread_function(shown, function)
        return self._is_used(shown, function)

    def _spread_function(self, name: str, function: Node) -> None:
        places = self._places(name)
        self._push(p for p in places if not function.start_byte <= p < function.end_byte)

    def _places(self, name: str, start: int = 0, end: int = 1 << 60) -> list[int]:
        """Every place of a name as a word of its own."""
        known = self.found.places.get(name)
        if known is None:
            known = self.found.places[name] = occurrences(self.module.data, name.encode())
        return [p for p in known if start <= p < end]

    def _is_used(self, name: str, function: Node) -> bool:
        """Whether something scanned uses the function: by name, or for a method through self, cls or its class."""
        holder = self._class_around(function)
        if holder:
            places = [p for owner in ("self", "cls", holder) for p in self._places(f"{owner}.{name}")]
        else:
            places = self._places(name)
            if self.users.get(name, frozenset()) - {self.module.path}:
                return True
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
        return line.startswith((b"#", b"from ", b"import ", b'"', b"'"))

    # ------------------------------------------------------------------ other decisions

    def _conditional(self, path: list[Node]) -> None:
        node, below = path[-2], path[-1]
        parts = operands(node)
        if len(parts) != 3 or below != parts[1] or not self.once(node, "ifexp"):
            return
        outer = len(path) - 2
        above = outer
        while above > 1:  # `a if x else b if y else c` is one ladder, with brackets or without
            above -= 1
            if path[above].type == "conditional_expression" and inner(operands(path[above])[2]) == path[outer]:
                if not answer(self.interpreter, operands(path[above])[1], self.frame(path[: above + 1])).arch:
                    break  # another question decides first
                outer = above
            elif path[above].type != "parenthesized_expression":
                break
        if path[outer] is not node and outer != len(path) - 2 and not self.once(path[outer], "ifexp"):
            return
        self.traced()
        frame = self.frame(path)
        arms_nodes, last = _ternary(path[outer])
        answers = [answer(self.interpreter, condition, frame) for condition, _ in arms_nodes]
        if not self._is_gate(answers, [c for c, _ in arms_nodes], frame):
            return
        related, environment = tuple(self.interpreter.trace), tuple(self.interpreter.environment)
        reach = self.reach(path)
        arms: list[Arm] = []
        left = reach
        for (condition, value), own in zip(arms_nodes, answers, strict=True):
            effective = left & met(self.interpreter, own, condition)
            arm = self._arm(condition, value, node, own, effective, frame)
            arms.append(replace(arm, effect=Effect(Does.ASSIGNS, line_of(value), None, oneline(value, 120))))
            left = left & passed(self.interpreter, own) if own.arch else left
        first = next(i for i, a in enumerate(answers) if a.arch)
        spot = focus(self.interpreter, arms_nodes[first][0], frame)
        rest = Effect(Does.ASSIGNS, line_of(last), None, oneline(last, 120), environment)
        self.add(self._gate(Kind.CONDITIONAL_EXPRESSION, spot, tuple(arms), rest, related, reach, path, frame))

    def _gate(
        self, kind: Kind, spot: Node, arms: tuple[Arm, ...], rest: Effect, related: tuple[Related, ...],
        reach: Answer, path: list[Node], frame: Frame,
    ) -> Gate:  # fmt: skip
        return Gate(
            path=self.module.path,
            layer=self._layer(related, spot),
            kind=self._kind_of(kind, spot, arms, rest),
            place=place(spot, self.module.data),
            arms=arms,
            rest=rest,
            scope=_scope_of(path),
            reach=reach.truth,
            related=self._definitions(related),
            near=self.near(path[-2], path),
            symbols=_names_in(spot),
            assumptions=ASSUMPTIONS,
            extra=self._notes(spot, frame),
        )

    def _assert(self, path: list[Node]) -> None:
        node, below = path[-2], path[-1]
        condition = operands(node)[0]
        if below != condition or not self.once(node, "assert"):
            return
        self.traced()
        frame = self.frame(path)
        own = answer(self.interpreter, condition, frame)
        if not self._is_gate([own], [path[-1]], frame):
            return
        related = tuple(self.interpreter.trace)
        reach = self.reach(path)
        arm = self._arm(condition, node, node, own, reach & own, frame)
        arm = replace(arm, effect=Effect(Does.WORK, line_of(node)), body=None, calls=())
        spot = focus(self.interpreter, condition, frame)
        self.add(self._gate(Kind.CHECK, spot, (arm,), asserted(node), related, reach, path, frame))

    def _return(self, path: list[Node]) -> None:
        node, value = path[-2], inner(path[-1])
        if not _is_condition(value) or not self.once(node, "return"):
            return
        function = next((n for n in reversed(path) if n.type == "function_definition"), None)
        if function is None:
            return
        self.traced()
        frame = self.frame(path)
        own = answer(self.interpreter, value, frame)
        if not self._is_gate([own], [path[-1]], frame):
            return
        related = tuple(self.interpreter.trace)
        name = child(function, "name")
        shown = text(name) if name is not None else ""
        if not self._decides(function):  # an answer about the target alone is a definition, else a decision
            self._spread_function(shown, function)
            if self._is_used(shown, function):
                return
        reach = self.reach(path)
        arm = self._arm(value, value, node, own, reach & own, frame)
        arm = replace(arm, effect=Effect(Does.RETURNS, line_of(node), None, "True"), body=None)
        rest = Effect(Does.REFUSES, line_of(node), None, "False")
        spot = focus(self.interpreter, value, frame)
        self.add(self._gate(Kind.RETURNED_TRUTH, spot, (arm,), rest, related, reach, path, frame))

    def _assignment(self, path: list[Node]) -> None:
        node, below = path[-2], path[-1]
        right, left = child(node, "right"), child(node, "left")
        if visit_bound(self, path):
            return
        if below != right or right is None or left is None or not self.once(node, "assign"):
            return
        self.traced()
        frame = self.frame(path)
        value = self.interpreter.evaluate(right, frame)
        if not depends(value):
            return
        related = tuple(self.interpreter.trace)
        names = [text(n) for n in (operands(left) if left.type.endswith(("_list", "_pattern")) else [left])]
        uses = sum(self._spread_name(name, node, path) for name in names)
        if (
            not _is_condition(inner(right))
            or uses
            or any(self.users.get(n, frozenset()) - {self.module.path} for n in names)
        ):
            return
        own = answer_of(self.interpreter, value, right)
        if not own.varies:
            return
        reach = self.reach(path)
        arm = self._arm(right, right, node, own, reach & own, frame)
        arm = replace(arm, effect=Effect(Does.ASSIGNS, line_of(node), None, "True"), body=None)
        rest = Effect(Does.ASSIGNS, line_of(node), None, "False")
        spot = focus(self.interpreter, inner(right), frame)
        self.add(self._gate(Kind.FLAG, spot, (arm,), rest, related, reach, path, frame))

    def _spread_name(self, name: str, node: Node, path: list[Node]) -> int:
        """Looks at every use of an assigned name; the number of uses."""
        scope = next((n for n in reversed(path[:-2]) if n.type in ("function_definition", "class_definition")), None)
        start, end = (0, len(self.module.data))
        if scope is not None and "." not in name and scope.type == "function_definition":
            start, end = scope.start_byte, scope.end_byte
        if scope is not None and scope.type == "class_definition":
            places = self._places("self." + name) + self._places("cls." + name)
        else:
            places = self._places(name, start, end)
        places = [p for p in places if not node.start_byte <= p < node.end_byte and not self._in_noise(p)]
        self._push(places)
        return len(places)

    def _comprehension_test(self, path: list[Node]) -> None:
        node = path[-2]
        if path[-3].type == "case_clause" or not self.once(node, "filter"):  # a case's guard goes with its case
            return
        self.simple(path, path[-1], Kind.IF, Effect(Does.WORK, line_of(node)), Effect(Does.SKIPS, line_of(node)))

    def simple(self, path: list[Node], condition: Node, kind: Kind, does: Effect, rest: Effect) -> None:
        self.traced()
        frame = self.frame(path)
        own = answer(self.interpreter, condition, frame)
        if not (own.arch and own.varies):
            return
        related = tuple(self.interpreter.trace)
        reach = self.reach(path)
        arm = replace(self._arm(condition, condition, condition, own, reach & own, frame), effect=does, body=None)
        spot = focus(self.interpreter, condition, frame)
        self.add(self._gate(kind, spot, (arm,), rest, related, reach, path, frame))

    # ------------------------------------------------------------------ shared parts

    assumptions = ASSUMPTIONS

    def path(self, offset: int) -> list[Node]:
        return self.module.descend(offset)

    def path_in(self, module: Module, offset: int) -> list[Node]:
        return module.descend(offset)

    def features(self, words: str, node: Node) -> tuple[FeatureUse, ...]:
        return features_in(self.recogniser, words, line_of(node))

    def scope(self, path: list[Node]) -> Scope | None:
        return _scope_of(path)

    def calls(self, node: Node) -> tuple[str, ...]:
        return _calls(node)

    def names(self, node: Node) -> tuple[str, ...]:
        return _names_in(node)

    def layer_of_call(self, call: Node, path: list[Node]) -> Layer:
        """A list given to something that makes compiler flags or modules bites when those are built."""
        words = " ".join(text(n.child_by_field_name("name") or n) for n in path if n.type == "function_definition")
        function = child(call, "function")
        named = (text(function) if function is not None else "") + " " + words
        return Layer.JIT if re.search(r"flags|nvcc|gencode|jit|compile|gen_\w*module", named) else Layer.PYTHON

    def raise_in(self, name: str, parameter: str) -> Raise | None:
        """The raise of the scanned function of that name, found by name alone."""
        key = ("raise", name, parameter)
        memo = self.interpreter.graph.memo
        if key not in memo:
            memo[key] = self._search_raise(name, parameter)
        found: Raise | None = memo[key]
        return found

    def _search_raise(self, name: str, parameter: str) -> Raise | None:
        pattern = re.compile(rb"^[ \t]*def " + re.escape(name.encode()) + rb"\b", re.MULTILINE)
        for module in self.interpreter.graph.modules.values():
            if b"def " + name.encode() not in module.data:
                continue
            match = pattern.search(module.data)
            if match is None:
                continue
            path = module.descend(match.end() - 1)
            function = next((n for n in reversed(path) if n.type == "function_definition"), None)
            node = raises_in(module, function) if function is not None else None
            if node is not None:
                return Raise(0, (), node, module)
        return None

    def is_check(self, name: str) -> bool:
        """Whether a call written as a statement is there to check, by its name."""
        return any(
            w in name.lower() for w in ("require", "check", "ensure", "assert", "valid", "verify", "raise", "guard")
        )

    def add(self, gate: Gate) -> None:
        """Keeps a gate that some target can reach under the assumptions."""
        if gate.reach is not None and gate.reach.no & self.interpreter.lanes.all == self.interpreter.lanes.all:
            return
        key = (gate.place.start, gate.kind.value)
        known = self.found.gates.get(key)
        if known is None:
            self.found.gates[key] = gate
        elif gate.kind is Kind.ALLOW_LIST:  # one gate per list: its other users go with it
            self.found.gates[key] = replace(known, related=tuple(dict.fromkeys((*known.related, *gate.related)))[:12])

    def reach(self, path: list[Node]) -> Answer:
        """What the enclosing arms and the early exits before the statement leave over."""
        result = always(self.interpreter)
        for i in range(len(path) - 1):
            node, below = path[i], path[i + 1]
            if node.type in ("function_definition", "class_definition", "lambda"):
                result = always(self.interpreter)
            elif node.type == "if_statement" and i < len(path) - 2:
                result = result & self._entered(node, path, i)
            elif node.type == "block":
                result = result & self._survived(node, below, path[: i + 1])
        return result

    def _entered(self, node: Node, path: list[Node], i: int) -> Answer:
        """The answer of the arm of an if statement that the path goes through."""
        frame = self.frame(path[: i + 1])
        result = always(self.interpreter)
        for condition, block in if_arms(node):
            if condition is None:
                return result if block.start_byte <= path[-1].start_byte < block.end_byte else always(self.interpreter)
            own = answer(self.interpreter, condition, frame)
            if block.start_byte <= path[-1].start_byte < block.end_byte:
                return result & met(self.interpreter, own, condition)
            if own.arch:
                result = result & passed(self.interpreter, own)
        return always(self.interpreter)

    def _survived(self, block: Node, below: Node, path: list[Node]) -> Answer:
        """The answer of not having left the block in an earlier if that asks for the target."""
        result = always(self.interpreter)
        for statement in statements(block):
            if statement.start_byte >= below.start_byte:
                break
            if statement.type == "if_statement" and self._asks(statement):
                frame = self.frame([*path, statement])
                for (_, arm), own in zip(
                    if_arms(statement), arm_answers(self.interpreter, statement, frame), strict=True
                ):
                    if own.arch and _ends(arm):
                        result = result & passed(self.interpreter, own)
        return result

    def _definitions(self, related: tuple[Related, ...]) -> tuple[Related, ...]:
        return tuple(dict.fromkeys(related))[:12]

    def _layer(self, related: tuple[Related, ...], spot: Node) -> Layer:
        words = text(spot)
        if re.search(r"\bhas_sm_?\d", words):
            return Layer.BUILD
        name = self.module.path.rsplit("/", 1)[-1]
        if name == "setup.py" or "gencode" in words:
            return Layer.BUILD
        return Layer.PYTHON

    def _kind_of(self, kind: Kind, spot: Node, arms: tuple[Arm, ...], rest: Effect) -> Kind:
        words = text(spot)
        if re.search(r"\bhas_sm_?\d", words):
            return Kind.BUILD_FLAG
        if any(_is_skip(e) for e in (rest, *(a.effect for a in arms))):
            return Kind.TEST_SKIP
        if self._text_compare(spot):
            return Kind.STRING_COMPARE
        return kind

    def _text_compare(self, spot: Node) -> bool:
        """Whether capabilities are ordered as text: "12.0" >= "7.0" is false."""
        if spot.type != "comparison_operator":
            return False
        signs = {c.type for c in spot.children_by_field_name("operators")}
        return bool(signs & {"<", ">", "<=", ">="}) and any(inner(o).type == "string" for o in operands(spot))

    def _notes(self, spot: Node, frame: Frame) -> tuple[tuple[str, str], ...]:
        return (("encoding", "text"),) if self._text_compare(spot) or self._cuts_text(spot, frame) else ()

    def _cuts_text(self, spot: Node, frame: Frame) -> bool:
        """Whether digits are cut out of a text by position: `int("sm_120"[3:5])` is 12."""
        for operand in operands(spot) if spot.type == "comparison_operator" else ():
            call = inner(operand)
            positional, _ = arguments(call) if call.type == "call" else ([], {})
            cut = inner(positional[0]) if len(positional) == 1 else call
            holder = child(cut, "value") if cut.type == "subscript" else None
            if holder is not None and is_text(self.interpreter.evaluate(holder, frame)):
                return True
        return False

    def _arm_notes(
        self, parts: list[tuple[Node | None, Node, Node]], path: list[Node], frame: Frame
    ) -> tuple[tuple[str, str], ...]:
        """Compiled images named beside an arm, and the shared memory of the tile it returns."""
        function = next((n for n in reversed(path) if n.type == "function_definition"), None)
        found: list[tuple[str, str]] = []
        for index, (_, block, _) in enumerate(parts):
            images = images_in(said_in(block) + " " + names_in(block))
            if images:
                found.append((f"images:{index}", images))
            if function is not None:
                size = shared_bytes(self.interpreter, self.module, frame, function, block)
                if size is not None:
                    found.append((f"smem_bytes:{index}", str(size)))
        return tuple(found)

    def _quirk(self, node: Node, path: list[Node]) -> tuple[tuple[str, str], ...]:
        words = quirk_in(self.near(node, path))
        return (("quirk", words),) if words else ()

    def near(self, node: Node, path: list[Node]) -> str:
        """Comments above and inside the statement, and the docstring of the function around it."""
        words = said_above(node)
        words += [text(c).lstrip("# ") for c in comments(node)]
        function = next((n for n in reversed(path) if n.type == "function_definition"), None)
        if function is not None:
            words.append(docstring(function)[:400])
        return " ".join(" ".join(words).split())[:1200]


def _overridden(effect: Effect, environment: tuple[str, ...]) -> Effect:
    """The effect with the environment variables that were asked for on the way to it."""
    return replace(effect, environment=environment) if environment else effect


def _undecided(own: Answer) -> bool:
    return own.arch and not own.assumed.yes and not own.assumed.no


def _outcomes(ladder: list[Node]) -> frozenset[str]:
    """What the arms of ifs are for: names that they assign, and `return` where they return a value."""
    found: set[str] = set()
    for statement in ladder:
        for _, block in if_arms(statement):
            for name, bindings in BlockScope(block).bindings.items():
                if any(b.kind in ("assign", "unpack") for b in bindings):  # what is added up is no alternative
                    found.add(name)
            if any(operands(r) for r in _returns(block)):
                found.add("return")
    return frozenset(found)


def _is_rung(node: Node) -> bool:
    """An if without else whose block returns a value of its own."""
    if node.type != "if_statement" or node.children_by_field_name("alternative"):
        return False
    block = child(node, "consequence")
    effect = block_effect(block) if block is not None else None
    return effect is not None and effect.does in (Does.RETURNS, Does.WORK) and _ends(block)  # type: ignore[arg-type]


def _ends(block: Node) -> bool:
    body = statements(block)
    return bool(body) and body[-1].type in (
        "return_statement",
        "raise_statement",
        "continue_statement",
        "break_statement",
    )


def _is_condition(node: Node) -> bool:
    return node.type in ("comparison_operator", "boolean_operator", "not_operator", "call")


def _is_skip(effect: Effect) -> bool:
    return effect.does is Does.SKIPS and effect.message is not None


def _ternary(node: Node) -> tuple[list[tuple[Node, Node]], Node]:
    arms: list[tuple[Node, Node]] = []
    while True:
        then, condition, other = operands(node)[:3]
        arms.append((condition, then))
        if inner(other).type != "conditional_expression":
            return arms, other
        node = inner(other)


_HOLDERS = COMPOUND | {
    "return_statement", "block", "elif_clause", "else_clause", "except_clause", "except_group_clause",
    "finally_clause", "case_clause",
}  # fmt: skip


def _returns(function: Node) -> list[Node]:
    """The return statements of a function or block, nested functions left out."""
    returns: list[Node] = []
    stack = [child(function, "body") or function]
    while stack:
        node = stack.pop()
        if node.type == "return_statement":
            returns.append(node)
        else:
            stack.extend(n for n in node.named_children if n.type in _HOLDERS)
    return returns


def is_predicate(function: Node) -> bool:
    """Whether a function only ever returns truths."""
    returns = _returns(function)
    values = [inner(operands(r)[0]).type for r in returns if operands(r)]
    return (
        bool(values)
        and all(
            v in ("true", "false", "comparison_operator", "boolean_operator", "not_operator", "call") for v in values
        )
        and any(v != "call" for v in values)
    )


def _scope_of(path: list[Node]) -> Scope | None:
    names = []
    for node in path[:-1]:
        if node.type in ("function_definition", "class_definition"):
            name = child(node, "name")
            names.append(text(name) if name is not None else "")
    return Scope(".".join(names)) if names else None


def _digest(block: Node) -> str:
    return " ".join(text(block).split())[:4000] if block.end_byte - block.start_byte < 4000 else ""


def _calls(block: Node, limit: int = 600) -> tuple[str, ...]:
    found: dict[str, None] = {}
    stack = [block]
    while stack and limit:
        limit -= 1
        node = stack.pop()
        if node.type == "call":
            function = child(node, "function")
            if function is not None and function.type in ("identifier", "attribute"):
                found[text(function)] = None
        stack.extend(reversed(node.named_children))
    return tuple(found)[:24]


def _names_in(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    found: dict[str, None] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type in ("identifier", "attribute"):
            found[text(current)] = None
        if current.type != "attribute":
            stack.extend(reversed(current.named_children))
    return tuple(found)[:8]


_COMMON = frozenset(
    {"main", "__init__", "forward", "run", "__call__", "__new__", "setup", "apply", "wrapper", "get", "call", "create"}
)


def visit_calls(scan: ModulePass, path: list[Node]) -> None:
    visit_reader(scan, path)
    visit_call(scan, path)


_VISITORS = {
    "if_statement": ModulePass._if,
    "elif_clause": ModulePass._if,
    "conditional_expression": ModulePass._conditional,
    "assert_statement": ModulePass._assert,
    "return_statement": ModulePass._return,
    "assignment": ModulePass._assignment,
    "if_clause": ModulePass._comprehension_test,
    "match_statement": visit_match,
    "keyword_argument": visit_keyword,
    "argument_list": visit_argument,
    "decorator": visit_decorator,
    "pair": visit_pair,
    "dictionary": visit_rows,
    "subscript": visit_reader,
    "comparison_operator": visit_reader,
    "call": visit_calls,
}
