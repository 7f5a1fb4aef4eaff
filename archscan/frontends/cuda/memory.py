"""What linking found, kept for the next time: it hangs on what files say, not on where in them they say it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from archscan.frontends.cuda.host.indexing import HostIndex
from archscan.frontends.cuda.preprocessor.index import DirectiveIndex
from archscan.frontends.cuda.preprocessor.units import Context
from archscan.model.words import words


@dataclass(slots=True)
class Memory:
    """What the last linking of a tree found. All keys are made of contents: nothing in it can be out of date."""

    directives: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)  # path -> (content, its directives)
    units: dict[tuple[str, bytes], bytes] = field(default_factory=dict)  # (path, content and helpers) -> its code
    again: dict[tuple[str, bytes], HostIndex] = field(default_factory=dict)  # files read again, by the same
    helpers: dict[bytes, frozenset[str]] = field(default_factory=dict)  # by the code of all files
    contexts: dict[bytes, dict[str, Context]] = field(default_factory=dict)  # by all directives; includes by number


@dataclass(slots=True)
class Linking:
    """One linking: the contents of its files, what an earlier one found, and what this one did."""

    contents: Mapping[str, bytes]
    before: Memory
    found: Memory = field(default_factory=Memory)

    def helpers(self, code: bytes) -> frozenset[str] | None:
        """The helpers that this code makes, if an earlier linking asked the same."""
        known = self.before.helpers.get(code)
        if known is not None:
            self.found.helpers[code] = known
        return known

    def again(self, index: HostIndex, helpers: frozenset[str]) -> HostIndex | None:
        """The index of a file that was read again for these helpers."""
        key = self._with(index.path, helpers)
        known = self.before.again.get(key)
        if known is not None:
            self.found.again[key] = known
        return known

    def keep_again(self, index: HostIndex, helpers: frozenset[str]) -> None:
        """Remembers a file that was read again."""
        self.found.again[self._with(index.path, helpers)] = index

    def code(
        self, indexes: Iterable[HostIndex], read_for: Mapping[str, frozenset[str]], known: frozenset[str]
    ) -> bytes:
        """What stands for the code of these files, wherever in them it stands, and the helpers that are known."""
        digest = hashlib.sha256("\1".join(sorted(known)).encode("utf-8", "surrogatepass"))
        for index in indexes:
            key = self._with(index.path, read_for.get(index.path, frozenset()))
            unit = self.found.units.get(key) or self.before.units.get(key)
            if unit is None:
                said = "\1".join(words(index.unit, places=False))
                unit = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()
            self.found.units[key] = unit
            digest.update(index.path.encode("utf-8", "surrogatepass") + b"\0" + unit)
        return digest.digest()

    def directives(self, indexes: Mapping[str, DirectiveIndex], choices: object) -> bytes:
        """What stands for the directives of all files, in order."""
        digest = hashlib.sha256(repr(choices).encode("utf-8", "surrogatepass"))
        for path, index in indexes.items():
            own, said = self.before.directives.get(path, (b"", b""))
            if own != self.contents[path]:
                own, said = self.contents[path], _said(index)
            self.found.directives[path] = own, said
            digest.update(path.encode("utf-8", "surrogatepass") + b"\0" + said)
        return digest.digest()

    def contexts(self, key: bytes, indexes: Mapping[str, DirectiveIndex]) -> dict[str, Context] | None:
        """How files are read where all directives are these."""
        known = self.before.contexts.get(key)
        if known is None:
            return None
        self.found.contexts[key] = known
        return {path: _placed(context, indexes[path]) for path, context in known.items()}

    def keep_contexts(self, key: bytes, contexts: Mapping[str, Context], indexes: Mapping[str, DirectiveIndex]) -> None:
        """Remembers how files are read."""
        self.found.contexts[key] = {path: _numbered(context, indexes[path]) for path, context in contexts.items()}

    def _with(self, path: str, helpers: frozenset[str]) -> tuple[str, bytes]:
        named = "\1".join(sorted(helpers)).encode("utf-8", "surrogatepass")
        return path, hashlib.sha256(self.contents[path] + named).digest()


def _said(index: DirectiveIndex) -> bytes:
    """What stands for the directives of a file, wherever in it they stand."""
    numbers = {event.start: number for number, event in enumerate(index.events)}
    settled = index.settled
    offsets = (settled.guards, settled.required, settled.refused)
    layout = [sorted(numbers.get(offset, -1) for offset in some) for some in offsets]
    events = [(event.name, event.text) for event in index.events]
    said = repr((events, layout, settled.guard, index.once, index.brief, index.includes))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()


def _numbered(context: Context, index: DirectiveIndex) -> Context:
    """A context with the numbers of includes in place of their offsets."""
    numbers = {event.start: number for number, event in enumerate(index.events)}
    return replace(context, after={numbers[at]: made for at, made in context.after.items()})


def _placed(context: Context, index: DirectiveIndex) -> Context:
    return replace(context, after={index.events[number].start: made for number, made in context.after.items()})
