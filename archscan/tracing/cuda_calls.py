"""Reads which functions a CUDA file defines and which names each of them mentions: calls, launches, kernel pointers.

A mention counts as a call: `cudaLaunchKernelEx(&config, kernel<T>, ...)`, `auto f = &kernel<8>` and dispatch macros
all reach a kernel without calling it by its own name. Braces are matched per branch of a conditional, since the two
branches of `#if ... { #else ... { #endif` open the same brace.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

_COMMENT = rb"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)"
_QUOTED = rb"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_BLANK = re.compile(_COMMENT + rb'|R"([^\s()\\]{0,16})\(.*?\)\1"' + _QUOTED, re.S)
_BLANK_BUT_RAW = re.compile(_COMMENT + _QUOTED, re.S)
_MOST_RAW_STRINGS = 500  # an unclosed one is searched to the end of the file, each time
_TOKEN = re.compile(rb"[{};]|^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif|define)\b((?:\\\r?\n|[^\n])*)", re.M)
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
_SCOPE = re.compile(rb"\b(?:namespace|extern)\b[^;(){}]*$")
_CLASS = re.compile(
    rb"\b(?:class|struct|union)\s+(?:(?:__align__|alignas|__attribute__)\s*\(+[^()]*\)+\s*|\[\[[^\]]*\]\]\s*)*(\w+)"
)
_NOT_A_NAME = frozenset(
    b"if for while switch catch return sizeof alignas decltype noexcept __launch_bounds__ __attribute__ __align__"
    b" requires __cluster_dims__ __declspec static_assert defined operator explicit __grid_constant__ __maxnreg__ throw"
    b" asm".split()
)
_DECLARED = re.compile(
    rb"(?:([A-Za-z_]\w*)\s*(?:<[^(){};]{0,400}?>)?\s*::\s*)?~?([A-Za-z_]\w*)\s*(?:<[^<>();{}]*>)?\s*\("
)
_LONGEST_HEADER = 8192  # bytes between a semicolon and a brace; template headers in the wild stay below 3,000
_INSIDE = frozenset({"kernel", "function", "block"})
_VIRTUAL = re.compile(rb"\b(?:virtual|override|final)\b")
# `DEFINE_KERNEL(name, int n) {`: a macro that writes the header of what it names; no parameter is a lone name.
_BY_MACRO = re.compile(rb"\A\s*[A-Z][A-Z0-9_]*\(\s*([a-z_]\w*)\s*[,)]")
_TYPES = frozenset(b"void bool char short int long unsigned signed float double half size_t auto".split())
_INSTANTIATED = re.compile(rb"\btemplate\s+(?!<)[^;{}()]{0,400}?([A-Za-z_]\w*)\s*(?:<[^;{}()]{0,400}?>)?\s*\(")
_MACRO_NAME = re.compile(rb"\s+(\w+)")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class or macro with its extent (byte offsets) and lines."""

    name: str
    start: int
    end: int
    line: int
    end_line: int
    kind: str  # kernel | function | class | macro
    qualifier: str = ""  # the class before `::` of a method defined outside of it


@dataclass(frozen=True)
class Unit:
    """What a C++ file defines, and the names each definition mentions."""

    path: str
    code: bytes  # without comments and strings, same length
    definitions: tuple[Definition, ...]

    @cached_property
    def by_name(self) -> dict[str, list[Definition]]:
        result: dict[str, list[Definition]] = {}
        for definition in self.definitions:
            result.setdefault(definition.name, []).append(definition)
        return result

    @cached_property
    def instantiated(self) -> frozenset[str]:
        """Function templates that the file instantiates for others to link: `template void run<float>(...);`."""
        return (
            frozenset(m.decode() for m in _INSTANTIATED.findall(self.code)) if b"template" in self.code else frozenset()
        )

    @cached_property
    def _mentions(self) -> dict[Definition, frozenset[str]]:
        return {}

    def mentions(self, definition: Definition) -> frozenset[str]:
        """Every identifier in a body; of a class only those outside its methods, which are definitions of their own."""
        if definition not in self._mentions:
            text = self.code[definition.start : definition.end]
            if definition.kind == "class":
                text = self._without_methods(definition)
            self._mentions[definition] = frozenset(m.decode() for m in _IDENTIFIER.findall(text))
        return self._mentions[definition]

    def is_virtual(self, definition: Definition) -> bool:
        """Whether a method can be called through its base class."""
        header = self.code[definition.start : definition.end].partition(b"{")[0]
        return definition.kind == "function" and bool(_VIRTUAL.search(header))

    def _without_methods(self, cls: Definition) -> bytes:
        parts, offset = [], cls.start
        for d in self.members.get(cls, ()):
            if d.start >= offset and d.kind != "class":
                parts.append(self.code[offset : d.start])
                offset = d.end
        return b" ".join([*parts, self.code[offset : cls.end]])

    @cached_property
    def owners(self) -> dict[Definition, Definition]:
        """The innermost class around each definition that has one."""
        result: dict[Definition, Definition] = {}
        open_classes: list[Definition] = []
        for d in self.definitions:  # in order of their start, outer ones first
            while open_classes and open_classes[-1].end <= d.start:
                open_classes.pop()
            if open_classes and d.end <= open_classes[-1].end:
                result[d] = open_classes[-1]
            if d.kind == "class":
                open_classes.append(d)
        return result

    @cached_property
    def members(self) -> dict[Definition, list[Definition]]:
        """The functions directly in each class."""
        result: dict[Definition, list[Definition]] = {}
        for member, owner in self.owners.items():
            result.setdefault(owner, []).append(member)
        return result

    def around(self, line: int) -> Definition | None:
        """The innermost function or macro that holds `line`."""
        inside = [d for d in self.definitions if d.line <= line <= d.end_line and d.kind != "class"]
        return max(inside, key=lambda d: d.line, default=None)

    def class_around(self, line: int) -> Definition | None:
        """The innermost class that holds `line`."""
        inside = [d for d in self.definitions if d.line <= line <= d.end_line and d.kind == "class"]
        return max(inside, key=lambda d: d.line, default=None)


def read(data: bytes, path: str) -> Unit:
    """The definitions of a C++ or CUDA file."""
    blank = _BLANK if data.count(b'R"') <= _MOST_RAW_STRINGS else _BLANK_BUT_RAW
    code = blank.sub(_blanked, data)
    return Unit(path, code, tuple(sorted(_Scanner(code).definitions, key=lambda d: (d.start, -d.end))))


def _blanked(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match.group())


@dataclass(slots=True)
class _Open:
    """An open brace: what it belongs to."""

    name: str
    kind: str  # kernel | function | class | scope | block
    start: int
    qualifier: str = ""


class _Scanner:
    """Matches braces and remembers what was opened."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.lines = [m.start() for m in re.finditer(rb"\n", code)]
        self.definitions: list[Definition] = []
        self.stack: list[_Open] = []
        self.branches: list[list[_Open]] = []
        self.header = 0  # where the text before the next brace begins
        self.seen = 0  # end of the last token
        self.inside = 0  # open braces of functions and initialisers
        for match in _TOKEN.finditer(code):
            self._token(match)
        while self.stack:
            self._close(len(code))

    def _token(self, match: re.Match[bytes]) -> None:
        word = match.group(1)
        if word is not None:
            self._directive(word, match)
            if not self.inside and self.header >= self.seen and not self.code[self.seen : match.start()].strip():
                self.header = match.end()
        elif match.group() == b"{":
            self._open(match.start())
        elif match.group() == b"}":
            if self.stack:
                self._close(match.end())
            self.header = match.end()
        else:
            self.header = match.end()
        self.seen = match.end()

    def _directive(self, word: bytes, match: re.Match[bytes]) -> None:
        if word == b"define":
            name = _MACRO_NAME.match(match.group(2))
            if name:
                self._define(name.group(1).decode(), "macro", match.start(), match.end())
        elif word == b"endif":
            if self.branches:
                self.branches.pop()
        elif word in (b"elif", b"else"):
            if self.branches:
                self.stack = list(self.branches[-1])
                self.inside = sum(o.kind in _INSIDE for o in self.stack)
        else:
            self.branches.append(list(self.stack))

    def _open(self, offset: int) -> None:
        opened = _Open("", "block", offset) if self.inside else self._opened(offset)
        self.stack.append(opened)
        self.inside += opened.kind in _INSIDE
        self.header = offset + 1

    def _opened(self, offset: int) -> _Open:
        """What the brace at `offset` opens, by the text before it, outside of functions."""
        header = self._header(offset)
        if _SCOPE.search(header):
            return _Open("", "scope", self.header)
        start = self.header
        text = _without_templates(header)
        qualifier, name = _function_name(text)
        declared = _CLASS.search(text)
        if name and not (declared and text.find(b"(") > declared.end() and b")" not in text[declared.end() :]):
            return _Open(name, "kernel" if b"__global__" in header else "function", start, qualifier)
        if declared:
            return _Open(declared.group(1).decode(), "class", start)
        return _Open("", "block" if b"=" in text or b"enum" in text else "scope", start)

    def _header(self, offset: int) -> bytes:
        """The text since the last brace or semicolon (the end of it, if it is long), without directive lines."""
        text = self.code[max(self.header, offset - _LONGEST_HEADER) : offset]
        return re.sub(rb"(?m)^[ \t]*#(?:\\\r?\n|[^\n])*", b"", text)

    def _close(self, end: int) -> None:
        opened = self.stack.pop()
        self.inside -= opened.kind in _INSIDE
        if opened.name:
            self._define(opened.name, opened.kind, opened.start, end, opened.qualifier)

    def _define(self, name: str, kind: str, start: int, end: int, qualifier: str = "") -> None:
        while start < end and self.code[start] in b" \t\r\n":
            start += 1
        line, end_line = bisect_right(self.lines, start - 1) + 1, bisect_right(self.lines, end - 1) + 1
        self.definitions.append(Definition(name, start, end, line, end_line, kind, qualifier))


def _without_templates(header: bytes) -> bytes:
    """The header without `template <...>`, so that its parentheses and `=` do not count."""
    match = re.search(rb"\btemplate\s*<", header)
    while match:
        depth, end = 1, match.end()
        while end < len(header) and depth:
            depth += {60: 1, 62: -1}.get(header[end], 0)
            end += 1
        header = header[: match.start()] + header[end:]
        match = re.search(rb"\btemplate\s*<", header)
    return header


def _function_name(text: bytes) -> tuple[str, str]:
    """Class (if qualified) and name before the first parameter list; ("", "") if the text declares no function."""
    if re.search(rb"(?<![=!<>+\-*/%&|^])=(?!=)[^()]*$", text) and b"operator" not in text:
        return "", ""
    named = _BY_MACRO.match(text)
    if named and named[1] not in _TYPES:
        return "", named[1].decode()
    for match in _DECLARED.finditer(text):
        if match.group(2) not in _NOT_A_NAME:
            return (match.group(1) or b"").decode(), match.group(2).decode()
    return "", "operator" if b"operator" in text else ""
