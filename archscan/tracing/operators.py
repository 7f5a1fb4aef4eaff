"""Follows an exported operator of an extension module to the C++ functions and kernels that it can reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archscan.model.facts import LinkKind, Origin
from archscan.tracing.code import Code
from archscan.tracing.cuda_calls import Definition
from archscan.tracing.modules import Extension

_LIMIT = 20_000  # definitions visited; a module that needs more is generated code


@dataclass(frozen=True, slots=True)
class Place:
    """A definition in a file."""

    path: str
    definition: Definition


def files(code: Code, extension: Extension) -> tuple[str, ...]:
    """Every file that is compiled into the module: sources first, then what they include."""
    found = dict.fromkeys(extension.sources)
    for source in extension.sources:
        found.update(dict.fromkeys(code.includes.closure(source)))
    return tuple(found)


def exports(code: Code, extension: Extension) -> tuple[tuple[str, str], ...]:
    """(operator, C++ name) of everything the module offers to Python."""
    found = list(extension.exports)
    for path in files(code, extension):
        if code.origins.get(path) is not Origin.VENDORED:
            found += [(link.target, link.source) for link in code.links[path] if link.kind is LinkKind.REGISTERS]
    return tuple(dict.fromkeys(found))


class Reach:
    """The call graph of one extension module, by name within what each source file sees."""

    def __init__(self, code: Code, extension: Extension) -> None:
        self.files = tuple(p for p in files(code, extension) if code.origins.get(p) is not Origin.VENDORED)
        self._code = code
        self._visible = {s: frozenset(code.includes.closure(s)) for s in extension.sources}
        self._seen_from = {
            path: frozenset().union(*(seen for seen in self._visible.values() if path in seen)) for path in self.files
        }
        self._names: dict[str, list[Place]] = {}
        for path in self.files:
            for name, definitions in code.unit(path).by_name.items():
                self._names.setdefault(name, []).extend(Place(path, d) for d in definitions)
        self._edges: dict[Place, tuple[Place, ...]] = {}

    def of(self, name: str) -> frozenset[Place]:
        """Every definition that the C++ name `name` can reach, itself included."""
        outer, _, short = name.rpartition("::")
        cls = outer.rpartition("::")[2]
        named = self._names.get(short, ())
        if cls:
            return self.from_places(p for p in named if (c := self._owner(p)) and c.definition.name == cls)
        free = [p for p in named if self._owner(p) is None]  # an exported name means a function before any method
        return self.from_places(free or named)

    def from_places(self, starts: Iterable[Place]) -> frozenset[Place]:
        """Everything reachable from `starts`. A method counts only once its class is named too."""
        seen: set[Place] = set()
        pending = list(starts)
        classes = {owner for start in pending if (owner := self._owner(start))}
        waiting: dict[Place, list[Place]] = {}
        while pending and len(seen) < _LIMIT:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            if place.definition.kind == "class" and place not in classes:
                classes.add(place)
                pending += waiting.pop(place, ())
            for found in self._mentioned(place):
                owner = self._owner(found)
                if owner is None or owner in classes:
                    pending.append(found)
                else:
                    waiting.setdefault(owner, []).append(found)
        return frozenset(seen)

    def through(self, places: Iterable[Place], reached: Iterable[frozenset[Place]]) -> frozenset[Place]:
        """What leads to `places` within what is `reached` from outside, and all that `places` reach themselves."""
        inside = frozenset[Place]().union(*reached)
        leading: dict[Place, list[Place]] = {}
        for place in inside:
            for found in self._mentioned(place):
                leading.setdefault(found, []).append(place)
        above: set[Place] = set()
        pending = list(places)
        while pending:
            place = pending.pop()
            if place not in above:
                above.add(place)
                pending += leading.get(place, ())
        return frozenset(above) | self.from_places(places)

    def _mentioned(self, place: Place) -> tuple[Place, ...]:
        """The definitions named in a body, as far as its translation units see them or another source defines them.

        Of a class its constructors, operators and virtual methods too: they are called without their name.
        """
        if place not in self._edges:
            unit, visible = self._code.unit(place.path), self._seen_from[place.path]
            found: list[Place] = []
            for name in unit.mentions(place.definition) & self._names.keys():
                near = [p for p in self._names[name] if p.path in visible]
                found += near or [p for p in self._names[name] if self._is_linked(p, visible)]
            for member in unit.members.get(place.definition, ()):
                if member.name in (place.definition.name, "operator") or unit.is_virtual(member):
                    found.append(Place(place.path, member))
            self._edges[place] = tuple(p for p in found if p != place)
        return self._edges[place]

    def _is_linked(self, place: Place, visible: frozenset[str]) -> bool:
        """Whether another translation unit can reach it.

        So are a function of a source file, a method of a seen class, and a template that a source instantiates.
        """
        if place.definition.kind != "function":
            return False
        qualifier, name = place.definition.qualifier, place.definition.name
        if any(place.path in seen and name in self._code.unit(s).instantiated for s, seen in self._visible.items()):
            return True
        seen = any(p.path in visible and p.definition.kind == "class" for p in self._names.get(qualifier, ()))
        return seen if qualifier else place.path in self._visible

    def _owner(self, place: Place) -> Place | None:
        owner = self._code.unit(place.path).owners.get(place.definition)
        return Place(place.path, owner) if owner else None
