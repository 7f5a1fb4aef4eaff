"""Which features a name reaches through calls, a few of them deep, over every scanned file.

Of the thousands of functions in a project a few hundred are behind a gate: each is read when it is asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from archscan.frontends.cuda.host.calls import Functions, Node, Vocabulary
from archscan.frontends.cuda.includes import Includes
from archscan.frontends.cuda.inventory import Named
from archscan.frontends.cuda.seen import Seen
from archscan.model.gate import FeatureUse, Mention

_HOPS = 4
_MOST_DEFINITIONS = 3  # a name that may mean more says nothing (`run`, `operator`)
_MOST_FEATURES = 24
_MOST_PLACES = 4  # where a source uses a feature
_HEADERS = (".h", ".hh", ".hpp", ".cuh", ".inl")

_MOST_FUNCTIONS = 400  # that are looked at behind one piece of code
_MOST_CANDIDATES = 12  # definitions that a name may mean
_MOST_MISSING = 12  # names that are told; what is cut off is still missing


class Inventory(NamedTuple):
    """What code names, as far as it is known: features behind it, and names that nothing is known of."""

    features: tuple[FeatureUse, ...]
    missing: tuple[Mention, ...]


def _common(nodes: Iterable[Node]) -> frozenset[str]:
    """What all functions of a name use: of overloads and specialisations nobody sees which one is meant."""
    used = [frozenset(use.feature for use in node.features) for node in nodes]
    return frozenset.intersection(*used) if used else frozenset()


Key = tuple[str, str]  # file and name of a function or class
Uses = Mapping[str, FeatureUse]  # by feature


@dataclass(frozen=True)
class Callables:
    """Every function and class of a project by its name, and who includes whom."""

    files: Mapping[str, Functions]
    includes: Includes
    seen: Seen = field(default_factory=Seen)
    _reached: dict[int, Reached] = field(default_factory=dict)  # by identity of the vocabulary
    _places: dict[str, tuple[str, ...]] = field(default_factory=dict)  # filled when it is asked for

    def in_words_of(self, vocabulary: Vocabulary) -> Reached:
        """What they reach; remembered."""
        found = self._reached.get(id(vocabulary))
        if found is None:
            found = self._reached[id(vocabulary)] = Reached(self, vocabulary)
        return found

    @property
    def places(self) -> Mapping[str, tuple[str, ...]]:
        """Name -> the files that define it, in order."""
        if not self._places:
            found: dict[str, dict[str, None]] = {}
            for path in sorted(self.files):
                for one in self.files[path].defined:
                    found.setdefault(one.name, {})[path] = None
            self._places.update((name, tuple(paths)) for name, paths in found.items())
        return self._places

    def defining(self, name: str) -> tuple[str, ...]:
        """The files that define a name, in order; noted."""
        self.seen.note(("place", name))
        return self.places.get(name, ())

    def of(self, path: str) -> Functions | None:
        """The functions of a file; noted."""
        self.seen.note(path)
        return self.files.get(path)


@dataclass(frozen=True)
class Reached:
    """The features of functions and classes, found by name from the file that names them."""

    callables: Callables
    vocabulary: Vocabulary
    _nodes: dict[Key, tuple[Node, ...]] = field(default_factory=dict)
    _named: dict[Key, tuple[Named, ...]] = field(default_factory=dict)
    # what is remembered over several reads comes with what was seen for it
    _meant: dict[Key, tuple[tuple[Key, ...], int]] = field(default_factory=dict)
    _uses: dict[tuple[Key, int], tuple[Uses, int]] = field(default_factory=dict)

    def of(self, path: str, name: str) -> tuple[FeatureUse, ...]:
        """What a name means in a file: its own definition, else those of what it includes, else the only source's."""
        uses: dict[str, FeatureUse] = {}
        for key in self.meant(path, name):
            for feature, use in self._behind(key, _HOPS).items():
                uses.setdefault(feature, use)
        return tuple(uses.values())

    def after(self, path: str, line: int) -> tuple[FeatureUse, ...]:
        """What the functions of a file use themselves behind a line."""
        functions = self.callables.of(path)
        found: dict[str, FeatureUse] = {}
        for name in sorted({one.name for one in functions.defined}) if functions else ():
            for use in self._behind((path, name), _HOPS).values():
                if use.path == path and use.line > line:
                    found.setdefault(use.feature, use)
        return tuple(sorted(found.values(), key=lambda use: (use.line, use.feature)))

    def used_by(self, path: str) -> tuple[FeatureUse, ...]:
        """What the functions of a source use, with everything that they call or name as types, wherever that stands.

        What is behind a name with several definitions is in doubt; after many functions nobody looks further.
        """
        functions = self.callables.of(path)
        found: dict[str, list[FeatureUse]] = {}
        seen: set[Key] = set()
        names = dict.fromkeys(one.name for one in functions.defined) if functions is not None else ()
        pending = deque(((path, name), True) for name in names)
        while pending and len(seen) < _MOST_FUNCTIONS:
            key, sure = pending.popleft()
            if key in seen:
                continue
            seen.add(key)
            nodes = self._read(key)
            everywhere = _common(nodes)
            for node in nodes:
                for use in node.features:
                    places = found.setdefault(use.feature, [])
                    if len(places) < _MOST_PLACES and not (use.via and self.meant(key[0], use.via)):
                        confidence = use.confidence if sure and use.feature in everywhere else "low"
                        places.append(replace(use, via=key[1], path=key[0], confidence=confidence))
                for callee in sorted(node.calls):
                    keys = self.meant(key[0], callee)
                    pending.extend((one, sure and len(keys) == 1) for one in keys if one not in seen)
        return tuple(use for name in sorted(found) for use in found[name])

    def defines(self, path: str, name: str) -> bool:
        """Whether scanned code says what a name in a file means."""
        return bool(self.meant(path, name))

    def meant(self, path: str, name: str) -> tuple[Key, ...]:
        """The definitions that a name may mean in a file; none if that is not clear."""
        seen = self.callables.seen
        found = self._meant.get((path, name))
        if found is None:
            before, seen.mask = seen.mask, 0
            chosen = self._chosen(path, name)
            meant = tuple((file, name) for file in chosen) if len(chosen) <= _MOST_DEFINITIONS else ()
            found = self._meant[path, name] = meant, seen.mask
            seen.mask = before
        seen.mask |= found[1]
        return found[0]

    def behind(self, path: str, names: Iterable[Named]) -> Inventory:
        """Everything that code in a file names, with what that calls in turn: features, and what nothing is known of.

        Unlike `of` it goes as deep as there is code, since what was not looked at may hide any instruction.
        """
        features: dict[str, FeatureUse] = {}
        missing: dict[str, Mention] = {}
        seen: set[Key] = set()
        pending = [(one, path, "") for one in names]
        while pending:
            one, at, via = pending.pop()
            if self._is_known(one, at):
                continue
            keys = self._defined_as(at, one)
            if not keys or len(seen) > _MOST_FUNCTIONS:
                mention = Mention(one.name, one.line, "" if at == path else at, via)
                missing.setdefault(one.name, mention)
                continue
            for key in keys:
                if key in seen:
                    continue
                seen.add(key)
                nodes = self._read(key)
                everywhere = _common(nodes)
                for node in nodes:
                    for use in node.features:
                        if use.via and self.meant(key[0], use.via):
                            continue
                        sure = use.confidence if len(keys) == 1 and use.feature in everywhere else "low"
                        features.setdefault(use.feature, replace(use, via=key[1], path=key[0], confidence=sure))
                pending += [(inner, key[0], key[1]) for inner in self._names_of(key)]
        order = sorted(missing.values(), key=lambda m: (m.path, m.line, m.name))
        return Inventory(tuple(features[name] for name in sorted(features)), tuple(order[:_MOST_MISSING]))

    def _is_known(self, one: Named, path: str) -> bool:
        """Whether a name is a feature, or there on every target, or a type or template parameter of the file."""
        last = one.name.rpartition("::")[2]
        known = self.vocabulary.known
        if one.kind == "asm":
            return known.has_instruction(one.name) or bool(self.vocabulary.instructions(one.name.encode()))
        if self.vocabulary.means(last.encode()):
            return not self.meant(path, last)
        if one.kind == "member":
            return last in known.members
        functions = self.callables.of(path)
        of_file = functions is not None and last in functions.types
        if one.name != last and not one.name.startswith("::"):  # `Kernel::invoke` is not std's
            return known.has_name(one.name) or (one.kind == "call" and of_file)
        return known.has_name(one.name) or (one.kind == "call" and (known.has_name(last) or of_file))

    def _defined_as(self, path: str, one: Named) -> tuple[Key, ...]:
        """The definitions that a name may mean among the files that its own file includes, all of them."""
        if one.kind == "asm":
            return ()
        scope, _, name = one.name.rpartition("::")
        functions = self.callables.of(path)
        if functions is not None and scope in functions.parameters:
            return ()  # any class may stand for a template parameter
        files = self.callables.defining(name)
        if path in files:
            return ((path, name),)
        near = [f for f in files if self.callables.includes.reaches(path, f)]
        if not near and len(files) == 1 and not files[0].endswith(_HEADERS):
            near = list(files)
        return tuple((file, name) for file in near) if len(near) <= _MOST_CANDIDATES else ()

    def _chosen(self, path: str, name: str) -> tuple[str, ...]:
        files = self.callables.defining(name)
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
        self.callables.seen.note(key[0])
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self.callables.files[key[0]].called(key[1], self.vocabulary)
        return found

    def _names_of(self, key: Key) -> tuple[Named, ...]:
        """What the functions of a name in a file call, and their instructions."""
        self.callables.seen.note(key[0])
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = tuple(one for node in self._read(key) for one in node.named())
        return found

    def _behind(self, key: Key, hops: int) -> Uses:
        """The features that a function uses, and those of what it calls so many calls deep."""
        seen = self.callables.seen
        found = self._uses.get((key, hops))
        if found is None:
            before, seen.mask = seen.mask, 0
            uses = self._called(key, hops) if hops else self._own(key)
            found = self._uses[key, hops] = uses, seen.mask
            seen.mask = before
        seen.mask |= found[1]
        return found[0]

    def _own(self, key: Key) -> Uses:
        path, name = key
        nodes = self._read(key)
        found: dict[str, FeatureUse] = {}
        everywhere = _common(nodes)
        for use in (use for node in nodes for use in node.features) if len(nodes) <= _MOST_DEFINITIONS else ():
            if use.via and self.meant(path, use.via):
                continue  # not the library's function of that name: what this one uses is followed
            confidence = use.confidence if use.feature in everywhere else "low"
            found.setdefault(use.feature, replace(use, via=name, path=path, confidence=confidence))
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
