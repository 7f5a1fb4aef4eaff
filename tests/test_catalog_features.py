"""The masks of features on both sides of their boundaries, and the script that keeps them true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from archscan.catalog import load
from archscan.catalog.features import check_patterns, compile_features
from archscan.catalog.masks import decode, encode
from archscan.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import facts_features  # noqa: E402
import facts_macros  # noqa: E402

CATALOG = load()
UNIVERSE = CATALOG.universe


@pytest.mark.parametrize(
    ("feature", "has", "lacks"),
    [
        ("griddep-wait", "90 90a 100 103f 110 120 120a 121f", "89 80 75"),
        ("griddep-launch", "90 120", "89"),
        ("cluster", "90 120 121", "89"),
        ("wgmma", "90a", "90 100a 110a 120a 121a"),
        ("tcgen05", "100a 100f 103a 110f", "90a 100 103 120a 121f"),
        ("tcgen05-int8", "100a 110a", "100f 103a 120a"),
        ("setmaxnreg", "90a 100f 120a 120f", "90 100 120 121"),
        ("tma", "90 100 120", "89"),
        ("tma-cta-group", "100f 110a", "90a 100 120a"),
        ("tma-gather4", "100 120", "90a"),
        ("tma-gather4-cluster", "100f", "100 120a"),
        ("cvt-fp4", "100a 120a 120f 121a", "100 120 121 90a"),
        ("cvt-fp4-intrinsic", "75 90 120 120a", ""),
        ("cvt-rs", "100a 103a", "100f 110a 120a"),
        ("mma-block-scale", "120a 121f", "120 100a 90a"),
        ("mma-sp-mxf4", "120a 121a", "120f 120"),
        ("mma-fp8", "89 90 120", "86 80"),
        ("redux-f32", "100f 103a", "100 110a 120a"),
        ("redux", "80 120", "75"),
        ("elect", "90 120", "89"),
        ("f32x2", "100 120", "90a"),
        ("cp-async", "80 120", "75"),
        ("stmatrix", "90 120", "89"),
        ("multimem-fp8", "100f 120a", "120f 120 100"),
        ("u8x4", "107f 120f", "110a 120 100a"),
    ],
)
def test_masks_on_both_sides(feature: str, has: str, lacks: str) -> None:
    mask = CATALOG.features[feature].mask
    assert [t for t in has.split() if not mask & UNIVERSE.bit(UNIVERSE.by_name[f"sm_{t}"])] == []
    assert [t for t in lacks.split() if mask & UNIVERSE.bit(UNIVERSE.by_name[f"sm_{t}"])] == []
    assert not mask & UNIVERSE.host


@pytest.mark.parametrize(
    ("feature", "target", "lowering"),
    [
        ("mma-fp8", "sm_100a", ["emulated"]),
        ("mma-fp8", "sm_90", ["emulated"]),
        ("mma-fp8", "sm_89", []),
        ("mma-fp8", "sm_120", []),
        ("tma-multicast", "sm_120a", ["driver_call"]),
        ("tma-multicast", "sm_90", []),
        ("tma", "sm_120", []),
        ("mma-int4", "sm_120", ["internal_routine"]),
        ("mma-int4", "sm_89", []),
        ("mma-sp", "sm_100", ["internal_routine"]),
        ("mma-sp-ordered", "sm_100", []),
        ("f32x2", "sm_120", ["expanded"]),
        ("f32x2", "sm_100", []),
        ("cvt-fp4-intrinsic", "sm_120", ["emulated"]),
        ("cvt-fp4-intrinsic", "sm_120a", []),
    ],
)
def test_what_is_not_one_instruction(feature: str, target: str, lowering: list[str]) -> None:
    bit = UNIVERSE.bit(UNIVERSE.by_name[target])
    assert [kind for kind, _ in CATALOG.features[feature].lowered(bit)] == lowering


def test_losing_these_breaks_order() -> None:
    sync = {f.id for f in CATALOG.features.values() if f.sync}
    assert sync == {"griddep-wait", "cluster-barrier", "proxy-fence", "mbarrier", "mbarrier-tx", "elect"}


def test_every_pattern_compiles_and_says_how_it_begins() -> None:
    check_patterns(CATALOG.features, "features.yaml")


def test_every_probe_is_there() -> None:
    raw = yaml.safe_load((ROOT / "rules/facts/features.yaml").read_bytes())["features"]
    probes = yaml.safe_load((ROOT / "rules/facts/probes.yaml").read_bytes())
    assert {row for feature in raw.values() for row in feature["rows"]} == set(probes)


def test_sets_of_targets_survive_their_text() -> None:
    for text in ("90*", "90a 100af 120", "75 80 121f", ""):
        assert encode(decode(text, UNIVERSE, "test"), UNIVERSE) == text


@pytest.mark.parametrize(
    ("raw", "message", "hint"),
    [
        ({"features": {"x": {"title": "t", "names": [], "mnemonik": []}}}, "mnemonik", "known"),
        ({"features": {"x": {"title": "t", "nmes": []}}}, "nmes", "names"),
        ({"features": {"x": {"title": "t"}}, "measured": {"y": {"have": "90"}}}, '"y"', "x"),
        ({"features": {"x": {"title": "t"}}, "measured": {"x": {"have": "12O"}}}, "12O", "sm_12"),
        ({"features": {"x": {"title": "t"}}, "measured": {"x": {"have": "75a"}}}, "75a", "sm_75"),
        ({"features": {"x": {"title": "t", "falls_back": "wgma"}, "wgmma": {"title": "t"}}}, "wgma", "wgmma"),
        ({"features": {"x": {}}}, "title", ""),
        ({"features": ["x"]}, "expected names", ""),
    ],
)
def test_what_nobody_would_have_meant_is_refused(raw: object, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        compile_features(raw, UNIVERSE, "features.yaml")
    assert message in caught.value.title
    assert hint in caught.value.hint


@pytest.mark.nvcc
def test_the_table_is_what_ptxas_says() -> None:
    ptxas = facts_features.find_ptxas()
    if ptxas is None or not facts_features.version_of(ptxas).startswith("13.0."):
        pytest.skip("no ptxas of CUDA 13.0")
    assert facts_features.check(ptxas, sample=25) == []


@pytest.mark.nvcc
def test_a_drift_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    ptxas = facts_features.find_ptxas()
    if ptxas is None or not facts_features.version_of(ptxas).startswith("13.0."):
        pytest.skip("no ptxas of CUDA 13.0")
    features = dict(CATALOG.features)
    features["griddep-wait"] = features["wgmma"]
    monkeypatch.setattr(facts_features, "compile_features", lambda *_: features)
    monkeypatch.setattr(facts_features, "known_targets", lambda _: ["89", "90"])
    drift = facts_features.check(ptxas, sample=0)
    assert drift == ["griddep-wait (griddepcontrol.wait): sm_90 accepts it"]


@pytest.mark.nvcc
def test_the_macros_are_what_nvcc_defines() -> None:
    import shutil

    if shutil.which("nvcc") is None or not facts_macros.tool_name().startswith("nvcc 13.0."):
        pytest.skip("no nvcc of CUDA 13.0")
    run = subprocess.run(
        [sys.executable, facts_macros.__file__, "--check"], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "no drift"


def test_every_probe_is_recognised_as_what_it_measures() -> None:
    """In asm text, each probe means its feature, and nothing that fewer targets have."""
    from archscan.catalog.recognise import Recogniser

    recogniser = Recogniser(CATALOG)
    raw = yaml.safe_load((ROOT / "rules/facts/features.yaml").read_bytes())["features"]
    probes = yaml.safe_load((ROOT / "rules/facts/probes.yaml").read_bytes())
    wrong = []
    for name, row in ((name, row) for name, feature in raw.items() for row in feature["rows"]):
        snippet, directives = probes[row]
        if directives:
            continue  # said outside of the body
        lines = "\n".join(f'"{line}\\n"' for line in snippet.replace('"', '\\"').splitlines())
        found = {use.feature for use in recogniser.in_code(f"asm volatile(\n{lines} ::);".encode())}
        mask = UNIVERSE.device
        for feature in found:
            mask &= CATALOG.features[feature].mask
        if name not in found or mask != CATALOG.features[name].mask:
            wrong.append((name, row, sorted(found)))
    assert wrong == []
