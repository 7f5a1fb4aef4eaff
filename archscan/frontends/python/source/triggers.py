"""Where a Python file may ask for the architecture: the words that carry a capability, in code."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, lru_cache

from archscan.catalog.names import one_of, shortest

_FLAG = re.compile(rb"[A-Za-z_]\w*\s*=")
# What is handed to a compiler by name, or at the head of its command line.
_FLAGS = re.compile(rb"cuda_c?flags\s*=\s*(?:\[\s*\*)?((?!\w*cuda_c?flags\b)[A-Za-z_])")
_COMMAND = re.compile(rb"\[\s*[\"']?[\w./]*(nvcc|NVCC)\b[\w()]*[\"']?,")
_CONSTANT = re.compile(rb"\.([A-Z][A-Z0-9_]{4,})\b")  # of another module: `wrapper.USE_FAST`
_RETURNED = re.compile(rb"return (?<!\wreturn )(\w+)\(")  # begins with its word: that is searched for fast
_TOP = re.compile(rb"\n(?=[^\s])")
_FAR = 4000  # bytes: what is farther from a definition is not asked for it
_WORD = re.compile(rb"[A-Za-z_]\w*")
_SPACED = bytes(c if (chr(c).isalnum() and c < 128) or c == 0x5F else 0x20 for c in range(256))


@cache
def _trigger() -> re.Pattern[bytes]:
    """The words that may ask for the target: all that a name may stand for, and what lists targets or builds."""
    pattern = (
        rf"(?i:.*(?:{one_of('searched')}).*)|(?i:_*(?:is|has|use|on)_(?:nvidia_|cuda_)?(?:{one_of('chips')})(?:_.*|plus)?)"
        rf"|_*(?:{one_of('owners')})*_*(?:{one_of('holders')})|_*(?:(?:{one_of('halves')}|cuda|supported)_?)*majors?"
        r"|.*_cc|.*_cap|CAP|cc_major|.*_CCS?|(?:.*[^A-Za-z])?(?i:sm_?\d{2,3}[afx]?|compute_\d+[af]?)(?:[^a-zA-Z0-9].*)?"
        rf"|{one_of('memory')}|archs?|arches|ARCHS?|ARCHES|.*_(?:arch|archs|ARCH|ARCHS|ARCHES|sm)"
        r"|arch_(?:list|version)|get_sm(?:_(?!count)\w+)?|(?i:(?:\w+_)?sm_version)"
    )
    return re.compile(pattern.encode())


@cache
def _stem() -> re.Pattern[bytes]:
    """What each of those words has in it, in lower case: most have none, and the pattern above is ten times as slow."""
    found = {*shortest("holders", "searched", "chips", "memory", "parts") - {"minor"}, "compute_"}
    return re.compile("|".join(sorted(found)).lower().encode())


_PLAIN: set[bytes] = set()  # words that are known to be none of these
_MOST_KNOWN = 1 << 18
LONGEST = 2000  # bytes of a line that is looked at
_NOISE = re.compile(rb"[ \t]*(?:#|import\b|from\b)")  # comments, and lines that only give names
_PROSE = re.compile(rb"[ \t]*[rRbBuU]?\Z")


def words(data: bytes) -> frozenset[bytes]:
    """The words of a file that may carry the target or ask for it."""
    met = frozenset(data.translate(_SPACED).split()) - _PLAIN
    search = _stem().search
    found = frozenset(word for word in met if search(word.lower()) is not None and is_trigger(word))
    if len(_PLAIN) < _MOST_KNOWN:
        _PLAIN.update(met - found)
    return found


def triggers(data: bytes, asking: frozenset[bytes]) -> tuple[int, ...]:
    """Byte offsets of these words in code, in order: not in a comment, a docstring or an import."""
    found: list[int] = []
    prose = _prose(data) if asking else []
    starts = [first for first, _ in prose]
    for at in sorted(at for word in asking for at in occurrences(data, word)):
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        inside = bisect_right(starts, at) - 1
        if inside >= 0 and at < prose[inside][1]:
            continue
        if (end if end >= 0 else len(data)) - start <= LONGEST and not _NOISE.match(data, start, at):
            found.append(at)
    return tuple(found)


def overlong(data: bytes, asking: frozenset[bytes]) -> tuple[int, ...]:
    """Where lines begin that hold such a word and are too long to be looked at: tables, code in a text."""
    if not asking or not _has_overlong(data):
        return ()
    starts = {data.rfind(b"\n", 0, at) + 1 for word in asking for at in occurrences(data, word)}
    ends = {start: data.find(b"\n", start) for start in starts}
    return tuple(sorted(s for s, end in ends.items() if (end if end >= 0 else len(data)) - s > LONGEST))


def _has_overlong(data: bytes) -> bool:
    """Whether some line is too long, from one line's end to the last within reach: a pattern would try every byte."""
    start = 0
    while len(data) - start > LONGEST:
        end = data.rfind(b"\n", start, start + LONGEST + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def _prose(data: bytes) -> list[tuple[int, int]]:
    """From where to where docstrings go: texts in three quotes that begin a line. None if the quotes do not pair."""
    found: list[tuple[int, int]] = []
    at = data.find(b'"""')
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        before = data[start:at]
        if before.endswith(b"'") or b"#" in before:  # quoted, or in a comment
            at = data.find(b'"""', at + 3)
            continue
        end = data.find(b'"""', at + 3)
        if end < 0:
            return []
        if _PROSE.match(before):
            found.append((at, end))
        at = data.find(b'"""', end + 3)
    return found


@lru_cache(maxsize=1 << 16)
def is_trigger(word: bytes) -> bool:
    """Whether an identifier may carry the target or ask for it."""
    return _trigger().fullmatch(word) is not None


def compiling(data: bytes) -> tuple[int, ...]:
    """Offsets of the flags that code is compiled with at run time, where a name stands for them or a command."""
    commands = b"nvcc" in data or b"NVCC" in data
    if not commands and b"cuda_cflags" not in data:
        return ()
    found = [m.start(1) for m in _FLAGS.finditer(data)]
    return tuple(sorted([*found, *(m.start(1) for m in _COMMAND.finditer(data))] if commands else found))


def mentions(data: bytes, found: tuple[int, ...]) -> frozenset[str]:
    """Names that other modules may have defined: imported ones, and trigger words where nothing is defined."""
    names: set[bytes] = set()
    for offset in found:
        start = data.rfind(b"\n", 0, offset) + 1
        if not data[start:offset].lstrip().startswith((b"def ", b"async def ", b"class ")):
            match = _WORD.match(data, offset)
            if match:
                names.add(match.group())
    at = data.find(b" import ")
    while at >= 0:
        end = data.find(b"\n", at)
        if data.startswith(b"(", at + 8):
            end = data.find(b")", at)
        names.update(_WORD.findall(data, at + 8, end if end >= 0 else len(data)))
        at = data.find(b" import ", at + 8)
    names.update(_CONSTANT.findall(data))
    return frozenset(name.decode("utf-8", "replace") for name in names)


def is_asked(data: bytes, name: bytes) -> bool:
    """Whether an imported name is called or tested: merely handing it on asks nothing."""
    return any(
        data.find(form) >= 0
        for form in (name + b"(", b"if " + name, b"not " + name, b"and " + name, b"or " + name, b"." + name)
    )


def asks(data: bytes, found: tuple[int, ...]) -> frozenset[str]:
    """Top-level functions and flags that ask for the target without saying so in their name."""
    names: set[bytes] = set()
    functions = _all_of(data, b"\ndef ") if found else []
    for start, offset in {data.rfind(b"\n", 0, offset) + 1: offset for offset in found}.items():
        if not data[start : start + 1].isspace():
            match = _FLAG.match(data, start)
        else:
            match = _FLAG.match(data, _top_line(data, start))  # `FLAG = (` over several lines
            if match is None:
                near = bisect_right(functions, offset) - 1
                is_near = near >= 0 and functions[near] > offset - _FAR
                match = _WORD.match(data, functions[near] + 5) if is_near else None
        if match and not is_trigger(match[0].rstrip(b" =")):
            names.add(match[0].rstrip(b" ="))
    names |= _handing_on(data, names, functions)
    return frozenset(name.decode("utf-8", "replace") for name in names if len(name) > 3)


def _handing_on(data: bytes, names: set[bytes], functions: list[int]) -> set[bytes]:
    """The top-level functions that return what one of these functions answers, such as a cached one."""
    found: set[bytes] = set()
    for match in _RETURNED.finditer(data) if names else ():
        near = bisect_right(functions, match.start()) - 1
        holder = _WORD.match(data, functions[near] + 5) if match[1] in names and near >= 0 else None
        if holder is not None and not is_trigger(holder[0]):
            found.add(holder[0])
    return found


def holders(data: bytes, found: tuple[int, ...], keyword: bytes = b"def ") -> frozenset[str]:
    """The functions and methods, or the classes, that begin last before an offset."""
    names: set[bytes] = set()
    starts = _all_of(data, keyword) if found else []
    for near in {bisect_right(starts, offset) - 1 for offset in found} - {-1}:
        match = _WORD.match(data, starts[near] + len(keyword))
        if match:
            names.add(match[0])
    return frozenset(name.decode("utf-8", "replace") for name in names)


def _all_of(data: bytes, needle: bytes) -> list[int]:
    found: list[int] = []
    at = data.find(needle)
    while at >= 0:
        found.append(at)
        at = data.find(needle, at + len(needle))
    return found


def _top_line(data: bytes, start: int) -> int:
    """Where the last line before an indented one begins that is not indented itself; the line if it is far."""
    last = 0 if start <= _FAR and not data[:1].isspace() else start
    for match in _TOP.finditer(data, max(0, start - _FAR), start):
        last = match.start() + 1
    return last


def occurrences(data: bytes, name: bytes) -> list[int]:
    """Offsets at which a name stands as a word of its own."""
    found: list[int] = []
    at = data.find(name)
    while at >= 0:
        end = at + len(name)
        if not (at and _in_word(data[at - 1])) and not (end < len(data) and _in_word(data[end])):
            found.append(at)
        at = data.find(name, end)
    return found


def _in_word(byte: int) -> bool:
    return byte == 95 or 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte > 127
