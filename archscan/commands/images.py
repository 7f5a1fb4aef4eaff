"""`archscan images`: what is inside of libraries and wheels, and what a GPU gets of each module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from archscan.binary.loading import of_library
from archscan.errors import UserError
from archscan.model.facts import Failed
from archscan.model.library import CUBIN, PTX, Image, Kernels, Library
from archscan.reporting.images import Listed
from archscan.sources.libraries import read_kernels, read_library

if TYPE_CHECKING:
    from archscan.catalog.types import Catalog
    from archscan.model.target import Selection
    from archscan.sources import Discovery


def run_images(given: Mapping[str, Any]) -> int:
    """Prints the list; 2 if a file that was named cannot be read."""
    from archscan.catalog import load
    from archscan.catalog.targets import select
    from archscan.commands.scan import terminal_width, write
    from archscan.model.settings import ScanSettings
    from archscan.reporting.images import images_json, images_text
    from archscan.sources import discover

    paths = given["paths"] or (".",)
    discovery = discover(paths, ScanSettings())
    if not discovery.libraries and not discovery.failed:
        hint = "it reads .so, .dll, .pyd, .a, .o, .cubin, .fatbin and .ptx"
        raise UserError(f"no library in {', '.join(paths)}", hint)
    catalog = load()
    selection = select(given["target"], catalog) if given["target"] else None
    listed, failed = _listed(discovery, given["kernels"], catalog, selection)
    if given["format_"] == "json":
        text = images_json(listed, failed)
    else:
        text = images_text(listed, failed, catalog, selection, terminal_width())
    write(text, given["output"])
    return 2 if any(one.named for one in failed) else 0


def _kernels(library: Library) -> dict[Image, Kernels]:
    """What the kernels of all images do that can be read."""
    return read_kernels(library, (image for image in library.images if image.kind in (CUBIN, PTX)))


def _listed(
    discovery: Discovery, kernels: bool, catalog: Catalog, selection: Selection | None
) -> tuple[list[Listed], list[Failed]]:
    """Every library that holds images or was named, and what could not be read."""
    listed: list[Listed] = []
    failed = list(discovery.failed)
    for one in discovery.libraries:
        found = read_library(one)
        if isinstance(found, Failed):
            failed.append(found)
            continue
        failed += [Failed(found.path, why, one.named and not found.modules) for why in found.failed]
        if not (found.modules or found.notes or one.named):
            continue
        gets = of_library(found, selection.sm, catalog) if selection else ()
        natures = _kernels(found) if kernels else None
        if natures:
            broken = (f"{image.name} at {image.span.start:#x}: {k.failed}" for image, k in natures.items() if k.failed)
            failed += [Failed(found.path, why) for why in broken]
        listed.append(Listed(found, gets, natures))
    return listed, failed
