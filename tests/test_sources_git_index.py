"""Files that git tracks are read whatever ignore files say; an index is bytes from a stranger, and git is never run."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscan.errors import UserError
from archscan.model.settings import ScanSettings
from archscan.sources import discover
from archscan.sources.git_index import MAX_NAMES, MAX_SIZE, Damaged, Tracked, parse, tracked

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "200"))
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git to write an index with")
posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX special files")
FILE, LINK = 0o100644, 0o160000


def git(where: Path, *arguments: str) -> None:
    """Runs git as somebody who works on a repository would; the scan itself never does."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "protocol.file.allow=always")
    where.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", *who, *arguments], cwd=where, check=True, capture_output=True)


def write(base: Path, *names: str) -> None:
    for name in names:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text("int x;\n")


def found(path: Path) -> list[str]:
    return [source.path for source in discover([str(path)], ScanSettings()).sources]


def left_out(path: Path) -> dict[str, str]:
    return {s.path: s.reason for s in discover([str(path)], ScanSettings()).skipped}


def entry(
    name: bytes, mode: int = FILE, *, version: int = 2, last: bytes = b"", size: int = 20, more: int = 0
) -> bytes:
    """One entry of an index, as git writes it; `more` are extended flags."""
    flags = min(len(name), 0xFFF) | (0x4000 if more else 0)
    fixed = bytes(24) + struct.pack(">I", mode) + bytes(12) + bytes(size) + struct.pack(">H", flags)
    fixed += struct.pack(">H", more) if more else b""
    if version < 4:
        return fixed + name + bytes(8 - (len(fixed) + len(name)) % 8)
    shared = next((n for n, (a, b) in enumerate(zip(name, last, strict=False)) if a != b), min(len(name), len(last)))
    return fixed + varint(len(last) - shared) + name[shared:] + b"\0"


def varint(number: int) -> bytes:
    found = [number & 0x7F]
    while number := number >> 7:
        number -= 1
        found.insert(0, 0x80 | number & 0x7F)
    return bytes(found)


def index(
    *entries: bytes, version: int = 2, count: int | None = None, extensions: bytes = b"", size: int = 20
) -> bytes:
    head = b"DIRC" + struct.pack(">II", version, len(entries) if count is None else count)
    return head + b"".join(entries) + extensions + bytes(size)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose ignore file matches two tracked files and two that are not."""
    base = tmp_path / "repo"
    git(base, "init", "-q")
    write(base, "csrc/kernel.cuh", "csrc/own.cuh", "build/kept.cu", "build/made.cu", "plain.cu")
    (base / ".gitignore").write_text("*.cuh\nbuild/\n")
    git(base, "add", "-f", "csrc/kernel.cuh", "build/kept.cu", "plain.cu")
    return base


TRACKED = ["build/kept.cu", "csrc/kernel.cuh", "plain.cu"]
IGNORED = {"build/made.cu": "ignored by .gitignore", "csrc/own.cuh": "ignored by .gitignore"}


@needs_git
@pytest.mark.parametrize("version", [2, 3, 4])
def test_what_git_tracks_is_read_though_an_ignore_file_matches_it(repository: Path, version: int) -> None:
    if version == 3:  # git writes it only where an entry has a flag that version 2 lacks
        git(repository, "add", "-N", "-f", "csrc/own.cuh")
        git(repository, "rm", "-q", "--cached", "csrc/own.cuh")
        write(repository, "later.cu")
        git(repository, "add", "-N", "later.cu")
    else:
        git(repository, "update-index", f"--index-version={version}", "--force-write-index")
    assert (repository / ".git/index").read_bytes()[4:8] == bytes([0, 0, 0, version])
    assert found(repository) == sorted([*TRACKED, *(["later.cu"] if version == 3 else [])])
    assert left_out(repository) == IGNORED
    assert found(repository / "build") == ["kept.cu", "made.cu"]  # naming a directory beats what ignores it
    assert found(repository / "csrc") == ["kernel.cuh"]


@needs_git
def test_a_split_index_and_one_with_sha_256_are_read(repository: Path, tmp_path: Path) -> None:
    git(repository, "update-index", "--split-index")
    write(repository, "build/late.cu")
    git(repository, "add", "-f", "build/late.cu")
    assert found(repository) == sorted([*TRACKED, "build/late.cu"])
    other = tmp_path / "other"
    git(other, "init", "-q", "--object-format=sha256")
    write(other, "a.cuh", "b.cuh")
    (other / ".gitignore").write_text("*.cuh\n")
    git(other, "add", "-f", "a.cuh")
    assert found(other) == ["a.cuh"]


@needs_git
def test_worktrees_and_submodules_have_an_index_of_their_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "commit", "-qm", "first")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    write(tmp_path / "tree", "csrc/own.cuh", "build/made.cu")
    (tmp_path / "tree/.gitignore").write_text("*.cuh\nbuild/\n")
    assert (tmp_path / "tree/.git").is_file()
    assert found(tmp_path / "tree") == TRACKED
    outer = tmp_path / "outer"
    git(outer, "init", "-q")
    (outer / ".gitignore").write_text("deps/\n*.cu\n")
    git(outer, "submodule", "--quiet", "add", "-f", str(repository), "deps/sub")
    write(outer, "deps/loose.cu", "deps/sub/csrc/own.cuh")
    (outer / "deps/sub/.gitignore").write_text("*.cuh\n")
    # the ignore files of the outer repository say nothing about what is in the inner one
    assert found(outer) == ["deps/sub/build/kept.cu", "deps/sub/csrc/kernel.cuh", "deps/sub/plain.cu"]
    assert left_out(outer) == {
        "deps/loose.cu": IGNORED["csrc/own.cuh"],
        "deps/sub/csrc/own.cuh": IGNORED["csrc/own.cuh"],
    }


@needs_git
def test_git_is_never_run(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository can name programs that git runs; and there may be no git at all."""
    ran = tmp_path / "ran"
    git(repository, "config", "core.fsmonitor", f"touch {ran}; false")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found(repository) == TRACKED
    assert not ran.exists()


@needs_git
def test_a_repository_with_nothing_but_ignored_tracked_files_is_something_to_scan(tmp_path: Path) -> None:
    write(tmp_path, "csrc/a.cuh")
    (tmp_path / ".gitignore").write_text("csrc/\n")
    git(tmp_path, "init", "-q")
    with pytest.raises(UserError, match="nothing to scan"):
        found(tmp_path)
    git(tmp_path, "add", "-f", "csrc/a.cuh")
    assert found(tmp_path) == ["csrc/a.cuh"]


def test_exclude_beats_what_git_tracks(tmp_path: Path) -> None:
    write(tmp_path, "a.cu", "b.cuh")
    (tmp_path / ".gitignore").write_text("b.cuh\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(index(entry(b"b.cuh")))
    assert found(tmp_path) == ["a.cu", "b.cuh"]
    (only,) = discover([str(tmp_path)], ScanSettings(exclude=("b.cuh",))).sources
    assert only.path == "a.cu"


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("size", [20, 32])
def test_every_version_says_the_same(version: int, size: int) -> None:
    names = [b"a" * n for n in (1, 2, 9, 10, 300, 4095, 4096)] + [b"a/b.cu", b"a/c.cu", "é.cu".encode()]
    entries, last = [], b""
    for name in names:
        more = 0x2000 if version > 2 and len(name) % 2 else 0
        entries.append(entry(name, version=version, last=last, size=size, more=more))
        last = name
    extensions = b"TREE" + struct.pack(">I", 5) + b"x" * 5
    data = index(*entries, version=version, extensions=extensions, size=size)
    assert parse(data) == ([(name, FILE) for name in names], "")


def test_directories_are_told_from_names_that_begin_alike() -> None:
    one = Tracked((b"a.cu", b"ab/c.cu", b"b.cu"), (b"sub/m",))
    assert one.directory("ab") and not one.directory("a") and not one.directory("b")
    assert one.file("ab/c.cu") and not one.file("ab") and not one.file("c.cu")
    assert one.directory("sub") and one.directory("sub/m") and not one.file("sub/m") and not one.directory("sub/mm")


LONG = b"n" * 4097
GOOD = index(entry(b"a.cu"))
HOSTILE = {
    "empty": (b"", "no git index"),
    "text": (b"gitdir: /nowhere, and more", "no git index"),
    "version 1": (index(version=1), "version 1"),
    "version 5": (index(version=5), "version 5"),
    "two billion entries": (index(count=2**31), "cut short"),
    "one entry too many": (index(entry(b"a.cu"), count=2), "cut short"),
    "one entry too few": (index(entry(b"a.cu"), entry(b"b.cu"), count=1), "an extension"),
    "cut in an entry": (GOOD[:-22], "cut short"),
    "cut in a name": (index(entry(b"a" * 99))[:-40], "without end"),
    "a name as long as the file": (index(entry(b"a" * 5000)), "without end"),
    "a name one byte too long": (index(entry(LONG)), "without end"),
    "another length than said": (index(entry(b"a.cu").replace(b"a.cu", b"a\0cu")), "another length"),
    "a flag of version 3": (index(entry(b"a.cu", more=1)), "later version"),
    "keeps more than there is": (index(entry(b"a.cu", version=4, last=b"b" * 9), version=4), "another length"),
    "an endless number": (index(bytes(62) + b"\xff" * 50_000, version=4), "another length"),
    "an extension beyond the end": (index(entry(b"a.cu"), extensions=b"TREE\xff\xff\xff\xff"), "an extension"),
    "an extension to be understood": (index(entry(b"a.cu"), extensions=b"zzzz\0\0\0\0"), "not known"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_index_is_ignored_and_said(tmp_path: Path, case: str) -> None:
    data, why = HOSTILE[case]
    write(tmp_path, "a.cu", "b.cuh")
    (tmp_path / ".gitignore").write_text("*.cuh\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(data)
    discovery = discover([str(tmp_path)], ScanSettings())
    assert [s.path for s in discovery.sources] == ["a.cu"]
    (failed,) = discovery.failed
    assert (failed.path, failed.named) == (".git", False)
    assert failed.reason.startswith("cannot tell what git tracks (") and why in failed.reason


def test_names_that_repeat_a_long_beginning_are_bounded() -> None:
    """Version 4 repeats the beginning of the last name for a byte: a megabyte would unpack to gigabytes."""
    name = b"n" * 4000
    entries = [entry(name, version=4)]
    entries += [entry(name, version=4, last=name)] * 1_000_000
    began = time.process_time()
    with pytest.raises(Damaged, match="too long"):
        parse(index(*entries, version=4))
    assert time.process_time() - began < 5
    fits = MAX_NAMES // 4000
    assert len(parse(index(*entries[:fits], version=4))[0]) == fits
    with pytest.raises(Damaged, match="too long"):
        parse(index(*entries[: fits + 1], version=4))


def test_an_index_is_read_up_to_a_size(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with (tmp_path / ".git/index").open("wb") as file:
        file.truncate(MAX_SIZE + 1)
    with pytest.raises(Damaged, match="larger than"):
        tracked(str(tmp_path))
    with (tmp_path / ".git/index").open("wb") as file:
        file.truncate(MAX_SIZE)
    with pytest.raises(Damaged, match="no git index"):
        tracked(str(tmp_path))


@posix_only
@pytest.mark.parametrize("where", [".git", ".git/index"])
def test_a_pipe_instead_of_an_index_does_not_block(tmp_path: Path, where: str) -> None:
    (tmp_path / where).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / where)
    with pytest.raises(Damaged, match="not a regular file"):
        tracked(str(tmp_path))


@posix_only
@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"gitdir: /dev/zero\n", None),
        (b"gitdir: nowhere\n", None),
        (b"gitdir: a\0b\n", "names no directory"),
        (b"something else\n", "names no directory"),
        (b"gitdir: " + b"x" * 5000 + b"\n", "too long"),
        (b"gitdir: " + b"x" * 9000 + b"\n", "larger than"),
    ],
)
def test_a_git_file_that_leads_nowhere(tmp_path: Path, said: bytes, why: str | None) -> None:
    (tmp_path / ".git").write_bytes(said)
    if why is None:
        assert tracked(str(tmp_path)) == Tracked()
        return
    with pytest.raises(Damaged, match=why):
        tracked(str(tmp_path))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_a_changed_index_is_read_or_damaged(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from([2, 3, 4]))
    names = sorted(data.draw(st.lists(st.binary(min_size=1, max_size=20).filter(lambda n: 0 not in n), max_size=5)))
    entries = [entry(n, version=version, last=last) for n, last in zip(names, [b"", *names], strict=False)]
    made = bytearray(index(*entries, version=version))
    for at in data.draw(st.lists(st.integers(0, len(made) - 1), max_size=4)):
        made[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(made)))
    try:
        found, shared = parse(bytes(made[:cut]))
    except Damaged:
        return
    assert sum(len(name) for name, _ in found) <= MAX_NAMES
    assert not shared or len(shared) in (40, 64)
