"""What is kept of one file: its directives, and for each conditional that may matter the facts about its arms.

Which macros depend on the architecture is known only when every file has been read, so the facts are gathered for all
conditionals but include guards and those that only ask for another compiler or platform.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from archscan.frontends.cuda import bodies
from archscan.frontends.cuda.conditions import names_in
from archscan.frontends.cuda.directives import CONDITIONALS, OPENERS, Directive, scan
from archscan.frontends.cuda.environment import Compiler, names_architecture
from archscan.frontends.cuda.lines import Lines
from archscan.frontends.cuda.macros import defined_name, parse_define
from archscan.frontends.cuda.scopes import Function, Scopes
from archscan.frontends.cuda.structure import Branch, Conditional, Structure, structure
from archscan.model.gate import Effect, FeatureUse, Place, Scope

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*\*[^\n]*", re.S | re.M)
_BLANK_OR_COMMENT = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
_LINES_ABOVE = 8
_LINES_INSIDE = 4
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.M)
_CONJUNCT = re.compile(r"&&|\band\b|[()]")


class Recogniser(Protocol):
    """Finds features in code; see archscan.catalog.recognise."""

    def in_code(self, data: bytes) -> tuple[FeatureUse, ...]: ...


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """What does not depend on macros: where an arm stands and what its body does."""

    place: Place
    body: Place
    digest: str
    effect: Effect
    features: tuple[FeatureUse, ...] = ()
    calls: tuple[str, ...] = ()
    conjuncts: tuple[tuple[Place, str], ...] = ()
    defines: tuple[str, ...] = ()  # macros that the body defines


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """The same for a whole conditional."""

    arms: tuple[ArmFacts, ...]
    scope: Scope | None
    near: str
    uses_outside: frozenset[str] = frozenset()  # macros defined in its arms that the file names elsewhere


@dataclass(frozen=True, slots=True)
class Definitions:
    """A macro that the file defines: what decides its definition, and the line to point at."""

    depends_on: frozenset[str]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DirectiveIndex:
    """The preprocessor's side of a file, without its bytes."""

    events: tuple[Directive, ...]  # conditionals, #define, #undef, #include
    guard_start: int
    chains: dict[int, ChainFacts]  # by offset of the opening directive
    definitions: dict[str, Definitions]
    problems: tuple[str, ...] = ()
    includes: tuple[str, ...] = field(default=())


_EVENTS = CONDITIONALS | {"define", "undef", "include", "include_next"}


def directive_index(data: bytes, compiler: Compiler, recogniser: Recogniser | None) -> DirectiveIndex:
    """The index of one file from its bytes."""
    directives = scan(data)
    shape = structure(directives, len(data))
    events = tuple(d for d in directives if d.name in _EVENTS)
    return DirectiveIndex(
        events=events,
        guard_start=shape.guard_start,
        chains=_chains(data, shape, compiler, recogniser),
        definitions=_definitions(events, shape.guard_start),
        problems=shape.problems,
        includes=tuple(dict.fromkeys(_include(d.text) for d in events if d.name.startswith("include"))),
    )


def _include(text: str) -> str:
    """The path of an `#include`, or the text of one that a macro computes."""
    for opening, closing in (('"', '"'), ("<", ">")):
        if text.startswith(opening):
            return text[1:].split(closing, 1)[0]
    return ""


# --- definitions ----------------------------------------------------------------------------------------------------


def _definitions(events: tuple[Directive, ...], guard_start: int) -> dict[str, Definitions]:
    """Every macro that the file defines or undefines, with the names behind the conditions around it and in its body."""
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


def _chains(
    data: bytes, shape: Structure, compiler: Compiler, recogniser: Recogniser | None
) -> dict[int, ChainFacts]:
    lines, scopes = Lines(data), Scopes(data)
    found: dict[int, ChainFacts] = {}
    for conditional in shape.conditionals:
        if conditional.start == shape.guard_start or not _may_matter(conditional, compiler):
            continue
        function = scopes.function(conditional.start)
        arms = tuple(_arm(data, branch, lines, recogniser) for branch in conditional.branches)
        found[conditional.start] = ChainFacts(
            arms, _scope(data, conditional, function), _near(data, conditional, lines), _used(data, conditional)
        )
    return found


def _may_matter(conditional: Conditional, compiler: Compiler) -> bool:
    """Whether some condition names anything that the compiler alone does not settle."""
    return any(_open_condition(branch.directive.text, compiler) for branch in conditional.branches)


@lru_cache(maxsize=16384)
def _open_condition(text: str, compiler: Compiler) -> bool:
    return any(names_architecture(n) or compiler.state(n) is None for n in names_in(text) if not n.startswith("__has_"))


def _arm(data: bytes, branch: Branch, lines: Lines, recogniser: Recogniser | None) -> ArmFacts:
    directive = branch.directive
    raw = data[branch.start : branch.end]
    code = bodies.stripped(raw)
    line = lines.line(branch.start)
    features = recogniser.in_code(raw) if recogniser else ()
    return ArmFacts(
        place=lines.place(directive.start, directive.end),
        body=lines.place(branch.start, branch.end),
        digest=bodies.digest(code),
        effect=bodies.effect(code, line),
        features=tuple(_moved(use, line - 1) for use in features),
        calls=bodies.calls(code),
        conjuncts=_conjuncts(data, directive, lines),
        defines=tuple(dict.fromkeys(m[1].decode() for m in _DEFINE.finditer(code))) if b"define" in code else (),
    )


def _moved(use: FeatureUse, by: int) -> FeatureUse:
    return FeatureUse(use.feature, use.line + by, use.via, use.path, use.confidence)


def _conjuncts(data: bytes, directive: Directive, lines: Lines) -> tuple[tuple[Place, str], ...]:
    """The parts of `a && b && c` with their places; empty where there is only one, or the layout hides them."""
    if "&&" not in directive.text and " and " not in directive.text:
        return ()
    raw = data[directive.start : directive.end].decode("latin-1")
    begin = raw.find(directive.name) + len(directive.name)
    if "\\" in raw or "/*" in raw or "//" in raw or "'" in raw or '"' in raw:
        return ()
    begin, end = _unwrapped(raw, begin, len(raw))
    parts: list[tuple[int, int]] = []
    depth, start = 0, begin
    for match in _CONJUNCT.finditer(raw, begin, end):
        depth += (match[0] == "(") - (match[0] == ")")
        if depth == 0 and match[0] in ("&&", "and"):
            parts.append((start, match.start()))
            start = match.end()
    parts.append((start, end))
    if len(parts) < 2 or "||" in _top_level(raw[begin:end]):
        return ()
    return tuple(_trimmed(raw, a, b, directive.start, lines) for a, b in parts)


def _unwrapped(raw: str, begin: int, end: int) -> tuple[int, int]:
    """The range without blanks and without parentheses that enclose all of it."""
    while True:
        text = raw[begin:end]
        begin += len(text) - len(text.lstrip())
        end -= len(text) - len(text.rstrip())
        if raw[begin : begin + 1] != "(" or _closing(raw, begin) != end - 1:
            return begin, end
        begin, end = begin + 1, end - 1


def _closing(raw: str, at: int) -> int:
    depth = 0
    for position in range(at, len(raw)):
        depth += (raw[position] == "(") - (raw[position] == ")")
        if depth == 0:
            return position
    return -1


def _top_level(text: str) -> str:
    """The characters outside every parenthesis."""
    kept, depth = [], 0
    for char in text:
        depth += char == "("
        if depth == 0:
            kept.append(char)
        depth -= char == ")"
    return "".join(kept)


def _trimmed(raw: str, begin: int, end: int, offset: int, lines: Lines) -> tuple[Place, str]:
    text = raw[begin:end]
    begin += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    return lines.place(offset + begin, offset + end), raw[begin:end]


def _scope(data: bytes, conditional: Conditional, function: Function | None) -> Scope | None:
    if function is None:
        return None
    head = data[function.brace + 1 : conditional.start]
    whole = False
    if conditional.start - function.brace < 2000 and _BLANK_OR_COMMENT.fullmatch(head):
        behind = _BLANK_OR_COMMENT.match(data, conditional.end)
        whole = behind is not None and data[behind.end() : behind.end() + 1] == b"}"
    return Scope(function.name, function.is_kernel, function.is_device, whole)


def _near(data: bytes, conditional: Conditional, lines: Lines) -> str:
    """The comments just above the conditional, on its line and at the head of its first body."""
    first = conditional.branches[0]
    line = lines.line(conditional.start)
    above = lines.start(max(1, line - _LINES_ABOVE))
    below = min(lines.start(lines.line(first.start) + 1 + _LINES_INSIDE), first.end)
    text = data[above : max(below, first.start)]
    found = (m[0].decode("utf-8", "replace").strip() for m in _COMMENT.finditer(text))
    return "\n".join(comment for comment in found if comment)


def _used(data: bytes, conditional: Conditional) -> frozenset[str]:
    """Of the macros that the arms define, those that the file names outside the conditional."""
    inside = data[conditional.start : conditional.end]
    if b"define" not in inside:
        return frozenset()
    names = {m[1] for m in _DEFINE.finditer(inside)}
    return frozenset(n.decode() for n in names if data.count(n) > inside.count(n))
