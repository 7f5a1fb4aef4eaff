"""Sets of targets as text in rules/facts: `90* 110af 120a 86` (* = every variant of that SM)."""

from __future__ import annotations

import re

from archscan.catalog.reading import nearest
from archscan.errors import UserError
from archscan.model.target import Target, Universe

_TOKEN = re.compile(r"(\d+)(\*|[af]*)")


class Decoder:
    """Reads sets of targets of a universe; the same text is read once."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._known: dict[str, int] = {}

    def mask(self, text: str, where: str) -> int:
        """The mask of a set of targets; UserError with the nearest name for a target that does not exist."""
        if text not in self._known:
            self._known[text] = decode(text, self._universe, where)
        return self._known[text]


def decode(text: str, universe: Universe, where: str) -> int:
    """The mask of a set of targets; UserError with the nearest name for a target that does not exist."""
    mask = 0
    for token in text.split():
        match = _TOKEN.fullmatch(token)
        variants = universe.variants(int(match[1])) if match else ()
        if match is None or not variants:
            raise UserError(f'{where}: unknown target "{token}"', nearest(f"sm_{token}", universe.by_name))
        wanted = set(variants) if match[2] == "*" else {Target(int(match[1]), s) for s in match[2] or ("",)}
        if not wanted <= set(variants):
            raise UserError(f'{where}: unknown target "{token}"', nearest(f"sm_{token}", universe.by_name))
        mask |= universe.mask(wanted)
    return mask


def encode(mask: int, universe: Universe) -> str:
    """The text of a mask; `decode` gives it back."""
    tokens = []
    for sm in sorted({t.sm for t in universe.members(mask & universe.device)}):
        variants = universe.variants(sm)
        suffixes = [t.suffix for t in variants if mask & universe.bit(t)]
        if len(suffixes) == len(variants) > 1:
            tokens.append(f"{sm}*")
            continue
        tokens += [str(sm)] if "" in suffixes else []
        tokens += [str(sm) + "".join(s for s in suffixes if s)] if any(suffixes) else []
    return " ".join(tokens)
