"""What to set so that a project builds for one GPU: the line, the form of the target, the toolkit that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from archscan.builds.model import Advice, Build
from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.model.facts import Source
from archscan.model.target import Selection, Target

_FORMS = ("", "f", "a")  # the least bound one that has all that the code uses


def form_for(selection: Selection, sources: Iterable[Source], catalog: Catalog) -> tuple[Target, str]:
    """The variant of the target that the device code needs, and why; one given with a suffix stays."""
    variants = {v.suffix: v for v in selection.variants}
    if selection.exact:
        return selection.variants[0], "the form that was asked for"
    plain = variants.get("", selection.variants[0])
    recogniser = Recogniser(catalog)
    used: dict[str, str] = {}
    for source in sources:
        for use in recogniser.in_code(source.data):
            used.setdefault(use.feature, f"{source.path}:{use.line}")
    bit = catalog.universe.bit
    wanted = {f for f in used if catalog.features[f].mask & selection.mask}  # what no variant has cannot be had
    for suffix in _FORMS:
        variant = variants.get(suffix)
        if variant is not None and all(catalog.features[f].mask & bit(variant) for f in wanted):
            lacking = sorted(f for f in wanted if not catalog.features[f].mask & bit(plain))
            if not lacking:
                return (
                    variant,
                    "nothing in the device code that was read needs a suffix" if used else "no device code was read",
                )
            return (
                variant,
                f"{catalog.features[lacking[0]].group} at {used[lacking[0]]} does not assemble for {plain.name}",
            )
    return plain, "no variant has everything that the code uses"


def advice_for(
    builds: Sequence[Build], selection: Selection, sources: Iterable[Source], catalog: Catalog
) -> list[Advice]:
    """The lines to set, the one that reaches most first."""
    target, why = form_for(selection, sources, catalog)
    form = target.suffix or "plain"
    toolkit = f">={catalog.toolkits.first_for(target)}" if catalog.toolkits.first_for(target) else "none known"
    dotted, number = f"{target.major}.{target.minor}{target.suffix}", f"{target.sm}{target.suffix}"
    flag = f"-gencode=arch=compute_{number},code=sm_{number}"
    return list(_lines(builds, target, dotted, number, flag, (form, toolkit, why), catalog))


def _lines(
    builds: Sequence[Build],
    target: Target,
    dotted: str,
    number: str,
    flag: str,
    said: tuple[str, str, str],
    catalog: Catalog,
) -> Iterator[Advice]:
    form, toolkit, why = said
    known = catalog.toolkits.torch[-1]
    if any(b.reads == "torch" for b in builds):
        if dotted in known.accepts:
            yield Advice("environment", f'TORCH_CUDA_ARCH_LIST="{dotted}"', form, toolkit, why)
        else:
            note = f"torch {known.since} takes no {dotted} in TORCH_CUDA_ARCH_LIST: {why}"
            yield Advice("argument", f'extra_compile_args={{"nvcc": ["{flag}"]}}', form, toolkit, note)
    cmake = [b for b in builds if b.reads == "cmake" and not b.path.endswith("Presets.json")]
    if cmake:
        yield Advice("cmake", f"-DCMAKE_CUDA_ARCHITECTURES={number}-real", form, toolkit, why, cmake[0].path)
    for build in builds:
        file = build.path.rsplit("/", 1)[-1]
        if file.endswith("Presets.json"):
            text = f'"CMAKE_CUDA_ARCHITECTURES": "{number}-real"'
            yield Advice("preset", text, form, toolkit, why, build.path)
        elif "dockerfile" in file.lower():
            name = next(iter(build.settings), build.name)
            value = dotted if "TORCH" in name else number
            yield Advice("argument", f'docker build --build-arg {name}="{value}"', form, toolkit, why, build.path)
        elif build.reads == "" and f"sm_{target.sm}" not in {m.image.target.name.rstrip("af") for m in build.images}:
            text = f"line {build.images[0].line if build.images else build.line}: add {flag}"
            yield Advice("edit", text, form, toolkit, why, build.path)
