"""Facts come out the same over any number of processes, any order and any state of the cache."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from archscan import cache, engine, pipeline, workers
from archscan.catalog.types import Catalog, MacroFacts
from archscan.frontends import registry
from archscan.frontends.protocol import Context
from archscan.model.facts import Facts, FileFacts, Link, LinkKind, Source
from archscan.model.settings import ScanSettings
from archscan.model.target import HOST, Target, Universe
from archscan.result_cache import Memory, Outcome

CATALOG = Catalog(
    universe=Universe((HOST, Target(120))),
    architectures={},
    product_names={},
    macros=MacroFacts({}, {}, {}, {}, frozenset()),
    features={},
    evidence=(),
    rules={},
    packages={},
    messages=(),
    digest="rules",
)


class Words:
    """A front end for tests: a file's facts are its words, and how many files of the project share each."""

    name = "words"
    joins = True
    indexed: list[str] = []  # noqa: RUF012  what this process indexed

    def wants(self, path: str) -> bool:
        return path.endswith(".cu")

    def index(self, source: Source, context: Context) -> tuple[str, ...] | None:
        self.indexed.append(source.path)
        if b"crash" in source.data:
            os.kill(os.getpid(), signal.SIGKILL)
        if b"raise" in source.data:
            raise ValueError("no words")
        return tuple(source.data.decode("utf-8", "replace").split()) or None

    def link(self, indexes: Mapping[str, tuple[str, ...]], context: Context) -> dict[str, int]:
        if any("unlinkable" in one for one in indexes.values()):
            raise ValueError("no link")
        if sum("alone" in one for one in indexes.values()) > 1:
            raise ValueError("not together")
        words = [word for path in sorted(indexes) for word in set(indexes[path])]
        return {word: words.count(word) for word in words}

    def gates(self, index: tuple[str, ...], project: dict[str, int], context: Context) -> FileFacts:
        links = tuple(Link(LinkKind.CALLS, word, str(project[word]), 1) for word in index)
        return FileFacts("unset", 0, links=links)


class Placed(Words):
    """The same, with the path in its place, as real front ends do."""

    def index(self, source: Source, context: Context) -> tuple[str, ...] | None:
        words = super().index(source, context)
        return None if words is None else (source.path, *words)

    def link(self, indexes: Mapping[str, tuple[str, ...]], context: Context) -> dict[str, int]:
        return super().link({path: words[1:] for path, words in indexes.items()}, context)

    def gates(self, index: tuple[str, ...], project: dict[str, int], context: Context) -> FileFacts:
        judged.append(index[0])
        if b"dies" in " ".join(index).encode():
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(super().gates(index[1:], project, context), path=index[0])


judged: list[str] = []  # paths whose gates this process asked for


class Others(Placed):
    """Another front end, for another language."""

    name = "others"
    joins = True

    def wants(self, path: str) -> bool:
        return path.endswith(".py")


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    monkeypatch.setattr(registry, "front_ends", lambda layers=frozenset(), paths=None: (Placed(),))
    monkeypatch.setattr(engine, "_ALONE", 0)
    monkeypatch.setattr(workers, "_threads", lambda: 1)  # those of whoever runs the tests do no harm to a fork
    monkeypatch.setattr(cache, "_code", str)  # an edit of archscan while its tests run is no change of theirs
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Words.indexed.clear()
    yield Words.indexed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    base = tmp_path / "project"
    for number in range(40):
        path = base / f"d{number % 3}" / f"f{number:02}.cu"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"alpha w{number} " * (number % 7))
    old = 1_600_000_000
    for path in base.rglob("*"):
        os.utime(path, (old, old))
    return base


def scan(base: Path, jobs: int = 1, cached: bool = False, **other: object) -> Facts:
    settings = ScanSettings(jobs=jobs, use_cache=cached)
    return pipeline.scan([str(base)], CATALOG, settings, **other)  # type: ignore[arg-type]


def test_any_number_of_processes_gives_the_same(project: Path) -> None:
    alone = scan(project)
    assert len(alone.files) == 34
    assert alone.files_read == 40
    assert [f.path for f in alone.files] == sorted(f.path for f in alone.files)
    assert alone.files[0].disk == str(project / alone.files[0].path)
    for jobs in (2, 3, 7):
        assert scan(project, jobs) == alone


def test_any_executor_with_a_map_will_do(project: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert scan(project, mapper=pool) == scan(project)


def test_everything_that_travels_can_be_pickled(project: Path) -> None:
    import pickle

    class Remote:
        def map(self, function, items):  # type: ignore[no-untyped-def]
            shipped = pickle.dumps(function)
            return [pickle.loads(pickle.dumps(pickle.loads(shipped)(item))) for item in items]

    assert scan(project, mapper=Remote()) == scan(project)


def test_processes_start_fresh_where_forks_are_not_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_threads", threading.active_count)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with workers.local(2) as mapper:
            assert list(mapper.map(abs, [-1, -2, 3])) == [1, 2, 3]
            assert not isinstance(mapper, workers.Forks)
    finally:
        stop.set()
        thread.join()


def test_a_file_that_kills_its_process_fails_alone(project: Path) -> None:
    (project / "d0/f00.cu").write_text("crash")
    facts = scan(project, 2)
    (failed,) = facts.failed
    assert failed.path == "d0/f00.cu"
    assert "died (signal 9)" in failed.reason
    assert len(facts.files) == 34


def test_a_file_that_raises_fails_alone(project: Path) -> None:
    (project / "d0/f00.cu").write_text("raise")
    for jobs in (1, 2):
        facts = scan(project, jobs)
        (failed,) = facts.failed
        assert "internal error at index" in failed.reason
        assert "ValueError: no words" in failed.reason
        assert len(facts.files) == 34


@pytest.mark.parametrize("jobs", [1, 2])
def test_files_that_cannot_be_linked_fail_alone(project: Path, jobs: int) -> None:
    for name in ("f00", "f02"):
        (project / f"d0/{name}.cu").write_text("unlinkable")
    lost = [file for file in scan(project, jobs).files if file.lost]
    assert [file.path for file in lost] == ["d0/f00.cu", "d0/f02.cu"]
    assert all(
        "internal error at link" in problem and "no link" in problem for file in lost for problem in file.problems
    )


def test_files_that_cannot_be_linked_together_fail_all(project: Path) -> None:
    for name in ("f00", "f02"):
        (project / f"d0/{name}.cu").write_text("alone")
    files = scan(project).files
    assert len(files) > 30
    assert all(file.lost and "not together" in file.problems[0] for file in files)


def test_an_error_outside_of_any_file_is_raised_with_its_traceback() -> None:
    from archscan.workers import Forks, WorkerError

    with pytest.raises(WorkerError, match="TypeError"):
        list(Forks(2).map(len, [[1], 3]))  # type: ignore[list-item]


def test_large_answers_and_many_items_arrive_whole() -> None:
    from archscan.workers import Forks

    assert list(Forks(3).map(bytes, [3_000_000, 0, 5])) == [bytes(3_000_000), b"", bytes(5)]
    assert list(Forks(2).map(abs, range(5000))) == list(range(5000))


def test_stopping_early_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    from archscan.workers import Forks

    born: list[int] = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: born.append(child := fork()) or child)
    results = Forks(2).map(abs, range(100))
    assert next(iter(results)) == 0
    results.close()
    assert len(born) == 2
    for child in born:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_nothing_is_read_again_if_nothing_changed(project: Path, words: list[str]) -> None:
    first = scan(project, cached=True)
    assert len(words) == 40
    words.clear()
    assert scan(project, cached=True) == first
    assert words == []


def test_only_what_changed_is_read_again(project: Path, words: list[str]) -> None:
    scan(project, cached=True)
    (project / "d0/f03.cu").write_text("new words")
    (project / "d1/f01.cu").unlink()
    (project / "d1/added.cu").write_text("alpha")
    words.clear()
    changed = scan(project, cached=True)
    assert sorted(words) == ["d0/f03.cu", "d1/added.cu"]
    assert changed == scan(project)


def test_an_edit_in_one_language_leaves_the_other(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "front_ends", lambda layers=frozenset(), paths=None: (Placed(), Others()))
    (project / "d1/a.py").write_text("alpha beta")
    (project / "d1/b.py").write_text("alpha")
    scan(project, cached=True)
    judged.clear()
    (project / "d1/a.py").write_text("alpha gamma")
    changed = scan(project, cached=True)
    assert sorted(judged) == ["d1/a.py", "d1/b.py"]
    assert changed == scan(project)
    (project / "d1/c.py").write_text("new")
    (project / "d1/f01.cu").unlink()
    assert scan(project, cached=True) == scan(project)


def test_a_file_whose_gates_kill_the_process_is_named(project: Path) -> None:
    (project / "d0/f03.cu").write_text("this dies")
    facts = {one.path: one for one in scan(project, 2).files}
    assert "died (signal 9)" in facts["d0/f03.cu"].problems[0]
    assert not any(one.problems for path, one in facts.items() if path != "d0/f03.cu")


def test_touching_a_file_changes_nothing(project: Path, words: list[str]) -> None:
    first = scan(project, cached=True)
    (project / "d0/f03.cu").touch()
    words.clear()
    assert scan(project, cached=True) == first
    assert words == []


def test_an_edit_within_the_same_time_stamp_is_seen(project: Path) -> None:
    path = project / "d0/f03.cu"
    path.write_text("one two")
    before = path.stat()
    first = scan(project, cached=True)
    path.write_text("two one")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert scan(project, cached=True) != first


def test_two_trees_of_the_same_names_keep_apart(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "RACY_NS", -(10**12))  # every stamp is old enough to be trusted
    for version in ("old", "new"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "a.cu").write_text(f"{version}\n")
    fresh = {version: scan(tmp_path / version).files for version in ("old", "new")}
    assert fresh["old"] != fresh["new"]
    for version in ("old", "new", "old", "new"):
        found = scan(tmp_path / version, cached=True).files
        assert found == fresh[version], version


def test_a_copy_elsewhere_is_known_by_its_content(project: Path, tmp_path: Path, words: list[str]) -> None:
    import shutil

    scan(project, cached=True)
    shutil.copytree(project, tmp_path / "copy")
    words.clear()
    copy = scan(tmp_path / "copy", cached=True)
    assert words == []
    assert copy.files[0].disk.startswith(str(tmp_path / "copy"))
    assert copy == scan(tmp_path / "copy")


@pytest.mark.parametrize(
    "change",
    [{"defines": (("X", "1"),)}, {"cuda": "12.8"}, {"layers": frozenset({"preprocessor"})}],
)
def test_other_settings_are_other_entries(project: Path, words: list[str], change: dict[str, object]) -> None:
    scan(project, cached=True)
    words.clear()
    pipeline.scan([str(project)], CATALOG, ScanSettings(jobs=1, **change))  # type: ignore[arg-type]
    assert len(words) == 40


def test_other_rules_are_other_entries(project: Path, words: list[str]) -> None:
    scan(project, cached=True)
    words.clear()
    pipeline.scan([str(project)], replace(CATALOG, digest="other"), ScanSettings(jobs=1))
    assert len(words) == 40


def test_overlaid_bytes_are_never_kept(project: Path) -> None:
    first = scan(project, cached=True)
    overlay = {"d0/f03.cu": b"other words"}
    assert scan(project, cached=True, overlay=overlay) != first
    assert scan(project, cached=True) == first


def test_a_file_that_failed_is_tried_again(project: Path) -> None:
    bad = project / "d0/f00.cu"
    bad.write_text("raise")
    os.utime(bad, (1_600_000_000, 1_600_000_000))
    assert scan(project, cached=True).failed
    assert scan(project, cached=True).failed


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "writable", "other-magic"])
def test_whatever_is_wrong_with_the_cache_it_is_ignored(project: Path, damage: str, tmp_path: Path) -> None:
    first = scan(project, cached=True)
    for path in (tmp_path / "cache/archscan").iterdir():
        data = path.read_bytes()
        if damage == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "flip":
            path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "foreign":
            path.write_bytes(_planted())
        elif damage == "other-magic":
            path.write_bytes(b"archscan cache 0\n" + data[17:])
        else:
            path.chmod(0o666)
    assert scan(project, cached=True) == first
    assert not (tmp_path / "pwned").exists()


def _planted() -> bytes:
    """A pickle that would write a file, with a right check sum."""
    import pickle
    import zlib

    class Evil:
        def __reduce__(self):  # type: ignore[no-untyped-def]
            return os.mkdir, ("pwned",)

    payload = pickle.dumps(Evil())
    return b"archscan cache 1\n" + zlib.crc32(payload).to_bytes(4, "big") + payload


def test_a_cache_that_cannot_be_written_costs_nothing_else(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert scan(project, cached=True) == scan(project)


def test_the_cache_lies_in_no_scanned_tree(project: Path, tmp_path: Path) -> None:
    before = sorted(project.rglob("*"))
    scan(project, cached=True)
    assert sorted(project.rglob("*")) == before
    assert cache.default_directory() == tmp_path / "cache/archscan"
    kept = cache.kept()
    assert kept.files == 4
    assert kept.bytes > 0
    assert cache.clear() == kept
    assert cache.kept().files == 0


def test_the_cache_is_bounded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_BYTES", 100)
    first = scan(project, cached=True)
    assert cache.kept().bytes <= 100
    assert scan(project, cached=True) == first


def test_no_cache_writes_nothing(project: Path) -> None:
    scan(project)
    assert cache.kept().files == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_concurrent_scans_share_the_cache(project: Path) -> None:
    alone = scan(project)
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            os._exit(0 if all(scan(project, cached=True) == alone for _ in range(5)) else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]


def test_progress_is_told(project: Path) -> None:
    told: list[tuple[int, int]] = []
    scan(project, 2, watch=lambda done, total: told.append((done, total)))
    assert told[-1] == (40, 40)


def test_indexes_of_the_real_front_ends_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that the cache refuses to load would cost every later run a full scan, silently."""
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    from archscan.catalog import load

    catalog = load()
    example = Path(__file__).resolve().parents[1] / "examples"
    if not any(example.rglob("*.cuh")):
        pytest.skip("no example in this checkout")
    facts = pipeline.scan([str(example)], catalog, ScanSettings(jobs=1))
    memory = cache.Cache(cache.default_directory(), [str(example)], ScanSettings(jobs=1), catalog.digest)
    from archscan.sources import discover

    sources = discover([str(example)], ScanSettings()).sources
    assert len(memory.indexes(sources)) > 0
    assert memory.facts(sources) is not None or memory._tree is not None
    loaded = memory.snapshot(memory.name(sources))
    assert loaded is not None
    assert memory.linked("cuda") is not None
    assert engine.merged(f for part in loaded.parts.values() for f in part.files) == facts.files


def test_a_process_that_stays_reads_a_file_of_the_cache_once(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_resident", None)
    directory = tmp_path / "resident"
    assert cache.Keeper(directory).store("a.facts", (1, 2))
    first = cache.Keeper(directory).load("a.facts", tuple)
    assert first == (1, 2) and cache.Keeper(directory).load("a.facts", tuple) is not first
    cache.stay_resident()
    kept = cache.Keeper(directory).load("a.facts", tuple)
    assert cache.Keeper(directory).load("a.facts", tuple) is kept
    assert cache.Keeper(directory).load("a.facts", dict) is None
    # another process replaces it
    monkeypatch.setattr(cache, "_resident", None)
    other = cache.Keeper(directory)
    assert other.store("a.facts", (3,))
    monkeypatch.setattr(cache, "_resident", {directory / "a.facts": ((0, 0, 0), kept)})
    assert cache.Keeper(directory).load("a.facts", tuple) == (3,)
    (directory / "a.facts").unlink()
    assert cache.Keeper(directory).load("a.facts", tuple) is None


def test_a_process_that_stays_writes_behind_its_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_resident", None)
    monkeypatch.setattr(cache, "_unwritten", {})
    directory = tmp_path / "behind"
    cache.stay_resident()
    keeper = cache.Keeper(directory)
    value, other = (1, 2), (3,)
    assert keeper.store("a.facts", value) and keeper.store("b.facts", other)
    assert keeper.load("a.facts", tuple) is value and keeper.load("a.facts", dict) is None
    assert not directory.exists()
    keeper.remove("b.facts")
    cache.write_behind()
    assert [path.name for path in directory.iterdir()] == ["a.facts"]
    assert keeper.load("a.facts", tuple) is value and keeper.load("b.facts", tuple) is None
    keeper.remove("a.facts")
    assert keeper.load("a.facts", tuple) is None
    # what is no part of a tree is for other processes too, at once
    assert keeper.store("c.outcome", other) and (directory / "c.outcome").exists()


class TestOutcomes:
    """What a whole run said is remembered until something changes."""

    @staticmethod
    def memory(base: Path, **options: object) -> Memory:
        return Memory([str(base)], ScanSettings(), [], options)

    def test_an_unchanged_tree_is_recalled(self, project: Path) -> None:
        outcome = Outcome(b"text", ("warning: x",), 1)
        self.memory(project).keep(scan(project, cached=True).listing, outcome)
        assert self.memory(project).recall() in (None, outcome)

    def test_change_is_noticed(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("archscan.sources.listing.RACY_NS", 0)
        outcome = Outcome(b"text", (), 0)
        self.memory(project).keep(scan(project, cached=True).listing, outcome)
        assert self.memory(project).recall() == outcome
        assert self.memory(project, format="json").recall() is None
        (project / "new.cu").write_text("x")
        assert self.memory(project).recall() is None
        (project / "new.cu").unlink()
        assert self.memory(project).recall() == outcome
        (project / "d0/f03.cu").write_text("y")
        assert self.memory(project).recall() is None

    def test_a_tree_that_was_just_written_is_not_remembered(self, project: Path) -> None:
        (project / "d0/f03.cu").write_text("y")
        assert scan(project, cached=True).listing == ""

    def test_files_beside_the_tree_count(self, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("archscan.sources.listing.RACY_NS", 0)
        baseline = tmp_path / "baseline.json"
        baseline.write_text("{}")
        Memory([str(project)], ScanSettings(), [str(baseline)], {}).keep(
            scan(project, cached=True).listing, Outcome(b"", (), 0)
        )
        assert Memory([str(project)], ScanSettings(), [str(baseline)], {}).recall() is not None
        baseline.write_text("{ }")
        assert Memory([str(project)], ScanSettings(), [str(baseline)], {}).recall() is None


def test_a_worker_that_grows_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from archscan import workers

    monkeypatch.setattr(workers, "_MOST_GROWTH", -1)
    assert list(workers.Forks(2).map(lambda n: n * 2, range(30))) == [n * 2 for n in range(30)]
    monkeypatch.setattr(workers, "_MOST_GROWTH", 4 << 20)
    kept: list[bytes] = []
    assert list(workers.Forks(2).map(lambda n: kept.append(bytes(3 << 20)) or n, range(30))) == list(range(30))


def test_what_runs_apart_comes_back_or_says_why() -> None:
    from archscan import workers

    forks = workers.Forks(2)

    def value(function: Callable[[], object]) -> object:
        with forks.begun(function) as one:
            return one.value()

    assert value(lambda: list(forks.map(lambda n: n * 2, range(5)))) == [0, 2, 4, 6, 8]
    with pytest.raises(workers.WorkerError, match="invalid literal"):
        value(lambda: int("no number"))
    with pytest.raises(workers.WorkerError, match="signal 9"):
        value(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_what_all_will_wait_for_goes_first() -> None:
    from archscan import workers

    forks = workers.Forks(2)
    mine = os.nice(0)

    def niceness() -> set[object]:
        return set(forks.map(lambda _: os.nice(0), range(8)))

    assert niceness() == {mine}
    waiting, go = os.pipe()
    with forks.begun(lambda: os.read(waiting, 1)) as slow, forks.begun(niceness) as other:
        assert niceness() == {min(19, mine + 10)}
        assert other.value() == {mine}  # in a process of its own nothing else is under way
        os.write(go, b"x")
        slow.value()
        assert niceness() == {mine}
    with forks.begun(lambda: None):
        pass
    assert niceness() == {mine}
    os.close(waiting)
    os.close(go)


def test_of_what_runs_apart_the_first_that_is_ready_is_told() -> None:
    from archscan import workers

    forks = workers.Forks(2)
    waiting, go = os.pipe()
    with forks.begun(lambda: os.read(waiting, 1)) as slow, forks.begun(lambda: "ready") as quick:
        assert workers.first([slow, quick]) is quick
        assert quick.value() == "ready"
        os.write(go, b"x")
        assert workers.first([slow]) is slow
        assert slow.value() == b"x"
    with forks.begun(lambda: os.read(waiting, 1)) as endless:
        process = next(iter(endless.crew.children.values()))
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)  # the context has ended it
    os.close(waiting)
    os.close(go)
