"""Directives as a forest of conditionals: which arms belong together, where their bodies lie, what is unbalanced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archscan.frontends.cuda.conditions import condition_text
from archscan.frontends.cuda.directives import OPENERS, Directive
from archscan.frontends.cuda.macros import defined_name

_MIDDLE = frozenset({"elif", "elifdef", "elifndef", "else"})


@dataclass(frozen=True, slots=True)
class Branch:
    """One arm of a conditional: its directive and the byte range of its body."""

    directive: Directive
    start: int
    end: int

    @property
    def is_else(self) -> bool:
        return self.directive.name == "else"

    @property
    def condition(self) -> str:
        """The condition as an expression, empty for `#else`."""
        return "" if self.is_else else condition_text(self.directive.name, self.directive.text)


@dataclass(frozen=True, slots=True)
class Conditional:
    """A chain from `#if` to `#endif`. `closed` is false where the file ends first."""

    branches: tuple[Branch, ...]
    end: int  # offset behind the #endif line, or the end of the file
    depth: int
    closed: bool = True

    @property
    def start(self) -> int:
        return self.branches[0].directive.start


@dataclass(frozen=True, slots=True)
class Structure:
    """The conditionals of a file in source order, the include guard's name, and remarks on what is unbalanced."""

    conditionals: tuple[Conditional, ...]
    guard: str
    guard_start: int
    problems: tuple[str, ...]


def structure(directives: Sequence[Directive], size: int) -> Structure:
    """The conditionals among a file's directives; never fails, whatever is unbalanced."""
    open_: list[list[Directive]] = []
    found: list[Conditional] = []
    problems: list[str] = []
    for directive in directives:
        if directive.name in OPENERS:
            open_.append([directive])
        elif directive.name in _MIDDLE:
            if open_:
                open_[-1].append(directive)
            else:
                problems.append(f"#{directive.name} without #if at line {directive.line}")
        elif directive.name == "endif":
            if open_:
                chain = open_.pop()
                found.append(_conditional(chain, directive.start, directive.end, len(open_), True))
            else:
                problems.append(f"#endif without #if at line {directive.line}")
    while open_:
        chain = open_.pop()
        problems.append(f"unbalanced #{chain[0].name} at line {chain[0].line}")
        found.append(_conditional(chain, size, size, len(open_), False))
    found.sort(key=lambda c: c.start)
    guard, start = include_guard(directives)
    return Structure(tuple(found), guard, start, tuple(problems))


def _conditional(chain: list[Directive], body_end: int, end: int, depth: int, closed: bool) -> Conditional:
    ends = [d.start for d in chain[1:]] + [body_end]
    return Conditional(tuple(Branch(d, d.end, e) for d, e in zip(chain, ends, strict=True)), end, depth, closed)


def include_guard(directives: Sequence[Directive]) -> tuple[str, int]:
    """Name and offset of the include guard: the first conditional, a `#define` of its name, the last `#endif`."""
    code = [d for d in directives if d.name != "include"]
    if len(code) < 3 or code[0].name not in ("ifndef", "if") or code[1].name != "define" or code[-1].name != "endif":
        return "", -1
    name = _guarded(code[0])
    if not name or defined_name(code[1].text) != name or code[-1].line - code[1].end_line < 2:
        return "", -1
    depth = 0
    for directive in code[:-1]:
        depth += (directive.name in OPENERS) - (directive.name == "endif")
        if depth <= 0 or (depth == 1 and directive.name in _MIDDLE):
            return "", -1
    return name, code[0].start


def _guarded(directive: Directive) -> str:
    if directive.name == "ifndef":
        return defined_name(directive.text)
    text = directive.text.replace(" ", "")
    if text.startswith("!defined"):
        return text[len("!defined") :].strip("()")
    return ""
