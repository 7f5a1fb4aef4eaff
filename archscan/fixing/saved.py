"""A plan as JSON: written by `archscan fix --format json`, read back by `--apply`, guarded by digests."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from archscan.bounded import small_file
from archscan.errors import UserError
from archscan.fixing.apply import Change
from archscan.fixing.journal import MOST_CONTENT, below, digest
from archscan.fixing.plan import Plan
from archscan.fixing.proposal import applied
from archscan.model.finding import Edit
from archscan.sources.kinds import is_source

_HOW = "make one with `archscan fix --format json -o plan.json`"
_MOST_PLAN = 256 << 20  # bytes
_NEVER = frozenset({".git", ".hg", ".svn"})  # what lies there says which programs run


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
                "edits": [{**asdict(edit), **_exact("text", edit.text)} for edit in unit.edits],
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
            {"path": path, "disk": disks[path], **_exact("disk", disks[path]), "sha256": digests[path]}
            for path in sorted({edit.path for edit in plan.edits})
        ],
    }


def _exact(key: str, text: str) -> dict[str, str]:
    """What JSON cannot hold: the bytes of a name, or of code, that is no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return {f"{key}_hex": text.encode("utf-8", "surrogateescape").hex()}
    return {}


def read_plan(path: Path, roots: Sequence[Path]) -> list[Change]:
    """The changes of a saved plan, all below `roots`.

    A plan may come from anywhere, so all of it is checked: UserError if it is none, names a file that archscan would
    not edit there, has an edit that does not fit, or if a file in it changed since.
    """
    try:
        part = json.loads(small_file(path, _MOST_PLAN))["plan"]
        rows = [(_text(row, "path"), _text(row, "disk"), _text(row, "sha256")) for row in part["files"]]
        edits = [_edit(raw) for unit in part["units"] for raw in unit["edits"]]
    except OSError as error:
        raise UserError(f"cannot read the plan {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path} is no saved plan", _HOW) from error
    places = [Path(os.path.realpath(Path(disk).parent), Path(disk).name) for _, disk, _ in rows]
    names = {name for name, _, _ in rows}
    if len(names) < len(rows) or len(set(places)) < len(rows) or any(edit.path not in names for edit in edits):
        raise UserError(f"{path} is no saved plan: its files and edits do not fit", _HOW)
    bound = tuple(os.path.realpath(root) for root in roots)
    changes = []
    for (name, _, before), place in zip(rows, places, strict=True):
        _check(place, bound)
        changes.append(_change(place, before, tuple(dict.fromkeys(edit for edit in edits if edit.path == name))))
    return changes


def _check(place: Path, roots: tuple[str, ...]) -> None:
    """UserError for a place that a fix made here would not touch: outside, a repository's own files, no source."""
    if not below(str(place), roots):
        where = ", ".join(roots)
        raise UserError(
            f"the plan edits {place}, which is not below {where}", "name its directory as the PATH if you trust it"
        )
    parts = place.parts
    if not is_source(place.name, str(place.parent)) or any(part.lower() in _NEVER for part in parts):
        raise UserError(
            f"the plan edits {place}, which is no source file", "nothing was written; do not trust this plan"
        )


def _change(place: Path, before: str, edits: tuple[Edit, ...]) -> Change:
    try:
        data = small_file(place, MOST_CONTENT)
    except OSError:
        data = None
    if data is None or digest(data) != before:
        raise UserError(f"{place} changed since the plan was made", "nothing was written; make a new plan")
    try:
        return Change(place, before, applied(data, edits))
    except ValueError as error:
        raise UserError(f"the edits for {place} do not fit: {error}", "nothing was written; make a new plan") from error


def _edit(raw: Mapping[str, Any]) -> Edit:
    """An edit of a plan; ValueError or TypeError if it is none."""
    start, end = raw["start"], raw["end"]
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise ValueError(f"no byte range: {start!r}, {end!r}")
    text = _text(raw, "text")
    text.encode("utf-8", "surrogateescape")  # ValueError if no bytes stand for it
    return Edit(_text(raw, "path"), start, end, text)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if f"{key}_hex" in row:
        value = bytes.fromhex(row[f"{key}_hex"]).decode("utf-8", "surrogateescape")
    if not isinstance(value, str) or ("\0" in value and key != "text"):
        raise TypeError(f"{key} is no text")
    return value
