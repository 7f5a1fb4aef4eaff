"""Compares what archscan says a GPU loads with what its driver does, in two steps on two machines.

    python scripts/load_images.py pack images.zip LIBRARY|WHEEL|DIRECTORY...     here; needs archscan
    python3 scripts/load_images.py load images.zip                              on a GPU; needs its driver alone

`pack` takes from each library one module for every set of images that occurs in it, the smallest, with what archscan
says of it for every SM. `load` gives each to the driver (libcuda.so.1 through ctypes) as a whole and image by image,
prints what came of it, and exits with 1 where archscan was wrong. Objects of `nvcc -rdc` are left out: they are linked.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST = 48 << 20  # bytes of a package
MOST_OF_ONE = 4 << 20  # and of one module in it
SECONDS = 240
_START = bytes.fromhex("50ED55BA01001000")
_ANSWERS = {0: "loads", 200: "invalid image", 209: "no image", 218: "invalid PTX", 222: "PTX too new", 500: "not found"}


def pack(target: str, paths: list[str]) -> int:
    """Writes the package; says how many modules are in it."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from archscan.model.library import Library
    from archscan.model.settings import ScanSettings
    from archscan.sources import discover
    from archscan.sources.libraries import read_library

    cases: list[dict[str, Any]] = []
    size = 0
    with zipfile.ZipFile(target, "w") as package:
        for unread in discover(paths, ScanSettings(use_cache=False)).libraries:
            library = read_library(unread)
            for case, blobs in _cases(library) if isinstance(library, Library) else ():
                bytes_of_it = sum(map(len, blobs))
                if bytes_of_it > MOST_OF_ONE or size + bytes_of_it > MOST:
                    print(
                        f"left out, too large: {library.path}, {bytes_of_it / 1e6:.1f} MB: {', '.join(case['images'])}"
                    )
                    continue
                size += bytes_of_it
                for i, blob in enumerate(blobs):
                    package.writestr(f"{len(cases)}.{i}", blob)
                cases.append(case)
        package.writestr("cases.json", json.dumps(cases))
    print(f"{target}: {len(cases)} modules, {size / 1e6:.1f} MB")
    return 0


def _cases(library: Any) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """One module for each set of images, as a case and the bytes of its images, each a container's entry."""
    from archscan.binary.loading import fits, got
    from archscan.catalog import load
    from archscan.model.library import CUBIN, PTX
    from archscan.sources.libraries import read_stored

    catalog = load()
    chosen: dict[tuple[str, ...], Any] = {}
    for module in library.modules:
        if module.relocatable or any(image.kind not in (CUBIN, PTX) for image in module.images):
            continue
        names = tuple(image.name for image in module.images)
        best = chosen.get(names)
        if best is None or _stored(module) < _stored(best):
            chosen[names] = module
    wanted = [image for module in chosen.values() for image in module.images]
    stored = read_stored(library, wanted)
    for names, module in chosen.items():
        gets = {sm: got(module, sm, catalog) for sm in catalog.architectures}
        case = {
            "library": library.path,
            "images": names,
            "gets": {sm: [one.how.value, one.image.name if one.image else ""] for sm, one in gets.items()},
            "fits": [[sm for sm in catalog.architectures if fits(image, sm, catalog)] for image in module.images],
        }
        yield case, [_entry(image, stored[image]) for image in module.images]


def _stored(module: Any) -> int:
    return sum(image.span.length for image in module.images)


def _entry(image: Any, data: bytes) -> bytes:
    """An image as an entry of a container, compressed as it was; PTX with the options of its compiler, none here."""
    span = image.span
    major, minor = map(int, image.version.split("."))
    is_cubin = image.kind == "cubin"
    flags = 0x11 | {"a": 0x100000, "f": 0x200000}.get(image.target.suffix, 0)
    flags |= {"lz4": 0x2000, "zstd": 0x8000}.get(span.scheme, 0) | (0x1000000 * (is_cubin and image.target.sm >= 100))
    packed, raw = (span.length, span.raw) if span.scheme else (0, 0)
    payload = data + bytes(-len(data) % 8)
    options = b"" if is_cubin else struct.pack("<II8x", 72, 0)
    fields = (
        2 if is_cubin else 1,
        0x101,
        64 + len(options),
        len(payload),
        packed,
        64 if options else 0,
        minor,
        major,
        image.target.sm,
        0,
        0,
        flags,
        0,
        raw,
    )
    return struct.pack("<HHIQIIHHIIIQQQ", *fields) + options + payload


class Driver:
    """The CUDA driver of this machine, with the primary context of device 0."""

    def __init__(self) -> None:
        os.environ["CUDA_MODULE_LOADING"] = "EAGER"  # else PTX is compiled when a kernel is asked for
        self._cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        major, minor, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self._check("cuInit", 0)
        self._check("cuDeviceGet", ctypes.byref(device), 0)
        self._check("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self._check("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self._check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._check("cuCtxSetCurrent", context)
        self._check("cuDriverGetVersion", ctypes.byref(version))
        self.sm, self.version = major.value * 10 + minor.value, version.value

    def load(self, entries: list[bytes]) -> int:
        """What the driver answers to a container with these entries: 0 = it loads."""
        body = b"".join(entries)
        data = _START + struct.pack("<Q", len(body)) + body
        buffer = ctypes.create_string_buffer(data, len(data))
        module = ctypes.c_void_p()
        code = int(self._cuda.cuModuleLoadData(ctypes.byref(module), buffer))
        if code == 0:
            self._cuda.cuModuleUnload(module)
        return code

    def _check(self, name: str, *arguments: Any) -> None:
        code = getattr(self._cuda, name)(*arguments)
        if code:
            raise SystemExit(f"{name}: CUDA error {code}")


def load(package_path: str) -> int:
    """Prints what the driver loads beside what archscan said; 1 if they differ. A driver that crashes is a result."""
    driver = Driver()
    print(f"sm_{driver.sm}, driver for CUDA {driver.version // 1000}.{driver.version % 1000 // 10}")
    ends = time.monotonic() + SECONDS
    count: Counter[str] = Counter()
    different = 0
    with zipfile.ZipFile(package_path) as package:
        cases = json.loads(package.read("cases.json"))
    for number, case in enumerate(cases):
        if time.monotonic() > ends:
            count["not tried, the time is over"] += 1
            continue
        command = [sys.executable, __file__, "one", package_path, str(number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode:
            count[f"the driver ended the process with {done.returncode}"] += 1
            print(f"{case['library']} [{', '.join(case['images'])}]: the driver ended the process: {done.returncode}")
            continue
        found = json.loads(done.stdout)
        different += found["different"]
        count.update(found["count"])
        print("\n".join(found["lines"]))
    for words, number in sorted(count.items()):
        print(f"{number:>5,} {words}")
    print("all as archscan says" if not different else f"{different} differences")
    return int(bool(different))


def one(package_path: str, number: int) -> int:
    """Prints what became of one module, as JSON: in a process of its own, as a damaged one can take the driver down."""
    driver = Driver()
    count: Counter[str] = Counter()
    lines: list[str] = []
    with zipfile.ZipFile(package_path) as package:
        case = json.loads(package.read("cases.json"))[number]
        entries = [package.read(f"{number}.{i}") for i in range(len(case["images"]))]
    how, image = case["gets"][str(driver.sm)]
    began = time.monotonic()
    code = driver.load(entries)
    took = time.monotonic() - began
    different = int((code == 0) != (how != "none"))
    count[f"{how}: {_ANSWERS.get(code, code)}"] += 1
    said = f"{how} {image}".strip()
    lines.append(
        f"{'WRONG ' if different else ''}{case['library']} [{', '.join(case['images'])}]: {said}; "
        f"driver: {_ANSWERS.get(code, code)}, {took:.2f} s"
    )
    for name, fitting, entry in zip(case["images"], case["fits"], entries, strict=True):
        fits = driver.sm in fitting
        if name.startswith("compute") and fits and name != image and how != "jit":
            continue  # it would be compiled for nothing
        alone = driver.load([entry])
        wrong = (alone == 0) != fits and alone != 222
        different += wrong
        count[f"alone, {name} {'fits' if fits else 'does not fit'}: {_ANSWERS.get(alone, alone)}"] += 1
        if wrong:
            lines.append(f"  WRONG {name} alone: archscan {'fits' if fits else 'does not fit'}, driver {alone}")
    print(json.dumps({"different": different, "count": count, "lines": lines}))
    return 0


def main(arguments: list[str]) -> int:
    """Packs or loads."""
    if len(arguments) >= 3 and arguments[0] == "pack":
        return pack(arguments[1], arguments[2:])
    if len(arguments) == 2 and arguments[0] == "load":
        return load(arguments[1])
    if len(arguments) == 3 and arguments[0] == "one":
        return one(arguments[1], int(arguments[2]))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
