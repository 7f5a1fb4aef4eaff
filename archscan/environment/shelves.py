"""What is in the libraries of an environment: read once, and kept as long as they do not change."""

from __future__ import annotations

import os
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from archscan.cache import Keeper, default_directory, hashed
from archscan.environment.installed import Installed, header, inventory, is_loaded
from archscan.environment.places import Environment
from archscan.model.facts import Failed, Skipped
from archscan.model.library import LTO, Image, Library, Module, Span
from archscan.sources.archives import BROKEN, members
from archscan.sources.libraries import read_kernels, read_library
from archscan.sources.listing import RACY_NS
from archscan.sources.origins import Origins
from archscan.sources.unread import Stamp, Unread, stamp_of
from archscan.workers import Died, Mapper, cores, local

_NOWHERE = Span(0, 0)
_ALONE = 32_000_000  # bytes; less is read faster in one process than processes start
_STUB = 16_384  # bytes of an image that may have no kernel
_MOST_STUBS = 64


@dataclass(frozen=True, slots=True)
class Compiled:
    """A library as far as what a GPU loads goes: equal modules once, with their number."""

    library: Library
    counts: tuple[int, ...]  # of each module
    vacant: bool  # it was read to hold no kernel: what nvcc links where there is none


@dataclass(frozen=True, slots=True)
class Shelf:
    """A distribution, and what is in its libraries."""

    installed: Installed
    compiled: tuple[Compiled, ...] = ()
    failed: tuple[Failed, ...] = ()
    looked_at: int = 0  # libraries, with GPU code or without


@dataclass(frozen=True, slots=True)
class Stock:
    """An environment with everything that is in it."""

    environment: Environment
    shelves: tuple[Shelf, ...]
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()


@dataclass(frozen=True)
class _Kept:
    """What was found of an environment when it was last looked at."""

    installed: dict[str, tuple[Stamp, Installed]] = field(default_factory=dict)
    libraries: dict[str, tuple[Stamp, Compiled | None]] = field(default_factory=dict)  # None = no GPU code


class _Memory:
    """What is remembered of an environment, and what will be: entries that were asked for in this run."""

    def __init__(self, name: str, use_cache: bool) -> None:
        self._name = name
        self._keeper = Keeper(default_directory()) if use_cache else None
        self._before: _Kept = (self._keeper.load(name, _Kept) if self._keeper else None) or _Kept()
        self._now = _Kept()
        self._young = time.time_ns() - RACY_NS

    def installed(self, path: str, stamp: Stamp, make: Callable[[], Installed | Failed]) -> Installed | Failed:
        entry = self._before.installed.get(path)
        found = entry[1] if entry and entry[0] == stamp else make()
        if isinstance(found, Installed) and self._is_old(stamp):
            self._now.installed[path] = (stamp, found)
        return found

    def library(self, unread: Unread) -> tuple[Compiled | None, bool]:
        """What was found in a library, and whether that is known."""
        entry = self._before.libraries.get(_place(unread))
        known = entry is not None and entry[0] == unread.stamp
        return (entry[1] if entry is not None and known else None), known

    def remember(self, unread: Unread, found: Compiled | None) -> None:
        if unread.stamp is not None and self._is_old(unread.stamp):
            self._now.libraries[_place(unread)] = (unread.stamp, found)

    def keep(self, whole: bool = True) -> None:
        """Writes it; what was not asked for stays as it was unless the whole environment was."""
        if not whole:
            self._now = replace(self._now, libraries={**self._before.libraries, **self._now.libraries})
        if self._keeper and self._now != self._before:
            self._keeper.store(self._name, self._now)

    def _is_old(self, stamp: Stamp) -> bool:
        """Whether a file is old enough for its time stamp to tell a change."""
        return max(stamp.mtime_ns, stamp.ctime_ns) < self._young


def _place(unread: Unread) -> str:
    return unread.disk or f"{unread.archive}\0{unread.member}"


def stock(
    environment: Environment,
    use_cache: bool,
    jobs: int = 0,
    mapper: Mapper | None = None,
    chosen: Callable[[Sequence[Installed]], frozenset[str] | None] | None = None,
) -> Stock:
    """Everything installed in an environment.

    `chosen` says of what is there by which names it is wanted: the libraries of others are not read. `mapper` is the
    executor that reads them: anything with the `map` of concurrent.futures.
    """
    memory = _Memory(hashed("environment", environment.prefix, *environment.folders) + ".environment", use_cache)
    found = inventory(environment, memory.installed)
    keys = chosen(found.distributions) if chosen else None
    wanted = [(one, _on_disk(one) if keys is None or one.key in keys else []) for one in found.distributions]
    shelves = _shelved(wanted, memory, jobs, mapper)
    memory.keep(whole=keys is None)
    return Stock(environment, shelves, found.skipped, found.failed)


def stock_of_wheels(paths: Sequence[str], use_cache: bool, jobs: int = 0, mapper: Mapper | None = None) -> Stock:
    """What wheels would install."""
    memory = _Memory(hashed("wheels", *map(os.path.abspath, paths)) + ".environment", use_cache)
    wanted = [_in_wheel(os.path.abspath(path)) for path in paths]
    environment = Environment(os.path.commonpath([os.path.abspath(p) for p in paths]), "wheels, read in place")
    shelves = _shelved([one for one in wanted if not isinstance(one, Failed)], memory, jobs, mapper)
    memory.keep()
    return Stock(environment, shelves, failed=tuple(one for one in wanted if isinstance(one, Failed)))


def _on_disk(one: Installed) -> list[Unread]:
    """The libraries of a distribution that are there: each once, whatever links lead to it."""
    found: dict[tuple[int, int], Unread] = {}
    for path in one.libraries:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        stamp = stamp_of(status)
        below = os.path.relpath(path, one.folder) if one.folder and not one.editable else path
        found.setdefault((stamp.device, stamp.inode), Unread(below.replace(os.sep, "/"), path, status.st_size, stamp))
    return list(found.values())


def _in_wheel(path: str) -> tuple[Installed, list[Unread]] | Failed:
    one = header("", os.path.basename(path))
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            metadata = next((n for n in names if n.endswith(".dist-info/METADATA") and n.count("/") == 1), None)
            if metadata is not None and archive.getinfo(metadata).file_size < 16 << 20:
                text = archive.read(metadata).decode("utf-8", "surrogateescape")
                one = header(text, metadata.partition("/")[0])
        found = members(path, "", Origins())
    except (*BROKEN, KeyError) as error:
        return Failed(path, f"cannot be read: {error}", True)
    cuda = sum(name.endswith(".cu") for name in names)
    tops = tuple(dict.fromkeys(n.partition("/")[0] for n in names if ".dist-info/" not in n))
    libraries = [one for one in found.libraries if is_loaded(one.member)]
    files = tuple(unread.member for unread in libraries)
    return replace(one, path=path, folder=path, libraries=files, tops=tops, cuda=cuda), libraries


def _shelved(
    wanted: Sequence[tuple[Installed, list[Unread]]], memory: _Memory, jobs: int, mapper: Mapper | None
) -> tuple[Shelf, ...]:
    """The distributions with what is in their libraries; those that are not remembered are read, the largest first."""
    fresh = [unread for _, them in wanted for unread in them if not memory.library(unread)[1]]
    fresh.sort(key=lambda unread: -unread.size)
    read = dict(zip((_place(unread) for unread in fresh), _read_all(fresh, jobs, mapper), strict=True))
    return tuple(_shelf(one, them, read, memory) for one, them in wanted)


def _read_all(fresh: Sequence[Unread], jobs: int, mapper: Mapper | None) -> list[Compiled | Failed | Died | None]:
    if not fresh:
        return []
    if mapper is not None:
        return list(mapper.map(read_one, fresh))
    few = sum(unread.size for unread in fresh) < _ALONE
    with local(1 if few else jobs if jobs > 0 else cores()) as spread:
        batches = [fresh[at : at + 10_000] for at in range(0, len(fresh), 10_000)]  # what one map takes
        return [answer for batch in batches for answer in spread.map(read_one, batch)]


def _shelf(
    one: Installed, them: Iterable[Unread], read: dict[str, Compiled | Failed | Died | None], memory: _Memory
) -> Shelf:
    compiled: list[Compiled] = []
    failed: list[Failed] = []
    looked_at = 0
    for unread in them:
        looked_at += 1
        answer = read[_place(unread)] if _place(unread) in read else memory.library(unread)[0]
        if isinstance(answer, Died):
            failed.append(Failed(unread.path, f"the process that read it died ({answer.reason}); please report it"))
        elif isinstance(answer, Failed):
            failed.append(Failed(unread.path, answer.reason))
        else:
            memory.remember(unread, answer)
            if answer is not None:
                compiled.append(answer)
                failed += [Failed(unread.path, why) for why in answer.library.failed]
    return Shelf(one, tuple(compiled), tuple(failed), looked_at)


def read_one(unread: Unread) -> Compiled | Failed | None:
    """What is in one library; None = no GPU code that anybody could load, nor anything that could not be read."""
    found = read_library(unread)
    if isinstance(found, Failed):
        return found
    if not found.modules and not found.notes and not found.failed:
        return None
    counts: Counter[Module] = Counter(_bare(module) for module in found.modules)
    bare = replace(found, modules=tuple(counts), disk="", archive="", member="", stamp="")
    return Compiled(bare, tuple(counts.values()), _is_vacant(found))


def _bare(module: Module) -> Module:
    """A module without where its images lie: libraries hold hundreds that differ in nothing else."""
    images = tuple(Image(image.kind, image.target, image.version, _NOWHERE) for image in module.images)
    return Module(images, module.relocatable, module.loose)


def _is_vacant(library: Library) -> bool:
    """Whether no module has a kernel; asked only of libraries so small that it may be."""
    firsts = [module.images[0] for module in library.modules if module.images[0].kind != LTO]
    if not firsts or len(firsts) > _MOST_STUBS or any(image.span.raw > _STUB for image in firsts):
        return False
    return all(not kernels.natures and not kernels.failed for kernels in read_kernels(library, firsts).values())
