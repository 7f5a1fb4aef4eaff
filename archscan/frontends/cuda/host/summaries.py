"""Says what a piece of C++ does from its bytes: refuses, works, picks a value; and what it calls and uses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from archscan.analysis.effects import Outcome, numbers_returned, outcome_of
from archscan.catalog.effects import effects
from archscan.frontends.cuda.blocks import LONGEST, block_of, outcome, stripped, without_break
from archscan.frontends.cuda.host.syntax import BlockEffect
from archscan.model.gate import NOTHING, Effect, FeatureUse, Place

_CODE_STRING = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')
_CALL = re.compile(rb"(?<![.>\w])([A-Za-z_]\w*)\s*(?:<[\w:,\s<>*&+\-.]*>)?\s*(?:\(|<<<)")
_TEMPLATE_NAME = re.compile(rb"[<,]\s*(?:\w+::)*([A-Z]\w*)")
_LAUNCHED = re.compile(
    rb"Launch(?:Cooperative)?Kernel(?:ExC?|EX)?\s*\((?:\s*&?[\w.>-]+\s*,)?\s*(?:\([^()]*\)\s*)?&?(?:\w+::)*(\w+)"
)
_LEAVES = re.compile(
    rb"\b(?:return|throw|continue|break|goto)\b|(?i:trap|brkpt|assert|check|error|fail|fatal|panic|abort|exit|terminate|unreachable)"
    rb"|(?i:invalid_?control|not_?implemented)"
)
_LEAVING = (  # one of these is in whatever the pattern finds, whose search costs a hundred times as much
    *(b"return", b"throw", b"continue", b"break", b"goto", b"trap", b"brkpt", b"assert", b"check", b"error", b"fail"),
    *(b"fatal", b"panic", b"abort", b"exit", b"terminate", b"unreachable", b"control", b"implemented"),
)
_RETURN = re.compile(rb"\breturn\b\s*([-+]?\.?\d)?")
_BRACE = re.compile(rb"[{}]")
_KEYWORDS = frozenset(
    b"if for while switch return sizeof throw catch else case do and or not alignof decltype static_cast const_cast "
    b"reinterpret_cast dynamic_cast constexpr noexcept template typename new delete asm volatile static_assert "
    b"defined".split()
)


def called_names(code: bytes) -> tuple[str, ...]:
    """The names called or launched in the code, then the types that template arguments select, in order, once each."""
    found: dict[bytes, None] = dict.fromkeys(m for m in _CALL.findall(code) if m not in _KEYWORDS)
    if b"LaunchKernel" in code or b"LaunchCooperativeKernel" in code:
        found.update(dict.fromkeys(_LAUNCHED.findall(code)))
    found.update(dict.fromkeys(_TEMPLATE_NAME.findall(code)))
    return tuple(name.decode("utf-8", "replace") for name in found)


def _bare(code: bytes) -> bytes:
    """The code without comments and without the braces around all of it."""
    text = stripped(code).strip()
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


def _may_leave(code: bytes) -> bool:
    lower = code.lower()
    return any(word in lower for word in _LEAVING) and _LEAVES.search(code) is not None


@dataclass(frozen=True)
class EffectClassifier:
    """Summaries of code; `features` finds the features in bytes, lines counted from 1."""

    features: Callable[[bytes], tuple[FeatureUse, ...]]

    def outline(self, code: bytes) -> BlockEffect:
        """Only how the code ends: for branches that do not ask for the architecture."""
        done = outcome(stripped(code[:LONGEST]), 1) if _may_leave(code) else Outcome(NOTHING, False)
        return BlockEffect(effect=done.effect, exits=done.ends)

    def effect(self, code: bytes, line: int) -> Effect:
        """Only what the code does, which begins at a line."""
        return outcome(stripped(code[:LONGEST]), line).effect

    def numbers(self, code: bytes) -> int:
        """How many returns a body has that asks and returns numbers, and does nothing else; 0 for any other one."""
        if len(code) > LONGEST or not any(_RETURN.findall(code)):
            return 0
        plain = stripped(code)
        return numbers_returned(block_of(plain, 1)) if all(_RETURN.findall(plain)) else 0

    def summary(self, code: bytes, place: Place, case: bool = False) -> BlockEffect:
        """What the code does, with its features at lines of the file; a `break` ends a case, and is no part of it."""
        code = code[:LONGEST]
        plain = stripped(code)
        bare = _bare(plain)
        if not bare:
            return BlockEffect(place=None)
        block = block_of(plain, place.line)
        done = outcome_of(without_break(block) if case else block, effects())
        return BlockEffect(
            place=place,
            effect=done.effect,
            digest=hashlib.sha1(re.sub(rb"\s+", b"", bare), usedforsecurity=False).hexdigest()[:16],
            features=tuple(replace(u, line=u.line + place.line - 1) for u in self.features(code)),
            calls=called_names(bare),
            exits=done.ends or (case and without_break(block) != block),
        )
