"""The program on one page: discover -> index -> link -> gates -> judge; reporting and fixing take it from there."""

from __future__ import annotations

from collections.abc import Sequence

from archscan.catalog.types import Catalog
from archscan.frontends.protocol import Context, Overlay
from archscan.frontends.registry import front_ends
from archscan.judge import judge
from archscan.model.facts import Facts, FileFacts
from archscan.model.report import Report
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.model.target import Selection
from archscan.sources import discover


def scan(paths: Sequence[str], catalog: Catalog, settings: ScanSettings, overlay: Overlay | None = None) -> Facts:
    """Everything the code under `paths` says about architectures, for any target.

    Raises archscan.errors.UserError for a path that does not exist or a directory with nothing to scan.
    """
    discovery = discover(paths, settings)
    sources = (overlay or Overlay()).apply(discovery.sources)
    context = Context(catalog, settings)
    files: list[FileFacts] = []
    for front_end in front_ends(settings.layers):
        mine = [s for s in sources if front_end.wants(s.path)]
        indexes = {s.path: index for s in mine if (index := front_end.index(s, context)) is not None}
        project = front_end.link(indexes, context)
        files += [front_end.gates(index, project, context) for index in indexes.values()]
    files.sort(key=lambda f: f.path)
    return Facts(
        files=tuple(files),
        skipped=discovery.skipped,
        failed=discovery.failed,
        roots=discovery.roots,
        bytes_read=sum(len(s.data) for s in sources),
    )


def report(facts: Facts, selection: Selection, catalog: Catalog, settings: JudgeSettings) -> Report:
    """The facts judged for one target: verdict -> consequence -> features -> risk -> findings, worst first."""
    return judge(facts, selection, catalog, settings)
