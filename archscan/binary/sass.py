"""What the machine code of a kernel does, by its opcodes: code, empty, trap or dead.

Volta and newer have words of 16 bytes: bits 0-11 are the opcode, 12-15 the guard, 16-23 the first register. Checked
against nvdisasm.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

CODE, EMPTY, TRAP, DEAD, UNKNOWN = "code", "empty", "trap", "dead", "unknown"

_WORD = 16
_NEVER = 0xF  # the guard @!PT
_STACK = 1  # R1: a load of the stack pointer begins many kernels
_NOP, _EXIT, _BRANCH, _BREAKPOINT = 0x918, 0x94D, 0x947, 0x95C
# Low nine bits of what is seen outside of the thread: stores (ST STG), atomics (ATOM and its CAS, RED REDG ATOMG),
# surfaces (SUST), distributed and bulk copies (STAS UBLKCP UBLKRED UTMASTG UTMAREDG), BPT; and calls, behind which
# anything may stand.
_EFFECTS = (
    0x185, 0x186, 0x17F, 0x18A, 0x18B, 0x18E, 0x1A6, 0x1A8, 0x1A9, 0x1A3, 0x1A2, 0x19D, 0x1BD, 0x1BA, 0x1BB, 0x1B5,
    0x1B6, 0x15C, 0x143, 0x144,
)  # fmt: skip
_LOW = bytes(1 if any(op & 0xFF == byte for op in _EFFECTS) else 0 for byte in range(256))
_EFFECT_SET = frozenset(_EFFECTS)
_VOLTA = 70


def nature(code: bytes, sm: int) -> str:
    """What a kernel with this code does."""
    if sm < _VOLTA:
        return _old_nature(code)
    if not code or len(code) % _WORD:
        return UNKNOWN
    words = _live(code)
    first = next(words, None)
    if first == _BREAKPOINT:
        return TRAP
    if first == _EXIT and all(opcode == _BRANCH for opcode in words):
        return EMPTY
    return CODE if _has_effect(code) else DEAD


def _live(code: bytes) -> Iterator[int]:
    """The opcodes of the words that can run, without NOP and loads of the stack pointer."""
    for at in range(0, len(code), _WORD):
        word = code[at] | code[at + 1] << 8
        if word >> 12 != _NEVER and word & 0xFFF != _NOP and code[at + 2] != _STACK:
            yield word & 0xFFF


def _has_effect(code: bytes) -> bool:
    """Whether some word is seen outside of the thread. Every 16th byte is picked at the speed of C first."""
    low = code[::_WORD].translate(_LOW)
    at = low.find(1)
    while at >= 0:
        word = code[at * _WORD] | code[at * _WORD + 1] << 8
        if word & 0x1FF in _EFFECT_SET and word >> 12 != _NEVER:
            return True
        at = low.find(1, at + 1)
    return False


# Maxwell and Pascal: words of 8 bytes, every fourth holds the schedule of the next three; the opcode is at the top.
_OLD_PLAIN = frozenset({0xE30, 0xE24, 0x50B})  # EXIT, BRA, NOP
_OLD_STACK = 0x4C98078000870001  # MOV R1, c[0x0][0x20]


def _old_nature(code: bytes) -> str:
    """Empty if nothing but what every kernel has is in it, else unknown."""
    if not code or len(code) % 32:
        return UNKNOWN
    words = [word for i, word in enumerate(struct.unpack(f"<{len(code) // 8}Q", code)) if i % 4]
    return EMPTY if all(word == _OLD_STACK or word >> 52 in _OLD_PLAIN for word in words) else UNKNOWN
