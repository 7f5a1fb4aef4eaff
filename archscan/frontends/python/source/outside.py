"""Words that only lead to functions of a module that was not scanned: `cute.arch.fence()` asks for no architecture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_IMPORTED = re.compile(rb"^[ \t]*import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?[ \t\r]*(?:#[^\n]*)?$", re.M)
_LEADS = re.compile(rb"(\w+)\.([A-Za-z_]\w*)\(")


def leading(data: bytes, offsets: Iterable[int]) -> Iterator[tuple[int, str, str, str]]:
    """The offsets of words that are imported modules, or stand behind one, right before a function that is called.

    Each with the module's dotted name, where the function lies in it, and the function's name. None of a module whose
    name is ever bound to something else.
    """
    modules: dict[bytes, str] = {}
    for at in offsets:
        match = _LEADS.match(data, at)
        if match is None:
            continue
        behind = data[at - 1 : at] == b"."
        owner = _before(data, at - 1) if behind else match[1]
        if owner not in modules:
            modules[owner] = _module(data, owner) if owner else ""
        module = modules[owner]
        if module:
            yield at, module, f"{module}.{match[1].decode()}" if behind else module, match[2].decode()


def _before(data: bytes, dot: int) -> bytes:
    """The name before a dot, if there is no other dot before it."""
    start = dot
    while start and (data[start - 1] == 0x5F or chr(data[start - 1]).isalnum()):
        start -= 1
    return data[start:dot] if data[start - 1 : start] != b"." else b""


def _module(data: bytes, name: bytes) -> str:
    """The dotted name of the module that a name stands for throughout a file; nothing where that is not sure."""
    found = {match[1] for match in _IMPORTED.finditer(data) if (match[2] or match[1]) == name}
    if len(found) != 1:
        return ""
    bound = rb"(?<![\w.])%b(?=\s*(?:=(?!=)|[:,)\]]|in\b))|\b(?:def|class)\s+%b\b" % (name, name)
    given = rb"^[ \t]*from\b[^\n]*\bimport\b[^\n]*\b%b\b|^[ \t]*%b(?:\.\w+)+\s*=(?!=)" % (name, name)
    return "" if re.search(rb"%b|%b" % (bound, given), data, re.M) else found.pop().decode()
