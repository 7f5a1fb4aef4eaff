"""A script while it is evaluated: what it has done so far, and what its expressions stand for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from archscan.frontends.build.python.values import (
    Either,
    Function,
    Items,
    Opaque,
    Release,
    Str,
    Table,
    Unknown,
    Value,
    names_in,
)
from archscan.frontends.build.reading import Given
from archscan.frontends.build.traced import readable, under

MAX_STEPS = 60_000
_TOOLKIT = re.compile(
    r"(?i)(?:_*(?:torch|bare_metal|nvcc|toolkit|system)_?)?_*(?:cuda|nvcc|toolkit|bare_metal)(?:_?(?:toolkit|runtime|compiler|bare_metal|bare))*"
    r"_?(?P<part>ver(?:sion)?(?:_?(?:major|minor|str|string|tuple|num))?|major|minor)?"
)

_READING = re.compile(r"_*(?:get|find|detect|query|read|parse)_")


class Leaves(Exception):
    """break, continue, return or raise on its way out."""

    def __init__(self, kind: str, value: Value = None) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


@dataclass(frozen=True)
class Extension:
    """An extension module that a script declares."""

    name: str
    line: int
    at: int
    values: tuple[Value, ...]
    nvcc: Value | None  # its options for nvcc; None: it gives none
    is_cuda: bool = False  # declared as one with device code


@dataclass(frozen=True)
class Refusal:
    """A `raise` that was reached for sure, with the literals that the condition before it looked into.

    Without a message for anybody flags may be left out, `continue` or an `if` around them: that is `silent`.
    """

    at: int
    message: str
    literals: tuple[tuple[int, int], ...]
    silent: bool = False


@dataclass(frozen=True)
class Grammar:
    """What evaluates each kind of statement and expression."""

    statements: Mapping[type[ast.stmt], Callable[..., None]]
    expressions: Mapping[type[ast.expr], Callable[..., Value]]


@dataclass
class Script:
    """A script while it is evaluated."""

    grammar: Grammar
    data: bytes
    given: Given
    starts: list[int] = field(default_factory=list)
    top: dict[str, Value] = field(default_factory=dict)
    looping: frozenset[str] = frozenset()  # variables of the loops around
    asked: tuple[str, ...] = ()  # conditions around what runs that nobody can answer
    early: list[Value] = field(default_factory=list)  # what the function that runs may already have returned
    steps: int = 0
    running: list[int] = field(default_factory=list)  # the functions that run, by identity, the innermost last
    concerned: frozenset[int] = frozenset()  # the functions that have to do with builds, by identity
    called: set[int] = field(default_factory=set)
    kept: list[tuple[str, Value, tuple[str, ...]]] = field(
        default_factory=list
    )  # what goes into calls, names and returns
    extensions: list[Extension] = field(default_factory=list)
    environment: dict[int, str] = field(default_factory=dict)  # offset of a default -> the variable that overrides it
    set_here: list[tuple[str, Value]] = field(default_factory=list)  # environment variables that the script sets
    set_at: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)  # by name: calls before, conditions
    calls_out: int = 0  # calls so far of what stands outside of the script
    refusals: list[Refusal] = field(default_factory=list)
    looked_in: list[tuple[int, int]] = field(default_factory=list)
    by_release: bool = False  # the condition that is looked at compares with the release of the toolkit
    left: dict[int, int] = field(default_factory=dict)  # branches for other toolkits: from where to where
    entered: set[int] = field(default_factory=set)  # where branches begin that were taken
    requested: bool = False  # evaluated for a request: a raise that is reached counts

    def leads_to_build(self) -> bool:
        """Whether what runs speaks of flags, or names something that does."""
        return not self.running or self.running[-1] in self.concerned

    def body(self, nodes: Iterable[ast.stmt], frame: dict[str, Value]) -> None:
        for node in nodes:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise Leaves("exhausted")
            run = self.grammar.statements.get(type(node))
            if run is not None:
                run(self, node, frame)

    def value(self, node: ast.expr, frame: dict[str, Value]) -> Value:
        """What an expression stands for."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Leaves("exhausted")
        evaluate = self.grammar.expressions.get(type(node))
        return evaluate(self, node, frame) if evaluate is not None else Unknown((readable(self.source(node))[:60],))

    def truth(self, value: Value) -> bool | None:
        """Whether a value counts as true; None where that is not known."""
        if isinstance(value, Str):
            return bool(value.known) if value.known is not None else True if any(r.text for r in value.runs) else None
        if isinstance(value, Items):
            sure = any(not when for _, when in value.items)
            return True if sure else None if value.items or value.is_open else False
        if isinstance(value, Table):
            return bool(value.items) or None
        if isinstance(value, Either):
            answers = {self.truth(one) for one in value.values}
            return answers.pop() if len(answers) == 1 else None
        if isinstance(value, Opaque) and is_toolkit_home(value.name):
            return True
        if isinstance(value, Unknown | Opaque):
            return None
        return bool(value) if not isinstance(value, Function | Release) else True

    def keep(self, name: str, value: Value) -> None:
        """Remembers what has a name or goes somewhere: its flags are read when all is evaluated."""
        if isinstance(value, Str | Items | Table | Either) and len(self.kept) < 5000:
            self.kept.append((name, value, self.asked))

    def conditioned(self, value: Value) -> Value:
        """A value that is only there under the conditions around it."""
        return Str(under(value.runs, self.asked)) if isinstance(value, Str) and self.asked else value

    def extend(self, items: Items, more: Value) -> None:
        if isinstance(more, Items):
            items.add([(value, (*when, *self.asked)) for value, when in more.items], more.is_open)
        elif isinstance(more, Either):
            for value in more.values:
                self.extend(items, value)
        elif isinstance(more, Str):
            items.add([(more, self.asked)])
        else:
            items.add([], names_in(more))

    def versioned(self, name: str, value: Value) -> Value:
        """The release of the toolkit where a name says so and nothing is known: `cuda_version = get_version()`.

        A function that gives None where there is no toolkit is taken for one that finds it.
        """
        ways = [one for one in value.values if one is not None] if isinstance(value, Either) else [value]
        is_open = all(isinstance(one, Unknown | Opaque) for one in ways)
        return self.toolkit(name) if is_open and self.is_toolkit(name) else value

    def numbered(self, name: str, value: Value) -> Value:
        """The release as two numbers where a function is named for it that reads them: `get_nvcc_version()`."""
        ways = [one for one in value.values if one is not None] if isinstance(value, Either) else [value]
        is_open = all(isinstance(one, Items) and all(isinstance(v, Unknown) for v in one.values()) for one in ways)
        if not is_open or not self.is_toolkit(_READING.sub("", name.rpartition(".")[2])):
            return value
        major, _, minor = self.given.release.partition(".")
        return Items([(int(major), ()), (int(minor or 0), ())], "tuple")

    def is_toolkit(self, name: str) -> bool:
        match = _TOOLKIT.fullmatch(name.rpartition(".")[2])
        return bool(match) and bool(self.given.release)

    def toolkit(self, name: str) -> Value:
        numbers = tuple(int(part) for part in self.given.release.split("."))
        match = _TOOLKIT.fullmatch(name.rpartition(".")[2])
        part = (match["part"] or "").lower() if match else ""
        if "major" in part:
            return numbers[0]
        return numbers[1] if "minor" in part and len(numbers) > 1 else Release(numbers)

    def set_environment(self, name: str, value: Value) -> None:
        self.set_here.append((name, self.conditioned(value)))
        self.set_at[name] = self.calls_out, self.asked

    def take_back(self, name: str) -> None:
        """Takes an environment variable away: it was never set for a build where nothing was called with it.

        Not where it may stay: it goes under a condition that it was not set under.
        """
        calls, asked = self.set_at.pop(name, (-1, ()))
        told = {part for one in asked for part in (one, *(one.split(" and ") if " or " not in one else ()))}
        if calls == self.calls_out and told.issuperset(self.asked):
            del self.set_here[max(i for i, (known, _) in enumerate(self.set_here) if known == name)]

    def offset(self, node: ast.AST) -> int:
        return self.starts[getattr(node, "lineno", 1) - 1] + getattr(node, "col_offset", 0)

    def end(self, node: ast.AST) -> int:
        return self.starts[(getattr(node, "end_lineno", None) or 1) - 1] + (getattr(node, "end_col_offset", None) or 0)

    def source(self, node: ast.AST) -> str:
        return " ".join(self.data[self.offset(node) : self.end(node)].decode("latin-1").split())


class Frame(dict[str, Value]):
    """The variables of a function: its own, then those around it."""

    def __init__(self, outer: dict[str, Value]) -> None:
        super().__init__()
        self.outer = outer

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self.outer

    def __missing__(self, name: str) -> Value:
        return self.outer[name]


def name_of(node: ast.expr) -> str:
    """The dotted name of an expression, empty where it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = name_of(node.value)
        return f"{owner}.{node.attr}" if owner else node.attr
    return name_of(node.func) if isinstance(node, ast.Call) else ""


def is_toolkit_home(name: str) -> bool:
    """Whether a name from outside is the toolkit's folder: there is one where something is built for CUDA."""
    return name.rpartition(".")[2] == "CUDA_HOME"
