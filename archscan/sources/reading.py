"""Reads the files that discovery found, one at a time, in whichever process needs them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from archscan.model.facts import Failed, Origin, Skipped, Source
from archscan.sources.origins import of_content
from archscan.sources.unread import Unread

MAX_SIZE = 64 << 20  # bytes; the largest machine-written source known has 4.2 MB
_LOOKED_AT = 8192
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read(unread: Iterable[Unread], overlay: Mapping[str, bytes] | None = None) -> Iterator[Source | Skipped | Failed]:
    """Each file as a Source, or why it is none, in the order given; `overlay` has bytes that stand for a file's own."""
    for archive, group in groupby(unread, key=lambda one: one.archive):
        if archive:
            from archscan.sources import archives

            for one, found in archives.contents(archive, group, MAX_SIZE):
                yield _judged(one, found)
            continue
        for one in group:
            if overlay and one.path in overlay:
                yield replace(_source(one, overlay[one.path]), stays=False)
            else:
                yield _judged(one, one.data if one.data is not None else _load(one))


def _load(one: Unread) -> bytes | Failed:
    """The bytes of a file on disk, at most one more than the limit; never blocks on what became a FIFO meanwhile."""
    try:
        descriptor = os.open(one.disk, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            data = file.read(min(size, MAX_SIZE) + 1)
            while data and len(data) < size and len(data) <= MAX_SIZE:
                more = file.read(min(size, MAX_SIZE) + 1 - len(data))
                if not more:
                    break
                data += more
            return data or b""
    except FileNotFoundError:
        return Failed(one.path, "vanished while it was scanned", one.named)
    except OSError as error:
        return Failed(one.path, (error.strerror or type(error).__name__).lower(), one.named)


def _judged(one: Unread, found: bytes | Failed) -> Source | Skipped | Failed:
    """The bytes as a Source, unless they are no text that can be read."""
    if isinstance(found, Failed):
        return found
    why = ""
    if len(found) > MAX_SIZE:
        why = f"larger than {MAX_SIZE >> 20} MB"
    elif found.startswith(_UTF16):
        why = "UTF-16 text: convert it to UTF-8"
    elif b"\0" in found[:_LOOKED_AT]:
        why = "binary file"
    if why:
        return Failed(one.path, why, True) if one.named else Skipped(one.path, why)
    return _source(one, found)


def _source(one: Unread, data: bytes) -> Source:
    """The file as front ends see it; its first lines may say that a generator wrote it."""
    origin, evidence = one.origin, one.evidence
    if origin in (Origin.OWN, Origin.TEST):
        judged = of_content(data)
        if judged.origin is not Origin.OWN:
            origin, evidence = judged.origin, judged.evidence
    return Source(one.path, data, one.disk, origin, evidence, one.root, one.below)
