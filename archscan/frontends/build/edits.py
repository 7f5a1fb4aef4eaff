"""string() commands that damage the name of an architecture: 2.1 within 12.1, a pattern that knows one suffix only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archscan.analysis.decisions import About, listed, serving
from archscan.catalog.types import Catalog
from archscan.frontends.build.patterns import matched, replaced
from archscan.frontends.build.places import comments_at, place_of
from archscan.frontends.build.syntax import Block, Command, Node
from archscan.model.gate import Does, Effect, Gate, Kind, Layer
from archscan.model.target import Target
from archscan.model.truth import Truth

_DOTTED = re.compile(r"(?<![\d.])(\d{1,2})\.(\d)([af]?)(?![\d.])")
_SUFFIXED = re.compile(r"(?<![\d.])(\d{2,3}|\d{1,2}\.\d)([af])(?![\w.])")
_NUMBER = re.compile(r"\d\.\d")
_OTHER = {"a": "f", "f": "a"}


@dataclass(frozen=True, slots=True)
class Damage:
    """What an edit makes of an architecture that it was not meant for."""

    sm: int
    became: str
    is_number: bool  # another number, rather than a suffix that is lost


def edit_commands(body: Iterable[Node]) -> Iterator[Command]:
    """The string() commands that replace or match."""
    for node in body:
        if isinstance(node, Block):
            for part in node.parts:
                yield from edit_commands(part.body)
        elif node.name == "string" and len(node.arguments) >= 4 and node.arguments[0].text in ("REPLACE", "REGEX"):
            yield node


def damage(command: Command, before: str) -> Iterator[Damage]:
    """What a command does wrong to a text."""
    words = [argument.text for argument in command.arguments]
    if words[0] == "REPLACE":
        yield from _within_numbers(words[1], words[2], before)
    elif words[1] in ("MATCH", "REPLACE") and "$" not in words[2]:
        yield from _lost_suffixes(words[1], _unescaped(words[2]), _unescaped(words[3]), before)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _within_numbers(old: str, new: str, before: str) -> Iterator[Damage]:
    """An old number such as 2.1 that stands within another one, such as 12.1."""
    if not _NUMBER.fullmatch(old):
        return
    for match in _DOTTED.finditer(before):
        token = f"{match[1]}.{match[2]}"
        if token != old and old in token:
            yield Damage(int(match[1]) * 10 + int(match[2]), token.replace(old, new), True)


def _lost_suffixes(kind: str, pattern: str, replacement: str, before: str) -> Iterator[Damage]:
    """A suffix that a pattern does not know, where it knows the other one."""

    def out(text: str) -> str | None:
        if kind == "REPLACE":
            return replaced(pattern, replacement, text)
        groups = matched(pattern, text)
        return None if groups is None else groups[0] if groups else ""

    for match in _SUFFIXED.finditer(before):
        number, suffix = match[1], match[2]
        head, tail = before[: match.start(2)], before[match.end(2) :]
        mine, plain, other = out(before), out(head + tail), out(head + _OTHER[suffix] + tail)
        if mine is None or plain is None or other is None:
            continue
        sm = int(number.replace(".", ""))
        if kind == "MATCH" and not mine and number in plain and number + _OTHER[suffix] in other:
            yield Damage(sm, "nothing", False)
        elif mine == plain != other and number + _OTHER[suffix] in other and number in mine:
            yield Damage(sm, number, False)


def edit_gates(
    path: str,
    data: bytes,
    body: tuple[Node, ...],
    plain: dict[int, tuple[str, str]],
    asked: dict[Target, dict[int, tuple[str, str]]],
    catalog: Catalog,
) -> Iterator[Gate]:
    """A gate for each command that damages what is written in the file, or what a user asks for."""
    universe = catalog.universe
    for command in edit_commands(body):
        hit: dict[Target, Damage] = {}
        for one in damage(command, plain[command.start][0]) if command.start in plain else ():
            hit.update({t: one for t in universe.targets if t.sm == one.sm})
        for target, edits in asked.items():
            before = edits.get(command.start, ("", ""))[0]
            own = [one for one in damage(command, before) if one.sm == target.sm]
            hit.update({target: own[0]} if own else {})
        if hit:
            yield _gate(path, data, command, hit, catalog)


def _gate(path: str, data: bytes, command: Command, hit: dict[Target, Damage], catalog: Catalog) -> Gate:
    universe = catalog.universe
    no = universe.mask(hit)
    truth = Truth(universe.device & ~no, no | universe.host)
    spot = place_of(data, command.start, command.end)
    first = next(iter(hit.values()))
    target = next(iter(hit))
    named = f"{target.major}.{target.minor}"
    if first.is_number:
        rest = Effect(Does.ERRORS, spot.line, f"{named} becomes {first.became}")
    else:
        rest = Effect(Does.ASSIGNS, spot.line, value=f"{first.became} in the place of {named} with its suffix")
    text = " ".join(data[command.start : command.end].decode("utf-8", "backslashreplace").split())
    about = About(
        near=comments_at(data, command.start),
        notes=(("mistake", "an edit that was meant for another architecture"),),
    )
    return listed(path, Layer.BUILD, Kind.STRING_EDIT, serving(spot, text, truth), rest, about)
