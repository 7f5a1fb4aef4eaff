"""Writes a plan to disk, all files or none, and puts files back: never through a link, never over a later edit."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from archscan.errors import UserError
from archscan.fixing.journal import (
    ABORTED,
    APPLYING,
    DONE,
    REVERTED,
    Entry,
    Journal,
    Run,
    digest,
    sync_directory,
    write_synced,
)


@dataclass(frozen=True, slots=True)
class Change:
    """One file's new bytes; `before` is the digest of the bytes the plan was made from."""

    path: Path
    before: str
    data: bytes


def apply(changes: Sequence[Change], journal: Journal, title: str) -> Run | None:
    """The journalled run that wrote `changes`, or None if there was nothing to write.

    Raises UserError with nothing changed if a file differs from what was read, is read-only or cannot be written.
    """
    with journal.locked():
        recover(journal)
        originals, entries = {}, []
        for number, change in enumerate(changes):
            current = _read(change.path)
            if digest(current) != change.before:
                raise UserError(
                    f"{change.path} changed since it was read", "nothing was written; run the command again"
                )
            if current == change.data:
                continue
            originals[str(change.path)] = current
            entries.append(_entry(change, number))
        if not entries:
            return None
        run = journal.create(title, tuple(entries), originals)
        wanted = {str(change.path): change.data for change in changes}
        return _write_all(run, journal, {entry.path: wanted[entry.path] for entry in entries})


def revert(journal: Journal, run_id: str | None = None, force: bool = False) -> Run:
    """The run whose files hold their old bytes and modes again.

    Raises UserError, with nothing changed, if a file was edited after the fix and `force` is not set.
    """
    with journal.locked():
        run = journal.find(run_id)
        if run.state == REVERTED:
            raise UserError(f"fix run {run.id} is reverted already", "`archscan revert` takes the latest by default")
        edited = [entry.path for entry in run.entries if _edited(entry)]
        if edited and not force:
            raise UserError(
                f"{', '.join(edited)} changed after the fix",
                "nothing was reverted; use --force to lose those edits, or undo them first",
            )
        for entry in run.entries:
            _restore(entry, journal.original(run, entry))
        return journal.move(run, REVERTED)


def recover(journal: Journal) -> tuple[Run, ...]:
    """The runs that were killed half way and are rolled back now, all files or none.

    Files that somebody edited since are left alone: their saved bytes stay in the journal.
    """
    rolled_back = []
    for run in journal.runs():
        if run.state != APPLYING:
            continue
        for entry in run.entries:
            if not _edited(entry):
                _restore(entry, journal.original(run, entry))
            _temporary(Path(entry.path)).unlink(missing_ok=True)
        rolled_back.append(journal.move(run, ABORTED))
    return tuple(rolled_back)


def _write_all(run: Run, journal: Journal, wanted: dict[str, bytes]) -> Run:
    temporaries = []
    run = journal.move(run, APPLYING)
    try:
        for entry in run.entries:
            temporaries.append(_stage(entry, wanted[entry.path]))
        for entry, temporary in zip(run.entries, temporaries, strict=True):
            temporary.replace(entry.path)
            sync_directory(Path(entry.path).parent)
    except OSError as error:
        for entry in run.entries:
            with suppress(OSError):
                _restore(entry, journal.original(run, entry))
        journal.move(run, ABORTED)
        raise UserError(
            f"cannot write {error.filename or 'a file'}: {error.strerror}", "every file holds its old bytes"
        ) from error
    finally:
        for entry in run.entries:
            with suppress(OSError):
                _temporary(Path(entry.path)).unlink(missing_ok=True)
    return journal.move(run, DONE)


def _stage(entry: Entry, data: bytes) -> Path:
    temporary = _temporary(Path(entry.path))
    write_synced(temporary, data)
    temporary.chmod(entry.mode)
    return temporary


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.archscan-new")


def _entry(change: Change, number: int) -> Entry:
    status = change.path.stat()
    mode = stat.S_IMODE(status.st_mode)
    if not mode & 0o222:
        raise UserError(f"{change.path} is read-only", "nothing was written; make it writable first (chmod u+w)")
    link = str(change.path.readlink()) if change.path.is_symlink() else None
    return Entry(str(change.path), change.before, digest(change.data), mode, f"{number:04d}.before", link)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "nothing was written") from error


def _edited(entry: Entry) -> bool:
    """Whether the file holds neither the bytes before nor those after the fix."""
    try:
        return digest(Path(entry.path).read_bytes()) not in (entry.before, entry.after)
    except OSError:
        return True


def _restore(entry: Entry, data: bytes) -> None:
    """Puts the old bytes and mode, or the old symbolic link, back in one rename."""
    path = Path(entry.path)
    temporary = path.with_name(f".{path.name}.archscan-old")
    if entry.link is not None:
        if path.is_symlink() and str(path.readlink()) == entry.link:
            return
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(entry.link)
    else:
        if not path.is_symlink() and path.exists() and path.read_bytes() == data:
            return
        write_synced(temporary, data)
        temporary.chmod(entry.mode)
    temporary.replace(path)
    sync_directory(path.parent)
