"""Asks the NVIDIA driver which GPU is in this machine; needs no CUDA toolkit."""

from __future__ import annotations

import ctypes
import subprocess

from archscan.errors import UserError
from archscan.programs import program

# cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_MAJOR, _MINOR = 75, 76
_LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")


def native_sm() -> int:
    """The SM of the GPU in this machine; UserError if there is none, or several that differ."""
    found = sorted(set(from_driver() or _from_nvidia_smi()))
    if not found:
        raise UserError("no NVIDIA GPU was found in this machine", "name a target instead: --target sm_120")
    if len(found) > 1:
        names = ", ".join(f"sm_{sm}" for sm in found)
        raise UserError(f"this machine has different GPUs: {names}", "name one of them with --target")
    return found[0]


def from_driver() -> list[int]:
    """The SMs of the devices that libcuda shows (CUDA_VISIBLE_DEVICES counts); empty without a driver."""
    driver = next((library for name in _LIBRARIES if (library := _open(name)) is not None), None)
    count = ctypes.c_int(0)
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [sm for ordinal in range(count.value) if (sm := _capability(driver, ordinal)) is not None]


def _open(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _capability(driver: ctypes.CDLL, ordinal: int) -> int | None:
    device, major, minor = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
    failed = (
        driver.cuDeviceGet(ctypes.byref(device), ordinal)
        or driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
        or driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
    )
    return None if failed else major.value * 10 + minor.value


def _from_nvidia_smi() -> list[int]:
    found = program("nvidia-smi")
    if found is None:
        return []
    command = [found, "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = answer.stdout.split() if answer.returncode == 0 else []
    return [int(line.replace(".", "")) for line in lines if line.replace(".", "").isdigit()]
