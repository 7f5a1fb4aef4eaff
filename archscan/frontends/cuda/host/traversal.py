"""Visits every statement and expression of reduced code, lambdas included."""

from __future__ import annotations

from collections.abc import Iterator

from archscan.frontends.cuda.host.syntax import (
    Assign,
    Block,
    Branch,
    Check,
    Directive,
    Evaluate,
    Expr,
    Loop,
    Nested,
    Op,
    Return,
    Statement,
    Switch,
)


def statements(block: Block) -> Iterator[Statement]:
    """Every statement, outer ones first."""
    for statement in block:
        yield statement
        match statement:
            case Branch():
                for option in statement.options:
                    yield from statements(option.body)
            case Switch():
                for item in statement.cases:
                    yield from statements(item.body)
            case Loop() | Nested():
                yield from statements(statement.body)
            case Directive():
                for _, body in statement.options:
                    yield from statements(body)


def own_expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions that stand directly in a statement."""
    match statement:
        case Assign() | Return():
            return (statement.value,) if statement.value is not None else ()
        case Evaluate():
            return (statement.expr,)
        case Branch():
            return tuple(o.condition for o in statement.options if o.condition is not None)
        case Switch():
            return (statement.subject,)
        case Check():
            return (statement.condition,)
    return ()


def parts(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it."""
    yield expr
    for part in (*expr.args, *expr.targs):
        yield from parts(part)
    if expr.body is not None:
        for statement in statements(expr.body):
            for inner in own_expressions(statement):
                yield from parts(inner)


def deciding(statement: Statement) -> Iterator[Expr]:
    """The expressions of a statement whose truth decides something: conditions, checks, flags, choices."""
    match statement:
        case Branch() | Switch() | Check():
            yield from own_expressions(statement)
    for expr in own_expressions(statement):
        for part in parts(expr):
            if part.op is Op.CHOICE:
                yield part.args[0]
            elif part.op in (Op.BINARY, Op.UNARY) and part.name in ("&&", "||", "!"):
                yield from part.args


def may_answer(expr: Expr) -> bool:
    """Whether an expression is a call that may answer yes or no; std::get<1>(pair) is none."""
    return expr.op is Op.CALL and not (expr.name == "get" and expr.targs)
