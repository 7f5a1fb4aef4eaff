"""Finds the function that a decorated requirement stands for: `@backend_requirement({"cudnn": _cudnn_requirement})`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.knowledge import Requirement
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import line_of, operands, text
from archscan.model.gate import Does, Effect, Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


@dataclass(frozen=True)
class Combined:
    """A function whose decorator names a requirement, as one of several backends or, without a name, of all."""

    combiner: Requirement
    function: Node
    backend: str
    others: tuple[str, ...]


def refusal_of(
    scan: GateCollector, decorated: Node, call: Node, requirement: Requirement
) -> tuple[Effect, tuple[Related, ...]]:
    """What a decorated requirement does without a match: the words are those of the function that it stands for."""
    effect = Effect(Does.RAISES, line_of(call), requirement.message or None)
    definition = child(decorated, "definition")
    name = child(definition, "name") if definition is not None else None
    for offset in scan.places(text(name)) if name is not None else ():
        found = _combined(scan, scan.module.descend(offset))
        if found is not None:
            return Effect(Does.RAISES, line_of(call), _message(found)), (_related(scan, found),)
    return effect, ()


def _combined(scan: GateCollector, path: list[Node]) -> Combined | None:
    """The combining decorator that a name is an argument of."""
    at = next((i for i, n in enumerate(path) if n.type == "decorator" and n.named_children), 0)
    decorator = path[at].named_children[0]
    called = child(decorator, "function")
    combiner = scan.interpreter.knowledge.combiners.get(text(called).rsplit(".", 1)[-1]) if called is not None else None
    definition = child(path[at - 1], "definition")
    name = child(definition, "name") if definition is not None else None
    if not at or combiner is None or name is None:
        return None
    pair = next((n for n in path[at:] if n.type == "pair"), None)
    table = next((n for n in path[at:] if n.type == "dictionary"), None)
    keys = [_key(row) for row in operands(table)] if table is not None else []
    backend = _key(pair) if pair is not None else ""
    return Combined(combiner, name, backend, tuple(key for key in keys if key != backend))


def _key(pair: Node) -> str:
    return text(child(pair, "key") or pair).strip("\"'")


def _message(found: Combined) -> str:
    name = text(found.function)
    if not found.backend:
        return f"{name} does not support capability {{capability}}"
    return found.combiner.message.replace("{func}", name).replace("{backend}", found.backend)


def _related(scan: GateCollector, found: Combined) -> Related:
    said = f"{text(found.function)}(backend={found.backend!r})" if found.backend else text(found.function)
    said += f"; others: {', '.join(found.others)}" if found.others else ""
    return Related(scan.module.path, line_of(found.function), Role.CALLER, said[:100])
