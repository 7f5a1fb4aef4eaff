"""Which function encloses an offset, found by braces and headers without a parser: kernels defeat parsers too often."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# Every alternative begins with a literal byte, so that the search skips to one of those bytes
_STEP = re.compile(
    rb'\{|\}|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\n]*|/\*.*?\*/'
    rb"|'(?<!\w')[^'\\\n]*(?:\\.[^'\\\n]*)*'|\n[ \t]*#[ \t]*(?:if|el|endif)",
    re.S,
)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_LINE_DIRECTIVE = re.compile(rb"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", re.M)
_NAME_BEFORE = re.compile(
    rb"((?:[\w$~]+\s*(?:<[^<>;{}]*>)?\s*::\s*)*"
    rb"(?:operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|[\w: ]+[*&]*)|~?[A-Za-z_$][\w$]*))\s*$"
)
_NO_FUNCTION = frozenset(
    b"if for while switch catch return else do sizeof alignof decltype noexcept alignas requires defined asm __asm__ "
    b"__launch_bounds__ __attribute__ __cluster_dims__ __block_size__ __declspec __maxnreg__ static_assert "
    b"constexpr".split()
)
_CLASS = re.compile(rb"(?s:.*)\b(?:struct|class)\s+(?:__\w+\s*(?:\([^()]*\)\s*)?)*([A-Za-z_]\w*)[^()]*\Z")
_CONTROL = frozenset(b"if for while switch catch".split())
_BRACKET = re.compile(rb"[()]")
_LONGEST_HEADER = 6000


@dataclass(frozen=True, slots=True)
class Function:
    """A function around an offset: its name, qualifiers, and the offset of its opening brace."""

    name: str
    is_kernel: bool
    is_device: bool
    brace: int


class Scopes:
    """Answers for rising offsets in one file; each byte between the asked ones is looked at once.

    `device_words` before a function make it one of the device.
    """

    def __init__(self, data: bytes, device_words: tuple[bytes, ...] = ()) -> None:
        self.data = data
        self._device_words = device_words
        self._position = 0
        self._open: list[int] = []
        self._saved: list[list[int]] = []
        self._functions: dict[int, Function | None] = {}

    def function(self, offset: int) -> Function | None:
        """The innermost function whose body contains the offset, or None."""
        self._advance(offset)
        for depth in range(len(self._open) - 1, -1, -1):
            brace = self._open[depth]
            if brace not in self._functions:
                self._functions[brace] = self._of_class(self._header(brace), depth)
            found = self._functions[brace]
            if found:
                return found
        return None

    def _of_class(self, found: Function | None, depth: int) -> Function | None:
        """A call operator under the name of its class, by which kernels select it; others as they are."""
        if found is None or found.name != "operator()" or not depth:
            return found
        outer = self._open[depth - 1]
        header = self.data[max(0, outer - _LONGEST_HEADER) : outer]
        match = _CLASS.search(header[max(header.rfind(mark) for mark in (b";", b"}", b"{")) + 1 :])
        return replace(found, name=f"{match[1].decode('utf-8', 'replace')}::{found.name}") if match else found

    def _advance(self, offset: int) -> None:
        """Moves on to the offset, starting again behind a brace in column one, where every function has ended."""
        data = self.data
        flush = data.rfind(b"\n}", self._position, offset)
        if flush >= 0:
            self._position, self._open = flush + 2, []
        for match in _STEP.finditer(data, self._position, offset):
            step = match[0]
            if step == b"{":
                self._open.append(match.start())
            elif step == b"}":
                if self._open:
                    self._open.pop()
            elif step[0] == 0x0A:
                self._branch(step.lstrip(b"\n \t#"))
        self._position = max(self._position, offset)

    def _branch(self, word: bytes) -> None:
        """Arms of a conditional start from the same braces; what the first arm opened stays open behind `#endif`."""
        if word == b"if":
            self._saved.append(list(self._open))
        elif self._saved and word == b"el":
            self._open = list(self._saved[-1])
        elif self._saved:
            self._saved.pop()

    def _header(self, brace: int) -> Function | None:
        data = self.data
        begin = max(data.rfind(mark, max(0, brace - _LONGEST_HEADER), brace) for mark in (b";", b"}", b"{")) + 1
        begin = max(begin, 0, brace - _LONGEST_HEADER)
        header = data[begin:brace]
        if b"/" in header:
            header = _COMMENT.sub(b" ", header)
        if b"#" in header:
            header = _LINE_DIRECTIVE.sub(b"", header)
        name = _function_name(header)
        if not name:
            return None
        kernel = b"__global__" in header
        return Function(name, kernel, kernel or any(word in header for word in self._device_words), brace)


def _function_name(header: bytes) -> str:
    """The name of the function that a header declares; empty for control statements, types, namespaces and lambdas."""
    depth = 0
    for bracket in _BRACKET.finditer(header):
        if bracket[0] == b")":
            depth -= 1
            continue
        depth += 1
        if depth == 1:
            position = bracket.start()
            match = _NAME_BEFORE.search(header, max(0, position - 200), position)
            name = match[1] if match else b""
            if name in _CONTROL:
                return ""
            if name and name not in _NO_FUNCTION:
                return _call_operator(name, header, position)
    return ""


def _call_operator(name: bytes, header: bytes, position: int) -> str:
    """`operator` followed by `()` is the name; every other name is as found, blanks dropped."""
    if name == b"operator":
        name = b"operator" + header[position : position + 2]
    return re.sub(rb"\s+", b"", name).decode("utf-8", "replace")
