"""Judges the distributions of an environment for one GPU: what loads, what is compiled, what does not run."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from archscan.binary.loading import How
from archscan.environment.choices import choose
from archscan.environment.conflicts import against, conflicts
from archscan.environment.facts import Release
from archscan.environment.first_use import installed_nvrtc, with_first_use
from archscan.environment.installed import Installed, normalised
from archscan.environment.model import COMPILED, RUN, Fit, Part, Question, Row, State
from archscan.environment.shelves import Compiled, Shelf, Stock
from archscan.environment.uses import uses
from archscan.environment.words import names, words
from archscan.judge.binaries.loaded import Loaded, is_elsewhere, loaded
from archscan.model.library import CUBIN, PTX, Image, Library
from archscan.reporting.words import counted


def rows(stock: Stock, asked: Question) -> tuple[Row, ...]:
    """Every distribution, the worst first."""
    order = list(State)
    found = [_row(shelf, stock, asked) for shelf in stock.shelves]
    with_code = frozenset(row.installed.key for row in found if row.state is not State.NO_CODE or row.installed.cuda)
    said = conflicts(stock, with_code, asked.machine, asked.catalog)
    installed = [shelf.installed for shelf in stock.shelves]
    found = [
        replace(row, conflicts=(*said.get(row.installed.key, ()), *_apart(row, installed, asked))) for row in found
    ]
    return tuple(sorted(found, key=lambda row: (order.index(row.state), row.installed.key)))


def used(found: Sequence[Row], names: Sequence[str]) -> tuple[Row, ...]:
    """The rows with how near they are to what these distributions run, and who imports them."""
    wanted = {normalised(name) for name in names}
    roots = [row.installed for row in found if row.installed.key in wanted]
    others = [row.installed for row in found if row.state is not State.NO_CODE and row.installed.key not in wanted]
    near = uses(roots, others)
    return tuple(replace(row, use=near.get(row.installed.key)) for row in found)


def ranked(found: Sequence[Row]) -> tuple[Row, ...]:
    """The rows of each state: first those of which most is shut that is run, then those that are imported nearest."""
    order = list(State)

    def rank(row: Row) -> tuple[object, ...]:
        use, shut = row.use, len(row.runs.shut) if row.runs is not None else 0
        return (order.index(row.state), -shut, use is None, use.steps if use else 0, -use.files if use else 0)

    return tuple(sorted(found, key=rank))


def _apart(row: Row, installed: Sequence[Installed], asked: Question) -> tuple[str, ...]:
    """Who keeps a distribution in a version that has nothing for the GPU, where another has."""
    if row.upgrade is None or row.state not in (State.FAILS, State.PARTLY):
        return ()
    key, version = row.installed.key, row.upgrade.version
    return tuple(
        f"has nothing for {asked.selection.name}, {version} has, and {who}: they do not go together on this GPU"
        for who in against(key, version, installed)
    )


def _row(shelf: Shelf, stock: Stock, asked: Question) -> Row:
    one = shelf.installed
    usable = [c for c in _gathered(shelf.compiled) if c.library.modules and not c.vacant]
    choice = choose(one, usable, stock, asked.facts, asked.environ, asked.selection.sm)
    parts = [_part(c, asked) for c in usable if choice is None or c.library.path not in choice.left_out]
    row = Row(one, State.NO_CODE, tuple(parts), choice, asked.facts.first_use.get(one.key), failed=shelf.failed)
    row = replace(row, state=_state(row), upgrade=_upgrade(one, asked))
    if row.state is not State.NO_CODE:
        says, do = words(row, asked)
        row = replace(row, says=says, do=do)
    elif shelf.failed:
        row = replace(row, state=State.UNKNOWN, says="its libraries could not be read")
    return with_first_use(row, row.first_use, asked, installed_nvrtc(stock)) if row.first_use is not None else row


def _upgrade(one: Installed, asked: Question) -> Release | None:
    """A version of a distribution that was read to have code for the GPU, if it is another one."""
    known = asked.facts.releases.get(one.key, ())
    return next((r for r in known if asked.selection.sm in r.holds and r.version != one.version), None)


def _state(row: Row) -> State:
    choice = row.choice
    if choice is not None and not choice.taken:
        return State.FAILS
    if choice is not None and len(choice.taken) > 1:  # one of them, and it cannot be told which
        rest = [part for part in row.parts if part.library.path not in choice.taken]
        states = {_of_parts([*rest, part]) for part in row.parts if part.library.path in choice.taken}
        return states.pop() if len(states) == 1 else State.UNKNOWN
    return _of_parts(row.parts)


def _of_parts(parts: Sequence[Part]) -> State:
    here = [part for part in parts if part.fit is not Fit.ELSEWHERE and not part.loose]
    if not here:
        if any(part.loose and part.fit in (*RUN, Fit.JIT) for part in parts):
            return State.WORKS
        return State.UNKNOWN if parts else State.NO_CODE
    if all(part.fit in (Fit.NONE, Fit.OTHERS) or part.is_refused for part in here):
        return State.FAILS
    if any(part.fit is Fit.NONE or part.siblings or (part.too_new and part.fit not in RUN) for part in here):
        return State.PARTLY
    if any(part.fit is Fit.UNKNOWN for part in here):
        return State.UNKNOWN
    if any(part.fit in COMPILED for part in here):
        return State.SLOW
    return State.WORKS


def _gathered(compiled: Iterable[Compiled]) -> list[Compiled]:
    """The libraries, files that are one cubin or PTX each put together: a program picks among them by their names."""
    found: list[Compiled] = []
    loose: dict[str, list[Compiled]] = {}
    for one in compiled:
        alone = len(one.library.modules) == 1 and one.library.modules[0].loose and not one.library.machine
        if alone:
            loose.setdefault(os.path.dirname(one.library.path).partition("/")[0], []).append(one)
        else:
            found.append(one)
    for folder, members in loose.items():
        kinds = Counter(one.library.modules[0] for one in members)
        size = sum(one.library.size for one in members)
        path = f"{folder or '.'}: {counted(len(members), 'file')}" if len(members) > 1 else members[0].library.path
        found.append(Compiled(Library(path, size, modules=tuple(kinds)), tuple(kinds.values()), False))
    return sorted(found, key=lambda one: one.library.path)


def _part(compiled: Compiled, asked: Question) -> Part:
    library, selection, catalog = compiled.library, asked.selection, asked.catalog
    number = {id(module): count for module, count in zip(library.modules, compiled.counts, strict=True)}
    if is_elsewhere(library, selection, catalog):
        return Part(library, Fit.ELSEWHERE, library.machine)
    view = loaded(library, selection, catalog)
    fit, only = fit_of(view), ""
    if len(asked.kinds) < 2 and fit not in (Fit.NONE, Fit.OTHERS):
        view = loaded(_with_kinds(library, asked.kinds), selection, catalog)
        fit = fit_of(view)
        if fit not in (*RUN, *COMPILED):
            fit, only = Fit.NONE, "CUDA_DISABLE_PTX_JIT" if CUBIN in asked.kinds else "CUDA_FORCE_PTX_JIT"
    compiled_here = view.of(How.JIT, How.JIT_LINK)
    linked = [got for _, got in view.objects] if view.of(How.JIT_LINK) else []
    ptx = [got.image for got in (*(got for _, got in compiled_here), *linked) if got.image and got.image.kind == PTX]
    images = [image for module in view.for_siblings for image in module.images]
    siblings = [image for image in images if image.target.suffix == "a" and image.target.sm in selection.family]
    return Part(
        library,
        fit,
        names(library.images),
        tuple(sorted({image.name for image in siblings})),
        tuple(dict.fromkeys(ptx)),
        sum(number.get(id(module), 0) for module, _ in compiled_here),
        not library.machine and all(module.loose for module in library.modules),
        sum(_needs_newer(image, asked) for image in dict.fromkeys(ptx)),
        only,
    )


def _with_kinds(library: Library, kinds: Sequence[str]) -> Library:
    """A library without the images that the driver is told to leave alone."""
    modules = [replace(m, images=tuple(i for i in m.images if i.kind in kinds)) for m in library.modules]
    return replace(library, modules=tuple(module for module in modules if module.images))


def _needs_newer(image: Image, asked: Question) -> bool:
    """Whether the driver of this machine is older than what first compiled this PTX."""
    known = asked.catalog.ptx_versions.get(image.version)
    branch = asked.machine.branch
    return known is not None and branch is not None and sys.platform != "win32" and branch < known.driver


def fit_of(view: Loaded) -> Fit:
    """What a GPU gets of a library at best. Loose files decide only where there is nothing else."""
    decisive = [pair for pair in view.pairs if not pair[0].loose] or view.pairs
    ways = {got.how for _, got in decisive}
    for how in (How.NATIVE, How.COMPATIBLE, How.JIT, How.JIT_LINK):
        if how in ways:
            return Fit(how.value)
    images = [image for module in view.unfit for image in module.images if image.kind in (CUBIN, PTX)]
    if How.UNKNOWN in ways:
        return Fit.UNKNOWN
    if view.for_siblings:
        return Fit.NONE
    older = any(not image.target.suffix and image.target.sm < view.selection.sm for image in images)
    return Fit.NONE if older else Fit.OTHERS
