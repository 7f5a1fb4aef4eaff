"""What a function writes through its parameters: `get_cc(&major, &minor)` fills two names of its caller."""

from __future__ import annotations

from archscan.frontends.cuda.host.project import Defined
from archscan.frontends.cuda.host.syntax import Assign, Evaluate, Expr, Function, Op, dotted
from archscan.frontends.cuda.host.traversal import parts, statements

ATTRIBUTE = frozenset({"cudaDeviceGetAttribute", "cuDeviceGetAttribute", "hipDeviceGetAttribute"})


def pointee(expr: Expr) -> Expr:
    """What an address or a dereference is of; the expression itself if it is neither."""
    return expr.args[0] if expr.op is Op.UNARY and expr.name in ("&", "*") and expr.args else expr


def filled(function: Function) -> tuple[int, ...]:
    """The positions of the parameters that a function may write a capability through."""
    written = {name for statement in statements(function.body) for name in _written(statement)}
    return tuple(i for i, name in enumerate(function.parameters) if name and name in written)


def _written(statement: object) -> set[str]:
    if isinstance(statement, Assign) and not statement.declared and statement.value is not None:
        return {target.removeprefix("*").strip("() ") for target in statement.targets}
    if isinstance(statement, Evaluate):
        calls = (p for p in parts(statement.expr) if p.op is Op.CALL and p.name in ATTRIBUTE and p.args)
        return {dotted(pointee(call.args[0])) for call in calls}
    return set()


def only(found: tuple[Defined, ...], count: int) -> Defined | None:
    """The definition that a call with so many arguments means, if there is just one."""
    fitting = [d for d in found if len(d.function.parameters) == count]
    return fitting[0] if len(fitting) == 1 else None
