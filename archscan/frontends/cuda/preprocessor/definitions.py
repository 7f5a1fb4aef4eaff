"""Which macros a file defines, and what each hangs on: the conditions around it and the names in its body."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, DEFINITIONS, OPENERS
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.macros import defined_name, parse_define
from archscan.frontends.cuda.preprocessor.structure import include_guards
from archscan.frontends.cuda.preprocessor.tokens import mentioned, names_in

# Pasting puts it in front, like an undefined name that ends in "_": any macro that begins so may be meant
_PASTED = re.compile(r"(\w{4,})\s*##")


@dataclass(frozen=True, slots=True)
class Definitions:
    """A macro that a file defines: what decides its definition, and the lines to point at."""

    depends_on: frozenset[str]
    lines: tuple[int, ...]
    is_default: bool  # some definition holds only where the macro is not defined yet: a build may define it
    is_guard: bool  # it keeps a part of the file from being read twice


def needed_names(files: Iterable[Sequence[Directive]]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that conditions mention, with those behind the bodies of such macros; the ones that pasting makes."""
    bodies: dict[str, set[str]] = {}
    conditions: dict[str, None] = {}
    for events in files:
        for event in events:
            if event.name == "define":
                bodies.setdefault(defined_name(event.text), set()).add(event.text)
            elif event.text and event.name in CONDITIONALS:
                conditions[event.text] = None
    queue = [name for text in conditions for name in names_in(text)]
    ordered = sorted(bodies)
    found: set[str] = set()
    prefixes: set[str] = set()
    pasted: set[str] = set()
    for name in queue:
        if name not in found:
            found.add(name)
            fresh = {name} if name.endswith("_") and len(name) > 4 and name not in bodies else set()
            for text in bodies.get(name, ()):
                parsed = parse_define(text)
                queue += mentioned(parsed[1]) if parsed else ()
                fresh.update(_PASTED.findall(text) if "##" in text else ())
            fresh -= prefixes
            if fresh:
                prefixes |= fresh
                made = [other for prefix in fresh for other in _beginning(ordered, prefix)]
                pasted.update(made)
                queue += made
    return frozenset(found), frozenset(pasted)


def _beginning(ordered: Sequence[str], prefix: str) -> Sequence[str]:
    """Of names in order, those that begin so."""
    start = bisect_left(ordered, prefix)
    return ordered[start : bisect_left(ordered, prefix + chr(0x10FFFF), start)]


def definitions(
    events: Sequence[Directive], guards: frozenset[int], needed: frozenset[str]
) -> Mapping[str, Definitions]:
    """Every needed macro that the file defines or undefines. `guards`: of the conditional around the whole file."""
    found: dict[str, _Found] = {}
    parts: frozenset[int] | None = None
    stack: list[_Around] = []
    for event in events:
        if event.name in OPENERS:
            names = () if event.start in guards else names_in(event.text)
            stack.append(_Around(names, event.line if names else 0, event.start))
        elif event.name == "endif":
            if stack:
                stack.pop()
        elif event.name in CONDITIONALS:
            if stack:
                around = stack[-1]
                stack[-1] = _Around(around.names + names_in(event.text), event.line, around.start)
        elif event.name in DEFINITIONS and defined_name(event.text) in needed:
            if parts is None:
                parts = include_guards(events)
            _record(found, stack, event, parts)
    return {n: Definitions(frozenset(f.depends), tuple(f.lines), f.is_default, f.is_guard) for n, f in found.items()}


class _Around(NamedTuple):
    """A conditional while it is open."""

    names: tuple[str, ...]
    line: int
    start: int


@dataclass(slots=True)
class _Found:
    """A macro while its file is read."""

    depends: set[str] = field(default_factory=set)
    lines: list[int] = field(default_factory=list)
    is_default: bool = False
    is_guard: bool = False


def _record(found: dict[str, _Found], stack: list[_Around], event: Directive, guards: frozenset[int]) -> None:
    parsed = parse_define(event.text) if event.name == "define" else None
    name = parsed[0] if parsed else defined_name(event.text)
    macro = found.setdefault(name, _Found())
    depends = {other for around in stack for other in around.names}
    asking = [around.start for around in stack if name in around.names]
    if parsed:
        depends.update(mentioned(parsed[1]))
        macro.lines.append(stack[-1].line if stack and stack[-1].line else event.line)
    depends.discard(name)
    macro.depends |= depends
    if guards.issuperset(asking):
        macro.is_guard = macro.is_guard or bool(asking)
    elif parsed and parsed[1].params is None:  # nobody sets a function on the command line
        macro.is_default = True
