"""Finds what is wrong for the target, gate by gate: shut out, or let in where it cannot run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.judge.branches import REST, Branch, outline
from archscan.judge.features import COMPILED, Need, Needs, needs_to_open, needs_when_taken
from archscan.judge.limits import (
    OPT_IN,
    THREADS,
    Overrun,
    constant,
    is_limit,
    limit,
    lumped,
    overrun,
    source,
    tabled_limit,
)
from archscan.judge.notes import images, shared_bytes
from archscan.judge.project import Project
from archscan.judge.verdicts import Shut, Undecided, Why, decide, spared
from archscan.judge.words import Words, chips_named, words
from archscan.model.facts import FileFacts, Site, SiteKind
from archscan.model.finding import Problem
from archscan.model.gate import Arm, Does, Effect, Gate, Kind, Layer, Place, Related
from archscan.model.target import Selection
from archscan.model.truth import Truth


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why the target cannot run what a branch holds: instructions, a resource, or images of other chips."""

    needs: tuple[Need, ...] = ()  # not assembled
    overrun: Overrun | None = None
    images: tuple[str, ...] = ()
    variants: int = 0  # variants that are let in and cannot
    fits: int = 0  # variants of the same chip that could


class Case(NamedTuple):
    """Something wrong at one place, before it is weighed. A tuple, as thousands are made only to be counted."""

    file: FileFacts
    gate: Gate
    problem: Problem
    guarded: int  # index of the guarded arm, or REST
    place: Place
    gets: Effect  # what the target gets today
    needs: Needs
    words: Words
    shut: Shut | None = None
    obstacle: Obstacle | None = None
    limit: str | None = None  # the limit that a table of constants holds
    same_limit: bool = False  # the missed row holds the target's own value
    admits: tuple[str, ...] = ()  # targets that take the guarded branch
    consequence: str = ""  # settled beforehand (a mismatch has the consequence of its other half)
    related: tuple[Related, ...] = ()

    @property
    def arm(self) -> Arm | None:
        """The guarded arm, None for the rest."""
        return None if self.guarded == REST else self.gate.arms[self.guarded]


@dataclass(frozen=True, slots=True)
class Found:
    """Everything wrong, and every gate that could not be decided."""

    cases: tuple[Case, ...]
    undecided: tuple[tuple[FileFacts, Gate, tuple[str, ...]], ...]


LISTS = frozenset({Kind.ALLOW_LIST, Kind.KEYWORD_LIST, Kind.TABLE, Kind.BUILD_LIST})


def find(project: Project, selection: Selection, catalog: Catalog, is_shown: Callable[[FileFacts], bool]) -> Found:
    """Every case of exclusion and over-admission, in file and source order; words are read in shown files only.

    Of what is not shown hardly more than the number is said: gates that are alike there are looked at once.
    """
    cases: list[Case] = []
    undecided = []
    recogniser = Recogniser(catalog)
    alike: dict[Hashable | None, tuple[Case | Undecided, ...]] = {}
    for file in project.files:
        before = len(cases)
        shown = is_shown(file)
        for gate in file.gates:
            key = None if shown else outline(gate)
            known = alike.get(key)
            if known is None:
                known = tuple(_Judge(file, gate, project, selection, catalog, shown, recogniser).found())
                if key is not None:
                    alike[key] = known
            for one in known:
                if isinstance(one, Undecided):
                    undecided.append((file, gate, one.unknowns))
                else:
                    cases.append(one if one.gate is gate else _moved(one, file, gate))
        cases += _oversized(file, project, selection, catalog, cases[before:])
    return Found(tuple(cases), tuple(undecided))


def _moved(one: Case, file: FileFacts, gate: Gate) -> Case:
    """The case of a gate for another with the same outline: where nothing but conditions speaks, it is shut out."""
    assert one.shut is not None
    got = one.shut.gets.arm
    gets = gate.rest if got == REST else gate.arms[got].effect
    return one._replace(file=file, gate=gate, place=place_of(gate, one.shut), gets=gets)


_UNREAD = Words()


class _Judge:
    """One gate with everything needed to look at it."""

    def __init__(
        self,
        file: FileFacts,
        gate: Gate,
        project: Project,
        selection: Selection,
        catalog: Catalog,
        is_shown: bool,
        recogniser: Recogniser,
    ) -> None:
        self.file = file
        self.gate = gate
        self.ways = project.ways(gate)
        self.project = project
        self.selection = selection
        self.catalog = catalog
        self.is_shown = is_shown
        self.recogniser = recogniser
        self._obstacles: dict[int, Obstacle | None] = {}

    def found(self) -> Iterator[Case | Undecided]:
        """Everything that is wrong with the gate, or why nobody can tell."""
        verdict, admitted = self.verdict(), tuple(self.admitted())
        if isinstance(verdict, Undecided):
            yield verdict
        elif verdict is not None and not _is_told_by(admitted, verdict) and (case := self.excluded(verdict)):
            yield case
        yield from admitted

    def verdict(self) -> Shut | Undecided | None:
        if self.gate.kind is Kind.RESOURCE:
            return None
        universe = self.catalog.universe
        verdict = decide(self.gate, self.ways, self.selection, universe, self._can_run)
        if verdict is None and self.is_shown and any(a.effect.refuses for a in self.gate.arms):
            return spared(self.ways, self.selection, universe) if self._words().workaround else None
        return verdict

    def excluded(self, shut: Shut) -> Case | None:
        """The case of a gate that shuts the target out; None where the target's own branch is right for it."""
        gate, guarded = self.gate, shut.missed.arm
        held = tabled_limit(self.ways, self.catalog)
        own = limit(self.catalog, self.selection.sm, held) if held else None
        if held and is_limit(constant(shut.gets.effect.value), own, held):
            return None
        needs = self._needs_of(shut)
        return Case(
            file=self.file,
            gate=gate,
            problem=Problem.EXCLUDED,
            guarded=guarded,
            place=place_of(gate, shut),
            gets=shut.gets.effect,
            needs=needs,
            words=self._words(*_texts(gate, guarded, shut.gets.effect)) if self.is_shown else _UNREAD,
            shut=shut,
            limit=held,
            admits=self.catalog.universe.names(shut.missed.yes),
            same_limit=bool(held and is_limit(constant(shut.missed.effect.value), own, held))
            or self._same_memory(shut),
        )

    def _words(self, *texts: str) -> Words:
        return words(self.gate, *texts, other_chips=self._speaks_of_others)

    def _speaks_of_others(self, line: str) -> bool:
        """Whether a line names chips, and none of the target's major."""
        named = chips_named(line, self.catalog)
        return bool(named) and all(sm // 10 != self.selection.major for sm in named)

    def _same_memory(self, shut: Shut) -> bool:
        """Whether a target that lands where it has too little memory misses the arm of those that have as much."""
        if shut.why is not Why.UNSUITED:
            return False
        own = limit(self.catalog, self.selection.sm, OPT_IN)
        numbers = self.catalog.universe.sms(shut.missed.yes)
        return own is not None and all(limit(self.catalog, sm, OPT_IN) == own for sm in numbers)

    def _needs_of(self, shut: Shut) -> Needs:
        guarded = shut.missed.arm
        arm = None if guarded == REST else self.gate.arms[guarded]
        said: tuple[str, ...] = ()
        if self.is_shown and self.gate.layer not in COMPILED:
            texts = (
                self.gate.near,
                self.gate.scope.name if self.gate.scope else "",
                *_texts(self.gate, guarded, shut.gets.effect),
            )
            said = self.recogniser.in_words(" ".join(texts))
        return needs_to_open(self.gate, arm, said, self.project, self.selection, self.catalog)

    def admitted(self) -> Iterator[Case]:
        """One case for the first branch that the target takes and cannot run."""
        for branch in self.ways:
            if branch.arm == REST or not branch.yes & self.selection.mask or not branch.works:
                continue
            obstacle = self._obstacle(branch)
            if obstacle is not None:
                arm = self.gate.arms[branch.arm]
                yield Case(
                    file=self.file,
                    gate=self.gate,
                    problem=Problem.OVER_ADMITTED,
                    guarded=branch.arm,
                    place=self.gate.place if self.gate.kind in LISTS else arm.place,
                    gets=branch.effect,
                    needs=Needs(obstacle.needs),
                    words=words(self.gate),
                    obstacle=obstacle,
                )
                return

    def _can_run(self, branch: Branch) -> bool:
        if branch.arm == REST:
            return True
        obstacle = self._obstacle(branch)
        return obstacle is None or bool(branch.yes & self.selection.mask & ~obstacle.variants)

    def _asks(self, branch: Branch) -> bool:
        """Whether the branch is known to ask for the target: what an unknown macro lets in is a guess."""
        own = self.gate.arms[branch.arm].own
        return not branch.conditional or own.unknown(self.catalog.universe.device) != self.catalog.universe.device

    def _obstacle(self, branch: Branch) -> Obstacle | None:
        if branch.arm not in self._obstacles:
            self._obstacles[branch.arm] = self._found_obstacle(branch, branch.yes & self.selection.mask)
        return self._obstacles[branch.arm]

    def _found_obstacle(self, branch: Branch, taken: int) -> Obstacle | None:
        return (
            self._too_large(branch, taken)
            or self._lumped(branch, taken)
            or self._foreign(branch, taken)
            or (self._unassembled(branch, taken) if self._asks(branch) else None)
        )

    def _unassembled(self, branch: Branch, taken: int) -> Obstacle | None:
        arm = self.gate.arms[branch.arm]
        known = [self.catalog.features[u.feature].mask for u in arm.features if u.feature in self.catalog.features]
        if all(taken & mask == taken for mask in known):
            return None
        universe = self.catalog.universe
        failing: dict[int, tuple[Need, ...]] = {}
        for variant in universe.members(taken):
            bit = universe.bit(variant)
            needs = needs_when_taken(self.gate, arm, bit, self.project, self.catalog)
            absent = needs.absent() if self._trusts_words(branch) else tuple(n for n in needs.sure if not n.has)
            if absent:
                failing[bit] = absent
        variants = sum(failing)
        if not failing or (self.gate.layer not in COMPILED and taken & ~variants):
            return None  # outside compiled code the build picks the variant
        return Obstacle(needs=_common(failing.values()), variants=variants, fits=taken & ~variants)

    def _trusts_words(self, branch: Branch) -> bool:
        """Words in the arm itself count where no code is there to look at, and the bound is open upwards.

        Whoever names the target's own major means it: words beside that tell of the other chips.
        """
        if self.gate.layer in COMPILED or (self.gate.layer is Layer.HOST and self.gate.kind is Kind.CHECK):
            return False
        inside = self.catalog.universe.sms(branch.own or branch.yes)
        every = self.catalog.universe.sms(self.catalog.universe.device)
        first = min(inside, default=0)
        return first // 10 < self.selection.major and all(sm in inside for sm in every if sm >= first)

    def _too_large(self, branch: Branch, taken: int) -> Obstacle | None:
        needed = shared_bytes(self.gate, branch.arm)
        cap = limit(self.catalog, self.selection.sm, OPT_IN)
        if needed is None or cap is None or needed <= cap:
            return None
        where = source(self.catalog, self.selection.sm, OPT_IN)
        return Obstacle(overrun=Overrun(OPT_IN, needed, cap, taken, 0, where), variants=taken)

    def _lumped(self, branch: Branch, taken: int) -> Obstacle | None:
        """A choice of sizes that puts the target with chips of more shared memory, and has an arm for those like it."""
        if self.gate.layer in COMPILED or shared_bytes(self.gate, branch.arm) is not None:
            return None
        found = lumped(branch, self.ways, self.selection, self.catalog)
        if found is None or not words(self.gate).tuning:
            return None
        return Obstacle(overrun=found, variants=taken)

    def _foreign(self, branch: Branch, taken: int) -> Obstacle | None:
        known = images(self.gate, branch.arm)
        admitted = self.catalog.universe.sms(branch.yes)
        if not any(sm in admitted for sm, _ in known) or any(self._loads(sm, suffix) for sm, suffix in known):
            return None
        return Obstacle(images=tuple(f"sm_{sm}{suffix}" for sm, suffix in known), variants=taken)

    def _loads(self, sm: int, suffix: str) -> bool:
        """Whether the chip takes a compiled image of that target."""
        own = self.selection.sm
        if suffix == "a":
            return sm == own
        if suffix == "f":
            return sm in self.selection.family and sm <= own
        return sm // 10 == own // 10 and sm <= own


def _holds_limit(shut: Shut, own: int | None, held: str | None) -> bool:
    """Whether the missed row holds the target's own limit."""
    return held is not None and is_limit(constant(shut.missed.effect.value), own, held)


def _is_told_by(admitted: tuple[Case, ...], shut: Shut) -> bool:
    """Whether it is enough to say that the arm taken is wrong: another arm is missed only because of that.

    Where the arm is too large, the arm for chips with as much memory is what the target should get.
    """
    return shut.why is Why.UNSUITED and any(c.obstacle is not None and c.obstacle.overrun is None for c in admitted)


def _common(failing: Iterable[tuple[Need, ...]]) -> tuple[Need, ...]:
    """What all failing variants lack; where they lack different things, what the first lacks."""
    lists = list(failing)
    everywhere = frozenset.intersection(*(frozenset(n.feature.id for n in needs) for needs in lists))
    return tuple(n for n in lists[0] if n.feature.id in everywhere) or lists[0]


def place_of(gate: Gate, shut: Shut) -> Place:
    """Where a finding points: the list, the arm of the nearest relative, or the condition that refuses.

    `#else` is a line of its own to point at; the else of a language is not.
    """
    if gate.kind in LISTS:
        return gate.place
    index = shut.missed.arm
    unnamed = index == REST or (gate.arms[index].is_else and gate.layer is not Layer.PREPROCESSOR)
    if unnamed or shut.why is Why.NEGATED:
        index = shut.gets.arm
    if index == REST:
        return gate.place
    return gate.arms[index].place


def defined(case: Case) -> tuple[str, ...]:
    """The macros that the guarded arm defines; where it does not tell, all that the gate is about."""
    value = case.arm.effect.value if case.arm is not None else None
    names = [part.partition("=")[0].strip() for part in (value or "").split(";")]
    return tuple(name for name in names if name in case.gate.symbols) or case.gate.symbols


def _texts(gate: Gate, guarded: int, gets: Effect) -> tuple[str, ...]:
    """Names and messages of the guarded arm and of what the target gets."""
    arm = None if guarded == REST else gate.arms[guarded]
    value = arm.effect.value if arm else gate.rest.value
    calls = arm.calls if arm else ()
    return tuple(t for t in (value, gets.message, *calls) if t)


_SIZED = frozenset({SiteKind.STATIC_SHARED, SiteKind.DYNAMIC_SHARED, SiteKind.CLUSTER_DIMS, SiteKind.LAUNCH_BOUNDS})


def _oversized(
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
                words=Words(),
                obstacle=Obstacle(overrun=over, variants=over.exceeds, fits=over.fits),
            )


def _arrives(file: FileFacts, site: Site, project: Project, selection: Selection, catalog: Catalog) -> bool:
    """Whether host code gets to a site on the target: no gate around or above it turns the target away.

    Code that is named for other chips is taken to be called for those alone.
    """
    named = chips_named(f"{site.function} {site.name} {file.path.rsplit('/', 1)[-1]}", catalog)
    if named and not any(sm // 10 == selection.major for sm in named):
        return False
    return all(_passes(gate, site, project, selection) for gate in file.gates if gate.layer is Layer.HOST)


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


def site_gate(file: FileFacts, site: Site, kind: Kind, truth: Truth, layer: Layer) -> Gate:
    """A gate that stands for a place without a condition: whoever gets there takes it."""
    arm = Arm(
        place=site.place,
        condition=site.name,
        own=truth,
        truth=truth,
        assumed=truth,
        effect=Effect(Does.WORK, site.place.line),
    )
    return Gate(
        path=file.path,
        layer=layer,
        kind=kind,
        place=site.place,
        arms=(arm,),
        symbols=(site.function,),
        names_arch=False,
    )
