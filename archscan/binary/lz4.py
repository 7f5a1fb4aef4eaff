"""The LZ4 block format, which nvcc 12 and `--compress-mode=speed` compress images with."""

from __future__ import annotations

from archscan.binary.damage import Damaged

_SHORT = "its LZ4 data end too early"


def unpacked(data: bytes, size: int) -> bytes:
    """The `size` bytes that a block stands for; Damaged if it holds more, fewer, or none at all."""
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            token = data[at]
            at += 1
            literals = token >> 4
            if literals == 15:
                at, literals = _extended(data, at, literals)
            if len(out) + literals > size:
                raise Damaged(f"its LZ4 data hold more bytes than announced ({size:,})")
            if at + literals > end:
                raise Damaged(_SHORT)
            out += data[at : at + literals]
            at += literals
            if at == end:  # the last sequence has no match
                break
            offset = data[at] | data[at + 1] << 8
            at += 2
            length = token & 15
            if length == 15:
                at, length = _extended(data, at, length)
            length += 4
            if not 0 < offset <= len(out):
                raise Damaged("its LZ4 data point before their beginning")
            if len(out) + length > size:
                raise Damaged(f"its LZ4 data hold more bytes than announced ({size:,})")
            start = len(out) - offset
            if offset >= length:
                out += out[start : start + length]
            else:  # overlapping: the pattern repeats
                out += (out[start:] * (length // offset + 1))[:length]
    except IndexError:
        raise Damaged(_SHORT) from None
    if len(out) != size:
        raise Damaged(f"its LZ4 data hold {len(out):,} bytes, announced are {size:,}")
    return bytes(out)


def _extended(data: bytes, at: int, length: int) -> tuple[int, int]:
    """A length that goes on in further bytes, and where the data go on."""
    while True:
        more = data[at]
        at += 1
        length += more
        if more != 255:
            return at, length
