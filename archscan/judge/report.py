"""The judge on one page: cases, their pairs, their weight, the findings, and everything that is only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from archscan.catalog.types import Catalog
from archscan.judge.advice.ordered import advise
from archscan.judge.alternatives import without_served
from archscan.judge.cases import Case
from archscan.judge.consequences import consequence
from archscan.judge.evidence import known
from archscan.judge.findings import Outcome, findings
from archscan.judge.pairs import Pairs, asking, pair_up, with_uses
from archscan.judge.project import Project
from archscan.judge.risk import risk
from archscan.judge.rules import in_order
from archscan.judge.search import Found, find
from archscan.judge.suppress import sift
from archscan.judge.weighed import Weighed
from archscan.model.facts import Facts, FileFacts, Origin
from archscan.model.finding import Advice, Finding, Level
from archscan.model.gate import Kind
from archscan.model.report import Report, UndecidedGate
from archscan.model.settings import JudgeSettings
from archscan.model.target import Selection

_HIDDEN = frozenset({Origin.VENDORED, Origin.GENERATED})


def judge(facts: Facts, selection: Selection, catalog: Catalog, settings: JudgeSettings) -> Report:
    """The report on `facts` for one target: findings worst first, without chains and fixes."""
    project = Project(facts.files, catalog.universe)

    def shows(file: FileFacts) -> bool:
        return _is_shown(file, settings)

    found = find(project, selection, catalog, shows)
    open_cases = without_served(found.cases, project, selection)
    pairs = pair_up(open_cases, project, selection, catalog, shows)
    cases = (*open_cases, *pairs.mismatches)
    told = [c for c in cases if _is_told(c, settings)]
    lists = [c for c in told if c.gate.kind is Kind.KEYWORD_LIST]  # what they compile is judged by whether they stay
    listed = {id(c): _outcome(c, pairs, frozenset(), project, selection, settings, catalog) for c in lists}
    left = frozenset(key for key, outcome in listed.items() if outcome.advised.advice is Advice.LEAVE)
    outcomes = [listed.get(id(c)) or _outcome(c, pairs, left, project, selection, settings, catalog) for c in told]
    sifted = sift(findings(outcomes, in_order(catalog.rules.values())), facts.files)
    return Report(
        universe=catalog.universe,
        selection=selection,
        facts=facts,
        findings=wanted(sifted.findings, settings),
        undecided=_undecided(found, facts, settings),
        suppressed=sifted.suppressed,
        unused_suppressions=sifted.unused,
        hidden=_hidden(cases, settings),
        skipped=facts.skipped,
        failed=facts.failed,
        assumptions=_assumptions(facts),
        notes=(),
    )


def _outcome(
    bare: Case,
    pairs: Pairs,
    left: frozenset[int],
    project: Project,
    selection: Selection,
    settings: JudgeSettings,
    catalog: Catalog,
) -> Outcome:
    """What is decided about a case; `left` are the lists that shut the target out and are right as they are."""
    others = pairs.of(bare)
    closers = pairs.closers.get(bare.gate.path, ())
    case = with_uses(bare, pairs)
    if id(bare) in pairs.asks:
        case = asking(case, pairs.asks[id(bare)], project, selection, catalog)
    evidence = known(case, catalog, selection, settings.context)
    weighed = Weighed(
        case=case,
        ways=project.ways(case.gate),
        today=consequence(case),
        pairs=others,
        routed=id(bare) in pairs.routed,
        unbuilt=bool(closers) and all(id(closer) in left for closer in closers),
        selection=selection,
        catalog=catalog,
        harm=evidence.harm,
        contested=evidence.contested,
    )
    advised = advise(weighed)
    return Outcome(weighed, advised, risk(weighed, advised, evidence))


def _hidden(cases: Iterable[Case], settings: JudgeSettings) -> tuple[tuple[str, int], ...]:
    """How many cases stand in others' code and in tests: counted, not reported."""
    return tuple(sorted(Counter(c.file.origin.value for c in cases if not _is_told(c, settings)).items()))


def wanted(made: Iterable[Finding], settings: JudgeSettings) -> tuple[Finding, ...]:
    """The findings that pass the user's filters."""
    least = Level(settings.min_risk).rank
    return tuple(
        f
        for f in made
        if (not settings.problems or f.problem.value in settings.problems)
        and (not settings.layers or f.gate.layer.value in settings.layers)
        and (not settings.rules or f.rule in settings.rules)
        and f.risk.level.rank >= least
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
        if _is_shown(file, settings)
    ]
    for file in facts.files:
        if _is_shown(file, settings):
            made += [_open_question(file, u.line, u.condition, u.unknowns) for u in file.undecided]
    return tuple(sorted(made, key=lambda u: (u.path, u.line, u.condition)))


def _is_shown(file: FileFacts, settings: JudgeSettings) -> bool:
    if file.origin is Origin.TEST:
        return settings.include_tests
    return settings.include_vendored or file.origin not in _HIDDEN


def _is_told(case: Case, settings: JudgeSettings) -> bool:
    """Whether a case is reported: of tests that they are skipped, as nobody sees that otherwise."""
    return _is_shown(case.file, settings) or (case.gate.kind is Kind.TEST_SKIP and case.file.origin is Origin.TEST)


def _open_question(file: FileFacts, line: int, condition: str, unknowns: tuple[str, ...]) -> UndecidedGate:
    settle = tuple(f"-D{name}" for name in unknowns if name.isidentifier())
    return UndecidedGate(file.path, line, " ".join(condition.split()), unknowns, settle)


def _assumptions(facts: Facts) -> tuple[str, ...]:
    """Everything taken for granted anywhere, once."""
    said = {a for file in facts.files for gate in file.gates for a in gate.assumptions}
    return tuple(sorted(said))
