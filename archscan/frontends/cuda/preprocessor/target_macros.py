"""NV_IF_TARGET and its relatives from <nv/target>: conditionals on the target that are written as macro calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Begins with letters, not with an assertion: such a search skips to the next of them
_CALL = re.compile(rb"(NV_(?:IF_TARGET|IF_ELSE_TARGET|DISPATCH_TARGET))\s*\(")
_IN_WORD = re.compile(rb"\w")
_STEP = re.compile(
    rb'(?P<skip>"[^"\\\n]*(?:\\.[^"\\\n]*)*"|(?<!\w)\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\'|//[^\n]*|/\*.*?\*/)|(?P<mark>[(),])',
    re.S,
)
_QUERY = re.compile(
    r"NV_(?:(PROVIDES_SM|IS_EXACTLY_SM|HAS_FEATURE_SM)_(\d+)([af]?)|(IS_DEVICE|IS_HOST|ANY_TARGET|NO_TARGET))"
)
_CONSTANT = {
    "IS_DEVICE": "defined(__CUDA_ARCH__)",
    "IS_HOST": "!defined(__CUDA_ARCH__)",
    "ANY_TARGET": "1",
    "NO_TARGET": "0",
}


@dataclass(frozen=True, slots=True)
class TargetArm:
    """One condition with its statements, as byte ranges; the final else of NV_IF_TARGET has an empty condition."""

    text: str
    start: int
    end: int
    body_start: int
    body_end: int


@dataclass(frozen=True, slots=True)
class TargetCall:
    """One call of such a macro. `line` is that of its name."""

    start: int
    end: int
    line: int
    arms: tuple[TargetArm, ...]
    unread: str = ""  # why its arms could not be told apart


def target_calls(data: bytes) -> tuple[TargetCall, ...]:
    """Every call in the file outside of comments and of the macros' own definitions."""
    return tuple(_calls(data))


def _calls(data: bytes) -> Iterator[TargetCall]:
    counted, line = 0, 1
    for match in _CALL.finditer(data):
        line_start = data.rfind(b"\n", 0, match.start()) + 1
        before = data[line_start : match.start()]
        if (
            _IN_WORD.match(before[-1:])
            or b"//" in before
            or before.lstrip().startswith((b"*", b"/*"))
            or re.search(rb"#\s*(?:define|undef)\s+$", before)
        ):
            continue
        line += data.count(b"\n", counted, match.start())
        counted = match.start()
        arguments, end = _arguments(data, match.end())
        if arguments is None:
            yield TargetCall(match.start(), match.end(), line, (), "the call is not closed")
            continue
        yield _call(data, match[1], match.start(), end, line, arguments)


def _arguments(data: bytes, position: int) -> tuple[list[tuple[int, int]] | None, int]:
    """The ranges between the top-level commas of a call, and the offset behind its closing parenthesis."""
    found: list[tuple[int, int]] = []
    depth, start = 1, position
    for match in _STEP.finditer(data, position):
        mark = match["mark"]
        if mark == b"(":
            depth += 1
        elif mark == b")":
            depth -= 1
            if depth == 0:
                return [*found, (start, match.start())], match.end()
        elif mark == b"," and depth == 1:
            found.append((start, match.start()))
            start = match.end()
    return None, position


def _call(data: bytes, name: bytes, start: int, end: int, line: int, arguments: list[tuple[int, int]]) -> TargetCall:
    if name == b"NV_DISPATCH_TARGET":
        pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    else:
        pairs = [(arguments[0], arguments[1])] if len(arguments) > 1 else []
    arms = [_arm(data, condition, body) for condition, body in pairs]
    if name != b"NV_DISPATCH_TARGET" and len(arguments) > 2:
        other = _trimmed(data, arguments[2])
        arms.append(TargetArm("", other[0], other[0], *_unwrapped(data, other)))
    unread = ""
    if not arms:
        unread = "the call has too few arguments"
    elif bad := [arm.text for arm in arms if arm.text and query(arm.text) is None]:
        unread = f"{bad[0]} is not a query of <nv/target>"
    return TargetCall(start, end, line, tuple(arms), unread)


def _arm(data: bytes, condition: tuple[int, int], body: tuple[int, int]) -> TargetArm:
    start, end = _trimmed(data, condition)
    text = " ".join(data[start:end].decode("utf-8", "replace").split())
    return TargetArm(text, start, end, *_unwrapped(data, _trimmed(data, body)))


def _trimmed(data: bytes, piece: tuple[int, int]) -> tuple[int, int]:
    """The range without blanks, continuations and comments at its ends."""
    start, end = piece
    lead = re.compile(rb"(?:\s|\\\n|//[^\n]*\n|/\*.*?\*/)+", re.S).match(data, start, end)
    start = lead.end() if lead else start
    while start < end and data[end - 1] in b" \t\r\n\\":
        end -= 1
    return start, end


def _unwrapped(data: bytes, piece: tuple[int, int]) -> tuple[int, int]:
    """The range inside the parentheses that statement arguments are written in."""
    start, end = piece
    if data[start : start + 1] == b"(" and data[end - 1 : end] == b")":
        return start + 1, end - 1
    return piece


def query(text: str) -> str | None:
    """A query such as NV_PROVIDES_SM_90 as a condition on compiler macros; None if it is none."""
    match = _QUERY.fullmatch(text.strip())
    if match is None:
        return None
    if match[4]:
        return _CONSTANT[match[4]]
    kind, number, suffix = match[1], int(match[2]), match[3]
    arch = number * 10
    if kind == "PROVIDES_SM":
        return f"(defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= {arch})"
    if kind == "IS_EXACTLY_SM":
        return f"(defined(__CUDA_ARCH__) && __CUDA_ARCH__ == {arch})"
    if suffix == "f":
        family = "__CUDA_ARCH_FAMILY_SPECIFIC__"
        return f"(defined({family}) && {family} >= {arch} && {family} < {(number // 10 + 1) * 100})"
    return f"defined(__CUDA_ARCH_FEAT_SM{number}_ALL)"
