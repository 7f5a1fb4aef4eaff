"""Names of kernels as people write them, out of mangled ones: namespaces and name, no template arguments."""

from __future__ import annotations

import re

_LENGTH = re.compile(r"(\d+)")
_SKIPPED = re.compile(r"[rVK]*(?:L(?=\d))?")  # qualifiers, internal linkage
_INTERNAL = re.compile(r"_GLOBAL__N_|_INTERNAL_|_NV_ANON_NAMESPACE")


def plain(mangled: str) -> str:
    """`ns::kernel` of `_ZN2ns6kernelIfEEvPT_`; the mangled name where it is not understood.

    A __global__ function is no member of a class, so the first template arguments are its own.
    """
    if not mangled.startswith("_Z"):
        return mangled
    nested = mangled.startswith("_ZN")
    at = 3 if nested else 2
    parts: list[str] = []
    while True:
        at = _SKIPPED.match(mangled, at).end()  # type: ignore[union-attr]  # matches the empty string too
        if mangled.startswith("St", at) and not parts:
            parts.append("std")
            at += 2
            continue
        length = _LENGTH.match(mangled, at)
        if length is None:
            break
        end = length.end() + int(length[1])
        parts.append(mangled[length.end() : end])
        at = end
        if not nested and parts != ["std"]:
            break
    ended = at >= len(mangled) or mangled[at] in "IEB" or not nested
    parts = [part for part in parts if not _INTERNAL.match(part)]
    return "::".join(parts) if parts and ended and at <= len(mangled) else mangled


def last(mangled: str) -> str:
    """The name of the kernel alone: `kernel` of `_ZN2ns6kernelIfEEvPT_`."""
    return plain(mangled).rpartition("::")[2]
