"""Random lives of fix runs: applied, edited, killed, damaged and reverted in any order, no byte is ever lost."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from archscan.errors import UserError
from archscan.fixing import apply as applying
from archscan.fixing.apply import Change, apply, recover, revert
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
            with journal.locked():
                recover(journal)
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
                assert after in (before, wanted) or any(r.state == "aborted" for r in journal.runs())
        with journal.locked():
            recover(journal)
        assert not [run for run in journal.runs() if run.state == APPLYING]
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


@QUICK
@given(st.data())
def test_a_damaged_journal_is_said_or_ignored(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        tree, journal = Path(name) / "tree", Journal(Path(name) / "state")
        tree.mkdir()
        (tree / "a.cu").write_bytes(b"first")
        run = apply(changes(tree, {"a.cu": b"second"}), journal, "fix")
        assert run is not None
        folder = journal.directory / run.id
        manifest = json.loads((folder / "manifest.json").read_text())
        how = data.draw(
            st.sampled_from(["bytes", "value", "field", "entry", "blob", "no blob", "no manifest", "state"])
        )
        if how == "bytes":
            (folder / "manifest.json").write_bytes(data.draw(st.binary(max_size=60)))
        elif how == "value":
            (folder / "manifest.json").write_text(json.dumps(data.draw(VALUES)))
        elif how == "field":
            manifest[data.draw(st.sampled_from(sorted(manifest)))] = data.draw(VALUES)
            (folder / "manifest.json").write_text(json.dumps(manifest))
        elif how == "entry":
            field, value = data.draw(st.sampled_from(sorted(manifest["entries"][0]))), data.draw(VALUES)
            assume(field not in ("path", "link") or not isinstance(value, str))  # another path is a path
            manifest["entries"][0][field] = value
            (folder / "manifest.json").write_text(json.dumps(manifest))
        elif how == "state":
            manifest["state"] = APPLYING
            (folder / "manifest.json").write_text(json.dumps(manifest))
            (folder / manifest["entries"][0]["blob"]).write_bytes(data.draw(CONTENT))
        elif how == "blob":
            (folder / manifest["entries"][0]["blob"]).write_bytes(data.draw(CONTENT))
        elif how == "no blob":
            (folder / manifest["entries"][0]["blob"]).unlink()
        else:
            shutil.rmtree(folder)
        for call in (lambda: revert(journal), lambda: revert(journal, force=True), lambda: journal.find("x")):
            try:
                call()
            except UserError as error:
                assert error.title
        assert (tree / "a.cu").read_bytes() in (b"first", b"second")
        assert {path.name for path in Path(name).iterdir()} == {"tree", "state"}
