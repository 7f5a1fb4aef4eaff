"""What a GPU does not get, or gets wrong, by feature: a chain of gates, or the gates of a file that is in none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from archscan.model.finding import Advice, Capability, Finding, Level, Problem, Reach
from archscan.model.gate import Kind, Layer, Role
from archscan.model.report import Chain, Report, Step
from archscan.reporting.plain import HAPPENS, NOTHING_TO_OPEN, opening, risk, said
from archscan.reporting.words import few

OPEN, SHUT, UNKNOWN = "open", "shut", "unknown"
LANES = tuple(layer.value for layer in Layer)
_HEADERS = (".h", ".hh", ".hpp", ".cuh", ".inl")
_ASKED = frozenset({Layer.PYTHON.value, Layer.JIT.value})
_HERE = frozenset({Layer.PYTHON, Layer.JIT, Layer.HOST})  # in code that runs; a header may be one that nobody includes


@dataclass(frozen=True, slots=True)
class Lane:
    """One layer of a feature: the worst answer in it, and how many gates give it."""

    name: str
    state: str
    gates: int


@dataclass(frozen=True, slots=True)
class Feature:
    """Everything that shuts the target out of one feature, or goes wrong in it."""

    name: str
    path: str  # of what the target meets first
    chain: Chain | None  # None: the findings of one file that no chain leads to
    findings: tuple[Finding, ...]  # its own, worst first
    shut: tuple[Finding, ...]  # in the order in which they bite, those of other features included
    met: Finding  # what the target meets first
    lanes: tuple[Lane, ...]
    is_listing: bool = False  # only an ahead-of-time build leaves it out: a flag around a call, not a list of images
    is_right: bool = False  # what the target meets first is right as it is
    also: tuple[str, ...] = ()  # further features that the same gate shuts

    @property
    def severity(self) -> Level:
        """How bad it is today: that of what the target meets first."""
        return Level.LOW if self.is_listing else self.met.severity

    @property
    def to_open(self) -> tuple[Finding, ...]:
        """The shut gates of its chain, without build lists of which nothing is known, where there are others."""
        gates = [f for f in self.shut if not (f.gate.layer is Layer.BUILD and f.advice is Advice.INVESTIGATE)]
        return tuple(gates) or self.shut

    @property
    def lacking(self) -> tuple[Finding, ...]:
        """The gates of its chain behind which stands what the target cannot run: it is not to be opened."""
        return tuple(f for f in self.to_open if f.capability is Capability.CANNOT) if self.chain is not None else ()


def features(report: Report) -> tuple[Feature, ...]:
    """What is shut, wrong or slow for the target; what its programs run first, then the worst."""
    found = {f.fingerprint: f for f in report.findings if f.fingerprint}
    owned = _owned(report)
    names = [chain.name for chain in report.chains]
    made = [
        feature
        for chain in report.chains
        if (feature := _of_chain(chain, found, owned.get(chain.id, []), names.count(chain.name) > 1)) is not None
    ]
    made += [_of_file(key[0], mine) for key, mine in owned.items() if isinstance(key, tuple)]
    first = _first_root(report)
    return _folded(sorted(made, key=lambda feature: _order(feature, first)))


def _owned(report: Report) -> dict[object, list[Finding]]:
    """The listed findings by the id of their chain, or by (path,) where no chain leads to their file."""
    known = {chain.id for chain in report.chains}
    holding: dict[str, str] = {}  # what stands beside a shut gate of a chain belongs to it: launches, constants
    for chain in report.chains:
        for step in chain.steps:
            if step.state == SHUT and step.layer not in _ASKED and step.layer != Layer.BUILD.value:
                holding.setdefault(step.path, chain.id)
    owned: dict[object, list[Finding]] = {}
    for finding in report.findings:
        if finding.listed:
            owner = finding.chain if finding.chain in known else holding.get(finding.path)
            owned.setdefault(owner or (finding.path,), []).append(finding)
    return owned


def _first_root(report: Report) -> str:
    """The prefix of what lies below the first of several PATHs: the consumer."""
    if len(report.facts.roots) < 2:
        return ""
    return report.facts.roots[0].rstrip("/").rpartition("/")[2] + "/"


def _order(feature: Feature, first: str) -> tuple[object, ...]:
    met = feature.met
    return (
        feature.is_right,
        feature.is_listing,
        met.reach is not Reach.RUN and not _is_called(feature, first),
        not feature.path.startswith(first),
        feature.chain is None and met.gate.layer not in _HERE,
        bool(feature.lacking) or met.advice is Advice.WIDEN_UNSAFE_COMPILE,  # what can be opened comes first
        met.reach is Reach.EXISTS,
        -feature.severity.rank,
        met.advice is Advice.INVESTIGATE,
        -max(f.risk.score for f in (*feature.findings, met)),
        -len(feature.findings),
        feature.name,
    )


def _is_called(feature: Feature, first: str) -> bool:
    """Whether code of the consumer runs into it: by a call of a chain that asks first, or past a gate of its own."""
    met = feature.met
    if not first:
        return False
    if feature.path.startswith(first):  # it shuts the target out of what another package lets it into
        return any(r.role is Role.PAIR and not r.path.startswith(first) for r in met.related)
    calls = feature.chain.callers if feature.chain is not None else ()
    return met.gate.layer.value in _ASKED and any(place.startswith(first) for place in calls)


def _of_chain(chain: Chain, found: Mapping[str, Finding], own: list[Finding], is_ambiguous: bool) -> Feature | None:
    """The feature that a chain stands for; None if nothing of it is worth telling."""
    pairs = [
        (s, found[s.fingerprint]) for s in chain.steps if s.state == SHUT and s.fingerprint and s.fingerprint in found
    ]
    asked = [pair for pair in pairs if pair[0].layer in _ASKED]
    first = [pair for pair in asked if pair[1].advice is not Advice.LEAVE]
    closed = [f for _, f in asked if f.advice is Advice.LEAVE]
    built = [pair for pair in pairs if pair[0].layer not in _ASKED and pair[1].advice is not Advice.LEAVE]
    inside = sorted((f for step, f in built if step.layer != Layer.BUILD.value), key=_worst_first)
    listing = [f for step, f in built if step.layer == Layer.BUILD.value]
    if not own and not any(f.listed for _, f in pairs):
        return None
    meets = closed[:1] or [f for _, f in first] or inside or own or listing or [f for _, f in pairs]
    shut = {f.fingerprint: f for _, f in pairs if f.advice is not Advice.LEAVE}
    return Feature(
        name=chain.id if is_ambiguous else chain.name,
        path=meets[0].path,
        chain=chain,
        findings=_met_first(meets[0], own),
        shut=tuple(shut.values()),
        met=meets[0],
        lanes=lanes(chain.steps),
        is_listing=not closed
        and not first
        and not inside
        and all(f.gate.layer is Layer.BUILD for f in own)
        and bool(listing)
        and all(f.gate.kind is Kind.BUILD_FLAG for f in listing),
        is_right=bool(closed),
    )


def _worst_first(finding: Finding) -> tuple[int, int]:
    return -finding.severity.rank, -finding.risk.score


def _of_file(path: str, mine: list[Finding]) -> Feature:
    shut = tuple(f for f in mine if f.problem is Problem.EXCLUDED)
    gates = [Step(f.gate.layer.value, f.path, f.place.line, SHUT, "", f.fingerprint, "") for f in shut]
    return Feature(path, path, None, tuple(mine), shut, mine[0], lanes(gates))


def _folded(made: Sequence[Feature]) -> tuple[Feature, ...]:
    """Features that one and the same gate shuts first are told once, under the name of the worst."""
    by_gate: dict[object, list[Feature]] = {}
    for number, feature in enumerate(made):
        is_shared = feature.chain is not None and feature.met.problem is Problem.EXCLUDED
        by_gate.setdefault(feature.met.fingerprint if is_shared else number, []).append(feature)
    return tuple(_joined(same) for same in by_gate.values())


def _joined(same: Sequence[Feature]) -> Feature:
    first = same[0]
    if len(same) == 1:
        return first
    findings = _met_first(first.met, [f for feature in same for f in feature.findings])
    return replace(first, findings=findings, also=tuple(feature.name for feature in same[1:]))


def _met_first(met: Finding, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding is not met))


def lanes(steps: Iterable[Step]) -> tuple[Lane, ...]:
    """The layers of a chain in the order in which they bite, each with its worst answer."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(step.layer, []).append(step)
    return tuple(_lane(layer, found[layer]) for layer in LANES if layer in found)


def _lane(layer: str, steps: Sequence[Step]) -> Lane:
    places = {state: {(s.path, s.line) for s in steps if s.state == state} for state in (SHUT, UNKNOWN)}
    state = SHUT if places[SHUT] else UNKNOWN if places[UNKNOWN] else OPEN
    name = layer
    if layer == Layer.PREPROCESSOR.value:
        paths = {path for path, _ in places[SHUT]} or {s.path for s in steps}
        name = "header" if all(path.endswith(_HEADERS) for path in paths) else "source"
    return Lane(name, state, len(places[state]) if state in places else 0)


_MARKS = {OPEN: "o", SHUT: "x", UNKNOWN: "?"}


def row(feature: Feature) -> str:
    """The layers as a row: `python o · jit x · header 13 x`."""
    return " · ".join(
        f"{lane.name} {f'{lane.gates} ' if lane.gates > 1 else ''}{_MARKS[lane.state]}" for lane in feature.lanes
    )


def today(feature: Feature) -> str:
    """What the target gets today; behind a gate that is asked first, what it would get once that is open."""
    text = said(feature.met)
    if feature.is_listing:
        return f"{text}; it is still compiled at first use"
    behind = [
        f
        for f in feature.findings
        if f.severity.rank > feature.met.severity.rank and f.gate.layer is not Layer.BUILD and f is not feature.met
    ]
    if feature.chain is not None and behind and not feature.is_right:
        worst = max(behind, key=lambda f: (f.severity.rank, f.risk.score))
        text += f"; once built: {HAPPENS[worst.consequence]}"
    return text


def to_open(feature: Feature, name: str) -> str:
    """Whether the feature can be opened, and at what risk."""
    if feature.is_right:
        return f"{NOTHING_TO_OPEN}: what shuts it first is right as it is"
    if feature.chain is None:
        more = len(feature.findings) - 1
        return opening(feature.met) + (f"; {more} more in this file" if more else "")
    gates, lacking = feature.to_open, feature.lacking
    if lacking:
        what = few(lacking[0].features, 2) or "what is behind it"
        return f"{NOTHING_TO_OPEN}: {what} cannot run on {name}"
    unknown = [f for f in gates if f.advice is Advice.INVESTIGATE]
    if unknown:
        missing = tuple(dict.fromkeys(word for f in unknown for word in f.missing))
        which = "" if len(gates) == 1 else f" for {len(unknown)} of {len(gates)} gates"
        return f"not known{which}: nothing is measured of {few(missing, 2) if missing else 'what is behind'}"
    if len(gates) < 2:
        return opening(gates[0] if gates else feature.met)
    worst = max(gates, key=lambda f: (f.risk.level.rank, f.risk.score))
    together = "both gates together or neither" if len(gates) == 2 else f"all {len(gates)} gates together or none"
    return f"{together}; {risk(worst)}"
