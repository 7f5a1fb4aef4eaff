"""The container that nvcc puts images into ("fatbin"): a header, then entries one behind the other, no end mark."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from archscan.binary.unpack import announced
from archscan.binary.view import View
from archscan.model.library import CUBIN, LTO, PTX, Image, Span
from archscan.model.target import Target

MAGIC = bytes.fromhex("50ED55BA01001000")  # with version 1 and a header of 16 bytes
HEADER = 16
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_ENTRY_VERSION = 0x0101
_KINDS = {1: PTX, 2: CUBIN, 8: LTO}
_LZ4, _ZSTD, _CHIP, _FAMILY = 0x2000, 0x8000, 0x100000, 0x200000
_MOST_HEADER = 1 << 20  # bytes; what stands between header and payload are options
_SMS = range(10, 1000)


@dataclass(frozen=True, slots=True)
class Container:
    """What was read of one container."""

    images: tuple[Image, ...]
    failed: tuple[str, ...]
    end: int  # where to go on: behind it, or behind its header if it is damaged


def is_container(view: View, at: int) -> bool:
    """Whether the start of a container at `at` is followed by something that looks like an entry."""
    head = view.read(at, HEADER + 4)
    return len(head) == HEADER + 4 and head[18:20] == b"\1\1" and head[:8] == MAGIC


def container(view: View, at: int) -> Container:
    """The images in the container at `at`. Whatever sizes it claims, this ends."""
    (size,) = struct.unpack("<Q", view.read(at + 8, 8))
    end = at + HEADER + size
    images: list[Image] = []
    failed: list[str] = []
    for found in _entries(view, at + HEADER, end):
        (failed if isinstance(found, str) else images).append(found)  # type: ignore[arg-type]
    whole = not failed or not failed[-1].startswith(_BROKEN)
    return Container(tuple(images), tuple(failed), end if whole else at + HEADER)


_BROKEN = "damaged container"


def _entries(view: View, at: int, end: int) -> Iterator[Image | str]:
    """Each image, or why it is none."""
    while at + _ENTRY.size <= end:
        head = view.read(at, _ENTRY.size)
        if len(head) < _ENTRY.size:
            yield f"{_BROKEN} at {at:#x}: truncated where an image should begin"
            return
        kind, version, header, size, *rest = _ENTRY.unpack(head)
        if version != _ENTRY_VERSION:
            if any(head):  # zeros pad a container
                yield f"{_BROKEN} at {at:#x}: no image where one should begin"
            elif not view.read(end - 1, 1):
                yield f"{_BROKEN} at {at:#x}: truncated"
            return
        if not _ENTRY.size <= header <= _MOST_HEADER:
            yield f"{_BROKEN} at {at:#x}: an image header of {header:,} bytes"
            return
        following = at + header + size
        if following > end:
            yield f"{_BROKEN} at {at:#x}: an image that ends outside of its container"
            return
        if size and not view.read(following - 1, 1):
            yield f"{_BROKEN} at {at:#x}: truncated in an image of {size:,} bytes"
            return
        yield _image(kind, at + header, size, rest)
        at = following


def _image(kind: int, payload: int, size: int, fields: list[int]) -> Image | str:
    """The image of an entry; fields are those behind the payload size."""
    packed, _, minor, major, sm, _, _, flags, _, raw = fields
    where = f"damaged image at {payload:#x}"
    if sm not in _SMS:
        return f"{where}: it is for sm_{sm}"
    if packed > size:
        return f"{where}: {packed:,} bytes in a place for {size:,}"
    scheme = "" if not packed else "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "unknown"
    why = announced(scheme, packed, raw) if packed else ""
    if why:
        return f"{where}: {why}"
    suffix = "a" if flags & _CHIP else "f" if flags & _FAMILY else ""
    span = Span(payload, packed or size, scheme, raw if packed else size)
    return Image(_KINDS.get(kind, f"kind{kind}"), Target(sm, suffix), f"{major}.{minor}", span)
