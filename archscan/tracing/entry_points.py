"""Finds what a name given to `trace` stands for: function, module, JIT spec, operator, kernel or file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from archscan.errors import UserError
from archscan.model.facts import LinkKind, Origin
from archscan.tracing.code import Code
from archscan.tracing.modules import Extension
from archscan.tracing.operators import Place
from archscan.tracing.python_graph import Fn, Operator, PythonGraph

_CLOSE = 5
_PYTHON_NAME = re.compile(rb"^[ \t]*(?:def|class)[ \t]+(\w+)", re.M)
_KERNEL_NAME = re.compile(rb"__global__[^;{}]{0,200}?\b(\w+)\(")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Everything of that name: often a Python function, the operator it calls and the C++ function behind it."""

    name: str
    extensions: tuple[Extension, ...] = ()  # named, built by a function of that name, or by the module of that name
    functions: tuple[Fn, ...] = ()
    operators: tuple[Operator, ...] = ()
    definitions: tuple[Place, ...] = ()  # C++ functions and kernels
    files: tuple[str, ...] = ()  # C++ files
    values: tuple[str, ...] = ()  # Python files that assign a name at module level

    def __bool__(self) -> bool:
        return bool(
            self.extensions or self.functions or self.operators or self.definitions or self.files or self.values
        )


def find(name: str, code: Code, graph: PythonGraph) -> EntryPoint:
    """What `name` stands for. Raises UserError with near names if it is nothing that was scanned."""
    start = (
        _file(name, code)
        or _extension(name, code)
        or _function(name, code, graph)
        or compiled(name, code)
        or _value(name, code)
    )
    if not start:
        near = get_close_matches(name, sorted(_names(code)), _CLOSE, 0.7)
        hint = (
            f"did you mean {', '.join(near)}?"
            if near
            else "give a function, module, JIT spec, operator, kernel or file"
        )
        raise UserError(
            f"{name}: no such function, module, JIT spec, operator, kernel or file in what was scanned", hint
        )
    return start


def _file(name: str, code: Code) -> EntryPoint:
    """A path, or the end of one; a Python module by its dotted name."""
    if "/" not in name and "." not in name:
        return EntryPoint(name)
    found = code.paths.find(name)
    if not found and "/" not in name and (module := code.paths.module(name, "")):
        found = (module,)
    python = [p for p in found if p.endswith(".py")]
    extensions = tuple(e for e in code.extensions if e.path in python)
    functions = [fn for p in python if not extensions for fn in _outermost(code, p)]
    return EntryPoint(name, extensions, tuple(functions), files=tuple(p for p in found if not p.endswith(".py")))


def _outermost(code: Code, path: str, cls: str = "") -> list[Fn]:
    """The functions of a file, or of one class, methods included, nested ones not."""
    module = code.module(path)
    classes = {"", *(f.name for f in module.functions if f.is_class)}
    found = [f for f in module.functions if not f.is_class and f.name.rpartition(".")[0] in classes]
    return [Fn(path, f.name) for f in found if not cls or f.name.startswith(cls + ".")]


def _value(name: str, code: Code) -> EntryPoint:
    assigned = re.compile(rb"^(?:\w+[ \t]*=[ \t]*)*%s[ \t]*(?::[^=\n]*)?=(?!=)" % re.escape(name.encode()), re.M)
    holding = code.naming(name) if name.isidentifier() else []
    return EntryPoint(name, values=tuple(p for p in holding if assigned.search(code.data(p))))


def _extension(name: str, code: Code) -> EntryPoint:
    short = name.rpartition(".")[2]
    found = tuple(e for e in code.extensions if name in (e.id, e.name) or short in (e.function, *e.wrappers))
    return EntryPoint(name, found)


def _function(name: str, code: Code, graph: PythonGraph) -> EntryPoint:
    """Python functions of that name, the outermost ones; with the operators of the same name."""
    operator = name.rpartition("::")[2].rpartition(".")[2]
    offering = graph.offering(operator)
    operators = (Operator(operator, offering),) if offering else ()
    if "::" in name:
        registered = [Fn(p, fn) for p in code.naming(operator) for o, fn in code.module(p).registered if o == name]
        return EntryPoint(name, functions=tuple(registered), operators=operators)
    found = graph.defined(name) or _in_module(name, code, graph)
    outermost = [fn for fn in found if fn.name.count(".") == min(f.name.count(".") for f in found)]
    methods = [m for fn in outermost for m in _methods(fn, code, graph)]
    return EntryPoint(name, functions=(*outermost, *methods), operators=operators)


def _in_module(name: str, code: Code, graph: PythonGraph) -> list[Fn]:
    """`package.module.function`, through re-exports."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = code.paths.module(".".join(parts[:cut]), "")
        if module:
            return [e for e in graph.resolve(module, "", ".".join(parts[cut:])) if isinstance(e, Fn)]
    return []


def _methods(fn: Fn, code: Code, graph: PythonGraph) -> list[Fn]:
    function = graph.function(fn)
    return _outermost(code, fn.path, fn.name) if function and function.is_class else []


def compiled(name: str, code: Code) -> EntryPoint:
    """C++ functions and kernels; an operator that no scanned module exports is found by its C++ name."""
    short = name.rpartition("::")[2].rpartition(".")[2]
    own = [p for p in code.cuda if code.origins[p] is not Origin.VENDORED]
    holding = {short: code.holding(short, own)}
    for path in holding[short]:
        for link in code.links[path]:
            if link.kind is LinkKind.REGISTERS and link.target == short and link.source not in holding:
                holding[link.source] = code.holding(link.source, own)
    found = [
        Place(path, definition)
        for implementation in sorted(holding)
        for path in holding[implementation]
        for definition in code.unit(path).by_name.get(implementation, ())
    ]
    return EntryPoint(name, definitions=tuple(found))


def _names(code: Code) -> Iterable[str]:
    """What a misspelled name may have meant."""
    yield from (path.rpartition("/")[2] for path in code.origins)
    yield from (name for e in code.extensions for name in (e.id, e.function, *e.wrappers))
    for path in code.python:
        yield from (m.decode() for m in _PYTHON_NAME.findall(code.data(path)))
    for path in code.cuda:
        if code.origins[path] is not Origin.VENDORED:
            yield from (link.target for link in code.links[path] if link.kind is LinkKind.REGISTERS)
            yield from (m.decode() for m in _KERNEL_NAME.findall(code.peek(path)))
