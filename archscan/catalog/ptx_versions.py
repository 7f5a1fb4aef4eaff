"""Compiles rules/facts/ptx_versions.yaml: the driver that each version of PTX needs."""

from __future__ import annotations

import re
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, sequence, text
from archscan.catalog.types import PtxVersion
from archscan.errors import UserError

_KEYS = ("version", "cuda", "driver", "source", "confidence")
_CONFIDENCES = ("high", "medium", "low")


def compile_ptx_versions(raw: Any, where: str) -> dict[str, PtxVersion]:
    """The versions of PTX by their number, oldest first."""
    root = mapping(raw, where)
    check_keys(root, ("sources", "versions"), where, ("sources", "versions"))
    sources = {name: text(value, where) for name, value in mapping(root["sources"], where).items()}
    found: dict[str, PtxVersion] = {}
    for row in sequence(root["versions"], where):
        entry = mapping(row, where)
        check_keys(entry, _KEYS, where, _KEYS)
        version = text(entry["version"], where)
        driver = entry["driver"]
        if not re.fullmatch(r"\d+\.\d+", version) or version in found:
            raise UserError(f'{where}: "{version}" is no new version of PTX', "write it as 9.0, in quotes")
        if not isinstance(driver, int) or isinstance(driver, bool):
            raise UserError(f'{where}: version {version}: "driver" must be a number, found "{driver}"')
        source = sources[one_of(entry["source"], sources, f"{where}: version {version}: source")]
        confidence = one_of(entry["confidence"], _CONFIDENCES, f"{where}: version {version}: confidence")
        found[version] = PtxVersion(version, text(entry["cuda"], where), driver, source, confidence)
    return found
