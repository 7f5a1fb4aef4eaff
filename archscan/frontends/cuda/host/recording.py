"""Turns what the walk through a function meets into gates: one per conditional whose outcome depends on the target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from archscan.analysis.decisions import About, Rest, decided, listed
from archscan.frontends.cuda.host import values
from archscan.frontends.cuda.host.evaluation import MEMBERSHIP, Evaluator, is_bit, is_boolean
from archscan.frontends.cuda.host.flow import Recorder, option_verdicts
from archscan.frontends.cuda.host.naming_conventions import is_check
from archscan.frontends.cuda.host.syntax import (
    BOOLEAN,
    Assign,
    BlockEffect,
    Branch,
    Check,
    Expr,
    Function,
    Op,
    Return,
    Switch,
    dotted,
)
from archscan.frontends.cuda.host.traversal import may_answer, parts
from archscan.frontends.cuda.host.truths import Scope
from archscan.frontends.cuda.host.values import ConditionResult, Listing, Origin, Value
from archscan.frontends.cuda.presence import PresenceMap
from archscan.model.condition import both, mapped, restricted, surely, truth, widest
from archscan.model.facts import Undecided
from archscan.model.gate import (
    Arm,
    Does,
    Effect,
    Gate,
    Kind,
    Layer,
    Place,
    Related,
    Role,
)
from archscan.model.gate import Scope as FunctionScope
from archscan.model.truth import Truth

_TRUTHS = frozenset({"true", "false", "1", "0"})


@dataclass(frozen=True, slots=True)
class ArmDraft:
    """An arm before its truth is combined with what is around it."""

    condition: Expr | None
    verdict: ConditionResult
    place: Place
    summary: BlockEffect
    text: str = ""


@dataclass
class GateRecorder(Recorder):
    """Collects the gates of one file."""

    path: str
    evaluator: Evaluator
    liveness: PresenceMap
    predicates: frozenset[str]  # functions whose truth some condition in the project uses
    tables: Mapping[str, tuple[tuple[str, int], ...]]  # switch helpers with their uses
    tested: frozenset[str]  # template parameters' methods that have gates at the aliases that bind them
    compiled: frozenset[str] = frozenset()  # names of what is made of `__CUDA_ARCH__`
    gates: list[Gate] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)
    flags: dict[Origin, Gate] = field(default_factory=dict)
    attributes: list[tuple[int, int, Truth]] = field(default_factory=list)  # byte range, where the value is not zero
    asked_for: dict[int, Value] = field(default_factory=dict)  # shared memory, by where the limit is raised
    counts: list[tuple[str, int, Truth]] = field(default_factory=list)  # where a function passes any launch attribute

    # what the walk tells, and asks

    def is_predicate(self, function: str) -> bool:
        return function in self.predicates

    def branch(
        self, branch: Branch, conditions: tuple[ConditionResult, ...], scope: Scope, live: ConditionResult
    ) -> None:
        for option in branch.options:
            if option.condition:
                self._choices(option.condition, scope, live)
        if not any(c.basis.arch for c in conditions):
            if branch.constexpr or (scope.function is not None and scope.function.is_device):
                self._unread(branch)
            return
        drafts = [
            ArmDraft(
                o.condition,
                v or self.evaluator.always(),
                o.place,
                o.summary,
                o.condition.text if o.condition else "",
            )
            for o, v in zip(branch.options, option_verdicts(branch.options, conditions), strict=True)
        ]
        if self._is_predicate(drafts, branch.rest, scope):
            return
        kind = Kind.CONSTEXPR_IF if branch.constexpr else Kind.IF
        self._record(kind, branch.place, drafts, branch.rest, scope, live, branch.near)

    def switch(
        self, switch: Switch, conditions: tuple[ConditionResult, ...], scope: Scope, live: ConditionResult
    ) -> None:
        if not any(c.basis.arch for c in conditions):
            if not any(case.labels for case in switch.cases) and self.evaluator.value(switch.subject, scope).basis.arch:
                reason = "the cases of the switch come from a macro"
                self.undecided.append(Undecided(switch.place.line, switch.subject.text, reason))
            return
        drafts = []
        for case, verdict in zip(switch.cases, conditions, strict=True):
            text = ": ".join(f"case {label.text}" for label in case.labels)
            first = None if case.default and not case.labels else switch.subject
            drafts.append(ArmDraft(first, verdict, case.place, case.summary, text))
        drafts.sort(key=lambda d: d.condition is None)  # default is tried last, wherever it is written
        rest = switch.rest if any(d.summary.exits for d in drafts) else BlockEffect()
        self._record(Kind.SWITCH, switch.subject.place, drafts, rest, scope, live, switch.near)

    def check(self, check: Check, scope: Scope, live: ConditionResult) -> None:
        verdict = ~self.evaluator.condition(check.condition, scope, negated=True, refusing=True)
        if not verdict.basis.arch:
            self.expression(check.condition, scope, live)
            return
        admitted = replace(check.rest, effect=replace(check.rest.effect, does=Does.WORK))
        draft = ArmDraft(check.condition, verdict, check.condition.place, admitted, check.condition.text)
        self._record(Kind.CHECK, check.place, [draft], BlockEffect(effect=check.refusal), scope, live, check.near)

    def assigned(self, assign: Assign, scope: Scope, live: ConditionResult) -> None:
        if assign.value is None:
            return
        value = self.evaluator.value(assign.value, scope)
        verdict = self.evaluator.verdict(value, assign.value, scope)
        if value.basis.arch or live.reached != live.among:
            here = verdict.assumed & Truth(live.reached, live.among & ~live.reached)
            self.attributes.append((assign.place.start, assign.place.end, here))
            if assign.targets[0].endswith("numAttrs") and scope.function:
                self.counts.append((scope.function.name, assign.place.start, here))
        if self._renames(assign, value):
            return
        handed = may_answer(assign.value) and assign.value.name in self.predicates
        if value.basis.arch and (is_boolean(assign.value) or (handed and self._is_truth(assign.value, verdict, scope))):
            self._flag(assign.value, assign.targets[0], assign.place, scope, live)
        else:
            self.expression(assign.value, scope, live)

    def _renames(self, assign: Assign, value: Value) -> bool:
        """Whether a choice only calls one chip by another's name: `sm = sm == 103 ? 100 : sm`."""
        expr = assign.value
        if expr is None or expr.op is not Op.CHOICE or not values.is_capability(value, self.evaluator.spellings):
            return False
        kept = [arm for arm in expr.args[1:] if dotted(arm) in assign.targets]
        return len(kept) == 1 and any(arm.op is Op.NUMBER for arm in expr.args[1:])

    def returned(self, statement: Return, scope: Scope, live: ConditionResult) -> None:
        expr = statement.value
        if expr is None:
            return
        boolean = is_boolean(expr) or is_bit(expr)
        if not boolean and not (expr.op is Op.CALL and (expr.name in self.predicates or expr.name in MEMBERSHIP)):
            self.expression(expr, scope, live)
            return
        verdict = self.evaluator.condition(expr, scope)
        name = scope.function.name if scope.function else ""
        if not boolean and not (verdict.basis.arch and self._is_truth(expr, verdict, scope)):
            self.expression(expr, scope, live)  # a value that is handed on
            return
        if not verdict.basis.arch or name in self.predicates:
            return
        yes = BlockEffect(effect=Effect(Does.RETURNS, statement.place.line, value="true"))
        refused = Effect(Does.REFUSES, statement.place.line, value="false")
        draft = ArmDraft(expr, verdict, expr.place, yes, expr.text)
        self._record(Kind.RETURNED_TRUTH, expr.place, [draft], BlockEffect(effect=refused), scope, live, statement.near)

    def _is_truth(self, expr: Expr, verdict: ConditionResult, scope: Scope) -> bool:
        """Whether a value is yes for some targets and no for others, and no number."""
        numbers = any(payload not in (0, 1) for payload, _ in self.evaluator.value(expr, scope).cases)
        return not numbers and not _says_nothing(verdict, self.evaluator.universe.device)

    def expression(self, expr: Expr, scope: Scope, live: ConditionResult) -> None:
        self._choices(expr, scope, live)
        self._raised(expr, scope, live)

    def _raised(self, expr: Expr, scope: Scope, live: ConditionResult) -> None:
        """Takes note of the shared memory that a kernel is allowed, where the target decides how much."""
        if scope.function is None or scope.function.is_sparse:
            return
        for call in parts(expr):
            if call.op is Op.CALL and call.name.endswith("FuncSetAttribute") and len(call.args) == 3:
                value = self.evaluator.value(call.args[2], scope)
                if value.basis.arch:
                    self.asked_for[call.place.start] = values.within(value, live.reached)

    # gates inside expressions

    def _choices(self, expr: Expr, scope: Scope, live: ConditionResult) -> None:
        if expr.op is Op.CHOICE:
            drafts = list(self._ladder(expr, scope))
            if any(d.verdict.basis.arch for d in drafts):
                self._record(Kind.CONDITIONAL_EXPRESSION, expr.args[0].place, drafts, BlockEffect(), scope, live)
                return
        if (row := self.evaluator.row(expr, scope)) is not None:
            draft = ArmDraft(expr, row, expr.place, _picks(expr), expr.text)
            missing = Effect(Does.RAISES, expr.place.line, "std::out_of_range")
            self._record(Kind.ALLOW_LIST, expr.place, [draft], BlockEffect(effect=missing), scope, live)
            return
        if expr.op is Op.CALL and not is_check(expr.name):
            for arg in expr.args:
                if arg.op is Op.BINARY and arg.name in BOOLEAN and self.evaluator.value(arg, scope).basis.arch:
                    self._flag(arg, expr.name, arg.place, scope, live)
        for part in expr.args:
            self._choices(part, scope, live)

    def _ladder(self, expr: Expr, scope: Scope) -> Iterator[ArmDraft]:
        """`a ? x : b ? y : z` as arms."""
        condition, yes, no = expr.args
        yield ArmDraft(
            condition, self.evaluator.condition(condition, scope), condition.place, _picks(yes), condition.text
        )
        if no.op is Op.CHOICE and self.evaluator.condition(no.args[0], scope).basis.arch:
            yield from self._ladder(no, scope)
        else:
            yield ArmDraft(None, self.evaluator.always(), no.place, _picks(no))

    def _flag(self, expr: Expr, name: str, place: Place, scope: Scope, live: ConditionResult) -> None:
        verdict = self.evaluator.condition(expr, scope)
        draft = ArmDraft(expr, verdict, expr.place, _assigns(place, "true"), expr.text)
        rest = _assigns(place, "false")
        before = len(self.gates)
        self._record(Kind.FLAG, expr.place, [draft], rest, scope, live, symbol=name)
        if len(self.gates) > before:
            self.flags[Origin(self.path, expr.place.line, name)] = self.gates.pop()

    # making a gate

    def _is_predicate(self, drafts: list[ArmDraft], rest: BlockEffect, scope: Scope) -> bool:
        """Whether a branch only returns true or false, in a function that other conditions ask."""
        name = scope.function.name if scope.function else ""
        if name not in self.predicates:
            return False
        effects = [d.summary.effect for d in drafts]
        return all(e.value in _TRUTHS for e in effects) and (
            rest.effect.value in _TRUTHS or drafts[-1].condition is None
        )

    def _record(
        self,
        kind: Kind,
        place: Place,
        drafts: list[ArmDraft],
        rest: BlockEffect,
        scope: Scope,
        live: ConditionResult,
        near: str = "",
        symbol: str = "",
    ) -> None:
        asking = [d for d in drafts if d.condition is not None and d.verdict.basis.arch]
        asked = self._symbols(asking, scope)
        if asked and all(name in self.tables for name in asked):
            return
        if all(_says_nothing(d.verdict, self.evaluator.universe.device) for d in asking):
            if not self.tested.intersection(asked) and not self._is_answered_by_callers(asking[0].verdict, scope):
                self._undecided(asking[0])
            return
        function = scope.function
        uses = self.tables.get(function.name, ()) if function and kind is Kind.SWITCH else ()
        device = bool(function and function.is_device) or "__CUDA_ARCH__" in "".join(d.text for d in asking)
        live = self._reach(drafts[0].place.start, device) & live
        reach = live.truth
        if kind is Kind.CHECK:
            reach = _still_asked(reach, scope.refused & asking[0].verdict.truth.no)
        arms = tuple(self._arms(drafts, kind, scope, live))
        origins = sorted({o for d in drafts for o in d.verdict.basis.origins})
        first = next((a for a, d in zip(arms, drafts, strict=True) if d.verdict.basis.arch), arms[0])
        listings = [i for d in asking for i in d.verdict.basis.listings if i.path == self.path and i.admitted]
        if listings and kind is not Kind.SWITCH:
            self._list_gate(min(listings, key=lambda item: item.place.start), arms, rest, scope, asked)
            return
        about = About(
            scope=_around(function, place),
            reach=None if reach.yes == self.evaluator.universe.device else reach,
            related=(
                *(_definition(o) for o in origins if not self._inside(o, drafts)),
                *(Related(path, line, Role.CALLER, "asked here") for path, line in uses),
            ),
            near=near,
            symbols=(*([symbol] if symbol else []), *asked),
        )
        spot = place if kind is Kind.SWITCH else first.place
        layer = Layer.DEVICE if device else Layer.HOST
        after = Rest(rest.effect, rest.features, rest.calls)
        self.gates.append(decided(self.path, layer, kind, spot, arms, after, about))

    def _is_answered_by_callers(self, verdict: ConditionResult, scope: Scope) -> bool:
        """Whether only the template arguments of a helper are missing, which the conditions that call it give."""
        function = scope.function
        if function is None or function.name not in self.predicates:
            return False
        members = [f"{parameter}::" for parameter in function.template if parameter]
        return any(member in name for name in verdict.unknowns for member in members)

    def _list_gate(
        self, listing: Listing, arms: tuple[Arm, ...], rest: BlockEffect, scope: Scope, asked: list[str]
    ) -> None:
        """A list that a condition looks the capability up in: one arm for what it admits, at the list."""
        first = arms[0]
        others = arms[1].effect if len(arms) > 1 else rest.effect
        if not first.own.yes & listing.admitted:  # if (!list.count(sm)) throw
            device = self.evaluator.universe.device
            reach = first.truth.yes | first.truth.no
            own, truth, assumed = ~first.own, (~first.truth).only(reach), (~first.assumed).only(device)
            arm = replace(first, own=own, truth=truth, assumed=assumed, effect=others, body=None)
            arm = replace(arm, features=rest.features, calls=rest.calls)
            others = first.effect
        else:
            arm = first
        use = Related(self.path, first.place.line, Role.CALLER, "asked here")
        about = About(scope=_around(scope.function, first.place), related=(use,), symbols=tuple(asked))
        listing_arm = replace(arm, place=listing.place, condition=listing.text, focus=None)
        self.gates.append(listed(self.path, Layer.HOST, Kind.ALLOW_LIST, listing_arm, others, about))

    def _inside(self, origin: Origin, drafts: list[ArmDraft]) -> bool:
        return origin.path == self.path and any(origin.line == d.place.line for d in drafts)

    def _arms(self, drafts: list[ArmDraft], kind: Kind, scope: Scope, live: ConditionResult) -> Iterator[Arm]:
        device = self.evaluator.universe.device
        remaining = live
        for draft in drafts:
            own = draft.verdict
            taken = own & remaining
            world = taken.basis.world
            world |= widest(restricted(remaining.when, world), is_reached=True)
            effective = taken.truth  # what is supposed is supposed of each: together they may be folded
            soft = truth(both(restricted(own.when, world), restricted(remaining.when, world)), device)
            reached = surely(restricted(live.when, world))
            soft = Truth(soft.yes & reached, soft.no | (device & ~reached))
            basis = own.basis | live.basis
            told = ConditionResult(own.when, device, basis).assumes | ConditionResult(live.when, device, basis).assumes
            yield Arm(
                place=self._arm_place(draft, kind, scope),
                condition=draft.text,
                own=own.truth,
                truth=effective,
                assumed=soft,
                effect=draft.summary.effect,
                unknowns=taken.unknowns if effective.unknown(device) else (),
                assumes=tuple(sorted(told)) if effective != soft else (),
                body=draft.summary.place,
                digest=draft.summary.digest,
                features=draft.summary.features,
                calls=draft.summary.calls,
                is_else=draft.condition is None,
                focus=self._focus(draft.condition, scope) if kind is not Kind.SWITCH else None,
            )
            if kind is Kind.SWITCH:  # each case says itself who comes there, also out of the case above
                continue
            passed = ~own if own.basis.arch or surely(own.when) else (~ConditionResult(own.when, device)).settled()
            remaining = remaining & passed.untold()

    def _arm_place(self, draft: ArmDraft, kind: Kind, scope: Scope) -> Place:
        if draft.condition is None or kind is Kind.SWITCH:
            return draft.place
        operand = self._first_operand(draft.condition, scope)
        if operand is None or operand.line == draft.condition.place.line:
            return draft.condition.place
        whole = draft.condition.place
        return replace(operand, end=whole.end, end_line=whole.end_line, end_column=whole.end_column)

    def _first_operand(self, expr: Expr, scope: Scope) -> Place | None:
        """Where the first part of an expression that depends on the architecture begins."""
        if expr.op in (Op.NAME, Op.FIELD, Op.CALL):
            return expr.place if self.evaluator.value(expr, scope).basis.arch else None
        for part in expr.args:
            if (found := self._first_operand(part, scope)) is not None:
                return found
        return None

    def _focus(self, expr: Expr | None, scope: Scope) -> Place | None:
        """The conjunct that decides, if there is just one."""
        if expr is None or not (expr.op is Op.BINARY and expr.name == "&&"):
            return None
        asking = [c for c in _conjuncts(expr) if self.evaluator.condition(c, scope).basis.arch]
        return asking[0].place if len(asking) == 1 else None

    def _symbols(self, drafts: Iterable[ArmDraft], scope: Scope) -> list[str]:
        found: list[str] = []
        for draft in drafts:
            if draft.condition is not None:
                found += self._asked(draft.condition, scope)
        return found

    def _asked(self, expr: Expr, scope: Scope) -> list[str]:
        if expr.op in (Op.NAME, Op.FIELD, Op.CALL):
            return [expr.name] if self.evaluator.value(expr, scope).basis.arch else []
        return [name for part in expr.args for name in self._asked(part, scope)]

    def _unread(self, branch: Branch) -> None:
        """Says so where device code asks something made of the architecture in a way that is not followed."""
        for option in branch.options:
            made = {p.name for p in parts(option.condition) if p.name in self.compiled} if option.condition else None
            if made and option.condition:
                reason = "what it asks is made of __CUDA_ARCH__ in a way that is not followed"
                self.undecided.append(Undecided(option.place.line, option.condition.text, reason, tuple(sorted(made))))
                return

    def _undecided(self, draft: ArmDraft) -> None:
        names = draft.verdict.unknowns
        reason = "the value it compares with is not known here"
        self.undecided.append(Undecided(draft.place.line, draft.text, reason, names))

    def _reach(self, offset: int, device: bool) -> ConditionResult:
        """Where the #if regions around hold.

        Device code asks each target; host code asks the host pass, whose answer holds for every GPU.
        """
        live, universe = self.liveness.point(offset).live, self.evaluator.universe
        if device:
            when = both(live, universe.device)
        else:
            when = mapped(live, lambda mask: universe.device if mask & universe.host else 0)
        return ConditionResult(when, universe.device).settled()

    def finished(self) -> tuple[Gate, ...]:
        """The gates in source order: flags only where no other gate in the file rests on them."""
        used = {(r.path, r.line) for g in self.gates for r in g.related}
        kept = [g for o, g in self.flags.items() if (o.path, o.line) not in used]
        return tuple(sorted([*self.gates, *kept], key=lambda g: (g.place.start, g.kind.value)))


def _says_nothing(verdict: ConditionResult, device: int) -> bool:
    """Whether no target has an answer, or every answer is the same assumption."""
    if verdict.truth.yes or verdict.truth.no:
        return False
    return verdict.assumed.yes in (0, device) and verdict.assumed.no in (0, device)


def _still_asked(reach: Truth, refused: int) -> Truth:
    """Where a check is a question although one above has turned targets away: for those it refuses as well.

    Who opens the first for them runs into the second.
    """
    return Truth(reach.yes | (reach.no & refused), reach.no & ~refused)


def _picks(expr: Expr) -> BlockEffect:
    return BlockEffect(
        place=expr.place,
        effect=Effect(Does.ASSIGNS, expr.place.line, value=expr.text[:200]),
        calls=tuple(dict.fromkeys(_called(expr))),
        digest="".join(expr.text.split())[:64],
    )


def _called(expr: Expr) -> Iterator[str]:
    if expr.op is Op.CALL and expr.name:
        yield expr.name
    for part in (*expr.args, *expr.targs):
        yield from _called(part)


def _assigns(place: Place, value: str) -> BlockEffect:
    return BlockEffect(effect=Effect(Does.ASSIGNS, place.line, value=value))


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if expr.op is Op.BINARY and expr.name == "&&":
        for part in expr.args:
            yield from _conjuncts(part)
    else:
        yield expr


def _definition(origin: Origin) -> Related:
    return Related(origin.path, origin.line, Role.DEFINITION, f"{origin.name} is defined here")


def _around(function: Function | None, place: Place) -> FunctionScope | None:
    if function is None or not function.name:
        return None
    whole = len(function.body) == 1 and getattr(function.body[0], "place", None) == place
    return FunctionScope(function.name, function.is_kernel, function.is_device, whole)
