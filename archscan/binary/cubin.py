"""A cubin: which chip it is for, and what each of its kernels does."""

from __future__ import annotations

import re
import struct

from archscan.binary import elf, sass
from archscan.binary.damage import Damaged
from archscan.model.target import Target

_OLD_ABI = 0x33  # EI_OSABI up to nvcc 12 for SM < 100
_NEW_ABI = 0x41
_KERNEL = 0x10  # in st_other
_FUNCTION = 2
_CHIP_ONLY = 9  # attribute of .nv.compat
_SIZED = 4  # format of .nv.compat whose value is the length of what follows
_ARCH_OPTION = re.compile(rb"-arch[ =]sm_(\d{2,3})f\b")


def target_of(data: bytes) -> tuple[Target, str]:
    """The chip that a loose cubin is for, and the version of its format. Damaged if that cannot be told."""
    head = elf.header(data)
    if head.machine != elf.CUDA:
        raise Damaged("no cubin")
    if head.osabi == _OLD_ABI:
        return Target(head.flags & 0xFF, "a" if head.flags & 0x800 else ""), f"1.{head.abi}"
    if head.osabi != _NEW_ABI:
        raise Damaged(f"a cubin of an unknown kind (ABI {head.osabi:#x})")
    sm = head.flags >> 8 & 0xFF
    found = {section.name: section for section in elf.sections(data, head)}
    compat, info = found.get(".nv.compat"), found.get(".note.nv.tkinfo")
    suffix = ""
    if head.flags & 0x8 or (compat and _compat(elf.content(data, compat)).get(_CHIP_ONLY) == 1):
        suffix = "a"
    elif info and (named := _ARCH_OPTION.search(elf.content(data, info))) and int(named[1]) == sm:
        suffix = "f"
    return Target(sm, suffix), f"1.{head.abi}"


def _compat(data: bytes) -> dict[int, int]:
    """The attributes in a `.nv.compat` section."""
    found: dict[int, int] = {}
    at = 0
    while at + 4 <= len(data):
        form, attribute, value = struct.unpack_from("<BBH", data, at)
        found[attribute] = value
        at += 4 + (value if form == _SIZED else 0)
    return found


def kernels(data: bytes, sm: int) -> dict[str, str]:
    """What each kernel does: code, empty, trap, dead or unknown, by its mangled name."""
    head = elf.header(data)
    if head.machine != elf.CUDA:
        raise Damaged("no cubin")
    found = elf.sections(data, head)
    natures: dict[str, str] = {}
    for symbol in elf.symbols(data, found):
        if symbol.kind != _FUNCTION or not symbol.other & _KERNEL:
            continue
        if symbol.section >= len(found) or not found[symbol.section].has_bytes:
            raise Damaged(f"kernel {symbol.name} lies outside of its code")
        start = found[symbol.section].start + symbol.value
        code = data[start : start + symbol.size]
        if len(code) != symbol.size:
            raise Damaged(f"kernel {symbol.name} lies outside of its code")
        natures[symbol.name] = sass.nature(code, sm)
    return natures
