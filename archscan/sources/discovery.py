"""Turns the PATHs of a command line into the list of files to read, in a fixed order."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from archscan.errors import UserError
from archscan.model.facts import Failed, Origin, Skipped
from archscan.model.settings import ScanSettings
from archscan.sources import ignore, roots
from archscan.sources.kinds import is_archive, is_library, is_source
from archscan.sources.origins import OWN, Origins
from archscan.sources.shown import shown
from archscan.sources.unread import Unread, stamp_of
from archscan.sources.walk import found, walk

_STDIN_LIMIT = 64 << 20
_COMPILED = (b"\x7fELF", b"MZ", b"!<arch>\n", b"\x50\xed\x55\xba")


@dataclass(frozen=True, slots=True)
class Discovery:
    """What is to be read, and what is not and why."""

    sources: tuple[Unread, ...]
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()
    roots: tuple[str, ...] = ()  # the PATHs as typed
    other: int = 0  # files of kinds that archscan does not read
    libraries: tuple[Unread, ...] = ()  # compiled files, which may hold GPU images


def discover(paths: Sequence[str], settings: ScanSettings, origins: Origins | None = None) -> Discovery:
    """Every file to read below `paths`. What cannot be read does not stop the rest: it is in `failed`.

    Raises UserError if there is nothing to scan at all.
    """
    origins = origins or Origins()
    parts = [_one(path, prefix, settings, origins) for path, prefix in zip(paths, _prefixes(paths), strict=True)]
    sources = _once([source for part in parts for source in part.sources])
    libraries = _once([library for part in parts for library in part.libraries])
    skipped = tuple(s for part in parts for s in part.skipped)
    failed = tuple(f for part in parts for f in part.failed)
    if not sources and not libraries:
        raise _nothing(paths, skipped, failed)
    other = sum(part.other for part in parts)
    return Discovery(tuple(sources), skipped, failed, tuple(paths), other, tuple(libraries))


def _one(path: str, prefix: str, settings: ScanSettings, origins: Origins) -> Discovery:
    """What one PATH leads to."""
    if path == "-":
        return Discovery((_stdin(settings.stdin_name),))
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        return Discovery((), failed=(Failed(shown(path), _missing(path, error), True),))
    if stat.S_ISDIR(status.st_mode):
        return _directory(path, prefix, settings, origins)
    if not stat.S_ISREG(status.st_mode):
        return Discovery((), failed=(Failed(shown(path), "not a regular file or directory", True),))
    if is_archive(path):
        return _archive(path, prefix, settings, origins)
    return _file(path, prefix, status, settings)


def _directory(path: str, prefix: str, settings: ScanSettings, origins: Origins) -> Discovery:
    walked = walk(Path(os.path.abspath(path)), prefix + "/" if prefix else "", origins, settings.exclude)
    failed = walked.failed
    found = walked.sources or walked.libraries
    if not found and not failed:
        failed = [Failed(shown(path), "nothing to scan in this directory", True)]
    elif not found:
        failed = [Failed(f.path, f.reason, True) for f in failed]
    return Discovery(
        tuple(walked.sources),
        tuple(walked.skipped),
        tuple(failed),
        other=walked.other,
        libraries=tuple(walked.libraries),
    )


def _archive(path: str, prefix: str, settings: ScanSettings, origins: Origins) -> Discovery:
    from archscan.sources import archives

    try:
        found = archives.members(os.path.abspath(path), prefix + "/" if prefix else "", origins, settings.exclude)
    except UserError as error:
        return Discovery((), failed=(Failed(shown(path), error.title, True),))
    return Discovery(
        tuple(found.sources),
        tuple(found.skipped),
        tuple(found.failed),
        other=found.other,
        libraries=tuple(found.libraries),
    )


def _file(path: str, prefix: str, status: os.stat_result, settings: ScanSettings) -> Discovery:
    absolute = Path(os.path.abspath(path))
    name = prefix or shown(absolute.name)
    library = is_library(absolute.name) or (not is_source(absolute.name) and _is_compiled(absolute))
    if not library and not is_source(absolute.name, str(absolute.parent)):
        return Discovery((), skipped=(Skipped(name, "not a kind of file archscan reads"),), other=1)
    if settings.exclude:
        base = Path(os.path.commonpath([absolute, Path.cwd()]))
        why = ignore.on_the_way(ignore.compiled(str(base), settings.exclude, "--exclude"), str(absolute))
        if why:
            return Discovery((), skipped=(Skipped(name, why),))
    root = roots.above(absolute.parent)
    one = found(name, str(absolute), str(absolute), stamp_of(status), OWN, str(root or ""), str(absolute.parent))
    if one.origin is Origin.TEST:  # named by the user: it is what he wants to know about
        one = one._replace(origin=Origin.OWN, evidence="")
    one = one._replace(named=True)
    return Discovery((), libraries=(one,)) if library else Discovery((one,))


def _is_compiled(path: Path) -> bool:
    """Whether a file without a telling name begins as programs, libraries and containers of images do."""
    try:
        with path.open("rb") as file:
            return file.read(8).startswith(_COMPILED)
    except OSError:
        return False


def _stdin(name: str) -> Unread:
    """Standard input as a file, by the name it was given, else named after the language that it looks like."""
    data = sys.stdin.buffer.read(_STDIN_LIMIT + 1)
    cuda = any(word in data for word in (b"#if", b"#include", b"__global__", b"__device__", b"#define", b"{"))
    cuda = cuda and not data.lstrip().startswith((b"import ", b"from ", b'"""')) and b"\ndef " not in data
    name = name or ("stdin.cu" if cuda else "stdin.py")
    return Unread(name, "", len(data), below=name, data=data, named=True)


def _prefixes(paths: Sequence[str]) -> list[str]:
    """What reported paths of each PATH begin with: nothing for a single one, else its last component.

    Equal last components are told apart by as many parents as it takes.
    """
    if len(paths) < 2:
        return ["" for _ in paths]
    parts = [[p for p in shown(os.path.abspath(path)).split("/") if p] or ["root"] for path in paths]
    distinct = {tuple(p) for p in parts}
    depth = 1
    while len({tuple(p[-depth:]) for p in distinct}) < len(distinct):
        depth += 1
    clash = _clashing(distinct)
    return ["/".join(p[-depth:] if p[-1] in clash else p[-1:]) for p in parts]


def _clashing(distinct: set[tuple[str, ...]]) -> set[str]:
    last = [p[-1] for p in distinct]
    return {name for name in last if last.count(name) > 1}


def _once(sources: list[Unread]) -> list[Unread]:
    """The sources sorted by path, each file once even if several PATHs lead to it; named is named."""
    kept: dict[tuple[str, str, str], Unread] = {}
    for source in sources:
        place = os.path.realpath(source.disk) if source.named and source.disk else source.disk
        key = (place, source.archive, source.member)
        known = kept.setdefault(key, source)
        if source.named and not known.named:
            kept[key] = known._replace(named=True)
    return sorted(kept.values(), key=lambda source: source.path)


def _missing(path: str, error: Exception) -> str:
    """Why a PATH cannot be looked at, with the nearest name if it seems misspelled."""
    if isinstance(error, FileNotFoundError):
        from difflib import get_close_matches

        parent = Path(path).parent
        try:
            near = get_close_matches(Path(path).name, os.listdir(parent), 1)
        except OSError:
            near = []
        hint = f"; did you mean {shown(str(parent / near[0]))}?" if near else ""
        return f"no such file or directory{hint}"
    return str(getattr(error, "strerror", None) or error).lower()


def _nothing(paths: Sequence[str], skipped: tuple[Skipped, ...], failed: tuple[Failed, ...]) -> UserError:
    """The error for a command line that leads to no source at all."""
    if failed:
        first, _, hint = failed[0].reason.partition("; ")
        return UserError(f"{failed[0].path}: {first}", hint)
    why = (
        f"{skipped[0].path}: {skipped[0].reason}"
        if skipped
        else "archscan reads CUDA, C++, Python and CMake files, and libraries"
    )
    return UserError(f"nothing to scan in {', '.join(shown(p) for p in paths)}", why)
