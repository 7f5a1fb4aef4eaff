"""What `archscan env` prints: every distribution of an environment against one GPU, for people and for scripts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from archscan.environment.around import Around
from archscan.environment.gates import may_have_gates
from archscan.environment.machine import Machine
from archscan.environment.model import Fit, Row, State
from archscan.environment.shelves import Stock
from archscan.environment.variables import SetVariable
from archscan.model.facts import Failed
from archscan.model.target import Selection
from archscan.reporting.json_format import SCHEMA_VERSION
from archscan.reporting.words import cells, counted, few, one_line, shortened, visible

_TITLES = {
    State.FAILS: "nothing loads on {}",
    State.PARTLY: "loads in part on {}",
    State.SLOW: "slow at first use",
    State.WORKS: "loads: nothing to do",
}
_GATED = "loads, and gates in its code shut parts of it"
_LATER = "built on first use"
_UNKNOWN = "not known"
_WHOLE = ("environment", "GPU", "driver")  # never wrapped
_SOURCES = "no GPU code in libraries, and gates in its sources"
_MOST_NOTES = 8
_LABEL = 13  # columns of the labels at the head and at the foot


@dataclass(frozen=True, slots=True)
class Judged:
    """An environment for one GPU."""

    stock: Stock
    selection: Selection
    rows: tuple[Row, ...]
    machine: Machine  # nothing in it where a target was named
    gpu: str  # how the GPU is called: "sm_120 (named with --target)"
    around: Around = field(default_factory=Around)

    @property
    def failed(self) -> tuple[Failed, ...]:
        """What could not be read."""
        return (*self.stock.failed, *(one for row in self.rows for one in row.failed))


def env_text(judged: Sequence[Judged], width: int) -> str:
    """The environment for people: one table for each GPU."""
    lines: list[str] = []
    for number, one in enumerate(judged):
        again = number and judged[number - 1].stock is one.stock
        lines += [*([""] if number else []), *_head(one, width, first=not again)]
        lines += [*_tables(one, width), *_caches(one, width), *_foot(one, width)]
    return "\n".join(lines).rstrip("\n") + "\n"


def header(one: Judged) -> list[tuple[str, str]]:
    """What stands above the rows: labels, and what is said for each; a label once for all that is below it."""
    environment = one.stock.environment
    python = f", Python {environment.python}" if environment.python else ""
    found = [("environment", f"{environment.prefix}{python}: {environment.why}"), ("GPU", one.gpu)]
    if one.machine.driver:
        cuda = f", CUDA {one.machine.cuda}" if one.machine.cuda else ""
        found.append(("driver", f"{one.machine.driver}{cuda}"))
    found += [("variables", _variable(variable)) for variable in one.around.variables]
    return found + [("conflicts", f"{_name(row)} {text}") for row in one.rows for text in row.conflicts]


def _head(one: Judged, width: int, first: bool) -> list[str]:
    said = header(one)
    lines = [f"{label:<{_LABEL}}{visible(text)}" for label, text in said if label in _WHOLE][0 if first else 1 :]
    for label in ("variables", "conflicts"):
        lines += _labelled(label, [text for each, text in said if each == label], width)
    return [*lines, ""]


def _variable(variable: SetVariable) -> str:
    places = few([f"{path}:{line}" for path, line in variable.changes], 2)
    return f"{variable.name}={shortened(variable.value, 60)}: {variable.says}" + (
        f" (read at {places})" if places else ""
    )


def _caches(one: Judged, width: int) -> list[str]:
    """The JIT caches: all that are stale, and how many are not."""
    stale = [cache for cache in one.around.caches if cache.stale]
    lines = []
    for cache in stale:
        held = f": {few(cache.holds, 6)}" if cache.holds else ""
        lines += _beside(f"  {visible(cache.path)}", [cache.title + held, cache.why, f"clear: {cache.clear}"], 6, width)
    rest = [cache for cache in one.around.caches if not cache.stale]
    if rest:
        said = ", ".join(f"{cache.path} ({few(cache.holds, 6) or 'not known'})" for cache in rest)
        lines += _beside("  kept", [said], 10, width)
    return ["JIT caches", *lines, ""] if lines else []


def sections(one: Judged) -> list[tuple[str, list[Row]]]:
    """The rows below their titles, the worst first; what has nothing for a GPU is only counted."""
    later = [row for row in one.rows if _is_compiled_later(row)]
    found: list[tuple[str, list[Row]]] = []
    for state, title in _TITLES.items():
        rows = [row for row in one.rows if row.state is state and row not in later]
        gated = [row for row in rows if state is State.WORKS and row.gates is not None and row.gates.shut]
        found += [(_GATED, gated), (title.format(one.selection.name), [row for row in rows if row not in gated])]
    found += [(_LATER, later), (_UNKNOWN, [row for row in one.rows if row.state is State.UNKNOWN and row not in later])]
    sources = [
        row for row in one.rows if row.state is State.NO_CODE and row.gates is not None and row.gates.by_severity
    ]
    found.append((_SOURCES, sources))
    return [(title, rows) for title, rows in found if rows]


def _tables(one: Judged, width: int) -> list[str]:
    lines: list[str] = []
    for title, rows in sections(one):
        made = _folded(rows, one, width) if title == _UNKNOWN else _entries(rows, one, width)
        lines += [title, *made, ""]
    return lines


def _is_compiled_later(row: Row) -> bool:
    return row.first_use is not None and row.state is not State.FAILS


def _entries(found: Sequence[Row], one: Judged, width: int) -> list[str]:
    """One row each: name and version, what there is to say beside them, what to do below."""
    names = [_name(row) for row in found]
    room = min(max(cells(name) for name in names), 36) + 4
    lines = []
    for name, row in zip(names, found, strict=True):
        said = [one_line(row.says)] if row.says else []
        said += [imported(row)] if row.use is not None and row.use.files else []
        said += [row.runs.in_words()] if row.runs is not None else []
        said += [row.gates.in_words(one.selection.name)] if row.gates is not None else []
        brief = row.state is State.WORKS and row.first_use is None and row.do == "nothing"
        said += [f"do: {one_line(row.do)}"] if row.do and not brief else []
        lines += _beside(f"  {name}", said, room, width)
    return lines


def imported(row: Row) -> str:
    """Who of what was asked for imports it."""
    return f"imported in {counted(row.use.files, 'file')} of {row.use.by}" if row.use is not None else ""


def _folded(found: Sequence[Row], one: Judged, width: int) -> list[str]:
    """Rows of which the same is said, together."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in found:
        groups.setdefault((row.says, row.do, repr(row.gates), repr(row.use)), []).append(row)
    lines = []
    for members in groups.values():
        says, do = members[0].says, members[0].do
        if len(members) == 1:
            lines += _entries(members, one, width)
            continue
        names = ", ".join(_name(row) for row in members)
        said = [one_line(says), *([f"do: {one_line(do)}"] if do else []), names]
        lines += _beside(f"  {counted(len(members), 'distribution')}", said, 6, width)
    return lines


def _beside(label: str, texts: Sequence[str], room: int, width: int) -> list[str]:
    """Texts in a column of their own, the first beside a label if that leaves it the room."""
    lines = [line for text in texts for line in textwrap.wrap(text, max(width - room, 30), break_on_hyphens=False)]
    if cells(label) + 2 > room:
        return [label, *(" " * room + line for line in lines)]
    first, *others = lines or [""]
    return [f"{label}{' ' * (room - cells(label))}{first}".rstrip(), *(" " * room + line for line in others)]


def _name(row: Row) -> str:
    manager = f" ({row.installed.manager})" if row.installed.manager else ""
    version = row.installed.version or "(no metadata)"
    return one_line(f"{row.installed.name} {version}{manager}")


def footer(one: Judged) -> list[tuple[str, str]]:
    """What stands below the rows: what was looked at, and what is not covered, with its reason."""
    without = [row for row in one.rows if row.state is State.NO_CODE]
    with_code = len(one.rows) - len(without)
    total = counted(len(one.rows), "distribution")
    said = f"{total}: {with_code:,} with GPU code or a compiler for it, {len(without):,} without"
    found = [("looked at", said), *(("not covered", text) for text in _not_covered(one, without))]
    return found + [("not read", f"{failed.path}: {failed.reason}") for failed in one.failed]


def _foot(one: Judged, width: int) -> list[str]:
    said = footer(one)
    labels = dict.fromkeys(label for label, _ in said)
    return [line for each in labels for line in _labelled(each, [text for label, text in said if label == each], width)]


def _not_covered(one: Judged, without: Sequence[Row]) -> list[str]:
    found = []
    left = [row for row in may_have_gates(one.rows) if row.gates is None]
    if left:
        said = few([row.installed.name for row in left], 6)
        found.append(f"gates in the code of {said}: --gates scans it, once")
    sources = [row for row in without if row.installed.cuda and row.gates is None]
    if sources:
        said = ", ".join(f"{row.installed.name} ({row.installed.cuda:,})" for row in sources)
        found.append(f"what is compiled from the CUDA sources of {said}")
    notes: dict[str, list[str]] = {}
    for shelf in one.stock.shelves:
        for note in dict.fromkeys(note for each in shelf.compiled for note in each.library.notes):
            notes.setdefault(note, []).append(shelf.installed.name)
    found += [f"{note}: {', '.join(names)}" for note, names in notes.items()]
    by_reason: dict[str, list[str]] = {}
    for skipped in one.stock.skipped:
        by_reason.setdefault(skipped.reason, []).append(skipped.path)
    found += [f"{few(paths, 3)}: {reason}" for reason, paths in by_reason.items()]
    return found


def _labelled(label: str, texts: Sequence[str], width: int) -> list[str]:
    said = [one_line(text) for text in texts[:_MOST_NOTES]]
    said += [f"{len(texts) - _MOST_NOTES:,} more (--format json has all)"] if len(texts) > _MOST_NOTES else []
    return _beside(label, said, _LABEL, width) if said else []


_LETTERS = {
    State.WORKS: "+",
    State.SLOW: "s",
    State.PARTLY: "p",
    State.FAILS: "-",
    State.UNKNOWN: "?",
    State.NO_CODE: " ",
}


def env_matrix(judged: Sequence[Judged]) -> str:
    """Distributions against GPUs, one table for each environment; those without GPU code are left out."""
    lines: list[str] = []
    for prefix in dict.fromkeys(one.stock.environment.prefix for one in judged):
        columns = [one for one in judged if one.stock.environment.prefix == prefix]
        cells_of: dict[str, list[str]] = {}
        for one in columns:
            for row in one.rows:
                cells_of.setdefault(_name(row), []).append(_LETTERS[row.state])
        shown = {name: letters for name, letters in sorted(cells_of.items()) if any(mark != " " for mark in letters)}
        width = max([cells(name) for name in shown] or [0])
        names = [one.selection.name.removeprefix("sm_") for one in columns]
        lines += [f"environment  {visible(prefix)}", " ".join([" " * width, *(f"{name:>5}" for name in names)])]
        lines += [
            " ".join([name + " " * (width - cells(name)), *(f"{mark:>5}" for mark in letters)])
            for name, letters in shown.items()
        ]
        lines.append("")
    lines.append("+ loads, s slow at first use, p in part, - nothing loads, ? not known")
    return "\n".join(line.rstrip() for line in lines) + "\n"


# --- JSON


def env_object(judged: Sequence[Judged]) -> dict[str, Any]:
    """The document that scripts read; further GPUs and environments stand under `also`."""
    first, *others = (_object(one) for one in judged)
    return first if not others else {**first, "also": others}


def _object(one: Judged) -> dict[str, Any]:
    environment = one.stock.environment
    return {
        "schema_version": SCHEMA_VERSION,
        "target": one.selection.name,
        "python": {
            "prefix": environment.prefix,
            "version": environment.python or None,
            "why": environment.why,
            "folders": list(environment.folders),
        },
        "driver": {"version": one.machine.driver, "cuda": one.machine.cuda or None} if one.machine.driver else None,
        "gpus": [{"name": gpu.name, "sm": f"sm_{gpu.sm}", "number": gpu.number} for gpu in one.machine.gpus],
        "variables": [
            {
                "name": v.name,
                "value": v.value,
                "says": v.says,
                "gets": v.gets or None,
                "changes": [{"path": path, "line": line} for path, line in v.changes],
            }
            for v in one.around.variables
        ],
        "caches": [
            {
                "path": cache.path,
                "title": cache.title,
                "holds": list(cache.holds),
                "stale": cache.stale,
                "why": cache.why,
                "clear": cache.clear,
            }
            for cache in one.around.caches
        ],
        "distributions": [_distribution(row) for row in one.rows],
        "not_covered": [{"path": row.path, "reason": row.reason} for row in one.stock.skipped],
        "failed": [{"path": row.path, "reason": row.reason} for row in one.failed],
    }


def _distribution(row: Row) -> dict[str, Any]:
    found = row.count()
    choice, gates = row.choice, row.gates
    return {
        "name": row.installed.name,
        "version": row.installed.version,
        "path": row.installed.path,
        "state": row.state.value,
        "libraries": {fit.value: found.get(fit.value, 0) for fit in Fit},
        "not_chosen": sorted(choice.left_out) if choice else [],
        "rule": {"text": choice.rule, "source": choice.source} if choice else None,
        "kernels_without_code": gates.hollow if gates else None,
        "by_severity": dict(gates.by_severity) if gates else {},
        "run": {"by": row.runs.by, "shut": list(row.runs.shut)} if row.runs is not None else None,
        "jit_specs": dict(zip(("open", "shut"), gates.jit if gates else (0, 0), strict=True)),
        "first_use": {"builds": row.first_use.builds, "source": row.first_use.source} if row.first_use else None,
        "says": row.says,
        "do": row.do,
        "conflicts": list(row.conflicts),
    }
