"""Which cases of a match statement are meant: patterns of constants, of several, and of sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.containers import SetV
from archscan.frontends.python.interpreter.frames import NO_SCOPE, Frame
from archscan.frontends.python.interpreter.lanewise import compare, logical, truth_of
from archscan.frontends.python.interpreter.values import Capability, Unknown, Value, depends, is_constant
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import inner, operands, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_LITERAL = ("integer", "string", "float", "none", "true", "false")
_SEQUENCE = ("tuple_pattern", "list_pattern")


def case_truths(interpreter: Interpreter, statement: Node, frame: Frame) -> Iterator[tuple[Node, Node, Value]]:
    """The cases of a match statement with their blocks, and whether each is meant by itself."""
    body = child(statement, "body")
    subject = subject_of(interpreter, statement, frame)
    for case in body.named_children if body is not None else ():
        block = child(case, "consequence")
        if case.type == "case_clause" and block is not None:
            yield case, block, case_truth(interpreter, case, subject, frame)


def subject_of(interpreter: Interpreter, statement: Node, frame: Frame) -> Value:
    """The value that is matched; the parts where a tuple is written out."""
    subjects = statement.children_by_field_name("subject")
    node = inner(subjects[0])
    if len(subjects) > 1:
        return tuple(interpreter.evaluate(part, frame) for part in subjects)
    return interpreter.evaluate(node, frame)


def case_truth(interpreter: Interpreter, case: Node, subject: Value, frame: Frame) -> Value:
    """Whether a case is meant, by itself."""
    patterns = [c for c in case.named_children if c.type == "case_pattern"]
    if len(patterns) > 1:
        found = _of_parts(interpreter, patterns, subject, frame)
    else:
        found = _of_pattern(interpreter, patterns[0], subject, frame) if patterns else True
    guard = child(case, "guard")
    if guard is None or not operands(guard):
        return found
    taken = {text(name): subject for name in _taking_all(patterns)}
    inside = Frame(frame.module, NO_SCOPE, frame, taken) if taken else frame
    return logical(
        interpreter.lanes, True, found, truth_of(interpreter.lanes, interpreter.evaluate(operands(guard)[0], inside))
    )


def takes_all(pattern: Node) -> bool:
    """Whether it is `_` or a name that takes whatever comes."""
    inside = pattern.named_children
    if pattern.type != "case_pattern":
        return text(pattern) == "_"
    return (not inside and text(pattern) == "_") or bool(_taking_all([pattern]))


def _taking_all(patterns: list[Node]) -> list[Node]:
    """The name that takes the whole subject, if it is all of the pattern."""
    inside = patterns[0].named_children if len(patterns) == 1 else []
    alone = len(inside) == 1 and inside[0].type == "dotted_name" and len(inside[0].named_children) == 1
    return [inside[0].named_children[0]] if alone else []


def _of_pattern(interpreter: Interpreter, pattern: Node, subject: Value, frame: Frame) -> Value:
    if takes_all(pattern):
        return True
    node = operands(pattern)[0] if pattern.type == "case_pattern" and operands(pattern) else pattern
    if node.type == "as_pattern" and operands(node):
        node = operands(node)[0]
    if node.type == "union_pattern":
        found: Value = False
        for part in operands(node):
            found = logical(interpreter.lanes, False, found, _of_pattern(interpreter, part, subject, frame))
        return found
    if node.type == "tuple_pattern" and len(operands(node)) == 1 and not any(c.type == "," for c in node.children):
        return _of_pattern(interpreter, operands(node)[0], subject, frame)  # merely in brackets
    if node.type in _SEQUENCE:
        return _of_parts(interpreter, operands(node), subject, frame)
    if node.type == "case_pattern":
        return _of_pattern(interpreter, node, subject, frame)
    if node.type == "dotted_name" and len(node.named_children) > 1:
        return compare(interpreter.lanes, "==", subject, interpreter.dotted(node, frame))
    if node.type not in _LITERAL or text(pattern).startswith("-"):
        return Unknown((text(node),), depends(subject))
    sign = "is" if node.type in ("none", "true", "false") else "=="
    return compare(interpreter.lanes, sign, subject, interpreter.evaluate(node, frame))


def _of_parts(interpreter: Interpreter, patterns: list[Node], subject: Value, frame: Frame) -> Value:
    """Whether each part of a capability is what the sequence of patterns asks for."""
    stars = [at for at, p in enumerate(patterns) if any(c.type == "splat_pattern" for c in (p, *operands(p)))]
    lanes = interpreter.lanes

    def fits(value: Value) -> Value:
        if isinstance(value, Capability):
            value = (0, 0)
        if isinstance(value, SetV) or not isinstance(value, tuple):
            return False if is_constant(value) else Unknown(("match",), depends(value))
        return len(value) >= len(patterns) - 1 if stars else len(value) == len(patterns)

    found: Value = lanes.lift(fits, subject)
    for number, pattern in enumerate(patterns):
        if number in stars or takes_all(pattern):
            continue
        place = number if not stars or number < stars[0] else number - len(patterns)
        found = logical(
            lanes, True, found, _of_pattern(interpreter, pattern, _part(interpreter, subject, place), frame)
        )
    return found


def _part(interpreter: Interpreter, subject: Value, number: int) -> Value:
    lanes = interpreter.lanes

    def part(value: Value) -> Value:
        if isinstance(value, Capability):
            return lanes.major if number == 0 else lanes.minor
        if isinstance(value, tuple) and -len(value) <= number < len(value):
            return value[number]
        return Unknown(("match",), depends(value))

    if isinstance(subject, tuple):
        return part(subject)
    return lanes.merge((part(one), mask) for one, mask in lanes.groups(subject))
