"""Fixes of `#if` conditions: the wanted target flips and no other, checked by the C preprocessor, not by ourselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.catalog.types import Catalog
from archscan.fixing.admission import Reach, admission, preprocessor_test
from archscan.fixing.preprocessor import close_proposals, open_proposals
from archscan.fixing.proposal import applied
from archscan.fixing.prove import Want, Workbench, prove
from archscan.frontends.cuda.front_end import CudaFrontEnd, CudaIndex, CudaProject
from archscan.frontends.protocol import Context
from archscan.model.facts import FileFacts
from archscan.model.finding import Edit
from archscan.model.gate import Arm
from archscan.model.settings import ScanSettings
from archscan.model.target import Target
from archscan.sources import discover

CHIP = ("sm_120", "sm_120a", "sm_120f")
SIBLING = ("sm_121", "sm_121a", "sm_121f")
CASE = b"#if (defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200))\nint x;\n#endif\n"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def bench_of(folder: Path, catalog: Catalog, data: bytes) -> Workbench:
    (folder / "a.cu").write_bytes(data)
    scan = ScanSettings()
    found = discover([str(folder)], scan)
    return Workbench([CudaFrontEnd()], found.sources, Context(catalog, scan))


def first_proven(
    folder: Path, catalog: Catalog, data: bytes, target: str, reach: Reach, opens: bool = True
) -> bytes | None:
    """The bytes after the first proven proposal for the first gate, or None."""
    bench = bench_of(folder, catalog, data)
    gate = bench.before("a.cu")[0].gates[0]
    admitted = admission(catalog.universe, select(target, catalog), reach)
    propose = open_proposals if opens else close_proposals
    for proposal in propose("a.cu", data, gate.arms[0], admitted):
        after = applied(data, proposal.edits)
        want = Want(gate, 0, opens, admitted.mask)
        if prove(bench, [want], proposal.edits, {"a.cu": after}, whole=True).holds:
            return after
    return None


def live(data: bytes, target: Target, catalog: Catalog) -> bool:
    """Whether the first arm is live for a target, by cpp with exactly the macros that nvcc defines for it."""
    bit = catalog.universe.bit(target)
    flags = [
        f"-D{name}={value}"
        for name, values in catalog.macros.values.items()
        for value, mask in values.items()
        if mask & bit and "LIST" not in name
    ]
    done = subprocess.run(["cpp", "-P", "-w", *flags, "-"], input=data, capture_output=True, check=True)
    return b"int x" in done.stdout


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (Reach.EXACT, b"(__CUDA_ARCH__ <= 1200))"),
        (Reach.FAMILY, b"(__CUDA_ARCH__ < 1300))"),
        (Reach.WIDEN, b"#if (defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900))\n"),
    ],
)
def test_upper_bound(tmp_path: Path, catalog: Catalog, reach: Reach, expected: bytes) -> None:
    if reach is Reach.WIDEN:
        arm = bench_of(tmp_path, catalog, CASE).before("a.cu")[0].gates[0].arms[0]
        admitted = admission(catalog.universe, select("sm120", catalog), reach)
        (proposal,) = open_proposals("a.cu", CASE, arm, admitted)
        assert expected in applied(CASE, proposal.edits)
    else:
        after = first_proven(tmp_path, catalog, CASE, "sm120", reach)
        assert after is not None and expected in after


@pytest.mark.parametrize(
    ("condition", "target", "expected"),
    [
        ("__CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030", "sm120", "|| __CUDA_ARCH__ == 1200\n"),
        ("__CUDA_ARCH__ == 900 && N > 3", "sm120", "(__CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1200) && N > 3\n"),
        ("!(__CUDA_ARCH__ >= 1000)", "sm120", "(!(__CUDA_ARCH__ >= 1000)) || __CUDA_ARCH__ == 1200\n"),
        ("defined(__CUDA_ARCH_FEAT_SM100_ALL)", "sm103a", "|| __CUDA_ARCH_SPECIFIC__ == 1030\n"),
    ],
)
def test_tidy_edits(tmp_path: Path, catalog: Catalog, condition: str, target: str, expected: str) -> None:
    after = first_proven(tmp_path, catalog, f"#if {condition}\nint x;\n#endif\n".encode(), target, Reach.EXACT)
    assert after is not None and after.split(b"int")[0].decode().endswith(expected)


@pytest.mark.parametrize(
    ("condition", "opens", "expected"),
    [
        ("__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ != 1200", True, "__CUDA_ARCH__ >= 900"),
        ("__CUDA_ARCH__ != 1200 && __CUDA_ARCH__ >= 900", True, "__CUDA_ARCH__ >= 900"),
        ("__CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1200", False, "__CUDA_ARCH__ == 900"),
        ("(__CUDA_ARCH__ == 1200) || __CUDA_ARCH__ == 900", False, "__CUDA_ARCH__ == 900"),
        ("__CUDA_ARCH__ != 1200", True, "__CUDA_ARCH__ != 1200 || __CUDA_ARCH__ == 1200"),  # nothing else would stay
        ("__CUDA_ARCH__ == 1200 || __CUDA_ARCH__ >= 900", False, "__CUDA_ARCH__ != 1200"),  # it is in the other half
    ],
)
def test_what_names_the_target_alone_is_dropped(
    tmp_path: Path, catalog: Catalog, condition: str, opens: bool, expected: str
) -> None:
    data = f"#if {condition}\nint x;\n#endif\n".encode()
    after = first_proven(tmp_path, catalog, data, "sm120", Reach.EXACT, opens)
    assert after is not None and after.split(b"\nint")[0].decode().endswith(expected)


def test_layout_is_kept(tmp_path: Path, catalog: Catalog) -> None:
    data = b"#  if __CUDA_ARCH__ == 900 || \\\r\n      __CUDA_ARCH__ == 1000  // why\r\nint x;\r\n#  endif\r\n"
    after = first_proven(tmp_path, catalog, data, "sm120", Reach.EXACT)
    assert after == data.replace(b"== 1000", b"== 1000 || __CUDA_ARCH__ == 1200")


def test_ifdef_becomes_if(tmp_path: Path, catalog: Catalog) -> None:
    data = b"#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // why\nint x;\n#endif\n"
    after = first_proven(tmp_path, catalog, data, "sm120", Reach.EXACT)
    assert after == b"#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || __CUDA_ARCH__ == 1200  // why\nint x;\n#endif\n"


def test_a_build_flag_is_not_bypassed(tmp_path: Path, catalog: Catalog) -> None:
    data = b"#if defined(USE_IT) && (__CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)\nint x;\n#endif\n"
    after = first_proven(tmp_path, catalog, data, "sm120", Reach.EXACT)
    assert after == data.replace(b"== 1000)", b"== 1000 || __CUDA_ARCH__ == 1200)")


def test_an_outer_gate_still_shuts_it(tmp_path: Path, catalog: Catalog) -> None:
    data = b"#if __CUDA_ARCH__ < 1200\n#if __CUDA_ARCH__ == 900\nint x;\n#endif\n#endif\n"
    bench = bench_of(tmp_path, catalog, data)
    inner = next(gate for gate in bench.before("a.cu")[0].gates if gate.place.line == 2)
    admitted = admission(catalog.universe, select("sm120", catalog), Reach.EXACT)
    for proposal in open_proposals("a.cu", data, inner.arms[0], admitted):
        after = applied(data, proposal.edits)
        proof = prove(bench, [Want(inner, 0, True, admitted.mask)], proposal.edits, {"a.cu": after}, whole=True)
        assert not proof.holds and proof.why


def test_fixes_that_open_different_targets_hold_together(tmp_path: Path, catalog: Catalog) -> None:
    """Each gate may move on what its own fix opens; one that no fix is for, on what all of them open."""
    test = b"#if __CUDA_ARCH__ == 900\nint x;\n#endif\n"
    bench = bench_of(tmp_path, catalog, test * 3)
    first, second, _third = sorted(bench.before("a.cu")[0].gates, key=lambda gate: gate.place.start)
    named = catalog.universe.by_name
    chip, both = (catalog.universe.mask(named[name] for name in names) for names in (CHIP, (*CHIP, *SIBLING)))
    exact, family = b" || __CUDA_ARCH__ == 1200", b" || __CUDA_ARCH__ == 1200 || __CUDA_ARCH__ == 1210"
    ends = [len(test) * i + test.index(b"\n") for i in range(3)]

    def proven(masks: tuple[int, int], also: bytes = b"") -> bool:
        texts = [(ends[0], exact), (ends[1], family), *([(ends[2], also)] if also else [])]
        edits = tuple(Edit("a.cu", at, at, text.decode()) for at, text in texts)
        wants = [Want(gate, 0, True, mask) for gate, mask in zip((first, second), masks, strict=True)]
        return prove(bench, wants, edits, {"a.cu": applied(test * 3, edits)}, whole=True).holds

    assert proven((chip, both))
    assert not proven((both, both)) and not proven((chip, chip))
    assert proven((chip, both), exact) and not proven((chip, both), family)


def test_what_a_fix_moves_beside_it_is_held_against_that_fix(tmp_path: Path, catalog: Catalog) -> None:
    """A gate inside of the one that is opened moves with it; a fix for fewer targets in another file is no reason."""
    data = {"a.cu": b"#if __CUDA_ARCH__ == 900\n#if __CUDA_ARCH__ >= 890\nint x;\n#endif\n#endif\n"}
    data["b.cu"] = b"#if __CUDA_ARCH__ == 900\nint x;\n#endif\n"
    for path, text in data.items():
        (tmp_path / path).write_bytes(text)
    bench = bench_of(tmp_path, catalog, data["a.cu"])
    named = catalog.universe.by_name
    chip, both = (catalog.universe.mask(named[name] for name in names) for names in (CHIP, (*CHIP, *SIBLING)))
    exact, family = " || __CUDA_ARCH__ == 1200", " || __CUDA_ARCH__ == 1200 || __CUDA_ARCH__ == 1210"
    edits = tuple(
        Edit(path, text.index(b"\n"), text.index(b"\n"), more)
        for (path, text), more in zip(data.items(), (family, exact), strict=True)
    )
    wants = [
        Want(min(bench.before(path)[0].gates, key=lambda g: g.place.start), 0, True, mask)
        for path, mask in zip(data, (both, chip), strict=True)
    ]
    after = {path: applied(text, tuple(edit for edit in edits if edit.path == path)) for path, text in data.items()}
    assert prove(bench, wants, edits, after, whole=True).holds


def test_an_edit_is_evaluated_once_and_each_edit_for_itself(tmp_path: Path, catalog: Catalog) -> None:
    asked: list[str] = []

    class Counting(CudaFrontEnd):
        def gates(self, index: CudaIndex, project: CudaProject, context: Context) -> FileFacts:
            asked.append(index.path)
            return super().gates(index, project, context)

    data = b"#if __CUDA_ARCH__ == 900\nint x;\n#endif\n"
    (tmp_path / "a.cu").write_bytes(data)
    (tmp_path / "b.cu").write_bytes(data)
    found = discover([str(tmp_path)], ScanSettings())
    bench = Workbench([Counting()], found.sources, Context(catalog, ScanSettings()))

    def own(after: dict[str, bytes], path: str) -> int:
        return bench.after(after, whole=False)[path][0].gates[0].arms[0].own.yes

    wider, widest = data.replace(b"==", b">="), data.replace(b"== 900", b">= 800")
    assert own({"a.cu": wider}, "a.cu") == own({"a.cu": wider, "b.cu": widest}, "a.cu")
    assert (
        own({"b.cu": widest}, "b.cu") > own({"a.cu": wider}, "a.cu") > bench.before("a.cu")[0].gates[0].arms[0].own.yes
    )
    assert asked == ["a.cu", "b.cu", "a.cu"]


def test_narrowing_only_the_plain_target(tmp_path: Path, catalog: Catalog) -> None:
    universe = catalog.universe
    plain = universe.bit(universe.by_name["sm_120"])
    assert preprocessor_test(universe, plain) == "(__CUDA_ARCH__ == 1200 && !defined(__CUDA_ARCH_FAMILY_SPECIFIC__))"


@pytest.mark.parametrize("names", [("sm_120",), ("sm_120a", "sm_120f"), ("sm_120a",), ("sm_120", "sm_120a", "sm_120f")])
@pytest.mark.skipif(shutil.which("cpp") is None, reason="needs cpp")
def test_every_test_holds_on_its_set_only(catalog: Catalog, names: tuple[str, ...]) -> None:
    universe = catalog.universe
    test = preprocessor_test(universe, universe.mask(universe.by_name[name] for name in names))
    data = f"#if {test}\nint x;\n#endif\n".encode()
    assert tuple(t.name for t in universe.targets if live(data, t, catalog)) == names


ATOMS = st.one_of(
    st.builds(
        "__CUDA_ARCH__ {} {}".format,
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        st.sampled_from([800, 890, 900, 1000, 1030, 1100, 1200, 1210]),
    ),
    st.sampled_from(
        ["defined(__CUDA_ARCH__)", "defined(__CUDA_ARCH_FEAT_SM90_ALL)", "__CUDA_ARCH_FAMILY_SPECIFIC__ == 1000"]
    ),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("{} || {}".format, inner, inner),
        st.builds("!({})".format, inner),
    ),
    max_leaves=5,
)
TARGETS = [
    "sm_80",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100f",
    "sm_103a",
    "sm_110",
    "sm_120",
    "sm_120a",
    "sm_120f",
]


@pytest.mark.skipif(shutil.which("cpp") is None, reason="needs cpp")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(condition=CONDITIONS, opens=st.booleans())
def test_a_fix_flips_the_target_and_no_other(tmp_path: Path, catalog: Catalog, condition: str, opens: bool) -> None:
    data = f"#if {condition}\nint x;\n#endif\n".encode()
    targets = [catalog.universe.by_name[name] for name in [*TARGETS, "sm_121", "sm_121a", "host"]]
    before = {target: live(data, target, catalog) for target in targets}
    mine = [target for target in targets if target.sm == 120]
    if any(before[target] is opens for target in mine):
        return
    after = first_proven(tmp_path, catalog, data, "sm120", Reach.EXACT, opens)
    assert after is not None, condition
    expected = {target: opens if target in mine else was for target, was in before.items()}
    assert {target: live(after, target, catalog) for target in targets} == expected
    bench = bench_of(tmp_path, catalog, after)
    arm: Arm = bench.before("a.cu")[0].gates[0].arms[0]
    mask = catalog.universe.mask(mine)
    assert (arm.truth.yes if opens else arm.truth.no) & mask == mask
