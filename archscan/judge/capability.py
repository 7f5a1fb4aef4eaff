"""Whether the target can run what is behind an arm: measured facts on an inventory of the code, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST
from archscan.judge.cases import Case
from archscan.judge.needs.features import COMPILED, Need
from archscan.judge.needs.limits import OPT_IN, Overrun, limit, source
from archscan.judge.project import Project
from archscan.model.facts import SiteKind
from archscan.model.finding import Capability, Problem
from archscan.model.gate import Does, Kind, Layer, Mention
from archscan.model.target import Selection


@dataclass(frozen=True, slots=True)
class Capable:
    """The answer with what it rests on."""

    capability: Capability
    lacks: tuple[Need, ...] = ()  # measured "no" on every variant
    missing: tuple[str, ...] = ()  # names nothing is known of
    variants: int = 0  # variants of the target that have every known entry
    over: Overrun | None = None  # the memory that it asks for, where the target has less


def capability_of(
    case: Case, uses: Iterable[Case], project: Project, selection: Selection, catalog: Catalog
) -> Capable:
    """Whether the target can run what is behind the arm of a case.

    `cannot`: some entry is measured "no" on every variant. `can`: nothing is missing, and one and the same variant has
    every entry. Else `unknown`. Uses behind arms that are shut for the target do not count, and words never do. What
    is behind a definition is behind the tests of its macro, the `uses`.
    """
    sure = case.needs.sure
    lacks = tuple(need for need in sure if not need.has)
    if case.problem is Problem.OVER_ADMITTED:
        return Capable(Capability.CANNOT, sure)
    if lacks:
        return Capable(Capability.CANNOT, lacks)
    over = _too_large(case, project, selection, catalog)
    if over is not None:
        return Capable(Capability.CANNOT, over=over)
    variants = selection.mask
    for need in sure:
        variants &= need.has
    missing = _missing(case, tuple(uses), project, selection)
    complete = missing == () and case.gate.layer in COMPILED
    hollow = _hollow(case, project, selection, catalog) if complete else ()
    if hollow:
        return Capable(Capability.CANNOT, hollow)
    if complete and variants:
        return Capable(Capability.CAN, (), (), variants)
    return Capable(Capability.UNKNOWN, (), missing or (), variants)


def _too_large(case: Case, project: Project, selection: Selection, catalog: Catalog) -> Overrun | None:
    """The dynamic shared memory that a launch in the arm asks for, where that is more than the target has."""
    body, cap = case.arm.body if case.arm is not None else None, limit(catalog, selection.sm, OPT_IN)
    if case.gate.layer is not Layer.HOST or body is None or cap is None:
        return None
    sites = (s for s in project.by_path[case.gate.path].sites if s.kind is SiteKind.DYNAMIC_SHARED)
    asked = max((s.value for s in sites if body.line <= s.place.line <= body.end_line), default=0)
    where = source(catalog, selection.sm, OPT_IN)
    return Overrun(OPT_IN, asked, cap, selection.mask, 0, where) if asked > cap else None


def _hollow(case: Case, project: Project, selection: Selection, catalog: Catalog) -> tuple[Need, ...]:
    """What the functions behind the arm are for, where they do nothing on the target, which lacks it.

    A wrapper that is empty needs nothing, and who calls it instead of the other side has nothing done.
    """
    arm = case.arm
    uses = case.gate.rest_features if arm is None else arm.features
    found = []
    for use in uses:
        feature = catalog.features.get(use.feature)
        owner = project.owner(use.path or case.gate.path, use.line) if use.via else None
        if feature is None or owner is None or owner[0] is case.gate or feature.mask & selection.mask:
            continue
        landing = [b for b in project.ways(owner[0]) if b.yes & selection.mask]
        if use.confidence == "high" and landing and not any(b.works or b.effect.refuses for b in landing):
            found.append(Need(feature, use, use.path or case.gate.path, 0, ""))
    return tuple(found)


def _missing(case: Case, uses: tuple[Case, ...], project: Project, selection: Selection) -> tuple[str, ...] | None:
    """The names that nothing is known of; None where nobody looked at some of the code."""
    if not _only_defines(case):
        mentions = _mentions(case)
        return None if mentions is None else _still_missing(mentions, case, project, selection)
    found: dict[str, None] = {}
    for one in uses:
        for arm in one.gate.arms:  # either side of the test may be what the definition switches on
            if arm.missing is None:
                return None
            found.update(dict.fromkeys(mention.name for mention in arm.missing))
    return tuple(found) if uses else None


def _only_defines(case: Case) -> bool:
    """Whether the arm only defines macros: what it lets in is behind the tests of these, which may stand elsewhere."""
    effect = case.gate.rest if case.arm is None else case.arm.effect
    return case.gate.kind is Kind.MACRO_DEFINITION or (
        case.gate.layer is Layer.PREPROCESSOR and effect.does is Does.DEFINES
    )


def _mentions(case: Case) -> tuple[Mention, ...] | None:
    """The names behind the arm that nothing is known of; None where nobody looked."""
    return case.gate.rest_missing if case.guarded == REST else case.gate.arms[case.guarded].missing


def _still_missing(
    mentions: tuple[Mention, ...], case: Case, project: Project, selection: Selection
) -> tuple[str, ...]:
    """The names of those mentions that are compiled for the target once the arm is open."""
    kept = []
    for mention in mentions:
        owner = project.owner(mention.path or case.gate.path, mention.line)
        shut = owner is not None and owner[1] is not case.arm and not selection.mask & ~owner[1].own.no
        if not shut:
            kept.append(mention.name)
    return tuple(dict.fromkeys(kept))
