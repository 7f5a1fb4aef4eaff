"""Which variables of a CMake file are one answer of several: functions that it does not call read them, if asked to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscan.frontends.build.syntax import Block, Command, Listfile, Node

_REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.+-]*)\}")
_CALLED = ("function", "macro")
_ASKS = ("if", "elseif", "while")
_CHANGES = ("APPEND", "PREPEND", "INSERT", "REMOVE_ITEM", "REMOVE_AT", "REMOVE_DUPLICATES", "FILTER", "SORT", "REVERSE")


def only_asked(listfile: Listfile) -> frozenset[str]:
    """The variables that only functions read which the file never calls, each time under an if().

    Such a function picks a list by what its caller wants ("All", "Common"): what is built is said where it is called.
    """
    places = list(_places(listfile.body, "", sure=True))
    live = _live(places)
    asked: set[str] = set()
    used: set[str] = set()
    flows: set[tuple[str, str]] = set()
    for function, sure, command in places:
        into, names = _reads(command)
        if function in live and into:
            flows.update((name, into) for name in names if name != into)
        elif function in live or sure:
            used |= names
        else:
            asked |= names
    found = asked | {name for name, _ in flows}
    while True:
        kept = {n for n in found - used if n in asked or any(name == n for name, _ in flows)}
        kept -= {name for name, into in flows if into not in kept}
        if kept == found:
            return frozenset(found)
        found = kept


def _places(body: tuple[Node, ...], function: str, *, sure: bool) -> Iterator[tuple[str, bool, Command]]:
    """Every command, heads of blocks included: the outermost function around it, and whether no if() is."""
    for node in body:
        if not isinstance(node, Block):
            yield function, sure, node
            continue
        head = node.parts[0].head
        called = node.name in _CALLED
        inner = function or (head.arguments[0].text.lower() if called and head.arguments else "")
        for part in node.parts:
            if not called:
                yield function, sure, part.head
            yield from _places(part.body, inner, sure=called or (sure and node.name != "if"))


def _live(places: list[tuple[str, bool, Command]]) -> set[str]:
    """The functions that the file calls, and "" for what stands in none."""
    live = {""}
    while more := {command.name for function, _, command in places if function in live} - live:
        live |= more
    return live


def _reads(command: Command) -> tuple[str, set[str]]:
    """The variable that a command makes, "" where it makes none, and those that it reads."""
    words = [a.text for a in command.arguments if not a.literal]
    names = {name for word in words for name in _REFERENCE.findall(word)}
    if command.name in _ASKS:
        return "", names.union(a.text for a in command.arguments if not a.quoted)
    if command.name == "set" and words:
        return words[0], names
    if command.name == "list" and len(words) > 1:
        return (words[1], names) if words[0] in _CHANGES else ("", names | {words[1]})
    if command.name == "foreach":
        return "", names.union(words[1:])
    return "", names
