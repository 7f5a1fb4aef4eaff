"""Paths as they are reported: forward slashes, bytes that are not UTF-8 as \\xNN."""

from __future__ import annotations

import os


def shown(path: str) -> str:
    """A path of the file system as reported."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    if path.isascii():
        return path
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
