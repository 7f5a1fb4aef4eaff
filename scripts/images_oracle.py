"""Compares the images that archscan lists of wheels with those that NVIDIA's cuobjdump lists, library by library.

    python scripts/images_oracle.py WHEEL...

Both lists are multisets of kind, architecture with suffix, compression and version. cuobjdump comes with the toolkit,
or from the package nvidia-cuda-cuobjdump. It reads the sections .nv_fatbin and __nv_relfatbin alone: of images
elsewhere (in .cask_resource, cubins in .rodata) it says nothing, so that archscan lists more.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from archscan.model.library import LTO, Library
from archscan.model.settings import ScanSettings
from archscan.sources import discover
from archscan.sources.libraries import read_library

_HEAD = re.compile(
    r"Fatbin (\w+) code:\n=+\narch = (\S+)\ncode version = \[(\d+),(\d+)\]\n(.*?)(?=\n\n|\nFatbin|\Z)", re.S
)
_KINDS = {"elf": "cubin"}
Listed = Counter[tuple[str, str, bool, str]]


def ours(library: Library) -> Listed:
    """The images that archscan finds; code for a linker alone is encrypted, and called in another way."""
    return Counter((i.kind, i.target.name, i.compressed, i.version) for i in library.images if i.kind != LTO)


def theirs(program: str, path: Path) -> Listed:
    """The images that cuobjdump lists."""
    said = subprocess.run([program, "-all", path], capture_output=True, text=True, errors="replace", check=False)
    return Counter(
        (_KINDS.get(kind, kind), arch, "compressed" in rest, f"{major}.{minor}")
        for kind, arch, major, minor, rest in _HEAD.findall(said.stdout)
        if kind in ("elf", "ptx")
    )


def cuobjdump() -> str:
    """Where the program is: on PATH, or in its package."""
    spec = find_spec("nvidia")
    roots = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    packed = (str(path) for root in roots for path in Path(root).glob("*/bin/cuobjdump"))
    found = shutil.which("cuobjdump") or next(packed, "")
    if not found:
        raise SystemExit("no cuobjdump: pip install nvidia-cuda-cuobjdump")
    return found


def compare(wheel: str, program: str) -> bool:
    """Whether the lists of all libraries of a wheel are the same; prints what differs, and the sum."""
    libraries = images = 0
    differ: list[str] = []
    with zipfile.ZipFile(wheel) as archive:
        for unread in discover([wheel], ScanSettings()).libraries:
            found = read_library(unread)
            if not isinstance(found, Library) or not found.modules:
                continue
            with tempfile.TemporaryDirectory() as folder:
                other = theirs(program, Path(archive.extract(unread.member, folder)))
            mine = ours(found)
            libraries += 1
            images += mine.total()
            if mine != other:
                more, less = (mine - other).total(), (other - mine).total()
                differ.append(f"  {found.path}: {more:,} more than cuobjdump, {less:,} less")
    print(f"{Path(wheel).name}: {libraries} libraries, {images:,} images, {len(differ)} differ", *differ, sep="\n")
    return not differ


def main() -> int:
    """1 if a list differs."""
    program = cuobjdump()
    same = [compare(wheel, program) for wheel in sys.argv[1:]]
    return int(not all(same))


if __name__ == "__main__":
    sys.exit(main())
