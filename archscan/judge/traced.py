"""What is known anew of a finding once it is known which operation the code behind its gate leads to."""

from __future__ import annotations

from dataclasses import replace

from archscan.catalog.types import Catalog
from archscan.judge.evidence import MOST, Known
from archscan.judge.risk import score_when_dear
from archscan.judge.severity import LEVELS
from archscan.judge.table import chosen
from archscan.model.finding import Advice, Finding, Level, Reason, Risk

_PRESUMED = frozenset({"one-chip", "one-chip-required"})  # rows that rest on who is let in, and on nothing it needs


def is_left(finding: Finding) -> bool:
    """Whether a finding is right as it is for what the code behind its gate needs, not only for whom it lets in."""
    return finding.advice is Advice.LEAVE and finding.row not in _PRESUMED


def reconsidered(finding: Finding, found: Known, catalog: Catalog) -> Finding:
    """A finding about which nothing was known, with what is known of the operation that it turns out to lead to.

    That a gate lets in one chip alone is no reason where the operation is one that other chips run too.
    """
    presumed = finding.advice is Advice.LEAVE and finding.row in _PRESUMED
    if finding.advice is not Advice.INVESTIGATE and not presumed:
        return finding
    held = {name for name, holds in (("loss", found.harm), ("contested", found.contested)) if holds}
    row = chosen(catalog.advice, _attributes(finding), lambda name: name in held)
    if row.advice is Advice.INVESTIGATE and not presumed:
        return finding
    score = score_when_dear(finding.consequence) if presumed else finding.risk.score
    told = Reason("evidence of harm" if found.harm else row.why, tuple(r.evidence for r in found.rows[:MOST]))
    return replace(
        finding,
        advice=row.advice,
        row=row.id,
        risk=Risk(Level.HIGH if found.harm else Level.MEDIUM, score, (*finding.risk.reasons, told)),
        severity=LEVELS[finding.consequence] if presumed else finding.severity,
        listed=True,
        message=finding.message.rpartition(";")[0] + _SAYS.get(row.advice, "").format(why=row.why),
    )


_SAYS = {
    Advice.WIDEN_PERF_RISK: "; opening it may cost time: measure ({why})",
    Advice.INVESTIGATE: "; find out before you open it",
}


def _attributes(finding: Finding) -> dict[str, str]:
    return {
        "problem": finding.problem.value,
        "capability": finding.capability.value,
        "intent": finding.intent.value,
        "relation": finding.relation.value if finding.relation is not None else "none",
    }
