"""JIT caches on disk: for which targets they hold code, and which of them a GPU or a newer version has no use for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from archscan.binary.loading import is_useless
from archscan.catalog.types import Catalog
from archscan.environment.facts import PackageFacts
from archscan.environment.installed import Installed
from archscan.fixing.caches import JitCache, location
from archscan.model.facts import Failed
from archscan.model.library import CUBIN, Image
from archscan.model.target import Selection
from archscan.sources.libraries import read_library
from archscan.sources.unread import Unread

_HELD = re.compile(r".+\.(?:so|cubin|ptx)")
_MOST_FILES = 2000  # read of one cache: what it holds is known by then
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


@dataclass(frozen=True, slots=True)
class HeldCache:
    """A cache, or the part of it that one version of its program keeps."""

    title: str
    path: str
    holds: tuple[str, ...]  # targets, as build systems write them
    stale: bool
    why: str  # it is stale
    files: int
    whole: bool = True  # whether all of its files were read

    @property
    def clear(self) -> str:
        """The command that empties it."""
        return f"rm -r {_quoted(self.path)}"


def held_caches(
    known: Iterable[JitCache],
    installed: Mapping[str, Installed],
    facts: PackageFacts,
    selection: Selection,
    catalog: Catalog,
    environ: Mapping[str, str],
) -> tuple[HeldCache, ...]:
    """The caches that are there; `installed` are the distributions by their normalised names."""
    owners = {use.cache: installed[key] for key, use in facts.first_use.items() if use.cache and key in installed}
    found: list[HeldCache] = []
    for cache in known:
        root = location(cache, environ)
        if not root.is_dir():
            continue
        versions = [entry for entry in _directories(root) if _VERSION.fullmatch(entry.name)]
        for place in versions or [root]:
            version = place.name if versions else ""
            one = _held(cache.title, place, version, owners.get(cache.id), selection, catalog)
            found += [one] if one.files else []
    return tuple(found)


def _held(
    title: str, place: Path, version: str, owner: Installed | None, selection: Selection, catalog: Catalog
) -> HeldCache:
    images: dict[Image, None] = {}
    files = number = 0
    for path in _files(place):
        files += 1
        if not _HELD.fullmatch(path.rpartition(os.sep)[2]) or number >= _MOST_FILES:
            continue
        number += 1
        library = read_library(Unread(path, path, 0))
        if not isinstance(library, Failed):
            images.update(dict.fromkeys(library.images))
    kinds = {image.name: (image.kind != CUBIN, image.target) for image in images}
    holds = tuple(sorted(kinds, key=lambda name: (*kinds[name], name)))
    why = ""
    if version and owner is not None and version.partition("+")[0] != owner.version.partition("+")[0]:
        why = f"made by {owner.name} {version}, and {owner.version} is installed"
    elif holds and all(is_useless(image, selection.sm, catalog) for image in images):
        why = f"holds nothing for {selection.name}"
    return HeldCache(title, str(place), holds, bool(why), why, files, number < _MOST_FILES)


def _directories(root: Path) -> list[Path]:
    try:
        return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return []


def _files(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(folder, name)


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
