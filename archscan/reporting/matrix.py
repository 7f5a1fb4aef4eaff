"""Gates against targets: which arm each GPU takes, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from archscan.model.gate import Gate
from archscan.model.target import Universe
from archscan.reporting.words import counted, one_line, shortened, visible

YES, NO, UNKNOWN, MIXED = "yes", "no", "unknown", "mixed"
_SIGNS = {YES: "#", NO: ".", UNKNOWN: "?"}
_COLORS = {YES: "green", NO: "red", UNKNOWN: "yellow", MIXED: "cyan"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What one GPU gets from one arm. `sign` is what a table shows: #, ., ?, or the suffixes that are admitted."""

    answer: str
    sign: str


@dataclass(frozen=True, slots=True)
class Row:
    """One arm of a gate, with a cell for every column; `more` counts equal rows that were folded into it."""

    path: str
    line: int
    condition: str
    cells: tuple[Cell, ...]
    more: int = 0


def columns(universe: Universe, wanted: Sequence[int] = (), since: int = 80) -> tuple[int, ...]:
    """The SMs to show: those asked for, else all from `since` up."""
    sms = sorted({t.sm for t in universe.targets if not t.is_host})
    return tuple(sm for sm in sms if sm in wanted) if wanted else tuple(sm for sm in sms if sm >= since)


def cell(yes: int, unknown: int, sm: int, universe: Universe) -> Cell:
    """The answer for a GPU from two masks: all its variants, none, or those with a suffix."""
    variants = universe.variants(sm)
    taken = [t for t in variants if yes & universe.bit(t)]
    if len(taken) == len(variants):
        return Cell(YES, _SIGNS[YES])
    if taken:
        return Cell(MIXED, "".join(t.suffix or "-" for t in taken))
    if any(unknown & universe.bit(t) for t in variants):
        return Cell(UNKNOWN, _SIGNS[UNKNOWN])
    return Cell(NO, _SIGNS[NO])


def rows(gates: Sequence[Gate], universe: Universe, sms: Sequence[int]) -> tuple[Row, ...]:
    """A row for every arm that has a condition and tells the columns apart; equal ones of a file are folded."""
    found: dict[object, Row] = {}
    for gate in gates:
        for arm in gate.arms:
            if arm.is_else:
                continue
            unknown = arm.truth.unknown(universe.all)
            cells = tuple(cell(arm.truth.yes, unknown, sm, universe) for sm in sms)
            if len({c.sign for c in cells}) < 2:
                continue
            key = (gate.path, arm.condition, cells)
            first = found.get(key)
            row = Row(gate.path, arm.place.line, arm.condition, cells)
            found[key] = row if first is None else Row(first.path, first.line, first.condition, cells, first.more + 1)
    return tuple(found.values())


def matrix_text(table: Sequence[Row], sms: Sequence[int], width: int, color: bool, gates: int) -> str:
    """The table for a terminal: a legend, then a line for every row under its file."""
    head = " ".join(f"{sm:>3}" for sm in sms)
    room = max(width - len(head) - 9, 20)
    lines = ["# taken   . not taken   ? unknown   a f: with that suffix only   - : plain only", ""]
    path = None
    for row in table:
        if row.path != path:
            path = row.path
            lines += [f"{visible(path)}", f"{'line':>6}  {head}  condition"]
        signs = " ".join(_painted(c, color) for c in row.cells)
        more = f" (+{row.more})" if row.more else ""
        lines.append(f"{row.line:>6}  {signs}  {shortened(one_line(row.condition), room - len(more))}{more}")
    seen = counted(gates, "gate")
    lines.append(
        f"{counted(len(table), 'row')} of {seen}; what is not shown answers alike for all of them, or equals a row"
        if table
        else f"{seen}, and none tells these targets apart"
    )
    return "\n".join(lines) + "\n"


def _painted(cell: Cell, color: bool) -> str:
    sign = f"{cell.sign:>3}"
    return click.style(sign, fg=_COLORS[cell.answer]) if color else sign
