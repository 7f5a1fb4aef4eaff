"""Finds what a C++ or CUDA file includes and exports; by substring search, since it runs on every file of a scan."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscan.model.facts import Link, LinkKind

_INCLUDE = re.compile(rb"""#[ \t]*include\s*(?:"([^"\n]+)"|<([^>\n]+)>)""")
_TYPED_EXPORT = re.compile(rb"TVM_FFI_DLL_EXPORT_TYPED_FUNC\(\s*(\w+)\s*,\s*([\w:]+)")
_TORCH_LIBRARY = re.compile(
    rb"TORCH_LIBRARY(?:_FRAGMENT|_IMPL)?\(\s*(\w+)|TORCH_LIBRARY(?:_FRAGMENT)?_EXPAND\(\s*(\w+)"
)
_MODULE_MEMBER = re.compile(rb"""\.(?:def|impl)\(\s*"([\w:]+)[^"]*"([^;{}]{0,400}?)\)\s*(?=[;.])""")
_IMPLEMENTATION = re.compile(
    rb"""(?:&\s*|TORCH_FN\(\s*)([A-Za-z_][\w:]*)|,\s*(?!\w*::k[A-Z])([A-Za-z_][\w:]*)(?!\w*\s*\()"""
)
_QUOTED = re.compile(rb'"[^"\n]*"')
_SUFFIXES = (".h", ".hh", ".hpp", ".cuh", ".inl", ".cu", ".inc", ".ipp", ".cpp", ".cc", ".jinja")


def links(data: bytes, path: str) -> tuple[Link, ...]:
    """Includes of project files and exported operators, in source order of each kind."""
    return (*_includes(data), *_exports(data))


def _includes(data: bytes) -> Iterator[Link]:
    """`#include` of anything with a file suffix: the standard library has none, so it is left out."""
    line, counted = 1, 0
    for match in _INCLUDE.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        if not data[start : match.start()].strip(b" \t"):
            target = (match[1] or match[2]).decode("utf-8", "backslashreplace").strip()
            line += data.count(b"\n", counted, start)
            counted = start
            if target.endswith(_SUFFIXES):
                mark = '"' if match[1] else "<"
                if target.startswith("hip/") and not _is_always(data, start):
                    mark += " under #if"
                yield Link(LinkKind.INCLUDES, "", target, line, mark)


_CONDITIONAL = re.compile(rb"^[ \t]*#[ \t]*(if|endif)", re.M)
_GUARD = re.compile(rb"(?:[^#]*?)#[ \t]*ifndef[ \t]+(\w+)[ \t\r]*\n[ \t]*#[ \t]*define[ \t]+(\w+)", re.S)


def _is_always(data: bytes, at: int) -> bool:
    """Whether no `#if` but an include guard is open at an offset."""
    words = [m[1] for m in _CONDITIONAL.finditer(data, 0, at)]
    guard = _GUARD.match(data)
    return words.count(b"if") - words.count(b"endif") <= (guard is not None and guard[1] == guard[2])


def _exports(data: bytes) -> Iterator[Link]:
    if b"TVM_FFI_DLL_EXPORT" in data:
        for match in _TYPED_EXPORT.finditer(data):
            yield _export(data, match.start(), match.group(1), match.group(2))
    if b"TORCH_LIBRARY" in data or b"PYBIND11_MODULE" in data:
        library = _TORCH_LIBRARY.search(data)
        space = (library.group(1) or library.group(2)).decode() if library else ""
        for match in _MODULE_MEMBER.finditer(data):
            named = _IMPLEMENTATION.search(_QUOTED.sub(b"", match.group(2)))
            implementation = (named[1] or named[2]) if named else match.group(1)
            yield _export(data, match.start(), match.group(1), implementation, space)


def _export(data: bytes, offset: int, name: bytes, implementation: bytes, space: str = "") -> Link:
    line = data.count(b"\n", 0, offset) + 1
    return Link(LinkKind.REGISTERS, implementation.decode().rpartition(":")[2], name.decode(), line, space)
