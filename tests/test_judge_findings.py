"""What a finding says: consequence, advice, risk, order, pairs, suppression, fingerprints, filters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_gates import CATALOG, UNIVERSE, features, gate, kernel, only, place, report

from archscan.catalog.targets import select
from archscan.catalog.types import EvidenceRow
from archscan.judge import judge
from archscan.model.facts import Facts, FileFacts, Origin, Site, SiteKind, Suppression
from archscan.model.finding import Evidence
from archscan.model.gate import Does, Effect, Kind, Layer, Mention, Scope
from archscan.model.settings import JudgeSettings
from archscan.model.truth import always

RAISES = Effect(Does.RAISES, message="not here")
WORK = Effect(Does.WORK)


def below_120(t):
    return 90 <= t.sm < 120


def said(finding):
    return finding.consequence.value, finding.advice.value, finding.risk.level.value


WAIT, TRIGGER = features("griddep-wait"), features("griddep-launch")


@pytest.mark.parametrize(
    ("uses", "whole_body", "expected"),
    [
        (WAIT, False, ("race", "widen-perf-risk", "high")),
        (TRIGGER, False, ("degraded_tuning", "widen-perf-risk", "high")),
        ((*WAIT, *TRIGGER), False, ("race", "widen-perf-risk", "high")),
        (WAIT, True, ("silent_noop", "widen-perf-risk", "high")),
        ((), True, ("silent_noop", "widen-safe", "low")),
        (features("ldmatrix"), True, ("silent_noop", "widen-safe", "low")),
        (features("wgmma"), True, ("silent_noop", "widen-unsafe-compile", "blocked")),
        (features("wgmma"), False, ("correct_exclusion", "leave", "blocked")),
        (features("tcgen05"), False, ("correct_exclusion", "leave", "blocked")),
    ],
)
def test_device_code_that_is_compiled_out(uses, whole_body, expected):
    assert said(only(report(gate(below_120, uses=(uses,), scope=kernel(whole_body=whole_body))))) == expected


@pytest.mark.parametrize(
    ("gets", "layer", "expected"),
    [
        (Effect(Does.RETURNS, value="0"), Layer.PREPROCESSOR, "wrong_result"),
        (Effect(Does.REFUSES, value="false"), Layer.PREPROCESSOR, "wrong_result"),
        (Effect(Does.TRAPS), Layer.PREPROCESSOR, "trap"),
        (Effect(Does.ERRORS), Layer.PREPROCESSOR, "compile_error"),
        (Effect(Does.WORK), Layer.PREPROCESSOR, "slow_fallback"),
        (RAISES, Layer.PYTHON, "runtime_error"),
        (Effect(Does.REFUSES, value="False"), Layer.PYTHON, "slow_fallback"),
        (Effect(Does.REFUSES, value="cudaErrorNotSupported"), Layer.HOST, "runtime_error"),
        (Effect(Does.SKIPS), Layer.BUILD, "load_error"),
        (Effect(Does.ERRORS), Layer.BUILD, "compile_error"),
    ],
)
def test_what_the_else_does(gets, layer, expected):
    split = gate(below_120, None, does=(WORK, gets), layer=layer)
    assert only(report(split)).consequence.value == expected


def test_a_constant_in_both_arms_is_tuning():
    tiles = gate(
        below_120, None, does=(Effect(Does.RETURNS, value="(128, 64)"), Effect(Does.RETURNS, value="(64, 64)"))
    )
    assert said(only(report(tiles)))[:2] == ("degraded_tuning", "widen-needs-tuning")


@pytest.mark.parametrize(
    ("near", "advice"),
    [
        ("", "investigate"),
        ("work-around for a library fault", "investigate"),  # words are quoted, and decide nothing
        ("portable element-wise kernel, faster than the other", "investigate"),
        ("goes by _DSL_TARGETS as well", "investigate"),
        ("deliberate: other chips are slower", "investigate"),  # of whom it is meant is not said
        ("deliberate: sm_90 alone", "investigate"),
        ("deliberately not for sm_120", "leave"),  # the one thing that words may do
        ("needs wgmma", "leave"),  # which no variant of the target assembles
        ("needs ldmatrix", "investigate"),  # which it does
    ],
)
def test_words_beside_a_gate(near, advice):
    listed = gate(lambda t: t.major == 9, rest=RAISES, kind=Kind.ALLOW_LIST, layer=Layer.PYTHON, near=near)
    finding = only(report(listed))
    assert finding.advice.value == advice
    if advice == "leave":
        assert near in finding.risk.reasons[0].evidence[0].fact  # quoted
        assert finding.risk.reasons[0].evidence[0].confidence == "low"


@pytest.mark.parametrize("name", ["fp8_gemm_sm90", "gemm"])
def test_a_name_that_holds_other_chips_says_nothing(name):
    named = gate(lambda t: t.major in (9, 10), rest=RAISES, layer=Layer.PYTHON, scope=Scope(name))
    assert said(only(report(named))) == ("runtime_error", "investigate", "medium")


@pytest.mark.parametrize(
    ("condition", "target", "relation", "advice"),
    [
        (lambda t: t.major in (9, 10), "sm120", "newer", "investigate"),
        (lambda t: t.major == 9, "sm120", "newer", "leave"),  # one chip, and another's
        (lambda t: t.sm == 89, "sm86", "sibling", "leave"),  # chips of major 8 have little in common
        (lambda t: t.major == 9, "sm89", "older", "leave"),
        (lambda t: t.sm == 121, "sm120", "sibling", "investigate"),
        (lambda t: t.sm >= 103, "sm100", "older", "leave"),  # a lower bound above it, whoever is among those
        (lambda t: t.sm == 103, "sm100", "sibling", "investigate"),
        (lambda t: t.major in (8, 12), "sm100", "between", "investigate"),
    ],
)
def test_how_the_target_stands_to_those_let_in(condition, target, relation, advice):
    finding = only(report(gate(condition, rest=RAISES, layer=Layer.PYTHON), target=target))
    assert (finding.relation.value, finding.advice.value) == (relation, advice)


@pytest.mark.parametrize(
    ("missing", "capability", "advice"),
    [
        ((), "can", "widen-safe"),
        ((Mention("mbarrier.pending_count.b64", 11),), "unknown", "investigate"),
        (None, "unknown", "investigate"),
    ],
)
def test_an_inventory_answers_only_where_it_is_complete(missing, capability, advice):
    finding = only(report(gate(below_120, scope=kernel(whole_body=True), missing=missing)))
    assert (finding.capability.value, finding.advice.value) == (capability, advice)
    assert finding.missing == tuple(m.name for m in missing or ())


def test_one_variant_has_to_have_all_of_it():
    split = (*features("cvt-fp4"), *features("ldmatrix"))  # on 120a and 120f, and everywhere
    assert only(report(gate(below_120, uses=(split,)))).capability.value == "can"
    assert only(report(gate(below_120, uses=(split,)), target="sm_120")).capability.value == "can"
    assert only(report(gate(below_120, uses=(features("wgmma"),)))).capability.value == "cannot"


@pytest.mark.parametrize(
    ("gets", "severity"),
    [
        (Effect(Does.NOTHING), "high"),
        (Effect(Does.TRAPS), "high"),
        (Effect(Does.ERRORS), "high"),
        (Effect(Does.WORK), "medium"),
    ],
)
def test_severity_is_of_today(gets, severity):
    finding = only(report(gate(below_120, rest=gets, scope=kernel(whole_body=True))))
    assert finding.severity.value == severity


def test_a_suffix_that_would_do_is_a_medium_risk():
    wide = gate(lambda t: t.sm >= 100, None, uses=(features("cvt-fp4"), ()))
    finding = only(report(wide))
    assert said(finding) == ("compile_error", "narrow", "medium")
    assert finding.severity.value == "low"
    assert "only if you build for sm_120: sm_120a, sm_120f can" in finding.message
    assert not report(wide, target="sm_120a").findings
    assert not report(wide, target="sm_121f").findings


def test_an_instruction_that_no_variant_has_is_a_high_risk():
    wide = gate(lambda t: t.sm >= 90, uses=(features("wgmma"),))
    assert said(only(report(wide))) == ("compile_error", "narrow", "high")
    assert not report(wide, target="sm_90a").findings


def test_what_a_nested_gate_holds_is_its_own_affair():
    outer = gate(lambda t: t.sm >= 90, uses=(features("wgmma"),), line=10)
    outer = replace(outer, arms=(replace(outer.arms[0], body=place(11, 40), features=features("wgmma", line=25)),))
    inner = gate(lambda t: t.sm == 90 and t.suffix == "a", line=20, uses=(features("wgmma"),))
    assert [(f.problem.value, f.place.line) for f in report(outer, inner).findings] == [("excluded", 20)]


@pytest.mark.parametrize(
    ("target", "found"), [("sm_120f", True), ("sm_120", True), ("sm_120a", False), ("sm_100a", False), ("sm_89", True)]
)
def test_static_shared_memory_hangs_on_the_suffix(target, found):
    site = Site(SiteKind.STATIC_SHARED, "tile", place(5), always(UNIVERSE.all), "transpose", 65536)
    assert bool(report(target=target, sites=(site,)).findings) is found
    small = replace(site, value=49152)
    assert not report(target=target, sites=(small,)).findings


def test_a_table_of_limits():
    values = ("MAX=1536", "MAX=2048")
    table = gate(
        lambda t: t.sm in (86, 89),
        None,
        does=tuple(Effect(Does.DEFINES, value=v) for v in values),
        kind=Kind.MACRO_DEFINITION,
    )
    assert said(only(report(table))) == ("degraded_tuning", "widen-safe", "low")
    assert not report(table, target="sm100").findings
    assert only(report(table, target="sm120")).form == "limit-table"


def attribute(detail=""):
    return Site(SiteKind.PDL_ATTRIBUTE, "attribute", place(90), always(UNIVERSE.all), "launch", detail=detail)


def test_the_launch_attribute_without_its_wait():
    wait = gate(below_120, uses=(WAIT,), scope=kernel("scale"))
    found = report(wait, sites=(attribute(),))
    assert [(f.problem.value, f.place.line, said(f)) for f in found.findings] == [
        ("excluded", 10, ("race", "pair", "high")),
        ("disagrees", 90, ("race", "pair", "high")),
    ]
    assert [(r.line, r.role.value) for r in found.findings[0].related] == [(90, "pair")]
    assert not report(wait, sites=(attribute(),), target="sm100").findings


def test_an_attribute_that_a_predicate_withholds():
    wait = gate(below_120, uses=(WAIT,), scope=kernel("scale"))
    answers = (Effect(Does.RETURNS, value="true"),)
    no = Effect(Does.REFUSES, value="false")
    host = {"layer": Layer.HOST, "kind": Kind.RETURNED_TRUTH, "line": 60, "scope": Scope("overlaps"), "rest": no}
    withheld = gate(lambda t: t.major == 9, does=answers, **host)
    problems = {f.problem.value for f in report(wait, withheld, sites=(attribute("overlaps(dev)"),)).findings}
    assert problems == {"excluded"}
    granted = gate(lambda t: t.major >= 9, does=answers, **host)
    found = report(wait, granted, sites=(attribute("overlaps(dev)"),))
    assert [f.place.line for f in found.findings if f.problem.value == "disagrees"] == [60]


def test_a_trigger_that_is_live_without_the_wait():
    wait = gate(below_120, uses=(WAIT,), scope=kernel("scale"))
    site = Site(SiteKind.PDL_TRIGGER, "trigger", place(70), always(UNIVERSE.all), "scale")
    assert {(f.problem.value, f.place.line) for f in report(wait, sites=(site,)).findings} == {
        ("excluded", 10),
        ("disagrees", 70),
    }


def test_the_host_launches_what_the_device_compiles_out():
    device = gate(lambda t: t.sm == 120, scope=kernel("add", whole_body=True))
    host = gate(lambda t: t.major == 12, layer=Layer.HOST, line=50)
    host = replace(host, arms=(replace(host.arms[0], calls=("add",)),))
    found = report(device, host, target="sm121")
    assert {(f.problem.value, f.place.line) for f in found.findings} == {("excluded", 10), ("disagrees", 50)}
    assert {f.consequence.value for f in found.findings} == {"silent_noop"}


def test_worst_first():
    noop = gate(below_120, scope=kernel(whole_body=True), line=400)
    race = gate(below_120, uses=(WAIT,), line=300, scope=kernel())
    cheap = gate(lambda t: t.sm in (90, 121), rest=RAISES, layer=Layer.PYTHON, line=200)
    dear = gate(below_120, uses=(TRIGGER,), line=100)
    leave = gate(below_120, uses=(features("wgmma"),), line=50)
    assert [f.place.line for f in report(leave, dear, cheap, race, noop).findings] == [400, 300, 100, 200, 50]


def test_every_reason_has_evidence_with_a_source():
    for finding in report(
        gate(below_120, uses=(WAIT,)), gate(lambda t: t.sm >= 90, uses=(features("wgmma"),), line=50)
    ).findings:
        assert finding.risk.reasons
        for reason in finding.risk.reasons:
            assert reason.evidence and all(e.source and e.confidence for e in reason.evidence)


def test_contested_facts_show_both_sides():
    finding = only(report(gate(below_120, uses=(features("cluster"),))))
    assert finding.advice.value == "contested"
    reason = next(r for r in finding.risk.reasons if r.text.startswith("contested"))
    assert len({e.source for e in reason.evidence}) >= 2


def test_context_puts_matching_evidence_first():
    def row(name, *conditions):
        fact = Evidence(name, name, "high", conditions)
        return EvidenceRow(name, frozenset({"griddep-wait"}), frozenset({120}), frozenset(), "neutral", fact)

    catalog = replace(CATALOG, evidence=(row("a"), row("b", "8 GPUs, tp8")))

    def first(*context):
        file = FileFacts("kernel.cu", 100, gates=(gate(below_120, uses=(WAIT,), scope=kernel()),))
        settings = JudgeSettings(context=context)
        finding = only(judge(Facts((file,)), select("sm120", catalog), catalog, settings))
        return next(r.evidence[0].fact for r in finding.risk.reasons if r.text == "also known")

    assert (first(), first("tp8"), first("pcie")) == ("a", "b", "a")


def test_equal_gates_share_a_group():
    waits = [gate(below_120, uses=(WAIT,), line=line) for line in (100, 200)]
    other = gate(lambda t: t.sm == 90, uses=(WAIT,), line=300)
    found = {f.place.line: f.group for f in report(*waits, other).findings}
    assert found[100] == found[200] is not None
    assert found[300] is None


def test_fingerprints_survive_shifted_lines_and_tell_equals_apart():
    def prints(*lines):
        return [f.fingerprint for f in report(*(gate(below_120, uses=(WAIT,), line=n) for n in lines)).findings]

    assert prints(100, 200) == prints(130, 290)
    assert len(set(prints(100, 200))) == 2


@pytest.mark.parametrize(
    ("line", "alone", "rules", "covered"),
    [
        (10, False, (), True),
        (10, False, ("upper-bound-gate",), True),
        (10, False, ("equality-gate",), False),
        (9, True, (), True),
        (9, False, (), False),
        (11, False, (), False),
    ],
)
def test_suppression(line, alone, rules, covered):
    found = report(gate(below_120), suppressions=(Suppression(line, rules, "known", alone),))
    assert (len(found.findings), len(found.suppressed)) == ((0, 1) if covered else (1, 0))
    assert found.unused_suppressions == (() if covered else (("kernel.cu", line),))


def test_others_code_is_counted():
    assert report(gate(below_120), origin=Origin.VENDORED).hidden == (("vendored", 1),)
    shown = report(gate(below_120), origin=Origin.VENDORED, settings=JudgeSettings(include_vendored=True))
    assert (len(shown.findings), shown.hidden) == (1, ())


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        (JudgeSettings(min_risk="high"), [300]),
        (JudgeSettings(problems=frozenset({"over-admitted"})), [300]),
        (JudgeSettings(layers=frozenset({"python"})), [200]),
        (JudgeSettings(rules=frozenset({"upper-bound-gate"})), [100]),
        (JudgeSettings(focus=("other",)), []),
        (JudgeSettings(focus=("kernel.cu",)), [100, 200, 300]),
    ],
)
def test_filters(settings, left):
    gates = (
        gate(below_120, uses=(features("ldmatrix"),), line=100),
        gate(lambda t: t.sm == 121, rest=RAISES, layer=Layer.PYTHON, line=200),
        gate(lambda t: t.sm >= 90, uses=(features("wgmma"),), line=300),
    )
    assert sorted(f.place.line for f in report(*gates, settings=settings).findings) == left


def test_definitions_of_one_macro_are_one_choice():
    def define(condition, line):
        return gate(condition, does=(Effect(Does.DEFINES),), kind=Kind.MACRO_DEFINITION, symbols=("ON",), line=line)

    hopper, consumer, blackwell = (
        define(lambda t: t.sm == 90, 10),
        define(lambda t: t.sm == 120, 30),
        define(lambda t: t.major == 10, 50),
    )
    assert not report(hopper, consumer).findings
    assert [f.place.line for f in report(hopper, blackwell).findings] == [50]


def test_template_tags_of_one_kernel_are_one_choice():
    def tag(condition, line, name):
        return gate(condition, kind=Kind.WINDOW, layer=Layer.DEVICE, scope=kernel("axpy"), symbols=(name,), line=line)

    tags = (tag(lambda t: 80 <= t.sm < 90, 10, "Sm80"), tag(lambda t: 90 <= t.sm < 100, 20, "Sm90"))
    assert [f.place.line for f in report(*tags).findings] == [20]
    assert not report(*tags, target="sm90").findings


@pytest.mark.parametrize(
    ("chips", "rest", "advice"),
    [
        ((80, 90), RAISES, "leave"),
        ((80, 86, 90), RAISES, "investigate"),  # a ladder that follows the chips, and ends before the target
        ((80, 86, 90), Effect(Does.RETURNS, value="general(x)"), "leave"),  # choices, and a way for all others
        ((80, 121), Effect(Does.RETURNS, value="general(x)"), "investigate"),  # one is of the target's family
    ],
)
def test_rungs_for_one_chip_each(chips, rest, advice):
    def only_for(sm):
        return lambda t: t.sm == sm

    ways = tuple(Effect(Does.RETURNS, value=f"for_{sm}(x)") for sm in chips)
    finding = only(report(gate(*map(only_for, chips), does=ways, rest=rest, layer=Layer.PYTHON), target="sm120"))
    assert finding.advice.value == advice
