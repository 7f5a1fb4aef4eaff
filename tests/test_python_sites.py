"""100 labelled lines of two real packages: at least 95 in 100 decided right, and hardly any answer wrong."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from python_sites import paths, sites, verdict

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
    score: Counter[str] = Counter()
    for package in sorted({site.package for site in labelled}):
        facts = _facts(Path(CORPORA) / package, paths(package, labelled), context)
        for site in labelled:
            if site.package == package:
                score[verdict(context.catalog.universe, facts.get(site.path), site)] += 1
    assert score["right"] >= 95, score
    assert score["wrong"] <= 2, score


def _facts(root: Path, wanted: set[str], context: Context) -> dict[str, FileFacts]:
    front = PythonFrontEnd()
    sources = [Source(p.relative_to(root).as_posix(), p.read_bytes(), str(p)) for p in sorted(root.rglob("*.py"))]
    indexes = {s.path: index for s in sources if (index := front.index(s, context)) is not None}
    project = front.link(indexes, context)
    return {path: front.gates(indexes[path], project, context) for path in sorted(wanted) if path in indexes}
