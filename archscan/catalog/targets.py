"""Reads what a user types for a target: any spelling of an SM, a product name, or `native`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from archscan.catalog.architectures import product_key
from archscan.catalog.reading import nearest
from archscan.catalog.types import Catalog
from archscan.errors import UserError
from archscan.model.target import HOST, Selection, Target

_NUMBER = re.compile(r"(?:sm|compute|lto|cc)?[_\- ]?(\d{2,4})([af]?)(?:\+?ptx)?")
_DOTTED = re.compile(r"(?:sm|compute|cc)?[_\- ]?(\d{1,2})[._](\d)([af]?)(?:\+ptx)?")
# What NVIDIA appends to a product: nvidia-smi says "NVIDIA RTX PRO 6000 Blackwell Server Edition", "H100 80GB HBM3"
_TAIL = re.compile(
    r"blackwell|generation|edition|server|workstation|max|q|laptop|mobile|gpu|\d+gb|sxm\d?|pcie\d?|nvl\d*|hbm\d?e?"
    r"|superchip|devkit|developer|kit|supercomputer"
)
_BARE_GEFORCE = re.compile(r"[2-5]0[5-9]0(?:ti)?")


def select(text: str, catalog: Catalog, against: Sequence[str] = ()) -> Selection:
    """The target that `text` names, with its peers. UserError, with the nearest name, where nothing is named."""
    if "," in text:
        raise UserError(f'one target at a time, not "{text}"', f"`archscan matrix --target {text}` shows several")
    target, exact = resolve(text, catalog)
    universe = catalog.universe
    everything = universe.variants(target.sm)
    variants = (target,) if exact else everything
    own = universe.mask(variants)  # with a suffix the other variants of the chip are targets like any other
    peers = _peers(against, catalog) & ~own & universe.device
    if not peers:
        raise UserError(
            f"{target.name} is judged against itself alone", "name other GPUs with --against, or leave it out"
        )
    since = 90 if target.major >= 9 else 80
    return Selection(
        name=target.name,
        sm=target.sm,
        variants=variants,
        exact=exact,
        mask=universe.mask(variants),
        peers=peers,
        contemporaries=universe.mask(t for t in universe.targets if t.sm >= since),
        family=catalog.architectures[target.sm].family,
    )


def resolve(text: str, catalog: Catalog) -> tuple[Target, bool]:
    """The target that `text` names, and whether it named a suffix (that variant alone)."""
    word = text.strip().lower()
    if word == "native":
        from archscan.catalog.native import native_sm

        return _known(native_sm(), "", text, catalog), False
    if match := _DOTTED.fullmatch(word):
        return _known(int(match[1]) * 10 + int(match[2]), match[3], text, catalog), bool(match[3])
    if match := _NUMBER.fullmatch(word):
        sm, suffix = int(match[1]), match[2]
        if sm not in catalog.architectures and sm % 10 == 0 and sm // 10 in catalog.architectures:
            sm //= 10  # the value of __CUDA_ARCH__
        if sm in catalog.architectures or product_sm(word, catalog) is None:
            return _known(sm, suffix, text, catalog), bool(suffix)
    product = product_sm(word, catalog)
    if product is not None:
        return Target(product), False
    raise UserError(f'unknown target "{text}"', _hint(word, catalog))


def product_sm(name: str, catalog: Catalog) -> int | None:
    """The SM of a product in any spelling, or None: as it is, without its brand, without what is appended to it."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    while words:
        key = product_key("".join(words))
        for candidate in ("".join(words), key, f"rtx{key}" if _BARE_GEFORCE.fullmatch(key) else key):
            if candidate in catalog.product_names:
                return catalog.product_names[candidate]
        if not _TAIL.fullmatch(words[-1]):
            return None
        words.pop()
    return None


def _known(sm: int, suffix: str, text: str, catalog: Catalog) -> Target:
    target = Target(sm, suffix)
    if sm not in catalog.architectures:
        raise UserError(f'unknown target "{text}"', _hint(f"sm_{sm}", catalog))
    if target not in catalog.universe.index:
        names = ", ".join(t.name for t in catalog.universe.variants(sm))
        raise UserError(f'unknown target "{text}": sm_{sm} has no "{suffix}" variant', f"known: {names}")
    return target


def _peers(against: Sequence[str], catalog: Catalog) -> int:
    universe = catalog.universe
    if not against:
        return universe.mask(t for t in universe.targets if t.sm >= 80)
    mask = 0
    for text in against:
        target, exact = resolve(text, catalog)
        mask |= universe.bit(target) if exact else universe.mask(universe.variants(target.sm))
    return mask


def _hint(word: str, catalog: Catalog) -> str:
    digits = re.sub(r"[^a-z0-9_.]", "", word.replace("o", "0").replace("l", "1"))
    names = [t.name for t in catalog.universe.targets if t != HOST]
    if re.fullmatch(r"(?:sm|compute)_?\d*[a-z]?\d*[af]?", digits) and (close := nearest(_as_sm(digits), names)):
        return f"{close} (archscan targets lists all)" if close.startswith("did") else "archscan targets lists all"
    hint = nearest(product_key(re.sub(r"(?<=\d)o+", lambda o: "0" * len(o[0]), word)), catalog.product_names)
    if hint.startswith("did"):
        spelled = _spellings(catalog)[hint.split('"')[1]]
        return f'did you mean "{spelled}"? (archscan targets lists all)'
    hint = nearest(word, names)
    return hint if hint.startswith("did") else "a target is sm_120, 12.0, a product such as RTX 5090, or native"


def _as_sm(digits: str) -> str:
    return re.sub(r"^(?:sm|compute)_?", "sm_", digits)


def _spellings(catalog: Catalog) -> dict[str, str]:
    spelled: dict[str, str] = {}
    for architecture in catalog.architectures.values():
        for product in architecture.products:
            spelled[product_key(product)] = product
            spelled[re.sub(r"[^a-z0-9]+", "", product.lower())] = product
    return spelled
