"""Presence conditions: for which targets something holds, as a function of what is not known.

A condition is a decision diagram. Its inner nodes ask one unknown each (a macro that a build may set, an environment
variable, an expression nobody can read), its leaves are masks of targets. What holds whatever the unknowns are is a
plain mask, so `int` is a condition too, and everything here is fast where nothing is unknown. Diagrams are ordered,
reduced and interned: two conditions that mean the same are the same object, here and after pickling.

    Cond = int | Node                      a condition
    atom(name, kind, ...) -> Atom          an unknown, interned by all of its fields
    asked(atom, mask) -> Cond              holds on `mask` where the unknown does, nowhere else
    unnamed(names) -> Atom                 an unknown that is no other, however many are called like it
    alternatives(name, count, ...)         conditions of which one holds, and it is not known which
    both, either, without(a, b)            and, or, and not; on masks they are `&`, `|`, `& ~`
    negated(a, everything)                 not
    choice(test, yes, no)                  `yes` where `test` holds, else `no`
    restricted(cond, {atom: bool})         the condition in a world, or in what is known of one
    within(cond, care)                     one that is as good wherever `care` holds, and hangs on less
    renamed(cond, name)                    the condition of other unknowns
    mapped(cond, function)                 the condition of other targets

What may be said of it is read off, never kept beside it:

    surely(cond), possibly(cond) -> int    the targets for which it holds in every world, in some world
    truth(cond, everything) -> Truth       yes, no and (neither) unknown
    atoms(cond)                            the unknowns that it hangs on, in the order of the diagram
    blamed(cond, mask) -> (Blame, ...)     the names behind what is unknown on `mask`, each with its polarity
    supposed(conds, among) -> {Atom: bool} the one world that the branches of a decision are read in ("assumed as met")
    widest(cond) -> {Atom: bool}           a world in which it holds for the most targets
    readings(whens, among, everything)     all of it for the branches of one decision

A diagram has at most MOST_ATOMS unknowns, and the size that time allows. An operator whose operands have more between
them folds the larger one into one opaque unknown first, which forgets why and when it holds, and keeps for which
targets it surely or possibly does.
That is sound: it only adds worlds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple, TypeVar, Union

from archscan.model.truth import Truth

MOST_ATOMS = 12
EVERY = -1  # the mask of every target there may be, for conditions that are only used beside others
_MOST_NAMES = 12  # to blame for what has been folded
_MOST_WORK = 40_000  # of an operator: about the square of the questions of its operands
_MOST_REMEMBERED = 100_000  # of each kind of result
_MOST_NODES = 400_000  # that are told to be the same

AtomKind = Literal["flag", "env", "expr", "architecture", "folded"]
"""A `flag` or `env` is set by whoever builds or runs, an `expr` is code that cannot be read, and what has been folded
is many of these: each may be supposed. What hangs on the architecture itself, and it is not known how, never is.
"""

_Rank = tuple[str, str, tuple[str, int], tuple[str, ...], int]


@dataclass(frozen=True, eq=False, slots=True)
class Atom:
    """One unknown that holds or does not. Made by `atom`; equal atoms are one object."""

    name: str  # unique for what it asks, with the place: the text of a condition, a name
    kind: AtomKind
    default: bool | None  # what holds if nobody does anything, if that is known
    place: tuple[str, int] | None  # path and line, where the name alone does not tell which unknown is meant
    names: tuple[str, ...]  # to show to a user who asks what would settle it
    rank: _Rank  # the order of atoms in diagrams, the same in every process

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles to its interned self."""
        return atom, (self.name, self.kind, self.default, self.place, self.names)


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """Asks one unknown. Made by the operators; equal diagrams are one object."""

    atom: Atom
    yes: Cond
    no: Cond
    sure: int
    possible: int
    atoms: frozenset[Atom]
    size: int  # questions in the diagram, written out as a tree

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles to its interned self."""
        return _node, (self.atom, self.yes, self.no)


Cond = Union[int, Node]  # noqa: UP007  (`int | "Node"` is no type before Python 3.14)


class Blame(NamedTuple):
    """A name that leaves a condition open."""

    name: str
    holds: bool | None  # what the condition needs of it; None: it opens for some targets or worlds and shuts for others


class Reading(NamedTuple):
    """What a reader is told of one branch: its truth, strict and in the supposed world, and the names behind it."""

    truth: Truth
    assumed: Truth
    unknowns: tuple[str, ...]
    assumes: tuple[str, ...]


_ATOMS: dict[_Rank, Atom] = {}
_NUMBERS = itertools.count()
_NODES: dict[tuple[Atom, Cond, Cond], Node] = {}
_RESULTS: dict[tuple[str, Cond, Cond], Cond] = {}
_FOLDS: dict[Node, Cond] = {}
_DIGESTS: dict[Node, bytes] = {}
_Key = TypeVar("_Key")
_Result = TypeVar("_Result")


def atom(
    name: str,
    kind: AtomKind = "flag",
    default: bool | None = None,
    place: tuple[str, int] | None = None,
    names: tuple[str, ...] = (),
) -> Atom:
    """The unknown of that name; `names` are shown for it (the name itself if none are given)."""
    shown = names or (name,)
    rank = (name, kind, place or ("", 0), shown, -1 if default is None else int(default))
    found = _ATOMS.get(rank)
    if found is None:
        found = _ATOMS[rank] = Atom(name, kind, default, place, shown, rank)
    return found


def unnamed(names: tuple[str, ...], kind: AtomKind = "expr") -> Atom:
    """An unknown of its own, to show as `names`: it is not interned, and gone with the conditions that ask it."""
    name = f"{next(_NUMBERS):012}"
    return Atom(name, kind, None, None, names, (name, kind, ("", 0), names, -1))


def asked(unknown: Atom, mask: int) -> Cond:
    """The condition that holds on `mask` where the unknown holds."""
    return _node(unknown, mask, 0)


def alternatives(name: str, count: int, everything: int, names: tuple[str, ...]) -> list[Cond]:
    """Conditions of which exactly one holds, and it is not known which; `names` are to blame for that."""
    found: list[Cond] = []

    def split(cond: Cond, count: int, level: int) -> None:
        if count == 1:
            found.append(cond)
            return
        bit = asked(atom(f"{name} #{level}", "expr", names=names), everything)
        split(without(cond, bit), count - count // 2, level + 1)
        split(both(cond, bit), count // 2, level + 1)

    split(everything, count, 0)
    return found


def both(one: Cond, other: Cond) -> Cond:
    """Where both hold."""
    if isinstance(one, int) and isinstance(other, int):
        return one & other
    return _applied("and", *_few(one, other))


def either(one: Cond, other: Cond) -> Cond:
    """Where one holds, or both."""
    if isinstance(one, int) and isinstance(other, int):
        return one | other
    return _applied("or", *_few(one, other))


def without(one: Cond, other: Cond) -> Cond:
    """Where the first holds and the other does not."""
    if isinstance(one, int) and isinstance(other, int):
        return one & ~other
    return _applied("without", *_few(one, other))


def negated(cond: Cond, everything: int) -> Cond:
    """Where it does not hold, of everything there is."""
    return without(everything, cond)


def choice(test: Cond, yes: Cond, no: Cond) -> Cond:
    """`yes` where the test holds, `no` where it does not."""
    if yes is no:
        return yes
    return either(both(yes, test), without(no, test))


def surely(cond: Cond) -> int:
    """The targets for which it holds in every world."""
    return cond if isinstance(cond, int) else cond.sure


def possibly(cond: Cond) -> int:
    """The targets for which it holds in some world."""
    return cond if isinstance(cond, int) else cond.possible


def truth(cond: Cond, everything: int) -> Truth:
    """Yes, no, or unknown, for each target."""
    if isinstance(cond, int):
        return Truth(cond, everything & ~cond)
    return Truth(cond.sure, everything & ~cond.possible)


def atoms(cond: Cond) -> tuple[Atom, ...]:
    """The unknowns that it hangs on, in the order in which the diagram asks them."""
    return () if isinstance(cond, int) else tuple(sorted(cond.atoms, key=_rank))


def restricted(cond: Cond, world: Mapping[Atom, bool]) -> Cond:
    """The condition where some unknowns are known."""
    if isinstance(cond, int) or cond.atoms.isdisjoint(world):
        return cond
    known: dict[Node, Cond] = {}

    def walked(node: Cond) -> Cond:
        if isinstance(node, int) or node.atoms.isdisjoint(world):
            return node
        found = known.get(node)
        if found is None:
            value = world.get(node.atom)
            if value is None:
                found = _node(node.atom, walked(node.yes), walked(node.no))
            else:
                found = walked(node.yes if value else node.no)
            known[node] = found
        return found

    return walked(cond)


def within(cond: Cond, care: Cond) -> Cond:
    """A condition that is the same in every world in which `care` holds for some target, and hangs on less.

    What has been asked already need not be asked again: within `A`, `A && B` is `B`.
    """
    if isinstance(cond, int) or isinstance(care, int):
        return cond
    asking = _first(cond, care)
    care_yes, care_no = _branches(care, asking)
    yes, no = _branches(cond, asking)
    if care_yes == 0:
        return within(no, care_no)
    if care_no == 0:
        return within(yes, care_yes)
    if cond.atom is not asking:
        return within(cond, either(care_yes, care_no))
    return _node(asking, within(yes, care_yes), within(no, care_no))


def renamed(cond: Cond, name: Callable[[Atom], Atom]) -> Cond:
    """The condition with other unknowns in place of its own."""
    if isinstance(cond, int):
        return cond
    known: dict[Node, Cond] = {}

    def walked(node: Cond) -> Cond:
        if isinstance(node, int):
            return node
        found = known.get(node)
        if found is None:
            found = known[node] = choice(asked(name(node.atom), EVERY), walked(node.yes), walked(node.no))
        return found

    return walked(cond)


def mapped(cond: Cond, function: Callable[[int], int]) -> Cond:
    """The condition with other masks in place of its own: where it holds for one, it does for all of another."""
    if isinstance(cond, int):
        return function(cond)
    return _node(cond.atom, mapped(cond.yes, function), mapped(cond.no, function))


def blamed(cond: Cond, mask: int) -> tuple[Blame, ...]:
    """The names behind what is unknown on `mask`, in the order of their atoms."""
    if isinstance(cond, int) or not (cond.possible & ~cond.sure) & mask:
        return ()
    found: dict[str, bool | None] = {}
    for unknown in atoms(cond):
        with_, without_ = restricted(cond, {unknown: True}), restricted(cond, {unknown: False})
        opens = bool(possibly(without(with_, without_)) & mask)
        shuts = bool(possibly(without(without_, with_)) & mask)
        if opens or shuts:
            holds = None if opens and shuts else opens
            for name in unknown.names:
                found[name] = holds if found.get(name, holds) == holds else None
    return tuple(Blame(name, holds) for name, holds in found.items())


def supposed(conds: Sequence[Cond], among: int) -> dict[Atom, bool]:
    """The world in which the branches of one decision are read where nothing settles an unknown: its assumptions.

    This is the one policy: an unknown has its default, if it has one. Else, branch by branch, it is as it has to be for
    the targets of `among` to differ most (`USE_X && arch >= 900`: set; `arch < 900 || NO_BF16`: not set); among equals
    the branch is open for the most of them; among equals what is written holds. Unknowns that the targets do not differ
    by are as the first branch that names them needs it. Only what may be supposed is.
    """
    world = {a: a.default for cond in conds for a in atoms(cond) if a.default is not None and _may_be_supposed(a)}
    for splitting in (True, False):
        for cond in conds:
            if not isinstance(cond, int):
                world.update(_best(_assured(restricted(cond, world)), among, splitting))
    return world


def widest(cond: Cond, is_reached: bool = False) -> Mapping[Atom, bool]:
    """A world in which it holds for the most targets; among equals what is written holds.

    `is_reached` = of code that is read as reached where it may be, also what may not be supposed of conditions is.
    """
    ends = _paths(cond if is_reached else _assured(cond), {})
    return max(ends, key=lambda end: (end[0].bit_count(), sum(end[1].values())))[1]


def readings(whens: Sequence[Cond], among: int, everything: int) -> tuple[Reading, ...]:
    """The branches of one decision as they are told: one world is supposed for all of them."""
    if all(isinstance(when, int) for when in whens):
        return tuple(Reading(truth(when, everything), truth(when, everything), (), ()) for when in whens)
    world = supposed(whens, among)
    found = []
    for when in whens:
        strict, assumed = truth(when, everything), truth(restricted(when, world), everything)
        blames = blamed(when, everything)
        settled = strict.unknown(everything) & (assumed.yes | assumed.no)
        here = {name for a in world if not isinstance(when, int) and a in when.atoms for name in a.names}
        assumes = tuple(b.name for b in blames if b.name in here) if settled else ()
        found.append(Reading(strict, assumed, tuple(b.name for b in blames), assumes))
    return tuple(found)


def folded(cond: Cond) -> Cond:
    """The condition as one opaque unknown, with the same targets sure and possible."""
    if isinstance(cond, int):
        return cond
    found = _FOLDS.get(cond)
    if found is not None:
        return found
    oldest_first = sorted(atoms(cond), key=lambda a: a.kind != "folded")
    names = tuple(dict.fromkeys(name for a in oldest_first for name in a.names))[:_MOST_NAMES]
    kind: AtomKind = "folded" if all(map(_may_be_supposed, cond.atoms)) else "architecture"
    found = _node(atom(f"folded {fingerprint(cond)}", kind, names=names), cond.possible, cond.sure)
    _remember(_FOLDS, cond, found)
    return found


def fingerprint(cond: Cond) -> str:
    """A text that is the same for the same condition, in every process, and another for another one."""
    return _digest(cond).hex()


def _few(one: Cond, other: Cond) -> tuple[Cond, Cond]:
    """The operands, folded as far as they have to be to have few enough unknowns and questions between them."""
    if isinstance(one, int) or isinstance(other, int):
        return one, other
    larger = max(one.size, other.size)
    if larger > 1 and (
        larger * (larger + one.size + other.size) > _MOST_WORK or len(one.atoms | other.atoms) > MOST_ATOMS
    ):
        return _few(folded(one), other) if one.size == larger else _few(one, folded(other))
    return one, other


def _node(unknown: Atom, yes: Cond, no: Cond) -> Cond:
    """The node with these branches, which must only ask atoms of a higher rank."""
    if yes == no:  # of masks the value, of nodes the identity
        return yes
    key = (unknown, yes, no)
    found = _NODES.get(key)
    if found is None:
        if len(_NODES) > _MOST_NODES:  # those in use stay as they are, and may have doubles
            _NODES.clear()
            _RESULTS.clear()
        below = {unknown}
        for branch in (yes, no):
            if not isinstance(branch, int):
                below |= branch.atoms
        sure, possible = surely(yes) & surely(no), possibly(yes) | possibly(no)
        size = 1 + sum(branch.size for branch in (yes, no) if not isinstance(branch, int))
        found = _NODES[key] = Node(unknown, yes, no, sure, possible, frozenset(below), size)
    return found


def _applied(operator: str, one: Cond, other: Cond) -> Cond:
    settled = _settled(operator, one, other)
    if settled is not None:
        return settled
    key = (operator, one, other)
    found = _RESULTS.get(key)
    if found is None:
        asking = _first(one, other)
        one_yes, one_no = _branches(one, asking)
        other_yes, other_no = _branches(other, asking)
        found = _node(asking, _applied(operator, one_yes, other_yes), _applied(operator, one_no, other_no))
        _remember(_RESULTS, key, found)
    return found


def _settled(operator: str, one: Cond, other: Cond) -> Cond | None:
    """The result that needs no look at the unknowns; None if there is none."""
    if isinstance(one, int):
        if isinstance(other, int):
            return one & other if operator == "and" else one | other if operator == "or" else one & ~other
        one_sure = one_possible = one
    else:
        one_sure, one_possible = one.sure, one.possible
    if isinstance(other, int):
        other_sure = other_possible = other
    else:
        other_sure, other_possible = other.sure, other.possible
    if operator == "without":
        if one is other or not one_possible & ~other_sure:
            return 0
        return one if not one_possible & other_possible else None
    if one is other:
        return one
    one_within = not one_possible & ~other_sure
    other_within = not other_possible & ~one_sure
    if operator == "and":
        return one if one_within else other if other_within else None
    return one if other_within else other if one_within else None


def _first(one: Cond, other: Cond) -> Atom:
    """The atom that comes first in two conditions, of which one is no mask."""
    if isinstance(one, int):
        assert not isinstance(other, int)
        return other.atom
    if isinstance(other, int) or one.atom is other.atom or one.atom.rank < other.atom.rank:
        return one.atom
    return other.atom


def _branches(cond: Cond, asking: Atom) -> tuple[Cond, Cond]:
    if isinstance(cond, int) or cond.atom is not asking:
        return cond, cond
    return cond.yes, cond.no


def _rank(unknown: Atom) -> _Rank:
    return unknown.rank


def _digest(cond: Cond) -> bytes:
    """A fingerprint that is the same in every process."""
    if isinstance(cond, int):
        return b"%x" % cond
    found = _DIGESTS.get(cond)
    if found is None:
        parts = (repr(cond.atom.rank).encode("utf-8", "backslashreplace"), _digest(cond.yes), _digest(cond.no))
        found = blake2b(b"\0".join(parts), digest_size=16).digest()
        _remember(_DIGESTS, cond, found)
    return found


def _remember(results: dict[_Key, _Result], key: _Key, result: _Result) -> None:
    """Keeps a result, within reason."""
    if len(results) > _MOST_REMEMBERED:
        results.clear()
    results[key] = result


def _may_be_supposed(unknown: Atom) -> bool:
    return unknown.kind != "architecture"


def _assured(cond: Cond) -> Cond:
    """Where it holds whatever the unknowns are that may not be supposed."""
    if isinstance(cond, int) or all(map(_may_be_supposed, cond.atoms)):
        return cond
    yes, no = _assured(cond.yes), _assured(cond.no)
    return _node(cond.atom, yes, no) if _may_be_supposed(cond.atom) else both(yes, no)


def _best(cond: Cond, among: int, splitting: bool) -> Mapping[Atom, bool]:
    """The part of a world that suits a branch best; nothing if the targets shall differ by it, and do in no world."""
    best: tuple[tuple[int, int, int], Mapping[Atom, bool]] | None = None
    for mask, path in _paths(cond, {}):
        yes, no = (mask & among).bit_count(), (among & ~mask).bit_count()
        if yes * no or not splitting:
            score = (yes * no, yes, -sum(not holds for holds in path.values()))
            if best is None or score > best[0]:
                best = score, path
    return best[1] if best else {}


def _paths(cond: Cond, path: Mapping[Atom, bool]) -> Iterator[tuple[int, Mapping[Atom, bool]]]:
    """Every way through a diagram, with the mask that it ends at."""
    if isinstance(cond, int):
        yield cond, path
        return
    yield from _paths(cond.yes, {**path, cond.atom: True})
    yield from _paths(cond.no, {**path, cond.atom: False})
