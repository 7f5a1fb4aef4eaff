"""Notes what the evaluation of a file read of the linked project: other files, and what all files together say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from archscan.model.reads import Question, Reads


class Seen:
    """What was read since it was last cleared, one bit each: a memory keeps the bits that it rests on."""

    def __init__(self) -> None:
        self.mask = 0
        self._numbers: dict[str | Question, int] = {}

    def note(self, item: str | Question) -> None:
        """Notes a file whose content was read, or a question to all files."""
        number = self._numbers.get(item)
        if number is None:
            number = self._numbers[item] = len(self._numbers)
        self.mask |= 1 << number

    def clear(self) -> None:
        self.mask = 0

    def reads(self) -> Reads:
        """All that was noted."""
        items = [item for item, bit in zip(self._numbers, reversed(bin(self.mask)), strict=False) if bit == "1"]
        files = frozenset(item for item in items if isinstance(item, str))
        return Reads(files, frozenset(item for item in items if not isinstance(item, str)))


class Noted(Mapping[str, Any]):
    """Definitions by name; each look-up is noted, found or not, with the files that those found stand in."""

    def __init__(self, kind: str, found: Mapping[str, Any], seen: Seen) -> None:
        self.found = found
        self._kind = kind
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        self._note(name)
        return self.found[name]

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        return self.found.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._note(str(name))
        return name in self.found

    def __iter__(self) -> Iterator[str]:
        for name in self.found:
            self._note(name)
            yield name

    def __len__(self) -> int:
        return len(self.found)

    def _note(self, name: str) -> None:
        self._seen.note((self._kind, name))
        found = self.found.get(name, ())
        for one in found if isinstance(found, tuple) else ():
            path = getattr(one, "path", "")
            if path:
                self._seen.note(path)
