"""Compares every `#if` region of an oracle (made with nvcc's own preprocessor) with the gates of a scan.

    python scripts/oracle_diff.py ORACLE.jsonl.gz CORPORA

CORPORA holds the packages as PACKAGE-VERSION/PACKAGE; a row gives package, version, path below that folder, line,
condition, and the targets where the region is live and dead. Prints wrong, unknown and unseen regions per foundation
(file, includes, project-table) and exits 1 if a definite answer is wrong, or a region is not seen.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archscan.catalog import load
from archscan.catalog.types import Catalog
from archscan.frontends.cuda.front_end import CudaFrontEnd
from archscan.frontends.protocol import Context
from archscan.model.facts import Source
from archscan.model.gate import Arm, Via
from archscan.model.settings import ScanSettings

Row = dict[str, Any]


@dataclass
class Outcome:
    """Answers of one comparison, counted by what they rest on."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unseen: list[Row] = field(default_factory=list)
    wrong_rows: list[tuple[Row, str, str]] = field(default_factory=list)
    unknown_rows: list[tuple[Row, str, tuple[str, ...]]] = field(default_factory=list)

    @property
    def answers(self) -> int:
        return sum(self.right.values()) + sum(self.wrong.values()) + sum(self.unknown.values())


def read_rows(path: Path) -> list[Row]:
    """The rows of an oracle."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def arms_of(folder: Path, catalog: Catalog) -> dict[tuple[str, int], Arm]:
    """Every arm of every gate of a package, by path below the folder and line of its directive."""
    front_end, context = CudaFrontEnd(), Context(catalog, ScanSettings(layers=frozenset({"preprocessor"})))
    indexes = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if file.is_file() and front_end.wants(path):
            index = front_end.index(Source(path, file.read_bytes()), context)
            if index is not None:
                indexes[path] = index
    project = front_end.link(indexes, context)
    found: dict[tuple[str, int], Arm] = {}
    for path, index in indexes.items():
        for gate in front_end.gates(index, project, context).gates:
            found.update({(path, arm.place.line): arm for arm in gate.arms})
    return found


def compare(rows: Iterable[Row], corpora: Path, catalog: Catalog) -> Outcome:
    """The outcome over rows of any number of packages."""
    outcome = Outcome()
    packages: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        packages.setdefault((row["package"], row["version"]), []).append(row)
    for (package, version), mine in packages.items():
        arms = arms_of(corpora / f"{package}-{version}" / package, catalog)
        for row in mine:
            arm = arms.get((row["path"], row["line"]))
            if arm is None:
                outcome.unseen.append(row)
            else:
                _count(outcome, row, arm, catalog)
    return outcome


def _count(outcome: Outcome, row: Row, arm: Arm, catalog: Catalog) -> None:
    universe = catalog.universe
    for name, expected in _expected(row):
        word = arm.truth.word(universe.bit(universe.by_name[name]))
        if word == expected:
            outcome.right[arm.via.value] += 1
        elif word == "unknown":
            outcome.unknown[arm.via.value] += 1
            outcome.unknown_rows.append((row, name, arm.unknowns))
        else:
            outcome.wrong[arm.via.value] += 1
            outcome.wrong_rows.append((row, name, arm.via.value))


def _expected(row: Row) -> Iterator[tuple[str, str]]:
    for name in row["live"]:
        yield name, "yes"
    for name in row["dead"]:
        yield name, "no"


def main(arguments: list[str]) -> int:
    """Prints the comparison; 1 if it failed."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    outcome = compare(read_rows(Path(arguments[0])), Path(arguments[1]), load())
    total = outcome.answers
    print(f"{total} answers, {len(outcome.unseen)} regions unseen")
    for via in Via:
        v = via.value
        print(f"  {v:14} right {outcome.right[v]:6} wrong {outcome.wrong[v]:4} unknown {outcome.unknown[v]:5}")
    unknown = sum(outcome.unknown.values())
    print(f"  unknown {100 * unknown / max(total, 1):.2f} %")
    for row in outcome.unseen[:20]:
        print(f"unseen  {row['path']}:{row['line']}  #{row['condition'][:90]}")
    for row, name, via in outcome.wrong_rows[:60]:
        live = name in row["live"]
        print(f"wrong   {row['path']}:{row['line']}  {name} live={live} via {via}  #{row['condition'][:80]}")
    names = Counter(n for _, _, unknowns in outcome.unknown_rows for n in unknowns)
    print("unknown because of:", ", ".join(f"{name} ({count})" for name, count in names.most_common(25)))
    return 1 if outcome.wrong_rows or outcome.unseen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
