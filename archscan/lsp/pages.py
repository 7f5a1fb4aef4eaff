"""What an editor is told of a file: plain values that travel from the process that reads the code to the server.

Lines and columns count from 1, columns in code points, as in reports; the server turns them into the client's units.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from archscan.model.finding import Level


@dataclass(frozen=True, slots=True)
class Spot:
    """A range in a file on disk."""

    disk: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Told:
    """A finding as a diagnostic."""

    spot: Spot
    severity: Level
    rule: str
    message: str
    related: tuple[tuple[Spot, str], ...]
    fingerprint: str
    has_fix: bool  # an edit may be had: it takes a proof to know
    comment: tuple[int, str] | None  # the line that a suppression comment goes above, and the comment


@dataclass(frozen=True, slots=True)
class Asked:
    """A place of a gate: what is said where the cursor rests on it, and where it leads."""

    spot: Spot
    text: str  # of its first line: tells it in a buffer that was edited since
    hover: str  # Markdown
    decides: tuple[Spot, ...]  # definitions, other halves
    chain: tuple[Spot, ...]  # the gates of its chain that shut the target out or are undecided


@dataclass(frozen=True, slots=True)
class Page:
    """Everything about one file."""

    digest: str  # of the text that was read
    told: tuple[Told, ...]
    asked: tuple[Asked, ...]


NOTHING = Page("", (), ())


@dataclass(frozen=True, slots=True)
class Change:
    """New text for a range."""

    spot: Spot
    text: str


@dataclass(frozen=True, slots=True)
class Proven:
    """The fix of a finding."""

    title: str
    is_safe: bool
    reasons: tuple[str, ...]
    changes: tuple[Change, ...]
    digests: Mapping[str, str]  # of the texts that it was proven on, by file


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line, or the client at its start, says."""

    target: str | None
    config: str | None = None
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class Refresh:
    """Read what changed below a PATH, and answer for these files. `saved`: something was written just now."""

    path: str
    opened: tuple[str, ...]
    saved: bool
    options: Options


@dataclass(frozen=True, slots=True)
class Prove:
    """The fix of a finding below a PATH, by its fingerprint."""

    path: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The pages of the files asked for; a file that was not read, or holds no gate, has none."""

    target: str
    pages: Mapping[str, Page]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no answer."""

    title: str
    hint: str


def digest_of(text: str) -> str:
    """What stands for a text, whichever line ends an editor or the disk has."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
