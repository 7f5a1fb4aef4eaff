"""What every reader of build files is given and gives back, and what it makes of assignments and commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from archscan.catalog.types import Catalog
from archscan.frontends.build.archlists import ArchList, flag_entries, maximal, named_list, places
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.traced import HOLE, Text, Ways, cut, known, readable, shown
from archscan.model.facts import Undecided
from archscan.model.settings import ScanSettings

_SETTING = re.compile(
    r"(?:(?<![\w$.-])|-D ?|--[\w-]+=)(?:cmake\.define\.)?(?P<name>[A-Za-z_][\w]*)(?::[A-Z]+)?="
    r"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"']*))"
)
_VERSION = re.compile(
    r"(?:CUDA(?:_?TOOLKIT|_COMPILER)?|NVCC|CMAKE_CUDA_COMPILER)"
    r"(?:_VER(?:SION)?(?:_(?P<part>MAJOR|MINOR|STRING))?|_(?P<bare>MAJOR|MINOR)(?:_VER(?:SION)?)?)",
    re.IGNORECASE,
)
_RELEASE = re.compile(r"(1[0-9])\.(\d)")
_TELLING = re.compile(
    rb"\bgencode\b|(?:sm|compute)_\d\d|-arch[= ]|nvcc_arch_flags"
    rb"|(?i:\bCUDAARCHS\b|CUDA_ARCH|ARCH_LIST|CUDA_COMPUTE_CAP|GPU_ARCH)"
)
_FOLDER = re.compile(r"(?i)CUDA_?(?:TOOLKIT_?)?(?:HOME|PATH|ROOT|ROOT_DIR|DIR)")  # where the toolkit lies
_IN_PATH = re.compile(r"(?i)cuda[-/\\]v?(\d{1,2})\.(\d)\b")  # /usr/local/cuda-11.1, CUDA/v11.3
_STRONG = re.compile(rb"-gencode\b|-arch[= ](?:sm|compute)_|code=(?:sm|compute)_")
_COMMENT = re.compile(rb"(?m)^[ \t]*(?:#|//|dnl\b|rem\b).*$")
_MOST_UNREAD = 8
MOST_LISTS = 200


@dataclass(frozen=True, slots=True)
class Given:
    """What is known from outside of a file: the rules, the toolkit, what the user set and unset."""

    catalog: Catalog
    release: str = "13.0"
    values: Mapping[str, str] = field(default_factory=dict)
    unset: frozenset[str] = frozenset()
    is_default: bool = False  # asked for what is built where nobody sets more: what a script takes by default holds

    @classmethod
    def of(cls, catalog: Catalog, settings: ScanSettings) -> Given:
        """What the settings of a scan give."""
        return cls(catalog, settings.cuda, dict(settings.defines), frozenset(settings.undefines))

    def value(self, name: str) -> str | None:
        """What the user says a variable holds; an unset one holds nothing."""
        return "" if name in self.unset else self.values.get(name)

    def built_with(self, variables: Mapping[str, Ways]) -> Given:
        """The same where variables of the file name the toolkit: that one builds."""
        for name, ways in variables.items():
            if ways and _VERSION.fullmatch(name) and not name.upper().endswith(("MAJOR", "MINOR")):
                found = _RELEASE.match(known(ways[0]) or "")
                if found and len(ways) == 1 and not self.values.get(name):
                    return replace(self, release=f"{found[1]}.{found[2]}")
        for name, ways in variables.items():
            found = _IN_PATH.search(known(ways[0]) or "") if len(ways) == 1 and _FOLDER.fullmatch(name) else None
            if found and not self.values.get(name):
                return replace(self, release=f"{found[1]}.{found[2]}")
        return self

    def version(self, name: str) -> str | None:
        """The release of the toolkit, in the form of a variable that is named for it; None for other names."""
        match = _VERSION.fullmatch(name)
        if match is None or not self.release:
            return None
        major, _, minor = self.release.partition(".")
        part = (match["part"] or match["bare"] or "").upper()
        return major if part == "MAJOR" else minor or "0" if part == "MINOR" else self.release


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader found: lists, and what it could not read, as offsets with reasons."""

    lists: tuple[ArchList, ...] = ()
    unread: tuple[tuple[int, str], ...] = ()
    problems: tuple[str, ...] = ()
    told: tuple[tuple[int, int], ...] = ()  # ranges that were understood and ask for nothing
    left: tuple[tuple[int, int], ...] = ()  # branches for other toolkits than the one that builds


def joined(readings: Iterable[Reading]) -> Reading:
    """Several readings as one."""
    found = list(readings)
    return Reading(
        tuple(one for reading in found for one in reading.lists)[:MOST_LISTS],
        tuple(one for reading in found for one in reading.unread),
        tuple(one for reading in found for one in reading.problems),
        tuple(one for reading in found for one in reading.told),
    )


def of_variable(name: str, ways: Ways, given: Given, environment: str = "") -> Iterator[ArchList]:
    """The lists that a variable may be given."""
    for text in ways:
        flags = of_flags(name, text, given)
        one = flags or named_list(name, text, given.catalog, given.release, environment)
        if one is not None:
            yield one
        elif "=" in shown(text):  # options of another program: CMAKE_ARGS="-DCMAKE_CUDA_ARCHITECTURES=90"
            yield from of_command(text, given)


def of_flags(name: str, text: Text, given: Given) -> ArchList | None:
    """The list that nvcc flags in a text come to; None where there are none."""
    entries, gaps, words = flag_entries(text, given.catalog, given.release)
    if not entries and not words:
        return None
    at = [entry.at for entry in entries if entry.at >= 0] or [run.at for run in text if run.at >= 0]
    if not at:
        return None
    start = min(at)
    first = min((entry for entry in entries if entry.at == start), key=lambda e: len(e.text), default=None)
    end = start + (first.size if first else 1)
    words_shown = " ".join(entry.text for entry in entries) or " ".join(words)
    return ArchList(
        name, entries, start, end, readable(words_shown), gaps, "", given.release, words, is_flags=True
    )  # fmt: skip


def of_command(text: Text, given: Given) -> Iterator[ArchList]:
    """The lists in a command line: flags of nvcc, settings such as -DCMAKE_CUDA_ARCHITECTURES=90, variables."""
    flags = of_flags("", text, given)
    if flags is not None:
        yield flags
    whole = shown(text)
    for match in _SETTING.finditer(whole):
        name = match["name"]
        if not is_arch_name(name) and "CAPABILIT" not in name:
            continue
        group = next(g for g in ("double", "single", "bare") if match[g] is not None)
        value = cut(text, match.start(group), match.end(group))
        one = named_list(name, value, given.catalog, given.release, name)
        if one is not None:
            yield one
        inner = of_flags(name, value, given)
        if inner is not None and flags is None:
            yield inner


def finished(lists: Iterable[ArchList]) -> tuple[ArchList, ...]:
    """The lists of a file, each once: what goes into a larger one is told there."""
    return tuple(maximal(lists))[:MOST_LISTS]


def open_questions(data: bytes, reading: Reading) -> tuple[Undecided, ...]:
    """What a file says of architectures and nobody has read: never silence."""
    found = [Undecided(data.count(b"\n", 0, at) + 1, _line(data, at), why) for at, why in reading.unread[:_MOST_UNREAD]]
    seen = {one.line for one in found}
    covered = [*places(reading.lists), *reading.told]
    plain = _COMMENT.sub(lambda m: b" " * len(m[0]), data)
    pattern = _STRONG if reading.lists or found else _TELLING
    for match in pattern.finditer(plain):
        line = plain.count(b"\n", 0, match.start()) + 1
        begin = plain.rfind(b"\n", 0, match.start()) + 1
        end = plain.find(b"\n", match.start())
        end = len(plain) if end < 0 else end
        if line in seen or any(start < end and stop > begin for start, stop in covered):
            continue
        seen.add(line)
        found.append(
            Undecided(line, _line(data, match.start()), "names an architecture in a way that is not understood")
        )
        if len(found) >= _MOST_UNREAD:
            break
    first = _TELLING.search(plain)
    if not found and not reading.lists and first is not None:
        line = plain.count(b"\n", 0, first.start()) + 1
        found.append(
            Undecided(line, _line(data, first.start()), "speaks of architectures; no list of its own was found")
        )
    return tuple(found)


def mentions(data: bytes) -> bool:
    """Whether a file speaks of architectures or nvcc flags at all."""
    return _TELLING.search(data) is not None


def _line(data: bytes, at: int) -> str:
    begin = data.rfind(b"\n", 0, at) + 1
    end = data.find(b"\n", at)
    return data[begin : len(data) if end < 0 else end][:160].strip().decode("utf-8", "backslashreplace")


__all__ = [
    "HOLE",
    "Given",
    "Reading",
    "finished",
    "joined",
    "mentions",
    "of_command",
    "of_flags",
    "of_variable",
    "open_questions",
]
