"""Truths of conditions: connectives over what is known of each side, and what is taken as met where nothing is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from archscan.frontends.cuda.host.naming_conventions import convention_of
from archscan.frontends.cuda.host.project import SymbolTable
from archscan.frontends.cuda.host.syntax import Expr, Function, Guard, Op
from archscan.frontends.cuda.host.traversal import parts
from archscan.frontends.cuda.host.values import (
    Assumption,
    ConditionResult,
    Provenance,
    Value,
    constant,
    unknown,
    verdict_of,
)
from archscan.model.condition import asked, atom, possibly, restricted, surely, without
from archscan.model.target import Universe


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: its file and function, what its names hold, how deep in calls."""

    path: str
    env: Mapping[str, Value]
    function: Function | None = None
    depth: int = 0
    types: Mapping[str, Expr] = field(default_factory=dict)  # template parameters bound to types
    refused: int = 0  # the targets that a check above has turned away
    whole: Expr | None = None  # the condition that the expression is part of

    def within(self, whole: Expr) -> Scope:
        return Scope(self.path, self.env, self.function, self.depth, self.types, self.refused, whole)

    def deeper(self, path: str, env: Mapping[str, Value], function: Function | None) -> Scope:
        return Scope(path, env, function, self.depth + 1)


@dataclass
class ConditionEvaluator:
    """Answers conditions over the universe; who knows values says what their operands are."""

    universe: Universe
    names: SymbolTable

    @abstractmethod
    def value(self, expr: Expr, scope: Scope) -> Value:
        """The value of an expression, per target."""

    def condition(self, expr: Expr, scope: Scope, negated: bool = False, refusing: bool = False) -> ConditionResult:
        """The truth of an expression (of its negation, if `negated`).

        What does not depend on the architecture is taken as met; in a condition that guards a refusal
        (`refusing`), a requirement that is negated there (`!aligned`) is taken as kept instead.
        """
        if scope.whole is None:
            scope = scope.within(expr)
        if expr.op is Op.UNARY and expr.name == "!":
            return self.condition(expr.args[0], scope, not negated, refusing)
        if expr.op is Op.BINARY and expr.name in ("&&", "||"):
            return self._connective(expr, scope, negated, refusing)
        verdict = self.verdict(self.value(expr, scope), expr, scope)
        if expr.op is Op.NAME and convention_of(expr.name) and expr.name not in scope.env:
            return self._assumption(expr, scope, negated, refusing)  # `if (major)`: a pointer that is given or not
        if verdict.basis.arch or _says_something(verdict):
            return ~verdict if negated else verdict
        return self._assumption(expr, scope, negated, refusing)

    def verdict(self, value: Value, expr: Expr, scope: Scope) -> ConditionResult:
        """The truth of the value that an expression has."""
        return verdict_of(value, self.universe.device, expr.text, (scope.path, expr.place.start))

    def always(self) -> ConditionResult:
        """Yes on every device target."""
        return ConditionResult(self.universe.device, self.universe.device)

    def never(self) -> ConditionResult:
        """No on every device target."""
        return ConditionResult(0, self.universe.device)

    def _connective(self, expr: Expr, scope: Scope, negated: bool, refusing: bool) -> ConditionResult:
        left, right = expr.args
        if right.op is Op.TEXT:  # assert(x && "message")
            return self.condition(left, scope, negated, refusing)
        a = self.condition(left, scope, negated, refusing)
        b = self.condition(right, scope, negated, refusing)
        conjunction = (expr.name == "&&") != negated
        if not conjunction and a.basis.arch != b.basis.arch:
            return _alternative(a, b)
        found = a & b if conjunction else a | b
        if not a.basis.arch and not b.basis.arch and not _says_something(found):
            return self._assumption(expr, scope, negated, refusing, (*a.unknowns, *b.unknowns))
        return found

    def _assumption(
        self, expr: Expr, scope: Scope, negated: bool, refusing: bool, names: tuple[str, ...] = ()
    ) -> ConditionResult:
        opposed = negated != (expr.op is Op.BINARY and expr.name == "!=")
        place = (scope.path, _asked_from(expr, scope))
        one = atom(expr.text, "expr", place=place, names=tuple(sorted(set(names))) or (atom_name(expr),))
        holds = (refusing and opposed) == negated
        device = self.universe.device
        found = ConditionResult(asked(one, device), device, Provenance(supposed=(Assumption(one, holds),)))
        return ~found if negated else found

    def guarded(self, guards: tuple[Guard, ...], scope: Scope) -> ConditionResult:
        """The truth of preprocessor conditions around code; unknown macros are taken as met."""
        result = self.always()
        for guard in guards:
            result = result & self.condition(guard.condition, scope, guard.negated)
        return result

    def _defined(self, name: str) -> Value:
        if name in self.names.defines:
            return constant(int(self.names.defines[name] is not None), self.universe.device)
        if name == "__CUDA_ARCH__":
            return constant(1, self.universe.device)
        macros = self.names.macros
        if macros is not None and (everywhere := macros.is_defined_everywhere(name)) != macros.is_undefined(name):
            return constant(int(everywhere), self.universe.device)
        return unknown(name)


def _asked_from(expr: Expr, scope: Scope) -> int:
    """From where on an unknown is the same: a template parameter in its function, a name in the condition around."""
    function, whole = scope.function, scope.whole
    if expr.op is not Op.NAME:
        return expr.place.start
    if function is not None and expr.name in function.template:
        return function.place.start
    if whole is None or any(_may_change(part, expr.name) for part in parts(whole)):
        return expr.place.start
    return whole.place.start


def _may_change(expr: Expr, name: str) -> bool:
    """Whether an expression is given a name in a way that could change it: not by asking for its value."""
    if expr.body is not None:
        return True
    asks = expr.op in (Op.CHOICE, Op.FIELD) or (expr.op is Op.UNARY and expr.name in ("!", "-"))
    return not (asks or expr.op is Op.BINARY) and any(arg.op is Op.NAME and arg.name == name for arg in expr.args)


def _says_something(verdict: ConditionResult) -> bool:
    """Whether there is a definite answer for some target."""
    return bool(surely(verdict.when) or verdict.among & ~possibly(verdict.when))


def _alternative(left: ConditionResult, right: ConditionResult) -> ConditionResult:
    """A refusal for one of several reasons, some of which are no matter of the architecture: those are left out.

    So is one that asks for the architecture only where something else holds (`x || (use_w4 && sm != 89)`).
    """
    asking, other = (left, right) if left.basis.arch else (right, left)
    kept = [*(~ConditionResult(other.when, other.among)).settled().basis.supposed]
    for one in asking.basis.supposed:
        there, elsewhere = (restricted(asking.when, {one.atom: one.holds is way}) for way in (True, False))
        if not possibly(without(there, elsewhere)):
            kept.append(one)
    found = left | right
    return ConditionResult(found.when, found.among, replace(found.basis, supposed=tuple(kept)))


def atom_name(expr: Expr) -> str:
    """A short name for something unknown: the identifier asked for, else the text."""
    if expr.op in (Op.NAME, Op.FIELD, Op.CALL):
        if expr.name == "defined" and expr.args:
            return expr.args[0].name
        return expr.name or expr.text[:60]
    if expr.op is Op.UNARY and expr.args:
        return atom_name(expr.args[0])
    return expr.text[:60]
