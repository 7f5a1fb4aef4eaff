"""Tells which names of a file can come from another package, so that only what is called by them is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from archscan.tracing.code import Code
from archscan.tracing.python_calls import Import, Module, Value, names_of


def package(path: str, code: Code) -> str:
    """The package that a file belongs to: the outermost folder that is a package."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if "/".join(parts[:depth]) + "/__init__.py" in code.origins:
            return "/".join(parts[:depth])
    return parts[0]


class ExternalSymbols:
    """The files that name a package and are not of it."""

    def __init__(self, producer: str, code: Code) -> None:
        self._producer = producer
        self._name = producer.rpartition("/")[2]
        self._code = code
        self._known: dict[str, frozenset[str]] = {}

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(p for p in self._code.naming(self._name) if package(p, self._code) != self._producer)

    def names(self, path: str) -> frozenset[str]:
        """The names of a file that are imported from the package or from who passes them on, or set from those."""
        if path not in self._known:
            self._known[path] = frozenset()  # cycles of imports end here
            module = self._code.module(path)
            found = frozenset(name for item in module.imports for name in self._imported(path, item))
            self._known[path] = _with_values(found, module)
        return self._known[path]

    def _imported(self, path: str, item: Import) -> Iterator[str]:
        target = self._code.paths.module(item.module, path)
        inner = self._code.paths.module(f"{item.module.rstrip('.')}.{item.name}", path) if item.name else None
        files = [p for p in (target, inner) if p]
        if any(package(p, self._code) == self._producer for p in files) or item.module.split(".")[0] == self._name:
            yield item.local
            return
        for file in files:
            if file in self.paths and (passed := self.names(file)):
                if item.local == "*":
                    yield from passed
                elif file == inner or not item.name or item.name in passed:
                    yield item.local


def _with_values(names: frozenset[str], module: Module) -> frozenset[str]:
    """Those names, and what is assigned or returned from one of them, in any number of steps."""
    pending = list(module.values)
    while True:
        found = {_set(value) for value in pending if (value.names | names_of(value.expression)) & names}
        if found <= names:
            return names
        names |= found
        pending = [value for value in pending if _set(value) not in names]


def _set(value: Value) -> str:
    """The name that an assignment sets; of a returned value the function that returns it."""
    return value.scope.rpartition(".")[2] if value.name == "return" else value.name.lstrip(".")
