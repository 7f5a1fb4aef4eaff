"""Checks rules/facts/toolkits.yaml against nvcc and ptxas, or prints the row that a toolkit measures to.

usage: facts_toolkits.py --check [DIR…]      each DIR holds an installed or unpacked toolkit or nvcc wheel
       facts_toolkits.py --check --fetch     every wheel that the table names, from the package index, one at a time
       facts_toolkits.py --measure DIR…      prints rows

What is measured: the architectures that ptxas assembles for and, where nvcc is there, that nvcc takes; the newest
`.version` of PTX that ptxas reads. Without DIR the ptxas of the PATH or of the installed nvidia-cuda-nvcc is asked.
Says "no drift" or what differs, and exits with 1 on drift.
"""

from __future__ import annotations

import argparse
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "rules" / "facts" / "toolkits.yaml"
PROGRAMS = ("ptxas", "nvcc")


@dataclass(frozen=True)
class Measured:
    """What the programs of a toolkit say."""

    version: str  # of ptxas: 12.8.93
    accepts: tuple[str, ...]  # "90", "90a"
    ptx_isa: str
    nvcc: tuple[str, ...] | None  # what nvcc takes; None where it was not there

    @property
    def release(self) -> str:
        return ".".join(self.version.split(".")[:2])


def measured(ptxas: Path, nvcc: Path | None) -> Measured:
    """The measurement of one toolkit."""
    version = re.search(r"\bV(\d+\.\d+\.\d+)", _said(ptxas, "--version"))
    if version is None:
        raise SystemExit(f"{ptxas} does not say its version")
    accepts = tuple(n for n in _named(_said(ptxas, "--help")) if _assembles(ptxas, n))
    taken = tuple(n for n in _named(_said(nvcc, "--help")) if _compiles(nvcc, n)) if nvcc else None
    return Measured(version[1], accepts, _newest_isa(ptxas), taken)


def _said(program: Path, option: str) -> str:
    return subprocess.run([program, option], capture_output=True, text=True, check=False).stdout


def _named(text: str) -> list[str]:
    """The architectures that a help text lists."""
    found = set(re.findall(r"'sm_(\d+[af]?)'", text))
    return sorted(found, key=lambda name: (int(re.sub(r"\D", "", name)), name))


def _assembles(ptxas: Path, name: str) -> bool:
    return _accepts_ptx(ptxas, name, f".version {'6.0' if name in ('35', '37') else '7.8'}\n.target sm_52\n") or (
        _accepts_ptx(ptxas, name, f".version {_newest_isa(ptxas)}\n.target sm_{name}\n")
    )


def _accepts_ptx(ptxas: Path, name: str, head: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "x.ptx")
        source.write_text(f"{head}.address_size 64\n.visible .entry k() {{ ret; }}\n")
        command = [ptxas, f"--gpu-name=sm_{name}", source, "-o", Path(folder, "x.cubin")]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


_ISA: dict[Path, str] = {}


def _newest_isa(ptxas: Path) -> str:
    """The newest `.version` that is read."""
    if ptxas not in _ISA:
        known = [f"{major}.{minor}" for major in (7, 8, 9, 10) for minor in range(10)]
        target = ".target sm_80\n"
        _ISA[ptxas] = next(v for v in reversed(known) if _accepts_ptx(ptxas, "80", f".version {v}\n{target}"))
    return _ISA[ptxas]


def _compiles(nvcc: Path, name: str) -> bool:
    """Whether nvcc takes the architecture; it only says what it would run."""
    command = [nvcc, "--dryrun", "-x", "cu", "-c", f"-arch=sm_{name}", "/dev/null", "-o", "/dev/null"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return "nsupported gpu architecture" not in run.stderr + run.stdout


# --- the table


def rows() -> dict[str, dict[str, object]]:
    """The rows of the table by their release."""
    table = yaml.safe_load(TABLE.read_text("utf-8"))
    return {row["release"]: row for row in table["toolkits"]}


def drift(found: Measured, row: dict[str, object] | None) -> Iterator[str]:
    """What a measurement and its row differ in."""
    if row is None:
        yield f"{found.release}: no row; {shown(found)}"
        return
    expected = str(row["accepts"]).split()
    for what, names in (("ptxas", found.accepts), ("nvcc", found.nvcc)):
        for name in (set(names) ^ set(expected)) if names is not None else ():
            verb = "takes" if name in (names or ()) else "refuses"
            yield f"{found.version}: {what} {verb} sm_{name}, the table says otherwise"
    if str(row["ptx_isa"]) != found.ptx_isa:
        yield f"{found.version}: PTX ISA {found.ptx_isa}, the table says {row['ptx_isa']}"


def shown(found: Measured) -> str:
    """A measurement as a row."""
    accepts = " ".join(found.accepts)
    return (
        f'  - release: "{found.release}"  measured: "{found.version}"  ptx_isa: "{found.ptx_isa}"  accepts: "{accepts}"'
    )


# --- where toolkits lie


def program(folder: Path, name: str) -> Path | None:
    """A program below a folder, made executable."""
    found = next((p for p in sorted(folder.rglob(name)) if p.is_file() and p.parent.name == "bin"), None)
    if found is not None and not found.stat().st_mode & stat.S_IXUSR:
        found.chmod(found.stat().st_mode | 0o755)
    return found


def installed() -> list[Path]:
    """The folder of the toolkit on the PATH, or of the one that a wheel brought."""
    on_path = shutil.which("ptxas")
    if on_path:
        return [Path(on_path).resolve().parent.parent]
    return [p for base in sys.path for p in Path(base).glob("nvidia/*") if program(p, "ptxas")][:1]


def fetched() -> Iterator[Measured]:
    """The measurement of every wheel that the table names."""
    for row in rows().values():
        if not row.get("measured"):
            continue
        release = str(row["release"])
        package = (
            "nvidia-cuda-nvcc"
            if int(release.split(".", maxsplit=1)[0]) > 12
            else f"nvidia-cuda-nvcc-cu{release.split('.', maxsplit=1)[0]}"
        )
        with tempfile.TemporaryDirectory() as folder:
            wanted = f"{package}=={row['measured']}"
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, wanted]
            if subprocess.run(pip, capture_output=True, check=False).returncode:
                print(f"{wanted}: cannot be had here")
                continue
            for wheel in Path(folder).glob("*.whl"):
                zipfile.ZipFile(wheel).extractall(folder)
                wheel.unlink()
            yield _of_folder(Path(folder))


def _of_folder(folder: Path) -> Measured:
    found = {name: program(folder, name) for name in PROGRAMS}
    if found["ptxas"] is None:
        raise SystemExit(f"no ptxas below {folder}")
    return measured(found["ptxas"], found["nvcc"])


def main() -> int:
    """Runs the script; 1 on drift, 2 where nothing can be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    folders = options.folders or ([] if options.fetch else installed())
    if not folders and not options.fetch:
        print("no ptxas here: name a folder, or say --fetch")
        return 2
    results = fetched() if options.fetch else map(_of_folder, folders)
    if options.measure:
        for found in results:
            print(shown(found), flush=True)
        return 0
    known, wrong, seen = rows(), 0, []
    for found in results:
        seen.append(found.version)
        for line in drift(found, known.get(found.release)):
            wrong += 1
            print(line, flush=True)
    print(f"{len(seen)} toolkits ({', '.join(seen)}): {'no drift' if not wrong else f'{wrong} differences'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
