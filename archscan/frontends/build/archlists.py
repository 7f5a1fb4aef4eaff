"""The common model of what build files ask for: a list of architectures with its places, conditions and gaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archscan.catalog.toolkits import sms_of
from archscan.catalog.types import Catalog
from archscan.frontends.build.images import Image, entry_images, loaded_by
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.traced import HOLE, Text, because, conditions, cut, readable, shown
from archscan.model.target import Target

# How the consumers of a variable read it: what an entry without a word on PTX stands for.
TORCH, CMAKE, TENSORFLOW, ANY = "torch", "cmake", "tensorflow", ""
_CONSUMERS = (
    (re.compile(r"TORCH_CUDA_ARCH_LIST"), TORCH),
    (re.compile(r"CMAKE_CUDA_ARCHITECTURES|CUDAARCHS|CUDA_ARCHITECTURES"), CMAKE),
    (re.compile(r"(?:TF|HERMETIC)_CUDA_COMPUTE_CAPABILITIES"), TENSORFLOW),
)
_SEPARATORS = r"[;,\s]+"
_SPELLED = re.compile(r"(?:sm_|compute_)?\d{1,3}(?:\.\d)?[af]?(?:-real|-virtual|\+PTX)?", re.IGNORECASE)
_SAYS_CUDA = re.compile(r"CUDA|NVCC|GENCODE|(?:^|_)SMS?(?:_|$)", re.IGNORECASE)
_JOINED = re.compile(r"\d{4,6}")
_GENCODE = re.compile(
    r"arch=\\?[\"']?compute_(?P<number>[^\s,;\"'\\\])]+)[\"'\\]*\s*,\s*\\?[\"']?code=\\?[\"'\[]*"
    r"(?P<codes>(?:(?:sm|compute|lto)_[^\s,;\"'\\\])]+[,\\\"' ]*)+)"
)
_CODE = re.compile(r"(sm|compute|lto)_([^\s,;\"'\\\])]+)")
_ARCH = re.compile(
    r"(?<![\w-])-{1,2}(?:gpu-architecture|arch)(?:=|\s+)\\?[\"']?(?:(sm|compute)_([^\s,;\"'\\\])]+)|(native|all-major|all)\b)"
)
_ARCHITECTURE = re.compile(r"(\d{2,3})([af]?)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: as written, what it makes, and where it stands. No images: nothing archscan knows."""

    text: str
    images: tuple[Image, ...]
    at: int
    when: tuple[str, ...] = ()
    size: int = 0  # bytes that stand there for it
    made: int = -1  # where the flag is written that it is put into

    @property
    def odd(self) -> bool:
        """Whether it names an architecture that does not exist."""
        return not self.images


@dataclass(frozen=True, slots=True)
class ArchList:
    """What one variable, option or command asks nvcc to build for."""

    name: str
    entries: tuple[Entry, ...]
    start: int  # bytes of what a reader should look at
    end: int
    shown: str
    gaps: tuple[str, ...] = ()  # names that may add entries nobody knows
    environment: str = ""  # a variable of the user that overrides it
    toolkit: str = ""  # the release that builds it; "" = one of several
    words: tuple[str, ...] = ()  # native, all, all-major
    consumer: str = ANY
    is_flags: bool = False
    is_built: bool = False  # an extension module or target is built with it, and nothing else

    @property
    def images(self) -> tuple[Image, ...]:
        """All that would be built."""
        return tuple(dict.fromkeys(image for entry in self.entries for image in entry.images))

    @property
    def assumes(self) -> tuple[str, ...]:
        """What has to be met for any entry to be there."""
        conditions = [set(entry.when) for entry in self.entries]
        common = set.intersection(*conditions) if conditions else set()
        return tuple(name for entry in self.entries[:1] for name in entry.when if name in common)

    def refused(self, catalog: Catalog) -> tuple[Entry, ...]:
        """The entries that the toolkit does not compile for: they stop the build for every GPU."""
        if not self.toolkit:
            return ()
        toolkit = catalog.toolkits.at(self.toolkit)
        always = set(self.assumes)
        return tuple(
            entry
            for entry in self.entries
            if set(entry.when) <= always and (entry.odd or not all(toolkit.takes(i.target) for i in entry.images))
        )

    def serves(self, sm: int, catalog: Catalog) -> bool | None:
        """Whether a device takes something of it; None where that hangs on conditions or gaps."""
        always = set(self.assumes)
        sure = tuple(i for entry in self.entries if set(entry.when) <= always for i in entry.images)
        if loaded_by(sure, sm, catalog):
            return True
        possible = self.gaps or "native" in self.words or loaded_by(self.images, sm, catalog)
        return None if possible else False

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The names on which an unknown answer hangs."""
        always = set(self.assumes)
        names = (name for entry in self.entries for name in entry.when if name not in always)
        native = ("the GPU of the machine that builds",) if "native" in self.words else ()
        return tuple(dict.fromkeys((*names, *self.gaps, *native)))


def consumer_of(name: str) -> str:
    """Who reads a variable, by its name."""
    bare = re.sub(r"^(?:cmake\.define\.|ENV\{)|\}$", "", name)
    return next((consumer for pattern, consumer in _CONSUMERS if pattern.fullmatch(bare)), ANY)


def named_list(name: str, value: Text, catalog: Catalog, release: str = "", environment: str = "") -> ArchList | None:
    """The list that a variable is given; None where its name or value is that of something else."""
    consumer = consumer_of(name)
    if consumer == ANY and not is_arch_name(name):
        return None
    whole = shown(value)
    tokens = [(m.start(), m.end()) for m in re.finditer(r"[^;,\s\"']+", whole)]
    entries: list[Entry] = []
    words: list[str] = []
    gaps: list[str] = []
    for start, end in tokens:
        part, text = cut(value, start, end), whole[start:end]
        if text in ("native", "all", "all-major") or (text in ("Auto", "Common", "All") and consumer != ANY):
            words.append(text)
            entries += _of_word(text, part, release, catalog)
        elif HOLE in text:
            gaps += because(part) or ("an unknown part",)
        else:
            read = _entry(text, part, consumer, catalog)
            if read is None:
                return None
            entries += read
    if not entries and not words:
        return None
    if consumer == ANY and not _is_meant(name, entries, words):
        return None
    first, last = extent(value)
    if first < 0:
        return None
    return ArchList(
        name, tuple(entries), first, last, readable(whole), tuple(dict.fromkeys(gaps)),
        environment, release, tuple(words), consumer,
    )  # fmt: skip


def extent(value: Text) -> tuple[int, int]:
    """The range of bytes that the first parts of a text stand in, one behind the other."""
    start = end = -1
    for run in value:
        if run.at < 0 or not (run.text or "").strip():
            continue
        if start >= 0 and not 0 <= run.at - end <= 3:
            break
        start, end = (run.at if start < 0 else start), run.at + len(run.text or "")
    return start, end


def _is_meant(name: str, entries: list[Entry], words: list[str]) -> bool:
    """Whether entries under a name that nobody in particular reads are architectures; a number may be anything."""
    if words or len(entries) > 1 or not entries[0].text.isdigit():
        return bool(words) or any(not entry.odd for entry in entries)
    return not entries[0].odd and _SAYS_CUDA.search(name) is not None


def _of_word(word: str, part: Text, release: str, catalog: Catalog) -> list[Entry]:
    """What all and all-major stand for in a toolkit; native and names are left open."""
    sms = sms_of(word, catalog.toolkits.at(release))
    images = (*(Image(Target(sm)) for sm in sms), *(Image(Target(sm), True) for sm in sms[-1:]))
    return [Entry(word, images, _at(part), conditions(part))] if images else []


def _at(part: Text) -> int:
    return next((run.at for run in part if run.at >= 0), -1)


def _entry(text: str, part: Text, consumer: str, catalog: Catalog) -> list[Entry] | None:
    """The entries of one token; None where it is no architecture."""
    at, when = _at(part), conditions(part)
    if consumer == TORCH and (names := _torch_names(text, catalog)) is not None:
        return [Entry(text, names, at, when)]
    if not _SPELLED.fullmatch(text):
        return [Entry(text, (), at, when)] if _JOINED.fullmatch(text) and consumer else None
    if consumer == TENSORFLOW and not text.startswith("sm_"):  # `8.0` and `compute_80` ask for both
        plain = _target(re.sub(r"\.|^compute_", "", text))
        return None if plain is None else [Entry(text, (Image(plain), Image(plain, True)), at, when)]
    images = entry_images(text, catalog)
    if images is None:
        plain = _target(re.sub(r"\.|^(?:sm|compute)_|-(?:real|virtual)$|\+PTX$", "", text, flags=re.IGNORECASE))
        return [Entry(text, (), at, when)] if plain is not None and consumer else None
    return [Entry(text, images or _old(text), at, when)]


def _old(text: str) -> tuple[Image, ...]:
    """What an architecture before 5.0 stands for: nothing that any device of today loads, but nvcc may refuse it."""
    plain = _target(re.sub(r"\.|^(?:sm|compute)_|-(?:real|virtual)$|\+PTX$", "", text, flags=re.IGNORECASE))
    return (Image(plain),) if plain is not None else ()


def _torch_names(text: str, catalog: Catalog) -> tuple[Image, ...] | None:
    """What a name such as Ampere or Ada+PTX stands for in torch; None where it is none."""
    named = catalog.toolkits.torch[-1].names if catalog.toolkits.torch else {}
    bare, ptx, _ = text.partition("+PTX")
    if bare not in named:
        return None
    entries = (named[bare] + (ptx if not named[bare].endswith("+PTX") else "")).split(";")
    return tuple(image for entry in entries for image in entry_images(entry, catalog) or _old(entry))


def _target(text: str) -> Target | None:
    match = _ARCHITECTURE.fullmatch(text)
    return Target(int(match[1]), match[2]) if match else None


# --- flags


def flag_entries(
    text: Text, catalog: Catalog, release: str = ""
) -> tuple[tuple[Entry, ...], tuple[str, ...], tuple[str, ...]]:
    """What nvcc flags in a text ask for: entries, names that leave some open, and words such as native."""
    whole = shown(text)
    found: list[tuple[int, Entry]] = []
    gaps: list[str] = []
    words: list[str] = []
    for match in _GENCODE.finditer(whole):
        codes = list(_CODE.finditer(whole, match.start("codes"), match.end("codes")))
        for code in codes:
            ends = match.start(), codes[-1].end()
            _add(found, gaps, text, (code.start(2), code.end(2)), ends, code[1] == "compute")
    for match in _ARCH.finditer(whole):
        if match[3]:
            words.append(match[3])
            part = cut(text, match.start(3), match.end(3))
            found += [(match.start(), entry) for entry in _of_word(match[3], part, release, catalog)]
            continue
        if match[1] == "sm":
            _add(found, gaps, text, match.span(2), match.span(), False)
        _add(found, gaps, text, match.span(2), match.span(), True)
    entries = tuple(entry for _, entry in sorted(found, key=lambda one: one[0]))
    return entries, tuple(dict.fromkeys(gaps)), tuple(words)


def _add(
    found: list[tuple[int, Entry]],
    gaps: list[str],
    text: Text,
    number_at: tuple[int, int],
    flag_at: tuple[int, int],
    ptx: bool,
) -> None:
    part, whole = cut(text, *number_at), cut(text, *flag_at)
    number = shown(part)
    spot = whole if len(whole) == 1 and whole[0].at >= 0 else part  # the flag, where it stands in one piece
    if HOLE in number:
        gaps += because(part) or ("an unknown part",)
        return
    target = _target(number)
    at = _at(spot) if _at(spot) >= 0 else _at(whole)
    images = (Image(target, ptx),) if target is not None else ()
    if target is None and not _JOINED.fullmatch(number):
        gaps.append(number)
        return
    found.append(
        (flag_at[0], Entry(shown(whole), images, at, conditions(whole), len(shown(spot).rstrip()), _at(whole)))
    )


def maximal(lists: Iterable[ArchList]) -> list[ArchList]:
    """The lists without those whose entries all stand in a larger one: a variable that goes into a command."""
    kept: list[ArchList] = []
    for one in sorted(lists, key=lambda one: (-len(_spots(one)), not one.is_built, not one.is_flags)):
        if not any(_spots(one) <= _spots(other) or _is_part(one, other) for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


def _is_part(one: ArchList, other: ArchList) -> bool:
    """Whether each entry of a list holds one of another's: `sm_75` of a variable, of which a flag takes the 75."""
    spots = [entry.at for entry in other.entries if entry.at >= 0]
    return bool(one.entries) and all(
        any(entry.at <= spot < entry.at + len(entry.text) for spot in spots) for entry in one.entries
    )


def _spots(one: ArchList) -> set[tuple[int, tuple[str, ...]]]:
    """Where the entries of a list stand, and on which conditions they are asked for."""
    return {(entry.at, ()) for entry in one.entries} or {(one.start, one.words)}


def places(lists: Iterable[ArchList]) -> Iterator[tuple[int, int]]:
    """The ranges of bytes that the lists are about."""
    for one in lists:
        yield one.start, one.end
        for entry in one.entries:
            if entry.at >= 0:
                yield entry.at, entry.at + max(entry.size, 1)
            if entry.made >= 0:
                yield entry.made, entry.made + 1
