"""What a macro is at a point of a file, for every target at once: a partition of the universe by definition."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Definition(NamedTuple):
    """A macro body; `params` is None for an object-like macro. The three marks below stand for what is not known."""

    params: tuple[str, ...] | None
    body: str
    mark: str = ""


UNDEFINED = Definition(None, "", "undefined")
UNKNOWN = Definition(None, "", "unknown")  # perhaps defined, perhaps not
SOME = Definition(None, "", "some")  # defined, to something that is not known; its body may list the candidates
INHERITED = Definition(None, "", "inherited")  # this file has not touched it: ask whoever includes it

_MOST_CANDIDATES = 12
_LONG_BODY = 400  # longer bodies are code, not values: no condition can use them
_INTEGER = re.compile(r"\(*\s*[0-9][0-9a-fA-FxXuUlL']*\s*\)*")
_NAME = re.compile(r"\s*([A-Za-z_$][\w$]*)")
_HEAD = re.compile(r"\s*([A-Za-z_$][\w$]*)(\([^)]*\))?", re.S)


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """Disjoint masks that cover the universe, each with its definition. Interned: equal states are one object."""

    parts: tuple[tuple[Definition, int], ...]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles to its interned self."""
        return _interned, (self.parts,)

    def where(self, wanted: Definition) -> int:
        """The mask on which the macro has this definition."""
        return next((mask for definition, mask in self.parts if definition == wanted), 0)


_STATES: dict[tuple[tuple[Definition, int], ...], State] = {}


def state_of(parts: dict[Definition, int]) -> State:
    """The interned state with these parts; empty masks are left out."""
    return _interned(tuple(sorted(((d, m) for d, m in parts.items() if m), key=_order)))


def _interned(key: tuple[tuple[Definition, int], ...]) -> State:
    found = _STATES.get(key)
    if found is None:
        found = _STATES[key] = State(key)
    return found


def _order(part: tuple[Definition, int]) -> tuple[int, str, str]:
    return part[1], part[0].mark, part[0].body


def uniform(definition: Definition, everything: int) -> State:
    """The state that is the same for every target."""
    return state_of({definition: everything})


def redefined(old: State, new: Definition, yes: int, no: int, once: int = 0) -> State:
    """The state after `#define` or `#undef` in a region live on `yes`, dead on `no`, unknown elsewhere.

    On `once` it is unknown only because the macro itself may be defined already: it is defined afterwards.
    """
    parts: dict[Definition, int] = {}
    for definition, mask in old.parts:
        _add(parts, definition, mask & no)
        _add(parts, new, mask & yes)
        unknown = mask & ~(yes | no)
        after = either(definition, new)
        _add(parts, after, unknown & ~once)
        _add(parts, SOME if after in (UNKNOWN, INHERITED) else after, unknown & once)
    return state_of(parts)


def either(one: Definition, other: Definition) -> Definition:
    """What is known when one of two definitions holds and it is not known which."""
    if one == other:
        return one
    if UNKNOWN in (one, other) or UNDEFINED in (one, other) or INHERITED in (one, other):
        return UNKNOWN
    return _one_of(one, other)


def some_of(values: Iterable[str]) -> Definition:
    """Defined as one of these integers; simply defined if they are none or too many."""
    found = sorted(set(values))
    return SOME._replace(body=" ".join(found)) if len(found) <= _MOST_CANDIDATES else SOME


def candidates(definition: Definition) -> tuple[str, ...]:
    """The integers of which a macro that is defined has one; empty if they are not known."""
    if definition.mark == SOME.mark:
        return tuple(definition.body.split())
    plain = not definition.mark and definition.params is None and _INTEGER.fullmatch(definition.body)
    return (definition.body.strip("() "),) if plain else ()


def _one_of(one: Definition, other: Definition) -> Definition:
    first, second = candidates(one), candidates(other)
    return some_of((*first, *second)) if first and second else SOME


def resolved(state: State, base: State) -> State:
    """The state with its inherited part replaced by what `base` says there."""
    inherited = state.where(INHERITED)
    if not inherited:
        return state
    parts = {definition: mask for definition, mask in state.parts if definition != INHERITED}
    for definition, mask in base.parts:
        _add(parts, definition, mask & inherited)
    return state_of(parts)


def replaced(state: State, old: Definition, new: Definition) -> State:
    """The state with one definition put in place of another."""
    parts: dict[Definition, int] = {}
    for definition, mask in state.parts:
        _add(parts, new if definition == old else definition, mask)
    return state_of(parts)


def joined(states: list[State]) -> State:
    """What a macro is when the files that define it are all included: one live body wins, several make it SOME."""
    parts: dict[Definition, int] = {}
    for definition, mask in states[0].parts:
        _add(parts, _own(definition), mask)
    for state in states[1:]:
        merged: dict[Definition, int] = {}
        for have, mask in parts.items():
            for definition, more in state.parts:
                _add(merged, _together(have, _own(definition)), mask & more)
        parts = merged
    return state_of(parts)


def _own(definition: Definition) -> Definition:
    return UNDEFINED if definition == INHERITED else definition


def _together(one: Definition, other: Definition) -> Definition:
    if UNDEFINED in (one, other):
        return other if one == UNDEFINED else one
    if one == other:
        return one
    if one == UNKNOWN and other == UNKNOWN:
        return UNKNOWN
    return SOME if UNKNOWN in (one, other) else _one_of(one, other)


def _add(parts: dict[Definition, int], definition: Definition, mask: int) -> None:
    if mask:
        parts[definition] = parts.get(definition, 0) | mask


def parse_define(text: str) -> tuple[str, Definition] | None:
    """Name and definition of the text behind `#define`; None if there is no name."""
    match = _HEAD.match(text)
    if not match:
        return None
    body = text[match.end() :].strip()
    params = None
    if match[2] is not None:
        inner = match[2][1:-1].strip()
        params = tuple(p.strip() for p in inner.split(",")) if inner else ()
    if len(body) > _LONG_BODY:
        return match[1], SOME
    return match[1], Definition(params, body)


def defined_name(text: str) -> str:
    """The name in the text behind `#define`, `#undef`, `#ifdef` or `#ifndef`; empty if there is none."""
    match = _NAME.match(text)
    return match[1] if match else ""
