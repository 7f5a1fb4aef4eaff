"""Sets the halves of one feature against each other: who else decides, and does it answer the same for the target?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST, Branch
from archscan.judge.cases import LISTS, Case, site_gate
from archscan.judge.consequences import consequence
from archscan.judge.features import Needs, needs_to_open
from archscan.judge.project import Project, names_in
from archscan.judge.words import Words
from archscan.model.facts import FileFacts, LinkKind, Origin, Site, SiteKind
from archscan.model.finding import Consequence, Problem
from archscan.model.gate import Arm, Does, Gate, Kind, Layer, Place, Related, Role
from archscan.model.target import Selection

_HARM = frozenset(
    {Consequence.SILENT_NOOP, Consequence.RACE, Consequence.WRONG_RESULT, Consequence.TRAP, Consequence.COMPILE_ERROR}
)
_VANISHES = frozenset({Does.NOTHING, Does.LOGS, Does.PRINTS, Does.TRAPS, Does.ASSERTS, Does.ERRORS})
_DEVICE = frozenset({Layer.PREPROCESSOR, Layer.DEVICE})
_FILE_NAME = re.compile(r"[\w./-]+\.(?:cuh?|hpp|h|inl|cc|cpp|cxx)\b")


class Half(str, Enum):
    """What the other half is, which settles what follows from it."""

    LAUNCH_ATTRIBUTE = "launch attribute"
    WAIT = "wait"
    TRIGGER = "trigger"
    HOST = "host dispatch"
    DEVICE = "device code"
    DEFINITION = "macro definition"
    USE = "use of the macro"
    SOURCE = "compiled source"
    BUILD = "build list"
    TABLE = "table"
    CHECK = "check"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Pair:
    """The other half of a case."""

    half: Half
    path: str
    line: int
    admits: bool  # the other half lets the target in
    message: str
    shares: Case | None = None  # the case of the other half where it is one

    def related(self) -> Related:
        """The other half as a related place of a finding."""
        role = Role.DEFINITION if self.half is Half.DEFINITION else Role.PAIR
        return Related(self.path, self.line, role, self.message)


@dataclass(frozen=True)
class Pairs:
    """Every pair, by case, and the mismatches that are findings of their own."""

    by_case: dict[int, tuple[Pair, ...]]  # id of the case
    mismatches: tuple[Case, ...]
    asks: dict[int, str]  # id of the case -> feature that it decides about
    routed: frozenset[int]  # ids of cases whose code the host launches for other targets only

    def of(self, case: Case) -> tuple[Pair, ...]:
        return self.by_case.get(id(case), ())


class _Pairing:
    """Collects pairs over one set of cases."""

    def __init__(self, cases: Iterable[Case], project: Project, selection: Selection, catalog: Catalog) -> None:
        self.cases = list(cases)
        self.project = project
        self.selection = selection
        self.catalog = catalog
        self.pairs: dict[int, dict[tuple[str, int], Pair]] = defaultdict(dict)  # by case, then by place
        self.mismatches: list[Case] = []
        self.routed: set[int] = set()
        self.asks: dict[int, str] = {}
        self.shut = [c for c in self.cases if c.problem is Problem.EXCLUDED]
        self.shut_gates = {id(c.gate): c for c in self.shut}
        self.by_path: dict[str, list[Case]] = defaultdict(list)
        for case in self.shut:
            self.by_path[case.gate.path].append(case)

    def add(self, case: Case, pair: Pair) -> None:
        self.pairs[id(case)].setdefault((pair.path, pair.line), pair)

    def both(self, one: Case, half: Half, other: Case, other_half: Half, message: str, other_message: str) -> None:
        """Pairs two cases that both shut the target out."""
        self.add(one, Pair(half, other.gate.path, other.place.line, False, message, other))
        self.add(other, Pair(other_half, one.gate.path, one.place.line, False, other_message, one))

    def taken(self, gate: Gate) -> list[tuple[Branch, Arm]]:
        """The arms of a gate that the target takes."""
        found = []
        for branch in self.project.ways(gate):
            if branch.index != REST and branch.yes & self.selection.mask:
                found.append((branch, gate.arms[branch.index]))
        return found


def pair_up(cases: Iterable[Case], project: Project, selection: Selection, catalog: Catalog) -> Pairs:
    """Every pair among the cases, and between a case and a half that has no case of its own."""
    pairing = _Pairing(cases, project, selection, catalog)
    for step in (
        _macros,
        _launch_attributes,
        _triggers,
        _launches,
        _host_predicates,
        _host_layouts,
        _tables,
        _mentions,
        _sources,
        _builds,
    ):
        step(pairing)
    by_case = {key: tuple(found.values()) for key, found in pairing.pairs.items()}
    return Pairs(by_case, tuple(pairing.mismatches), pairing.asks, frozenset(pairing.routed))


def _macros(pairing: _Pairing) -> None:
    """Tests of a macro whose definition shuts the target out stand under that definition."""
    by_macro: dict[str, list[Case]] = defaultdict(list)
    for case in pairing.shut:
        if case.gate.kind is Kind.MACRO_DEFINITION:
            for symbol in case.gate.symbols:
                by_macro[symbol].append(case)
    for case in pairing.shut:
        for macro in case.gate.derived_from:
            for definition in by_macro.get(macro, ()):
                if definition.gate is not case.gate:
                    message = f"{macro} is not defined for the target"
                    path, line = definition.gate.path, definition.place.line
                    use = _behind(case, macro, pairing)
                    if use is case:
                        pairing.add(case, Pair(Half.DEFINITION, path, line, False, message, definition))
                    path, line = case.gate.path, case.place.line
                    pairing.add(definition, Pair(Half.USE, path, line, False, f"tests {macro}", use))


def _behind(case: Case, macro: str, pairing: _Pairing) -> Case:
    """A test of several macros as this one sees it: what the arm holds that asks for it."""
    gate, word = case.gate, re.compile(rf"\b{re.escape(macro)}\b")
    asking = [i for i, arm in enumerate(gate.arms) if word.search(arm.condition)]
    if not asking or case.guarded in asking or case.guarded == REST:
        return case
    needs = needs_to_open(gate, gate.arms[asking[0]], (), pairing.project, pairing.selection, pairing.catalog)
    return replace(case, guarded=asking[0], needs=needs)


def _waits(pairing: _Pairing) -> list[Case]:
    """Cases in which a wait for the grids before is compiled out."""
    waits = []
    for case in pairing.shut:
        vanishes = case.gate.layer in _DEVICE and case.gets.does in _VANISHES
        if vanishes and any(n.feature.group == "griddep-wait" for n in case.needs.sure):
            waits.append(case)
    return waits


def _launch_attributes(pairing: _Pairing) -> None:
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


def _triggers(pairing: _Pairing) -> None:
    """An early start is safe only where the kernels that it lets start wait: the two open together."""
    waits = _waits(pairing)
    early = [c for c in pairing.shut if _is_trigger(c)]
    for wait in waits:
        near = [t for t in early if t.gate.path == wait.gate.path and (_scope(t) == _scope(wait) or not _in_kernel(t))]
        for trigger in near:
            pairing.both(
                trigger,
                Half.WAIT,
                wait,
                Half.TRIGGER,
                "the wait is compiled out too: open both",
                "the trigger is compiled out too",
            )
        if not any(p.half is Half.LAUNCH_ATTRIBUTE for p in pairing.pairs[id(wait)].values()):
            _live_triggers(pairing, wait)


def _is_trigger(case: Case) -> bool:
    sure = case.needs.sure
    return case.gate.layer in _DEVICE and bool(sure) and all(n.feature.group == "griddep-launch" for n in sure)


def _scope(case: Case) -> str:
    return case.gate.scope.name if case.gate.scope else ""


def _in_kernel(case: Case) -> bool:
    return case.gate.scope is not None and case.gate.scope.is_kernel


def _live_triggers(pairing: _Pairing, wait: Case) -> None:
    """Triggers of the same file that the target keeps although it loses the wait."""
    name = pairing.selection.name
    for site in wait.file.sites:
        if site.kind is SiteKind.PDL_TRIGGER and site.truth.yes & pairing.selection.mask:
            message = f"lets the next kernel start early on {name}"
            pairing.add(wait, Pair(Half.TRIGGER, wait.gate.path, site.place.line, True, message))
            related = (Related(wait.gate.path, wait.place.line, Role.PAIR, f"the wait is compiled out for {name}"),)
            gate = site_gate(wait.file, site, Kind.FLAG, site.truth, Layer.DEVICE)
            pairing.mismatches.append(_mismatch(wait.file, gate, 0, site.place, wait, Consequence.RACE, related))
            return


@dataclass(frozen=True, slots=True)
class _Decider:
    """The host predicate that an attribute's value asks."""

    file: FileFacts
    gate: Gate
    yes: int


def _decider(pairing: _Pairing, file: FileFacts, site: Site) -> _Decider | None:
    """The gate that decides whether the attribute is set: one in the same file that asks what the value names."""
    names = names_in(site.detail)
    for gate in file.gates:
        scope = re.split(r"::", gate.scope.name)[-1] if gate.scope else ""
        if gate.layer is Layer.HOST and gate.arms and names & {scope, *gate.symbols}:
            return _Decider(file, gate, pairing.project.ways(gate)[0].yes)
    return None


def _attribute_mismatch(
    pairing: _Pairing, file: FileFacts, site: Site, shut: list[Case], decider: _Decider | None
) -> Case:
    name = pairing.selection.name
    place = decider.gate.place if decider else site.place
    for wait in shut:
        message = f"sets the launch attribute also for {name}"
        pairing.add(wait, Pair(Half.LAUNCH_ATTRIBUTE, file.path, place.line, True, message))
    related = tuple(Related(w.gate.path, w.place.line, Role.PAIR, f"the wait is compiled out for {name}") for w in shut)
    gate = decider.gate if decider else site_gate(file, site, Kind.FLAG, site.truth, Layer.HOST)
    return _mismatch(file, gate, 0, place, shut[0], Consequence.RACE, related)


def _mismatch(
    file: FileFacts, gate: Gate, arm: int, place: Place, other: Case, what: Consequence, related: tuple[Related, ...]
) -> Case:
    return Case(
        file=file,
        gate=gate,
        problem=Problem.DISAGREES,
        guarded=arm,
        place=place,
        gets=other.gets,
        needs=other.needs,
        words=Words(),
        consequence=what.value,
        related=related,
    )


def _launched_by(wait: Case, file: FileFacts, site: Site, project: Project) -> bool:
    """Whether the host code around an attribute launches the kernel that misses its wait."""
    scope = wait.gate.scope
    name = re.split(r"::", scope.name)[-1] if scope else ""
    if wait.gate.path != file.path:
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


def _kernel_names(case: Case) -> frozenset[str]:
    """Names by which host code can mean the device code of a case."""
    if case.gate.kind is Kind.WINDOW:
        return frozenset(case.gate.symbols[:1])  # the tag; the kernel serves every tag
    scope = case.gate.scope.name if case.gate.scope else ""
    return frozenset(n for n in names_in(" ".join((scope, *case.gate.symbols))) if len(n) > 2)


def _launches(pairing: _Pairing) -> None:
    """Host ladders against the bound on the device: what they launch for the target is compiled out, or traps."""
    device = [c for c in pairing.shut if _is_device_half(c) and c.gets.does in _VANISHES]
    by_name: dict[str, list[Case]] = defaultdict(list)
    for case in device:
        for name in _kernel_names(case):
            by_name[name].append(case)
    if not by_name:
        return
    named: dict[int, list[bool]] = defaultdict(list)
    for file, gate, index, arm, names in _host_arms(pairing):
        branch = pairing.project.ways(gate)[index]
        takes = bool(branch.yes & pairing.selection.mask)
        for case in _unique(c for n in names for c in by_name.get(n, ())):
            named[id(case)].append(takes)
            if takes and arm.effect.does not in (Does.RAISES, Does.REFUSES):
                _launch_mismatch(pairing, file, gate, index, case)
    pairing.routed |= {key for key, takes in named.items() if not any(takes)}


def _is_device_half(case: Case) -> bool:
    return case.gate.layer in _DEVICE or (case.gate.kind is Kind.WINDOW and case.gate.layer is Layer.HOST)


def _host_arms(pairing: _Pairing) -> Iterator[tuple[FileFacts, Gate, int, Arm, frozenset[str]]]:
    """Every arm of a host gate that launches something, with the names it launches by."""
    for file in pairing.project.files:
        launches = [s for s in file.sites if s.kind is SiteKind.LAUNCH]
        for gate in file.gates:
            if gate.layer is not Layer.HOST or gate.kind is Kind.WINDOW:
                continue
            for index, arm in enumerate(gate.arms):
                inside = [s for s in launches if arm.body and arm.body.line <= s.place.line <= arm.body.end_line]
                names = names_in(" ".join((*arm.calls, *(f"{s.name} {s.detail}" for s in inside))))
                if names:
                    yield file, gate, index, arm, names


def _unique(cases: Iterable[Case]) -> list[Case]:
    return list({id(c): c for c in cases}.values())


def _launch_mismatch(pairing: _Pairing, file: FileFacts, gate: Gate, index: int, case: Case) -> None:
    name, place = pairing.selection.name, gate.arms[index].place
    pairing.add(case, Pair(Half.HOST, file.path, place.line, True, f"the host launches it for {name}"))
    related = (Related(case.gate.path, case.place.line, Role.PAIR, f"what it launches shuts {name} out"),)
    for known in pairing.mismatches:
        if known.gate is gate and known.guarded == index:
            pairing.mismatches.remove(known)
            pairing.mismatches.append(replace(known, related=known.related + related))
            return
    pairing.mismatches.append(_mismatch(file, gate, index, place, case, consequence(case), related))


def _host_predicates(pairing: _Pairing) -> None:
    """A host predicate lays out a launch for one way through the kernel, and the device goes the other."""
    kernels = _kernel_gates(pairing)
    if not kernels:
        return
    for case in pairing.shut:
        if case.gate.layer is not Layer.HOST or case.gate.scope is None:
            continue
        function = re.split(r"::", case.gate.scope.name)[-1]
        for kernel in dict.fromkeys(_launched_near(pairing.project, case.file, function)):
            for file, gate in kernels.get(kernel, ()):
                _predicate_mismatch(pairing, case, file, gate)


def _launched_near(project: Project, file: FileFacts, predicate: str) -> Iterator[str]:
    """Kernels launched by functions that call a predicate; where calls are not known, by others of the same file."""
    for site in file.sites:
        if site.kind is SiteKind.LAUNCH and site.function:
            calls = project.targets(LinkKind.CALLS, site.function)
            if predicate in calls or (not calls and site.function != predicate):
                yield re.split(r"::", site.name.split("<", 1)[0])[-1]


def _kernel_gates(pairing: _Pairing) -> dict[str, list[tuple[FileFacts, Gate]]]:
    """Gates inside kernels that have two working ways, by kernel."""
    found: dict[str, list[tuple[FileFacts, Gate]]] = defaultdict(list)
    for file in pairing.project.files:
        for gate in file.gates:
            inside = gate.layer in _DEVICE and gate.scope is not None and gate.scope.is_kernel
            if inside and gate.scope and sum(b.works for b in pairing.project.ways(gate)) >= 2:
                found[re.split(r"::", gate.scope.name)[-1]].append((file, gate))
    return found


def _predicate_mismatch(pairing: _Pairing, case: Case, file: FileFacts, gate: Gate) -> None:
    assert case.shut is not None
    ways = pairing.project.ways(gate)
    taken = next((b for b in ways if b.index != REST and b.works and b.yes & pairing.selection.mask), None)
    if taken is None or not taken.yes & case.shut.missed.yes:
        return  # the device does not go the way of those that the host lets in
    if not any(b.works and b.index != taken.index and b.yes & case.shut.gets.yes for b in ways):
        return  # nobody that the host shuts out goes another way: the device half knows no such split
    name, place = pairing.selection.name, gate.arms[taken.index].place
    message = f"the device code takes the other way for {name}"
    pairing.add(case, Pair(Half.DEVICE, file.path, place.line, True, message))
    related = (Related(case.gate.path, case.place.line, Role.PAIR, f"the host decides otherwise for {name}"),)
    pairing.mismatches.append(_mismatch(file, gate, taken.index, place, case, Consequence.WRONG_RESULT, related))


_NUMBER = re.compile(r"\s*(?:\w+=(?!=))?\s*\d+[uUlL]*\s*|\s*(?:true|false)\s*")


def _host_layouts(pairing: _Pairing) -> None:
    """Host code sizes a launch as for one way through the kernel, and the device takes the other for the target."""
    for case in pairing.shut:
        scope = case.gate.scope
        inside = case.gate.layer in _DEVICE and scope is not None and scope.is_kernel
        if not inside or scope is None or case.shut is None or not case.shut.gets.works:
            continue
        kernel = re.split(r"::", scope.name)[-1]
        for file in pairing.project.files:
            functions = {s.function for s in file.sites if s.kind is SiteKind.LAUNCH and s.name == kernel}
            for gate in file.gates if functions else ():
                around = re.split(r"::", gate.scope.name)[-1] if gate.scope else ""
                if gate.layer is Layer.HOST and around in functions and id(gate) not in pairing.shut_gates:
                    _layout_mismatch(pairing, case, file, gate)


def _layout_mismatch(pairing: _Pairing, case: Case, file: FileFacts, gate: Gate) -> None:
    """Only where the two halves split the same chips: all that miss nothing on one side get one number on the other."""
    assert case.shut is not None
    ways = [b for b in pairing.project.ways(gate) if b.works and _NUMBER.fullmatch(b.effect.value or "")]
    taken = next((b for b in ways if b.index != REST and b.yes & pairing.selection.mask), None)
    if taken is None or case.shut.missed.yes & pairing.selection.peers & ~taken.yes:
        return
    others = [b for b in ways if b.index != taken.index and b.effect.value != taken.effect.value]
    if not any(b.yes & case.shut.gets.yes & pairing.selection.peers for b in others):
        return
    name, place = pairing.selection.name, gate.arms[taken.index].place
    message = f"the host sizes the launch as for those that {name} does not go with"
    pairing.add(case, Pair(Half.DEVICE, file.path, place.line, True, message))
    related = (Related(case.gate.path, case.place.line, Role.PAIR, f"the device code goes the other way for {name}"),)
    pairing.mismatches.append(_mismatch(file, gate, taken.index, place, case, Consequence.WRONG_RESULT, related))


def _tables(pairing: _Pairing) -> None:
    """A table without a row behind a check that refuses first."""
    tables = [c for c in pairing.shut if c.gate.kind is Kind.TABLE and c.gets.does in (Does.RAISES, Does.REFUSES)]
    for table in tables:
        readers = _functions(table)
        reached = readers | frozenset(x for r in readers for x in pairing.project.targets(LinkKind.CALLS, r))
        for check in pairing.by_path[table.gate.path]:
            if check.gate.kind in LISTS and check.gate.kind is not Kind.ALLOW_LIST:
                continue
            if _functions(check) & reached or _leads_to(check, table):
                pairing.both(
                    check,
                    Half.TABLE,
                    table,
                    Half.CHECK,
                    "the table behind it has no row for the target",
                    "refuses before the table is read",
                )


def _leads_to(check: Case, table: Case) -> bool:
    """Whether what a check guards reads the table: by its name, or at the line that reads it."""
    gate = check.gate
    readers = {r.line for r in table.gate.related if r.role is Role.CALLER}
    effects = [gate.rest, *(a.effect for a in gate.arms)]
    if readers & {e.line for e in effects}:
        return True
    names = names_in(" ".join(e.value or "" for e in effects))
    return bool(names & set(table.gate.symbols))


def _functions(case: Case) -> frozenset[str]:
    """The functions that a case speaks of: where it stands, and those it is named for."""
    scope = (case.gate.scope.name,) if case.gate.scope else ()
    return frozenset(re.split(r"::|\.", n)[-1] for n in (*scope, *case.gate.symbols) if n)


def _mentions(pairing: _Pairing) -> None:
    """A list whose text names another list: both must admit the target."""
    for file_cases in pairing.by_path.values():
        lists = [c for c in file_cases if c.gate.kind in LISTS and c.gate.layer in (Layer.PYTHON, Layer.JIT)]
        for other in lists:
            symbols = [s for s in other.gate.symbols if len(s) > 3]
            for case in lists:
                if case is not other and any(re.search(rf"\b{re.escape(s)}\b", case.gate.near) for s in symbols):
                    pairing.both(
                        case,
                        Half.LIST,
                        other,
                        Half.LIST,
                        "the list it goes by lacks the target too",
                        "the code behind it lacks the target too",
                    )


def _sources(pairing: _Pairing) -> None:
    """JIT lists against the `#if` of the sources that they compile."""
    for file in pairing.project.files:
        for gate in file.gates:
            if gate.kind is not Kind.KEYWORD_LIST:
                continue
            harmed = [c for c in _source_cases(pairing, gate) if consequence(c) in _HARM and not _cannot_run(c)]
            case = pairing.shut_gates.get(id(gate))
            if case is not None:
                for other in harmed:
                    pairing.add(
                        case,
                        Pair(
                            Half.SOURCE,
                            other.gate.path,
                            other.place.line,
                            False,
                            "its source shuts the target out too",
                            other,
                        ),
                    )
            elif harmed and pairing.taken(gate):
                _source_mismatch(pairing, file, gate, harmed)


def _source_cases(pairing: _Pairing, gate: Gate) -> list[Case]:
    paths: list[str] = []
    names = [gate.scope.name] if gate.scope else []
    for name in (*names, *gate.symbols):
        for _, link in pairing.project.links[LinkKind.JIT_SOURCE].get(re.split(r"::|\.", name)[-1], ()):
            paths += pairing.project.named_files(link.target)
    for named in _FILE_NAME.findall(gate.near):
        paths += pairing.project.named_files(named)
    return [c for path in _with_includes(pairing, paths) for c in pairing.by_path.get(path, ())]


def _with_includes(pairing: _Pairing, paths: list[str]) -> list[str]:
    """Those files and the project's own headers that they include."""
    seen: dict[str, None] = {}
    todo = list(dict.fromkeys(paths))
    while todo:
        path = todo.pop(0)
        file = pairing.project.by_path.get(path)
        if path in seen or file is None or file.origin is not Origin.OWN:
            continue
        seen[path] = None
        for link in file.links:
            if link.kind is LinkKind.INCLUDES:
                todo += pairing.project.included_files(path, link.target)
    return list(seen)


def _cannot_run(case: Case) -> bool:
    return bool(case.needs.absent())


def _source_mismatch(pairing: _Pairing, file: FileFacts, gate: Gate, harmed: list[Case]) -> None:
    name = pairing.selection.name
    related = tuple(Related(c.gate.path, c.place.line, Role.PAIR, f"its source shuts {name} out") for c in harmed[:20])
    for case in harmed:
        pairing.add(case, Pair(Half.BUILD, file.path, gate.place.line, True, f"it is compiled for {name}"))
    worst = max(harmed, key=lambda c: (consequence(c) is Consequence.SILENT_NOOP, -c.place.line))
    pairing.mismatches.append(_mismatch(file, gate, 0, gate.place, worst, consequence(worst), related))


def _builds(pairing: _Pairing) -> None:
    """Ahead-of-time flags against the JIT list of the module that they build."""
    lists: dict[str, list[tuple[FileFacts, Gate]]] = defaultdict(list)
    for file in pairing.project.files:
        for gate in file.gates:
            if gate.kind is Kind.KEYWORD_LIST and gate.scope:
                lists[gate.scope.name.split(".")[-1]].append((file, gate))
    for file in pairing.project.files:
        for gate in file.gates:
            if gate.kind is Kind.BUILD_FLAG:
                _build_flag(pairing, file, gate, lists)


def _build_flag(pairing: _Pairing, file: FileFacts, gate: Gate, lists: dict[str, list[tuple[FileFacts, Gate]]]) -> None:
    shut = pairing.shut_gates.get(id(gate))
    for index, arm in enumerate(gate.arms):
        for called in dict.fromkeys(c.split(".")[-1] for c in arm.calls):
            for _, listed in lists.get(called, ()):
                closed = pairing.shut_gates.get(id(listed))
                if shut is not None and shut.guarded == index:
                    _builds_pair(pairing, shut, listed, closed, called)
                elif closed is not None and any(a is arm for _, a in pairing.taken(gate)):
                    _builds_mismatch(pairing, file, gate, index, closed, called)


def _builds_pair(pairing: _Pairing, shut: Case, listed: Gate, closed: Case | None, called: str) -> None:
    if closed is not None:
        pairing.both(
            shut,
            Half.BUILD,
            closed,
            Half.BUILD,
            f"the list of {called} lacks the target too",
            "the ahead-of-time build leaves it out too",
        )
    else:
        message = f"the list of {called} admits the target"
        pairing.add(shut, Pair(Half.BUILD, listed.path, listed.place.line, True, message))


def _builds_mismatch(pairing: _Pairing, file: FileFacts, gate: Gate, index: int, closed: Case, called: str) -> None:
    related = (Related(closed.gate.path, closed.place.line, Role.PAIR, f"the list of {called} lacks the target"),)
    pairing.add(
        closed, Pair(Half.BUILD, file.path, gate.arms[index].place.line, True, f"asks to build {called} for it")
    )
    pairing.mismatches.append(
        _mismatch(file, gate, index, gate.arms[index].place, closed, Consequence.COMPILE_ERROR, related)
    )


def asking(case: Case, feature: str, project: Project, selection: Selection, catalog: Catalog) -> Case:
    """The case of a host decision with the device feature that it decides about."""
    said = needs_to_open(case.gate, None, (feature,), project, selection, catalog)
    return replace(case, needs=Needs((*case.needs.items, *said.items)))


_WORST = (
    Consequence.SILENT_NOOP,
    Consequence.RACE,
    Consequence.WRONG_RESULT,
    Consequence.TRAP,
    Consequence.COMPILE_ERROR,
)


def with_uses(case: Case, pairs: Iterable[Pair]) -> Case:
    """A macro definition with what its uses need and with the worst that happens at one of them."""
    if case.gate.kind is not Kind.MACRO_DEFINITION:
        return case
    uses = [p.shares for p in pairs if p.half is Half.USE and p.shares is not None]
    if not uses:
        return case
    outcomes = {consequence(u) for u in uses}
    worst = next((c for c in _WORST if c in outcomes), consequence(uses[0]))
    items = {(n.feature.id, n.sure): n for u in uses for n in (*case.needs.items, *u.needs.items)}
    return replace(case, needs=Needs(tuple(items.values())), consequence="" if case.limit else worst.value)
