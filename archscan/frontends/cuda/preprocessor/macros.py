"""What a macro is at a point of a file: which definition under which condition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from archscan.model.condition import (
    AtomKind,
    Cond,
    alternatives,
    asked,
    atom,
    both,
    either,
    fingerprint,
    possibly,
    within,
    without,
)


class Definition(NamedTuple):
    """A macro body; `params` is None for an object-like macro. The marks below stand for what is no body."""

    params: tuple[str, ...] | None
    body: str
    mark: str = ""


UNDEFINED = Definition(None, "", "undefined")
OPAQUE, HIDDEN = "opaque", "hidden"  # marks: defined to something that is not known, hidden where the target decides

OF = "__of__"  # between `__has_include` and what tells one use of it from another
_MOST_OPEN = 8  # definitions of which it is not known which one holds
_LONG_BODY = 400  # longer bodies are code, not values: no condition can use them
_NAME = re.compile(r"\s*([A-Za-z_$][\w$]*)")
_HEAD = re.compile(r"\s*([A-Za-z_$][\w$]*)(\([^)]*\))?", re.S)


@dataclass(frozen=True, eq=False, slots=True)
class MacroDefinitions:
    """The definitions that a macro may have, each with its condition; one holds. Equal states are one object."""

    parts: tuple[tuple[Definition, Cond], ...]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles to its interned self."""
        return _interned, (self.parts,)

    @property
    def fingerprint(self) -> str:
        """A text that is the same for the same state, in every process, and another for another one."""
        found = _FINGERPRINTS.get(self)
        if found is None:
            parts = repr([(tuple(definition), fingerprint(cond)) for definition, cond in self.parts])
            digest = blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16)
            found = _FINGERPRINTS[self] = digest.hexdigest()
        return found

    def where(self, wanted: Definition) -> Cond:
        """Where the macro has this definition."""
        return next((cond for definition, cond in self.parts if definition == wanted), 0)


_FINGERPRINTS: dict[MacroDefinitions, str] = {}
_STATES: dict[tuple[tuple[Definition, Cond], ...], MacroDefinitions] = {}


def state_of(parts: Mapping[Definition, Cond]) -> MacroDefinitions:
    """The interned state with these parts; those that never hold are left out."""
    return _interned(tuple(sorted(((d, c) for d, c in parts.items() if c != 0), key=_order)))


def _interned(key: tuple[tuple[Definition, Cond], ...]) -> MacroDefinitions:
    found = _STATES.get(key)
    if found is None:
        found = _STATES[key] = MacroDefinitions(key)
    return found


def _order(part: tuple[Definition, Cond]) -> tuple[int, str, str, tuple[str, ...]]:
    definition, cond = part
    return possibly(cond), definition.mark, definition.body, definition.params or ()


def uniform(definition: Definition, everything: int) -> MacroDefinitions:
    """The state that is the same for every target."""
    return state_of({definition: everything})


def shown(name: str) -> str:
    """The name as a user knows it."""
    return name.partition(OF)[0] if name.startswith("__has_") else name


def open_state(name: str, everything: int, hidden: bool = False) -> MacroDefinitions:
    """The state of a macro that someone else may define. `hidden`: so that it hangs on the target."""
    kind: AtomKind = "architecture" if hidden else "flag"
    defined = asked(atom(f"defined({name})", kind, names=(shown(name),)), everything)
    value = Definition(None, name, HIDDEN if hidden else OPAQUE)
    return state_of({value: defined, UNDEFINED: without(everything, defined)})


def one_of(name: str, values: Sequence[str], everything: int) -> MacroDefinitions:
    """The state of a macro that is defined as one of these values; as something unknown if there are none."""
    if not values:
        return uniform(Definition(None, name, OPAQUE), everything)
    conds = alternatives(name, len(values), everything, (name,))
    return state_of({Definition(None, value): cond for value, cond in zip(values, conds, strict=True)})


def redefined(name: str, old: MacroDefinitions, new: Definition, live: Cond) -> MacroDefinitions:
    """The state after `#define` or `#undef` in a region that is live so."""
    parts = {definition: without(cond, live) for definition, cond in old.parts}
    parts[new] = either(parts.get(new, 0), live)
    return _bounded(name, parts)


def chosen(name: str, states: Sequence[tuple[Cond, MacroDefinitions]]) -> MacroDefinitions:
    """The state that is one of several, each under its condition; one of these holds."""
    if all(state is states[0][1] for _, state in states):
        return states[0][1]
    parts: dict[Definition, Cond] = {}
    for test, state in states:
        for definition, cond in state.parts:
            parts[definition] = either(parts.get(definition, 0), both(test, cond))
    return _bounded(name, parts)


def narrowed(state: MacroDefinitions, live: Cond, everything: int) -> MacroDefinitions:
    """A state that is as good for whoever only asks where something is live, and simpler."""
    if len(state.parts) == 1:
        return state
    possible = [(definition, cond) for definition, cond in state.parts if both(cond, live) != 0]
    if len(possible) == 1:
        return uniform(possible[0][0], everything)
    return state if isinstance(live, int) else state_of({d: within(cond, live) for d, cond in state.parts})


def _bounded(name: str, parts: dict[Definition, Cond]) -> MacroDefinitions:
    """The state with these parts. Where too many may hold, it is only known where the macro is defined."""
    open_ = [(d, c) for d, c in parts.items() if not isinstance(c, int) and d != UNDEFINED]
    if len(open_) <= _MOST_OPEN:
        return state_of(parts)
    told = sorted((*definition, fingerprint(cond)) for definition, cond in open_)
    hidden = any(definition.mark == HIDDEN for definition, _ in open_)
    digest = blake2b(repr(told).encode(), digest_size=8).hexdigest()
    merged: Cond = 0
    for definition, cond in open_:
        merged = either(merged, cond)
        del parts[definition]
    parts[Definition(None, f"{name}#{digest}", HIDDEN if hidden else OPAQUE)] = merged
    return state_of(parts)


def is_defined(state: MacroDefinitions, everything: int) -> Cond:
    """Where the macro is defined."""
    return without(everything, state.where(UNDEFINED))


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
        digest = blake2b(body.encode("utf-8", "replace"), digest_size=8).hexdigest()
        return match[1], Definition(None, f"{match[1]}#{digest}", OPAQUE)
    return match[1], Definition(params, body)


@lru_cache(maxsize=1 << 14)  # asked of each directive by several steps
def defined_name(text: str) -> str:
    """The name in the text behind `#define`, `#undef`, `#ifdef` or `#ifndef`; empty if there is none."""
    match = _NAME.match(text)
    return match[1] if match else ""
