"""Finds the features that code uses: in asm text and identifiers, and, with low confidence, in words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from archscan.catalog.feature_tables import FeatureTables, plain
from archscan.catalog.types import Catalog
from archscan.model.gate import FeatureUse

_STRING = rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_CHARACTER = rb"'(?<![0-9A-Fa-f]')(?:[^'\\\n]|\\.)+'"  # a digit before ' makes it a separator
_COMMENT = rb"//[^\n\\]*(?:\\.[^\n\\]*)*|/\*.*?(?:\*/|\Z)"
# What may stand between two literals of one text: blanks, continuations, a macro or parameter that inserts something.
# Written so that no blank can be matched in two ways: hostile input must not make it backtrack.
_GLUE = rb"(?:\s|\\\n)*(?:#?[A-Za-z_]\w*(?: ?\([^()\"]*\))?(?:\s|\\\n)*)?"


def _raw(prefix: str) -> bytes:
    """A raw literal, `R"(...)"` or `u8R"(...)"`."""
    name = f"delimiter_{prefix}"
    return rf'{prefix}(?<!\w{prefix})"(?P<{name}>[^()\\\s"]{{0,16}})\(.*?\)(?P={name})"'.encode()


# Each alternative begins with a character of its own: what begins none of them is passed over at once.
_TOKEN = re.compile(
    b"|".join(
        (_COMMENT, *map(_raw, ("R", "u8R", "uR", "UR", "LR")), rb"%b(?:%b%b)*" % (_STRING, _GLUE, _STRING), _CHARACTER)
    ),
    re.DOTALL,
)
_BETWEEN = re.compile(_GLUE)
_SHORTEST = 9  # of a literal with an instruction: quotes, mnemonic, semicolon; constraints of asm() are shorter
_SEAM = re.compile(rb'"' + _GLUE + rb'"')
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w{2,}")
_ASM = re.compile(rb"\b(?:asm|__asm__|__asm)\b(?:\s|\\\n)*(?:volatile|__volatile__|goto)?(?:\s|\\\n)*\((?:\s|\\\n)*\Z")
_OPERANDS = re.compile(rb"[\w.:]*\s*(?:;|[%\[{]|\w+\s*[,;|])")
_OPCODE = re.compile(rb"(?<![\w.:%])[a-z]\w*(?=\.)|%(?=[a-z])")
_SPELLED = re.compile(r"\b[a-z]\w*(?:\.[a-zA-Z][\w:]*){2,}")  # an instruction with its modifiers, as comments have it
_BLANKS = bytes(c if c == ord("\n") else ord(" ") for c in range(256))


class Recogniser:
    """Recognises the features of a catalog. Patterns compile on first use; an identifier is looked up once."""

    def __init__(self, catalog: Catalog) -> None:
        self._features = tuple(catalog.features.values())
        self._tables = FeatureTables(self._features)
        self._known: dict[bytes, tuple[str, ...]] = {}

    def in_code(self, data: bytes) -> tuple[FeatureUse, ...]:
        """The features that CUDA C++ uses, by line (the first line of `data` is 1). Comments do not count."""
        code, text, runs = _split(data)
        hits = set(self._in_code(code))
        for start, end in runs:
            hits.update(self._in_literals(text, start, end))
        if not hits:
            return ()
        ends = [m.start() for m in re.finditer(rb"\n", data)]
        uses = {(bisect_right(ends, offset - 1) + 1, feature) for offset, feature in hits}
        return tuple(FeatureUse(feature, line) for line, feature in sorted(uses))

    def in_words(self, text: str) -> tuple[str, ...]:
        """The features that comments, docstrings or names speak of, in the catalog's order. Low confidence."""
        named = {
            feature for match in self._tables.words.finditer(plain(text)) for feature in self._tables.by_word[match[0]]
        }
        named.update(self._spelled(text))
        return tuple(f.id for f in self._features if f.id in named) if named else ()

    def _spelled(self, text: str) -> Iterator[str]:
        """The features whose instructions a text spells out: `redux.sync.max.f32`."""
        for token in _SPELLED.findall(text):
            spelled = token.encode()
            for feature_id in self._tables.by_opcode.get(spelled.partition(b".")[0], ()):
                pattern = self._tables.by_id[feature_id].mnemonic
                if pattern is not None and pattern.search(spelled):
                    yield feature_id

    def _in_code(self, code: bytes) -> Iterator[tuple[int, str]]:
        """Offsets of identifiers and patterns in code without comments and literals."""
        names = set(_IDENTIFIER.findall(code))
        for name in names:
            if name not in self._known:
                self._known[name] = self._named(name)
        if any(self._known[name] for name in names):
            for match in _IDENTIFIER.finditer(code):
                yield from ((match.start(), feature) for feature in self._known[match[0]])
        for heads, feature in self._tables.with_code_patterns:
            if feature.code_pattern is not None and not names.isdisjoint(heads):
                yield from ((m.start(), feature.id) for m in feature.code_pattern.finditer(code))

    def _named(self, name: bytes) -> tuple[str, ...]:
        """The features that one identifier means."""
        exact = self._tables.exact.get(name, ())
        if not self._tables.any_pattern.fullmatch(name):
            return exact
        matching = (f.id for f in self._features if f.identifier_pattern and f.identifier_pattern.fullmatch(name))
        return tuple(dict.fromkeys((*exact, *matching)))

    def _in_literals(self, data: bytes, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Offsets of instructions in adjacent literals; outside of asm() only where a statement begins."""
        candidates = {
            f for opcode in set(_OPCODE.findall(data, start, end)) for f in self._tables.by_opcode.get(opcode, ())
        }
        if not candidates:
            return
        run = data[start:end]
        text, is_asm = _joined(run), _ASM.search(data, max(0, start - 80), start) is not None
        for feature_id in candidates:
            pattern = self._tables.by_id[feature_id].mnemonic
            for match in pattern.finditer(text) if pattern else ():
                if is_asm or _is_statement(text, match):
                    yield start + _offset(run, match.start()), feature_id


_PREPROCESSOR = re.compile(rb"[ \t]*#[^\n\\]*(?:\\.[^\n\\]*)*", re.S)


def asm_texts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The texts of asm statements with their offsets: adjacent literals joined, what a macro inserts as "0"."""
    _, text, runs = _split(data)
    for start, end in runs:
        if _ASM.search(text, max(0, start - 80), start) is not None:
            yield start, _joined(text[start:end])


def blank_literals(data: bytes) -> bytes:
    """The code with comments, literals and directives blanked; offsets and lines stay."""
    code, _, _ = _split(data)
    return _blanked(code, list(_directives(code)))


def _directives(code: bytes) -> Iterator[_Span]:
    """Where directives stand: from each `#` back to the line's beginning, no further than to what was looked at."""
    begin, at = 0, code.find(b"#")
    while at >= 0:
        newline = code.rfind(b"\n", begin, at)
        match = _PREPROCESSOR.match(code, newline + 1) if newline >= 0 or begin == 0 else None
        begin = match.end() if match else at + 1
        if match:
            yield match.span()
        at = code.find(b"#", begin)


_Span = tuple[int, int]


@lru_cache(maxsize=64)  # more than one question is asked of a piece of code
def _split(data: bytes) -> tuple[bytes, bytes, list[_Span]]:
    """The code without comments and literals, the text without comments (both blanked), and the runs of literals."""
    comments: list[_Span] = []
    runs: list[_Span] = []
    for token in _TOKEN.finditer(data):
        start = token.start()
        (comments if data.startswith((b"//", b"/*"), start) else runs).append((start, token.end()))
    if comments:
        data = _blanked(data, comments)
        runs = _merged(data, runs, comments)
    runs = [(start, end) for start, end in runs if end - start >= _SHORTEST]
    return _blanked(data, runs), data, runs


def _blanked(data: bytes, spans: list[_Span]) -> bytes:
    """The data with blanks in place of these spans; lines stay."""
    if not spans:
        return data
    pieces, position = [], 0
    for start, end in spans:
        pieces += [data[position:start], data[start:end].translate(_BLANKS)]
        position = end
    return b"".join([*pieces, data[position:]])


def _merged(data: bytes, runs: list[_Span], comments: list[_Span]) -> list[_Span]:
    """The runs with those joined that only a comment parts."""
    merged: list[_Span] = []
    starts = [start for start, _ in comments]
    for start, end in runs:
        if merged and data[start] == data[merged[-1][0]] == ord('"'):
            begin, last = merged[-1]
            at = bisect_right(starts, last - 1)
            if at < len(starts) and starts[at] < start and _BETWEEN.fullmatch(data, last, start):
                merged[-1] = (begin, end)
                continue
        merged.append((start, end))
    return merged


def _is_statement(text: bytes, match: re.Match[bytes]) -> bool:
    """Whether an instruction outside of asm() stands like one: at the beginning of a statement, with operands."""
    before = text[max(0, match.start() - 80) : match.start()].rstrip(b' \t\r\n"(')
    return before[-1:] in b";{}" and _OPERANDS.match(text, match.end()) is not None


def _joined(run: bytes) -> bytes:
    """Adjacent literals as one text between its outer quotes; escapes become blanks, inserted macros "0"."""
    return _SEAM.sub(_inserted, run.replace(b"\\n", b"  ").replace(b"\\t", b"  "))


def _inserted(seam: re.Match[bytes]) -> bytes:
    return b"" if seam[0][1:-1].translate(None, b" \t\r\n\f\v\\") == b"" else b"0"


def _offset(run: bytes, position: int) -> int:
    """Where a position of the joined text stands in the run."""
    lost = 0
    for seam in _SEAM.finditer(run):
        if seam.start() - lost > position:
            break
        lost += len(seam[0]) - len(_inserted(seam))
    return position + lost
