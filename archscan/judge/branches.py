"""What a gate does with each target: its arms and its rest as branches, each with the targets that take it."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import NamedTuple

from archscan.model.gate import Arm, Does, Effect, Gate, Layer
from archscan.model.target import Universe

REST = -1  # index of the branch of those that take no arm

EMPTY = frozenset({"[]", "{}", "()", '""', "''", "set()", "list()", "dict()", "tuple()"})
NO_ANSWER = EMPTY | {"False", "false", "None", "nullptr", "NULL", "std::nullopt"}  # values that stand for nothing
ENUMERATOR = r"(?:\w+::)*(?:k[A-Z]\w*|[A-Z][A-Z0-9_]{3,})"  # a status rather than a result
_WORKING = frozenset({Does.WORK, Does.DEFINES, Does.RETURNS, Does.ASSIGNS})


class Branch(NamedTuple):  # a tuple is made in a third of the time, and there are three to a gate
    """One way through a gate. Masks hold device targets only; unknown non-architecture conditions are taken as met."""

    arm: int  # its index in the gate, or REST
    yes: int  # targets that take it
    maybe: int  # targets for which that is unknown
    own: int  # targets for which its condition alone holds
    no: int  # targets that cannot take it, whatever the unknown conditions are
    sure: int  # targets that take it, whatever the unknown conditions are
    effect: Effect
    digest: str = ""
    works: bool = False  # something useful happens here: no refusal, not nothing, not only a log line
    conditional: bool = True  # has a condition of its own (neither else nor rest)
    asks: bool = True  # its condition says something about some target: else nobody knows who takes it


def branches(gate: Gate, universe: Universe) -> tuple[Branch, ...]:
    """The arms of a gate in order, then its rest unless an else leaves none."""
    device = universe.device
    made = tuple(map(_asking, gate.arms, (_of(arm, i, device) for i, arm in enumerate(gate.arms)), _left(gate, device)))
    if not any(arm.is_else for arm in gate.arms):
        made = (*made, _rest(gate, made, device))
    called = [branch for branch in made if "(" in (branch.effect.value or "")]
    early = gate.layer is Layer.HOST and called == [made[-1]]  # where others call as well, a constant is a choice too
    return tuple(map(_idle, made)) if early else made


def _left(gate: Gate, device: int) -> list[int]:
    """The targets that are left for each arm by those before it."""
    left = [device if gate.reach is None else device & ~gate.reach.no]
    for arm in gate.arms:
        left.append(left[-1] & ~arm.assumed.yes)
    return left


def _asking(arm: Arm, branch: Branch, left: int) -> Branch:
    """The branch as one that asks for targets where it does once the unknown is met: `vendor is None or major == 9`."""
    chooses = bool(branch.yes & left) and bool(left & arm.assumed.no)
    return branch._replace(asks=True) if chooses and not branch.asks else branch


_BARE = re.compile(r"-?\d+\w*|" + ENUMERATOR)


def _idle(branch: Branch) -> Branch:
    """The branch as one that does nothing where it gives a bare constant before a call that does the work."""
    early = branch.effect.does is Does.RETURNS and _BARE.fullmatch(branch.effect.value or "") is not None
    return branch._replace(works=False) if early else branch


def _of(arm: Arm, index: int, device: int) -> Branch:
    own, assumed = arm.own, arm.assumed
    return Branch(
        arm=index,
        yes=assumed.yes & device,
        maybe=device & ~(assumed.yes | assumed.no),
        own=own.yes & device,
        no=arm.truth.no & device,
        sure=arm.truth.yes & device,
        effect=arm.effect,
        digest=arm.digest,
        works=_works(arm.effect),
        conditional=not arm.is_else,
        asks=arm.is_else or bool((own.yes | own.no) & device),
    )


def _works(effect: Effect) -> bool:
    """Whether something is done. To return, or an empty list, is to do nothing; `None` may say that all is well."""
    idle = effect.does is Does.RETURNS and (effect.value is None or effect.value in EMPTY)
    return effect.does in _WORKING and not idle


def _rest(gate: Gate, arms: tuple[Branch, ...], device: int) -> Branch:
    reached = device & ~gate.reach.no if gate.reach is not None else device
    taken = maybe = sure = possible = 0
    for arm in arms:
        taken |= arm.yes
        maybe |= arm.maybe
        sure |= arm.sure
        possible |= device & ~arm.no
    yes = reached & ~taken & ~maybe
    unsure = reached & maybe & ~taken
    return Branch(
        arm=REST,
        yes=yes,
        maybe=unsure,
        own=0,
        no=device & ~reached | sure,
        sure=(device if gate.reach is None else gate.reach.yes) & device & ~possible,
        effect=gate.rest,
        works=_works(gate.rest),
        conditional=False,
    )


def outline(gate: Gate) -> Hashable | None:
    """What the answer of a gate rests on where nothing but conditions speaks; None where something else does too."""
    if gate.layer is not Layer.PREPROCESSOR or gate.near or gate.extra or any(arm.features for arm in gate.arms):
        return None
    digests = [arm.digest for arm in gate.arms]
    arms = []
    for arm, digest in zip(gate.arms, digests, strict=True):
        own, assumed, effect = arm.own, arm.assumed, arm.effect
        masks = own.yes, own.no, assumed.yes, assumed.no, arm.truth.yes, arm.truth.no
        first = digests.index(digest) if digest else None
        arms.append((masks, arm.is_else, effect.does, effect.value, effect.message is None, first))
    return tuple(arms), gate.rest.does, gate.rest.value, gate.rest.message is None, gate.reach, gate.kind


def same_result(one: Branch, other: Branch) -> bool:
    """Whether two branches do the same: equal bodies, or the same value picked or returned.

    Of what is worked out before it is returned only the name is the same.
    """
    if one.digest and one.digest == other.digest:
        return True
    value = one.effect.value if one.effect.does is not Does.WORK else None
    return one.effect.does == other.effect.does and value is not None and value == other.effect.value
