"""Words that only lead to functions of a module that was not scanned: `cute.arch.fence()` asks for no architecture."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from archscan.sources.lines import matches

_IMPORTED = re.compile(rb"^[ \t]*import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?[ \t\r]*(?:#[^\n]*)?$", re.M)
_STATEMENT = re.compile(rb"[ \t]*[\w.]+\([^()\n]*\)[ \t\r]*$", re.M)
_IN_TEXT = re.compile(rb"\w+=?[\"']")
_LEADS = re.compile(rb"(\w+)\.([A-Za-z_]\w*)\(")


def leading(data: bytes, offsets: Iterable[int]) -> Iterator[tuple[int, str, str, str]]:
    """The offsets of words that are imported modules, or stand behind one, right before a function that is called.

    Each with the module's dotted name, where the function lies in it, and the function's name. None of a module whose
    name is ever bound to something else.
    """
    imported: dict[bytes, set[bytes]] | None = None
    modules: dict[bytes, str] = {}
    for at in offsets:
        match = _LEADS.match(data, at)
        if match is None:
            continue
        behind = data[at - 1 : at] == b"."
        owner = _before(data, at - 1) if behind else match[1]
        if owner not in modules:
            imported = _imported(data) if imported is None else imported
            modules[owner] = _module(data, owner, imported.get(owner, set()))
        module = modules[owner]
        if module:
            yield at, module, f"{module}.{match[1].decode()}" if behind else module, match[2].decode()


def spoken(data: bytes, at: int, offsets: Sequence[int]) -> Sequence[int]:
    """The offsets in texts that the call at `at` is given, and in the names of these arguments, if it is all of a line.

    `cute.arch.alloc_tmem(512, held, arch='sm_100')`: nothing is done with what the call gives.
    """
    first = bisect_right(offsets, at)
    end = data.find(b"\n", at)
    last = bisect_right(offsets, end if end >= 0 else len(data), lo=first)
    if first == last or _STATEMENT.match(data, data.rfind(b"\n", 0, at) + 1) is None:
        return ()
    return [one for one in offsets[first:last] if _IN_TEXT.match(data, one)]


def _before(data: bytes, dot: int) -> bytes:
    """The name before a dot, if there is no other dot before it."""
    start = dot
    while start and (data[start - 1] == 0x5F or chr(data[start - 1]).isalnum()):
        start -= 1
    return data[start:dot] if data[start - 1 : start] != b"." else b""


def _imported(data: bytes) -> dict[bytes, set[bytes]]:
    """The dotted names of the modules that each name stands for by an import."""
    found: dict[bytes, set[bytes]] = {}
    for match in matches(_IMPORTED, data, b"import"):
        found.setdefault(match[2] or match[1], set()).add(match[1])
    return found


def _module(data: bytes, name: bytes, imported: set[bytes]) -> str:
    """The dotted name of the module that a name stands for throughout a file; nothing where that is not sure."""
    if len(imported) != 1:
        return ""
    bound, on_line = _binding(name)
    is_bound = bound.search(data) is not None or any(True for _ in matches(on_line, data, name))
    return "" if is_bound else next(iter(imported)).decode()


@lru_cache(maxsize=1 << 10)
def _binding(name: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """What binds a name to something: a pattern that begins with it, which is searched for fast, and one of lines."""
    bound = rb"%b(?<![\w.]%b)(?=\s*(?:=(?!=)|[:,)\]]|in\b))" % (name, name)
    on_line = rb"\b(?:def|class)[ \t]+%b\b|^[ \t]*from\b[^\n]*\bimport\b[^\n]*\b%b\b|^[ \t]*%b(?:\.\w+)+\s*=(?!=)"
    return re.compile(bound), re.compile(on_line % (name, name, name), re.M)
