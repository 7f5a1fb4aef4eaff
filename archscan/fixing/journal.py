"""The journal of fix runs: what every file held before, on disk and synced before anything is changed.

One directory a run under the user's state directory: `manifest.json` and one blob a file. A run goes
planned -> applying -> done -> reverted; a run found in `applying` was killed and is rolled back from its blobs.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from archscan.errors import UserError

PLANNED, APPLYING, DONE, REVERTED, ABORTED = "planned", "applying", "done", "reverted", "aborted"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a run. `link` is the target of a symbolic link that stood in its place."""

    path: str
    before: str  # sha256 of the bytes before
    after: str
    mode: int
    blob: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One fix run as written to its manifest."""

    id: str
    state: str
    created: str
    title: str
    entries: tuple[Entry, ...]


def digest(data: bytes) -> str:
    """sha256 of `data` in hex."""
    return hashlib.sha256(data).hexdigest()


def state_directory() -> Path:
    """Where journals live: $XDG_STATE_HOME/archscan or the platform's equal."""
    base = os.environ.get("XDG_STATE_HOME")
    if not base:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = str(Path.home() / "Library" / "Application Support")
        else:
            base = str(Path.home() / ".local" / "state")
    return Path(base) / "archscan"


class Journal:
    """The fix runs of this user. Every method leaves the directory in a state that the next run understands."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (directory or state_directory()) / "journal"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the one lock of the journal; UserError if another run holds it."""
        self._make(self.directory)
        with (self.directory / "lock").open("a+b") as handle:
            if not _lock(handle.fileno()):
                raise UserError(
                    "another archscan run is writing fixes", "wait until it has finished, then run the command again"
                )
            yield

    def create(self, title: str, entries: tuple[Entry, ...], originals: dict[str, bytes]) -> Run:
        """A new run in state `planned`, with every original byte on disk and synced."""
        run = Run(self._new_id(), PLANNED, time.strftime("%Y-%m-%dT%H:%M:%S%z"), title, entries)
        folder = self.directory / run.id
        self._make(folder)
        for entry in entries:
            write_synced(folder / entry.blob, originals[entry.path])
        self._write(run)
        sync_directory(folder)
        sync_directory(self.directory)
        return run

    def move(self, run: Run, state: str) -> Run:
        """The run in its new state, written and synced."""
        moved = replace(run, state=state)
        self._write(moved)
        return moved

    def runs(self) -> tuple[Run, ...]:
        """All runs that can be read, oldest first."""
        if not self.directory.is_dir():
            return ()
        found = [self._read(p) for p in sorted(self.directory.iterdir()) if (p / "manifest.json").is_file()]
        return tuple(run for run in found if run is not None)

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

    def original(self, run: Run, entry: Entry) -> bytes:
        """The bytes the file held before; UserError if the blob is damaged."""
        try:
            data = (self.directory / run.id / entry.blob).read_bytes()
        except OSError as error:
            raise UserError(f"the saved copy of {entry.path} is gone", f"see {self.directory / run.id}") from error
        if digest(data) != entry.before:
            raise UserError(f"the saved copy of {entry.path} is damaged", f"see {self.directory / run.id}")
        return data

    def _new_id(self) -> str:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        number = 1
        while (self.directory / f"{stamp}-{number:03d}").exists():
            number += 1
        return f"{stamp}-{number:03d}"  # padded, so that names sort by age

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UserError(
                f"cannot create the journal {folder}: {error.strerror}",
                "set XDG_STATE_HOME to a directory that can be written; nothing was changed",
            ) from error

    def _write(self, run: Run) -> None:
        target = self.directory / run.id / "manifest.json"
        temporary = target.with_suffix(".new")
        write_synced(temporary, json.dumps(asdict(run), indent=1, sort_keys=True).encode())
        temporary.replace(target)
        sync_directory(target.parent)

    def _read(self, folder: Path) -> Run | None:
        try:
            raw = json.loads((folder / "manifest.json").read_bytes())
            entries = tuple(Entry(**entry) for entry in raw["entries"])
            run = Run(**{**raw, "entries": entries})
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None  # killed before its manifest was whole: nothing had been changed then
        return run if run.id == folder.name and all(map(_is_sound, entries)) else None


def _is_sound(entry: Entry) -> bool:
    """Whether a manifest's entry holds what was once written there: it decides which files are replaced."""
    texts = [entry.path, entry.before, entry.after, entry.blob, *([] if entry.link is None else [entry.link])]
    if not all(isinstance(text, str) and text and "\0" not in text for text in texts) or type(entry.mode) is not int:
        return False
    return Path(entry.blob).name == entry.blob and 0 <= entry.mode <= 0o7777


def write_synced(path: Path, data: bytes) -> None:
    """Writes and syncs `data` to a new or replaced file."""
    with path.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


def sync_directory(path: Path) -> None:
    """Syncs a directory entry where the platform can."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
