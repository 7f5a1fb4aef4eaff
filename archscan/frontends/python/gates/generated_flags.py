"""Compiler flags that a loop writes, one for each entry of a list: `for cc in (80, 90): f"...compute_{cc}..."`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.catalog.types import Catalog
from archscan.frontends.build.images import Image, flag_images
from archscan.frontends.python.gates.definitions import literal_of
from archscan.frontends.python.interpreter.frames import NO_SCOPE, Frame
from archscan.frontends.python.interpreter.lanewise import items_of, truth_of
from archscan.frontends.python.interpreter.loops import loop_names
from archscan.frontends.python.interpreter.operations import LONGEST_LOOP
from archscan.frontends.python.interpreter.values import Value, is_constant
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import statements, text

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_MADE = re.compile(rb"compute_(?:\{|%|[\"']\s*\+)")
_LOOPS = ("for_statement", "for_in_clause")
_LISTS = ("list", "tuple", "set")


@dataclass(frozen=True)
class Looped:
    """A list with the images of the flag that a loop over it writes, and the name of an entry."""

    literal: Node
    loop: Node
    images: tuple[Image, ...]
    entry: str


def looped_flags(interpreter: Interpreter, module: Module, catalog: Catalog) -> Iterator[Looped]:
    """What each flag of a module becomes that is written for the entries of a list of the same module."""
    for match in _MADE.finditer(module.data):
        path = module.descend(match.start())
        flag, loop = flag_of(path), _loop_around(path)
        frame = interpreter.frame_at(module, path)
        right, left = (child(loop, "right"), child(loop, "left")) if loop is not None else (None, None)
        if flag is None or loop is None or right is None or left is None:
            continue
        interpreter.steps = 0
        where, literal = literal_of(right, frame, interpreter)
        items = items_of(interpreter.lanes, interpreter.evaluate(right, frame)) or ()
        if where is not module or literal.type not in _LISTS or not 1 < len(items) <= LONGEST_LOOP:
            continue
        asked, before = _conditions(path, loop), _statements(path, loop)
        words = [written(interpreter, before, flag, asked, frame, loop_names(interpreter, left, i)) for i in items]
        images = [flag_images(word, catalog) if isinstance(word, str) else () for word in words if word is not False]
        if all(images):
            yield Looped(literal, loop, tuple(i for some in images for i in some), text(left))


def flag_of(path: list[Node]) -> Node | None:
    """The expression that writes a flag: a text with its `%`, its `+` or its `.format()`."""
    at = next((i for i, node in enumerate(path) if node.type in ("string", "concatenated_string")), 0)
    while at > 1 and path[at - 1].type in ("binary_operator", "concatenated_string", "conditional_expression"):
        at -= 1
    if at > 2 and path[at - 1].type == "attribute" and path[at - 2].type == "call":
        at -= 2
    return path[at] if at else None


def _loop_around(path: list[Node]) -> Node | None:
    """The innermost loop around a place, or the clause of the comprehension that it is the body of."""
    for node, below in zip(reversed(path[:-1]), reversed(path), strict=False):
        if node.type == "function_definition":
            return None
        if node.type == "for_statement" and below == child(node, "body"):
            return node
        if node.type.endswith("comprehension") or node.type == "generator_expression":
            return next((c for c in node.named_children if c.type == "for_in_clause"), None)
    return None


def _conditions(path: list[Node], loop: Node) -> list[Node]:
    """The conditions between a loop and a place in its body that have to be met."""
    inside = [n for n in path if n.start_byte > loop.start_byte]
    found = [child(n, "condition") for n, below in itertools.pairwise(inside) if below == child(n, "consequence")]
    return [condition for condition in found if condition is not None]


def _statements(path: list[Node], loop: Node) -> list[Node]:
    """The statements of a loop around a place, in order."""
    blocks = [n for n in path if n.type == "block" and n.start_byte > loop.start_byte]
    return [statement for block in blocks for statement in statements(block)]


def written(
    interpreter: Interpreter, before: list[Node], flag: Node, asked: list[Node], frame: Frame, names: dict[str, Value]
) -> Value:
    """The flag that is written for one entry, False for none; what the loop assigns before it is known as well."""
    one = Frame(frame.module, NO_SCOPE, frame, names)
    for statement in before:
        assignment = statement.named_children[0] if statement.named_children else statement
        left, right = child(assignment, "left"), child(assignment, "right")
        if statement.end_byte <= flag.start_byte and assignment.type == "assignment" and left is not None and right:
            value = interpreter.evaluate(right, one)
            names.update({text(left): value} if left.type == "identifier" and is_constant(value) else {})
    met = [truth_of(interpreter.lanes, interpreter.evaluate(condition, one)) for condition in asked]
    value = False if False in met else interpreter.evaluate(flag, one)
    one.memo.clear()
    return value
