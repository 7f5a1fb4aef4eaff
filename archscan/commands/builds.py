"""One run of `builds`: settings in, the images that builds would make out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from archscan.commands.scan import loaded_catalog, said, write
from archscan.config import merged
from archscan.errors import UserError
from archscan.reporting.json_format import dumped
from archscan.reporting.words import visible_lines


def run_builds(given: Mapping[str, Any]) -> int:
    """Prints the builds of the PATHs; the exit code is 0, or 2 where something named could not be read."""
    from archscan.builds.advise import advice_for
    from archscan.builds.collect import collect
    from archscan.builds.model import Build
    from archscan.builds.render import builds_matrix, builds_object, builds_text
    from archscan.catalog.targets import select
    from archscan.frontends.build.reading import Given
    from archscan.model.facts import Failed, Origin, Source
    from archscan.sources import discover, read, vendored_trees

    paths = tuple(given["paths"]) or (".",)
    settings = merged(
        {**said(given), "define": (*given["define"], *_pairs(given["set_"]))}, paths, given["config"], given["isolated"]
    )
    catalog = loaded_catalog(settings)
    scan = settings.scan()
    selection = select(given["for_"], catalog) if given["for_"] else None
    discovery = discover(paths, scan, vendored_trees(catalog.packages))
    read_now = list(read(discovery.sources))
    sources = [s for s in read_now if isinstance(s, Source) and (scan.include_vendored or s.origin is Origin.OWN)]
    failed = [s for s in (*read_now, *discovery.failed) if isinstance(s, Failed)]
    extra = _torch_files(given["prefix"]) if given["prefix"] else {}
    given_to_all = replace(Given.of(catalog, scan), is_default=True)
    found = collect(sources, given_to_all, extra)
    not_read = [*found.not_read, *((f.path, f.reason) for f in failed)]
    advice = None
    if selection is not None:

        def again(values: Mapping[str, str]) -> Sequence[Build]:
            return collect(sources, replace(given_to_all, values={**given_to_all.values, **values}), extra).builds

        advice = advice_for(found, selection, catalog, again)
    if given["format_"] == "json":
        write(dumped(builds_object(found.builds, advice, not_read, scan.cuda, catalog)), given["output"])
    elif given["format_"] == "matrix":
        write(visible_lines(builds_matrix(found.builds, catalog)), given["output"])
    else:
        write(visible_lines(builds_text(found.builds, advice, not_read, scan.cuda, catalog)), given["output"])
    return 2 if any(f.named for f in failed) else 0


def _pairs(words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        if "=" not in word:
            raise UserError(f"--set {word}: expected NAME=VALUE", 'for example --set TORCH_CUDA_ARCH_LIST="9.0;12.0"')
    return tuple(words)


def _torch_files(prefix: str) -> dict[str, bytes]:
    """The CMake files of the torch that is installed below a prefix, which projects take in."""
    root = Path(prefix)
    if not root.is_dir():
        raise UserError(f"--prefix {prefix}: no such directory", "name the directory of a Python, or its site-packages")
    names = ("select_compute_arch.cmake", "cuda.cmake", "utils.cmake")
    found = [p for p in root.rglob("torch/share/cmake/**/*.cmake") if p.name in names]
    if not found:
        raise UserError(
            f"--prefix {prefix}: no torch with CMake files below it", "name the prefix that torch is installed in"
        )
    return {f"torch/{p.name}": p.read_bytes() for p in sorted(found)}
