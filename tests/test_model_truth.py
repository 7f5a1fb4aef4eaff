"""Kleene logic over masks agrees with the truth tables, for every pair of values."""

from __future__ import annotations

from itertools import product

import pytest

from archscan.model.truth import UNKNOWN, Truth, always, never

WORDS = ("yes", "no", "unknown")
VALUES = {"yes": Truth(1, 0), "no": Truth(0, 1), "unknown": UNKNOWN}
AND = {("yes", "yes"): "yes", ("yes", "unknown"): "unknown", ("unknown", "unknown"): "unknown"}
OR = {("no", "no"): "no", ("no", "unknown"): "unknown", ("unknown", "unknown"): "unknown"}


@pytest.mark.parametrize(("a", "b"), list(product(WORDS, WORDS)))
def test_and_or(a: str, b: str) -> None:
    both = VALUES[a] & VALUES[b]
    either = VALUES[a] | VALUES[b]
    assert both.word(1) == AND.get((a, b), AND.get((b, a), "no"))
    assert either.word(1) == OR.get((a, b), OR.get((b, a), "yes"))
    assert (~both) == (~VALUES[a] | ~VALUES[b])


def test_not() -> None:
    assert [(~VALUES[word]).word(1) for word in WORDS] == ["no", "yes", "unknown"]


def test_masks_are_independent() -> None:
    mixed = Truth(0b0011, 0b0100)
    assert [mixed.word(1 << bit) for bit in range(4)] == ["yes", "yes", "no", "unknown"]
    assert mixed & Truth(0b0101, 0b0010) == Truth(0b0001, 0b0110)
    assert mixed | Truth(0b1000, 0b0111) == Truth(0b1011, 0b0100)


def test_unknown_known_only() -> None:
    mixed = Truth(0b0011, 0b0100)
    assert mixed.unknown(0b1111) == 0b1000
    assert mixed.unknown(0b0111) == 0
    assert mixed.known(0b0111)
    assert not mixed.known(0b1000)
    assert mixed.only(0b0110) == Truth(0b0010, 0b0100)


def test_constants() -> None:
    assert always(0b101) == Truth(0b101, 0)
    assert never(0b101) == Truth(0, 0b101)
    assert UNKNOWN.unknown(0b11) == 0b11
