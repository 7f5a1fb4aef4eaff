"""`archscan probe`: what is listed, compiled, asked and written, and that a scan reads what it wrote."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import archscan
from archscan import cli
from archscan.catalog import load
from archscan.catalog.masks import decode
from archscan.catalog.measurements import compile_measurements
from archscan.commands.probe import checked, differing, variants_of
from archscan.errors import UserError
from archscan.probing import reading, supervising
from archscan.probing.compiling import compiler
from archscan.probing.evidence import document, row_of
from archscan.probing.types import ArmResult, Gpu, Probe, Ratio, Result
from tests.probe_fakes import FakeCompiler, written

CATALOG = load()
PROBES = {probe.name: probe for probe in checked(CATALOG)}
GPU = Gpu("NVIDIA H200", 90, "580.159.04", "NVRTC 13.0", 132, 232448, clocks={"sm_mhz": 1980})
MEASURED = json.loads((Path(__file__).parent / "data" / "probe_targets.json").read_text())
FAKE = (sys.executable, str(Path(__file__).with_name("probe_fakes.py")))


def made(probe: str, outcome: str, **more: Any) -> Result:
    return Result(probe, outcome, target="sm_90", clocks={"sm_mhz": 1755}, **more)


def gained(low: float, median: float, high: float) -> dict[str, Any]:
    arm = ArmResult("redux", "right", microseconds=(1.0, 2.0, 4.0))
    return {"arms": (arm,), "deciding": Ratio("redux", "shuffles", "time", median, low, high)}


# --- the probes that come with archscan


@pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)
def test_a_probe_claims_no_target_that_lacks_what_it_settles(probe: Probe) -> None:
    targets = decode(probe.targets, CATALOG.universe, probe.name)
    features = [f for f in CATALOG.features.values() if {f.id, f.group} & set(probe.settles) and f.id in probe.settles]
    for feature in features:
        assert not targets & ~feature.mask, feature.id
    assert not targets & ~decode(probe.elsewhere, CATALOG.universe, probe.name)  # there is always something to compare


@pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)
def test_its_targets_are_those_that_its_rows_were_measured_on(probe: Probe) -> None:
    """scripts/facts_probes.py writes the table."""
    universe = CATALOG.universe
    known = universe.mask(universe.by_name[f"sm_{target}"] for target in MEASURED["targets"].split())
    measured = universe.mask(universe.by_name[f"sm_{target}"] for target in MEASURED["probes"][probe.name].split())
    assert decode(probe.targets, universe, probe.name) & known == measured


def test_the_table_is_of_23_targets_and_every_probe() -> None:
    assert len(MEASURED["targets"].split()) == 23
    assert set(MEASURED["probes"]) == set(PROBES)
    assert len(PROBES) >= 25


@pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)
def test_every_kernel_that_is_launched_exists_and_every_arm_has_a_use(probe: Probe) -> None:
    for arm in (probe.right, *probe.arms):
        for launch in arm.launches:
            assert launch.kernel in probe.source
    used = {name for m in probe.measures for name in (m.of, m.against)}
    for arm in probe.arms:
        assert arm.name in used or arm.answer != "right" or not probe.measures, arm.name
    assert sum(m.decides for m in probe.measures) <= 1
    assert probe.deciding is None or probe.settles


def test_list_names_every_probe_and_what_it_settles(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["probe", "--list"]) == 0
    out = capsys.readouterr().out
    for probe in PROBES.values():
        assert f"{probe.name}: {probe.title}" in out
        assert not probe.settles or f"settles: {', '.join(probe.settles)}" in out
    assert cli.run(["probe", "--list", "redux"]) == 0
    assert capsys.readouterr().out.startswith("redux: ")


def test_a_word_that_nothing_is_called_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["probe", "--list", "pld-wait"]) == 2
    assert 'did you mean "pdl-wait"?' in capsys.readouterr().err


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = "import sys; from archscan.probing import child; from tests.probe_fakes import FakeCompiler;"
    script += "from archscan.probing.cuda import DriverError\n"
    script += "def none(): raise DriverError('cuInit', 'CUDA_ERROR_NO_DEVICE', 100)\n"
    script += "sys.exit(child.main(none, lambda: (FakeCompiler(), '')))"
    use_child(monkeypatch, (sys.executable, "-c", script))
    assert cli.run(["probe", "redux"]) == 2
    err = capsys.readouterr().err
    assert "nothing can be run: no GPU can be used (cuInit: CUDA_ERROR_NO_DEVICE)" in err
    assert "--compile-only" in err


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two probes of a few words, instead of those that come with archscan."""
    written(tmp_path / "probes", name="one")
    written(tmp_path / "probes", name="two", settles=[], measures=[])
    monkeypatch.setattr(reading, "directory", lambda: tmp_path / "probes")


def use_child(monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    monkeypatch.setattr(supervising.Supervisor.__init__, "__defaults__", (command,))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))


# --- for a project

CONTESTED = """#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
__device__ void meet() { asm volatile("barrier.cluster.arrive.aligned;"); }
#endif
"""


def listed(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert cli.run(["probe", "--list", *options]) == 0
    return [line.split(":")[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]


def test_for_a_path_only_what_is_open_there_is_run(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(CONTESTED)
    assert listed(capsys, "--for", "a.cu", "-t", "sm120") == ["cluster-launch", "cluster-shared", "st-async"]
    assert listed(capsys, "--for", "a.cu", "-t", "sm120", "cluster-launch") == ["cluster-launch"]
    assert cli.run(["probe", "--list", "--for", "a.cu", "-t", "sm90"]) == 0  # let in: nothing to settle
    assert "nothing in a.cu is contested or unknown" in capsys.readouterr().err
    (tmp_path / "a.cu").write_text(CONTESTED.replace("barrier.cluster.arrive.aligned", "wgmma.fence.sync.aligned"))
    assert listed(capsys, "--for", "a.cu", "-t", "sm120") == []  # it cannot: no question
    assert cli.run(["probe", "--list", "--for", "a.cu"]) == 2
    assert "name one: --target sm120" in capsys.readouterr().err


# --- several GPUs


def test_more_than_one_gpu_is_asked_for(small: None, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    asked: list[str] = []
    monkeypatch.setattr("archscan.commands.probe.click.confirm", lambda text, **_: asked.append(text) or agreed)
    use_child(monkeypatch, FAKE)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cli.run(["probe", "one", "--device", "3"]) == 0
    assert not asked
    assert "Fake 3 (sm_90)" in capsys.readouterr().out
    agreed = False
    assert cli.run(["probe", "one", "--device", "0", "--device", "3"]) == 2
    assert "nothing was run" in capsys.readouterr().err
    agreed, asked[:] = True, []
    assert cli.run(["probe", "one", "--device", "0", "--device", "3"]) == 0
    assert asked == ["this runs kernels on 2 GPUs; go on?"]
    out = capsys.readouterr().out
    assert out.index("Fake 0 (sm_90)") < out.index("Fake 3 (sm_90)")
    assert "Fake 1 (" not in out


# --- what is written


def test_a_run_is_written_as_evidence(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    use_child(monkeypatch, FAKE)
    assert cli.run(["probe", "--json", str(tmp_path / "p.json"), "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["one: gain, new at 3 times the speed of old (3 to 3)", "two: works"]
    found = json.loads((tmp_path / "p.json").read_text())
    (gpu,) = found["probe"]["gpus"]
    assert gpu["gpu"]["name"].startswith("Fake")
    assert [result["probe"] for result in gpu["results"]] == ["one", "two"]
    assert [(row["probe"], row["outcome"], row["ratio"]) for row in found["evidence"]] == [("one", "gain", 3.0)]
    compile_measurements(found, CATALOG, "p.json")
    follows_schema(found)
    with pytest.raises(UserError, match=r"schema_version 2\.0"):
        compile_measurements({**found, "schema_version": "2.0"}, CATALOG, "p.json")


def follows_schema(found: dict[str, Any]) -> None:
    """A document is what archscan/schema says, and is not where its version is another or a key is missing."""
    schema = json.loads((Path(archscan.__file__).parent / "schema" / "probe-1.1.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    assert next(iter(found)) == "schema_version"
    validator.validate(found)
    for key in found:
        assert not validator.is_valid({k: v for k, v in found.items() if k != key})
    assert not validator.is_valid({**found, "schema_version": "2.0"})


def test_a_measurement_carries_gpu_driver_compiler_clock_and_spread() -> None:
    row = row_of(GPU, PROBES["redux"], made("redux", "gain", **gained(1.2, 1.3, 1.4)), "2026-05-01")
    assert row is not None
    assert row["feature"] == ["redux"]
    assert (row["target"], row["outcome"], row["ratio"]) == ("sm_90", "gain", 1.3)
    assert row["conditions"] == ["NVIDIA H200", "driver 580.159.04", "NVRTC 13.0", "1755 MHz"]
    assert "redux 2 µs (1 to 4)" in row["note"]
    (read,) = compile_measurements({"evidence": [row]}, CATALOG, "x")
    assert read.evidence.fact.startswith("opened on sm_90, it was faster, 1.30 times the speed; sums over a warp")
    assert read.evidence.source == "archscan probe redux, 2026-05-01"


@pytest.mark.parametrize(
    ("outcome", "of_feature", "counts"),
    [
        ("fails", True, True),
        ("fails", False, False),
        ("wrong", True, True),
        ("wrong", False, False),
        ("works", True, True),
        ("does not assemble", True, False),  # the assembler knows that without a GPU
        ("not run", True, False),
    ],
)
def test_only_what_ran_and_was_the_features_is_evidence(outcome: str, of_feature: bool, counts: bool) -> None:
    result = made("redux", outcome, why="because", of_feature=of_feature)
    row = row_of(GPU, PROBES["redux"], result, "2026-05-01")
    assert (row is not None) is counts
    if row is not None:
        compile_measurements({"evidence": [row]}, CATALOG, "x")


def test_a_figure_that_settles_no_gate_is_no_evidence() -> None:
    assert row_of(GPU, PROBES["jit-ptx"], made("jit-ptx", "works"), "2026-05-01") is None


def test_a_file_without_evidence_is_read_where_a_run_made_it() -> None:
    written = document([(GPU, [(PROBES["redux"], made("redux", "not run"))])], "2026-05-01")
    assert written["evidence"] == []
    assert compile_measurements(written, CATALOG, "x") == ()
    with pytest.raises(UserError, match="holds no measurement"):
        compile_measurements({"evidence": []}, CATALOG, "x")


# --- without a GPU


def test_the_most_general_variant_that_has_it_is_tried_first() -> None:
    assert variants_of(GPU, PROBES["redux"], CATALOG) == ["sm_90", "sm_90a"]
    blackwell = Gpu("RTX 5090", 120, "", "", 170, 101376)
    assert variants_of(blackwell, PROBES["redux"], CATALOG) == ["sm_120", "sm_120f", "sm_120a"]
    turing = Gpu("T4", 75, "", "", 40, 65536)
    assert variants_of(turing, PROBES["redux"], CATALOG) == ["sm_75"]  # lacks it: the refusal is the result


@pytest.mark.parametrize(
    ("target", "told", "line"),
    [
        ("sm_80", {"feature": ["compiles", ""], "elsewhere": ["compiles", ""]}, ""),
        ("sm_80", {"feature": ["refuses", "why"], "elsewhere": ["compiles", ""]}, "sm_80 refuses its feature arm: why"),
        ("sm_75", {"feature": ["refuses", "why"], "elsewhere": ["compiles", ""]}, ""),
        ("sm_75", {"feature": ["compiles", ""], "elsewhere": ["compiles", ""]}, "redux: sm_75 takes its feature arm"),
        ("sm_75", {"feature": ["broken", "why"], "elsewhere": ["compiles", ""]}, "could not be compiled: why"),
        ("sm_75", {"feature": ["refuses", ""], "elsewhere": ["refuses", "why"]}, "refuses what it is measured against"),
        ("sm_75", None, ""),  # this compiler does not know the target
    ],
)  # fmt: skip
def test_what_compiles_is_compared_with_what_the_probe_says(target: str, told: Any, line: str) -> None:
    lines = differing(PROBES["redux"], {target: told}, CATALOG)
    assert len(lines) == bool(line)
    assert not line or line in lines[0]


def test_compile_only_asks_a_process_for_each_probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    """The fake takes redux for sm_80 and sm_90 alike, and knows no other target."""
    use_child(monkeypatch, FAKE)
    options = ["probe", "redux", "--compile-only", "-t", "sm_80", "-t", "12.0", "--json", str(tmp_path / "c.json")]
    assert cli.run(options) == 0
    assert "redux: 1 of 1 targets: 80\n1 probes, 1 targets, 0 differing" in capsys.readouterr().out
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["probes"]["redux"]["sm_120"] is None
    follows_schema(found)
    assert cli.run(["probe", "redux", "--compile-only", "-t", "sm_70"]) == 2
    assert "they begin with sm_75" in capsys.readouterr().err


NVRTC, MISSING = compiler()


@pytest.mark.slow
@pytest.mark.nvcc
@pytest.mark.skipif(NVRTC is None, reason=f"no compiler: {MISSING}")
@pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)
def test_the_first_target_with_it_takes_it_and_the_last_without_refuses(probe: Probe) -> None:
    """All targets: ARCHSCAN_PROBE_TARGETS=all (minutes)."""
    assert NVRTC is not None
    universe, mask = CATALOG.universe, decode(probe.targets, CATALOG.universe, probe.name)
    known = [t for t in universe.targets if t.sm in NVRTC.architectures() and t.sm >= 75]
    if os.environ.get("ARCHSCAN_PROBE_TARGETS") != "all":
        first = next(i for i, t in enumerate(known) if mask & universe.bit(t))
        known = known[max(0, first - 1) : first + 1]
    for target in known:
        made_ = NVRTC.compile(probe.source, target.name, True)
        if mask & universe.bit(target):
            assert made_.image, (target.name, made_.log)
        else:
            assert made_.refused, (target.name, made_.log)
        if decode(probe.elsewhere, universe, probe.name) & universe.bit(target):
            plain = NVRTC.compile(probe.source, target.name, False)
            assert plain.image, (target.name, plain.log)


def test_the_fake_is_a_compiler_like_the_real_one() -> None:
    assert FakeCompiler().compile("tcgen05", "sm_90", True).refused
    assert not FakeCompiler().compile("no header", "sm_90", True).refused
    assert reading.directory().name == "probes"
