"""What is kept of one file: its directives, and excerpts around each conditional that may matter.

Which macros depend on the architecture is known only when every file has been read. So the index keeps the bytes of
every conditional but include guards and those that only ask for another compiler or platform, and nothing else of the
file: what an arm does is worked out later, for the conditionals that turn out to be gates.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from archscan.frontends.cuda.lines import Lines
from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, INCLUDES, scan
from archscan.frontends.cuda.preprocessor.environment import Compiler, names_architecture
from archscan.frontends.cuda.preprocessor.events import Directive, Events
from archscan.frontends.cuda.preprocessor.macros import defined_name
from archscan.frontends.cuda.preprocessor.structure import Conditional, IncludeGuards, structure
from archscan.frontends.cuda.preprocessor.target_macros import TargetCall, target_calls
from archscan.frontends.cuda.preprocessor.tokens import names_in
from archscan.frontends.cuda.scopes import Function, Scopes
from archscan.model.facts import Undecided
from archscan.model.gate import Scope

_BLANK = re.compile(rb"\s*")
_EVENTS = CONDITIONALS | INCLUDES | {"define", "undef"}
_ONCE = re.compile(rb"#[ \t]*pragma[ \t]+once\b")
_WORD = re.compile(rb"[A-Za-z_$][\w$]*")
_OUTPUT = re.compile(rb'"[=+]\w+"\s*\(\s*([A-Za-z_]\w*)')
_LAUNCH = b"<<<"
_NAMED_KERNEL = re.compile(rb'extern\s*"C"\s[^;{}()]*__global__')
_MAKER = re.compile(rb"(\w+)\(")
_LONGEST_REST = 2000  # bytes of a function behind a conditional
LINES_ABOVE = 8  # of comments that may explain a gate


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a conditional's own bytes do not tell."""

    scope: Scope | None
    used: bool = False  # whether the file names elsewhere a macro that its arms define
    written: tuple[str, ...] = ()  # variables of the function that its asm writes and that are read behind it
    loaded: bool = False  # whether it holds kernels that are found by name: C linkage, in a file that launches none


_NOT_READ = Surroundings(None)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Bytes of the file from the beginning of a line on."""

    start: int
    line: int
    data: bytes


@dataclass(frozen=True, slots=True)
class DirectiveIndex:
    """The preprocessor's side of a file."""

    events: Events  # conditionals, #define, #undef, #include
    settled: IncludeGuards
    once: str  # what keeps it from being read twice: the name of its guard, or "#pragma"
    candidates: dict[int, Surroundings]  # by offset of the opening directive
    call_scopes: dict[int, Scope]  # of target macros, by offset
    excerpts: tuple[Excerpt, ...]
    problems: tuple[str, ...]
    includes: tuple[str, ...]
    size: int
    last_line: int
    calls: tuple[TargetCall, ...]
    undecided: tuple[Undecided, ...]
    brief: bool  # others' code, only counted: features and calls are not looked for
    template: bool = False  # text that a program completes

    def all_lines(self) -> tuple[Lines, ...]:
        """The lines of every excerpt."""
        return tuple(Lines(e.data, e.start, e.line) for e in self.excerpts)


def directive_index(data: bytes, compiler: Compiler, brief: bool = False, template: bool = False) -> DirectiveIndex:
    """The index of one file from its bytes. `template`: text that a program completes, so that parts may be missing."""
    directives = scan(data)
    shape = structure(directives, len(data))
    events = Events(d for d in directives if d.name in _EVENTS)
    candidates = [c for c in shape.conditionals if c.start not in shape.settled.guards and _may_matter(c, compiler)]
    torn = [c for c in candidates if not c.closed] if template else []
    candidates = [c for c in candidates if c.closed or not template]
    calls = target_calls(data)
    ranges = sorted([(c.start, c.end) for c in candidates] + [(c.start, c.end) for c in calls])
    return DirectiveIndex(
        events=events,
        settled=shape.settled,
        once=shape.settled.guard or _once(data),
        candidates=_surroundings(data, candidates, events, brief, compiler),
        call_scopes={} if brief else _call_scopes(data, calls, compiler),
        excerpts=tuple(_excerpts(data, ranges, 0 if brief else LINES_ABOVE)),
        problems=() if template else shape.problems,
        includes=tuple(dict.fromkeys(included(d.text) for d in directives if d.name in INCLUDES)),
        size=len(data),
        last_line=_last_line(data, directives),
        calls=calls,
        undecided=tuple(u for c in torn for u in _torn(c)),
        brief=brief,
        template=template,
    )


def _last_line(data: bytes, directives: Sequence[Directive]) -> int:
    """The line that the file ends on, counted from its last directive on."""
    end, line = (directives[-1].end, directives[-1].end_line) if directives else (0, 1)
    return line + data.count(b"\n", end) - data.endswith(b"\n")


def _torn(conditional: Conditional) -> Iterable[Undecided]:
    """What to say of a conditional whose end is in another piece of text."""
    for branch in conditional.branches:
        if any(names_architecture(n) for n in names_in(branch.condition)):
            reason = "the conditional ends in another piece of text, put together when the program runs"
            yield Undecided(branch.directive.line, branch.condition, reason)


def _once(data: bytes) -> str:
    if b"once" in data:
        seen = 0
        for match in _ONCE.finditer(data):
            newline = data.rfind(b"\n", seen, match.start())
            if (newline >= 0 or seen == 0) and not data[newline + 1 : match.start()].strip(b" \t"):
                return "#pragma"
            seen = match.end()
    return ""


def included(text: str) -> str:
    """The path of an `#include`; empty for one that a macro computes."""
    for opening, closing in (('"', '"'), ("<", ">")):
        if text.startswith(opening):
            return text[1:].split(closing, 1)[0]
    return ""


def _may_matter(conditional: Conditional, compiler: Compiler) -> bool:
    """Whether some condition names anything that the compiler alone does not settle."""
    return any(_is_open(branch.directive.text, compiler) for branch in conditional.branches)


@lru_cache(maxsize=16384)
def _is_open(text: str, compiler: Compiler) -> bool:
    return any(names_architecture(n) or compiler.state(n) is None for n in names_in(text) if not n.startswith("__has_"))


class _Defined:
    """The macros that some directives of a file define, and from where to where it names each of them."""

    def __init__(self, data: bytes, events: Iterable[Directive]) -> None:
        found = [(e.start, name.encode()) for e in events if e.name == "define" and (name := defined_name(e.text))]
        names = {name for _, name in found}
        first: dict[bytes, int] = {}
        last: dict[bytes, int] = {}
        for match in _WORD.finditer(data) if names else ():
            if match[0] in names:
                last[match[0]] = match.start()
                first.setdefault(match[0], match.start())
        self._starts = [start for start, _ in found]
        self._before = _Least([first.get(name, len(data)) for _, name in found])
        self._behind = _Least([-last.get(name, 0) for _, name in found])

    def used(self, start: int, end: int) -> bool:
        """Whether the file names, outside of a stretch of it, a macro that the stretch defines."""
        begin, stop = bisect_left(self._starts, start), bisect_left(self._starts, end)
        return begin < stop and (self._before(begin, stop) < start or -self._behind(begin, stop) >= end)


class _Least:
    """The least number of any range of a list, in constant time: conditionals may nest as deep as a file is long."""

    def __init__(self, numbers: list[int]) -> None:
        self._rows = [numbers]  # row k: the least of 2**k numbers from there on
        width = 1
        while 2 * width <= len(numbers):
            row = self._rows[-1]
            self._rows.append([min(row[i], row[i + width]) for i in range(len(row) - width)])
            width *= 2

    def __call__(self, begin: int, stop: int) -> int:
        """Of a range that is not empty."""
        k = (stop - begin).bit_length() - 1
        return min(self._rows[k][begin], self._rows[k][stop - (1 << k)])


def _surroundings(
    data: bytes, conditionals: Sequence[Conditional], events: Events, brief: bool, compiler: Compiler
) -> dict[int, Surroundings]:
    if brief or not conditionals:
        return dict.fromkeys((conditional.start for conditional in conditionals), _NOT_READ)
    scopes = Scopes(data, compiler.device_words)
    defined = _Defined(data, _inside(events, conditionals))
    loads = _loads(data, events)
    found: dict[int, Surroundings] = {}
    for conditional in conditionals:
        function = scopes.function(conditional.start)
        loaded = loads is not None and function is None and bool(loads.search(data, conditional.start, conditional.end))
        written = _written(data, conditional, function) if function else ()
        used = defined.used(conditional.start, conditional.end)
        found[conditional.start] = Surroundings(_scope(data, conditional, function), used, written, loaded)
    return found


def _inside(events: Iterable[Directive], conditionals: Iterable[Conditional]) -> Iterator[Directive]:
    """The directives that stand in one of the conditionals, which may stand in each other."""
    outermost: list[Conditional] = []
    for conditional in sorted(conditionals, key=lambda c: (c.start, -c.end)):
        if not outermost or conditional.start >= outermost[-1].end:
            outermost.append(conditional)
    starts = [conditional.start for conditional in outermost]
    for event in events:
        at = bisect_right(starts, event.start) - 1
        if at >= 0 and event.start < outermost[at].end:
            yield event


def _loads(data: bytes, events: Events) -> re.Pattern[bytes] | None:
    """What a kernel looks like that a program finds by its name, as it stands or made by a macro; None if none does."""
    if _LAUNCH in data or not _NAMED_KERNEL.search(data):
        return None
    defines = (e.text.encode("utf-8", "surrogateescape") for e in events if e.name == "define")
    makers = {match[1] for text in defines if (match := _MAKER.match(text)) and _NAMED_KERNEL.search(text)}
    made = rb"|^[ \t]*(?:%b)[ \t]*\(" % b"|".join(sorted(makers)) if makers else b""
    return re.compile(_NAMED_KERNEL.pattern + made, re.M)


def _written(data: bytes, conditional: Conditional, function: Function) -> tuple[str, ...]:
    """The variables that asm in a conditional without an else writes, which live before it and are read behind it."""
    if len(conditional.branches) > 1:
        return ()
    branch = conditional.branches[0]
    inside = data[branch.start : branch.end]
    if b"asm" not in inside:
        return ()
    close = data.find(b"\n}", conditional.end, conditional.end + _LONGEST_REST)
    behind = data[conditional.end : close if close >= 0 else conditional.end]
    before = data[function.brace : conditional.start]
    names = dict.fromkeys(m[1] for m in _OUTPUT.finditer(inside))
    return tuple(n.decode() for n in names if _is_named(before, n) and _is_named(behind, n))


def _is_named(code: bytes, name: bytes) -> bool:
    return name in code and re.search(rb"\b" + name + rb"\b", code) is not None


def _call_scopes(data: bytes, calls: Iterable[TargetCall], compiler: Compiler) -> dict[int, Scope]:
    scopes = Scopes(data, compiler.device_words)
    found = {call.start: scopes.function(call.start) for call in calls}
    return {start: Scope(f.name, f.is_kernel, f.is_device) for start, f in found.items() if f}


def _scope(data: bytes, conditional: Conditional, function: Function | None) -> Scope | None:
    if function is None:
        return None
    whole = False
    if _skipped(data, function.brace + 1) == conditional.start:
        behind = _skipped(data, conditional.end)
        whole = data[behind : behind + 1] == b"}"
    return Scope(function.name, function.is_kernel, function.is_device, whole)


def _skipped(data: bytes, offset: int) -> int:
    """The offset of the first byte from `offset` on that is neither blank nor in a comment."""
    while True:
        blank = _BLANK.match(data, offset)
        offset = blank.end() if blank else offset
        closing = {b"//": b"\n", b"/*": b"*/"}.get(data[offset : offset + 2])
        if closing is None:
            return offset
        close = data.find(closing, offset)
        offset = close + len(closing) if close >= 0 else len(data)


def _excerpts(data: bytes, ranges: Iterable[tuple[int, int]], above: int) -> Iterable[Excerpt]:
    """The bytes of the ranges and of some lines above each; what overlaps becomes one excerpt."""
    begin = end = line = counted = 0
    for first, last in ranges:
        start = _lines_up(data, first, above)
        if end and start <= end:
            end = max(end, last)
            continue
        if end:
            yield Excerpt(begin, line, data[begin:end])
        line = (line or 1) + data.count(b"\n", counted, start)
        begin = counted = start
        end = last
    if end:
        yield Excerpt(begin, line, data[begin:end])


def _lines_up(data: bytes, offset: int, count: int) -> int:
    """The start of the line `count` lines above the one that holds the offset."""
    for _ in range(count + 1):
        offset = data.rfind(b"\n", 0, max(offset, 0))
        if offset < 0:
            return 0
    return offset + 1
