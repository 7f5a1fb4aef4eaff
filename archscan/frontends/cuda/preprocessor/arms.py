"""What the arms of a gate are and do, worked out from the excerpt of the file that the index has kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

from archscan.frontends.cuda.blocks import effect, stripped
from archscan.frontends.cuda.constexpr import with_doubt
from archscan.frontends.cuda.inventory import Named, named
from archscan.frontends.cuda.lines import Lines
from archscan.frontends.cuda.preprocessor import bodies
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.frontends.cuda.preprocessor.index import LINES_ABOVE
from archscan.frontends.cuda.preprocessor.walk import Stop
from archscan.model.gate import Does, Effect, FeatureUse, Place

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*\*[^\n]*", re.S | re.M)
_BEFORE_ELSE = re.compile(rb"(?<=[};\s])else\s*\Z")
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.M)
_LINES_INSIDE = 4
_REPEATED = 1024  # bytes: longer bodies are hardly ever equal
_CONJUNCT = re.compile(r"&&|\band\b|[()]")


class Recogniser(Protocol):
    """Finds features in code; see archscan.catalog.recognise."""

    def in_code(self, data: bytes) -> tuple[FeatureUse, ...]: ...

    def in_words(self, text: str) -> tuple[str, ...]: ...


IsOwn = Callable[[str], bool]  # whether scanned code defines what a file calls by a name


def nobody_defines(name: str) -> bool:
    """False: every name is the library's."""
    return False


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """What a stretch of code does."""

    place: Place
    digest: str
    effect: Effect
    features: tuple[FeatureUse, ...]
    calls: tuple[str, ...]
    defines: tuple[str, ...]  # macros that it defines
    named: tuple[Named, ...] | None = None  # everything it calls and every instruction; None = not looked
    is_before_else: bool = False  # it ends in `else`: what follows the conditional is what everybody else does
    is_named_only: bool = False  # no function, call or instruction: types are named, which is no use of them


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """What does not depend on macros: where an arm stands and what its body does."""

    place: Place
    body: BodyFacts


def arm_facts(
    directive: Directive,
    next_: Stop,
    lines: Lines,
    recogniser: Recogniser | None,
    look: bool = True,
    is_own: IsOwn = nobody_defines,
) -> ArmFacts:
    """The facts of the arm that begins with a directive and whose body ends before the next one."""
    start = min(lines.line_end(directive.end) + 1, next_.offset)
    end = max(lines.line_start(next_.offset) - 1, start)
    first = directive.end_line + 1
    body = lines.placed(start, end, first, max(next_.line - 1, first))
    place = lines.placed(directive.start, directive.end, directive.line, directive.end_line)
    if not look:
        return ArmFacts(place, BodyFacts(body, f"at {start}", Effect(Does.WORK, body.line), (), (), ()))
    return ArmFacts(place, body_facts(body, lines, recogniser, is_own))


def body_facts(place: Place, lines: Lines, recogniser: Recogniser | None, is_own: IsOwn = nobody_defines) -> BodyFacts:
    """The facts of the code at a place; without a recogniser no features and calls."""
    raw = lines.bytes(place.start, place.end)
    if recogniser is None:
        outline = _outline(raw) if len(raw) < _REPEATED else _outlined(raw)
        return BodyFacts(place, outline.digest, _below(outline.effect, place.line - 1), (), (), outline.defines)
    code = stripped(raw)
    called = bodies.calls(code)
    return BodyFacts(
        place=place,
        digest=bodies.digest(code),
        effect=effect(code, place.line),
        features=tuple(_moved(use, place.line - 1) for use in _features(raw, called, recogniser, is_own)),
        calls=called,
        defines=_defines(code),
        named=tuple(one._replace(line=one.line + place.line - 1) for one in named(raw)),
        is_named_only=b"(" not in code and b"{" not in code,
        is_before_else=_BEFORE_ELSE.search(code) is not None,
    )


def _features(raw: bytes, called: Iterable[str], recogniser: Recogniser, is_own: IsOwn) -> tuple[FeatureUse, ...]:
    """The features in a body; one that a function of its own, or a scanned one, is named after is none."""
    uses = recogniser.in_code(raw)
    own = frozenset(n.encode() for n in called if recogniser.in_code(f"{n}();".encode()) and is_own(n)) if uses else ()
    strange = bodies.with_strange_names(raw, frozenset(own)) if uses else raw
    return with_doubt(uses if strange is raw else recogniser.in_code(strange), raw)


class _Outline(NamedTuple):
    """What a body does, wherever it stands: its first line is 1."""

    digest: str
    effect: Effect
    defines: tuple[str, ...]


def _outlined(raw: bytes) -> _Outline:
    if bodies.is_plainly_work(raw):
        return _Outline(bodies.digest(raw), Effect(Does.WORK, 1), ())
    code = stripped(raw)
    return _Outline(bodies.digest(code), effect(code, 1), _defines(code))


_outline = lru_cache(maxsize=8192)(_outlined)  # machine-written kernels repeat their bodies


def _defines(code: bytes) -> tuple[str, ...]:
    return tuple(dict.fromkeys(m[1].decode() for m in _DEFINE.finditer(code))) if b"define" in code else ()


def _below(found: Effect, by: int) -> Effect:
    """An effect that many lines further down; none has no line."""
    return Effect(found.does, found.line + by, found.message, found.value) if found.line else found


def _moved(use: FeatureUse, by: int) -> FeatureUse:
    return FeatureUse(use.feature, use.line + by, use.via, use.path, use.confidence)


def near(opener: Directive, first_end: int, lines: Lines) -> str:
    """The comments just above a conditional, on its line and at the head of its first body."""
    line = lines.line(opener.start)
    above = lines.start(max(1, line - LINES_ABOVE))
    below = min(lines.start(lines.line(opener.end) + 1 + _LINES_INSIDE), first_end)
    found = (
        m[0].decode("utf-8", "replace").strip() for m in _COMMENT.finditer(lines.bytes(above, max(below, opener.end)))
    )
    return "\n".join(comment for comment in found if comment)


def conjuncts(directive: Directive, lines: Lines) -> tuple[tuple[Place, str], ...]:
    """The parts of `a && b && c` with their places; empty where there is only one, or the layout hides them."""
    if "&&" not in directive.text and " and " not in directive.text:
        return ()
    raw = lines.bytes(directive.start, directive.end).decode("latin-1")
    begin = raw.find(directive.name) + len(directive.name)
    if "\\" in raw or "/*" in raw or "//" in raw or "'" in raw or '"' in raw:
        return ()
    begin, end = _unwrapped(raw, begin, len(raw))
    parts: list[tuple[int, int]] = []
    depth, start = 0, begin
    for match in _CONJUNCT.finditer(raw, begin, end):
        depth += (match[0] == "(") - (match[0] == ")")
        if depth == 0 and match[0] in ("&&", "and"):
            parts.append((start, match.start()))
            start = match.end()
    parts.append((start, end))
    if len(parts) < 2 or "||" in _top_level(raw[begin:end]):
        return ()
    return tuple(_trimmed(raw, a, b, directive.start, lines) for a, b in parts)


def _unwrapped(raw: str, begin: int, end: int) -> tuple[int, int]:
    """The range without blanks and without parentheses that enclose all of it."""
    while True:
        text = raw[begin:end]
        begin += len(text) - len(text.lstrip())
        end -= len(text) - len(text.rstrip())
        if raw[begin : begin + 1] != "(" or _closing(raw, begin) != end - 1:
            return begin, end
        begin, end = begin + 1, end - 1


def _closing(raw: str, at: int) -> int:
    depth = 0
    for position in range(at, len(raw)):
        depth += (raw[position] == "(") - (raw[position] == ")")
        if depth == 0:
            return position
    return -1


def _top_level(text: str) -> str:
    """The characters outside every parenthesis."""
    kept, depth = [], 0
    for char in text:
        depth += char == "("
        if depth == 0:
            kept.append(char)
        depth -= char == ")"
    return "".join(kept)


def _trimmed(raw: str, begin: int, end: int, offset: int, lines: Lines) -> tuple[Place, str]:
    text = raw[begin:end]
    begin += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    return lines.place(offset + begin, offset + end), raw[begin:end]
