"""Random lives of fix runs: applied, edited, killed, damaged and reverted in any order, no byte is ever lost."""

from __future__ import annotations

import io
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archscan import cli
from archscan.errors import UserError
from archscan.fixing import apply as applying
from archscan.fixing import journal as journal_module
from archscan.fixing.apply import Change, apply, revert
from archscan.fixing.commands import unfinished
from archscan.fixing.journal import APPLYING, Journal, digest

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "40"))
QUICK = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
NAMES = ("a.cu", "b.py", "\udcff.h") if os.name == "posix" else ("a.cu", "b.py")
CONTENT = st.sampled_from([b"", b"#if A\r\n", b"#if A || B\n", b"\xef\xbb\xbfx = [9]\n", b"\0\xff" * 50])
STEP = (
    st.tuples(st.just("fix"), st.dictionaries(st.sampled_from(NAMES), CONTENT, min_size=1))
    | st.tuples(st.just("killed"), st.tuples(st.dictionaries(st.sampled_from(NAMES), CONTENT), st.integers(0, 5)))
    | st.tuples(st.just("edit"), st.tuples(st.sampled_from(NAMES), CONTENT))
    | st.tuples(st.sampled_from(["revert", "force", "recover"]), st.none())
)


class Killed(BaseException):
    """Stands for the end of the process: nothing may catch it."""


def die_after(count: int) -> None:
    """Lets the next run end before its `count`-th file operation."""
    left = [count]

    def counted(real):  # type: ignore[no-untyped-def]
        def call(*arguments: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real(*arguments)

        return call

    applying._stage = counted(_STAGE)
    applying.sync_directory = counted(_SYNC)


_STAGE, _SYNC = applying._stage, applying.sync_directory


def changes(tree: Path, wanted: dict[str, bytes]) -> list[Change]:
    return [Change(tree / name, digest((tree / name).read_bytes()), data) for name, data in wanted.items()]


def interrupted(journal: Journal) -> list[str]:
    return [run.id for run in journal.runs() if run.state == APPLYING]


def act(step: tuple[str, object], tree: Path, journal: Journal) -> None:
    """Takes one step; only a UserError may come of it."""
    what, value = step
    try:
        if what == "fix":
            apply(changes(tree, value), journal, "fix")  # type: ignore[arg-type]
        elif what == "killed":
            wanted, count = value  # type: ignore[misc]
            die_after(count)
            apply(changes(tree, wanted), journal, "killed")
        elif what == "edit":
            name, data = value  # type: ignore[misc]
            (tree / name).write_bytes(data)
        elif what == "recover":
            for run in interrupted(journal):
                revert(journal, run)
        else:
            revert(journal, force=what == "force")
    except (UserError, Killed):
        pass
    finally:
        applying._stage, applying.sync_directory = _STAGE, _SYNC


@QUICK
@given(st.lists(STEP, max_size=12))
def test_nothing_is_lost_whatever_happens(steps: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        tree, journal = Path(name) / "tree", Journal(Path(name) / "state")
        tree.mkdir()
        for file in NAMES:
            (tree / file).write_bytes(b"first")
        known = {b"first"}
        for step in steps:
            before = {file: (tree / file).read_bytes() for file in NAMES}
            act(step, tree, journal)
            after = {file: (tree / file).read_bytes() for file in NAMES}
            known |= set(after.values()) if step[0] in ("fix", "edit", "killed") else set()
            assert set(after.values()) <= known  # never half of a file
            if step[0] == "fix":  # all of its files or none
                wanted = {**before, **step[1]}  # type: ignore[dict-item]
                assert after in (before, wanted)
        for run in interrupted(journal):
            revert(journal, run, force=True)
        assert {(tree / file).read_bytes() for file in NAMES} <= known
        assert not interrupted(journal) and not journal.damaged()
        assert {path.name for path in tree.iterdir()} == set(NAMES)  # no temporary file is left


@QUICK
@given(st.lists(st.tuples(st.sampled_from(NAMES), CONTENT), min_size=1, max_size=6))
def test_reverting_every_run_gives_the_first_bytes(edits: list[tuple[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        tree, journal = Path(name) / "tree", Journal(Path(name) / "state")
        tree.mkdir()
        for file in NAMES:
            (tree / file).write_bytes(b"first")
        runs = [apply(changes(tree, {file: data}), journal, "fix") for file, data in edits]
        for _ in filter(None, runs):
            revert(journal)
        assert {(tree / file).read_bytes() for file in NAMES} == {b"first"}


VALUES: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@contextmanager
def everything() -> Iterator[tuple[Path, Path, Journal]]:
    """A folder, with a tree that fixes may touch, a file that they may not, and a journal as the command finds it."""
    before = os.environ.get("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        (folder / "tree").mkdir()
        (folder / "tree/a.cu").write_bytes(b"first")
        (folder / "victim").write_bytes(b"mine")
        (folder / "victim").chmod(0o600)
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        try:
            yield folder, folder / "tree", Journal()
        finally:
            os.environ.pop("XDG_STATE_HOME")
            if before is not None:
                os.environ["XDG_STATE_HOME"] = before


def called(*arguments: str) -> None:
    """Runs the command; a traceback is a bug, anything else is said."""
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        code = cli.run(arguments)
    assert code in (0, 1, 2) and "Traceback" not in said.getvalue(), said.getvalue()
    assert code != 2 or said.getvalue().startswith("error: ") or "\nerror: " in said.getvalue()


def nothing_outside_changed(folder: Path) -> None:
    assert (folder / "victim").read_bytes() == b"mine" and stat.S_IMODE((folder / "victim").stat().st_mode) == 0o600
    assert {path.name for path in folder.iterdir()} <= {"tree", "state", "victim", "plan.json"}
    assert not [path for path in (folder / "tree").rglob("*") if path.lstat().st_mode & 0o7000]


@QUICK
@given(st.data())
def test_a_damaged_journal_is_said_or_ignored(data: st.DataObject) -> None:
    with everything() as (folder, tree, journal):
        run = apply(changes(tree, {"a.cu": b"second"}), journal, "fix")
        assert run is not None
        place = journal.directory / run.id
        manifest = json.loads((place / "manifest.json").read_text())
        paths = st.sampled_from([str(folder / "victim"), str(tree / "b.cu"), str(tree), "a.cu", "../victim", "/"])
        how = data.draw(
            st.sampled_from(["bytes", "value", "field", "entry", "blob", "no blob", "no manifest", "no key", "state"])
        )
        if how == "bytes":
            (place / "manifest.json").write_bytes(data.draw(st.binary(max_size=60)))
        elif how == "value":
            (place / "manifest.json").write_text(json.dumps(data.draw(VALUES)))
        elif how == "blob":
            (place / manifest["entries"][0]["blob"]).write_bytes(data.draw(CONTENT))
        elif how == "no blob":
            (place / manifest["entries"][0]["blob"]).unlink()
        elif how == "no manifest":
            (place / "manifest.json").unlink()
        elif how == "no key":
            (journal.directory / "key").write_bytes(data.draw(st.binary(max_size=40)))
        else:
            row = manifest["entries"][0] if how == "entry" else manifest
            key = "state" if how == "state" else data.draw(st.sampled_from(sorted(row)))
            row[key] = APPLYING if how == "state" else data.draw(VALUES | paths | st.just(0o4777))
            if data.draw(st.booleans()):  # even a seal that is right makes no path outside of the roots a file to write
                body = {name: value for name, value in manifest.items() if name != "seal"}
                manifest = {**body, "seal": journal_module._seal(body, (journal.directory / "key").read_bytes())}
            (place / "manifest.json").write_text(json.dumps(manifest))
        called("revert", "--list")
        unfinished(journal)  # what every `fix` asks first
        assert (tree / "a.cu").read_bytes() == b"second"  # nothing is put back unasked
        for arguments in (("revert", run.id), ("revert",), ("revert", "--force"), ("revert", "--force", run.id)):
            called(*arguments)
        nothing_outside_changed(folder)
        assert (tree / "a.cu").is_symlink() or (tree / "a.cu").read_bytes() in (b"first", b"second")


def plan(folder: Path) -> dict[str, object]:
    """A plan that can be applied."""
    edit = {"path": "a.cu", "start": 0, "end": 5, "text": "second"}
    file = {"path": "a.cu", "disk": str(folder / "tree/a.cu"), "sha256": digest(b"first")}
    return {"plan": {"units": [{"edits": [edit]}], "files": [file]}}


def test_the_plan_that_is_damaged_below_is_a_plan() -> None:
    with everything() as (folder, tree, _):
        (folder / "plan.json").write_text(json.dumps(plan(folder)))
        called("fix", "--apply", str(folder / "plan.json"), str(tree))
        assert (tree / "a.cu").read_bytes() == b"second"


def places(value: object, above: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Every place within a JSON value."""
    yield above
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*above, key))


@QUICK
@given(st.data())
def test_a_hostile_plan_is_refused_or_stays_inside(data: st.DataObject) -> None:
    with everything() as (folder, tree, _):
        document: object = plan(folder)
        (tree / "out.cu").symlink_to(folder / "victim")
        (tree / "up").symlink_to(folder)
        hostile = st.sampled_from(
            [str(folder / "victim"), str(tree / "up/victim"), str(tree / "out.cu"), "/dev/zero", "a.cu", "\0", "\ud800"]
        )
        numbers = st.sampled_from([-1, 6, 1 << 70, True, 1.5, digest(b"mine")])
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.sampled_from(list(places(document))))
            new = data.draw(VALUES | hostile | numbers)
            if not place:
                document = new
                break
            inner = document
            for key in place[:-1]:
                inner = inner[key]  # type: ignore[index]
            inner[place[-1]] = new  # type: ignore[index]
        (folder / "plan.json").write_text(json.dumps(document))
        called("fix", "--apply", str(folder / "plan.json"), str(tree))
        nothing_outside_changed(folder)
        if (tree / "a.cu").read_bytes() == b"first":
            assert {path.name for path in tree.iterdir()} == {"a.cu", "out.cu", "up"}


@QUICK
@given(st.binary(max_size=80) | st.integers(1, 100_000).map(lambda depth: b"[" * depth))
def test_bytes_are_no_plan(content: bytes) -> None:
    with everything() as (folder, tree, _):
        (folder / "plan.json").write_bytes(content)
        called("fix", "--apply", str(folder / "plan.json"), str(tree))
        assert (tree / "a.cu").read_bytes() == b"first"
