"""The GPUs and the driver of this machine, as nvidia-smi tells them; libcuda where there is no nvidia-smi."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from archscan.programs import program

USUAL = "/usr/local/cuda/bin/nvcc"
_SECONDS = 30
_CUDA = re.compile(r"CUDA Version:\s*(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Gpu:
    """GPUs of one kind."""

    name: str
    sm: int
    number: int = 1


@dataclass(frozen=True, slots=True)
class Machine:
    """What is in this machine; nothing where no driver answers."""

    gpus: tuple[Gpu, ...] = ()
    driver: str = ""  # 580.82.07
    cuda: str = ""  # newest CUDA that the driver supports, as it says: 13.0

    @property
    def branch(self) -> int | None:
        """The branch of the driver: 580."""
        match = re.match(r"\d+", self.driver)
        return int(match[0]) if match else None


def nvcc(environ: Mapping[str, str]) -> str:
    """The nvcc that builds at first use take: of CUDA_HOME or CUDA_PATH, of PATH, or where toolkits lie."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(variable):
            path = os.path.join(environ[variable], "bin", "nvcc")
            return path if os.path.isfile(path) else ""
    return program("nvcc") or (USUAL if os.path.isfile(USUAL) else "")


def this_machine() -> Machine:
    """The GPUs of this machine, those of one kind together, and its driver."""
    smi = program("nvidia-smi")
    text = _asked([smi, "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"]) if smi else ""
    rows = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    rows = [row for row in rows if len(row) == 3 and re.fullmatch(r"\d+\.\d", row[1])]
    if not rows:
        from archscan.catalog.native import from_driver

        return Machine(tuple(Gpu("", sm, number) for sm, number in sorted(Counter(from_driver()).items())))
    kinds = Counter((name, int(capability.replace(".", ""))) for name, capability, _ in rows)
    match = _CUDA.search(_asked([smi])) if smi else None
    gpus = tuple(Gpu(name, sm, number) for (name, sm), number in kinds.items())
    return Machine(gpus, rows[0][2], match[1] if match else "")


def _asked(command: list[str]) -> str:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return answer.stdout if answer.returncode == 0 else ""
