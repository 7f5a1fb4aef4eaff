"""What to set so that a project builds for one GPU: the line, the form of the target, the toolkit that it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from archscan.builds.collect import Collected
from archscan.builds.model import Advice, Build
from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.build.request import is_arch_name
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
    found: Collected,
    selection: Selection,
    catalog: Catalog,
    again: Callable[[Mapping[str, str]], Sequence[Build]],
) -> list[Advice]:
    """The lines to set, the one that reaches most first; `again` gives the builds with further variables set.

    A variable is named only where the builds with it set make the target. None where all of them do as they are.
    """
    target, why = form_for(selection, found.cuda, catalog)
    form = target.suffix or "plain"
    toolkit = f">={catalog.toolkits.first_for(target)}" if catalog.toolkits.first_for(target) else "none known"
    lacking = [build for build in found.builds if not _makes(build, target)]
    return list(_lines(lacking, target, (form, toolkit, why), catalog, _variables(found, lacking, target, again)))


def _makes(build: Build, target: Target) -> bool:
    return not build.stops and any(made.image.target == target and not made.image.ptx for made in build.images)


_MOST_TRIED = 8  # variables, in two spellings each


@dataclass(frozen=True)
class _Variable:
    """A variable of the project, the value that makes the target, the file that reads it, and the builds it reaches."""

    name: str
    value: str
    path: str
    reaches: frozenset[tuple[str, str]]


def _variables(
    found: Collected,
    lacking: Sequence[Build],
    target: Target,
    again: Callable[[Mapping[str, str]], Sequence[Build]],
) -> list[_Variable]:
    """What can be set so that builds make the target, the one that reaches most first; torch's own is not tried."""
    names = {"CMAKE_CUDA_ARCHITECTURES": next((b.path for b in lacking if b.reads == "cmake"), ""), **found.settable}
    names |= {n: b.path for b in lacking for n in b.unknowns if re.fullmatch(r"\w+", n) and is_arch_name(n)}
    wanted = {(b.name, b.path) for b in lacking if not b.path.endswith("Presets.json")}
    tried: list[_Variable] = []
    for name, path in [(n, p) for n, p in names.items() if p and n != "TORCH_CUDA_ARCH_LIST"][:_MOST_TRIED]:
        for value in _spellings(name, target, found.dotted):
            made = {(b.name, b.path) for b in again({name: value}) if _makes(b, target)} & wanted
            if made:
                tried.append(_Variable(name, value, path, frozenset(made)))
                break
    return sorted(tried, key=lambda one: -len(one.reaches))


def _spellings(name: str, target: Target, dotted: frozenset[str]) -> tuple[str, str]:
    """The target as a variable may expect it; one named as torch's, or with a default that is dotted, takes dots."""
    plain, with_dot = f"{target.sm}{target.suffix}", f"{target.major}.{target.minor}{target.suffix}"
    if name in dotted or "TORCH_CUDA_ARCH" in name.upper():
        return with_dot, plain
    return f"{plain}-real" if "ARCHITECTURES" in name else plain, with_dot


def _lines(
    builds: Sequence[Build],
    target: Target,
    said: tuple[str, str, str],
    catalog: Catalog,
    variables: Sequence[_Variable],
) -> Iterator[Advice]:
    form, toolkit, why = said
    dotted, number = f"{target.major}.{target.minor}{target.suffix}", f"{target.sm}{target.suffix}"
    flag = f"-gencode=arch=compute_{number},code=sm_{number}"
    known = catalog.toolkits.torch[-1]
    if any(b.reads == "torch" for b in builds):
        if dotted in known.accepts:
            yield Advice("environment", f'TORCH_CUDA_ARCH_LIST="{dotted}"', form, toolkit, why)
        else:
            note = f"torch {known.since} takes no {dotted} in TORCH_CUDA_ARCH_LIST: {why}"
            yield Advice("argument", f'extra_compile_args={{"nvcc": ["{flag}"]}}', form, toolkit, note)
    for one in variables[:1]:
        if one.path.endswith(".py"):
            yield Advice("environment", f'{one.name}="{one.value}"', form, toolkit, why, one.path)
        else:
            yield Advice("cmake", f"-D{one.name}={one.value}", form, toolkit, why, one.path)
    reached = variables[0].reaches if variables else frozenset()
    for build in (b for b in builds if (b.name, b.path) not in reached):
        file = build.path.rsplit("/", 1)[-1]
        line = build.images[0].line if build.images else build.line
        if file.endswith("Presets.json"):
            text = f'"CMAKE_CUDA_ARCHITECTURES": "{number}-real"'
            yield Advice("preset", text, form, toolkit, why, build.path)
        elif "dockerfile" in file.lower():
            name = next(iter(build.settings), build.name)
            value = dotted if "TORCH" in name else number
            yield Advice("argument", f'docker build --build-arg {name}="{value}"', form, toolkit, why, build.path)
        elif build.reads == "" and f"sm_{target.sm}" not in {m.image.target.name.rstrip("af") for m in build.images}:
            yield Advice("edit", f"line {line}: add {flag}", form, toolkit, why, build.path)
        elif build.reads == "cmake":
            yield Advice(
                "edit",
                f"line {line}: add {number}, spelled as the entries there",
                form,
                toolkit,
                f"no variable that was tried reaches it; {why}",
                build.path,
            )
