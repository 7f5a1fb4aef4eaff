"""The judge on one page: cases, their pairs, their weight, the findings, and everything that is only counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.judge.alternatives import without_served
from archscan.judge.capability import capability_of
from archscan.judge.case_context import CaseContext
from archscan.judge.cases import Case
from archscan.judge.consequences import consequence
from archscan.judge.evidence import known
from archscan.judge.findings import Outcome, findings
from archscan.judge.findings import in_order as worst_first
from archscan.judge.intent import intent_of, is_fence
from archscan.judge.made import Builds, Making
from archscan.judge.needs.features import COMPILED
from archscan.judge.pairs import Counterpart, Pair, Pairs, asking, pair_up, with_uses
from archscan.judge.project import Project
from archscan.judge.risk import risk
from archscan.judge.rules import in_order
from archscan.judge.search import Found, find
from archscan.judge.suppress import sift
from archscan.judge.table import advise
from archscan.model.facts import Facts, Failed, FileFacts, Origin, Skipped
from archscan.model.finding import Advice, Consequence, Finding, Level, Problem
from archscan.model.gate import Kind, Layer
from archscan.model.library import Library
from archscan.model.report import Report, UndecidedGate
from archscan.model.settings import JudgeSettings
from archscan.model.target import Selection

_HIDDEN = frozenset({Origin.VENDORED, Origin.GENERATED})


def judge(facts: Facts, selection: Selection, catalog: Catalog, settings: JudgeSettings) -> Report:
    """The report on `facts` for one target: findings worst first, without chains and fixes."""
    project = Project(facts.files, catalog.universe)

    def shows(file: FileFacts | Library) -> bool:
        return is_shown(file, settings)

    found = find(project, selection, catalog, shows)
    open_cases = without_served(found.cases, project, selection)
    pairs = pair_up(open_cases, project, selection, catalog, shows)
    cases = (*open_cases, *pairs.mismatches)
    told = [c for c in cases if _is_told(c, settings) and id(c) not in pairs.under]
    bench = _Bench(project, selection, settings, catalog, pairs, Recogniser(catalog), Builds(project, catalog))
    lists = [c for c in told if c.gate.kind in _CLOSE]  # what they compile is judged by whether they stay
    listed = {id(c): bench.outcome(c, frozenset(), frozenset()) for c in lists}
    left = frozenset(id(o.case.gate) for o in listed.values() if o.advised.advice is Advice.LEAVE)
    shut = frozenset(id(c.gate) for c in lists if c.problem is Problem.EXCLUDED)
    outcomes = [
        o for o in (listed.get(id(c)) or bench.outcome(c, left, shut - left) for c in told) if not _is_unreachable(o)
    ]
    rules = in_order(catalog.rules.values())
    made = findings(outcomes, rules)
    hidden: tuple[str, ...] = ()
    binaries = None
    if facts.libraries:
        from archscan.judge.binaries import judge_libraries

        compiled = judge_libraries(facts, selection, catalog, rules, shows, made)
        made = worst_first((*made, *compiled.findings)) if compiled.findings else made
        hidden, binaries = compiled.hidden, compiled.binaries
    sifted = sift(made, facts.files)
    return Report(
        universe=catalog.universe,
        selection=selection,
        facts=facts,
        findings=wanted(sifted.findings, settings),
        undecided=_undecided(found, facts, settings),
        suppressed=sifted.suppressed,
        unused_suppressions=sifted.unused,
        hidden=_hidden(cases, hidden, settings),
        skipped=_left(facts),
        failed=(*_lost(facts), *found.failed),
        assumptions=_assumptions(facts),
        binaries=binaries,
        notes=(),
    )


@dataclass(frozen=True)
class _Bench:
    """Everything that a case is weighed with."""

    project: Project
    selection: Selection
    settings: JudgeSettings
    catalog: Catalog
    pairs: Pairs
    recogniser: Recogniser
    builds: Builds

    def outcome(self, bare: Case, left: frozenset[int], to_open: frozenset[int]) -> Outcome:
        """What is decided about a case; `left` are the lists that shut the target out and are right as they are.

        Lists and `to_open`, those that are to be opened, are told by the id of their gate.
        """
        pairs, project, selection, catalog = self.pairs, self.project, self.selection, self.catalog
        closers = pairs.closers.get(bare.gate.path, ())
        case = with_uses(bare, pairs)
        if id(bare) in pairs.asks:
            case = asking(case, pairs.asks[id(bare)], project, selection, catalog)
        evidence = known(case, catalog, selection, self.settings.context)
        today = Consequence.NO_EFFECT if is_fence(case, catalog.universe) else consequence(case)
        if today in _ELSE and any(pair.half is Counterpart.DEVICE for pair in pairs.of(bare)):
            today = Consequence.WRONG_RESULT  # launched as for one way through the kernel, which goes the other
        weighed = CaseContext(
            case=case,
            ways=project.ways(case.gate),
            today=today,
            capable=capability_of(case, _uses(pairs.of(bare)), project, selection, catalog),
            intent=intent_of(case, today, selection, catalog.universe),
            pairs=pairs.of(bare),
            routed=id(bare) in pairs.routed,
            unbuilt=bool(closers) and all(id(closer.gate) in left for closer in closers),
            to_open=self._is_to_open(bare, to_open),
            built=self._making(bare),
            selection=selection,
            catalog=catalog,
            harm=evidence.harm,
            contested=evidence.contested,
            yours=evidence.yours,
            said_lacks=self._said_lacks(case),
        )
        advised = advise(weighed)
        return Outcome(weighed, advised, risk(weighed, advised, evidence))

    def _is_to_open(self, case: Case, to_open: frozenset[int]) -> bool:
        """Whether a list of a build that compiles its file shuts the target out, and is to be opened."""
        if case.problem is Problem.EXCLUDED or not to_open:
            return False
        closers = [closer.gate for closer in self.pairs.closers.get(case.gate.path, ())]
        return any(id(gate) in to_open for gate in self.builds.lists(case.gate.path) or closers)

    def _making(self, case: Case) -> Making | None:
        """What the scanned builds make of the source in which compiled code stands."""
        return self.builds.of(case.gate.path) if case.gate.layer in (*COMPILED, Layer.HOST) else None

    def _said_lacks(self, case: Case) -> tuple[str, ...]:
        """The instructions that comments of the gate itself name, and no variant of the target assembles."""
        if case.problem is not Problem.EXCLUDED or not case.gate.near:
            return ()
        named = (self.catalog.features[name] for name in self.recogniser.in_words(case.gate.near))
        return tuple(feature.group for feature in named if not feature.mask & self.selection.mask)


def _is_unreachable(outcome: Outcome) -> bool:
    """Whether harm stands where nothing compiles it for the target, and no list is to be opened."""
    weighed = outcome.weighed
    return (weighed.is_unmade and not weighed.to_open) or (
        weighed.unbuilt and outcome.case.problem is Problem.OVER_ADMITTED
    )


_CLOSE = frozenset({Kind.KEYWORD_LIST, Kind.BUILD_LIST})
_ELSE = frozenset({Consequence.SLOW_FALLBACK, Consequence.DEGRADED_TUNING})  # something else is done, and well


def _uses(pairs: Iterable[Pair]) -> tuple[Case, ...]:
    """The tests of a macro that stand under its definition."""
    return tuple(pair.shares for pair in pairs if pair.half is Counterpart.USE and pair.shares is not None)


def _hidden(cases: Iterable[Case], compiled: Iterable[str], settings: JudgeSettings) -> tuple[tuple[str, int], ...]:
    """How many cases stand in others' code and in tests: counted, not reported."""
    origins = (c.file.origin.value for c in cases if not _is_told(c, settings))
    return tuple(sorted(Counter((*origins, *compiled)).items()))


def wanted(made: Iterable[Finding], settings: JudgeSettings) -> tuple[Finding, ...]:
    """The findings that pass the user's filters."""
    least, low = Level(settings.min_risk).rank, Level(settings.min_severity).rank
    return tuple(
        f
        for f in made
        if (not settings.problems or f.problem.value in settings.problems)
        and (not settings.layers or f.gate.layer.value in settings.layers)
        and (not settings.rules or f.rule in settings.rules)
        and f.risk.level.rank >= least
        and f.severity.rank >= low
        and (not settings.advice or f.advice.value in settings.advice)
        and (not settings.focus or _touches(f, settings.focus))
    )


def _touches(finding: Finding, focus: tuple[str, ...]) -> bool:
    """Whether a finding, or a place related to it, lies in one of these paths."""
    paths = {finding.path, *(r.path for r in finding.related)}
    return any(p == f or p.startswith(f.rstrip("/") + "/") for p in paths for f in focus)


def _undecided(found: Found, facts: Facts, settings: JudgeSettings) -> tuple[UndecidedGate, ...]:
    """Gates whose truth stays unknown, and code that asks in a way nobody could read."""
    made = [
        _open_question(file, gate.place.line, gate.arms[0].condition if gate.arms else "", unknowns)
        for file, gate, unknowns in found.undecided
        if is_shown(file, settings)
    ]
    for file in facts.files:
        if is_shown(file, settings):
            made += [_open_question(file, u.line, u.condition, u.unknowns, u.reason) for u in file.undecided]
            told = () if file.lost else file.problems
            made += [_open_question(file, _line_in(p), p, (), _LINE.sub("", p)) for p in told]
    return tuple(sorted(made, key=lambda u: (u.path, u.line, u.condition)))


def is_shown(file: FileFacts | Library, settings: JudgeSettings) -> bool:
    """Whether what is found in a file is reported, or only counted."""
    if file.origin is Origin.TEST:
        return settings.include_tests
    return settings.include_vendored or file.origin not in _HIDDEN


def _is_told(case: Case, settings: JudgeSettings) -> bool:
    """Whether a case is reported: of tests that they are skipped, as nobody sees that otherwise."""
    return is_shown(case.file, settings) or (case.gate.kind is Kind.TEST_SKIP and case.file.origin is Origin.TEST)


def _open_question(
    file: FileFacts, line: int, condition: str, unknowns: tuple[str, ...], reason: str = ""
) -> UndecidedGate:
    settle = tuple(f"-D{name}" for name in unknowns if name.isidentifier())
    return UndecidedGate(file.path, line, " ".join(condition.split()), unknowns, settle, reason)


_LINE = re.compile(r" at line (\d+)$")


def _line_in(problem: str) -> int:
    """The line that a remark about a file names; the first if it names none."""
    found = _LINE.search(problem)
    return int(found[1]) if found else 1


def _left(facts: Facts) -> tuple[Skipped, ...]:
    """What was left out: whole files, and those that were read for what they define only."""
    more = (Skipped(file.path, file.left) for file in facts.files if file.left)
    return tuple(sorted((*facts.skipped, *more), key=lambda s: s.path))


def _lost(facts: Facts) -> tuple[Failed, ...]:
    """What could not be read, or was read and whose gates cannot be told."""
    more = (Failed(file.path, "; ".join(file.problems)) for file in facts.files if file.lost)
    return tuple(sorted((*facts.failed, *more), key=lambda f: f.path))


def _assumptions(facts: Facts) -> tuple[str, ...]:
    """Everything taken for granted anywhere, once."""
    said = {a for file in facts.files for gate in file.gates for a in gate.assumptions}
    return tuple(sorted(said))
