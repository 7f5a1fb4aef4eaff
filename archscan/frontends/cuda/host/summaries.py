"""Says what a piece of C++ does from its bytes: refuses, works, picks a value; and what it calls and uses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from archscan.frontends.cuda.host.names import failure
from archscan.frontends.cuda.host.syntax import Summary
from archscan.model.gate import NOTHING, Does, Effect, FeatureUse, Place

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_STRING = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_STRINGS = re.compile(rb'"(?:[^"\\\n]|\\.)*"(?:[ \t\r\n\\<]*"(?:[^"\\\n]|\\.)*")*')  # adjacent ones
_CODE_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_CALL = re.compile(rb"(?<![.>\w])([A-Za-z_]\w*)\s*(?:<[\w:,\s<>*&+\-.]*>)?\s*(?:\(|<<<)")
_TEMPLATE_NAME = re.compile(rb"[<,]\s*(?:\w+::)*([A-Z]\w*)")
_LAUNCHED = re.compile(
    rb"Launch(?:Cooperative)?Kernel(?:ExC?|EX)?\s*\((?:\s*&?[\w.>-]+\s*,)?\s*(?:\([^()]*\)\s*)?&?(?:\w+::)*(\w+)"
)
_RETURN = re.compile(rb"\breturn\b\s*([^;]*);")
_REFUSED = re.compile(
    rb"^(?:false|nullptr|NULL|std::nullopt|nullopt|\{\}|-\s*\d+|[\w:]*(?:[Ee]rr|ERR|[Ff]ail|FAIL|[Ii]nvalid|INVALID"
    rb"|[Uu]nsupported|UNSUPPORTED|[Nn]ot_?[Ss]upported|NOT_SUPPORTED|NOT_IMPLEMENTED)\w*(?:\(.*\)|\{.*\})?)$",
    re.S,
)
_TRAP = re.compile(rb"__trap\s*\(|__brkpt\s*\(|\"\s*(?:trap|brkpt)\s*;|__builtin_trap")
_PRINT = re.compile(rb"\b(?:std::)?(?:printf|fprintf|puts|cout|cerr)\b")
_COMPLAINS = re.compile(rb"\b(?:cerr|stderr|perror)\b")
_EXIT_CODE = re.compile(rb"\d+|EXIT_\w+")
_LOG = re.compile(rb"\b(?:[A-Z_]*LOG[A-Z_]*|[A-Z_]*WARN(?:ING)?[A-Z_]*|LOG|DLOG|spdlog|log_\w+)\b")
_ASSIGN = re.compile(rb"(?:^|[;{}\s])(\w+(?:(?:\.|->|::)\w+)*)\s*\|?=\s*([^=;][^;]*);")
_LONGEST = 1 << 15  # of longer code only the beginning is read
_BRACE = re.compile(rb"[{}]")
_KEYWORDS = frozenset(
    b"if for while switch return sizeof throw catch else case do and or not alignof decltype static_cast const_cast "
    b"reinterpret_cast dynamic_cast constexpr noexcept template typename new delete asm volatile static_assert "
    b"defined".split()
)
_NO_WORK = _KEYWORDS | {b"thread0", b"syncthreads", b"__syncthreads", b"flush", b"get", b"str"}
_FALSE_ASSERT = re.compile(rb"\bassert\s*\(\s*(?:false|0|!\s*\"|\((?:\s*\"[^\"]*\")+\s*,\s*(?:false|0)\s*\))")
_FALSE_CHECK = re.compile(rb"\b[A-Z][A-Z0-9_]*(?:CHECK|ASSERT|ENFORCE)[A-Z0-9_]*\s*\(\s*(?:false|0)\s*,")
_STATIC_FALSE = re.compile(rb"\bstatic_assert\s*\(\s*(?:false|\w*(?:always|dependent)_false)|^\s*#\s*error", re.M)


def message_of(code: bytes) -> str | None:
    """The adjacent string literals of the first text in the code, placeholders kept; None if there is none."""
    run = _STRINGS.search(code)
    return b"".join(_STRING.findall(run[0])).decode("utf-8", "replace") if run else None


def failure_effect(macro: str, code: bytes, line: int) -> Effect:
    """What a failed check does: assert traps only in debug builds, static_assert stops the compiler, others raise."""
    does = {"assert": Does.ASSERTS, "static_assert": Does.ERRORS}.get(macro, Does.RAISES)
    return Effect(does, line, message_of(code))


def called_names(code: bytes) -> tuple[str, ...]:
    """The names called or launched in the code, then the types that template arguments select, in order, once each."""
    found: dict[bytes, None] = dict.fromkeys(m for m in _CALL.findall(code) if m not in _KEYWORDS)
    if b"LaunchKernel" in code or b"LaunchCooperativeKernel" in code:
        found.update(dict.fromkeys(_LAUNCHED.findall(code)))
    found.update(dict.fromkeys(_TEMPLATE_NAME.findall(code)))
    return tuple(name.decode("utf-8", "replace") for name in found)


def _stripped(code: bytes) -> bytes:
    text = _COMMENT.sub(b" ", code).strip()
    while text.startswith(b"{") and text.endswith(b"}") and _closes_at_end(text):
        text = text[1:-1].strip()
    return text


def _closes_at_end(text: bytes) -> bool:
    depth = 0
    for brace in _BRACE.finditer(_CODE_STRING.sub(lambda m: b" " * len(m[0]), text)):
        depth += 1 if brace[0] == b"{" else -1
        if depth == 0:
            return brace.end() == len(text)
    return False


@dataclass(frozen=True)
class Summariser:
    """Summaries of code; `features` finds the features in bytes, lines counted from 1."""

    features: Callable[[bytes], tuple[FeatureUse, ...]]

    def outline(self, code: bytes) -> Summary:
        """Only how the code ends: for branches that do not ask for the architecture."""
        effect, exits = effect_of(_stripped(code[:_LONGEST]))
        return Summary(effect=effect, exits=exits)

    def effect(self, code: bytes, line: int) -> Effect:
        """Only what the code does, which begins at a line."""
        bare = _stripped(code[:_LONGEST])
        return replace(effect_of(bare)[0], line=line) if bare else NOTHING

    def summary(self, code: bytes, place: Place) -> Summary:
        """What the code does, with its features at lines of the file."""
        code = code[:_LONGEST]
        bare = _stripped(code)
        if not bare:
            return Summary(place=None)
        uses = tuple(replace(u, line=u.line + place.line - 1) for u in self.features(code))
        effect, exits = effect_of(bare)
        return Summary(
            place=place,
            effect=replace(effect, line=place.line),
            digest=hashlib.sha1(re.sub(rb"\s+", b"", bare), usedforsecurity=False).hexdigest()[:16],
            features=uses,
            calls=called_names(bare),
            exits=exits,
        )


def effect_of(bare: bytes) -> tuple[Effect, bool]:
    """What code without comments does, and whether control never comes out at its end."""
    if not bare or bare == b";":
        return Effect(Does.NOTHING), False
    outer = _outermost(bare)
    refusal = _refusal(bare, outer)
    if refusal:
        return refusal, True
    returned = list(_RETURN.finditer(outer))
    if returned:
        return _returning(bare, returned[-1])
    if re.fullmatch(rb"(?:[^;]*;)?\s*continue\s*;", outer):
        return Effect(Does.SKIPS, value="continue"), True
    return _staying(bare), bool(re.search(rb"\b(?:break|continue|goto \w+)\s*;\s*$", outer))


def _refusal(bare: bytes, outer: bytes) -> Effect | None:
    message = message_of(bare)
    if _STATIC_FALSE.search(outer):
        return Effect(Does.ERRORS, message=message)
    if re.search(rb"\bthrow\b", outer) or failure(outer) or _FALSE_CHECK.search(outer):
        return Effect(Does.RAISES, message=message)
    if _FALSE_ASSERT.search(outer):
        return Effect(Does.ASSERTS, message=message)
    if _TRAP.search(bare) and not re.search(rb"<<<", bare):
        return Effect(Does.TRAPS, message=message)
    return None


def _returning(bare: bytes, last: re.Match[bytes]) -> tuple[Effect, bool]:
    value = re.sub(rb"\s+", b" ", bare[last.start(1) : last.end(1)]).strip()
    text = value.decode("utf-8", "replace")
    if _REFUSED.match(value):
        return Effect(Does.REFUSES, message=message_of(bare), value=text), True
    works = _works(bare[: last.start()])
    if not works and _COMPLAINS.search(bare) and _EXIT_CODE.fullmatch(value):
        return Effect(Does.REFUSES, message=message_of(bare), value=text), True
    if not value:
        return Effect(Does.WORK if works else Does.SKIPS, value="return"), True
    if works or re.search(rb"[A-Za-z_]\w*(?:<.*>)?\(", value):
        return Effect(Does.WORK, value=text), True
    return Effect(Does.RETURNS, value=text), True


def _works(code: bytes) -> bool:
    """Whether code calls anything but printing and logging; what a text mentions is no call."""
    code = _CODE_STRING.sub(b'""', code)
    return any(
        match[1] not in _NO_WORK and not _PRINT.fullmatch(match[1]) and not _LOG.fullmatch(match[1])
        for pattern in (_CALL, _TEMPLATE_NAME)
        for match in pattern.finditer(code)
    )


def _staying(bare: bytes) -> Effect:
    """What code that goes on afterwards does."""
    if not _works(bare):
        if re.search(rb"\b(?:printf|puts)\b", bare):
            return Effect(Does.PRINTS, message=message_of(bare))
        if _LOG.search(bare) or _PRINT.search(bare):
            return Effect(Does.LOGS, message=message_of(bare))
    assigned = _ASSIGN.findall(b" " + bare)
    if assigned and len(assigned) == bare.count(b";"):
        value = re.sub(rb"\s+", b" ", assigned[0][1]).strip().decode("utf-8", "replace")
        return Effect(Does.ASSIGNS, value=value)
    return Effect(Does.WORK)


def _outermost(bare: bytes) -> bytes:
    """The code with everything in nested braces and in strings blanked, at unchanged offsets: only what always runs."""
    text = _CODE_STRING.sub(lambda m: b'"' + b" " * (len(m[0]) - 2) + b'"', bare)
    pieces: list[bytes] = []
    depth = start = 0
    for brace in _BRACE.finditer(text):
        if brace[0] == b"{":
            if depth == 0:
                pieces.append(text[start : brace.end()])
                start = brace.end()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                pieces.append(b" " * (brace.start() - start))
                start = brace.start()
    pieces.append(b" " * (len(text) - start) if depth else text[start:])
    return b"".join(pieces)
