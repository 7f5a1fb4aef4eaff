"""TOML, JSON and YAML that others wrote, parsed within bounds: no nesting, alias or number that a parser chokes on.

Every function returns the content or raises ValueError in words for the user; a file that is none raises OSError, see
`bounded`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archscan.bounded import small_file

MAX_TOML = 1 << 20  # bytes
MAX_JSON = 16 << 20
MAX_YAML = 4 << 20
_DEEPEST = 64  # brackets within brackets
_MOST_PARTS = 64  # of a dotted key: tomllib's time grows with their square
_LONGEST_NUMBER = 400  # characters of a plain scalar that may be one
_MOST_WRITTEN_OUT = 16 << 20  # characters of a YAML file with its aliases replaced

_TOML_TOKEN = re.compile(r'"""|\'\'\'|["\'#\[\]{}.,=\n]')
_TOML_ENDS = {  # of what a token opens; a block may end with quotes of its own before the last three
    "#": re.compile(r"\n"),
    '"': re.compile(r'\\.|["\n]', re.DOTALL),
    "'": re.compile(r"['\n]"),
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
}


def toml(data: bytes) -> dict[str, Any]:
    """A TOML document."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = data.decode("utf-8").replace("\r\n", "\n")
    depth = parts = 0
    for token in _toml_tokens(text):
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        parts = parts + 1 if token == "." else 0
        if depth > _DEEPEST:
            raise ValueError(f"brackets are nested more than {_DEEPEST} deep")
        if parts > _MOST_PARTS:
            raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _toml_tokens(text: str) -> Iterator[str]:
    """The brackets, dots, commas, equal signs and ends of lines that stand in no string and no comment."""
    at = 0
    while (match := _TOML_TOKEN.search(text, at)) is not None:
        token, at = match[0], match.end()
        if token not in _TOML_ENDS:
            yield token
            continue
        while (match := _TOML_ENDS[token].search(text, at)) is not None:
            at = match.end()
            if match[0][0] != "\\":
                break
        else:
            return  # never closed: tomllib says so
        if match[0] == "\n":
            yield "\n"


def json_file(path: str | Path) -> Any:
    """The content of a JSON file."""
    import json

    try:
        return json.loads(small_file(path, MAX_JSON))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def yaml(data: bytes, trusted: bool = False) -> Any:
    """A YAML document. What is not `trusted` is looked through first, for what would cost more than it weighs."""
    import yaml

    if len(data) > MAX_YAML:
        raise ValueError(f"it is larger than {MAX_YAML >> 20} MB")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if not trusted:
            _check_events(yaml.parse(data, Loader=loader), yaml)
        return yaml.load(data, Loader=loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from error


def _check_events(events: Iterator[Any], yaml: Any) -> None:
    """Nothing, or a ValueError at the first event that is nested too deep, repeats too much, or is tagged."""
    sizes: dict[str, int] = {}  # of what an anchor stands for, written out
    open_nodes: list[tuple[str | None, int]] = [(None, 0)]  # anchor and size so far of what is not closed yet
    for event in events:
        where = f"line {event.start_mark.line + 1}"
        if getattr(event, "tag", None) is not None:
            raise ValueError(f"{where}: tags ({event.tag}) are not read")
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, 1))
            if len(open_nodes) > _DEEPEST:
                raise ValueError(f"{where}: it is nested more than {_DEEPEST} deep")
            continue
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise ValueError(f"{where}: nothing that is complete is called *{event.anchor}")
            anchor, size = None, sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1 + len(event.value)
            if event.implicit[0] and size > _LONGEST_NUMBER and event.value[0] in "+-.0123456789":
                raise ValueError(f"{where}: a number of more than {_LONGEST_NUMBER} digits")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_nodes.pop()
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        around, before = open_nodes[-1]
        open_nodes[-1] = (around, before + size)
        if before + size > _MOST_WRITTEN_OUT:
            raise ValueError(f"{where}: written out, its aliases come to more than {_MOST_WRITTEN_OUT >> 20} MB")
