"""Unified diffs that `git apply` and `patch` take, line endings and missing final newlines included."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

_QUOTED = re.compile(rb'[\x00-\x1f"\\\x7f-\xff]')
_LETTERS = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The diff of one file, with `a/` and `b/` paths; b"" if nothing differs."""
    if before == after:
        return b""
    old, new = before.split(b"\n"), after.split(b"\n")
    name_old, name_new = (_name(f"{side}/{path}".encode("utf-8", "surrogateescape")) for side in "ab")
    lines = difflib.diff_bytes(difflib.unified_diff, _ended(old), _ended(new), name_old, name_new, lineterm=b"\n")
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def patch(changes: Mapping[str, tuple[bytes, bytes]]) -> bytes:
    """One patch of several files: path -> (bytes before, bytes after), in path order."""
    return b"".join(unified(path, *changes[path]) for path in sorted(changes))


def _name(path: bytes) -> bytes:
    """The name as git writes it: quoted as in C if it holds more than plain characters, so that it stays one line."""
    if _QUOTED.search(path):
        return b'"' + _QUOTED.sub(_escaped, path) + b'"'
    return path + b"\t" if b" " in path else path  # the tab is where a name with blanks ends


def _escaped(match: re.Match[bytes]) -> bytes:
    byte = match[0][0]
    return b"\\" + (_LETTERS.get(byte) or b"%03o" % byte)


def _ended(lines: list[bytes]) -> list[bytes]:
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended
