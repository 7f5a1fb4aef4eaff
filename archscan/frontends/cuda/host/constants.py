"""Functions that do nothing but pick a constant: what they give each target, told of the gates on the way there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from archscan.frontends.cuda.host.values import ConditionResult, Value
from archscan.model.condition import both, surely
from archscan.model.gate import Arm, Does, Effect, Gate

_ON_THE_WAY = frozenset({Does.NOTHING, Does.SKIPS, Does.WORK})  # what stands there until the value is known


def given(returns: Iterable[tuple[ConditionResult, Value]]) -> dict[int, int]:
    """The positive numbers that are returned, each with the targets that surely get it: the first return counts."""
    found: dict[int, int] = {}
    left = -1
    for live, value in returns:
        for payload, cond in value.cases:
            here = surely(both(live.when, cond)) & left
            if isinstance(payload, int) and payload > 0:
                found[payload] = found.get(payload, 0) | here
        left &= ~surely(live.when)
    return found


def told(gate: Gate, numbers: Mapping[int, int], device: int) -> Gate:
    """The gate with what comes of each arm in the end: an arm of which several numbers come is one for each."""
    arms = tuple(part for arm in gate.arms for part in _parts(arm, numbers, device))
    taken = 0
    for arm in gate.arms:
        taken |= device & ~arm.assumed.no
    reached = device if gate.reach is None else device & ~gate.reach.no
    rest = {number for number, mask in numbers.items() if mask & reached & ~taken}
    whole = not reached & ~taken & ~_union(numbers)
    effect = _picked(gate.rest, rest.pop()) if len(rest) == 1 and whole else gate.rest
    return replace(gate, arms=arms, rest=effect)


def _parts(arm: Arm, numbers: Mapping[int, int], device: int) -> Iterator[Arm]:
    mask = arm.assumed.yes & device
    if not mask or mask & ~_union(numbers) or arm.effect.does not in _ON_THE_WAY:
        yield arm
        return
    for number, those in sorted(numbers.items()):
        if mask & those:
            others = device & ~those
            own, truth, assumed = (
                replace(one, yes=one.yes & those, no=one.no | others) for one in (arm.own, arm.truth, arm.assumed)
            )
            yield replace(arm, own=own, truth=truth, assumed=assumed, effect=_picked(arm.effect, number), digest="")


def _picked(effect: Effect, number: int) -> Effect:
    if effect.does not in _ON_THE_WAY:
        return effect
    return Effect(Does.RETURNS, effect.line, value=str(number))


def _union(numbers: Mapping[int, int]) -> int:
    whole = 0
    for mask in numbers.values():
        whole |= mask
    return whole
