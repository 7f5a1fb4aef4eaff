"""Lists that what the user asks for is looked up in, by asking a script for every target."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from archscan.frontends.build.python.running import evaluated, parsed
from archscan.frontends.build.python.script import Refusal
from archscan.frontends.build.reading import Given
from archscan.model.target import Target


@dataclass(frozen=True)
class Known:
    """A literal list that what the user asks for is looked up in, and what is raised for those who are not in it.

    Nothing may be raised: then they get no flags, without a word.
    """

    start: int
    end: int
    message: str
    refused: frozenset[Target]
    silent: bool


def known_lists(data: bytes, given: Given) -> tuple[Known, ...]:
    """The lists that a script lets into its flags, by asking it for every target."""
    names = set(re.findall(rb"[\"']([A-Z][A-Z0-9_]*(?:ARCH|ARCHS|ARCHES|ARCH_LIST|CAPABILITIES))[\"']", data))
    asks = names and (b"raise" in data or b"gencode" in data) and (b"environ" in data or b"getenv" in data)
    tree = parsed(data) if asks else ""
    if isinstance(tree, str):
        return ()
    found: dict[tuple[int, int], tuple[Refusal, set[Target]]] = {}
    first, *others = (target for target in given.catalog.universe.targets if not target.is_host)
    for asked, target in enumerate((first, *reversed(others))):
        if asked == 2 and not found:
            return ()  # a list that holds the oldest and the newest refuses nobody
        dotted = f"{target.major}.{target.minor}{target.suffix}"
        plain = f"{target.sm}{target.suffix}"
        values = {n.decode(): dotted if b"TORCH" in n or _DOTTED.search(data) else plain for n in names}
        script = evaluated(data, tree, replace(given, values={**values, **given.values}), requested=True)
        for refusal in script.refusals:
            for span in refusal.literals[-1:]:
                found.setdefault(span, (refusal, set()))[1].add(target)
    every = len(given.catalog.universe.targets) - 1
    return tuple(
        Known(*span, refusal.message, frozenset(targets), refusal.silent)
        for span, (refusal, targets) in found.items()
        if len(targets) < every
    )


_DOTTED = re.compile(rb"[\"']\d{1,2}\.\d[\"']")
