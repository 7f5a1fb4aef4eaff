"""Scores a directory of labelled cases, named by ARCHSCAN_CASES."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from score_cases import Score, scored

CASES = os.environ.get("ARCHSCAN_CASES", "")


@pytest.fixture(scope="module")
def score() -> Score:
    if not CASES:
        pytest.skip("ARCHSCAN_CASES names no directory of cases")
    return scored(Path(CASES))


@pytest.mark.parametrize(
    ("part", "whole", "least"),
    [
        ("found", "required", 0.95),
        ("right", "reported", 0.95),
        ("consequence", "compared", 0.85),
        ("advice", "compared", 0.80),
    ],
)
def test_share(score, part, whole, least):
    assert score.counts[part] >= least * score.counts[whole] > 0, "\n".join(score.deviations)
