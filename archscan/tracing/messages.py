"""Explains an error message: what it means, where scanned code raises it, and which gates can be the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archscan.catalog.messages import matching
from archscan.catalog.types import Catalog
from archscan.frontends.build.syntax import Block, Command, Node, parse
from archscan.model.facts import Facts, Origin
from archscan.model.finding import Consequence
from archscan.model.gate import Effect, Gate, Kind
from archscan.model.report import Report
from archscan.sources.kinds import is_cmake
from archscan.tracing.code import Code
from archscan.tracing.python_graph import Fn, PythonGraph

_WINDOW = 3  # words in a row that a template must share with the message to be looked at
_LEAST = 12  # literal characters that a template must share with the message
_MOST = 20  # gates named
_OF_PTX = (218, 222)  # errors of PTX that is compiled when it is loaded
_CAPTURE = 200
# Python: f-string fields, str.format, %-formats. C++: printf formats; streams (<<) end the literal anyway.
_PLACEHOLDER = re.compile(r"\$(?:ENV)?\{[^{}]*\}|\{[^{}]*\}|%[-+ #0-9.]*(?:l{0,2}|z|h)[sdiufxXgecpr]|%\(\w+\)[sdr]")
_LITERAL = rb"""[rRbBuUfF]{0,2}(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_LITERALS = re.compile(rb"%s(?:[ \t\r\n]*(?:<<[^;\"'\n]{0,80}<<)?[ \t\r\n]*%s)*" % (_LITERAL, _LITERAL))
_ONE = re.compile(_LITERAL)
# The kinds of gates that a family of messages is about, for messages that no scanned code raises itself.
_TOPICS = {
    "image": frozenset({Kind.BUILD_LIST, Kind.BUILD_FLAG, Kind.KEYWORD_LIST}),
    "suffix": frozenset({Kind.BUILD_LIST, Kind.KEYWORD_LIST}),
    "list": frozenset({Kind.KEYWORD_LIST, Kind.ALLOW_LIST}),
    "shared-memory": frozenset({Kind.RESOURCE}),
}


@dataclass(frozen=True, slots=True)
class Raised:
    """A place whose message template fits."""

    path: str
    line: int
    template: str
    function: str
    captured: tuple[str, ...] = ()  # what the placeholders stood for


@dataclass(frozen=True, slots=True)
class Cause:
    """A gate that can raise it; `exact` if what it names is what the message says."""

    gate: Gate
    line: int
    why: str
    exact: bool = False
    state: str = ""  # what it means for the target asked for: open | shut | unknown; "" = none was named


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known of a message."""

    message: str
    id: str = ""  # of the family; "" = none is known
    title: str = ""
    meaning: str = ""
    layers: tuple[str, ...] = ()
    advice: str = ""
    source: str = ""
    raised: tuple[Raised, ...] = ()
    causes: tuple[Cause, ...] = ()
    error: int = 0  # of CUDA; 0 = it has none that libraries lead to
    libraries: tuple[tuple[str, str], ...] = ()  # those that lead to it on the target: path, and why


def explain_message(text: str, catalog: Catalog, facts: Facts | None = None, code: Code | None = None) -> Explanation:
    """What a pasted message means; with the facts of a scan and its code also where it comes from."""
    message = " ".join(text.split())
    row = matching(catalog.messages, message) or {}
    raised = tuple(_raised(message, code)) if code else ()
    causes = tuple(_causes(message, raised, str(row.get("topic", "")), facts, code)) if facts else ()
    layers, error = row.get("layers", ()), row.get("error", 0)
    assert isinstance(layers, tuple) and isinstance(error, int)
    identifier, title, meaning = (str(row.get(key, "")) for key in ("id", "title", "meaning"))
    advice, source = str(row.get("advice", "")), str(row.get("source", ""))
    return Explanation(message, identifier, title, meaning, layers, advice, source, raised, causes, error)


def leading_to(error: int, report: Report) -> tuple[tuple[str, str], ...]:
    """The libraries that lead to an error of CUDA on the target, and why: what holds nothing, or PTX alone."""
    found = []
    for finding in report.findings:
        if finding.binary is not None and error:
            of_ptx = error in _OF_PTX and finding.consequence is Consequence.SLOW_FALLBACK
            if of_ptx or finding.binary.error == error:
                notes = [reason.text for reason in finding.risk.reasons[2:]] if of_ptx else []
                found.append((finding.path, "; ".join([finding.message, *notes])))
    return tuple(found)


def template_pattern(template: str) -> re.Pattern[str]:
    """A template as a pattern that captures what its placeholders stand for."""
    parts = [re.escape(" ".join(p.split())) for p in _PLACEHOLDER.split(" ".join(template.split()))]
    return re.compile(f"(.{{0,{_CAPTURE}}}?)".join(parts))


def _literal_length(template: str) -> int:
    return len(_PLACEHOLDER.sub("", template))


def _raised(message: str, code: Code) -> Iterator[Raised]:
    """The string literals of scanned code that can have produced the message, the most specific first."""
    windows = _windows(message)
    searched = [*code.python, *code.cmake, *(p for p in code.cuda if code.origins[p] is not Origin.VENDORED)]
    found: list[tuple[int, Raised]] = []
    for path in searched:
        data = code.peek(path)
        if any(window in data for window in windows):
            found += _in_file(message, path, data, windows, code)
    found.sort(key=lambda one: (-one[0], one[1].path, one[1].line))
    best = found[0][0] if found else 0
    yield from (one for length, one in found if length * 2 >= best)


def _windows(message: str) -> list[bytes]:
    words = message.split(" ")
    size = min(_WINDOW, len(words))
    windows = {" ".join(words[i : i + size]) for i in range(len(words) - size + 1)}
    return sorted(w.encode("utf-8", "backslashreplace") for w in windows if len(w) >= 8)


def _in_file(message: str, path: str, data: bytes, windows: list[bytes], code: Code) -> Iterator[tuple[int, Raised]]:
    starts = {data.rfind(b"\n", 0, max(0, at - 400)) + 1 for w in windows for at in _all(data, w)}
    seen: set[int] = set()
    for start in sorted(starts):
        for match in _LITERALS.finditer(data, start, start + 3000):
            if match.start() in seen or not any(w in match.group() for w in windows):
                continue
            seen.add(match.start())
            template = _text(match.group())
            fits = template_pattern(template).search(message)
            if fits and _literal_length(template) >= min(_LEAST, len(message)):
                line = data.count(b"\n", 0, match.start()) + 1
                yield (
                    _literal_length(template),
                    Raised(path, line, template, _function(code, path, line), fits.groups()),
                )


def _all(data: bytes, needle: bytes) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1)


def _text(literals: bytes) -> str:
    """Adjacent literals as one text; what is streamed between C++ literals is a placeholder."""
    parts: list[str] = []
    end = 0
    for match in _ONE.finditer(literals):
        if b"<<" in literals[end : match.start()]:
            parts.append("{}")
        raw = match.group().lstrip(b"rRbBuUfF")[1:-1].decode("utf-8", "backslashreplace")
        parts.append(raw.replace("\\n", " ").replace('\\"', '"').replace("\\'", "'"))
        end = match.end()
    return "".join(parts)


def _function(code: Code, path: str, line: int) -> str:
    if path.endswith(".py"):
        function = code.module(path).around(line)
        return function.name if function else ""
    if is_cmake(path):
        return _test_around(code.peek(path), line)
    definition = code.unit(path).around(line)
    return definition.name if definition else ""


def _test_around(data: bytes, line: int) -> str:
    """The innermost if() around a line of a CMake file, the one that refuses."""
    found = ""
    nodes = list(parse(data).body)
    while nodes:
        node = nodes.pop()
        if not isinstance(node, Block):
            continue
        for part in node.parts:
            lines = [data.count(b"\n", 0, inner) + 1 for inner in _span(part.body)]
            if lines and lines[0] <= line <= lines[1]:
                if node.name == "if":
                    at = data.count(b"\n", 0, part.head.start) + 1
                    text = data[part.head.start : part.head.end].decode("utf-8", "backslashreplace")
                    found = f"{' '.join(text.split())} at line {at}"
                nodes = list(part.body)
                break
    return found


def _span(body: tuple[Node, ...]) -> tuple[int, int] | tuple[()]:
    """Where a body begins and ends."""
    if not body:
        return ()
    first, last = body[0], body[-1]
    start = first.start if isinstance(first, Command) else first.parts[0].head.start
    while isinstance(last, Block):
        inner = last.parts[-1]
        if not inner.body:
            return start, inner.head.end
        last = inner.body[-1]
    return start, last.end


def _causes(message: str, raised: tuple[Raised, ...], topic: str, facts: Facts, code: Code | None) -> Iterable[Cause]:
    """Gates that say so themselves, gates around a raise, gates that call what raises; else those of the topic."""
    found: dict[tuple[str, int], Cause] = {}
    for cause in (*_saying(message, facts), *(_around(raised, facts, code) if code else ())):
        key = (cause.gate.path, cause.line)
        if key not in found or cause.exact > found[key].exact:
            found[key] = cause
    if not found:
        kinds = _TOPICS.get(topic, frozenset())
        for gate in _gates(facts):
            if gate.kind in kinds:
                found.setdefault((gate.path, gate.place.line), Cause(gate, gate.place.line, "decides what is built"))
    ordered = sorted(found.values(), key=lambda c: (not c.exact, c.gate.path, c.line))
    exact = [c for c in ordered if c.exact]
    return (exact or ordered)[:_MOST]


def _gates(facts: Facts) -> Iterator[Gate]:
    return (gate for file in facts.files if file.origin is not Origin.VENDORED for gate in file.gates)


def _saying(message: str, facts: Facts) -> Iterator[Cause]:
    """Gates with an arm or rest whose own message fits."""
    for gate in _gates(facts):
        for effect in (*(arm.effect for arm in gate.arms), gate.rest):
            captured = _fits(effect, message)
            if captured is not None:
                yield Cause(gate, gate.place.line, "raises it", _names_it(gate, captured))
                break


def _fits(effect: Effect, message: str) -> tuple[str, ...] | None:
    if not effect.message or _literal_length(effect.message) < _LEAST:
        return None
    fits = template_pattern(effect.message.strip("\"'")).search(message)
    return fits.groups() if fits else None


def _names_it(gate: Gate, captured: tuple[str, ...]) -> bool:
    """Whether the gate holds, word for word, what the message shows in a placeholder: `[9, 10]`."""
    shown = {"".join(c.split()) for c in captured if len(c.strip()) > 1}
    held = ["".join(text.split()) for arm in gate.arms for text in (arm.condition, arm.effect.value or "") if text]
    return any(_is_whole(s, h) for s in shown for h in held)


def _is_whole(shown: str, held: str) -> bool:
    return shown == held or (shown[:1] in "[({" and shown in held)


def _around(raised: tuple[Raised, ...], facts: Facts, code: Code) -> Iterator[Cause]:
    by_path = {f.path: f.gates for f in facts.files if f.gates}
    graph = PythonGraph(code)
    for place in raised:
        function = code.module(place.path).by_name.get(place.function) if place.path.endswith(".py") else None
        for gate in by_path.get(place.path, ()):
            bodies = [arm.body for arm in gate.arms if arm.body]
            if any(b.line <= place.line <= b.end_line for b in bodies):
                yield Cause(gate, gate.place.line, "raises it")
        if function is None or not place.function:
            continue
        for caller, call in graph.callers(Fn(place.path, place.function)):
            for gate in by_path.get(caller.path, ()):
                if call.line <= gate.place.line <= call.line + 3:
                    why = f"calls {function.name.rpartition('.')[2]}, which raises it"
                    yield Cause(gate, gate.place.line, why, _names_it(gate, place.captured))
