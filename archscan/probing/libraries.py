"""Finds NVIDIA's libraries: the wheels' and torch's folders first, then the system's and a toolkit's."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

NVRTC = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll")
DRIVER = ("libcuda.so.1", "nvcuda.dll")
NVML = ("libnvidia-ml.so.1", "nvml.dll")


def opened(names: tuple[str, ...], near: tuple[str, ...] = ()) -> tuple[ctypes.CDLL | None, str]:
    """The first of these libraries that can be loaded, and its place; None, and the last reason why not."""
    why = f"no {names[0]} found"
    for place in (*_near(names, near), *names):
        try:
            _load_beside(Path(place))
            return ctypes.CDLL(place), place
        except OSError as error:
            if Path(place).is_absolute():
                why = " ".join(str(error).split())
    return None, why


def _load_beside(file: Path) -> None:
    """Loads what NVRTC looks for by name alone, where it stands beside it and on no search path."""
    if file.is_absolute() and "nvrtc" in file.name:
        for builtins in sorted(file.parent.glob("*nvrtc-builtins*")):
            if ".alt." not in builtins.name:
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)


def _near(names: tuple[str, ...], patterns: tuple[str, ...]) -> Iterator[str]:
    """Such files below the places that Python packages are imported from, then below CUDA_HOME."""
    roots = [Path(entry) for entry in sys.path if entry and Path(entry).is_absolute()]
    homes = [Path(os.environ[key]) for key in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(key)]
    homes.append(Path("/usr/local/cuda"))
    found = [file for root in roots for pattern in patterns for file in root.glob(pattern)]
    found += [file for home in homes for folder in ("lib64", "lib", "bin") for file in (home / folder).glob("*nvrtc*")]
    stems = tuple(re.escape(name) for name in names)
    wanted = re.compile("|".join(stems))
    yield from (str(file) for file in found if wanted.fullmatch(file.name))
