"""What is said or computed beside an arm: features in words, compiled images, shared memory of a tile, work-arounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.catalog.recognise import Recogniser
from archscan.frontends.python.interpreter.values import FuncV
from archscan.frontends.python.source.syntax import inner, operands, parameters, text
from archscan.model.gate import FeatureUse

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter
    from archscan.frontends.python.interpreter.frames import Frame
    from archscan.frontends.python.source.modules import Module

_IMAGE_FILE = re.compile(
    r"[\"'][^\"'\n]*?(?<![A-Za-z0-9])sm_?(\d{2,3})([af])(?![A-Za-z0-9])[^\"'\n]*\.(?:cubin|fatbin)[\"']"
)
_WITHOUT = re.compile(
    r"(?i)\b(?:(?:without|no|not using|instead of)\s+[\w-]+|(?:must not|never|cannot)\b[^.;,()]*)"
)  # what is named because it is not used
_SHARED = re.compile(r"smem|shared_?mem", re.I)


def features_in(recogniser: Recogniser, words: str, line: int) -> tuple[FeatureUse, ...]:
    """The features that words speak of, with low confidence."""
    meant = _WITHOUT.sub(" ", words)
    return tuple(FeatureUse(f, line, confidence="low") for f in recogniser.in_words(meant)) if meant.strip() else ()


def images_in(code: str) -> str:
    """The compiled images whose files code names in its literals: `"gemm_sm_100a.cubin"` is "sm_100a"."""
    return " ".join(dict.fromkeys(f"sm_{sm}{suffix}" for sm, suffix in _IMAGE_FILE.findall(code)))


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
