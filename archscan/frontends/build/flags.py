"""Whether a Python file speaks of flags for nvcc: asked of every file, so little is imported for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from archscan.catalog.names import names, one_of
from archscan.sources.lines import matches

_SPELLED = (
    r"gencode|generate-code|(?:arch|code)=(?:compute|sm|lto)_(?![A-Za-z])|(?<![\w-])--?arch\b|gpu-architecture"
    r"|(?<!__)CUDA_?ARCH|ARCH_LIST|[\"'][A-Z_]{0,40}COMPUTE_CAP"
)
_BUILDS = rb"nvcc|cuda_c?flags|Extension\(|\bload(?:_inline)?\(|cmake|(?:compute|sm)_[%{\"']"
# One of these is in whatever the first pattern finds.
_WORDS = b"gencode generate-code arch= code= -arch ARCH_LIST COMPUTE_CAP CUDA_ARCH CUDAARCH".split()

# A flag that names a chip in full, and what makes a list of a file that names no other one.
_CHIP = re.compile(rb"-?(?:arch|code)=(?:compute|sm|lto)_(\d+[af]?)(?![\w{%])")
_TOOLS = (b"nvcc", b"cuda_cflags", b"cuda_flags", b"Extension(", b"cmake", b"environ", b"getenv")
_LOADS = re.compile(rb"\bload(?:_inline)?\(")


@cache
def _flags() -> tuple[re.Pattern[bytes], tuple[bytes, ...]]:
    """Flags for nvcc and settings that hold architectures, `-DSMS=90`; and of what one has in it, one word at least."""
    given = rf"[\"']-D(?:[A-Z_]{{1,40}}_)?(?:{one_of('settings').upper()})="
    words = (f"{name}=".upper().encode() for name in names()["settings"])
    return re.compile(f"{_SPELLED}|{given}".encode()), (*_WORDS, *words)


@cache
def _builds() -> re.Pattern[bytes]:
    return re.compile(_flags()[0].pattern + b"|" + _BUILDS)


def builds(code: bytes) -> bool:
    """Whether code may have to do with a build: it names flags, nvcc, an extension module."""
    return _builds().search(code) is not None


def makes_flags(data: bytes) -> bool:
    """Whether a Python file may hand something about architectures to a build.

    What a compiler of kernels is asked at run time for one chip (`--gpu-arch=sm_90a`) is no list of architectures.
    """
    chips: set[bytes] = set()
    pattern, words = _flags()
    for flag in matches(pattern, data, *words):
        chip = _CHIP.match(data, flag.start()) if data.endswith(b"gpu-", 0, flag.start()) else None
        if chip is None:
            return True
        chips.add(chip[1])
    return len(chips) > 1 or (bool(chips) and _hands_on(data))


def _hands_on(data: bytes) -> bool:
    """Whether a file has anything to do with a build beside the flag that it names."""
    return any(tool in data for tool in _TOOLS) or any(True for _ in matches(_LOADS, data, b"load"))


def code_makes_flags(data: bytes, tree: ast.Module) -> bool:
    """The same of what a file does: of its code, without comments and docstrings."""
    docstrings: set[int] | None = None
    for match in _flags()[0].finditer(data):
        begin = data.rfind(b"\n", 0, match.start()) + 1
        if _COMMENT.match(data, begin, match.start()):
            continue
        if docstrings is None:
            docstrings = {line for node in statements(tree) for line in _docstring(node)}
        if data.count(b"\n", 0, begin) + 1 not in docstrings:
            return True
    return False


_COMMENT = re.compile(rb"[^\n\"']*#")  # a line with one before the first text


def _docstring(node: ast.stmt) -> range:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1) if text else range(0)


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Every statement of a file, in order of depth, without a look into expressions."""
    level: list[ast.stmt] = list(tree.body)
    while level:
        yield from level
        level = [inner for node in level for inner in _within(node)]


def _within(node: ast.stmt) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(node, name, ())
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body
