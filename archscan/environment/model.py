"""A row: what one GPU gets of a distribution, library by library."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from archscan.catalog.types import Catalog
from archscan.environment.choices import Choice
from archscan.environment.facts import FirstUse, PackageFacts, Release
from archscan.environment.installed import Installed
from archscan.environment.machine import Machine
from archscan.environment.uses import Use
from archscan.model.facts import Failed
from archscan.model.library import CUBIN, PTX, Image, Library
from archscan.model.target import Selection
from archscan.reporting.words import few


class State(str, Enum):
    """How a distribution stands to a GPU, worst first."""

    FAILS = "fails"  # nothing of it loads
    PARTLY = "partly"  # one of its libraries does not, or modules that only a sibling has a like of
    UNKNOWN = "unknown"
    SLOW = "slow"  # compiled by the driver when it is first used
    WORKS = "works"
    NO_CODE = "no-gpu-code"


class Fit(str, Enum):
    """What a GPU gets of one library."""

    NATIVE = "native"
    COMPATIBLE = "compatible"
    JIT = "jit"
    JIT_LINK = "jit-link"
    UNKNOWN = "unknown"  # sources disagree whether it loads
    NONE = "none"  # nothing, and no sign that it was not meant for this GPU
    OTHERS = "other-chips"  # nothing: all its images are for newer GPUs, or for single chips or families
    ELSEWHERE = "elsewhere"  # it is for another processor than the one this GPU comes with


RUN = (Fit.NATIVE, Fit.COMPATIBLE)
COMPILED = (Fit.JIT, Fit.JIT_LINK)


@dataclass(frozen=True, slots=True)
class Part:
    """One library for one GPU."""

    library: Library
    fit: Fit
    held: str  # the targets of its images, or of those that matter
    siblings: tuple[str, ...] = ()  # images of modules that hold code for one sibling of this GPU alone
    ptx: tuple[Image, ...] = ()  # that the driver compiles
    of_ptx: int = 0  # modules that are
    loose: bool = False  # files of one image each: a program picks among them by their names
    too_new: int = 0  # of the PTX that would be compiled, how many images need a newer driver
    only: str = ""  # the variable that leaves nothing of it

    @property
    def is_refused(self) -> bool:
        """Whether all that would be compiled of it is PTX that the driver is too old for."""
        return self.fit in COMPILED and bool(self.ptx) and self.too_new == len(self.ptx)


@dataclass(frozen=True, slots=True)
class Told:
    """A finding in one line."""

    severity: str
    rule: str
    place: str  # path:line
    message: str


@dataclass(frozen=True, slots=True)
class Gates:
    """What a scan of a distribution says for one GPU, counted."""

    by_severity: Mapping[str, int]
    hollow: int  # kernels of its libraries that do nothing, or trap
    jit: tuple[int, int]  # chains of JIT modules that are open, and shut
    worst: tuple[Told, ...] = ()  # the first of its findings
    opens: str = ""  # the first of its chains of which it is known what opening it does

    def in_words(self, target: str) -> str:
        """`gates: 2 high, 5 medium; 12 JIT modules are shut`."""
        levels = [(level, self.by_severity.get(level, 0)) for level in ("high", "medium", "low")]
        said = ", ".join(f"{number:,} {level}" for level, number in levels if number) or f"none shuts {target} out"
        shut = f"{self.jit[1]:,} JIT module{' is' if self.jit[1] == 1 else 's are'} shut"
        return f"gates: {said}" + (f"; {shut}" if self.jit[1] else "")

    @property
    def shut(self) -> bool:
        """Whether something of weight is shut or wrong."""
        return any(self.by_severity.get(level, 0) for level in ("high", "medium"))

    @property
    def is_shut(self) -> bool:
        """Whether something of weight is shut or wrong, or a JIT module is."""
        return self.shut or self.jit[1] > 0


@dataclass(frozen=True, slots=True)
class Runs:
    """What those that were asked for run of a distribution, and is shut: chains that begin in their code."""

    by: str  # the distributions that run it
    shut: tuple[str, ...]  # names of chains, what is met first before the others
    opens: str = ""  # the first of them of which it is known what opening it does

    def in_words(self) -> str:
        """`sglang runs 2 features of it that are shut: trtllm_comm, mnnvl`."""
        if not self.shut:
            return f"{self.by} runs nothing of it that is shut, as far as calls can be followed"
        verb = "run" if ", " in self.by else "runs"
        what = (
            "1 feature of it that is shut" if len(self.shut) == 1 else f"{len(self.shut)} features of it that are shut"
        )
        return f"{self.by} {verb} {what}: {few(self.shut, 4)}"


@dataclass(frozen=True, slots=True)
class Row:
    """A distribution for one GPU."""

    installed: Installed
    state: State
    parts: tuple[Part, ...] = ()  # its libraries with GPU code, without those that are not chosen
    choice: Choice | None = None
    first_use: FirstUse | None = None
    says: str = ""
    do: str = ""
    failed: tuple[Failed, ...] = ()
    conflicts: tuple[str, ...] = ()
    upgrade: Release | None = None  # a version that is known to have code for the GPU, if this one has none
    gates: Gates | None = None  # what a scan of it says; None = it was not scanned
    use: Use | None = None  # how near it is to those that were asked for
    runs: Runs | None = None  # None = nobody looked

    def count(self) -> dict[str, int]:
        """How many of its libraries this GPU gets in each way."""
        found = Counter(part.fit for part in self.parts)
        return {fit.value: found[fit] for fit in Fit}


@dataclass(frozen=True, slots=True)
class Question:
    """What a row is asked for."""

    selection: Selection
    catalog: Catalog
    facts: PackageFacts
    environ: Mapping[str, str]
    machine: Machine
    place: tuple[str, ...] = ()  # the options that name the environment on the command line

    def opening(self, name: str) -> str:
        """The command that opens the row of a distribution."""
        return shlex.join(["archscan", "env", "--target", self.selection.name, *self.place, name])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of images that the driver takes: variables switch one or the other off."""
        off = {CUBIN: "CUDA_FORCE_PTX_JIT", PTX: "CUDA_DISABLE_PTX_JIT"}
        return tuple(kind for kind, name in off.items() if self.environ.get(name, "0").strip() in ("", "0"))
