"""Environment variables that change what runs or is built: those that are set here, and what they mean for one GPU."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from archscan.bounded import small_file
from archscan.catalog.types import Catalog
from archscan.environment.facts import KnownVariable
from archscan.environment.installed import Installed
from archscan.environment.uses import python_files
from archscan.model.target import Selection

NATIVE, COMPATIBLE, JIT, NONE, UNKNOWN = "native", "compatible", "jit", "none", "unknown"
_MOST_SOURCE = 4 << 20  # bytes of a source file that is looked through
_MOST_PLACES = 50
_WORDS = {
    NATIVE: "with code for {}",
    COMPATIBLE: "with code that runs on {}",
    JIT: "with PTX that is compiled for {} at first use",
    NONE: "with nothing for {}",
    UNKNOWN: "perhaps not for {}",
}


@dataclass(frozen=True, slots=True)
class SetVariable:
    """A variable as it is set."""

    name: str
    value: str
    says: str
    gets: str = ""  # native | compatible | jit | none | unknown; "" = it is no list of architectures
    changes: tuple[tuple[str, int], ...] = ()  # files that read it, with the line


def set_variables(
    known: Iterable[KnownVariable], environ: Mapping[str, str], selection: Selection, catalog: Catalog
) -> tuple[SetVariable, ...]:
    """The known variables that are set, in the order of the facts. A flag that is off is none."""
    found = []
    for one in known:
        value = environ.get(one.name)
        if value is None or (one.form == "flag" and value.strip() in ("", "0")):
            continue
        got = _gets(one, value, selection, catalog) if one.form in ("archs", "exact") else ""
        says = f"{one.says} {_WORDS[got].format(selection.name)}" if got else one.says
        found.append(SetVariable(one.name, value, says, got))
    return tuple(found)


def _gets(one: KnownVariable, value: str, selection: Selection, catalog: Catalog) -> str:
    """What a GPU gets of what is built for a list."""
    if one.form == "exact":
        numbers = [m[1] + m[2] for m in re.finditer(r"(?<![\d.])(\d{1,2})\.(\d)[af]?(?![\d.])", value)]
        if str(selection.sm) in numbers:
            return NATIVE
        return UNKNOWN if any(int(n) // 10 == selection.major for n in numbers) or not numbers else NONE
    if not value.strip():
        return UNKNOWN
    from archscan.builds.model import gets  # of no use, and half of the start-up, where no variable is set
    from archscan.frontends.build.archlists import named_list
    from archscan.frontends.build.traced import written

    found = named_list(one.name, written(value, 0), catalog)
    if found is None:
        return UNKNOWN
    return gets(found.images, selection.sm, catalog, bool(found.unknowns))


def with_places(variables: Sequence[SetVariable], readers: Sequence[Installed]) -> tuple[SetVariable, ...]:
    """The variables with the places in these distributions that read them."""
    if not variables:
        return ()
    names = {one.name.encode(): one.name for one in variables}
    pattern = re.compile(rb"\b(?:" + b"|".join(map(re.escape, names)) + rb")\b")
    found: dict[str, dict[tuple[str, int], None]] = {one.name: {} for one in variables}
    for path, shown in ((path, _below(one, path)) for one in readers for path in python_files(one)):
        try:
            data = small_file(path, _MOST_SOURCE)
        except OSError:
            continue
        for match in pattern.finditer(data):
            line = data.count(b"\n", 0, match.start()) + 1
            begins, ends = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.end())
            text = data[begins : ends if ends >= 0 else None]
            if b"env" in text and not text.lstrip().startswith(b"#"):  # os.environ, getenv, envs: not a text about it
                found[names[match[0]]].setdefault((shown, line))
    return tuple(
        SetVariable(one.name, one.value, one.says, one.gets, tuple(found[one.name])[:_MOST_PLACES]) for one in variables
    )


def _below(one: Installed, path: str) -> str:
    """The path of a file as it is shown: below the directory of its distribution."""
    return os.path.relpath(path, one.folder).replace(os.sep, "/") if path.startswith(one.folder) else path
