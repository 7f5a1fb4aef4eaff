"""100 labelled lines of two real packages: at least 95 in 100 decided right, and hardly any answer wrong."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from python_sites import answers, arms_at, paths, sites, verdict

from archscan.catalog import load
from archscan.frontends.protocol import Context
from archscan.frontends.python import PythonFrontEnd
from archscan.model.facts import FileFacts, Source
from archscan.model.settings import ScanSettings

CORPORA = os.environ.get("ARCHSCAN_CORPORA", "")


@pytest.mark.corpora
@pytest.mark.slow
@pytest.mark.skipif(not CORPORA, reason="needs the real packages: set ARCHSCAN_CORPORA")
def test_labelled_sites_are_decided_right() -> None:
    context = Context(load(), ScanSettings())
    labelled = sites()
    _need({site.package for site in labelled})
    score: Counter[str] = Counter()
    for package in sorted({site.package for site in labelled}):
        facts = _facts(Path(CORPORA) / package, paths(package, labelled), context)
        for site in labelled:
            if site.package == package:
                score[verdict(context.catalog.universe, facts.get(site.path), site)] += 1
    assert score["right"] >= 95, score
    assert score["wrong"] <= 2, score


@pytest.mark.corpora
@pytest.mark.slow
@pytest.mark.skipif(not CORPORA, reason="needs the real packages: set ARCHSCAN_CORPORA")
def test_known_gates_shut_out_the_target_and_lookalikes_are_silent() -> None:
    context = Context(load(), ScanSettings())
    rows = [
        json.loads(line) for line in (Path(__file__).parent / "data" / "python_real.jsonl").read_text().splitlines()
    ]
    _need({row["package"] for row in rows})
    for package in sorted({row["package"] for row in rows}):
        mine = [row for row in rows if row["package"] == package]
        facts = _facts(Path(CORPORA) / package, {row["path"] for row in mine}, context)
        for row in mine:
            assert _shut(context, facts.get(row["path"]), row) == (row["gate"], row["excluded"]), row


def _need(packages: set[str]) -> None:
    """Skips where a package is not there: what is not read cannot be judged."""
    missing = sorted(package for package in packages if not (Path(CORPORA) / package).is_dir())
    if missing:
        pytest.skip(f"ARCHSCAN_CORPORA lacks {', '.join(missing)}")


def _shut(context: Context, facts: FileFacts | None, row: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a gate stands on the lines, and whether the GPU gets its refusal or not what it guards."""
    lines = range(row["line"], row["line"] + row["lines"])
    found = [pair for line in lines for pair in arms_at(facts, line)]
    if not found:
        return False, False
    _, arm = found[0]
    taken = answers(context.catalog.universe, arm, row["sm"]) == "yes"
    return True, taken == arm.effect.refuses


def _facts(root: Path, wanted: set[str], context: Context) -> dict[str, FileFacts]:
    front = PythonFrontEnd()
    sources = [Source(p.relative_to(root).as_posix(), p.read_bytes(), str(p)) for p in sorted(root.rglob("*.py"))]
    indexes = {s.path: index for s in sources if (index := front.index(s, context)) is not None}
    project = front.link(indexes, context)
    return {path: front.gates(indexes[path], project, context) for path in sorted(wanted) if path in indexes}
