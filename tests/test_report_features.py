"""The first screen: features in the order of what programs run, with what each layer says and what opening takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_samples import HEADER, LIST, header_finding, list_finding, options, sample

from archscan.model.finding import Advice, Capability, Consequence, Finding, Level, Problem, Reach
from archscan.model.gate import Kind, Layer, Related, Role
from archscan.model.report import Chain, Report, Step
from archscan.reporting import render
from archscan.reporting.features import Feature, features, row, to_open, today
from archscan.reporting.first_screen import next_command
from archscan.reporting.plain import opening, said


def step(finding: Finding, state: str = "shut") -> Step:
    return Step(finding.gate.layer.value, finding.path, finding.place.line, state, "run", finding.fingerprint, "")


def chained(*findings: Finding, id: str = "c1", more: tuple[Step, ...] = ()) -> Chain:
    return Chain(id, id, (*map(step, findings), *more), "")


def report(findings: list[Finding], *chains: Chain, roots: tuple[str, ...] = ("pkg",)) -> Report:
    facts = replace(sample().facts, roots=roots)
    return replace(sample(), findings=tuple(findings), chains=chains, facts=facts)


def moved(finding: Finding, path: str, layer: Layer, **changes: object) -> Finding:
    gate = replace(finding.gate, path=path, layer=layer)
    return replace(finding, gate=gate, fingerprint=f"{path}:{finding.fingerprint}", **changes)


def one(found: tuple[Feature, ...]) -> Feature:
    assert len(found) == 1
    return found[0]


NORM = header_finding(2, (3, 4), 92)
MAJORS = replace(list_finding(), severity=Level.MEDIUM)
LISTING = moved(MAJORS, "aot.py", Layer.BUILD, severity=Level.HIGH, consequence=Consequence.LOAD_ERROR)
LISTING = replace(LISTING, gate=replace(LISTING.gate, kind=Kind.BUILD_FLAG))


def test_a_chain_is_as_bad_as_what_is_met_first() -> None:
    feature = one(features(report([NORM, MAJORS], chained(MAJORS, NORM))))
    assert (feature.met, feature.severity) == (MAJORS, Level.MEDIUM)
    assert today(feature) == "the list of majors lacks 12; once built: launches and writes nothing"


def test_without_a_list_the_kernel_is_met_first() -> None:
    feature = one(features(report([NORM], chained(NORM))))
    assert feature.severity is Level.HIGH
    assert today(feature) == "kernel body is empty on sm_120"


def test_a_list_for_the_ahead_of_time_build_alone_is_low() -> None:
    feature = one(features(report([replace(LISTING, chain="c1")], chained(LISTING))))
    assert feature.severity is Level.LOW
    assert today(feature).endswith("; it is still compiled at first use")


def test_a_list_of_images_leaves_nothing_to_compile_at_first_use() -> None:
    images = replace(LISTING, gate=replace(LISTING.gate, kind=Kind.BUILD_LIST))
    feature = one(features(report([replace(images, chain="c1")], chained(images))))
    assert feature.severity is Level.HIGH
    assert "first use" not in today(feature)


def test_what_is_right_first_opens_nothing() -> None:
    right = replace(MAJORS, advice=Advice.LEAVE, listed=False, severity=Level.INFO)
    feature = one(features(report([NORM, right], chained(right, NORM))))
    assert feature.is_right
    assert to_open(feature, "sm_120") == "nothing to open: what shuts it first is right as it is"
    assert "1. " not in render(report([NORM, right], chained(right, NORM)), "text", options())


def test_a_chain_that_only_lets_in_is_no_feature() -> None:
    unlisted = replace(NORM, listed=False, advice=Advice.INVESTIGATE)
    assert features(report([unlisted], chained(unlisted))) == ()


def test_the_layers_stand_in_the_order_in_which_they_bite() -> None:
    second = replace(NORM, fingerprint="f2", gate=replace(NORM.gate, place=replace(NORM.gate.place, line=9)))
    second = replace(second, place=second.gate.place)
    clean = Step("host", "csrc/a.cu", None, "clean", "built", None, "")
    unknown = Step("device", "csrc/a.cu", 4, "unknown", "built", None, "")
    made = report([NORM, second, MAJORS, LISTING], chained(NORM, second, LISTING, MAJORS, more=(clean, unknown)))
    assert row(features(made)[0]) == "jit x · build x · host o · header 2 x · device ?"


def test_what_the_first_root_runs_comes_first() -> None:
    worse = moved(NORM, "b/csrc/a.cuh", Layer.PREPROCESSOR, chain=None)
    consumer = moved(MAJORS, "a/model.py", Layer.PYTHON, chain="c1", reach=Reach.RUN)
    found = features(report([worse, consumer], chained(consumer), roots=("x/a", "x/b")))
    assert [feature.path for feature in found] == ["a/model.py", "b/csrc/a.cuh"]
    # with one root the header that nothing leads to still comes after code that runs
    found = features(report([worse, replace(consumer, reach=Reach.UNKNOWN)], chained(consumer)))
    assert [feature.path for feature in found] == ["a/model.py", "b/csrc/a.cuh"]
    # of code that runs the worse comes first
    host = moved(NORM, "b/run.cu", Layer.HOST, chain=None)
    found = features(report([replace(consumer, reach=Reach.UNKNOWN), host], chained(consumer)))
    assert [feature.path for feature in found] == ["b/run.cu", "a/model.py"]


def test_what_the_first_root_calls_comes_before_what_nobody_calls() -> None:
    worse = moved(NORM, "b/jit/a.py", Layer.JIT, chain="c1")
    called = moved(MAJORS, "b/jit/z.py", Layer.JIT, chain="c2")
    for caller, first in (("a/model.py:7", "b/jit/z.py"), ("c/model.py:7", "b/jit/a.py")):
        chains = (chained(worse), replace(chained(called, id="c2"), callers=(caller,)))
        found = features(report([worse, called], *chains, roots=("x/a", "x/b")))
        assert found[0].path == first


def test_a_gate_that_shuts_out_of_what_another_package_lets_in_comes_first() -> None:
    called = moved(MAJORS, "b/jit/z.py", Layer.JIT, chain="c1")
    chain = replace(chained(called), callers=("a/model.py:7",))
    for half, first in (("b/jit/y.py", "a/own.py"), ("a/other.py", "b/jit/z.py")):
        related = (Related(half, 1, Role.PAIR, "admits sm_120"),)
        own = moved(MAJORS, "a/own.py", Layer.PYTHON, chain=None, problem=Problem.DISAGREES, related=related)
        found = features(report([called, own], chain, roots=("x/a", "x/b")))
        assert found[0].path == first


def test_a_header_behind_a_call_is_not_known_to_be_run() -> None:
    worse = moved(NORM, "b/jit/a.py", Layer.JIT, chain="c1")
    called = moved(MAJORS, "b/z.cuh", Layer.PREPROCESSOR, chain="c2")
    chains = (chained(worse), replace(chained(called, id="c2"), callers=("a/model.py:7",)))
    assert features(report([worse, called], *chains, roots=("x/a", "x/b")))[0].path == "b/jit/a.py"


def test_what_one_gate_shuts_is_told_once() -> None:
    other = replace(header_finding(9, (10, 10), 50), chain="c2")
    found = features(report([MAJORS, other], chained(MAJORS), chained(MAJORS, other, id="c2")))
    assert one(found).also == ("c2",)
    assert set(one(found).findings) == {MAJORS, other}
    text = render(report([MAJORS, other], chained(MAJORS), chained(MAJORS, other, id="c2")), "text", options())
    assert "1. medium c1 and 1 more: the list of majors lacks 12" in text


def test_what_stands_beside_a_gate_of_a_chain_belongs_to_it() -> None:
    launch = replace(header_finding(9, (10, 10), 80), problem=Problem.DISAGREES, chain=None)
    assert one(features(report([NORM, launch], chained(NORM)))).findings == (NORM, launch)
    elsewhere = moved(launch, "other.cu", Layer.HOST)
    assert len(features(report([NORM, elsewhere], chained(NORM)))) == 2


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "both gates together or neither; high risk: the launch succeeds and writes nothing (flashinfer-ai/"),
        ({"capability": Capability.CANNOT}, "nothing to open: griddep-wait cannot run on sm_120"),
        ({"advice": Advice.INVESTIGATE}, "not known for 1 of 2 gates: nothing is measured of what is behind"),
        ({"advice": Advice.INVESTIGATE, "missing": ("a", "b", "c")}, "not known for 1 of 2 gates: nothing is measured"),
    ],
)  # fmt: skip
def test_whether_a_chain_can_be_opened(changes: dict[str, object], expected: str) -> None:
    kernel = replace(NORM, **changes)
    assert to_open(one(features(report([kernel, MAJORS], chained(MAJORS, kernel)))), "sm_120").startswith(expected)


def test_three_gates_are_told_as_all() -> None:
    third = replace(NORM, fingerprint="f3", gate=replace(NORM.gate, place=replace(NORM.gate.place, line=9)))
    feature = one(features(report([NORM, third, MAJORS], chained(MAJORS, NORM, third))))
    assert to_open(feature, "sm_120").startswith("all 3 gates together or none; high risk: ")


def test_the_header_of_a_chain_names_its_first_places() -> None:
    second = replace(NORM, fingerprint="f3", group=None)
    names = ("a.cu:1,2,3,4,5", "b.cu:1", "c.cu:1", "d.cu:1", "e.cu:1")
    for many, shown in ((names[:3], ", ".join(names[:3])), (names, f"{', '.join(names[:3])} and 2 more files")):
        sentence = f"shut by 9 of 9 gates; open these together: {', '.join(many)}; x is ambiguous"
        chain = replace(chained(MAJORS, NORM, second), sentence=sentence)
        text = " ".join(render(report([NORM, second, MAJORS], chain), "text", options()).split())
        assert f"shut by 9 of 9 gates; open these together: {shown}; x is ambiguous" in text
        whole = " ".join(render(report([NORM, second, MAJORS], chain), "text", options(verbosity=1)).split())
        assert sentence in whole


def test_a_pair_names_its_other_half() -> None:
    launches = tuple(Related(HEADER, n, Role.PAIR, "sets the launch attribute also for sm_120") for n in (5, 6, 7, 8))
    finding = replace(NORM, related=launches)
    assert opening(finding).startswith("only together with the launch code at lines 5, 6, 7 and 1 more; high risk: ")
    half = replace(NORM, related=(Related(LIST, 3, Role.PAIR, "its list lacks it"),))
    assert opening(half).startswith("only together with comm.py:3; ")
    assert opening(replace(NORM, related=())).startswith("only together with its other half; ")
    admits = Related(LIST, 3, Role.PAIR, "admits sm_120; reached by reduce")  # that half is open already
    assert opening(replace(NORM, related=(admits,))).startswith("let it in here, as comm.py:3 does; ")
    assert opening(replace(NORM, related=(admits, *half.related))).startswith("only together with comm.py:3; ")


def test_what_is_said_leaves_out_what_would_help() -> None:
    assert said(replace(NORM, message='no row: "a; b" is raised; widen it')) == 'no row: "a; b" is raised'
    whole = "shuts sm_120 out of x, which lets it in"
    assert said(replace(NORM, message=whole)) == whole


def test_the_next_command_can_be_pasted() -> None:
    feature = one(features(report([MAJORS], chained(MAJORS))))
    assert next_command(feature, "sm_120", options(paths=("a b", "c"))) == "archscan trace c1 --target sm_120 'a b' c"
    build = moved(MAJORS, "CMakeLists.txt", Layer.BUILD, chain=None)
    assert next_command(one(features(report([build]))), "sm_120", options()) == ""


def test_the_first_screen_tells_five_and_counts_the_rest() -> None:
    many = [moved(NORM, f"csrc/f{n}.cuh", Layer.PREPROCESSOR, chain=None) for n in range(7)]
    text = render(report(many), "text", options(gpu="Blackwell: RTX 5090", toolkit="13.0"))
    assert text.startswith("sm_120 (Blackwell: RTX 5090), judged as sm_120, 120a, 120f, CUDA 13.0\n7 files read (")
    assert "7 features shut, wrong or slow: 7 high  (x shut, o lets it in, ? unknown)\n" in text
    assert "\n5. high csrc/f4.cuh: " in text and "\n6. " not in text
    assert "and 2 more: csrc/f5.cuh, csrc/f6.cuh\n" in text


def test_how_many_features_nothing_is_known_of_is_said() -> None:
    asked = replace(MAJORS, advice=Advice.INVESTIGATE, chain=None)
    many = [moved(asked, f"f{n}.py", Layer.PYTHON) for n in range(2)]
    text = render(report([*many, moved(NORM, "csrc/f.cuh", Layer.PREPROCESSOR, chain=None)]), "text", options())
    assert "3 features shut, wrong or slow: 1 high, 2 medium" in text
    assert "\nwhat opening would do is not known of 2\n" in text
    assert "is not known of" not in render(report([NORM], chained(NORM)), "text", options())


def test_a_single_finding_needs_no_first_screen() -> None:
    text = render(replace(report([replace(NORM, chain=None)]), chains=()), "text", options())
    assert text.startswith("high[upper-bound-gate]: ")


def test_what_is_only_to_be_looked_into_is_counted_by_folder() -> None:
    many = [
        moved(NORM, f"{'ab'[n > 1]}/f{n}.py", Layer.PYTHON, listed=False, advice=Advice.INVESTIGATE) for n in range(5)
    ]
    text = render(report(many), "text", options())
    assert "5 gates shut sm_120 out and nothing is known about them: --advice investigate lists them\n" in text
    assert "     3  b\n     2  a\n" in text
