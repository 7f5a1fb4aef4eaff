"""Environments made for tests: libraries that hold images of chosen targets, distributions with their metadata."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

_PAYLOAD = bytes(17_000)  # too large to be a stub without kernels
_MACHINES = {"x86_64": 62, "aarch64": 183}
_SUFFIX = {"": 0, "a": 0x100000, "f": 0x200000}
PTX = "9.0"


def library(*modules: str, machine: str = "x86_64", ptx: str = PTX) -> bytes:
    """A shared library of these modules, each a list of images as build systems write them: "sm_80 compute_90a"."""
    return _elf(machine) + b"".join(_made(module.split(), ptx) for module in modules)


def container(*images: tuple[str, bytes]) -> bytes:
    """A module of these images with their bytes: ("sm_90a", data)."""
    return _contained(b"".join(_entry(name, PTX, data + bytes(-len(data) % 8)) for name, data in images))


def _elf(machine: str) -> bytes:
    head = bytearray(64)
    head[:7] = b"\x7fELF\2\1\1"
    head[16:20] = struct.pack("<HH", 3, _MACHINES[machine])
    head[52:54] = struct.pack("<H", 64)
    return bytes(head)


def _made(images: list[str], ptx: str) -> bytes:
    return _contained(b"".join(_entry(image, ptx, _PAYLOAD) for image in images))


def _contained(entries: bytes) -> bytes:
    return bytes.fromhex("50ED55BA01001000") + struct.pack("<Q", len(entries)) + entries


def _entry(image: str, ptx: str, payload: bytes) -> bytes:
    match = re.fullmatch(r"(sm|compute)_(\d+)([af]?)", image)
    assert match
    kind = 2 if match[1] == "sm" else 1
    major, minor = (int(part) for part in (ptx if kind == 1 else "1.7").split("."))
    flags = 0x11 | _SUFFIX[match[3]]
    fields = (kind, 0x101, 64, len(payload), 0, 0, minor, major, int(match[2]), 0, 0, flags, 0, 0)
    head = struct.pack("<HHIQIIHHIIIQQQ", *fields)
    return head + payload


def site_of(prefix: Path, python: str = "3.11") -> Path:
    """The directory of distributions of a virtual environment, which is made if it is not there."""
    site = prefix / "lib" / f"python{python}" / "site-packages"
    if not site.is_dir():
        site.mkdir(parents=True)
        (prefix / "pyvenv.cfg").write_text(f"home = /nowhere/bin\nversion = {python}.7\n")
    return site


def install(
    site: Path, name: str, files: Mapping[str, bytes | str], version: str = "1.0", requires: tuple[str, ...] = ()
) -> Path:
    """Installs a distribution of these files, as pip would; returns the directory of its metadata."""
    for file, data in files.items():
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}\nName: no\n")
    lines = [f"{file},sha256=x,1" if "," not in file else f'"{file}",sha256=x,1' for file in files]
    (folder / "RECORD").write_text("\n".join([*lines, f"{folder.name}/METADATA,,", f"{folder.name}/RECORD,,"]) + "\n")
    return folder


def editable(site: Path, name: str, project: Path) -> None:
    """Installs a project in place, as `pip install -e` does."""
    folder = install(site, name, {f"__editable__.{name}.pth": "import os; raise SystemExit('a .pth file was run')\n"})
    url = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (folder / "direct_url.json").write_text(json.dumps(url))


def wheel(folder: Path, name: str, files: Mapping[str, bytes], version: str = "1.0") -> Path:
    """A wheel of these files."""
    path = folder / f"{name.replace('-', '_')}-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(file, data)
        archive.writestr(
            f"{name}-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    return path
