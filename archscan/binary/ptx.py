"""PTX text: the chip it names, and what each of its kernels does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscan.binary.damage import Damaged
from archscan.binary.sass import CODE, DEAD, EMPTY, TRAP, UNKNOWN
from archscan.model.target import Target

_HEAD = 8192
_VERSION = re.compile(rb"^\s*\.version\s+(\d+\.\d+)", re.M)
_TARGET = re.compile(rb"^\s*\.target\s+(?:sm|compute)_(\d{2,3})([af]?)\b", re.M)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_ENTRY = re.compile(rb"\.entry\s+([\w$%]+)")
_BRACE = re.compile(rb"[{}]")
_STATEMENT = re.compile(rb"[^;{}]+")
_LABEL = re.compile(rb"^(?:[\w$%]+:\s*)+")
_GUARD = re.compile(rb"^@!?[%\w$]+\s+")
_LEAVES = frozenset({b"ret", b"exit"})
_TRAPS = frozenset({b"trap", b"brkpt"})
# Most kernels have one of these, which is found at the speed of C; in a comment they do no harm.
_SURE = (b"st.global", b"\tcall", b"\tatom.", b"\tred.")
# What is seen outside of the thread; a store is too, unless it is to memory of the block or thread.
_EFFECTS = frozenset(b"atom red sust sured call multimem cp".split())
_OWN_MEMORY = (b".local", b".param", b".shared")
# What only computes; of what is in neither nobody says what it does.
_PURE = frozenset(
    b"mov ld ldu cvt cvta add addc sub subc mul mad madc fma div rem abs neg min max and or xor not shl shr shf prmt "
    b"bfe bfi bfind clz popc brev sad lop3 set setp selp slct testp copysign sqrt rsqrt rcp sin cos ex2 lg2 tanh mul24 "
    b"mad24 dp4a dp2a isspacep bra brx bar barrier nop".split()
)


def target_of(data: bytes) -> tuple[Target, str]:
    """The target that a PTX file names, and its version of the language. Damaged if it names none."""
    head = _COMMENT.sub(b"", data[:_HEAD])
    version, target = _VERSION.search(head), _TARGET.search(head)
    if version is None or target is None:
        raise Damaged("no PTX: it names no .version and .target")
    return Target(int(target[1]), target[2].decode()), version[1].decode()


def kernels(data: bytes) -> dict[str, str]:
    """What each kernel does, by its mangled name."""
    found: dict[str, str] = {}
    at = 0
    for entry in _ENTRY.finditer(data):
        if at < entry.end():
            at = data.find(b"{", entry.end())
            if at < 0:
                break
        declared = data.find(b";", entry.end(), at) >= 0
        if not declared and not _in_comment(data, entry.start()):
            found[entry[1].decode("utf-8", "backslashreplace")] = _nature(data, at + 1)
    return found


def _in_comment(data: bytes, at: int) -> bool:
    """Whether a line comment began before `at`."""
    return data.find(b"//", data.rfind(b"\n", 0, at) + 1, at) >= 0


def _nature(data: bytes, start: int) -> str:
    """What the kernel does whose body begins at `start`."""
    end = _closing(data, start)
    opcodes = _opcodes(data, start, end)
    first = next(opcodes, None)
    if first in _TRAPS:
        return TRAP
    if any(data.find(word, start, end) >= 0 for word in _SURE):
        return CODE
    rest = [opcode for opcode in (first, *opcodes) if opcode]
    if all(opcode in _LEAVES for opcode in rest):
        return EMPTY
    if any(opcode in _EFFECTS for opcode in rest):
        return CODE
    return DEAD if all(opcode in _PURE or opcode in _LEAVES for opcode in rest) else UNKNOWN


def _closing(data: bytes, start: int) -> int:
    """Where the brace stands that closes one opened before `start`."""
    depth = 1
    for brace in _BRACE.finditer(data, start):
        depth += 1 if brace[0] == b"{" else -1
        if not depth:
            return brace.start()
    return len(data)


def _opcodes(data: bytes, start: int, end: int) -> Iterator[bytes]:
    """The opcodes of a body, in order."""
    for statement in _STATEMENT.finditer(data, start, end):
        opcode = _opcode(_COMMENT.sub(b"", statement[0]))
        if opcode:
            yield opcode


def _opcode(statement: bytes) -> bytes:
    """The first word of an instruction, empty for a directive. A store counts as red or mov, by what can see it."""
    text = _GUARD.sub(b"", _LABEL.sub(b"", statement.strip()))
    opcode = re.split(rb"[.\s]", text, maxsplit=1)[0]
    if opcode != b"st":
        return opcode
    return b"mov" if any(space in text.split(b"[")[0] for space in _OWN_MEMORY) else b"red"
