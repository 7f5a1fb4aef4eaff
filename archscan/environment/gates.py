"""What scans of the sources and libraries of distributions say for one GPU, kept as long as no file of them changes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from archscan.cache import Keeper, default_directory, hashed
from archscan.environment.installed import Installed
from archscan.environment.model import Gates, Question, Row, Runs, State, Told
from archscan.model.finding import Advice
from archscan.model.report import Chain, Report
from archscan.reporting.features import Feature, features

_MOST_TOLD = 20
_IDLE = {"hollow-kernel": "hollow", "trap-kernel": "trap"}  # each finding counts both
Scan = Callable[[tuple[str, ...]], Report]


@dataclass(frozen=True)
class _Kept:
    """What scans said, by the path of a distribution, with what its files were then."""

    gates: dict[str, tuple[str, Gates]] = field(default_factory=dict)
    runs: dict[tuple[str, ...], tuple[str, dict[str, Runs]]] = field(default_factory=dict)  # by all that was scanned


class Remembered:
    """The gates of the distributions of one environment for one GPU."""

    def __init__(self, environment: Sequence[str], target: str, facts: str, use_cache: bool) -> None:
        self._name = hashed("gates", target, facts, *environment) + ".gates"
        self._keeper = Keeper(default_directory()) if use_cache else None
        kept = (self._keeper.load(self._name, _Kept) if self._keeper else None) or _Kept()
        self._gates: dict[str, tuple[str, Gates]] = dict(kept.gates)
        self._runs: dict[tuple[str, ...], tuple[str, dict[str, Runs]]] = dict(kept.runs)

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
        self._store()
        return found

    def runs(self, roots: Sequence[Installed], others: Sequence[Installed], scan: Scan | None) -> Mapping[str, Runs]:
        """What the roots run of the others, by the paths of these; empty where nothing was scanned."""
        paths = {one.path: own_paths(one) for one in (*roots, *others)}
        together = tuple(path for each in paths.values() for path in each)
        known, stamp = self._runs.get(together), _stamp(together)
        if known is not None and known[0] == stamp:
            return known[1]
        if scan is None:
            return {}
        found = runs_of(scan(together), roots, {one.path: paths[one.path] for one in others})
        self._runs[together] = (stamp, found)
        self._store()
        return found

    def _store(self) -> None:
        if self._keeper:  # at once: who stops it keeps what was done
            self._keeper.store(self._name, _Kept(self._gates, self._runs))


def with_gates(rows: Sequence[Row], remembered: Remembered, scan: Scan | None) -> tuple[Row, ...]:
    """The rows with the gates of those distributions that can have some."""
    able = frozenset(row.installed.path for row in may_have_gates(rows))
    return tuple(
        replace(row, gates=remembered.of(row.installed, scan)) if row.installed.path in able else row for row in rows
    )


def with_runs(rows: Sequence[Row], names: frozenset[str], remembered: Remembered, scan: Scan | None) -> tuple[Row, ...]:
    """The rows with what the distributions of these names run of them, where something of theirs is shut."""
    roots = [row.installed for row in rows if row.installed.key in names]
    shut = [row.installed for row in rows if row.installed.key not in names and row.gates and row.gates.is_shut]
    runs = remembered.runs(roots, shut, scan) if roots and shut else {}
    return tuple(replace(row, runs=runs.get(row.installed.path)) for row in rows)


def advised(rows: Sequence[Row], asked: Question) -> tuple[Row, ...]:
    """The rows with what to do once their gates are known, where nothing else is to be done first."""
    return tuple(row if row.gates is None else replace(row, do=_do(row, row.gates, asked)) for row in rows)


def _do(row: Row, gates: Gates, asked: Question) -> str:
    is_free = row.do == "nothing" or (row.first_use is not None and row.state is State.UNKNOWN)
    if row.state is not State.NO_CODE and not is_free:
        return row.do
    if not gates.is_shut:
        return row.do and "nothing"
    chain = row.runs.opens if row.runs is not None and row.runs.shut else gates.opens
    if not chain:
        return f"see what is shut: {asked.opening(row.installed.name)}"
    command = ["archscan", "fix", "--chain", chain, "--target", asked.selection.name, *own_paths(row.installed)]
    return f"see what opens {chain}: {shlex.join(command)}"


def runs_of(report: Report, roots: Sequence[Installed], others: Mapping[str, Sequence[str]]) -> dict[str, Runs]:
    """What is shut of each of the others and run by the roots, in the order of the report."""
    mine = _below(path for one in roots for path in own_paths(one))
    told = [f for f in features(report) if f.chain is not None and not f.is_right]
    run = [f for f in told if f.chain is not None and _is_run(f.chain, mine)]
    by = ", ".join(one.name for one in roots)
    found = {}
    for path, paths in others.items():
        tops = _below(paths)
        of_it = [f for f in run if f.chain is not None and any(s.path.startswith(tops) for s in f.chain.steps)]
        shut = tuple(dict.fromkeys(name for f in of_it for name in (f.name, *f.also)))
        found[path] = Runs(by, shut, next((f.name for f in of_it if _is_known(f)), ""))
    return found


def _below(paths: Iterable[str]) -> tuple[str, ...]:
    """How the paths of a report over several begin that lie below these."""
    return tuple(f"{os.path.basename(path.rstrip(os.sep))}/" for path in paths)


def _is_run(chain: Chain, tops: tuple[str, ...]) -> bool:
    """Whether code below these paths runs a chain, or asks a gate of its own before it does."""
    return any(place.startswith(tops) for place in (*chain.callers, *(step.path for step in chain.steps)))


def _is_known(feature: Feature) -> bool:
    """Whether it is known what opening a feature does, and that something is behind it."""
    gates = feature.to_open
    return (
        not (feature.is_right or feature.is_listing or feature.lacking)
        and feature.chain is not None
        and bool(gates)
        and not any(gate.advice is Advice.INVESTIGATE for gate in gates)
    )


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
    opens = next((feature.name for feature in features(report) if _is_known(feature)), "")
    return Gates(severities, hollow, (len(jit) - shut, shut), tuple(told), opens)


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
