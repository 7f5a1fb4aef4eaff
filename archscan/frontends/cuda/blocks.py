"""Reads a block of C++ from its bytes as the few statements that say what it does: see archscan/analysis/effects.py.

Behind `#if` a block is any stretch of a file, behind `if` it stands in braces; both are read here, and mean the same.
Nothing is parsed that decides nothing: an expression is its text, a definition is work.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

from archscan.analysis.effects import (
    Assign,
    Block,
    Branch,
    Call,
    Leave,
    Loop,
    Means,
    Outcome,
    Raise,
    Return,
    Stmt,
    Stop,
    Work,
    outcome_of,
)
from archscan.catalog.effects import effects
from archscan.model.gate import Does, Effect

LONGEST = 1 << 15  # of longer code only the beginning is read
_DEEPEST = 60  # statements in each other
_LONGEST_TOLD = 2000  # bytes of a statement whose name and value are told

_LITERAL = rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'(?<!\w\')[^\'\\\n]*(?:\\.[^\'\\\n]*)*\''
_STRIP = re.compile(_LITERAL + rb"|//[^\n\\]*(?:\\(?:\r?\n)?[^\n\\]*)*|/\*.*?(?:\*/|\Z)|\\\r?\n", re.S)
_MARK = re.compile(_LITERAL + rb"|[(){};]|^[ \t]*#[ \t]*\w+", re.M)
_BLANK = re.compile(rb"[\s;]*")
_SPACES = re.compile(rb"\s+")
_HEAD = re.compile(
    rb"(if|for|while|do|else|switch|try|catch|case|default|return|co_return|throw|goto|continue|break|static_assert"
    rb"|asm|__asm__|__asm|using|typedef|struct|class|enum|union|namespace|template|extern)\b(?!\s*::)"
)
_IF_WORDS = re.compile(rb"\s*(?:constexpr|consteval)?\s*")
_LABEL = re.compile(rb"(?:[A-Za-z_]\w*|case\b[^:;{}]*(?:::[^:;{}]*)*)\s*:(?!:)")
_CASE = re.compile(rb"default\s*:(?!:)|case\b[^:;{}]*(?:::[^:;{}]*)*\s*:(?!:)")
_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(\w+)[ \t]*([^\n]*)")
_CHANGES = re.compile(rb"\+\+|--|(?<![=!<>])=(?!=)|<<=|>>=|\[[^\]]*\]\s*[({]")  # also where a lambda may
_CALLEE = re.compile(rb"((?:::)?[A-Za-z_]\w*(?:(?:::|\.|->)[A-Za-z_]\w*)*)\s*(?:<[^;(){}]{0,200}>)?\s*\(")
_STREAM = re.compile(rb"((?:std::)?[A-Za-z_]\w*)\s*<<")
_CALL = re.compile(rb"(?<![\w.>:])(?!(?:sizeof|alignof|decltype|defined|static_cast|reinterpret_cast|const_cast)\b)"
                   rb"([A-Za-z_][\w:]*)\s*(?:<[^;(){}]{0,200}>)?\s*(?:\(|<<<)")  # fmt: skip
_CAST = re.compile(
    rb"(?:static_cast\s*<[^<>()]*>|[\w:<>]*(?:_t|float|half|int|long|short|char|double|bool|unsigned|bfloat16|\bT))"
    rb"\s*[({]\s*[\w.+-]*\s*[)}]"
)
_STRINGS = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"(?:[ \t\r\n\\<]*"[^"\\\n]*(?:\\.[^"\\\n]*)*")*')  # adjacent ones
_STRING = re.compile(rb'"([^"\\\n]*(?:\\.[^"\\\n]*)*)"')
_IGNORED = re.compile(rb"(?:\(void\)\s*\(?[\w.\->\[\]]+\)?|(?:\w+::)+ignore\s*=.*|(?:__syntax_error__)?)", re.S)
_CONSTANT = re.compile(
    rb"(?:(?:static|inline|const|constexpr|__device__|__constant__|__host__|[A-Z][A-Z0-9_]+|using|typedef)\s+)+"
    rb"(?P<name>[\w:<>, *]+?)\s*=\s*(?P<value>[^;]*)",
    re.S,
)
_TYPE = rb"(?:[A-Za-z_][\w:]*(?:\s*<(?:[^;={}<>]|<[^;={}<>]*>)*>)?[\s*&]+)+"  # read in one way only
_ASSIGN = re.compile(
    rb"(?:" + _TYPE + rb")?(?P<name>\*?\w+(?:(?:\.|->|::)\w+|\[[^\]]*\])*)"
    rb"\s*(?P<compound>[|+\-*/%&^]|<<|>>)?=(?!=)\s*(?P<value>.*)",
    re.S,
)
_PAIR = re.compile(
    rb"(?:\{|std::make_(?:pair|tuple)\s*\(|std::(?:pair|tuple)\s*<[^;]*>\s*[({])\s*([\w:]+)\s*,(.*)", re.S
)
_DECLARED = re.compile(_TYPE + rb"(?P<name>\w+)(?:\s*\[[^\]]*\])*(?:\s*,\s*\*?\w+)*")
_FALSE = re.compile(rb"sizeof\b.*==\s*0|[\w:]*(?:always|dependent)_?false\w*\s*(?:<.*>)?(?:::value)?", re.S)
_GOES_ON = re.compile(rb"\s*[;,).\-?:+*/<>|&=\[(]")  # behind a brace: still the same statement


def stripped(body: bytes) -> bytes:
    """The body without comments and continuations; literals stay."""
    if b"/" not in body and b"\\" not in body:
        return body
    return _STRIP.sub(_blank, body)


def _blank(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text.startswith((b'"', b"'")):
        return text
    return b"\n" * text.count(b"\n") if text.startswith(b"/") and b"\n" in text else b" "


def message_of(code: bytes) -> str | None:
    """The adjacent string literals of the first text in the code, placeholders kept; None if there is none."""
    run = _STRINGS.search(code)
    return b"".join(_STRING.findall(run[0])).decode("utf-8", "replace").removesuffix("\\n") if run else None


def outcome(code: bytes, line: int) -> Outcome:
    """What stripped code does that begins at a line, and whether control never comes out at its end."""
    return outcome_of(block_of(code, line), effects())


def effect(code: bytes, line: int) -> Effect:
    """What stripped code does when it is compiled."""
    return outcome(code, line).effect


def failed_check(macro: str, code: bytes, line: int) -> Effect:
    """What the check does that code makes by that name when its condition does not hold."""
    does = {Means.ASSERTS: Does.ASSERTS, Means.STOPS: Does.ERRORS}.get(effects().means(macro), Does.RAISES)
    return Effect(does, line, message_of(code))


def block_of(code: bytes, line: int) -> Block:
    """The statements of stripped code that begins at a line; of what is too long only the beginning."""
    reader = _Reader(code[:LONGEST], line)
    block = reader.block()
    stops = tuple(one for one in block if isinstance(one, Stop) or (isinstance(one, Call) and _stops_compiler(one)))
    return (*stops, *block) or ((Work(line),) if reader.included else ())


def _stops_compiler(call: Call) -> bool:
    """Whether an assertion stops the compiler, wherever it stands in a block."""
    return call.name == "static_assert" and call.first in ("false", "0")


class _Reader:
    """Reads statements one after the other: `pos` is where the next one begins."""

    def __init__(self, code: bytes, line: int) -> None:
        self.code, self.pos = code, 0
        self._marks = [m.start() for m in _MARK.finditer(code) if code[m.start()] not in b"\"'"]
        self._line, self._counted = line, 0
        self._conditional = 0  # `#if` around what is read
        self._depth = 0
        self.included = False

    def block(self, closing: bool = False) -> Block:
        """The statements up to the brace that closes the block, or to what ends it otherwise."""
        found: list[Stmt] = []
        while True:
            self._blanks()
            if self.pos >= len(self.code):
                break
            if self.code[self.pos] == 0x7D:  # }
                self.pos += 1
                if closing:
                    break
                continue
            if self.code[self.pos] == 0x23:  # #
                if self._conditional and self._directive_word() in _ENDING:
                    break
                found += self._directive()
                continue
            found += self._statement()
        return tuple(found)

    # one statement

    def _statement(self) -> Block:
        """One statement; of what is nested too deeply, that it is there."""
        if self._depth > _DEEPEST:
            self.pos = len(self.code)
            return (Work(self._at()),)
        self._depth += 1
        found = self._read()
        self._depth -= 1
        return found

    def _read(self) -> Block:  # noqa: PLR0912 one case per keyword
        line, code = self._at(), self.code
        if code[self.pos] == 0x7B:  # {
            self.pos += 1
            return self.block(closing=True)
        head = _HEAD.match(code, self.pos)
        if head is None:
            label = _LABEL.match(code, self.pos)
            if label is not None:
                self.pos = label.end()
                return ()
            return self._simple(line)
        match head[1]:
            case b"if":
                return (self._if(line, head.end()),)
            case b"else":  # of an if that stands before the block
                self.pos = head.end()
                return (Branch((self._one(),), line),)
            case b"for" | b"while":
                self.pos = self._behind_parens(head.end())
                return (Loop(self._one(), line),)
            case b"catch":
                self.pos = self._behind_parens(head.end())
                return (Branch((self._one(),), line),)
            case b"switch":
                self.pos = self._behind_parens(head.end())
                return (self._switch(line, self._only_asks(head.end())),)
            case b"do":
                return self._do(line, head.end())
            case b"try":
                self.pos = head.end()
                return self._one()
            case b"case" | b"default":
                label = _LABEL.match(code, self.pos)
                self.pos = label.end() if label is not None else head.end()
                return ()
            case b"asm" | b"__asm__" | b"__asm":
                return self._asm(line)
            case b"return" | b"co_return" | b"throw" | b"goto" | b"continue" | b"break":
                return (self._leaving(head[1], line, head.end()),)
            case b"static_assert" | b"using" | b"typedef":
                return self._simple(line)
            case _:
                self._skip()
                return (Work(line),)

    def _one(self) -> Block:
        """The block or single statement that a head is in front of."""
        self._blanks(semicolons=False)
        if self.pos >= len(self.code):
            return ()
        if self.code[self.pos] == 0x3B:  # ;
            self.pos += 1
            return ()
        if self.code[self.pos] == 0x23:
            return ()
        return self._statement()

    def _if(self, line: int, after: int) -> Branch:
        words = _IF_WORDS.match(self.code, after)
        begin = words.end() if words is not None else after
        self.pos = self._behind_parens(begin)
        condition, only_asks = self.code[begin : self.pos], self._only_asks(begin)
        arms = [self._one()]
        has_else = False
        while self._takes_else():
            self._blanks(semicolons=False)
            nested = _HEAD.match(self.code, self.pos)
            if nested is not None and nested[1] == b"if":
                words = _IF_WORDS.match(self.code, nested.end())
                begin = words.end() if words is not None else nested.end()
                self.pos = self._behind_parens(begin)
                only_asks = only_asks and self._only_asks(begin)
                arms.append(self._one())
            else:
                arms.append(self._one())
                has_else = True
                break
        return Branch(tuple(arms), line, has_else, _shared().search(condition) is not None, only_asks=only_asks)

    def _only_asks(self, begin: int) -> bool:
        """Whether a condition that begins at an offset, and ends here, changes nothing."""
        return _CHANGES.search(self.code, begin, self.pos) is None

    def _takes_else(self) -> bool:
        at = _SPACES.match(self.code, self.pos)
        begin = at.end() if at is not None else self.pos
        if self.code.startswith(b"else", begin) and not self.code[begin + 4 : begin + 5].isalnum():
            self.pos = begin + 4
            return True
        return False

    def _switch(self, line: int, only_asks: bool) -> Branch:
        """The cases of a switch; a break only leaves it."""
        self._blanks(semicolons=False)
        arms: list[list[Stmt]] = [[]]
        has_else = False
        self.pos += 1  # the brace
        while True:
            self._blanks()
            if self.pos >= len(self.code) or self.code[self.pos] == 0x7D:
                self.pos += 1
                break
            label = _CASE.match(self.code, self.pos)
            if label is not None:
                has_else = has_else or label[0].startswith(b"default")
                arms.append([])
                self.pos = label.end()
            elif self.code[self.pos] == 0x23:
                found = _DIRECTIVE.match(self.code, self.pos)
                self.pos = found.end() if found is not None else self.pos + 1
            else:
                arms[-1].extend(self._statement())
        run = [arm for arm in arms if arm]  # a label without statements falls into the next one
        return Branch(tuple(without_break(tuple(arm)) for arm in run), line, has_else, only_asks=only_asks)

    def _do(self, line: int, after: int) -> Block:
        self.pos = after
        body = self._one()
        self._blanks()
        if self.code.startswith(b"while", self.pos):
            begin = self.pos + 5
            self.pos = self._behind_parens(begin)
            if self.code[begin : self.pos].strip(b" ()") in (b"0", b"false"):
                return body
        return (Loop(body, line),)

    def _leaving(self, word: bytes, line: int, after: int) -> Stmt:
        end = self._skip()
        value = self.code[after:end].strip()
        if word == b"throw":
            error = _CALLEE.match(value)
            return Raise(line, message_of(value), error[1].decode("utf-8", "replace") if error else None)
        if word in (b"goto", b"continue", b"break"):
            return Leave(word.decode(), line)
        if not value:
            return Return(None, line)
        pair = _PAIR.match(value)
        head = pair[1] if pair is not None else value
        shown = _SPACES.sub(b" ", value).decode("utf-8", "replace")
        return Return(shown, line, _SPACES.sub(b" ", head).decode("utf-8", "replace"), message_of(value))

    def _asm(self, line: int) -> Block:
        begin = self.pos
        text = self.code[begin : self._skip()]
        if re.search(rb"\b(?:trap|brkpt)\b", text):
            return (Call("trap", line),)
        return (Work(line),) if b'"' in text else ()

    def _simple(self, line: int) -> Block:
        """An expression, a declaration, or a definition, which is work."""
        begin = self.pos
        end = self._skip()
        text = self.code[begin:end].strip()
        if self.pos == end and self.code[end - 1 : end] == b"}":
            return (Work(line),)
        if len(text) > _LONGEST_TOLD and _CALLEE.match(text) is None:
            return (Work(line),)
        if _IGNORED.fullmatch(text) or (text.startswith(b"using") and b"=" not in text):
            return ()
        stream = _STREAM.match(text)
        if stream is not None:
            return (Call(stream[1].decode(), line, message_of(text)),)
        constant = _CONSTANT.fullmatch(text)
        if constant is not None:
            value = constant["value"]
            return (Assign(_last(constant["name"]), _shown(value), line, _gives(value), constant=True),)
        called = _CALLEE.match(text)
        if called is not None:
            return (self._call(called, text, line),)
        assigned = _ASSIGN.fullmatch(text)
        if assigned is not None and b"<<<" not in text:
            value = assigned["value"]
            if assigned["compound"] and assigned["name"].endswith(b"]"):
                return (Work(line),)  # it computes in place
            return (Assign(assigned["name"].decode("utf-8", "replace"), _shown(value), line, _gives(value)),)
        declared = _DECLARED.fullmatch(text)
        return (Assign(_last(declared["name"]), None, line) if declared is not None else Work(line),)

    def _call(self, called: re.Match[bytes], text: bytes, line: int) -> Stmt:
        """A call; of `CHECK(x) << "text"` the check. Its first argument is what it asks."""
        name = called[1].decode("utf-8", "replace")
        end = _closing(text, called.end() - 1)
        inside = text[called.end() : max(called.end(), end - 1)]
        first = _first(inside)
        tail = text[end:].lstrip()
        if tail.startswith(b"<<<") or (tail and not tail.startswith((b"<<", b".", b"->", b","))):
            return Work(line)
        word = first.strip()
        if name.endswith("LOG") and word in (b"FATAL", b"DFATAL"):
            name = "LOG_FATAL"
        shown = "false" if _FALSE.fullmatch(word) else word.decode("utf-8", "replace")
        return Call(name, line, message_of(text), shown, bare=_asks_only(word))

    # directives

    def _directive_word(self) -> bytes:
        found = _DIRECTIVE.match(self.code, self.pos)
        return found[1] if found is not None else b""

    def _directive(self) -> Block:
        line = self._at()
        found = _DIRECTIVE.match(self.code, self.pos)
        if found is None:
            self.pos += 1
            return ()
        self.pos = found.end()
        word, text = found[1], found[2].decode("utf-8", "replace").strip()
        if word == b"error":
            return (Stop(line, text.strip('"')),)
        if word in (b"if", b"ifdef", b"ifndef"):
            return (self._conditional_block(line),)
        if word == b"define":
            name, _, value = _defined(text)
            return (Assign(name, value or None, line, constant=True),)
        if word == b"undef":
            return (Assign(text, None, line, constant=True),)
        if word == b"include":
            self.included = True
            return ()
        return (Call("warn", line, text.strip('"')),) if word == b"warning" else ()

    def _conditional_block(self, line: int) -> Branch:
        """`#if` with all its arms."""
        arms, has_else = [], False
        if self._conditional > _DEEPEST:
            self.pos = len(self.code)
            return Branch(((Work(line),),), line)
        self._conditional += 1
        while True:
            arms.append(self.block())
            found = _DIRECTIVE.match(self.code, self.pos) if self.pos < len(self.code) else None
            if found is None:
                break
            self.pos = found.end()
            if found[1] == b"endif":
                break
            has_else = has_else or found[1] == b"else"
        self._conditional -= 1
        return Branch(tuple(arms), line, has_else, built=True)

    # positions

    def _at(self) -> int:
        """The line of the next statement."""
        self._line += self.code.count(b"\n", self._counted, self.pos)
        self._counted = self.pos
        return self._line

    def _blanks(self, semicolons: bool = True) -> None:
        found = (_BLANK if semicolons else _SPACES).match(self.code, self.pos)
        if found is not None:
            self.pos = found.end()

    def _skip(self) -> int:
        """Goes behind the statement; the offset where its text ends."""
        code, marks = self.code, self._marks
        at, parens = bisect_left(marks, self.pos), 0
        while at < len(marks):
            offset = marks[at]
            char = code[offset]
            at += 1
            if char == 0x28:
                parens += 1
            elif char == 0x29:
                parens -= parens > 0
            elif char == 0x3B and not parens:
                self.pos = offset + 1
                return offset
            elif char == 0x7B:
                at = self._behind_brace(at)
                end = marks[at - 1] + 1 if at <= len(marks) and at else len(code)
                if not parens and not _GOES_ON.match(code, end):
                    self.pos = end
                    return end
            elif not parens and (char == 0x7D or (self._conditional and char not in b"(){};")):
                self.pos = offset
                return offset
        self.pos = len(code)
        return len(code)

    def _behind_brace(self, at: int) -> int:
        """The index of the mark behind the brace that closes the one before `at`."""
        depth = 1
        while at < len(self._marks) and depth:
            char = self.code[self._marks[at]]
            depth += (char == 0x7B) - (char == 0x7D)
            at += 1
        return at

    def _behind_parens(self, begin: int) -> int:
        """The offset behind the parentheses that open at or after an offset."""
        depth = 0
        for at in range(bisect_left(self._marks, begin), len(self._marks)):
            offset = self._marks[at]
            char = self.code[offset]
            depth += (char == 0x28) - (char == 0x29)
            if depth <= 0:
                return offset + 1 if char == 0x29 else offset
        return len(self.code)


@cache
def _shared() -> re.Pattern[bytes]:
    words = sorted(effects().sections["shared"])
    return re.compile(rb"\b(?:" + "|".join(words).encode() + rb")\b")


def without_break(block: Block) -> Block:
    """The statements of a case without the break that leaves its switch."""
    last = block[-1] if block else None
    return block[:-1] if isinstance(last, Leave) and last.word == "break" else block


def _gives(value: bytes) -> bool:
    """Whether a value is what a call gives; a cast of a constant is none."""
    return _CALL.search(value) is not None and not _CAST.fullmatch(value)


_ENDING = frozenset({b"elif", b"else", b"endif", b"elifdef", b"elifndef"})
_BRACKETS = re.compile(_LITERAL + rb"|[(){}\[\],]")


def _closing(text: bytes, begin: int) -> int:
    """The offset behind the parenthesis that closes the one at an offset."""
    depth = 0
    for mark in _BRACKETS.finditer(text, begin):
        depth += (mark[0] in (b"(", b"{", b"[")) - (mark[0] in (b")", b"}", b"]"))
        if depth == 0:
            return mark.end()
    return len(text)


def _first(arguments: bytes) -> bytes:
    """The first of some arguments; all of a check that compares."""
    depth = 0
    for mark in _BRACKETS.finditer(arguments):
        depth += (mark[0] in (b"(", b"{", b"[")) - (mark[0] in (b")", b"}", b"]"))
        if mark[0] == b"," and depth == 0:
            return arguments[: mark.start()]
    return arguments


def _asks_only(condition: bytes) -> bool:
    """Whether what a check is given is no more than a question: the call of a function by itself may do something."""
    called = _CALL.match(condition)
    return called is None or re.search(rb"[=!<>]=|&&|\|\||[^<]<[^<]|[^>-]>[^>]", condition[called.end() :]) is not None


def _defined(text: str) -> tuple[str, str, str]:
    head = re.match(r"\w+(?:\([^)]*\))?", text)
    name = head[0] if head else text
    return name, "", text[len(name) :].strip()


def _last(name: bytes) -> str:
    parts = name.split()
    return parts[-1].decode("utf-8", "replace") if parts else ""


def _shown(value: bytes) -> str:
    return _SPACES.sub(b" ", value).strip().decode("utf-8", "replace")
