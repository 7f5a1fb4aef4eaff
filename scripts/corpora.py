"""Unpacks the real packages that some tests and benchmarks read: scripts/corpora.py DIRECTORY [NAME...].

Then set ARCHSCAN_CORPORA=DIRECTORY. What is there already is kept.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = {
    "flashinfer-0.6.2": "flashinfer-python==0.6.2",
    "flashinfer-0.7.2": "flashinfer-python==0.7.2.post1",
    "sglang-0.5.8": "sglang==0.5.8",
    "sglang-0.5.23": "sglang==0.5.23",
}
# The same wheel whichever Python asks: some of these ship one per version.
WHEEL_FOR = ["--only-binary=:all:", "--python-version=3.11", "--implementation=cp"]
ABIS = ["cp311", "abi3", "none"]
PLATFORMS = ["manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64", "any"]


def fetch(name: str, base: Path) -> Path:
    """The directory of an unpacked package; the wheel comes from the index that pip is set up for."""
    target = base / name
    if target.is_dir():
        return target
    with tempfile.TemporaryDirectory(dir=base) as work:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", work, *WHEEL_FOR]
        command += [f"--abi={abi}" for abi in ABIS] + [f"--platform={platform}" for platform in PLATFORMS]
        subprocess.run([*command, PACKAGES[name]], check=True)
        (wheel,) = Path(work).glob("*.whl")
        unpacked = Path(work) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        unpacked.rename(target)
    return target


def main(arguments: list[str]) -> int:
    """Fetches what is named, or all; 2 for a name that is not known."""
    if not arguments or not set(arguments[1:]) <= set(PACKAGES):
        print(f"{__doc__}\nnames: {', '.join(PACKAGES)}", file=sys.stderr)
        return 2
    base = Path(arguments[0])
    base.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or PACKAGES:
        print(fetch(name, base))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
