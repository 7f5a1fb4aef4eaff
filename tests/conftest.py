"""Generated inputs: the same in each run, so that a failure belongs to the change that is tested; new ones at night.

Nothing that a test keeps goes to the directories of whoever runs it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import settings

from archscan.judge import report as judging
from archscan.judge import table
from archscan.judge.case_context import CaseContext, Recommendation
from archscan.model.finding import Advice

settings.register_profile("same inputs each time", derandomize=True)
if "ARCHSCAN_FUZZ_EXAMPLES" not in os.environ:
    settings.load_profile("same inputs each time")


@pytest.fixture
def as_if_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what nothing is known there is no fix: with this, such gates are judged as if somebody had run them."""

    def known(weighed: CaseContext) -> Recommendation:
        advised = table.advise(weighed)
        tuned = advised.advice is Advice.INVESTIGATE
        return replace(advised, advice=Advice.WIDEN_NEEDS_TUNING) if tuned else advised

    monkeypatch.setattr(judging, "advise", known)


@pytest.fixture(autouse=True, scope="session")
def directories_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache and a state directory for the whole run."""
    base = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(base / "cache"))
        patch.setenv("XDG_STATE_HOME", str(base / "state"))
        yield
