"""Writes a plan to disk, all files or none, and puts files back: never through a link, never over a later edit."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from archscan.bounded import small_file
from archscan.errors import UserError
from archscan.fixing.journal import (
    ABORTED,
    APPLYING,
    DONE,
    MOST_CONTENT,
    REVERTED,
    Entry,
    Journal,
    Run,
    below,
    digest,
)
from archscan.writing import PERMISSIONS, Owner, new_name, sync_directory, write_new


@dataclass(frozen=True, slots=True)
class Change:
    """One file's new bytes; `before` is the digest of the bytes the plan was made from."""

    path: Path
    before: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _Held:
    """What stands at a path: bytes with mode and owner, or a symbolic link."""

    data: bytes
    mode: int
    owner: Owner | None
    link: str | None = None


def apply(changes: Sequence[Change], journal: Journal, title: str, roots: Sequence[Path] | None = None) -> Run | None:
    """The journalled run that wrote `changes`, or None if there was nothing to write.

    `roots` are the directories that the run may touch, by default those of the files. Raises UserError with nothing
    changed if a file lies outside of them, differs from what was read, is read-only or cannot be written.
    """
    bound = tuple(sorted({os.path.realpath(r) for r in roots or [change.path.parent for change in changes]}))
    with journal.locked():
        entries: list[Entry] = []
        originals, wanted = [], []
        for change in changes:
            entry, current = _planned(change, f"{len(entries):04d}.before", bound)
            if current != change.data:
                entries.append(entry)
                originals.append(current)
                wanted.append(change.data)
        if not entries:
            return None
        _refuse_unfinished(entries, journal)
        run = journal.move(journal.create(title, bound, tuple(entries), originals), APPLYING)
        try:
            _swap([(entry, _held(entry, data)) for entry, data in zip(entries, wanted, strict=True)])
        except (OSError, KeyboardInterrupt) as error:
            _end(error, run, journal, "written")
        return journal.move(run, DONE)


def revert(journal: Journal, run_id: str | None = None, force: bool = False) -> Run:
    """The run whose files hold their old bytes, modes and owners again, all of them or none; interrupted ones too.

    Raises UserError, with nothing changed, if a file was edited after the fix and `force` is not set, if its tree is
    gone, or if a saved copy is damaged; such a run is set aside, so that it is in the way of no other.
    """
    with journal.locked():
        run = journal.find(run_id)
        if run.state not in (APPLYING, DONE):
            what = "is reverted already" if run.state == REVERTED else "changed nothing"
            raise UserError(f"fix run {run.id} {what}", "`archscan revert` takes the latest by default")
        try:
            originals = journal.originals(run)
        except UserError as error:
            place = journal.set_aside(run.id)
            hint = f"no file was touched; run {run.id} was set aside: {place}"
            raise UserError(error.title, hint) from error
        _check_places(run, journal)
        edited = [entry.path for entry in run.entries if _edited(entry)]
        if edited and not force:
            raise UserError(
                f"{', '.join(edited)} changed after the fix",
                "nothing was reverted; use --force to lose those edits, or undo them first",
            )
        try:
            _swap([(e, _held(e, data, e.link)) for e, data in zip(run.entries, originals, strict=True)])
        except (OSError, KeyboardInterrupt) as error:
            _end(error, run, journal, "reverted")
        for entry in run.entries:  # an interrupted run may have left more than what was put back
            with suppress(OSError):
                _staged(entry).unlink(missing_ok=True)
        return journal.move(run, REVERTED)


def _end(error: BaseException, run: Run, journal: Journal, done: str) -> None:
    """Says what a write that failed, or was interrupted, has left behind."""
    if isinstance(error, _HalfDone):
        raise UserError(
            f"run {run.id} is half {done}: {error}", f"`archscan revert {run.id}` puts the old bytes back"
        ) from error
    if done == "written":
        journal.move(run, ABORTED)
    if isinstance(error, KeyboardInterrupt):
        raise error
    assert isinstance(error, OSError)
    raise UserError(
        f"cannot write {error.filename or 'a file'}: {error.strerror}",
        f"nothing was {done}: every file holds the bytes it had",
    ) from error


class _HalfDone(OSError):
    """Some files hold new bytes and could not be given their old ones."""


def _swap(wanted: Sequence[tuple[Entry, _Held]]) -> None:
    """Gives every path what is wanted there, or leaves all as they are: staged first, then renamed one by one.

    Raises the OSError or KeyboardInterrupt that ended it, after the files were put back; _HalfDone if one could not be.
    """
    done: list[tuple[Entry, _Held | None]] = []
    try:
        todo = [(entry, held, now) for entry, held in wanted if (now := _now(Path(entry.path))) != held]
        for entry, held, _ in todo:
            _stage(entry, held)
        for entry, _, now in todo:
            done.append((entry, now))
            _staged(entry).replace(entry.path)
            sync_directory(Path(entry.path).parent)
    except (OSError, KeyboardInterrupt):
        with _uninterrupted():
            failed = [entry.path for entry, now in reversed(done) if not _undone(entry, now)]
            for entry, _ in wanted:
                with suppress(OSError):
                    _staged(entry).unlink(missing_ok=True)
        if failed:
            raise _HalfDone(f"{', '.join(failed)} could not be given its old bytes") from None
        raise


def _undone(entry: Entry, before: _Held | None) -> bool:
    """Whether the path holds again what it did."""
    path = Path(entry.path)
    try:
        if _now(path) == before:
            return True
        if before is None:
            path.unlink()
        else:
            _stage(entry, before)
            _staged(entry).replace(path)
        return True
    except OSError:
        return False


def _stage(entry: Entry, held: _Held) -> Path:
    """The new file or link beside the one it will replace. What an interrupted run left of that name goes first."""
    staged = _staged(entry)
    staged.unlink(missing_ok=True)
    if held.link is None:
        write_new(staged, held.data, held.mode, held.owner)
        return staged
    staged.symlink_to(held.link)
    if held.owner is not None and hasattr(os, "geteuid") and os.geteuid() == 0:
        os.lchown(staged, *held.owner)
    return staged


def _staged(entry: Entry) -> Path:
    return Path(entry.path).with_name(entry.staged)


def _held(entry: Entry, data: bytes, link: str | None = None) -> _Held:
    return _Held(data, entry.mode, entry.owner) if link is None else _Held(b"", 0, entry.owner, link)


def _now(path: Path) -> _Held | None:
    """What stands at a path, never followed; None if nothing does. OSError if it is neither a file nor a link."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    owner = _owner(status)
    if stat.S_ISLNK(status.st_mode):
        return _Held(b"", 0, owner, str(path.readlink()))
    return _Held(small_file(path, MOST_CONTENT), stat.S_IMODE(status.st_mode) & PERMISSIONS, owner)


def _owner(status: os.stat_result) -> Owner | None:
    return (status.st_uid, status.st_gid) if hasattr(os, "geteuid") else None


def _planned(change: Change, blob: str, roots: tuple[str, ...]) -> tuple[Entry, bytes]:
    """The entry of a change and the bytes that the file holds now."""
    path = Path(os.path.realpath(change.path.parent), change.path.name)
    if not below(str(path), roots):
        raise UserError(f"{change.path} lies outside of {', '.join(roots)}", "nothing was written")
    try:
        current = small_file(path, MOST_CONTENT)
        status, link = path.stat(), path.lstat()
    except OSError as error:
        raise UserError(f"cannot read {change.path}: {error.strerror}", "nothing was written") from error
    if digest(current) != change.before:
        raise UserError(f"{change.path} changed since it was read", "nothing was written; run the command again")
    mode = stat.S_IMODE(status.st_mode) & PERMISSIONS
    if not mode & 0o222:
        raise UserError(f"{change.path} is read-only", "nothing was written; make it writable first (chmod u+w)")
    target = str(path.readlink()) if stat.S_ISLNK(link.st_mode) else None
    after = digest(change.data)
    return Entry(str(path), change.before, after, mode, blob, new_name(), target, _owner(link)), current


def _refuse_unfinished(entries: Sequence[Entry], journal: Journal) -> None:
    """A file that an interrupted run may have left half done is no base for another."""
    paths = {entry.path for entry in entries}
    for run in journal.runs():
        shared = next((entry.path for entry in run.entries if entry.path in paths), None)
        if run.state == APPLYING and shared:
            raise UserError(
                f"{shared} belongs to fix run {run.id}, which was interrupted",
                f"nothing was written; `archscan revert {run.id}` puts the old bytes back first",
            )


def _check_places(run: Run, journal: Journal) -> None:
    """UserError if a directory of the run is gone, or a link above a file leads elsewhere now."""
    for folder in dict.fromkeys(Path(entry.path).parent for entry in run.entries):
        kept = f"nothing was reverted; the old bytes are kept in {journal.directory / run.id}"
        if not folder.is_dir():
            raise UserError(f"{folder} is gone, fix run {run.id} changed files in it", kept)
        if os.path.realpath(folder) != str(folder):
            raise UserError(f"{folder} leads to another place than when fix run {run.id} was written", kept)


def _edited(entry: Entry) -> bool:
    """Whether the path holds neither what was there before nor the bytes after the fix."""
    try:
        now = _now(Path(entry.path))
    except OSError:
        return True
    if now is None:
        return True
    if now.link is not None:
        return now.link != entry.link
    return digest(now.data) not in (entry.before, entry.after)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Files are being put back: an impatient second Ctrl-C waits for it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
