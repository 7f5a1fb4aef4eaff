"""A gate in a few lines of Markdown: who gets in, what is behind it, what happens today, and on what evidence."""

from __future__ import annotations

from collections.abc import Iterable

from archscan.model.finding import Capability, Finding, Problem, Reason
from archscan.model.gate import Arm, Gate
from archscan.model.report import Chain
from archscan.model.target import Selection, Universe
from archscan.reporting.markdown import plain
from archscan.reporting.matrix import MIXED, NO, UNKNOWN, YES, cell, columns
from archscan.reporting.plain import opening, said, verb
from archscan.reporting.words import few, one_line, shortened
from archscan.tracing.states import OPEN, SHUT, GateState

_WORDS = {YES: "yes", NO: "-", UNKNOWN: "?"}
_MOST_ARMS = 6
_MOST_REASONS = 6
_LONGEST = 200


def hover(state: GateState, chain: Chain | None, selection: Selection, universe: Universe) -> str:
    """What is said of a gate."""
    finding, gate = state.finding, state.gate
    lines = [f"**{selection.name}: {_answer(state)}**" + (f" ({finding.severity.value})" if finding else "")]
    lines += ["", *_table(gate, universe)]
    if finding is not None:
        lines += ["", f"**today:** {plain(said(finding))}", "", f"**{verb(finding)}:** {plain(opening(finding))}"]
    lines += ["", f"**behind it:** {plain(_behind(gate, finding))}"]
    if finding is None and state.state not in (OPEN, SHUT):
        names = tuple(dict.fromkeys(name for arm in gate.arms for name in arm.unknowns))
        lines += ["", f"**hangs on:** {plain(few(names, _MOST_ARMS) or 'what the code does not say')}"]
    if finding is not None:
        lines += _evidence(finding.risk.reasons)
    if chain is not None:
        lines += ["", f"**chain {plain(chain.name)}:** {plain(shortened(one_line(chain.sentence), 2 * _LONGEST))}"]
    return "\n".join(lines)


def _answer(state: GateState) -> str:
    if state.finding is not None and state.finding.problem is Problem.OVER_ADMITTED:
        return "let in where it should not be"
    if state.finding is not None and state.finding.problem is Problem.DISAGREES:
        return "one half lets it in, the other does not"
    return {OPEN: "let in or not concerned", SHUT: "shut out"}.get(state.state, "not decided")


def _table(gate: Gate, universe: Universe) -> Iterable[str]:
    """Who gets in: a row for each arm with a condition."""
    sms = columns(universe)
    arms = [arm for arm in gate.arms if not arm.is_else]
    yield f"| | {' | '.join(str(sm) for sm in sms)} |"
    yield f"|---|{'---|' * len(sms)}"
    for arm in arms[:_MOST_ARMS]:
        yield f"| {_code(shortened(one_line(arm.condition), 60))} | {' | '.join(_cells(arm, sms, universe))} |"
    if len(arms) > _MOST_ARMS:
        yield ""
        yield f"and {len(arms) - _MOST_ARMS} more"


def _cells(arm: Arm, sms: Iterable[int], universe: Universe) -> Iterable[str]:
    unknown = arm.truth.unknown(universe.all)
    for sm in sms:
        found = cell(arm.truth.yes, unknown, sm, universe)
        yield " ".join(found.sign) if found.answer == MIXED else _WORDS[found.answer]


def _behind(gate: Gate, finding: Finding | None) -> str:
    """What the guarded code uses, and whether the target has it."""
    names = finding.features if finding else tuple(dict.fromkeys(f.feature for arm in gate.arms for f in arm.features))
    used = few(names, _MOST_ARMS) if names else "nothing that only some GPUs have was seen"
    if finding is None:
        return used
    if finding.capability is Capability.CANNOT:
        return f"{used}; it cannot run here"
    if finding.capability is Capability.CAN:
        return f"{used}; it assembles for this target"
    missing = f": nothing is known of {few(finding.missing, 3)}" if finding.missing else ""
    return f"{used}; whether it can run here is not known{missing}"


def _evidence(reasons: tuple[Reason, ...]) -> Iterable[str]:
    yield from ("", "**evidence:**", "") if reasons else ()
    for reason in reasons[:_MOST_REASONS]:
        yield f"- {plain(shortened(one_line(reason.text), _LONGEST))}"
        for one in reason.evidence:
            where = f"{plain(one.source)}, {plain(one.confidence)}"
            yield f"  - {plain(shortened(one_line(one.fact), _LONGEST))} ({where})"
    if len(reasons) > _MOST_REASONS:
        yield f"- and {len(reasons) - _MOST_REASONS} more"


def _code(text: str) -> str:
    """Text as code in a table cell; what would end the cell or the code is written apart."""
    return f"`{text.replace('`', chr(0x2CB)).replace('|', chr(0x2223))}`"
