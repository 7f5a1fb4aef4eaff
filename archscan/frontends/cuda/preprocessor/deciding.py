"""Which directives of a file decide its gates or its macros: where nothing else is asked of it, only those count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, DEFINITIONS, INCLUDES, OPENERS
from archscan.frontends.cuda.preprocessor.environment import names_architecture
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.macros import defined_name
from archscan.frontends.cuda.preprocessor.tokens import names_in


@lru_cache(maxsize=16384)
def asks(text: str, derived: frozenset[str]) -> bool:
    """Whether a condition names the architecture or a macro that derives from it."""
    return any(name in derived or names_architecture(name) for name in names_in(text))


def is_asked(events: Iterable[Directive], derived: frozenset[str]) -> bool:
    """Whether some condition asks."""
    return any(event.name in CONDITIONALS and asks(event.text, derived) for event in events)


def gating(events: Sequence[Directive], derived: frozenset[str]) -> tuple[Directive, ...]:
    """The conditionals that ask for the architecture, and those around them."""
    return _kept(events, [event.name in CONDITIONALS and asks(event.text, derived) for event in events])


def defining(
    events: Sequence[Directive], names: Collection[str], includes: Collection[int] = ()
) -> tuple[Directive, ...]:
    """The definitions of these macros, the includes at these offsets, and the conditionals around them."""
    return _kept(events, [_changes(event, names, includes) for event in events])


def deciding(
    events: Sequence[Directive], derived: frozenset[str], names: Collection[str], includes: Collection[int] = ()
) -> tuple[Directive, ...]:
    """The conditionals that ask for the architecture, and with them what `defining` keeps."""
    return _kept(
        events,
        [
            asks(event.text, derived) if event.name in CONDITIONALS else _changes(event, names, includes)
            for event in events
        ],
    )


def _changes(event: Directive, names: Collection[str], includes: Collection[int]) -> bool:
    if event.name in INCLUDES:
        return event.start in includes
    return event.name in DEFINITIONS and defined_name(event.text) in names


def _kept(events: Sequence[Directive], matters: Sequence[bool]) -> tuple[Directive, ...]:
    """The events that matter by these answers, with the whole of every conditional they belong to or stand in."""
    kept: set[int] = set()
    stack: list[list[int]] = []

    def close() -> bool:
        """Ends the innermost conditional; whether it is kept, and with it the one around it."""
        chain = stack.pop()
        if chain[0] not in kept:
            return False
        kept.update(chain)
        if stack:
            kept.add(stack[-1][0])
        return True

    for position, (event, is_kept) in enumerate(zip(events, matters, strict=True)):
        if event.name == "endif":
            if stack and close():
                kept.add(position)
            continue
        if event.name in OPENERS:
            stack.append([position])
        elif event.name in CONDITIONALS:
            if not stack:
                continue
            stack[-1].append(position)
        if is_kept:
            if stack:
                kept.add(stack[-1][0])
            if event.name not in CONDITIONALS:
                kept.add(position)
    while stack:
        close()
    return tuple(events[position] for position in sorted(kept))
