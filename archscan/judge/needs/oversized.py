"""Finds constants outside every gate that exceed what the target has: shared memory, clusters, threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST
from archscan.judge.cases import Case, site_gate
from archscan.judge.chips import chips_named
from archscan.judge.needs.features import Needs
from archscan.judge.needs.limits import THREADS, overrun
from archscan.judge.needs.obstacles import Obstacle
from archscan.judge.project import Project
from archscan.model.facts import FileFacts, Site, SiteKind
from archscan.model.finding import Problem
from archscan.model.gate import Does, Effect, Gate, Kind, Layer
from archscan.model.target import Selection

_SIZED = frozenset({SiteKind.STATIC_SHARED, SiteKind.DYNAMIC_SHARED, SiteKind.CLUSTER_DIMS, SiteKind.LAUNCH_BOUNDS})


def oversized(
    file: FileFacts, project: Project, selection: Selection, catalog: Catalog, cases: Iterable[Case]
) -> Iterator[Case]:
    """Constants outside every gate that exceed what the target has.

    What a table of limits gets wrong is its affair, and so are the values that an `#if` around a macro chooses.
    """
    if not file.sites:
        return
    cases = tuple(cases)
    tabled = any(c.limit == THREADS for c in cases)
    chosen = any(c.gate.kind is Kind.MACRO_DEFINITION and c.problem is Problem.EXCLUDED for c in cases)
    values = Counter(s.place for s in file.sites if s.kind is SiteKind.LAUNCH_BOUNDS)
    for site in file.sites:
        if site.kind is SiteKind.LAUNCH_BOUNDS and (tabled or (chosen and values[site.place] > 1)):
            continue
        on_host = site.kind is SiteKind.DYNAMIC_SHARED
        if site.kind in _SIZED and (over := overrun(site, selection, catalog)):
            if on_host and not _arrives(file, site, project, selection, catalog):
                continue
            yield Case(
                file=file,
                gate=site_gate(file, site, Kind.RESOURCE, site.truth, Layer.HOST if on_host else Layer.DEVICE),
                problem=Problem.OVER_ADMITTED,
                guarded=0,
                place=site.place,
                gets=Effect(Does.WORK),
                needs=Needs(),
                obstacle=Obstacle(overrun=over, variants=over.exceeds, fits=over.fits),
            )


def _arrives(file: FileFacts, site: Site, project: Project, selection: Selection, catalog: Catalog) -> bool:
    """Whether host code gets to a site on the target: no gate around or above it turns the target away.

    Code that is named for other chips is taken to be called for those alone, unless an arm lets the target in.
    """
    named = chips_named(f"{site.function} {site.name} {file.path.rsplit('/', 1)[-1]}", catalog)
    host = [gate for gate in file.gates if gate.layer is Layer.HOST]
    if named and not any(sm // 10 == selection.major for sm in named) and not _let_in(host, site, project, selection):
        return False
    return all(_passes(gate, site, project, selection) for gate in host)


def _let_in(host: list[Gate], site: Site, project: Project, selection: Selection) -> bool:
    """Whether a condition around a site holds for the target."""
    taken = [gate.arms[b.arm] for gate in host for b in project.ways(gate) if b.conditional and b.yes & selection.mask]
    return any(arm.body is not None and arm.body.line <= site.place.line <= arm.body.end_line for arm in taken)


def _passes(gate: Gate, site: Site, project: Project, selection: Selection) -> bool:
    landing = [b for b in project.ways(gate) if (b.yes | b.maybe) & selection.mask]
    for index, arm in enumerate(gate.arms):
        inside = arm.body is not None and arm.body.line <= site.place.line <= arm.body.end_line
        if (inside or site.function in arm.calls) and not any(b.arm == index for b in landing):
            return False
    above = gate.scope is not None and gate.place.line < site.place.line
    if above and gate.scope and gate.scope.name.split("::")[-1] == site.function:
        return not landing or any(b.arm == REST or not b.effect.refuses for b in landing)
    return True
