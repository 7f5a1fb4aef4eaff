"""Evaluates edited files again over the whole universe: a fix that cannot show its effect is dropped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, TypeVar

from archscan.engine import without_collector
from archscan.frontends.protocol import Context, FrontEnd, facts_of
from archscan.model.facts import FileFacts, Source
from archscan.model.finding import Edit
from archscan.model.gate import Arm, Gate
from archscan.sources import Unread, read
from archscan.workers import Died, Here, WorkerError, cores, forking

Item = TypeVar("Item")
Result = TypeVar("Result")
Link = Callable[[FrontEnd, Mapping[str, Any]], Any]


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
        indexed: Iterable[tuple[str, str, Callable[[], Any]]] | None = None,
        link: Link | None = None,
    ) -> None:
        """`indexed`: (path, front end's name, what returns the index) of every file, where a scan has made them
        already; `link` links them as they are.
        """
        self.context = context
        self._unread = {one.path: one for one in unread}
        self._benches = [_Bench(front_end, context, link) for front_end in front_ends]
        with without_collector():
            if indexed is None:
                for source in read(unread):
                    if isinstance(source, Source):
                        for bench in self._benches:
                            bench.add(source)
            else:
                benches = {bench.front_end.name: bench for bench in self._benches}
                for path, name, index in indexed:
                    benches[name].indexes.add(path, index)
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
        return tuple(sorted({path for bench in self._benches for path in bench.indexes}))

    def spread(self, function: Callable[[Item], Result], items: Sequence[Item], about: Sequence[str]) -> list[Result]:
        """The results of a function that asks for `about` these files, in order. It runs in other processes if that
        pays, and what is remembered there is lost. WorkerError if one of them dies.
        """
        mapper = forking(_jobs(self.context, len(self._unread))) if len(items) > 1 else Here()
        with without_collector():
            for bench in self._benches:
                if any(path in bench.indexes for path in about):
                    bench.project  # noqa: B018  # linked once, and not in each process
            found = list(mapper.map(function, items))
        if died := next((one for one in found if isinstance(one, Died)), None):
            raise WorkerError(f"a process that proves fixes died ({died.reason})")
        return [one for one in found if not isinstance(one, Died)]

    def before(self, path: str) -> list[FileFacts]:
        """The facts of a file as it is."""
        with without_collector():
            return [bench.before(path) for bench in self._benches if path in bench.indexes]

    def after(self, data: Mapping[str, bytes], whole: bool) -> dict[str, list[FileFacts]]:
        """The facts with `data` in place; of the edited files only, or of the `whole` project."""
        edited = [replace(self.source(path), data=content) for path, content in data.items()]
        found: dict[str, list[FileFacts]] = {}
        with without_collector():
            for bench in self._benches:
                if whole:
                    bench.settle()
                for path, facts in bench.after(edited, whole).items():
                    found.setdefault(path, []).append(facts)
        return found


_FEW = 200  # files that are evaluated before processes have started
_CHUNKS = 16  # a process
_State = frozenset[tuple[str, bytes]]  # edited files with their contents
_MOST_STATES = 256  # edited files of which the facts are kept


class _Indexes(Mapping[str, Any]):
    """Indexes by path, each unpacked when it is first asked for: few proofs ask for those of all files."""

    def __init__(self) -> None:
        self._packed: dict[str, Callable[[], Any]] = {}
        self._unpacked: dict[str, Any] = {}

    def add(self, path: str, packed: Callable[[], Any]) -> None:
        """Takes in what returns the index of a file."""
        self._packed[path] = packed

    def __getitem__(self, path: str) -> Any:
        if path not in self._unpacked:
            self._unpacked[path] = self._packed[path]()
        return self._unpacked[path]

    def __contains__(self, path: object) -> bool:
        return path in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


class _Bench:
    """What one front end says of the project, with other bytes in place of some files; remembered by these bytes."""

    def __init__(self, front_end: FrontEnd, context: Context, link: Link | None) -> None:
        self.front_end = front_end
        self._link = link
        self.indexes = _Indexes()  # of the files as they are
        self._context = context
        self._before: dict[str, FileFacts] = {}
        self._after: dict[tuple[str, _State], FileFacts] = {}
        self._edited: dict[tuple[str, bytes], Any] = {}
        self._linked: tuple[_State, Any] | None = None  # the latest edited state

    def add(self, source: Source) -> None:
        """Takes a file in, unless it is of no interest."""
        index = self._index(source)
        if index is not None:
            self.indexes.add(source.path, lambda: index)

    def settle(self) -> None:
        """Derives the facts of all files as they are."""
        left = {path: index for path, index in self.indexes.items() if path not in self._before}
        if left:
            self._before.update(self._all(left, self.project))

    def before(self, path: str) -> FileFacts:
        """The facts of a file as it is; KeyError without an index."""
        if path not in self._before:
            self._before[path] = self._facts(path, self.indexes[path], self.project)
        return self._before[path]

    def after(self, edited: Sequence[Source], whole: bool) -> dict[str, FileFacts]:
        """The facts of the edited files, or of the `whole` project; those of files without an index are left out."""
        mine = {one.path: (one.data, self._edit(one)) for one in edited}
        mine = {path: pair for path, pair in mine.items() if pair[1] is not None or path in self.indexes}
        state = frozenset((path, data) for path, (data, _) in mine.items())
        indexes = {path: index for path, (_, index) in mine.items()}
        if not whole:
            read = {path: index for path, index in indexes.items() if index is not None}
            return {path: self._alone(path, state, indexes) for path in read}
        if not mine:
            return {path: self.before(path) for path in self.indexes}
        every = self._with(indexes)
        return self._all(every, self.front_end.link(every, self._context))

    def _alone(self, path: str, state: _State, indexes: Mapping[str, Any]) -> FileFacts:
        """The facts of an edited file, as far as the edits matter to the edited files alone.

        A condition's own edit defines no macro, so for those files the old macro table stands; Python values are
        looked up in the linked modules.
        """
        old_table = self.front_end.name == "cuda"
        if old_table:
            state = frozenset(one for one in state if one[0] == path)
        key = (path, state)
        if key not in self._after:
            project = self.project if old_table else self._relinked(state, indexes)
            _make_room(self._after)
            self._after[key] = self._facts(path, indexes[path], project)
        return self._after[key]

    def _relinked(self, state: _State, indexes: Mapping[str, Any]) -> Any:
        if self._linked is None or self._linked[0] != state:
            self._linked = (state, self.front_end.link(self._with(indexes), self._context))
        return self._linked[1]

    def _with(self, edited: Mapping[str, Any]) -> dict[str, Any]:
        """The indexes of the project, those of edited files in place of the old ones."""
        return {path: index for path, index in {**self.indexes, **edited}.items() if index is not None}

    def _edit(self, source: Source) -> Any | None:
        key = (source.path, source.data)
        if key not in self._edited:
            _make_room(self._edited)
            self._edited[key] = self._index(source)
        return self._edited[key]

    def _index(self, source: Source) -> Any | None:
        with contextlib.suppress(Exception):  # what cannot be read has no gates, and no edit that rests on them
            if self.front_end.wants(source.path):
                return self.front_end.index(source, self._context)
        return None

    @cached_property
    def project(self) -> Any:
        """What the front end links of the files as they are."""
        if self._link is not None:
            return self._link(self.front_end, self.indexes)
        return self.front_end.link(self.indexes, self._context)

    def _all(self, indexes: Mapping[str, Any], project: Any) -> dict[str, FileFacts]:
        """The facts of these files, derived in several processes where they are many. One that dies tells nothing."""
        jobs = _jobs(self._context, len(indexes)) if self.front_end.joins else 1
        paths = list(indexes)
        size = max(len(paths) // (_CHUNKS * jobs), 1)
        chunks = [paths[at : at + size] for at in range(0, len(paths), size)]
        answers = forking(jobs).map(lambda chunk: [self._facts(p, indexes[p], project) for p in chunk], chunks)
        found: dict[str, FileFacts] = {}
        for chunk, answer in zip(chunks, answers, strict=True):
            told = answer if not isinstance(answer, Died) else [FileFacts(path, 0, lost=True) for path in chunk]
            found.update(zip(chunk, told, strict=True))
        return found

    def _facts(self, path: str, index: Any, project: Any) -> FileFacts:
        return facts_of(path, self.front_end, index, project, self._context)


def _jobs(context: Context, files: int) -> int:
    """How many processes work on a project of so many files."""
    return 1 if files < _FEW else context.settings.jobs or cores()


def _make_room(kept: dict[Any, Any]) -> None:
    """Drops the oldest of what is kept where it is full."""
    if len(kept) >= _MOST_STATES:
        del kept[next(iter(kept))]


@dataclass(frozen=True, slots=True)
class Want:
    """The flip a fix is made for: one arm of one gate (-1 = falling past all arms), opened or closed on a mask."""

    gate: Gate
    arm: int
    opens: bool
    mask: int


def prove(
    bench: Workbench, wants: Sequence[Want], edits: Sequence[Edit], data: Mapping[str, bytes], whole: bool
) -> Proof:
    """Whether `data` (the edited files) does what is wanted and moves nothing elsewhere.

    A gate may move on what is wanted of it. One that nobody wants anything of may move where all agree who want
    something of its file, or of any file if nobody does of this one.
    """
    after = bench.after(data, whole)
    anywhere = reduce(and_, (want.mask for want in wants))
    near: dict[str, int] = {}
    for want in wants:
        near[want.gate.path] = near.get(want.gate.path, want.mask) & want.mask
    checked = bench.paths() if whole else tuple(data)
    also: list[str] = []
    for path in checked:
        moved = _Positions(tuple(edit for edit in edits if edit.path == path))
        new = {_key(gate): gate for facts in after.get(path, []) for gate in facts.gates}
        for facts in bench.before(path):
            for gate in facts.gates:
                found = new.get((gate.kind, gate.layer, moved.start(gate.place.start))) or moved.nearest(gate, new)
                wanted = [want.mask for want in wants if want.gate == gate]
                mask = reduce(or_, wanted) if wanted else near.get(path, anywhere)
                why = _outside(gate, found, mask)
                if why:
                    return Proof(False, f"{path}:{gate.place.line}: {why}")
                if found is not None and not wanted and _differs(gate, found, mask):
                    also.append(f"{path}:{gate.place.line}")
    for want in wants:
        moved = _Positions(tuple(edit for edit in edits if edit.path == want.gate.path))
        new = {_key(gate): gate for facts in after.get(want.gate.path, []) for gate in facts.gates}
        found = new.get((want.gate.kind, want.gate.layer, moved.start(want.gate.place.start)))
        found = found or moved.nearest(want.gate, new)
        why = "the gate is gone after the edit" if found is None else _missed(want, found)
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


def _missed(want: Want, after: Gate) -> str:
    """Why the wanted flip did not happen, or ""."""
    mask = want.mask
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
