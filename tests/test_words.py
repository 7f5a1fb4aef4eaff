"""What stands for a value is the same in every process, and tells values apart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from archscan.model.gate import Does, Place
from archscan.model.words import words


@dataclass(frozen=True)
class One:
    name: str
    line: int
    inner: object = None


@dataclass(frozen=True)
class Names:
    first: str
    second: str


class Word(str, Enum):
    A = "a"


HERE, THERE = Place(1, 2, 3, 4, 5, 6), Place(7, 8, 9, 10, 11, 12)


def test_values_in_words() -> None:
    assert words(None) == ["None"] and words(b"a") == ["b'a'"] and words(1.5) == ["1.5"]
    assert words(("a", "b")) == ["['a', 'b']"] and words([]) == ["[]"] and words(("a", 1)) == ["(", "'a'", "1", ")"]
    assert words(Names("x", "y")) == ["Names", "['x', 'y']"]
    assert words(One("x", 3, (1,))) == ["One", "(", "'x'", "3", "(", "1", ")", ")"]
    assert words({"b": 1, "a": Word.A}) == ["{", "'a'", repr(Word.A), "'b'", "1", "}"]
    assert words(MappingProxyType({"a": {2, 1}})) == ["{", "'a'", "<", "1", "2", ">", "}"]
    assert words(Does.WORK) == [repr(Does.WORK)]


def test_without_places_it_is_the_same_wherever_it_stands() -> None:
    one, other = One("x", 3, (HERE, 1)), One("x", 30, (THERE, 1))
    assert words(one, places=False) == words(other, places=False) == ["One", "(", "'x'", "(", ".", "1", ")", ")"]
    assert words(one) != words(other)
    assert words(One("x", 3, (HERE, 2)), places=False) != words(one, places=False)
    assert words(HERE)[0] == "Place" and words(HERE) != words(THERE)


PLAIN = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b", "("]) | st.binary(max_size=1)
INNER = st.lists(PLAIN, max_size=2).map(tuple) | st.frozensets(PLAIN, max_size=2)
VALUES = PLAIN | INNER | st.lists(PLAIN | INNER, max_size=3).map(tuple) | st.frozensets(PLAIN | INNER, max_size=3)


@given(VALUES, VALUES)
def test_what_differs_is_told_apart(one: object, other: object) -> None:
    assert (words(one) == words(other)) == (_typed(one) == _typed(other))


def _typed(value: object) -> object:
    """A value in which True is not 1."""
    if isinstance(value, tuple):
        return tuple(map(_typed, value))
    return frozenset(map(_typed, value)) if isinstance(value, frozenset) else (type(value), value)
