"""Loading the rules: what is compiled, what is refused, what a user can add."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from archscan.catalog import load, reading
from archscan.catalog.architectures import compile_architectures
from archscan.catalog.effects import compile_effects, effects
from archscan.catalog.evidence import compile_evidence
from archscan.catalog.macros import compile_macros
from archscan.catalog.messages import check_patterns, compile_messages, matching
from archscan.catalog.names import compile_names
from archscan.catalog.names import names as vocabulary
from archscan.catalog.packages import compile_packages
from archscan.catalog.rules import ATTRIBUTES, compile_rule
from archscan.errors import UserError
from archscan.judge import forms
from archscan.judge.verdicts import ExclusionReason

FACTS = Path(__file__).resolve().parent.parent / "rules" / "facts"
CATALOG = load()
UNIVERSE = CATALOG.universe
MACROS = CATALOG.macros


def names(mask: int) -> set[str]:
    return set(UNIVERSE.names(mask))


def test_the_universe_is_host_then_by_sm_plain_a_f() -> None:
    assert [t.name for t in UNIVERSE.targets][:2] == ["host", "sm_50"]
    assert [t.name for t in UNIVERSE.targets][-6:] == ["sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"]
    assert len(UNIVERSE.targets) == 38
    assert {"sm_101a", "sm_107f", "sm_90a"} <= set(UNIVERSE.by_name)
    assert "sm_90f" not in UNIVERSE.by_name


def test_architecture_macros_per_target() -> None:
    assert names(MACROS.values["__CUDA_ARCH__"]["1200"]) == {"sm_120", "sm_120a", "sm_120f"}
    assert names(MACROS.values["__CUDA_ARCH_FEAT_SM120_ALL"]["1"]) == {"sm_120a"}
    assert names(MACROS.values["__CUDA_ARCH_SPECIFIC__"]["1210"]) == {"sm_121a"}
    assert names(MACROS.values["__CUDA_ARCH_FAMILY_SPECIFIC__"]["1210"]) == {"sm_121a", "sm_121f"}
    assert names(MACROS.values["__CUDA_ARCH_FAMILY_SPECIFIC__"]["900"]) == {"sm_90a"}
    assert all(not mask & UNIVERSE.host for mask in MACROS.values["__CUDA_ARCH__"].values())
    assert MACROS.values["__CUDACC__"] == {"1": UNIVERSE.all}
    assert "__CUDA_ARCH_LIST__" in MACROS.unsettled


def test_macros_that_others_define() -> None:
    assert MACROS.is_undefined("__HIP__")
    assert MACROS.is_undefined("__gfx942__")
    assert MACROS.is_undefined("GGML_USE_HIP") and not MACROS.is_undefined("USE_HIPPO")
    assert not MACROS.is_undefined("NDEBUG")
    assert not MACROS.is_undefined("__CUDACC__")


@pytest.mark.parametrize(
    ("cuda", "version"), [("13.0", "13000"), ("12.9", "12090"), ("13", "13000"), ("12.10", "12100")]
)
def test_toolkit_macros_follow_the_version(cuda: str, version: str) -> None:
    assert MACROS.toolkit_values(cuda)["CUDART_VERSION"] == version


@pytest.mark.parametrize(
    ("sm", "key", "value"),
    [
        (120, "smem_per_block_optin_bytes", 101376),
        (90, "smem_per_block_optin_bytes", 232448),
        (80, "smem_per_block_optin_bytes", 166912),
        (89, "max_threads_per_sm", 1536),
        (90, "max_threads_per_sm", 2048),
        (75, "max_threads_per_sm", 1024),
        (120, "smem_per_block_default_bytes", 49152),
        (120, "static_smem_max_bytes", 101376),
        (89, "static_smem_max_bytes", 49152),
        (89, "max_cluster_size_nonportable", 1),
        (120, "max_cluster_size_portable", 8),
        (120, "max_cluster_size_nonportable", None),
    ],
)
def test_limits(sm: int, key: str, value: int | None) -> None:
    limit = CATALOG.architectures[sm].limits[key]
    assert limit.value == value
    assert limit.source


def test_the_digest_stands_for_every_file(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "packages.yaml").write_text("wrappers:\n  - {name: mine, source: me}\n")
    extended = load([tmp_path])
    assert load().digest == CATALOG.digest != extended.digest
    wrappers: Any = extended.packages["wrappers"]
    assert [row["name"] for row in wrappers][-1] == "mine"


def test_the_compiled_catalog_is_kept_by_digest(tmp_path: Path) -> None:
    first = load(kept_in=tmp_path)
    (file,) = tmp_path.iterdir()
    assert load(kept_in=tmp_path) == first == CATALOG
    file.write_bytes(file.read_bytes()[:1000])
    assert load(kept_in=tmp_path) == first


class _Planted:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.mkdir, (Path("planted"),))  # type: ignore[return-value]


def test_a_planted_file_calls_nothing(tmp_path: Path) -> None:
    load(kept_in=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(pickle.dumps(_Planted()))
    assert load(kept_in=tmp_path).digest == CATALOG.digest
    assert not Path("planted").exists()


def test_a_directory_of_the_user_adds_rules_and_facts(tmp_path: Path) -> None:
    (tmp_path / "my-rule.yaml").write_text(yaml.safe_dump(RULE))
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "features.yaml").write_text("features:\n  mine: {title: my feature, names: [my_intrinsic]}\n")
    extended = load([tmp_path])
    assert extended.rules["my-rule"].match == {"form": frozenset({"upper-bound"}), "layer": frozenset({"host"})}
    assert extended.features["mine"].identifiers == {"my_intrinsic"}
    with pytest.raises(UserError, match="no such directory"):
        load([tmp_path / "missing"])


RULE: dict[str, Any] = {
    "title": "t",
    "problem": "excluded",
    "match": {"form": "upper-bound", "layer": ["host"]},
    "what": "w",
    "why": "y",
    "example": "e",
    "severity": "warning",
    "precision": "high",
}


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"severty": "error"}, "severty", "severity"),
        ({"problem": "exclude"}, "exclude", "excluded"),
        ({"match": {"layr": "host"}}, "layr", "layer"),
        ({"match": {"layer": "hots"}}, "hots", "host"),
        ({"match": {"advice": "widen_safe"}}, "widen_safe", "widen-safe"),
        ({"match": {"form": "uper-bound"}}, "uper-bound", "upper-bound"),
        ({"match": {"layer": []}}, "could never apply", ""),
        ({"order": "first"}, "order", ""),
        ({"title": 3}, "expected text", ""),
    ],
)
def test_rules_are_checked(change: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        compile_rule({**RULE, **change}, "my-rule", "my-rule.yaml")
    assert message in caught.value.title
    assert hint in caught.value.hint


def test_every_form_and_way_to_miss_can_be_matched() -> None:
    tree = ast.parse(inspect.getsource(forms))
    returned = (node.value for node in ast.walk(tree) if isinstance(node, ast.Return))
    named = {leaf.value for one in returned for leaf in ast.walk(one) if isinstance(leaf, ast.Constant)}
    written = {value for value in named if isinstance(value, str) and value} | set(forms._BY_KIND.values())
    assert {"never", "sibling", "lower-bound", "list"} < written <= set(ATTRIBUTES["form"].values)
    rule = compile_rule({**RULE, "match": {"why": [why.value for why in ExclusionReason]}}, "my-rule", "my-rule.yaml")
    assert rule.match["why"] == {why.value for why in ExclusionReason}


def test_a_rule_without_a_page_is_refused() -> None:
    with pytest.raises(UserError, match='"why" is missing'):
        compile_rule({key: value for key, value in RULE.items() if key != "why"}, "my-rule", "my-rule.yaml")
    with pytest.raises(UserError, match="lower case"):
        compile_rule(RULE, "My_Rule", "My_Rule.yaml")


ROW: dict[str, Any] = {"id": "x", "features": ["wgmma"], "weighs": "harm", "fact": "f", "source": "s"}


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"feature": "wgmma"}, '"feature"', "features"),
        ({"features": ["wgma"]}, "wgma", "wgmma"),
        ({"sms": [12]}, '"12"', ""),
        ({"sms": [122]}, '"122"', "12"),
        ({"weighs": "harmful"}, "harmful", "harm"),
        ({"confidence": "hihg"}, "hihg", "high"),
        ({"problems": ["excludes"]}, "excludes", "excluded"),
        ({"weighs": "contested"}, "contradicts", ""),
        ({"contradicts": "alone"}, "alone", ""),
    ],
)
def test_evidence_is_checked(change: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        compile_evidence({"evidence": [{**ROW, **change}]}, CATALOG.features, CATALOG.architectures, "mine.yaml")
    assert message in caught.value.title
    assert hint in caught.value.hint


def test_contested_facts_come_with_the_other_side() -> None:
    contested = [row for row in CATALOG.evidence if row.weighs == "contested"]
    assert {row.contradicts for row in contested} == {
        "allreduce-12x",
        "clusters-12x",
        "fp4-gemm-12x",
        "family-image-121",
    }
    for row in contested:
        assert [r for r in CATALOG.evidence if r.contradicts == row.contradicts and r is not row]


def test_evidence_beside_rules_of_the_user_adds_and_overrides(tmp_path: Path) -> None:
    rows = [{**ROW, "id": "wgmma-on-90a-only", "fact": "mine"}, {**ROW, "id": "new", "sms": [120]}]
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts/evidence.yaml").write_text(yaml.safe_dump({"evidence": rows}))
    evidence = {row.id: row for row in load([tmp_path]).evidence}
    assert evidence["wgmma-on-90a-only"].evidence.fact == "mine"
    assert evidence["wgmma-on-90a-only"].evidence.by_user
    assert evidence["new"].sms == {120}
    assert len(evidence) == len(CATALOG.evidence) + 1


@pytest.mark.parametrize("row", CATALOG.messages, ids=lambda row: str(row["id"]))
def test_every_message_finds_its_row(row: dict[str, object]) -> None:
    assert matching(CATALOG.messages, str(row["example"])) is row


@pytest.mark.parametrize(
    ("pasted", "id"),
    [
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\nCompile with",
            "no-kernel-image",
        ),
        ("error   : Feature 'redux.f32' not supported on .target 'sm_120a'", "not-supported-on-target"),
        ("error   : Modifier '.noinc' on 'x' requires .target sm_80 or higher", "feature-requires-target"),
        ("nvcc fatal   : Unsupported gpu architecture 'sm_70'", "unsupported-gpu-architecture"),
        ("NVRM: Xid (PCI:0000:01:00): 13, Graphics SM Warp Exception", "illegal-instruction"),
        ("out of resource: shared memory, Required: 147456, Hardware limit: 101376", "out-of-resources"),
        ("209", "no-kernel-image"),
        ("CUDA error 500", "named-symbol-not-found"),
        ("500", "named-symbol-not-found"),
        ("RuntimeError: CUDA error: named symbol not found\nCUDA kernel errors might", "named-symbol-not-found"),
        ("218", "invalid-ptx"),
        ("error 222", "unsupported-toolchain"),
        ("2090", None),
        ("segmentation fault", None),
    ],
)
def test_pasted_messages(pasted: str, id: str | None) -> None:
    row = matching(CATALOG.messages, pasted)
    assert (row and row["id"]) == id


def test_messages_and_packages_are_checked() -> None:
    with pytest.raises(UserError, match='unknown key "patern"'):
        compile_messages({"messages": [{"id": "x", "patern": "y"}]}, "messages.yaml")
    row = dict.fromkeys(("id", "title", "meaning", "advice", "source", "example"), "x")
    with pytest.raises(UserError, match="not a regular expression"):
        rows = compile_messages({"messages": [{**row, "pattern": "(", "layers": ["host"]}]}, "messages.yaml")
        check_patterns(rows, "messages.yaml")
    check_patterns(CATALOG.messages, "messages.yaml")
    with pytest.raises(UserError) as caught:
        compile_packages({"facade": []}, "packages.yaml")
    assert "facades" in caught.value.hint
    with pytest.raises(UserError, match='"source" is missing'):
        compile_packages({"wrappers": [{"name": "x"}]}, "packages.yaml")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("architectures", 0, "family"), [50, 999], "999"),
        (("architectures", 0, "limits", "max_thread_per_sm"), "1 pg", "max_thread_per_sm"),
        (("architectures", 0, "limits", "max_threads_per_sm"), "1 nowhere", "nowhere"),
        (("architectures", 0, "limits", "max_threads_per_sm"), "many pg", "expected a number"),
        (("images", "cubin"), "same-mayor", "same-mayor"),
        (("architectures", 0, "variants"), ["x"], '"x"'),
        (("architectures", 0, "sm"), "fifty", "positive number"),
        (("architectures", 0, "products"), ["A100"], "A100"),
    ],
)
def test_architectures_are_checked(path: tuple[Any, ...], value: object, message: str) -> None:
    raw = yaml.safe_load((FACTS / "architectures.yaml").read_bytes())
    place = raw
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(UserError) as caught:
        compile_architectures(raw, "architectures.yaml")
    assert message in caught.value.title


def test_macros_are_checked() -> None:
    with pytest.raises(UserError) as caught:
        compile_macros({"measured": {"sm_12O": {}}}, UNIVERSE, "macros.yaml")
    assert "sm_12" in caught.value.hint


@pytest.mark.parametrize("data", [b"a: [", b"\x00\xff", b"a: *b", b"!!python/object:os.system {}", b"{" * 5000])
def test_what_is_no_yaml_is_said(data: bytes) -> None:
    with pytest.raises(UserError, match=re.escape("x.yaml")):
        reading.parse(data, "x.yaml")


@pytest.mark.parametrize(
    ("section", "row", "message"),
    [
        ("generations", {"name": "x", "first": 10}, "first and last"),
        ("kernel_families", {"name": "x", "pattern": "x", "majors": 9}, "list of majors"),
        ("kernel_families", {"name": "x", "pattern": "(", "majors": [9]}, "pattern"),
    ],
)
def test_names_of_generations_and_kernels_are_checked(section: str, row: dict[str, object], message: str) -> None:
    with pytest.raises(UserError) as caught:
        compile_packages({section: [{**row, "source": "me"}]}, "packages.yaml")
    assert message in str(caught.value)


def test_a_generation_is_known_to_the_front_end_and_to_the_judge() -> None:
    assert CATALOG.generations["hopper"] == 90
    assert all(sm in CATALOG.architectures for sm in CATALOG.generations.values())


def test_a_chip_and_its_other_number_name_each_other() -> None:
    raw = yaml.safe_load((FACTS / "architectures.yaml").read_bytes())
    (thor,) = (entry for entry in raw["architectures"] if entry["sm"] == 110)
    thor["renamed"] = "100 thor"
    with pytest.raises(UserError, match="does not name it in turn"):
        compile_architectures(raw, "architectures.yaml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capabilities": {"words": ["sm"], "source": "me"}}, 'unknown key "capabilities"'),
        ({"chips": {"words": ["hopper"]}}, '"source" is missing'),
        ({"chips": {"words": ["Hopper"], "source": "me"}}, "lower case"),
        ({"phrases": {"words": ["cap"], "source": "me"}}, "two in phrases"),
        ({"chips": {"words": ["hopper", "hopper"], "source": "me"}}, "stands there twice"),
    ],
)
def test_the_vocabulary_is_checked(change: dict[str, object], message: str) -> None:
    sections = {section: {"words": list(words), "source": "me"} for section, words in vocabulary().items()}
    assert compile_names(sections, "names.yaml") == vocabulary()
    with pytest.raises(UserError) as refused:
        compile_names({**sections, **change}, "names.yaml")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prinst": {"words": ["puts"], "source": "me"}}, 'unknown key "prinst"'),
        ({"prints": {"words": ["puts"]}}, '"source" is missing'),
        ({"prints": {"words": ["puts", "puts"], "source": "me"}}, "stands there twice"),
    ],
)
def test_what_names_say_of_a_block_is_checked(change: dict[str, object], message: str) -> None:
    sections = {section: {"words": sorted(words), "source": "me"} for section, words in effects().sections.items()}
    assert compile_effects(sections, "effects.yaml") == effects()
    with pytest.raises(UserError) as refused:
        compile_effects({**sections, **change}, "effects.yaml")
    assert message in str(refused.value)


def test_every_generation_is_a_word_of_the_vocabulary() -> None:
    rows = load().packages["generations"]
    assert {row["name"] for row in rows} <= set(vocabulary()["chips"])  # type: ignore[attr-defined]
