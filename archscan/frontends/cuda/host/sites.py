"""Finds halves of features and uses of limited resources by regular expression: no parser, every file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from archscan.catalog.recognise import blank_literals
from archscan.frontends.cuda.host.expressions import expression
from archscan.frontends.cuda.host.layouts import Layouts
from archscan.frontends.cuda.host.syntax import Expr, Op
from archscan.frontends.cuda.lines import Lines
from archscan.frontends.cuda.scopes import Scopes
from archscan.model.facts import SiteKind
from archscan.model.gate import Place

_LONGEST_NAME = 250  # bytes, with the blanks behind it
_WORDS = bytes(c if chr(c).isascii() and (chr(c).isalnum() or c == 0x5F) else 0x20 for c in range(256))
_NO_NAME = frozenset(
    b"__launch_bounds__ __attribute__ __align__ alignas __cluster_dims__ __maxnreg__ __block_size__ decltype noexcept "
    b"requires sizeof extern __declspec".split()
)
_GLOBAL = re.compile(rb"__global__\b")
_QUALIFIER = re.compile(rb"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)")
_LAUNCHED = re.compile(rb"([A-Za-z_]\w*)\s*(?:<[^;{}]*>)?\s*$", re.S)
_LAUNCH_CALL = re.compile(
    rb"LaunchKernel(?:ExC?|EX)?\s*\(\s*&?[\w.\[\]>-]+\s*,\s*(?:\(\s*(?:const\s+)?void\s*\*\s*\)\s*)?"
    rb"&?((?:\w+::)*[A-Za-z_]\w*)"
)
_LAUNCHERS = frozenset({b"", b"cuda", b"cu", b"hip"})  # what may stand before LaunchKernel
_ATTRIBUTE_VALUE = re.compile(
    rb"(?:programmaticStreamSerializationAllowed|programmaticStreamSerialization)\s*=\s*([^;,}]+)"
)
_SHARED = re.compile(
    rb"__shared__\s+(?:(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)\s*|volatile\s+|const\s+|static\s+|typename\s+)*"
    rb"(?P<type>[A-Za-z_][\w:]*(?:\s+(?:int|long|char|short|double))*(?:\s*<[^;={}()]*>)?)\s*[*&]?\s+"
    rb"(?:__align__\s*\(\d+\)\s*)?(?P<name>\w+)\s*(?P<sizes>(?:\[[^\];]*\]\s*)*)[;,=]"
)
_SIZE = re.compile(rb"\[([^\]]*)\]")
_SIZE_OF = re.compile(rb"\bsizeof\s*\(\s*([A-Za-z_][\w: ]*(?:<[\w:, ]*>)?)\s*\)")
_NAMES = re.compile(rb"[A-Za-z_]\w*")
SIZES = {
    "char": 1, "int8_t": 1, "uint8_t": 1, "bool": 1, "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1, "std::byte": 1, "uchar": 1,
    "short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "bf16": 2,
    "float": 4, "int": 4, "unsigned": 4, "int32_t": 4, "uint32_t": 4, "half2": 4, "__half2": 4, "__nv_bfloat162": 4,
    "uint": 4, "double": 8, "long": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "float2": 8, "int2": 8, "uint2": 8,
    "float4": 16, "int4": 16, "uint4": 16, "double2": 16, "ulonglong2": 16,
}  # fmt: skip
_MACRO = re.compile(rb"define[ \t]+(\w+)[ \t]+([^\n]+)")
_CONSTANT = re.compile(rb"const(?:expr)?\b[^;={}()\n]*?\b(\w+)\s*=\s*([^;{}]+);")
_TRIGGER = (b"cudaTriggerProgrammaticLaunchCompletion", b"griddepcontrol.launch_dependents", b"launch_dependent_grids")
_STREAM = (
    b"cudaLaunchAttributeProgrammaticStreamSerialization",
    b"CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION",
)
_LONGEST_HEADER = 4000
_NEAR = 500  # bytes: lines of so few are counted again
_MOST_NAMES = 40
_LONGEST_VALUE = 200  # bytes of a constant


@dataclass(frozen=True, slots=True)
class RawSite:
    """A site before its truth is known. `sizes` multiply to its value; `names` says what they are made of."""

    kind: SiteKind
    name: str
    place: Place
    function: str = ""
    detail: str = ""
    asked: int = -1  # offset of the assignment that decides whether it is in force
    unit: int = 1
    sizes: tuple[Expr, ...] = ()
    names: tuple[tuple[str, tuple[tuple[int, Expr], ...]], ...] = ()  # name -> (offset, value) of every definition


@dataclass(frozen=True)
class Finder:
    """One kind of site: how to see at once that a file has none, and how to find them."""

    keys: tuple[bytes, ...]
    find: Callable[[bytes, Reading], Iterator[RawSite]]


class Reading:
    """What the finders of one file share: its constants, and places. Each stretch of lines is counted once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offsets, self._lines = [0], [1]  # what has been counted: rising offsets, each with its line
        self.layouts = Layouts(data, SIZES)
        self.definitions = Definitions(data, self.layouts)

    def place(self, start: int, end: int) -> Place:
        """The place of a byte range."""
        line, column = self._at(start)
        end_line, end_column = self._at(end)
        return Place(start, end, line, column, end_line, end_column)

    def _at(self, offset: int) -> tuple[int, int]:
        at = bisect_right(self._offsets, offset)
        known = self._offsets[at - 1]
        line = self._lines[at - 1] + self._data.count(b"\n", known, offset)
        if offset - known > _NEAR:
            self._offsets.insert(at, offset)
            self._lines.insert(at, line)
        begin = self._data.rfind(b"\n", 0, offset) + 1
        return line, len(self._data[begin:offset].decode("utf-8", "replace")) + 1


def raw_sites(data: bytes, own: bool, more: tuple[Finder, ...] = ()) -> tuple[RawSite, ...]:
    """Every site of a file in source order; of library headers only the halves of programmatic launches."""
    lines = Reading(data)
    found: list[RawSite] = []
    for finder in (*_FINDERS, *more) if own else _HALVES:
        if not finder.keys or any(key in data for key in finder.keys):
            found += finder.find(data, lines)
    if not found:
        return ()
    names = Enclosing(data)
    return tuple(names.named(site) for site in sorted(found, key=lambda s: (s.place.start, s.kind.value)))


class Enclosing:
    """Names the function around each site, for rising offsets."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._scopes = Scopes(data)
        self._known: dict[int, str] = {}  # by where a piece between closing braces in column one begins

    def named(self, site: RawSite) -> RawSite:
        if site.function:
            return site
        begin = self._data.rfind(b"\n}", 0, site.place.start) + 1
        if begin not in self._known:
            self._known[begin] = outermost(self._data, begin)
        return replace(site, function=self._known[begin] or self._asked(site.place.start))

    def _asked(self, offset: int) -> str:
        around = self._scopes.function(offset)
        return around.name if around else ""


_COLUMN_ONE = re.compile(
    rb"^(?=[A-Za-z_])(?!namespace|extern\s*\"C\"\s*\{|struct|class|enum|union|using|typedef)[^;{}#]*\{", re.M
)


def outermost(data: bytes, begin: int) -> str:
    """The function that starts in column one behind `begin`, before a brace closes there; "" if none does."""
    end = data.find(b"\n}", begin + 1)
    found = _COLUMN_ONE.search(data, begin, min(end if end >= 0 else len(data), begin + _LONGEST_HEADER))
    return function_name(_QUALIFIER.sub(b"", found[0])) if found else ""


def _matches(literals: tuple[bytes, ...], kind: SiteKind) -> Callable[[bytes, Reading], Iterator[RawSite]]:
    def find(data: bytes, lines: Reading) -> Iterator[RawSite]:
        for literal in literals:
            for start in _offsets(data, literal):
                end = start + len(literal)
                if not data[end : end + 1].isalnum() and not commented(data, start):
                    yield RawSite(kind, literal.decode(), lines.place(start, end))

    return find


def _offsets(data: bytes, literal: bytes) -> Iterator[int]:
    position = data.find(literal)
    while position >= 0:
        yield position
        position = data.find(literal, position + len(literal))


def commented(data: bytes, offset: int) -> bool:
    """Whether a `//` or the middle of a block comment stands before the offset on its line."""
    begin = data.rfind(b"\n", 0, offset) + 1
    head = data[begin:offset]
    return b"//" in head or head.lstrip()[:1] == b"*"


def _pdl_attributes(data: bytes, lines: Reading) -> Iterator[RawSite]:
    for site in _matches(_STREAM, SiteKind.PDL_ATTRIBUTE)(data, lines):
        value = _ATTRIBUTE_VALUE.search(data, site.place.end, site.place.end + 800)
        text = value[1].strip().decode("utf-8", "replace") if value else ""
        if text not in ("0", "false") and not _is_never_passed(data, text, site.place.start):
            yield replace(site, detail=text, asked=value.start(1) if value else site.place.start)


def _is_never_passed(data: bytes, name: str, at: int) -> bool:
    """Whether a value is a parameter that is false by default, and no call of its function in the file passes another.

    A function that the file does not call is called elsewhere, and nobody knows with what.
    """
    if not name.isidentifier():
        return False
    default = re.compile(rb"\bbool\s+(?:const\s+)?" + name.encode() + rb"\s*=\s*false\b")
    found = [match.start() for match in default.finditer(data, max(0, at - _FAR), at)]
    opening = _opened_before(data, found[-1]) if found else -1
    function = word_before(data, opening) if opening > 0 else b""
    if not function:
        return False
    index, code = data.count(b",", opening, found[-1]), blank_literals(data)
    named = re.finditer(rb"\b" + function + rb"\s*(?:<[^;(){}]*>\s*)?\(", code)
    calls = [match.end() for match in named if _is_call(code, match.start())]
    return bool(calls) and all(_passes_nothing(code, call, index) for call in calls)


_FAR = 16000  # bytes of a function that launches


def _opened_before(data: bytes, at: int) -> int:
    """The offset of the bracket that is open at an offset; -1 where none is near."""
    depth = 0
    for offset in range(at - 1, max(0, at - _LONGEST_HEADER), -1):
        depth += (data[offset] == 0x29) - (data[offset] == 0x28)
        if depth < 0:
            return offset
    return -1


_TYPE_BEFORE = re.compile(rb"(?:\b(?!return\b|else\b|do\b)\w+|[*&>])\s+(?:\w+::)*\Z")


def _is_call(data: bytes, at: int) -> bool:
    """Whether a name is called at an offset, not declared, defined or instantiated."""
    return _TYPE_BEFORE.search(data, max(0, at - _LONGEST_NAME), at) is None


def _passes_nothing(data: bytes, begin: int, index: int) -> bool:
    """Whether a call has no argument of that index, or the literal `false`."""
    depth, start, count = 0, begin, 0
    for offset in range(begin, min(len(data), begin + _LONGEST_HEADER)):
        byte = data[offset]
        if byte in b"([{":
            depth += 1
        elif byte in b")]}" and depth:
            depth -= 1
        elif not depth and byte in b",)":
            if count == index:
                return data[start:offset].strip() == b"false"
            if byte == 0x29:
                return True
            count, start = count + 1, offset + 1
    return False


def _header(data: bytes, start: int) -> tuple[bytes, bool]:
    """The text from a qualifier to the brace that opens its function, and whether there is one (not a declaration)."""
    window = data[start : start + _LONGEST_HEADER]
    end = re.search(rb"[;{]", window)
    return (window[: end.start()], end[0] == b"{") if end else (window, False)


def function_name(header: bytes) -> str:
    """The function a header declares: the first name before a bracket that is no qualifier."""
    at = header.find(b"(")
    while at >= 0:
        name = word_before(header, at)
        if name and name not in _NO_NAME:
            return name.decode("utf-8", "replace")
        at = header.find(b"(", at + 1)
    return ""


def word_before(data: bytes, at: int) -> bytes:
    """The name that ends before an offset, blanks between left out; empty if something else does."""
    before = data[max(0, at - _LONGEST_NAME) : at].rstrip().translate(_WORDS)
    return before[before.rfind(b" ") + 1 :].lstrip(b"0123456789")


def _words(literal: bytes, pattern: re.Pattern[bytes], data: bytes) -> Iterator[re.Match[bytes]]:
    """The matches of a pattern that begins with a literal, of those that do not begin within a word."""
    end = 0
    for start in _offsets(data, literal):
        if start >= end and (match := pattern.match(data, start)) is not None:
            end = match.end()
            if not is_in_word(data, start):
                yield match


def is_in_word(data: bytes, at: int) -> bool:
    """Whether the byte before an offset belongs to a word."""
    return at > 0 and (data[at - 1] == 0x5F or data[at - 1 : at].isalnum())


def _kernels(data: bytes, lines: Reading) -> Iterator[RawSite]:
    for match in _words(b"__global__", _GLOBAL, data):
        header, defined = _header(data, match.end())
        name = function_name(_QUALIFIER.sub(b"", header))
        if defined and name and not commented(data, match.start()):
            yield RawSite(SiteKind.KERNEL, name, lines.place(match.start(), match.end()), function=name)


def _launches(data: bytes, lines: Reading) -> Iterator[RawSite]:
    for start in _offsets(data, b"<<<"):
        before = data[max(0, start - 400) : start]
        launched = _LAUNCHED.search(before[max(before.rfind(b";"), before.rfind(b"{")) + 1 :])
        if launched and not commented(data, start):
            at = start - (len(launched.string) - launched.start())
            yield RawSite(SiteKind.LAUNCH, launched[1].decode("utf-8", "replace"), lines.place(at, start + 3))
    for match in _LAUNCH_CALL.finditer(data):
        begin = word_start(data, match.start())
        if data[begin : match.start()] in _LAUNCHERS and not commented(data, begin):
            name = match[1].rpartition(b"::")[2].decode("utf-8", "replace")
            yield RawSite(SiteKind.LAUNCH, name, lines.place(begin, match.end()))


def counted(text: bytes, layouts: Layouts) -> bytes:
    """An expression with the sizes of types in place of `sizeof`, casts left out."""

    def number(match: re.Match[bytes]) -> bytes:
        return layouts.size(match[1].strip()) or match[0]

    return re.sub(rb"\bstatic_cast<[^<>]*>", b"", _SIZE_OF.sub(number, text))


class Definitions:
    """The constants of a file by name, found in one pass when first asked for."""

    def __init__(self, data: bytes, layouts: Layouts) -> None:
        self._data = data
        self._layouts = layouts
        self._found: dict[bytes, list[tuple[int, bytes]]] | None = None

    def of(self, sizes: list[bytes]) -> tuple[tuple[str, tuple[tuple[int, Expr], ...]], ...]:
        """Every definition of the names in `sizes`, and of the names in those."""
        found: dict[str, tuple[tuple[int, Expr], ...]] = {}
        pending = [n for size in sizes for n in _NAMES.findall(size)]
        nowhere = Lines(b"").place(0, 0)
        while pending and len(found) < _MOST_NAMES:
            name = pending.pop()
            if name.decode() in found:
                continue
            given = ((at, counted(text, self._layouts)) for at, text in self._table().get(name, ()))
            entries = [(at, text, expression(text, nowhere)) for at, text in given if len(text) < _LONGEST_VALUE]
            found[name.decode()] = tuple((at, value) for at, _, value in entries if value is not None)
            pending += [n for _, text, _ in entries for n in _NAMES.findall(text)]
        return tuple((name, entries) for name, entries in found.items() if entries)

    def _table(self) -> dict[bytes, list[tuple[int, bytes]]]:
        if self._found is None:
            self._found = {}
            for match in sorted((*_macros(self._data), *_words(b"const", _CONSTANT, self._data)), key=_start):
                text = match[2].split(b"//")[0].strip()
                self._found.setdefault(match[1], []).append((match.start(), text))
        return self._found


def _macros(data: bytes) -> Iterator[re.Match[bytes]]:
    """The `#define`s with a body that begin a line."""
    for match in _MACRO.finditer(data):
        before = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if before.strip(b" \t") == b"#":
            yield match


def _start(match: re.Match[bytes]) -> int:
    return match.start()


def _shared(data: bytes, lines: Reading) -> Iterator[RawSite]:
    for match in _SHARED.finditer(data):
        before = data[max(0, match.start() - 12) : match.start()]
        kind = match["type"].decode("utf-8", "replace")
        unit = SIZES.get(kind.split("<")[0].removeprefix("std::"), 0) or SIZES.get(kind.split()[0], 0)
        sizes = _SIZE.findall(match["sizes"])
        if b"extern" in before or commented(data, match.start()) or (unit and not sizes):
            continue
        if not unit and (size := lines.layouts.size(match["type"])):
            sizes, unit = [*sizes, size], 1
        if unit:
            yield from _resource(SiteKind.STATIC_SHARED, match["name"], lines, match, sizes, unit)


def _resource(
    kind: SiteKind,
    name: bytes,
    lines: Reading,
    match: re.Match[bytes],
    sizes: list[bytes],
    unit: int = 1,
) -> Iterator[RawSite]:
    exprs = [expression(size.strip(), lines.place(match.start(), match.end())) for size in sizes]
    known = tuple(e for e in exprs if e is not None)
    if known and len(known) == len(exprs):
        yield RawSite(
            kind,
            name.decode("utf-8", "replace"),
            lines.place(match.start(), match.end()),
            function="" if kind is SiteKind.STATIC_SHARED else name.decode("utf-8", "replace"),
            unit=unit,
            sizes=known,
            names=lines.definitions.of(sizes) if any(e.op is not Op.NUMBER for e in known) else (),
        )


def _bounds(word: bytes, kind: SiteKind) -> Callable[[bytes, Reading], Iterator[RawSite]]:
    pattern = re.compile(word + rb"\s*\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")

    def find(data: bytes, lines: Reading) -> Iterator[RawSite]:
        for match in _words(word, pattern, data):
            if commented(data, match.start()):
                continue
            header, _ = _header(data, match.end())
            sizes = [s for s in re.split(rb",(?![^(<]*[)>])", match[1]) if s.strip()][: 2 if b"launch" in word else 3]
            yield from _resource(kind, function_name(header).encode(), lines, match, sizes)

    return find


def word_start(data: bytes, at: int) -> int:
    """Where the word that goes on at an offset begins."""
    while is_in_word(data, at):
        at -= 1
    return at


_HALVES = (
    Finder((b"rogrammaticStreamSerialization", b"PROGRAMMATIC_STREAM_SERIALIZATION"), _pdl_attributes),
    Finder((b"launch_dependent", b"TriggerProgrammatic"), _matches(_TRIGGER, SiteKind.PDL_TRIGGER)),
)
_FINDERS = (
    *_HALVES,
    Finder((b"__global__",), _kernels),
    Finder((b"<<<", b"LaunchKernel"), _launches),
    Finder((b"__shared__",), _shared),
    Finder((b"__launch_bounds__",), _bounds(rb"__launch_bounds__", SiteKind.LAUNCH_BOUNDS)),
    Finder((b"__cluster_dims__",), _bounds(rb"__cluster_dims__", SiteKind.CLUSTER_DIMS)),
)
