"""Objects that stay switched off: `self.disabled = True`, an early return for some targets, then `= False`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.gates.reach import survived
from archscan.frontends.python.interpreter.conditions import Answer, always
from archscan.frontends.python.source.blocks import ends
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import operands, statements, text, walk

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


TurnedAway = Callable[[Node, list[Node]], Answer | None]


def switched_on(scan: GateCollector, path: list[Node], let_in: TurnedAway) -> Answer:
    """Who has an object that is on, where the method around leaves before this for one that is off.

    `let_in` says of a condition of the constructor who is not turned away by it, where it can say more.
    """
    result = always(scan.interpreter)
    at = next((i for i in range(len(path) - 1, 0, -1) if path[i].type == "function_definition"), 0)
    owner = next((i for i in range(at - 1, -1, -1) if path[i].type == "class_definition"), -1)
    body = child(path[owner], "body") if owner >= 0 else None
    if body is None:
        return result
    methods = {text(name): one for one in _definitions(body) if (name := child(one, "name")) is not None}
    init = methods.get("__init__")
    block = child(init, "body") if init is not None else None
    if init is None or block is None or init == path[at]:
        return result
    for switch, turned_on in _switches(block, methods):
        if _leaves_if(path[at], switch, methods, path[-1].start_byte):
            inside = [*path[: owner + 1], body, init, block]
            result = result & survived(scan, block, turned_on.start_byte, inside)
            for statement in statements(block):
                condition, arm = child(statement, "condition"), child(statement, "consequence")
                if statement.start_byte >= turned_on.start_byte or condition is None or arm is None or not ends(arm):
                    continue
                told = let_in(condition, [*inside, statement]) if statement.type == "if_statement" else None
                result = result if told is None else result & told
    return result


def _definitions(body: Node) -> list[Node]:
    """The methods of a class; one with a decorator may be something else."""
    return [one for one in statements(body) if one.type == "function_definition"]


def _switches(block: Node, methods: dict[str, Node]) -> list[tuple[str, Node]]:
    """The attributes that a constructor sets to True, and at the end of its way to False, and nobody else sets."""
    set_to: dict[str, list[tuple[str, Node]]] = {}
    for statement in statements(block):
        pair = _assigned(statement)
        if pair is not None:
            set_to.setdefault(pair[0], []).append((pair[1], statement))
    return [
        (name, given[1][1])
        for name, given in set_to.items()
        if [value for value, _ in given] == ["True", "False"]
        and not any(_sets(one, name, "False") for key, one in methods.items() if key != "__init__")
        and _sets(methods["__init__"], name, "False") == 1
    ]


def _assigned(statement: Node) -> tuple[str, str] | None:
    """`self.name = value` as its two texts."""
    assignment = statement.named_children[0] if statement.type == "expression_statement" else None
    if assignment is None or assignment.type != "assignment":
        return None
    left, right = child(assignment, "left"), child(assignment, "right")
    if left is None or right is None or not text(left).startswith("self."):
        return None
    return text(left), text(right)


def _sets(function: Node, name: str, value: str) -> int:
    """How often a function gives an attribute this value, or one that is not told."""
    pairs = [_assigned(node) for node in walk(function) if node.type == "expression_statement"]
    given = [pair[1] for pair in pairs if pair is not None and pair[0] == name]
    return sum(one == value or one not in ("True", "False") for one in given)


def _leaves_if(function: Node, name: str, methods: dict[str, Node], before: int, asks: bool = True) -> bool:
    """Whether a method begins by leaving where the attribute is true, itself or by asking another method of `self`."""
    body = child(function, "body")
    for statement in statements(body) if body is not None else ():
        if statement.start_byte >= before:
            return False
        condition, arm = child(statement, "condition"), child(statement, "consequence")
        if statement.type != "if_statement" or condition is None or arm is None or not ends(arm):
            continue
        if text(condition) == name:
            return True
        called = _refused_by(condition, methods) if asks else None
        if called is not None and _leaves_if(called, name, methods, called.end_byte, asks=False):
            return _says_no(called, name)
    return False


def _refused_by(condition: Node, methods: dict[str, Node]) -> Node | None:
    """The method that `not self.method(…)` asks."""
    asked = operands(condition)[0] if condition.type == "not_operator" else None
    function = child(asked, "function") if asked is not None and asked.type == "call" else None
    return methods.get(text(function).removeprefix("self.")) if function is not None else None


def _says_no(method: Node, name: str) -> bool:
    """Whether a method answers False where the attribute is true."""
    body = child(method, "body")
    for statement in statements(body) if body is not None else ():
        condition, arm = child(statement, "condition"), child(statement, "consequence")
        if condition is not None and arm is not None and text(condition) == name:
            return text(arm).strip() == "return False"
    return False
