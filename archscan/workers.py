"""Spreads pure functions over processes: the one seam where a distributed engine can take the place of local forks."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import select
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")


class Mapper(Protocol):
    """What is needed of an executor: `map` of concurrent.futures, in order. Dask's `client.get_executor()` is one."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result | Died]: ...


@dataclass(frozen=True, slots=True)
class Died:
    """What stands for the result of an item whose process died: a crash in a native parser, out of memory."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Raised:
    """An exception in a worker as text: not every exception survives pickling."""

    trace: str


class WorkerError(Exception):
    """A function raised in a worker process; the message is its traceback there."""


class Shipped(Generic[Value]):
    """A large value that every task needs: pickled once here, unpickled once per worker process."""

    def __init__(self, value: Value, blob: bytes = b"") -> None:
        self.value = value
        self._blob = blob

    def __reduce__(self) -> tuple[Callable[[bytes, bytes], Shipped[Value]], tuple[bytes, bytes]]:
        self._blob = self._blob or pickle.dumps(self.value, pickle.HIGHEST_PROTOCOL)
        return _received, (hashlib.sha256(self._blob).digest(), self._blob)


_arrived: dict[bytes, Shipped[Any]] = {}
_KEPT = 4  # a worker of a fleet sees one catalog and the project of the day


def _received(key: bytes, blob: bytes) -> Shipped[Any]:
    """The value of `key` in this process."""
    found = _arrived.pop(key, None)
    if found is None:
        found = Shipped(pickle.loads(blob), blob)
    _arrived[key] = found
    while len(_arrived) > _KEPT:
        del _arrived[next(iter(_arrived))]
    return found


class Here:
    """Runs everything in this process."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        return map(function, items)


class Forks:
    """Forks processes for each `map`: they inherit the function, its values and the items, so only results travel.

    A ProcessPoolExecutor costs 40 ms of imports and pickles everything both ways.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._under_way: set[Begun[Any]] = set()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result | Died]:
        """Results in the order of `items`; Died where a process was lost. Exceptions of `function` are raised here.

        What has begun and is not done goes before them: it is what everything else will wait for.
        """
        work = list(items)
        with _Crew(function, work, min(self.jobs, len(work)), gives_way=bool(self._under_way)) as crew:
            yield from crew.results()

    def begun(self, function: Callable[[], Value]) -> Begun[Value]:
        """The value of a function that runs, and may fork more, in a process of its own: its memory goes with it."""
        return Begun(function, self._under_way)


class Begun(Generic[Value]):
    """What a function comes to that is under way in another process; a context that ends the process if it still is."""

    def __init__(self, function: Callable[[], Value], under_way: set[Begun[Any]]) -> None:
        def alone(_: None) -> Value:
            under_way.clear()  # in the new process nothing is
            return function()

        self.crew: _Crew[None, Value] = _Crew(alone, [None], 1)
        self._under_way = under_way

    def __enter__(self) -> Begun[Value]:
        self.crew.__enter__()
        self._under_way.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._under_way.discard(self)
        self.crew.__exit__()

    def value(self) -> Value:
        """The value, waited for; WorkerError if the function raised or its process died."""
        (answer,) = self.crew.results()
        self._under_way.discard(self)
        if isinstance(answer, Died):
            raise WorkerError(f"the process that joins the files died ({answer.reason})")
        return answer


def first(begun: Sequence[Begun[Any]]) -> Begun[Any]:
    """The first of these that has its value."""
    while True:
        done = next((one for one in begun if one.crew.answers or not one.crew.children), None)
        if done is not None:
            return done
        pipes = {pipe: one.crew for one in begun for pipe in one.crew.children}
        for pipe in select.select(sorted(pipes), [], [])[0]:
            pipes[pipe].take(pipe)


# Bytes that a worker may gather in memories of its own (parsed modules, evaluated conditions) before it is replaced.
_MOST_GROWTH = 26 << 20
_GIVES_WAY = 10  # how nice a worker is while something has begun that all others will wait for
_RECORD = struct.Struct("<i")
_HEADER = struct.Struct("<iq")


class _Crew(Generic[Item, Result]):
    """The processes of one `map`. They take item numbers from one pipe and answer each through their own."""

    def __init__(
        self, function: Callable[[Item], Result], items: Sequence[Item], jobs: int, gives_way: bool = False
    ) -> None:
        self.function = function
        self.gives_way = gives_way
        self.items = items
        self.jobs = jobs
        self.children: dict[int, int] = {}  # read end of a child's pipe -> process id
        self.buffers: dict[int, bytearray] = {}
        self.begun: dict[int, int] = {}  # read end -> item that its process works on
        self.answers: dict[int, Result | Died] = {}  # that have not been given out
        self.due = 0  # the number of the item whose answer is given out next
        self.queue = -1

    def __enter__(self) -> _Crew[Item, Result]:
        self.queue, feed = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            self._feed(feed)
            os.close(feed)
            for _ in range(self.jobs):
                self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for pipe, process in self.children.items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.close(pipe)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
        self.children.clear()
        if self.queue >= 0:
            os.close(self.queue)
            self.queue = -1

    def _feed(self, feed: int) -> None:
        """All item numbers go into the queue at once: a pipe holds 16,000 of them, callers make a few dozen."""
        numbers = b"".join(_RECORD.pack(i) for i in range(len(self.items)))
        if len(numbers) > 60_000:
            raise ValueError("too many items for one map: make larger chunks")
        os.write(feed, numbers)

    def _start(self) -> None:
        """One more process. An interrupt waits until the child knows what to do with it, and the parent its child."""
        reading, writing = _wide_pipe()
        held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            process = os.fork()
            if process == 0:
                self._live(reading, writing, held)
            os.close(writing)
            self.children[reading] = process
            self.buffers[reading] = bytearray()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def _live(self, reading: int, writing: int, held: Iterable[int]) -> NoReturn:
        """What a new process does, from its first step to its end."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # die at once and say nothing: the parent reports
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            os.close(reading)
            for pipe in self.children:
                os.close(pipe)
            self._serve(writing)
        finally:
            os._exit(0)

    def _serve(self, answers: int) -> None:
        """The life of a worker: take a number, say so, answer it; end when the queue is empty or it grew too large."""
        if self.gives_way:
            os.nice(_GIVES_WAY)
        born = _resident()
        while len(record := os.read(self.queue, _RECORD.size)) == _RECORD.size:
            (number,) = _RECORD.unpack(record)
            _write(answers, _HEADER.pack(number, -1))
            try:
                answer: object = self.function(self.items[number])
            except Exception:
                import traceback

                answer = _Raised(traceback.format_exc())
            data = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
            _write(answers, _HEADER.pack(number, len(data)) + data)
            del answer, data
            if _resident() - born > _MOST_GROWTH:
                return

    def results(self) -> Iterator[Result | Died]:
        """Answers in order, as soon as all before them are there."""
        while self.children:
            for pipe in () if self.due in self.answers else select.select(sorted(self.children), [], [])[0]:
                self.take(pipe)
            while self.due in self.answers:
                self.due += 1
                yield self.answers.pop(self.due - 1)
        for number in range(self.due, len(self.items)):
            yield self.answers.pop(number, Died("no process was left to read it"))

    def take(self, pipe: int) -> None:
        """Reads what a process has written; one that crashed or had grown has another in its place."""
        data = os.read(pipe, 1 << 20)
        if data:
            self.buffers[pipe] += data
            self.answers.update(self._parsed(pipe))
            return
        self.answers.update(self._ended(pipe))
        if self.due + len(self.answers) + len(self.begun) < len(self.items):
            self._start()  # the rest of the queue wants a fresh one

    def _parsed(self, pipe: int) -> Iterator[tuple[int, Result]]:
        """The complete answers in a pipe's buffer."""
        buffer = self.buffers[pipe]
        while len(buffer) >= _HEADER.size:
            number, size = _HEADER.unpack_from(buffer)
            if size < 0:
                self.begun[pipe] = number
                del buffer[: _HEADER.size]
                continue
            if len(buffer) < _HEADER.size + size:
                return
            answer = pickle.loads(memoryview(buffer)[_HEADER.size : _HEADER.size + size].tobytes())
            del buffer[: _HEADER.size + size]
            self.begun.pop(pipe, None)
            if isinstance(answer, _Raised):
                raise WorkerError(answer.trace)
            yield number, answer

    def _ended(self, pipe: int) -> Iterator[tuple[int, Died]]:
        """What a process that is gone leaves undone."""
        _, status = os.waitpid(self.children.pop(pipe), 0)
        os.close(pipe)
        if pipe in self.begun:
            code = os.waitstatus_to_exitcode(status)
            yield self.begun.pop(pipe), Died(f"signal {-code}" if code < 0 else f"exit code {code}")


def _resident() -> int:
    """The bytes of memory that this process has in use; 0 where that cannot be told."""
    try:
        with Path("/proc/self/statm").open("rb") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0


def _wide_pipe() -> tuple[int, int]:
    """A pipe that holds a whole answer where the system lets it: fewer switches between writer and reader."""
    reading, writing = os.pipe()
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
    return reading, writing


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _threads() -> int:
    """How many threads run in this process, those of native libraries included: a fork copies their locks, not them."""
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return threading.active_count()


def forking(jobs: int) -> Mapper:
    """The executor for functions on values that cost more to ship than to work on: forks have them, or this process."""
    return Forks(jobs) if jobs > 1 and sys.platform == "linux" and _threads() == 1 else Here()


@contextlib.contextmanager
def local(jobs: int) -> Iterator[Mapper]:
    """The executor for this machine: forks where that is safe, else a pool of fresh processes."""
    if jobs < 2:
        yield Here()
    elif sys.platform == "linux" and _threads() == 1:
        yield Forks(jobs)
    else:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            yield pool
