"""What a front end says of one file: gates, sites, links and what it could not read. Independent of any target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from archscan.model.gate import FeatureUse, Gate, Place
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.model.library import Kernels, Library


class Origin(str, Enum):
    """Whose code a file is, by evidence (path of a known vendored tree, generator header), never by size."""

    OWN = "own"
    VENDORED = "vendored"
    GENERATED = "generated"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Source:
    """A file as read: bytes, never text. `path` is the reported one, `disk` where it lies ("" = in an archive)."""

    path: str
    data: bytes
    disk: str = ""
    origin: Origin = Origin.OWN
    evidence: str = ""  # why the origin is not OWN
    root: str = ""  # path of the project or distribution root above it ("" = unknown)
    below: str = ""  # path below that root (below the PATH given, if there is none): what fingerprints hash
    stays: bool = True  # whether the file on disk has these bytes


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out on purpose, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A file that should have been read and could not be, with the reason."""

    path: str
    reason: str
    named: bool = False  # the user named this very path: the command exits with 2 after the rest is done


class SiteKind(str, Enum):
    """Places that are no gates but halves of a feature, or use a limited resource."""

    PDL_ATTRIBUTE = "pdl-attribute"  # host sets programmatic stream serialization
    PDL_TRIGGER = "pdl-trigger"
    KERNEL = "kernel"  # definition of a __global__ function
    LAUNCH = "launch"  # kernel<<<...>>> or cudaLaunchKernelEx(..., kernel, ...)
    STATIC_SHARED = "static-shared"  # value = bytes
    DYNAMIC_SHARED = "dynamic-shared"  # value = bytes; name = kernel
    LAUNCH_BOUNDS = "launch-bounds"  # value = threads * min blocks
    CLUSTER_DIMS = "cluster-dims"  # value = blocks a cluster
    MESSAGE = "message"  # error text that can be raised; name = template


@dataclass(frozen=True, slots=True)
class Site:
    """Such a place; `truth` is where it is live."""

    kind: SiteKind
    name: str
    place: Place
    truth: Truth
    function: str = ""
    value: int = 0
    detail: str = ""


class LinkKind(str, Enum):
    """What one name has to do with another; chains are walked over these."""

    DEFINES = "defines"  # source defines function/class/kernel `target`
    CALLS = "calls"  # function `source` calls `target`
    IMPORTS = "imports"  # `source` = local name, target = "module:name" resolved as far as the file tells
    INCLUDES = "includes"  # target = include path as written
    JIT_SPEC = "jit-spec"  # function `source` builds spec `target` (its name)
    JIT_SOURCE = "jit-source"  # spec or function `source` compiles file `target` (path as far as constants tell)
    JIT_FLAGS = "jit-flags"  # function `source` passes flags/list `target`
    REGISTERS = "registers"  # C++ exports op/symbol `target` implemented by `source`; or Python registers custom op
    USES_OP = "uses-op"  # function `source` calls op/symbol `target` of a loaded module
    LAUNCHES = "launches"  # host function `source` launches kernel `target`
    INSTANTIATES = "instantiates"


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between names, with its place."""

    kind: LinkKind
    source: str
    target: str
    line: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Suppression:
    """`archscan: ignore[rule-id] reason` in a comment. Covers its line, or the next one if it stands alone."""

    line: int
    rules: tuple[str, ...]  # empty = all rules
    reason: str
    alone: bool


@dataclass(frozen=True, slots=True)
class Undecided:
    """Code that asks for the architecture in a way the front end could not read, with the reason."""

    line: int
    condition: str
    reason: str
    unknowns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Everything a front end found in one file."""

    path: str
    size: int
    origin: Origin = Origin.OWN
    evidence: str = ""
    root: str = ""
    below: str = ""  # path below `root`: what fingerprints hash (the engine fills this, origin, root and disk)
    disk: str = ""  # where it lies ("" = in an archive or standard input): fixes write there, text shows it
    gates: tuple[Gate, ...] = ()
    sites: tuple[Site, ...] = ()
    links: tuple[Link, ...] = ()
    uses: tuple[FeatureUse, ...] = ()  # of a compiled source: what its functions and all they call use, gated or not
    undecided: tuple[Undecided, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    problems: tuple[str, ...] = ()  # "unbalanced #if at line 12": read, but with a remark
    left: str = ""  # why its gates were not looked for: it counts as skipped
    lost: bool = False  # for its problems its gates cannot be told: it counts as failed


@dataclass(frozen=True, slots=True)
class Facts:
    """The result of a scan: good for any target."""

    files: tuple[FileFacts, ...]
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()
    roots: tuple[str, ...] = ()  # every PATH as typed
    bytes_read: int = 0
    files_read: int = 0  # every file a front end looked at, also those with nothing to report
    libraries: tuple[Library, ...] = ()  # compiled files with GPU images in them
    compiled: int = 0  # every compiled file that was looked at
    # what kernels do, by library and offset of the image: of those images that a question was about
    kernels: Mapping[tuple[str, int], Kernels] = field(default_factory=dict, compare=False)
    other: int = 0  # files of kinds that archscan does not read
    listing: str = field(default="", compare=False)  # stands for all files found and their ages; "" = cannot be told
    contents: bytes = field(default=b"", compare=False)  # stands for the bytes that were read; "" = cannot be told
