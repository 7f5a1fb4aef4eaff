"""Builds as a table, a matrix or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archscan.builds.model import COMPATIBLE, JIT, NATIVE, NONE, UNKNOWN, Advice, Build
from archscan.catalog.types import Catalog
from archscan.reporting.json_format import SCHEMA_VERSION

_WORDS = {
    NATIVE: "native",
    COMPATIBLE: "same major",
    JIT: "compiled from PTX at start",
    NONE: "nothing",
    UNKNOWN: "not known",
}
_LETTERS = {NATIVE: "N", COMPATIBLE: "c", JIT: "j", NONE: ".", UNKNOWN: "?"}
_MATRIX = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)


def builds_object(
    builds: Sequence[Build],
    advice: Sequence[Advice] | None,
    not_read: Sequence[tuple[str, str]],
    release: str,
    catalog: Catalog,
) -> dict[str, Any]:
    """The document that scripts read."""
    made: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "toolkit": release,
        "builds": [_object(build, catalog) for build in builds],
        "not_read": [{"path": path, "why": why} for path, why in not_read],
    }
    if advice is not None:
        made["set"] = [
            {"how": a.how, "text": a.text, "path": a.path, "form": a.form, "toolkit": a.toolkit, "why": a.why}
            for a in advice
        ]
    return made


def _object(build: Build, catalog: Catalog) -> dict[str, Any]:
    return {
        "name": build.name,
        "kind": build.kind,
        "path": build.path,
        "line": build.line,
        "settings": build.settings,
        "images": [{"kind": m.kind, "arch": m.image.target.name, "path": m.path, "line": m.line} for m in build.images],
        "dropped": [{"asked": d.asked, "path": d.path, "line": d.line, "why": d.why} for d in build.dropped],
        "unknowns": list(build.unknowns),
        "stops": build.stops,
        "gets": build.gets(catalog),
    }


def builds_text(
    builds: Sequence[Build],
    advice: Sequence[Advice] | None,
    not_read: Sequence[tuple[str, str]],
    release: str,
    catalog: Catalog,
) -> str:
    """The builds for people, one block each."""
    lines: list[str] = []
    for build in builds:
        lines.append(f"{build.kind} {build.name}  ({build.path}:{build.line})")
        lines += _images(build)
        lines += [f"  dropped   {d.asked}: {d.why} ({d.path}:{d.line})" for d in build.dropped]
        if build.unknowns:
            lines.append(f"  hangs on  {', '.join(build.unknowns)}")
        if build.stops:
            lines.append("  stops     nothing is built, for any GPU")
        lines += _gets(build, catalog)
        lines.append("")
    if not builds:
        lines.append("no build of device code was found")
    lines.append(f"toolkit   CUDA {release}")
    lines += [f"not read  {path}: {why}" for path, why in not_read]
    if advice == [] and builds:
        lines.append("set       nothing: what can be made for it is made, or nothing that could be set was found")
    for one in advice or ():
        where = f"  ({one.path})" if one.path else ""
        lines.append(f"set       {one.text}{where}")
        lines.append(f"          {one.how}, {one.form} form, CUDA {one.toolkit}: {one.why}")
    return "\n".join(lines) + "\n"


def _images(build: Build) -> list[str]:
    rows: dict[tuple[str, int], list[str]] = {}
    for made in build.images:
        name = made.image.target.name if not made.image.ptx else f"PTX of {made.image.target.name[3:]}"
        rows.setdefault((made.path, made.line), []).append(name)
    return [
        f"  images    {', '.join(dict.fromkeys(names))}  from {path}:{line}" for (path, line), names in rows.items()
    ]


def _gets(build: Build, catalog: Catalog) -> list[str]:
    by_word: dict[str, list[str]] = {}
    for name, word in build.gets(catalog).items():
        by_word.setdefault(word, []).append(name[3:])
    parts = [f"{_WORDS[word]}: {' '.join(by_word[word])}" for word in _WORDS if word in by_word]
    return [f"  gets      {parts[0]}", *(f"            {part}" for part in parts[1:])] if parts else []


def builds_matrix(builds: Sequence[Build], catalog: Catalog) -> str:
    """Builds against GPUs: N native, c same major, j from PTX, . nothing, ? not known."""
    columns = [sm for sm in _MATRIX if sm in catalog.architectures]
    width = max([len(b.name) for b in builds] or [5])
    lines = [" ".join([" " * width, *(f"{sm:>4}" for sm in columns)])]
    for build in builds:
        found = build.gets(catalog)
        lines.append(" ".join([f"{build.name:<{width}}", *(f"{_LETTERS[found[f'sm_{sm}']]:>4}" for sm in columns)]))
    lines.append("N native, c same major, j compiled from PTX at start, . nothing, ? not known")
    return "\n".join(lines) + "\n"
