"""What a format may look at besides the report: how wide, how much, whose rules, and the bytes of the sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from archscan.catalog.types import Rule
from archscan.reporting.sources import Sources


def nowhere(path: str) -> str:
    """No address."""
    return ""


def as_reported(path: str) -> str:
    """The path itself."""
    return path


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Everything that changes how a report looks, and nothing that changes what is in it."""

    sources: Sources = field(default_factory=Sources)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    located: Callable[[str], str] = as_reported  # reported path -> path below the repository (SARIF, GitHub, GitLab)
    typed: Callable[[str], str] = as_reported  # reported path -> as the user typed it (text)
    address: Callable[[str], str] = nowhere  # reported path -> what a link in a terminal leads to; "" = no link
    paths: tuple[str, ...] = ()  # the PATHs as typed, for the commands that a report proposes
    gpu: str = ""  # what the target is called: "Blackwell (consumer): RTX PRO 6000, RTX 5090"
    toolkit: str = ""  # the CUDA release assumed
    date: str = ""  # of the run, for pages that are kept
    width: int = 100
    color: bool = False
    limit: int = 40  # entries of the text report; 0 = all
    verbosity: int = 0  # -1 quiet, 1 verbose
    include_leave: bool = False
    all_gates: bool = False
    sarif_suppressed: bool = False
