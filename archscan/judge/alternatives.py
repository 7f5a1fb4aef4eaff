"""Gates that stand side by side and are one choice: template tags of one kernel, definitions of one macro."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from archscan.judge.branches import REST
from archscan.judge.cases import Case
from archscan.judge.project import Project
from archscan.judge.verdicts import nearness
from archscan.model.gate import Gate, Kind, Layer
from archscan.model.target import Selection, Universe

Key = tuple[str, Kind, str]


def without_served(cases: Iterable[Case], project: Project, selection: Selection) -> tuple[Case, ...]:
    """The cases without those of a choice that serves the target; of one that does not, the nearest alone remains."""
    kept: list[Case] = []
    missed: dict[Key, list[Case]] = defaultdict(list)
    for case in cases:
        key = _key(case.gate) if case.shut is not None else None
        if key is None:
            kept.append(case)
        elif not _served(case, key, project, selection):
            missed[key].append(case)
    for found in missed.values():
        kept.append(min(found, key=lambda c: _nearness(c, selection, project.universe)))
    return tuple(kept)


def _key(gate: Gate) -> Key | None:
    """What the gate is one choice of, or None where it stands alone."""
    if gate.kind is Kind.MACRO_DEFINITION and gate.symbols:
        return gate.path, gate.kind, " ".join(gate.symbols)
    if gate.kind is Kind.WINDOW and gate.layer is not Layer.PYTHON and gate.scope is not None:
        return gate.path, gate.kind, gate.scope.name
    return None


def _served(case: Case, key: Key, project: Project, selection: Selection) -> bool:
    """Whether another gate of the choice gives the target what it needs; one that encloses the case is no other."""
    return any(
        gate is not case.gate and _key(gate) == key and not _encloses(gate, case) and _serves(gate, project, selection)
        for gate in project.by_path[case.gate.path].gates
    )


def _encloses(gate: Gate, case: Case) -> bool:
    return any(a.body is not None and a.body.line <= case.gate.place.line <= a.body.end_line for a in gate.arms)


def _serves(gate: Gate, project: Project, selection: Selection) -> bool:
    return any(b.yes & selection.mask and b.works and b.conditional for b in project.ways(gate) if b.arm != REST)


def _nearness(case: Case, selection: Selection, universe: Universe) -> tuple[int, int, int]:
    assert case.shut is not None
    return (*nearness(case.shut.missed.yes & selection.peers, selection, universe), case.place.line)
