"""What a probe is, and what came of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

RIGHT, COUNTED, REFUSED = "right", "counted", "refused"  # what an arm's answer must be
ANSWERS = (RIGHT, COUNTED, REFUSED)
DEFAULT_MARGIN = 0.03

_LACKS = re.compile(r"(?:requires|not supported on) \.target")  # ptxas, of an instruction that the target lacks
_PLACE = re.compile(r"^ptxas .*?error\s*: ")

# What a compiler says of an arm and a target
COMPILES, REFUSES, BROKEN = "compiles", "refuses", "broken"

# What comes of a probe. The first three ran to their end; with `fails` and `wrong` they become evidence.
GAIN, SAME, LOSS, WORKS = "gain", "same", "loss", "works"
FAILS, WRONG = "fails", "wrong"
NOT_ASSEMBLED, NOT_RUN = "does not assemble", "not run"
OUTCOMES = (GAIN, SAME, LOSS, WORKS, FAILS, WRONG, NOT_ASSEMBLED, NOT_RUN)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel. `grid` may be a number of blocks or a multiple of the GPU's multiprocessors."""

    kernel: str
    grid: int = 1
    per_sm: bool = False  # grid counts multiprocessors
    block: int = 256
    shared: int = 0  # bytes of dynamic shared memory; of_limit: below (or over) what the GPU lets a block have
    of_limit: bool = False
    cluster: int = 0
    cooperative: bool = False
    dependent: bool = False  # with the attribute of programmatic dependent launch


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to the same answer."""

    name: str
    launches: tuple[Launch, ...]
    feature: bool = False  # compiled with PROBE_FEATURE defined
    answer: str = RIGHT  # right; counted: wrong words are a figure, not a fault; refused: the driver must say no
    optional: bool = False  # may be refused
    ptx: str = ""  # loaded from the PTX of this target, not from machine code


@dataclass(frozen=True, slots=True)
class Measure:
    """The time of one arm against that of the arm the code would take instead."""

    of: str
    against: str
    by: str = "time"  # time: of the launches; load: of loading the module
    decides: bool = False  # it says gain, same or loss; others are figures
    margin: float = DEFAULT_MARGIN  # a smaller difference is none


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A two-dimensional tensor map of the input."""

    columns: int
    rows: int
    box_columns: int
    box_rows: int


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe as its folder describes it."""

    name: str
    title: str
    asks: str  # the question in one sentence
    source: str  # CUDA C++
    targets: str  # what compiles with PROBE_FEATURE, in the notation of the facts
    elsewhere: str  # what compiles without it
    settles: tuple[str, ...]  # features or subjects that its outcome is evidence of
    rows: tuple[str, ...]  # measured instructions that the feature arm stands on
    words: dict[str, int]  # 32-bit words of the buffers: in, mid, out
    right: Arm
    arms: tuple[Arm, ...]
    measures: tuple[Measure, ...] = ()
    tensor: TensorMap | None = None
    note: str = ""

    def arm(self, name: str) -> Arm:
        """The arm of this name."""
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def deciding(self) -> Measure | None:
        """The measure that says gain, same or loss."""
        return next((m for m in self.measures if m.decides), None)


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compiler made: machine code (or PTX), or the reason why not."""

    image: bytes | None
    log: str = ""

    @property
    def refused(self) -> bool:
        """Whether the target lacks what the code uses. Anything else that went wrong says nothing about the target."""
        return self.image is None and _LACKS.search(self.log) is not None

    @property
    def why(self) -> str:
        """The line of the log that says why there is no image."""
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        told = [line for line in lines if _LACKS.search(line)] or [line for line in lines if "error" in line.lower()]
        return _PLACE.sub("", (told or lines or ["no reason given"])[0])


@dataclass(frozen=True, slots=True)
class ArmResult:
    """What an arm came to."""

    name: str
    outcome: str  # right, wrong, counted, refused
    why: str = ""
    wrong_words: int = 0
    of_words: int = 0
    figures: dict[str, Any] = field(
        default_factory=dict
    )  # registers, local bytes, shared bytes, blocks a multiprocessor
    microseconds: tuple[float, ...] = ()  # of one pass, a run each
    load_microseconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Ratio:
    """The speed of one arm over that of another: the median over the runs, the lowest and the highest."""

    of: str
    against: str
    by: str
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a probe."""

    probe: str
    outcome: str
    why: str = ""
    target: str = ""  # the variant that its feature arm was compiled for
    during: str = ""  # where it was when it ended before its time
    of_feature: bool = True  # whether a failure is the feature's
    arms: tuple[ArmResult, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    deciding: Ratio | None = None
    clocks: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """The GPU that was probed, and what it was probed with."""

    name: str
    sm: int
    driver: str
    compiler: str
    multiprocessors: int
    shared_limit: int  # bytes of dynamic shared memory a block may have
    uuid: str = ""
    clocks: dict[str, Any] = field(default_factory=dict)
