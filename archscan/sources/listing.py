"""What stands for a discovery as a whole: every file's name, size and age, and what was left out."""

from __future__ import annotations

import hashlib
import marshal
import time

from archscan.sources.discovery import Discovery

# A file changed this shortly before it was listed may change again within the same time stamp.
RACY_NS = 2_000_000_000


def listing(discovery: Discovery, now_ns: int = 0) -> str:
    """Equal for equal trees; empty if some file has no stamp or one too young (at `now_ns`) to be trusted."""
    now_ns = now_ns or time.time_ns()
    entries: list[tuple[object, ...]] = []
    newest = 0
    for source in (*discovery.sources, *discovery.libraries):
        if source.stamp is None:
            return ""
        newest = max(newest, source.stamp.mtime_ns, source.stamp.ctime_ns)
        entries.append((source.path, *source.stamp))
    if newest >= now_ns - RACY_NS:
        return ""
    left = [(s.path, s.reason) for s in discovery.skipped] + [(f.path, f.reason, f.named) for f in discovery.failed]
    return hashlib.sha256(marshal.dumps((entries, left, discovery.other, discovery.roots), 2)).hexdigest()
