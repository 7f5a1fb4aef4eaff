"""Makes gates of evaluated conditions: their arms, kinds, layers and the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, Rest, decided
from archscan.frontends.python.gates.effects import block_effect
from archscan.frontends.python.gates.notes import images_in, shared_bytes
from archscan.frontends.python.interpreter.conditions import Answer, always, deciding, focus, met, passed
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.names import lookup
from archscan.frontends.python.interpreter.values import (
    Capability,
    Partitioned,
    Unknown,
    Value,
    depends,
    encode,
    is_constant,
    is_text,
)
from archscan.frontends.python.source.blocks import calls_in, scope_of, symbols_in
from archscan.frontends.python.source.comments import comments, said_above
from archscan.frontends.python.source.syntax import arguments, docstring, inner, oneline, operands, place, text
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Arm, Does, Effect, Gate, Kind, Layer, Related
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector

_MOST_RELATED = 12

Part = tuple[Node | None, Node, Node]
"""What is an arm: its condition (None of an else), its block, and the statement around them."""


def is_gate(scan: GateCollector, answers: list[Answer], conditions: list[Node | None], frame: Frame) -> bool:
    """Whether some answer differs between targets, or hangs on one in a way that no caller can settle."""
    return varies(answers) or any(
        _undecided(a) and not _left_to_callers(scan, c, frame)
        for a, c in zip(answers, conditions, strict=True)
        if c is not None
    )


def renames(scan: GateCollector, results: list[Node], frame: Frame) -> bool:
    """Whether all that may come out are names of chips, the chip's own among them: then nobody is left out."""
    target = scan.interpreter.lanes.targets[0][0]
    values = [scan.interpreter.evaluate(node, frame) for node in results]
    own = [_is_chip(scan, value, node, frame) for value, node in zip(values, results, strict=True)]
    return (
        len(results) > 1
        and any(own)
        and all(mine or (is_constant(v) and encode(target, v) is not None) for mine, v in zip(own, values, strict=True))
    )


def _is_chip(scan: GateCollector, value: Value, node: Node, frame: Frame) -> bool:
    """Whether a value is the target itself, or made of it: `f"sm_{cc}a"`, `min(cc, newest)`."""
    if not isinstance(value, Unknown):
        return _names_chip(value)
    made_of = [n for n in symbols_in(node) if "." not in n]
    return node.type in ("call", "string") and any(
        _names_chip(lookup(scan.interpreter, name, frame, node.start_byte)) for name in made_of
    )


def _names_chip(value: Value) -> bool:
    if isinstance(value, Capability):
        return True
    groups = value.groups if isinstance(value, Partitioned) else ()
    return len(groups) > _MANY and all(is_constant(v) and not isinstance(v, bool) for v, _ in groups)


_MANY = 5  # values that differ between so many targets are the targets' own


def has_suffix(scan: GateCollector, results: list[Node | None], frame: Frame) -> Answer:
    """Where a choice of suffixes for a chip's name, `"a" if cc >= 90 else ""`, is one: only newer chips have any."""
    values = [scan.interpreter.evaluate(node, frame) for node in results if node is not None]
    if not any(v in ("a", "f") for v in values if isinstance(v, str)) or any(v not in ("", "a", "f") for v in values):
        return always(scan.interpreter)
    universe = scan.interpreter.lanes.universe
    named = {t.sm for t in universe.targets if t.suffix}
    mask = universe.mask(t for t in universe.targets if t.sm in named)
    truth = Truth(mask, scan.interpreter.lanes.all & ~mask)
    return Answer(truth, truth)


def varies(answers: list[Answer]) -> bool:
    """Whether some answer surely differs between targets."""
    return any(a.arch and a.varies for a in answers)


def _left_to_callers(scan: GateCollector, condition: Node, frame: Frame) -> bool:
    """Whether the condition compares the target with a parameter: the callers' lists are the gates."""
    names: set[str] = set()
    current: Frame | None = frame
    while current is not None:
        names |= current.parameters
        current = current.parent
    for name in symbols_in(condition):
        head = name.split(".")[0]
        if head in names and not depends(lookup(scan.interpreter, head, frame, condition.start_byte)):
            return True
    return False


def arms_of(
    scan: GateCollector, parts: list[Part], answers: list[Answer], reach: Answer, frame: Frame
) -> tuple[Arm, ...]:
    """The arms of a decision in their order: who takes each is who meets its condition and took none above it."""
    arms: list[Arm] = []
    left = reach
    for (condition, block, _), own in zip(parts, answers, strict=True):
        effective = left & (own if own.arch or own.switches else met(scan.interpreter, own, condition or block))
        if condition is None:  # earlier arms that ask for something else are taken as not taken
            effective = replace(effective, assumed=left.assumed)
        arms.append(arm_of(scan, condition, block, own, effective, frame))
        if condition is not None:
            left = left & passed(scan.interpreter, own, condition)
    return tuple(arms)


def arm_of(
    scan: GateCollector, condition: Node | None, block: Node, own: Answer, effective: Answer, frame: Frame
) -> Arm:
    spot = condition if condition is not None else block
    if condition is not None and own.arch:
        spot = focus(scan.interpreter, condition, frame)
    decides = deciding(scan.interpreter, condition, frame) if condition is not None and own.arch else None
    return Arm(
        place=place(spot, scan.module.data),
        condition=oneline(condition) if condition is not None else "",
        own=own.truth,
        truth=effective.truth,
        assumed=effective.assumed,
        effect=block_effect(block),
        unknowns=effective.unknowns,
        assumes=effective.assumes,
        body=place(block, scan.module.data),
        digest=_digest(block),
        features=scan.features(scan.words(block), block),
        calls=calls_in(block),
        is_else=condition is None,
        focus=place(decides[0], scan.module.data, decides[1]) if decides is not None else None,
    )


def gate_of(
    scan: GateCollector, kind: Kind, spot: Node, arms: tuple[Arm, ...], rest: Effect, related: tuple[Related, ...],
    reach: Answer, path: list[Node], frame: Frame,
) -> Gate:  # fmt: skip
    """The gate of a condition that is asked at a spot."""
    about = About(
        scope=scope_of(path),
        reach=reach.truth,
        related=traced(related),
        near=words_about(scan, path[-2], path, symbols_in(spot), related),
        symbols=symbols_in(spot),
        assumptions=TAKEN_FOR_GRANTED,
        notes=notes_on(scan, spot, frame),
    )
    return made(scan, kind, spot, arms, Rest(rest), about)


def made(scan: GateCollector, kind: Kind, spot: Node, arms: tuple[Arm, ...], rest: Rest, about: About) -> Gate:
    """The gate of a decision that is made at a spot, whose words tell what it is asked for."""
    layer = layer_of(scan, about.related, spot)
    gate = decided(scan.module.path, layer, kind, place(spot, scan.module.data), arms, rest, about)
    return replace(gate, kind=kind_of(scan, kind, spot, arms, gate.rest))


def answered(arm: Arm, effective: Answer) -> Arm:
    """The arm with what an answer says of who takes it."""
    return replace(
        arm,
        truth=effective.truth,
        assumed=effective.assumed,
        unknowns=effective.unknowns,
        assumes=effective.assumes,
    )


def traced(related: Iterable[Related]) -> tuple[Related, ...]:
    """The places on the way to an answer, once each, as many as a report shows."""
    return tuple(dict.fromkeys(related))[:_MOST_RELATED]


def layer_of(scan: GateCollector, related: tuple[Related, ...], spot: Node) -> Layer:
    words = text(spot)
    if re.search(r"\bhas_sm_?\d", words):
        return Layer.BUILD
    name = scan.module.path.rsplit("/", 1)[-1]
    if name == "setup.py" or "gencode" in words:
        return Layer.BUILD
    return Layer.PYTHON


def kind_of(scan: GateCollector, kind: Kind, spot: Node, arms: tuple[Arm, ...], rest: Effect) -> Kind:
    words = text(spot)
    if re.search(r"\bhas_sm_?\d", words):
        return Kind.BUILD_FLAG
    if any(_is_skip(e) for e in (rest, *(a.effect for a in arms))):
        return Kind.TEST_SKIP
    if _text_compare(scan, spot):
        return Kind.STRING_COMPARE
    return kind


def notes_on(scan: GateCollector, spot: Node, frame: Frame) -> tuple[tuple[str, str], ...]:
    return (("encoding", "text"),) if _text_compare(scan, spot) or _cuts_text(scan, spot, frame) else ()


def _text_compare(scan: GateCollector, spot: Node) -> bool:
    """Whether capabilities are ordered as text: "12.0" >= "7.0" is false."""
    if spot.type != "comparison_operator":
        return False
    signs = {c.type for c in spot.children_by_field_name("operators")}
    return bool(signs & {"<", ">", "<=", ">="}) and any(inner(o).type == "string" for o in operands(spot))


def _cuts_text(scan: GateCollector, spot: Node, frame: Frame) -> bool:
    """Whether digits are cut out of a text by position: `int("sm_120"[3:5])` is 12."""
    for operand in operands(spot) if spot.type == "comparison_operator" else ():
        call = inner(operand)
        positional, _ = arguments(call) if call.type == "call" else ([], {})
        cut = inner(positional[0]) if len(positional) == 1 else call
        holder = child(cut, "value") if cut.type == "subscript" else None
        if holder is not None and is_text(scan.interpreter.evaluate(holder, frame)):
            return True
    return False


def arm_notes(scan: GateCollector, parts: list[Part], path: list[Node], frame: Frame) -> tuple[tuple[str, str], ...]:
    """Compiled images named beside an arm, and the shared memory of the tile it returns."""
    function = next((n for n in reversed(path) if n.type == "function_definition"), None)
    found: list[tuple[str, str]] = []
    for index, (_, block, _) in enumerate(parts):
        images = images_in(text(block))
        if images:
            found.append((f"images:{index}", images))
        if function is not None:
            size = shared_bytes(scan.interpreter, scan.module, frame, function, block)
            if size is not None:
                found.append((f"smem_bytes:{index}", str(size)))
    return tuple(found)


def words_near(scan: GateCollector, node: Node, path: list[Node]) -> str:
    """Comments above and inside the statement, the docstring of the function around it, and how its class begins."""
    words = said_above(node)
    words += [text(c).lstrip("# ") for c in comments(node)]
    function = next((n for n in reversed(path) if n.type == "function_definition"), None)
    if function is not None:
        words.append(docstring(function)[:400])
        words += [docstring(n).strip().split("\n")[0][:200] for n in path[-3:0:-1] if n.type == "class_definition"][:1]
    return " ".join(" ".join(words).split())[:1200]


def words_about(
    scan: GateCollector, node: Node, path: list[Node], symbols: tuple[str, ...], related: tuple[Related, ...]
) -> str:
    """The words near a statement, and those of the predicates that it asks by name; what they ask is another matter."""
    names = {f"def {symbol.rpartition('.')[2]}" for symbol in symbols}
    asked = [scan.interpreter.said.get(r, "") for r in related if r.message in names]
    return " ".join((words_near(scan, node, path), *asked)).strip()[:1200]


def overridden(effect: Effect, environment: tuple[str, ...]) -> Effect:
    """The effect with the environment variables that were asked for on the way to it."""
    return replace(effect, environment=environment) if environment else effect


def _undecided(own: Answer) -> bool:
    """Whether it hangs on the target, and for some of them nobody can tell how."""
    return own.arch and not own.varies and bool(own.assumed.unknown)


def _is_skip(effect: Effect) -> bool:
    return effect.does is Does.SKIPS and effect.message is not None


def _digest(block: Node) -> str:
    return " ".join(text(block).split())[:4000] if block.end_byte - block.start_byte < 4000 else ""
