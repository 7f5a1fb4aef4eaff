"""Which chips a text names: by number, by the name of their generation, or as a product. Names decide no advice."""

from __future__ import annotations

import re

from archscan.catalog.types import Catalog

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ARCH = re.compile(r"(?<![a-z0-9])(?:sm_?|cc_?)(\d{1,2})(\d|x)[af]?(?![0-9])", re.I)


def numbered(sm: int) -> str:
    """A pattern of the ways in which code writes the number of one SM: 121, 1210, "12.1", (12, 1)."""
    major, minor = divmod(sm, 10)
    return rf"(?<![\d.])(?:{sm}0?(?![\d.])|{major}\.{minor}(?![\d.])|{major}\s*,\s*{minor}(?!\d))"


def chips_named(text: str, catalog: Catalog) -> frozenset[int]:
    """The SMs that a text names by number (`sm_90a`, `Sm100`) or by a name of their generation."""
    known: set[int] = set()
    for major, minor in _ARCH.findall(_HUMP.sub("_", text)):
        known |= {sm for sm in catalog.architectures if sm // 10 == int(major) and minor.lower() in ("x", str(sm % 10))}
    for pattern, majors in catalog.kernel_families:
        if pattern.search(text):
            known |= {sm for sm in catalog.architectures if sm // 10 in majors}
    return frozenset(known)


def products_named(text: str, catalog: Catalog) -> frozenset[int]:
    """The SMs of the products a text names (`GB10`, `RTX 5090`)."""
    squeezed = re.sub(r"[^a-z0-9]+", " ", text.lower())
    found = set()
    for architecture in catalog.architectures.values():
        for product in architecture.products:
            plain = re.sub(r"[^a-z0-9]+", " ", product.lower()).strip()
            if len(plain) > 3 and re.search(rf"\b{re.escape(plain)}\b", squeezed):
                found.add(architecture.sm)
    return frozenset(found)
