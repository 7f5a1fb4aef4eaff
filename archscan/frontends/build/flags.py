"""Whether a Python file speaks of flags for nvcc: asked of every file, so nothing is imported for it."""

from __future__ import annotations

import re

_FLAGS = re.compile(
    rb"gencode|generate-code|(?:arch|code)=(?:compute|sm|lto)_(?![A-Za-z])|(?<!gpu)-arch\b|gpu-architecture"
    rb"|(?<!__)CUDA_?ARCH|ARCH_LIST|[\"'][A-Z_]{0,40}COMPUTE_CAP"
)
BUILDS = re.compile(
    _FLAGS.pattern + rb"|nvcc|cuda_c?flags|Extension\(|\bload(?:_inline)?\(|cmake|(?:compute|sm)_[%{\"']"
)
# One of these is in whatever the first pattern finds; a plain search is many times as fast.
_WORDS = (
    b"gencode",
    b"generate-code",
    b"arch=",
    b"code=",
    b"-arch",
    b"ARCH_LIST",
    b"COMPUTE_CAP",
    b"CUDA_ARCH",
    b"CUDAARCH",
)


def makes_flags(data: bytes) -> bool:
    """Whether a Python file may hand something about architectures to a build."""
    return any(word in data for word in _WORDS) and _FLAGS.search(data) is not None
