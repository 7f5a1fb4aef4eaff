"""A plan as JSON: written by `archscan fix --format json`, read back by `--apply`, guarded by digests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from archscan.errors import UserError
from archscan.fixing.journal import digest
from archscan.fixing.plan import Plan
from archscan.fixing.proposal import applied
from archscan.model.finding import Edit


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One file of a saved plan: where it lies, the digest of the bytes the plan was made from, its edits."""

    disk: Path
    before: str
    edits: tuple[Edit, ...]


def plan_document(plan: Plan, disks: Mapping[str, str], digests: Mapping[str, str]) -> dict[str, Any]:
    """The `plan` part of the JSON document: units with their edits, what is held back, digest of every file."""
    return {
        "units": [
            {
                "id": unit.id,
                "title": unit.title,
                "safety": "safe" if unit.safe else "unsafe",
                "reasons": list(unit.reasons),
                "opens": list(unit.opens),
                "also": list(unit.also),
                "findings": [finding.fingerprint for finding in unit.findings],
                "edits": [asdict(edit) for edit in unit.edits],
            }
            for unit in plan.units
        ],
        "held_back": [
            {
                "path": held.finding.path,
                "line": held.finding.place.line,
                "rule": held.finding.rule,
                "fingerprint": held.finding.fingerprint,
                "reason": held.reason,
                "flag": held.flag,
            }
            for held in plan.held_back
        ],
        "files": [
            {"path": path, "disk": disks[path], "sha256": digests[path]}
            for path in sorted({edit.path for edit in plan.edits})
        ],
    }


def read_plan(path: Path) -> tuple[SavedFile, ...]:
    """The files of a saved plan. UserError if it is none, or a file in it changed since."""
    try:
        raw = json.loads(path.read_bytes())
        part = raw["plan"]
        edits = [Edit(**edit) for unit in part["units"] for edit in unit["edits"]]
        files = [(row["path"], Path(row["disk"]), row["sha256"]) for row in part["files"]]
    except OSError as error:
        raise UserError(f"cannot read the plan {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is no saved plan", "make one with `archscan fix --format json -o plan.json`"
        ) from error
    saved = []
    for name, disk, before in files:
        if not disk.is_file() or digest(disk.read_bytes()) != before:
            raise UserError(f"{disk} changed since the plan was made", "nothing was written; make a new plan")
        saved.append(SavedFile(disk, before, tuple(dict.fromkeys(e for e in edits if e.path == name))))
    return tuple(saved)


def edited(saved: SavedFile) -> bytes:
    """The file's new bytes. UserError if the edits do not fit."""
    try:
        return applied(saved.disk.read_bytes(), saved.edits)
    except ValueError as error:
        raise UserError(f"the edits for {saved.disk} do not fit: {error}") from error
