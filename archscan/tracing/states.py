"""What each gate of a report means for the target: open, shut or unknown, with the finding that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from archscan.model.facts import FileFacts
from archscan.model.finding import Advice, Finding, Problem
from archscan.model.gate import Gate, Layer
from archscan.model.report import Report, Step
from archscan.reporting.plain import said, takes, verb
from archscan.tracing.modules import Extension

OPEN, SHUT, UNKNOWN, CLEAN = "open", "shut", "unknown", "clean"
RUN, BUILT = "run", "built"
_SAYS = {OPEN: "lets it in", SHUT: "shuts it out", UNKNOWN: "undecided"}


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: hashing whole gates cost most of a trace
class GateState:
    """A gate and its answer for the target. `states` makes one for each gate of a report."""

    gate: Gate
    state: str
    finding: Finding | None = None

    @property
    def line(self) -> int:
        return self.finding.place.line if self.finding else self.gate.place.line

    @property
    def place(self) -> str:
        return f"{self.gate.path}:{self.line}"

    @property
    def is_to_open(self) -> bool:
        """Whether opening it gains something: shut, and not right as it is."""
        return self.state == SHUT and self.finding is not None and self.finding.advice is not Advice.LEAVE

    def step(self, reach: str, why: str = "") -> Step:
        fingerprint = self.finding.fingerprint if self.finding else None
        return Step(self.gate.layer.value, self.gate.path, self.line, self.state, reach, fingerprint, self.text(why))

    def text(self, why: str = "") -> str:
        if self.finding is None:
            text = f"{_SAYS[self.state]}: {_condition(self.gate)}"
        elif self.finding.advice is Advice.LEAVE:
            text = f"{said(self.finding)}; nothing to open: right as it is"
        else:
            text = f"{said(self.finding)}; {verb(self.finding)}: {takes(self.finding)}"
        return f"{text} ({why})" if why else text


def lists(state: GateState, extension: Extension) -> str:
    """What a gate around a call of what builds a module is for, where that only puts it on a list."""
    is_list = state.gate.layer is Layer.BUILD
    return f"lists {extension.name} for the ahead-of-time build" if is_list else ""


def states(
    report: Report, asked: Callable[[FileFacts], bool] = lambda file: True
) -> Mapping[str, tuple[GateState, ...]]:
    """Every gate of the files asked for by path, in the order of their lines."""
    findings = {_key(f.gate): f for f in (*(s.finding for s in report.suppressed), *report.findings)}
    undecided: dict[str, set[int]] = {}
    for question in report.undecided:
        undecided.setdefault(question.path, set()).add(question.line)
    result: dict[str, tuple[GateState, ...]] = {}
    for file in report.facts.files:
        if file.gates and asked(file):
            lines = undecided.get(file.path, set())
            known = [_of(gate, findings.get(_key(gate)), lines) for gate in file.gates]
            result[file.path] = tuple(sorted(known, key=lambda g: (g.line, g.gate.place.start)))
    return result


def _key(gate: Gate) -> tuple[str, int, int, str]:
    return gate.path, gate.place.start, gate.place.end, gate.kind.value


def _of(gate: Gate, finding: Finding | None, undecided: set[int]) -> GateState:
    if finding is not None:
        return GateState(gate, SHUT if finding.problem is Problem.EXCLUDED else OPEN, finding)
    asked = undecided and (gate.place.line in undecided or any(arm.place.line in undecided for arm in gate.arms))
    return GateState(gate, UNKNOWN if asked else OPEN)


def _condition(gate: Gate) -> str:
    for arm in gate.arms:
        if arm.condition:
            text = " ".join(arm.condition.split())
            return text if len(text) <= 100 else text[:97] + "..."
    return gate.kind.value
