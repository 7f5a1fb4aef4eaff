"""Compiles rules/facts/architectures.yaml: the universe of targets, what each SM is, and which image it loads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archscan.catalog.reading import check_keys, mapping, nearest, one_of, sequence, text, texts
from archscan.catalog.types import Architecture, Catalog, Limit, Tegra
from archscan.errors import UserError
from archscan.model.target import HOST, Target, Universe

ROOT_KEYS = ("sources", "images", "tegra", "architectures")
TEGRA_KEYS = ("chips", "against", "for")
ARCHITECTURE_KEYS = ("sm", "name", "variants", "nvcc", "family", "renamed", "host", "products", "limits")
LIMIT_KEYS = (
    "max_threads_per_block",
    "max_threads_per_sm",
    "max_warps_per_sm",
    "max_blocks_per_sm",
    "smem_per_sm_bytes",
    "smem_per_block_default_bytes",
    "smem_per_block_optin_bytes",
    "smem_reserved_per_block_bytes",
    "static_smem_max_bytes",
    "registers_per_sm",
    "max_registers_per_block",
    "max_registers_per_thread",
    "max_cluster_size_portable",
    "max_cluster_size_nonportable",
    "fp32_to_fp64_ratio",
)
IMAGE_KINDS = ("cubin", "cubin_a", "cubin_f", "ptx", "ptx_a", "ptx_f")
IMAGE_RULES = ("same-major", "this-sm", "family", "any-newer")
SUFFIXES = ("a", "f")

_NOISE = re.compile(r"nvidia|geforce|tesla|jetson(?:agx)?|drive(?:agx)?")
_NOT_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Architectures:
    """Everything that architectures.yaml says."""

    universe: Universe
    by_sm: dict[int, Architecture]
    product_names: dict[str, int]
    images: dict[str, str]
    tegra: Tegra


def compile_architectures(raw: Any, where: str) -> Architectures:
    """The checked and compiled form of architectures.yaml."""
    root = mapping(raw, where)
    check_keys(root, ROOT_KEYS, where, ROOT_KEYS)
    sources = {name: text(value, where) for name, value in mapping(root["sources"], where).items()}
    entries = [mapping(entry, where) for entry in sequence(root["architectures"], where)]
    by_sm: dict[int, Architecture] = {}
    targets = [HOST]
    for entry in entries:
        architecture = _architecture(entry, sources, where)
        by_sm[architecture.sm] = architecture
        suffixes = [one_of(s, SUFFIXES, f"{where}: sm {architecture.sm}: variants") for s in entry.get("variants", ())]
        targets += [Target(architecture.sm, suffix) for suffix in ("", *suffixes)]
    _check_families(by_sm, where)
    universe = Universe(tuple(sorted(targets)))
    tegra = _tegra(root["tegra"], by_sm, f"{where}: tegra")
    return Architectures(universe, by_sm, _product_names(by_sm, where), _images(root["images"], where), tegra)


def _tegra(raw: Any, known: Mapping[int, Architecture], where: str) -> Tegra:
    found = mapping(raw, where)
    check_keys(found, TEGRA_KEYS, where, TEGRA_KEYS)
    chips = frozenset(sequence(found["chips"], where))
    if not chips <= known.keys():
        raise UserError(f"{where} names an unknown SM: {sorted(chips - known.keys())[0]}")
    return Tegra(chips, text(found["against"], where), text(found["for"], where))


def _architecture(entry: dict[str, Any], sources: dict[str, str], where: str) -> Architecture:
    check_keys(entry, ARCHITECTURE_KEYS, where, ("sm", "name", "family"))
    sm = entry["sm"]
    if not isinstance(sm, int) or isinstance(sm, bool) or sm <= 0:
        raise UserError(f'{where}: "sm" must be a positive number, found "{sm}"')
    place = f"{where}: sm {sm}"
    limits = mapping(entry.get("limits"), place)
    check_keys(limits, LIMIT_KEYS, f"{place}: limits")
    return Architecture(
        sm=sm,
        name=text(entry["name"], place),
        products=texts(entry.get("products"), place),
        family=tuple(sequence(entry["family"], place)),
        renamed=_limit(entry["renamed"], sources, f"{place}: renamed").value if "renamed" in entry else None,
        limits={key: _limit(value, sources, f"{place}: {key}") for key, value in limits.items()},
        nvcc=text(entry.get("nvcc", ""), place),
        host=text(entry.get("host", ""), place),
    )


def _limit(value: Any, sources: dict[str, str], where: str) -> Limit:
    number, *cited = text(value, where).split()
    if not cited or not (number == "null" or number.isdigit()):
        raise UserError(f'{where}: expected a number or null, and its sources: "1024 pg"')
    for source in cited:
        one_of(source, sources, where)
    return Limit(None if number == "null" else int(number), "; ".join(sources[source] for source in cited))


def _check_families(by_sm: dict[int, Architecture], where: str) -> None:
    for sm, architecture in by_sm.items():
        for member in architecture.family:
            if member not in by_sm:
                hint = nearest(str(member), map(str, by_sm))
                raise UserError(f"{where}: sm {sm}: family names the unknown SM {member}", hint)
        other = by_sm.get(architecture.renamed) if architecture.renamed is not None else architecture
        if other is None or (other is not architecture and other.renamed != sm):
            raise UserError(f"{where}: sm {sm}: {architecture.renamed} does not name it in turn")


def _images(raw: Any, where: str) -> dict[str, str]:
    images = mapping(raw, where)
    check_keys(images, IMAGE_KINDS, f"{where}: images", IMAGE_KINDS)
    return {kind: one_of(rule, IMAGE_RULES, f"{where}: images: {kind}") for kind, rule in images.items()}


def _product_names(by_sm: dict[int, Architecture], where: str) -> dict[str, int]:
    names: dict[str, int] = {}
    for sm, architecture in by_sm.items():
        for product in architecture.products:
            for key in {product_key(product), _NOT_WORD.sub("", product.lower())}:
                if names.setdefault(key, sm) != sm:
                    raise UserError(f'{where}: product "{product}" is listed for sm {names[key]} and sm {sm}')
    return names


def product_key(name: str) -> str:
    """A product name in the form of `Catalog.product_names`: lower case, no blanks, no brand (`rtxpro6000`)."""
    return _NOISE.sub("", _NOT_WORD.sub("", name.lower()))


def takes(image: Target, device_sm: int, catalog: Catalog, ptx: bool = False) -> bool | None:
    """Whether a device takes code compiled for `image` (machine code, or PTX); None = sources disagree."""
    known = catalog.architectures.get(image.sm)
    if not loads(catalog.images, image, device_sm, known.family if known else (image.sm,), ptx):
        return False
    tegra = catalog.tegra.chips
    is_of_desktop = not ptx and device_sm in tegra and image.sm != device_sm and image.sm not in tegra
    return None if is_of_desktop else True


def loads(images: dict[str, str], image: Target, device_sm: int, family: tuple[int, ...], ptx: bool = False) -> bool:
    """Whether a device of `device_sm` takes code compiled for `image` (a cubin, or PTX); `family` is the image's."""
    rule = images[("ptx" if ptx else "cubin") + (f"_{image.suffix}" if image.suffix else "")]
    if rule == "this-sm":
        return device_sm == image.sm
    if rule == "family":
        return device_sm in family and device_sm >= image.sm
    if rule == "same-major":
        return device_sm // 10 == image.major and device_sm >= image.sm
    return device_sm >= image.sm
