"""Where names are looked up, and what calls come to."""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

from archscan.frontends.python.interpreter.values import ClassV, Unknown, Value
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import Scope
from archscan.model.condition import Atom, Cond, possibly
from archscan.model.gate import Related

END = 1 << 60
DEPTH = 90
STEPS = 5_000
VARIABLE = "$"  # stands for a path in a trace: of an environment variable that was asked for
TRACE = 16
MISSING: object = object()
NO_KEY = Unknown(("KeyError",), raises="KeyError")  # what looking up a key gives that is not there


@dataclass(eq=False, repr=False)
class Frame:
    """Where names are looked up: one scope with what its parameters are bound to."""

    module: Module
    scope: Scope
    parent: Frame | None = None
    locals: dict[str, Value] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    is_class: bool = False
    owner: ClassV | None = None  # class around the function
    memo: dict[tuple[int, int, str], tuple[Value, tuple[Related, ...]]] = field(default_factory=dict)
    busy: set[tuple[object, ...]] = field(default_factory=set)
    unknowns: dict[object, Atom] = field(default_factory=dict)  # what nobody can tell, by where it is asked for


@dataclass(frozen=True, slots=True)
class Raise:
    """A raise, and when it is met."""

    when: Cond
    node: Node
    module: Module

    @property
    def mask(self) -> int:
        """The lanes that may meet it."""
        return possibly(self.when)

    @property
    def is_sure(self) -> bool:
        """Whether nothing but the target decides who meets it."""
        return isinstance(self.when, int)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call comes to: its value, and the lanes on which it raises."""

    value: Value
    raises: tuple[Raise, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Lazy:
    """The value of a table row or of an object's field, evaluated when it is asked for."""

    node: Node
    frame: Frame


class _NoScope(Scope):
    """A scope that binds nothing, and has no body."""

    def __init__(self) -> None:
        self.bindings = {}
        self.changes = {}
        self.outer = set()
        self.stars = []
        self.loops = {}
        self.compounds = {}
        self.arms = []
        self.recover = None


NO_SCOPE = _NoScope()


def distinct(trace: list[Related]) -> tuple[Related, ...]:
    """The places of a trace once each, the outermost ones first; the tail of a long one is dropped."""
    if len(trace) < 2:
        return tuple(trace)
    return tuple({(r.path, r.line or r.message): r for r in reversed(trace)}.values())[::-1][:TRACE]
