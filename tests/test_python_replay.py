"""Loops and try statements that are replayed: in which order, and how often."""

from __future__ import annotations

from archscan.frontends.python.interpreter.replay import names_in
from archscan.frontends.python.source.scopes import Scope
from archscan.frontends.python.source.syntax import parse

LOOP = b"""before = 0
for item in items:
    zebra = item
    apple = zebra
    if apple:
        mango = []
    before.append(item)
    mango.append(apple)
after = 1
"""


def test_the_names_of_a_loop_come_in_the_order_of_the_source() -> None:
    root = parse(LOOP)
    loop = next(node for node in root.named_children if node.type == "for_statement")
    assert list(names_in(Scope(root), loop)) == ["zebra", "apple", "mango", "item", "before"]


def test_a_loop_around_gives_the_names_of_the_one_inside() -> None:
    root = parse(b"for a in x:\n    b = 1\n    for c in y:\n        d = 2\n")
    outer = root.named_children[0]
    inner = outer.named_children[-1].named_children[-1]
    scope = Scope(root)
    assert (list(names_in(scope, outer)), list(names_in(scope, inner))) == (["b", "d", "c", "a"], ["d", "c"])
