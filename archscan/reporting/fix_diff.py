"""A fix as a diff that people read: what the lines are and what they would be."""

from __future__ import annotations

from difflib import unified_diff

from archscan.model.finding import Fix
from archscan.reporting.sources import Sources, decoded
from archscan.reporting.words import visible


def diff_lines(fix: Fix, sources: Sources) -> list[str]:
    """The lines of a unified diff, one line of context; files that cannot be had any more are left out."""
    result: list[str] = []
    for path in dict.fromkeys(edit.path for edit in fix.edits):
        before = sources.data(path)
        if before is None:
            continue
        after = before
        for edit in sorted((e for e in fix.edits if e.path == path), key=lambda e: -e.start):
            after = after[: edit.start] + edit.data + after[edit.end :]
        shown = visible(path)
        result += unified_diff(decoded(before), decoded(after), f"a/{shown}", f"b/{shown}", n=1, lineterm="")
    return result
