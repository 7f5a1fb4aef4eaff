"""Joins the gates of a report into chains, one for each extension module with something shut, from links alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from archscan.catalog.types import Catalog
from archscan.model.facts import FileFacts, LinkKind, Origin
from archscan.model.finding import Finding, Problem
from archscan.model.gate import Related, Role
from archscan.model.report import Chain, Report, Step
from archscan.sources.kinds import is_cmake
from archscan.tracing.chain_summary import chain_summary
from archscan.tracing.imports import Imports, Read
from archscan.tracing.modules import Extension, Includes, extensions, is_for_all
from archscan.tracing.paths import Paths
from archscan.tracing.states import BUILT, CLEAN, OPEN, RUN, SHUT, GateState, lists, states

_ALSO = 6  # other places named in `related` of one finding


@dataclass(frozen=True, slots=True)
class Gathered:
    """The gates of one extension module."""

    extension: Extension
    python: tuple[GateState, ...]  # in the function that builds it
    listing: tuple[GateState, ...]  # around a call of that function: ahead-of-time lists, loaders
    compiled: tuple[GateState, ...]  # in its sources and the headers they include
    clean: tuple[str, ...]  # files of it that were read and shut nothing out
    others: tuple[GateState, ...] = ()  # in functions that build it for other chips, where one builds it for the target

    @property
    def gates(self) -> tuple[GateState, ...]:
        return tuple(dict.fromkeys((*self.python, *self.listing, *self.compiled)))


def with_chains(report: Report, catalog: Catalog, read: Read) -> Report:
    """The report with its chains; every finding on one carries its id and names the other places to change.

    `read` gives the bytes of a file where a name has to be looked up in its imports.

    Which gates an operator runs through takes reading function bodies: `trace` does that for one name. Here compiled
    gates are `built`. What CMake builds is a library of many features, and no chain of its own here.
    """
    gathered = tuple(g for g in _gathered(report, read) if any(s.finding for s in g.gates))
    if not gathered:
        return report
    owner = _owners(gathered)
    findings = tuple(_joined(f, owner.get(f.fingerprint)) for f in report.findings)
    return replace(report, findings=findings, chains=tuple(_chain(g) for g in gathered))


def _gathered(report: Report, read: Read) -> Iterable[Gathered]:
    files = {f.path: f for f in report.facts.files}
    links = {path: f.links for path, f in files.items() if f.links}
    if not any(
        link.kind is LinkKind.JIT_SPEC for path, found in links.items() if path.endswith(".py") for link in found
    ):
        return
    paths = Paths.of(files)
    vendored = frozenset(path for path, f in files.items() if f.origin is Origin.VENDORED)
    includes = Includes(links, paths, vendored)
    known = states(report, lambda file: file.path.endswith(".py") or file.path not in vendored)
    built = extensions({path: found for path, found in links.items() if not is_cmake(path)}, paths)
    asking = _Asking(_by_call(known), _by_use(known), Imports(built, paths, read))
    for extension in built:
        yield _of(extension, files, includes, known, asking)


def _of(
    extension: Extension,
    files: Mapping[str, FileFacts],
    includes: Includes,
    known: Mapping[str, tuple[GateState, ...]],
    asking: _Asking,
) -> Gathered:
    own_gates = known.get(extension.path, ())
    inside = {
        name: tuple(
            dict.fromkeys((*(s for s in own_gates if _function(s) == name), *asking.used(name, extension.path)))
        )
        for name in (extension.function, *extension.wrappers)
        if name
    }
    for_others = _for_other_chips(inside, extension)
    gates = dict.fromkeys(s for found in inside.values() for s in found)
    gates.update(dict.fromkeys(s for s in own_gates if is_for_all(s.gate, extension)))
    others = tuple(s for s in gates if any(s in inside[name] for name in for_others))
    python = tuple(s for s in gates if s not in others)
    here = sorted(inside.keys() - for_others)
    listing = dict.fromkeys(s for name in here for s in asking.around(name, extension) if s not in gates)
    own = dict.fromkeys(extension.sources)
    for source in extension.sources:
        own.update(dict.fromkeys(includes.closure(source)))
    mine = [p for p in own if files[p].origin is not Origin.VENDORED]
    compiled = [s for p in mine for s in known.get(p, ())]
    shutting = {s.gate.path for s in compiled if s.state != OPEN}
    return Gathered(
        extension,
        python,
        tuple(listing),
        tuple(compiled),
        tuple(p for p in mine if p not in shutting),
        others,
    )


def _for_other_chips(inside: Mapping[str, tuple[GateState, ...]], extension: Extension) -> frozenset[str]:
    """The functions that build a module for other chips, where another one builds it for the target.

    `gen_x_sm90_module` and `gen_x_sm120_module` call one function: a shut list of the first shuts nothing out.
    """
    found = [inside[name] for name in extension.wrappers if name in inside]
    if not any(gates and all(s.state == OPEN for s in gates) for gates in found):
        return frozenset()
    return frozenset(name for name in extension.wrappers if any(s.state == SHUT for s in inside.get(name, ())))


def _function(state: GateState) -> str:
    """The function that a gate stands in; "" at module level."""
    return state.gate.scope.name.rpartition(".")[2] if state.gate.scope else ""


@dataclass(frozen=True, slots=True)
class _Asking:
    """Which gates decide whether a function is called, and which stand on a list that it uses."""

    by_call: Mapping[str, list[tuple[str, GateState]]]  # by the last part of the name: the call as written
    by_use: Mapping[str, list[tuple[int, GateState]]]  # by file, with the line
    imports: Imports

    def around(self, name: str, extension: Extension) -> Iterable[GateState]:
        """The gates around calls of a function that builds a module."""
        return (s for call, s in self.by_call.get(name, ()) if self.imports.means(call, s.gate.path, extension))

    def used(self, name: str, path: str) -> Iterable[GateState]:
        """The gates on lists and bounds that a function of a file uses."""
        return (s for line, s in self.by_use.get(path, ()) if self.imports.function_at(path, line) == name)


def _by_call(known: Mapping[str, tuple[GateState, ...]]) -> dict[str, list[tuple[str, GateState]]]:
    """Python gates by the functions that are called in their arms, or behind them by who took none."""
    result: dict[str, list[tuple[str, GateState]]] = {}
    for path, found in known.items():
        if path.endswith(".py"):
            for state in found:
                calls = (*(c for arm in state.gate.arms for c in arm.calls), *state.gate.rest_calls)
                for call in dict.fromkeys(calls):
                    result.setdefault(call.rpartition(".")[2], []).append((call, state))
    return result


def _by_use(known: Mapping[str, tuple[GateState, ...]]) -> dict[str, list[tuple[int, GateState]]]:
    """Gates by the Python files that use the list or bound they stand on."""
    result: dict[str, list[tuple[int, GateState]]] = {}
    for state in (s for found in known.values() for s in found):
        for related in state.gate.related:
            if related.role is Role.CALLER and related.path.endswith(".py"):
                result.setdefault(related.path, []).append((related.line, state))
    return result


def _owners(gathered: tuple[Gathered, ...]) -> dict[str, Gathered]:
    """Fingerprint -> the chain it belongs to; of a header in several modules the one with the fewest files."""
    result: dict[str, Gathered] = {}
    for chain in sorted(
        gathered, key=lambda g: (len(g.clean) + len({s.gate.path for s in g.compiled}), g.extension.id)
    ):
        for state in (*chain.gates, *chain.others):
            if state.finding:
                result.setdefault(state.finding.fingerprint, chain)
    return result


def _joined(finding: Finding, chain: Gathered | None) -> Finding:
    if chain is None:
        return finding
    also = _also(finding, chain) if finding.problem is Problem.EXCLUDED else ()
    return replace(finding, chain=chain.extension.id, related=(*finding.related, *also))


def _also(finding: Finding, chain: Gathered) -> Iterable[Related]:
    """The other files of the chain that shut the target out, with the first such line of each."""
    by_path: dict[str, list[GateState]] = {}
    for state in chain.gates:
        if state.is_to_open and state.gate.path != finding.path:
            by_path.setdefault(state.gate.path, []).append(state)
    for path, shut in list(by_path.items())[:_ALSO]:
        more = f" and {len(shut) - 1} more in this file" if len(shut) > 1 else ""
        message = f"also shuts {chain.extension.name}{more}"
        yield Related(path, shut[0].line, Role.ALSO_CHANGE, message)


def _chain(gathered: Gathered) -> Chain:
    extension = gathered.extension
    shut = [s for s in gathered.compiled if s.state != OPEN]
    steps = (
        *(s.step(RUN) for s in gathered.python),
        *(s.step(RUN, lists(s, extension)) for s in gathered.listing),
        *(s.step(BUILT) for s in shut),
        *(
            Step("preprocessor", path, None, CLEAN, BUILT, None, "read: lets the target in", "file")
            for path in gathered.clean
        ),
    )
    remarks = [f"{name} is ambiguous, all were read: {', '.join(found)}" for name, found in extension.ambiguous]
    if extension.missing:
        remarks.append(f"not found in what was scanned: {', '.join(dict(extension.missing))}")
    return Chain(
        extension.id,
        extension.name,
        tuple(dict.fromkeys(steps)),
        chain_summary(extension.name, gathered.gates, (), remarks),
    )
