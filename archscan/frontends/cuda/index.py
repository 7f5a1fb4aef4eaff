"""What is kept of one file: its directives, and excerpts around each conditional that may matter.

Which macros depend on the architecture is known only when every file has been read. So the index keeps the bytes of
every conditional but include guards and those that only ask for another compiler or platform, and nothing else of the
file: what an arm does is worked out later, for the conditionals that turn out to be gates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from archscan.frontends.cuda.conditions import names_in
from archscan.frontends.cuda.directives import CONDITIONALS, OPENERS, Directive, scan
from archscan.frontends.cuda.environment import Compiler, names_architecture
from archscan.frontends.cuda.lines import Lines
from archscan.frontends.cuda.macros import defined_name, parse_define
from archscan.frontends.cuda.scopes import Function, Scopes
from archscan.frontends.cuda.structure import Conditional, structure
from archscan.frontends.cuda.target_macros import TargetCall, target_calls
from archscan.model.facts import Undecided
from archscan.model.gate import Scope

_BLANK = re.compile(rb"\s*")
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.M)
_EVENTS = CONDITIONALS | {"define", "undef", "include", "include_next"}
LINES_ABOVE = 8  # of comments that may explain a gate


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a conditional's own bytes do not tell."""

    scope: Scope | None
    used: frozenset[str] = frozenset()  # macros defined in its arms that the file names elsewhere


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Bytes of the file from the beginning of a line on."""

    start: int
    line: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Definitions:
    """A macro that the file defines: what decides its definition, and the lines to point at."""

    depends_on: frozenset[str]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DirectiveIndex:
    """The preprocessor's side of a file."""

    events: tuple[Directive, ...]  # conditionals, #define, #undef, #include
    guard_start: int
    candidates: dict[int, Surroundings]  # by offset of the opening directive
    call_scopes: dict[int, Scope]  # of target macros, by offset
    excerpts: tuple[Excerpt, ...]
    definitions: dict[str, Definitions]
    problems: tuple[str, ...]
    includes: tuple[str, ...]
    size: int
    calls: tuple[TargetCall, ...]
    undecided: tuple[Undecided, ...]
    brief: bool  # others' code, only counted: features and calls are not looked for

    def all_lines(self) -> tuple[Lines, ...]:
        """The lines of every excerpt."""
        return tuple(Lines(e.data, e.start, e.line) for e in self.excerpts)


def directive_index(data: bytes, compiler: Compiler, brief: bool = False, template: bool = False) -> DirectiveIndex:
    """The index of one file from its bytes. `template`: text that a program completes, so that parts may be missing."""
    directives = scan(data)
    shape = structure(directives, len(data))
    events = tuple(d for d in directives if d.name in _EVENTS)
    candidates = [c for c in shape.conditionals if c.start != shape.guard_start and _may_matter(c, compiler)]
    torn = [c for c in candidates if not c.closed] if template else []
    candidates = [c for c in candidates if c.closed or not template]
    calls = target_calls(data)
    ranges = sorted([(c.start, c.end) for c in candidates] + [(c.start, c.end) for c in calls])
    return DirectiveIndex(
        events=events,
        guard_start=shape.guard_start,
        candidates=_surroundings(data, candidates, brief),
        call_scopes={} if brief else _call_scopes(data, calls),
        excerpts=tuple(_excerpts(data, ranges)),
        definitions=_definitions(events, shape.guard_start),
        problems=() if template else shape.problems,
        includes=tuple(dict.fromkeys(_include(d.text) for d in events if d.name.startswith("include"))),
        size=len(data),
        calls=calls,
        undecided=tuple(u for c in torn for u in _torn(c)),
        brief=brief,
    )


def _torn(conditional: Conditional) -> Iterable[Undecided]:
    """What to say of a conditional whose end is in another piece of text."""
    for branch in conditional.branches:
        if any(names_architecture(n) for n in names_in(branch.condition)):
            reason = "the conditional ends in another piece of text, put together when the program runs"
            yield Undecided(branch.directive.line, branch.condition, reason)


def _include(text: str) -> str:
    """The path of an `#include`; empty for one that a macro computes."""
    for opening, closing in (('"', '"'), ("<", ">")):
        if text.startswith(opening):
            return text[1:].split(closing, 1)[0]
    return ""


# --- definitions ----------------------------------------------------------------------------------------------------


def _definitions(events: tuple[Directive, ...], guard_start: int) -> dict[str, Definitions]:
    """Every macro that the file defines or undefines, with the names in the conditions around it and in its body."""
    found: dict[str, tuple[set[str], list[int]]] = {}
    stack: list[tuple[tuple[str, ...], int]] = []
    for event in events:
        if event.name in OPENERS:
            guard = event.start == guard_start
            stack.append(((), 0) if guard else (names_in(event.text), event.line))
        elif event.name == "endif":
            if stack:
                stack.pop()
        elif event.name in CONDITIONALS and stack:
            stack[-1] = (stack[-1][0] + names_in(event.text), event.line)
        elif event.name in ("define", "undef"):
            _record(found, stack, event)
    return {name: Definitions(frozenset(depends), tuple(lines)) for name, (depends, lines) in found.items()}


def _record(
    found: dict[str, tuple[set[str], list[int]]], stack: list[tuple[tuple[str, ...], int]], event: Directive
) -> None:
    parsed = parse_define(event.text) if event.name == "define" else None
    name = parsed[0] if parsed else defined_name(event.text)
    if not name:
        return
    depends, lines = found.setdefault(name, (set(), []))
    for names, _ in stack:
        depends.update(names)
    if parsed:
        depends.update(names_in(parsed[1].body))
        lines.append(stack[-1][1] if stack and stack[-1][1] else event.line)
    depends.discard(name)


# --- conditionals ---------------------------------------------------------------------------------------------------


def _may_matter(conditional: Conditional, compiler: Compiler) -> bool:
    """Whether some condition names anything that the compiler alone does not settle."""
    return any(_is_open(branch.directive.text, compiler) for branch in conditional.branches)


@lru_cache(maxsize=16384)
def _is_open(text: str, compiler: Compiler) -> bool:
    return any(names_architecture(n) or compiler.state(n) is None for n in names_in(text) if not n.startswith("__has_"))


def _surroundings(data: bytes, conditionals: Iterable[Conditional], brief: bool) -> dict[int, Surroundings]:
    scopes = Scopes(data)
    found: dict[int, Surroundings] = {}
    for conditional in conditionals:
        scope = None if brief else _scope(data, conditional, scopes.function(conditional.start))
        found[conditional.start] = Surroundings(scope, _used(data, conditional))
    return found


def _call_scopes(data: bytes, calls: Iterable[TargetCall]) -> dict[int, Scope]:
    scopes = Scopes(data)
    found = {call.start: scopes.function(call.start) for call in calls}
    return {start: Scope(f.name, f.is_kernel, f.is_device) for start, f in found.items() if f}


def _scope(data: bytes, conditional: Conditional, function: Function | None) -> Scope | None:
    if function is None:
        return None
    whole = False
    if _skipped(data, function.brace + 1) == conditional.start:
        behind = _skipped(data, conditional.end)
        whole = data[behind : behind + 1] == b"}"
    return Scope(function.name, function.is_kernel, function.is_device, whole)


def _skipped(data: bytes, offset: int) -> int:
    """The offset of the first byte from `offset` on that is neither blank nor in a comment."""
    while True:
        blank = _BLANK.match(data, offset)
        offset = blank.end() if blank else offset
        closing = {b"//": b"\n", b"/*": b"*/"}.get(data[offset : offset + 2])
        if closing is None:
            return offset
        close = data.find(closing, offset)
        offset = close + len(closing) if close >= 0 else len(data)


def _used(data: bytes, conditional: Conditional) -> frozenset[str]:
    """Of the macros that the arms define, those that the file names outside the conditional."""
    inside = data[conditional.start : conditional.end]
    if b"define" not in inside:
        return frozenset()
    names = {m[1] for m in _DEFINE.finditer(inside)}
    return frozenset(n.decode() for n in names if data.count(n) > inside.count(n))


def _excerpts(data: bytes, ranges: Iterable[tuple[int, int]]) -> Iterable[Excerpt]:
    """The bytes of the ranges and of some lines above each; what overlaps becomes one excerpt."""
    begin = end = line = counted = 0
    for first, last in ranges:
        start = _lines_up(data, first, LINES_ABOVE)
        if end and start <= end:
            end = max(end, last)
            continue
        if end:
            yield Excerpt(begin, line, data[begin:end])
        line = (line or 1) + data.count(b"\n", counted, start)
        begin = counted = start
        end = last
    if end:
        yield Excerpt(begin, line, data[begin:end])


def _lines_up(data: bytes, offset: int, count: int) -> int:
    """The start of the line `count` lines above the one that holds the offset."""
    for _ in range(count + 1):
        offset = data.rfind(b"\n", 0, max(offset, 0))
        if offset < 0:
            return 0
    return offset + 1
