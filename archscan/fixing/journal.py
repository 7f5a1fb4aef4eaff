"""The journal of fix runs: what every file held before, on disk and synced before anything is changed.

One directory a run under the user's state directory: `manifest.json` and one blob a file. A run goes
planned -> applying -> done -> reverted; a run found in `applying` was interrupted, and `archscan revert` finishes it.

A manifest decides which files are replaced with what, so it is sealed with a key of this user's: a run that was edited,
copied in or cut is no run. It is moved aside, said, and blocks nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from archscan.bounded import small_file
from archscan.directories import state_directory
from archscan.errors import UserError
from archscan.writing import (
    PERMISSIONS,
    Owner,
    private_directory,
    sync_directory,
    write_atomically,
    write_new,
)

PLANNED, APPLYING, DONE, REVERTED, ABORTED = "planned", "applying", "done", "reverted", "aborted"
_STATES = frozenset({PLANNED, APPLYING, DONE, REVERTED, ABORTED})
_ASIDE = "aside"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BLOB = re.compile(r"\d{4,8}\.before")
_STAGED = re.compile(r"\.archscan-[0-9a-f]{32}\.new")
_MOST_MANIFEST = 256 << 20  # bytes; 300 a file
MOST_CONTENT = 256 << 20  # bytes of a file that a fix touches; what is scanned is smaller


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a run. `link` is the target of a symbolic link that stood in its place."""

    path: str  # absolute, no link above it
    before: str  # sha256 of the bytes before
    after: str
    mode: int
    blob: str
    staged: str  # name of the new file beside it until it is renamed
    link: str | None = None
    owner: Owner | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One fix run as written to its manifest. It touches nothing outside of its roots."""

    id: str
    state: str
    created: str
    title: str
    roots: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A run that cannot be used, why, and where what is left of it lies."""

    id: str
    why: str
    place: Path


def digest(data: bytes) -> str:
    """sha256 of `data` in hex."""
    return hashlib.sha256(data).hexdigest()


class Journal:
    """The fix runs of this user. Every method leaves the directory in a state that the next run understands."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (directory or state_directory()) / "journal"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the one lock of the journal; UserError if another run holds it."""
        self._make(self.directory.parent)
        self._make(self.directory)
        with (self.directory / "lock").open("a+b") as handle:
            if not _lock(handle.fileno()):
                raise UserError(
                    "another archscan run is writing fixes", "wait until it has finished, then run the command again"
                )
            yield

    def create(self, title: str, roots: tuple[str, ...], entries: tuple[Entry, ...], originals: list[bytes]) -> Run:
        """A new run in state `planned`, with the original bytes of every entry on disk and synced; or UserError."""
        run = Run(self._new_id(), PLANNED, time.strftime("%Y-%m-%dT%H:%M:%S%z"), title, roots, entries)
        folder = self.directory / run.id
        self._make(folder)
        try:
            for entry, data in zip(entries, originals, strict=True):
                write_new(folder / entry.blob, data, 0o600)
            self._write(run)
            sync_directory(self.directory)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise UserError(
                f"cannot write the journal {folder}: {error.strerror}", "nothing was changed; make room there"
            ) from error
        return run

    def move(self, run: Run, state: str) -> Run:
        """The run in its new state, written and synced."""
        moved = replace(run, state=state)
        self._write(moved)
        return moved

    def runs(self) -> tuple[Run, ...]:
        """All runs that are whole, oldest first."""
        return tuple(run for run in self._all() if isinstance(run, Run))

    def damaged(self) -> tuple[Damaged, ...]:
        """The runs that are not: whatever is written in them counts for nothing."""
        return tuple(run for run in self._all() if isinstance(run, Damaged))

    def find(self, run_id: str | None) -> Run:
        """The run of that id, or the latest that can be reverted; UserError if there is none."""
        runs = [run for run in self.runs() if run.state in (APPLYING, DONE)]
        if run_id is None:
            if not runs:
                raise UserError("there is no fix run to revert", f"journals are looked for in {self.directory}")
            return runs[-1]
        for run in self.runs():
            if run.id == run_id:
                return run
        known = ", ".join(run.id for run in runs[-5:]) or "none"
        raise UserError(f"no fix run {run_id!r}", f"runs that can be reverted: {known}")

    def originals(self, run: Run) -> list[bytes]:
        """The bytes that each file of the run held before; UserError if one saved copy is gone or damaged."""
        found = []
        for entry in run.entries:
            try:
                data = small_file(self.directory / run.id / entry.blob, MOST_CONTENT)
            except OSError as error:
                raise UserError(f"the saved copy of {entry.path} is gone", self._untouched(run)) from error
            if digest(data) != entry.before:
                raise UserError(f"the saved copy of {entry.path} is damaged", self._untouched(run))
            found.append(data)
        return found

    def set_aside(self, run_id: str) -> Path:
        """Where the run lies now: out of the way of every other, kept for a person to look at."""
        aside = self.directory / _ASIDE
        self._make(aside)
        place = aside / run_id
        if place.exists():
            place = aside / f"{run_id}-{secrets.token_hex(4)}"
        (self.directory / run_id).replace(place)
        sync_directory(self.directory)
        return place

    def _untouched(self, run: Run) -> str:
        return f"no file was touched; what is left of the run lies in {self.directory / run.id}"

    def _all(self) -> Iterator[Run | Damaged]:
        try:
            folders = sorted(path for path in self.directory.iterdir() if path.name != _ASIDE and path.is_dir())
        except OSError:
            return
        key = self._key()
        for folder in folders:
            yield self._read(folder, key)

    def _new_id(self) -> str:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        number = 1
        while any((where / f"{stamp}-{number:03d}").exists() for where in (self.directory, self.directory / _ASIDE)):
            number += 1
        return f"{stamp}-{number:03d}"  # padded, so that names sort by age

    def _make(self, folder: Path) -> None:
        try:
            private_directory(folder)
        except OSError as error:
            raise UserError(
                f"cannot create the journal {folder}: {error.strerror}",
                "set XDG_STATE_HOME to a directory that can be written; nothing was changed",
            ) from error

    def _write(self, run: Run) -> None:
        key = self._key()
        if key is None:
            key = secrets.token_bytes(32)
            write_atomically(self.directory / "key", key, 0o600)
        sealed = {**asdict(run), "seal": _seal(asdict(run), key)}
        text = json.dumps(sealed, indent=1, sort_keys=True)
        write_atomically(self.directory / run.id / "manifest.json", text.encode(), 0o600)

    def _key(self) -> bytes | None:
        """The key that manifests are sealed with; None if there is none yet, or one that others can know or choose."""
        path = self.directory / "key"
        with suppress(OSError):
            found = path.lstat()
            ours = sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
            data = small_file(path, 1024) if stat.S_ISREG(found.st_mode) and ours else b""
            return data if len(data) == 32 else None
        return None

    def _read(self, folder: Path, key: bytes | None) -> Run | Damaged:
        try:
            raw = json.loads(small_file(folder / "manifest.json", _MOST_MANIFEST))
            seal = raw.pop("seal")
            if key is None or not hmac.compare_digest(seal, _seal(raw, key)):
                return Damaged(folder.name, "its manifest is not what archscan wrote", folder)
            run = _run(raw)
            sound = run.id == folder.name and _is_sound(run)
        except FileNotFoundError:  # killed before it was whole: nothing had been changed then
            return Damaged(folder.name, "it has no manifest, as a run that ended before it wrote a file", folder)
        except OSError:
            return Damaged(folder.name, "its manifest cannot be read", folder)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return Damaged(folder.name, "its manifest is damaged", folder)
        return run if sound else Damaged(folder.name, "its manifest does not fit it", folder)


def _seal(manifest: Mapping[str, Any], key: bytes) -> str:
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _run(raw: Mapping[str, Any]) -> Run:
    """The run of a manifest; TypeError, KeyError or ValueError if it has other fields."""
    entries = []
    for row in raw["entries"]:
        owner = row["owner"]
        entries.append(Entry(**{**row, "owner": None if owner is None else (owner[0], owner[1])}))
    return Run(**{**raw, "entries": tuple(entries), "roots": tuple(raw["roots"])})


def _is_sound(run: Run) -> bool:
    """Whether a run is one that archscan may carry out: files below its roots, plain modes, digests, names it makes."""
    texts = (run.id, run.state, run.created, run.title, *run.roots)
    if not all(isinstance(text, str) for text in texts) or run.state not in _STATES:
        return False
    if not run.roots or not all(_is_plain(root) for root in run.roots):
        return False
    paths = {entry.path for entry in run.entries}
    return len(paths) == len(run.entries) and all(_is_sound_entry(entry, run.roots) for entry in run.entries)


def _is_sound_entry(entry: Entry, roots: tuple[str, ...]) -> bool:
    digests = all(isinstance(text, str) and _DIGEST.fullmatch(text) for text in (entry.before, entry.after))
    names = isinstance(entry.blob, str) and isinstance(entry.staged, str)
    if not (digests and names and _BLOB.fullmatch(entry.blob) and _STAGED.fullmatch(entry.staged)):
        return False
    link = entry.link is None or (isinstance(entry.link, str) and bool(entry.link) and "\0" not in entry.link)
    mode = type(entry.mode) is int and 0 <= entry.mode <= PERMISSIONS
    owner = entry.owner is None or all(type(number) is int and 0 <= number < 1 << 32 for number in entry.owner)
    return link and mode and owner and isinstance(entry.path, str) and below(entry.path, roots)


def below(path: str, roots: tuple[str, ...]) -> bool:
    """Whether an absolute path without dots lies below one of the roots, as text."""
    return _is_plain(path) and any(Path(root) in Path(path).parents for root in roots)


def _is_plain(path: str) -> bool:
    return Path(path).is_absolute() and "\0" not in path and os.path.normpath(path) == path


def _lock(handle: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
