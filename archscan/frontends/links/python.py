"""Finds what a Python file builds at run time: extension modules, their sources and exports, and who asks for them.

Read with regular expressions over the bytes, since this runs on every Python file of a scan; only files that name a
builder are looked into. `archscan.tracing` reads the few files of one trace with a parser.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from archscan.model.facts import Link, LinkKind

_LONGEST_LINE = 2000  # bytes looked back for the beginning of a line
_DEFINITION = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.M)
_SOURCE = re.compile(
    rb"""([\w.]{1,200}\s{0,200}/\s{0,200})?((?:[fFrR]{0,2}["'][^"'\n]{0,400}["']\s{0,200}/\s{0,200}){0,12}"""
    rb"""[fFrR]{0,2}["'][^"'\n]{0,400}\.(?:cuh?|cpp|cc|cxx|c|hpp|h|jinja|inl)["'])"""
)
_QUOTED = re.compile(rb"""["']([^"'\n]*)["']""")
_NAME_ARGUMENT = re.compile(rb"""(?:\s|#[^\n]*\n)*(?:name\s*=\s*)?([fFrR]{0,2})("[^"\n]*"|'[^'\n]*')""")
_NAMED_BY = re.compile(rb"""(?:\s|#[^\n]*\n)*(?:name\s*=\s*)?([A-Za-z_]\w*)\s*[,)]""")
_WRAPPER = re.compile(
    rb"""\(\s*f?["'](\w+)["']\s*,\s*f?["']&?([\w:]+)(?:<[^"'\n]*>)?((?:::\w+)?)[^"'\n]*["']\s*,?\s*\)"""
)
_CUDA_FILE = re.compile(rb"""\.cu["']""")
_NAMED_SOURCES = re.compile(
    rb"""(\w+)\(\s*(?:name\s?=\s?)?[fF]?["'][^"'\n]+["']\s*,\s*(?:sources\s?=\s?)?\[[^\]()]*\Z"""
)
_LONGEST_LIST = 1 << 16  # bytes of a list of sources
_MOST_STATEMENTS = 100  # that add to one
_BEFORE = 300  # bytes looked back from a source for the call that gets it, from a value for its name
_GLOB = re.compile(rb"""\br?glob\(""")
_ASSIGNMENT = re.compile(rb"^[ \t]*(\w+)[ \t]*=(?!=)([^\n]*)", re.M)
_OWNER = re.compile(rb"([\w.]*\([^()\n]*\)|[\w.]+)\.\Z")
_PIECE = re.compile(rb"""[fFrR]{0,2}["']([^"'\n]*)["']|(?<![\w.])([A-Za-z_]\w*)(?![\w(])""")
_SOURCE_SUFFIX = re.compile(r"\.(?:cuh?|cpp|cc|cxx|c|\*)\Z")
_SOURCES_ARGUMENT = re.compile(rb"""(?<!\w)sources\s*=\s*([A-Za-z_]\w*)""")
_SECOND_ARGUMENT = re.compile(rb"""[^,()=]*,\s*([A-Za-z_]\w*)\s*[,)]""")
_GIVEN_TO = re.compile(rb"(?<![\w.])(\w+)[ \t]*=[ \t]*\Z")
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
                found, indent = i if self._end(i) > offset else found, self.indents[i]
            if indent == 0:
                break
        return (self.names[found], self.starts[found], self._end(found)) if found >= 0 else ("", 0, len(self.data))

    def _end(self, i: int) -> int:
        """Where definition `i` ends: at the next statement that is not indented deeper."""
        pattern = re.compile(rb"^[ \t]{0,%d}(?=[^\s#)\]}])" % self.indents[i], re.M)
        body = self.data.find(b"\n", self.starts[i])
        match = pattern.search(self.data, body) if body >= 0 else None
        return match.start() if match else len(self.data)


def links(data: bytes, path: str, builders: Sequence[str] = ()) -> tuple[Link, ...]:
    """Extension modules built in a Python file, with sources and exports, and the named directories they lie in."""
    found = list(_directories(data)) if b"_DIR" in data else []
    named = [builder for builder in builders if builder.rpartition(".")[2].encode() in data]
    names = dict.fromkeys((*named, *_imported_builders(data, named), *_like_builders(data)))
    if any(name.encode() in data for name in names):
        found += _built(data, tuple(names))
    return tuple(found)


def _imported_builders(data: bytes, builders: Sequence[str]) -> Iterator[str]:
    """What the file calls them: `load` of `from torch.utils.cpp_extension import load`, and `X = CUDAExtension`."""
    for builder in builders:
        module, _, name = builder.rpartition(".")
        if module.encode() not in data:
            continue
        word = re.escape(name.encode())
        if module:
            importing = rb"\bfrom[ \t]+[\w.]*\b%s[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)" % re.escape(module.encode())
            for line in re.finditer(importing, data):
                for named in re.finditer(rb"(?<!\w)%s(?:\s+as\s+(\w+))?(?!\w)" % word, line[1]):
                    yield (named[1] or name.encode()).decode()
        # a search for the name itself: one for any word before `=` tries every word of the file
        for at in re.finditer(rb"%s[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)" % word, data):
            alias = _GIVEN_TO.search(data, max(0, at.start() - _BEFORE), at.start())
            if alias is not None:
                yield alias[1].decode()


def _like_builders(data: bytes) -> Iterator[str]:
    """The functions of the file that get a name and a list of CUDA sources, as what compiles a module does."""
    if _CUDA_FILE.search(data) is None:
        return
    given: dict[bytes, None] = {}
    for file in _CUDA_FILE.finditer(data):
        match = _NAMED_SOURCES.search(data, max(0, file.start() - _BEFORE), file.start())
        if match is not None:
            given[match[1]] = None
    for name in given:
        if re.search(rb"^def " + name + rb"\(", data, re.M):
            yield name.decode()


def _built(data: bytes, builders: Sequence[str]) -> Iterator[Link]:
    """The modules with their sources: those built at module level each with its own behind it, else by function."""
    definitions = Definitions.of(data)
    functions: dict[str, tuple[int, int]] = {}
    for builder, offset, arguments in _calls_of(data, builders):
        function, start, end = definitions.around(offset)
        if function in builders:
            continue
        name = _name(data, arguments) or _name_of_function(function) or "extension"
        yield Link(LinkKind.JIT_SPEC, function, name, _line(data, offset), builder)
        if function:
            functions.setdefault(function, (start, end))
        else:
            for place in _at_module_level(data, offset, arguments):
                yield from _listed(data, function, *place)
    for function, place in functions.items():
        yield from _listed(data, function, *place)
    for name, offset, _ in _calls_of(data, tuple(functions)):
        caller = definitions.around(offset)[0]
        if caller and caller != name:
            yield Link(LinkKind.CALLS, caller, name, _line(data, offset))


def _listed(data: bytes, function: str, start: int, end: int) -> Iterator[Link]:
    yield from _sources(data, function, start, end)
    yield from _wrappers(data, function, start, end)


def _at_module_level(data: bytes, offset: int, arguments: int) -> Iterator[tuple[int, int]]:
    """The call itself, and what makes the list that it is given as its sources."""
    end = _closing(data, arguments)
    yield offset, end
    match = _SOURCES_ARGUMENT.search(data, arguments, end) or _SECOND_ARGUMENT.match(data, arguments, end)
    if match is None:
        return
    name = re.escape(match[1])
    makes = re.compile(rb"^[ \t]*%s[ \t]*(?:\+?=|\.(?:append|extend|insert)\()" % name, re.M)
    for made in islice(makes.finditer(data), _MOST_STATEMENTS):
        yield made.start(), _end_of_statement(data, made.end())


def _end_of_statement(data: bytes, offset: int) -> int:
    """The end of the line on which as many brackets are closed as were opened."""
    depth = 0
    for match in re.compile(rb"[()\[\]\n]").finditer(data, offset, offset + _LONGEST_LIST):
        depth += {b"(": 1, b"[": 1, b"\n": 0}.get(match[0], -1)
        if match[0] == b"\n" and depth <= 0 and data[match.start() - 1 : match.start()] != b"\\":
            return match.start()
    return min(len(data), offset + _LONGEST_LIST)


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
    yield from _globbed(data, function, start, end)
    for match in _SOURCE.finditer(data, start, end):
        parts = [m.decode("utf-8", "backslashreplace") for m in _QUOTED.findall(match.group(2))]
        target = _PLACEHOLDER.sub("*", "/".join(p.strip("/") for p in parts))
        base = (match.group(1) or b"").split(b"/")[0].strip().decode("utf-8", "backslashreplace")
        if " " not in target and not target.startswith("*."):
            yield Link(LinkKind.JIT_SOURCE, function, target, _line(data, match.start(2)), base)


def _globbed(data: bytes, function: str, start: int, end: int) -> Iterator[Link]:
    """`glob(os.path.join(here, "csrc", "*.cu"))`: the pattern as far as texts tell, with `glob` as its `detail`."""
    for match in islice(_GLOB.finditer(data, start, end), _MOST_STATEMENTS):
        owner = _OWNER.search(data, max(start, match.start() - _BEFORE), match.start())
        parts = [
            *(_pieces(data, owner[1]) if owner else ()),
            *(["**"] if match[0].startswith(b"r") else ()),
            *_pieces(data, data[match.end() : _closing(data, match.end())]),
        ]
        target = _PLACEHOLDER.sub("*", "/".join(p.strip("/") for p in parts if p.strip("./")))
        if _SOURCE_SUFFIX.search(target):
            yield Link(LinkKind.JIT_SOURCE, function, target, _line(data, match.start()), "glob")


def _pieces(data: bytes, text: bytes, depth: int = 2) -> Iterator[str]:
    """The texts of an expression in order; those of a name are the ones of what it was set to."""
    for quoted, name in _PIECE.findall(text[:_LONGEST_LINE]):
        if not name:
            yield quoted.decode("utf-8", "backslashreplace")
        elif depth and name in _assigned(data):
            yield from _pieces(data, _assigned(data)[name], depth - 1)


@lru_cache(maxsize=1)
def _assigned(data: bytes) -> dict[bytes, bytes]:
    """What each name is first set to, as far as its line goes."""
    return dict(reversed(_ASSIGNMENT.findall(data)))


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
        named = _NAMED_BY.match(data, offset)
        literal = rb"^[ \t]*%s[ \t]*=()[ \t]*(\"[^\"\n]*\"|'[^'\n]*')[ \t]*\r?$"
        match = re.search(literal % named[1], data, re.M) if named else None
    if not match:
        return ""
    return _PLACEHOLDER.sub("*", match.group(2)[1:-1].decode("utf-8", "backslashreplace"))


def _name_of_function(function: str) -> str:
    """`trtllm_comm` of `gen_trtllm_comm_module`: the name where the code computes it."""
    return re.sub(r"^_*(?:gen|get|load|build|make|jit|compile)_(?:jit_)?|_(?:module|spec|extension)$", "", function)


def _closing(data: bytes, offset: int) -> int:
    """The end of the argument list that begins at `offset`, or what is read of a very long one."""
    depth = 1
    for match in re.compile(rb"[()]").finditer(data, offset, offset + _LONGEST_LIST):
        depth += 1 if match.group() == b"(" else -1
        if depth == 0:
            return match.end()
    return min(len(data), offset + _LONGEST_LIST)


def _line(data: bytes, offset: int) -> int:
    return bisect_right(_newlines(data), offset - 1) + 1


@lru_cache(maxsize=1)
def _newlines(data: bytes) -> list[int]:
    return [match.start() for match in re.finditer(rb"\n", data)]
