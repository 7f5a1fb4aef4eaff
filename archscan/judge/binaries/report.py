"""The findings about compiled libraries: one for each library and rule, healthy libraries stay silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from archscan.analysis.decisions import About, listed, serving
from archscan.binary.loading import How
from archscan.catalog.types import Catalog
from archscan.judge.binaries.absent import absent, held_here
from archscan.judge.binaries.advising import disputed, hollow, jit_only, missing, suffix_only, traps
from archscan.judge.binaries.beside import lost, paired
from archscan.judge.binaries.hollow import KernelCount, kernels_of
from archscan.judge.binaries.loaded import COMPILED, RUNS, Loaded, is_elsewhere, loaded
from archscan.judge.binaries.reading import is_vacant
from archscan.judge.binaries.said import Note, Said
from archscan.judge.binaries.sources import Shows, Sources, sources
from archscan.judge.findings import hashed
from archscan.judge.rules import FALLBACK, Selected, matches
from archscan.model.facts import Facts
from archscan.model.finding import (
    Advice,
    Binary,
    Capability,
    Evidence,
    Finding,
    Intent,
    Level,
    Problem,
    Reach,
    Reason,
    Risk,
)
from archscan.model.gate import NOTHING, Kind, Layer, Place, Related, Role
from archscan.model.library import Library
from archscan.model.report import Binaries
from archscan.model.target import Selection
from archscan.model.truth import Truth

_MOST_KERNELS = 20
_RISKS = {
    Advice.WIDEN_SAFE: Level.LOW,
    Advice.INVESTIGATE: Level.MEDIUM,
    Advice.CONTESTED: Level.MEDIUM,
    Advice.PAIR: Level.MEDIUM,
    Advice.LEAVE: Level.INFO,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What there is to say about all libraries."""

    findings: tuple[Finding, ...]
    hidden: tuple[str, ...]  # origins of those with findings that are only counted
    binaries: Binaries | None


def judge_libraries(
    facts: Facts, selection: Selection, catalog: Catalog, selected: Selected, shows: Shows, gates: Sequence[Finding]
) -> Judged:
    """The findings about the libraries of a scan, and what these come to together; `gates` are those in sources."""
    findings: list[Finding] = []
    views: list[Loaded] = []
    hidden: list[str] = []
    judged: list[Loaded] = []
    elsewhere = 0
    libraries = _gathered(facts.libraries)
    for library in libraries:
        if not library.modules:
            continue
        if is_elsewhere(library, selection, catalog):
            elsewhere += 1
            continue
        view = loaded(library, selection, catalog)
        if not is_vacant(view, facts.kernels):
            judged.append(view)
    beside = sources(facts, shows, gates)
    held = frozenset().union(*(held_here(view, facts.kernels) for view in judged)) if beside.defined else frozenset()
    for view in judged:
        library = view.library
        made = list(_findings(view, facts, selected, beside, held))
        if shows(library):
            views.append(view)
            findings += made
        else:
            hidden += [library.origin.value for _ in made]
    return Judged(
        tuple(_grouped(findings)), tuple(hidden), _summary(views, elsewhere, catalog.architectures[selection.sm].host)
    )


def _grouped(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings, those that say the same of several libraries as one group: builds for several toolkits."""
    keys = [hashed(f.rule, f.message, f.advice.value, *(r.message for r in f.related))[:12] for f in findings]
    count = Counter(keys)
    for key, finding in zip(keys, findings, strict=True):
        yield replace(finding, group=key) if count[key] > 1 else finding


def _gathered(libraries: Sequence[Library]) -> list[Library]:
    """The libraries, files that are one cubin or PTX each put together: a program picks among them by their names.

    They count as one where they lie in one directory of a distribution or project.
    """
    found: list[Library] = []
    loose: dict[tuple[str, str], list[Library]] = {}
    for library in libraries:
        alone = len(library.modules) == 1 and library.modules[0].loose and not library.machine
        if alone and "/" in library.below:
            loose.setdefault((library.archive or library.root, library.below.partition("/")[0]), []).append(library)
        else:
            found.append(library)
    for members in loose.values():
        first = members[0]
        modules = tuple(module for one in members for module in one.modules)
        found.append(first if len(members) == 1 else replace(first, modules=modules, notes=(str(len(members)),)))
    return sorted(found, key=lambda one: one.path)


def _summary(views: Sequence[Loaded], elsewhere: int, host: str) -> Binaries | None:
    if not views and not elsewhere:
        return None
    ways = [{got.how for _, got in view.pairs} for view in views]
    return Binaries(
        libraries=len(views),
        images=sum(len(view.library.images) for view in views),
        run=sum(bool(way & RUNS) for way in ways),
        jit=sum(bool(way & COMPILED) and not way & RUNS for way in ways),
        jit_modules=sum(len(view.of(*COMPILED)) for view in views),
        nothing=sum(way <= {How.NONE} for way in ways),
        disputed=sum(How.UNKNOWN in way and not way & (RUNS | COMPILED) for way in ways),
        elsewhere=elsewhere,
        host=host,
    )


def _findings(
    view: Loaded, facts: Facts, selected: Selected, beside: Sources, held: frozenset[str]
) -> Iterator[Finding]:
    kernels = kernels_of(view, facts.kernels)
    if view.for_siblings and (not view.loads or len(view.for_siblings) == len(view.unfit)):
        yield _finding(view, kernels, suffix_only(view), selected)
    elif not view.loads and (view.unfit or view.disputed):
        yield _finding(view, kernels, disputed(view) if view.disputed else missing(view), selected)
    elif view.for_siblings:
        yield _finding(view, kernels, suffix_only(view), selected)
    if gone := absent(view, facts.kernels, beside, held):
        yield _finding(view, kernels, lost(view, gone), selected)
    if view.of(*COMPILED):
        yield _finding(view, kernels, jit_only(view, kernels), selected)
    machine = tuple(idle for idle in kernels.hollow if idle not in kernels.by_jit)
    if machine:
        yield _finding(view, kernels, paired(hollow(view, machine), machine, beside), selected)
    if kernels.traps:
        yield _finding(view, kernels, paired(traps(view, kernels.traps), kernels.traps, beside), selected)


def _finding(view: Loaded, kernels: KernelCount, said: Said, selected: Selected) -> Finding:
    library, selection, universe = view.library, view.selection, view.catalog.universe
    names = ", ".join(library.count())
    admits = universe.mask(t for t in universe.targets if t.sm in said.admits and not t.is_host)
    truth = Truth(admits, universe.all & ~admits)
    truth_of = "unknown" if said.advice is Advice.CONTESTED else "no"
    place = Place(0, 0, 1, 1, 1, 1)
    about = About(names_arch=False)
    gate = listed(library.path, Layer.BINARY, Kind.IMAGES, serving(place, names, truth), NOTHING, about)
    attributes = {
        "problem": Problem.EXCLUDED.value,
        "layer": gate.layer.value,
        "kind": gate.kind.value,
        "form": "image",
        "consequence": said.consequence.value,
        "advice": said.advice.value,
        "images": said.about,
    }
    rule = next((rule.id for rule in selected.rules if matches(rule.match, attributes)), FALLBACK)
    return Finding(
        rule=rule,
        fingerprint=hashed(rule, library.below or library.path, "", names, "0"),
        problem=Problem.EXCLUDED,
        gate=gate,
        arm=0,
        place=place,
        condition=names,
        form="image",
        verdict=tuple((variant.name, truth_of) for variant in selection.variants),
        admits=universe.names(admits),
        peers_admitted=universe.names(admits & selection.peers),
        consequence=said.consequence,
        features=(),
        advice=said.advice,
        message=said.message,
        risk=Risk(
            _RISKS[said.advice], said.score, tuple(_reason(n, library) for n in (said.happens, said.helps, *said.notes))
        ),
        related=(*_related(library, said), *said.places),
        origin=library.origin.value,
        binary=_binary(view, kernels, said),
        severity=said.severity,
        capability=Capability.CAN if said.advice is Advice.WIDEN_SAFE else Capability.UNKNOWN,
        intent=Intent.IMAGES,
        reach=Reach.EXISTS,
        listed=said.advice is not Advice.LEAVE,
    )


def _reason(note: Note, library: Library) -> Reason:
    """A sentence with its evidence: what was read in the library, or a fact with its source."""
    fact = note.text if note.source else "read in the library"
    return Reason(note.text, (Evidence(fact, note.source or library.path, note.confidence),))


def _related(library: Library, said: Said) -> Iterator[Related]:
    for text in said.kernels[:_MOST_KERNELS]:
        yield Related(library.path, 1, Role.DEFINITION, text)
    if len(said.kernels) > _MOST_KERNELS:
        yield Related(library.path, 1, Role.DEFINITION, f"{len(said.kernels) - _MOST_KERNELS:,} more kernels")


def _binary(view: Loaded, kernels: KernelCount, said: Said) -> Binary:
    ways = Counter(got.how for _, got in view.pairs)
    told = len(view.unfit) if not view.loads else len(view.for_siblings)
    return Binary(
        modules=len(view.pairs),
        native=ways[How.NATIVE],
        compatible=ways[How.COMPATIBLE],
        jit=ways[How.JIT],
        jit_link=ways[How.JIT_LINK],
        none=told,
        other_chips=len(view.unfit) - told,
        lto=len(view.lto),
        unknown=ways[How.UNKNOWN],
        images=tuple(view.library.count().items()),
        kernels=kernels.count,
        error=said.error,
    )
