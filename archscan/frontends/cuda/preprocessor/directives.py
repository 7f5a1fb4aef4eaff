"""Exact scanner for preprocessor directives: where each one begins and ends, and its text without comments.

It jumps between the only places that can matter (a line that starts with `#`, a block comment, a raw string) and lexes
just the line before a candidate to see whether it stands in a string or a `//` comment. Everything else is skipped by
substring search, so that hundreds of megabytes of generated code cost seconds. Nothing recurses.
"""

from __future__ import annotations

import re

from archscan.frontends.cuda.preprocessor.events import Directive, directive_of

CONDITIONALS = frozenset({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"})
OPENERS = frozenset({"if", "ifdef", "ifndef"})
DEFINITIONS = frozenset({"define", "undef"})
INCLUDES = frozenset({"include", "include_next"})
KEPT = CONDITIONALS | DEFINITIONS | INCLUDES | {"error"}
_NAMES = {name.encode(): name for name in KEPT}  # one object each: pickled once

BOM = b"\xef\xbb\xbf"
_HASH = re.compile(rb"\n[ \t\v\f]*(?:#(?![ \t]*pragma\b)|%:)")  # one line in four is a pragma
_PRAGMA = re.compile(rb"[ \t]*pragma\b")
_KNOWN = re.compile(  # what may be a directive that is kept; its name may follow a comment or a continuation
    rb"#[ \t\v\f]*(?:(ifn?def|if|elif|else|endif|define|undef|include|include_next|elifn?def|error)\b([^\n]*)|[/\\])"
)
_BLANKS = b" \t\v\f"
_HASH_HERE = re.compile(rb"[ \t\v\f]*(?:#|%:)")
_NAME = re.compile(rb"(?:#|%:)[ \t\v\f]*([A-Za-z_]*)")
_SPLICED = re.compile(rb"\\[ \t\v\f]*\r?\Z")
_SPLICE = re.compile(rb"\\[ \t\v\f]*\r?\n")
_LEXED = re.compile(rb"[/\"']")  # begins what a continuation or the end of a line may stand in
_TOKEN = re.compile(
    rb"(?P<splice>\\[ \t\v\f]*\r?\n)"
    rb"|(?P<block>/(?:\\\r?\n)*\*)"
    rb"|(?P<line>/(?:\\\r?\n)*/)"
    rb'|(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\()'
    rb'|(?P<string>"[^"\\\n]*(?:\\(?:\r?\n|[^\n])[^"\\\n]*)*"?)'
    rb"|(?P<number>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*)"
    rb"|(?P<word>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)"
    rb"|(?P<char>'[^'\\\n]*(?:\\(?:\r?\n|[^\n])[^'\\\n]*)*'?)"
    rb"|(?P<end>\n)"
)


# Two bytes are found three times as fast by a pattern as by bytes.find
_BLOCK, _RAW, _DIGRAPH = re.compile(rb"/\*"), re.compile(rb'R"'), re.compile(rb"%:")


def _next(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    """Where a pattern matches next; -1 if nowhere."""
    match = pattern.search(data, position)
    return match.start() if match else -1


def scan(data: bytes) -> tuple[Directive, ...]:
    """The directives of a file that conditionals hang on, in order, those in dead regions included."""
    return tuple(_Scanner(data).run())


def logical_end(data: bytes, start: int) -> int:
    """The offset where the logical line that contains `start` ends (its newline, or the end of the file)."""
    while True:
        newline = data.find(b"\n", start)
        if newline < 0:
            return len(data)
        if not _spliced(data, newline):
            return newline
        start = newline + 1


def _spliced(data: bytes, newline: int) -> bool:
    """Whether the newline at that offset follows a backslash (and perhaps blanks), so that the lines are one."""
    if newline <= 0:
        return False
    last = data[newline - 1]
    if last == 0x5C:
        return True
    if last not in b"\r \t\v\f":
        return False
    return _SPLICED.search(data, max(0, newline - 64), newline) is not None


class _Scanner:
    """One pass over one file; `settled` is the offset before which everything is known to be consumed."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.settled = len(BOM) if data.startswith(BOM) else 0
        self.found: list[Directive] = []
        self.counted = 0  # newlines before this offset ...
        self.line = 1  # ... make this line number
        self.texts: dict[str, str] = {}  # one object for equal texts: pickled once
        self.unclosed: set[bytes] = set()  # delimiters of raw strings that nothing ahead closes

    def run(self) -> list[Directive]:
        data = self.data
        first = _HASH_HERE.match(data, self.settled)
        if first:
            self._directive(first.end() - len(first[0].lstrip()))
        digraphs = _DIGRAPH.search(data) is not None
        next_hash = self._hash_by_digraphs if digraphs else self._hash
        hash_, block, raw = next_hash(self.settled), _next(_BLOCK, data, 0), _next(_RAW, data, 0)
        size = len(data)
        while True:
            settled = self.settled
            if hash_ < settled:
                hash_ = next_hash(settled)
            if 0 <= block < settled:
                block = _next(_BLOCK, data, settled)
            if 0 <= raw < settled:
                raw = _next(_RAW, data, settled)
            if 0 <= block < hash_ and (raw < 0 or block < raw):
                self._comment(block)
            elif 0 <= raw < hash_:
                self._raw_string(raw)
            elif hash_ < size and digraphs:
                self._directive(hash_)
            elif hash_ < size:
                hash_ = self._directives(hash_, min(at for at in (size, block, raw) if at >= 0))
            else:
                return self.found

    def _hash(self, position: int) -> int:
        """The next `#` that begins a logical line which starts behind `position`; the size of the file if none does."""
        data = self.data
        at = data.find(b"#", position)
        while at >= 0:
            if self._begins(at, position) and not _PRAGMA.match(data, at + 1):
                return at
            end = data.find(b"\n", at)
            at = data.find(b"#", end) if end >= 0 else -1
        return len(data)

    def _begins(self, at: int, position: int) -> bool:
        """Whether nothing but blanks stands before an offset on its logical line, which starts behind `position`."""
        data = self.data
        newline = at - 1 if data[at - 1] == 0x0A and at > position else data.rfind(b"\n", position, at)
        blank = newline >= 0 and (newline == at - 1 or not data[newline + 1 : at].strip(_BLANKS))
        return blank and not _spliced(data, newline)

    def _hash_by_digraphs(self, position: int) -> int:
        """The same where `%:` may stand for `#`."""
        data = self.data
        for match in _HASH.finditer(data, position):
            if not _spliced(data, match.start()):
                return match.end() - (2 if data[match.end() - 1] == 0x3A else 1)
        return len(data)

    def _comment(self, at: int) -> None:
        """A candidate for a block comment: skipped if real, and a directive may follow it on the line."""
        data = self.data
        begin = self._lexed_from(at)
        if not self._is_token(begin, at, "block"):
            return
        while True:
            close = data.find(b"*/", at + 2)
            self.settled = close + 2 if close >= 0 else len(data)
            follows = _HASH_HERE.match(data, self.settled)
            starts_line = not data[begin:at].strip() and self._begins_line(begin)
            if not starts_line or close < 0:
                return
            if follows:
                self._directive(follows.end() - len(follows[0].lstrip()))
                return
            begin = self.settled
            next_comment = _BLANKS_COMMENT.match(data, begin)
            if not next_comment:
                return
            at = next_comment.end() - 2

    def _begins_line(self, begin: int) -> bool:
        """Whether a logical line starts at that offset, or only comments stand before it on its line."""
        if begin == 0 or (begin == len(BOM) and self.data.startswith(BOM)):
            return True
        if self.data[begin - 1] == 0x0A:
            return not _spliced(self.data, begin - 1)
        return self.data[begin - 2 : begin] == b"*/"

    def _raw_string(self, at: int) -> None:
        begin = self._lexed_from(at)
        self._is_token(begin, at + 1, "raw")

    def _lexed_from(self, at: int) -> int:
        """Where lexing must begin to know what stands at `at`: the logical line's start, or what is settled."""
        line_start = at
        while line_start > self.settled:
            newline = self.data.rfind(b"\n", self.settled, line_start)
            if newline < 0:
                return self.settled
            if not _spliced(self.data, newline):
                return newline + 1
            line_start = newline
        return self.settled

    def _is_token(self, begin: int, at: int, kind: str) -> bool:
        """Whether a token of that kind covers `at`; settles everything up to the end of the token that does."""
        data = self.data
        position = begin
        while True:
            match = _TOKEN.search(data, position)
            if match is None or match.start() > at:
                self.settled = at + 1
                return False
            group = match.lastgroup if match.lastgroup != "delimiter" else "raw"
            position = match.end()
            if group == "line":
                position = logical_end(data, match.start())
            elif group == "raw":
                position = self._behind_raw_string(match["delimiter"], position)
            elif group == "block" and match.start() < at:
                close = data.find(b"*/", position)
                position = close + 2 if close >= 0 else len(data)
            if at < position:
                self.settled = max(position, at + 1) if group != "block" else at + 1
                return group == kind

    def _behind_raw_string(self, delimiter: bytes, position: int) -> int:
        """Where a raw string ends whose text begins at that position; the position itself if nothing closes it."""
        if delimiter in self.unclosed:
            return position
        close = self.data.find(b")" + delimiter + b'"', position)
        if close < 0:
            self.unclosed.add(delimiter)
            return position
        return close + len(delimiter) + 2

    def _directives(self, start: int, limit: int) -> int:
        """Takes the directives from `start` on, as far as they are plain; returns where the next `#` of one may be.

        No comment and no raw string begins before `limit`.
        """
        data, found, texts = self.data, self.found, self.texts
        for match in _KNOWN.finditer(data, start):
            at = match.start()
            if at != start and not self._begins(at, self.settled):
                continue
            if at >= limit:
                return at
            name, text = match.groups()
            # `in` would raise and catch an exception each time: bytes may hold a number
            if name is None or text.find(b"\\") >= 0 or text.find(b"//") >= 0 or text.find(b"/*") >= 0:
                self._directive(at)
                return at
            self.settled = end = match.end()
            line = self.line = self.line + data.count(b"\n", self.counted, at)
            self.counted = at
            shown = _shown(text)
            found.append(directive_of((_NAMES[name], texts.setdefault(shown, shown), at, end, line, line)))
            if end > limit:
                return at
        return len(data)

    def _directive(self, start: int) -> None:
        data = self.data
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        raw = data[start:end]
        name_match = _NAME.match(raw)
        name = name_match[1].decode() if name_match else ""
        after = name_match.end() if name_match else 1
        if name and name not in KEPT:
            self.settled = start + after
            return
        text = raw[after:]
        if b"\\" in raw or (b"/" in raw and (b"//" in raw or b"/*" in raw)) or not name:
            text, end = logical_text(data, start + after)
            if not name:
                name, text = _split_name(text)
        self.settled = end
        if name not in KEPT:
            return
        line = self.line = self.line + data.count(b"\n", self.counted, start)
        self.line += data.count(b"\n", start, end)
        self.counted = end
        self.found.append(Directive(name, _shown(text), start, end, line, self.line))


_BLANKS_COMMENT = re.compile(rb"[ \t\v\f]*/\*")
_LEADING_NAME = re.compile(rb"\s*([A-Za-z_]+)")


def _split_name(text: bytes) -> tuple[str, bytes]:
    """Name and rest of a directive whose name follows a comment or a continuation."""
    match = _LEADING_NAME.match(text)
    return (match[1].decode(), text[match.end() :]) if match else ("", text)


def _shown(text: bytes) -> str:
    return text.strip().decode("utf-8", "backslashreplace")


def logical_text(data: bytes, start: int) -> tuple[bytes, int]:
    """The rest of a directive from `start`, comments as a blank and continuations joined, and the offset of its end."""
    end = logical_end(data, start)
    text = data[start:end]
    if not _LEXED.search(text):
        return _SPLICE.sub(b"", text), end
    pieces: list[bytes] = []
    position = begin = start
    while match := _TOKEN.search(data, position):
        group, at, position = match.lastgroup, match.start(), match.end()
        if group == "end":
            return b"".join(pieces) + data[begin:at], at
        if group == "line":
            return b"".join(pieces) + data[begin:at], logical_end(data, at)
        if group == "splice":
            pieces.append(data[begin:at])
            begin = position
        elif group == "block":
            pieces += (data[begin:at], b" ")
            close = data.find(b"*/", position)
            begin = position = close + 2 if close >= 0 else len(data)
    return b"".join(pieces) + data[begin:], len(data)
