"""Which features a name reaches through calls, a few of them deep, over every scanned file.

Of the thousands of functions in a project a few hundred are behind a gate: each is read when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from archscan.frontends.cuda.host.calls import Functions, Node, Vocabulary
from archscan.frontends.cuda.includes import Includes
from archscan.model.gate import FeatureUse

_HOPS = 4
_MOST_DEFINITIONS = 3  # a name that may mean more says nothing (`run`, `operator`)
_MOST_FEATURES = 24
_HEADERS = (".h", ".hh", ".hpp", ".cuh", ".inl")

Key = tuple[str, str]  # file and name of a function or class
Uses = Mapping[str, FeatureUse]  # by feature


@dataclass(frozen=True)
class Callables:
    """Every function and class of a project by its name, and who includes whom."""

    files: Mapping[str, Functions]
    includes: Includes
    _reached: dict[int, Reached] = field(default_factory=dict)  # by identity of the vocabulary

    def in_words_of(self, vocabulary: Vocabulary) -> Reached:
        """What they reach; remembered."""
        found = self._reached.get(id(vocabulary))
        if found is None:
            found = self._reached[id(vocabulary)] = Reached(self, vocabulary)
        return found

    @cached_property
    def places(self) -> Mapping[str, tuple[str, ...]]:
        """Name -> the files that define it, in order."""
        found: dict[str, dict[str, None]] = {}
        for path in sorted(self.files):
            for one in self.files[path].defined:
                found.setdefault(one.name, {})[path] = None
        return {name: tuple(paths) for name, paths in found.items()}


@dataclass(frozen=True)
class Reached:
    """The features of functions and classes, found by name from the file that names them."""

    callables: Callables
    vocabulary: Vocabulary
    _nodes: dict[Key, tuple[Node, ...]] = field(default_factory=dict)
    _meant: dict[Key, tuple[Key, ...]] = field(default_factory=dict)
    _uses: dict[tuple[Key, int], Uses] = field(default_factory=dict)

    def of(self, path: str, name: str) -> tuple[FeatureUse, ...]:
        """What a name means in a file: its own definition, else those of what it includes, else the only source's."""
        uses: dict[str, FeatureUse] = {}
        for key in self.meant(path, name):
            for feature, use in self._behind(key, _HOPS).items():
                uses.setdefault(feature, use)
        return tuple(uses.values())

    def after(self, path: str, line: int) -> tuple[FeatureUse, ...]:
        """What the functions of a file use themselves behind a line."""
        functions = self.callables.files.get(path)
        found: dict[str, FeatureUse] = {}
        for name in sorted({one.name for one in functions.defined}) if functions else ():
            for use in self._behind((path, name), _HOPS).values():
                if use.path == path and use.line > line:
                    found.setdefault(use.feature, use)
        return tuple(sorted(found.values(), key=lambda use: (use.line, use.feature)))

    def meant(self, path: str, name: str) -> tuple[Key, ...]:
        """The definitions that a name may mean in a file; none if that is not clear."""
        found = self._meant.get((path, name))
        if found is None:
            chosen = self._chosen(path, name)
            found = tuple((file, name) for file in chosen) if len(chosen) <= _MOST_DEFINITIONS else ()
            self._meant[path, name] = found
        return found

    def _chosen(self, path: str, name: str) -> tuple[str, ...]:
        files = self.callables.places.get(name, ())
        if path in files and self._read((path, name)):
            return (path,)
        includes = self.callables.includes
        near = (f for f in files if includes.reaches(path, f) and self._read((f, name)))
        if chosen := tuple(islice(near, _MOST_DEFINITIONS + 1)):
            return chosen
        read = (f for f in files if self._read((f, name)))
        only, other = next(read, ""), next(read, "")
        alone = only and not other and not only.endswith(_HEADERS)  # a header that is not included is not meant
        return (only,) if alone else ()

    def _read(self, key: Key) -> tuple[Node, ...]:
        """What the functions of a name in a file use and call."""
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self.callables.files[key[0]].named(key[1], self.vocabulary)
        return found

    def _behind(self, key: Key, hops: int) -> Uses:
        """The features that a function uses, and those of what it calls so many calls deep."""
        found = self._uses.get((key, hops))
        if found is None:
            found = self._uses[key, hops] = self._called(key, hops) if hops else self._own(key)
        return found

    def _own(self, key: Key) -> Uses:
        path, name = key
        nodes = self._read(key)
        found: dict[str, FeatureUse] = {}
        for use in (use for node in nodes for use in node.features) if len(nodes) <= _MOST_DEFINITIONS else ():
            found.setdefault(use.feature, replace(use, via=name, path=path))
        return found

    def _called(self, key: Key, hops: int) -> Uses:
        have = self._behind(key, hops - 1)
        nodes = self._read(key)
        if len(have) >= _MOST_FEATURES or len(nodes) > _MOST_DEFINITIONS:
            return have
        found = dict(have)
        for callee in sorted(frozenset().union(*(node.calls for node in nodes))):
            for meant in self.meant(key[0], callee):
                for feature, use in self._behind(meant, hops - 1).items():
                    found.setdefault(feature, use)
        return found
