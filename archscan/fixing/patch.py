"""Unified diffs that `git apply` and `patch` take, line endings and missing final newlines included."""

from __future__ import annotations

import difflib
from collections.abc import Mapping


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The diff of one file, with `a/` and `b/` paths; b"" if nothing differs."""
    if before == after:
        return b""
    old, new = before.split(b"\n"), after.split(b"\n")
    lines = difflib.diff_bytes(
        difflib.unified_diff, _ended(old), _ended(new), f"a/{path}".encode(), f"b/{path}".encode(), lineterm=b"\n"
    )
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def patch(changes: Mapping[str, tuple[bytes, bytes]]) -> bytes:
    """One patch of several files: path -> (bytes before, bytes after), in path order."""
    return b"".join(unified(path, *changes[path]) for path in sorted(changes))


def _ended(lines: list[bytes]) -> list[bytes]:
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended
