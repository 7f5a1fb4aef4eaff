"""The Python interface: the same answers as the command line, as typed values. Its names are stable.

Nothing here prints, and nothing of the scanned code is imported or run. What is wrong with a request (no such target,
nothing to scan) is a `UserError` with `title` and `hint`. No config file is read unless `config` names one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from archscan.config import Value, merged
from archscan.errors import UserError
from archscan.model.facts import Failed
from archscan.model.finding import (
    Advice,
    Capability,
    Consequence,
    Evidence,
    Finding,
    Intent,
    Level,
    Problem,
    Reason,
    Risk,
)
from archscan.model.library import Library
from archscan.model.report import Chain, Report, Step
from archscan.reporting.features import Feature, features

if TYPE_CHECKING:
    from archscan.builds.model import Made

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

__all__ = [
    "Advice",
    "Build",
    "Capability",
    "Chain",
    "Consequence",
    "Evidence",
    "Feature",
    "Finding",
    "Intent",
    "Level",
    "Library",
    "LibraryImages",
    "Problem",
    "Reason",
    "Report",
    "Risk",
    "Step",
    "UserError",
    "builds",
    "features",
    "images",
    "render",
    "scan",
    "trace",
]


@dataclass(frozen=True, slots=True)
class Build:
    """An extension, target or project, with the images that building it makes."""

    name: str
    kind: str  # extension | target | jit | project
    path: str
    line: int
    images: tuple[str, ...]  # sm_90a for machine code, compute_90 for PTX
    gets: Mapping[str, str]  # by GPU, "sm_120": native | compatible | jit | none | unknown
    dropped: tuple[str, ...]  # what is asked for and not made, with the reason
    unknowns: tuple[str, ...]  # names on which it depends and that nothing settles
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LibraryImages:
    """A compiled library with its GPU images."""

    library: Library
    images: Mapping[str, int]  # how many there are of each: {"sm_90a": 12, "compute_90": 1}
    gets: tuple[str, ...]  # how the target loads each module: native, compatible, jit, ...; () = no target was named


def scan(
    paths: Paths,
    *,
    target: str,
    against: Sequence[str] = (),
    cuda: str = "13.0",
    define: Sequence[str] = (),
    undefine: Sequence[str] = (),
    exclude: Sequence[str] = (),
    include_vendored: bool = False,
    include_tests: bool = False,
    rules: Sequence[str] = (),
    evidence: Sequence[str] = (),
    cache: bool = True,
    jobs: int = 0,
    config: str | None = None,
) -> Report:
    """The report on everything under `paths` for one GPU: findings worst first, chains, what was not decided or read.

    `target` is `sm120`, `sm_120a`, `12.0` or a product. The other arguments mean what the options of these names mean.
    `features(report)` are what the text report begins with.
    """
    from archscan.commands import scan as run

    said: dict[str, Value] = {
        "target": target,
        "against": tuple(against),
        "cuda": cuda,
        "define": tuple(define),
        "undefine": tuple(undefine),
        "exclude": tuple(exclude),
        "include-vendored": include_vendored or None,
        "include-tests": include_tests or None,
        "rules": tuple(rules),
        "evidence": tuple(evidence),
        "cache": cache,
        "jobs": jobs,
    }
    named = _named(paths)
    settings = merged(said, named, config, isolated=config is None)
    return run.judged(named, settings, run.loaded_catalog(settings))


def trace(name: str, paths: Paths, *, target: str, cuda: str = "13.0", define: Sequence[str] = ()) -> Report:
    """The chains behind a function, module, JIT spec, kernel, file or operator, and the findings on them."""
    from archscan.commands import scan as run
    from archscan.tracing.commands import trace_report

    named = _named(paths)
    settings = merged({"target": target, "cuda": cuda, "define": tuple(define)}, named, None, isolated=True)
    catalog = run.loaded_catalog(settings)
    return trace_report(name, named, run.selected(settings, catalog), catalog, settings.scan())


def builds(paths: Paths, *, cuda: str = "13.0", define: Sequence[str] = ()) -> tuple[Build, ...]:
    """The images that a build would make with these settings, and what each GPU gets of them."""
    from archscan.builds.collect import collect
    from archscan.commands import scan as run
    from archscan.frontends.build.reading import Given
    from archscan.model.facts import Origin, Source
    from archscan.sources import discover, read, vendored_trees

    named = _named(paths)
    settings = merged({"cuda": cuda, "define": tuple(define)}, named, None, isolated=True)
    catalog = run.loaded_catalog(settings)
    found = read(discover(named, settings.scan(), vendored_trees(catalog.packages)).sources)
    sources = [one for one in found if isinstance(one, Source) and one.origin is Origin.OWN]
    return tuple(
        Build(
            name=build.name,
            kind=build.kind,
            path=build.path,
            line=build.line,
            images=tuple(dict.fromkeys(_image(made) for made in build.images)),
            gets=build.gets(catalog),
            dropped=tuple(f"{one.asked}: {one.why}" for one in build.dropped),
            unknowns=build.unknowns,
            settings=build.settings,
        )
        for build in collect(sources, Given.of(catalog, settings.scan())).builds
    )


def images(paths: Paths, *, target: str | None = None) -> tuple[LibraryImages, ...]:
    """The GPU images inside of libraries and wheels; with a target how it loads each module."""
    from archscan.binary.loading import of_library
    from archscan.catalog import load
    from archscan.catalog.targets import select
    from archscan.model.settings import ScanSettings
    from archscan.sources import discover
    from archscan.sources.libraries import read_library

    catalog = load()
    selection = select(target, catalog) if target else None
    listed: list[LibraryImages] = []
    for one in discover(_named(paths), ScanSettings()).libraries:
        found = read_library(one)
        if isinstance(found, Failed):
            raise UserError(f"{found.path}: {found.reason}", "leave it out, or look at it with `archscan images`")
        gets = tuple(got.how.value for got in of_library(found, selection.sm, catalog)) if selection else ()
        listed.append(LibraryImages(found, found.count(), gets))
    return tuple(listed)


def render(report: Report, format: str = "json") -> str:
    """A report in one of the formats of the command line, as the text that it would write."""
    from archscan import reporting
    from archscan.commands import scan as run

    settings = merged({}, (), None, isolated=True)
    given = {"color": "never", "output": None, "limit": 0, "quiet": False, "verbose": False, "all_gates": False}
    options = run.render_options(report, {**given, "paths": report.facts.roots}, settings, run.loaded_catalog(settings))
    return reporting.render(report, format, options)


def _image(made: Made) -> str:
    """As build systems write it: sm_90a for machine code, compute_90a for PTX."""
    target = made.image.target
    return f"{'compute' if made.image.ptx else 'sm'}_{target.sm}{target.suffix}"


def _named(paths: Paths) -> tuple[str, ...]:
    """The paths as text."""
    if isinstance(paths, str | os.PathLike):
        return (os.fspath(paths),)
    return tuple(os.fspath(path) for path in paths)
