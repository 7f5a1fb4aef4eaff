"""Evaluates edited files again over the whole universe: a fix that cannot show its effect is dropped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from archscan.engine import without_collector
from archscan.frontends.protocol import Context, FrontEnd, facts_of
from archscan.model.facts import FileFacts, Source
from archscan.model.finding import Edit
from archscan.model.gate import Arm, Gate
from archscan.sources import Unread, read


@dataclass(frozen=True, slots=True)
class Proof:
    """What the edits change. `holds` only if the wanted flips happen and nothing outside the set of targets moves."""

    holds: bool
    why: str = ""  # why it does not hold
    also: tuple[str, ...] = ()  # other places whose verdict moves with it, for these targets


class Workbench:
    """The scanned project, ready to be evaluated again with other bytes in place of some files. Nothing is written."""

    def __init__(
        self,
        front_ends: Sequence[FrontEnd],
        unread: Sequence[Unread],
        context: Context,
        indexed: Iterable[tuple[str, str, Any]] | None = None,
    ) -> None:
        """`indexed`: (path, front end's name, index) of every file, where a scan has made them already."""
        self._front_ends = front_ends
        self.context = context
        self._unread = {one.path: one for one in unread}
        self._indexes: list[dict[str, Any]] = [{} for _ in front_ends]
        with without_collector():
            if indexed is None:
                for source in read(unread):
                    if isinstance(source, Source):
                        self._add(source, self._indexes)
            else:
                places = {front_end.name: known for front_end, known in zip(front_ends, self._indexes, strict=True)}
                for path, name, index in indexed:
                    places[name][path] = index
            self._projects = self._linked(self._indexes)
        self._before: dict[str, list[FileFacts]] = {}
        self._read: dict[str, Source] = {}

    def source(self, path: str) -> Source:
        """The file as it is read now; KeyError if it was not scanned or cannot be read any more."""
        if path not in self._read:
            (found,) = read([self._unread[path]])
            if not isinstance(found, Source):
                raise KeyError(path)
            self._read[path] = found
        return self._read[path]

    def sources(self) -> tuple[str, ...]:
        """Every path that was read."""
        return tuple(self._unread)

    def paths(self) -> tuple[str, ...]:
        """Every path that some front end found worth an index."""
        return tuple(sorted({path for indexes in self._indexes for path in indexes}))

    def before(self, path: str) -> list[FileFacts]:
        """The facts of a file as it is."""
        if path not in self._before:
            self._before[path] = self._facts(self._indexes, self._projects, path)
        return self._before[path]

    def after(self, data: Mapping[str, bytes], whole: bool) -> dict[str, list[FileFacts]]:
        """The facts with `data` in place; of the edited files only, or of the `whole` project."""
        with without_collector():
            indexes = [dict(known) for known in self._indexes]
            for path, content in data.items():
                for known in indexes:
                    known.pop(path, None)
                self._add(replace(self.source(path), data=content), indexes)
            projects = self._linked(indexes) if whole else self._relinked(indexes, data)
            paths = {path for known in indexes for path in known} if whole else set(data)
            return {path: self._facts(indexes, projects, path) for path in sorted(paths)}

    def _relinked(self, indexes: list[dict[str, Any]], data: Mapping[str, bytes]) -> list[Any]:
        """The projects after an edit, as far as it matters to the edited files alone.

        A condition's own edit defines no macro, so for those files the old macro table stands; Python values are
        looked up in the linked modules.
        """
        rows = zip(self._front_ends, indexes, self._projects, strict=True)
        return [
            project
            if front_end.name == "cuda" or not data.keys() & known.keys()
            else front_end.link(known, self.context)
            for front_end, known, project in rows
        ]

    def _add(self, source: Source, indexes: list[dict[str, Any]]) -> None:
        for front_end, known in zip(self._front_ends, indexes, strict=True):
            with contextlib.suppress(Exception):  # what cannot be read has no gates, and no edit that rests on them
                if front_end.wants(source.path):
                    index = front_end.index(source, self.context)
                    if index is not None:
                        known[source.path] = index

    def _linked(self, indexes: list[dict[str, Any]]) -> list[Any]:
        pairs = zip(self._front_ends, indexes, strict=True)
        return [front_end.link(known, self.context) for front_end, known in pairs]

    def _facts(self, indexes: list[dict[str, Any]], projects: list[Any], path: str) -> list[FileFacts]:
        rows = zip(self._front_ends, indexes, projects, strict=True)
        return [
            facts_of(path, front_end, known[path], project, self.context)
            for front_end, known, project in rows
            if path in known
        ]


@dataclass(frozen=True, slots=True)
class Want:
    """The flip a fix is made for: one arm of one gate (-1 = falling past all arms), opened or closed on a mask."""

    gate: Gate
    arm: int
    opens: bool


def prove(
    bench: Workbench, wants: Sequence[Want], edits: Sequence[Edit], data: Mapping[str, bytes], mask: int, whole: bool
) -> Proof:
    """Whether `data` (the edited files) does what is wanted on `mask` and moves nothing elsewhere."""
    after = bench.after(data, whole)
    checked = bench.paths() if whole else tuple(data)
    also: list[str] = []
    for path in checked:
        moved = _Positions(tuple(edit for edit in edits if edit.path == path))
        new = {_key(gate): gate for facts in after.get(path, []) for gate in facts.gates}
        for facts in bench.before(path):
            for gate in facts.gates:
                found = new.get((gate.kind, gate.layer, moved.start(gate.place.start))) or moved.nearest(gate, new)
                why = _outside(gate, found, mask)
                if why:
                    return Proof(False, f"{path}:{gate.place.line}: {why}")
                if found is not None and _differs(gate, found, mask) and all(w.gate != gate for w in wants):
                    also.append(f"{path}:{gate.place.line}")
    for want in wants:
        moved = _Positions(tuple(edit for edit in edits if edit.path == want.gate.path))
        new = {_key(gate): gate for facts in after.get(want.gate.path, []) for gate in facts.gates}
        found = new.get((want.gate.kind, want.gate.layer, moved.start(want.gate.place.start)))
        found = found or moved.nearest(want.gate, new)
        why = "the gate is gone after the edit" if found is None else _missed(want, found, mask)
        if why:
            return Proof(False, f"{want.gate.path}:{want.gate.place.line}: {why}")
    return Proof(True, also=tuple(dict.fromkeys(also)))


def _key(gate: Gate) -> tuple[Any, Any, int]:
    return gate.kind, gate.layer, gate.place.start


def _outside(before: Gate, after: Gate | None, mask: int) -> str:
    """What moved outside the mask, or ""."""
    if after is None:
        return "a gate beside the edit is gone"
    if len(before.arms) != len(after.arms):
        return "the gate has other arms"
    for old, new in zip(before.arms, after.arms, strict=True):
        if (old.truth.yes ^ new.truth.yes | old.truth.no ^ new.truth.no) & ~mask:
            return "the verdict of another target would change"
    return ""


def _differs(before: Gate, after: Gate, mask: int) -> bool:
    pairs = zip(before.arms, after.arms, strict=True)
    return any((old.truth.yes ^ new.truth.yes | old.truth.no ^ new.truth.no) & mask for old, new in pairs)


def _missed(want: Want, after: Gate, mask: int) -> str:
    """Why the wanted flip did not happen, or ""."""
    if want.arm < 0:
        taken = 0
        for arm in after.arms:
            taken |= arm.assumed.yes
        return _word(taken & mask if want.opens else ~taken & mask, want.opens)
    if want.arm >= len(after.arms):
        return "the arm is gone after the edit"
    arm = after.arms[want.arm]
    left = mask & ~(arm.assumed.yes if want.opens else arm.assumed.no)
    return _word(left, want.opens) or _firmer(want.gate.arms[want.arm], arm, mask)


def _word(left: int, opens: bool) -> str:
    if not left:
        return ""
    return "another gate still shuts it" if opens else "it is still let in"


def _firmer(before: Arm, after: Arm, mask: int) -> str:
    """A build flag that the arm needed for others must not be bypassed for the target."""
    needs = before.assumed.yes & ~before.truth.yes
    if needs and not before.truth.yes and after.truth.yes & mask:
        return "the edit would bypass a build flag"
    return ""


class _Positions:
    """Where a byte offset of the old file lies in the new one."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = sorted(edits, key=lambda e: e.start)

    def start(self, offset: int) -> int:
        return offset + sum(len(e.data) - (e.end - e.start) for e in self._edits if e.end <= offset)

    def nearest(self, gate: Gate, new: Mapping[tuple[Any, Any, int], Gate]) -> Gate | None:
        """The gate of the same kind nearest to where this one must be, if an edit touched its place."""
        wanted = self.start(gate.place.start)
        reach = sum(len(e.data) + (e.end - e.start) for e in self._edits)
        near = [
            g
            for (kind, layer, at), g in new.items()
            if kind == gate.kind and layer == gate.layer and abs(at - wanted) <= reach
        ]
        return min(near, key=lambda g: abs(g.place.start - wanted), default=None) if self._edits else None
