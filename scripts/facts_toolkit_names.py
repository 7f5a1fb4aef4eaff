"""Writes the functions of rules/facts/toolkit_names.yaml: what the CUDA headers declare for the oldest target.

usage: facts_toolkit_names.py --nvcc PATH [-I DIR]... [--check]

A name that nvcc's device pass declares for the oldest target that the toolkit compiles for is there for every newer
one too. `--check` compares and writes nothing. Without nvcc there is nothing to compare: the check is skipped.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "rules" / "facts" / "toolkit_names.yaml"
OLDEST = "75"
HEADERS = (
    *("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "mma.h"),
    *("cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h", "cuComplex.h"),
    *("cooperative_groups/memcpy_async.h", "cuda_pipeline.h", "cuda_awbarrier.h"),
    *("cmath", "cstdio", "cstdint", "cassert"),
)
_WORDS = "if|for|while|switch|return|sizeof|noexcept|decltype|alignas|operator|throw|asm|catch|static_assert"
_DECLARED = re.compile(
    rf"\b(?!(?:{_WORDS})\b)([A-Za-z_]\w*)\s*\((?=[^;{{}}]*\)\s*"
    r"(?:throw\s*\(\)\s*|noexcept\s*(?:\([^()]*\)\s*)?|const\s*|__attribute__\s*\(\(.*?\)\)\s*)*[;{:])"
)
_INTERNAL = re.compile(r"_[A-Z]|__(?:internal|nv_internal|gnu|cxx|is_|has_|builtin_|mma_|imma|bmma|dmma|nvvm|detail)")
_BEGIN = "# begin of what scripts/facts_toolkit_names.py writes"


def declared(nvcc: str, include: list[str]) -> list[str]:
    """The names that the headers declare for the oldest target."""
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "unit.cu"
        unit.write_text("".join(f"#include <{header}>\n" for header in HEADERS))
        gencode = f"arch=compute_{OLDEST},code=sm_{OLDEST}"
        command = [nvcc, "-E", "-gencode", gencode, *(f"-I{path}" for path in include), str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
    names = set(_DECLARED.findall(_of_cuda(done.stdout)))
    return sorted(name for name in names if len(name) > 1 and not _INTERNAL.match(name))


_MARKER = re.compile(r'^# \d+ "([^"]*)".*$', re.M)


def _of_cuda(text: str) -> str:
    """The lines that come from the CUDA headers themselves; `copy` of the C++ library is not everybody's `copy`."""
    pieces, keep, at = [], False, 0
    for marker in _MARKER.finditer(text):
        if keep:
            pieces.append(text[at : marker.start()])
        keep, at = _is_cuda(marker[1]), marker.end()
    return "\n".join(pieces)


def _is_cuda(path: str) -> bool:
    folder = str(Path(path).parent)
    return "/crt" in folder or any(path.endswith(f"/{h}") for h in _own_headers())


def _own_headers() -> frozenset[str]:
    return frozenset(h for h in HEADERS if h.endswith(".h")) | _BEHIND


# What cuda_runtime.h and cuda_fp16.h include of the toolkit
_BEHIND = frozenset(
    (
        *("vector_functions.h", "vector_functions.hpp", "vector_types.h", "cuda_runtime_api.h", "driver_types.h"),
        *(
            "device_functions.h",
            "device_atomic_functions.h",
            "device_atomic_functions.hpp",
            "cuda_device_runtime_api.h",
        ),
        *("sm_20_atomic_functions.h", "sm_32_atomic_functions.h", "sm_35_atomic_functions.h"),
        *("sm_60_atomic_functions.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_intrinsics.h"),
        *("sm_35_intrinsics.h", "sm_61_intrinsics.h", "texture_fetch_functions.h", "texture_indirect_functions.h"),
        *("surface_indirect_functions.h", "cuda_fp16.hpp", "cuda_bf16.hpp", "cuda_fp8.hpp", "cuda_fp6.hpp"),
        *("cuda_fp4.hpp", "cuda_pipeline_primitives.h", "cuda_awbarrier_primitives.h"),
    )
)


def main() -> int:
    """0 where the file is as written here, or was written; 1 where it differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", default=shutil.which("nvcc"))
    parser.add_argument("-I", dest="include", action="append", default=[])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.nvcc:
        print("skipped: no nvcc")
        return 0
    release = subprocess.run([arguments.nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"V(\d+\.\d+\.\d+)", release)
    names = textwrap.wrap(" ".join(declared(arguments.nvcc, arguments.include)), 150)
    source = f"source: nvcc {version[1] if version else ''}, device pass for sm_{OLDEST}"
    text = "\n".join([_BEGIN, source, "functions: |", *(f"  {line}" for line in names)]) + "\n"
    kept = FILE.read_text().partition(_BEGIN)[0]
    if arguments.check:
        same = FILE.read_text() == kept + text
        print("the same" if same else f"{FILE.name} differs from what the headers declare")
        return int(not same)
    FILE.write_text(kept + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
