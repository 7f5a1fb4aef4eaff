"""Resolves Python names over all scanned files: what a call reaches, who calls a function, what a guard asks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from archscan.sources.kinds import is_cmake
from archscan.tracing.code import Code
from archscan.tracing.modules import Extension
from archscan.tracing.operators import exports
from archscan.tracing.paths import nearest
from archscan.tracing.python_calls import Call, Function, Import, Module

_DEPTH = 12  # re-exports, aliases and returned values followed in a row
_DISTINCTIVE = 12  # characters from which a name that is defined in few places is taken for that one
DISPATCHED = "torch.ops."
_FEW = 3
_COMMON = 40  # files that hold a name; with more it takes another word to look into one


@dataclass(frozen=True, slots=True)
class Fn:
    """A Python function or class."""

    path: str
    name: str  # qualified

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of extension modules, as Python calls it."""

    name: str
    extensions: tuple[str, ...]  # ids
    space: str = field(default="", compare=False)  # of `torch.ops.space.name`

    @property
    def called(self) -> str:
        """As it is registered: `space::name`, or the name alone where the space is not known."""
        return f"{self.space}::{self.name}" if self.space else self.name


@dataclass(frozen=True, slots=True)
class _File:
    path: str


@dataclass(frozen=True, slots=True)
class _Built:
    """The result of a function that builds an extension: the spec, or the loaded module."""

    extensions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Instance:
    cls: Fn


Entity = Fn | Operator | _File | _Built | _Instance


class PythonGraph:
    """Answers by name over `Code`; every answer is remembered."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._resolved: dict[tuple[str, str, str], tuple[Entity, ...]] = {}
        self._offering: dict[str, tuple[str, ...]] = {}
        self._defined: dict[str, list[Fn]] = {}
        self._results: dict[Fn, tuple[Entity, ...]] = {}
        self._libraries: dict[str, tuple[str, ...]] = {}

    @cached_property
    def builders(self) -> dict[Fn, tuple[str, ...]]:
        """Functions that build extension modules, wrappers in the same file included."""
        found: dict[Fn, list[str]] = {}
        for extension in self.code.extensions:
            for name in (extension.function, *extension.wrappers):
                if name:
                    found.setdefault(Fn(extension.path, name), []).append(extension.id)
        return {fn: tuple(ids) for fn, ids in found.items()}

    @cached_property
    def by_id(self) -> dict[str, Extension]:
        return {e.id: e for e in self.code.extensions}

    def function(self, fn: Fn) -> Function | None:
        return self.code.outline(fn.path).by_name.get(fn.name)

    def defined(self, name: str) -> list[Fn]:
        """Every function of that name (last component, or qualified), outermost first."""
        if name not in self._defined:
            found = [
                Fn(path, f.name)
                for path in self.code.defining(name.rpartition(".")[2])
                for f in self.code.outline(path).functions
                if f.name == name or f.name.endswith("." + name)
            ]
            self._defined[name] = sorted(found, key=lambda fn: (fn.name.count("."), fn.path, fn.name))
        return self._defined[name]

    # -- resolving ---------------------------------------------------------------------------------------------------

    def resolve(self, path: str, scope: str, dotted: str, depth: int = 0) -> tuple[Entity, ...]:
        """What a dotted name means in a scope of a file; () = not scanned, or not decidable."""
        key = (path, scope, dotted)
        if key not in self._resolved and depth <= _DEPTH:
            self._resolved[key] = ()  # cycles end here
            self._resolved[key] = self._resolve(path, scope, dotted, depth)
        return self._resolved.get(key, ())

    def _resolve(self, path: str, scope: str, dotted: str, depth: int) -> tuple[Entity, ...]:
        if dotted.startswith(DISPATCHED):
            return self._dispatched(dotted)
        head, *rest = dotted.split(".")
        entities = self._lookup(path, scope, head.removesuffix("()"), depth)
        if head.endswith("()"):
            entities = self._called(entities, depth)
        for part in rest:
            name = part.removesuffix("()")
            entities = tuple(dict.fromkeys(e for entity in entities for e in self._attribute(entity, name, depth)))
            if part.endswith("()"):
                entities = self._called(entities, depth)
        return entities

    def _dispatched(self, dotted: str) -> tuple[Entity, ...]:
        """`torch.ops.ns.name`: the Python function registered as `ns::name`, or an operator of some C++ library."""
        parts = dotted.split(".")
        if len(parts) < 4:
            return ()
        space, name = parts[2], parts[3].removesuffix("()")
        registered = f"{space}::{name}"
        found = tuple(
            Fn(path, function)
            for path in self.code.registering(space, name)
            for operator, function in self.code.outline(path).registered
            if operator == registered
        )
        return found or (Operator(name, self.offering(name), space),)

    def offering(self, operator: str) -> tuple[str, ...]:
        """The extension modules that export an operator of that name."""
        if operator not in self._offering:
            self._offering[operator] = tuple(e.id for e in self.code.extensions if operator in self._exported(e.id))
        return self._offering[operator]

    def _lookup(self, path: str, scope: str, name: str, depth: int) -> tuple[Entity, ...]:
        """A bare name, innermost scope first: nested function, assigned value, import."""
        module = self.code.module(path) if scope else self.code.outline(path)
        if name in ("self", "cls"):
            outer = scope
            while outer and not ((f := module.by_name.get(outer)) and f.is_class):
                outer = outer.rpartition(".")[0]
            return (_Instance(Fn(path, outer)),) if outer else ()
        while True:
            found = self._in_scope(module, scope, name, depth)
            if found or not scope:
                return found
            scope = scope.rpartition(".")[0]

    def _in_scope(self, module: Module, scope: str, name: str, depth: int) -> tuple[Entity, ...]:
        qualified = f"{scope}.{name}" if scope else name
        if qualified in module.by_name:
            return (Fn(module.path, qualified),)
        found: dict[Entity, None] = {}
        for value in module.values_by_name.get((scope, name), ()):
            if value.expression and value.expression != name:
                found.update(dict.fromkeys(self.resolve(module.path, scope, value.expression, depth + 1)))
        if not scope and not found:
            for item in module.imported.get(name, ()):
                found.update(dict.fromkeys(self._imported(module.path, item.module, item.name, depth)))
        return tuple(found)

    def _imported(self, path: str, module: str, name: str, depth: int) -> tuple[Entity, ...]:
        target = self.code.paths.module(module, path)
        if not name:
            return (_File(target),) if target else self._compiled(module, path)
        dot = "" if module.endswith(".") else "."
        inner = self.code.paths.module(f"{module}{dot}{name}", path)
        if target and target != path:
            found = self._attribute(_File(target), name, depth + 1)
            if found:
                return found
        if inner:
            return (_File(inner),)
        if not target and (library := self._compiled(module, path)):
            return tuple(e for entity in library for e in self._attribute(entity, name, depth + 1))
        return self._compiled(f"{module}{dot}{name}", path)

    def _compiled(self, module: str, path: str) -> tuple[Entity, ...]:
        """The extension modules that an import in the file `path` can mean: of that name, the nearest to it."""
        if module not in self._libraries:
            last = module.rpartition(".")[2]
            named = [e for e in self.code.extensions if last and last in _file_names(e)]
            near = nearest([e.path for e in named], path)
            self._libraries[module] = tuple(e.id for e in named if e.path in near)
        found = self._libraries[module]
        return (_Built(found),) if found else ()

    def _attribute(self, entity: Entity, name: str, depth: int) -> tuple[Entity, ...]:
        if depth > _DEPTH:
            return ()
        if isinstance(entity, _File):
            return self._of_file(entity, name, depth)
        if isinstance(entity, _Built):
            offering = tuple(i for i in entity.extensions if name in self._exported(i))
            return (Operator(name, offering),) if offering else (entity,)
        if isinstance(entity, _Instance):
            return self._of_class(entity.cls, name, depth)
        if isinstance(entity, Fn):  # a nested function through a namespace object, a method through its class
            module = self.code.outline(entity.path)
            inner = [f"{entity.name}.{name}"]
            if name == "apply" and inner[0] not in module.by_name:  # of torch.autograd.Function
                inner = [f"{entity.name}.forward", f"{entity.name}.backward"]
            return tuple(Fn(entity.path, n) for n in inner if n in module.by_name)
        return ()

    def _of_file(self, entity: _File, name: str, depth: int) -> tuple[Entity, ...]:
        found = self.resolve(entity.path, "", name, depth + 1)
        if found:
            return found
        module = self.code.outline(entity.path)
        star = [i for i in module.imports if i.local == "*"]
        for item in star:
            found += self._imported(entity.path, item.module, name, depth + 1)
        if found or not entity.path.endswith("__init__.py"):
            return found
        inner = self.code.paths.module("." + name, entity.path)
        return (_File(inner),) if inner else ()

    def _of_class(self, cls: Fn, name: str, depth: int) -> tuple[Entity, ...]:
        """A method or attribute of an object, from its class or else from the classes that it extends."""
        if f"{cls.name}.{name}" in self.code.outline(cls.path).by_name:
            return (Fn(cls.path, f"{cls.name}.{name}"),)
        return self._set_in_class(cls, name, depth) or self._inherited(cls, name, depth)

    def _set_in_class(self, cls: Fn, name: str, depth: int) -> tuple[Entity, ...]:
        found: dict[Entity, None] = {}
        if b"." + name.encode() not in self.code.data(cls.path):
            return ()
        for value in self.code.module(cls.path).values:
            if value.name == "." + name and value.expression and value.scope.startswith(cls.name + "."):
                found.update(dict.fromkeys(self.resolve(cls.path, value.scope, value.expression, depth + 1)))
        return tuple(found)

    def _inherited(self, cls: Fn, name: str, depth: int) -> tuple[Entity, ...]:
        function = self.function(cls)
        for base in function.bases if function and depth <= _DEPTH else ():
            for entity in self.resolve(cls.path, cls.name.rpartition(".")[0], base, depth + 1):
                if isinstance(entity, Fn) and entity != cls and (found := self._of_class(entity, name, depth + 1)):
                    return found
        return ()

    def _called(self, entities: tuple[Entity, ...], depth: int) -> tuple[Entity, ...]:
        found: dict[Entity, None] = {}
        for entity in entities:
            if isinstance(entity, Fn):
                found.update(dict.fromkeys(self.result(entity, depth + 1)))
            elif isinstance(entity, _Built):
                found[entity] = None
        return tuple(found)

    def result(self, fn: Fn, depth: int = 0) -> tuple[Entity, ...]:
        """What calling `fn` gives; the function itself stands for a namespace of its nested functions."""
        if fn in self.builders:
            return (_Built(self.builders[fn]),)
        if fn not in self._results and depth <= _DEPTH:
            self._results[fn] = (fn,)
            self._results[fn] = self._result(fn, depth)
        return self._results.get(fn, ())

    def _result(self, fn: Fn, depth: int) -> tuple[Entity, ...]:
        function = self.function(fn)
        if function is None or function.is_class:
            return (_Instance(fn),)
        found: dict[Entity, None] = {fn: None}
        for value in self.code.module(fn.path).values_by_name.get((fn.name, "return"), ()):
            if value.expression:
                found.update(dict.fromkeys(self.resolve(fn.path, fn.name, value.expression, depth + 1)))
        return tuple(found)

    @cached_property
    def _exports(self) -> dict[str, frozenset[str]]:
        return {}

    def _exported(self, identifier: str) -> frozenset[str]:
        if identifier not in self._exports:
            self._exports[identifier] = frozenset(name for name, _ in exports(self.code, self.by_id[identifier]))
        return self._exports[identifier]

    # -- walking -----------------------------------------------------------------------------------------------------

    def callees(self, fn: Fn) -> list[tuple[Call, Fn | Operator]]:
        """What a function itself calls or passes on, as far as it is scanned.

        A function that hands out several nested ones is a namespace: whoever takes one of them calls that one.
        """
        module = self.code.module(fn.path)
        found: list[tuple[Call, Fn | Operator]] = []
        for call in module.calls_by_caller.get(fn.name, ()):
            for entity in self.resolve(fn.path, fn.name, call.callee):
                if isinstance(entity, Fn | Operator):
                    found.append((call, entity))
                if not call.mention:
                    found += [(call, made) for made in self._run_by_calling(entity)]
        handed = {e for c, e in found if c.mention and isinstance(e, Fn) and e.name.startswith(fn.name + ".")}
        return [(c, e) for c, e in found if len(handed) < 2 or e not in handed]

    def outside(self, fn: Fn) -> set[str]:
        """The modules that a function calls into and that were not scanned, Python's own library left out."""
        module = self.code.module(fn.path)
        found: set[str] = set()
        for call in module.calls_by_caller.get(fn.name, ()):
            imports = module.imported.get(call.callee.partition(".")[0].removesuffix("()"), ())
            if imports and not call.mention and not self.resolve(fn.path, fn.name, call.callee):
                found.update(self._not_scanned(item, fn.path) for item in imports)
        return found - sys.stdlib_module_names - {""}

    def on_unknown_objects(self, fn: Fn) -> int:
        """How many calls of methods in a function could be of anything: arguments, and what unscanned code returns."""
        module = self.code.module(fn.path)
        calls = [c for c in module.calls_by_caller.get(fn.name, ()) if not c.mention and "." in c.callee]
        own = [c for c in calls if c.callee.partition(".")[0].removesuffix("()") not in module.imported]
        return sum(not self.resolve(fn.path, fn.name, c.callee) for c in own)

    def _not_scanned(self, item: Import, path: str) -> str:
        """What an import names if no such file was scanned: all of it below a scanned package, else the package."""
        if not item.module.strip("."):
            return "" if self.code.paths.module(item.module + item.name, path) else item.module + item.name
        package = item.module.lstrip(".").partition(".")[0]
        if self.code.paths.module(item.module, path):
            return ""
        return item.module if item.module.startswith(".") or self.code.paths.module(package, path) else package

    def _run_by_calling(self, entity: Entity) -> Iterator[Fn]:
        """The methods that run when a class is called, or an object: `forward` is what torch's modules run."""
        if isinstance(entity, Fn | _Instance):
            cls, methods = (entity, ("__init__",)) if isinstance(entity, Fn) else (entity.cls, ("__call__", "forward"))
            known = self.code.outline(cls.path).by_name
            yield from (Fn(cls.path, f"{cls.name}.{m}") for m in methods if f"{cls.name}.{m}" in known)

    def callers(self, target: Fn | Operator) -> list[tuple[Fn, Call]]:
        """Every function that calls or mentions `target`, with the place; ("" functions: module level)."""
        short = target.name.rpartition(".")[2]
        by_name = isinstance(target, Fn) and self._is_distinctive(target)
        found: list[tuple[Fn, Call]] = []
        for path in self._may_call(target, short, by_name):
            for call in self.code.module(path).calls_by_name.get(short, ()):
                entities = self.resolve(path, call.caller, call.callee)
                if target in entities or (by_name and not entities and not call.mention and "." in call.callee):
                    found.append((Fn(path, call.caller), call))
        return found

    def _may_call(self, target: Fn | Operator, short: str, by_name: bool) -> list[str]:
        """Files that hold the name; of a common one only those that also name its class or its module."""
        passed_on = isinstance(target, Fn) and target in self.builders  # a table of builders mentions them
        holding = self.code.naming(short) if passed_on else self.code.calling(short)
        if isinstance(target, Operator) or by_name or len(holding) <= _COMMON:
            return holding
        owner = target.name.rpartition(".")[0].rpartition(".")[2]
        stem = target.path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
        return self.code.holding(owner or stem, holding)

    def is_common(self, fn: Fn) -> bool:
        """Whether the name occurs in so many files that its callers are not worth looking for."""
        return len(self.code.naming(fn.short)) > _COMMON

    def by_name(self, call: Call) -> list[Fn]:
        """What a call on an unknown object can mean, if its name is distinctive."""
        if "." not in call.callee or len(call.name) < _DISTINCTIVE:
            return []
        found = self.defined(call.name)
        return found if len(found) <= _FEW else []

    def _is_distinctive(self, fn: Fn) -> bool:
        """Whether a call of that name on an unknown object can be taken for this function."""
        return len(fn.short) >= _DISTINCTIVE and len(self.defined(fn.short)) <= _FEW


def _file_names(extension: Extension) -> tuple[str, ...]:
    """What the compiled module is imported as; CMake puts `lib` before the name of a target."""
    name = extension.name.rpartition(".")[2]
    return (name, f"lib{name}") if is_cmake(extension.path) else (name,)
