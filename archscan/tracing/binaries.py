"""The last step of a chain: whether the libraries that were scanned hold what it builds, for the target."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from archscan.binary.loading import NOTHING, How
from archscan.binary.names import last
from archscan.binary.sass import TRAP
from archscan.catalog.types import Catalog
from archscan.judge.binaries.hollow import KernelCount, kernels_of
from archscan.judge.binaries.loaded import Loaded, is_elsewhere, loaded
from archscan.model.facts import Facts, SiteKind
from archscan.model.gate import Layer
from archscan.model.library import Library
from archscan.model.report import Chain, Report, Step
from archscan.reporting.words import counted
from archscan.sources.libraries import read_strings
from archscan.tracing.states import BUILT, OPEN, RUN, SHUT, UNKNOWN

_TAGS = re.compile(r"(?:\.(?:abi3|cpython-[\w-]+|cp\d+-[\w-]+|so(?:\.\d+)*|pyd|dll|a|o|cubin|fatbin|ptx))+$", re.I)
_MOST_LIBRARIES = 8
_MOST_OPERATORS = 200
_MOST_NAMED = 3


@dataclass(frozen=True)
class _Holding:
    """A library and the kernels that it holds, by the names that sources have for them."""

    library: Library
    view: Loaded
    count: KernelCount
    kernels: frozenset[str]  # of any image that was read
    operators: frozenset[str] = frozenset()  # of those that are asked for, which its texts name


def with_libraries(chains: tuple[Chain, ...], report: Report, catalog: Catalog, name: str) -> tuple[Chain, ...]:
    """The chains, each with a step for every library that holds its module or its kernels."""
    called = [operator for chain in chains for operator in chain.operators]
    operators = tuple(dict.fromkeys([name, *called]))[:_MOST_OPERATORS]
    holdings = [_holding(library, report, catalog, operators) for library in report.facts.libraries]
    return tuple(_ended(chain, holdings, report, catalog, name) for chain in chains) if holdings else chains


def in_libraries(report: Report, catalog: Catalog, name: str) -> tuple[Chain, ...]:
    """The chain of a name that nothing but libraries has: a kernel in one, or an operator that one registers."""
    short = name.removeprefix("torch.ops.").replace(".", "::") if name.startswith("torch.ops.") else name
    chain = Chain(name, name, (), f"{name} is not in the sources that were scanned", (short,))
    (ended,) = with_libraries((chain,), report, catalog, short)
    return (ended,) if ended.steps else ()


def _holding(library: Library, report: Report, catalog: Catalog, operators: Sequence[str]) -> _Holding:
    view = loaded(library, report.selection, catalog)
    known = report.facts.kernels
    images = (known.get((library.path, image.span.start)) for image in library.images)
    names = frozenset(last(mangled) for found in images if found for mangled, _ in found.natures)
    return _Holding(library, view, kernels_of(view, known), names, registered(read_strings(library), operators))


def registered(texts: bytes, operators: Iterable[str]) -> frozenset[str]:
    """Those operators (`space::name`, or the name alone) that a library registers with torch, by its texts.

    `TORCH_LIBRARY(space, m) { m.def("name(Tensor x) -> Tensor"); }` leaves `space`, and `name` or its schema.
    """
    found = []
    for operator in operators:
        space, _, name = operator.rpartition("::")
        said = name.encode()
        if name and any(b"\0" + said + end in texts for end in (b"(", b"\0", b".")):
            whole = operator.encode()
            if not space or b"\0" + space.encode() + b"\0" in texts or b"\0" + whole in texts:
                found.append(operator)
    return frozenset(found)


def _ended(chain: Chain, holdings: Sequence[_Holding], report: Report, catalog: Catalog, name: str) -> Chain:
    wanted = {chain.name, chain.id.rpartition(":")[2]}
    modules = {one.rpartition(".")[2] for one in wanted}
    itself = any(name in holding.kernels for holding in holdings)
    kernels = frozenset({name}) if itself else _kernels(chain, report.facts)
    steps = []
    for holding in holdings:
        held = holding.kernels & kernels
        named = module_name(holding.library.path) in modules
        called = [] if held else [operator for operator in chain.operators if operator in holding.operators]
        if held or named or called:
            run = name in held or named or bool(called)
            steps.append(_step(holding, held, called, report, catalog, run))
    remark = _remark(steps, report)
    return replace(chain, steps=(*chain.steps, *steps[:_MOST_LIBRARIES]), sentence=f"{chain.sentence}{remark}")


def module_name(path: str) -> str:
    """The module that a library file is: `_C` of `pkg/_C.abi3.so`, `nccl` of `libnccl.so.2`."""
    name = _TAGS.sub("", posixpath.basename(path))
    return name.removeprefix("lib") if not path.endswith(".pyd") else name


def _kernels(chain: Chain, facts: Facts) -> frozenset[str]:
    """The kernels that the files of a chain define."""
    paths = {step.path for step in chain.steps}
    files = (file for file in facts.files if file.path in paths)
    return frozenset(site.name for file in files for site in file.sites if site.kind is SiteKind.KERNEL)


def _step(
    holding: _Holding, held: frozenset[str], called: Sequence[str], report: Report, catalog: Catalog, run: bool
) -> Step:
    state, says = _registers(holding, called, report, catalog) if called else _says(holding, held, report, catalog)
    path = holding.library.path
    finding = next((f for f in report.findings if f.path == path and f.binary is not None), None)
    shown = finding.fingerprint if finding and state == SHUT else None
    return Step(Layer.BINARY.value, path, None, state, RUN if run else BUILT, shown, says, "file")


def _says(holding: _Holding, held: frozenset[str], report: Report, catalog: Catalog) -> tuple[str, str]:
    """What is said of a library that holds these kernels, or the module itself (none)."""
    closed = _closed(holding, report, catalog)
    if closed is not None:
        return closed
    view, name = holding.view, report.selection.name
    idle = [one for one in (*holding.count.hollow, *holding.count.traps) if not held or last(one.name) in held]
    if idle:
        names = ", ".join(dict.fromkeys(last(one.name) for one in idle[:_MOST_NAMED]))
        what = "it traps" if all(one.nature == TRAP for one in idle) else "hollow"
        return SHUT, f"the library holds it for {name}, {what}: {names}"
    lost = held - frozenset(_here(view, report.facts))
    if held and lost == held:
        return SHUT, f"the library does not hold it for {name}, only for other chips: {', '.join(sorted(lost)[:3])}"
    kernels = f", {counted(len(held), 'kernel')} of it found" if held else ""
    return OPEN, f"the library holds it for {name}{_by_jit(view)}{kernels}"


def _by_jit(view: Loaded) -> str:
    """Whether all that loads of a library is compiled first."""
    ways = {got.how for _, got in view.pairs if got.how not in NOTHING}
    return " by JIT" if ways <= {How.JIT, How.JIT_LINK} else ""


def _closed(holding: _Holding, report: Report, catalog: Catalog) -> tuple[str, str] | None:
    """Why nothing of a library loads for sure; None where something does."""
    view, name = holding.view, report.selection.name
    if is_elsewhere(holding.library, report.selection, catalog):
        host = catalog.architectures[report.selection.sm].host
        return UNKNOWN, f"a library for {holding.library.machine}: {name} comes with {host}, look at the library for it"
    holds = ", ".join(holding.library.count())
    if view.disputed and not view.loads:
        return UNKNOWN, f"sources disagree whether {name} loads it: the library holds {holds}"
    if not view.loads:
        return SHUT, f"the library does not hold it for {name}: it holds {holds}"
    return None


def _registers(holding: _Holding, called: Sequence[str], report: Report, catalog: Catalog) -> tuple[str, str]:
    """What is said of a library that registers operators: which kernels they launch stands in no table of it."""
    what = f"it registers {', '.join(called[:_MOST_NAMED])}" + (" and more" if len(called) > _MOST_NAMED else "")
    closed = _closed(holding, report, catalog)
    if closed is not None:
        return closed[0], f"{what}; {closed[1]}"
    view, name, idle = holding.view, report.selection.name, (*holding.count.hollow, *holding.count.traps)
    total = len(view.pairs) - len(view.lto)
    lacks = [f"{len(view.unfit):,} of its {counted(total, 'module')} hold nothing"] if view.unfit else []
    lacks += [f"{counted(len(idle), 'kernel')} of it do nothing or trap"] if idle else []
    if lacks:
        return UNKNOWN, f"{what}; for {name} {' and '.join(lacks)}, and what these launch cannot be told"
    return OPEN, f"{what}; every module of the library has code for {name}{_by_jit(view)}"


def _here(view: Loaded, facts: Facts) -> Iterator[str]:
    """The kernels in the images that the target gets."""
    for _, image in view.read:
        found = facts.kernels.get((view.library.path, image.span.start))
        yield from (last(mangled) for mangled, _ in found.natures) if found else ()


def _remark(steps: list[Step], report: Report) -> str:
    """What the libraries add to the sentence of a chain."""
    if not steps:
        return ""
    shut = [step for step in steps if step.state == SHUT]
    if shut:
        return f"; {shut[0].message} ({shut[0].path})"
    return f"; built for {report.selection.name}: {steps[0].path}" if steps[0].state == OPEN else ""
