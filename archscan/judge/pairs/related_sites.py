"""The types of a pairing: which half the other half is, the pair, and what collects the pairs over one set of cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST, Branch
from archscan.judge.cases import Case
from archscan.judge.project import Project
from archscan.model.facts import FileFacts
from archscan.model.finding import Consequence, Problem
from archscan.model.gate import Arm, Does, Gate, Layer, Place, Related, Role
from archscan.model.target import Selection

DEVICE = frozenset({Layer.PREPROCESSOR, Layer.DEVICE})
VANISHES = frozenset({Does.NOTHING, Does.LOGS, Does.PRINTS, Does.TRAPS, Does.ASSERTS, Does.ERRORS})


class Counterpart(str, Enum):
    """What the other half is, which settles what follows from it."""

    LAUNCH_ATTRIBUTE = "launch attribute"
    WAIT = "wait"
    TRIGGER = "trigger"
    HOST = "host dispatch"
    DEVICE = "device code"
    KERNEL = "kernel around it"
    DEFINITION = "macro definition"
    USE = "use of the macro"
    SOURCE = "compiled source"
    BUILD = "build list"
    TABLE = "table"
    CHECK = "check"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Pair:
    """The other half of a case."""

    half: Counterpart
    path: str
    line: int
    admits: bool  # the other half lets the target in
    message: str
    shares: Case | None = None  # the case of the other half where it is one

    def related(self) -> Related:
        """The other half as a related place of a finding."""
        role = Role.DEFINITION if self.half is Counterpart.DEFINITION else Role.PAIR
        return Related(self.path, self.line, role, self.message)


@dataclass(frozen=True)
class Pairs:
    """Every pair, by case, and the mismatches that are findings of their own."""

    by_case: dict[int, tuple[Pair, ...]]  # id of the case
    mismatches: tuple[Case, ...]
    asks: dict[int, str]  # id of the case -> feature that it decides about
    routed: frozenset[int]  # ids of cases whose code the host launches for other targets only
    closers: dict[str, list[Case]]  # path of a source -> the lists, shut for the target, that alone compile it
    under: frozenset[int]  # ids of cases that only ask a constant: they are told at its definition

    def of(self, case: Case) -> tuple[Pair, ...]:
        return self.by_case.get(id(case), ())


class Pairing:
    """Collects pairs over one set of cases."""

    def __init__(
        self,
        cases: Iterable[Case],
        project: Project,
        selection: Selection,
        catalog: Catalog,
        shows: Callable[[FileFacts], bool],
    ) -> None:
        self.cases = list(cases)
        self.project = project
        self.selection = selection
        self.catalog = catalog
        self.shows = shows  # whether cases of a file are reported: of the others only mismatches are counted
        self.pairs: dict[int, dict[tuple[str, int], Pair]] = defaultdict(dict)  # by case, then by place
        self.mismatches: list[Case] = []
        self.routed: set[int] = set()
        self.under: set[int] = set()
        self.closers: dict[str, list[Case]] = defaultdict(list)
        self.asks: dict[int, str] = {}
        self.shut = [c for c in self.cases if c.problem is Problem.EXCLUDED]
        self.shut_gates = {id(c.gate): c for c in self.shut}
        self.by_path: dict[str, list[Case]] = defaultdict(list)
        for case in self.shut:
            self.by_path[case.gate.path].append(case)

    def add(self, case: Case, pair: Pair) -> None:
        self.pairs[id(case)].setdefault((pair.path, pair.line), pair)

    def both(
        self, one: Case, half: Counterpart, other: Case, other_half: Counterpart, message: str, other_message: str
    ) -> None:
        """Pairs two cases that both shut the target out."""
        self.add(one, Pair(half, other.gate.path, other.place.line, False, message, other))
        self.add(other, Pair(other_half, one.gate.path, one.place.line, False, other_message, one))

    def taken(self, gate: Gate) -> list[tuple[Branch, Arm]]:
        """The arms of a gate that the target takes."""
        found = []
        for branch in self.project.ways(gate):
            if branch.arm != REST and branch.yes & self.selection.mask:
                found.append((branch, gate.arms[branch.arm]))
        return found


def mismatch(
    file: FileFacts, gate: Gate, arm: int, place: Place, other: Case, what: Consequence, related: tuple[Related, ...]
) -> Case:
    return Case(
        file=file,
        gate=gate,
        problem=Problem.DISAGREES,
        guarded=arm,
        place=place,
        gets=other.gets,
        needs=other.needs,
        consequence=what.value,
        related=related,
    )


def function_of(gate: Gate) -> str:
    """The bare name of the function around a gate, empty where there is none."""
    return gate.scope.name.rpartition("::")[2] if gate.scope else ""
