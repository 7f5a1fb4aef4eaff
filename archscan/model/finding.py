"""A finding: what a gate does to the target, how risky it is to open, and why. The judge's output."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archscan.model.gate import Gate, Place, Related


class Problem(str, Enum):
    EXCLUDED = "excluded"
    OVER_ADMITTED = "over-admitted"
    DISAGREES = "disagrees"


class Consequence(str, Enum):
    """What the target gets today."""

    COMPILE_ERROR = "compile_error"
    LOAD_ERROR = "load_error"
    RUNTIME_ERROR = "runtime_error"
    TRAP = "trap"
    SILENT_NOOP = "silent_noop"
    RACE = "race"
    WRONG_RESULT = "wrong_result"
    SLOW_FALLBACK = "slow_fallback"
    DEGRADED_TUNING = "degraded_tuning"
    NO_EFFECT = "no_effect"
    CORRECT_EXCLUSION = "correct_exclusion"


class Advice(str, Enum):
    LEAVE = "leave"
    WIDEN_SAFE = "widen-safe"
    WIDEN_NEEDS_TUNING = "widen-needs-tuning"
    WIDEN_PERF_RISK = "widen-perf-risk"
    WIDEN_UNSAFE_COMPILE = "widen-unsafe-compile"
    WIDEN_UNSAFE_RUNTIME = "widen-unsafe-runtime"
    NARROW = "narrow"
    PAIR = "pair"
    CONTESTED = "contested"
    INVESTIGATE = "investigate"


UNCOUNTED = frozenset({Advice.LEAVE, Advice.INVESTIGATE})  # never count for --fail-on and never get a fix


class Capability(str, Enum):
    """Whether the target can run what is behind the arm, by the inventory of the code there."""

    CAN = "can"
    CANNOT = "cannot"
    UNKNOWN = "unknown"


class Intent(str, Enum):
    """What a gate is for, read from what its sides do."""

    REQUIREMENT = "requirement"  # one side works, the other refuses, returns an error or does nothing
    PATH = "path"  # another implementation gives the same result
    TUNING = "tuning"  # the same code with other numbers
    IMAGES = "images"  # what a build makes, or a binary holds
    LIMIT = "limit"  # a measured limit of the chip
    MISTAKE = "mistake"  # it means the target, and only its spelling makes it false
    RESTRICTION = "restriction"  # names other chips to deny or limit something
    WORKAROUND = "workaround"  # something one chip gets because of a fault
    PREPARATION = "preparation"  # normalises a name, lists what a compiler knows
    TEST = "test"
    UNKNOWN = "unknown"


class Relation(str, Enum):
    """How the target stands to the chips that are let in."""

    OLDER = "older"
    NEWER = "newer"
    SIBLING = "sibling"
    BETWEEN = "between"
    OTHER_HALF = "other-half"


class Reach(str, Enum):
    """Whether what is behind a gate is run by a scanned program, built by a scanned build, or only there."""

    RUN = "run"
    BUILT = "built"
    EXISTS = "exists"
    UNKNOWN = "unknown"


class Level(str, Enum):
    """Risk levels, compared by rank: blocked > high > medium > low > info."""

    BLOCKED = "blocked"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {Level.BLOCKED: 4, Level.HIGH: 3, Level.MEDIUM: 2, Level.LOW: 1, Level.INFO: 0}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact with its source; `contested` facts come with the other side beside them."""

    fact: str
    source: str
    confidence: str  # high | medium | low | contested
    conditions: tuple[str, ...] = ()  # "4 PCIe GPUs without peer-to-peer", "CUDA 12.8"
    by_user: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Risk:
    level: Level
    score: int  # 0-100, orders the report
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """A byte range of a file and its new text."""

    path: str
    start: int
    end: int
    text: str

    @property
    def data(self) -> bytes:
        """The new text as bytes: what is no UTF-8 in moved code stays as it is."""
        return self.text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that go in together or not at all."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]
    reasons: tuple[str, ...] = ()  # why it is not safe
    opens: tuple[str, ...] = ()  # every target whose verdict flips


@dataclass(frozen=True, slots=True)
class Binary:
    """What a library holds for the target: how many modules come to run in which way."""

    modules: int
    native: int
    compatible: int
    jit: int
    jit_link: int
    none: int  # of a library of which nothing loads, or that are meant for the target's siblings
    other_chips: int  # hold images of other chips only, beside modules that load
    lto: int
    images: tuple[tuple[str, int], ...]  # by name: sm_120a, compute_90
    kernels: tuple[tuple[str, int], ...]  # code, hollow, trap, absent
    error: int  # what CUDA reports at the first launch: 209, 500; 0 = none
    unknown: int = 0  # of which sources disagree whether the target loads them


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding per place. Paths are the reported ones."""

    rule: str
    fingerprint: str
    problem: Problem
    gate: Gate
    arm: int  # index into gate.arms of the guarded arm (missed or wrongly taken); -1 = the rest
    place: Place
    condition: str
    form: str
    verdict: tuple[tuple[str, str], ...]  # (variant, yes|no|unknown) of the guarded arm
    admits: tuple[str, ...]  # every target that takes the arm
    peers_admitted: tuple[str, ...]
    consequence: Consequence
    features: tuple[str, ...]
    advice: Advice
    message: str
    risk: Risk
    severity: Level = Level.INFO  # how bad it is today: high, medium, low or info
    capability: Capability = Capability.UNKNOWN
    intent: Intent = Intent.UNKNOWN
    relation: Relation | None = None  # None where nobody is let in that the target could stand to
    reach: Reach = Reach.UNKNOWN
    missing: tuple[str, ...] = ()  # names in the guarded code that nothing is known of
    row: str = ""  # id of the row of rules/advice.yaml that decided
    listed: bool = True  # told one by one; what is right as it is, or only to be looked into, is counted
    body: Place | None = None
    function: str | None = None
    unknowns: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    group: str | None = None
    chain: str | None = None
    origin: str = "own"
    binary: Binary | None = None

    @property
    def path(self) -> str:
        return self.gate.path
