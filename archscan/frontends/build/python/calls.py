"""Calls: functions of the script, methods, builtins, extension modules, and what goes elsewhere."""

from __future__ import annotations

import ast
import contextlib

from archscan.analysis.effects import Means
from archscan.catalog.effects import effects
from archscan.frontends.build.python.calling import run
from archscan.frontends.build.python.environment import environment_call
from archscan.frontends.build.python.functions import BUILTINS, TEXT_METHODS, constant
from archscan.frontends.build.python.names import attribute_of
from archscan.frontends.build.python.script import Extension, Script, name_of
from archscan.frontends.build.python.values import (
    Either,
    Function,
    Items,
    Opaque,
    Str,
    Table,
    Unknown,
    Value,
    either,
    key_of,
    names_in,
)
from archscan.frontends.build.traced import readable, shown, written

_EXTENSIONS = frozenset(
    {"CUDAExtension", "CppExtension", "Extension", "load", "load_inline", "CMakeExtension", "make_extension"}
)


_MACHINE = {"platform.machine": "x86_64", "platform.system": "Linux"}  # where builds are taken to run, as for C++


def call(script: Script, node: ast.Call, frame: dict[str, Value]) -> Value:
    """A function of the file, a method of a text or list, the environment, else something unknown."""
    callee, owner = node.func, None
    if isinstance(callee, ast.Attribute) and (name_of(callee) not in frame or name_of(callee.value) in frame):
        owner = script.value(callee.value, frame)
    arguments = arguments_of(script, node, frame)
    if isinstance(callee, ast.Attribute) and owner is not None and not isinstance(owner, Opaque | Unknown):
        found = method_call(script, owner, callee.attr, node, arguments)
        if found is not None:
            return found[0]
    if isinstance(callee, ast.Attribute) and owner is not None and name_of(callee) not in frame:
        function = attribute_of(script, callee, owner)  # a chain of calls is evaluated once, not once for each link
    else:
        function = script.value(callee, frame)
    keywords = keywords_of(script, node, frame)
    if isinstance(function, Function):
        name = name_of(node.func)
        result = script.versioned(name, run(script, function, arguments, keywords))
        return script.numbered(name, result) if gives_numbers(function) else result
    name = function.name if isinstance(function, Opaque) else name_of(node.func)
    last = name.rpartition(".")[2]
    if name.endswith(("environ.get", "os.getenv", "environ.setdefault", "environ.pop")) or last == "getenv":
        return environment_call(script, last, node, arguments, keywords)
    if last in ("max", "min", "sorted") and ("key" in keywords or "reverse" in keywords):
        return ordered(script, last, arguments, keywords)
    if last in BUILTINS:
        return BUILTINS[last](script, arguments)
    known = library_call(script, name, arguments)
    if known is not None:
        return known
    script.calls_out += 1
    declared(script, last, node, arguments, keywords, "CUDAExtension" in _names_of(function, last))
    for argument in arguments:
        script.keep(last, argument)
    for key, argument in keywords.items():
        script.keep(key, argument)
    return Unknown((f"{name}()",))


def gives_numbers(function: Function) -> bool:
    """Whether a function returns pairs of numbers that it reads from a text, `(int(a), int(b))`, or nothing."""
    returned = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return) and n.value is not None]
    pairs = [value.elts for value in returned if isinstance(value, ast.Tuple)]
    others = [value for value in returned if not isinstance(value, ast.Tuple | ast.Constant)]
    calls = [isinstance(one, ast.Call) and name_of(one) == "int" for pair in pairs for one in pair]
    return bool(calls) and all(calls) and not others and all(len(pair) == _PAIR for pair in pairs)


_PAIR = 2


def arguments_of(script: Script, node: ast.Call, frame: dict[str, Value]) -> list[Value]:
    """The arguments by position, those of a known list too."""
    found: list[Value] = []
    for argument in node.args:
        value = script.value(argument, frame)
        if isinstance(argument, ast.Starred) and isinstance(value, Items) and not value.is_open:
            found += value.values()
        else:
            found.append(value)
    return found


def keywords_of(script: Script, node: ast.Call, frame: dict[str, Value]) -> dict[str, Value]:
    """The arguments that are given by name, those of a known table too."""
    keywords = {k.arg: script.value(k.value, frame) for k in node.keywords if k.arg}
    for k in node.keywords:
        inner = script.value(k.value, frame) if k.arg is None else None
        if isinstance(inner, Table):
            keywords.update({str(key): v for key, v in inner.items.items()})
    return keywords


def ordered(script: Script, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """max, min and sorted by a key, or the other way round."""
    items = arguments[0] if len(arguments) == 1 else Items([(value, ()) for value in arguments])
    key, reverse = keywords.get("key"), script.truth(keywords.get("reverse", False))
    if not isinstance(items, Items) or items.is_open or reverse is None or any(when for _, when in items.items):
        return Unknown(names_in(items) or (f"{name}()",))
    try:
        ranked = [
            (key_of(applied(script, key, value) if key is not None else value), value) for value in items.values()
        ]
        ranked.sort(key=lambda one: one[0], reverse=reverse != (name == "max"))
    except TypeError:
        return Unknown((f"{name}()",))
    if name == "sorted":
        return Items([(value, ()) for _, value in ranked])
    return ranked[0][1] if ranked else Unknown((f"{name}()",))


def library_call(script: Script, name: str, arguments: list[Value]) -> Value | None:
    """What a function of the standard library gives, or one that logs; None where that is not known."""
    if name in _MACHINE and script.given.is_default:
        return Str(written(_MACHINE[name]))
    if name == "shlex.split" and arguments and isinstance(arguments[0], Str):
        return TEXT_METHODS["split"](arguments[0], [])
    if effects().means(name) is Means.LOGS:  # a command in a message is for people
        return Unknown((f"{name}()",))
    return None


def _names_of(function: Value, name: str) -> set[str]:
    """The last names that what is called may have: `Extension = CUDAExtension if … else CppExtension`."""
    ways = function.values if isinstance(function, Either) else (function,)
    return {name, *(way.name.rpartition(".")[2] for way in ways if isinstance(way, Opaque))}


def declared(
    script: Script,
    name: str,
    node: ast.Call,
    arguments: list[Value],
    keywords: dict[str, Value],
    is_cuda: bool = False,
) -> None:
    """Notes an extension module."""
    if name not in _EXTENSIONS and not name.endswith("Extension"):
        return
    title = keywords.get("name", arguments[0] if arguments else None)
    options = keywords.get("extra_compile_args")
    nvcc = options.items.get("nvcc") if isinstance(options, Table) else None
    nvcc = keywords.get("extra_cuda_cflags", nvcc if nvcc is not None else options)
    label = readable(shown(title.runs)) if isinstance(title, Str) else "?"
    values = (*arguments, *keywords.values())
    script.extensions.append(Extension(label, node.lineno, script.offset(node), values, nvcc, is_cuda))


def method_call(
    script: Script, owner: Value, method: str, node: ast.Call, arguments: list[Value]
) -> tuple[Value] | None:
    """The result of a method of a text, list or table; None where it is not one that is known."""
    if isinstance(owner, Either):
        results = []
        for one in owner.values:
            found = method_of(script, one, method, arguments, node)
            if found is None:
                return None
            results.append(found[0])
        return (either(results),)
    return method_of(script, owner, method, arguments, node)


def method_of(script: Script, owner: Value, method: str, arguments: list[Value], node: ast.Call) -> tuple[Value] | None:
    if isinstance(owner, Items) and method in ("append", "extend", "insert", "add", "update"):
        if method in ("extend", "update"):
            for argument in arguments:
                script.extend(owner, argument)
        elif arguments:
            owner.items.append((arguments[-1], script.asked))
        script.keep(name_of(node.func.value) if isinstance(node.func, ast.Attribute) else "", owner)
        return (None,)
    if isinstance(owner, Items) and method == "copy":
        return (Items(list(owner.items), owner.kind, owner.is_open),)
    if isinstance(owner, Table):
        return of_table(script, owner, method, arguments)
    if isinstance(owner, Str) and method in TEXT_METHODS:
        return (TEXT_METHODS[method](owner, arguments),)
    return None


def of_table(script: Script, table: Table, method: str, arguments: list[Value]) -> tuple[Value] | None:
    if method in ("get", "pop", "setdefault") and arguments:
        with contextlib.suppress(TypeError):
            default = arguments[1] if len(arguments) > 1 else None
            return (table.items.get(key_of(arguments[0]), default),)
        return (Unknown(names_in(arguments[0])),)
    if method == "items":
        return (Items([(Items([(constant(k), ()), (v, ())], "tuple"), ()) for k, v in table.items.items()]),)
    if method == "keys":
        return (Items([(constant(k), ()) for k in table.items]),)
    if method == "values":
        return (Items([(v, ()) for v in table.items.values()]),)
    if method == "update" and arguments and isinstance(arguments[0], Table):
        table.items.update(arguments[0].items)
        return (None,)
    return None


def applied(script: Script, function: Value, value: Value) -> Value:
    """What a function makes of one value."""
    if isinstance(function, Function):
        return run(script, function, [value], {})
    if isinstance(function, Opaque) and function.name in BUILTINS:
        return BUILTINS[function.name](script, [value])
    return Unknown(names_in(function))
