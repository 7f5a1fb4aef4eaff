"""What a wheel or an installed tree says of itself: wheel variants, how torch and projects like it were built."""

from __future__ import annotations

import json
import mmap
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archscan.bounded import small_file
from archscan.catalog.types import Catalog
from archscan.declared.model import Declared, declared
from archscan.errors import UserError
from archscan.sources.archives import BROKEN

_MOST = 4 << 20  # bytes of a file that says it
_VARIANT, _BUILT = "variant.json", "cpp_lib.json"
_TORCH = re.compile(r"(?:lib)?torch_cuda\.(?:so|dll)")
_FLAGS = re.compile(rb"(?:(?:sm|compute)_\d{2,3}[af]?[ ;,]){1,40}(?:sm|compute)_\d{2,3}[af]?(?=\0)")


def says_itself(path: str, catalog: Catalog) -> Declared:
    """What is declared in a wheel or below a directory; UserError where nothing is."""
    for name, data in _texts(path):
        found = _from_variant(name, data) if name.endswith(_VARIANT) else _from_build(name, data)
        if found:
            return declared(found, name, catalog)
    flags = _from_torch(path)
    if flags:
        return declared(*flags, catalog)
    hint = "name what it is meant for: --declared sm_80,sm_90a,sm_120f"
    raise UserError(f"{path} does not say for which architectures it is built", hint)


def _texts(path: str) -> Iterator[tuple[str, bytes]]:
    """The small files that may say it, those of wheel variants first."""
    for wanted in (f".dist-info/{_VARIANT}", f"/{_BUILT}"):
        if os.path.isdir(path):
            for file in sorted(Path(path).rglob(wanted.rpartition("/")[2])):
                name = file.relative_to(path).as_posix()
                if f"/{name}".endswith(wanted):
                    try:
                        yield name, small_file(file, _MOST)
                    except OSError:
                        continue
        elif zipfile.is_zipfile(path):
            try:
                with zipfile.ZipFile(path) as archive:
                    for info in archive.infolist():
                        if f"/{info.filename}".endswith(wanted) and info.file_size <= _MOST:
                            yield info.filename, archive.read(info)
            except BROKEN as error:
                raise UserError(f"cannot read the archive {path}: {error}") from error


def _from_variant(name: str, data: bytes) -> str:
    """The values of `nvidia :: sm_arch` of a wheel variant: 90_real, 120_virtual."""
    variants = _json(data).get("variants")
    if not isinstance(variants, dict) or not variants:
        return ""
    listed: list[str] = []
    for variant in variants.values():
        values = variant.get("nvidia", {}).get("sm_arch", []) if isinstance(variant, dict) else []
        listed += [str(value).replace("_real", "-real").replace("_virtual", "-virtual") for value in values]
    return ",".join(dict.fromkeys(listed))


def _from_build(name: str, data: bytes) -> str:
    """TORCH_CUDA_ARCH_LIST as the build of a project kept it: `env` of a cpp_lib.json."""
    environment = _json(data).get("env")
    value = environment.get("TORCH_CUDA_ARCH_LIST") if isinstance(environment, dict) else None
    return value if isinstance(value, str) else ""


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _from_torch(path: str) -> tuple[str, str] | None:
    """What `torch.cuda.get_arch_list()` would answer: a text in torch's library, read on disk alone."""
    if not os.path.isdir(path):
        return None
    for file in sorted(Path(path).rglob("*torch_cuda.*")):
        if not _TORCH.fullmatch(file.name) or not file.is_file() or not file.stat().st_size:
            continue
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            match = _FLAGS.search(mapped)
            if match:
                return match[0].decode(), file.relative_to(path).as_posix()
    return None
