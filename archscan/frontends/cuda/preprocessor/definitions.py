"""Which macros a file defines, and what each hangs on: the conditions around it and the names in its body."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, OPENERS, Directive
from archscan.frontends.cuda.preprocessor.macros import defined_name, parse_define
from archscan.frontends.cuda.preprocessor.tokens import mentioned, names_in

# Pasting puts it in front, like an undefined name that ends in "_": any macro that begins so may be meant
_PASTED = re.compile(r"(\w{4,})\s*##")


@dataclass(frozen=True, slots=True)
class Definitions:
    """A macro that a file defines: what decides its definition, and the lines to point at."""

    depends_on: frozenset[str]
    lines: tuple[int, ...]
    is_default: bool  # some definition holds only where the macro is not defined yet: a build may define it


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
    """Every needed macro that the file defines or undefines."""
    found: dict[str, _Found] = {}
    stack: list[tuple[tuple[str, ...], int]] = []
    for event in events:
        if event.name in OPENERS:
            guard = event.start in guards
            stack.append(((), 0) if guard else (names_in(event.text), event.line))
        elif event.name == "endif":
            if stack:
                stack.pop()
        elif event.name in CONDITIONALS:
            if stack:
                stack[-1] = (stack[-1][0] + names_in(event.text), event.line)
        elif defined_name(event.text) in needed:
            _record(found, stack, event)
    return {n: Definitions(frozenset(f.depends), tuple(f.lines), f.is_default) for n, f in found.items()}


@dataclass(slots=True)
class _Found:
    """A macro while its file is read."""

    depends: set[str] = field(default_factory=set)
    lines: list[int] = field(default_factory=list)
    is_default: bool = False


def _record(found: dict[str, _Found], stack: list[tuple[tuple[str, ...], int]], event: Directive) -> None:
    parsed = parse_define(event.text) if event.name == "define" else None
    name = parsed[0] if parsed else defined_name(event.text)
    macro = found.setdefault(name, _Found())
    for names, _ in stack:
        macro.depends.update(names)
        macro.is_default = macro.is_default or name in names
    if parsed:
        macro.depends.update(mentioned(parsed[1]))
        macro.lines.append(stack[-1][1] if stack and stack[-1][1] else event.line)
    macro.depends.discard(name)
