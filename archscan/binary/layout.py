"""The file around the images: for which processor it is, and which of its sections hold objects for a linker."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from archscan.binary import elf
from archscan.binary.damage import Damaged

AR = b"!<arch>\n"
_AR_MEMBER = 60
_PE_MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64", 0x14C: "i386"}
_RELOCATABLE = ("__nv_relfatbin", "__nv_rel")  # a PE file cuts names to eight characters
_AMD = ".hip_fatbin"
AMD_NOTE = "AMD code objects are in it too: archscan does not read them"
_MOST_TABLE = 1 << 22  # bytes of section headers or names

Read = Callable[[int, int], bytes]  # start, length -> bytes, fewer where the file ends


@dataclass(frozen=True, slots=True)
class Layout:
    """What the tables of a file say."""

    machine: str = ""
    relocatable: tuple[range, ...] = ()
    notes: tuple[str, ...] = ()

    def is_relocatable(self, at: int) -> bool:
        """Whether an offset lies in a section of objects for a linker."""
        return any(at in part for part in self.relocatable)


def layout(read: Read) -> Layout:
    """What the tables of a file say, whatever its format; nothing where there is none that is known."""
    head = read(0, elf.HEADER)
    try:
        if head.startswith(AR):
            return _joined([_elf(read, at) for at in _members(read)])
        if head.startswith(elf.MAGIC):
            return _elf(read, 0)
        return _pe(read, head)
    except (Damaged, struct.error) as error:
        return Layout(_machine(head), notes=(f"its sections cannot be read: {error}",))


def _machine(head: bytes) -> str:
    """The processor that the first bytes of an ELF file name."""
    return elf.MACHINES.get(int.from_bytes(head[18:20], "little"), "") if head.startswith(elf.MAGIC) else ""


def _elf(read: Read, start: int) -> Layout:
    head = elf.header(read(start, elf.HEADER))
    if head.machine == elf.CUDA:
        return Layout()
    machine = elf.MACHINES.get(head.machine, f"machine {head.machine}")
    found = _sections(read, start, head)
    parts = tuple(range(start + s.start, start + s.start + s.size) for s in found if s.name in _RELOCATABLE)
    return Layout(machine, parts, (AMD_NOTE,) if any(s.name == _AMD for s in found) else ())


def _sections(read: Read, start: int, head: elf.Header) -> list[elf.Section]:
    """The sections of the ELF file that begins at `start`."""
    rows = elf.table(read(start + head.sections_at, elf.table_size(head)), head)
    if not rows:
        return []
    at, size = elf.names_at(rows, head)
    return elf.with_names(rows, read(start + at, min(size, _MOST_TABLE)))


def constants(read: Read) -> tuple[tuple[int, int], ...]:
    """Where the constants of a library lie, texts among them, front to back: offset and size."""
    head = read(0, elf.HEADER)
    try:
        if head.startswith(elf.MAGIC):
            found = _sections(read, 0, elf.header(head))
            parts = [(s.start, s.size) for s in found if s.name.startswith(".rodata") and s.has_bytes]
        else:
            parts = [(start, size) for name, start, size in _pe_sections(read, head)[1] if name == ".rdata"]
    except (Damaged, struct.error):
        return ()
    return tuple(sorted(parts))


def _members(read: Read) -> Iterator[int]:
    """Where the ELF files in an archive of objects begin."""
    at = len(AR)
    while len(head := read(at, _AR_MEMBER)) == _AR_MEMBER:
        size = head[48:58].strip()
        if head[58:] != b"`\n" or not size.isdigit():
            raise Damaged("no archive member where one should begin")
        if read(at + _AR_MEMBER, len(elf.MAGIC)) == elf.MAGIC:
            yield at + _AR_MEMBER
        at += _AR_MEMBER + int(size) + int(size) % 2


def _joined(parts: list[Layout]) -> Layout:
    machines = {part.machine for part in parts if part.machine}
    return Layout(
        "/".join(sorted(machines)),
        tuple(found for part in parts for found in part.relocatable),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _pe(read: Read, head: bytes) -> Layout:
    machine, sections = _pe_sections(read, head)
    return Layout(machine, tuple(range(start, start + size) for name, start, size in sections if name in _RELOCATABLE))


def _pe_sections(read: Read, head: bytes) -> tuple[str, list[tuple[str, int, int]]]:
    """The processor of a PE file, and its sections: name, offset, size."""
    if not head.startswith(b"MZ"):
        return "", []
    (at,) = struct.unpack_from("<I", head, 0x3C)
    signature = read(at, 24)
    if signature[:4] != b"PE\0\0" or len(signature) < 24:
        return "", []
    machine, count = struct.unpack_from("<HH", signature, 4)
    (options,) = struct.unpack_from("<H", signature, 20)
    table = read(at + 24 + options, 40 * count)
    found = []
    for i in range(len(table) // 40):
        name, _, _, size, start = struct.unpack_from("<8sIIII", table, 40 * i)
        found.append((name.rstrip(b"\0").decode("latin-1"), start, size))
    return _PE_MACHINES.get(machine, f"machine {machine:#x}"), found
