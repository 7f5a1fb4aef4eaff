"""Mutation testing of what decides every verdict: truth and conditions. Prints the score and the mutants that survive.

scripts/mutate.py [--sample N] [--jobs N]: each mutant is one small change of one module; a forked process runs the
tests with it and must see one fail. Exits with 1 below 90 %.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from itertools import islice
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
_CONDITIONS = [  # the quick ones first
    "tests/test_condition_operators.py",
    "tests/test_cuda_expansion.py",
    "tests/test_cuda_conditions.py",
    "tests/test_robustness_conditions.py",
]
SUBJECTS = {
    "archscan.model.truth": ["tests/test_model_truth.py"],
    "archscan.frontends.cuda.preprocessor.conditions": _CONDITIONS,
    "archscan.frontends.cuda.preprocessor.tokens": _CONDITIONS,
    "archscan.frontends.cuda.preprocessor.expansion": _CONDITIONS,
    "archscan.frontends.cuda.preprocessor.expressions": _CONDITIONS,
}
PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
LEAST = 0.9
SECONDS = 60  # a mutant that runs longer hangs: killed, and counted so

_SWAPS: dict[type, tuple[type, ...]] = {
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitOr,), ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,), ast.Mult: (ast.Add,), ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.FloorDiv,),
    ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,), ast.Pow: (ast.Mult,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A module with its n-th change; -1 = with none."""

    module: str
    number: int
    line: int = 0
    what: str = ""

    def tree(self) -> ast.Module:
        """The module as changed."""
        tree = ast.parse(source_of(self.module))
        if self.number >= 0:
            _, _, change = next(islice(_changes(tree), self.number, None))
            change()
        return ast.fix_missing_locations(tree)


def mutants(module: str, sample: int = 0) -> list[Mutant]:
    """The mutants of a module in source order, or that many of them."""
    changes = _changes(ast.parse(source_of(module)))
    found = [Mutant(module, number, line, what) for number, (line, what, _) in enumerate(changes)]
    if 0 < sample < len(found):
        found = random.Random(0).sample(found, sample)
    return sorted(found, key=lambda mutant: mutant.line)


@cache
def source_of(module: str) -> str:
    """The text of a module."""
    return (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")


def _changes(tree: ast.Module) -> Iterator[tuple[int, str, Callable[[], object]]]:
    """(line, description, function that makes the change) for everything that can be changed."""
    spared = _limits(tree) | _annotations(tree)
    for node in (node for node in ast.walk(tree) if node not in spared):
        line = getattr(node, "lineno", 0)
        for attribute in ("op",):
            operator = getattr(node, attribute, None)
            for other in _SWAPS.get(type(operator), ()):
                name = f"{type(operator).__name__} -> {other.__name__}"
                yield line, name, lambda node=node, other=other: setattr(node, "op", other())
        if isinstance(node, ast.Compare):
            for i, operator in enumerate(node.ops):
                for other in _SWAPS.get(type(operator), ()):
                    name = f"{type(operator).__name__} -> {other.__name__}"
                    yield line, name, lambda node=node, i=i, other=other: node.ops.__setitem__(i, other())
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert, ast.USub)):
            name = f"{type(node.op).__name__} dropped"
            yield line, name, lambda node=node: setattr(node, "op", ast.UAdd()) or _unwrap(tree, node)
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            for value in (True, False):
                if isinstance(node, ast.While) and value:
                    continue
                yield line, f"test -> {value}", lambda node=node, v=value: setattr(node, "test", ast.Constant(v))
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield line, f"{node.value} -> {node.value + 1}", lambda node=node: setattr(node, "value", node.value + 1)
        if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            yield line, "return -> None", lambda node=node: setattr(node, "value", ast.Constant(None))


def _unwrap(tree: ast.Module, target: ast.UnaryOp) -> None:
    """Puts the operand in the place of the operator."""

    class Dropped(ast.NodeTransformer):
        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
            self.generic_visit(node)
            return node.operand if node is target else node

    Dropped().visit(tree)


def _limits(tree: ast.Module) -> set[ast.AST]:
    """The values of constants that bound effort (_MOST_..., cache sizes): any value near is right."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith(("_MOST_", "_DEEPEST")):
            found.add(node.value)
        if isinstance(node, ast.keyword) and node.arg == "maxsize":
            found.add(node.value)
    return found


def _annotations(tree: ast.Module) -> set[ast.AST]:
    """The nodes of annotations: they are never evaluated."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if annotation is not None:
                found |= set(ast.walk(annotation))
    return found


def killed(mutant: Mutant) -> int:
    """Starts the tests with a mutant in a fork; returns the process id. It exits with 0 if the mutant survives."""
    process = os.fork()
    if process:
        return process
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        sys.meta_path.insert(0, _Finder(mutant))
        import pytest
        from hypothesis import Phase, settings

        # The same inputs for every mutant, and none made smaller: that one fails is all that is asked.
        settings.register_profile("mutants", phases=[Phase.generate], derandomize=True, database=None)
        settings.load_profile("mutants")
        code = pytest.main([*PYTEST, *SUBJECTS[mutant.module]], plugins=[_Impatient()])
        os._exit(0 if code == 0 else 1)
    except BaseException:
        os._exit(1)


class _Impatient:
    """A plugin that ends the process at the first failure: nobody reads the report."""

    def pytest_exception_interact(self) -> None:
        """Says that the mutant is noticed."""
        os._exit(1)


@dataclass(frozen=True)
class _Finder(MetaPathFinder, Loader):
    """Imports the mutant where its module is asked for."""

    mutant: Mutant

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name == self.mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.tree(), f"<mutant of {self.mutant.module}>", "exec"), module.__dict__)


def survivors(wanted: list[Mutant], jobs: int) -> list[Mutant]:
    """The mutants that no test noticed."""
    waiting = list(enumerate(wanted))
    running: dict[int, tuple[int, float]] = {}
    alive: list[int] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            number, mutant = waiting.pop(0)
            running[killed(mutant)] = (number, time.monotonic())
        select.select([], [], [], 0.02)
        for process, (number, began) in list(running.items()):
            done, status = os.waitpid(process, os.WNOHANG)
            if not done and time.monotonic() - began > SECONDS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                done, status = process, 1
            if done:
                del running[process]
                print(f"\r{len(wanted) - len(waiting) - len(running)}/{len(wanted)}", end="\r", file=sys.stderr)
                if status == 0:
                    alive.append(number)
    return [wanted[number] for number in sorted(alive)]


def _warm_up() -> None:
    """Imports once what every fork needs; what may hold the module to be changed is dropped again."""
    import hypothesis.strategies  # noqa: F401
    import pytest  # noqa: F401

    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    import_module("archscan.catalog").load()
    for name in [name for name in sys.modules if name.startswith(("archscan.frontends", "archscan.model"))]:
        del sys.modules[name]
    gc.freeze()


def main(arguments: list[str]) -> int:
    """Runs the mutants and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="that many mutants a module, chosen at random")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--module", choices=sorted(SUBJECTS))
    options = parser.parse_args(arguments)
    os.environ.setdefault("ARCHSCAN_FUZZ_EXAMPLES", "150")
    _warm_up()

    total = missed = 0
    for module in [options.module] if options.module else SUBJECTS:
        chosen = mutants(module, options.sample)
        if not survivors([Mutant(module, -1)], 1):
            print(f"{module}: its tests fail without any change", file=sys.stderr)
            return 2
        alive = survivors(chosen, options.jobs)
        total, missed = total + len(chosen), missed + len(alive)
        print(f"{module}: {len(chosen) - len(alive)} of {len(chosen)} mutants noticed")
        lines = source_of(module).splitlines()
        for mutant in alive:
            print(f"  survives: line {mutant.line}: {mutant.what}: {lines[mutant.line - 1].strip()}")
    score = 1 - missed / total
    print(f"score: {score:.1%}")
    return int(score < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
