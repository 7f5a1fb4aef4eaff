"""Who calls whom, by name, over every scanned file; and which features a function reaches through that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from archscan.frontends.cuda.host.sites import function_name
from archscan.model.gate import FeatureUse

_HOPS = 4
_MOST_DEFINITIONS = 3  # a name defined more often says nothing (`run`, `operator`)
_MOST_FEATURES = 24
_LONGEST_HEADER = 3000
_DEEPEST_HEADER = 20000
_IDENTIFIER_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CALLED = bytes(c if c in _IDENTIFIER_BYTES else 1 if c in b"(<:" else 0x2E if c in b".>" else 0x20 for c in range(256))
_NOISE = frozenset(
    b"if for while switch return sizeof template typename decltype static_cast reinterpret_cast const_cast std cute "
    b"cutlass operator defined define include catch constexpr void int float public private protected default case "
    b"asm volatile min max get size data begin end push_back c_str printf alignas assert static_assert".split()
)
_CLASS = re.compile(rb"\b(?:struct|class)\s+(?:[A-Z_]+\s+)?(?:\w+\([^)]*\)\s*)?([A-Za-z_]\w*)[^;=()]*\Z")
_DIRECTIVE = re.compile(rb"^[ \t]*#[^\n]*", re.M)
_DECLARED = re.compile(rb"\b(?:struct|class)\b|[\w>&*:]\s+(?:[\w:<>, ]+::)?~?\w+\s*\(|__\w+__")
_NAMESPACE = re.compile(rb"\bnamespace\b[^;()]*\Z|extern\s*\"C\"\s*\Z")


@dataclass(frozen=True, slots=True)
class Node:
    """A function or class: what it uses itself and the names it mentions as calls."""

    name: str
    line: int
    features: tuple[FeatureUse, ...]
    calls: frozenset[str]


def nodes(data: bytes, features: Callable[[bytes], tuple[FeatureUse, ...]], names: Iterable[bytes]) -> tuple[Node, ...]:
    """The functions and classes of a file, cut at closing braces in column one; `names` are identifiers of features."""
    wanted = frozenset(names)
    found: list[Node] = []
    line = 1
    for chunk in data.split(b"\n}"):
        name, body = _defined(chunk)
        if name:
            called = _called(chunk[body:])
            uses: tuple[FeatureUse, ...] = ()
            if b"asm" in chunk or not wanted.isdisjoint(called):
                first = line + chunk.count(b"\n", 0, body)
                uses = tuple(replace(u, line=u.line + first - 1) for u in features(chunk[body:]))
            calls = frozenset(c.decode("utf-8", "replace") for c in called if len(c) > 3)
            found.append(Node(name, line + chunk.count(b"\n", 0, body), _first_of_each(uses), calls - {name}))
        line += chunk.count(b"\n") + 1
    return tuple(found)


def _called(body: bytes) -> frozenset[bytes]:
    """The names before an opening bracket, `<` or `::`; methods of objects say nothing."""
    tokens = (piece[piece.rfind(b" ") + 1 :] for piece in body.translate(_CALLED).split(b"\x01"))
    return frozenset(token for token in tokens if b"." not in token) - _NOISE


def _first_of_each(uses: tuple[FeatureUse, ...]) -> tuple[FeatureUse, ...]:
    first: dict[str, FeatureUse] = {}
    for use in uses:
        first.setdefault(use.feature, use)
    return tuple(first.values())


def _defined(chunk: bytes) -> tuple[str, int]:
    """The function or class that a chunk defines and where its body opens; ("", 0) if there is none."""
    position = 0
    while 0 <= (brace := chunk.find(b"{", position)) < _DEEPEST_HEADER:
        window = chunk[max(position, brace - _LONGEST_HEADER) : brace]
        header = window[max(window.rfind(b";"), window.rfind(b"}")) + 1 :]
        if b"#" in header:
            header = _DIRECTIVE.sub(b"", header)
        if not _NAMESPACE.search(header):
            named = _CLASS.search(header)
            name = named[1].decode("utf-8", "replace") if named else function_name(header)
            if name and len(name) > 3 and name.encode() not in _NOISE and _DECLARED.search(header):
                return name, brace
        position = brace + 1
    return "", 0


@dataclass(frozen=True, slots=True)
class Reach:
    """A feature that a name reaches, in how many calls."""

    use: FeatureUse
    hops: int


def reached(files: Mapping[str, tuple[Node, ...]]) -> dict[str, tuple[FeatureUse, ...]]:
    """The features each function or class reaches: its own, then those of what it calls, a few calls deep."""
    counts: dict[str, int] = {}
    for node in _all(files):
        counts[node.name] = counts.get(node.name, 0) + 1
    known: dict[str, dict[str, Reach]] = {}
    for path, entries in files.items():
        for node in entries:
            if node.features and counts[node.name] <= _MOST_DEFINITIONS:
                own = known.setdefault(node.name, {})
                for use in node.features:
                    own.setdefault(use.feature, Reach(replace(use, via=node.name, path=path), 0))
    frontier = frozenset(known)
    for hop in range(1, _HOPS + 1):
        frontier = frozenset(_hop(files, counts, known, frontier, hop))
        if not frontier:
            break
    return {name: tuple(r.use for r in uses.values()) for name, uses in sorted(known.items())}


def _hop(
    files: Mapping[str, tuple[Node, ...]],
    counts: Mapping[str, int],
    known: dict[str, dict[str, Reach]],
    frontier: frozenset[str],
    hop: int,
) -> Iterator[str]:
    """Carries features of the frontier to its callers; yields the names that learnt something."""
    learnt: dict[str, dict[str, Reach]] = {}
    for node in _all(files):
        if counts[node.name] > _MOST_DEFINITIONS:
            continue
        for callee in sorted(node.calls & frontier):
            for feature, reach in known[callee].items():
                have = known.get(node.name, {})
                if feature not in have and len(have) < _MOST_FEATURES:
                    learnt.setdefault(node.name, {}).setdefault(feature, Reach(reach.use, hop))
    for name, uses in learnt.items():
        known.setdefault(name, {}).update(uses)
        yield name


def _all(files: Mapping[str, tuple[Node, ...]]) -> Iterator[Node]:
    for path in sorted(files):
        yield from files[path]
