"""The functions and classes of a file: where they lie, and what one of them uses and calls once that is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from archscan.catalog.features import pattern_heads
from archscan.catalog.recognise import blank_literals
from archscan.catalog.types import Catalog, Feature
from archscan.frontends.cuda.constexpr import Span, asked_spans, is_asked
from archscan.frontends.cuda.host.asking import identifiers
from archscan.frontends.cuda.host.sites import function_name, word_before
from archscan.frontends.cuda.inventory import Named, named
from archscan.model.gate import FeatureUse
from archscan.sources.text import Changed, Text

_MNEMONIC = re.compile(rb"(?<![\w.%])[a-z][a-z0-9_]*(?:(?:\.|::)[a-z0-9_]+)+(?=[^\w.(])")
_MOST_TEXTS = 4096  # whose instructions are remembered
_LONGEST_BODY = 1 << 16  # of longer bodies only the beginning is read for calls
_LONGEST_HEADER = 3000
_DEEPEST_HEADER = 20000
_IDENTIFIER_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CALLED = bytes(c if c in _IDENTIFIER_BYTES else 1 if c in b"(<:" else 0x2E if c in b".>" else 0x20 for c in range(256))
_NOISE = frozenset(
    b"if for while switch return sizeof template typename decltype static_cast reinterpret_cast const_cast std cute "
    b"cutlass operator defined define include catch constexpr void int float public private protected default case "
    b"asm volatile min max get size data begin end push_back c_str printf alignas assert static_assert".split()
)
_CLASS = re.compile(rb"\b(?:struct|class)\s+(?:[A-Z_]+\s+)?(?:\w+\([^)]*\)\s*)?([A-Za-z_]\w*)[^;=()]*\Z")
_TYPES = tuple(  # each begins with a word, which is found by searching: four times as fast as one alternation
    re.compile(rb"%b(?<!\w%b)\s+(?:class\s+)?([A-Za-z_]\w*)" % (word, word))
    for word in (b"typename", b"class", b"struct", b"using", b"enum", b"union")
)
_TEMPLATE = re.compile(rb"template(?<!\wtemplate)\s*<([^;{}()]{1,2000}?)>(?!\s*(?:class|typename)\b)")
_PARAMETER = re.compile(rb"\b(?:typename|class)\s+([A-Za-z_]\w*)")
_DIRECTIVE = re.compile(rb"^[ \t]*#[^\n]*", re.M)
_DECLARED = re.compile(rb"\b(?:struct|class)\b|[\w>&*:]\s+(?:[\w:<>, ]+::)?~?\w+\s*\(|__\w+__")
_NAMESPACE = re.compile(rb"\bnamespace\b[^;()]*\Z|extern\s*\"C\"\s*\Z")


@dataclass(frozen=True, slots=True)
class Node:
    """A function or class: what it uses itself and the names it mentions as calls.

    A feature that only the name of a call stands for has that name as `via`: who defines it may say otherwise.
    """

    name: str
    line: int
    features: tuple[FeatureUse, ...]
    calls: frozenset[str]
    code: bytes = b""  # from its first brace on, where that is wanted

    def named(self) -> tuple[Named, ...]:
        """Everything it calls and every instruction, for an inventory; lines are the file's."""
        return tuple(one._replace(line=one.line + self.line - 1) for one in named(self.code))


class Vocabulary:
    """Which features the mnemonics in asm texts and the names called stand for; each is looked up once."""

    def __init__(self, catalog: Catalog, in_code: Callable[[bytes], tuple[FeatureUse, ...]]) -> None:
        self._in_code = in_code
        self._names = frozenset(n.encode() for f in catalog.features.values() for n in f.identifiers)
        patterns = [f.identifier_pattern.pattern for f in catalog.features.values() if f.identifier_pattern]
        self._pattern = re.compile(b"|".join(b"(?:" + p + b")" for p in patterns) or rb"(?!)")
        self._known: dict[bytes, tuple[str, ...]] = {}
        self._instructions: dict[bytes, tuple[tuple[bytes, tuple[str, ...]], ...]] = {}
        self._plain: set[bytes] = set()  # names that mean no feature
        self._written = tuple(
            (f.id, f.code_pattern, frozenset(_heads(f))) for f in catalog.features.values() if f.code_pattern
        )
        self.known = catalog.known

    def instructions(self, text: bytes) -> tuple[tuple[bytes, tuple[str, ...]], ...]:
        """The mnemonics in the text of an asm statement that use a feature, each with its features."""
        found = self._instructions.get(text)
        if found is None:
            used = ((m, self._mnemonic(m)) for m in dict.fromkeys(_MNEMONIC.findall(text + b" ")))
            found = tuple((mnemonic, features) for mnemonic, features in used if features)
            if len(self._instructions) < _MOST_TEXTS:
                self._instructions[text] = found
        return found

    def _mnemonic(self, text: bytes) -> tuple[str, ...]:
        return self._features(b"asm", text, b'asm volatile("' + text + b' %0, %1;" ::);')

    def names(self, called: frozenset[bytes]) -> Iterator[tuple[bytes, str]]:
        """The features that called names stand for."""
        for name in sorted(called - self._plain):
            if name not in self._names and not self._pattern.fullmatch(name):
                self._plain.add(name)
                continue
            for feature in self._features(b"name", name, name + b"();"):
                yield name, feature

    def written(self, code: bytes, plain: Callable[[], bytes]) -> Iterator[tuple[int, str]]:
        """The features that a pattern finds in code, such as a tag that chooses hardware, with their offsets.

        `plain` is the code without comments, literals and directives, where that is asked for.
        """
        words = identifiers(code)
        for feature, pattern, heads in self._written:
            if not words.isdisjoint(heads) and (match := pattern.search(plain())) is not None:
                yield match.start(), feature

    def means(self, name: bytes) -> bool:
        """Whether a name stands for a feature."""
        return name in self._names or self._pattern.fullmatch(name) is not None

    def _features(self, kind: bytes, text: bytes, code: bytes) -> tuple[str, ...]:
        key = kind + text
        if key not in self._known:
            self._known[key] = tuple(dict.fromkeys(u.feature for u in self._in_code(code)))
        return self._known[key]


class Defined(NamedTuple):
    """Where a function or class lies: the piece of its file between two closing braces in column one.

    An `inner` one is a method, or one of several functions in such a piece, and lies between its own braces.
    """

    name: str
    start: int
    end: int
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions and classes of a file, which is read again for those that are asked for."""

    text: Text
    defined: tuple[Defined, ...]
    with_calls: bool
    known: tuple[Node, ...] = ()  # all of them where the file cannot be read again
    types: frozenset[str] = frozenset()  # names that it declares as types: classes, aliases, template parameters
    parameters: frozenset[str] = frozenset()  # the template parameters among them

    def called(self, name: str, vocabulary: Vocabulary) -> tuple[Node, ...]:
        """What those of that name use and call; nothing of a file that was changed meanwhile."""
        if not self.text.disk:
            return tuple(node for node in self.known if node.name == name)
        try:
            data = _loaded(self.text)
        except Changed:
            return ()
        return _nodes(data, (one for one in self.defined if one.name == name), vocabulary, self.with_calls)


@lru_cache(maxsize=16)
def _loaded(text: Text) -> bytes:
    """The content of a file; the functions of one are asked for one after the other."""
    return text.load()


def _heads(feature: Feature) -> tuple[bytes, ...]:
    """The words that a match of a feature's patterns begins with."""
    return tuple(head.encode() for pattern in feature.code_patterns for head in pattern_heads(pattern) or ())


def functions(data: bytes, disk: str, vocabulary: Vocabulary, with_calls: bool) -> Functions | None:
    """The functions and classes of a file, cut at closing braces in column one; None if it has none.

    `disk` is where it can be read again, if anywhere. Without calls only those with instructions of their own: enough
    for library headers, which are called by name.
    """
    if not with_calls and b"asm" not in data:
        return None
    defined = tuple(_definitions(data, with_calls))
    if not defined:
        return None
    named = {m for pattern in _TYPES for m in pattern.findall(data)} if with_calls else set()
    types = frozenset(m.decode("utf-8", "replace") for m in named)
    heads = b" ".join({m[1] for m in _TEMPLATE.finditer(data)}) if with_calls else b""
    parameters = frozenset(m.decode("utf-8", "replace") for m in set(_PARAMETER.findall(heads)))
    if disk:
        return Functions(Text.of(data, disk), defined, with_calls, types=types, parameters=parameters)
    known = _nodes(data, defined, vocabulary, with_calls)
    return Functions(Text(0, b""), defined, with_calls, known, types, parameters)


def _definitions(data: bytes, with_calls: bool) -> Iterator[Defined]:
    start = 0
    for chunk in data.split(b"\n}"):
        end = start + len(chunk)
        if with_calls or b"asm" in chunk:
            name, _ = _defined(chunk)
            if name:
                yield Defined(name, start, end)
            if with_calls:
                yield from _inner(data, start, end, name)
        start = end + 2


_OPENS = re.compile(rb"\)\s*(?:(?:const|noexcept|override|final|volatile|mutable)\s*)*\{")
_BRACES = re.compile(rb"[{}]")
_MOST_PARAMETERS = 1500  # bytes
_LONGEST_INNER = 1 << 16


def _inner(data: bytes, start: int, end: int, outer: str) -> Iterator[Defined]:
    """The functions that a piece defines besides the one it is named for, by their headers before an opening brace."""
    for match in _OPENS.finditer(data, start, end):
        opening = _opening(data, match.start(), max(start, match.start() - _MOST_PARAMETERS))
        name = word_before(data, opening).decode("utf-8", "replace") if opening > 0 else ""
        if name and name != outer and name.encode() not in _NOISE and len(name) > 1:
            yield Defined(
                name, match.end() - 1, _closing(data, match.end() - 1, min(end, match.end() + _LONGEST_INNER)), True
            )


def _opening(data: bytes, close: int, least: int) -> int:
    """The bracket that a closing one belongs to; -1 where that is too far away."""
    nearest = data.rfind(b"(", least, close)
    if nearest < 0 or data.rfind(b")", nearest, close) < 0:
        return nearest
    depth = 0
    for at in range(close, least - 1, -1):
        byte = data[at]
        depth += (byte == 0x29) - (byte == 0x28)
        if not depth:
            return at
    return -1


def _closing(data: bytes, brace: int, end: int) -> int:
    """Behind the brace that closes another."""
    depth = 0
    for match in _BRACES.finditer(data, brace, end):
        depth += 1 if match[0] == b"{" else -1
        if not depth:
            return match.end()
    return end


def _nodes(data: bytes, defined: Iterable[Defined], vocabulary: Vocabulary, with_calls: bool) -> tuple[Node, ...]:
    found = (_node(data, one, vocabulary, with_calls) for one in defined)
    return tuple(node for node in found if node is not None)


@lru_cache(maxsize=16)
def _plain(data: bytes) -> bytes:
    """A file's code without comments, literals and directives."""
    return blank_literals(data)


def _node(data: bytes, one: Defined, vocabulary: Vocabulary, with_calls: bool) -> Node | None:
    chunk, line = data[one.start : one.end], data.count(b"\n", 0, one.start) + 1
    name, start = (one.name, 0) if one.inner else _defined(chunk)
    if not name:
        return None
    called = _called(chunk[start : start + _LONGEST_BODY]) if with_calls else frozenset()
    uses: dict[str, FeatureUse] = {}
    if b"asm" in chunk:
        spans = asked_spans(chunk)
        for mnemonic, used in _instructions(chunk, start, vocabulary):
            for feature in used:
                if feature not in uses or uses[feature].confidence == "low":
                    uses[feature] = _use(feature, mnemonic, chunk, start, line, spans)
    for call, feature in vocabulary.names(called):
        if feature not in uses:
            at = line + chunk.count(b"\n", 0, chunk.find(call, start))
            uses[feature] = FeatureUse(feature, at, call.decode("utf-8", "replace"))
    code = chunk[start:] if with_calls else b""
    for offset, feature in vocabulary.written(code, lambda: _plain(data)[one.start + start : one.end]):
        uses.setdefault(feature, FeatureUse(feature, line + chunk.count(b"\n", 0, start + offset)))
    calls = frozenset(c.decode("utf-8", "replace") for c in called if len(c) > 1) - {name}
    features = tuple(uses[f] for f in sorted(uses))
    first = line + chunk.count(b"\n", 0, start)
    return Node(name, first, features, calls, code) if features or calls or b"(" in code else None


def _use(feature: str, mnemonic: bytes, chunk: bytes, start: int, line: int, spans: tuple[Span, ...]) -> FeatureUse:
    """The first use of an instruction that no `if constexpr` on the architecture holds, else the first, in doubt."""
    first = at = chunk.find(mnemonic, start)
    while spans and at >= 0 and is_asked(spans, at, at + len(mnemonic)):
        at = chunk.find(mnemonic, at + 1)
    confidence = "high" if at >= 0 else "low"
    return FeatureUse(feature, line + chunk.count(b"\n", 0, max(at, first)), confidence=confidence)


def _instructions(chunk: bytes, start: int, vocabulary: Vocabulary) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """What the string literals behind the first `asm` use; equal literals are read once."""
    for text in dict.fromkeys(chunk[chunk.find(b"asm", start) :].split(b'"')[1::2]):
        if b"." in text:
            yield from vocabulary.instructions(text)


def _called(body: bytes) -> frozenset[bytes]:
    """The names before an opening bracket, `<` or `::`; methods of objects say nothing."""
    pieces = set(body.translate(_CALLED).split(b"\x01"))
    tokens = {piece[piece.rfind(b" ") + 1 :] for piece in pieces}
    return frozenset([token for token in tokens if b"." not in token]) - _NOISE


def _defined(chunk: bytes) -> tuple[str, int]:
    """The function or class that a chunk defines and where its body opens; ("", 0) if there is none."""
    position = 0
    while 0 <= (brace := chunk.find(b"{", position)) < _DEEPEST_HEADER:
        window = chunk[max(position, brace - _LONGEST_HEADER) : brace]
        header = window[max(window.rfind(b";"), window.rfind(b"}")) + 1 :]
        if b"#" in header:
            header = _DIRECTIVE.sub(b"", header)
        if not (_opens_space(header) and _NAMESPACE.search(header)):
            named = _CLASS.search(header) if b"struct" in header or b"class" in header else None
            name = named[1].decode("utf-8", "replace") if named else function_name(header)
            short = len(name) < 4 and b"__global__" not in header
            if name and not short and name.encode() not in _NOISE and _DECLARED.search(header):
                return name, brace
        position = brace + 1
    return "", 0


def _opens_space(header: bytes) -> bool:
    return b"namespace" in header or b"extern" in header
