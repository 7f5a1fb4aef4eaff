"""Sets the halves of one feature against each other: who else decides, and does it answer the same for the target?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from archscan.catalog.types import Catalog
from archscan.judge.cases import Case
from archscan.judge.needs.features import Needs, needs_to_open
from archscan.judge.pairs.launches import helpers, host_layouts, host_predicates, launches
from archscan.judge.pairs.lists import builds, mentions, sources, tables, unbuilt
from archscan.judge.pairs.macros import inherited, macros, with_uses
from archscan.judge.pairs.overlap import launch_attributes, triggers
from archscan.judge.pairs.related_sites import Counterpart, Pair, Pairing, Pairs
from archscan.judge.project import Project
from archscan.model.facts import FileFacts
from archscan.model.target import Selection

__all__ = ["Counterpart", "Pair", "Pairs", "asking", "pair_up", "with_uses"]


def pair_up(
    cases: Iterable[Case],
    project: Project,
    selection: Selection,
    catalog: Catalog,
    shows: Callable[[FileFacts], bool],
) -> Pairs:
    """Every pair among the cases, and between a case and a half that has no case of its own."""
    pairing = Pairing(cases, project, selection, catalog, shows)
    for step in (
        macros,
        launch_attributes,
        inherited,
        triggers,
        launches,
        helpers,
        host_predicates,
        host_layouts,
        tables,
        mentions,
        sources,
        unbuilt,
        builds,
    ):
        step(pairing)
    by_case = {key: tuple(found.values()) for key, found in pairing.pairs.items()}
    return Pairs(
        by_case,
        tuple(pairing.mismatches),
        pairing.asks,
        frozenset(pairing.routed),
        pairing.closers,
        frozenset(pairing.under),
    )


def asking(case: Case, feature: str, project: Project, selection: Selection, catalog: Catalog) -> Case:
    """The case of a host decision with the device feature that it decides about."""
    said = needs_to_open(case.gate, None, (feature,), project, selection, catalog)
    return case._replace(needs=Needs((*case.needs.items, *said.items)))
