"""Presence conditions mean what brute force over every world says, for every operator and for what is read off them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archscan.model import condition
from archscan.model.condition import (
    Atom,
    Blame,
    Cond,
    asked,
    atom,
    atoms,
    blamed,
    both,
    choice,
    either,
    folded,
    negated,
    possibly,
    readings,
    restricted,
    supposed,
    surely,
    truth,
    unnamed,
    within,
    without,
)
from archscan.model.truth import Truth

ALL = 0b111111
FROM_9 = 0b111100
UNKNOWNS = tuple(atom(name) for name in "ABCD")
A, B = (asked(unknown, ALL) for unknown in UNKNOWNS[:2])
World = dict[Atom, bool]
Meaning = Callable[[World], int]
Pair = tuple[Cond, Meaning]


def worlds(unknowns: tuple[Atom, ...] = UNKNOWNS) -> Iterator[World]:
    for values in product((False, True), repeat=len(unknowns)):
        yield dict(zip(unknowns, values, strict=True))


def _leaf(mask: int) -> Pair:
    return mask, lambda world: mask


def _ask(unknown: Atom, mask: int) -> Pair:
    return asked(unknown, mask), lambda world: mask if world[unknown] else 0


def _two(name: str, one: Pair, other: Pair) -> Pair:
    (a, f), (b, g) = one, other
    if name == "both":
        return both(a, b), lambda world: f(world) & g(world)
    if name == "either":
        return either(a, b), lambda world: f(world) | g(world)
    return without(a, b), lambda world: f(world) & ~g(world)


def _not(one: Pair) -> Pair:
    a, f = one
    return negated(a, ALL), lambda world: ALL & ~f(world)


def _choice(test: Pair, yes: Pair, no: Pair) -> Pair:
    (a, f), (b, g), (c, h) = test, yes, no
    return choice(a, b, c), lambda world: (f(world) & g(world)) | (h(world) & ~f(world))


def _restricted(one: Pair, unknown: Atom, value: bool) -> Pair:
    a, f = one
    return restricted(a, {unknown: value}), lambda world: f({**world, unknown: value})


MASKS = st.integers(0, ALL)
PAIRS: st.SearchStrategy[Pair] = st.recursive(
    st.builds(_leaf, MASKS) | st.builds(_ask, st.sampled_from(UNKNOWNS), MASKS),
    lambda inner: st.one_of(
        st.builds(_two, st.sampled_from(("both", "either", "without")), inner, inner),
        st.builds(_not, inner),
        st.builds(_choice, inner, inner, inner),
        st.builds(_restricted, inner, st.sampled_from(UNKNOWNS), st.booleans()),
    ),
    max_leaves=12,
)


@given(PAIRS)
def test_every_operator_is_what_brute_force_says(pair: Pair) -> None:
    cond, meaning = pair
    for world in worlds():
        assert restricted(cond, world) == meaning(world)


@given(PAIRS)
def test_sure_and_possible_are_what_every_and_some_world_says(pair: Pair) -> None:
    cond, meaning = pair
    sure, possible = ALL, 0
    for world in worlds():
        sure &= meaning(world)
        possible |= meaning(world)
    assert (surely(cond), possibly(cond)) == (sure, possible)
    found = truth(cond, ALL)
    assert (found.yes, found.no, found.unknown(ALL)) == (sure, ALL & ~possible, possible & ~sure)


@given(PAIRS, PAIRS)
def test_what_means_the_same_is_the_same(one: Pair, other: Pair) -> None:
    same = all(one[1](world) == other[1](world) for world in worlds())
    assert (one[0] == other[0]) is same
    assert without(one[0], one[0]) == 0
    assert pickle.loads(pickle.dumps(one[0])) is one[0] or isinstance(one[0], int)


@given(PAIRS)
def test_a_condition_hangs_on_the_unknowns_that_change_it(pair: Pair) -> None:
    cond, meaning = pair
    matter = {u for u in UNKNOWNS if any(meaning(w) != meaning({**w, u: not w[u]}) for w in worlds())}
    assert set(atoms(cond)) == matter


@given(PAIRS, MASKS)
def test_blame_names_what_changes_it_there_and_which_way(pair: Pair, mask: int) -> None:
    cond, meaning = pair
    expected = []
    for unknown in UNKNOWNS:
        opens = any(meaning({**w, unknown: True}) & ~meaning({**w, unknown: False}) & mask for w in worlds())
        shuts = any(meaning({**w, unknown: False}) & ~meaning({**w, unknown: True}) & mask for w in worlds())
        if opens or shuts:
            expected.append(Blame(unknown.name, None if opens and shuts else opens))
    assert blamed(cond, mask) == tuple(expected)


@given(PAIRS, PAIRS, st.integers(1, 3))
def test_folding_loses_reasons_and_no_truth(one: Pair, other: Pair, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(condition, "MOST_ATOMS", most)
        for name in ("both", "either", "without"):
            cond, meaning = _two(name, one, other)
            sure, possible = ALL, 0
            for world in worlds():
                sure &= meaning(world)
                possible |= meaning(world)
            assert surely(cond) & ~sure == 0
            assert possible & ~possibly(cond) == 0


@given(PAIRS, PAIRS)
def test_what_is_simplified_means_the_same_wherever_that_is_asked(one: Pair, care: Pair) -> None:
    simple = within(one[0], care[0])
    for world in worlds():
        if care[1](world):
            assert restricted(simple, world) == one[1](world)


def test_what_has_been_asked_is_not_asked_again() -> None:
    a, b = (asked(unknown, ALL) for unknown in UNKNOWNS[:2])  # made anew: a full table of nodes is emptied
    assert within(both(a, FROM_9), a) == FROM_9
    assert within(both(a, b), both(b, FROM_9)) is a
    assert within(either(a, b), negated(a, ALL)) is b


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_what_a_reader_is_told_is_strict_truth_and_that_of_one_world(pairs: list[Pair]) -> None:
    whens = [cond for cond, _ in pairs]
    told = readings(whens, ALL, ALL)
    world = {**dict.fromkeys(UNKNOWNS, False), **supposed(whens, ALL)}
    for reading, (cond, meaning) in zip(told, pairs, strict=True):
        assert reading.truth == truth(cond, ALL)
        assert reading.assumed == Truth(meaning(world), ALL & ~meaning(world))
        assert bool(reading.unknowns) == bool(reading.truth.unknown(ALL))
        assert set(reading.assumes) <= set(reading.unknowns)


@given(PAIRS)
def test_what_is_folded_keeps_its_targets_its_names_and_its_opposite(pair: Pair) -> None:
    cond, _ = pair
    fold = folded(cond)
    assert (surely(fold), possibly(fold)) == (surely(cond), possibly(cond))
    assert both(fold, negated(fold, ALL)) == 0
    assert either(fold, negated(fold, ALL)) == ALL
    assert folded(cond) == fold
    if not isinstance(cond, int):
        assert {b.name for b in blamed(fold, ALL)} <= {a.name for a in atoms(cond)}


def test_never_more_unknowns_than_the_cap() -> None:
    cond: Cond = 0
    for number in range(40):
        cond = either(cond, asked(atom(f"FLAG_{number:02}"), 1 << number % 6))
        assert len(atoms(cond)) <= condition.MOST_ATOMS
    assert (surely(cond), possibly(cond)) == (0, ALL)
    assert "FLAG_00" in {b.name for b in blamed(cond, ALL)}


def test_a_bound_that_is_one_of_two_by_a_flag_is_exact() -> None:
    from_900, below_1000, below_1200 = 0b1110, 0b0011, 0b0111  # of 800, 900, 1000, 1200
    limit = choice(asked(atom("USE_X"), 0b1111), below_1000, below_1200)
    cond = both(from_900, limit)
    assert truth(cond, 0b1111).no == 0b1001
    assert truth(cond, 0b1111).yes == 0b0010
    assert blamed(cond, 0b1111) == (Blame("USE_X", False),)


@pytest.mark.parametrize(
    ("branches", "world"),
    [
        ((both(A, FROM_9),), {"A": True}),
        ((without(FROM_9, A),), {"A": False}),
        ((either(A, FROM_9),), {"A": False}),
        ((either(negated(A, ALL), FROM_9),), {"A": True}),
        ((negated(both(A, FROM_9), ALL),), {"A": True}),
        ((negated(either(A, FROM_9), ALL),), {"A": False}),
        ((choice(A, FROM_9, 0b100000),), {"A": True}),
        ((choice(A, 0b000100, FROM_9),), {"A": False}),
        ((both(both(A, B), FROM_9),), {"A": True, "B": True}),
        ((both(either(A, B), FROM_9),), {"A": True}),
        ((A, without(FROM_9, A)), {"A": False}),  # the branch that asks for the target must be reached
        ((A, negated(A, ALL)), {"A": True}),  # no target differs: as it is written
        ((0b11, FROM_9), {}),
    ],
)
def test_the_world_that_is_supposed_is_the_one_in_which_targets_differ(
    branches: tuple[Cond, ...], world: dict[str, bool]
) -> None:
    assert {a.name: holds for a, holds in supposed(branches, ALL).items()} == world


def test_a_default_comes_before_what_would_make_targets_differ() -> None:
    off = asked(atom("OFF", default=False), ALL)
    (unknown,) = atoms(off)
    assert supposed((both(off, FROM_9),), ALL) == {unknown: False}


def test_what_hangs_on_the_architecture_is_never_supposed() -> None:
    hidden = asked(atom("HIDDEN", "architecture"), ALL)
    for cond in (both(both(hidden, A), FROM_9), folded(both(both(hidden, A), FROM_9))):
        world = supposed((cond,), ALL)
        assert not any(a.kind == "architecture" for a in world)
        assert truth(restricted(cond, world), ALL).unknown(ALL) == FROM_9


def test_what_has_been_folded_is_supposed_as_a_whole() -> None:
    fold = folded(both(both(A, B), FROM_9))
    for branches, met in (((fold, without(ALL, fold)), FROM_9), ((without(ALL, fold),), FROM_9)):
        world = supposed(branches, ALL)
        assert truth(restricted(fold, world), ALL).yes == met


def test_an_atom_is_one_object_by_its_fields() -> None:
    assert atom("X") is atom("X")
    assert atom("X") is not atom("X", "env")
    assert atom("X") is not atom("X", place=("a.py", 3))
    assert atom("X").names == ("X",)
    assert pickle.loads(pickle.dumps(atom("X", place=("a.py", 3)))) is atom("X", place=("a.py", 3))


def test_another_process_reads_the_same_diagram() -> None:
    cond = choice(B, both(A, FROM_9), 0b11)
    code = (
        "import pickle, sys\n"
        "from archscan.model.condition import *\n"
        "a, b = asked(atom('A'), 63), asked(atom('B'), 63)\n"
        "assert pickle.loads(sys.stdin.buffer.read()) is choice(b, both(a, 60), 3)\n"
    )
    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(cond), check=True)


def test_unknowns_of_their_own_are_alike_in_nothing_but_their_names() -> None:
    one, other = unnamed(("x",)), unnamed(("x",))
    assert one is not other and one.names == other.names == ("x",)
    cond = both(asked(one, ALL), negated(asked(other, ALL), ALL))
    assert surely(cond) == 0 and possibly(cond) == ALL and [b.name for b in blamed(cond, ALL)] == ["x"]
    assert both(asked(one, ALL), negated(asked(one, ALL), ALL)) == 0
    assert atoms(either(asked(other, ALL), asked(one, ALL))) == (one, other)  # in the order in which they were made
