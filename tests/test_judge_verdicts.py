"""Excluded or not: both sides of every boundary in the definition."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_gates import gate, kernel, only, report, truth

from archscan.model.gate import Does, Effect, Kind, Layer
from archscan.model.truth import Truth

RAISES, REFUSES, NOTHING = Effect(Does.RAISES), Effect(Does.REFUSES, value="False"), Effect(Does.NOTHING)
WORK, TRAPS, ERRORS = Effect(Does.WORK), Effect(Does.TRAPS), Effect(Does.ERRORS)


def lines(found):
    return [(f.place.line, f.problem.value) for f in found.findings]


@pytest.mark.parametrize(
    ("target", "excluded"),
    [("sm110", False), ("sm120", True), ("sm121", True), ("sm90", False), ("sm89", True), ("sm_120a", True)],
)
def test_a_range_shuts_out_both_sides(target, excluded):
    bounded = gate(lambda t: 90 <= t.sm < 120)
    assert bool(report(bounded, target=target).findings) is excluded


@pytest.mark.parametrize(("target", "excluded"), [("sm75", True), ("sm80", False), ("sm120", False)])
def test_a_lower_bound_shuts_out_older_targets_only(target, excluded):
    assert bool(report(gate(lambda t: t.sm >= 80), target=target).findings) is excluded


@pytest.mark.parametrize(
    ("bound", "target", "excluded"),
    [(80, "sm120", False), (90, "sm120", False), (120, "sm120", True), (90, "sm89", False)],
)
def test_a_legacy_arm_is_no_loss(bound, target, excluded):
    """`< 90` ends before the contemporaries of 12.0; `< 120` does not, and its else serves 12.x alone."""
    assert bool(report(gate(lambda t: t.sm < bound, None), target=target).findings) is excluded


def test_an_older_way_beside_one_that_serves_another_major_is_legacy():
    assert not report(gate(lambda t: t.sm < 100, None)).findings


def test_a_ladder_of_bounds_with_an_else_for_all_that_is_newer_is_legacy():
    ladder = gate(lambda t: t.sm < 80, lambda t: t.sm < 90, lambda t: t.sm < 100, None)
    assert not report(ladder).findings and not report(ladder, target="sm100").findings
    assert report(gate(lambda t: t.sm < 80, lambda t: t.sm == 90, None)).findings


def test_an_arm_of_its_own_is_no_exclusion():
    assert not report(gate(lambda t: t.sm == 90, lambda t: t.major == 12, None)).findings


def test_a_final_else_is_a_fallback():
    assert only(report(gate(lambda t: t.sm == 90, None))).consequence.value == "slow_fallback"


def test_equal_bodies_are_no_loss():
    same = gate(lambda t: t.sm == 90, None, does=(Effect(Does.RETURNS, value="64"),))
    assert not report(same).findings


def test_a_sibling_with_a_narrower_arm_before_a_wide_one():
    ladder = gate(lambda t: t.sm == 120, lambda t: t.sm >= 100, does=(WORK, WORK))
    assert lines(report(ladder, target="sm121")) == [(10, "excluded")]
    assert not report(ladder, target="sm103").findings
    assert not report(ladder, target="sm120").findings


def test_a_sibling_beside_an_arm_that_names_the_target():
    ladder = gate(lambda t: t.sm in (86, 89, 120), lambda t: t.sm in (80, 90), does=(WORK, WORK))
    assert not report(ladder, target="sm80").findings


def test_an_arm_that_an_earlier_one_takes_away():
    ladder = gate(lambda t: t.sm >= 100, lambda t: t.sm == 120, lambda t: t.sm >= 80, does=(WORK, WORK, WORK))
    assert lines(report(ladder)) == [(20, "excluded")]
    assert not report(ladder, target="sm100").findings
    assert not report(ladder, target="sm90").findings


@pytest.mark.parametrize("refusal", [RAISES, REFUSES, TRAPS, ERRORS, Effect(Does.PRINTS), Effect(Does.ASSERTS)])
def test_a_live_arm_that_only_refuses_is_read_inverted(refusal):
    inverted = gate(lambda t: t.sm < 80 or t.sm >= 120, does=(refusal,), rest=WORK)
    finding = only(report(inverted))
    assert (finding.place.line, finding.arm) == (10, -1)
    assert "sm_90" in finding.admits and "sm_120" not in finding.admits
    assert not report(inverted, target="sm90").findings


def test_a_check_with_nothing_behind_it():
    assert lines(report(gate(lambda t: t.sm >= 120, does=(RAISES,)))) == [(10, "excluded")]
    assert not report(gate(lambda t: t.sm >= 120, does=(Effect(Does.PRINTS),))).findings
    assert not report(gate(lambda t: t.sm >= 120, does=(REFUSES,))).findings
    noted = Effect(Does.REFUSES, message="too new")
    assert lines(report(gate(lambda t: t.sm >= 120, does=(noted,)))) == [(10, "excluded")]


def test_a_warning_that_goes_on_is_no_refusal():
    assert not report(gate(lambda t: t.sm == 120, does=(Effect(Does.LOGS),), rest=WORK)).findings


def test_the_gate_that_singles_the_target_out():
    assert lines(report(gate(lambda t: t.major != 12))) == [(10, "excluded")]


def test_one_finding_for_a_ladder_at_the_nearest_relative():
    ladder = gate(lambda t: t.sm == 80, lambda t: t.sm == 90, lambda t: t.major == 10, does=(WORK,) * 3, rest=RAISES)
    finding = only(report(ladder))
    assert finding.place.line == 30
    assert [(r.line, r.role.value) for r in finding.related] == [(10, "duplicate"), (20, "duplicate")]
    assert only(report(ladder, target="sm89")).place.line == 10


def test_a_sibling_is_nearer_than_a_lower_major():
    ladder = gate(lambda t: t.sm == 120, lambda t: t.sm == 110, does=(WORK,) * 2, rest=RAISES)
    assert only(report(ladder, target="sm121")).place.line == 10


def test_a_list_is_reported_where_it_begins():
    listed = gate(lambda t: t.major in (9, 10), rest=RAISES, kind=Kind.KEYWORD_LIST, layer=Layer.JIT)
    finding = only(report(listed))
    assert (finding.form, finding.consequence.value) == ("list", "runtime_error")


def test_a_variant_that_takes_the_arm_is_enough():
    suffixed = gate(lambda t: t.sm == 120 and t.suffix == "a")
    assert not report(suffixed).findings
    with_peer = gate(lambda t: t.sm in (90, 120) and t.suffix == "a")
    assert not report(with_peer).findings
    assert only(report(with_peer, target="sm_120f")).verdict == (("sm_120f", "no"),)


def test_unknown_is_undecided_never_excluded():
    found = report(gate(lambda t: None if t.sm == 120 else t.sm < 120))
    assert not found.findings
    assert [(u.path, u.line) for u in found.undecided] == [("kernel.cu", 10)]


def supposing(condition, supposed, **more):
    """A gate of one arm that is read in a world where the unknown is so."""
    made = gate(condition, **more)
    (arm,) = made.arms
    assumed = truth(lambda t: supposed(t) if condition(t) is None else condition(t))
    return replace(made, arms=(replace(arm, assumed=assumed, unknowns=("USE_X",), assumes=("USE_X",)),))


def test_what_peers_are_sure_of_and_the_target_only_in_a_supposed_world_is_undecided():
    limit = supposing(lambda t: t.sm >= 90 if t.sm < 100 else None, lambda t: t.sm < 130)  # 1000 or 1300 by a flag
    found = report(limit)
    assert not found.findings
    assert [(u.line, u.unknowns) for u in found.undecided] == [(10, ("USE_X",))]
    assert not report(limit, target="sm90").undecided
    alike = report(supposing(lambda t: None if t.sm >= 90 else False, lambda t: True))  # `USE_X && arch >= 900`
    assert not alike.undecided and not alike.findings
    outer = replace(
        limit, arms=(replace(limit.arms[0], own=truth(lambda t: t.sm >= 90)),)
    )  # the flag is asked around it
    assert not report(outer).undecided
    same = (Effect(Does.RETURNS, value="4"),)
    assert not report(replace(limit, rest=same[0], arms=(replace(limit.arms[0], effect=same[0]),))).undecided


def test_what_shuts_out_in_every_world_rests_on_nothing():
    """A bound of 1000 or 1200 says of sm_120 what one of 1200 does; of sm_110 it is the flag that decides."""
    plain = gate(lambda t: 90 <= t.sm < 120, scope=kernel(whole_body=True))
    limit = supposing(
        lambda t: None if 100 <= t.sm < 120 else 90 <= t.sm < 100, lambda t: True, scope=kernel(whole_body=True)
    )
    expected, found = only(report(plain)), only(report(limit))
    assert (found.severity, found.risk.score) == (expected.severity, expected.risk.score)
    assert (found.assumes, found.unknowns) == ((), ())
    flagged = supposing(lambda t: None if 90 <= t.sm < 120 else False, lambda t: True, scope=kernel(whole_body=True))
    assert only(report(flagged)).assumes == ("USE_X",)  # nobody gets it without the flag


def test_a_gate_that_is_never_reached_leaves_it_to_the_outer_one():
    inner = gate(lambda t: False, reach=truth(lambda t: t.sm < 100))
    assert not report(inner).findings and not report(inner).undecided


def test_no_peer_takes_it():
    assert not report(gate(lambda t: t.sm == 75)).findings
    assert not report(gate(lambda t: False)).findings


def test_what_a_kernel_loses():
    assert only(report(gate(lambda t: t.sm < 120, scope=kernel(whole_body=True)))).consequence.value == "silent_noop"


def test_what_is_older_among_those_that_get_there():
    newer = truth(lambda t: t.sm >= 90)
    assert not report(gate(lambda t: t.sm < 100, does=(WORK,), rest=WORK, reach=newer)).findings
    assert lines(report(gate(lambda t: t.major == 9, does=(WORK,), rest=WORK, reach=newer))) == [(10, "excluded")]


def test_a_switch_that_is_set_to_off():
    off = Effect(Does.REFUSES, value="use_fast=False")
    assert lines(report(gate(lambda t: t.sm != 90, does=(off,)))) == [(10, "excluded")]


def test_an_arm_that_asks_for_something_else_serves_nobody():
    ladder = gate(lambda t: True, lambda t: t.major == 10, None, does=(WORK, WORK, WORK))
    unknown = replace(ladder.arms[0], own=Truth(0, 0), truth=Truth(0, 0))
    middle, last = (replace(arm, truth=arm.own, assumed=arm.own) for arm in ladder.arms[1:])
    middle_no = replace(last, truth=~middle.own, assumed=~middle.own)
    assert lines(report(replace(ladder, arms=(unknown, middle, middle_no)))) == [(20, "excluded")]
