"""Which helpers and constants may hang on the architecture at all: only these are worth to be followed for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from archscan.frontends.cuda.host.naming_conventions import convention_of
from archscan.frontends.cuda.host.out_parameters import ATTRIBUTE
from archscan.frontends.cuda.host.project import SymbolTable
from archscan.frontends.cuda.host.syntax import Assign, Directive, Expr, Function, Guard, Op, Switch
from archscan.frontends.cuda.host.traversal import own_expressions, parts, statements

_LIST = "{}"  # stands for a list in braces: a capability may be looked up in it


Users = Mapping[str, set[str]]
"""The functions, constants and aliases that mention a name, by that name."""


def users_of(names: SymbolTable) -> Users:
    """Who mentions what."""
    users: dict[str, set[str]] = {}
    for name, mentioned in _mentioned(names):
        for word in mentioned:
            users.setdefault(word, set()).add(name)
    return users


def bearing(users: Users, members: Iterable[str] = ()) -> frozenset[str]:
    """The functions, constants and aliases whose value may depend on the architecture, or be a list, by name.

    Whoever mentions a name that stands for a capability, or one of these, is one of them: what is not surely hangs on
    nothing of the kind, unless an argument brings it in.
    """
    seeds = {*members, "__CUDA_ARCH__", _LIST, *ATTRIBUTE}
    return resting_on(
        users, [word for word in users if word in seeds or convention_of(word) or convention_of(word, True)]
    )


def resting_on(users: Users, words: Iterable[str]) -> frozenset[str]:
    """Whoever mentions one of these names, or mentions one who does."""
    found: set[str] = set()
    queue = list(words)
    for word in queue:
        fresh = users.get(word, set()) - found
        found |= fresh
        queue += fresh
    return frozenset(found)


def _mentioned(names: SymbolTable) -> Iterator[tuple[str, set[str]]]:
    """Each function, constant and alias with the names that it mentions."""
    for name, functions in names.functions.items():
        for defined in functions:
            yield name, mentioned_by(defined.function)
    for name, constants in names.constants.items():
        for one in constants:
            constant = one.constant
            yield name, _words((constant.value, *constant.special, *_conditions(constant.guards)))
    for name, aliases in names.aliases.items():
        for alias in aliases:
            yield name, {alias.base, *_words(alias.targs)}


def mentioned_by(function: Function) -> set[str]:
    """The names that a function mentions, whatever they are names of."""
    found: set[str] = set()
    for statement in statements(function.body):
        found |= _words(own_expressions(statement))
        match statement:
            case Assign():
                found.update(statement.targets)
            case Switch():
                for case in statement.cases:
                    found |= _words((*case.labels, *case.entered, *_conditions(case.guards)))
            case Directive():
                found |= _words(condition for condition, _ in statement.options if condition is not None)
    return found


def _conditions(guards: Iterable[Guard]) -> Iterator[Expr]:
    return (guard.condition for guard in guards)


def _words(exprs: Iterable[Expr]) -> set[str]:
    found: set[str] = set()
    for expr in exprs:
        for part in parts(expr):
            if part.name:
                found.add(part.name)
            if part.scope:
                found.add(part.scope.rpartition("::")[2])
            if part.op is Op.GROUP and len(part.args) > 1:
                found.add(_LIST)
    return found
