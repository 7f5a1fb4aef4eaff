"""Python sees the GPU, not what was compiled: all variants of an SM take the same arm, whatever the spelling."""

from __future__ import annotations

import pytest
from test_python_cases import UNIVERSE, gates


@pytest.mark.parametrize("condition", ["torch.cuda.get_device_capability() >= (9, 0)", "sm_version in (90, 120)"])
def test_variants_of_an_sm_share_the_arm(condition: str) -> None:
    (gate,) = gates(
        f"""
        import torch

        def pick(sm_version):
            if {condition}:
                return fast()
            return slow()
        """
    )
    taken = {t.sm for t in UNIVERSE.members(gate.arms[0].own.yes)}
    others = {t.sm for t in UNIVERSE.members(gate.arms[0].own.no)}
    assert not taken & others
    assert 90 in taken
    assert 89 in others


def test_a_function_that_binds_a_name_to_itself_still_answers() -> None:
    (gate,) = gates(
        """
        import torch

        def version(steps):
            major, minor = torch.cuda.get_device_capability()
            count = 0
            for step in steps:
                count = count + step
            return major * 10 + minor

        def pick(steps):
            if version(steps) >= 120:
                return fast()
            return slow()
        """
    )
    assert {t.sm for t in UNIVERSE.members(gate.arms[0].assumed.yes)} == {120, 121}
    assert 110 in {t.sm for t in UNIVERSE.members(gate.arms[0].assumed.no)}


@pytest.mark.parametrize(("bounds", "open_for"), [("80, 90", {80, 86, 89}), ("90, 104", {90, 100, 103})])
def test_range_holds_its_numbers_without_the_end(bounds: str, open_for: set[int]) -> None:
    (gate,) = gates(
        f"""
        def pick(cc):
            if cc in range({bounds}):
                return fast()
            raise RuntimeError("not for this GPU")
        """
    )
    assert {t.sm for t in UNIVERSE.members(gate.arms[0].own.yes)} == open_for
    assert gate.rest.refuses
