"""ELF64, as far as libraries and cubins need it: header, sections, symbols. Checks the bounds of what it reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from archscan.binary.damage import Damaged

MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bit, little endian, version 1
CUDA = 190  # e_machine of a cubin
MACHINES = {62: "x86_64", 183: "aarch64", 21: "ppc64le", 243: "riscv64", 40: "arm", 3: "i386"}
HEADER = 64
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOBITS = 8


class Header(NamedTuple):
    """The fields of an ELF header that are looked at."""

    osabi: int
    abi: int
    machine: int
    flags: int
    sections_at: int
    sections: int
    names: int  # index of the section with the names of sections
    segments_at: int
    segments: int


class Section(NamedTuple):
    name: str
    kind: int
    start: int
    size: int
    link: int

    @property
    def has_bytes(self) -> bool:
        return self.kind != _NOBITS


class Symbol(NamedTuple):
    name: str
    kind: int
    other: int
    section: int
    value: int
    size: int


def header(data: bytes) -> Header:
    """The header at the beginning of `data`; Damaged if it is none of a 64-bit little-endian ELF file."""
    if len(data) < HEADER or not data.startswith(MAGIC):
        raise Damaged("no 64-bit ELF file")
    _, machine, _, _, phoff, shoff, flags, _, phentsize, phnum, shentsize, shnum, shstrndx = struct.unpack_from(
        "<HHIQQQIHHHHHH", data, 16
    )
    if shnum and shentsize != _SECTION.size:
        raise Damaged("its ELF sections have an odd size")
    return Header(data[7], data[8], machine, flags, shoff, shnum, shstrndx, phoff, phnum * phentsize)


def sections(data: bytes, head: Header) -> list[Section]:
    """The sections of the ELF file that `data` begins with."""
    rows = table(data[head.sections_at : head.sections_at + table_size(head)], head)
    if not rows:
        return []
    at, size = names_at(rows, head)
    return with_names(rows, data[at : at + size])


def table(data: bytes, head: Header) -> list[tuple[int, ...]]:
    """The section headers that `data` consists of."""
    if len(data) < table_size(head):
        raise Damaged("its ELF section table lies outside of it")
    return [_SECTION.unpack_from(data, i * _SECTION.size) for i in range(head.sections)]


def table_size(head: Header) -> int:
    """How many bytes the section table has."""
    return head.sections * _SECTION.size


def names_at(rows: list[tuple[int, ...]], head: Header) -> tuple[int, int]:
    """Where the names of sections lie: offset and size."""
    if head.names >= len(rows):
        raise Damaged("its ELF section names are missing")
    return rows[head.names][4], rows[head.names][5]


def with_names(rows: list[tuple[int, ...]], names: bytes) -> list[Section]:
    """Section headers with their names."""
    return [Section(_text(names, row[0]), row[1], row[4], row[5], row[6]) for row in rows]


def content(data: bytes, section: Section) -> bytes:
    """The bytes of a section of the ELF file that `data` is; Damaged if they are not all there."""
    if not section.has_bytes:
        return b""
    if section.start + section.size > len(data):
        raise Damaged(f"its ELF section {section.name} lies outside of it")
    return data[section.start : section.start + section.size]


def symbols(data: bytes, found: list[Section]) -> Iterator[Symbol]:
    """The symbols of `.symtab`."""
    for section in found:
        if section.name != ".symtab":
            continue
        if section.link >= len(found):
            raise Damaged("its ELF symbols have no names")
        names = content(data, found[section.link])
        rows = content(data, section)
        for at in range(0, len(rows) - _SYMBOL.size + 1, _SYMBOL.size):
            name, info, other, index, value, size = _SYMBOL.unpack_from(rows, at)
            yield Symbol(_text(names, name), info & 0xF, other, index, value, size)


def extent(head: Header, rows: list[tuple[int, ...]]) -> int:
    """How many bytes the file has, by its own tables."""
    ends = [row[4] + row[5] for row in rows if row[1] not in (0, _NOBITS)]
    return max([HEADER, head.sections_at + head.sections * _SECTION.size, head.segments_at + head.segments, *ends])


def _text(names: bytes, at: int) -> str:
    end = names.find(b"\0", at)
    return names[at : end if end >= 0 else len(names)].decode("utf-8", "backslashreplace") if at < len(names) else ""
