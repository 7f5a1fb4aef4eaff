"""Evaluates expressions of the small syntax over the universe, through helpers, members and named constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from archscan.frontends.cuda.host import values
from archscan.frontends.cuda.host.answers import Answers
from archscan.frontends.cuda.host.naming_conventions import (
    Seed,
    carries_capability,
    convention_of,
    has_version,
    is_of_version,
    words,
)
from archscan.frontends.cuda.host.project import Defined, DefinedConstant
from archscan.frontends.cuda.host.syntax import BOOLEAN, Expr, Function, Op, Return, dotted
from archscan.frontends.cuda.host.traversal import parts, statements
from archscan.frontends.cuda.host.truths import ConditionEvaluator, Scope
from archscan.frontends.cuda.host.types import SAME, member_of_type, same_type
from archscan.frontends.cuda.host.values import (
    Assumption,
    ConditionResult,
    Listing,
    Origin,
    Payload,
    Provenance,
    Value,
    constant,
    mapped,
    merged,
    operate,
    paired,
    selected,
    unknown,
    value_of,
)
from archscan.model.condition import EVERY, Cond, alternatives, asked, atom, both, either, possibly, surely

_TUPLES = frozenset({"make_pair", "make_tuple", "pair", "tuple", "forward_as_tuple"})
_COPIES = frozenset({"move", "forward", "to_string", "atoi", "stoi", "value", "load"})
_EXTREMES = {"min": "<=", "max": ">="}
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_LONGEST_LIST = 64
MEMBERSHIP = frozenset({"count", "contains", "binary_search", "any_of", "none_of"})  # answer yes or no
_LOOKUPS = frozenset({"count", "contains", "find", "binary_search"})
_METADATA = frozenset({"kernel", "meta", "metadata", "cubin"})


@dataclass
class Evaluator(ConditionEvaluator):
    """Evaluates against one project, whose `answers` it shares with those of other files."""

    members: Mapping[str, Value] = field(default_factory=dict)
    bearing: frozenset[str] | None = None  # names that may hang on the architecture; None: any may
    answers: Answers = field(default_factory=Answers)
    placed: dict[tuple[int, str, int], tuple[Value, Value]] = field(default_factory=dict)  # answers, at their calls
    spellings: Mapping[int, int] = field(init=False)
    floors: Mapping[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.spellings = values.spellings(self.universe)
        self.floors = values.floors(self.universe)

    # values

    def value(self, expr: Expr, scope: Scope) -> Value:
        """The value of an expression, per target; unknown once the function in hand has cost too much."""
        self.answers.steps += 1
        if self.answers.are_exhausted:
            return unknown(expr.text)
        match expr.op:
            case Op.NUMBER:
                return constant(expr.number, self.universe.device)
            case Op.NAME:
                return self._name(expr, scope)
            case Op.FIELD:
                return self._field(expr, scope)
            case Op.CALL:
                return self._call(expr, scope)
            case Op.GROUP if len(expr.args) == 1 and expr.args[0].op is Op.GROUP:
                return self.value(expr.args[0], scope)  # std::array<int, 2>{{86, 120}}
            case Op.GROUP:
                listed = self._tuple(expr.args, scope)
                listing = Listing(scope.path, expr.place, expr.text)
                return listed.based(Provenance(listings=frozenset({listing}))) if len(expr.args) > 1 else listed
            case Op.CHOICE:
                return self._choice(expr, scope)
            case Op.UNARY | Op.BINARY:
                return self._operation(expr, scope)
            case _:
                return self._opaque(expr, scope)

    def _opaque(self, expr: Expr, scope: Scope) -> Value:
        if expr.name == "enumerator":
            return constant(values.Enumerator(expr.scope, expr.number), self.universe.device)
        if expr.name == "subscript":
            entry = paired(self.value(expr.args[0], scope), self.value(expr.args[1], scope), _entry)
            if entry.cases:
                return entry
        arch = any(self.value(a, scope).basis.arch for a in expr.args) if len(expr.args) < 8 else False
        return unknown(expr.text, arch=arch and expr.name != "owner")

    def _name(self, expr: Expr, scope: Scope) -> Value:
        name = expr.name
        if not expr.scope and name in scope.env:
            return scope.env[name]
        if name == "__CUDA_ARCH__":
            return values.arch_macro(self.universe)
        if name in SAME and len(expr.targs) == 2:
            return same_type(self, expr.targs[0], expr.targs[1], expr.text, scope)
        found = (member_of_type(self, expr, scope) if expr.scope else None) or self._constant(expr, scope)
        if found is not None:
            return found
        if name in self.names.toolkit:
            return constant(self.names.toolkit[name], self.universe.device)
        if expr.scope and name == "value":
            both = expr.targs if expr.scope.rpartition("::")[2] in SAME else ()
            return same_type(self, both[0], both[1], expr.text, scope) if len(both) == 2 else unknown(expr.text)
        if name in self.members and not expr.scope:
            return self.members[name].at(scope.path, expr.place.start)
        template = scope.function is not None and name in scope.function.template
        if template or expr.targs:
            return unknown(name)
        if expr.scope:  # a member of a type says what the type is for, not what runs
            return unknown(expr.text, arch=convention_of(name) is not None)
        versioned = scope.function is not None and is_of_version(scope.function.name)
        if versioned and convention_of(name) in (Seed.MAJOR, Seed.MINOR):
            return unknown(expr.text)
        return self.seeded(name, expr.text)

    def seeded(self, name: str, text: str, call: bool = False) -> Value:
        """What a name that nobody has given a value stands for."""
        match convention_of(name, call):
            case Seed.CAPABILITY:
                return values.capability(self.universe)
            case Seed.MAJOR:
                return values.major(self.universe)
            case Seed.MINOR:
                return values.minor(self.universe)
        return unknown(text)

    def _constant(self, expr: Expr, scope: Scope) -> Value | None:
        if self.answers.end_at(scope.depth):
            return None
        found = self.names.constant(expr.name, expr.scope, scope.path)
        if not found or len(found) > 12:
            return None
        live = [(d, r) for d in found if (r := self._constant_value(d, expr, scope)) is not None]
        if not live:
            return None
        first = live[0][1]
        if all(r.cases == first.cases for _, r in live[1:]):
            return first
        device = self.universe.device
        if any(r.basis.arch or r.covered != device for _, r in live):
            return unknown(expr.text, arch=any(r.basis.arch for _, r in live))
        places = " ".join(f"{d.path}:{d.constant.place.line}" for d in found)
        guards = [self.guarded(d.constant.guards, scope.deeper(d.path, {}, None)) for d, _ in live]
        conds = self._exclusive(guards)
        asked = [guard.basis for guard in guards if conds]
        arch, compiled = any(one.arch for one in asked), any(one.compiled for one in asked)
        basis = first.basis | Provenance(arch=arch, compiled=compiled)
        conds = conds or alternatives(f"{expr.text} of {places}", len(live), device, (expr.text,))
        cases = ((p, both(m, cond)) for (_, r), cond in zip(live, conds, strict=True) for p, m in r.cases)
        return Value(merged(cases), basis)

    def _exclusive(self, guards: list[ConditionResult]) -> list[Cond]:
        """Where each definition is live, if just one is always; else nothing."""
        conds = [guard.when for guard in guards]
        whole: Cond = 0
        for cond in conds:
            if both(whole, cond) != 0:
                return []
            whole = either(whole, cond)
        return conds if whole == self.universe.device else []

    def _constant_value(self, defined: DefinedConstant, expr: Expr, scope: Scope) -> Value | None:
        """The value of one definition; None where its #if is dead on every device target."""
        item = defined.constant
        args = tuple(self.value(t, scope) for t in expr.targs[: len(item.template)])

        def work() -> Value | None:
            env = dict(zip(item.template, args, strict=False))
            inner = scope.deeper(defined.path, env, None)
            live = self.guarded(item.guards, inner)
            found = self.value(item.value, inner)
            if live.assumed.no == self.universe.device and live.assumed.yes == 0:
                return None
            if item.value.op is Op.NUMBER or not found.basis.arch:
                return found
            origin = Origin(defined.path, item.place.line, item.name)
            return found.based(Provenance(origins=frozenset({origin})))

        itself: Value | None = unknown(item.name)
        return self.answers.of((id(item), args), scope.depth, itself, work)

    def _field(self, expr: Expr, scope: Scope) -> Value:
        path = dotted(expr)
        if path in scope.env:
            return scope.env[path]
        owner = expr.args[0]
        if expr.name in ("first", "second"):
            return self._element(self.value(owner, scope), int(expr.name == "second"), expr.text)
        if owner.name == "this" and expr.name in scope.env:
            return scope.env[expr.name]
        if expr.name.lower() in ("major", "minor") and self._has_a_version(owner, scope):
            return unknown(expr.text)
        if expr.name in self.members and owner.name == "this":
            return self.members[expr.name].at(scope.path, expr.place.start)
        if _METADATA & set(words(owner.name)):  # what a kernel was built for, not what it runs on
            return unknown(expr.text)
        return self.seeded(expr.name, expr.text)

    def _has_a_version(self, owner: Expr, scope: Scope) -> bool:
        """Whether something has the major and minor number of a version, by its name or the type it is given as."""
        if "ver" in owner.text.lower():
            return True
        function = scope.function
        if function is None or owner.name not in function.parameters or owner.op is not Op.NAME:
            return False
        types = dict(zip(function.parameters, function.types, strict=False))
        return has_version(types.get(owner.name, ""))

    def _element(self, value: Value, index: int, text: str) -> Value:
        def element(payload: Payload) -> Payload | None:
            if isinstance(payload, tuple):
                return payload[index] if index < len(payload) else None
            if isinstance(payload, values.Capability) and index < 2:
                return payload.sm // 10 if index == 0 else payload.sm % 10
            return None

        found = mapped(value, element)
        return found if found.cases else unknown(text, arch=value.basis.arch)

    def _tuple(self, args: tuple[Expr, ...], scope: Scope) -> Value:
        result = constant((), self.universe.device)
        for arg in args[:_LONGEST_LIST]:
            if arg.op is Op.OPAQUE and arg.name == "owner":
                continue
            value = self.value(arg, scope)
            if not value.cases:
                value = replace(constant(arg.text, self.universe.device), basis=value.basis)
            part = mapped(value, lambda p: (p,))
            result = paired(result, part, _joined)
        return result

    def _choice(self, expr: Expr, scope: Scope) -> Value:
        condition = self.condition(expr.args[0], scope)
        yes, no = self.value(expr.args[1], scope), self.value(expr.args[2], scope)
        return chosen(condition, yes, no)

    def _operation(self, expr: Expr, scope: Scope) -> Value:
        if expr.name in ("&&", "||", "!"):
            return value_of(self.condition(expr, scope))
        if expr.name in ("==", "!=") and len(expr.args) == 2 and expr.args[1].name in ("end", "cend"):
            found_there = self.value(expr.args[0], scope)  # iterator == list.end(): not found
            return found_there if expr.name == "!=" else mapped(found_there, lambda p: int(not p))
        sides = expr.args
        if expr.name in _COMPARISONS and len(sides) == 2 and sides[1].text == "0" and sides[0].name == "-":
            sides = sides[0].args if len(sides[0].args) == 2 else sides  # `major - 9 == 0`
        args = [self.value(a, scope) for a in sides]
        if len(args) == 2:
            if (alike := self._alike(expr, args, scope)) is not None:
                return alike
            asked = zip(sides, args, strict=True)
            if expr.name in _COMPARISONS and any(
                self.is_choice(a) and not (is_boolean(e) or is_bit(e)) for e, a in asked
            ):
                return unknown(expr.text)
            found = operate(expr.name, args[0], args[1])
            if found is not None and (found.cases or not found.basis.arch):
                return found if found.cases else replace(found, basis=found.basis | Provenance(frozenset({expr.text})))
            return self._incomparable(expr, args, scope)
        if expr.name == "-":
            return mapped(args[0], lambda p: -p if isinstance(p, int) else None)
        return args[0] if expr.name in ("+", "*", "&") else unknown(expr.text, arch=args[0].basis.arch)

    def _alike(self, expr: Expr, args: list[Value], scope: Scope) -> Value | None:
        """Whether a truth is what a flag is that nobody knows: `use_x == (major >= 9)`."""
        if expr.name not in ("==", "!="):
            return None
        sides = list(zip(expr.args, args, strict=True))
        for (flag, held), (other, truth) in (sides, sides[::-1]):
            if not held.cases and truth.basis.arch and is_boolean(other) and _is_flag(flag, scope.function):
                asked_of = self._assumption(flag, scope, False, False)
                wanted = self.verdict(truth, other, scope)
                equal = (asked_of & wanted) | (~asked_of & ~wanted)
                return value_of(equal if expr.name == "==" else ~equal)
        return None

    def is_choice(self, value: Value) -> bool:
        """Whether a number was picked by the GPU without naming it: a tile, a cluster size."""
        if not value.basis.arch or value.basis.compiled:
            return False
        named = any(isinstance(payload, values.Enumerator) for payload, _ in value.cases)
        capable = values.is_capability(value, self.spellings) or values.is_rounded(value, self.floors)
        return not named and not capable

    def _incomparable(self, expr: Expr, args: list[Value], scope: Scope) -> Value:
        """A comparison without any answer: no capability if the other side is a plain number of another order.

        Nor is it a question here if it is one of what a template is bound to: that is asked where it is bound.
        """
        plain = any(a.cases and not a.basis.arch for a in args)
        other = any(not a.cases and not a.basis.arch for a in args)
        template = scope.function.template if scope.function is not None else ()
        bound = other and not {n for p in parts(expr) for n in (p.name, p.scope) if n}.isdisjoint(template)
        return unknown(expr.text, arch=not plain and not bound and any(a.basis.arch for a in args))

    # calls

    def _call(self, expr: Expr, scope: Scope) -> Value:
        if expr.body is not None:
            defined = Defined(scope.path, Function("", "", (), (), expr.body, expr.place))
            return self.called(defined, (), scope, scope.env).at(scope.path, expr.place.start)
        if expr.name == "defined":
            return self._defined(expr.args[0].name if expr.args else "")
        if expr.name in _TUPLES:
            return self._tuple(expr.args, scope)
        if expr.name == "get" and expr.targs and expr.args:
            return self._element(self.value(expr.args[0], scope), expr.targs[0].number, expr.text)
        owner = expr.args[-1] if expr.args and expr.args[-1].name == "owner" else None
        plain = expr.args[:-1] if owner else expr.args
        if expr.name in _COPIES and (plain or owner):
            return self.value(plain[0] if plain else owner.args[0], scope)  # type: ignore[union-attr]
        if expr.name in _EXTREMES and len(plain) == 2:
            left, right = (self.value(a, scope) for a in plain)
            return paired(left, right, lambda a, b: values.extreme(_EXTREMES[expr.name], a, b))
        found = self._helper(expr, plain, scope) or self._member_of(expr, plain, owner, scope)
        if found is not None:
            return found
        if expr.name in ("major", "minor") and owner is not None and "ver" in owner.text.lower():
            return unknown(expr.text)
        seeded = self.seeded(expr.name, expr.text, call=True)
        return seeded if seeded.cases else self._passed_through(expr, plain, scope) or seeded

    def _member_of(self, expr: Expr, args: tuple[Expr, ...], owner: Expr | None, scope: Scope) -> Value | None:
        """Whether a capability is in a list: `list.count(sm)`, `table.find(sm)`, `std::find(begin, end, sm)`."""
        if expr.name in ("any_of", "none_of") and len(args) == 3:
            return self._met_by_some(expr, args, scope)
        if expr.name not in _LOOKUPS or not args:
            return None
        container = owner.args[0] if owner else args[0].args[-1] if args[0].args else args[0]
        if container.name == "owner" and container.args:
            container = container.args[0]
        return self._held(container, args[-1], scope)

    def _met_by_some(self, expr: Expr, args: tuple[Expr, ...], scope: Scope) -> Value | None:
        """Whether a capability equals an entry of a list: `std::any_of(begin, end, [&](int a) { return a == sm; })`."""
        only = args[2].body[0] if args[2].body and len(args[2].body) == 1 else None
        equality = only.value if isinstance(only, Return) else None
        if equality is None or equality.name != "==" or not args[0].args:
            return None
        owner = args[0].args[-1]
        container = owner.args[0] if owner.name == "owner" else owner
        asked = [side for side in equality.args if self.value(side, scope).basis.arch]
        found = self._held(container, asked[0], scope) if len(asked) == 1 else None
        return mapped(found, lambda p: int(not p)) if found and expr.name == "none_of" else found

    def row(self, expr: Expr, scope: Scope) -> ConditionResult | None:
        """Where `table.at(sm)` has a row; None for anything else."""
        owner = expr.args[-1] if expr.args else None
        if expr.op is not Op.CALL or expr.name != "at" or len(expr.args) != 2 or owner is None or owner.name != "owner":
            return None
        found = self._held(owner.args[0], expr.args[0], scope)
        return self.verdict(found, expr, scope) if found is not None else None

    def _held(self, container: Expr, asked: Expr, scope: Scope) -> Value | None:
        """The truth of a capability's being in a list or table, with the list."""
        listed, item = self.value(container, scope), self.value(asked, scope)
        if not item.basis.arch or not listed.basis.listings:
            return None
        found = paired(listed, item, _holds)
        admitted = self.verdict(found, container, scope).assumed.yes
        outer = min(listed.basis.listings, key=lambda listing: listing.place.start)
        basis = replace(found.basis, listings=frozenset({replace(outer, admitted=admitted)}))
        return replace(found, basis=basis) if found.cases else None

    def _passed_through(self, expr: Expr, args: tuple[Expr, ...], scope: Scope) -> Value | None:
        """A capability given to an unknown function named after capabilities comes back as it is, by assumption."""
        if not carries_capability(expr.name) or len(args) != 1 or expr.name in self.names.functions:
            return None
        given = self.value(args[0], scope)
        if not given.basis.arch or not values.is_capability(given, self.spellings):
            return None
        same = atom(f"{expr.text} == {args[0].text}", "expr", place=(scope.path, expr.place.start))
        cases = ((p, both(m, asked(same, EVERY))) for p, m in given.cases)
        return Value(merged(cases), given.basis | Provenance(supposed=(Assumption(same, True),)))

    def _helper(self, expr: Expr, args: tuple[Expr, ...], scope: Scope) -> Value | None:
        if self.answers.end_at(scope.depth):
            return None
        owner = expr.scope.rpartition("::")[2]
        alias = self.names.aliases.get(owner, ())
        targs = alias[0].targs if alias else expr.targs
        if alias:
            owner = alias[0].base
        elif scope.function and owner in scope.function.template and owner:
            return unknown(owner, arch=any(self.value(a, scope).basis.arch for a in args))
        given = self._given(args, scope)
        found = self.names.candidates(expr.name, owner, scope.path, len(given))
        if not found or len(found) > 4:
            return None
        parameters = self.names.templates.get(owner, ())
        bound = {p: self.value(t, scope) for p, t in zip(parameters, targs, strict=False)}
        told = _is_constant(found[0].function) or (
            len(found) == 1 and bool(given) and all(v.cases and not v.basis.arch for v in given)
        )
        ways = [(d, self._bound(d.function, expr, scope) | bound, _types(d.function, expr, scope)) for d in found]
        if not told and not self._may_bear(expr, given, ways):
            return None
        results = [
            self._placed(self.called(d, self._packed(d.function, given), scope, outer, types), scope.path, expr)
            for d, outer, types in ways
        ]
        first = results[0]
        if not first.basis.arch:
            whole = bool(first.cases) and first.covered == self.universe.device
            return first if whole and (told or first.basis.listings) else None
        if any(r.cases != first.cases for r in results[1:]):
            return unknown(expr.text, arch=True)
        origins = frozenset(Origin(d.path, deciding_line(d.function), d.function.name) for d in found[:1])
        return first.based(Provenance(origins=origins))

    def _placed(self, answer: Value, path: str, call: Expr) -> Value:
        """An answer of a helper, as the value of that call: told again for each reader of the call."""
        key = id(answer), path, call.place.start
        found = self.placed.get(key)
        if found is None:
            found = self.placed[key] = answer, answer.at(path, call.place.start)
        return found[1]

    def _may_bear(
        self,
        call: Expr,
        given: tuple[Value, ...],
        ways: Iterable[tuple[Defined, Mapping[str, Value], Mapping[str, Expr]]],
    ) -> bool:
        """Whether what a call returns may hang on the architecture, by its arguments or by what the helper mentions."""
        if self.bearing is None or call.name in self.bearing or any(_bears(value) for value in given):
            return True
        return any(
            any(_bears(value) for value in outer.values()) or any(t.name in self.bearing for t in types.values())
            for _, outer, types in ways
        )

    def _given(self, args: tuple[Expr, ...], scope: Scope) -> tuple[Value, ...]:
        """The values of arguments; a parameter pack that is expanded stands for its own."""
        found: list[Value] = []
        for arg in args:
            pack = self.value(arg.args[0], scope) if arg.name == "expansion" and arg.args else None
            sizes = {len(p) for p, _ in pack.cases if isinstance(p, tuple)} if pack is not None else set()
            if pack is not None and len(sizes) == 1:
                found += [self._element(pack, i, arg.text) for i in range(sizes.pop())]
            else:
                found.append(self.value(arg, scope))
        return tuple(found)

    def _packed(self, function: Function, given: tuple[Value, ...]) -> tuple[Value, ...]:
        """The arguments as the parameters take them: a parameter pack those that are left."""
        if not function.variadic:
            return given
        fixed = len(function.parameters) - 1
        rest = constant((), self.universe.device)
        for value in given[fixed:]:
            rest = paired(rest, mapped(value, lambda p: (p,)), _joined)
        return (*given[:fixed], rest)

    def _bound(self, function: Function, expr: Expr, scope: Scope) -> dict[str, Value]:
        return {p: self.value(t, scope) for p, t in zip(function.template, expr.targs, strict=False) if p}

    def called(
        self,
        defined: Defined,
        args: tuple[Value, ...],
        scope: Scope,
        outer: Mapping[str, Value] | None = None,
        types: Mapping[str, Expr] | None = None,
    ) -> Value:
        """What a function returns for these arguments."""
        from archscan.frontends.cuda.host.flow import returned  # the two modules call each other

        bound = tuple((outer or {}).items())
        of_types = tuple((p, t.text) for p, t in (types or {}).items())
        key = (id(defined.function), args, tuple(v for _, v in bound), of_types)
        if defined.function.name == "":  # a lambda sees the names around it
            return returned(self, defined, args, scope, outer or {})
        work = partial(returned, self, defined, args, scope, outer or {}, types or {})
        return self.answers.of(key, scope.depth, unknown(defined.function.name), work)


def _bears(value: Value) -> bool:
    """Whether a value hangs on the architecture, or is a list to look a capability up in."""
    return value.basis.arch or bool(value.basis.listings)


def is_boolean(expr: Expr) -> bool:
    """Whether an expression is a truth, or a choice between truths."""
    if expr.op is Op.CHOICE:
        return all(is_boolean(arm) for arm in expr.args[1:])
    return expr.op in (Op.BINARY, Op.UNARY) and expr.name in BOOLEAN


def is_bit(expr: Expr) -> bool:
    """Whether an expression asks for a bit by its number: `(majors >> major) & 1`, `majors & (1 << major)`."""
    if expr.op is not Op.BINARY or expr.name != "&":
        return False
    return any(part.op is Op.BINARY and part.name in ("<<", ">>") for part in parts(expr))


def _is_flag(expr: Expr, function: Function | None) -> bool:
    """Whether an expression is a parameter that is true or false."""
    if function is None or expr.op is not Op.NAME or expr.name not in function.parameters:
        return False
    types = dict(zip(function.parameters, function.types, strict=False))
    return types.get(expr.name) == "bool"


def _is_constant(function: Function) -> bool:
    """Whether a function only returns a literal."""
    only = function.body[0] if len(function.body) == 1 else None
    return isinstance(only, Return) and only.value is not None and only.value.op is Op.NUMBER


def _types(function: Function, call: Expr, scope: Scope) -> dict[str, Expr]:
    """The template parameters of a function as a call binds them, through those of the caller."""
    given = zip(function.template, call.targs, strict=False)
    return {p: scope.types.get(t.name, t) for p, t in given if p and t.op is Op.NAME}


def _entry(listed: Payload, index: Payload) -> Payload | None:
    return listed[index] if isinstance(listed, tuple) and isinstance(index, int) and 0 <= index < len(listed) else None


def _holds(listed: Payload, item: Payload) -> Payload | None:
    found = values.holds(listed, item)
    return None if found is None else int(found)


def _joined(left: Payload, right: Payload) -> Payload | None:
    return (*left, *right) if isinstance(left, tuple) and isinstance(right, tuple) else None


def chosen(condition: ConditionResult, yes: Value, no: Value) -> Value:
    """`condition ? yes : no`; a condition that is no matter of the architecture is supposed to choose what is one."""
    if condition.basis.arch or surely(condition.when) or condition.among & ~possibly(condition.when):
        return selected(condition, yes, no)
    if yes.cases == no.cases:
        return yes
    if yes.basis.arch != no.basis.arch:
        kept, wanted = (yes, condition) if yes.basis.arch else (no, ~condition)
        basis = kept.basis | replace(wanted, basis=replace(wanted.basis, supposed=())).settled().basis
        return Value(selected(condition, yes, no).cases, basis)
    if yes.basis.arch or (yes.cases and no.cases and yes.covered == no.covered):
        basis = yes.basis | no.basis
        return Value(selected(condition, yes, no).cases, basis | condition.basis if basis.arch else basis)
    agreed = paired(yes, no, lambda a, b: a if a == b else None)
    return agreed.based(replace(condition.basis, unknowns=frozenset(condition.unknowns)))


def deciding_line(function: Function) -> int:
    """The line that decides what a helper returns: its return, if there is just one; else where it begins."""
    found = [s for s in statements(function.body) if isinstance(s, Return) and s.value is not None]
    return found[0].place.line if len(found) == 1 else function.place.line
