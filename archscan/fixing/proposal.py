"""Ways to open or close one gate, tidiest first. A proposal claims nothing: `prove` decides which one holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archscan.model.finding import Edit


@dataclass(frozen=True, slots=True)
class Proposal:
    """Edits of one gate that go in together, and what they are, for the title."""

    what: str
    edits: tuple[Edit, ...]


def replaced(path: str, start: int, end: int, text: str, what: str) -> Proposal:
    """A proposal of one edit."""
    return Proposal(what, (Edit(path, start, end, text),))


def applied(data: bytes, edits: tuple[Edit, ...]) -> bytes:
    """`data` with the edits made; ValueError if they overlap."""
    last = len(data)
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        if edit.end > last:
            raise ValueError(f"edits overlap at byte {edit.start}")
        data = data[: edit.start] + edit.data + data[edit.end :]
        last = edit.start
    return data


def distinct(proposals: Iterator[Proposal]) -> Iterator[Proposal]:
    """The proposals without repeats, in order."""
    seen = set()
    for proposal in proposals:
        if proposal.edits not in seen:
            seen.add(proposal.edits)
            yield proposal
