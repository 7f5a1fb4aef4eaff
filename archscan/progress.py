"""A progress bar on standard error, for scans that take long, where a terminal shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_PATIENCE = 0.7  # seconds before anything is shown
_EVERY = 0.1
_BAR = 24


@contextmanager
def progress(stream: TextIO) -> Iterator[Callable[[int, int], None] | None]:
    """A function to be told (done, all), or None if nobody would see; what was drawn is wiped at the end."""
    if not stream.isatty():
        yield None
        return
    bar = _Bar(stream)
    try:
        yield bar.show
    finally:
        bar.wipe()


class _Bar:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = time.monotonic() + _PATIENCE
        self._drawn = 0

    def show(self, done: int, total: int) -> None:
        """Draws the bar, at most ten times a second."""
        now = time.monotonic()
        if now < self._next or not total:
            return
        self._next = now + _EVERY
        filled = _BAR * done // total
        text = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:,} of {total:,} files"
        self._stream.write("\r" + text.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(text)

    def wipe(self) -> None:
        """Leaves the line empty."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
