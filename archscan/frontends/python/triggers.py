"""Where a Python file may ask for the architecture: a substring filter first, then words on lines that decide."""

from __future__ import annotations

import re

# Searched with `in`, one after the other: a regular expression with alternatives is five times slower on 100 MB.
_SUBSTRINGS = (
    b"apabilit", b"compute_cap", b"upported_major", b"is_sm", b"has_sm", b"lackwell", b"opper", b"gencode",
    b"support_pdl", b"sm_version", b"device_sm", b"get_sm", b"major", b"_cc", b"cc ", b"(cc", b" cc", b"arch ",
    b"arch)", b"_arch", b"sm_1", b"sm_9", b"sm_8", b"sm1", b"sm9", b"sm8", b"SM1", b"SM9", b"SM8", b" sm ", b"ARCH",
    b"mpere", b"ompute_", b"_CC",
)  # fmt: skip

_TRIGGER = re.compile(
    rb"(?i:capabilit|compute_cap|supported_major|lackwell|hopper|ampere\b|is_ada\b|turing\b|gencode|support_?s?_pdl)"
    rb"|(?<![a-zA-Z])(?:[A-Za-z]+_)?major|\bcc\b|_cc\b|\bcc_|_CC\b|_CCS\b|\bCAP\b|\bcap\b"
    rb"|(?i:(?<![a-z])sm_?\d{2,3}[afx]?|(?<![a-z])compute_\d)|\b(?:sm|arch|sm_version|device_sm|archs|arches|ARCHS?)\b"
    rb"|\w+_arch\b|\barch_\w+|get_sm\w*|ARCH_LIST|_arch_|_sm\b|\bsm_(?:arch|ver|num|int|str)"
)
_NOISE = re.compile(
    rb"^\s*(?:#|import\b|from\b|class\b|\"\"\"|logger\.|@cute|@triton|print\()"
    rb"|cute\.arch\.|from_dlpack|sm_scale|num_sms?\b|sm_count"
)
_GENERATED = re.compile(rb"(?i)auto-?generated|generated (?:by|from|file)|do not edit|machine[- ]generated")


def may_hold_gates(data: bytes) -> bool:
    """Whether the file names anything that has to do with an architecture."""
    return any(word in data for word in _SUBSTRINGS)


def generated(data: bytes) -> str:
    """Why the body of a file is machine-written kernel code, or nothing."""
    share = data.count(b"cute.arch.") + data.count(b"cutlass.") + data.count(b"llvm.")
    lines = data.count(b"\n") + 1
    if len(data) > 60_000 and share > 0.35 * lines:
        return f"{100 * share // lines} of 100 lines are intrinsics"
    if len(data) > 40_000 and _GENERATED.search(data[:2000]):
        return "its header says that it is generated"
    return ""


def triggers(data: bytes) -> tuple[int, ...]:
    """Byte offsets of the words that may belong to a gate."""
    found: list[int] = []
    line_end = -1
    noisy = False
    for match in _TRIGGER.finditer(data):
        start = match.start()
        if start > line_end:
            line_start = data.rfind(b"\n", 0, start) + 1
            line_end = data.find(b"\n", start)
            line_end = len(data) if line_end < 0 else line_end
            noisy = line_end - line_start > 2000 or _NOISE.search(data, line_start, line_end) is not None
        if not noisy:
            found.append(start)
    return tuple(found)
