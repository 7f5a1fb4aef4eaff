"""Keeps what a scan found in the user's cache directory, so that only what changed is read again.

Where the files lay and how old they were (`.tree`) and what linking found (`.linked`) are kept per place, facts
(`.facts`) and indexes (`.index`) under the paths and all that decides what they come to. Written whole and renamed into
place: concurrent runs and kills leave an old file or a new one. Whatever is wrong with a file, it counts as absent;
so does a file that this user did not write (see `sealed`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from archscan import __version__, sealed
from archscan.directories import cache_directory
from archscan.model.facts import FileFacts
from archscan.model.reads import Basis
from archscan.model.settings import ScanSettings
from archscan.sources import Stamp, Unread
from archscan.sources.listing import RACY_NS

MAX_BYTES = 512 << 20  # of all files together; the least recently used go first
_KINDS = (
    *(".tree", ".facts", ".index", ".linked", ".outcome", ".catalog", ".library", ".kernels", ".environment"),
    ".gates",
)
_UNFINISHED = ".new-"  # what these names begin with was left behind by a run that was killed


def default_directory() -> Path:
    """The user's cache directory."""
    return cache_directory()


@dataclass(frozen=True, slots=True)
class Kept:
    """What is in the cache, for `archscan cache`."""

    directory: Path
    files: int
    bytes: int
    limit: int = MAX_BYTES
    unused: str = ""  # why nothing is kept there


class Keeper(sealed.Keeper):
    """Sealed files of the cache directory, which is kept below a size."""

    def load(self, name: str, kind: type) -> Any:
        """The value in a file; the one in memory where that is wanted and the file is as it was."""
        if _resident is None or not name.endswith(_OF_TREES):
            return super().load(name, kind)
        path = self.directory / name
        if path in _unwritten:
            return _unwritten[path] if isinstance(_unwritten[path], kind) else None
        stamp, value = _resident.get(path, (None, None))
        if stamp is None or stamp != _lying(path) or not isinstance(value, kind):
            value = super().load(name, kind)
            _resident[path] = _lying(path), value
        return value

    def store(self, name: str, value: object) -> bool:
        """Whether it was kept: at once, or by `write_behind` where the process stays."""
        if _resident is not None and name.endswith(_OF_TREES):
            _unwritten[self.directory / name] = value
            return True
        kept = super().store(name, value)
        if kept:
            _evict(self.directory)
        return kept

    def remove(self, name: str) -> None:
        """Forgets a value."""
        _unwritten.pop(self.directory / name, None)
        with contextlib.suppress(OSError):
            (self.directory / name).unlink()


_OF_TREES = (".tree", ".facts", ".index", ".linked")
_resident: dict[Path, tuple[object, Any]] | None = None  # what was read or written, and the file as it was then
_unwritten: dict[Path, object] = {}  # what is kept in memory alone until `write_behind`


def stay_resident() -> None:
    """Keeps what is read of trees and written of them in memory too: for a process that answers again and again."""
    global _resident  # noqa: PLW0603  (one memory a process)
    _resident = {} if _resident is None else _resident


def write_behind() -> None:
    """Writes what a process that stays has kept in memory since: after an answer, which need not wait for it."""
    for path in list(_unwritten):
        value = _unwritten.pop(path)
        if sealed.Keeper(path.parent).store(path.name, value):
            _evict(path.parent)
            if _resident is not None:
                _resident[path] = _lying(path), value


def _lying(path: Path) -> object:
    """What tells one version of a file from another; None if it is not there. Files are replaced, never written to."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def kept(directory: Path | None = None) -> Kept:
    """How much the cache holds."""
    directory = directory or default_directory()
    sizes = [status.st_size for _, status in _listed(directory)]
    return Kept(directory, len(sizes), sum(sizes), unused=_unused(directory))


def _unused(directory: Path) -> str:
    """Why the cache is not used; empty if it is."""
    if why := sealed.shared(directory):
        return f"{directory}: {why}"
    try:
        sealed.user_key()
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""


def clear(directory: Path | None = None) -> Kept:
    """Removes everything; returns what was there."""
    before = kept(directory)
    for path, _ in _listed(before.directory):
        with contextlib.suppress(OSError):
            path.unlink()
    return before


@dataclass(frozen=True, slots=True)
class Tree:
    """Content of a `.tree` file: which snapshot a place had, and what each file was when it was read."""

    snapshot: str
    entries: dict[str, tuple[Stamp | None, bytes]]  # path -> (stamp, digest); no stamp = look at the content again


@dataclass(frozen=True, slots=True)
class Part:
    """What one front end says of a tree: an edit in one language leaves the others' parts as they are."""

    digest: bytes  # of the contents and places of the files that it is about
    files: tuple[FileFacts, ...]
    bases: tuple[Basis | None, ...] = ()  # of each file; None = its facts hang on the whole tree


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Content of a `.facts` file."""

    digest: bytes  # of all contents
    place: str
    parts: dict[str, Part]  # by front end
    totals: Any  # what the pipeline counted


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """Content of a `.facts` file: a snapshot whose files lie in shards, which are to be these."""

    snapshot: Snapshot
    order: dict[str, tuple[str, ...]]  # the paths that each front end speaks of
    stamps: tuple[bytes, ...]  # of the shards, which are written one by one


@dataclass(frozen=True, slots=True)
class _Shard:
    """The facts of some files, by front end and path."""

    stamp: bytes
    facts: dict[tuple[str, str], tuple[FileFacts, Basis | None]]


@dataclass(frozen=True, slots=True)
class _Indexes:
    """Content of an `.index` file: the indexes of some files, by path."""

    shards: int  # in how many such files a tree's indexes lie
    indexes: dict[str, Any]


_MOST_SHARDS = 16  # an edit rewrites one of them
_PER_SHARD = 64  # files


def _shards(files: int) -> int:
    """In how many shards so many files are kept."""
    return min(_MOST_SHARDS, 1 + files // _PER_SHARD)


def _shard_of(path: str, shards: int) -> int:
    return zlib.crc32(path.encode("utf-8", "surrogatepass")) % shards


class Cache:
    """The cache as one scan sees it."""

    def __init__(self, directory: Path, paths: Sequence[str], settings: ScanSettings, rules: str) -> None:
        self.directory = directory
        self._keeper = Keeper(directory)
        self._base = hashed(rules, _that_matters(settings))
        self._place = hashed(self._base, *(os.path.realpath(path) for path in paths))
        self._tree = self._keeper.load(f"{self._place}.tree", Tree)
        self._indexes: tuple[str, list[dict[str, Any]]] = "", []  # as they lie there, and under which name
        self._facts: tuple[str, list[_Shard]] = "", []

    def trusted(self, source: Unread) -> bool:
        """Whether a file is as it was, by its stamp alone."""
        entry = self._tree.entries.get(source.path) if self._tree else None
        return entry is not None and entry[0] is not None and entry[0] == source.stamp

    def facts(self, sources: Iterable[Unread]) -> Snapshot | None:
        """The facts of a tree in which nothing changed by its stamps; None if something did."""
        sources = list(sources)
        if self._tree is None or len(self._tree.entries) != len(sources) or not all(map(self.trusted, sources)):
            return None
        digests = (entry[1] for source in sources if (entry := self._tree.entries[source.path])[1])
        found = self.snapshot(self._tree.snapshot)
        return found if found is not None and found.digest == combined(digests) else None

    def snapshot(self, name: str) -> Snapshot | None:
        """The facts of files of these names as they last were, or else those that this place had; see their digest."""
        return next((found for one in self._names(name) if (found := self._snapshot(one))), None)

    def _snapshot(self, name: str) -> Snapshot | None:
        """The snapshot of that name; None if there is none, or its shards are not those that it was kept with."""
        skeleton: _Skeleton | None = self._keeper.load(f"{name}.facts", _Skeleton)
        if skeleton is None:
            return None
        shards: list[_Shard] = []
        for number, stamp in enumerate(skeleton.stamps):
            shard = self._keeper.load(f"{name}.{number}.facts", _Shard)
            if shard is None or shard.stamp != stamp:
                return None
            shards.append(shard)
        parts: dict[str, Part] = {}
        for end, part in skeleton.snapshot.parts.items():
            pairs = [shards[_shard_of(path, len(shards))].facts[end, path] for path in skeleton.order[end]]
            bases = tuple(basis for _, basis in pairs) if part.bases else ()
            parts[end] = Part(part.digest, tuple(facts for facts, _ in pairs), bases)
        self._facts = name, shards
        return replace(skeleton.snapshot, parts=parts)

    def name(self, sources: Iterable[Unread]) -> str:
        """The name of the snapshot for files of these paths and origins."""
        return hashed(self._base, *(f"{s.path}\0{s.origin.value}\0{s.below}" for s in sources))

    def indexes(self, sources: Sequence[Unread]) -> dict[str, Any]:
        """The indexes of these paths as they last were, here or in a tree of the same names, by path.

        One of a tree with other contents is no index of a file that has not changed since it was read here.
        """
        found: dict[str, Any] = {}
        for name in self._names(self.name(sources)):
            shards = self._index_shards(name)
            if shards:
                self._indexes = name, shards
                found = {path: one for shard in shards for path, one in shard.items()}
                break
        if self._tree is None:
            return found
        entries = self._tree.entries
        return {path: one for path, one in found.items() if path not in entries or entries[path][1] == one.digest}

    def _index_shards(self, name: str) -> list[dict[str, Any]]:
        """The indexes of that name; none of a shard that is not there."""
        first: _Indexes | None = self._keeper.load(f"{name}.0.index", _Indexes)
        if first is None:
            return []
        rest = [self._keeper.load(f"{name}.{number}.index", _Indexes) for number in range(1, first.shards)]
        return [first.indexes, *(one.indexes if one is not None else {} for one in rest)]

    def _names(self, name: str) -> Iterable[str]:
        """This name, and the one that this place had."""
        return dict.fromkeys((name, self._tree.snapshot if self._tree else name))

    def linked(self, end: str) -> Any:
        """What a front end kept of linking the tree that this place had last; it says itself what of it still holds."""
        return self._keeper.load(f"{self._place}.{end}.linked", object)

    def keep_linked(self, found: Mapping[str, object]) -> None:
        """Remembers what front ends keep of linking."""
        for end, value in found.items():
            self._keeper.store(f"{self._place}.{end}.linked", value)

    def keep_tree(self, name: str, sources: Iterable[Unread], digests: Mapping[str, bytes], began_ns: int) -> None:
        """Remembers the files of this place; those that no front end wants have no digest and change nothing."""
        young = began_ns - RACY_NS
        entries = {
            source.path: (
                source.stamp if source.stamp and _newest(source.stamp) < young else None,
                digests.get(source.path, b""),
            )
            for source in sources
        }
        self._keeper.store(f"{self._place}.tree", Tree(name, entries))

    def keep_indexes(self, name: str, indexed: dict[str, Any]) -> None:
        """Remembers the indexes of a tree."""
        shards: list[dict[str, Any]] = [{} for _ in range(_shards(len(indexed)))]
        for path, one in indexed.items():
            shards[_shard_of(path, len(shards))][path] = one
        there, kept = self._indexes
        for number, shard in enumerate(shards):
            same = there == name and len(kept) == len(shards) and _is_same(kept[number], shard)
            if not same:
                self._keeper.store(f"{name}.{number}.index", _Indexes(len(shards), shard))

    def keep_facts(self, name: str, snapshot: Snapshot) -> None:
        """Remembers the facts of a tree; drops what this place had under another name."""
        files = max((len(part.files) for part in snapshot.parts.values()), default=0)
        shards: list[dict[tuple[str, str], tuple[FileFacts, Basis | None]]] = [{} for _ in range(_shards(files))]
        for end, part in snapshot.parts.items():
            for facts, basis in zip(part.files, part.bases or (None,) * len(part.files), strict=True):
                shards[_shard_of(facts.path, len(shards))][end, facts.path] = facts, basis
        there, kept = self._facts
        stamps: list[bytes] = []
        for number, shard in enumerate(shards):
            if there == name and len(kept) == len(shards) and _is_same(kept[number].facts, shard):
                stamps.append(kept[number].stamp)
            else:
                stamps.append(os.urandom(16))
                self._keeper.store(f"{name}.{number}.facts", _Shard(stamps[-1], shard))
        parts = {end: Part(part.digest, (), part.bases[:1]) for end, part in snapshot.parts.items()}
        order = {end: tuple(facts.path for facts in part.files) for end, part in snapshot.parts.items()}
        self._keeper.store(f"{name}.facts", _Skeleton(replace(snapshot, parts=parts), order, tuple(stamps)))
        if self._tree and self._tree.snapshot != name:
            old = self._tree.snapshot
            numbered = (f"{old}.{number}{kind}" for number in range(_MOST_SHARDS) for kind in (".index", ".facts"))
            for file in (f"{old}.facts", *numbered):
                self._keeper.remove(file)

    @property
    def place(self) -> str:
        """What stands for the paths scanned."""
        return self._place


def _is_same(kept: Mapping[Any, Any], now: Mapping[Any, Any]) -> bool:
    """Whether a shard holds what it held: the values that were read from it, under the same names."""
    return kept.keys() == now.keys() and all(
        one is kept[key] or (isinstance(one, tuple) and not hasattr(one, "_fields") and _are_same(one, kept[key]))
        for key, one in now.items()
    )


def _are_same(ones: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return all(one is other for one, other in zip(ones, others, strict=True))


def _that_matters(settings: ScanSettings) -> str:
    """The settings that decide what a file comes to."""
    return repr(astuple(replace(settings, jobs=0, use_cache=True, layers=frozenset()))) + repr(sorted(settings.layers))


def hashed(*parts: str) -> str:
    """A name for what these parts decide, given archscan's own code."""
    digest = hashlib.sha256()
    for part in (__version__, sys.version, _code(), *parts):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\1")
    return digest.hexdigest()[:32]


def combined(digests: Iterable[bytes]) -> bytes:
    """What stands for several contents together."""
    return hashlib.sha256(b"".join(digests)).digest()


@lru_cache(maxsize=1)
def _code() -> str:
    """What stands for archscan's own code and rules: a checkout changes without a new version."""
    package = Path(__file__).parent
    stamps = []
    for path in sorted((*package.rglob("*.py"), *package.rglob("*.yaml"), *(package.parent / "rules").rglob("*.yaml"))):
        status = path.stat()
        stamps.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(stamps)


def _newest(stamp: Stamp) -> int:
    return max(stamp.mtime_ns, stamp.ctime_ns)


def _listed(directory: Path) -> list[tuple[Path, os.stat_result]]:
    """The files of the cache; none where the directory may be another's: what lies there is not ours to remove."""
    found: list[tuple[Path, os.stat_result]] = []
    if sealed.shared(directory):
        return found
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            with contextlib.suppress(OSError):
                ours = entry.name.endswith(_KINDS) or entry.name.startswith(_UNFINISHED)
                if ours and entry.is_file(follow_symlinks=False):
                    found.append((Path(entry.path), entry.stat()))
    return found


def _evict(directory: Path) -> None:
    """Removes the least recently used files above the limit, and what killed runs left behind."""
    files = sorted(_listed(directory), key=lambda item: item[1].st_mtime, reverse=True)
    total = 0
    hour_ago = time.time() - 3600
    for path, status in files:
        total += status.st_size
        left_behind = path.name.startswith(_UNFINISHED) and status.st_mtime < hour_ago
        if total > MAX_BYTES or left_behind:
            with contextlib.suppress(OSError):
                path.unlink()
