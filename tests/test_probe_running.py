"""Probes on a GPU that is a fake: what is right, wrong, refused or lost, and what its times come to."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from archscan.errors import UserError
from archscan.probing.cuda import DriverError
from archscan.probing.reading import chosen, read_probe
from archscan.probing.running import differing, random_words, run
from archscan.probing.supervising import _START, Supervisor, environment
from archscan.probing.types import Probe, Result
from tests.probe_fakes import GOOD, LIMIT, MULTIPROCESSORS, FakeCompiler, FakeDriver, written

_ASK = "import ctypes, yaml; print(json.dumps({'missing': 'asked'}))"
FAKE = (sys.executable, str(Path(__file__).with_name("probe_fakes.py")))


def arms(kernel: str, **more: Any) -> dict[str, Any]:
    """The arms with another kernel for the feature's."""
    return {**GOOD["arms"], "new": {"feature": True, "launches": [{"kernel": kernel}], **more}}  # type: ignore[dict-item]


def ran(folder: Path, driver: FakeDriver | None = None, source: str = "", **changed: Any) -> Result:
    probe = read_probe(written(folder, source, **changed))
    return run(probe, ["sm_90"], driver or FakeDriver(), FakeCompiler(), 5, 1, lambda text: None)


# --- what an arm's answer comes to


def test_a_faster_arm_is_a_gain_with_its_spread(tmp_path: Path) -> None:
    result = ran(tmp_path)
    assert (result.outcome, result.target) == ("gain", "sm_90")
    assert result.deciding is not None
    assert result.deciding.median == pytest.approx(3.0)
    assert (result.deciding.low, result.deciding.high) == (pytest.approx(3.0), pytest.approx(3.0))
    assert [len(arm.microseconds) for arm in result.arms] == [5, 5]
    assert result.arms[0].microseconds[0] == pytest.approx(100.0)


def test_batches_are_graphs_and_where_none_is_taken_plain_launches(tmp_path: Path) -> None:
    driver = FakeDriver()
    with_graphs = ran(tmp_path, driver)
    assert driver.graphs is not None
    assert len(driver.graphs) == 4  # of each arm a trial and a batch
    driver = FakeDriver()
    driver.graphs = None
    assert ran(tmp_path, driver).arms == with_graphs.arms


@pytest.mark.parametrize(
    ("measure", "outcome"),
    [
        ({"of": "old", "against": "new", "decides": True}, "loss"),
        ({"of": "new", "against": "new", "decides": True}, "same"),
        ({"of": "new", "against": "old"}, "works"),  # a figure alone
        ({"of": "new", "against": "old", "decides": True, "margin": 0.99}, "gain"),  # 3 times is more than 1.99
    ],
)
def test_what_the_deciding_measure_says(tmp_path: Path, measure: dict[str, Any], outcome: str) -> None:
    assert ran(tmp_path, measures=[measure]).outcome == outcome


def test_one_wrong_word_is_wrong_however_fast(tmp_path: Path) -> None:
    result = ran(tmp_path, arms=arms("wrong"))
    assert (result.outcome, result.of_feature) == ("wrong", True)
    assert result.why == "new: 1 of 64 words are wrong"
    assert result.deciding is None  # what is wrong is not timed


def test_an_arm_that_writes_nothing_is_wrong(tmp_path: Path) -> None:
    """The output is filled before each check: the answer of the arm before it must not pass for its own."""
    result = ran(tmp_path, arms={"old": GOOD["arms"]["old"], **arms("silent")})  # type: ignore[index]
    assert result.why == "new: 64 of 64 words are wrong"


def test_a_fault_of_what_it_is_measured_against_is_not_the_features(tmp_path: Path) -> None:
    changed = {"new": GOOD["arms"]["new"], "old": {"launches": [{"kernel": "wrong"}]}}  # type: ignore[index]
    result = ran(tmp_path, arms=changed)
    assert (result.outcome, result.of_feature) == ("wrong", False)


def test_wrong_words_can_be_a_figure(tmp_path: Path) -> None:
    more = {"stale": {"feature": True, "answer": "counted", "launches": [{"kernel": "stale"}]}}
    result = ran(tmp_path, arms={**GOOD["arms"], **more})  # type: ignore[dict-item]
    counted = result.arms[-1]
    assert result.outcome == "gain"
    assert (counted.outcome, counted.wrong_words, counted.of_words) == ("counted", 5, 320)  # over five runs


def test_a_launch_that_is_refused_fails_unless_it_may_be(tmp_path: Path) -> None:
    result = ran(tmp_path, arms=arms("refused"))
    assert result.outcome == "fails"
    assert result.why == "new: cuLaunchKernelEx: CUDA_ERROR_INVALID_CLUSTER_SIZE"
    more = {"sixteen": {"feature": True, "optional": True, "launches": [{"kernel": "refused"}]}}
    assert ran(tmp_path, arms={**GOOD["arms"], **more}).outcome == "gain"  # type: ignore[dict-item]


@pytest.mark.parametrize(("shared", "outcome"), [("limit", "wrong"), ("limit+16", "gain"), ("limit - 16", "wrong")])
def test_what_must_be_refused_is_wrong_where_it_runs(tmp_path: Path, shared: str, outcome: str) -> None:
    more = {"over": {"feature": True, "answer": "refused", "launches": [{"kernel": "good", "shared": shared}]}}
    assert ran(tmp_path, arms={**GOOD["arms"], **more}).outcome == outcome  # type: ignore[dict-item]


def test_grids_and_shared_memory_are_sized_for_the_gpu(tmp_path: Path) -> None:
    driver = FakeDriver()
    launch = {"kernel": "good", "grid": "7*sms", "shared": "limit", "cluster": 16}
    ran(tmp_path, driver, arms={**GOOD["arms"], "new": {"feature": True, "launches": [launch]}})  # type: ignore[dict-item]
    assert ("good", 7 * MULTIPROCESSORS // 16 * 16, LIMIT) in driver.launches


def test_what_the_target_lacks_does_not_assemble(tmp_path: Path) -> None:
    result = ran(tmp_path, source="tcgen05")
    assert (result.outcome, result.target) == ("does not assemble", "sm_90")
    assert result.why == "Instruction 'tcgen05.alloc' not supported on .target 'sm_90'"


def test_another_fault_of_the_compiler_says_nothing_of_the_target(tmp_path: Path) -> None:
    result = ran(tmp_path, source="no header")
    assert result.outcome == "not run"
    assert "cannot open source file" in result.why


def test_an_error_after_which_nothing_runs_ends_the_probe(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match="ILLEGAL_INSTRUCTION"):
        ran(tmp_path, arms=arms("illegal"))


def test_a_full_gpu_is_no_result(tmp_path: Path) -> None:
    result = ran(tmp_path, words={"in": 1 << 25, "out": 1 << 20})
    assert result.outcome == "not run"
    assert "memory is full" in result.why


def test_loading_is_timed_from_the_ptx_of_another_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()
    monkeypatch.setattr("archscan.probing.running.time.perf_counter", lambda: driver.clock / 1e6)
    older = {"ptx": {"feature": True, "ptx": "sm_75", "launches": [{"kernel": "good"}]}}
    measures = [{"of": "ptx", "against": "new", "by": "load"}]
    result = ran(tmp_path, driver, arms={**GOOD["arms"], **older}, measures=measures)  # type: ignore[dict-item]
    assert result.outcome == "works"
    assert result.ratios[0].by == "load"
    assert result.ratios[0].median == pytest.approx(0.01)
    refused = ran(tmp_path, source="newer", arms={**GOOD["arms"], **older}, measures=measures)  # type: ignore[dict-item]
    assert (refused.outcome, refused.ratios) == ("fails", ())
    assert "UNSUPPORTED_PTX_VERSION" in refused.why


def test_random_words_are_whole_and_the_same_for_a_seed() -> None:
    words = random_words(700_000, 7)
    assert len(words) == 2_800_000
    assert words == random_words(700_000, 7) != random_words(700_000, 8)
    assert words[: 1 << 20] != words[1 << 20 : 2 << 20]  # no part repeats in place


def test_words_that_differ_are_counted_over_all_blocks() -> None:
    right = bytes(1 << 18)
    found = bytearray(right)
    found[0] = found[1] = 1  # one word
    found[-1] = found[1 << 17] = 1
    assert differing(bytes(found), right) == 3
    assert differing(right, right) == 0


# --- the process of a probe


def supervised(folder: Path, each: float = 20, in_all: float = 60, **changed: Any) -> tuple[Result, float]:
    place = written(folder, **changed)
    start = time.monotonic()
    supervisor = Supervisor(0, each, in_all, FAKE)
    return supervisor.run(read_probe(place), str(place), ["sm_90"], 5, 1), time.monotonic() - start


def test_a_result_comes_back_whole_through_the_process(tmp_path: Path) -> None:
    place = written(tmp_path)
    here = run(read_probe(place), ["sm_90"], FakeDriver(), FakeCompiler(), 5, 1, lambda text: None)
    there, _ = supervised(tmp_path)
    assert (there.arms, there.ratios, there.deciding) == (here.arms, here.ratios, here.deciding)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        ("crash", "the process was ended by SIGABRT"),
        ("illegal", "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_INSTRUCTION"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_in_the_feature_is_its_failure(tmp_path: Path, kernel: str, why: str) -> None:
    result, _ = supervised(tmp_path, arms=arms(kernel))
    assert (result.outcome, result.of_feature, result.during) == ("fails", True, "arm new")
    assert result.why.startswith(why)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_crash_elsewhere_says_nothing_of_the_feature(tmp_path: Path) -> None:
    old = {"new": GOOD["arms"]["new"], "old": {"launches": [{"kernel": "crash"}]}}  # type: ignore[index]
    result, _ = supervised(tmp_path, arms=old)
    assert (result.outcome, result.of_feature, result.during) == ("not run", False, "arm old")
    result, _ = supervised(tmp_path, source="crash the compiler")
    assert (result.outcome, result.during) == ("not run", "compiling")


def test_machine_code_that_the_driver_does_not_load_says_nothing_of_the_feature(tmp_path: Path) -> None:
    """A driver older than the compiler, for one."""
    result, _ = supervised(tmp_path, source="newer than the driver")
    assert (result.outcome, result.of_feature, result.during) == ("not run", False, "loading")
    assert "UNSUPPORTED_PTX_VERSION" in result.why


def test_a_hang_is_ended_and_said(tmp_path: Path) -> None:
    result, taken = supervised(tmp_path, each=4.0, arms=arms("hang"))
    assert (result.outcome, result.during) == ("fails", "arm new")
    assert result.why == "the process did not end within 4 s and was ended"
    assert 4 <= taken < 25


def test_the_time_for_all_ends_the_probes_that_are_left(tmp_path: Path) -> None:
    result, taken = supervised(tmp_path, in_all=0.0)
    assert (result.outcome, result.why) == ("not run", "the time for all probes is used up")
    assert taken < 1


def test_what_libraries_print_is_no_answer(tmp_path: Path) -> None:
    result, _ = supervised(tmp_path, arms=arms("chatty"))
    assert result.outcome == "same" or result.deciding is not None
    assert result.arms[0].outcome == "right"


def test_a_process_that_says_nothing_is_no_result(tmp_path: Path) -> None:
    place = written(tmp_path)
    supervisor = Supervisor(0, 10, 10, (sys.executable, "-c", "print('[1, 2'); print('3')"))
    result = supervisor.run(read_probe(place), str(place), ["sm_90"], 5, 1)
    assert (result.outcome, result.why) == ("not run", "the process said nothing")


def test_the_gpu_is_described_by_a_process_that_sees_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, 6")
    gpu = Supervisor(1, 20, 20, FAKE).describe()
    assert not isinstance(gpu, str)
    assert (gpu.name, gpu.sm, gpu.compiler, gpu.shared_limit) == ("Fake 6", 90, "Fake 1.0", LIMIT)


def test_a_child_sees_one_gpu_and_writes_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert environment(2)["CUDA_VISIBLE_DEVICES"] == "2"
    assert environment(2)["CUDA_CACHE_DISABLE"] == "1"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    assert environment(0)["CUDA_VISIBLE_DEVICES"] == "GPU-a"
    assert environment(5)["CUDA_VISIBLE_DEVICES"] == ""  # no such GPU: none rather than another


def test_a_child_imports_nothing_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be what is scanned, and `python -m archscan` has it on its path."""
    hostile = tmp_path / "scanned"
    (hostile / "archscan").mkdir(parents=True)
    for name in ("ctypes.py", "json.py", "archscan/__init__.py", "yaml.py"):
        (hostile / name).write_text(f"open({str(tmp_path / 'taken')!r}, 'w').close()\nraise SystemExit(3)\n")
    monkeypatch.chdir(hostile)
    monkeypatch.syspath_prepend(str(hostile))
    monkeypatch.setenv("PYTHONPATH", str(hostile))
    monkeypatch.setattr("archscan.probing.supervising._START", _START.replace("sys.exit(main())", _ASK))
    told = Supervisor(0, 30, 30).describe()
    assert told == "asked"
    assert not (tmp_path / "taken").exists()


# --- what a probe may say


@pytest.mark.parametrize(
    ("changed", "title", "hint"),
    [
        ({"settle": ["redux"]}, 'unknown key "settle"', 'did you mean "settles"?'),
        ({"words": {"in": 64, "out": 0}}, "out: expected a number from 1", ""),
        ({"words": {"in": True, "out": 1}}, 'found "True"', ""),
        ({"arms": {"old": {"launches": [{"kernel": "a"}]}}}, "no arm uses the feature", "feature: true"),
        ({"arms": {"new": {"feature": 1, "launches": [{"kernel": "a"}]}}}, "expected true or false", ""),
        ({"arms": {"new": {"feature": True, "launches": []}}}, "it launches nothing", ""),
        ({"arms": arms("good", answer="rigth")}, 'unknown value "rigth"', 'did you mean "right"?'),
        ({"right": {"launches": [{"kernel": "a", "grid": "2*sm"}]}}, "grid: expected a number from 1", ""),
        ({"right": {"launches": [{"kernel": "a", "shared": "limits"}]}}, "shared: expected a number", ""),
        ({"right": {"launches": [{"kernel": "a", "cluster": 32}]}}, "cluster: expected a number from 0 to 16", ""),
        ({"measures": [{"of": "new", "against": "odl"}]}, 'unknown value "odl"', 'did you mean "old"?'),
        ({"measures": [{"of": "new", "against": "old", "margin": 3}]}, "expected a part of 1", ""),
        ({"tensor": {"columns": 4, "rows": 4}}, '"box_columns" is missing', ""),
    ],
)
def test_a_mistake_in_a_probe_is_named(tmp_path: Path, changed: dict[str, Any], title: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        read_probe(written(tmp_path, **changed))
    assert title in caught.value.title
    assert hint in caught.value.hint


def test_probes_are_chosen_by_name_or_by_what_they_settle(tmp_path: Path) -> None:
    one = read_probe(written(tmp_path))
    other = Probe(**{**{k: getattr(one, k) for k in Probe.__slots__}, "name": "other", "settles": ("tma",)})
    assert chosen([], [one, other]) == (one, other)
    assert chosen(["redux"], [one, other]) == (one,)
    assert chosen(["trial", "tma"], [one, other]) == (one, other)
    with pytest.raises(UserError, match="no probe is called tmb"):
        chosen(["tmb"], [one, other])
