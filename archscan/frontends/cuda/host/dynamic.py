"""Finds how much dynamic shared memory host code asks for: where it raises a kernel's limit, else where it launches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscan.frontends.cuda.host.expressions import expression
from archscan.frontends.cuda.host.sites import (
    Definitions,
    Finder,
    RawSite,
    Reading,
    commented,
    counted,
    is_in_word,
    word_start,
)
from archscan.frontends.cuda.host.syntax import Expr
from archscan.frontends.cuda.scopes import Function, Scopes
from archscan.model.facts import SiteKind
from archscan.model.gate import Place

_NESTED = rb"\((?:[^();]|\((?:[^();]|\([^();]*\))*\))*\)"
_RAISED = re.compile(
    rb"FuncSetAttribute\s*\(\s*(?:\(\s*(?:const\s+)?void\s*\*\s*\)\s*|reinterpret_cast<[^>]*>\s*\(\s*)?"
    rb"&?(?P<name>(?:\w+::)*\w+)\s*(?:<[^;]*?>\s*)?\)?\s*,\s*(?:\w+::)*"
    rb"(?:(?:cuda|hip)FuncAttributeMaxDynamicSharedMemorySize|CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)\s*,"
    rb"\s*(?P<size>(?:[^(),;]|" + _NESTED + rb")+)\)"
)
_LAUNCHED = re.compile(
    rb"(?P<name>[A-Za-z_]\w*)\s*(?:<[^;{}<>]*>)?\s*<<<(?P<arguments>(?:[^();{}<>]|" + _NESTED + rb"|\{[^{};]*\})+)>>>"
)
_ARGUMENT = re.compile(rb"(?:[^(),{}]|" + _NESTED + rb"|\{[^{};]*\})+")
_LOCAL = re.compile(
    rb"\b(?:(?:std::)?size_t|auto|(?:std::)?u?int(?:32_t|64_t)?|unsigned(?:\s+int)?|long)\s+(?P<name>\w+)\s*=\s*"
    rb"(?P<value>[^;{}]{1,200});"
)
_GIVEN = re.compile(rb"\s*(?:[-+*/|&]|<<|>>)?=(?!=)")
_PARAMETERS = re.compile(rb"\s*\([^;{}]*\)\s*\Z")
_HEADER_END = re.compile(rb"[;{}]")
_NAMES = re.compile(rb"[A-Za-z_]\w*")
_LONGEST_LAUNCH = 4000  # bytes of one launch's configuration
_LONGEST_NAME = 400  # bytes of a kernel's name with its template arguments
_ASKS_LIMIT = re.compile(rb"(?i)optin|smem_?(?:capacity|limit)|max_?(?:smem|shared)(?!mem\w*size)|sharedMemPerBlock")


def _dynamic(data: bytes, lines: Reading) -> Iterator[RawSite]:
    """One site for each kernel of the file; its launches say no more than where its limit is raised.

    Code that asks the device for its limit knows what it does.
    """
    raised: set[bytes] = set()
    kernels = _kernels(data)
    for match, size in _asked(data):
        name = match["name"].rpartition(b"::")[2]
        above = data[max(data.rfind(b"\n}", 0, match.start()), 0) : match.start()]
        if not _is_kernel(kernels, name) or _ASKS_LIMIT.search(above):
            continue
        if name not in raised and not commented(data, match.start()):
            site = _site(data, name, counted(size.strip(), lines.layouts), match, lines)
            if site is not None:
                raised.add(name)
                yield site


def _kernels(data: bytes) -> list[bytes]:
    """The headers of the kernels that are declared here, up to their braces or semicolons."""
    found: list[bytes] = []
    at = data.find(b"__global__")
    while at >= 0:
        end = _HEADER_END.search(data, at)
        if end is None:
            break
        found.append(data[at : end.start()])
        at = data.find(b"__global__", end.end())
    return found


def _is_kernel(kernels: list[bytes], name: bytes) -> bool:
    """Whether one of the headers is of a kernel of that name."""
    return any(_PARAMETERS.match(header, end) for header in kernels for end in _word_ends(header, name))


def _word_ends(data: bytes, name: bytes, begin: int = 0, end: int | None = None) -> Iterator[int]:
    """Where each occurrence of a name ends."""
    end = len(data) if end is None else end
    at = data.find(name, begin, end)
    while at >= 0:
        if not is_in_word(data, at):
            yield at + len(name)
        at = data.find(name, at + len(name), end)


def _asked(data: bytes) -> Iterator[tuple[re.Match[bytes], bytes]]:
    if b"FuncSetAttribute" in data:
        for match in _RAISED.finditer(data):
            if data[word_start(data, match.start()) : match.start()] in (b"cuda", b"cu", b"hip"):
                yield match, match["size"]
    for match in _launches(data):
        arguments = _ARGUMENT.findall(match["arguments"])
        if len(arguments) > 2:
            yield match, arguments[2]


def _launches(data: bytes) -> Iterator[re.Match[bytes]]:
    """Every `kernel<<<...>>>`, looked for around the brackets: a search for names tries each word of the file."""
    at = data.find(b"<<<")
    while at >= 0:
        head = max(0, at - _LONGEST_NAME)
        start = max(head, *(data.rfind(mark, head, at) + 1 for mark in (b";", b"{", b"}")))
        closed = data.find(b">>>", at, at + _LONGEST_LAUNCH)
        match = _LAUNCHED.search(data, start, closed + 3) if closed >= 0 else None
        found = match is not None and match.start() < at < match.end()
        if match is not None and found:
            yield match
        at = data.find(b"<<<", match.end() if match is not None and found else at + 3)


def _site(data: bytes, name: bytes, size: bytes, match: re.Match[bytes], lines: Reading) -> RawSite | None:
    place = lines.place(word_start(data, match.start()), match.end())
    value = expression(size, place)
    if value is None or b"sizeof" in size:
        return None
    names = {
        **dict(_nearest(data, lines.definitions, size, match.start())),
        **dict(_locals(data, lines, size, match.start(), place)),
    }
    return RawSite(
        SiteKind.DYNAMIC_SHARED, name.decode("utf-8", "replace"), place, sizes=(value,), names=tuple(names.items())
    )


def _nearest(
    data: bytes, definitions: Definitions, size: bytes, before: int
) -> Iterator[tuple[str, tuple[tuple[int, Expr], ...]]]:
    """Constants by name, those of other functions left out: where there are several, the last one above."""
    here = Scopes(data).function(before)
    for name, found in definitions.of([size]):
        seen = [entry for entry in found if _is_seen(data, entry[0], here)]
        above = [entry for entry in seen if entry[0] < before]
        if seen:
            yield name, tuple(above[-1:] or seen[:1])


def _is_seen(data: bytes, at: int, here: Function | None) -> bool:
    """Whether what is defined at an offset is known in a function: it stands in no function or in the same one."""
    around = Scopes(data).function(at)
    return around is None or (here is not None and around.brace == here.brace)


def _locals(
    data: bytes, lines: Reading, size: bytes, before: int, place: Place
) -> Iterator[tuple[str, tuple[tuple[int, Expr], ...]]]:
    """Variables of the same function that are given a value once and never changed."""
    begin = max(data.rfind(b"\n}", 0, before), 0)
    wanted = set(_NAMES.findall(size))
    for match in _LOCAL.finditer(data, begin, before) if wanted else ():
        name = match["name"]
        if name in wanted and _changes(data, name, begin, before) == 1:
            value = expression(counted(match["value"].strip(), lines.layouts), place)
            if value is not None:
                yield name.decode("utf-8", "replace"), ((match.start(), value),)


def _changes(data: bytes, name: bytes, begin: int, end: int) -> int:
    """How often a variable is given a value between two offsets."""
    ends = list(_word_ends(data, name, begin, end))
    stepped = sum(data[e - len(name) - 2 : e - len(name)] in (b"++", b"--") for e in ends)
    return stepped + sum(_GIVEN.match(data, e, end) is not None for e in ends)


DYNAMIC = Finder((b"ynamicSharedMemorySize", b"DYNAMIC_SHARED_SIZE", b"<<<"), _dynamic)
