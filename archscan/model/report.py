"""A report: everything one run has to say, ready for any format."""

from __future__ import annotations

from dataclasses import dataclass, field

from archscan.model.facts import Facts, Failed, Skipped
from archscan.model.finding import Finding
from archscan.model.target import Selection, Universe


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a chain, in the order in which it bites."""

    layer: str
    path: str
    line: int | None
    state: str  # open | shut | unknown | clean
    reach: str  # run | built
    fingerprint: str | None
    message: str
    role: str = "gate"  # gate | file | function | spec | op


@dataclass(frozen=True, slots=True)
class Chain:
    """The gates of one feature over all layers."""

    id: str
    name: str
    steps: tuple[Step, ...]
    sentence: str = ""  # "shut by 4 of 7 gates; open these together: ..."
    operators: tuple[str, ...] = ()  # that it calls of compiled code: `space::name`, or the name alone
    callers: tuple[str, ...] = ()  # places in other packages that run it: path:line


@dataclass(frozen=True, slots=True)
class UndecidedGate:
    """A gate whose truth stays unknown for the target, and what would settle it; or a place that was not understood."""

    path: str
    line: int
    condition: str
    unknowns: tuple[str, ...]
    settle: tuple[str, ...]
    reason: str = ""  # of a place that was not understood; "" = a gate, which hangs on the unknowns


@dataclass(frozen=True, slots=True)
class Suppressed:
    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Binaries:
    """What the libraries of a scan come to for the target."""

    libraries: int
    images: int
    run: int  # with machine code that it loads
    jit: int  # with PTX only
    jit_modules: int
    nothing: int
    disputed: int  # of which sources disagree whether it loads them
    elsewhere: int  # for another processor than the target comes with
    host: str  # that processor, if the target comes with one alone


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of judging facts for one target."""

    universe: Universe
    selection: Selection
    facts: Facts
    findings: tuple[Finding, ...]  # ordered: worst first
    undecided: tuple[UndecidedGate, ...] = ()
    chains: tuple[Chain, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    unused_suppressions: tuple[tuple[str, int], ...] = ()  # (path, line)
    baselined: int = 0
    hidden: tuple[tuple[str, int], ...] = ()  # ("vendored", 2374): counted, not shown, with the flag that shows them
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()
    assumptions: tuple[str, ...] = ()  # printed once
    binaries: Binaries | None = None  # None = no library was found
    notes: tuple[str, ...] = field(default=())
