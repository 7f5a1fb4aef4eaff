"""Reads architecture lists and nvcc flags as images: what a build makes code for, and which devices load it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from archscan.catalog.architectures import takes
from archscan.catalog.types import Catalog
from archscan.model.target import Target

_DOTTED = re.compile(r"(\d{1,2})\.(\d)([af]?)(\+PTX)?", re.IGNORECASE)
_PLAIN = re.compile(r"(?:(sm|compute)_)?(\d{2,3})([af]?)(-real|-virtual)?")
_GENCODE = re.compile(r"arch=compute_(\d{2,3})([af]?),code=\\?[\"'\[]*((?:(?:sm|compute|lto)_\d{2,3}[af]?[,\\\"' ]*)+)")
_ARCH_FLAG = re.compile(r"(?<![\w-])-?-(?:gpu-architecture|arch)[= ](sm|compute)_(\d{2,3})([af]?)\b")
_CODE = re.compile(r"(sm|compute|lto)_(\d{2,3})([af]?)")
_BEGINS = re.compile(r"[;\s]*(?:\d|sm_|compute_)")
# Before 5.0, which no toolkit of the last years compiles for: an entry of a list, but no target
_OLD = frozenset({10, 11, 12, 13, 20, 21, 30, 32, 35, 37})


@dataclass(frozen=True, slots=True)
class Image:
    """Code for one target: machine code, or PTX that newer devices compile."""

    target: Target
    ptx: bool = False


def list_entries(text: str) -> list[str]:
    """The entries of a CMake list, empty ones dropped."""
    return [entry for entry in re.split(r"[;\s]+", text.strip()) if entry]


def entry_images(entry: str, catalog: Catalog) -> tuple[Image, ...] | None:
    """What an entry of an architecture list stands for; None where it is none. SMs before 5.0 give nothing."""
    if match := _DOTTED.fullmatch(entry):
        target = Target(int(match[1]) * 10 + int(match[2]), match[3])
        kinds: tuple[bool, ...] = (False, True) if match[4] else (False,)
    elif match := _PLAIN.fullmatch(entry):
        target = Target(int(match[2]), match[3])
        kinds = _kinds(match[1], match[4])
    else:
        return None
    if target.sm in _OLD:
        return ()
    if target.sm not in catalog.architectures:
        return None
    return tuple(Image(target, ptx) for ptx in kinds)


def _kinds(prefix: str | None, suffix: str | None) -> tuple[bool, ...]:
    """CMake: `90` is both, `90-real` machine code, `90-virtual` PTX."""
    if prefix:
        return (prefix == "compute",)
    return {"-real": (False,), "-virtual": (True,), None: (False, True)}[suffix]


def list_images(text: str, catalog: Catalog) -> tuple[Image, ...] | None:
    """The images of a whole architecture list; None where some entry is no architecture, or there is none."""
    if not _BEGINS.match(text):
        return None
    entries = list_entries(text)
    found = [entry_images(entry, catalog) for entry in entries]
    if not entries or any(images is None for images in found):
        return None
    return tuple(image for images in found if images for image in images)


def flag_images(text: str, catalog: Catalog) -> tuple[Image, ...]:
    """The images that nvcc flags in a text ask for."""
    found = []
    for match in _GENCODE.finditer(text):
        for kind, number, suffix in _CODE.findall(match[3]):
            found.append(Image(Target(int(number), suffix), kind == "compute"))
    for kind, number, suffix in _ARCH_FLAG.findall(text):
        found.append(Image(Target(int(number), suffix), True))
        if kind == "sm":
            found.append(Image(Target(int(number), suffix), False))
    return tuple(image for image in found if image.target.sm in catalog.architectures or image.target.sm in _OLD)


def select_arch_flags(text: str, catalog: Catalog) -> str | None:
    """What cuda_select_nvcc_arch_flags() makes of a list; None where it asks the GPU, or knows no name."""
    named = catalog.toolkits.cmake[-1].names if catalog.toolkits.cmake else {}
    flags: list[str] = []
    ptx: list[str] = []
    for entry in list_entries(text):
        bare = entry.removesuffix("+PTX")
        chosen = named.get(bare, bare).split()
        if not all(re.fullmatch(r"\d{1,2}\.\d[af]?(?:\(\d{1,2}\.\d\))?", one) for one in chosen):
            return None
        for one in chosen:
            code, _, virtual = one.replace(".", "").removesuffix(")").partition("(")
            flags.append(f"-gencode;arch=compute_{virtual or code},code=sm_{code}")
        ptx += [one.replace(".", "") for one in chosen if entry.endswith("+PTX")]
    flags += [f"-gencode;arch=compute_{one},code=compute_{one}" for one in ptx]
    return ";".join(dict.fromkeys(flags)) or None


def loaded_by(images: tuple[Image, ...], sm: int, catalog: Catalog) -> bool:
    """Whether a device takes one of the images for sure; see `disputed` for those of which that is not known."""
    return any(_takes(image, sm, catalog) for image in images)


def disputed(images: tuple[Image, ...], catalog: Catalog) -> tuple[int, ...]:
    """The chips of the Tegra line that would load something if it were not for their exception."""
    return tuple(
        sm
        for sm in sorted(catalog.tegra.chips)
        if not loaded_by(images, sm, catalog) and any(_takes(image, sm, catalog) is None for image in images)
    )


def images_note(images: Iterable[Image]) -> str:
    """The targets of images, as a note on the arm that makes them: `90a 100f`."""
    return " ".join(dict.fromkeys(f"{i.target.sm}{i.target.suffix}" for i in images))


def _takes(image: Image, sm: int, catalog: Catalog) -> bool | None:
    """Whether a device takes an image; None = sources disagree. What is before 5.0 loads nowhere."""
    return image.target.sm in catalog.architectures and takes(image.target, sm, catalog, image.ptx)


def suffix_features(images: tuple[Image, ...]) -> tuple[str, ...]:
    """What suffixes are for where every image has one: 9.0a holds wgmma, 10.xa and 11.0a tensor memory."""
    majors = {i.target.major for i in images} if all(i.target.suffix for i in images) else set()
    return ("wgmma",) if majors == {9} else ("tcgen05",) if majors and majors <= {10, 11} else ()


def spelled(target: Target, pattern: str) -> str:
    """A target in the spelling of an entry such as 9.0, 90, sm_90: what a user would write in its place."""
    if _DOTTED.fullmatch(pattern):
        return f"{target.major}.{target.minor}{target.suffix}"
    prefix = re.match(r"(?:sm|compute)_", pattern)
    return f"{prefix[0] if prefix else ''}{target.sm}{target.suffix}"
