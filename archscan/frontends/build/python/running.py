"""Evaluates a script: its top level, then the functions that have to do with builds."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings

from archscan.frontends.build.flags import builds, statements
from archscan.frontends.build.python.calling import run
from archscan.frontends.build.python.expressions import EXPRESSIONS
from archscan.frontends.build.python.script import Grammar, Leaves, Script
from archscan.frontends.build.python.statements import STATEMENTS
from archscan.frontends.build.python.values import Function, Str, Value
from archscan.frontends.build.reading import Given
from archscan.frontends.build.traced import written

_MOST_ROUNDS = 6  # of names that lead to what is built
_LARGEST = 400_000
_READ = re.compile(rb"\bself\.(\w+)")
_NUMBERS_KEPT = re.compile(rb"\bself\.(\w+)\s*=\s*[\"']\s*\d")  # for the methods that read it
_GRAMMAR = Grammar(STATEMENTS, EXPRESSIONS)


def parsed(data: bytes) -> ast.Module | str:
    """The syntax of a script, or why it has none."""
    if len(data) > _LARGEST:
        return "too large to be read as a build script"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"not read: {' '.join(str(error).split())[:120]}"


def evaluated(data: bytes, tree: ast.Module, given: Given, requested: bool = False) -> Script:
    """A script, evaluated: its top level, then every function that nothing called and that has to do with nvcc."""
    return run_script(data, tree, given, _line_starts(data), requested)


def run_script(data: bytes, tree: ast.Module, given: Given, starts: list[int], requested: bool = False) -> Script:
    """The same for a tree whose lines begin at `starts`."""
    script = Script(_GRAMMAR, data, given, starts, requested=requested)
    script.top["__name__"] = Str(written("__main__"))
    concerned = _concerned(tree, data, starts)
    script.concerned = frozenset(map(id, concerned))
    with contextlib.suppress(Leaves, RecursionError):
        script.body(tree.body, script.top)
    for node in concerned:
        if id(node) not in script.called:
            function = _function_of(script.top, node)
            script.asked = ()
            with contextlib.suppress(Leaves, RecursionError):
                run(script, function or Function(node, script.top), [], {})
    script.asked = ()
    return script


def _concerned(tree: ast.Module, data: bytes, starts: list[int]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that speak of flags, hand something to a build, or name something that does; in order."""
    functions = [node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    ends = [*starts, len(data)]  # trees that are made of other languages end in the middle of a line
    texts = {
        node: data[starts[node.lineno - 1] : ends[node.end_lineno or node.lineno]] for node in (*functions, *assigned)
    }
    found = {node for node, text in texts.items() if builds(text)}
    names = {name for node in found for name in _names_of(node)}
    for _ in range(_MOST_ROUNDS):
        if not names:
            break
        pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b")
        more = {node for node, text in texts.items() if node not in found and pattern.search(text)}
        found |= more
        names = {name for node in more for name in _names_of(node)} - names
    read = {name for node in found for name in _READ.findall(texts[node])}
    found |= {node for node, text in texts.items() if read.intersection(_NUMBERS_KEPT.findall(text))}
    return [node for node in functions if node in found]


def _names_of(node: ast.stmt) -> list[str]:
    """The names that a function or an assignment gives."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _function_of(top: dict[str, Value], node: ast.AST) -> Function | None:
    return next((v for v in top.values() if isinstance(v, Function) and v.node is node), None)


def _line_starts(data: bytes) -> list[int]:
    starts, position = [0], 0
    for line in data.splitlines(keepends=True):
        position += len(line)
        starts.append(position)
    return starts
