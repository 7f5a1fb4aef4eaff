"""A gate: a conditional, list or table whose outcome depends on the target. Facts only: no target, no opinion."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from archscan.model.truth import Truth


class Layer(str, Enum):
    """Where a gate bites, in the order of a chain."""

    PYTHON = "python"
    JIT = "jit"
    BUILD = "build"
    HOST = "host"
    PREPROCESSOR = "preprocessor"
    DEVICE = "device"
    BINARY = "binary"


class Kind(str, Enum):
    """What a gate is made of. The form (upper bound, equality, ...) follows from the truth, not from this."""

    PREPROCESSOR_IF = "preprocessor-if"  # #if / #elif / #else chain
    MACRO_DEFINITION = "macro-definition"  # such a chain whose arms only #define; consumers are gates of their own
    TARGET_MACRO = "target-macro"  # NV_IF_TARGET and relatives
    IF = "if"  # if / elif / else (Python, C++, CMake), early returns included
    CONSTEXPR_IF = "constexpr-if"  # if constexpr on an architecture value
    SWITCH = "switch"
    CONDITIONAL_EXPRESSION = "conditional-expression"  # a if c else b, c ? a : b
    RETURNED_TRUTH = "returned-truth"  # return cc == 89
    FLAG = "flag"  # x = cond, used nowhere in what was scanned
    CHECK = "check"  # assert, CHECK macros, require-helpers
    ALLOW_LIST = "allow-list"  # membership lists, decorators, registries
    KEYWORD_LIST = "keyword-list"  # supported_major_versions=[9, 10]
    TABLE = "table"  # dict keyed by capability, row per arm
    WINDOW = "window"  # minimum/maximum attributes, capability windows, template ranges
    BUILD_FLAG = "build-flag"  # if has_sm100:
    BUILD_LIST = "build-list"  # CMake arch lists, gencode lists
    STRING_COMPARE = "string-compare"  # "12.0" >= "7.0", STRLESS
    STRING_EDIT = "string-edit"  # string(REPLACE ...) on the name of an architecture
    TEST_SKIP = "test-skip"
    IMAGES = "images"  # of a compiled library: no condition, but what was built (arm = where one of them loads)
    RESOURCE = "resource"  # no condition: a constant that exceeds a limit of some targets (arm = where it fits)


class Does(str, Enum):
    """What an arm (or falling past all arms) does."""

    NOTHING = "nothing"  # empty, or no arm taken
    WORK = "work"
    DEFINES = "defines"  # only #defines or constants
    PRINTS = "prints"
    LOGS = "logs"  # a warning, then goes on
    TRAPS = "traps"  # trap, assert(false), brkpt
    ERRORS = "errors"  # #error, static_assert(false), message(FATAL_ERROR)
    RAISES = "raises"  # raise, throw, failed CHECK, KeyError of a table without a row
    ASSERTS = "asserts"
    REFUSES = "refuses"  # returns False / None / an error code / (False, reason), or appends to an error list
    RETURNS = "returns"  # returns some other value
    ASSIGNS = "assigns"  # picks a value: backend name, constant, configuration
    SKIPS = "skips"  # continue, not appended, not compiled, test skipped


REFUSALS = frozenset({Does.PRINTS, Does.TRAPS, Does.ERRORS, Does.RAISES, Does.ASSERTS, Does.REFUSES, Does.SKIPS})


class Via(str, Enum):
    """What a verdict rests on."""

    FILE = "file"
    INCLUDES = "includes"
    PROJECT_TABLE = "project-table"


class Role(str, Enum):
    """What a related place has to do with a gate or finding."""

    PAIR = "pair"
    DEFINITION = "definition"
    CALLER = "caller"
    DUPLICATE = "duplicate"
    ALSO_CHANGE = "also-change"


@dataclass(frozen=True, slots=True)
class Place:
    """A range in a file: byte offsets for edits, 1-based lines and columns (end_column exclusive) to show."""

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a gate: the definition that decided it, the other half of a pair."""

    path: str
    line: int
    role: Role
    message: str


@dataclass(frozen=True, slots=True)
class FeatureUse:
    """A feature seen in guarded code."""

    feature: str  # id in rules/facts/features.yaml
    line: int
    via: str = ""  # "" = in the region itself; else the function or macro it is reached through
    path: str = ""  # file of `line` when it is another one
    confidence: str = "high"  # "low" when only a comment, docstring, file, class or kernel name says so


@dataclass(frozen=True, slots=True)
class Mention:
    """A name or instruction in guarded code that nothing is known of."""

    name: str
    line: int
    path: str = ""  # file of `line` when it is another one
    via: str = ""  # the function or macro it is reached through


@dataclass(frozen=True, slots=True)
class Effect:
    """What happens on an arm."""

    does: Does
    line: int = 0
    message: str | None = None  # error text, format placeholders kept as written
    value: str | None = None  # the value returned, assigned or picked, as source text
    environment: tuple[str, ...] = ()  # variables that would override ("set X=1 to try")

    @property
    def refuses(self) -> bool:
        return self.does in REFUSALS


NOTHING = Effect(Does.NOTHING)


@dataclass(frozen=True, slots=True)
class Arm:
    """One branch. `own` is its condition alone; `truth` is effective: own, no earlier arm, enclosing conditionals.

    `assumed` is `truth` with unknown atoms that do not depend on the architecture taken as met; `assumes` names them.
    """

    place: Place  # of the condition, list or row; for #else of the directive
    condition: str  # as written, continuations joined ("" for else)
    own: Truth
    truth: Truth
    assumed: Truth
    effect: Effect
    unknowns: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    via: Via = Via.FILE
    body: Place | None = None
    digest: str = ""  # of the body without white space and comments; equal digests do the same
    features: tuple[FeatureUse, ...] = ()
    calls: tuple[str, ...] = ()  # names called in the body, for chains
    missing: tuple[Mention, ...] | None = (
        None  # what nothing is known of in the body and what it calls; None = not looked
    )
    is_else: bool = False
    focus: Place | None = None  # the part of the condition to underline, if known (the conjunct that decides)


@dataclass(frozen=True, slots=True)
class Scope:
    """The function around a gate."""

    name: str
    is_kernel: bool = False  # __global__
    is_device: bool = False  # __device__, or __global__
    whole_body: bool = False  # the gate is the whole body: dead means an empty function


@dataclass(frozen=True, slots=True)
class Gate:
    """A conditional of which some arm depends on the target."""

    path: str
    layer: Layer
    kind: Kind
    place: Place  # where a finding about the whole gate points; each arm has its own
    arms: tuple[Arm, ...]
    rest: Effect = NOTHING  # what a target gets that takes no arm (no else)
    rest_features: tuple[FeatureUse, ...] = ()  # of what surely runs there
    rest_calls: tuple[str, ...] = ()
    rest_missing: tuple[Mention, ...] | None = None
    scope: Scope | None = None
    reach: Truth | None = None  # truth of the enclosing conditionals; None = always reached
    related: tuple[Related, ...] = ()
    near: str = ""  # comments and docstring beside it, for words such as "workaround"
    symbols: tuple[str, ...] = ()  # names the gate carries: macro, predicate, flag, table, JIT spec
    derived_from: tuple[str, ...] = ()  # macros whose definition decides it
    names_arch: bool = True  # some condition names an arch macro or value (false: only derived through the project)
    assumptions: tuple[str, ...] = ()  # taken for granted (CUDA, not ROCm; toolkit new enough; variable unset)
    extra: tuple[tuple[str, str], ...] = field(default=())  # few typed notes: ("encoding", "text"), ("images:0", "90a")

    def note(self, key: str) -> str | None:
        """The value of a note in `extra`, or None."""
        for name, value in self.extra:
            if name == key:
                return value
        return None
