"""What a change brings: the findings that an earlier revision does not have, or has another answer to.

The earlier files are taken out of git's objects as they are, into a directory that is removed. Only commands that read
objects are run, with everything switched off by which a repository can name a program: file system monitor, hooks,
external diff, textconv, filters, lazy fetches.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from archscan.errors import UserError
from archscan.model.finding import Finding
from archscan.model.report import Report
from archscan.programs import program
from archscan.reporting.words import counted

_SWITCHED_OFF = (
    "core.fsmonitor=false",
    "core.hooksPath=" + os.devnull,
    "diff.external=",
    "core.attributesFile=" + os.devnull,
    "core.pager=cat",
    "protocol.allow=never",
)
_LARGEST = 64 << 20  # bytes; no larger file is read
_PLAIN = (b"100644", b"100755")


class _Blob(NamedTuple):
    """A file of a revision."""

    path: bytes  # below the top of the repository
    name: bytes  # of the object


@contextlib.contextmanager
def earlier(paths: Sequence[str], revision: str) -> Iterator[tuple[str, ...]]:
    """The PATHs as they were at a revision; those that were not there are left out. Gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix="archscan-since-") as folder:
        found = []
        for path in paths:
            top = _repository(path)
            below = Path(os.path.realpath(path)).relative_to(top).as_posix()
            commit = _commit(top, revision)
            place = Path(folder, top.name or "repository")
            if not place.exists():
                (place / ".git").mkdir(parents=True)  # marks a project as the real one does; there is no index in it
            _write(top, list(_blobs(top, commit, below)), place)
            old = place / below if below != "." else place
            if old.exists():
                found.append(str(old))
        yield tuple(found)


def without_known(report: Report, before: Report | None, revision: str) -> Report:
    """The report without what was there before and has the same answer; it is counted."""
    known = {f.fingerprint: _answer(f) for f in before.findings} if before is not None else {}
    kept = tuple(f for f in report.findings if known.get(f.fingerprint) != _answer(f))
    left = len(report.findings) - len(kept)
    note = f"since {revision}: {counted(left, 'finding')} of before {'is' if left == 1 else 'are'} not reported"
    return replace(report, findings=kept, baselined=report.baselined + left, notes=(*report.notes, note))


def _answer(finding: Finding) -> tuple[object, ...]:
    return finding.problem, finding.verdict, finding.consequence, finding.severity


def _repository(path: str) -> Path:
    """The top of the work tree that a path lies in."""
    if path == "-":
        raise UserError("standard input has no earlier revision", "name the file, or leave --since out")
    start = Path(os.path.realpath(path))
    for candidate in (start, *start.parents):
        if (candidate / ".git").exists():
            return candidate
    raise UserError(
        f"{path} is in no git repository", "--since compares with a revision; leave it out, or use --baseline"
    )


def _commit(top: Path, revision: str) -> str:
    """The full name of a revision's commit."""
    said = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if said is None:
        hint = "name a commit, branch or tag; a shallow clone may lack it: `git fetch` it first"
        raise UserError(f"no revision '{revision}' in {top}", hint)
    return said.decode("ascii", "replace").strip()


def _blobs(top: Path, commit: str, below: str) -> Iterator[_Blob]:
    """The plain files below a directory, or one file, at a commit."""
    listed = _git(
        top, "ls-tree", "-r", "-z", "--long", "--full-tree", commit, "--", *(() if below == "." else (below,))
    )
    for line in (listed or b"").split(b"\0"):
        about, _, path = line.partition(b"\t")
        fields = about.split()
        if len(fields) == 4 and fields[0] in _PLAIN and int(fields[3]) <= _LARGEST and _is_harmless(path):
            yield _Blob(path, fields[2])


def _is_harmless(path: bytes) -> bool:
    """Whether a path stays below where it is written, whatever a tree object says."""
    parts = path.split(b"/")
    strange = {b"", b".", b"..", b".gitignore"}  # everything in a commit is tracked: nothing of it is ignored
    return not strange & set(parts) and b".git" not in {part.lower() for part in parts} and not {92, 58} & set(path)


def _write(top: Path, blobs: Sequence[_Blob], place: Path) -> None:
    """Writes these files below a directory."""
    if not blobs:
        return
    command = _command(top, "cat-file", "--batch")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()) as git:
        assert git.stdin is not None and git.stdout is not None
        for blob in blobs:
            git.stdin.write(blob.name + b"\n")
            git.stdin.flush()
            head = git.stdout.readline().split()
            if len(head) != 3:  # missing, as in a partial clone
                continue
            data = git.stdout.read(int(head[2]))
            git.stdout.read(1)
            target = place / os.fsdecode(blob.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        git.stdin.close()


def _git(top: Path, *arguments: str) -> bytes | None:
    """What a command of git says; None if it fails."""
    done = subprocess.run(_command(top, *arguments), capture_output=True, env=_environment(), check=False)
    return done.stdout if done.returncode == 0 else None


def _command(top: Path, *arguments: str) -> list[str]:
    git = program("git")
    if git is None:
        raise UserError("git is not on PATH", "--since asks it for the earlier files")
    return [git, "-C", str(top), *(word for setting in _SWITCHED_OFF for word in ("-c", setting)), *arguments]


def _environment() -> dict[str, str]:
    """The environment without what sends git elsewhere, and with nothing fetched, asked or written."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
