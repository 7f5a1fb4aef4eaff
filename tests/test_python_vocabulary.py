"""The byte filter of Python is derived from the vocabulary: what a name may stand for is searched for."""

from __future__ import annotations

import itertools
import re

import pytest

import archscan.frontends.python as front
from archscan.catalog.names import names, one_of
from archscan.frontends.python.interpreter.knowledge import Generations, Knowledge
from archscan.frontends.python.interpreter.values import PerTarget
from archscan.frontends.python.source.triggers import is_trigger, words
from archscan.model.gate import Kind
from archscan.model.truth import Truth
from tests.made_modules import module
from tests.test_python_cases import UNIVERSE, gates

KNOWLEDGE = Knowledge(generations=Generations(dict.fromkeys(names()["chips"], (50, 90))))
LANES = PerTarget(UNIVERSE)


def made() -> list[str]:
    """Names of every form that the vocabulary gives a meaning."""
    owners, heads = ["", *(f"{word}_" for word in names()["owners"])], ["", *(f"{word}_" for word in names()["halves"])]
    found = [f"{under}{owner}{name}" for under in ("", "_") for owner in owners for name in names()["holders"]]
    found += [f"{head}{again}major" for head, again in itertools.product(heads, heads)]
    found += [f"{asks}_{chip}" for asks in ("is", "has", "use", "on") for chip in names()["chips"]]
    found += [f"is_{chip}_or_newer" for chip in names()["chips"]]
    return found + [
        f"{asks}_sm{number}{end}" for asks in ("is", "has") for number in (90, 120) for end in ("", "a", "f")
    ]


def test_every_name_with_a_meaning_is_searched_for() -> None:
    meant = [name for name in made() if KNOWLEDGE.seed(name, LANES) is not None]
    assert len(meant) > 500
    found = words(" ".join(meant).encode())
    assert [name for name in meant if name.encode() not in found] == []


def test_other_names_are_not_searched_for() -> None:
    plain = b"minor captain macro scan small cluster disarm accuracy marathon charm parse paragraph metadata capturing"
    assert words(plain) == frozenset()


def test_the_pieces_of_the_vocabulary_are_plain_words() -> None:
    assert all(re.fullmatch(r"[a-z0-9_|]+", one_of(section)) for section in ("owners", "holders", "halves", "unlike"))


@pytest.mark.parametrize("name", ["device_capacity", "_sm_ver", "cap_tuple", "gpu_cc", "runtime_arch_id"])
def test_a_name_alone_in_its_file_is_met(name: str) -> None:
    assert len(gates(f"def f({name}):\n    if {name} >= 90:\n        return fast()\n    return slow()\n")) == 1


def test_the_filter_drops_no_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        re.sub(r"\bok(\d+)", r"okay_\1", module(seed)) for seed in range(40)
    ]  # names of three letters are not asked
    filtered = [conditions_of(text) for text in texts]
    everything = re.compile(rb"[A-Za-z_]\w*")
    monkeypatch.setattr(front, "words", lambda data: frozenset(everything.findall(data)))
    assert sum(map(len, filtered)) > 40
    for text, with_filter in zip(texts, filtered, strict=True):
        assert conditions_of(text) == with_filter, text


def conditions_of(text: str) -> list[tuple[int, Truth]]:
    """The conditions that tell targets apart, with their truth."""
    found = [(gate.place.start, gate.arms[0].truth) for gate in gates(text) if gate.kind is Kind.IF]
    return [(start, truth) for start, truth in found if truth.yes and truth.no]


def test_words_of_the_filter_are_words_of_the_vocabulary() -> None:
    for section in ("holders", "memory", "searched"):
        assert all(is_trigger(word.encode()) for word in names()[section])
