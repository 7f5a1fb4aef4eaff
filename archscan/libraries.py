"""Reads compiled libraries for a scan: their images always, the kernels of those images that a target asks for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from archscan.cache import Keeper, default_directory, hashed
from archscan.catalog.types import Catalog
from archscan.judge.binaries.reading import peers_to_read, to_read
from archscan.judge.binaries.sources import Shows, defined
from archscan.model.facts import Facts, Failed, Skipped
from archscan.model.library import Image, Kernels, Library
from archscan.model.settings import ScanSettings
from archscan.model.target import Selection
from archscan.sources import Discovery, Unread
from archscan.sources.libraries import read_kernels, read_library
from archscan.sources.listing import RACY_NS
from archscan.workers import Died, Mapper, cores, local

_ALONE = 32_000_000  # bytes; less is read faster in one process than processes start
_WORTH_KEEPING = 8_000_000  # bytes; less is read again as fast as it is looked up


@dataclass(frozen=True)
class _Kept:
    """What a library came to when it was last read."""

    library: Library


@dataclass(frozen=True)
class _KeptKernels:
    """What the kernels of some images of a library do, by the offset of the image."""

    kernels: dict[int, Kernels]


Asked = tuple[Library, tuple[Image, ...]]


def with_libraries(facts: Facts, discovery: Discovery, settings: ScanSettings, mapper: Mapper | None = None) -> Facts:
    """The facts with the libraries that were found, as far as they hold images."""
    wanted = discovery.libraries
    if not wanted or (settings.layers and "binary" not in settings.layers):
        return facts
    with _spread(mapper, settings, sum(one.size for one in wanted)) as spread:
        found = list(spread.map(partial(_library, settings.use_cache), wanted))
    libraries: list[Library] = []
    failed: list[Failed] = []
    skipped: list[Skipped] = []
    for unread, one in zip(wanted, found, strict=True):
        if isinstance(one, Died):
            failed.append(Failed(unread.path, f"the process that read it died ({one.reason}); please report it"))
        elif isinstance(one, Failed):
            failed.append(one)
        else:
            failed += [Failed(one.path, why, unread.named and not one.modules) for why in one.failed]
            skipped += [Skipped(one.path, why) for why in one.notes]
            libraries += [one] if one.modules else []
    return replace(
        facts,
        libraries=tuple(libraries),
        compiled=len(wanted),
        skipped=tuple(sorted((*facts.skipped, *skipped), key=lambda s: s.path)),
        failed=tuple(sorted((*facts.failed, *failed), key=lambda f: f.path)),
    )


def with_kernels(
    facts: Facts,
    selection: Selection,
    catalog: Catalog,
    settings: ScanSettings,
    shows: Shows,
    mapper: Mapper | None = None,
    names: bool = False,
) -> Facts:
    """The facts with what the kernels do that a target gets, and those of its peers where one of them does nothing.

    With `names`, one image of each module that the target gets nothing of is read as well.
    """
    asked = to_read(facts, selection, catalog, shows, names)
    if not asked:
        return facts
    work = partial(_kernels, settings.use_cache, selection, catalog, frozenset(defined(facts, shows)))
    with _spread(mapper, settings, sum(image.span.raw for _, images in asked for image in images)) as spread:
        found = list(spread.map(work, asked))
    known: dict[tuple[str, int], Kernels] = {}
    failed: list[Failed] = []
    for (library, images), kernels in zip(asked, found, strict=True):
        if isinstance(kernels, Died):
            why = f"the process that read its kernels died ({kernels.reason}); please report it"
            failed.append(Failed(library.path, why))
            continue
        known.update(((library.path, start), one) for start, one in kernels.items())
        failed += _unread(library, images, kernels)
    return replace(facts, kernels=known, failed=tuple(sorted((*facts.failed, *failed), key=lambda f: f.path)))


def _unread(library: Library, images: Iterable[Image], kernels: Mapping[int, Kernels]) -> Iterator[Failed]:
    """What could not be read of the kernels of a library: each reason once, with the first image that it holds for."""
    reasons: dict[str, list[Image]] = {}
    for image in images:
        if (found := kernels.get(image.span.start)) and found.failed:
            reasons.setdefault(found.failed, []).append(image)
    for why, them in reasons.items():
        more = f" and {len(them) - 1:,} more" if len(them) > 1 else ""
        yield Failed(library.path, f"the kernels of {them[0].name}{more} were not read: {why}")


def _library(use_cache: bool, unread: Unread) -> Library | Failed:
    """The images in a library, from the cache if it has not changed."""
    name = ""
    if use_cache and unread.stamp and unread.size > _WORTH_KEEPING and _is_old(unread):
        name = hashed("library", repr(tuple(unread._replace(named=False)))) + ".library"
        kept = Keeper(default_directory()).load(name, _Kept)
        if kept is not None:
            found: Library = kept.library
            return found
    read = read_library(unread)
    if name and isinstance(read, Library):
        Keeper(default_directory()).store(name, _Kept(read))
    return read if not isinstance(read, Library) or _is_old(unread) else replace(read, stamp="")


def _is_old(unread: Unread) -> bool:
    """Whether a file is old enough for its time stamp to tell a change."""
    stamp = unread.stamp
    return stamp is not None and max(stamp.mtime_ns, stamp.ctime_ns) < time.time_ns() - RACY_NS


def _kernels(
    use_cache: bool, selection: Selection, catalog: Catalog, names: frozenset[str], asked: Asked
) -> dict[int, Kernels]:
    """What the kernels of these images of a library do, and of those that they, or kernels of sources, call for."""
    library, images = asked
    keeper = Keeper(default_directory()) if use_cache and library.stamp else None
    name = hashed("kernels", library.stamp) + ".kernels"
    kept = keeper.load(name, _KeptKernels) if keeper else None
    before: dict[int, Kernels] = kept.kernels if kept is not None else {}
    known = dict(before)

    def read(wanted: Iterable[Image]) -> None:
        missing = [image for image in wanted if image.span.start not in known]
        if missing:
            known.update((image.span.start, found) for image, found in read_kernels(library, missing).items())

    read(images)
    read(peers_to_read(library, {image: known[image.span.start] for image in images}, selection, catalog, names))
    if keeper and len(known) > len(before) and not any(found.failed for found in known.values()):
        keeper.store(name, _KeptKernels(known))
    return known


@contextlib.contextmanager
def _spread(mapper: Mapper | None, settings: ScanSettings, size: int) -> Iterator[Mapper]:
    """The executor: few bytes are read faster by one process."""
    if mapper is not None:
        yield mapper
        return
    jobs = settings.jobs if settings.jobs > 0 else cores()
    with local(1 if size < _ALONE else jobs) as found:
        yield found
