"""What reports say in plain words, and what their words mean."""

from __future__ import annotations

import json

import pytest

from archscan import cli
from archscan.model.finding import Advice, Consequence, Problem
from archscan.reporting.plain import GLOSSARY, HAPPENS


def test_every_word_of_a_finding_is_explained() -> None:
    assert {advice.value for advice in Advice} <= set(GLOSSARY)
    assert {problem.value for problem in Problem} <= set(GLOSSARY)
    assert set(HAPPENS) == set(Consequence)


def test_explain_knows_the_words_of_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "pair", "--isolated"]) == 0
    assert capsys.readouterr().out.startswith("pair: The gate is half of something")
    assert cli.run(["explain", "pair", "-f", "json", "--isolated"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["word"], document["meaning"]) == ("pair", GLOSSARY["pair"])


def test_a_misspelled_word_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "widen-saf", "--isolated"]) == 2
    assert "did you mean 'widen-safe'?" in capsys.readouterr().err
