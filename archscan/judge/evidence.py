"""Finds the known facts that speak to a case, and whether they warn, encourage or contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from archscan.catalog.types import Catalog, EvidenceRow
from archscan.judge.cases import Case
from archscan.judge.needs.features import Need
from archscan.model.finding import Evidence
from archscan.model.target import Selection

_CONFIDENCE = {"high": 3, "contested": 2, "medium": 2, "low": 1}
MOST = 4  # rows shown for one finding: the strongest of each side first


@dataclass(frozen=True, slots=True)
class Known:
    """The rows that speak to a case, strongest first."""

    rows: tuple[EvidenceRow, ...] = ()

    def weighing(self, *weights: str) -> tuple[EvidenceRow, ...]:
        """The rows that weigh in one of these ways: harm, help, neutral, contested."""
        return tuple(r for r in self.rows if r.weighs in weights)

    features: frozenset[str] = frozenset()  # what the case uses, without the kinds of code
    settled: frozenset[str] = frozenset()  # what `archscan probe` ran on this very chip

    def disputes(self, row: EvidenceRow) -> bool:
        """Whether a row that contradicts others still does: not once the user's GPU answered all that it speaks of."""
        subject = row.features & self.features
        return row.weighs == "contested" and not (subject and subject <= self.settled)

    @property
    def yours(self) -> str:
        """What the user's measurements come to: `loss`, `contested` where another good source disagrees, or nothing."""
        own = [r for r in self.rows if r.evidence.by_user]
        lost, gained = _any(own, "harm"), _any(own, "help")
        others = [r for r in self.rows if not r.evidence.by_user and (r.weighs != "contested" or self.disputes(r))]
        debated = [r for r in others if r.contradicts]  # they tell what happened, not what assembles
        if (lost and (gained or _any(debated, "help"))) or (gained and _any(others, "harm", "contested")):
            return "contested"
        return "loss" if lost else ""

    @property
    def harm(self) -> bool:
        """Whether it went wrong, or slower, for somebody."""
        return bool(self.weighing("harm")) or any(map(self.disputes, self.rows))

    @property
    def contested(self) -> bool:
        """Whether sources disagree about an instruction that the case uses, or the user's with them."""
        return self.yours == "contested" or any(r.features & self.features and self.disputes(r) for r in self.rows)


def _any(rows: Iterable[EvidenceRow], *weights: str) -> bool:
    return any(row.weighs in weights for row in rows)


def known(case: Case, catalog: Catalog, selection: Selection, context: Iterable[str]) -> Known:
    """The evidence on what is behind the gate for this target, rows of the user's context first."""
    subjects = case.needs.ids() | tags(case)
    wanted = frozenset(context)
    rows = [r for r in catalog.evidence if _speaks(r, subjects, case, selection)]
    rows.sort(key=lambda r: (-sum(holds(word, r) for word in wanted), -r.evidence.by_user, -_weight(r), r.id))
    settled = frozenset(feature for r in rows if r.probed == selection.sm for feature in r.features)
    return Known(tuple(rows), case.needs.ids(), settled)


def known_of(name: str, catalog: Catalog, selection: Selection, problem: str = "excluded") -> Known:
    """The evidence on an operation or module, by what rules/facts/packages.yaml says it is."""
    rows = catalog.packages.get("operations", ())
    assert isinstance(rows, list | tuple)
    subjects = frozenset(row["subject"] for row in rows if row["name"] == name)
    kin = {selection.sm, *catalog.architectures[selection.sm].family}
    found = [
        row
        for row in catalog.evidence
        if row.features & subjects and row.sms & kin and (not row.problems or problem in row.problems)
    ]
    found.sort(key=lambda r: (-r.evidence.by_user, -_weight(r), r.id))
    return Known(tuple(found))


def _weight(row: EvidenceRow) -> int:
    return _CONFIDENCE.get(row.evidence.confidence, 0)


def tags(case: Case) -> frozenset[str]:
    """Subjects that are no instructions, as the evidence file names them."""
    found = set()
    if case.obstacle is not None and case.obstacle.overrun is not None:
        found |= {"shared-memory"} if "smem" in case.obstacle.overrun.key else {"launch-bounds"}
    if case.limit:
        found.add("launch-bounds" if "threads" in case.limit else "shared-memory")
    return frozenset(found)


def _speaks(row: EvidenceRow, subjects: frozenset[str], case: Case, selection: Selection) -> bool:
    if not row.features & subjects:
        return False
    if row.sms and selection.sm not in row.sms:
        return False
    if row.names and not any(name in _named(case) for name in row.names):
        return False
    return not row.problems or case.problem.value in row.problems


def _named(case: Case) -> str:
    """The macros and names that a gate asks."""
    gate = case.gate
    return " ".join((*gate.symbols, *gate.derived_from, *(arm.condition for arm in gate.arms)))


def holds(word: str, row: EvidenceRow) -> bool:
    """Whether a row was taken under a condition of the user's."""
    plain = _plain(word)
    return bool(plain) and plain in _plain(" ".join(row.evidence.conditions))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def chosen(found: Known, *weights: str) -> tuple[Evidence, ...]:
    """The evidence to show for these weights."""
    return tuple(r.evidence for r in found.weighing(*weights)[:MOST])


def measured(need: Need, catalog: Catalog, selection: Selection) -> Evidence:
    """What the assembler said about a feature on the target's variants."""
    names = ", ".join(catalog.universe.names(need.has)) or "no variant of " + selection.name
    return Evidence(f"{need.feature.group} assembles on {names}", need.feature.source, "high")


def seen(need: Need) -> Evidence:
    """Where the code, or a word, says that the feature is used."""
    via = f" through {need.use.via}" if need.use.via else ""
    how = "uses" if need.sure else "names"
    return Evidence(f"{how} {need.feature.group}{via}", f"{need.path}:{need.use.line}", "high" if need.sure else "low")
