"""What types hold: the constants of class templates for their arguments, and whether two types are one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archscan.frontends.cuda.host.answers import DEPTH
from archscan.frontends.cuda.host.project import DefinedConstant
from archscan.frontends.cuda.host.syntax import Expr, Op
from archscan.frontends.cuda.host.values import (
    ConditionResult,
    Value,
    constant,
    operate,
    paired,
    selected,
    unknown,
)

if TYPE_CHECKING:
    from archscan.frontends.cuda.host.evaluation import Evaluator
    from archscan.frontends.cuda.host.truths import Scope

SAME = frozenset({"is_same_v", "is_same"})
_CHOSEN = frozenset({"conditional_t", "conditional"})


def member_of_type(evaluator: Evaluator, expr: Expr, scope: Scope) -> Value | None:
    """The constant of a type that a template parameter or alias stands for: `lower::major` of `SMVersion<8, 0>`."""
    named = expr.scope.rpartition("::")[2]
    given = scope.types.get(named)
    type_ = given if given is not None else Expr(Op.NAME, expr.place, named, named, targs=expr.targs)
    return _member(evaluator, type_, expr.name, scope)


def _member(evaluator: Evaluator, type_: Expr, member: str, scope: Scope, hops: int = 0) -> Value | None:
    """The constant that a type has under a name, the aliases and choices behind the type followed."""
    aliases = evaluator.names.aliases.get(type_.name, ()) if not type_.targs else ()
    if len({(a.base, tuple(t.text for t in a.targs)) for a in aliases}) == 1 and hops < DEPTH:
        aliased = Expr(Op.NAME, type_.place, type_.text, aliases[0].base, targs=aliases[0].targs)
        return _member(evaluator, aliased, member, scope, hops + 1)
    if type_.name in _CHOSEN and len(type_.targs) == 3:
        chosen_type = (_member(evaluator, t, member, scope, hops + 1) for t in type_.targs[1:])
        yes, no = (found or unknown(type_.text) for found in chosen_type)
        return selected(evaluator.condition(type_.targs[0], scope), yes, no)
    return _instantiated(evaluator, type_, member, scope) if type_.targs else None


def _instantiated(evaluator: Evaluator, type_: Expr, member: str, scope: Scope) -> Value | None:
    """The constant of a class template for these arguments: that of the specialisation they meet, if any."""
    found = [d for d in evaluator.names.constants.get(member, ()) if d.constant.scope.rpartition("::")[2] == type_.name]
    general = [d for d in found if not d.constant.special]
    if len(general) != 1 or evaluator.answers.end_at(scope.depth):
        return None
    args = [evaluator.value(t, scope) for t in type_.targs]
    parameters = evaluator.names.templates.get(type_.name, ())
    result = _with(evaluator, general[0], dict(zip(parameters, args, strict=False)), scope)
    for special in found:
        if special.constant.special:
            meets = _meets(evaluator, special.constant.special, args, scope)
            result = selected(meets, _with(evaluator, special, {}, scope), result)
    arch = any(a.basis.arch for a in args)
    return result if result.cases else unknown(type_.text, arch=True) if arch else None


def _with(evaluator: Evaluator, defined: DefinedConstant, env: dict[str, Value], scope: Scope) -> Value:
    return evaluator.value(defined.constant.value, scope.deeper(defined.path, env, None))


def _meets(evaluator: Evaluator, special: tuple[Expr, ...], args: list[Value], scope: Scope) -> ConditionResult:
    """Where the arguments are those of a specialisation."""
    result = evaluator.always()
    for wanted, given in zip(special, args, strict=False):
        equal = operate("==", given, evaluator.value(wanted, scope))
        result = result & evaluator.verdict(equal or unknown(wanted.text), wanted, scope)
    return result


def same_type(evaluator: Evaluator, left: Expr, right: Expr, text: str, scope: Scope) -> Value:
    """Whether two types are one: the same template with arguments of equal value."""
    if left.text == right.text:
        return constant(1, evaluator.universe.device)
    args = [
        (evaluator.value(a, scope), evaluator.value(b, scope)) for a, b in zip(left.targs, right.targs, strict=False)
    ]
    if left.name != right.name or len(left.targs) != len(right.targs) or not args:
        return unknown(text, arch=any(a.basis.arch or b.basis.arch for a, b in args))
    pairs = zip(left.targs, right.targs, args, strict=True)
    equal = [operate("==", a, b) or unknown(text) for x, y, (a, b) in pairs if x.text != y.text]
    result = constant(1, evaluator.universe.device)
    for value in equal:
        result = paired(result, value, lambda a, b: int(a == b == 1))
    return result
