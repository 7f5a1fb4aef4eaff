"""The journal loses nothing: killed at any write, disk full, links, edits in between, two runs at once."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from archscan import cli, writing
from archscan.errors import UserError
from archscan.fixing import apply as apply_module
from archscan.fixing import journal as journal_module
from archscan.fixing.apply import Change, apply, revert
from archscan.fixing.journal import ABORTED, APPLYING, DONE, REVERTED, Journal, Run, digest

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


def test_a_full_disk_below_the_journal_changes_nothing(
    tree: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="cannot write the journal"):
        apply(changes(tree), journal, "open")
    assert contents(tree) == OLD and journal.runs() == () and journal.damaged() == ()


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
        if any(run.state in (APPLYING, DONE) for run in journal.runs()):
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


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of the user's outside of the tree."""
    path = tmp_path / "victim"
    path.write_bytes(b"mine")
    path.chmod(0o600)
    return path


def untouched(victim: Path) -> bool:
    return victim.read_bytes() == b"mine" and stat.S_IMODE(victim.stat().st_mode) == 0o600


def plant(tree: Path, victim: Path) -> None:
    """Links of the names that new files had once."""
    for name in OLD:
        for suffix in ("new", "old"):
            (tree / f".{name}.archscan-{suffix}").symlink_to(victim)


def test_planted_links_are_not_written_through(tree: Path, journal: Journal, victim: Path) -> None:
    plant(tree, victim)
    apply(changes(tree), journal, "open")
    assert untouched(victim) and {name: contents(tree)[name] for name in NEW} == NEW
    revert(journal)
    assert untouched(victim) and {name: contents(tree)[name] for name in OLD} == OLD
    assert len([path for path in tree.iterdir() if path.is_symlink()]) == 4


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_name_that_is_taken_is_refused(
    tree: Path, journal: Journal, victim: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Even somebody who knows the random name gets nothing written through it."""
    taken = tree / "taken"
    if kind == "link":
        taken.symlink_to(victim)
    else:
        taken.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        writing.write_new(taken, b"new", 0o644)
    monkeypatch.setattr(writing, "new_name", lambda: "taken")
    with pytest.raises(FileExistsError):
        writing.write_atomically(tree / "a.cu", b"new")
    assert untouched(victim) and contents(tree)["a.cu"] == OLD["a.cu"]


def test_modes_are_never_setuid(tree: Path, journal: Journal) -> None:
    (tree / "a.cu").chmod(0o4755)
    apply(changes(tree), journal, "open")
    assert stat.S_IMODE((tree / "a.cu").stat().st_mode) == 0o755
    revert(journal)
    assert stat.S_IMODE((tree / "a.cu").stat().st_mode) == 0o755


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_root_keeps_owners(tree: Path, journal: Journal) -> None:
    for number, name in enumerate(OLD):
        os.chown(tree / name, 12345 + number, 23456)
    apply(changes(tree), journal, "open")
    assert [(s.st_uid, s.st_gid) for s in map(os.stat, (tree / "a.cu", tree / "b.py"))] == [
        (12345, 23456),
        (12346, 23456),
    ]
    revert(journal)
    assert [s.st_uid for s in map(os.stat, (tree / "a.cu", tree / "b.py"))] == [12345, 12346]


def manifest(journal: Journal, run: Run) -> Path:
    return journal.directory / run.id / "manifest.json"


def tampered(journal: Journal, run: Run, **fields: object) -> None:
    """The manifest with other values in its first entry, or in the run."""
    raw = json.loads(manifest(journal, run).read_bytes())
    for key, value in fields.items():
        (raw if key in raw else raw["entries"][0])[key] = value
    manifest(journal, run).write_text(json.dumps(raw))


def test_a_tampered_manifest_moves_nothing(tree: Path, journal: Journal, victim: Path) -> None:
    """What was done with it: any file of the user's overwritten by the next `fix`, with mode 04777."""
    run = apply(changes(tree), journal, "open")
    assert run is not None
    mine = digest(b"mine")
    tampered(journal, run, state=APPLYING, path=str(victim), mode=0o4777, after=mine)
    with pytest.raises(UserError):
        revert(journal, force=True)
    with pytest.raises(UserError):
        revert(journal, run.id)
    assert untouched(victim) and contents(tree) == NEW
    assert [one.id for one in journal.damaged()] == [run.id]


@pytest.mark.parametrize(
    "fields",
    [
        {"path": "/etc/hostname"},
        {"path": "a.cu"},
        {"path": "{tree}/../victim"},
        {"path": "{tree}"},
        {"roots": []},
        {"roots": ["."]},
        {"mode": 0o4777},
        {"mode": -1},
        {"mode": True},
        {"before": "x"},
        {"after": None},
        {"blob": "../../../victim"},
        {"staged": "../victim"},
        {"staged": "victim"},
        {"link": ""},
        {"owner": [-1, 0]},
        {"owner": ["0", "0"]},
        {"state": "other"},
        {"state": []},
        {"id": "other"},
    ],
)
def test_a_manifest_binds_its_files(tree: Path, journal: Journal, fields: dict[str, object]) -> None:
    """Even under a true seal: below the roots, plain modes, digests, names that archscan makes."""
    run = apply(changes(tree), journal, "open")
    assert run is not None
    filled = {k: v.replace("{tree}", str(tree)) if isinstance(v, str) else v for k, v in fields.items()}
    tampered(journal, run, **filled)
    reseal(journal, run)
    assert journal.runs() == () and [one.id for one in journal.damaged()] == [run.id]


def reseal(journal: Journal, run: Run) -> None:
    raw = json.loads(manifest(journal, run).read_bytes())
    del raw["seal"]
    key = (journal.directory / "key").read_bytes()
    manifest(journal, run).write_text(json.dumps({**raw, "seal": journal_module._seal(raw, key)}))


def test_a_resealed_manifest_is_a_run(tree: Path, journal: Journal) -> None:
    """So the test above fails for the reason that it names."""
    run = apply(changes(tree), journal, "open")
    assert run is not None
    tampered(journal, run, title="another")
    assert journal.runs() == ()
    reseal(journal, run)
    assert [one.title for one in journal.runs()] == ["another"]


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_the_journal_is_private_and_its_key_is_checked(tree: Path, journal: Journal) -> None:
    journal.directory.mkdir(parents=True)
    journal.directory.parent.chmod(0o777)
    journal.directory.chmod(0o755)
    run = apply(changes(tree), journal, "open")
    assert run is not None
    for path in (journal.directory.parent, journal.directory, journal.directory / run.id):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (journal.directory / run.id).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (journal.directory / "key").chmod(0o644)  # others may know it, and seal what they like
    assert journal.runs() == ()


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_journal_that_is_a_link_is_refused(tree: Path, journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    journal.directory.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="symbolic link"):
        apply(changes(tree), journal, "open")
    assert contents(tree) == OLD


def test_a_relative_state_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "planted")
    inside = journal_module.state_directory()
    monkeypatch.delenv("XDG_STATE_HOME")
    assert inside == journal_module.state_directory() and inside.is_absolute()


def test_every_copy_is_checked_before_the_first_file_is_touched(tree: Path, journal: Journal) -> None:
    first = apply(changes(tree)[:1], journal, "first")
    run = apply([*changes(tree)[1:], Change(tree / "a.cu", digest(NEW["a.cu"]), b"third")], journal, "second")
    assert first is not None and run is not None
    (journal.directory / run.id / run.entries[1].blob).unlink()
    before = contents(tree)
    with pytest.raises(UserError, match=r"saved copy of .* is gone") as raised:
        revert(journal, force=True)
    assert contents(tree) == before and "set aside" in raised.value.hint
    (tree / "a.cu").write_bytes(NEW["a.cu"])
    assert revert(journal).id == first.id  # the damaged run is in the way of no other
    assert (tree / "a.cu").read_bytes() == OLD["a.cu"]


def failing_second(error: BaseException) -> Callable[[Path, object], object]:
    """`Path.replace` that fails once, at the second file of the tree."""
    real, seen = Path.replace, []

    def replace(source: Path, target: object) -> object:
        if "journal" not in str(target):
            seen.append(target)
            if len(seen) == 2:
                raise error
        return real(source, target)  # type: ignore[arg-type]

    return replace


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("what", ["apply", "revert"])
def test_a_failure_between_renames_leaves_all_files_or_none(
    tree: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch, error: BaseException, what: str
) -> None:
    if what == "revert":
        apply(changes(tree), journal, "open")
    before = contents(tree)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", failing_second(error))
        with pytest.raises((KeyboardInterrupt, UserError)) as raised:
            apply(changes(tree), journal, "open") if what == "apply" else revert(journal)
    assert isinstance(raised.value, KeyboardInterrupt) == isinstance(error, KeyboardInterrupt)
    assert contents(tree) == before
    assert [run.state for run in journal.runs()] == [ABORTED if what == "apply" else DONE]


def test_what_cannot_be_put_back_names_the_command_that_does(
    tree: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.replace

    def broken(source: Path, target: Path | str) -> object:
        if str(target).endswith("b.py") or (
            str(target).endswith("a.cu") and (tree / "a.cu").read_bytes() != OLD["a.cu"]
        ):
            raise OSError(5, "Input/output error")
        return real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", broken)
        with pytest.raises(UserError, match="half written") as raised:
            apply(changes(tree), journal, "open")
    (run,) = journal.runs()
    assert run.state == APPLYING and f"archscan revert {run.id}" in raised.value.hint
    revert(journal, run.id)
    assert contents(tree) == OLD


def test_a_tree_that_is_gone_is_an_error(tree: Path, journal: Journal) -> None:
    run = apply(changes(tree), journal, "open")
    assert run is not None
    shutil.rmtree(tree)
    for force in (False, True):
        with pytest.raises(UserError, match="is gone") as raised:
            revert(journal, force=force)
        assert str(journal.directory / run.id) in raised.value.hint
    assert not tree.exists()


def test_a_directory_that_became_a_link_is_not_followed(tree: Path, journal: Journal, tmp_path: Path) -> None:
    apply(changes(tree), journal, "open")
    tree.rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    tree.symlink_to(tmp_path / "other")
    with pytest.raises(UserError, match="leads to another place"):
        revert(journal, force=True)
    assert not list((tmp_path / "other").iterdir())


def test_nothing_outside_of_the_roots_is_written(tree: Path, journal: Journal, tmp_path: Path) -> None:
    (tree / "deep").mkdir()
    with pytest.raises(UserError, match="lies outside of"):
        apply(changes(tree), journal, "open", [tree / "deep"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.cu").write_bytes(OLD["a.cu"])
    (tree / "link").symlink_to(tmp_path / "out")
    with pytest.raises(UserError, match="lies outside of"):
        apply([Change(tree / "link/a.cu", digest(OLD["a.cu"]), b"new")], journal, "open", [tree])
    assert (tmp_path / "out/a.cu").read_bytes() == OLD["a.cu"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_file_that_became_a_pipe_blocks_nothing(tree: Path, journal: Journal) -> None:
    apply(changes(tree), journal, "open")
    (tree / "a.cu").unlink()
    os.mkfifo(tree / "a.cu")
    with pytest.raises(UserError, match="changed after the fix"):
        revert(journal)
    with pytest.raises(UserError, match="cannot read"):
        apply(changes(tree), journal, "open")


def cut_off(tree: Path, journal: Journal) -> Run:
    """A run that was killed after its first rename."""
    run = apply(changes(tree), journal, "killed")
    assert run is not None
    (tree / "b.py").write_bytes(OLD["b.py"])
    return journal.move(run, APPLYING)


def test_an_interrupted_run_waits_for_revert_and_blocks_its_own_files_only(
    tree: Path, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = cut_off(tree, journal)
    half = contents(tree)
    with pytest.raises(UserError, match="was interrupted") as raised:
        apply([Change(tree / "a.cu", digest(NEW["a.cu"]), b"other")], journal, "other")
    assert f"archscan revert {run.id}" in raised.value.hint
    (tmp_path / "else").mkdir()
    (tmp_path / "else/c.cu").write_bytes(b"c")
    assert apply([Change(tmp_path / "else/c.cu", digest(b"c"), b"d")], journal, "elsewhere") is not None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    journal.directory.parent.rename(tmp_path / "archscan")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for options in ((), ("--write", "--unsafe")):
        cli.run(["fix", "--target", "sm120", *options, str(tree)])
        said = capsys.readouterr().err
        assert f"fix run {run.id} was interrupted: `archscan revert {run.id}`" in said and str(tree / "a.cu") in said
        assert contents(tree) == half
    assert cli.run(["revert", run.id]) == 0
    assert contents(tree) == OLD


def test_a_damaged_run_is_set_aside_and_said(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    journal = Journal()
    first = apply(changes(tree)[:1], journal, "first")
    second = apply(changes(tree)[1:], journal, "second")
    assert first is not None and second is not None
    manifest(journal, second).write_bytes(b"{")
    assert cli.run(["revert", "--list"]) == 0
    assert f"{second.id}  damaged" in capsys.readouterr().out
    assert cli.run(["revert"]) == 0
    said = capsys.readouterr()
    assert f"fix run {second.id} was set aside" in said.err and f"reverted {first.id}" in said.out
    assert (journal.directory / "aside" / second.id / second.entries[0].blob).read_bytes() == OLD["b.py"]
    assert contents(tree) == {"a.cu": OLD["a.cu"], "b.py": NEW["b.py"]}
    assert cli.run(["revert"]) == 2 and "no fix run to revert" in capsys.readouterr().err
