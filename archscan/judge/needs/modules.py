"""What the modules that a list, a flag or a build makes need of a chip: read in the sources that they compile."""

from __future__ import annotations

import re
from collections.abc import Iterable

from archscan.catalog.types import Catalog
from archscan.judge.needs.features import Need
from archscan.judge.project import Project
from archscan.model.facts import LinkKind
from archscan.model.gate import Arm, FeatureUse, Gate, Kind, Layer
from archscan.model.target import Selection

_COMPILED = (".cu", ".cc", ".cpp", ".cxx", ".c")
_PLACEHOLDER = re.compile(r"[*{?]")


def lacking(gate: Gate, arm: Arm | None, project: Project, selection: Selection, catalog: Catalog) -> tuple[Need, ...]:
    """What every module behind a list or flag uses and no variant of the target has; nothing where one could serve.

    Only what is sure to be compiled and reached counts: uses that the target's `#if` leaves out do not, and neither
    does a source whose host code has a way of its own for the target, or a module with sources that are not there.
    """
    if gate.kind is Kind.KEYWORD_LIST:
        modules = [tuple(dict.fromkeys((*((gate.scope.name,) if gate.scope else ()), *gate.symbols)))]
    elif gate.kind is Kind.BUILD_FLAG and arm is not None:
        modules = [(name,) for name in dict.fromkeys(arm.calls) if _sources((name,), project)]
    else:
        return ()
    found: list[Need] = []
    for names in modules:
        lacks = _lacking_in(names, project, selection, catalog)
        if not lacks:
            return ()
        found += lacks
    return tuple({need.feature.id: need for need in reversed(found)}.values())


def _sources(names: Iterable[str], project: Project) -> tuple[str, ...]:
    """The compiled sources of a module as they are written."""
    links = (link for name in names for link in project.links(LinkKind.JIT_SOURCE, name))
    return tuple(dict.fromkeys(link.target for link in links if link.target.endswith(_COMPILED)))


def _lacking_in(names: Iterable[str], project: Project, selection: Selection, catalog: Catalog) -> list[Need]:
    """What every source of a module with device code in it lacks."""
    found: list[Need] = []
    for written in _sources(names, project):
        paths = project.named_files(written)
        if not paths or _PLACEHOLDER.search(written):
            return []  # made when it is built
        uses = [use for path in paths for use in project.by_path[path].uses]
        if not uses:
            continue  # it binds, and has no kernel of its own
        lacks = [need for use in uses if (need := _lacked(use, project, selection, catalog)) is not None]
        if not lacks or any(_has_own_way(p, project, selection) for p in {*paths, *(need.path for need in lacks)}):
            return []
        found += lacks
    return found


def _lacked(use: FeatureUse, project: Project, selection: Selection, catalog: Catalog) -> Need | None:
    """The need where no variant of the target has what is used; None for what `#if` leaves out, or is in doubt."""
    feature = catalog.features.get(use.feature)
    if feature is None or use.confidence != "high" or feature.mask & selection.mask:
        return None
    owner = project.owner(use.path, use.line)
    if owner is not None and not selection.mask & ~owner[1].truth.no:
        return None
    return Need(feature, use, use.path, 0, "")


def _has_own_way(path: str, project: Project, selection: Selection) -> bool:
    """Whether host code of a file asks for the chip and has a way that works for the target."""
    for gate in project.by_path[path].gates:
        if gate.layer is Layer.HOST:
            ways = project.ways(gate)
            if any(b.conditional and b.works and b.yes & selection.mask for b in ways):
                return True
    return False
