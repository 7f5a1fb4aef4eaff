"""Turns evaluated conditions into truths over the universe, and finds what reaches a statement."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tree_sitter import Node

from archscan.frontends.python.interpreter.branches import when_met
from archscan.frontends.python.interpreter.evaluate import Interpreter
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.lanewise import truth_of
from archscan.frontends.python.interpreter.loops import rounds_of
from archscan.frontends.python.interpreter.special import tested
from archscan.frontends.python.interpreter.values import Assumed, Cases, Unknown, Value, depends, unite
from archscan.frontends.python.source.syntax import if_arms, inner, oneline, operands
from archscan.model.condition import Cond, truth
from archscan.model.truth import Truth


@dataclass(frozen=True, slots=True)
class Answer:
    """A condition's strict truth, its truth with unknown non-architecture parts taken as met, and the names of both.

    `rounds` = it holds for some round of a loop: of the others nobody says that they meet it, or another such one.
    """

    truth: Truth
    assumed: Truth
    unknowns: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    arch: bool = False
    switches: tuple[str, ...] = ()  # variables that the truth rests on, taken as unset
    rounds: bool = False

    def __invert__(self) -> Answer:
        truth = Truth(self.truth.no, 0) if self.rounds else ~self.truth
        return Answer(truth, ~self.assumed, self.unknowns, self.assumes, self.arch, self.switches)

    def __and__(self, other: Answer) -> Answer:
        truth = self.truth & other.truth
        if self.rounds and other.rounds:
            truth = Truth(0, truth.no)
        return Answer(
            truth,
            self.assumed & other.assumed,
            unite(self.unknowns, other.unknowns),
            unite(self.assumes, other.assumes),
            self.arch or other.arch,
            rounds=self.rounds or other.rounds,
        )

    @property
    def varies(self) -> bool:
        """Whether some targets surely answer otherwise than others."""
        return bool(self.assumed.yes) and bool(self.assumed.no)


def always(interpreter: Interpreter) -> Answer:
    """Yes for every device target."""
    return Answer(Truth(interpreter.lanes.all, 0), Truth(interpreter.lanes.all, 0))


def answer(interpreter: Interpreter, node: Node, frame: Frame) -> Answer:
    """The answer a condition gives."""
    whole = truth_of(interpreter.lanes, tested(interpreter, interpreter.evaluate(node, frame)))
    rounds = rounds_of(interpreter, node, frame, whole)
    if rounds is None:
        found = answer_of(interpreter, whole, node)
        if not found.arch or found.truth.known(interpreter.lanes.all):
            return found
        return _settled(interpreter, found, when_met(interpreter, whole, node, frame))
    some = answer_of(interpreter, rounds.some, node)
    meant = answer_of(interpreter, rounds.every, node) if rounds.goes_on else some
    truth = Truth(meant.truth.yes, some.truth.no) if rounds.sure else Truth(0, some.truth.no)
    return replace(meant, truth=truth, arch=True, rounds=True)


def _settled(interpreter: Interpreter, found: Answer, when: Cond) -> Answer:
    """The answer with what is the same in every world of what is not known."""
    told = truth(when, interpreter.lanes.all)
    yes, no = found.truth.yes | told.yes, found.truth.no | told.no
    assumed = Truth((found.assumed.yes | told.yes) & ~told.no, (found.assumed.no | told.no) & ~told.yes)
    return replace(found, truth=Truth(yes, no), assumed=assumed)


def answer_of(interpreter: Interpreter, value: Value, node: Node) -> Answer:
    yes = no = guess_yes = guess_no = 0
    unknowns: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    for one, mask in interpreter.lanes.groups(truth_of(interpreter.lanes, value)):
        if one is True:
            yes |= mask
        elif one is False:
            no |= mask
        elif isinstance(one, Assumed) and one.default:
            yes |= mask if one.value else 0
            no |= 0 if one.value else mask
            switches = unite(switches, one.names)
        elif isinstance(one, Assumed):
            guess_yes |= mask if one.value else 0
            guess_no |= 0 if one.value else mask
            assumes = unite(assumes, one.names)
        elif isinstance(one, (Unknown, Cases)):
            unknowns = unite(unknowns, one.names)
    if not unknowns and not yes | no | guess_yes | guess_no:
        unknowns = (oneline(node, 60),)
    truth, assumed = Truth(yes, no), Truth(yes | guess_yes, no | guess_no)
    return Answer(truth, assumed, unite(unknowns, assumes), assumes, depends(value), switches)


def met(interpreter: Interpreter, found: Answer, node: Node) -> Answer:
    """An enclosing condition that asks nothing of the target, taken as met."""
    if found.arch:
        return found
    lanes = interpreter.lanes.all
    if found.truth.yes == lanes or (found.truth.no == lanes and not found.switches):
        return found
    names = unite(found.switches or found.unknowns or (oneline(node, 60),))
    return Answer(Truth(0, 0), Truth(lanes, 0), names, names)


def entered(interpreter: Interpreter, found: Answer, node: Node) -> Answer:
    """An enclosing condition, taken as met by every target that may meet it: `backend == "x" or is_sm100()`."""
    if not found.arch:
        return met(interpreter, found, node)
    possible = interpreter.lanes.all & ~found.truth.no
    assumes = found.assumes if found.assumed.yes == possible else unite(found.assumes, found.unknowns)
    return Answer(found.truth, Truth(possible, found.truth.no), found.unknowns, assumes, True, rounds=found.rounds)


def passed(interpreter: Interpreter, own: Answer, node: Node) -> Answer:
    """The answer of not having taken an earlier arm: one that may or may not be taken is assumed not to have been."""
    taken = own.assumed.yes if own.rounds else own.truth.yes
    assumed = Truth(interpreter.lanes.all & ~taken, taken)
    if own.arch or own.truth.known(interpreter.lanes.all):
        return Answer((~own).truth, assumed, own.unknowns, (), own.arch)
    names = (negated(node),)
    return Answer((~own).truth, assumed, names, names)


def negated(node: Node) -> str:
    """A condition's opposite, to show: `not (a or b)`."""
    node = inner(node)
    if node.type == "not_operator":
        return oneline(operands(node)[0], 60)
    words = oneline(node, 60)
    return f"not ({words})" if node.type in ("boolean_operator", "comparison_operator") else f"not {words}"


def conjuncts(node: Node) -> list[Node]:
    """The parts of an `and` chain, or the node."""
    node = inner(node)
    if node.type == "boolean_operator" and any(c.type == "and" for c in node.children):
        return [part for side in operands(node) for part in conjuncts(side)]
    return [node]


def conjunct_of(condition: Node, spot: Node) -> Node:
    """The part of an `and` chain that holds a spot: with the `not` or `or` that it stands in."""
    parts = conjuncts(condition)
    return next((p for p in parts if p.start_byte <= spot.start_byte and spot.end_byte <= p.end_byte), inner(condition))


def focus(interpreter: Interpreter, node: Node, frame: Frame) -> Node:
    """The first operand of a condition that depends on the target: where the finding points."""
    node = inner(node)
    if node.type in ("boolean_operator", "not_operator"):
        for part in operands(node):
            if depends(interpreter.evaluate(part, frame)):
                return focus(interpreter, part, frame)
    if node.type == "conditional_expression":
        parts = operands(node)
        for part in (parts[1], parts[0], parts[2]):
            if depends(interpreter.evaluate(part, frame)):
                return focus(interpreter, part, frame)
    return node


def deciding(interpreter: Interpreter, node: Node, frame: Frame) -> tuple[Node, Node]:
    """The first and last conjunct to underline: the `or` groups or comparisons that depend on the target."""
    found = [part for part in conjuncts(node) if depends(interpreter.evaluate(part, frame))]
    return (found[0], found[-1]) if found else (inner(node), inner(node))


def arm_answers(interpreter: Interpreter, node: Node, frame: Frame) -> list[Answer]:
    """Own answers of an if statement's arms; an else has that of `not any earlier`."""
    found: list[Answer] = []
    for condition, _ in if_arms(node):
        if condition is not None:
            found.append(answer(interpreter, condition, frame))
        else:
            rest = always(interpreter)
            for one in found:
                rest = rest & ~one
            found.append(rest)
    return found
