"""What the kernels of an image do, from its bytes as stored."""

from __future__ import annotations

import struct

from archscan.binary import cubin, ptx
from archscan.binary.damage import Damaged
from archscan.binary.unpack import unpacked
from archscan.model.library import CUBIN, PTX, Image, Kernels


def kernels(image: Image, stored: bytes) -> Kernels:
    """The kernels of an image, or why they cannot be read."""
    span = image.span
    if image.kind not in (CUBIN, PTX):
        return Kernels(failed="no machine code and no PTX: its kernels cannot be read")
    if len(stored) < span.length:
        return Kernels(failed="truncated")
    try:
        data = unpacked(stored, span.scheme, span.raw)
        if image.kind == CUBIN:
            return _sorted(cubin.kernels(data, image.target.sm))
        return _sorted(ptx.kernels(data))
    except (Damaged, struct.error) as error:
        return Kernels(failed=str(error))


def _sorted(natures: dict[str, str]) -> Kernels:
    return Kernels(tuple(sorted(natures.items())))
