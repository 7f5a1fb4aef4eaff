"""Directives as a forest of conditionals: which arms belong together, where their bodies lie, what is unbalanced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archscan.frontends.cuda.preprocessor.conditions import condition_text
from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, OPENERS
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.macros import defined_name

_MIDDLE = frozenset({"elif", "elifdef", "elifndef", "else"})
_DEFINING = frozenset({"define", "undef"})


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
class IncludeGuards:
    """What the layout of a file says of conditions, by the offset of their directives."""

    guards: frozenset[int] = frozenset()  # of the conditional around the whole file that keeps it from being read twice
    guard: str = ""  # the name that it asks for
    required: frozenset[int] = frozenset()  # every other arm of the chain is an #error
    refused: frozenset[int] = frozenset()  # an #error beside a required arm


@dataclass(frozen=True, slots=True)
class Structure:
    """The conditionals of a file in source order, what its layout settles, and remarks on what is unbalanced."""

    conditionals: tuple[Conditional, ...]
    settled: IncludeGuards
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
    return Structure(tuple(found), settled(directives), tuple(problems))


def _conditional(chain: list[Directive], body_end: int, end: int, depth: int, closed: bool) -> Conditional:
    ends = [d.start for d in chain[1:]] + [body_end]
    return Conditional(tuple(Branch(d, d.end, e) for d, e in zip(chain, ends, strict=True)), end, depth, closed)


def settled(directives: Sequence[Directive]) -> IncludeGuards:
    """What include guards and requirements settle."""
    required: set[int] = set()
    refused: set[int] = set()
    open_: list[list[tuple[Directive, bool]]] = []  # the arms of each, and whether an #error stands in them
    for directive in directives:
        if directive.name in OPENERS:
            open_.append([(directive, False)])
        elif directive.name in _MIDDLE and open_:
            open_[-1].append((directive, False))
        elif directive.name == "error" and open_:
            open_[-1][-1] = (open_[-1][-1][0], True)
        elif directive.name == "endif" and open_:
            arms = open_.pop()
            working = [arm.start for arm, fails in arms if not fails]
            if len(working) == 1 and len(arms) > 1 and arms[-1][0].name == "else":
                required.update(working)
                refused.update(arm.start for arm, fails in arms if fails)
    whole = file_guard(directives)
    guards = frozenset() if whole is None else frozenset({whole.start})
    return IncludeGuards(guards, guarded_name(whole) if whole else "", frozenset(required), frozenset(refused))


def file_guard(directives: Sequence[Directive]) -> Directive | None:
    """The `#ifndef X` around the whole file that begins with `#define X`; None if there is none."""
    code = _code(directives)
    if len(code) < 3 or code[0].start not in include_guards(directives):
        return None
    depth = 0
    for position, directive in enumerate(code):
        depth += (directive.name in OPENERS) - (directive.name == "endif")
        if depth == 0:
            return code[0] if position == len(code) - 1 else None
    return None


def guarded_name(directive: Directive) -> str:
    """The name that `#ifndef X` or `#if !defined(X)` asks for; empty for another condition."""
    if directive.name == "ifndef":
        return defined_name(directive.text)
    text = directive.text.replace(" ", "")
    if directive.name == "if" and text.startswith("!defined"):
        return text[len("!defined") :].strip("()")
    return ""


def include_guards(directives: Sequence[Directive]) -> frozenset[int]:
    """The offsets of the conditionals that only keep text from being read twice: nobody else defines what they ask for.

    Either `#ifndef X` around the whole file that begins with `#define X`, or the same anywhere if X is defined as
    nothing (`#define USE_X 1` may well be the default of a flag), for the first time, and more than that follows.
    """
    code = _code(directives)
    found: set[int] = set()
    first: dict[str, Directive] = {}
    open_: list[tuple[Directive, Directive | None]] = []  # what opens, and the definition if it may be a guard
    for position, directive in enumerate(code):
        if directive.name in OPENERS:
            open_.append((directive, _guarding(code, position)))
        elif directive.name in _MIDDLE and open_:
            open_[-1] = (open_[-1][0], None)
        elif directive.name == "endif" and open_:
            opening, definition = open_.pop()
            if definition and directive.line - definition.end_line >= 2:
                first = first or _first_definitions(code)
                if (opening is code[0] and directive is code[-1]) or first.get(definition.text.strip()) is definition:
                    found.add(opening.start)
    return frozenset(found)


def _code(directives: Sequence[Directive]) -> list[Directive]:
    """The directives that may guard, and those that stand within or beside."""
    return [d for d in directives if d.name in CONDITIONALS or d.name in _DEFINING]


def _guarding(code: Sequence[Directive], position: int) -> Directive | None:
    """The definition that follows if it is of the macro that a conditional asks not to be defined."""
    opening, following = code[position], code[position + 1] if position + 1 < len(code) else None
    if following is None or following.name != "define":
        return None
    name = guarded_name(opening)
    return following if name and defined_name(following.text) == name else None


def _first_definitions(code: Sequence[Directive]) -> dict[str, Directive]:
    """Of every macro that a file defines or undefines the first directive that does."""
    found: dict[str, Directive] = {}
    for directive in code:
        if directive.name in _DEFINING:
            found.setdefault(defined_name(directive.text), directive)
    return found
