"""Image bytes as stored -> as they are, with limits that a small file which unpacks to a huge one runs into."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

from archscan.binary import lz4
from archscan.binary.damage import Damaged

MOST_RAW = 1 << 30  # bytes of one image
# Bytes for one stored byte: LZ4 cannot do more than 255, zstd writes a run of any length into a few bytes.
MOST_RATIO = {"lz4": 1024, "zstd": 32768, "unknown": 1024}
_WINDOW_LOGS = (10, 30)  # what zstd knows; a frame that asks for a larger window than its content needs is refused
_USUAL_WINDOW = 23  # of frames that were written before their size was known


class Unreadable(Damaged):
    """Bytes that are right and that this Python cannot unpack."""


def announced(scheme: str, stored: int, raw: int) -> str:
    """Why an image of that many stored and unpacked bytes is refused ("" = it is not)."""
    if raw > MOST_RAW:
        return f"unpacks to {raw:,} bytes, more than {MOST_RAW >> 30} GiB"
    if raw > stored * MOST_RATIO[scheme]:
        return f"unpacks to {raw // max(stored, 1):,} times its size"
    return ""


def unpacked(data: bytes, scheme: str, raw: int) -> bytes:
    """The bytes of an image; Damaged if they are not what was announced."""
    if not scheme:
        return data
    if scheme == "lz4":
        return _lz4(data, raw)
    if scheme == "zstd":
        return _zstd(data, raw)
    raise Unreadable("compressed in a way that archscan does not know")


def _lz4(data: bytes, raw: int) -> bytes:
    """By the package lz4 where it is installed, which is twenty times as fast as our own code."""
    try:
        block = import_module("lz4.block")
    except ImportError:
        return lz4.unpacked(data, raw)
    try:
        found: bytes = block.decompress(data, uncompressed_size=raw)
    except (block.LZ4BlockError, ValueError, OverflowError, MemoryError):
        return lz4.unpacked(data, raw)  # says what is wrong
    return found if len(found) == raw else lz4.unpacked(data, raw)


def _zstd(data: bytes, raw: int) -> bytes:
    zstd = _module()
    if zstd is None:
        raise Unreadable("compressed with zstd: its kernels can be read once backports.zstd is installed")
    low, high = _WINDOW_LOGS
    window = min(max(raw.bit_length(), _USUAL_WINDOW, low), high)
    try:
        stream = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: window})
        found: bytes = stream.decompress(data, raw + 1)
    except (zstd.ZstdError, ValueError, EOFError, MemoryError, OverflowError) as error:
        raise Damaged(f"its zstd data cannot be unpacked: {error}") from None
    if len(found) > raw:
        raise Damaged(f"its zstd data hold more bytes than announced ({raw:,})")
    if len(found) != raw:
        raise Damaged(f"its zstd data hold {len(found):,} bytes, announced are {raw:,}")
    return found


def _module() -> Any:
    """The zstd module of this Python; None if it has none."""
    for name in ("compression.zstd", "backports.zstd"):
        with contextlib.suppress(ImportError):
            return import_module(name)
    return None
