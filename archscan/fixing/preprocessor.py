"""Proposals for preprocessor conditions: bounds, equality lists, feature macros; on bytes, layout kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from archscan.fixing.admission import Admission, Reach, preprocessor_test
from archscan.fixing.proposal import Proposal, distinct, replaced
from archscan.model.finding import Edit
from archscan.model.gate import Arm

_BLANK = rb"(?:[ \t]|\\\r?\n|/\*.*?\*/)*"
_NUMBER = rb"(\d[\d']*)[uUlL]*"
_COMPARE = re.compile(
    rb"(__CUDA_ARCH(?:_SPECIFIC_|_FAMILY_SPECIFIC_)?__)" + _BLANK + rb"(<=|>=|==|!=|<|>)" + _BLANK + _NUMBER
)
_DIRECTIVE = re.compile(rb"(?:#|%:)" + _BLANK + rb"(ifdef|ifndef|elifdef|elifndef|if|elif)\b" + _BLANK, re.DOTALL)
_FEATURE = re.compile(
    rb"(?:defined" + _BLANK + rb"\(?" + _BLANK + rb")?__CUDA_ARCH_FEAT_SM(\d+)_ALL" + _BLANK + rb"\)?"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A directive's condition in its file: the keyword, and the expression without its trailing comment."""

    path: str
    data: bytes
    keyword: int  # where `if`, `elif`, `ifdef` begins
    word: bytes
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.data[self.start : self.end].decode("utf-8", "surrogateescape")

    def before(self, position: int) -> bytes:
        """The condition up to `position`, without trailing blanks and continuations."""
        return self.data[self.start : position].rstrip(b" \t\r\n\\")

    def after(self, position: int) -> bytes:
        """The condition from `position`, without leading blanks and continuations."""
        return self.data[position : self.end].lstrip(b" \t\r\n\\")


def open_proposals(path: str, data: bytes, arm: Arm, admission: Admission) -> Iterator[Proposal]:
    """Ways to make the arm's condition true on the admission's targets as well."""
    condition = condition_of(path, data, arm)
    if condition is None:
        return
    if condition.word.endswith(b"def"):
        yield from _opened_ifdef(condition, admission)
    else:
        yield from distinct(_opened(condition, admission))


def close_proposals(path: str, data: bytes, arm: Arm, admission: Admission) -> Iterator[Proposal]:
    """Ways to make the arm's condition false on the admission's targets."""
    condition = condition_of(path, data, arm)
    test = preprocessor_test(admission.universe, admission.mask)
    if condition is None or test is None:
        return
    end, what = condition.end, "narrow the condition"
    if condition.word in (b"ifdef", b"elifdef"):
        text = f"{_plain(condition.word)} defined({condition.text}) && {_negated(test)}"
        yield replaced(path, condition.keyword, end, text, what)
    elif condition.word in (b"if", b"elif"):
        for match in _naming(condition, b"==", admission):
            yield from _dropped(condition, match, (b"||", b"or"), "drop it from the list")
        yield replaced(path, condition.start, end, f"{_grouped(condition.text)} && {_negated(test)}", what)


def condition_of(path: str, data: bytes, arm: Arm) -> Condition | None:
    """The condition that the arm's place lies in, or None if no directive stands there."""
    line = data.rfind(b"\n", 0, arm.place.start) + 1
    while line > 1 and data[:line].rstrip(b"\r\n").endswith(b"\\"):  # the place may lie on a continued line
        line = data.rfind(b"\n", 0, line - 1) + 1
    match = _DIRECTIVE.search(data, line, max(arm.place.end, arm.place.start + 1) + 64)
    if match is None or data[line : match.start()].strip(b" \t\xef\xbb\xbf"):
        return None
    return Condition(path, data, match.start(1), match.group(1), match.end(), _logical_end(data, match.end()))


def _opened(condition: Condition, admission: Admission) -> Iterator[Proposal]:
    compares = list(_COMPARE.finditer(condition.data, condition.start, condition.end))
    if admission.reach is Reach.WIDEN:
        for match in compares:
            if match.group(2) in (b"<", b"<="):
                yield from _dropped(condition, match, (b"&&", b"and"), "drop the upper bound")
        return
    for match in _naming(condition, b"!=", admission):
        yield from _dropped(condition, match, (b"&&", b"and"), "drop the exception")
    for match in compares:
        yield from _moved_bound(condition.path, match, admission)
    test = preprocessor_test(admission.universe, admission.mask)
    if test is None:
        return
    for match in reversed([*compares, *_FEATURE.finditer(condition.data, condition.start, condition.end)]):
        yield _joined(condition, match, test)
    text = f"{_grouped(condition.text)} || {test}"
    yield replaced(condition.path, condition.start, condition.end, text, "admit it beside the condition")


def _naming(condition: Condition, operator: bytes, admission: Admission) -> list[re.Match[bytes]]:
    """The comparisons that name one of the admission's targets alone: `__CUDA_ARCH__ != 1200`."""
    numbers = {sm * 10 for sm in admission.sms}
    compares = _COMPARE.finditer(condition.data, condition.start, condition.end)
    return [m for m in compares if m[1] == b"__CUDA_ARCH__" and m[2] == operator and _value(m) in numbers]


def _moved_bound(path: str, match: re.Match[bytes], admission: Admission) -> Iterator[Proposal]:
    """`< 1200` -> `<= 1200` (exact) or `< 1300` (family)."""
    value = _value(match)
    top = admission.sms[-1] * 10 if admission.sms else 0
    if match.group(2) not in (b"<", b"<=") or value > top:
        return
    if admission.reach is Reach.EXACT:
        yield Proposal("raise the bound", _respelt(path, match, "<=", top))
    else:
        yield Proposal("raise the bound to the family", _respelt(path, match, "<", top // 100 * 100 + 100))


def _respelt(path: str, match: re.Match[bytes], operator: str, value: int) -> tuple[Edit, ...]:
    edits = []
    if match.group(2).decode() != operator:
        edits.append(Edit(path, match.start(2), match.end(2), operator))
    if _value(match) != value:
        edits.append(Edit(path, match.start(3), match.end(3), str(value)))
    return tuple(edits)


def _joined(condition: Condition, match: re.Match[bytes], test: str) -> Proposal:
    """`A == 900` -> `A == 900 || A == 1200`, with parentheses only where a neighbour is `&&` or `!`."""
    before, after = condition.before(match.start()), condition.after(match.end())
    inside = before.endswith(b"(") and after.startswith(b")")
    tight = before.endswith((b"&&", b"and", b"!", b"not")) or after.startswith((b"&&", b"and"))
    text = f"{match.group().decode('utf-8', 'surrogateescape')} || {test}"
    text = f"({text})" if tight and not inside else text
    return replaced(condition.path, match.start(), match.end(), text, "admit it in the list")


def _dropped(condition: Condition, match: re.Match[bytes], words: tuple[bytes, ...], what: str) -> Iterator[Proposal]:
    """`X && (A < 1200)` -> `X`, with the word that joins them among `words`."""
    low, high = match.start(), match.end()
    while condition.before(low).endswith(b"(") and condition.after(high).startswith(b")"):
        low = condition.start + len(condition.before(low)) - 1
        high = condition.end - len(condition.after(high)) + 1
    for word in words:
        left, right = condition.before(low), condition.after(high)
        if left.endswith(word):
            kept = left[: -len(word)].rstrip(b" \t\r\n\\")
            yield replaced(condition.path, condition.start + len(kept), high, "", what)
        elif right.startswith(word):
            kept_from = condition.end - len(right[len(word) :].lstrip(b" \t\r\n\\"))
            yield replaced(condition.path, low, kept_from, "", what)


def _opened_ifdef(condition: Condition, admission: Admission) -> Iterator[Proposal]:
    test = preprocessor_test(admission.universe, admission.mask)
    if test is None or admission.reach is Reach.WIDEN or condition.word.endswith(b"ndef"):
        return
    text = f"{_plain(condition.word)} defined({condition.text}) || {test}"
    yield replaced(condition.path, condition.keyword, condition.end, text, "admit it beside the macro")


def _value(match: re.Match[bytes]) -> int:
    return int(match.group(3).replace(b"'", b""))


def _plain(word: bytes) -> str:
    return "elif" if word.startswith(b"elif") else "if"


def _negated(test: str) -> str:
    match = re.fullmatch(r"__CUDA_ARCH__ == (\d+)", test)
    if match:
        return f"__CUDA_ARCH__ != {match.group(1)}"
    return f"!{test}" if test.startswith("(") else f"!({test})"


def _grouped(text: str) -> str:
    """The condition in parentheses, unless one pair holds all of it already."""
    stripped = text.strip()
    if stripped.startswith("("):
        depth = 0
        for position, character in enumerate(stripped):
            depth += (character == "(") - (character == ")")
            if depth == 0:
                if position == len(stripped) - 1:
                    return text
                break
    return f"({text})"


def _logical_end(data: bytes, position: int) -> int:
    """The end of the condition: before a trailing comment and blanks, over continued lines."""
    end = position
    while position < len(data):
        byte = data[position : position + 1]
        if byte == b"\\" and data[position + 1 : position + 3].startswith((b"\n", b"\r\n")):
            position = data.index(b"\n", position) + 1
        elif byte in (b"\n", b"\r") or data.startswith(b"//", position):
            break
        elif data.startswith(b"/*", position):
            close = data.find(b"*/", position)
            position = len(data) if close < 0 else close + 2
        else:
            position += 1
            if not byte.isspace():
                end = position
    return end
