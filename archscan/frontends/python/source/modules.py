"""The module graph: finds the scanned module behind an import, by paths alone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tree_sitter import Node

from archscan.frontends.python.source.scopes import Scope
from archscan.frontends.python.source.segments import Cut, Piece, cut
from archscan.frontends.python.source.syntax import Pieces, parse, path_to
from archscan.model.facts import Origin
from archscan.model.reads import Question, Reads
from archscan.sources.lines import matches
from archscan.sources.text import Changed, Text

_GLOBAL = re.compile(rb"\n[ \t]+global[ \t]+([\w, \t]+)")


# What changes names of a module behind the back of its statements, by the word that a fast search finds.
_DOUBTS = (
    (b"exec", re.compile(rb"(?<![\w.])exec(?:file)?\s*\("), "exec(…)"),
    (
        b"globals()",
        re.compile(
            rb"globals\(\)(?<!in globals\(\))(?!\s*\[[^\]\n]*\](?!\s*(?:[-+|&*]?=(?!=)|\.))"
            rb"|\s*\.(?:get|items|keys|values|copy)\b)"
        ),
        "globals()",
    ),
    (b"vars()", re.compile(rb"(?<![\w.])vars\(\)"), "vars()"),
    (
        b"locals()",
        re.compile(rb"(?<![\w.])locals\(\)\s*(?:\[[^\]\n]*\]\s*=(?!=)|\.(?:update|setdefault|pop|clear))"),
        "locals()",
    ),
    (b"sys.modules", re.compile(rb"sys\.modules\[\s*(?:__name__|__spec__)"), "sys.modules"),
    (b"__globals__", re.compile(rb"__globals__"), "__globals__"),
    (b"f_globals", re.compile(rb"f_globals|f_locals"), "frames"),
    (b"reload(", re.compile(rb"(?<!\w)reload\("), "reload(…)"),
    (b"__code__", re.compile(rb"\.__code__\s*="), "__code__"),
    (b"__defaults__", re.compile(rb"\.__(?:kw)?defaults__\s*="), "__defaults__"),
    (b"eval", re.compile(rb"(?<![\w.])eval\s*\("), "eval(…)"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PythonIndex:
    """What one file is, picklable: where its text lies and where in it the architecture may be asked for."""

    path: str
    text: Text
    triggers: tuple[int, ...] = ()  # byte offsets
    deciding: tuple[int, ...] = ()  # those, and the flags that code is compiled with
    overlong: tuple[int, ...] = ()  # where lines begin that hold one and are too long to be looked at
    mentions: frozenset[str] = frozenset()  # names it may use of other modules
    asks: frozenset[str] = frozenset()  # names it defines that ask for the target without saying so
    holders: frozenset[str] = frozenset()  # functions around those places
    classes: frozenset[str] = frozenset()  # classes around them
    top: str = ""  # name of the directory that holds `path`: the package, when its folder was given as root
    size: int = 0
    origin: Origin = Origin.OWN
    evidence: str = ""
    root: str = ""
    flags: bool = False  # whether it may hand architectures to nvcc

    def found_at(self, disk: str) -> PythonIndex:
        """The same index, for a file that may lie elsewhere by now."""
        return self if self.text.disk in ("", disk) else replace(self, text=replace(self.text, disk=disk))


@dataclass(eq=False, repr=False)
class Module:
    """A parsed file, parsed when first asked."""

    index: PythonIndex
    memo: dict[object, object] = field(default_factory=dict)
    is_asked: bool = False  # by another module, for a name

    @property
    def path(self) -> str:
        return self.index.path

    @cached_property
    def data(self) -> bytes:
        """The text; nothing if the file was changed meanwhile."""
        try:
            return self.index.text.load()
        except Changed:
            return b""

    @property
    def is_read(self) -> bool:
        """Whether its text is held."""
        return "data" in self.__dict__

    def holds(self, word: bytes) -> bool:
        """Whether the word is in its text, which is not kept for that."""
        if "data" in self.__dict__:
            return word in self.data
        try:
            return word in self.index.text.load()
        except Changed:
            return False

    def forget(self) -> None:
        """Drops the text and its trees: what is needed again is read and parsed again."""
        self.memo.clear()
        for name in ("data", "root", "scope", "_pieces"):
            self.__dict__.pop(name, None)

    def names(self, name: str) -> bool:
        """Whether the module may hold the name at its top level: its text has it, or it imports all of another."""
        return "scope" in self.__dict__ or self._has_stars or name.encode() in self.data

    @cached_property
    def globals(self) -> dict[str, list[int]]:
        """The top-level names that functions assign to, and where these say so."""
        found: dict[str, list[int]] = {}
        for match in _GLOBAL.finditer(self.data) if b"global " in self.data else ():
            for name in match[1].decode("utf-8", "replace").split(","):
                found.setdefault(name.strip(), []).append(match.start(1))
        return found

    def setters(self, name: str) -> list[Node]:
        """The top-level functions that assign to a global name."""
        found: dict[int, Node] = {}
        for offset in self.globals.get(name, ()):
            path = self.descend(offset)
            holder = next((n for n in path if n.type in ("function_definition", "class_definition")), None)
            if holder is not None and holder.type == "function_definition":
                found[holder.start_byte] = holder
        return list(found.values())

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """What in the module may change any of its names without naming it."""
        data = self.data
        return tuple(words for word, pattern, words in _DOUBTS if any(matches(pattern, data, word)))

    @property
    def left_out(self) -> tuple[Piece, ...]:
        """The definitions that are not parsed until they are asked for."""
        return self._cut.definitions

    @cached_property
    def _has_stars(self) -> bool:
        return b"import *" in self.data

    @cached_property
    def _cut(self) -> Cut:
        return cut(self.data, self.index.deciding)

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.data)

    @cached_property
    def root(self) -> Node:
        return self._pieces.parse(self._cut.ranges) if self._cut.ranges else parse(self.data)

    @cached_property
    def scope(self) -> Scope:
        scope = Scope(self.root)
        scope.recover = self._recovery(scope, self._cut.definitions)
        return scope

    def class_scope(self, node: Node) -> Scope:
        """The scope of a class body; its methods that were left out are parsed when they are asked for."""
        scope = Scope(node.child_by_field_name("body") or node)
        if self._cut.methods and _is_top(node):
            scope.recover = self._recovery(scope, self._cut.methods_of(node.start_byte))
        return scope

    def _recovery(self, scope: Scope, left_out: Iterable[Piece]) -> Callable[[str], bool]:
        """A function that adds to a scope what was left out of it under a name, and says whether there was anything."""
        waiting: dict[str, list[Piece]] = {}
        for piece in left_out:
            waiting.setdefault(piece.name, []).append(piece)

        def recover(name: str) -> bool:
            pieces = waiting.pop(name, ())
            for piece in pieces:
                scope.take(Scope(self._body(piece)), piece.start)
            return bool(pieces)

        return recover

    def _body(self, piece: Piece) -> Node:
        """Where what was left out stands: the module, or the class of a method."""
        root = self._piece(piece)
        return _class_body(root) or root if len(piece.ranges) > 1 and piece in self._cut.methods else root

    def functions(self, named: re.Pattern[str]) -> list[Node]:
        """The top-level functions whose names match, the last one of each name."""
        names = dict.fromkeys((*self.scope.bindings, *(piece.name for piece in self._cut.definitions)))
        found = [self.scope.of(name)[-1:] for name in names if named.search(name)]
        return [b.value for some in found for b in some if b.kind == "def" and b.value is not None]

    def _piece(self, piece: Piece) -> Node:
        key = ("piece", piece.start)
        if key not in self.memo:
            self.memo[key] = self._pieces.parse(piece.ranges)
        return self.memo[key]  # type: ignore[return-value]

    def descend(self, offset: int) -> list[Node]:
        """The nodes from the module down to the smallest one that holds the byte."""
        method = self._cut.method(offset)
        if method is not None:
            return self._grafted(path_to(self._piece(method), offset))
        piece = self._cut.definition(offset)
        return path_to(self.root if piece is None else self._piece(piece), offset)

    def _grafted(self, path: list[Node]) -> list[Node]:
        """The path to a method that was left out, with its class from the module's tree: that has the other methods."""
        depth = next((i for i, node in enumerate(path) if node.type == "class_definition"), None)
        if depth is None or depth + 2 >= len(path):
            return path
        whole = self.descend(path[depth].start_byte)
        classes = [i for i, node in enumerate(whole) if node.type == "class_definition"]
        body = whole[classes[0]].child_by_field_name("body") if classes else None
        return [*whole[: classes[0] + 1], body, *path[depth + 2 :]] if body is not None else path


def _is_top(node: Node) -> bool:
    """Whether a definition stands at the top of its module, decorated or not."""
    above = node.parent
    above = above.parent if above is not None and above.type == "decorated_definition" else above
    return above is not None and above.parent is None


def _class_body(root: Node) -> Node | None:
    """The body of the class that is all of a tree."""
    for node in root.named_children:
        held = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        if held is not None and held.type == "class_definition":
            return held.child_by_field_name("body")
    return None


class Traces:
    """Where the evaluation of each module led: what is found for a file rests on all that it led to.

    A value of another module is only had by way of an import, or of a search over all modules, so that what is
    remembered of a module rests on what that one led to. Notes are never dropped: what is remembered may be old.
    """

    def __init__(self) -> None:
        self._led: dict[str, set[str]] = {}  # module -> modules that were evaluated for it
        self._texts: dict[str, set[str]] = {}  # module -> files that were searched for it
        self._asked: dict[str, set[Question]] = {}  # module -> what was asked of all modules together

    def went(self, importer: Module, found: Module | None) -> Module | None:
        """Notes that an import led to a module."""
        if found is not None and found is not importer:
            self._led.setdefault(importer.path, set()).add(found.path)
        return found

    def searched(self, module: Module, question: Question, paths: Iterable[str], evaluated: bool = False) -> None:
        """Notes that a module asked for something in these files."""
        self._asked.setdefault(module.path, set()).add(question)
        (self._led if evaluated else self._texts).setdefault(module.path, set()).update(paths)

    def reads(self, path: str) -> Reads:
        """All that the facts of a module may rest on."""
        led, queue = {path}, [path]
        for one in queue:
            more = self._led.get(one, set()) - led
            led |= more
            queue += more
        texts = led.union(*(self._texts.get(one, ()) for one in led)) - {path}
        return Reads(frozenset(texts), frozenset(q for one in led for q in self._asked.get(one, ())))


class Graph:
    """All scanned modules, found by what import statements say."""

    def __init__(self, indexes: Iterable[PythonIndex]) -> None:
        self.modules = {index.path: Module(index) for index in indexes}
        self.memo: dict[object, Any] = {}
        self.traces = Traces()
        self._tops = {m.index.top for m in self.modules.values() if m.index.top}

    def readers(self, name: str) -> frozenset[str]:
        """The modules that read a field of that name, or name it in a text; to assert what it is decides nothing."""
        key = ("readers", name)
        if key not in self.memo:
            word = name.encode()
            read = re.compile(rb"(?m)^(?!\s*assert\b).*(?:\.\s*%b\b(?!\s*=[^=])|[\"']%b[\"'])" % (word, word))
            self.memo[key] = frozenset(
                path for path, m in self.modules.items() if m.holds(word) and read.search(m.data)
            )
        found: frozenset[str] = self.memo[key]
        return found

    def at(self, dotted: str, base: str) -> Module | None:
        """The module of that slashed name under a folder."""
        below = dotted.replace(".", "/")
        stem = f"{base}/{below}" if base and below else base or below
        for path in (stem + ".py", stem + "/__init__.py" if stem else "__init__.py"):
            if path in self.modules:
                return self.modules[path]
        return None

    def absolute(self, dotted: str, importer: Module) -> Module | None:
        """The module an absolute import names, seen from a module: nearest folder first, then the scanned roots."""
        folder = posixpath.dirname(importer.path)
        key = ("absolute", dotted, folder)
        if key not in self.memo:
            self.memo[key] = self._absolute(dotted, folder)
        return self.traces.went(importer, self.memo[key])

    def _absolute(self, dotted: str, folder: str) -> Module | None:
        while True:
            found = self.at(dotted, folder) if not self._is_package(folder) else None
            if found is not None:
                return found
            if not folder:
                break
            folder = posixpath.dirname(folder)
        head, _, rest = dotted.partition(".")
        return self.at(rest, "") if head in self._tops else None

    def _is_package(self, folder: str) -> bool:
        """A folder with __init__.py is no place that absolute imports start from."""
        return bool(folder) and posixpath.join(folder, "__init__.py") in self.modules

    def relative(self, level: int, dotted: str, importer: Module) -> Module | None:
        """The module a relative import names."""
        key = ("relative", level, dotted, posixpath.dirname(importer.path))
        if key not in self.memo:
            self.memo[key] = self.at(dotted, self.relative_base(level, importer))
        return self.traces.went(importer, self.memo[key])

    def relative_base(self, level: int, importer: Module) -> str:
        folder = posixpath.dirname(importer.path)
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return folder
