"""The scanned files as a trace reads them: bytes on demand, parsed once, searched by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from archscan.frontends.links import links_of
from archscan.model.facts import Link, Origin
from archscan.sources.kinds import LINKED_SUFFIXES, is_cmake
from archscan.tracing import cuda_calls, python_calls
from archscan.tracing.modules import Extension, Includes, extensions
from archscan.tracing.paths import Paths


class Code:
    """Everything a trace may look at. `load` returns the bytes of a path, empty if it cannot be read.

    `builders` names what compiles extension modules. `linked` are the links of every file that has any, if a scan of
    the same files found them.
    """

    def __init__(
        self,
        origins: Mapping[str, Origin],
        load: Callable[[str], bytes],
        builders: tuple[str, ...],
        linked: Mapping[str, tuple[Link, ...]] | None = None,
    ) -> None:
        self.origins = origins
        self.builders = builders
        self.linked = linked
        self._load = load
        self._bytes: dict[str, bytes] = {}
        self._naming: dict[str, list[str]] = {}
        self._spaces: dict[str, list[str]] = {}
        self._modules: dict[str, python_calls.Module] = {}
        self._outlines: dict[str, python_calls.Module] = {}
        self._units: dict[str, cuda_calls.Unit] = {}
        self.paths = Paths.of(origins)
        self.links: Mapping[str, tuple[Link, ...]] = _Links(self)
        self.includes = Includes(self.links, self.paths)

    @cached_property
    def python(self) -> tuple[str, ...]:
        """Python files that may run; tests call everything and decide nothing."""
        return tuple(p for p in sorted(self.origins) if p.endswith(".py") and self.origins[p] is not Origin.TEST)

    @cached_property
    def cmake(self) -> tuple[str, ...]:
        return tuple(p for p in sorted(self.origins) if is_cmake(p))

    @cached_property
    def cuda(self) -> tuple[str, ...]:
        return tuple(p for p in sorted(self.origins) if p.endswith(LINKED_SUFFIXES))

    @cached_property
    def extensions(self) -> tuple[Extension, ...]:
        building = (*self.python, *(path for path in sorted(self.origins) if is_cmake(path)))
        return extensions({path: self.links[path] for path in building}, self.paths)

    def data(self, path: str) -> bytes:
        if path not in self._bytes:
            self._bytes[path] = self._load(path)
        return self._bytes[path]

    def peek(self, path: str) -> bytes:
        """The bytes of a file that is only searched: not kept, as there may be hundreds of megabytes of them."""
        if path in self._bytes or path.endswith(".py"):
            return self.data(path)
        return self._load(path)

    def module(self, path: str) -> python_calls.Module:
        if path not in self._modules:
            self._modules[path] = python_calls.read(self.data(path), path)
        return self._modules[path]

    def outline(self, path: str) -> python_calls.Module:
        """What other files can name in a Python file."""
        if path in self._modules:
            return self._modules[path]
        if path not in self._outlines:
            self._outlines[path] = python_calls.read(self.data(path), path, outline=True)
        return self._outlines[path]

    def unit(self, path: str) -> cuda_calls.Unit:
        if path not in self._units:
            self._units[path] = cuda_calls.read(self.data(path), path)
        return self._units[path]

    def holding(self, name: str, paths: Iterable[str]) -> list[str]:
        """Those of `paths` in which `name` occurs as a whole word."""
        return self.holding_each([name], paths)[name]

    def holding_each(self, names: Iterable[str], paths: Iterable[str]) -> dict[str, list[str]]:
        """Those of `paths` in which each of `names` occurs as a whole word; each file is read once for all."""
        needles = {name: name.encode("utf-8", "backslashreplace") for name in names}
        found: dict[str, list[str]] = {name: [] for name in needles}
        for path in paths if needles else ():
            data = self.peek(path)
            for name, needle in needles.items():
                if next(words(needle, data), None) is not None:
                    found[name].append(path)
        return found

    def naming(self, name: str) -> list[str]:
        """Python files in which `name` occurs as a whole word."""
        if name not in self._naming:
            self._naming[name] = self.holding(name, self.python)
        return self._naming[name]

    def calling(self, name: str) -> list[str]:
        """Python files in which `name` is followed by an argument list."""
        needle = name.encode("utf-8", "backslashreplace")
        return [path for path in self.naming(name) if any(_calls(needle, self.data(path)))]

    def registering(self, space: str, name: str) -> list[str]:
        """Python files in which an operator `space::name` may be registered."""
        prefix, operator = (text.encode("utf-8", "backslashreplace") for text in (f"{space}::", name))
        if space not in self._spaces:
            self._spaces[space] = [path for path in self.python if prefix in self.data(path)]
        return [path for path in self._spaces[space] if prefix + operator in self.data(path)]

    def defining(self, name: str) -> list[str]:
        """Python files with a `def` or `class` of that name."""
        needle = name.encode("utf-8", "backslashreplace")
        return [path for path in self.naming(name) if any(_definitions(needle, self.data(path)))]


# Plain searches: a regular expression that looks behind tries every byte of some hundred megabytes


def words(needle: bytes, data: bytes) -> Iterator[int]:
    """Where a name stands as a whole word."""
    at = data.find(needle)
    while at >= 0:
        end = at + len(needle)
        if data[at - 1 : at] not in _WORD and data[end : end + 1] not in _WORD:
            yield at
        at = data.find(needle, at + 1)


def _calls(needle: bytes, data: bytes) -> Iterator[int]:
    """Where an argument list follows it, definitions left out."""
    for at in words(needle, data):
        if data.startswith(b"(", at + len(needle)) and not data.endswith((b"def ", b"class "), 0, at):
            yield at


def _definitions(needle: bytes, data: bytes) -> Iterator[int]:
    """Where `def` or `class` stands before it on its line."""
    for at in words(needle, data):
        before = data[data.rfind(b"\n", 0, at) + 1 : at].split()
        if before and before[-1] in (b"def", b"class") and before[:-1] in ([], [b"async"]):
            yield at


_WORD = frozenset(bytes([c]) for c in range(128) if chr(c).isalnum() or c == ord("_"))


class _Links(Mapping[str, tuple[Link, ...]]):
    """Links of a file, found when asked for."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._known: dict[str, tuple[Link, ...]] = {}

    def __getitem__(self, path: str) -> tuple[Link, ...]:
        if path not in self._code.origins:
            raise KeyError(path)
        if self._code.linked is not None:
            return self._code.linked.get(path, ())
        if path not in self._known:
            data = self._code.peek(path)
            self._known[path] = links_of(data, path, self._code.builders)
        return self._known[path]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._code.origins)

    def __len__(self) -> int:
        return len(self._code.origins)
