"""How values are said: targets in few characters, verdicts in one line, effects in plain words, text made harmless."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

from archscan.model.finding import Finding, Problem
from archscan.model.gate import NOTHING, Does, Effect, Layer, Place
from archscan.model.target import Selection, Universe

# C0 without tab, DEL, C1, line and paragraph separators, zero-width and bidirectional controls, lone surrogates, BOM:
# what can move the cursor, reorder what is read, or end a line of a line-based format.
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")


def visible(text: str) -> str:
    """`text` with every character that could steer a terminal or a reader written as an escape."""
    return CONTROL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, as Python's file system names carry it
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible_lines(text: str) -> str:
    """Text of several lines, made harmless line by line, closed by a newline."""
    return "\n".join(visible(line) for line in text.rstrip("\n").split("\n")) + "\n"


def wrapped(text: str, width: int) -> list[str]:
    """The lines of `text`, long ones broken at blanks under their own indent."""
    lines: list[str] = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + (2 if line.lstrip().startswith("- ") else 0))
        broken = textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines += broken or [""]
    return lines


def one_line(text: str) -> str:
    """`text` on one line, blanks joined, control characters escaped."""
    return visible(" ".join(text.split()))


def cells(text: str) -> int:
    """How many terminal columns `text` takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def compact(names: Iterable[str], universe: Universe) -> str:
    """Targets in few characters: `80-90, 100a, host`. A bare number means every variant of that SM."""
    chosen = set(names)
    plain = {t.name for t in universe.targets if not t.suffix}
    suffixed = {t.sm for t in universe.targets if t.suffix}
    left_out = sum(t.name in chosen and t.sm in suffixed for t in universe.targets)  # whose other variants are not in
    if chosen < plain and left_out > _PLAIN and "host" not in chosen:
        return ", ".join(_runs([t.sm for t in universe.targets if t.name in chosen], universe)) + ", plain only"
    parts: list[str] = []
    run: list[int] = []
    for sm in sorted({t.sm for t in universe.targets if not t.is_host}):
        variants = universe.variants(sm)
        taken = [t for t in variants if t.name in chosen]
        if len(taken) == len(variants):
            run.append(sm)
            continue
        parts += _range(run)
        run = []
        parts += [f"{sm}" + "/".join(t.suffix or "(plain)" for t in taken)] if taken else []
    parts += _range(run)
    return ", ".join([*parts, *(["host"] if "host" in chosen else [])])


_PLAIN = 2  # from more on it is said once that only plain targets are meant


def _runs(sms: Sequence[int], universe: Universe) -> list[str]:
    """These SMs with neighbours joined."""
    parts: list[str] = []
    run: list[int] = []
    for sm in sorted({t.sm for t in universe.targets if not t.is_host}):
        if sm in sms:
            run.append(sm)
        else:
            parts += _range(run)
            run = []
    return [*parts, *_range(run)]


def _range(run: Sequence[int]) -> list[str]:
    return [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(sm) for sm in run]


def targets(names: Sequence[str]) -> str:
    """`sm_120, 120a, 120f`: the prefix once."""
    return ", ".join([*names[:1], *(name.removeprefix("sm_") for name in names[1:])])


def body_lines(place: Place, body: Place | None) -> range:
    """The lines of guarded code: without the directive it begins behind, and the one at whose start it ends."""
    if body is None:
        return range(0)
    directive = body.end_column == 1 and body.end_line > body.line
    first = body.line + 1 if directive and body.line == place.end_line else body.line
    return range(first, body.end_line + (0 if directive else 1))


def verdict(finding: Finding) -> str:
    """The verdict of the guarded arm in one line: `no on sm_120, 120f; yes on sm_120a`."""
    parts = []
    for word in ("no", "yes", "unknown"):
        names = tuple(variant for variant, answer in finding.verdict if answer == word)
        if names:
            parts.append(f"{word} on {targets(names)}")
    return "; ".join(parts)


def near(source: str, finding: Finding) -> str:
    """A source that is a place in the code, in few words: nothing if it is the finding's own, `line 7` in its file."""
    if source == finding.path:
        return ""
    path, colon, line = source.rpartition(":")
    if not colon or not line.isdigit() or " " in path:
        return source
    if path == finding.path:
        return "" if int(line) == finding.place.line else f"line {line}"
    return source


def landing(finding: Finding, selection: Selection) -> Effect:
    """What the target gets today: the effect of the arm it takes, else what happens when no arm is taken."""
    for arm in finding.gate.arms:
        if arm.assumed.yes & selection.mask:
            return arm.effect
    return finding.gate.rest or NOTHING


_EFFECTS = {
    Does.NOTHING: "nothing instead",
    Does.WORK: "other code runs instead",
    Does.DEFINES: "other definitions instead",
    Does.PRINTS: "a printed message instead",
    Does.LOGS: "a warning is logged instead",
    Does.TRAPS: "traps instead",
    Does.ERRORS: "a compile-time error instead",
    Does.RAISES: "raises instead",
    Does.ASSERTS: "an assertion fails instead",
    Does.REFUSES: "refused instead",
    Does.RETURNS: "returns another value instead",
    Does.ASSIGNS: "another value is taken instead",
    Does.SKIPS: "skipped",
}


def gets(effect: Effect) -> str:
    """What an effect means to who lands there: `raises instead: "..."`."""
    words = _EFFECTS[effect.does]
    if effect.message:
        return f'{words}: "{shortened(one_line(effect.message), 90)}"'
    if effect.value:
        return f"{words}: {shortened(one_line(effect.value), 60)}"
    return words


def guarded(finding: Finding, selection: Selection) -> str:
    """What happens to the guarded code: dropped before it is compiled, not reached, or reached by the target."""
    if finding.problem is not Problem.EXCLUDED and any(answer != "no" for _, answer in finding.verdict):
        return f"reached by {selection.name}"
    return "dropped" if finding.gate.layer is Layer.PREPROCESSOR else "not taken"


def few(names: Sequence[str], most: int) -> str:
    """The first names, whole, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(one_line(name) for name in names[:most]) + more


def shortened(text: str, width: int) -> str:
    """`text`, cut with an ellipsis if it is longer than `width`."""
    return text if len(text) <= width else text[: max(width - 1, 1)] + "…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 gate`, `2,317 gates`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: int) -> str:
    """Bytes for people: `48.1 MB`."""
    if number < 1000:
        return f"{number} bytes"
    for unit in ("kB", "MB", "GB"):
        number_in_unit = number / {"kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
        if number_in_unit < 1000 or unit == "GB":
            return f"{number_in_unit:.1f} {unit}"
    raise AssertionError("unreachable")
