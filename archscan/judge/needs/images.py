"""Compiled images that texts name (`sm_100a`, "90a"), and on which chips they load."""

from __future__ import annotations

import re
from collections.abc import Iterable

from archscan.catalog.architectures import loads
from archscan.catalog.types import Catalog
from archscan.model.target import Selection, Target

_NAMED = re.compile(r"(?<![a-z0-9])(?:sm|compute)_?(\d{2,3})([af])(?![a-z0-9])|[\"'](\d{2,3})([af])[\"']", re.I)

_PLAIN = re.compile(r"[\"'](?:sm_?)?(\d{2,3})[\"']", re.I)


def loaded(images: Iterable[Target], selection: Selection, catalog: Catalog) -> bool:
    """Whether the chip takes one of the images."""
    chips = catalog.architectures
    return any(i.sm in chips and loads(catalog.images, i, selection.sm, chips[i.sm].family) for i in images)


def picked_images(code: str, catalog: Catalog) -> tuple[Target, ...]:
    """The images that code picks by text, those without a suffix too where the text is the number of a known chip."""
    plain = (Target(int(m[1])) for m in _PLAIN.finditer(code) if int(m[1]) in catalog.architectures)
    return tuple(dict.fromkeys((*named_images(code), *plain)))


def named_images(text: str) -> tuple[Target, ...]:
    """The images with a suffix that a text names, each once: without one, a name is only that of a chip."""
    found = (Target(int(m[1] or m[3]), (m[2] or m[4]).lower()) for m in _NAMED.finditer(text))
    return tuple(dict.fromkeys(found))


_FILE = re.compile(r"[\"'][^\"'\n]*?(?<![A-Za-z0-9])sm_?(\d{2,3})([af])(?![A-Za-z0-9])[^\"'\n]*\.(?:cubin|fatbin)[\"']")


def image_files(code: str) -> tuple[Target, ...]:
    """The images whose files code names in its literals: `"norm_sm120a.cubin"`."""
    if ".cubin" not in code and ".fatbin" not in code:
        return ()
    return tuple(dict.fromkeys(Target(int(m[1]), m[2]) for m in _FILE.finditer(code)))


_ENTRY = re.compile(r"(?<![\w.])(?:(?:sm|compute)_?)?(\d{1,2})\.?(\d)([af]?)(?![\w.])")


def entry_targets(text: str) -> tuple[Target, ...]:
    """The targets that the entries of an architecture list name: `9.0a`, `100f`, `sm_120`."""
    found = (Target(int(m[1]) * 10 + int(m[2]), m[3]) for m in _ENTRY.finditer(text))
    return tuple(dict.fromkeys(found))
