"""JIT caches that hold code built before an edit: which ones, where, how big; removed only when asked to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from archscan.errors import UserError


@dataclass(frozen=True, slots=True)
class JitCache:
    """A row of rules/facts/caches.yaml."""

    id: str
    title: str
    variable: str
    default: str
    layers: frozenset[str]
    source: str
    below: str = ""


@dataclass(frozen=True, slots=True)
class FoundCache:
    """A cache that exists on this machine."""

    cache: JitCache
    path: Path
    bytes: int
    files: int


def known_caches(rules: Path) -> tuple[JitCache, ...]:
    """The rows of `facts/caches.yaml` below the rules directory."""
    import yaml

    rows = yaml.safe_load((rules / "facts" / "caches.yaml").read_bytes())
    return tuple(JitCache(**{**row, "layers": frozenset(row["layers"])}) for row in rows)


def found_caches(caches: Iterable[JitCache], layers: frozenset[str], environ: Mapping[str, str]) -> list[FoundCache]:
    """The caches for these layers that exist and are not empty, with their sizes."""
    found = []
    for cache in caches:
        if not cache.layers & layers:
            continue
        path = location(cache, environ)
        sizes = _sizes(path)
        if sizes:
            found.append(FoundCache(cache, path, sum(sizes), len(sizes)))
    return found


def location(cache: JitCache, environ: Mapping[str, str]) -> Path:
    """Where the cache lies: below its variable's directory if that is set, else its default."""
    if environ.get(cache.variable):
        return Path(environ[cache.variable]).expanduser() / cache.below
    user = environ.get("USER") or environ.get("USERNAME") or str(getattr(os, "getuid", lambda: "user")())
    text = cache.default.replace("$TMPDIR", tempfile.gettempdir()).replace("$USER", user)
    return Path(text).expanduser()


def clear(found: FoundCache) -> None:
    """Removes what is inside the cache directory. Refuses a home directory, a root, or a link out of its place."""
    path = found.path.absolute()
    if path.is_symlink() or path in (Path.home(), Path(path.anchor)) or path in Path.home().parents:
        raise UserError(f"{path} does not look like a cache", f"look at it, and at {found.cache.variable}, by hand")
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _sizes(path: Path) -> list[int]:
    sizes = []
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                sizes.append((Path(folder) / name).lstat().st_size)
            except OSError:
                continue
    return sizes
