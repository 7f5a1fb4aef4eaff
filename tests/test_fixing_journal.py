"""The journal loses nothing: killed at any write, disk full, links, edits in between, two runs at once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from archscan.errors import UserError
from archscan.fixing import apply as apply_module
from archscan.fixing.apply import Change, apply, recover, revert
from archscan.fixing.journal import ABORTED, DONE, REVERTED, Journal, digest

OLD, NEW = {"a.cu": b"#if A\r\n", "b.py": b"x = [9]\n"}, {"a.cu": b"#if A || B\r\n", "b.py": b"x = [9, 12]\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, data in OLD.items():
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o640)
    return folder


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state")


def changes(tree: Path) -> list[Change]:
    return [Change(tree / name, digest(OLD[name]), data) for name, data in NEW.items()]


def contents(tree: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(tree.iterdir())}


def test_apply_writes_all_and_revert_restores_bytes_and_modes(tree: Path, journal: Journal) -> None:
    run = apply(changes(tree), journal, "open a gate")
    assert run is not None and run.state == DONE
    assert contents(tree) == NEW
    assert stat.S_IMODE((tree / "a.cu").stat().st_mode) == 0o640
    assert revert(journal).state == REVERTED
    assert contents(tree) == OLD
    assert stat.S_IMODE((tree / "a.cu").stat().st_mode) == 0o640


def test_second_run_changes_nothing(tree: Path, journal: Journal) -> None:
    apply(changes(tree), journal, "first")
    again = [Change(tree / name, digest(data), data) for name, data in NEW.items()]
    assert apply(again, journal, "second") is None
    assert len(journal.runs()) == 1


def test_the_latest_run_is_reverted_even_after_many_in_one_second(
    tree: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda *_: "20260101-000000")
    data = OLD["b.py"]
    for number in range(12):
        new = b"x = [%d]\n" % number
        run = apply([Change(tree / "b.py", digest(data), new)], journal, str(number))
        data = new
    assert run is not None and journal.find(None) == run
    revert(journal)
    assert (tree / "b.py").read_bytes() == b"x = [10]\n"


def test_revert_refuses_a_later_edit_unless_forced(tree: Path, journal: Journal) -> None:
    apply(changes(tree), journal, "open")
    (tree / "b.py").write_bytes(b"x = [9, 12, 13]\n")
    with pytest.raises(UserError, match="changed after the fix"):
        revert(journal)
    assert contents(tree) == {**NEW, "b.py": b"x = [9, 12, 13]\n"}
    revert(journal, force=True)
    assert contents(tree) == OLD


def test_file_changed_since_it_was_read(tree: Path, journal: Journal) -> None:
    plan = changes(tree)
    (tree / "b.py").write_bytes(b"x = []\n")
    with pytest.raises(UserError, match="changed since it was read"):
        apply(plan, journal, "open")
    assert contents(tree) == {**OLD, "b.py": b"x = []\n"}
    with pytest.raises(UserError, match="no fix run to revert"):
        revert(journal)


def test_read_only_file_is_refused(tree: Path, journal: Journal) -> None:
    (tree / "b.py").chmod(0o444)
    with pytest.raises(UserError, match="read-only"):
        apply(changes(tree), journal, "open")
    assert contents(tree) == OLD


def test_hard_link_in_another_tree_keeps_its_bytes(tree: Path, journal: Journal, tmp_path: Path) -> None:
    cache = tmp_path / "cache.cu"
    os.link(tree / "a.cu", cache)
    apply(changes(tree), journal, "open")
    assert (tree / "a.cu").read_bytes() == NEW["a.cu"]
    assert cache.read_bytes() == OLD["a.cu"]


def test_symbolic_link_is_replaced_and_restored(tree: Path, journal: Journal, tmp_path: Path) -> None:
    cache = tmp_path / "cache.cu"
    (tree / "a.cu").rename(cache)
    (tree / "a.cu").symlink_to(cache)
    apply(changes(tree), journal, "open")
    assert cache.read_bytes() == OLD["a.cu"] and (tree / "a.cu").read_bytes() == NEW["a.cu"]
    assert not (tree / "a.cu").is_symlink()
    revert(journal)
    assert (tree / "a.cu").is_symlink() and (tree / "a.cu").read_bytes() == OLD["a.cu"]


@pytest.mark.parametrize("call", ["stage", "replace"])
def test_full_disk_leaves_every_file_as_it_was(
    tree: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if call == "stage":
        monkeypatch.setattr(apply_module, "_stage", full)
    else:
        real, done = Path.replace, []

        def second_fails(source: Path, target: str) -> None:
            if str(target).endswith("b.py") and not done:
                done.append(1)
                full()
            real(source, target)

        monkeypatch.setattr(Path, "replace", second_fails)
    with pytest.raises(UserError, match="No space left"):
        apply(changes(tree), journal, "open")
    assert contents(tree) == OLD
    assert journal.runs()[-1].state == ABORTED


def test_two_runs_at_once(tree: Path, journal: Journal) -> None:
    with journal.locked(), pytest.raises(UserError, match="another archscan run"):
        apply(changes(tree), Journal(journal.directory.parent), "open")
    assert contents(tree) == OLD


def test_unwritable_state_directory(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="cannot create the journal"):
        apply(changes(tree), Journal(tmp_path / "file"), "open")
    assert contents(tree) == OLD


def test_damaged_copy_is_never_written_back(tree: Path, journal: Journal) -> None:
    run = apply(changes(tree), journal, "open")
    assert run is not None
    (journal.directory / run.id / run.entries[0].blob).write_bytes(b"rubbish")
    with pytest.raises(UserError, match="damaged"):
        revert(journal)


KILLED_AT = """
import os, sys
from pathlib import Path
from archscan.fixing.apply import Change, apply, revert
from archscan.fixing.journal import Journal, digest
tree, state, limit, what = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
count = 0
def counted(real):
    def call(*args, **kwargs):
        global count
        count += 1
        if count == limit:
            os._exit(9)
        return real(*args, **kwargs)
    return call
for owner, name in ((Path, "replace"), (os, "fsync"), (Path, "chmod")):
    setattr(owner, name, counted(getattr(owner, name)))
new = {"a.cu": b"#if A || B\\r\\n", "b.py": b"x = [9, 12]\\n"}
if what == "apply":
    apply([Change(tree / n, digest((tree / n).read_bytes()), d) for n, d in new.items()], Journal(state), "open")
else:
    revert(Journal(state))
"""


def killed(tree: Path, journal: Journal, limit: int, what: str) -> int:
    command = [sys.executable, "-c", KILLED_AT, str(tree), str(journal.directory.parent), str(limit), what]
    return subprocess.run(command, check=False).returncode


@pytest.mark.slow
def test_killed_at_every_write_point_of_apply(tree: Path, journal: Journal) -> None:
    for limit in range(1, 60):
        code = killed(tree, journal, limit, "apply")
        if code == 0:
            break
        assert code == 9
        assert all(data in (OLD.get(name), NEW.get(name)) for name, data in contents(tree).items() if name in OLD)
        with journal.locked():
            recover(journal)
        if journal.runs() and journal.runs()[-1].state == DONE:  # killed after the last rename: all files, not none
            assert contents(tree) == NEW
            revert(journal)
        assert contents(tree) == OLD
    else:
        pytest.fail("never ran to its end")
    assert limit > 10
    assert contents(tree) == NEW


@pytest.mark.slow
def test_killed_at_every_write_point_of_revert(tree: Path, journal: Journal) -> None:
    apply(changes(tree), journal, "open")
    for limit in range(1, 60):
        code = killed(tree, journal, limit, "revert")
        if code == 0:
            break
        assert all(data in (OLD.get(name), NEW.get(name)) for name, data in contents(tree).items() if name in OLD)
    else:
        pytest.fail("never ran to its end")
    assert limit > 4
    assert {name: data for name, data in contents(tree).items() if name in OLD} == OLD
