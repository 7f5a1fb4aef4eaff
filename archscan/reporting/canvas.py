"""Where text is laid out: the report, the options, how wide, in which colours."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import click

from archscan.model.finding import Level
from archscan.model.report import Report
from archscan.reporting.hyperlinks import linked
from archscan.reporting.options import RenderOptions
from archscan.reporting.words import visible

COLORS = {Level.BLOCKED: "magenta", Level.HIGH: "red", Level.MEDIUM: "yellow", Level.LOW: "cyan", Level.INFO: "blue"}


@dataclass(frozen=True, slots=True)
class Canvas:
    """A report and the options to show it with."""

    report: Report
    options: RenderOptions

    def paint(self, text: str, color: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
        """`text` in a colour, if colours are wanted."""
        return click.style(text, fg=color, bold=bold or None, dim=dim or None) if self.options.color else text

    def path(self, path: str) -> str:
        """A reported path as the user typed its beginning."""
        return visible(self.options.typed(path))

    def place(self, path: str, line: int, column: int) -> str:
        """`path:line:column`, which a terminal that opens links leads to the file."""
        return linked(f"{self.path(path)}:{line}:{column}", self.options.address(path))

    def wrapped(self, head: str, indent: str, text: str) -> list[str]:
        """The lines of `text` behind `head`, later ones behind `indent`; words are never cut."""
        return textwrap.wrap(
            visible(text),
            max(self.options.width, 40),
            initial_indent=head,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
