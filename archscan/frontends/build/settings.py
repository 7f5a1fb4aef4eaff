"""Reads files of settings: environment files, .bazelrc, CMakePresets.json, pyproject.toml, setup.cfg and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscan.frontends.build.archlists import ArchList
from archscan.frontends.build.reading import Given, Reading, finished, of_command, of_flags, of_variable
from archscan.frontends.build.traced import Run, Text, unknown, written

_ASSIGNMENT = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_PAIR = re.compile(
    r"\"((?:[^\"\\]|\\.)+)\"\s*:\s*(?:\{[^{}]*?\"value\"\s*:\s*)?\"([^\"\\]*(?:\\.[^\"\\]*)*)\"", re.DOTALL
)
_QUOTED = re.compile(r"\"([^\"\\\n]*(?:\\.[^\"\\\n]*)*)\"|'([^'\n]*)'")
_MACRO = re.compile(r"\$(?:env|penv|vendor)?\{[^{}]*\}")
_CONFIG = re.compile(r"^[ \t]*(?P<command>[a-z]+)(?::(?P<name>[\w.-]+))?[ \t]+(?P<options>.*)$", re.MULTILINE)
_ARCHS = re.compile(r"cuda:archs=[\"']?([^\"'\s]+)")


def _open(text: str, at: int) -> Text:
    """A text with macros of a preset or shell as unknown parts."""
    found: list[Run] = []
    position = 0
    for match in _MACRO.finditer(text):
        found += [*written(text[position : match.start()], at + position), *unknown(match[0])]
        position = match.end()
    return (*found, *written(text[position:], at + position))


def read_environment(data: bytes, given: Given) -> Reading:
    """The lists of NAME=value lines."""
    return Reading(finished(_assignments(data.decode("latin-1"), given)))


def _assignments(text: str, given: Given) -> Iterator[ArchList]:
    for match in _ASSIGNMENT.finditer(text):
        value, at = match[2], match.start(2)
        if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
            value, at = value[1:-1], at + 1
        yield from of_variable(match[1], (_open(value, at),), given, match[1])


def read_bazelrc(data: bytes, given: Given) -> Reading:
    """The lists of a .bazelrc: each configuration, over its lines, is a build of its own."""
    text = data.decode("latin-1")
    lists: list[ArchList] = []
    flags: dict[str, list[Text]] = {}
    for match in _CONFIG.finditer(re.sub(r"(?m)(^|\s)#.*$", lambda m: " " * len(m[0]), text)):
        options = written(match["options"], match.start("options"))
        settings = [one for one in of_command(options, given) if not one.is_flags]
        for archs in _ARCHS.finditer(match["options"]):
            value = written(archs[1].replace(":", ","), match.start("options") + archs.start(1))
            settings += of_variable("cuda_archs", (value,), given)
        lists += settings
        flags.setdefault(match["name"] or "", []).append(options)
    for name, texts in flags.items():
        whole = tuple(run for text in texts for run in (*text, *written(" ")))
        found = of_flags(name, whole, given)
        lists += [found] if found is not None else []
    return Reading(finished(lists))


def read_presets(data: bytes, given: Given) -> Reading:
    """The lists of CMakePresets.json: cache variables, with or without a type, and the environment."""
    text = data.decode("latin-1")
    lists: list[ArchList] = []
    for match in _PAIR.finditer(text):
        lists += of_variable(match[1], (_open(match[2], match.start(2)),), given, match[1])
    return Reading(finished(lists))


def read_config(data: bytes, given: Given) -> Reading:
    """The lists of TOML and INI files: names with values, options of builds in strings."""
    text = re.sub(r"(?m)^[ \t]*#.*$", lambda m: " " * len(m[0]), data.decode("latin-1"))
    lists: list[ArchList] = []
    for match in re.finditer(r"^[ \t]*\"?([\w.-]+)\"?[ \t]*=[ \t]*(\[[^\]]*\]|.*)", text, re.MULTILINE):
        value, at = match[2], match.start(2)
        strings = list(_QUOTED.finditer(value)) if value[:1] in "[{\"'" else []
        parts = [(m[1] if m[1] is not None else m[2], at + m.start(1 if m[1] is not None else 2)) for m in strings]
        whole = tuple(run for part, place in parts or [(value, at)] for run in (*written(part, place), *written(" ")))
        inline = re.finditer(r"([\w.-]+)\s*=\s*([\"'])(.*?)\2", value) if value[:1] == "{" else ()
        name = match[1].rpartition(".")[2]
        lists += of_variable(name, (whole,), given, name) if value[:1] != "{" else ()
        for pair in inline:
            lists += of_variable(pair[1].rpartition(".")[2], (written(pair[3], at + pair.start(3)),), given, pair[1])
    return Reading(finished(lists))
