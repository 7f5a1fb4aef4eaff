"""What the facts of a file rest on beside the file itself: they stay as long as that does."""

from __future__ import annotations

from dataclasses import dataclass

Question = tuple[str, ...]  # to what a front end has linked: ("users", "get_major")


@dataclass(frozen=True, slots=True)
class Reads:
    """What was read to find the facts of one file."""

    files: frozenset[str] = frozenset()  # other files, for their content
    asked: frozenset[Question] = frozenset()  # of the linked project


@dataclass(frozen=True, slots=True)
class Basis:
    """What the facts of one file were found from."""

    own: bytes  # stands for the file: its content and where it lies
    reads: Reads
    digest: bytes  # stands for what was read, as it was
