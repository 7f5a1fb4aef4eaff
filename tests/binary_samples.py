"""The binary samples: files made with nvcc 13.0.88 and ptxas 12.9.86, damaged ones, and what nvdisasm says of them."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archscan.binary.contents import of_buffer, of_stream
from archscan.binary.damage import Damaged
from archscan.binary.natures import kernels
from archscan.binary.view import Streamed
from archscan.model.library import Image, Kernels

SAMPLES = Path(__file__).parent / "data" / "binary"
ANSWERS: dict[str, Any] = json.loads((SAMPLES / "answers.json").read_text())
LISTED = sorted(name for name, answer in ANSWERS.items() if isinstance(answer, dict) and "images" in answer)
LOOSE = sorted(name for name, answer in ANSWERS.items() if isinstance(answer, dict) and "target" in answer)
HOSTILE = sorted(ANSWERS["hostile"])


def sample(name: str) -> bytes:
    """The bytes of a sample."""
    return (SAMPLES / name).read_bytes()


def streamed(data: bytes, step: int) -> Streamed:
    """The bytes as a stream that gives at most `step` at a time."""
    chunks = iter([data[i : i + step] for i in range(0, len(data), step)])
    return Streamed(lambda size: next(chunks, b""), len(data))


def natures(image: Image, data: bytes) -> Kernels:
    """What the kernels of an image of a file do."""
    return kernels(image, data[image.span.start : image.span.start + image.span.length])


def read_all(data: bytes, name: str) -> None:
    """Reads everything in a file in every way; any exception is a bug."""
    for image in (image for module in of_buffer(data, name).modules for image in module.images):
        natures(image, data)
    with contextlib.suppress(Damaged):
        of_stream(lambda: streamed(data, 1 << 20), name)


def mutants(number: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Samples with a few bytes changed, cut, doubled or inserted, mostly where sizes and offsets stand."""
    chance = random.Random(seed)
    names = [*LISTED, *LOOSE, *HOSTILE, "loose_90a.ptx"]
    known = {name: sample(name) for name in names}
    for _ in range(number):
        name = chance.choice(names)
        data = bytearray(known[name])
        for _ in range(chance.choice((1, 1, 2, 4, 16))):
            at = chance.randrange(len(data)) if chance.random() < 0.5 else _interesting(data, chance)
            what = chance.random()
            if what < 0.5:
                data[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            elif what < 0.7:
                data[at : at + 8] = chance.choice((2**64 - 1, 2**63, 2**31, 0, 1, len(data))).to_bytes(8, "little")
            elif what < 0.8:
                del data[at : at + chance.choice((1, 8, 64, 4096))]
            elif what < 0.9:
                data[at:at] = bytes(data[at : at + chance.choice((1, 16, 64, 512))])
            else:
                del data[at:]
            if not data:
                data = bytearray(b"\0")
        yield name, bytes(data)


def _interesting(data: bytearray, chance: random.Random) -> int:
    """A place behind the beginning of a container or of an ELF file."""
    start = max(data.find(chance.choice((b"\x50\xed\x55\xba", b"\x7fELF", b"\x01\x01\x40\0"))), 0)
    return min(start + chance.randrange(120), len(data) - 1)
