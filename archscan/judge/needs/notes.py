"""Reads the typed notes that front ends leave on the arms of a gate: `smem_bytes`, or `smem_bytes:1` for one arm."""

from __future__ import annotations

import re

from archscan.model.gate import Gate
from archscan.model.target import Target

_TARGET = re.compile(r"(\d{2,3})([af]?)")


def arm_note(gate: Gate, index: int, key: str) -> str | None:
    """The note for that arm, or for the whole gate where it has one arm."""
    own = gate.note(f"{key}:{index}")
    if own is not None:
        return own
    return gate.note(key) if index == 0 else None


def shared_bytes(gate: Gate, index: int) -> int | None:
    """The shared memory, in bytes, that the arm's choice needs at most; None where nobody computed it."""
    noted = arm_note(gate, index, "smem_bytes")
    return int(noted) if noted and noted.isdigit() else None


def images(gate: Gate, index: int) -> tuple[Target, ...]:
    """The compiled images behind the arm, empty where nothing is known."""
    noted = arm_note(gate, index, "images")
    if noted:
        return tuple(Target(int(sm), suffix) for sm, suffix in _TARGET.findall(noted))
    return ()


def compiled(gate: Gate, index: int) -> tuple[Target, ...]:
    """The architectures that an arm's code is compiled as: of `arch=compute_120f,code=sm_120` the first."""
    noted = arm_note(gate, index, "compiled")
    if noted:
        return tuple(Target(int(sm), suffix) for sm, suffix in _TARGET.findall(noted))
    return images(gate, index)
