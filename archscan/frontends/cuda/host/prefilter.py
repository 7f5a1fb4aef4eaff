"""Decides from bytes which functions are worth parsing: a parser is a hundred times slower than a search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Names are looked for in a copy in lower case without blanks and closing brackets: `(Sm) >= 90` is `(sm\2\190` there
_SQUEEZED = bytes(
    0x02 if c in b"<>!" else 0x01 if c == 0x3D else c | 0x20 if 0x41 <= c <= 0x5A else c for c in range(256)
)
_DROPPED = b" \t)"
_CARRIERS = tuple(  # variables and helpers: `sm >= 90`, `sm() >= 90`
    name + call
    for name in (b"sm", b"sm_", b"cc", b"arch", b"major", b"capability", b"version", b"_num")
    for call in (b"", b"(")
)
_OF_TYPES = (b"mincomputecapability", b"maxcomputecapability")  # ArchTag::kMinComputeCapability >= 90: of a type
_NAMES = tuple(operator + name for operator in (b"", b"\x01") for name in (b"sm", b"cc", b"arch", b"major"))
_CONSTANT = re.compile(
    rb"\x01?(?:(?:[5-9]|1[0-3]|[3-9]\d|1[0-3]\d|[3-9]\d\d|1[0-3]\d\d)(?![\d.])"
    rb"|(?=[a-z_:])[\w:]*?(?:sm_?\d|cc_|_cc|arch|capability\{|::major|volta|turing|ampere|ada|hopper|blackwell|rubin"
    rb"|m(?:in|ax)_?(?:sm|cc|cap|comp)|make_(?:pair|tuple)\())"
)
_NAMED = re.compile(rb"[\x01\x02]{1,2}(?=[a-z_])[\w:]*?(?:sm_?\d\d|cc_\d|_cc_[a-z0-9])")
_SWITCH = re.compile(rb"switch\((?:\w+(?:::|\.|->|-\x02))*\w*(?:sm|cc|arch|major|version)_?(?:\(\d*)?[{/%]")
_LOOKUP = re.compile(
    rb"(?:count|find|contains|at|_search|_of)\(\{?[^;{}]*?(?:sm|cc|arch|major|version|capability)_?[\x01\x02;,{!&|\]]"
    rb"|_of\([^;{}]*\{return[^;{}]*(?:(?:sm|cc|arch|capability)_?\x01\x01|\x01\x01[^;{}]*(?:sm|cc|arch|capability)_?;)"
)
_LOOKUPS = (b".count(", b".find(", b".contains(", b"std::find(", b".at(", b"y_search(", b"any_of(", b"none_of(")
_CONSTEXPR = re.compile(rb"ifconstexpr\([^;{}]*(?:arch|sm_?\d|is_major)")
_SOURCES: dict[bytes, tuple[bytes, ...]] = {  # by what they have in common, which most files do not hold
    b"ersion(": (b"SMVersion(", b"SmVersion(", b"get_sm_version("),
    b"apability": (b"omputeCapability(", b"AttrComputeCapability", b"apability().first"),
    b"E_COMPUTE_CAPABILITY": (b"ATTRIBUTE_COMPUTE_CAPABILITY",),
    b"sm_version_num(": (b"",),
    b"apacity.first": (b"",),
    b"sm_arch(": (b"",),
}

_REVERSED = re.compile(rb"\x01?(?:sm|cc|arch|major)(?:_?(?:v|major|\W|\Z)|_\W)")  # after a number and an operator
_LOOPED = re.compile(  # for (auto& m : table) if (m.sm == sm)
    rb"for\([^;(){}]*:[^;(){}]*\{?\s*if\([^;{}]*?(?:(?:sm|cc|arch|capability|version)_?\x01\x01"
    rb"|\x01\x01(?:sm|cc|arch|capability)\b)"
)
_CHECKED = re.compile(  # CHECK_GE(prop.major, 9)
    rb"_(?:eq|ne|lt|le|gt|ge)\([^;{}]*?(?:sm|sm_|cc|arch|major|capability|version|_num),"
    rb"(?:(?:[5-9]|1[0-3]|[3-9]\d|1[0-3]\d|[3-9]\d\d|1[0-3]\d\d)(?![\d.])|[\w:]*sm_?\d)"
)
_OF_SM = (b"s_sm", b"ssm")  # of is_sm90(), hasSM100f
_OF_CHIP = (b"hopper(", b"blackwell(", b"ampere(")
_VERB = re.compile(rb"(?:is|has)_?\Z")
_NO_SM = (b"a", b"em", b"oo")  # is_smaller, is_smem, is_smooth
_ASKED_OF = re.compile(  # isHopper(), if (on_hopper()); but device_hopper() of a kernel's name
    rb"(?:(?:if\s*\(|return\b|[!&|=?])\s*[\w:.>-]*|(?:is|has|can|support|use|enable|check)\w*)\Z"
)
_LONGEST_NAME = 200  # bytes, with what stands before it
_HANDED = (b".major;", b".major,", b"-\x02major;", b"-\x02major,")  # x = p.major; return {p.major, p.minor}
_BOTH = re.compile(  # major > a || (major == a && minor >= b)
    rb"\bmajor_?[\x01\x02]{1,2}(?:[a-z(]|[5-9]\b|1[0-3]\b).*\bminor_?[\x01\x02]", re.S
)
_DIVIDED = (b"sm", b"sm_", b"cc", b"arch", b"ersion", b"apability")  # sm / 10
_VALUES = (
    b"SMVersion", b"SmVersion", b"sm_version", b"ComputeCapab", b"apability", b"getSM", b"get_sm", b"get_cc",
    b".major", b">major", b"sm_arch",
)  # fmt: skip
# Every question below is about a name with one of these in it; most statements have none
_STEMS = (b"sm", b"cc", b"arch", b"major", b"capa", b"ersion", b"_num", b"hopper", b"blackwell", b"ampere")
_ALWAYS_WHOLE = 1 << 15  # smaller files are parsed whole


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file to parse, and the line (from zero) it starts on."""

    start: int
    end: int
    row: int


def asks_for_architecture(data: bytes) -> bool:
    """Whether C++ code may ask which GPU it runs on."""
    lower = data.lower()
    return _has_stem(lower) and _asks(data, lower)


def _has_stem(lower: bytes) -> bool:
    for stem in _STEMS:  # noqa: SIM110 a loop: called for every statement
        if stem in lower:
            return True
    return False


def _asks(data: bytes, lower: bytes) -> bool:
    if _asks_source(data) or _takes_major(data) or _outside_directives(data) or _states(lower):
        return True
    return _asks_squeezed(data.translate(_SQUEEZED, _DROPPED))


def _asks_source(data: bytes) -> bool:
    """Whether a function of the driver, the runtime or a library is asked for the capability."""
    return any(source in data for part, sources in _SOURCES.items() if part in data for source in sources)


def _takes_major(data: bytes) -> bool:
    """Whether the major of a device's properties is taken, whatever is then done with it: `9 == prop.major`."""
    return b"eviceProp" in data and (b".major" in data or b">major" in data)


def _states(lower: bytes) -> bool:
    """Whether code in lower case calls a predicate that names a chip: is_sm90(), isHopper()."""
    for stem in _OF_SM:
        for at in _offsets(lower, stem):
            sm = at + len(stem) - 2
            if _VERB.search(lower, max(0, sm - 4), sm) and not lower.startswith(_NO_SM, sm + 2):
                return True
    return any(
        _ASKED_OF.search(lower, max(0, at - _LONGEST_NAME), at) for chip in _OF_CHIP for at in _offsets(lower, chip)
    )


def _offsets(data: bytes, literal: bytes) -> Iterator[int]:
    at = data.find(literal)
    while at >= 0:
        yield at
        at = data.find(literal, at + 1)


def _asks_squeezed(squeezed: bytes) -> bool:
    if _compares(squeezed) or b"major*10" in squeezed or _divides(squeezed):
        return True
    if b"major" in squeezed and (any(handed in squeezed for handed in _HANDED) or _BOTH.search(squeezed)):
        return True
    if (b"check_" in squeezed or b"expect_" in squeezed or b"assert_" in squeezed) and _CHECKED.search(squeezed):
        return True
    if b"for(" in squeezed and _LOOPED.search(squeezed):
        return True
    if b"ifconstexpr(" in squeezed and _CONSTEXPR.search(squeezed):
        return True
    if any(lookup in squeezed for lookup in _LOOKUPS) and _LOOKUP.search(squeezed):
        return True
    return b"switch(" in squeezed and _SWITCH.search(squeezed) is not None


def may_ask(function: bytes) -> bool:
    """Whether a function asks for the architecture or hands a capability on; looser than the question for a file."""
    lower = function.lower()
    if not _has_stem(lower):
        return False
    if any(value in function for value in _VALUES) or _asks_source(function):
        return True
    if _outside_directives(function) or _states(lower):
        return True
    squeezed = function.translate(_SQUEEZED, _DROPPED)
    return _asks_squeezed(squeezed) or _NAMED.search(squeezed) is not None


def _compares(squeezed: bytes) -> bool:
    """Whether a name is compared with a number or constant that may be a capability, or a number with a name."""
    sides = squeezed.replace(b"\x01\x01", b"\x02").split(b"\x02")
    named = [i for i, side in enumerate(sides) if side.endswith(_CARRIERS) and not side.endswith(_OF_TYPES)]
    if any(_CONSTANT.match(sides[i + 1]) for i in named if i + 1 < len(sides)):
        return True
    behind = [i for i, side in enumerate(sides) if side.startswith(_NAMES) and i]
    return any(sides[i - 1][-1:].isdigit() and _REVERSED.match(sides[i]) for i in behind)


def _divides(squeezed: bytes) -> bool:
    """Whether a capability is divided by ten or a hundred."""
    position = squeezed.find(b"/10")
    while position >= 0:
        if squeezed[max(0, position - 10) : position].endswith(_DIVIDED):
            return True
        position = squeezed.find(b"/10", position + 1)
    return False


def _outside_directives(data: bytes) -> bool:
    """Whether `__CUDA_ARCH__` stands in C++ code."""
    position = data.find(b"__CUDA_ARCH__")
    while position >= 0:
        begin = data.rfind(b"\n", 0, position) + 1
        head = data[begin:position].lstrip()
        continued = data[max(0, begin - 3) : begin].rstrip(b"\r\n").endswith(b"\\")
        if not head.startswith((b"#", b"*", b"/*")) and not continued and b"//" not in head:
            return True
        line = data.find(b"\n", position)
        position = data.find(b"__CUDA_ARCH__", line) if line >= 0 else -1
    return False


def pieces(data: bytes) -> Iterator[Piece]:
    """The parts to parse: the whole of a small file, else the pieces between braces in column one that may ask."""
    if len(data) <= _ALWAYS_WHOLE:
        yield Piece(0, len(data), 0)
        return
    start = row = 0
    for chunk in data.split(b"\n}"):
        if may_ask(chunk):
            yield Piece(start, min(len(data), start + len(chunk) + 2), row)
        start += len(chunk) + 2
        row += chunk.count(b"\n") + 1
