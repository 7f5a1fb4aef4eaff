"""Turns lists of architectures of any build file into gates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, listed, serving
from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.build.archlists import ArchList, Entry
from archscan.frontends.build.images import Image, disputed, images_note, suffix_features
from archscan.frontends.build.places import comments_at, line_at, place_of
from archscan.model.facts import Source
from archscan.model.gate import Does, Effect, FeatureUse, Gate, Kind, Layer
from archscan.model.truth import Truth


def list_gates(lists: Iterable[ArchList], source: Source, catalog: Catalog) -> tuple[Gate, ...]:
    """A gate for each list, by line."""
    recogniser = Recogniser(catalog)
    made = (list_gate(one, source, catalog, recogniser) for one in lists)
    return tuple(sorted(made, key=lambda gate: gate.place.start))


def list_gate(one: ArchList, source: Source, catalog: Catalog, recogniser: Recogniser) -> Gate:
    """The gate of a list: who finds code in it; nobody where the toolkit refuses an entry."""
    universe = catalog.universe
    answers = {t: one.serves(t.sm, catalog) for t in universe.targets if not t.is_host}
    loads = Truth(
        universe.mask(t for t, answer in answers.items() if answer),
        universe.mask(t for t, answer in answers.items() if answer is False) | universe.host,
    )
    refused = refusal(one, catalog)
    truth = loads if refused is None else Truth(0, universe.all)
    spot = place_of(source.data, one.start, one.end)
    near = comments_at(source.data, one.start)
    assumed = truth if refused else Truth(loads.yes | loads.unknown(universe.device), loads.no)
    arm = replace(
        serving(spot, " ".join(one.shown.split()), loads, truth, assumed),
        unknowns=one.unknowns,
        assumes=(*one.assumes, *one.unknowns),
        features=_features(one, f"{one.name} {near}", spot.line, recogniser),
    )
    about = About(
        near=near,
        symbols=(one.name,) if one.name else (),
        assumptions=TAKEN_FOR_GRANTED,
        notes=(
            *notes(one.images, one.toolkit if refused else "", catalog),
            *_glued(one),
            *_left_open(one),
            *compiled_as((entry.text, entry.images) for entry in one.entries),
        ),
    )
    rest = refused or Effect(Does.SKIPS, spot.line, environment=(one.environment,) if one.environment else ())
    return listed(source.path, Layer.BUILD, Kind.BUILD_LIST, arm, rest, about)


_VIRTUAL = re.compile(r"arch=\\?[\"']?compute_(\d{2,3}[af]?)\b")


def compiled_as(flags: Iterable[tuple[str, tuple[Image, ...]]]) -> tuple[tuple[str, str], ...]:
    """A note on what code is compiled as where the image has another name: `arch=compute_120f,code=sm_120`."""
    asked = [(_VIRTUAL.search(text), images) for text, images in flags]
    if not any(found and found[1] != images_note(images) for found, images in asked):
        return ()
    names = (found[1] if found else images_note(images) for found, images in asked)
    return (("compiled:0", " ".join(dict.fromkeys(name for name in names if name))),)


def _left_open(one: ArchList) -> tuple[tuple[str, str], ...]:
    """A note where more may be made than is written."""
    return (("open", "more may be made"),) if one.gaps or "native" in one.words else ()


def _glued(one: ArchList) -> tuple[tuple[str, str], ...]:
    """A note where two entries are one number: a comma is missing."""
    glued = [entry.text for entry in one.entries if entry.odd]
    return (("mistake", f"{glued[0]} is no architecture: a comma is missing"),) if glued else ()


def notes(images: tuple[Image, ...], refused_by: str, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """What the judge should know of a list: the toolkit that refuses it, the chips that sources disagree on."""
    tegra = " ".join(map(str, disputed(images, catalog)))
    made = (("images:0", images_note(images)),) if images else ()
    return (*made, *((("refused", refused_by),) if refused_by else ()), *((("tegra", tegra),) if tegra else ()))


def refusal(one: ArchList, catalog: Catalog) -> Effect | None:
    """What nvcc says of an entry that the toolkit of the list does not compile for; None where there is none."""
    refused = one.refused(catalog)
    if not refused:
        return None
    entry = refused[0]
    return Effect(
        Does.ERRORS,
        0,
        f"Unsupported gpu architecture 'compute_{_number(entry)}'",
        ", ".join(dict.fromkeys(_number(e) for e in refused)),
    )


def _number(entry: Entry) -> str:
    """The architecture of an entry as nvcc names it."""
    if entry.images:
        return f"{entry.images[0].target.sm}{entry.images[0].target.suffix}"
    return "".join(c for c in entry.text if c.isdigit())


def _features(one: ArchList, words: str, line: int, recogniser: Recogniser) -> tuple[FeatureUse, ...]:
    """What names and comments say, and what suffixes are for."""
    said = (*recogniser.in_words(words), *suffix_features(one.images))
    return tuple(FeatureUse(name, line, confidence="low") for name in dict.fromkeys(said))


def line_of(one: ArchList, data: bytes) -> int:
    """The line that a list begins at."""
    return line_at(data, one.start)
