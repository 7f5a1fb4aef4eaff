"""A GPU of no hardware: kernels are named for what they do. Run as a program it is the process of one probe."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from archscan.probing import child
from archscan.probing.cuda import DriverError
from archscan.probing.types import Compiled, Launch, TensorMap

LIMIT = 232448
MULTIPROCESSORS = 4
COSTS = {"slow": 300.0, "good": 100.0, "right": 100.0}  # microseconds of a launch
GOOD = {
    "title": "a feature",
    "asks": "Is it right?",
    "settles": ["redux"],
    "targets": "90*",
    "words": {"in": 64, "out": 64},
    "right": {"launches": [{"kernel": "right"}]},
    "arms": {
        "new": {"feature": True, "launches": [{"kernel": "good"}]},
        "old": {"launches": [{"kernel": "slow"}]},
    },
    "measures": [{"of": "new", "against": "old", "decides": True}],
}


def written(folder: Path, source: str = "", name: str = "trial", **changed: Any) -> Path:
    """The folder of a probe with these keys changed."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (folder / "probe.cuh").write_text("// shared\n")
    (place / "kernel.cu").write_text(source)
    (place / "probe.yaml").write_text(yaml.safe_dump({**GOOD, **changed}, sort_keys=False))
    return place


class FakeDriver:
    """Adds one to every word of the input, where it is asked to be right."""

    def __init__(self) -> None:
        self.memory: dict[int, bytearray] = {}
        self.functions: list[str] = []
        self.failed = 0
        self.graphs: list[Callable[[], None]] | None = []
        self.clock = 0.0
        self.loaded = 0
        self.launches: list[tuple[str, int, int]] = []

    def describe(self) -> dict[str, int | str]:
        limits = {"multiprocessors": MULTIPROCESSORS, "shared_limit": LIMIT}
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        return {
            "name": f"Fake {visible}",
            "major": 9,
            "minor": 0,
            "cuda": "13.0",
            "uuid": "GPU-0",
            "bus": "0",
            **limits,
        }

    def allocate(self, size: int) -> int:
        if size > 1 << 26:
            raise DriverError("cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY", 2)
        place = 4096 * (len(self.memory) + 1)
        self.memory[place] = bytearray(size)
        return place

    def write(self, place: int, data: bytes) -> None:
        self.memory[place][: len(data)] = data

    def fill(self, place: int, word: int, words: int) -> None:
        self.memory[place][: words * 4] = struct.pack("I", word) * words

    def read(self, place: int, size: int) -> bytes:
        self.wait()
        return bytes(self.memory[place][:size])

    def load(self, image: bytes) -> int:
        self.loaded += 1
        if image == b"too new":
            raise DriverError("cuModuleLoadData", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 222)
        self.clock += 2000.0 if image == b"ptx" else 20.0
        return self.loaded

    def unload(self, module: int) -> None:
        pass

    def function(self, module: int, name: str) -> int:
        self.functions.append(name)
        return len(self.functions) - 1

    def prepare(self, function: int, launch: Launch, shared: int) -> dict[str, int]:
        if shared > LIMIT:
            raise DriverError("cuFuncSetAttribute", "CUDA_ERROR_INVALID_VALUE", 1)
        return {"registers": 32, "shared_bytes": shared}

    def tensor_map(self, place: int, spec: TensorMap) -> bytes:
        return bytes(128)

    def launch(self, function: int, launch: Launch, grid: int, shared: int, arguments: list[bytes]) -> None:
        name = self.functions[function]
        self.launches.append((name, grid, shared))
        self.clock += COSTS.get(name, 100.0)
        if name == "refused":
            raise DriverError("cuLaunchKernelEx", "CUDA_ERROR_INVALID_CLUSTER_SIZE", 912)
        if name == "illegal":
            self.failed = 715
        if name == "crash":
            os.abort()
        if name == "hang":
            print("about to hang", file=sys.stderr, flush=True)
            time.sleep(600)
        if name == "chatty":
            print("this is no answer", flush=True)
            os.write(1, b"neither is this\n")
        if name not in ("good", "right", "slow", "wrong", "stale", "chatty"):
            return  # writes nothing, as every kernel of a real probe does here
        source, _, target = (struct.unpack("Q", one)[0] for one in arguments[:3])
        count = struct.unpack("I", arguments[3])[0]
        words = [(word + 1) & 0xFFFFFFFF for word in struct.unpack(f"{count}I", self.memory[source][: count * 4])]
        if name in ("wrong", "stale"):
            words[-1] ^= 1
        self.memory[target][: count * 4] = struct.pack(f"{count}I", *words)

    def record(self, start: Callable[[], None]) -> int:
        if self.graphs is None:
            raise DriverError("cuStreamEndCapture", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 900)
        self.graphs.append(start)
        return len(self.graphs) - 1

    def replay(self, graph: int) -> None:
        assert self.graphs is not None
        self.graphs[graph]()

    def wait(self) -> None:
        if self.failed:
            raise DriverError("cuStreamSynchronize", "CUDA_ERROR_ILLEGAL_INSTRUCTION", self.failed)

    def mark(self) -> int:
        return int(self.clock * 1000)

    def between(self, first: int, last: int) -> float:
        self.wait()
        return (last - first) / 1000


class FakeCompiler:
    """Compiles what does not ask for tcgen05."""

    name = "Fake 1.0"

    def architectures(self) -> frozenset[int]:
        return frozenset((80, 90))

    def compile(self, source: str, target: str, feature: bool, ptx: bool = False) -> Compiled:
        if "crash the compiler" in source:
            os.abort()
        if "tcgen05" in source and feature:
            line = "ptxas application ptx input, line 9; error   : Instruction 'tcgen05.alloc' not supported on .target"
            return Compiled(None, f"{line} '{target}'\nptxas fatal   : aborted\n")
        if "no header" in source:
            return Compiled(None, 'kernel.cu(1): catastrophic error: cannot open source file "cuda_fp8.h"\n')
        if "newer than the driver" in source:
            return Compiled(b"too new")
        return Compiled((b"too new" if "newer" in source else b"ptx") if ptx else b"code")


if __name__ == "__main__":
    sys.exit(child.main(FakeDriver, lambda: (FakeCompiler(), "")))
