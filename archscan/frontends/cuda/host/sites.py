"""Finds halves of features and uses of limited resources by regular expression: no parser, every file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from archscan.frontends.cuda.host.lowering import expression
from archscan.frontends.cuda.host.summaries import message_of
from archscan.frontends.cuda.host.syntax import Expr, Op
from archscan.frontends.cuda.lines import Lines
from archscan.frontends.cuda.scopes import Scopes
from archscan.model.facts import SiteKind
from archscan.model.gate import Place

_NAME_BEFORE_BRACKET = re.compile(rb"([A-Za-z_]\w*)\s*\(")
_NO_NAME = frozenset(
    b"__launch_bounds__ __attribute__ __align__ alignas __cluster_dims__ __maxnreg__ __block_size__ decltype noexcept "
    b"requires sizeof extern __declspec".split()
)
_LAUNCHED = re.compile(rb"([A-Za-z_]\w*)\s*(?:<[^;{}]*>)?\s*$", re.S)
_LAUNCH_CALL = re.compile(
    rb"\b(?:cuda|cu|hip)?LaunchKernel(?:ExC?|EX)?\s*\(\s*&?[\w.\[\]>-]+\s*,\s*(?:\(\s*(?:const\s+)?void\s*\*\s*\)\s*)?"
    rb"&?((?:\w+::)*[A-Za-z_]\w*)"
)
_ATTRIBUTE_VALUE = re.compile(
    rb"(?:programmaticStreamSerializationAllowed|programmaticStreamSerialization)\s*=\s*([^;,}]+)"
)
_SHARED = re.compile(
    rb"__shared__\s+(?:(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)\s*|volatile\s+|const\s+|static\s+|typename\s+)*"
    rb"(?P<type>[A-Za-z_][\w:]*(?:\s+(?:int|long|char|short|double))*(?:\s*<[^;={}()]*>)?)\s*[*&]?\s+"
    rb"(?:__align__\s*\(\d+\)\s*)?(?P<name>\w+)\s*(?P<sizes>(?:\[[^\];]*\]\s*)+)[;,=]"
)
_SIZE = re.compile(rb"\[([^\]]*)\]")
_NAMES = re.compile(rb"[A-Za-z_]\w*")
_SIZES = {
    "char": 1, "int8_t": 1, "uint8_t": 1, "bool": 1, "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1, "std::byte": 1, "uchar": 1,
    "short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "bf16": 2,
    "float": 4, "int": 4, "unsigned": 4, "int32_t": 4, "uint32_t": 4, "half2": 4, "__half2": 4, "__nv_bfloat162": 4,
    "uint": 4, "double": 8, "long": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "float2": 8, "int2": 8, "uint2": 8,
    "float4": 16, "int4": 16, "uint4": 16, "double2": 16, "ulonglong2": 16,
}  # fmt: skip
_DEFINITION = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+(?P<text>[^\n]+)"
    rb"|\bconst(?:expr)?\b[^;={}()\n]*?\b(?P<name>\w+)\s*=\s*(?P<value>[^;{}]+);",
    re.M,
)
_REFUSALS = tuple(
    re.compile(word + rb"[^;\"#]{0,400}\"")
    for word in (
        rb"CHECK\w*\s*\(", rb"ERROR\w*\s*\(", rb"THROW\w*\s*\(", rb"ASSERT\w*\s*\(", rb"ENFORCE\w*\s*\(",
        rb"FAIL\w*\s*\(", rb"throw ", rb"printf\s*\(", rb"assert\s*\(", rb"RuntimeCheck\w*\s*\(", rb"Panic\w*\s*\(",
    )
)  # fmt: skip
_WAIT = rb"cudaGridDependencySynchronize\s*\(|griddepcontrol\.wait|\bwait_on_dependent_grids\s*\("
_TRIGGER = (
    rb"cudaTriggerProgrammaticLaunchCompletion\s*\(|griddepcontrol\.launch_dependents|\blaunch_dependent_grids\s*\("
)
_LONGEST_HEADER = 4000
_MOST_NAMES = 40


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
    find: Callable[[bytes, Lines], Iterator[RawSite]]


def raw_sites(data: bytes, own: bool) -> tuple[RawSite, ...]:
    """Every site of a file in source order; of library headers only the halves of programmatic launches."""
    lines = Lines(data)
    found: list[RawSite] = []
    for finder in _FINDERS if own else _FINDERS[:3]:
        if any(key in data for key in finder.keys):
            found += finder.find(data, lines)
    if own:
        found += _messages(data, lines)
    if not found:
        return ()
    scopes = Scopes(data)
    return tuple(_named(site, scopes) for site in sorted(found, key=lambda s: (s.place.start, s.kind.value)))


def _named(site: RawSite, scopes: Scopes) -> RawSite:
    if site.function or site.kind is SiteKind.MESSAGE:
        return site
    around = scopes.function(site.place.start)
    name = around.name if around else ""
    if _MACRO_CALL.fullmatch(name):  # DISPATCH(x, { ... }): the function is further out
        name = enclosing(scopes.data, site.place.start) or name
    return RawSite(site.kind, site.name, site.place, name, site.detail, site.asked, site.unit, site.sizes, site.names)


_MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]+")
_OUTERMOST = re.compile(rb"^(?:[A-Za-z_][^\n;{}()]*?)\b([A-Za-z_]\w*)\s*\(", re.M)


def enclosing(data: bytes, offset: int) -> str:
    """The function that begins in column one before the offset, behind the last brace that closes in column one."""
    begin = data.rfind(b"\n}", 0, offset) + 1
    found = ""
    for match in _OUTERMOST.finditer(data, begin, offset):
        if match[1] not in _NO_NAME and not _MACRO_CALL.fullmatch(match[1].decode()):
            found = match[1].decode()
    return found


def _matches(pattern: bytes, kind: SiteKind) -> Callable[[bytes, Lines], Iterator[RawSite]]:
    compiled = re.compile(pattern)

    def find(data: bytes, lines: Lines) -> Iterator[RawSite]:
        for match in compiled.finditer(data):
            if not _commented(data, match.start()):
                text = match[0].rstrip(b"( ").decode()
                yield RawSite(kind, text, lines.place(match.start(), match.end()))

    return find


def _commented(data: bytes, offset: int) -> bool:
    """Whether a `//` or the middle of a block comment stands before the offset on its line."""
    begin = data.rfind(b"\n", 0, offset) + 1
    head = data[begin:offset]
    return b"//" in head or head.lstrip()[:1] == b"*"


def _pdl_attributes(data: bytes, lines: Lines) -> Iterator[RawSite]:
    pattern = rb"(?:cudaLaunchAttributeProgrammaticStreamSerialization|CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)\b"
    for match in re.finditer(pattern, data):
        if _commented(data, match.start()):
            continue
        value = _ATTRIBUTE_VALUE.search(data, match.end(), match.end() + 800)
        text = value[1].strip().decode("utf-8", "replace") if value else ""
        if text not in ("0", "false"):
            place = lines.place(match.start(), match.end())
            asked = value.start(1) if value else match.start()
            yield RawSite(SiteKind.PDL_ATTRIBUTE, match[0].decode(), place, detail=text, asked=asked)


def _header(data: bytes, start: int) -> tuple[bytes, bool]:
    """The text from a qualifier to the brace that opens its function, and whether there is one (not a declaration)."""
    window = data[start : start + _LONGEST_HEADER]
    end = re.search(rb"[;{]", window)
    return (window[: end.start()], end[0] == b"{") if end else (window, False)


def function_name(header: bytes) -> str:
    """The function a header declares: the first name before a bracket that is no qualifier."""
    for match in _NAME_BEFORE_BRACKET.finditer(header):
        if match[1] not in _NO_NAME:
            return match[1].decode("utf-8", "replace")
    return ""


def _kernels(data: bytes, lines: Lines) -> Iterator[RawSite]:
    for match in re.finditer(rb"\b__global__\b", data):
        header, defined = _header(data, match.end())
        name = function_name(re.sub(rb"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)", b"", header))
        if defined and name and not _commented(data, match.start()):
            yield RawSite(SiteKind.KERNEL, name, lines.place(match.start(), match.end()), function=name)


def _launches(data: bytes, lines: Lines) -> Iterator[RawSite]:
    for match in re.finditer(rb"<<<", data):
        before = data[max(0, match.start() - 400) : match.start()]
        launched = _LAUNCHED.search(before[max(before.rfind(b";"), before.rfind(b"{")) + 1 :])
        if launched and not _commented(data, match.start()):
            at = match.start() - (len(launched.string) - launched.start())
            yield RawSite(SiteKind.LAUNCH, launched[1].decode("utf-8", "replace"), lines.place(at, match.end()))
    for match in _LAUNCH_CALL.finditer(data):
        if not _commented(data, match.start()):
            name = match[1].rpartition(b"::")[2].decode("utf-8", "replace")
            yield RawSite(SiteKind.LAUNCH, name, lines.place(match.start(), match.end()))


class Definitions:
    """The constants of a file by name, found in one pass when first asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = data
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
            entries = [(at, text, expression(text, nowhere)) for at, text in self._table().get(name, ())]
            found[name.decode()] = tuple((at, value) for at, _, value in entries if value is not None)
            pending += [n for _, text, _ in entries for n in _NAMES.findall(text)]
        return tuple((name, entries) for name, entries in found.items() if entries)

    def _table(self) -> dict[bytes, list[tuple[int, bytes]]]:
        if self._found is None:
            self._found = {}
            for match in _DEFINITION.finditer(self._data):
                text = (match["text"] or match["value"]).split(b"//")[0].strip()
                if len(text) < 200:
                    self._found.setdefault(match["macro"] or match["name"], []).append((match.start(), text))
        return self._found


def _shared(data: bytes, lines: Lines) -> Iterator[RawSite]:
    definitions = Definitions(data)
    for match in _SHARED.finditer(data):
        before = data[max(0, match.start() - 12) : match.start()]
        kind = match["type"].decode("utf-8", "replace")
        unit = _SIZES.get(kind.split("<")[0].removeprefix("std::"), 0) or _SIZES.get(kind.split()[0], 0)
        if b"extern" in before or not unit or _commented(data, match.start()):
            continue
        yield from _resource(
            SiteKind.STATIC_SHARED, match["name"], definitions, lines, match, _SIZE.findall(match["sizes"]), unit
        )


def _resource(
    kind: SiteKind,
    name: bytes,
    definitions: Definitions,
    lines: Lines,
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
            names=definitions.of(sizes) if any(e.op is not Op.NUMBER for e in known) else (),
        )


def _bounds(word: bytes, kind: SiteKind) -> Callable[[bytes, Lines], Iterator[RawSite]]:
    pattern = re.compile(rb"\b" + word + rb"\s*\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")

    def find(data: bytes, lines: Lines) -> Iterator[RawSite]:
        definitions = Definitions(data)
        for match in pattern.finditer(data):
            if _commented(data, match.start()):
                continue
            header, _ = _header(data, match.end())
            sizes = [s for s in re.split(rb",(?![^(<]*[)>])", match[1]) if s.strip()][: 2 if b"launch" in word else 3]
            yield from _resource(kind, function_name(header).encode(), definitions, lines, match, sizes)

    return find


def _messages(data: bytes, lines: Lines) -> Iterator[RawSite]:
    for pattern in _REFUSALS:
        for match in pattern.finditer(data):
            text = message_of(data[match.end() - 1 : match.end() + 600])
            if text and len(text) >= 10 and not _commented(data, match.start()):
                begin = match.start()
                while (begin and data[begin - 1 : begin].isalnum()) or data[begin - 1 : begin] == b"_":
                    begin -= 1
                word = re.match(rb"\w+", data[begin : begin + 80])
                detail = word[0].decode("utf-8", "replace") if word else ""
                yield RawSite(SiteKind.MESSAGE, text, lines.place(begin, match.end()), detail=detail)


_FINDERS = (
    Finder((b"rogrammaticStreamSerialization", b"PROGRAMMATIC_STREAM_SERIALIZATION"), _pdl_attributes),
    Finder(
        (b"cudaGridDependencySynchronize", b"griddepcontrol", b"_dependent_grid"), _matches(_WAIT, SiteKind.PDL_WAIT)
    ),
    Finder(
        (b"cudaTriggerProgrammatic", b"griddepcontrol", b"_dependent_grid"), _matches(_TRIGGER, SiteKind.PDL_TRIGGER)
    ),
    Finder(
        (b"AttributeClusterDimension",),
        _matches(rb"\bcudaLaunchAttributeClusterDimension\b", SiteKind.CLUSTER_ATTRIBUTE),
    ),
    Finder((b"__global__",), _kernels),
    Finder((b"<<<", b"LaunchKernel"), _launches),
    Finder((b"__shared__",), _shared),
    Finder((b"__launch_bounds__",), _bounds(rb"__launch_bounds__", SiteKind.LAUNCH_BOUNDS)),
    Finder((b"__cluster_dims__",), _bounds(rb"__cluster_dims__", SiteKind.CLUSTER_DIMS)),
)
