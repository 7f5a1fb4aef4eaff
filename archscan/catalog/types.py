"""The compiled form of `rules/`: what is known of architectures, macros, features, evidence and packages; the rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from archscan.model.finding import Advice, Consequence, Evidence, Level
from archscan.model.target import Target, Universe


@dataclass(frozen=True, slots=True)
class Limit:
    """A per-SM limit with its source; value None = undocumented."""

    value: int | None
    source: str


@dataclass(frozen=True, slots=True)
class Tegra:
    """Chips of which sources disagree whether they load machine code of desktop parts of the same major."""

    chips: frozenset[int]
    against: str  # with where it was read
    agreeing: str


@dataclass(frozen=True)
class Architecture:
    """One SM: products, family, limits."""

    sm: int
    name: str  # "Blackwell (consumer)"
    products: tuple[str, ...]
    family: tuple[int, ...]
    renamed: int | None  # the number that other toolkits know the same chip by
    limits: dict[str, Limit]  # smem_per_block_optin_bytes, max_threads_per_sm, ... (keys of sm_limits.json)
    nvcc: str = ""  # first and last toolkit that compiles for it: "12.8-", "-12.9"
    host: str = ""  # the only processor that it comes with ("" = several)


@dataclass(frozen=True)
class MacroFacts:
    """What nvcc defines. `values[name]` maps a value to the mask of targets that define it so; elsewhere undefined."""

    values: dict[str, dict[str, int]]
    function_like: dict[str, tuple[tuple[str, ...], str]]  # name -> (parameters, body), where defined_for says
    defined_for: dict[str, int]
    toolkit: dict[str, str]  # value templates of __CUDACC_VER_MAJOR__, CUDART_VERSION, ...
    known_undefined: frozenset[str]  # __HIP__, _MSC_VER, __CUDACC_RTC__, ...
    undefined_like: tuple[str, ...] = ()  # regular expressions for whole names of the same kind
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # defined in both passes: what it may be

    derived_elsewhere: tuple[str, ...] = ()  # the same, of macros that known libraries derive from the architecture
    toolkit_derived: tuple[str, ...] = ()  # those of them that hang on the toolkit's release alone
    everywhere: frozenset[str] = frozenset()  # names with one value for every target and the host pass
    device_functions: tuple[str, ...] = ()  # macros of known libraries that make a function a device function

    def is_derived_elsewhere(self, name: str) -> bool:
        """Whether a known library derives `name` from the architecture."""
        return any(re.fullmatch(pattern, name) for pattern in self.derived_elsewhere)

    def is_architectural_elsewhere(self, name: str) -> bool:
        """Whether it does so from the target, not only from the toolkit's release."""
        only_toolkit = any(re.fullmatch(pattern, name) for pattern in self.toolkit_derived)
        return not only_toolkit and self.is_derived_elsewhere(name)

    def toolkit_values(self, cuda: str) -> dict[str, str]:
        """The toolkit macros for `--cuda` such as 13.0: CUDART_VERSION -> 13000."""
        major, _, minor = cuda.partition(".")
        fields = {"major": int(major), "minor": int(minor or 0), "version": int(major) * 1000 + int(minor or 0) * 10}
        return {name: template.format(**fields) for name, template in self.toolkit.items()}

    def is_defined_everywhere(self, name: str) -> bool:
        """Whether both passes of nvcc define `name`, for every target."""
        return name in self.unsettled or name in self.everywhere

    def is_undefined(self, name: str) -> bool:
        """Whether another compiler than nvcc defines `name`."""
        return name in self.known_undefined or any(re.fullmatch(pattern, name) for pattern in self.undefined_like)


@dataclass(frozen=True)
class Feature:
    """Something guarded code uses, with the targets that have it."""

    id: str
    group: str  # the name shown to users: wgmma, tcgen05, griddep-wait, cluster, tma, ...
    title: str
    mask: int  # targets that assemble it (measured)
    source: str  # "ptxas 13.0.88"
    lowering: tuple[tuple[str, int], ...] = ()  # (emulated | driver_call | internal_routine | expanded, mask)
    identifiers: frozenset[str] = frozenset()  # intrinsics and names that mean it when called
    identifier_patterns: tuple[str, ...] = ()  # the same, as regular expressions for a whole identifier
    mnemonics: tuple[str, ...] = ()  # regular expressions on asm text
    code_patterns: tuple[str, ...] = ()  # regular expressions on code, where one identifier is not enough
    words: tuple[str, ...] = ()  # in comments, names, docstrings: low confidence
    sync: bool = False  # losing it silently breaks ordering
    probe: str = ""  # its first row in rules/facts/probes.yaml
    toolkit: str = ""  # first toolkit that knows it, where CUDA 13.0 does not
    note: str = ""  # why its lowering does not count against it

    @cached_property
    def identifier_pattern(self) -> re.Pattern[bytes] | None:
        """What a whole identifier matches, compiled when asked for; None = nothing."""
        return _union(self.identifier_patterns)

    @cached_property
    def mnemonic(self) -> re.Pattern[bytes] | None:
        """What asm text matches, compiled when asked for; None = nothing."""
        return _union(self.mnemonics)

    @cached_property
    def code_pattern(self) -> re.Pattern[bytes] | None:
        """What code matches, compiled when asked for; None = nothing."""
        return _union(self.code_patterns)

    def lowered(self, mask: int) -> tuple[tuple[str, int], ...]:
        """Of the targets of `mask`, those where it is not one native instruction: (class, part of the mask)."""
        return tuple((kind, part & mask) for kind, part in self.lowering if part & mask)


def _union(patterns: tuple[str, ...]) -> re.Pattern[bytes] | None:
    return re.compile("|".join(f"(?:{p})" for p in patterns).encode()) if patterns else None


@dataclass(frozen=True)
class EvidenceRow:
    """A row of rules/facts/evidence.yaml."""

    id: str
    features: frozenset[str]
    sms: frozenset[int]  # empty = any
    problems: frozenset[str]
    weighs: str  # harm | help | neutral | contested
    evidence: Evidence
    contradicts: str = ""  # key that the sides of a contested fact share
    names: tuple[str, ...] = ()  # beginnings of the macros it speaks of; none = any code
    probed: int = 0  # the SM that `archscan probe` ran it on; 0 = somebody wrote it down


@dataclass(frozen=True, slots=True)
class PtxVersion:
    """A version of PTX, and what it needs."""

    version: str
    cuda: str  # first toolkit that writes it
    driver: int  # first branch of drivers that compiles it
    source: str
    confidence: str


@dataclass(frozen=True)
class Rule:
    """One YAML file of rules/: when it applies, what it says, its page."""

    id: str
    title: str
    problem: str
    match: dict[str, frozenset[str]]  # attribute -> values; see judge/rules.py
    order: int
    what: str
    why: str
    example: str
    known_problems: str
    fix_safety: str
    references: tuple[str, ...]
    severity: str  # error | warning | note
    precision: str  # very-high | high | medium | low
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolkit:
    """One release of CUDA: what its nvcc compiles for, and the PTX that it writes."""

    release: str  # "12.8"
    ptx_isa: str
    driver: int | None  # branch of the driver that reads this PTX; None = not looked up
    accepts: frozenset[str]  # "90", "90a"
    deprecated: frozenset[str]
    source: str

    @property
    def version(self) -> tuple[int, ...]:
        """The release as numbers."""
        return version_of(self.release)

    def takes(self, target: Target) -> bool:
        """Whether nvcc compiles for a target."""
        return f"{target.sm}{target.suffix}" in self.accepts

    @property
    def plain(self) -> tuple[int, ...]:
        """The SMs it compiles for, ascending."""
        return tuple(sorted(int(name) for name in self.accepts if name.isdigit()))


def version_of(text: str) -> tuple[int, ...]:
    """A version such as 12.8.1 as numbers; what is no number ends it."""
    found = re.match(r"\d+(?:\.\d+)*", text.strip())
    return tuple(int(part) for part in found[0].split(".")) if found else ()


@dataclass(frozen=True, slots=True)
class NamedList:
    """What names such as Ampere stand for from some version of a program on, and the entries it takes (empty: any)."""

    since: str
    names: dict[str, str]
    accepts: frozenset[str]


@dataclass(frozen=True)
class Toolkits:
    """Every release of CUDA that is known, and the named lists of nvcc, CMake and torch."""

    rows: tuple[Toolkit, ...]
    words: dict[str, dict[str, str]]  # native, all, all-major -> program -> meaning
    torch: tuple[NamedList, ...]
    cmake: tuple[NamedList, ...]

    def at(self, release: str) -> Toolkit:
        """The toolkit of a release, or the newest before it, else the oldest; of none the newest."""
        asked = version_of(release or self.rows[-1].release)[:2]
        return next((row for row in reversed(self.rows) if row.version <= asked), self.rows[0])

    def first_for(self, target: Target) -> str:
        """The first release that compiles for a target; empty where none does."""
        return next((row.release for row in self.rows if row.takes(target)), "")


@dataclass(frozen=True)
class KnownNames:
    """What every target has: functions of the toolkit's headers, names of the C++ library, plain instructions."""

    functions: frozenset[str] = frozenset()
    name_patterns: tuple[str, ...] = ()
    members: frozenset[str] = frozenset()
    instruction_patterns: tuple[str, ...] = ()
    source: str = ""

    def has_name(self, name: str) -> bool:
        """Whether a function, type or name with its namespaces is everywhere."""
        return name in self.functions or self._names.fullmatch(name) is not None

    def has_instruction(self, mnemonic: str) -> bool:
        """Whether an instruction with its modifiers is everywhere."""
        return self._instructions.fullmatch(mnemonic) is not None

    @cached_property
    def _names(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{p})" for p in self.name_patterns) or "(?!)")

    @cached_property
    def _instructions(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{p})" for p in self.instruction_patterns) or "(?!)")


@dataclass(frozen=True)
class Rate:
    """How often a row of advice was right over labelled findings."""

    right: float
    of: int
    date: str


@dataclass(frozen=True)
class AdviceRow:
    """One row of rules/advice.yaml: when it applies, what it advises, and how often that was right."""

    id: str
    when: dict[str, frozenset[str]]  # capability, intent, relation, problem; "with" and "without" circumstances
    advice: Advice
    why: str
    page: str
    today: Consequence | None = None  # the outcome it leaves standing, where that is not what the target gets
    severity: Level | None = None
    rate: Rate | None = None


@dataclass(frozen=True)
class Catalog:
    """All of it. Made once per run by `archscan.catalog.load`."""

    universe: Universe
    architectures: dict[int, Architecture]
    product_names: dict[str, int]  # lower case, blanks removed -> SM
    macros: MacroFacts
    features: dict[str, Feature]
    evidence: tuple[EvidenceRow, ...]
    rules: dict[str, Rule]
    packages: dict[str, object]  # rules/facts/packages.yaml, checked: facades, predicates, capability sources
    messages: tuple[dict[str, object], ...]  # rules/facts/messages.yaml: error families people paste
    digest: str = ""  # of every file read; part of cache keys
    advice: tuple[AdviceRow, ...] = ()  # rules/advice.yaml, in the order in which it is asked
    known: KnownNames = field(default_factory=KnownNames)  # rules/facts/toolkit_names.yaml
    images: dict[str, str] = field(default_factory=dict)  # cubin_a -> this-sm; see architectures.loads
    ptx_versions: dict[str, PtxVersion] = field(default_factory=dict)
    tegra: Tegra = field(default_factory=lambda: Tegra(frozenset(), "", ""))
    toolkits: Toolkits = field(default_factory=lambda: Toolkits((), {}, (), ()))

    @cached_property
    def generations(self) -> dict[str, int]:
        """The first SM of each generation, by its name in lower case."""
        rows = self.packages.get("generations", ())
        assert isinstance(rows, list | tuple)
        return {row["name"].lower(): row["first"] for row in rows}

    @cached_property
    def kernel_families(self) -> tuple[tuple[re.Pattern[str], tuple[int, ...]], ...]:
        """What public kernels of some generations are called, with their majors."""
        rows = self.packages.get("kernel_families", ())
        assert isinstance(rows, list | tuple)
        return tuple((re.compile(row["pattern"], re.I), tuple(row["majors"])) for row in rows)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        return self.universe.targets
