"""Truths of conditions: connectives over what is known of each side, and what is taken as met where nothing is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from archscan.frontends.cuda.host.names import seed_of
from archscan.frontends.cuda.host.project import Names
from archscan.frontends.cuda.host.syntax import Expr, Function, Guard, Op
from archscan.frontends.cuda.host.values import NO_BASIS, Basis, Value, Verdict, constant, unknown, verdict_of
from archscan.model.target import Universe
from archscan.model.truth import UNKNOWN, Truth, always

_LONGEST_TEXT = 160  # of an assumption


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: its file and function, what its names hold, how deep in calls."""

    path: str
    env: Mapping[str, Value]
    function: Function | None = None
    depth: int = 0
    types: Mapping[str, Expr] = field(default_factory=dict)  # template parameters bound to types
    refused: int = 0  # the targets that a check above has turned away

    def deeper(self, path: str, env: Mapping[str, Value], function: Function | None) -> Scope:
        return Scope(path, env, function, self.depth + 1)


@dataclass
class Truths:
    """Answers conditions over the universe; who knows values says what their operands are."""

    universe: Universe
    names: Names

    @abstractmethod
    def value(self, expr: Expr, scope: Scope) -> Value:
        """The value of an expression, per target."""

    def condition(self, expr: Expr, scope: Scope, negated: bool = False, refusing: bool = False) -> Verdict:
        """The truth of an expression (of its negation, if `negated`).

        What does not depend on the architecture is taken as met; in a condition that guards a refusal
        (`refusing`), a requirement that is negated there (`!aligned`) is taken as kept instead.
        """
        if expr.op is Op.UNARY and expr.name == "!":
            return self.condition(expr.args[0], scope, not negated, refusing)
        if expr.op is Op.BINARY and expr.name in ("&&", "||"):
            return self._connective(expr, scope, negated, refusing)
        verdict = verdict_of(self.value(expr, scope))
        if expr.op is Op.NAME and seed_of(expr.name) and expr.name not in scope.env:
            return self._assumption(expr, negated, refusing)  # `if (major)`: a pointer that is given or not
        if verdict.basis.arch or verdict.truth.yes or verdict.truth.no:
            return ~verdict if negated else verdict
        return self._assumption(expr, negated, refusing)

    def _connective(self, expr: Expr, scope: Scope, negated: bool, refusing: bool) -> Verdict:
        left, right = expr.args
        if right.op is Op.TEXT:  # assert(x && "message")
            return self.condition(left, scope, negated, refusing)
        a = self.condition(left, scope, negated, refusing)
        b = self.condition(right, scope, negated, refusing)
        conjunction = (expr.name == "&&") != negated
        if not conjunction and a.basis.arch != b.basis.arch:
            return self._alternative(a, b)
        both = a & b if conjunction else a | b
        if not a.basis.arch and not b.basis.arch and not (both.truth.yes or both.truth.no):
            whole = self._assumption(expr, negated, refusing)
            return replace(whole, basis=replace(whole.basis, unknowns=a.basis.unknowns | b.basis.unknowns))
        return _pruned(both, a, b, self.universe.device)

    def _alternative(self, left: Verdict, right: Verdict) -> Verdict:
        """A refusal for one of several reasons, some of which are no matter of the architecture: those are left out.

        So is one that asks for the architecture only where something else holds (`x || (use_w4 && sm != 89)`).
        """
        asking, other = (left, right) if left.basis.arch else (right, left)
        kept = frozenset(f"!({text})" for text in other.basis.assumes)
        basis = asking.basis | Basis(other.basis.unknowns, kept)
        assumed = Truth(asking.truth.yes, asking.assumed.no) if asking.basis.assumes else asking.assumed
        return Verdict(asking.truth | other.truth, assumed, basis)

    def _assumption(self, expr: Expr, negated: bool, refusing: bool) -> Verdict:
        opposed = negated != (expr.op is Op.BINARY and expr.name == "!=")
        met = Truth(0, self.universe.device) if refusing and opposed else always(self.universe.device)
        text = f"!({expr.text})" if negated != (refusing and opposed) else expr.text
        basis = Basis(unknowns=frozenset({atom_name(expr)}), assumes=frozenset({_shortened(text)}))
        return Verdict(UNKNOWN, met, basis)

    def guarded(self, guards: tuple[Guard, ...], scope: Scope) -> Verdict:
        """The truth of preprocessor conditions around code; unknown macros are taken as met."""
        result = Verdict(always(self.universe.device), always(self.universe.device), NO_BASIS)
        for guard in guards:
            result = result & self.condition(guard.condition, scope, guard.negated)
        return result

    def _defined(self, name: str) -> Value:
        if name in self.names.defines:
            return constant(int(self.names.defines[name] is not None), self.universe.device)
        if name == "__CUDA_ARCH__":
            return replace(constant(1, self.universe.device), basis=Basis(arch=False))
        macros = self.names.macros
        if macros is not None and (everywhere := macros.is_defined_everywhere(name)) != macros.is_undefined(name):
            return constant(int(everywhere), self.universe.device)
        return unknown(name)


def _shortened(text: str) -> str:
    """A long condition up to the end of one of its parts."""
    if len(text) <= _LONGEST_TEXT:
        return text
    cut = max(text.rfind(mark, 0, _LONGEST_TEXT) for mark in (" && ", " || "))
    return f"{text[: cut if cut > 0 else _LONGEST_TEXT]} …"


def _pruned(both: Verdict, left: Verdict, right: Verdict, device: int) -> Verdict:
    """Drops the unknowns of a side that cannot matter: the other decides everywhere."""
    if both.truth.unknown(device) == 0:
        return Verdict(both.truth, both.assumed, replace(both.basis, unknowns=frozenset(), assumes=frozenset()))
    return both


def atom_name(expr: Expr) -> str:
    """A short name for something unknown: the identifier asked for, else the text."""
    if expr.op in (Op.NAME, Op.FIELD, Op.CALL):
        if expr.name == "defined" and expr.args:
            return expr.args[0].name
        return expr.name or expr.text[:60]
    if expr.op is Op.UNARY and expr.args:
        return atom_name(expr.args[0])
    return expr.text[:60]
