"""Host code against its kernels: what it launches, for which layout, and which way the device goes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from archscan.judge.branches import REST
from archscan.judge.cases import Case
from archscan.judge.consequences import consequence
from archscan.judge.pairs.related_sites import DEVICE, VANISHES, Counterpart, Pair, Pairing, function_of, mismatch
from archscan.judge.project import Project, names_in
from archscan.model.facts import FileFacts, LinkKind, Site, SiteKind
from archscan.model.finding import Consequence
from archscan.model.gate import Does, Gate, Kind, Layer, Related, Role

_LOUD = frozenset({Does.RAISES, Does.ASSERTS, Does.TRAPS, Does.ERRORS})
_NUMBER = re.compile(r"\s*(?:\w+=(?!=))?\s*\d+[uUlL]*\s*|\s*(?:true|false)\s*")


def launches(pairing: Pairing) -> None:
    """Host ladders against the bound on the device: what they launch for the target is compiled out, or traps."""
    device = [c for c in pairing.shut if _is_device_half(c) and c.gets.does in VANISHES]
    by_name: dict[str, list[Case]] = defaultdict(list)
    for case in device:
        for name in _kernel_names(case):
            by_name[name].append(case)
    if not by_name:
        return
    named: dict[int, list[bool]] = defaultdict(list)
    for file, gate, index, names in _host_arms(pairing):
        branch = next(b for b in pairing.project.ways(gate) if b.arm == index)
        takes = bool(branch.yes & pairing.selection.mask)
        for case in _unique(c for n in names for c in by_name.get(n, ())):
            named[id(case)].append(takes)
            if takes and branch.effect.does not in (Does.RAISES, Does.REFUSES) and not _is_part(case):
                _launch_mismatch(pairing, file, gate, index, case)
    pairing.routed |= {key for key, takes in named.items() if not any(takes)}


def _is_part(case: Case) -> bool:
    """Whether a part of a kernel is left out without a word: nobody sees whether the launch is one that gets there."""
    scope = case.gate.scope
    part = case.gate.layer is Layer.PREPROCESSOR and scope is not None and scope.is_kernel and not scope.whole_body
    return part and case.gets.does is Does.NOTHING


def _is_device_half(case: Case) -> bool:
    return case.gate.layer in DEVICE or (case.gate.kind is Kind.WINDOW and case.gate.layer is Layer.HOST)


def _kernel_names(case: Case) -> frozenset[str]:
    """Names by which host code can mean the device code of a case."""
    if case.gate.kind is Kind.WINDOW:
        return frozenset(case.gate.symbols[:1])  # the tag; the kernel serves every tag
    scope = case.gate.scope.name if case.gate.scope else ""
    return frozenset(n for n in names_in(" ".join((scope, *case.gate.symbols))) if len(n) > 2)


def _host_arms(pairing: Pairing) -> Iterator[tuple[FileFacts, Gate, int, frozenset[str]]]:
    """Every arm of a host gate that launches something, and what follows a check, with the names it launches by."""
    for file in pairing.project.files:
        launches = [s for s in file.sites if s.kind is SiteKind.LAUNCH]
        for gate in file.gates:
            if gate.layer is not Layer.HOST or gate.kind is Kind.WINDOW:
                continue
            for index, arm in enumerate(gate.arms):
                inside = [s for s in launches if arm.body and arm.body.line <= s.place.line <= arm.body.end_line]
                names = names_in(" ".join((*arm.calls, *(f"{s.name} {s.detail}" for s in inside))))
                if names:
                    yield file, gate, index, names
            if launches and (names := _after(gate, launches)):
                yield file, gate, REST, names


def _after(gate: Gate, launches: Iterable[Site]) -> frozenset[str]:
    """The names by which a function launches below a check that turns others away."""
    if gate.rest.does is not Does.WORK or not any(arm.effect.refuses for arm in gate.arms):
        return frozenset()
    around = function_of(gate)
    below = [s for s in launches if around and s.function == around and s.place.line > gate.place.line]
    return names_in(" ".join(f"{s.name} {s.detail}" for s in below))


def _unique(cases: Iterable[Case]) -> list[Case]:
    return list({id(c): c for c in cases}.values())


def _launch_mismatch(pairing: Pairing, file: FileFacts, gate: Gate, index: int, case: Case) -> None:
    name, place = pairing.selection.name, gate.place if index == REST else gate.arms[index].place
    pairing.add(case, Pair(Counterpart.HOST, file.path, place.line, True, f"the host launches it for {name}"))
    related = (Related(case.gate.path, case.place.line, Role.PAIR, f"what it launches shuts {name} out"),)
    if not _joins(pairing, gate, index, related):
        pairing.mismatches.append(mismatch(file, gate, index, place, case, consequence(case), related))


def _joins(pairing: Pairing, gate: Gate, index: int, related: tuple[Related, ...]) -> bool:
    """Whether an arm is told of already: then what else it has to do with is added there."""
    for known in pairing.mismatches:
        if known.gate is gate and known.guarded == index:
            pairing.mismatches.remove(known)
            added = tuple(r for r in related if r not in known.related)
            pairing.mismatches.append(known._replace(related=known.related + added))
            return True
    return False


def helpers(pairing: Pairing) -> None:
    """Device functions of a file whose kernels all are empty for the target, one of them for good: they serve those."""
    for path, cases in pairing.by_path.items():
        kernels = {s.name for s in pairing.project.by_path[path].sites if s.kind is SiteKind.KERNEL}
        empty = {function_of(c.gate): c for c in cases if _is_empty_kernel(c)}
        lost = next((c for c in empty.values() if c.needs.absent()), None)
        if lost is None or not kernels <= empty.keys():
            continue
        message = f"the kernel is empty for {pairing.selection.name}, and cannot run there"
        for case in cases:
            if _serves(case, lost):
                pairing.add(case, Pair(Counterpart.KERNEL, path, lost.place.line, False, message, lost))


def _is_empty_kernel(case: Case) -> bool:
    scope = case.gate.scope
    vanishes = case.gate.layer in DEVICE and case.gets.does in VANISHES
    return scope is not None and scope.is_kernel and scope.whole_body and vanishes


def _serves(case: Case, kernel: Case) -> bool:
    """Whether the device code is for the same chips as the kernel, and no kernel itself."""
    scope, shut, theirs = case.gate.scope, case.shut, kernel.shut
    if scope is None or scope.is_kernel or shut is None or theirs is None or case.gate.layer not in DEVICE:
        return False
    return shut.missed.yes == theirs.missed.yes and case.gets.does in VANISHES


def host_predicates(pairing: Pairing) -> None:
    """A host predicate lays out a launch for one way through the kernel, and the device goes the other."""
    kernels = _kernel_gates(pairing)
    if not kernels:
        return
    for case in pairing.shut:
        if case.gate.layer is not Layer.HOST or case.gate.scope is None or case.gets.does in _LOUD:
            continue  # who is turned away with an error gets to no kernel
        function = function_of(case.gate)
        for kernel in dict.fromkeys(_launched_near(pairing.project, case.file, function)):
            for file, gate in kernels.get(kernel, ()):
                _predicate_mismatch(pairing, case, file, gate)


def _launched_near(project: Project, file: FileFacts, predicate: str) -> Iterator[str]:
    """Kernels launched by functions that call a predicate; where calls are not known, by others of the same file."""
    for site in file.sites:
        if site.kind is SiteKind.LAUNCH and site.function:
            calls = project.targets(LinkKind.CALLS, site.function)
            if predicate in calls or (not calls and site.function != predicate):
                yield site.name.split("<", 1)[0].rpartition("::")[2]


def _kernel_gates(pairing: Pairing) -> dict[str, list[tuple[FileFacts, Gate]]]:
    """Gates inside kernels that have two working ways, by kernel."""
    found: dict[str, list[tuple[FileFacts, Gate]]] = defaultdict(list)
    for file in pairing.project.files:
        for gate in file.gates:
            inside = gate.layer in DEVICE and gate.scope is not None and gate.scope.is_kernel
            if inside and gate.scope and sum(b.works for b in pairing.project.ways(gate)) >= 2:
                found[function_of(gate)].append((file, gate))
    return found


def _predicate_mismatch(pairing: Pairing, case: Case, file: FileFacts, gate: Gate) -> None:
    assert case.shut is not None
    ways = pairing.project.ways(gate)
    taken = next((b for b in ways if b.arm != REST and b.works and b.yes & pairing.selection.mask), None)
    if taken is None or not taken.yes & case.shut.missed.yes:
        return  # the device does not go the way of those that the host lets in
    if not any(b.works and b.arm != taken.arm and b.yes & case.shut.gets.yes for b in ways):
        return  # nobody that the host shuts out goes another way: the device half knows no such split
    name, place = pairing.selection.name, gate.arms[taken.arm].place
    message = f"the device code takes the other way for {name}"
    pairing.add(case, Pair(Counterpart.DEVICE, file.path, place.line, True, message))
    related = (Related(case.gate.path, case.place.line, Role.PAIR, f"the host decides otherwise for {name}"),)
    if not _joins(pairing, gate, taken.arm, related):
        pairing.mismatches.append(mismatch(file, gate, taken.arm, place, case, Consequence.WRONG_RESULT, related))


def host_layouts(pairing: Pairing) -> None:
    """Host code sizes a launch as for one way through the kernel, and the device takes the other for the target."""
    launching = _launching(pairing.project)
    for case in pairing.shut:
        scope = case.gate.scope
        inside = case.gate.layer in DEVICE and scope is not None and scope.is_kernel
        if not inside or case.shut is None or not case.shut.gets.works:
            continue
        for path, functions in launching.get(function_of(case.gate), {}).items():
            file = pairing.project.by_path[path]
            for gate in file.gates:
                if gate.layer is Layer.HOST and function_of(gate) in functions and id(gate) not in pairing.shut_gates:
                    _layout_mismatch(pairing, case, file, gate)


def _launching(project: Project) -> dict[str, dict[str, set[str]]]:
    """Kernel -> path -> the functions there that launch it."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for file, site in project.sites.get(SiteKind.LAUNCH, ()):
        found[site.name][file.path].add(site.function)
    return found


def _layout_mismatch(pairing: Pairing, case: Case, file: FileFacts, gate: Gate) -> None:
    """Only where the two halves split the same chips: all that miss nothing on one side get one number on the other."""
    assert case.shut is not None
    ways = [b for b in pairing.project.ways(gate) if b.works and _NUMBER.fullmatch(b.effect.value or "")]
    taken = next((b for b in ways if b.arm != REST and b.yes & pairing.selection.mask), None)
    if taken is None or case.shut.missed.yes & pairing.selection.peers & ~taken.yes:
        return
    others = [b for b in ways if b.arm != taken.arm and b.effect.value != taken.effect.value]
    if not any(b.yes & case.shut.gets.yes & pairing.selection.peers for b in others):
        return
    name, place = pairing.selection.name, gate.arms[taken.arm].place
    message = f"the host sizes the launch as for those that {name} does not go with"
    pairing.add(case, Pair(Counterpart.DEVICE, file.path, place.line, True, message))
    related = (Related(case.gate.path, case.place.line, Role.PAIR, f"the device code goes the other way for {name}"),)
    if not _joins(pairing, gate, taken.arm, related):
        pairing.mismatches.append(mismatch(file, gate, taken.arm, place, case, Consequence.WRONG_RESULT, related))
