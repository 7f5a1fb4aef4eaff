"""Finds what is wrong for the target, gate by gate: shut out, or let in where it cannot run."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

from archscan.catalog.types import Catalog
from archscan.errors import internal
from archscan.judge.branches import REST, Branch, branches, outline
from archscan.judge.cases import LISTS, Case, place_of
from archscan.judge.chips import chips_named
from archscan.judge.intent import limits_others, prepares, refuses_others, states_truths
from archscan.judge.needs.features import COMPILED, Needs, needs_to_open
from archscan.judge.needs.images import loaded, picked_images
from archscan.judge.needs.limits import (
    OPT_IN,
    THREADS,
    constant,
    gives_a_limit,
    holds_limit,
    is_limit,
    limit,
    listed_limit,
    mostly_blocks,
    tabled_limit,
    told_too_large,
)
from archscan.judge.needs.modules import lacking
from archscan.judge.needs.obstacles import Obstacle, Obstacles
from archscan.judge.needs.oversized import oversized
from archscan.judge.project import Project
from archscan.judge.verdicts import Exclusion, ExclusionReason, Undecided, decide, spared, stopped
from archscan.model.facts import Failed, FileFacts, LinkKind, SiteKind
from archscan.model.finding import Problem
from archscan.model.gate import Does, Effect, Gate, Kind, Layer
from archscan.model.target import Selection


@dataclass(frozen=True, slots=True)
class Found:
    """Everything wrong, and every gate that could not be decided."""

    cases: tuple[Case, ...]
    undecided: tuple[tuple[FileFacts, Gate, tuple[str, ...]], ...]
    failed: tuple[Failed, ...] = ()  # files with a gate that could not be judged, for an error of ours


def find(project: Project, selection: Selection, catalog: Catalog, is_shown: Callable[[FileFacts], bool]) -> Found:
    """Every case of exclusion and over-admission, in file and source order; words are read in shown files only.

    Of what is not shown hardly more than the number is said: gates that are alike there are looked at once.
    """
    cases: list[Case] = []
    undecided = []
    failed: dict[str, Failed] = {}
    alike: dict[Hashable | None, tuple[Case | Undecided, ...]] = {}
    for file in project.files:
        if is_for_another_maker(file):
            continue
        before = len(cases)
        shown = is_shown(file)
        for gate in file.gates:
            key = None if shown else outline(gate)
            known = alike.get(key)
            if known is None:
                try:
                    known = tuple(GateJudge(file, gate, project, selection, catalog, shown).found())
                except Exception as error:
                    known = ()
                    failed[file.path] = Failed(file.path, f"line {gate.place.line}: {internal(error)}")
                if key is not None:
                    alike[key] = known
            for one in known:
                if isinstance(one, Undecided):
                    undecided.append((file, gate, one.unknowns))
                else:
                    cases.append(one if one.gate is gate else _moved(one, file, gate))
        cases[before:] = _without_checks(cases[before:])
        cases += oversized(file, project, selection, catalog, cases[before:])
    return Found(tuple(cases), tuple(undecided), tuple(failed.values()))


_CUDA_HEADER = re.compile(r"(?:cuda|cu[a-z]+_|cute|cutlass|thrust|cub)[\w.]*(?:/|$)")


def is_for_another_maker(file: FileFacts) -> bool:
    """Whether a file always includes HIP's headers and none of CUDA's: no CUDA build reads it."""
    includes = [link for link in file.links if link.kind is LinkKind.INCLUDES]
    hip = any(link.target.startswith("hip/") and not link.detail.endswith("#if") for link in includes)
    return hip and not any(_CUDA_HEADER.match(link.target) for link in includes)


def _without_checks(cases: list[Case]) -> list[Case]:
    """The cases of a file but for checks that let the target in to what a later arm of their function is told of."""
    arms: dict[tuple[str, frozenset[str]], int] = {}
    for case in cases:
        if case.problem is Problem.OVER_ADMITTED and case.gate.kind is not Kind.CHECK and case.gate.scope:
            arms[case.gate.scope.name, case.needs.ids()] = case.place.line
    return [c for c in cases if not _is_told_below(c, arms)]


def _is_told_below(case: Case, arms: dict[tuple[str, frozenset[str]], int]) -> bool:
    if case.problem is not Problem.OVER_ADMITTED or case.gate.kind is not Kind.CHECK or case.gate.scope is None:
        return False
    return bool(case.needs.items) and arms.get((case.gate.scope.name, case.needs.ids()), 0) > case.place.line


def _moved(one: Case, file: FileFacts, gate: Gate) -> Case:
    """The case of a gate for another with the same outline: where nothing but conditions speaks, it is shut out."""
    assert one.shut is not None
    got = one.shut.gets.arm
    gets = gate.rest if got == REST else gate.arms[got].effect
    return one._replace(file=file, gate=gate, place=place_of(gate, one.shut), gets=gets)


class GateJudge:
    """One gate with everything needed to look at it."""

    def __init__(
        self,
        file: FileFacts,
        gate: Gate,
        project: Project,
        selection: Selection,
        catalog: Catalog,
        is_shown: bool,
    ) -> None:
        self.file = file
        self.gate = gate
        self.ways = project.ways(gate)
        self.obstacles = Obstacles(gate, project, selection, catalog)
        self.project = project
        self.selection = selection
        self.catalog = catalog
        self.is_shown = is_shown

    def found(self) -> Iterator[Case | Undecided]:
        """Everything that is wrong with the gate, or why nobody can tell."""
        verdict, admitted = self.verdict(), tuple(self.admitted())
        if isinstance(verdict, Undecided):
            yield verdict
        elif verdict is not None and not _is_told_by(admitted, verdict) and (case := self.excluded(verdict)):
            yield case
        yield from admitted

    def verdict(self) -> Exclusion | Undecided | None:
        if self.gate.kind is Kind.RESOURCE:
            return None
        universe = self.catalog.universe
        if self.gate.note("refused"):
            loads = _with_loading(self.gate)
            own = loads.arms[0].own
            if (own.yes | own.unknown(universe.device)) & self.selection.mask:  # it stops whatever else is in it
                return stopped(self.ways)
            others = replace(self.selection, peers=universe.device & ~self.selection.mask)
            return decide(loads, branches(loads, universe), others, universe, self.obstacles.can_run)
        selection = self.selection
        if self.gate.kind is Kind.BUILD_LIST:  # code for older chips alone leaves the target with nothing as well
            selection = replace(selection, peers=universe.device & ~selection.mask)
        verdict = decide(self.gate, self.ways, selection, universe, self.obstacles.can_run)
        if verdict is None and self.gate.kind is Kind.TABLE:
            return self._limit_of_older()
        if verdict is None and self.is_shown and any(a.effect.refuses for a in self.gate.arms):
            return spared(self.ways, self.selection, universe)
        return verdict

    def _limit_of_older(self) -> Exclusion | None:
        """The row with the target's own limit, where those without a row get a smaller number than it has."""
        held = tabled_limit(self.ways, self.catalog)
        own = limit(self.catalog, self.selection.sm, held) if held else None
        gets = [b for b in self.ways if b.yes & self.selection.mask and not b.conditional]
        told = constant(gets[0].effect.value) if gets else None
        if held is None or own is None or told is None or told >= own or is_limit(told, own, held):
            return None
        right = [b for b in self.ways if b.conditional and is_limit(constant(b.effect.value), own, held)]
        return Exclusion(right[0], gets[0], ExclusionReason.MISSED) if right else None

    def excluded(self, shut: Exclusion) -> Case | None:
        """The case of a gate that shuts the target out; None where that is no loss."""
        case = self.missed(shut)
        return None if case is None or any(is_none(case) for is_none in NO_EXCLUSION) else case

    def missed(self, shut: Exclusion) -> Case | None:
        """What the target misses at a gate; None where its own branch is right for it."""
        gate = self.gate
        listed = self._listed()
        held = listed[0] if listed else tabled_limit(self.ways, self.catalog) or mostly_blocks(self.ways, self.catalog)
        own = limit(self.catalog, self.selection.sm, held) if held else None
        if held and holds_limit(shut.gets.effect.value, own, held):
            return None
        if gives_a_limit(self.ways, shut.gets, self.selection.sm, self.catalog):
            return None
        if self._is_of_its_own(shut) or self._names_what_loads(shut) or self._is_filtered_for_it(shut):
            return None
        shut = _with_limit(shut, own, held)
        guarded = shut.missed.arm
        return Case(
            file=self.file,
            gate=gate,
            problem=Problem.EXCLUDED,
            guarded=guarded,
            place=place_of(gate, shut),
            gets=shut.gets.effect,
            needs=self._needs_of(shut),
            shut=shut,
            limit=held,
            admits=self.catalog.universe.names(shut.missed.yes),
            is_sure=bool(shut.missed.sure & self.selection.peers) and not self.selection.mask & ~shut.missed.no,
            same_limit=_holds_limit(shut, own, held)
            or self._same_memory(shut)
            or (listed is not None and listed[1])
            or self._fits_bounds(shut),
        )

    def _listed(self) -> tuple[str, bool] | None:
        """The limit that a map of chips holds in its rows, and whether one of them is the target's."""
        if self.gate.kind is not Kind.ALLOW_LIST or self.gate.layer is not Layer.HOST:
            return None
        return listed_limit(self.gate.arms[0].condition, self.selection.sm, self.catalog)

    def _is_of_its_own(self, shut: Exclusion) -> bool:
        """Whether code that is named for the target sends everybody else away: `if not is_sm120: return`."""
        universe, own = self.catalog.universe, self.selection.major
        near = "/".join((*self.gate.path.rsplit("/", 2)[-2:], self.gate.scope.name if self.gate.scope else ""))
        if shut.missed.arm == REST or all(sm // 10 != own for sm in chips_named(near, self.catalog)):
            return False
        others = universe.sms(universe.device & ~(shut.missed.yes | shut.missed.maybe))
        return min(universe.sms(universe.device)) not in others and {sm // 10 for sm in others} == {own}

    def _is_filtered_for_it(self, shut: Exclusion) -> bool:
        """Whether a filter leaves out, for the target's generation alone, some of many choices: the rest is for it."""
        if self.gate.note("filters") is None or shut.gets.sure & self.selection.mask:
            return False
        return {sm // 10 for sm in self.catalog.universe.sms(shut.gets.yes)} == {self.selection.major}

    def _names_what_loads(self, shut: Exclusion) -> bool:
        """Whether a ladder names a build target for each chip, and what it names for this one loads there."""
        own, theirs = (picked_images(b.effect.value or "", self.catalog) for b in (shut.gets, shut.missed))
        return len(own) == len(theirs) == 1 and loaded(own, self.selection, self.catalog)

    def _same_memory(self, shut: Exclusion) -> bool:
        """Whether a target misses the arm of those that have as much memory: it lands where it has too little.

        That is seen, or the text beside the arm speaks of memory.
        """
        own = limit(self.catalog, self.selection.sm, OPT_IN)
        numbers = self.catalog.universe.sms(shut.missed.yes)
        if own is None or any(limit(self.catalog, sm, OPT_IN) != own for sm in numbers):
            return False
        return shut.why is ExclusionReason.UNSUITED

    def _fits_bounds(self, shut: Exclusion) -> bool:
        """Whether a macro sizes launch bounds: what the target gets is out of its range, and what it misses is not."""
        own = limit(self.catalog, self.selection.sm, THREADS)
        if own is None or self.gate.kind is not Kind.MACRO_DEFINITION:
            return False
        bounds = [site for site in self.file.sites if site.kind is SiteKind.LAUNCH_BOUNDS]
        places = {site.place for site in bounds if site.value > own and site.truth.yes & self.selection.mask}
        fitting = [site for site in bounds if site.value <= own and site.place in places]
        return any(not shut.missed.yes & ~site.truth.yes for site in fitting)

    def _needs_of(self, shut: Exclusion) -> Needs:
        guarded = shut.missed.arm
        arm = None if guarded == REST else self.gate.arms[guarded]
        needs = needs_to_open(self.gate, arm, (), self.project, self.selection, self.catalog)
        lacks = lacking(self.gate, arm, self.project, self.selection, self.catalog)
        return Needs((*lacks, *needs.items)) if lacks else needs

    def _told(self, branch: Branch) -> Obstacle | None:
        """What a ladder of limits tells the target of memory that it has not; the code there runs all the same."""
        over = None if self.gate.layer in COMPILED else told_too_large(branch, self.ways, self.selection, self.catalog)
        return Obstacle(overrun=over, variants=over.exceeds) if over is not None else None

    def admitted(self) -> Iterator[Case]:
        """One case for the first branch that the target takes and cannot run."""
        everybody = self.catalog.universe.device if self.gate.layer in COMPILED else 0
        for branch in self.ways:
            if not branch.yes & self.selection.mask or not branch.works or branch.yes == everybody:
                continue  # device code against host code: that asks for no chip
            obstacle = self.obstacles.of(branch) or self._told(branch)
            if obstacle is not None:
                arm = self.gate.arms[branch.arm] if branch.arm != REST else None
                yield Case(
                    file=self.file,
                    gate=self.gate,
                    problem=Problem.OVER_ADMITTED,
                    guarded=branch.arm,
                    place=self.gate.place if arm is None or self.gate.kind in LISTS else arm.place,
                    gets=branch.effect,
                    needs=Needs(obstacle.needs),
                    obstacle=obstacle,
                )
                return


NO_EXCLUSION = (limits_others, refuses_others, prepares, states_truths)


def _with_loading(gate: Gate) -> Gate:
    """A build list that the toolkit refuses as it would be with another one: who finds no code in it misses more."""
    arms = tuple(replace(arm, truth=arm.own, assumed=arm.own) for arm in gate.arms)
    return replace(gate, arms=arms, rest=Effect(Does.SKIPS, gate.place.line, environment=gate.rest.environment))


def _with_limit(shut: Exclusion, own: int | None, held: str | None) -> Exclusion:
    """The row that holds the target's own limit is the one it misses, whoever stands in it."""
    if held is None or _holds_limit(shut, own, held):
        return shut
    right = [b for b in shut.others if b.conditional and is_limit(constant(b.effect.value), own, held)]
    if not right:
        return shut
    others = (shut.missed, *(b for b in shut.others if b is not right[0]))
    return replace(shut, missed=right[0], others=others)


def _holds_limit(shut: Exclusion, own: int | None, held: str | None) -> bool:
    """Whether the missed row holds the target's own limit."""
    return held is not None and is_limit(constant(shut.missed.effect.value), own, held)


def _is_told_by(admitted: tuple[Case, ...], shut: Exclusion) -> bool:
    """Whether it is enough to say that the arm taken is wrong: another arm is missed only because of that.

    Where the arm is too large, the arm for chips with as much memory is what the target should get.
    """
    return shut.why is ExclusionReason.UNSUITED and any(
        c.obstacle is not None and c.obstacle.overrun is None for c in admitted
    )
