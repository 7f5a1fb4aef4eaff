"""Which installed distribution a file belongs to, by the RECORD files beside it: an upgrade undoes an edit there."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from archscan.bounded import small_file


def distribution_of(path: Path) -> str | None:
    """`flashinfer-python 0.6.2` for a file that a RECORD lists, or None."""
    absolute = path.absolute()
    for parent in absolute.parents:
        owners = _owners(parent)
        if owners:
            return owners.get(absolute.relative_to(parent).as_posix())
        if parent.name in ("site-packages", "dist-packages"):
            return None
    return None


_MOST = 64 << 20  # bytes of a RECORD: the largest known has 3 million


@lru_cache(maxsize=64)
def _owners(folder: Path) -> dict[str, str]:
    """path below `folder` -> "name version", from every RECORD in it; {} if it holds no distributions."""
    owners: dict[str, str] = {}
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        name, _, version = record.parent.name.removesuffix(".dist-info").rpartition("-")
        try:
            text = small_file(record, _MOST).decode("utf-8", "replace")
            rows = csv.reader(text.splitlines())
            owners.update((row[0], f"{name} {version}") for row in rows if row)
        except (OSError, csv.Error):
            continue
    return owners
