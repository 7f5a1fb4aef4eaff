"""Finds what a Python file builds at run time: extension modules, their sources and exports, and who asks for them.

Read with regular expressions over the bytes, since this runs on every Python file of a scan; only files that name a
builder are looked into. `archscan.tracing` reads the few files of one trace with a parser.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archscan.model.facts import Link, LinkKind

_LONGEST_LINE = 2000  # bytes looked back for the beginning of a line
_DEFINITION = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.M)
_SOURCE = re.compile(
    rb"""([\w.]{1,200}\s{0,200}/\s{0,200})?((?:[fFrR]{0,2}["'][^"'\n]{0,400}["']\s{0,200}/\s{0,200}){0,12}"""
    rb"""[fFrR]{0,2}["'][^"'\n]{0,400}\.(?:cuh?|cpp|cc|cxx|c|hpp|h|jinja|inl)["'])"""
)
_QUOTED = re.compile(rb"""["']([^"'\n]*)["']""")
_NAME_ARGUMENT = re.compile(rb"""(?:\s|#[^\n]*\n)*(?:name\s*=\s*)?([fFrR]{0,2})("[^"\n]*"|'[^'\n]*')""")
_WRAPPER = re.compile(
    rb"""\(\s*f?["'](\w+)["']\s*,\s*f?["']&?([\w:]+)(?:<[^"'\n]*>)?((?:::\w+)?)[^"'\n]*["']\s*,?\s*\)"""
)
_CUDA_FILE = re.compile(rb"""\.cu["']""")
_NAMED_SOURCES = re.compile(
    rb"""(\w+)\(\s*(?:name\s?=\s?)?[fF]?["'][^"'\n]+["']\s*,\s*(?:sources\s?=\s?)?\[[^\]()]*\Z"""
)
_BEFORE = 300  # bytes looked back from a source for the call that gets it
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_DIRECTORY = re.compile(rb"""^(\w*DIR\w*)[^=\n]*=[^\n]*?((?:/[ \t]*["'][^"'\n]+["'][ \t]*)+)\r?$""", re.M)


@dataclass(frozen=True, slots=True)
class Definitions:
    """The `def` and `class` lines of a file, to tell which function an offset lies in."""

    data: bytes
    starts: tuple[int, ...]
    indents: tuple[int, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, data: bytes) -> Definitions:
        found = [(m.start(), len(m.group(1).expandtabs()), m.group(2).decode()) for m in _DEFINITION.finditer(data)]
        return cls(data, tuple(f[0] for f in found), tuple(f[1] for f in found), tuple(f[2] for f in found))

    def around(self, offset: int) -> tuple[str, int, int]:
        """Name, start and end of the outermost function or class around `offset`; ("", 0, length) at module level."""
        line_start = self.data.rfind(b"\n", max(0, offset - _LONGEST_LINE), offset) + 1
        line = self.data[line_start : offset + 1]
        indent = len(line) - len(line.lstrip(b" \t"))
        found = -1
        for i in range(bisect_right(self.starts, offset) - 1, -1, -1):
            if self.indents[i] < indent:
                found, indent = i, self.indents[i]
            if indent == 0:
                break
        return (self.names[found], self.starts[found], self._end(found)) if found >= 0 else ("", 0, len(self.data))

    def _end(self, i: int) -> int:
        """Where definition `i` ends: at the next statement that is not indented deeper."""
        pattern = re.compile(rb"^[ \t]{0,%d}(?=[^\s#)\]}])" % self.indents[i], re.M)
        body = self.data.find(b"\n", self.starts[i])
        match = pattern.search(self.data, body) if body >= 0 else None
        return match.start() if match else len(self.data)


def builders_of(packages: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of what compiles extension modules, from the facts about packages."""
    return tuple(row["name"] for row in packages.get("jit_builders", ()))


def links(data: bytes, path: str, builders: Sequence[str] = ()) -> tuple[Link, ...]:
    """Extension modules built in a Python file, with sources and exports, and the named directories they lie in."""
    found = list(_directories(data)) if b"_DIR" in data else []
    names = dict.fromkeys((*builders, *_like_builders(data)))
    if any(name.encode() in data for name in names):
        found += _built(data, tuple(names))
    return tuple(found)


def _like_builders(data: bytes) -> Iterator[str]:
    """The functions of the file that get a name and a list of CUDA sources, as what compiles a module does."""
    if b'.cu"' not in data and b".cu'" not in data:
        return
    for file in _CUDA_FILE.finditer(data):
        match = _NAMED_SOURCES.search(data, max(0, file.start() - _BEFORE), file.start())
        if match is not None and re.search(rb"^def " + match[1] + rb"\(", data, re.M):
            yield match[1].decode()


def _built(data: bytes, builders: Sequence[str]) -> Iterator[Link]:
    definitions = Definitions.of(data)
    spans: dict[str, tuple[int, int]] = {}
    for builder, offset, arguments in _calls_of(data, builders):
        function, start, end = definitions.around(offset)
        if function in builders:
            continue
        name = _name(data, arguments) or _name_of_function(function) or "extension"
        yield Link(LinkKind.JIT_SPEC, function, name, _line(data, offset), builder)
        if function not in spans:
            spans[function] = (start, end) if function else (offset, _closing(data, arguments))
    for function, (start, end) in spans.items():
        yield from _sources(data, function, start, end)
        yield from _wrappers(data, function, start, end)
    for name, offset, _ in _calls_of(data, [name for name in spans if name]):
        caller = definitions.around(offset)[0]
        if caller and caller != name:
            yield Link(LinkKind.CALLS, caller, name, _line(data, offset))


def _calls_of(data: bytes, names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Name, offset and start of the arguments of every call of `names`; substring search beats one big pattern."""
    for name in names:
        needle, offset = name.encode() + b"(", -1
        while (offset := data.find(needle, offset + 1)) >= 0:
            line = data[data.rfind(b"\n", max(0, offset - _LONGEST_LINE), offset) + 1 : offset][-_LONGEST_LINE:]
            before = line[-1:]
            if (
                not (before.isalnum() or before == b"_")
                and b"#" not in line
                and not line.endswith((b"def ", b"class "))
            ):
                yield name, offset, offset + len(needle)


def _sources(data: bytes, function: str, start: int, end: int) -> Iterator[Link]:
    """Every file name in the function that builds the module; the constant before it goes into `detail`."""
    for match in _SOURCE.finditer(data, start, end):
        parts = [m.decode("utf-8", "backslashreplace") for m in _QUOTED.findall(match.group(2))]
        target = _PLACEHOLDER.sub("*", "/".join(p.strip("/") for p in parts))
        base = (match.group(1) or b"").split(b"/")[0].strip().decode("utf-8", "backslashreplace")
        if " " not in target and not target.startswith("*."):
            yield Link(LinkKind.JIT_SOURCE, function, target, _line(data, match.start(2)), base)


def _wrappers(data: bytes, function: str, start: int, end: int) -> Iterator[Link]:
    """Exports named in Python: `cuda_wrappers=[("run", f"&Kernel<{args}>::run")]`."""
    if data.find(b"_wrappers", start, end) < 0:
        return
    for match in _WRAPPER.finditer(data, start, end):
        implementation = (match.group(2) + match.group(3)).decode()
        yield Link(LinkKind.REGISTERS, implementation, match.group(1).decode(), _line(data, match.start()), function)


def _directories(data: bytes) -> Iterator[Link]:
    """`X_DIR = root / "data" / "csrc"`: what the constant stands for below an unknown root."""
    for match in _DIRECTORY.finditer(data):
        target = "/".join(m.decode("utf-8", "backslashreplace").strip("/") for m in _QUOTED.findall(match.group(2)))
        name = match.group(1).decode()
        yield Link(LinkKind.DEFINES, name, target, _line(data, match.start()), "directory")


def _name(data: bytes, offset: int) -> str:
    """The name given as first argument or `name=`, placeholders as `*`; "" if it is computed."""
    match = _NAME_ARGUMENT.match(data, offset)
    if not match:
        return ""
    return _PLACEHOLDER.sub("*", match.group(2)[1:-1].decode("utf-8", "backslashreplace"))


def _name_of_function(function: str) -> str:
    """`trtllm_comm` of `gen_trtllm_comm_module`: the name where the code computes it."""
    return re.sub(r"^_*(?:gen|get|load|build|make|jit|compile)_(?:jit_)?|_(?:module|spec|extension)$", "", function)


def _closing(data: bytes, offset: int) -> int:
    """The end of the argument list that begins at `offset`."""
    depth = 1
    for match in re.compile(rb"[()]").finditer(data, offset):
        depth += 1 if match.group() == b"(" else -1
        if depth == 0:
            return match.end()
    return len(data)


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
