"""Flags for the GPU that was found, behind a step that takes some for another one: `if major >= 10: major = 9`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.catalog.types import Catalog
from archscan.frontends.build.images import Image, flag_images
from archscan.frontends.python.gates.generated_flags import flag_of, written
from archscan.frontends.python.interpreter.frames import NO_SCOPE, Frame
from archscan.frontends.python.interpreter.lanewise import items_of, truth_of
from archscan.frontends.python.interpreter.values import Value
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import operands, statements, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_OWN = re.compile(rb"code=\[?[\"']?sm_(?:\{|%|[\"']\s*\+)")


@dataclass(frozen=True)
class Clamp:
    """A condition with the targets that meet it, and the images of the flag that is written for them all."""

    condition: Node
    met: int
    images: tuple[Image, ...]


def clamped_flags(interpreter: Interpreter, module: Module, catalog: Catalog) -> Iterator[Clamp]:
    """Each step that gives some targets the numbers of another one before a flag is written with them."""
    for match in _OWN.finditer(module.data):
        path = module.descend(match.start())
        flag = flag_of(path)
        at = next((i for i in reversed(range(len(path))) if path[i].type in ("block", "module")), None)
        if flag is None or at is None:
            continue
        before = [s for s in statements(path[at]) if s.end_byte <= flag.start_byte]
        frame = interpreter.frame_at(module, path)
        for i, step in enumerate(before):
            names = _numbers(step)
            condition = child(step, "condition") if names else None
            if condition is None or not all(re.search(rf"\b{name}\b", text(path[at])) for name in names):
                continue
            word = written(interpreter, before[i + 1 :], flag, [], frame, dict(names))
            images = flag_images(word, catalog) if isinstance(word, str) else ()
            met = _met(interpreter, before[:i], condition, frame)
            if images and met:
                yield Clamp(condition, met, images)


def _numbers(step: Node) -> dict[str, Value]:
    """What an `if` without an else assigns, where that is numbers and nothing else; empty for anything else."""
    block = child(step, "consequence") if step.type == "if_statement" and not child(step, "alternative") else None
    found: dict[str, Value] = {}
    for statement in statements(block) if block is not None else ():
        assigned = _assigned(statement)
        for name, value in assigned:
            number = _literal(value)
            if number is None:
                return {}
            found[text(name)] = number
        if not assigned:
            return {}
    return found


def _assigned(statement: Node) -> list[tuple[Node, Node]]:
    """The names and values of `a = x` and of `a, b = x, y`; none for anything else."""
    left, right = _sides(statement)
    if left is None or right is None:
        return []
    if left.type != "pattern_list":
        return [(left, right)]
    names, values = operands(left), operands(right) if right.type == "expression_list" else []
    return list(zip(names, values, strict=True)) if len(names) == len(values) else []


def _sides(statement: Node) -> tuple[Node | None, Node | None]:
    assignment = statement.named_children[0] if statement.named_children else statement
    if assignment.type != "assignment":
        return None, None
    return child(assignment, "left"), child(assignment, "right")


def _literal(node: Node) -> Value | None:
    """A number, or a tuple of numbers, as it is written."""
    if node.type == "integer" and text(node).isdigit():
        return int(text(node))
    parts = [_literal(part) for part in operands(node)] if node.type == "tuple" else []
    return tuple(part for part in parts if part is not None) if parts and None not in parts else None


def _met(interpreter: Interpreter, before: list[Node], condition: Node, frame: Frame) -> int:
    """The targets that surely meet a condition; none where that is not known of each.

    A loop that binds a name twice leaves it unknown: what the statements before it in the same block say holds.
    """
    lanes = interpreter.lanes
    names: dict[str, Value] = {}
    one = Frame(frame.module, NO_SCOPE, frame, names)
    interpreter.steps = 0
    for statement in before:
        for name, right in _assigned(statement):
            if name.type == "identifier":
                names[text(name)] = interpreter.evaluate(right, one)
        left, whole = _sides(statement)
        if left is not None and whole is not None and left.type == "pattern_list" and whole.type == "call":
            items = items_of(lanes, interpreter.evaluate(whole, one)) or ()
            names.update(zip(map(text, operands(left)), items, strict=False))
    groups = list(lanes.groups(truth_of(lanes, interpreter.evaluate(condition, one))))
    one.memo.clear()
    if not all(type(value) is bool for value, _ in groups):
        return 0
    met = 0
    for value, mask in groups:
        met |= mask if value else 0
    return met
