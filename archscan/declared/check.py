"""Compares what is declared with libraries, architecture lists and gates. Facts come in, disagreements go out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from archscan.builds.model import JIT, NONE, Build, gets
from archscan.catalog.targets import select
from archscan.catalog.types import Catalog
from archscan.declared.model import HIGH, LEVELS, LOW, MEDIUM, Declared, Disagreement
from archscan.environment.model import COMPILED, RUN, Fit
from archscan.environment.rows import fit_of
from archscan.environment.shelves import Compiled
from archscan.judge.binaries.loaded import Loaded, loaded
from archscan.model.finding import UNCOUNTED, Finding
from archscan.model.gate import Layer
from archscan.model.library import CUBIN, PTX, Image
from archscan.model.target import Target

_MISSING, _PTX, _SURPLUS, _GATE = "declared-code-missing", "declared-ptx-missing", "undeclared-code", "declared-gate"


def disagreements(
    libraries: Sequence[Compiled],
    builds: Sequence[Build],
    findings: Mapping[int, Sequence[Finding]],
    said: Declared,
    catalog: Catalog,
) -> tuple[Disagreement, ...]:
    """Everything that does not agree, the worst first; `findings` are those of a scan by SM."""
    found = [
        *_of_libraries([one for one in libraries if one.library.modules and not one.vacant], said, catalog),
        *(row for build in builds for row in _of_build(build, said, catalog)),
        *(row for sm, them in findings.items() for row in _of_gates(sm, them)),
    ]
    return tuple(sorted(found, key=lambda row: (LEVELS.index(row.level), row.path, row.line, row.architecture)))


# --- libraries


def _of_libraries(libraries: Sequence[Compiled], said: Declared, catalog: Catalog) -> Iterator[Disagreement]:
    for sm, target in said.gpus(catalog).items():
        selection = select(f"sm_{sm}", catalog)
        views = [loaded(one.library, selection, catalog) for one in libraries]
        fits = [(view, fit_of(view)) for view in views]
        rows = [row for view, fit in fits for row in _of_library(view, fit, sm, target)]
        if fits and not rows and not any(fit in (*RUN, *COMPILED, Fit.UNKNOWN) for _, fit in fits):
            path = fits[0][0].library.path if len(fits) == 1 else ""
            text = f"no library loads on sm_{sm}, which is declared ({target.name}): they are for other chips"
            rows = [Disagreement(_MISSING, HIGH, f"sm_{sm}", path, 1, text)]
        yield from rows
    for one in libraries:
        yield from _ptx(one, said)
        yield from _surplus(one.library.path, 1, one.library.images, said, catalog)


def _of_library(view: Loaded, fit: Fit, sm: int, target: Target) -> Iterator[Disagreement]:
    path, name = view.library.path, f"sm_{sm}"
    declared = f"which is declared ({target.name})"
    plain = any(not image.target.suffix for image in view.library.images)
    if fit is Fit.NONE or (fit is Fit.OTHERS and plain):
        text = f"holds nothing that loads on {name}, {declared}: {_names(view.library.images)}"
        yield Disagreement(_MISSING, HIGH, name, path, 1, text)
    elif view.for_siblings:
        held = _names(i for module in view.for_siblings for i in module.images)
        text = f"{len(view.for_siblings)} kinds of modules hold {held}, which does not load on {name}, {declared}"
        yield Disagreement(_MISSING, HIGH, name, path, 1, text)
    elif fit in COMPILED:
        text = f"has no machine code for {name}, {declared}: it is compiled at first use"
        yield Disagreement(_MISSING, MEDIUM, name, path, 1, text)


def _ptx(one: Compiled, said: Declared) -> Iterator[Disagreement]:
    """PTX that is declared and not there; where none is declared, that no later GPU runs it."""
    images = one.library.images
    held = {image.target for image in images if image.kind == PTX}
    if all(image.target.suffix for image in images):
        return  # made for single chips or families
    for target in said.ptx:
        if target not in held:
            text = f"holds no PTX compute_{target.sm}{target.suffix}, which is declared"
            yield Disagreement(_PTX, MEDIUM, target.name, one.library.path, 1, text)
    plain = [target.sm for target in said.targets if not target.suffix] or [target.sm for target in said.targets]
    if not said.ptx and not held and plain:
        text = f"holds no PTX: no GPU of a later major than declared runs it (compute_{max(plain)} is the highest)"
        yield Disagreement(_PTX, LOW, f"sm_{max(plain)}", one.library.path, 1, text)


def _surplus(path: str, line: int, images: Iterable[Image], said: Declared, catalog: Catalog) -> Iterator[Disagreement]:
    known = set(said.gpus(catalog)) | {target.sm for target in said.ptx}
    extra = [image for image in images if image.target.sm not in known and image.kind in (CUBIN, PTX)]
    if extra:
        yield Disagreement(_SURPLUS, LOW, "", path, line, f"holds what is not declared: {_names(extra)}")


def _names(images: Iterable[Image]) -> str:
    order = {image.name: (image.kind != CUBIN, image.target) for image in images}
    return ", ".join(sorted(order, key=lambda name: (*order[name], name)))


# --- lists and gates


def _of_build(build: Build, said: Declared, catalog: Catalog) -> Iterator[Disagreement]:
    images = tuple(made.image for made in build.images)
    if build.stops:
        text = f"{build.name}: the toolkit refuses an entry of its list, so that nothing is built"
        yield Disagreement(_MISSING, HIGH, "", build.path, build.line, text)
        return
    if not images or all(image.target.suffix and image.target.sm not in said.gpus(catalog) for image in images):
        return  # not known, or for other chips
    for sm, target in said.gpus(catalog).items():
        got = gets(images, sm, catalog, bool(build.unknowns))
        if got in (NONE, JIT):
            has = "makes nothing" if got == NONE else "makes PTX alone"
            text = f"{build.name} {has} for sm_{sm}, which is declared ({target.name})"
            level = HIGH if got == NONE else MEDIUM
            yield Disagreement(_MISSING, level, f"sm_{sm}", build.path, build.line, text)
    for target in said.ptx:
        if not any(image.ptx and image.target == target for image in images) and not build.unknowns:
            text = f"{build.name} makes no PTX compute_{target.sm}{target.suffix}, which is declared"
            yield Disagreement(_PTX, MEDIUM, target.name, build.path, build.line, text)
    known = set(said.gpus(catalog)) | {target.sm for target in said.ptx}
    extra = sorted({image.target for image in images if image.target.sm not in known})
    if extra:
        names = ", ".join(target.name for target in extra)
        yield Disagreement(
            _SURPLUS, LOW, "", build.path, build.line, f"{build.name} builds what is not declared: {names}"
        )


def _of_gates(sm: int, findings: Iterable[Finding]) -> Iterator[Disagreement]:
    """What a scan reports for a declared GPU; lists and libraries are compared by themselves."""
    for finding in findings:
        own = finding.gate.layer not in (Layer.BINARY, Layer.BUILD)
        if own and finding.listed and finding.advice not in UNCOUNTED and finding.severity.value in LEVELS:
            text = f"{finding.rule}: {finding.message}"
            level = finding.severity.value
            yield Disagreement(_GATE, level, f"sm_{sm}", finding.path, finding.place.line, text)


# --- wheel variants


def variant_properties(libraries: Sequence[Compiled], catalog: Catalog) -> tuple[list[str], list[str]]:
    """The properties of wheel variants that are true of all libraries, and why others are left out.

    `120_real` offers a wheel to every GPU of that major from 12.0 on: each must get something of every library.
    """
    usable = [one for one in libraries if one.library.modules and not one.vacant]
    images = {image.name: image for one in usable for image in one.library.images if image.kind in (CUBIN, PTX)}
    properties, notes = [], []
    for image in sorted(images.values(), key=lambda one: (one.kind != CUBIN, one.target)):
        kind = "virtual" if image.kind == PTX else "real"
        if image.target.suffix:
            notes.append(f"{image.name}: no property says that it is for {_reach(image.target)} alone")
            continue
        offered = [sm for sm in sorted(catalog.architectures) if _is_offered(image, sm)]
        failing = [sm for sm in offered if any(not _gets(one, sm, catalog) for one in usable)]
        if failing:
            names = ", ".join(f"sm_{sm}" for sm in failing)
            notes.append(
                f"{image.target.sm}_{kind} would offer it to {names}, where a library holds nothing that loads"
            )
            continue
        properties.append(f"nvidia :: sm_arch :: {image.target.sm}_{kind}")
    return list(dict.fromkeys(properties)), list(dict.fromkeys(notes))


def _reach(target: Target) -> str:
    return f"the family of sm_{target.sm}" if target.suffix == "f" else f"sm_{target.sm}"


def _is_offered(image: Image, sm: int) -> bool:
    if image.kind == PTX:
        return sm >= image.target.sm
    return sm // 10 == image.target.major and sm >= image.target.sm


def _gets(one: Compiled, sm: int, catalog: Catalog) -> bool:
    fit = fit_of(loaded(one.library, select(f"sm_{sm}", catalog), catalog))
    others = fit is Fit.OTHERS and all(image.target.suffix for image in one.library.images)
    return others or fit in (*RUN, *COMPILED, Fit.UNKNOWN)
