"""Programmatic launch: the host's attribute, the wait in the kernel and the trigger must be live together."""

from __future__ import annotations

from dataclasses import dataclass

from archscan.judge.cases import Case, site_gate
from archscan.judge.consequences import overlaps_nothing
from archscan.judge.pairs.related_sites import DEVICE, VANISHES, Counterpart, Pair, Pairing, function_of, mismatch
from archscan.judge.project import Project, names_in
from archscan.model.facts import FileFacts, Origin, Site, SiteKind
from archscan.model.finding import Consequence
from archscan.model.gate import Gate, Kind, Layer, Related, Role


def launch_attributes(pairing: Pairing) -> None:
    """The launch attribute is set for the target, and the device code does not wait."""
    waits = _waits(pairing)
    for file, site in pairing.project.sites.get(SiteKind.PDL_ATTRIBUTE, ()):
        decider = _decider(pairing, file, site)
        if decider is not None and id(decider.gate) in pairing.shut_gates:
            pairing.asks[id(pairing.shut_gates[id(decider.gate)])] = "griddep-wait"
        if pairing.selection.mask & ~site.truth.no == 0:
            continue
        shut = [w for w in waits if _launched_by(w, file, site, pairing.project)]
        if shut and (decider is None or decider.yes & pairing.selection.mask):
            pairing.mismatches.append(_attribute_mismatch(pairing, file, site, shut, decider))


def _waits(pairing: Pairing) -> list[Case]:
    """Cases in which a wait for the grids before is compiled out."""
    waits = []
    for case in pairing.shut:
        if not case.needs.items or overlaps_nothing(case.needs):
            continue
        vanishes = case.gate.layer in DEVICE and case.gets.does in VANISHES
        if vanishes and any(n.feature.group == "griddep-wait" for n in case.needs.sure):
            waits.append(case)
    return waits


def _launched_by(wait: Case, file: FileFacts, site: Site, project: Project) -> bool:
    """Whether the host code around an attribute launches the kernel that misses its wait."""
    scope, name = wait.gate.scope, function_of(wait.gate)
    if wait.gate.path != file.path:
        helps = scope is not None and not scope.is_kernel and wait.file.origin is Origin.OWN
        if helps and project.includes(file.path, wait.gate.path):
            return True  # a helper of the project: its kernels are for whoever includes it
        return bool(site.function and name) and name in project.closure([site.function])
    if scope is None or not scope.is_kernel:
        return True  # a helper: who calls it is not known
    launched, elsewhere = _kernels_launched(file, site.function)
    return name in launched if launched else name not in elsewhere


def _kernels_launched(file: FileFacts, function: str) -> tuple[frozenset[str], frozenset[str]]:
    """The kernels of a file that a function launches by name, and those that other functions do."""
    kernels = {s.name for s in file.sites if s.kind is SiteKind.KERNEL}
    launches = [(s.function, s.name) for s in file.sites if s.kind is SiteKind.LAUNCH and s.name in kernels]
    return (
        frozenset(name for by, name in launches if by == function),
        frozenset(name for by, name in launches if by != function),
    )


@dataclass(frozen=True, slots=True)
class _Decider:
    """The host predicate that an attribute's value asks."""

    file: FileFacts
    gate: Gate
    yes: int


def _decider(pairing: Pairing, file: FileFacts, site: Site) -> _Decider | None:
    """The gate that decides whether the attribute is set: one in the same file that asks what the value names."""
    names = names_in(site.detail)
    for gate in file.gates:
        scope = function_of(gate)
        if gate.layer is Layer.HOST and gate.arms and names & {scope, *gate.symbols}:
            return _Decider(file, gate, pairing.project.ways(gate)[0].yes)
    return None


def _attribute_mismatch(
    pairing: Pairing, file: FileFacts, site: Site, shut: list[Case], decider: _Decider | None
) -> Case:
    name = pairing.selection.name
    place = decider.gate.place if decider else site.place
    for wait in shut:
        message = f"sets the launch attribute also for {name}"
        pairing.add(wait, Pair(Counterpart.LAUNCH_ATTRIBUTE, file.path, place.line, True, message))
    related = tuple(Related(w.gate.path, w.place.line, Role.PAIR, f"the wait is compiled out for {name}") for w in shut)
    gate = decider.gate if decider else site_gate(file, site, Kind.FLAG, site.truth, Layer.HOST)
    return mismatch(file, gate, 0, place, shut[0], Consequence.RACE, related)


def triggers(pairing: Pairing) -> None:
    """An early start is safe only where the kernels that it lets start wait: the two open together."""
    waits = _waits(pairing)
    early = [c for c in pairing.shut if _is_trigger(c)]
    for wait in waits:
        near = [t for t in early if t.gate.path == wait.gate.path and (_scope(t) == _scope(wait) or not _in_kernel(t))]
        for trigger in near:
            pairing.both(
                trigger,
                Counterpart.WAIT,
                wait,
                Counterpart.TRIGGER,
                "the wait is compiled out too: open both",
                "the trigger is compiled out too",
            )
        if not any(p.half is Counterpart.LAUNCH_ATTRIBUTE for p in pairing.pairs[id(wait)].values()):
            _live_triggers(pairing, wait)


def _is_trigger(case: Case) -> bool:
    sure = case.needs.sure
    return case.gate.layer in DEVICE and bool(sure) and all(n.feature.group == "griddep-launch" for n in sure)


def _scope(case: Case) -> str:
    return case.gate.scope.name if case.gate.scope else ""


def _in_kernel(case: Case) -> bool:
    return case.gate.scope is not None and case.gate.scope.is_kernel


def _live_triggers(pairing: Pairing, wait: Case) -> None:
    """Triggers of the same file that the target keeps although it loses the wait."""
    name = pairing.selection.name
    behind = pairing.project.closure(wait.arm.calls) if wait.arm is not None else frozenset()
    for site in wait.file.sites:
        if site.function in behind:
            continue  # it goes with the wait
        if site.kind is SiteKind.PDL_TRIGGER and site.truth.yes & pairing.selection.mask:
            message = f"lets the next kernel start early on {name}"
            pairing.add(wait, Pair(Counterpart.TRIGGER, wait.gate.path, site.place.line, True, message))
            related = (Related(wait.gate.path, wait.place.line, Role.PAIR, f"the wait is compiled out for {name}"),)
            gate = site_gate(wait.file, site, Kind.FLAG, site.truth, Layer.DEVICE)
            pairing.mismatches.append(mismatch(wait.file, gate, 0, site.place, wait, Consequence.RACE, related))
            return
