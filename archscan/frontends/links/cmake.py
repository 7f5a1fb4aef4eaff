"""Finds what a CMake file builds: targets by name with their sources, over variables, lists and globs; runs nothing.

Every branch counts: which one is taken is asked by the front end for builds, here a source that may be built is one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from archscan.frontends.build.syntax import Block, Command, Node, parse
from archscan.model.facts import Link, LinkKind

_REFERENCE = re.compile(r"\$\{(\w+)\}")
_SOURCE = re.compile(r"\.(?:cuh?|cpp|cc|cxx|c)\Z")
_MAKES_TARGET = re.compile(r"add_(?:library|executable|module|extension)\Z|^target_sources\Z")
_MOST = 20_000  # sources of a file; more is generated or hostile


@dataclass
class _Variables:
    """What is put into each variable, in any branch: texts, and patterns of files."""

    texts: dict[str, dict[str, None]] = field(default_factory=dict)
    globs: dict[str, dict[str, None]] = field(default_factory=dict)


def links(data: bytes, path: str) -> tuple[Link, ...]:
    """The targets of a file as `JIT_SPEC` at module level, each followed by its sources."""
    if b".cu" not in data:
        return ()
    commands = list(_commands(parse(data).body))
    variables = _Variables()
    for command in commands:
        _remember(command, variables)
    newlines = [match.start() for match in re.finditer(rb"\n", data)]
    return tuple(
        link
        for command in commands
        for link in _target(command, variables, bisect_right(newlines, command.start - 1) + 1)
    )


def _commands(body: tuple[Node, ...]) -> Iterator[Command]:
    for node in body:
        if isinstance(node, Block):
            for part in node.parts:
                yield from _commands(part.body)
        else:
            yield node


def _remember(command: Command, variables: _Variables) -> None:
    """Notes what `set`, `list(APPEND)` and `file(GLOB)` put into a variable."""
    words = [argument.text for argument in command.arguments]
    if command.name == "set" and len(words) > 1:
        _add(variables.texts, words[0], words[1:])
    elif command.name == "list" and len(words) > 2 and words[0] in ("APPEND", "PREPEND"):
        _add(variables.texts, words[1], words[2:])
    elif command.name == "file" and len(words) > 2 and words[0] in ("GLOB", "GLOB_RECURSE"):
        deep = words[0] == "GLOB_RECURSE"
        patterns = (w if not deep or "**" in w else re.sub(r"([^/]*)\Z", r"**/\1", w) for w in words[2:])
        _add(variables.globs, words[1], [p for p in patterns if _SOURCE.search(p)])
        _add(variables.texts, words[1], [w for w in words[2:] if _REFERENCE.fullmatch(w)])


def _add(known: dict[str, dict[str, None]], name: str, words: list[str]) -> None:
    known.setdefault(name, {}).update(dict.fromkeys(word for text in words for word in text.split(";") if word))


def _target(command: Command, variables: _Variables, line: int) -> Iterator[Link]:
    words = [argument.text for argument in command.arguments]
    makes = _MAKES_TARGET.search(command.name) or "SOURCES" in words[1:]
    if not makes or len(words) < 2 or "$" in words[0]:
        return
    found = list(islice(_sources(words[1:], variables), _MOST))
    if any(source.endswith((".cu", ".cuh")) for source, _ in found):
        yield Link(LinkKind.JIT_SPEC, "", words[0], line, command.name)
        yield from (Link(LinkKind.JIT_SOURCE, "", source, line, how) for source, how in found)


def _sources(words: list[str], variables: _Variables) -> Iterator[tuple[str, str]]:
    """The files that arguments stand for, without the folder variables before them; patterns with `glob`."""
    pending = list(reversed(words))
    seen: set[str] = set()
    while pending:
        word = pending.pop()
        if word in seen:
            continue
        seen.add(word)
        reference = _REFERENCE.fullmatch(word)
        if reference is not None:
            yield from ((_below(p), "glob") for p in variables.globs.get(reference[1], ()) if "$" not in _below(p))
            pending += reversed(variables.texts.get(reference[1], {}))
        elif _SOURCE.search(path := _below(word)) and "$" not in path:
            yield path, ""


def _below(path: str) -> str:
    """A path without the variable that it begins with, and without `./`."""
    return re.sub(r"\A(?:\$\{\w+\}/+|\./)+", "", path)
