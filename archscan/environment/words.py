"""The words of a row: what there is to say about the libraries of a distribution, and the one thing to do."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

from archscan.catalog.types import Catalog, PtxVersion
from archscan.environment.from_source import rebuilding
from archscan.environment.model import COMPILED, RUN, Fit, Part, Question, Row, State
from archscan.model.library import CUBIN, PTX, Image
from archscan.reporting.words import counted, few

_WORDS: dict[Fit | None, str] = {
    Fit.NATIVE: "native",
    Fit.COMPATIBLE: "same major",
    Fit.JIT: "from PTX",
    Fit.JIT_LINK: "linked anew by the driver",
    Fit.UNKNOWN: "code of desktop parts, of which sources disagree whether it loads",
    Fit.NONE: "nothing that loads",
    Fit.OTHERS: "for other chips",
    None: "for newer GPUs",
    Fit.ELSEWHERE: "for another processor",
}
_FEW = 2  # libraries that are named


def words(row: Row, asked: Question) -> tuple[str, str]:
    """What there is to say, and to do. The rule by which a library is chosen is said with it."""
    says, do = _words(row, asked)
    is_elsewhere = all(part.fit is Fit.ELSEWHERE for part in row.parts)
    return (f"{says}; {row.choice.rule}" if row.choice and not is_elsewhere else says), do


def _words(row: Row, asked: Question) -> tuple[str, str]:
    if row.choice is not None and not row.choice.taken:
        return "no library that it would load", "install a version that has one for this CUDA"
    if row.state is State.UNKNOWN:
        return _unknown(row, asked)
    own = [part for part in row.parts if not part.loose]
    if row.state in (State.FAILS, State.PARTLY):
        return _failing(row, own, asked)
    if row.state is State.SLOW:
        slow = [part for part in own if part.fit in COMPILED]
        return f"{_counted(row)}: {_listed(slow, with_ptx=True)}", _while_compiling(slow, asked)
    mixed = sum(part.of_ptx for part in row.parts if part.fit in RUN)
    also = f"; besides {counted(mixed, 'module')} of PTX, compiled if they are used" if mixed else ""
    return f"{_counted(row)}{also}", "nothing"


def _unknown(row: Row, asked: Question) -> tuple[str, str]:
    name = asked.selection.name
    if all(part.fit is Fit.ELSEWHERE for part in row.parts):
        host = asked.catalog.architectures[asked.selection.sm].host
        machines = ", ".join(sorted({part.held for part in row.parts}))
        return f"its libraries are for {machines}; {name} comes with {host} processors", f"look at its wheel for {host}"
    if all(part.loose or part.fit is Fit.ELSEWHERE for part in row.parts):
        says = f"files of single images, none for {name}: {_listed(row.parts, with_images=True)}"
        return says, _left_alone(row)
    disputed = [part for part in row.parts if part.fit is Fit.UNKNOWN]
    if disputed:
        says = f"{_counted(row)}: {_listed(disputed, with_images=True)}"
        return says, f"run one kernel of it; if it fails with error 209, build it with {name} or PTX"
    return _counted(row), "see which one it loads: archscan images shows what is in it"


def _failing(row: Row, own: Sequence[Part], asked: Question) -> tuple[str, str]:
    """What does not load, by its reason: a variable, no image, an old driver, modules for a sibling."""
    name = asked.selection.name
    if hidden := [part for part in own if part.only]:
        variable = hidden[0].only
        return f"{variable}={asked.environ[variable]} leaves nothing of {_listed(hidden)}", f"unset {variable}"
    bad = [part for part in own if part.fit is Fit.NONE]
    refused = [part for part in own if part.too_new and part.fit in COMPILED]
    siblings = [part for part in own if part.siblings]
    if not bad and refused:
        needed = newest_ptx((image for part in refused for image in part.ptx), asked.catalog)
        least = f" to {needed.driver} or newer" if needed else ""
        says = f"PTX that driver {asked.machine.driver} is too old to compile (222): {_listed(refused, with_ptx=True)}"
        return says, f"update the driver{least}, or set up its forward compatibility package"
    if bad or siblings:
        return _missing(row, bad or siblings, name), _remedy(row, bad or siblings, asked)
    return f"{_counted(row)}: {_listed(row.parts, with_images=True)}", _left_alone(row)


def _counted(row: Row) -> str:
    """How many libraries there are, by what the GPU gets of them."""
    order = list(_WORDS.values())
    found = Counter(map(_in_words, row.parts))
    if len(row.parts) == 1:
        return next(iter(found))
    said = ", ".join(f"{found[text]} {text}" for text in sorted(found, key=order.index))
    return f"{len(row.parts)} libraries: {said}"


def _in_words(part: Part) -> str:
    plain = any(not image.target.suffix for image in part.library.images)
    return _WORDS[None] if part.fit is Fit.OTHERS and plain else _WORDS[part.fit]


def _listed(parts: Sequence[Part], with_images: bool = False, with_ptx: bool = False) -> str:
    """The names of libraries, with what they hold."""
    said = []
    for part in parts:
        held = part.held if with_images else names(part.ptx) if with_ptx else ""
        said.append(os.path.basename(part.library.path) + (f" ({held})" if held else ""))
    return few(said, _FEW)


def _missing(row: Row, bad: Sequence[Part], name: str) -> str:
    siblings = sorted({image for part in bad for image in part.siblings})
    if siblings and all(part.siblings for part in bad):
        return f"modules of {_listed(bad)} hold {', '.join(siblings)} alone, which does not load on {name}"
    of = f"{len(bad)} of {len(row.parts)} libraries do" if len(row.parts) > 1 else "its library does"
    if len(bad) == 1 and len(row.parts) > 1:
        of = f"1 of {len(row.parts)} libraries does"
    return f"{of} not load on {name}: {_listed(bad, with_images=True)}"


def _remedy(row: Row, bad: Sequence[Part], asked: Question) -> str:
    """Upgrade where a version is known that has it, else a build of which it is known that it would help."""
    name, release = asked.selection.name, row.upgrade
    if release is not None:
        return f"install {row.installed.name} {release.version}, which has code for {name} ({release.source})"
    if build := rebuilding(row, asked):
        return build
    siblings = sorted({image for part in bad for image in part.siblings})
    form = f"sm_{min([asked.selection.sm, *asked.selection.family])}f" if siblings else name
    if len(bad) < len(row.parts):
        return f"no version or build of it with {form} is known here; what runs {_listed(bad)} fails, the rest runs"
    return f"no version or build of it with {form} is known here: look for one, or use another package"


def _left_alone(row: Row) -> str:
    images = [image for part in row.parts for image in part.library.images]
    plain = sorted({image.target.sm for image in images if not image.target.suffix})
    if plain:
        return f"look for an older release: this one begins with sm_{plain[0]}"
    return f"nothing: it is made for {', '.join(sorted({image.name for image in images}))}"


def _while_compiling(slow: Sequence[Part], asked: Question) -> str:
    needed = newest_ptx((image for part in slow for image in part.ptx), asked.catalog)
    driver = f"; driver {needed.driver} or newer, else error 222" if needed is not None else ""
    return f"nothing: seconds to minutes at first use, then from the driver's cache{driver}"


def newest_ptx(images: Iterable[Image], catalog: Catalog) -> PtxVersion | None:
    """What the newest PTX among images needs; None where there is no PTX, or nothing is known of it."""
    versions = {image.version for image in images if image.kind == PTX}
    known = [row for version, row in catalog.ptx_versions.items() if version in versions]
    return max(known, key=lambda row: row.driver, default=None)


def names(images: Iterable[Image]) -> str:
    """The targets of images as build systems write them: `sm_70, sm_80, compute_80`."""
    order = {image.name: (image.kind != CUBIN, image.target) for image in images}
    return ", ".join(sorted(order, key=lambda name: (*order[name], name)))
