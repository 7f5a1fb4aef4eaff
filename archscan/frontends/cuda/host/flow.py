"""Follows a function statement by statement: what its names hold, where control is live, what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from archscan.analysis.decisions import in_order, ladders
from archscan.frontends.cuda.host.evaluation import Evaluator, chosen, is_boolean
from archscan.frontends.cuda.host.naming_conventions import convention_of, is_of_version
from archscan.frontends.cuda.host.out_parameters import ATTRIBUTE, filled, only, pointee
from archscan.frontends.cuda.host.project import Defined
from archscan.frontends.cuda.host.syntax import (
    Assign,
    Block,
    Branch,
    Case,
    Check,
    Directive,
    Evaluate,
    Expr,
    Function,
    Leave,
    Loop,
    Nested,
    Op,
    Option,
    Return,
    Statement,
    Switch,
    conjunction,
    declared,
    dotted,
)
from archscan.frontends.cuda.host.truths import Scope
from archscan.frontends.cuda.host.values import (
    NO_BASIS,
    ConditionResult,
    Origin,
    Payload,
    Provenance,
    Value,
    major,
    merged,
    minor,
    operate,
    unknown,
)
from archscan.model.condition import EVERY, Cond, both, surely

_NESTING = 60  # blocks inside each other; beyond that control is not followed


class Recorder:
    """Is told of every place that may be a gate, with what is known there; says nothing of what it does not take up."""

    def is_predicate(self, function: str) -> bool:
        """Whether some condition asks for the truth of a function: it is a gate there, not where it is returned."""
        return False

    def branch(
        self, branch: Branch, conditions: tuple[ConditionResult, ...], scope: Scope, live: ConditionResult
    ) -> None:
        return

    def switch(
        self, switch: Switch, conditions: tuple[ConditionResult, ...], scope: Scope, live: ConditionResult
    ) -> None:
        return

    def check(self, check: Check, scope: Scope, live: ConditionResult) -> None:
        return

    def assigned(self, assign: Assign, scope: Scope, live: ConditionResult) -> None:
        return

    def returned(self, statement: Return, scope: Scope, live: ConditionResult) -> None:
        return

    def expression(self, expr: Expr, scope: Scope, live: ConditionResult) -> None:
        return


@dataclass
class Interpreter:
    """One walk through one function."""

    evaluator: Evaluator
    path: str
    function: Function
    depth: int = 0
    recorder: Recorder | None = None
    env: dict[str, Value] = field(default_factory=dict)
    returns: list[tuple[ConditionResult, Value]] = field(default_factory=list)
    weak: int = 0  # how many conditions that are no matter of the architecture stand around
    nesting: int = 0
    types: Mapping[str, Expr] = field(default_factory=dict)  # template parameters bound to types
    refused: int = 0  # the targets that a check above has turned away
    is_asked: bool = False  # in a lambda whose truth some condition asks for
    _live: ConditionResult | None = None

    @property
    def live(self) -> ConditionResult:
        """Where control is."""
        if self._live is None:
            self._live = self.evaluator.always()
        return self._live

    @live.setter
    def live(self, value: ConditionResult) -> None:
        self._live = value

    @property
    def scope(self) -> Scope:
        return Scope(self.path, self.env, self.function, self.depth, self.types, self.refused)

    def run(self, block: Block) -> None:
        """Walks a block."""
        if self.nesting > _NESTING:
            return
        self.nesting += 1
        for step in ladders(block, self._rung, _has_else):
            self.step(_as_one(step) if isinstance(step, list) else step)
        self.nesting -= 1

    def _rung(self, statement: Statement) -> Branch | None:
        """A statement as a part of a ladder: `if (c) return`, alone or under an #if, which it asks for too."""
        if isinstance(statement, Branch):
            return statement if self._leaves(statement) else None
        if not isinstance(statement, Directive) or len(statement.options) != 1:
            return None
        guard, body = statement.options[0]
        if guard is None or len(body) != 1 or not isinstance(body[0], Branch):
            return None
        branch = body[0]
        options = tuple(replace(o, condition=conjunction(guard, o.condition)) for o in branch.options if o.condition)
        joined = replace(branch, options=options)
        return joined if len(options) == len(branch.options) and self._leaves(joined) else None

    def _leaves(self, branch: Branch) -> bool:
        """Whether every arm leaves the function and every condition asks for the architecture."""
        if branch.constexpr or not branch.options or not all(o.summary.exits for o in branch.options):
            return False
        conditions = [o.condition for o in branch.options if o.condition]
        return all(self.evaluator.condition(c, self.scope).basis.arch for c in conditions)

    def step(self, statement: Statement) -> None:
        """Walks one statement."""
        match statement:
            case Assign():
                self._assign(statement)
            case Evaluate():
                self._effects(statement.expr)
            case Branch():
                self._branch(statement)
            case Switch():
                self._switch(statement)
            case Return():
                self._return(statement)
            case Leave():
                self._leave(statement)
            case Nested():
                live, self.env = self._inside(statement.body, self.live, None)
                self.live = live
            case Loop():
                self._loop(statement)
            case Directive():
                self._directive(statement)
            case Check():
                self._check(statement)

    def _leave(self, statement: Leave) -> None:
        if statement.word == "label":
            self.live = self.evaluator.always()
        elif statement.word != "break":
            self.live = self._nowhere()

    def _nowhere(self) -> ConditionResult:
        return self.evaluator.never()

    # values

    def _assign(self, statement: Assign) -> None:
        if statement.value is None:
            for target in statement.targets:
                self.env.pop(target, None)
            return
        if self.recorder:
            self.recorder.assigned(statement, self.scope, self.live)
        self._effects(statement.value, quiet=True)
        value = self.evaluator.value(statement.value, self.scope)
        if statement.compound:
            value = unknown(statement.targets[0], arch=value.basis.arch)
        if len(statement.targets) == 1:
            self.env[statement.targets[0]] = self._as_flag(statement, value)
            return
        for index, target in enumerate(statement.targets):
            element = self.evaluator._element(value, index, target)
            if element.cases:
                self.env[target] = element
            else:
                self.env.pop(target, None)

    def _as_flag(self, statement: Assign, value: Value) -> Value:
        """A truth kept in a local name remembers where it was decided."""
        expr = statement.value
        if (
            expr is None
            or not (is_boolean(expr) or (self.recorder is not None and self.recorder.is_predicate(expr.name)))
            or not value.basis.arch
            or "." in statement.targets[0]
        ):
            return value
        return value.based(Provenance(origins=frozenset({Origin(self.path, expr.place.line, statement.targets[0])})))

    def _effects(self, expr: Expr, quiet: bool = False) -> None:
        """What calls inside an expression write through pointers; lambdas are walked where they stand."""
        if self.recorder and not quiet:
            self.recorder.expression(expr, self.scope, self.live)
        for call in calls_in(expr):
            if call.name in ATTRIBUTE and len(call.args) >= 2:
                self._attribute(call)
            elif call.body is not None and self.recorder:
                self._lambda(call)
            else:
                self._written(call)

    def _attribute(self, call: Expr) -> None:
        target, asked = dotted(pointee(call.args[0])), call.args[1].text
        if "apability" in asked or "CAPABILITY" in asked:
            wanted = major if "Major" in asked or "MAJOR" in asked else minor
            self.env[target] = wanted(self.evaluator.universe)
        else:
            self.env[target] = unknown(target)

    def _written(self, call: Expr) -> None:
        given = self._filled(call)
        for position, arg in enumerate(call.args):
            if arg.op in (Op.UNARY, Op.NAME):
                name = dotted(pointee(arg))
                if position in given:
                    self.env[name] = given[position]
                    continue
                held = self.env.get(name)
                by_pointer = arg.op is Op.UNARY and arg.name == "&"
                if by_pointer and is_of_version(call.name):
                    self.env[name] = unknown(name)
                elif held and not held.basis.arch and (by_pointer or convention_of(name)):
                    del self.env[name]

    def _filled(self, call: Expr) -> dict[int, Value]:
        """What a helper writes through its parameters, by position: only what hangs on the architecture."""
        defined = only(
            self.evaluator.names.candidates(call.name, call.scope, self.path, len(call.args)), len(call.args)
        )
        answers = self.evaluator.answers
        if defined is None or answers.end_at(self.depth) or not (positions := filled(defined.function)):
            return {}
        work = partial(self._fills, defined, positions)
        return answers.of((id(defined.function), "fills"), self.depth, {}, work)

    def _fills(self, defined: Defined, positions: Sequence[int]) -> dict[int, Value]:
        inner = Interpreter(self.evaluator, defined.path, defined.function, self.depth + 1)
        inner.run(defined.function.body)
        found: dict[int, Value] = {}
        for position in positions:
            name = defined.function.parameters[position]
            value = inner.env.get(f"*{name}") or inner.env.get(name)
            if value is not None and value.basis.arch and value.cases:
                found[position] = value
        return found

    def _lambda(self, call: Expr) -> None:
        inner = Interpreter(self.evaluator, self.path, self.function, self.depth, self.recorder, dict(self.env))
        inner.nesting, inner.live, inner.types = self.nesting + 1, self.live, self.types
        inner.is_asked = self.recorder is not None and self.recorder.is_predicate(call.scope)
        inner.run(call.body or ())

    # control

    def _branch(self, branch: Branch) -> None:
        conditions = tuple(
            self.evaluator.condition(o.condition, self.scope, refusing=o.summary.effect.refuses)
            for o in branch.options
            if o.condition
        )
        if self.recorder:
            for option in branch.options:
                if option.condition:
                    self._effects(option.condition, quiet=True)
            self.recorder.branch(branch, conditions, self.scope, self.live)
        before = self.live
        remaining = before
        ends: list[_End] = []
        stays = True  # no arm leaves, so that control is where it was, whatever the conditions say
        for index, option in enumerate(branch.options):
            condition = conditions[index] if option.condition else None
            taken = remaining & condition if condition and condition.basis.arch else _softened(remaining, condition)
            live, env = self._inside(option.body, taken, condition)
            ends.append((condition or self.evaluator.always(), live, env))
            stays = stays and live == taken
            if condition is None:
                remaining = self._nowhere()
            elif condition.basis.arch or surely(condition.when):
                remaining = remaining & _not_taken(condition)
        self.live = before if stays else self._joined([e[1] for e in ends], remaining, conditions, before)
        self._merge(ends)

    def _joined(
        self,
        ends: list[ConditionResult],
        remaining: ConditionResult,
        conditions: tuple[ConditionResult, ...],
        before: ConditionResult,
    ) -> ConditionResult:
        if all(not c.basis.arch for c in conditions):
            return before if any(v.when != 0 for v in (remaining, *ends)) else self._nowhere()
        return _based_on(before, [remaining, *ends])

    def _inside(
        self, body: Block, live: ConditionResult, condition: ConditionResult | None, braces: bool = True
    ) -> tuple[ConditionResult, dict[str, Value]]:
        """Where control comes out of a body and what names hold then; those declared within `braces` end there."""
        saved_env, saved_live, saved_refused = self.env, self.live, self.refused
        self.env, self.live = dict(saved_env), live
        weak = condition is not None and not condition.basis.arch
        self.weak += weak
        self.run(body)
        self.weak -= weak
        for name in declared(body) if braces else ():
            self.env.pop(name, None)
            if name in saved_env:
                self.env[name] = saved_env[name]
        result = self.live, self.env
        self.env, self.live, self.refused = saved_env, saved_live, saved_refused
        return result

    def _merge(self, ends: list[_End]) -> None:
        """What names hold after a branch: per target from the arm it takes; arms that left do not count."""
        before = self.env
        reached = [end for end in reversed(ends) if end[1].reached]
        changed = {n for _, _, env in reached for n, v in env.items() if before.get(n) is not v}
        for name in changed:
            held = before.get(name)
            result = held if held is not None else self.evaluator.seeded(name, name)
            for condition, _, env in reached:
                if (value := env.get(name)) is not None:
                    result = chosen(condition, value, result) if condition.basis != NO_BASIS else value
            self.env[name] = result

    def _switch(self, switch: Switch) -> None:
        subject = self.evaluator.value(switch.subject, self.scope)
        if not subject.cases or self.evaluator.is_choice(subject) or not self._labels_are_known(switch, subject):
            subject = unknown(switch.subject.text)
        conditions = tuple(self._case_condition(switch, case, subject) for case in switch.cases)
        if self.recorder:
            self.recorder.switch(switch, conditions, self.scope, self.live)
        before = self.live
        ends: list[_End] = []
        after: ConditionResult = before
        for case, condition in zip(switch.cases, conditions, strict=True):
            taken = before & condition if condition.basis.arch else _softened(before, condition)
            live, env = self._inside(case.body, taken, condition)
            ends.append((condition, live, env))
            if not live.reached and condition.basis.arch:
                after = after & _not_taken(condition)
        self.live = _based_on(before, [after])
        self._merge(ends)

    def _labels_are_known(self, switch: Switch, subject: Value) -> bool:
        """Whether some label can be the subject: those of an enumeration of something else cannot."""
        labels = (label for case in switch.cases for label in case.labels)
        asked = (operate("==", subject, self.evaluator.value(label, self.scope)) for label in labels)
        return any(equal is not None and equal.cases for equal in asked)

    def _case_condition(self, switch: Switch, case: Case, subject: Value) -> ConditionResult:
        entered = self._labelled(case.entered, subject)
        if not case.default:
            result = self._labelled(case.labels, subject) | entered
            return result & self.evaluator.guarded(case.guards, self.scope)
        result = self.evaluator.always()
        for other in switch.cases:
            if not other.default:
                named = self._labelled(other.labels, subject) & self.evaluator.guarded(other.guards, self.scope)
                result = result & ~named
        result = result | entered
        return result.untold()

    def _labelled(self, labels: tuple[Expr, ...], subject: Value) -> ConditionResult:
        """Where the subject is one of the labels."""
        result = replace(self.evaluator.never(), basis=subject.basis)
        for label in labels:
            equal = operate("==", subject, self.evaluator.value(label, self.scope))
            result = result | self.evaluator.verdict(equal or unknown(label.text), label, self.scope)
        return result

    def _return(self, statement: Return) -> None:
        if statement.value is not None:
            if self.recorder and not self.is_asked:
                self.recorder.returned(statement, self.scope, self.live)
            self._effects(statement.value, quiet=True)
            value = self.evaluator.value(statement.value, self.scope)
            if not self.weak or value.basis.arch:
                self.returns.append((self.live, value))
        self.live = self._nowhere()

    def _loop(self, loop: Loop) -> None:
        before = self.live
        _, env = self._inside(loop.body, before, self.evaluator.always())
        self.live = before
        for name, value in env.items():
            if self.env.get(name) is not value and not value.basis.arch:
                self.env[name] = unknown(name)

    def _directive(self, directive: Directive) -> None:
        """#if among statements: macros that nobody knows are taken as met, and the other side is walked too."""
        before = self.live
        ends: list[_End] = []
        open_end = False
        for condition, body in directive.options:
            verdict = self.evaluator.condition(condition, self.scope) if condition else None
            taken = before & verdict if verdict else before
            known = verdict is not None and (verdict.truth.yes or verdict.truth.no)
            if known and not taken.reached and not self.recorder:
                continue
            saved = self.returns
            self.returns = []
            live, env = self._inside(body, taken, verdict if not known else None, braces=False)
            self.returns = saved + ([] if ends and not known and not self.recorder else self.returns)
            ends.append((verdict or self.evaluator.always(), live, env))
            open_end = open_end or bool(live.reached)
        has_else = any(c is None for c, _ in directive.options)
        self.live = before if open_end or not has_else else self._nowhere()
        self._merge(ends[:1] if ends else [])

    def _check(self, check: Check) -> None:
        self._effects(check.condition, quiet=True)
        if self.recorder:
            self.recorder.check(check, self.scope, self.live)
        verdict = ~self.evaluator.condition(check.condition, self.scope, negated=True, refusing=True)
        if verdict.basis.arch and check.macro != "assert":
            self.refused |= verdict.truth.no & self.live.reached
            self.live = self.live & ConditionResult(verdict.when, verdict.among)


_End = tuple[
    ConditionResult, ConditionResult, dict[str, Value]
]  # of an arm: its condition, where control comes out, what names hold


def _has_else(rung: Branch) -> bool:
    return rung.options[-1].condition is None


def _as_one(ladder: list[Branch]) -> Branch:
    """The rungs of a ladder as one branch."""
    return replace(ladder[0], options=tuple(o for rung in ladder for o in rung.options), rest=ladder[-1].rest)


def _not_taken(condition: ConditionResult) -> ConditionResult:
    """Where control goes past an arm: only what surely takes it is kept out."""
    return ~ConditionResult(condition.when, condition.among)


def _based_on(before: ConditionResult, ends: Sequence[ConditionResult]) -> ConditionResult:
    """Where control is after several ends; nothing more is told of what is supposed than before."""
    result = ends[0]
    for end in ends[1:]:
        result = result | end
    return ConditionResult(result.when, result.among, before.basis)


def _softened(live: ConditionResult, condition: ConditionResult | None) -> ConditionResult:
    """Control inside an arm whose condition is no matter of the architecture: it is supposed to hold there."""
    if condition is None or surely(condition.when):
        return live
    inside = ConditionResult(condition.when, condition.among).settled()
    return ConditionResult(both(live.when, condition.when), live.among, inside.basis | live.basis)


def calls_in(expr: Expr) -> Iterator[Expr]:
    """Every call and lambda in an expression, inner ones first."""
    for part in (*expr.args, *expr.targs):
        yield from calls_in(part)
    if expr.op is Op.CALL or expr.body is not None:
        yield expr


def returned(
    evaluator: Evaluator,
    defined: Defined,
    args: tuple[Value, ...],
    scope: Scope,
    outer: Mapping[str, Value],
    types: Mapping[str, Expr] | None = None,
) -> Value:
    """What a function returns: per target the value of the return that is reached."""
    function = defined.function
    env = {**outer, **{p: v for p, v in zip(function.parameters, args, strict=False) if p and _passed(p, v)}}
    flow = Interpreter(evaluator, defined.path, function, scope.depth + 1, None, env, types=types or {})
    flow.run(function.body)
    cases: list[tuple[Payload, Cond]] = []
    basis = Provenance()
    reached = in_order(EVERY, [live.when for live, _ in flow.returns])
    for (live, value), here in zip(flow.returns, reached, strict=True):
        cases += [(p, both(m, here)) for p, m in value.cases]
        basis = basis | value.basis | (NO_BASIS if isinstance(here, int) else live.basis)
    arch = basis.arch or any(live.reached != live.among for live, _ in flow.returns if live.reached)
    compiled = basis.compiled or any(live.basis.compiled for live, _ in flow.returns)
    return Value(merged(cases), replace(basis, arch=arch, compiled=compiled))


def _passed(parameter: str, value: Value) -> bool:
    """An argument of unknown value says less than the parameter's own name."""
    return bool(value.cases) or convention_of(parameter) is None or value.basis.arch


def option_verdicts(
    options: tuple[Option, ...], conditions: tuple[ConditionResult, ...]
) -> list[ConditionResult | None]:
    """The conditions in arm order, None for else."""
    rest = iter(conditions)
    return [next(rest) if option.condition else None for option in options]
