"""The CUDA driver through ctypes: no toolkit, no wheel whose version must match the driver's.

It launches, copies and times; it sets nothing that outlives the process.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Protocol

from archscan.probing.libraries import DRIVER, opened
from archscan.probing.types import Launch, TensorMap

_NO_MEMORY = 2
# After these the context is lost; others (a launch that is refused) leave it as it was
_LOST = frozenset((214, 700, 702, 708, 710, 713, 714, 715, 716, 717, 718, 719, 721, 999))
_ATTRIBUTES = {"major": 75, "minor": 76, "multiprocessors": 16, "shared_limit": 97, "cooperative": 95, "clusters": 120}
_SHARED_SIZE, _LOCAL_SIZE, _REGISTERS = 1, 3, 4
_MAX_DYNAMIC_SHARED, _NON_PORTABLE_CLUSTER = 8, 14
_COOPERATIVE, _CLUSTER, _DEPENDENT = 2, 4, 6  # CUlaunchAttributeID
_PORTABLE_CLUSTER = 8
_UINT32, _NO_PROMOTION = 2, 0
_RELAXED = 2  # CUstreamCaptureMode


class DriverError(Exception):
    """The driver said no."""

    def __init__(self, call: str, name: str, code: int) -> None:
        super().__init__(f"{call}: {name}")
        self.code = code

    @property
    def lost(self) -> bool:
        """Whether nothing more can be run in this process."""
        return self.code in _LOST

    @property
    def no_memory(self) -> bool:
        """Whether the GPU is full, which says nothing about the probe."""
        return self.code == _NO_MEMORY


class Driver(Protocol):
    """What a probe needs of a GPU. Handles are numbers."""

    def describe(self) -> dict[str, int | str]: ...
    def allocate(self, size: int) -> int: ...
    def write(self, place: int, data: bytes) -> None: ...
    def fill(self, place: int, word: int, words: int) -> None: ...
    def read(self, place: int, size: int) -> bytes: ...
    def load(self, image: bytes) -> int: ...
    def unload(self, module: int) -> None: ...
    def function(self, module: int, name: str) -> int: ...
    def prepare(self, function: int, launch: Launch, shared: int) -> dict[str, int]: ...
    def tensor_map(self, place: int, spec: TensorMap) -> bytes: ...
    def launch(self, function: int, launch: Launch, grid: int, shared: int, arguments: list[bytes]) -> None: ...
    def record(self, start: Callable[[], None]) -> int: ...
    def replay(self, graph: int) -> None: ...
    def wait(self) -> None: ...
    def mark(self) -> int: ...
    def between(self, first: int, last: int) -> float: ...


class _Attribute(ctypes.Structure):
    _fields_ = (("id", c_int), ("pad", c_int), ("value", ctypes.c_byte * 64))


class _Config(ctypes.Structure):
    _fields_ = (
        *((f"{what}{axis}", c_uint) for what in ("grid", "block") for axis in "XYZ"),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", c_uint),
    )


class Cuda:
    """One GPU, the first that the process may see."""

    def __init__(self) -> None:
        library, why = opened(DRIVER)
        if library is None:
            raise DriverError("loading the driver", why, 0)
        self._library = library
        self._call("cuInit", c_uint(0))
        device = c_int()
        self._call("cuDeviceGet", byref(device), c_int(0))
        self._device = device
        context = c_void_p()
        self._call("cuDevicePrimaryCtxRetain", byref(context), device)
        self._call("cuCtxSetCurrent", context)
        stream = c_void_p()
        self._call("cuStreamCreate", byref(stream), c_uint(1))
        self._stream = stream

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            told = c_char_p()
            self._library.cuGetErrorName(c_int(code), byref(told))
            raise DriverError(name, (told.value or b"").decode() or f"error {code}", code)

    def describe(self) -> dict[str, int | str]:
        """Name, compute capability, limits and driver of the GPU."""
        name, version, uuid = ctypes.create_string_buffer(256), c_int(), (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGetName", name, c_int(256), self._device)
        self._call("cuDriverGetVersion", byref(version))
        self._call("cuDeviceGetUuid_v2", uuid, self._device)
        digits = bytes(uuid).hex()
        bus = ctypes.create_string_buffer(32)
        self._call("cuDeviceGetPCIBusId", bus, c_int(32), self._device)
        found: dict[str, int | str] = {key: self._attribute(number) for key, number in _ATTRIBUTES.items()}
        found |= {
            "name": name.value.decode(),
            "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "uuid": "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])),
            "bus": bus.value.decode(),
        }
        return found

    def _attribute(self, number: int) -> int:
        value = c_int()
        self._call("cuDeviceGetAttribute", byref(value), c_int(number), self._device)
        return value.value

    def allocate(self, size: int) -> int:
        """The address of new memory on the GPU; it ends with the process."""
        place = c_uint64()
        self._call("cuMemAlloc_v2", byref(place), c_size_t(size))
        return place.value

    def write(self, place: int, data: bytes) -> None:
        """Copies to the GPU."""
        self._call("cuMemcpyHtoD_v2", c_uint64(place), data, c_size_t(len(data)))

    def fill(self, place: int, word: int, words: int) -> None:
        """Fills with a 32-bit word, in the order of the launches."""
        self._call("cuMemsetD32Async", c_uint64(place), c_uint(word), c_size_t(words), self._stream)

    def read(self, place: int, size: int) -> bytes:
        """Waits, and copies from the GPU."""
        self.wait()
        data = ctypes.create_string_buffer(size)
        self._call("cuMemcpyDtoH_v2", data, c_uint64(place), c_size_t(size))
        return data.raw

    def load(self, image: bytes) -> int:
        """A module, of machine code or PTX."""
        module = c_void_p()
        self._call("cuModuleLoadData", byref(module), image)
        return module.value or 0

    def unload(self, module: int) -> None:
        """Drops a module."""
        self._call("cuModuleUnload", c_void_p(module))

    def function(self, module: int, name: str) -> int:
        """A kernel of a module."""
        found = c_void_p()
        self._call("cuModuleGetFunction", byref(found), c_void_p(module), name.encode())
        return found.value or 0

    def prepare(self, function: int, launch: Launch, shared: int) -> dict[str, int]:
        """Allows what the launch asks for, and says what the kernel takes of a multiprocessor."""
        if shared > 48 << 10:
            self._set(function, _MAX_DYNAMIC_SHARED, shared)
        if launch.cluster > _PORTABLE_CLUSTER:
            self._set(function, _NON_PORTABLE_CLUSTER, 1)
        blocks = c_int()
        self._call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            byref(blocks),
            c_void_p(function),
            c_int(launch.block),
            c_size_t(shared),
        )
        figures = {
            "registers": self._get(function, _REGISTERS),
            "local_bytes": self._get(function, _LOCAL_SIZE),
            "shared_bytes": self._get(function, _SHARED_SIZE) + shared,
            "blocks_per_multiprocessor": blocks.value,
        }
        if launch.cluster:
            figures["clusters_at_once"] = self._clusters(function, launch, shared)
        return figures

    def _set(self, function: int, attribute: int, value: int) -> None:
        self._call("cuFuncSetAttribute", c_void_p(function), c_int(attribute), c_int(value))

    def _get(self, function: int, attribute: int) -> int:
        value = c_int()
        self._call("cuFuncGetAttribute", byref(value), c_int(attribute), c_void_p(function))
        return value.value

    def _clusters(self, function: int, launch: Launch, shared: int) -> int:
        count, config = c_int(), self._config(launch, launch.cluster, shared)
        self._call("cuOccupancyMaxActiveClusters", byref(count), c_void_p(function), byref(config))
        return count.value

    def tensor_map(self, place: int, spec: TensorMap) -> bytes:
        """The descriptor of a matrix of 32-bit words."""
        descriptor = (ctypes.c_ubyte * 192)()
        start = -ctypes.addressof(descriptor) % 64
        self._call(
            "cuTensorMapEncodeTiled",
            c_void_p(ctypes.addressof(descriptor) + start),
            c_int(_UINT32),
            c_uint(2),
            c_void_p(place),
            (c_uint64 * 2)(spec.columns, spec.rows),
            (c_uint64 * 1)(spec.columns * 4),
            (c_uint * 2)(spec.box_columns, spec.box_rows),
            (c_uint * 2)(1, 1),
            *(c_int(_NO_PROMOTION) for _ in range(4)),
        )
        return bytes(descriptor[start : start + 128])

    def _config(self, launch: Launch, grid: int, shared: int) -> _Config:
        chosen = []
        if launch.cooperative:
            chosen.append((_COOPERATIVE, struct.pack("i", 1)))
        if launch.cluster:
            chosen.append((_CLUSTER, struct.pack("III", launch.cluster, 1, 1)))
        if launch.dependent:
            chosen.append((_DEPENDENT, struct.pack("i", 1)))
        attributes = (_Attribute * max(1, len(chosen)))()
        for slot, (number, value) in zip(attributes, chosen, strict=False):
            slot.id = number
            ctypes.memmove(slot.value, value, len(value))
        return _Config(grid, 1, 1, launch.block, 1, 1, shared, self._stream, attributes, len(chosen))

    def launch(self, function: int, launch: Launch, grid: int, shared: int, arguments: list[bytes]) -> None:
        """Starts a kernel; its parameters are copied."""
        held = [_aligned(argument) for argument in arguments]
        pointers = (c_void_p * len(held))(*(place for place, _ in held))
        config = self._config(launch, grid, shared)
        self._call("cuLaunchKernelEx", byref(config), c_void_p(function), pointers, None)

    def record(self, start: Callable[[], None]) -> int:
        """A graph of what `start` launches: replayed, the GPU is not kept waiting for this process."""
        graph, ready = c_void_p(), c_void_p()
        self._call("cuStreamBeginCapture_v2", self._stream, c_int(_RELAXED))
        try:
            start()
        finally:
            self._call("cuStreamEndCapture", self._stream, byref(graph))
        self._call("cuGraphInstantiateWithFlags", byref(ready), graph, c_uint64(0))
        self._call("cuGraphDestroy", graph)
        return ready.value or 0

    def replay(self, graph: int) -> None:
        """Starts all launches of a graph."""
        self._call("cuGraphLaunch", c_void_p(graph), self._stream)

    def wait(self) -> None:
        """Waits for all that was started; DriverError for what went wrong in it."""
        self._call("cuStreamSynchronize", self._stream)

    def mark(self) -> int:
        """A point in time on the GPU, after what was started so far."""
        event = c_void_p()
        self._call("cuEventCreate", byref(event), c_uint(0))
        self._call("cuEventRecord", event, self._stream)
        return event.value or 0

    def between(self, first: int, last: int) -> float:
        """Microseconds between two marks, once the last is reached; both are given back."""
        milliseconds = c_float()
        self._call("cuEventSynchronize", c_void_p(last))
        self._call("cuEventElapsedTime", byref(milliseconds), c_void_p(first), c_void_p(last))
        for event in (first, last):
            self._call("cuEventDestroy_v2", c_void_p(event))
        return milliseconds.value * 1000


def _aligned(data: bytes) -> tuple[int, object]:
    """The address of a copy of `data` at a multiple of 64, and what keeps it alive."""
    buffer = ctypes.create_string_buffer(len(data) + 64)
    place = ctypes.addressof(buffer) + -ctypes.addressof(buffer) % 64
    ctypes.memmove(place, data, len(data))
    return place, buffer
