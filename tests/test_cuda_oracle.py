"""Verdicts on real packages agree with nvcc's preprocessor; the whole comparison is scripts/oracle_diff.py."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cuda_scan import catalog

ORACLE, CORPORA = os.environ.get("ARCHSCAN_ORACLE", ""), os.environ.get("ARCHSCAN_CORPORA", "")

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not (ORACLE and CORPORA), reason="ARCHSCAN_ORACLE and ARCHSCAN_CORPORA are not set"),
]


def _script() -> ModuleType:
    path = Path(__file__).parent.parent / "scripts" / "oracle_diff.py"
    spec = importlib.util.spec_from_file_location("oracle_diff", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["oracle_diff"] = module
    spec.loader.exec_module(module)
    return module


def test_a_sample_of_the_oracle() -> None:
    oracle_diff = _script()
    rows = oracle_diff.read_rows(Path(ORACLE))
    sample = random.Random(7).sample(rows, min(len(rows), 1500))
    outcome = oracle_diff.compare(sample, Path(CORPORA), catalog())
    assert outcome.wrong_rows == []
    assert sum(outcome.unknown.values()) <= 0.015 * outcome.answers
    assert len(outcome.unseen) <= 1
