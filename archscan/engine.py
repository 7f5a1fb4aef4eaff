"""Facts of everything discovery found: from the cache where nothing changed, else from the front ends."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from archscan.cache import Cache, Snapshot, combined, default_directory
from archscan.frontends.protocol import Context, FrontEnd
from archscan.model.facts import Facts, Failed, FileFacts, Skipped, Source
from archscan.model.merge import merged
from archscan.sources import Discovery, Unread
from archscan.sources.listing import listing
from archscan.workers import Mapper, cores, local

if TYPE_CHECKING:
    from archscan.stages import Indexed

Watch = Callable[[int, int], None]  # told (files read, files to read) now and then
_ALONE = 1_000_000  # bytes; less is read faster in one process than processes start
_CHUNKS = 32  # a process: none waits long for the last one, and one that has grown large is soon replaced


@dataclass(frozen=True, slots=True)
class Totals:
    """What reading came to, beside the facts."""

    skipped: tuple[Skipped, ...]
    failed: tuple[Failed, ...]
    bytes_read: int
    files_read: int


@dataclass(slots=True)
class Workings:
    """What a scan read and linked on the way to the facts, for those who evaluate edits of the same files.

    It is empty where the facts came from the cache, whole: then the cache has the indexes too.
    """

    discovery: Discovery | None = None
    indexed: Sequence[Indexed] = ()
    projects: Mapping[str, Any] = field(default_factory=dict)  # by the front end's name; those that were linked again


def run(
    discovery: Discovery,
    context: Context,
    overlay: Mapping[str, bytes] | None = None,
    mapper: Mapper | None = None,
    watch: Watch | None = None,
    workings: Workings | None = None,
) -> Facts:
    """The facts of every file found. `overlay` has bytes that stand for a file's own and are never cached.

    `workings` is filled with what was read and linked, which is dropped otherwise.
    """
    found = listing(discovery) if context.settings.use_cache and not overlay else ""
    return replace(_run(discovery, context, overlay or {}, mapper, watch, workings), listing=found)


def indexes(discovery: Discovery, context: Context) -> list[Indexed]:
    """The index of every file, from the cache as far as it is unchanged: for those who evaluate edits again."""
    from archscan.frontends import registry

    with without_collector():
        cache = None
        if context.settings.use_cache:
            cache = Cache(default_directory(), discovery.roots, context.settings, context.catalog.digest)
        ends = registry.front_ends(context.settings.layers, (source.path for source in discovery.sources))
        wanted = [source for source in discovery.sources if any(end.wants(source.path) for end in ends)]
        known = cache.indexes(discovery.sources) if cache else {}
        with _mapper(None, context.settings.jobs, sum(source.size for source in wanted)) as spread:
            return _indexed(wanted, known, context, {}, spread, cache, None)


def linker(
    discovery: Discovery, context: Context, indexed: Sequence[Indexed], projects: Mapping[str, Any]
) -> Callable[[FrontEnd, Mapping[str, Any]], Any]:
    """A function that links the indexes of these files: what is linked of them, by front end, or by what linking the
    tree left in the cache.
    """
    from archscan import stages as steps

    contents = {one.path: steps.stands_for(one) for one in indexed}

    def link(end: FrontEnd, indexes: Mapping[str, Any]) -> Any:
        if end.name in projects:
            return projects[end.name]
        relink = getattr(end, "relink", None) if context.settings.use_cache else None
        if relink is None:
            return end.link(indexes, context)
        cache = Cache(default_directory(), discovery.roots, context.settings, context.catalog.digest)
        return relink(indexes, context, contents, cache.linked(end.name))[0]

    return link


def _run(
    discovery: Discovery,
    context: Context,
    overlay: Mapping[str, bytes],
    mapper: Mapper | None,
    watch: Watch | None,
    workings: Workings | None,
) -> Facts:
    with without_collector():
        cache = None
        if context.settings.use_cache and not overlay:
            cache = Cache(default_directory(), discovery.roots, context.settings, context.catalog.digest)
            known = cache.facts(discovery.sources)
            if known is not None:
                return _facts(discovery, known)
        if workings is not None:
            workings.discovery = discovery
        return _facts(discovery, _scanned(discovery.sources, context, overlay, mapper, cache, watch, workings))


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """The values made here are trees of tuples: the cycle collector walks a million of them and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _scanned(
    sources: Sequence[Unread],
    context: Context,
    overlay: Mapping[str, bytes],
    mapper: Mapper | None,
    cache: Cache | None,
    watch: Watch | None,
    workings: Workings | None,
) -> Snapshot:
    """The facts of these files, as far as possible from the cache; updates the cache."""
    from archscan import stages as steps
    from archscan.frontends import registry

    began = time.time_ns()
    ends = registry.front_ends(context.settings.layers, (source.path for source in sources))
    wanted = [source for source in sources if any(end.wants(source.path) for end in ends)]
    known: dict[str, Indexed] = cache.indexes(sources) if cache else {}
    name = cache.name(sources) if cache else ""
    with _mapper(mapper, context.settings.jobs, sum(source.size for source in wanted)) as (spread, parts):
        indexed = _indexed(wanted, known, context, overlay, (spread, parts), cache, watch)
        digest = combined(one.digest for one in indexed)
        kept = cache.snapshot(name) if cache else None
        keeps = cache is not None and all(one.digest for one in indexed)
        if kept is None or kept.digest != digest:
            if cache and keeps:
                cache.keep_indexes(name, {one.path: one for one in indexed})
            linked = cache.linked if cache else _nothing
            said = steps.gates(indexed, context, spread, parts, kept.parts if kept else {}, linked)
            if cache and keeps:
                cache.keep_linked(said.linked)
            if workings is not None:
                workings.indexed, workings.projects = indexed, said.projects
            snapshot = Snapshot(digest if keeps else b"", cache.place if cache else "", said.parts, _totals(indexed))
        else:
            snapshot = _moved(kept, indexed) if cache and kept.place != cache.place else kept
    if cache and keeps:
        cache.keep_tree(name, sources, {one.path: one.digest for one in indexed}, began)
        if kept is None or kept.digest != digest:
            cache.keep_facts(name, snapshot)
    return snapshot


def _nothing(_: str) -> None:
    """What a front end kept where nothing is kept."""


def _indexed(
    wanted: Sequence[Unread],
    known: Mapping[str, Indexed],
    context: Context,
    overlay: Mapping[str, bytes],
    spread: tuple[Mapper, int],
    cache: Cache | None,
    watch: Watch | None,
) -> list[Indexed]:
    """What every file comes to; only files that may have changed are read."""
    from archscan import stages as steps

    doubtful = [one for one in wanted if one.path not in known or cache is None or not cache.trusted(one)]
    tasks = [steps.Wanted(one, known[one.path].digest if one.path in known else b"") for one in doubtful]
    read: dict[str, Indexed] = {}
    for done, (task, found) in enumerate(zip(tasks, steps.index(tasks, context, *spread, overlay), strict=True), 1):
        if found is not None:
            read[task.unread.path] = found
        if watch and (done % 64 == 0 or done == len(tasks)):
            watch(done, len(tasks))
    return [read.get(one.path) or _at(known[one.path], one) for one in wanted]


def _at(indexed: Indexed, unread: Unread) -> Indexed:
    """A cached index for a file that may lie elsewhere now."""
    outcome = indexed.outcome
    if not isinstance(outcome, Source) or (outcome.disk, outcome.root) == (unread.disk, unread.root):
        return indexed
    return indexed._replace(outcome=replace(outcome, disk=unread.disk, root=unread.root, below=unread.below))


def _moved(snapshot: Snapshot, indexed: Sequence[Indexed]) -> Snapshot:
    """The facts of a tree that was read at another place."""
    outcomes = {one.path: one.outcome for one in indexed}
    parts = {
        name: replace(part, files=tuple(_placed(facts, outcomes[facts.path]) for facts in part.files))
        for name, part in snapshot.parts.items()
    }
    return replace(snapshot, parts=parts)


def _placed(facts: FileFacts, outcome: Source | Skipped | Failed) -> FileFacts:
    assert isinstance(outcome, Source)
    return replace(facts, root=outcome.root, below=outcome.below, disk=outcome.disk)


def _totals(indexed: Sequence[Indexed]) -> Totals:
    outcomes = [one.outcome for one in indexed]
    return Totals(
        skipped=tuple(one for one in outcomes if isinstance(one, Skipped)),
        failed=tuple(one for one in outcomes if isinstance(one, Failed)),
        bytes_read=sum(one.size for one in indexed if isinstance(one.outcome, Source)),
        files_read=sum(isinstance(one, Source) for one in outcomes),
    )


def _facts(discovery: Discovery, snapshot: Snapshot) -> Facts:
    totals: Totals = snapshot.totals
    return Facts(
        files=merged(facts for part in snapshot.parts.values() for facts in part.files),
        skipped=tuple(sorted((*discovery.skipped, *totals.skipped), key=lambda s: s.path)),
        failed=tuple(sorted((*discovery.failed, *totals.failed), key=lambda f: f.path)),
        roots=discovery.roots,
        bytes_read=totals.bytes_read,
        files_read=totals.files_read,
        other=discovery.other,
        contents=snapshot.digest,
    )


@contextlib.contextmanager
def _mapper(given: Mapper | None, jobs: int, size: int) -> Iterator[tuple[Mapper, int]]:
    """The executor, and into how many chunks to cut the work."""
    jobs = jobs if jobs > 0 else cores()
    if given is not None:
        yield given, _CHUNKS * max(jobs, 8)
        return
    with local(1 if size < _ALONE else jobs) as found:
        yield found, _CHUNKS * jobs
