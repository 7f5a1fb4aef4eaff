"""Runs the front ends over what discovery found: index -> link -> gates, in one process or many, in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from archscan.frontends.protocol import Context, FrontEnd
from archscan.frontends.registry import front_ends
from archscan.model.facts import Facts, Failed, FileFacts, Skipped, Source
from archscan.sources import Discovery, read


def run(discovery: Discovery, context: Context, overlay: Mapping[str, bytes] | None = None) -> Facts:
    """The facts of every file found."""
    indexes: dict[str, dict[str, Any]] = {}
    skipped, failed = list(discovery.skipped), list(discovery.failed)
    ends = front_ends(context.settings.layers)
    size = count = 0
    sources: dict[str, Source] = {}
    for source in read((u for u in discovery.sources if any(e.wants(u.path) for e in ends)), overlay):
        if isinstance(source, Skipped):
            skipped.append(source)
        elif isinstance(source, Failed):
            failed.append(source)
        else:
            size += len(source.data)
            count += 1
            for end in ends:
                if end.wants(source.path) and (index := end.index(source, context)) is not None:
                    indexes.setdefault(end.name, {})[source.path] = index
                    sources[source.path] = replace(source, data=b"")
    files = [facts for end in ends for facts in _gates(end, indexes.get(end.name, {}), sources, context)]
    return Facts(
        files=tuple(sorted(files, key=lambda f: f.path)),
        skipped=tuple(sorted(skipped, key=lambda s: s.path)),
        failed=tuple(sorted(failed, key=lambda f: f.path)),
        roots=discovery.roots,
        bytes_read=size,
        files_read=count,
    )


def _gates(
    end: FrontEnd, indexes: Mapping[str, Any], sources: Mapping[str, Source], context: Context
) -> list[FileFacts]:
    project = end.link(indexes, context)
    return [_placed(end.gates(index, project, context), sources[path]) for path, index in indexes.items()]


def _placed(facts: FileFacts, source: Source) -> FileFacts:
    return replace(
        facts,
        origin=source.origin,
        evidence=source.evidence,
        root=source.root,
        below=source.below,
        disk=source.disk,
    )
