"""Fetches and unpacks the packages that the labels are about.

scripts/labels_fetch.py [DIRECTORY] [NAME...] [--set SET]: DIRECTORY is $ARCHSCAN_LABELS when it is not given; what is
there already is kept; SET is dev, holdout, second, third, fourth or fifth, and all are fetched without it. Each lies
in DIRECTORY/NAME-VERSION, a wheel as it is, an sdist below its top folder, without compiled libraries. Needs
`pip install unearth`: pip itself runs the setup.py of an sdist before it saves the file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LABELS = Path(__file__).parent.parent / "tests" / "data" / "labels"
# The same file whichever Python asks.
PLATFORMS = "manylinux_2_34_x86_64,manylinux_2_28_x86_64,manylinux_2_27_x86_64,manylinux_2_24_x86_64,"
FILE_FOR = ["--python-version=3.11", "--implementation=cp", "--abis=cp311,abi3,none"]
FILE_FOR += [f"--platforms={PLATFORMS}manylinux_2_17_x86_64,manylinux2014_x86_64,any"]
COMPILED = (".so", ".a", ".bc", ".fatbin", ".ltoir", ".dylib", ".dll")


def packages() -> list[dict[str, Any]]:
    """The labelled packages: name, version, file, class, and the set that their labels belong to."""
    found: list[dict[str, Any]] = json.loads((LABELS / "packages.json").read_text("utf-8"))
    return found


def folder(package: dict[str, Any], base: Path) -> Path:
    """Where a package lies, or will lie."""
    return base / f"{package['name']}-{package['version']}"


def fetch(package: dict[str, Any], base: Path) -> Path:
    """The directory of an unpacked package; its file comes from the index."""
    target = folder(package, base)
    if target.is_dir():
        return target
    with tempfile.TemporaryDirectory(dir=base) as work:
        kind = "--only-binary" if package["file"].endswith(".whl") else "--no-binary"
        requirement = f"{package['name']}=={package['version']}"
        command = [sys.executable, "-m", "unearth", kind, *FILE_FOR, "--download", work, requirement]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        archive = Path(work) / package["file"]
        if not archive.is_file():
            raise SystemExit(f"{requirement}: expected {package['file']}; the index gave another file")
        unpacked = Path(work) / "unpacked"
        (_unzip if archive.suffix == ".whl" else _untar)(archive, unpacked)
        unpacked.rename(target)
    return target


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(target, [n for n in opened.namelist() if not n.endswith(COMPILED) and ".so." not in n])


def _untar(archive: Path, target: Path) -> None:
    outer = target.with_name("outer")
    with tarfile.open(archive) as opened:
        opened.extractall(outer, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (top,) = outer.iterdir()
    top.rename(target)


def main(arguments: Sequence[str]) -> int:
    """Fetches what is named, or a set, or all; 2 without a directory or for a name that is not known."""
    known = {package["name"]: package for package in packages()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", default=os.environ.get("ARCHSCAN_LABELS"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--set", choices=sorted({package["set"] for package in known.values()}), dest="which")
    given = parser.parse_args(arguments)
    if not given.directory:
        parser.error("no DIRECTORY, and ARCHSCAN_LABELS names none")
    if unknown := sorted(set(given.names) - set(known)):
        parser.error(f"unknown: {', '.join(unknown)}; names: {', '.join(known)}")
    base = Path(given.directory)
    base.mkdir(parents=True, exist_ok=True)
    for name in given.names or [n for n, p in known.items() if given.which in (None, p["set"])]:
        print(fetch(known[name], base))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
