"""Reads Dockerfiles: ENV, ARG and RUN, and the toolkit that the base image brings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from archscan.frontends.build.archlists import ArchList
from archscan.frontends.build.reading import Given, Reading, finished, of_variable
from archscan.frontends.build.shell import Script, script_at
from archscan.frontends.build.traced import Ways, combined, known, unknown, written

_INSTRUCTION = re.compile(rb"[ \t]*([A-Za-z]+)[ \t]+")
_HEREDOC = re.compile(rb"<<-?[\"']?(\w+)[\"']?")
_TOOLKIT = re.compile(r"cuda[:_-]?v?(1[0-9])\.(\d)|(?<![\d.])cu(1[0-9])(\d)(?!\d)", re.IGNORECASE)
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+[aA][sS]\s+(\S+))?")
_REFERENCE = re.compile(r"\$\{?(\w+)(?::?-([^}]*))?\}?")
_OLD_FORM = re.compile(rb"(\w+)[ \t]+(?!=)")


@dataclass
class _Stage:
    """A stage of the build: its variables and its toolkit."""

    variables: dict[str, Ways] = field(default_factory=dict)
    release: str = ""


def read_docker(data: bytes, given: Given) -> Reading:
    """The lists of a Dockerfile."""
    lists: list[ArchList] = []
    told: list[tuple[int, int]] = []
    stages: dict[str, _Stage] = {}
    globals_: dict[str, Ways] = {}
    stage = _Stage(globals_)
    started = False
    clean = _without_comments(data)
    for word, start, end in _instructions(clean):
        here = replace(given, release=stage.release or given.release).built_with(stage.variables)
        if word == "FROM":
            globals_ = stage.variables if not started else globals_
            started = True
            stage = _stage(clean[start:end].decode("latin-1"), stages, globals_, given)
        elif word in ("ENV", "ARG"):
            before = dict(stage.variables)
            script = _settings(clean, start, end, here, stage.variables, word == "ARG")
            stage.variables = script.variables
            lists += script.lists
            for name in stage.variables.keys() - before.keys() if word == "ARG" else ():
                lists += of_variable(name, stage.variables[name], here, name)
        elif word == "RUN":
            script = script_at(_as_shell(clean, start, end), start, end, here, stage.variables)
            lists += script.lists
            told += script.told
    return Reading(finished(lists), told=tuple(told))


def _without_comments(data: bytes) -> bytes:
    """The file with its comment lines blank, their ends too: an instruction goes on behind them."""
    return re.sub(rb"(?m)^[ \t]*#.*(?:\n|\Z)", lambda m: b" " * len(m[0]), data)


def _instructions(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Each instruction with the range of its arguments; lines that end in a backslash and here-documents go on."""
    position = 0
    while position < len(data):
        match = _INSTRUCTION.match(data, position)
        end = _logical_end(data, position)
        if match is None:
            position = max(end, position + 1)
            continue
        heredoc = _HEREDOC.search(data, match.end(), end)
        if heredoc and match[1].upper() in (b"RUN", b"COPY"):
            closing = re.compile(rb"(?m)^[ \t]*" + re.escape(heredoc[1]) + rb"[ \t]*$").search(data, end)
            stop = closing.end() if closing else len(data)
            yield (
                match[1].decode().upper(),
                (end if match[1].upper() == b"RUN" else match.end()),
                (closing.start() if closing else stop),
            )
            position = stop
            continue
        yield match[1].decode().upper(), match.end(), end
        position = end


def _logical_end(data: bytes, position: int) -> int:
    """Where the lines end that a backslash joins."""
    while True:
        newline = data.find(b"\n", position)
        if newline < 0:
            return len(data)
        if not data[position:newline].rstrip().endswith(b"\\"):
            return newline + 1
        position = newline + 1


def _stage(text: str, stages: dict[str, _Stage], outside: dict[str, Ways], given: Given) -> _Stage:
    """The stage that FROM begins: a copy of an earlier one, or of an image that may name its toolkit."""
    match = _FROM.match(text.strip())
    if match is None:
        return _Stage()

    def filled(reference: re.Match[str]) -> str:
        user = given.value(reference[1])
        ways = outside.get(reference[1], ())
        return user if user is not None else (known(ways[0]) or "") if ways else reference[2] or ""

    image = _REFERENCE.sub(filled, match[1])
    base = stages.get(image.lower())
    found = _TOOLKIT.search(image)
    release = f"{found[1] or found[3]}.{found[2] or found[4]}" if found else base.release if base else ""
    stage = _Stage(dict(base.variables) if base else {}, release)
    if match[2]:
        stages[match[2].lower()] = stage
    return stage


def _settings(data: bytes, start: int, end: int, given: Given, variables: dict[str, Ways], is_argument: bool) -> Script:
    """ENV and ARG: NAME=value pairs as a shell reads them, or the old form NAME value."""
    old = _OLD_FORM.match(data, start, end)
    if old is not None and not is_argument:
        name = old[1].decode()
        text = data[old.end() : end].decode("latin-1").rstrip()
        script = Script(b"", given, dict(variables))
        script.variables[name] = combined(_pieces(text, old.end(), script))
        script.lists += of_variable(name, script.variables[name], given, name)
        return script
    return script_at(data, start, end, given, variables)


def _pieces(text: str, at: int, script: Script) -> Iterator[Ways]:
    position = 0
    for match in _REFERENCE.finditer(text):
        yield (written(text[position : match.start()], at + position),)
        held = script.held(match[1])
        yield held if held is not None else (written(match[2], at + match.start(2)) if match[2] else unknown(match[1]),)
        position = match.end()
    yield (written(text[position:], at + position),)


def _as_shell(data: bytes, start: int, end: int) -> bytes:
    """The command of RUN: its own options and the brackets of the exec form are blank."""
    part = data[start:end]
    while match := re.match(rb"\s*--\w+=\S+", part):
        part = b" " * match.end() + part[match.end() :]
        if not part.strip():
            break
        lead = len(part) - len(part.lstrip())
        if not part[lead:].startswith(b"--"):
            break
    if part.strip().startswith(b"["):
        part = re.sub(rb'("[^"\\]*(?:\\.[^"\\]*)*")|[\[\],]', lambda m: m[1] or b" ", part)
    return data[:start] + part + data[end:]
