"""Every rule fires where its fixtures and the example of its page say so, and nowhere else."""

from __future__ import annotations

import pytest
from fixture_files import CATALOG, FIXTURES, SILENT, Expected, annotations, entries, expected, fired, reported, shown

from archscan import cli
from archscan.catalog.types import Rule

RULES = sorted(CATALOG.rules)
ENTRIES = [entry for rule in RULES for entry in entries(FIXTURES / rule)]
NAMES = [f"{entry.parent.name}/{entry.name}" for entry in ENTRIES]


def check(found: set[tuple[str, int, str]], wanted: list[Expected], target: str) -> None:
    """Found and expected are the same; known misses are not found."""
    here = [e for e in wanted if e.target == target and e.rule != SILENT]
    missed = {(e.path, e.line, e.rule) for e in here if e.missed}
    assert not found & missed, f"a known miss is found now, write it down: {sorted(found & missed)}"
    assert found == {(e.path, e.line, e.rule) for e in here if not e.missed}


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_fixture(entry):
    wanted = expected(entry)
    assert wanted, "names no target"
    for target in sorted({e.target for e in wanted}):
        check(fired(reported(entry, target)), wanted, target)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_good_and_a_bad_fixture(rule):
    found = entries(FIXTURES / rule)
    assert [e.name.startswith("good") for e in found][:1] == [True]
    good = {x.rule for e in found if e.name.startswith("good") for x in expected(e) if not x.missed}
    bad = {x.rule for e in found if e.name.startswith("bad") for x in expected(e) if not x.missed}
    assert rule not in good and rule in bad


@pytest.mark.parametrize("rule", RULES)
def test_the_wording_was_reviewed(rule):
    """expected.txt is what the text report says; scripts/bless_fixtures.py rewrites it."""
    assert (FIXTURES / rule / "expected.txt").read_text("utf-8") == shown(FIXTURES / rule)


def example_file(rule: Rule) -> tuple[str, str]:
    """The name that the first line of an example gives it, and its text."""
    return rule.example.splitlines()[0].lstrip("/# ").strip(), rule.example


def is_session(rule: str) -> bool:
    """Whether an example is what the command prints of a file in the rule's folder: kernels make no short source."""
    return CATALOG.rules[rule].example.startswith("$ ")


@pytest.mark.parametrize("rule", [rule for rule in RULES if is_session(rule)])
def test_the_session_of_the_page(rule, monkeypatch, capsysbinary):
    monkeypatch.chdir(FIXTURES / rule)
    command, *printed = CATALOG.rules[rule].example.splitlines()
    cli.run([*command.removeprefix("$ archscan ").split(), "--no-cache"])
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert printed == [line for line in lines if f"[{rule}]" in line]


@pytest.mark.parametrize("rule", [rule for rule in RULES if not is_session(rule)])
def test_the_example_of_the_page(rule, tmp_path):
    name, text = example_file(CATALOG.rules[rule])
    path = tmp_path / "example" / name
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    wanted = annotations(text, name)
    assert rule in {e.rule for e in wanted}
    for target in sorted({e.target for e in wanted}):
        check(fired(reported(path, target)), wanted, target)


def test_every_fixture_folder_is_a_rule():
    assert sorted(p.name for p in FIXTURES.iterdir() if p.is_dir()) == RULES
