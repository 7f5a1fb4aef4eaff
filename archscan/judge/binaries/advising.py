"""What is said about a library: consequence, severity, advice, and the sentence, for each thing that can be wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from archscan.binary.loading import NOTHING, How, got, of_library
from archscan.binary.names import plain
from archscan.catalog.architectures import takes
from archscan.judge.binaries.hollow import Idle, KernelCount
from archscan.judge.binaries.loaded import COMPILED, RUNS, Loaded
from archscan.judge.binaries.named import parted
from archscan.judge.binaries.said import (
    ERRORS,
    NO_IMAGE,
    NO_SYMBOL,
    Note,
    Said,
    does,
    holds,
    names,
    share,
    these_kernels,
    works,
)
from archscan.model.finding import Advice, Consequence, Level
from archscan.model.library import CUBIN, PTX, Image, Module


def missing(view: Loaded) -> Said:
    """Nothing in the library fits."""
    modules = (*view.unfit, *(module for module, _ in view.objects))
    images = [image for module in modules for image in module.images]
    name, sm, total = view.selection.name, view.selection.sm, len(view.unfit)
    what = f"nothing in this library runs on {name}: {share(total, total, 'module')} {holds(total)} {names(images)}"
    if not any(image.kind == PTX for image in images):
        what += " and no PTX"
    plainly = [image for image in images if not image.target.suffix and image.target.sm < sm]
    error = NO_SYMBOL if view.objects else NO_IMAGE
    if plainly:
        helps = f"its images are plain: add {name}, or PTX compute_{max(image.target.sm for image in plainly)}"
        severity, score, advice = Level.HIGH, 68, Advice.WIDEN_SAFE
    elif all(image.target.suffix for image in images):
        helps = "its images are for single chips or families, whose instructions others may not have"
        severity, score, advice = Level.INFO, 8, Advice.LEAVE
    else:
        helps = f"{name} is older than its plain images: an older release may still have been built for it"
        severity, score, advice = Level.MEDIUM, 40, Advice.INVESTIGATE
    return Said(
        about="missing",
        consequence=Consequence.LOAD_ERROR,
        severity=severity,
        score=score,
        advice=advice,
        message=what,
        happens=Note(f"at the first kernel: {ERRORS[error]}"),
        helps=Note(helps),
        admits=_loading(view),
        error=error,
    )


def disputed(view: Loaded) -> Said:
    """Nothing in the library is sure to fit, and sources disagree about what is in it."""
    images = [
        image
        for module in view.disputed
        for image in module.images
        if image.kind == CUBIN and takes(image.target, view.selection.sm, view.catalog) is None
    ]
    name, held, tegra = view.selection.name, len(view.disputed), view.catalog.tegra
    what = (
        f"sources disagree whether {name} loads this library: {share(held, len(view.pairs), 'module')} {holds(held)} "
    )
    return Said(
        about="missing",
        consequence=Consequence.LOAD_ERROR,
        severity=Level.MEDIUM,
        score=45,
        advice=Advice.CONTESTED,
        message=f"{what}{names(images)}, machine code of a desktop part",
        happens=Note(f"if it does not, at the first kernel: {ERRORS[NO_IMAGE]}"),
        helps=Note(f"add {name}, or PTX compute_{max(image.target.sm for image in images)}, which is sure to load"),
        admits=_loading(view),
        notes=(Note(tegra.against, "architectures.yaml", "medium"), Note(tegra.agreeing, "architectures.yaml", "low")),
        error=NO_IMAGE,
    )


def suffix_only(view: Loaded) -> Said:
    """Modules hold code for one sibling of the target alone."""
    name, few = view.selection.name, view.for_siblings
    siblings = [i for m in few for i in m.images if i.target.suffix == "a" and i.target.sm in view.selection.family]
    chips = {image.target.sm for image in siblings}
    load = "loads on that very chip alone" if len(chips) == 1 else "load on these very chips alone"
    what = f"{share(len(few), len(view.pairs), 'module')} {holds(len(few))} {names(siblings)} for {name}, which {load}"
    family = f"sm_{min(*chips, view.selection.sm)}f"
    return Said(
        about="suffix-only",
        consequence=Consequence.LOAD_ERROR,
        severity=Level.MEDIUM if view.loads else Level.HIGH,
        score=58 if view.loads else 68,
        advice=Advice.WIDEN_SAFE,
        message=what,
        happens=Note(f"at the first kernel of these: {ERRORS[NO_IMAGE]}"),
        helps=Note(f"build {family} instead of {names(siblings)}: it loads on the whole family", "architectures.yaml"),
        admits=_loading_some(view, few),
        error=NO_IMAGE,
    )


def jit_only(view: Loaded, kernels: KernelCount) -> Said:
    """Only PTX fits: the driver compiles it at first use, or into nothing."""
    name, idle = view.selection.name, kernels.by_jit
    compiled = view.of(*COMPILED)
    objects = [found.image for _, found in view.objects if found.image is not None] if view.of(How.JIT_LINK) else []
    sources = [found.image for _, found in compiled if found.image is not None]
    sources += [image for image in objects if image.kind == PTX]
    old = max((image.target.sm for image in sources), default=0)
    how = "by linking its objects anew" if view.of(How.JIT_LINK) else "by JIT"
    how_many = share(len(compiled), len(view.pairs), "module")
    what = f"{how_many} {_run(len(compiled))} on {name} {how}, from {names(sources) or 'machine code'}"
    if idle:
        what = f"{these_kernels(idle)} {does(idle)} nothing on {name}: the PTX is for sm_{old}, where they are empty"
    return Said(
        about="jit-only",
        consequence=Consequence.SILENT_NOOP if idle else Consequence.SLOW_FALLBACK,
        severity=Level.HIGH if idle else Level.LOW,
        score=90 if idle else 50,
        advice=Advice.WIDEN_SAFE,
        message=what,
        happens=Note(f"at first use the driver compiles it: seconds to minutes; gates were answered for sm_{old}"),
        helps=Note(f"add {name} to the build"),
        admits=_machine_code(view),
        notes=_drivers(sources, view),
        kernels=_listed(idle, view),
    )


def _drivers(images: Sequence[Image], view: Loaded) -> tuple[Note, ...]:
    """The oldest driver that knows the PTX of all these images."""
    versions = {image.version for image in images if image.kind == PTX}
    rows = [row for version, row in view.catalog.ptx_versions.items() if version in versions]
    if not rows:
        return ()
    newest = max(rows, key=lambda row: row.driver)
    text = f"PTX {newest.version} needs driver {newest.driver} or newer (CUDA {newest.cuda}), else error 222"
    return (Note(text, newest.source, newest.confidence),)


def hollow(view: Loaded, found: Sequence[Idle]) -> Said:
    """Kernels with machine code that does nothing."""
    name = view.selection.name
    idle, others = parted(found, view.selection.sm)
    if not idle:
        return _left("hollow", Consequence.SILENT_NOOP, "does nothing", "do nothing", others, view)
    partly = all(one.alike for one in idle)  # other instantiations work: these may well be for nobody
    return Said(
        about="hollow",
        consequence=Consequence.SILENT_NOOP,
        severity=Level.LOW if partly else Level.MEDIUM,
        score=45 if partly else 72,
        advice=Advice.INVESTIGATE,
        message=f"{these_kernels(idle)} {does(idle)} nothing on {name} and {works(idle)} on {_works_on(idle)}",
        happens=Note("where it is launched nothing is written, and no error is reported"),
        helps=Note("find the gate around its body in the source: open it, or keep this GPU from launching it"),
        admits=_working(idle),
        notes=_beside(others),
        kernels=_listed(idle, view),
    )


def traps(view: Loaded, found: Sequence[Idle]) -> Said:
    """Kernels with machine code that only traps."""
    idle, others = parted(found, view.selection.sm)
    if not idle:
        return _left("trap", Consequence.TRAP, "traps", "trap", others, view)
    trap = "traps" if len(idle) == 1 else "trap"
    return Said(
        about="trap",
        consequence=Consequence.TRAP,
        severity=Level.MEDIUM,
        score=60,
        advice=Advice.INVESTIGATE,
        message=f"{these_kernels(idle)} {trap} on {view.selection.name} and {works(idle)} on {_works_on(idle)}",
        happens=Note("where it is launched the CUDA context ends, and every later call fails"),
        helps=Note("its source refuses this GPU: give it a path of its own, or keep it from launching the kernel"),
        admits=_working(idle),
        notes=_beside(others),
        kernels=_listed(idle, view),
    )


def _left(about: str, consequence: Consequence, one: str, many: str, idle: Sequence[Idle], view: Loaded) -> Said:
    """Kernels that are named for other chips: right as they are, unless somebody launches them here."""
    do = one if len(idle) == 1 else many
    return Said(
        about=about,
        consequence=consequence,
        severity=Level.INFO,
        score=6,
        advice=Advice.LEAVE,
        message=f"{these_kernels(idle)} named for other chips {do} on {view.selection.name}",
        happens=Note("nothing, as long as nobody launches them there"),
        helps=Note(f"by their names they are for {_works_on(idle)}", confidence="medium"),
        admits=_working(idle),
        kernels=_listed(idle, view),
    )


def _beside(others: Sequence[Idle]) -> tuple[Note, ...]:
    """That kernels named for other chips do nothing as well."""
    return (Note(f"{these_kernels(others)} named for other chips not counted", confidence="medium"),) if others else ()


def _loading(view: Loaded) -> frozenset[int]:
    """The SMs that get something of the library, in whichever way."""
    return frozenset(
        sm
        for sm in view.catalog.architectures
        if any(found.how not in NOTHING for found in of_library(view.library, sm, view.catalog))
    )


def _loading_some(view: Loaded, modules: Iterable[Module]) -> frozenset[int]:
    """The SMs that get something of one of these modules."""
    kinds = {tuple((i.kind, i.target) for i in module.images): module for module in modules}
    chips = view.catalog.architectures
    return frozenset(sm for sm in chips if any(got(m, sm, view.catalog).how not in NOTHING for m in kinds.values()))


def _machine_code(view: Loaded) -> frozenset[int]:
    """The SMs that get machine code of the modules that the target has to compile."""
    modules = {tuple((i.kind, i.target) for i in m.images): m for m, _ in view.of(*COMPILED)}
    chips = view.catalog.architectures
    return frozenset(sm for sm in chips if any(got(m, sm, view.catalog).how in RUNS for m in modules.values()))


def _working(idle: Iterable[Idle]) -> frozenset[int]:
    return frozenset(image.target.sm for one in idle for image in one.works)


def _listed(idle: Sequence[Idle], view: Loaded) -> tuple[str, ...]:
    """Each kernel, with what it does where. Kernels of one name differ in their template arguments."""
    by_name: dict[tuple[str, str, str, int], int] = {}
    for one in idle:
        key = (plain(one.name), one.nature, names(one.works), one.alike)
        by_name[key] = by_name.get(key, 0) + 1
    return tuple(
        f"{name}: {nature} on {view.selection.name}, code on {works}{_how_many(number, alike)}"
        for (name, nature, works, alike), number in by_name.items()
    )


def _how_many(number: int, alike: int) -> str:
    """Of how many instantiations that is true: a template of which others work is gated by its arguments."""
    if alike:
        return f" ({number} of {number + alike} instantiations; the others work)"
    return f" ({number} of them)" if number > 1 else ""


def _works_on(idle: Sequence[Idle]) -> str:
    return names([image for one in idle for image in one.works])


def _run(number: int) -> str:
    return "runs" if number == 1 else "run"
