"""Compares what two versions of a package mean for one target: gates that opened, closed, moved, came and went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from archscan.model.gate import Gate, Kind
from archscan.model.report import Report
from archscan.tracing.states import OPEN, SHUT, UNKNOWN, GateState, states

_LISTS = frozenset({Kind.KEYWORD_LIST, Kind.ALLOW_LIST, Kind.BUILD_LIST, Kind.TABLE, Kind.WINDOW})
_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A gate on both sides, or on one. `what`: opened | closed | undecided | moved | new | gone."""

    what: str
    old: GateState | None
    new: GateState | None

    @property
    def is_list(self) -> bool:
        """Whether it is a list, table or window that names targets one by one."""
        state = self.new or self.old
        return state is not None and state.gate.kind in _LISTS

    @property
    def place(self) -> tuple[str, int]:
        state = self.new or self.old
        assert state is not None
        return state.gate.path, state.line

    @property
    def chain(self) -> str | None:
        """The chain that the gate is on, where it shuts the target out."""
        for state in (self.new, self.old):
            if state is not None and state.finding is not None and state.finding.chain:
                return state.finding.chain
        return None


@dataclass(frozen=True, slots=True)
class Group:
    """The changes on one chain; of those on none (name "") all together."""

    name: str
    before: str  # "shut by 5 of 6 gates"; "" = nothing of it was shut, or it was not there
    now: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that changed for the target."""

    target: str
    changes: tuple[Change, ...]
    old_shut: int  # gates that shut the target out, before and after
    new_shut: int
    groups: tuple[Group, ...] = ()  # in the order of the chains, those on none last

    def of(self, what: str) -> tuple[Change, ...]:
        return tuple(c for c in self.changes if c.what == what)


def compare(old: Report, new: Report) -> Difference:
    """What changed between two reports for the same target.

    A gate is the same on both sides if its file, function, kind and condition are; else if only the condition or only
    the file differs. Gates that never shut the target out are not mentioned.
    """
    before, after = list(_all(old)), list(_all(new))
    pairs, gone, came = _matched(before, after)
    changes = [c for one, other in pairs if (c := _changed(one, other))]
    known = {f.path for f in new.facts.files}
    changes += [Change("opened" if s.gate.path in known else "gone", s, None) for s in gone if s.state == SHUT]
    changes += [Change("new", None, s) for s in came if s.state == SHUT]
    ordered = tuple(sorted(changes, key=lambda c: (_ORDER.index(c.what), not c.is_list, c.place)))
    return Difference(
        new.selection.name,
        ordered,
        sum(s.state == SHUT for s in before),
        sum(s.state == SHUT for s in after),
        tuple(_groups(ordered, old, new)),
    )


_ORDER = ("opened", "closed", "undecided", "moved", "new", "gone")


def _groups(changes: tuple[Change, ...], old: Report, new: Report) -> Iterable[Group]:
    """The changes by chain, those that most changed first."""
    by_chain: dict[str | None, list[Change]] = {}
    for change in changes:
        by_chain.setdefault(change.chain, []).append(change)
    before, now = ({chain.id: chain for chain in report.chains} for report in (old, new))
    for chain in sorted(by_chain, key=lambda chain: (chain is None, -len(by_chain[chain]), chain or "")):
        known = now.get(chain or "") or before.get(chain or "")
        said = [one[chain].sentence.partition("; ")[0] if chain in one else "" for one in (before, now)]
        yield Group(known.name if known else "", said[0], said[1], tuple(by_chain[chain]))


def _all(report: Report) -> Iterable[GateState]:
    for found in states(report).values():
        yield from found


_Matched = tuple[list[tuple[GateState, GateState]], list[GateState], list[GateState]]


def _matched(before: list[GateState], after: list[GateState]) -> _Matched:
    """Pairs, what is left of the old ones, what is left of the new ones; the strictest identity first."""
    pairs: list[tuple[GateState, GateState]] = []
    for step in (_by(_same), _by_calls, _by(_same_condition), _by(_condition_changed), _by(_file_moved), _by(_both)):
        found, before, after = step(before, after)
        pairs += found
    return pairs, before, after


def _by(identity: Callable[[Gate], _Key]) -> Callable[[list[GateState], list[GateState]], _Matched]:
    def step(before: list[GateState], after: list[GateState]) -> _Matched:
        waiting: dict[_Key, list[GateState]] = {}
        for state in after:
            waiting.setdefault(identity(state.gate), []).append(state)
        pairs: list[tuple[GateState, GateState]] = []
        left: list[GateState] = []
        for state in before:
            candidates = waiting.get(identity(state.gate))
            if candidates:
                pairs.append((state, candidates.pop(0)))
            else:
                left.append(state)
        return pairs, left, [state for found in waiting.values() for state in found]

    return step


def _by_calls(before: list[GateState], after: list[GateState]) -> _Matched:
    """By what only this gate of its function guards: `if has_sm100: specs.append(gen_x())` is the gate of gen_x."""
    guarding: dict[_Key, dict[str, list[GateState]]] = {}
    for state in after:
        for name in _calls(state.gate):
            guarding.setdefault(_condition_changed(state.gate), {}).setdefault(name, []).append(state)
    seldom = Counter((_condition_changed(s.gate), name) for s in before for name in _calls(s.gate))
    pairs: list[tuple[GateState, GateState]] = []
    left: list[GateState] = []
    taken: set[GateState] = set()
    for state in before:
        key = _condition_changed(state.gate)
        own = [name for name in _calls(state.gate) if seldom[key, name] == 1]
        score = Counter(c for name in own for c in guarding.get(key, {}).get(name, ()) if c not in taken)
        if score:
            best = max(score, key=lambda c: score[c])  # the first of equals
            taken.add(best)
            pairs.append((state, best))
        else:
            left.append(state)
    return pairs, left, [state for state in after if state not in taken]


def _calls(gate: Gate) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for arm in gate.arms for name in arm.calls))


def _same(gate: Gate) -> _Key:
    return (gate.path, _function(gate), gate.kind, _conditions(gate), _calls(gate))


def _same_condition(gate: Gate) -> _Key:
    return (gate.path, _function(gate), gate.kind, _conditions(gate))


def _condition_changed(gate: Gate) -> _Key:
    return (gate.path, _function(gate), gate.kind)


def _file_moved(gate: Gate) -> _Key:
    return (_function(gate) or gate.path, gate.kind, _conditions(gate))


def _both(gate: Gate) -> _Key:
    """Same function in a file of the same name; outside of functions nothing is left to go by."""
    return (gate.path.rpartition("/")[2] if _function(gate) else gate.path, _function(gate), gate.kind)


def _function(gate: Gate) -> str:
    return gate.scope.name if gate.scope else ""


def _conditions(gate: Gate) -> tuple[str, ...]:
    return tuple("".join(arm.condition.split()) for arm in gate.arms)


def _changed(old: GateState, new: GateState) -> Change | None:
    if old.state == SHUT and new.state == OPEN:
        return Change("opened", old, new)
    if old.state == SHUT and new.state == UNKNOWN:
        return Change("undecided", old, new)
    if old.state != SHUT and new.state == SHUT:
        return Change("closed", old, new)
    if old.state == SHUT and new.state == SHUT and old.gate.path != new.gate.path:
        return Change("moved", old, new)
    return None


def condition(state: GateState | None) -> str:
    """The first condition of a gate on one line; "" if there is no gate on that side."""
    if state is None:
        return ""
    text = next((arm.condition for arm in state.gate.arms if arm.condition), state.gate.kind.value)
    return " ".join(text.split())
