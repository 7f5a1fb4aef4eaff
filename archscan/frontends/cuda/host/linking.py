"""Joins the indexes of a project: names, members, predicates in use, template tests, features through calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from archscan.frontends.cuda.host.answers import Answers
from archscan.frontends.cuda.host.asking import SHORTEST, fingerprint, is_known
from archscan.frontends.cuda.host.bearing import bearing, resting_on, users_of
from archscan.frontends.cuda.host.evaluation import Evaluator
from archscan.frontends.cuda.host.flow import Interpreter, Recorder
from archscan.frontends.cuda.host.indexing import HostIndex, read_again
from archscan.frontends.cuda.host.lowering import answers
from archscan.frontends.cuda.host.naming_conventions import is_member
from archscan.frontends.cuda.host.project import SymbolTable, grouped_constants, grouped_functions
from archscan.frontends.cuda.host.reach import Callables
from archscan.frontends.cuda.host.syntax import Alias, Assign, Branch, Expr, Function, Op, Option, Return, Switch
from archscan.frontends.cuda.host.traversal import deciding, may_answer, parts, statements
from archscan.frontends.cuda.host.truths import Scope
from archscan.frontends.cuda.host.values import NO_BASIS, ConditionResult, Value
from archscan.frontends.cuda.includes import Includes
from archscan.frontends.cuda.memory import Linking
from archscan.frontends.cuda.seen import Noted, Seen
from archscan.frontends.protocol import Context
from archscan.model.reads import Question

_ROUNDS = 4  # of helpers that ask helpers of other files
_MOST_MEANT = 4  # definitions of a name; one that may mean more says nothing


@dataclass(frozen=True, slots=True)
class TemplateTest:
    """`if constexpr (T::method(args))` on a template parameter: decided by the types it is instantiated with.

    With a `parameter`, `call` is the whole condition, which compares constants of the type: `arch <= T::kMax`.
    """

    path: str
    function: Function
    option: Option
    call: Expr
    otherwise: Option | None
    parameter: str = ""


@dataclass(frozen=True)
class HostProject:
    """The linked project."""

    names: SymbolTable
    members: Mapping[str, Value]
    predicates: frozenset[str]  # functions whose truth decides something somewhere
    tests: tuple[TemplateTest, ...]
    tables: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)  # switch helper -> its uses
    callables: Callables = field(default_factory=lambda: Callables({}, Includes({})))
    compiled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # made of __CUDA_ARCH__ -> its files
    again: Mapping[str, HostIndex] = field(default_factory=dict)  # files that were read again for helpers of others
    read_for: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the helpers that each of them was read for
    bearing: frozenset[str] | None = None  # names that may hang on the architecture
    answers: Answers = field(default_factory=Answers, compare=False)

    def said(self, question: Question) -> object:
        """What there is under a name: the files of definitions, else the values themselves."""
        kind, name = question
        names = self.names
        tables: dict[str, Mapping[str, Any]] = {"function": names.functions, "constant": names.constants}
        tables |= {"alias": names.aliases, "template": names.templates, "member": self.members, "table": self.tables}
        table = tables[kind]
        assert isinstance(table, Noted)
        found = table.found.get(name)
        return [one.path for one in found or ()] if kind in ("function", "constant") else found

    def compiled_for(self, path: str) -> frozenset[str]:
        """What a file sees that is made of `__CUDA_ARCH__`: its own, and that of what it includes."""
        includes = self.callables.includes
        return frozenset(
            name
            for name, files in self.compiled.items()
            if path in files or any(includes.reaches(path, file) for file in files)
        )


def linked(
    indexes: Mapping[str, HostIndex],
    context: Context,
    includes: Includes | None = None,
    seen: Seen | None = None,
    linking: Linking | None = None,
) -> HostProject:
    """The project of these files; what is looked up in it is noted in `seen`."""
    seen = seen or Seen()
    read_for: dict[str, frozenset[str]] = {}
    again: dict[str, HostIndex] = {}
    known: frozenset[str] = frozenset()
    names = SymbolTable()
    for _ in range(_ROUNDS):
        ordered = [again.get(path, indexes[path]) for path in sorted(indexes)]
        before, names = names, _names(ordered, context)
        users = users_of(names)
        evaluator = Evaluator(context.catalog.universe, names, bearing=bearing(users))
        code = linking.code(ordered, read_for, known) if linking is not None else b""
        helpers = linking.helpers(code) if linking is not None else None
        if helpers is None:
            changed = _changed(before, names)
            helpers = _helpers(ordered, evaluator, known, changed | resting_on(users, changed))
            if linking is not None:
                linking.found.helpers[code] = helpers
        naming = tuple(_naming(ordered, helpers - known, _seen_by(ordered, includes)))
        if not naming:
            break
        known = helpers
        again |= _read_again(naming, helpers, context, linking)
        read_for |= dict.fromkeys((index.path for index in naming), helpers)
    members = _members(ordered, evaluator)
    return HostProject(
        names=names.noted(seen),
        members=Noted("member", members, seen),
        predicates=_predicates(ordered, names),
        tests=tuple(_tests(ordered)),
        tables=Noted("table", _tables(ordered, names, evaluator), seen),
        callables=Callables({i.path: i.functions for i in ordered if i.functions}, includes or Includes({}), seen),
        compiled=_compiled(ordered),
        again=again,
        read_for=read_for,
        bearing=bearing(users, members),
        answers=Answers(seen),
    )


def _read_again(
    naming: Sequence[HostIndex], helpers: frozenset[str], context: Context, linking: Linking | None
) -> dict[str, HostIndex]:
    """Files read again for these helpers, now or when they were linked before."""
    known = {index.path: linking.again(index, helpers) if linking is not None else None for index in naming}
    found = {path: index for path, index in known.items() if index is not None}
    left = [index for index in naming if index.path not in found]
    for index in left:
        again = found[index.path] = read_again(index, helpers, context)
        if linking is not None and again is not index:
            linking.keep_again(again, helpers)
    return found


def _changed(before: SymbolTable, names: SymbolTable) -> frozenset[str]:
    """The names that mean something else since."""
    tables: list[tuple[Mapping[str, object], Mapping[str, object]]] = [
        (before.functions, names.functions),
        (before.constants, names.constants),
        (before.aliases, names.aliases),
        (before.templates, names.templates),
    ]
    return frozenset(name for old, new in tables for name, meant in new.items() if old.get(name) != meant)


def _helpers(
    ordered: list[HostIndex], evaluator: Evaluator, known: frozenset[str], affected: frozenset[str]
) -> frozenset[str]:
    """The functions and constants that answer for the architecture although their names do not say so.

    Those that are `known` to are not asked again, nor those that did not and are not `affected` by what has changed.
    """
    constants = evaluator.names.constants
    chosen = (name for name in _compiled(ordered) if name in constants and len(name) >= SHORTEST)
    return known.union(name for name in (*_answering(evaluator, affected - known), *chosen) if not is_known(name))


def _answering(evaluator: Evaluator, among: frozenset[str]) -> Iterator[str]:
    """The host functions whose answer depends on the architecture, if their name says which function is meant.

    What `__CUDA_ARCH__` decides inside a function of the device is a gate there, not where it is called.
    """
    for name, defined in evaluator.names.functions.items():
        if len(name) < SHORTEST or len(defined) > _MOST_MEANT or name not in among:
            continue
        if evaluator.bearing is not None and name not in evaluator.bearing:
            continue
        for one in defined:
            evaluator.answers.steps = 0
            scope = Scope(one.path, {}, one.function)
            basis = evaluator.called(one, (), scope).basis if answers(one.function) else NO_BASIS
            if basis.arch and not basis.compiled:
                yield name
                break


def _naming(
    ordered: list[HostIndex], helpers: frozenset[str], seen_by: Mapping[str, frozenset[str]]
) -> Iterator[HostIndex]:
    """The files that name one of these without having been read for it, and may see what it is the name of."""
    wanted = {fingerprint(name.encode()): name for name in helpers}
    for index in ordered:
        known = {function.name for function in index.unit.functions}
        met = {wanted[word] for word in wanted.keys() & set(memoryview(index.words).cast("I"))}
        if any(name not in seen_by or index.path in seen_by[name] for name in met - known):
            yield index


def _seen_by(ordered: list[HostIndex], includes: Includes | None) -> Mapping[str, frozenset[str]]:
    """The files that may see the constants that are made of `__CUDA_ARCH__`: what is compiled together with them."""
    if includes is None:
        return {}
    return {
        name: frozenset(seen for path in paths for seen in includes.beside(path))
        for name, paths in _compiled(ordered).items()
    }


def _compiled(ordered: list[HostIndex]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for index in ordered:
        for name in index.unit.compiled:
            found[name] = (*found.get(name, ()), index.path)
    return found


def _names(ordered: list[HostIndex], context: Context) -> SymbolTable:
    aliases: dict[str, tuple[Alias, ...]] = {}
    templates: dict[str, tuple[str, ...]] = {}
    for index in ordered:
        for alias in index.unit.aliases:
            aliases[alias.name] = (*aliases.get(alias.name, ()), alias)
        templates.update(index.unit.templates)
    toolkit = context.catalog.macros.toolkit_values(context.settings.cuda)
    defines: dict[str, str | None] = dict(context.settings.defines)
    defines.update(dict.fromkeys(context.settings.undefines))
    return SymbolTable(
        functions=grouped_functions((i.path, f) for i in ordered for f in i.unit.functions if not f.is_macro),
        constants=grouped_constants((i.path, c) for i in ordered for c in i.unit.constants),
        aliases=aliases,
        templates=templates,
        defines=defines,
        macros=context.catalog.macros,
        toolkit={n: int(v) for n, v in toolkit.items() if v.isdigit()},
    )


def _predicates(ordered: list[HostIndex], names: SymbolTable) -> frozenset[str]:
    found: set[str] = set()
    for index in ordered:
        for function in index.unit.functions:
            for statement in statements(function.body):
                for expr in deciding(statement):
                    found.update(p.name for p in parts(expr) if may_answer(p) and p.name != function.name)
                if isinstance(statement, Return) and statement.value is not None and may_answer(statement.value):
                    found.add(statement.value.name)
    return frozenset(found & names.functions.keys())


def _tables(
    ordered: list[HostIndex], names: SymbolTable, evaluator: Evaluator
) -> dict[str, tuple[tuple[str, int], ...]]:
    """Helpers that look their answer up in a switch over the capability, with the conditions that ask them.

    Such a switch is like a named list: the gate is the switch, its uses are related to it.
    """
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for name, defined in names.functions.items():
        if any(_looks_up(d.function, Scope(d.path, {}, d.function), evaluator) for d in defined):
            found[name] = ()
    for index in ordered:
        for function in index.unit.functions:
            for statement in statements(function.body):
                for expr in deciding(statement):
                    for part in parts(expr):
                        if part.op is Op.CALL and part.name in found and part.name != function.name:
                            found[part.name] = (*found[part.name], (index.path, part.place.line))
    return {name: tuple(dict.fromkeys(uses)) for name, uses in found.items() if uses}


def _looks_up(function: Function, scope: Scope, evaluator: Evaluator) -> bool:
    switches = (s for s in statements(function.body) if isinstance(s, Switch))
    return any(evaluator.value(s.subject, scope).basis.arch for s in switches)


def _tests(ordered: list[HostIndex]) -> Iterator[TemplateTest]:
    for index in ordered:
        for function in index.unit.functions:
            for statement in statements(function.body):
                if isinstance(statement, Branch) and statement.constexpr:
                    yield from _tested(index.path, function, statement)


def _tested(path: str, function: Function, branch: Branch) -> Iterator[TemplateTest]:
    option = branch.options[0]
    otherwise = branch.options[1] if len(branch.options) > 1 and branch.options[1].condition is None else None
    for part in parts(option.condition) if option.condition else ():
        if part.op is Op.CALL and part.scope and part.scope in function.template:
            yield TemplateTest(path, function, option, part, otherwise)
        elif part.op is Op.NAME and part.scope and part.scope in function.template and option.condition is not None:
            yield TemplateTest(path, function, option, option.condition, otherwise, part.scope)
            return  # one condition, however many members it names


@dataclass
class _MemberRecorder(Recorder):
    """Notes the values that members are given."""

    evaluator: Evaluator
    found: dict[str, Value | None]

    def assigned(self, assign: Assign, scope: Scope, live: ConditionResult) -> None:
        if assign.value is None or assign.declared or len(assign.targets) != 1:
            return
        name = assign.targets[0].rpartition(".")[2]
        if not is_member(name):
            return
        value = self.evaluator.value(assign.value, scope)
        if not value.basis.arch or not value.cases:
            return
        known = self.found.get(name, value)
        self.found[name] = known if known is not None and known.cases == value.cases else None


def _members(ordered: Iterable[HostIndex], evaluator: Evaluator) -> dict[str, Value]:
    recorder = _MemberRecorder(evaluator, {})
    for index in ordered:
        for function in index.unit.functions:
            evaluator.answers.steps = 0
            if any(_gives_member(s) for s in statements(function.body)):
                Interpreter(evaluator, index.path, function, recorder=recorder).run(function.body)
    return {name: value for name, value in recorder.found.items() if value is not None}


def _gives_member(statement: object) -> bool:
    return (
        isinstance(statement, Assign)
        and not statement.declared
        and statement.value is not None
        and len(statement.targets) == 1
        and is_member(statement.targets[0].rpartition(".")[2])
        and any(p.op in (Op.CALL, Op.NAME, Op.FIELD) for p in parts(statement.value))
    )
