"""All images in a file, whatever format it has: containers and loose cubins are found by how they begin."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

from archscan.binary import cubin, elf, fatbin, layout, ptx
from archscan.binary.damage import Damaged
from archscan.binary.view import Mapped, Streamed, View
from archscan.model.library import CUBIN, PTX, Image, Module, Span
from archscan.model.target import Target

# Their first four bytes are found in a third of the time: what follows them ends in bytes that are everywhere.
_PATTERNS = (fatbin.MAGIC[:4], elf.MAGIC[:4])
_MOST_IMAGES = 1_000_000
_MOST_FAILED = 1000
_BEFORE_TABLE = 1 << 18  # bytes
_MOST_CUBIN = 1 << 28  # bytes of one loose cubin
_SMS = range(10, 256)


@dataclass(frozen=True, slots=True)
class Contents:
    """What is inside of one file."""

    machine: str
    modules: tuple[Module, ...]
    failed: tuple[str, ...]
    notes: tuple[str, ...]
    size: int  # of the file as it is, whatever an archive says


def of_buffer(data: bytes, name: str = "") -> Contents:
    """What is in a file that is all there; `name` tells PTX from other text."""
    if name.lower().endswith(".ptx"):
        return _text(data)
    view = Mapped(data)
    found, failed = _modules(view)
    return _laid_out(found, failed, layout.layout(view.read), view.size)


def of_stream(reopen: Callable[[], Streamed], name: str = "") -> Contents:
    """What is in a file that can only be read from its beginning; it is opened again for tables that do not fit."""
    stream = reopen()
    head = stream.read(0, elf.HEADER)
    if head.startswith(layout.AR) or name.lower().endswith(".ptx"):
        data = stream.read(0, _MOST_CUBIN + 1)
        if len(data) > _MOST_CUBIN:
            raise Damaged(f"larger than {_MOST_CUBIN >> 20} MB: unpack it to have it read")
        return of_buffer(data, name)
    _keep_tables(stream, head)
    found, failed = _modules(stream)
    stream.rest()

    gone: list[int] = []

    def read(start: int, length: int) -> bytes:
        """Bytes of the head or the end, which are held; else out of another pass, if there are images to place."""
        if start + length <= len(head):
            return head[start : start + length]
        kept = stream.kept(start, length)
        if kept is None and found:
            return reopen().read(start, length)
        gone.extend([start] if kept is None else [])
        return kept or b""

    around = layout.layout(read)
    return _laid_out(found, failed, layout.Layout(around.machine) if gone else around, stream.size)


def _keep_tables(stream: Streamed, head: bytes) -> None:
    """Has the section table kept, and what stands before it: as a rule the names of the sections."""
    if head.startswith(elf.MAGIC) and len(head) == elf.HEADER:
        with contextlib.suppress(Damaged):
            found = elf.header(head)
            stream.keep(found.sections_at - _BEFORE_TABLE, _BEFORE_TABLE + elf.table_size(found))


def _laid_out(found: list[tuple[int, Module]], failed: list[str], around: layout.Layout, size: int) -> Contents:
    modules = (
        Module(module.images, around.is_relocatable(at), module.loose) if around.relocatable else module
        for at, module in found
    )
    more = [f"{len(failed) - _MOST_FAILED:,} more"] if len(failed) > _MOST_FAILED else []
    return Contents(around.machine, tuple(modules), (*failed[:_MOST_FAILED], *more), around.notes, size)


def _modules(view: View) -> tuple[list[tuple[int, Module]], list[str]]:
    """Every module with its offset, and what could not be read."""
    found: list[tuple[int, Module]] = []
    failed: list[str] = []
    images = 0
    at = view.first(_PATTERNS, 0)
    while at >= 0:
        after = at + 1
        start = view.read(at, len(fatbin.MAGIC))
        if start == fatbin.MAGIC:
            if fatbin.is_container(view, at):
                one = fatbin.container(view, at)
                failed += one.failed
                if one.images:
                    found.append((at, Module(one.images)))
                after = one.end
        elif start.startswith(elf.MAGIC):
            module, why, after = _loose(view, at)
            failed += [why] if why else []
            found += [(at, module)] if module else []
        images += len(found[-1][1].images) if found and found[-1][0] == at else 0
        if images > _MOST_IMAGES:
            failed.append(f"more than {_MOST_IMAGES:,} images: what follows {after:#x} was not read")
            break
        at = view.first(_PATTERNS, after)
    return found, failed


def _loose(view: View, at: int) -> tuple[Module | None, str, int]:
    """The cubin at `at`, or why it is none ("" = it is another kind of ELF file), and where to go on."""
    after = at + len(elf.MAGIC)
    head_bytes = view.read(at, elf.HEADER)
    if head_bytes[18:20] != elf.CUDA.to_bytes(2, "little"):
        return None, "", after
    try:
        head = elf.header(head_bytes)
        if head.sections_at > _MOST_CUBIN:
            raise Damaged("its ELF section table lies outside of it")
        rows = elf.table(view.read(at + head.sections_at, elf.table_size(head)), head)
        size = elf.extent(head, rows)
        if size > _MOST_CUBIN:
            raise Damaged(f"a cubin of {size:,} bytes")
        data = view.read(at, size)
        if len(data) < size:
            raise Damaged("truncated")
        target, version = cubin.target_of(data)
        if target.sm not in _SMS:
            raise Damaged(f"it is for sm_{target.sm}")
    except (Damaged, struct.error) as error:
        return None, f"damaged cubin at {at:#x}: {error}", after
    return _single(CUBIN, target, version, Span(at, size, raw=size)), "", at + size


def _single(kind: str, target: Target, version: str, span: Span) -> Module:
    return Module((Image(kind, target, version, span),), loose=True)


def _text(data: bytes) -> Contents:
    try:
        target, version = ptx.target_of(data)
    except Damaged as error:
        return Contents("", (), (str(error),), (), len(data))
    return Contents("", (_single(PTX, target, version, Span(0, len(data), raw=len(data))),), (), (), len(data))
