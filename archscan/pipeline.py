"""The program on one page: discover -> index -> link -> gates -> judge; reporting and fixing take it from there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from archscan.catalog.types import Catalog
from archscan.engine import Watch, Workings, run
from archscan.frontends.protocol import Context
from archscan.model.facts import Facts
from archscan.model.finding import Finding
from archscan.model.gate import Place
from archscan.model.report import Report
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.model.target import Selection
from archscan.sources import discover, vendored_trees
from archscan.workers import Mapper

if TYPE_CHECKING:
    from archscan.tracing.code import Code


def scan(
    paths: Sequence[str],
    catalog: Catalog,
    settings: ScanSettings,
    overlay: Mapping[str, bytes] | None = None,
    mapper: Mapper | None = None,
    watch: Watch | None = None,
    workings: Workings | None = None,
) -> Facts:
    """Everything the code under `paths` says about architectures, for any target.

    `mapper` is the executor that spreads the work: by default processes on this machine, else anything with the `map`
    of concurrent.futures, such as Dask's `client.get_executor()`. `watch` is told now and then how many files of how
    many are read. `workings` is filled with what fixes can be proven by. Raises archscan.errors.UserError if there is
    nothing to scan.
    """
    discovery = discover(paths, settings, vendored_trees(catalog.packages))
    facts = run(discovery, Context(catalog, settings), overlay, mapper, watch, workings)
    if not discovery.libraries:
        return facts
    from archscan.libraries import with_libraries

    return with_libraries(facts, discovery, settings, mapper)


def with_kernels(
    facts: Facts,
    selection: Selection,
    catalog: Catalog,
    reading: ScanSettings,
    judging: JudgeSettings,
    mapper: Mapper | None = None,
    names: bool = False,
) -> Facts:
    """The facts with what the kernels do that the target gets of compiled libraries: a report without them has less.

    With `names`, one image of each other module is read as well: which kernels it has.
    """
    if not facts.libraries:
        return facts
    from archscan import libraries
    from archscan.judge import is_shown

    return libraries.with_kernels(facts, selection, catalog, reading, lambda one: is_shown(one, judging), mapper, names)


def report(
    facts: Facts, selection: Selection, catalog: Catalog, settings: JudgeSettings, code: Code | None = None
) -> Report:
    """The facts judged for one target: verdict -> consequence -> features -> risk -> findings, worst first -> chains.

    The user's filters come after the chains: a gate that is only not shown is still shut. With `code`, callers are
    followed over packages too: who shuts the target out of code that lets it in.
    """
    from archscan.judge import judge, wanted
    from archscan.tracing.called import with_calls
    from archscan.tracing.chains import with_chains

    everything = replace(
        settings,
        problems=frozenset(),
        layers=frozenset(),
        rules=frozenset(),
        min_risk="info",
        min_severity="info",
        advice=frozenset(),
        focus=(),
    )
    from archscan.reporting.places import Places

    load = Places(facts).sources().data
    chained = with_chains(with_calls(judge(facts, selection, catalog, everything), load), catalog, load)
    if code is not None:
        from archscan.tracing.consumers import with_consumers

        chained = with_consumers(chained, code, catalog)
    kept = _not_ignored(wanted(chained.findings, settings), settings.ignored)
    if len(kept) == len(chained.findings):
        return chained
    filtered = len(_places(chained.findings, facts) - _places(kept, facts))
    hidden = (*chained.hidden, ("filtered out", filtered)) if filtered else chained.hidden
    return replace(chained, findings=kept, hidden=hidden)


def _not_ignored(findings: Sequence[Finding], ignored: Sequence[tuple[str, frozenset[str]]]) -> tuple[Finding, ...]:
    """The findings without those of a rule that is not reported of their path."""
    if not ignored:
        return tuple(findings)
    from archscan.sources.patterns import Patterns

    rows = [(Patterns([os.fsencode(pattern)]), rules) for pattern, rules in ignored]

    def is_ignored(finding: Finding) -> bool:
        parts = finding.path.split("/")
        above = ["/".join(parts[:end]) for end in range(1, len(parts))]
        return any(
            finding.rule in rules
            and (patterns.decides(finding.path, False) or any(patterns.decides(path, True) for path in above))
            for patterns, rules in rows
        )

    return tuple(finding for finding in findings if not is_ignored(finding))


def _places(findings: Sequence[Finding], facts: Facts) -> set[tuple[str, Place]]:
    """The gates that these findings are about; some findings are about places that are no gate."""
    gates = {(gate.path, gate.place) for file in facts.files for gate in file.gates}
    return {(f.gate.path, f.gate.place) for f in findings} & gates
