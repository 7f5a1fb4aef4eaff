"""The clocks of a GPU, read from NVIDIA's management library; nothing is set."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint, c_ulonglong, c_void_p
from typing import Any

from archscan.probing.libraries import NVML, opened

_CLOCKS = {"sm_mhz": 1, "memory_mhz": 2}
# Bits of "clocks event reasons" that mean it ran slower than it could
_SLOWED = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal, by software",
    0x40: "thermal",
    0x80: "power brake",
}


class Clocks:
    """The readings of one GPU; empty where the library or the GPU does not answer."""

    def __init__(self, bus: str) -> None:
        self._library, _ = opened(NVML)
        self._device: c_void_p | None = None
        if self._library is None or self._library.nvmlInit_v2():
            return
        device = c_void_p()
        if not self._library.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), byref(device)):
            self._device = device

    def driver(self) -> str:
        """The driver's version: 580.159.04; empty if it is not told."""
        version = ctypes.create_string_buffer(96)
        if self._device is None or self._library.nvmlSystemGetDriverVersion(version, c_uint(96)):  # type: ignore[union-attr]
            return ""
        return version.value.decode("ascii", "replace")

    def now(self) -> dict[str, Any]:
        """Clocks in MHz, temperature, and why it is slowed down."""
        if self._device is None or self._library is None:
            return {}
        found: dict[str, Any] = {}
        value, reasons = c_uint(), c_ulonglong()
        for key, kind in _CLOCKS.items():
            if not self._library.nvmlDeviceGetClockInfo(self._device, c_uint(kind), byref(value)):
                found[key] = value.value
        if not self._library.nvmlDeviceGetTemperature(self._device, c_uint(0), byref(value)):
            found["celsius"] = value.value
        if not self._library.nvmlDeviceGetCurrentClocksThrottleReasons(self._device, byref(reasons)):
            found["slowed_by"] = [text for bit, text in _SLOWED.items() if reasons.value & bit]
        return found
