"""What is said or computed beside an arm: features in words, compiled images, shared memory of a tile, work-arounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.catalog.recognise import Recogniser
from archscan.frontends.python.syntax import docstring, inner, operands, parameters, text
from archscan.frontends.python.syntax import field as child
from archscan.frontends.python.values import FuncV
from archscan.model.gate import FeatureUse

if TYPE_CHECKING:
    from archscan.frontends.python.evaluate import Interpreter
    from archscan.frontends.python.frames import Frame
    from archscan.frontends.python.modules import Module

_IMAGE = re.compile(r"(?<![A-Za-z0-9])(?:code=)?(?:sm_?|compute_)(\d{2,3})([af])(?![A-Za-z0-9])")
_BINARY = re.compile(
    r"cubin|fat-?bin|pre-?built|pre-?compiled|\bcompiled for\b|\bimages?\b|gencode|\bbuilt for\b", re.I
)
_WITHOUT = re.compile(
    r"(?i)\b(?:(?:without|no|not using|instead of)\s+[\w-]+|(?:must not|never|cannot)\b[^.;,()]*)"
)  # what is named because it is not used
_SHORT = 1200  # bytes of a function that is a predicate and little more
_SHARED = re.compile(r"smem|shared_?mem", re.I)
_QUIRK = re.compile(
    r"(?:work[\s-]?around|quirk|picky|wants? [^.]{0,60}multiple|hardware bug|driver bug|library bug|erratum|misbehav"
    r"|\b(?:hang|crash|fault|corrupt)(?:s|es|ed)?\b)",
    re.I,
)


def comments(node: Node, limit: int = 600) -> list[Node]:
    """The comments inside a node, at most those among its first few hundred descendants."""
    found: list[Node] = []
    stack = [node] if b"#" in (node.text or b"") else []
    while stack and limit:
        limit -= 1
        current = stack.pop()
        if current.type == "comment":
            found.append(current)
        stack.extend(reversed(current.children))
    return found


def said_above(node: Node) -> list[str]:
    """The comments above the statement that holds a node: also those at the head of a block, outside of its node."""
    while node.parent is not None and node.parent.type not in ("block", "module"):
        node = node.parent
    before = node.prev_sibling
    if before is None and node.parent is not None and node.parent.type == "block":
        before = node.parent.prev_sibling
    words: list[str] = []
    while before is not None and before.type == "comment":
        words.insert(0, text(before).lstrip("#: "))
        before = before.prev_sibling
    return words


def said_of(function: Node) -> str:
    """How the docstring of a function begins, and the comments in it where it is short."""
    words = [docstring(function)[:300]]
    if function.end_byte - function.start_byte < _SHORT:
        words += [text(c).lstrip("#: ") for c in comments(function)]
    return " ".join(" ".join(words).split())


def said_in(block: Node) -> str:
    """The comments of an arm and the one behind its condition, and the names and strings it mentions."""
    words = [text(c).lstrip("#: ") for c in comments(block)]
    before = block.prev_sibling
    while before is not None and before.type in ("comment", ":"):
        if before.type == "comment":
            words.insert(0, text(before).lstrip("#: "))
        before = before.prev_sibling
    return " ".join(words)


def names_in(block: Node, limit: int = 400) -> str:
    """Strings, names of callees and of imported modules in an arm."""
    words: list[str] = []
    stack = [block]
    while stack and limit:
        limit -= 1
        node = stack.pop()
        if node.type in ("string_content", "dotted_name"):
            words.append(text(node)[:80])
        elif node.type == "call":
            function = child(node, "function")
            words.append(text(function)[:80] if function is not None else "")
        stack.extend(reversed(node.named_children))
    return " ".join(words)


def features_in(recogniser: Recogniser, words: str, line: int) -> tuple[FeatureUse, ...]:
    """The features that words speak of, with low confidence."""
    meant = _WITHOUT.sub(" ", words)
    return tuple(FeatureUse(f, line, confidence="low") for f in recogniser.in_words(meant)) if meant.strip() else ()


def images_in(words: str) -> str:
    """The compiled images that words name: "sm_100a sm_103a"; nothing if they do not speak of binaries."""
    if not _BINARY.search(words):
        return ""
    return " ".join(dict.fromkeys(f"sm_{sm}{suffix}" for sm, suffix in _IMAGE.findall(_WITHOUT.sub(" ", words))))


def quirk_in(words: str) -> str:
    """The words that call something a work-around, or nothing."""
    match = _QUIRK.search(words)
    return match[0].strip() if match else ""


def shared_bytes(interpreter: Interpreter, module: Module, frame: Frame, selector: Node, block: Node) -> int | None:
    """The shared memory of the largest tile that an arm returns, where the module says how to compute it."""
    tiles = _tiles(block)
    own = [name for name, _ in parameters(selector)]
    if not tiles:
        return None
    for node in module.functions(_SHARED):
        wanted = [p for p, default in parameters(node) if default is None]
        free = [p for p in wanted if p not in own]
        function = FuncV(module, node, interpreter.module_frame(module))
        sizes = [
            size
            for tile, bounds in tiles
            if len(tile) == len(free)
            and (size := _size(interpreter, function, wanted, free, tile, bounds, frame)) is not None
        ]
        if sizes:
            return max(sizes)
    return None


def _size(
    interpreter: Interpreter, function: FuncV, wanted: list[str], free: list[str], tile: list[Node],
    bounds: dict[str, int], frame: Frame,
) -> int | None:  # fmt: skip
    values = dict(zip(free, (interpreter.evaluate(node, frame) for node in tile), strict=True))
    values.update((name, bounds[name]) for name in wanted if name in bounds)
    if any(not isinstance(values.get(name), int) for name in wanted):
        return None
    size = interpreter.invoke(function, tuple(values[name] for name in wanted), {}).value
    return size if isinstance(size, int) and not isinstance(size, bool) else None


def _tiles(block: Node) -> list[tuple[list[Node], dict[str, int]]]:
    """The tuples an arm returns, with a value of each bounded parameter for which they are returned."""
    found: list[tuple[list[Node], dict[str, int]]] = []
    for statement in block.named_children:
        if statement.type == "return_statement" and operands(statement):
            found += _alternatives(inner(operands(statement)[0]), {})
    return found


def _alternatives(node: Node, bounds: dict[str, int]) -> list[tuple[list[Node], dict[str, int]]]:
    node = inner(node)
    if node.type == "conditional_expression":
        then, condition, other = operands(node)[:3]
        above, below = _sides(inner(condition))
        return _alternatives(then, {**bounds, **above}) + _alternatives(other, {**bounds, **below})
    if node.type in ("tuple", "expression_list"):
        return [(operands(node), bounds)]
    return []


def _sides(condition: Node) -> tuple[dict[str, int], dict[str, int]]:
    """Typical values on both sides of `name > number`: the next power of two above, the bound itself below."""
    parts = operands(condition)
    signs = [c.type for c in condition.children_by_field_name("operators")]
    if condition.type != "comparison_operator" or len(parts) != 2 or parts[0].type != "identifier":
        return {}, {}
    if parts[1].type != "integer" or not text(parts[1]).isdigit():
        return {}, {}
    name, bound = text(parts[0]), int(text(parts[1]))
    above, below = {name: 2 * bound}, {name: bound}
    return {">": (above, below), "<=": (below, above), ">=": (below, {}), "<": ({}, below)}.get(signs[0], ({}, {}))
