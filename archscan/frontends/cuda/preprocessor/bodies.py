"""What an arm's body calls and defines, and its digest; what it does is read in archscan/frontends/cuda/blocks.py."""

from __future__ import annotations

import hashlib
import re

LARGEST_READ = 1 << 18  # of a larger body only the beginning is read for calls

_CALL = re.compile(rb"(?<![\w.#>])([A-Za-z_]\w*(?:::\w+)*)\s*(?:<[^;(){}]{0,200}>)?\s*\(")
_DEFINED = re.compile(rb"[\w>*&]\s+(\w+)\s*\((?:[^;{}()]|\([^;{}()]*\))*\)\s*(?:const\s*|noexcept\s*)*\{")
_NO_CALL = frozenset(
    b"if for while switch return sizeof alignof decltype defined asm __asm__ volatile catch static_assert "
    b"reinterpret_cast static_cast const_cast dynamic_cast __asm int float double char unsigned constexpr".split()
)


def is_plainly_work(body: bytes) -> bool:
    """Whether a body holds instructions that do not stop the kernel, so that nothing else in it matters."""
    return b"asm" in body and b"trap" not in body and b"brkpt" not in body and b"#" not in body and b"//" not in body


def digest(code: bytes) -> str:
    """A digest of stripped code that ignores white space."""
    return hashlib.blake2b(code.translate(None, b" \t\r\n\v\f"), digest_size=8).hexdigest()


def calls(code: bytes) -> tuple[str, ...]:
    """The names that stripped code calls, in order of appearance; what it defines itself is in it."""
    code = code[:LARGEST_READ]
    found = dict.fromkeys(m[1] for m in _CALL.finditer(code))
    own = _NO_CALL | defined(code)
    return tuple(name.decode("utf-8", "replace") for name in found if name not in own)


def defined(code: bytes) -> frozenset[bytes]:
    """The functions that code defines."""
    return frozenset(m[1] for m in _DEFINED.finditer(code[:LARGEST_READ])) if b"{" in code else frozenset()


def with_strange_names(code: bytes, more: frozenset[bytes] = frozenset()) -> bytes:
    """The code with its own functions, and `more`, under names that mean nothing: an emulation is no use."""
    own = defined(code) | more
    if not own:
        return code
    names = re.compile(rb"\b(?:" + b"|".join(map(re.escape, own)) + rb")\b")
    return names.sub(lambda m: b"_" * len(m[0]), code)
