"""Whose function a file means by a name, looked up in its import statements; and which function a line lies in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from archscan.frontends.links.python import Definitions
from archscan.tracing.modules import Extension
from archscan.tracing.paths import Paths

_FROM = re.compile(rb"\bfrom[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n]*))")
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n;]+)", re.M)
_NAME = re.compile(rb"([\w.]+)(?:\s+as\s+(\w+))?")
_COMMENT = re.compile(rb"#[^\n]*")
_DEPTH = 4  # files that pass a name on
Read = Callable[[str], bytes | None]


class Imports:
    """The import statements of files, read when they are asked for."""

    def __init__(self, built: Iterable[Extension], paths: Paths, read: Read) -> None:
        self._paths = paths
        self._read = read
        self._imported: dict[str, dict[str, list[str]]] = {}
        self._definitions: dict[str, Definitions] = {}
        self._defining: dict[str, set[str]] = {}
        for extension in built:
            for name in (extension.function, *extension.wrappers):
                self._defining.setdefault(name, set()).add(extension.path)

    def means(self, call: str, path: str, extension: Extension) -> bool:
        """Whether a call, as written in a file, is one of a function that builds this module."""
        if path == extension.path:
            return "." not in call
        head, *between, name = call.split(".") if "." in call else ("", call)
        if not head:
            return self._offers(name, path, extension, _DEPTH)
        modules = (self._paths.module(".".join([module, *between]), path) for module in self._of(path).get(head, ()))
        return any(found is not None and self._has(name, found, extension, _DEPTH) for found in modules)

    def _has(self, name: str, path: str, extension: Extension, depth: int) -> bool:
        """Whether the function is what a file calls so: defined there, or passed on."""
        if path == extension.path:
            return True
        return depth > 0 and path not in self._defining[name] and self._offers(name, path, extension, depth - 1)

    def _offers(self, name: str, path: str, extension: Extension, depth: int) -> bool:
        """Whether a file has imported the function under this name, through `__init__.py` as often as it takes."""
        known = self._of(path)
        for module in known.get(name) or known.get("*") or ():
            found = self._paths.module(module.rpartition(".")[0] or ".", path)
            if found is not None and self._has(name, found, extension, depth):
                return True
        return False

    def _of(self, path: str) -> dict[str, list[str]]:
        """What the names that a file imports stand for: `{"gen_x": [".jit.x.gen_x"], "*": [".jit.y.*"]}`."""
        if path not in self._imported:
            found: dict[str, list[str]] = {}
            data = self._read(path) or b""
            for module, inside, line in _FROM.findall(data):
                for name, alias in _NAME.findall(_COMMENT.sub(b"", inside or line)):
                    dotted = f"{module.decode()}{'' if module.endswith(b'.') else '.'}{name.decode()}"
                    found.setdefault((alias or name).decode(), []).append(dotted)
                if b"*" in (inside or line):
                    found.setdefault("*", []).append(f"{module.decode()}{'' if module.endswith(b'.') else '.'}*")
            for line in _IMPORT.findall(data):
                for name, alias in _NAME.findall(_COMMENT.sub(b"", line)):
                    head = alias or name.partition(b".")[0]
                    found.setdefault(head.decode(), []).append((name if alias else head).decode())
            self._imported[path] = found
        return self._imported[path]

    def function_at(self, path: str, line: int) -> str:
        """The outermost function around a line; "" at module level."""
        if path not in self._definitions:
            self._definitions[path] = Definitions.of(self._read(path) or b"")
        known = self._definitions[path]
        offset = 0
        for _ in range(line - 1):
            offset = known.data.find(b"\n", offset) + 1
        text = known.data[offset : known.data.find(b"\n", offset)]
        return known.around(offset + len(text) - len(text.lstrip()))[0]
