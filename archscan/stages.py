"""The steps of the front ends, index -> link -> gates, spread over processes in chunks, results in a fixed order."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from archscan.cache import Part
from archscan.errors import internal
from archscan.fast_pickle import quicken
from archscan.frontends import registry
from archscan.frontends.protocol import Context, FrontEnd, facts_of, located, silent
from archscan.model import gate
from archscan.model.facts import Failed, FileFacts, Skipped, Source
from archscan.model.reads import Basis, Reads
from archscan.sealed import plain
from archscan.sources import Unread, read
from archscan.standing import Standing, shared
from archscan.workers import Died, Forks, Here, Mapper, Shipped, first

Task = TypeVar("Task", bound=NamedTuple)


class Indexed(NamedTuple):
    """What one file came to: packed indexes by front end, or why there are none. Keyed by content in the cache."""

    path: str
    digest: bytes  # of the content; empty = could not be read, never cached
    size: int
    outcome: Source | Skipped | Failed  # a Source without its data
    indexes: tuple[tuple[str, bytes], ...] = ()


class Wanted(NamedTuple):
    """A file to index, unless its content still has this digest."""

    unread: Unread
    known: bytes = b""


class _Linked(NamedTuple):
    """What a front end has linked, the files that it could not link, with the reason, and what to keep of it."""

    project: Any
    failed: Mapping[str, str]
    kept: object = None


@dataclass(frozen=True)
class _Project:
    """What the front ends have linked, as their `gates` need it."""

    context: Context
    linked: Mapping[str, tuple[FrontEnd, _Linked]]  # by the front end's name


class _Due(NamedTuple):
    """A front end that has to say something again, and what it said before."""

    end: FrontEnd
    mine: list[Indexed]  # the files that it has an index of
    before: Part | None


class _Told(NamedTuple):
    """The facts of a file, and what was read for them; None where that is not known."""

    facts: FileFacts
    reads: Reads | None = None


class _Judging(NamedTuple):
    """The gates of one file, in one front end, still to be found."""

    end: str
    indexed: Indexed  # with the blob of that front end alone


def index(
    wanted: Sequence[Wanted], context: Context, mapper: Mapper, parts: int, overlay: Mapping[str, bytes]
) -> Iterator[Indexed | None]:
    """What every file comes to, in the order given; None for those whose content is the one known."""
    _quicken(wanted)  # forks inherit it
    if len(wanted) > _FEW:
        registry.load(registry.front_ends(context.settings.layers, (task.unread.path for task in wanted)))
    shipped: Shipped[tuple[Context, Mapping[str, bytes]]] = Shipped((context, overlay))
    chunks = _chunks(wanted, parts, [task.unread.size for task in wanted])
    found = _spread(mapper, partial(_index_chunk, shipped), chunks)
    for task, one in zip(wanted, found, strict=True):
        yield _crashed(task.unread, one) if isinstance(one, Died) else one


class Said(NamedTuple):
    """What front ends say of a tree, what each keeps of linking it if it was linked again, and what was linked, by
    their names. Nothing is there of a project that could not be linked whole.
    """

    parts: dict[str, Part]
    linked: dict[str, object]
    projects: dict[str, Any]


def gates(
    indexed: Sequence[Indexed],
    context: Context,
    mapper: Mapper,
    parts: int,
    kept: Mapping[str, Part],
    linked: Callable[[str], object],
) -> Said:
    """What each front end says of the files that it found worth an index; what of `kept` still holds stays.

    `linked` returns what a front end kept of linking the tree last.
    """
    _quicken(indexed)
    found: dict[str, Part] = {}
    due: list[_Due] = []
    for end in registry.front_ends(context.settings.layers, (one.path for one in indexed)):
        mine = [one for one in indexed if any(name == end.name for name, _ in one.indexes)]
        digest = _about(mine)
        before = kept.get(end.name)
        if before is not None and before.digest == digest:
            found[end.name] = before
        else:
            found[end.name] = Part(digest, ())
            due.append(_Due(end, mine, before))
    projects: dict[str, _Linked] = {}
    for one, project in _linked(due, context, mapper, linked):
        if project is not None:
            projects[one.end.name] = project
        files, bases = _gates(one, project, context, mapper, parts)
        found[one.end.name] = replace(found[one.end.name], files=files, bases=bases)
    kept_of = {name: project.kept for name, project in projects.items() if project.kept is not None}
    return Said(found, kept_of, {name: project.project for name, project in projects.items() if not project.failed})


def _quicken(files: Sequence[object]) -> None:
    """Makes values cheaper to pickle where that pays: it costs as much as a few files. Compiled ones need it."""
    if len(files) > _FEW or not str(gate.__file__).endswith(".py"):
        quicken()


_FEW = 16  # files


def _about(indexed: Iterable[Indexed]) -> bytes:
    """What stands for these files: their contents and where they lie."""
    return hashlib.sha256(b"".join(map(stands_for, indexed))).digest()


def stands_for(one: Indexed) -> bytes:
    """What stands for one file: its content and where it lies."""
    return hashlib.sha256(repr(one.outcome).encode("utf-8", "surrogatepass") + one.digest).digest()


def _blob(one: Indexed, end: FrontEnd) -> bytes:
    return next(blob for name, blob in one.indexes if name == end.name)


def _index(one: Indexed, end: FrontEnd) -> Any:
    """What a front end's index of a file was, for the file as it lies now."""
    assert isinstance(one.outcome, Source)
    return located(plain(_blob(one, end)), one.outcome.disk)


def _gates(
    due: _Due, project: _Linked | None, context: Context, mapper: Mapper, parts: int
) -> tuple[tuple[FileFacts, ...], tuple[Basis | None, ...]]:
    """The facts of all files of a front end, in order, and what they rest on; without a project they are indexes."""
    end, mine, before = due
    if project is None:
        return tuple(_placed(_index(one, end), one) for one in mine), ()
    quiet = silent(project.project) - project.failed.keys()
    stay: dict[str, tuple[FileFacts, Basis | None]] = {
        one.path: (_placed(FileFacts(one.path, one.size), one), None) for one in mine if one.path in quiet
    }
    standing = None
    if hasattr(end, "reads") and context.settings.use_cache:
        files = {one.path: stands_for(one) for one in mine}
        standing = Standing(end, project.project, files, before)
        asked = (one.path for one in mine if one.path not in quiet)
        stay |= {path: held for path in asked if (held := standing.of(path)) is not None}
    left = [one for one in mine if one.path not in stay]
    tasks = [_Judging(end.name, one._replace(indexes=((end.name, _blob(one, end)),))) for one in left]
    chunks = _chunks(tasks, parts, [len(_blob(one, end)) for one in left])
    work_on = _gates_here if isinstance(mapper, Here) else _gates_chunk
    answers = _spread(mapper, partial(work_on, Shipped(_Project(context, {end.name: (end, project)}))), chunks)
    # Objects made while processes that share this heap are at work would be copied into each of them.
    packed = list(answers)
    fresh = [_taken(one, answer, standing) for one, answer in zip(left, packed, strict=True)]
    told = iter(zip((facts for facts, _ in fresh), shared(basis for _, basis in fresh), strict=True))
    pairs = [stay.get(one.path) or next(told) for one in mine]
    bases = tuple(basis for _, basis in pairs) if standing is not None else ()
    return tuple(facts for facts, _ in pairs), bases


def _taken(one: Indexed, answer: Any, standing: Standing | None) -> tuple[FileFacts, Basis | None]:
    """An answer about this file, and what it rests on."""
    if isinstance(answer, Died):
        return _lost(one, answer), None
    told = _unpacked(answer)
    return told.facts, standing.basis(one.path, told.reads) if standing is not None else None


def _linked(
    due: Sequence[_Due], context: Context, mapper: Mapper, linked: Callable[[str], object]
) -> Iterator[tuple[_Due, _Linked | None]]:
    """What each front end has linked, by what it kept of the last time if it can; None of one that joins nothing.

    Where processes are to be had all link at once, and who is ready comes first: the others are at it meanwhile.
    """

    def link(one: _Due) -> Callable[[], _Linked]:
        before = linked(one.end.name) if hasattr(one.end, "relink") and context.settings.use_cache else None
        return partial(_link, one.mine, one.end, context, before)

    joining = [one for one in due if one.end.joins]
    if not isinstance(mapper, Forks):
        yield from ((one, link(one)() if one in joining else None) for one in due)
        return
    with contextlib.ExitStack() as ending:
        # Linking leaves a heap of holes behind, and every fork would copy some of it.
        begun = {ending.enter_context(mapper.begun(link(one))): one for one in joining}
        yield from ((one, None) for one in due if one not in joining)
        while begun:
            ready = first(list(begun))
            yield begun.pop(ready), ready.value()


def _link(indexed: Sequence[Indexed], end: FrontEnd, context: Context, before: object) -> _Linked:
    """What the files of a front end say about each other. Files that make it raise are left out, not the run."""
    # Each process unpacks its own: a million small objects that forks share are copied when touched.
    try:
        relink = getattr(end, "relink", None) if context.settings.use_cache else None
        if relink is None:
            return _Linked(_joined(indexed, end, context), {})
        contents = {one.path: stands_for(one) for one in indexed}
        project, kept = relink({one.path: _index(one, end) for one in indexed}, context, contents, before)
        return _Linked(project, {}, kept)
    except Exception as error:
        failed = dict.fromkeys((one.path for one in indexed), internal(error))
    culprits = _raising(indexed, end, context)
    rest = [one for one in indexed if one.path not in culprits]
    try:
        return _Linked(_joined(rest, end, context), culprits)
    except Exception:
        return _Linked(None, failed)


def _joined(indexed: Sequence[Indexed], end: FrontEnd, context: Context) -> Any:
    return end.link({one.path: _index(one, end) for one in indexed}, context)


def _raising(indexed: Sequence[Indexed], end: FrontEnd, context: Context) -> dict[str, str]:
    """The files that cannot be linked even by themselves, with the reason: found by halves."""
    try:
        _joined(indexed, end, context)
    except Exception as error:
        if len(indexed) == 1:
            return {indexed[0].path: internal(error)}
        half = len(indexed) // 2
        return _raising(indexed[:half], end, context) | _raising(indexed[half:], end, context)
    return {}


def _lost(one: Indexed, died: Died) -> FileFacts:
    """What is said of a file whose process died."""
    problem = f"the process that judged it died ({died.reason}); please report it"
    return _placed(FileFacts(one.path, one.size, problems=(problem,), lost=True), one)


def _index_chunk(
    shipped: Shipped[tuple[Context, Mapping[str, bytes]]], chunk: Sequence[Wanted]
) -> list[Indexed | None]:
    """What the files of a chunk come to; None for those whose content is known."""
    context, overlay = shipped.value
    ends = registry.front_ends(context.settings.layers, (task.unread.path for task in chunk))
    _quicken(chunk)
    found: list[Indexed | None] = []
    for task, source in zip(chunk, read((task.unread for task in chunk), overlay), strict=True):
        if isinstance(source, Failed):
            found.append(Indexed(source.path, b"", 0, source))
        elif isinstance(source, Skipped):
            found.append(Indexed(source.path, hashlib.sha256(source.reason.encode()).digest(), 0, source))
        else:
            digest = hashlib.sha256(source.data).digest() if context.settings.use_cache else b""
            known = bool(digest) and digest == task.known
            found.append(None if known else _index_one(source, digest, ends, context))
    return found


def _index_one(source: Source, digest: bytes, ends: Sequence[FrontEnd], context: Context) -> Indexed:
    """One file through every front end that wants it. A front end that raises loses this file, not the scan."""
    size = len(source.data)
    packed: list[tuple[str, bytes]] = []
    try:
        for end in ends:
            if end.wants(source.path):
                value = end.index(source, context)
                if value is not None:
                    packed.append((end.name, pickle.dumps(value, pickle.HIGHEST_PROTOCOL)))
    except Exception as error:
        return Indexed(source.path, b"", size, Failed(source.path, internal(error)))
    return Indexed(source.path, digest, size, replace(source, data=b""), tuple(packed))


def _gates_chunk(shipped: Shipped[_Project], chunk: Sequence[_Judging]) -> list[bytes]:
    """What is told of the files of a chunk, packed."""
    return [pickle.dumps(told, pickle.HIGHEST_PROTOCOL) for told in _gates_here(shipped, chunk)]


def _gates_here(shipped: Shipped[_Project], chunk: Sequence[_Judging]) -> list[_Told]:
    """What is told of the files of a chunk."""
    return [_told(*task, shipped.value) for task in chunk]


def _unpacked(told: bytes | _Told) -> _Told:
    """What is told of a file, which another process may have packed."""
    found: _Told = pickle.loads(told) if isinstance(told, bytes) else told
    return found


def _told(name: str, one: Indexed, project: _Project) -> _Told:
    end, linked = project.linked[name]
    if one.path in linked.failed:
        return _Told(_placed(FileFacts(one.path, one.size, problems=(linked.failed[one.path],), lost=True), one))
    found = _placed(facts_of(one.path, end, _index(one, end), linked.project, project.context), one)
    reads = getattr(end, "reads", None) if project.context.settings.use_cache and not found.lost else None
    return _Told(found, reads(one.path, linked.project) if reads is not None else None)


def _placed(facts: FileFacts, one: Indexed) -> FileFacts:
    """The facts with what discovery knows of the file."""
    source = one.outcome
    assert isinstance(source, Source)
    return replace(
        facts,
        size=one.size,
        origin=source.origin,
        evidence=source.evidence,
        root=source.root,
        below=source.below,
        disk=source.disk,
    )


def _crashed(unread: Unread, died: Died) -> Indexed:
    reason = f"the process that read it died ({died.reason}); please report it"
    return Indexed(unread.path, b"", unread.size, Failed(unread.path, reason, unread.named))


def _chunks(tasks: Sequence[Task], parts: int, weights: Sequence[int]) -> list[list[Task]]:
    """About `parts` runs of neighbours of about equal weight; a file costs a little even if it is empty."""
    total = sum(weights) + 2000 * len(tasks)
    limit = max(total // max(parts, 1), 1)
    chunks: list[list[Task]] = []
    room = 0
    for task, weight in zip(tasks, weights, strict=True):
        if room <= 0:
            chunks.append([])
            room = limit
        chunks[-1].append(task)
        room -= weight + 2000
    return chunks


def _spread(mapper: Mapper, function: Any, chunks: list[list[Task]]) -> Iterator[Any]:
    """The results for all tasks, in order. A chunk whose process died is done again file by file: which was it?"""
    for chunk, answer in zip(chunks, mapper.map(function, chunks), strict=True):
        if not isinstance(answer, Died):
            yield from answer
        elif len(chunk) == 1:
            yield answer
        else:
            yield from _spread(mapper, function, [[task] for task in chunk])
