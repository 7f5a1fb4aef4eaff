"""What the files of a project say together: helper functions, constants, members, aliases, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from archscan.catalog.types import MacroFacts
from archscan.frontends.cuda.host.syntax import Alias, Constant, Function
from archscan.frontends.cuda.seen import Noted, Seen


@dataclass(frozen=True, slots=True)
class Defined:
    """A definition with the file it stands in."""

    path: str
    function: Function


@dataclass(frozen=True, slots=True)
class DefinedConstant:
    path: str
    constant: Constant


@dataclass(frozen=True)
class SymbolTable:
    """Every definition by name; built once, read by the interpreter."""

    functions: Mapping[str, tuple[Defined, ...]] = field(default_factory=dict)
    constants: Mapping[str, tuple[DefinedConstant, ...]] = field(default_factory=dict)
    aliases: Mapping[str, tuple[Alias, ...]] = field(default_factory=dict)
    templates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defines: Mapping[str, str | None] = field(default_factory=dict)  # -D and -U of the user; None = undefined
    macros: MacroFacts | None = None  # what nvcc defines and what it does not
    toolkit: Mapping[str, int] = field(default_factory=dict)  # CUDART_VERSION and its like

    def noted(self, seen: Seen) -> SymbolTable:
        """The same, with each look-up noted."""
        return replace(
            self,
            functions=Noted("function", self.functions, seen),
            constants=Noted("constant", self.constants, seen),
            aliases=Noted("alias", self.aliases, seen),
            templates=Noted("template", self.templates, seen),
        )

    def candidates(self, name: str, scope: str, path: str, count: int) -> tuple[Defined, ...]:
        """The definitions that a call with so many arguments may mean.

        Those of its scope if it names one; of overloads those that take so many; then those nearest to its file.
        """
        found = self.functions.get(name, ())
        last = scope.rpartition("::")[2]
        scoped = tuple(d for d in found if last and d.function.scope.rpartition("::")[2] == last)
        return _nearest(_fitting(scoped or found, count), path)

    def constant(self, name: str, scope: str, path: str) -> tuple[DefinedConstant, ...]:
        """The definitions a constant's name may mean."""
        found = self.constants.get(name, ())
        last = scope.rpartition("::")[2]
        if last:
            scoped = tuple(d for d in found if d.constant.scope.rpartition("::")[2] == last)
            found = scoped or tuple(d for d in found if not d.constant.scope)
        near = tuple(d for d in found if d.path == path)
        return near or found


def _fitting(found: tuple[Defined, ...], count: int) -> tuple[Defined, ...]:
    """The definitions that take so many arguments: overloads are told apart by that alone."""
    exact = tuple(d for d in found if len(d.function.parameters) == count and not d.function.variadic)
    wider = tuple(d for d in found if d.function.variadic and len(d.function.parameters) <= count + 1)
    return exact or wider or found


def _nearest(found: tuple[Defined, ...], path: str) -> tuple[Defined, ...]:
    """The definitions that share the longest part of the path; a header copied around means the copy beside."""
    if len(found) < 2:
        return found
    parts = PurePosixPath(path).parts
    ranked = [(_shared(parts, PurePosixPath(d.path).parts), d) for d in found]
    best = max(rank for rank, _ in ranked)
    return tuple(d for rank, d in ranked if rank == best)


def _shared(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def grouped_functions(items: Iterable[tuple[str, Function]]) -> dict[str, tuple[Defined, ...]]:
    """Functions by name, in the order given."""
    found: dict[str, tuple[Defined, ...]] = {}
    for path, function in items:
        if function.name:
            found[function.name] = (*found.get(function.name, ()), Defined(path, function))
    return found


def grouped_constants(items: Iterable[tuple[str, Constant]]) -> dict[str, tuple[DefinedConstant, ...]]:
    """Constants by name, in the order given."""
    found: dict[str, list[DefinedConstant]] = {}
    for path, constant in items:
        found.setdefault(constant.name, []).append(DefinedConstant(path, constant))
    return {name: tuple(entries) for name, entries in found.items()}
