"""Reads and checks rules/ once per run and hands out the compiled catalog."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from archscan.catalog.architectures import compile_architectures
from archscan.catalog.features import compile_features
from archscan.catalog.macros import compile_macros
from archscan.catalog.reading import parse, rules_directory
from archscan.catalog.types import Catalog
from archscan.errors import UserError

__all__ = ["load"]


def load(extra_dirs: Sequence[Path] = ()) -> Catalog:
    """The catalog of the built-in rules and those in `extra_dirs`; UserError for what is wrong in them."""
    root = rules_directory()
    digest = hashlib.sha256()
    architectures = compile_architectures(*_read(root / "facts" / "architectures.yaml", digest))
    universe = architectures.universe
    raw, where = _read(root / "facts" / "macros.yaml", digest)
    raw_features, features_file = _read(root / "facts" / "features.yaml", digest)
    return Catalog(
        universe=universe,
        architectures=architectures.by_sm,
        product_names=architectures.product_names,
        macros=compile_macros(raw, universe, where),
        features=compile_features(raw_features, universe, features_file),
        evidence=(),
        rules={},
        packages={},
        messages=(),
        digest=digest.hexdigest(),
        images=architectures.images,
    )


def _read(path: Path, digest: Any) -> tuple[Any, str]:
    """The content of a YAML file and its name for messages; feeds the digest."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read", error.strerror or "") from error
    digest.update(path.name.encode() + b"\0" + data)
    return parse(data, str(path)), path.name
