"""Compiles the kernel of a probe: with NVRTC, or with nvcc where no NVRTC is found.

NVRTC is called through ctypes, so that any release from 12 on will do, from NVIDIA's wheel, torch's or a toolkit's. The
kernels include nothing: the headers of CUDA are not in the wheel.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from archscan.probing.libraries import NVRTC, opened
from archscan.probing.types import Compiled
from archscan.programs import program

_WHEELS = ("nvidia/*/lib/*nvrtc*", "nvidia/*/bin/*nvrtc*", "nvidia/*/bin/x64/*nvrtc*", "torch/lib/*nvrtc*")
_NVCC_TIME = 120  # seconds for one file
FEATURE = "PROBE_FEATURE"


class Compiler(Protocol):
    """What makes machine code of a kernel."""

    name: str  # NVRTC 13.0

    def architectures(self) -> frozenset[int]:
        """The SMs that it knows."""
        ...

    def compile(self, source: str, target: str, feature: bool, ptx: bool = False) -> Compiled:
        """Machine code (or PTX) for `sm_90a`, or why not."""
        ...


class Nvrtc:
    """NVIDIA's compiler as a library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.name = f"NVRTC {major.value}.{minor.value}"

    def architectures(self) -> frozenset[int]:
        """The SMs that it knows."""
        count = ctypes.c_int()
        self._library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        values = (ctypes.c_int * count.value)()
        self._library.nvrtcGetSupportedArchs(values)
        return frozenset(values)

    def compile(self, source: str, target: str, feature: bool, ptx: bool = False) -> Compiled:
        """Machine code (or PTX) for `sm_90a`, or why not."""
        library, program_ = self._library, ctypes.c_void_p()
        library.nvrtcCreateProgram(ctypes.byref(program_), source.encode(), b"kernel.cu", 0, None, None)
        try:
            options = [_architecture(target, ptx), "--std=c++17", *([f"-D{FEATURE}=1"] if feature else [])]
            given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            code = library.nvrtcCompileProgram(program_, len(options), given)
            log = self._text("ProgramLog", program_)
            if code:
                return Compiled(None, log or f"NVRTC error {code}")
            return Compiled(self._bytes("PTX" if ptx else "CUBIN", program_), log)
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program_))

    def _bytes(self, what: str, program_: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        getattr(self._library, f"nvrtcGet{what}Size")(program_, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self._library, f"nvrtcGet{what}")(program_, buffer)
        return buffer.raw

    def _text(self, what: str, program_: ctypes.c_void_p) -> str:
        return self._bytes(what, program_).rstrip(b"\0").decode("utf-8", "replace")


class Nvcc:
    """NVIDIA's compiler as a program."""

    def __init__(self, path: str) -> None:
        self._path = path
        release = re.search(r"release ([\d.]+)", self._run("--version").stdout)
        self.name = f"nvcc {release[1]}" if release else "nvcc"

    def architectures(self) -> frozenset[int]:
        """The SMs that it knows."""
        return frozenset(int(sm) for sm in re.findall(r"sm_(\d+)", self._run("--list-gpu-code").stdout))

    def compile(self, source: str, target: str, feature: bool, ptx: bool = False) -> Compiled:
        """Machine code (or PTX) for `sm_90a`, or why not."""
        with tempfile.TemporaryDirectory(prefix="archscan-probe-") as folder:
            file, made = Path(folder, "kernel.cu"), Path(folder, "kernel.out")
            file.write_text(source, encoding="utf-8")
            options = ["--ptx" if ptx else "--cubin", _architecture(target, ptx), "-std=c++17", "-o", str(made)]
            done = self._run(*options, *([f"-D{FEATURE}=1"] if feature else []), str(file))
            if done.returncode or not made.is_file():
                return Compiled(None, done.stderr or done.stdout)
            return Compiled(made.read_bytes() + (b"\0" if ptx else b""), done.stderr)

    def _run(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [self._path, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_NVCC_TIME)


def _architecture(target: str, ptx: bool) -> str:
    return f"--gpu-architecture={target.replace('sm_', 'compute_') if ptx else target}"


def compiler() -> tuple[Compiler | None, str]:
    """The compiler that is there; None, and what is missing."""
    library, why = opened(NVRTC, _WHEELS)
    if library is not None:
        return Nvrtc(library), ""
    nvcc = program("nvcc")
    if nvcc is not None:
        return Nvcc(nvcc), ""
    return None, why


def unit(compiler_: Compiler, source: str, targets: Iterable[str], feature: bool) -> tuple[str, Compiled]:
    """The first of these targets that compiles, with what came of it; the last one refused, if none does."""
    target, made = "", Compiled(None, "no target to compile for")
    for target in targets:
        made = compiler_.compile(source, target, feature)
        if made.image is not None:
            break
    return target, made
