"""What rules/facts/packages.yaml says of installed packages: which library they load, what they compile when used."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from archscan.catalog.types import Catalog
from archscan.environment.installed import normalised
from archscan.model.target import Selection, Target

_RELEASE = re.compile(rb"Cuda compilation tools, release (\d+\.\d+)|release (\d+\.\d+), V\d+\.\d+\.\d+")
_CHUNK = 1 << 22
_LONGEST_SCRIPT = 4096  # bytes
_LONGEST = 80  # bytes of what is looked for


@dataclass(frozen=True, slots=True)
class Loader:
    """A package that loads one of several libraries."""

    name: str
    libraries: re.Pattern[str]
    chooses: str  # cuda-of-torch | gpu
    variable: str
    cases: tuple[tuple[str, frozenset[int]], ...]  # gpu: directories with the SMs that they are for; none = all others
    source: str


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler that a package brings along."""

    path: str
    to: int  # the last SM that it is taken for
    form: str  # suffix that is asked of it
    since: int  # first SM with that suffix
    variable: str


@dataclass(frozen=True, slots=True)
class FirstUse:
    """A package that compiles kernels when they are used."""

    name: str
    builds: str
    variable: str
    needs: str
    compilers: tuple[Compiler, ...]
    cache: str
    toolkit: int  # the major release of CUDA whose NVRTC it loads; 0 = any
    makes: str  # code | ptx: what it has an older NVRTC make, for the highest SM that it knows; "" = not known
    source: str

    def compiler_for(self, sm: int) -> Compiler | None:
        """Its own compiler for a GPU, if it brings one."""
        return next((one for one in self.compilers if sm <= one.to), None)


@dataclass(frozen=True, slots=True)
class Release:
    """A version of a package that was read, and the GPUs that run all that it loads."""

    name: str
    version: str
    holds: frozenset[int]
    source: str


@dataclass(frozen=True, slots=True)
class FromSource:
    """How a package is built from source for a GPU that its wheels leave out."""

    name: str
    set: str  # what its build reads: "TORCH_CUDA_ARCH_LIST={dotted}"
    helps: frozenset[int]  # the SMs that its code is for
    source: str


@dataclass(frozen=True, slots=True)
class KnownVariable:
    """An environment variable that changes what runs or is built."""

    name: str
    says: str
    form: str  # archs, a list of architectures to build for | flag | text
    source: str


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """All of it, by the normalised names of packages."""

    loaders: dict[str, Loader]
    first_use: dict[str, FirstUse]
    releases: dict[str, tuple[Release, ...]]
    variables: tuple[KnownVariable, ...]
    sources: dict[str, FromSource]


def package_facts(catalog: Catalog) -> PackageFacts:
    """The facts of a catalog about installed packages."""
    sections: Mapping[str, Any] = catalog.packages
    loaders = [_loader(row) for row in sections.get("loaders") or ()]
    first_use = [_first_use(row) for row in sections.get("first_use") or ()]
    releases: dict[str, tuple[Release, ...]] = {}
    for row in sections.get("releases") or ():
        key = normalised(row["name"])
        one = Release(row["name"], str(row["version"]), frozenset(row["holds"]), row["source"])
        releases[key] = (*releases.get(key, ()), one)
    variables = [
        KnownVariable(row["name"], row["says"], row["form"], row["source"]) for row in sections.get("variables") or ()
    ]
    return PackageFacts(
        {normalised(one.name): one for one in loaders},
        {normalised(one.name): one for one in first_use},
        releases,
        tuple(variables),
        {
            normalised(row["name"]): FromSource(row["name"], row["set"], frozenset(row["helps"]), row["source"])
            for row in sections.get("sources") or ()
        },
    )


def _loader(row: Mapping[str, Any]) -> Loader:
    cases = tuple((one["path"], frozenset(one.get("sms") or ())) for one in row.get("cases") or ())
    pattern = re.compile(row["libraries"])
    return Loader(row["name"], pattern, row["chooses"], row.get("variable", ""), cases, row["source"])


def _first_use(row: Mapping[str, Any]) -> FirstUse:
    compilers = tuple(
        Compiler(one["path"], one["to"], one.get("form", ""), one.get("since", 0), one.get("variable", ""))
        for one in row.get("compilers") or ()
    )
    variable, needs, cache, makes = (str(row.get(key, "")) for key in ("variable", "needs", "cache", "makes"))
    toolkit = int(row.get("toolkit", 0))
    return FirstUse(row["name"], row["builds"], variable, needs, compilers, cache, toolkit, makes, row["source"])


def form_for(compiler: Compiler, selection: Selection) -> Target:
    """The target that a package asks its compiler for."""
    return Target(selection.sm, compiler.form if selection.sm >= compiler.since else "")


def release_of(path: str) -> str:
    """The CUDA release that a compiler says it is of, read in its file: 12.9; empty where it says none.

    Of a script that starts the one compiler that it names by its path, the release of that one.
    """
    try:
        path = _started(path)
        status = Path(path).stat()
        return _release(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return ""


def _started(path: str) -> str:
    """The program of the same name that a small script names by its whole path; else the path itself."""
    with Path(path).open("rb") as file:
        head = file.read(_LONGEST_SCRIPT)
    if not head.startswith(b"#!") or len(head) == _LONGEST_SCRIPT:
        return path
    name = re.escape(os.path.basename(path))
    named = set(re.findall(rf"(?<![\w./-])/[\w./+-]+/{name}(?![\w.-])", head.decode("utf-8", "replace")))
    return named.pop() if len(named) == 1 else path


@lru_cache(maxsize=64)
def _release(path: str, changed_ns: int, size: int) -> str:
    """The release in a file that is as it was."""
    with Path(path).open("rb") as file:
        tail = b""
        while chunk := file.read(_CHUNK):
            match = _RELEASE.search(tail + chunk)
            if match:
                return (match[1] or match[2]).decode()
            tail = chunk[-_LONGEST:]
    return ""
