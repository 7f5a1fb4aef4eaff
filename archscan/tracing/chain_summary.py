"""Sums a chain up in one sentence: how many gates shut the target out, and which to open together."""

from __future__ import annotations

from archscan.model.finding import Advice, Capability
from archscan.model.gate import Layer
from archscan.tracing.states import SHUT, UNKNOWN, GateState

_NAMED = 12
_COMPILED = frozenset({Layer.PREPROCESSOR, Layer.DEVICE, Layer.HOST})


def chain_summary(name: str, run: tuple[GateState, ...], built: tuple[GateState, ...], remarks: list[str]) -> str:
    """`shut by 4 of 7 gates; open these together: ...`, with what is only built, undecided, ambiguous or missing."""
    shut = [s for s in run if s.state == SHUT]
    opening = [s for s in shut if s.is_to_open]
    closed = [s for s in built if s.state == SHUT]
    if closed and not shut and not any(s.gate.layer in _COMPILED for s in run):  # nobody knows what is run of it
        return "; ".join([f"let in on the way, and shut in what is built: {_places(closed)}", *remarks])
    parts = [_verdict(shut, len(run))]
    barred = [s for s in shut if s.gate.layer not in _COMPILED and _capability(s) is Capability.CANNOT]
    if barred:
        parts.append(f"nothing to open: what it makes could not run ({_places(barred)})")
    elif opening:
        parts += _advised(opening)
    elif shut:
        parts.append("nothing to open: what is shut is right as it is")
    if opening and len(opening) < len(shut):
        parts.append(f"{len(shut) - len(opening)} of them right as they are")
    unknown = [s for s in run if s.state == UNKNOWN]
    if unknown:
        parts.append(f"undecided: {_places(unknown)}")
    if closed:
        gates = "1 more shut gate is" if len(closed) == 1 else f"{len(closed)} more shut gates are"
        parts.append(f"{gates} built into the same module and not run by {name}")
    return "; ".join([*parts, *remarks])


def _capability(state: GateState) -> Capability | None:
    return state.finding.capability if state.finding is not None else None


def _advised(opening: list[GateState]) -> list[str]:
    """What to open together; of a chain with a gate that must stay shut, or of which nothing is known, only where."""
    lacking = [s for s in opening if _capability(s) is Capability.CANNOT]
    if lacking:
        others = [s for s in opening if s not in lacking]
        rest = [f"shut besides: {_places(others)}"] if others else []
        return [f"nothing to open: it cannot run what is behind {_places(lacking)}", *rest]
    unknown = [s for s in opening if s.finding and s.finding.advice is Advice.INVESTIGATE]
    unknown = [s for s in unknown if s.gate.layer is not Layer.BUILD] or (unknown if unknown == opening else [])
    if unknown:
        known = [s for s in opening if s not in unknown]
        rest = [f"shut besides: {_places(known)}"] if known else []
        return [f"not known what opening would do: {_places(unknown)}", *rest]
    unsure = [s for s in opening if s.gate.layer in _COMPILED and _capability(s) is Capability.UNKNOWN]
    if unsure:
        return [f"to open: {_places(opening)}; of {_places(unsure)} nothing says that it would run"]
    return [f"open {'these together' if len(opening) > 1 else 'this one'}: {_places(opening)}"]


def _verdict(shut: list[GateState], total: int) -> str:
    if not total:
        return "no gate on the way"
    if not shut:
        return f"open: none of {total} gates shuts it out" if total > 1 else "open: the one gate on the way lets it in"
    return f"shut by {len(shut)} of {total} gates" if total > 1 else "shut by the one gate on the way"


def _places(states: list[GateState]) -> str:
    """`file:line` of each; several in one file are `file:417,455`."""
    by_path: dict[str, list[int]] = {}
    for state in states:
        by_path.setdefault(state.gate.path, []).append(state.line)
    named = [f"{path}:{','.join(str(n) for n in dict.fromkeys(lines))}" for path, lines in by_path.items()]
    rest = len(named) - _NAMED
    return ", ".join(named[:_NAMED]) + (f" and {rest} more files" if rest > 0 else "")
