"""What an arm's body does (nothing, work, only definitions, print, trap, error, return), its digest and its calls."""

from __future__ import annotations

import hashlib
import re
from itertools import islice

from archscan.frontends.cuda.preprocessor.directives import logical_text
from archscan.model.gate import NOTHING, Does, Effect

_MOST_DEFINED = 8  # definitions that are told
LARGEST_READ = 1 << 18  # of a larger body only the beginning is read for calls

# Every alternative begins with a literal byte, so that searches skip to one of those bytes
_LITERAL = rb'"(?:[^"\\\n]|\\.)*"|\'(?<!\w\')(?:[^\'\\\n]|\\.)*\''
_STRIP = re.compile(_LITERAL + rb"|//(?:[^\n]|\\\r?\n)*|/\*.*?(?:\*/|\Z)|\\\r?\n", re.S)
_MARK = re.compile(_LITERAL + rb"|\(|\)|\{|\}|;")
_BLANKS = re.compile(rb"\s+")
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(\w*)[ \t]*([^\n]*)", re.M)
_CALL = re.compile(rb"(?<![\w.#>])([A-Za-z_]\w*(?:::\w+)*)\s*(?:<[^;(){}]{0,200}>)?\s*\(")
_DEFINED = re.compile(rb"[\w>*&]\s+(\w+)\s*\((?:[^;{}()]|\([^;{}()]*\))*\)\s*(?:const\s*|noexcept\s*)*\{")
_NO_CALL = frozenset(
    b"if for while switch return sizeof alignof decltype defined asm __asm__ volatile catch static_assert "
    b"reinterpret_cast static_cast const_cast dynamic_cast __asm int float double char unsigned constexpr".split()
)
_PREFIX = re.compile(
    rb"(?:if\s*(?:constexpr\s*)?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|else|do|while\s*\(\s*(?:0|false)\s*\))\s*"
)
_PRINT = re.compile(rb"(?:\w*::)?(?:printf|fprintf|puts|print|cout|cerr|[A-Z]+_LOG)\b")
_TRAP = re.compile(
    rb"(?:__trap|trap|__brkpt|abort|std::abort|__builtin_trap|__builtin_unreachable|exit|std::terminate)\s*\("
    rb"|(?:\w*[Aa]ssert|\w*ASSERT\w*)\s*\(\s*(?:0|false|!\s*\"[^\"]*\"|false\s*(?:&&|and\b).*|0\s*&&.*|false\s*,.*|0\s*,.*"
    rb"|\((?:\s*\"[^\"]*\")+\s*,\s*(?:false|0)\s*\))\s*\)"
    rb"|\w*(?:INVALID_CONTROL_PATH|NOT_IMPLEMENTED|UNREACHABLE)\w*\s*\("
    rb"|(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(\s*\"[^\"]*\b(?:trap|brkpt)\b",
    re.S,
)
_STATIC_ASSERT = re.compile(
    rb"static_assert\s*\(\s*(?:false|0|sizeof\s*\([^)]*\)\s*==\s*0|\w*(?:always_false|dependent_false)\w*(?:<[^;]*>)?(?:::value)?)"
    rb"\s*(?:,(.*))?\)",
    re.S,
)
# CCCL declares such a function and never defines it: the linker says what is missing (cuda/__ptx/instructions)
_UNDEFINED = re.compile(rb"(__cuda_ptx_\w+_is_(?:not_supported_before|only_supported_on)_SM_\w+)\s*\(")
_THROW = re.compile(
    rb"throw\b|\w*THROW\w*\s*\(|(?:\w*(?:CHECK|ENFORCE|ICHECK)\w*)\s*\(\s*(?:false|0)\s*[,)]|\w*(?:LOG_FATAL|FATAL_ERROR)\w*\s*\("
)
_RETURN = re.compile(rb"return\b\s*(.*)", re.S)
_REFUSED = re.compile(
    rb"false|nullptr|NULL|std::nullopt|\{\}|cudaError(?!_t\b)\w+|CUDA_ERROR_\w+|\w*[Ss]tatus::k(?:Error|Invalid|ArchMismatch)\w*|-1"
)
_CAST = re.compile(rb"[\w:<>]*(?:_t|float|half|int|double|bool|unsigned|bfloat16|\bT)\s*[({]\s*[\w.+-]*\s*[)}]")
_IGNORED = re.compile(rb"(?:\(void\)\s*[\w.]+|(?:\w+::)+ignore\s*=.*|)")
_CONSTANT = re.compile(
    rb"(?:(?:static|inline|const|constexpr|__device__|__constant__|[A-Z][A-Z0-9_]+|using|typedef)\s+)+"
    rb"(?P<name>[\w:<>, ]+?)\s*=\s*(?P<value>[^;]*)",
    re.S,
)
_ASSIGN = re.compile(rb"(?P<name>(?:this->)?[\w.\[\]]+)\s*=(?!=)\s*(?P<value>[^;{}]*)", re.S)
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def stripped(body: bytes) -> bytes:
    """The body without comments and continuations; literals stay."""
    if b"/" not in body and b"\\" not in body:
        return body
    return _STRIP.sub(lambda m: m[0] if m[0].startswith((b'"', b"'")) else b" ", body)


def is_plainly_work(body: bytes) -> bool:
    """Whether a body holds instructions that do not stop the kernel, so that nothing else in it matters."""
    return b"asm" in body and b"trap" not in body and b"brkpt" not in body and b"#" not in body and b"//" not in body


def digest(code: bytes) -> str:
    """A digest of stripped code that ignores white space."""
    return hashlib.blake2b(code.translate(None, b" \t\r\n\v\f"), digest_size=8).hexdigest()


def calls(code: bytes) -> tuple[str, ...]:
    """The names that stripped code calls, in order of appearance; what it defines itself is in it."""
    code = code[:LARGEST_READ]
    found = dict.fromkeys(m[1] for m in _CALL.finditer(code))
    own = _NO_CALL | defined(code)
    return tuple(name.decode("utf-8", "replace") for name in found if name not in own)


def defined(code: bytes) -> frozenset[bytes]:
    """The functions that code defines."""
    return frozenset(m[1] for m in _DEFINED.finditer(code[:LARGEST_READ])) if b"{" in code else frozenset()


def with_strange_names(code: bytes, more: frozenset[bytes] = frozenset()) -> bytes:
    """The code with its own functions, and `more`, under names that mean nothing: an emulation is no use."""
    own = defined(code) | more
    if not own:
        return code
    names = re.compile(rb"\b(?:" + b"|".join(map(re.escape, own)) + rb")\b")
    return names.sub(lambda m: b"_" * len(m[0]), code)


def effect(code: bytes, line: int) -> Effect:
    """What stripped code does when it is compiled; `line` is the file's line of its first byte."""
    directives = list(_DIRECTIVE.finditer(code)) if b"#" in code else []
    error = _top_level_error(directives)
    if error:
        text = error[2].decode("utf-8", "replace").strip().strip('"')
        return Effect(Does.ERRORS, line + code.count(b"\n", 0, error.start()), text)
    plain = _DIRECTIVE.sub(b"", code) if directives else code
    if not plain.strip(b" \t\r\n\v\f;{}"):
        return _only_directives(directives, code, line)
    return _statements(plain, line, conditional=any(m[1].startswith(b"if") for m in directives))


def _top_level_error(directives: list[re.Match[bytes]]) -> re.Match[bytes] | None:
    """An `#error` that no inner conditional guards."""
    depth = 0
    for match in directives:
        word = match[1]
        if word.startswith(b"if"):
            depth += 1
        elif word == b"endif":
            depth -= 1
        elif word == b"error" and depth == 0:
            return match
    return None


def _only_directives(directives: list[re.Match[bytes]], code: bytes, line: int) -> Effect:
    words = {m[1] for m in directives}
    if b"define" in words or b"undef" in words:
        first = islice((m for m in directives if m[1] == b"define"), _MOST_DEFINED)
        return Effect(Does.DEFINES, line, value="; ".join(_definition_text(code, m) for m in first) or None)
    if b"include" in words:
        return Effect(Does.WORK, line)
    if b"warning" in words:
        return Effect(Does.LOGS, line)
    return NOTHING


def _definition_text(code: bytes, match: re.Match[bytes]) -> str:
    text, _ = logical_text(code, match.start(2))
    name, _, value = text.decode("utf-8", "replace").strip().partition(" ")
    return f"{name}={value.strip()}" if value.strip() else name


def _statements(code: bytes, line: int, conditional: bool) -> Effect:
    """The strongest refusal among the statements if nothing else is done; work otherwise."""
    first = line + code.count(b"\n", 0, len(code) - len(code.lstrip()))
    if len(code) > 4000 or (b"asm" in code and b"trap" not in code and b"brkpt" not in code):
        return Effect(Does.WORK, first)
    found: dict[Does, Effect] = {}
    for statement in _split(code):
        at = line + code.count(b"\n", 0, max(code.find(statement[:40]), 0))
        kind = _statement(statement, at)
        if kind is None:
            return Effect(Does.WORK, first)
        if kind.does is not Does.NOTHING:
            found.setdefault(kind.does, kind)
    return _summary(found, first, conditional)


def _summary(found: dict[Does, Effect], first: int, conditional: bool) -> Effect:
    for does in (Does.ERRORS, Does.RAISES, Does.TRAPS, Does.PRINTS):
        if does in found:
            printed = found.get(Does.PRINTS)
            chosen = found[does]
            if chosen.message is None and printed is not None:
                return Effect(does, chosen.line, printed.message)
            return chosen
    if not found:
        return NOTHING
    if len(found) > 1 or conditional:
        return Effect(Does.WORK, first)
    return next(iter(found.values()))


def _split(code: bytes) -> list[bytes]:
    """The statements of stripped code, control prefixes and braces removed."""
    if code.count(b";") == 1 and code.rstrip().endswith(b";") and b"{" not in code and b"}" not in code:
        return [_without_prefix(code.strip()[:-1].strip())]  # most often there is just one
    pieces: list[bytes] = []
    depth = start = 0
    for match in _MARK.finditer(code):
        char = match[0]
        if char == b"(":
            depth += 1
        elif char == b")":
            depth -= 1
        elif char in (b"{", b"}", b";") and depth <= 0:
            pieces.append(code[start : match.start()])
            start = match.end()
    pieces.append(code[start:])
    return [piece for p in pieces if (piece := _without_prefix(p.strip()))]


def _without_prefix(statement: bytes) -> bytes:
    while match := _PREFIX.match(statement):
        statement = statement[match.end() :]
    return statement.strip()


def _statement(text: bytes, line: int) -> Effect | None:
    """The effect of one statement; None when it does work."""
    if _IGNORED.fullmatch(text):
        return NOTHING
    asserted = _STATIC_ASSERT.match(text)
    if asserted:
        return Effect(Does.ERRORS, line, _message(asserted[1] or b""))
    undefined = _UNDEFINED.match(text)
    if undefined:
        return Effect(Does.ERRORS, line, undefined[1].decode())
    if _THROW.match(text):
        return Effect(Does.RAISES, line, _message(text))
    if _TRAP.match(text):
        return Effect(Does.TRAPS, line, _message(text) if b"trap;" not in text else None)
    if _PRINT.match(text):
        return Effect(Does.PRINTS, line, _message(text))
    returned = _RETURN.match(text)
    if returned:
        return _returned(returned[1].strip(), line)
    constant = _CONSTANT.fullmatch(text)
    if constant:
        return Effect(Does.DEFINES, line, value=_pair(constant))
    assigned = _ASSIGN.fullmatch(text)
    if assigned and not _CALL.search(assigned["value"]):
        return Effect(Does.ASSIGNS, line, value=_pair(assigned))
    return None


def _returned(value: bytes, line: int) -> Effect | None:
    if not value:
        return Effect(Does.SKIPS, line, value="return")
    if _REFUSED.fullmatch(value):
        return Effect(Does.REFUSES, line, value=value.decode("utf-8", "replace"))
    if _CALL.search(value) and not _CAST.fullmatch(value):
        return None
    return Effect(Does.RETURNS, line, value=value.decode("utf-8", "replace"))


def _pair(match: re.Match[bytes]) -> str:
    name = match["name"].split()[-1] if match["name"].split() else b""
    return f"{name.decode('utf-8', 'replace')}={_BLANKS.sub(b' ', match['value']).strip().decode('utf-8', 'replace')}"


def _message(text: bytes) -> str | None:
    parts = _STRING.findall(text)
    return b"".join(parts).decode("utf-8", "replace").removesuffix("\\n") if parts else None
