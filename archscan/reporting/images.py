"""What `archscan images` prints: the images of each library, and what a GPU gets of each module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archscan.binary.loading import Got, How, judged
from archscan.binary.names import plain
from archscan.catalog.types import Catalog
from archscan.model.facts import Failed
from archscan.model.library import Image, Kernels, Library, Module
from archscan.model.target import Selection
from archscan.reporting.json_format import SCHEMA_VERSION, dumped
from archscan.reporting.words import counted, one_line, shortened, size, visible, wrapped

_WAYS = {
    How.NATIVE: "native",
    How.COMPATIBLE: "compatible",
    How.JIT: "by JIT",
    How.JIT_LINK: "by JIT link",
    How.UNKNOWN: "sources disagree",
    How.NONE: "not at all",
}
_MOST_KERNELS = 20  # named for each thing that they do


@dataclass(frozen=True, slots=True)
class Listed:
    """A library with what was asked about it."""

    library: Library
    gets: tuple[Got, ...] = ()  # of each module, if a target was named
    kernels: Mapping[Image, Kernels] | None = None  # of each image, if they were asked for


def images_json(listed: Sequence[Listed], failed: Sequence[Failed]) -> str:
    """The document of `archscan images --format json`."""
    return dumped(
        {
            "schema_version": SCHEMA_VERSION,
            "files": [_file(one) for one in listed],
            "failed": [{"path": one.path, "reason": one.reason} for one in failed],
        }
    )


def _file(listed: Listed) -> dict[str, Any]:
    library = listed.library
    modules = []
    for number, module in enumerate(library.modules):
        found: dict[str, Any] = {"relocatable": module.relocatable}
        if listed.gets:
            found["gets"] = listed.gets[number].how.value
        found["images"] = [_image(image, listed.kernels) for image in module.images]
        modules.append(found)
    return {"path": library.path, "machine": library.machine or None, "modules": modules}


def _image(image: Image, kernels: Mapping[Image, Kernels] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": image.kind,
        "arch": image.target.name,
        "compressed": image.compressed,
        "version": image.version,
        "size": image.span.length,
    }
    read = kernels.get(image) if kernels is not None else None
    if read is not None and not read.failed:
        found["kernels"] = dict(read.natures)
    return found


def images_text(
    listed: Sequence[Listed], failed: Sequence[Failed], catalog: Catalog, selection: Selection | None, width: int
) -> str:
    """The list for a terminal: equal modules in one line."""
    lines: list[str] = []
    for one in listed:
        lines += [*_text(one, catalog, selection), ""]
    for row in failed:
        lines.append(f"not read: {visible(row.path)}: {one_line(row.reason)}")
    return "\n".join(line for text in lines for line in wrapped(text, width)).rstrip("\n") + "\n"


def _text(listed: Listed, catalog: Catalog, selection: Selection | None) -> list[str]:
    library = listed.library
    count = f"{counted(len(library.modules), 'module')}, {counted(len(library.images), 'image')}"
    inside = f"{count}: {in_words(library)}" if library.modules else "no GPU image"
    around = f"{library.machine}, " if library.machine else ""
    lines = [f"{visible(library.path)}  ({around}{size(library.size)})", f"  {inside}"]
    if selection is not None and library.modules:
        lines += _gets(listed, catalog, selection)
    groups: Counter[tuple[str, str, str]] = Counter()
    for number, module in enumerate(library.modules):
        got = listed.gets[number] if listed.gets else None
        groups[(_kind(module), ", ".join(image.name for image in module.images), _got(got))] += 1
    lines += [f"    {number:>5,} x {kind}{names}{got}" for (kind, names, got), number in groups.items()]
    lines += [f"  note: {one_line(note)}" for note in library.notes]
    return lines + (_kernels(listed.kernels) if listed.kernels is not None else [])


def in_words(library: Library) -> str:
    """The images of a library by target: `182 sm_70, 182 sm_80`."""
    return ", ".join(f"{number:,} {name}" for name, number in library.count().items())


def _gets(listed: Listed, catalog: Catalog, selection: Selection) -> list[str]:
    own = {id(module) for module in judged(listed.library)}
    pairs = zip(listed.library.modules, listed.gets, strict=True)
    ways = Counter(got.how for module, got in pairs if id(module) in own)
    found = [f"  {selection.name}: " + ", ".join(f"{ways[how]:,} {words}" for how, words in _WAYS.items() if ways[how])]
    host = catalog.architectures[selection.sm].host
    if host and listed.library.machine not in ("", host):
        text = f"{selection.name} comes with {host} processors: look at the library for {host}"
        found.append(f"  note: {text}")
    return found


def _kind(module: Module) -> str:
    return "object for linking: " if module.relocatable else "loose: " if module.loose else ""


def _got(got: Got | None) -> str:
    if got is None:
        return ""
    return f"  -> {_WAYS[got.how]}" + (f" ({got.image.name})" if got.image else "")


def _kernels(kernels: Mapping[Image, Kernels]) -> list[str]:
    """What the kernels of each target do: how many, and the names of those that do nothing."""
    by_name: dict[str, list[Kernels]] = {}
    for image, found in kernels.items():
        by_name.setdefault(image.name, []).append(found)
    lines = []
    for name, parts in by_name.items():
        natures = [item for part in parts for item in part.natures]
        count = Counter(nature for _, nature in natures)
        said = ", ".join(f"{number:,} {nature}" for nature, number in count.most_common()) or "no kernel was read"
        lines.append(f"  kernels for {name}: {said}")
        for nature in ("empty", "trap", "dead"):
            lines += [f"      {nature}: {text}" for text in _named(mangled for mangled, n in natures if n == nature)]
    return lines


def _named(mangled: Iterable[str]) -> list[str]:
    """The first names, each once with how often it occurs, and how many more there are."""
    names = Counter(map(plain, mangled))
    said = [
        shortened(one_line(name), 90) + (f" ({number} of them)" if number > 1 else "") for name, number in names.items()
    ]
    return said[:_MOST_KERNELS] + ([f"{len(said) - _MOST_KERNELS:,} more"] if len(said) > _MOST_KERNELS else [])
