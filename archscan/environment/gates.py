"""What scans of the sources and libraries of distributions say for one GPU, kept as long as no file of them changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from archscan.cache import Keeper, default_directory, hashed
from archscan.environment.installed import Installed
from archscan.environment.model import Gates, Row, State, Told
from archscan.model.report import Report

_MOST_TOLD = 20
_IDLE = {"hollow-kernel": "hollow", "trap-kernel": "trap"}  # each finding counts both
Scan = Callable[[tuple[str, ...]], Report]


@dataclass(frozen=True)
class _Kept:
    """What scans said, by the path of a distribution, with what its files were then."""

    gates: dict[str, tuple[str, Gates]] = field(default_factory=dict)


class Remembered:
    """The gates of the distributions of one environment for one GPU."""

    def __init__(self, environment: Sequence[str], target: str, facts: str, use_cache: bool) -> None:
        self._name = hashed("gates", target, facts, *environment) + ".gates"
        self._keeper = Keeper(default_directory()) if use_cache else None
        kept = (self._keeper.load(self._name, _Kept) if self._keeper else None) or _Kept()
        self._gates: dict[str, tuple[str, Gates]] = dict(kept.gates)

    def of(self, one: Installed, scan: Scan | None) -> Gates | None:
        """What a scan said of a distribution as it is now; without `scan` None where there was none."""
        known = self._gates.get(one.path)
        paths = own_paths(one) if known or scan else ()
        stamp = _stamp(paths)
        if known is not None and known[0] == stamp:
            return known[1]
        if scan is None or not paths:
            return None
        found = gates_of(scan(paths))
        self._gates[one.path] = (stamp, found)
        if self._keeper:  # at once: who stops it keeps what was done
            self._keeper.store(self._name, _Kept(self._gates))
        return found


def with_gates(rows: Sequence[Row], remembered: Remembered, scan: Scan | None) -> tuple[Row, ...]:
    """The rows with the gates of those distributions that can have some."""
    asked = frozenset(row.installed.path for row in may_have_gates(rows))
    found = []
    for row in rows:
        gates = remembered.of(row.installed, scan) if row.installed.path in asked else None
        found.append(row if gates is None else replace(row, gates=gates, do=_do(row, gates)))
    return tuple(found)


def _do(row: Row, gates: Gates) -> str:
    """What to do once the gates are known, where nothing else is to be done first."""
    if row.state is State.NO_CODE or row.do == "nothing" or (row.first_use is not None and row.state is State.UNKNOWN):
        shut = gates.shut or gates.jit[1] > 0
        return f"see what is shut: archscan env {row.installed.name}" if shut else row.do and "nothing"
    return row.do


def may_have_gates(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows of distributions with GPU code, in libraries or as source, and of those that need one of these.

    What is nothing but libraries has no gates.
    """
    with_code = frozenset(row.installed.key for row in rows if row.state is not State.NO_CODE or row.installed.cuda)
    found = [row for row in rows if row.installed.key in with_code or not with_code.isdisjoint(row.installed.requires)]
    return tuple(row for row in found if not set(own_paths(row.installed)) <= set(row.installed.libraries))


def own_paths(one: Installed) -> tuple[str, ...]:
    """Where the files of a distribution lie, as far as they are its own: a namespace is shared."""
    if one.path.endswith(".whl"):
        return (one.path,)
    tops = [top if os.path.isabs(top) else str(Path(one.folder) / top) for top in one.tops]
    own = [top for top in tops if Path(top).is_dir() and (Path(top) / "__init__.py").is_file()]
    apart = [path for path in one.libraries if not any(path.startswith(top + os.sep) for top in own)]
    return tuple(dict.fromkeys((*own, *apart)))


def gates_of(report: Report) -> Gates:
    """What a scan says of sources, counted; of libraries only the idle kernels: images stand in the row."""
    severities: dict[str, int] = {}
    hollow = 0
    for finding in report.findings:
        if finding.listed and finding.binary is None:
            severities[finding.severity.value] = severities.get(finding.severity.value, 0) + 1
        if finding.binary is not None and finding.listed and finding.rule in _IDLE:
            hollow += dict(finding.binary.kernels).get(_IDLE[finding.rule], 0)
    jit = [chain for chain in report.chains if any(step.layer == "jit" for step in chain.steps)]
    shut = sum(any(step.layer == "jit" and step.state == "shut" for step in chain.steps) for chain in jit)
    worst = [finding for finding in report.findings if finding.listed and finding.binary is None][:_MOST_TOLD]
    told = (Told(f.severity.value, f.rule, f"{f.path}:{f.place.line}", f.message) for f in worst)
    return Gates(severities, hollow, (len(jit) - shut, shut), tuple(told))


def _stamp(paths: Sequence[str]) -> str:
    """What stands for the files below these paths as long as none of them changes."""
    number = size = newest = 0
    for status in (status for path in paths for status in _statuses(path)):
        number += 1
        size += status.st_size
        newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
    return f"{number} {size} {newest}"


def _statuses(path: str) -> Iterator[os.stat_result]:
    try:
        if not os.path.isdir(path):
            yield os.stat(path)
            return
        waiting = [path]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != "__pycache__":
                            waiting.append(entry.path)
                    else:
                        yield entry.stat(follow_symlinks=False)
    except OSError:
        return
